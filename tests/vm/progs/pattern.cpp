/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Test data: see pattern.hpp. */
#include "pattern.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace pattern {
namespace {

/* the stream of a seed, read front to back (splitmix64) */
class Stream {
public:
	explicit Stream(std::uint64_t seed) : state_{seed * 0x9e3779b97f4a7c15ULL + 1}
	{}

	/* Call take(block) for blocks that make up the next length bytes. */
	template <typename Take> void read(std::size_t length, Take take)
	{
		while (length) {
			if (used_ == block_.size() * sizeof(block_[0]))
				refill();
			const auto *octets = reinterpret_cast<const std::byte *>(block_.data());
			const std::size_t n = std::min(length, sizeof(block_) - used_);
			take(std::span{octets + used_, n});
			used_ += n;
			length -= n;
		}
	}

private:
	void refill()
	{
		for (std::uint64_t &word : block_) {
			std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;

			x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
			x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
			word = x ^ x >> 31;
		}
		used_ = 0;
	}

	std::uint64_t state_;
	std::array<std::uint64_t, 512> block_{};
	std::size_t used_ = sizeof(block_);
};

/* The first changed byte of a range, or its end. */
std::size_t touched(std::span<const std::byte> buffer, std::size_t from, std::size_t to)
{
	while (from < to && buffer[from] == untouched)
		from++;
	return from;
}

} /* namespace */

std::vector<Piece> scatter(std::size_t length, std::size_t n, std::size_t first)
{
	std::vector<Piece> pieces;
	std::size_t offset = first;

	for (std::size_t i = 0; i < n; i++) {
		/* shares of 1:2:3:1:2:3...; the last one takes the rest */
		const std::size_t share = i + 1 == n ? length : length * (i % 3 + 1) / (2 * n + 1);

		pieces.push_back({offset, std::min(share, length)});
		length -= pieces.back().length;
		offset += pieces.back().length + 1 + 2 * (i % 5);
	}
	return pieces;
}

std::size_t extent(std::span<const Piece> pieces)
{
	return pieces.empty() ? 0 : pieces.back().offset + pieces.back().length;
}

void write(std::span<std::byte> buffer, std::span<const Piece> pieces, std::uint64_t seed)
{
	Stream stream{seed};

	std::ranges::fill(buffer, untouched);
	for (const Piece &piece : pieces) {
		std::byte *to = buffer.data() + piece.offset;

		stream.read(piece.length, [&to](std::span<const std::byte> block) {
			to = std::ranges::copy(block, to).out;
		});
	}
}

std::size_t mismatch(std::span<const std::byte> buffer, std::span<const Piece> pieces,
		     std::uint64_t seed)
{
	Stream stream{seed};
	std::size_t at = 0;
	bool differs = false;

	for (const Piece &piece : pieces) {
		at = touched(buffer, at, piece.offset);
		if (at != piece.offset)
			return at;
		stream.read(piece.length, [&](std::span<const std::byte> block) {
			if (differs)
				return;
			differs = std::memcmp(&buffer[at], block.data(), block.size()) != 0;
			if (differs)
				at += static_cast<std::size_t>(
					std::ranges::mismatch(block, buffer.subspan(at)).in1 -
					block.begin());
			else
				at += block.size();
		});
		if (differs)
			return at;
	}
	return touched(buffer, at, buffer.size());
}

} /* namespace pattern */
