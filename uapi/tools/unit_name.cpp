/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Names of systemd's units: see unit_name.hpp. */
#include "unit_name.hpp"

#include <array>
#include <cerrno>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "command.hpp"
#include "persistence.hpp"

namespace krdma::tools {
namespace {

constexpr std::string_view slice_suffix = ".slice";

/* what begins like a file of the kernel's in a cgroup gets an underscore from systemd */
std::string escape_cgroup(std::string_view name)
{
	constexpr std::array controllers{"cpu",
					 "cpuacct",
					 "cpuset",
					 "io",
					 "blkio",
					 "memory",
					 "devices",
					 "pids",
					 "bpf-firewall",
					 "bpf-devices",
					 "bpf-foreign",
					 "bpf-socket-bind",
					 "bpf-restrict-network-interfaces"};
	bool taken = name.starts_with('_') || name.starts_with('.') ||
		     name.starts_with("cgroup.") || name == "notify_on_release" ||
		     name == "release_agent" || name == "tasks";

	for (const char *controller : controllers)
		taken = taken || name.starts_with(std::string{controller} + ".");
	return (taken ? "_" : "") + std::string{name};
}

/* "a-b.slice" is "/a.slice/a-b.slice", "-.slice" is "" */
std::string slice_cgroup(std::string_view slice)
{
	std::string path;

	if (!slice.ends_with(slice_suffix) || slice == "-.slice")
		return path;
	slice.remove_suffix(slice_suffix.size());
	for (std::size_t dash = 0; dash != std::string_view::npos;) {
		dash = slice.find('-', dash + 1);
		path += '/';
		path += escape_cgroup(std::string{slice.substr(0, dash)}.append(slice_suffix));
	}
	return path;
}

} /* namespace */

std::string unit_escape(std::string_view device)
{
	std::string text;

	for (const char c : device) {
		const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
				   (c >= 'A' && c <= 'Z') || c == ':' || c == '_' ||
				   (c == '.' && !text.empty());

		if (plain)
			text += c;
		else
			text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
	}
	return text;
}

std::string unit_cgroup(std::string_view unit, std::string_view slice)
{
	if (unit == "-.slice")
		return "/";
	if (unit.ends_with(slice_suffix))
		return slice_cgroup(unit);
	return slice_cgroup(slice) + "/" + escape_cgroup(unit);
}

std::string find_unit_cgroup(const std::string &unit)
{
	std::istringstream answer{systemctl_output(
		{"show", "--property=Id,LoadState,Slice,ControlGroup", "--", unit})};
	std::map<std::string, std::string> properties;

	for (std::string line; std::getline(answer, line);) {
		if (const auto equals = line.find('='); equals != std::string::npos)
			properties[line.substr(0, equals)] = line.substr(equals + 1);
	}
	if (properties["LoadState"] != "loaded")
		throw Failure{ENOENT, unit,
			      "systemd does not know this unit; --cgroup takes a path"};
	/* of a unit that runs */
	if (!properties["ControlGroup"].empty())
		return properties["ControlGroup"];
	/* of an alias, the cgroup has the unit's own name */
	const std::string &id = properties["Id"].empty() ? unit : properties["Id"];

	return unit_cgroup(id, properties["Slice"]);
}

} /* namespace krdma::tools */
