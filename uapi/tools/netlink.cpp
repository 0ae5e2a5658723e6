/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A netlink socket for the krdma command: see netlink.hpp. */
#include "netlink.hpp"

#include <cerrno>
#include <system_error>

namespace krdma::tools {

void fail(int error, const std::string &what)
{
	throw std::system_error{error, std::generic_category(), what};
}

Netlink::Netlink(int bus) : socket_{mnl_socket_open(bus)}
{
	if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0)
		fail(errno, "netlink");
}

nlmsghdr *Netlink::begin(std::uint16_t type, std::uint16_t flags)
{
	nlmsghdr *message = mnl_nlmsg_put_header(buffer_.data());

	message->nlmsg_type = type;
	message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
	message->nlmsg_seq = ++sequence_;
	return message;
}

int Netlink::exchange(const nlmsghdr *message, mnl_cb_t take, void *to)
{
	const unsigned int own = mnl_socket_get_portid(socket_.get());

	if (mnl_socket_sendto(socket_.get(), message, message->nlmsg_len) < 0)
		return errno;
	for (;;) {
		const ssize_t size =
			mnl_socket_recvfrom(socket_.get(), buffer_.data(), buffer_.size());

		if (size < 0)
			return errno;
		const int more = mnl_cb_run(buffer_.data(), static_cast<std::size_t>(size),
					    sequence_, own, take, to);
		if (more < 0)
			return errno;
		if (more == MNL_CB_STOP)
			return 0;
	}
}

} /* namespace krdma::tools */
