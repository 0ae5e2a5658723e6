/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Passing a file descriptor and some data to another process. */
#ifndef KRDMA_TEST_DESCRIPTOR_HPP
#define KRDMA_TEST_DESCRIPTOR_HPP

#include <array>
#include <cstring>

#include <sys/socket.h>

#include "rdma.hpp"

namespace rdma {

/** struct PassedFd - a message: @octets, with room for one descriptor */
struct PassedFd {
	PassedFd(void *octets, std::size_t length) : data{octets, length}
	{
		message.msg_iov = &data;
		message.msg_iovlen = 1;
		message.msg_control = control.data();
		message.msg_controllen = control.size();
	}
	PassedFd(const PassedFd &) = delete;
	PassedFd &operator=(const PassedFd &) = delete;
	PassedFd(PassedFd &&) = delete;
	PassedFd &operator=(PassedFd &&) = delete;
	~PassedFd() = default;

	alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
	iovec data;
	msghdr message{};
};

/* @what arrives as a copy */
template <typename T> void give_fd(int socket, T what, int fd)
{
	PassedFd passed{&what, sizeof(what)};
	cmsghdr *header = CMSG_FIRSTHDR(&passed.message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	require_eq(::sendmsg(socket, &passed.message, MSG_NOSIGNAL), ssize_t{sizeof(what)},
		   "a descriptor is passed");
}

template <typename T> [[nodiscard]] int take_fd(int socket, T &what)
{
	PassedFd passed{&what, sizeof(what)};
	int fd = -1;

	require_eq(::recvmsg(socket, &passed.message, MSG_CMSG_CLOEXEC), ssize_t{sizeof(what)},
		   "a descriptor comes");
	const cmsghdr *header = CMSG_FIRSTHDR(&passed.message);
	require(header && header->cmsg_type == SCM_RIGHTS, "a descriptor is there");
	std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

} /* namespace rdma */

#endif /* KRDMA_TEST_DESCRIPTOR_HPP */
