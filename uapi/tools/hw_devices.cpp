/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* RDMA devices that krdma_hw may adopt: see hw_devices.hpp. */
#include "hw_devices.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "command.hpp"
#include "genetlink.hpp"

namespace krdma::tools {
namespace {

template <std::size_t N>
std::string name_of(std::uint8_t value, const std::array<const char *, N> &names)
{
	return value < N ? names[value] : std::to_string(value);
}

Genetlink hw_netlink()
{
	return {KRDMA_HW_GENL_NAME, KRDMA_HW_GENL_VERSION,
		"krdma_hw is not loaded (modprobe krdma_hw), or this is not the initial network "
		"namespace"};
}

HwDevice device_of(const nlmsghdr *message)
{
	HwDevice device;

	Genetlink::for_each_attribute(message, [&](const nlattr *attr) {
		switch (mnl_attr_get_type(attr)) {
		case KRDMA_HW_ATTR_NAME:
			device.name = mnl_attr_get_str(attr);
			break;
		case KRDMA_HW_ATTR_CHOICE:
			device.choice = mnl_attr_get_u8(attr);
			break;
		case KRDMA_HW_ATTR_ADOPTED:
			device.adopted = mnl_attr_get_u8(attr) != 0;
			break;
		case KRDMA_HW_ATTR_ERROR:
			device.error = mnl_attr_get_u32(attr);
			break;
		case KRDMA_HW_ATTR_DRIVER:
			device.status = mnl_attr_get_u8(attr);
			break;
		case KRDMA_HW_ATTR_DRIVER_NAME:
			device.driver = mnl_attr_get_str(attr);
			break;
		default:
			break;
		}
	});
	return device;
}

/* which devices there are, for a user that named another */
std::string devices_hint()
{
	std::string text;

	for (const HwDevice &device : hw_devices())
		text += (text.empty() ? "" : ", ") + device.name;
	return text.empty() ? "there is no RDMA device that krdma_hw can adopt"
			    : "RDMA devices: " + text;
}

/* The refusal is the error to show, so a hint that cannot be had is left out. */
std::string refusal_hint(int error, const std::string &name)
try {
	if (error == ENODEV)
		return devices_hint();
	const auto device = find_hw_device(name);

	if (error == EOPNOTSUPP && device && device->status == KRDMA_HW_DRIVER_UNLISTED)
		return "--force adopts it all the same; docs/krdma-hw.md has the list";
	return {};
} catch (const std::runtime_error &) {
	return {};
}

/* The kernel does not wait for it: the calls of the device's users may take any time. */
void wait_for_choice(const std::string &name, krdma_hw_choice choice)
{
	const bool adopted = choice != KRDMA_HW_RELEASE;

	/* the tool does not know what the parameter says of the device */
	if (choice == KRDMA_HW_BY_PARAMETER)
		return;
	for (;;) {
		const auto device = find_hw_device(name);

		if (!device)
			throw std::system_error{ENODEV, std::generic_category(), name};
		if (device->adopted == adopted)
			return;
		if (adopted && device->error != 0)
			throw std::system_error{static_cast<int>(device->error),
						std::generic_category(), name};
		std::this_thread::sleep_for(std::chrono::milliseconds{100});
	}
}

} /* namespace */

std::string HwDevice::choice_text() const
{
	return name_of(choice,
		       std::array<const char *, 4>{"parameter", "adopt", "release", "force"});
}

std::string HwDevice::status_text() const
{
	return name_of(status, std::array<const char *, 3>{"unlisted", "read", "tested"});
}

std::vector<HwDevice> hw_devices()
{
	Genetlink netlink = hw_netlink();
	std::vector<HwDevice> all;

	netlink.dump(
		KRDMA_HW_CMD_GET, "list of devices",
		[&](const nlmsghdr *message) { all.push_back(device_of(message)); },
		[&] { all.clear(); });
	return all;
}

std::optional<HwDevice> find_hw_device(const std::string &name)
try {
	const std::vector<HwDevice> all = hw_devices();
	const auto found = std::ranges::find(all, name, &HwDevice::name);

	return found == all.end() ? std::nullopt : std::optional{*found};
} catch (const NoFamily &) {
	return {};
}

void choose_hw_device(const std::string &name, krdma_hw_choice choice)
{
	Genetlink netlink = hw_netlink();
	nlmsghdr *message = netlink.begin(KRDMA_HW_CMD_SET);

	mnl_attr_put_strz(message, KRDMA_HW_ATTR_NAME, name.c_str());
	mnl_attr_put_u8(message, KRDMA_HW_ATTR_CHOICE, choice);
	try {
		if (netlink.exchange_unless(message, name, EINPROGRESS))
			wait_for_choice(name, choice);
	} catch (const std::system_error &error) {
		const std::string hint = refusal_hint(error.code().value(), name);

		if (hint.empty())
			throw;
		throw Failure{error, hint};
	}
}

} /* namespace krdma::tools */
