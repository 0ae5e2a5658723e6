/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The state of RNICs as Prometheus reads it. */
#ifndef KRDMA_PROMETHEUS_HPP
#define KRDMA_PROMETHEUS_HPP

#include <string>
#include <vector>

#include <krdma/krdma.hpp>

namespace krdma::tools {

struct RnicSample {
	Attributes attributes;
	std::vector<Counter> counters;
};

/*
 * The text format of Prometheus, version 0.0.4. A name begins with krdma_, has the unit at its
 * end, and _total after it if the number only grows. The label rnic has the RNIC's name.
 */
[[nodiscard]] std::string prometheus(const std::vector<RnicSample> &samples);

} /* namespace krdma::tools */

#endif /* KRDMA_PROMETHEUS_HPP */
