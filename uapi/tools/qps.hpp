/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All queue pairs of an RNIC, for top. */
#ifndef KRDMA_QPS_HPP
#define KRDMA_QPS_HPP

#include <cstdint>
#include <vector>

#include <krdma/krdma-abi.h>

namespace krdma::tools {

/** reads what the queue pairs of RNICs have counted, whoever has them */
class QueuePairs {
public:
	/** @throws std::system_error */
	QueuePairs();
	QueuePairs(const QueuePairs &) = delete;
	QueuePairs &operator=(const QueuePairs &) = delete;
	~QueuePairs();

	/** none when the RNIC has gone, or when the caller may not see them */
	[[nodiscard]] std::vector<krdma_qp_entry> of(std::uint32_t index) const;

private:
	int fd_;
};

} /* namespace krdma::tools */

#endif /* KRDMA_QPS_HPP */
