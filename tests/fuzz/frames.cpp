/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* FPDUs for the fuzzer: see frames.hpp. */
#include "frames.hpp"

#include <array>

namespace frames {
namespace {

constexpr std::size_t length_size = 2;
constexpr std::size_t crc_size = 4;

constexpr std::array<std::uint32_t, 256> make_table()
{
	std::array<std::uint32_t, 256> table{};

	for (std::uint32_t i = 0; i < table.size(); i++) {
		std::uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = (c >> 1) ^ ((c & 1) ? 0x82f63b78U : 0U);
		table[i] = c;
	}
	return table;
}

constexpr auto table = make_table();

constexpr std::size_t padded(std::size_t ulpdu)
{
	return (length_size + ulpdu + 3) / 4 * 4;
}

} /* namespace */

std::uint32_t crc32c(std::span<const std::uint8_t> data)
{
	std::uint32_t crc = ~0U;

	for (std::uint8_t octet : data)
		crc = (crc >> 8) ^ table[(crc ^ octet) & 0xff];
	return ~crc;
}

std::vector<Octets> split(std::span<const std::uint8_t> stream, Octets &rest)
{
	std::vector<Octets> ulpdus;

	while (stream.size() >= length_size) {
		const std::size_t ulpdu = get(stream, 0, length_size);
		const std::size_t whole = padded(ulpdu) + crc_size;

		if (whole > stream.size())
			break;
		const auto body = stream.subspan(length_size, ulpdu);
		ulpdus.emplace_back(body.begin(), body.end());
		stream = stream.subspan(whole);
	}
	rest.assign(stream.begin(), stream.end());
	return ulpdus;
}

void append(Octets &stream, std::span<const std::uint8_t> ulpdu)
{
	Octets fpdu(padded(ulpdu.size()));

	put(fpdu, 0, length_size, ulpdu.size());
	std::copy(ulpdu.begin(), ulpdu.end(), fpdu.begin() + length_size);
	const std::uint32_t crc = crc32c(fpdu);
	for (unsigned int i = 0; i < crc_size; i++)
		fpdu.push_back(static_cast<std::uint8_t>(crc >> (8 * i)));
	stream.insert(stream.end(), fpdu.begin(), fpdu.end());
}

std::uint64_t get(std::span<const std::uint8_t> octets, std::size_t at, std::size_t size)
{
	std::uint64_t value = 0;

	for (std::uint8_t octet : octets.subspan(at, size))
		value = value << 8 | octet;
	return value;
}

void put(Octets &octets, std::size_t at, std::size_t size, std::uint64_t value)
{
	for (std::size_t i = size; i-- > 0; value >>= 8)
		octets.at(at + i) = static_cast<std::uint8_t>(value);
}

} /* namespace frames */
