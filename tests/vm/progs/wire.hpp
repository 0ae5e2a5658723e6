/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * iWARP at the level of bytes, for the hostile peer: MPA frames, FPDUs, DDP segments and
 * Terminates, right or wrong on purpose, and a TCP connection with a time limit for every
 * step. The code is written from the RFCs. It shares nothing with the stack under test, not
 * even the CRC.
 */
#ifndef KRDMA_TEST_WIRE_HPP
#define KRDMA_TEST_WIRE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace wire {

using namespace std::chrono_literals;
using Milliseconds = std::chrono::milliseconds;
using Octets = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

/* time limit of one answer; long, because the machine may be emulated */
inline constexpr Milliseconds patience = 20s;

/** struct Failure - the peer did not behave as it must */
struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* thrown if the stream ends where bytes are due */
struct Ended : Failure {
	using Failure::Failure;
};

[[nodiscard]] std::string hex(View octets);
[[nodiscard]] Octets octets(std::string_view text);
[[nodiscard]] Octets join(std::initializer_list<View> parts);

/* CRC32c: reflected, initial value and final inversion all ones */
[[nodiscard]] std::uint32_t crc32c(View octets);

/* MPA start-up ************************************************************* */

namespace mpa {
inline constexpr std::uint8_t M = 0x80, C = 0x40, R = 0x20, S = 0x10;
inline constexpr std::string_view request_key = "MPA ID Req Frame";
inline constexpr std::string_view reply_key = "MPA ID Rep Frame";
inline constexpr std::size_t header = 20;
} /* namespace mpa */

/**
 * struct MpaFrame - a Request or Reply (RFC 5044 7.1)
 * @length: PD_Length; absent: that of @data
 * @data: private data, enhanced data first
 */
struct MpaFrame {
	std::string_view key = mpa::request_key;
	std::uint8_t flags = mpa::C;
	std::uint8_t revision = 1;
	std::optional<std::uint16_t> length = {};
	Octets data = {};

	[[nodiscard]] Octets build() const;
};

/* RFC 6581 9: the two words, with flags above 14 bits of depth */
namespace enhanced {
inline constexpr std::uint16_t A = 0x8000, B = 0x4000; /* of the first word */
inline constexpr std::uint16_t C = 0x8000, D = 0x4000; /* of the second word */
inline constexpr std::uint16_t depth = 0x3fff;
} /* namespace enhanced */

[[nodiscard]] Octets enhanced_data(std::uint16_t first, std::uint16_t second);

/* Full operation *********************************************************** */

enum Opcode : std::uint8_t {
	op_write = 0,
	op_read_request = 1,
	op_read_response = 2,
	op_send = 3,
	op_send_inv = 4,
	op_send_se = 5,
	op_send_se_inv = 6,
	op_terminate = 7,
	op_imm = 8,
	op_imm_se = 9,
	op_atomic_request = 10,
	op_atomic_response = 11,
};

/**
 * struct Segment - a DDP segment (RFC 5041 4), every field free
 * @ddp_reserved: bits 0x3c of the first byte
 * @rdmap_reserved: bits 0x30 of the second
 * @stag: tagged
 * @to: tagged
 * @rsvd_ulp: untagged: STag to invalidate, or reserved
 */
struct Segment {
	bool tagged = false;
	bool last = true;
	std::uint8_t dv = 1;
	std::uint8_t ddp_reserved = 0;
	std::uint8_t rv = 1;
	std::uint8_t rdmap_reserved = 0;
	std::uint8_t opcode = op_send;
	std::uint32_t stag = 0;
	std::uint64_t to = 0;
	std::uint32_t rsvd_ulp = 0;
	std::uint32_t qn = 0;
	std::uint32_t msn = 1;
	std::uint32_t mo = 0;
	Octets payload = {};

	[[nodiscard]] Octets build() const;
};

/** struct ReadRequest - RFC 5040 4.4 */
struct ReadRequest {
	std::uint32_t sink_stag = 0;
	std::uint64_t sink_to = 0;
	std::uint32_t size = 0;
	std::uint32_t source_stag = 0;
	std::uint64_t source_to = 0;

	[[nodiscard]] Octets build() const;
};

/** struct AtomicRequest - RFC 7306 5.2.1 */
struct AtomicRequest {
	std::uint32_t op = 0; /* the whole 32-bit field with the operation */
	std::uint32_t id = 7;
	std::uint32_t stag = 0;
	std::uint64_t to = 0;
	std::uint64_t data = 0;
	std::uint64_t mask = 0;
	std::uint64_t compare = 0;
	std::uint64_t compare_mask = ~std::uint64_t{0};

	[[nodiscard]] Octets build() const;
};

