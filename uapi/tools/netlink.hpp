/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A netlink socket for the krdma command: requests, and the attributes of the answers. */
#ifndef KRDMA_NETLINK_HPP
#define KRDMA_NETLINK_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <libmnl/libmnl.h>

namespace krdma::tools {

/** class Netlink - one socket, one request at a time */
class Netlink {
public:
	using Take = std::function<void(const nlmsghdr *)>;

	/* @bus: NETLINK_* */
	explicit Netlink(int bus);

	/* Begin a request of NLM_F_REQUEST and @flags. It is valid until the next begin(). */
	nlmsghdr *begin(std::uint16_t type, std::uint16_t flags);
	/* Send it, and give each answer to @take. Return: 0 or the kernel's errno. */
	int exchange(const nlmsghdr *message, const Take &take = {});
	/* the kernel's text on the last exchange that failed, or empty */
	[[nodiscard]] const std::string &text() const
	{
		return text_;
	}

	/* libmnl's own loop is a macro in C; @header: bytes before the attributes */
	template <typename Each>
	static void for_each_attribute(const nlmsghdr *message, std::size_t header, Each each)
	{
		const auto *tail = static_cast<const char *>(mnl_nlmsg_get_payload_tail(message));
		const auto *attr =
			static_cast<const nlattr *>(mnl_nlmsg_get_payload_offset(message, header));

		while (mnl_attr_ok(attr,
				   static_cast<int>(tail - reinterpret_cast<const char *>(attr)))) {
			each(attr);
			attr = mnl_attr_next(attr);
		}
	}

private:
	struct Close {
		void operator()(mnl_socket *socket) const
		{
			mnl_socket_close(socket);
		}
	};

	struct Answers {
		const Take &take;
		std::string &text;
	};

	static int on_message(const nlmsghdr *message, void *answers);
	static int on_error(const nlmsghdr *message, void *answers);
	static int on_done(const nlmsghdr *message, void *answers);

	std::unique_ptr<mnl_socket, Close> socket_;
	std::vector<char> buffer_ = std::vector<char>(std::size_t{64} << 10);
	std::uint32_t sequence_{};
	std::string text_;
};

} /* namespace krdma::tools */

#endif /* KRDMA_NETLINK_HPP */
