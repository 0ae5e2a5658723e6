/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The subcommands adopt and release: which RDMA devices of the kernel are RNICs, and which users
 * may use them. systemd repeats an adoption at each boot (krdma-adopt@.service).
 */
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <grp.h>

#include "command.hpp"
#include "hw_devices.hpp"
#include "persistence.hpp"
#include "unit_name.hpp"

namespace krdma::tools {
namespace {

constexpr const char *settings_folder = "/etc/krdma/adopt";
constexpr const char *users_parameter = "/sys/module/krdma_hw/parameters/users_gid";
constexpr const char *users_file = "/etc/modprobe.d/krdma-users.conf";

struct AdoptOptions {
	std::string name;
	std::string users;
	bool release{};
	bool by_parameter{};
	bool force{};
	bool persist{};
	bool lenient{};
};

/* Users ******************************************************************** */

/* The group that may use adopted devices; none also if krdma_hw is not loaded. */
std::optional<std::int64_t> users_gid()
{
	std::ifstream file{users_parameter};
	std::int64_t gid = -1;

	return file >> gid && gid >= 0 ? std::optional{gid} : std::nullopt;
}

std::int64_t gid_of(const std::string &name)
{
	if (name == "none")
		return -1;
	errno = 0;
	const group *found = getgrnam(name.c_str());

	if (!found)
		throw Failure{errno ? errno : ENOENT, name,
			      "no such group; groupadd --system " + name + " makes it"};
	return found->gr_gid;
}

void write_text(const char *path, const std::string &text)
{
	errno = 0;
	std::ofstream file{path};

	file << text;
	if (!file.flush())
		fail(errno ? errno : EIO, path);
}

void persist_users(const AdoptOptions &options, std::int64_t gid)
{
	if (gid < 0)
		std::filesystem::remove(users_file);
	else
		write_text(users_file, fmt::format("# krdma adopt --users {} --persist\n"
						   "options krdma_hw users_gid={}\n",
						   options.users, gid));
}

void give_to_users(const AdoptOptions &options)
{
	const std::int64_t gid = gid_of(options.users);
	const bool loaded = std::filesystem::exists(users_parameter);

	if (!loaded && !options.persist)
		throw Failure{ENOENT, users_parameter, "krdma_hw is not loaded: modprobe krdma_hw"};
	if (loaded)
		write_text(users_parameter, std::to_string(gid));
	if (options.persist)
		persist_users(options, gid);
}

/* Devices ****************************************************************** */

void list(const Environment &environment)
{
	Json all = Json::array();
	Table table{{"DEVICE", "ADOPTED", "CHOICE", "DRIVER", "STATUS", "ERROR"}};

	for (const HwDevice &device : hw_devices()) {
		const std::string error =
			device.error
				? std::generic_category().message(static_cast<int>(device.error))
				: "-";

		all.push_back({{"name", device.name},
			       {"adopted", device.adopted},
			       {"choice", device.choice_text()},
			       {"driver", device.driver},
			       {"driver_status", device.status_text()},
			       {"errno", device.error}});
		table.add({device.name, device.adopted ? "yes" : "no", device.choice_text(),
			   device.driver, device.status_text(), error});
	}
	const auto gid = users_gid();

	if (environment.json)
		print(Json{{"users_gid", gid ? Json(*gid) : Json()}, {"devices", all}}.dump(4) +
		      '\n');
	else
		print(table.text(environment.style));
}

Persistence persistence_of(const std::string &name)
{
	return {"krdma-adopt@" + unit_escape(name) + ".service",
		std::filesystem::path{settings_folder} / (name + ".conf")};
}

bool rdma_device_exists(const std::string &name)
{
	return std::filesystem::exists("/sys/class/infiniband/" + name);
}

void adopt_now(const AdoptOptions &options)
{
	choose_hw_device(options.name, options.by_parameter ? KRDMA_HW_BY_PARAMETER
				       : options.force      ? KRDMA_HW_ADOPT_FORCED
							    : KRDMA_HW_ADOPT);
}

void adopt_persistently(const AdoptOptions &options)
{
	const bool running = systemd_runs();
	const bool present = rdma_device_exists(options.name);

	if (running && !present && !options.lenient)
		throw Failure{ENODEV, options.name,
			      "no such RDMA device; --missing-ok is for one that appears later"};
	std::string action;

	if (running && present) {
		/* a unit whose module was removed counts as active, and start would do nothing */
		action = std::filesystem::exists("/sys/module/krdma_hw") ? "start" : "restart";
		/* what the kernel says of the device is clearer than a unit that fails */
		if (action == "start")
			adopt_now(options);
	}
	persistence_of(options.name).enable(options.force ? "OPTIONS=--force\n" : "", action);
}

void adopt(const AdoptOptions &options)
{
	if (options.persist)
		adopt_persistently(options);
	else
		adopt_now(options);
}

void release(const AdoptOptions &options)
{
	const Persistence persistence = persistence_of(options.name);

	if (options.persist) {
		if (!options.lenient && !rdma_device_exists(options.name) && !persistence.enabled())
			throw Failure{ENODEV, options.name,
				      "no such RDMA device, and its unit is not enabled"};
		persistence.disable();
	}
	/* the unit has released it, or its device or krdma_hw is not there */
	if ((options.persist || options.lenient) && !find_hw_device(options.name))
		return;
	choose_hw_device(options.name, KRDMA_HW_RELEASE);
}

/* A name becomes that of a file and of a unit. */
void check_device_name(const std::string &name)
{
	if (name == "." || name == ".." || name.find_first_of("/ \t\n") != std::string::npos)
		throw CLI::ValidationError(name, "not the name of an RDMA device");
}

void run_adopt(const Environment &environment, const AdoptOptions &options)
{
	if (!options.users.empty())
		give_to_users(options);
	else if (options.name.empty())
		list(environment);
	else if (options.release)
		release(options);
	else
		adopt(options);
}

/* Options that need a device, or exclude one */
void check_adopt_options(const AdoptOptions &options)
{
	check_device_name(options.name);
	if (!options.users.empty() && !options.name.empty())
		throw CLI::ValidationError("--users", "the group is that of all adopted devices");
	if (options.name.empty() && options.users.empty() &&
	    (options.release || options.by_parameter || options.force || options.persist))
		throw CLI::RequiredError("DEVICE");
}

} /* namespace */

void add_adopt_command(CLI::App &app, Environment &environment)
{
	const auto options = std::make_shared<AdoptOptions>();
	CLI::App *command = add_command(app, environment, "adopt", "[DEVICE] | --users GROUP",
					"make an RDMA device of the kernel an RNIC, or list them");

	command->add_option("DEVICE", options->name, "its name, as in ibv_devices");
	CLI::Option *releases = command->add_flag("-r,--release", options->release,
						  "the same as krdma release DEVICE");
	CLI::Option *by_parameter = command->add_flag("-d,--default", options->by_parameter,
						      "krdma_hw's parameter \"devices\" decides")
					    ->excludes(releases);
	command->add_flag("-f,--force", options->force,
			  "also with a driver that is not on the list of krdma_hw")
		->excludes(releases)
		->excludes(by_parameter);
	CLI::Option *persist =
		command->add_flag("-p,--persist", options->persist, "now and at each boot")
			->excludes(by_parameter);
	command->add_flag("--missing-ok", options->lenient,
			  "no error if the device is not there yet")
		->needs(persist);
	command->add_option("--users", options->users,
			    "the group whose members may use adopted devices; none: no group")
		->excludes(releases)
		->excludes(by_parameter);
	command->callback([&environment, options] {
		check_adopt_options(*options);
		environment.chosen = [&environment, options] { run_adopt(environment, *options); };
	});

	const auto released = std::make_shared<AdoptOptions>();
	command = add_command(app, environment, "release", "DEVICE",
			      "an adopted device is no RNIC any more");
	command->add_option("DEVICE", released->name, "its name")->required();
	command->add_flag("-p,--persist", released->persist, "now and for each boot");
	command->add_flag("--missing-ok", released->lenient,
			  "no error if the device or krdma_hw is not there");
	command->callback([&environment, released] {
		check_device_name(released->name);
		environment.chosen = [released] { release(*released); };
	});
}

} /* namespace krdma::tools */
