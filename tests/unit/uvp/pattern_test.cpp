/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The test data of krdma_pattern: any byte that is wrong must be noticed. */
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "pattern.hpp"

namespace {

using pattern::Piece;

class Sizes : public testing::TestWithParam<std::size_t> {};

TEST_P(Sizes, PiecesHoldTheMessageAndLeaveGaps)
{
	for (std::size_t n : {1, 2, 5, 16}) {
		const auto pieces = pattern::scatter(GetParam(), n, 3);
		std::size_t total = 0;
		std::size_t end = 2;

		ASSERT_EQ(pieces.size(), n);
		EXPECT_EQ(pieces.front().offset, 3U);
		for (const Piece &piece : pieces) {
			EXPECT_GT(piece.offset, end);
			end = piece.offset + piece.length;
			total += piece.length;
		}
		EXPECT_EQ(total, GetParam());
		EXPECT_EQ(pattern::extent(pieces), end);
	}
}

TEST_P(Sizes, DifferentPiecesHaveOneStream)
{
	const auto one = pattern::scatter(GetParam(), 1, 0);
	const auto many = pattern::scatter(GetParam(), 7, 5);
	std::vector<std::byte> whole(pattern::extent(one));
	std::vector<std::byte> scattered(pattern::extent(many) + 10);
	std::vector<std::byte> gathered;

	pattern::write(whole, one, 42);
	pattern::write(scattered, many, 42);
	for (const Piece &piece : many)
		gathered.insert(gathered.end(), &scattered[piece.offset],
				&scattered[piece.offset] + piece.length);
	EXPECT_EQ(gathered, whole);
}

INSTANTIATE_TEST_SUITE_P(Octets, Sizes, testing::Values(0, 1, 3, 1021, 4096, 4097, 65535));

TEST(Mismatch, EveryOctetCounts)
{
	const auto pieces = pattern::scatter(5000, 5, 3);
	std::vector<std::byte> buffer(pattern::extent(pieces) + 20);

	pattern::write(buffer, pieces, 7);
	ASSERT_EQ(pattern::mismatch(buffer, pieces, 7), buffer.size());
	for (std::size_t i = 0; i < buffer.size(); i++) {
		buffer[i] ^= std::byte{0x40};
		ASSERT_EQ(pattern::mismatch(buffer, pieces, 7), i);
		buffer[i] ^= std::byte{0x40};
	}
}

TEST(Mismatch, AnotherSeedIsOtherData)
{
	const auto pieces = pattern::scatter(64, 1, 0);
	std::vector<std::byte> buffer(64);

	pattern::write(buffer, pieces, 1);
	EXPECT_LT(pattern::mismatch(buffer, pieces, 2), 8U);
}

} /* namespace */
