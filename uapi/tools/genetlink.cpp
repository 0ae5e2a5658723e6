/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Generic netlink: see genetlink.hpp. */
#include "genetlink.hpp"

#include <cerrno>
#include <stdexcept>

#include "command.hpp"

namespace krdma::tools {

Genetlink::Genetlink(const char *family, std::uint8_t version, const char *absent)
	: version_{version}
{
	nlmsghdr *message = begin_type(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, NLM_F_ACK);

	mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, family);
	const Take take = [this](const nlmsghdr *answer) {
		for_each_attribute(answer, [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
				family_ = mnl_attr_get_u16(attr);
		});
	};
	const int error = netlink_.exchange(message, take);

	if (error == ENOENT)
		throw NoFamily{absent};
	if (error)
		fail(error, "netlink");
}

nlmsghdr *Genetlink::begin_type(std::uint16_t type, std::uint8_t command, std::uint8_t version,
				std::uint16_t flags)
{
	nlmsghdr *message = netlink_.begin(type, flags);
	auto *generic =
		static_cast<genlmsghdr *>(mnl_nlmsg_put_extra_header(message, sizeof(genlmsghdr)));

	generic->cmd = command;
	generic->version = version;
	return message;
}

void Genetlink::fail_with_text(int error, const std::string &what) const
{
	fail(error, netlink_.text().empty() ? what : what + ": " + netlink_.text());
}

void Genetlink::exchange(const nlmsghdr *message, const std::string &what, const Take &take)
{
	if (const int error = netlink_.exchange(message, take))
		fail_with_text(error, what);
}

bool Genetlink::exchange_unless(const nlmsghdr *message, const std::string &what, int error)
{
	const int result = netlink_.exchange(message, {});

	if (result != 0 && result != error)
		fail_with_text(result, what);
	return result != 0;
}

void Genetlink::dump(std::uint8_t command, const std::string &what, const Take &take,
		     const std::function<void()> &again)
{
	constexpr int tries = 10;

	for (int i = 0; i < tries; i++) {
		again();
		const int error = netlink_.exchange(begin(command, NLM_F_DUMP), take);
		if (!error)
			return;
		if (error != EINTR)
			fail_with_text(error, what);
	}
	fail(EAGAIN, what);
}

} /* namespace krdma::tools */
