/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The data that krdma_victim and krdma_hostile must agree on besides the protocol: the regions
 * and their contents, and the private data with which the hostile side says how the victim
 * must treat a connection.
 */
#ifndef KRDMA_TEST_VICTIM_HPP
#define KRDMA_TEST_VICTIM_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace victim {

/* Every region has guards around it, in the same allocation. */
enum Region : std::uint8_t {
	local,   /* local write only; receives and Reads land here */
	write,   /* remote write */
	read,    /* remote read */
	both,    /* remote write and read */
	foreign, /* remote write and read, in another protection domain */
	gone,    /* remote write and read, deregistered */
	spare,   /* remote write and read; a peer tries to invalidate it */
	atomic,  /* remote atomic */
	regions,
};

inline constexpr std::array<const char *, regions> region_names{
	"local", "write", "read", "both", "foreign", "gone", "spare", "atomic",
};

inline constexpr std::size_t guard = 4096 + 64;
inline constexpr std::size_t region_size = std::size_t{256} << 10;
inline constexpr std::size_t receive_size = 64;
inline constexpr std::size_t receives_max = 64;
/* work requests below are receives, the others Sends and the like, in order of posting */
inline constexpr std::uint64_t send_id = 1000;
/* a completed receive prints the bytes of region "write" before this offset */
inline constexpr std::size_t shown_end = 65536;
inline constexpr std::size_t shown_size = 4;
/* parts of the local region: first the sink of Reads, then the receive buffers */
inline constexpr std::size_t read_size = 256;
inline constexpr std::size_t receives_at = 4096;

/* the victim's message, and the place that it reads, if the order says so */
inline constexpr char greeting[] = "greetings from the victim";
inline constexpr std::uint32_t read_stag = 0xdeadbeef;
inline constexpr std::uint64_t read_to = 0x3000;
/* the target of the large messages from the local region, at an odd address */
inline constexpr std::uint32_t large_size = 4096;
inline constexpr std::uint64_t large_to = 0x1003;
inline constexpr unsigned int flood_writes = 4;
/* the FetchAdd at read_to adds this; the greetings carry these immediate data */
inline constexpr std::uint64_t summand = 5;
inline constexpr std::uint32_t send_imm = 0x01020304;
inline constexpr std::uint32_t write_imm = 0xf1f2f3f4;

/* the initial contents of a region at @offset */
constexpr std::uint8_t pattern(Region region, std::size_t offset)
{
	return static_cast<std::uint8_t>(offset * 7 + (offset >> 8) + std::size_t{41} * region + 3);
}

enum Wish : std::uint16_t {
	wish_send = 1,        /* post a Send as soon as connected */
	wish_read = 2,        /* post an RDMA Read */
	wish_reads = 4,       /* post three more of them */
	wish_reject = 8,      /* refuse the connection */
	wish_atomic = 16,     /* post a FetchAdd */
	wish_imm = 32,        /* post a Send and an RDMA Write with immediate data */
	wish_large = 64,      /* post a Send and an RDMA Write of large_size each */
	wish_flood = 128,     /* post flood_writes RDMA Writes of region_size each */
	wish_solicited = 256, /* completion events for solicited messages only */
	wish_late = 512       /* post a Send when the connection has failed */
};

/**
 * struct Order - private data of a Request or Reply to the victim
 * @id: comes back in what the victim prints
 * @receives: to post
 * @wishes: enum Wish
 */
struct Order {
	static constexpr std::size_t size = 10;

	std::uint32_t id = 0;
	std::uint8_t receives = 8;
	std::uint16_t wishes = 0;

	[[nodiscard]] std::array<std::uint8_t, size> encode() const
	{
		return {'k',
			'r',
			static_cast<std::uint8_t>(id >> 24),
			static_cast<std::uint8_t>(id >> 16),
			static_cast<std::uint8_t>(id >> 8),
			static_cast<std::uint8_t>(id),
			receives,
			static_cast<std::uint8_t>(wishes >> 8),
			static_cast<std::uint8_t>(wishes),
			0};
	}

	/* of anything else: the default order */
	[[nodiscard]] static Order decode(std::span<const std::uint8_t> data)
	{
		if (data.size() < size || data[0] != 'k' || data[1] != 'r')
			return {};
		return {.id = static_cast<std::uint32_t>(data[2]) << 24 | data[3] << 16 |
			      data[4] << 8 | data[5],
			.receives = data[6],
			.wishes = static_cast<std::uint16_t>(data[7] << 8 | data[8])};
	}
};

} /* namespace victim */

#endif /* KRDMA_TEST_VICTIM_HPP */
