/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * FPDUs for the fuzzer: a stream is cut at its own length fields, and is put together again
 * with right lengths and CRCs.
 */
#ifndef FUZZ_FRAMES_HPP
#define FUZZ_FRAMES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace frames {

using Octets = std::vector<std::uint8_t>;

std::uint32_t crc32c(std::span<const std::uint8_t> data);

/*
 * Cut a stream into ULPDUs without length, pad and CRC. An incomplete FPDU at the end is moved to
 * @rest.
 */
std::vector<Octets> split(std::span<const std::uint8_t> stream, Octets &rest);

/* an FPDU with length, pad and CRC */
void append(Octets &stream, std::span<const std::uint8_t> ulpdu);

/* big-endian fields */
std::uint64_t get(std::span<const std::uint8_t> octets, std::size_t at, std::size_t size);
void put(Octets &octets, std::size_t at, std::size_t size, std::uint64_t value);

} /* namespace frames */

#endif /* FUZZ_FRAMES_HPP */
