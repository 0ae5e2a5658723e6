/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Messages of the Sockets Direct Protocol, written from docs/sdp-wire.md. Nothing here is shared
 * with the module under test, so that a mistake would have to be made twice.
 */
#ifndef KRDMA_TEST_SDP_MESSAGE_HPP
#define KRDMA_TEST_SDP_MESSAGE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sdp {

using Octets = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

enum class Mid : std::uint8_t {
	hello = 0x00,
	hello_ack = 0x01,
	disconn = 0x02,
	abort = 0x03,
	send_sm = 0x04,
	write_compl = 0x05,
	read_compl = 0x06,
	mode_change = 0x07,
	src_cancel = 0x08,
	sink_cancel = 0x09,
	sink_cancel_ack = 0x0a,
	ch_rcv_buf = 0x0b,
	ch_rcv_buf_ack = 0x0c,
	suspend = 0x0d,
	suspend_ack = 0x0e,
	sink_avail = 0xfd,
	src_avail = 0xfe,
	data = 0xff,
};

enum class Mode : std::uint8_t { buffered = 0, combined = 1, pipelined = 2 };

/* how a message travels: in a Send, in a connection request, in its answer */
enum class Carrier : std::uint8_t { send, request, answer };

namespace flag {
inline constexpr std::uint8_t oob_pres = 0x01, oob_pend = 0x02, req_pipe = 0x04;
} /* namespace flag */

/** struct Hello - the fields of Hello and HelloAck behind the BSDH */
struct Hello {
	bool compact = false;
	std::uint8_t version = 0;
	std::uint8_t ipv = 0;
	std::uint8_t caps = 0;
	std::uint16_t max_adverts = 0; /* ExtMaxAdverts, if that is valid */
	std::uint32_t wanted_size = 0;
	std::uint32_t size = 0;
	std::uint16_t local_port = 0;
	std::uint16_t dst_port = 0;
	std::array<std::uint8_t, 8> name = {};
	std::array<std::uint8_t, 16> src = {};
	std::array<std::uint8_t, 16> dst = {};
};

/**
 * struct Message - a message in fields
 * @value: Bytes of RdmaWrCompl and RdmaRdCompl; Size of SrcAvail, SinkAvail, ChRcvBuf and its
 *	answer
 * @fault: name of the fault in section 14 of the document; empty if there is none
 */
struct Message {
	Mid mid = Mid::data;
	std::uint8_t flags = 0;
	std::uint16_t bufs = 0;
	std::uint32_t len = 0;
	std::uint32_t mseq = 0;
	std::uint32_t mseq_ack = 0;
	std::uint32_t value = 0;
	std::uint32_t rkey = 0;
	std::uint64_t va = 0; /* of SuspComm: the ServiceID */
	std::uint32_t non_discards = 0;
	bool send_half = false;
	Mode mode = Mode::buffered;
	Hello hello = {};
	Octets payload = {};
	std::string_view fault = {};
};

[[nodiscard]] Message decode(View octets, Carrier carrier);
[[nodiscard]] std::string_view name(Mid mid);
[[nodiscard]] std::string_view name(Mode mode);
/* one line */
[[nodiscard]] std::string describe(const Message &message);

} /* namespace sdp */

#endif /* KRDMA_TEST_SDP_MESSAGE_HPP */
