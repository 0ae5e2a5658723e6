/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Generic netlink for the subcommands that talk to a module's family. */
#ifndef KRDMA_GENETLINK_HPP
#define KRDMA_GENETLINK_HPP

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include "netlink.hpp"

namespace krdma::tools {

/** struct NoFamily - the kernel has no such family: its module is not loaded */
struct NoFamily : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/** class Genetlink - a socket and a family. An error of the kernel's is a std::system_error. */
class Genetlink {
public:
	using Take = Netlink::Take;

	/* @absent: the message of NoFamily, if there is no such family */
	Genetlink(const char *family, std::uint8_t version, const char *absent);

	/* Begin a request. The message is valid until exchange(). */
	nlmsghdr *begin(std::uint8_t command, std::uint16_t flags = NLM_F_ACK)
	{
		return begin_type(family_, command, version_, flags);
	}
	/*
	 * Send the message and give each answer to @take. Throws an error with @what and the
	 * kernel's text.
	 */
	void exchange(const nlmsghdr *message, const std::string &what, const Take &take = {});
	/* The same without answers; @error is not thrown. Return: whether it was the result. */
	bool exchange_unless(const nlmsghdr *message, const std::string &what, int error);
	/* Ask for all objects; again from the beginning if they changed in the meantime. */
	void dump(std::uint8_t command, const std::string &what, const Take &take,
		  const std::function<void()> &again);

	template <typename Each> static void for_each_attribute(const nlmsghdr *message, Each each)
	{
		Netlink::for_each_attribute(message, sizeof(genlmsghdr), each);
	}

private:
	nlmsghdr *begin_type(std::uint16_t type, std::uint8_t command, std::uint8_t version,
			     std::uint16_t flags);
	[[noreturn]] void fail_with_text(int error, const std::string &what) const;

	Netlink netlink_{NETLINK_GENERIC};
	std::uint16_t family_{};
	std::uint8_t version_;
};

} /* namespace krdma::tools */

#endif /* KRDMA_GENETLINK_HPP */