[[nodiscard]] Segment imm(std::uint32_t msn, std::uint64_t data);
[[nodiscard]] Segment atomic_request(std::uint32_t msn, const AtomicRequest &request);
[[nodiscard]] Segment atomic_response(std::uint32_t msn, std::uint32_t id, std::uint64_t value);
[[nodiscard]] Segment send(std::uint32_t msn, View payload);
[[nodiscard]] Segment send(std::uint32_t msn, std::string_view payload);
[[nodiscard]] Segment write(std::uint32_t stag, std::uint64_t to, View payload);
[[nodiscard]] Segment read_request(std::uint32_t msn, const ReadRequest &request);
[[nodiscard]] Segment read_response(std::uint32_t stag, std::uint64_t to, View payload);

namespace term {
inline constexpr std::uint8_t M = 0x80, D = 0x40, R = 0x20;
} /* namespace term */

/*
 * A Terminate as it must be on the wire (RFC 5040 4.8): @code holds layer and
 * type, then error code, e.g. 0x1203; with M the segment length, with D the DDP
 * header, with R the RDMAP header of @offender, the segment that was refused.
 */
[[nodiscard]] Segment terminate(std::uint16_t code, std::uint8_t bits = 0, View offender = {});

/* ULPDU_Length, ULPDU, pad, CRC */
[[nodiscard]] Octets fpdu(View ulpdu, std::uint8_t pad = 0);
[[nodiscard]] Octets fpdu(const Segment &segment);
/* the same with one wrong bit in the CRC */
[[nodiscard]] Octets spoiled(Octets fpdu);
/* the same with markers, beginning at that place of the stream; the CRC fits */
[[nodiscard]] Octets marked(View fpdu, std::size_t position);
/* the same bytes with a CRC that fits them */
[[nodiscard]] Octets sealed(Octets fpdu);
/* the segment inside an FPDU */
[[nodiscard]] Octets ulpdu_of(View fpdu);
/* Parse a right segment. Failure if it is shorter than its header. */
[[nodiscard]] Segment parse_segment(View ulpdu);
[[nodiscard]] ReadRequest parse_read_request(const Segment &segment);

/* TCP ********************************************************************** */

/** class Socket - owner of a descriptor */
class Socket {
public:
	Socket() = default;
	explicit Socket(int fd) : fd_{fd}
	{}
	~Socket();
	Socket(Socket &&other) noexcept;
	Socket &operator=(Socket &&other) noexcept;
	Socket(const Socket &) = delete;
	Socket &operator=(const Socket &) = delete;

	[[nodiscard]] int fd() const
	{
		return fd_;
	}
	void close();

private:
	int fd_ = -1;
};

/** enum End - how the peer ended a stream */
enum class End { fin, reset };

/** class Connection - a TCP connection */
class Connection {
public:
	explicit Connection(Socket socket);

	/* @receive_buffer: size of TCP's receive buffer; 0: TCP's default */
	[[nodiscard]] static Connection to(const std::string &address, std::uint16_t port,
					   int receive_buffer = 0);
	/* Connect such that the first byte of this side has that TCP sequence number. */
	[[nodiscard]] static Connection to_at(const std::string &address, std::uint16_t port,
					      std::uint32_t sequence);

	/* bytes of a full TCP segment */
	[[nodiscard]] std::size_t segment_size() const;
	/* Send in one piece. Ended if the stream is down. */
	void send(View octets);
	/*
	 * Send a page without copying it. While TCP uses it, the byte at @offset changes to
	 * @other and back again and again.
	 */
	void send_changing(View octets, std::size_t offset, std::uint8_t other, Milliseconds time);
	/* Send in TCP segments of @piece bytes. */
	void dribble(View octets, std::size_t piece = 1);

	/* Receive exactly @count bytes. */
	[[nodiscard]] Octets receive(std::size_t count, Milliseconds limit = patience);
	/* Receive the ULPDU of the next FPDU. Pad and CRC are checked. */
	[[nodiscard]] Octets receive_fpdu(Milliseconds limit = patience);
	/* Receive a Request or Reply. */
	[[nodiscard]] MpaFrame receive_mpa(std::string_view key, Milliseconds limit = patience);
	/* The stream must end before another byte. */
	End expect_end(Milliseconds limit = patience);
	/* Neither a byte nor the end may come in that time. */
	void expect_silence(Milliseconds time);
	/* Is there a byte to read, or the end? */
	[[nodiscard]] bool readable(Milliseconds limit) const;

	void shut_write();
	/* RST */
	void reset();
	void close()
	{
		socket_.close();
	}

private:
	Socket socket_;
};

/** class Listener - a TCP port */
class Listener {
public:
	Listener(const std::string &address, std::uint16_t port);
	[[nodiscard]] Connection accept(Milliseconds limit = patience);
	/* No connection may come in that time. */
	[[nodiscard]] bool quiet(Milliseconds time) const;

private:
	Socket socket_;
};

} /* namespace wire */

#endif /* KRDMA_TEST_WIRE_HPP */
