/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Test data: an endless pseudo-random stream for each seed, pieces of the stream scattered
 * over a buffer, and the check that only these pieces changed.
 */
#ifndef KRDMA_TEST_PATTERN_HPP
#define KRDMA_TEST_PATTERN_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pattern {

inline constexpr std::byte untouched{0xee};

/** struct Piece - a part of a message in a buffer */
struct Piece {
	std::size_t offset;
	std::size_t length;
};

/*
 * length bytes in n pieces of different lengths (some may be empty). The pieces are in order,
 * unaligned and with gaps, from offset first on.
 */
[[nodiscard]] std::vector<Piece> scatter(std::size_t length, std::size_t n, std::size_t first);

/* end of the last piece */
[[nodiscard]] std::size_t extent(std::span<const Piece> pieces);

/* Write the beginning of the stream into the pieces. All other bytes become untouched. */
void write(std::span<std::byte> buffer, std::span<const Piece> pieces, std::uint64_t seed);

/* The first offset that is not as write() would leave it, or buffer.size(). */
[[nodiscard]] std::size_t mismatch(std::span<const std::byte> buffer, std::span<const Piece> pieces,
				   std::uint64_t seed);

} /* namespace pattern */

#endif /* KRDMA_TEST_PATTERN_HPP */
