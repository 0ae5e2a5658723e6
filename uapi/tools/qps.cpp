/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* KRDMA_IOC_QP_LIST, see qps.hpp */
#include "qps.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace krdma::tools {

QueuePairs::QueuePairs() : fd_{::open(KRDMA_DEVICE, O_RDWR | O_CLOEXEC)}
{
	if (fd_ < 0)
		throw std::system_error{errno, std::generic_category(), KRDMA_DEVICE};
}

QueuePairs::~QueuePairs()
{
	::close(fd_);
}

std::vector<krdma_qp_entry> QueuePairs::of(std::uint32_t index) const
{
	std::vector<krdma_qp_entry> all;
	std::array<krdma_qp_entry, 64> some{};
	std::uint32_t next = 0;

	do {
		krdma_qp_list cmd{};

		cmd.size = sizeof(cmd);
		cmd.index = index;
		cmd.count = some.size();
		cmd.next = next;
		cmd.entries = reinterpret_cast<std::uintptr_t>(some.data());
		if (::ioctl(fd_, KRDMA_IOC_QP_LIST, &cmd)) {
			if (errno == ENODEV || errno == EPERM)
				return {};
			throw std::system_error{errno, std::generic_category(), "QP_LIST"};
		}
		all.insert(all.end(), some.begin(), some.begin() + cmd.count);
		next = cmd.next;
	} while (next);
	return all;
}

} /* namespace krdma::tools */
