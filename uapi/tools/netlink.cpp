/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A netlink socket for the krdma command: see netlink.hpp. */
#include "netlink.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>

#include "command.hpp"

namespace krdma::tools {
namespace {

/* the kernel's text behind @size bytes of an error message */
std::string text_behind(const nlmsghdr *message, std::size_t size)
{
	const auto *tail = static_cast<const char *>(mnl_nlmsg_get_payload_tail(message));
	const auto *attr = static_cast<const nlattr *>(mnl_nlmsg_get_payload_offset(message, size));

	if (!(message->nlmsg_flags & NLM_F_ACK_TLVS))
		return "";
	while (mnl_attr_ok(attr, static_cast<int>(tail - reinterpret_cast<const char *>(attr)))) {
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			return mnl_attr_get_str(attr);
		attr = mnl_attr_next(attr);
	}
	return "";
}

} /* namespace */

Netlink::Netlink(int bus) : socket_{mnl_socket_open(bus)}
{
	int on = 1;

	if (!socket_ && errno == EPROTONOSUPPORT && bus == NETLINK_RDMA)
		throw std::runtime_error{"the kernel's RDMA subsystem is not loaded (modprobe "
					 "krdma_soft)"};
	if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0)
		fail(errno, "netlink");
	/* without it there are no texts, but the errors are the same */
	mnl_socket_setsockopt(socket_.get(), NETLINK_EXT_ACK, &on, sizeof(on));
}

nlmsghdr *Netlink::begin(std::uint16_t type, std::uint16_t flags)
{
	nlmsghdr *message = mnl_nlmsg_put_header(buffer_.data());

	message->nlmsg_type = type;
	message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
	message->nlmsg_seq = ++sequence_;
	return message;
}

int Netlink::on_message(const nlmsghdr *message, void *answers)
{
	if (const Take &take = static_cast<Answers *>(answers)->take)
		take(message);
	return MNL_CB_OK;
}

int Netlink::on_error(const nlmsghdr *message, void *answers)
{
	if (mnl_nlmsg_get_payload_len(message) < sizeof(nlmsgerr)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	const auto *error = static_cast<const nlmsgerr *>(mnl_nlmsg_get_payload(message));
	if (!error->error)
		return MNL_CB_STOP;
	/* the request follows, unless it is left out */
	const std::size_t size =
		(message->nlmsg_flags & NLM_F_CAPPED) != 0
			? sizeof(nlmsgerr)
			: sizeof(nlmsgerr) + mnl_nlmsg_get_payload_len(&error->msg);
	static_cast<Answers *>(answers)->text = text_behind(message, size);
	errno = -error->error;
	return MNL_CB_ERROR;
}

int Netlink::on_done(const nlmsghdr *message, void *answers)
{
	if (mnl_nlmsg_get_payload_len(message) < sizeof(int))
		return MNL_CB_STOP;
	const int error = *static_cast<const int *>(mnl_nlmsg_get_payload(message));
	if (error >= 0)
		return MNL_CB_STOP;
	static_cast<Answers *>(answers)->text = text_behind(message, sizeof(int));
	errno = -error;
	return MNL_CB_ERROR;
}

int Netlink::exchange(const nlmsghdr *message, const Take &take)
{
	const unsigned int own = mnl_socket_get_portid(socket_.get());
	std::array<mnl_cb_t, NLMSG_MIN_TYPE> control{};
	Answers answers{take, text_};

	control[NLMSG_ERROR] = on_error;
	control[NLMSG_DONE] = on_done;
	text_.clear();
	if (mnl_socket_sendto(socket_.get(), message, message->nlmsg_len) < 0)
		return errno;
	/* the rest of a dump that was given up is behind: another request has another number */
	for (;;) {
		const ssize_t size =
			mnl_socket_recvfrom(socket_.get(), buffer_.data(), buffer_.size());

		if (size < 0)
			return errno;
		const int more =
			mnl_cb_run2(buffer_.data(), static_cast<std::size_t>(size), sequence_, own,
				    on_message, &answers, control.data(), control.size());
		if (more == MNL_CB_ERROR)
			return errno;
		if (more == MNL_CB_STOP)
			return 0;
	}
}

} /* namespace krdma::tools */
