/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Decoding by docs/sdp-wire.md, sections 1, 2 and 14. */
#include "message.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace sdp {

namespace {

constexpr std::size_t bsdh = 16;
constexpr std::uint32_t smallest_buffer = 256;

/* a big-endian field of @size bytes */
std::uint64_t field(View octets, std::size_t at, std::size_t size)
{
	std::uint64_t value = 0;

	for (const auto octet : octets.subspan(at, size))
		value = value << 8 | octet;
	return value;
}

std::uint32_t word(View octets, std::size_t at)
{
	return static_cast<std::uint32_t>(field(octets, at, 4));
}

std::uint16_t half(View octets, std::size_t at)
{
	return static_cast<std::uint16_t>(field(octets, at, 2));
}

struct Layout {
	Mid mid;
	std::string_view name;
	std::size_t extra;
	bool payload;
};

constexpr std::array layouts = {
	Layout{Mid::hello, "Hello", 76, false},
	Layout{Mid::hello_ack, "HelloAck", 180, false},
	Layout{Mid::disconn, "DisConn", 0, false},
	Layout{Mid::abort, "AbortConn", 0, false},
	Layout{Mid::send_sm, "SendSm", 0, false},
	Layout{Mid::write_compl, "RdmaWrCompl", 4, false},
	Layout{Mid::read_compl, "RdmaRdCompl", 4, false},
	Layout{Mid::mode_change, "ModeChange", 4, false},
	Layout{Mid::src_cancel, "SrcAvailCancel", 0, false},
	Layout{Mid::sink_cancel, "SinkAvailCancel", 0, false},
	Layout{Mid::sink_cancel_ack, "SinkCancelAck", 0, false},
	Layout{Mid::ch_rcv_buf, "ChRcvBuf", 4, false},
	Layout{Mid::ch_rcv_buf_ack, "ChRcvBufAck", 4, false},
	Layout{Mid::suspend, "SuspComm", 8, false},
	Layout{Mid::suspend_ack, "SuspCommAck", 0, false},
	Layout{Mid::sink_avail, "SinkAvail", 20, true},
	Layout{Mid::src_avail, "SrcAvail", 16, true},
	Layout{Mid::data, "Data", 0, true},
};

const Layout *layout_of(Mid mid)
{
	const auto *const found = std::ranges::find(layouts, mid, &Layout::mid);

	return found == layouts.end() ? nullptr : found;
}

bool fits_ipv(const std::array<std::uint8_t, 16> &address, int ipv)
{
	return ipv == 6 || std::all_of(address.begin(), address.begin() + 12,
				       [](auto octet) { return octet == 0; });
}

/* what a Hello and its answer have in common */
std::string_view judge_both(const Message &message)
{
	if (message.flags != 0 || message.mseq != 0 || message.mseq_ack != 0)
		return "start";
	if (message.bufs < 3)
		return "bufs";
	if (message.hello.max_adverts == 0)
		return "adverts";
	return message.hello.size < smallest_buffer ? "size" : "";
}

std::string_view judge_hello(const Message &message)
{
	const Hello &hello = message.hello;

	if (const auto fault = judge_both(message); !fault.empty())
		return fault;
	if (hello.compact && (hello.caps & 2) != 0)
		return "adverts";
	if (hello.wanted_size < smallest_buffer)
		return "size";
	if ((hello.ipv != 4 && hello.ipv != 6) || !fits_ipv(hello.src, hello.ipv) ||
	    !fits_ipv(hello.dst, hello.ipv))
		return "ipv";
	return hello.local_port == 0 || hello.dst_port == 0 ? "port" : "";
}

std::string_view decode_hello(View octets, Message &message)
{
	Hello &hello = message.hello;

	hello.version = octets[16];
	hello.compact = message.len == 40;
	if (message.len > octets.size() || (message.len != 92 && message.len != 40))
		return "length";
	hello.ipv = octets[17] >> 4;
	hello.caps = octets[17] & 3;
	hello.max_adverts = octets[19];
	hello.wanted_size = word(octets, 20);
	hello.size = word(octets, 24);
	hello.local_port = half(octets, 28);
	hello.dst_port = half(octets, 30);
	std::ranges::copy(octets.subspan(hello.compact ? 32 : 68, 8), hello.name.begin());
	if (!hello.compact) {
		std::ranges::copy(octets.subspan(32, 16), hello.src.begin());
		std::ranges::copy(octets.subspan(48, 16), hello.dst.begin());
		/* MaxAdverts itself has to be right, too */
		if ((hello.caps & 2) != 0 && hello.max_adverts != 0)
			hello.max_adverts = half(octets, 66);
	}
	return judge_hello(message);
}

std::string_view decode_hello_ack(View octets, Message &message)
{
	message.hello.version = octets[16];
	message.hello.compact = message.len == 32;
	if (message.len > octets.size() || (message.len != 196 && message.len != 32))
		return "length";
	message.hello.caps = octets[17] & 1;
	message.hello.max_adverts = octets[19];
	message.hello.size = word(octets, 20);
	std::ranges::copy(octets.subspan(24, 8), message.hello.name.begin());
	return judge_both(message);
}

std::string_view decode_mode(View octets, Message &message)
{
	const int mode = octets[bsdh] >> 4 & 7;

	message.send_half = (octets[bsdh] & 0x80) != 0;
	message.mode = static_cast<Mode>(mode);
	return mode > 2 ? "mode" : "";
}

std::string_view decode_advertisement(View octets, Message &message)
{
	message.value = word(octets, 16);
	message.rkey = word(octets, 20);
	message.va = field(octets, 24, 8);
	if (message.mid == Mid::sink_avail)
		message.non_discards = word(octets, 32);
	if (message.value == 0)
		return "size";
	if (message.mid == Mid::src_avail && message.value <= message.payload.size())
		return "payload";
	return "";
}

std::string_view decode_extra(View octets, Message &message)
{
	switch (message.mid) {
	case Mid::write_compl:
	case Mid::read_compl:
		message.value = word(octets, 16);
		return message.value == 0 ? "size" : "";
	case Mid::ch_rcv_buf:
	case Mid::ch_rcv_buf_ack:
		message.value = word(octets, 16);
		return message.value < smallest_buffer ? "size" : "";
	case Mid::mode_change:
		return decode_mode(octets, message);
	case Mid::suspend:
		message.va = field(octets, 16, 8);
		return "";
	case Mid::src_avail:
	case Mid::sink_avail:
		return decode_advertisement(octets, message);
	default:
		return "";
	}
}

bool belongs(Carrier carrier, Mid mid)
{
	if (mid == Mid::hello)
		return carrier == Carrier::request;
	if (mid == Mid::hello_ack)
		return carrier == Carrier::answer;
	return carrier == Carrier::send;
}

std::string_view decode_send(View octets, const Layout &layout, Message &message)
{
	if (message.len != octets.size())
		return "length";
	if (octets.size() < bsdh + layout.extra)
		return "short";
	const View payload = octets.subspan(bsdh + layout.extra);
	message.payload.assign(payload.begin(), payload.end());
	if (!layout.payload && !payload.empty())
		return "payload";
	if (const auto fault = decode_extra(octets, message); !fault.empty())
		return fault;
	const bool can_be_oob = message.mid == Mid::data || message.mid == Mid::sink_avail;
	if ((message.flags & flag::oob_pres) != 0 && (payload.empty() || !can_be_oob))
		return "oob";
	return "";
}

} /* namespace */

