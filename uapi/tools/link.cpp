/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The subcommand link: makes and removes software RNICs through ib_core's netlink, as
 * "rdma link add" does, and has systemd do so at each boot (krdma@.service).
 */
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>

#include "command.hpp"
#include "netlink.hpp"
#include "persistence.hpp"
#include "unit_name.hpp"

namespace krdma::tools {

namespace {

constexpr const char *settings_folder = "/etc/krdma";

/** class RdmaNetlink - ib_core's netlink for devices */
class RdmaNetlink {
public:
	/* Return: 0 or the errno. */
	int add(const std::string &name, const std::string &device)
	{
		nlmsghdr *message = begin(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);

		mnl_attr_put_strz(message, RDMA_NLDEV_ATTR_DEV_NAME, name.c_str());
		mnl_attr_put_strz(message, RDMA_NLDEV_ATTR_LINK_TYPE, "krdma");
		mnl_attr_put_strz(message, RDMA_NLDEV_ATTR_NDEV_NAME, device.c_str());
		return netlink_.exchange(message);
	}

	void remove(const std::string &name)
	{
		const std::uint32_t index = index_of(name);
		nlmsghdr *message = begin(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);

		mnl_attr_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, index);
		if (const int error = netlink_.exchange(message))
			fail(error, error == EPERM    ? name + ": needs CAP_NET_ADMIN"
				    : error == EINVAL ? name + ": not a software RNIC"
						      : name);
	}

private:
	nlmsghdr *begin(int command, std::uint16_t flags)
	{
		return netlink_.begin(
			static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)),
			flags);
	}

	std::uint32_t index_of(const std::string &wanted)
	{
		std::optional<std::uint32_t> found;
		const auto take = [&](const nlmsghdr *message) {
			std::string name;
			std::uint32_t index = 0;

			Netlink::for_each_attribute(message, 0, [&](const nlattr *attr) {
				if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_NAME)
					name = mnl_attr_get_str(attr);
				if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_INDEX)
					index = mnl_attr_get_u32(attr);
			});
			if (name == wanted)
				found = index;
		};

		if (const int error =
			    netlink_.exchange(begin(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), take))
			fail(error, "list of RDMA devices");
		if (!found)
			fail(ENODEV, wanted);
		return *found;
	}

	Netlink netlink_{NETLINK_RDMA};
};

struct LinkOptions {
	std::string device;
	std::string name;
	bool persist{};
	bool lenient{};
	bool absent_device{};
};

/* The RNIC with that name or on that network device; none without krdma.ko, too. */
std::optional<Attributes> find_rnic(const std::string &name)
try {
	return Session{}.find(name).attributes();
} catch (const std::system_error &error) {
	if (error.code().value() != ENODEV && error.code().value() != ENOENT)
		throw;
	return {};
}

/* what the errno of "add" means */
std::string add_failure(int error, const std::string &name, const std::string &device)
{
	switch (error) {
	case EPERM:
		return "needs CAP_NET_ADMIN";
	case ENODEV:
		return if_nametoindex(device.c_str()) == 0
			       ? device + ": no such network device"
			       : device + ": the module krdma_soft is not loaded (modprobe "
					  "krdma_soft)";
	case EEXIST:
		if (const auto rnic = find_rnic(device); rnic && rnic->netdev == device)
			return fmt::format("{} has an RNIC, {}", device, rnic->name);
		return "an RDMA device has the name " + name;
	case EINVAL:
		return fmt::format("{}: not a device for an RNIC, or the module krdma is "
				   "not installed for this kernel",
				   device);
	default:
		return device;
	}
}

std::string unit_of(const std::string &device)
{
	return "krdma@" + unit_escape(device) + ".service";
}

Persistence persistence_of(const std::string &device)
{
	return {unit_of(device), std::filesystem::path{settings_folder} / (device + ".conf")};
}

void check_device_name(const std::string &device)
{
	if (device.empty() || device.size() >= IF_NAMESIZE || device == "." || device == ".." ||
	    device.find('/') != std::string::npos)
		throw CLI::ValidationError(device, "not the name of a network device");
}

