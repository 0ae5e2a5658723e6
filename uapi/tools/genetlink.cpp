/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Generic netlink: see genetlink.hpp. */
#include "genetlink.hpp"

#include <array>
#include <cerrno>
#include <system_error>

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

Genetlink::Genetlink(const char *family, std::uint8_t version, const char *absent)
	: socket_{mnl_socket_open(NETLINK_GENERIC)}, version_{version}
{
	int on = 1;

	if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0)
		fail(errno, "netlink");
	/* without it there are no texts, but the errors are the same */
	mnl_socket_setsockopt(socket_.get(), NETLINK_EXT_ACK, &on, sizeof(on));

	nlmsghdr *message = begin_type(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, NLM_F_ACK);
	mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, family);
	const Take take = [this](const nlmsghdr *answer) {
		for_each_attribute(answer, [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
				family_ = mnl_attr_get_u16(attr);
		});
	};
	Answers answers{take, ""};
	if (const int error = run(message, answers))
		fail(error, error == ENOENT ? absent : "netlink");
}

nlmsghdr *Genetlink::begin_type(std::uint16_t type, std::uint8_t command, std::uint8_t version,
				std::uint16_t flags)
{
	nlmsghdr *message = mnl_nlmsg_put_header(buffer_.data());

	message->nlmsg_type = type;
	message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
	message->nlmsg_seq = ++sequence_;
	auto *generic =
		static_cast<genlmsghdr *>(mnl_nlmsg_put_extra_header(message, sizeof(genlmsghdr)));
	generic->cmd = command;
	generic->version = version;
	return message;
}

int Genetlink::on_message(const nlmsghdr *message, void *answers)
{
	if (const Take &take = static_cast<Answers *>(answers)->take)
		take(message);
	return MNL_CB_OK;
}

int Genetlink::on_error(const nlmsghdr *message, void *answers)
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

int Genetlink::on_done(const nlmsghdr *message, void *answers)
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

int Genetlink::run(const nlmsghdr *message, Answers &answers)
{
	const unsigned int own = mnl_socket_get_portid(socket_.get());
	std::array<mnl_cb_t, NLMSG_MIN_TYPE> control{};

	control[NLMSG_ERROR] = on_error;
	control[NLMSG_DONE] = on_done;
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

void Genetlink::exchange(const nlmsghdr *message, const std::string &what, const Take &take)
{
	Answers answers{take, ""};

	if (const int error = run(message, answers))
		fail(error, answers.text.empty() ? what : what + ": " + answers.text);
}

void Genetlink::dump(std::uint8_t command, const std::string &what, const Take &take,
		     const std::function<void()> &again)
{
	constexpr int tries = 10;

	for (int i = 0; i < tries; i++) {
		Answers answers{take, ""};

		again();
		const int error = run(begin(command, NLM_F_DUMP), answers);
		if (!error)
			return;
		if (error != EINTR)
			fail(error, answers.text.empty() ? what : what + ": " + answers.text);
	}
	fail(EAGAIN, what);
}

} /* namespace krdma::tools */
