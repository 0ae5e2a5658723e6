/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A kernel with krdma_hw's family of generic netlink, in place of the sockets of netlink.cpp. */
#ifndef FAKE_NETLINK_HPP
#define FAKE_NETLINK_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hw_devices.hpp"

/**
 * struct FakeKernel - what the kernel has, and what it was asked
 * @devices: of krdma_hw
 * @family_error: answer to the question for the family, 0 or an errno
 * @set_error: the same to a choice
 * @list_error: the same to the question for the list
 * @on_list: called before each list, with the number of lists before
 * @choices: device and choice of each request
 * @lists: lists that were asked for
 */
struct FakeKernel {
	std::vector<krdma::tools::HwDevice> devices;
	int family_error{};
	int set_error{};
	int list_error{};
	std::function<void(unsigned int)> on_list;
	std::vector<std::pair<std::string, std::uint8_t>> choices;
	unsigned int lists{};
};

/* the one that all sockets talk to */
extern FakeKernel kernel;

#endif /* FAKE_NETLINK_HPP */
