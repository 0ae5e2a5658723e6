/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* RDMA devices that krdma_hw may adopt, by its netlink family. */
#ifndef KRDMA_HW_DEVICES_HPP
#define KRDMA_HW_DEVICES_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <krdma/hw-netlink.h>

namespace krdma::tools {

/** struct HwDevice - a device of ib_core as krdma_hw knows it */
struct HwDevice {
	std::string name;
	std::uint8_t choice{};
	bool adopted{};
	std::uint32_t error{};
	std::string driver; /* its module */
	std::uint8_t status{};

	[[nodiscard]] std::string choice_text() const;
	/* "tested", "read" or "unlisted" */
	[[nodiscard]] std::string status_text() const;
};

/* Throws if krdma_hw is not loaded. */
[[nodiscard]] std::vector<HwDevice> hw_devices();
/* The device with that name; none also if krdma_hw is not loaded. Throws any other error. */
[[nodiscard]] std::optional<HwDevice> find_hw_device(const std::string &name);
/* Let krdma_hw adopt or release a device. Throws the error of the adoption. */
void choose_hw_device(const std::string &name, krdma_hw_choice choice);

} /* namespace krdma::tools */

#endif /* KRDMA_HW_DEVICES_HPP */