/* The kernel has no more than 63 bytes; some characters have a meaning for it, files or shells. */
void check_rnic_name(const std::string &name)
{
	constexpr std::size_t most = 63;

	if (name.size() > most)
		throw CLI::ValidationError(
			name, fmt::format("a name of an RNIC has at most {} bytes", most));
	if (name.find_first_of("\"\\$%/ \t\n") != std::string::npos)
		throw CLI::ValidationError(name, "not the name of an RNIC");
}

void add_now(const LinkOptions &options)
{
	if (const auto rnic = find_rnic(options.device);
	    options.lenient && rnic && rnic->netdev == options.device)
		return;
	const std::string name = options.name.empty() ? "krdma_" + options.device : options.name;

	if (const int error = RdmaNetlink{}.add(name, options.device))
		fail(error, add_failure(error, name, options.device));
}

/* In a tree that no systemd runs, the devices are those of the next boot. */
void add_persistent(const LinkOptions &options)
{
	const bool running = systemd_runs();
	const bool present = if_nametoindex(options.device.c_str()) != 0;

	if (running && !present && !options.absent_device)
		fail(ENODEV, options.device + ": no such network device; --missing-ok enables the "
					      "link for a device that appears later");
	persistence_of(options.device)
		.enable(options.name.empty() ? "" : "NAME=" + options.name + "\n",
			running && present ? "restart" : "");
}

void add_link(const LinkOptions &options)
{
	if (options.persist)
		add_persistent(options);
	else
		add_now(options);
}

void delete_now(const LinkOptions &options)
{
	const auto rnic = find_rnic(options.device);

	if (rnic)
		RdmaNetlink{}.remove(rnic->name);
	else if (!options.lenient)
		fail(ENODEV, options.device + ": neither an RNIC nor a network device with one");
}

void delete_link(const LinkOptions &options)
{
	if (!options.persist) {
		delete_now(options);
		return;
	}
	const auto rnic = find_rnic(options.device);
	const std::string device = rnic && !rnic->netdev.empty() ? rnic->netdev : options.device;

	check_device_name(device);
	const Persistence persistence = persistence_of(device);

	if (!rnic && !options.lenient && !persistence.enabled())
		fail(ENODEV, device + ": no RNIC, and " + unit_of(device) + " is not enabled");
	persistence.disable();
	/* one that was made by hand */
	delete_now({.device = device, .name = {}, .lenient = true});
}

} /* namespace */

void add_link_command(CLI::App &app, Environment &environment)
{
	const auto options = std::make_shared<LinkOptions>();
	CLI::App *link = add_command(app, environment, "link", "add NETDEV | del RNIC|NETDEV",
				     "make a software RNIC on a network device, or remove it");

	link->require_subcommand(1);
	CLI::App *add = add_command(*link, environment, "add", "NETDEV",
				    "make a software RNIC on a network device");
	add->add_option("NETDEV", options->device, "the network device")->required();
	add->add_option("-n,--name", options->name, "name of the RNIC (krdma_ and the device's)");
	add->add_flag("-p,--persist", options->persist, "now and at each boot");
	add->add_flag("--exist-ok", options->lenient, "no error if the device has an RNIC");
	add->add_flag("--missing-ok", options->absent_device,
		      "with --persist: no error if the device is not there yet");
	add->callback([&environment, options] {
		if (options->absent_device && !options->persist)
			throw CLI::RequiredError("--persist");
		check_device_name(options->device);
		check_rnic_name(options->name);
		environment.chosen = [options] { add_link(*options); };
	});
	CLI::App *del =
		add_command(*link, environment, "del", "RNIC|NETDEV", "remove a software RNIC");
	del->add_option("RNIC", options->device, "its name or that of its network device")
		->required();
	del->add_flag("-p,--persist", options->persist, "now and for each boot");
	del->add_flag("--missing-ok", options->lenient, "no error if there is none");
	del->callback([&environment, options] {
		environment.chosen = [options] { delete_link(*options); };
	});
}

} /* namespace krdma::tools */