Message decode(View octets, Carrier carrier)
{
	Message message;

	if (octets.size() < bsdh) {
		message.fault = "short";
		return message;
	}
	message.mid = static_cast<Mid>(octets[0]);
	message.flags = octets[1] & 7;
	message.bufs = half(octets, 2);
	message.len = word(octets, 4);
	message.mseq = word(octets, 8);
	message.mseq_ack = word(octets, 12);
	const Layout *const layout = layout_of(message.mid);
	if (layout == nullptr)
		message.fault = "mid";
	else if (!belongs(carrier, message.mid))
		message.fault = "carrier";
	else if (carrier != Carrier::send && octets.size() < 17)
		message.fault = "length";
	else if (carrier != Carrier::send && octets[16] >> 4 != 3)
		message.fault = "version";
	else if (message.mid == Mid::hello)
		message.fault = decode_hello(octets, message);
	else if (message.mid == Mid::hello_ack)
		message.fault = decode_hello_ack(octets, message);
	else
		message.fault = decode_send(octets, *layout, message);
	return message;
}

std::string_view name(Mid mid)
{
	const Layout *const layout = layout_of(mid);

	return layout == nullptr ? "reserved" : layout->name;
}

std::string_view name(Mode mode)
{
	switch (mode) {
	case Mode::buffered:
		return "buffered";
	case Mode::combined:
		return "combined";
	case Mode::pipelined:
		return "pipelined";
	}
	return "reserved";
}

namespace {

void describe_extra(std::ostream &out, const Message &message)
{
	switch (message.mid) {
	case Mid::hello:
		out << " port " << message.hello.local_port << " to " << message.hello.dst_port;
		[[fallthrough]];
	case Mid::hello_ack:
		out << (message.hello.compact ? " compact" : "") << " size " << message.hello.size
		    << " adverts " << message.hello.max_adverts;
		break;
	case Mid::mode_change:
		out << ' ' << name(message.mode) << (message.send_half ? " by sink" : " by source");
		break;
	case Mid::suspend:
		out << " service " << message.va;
		break;
	case Mid::src_avail:
	case Mid::sink_avail:
		out << " size " << message.value << " rkey 0x" << std::hex << message.rkey
		    << " va 0x" << message.va << std::dec;
		if (message.mid == Mid::sink_avail)
			out << " nondiscards " << message.non_discards;
		break;
	case Mid::write_compl:
	case Mid::read_compl:
	case Mid::ch_rcv_buf:
	case Mid::ch_rcv_buf_ack:
		out << ' ' << message.value;
		break;
	default:
		break;
	}
}

} /* namespace */

std::string describe(const Message &message)
{
	std::ostringstream out;

	out << name(message.mid) << " mseq " << message.mseq << " ack " << message.mseq_ack
	    << " bufs " << message.bufs;
	if (message.mid == Mid::data && message.payload.empty())
		out << " (credit update)";
	describe_extra(out, message);
	if (!message.payload.empty())
		out << " payload " << message.payload.size();
	if ((message.flags & flag::oob_pend) != 0)
		out << " OOB_PEND";
	if ((message.flags & flag::oob_pres) != 0)
		out << " OOB_PRES";
	if ((message.flags & flag::req_pipe) != 0)
		out << " REQ_PIPE";
	if (!message.fault.empty())
		out << " FAULT " << message.fault;
	return std::move(out).str();
}

} /* namespace sdp */
