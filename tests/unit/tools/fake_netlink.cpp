/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A kernel with krdma_hw's family: see fake_netlink.hpp. */
#include "fake_netlink.hpp"

#include <array>
#include <system_error>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <krdma/hw-netlink.h>

#include "netlink.hpp"

FakeKernel kernel;

namespace krdma::tools {
namespace {

constexpr std::uint16_t family = 77;

using Put = std::function<void(nlmsghdr *)>;

void answer(const Netlink::Take &take, std::uint8_t command, const Put &put)
{
	alignas(nlmsghdr) std::array<char, 1024> buffer{};
	nlmsghdr *message = mnl_nlmsg_put_header(buffer.data());
	auto *generic =
		static_cast<genlmsghdr *>(mnl_nlmsg_put_extra_header(message, sizeof(genlmsghdr)));

	generic->cmd = command;
	put(message);
	take(message);
}

int get_family(const Netlink::Take &take)
{
	if (kernel.family_error != 0)
		return kernel.family_error;
	answer(take, CTRL_CMD_NEWFAMILY,
	       [](nlmsghdr *message) { mnl_attr_put_u16(message, CTRL_ATTR_FAMILY_ID, family); });
	return 0;
}

int list(const Netlink::Take &take)
{
	if (kernel.on_list)
		kernel.on_list(kernel.lists);
	kernel.lists++;
	if (kernel.list_error != 0)
		return kernel.list_error;
	for (const HwDevice &device : kernel.devices)
		answer(take, KRDMA_HW_CMD_GET, [&](nlmsghdr *message) {
			mnl_attr_put_strz(message, KRDMA_HW_ATTR_NAME, device.name.c_str());
			mnl_attr_put_u8(message, KRDMA_HW_ATTR_ADOPTED, device.adopted ? 1 : 0);
			mnl_attr_put_u32(message, KRDMA_HW_ATTR_ERROR,
					 static_cast<std::uint32_t>(device.error));
		});
	return 0;
}

int set(const nlmsghdr *request)
{
	std::pair<std::string, std::uint8_t> choice;

	Netlink::for_each_attribute(request, sizeof(genlmsghdr), [&](const nlattr *attr) {
		if (mnl_attr_get_type(attr) == KRDMA_HW_ATTR_NAME)
			choice.first = mnl_attr_get_str(attr);
		if (mnl_attr_get_type(attr) == KRDMA_HW_ATTR_CHOICE)
			choice.second = mnl_attr_get_u8(attr);
	});
	kernel.choices.push_back(choice);
	return kernel.set_error;
}

} /* namespace */

Netlink::Netlink(int /*bus*/)
{}

nlmsghdr *Netlink::begin(std::uint16_t type, std::uint16_t flags)
{
	nlmsghdr *message = mnl_nlmsg_put_header(buffer_.data());

	message->nlmsg_type = type;
	message->nlmsg_flags = flags;
	return message;
}

int Netlink::exchange(const nlmsghdr *message, const Take &take)
{
	const auto *generic = static_cast<const genlmsghdr *>(mnl_nlmsg_get_payload(message));

	if (message->nlmsg_type == GENL_ID_CTRL)
		return get_family(take);
	return generic->cmd == KRDMA_HW_CMD_SET ? set(message) : list(take);
}

} /* namespace krdma::tools */
