/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Messages of an open connection that docs/sdp-wire.md forbids, and odd ones that it allows. */
#include <random>
#include <thread>

#include <poll.h>

#include "sdp_peer.hpp"

namespace hostile {

using ual::fail;
using ual::require;
using ual::same;

namespace {

/* in combined mode: Size bytes of which 100 are payload */
void source_offer(Peer &peer, std::uint32_t size = 1000)
{
	peer.say(Mid::src_avail, peer.advertise(size), stream(100));
}

Octets sink_offer(const Peer &peer, std::uint32_t size, std::uint32_t non_discards)
{
	return peer.advertise(size) + word(non_discards);
}

/* a message as it should not be */
template <typename Change> void wrong(Attack &attack, Mid mid, Change change)
{
	Draft draft = attack.peer.draft(mid);

	change(draft);
	attack.peer.transmit(draft);
}

void acknowledges_less(Attack &attack)
{
	attack.victim.send(stream(10));
	(void)attack.peer.hear_payload();
	attack.victim.send(stream(10));
	(void)attack.peer.hear_payload();
	attack.peer.say(Mid::data);
	wrong(attack, Mid::data, [](Draft &d) { d.ack--; });
}

void beyond_credits(Attack &attack)
{
	attack.peer.fill();
	attack.peer.say(Mid::data, {}, stream(1));
}

void offer_beyond_credits(Attack &attack)
{
	attack.peer.fill();
	source_offer(attack.peer);
}

void unanswered_size(Attack &attack)
{
	for (int i = 0; i < 2; i++)
		/* no credits: the victim cannot answer */
		wrong(attack, Mid::ch_rcv_buf, [](Draft &d) {
			d.extra = word(4096);
			d.bufs = 0;
		});
}

} /* namespace */

const std::vector<Violation> violations{
	/* found in the message alone */
	{"no octets", "short", ECONNRESET, [](Attack &a) { a.peer.transmit(Octets{}); }},
	{"eight octets", "short", ECONNRESET, [](Attack &a) { a.peer.transmit(Octets(8, 0xff)); }},
	{"ChRcvBuf without Size", "short", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::ch_rcv_buf); }},
	{"half an advertisement", "short", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::sink_avail, Octets(16, 1)); }},
	{"Len too large", "length", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.len = 17; }); }},
	{"Len too small", "length", ECONNRESET,
	 [](Attack &a) {
		 wrong(a, Mid::data, [](Draft &d) {
			 d.payload = stream(10);
			 d.len = 16;
		 });
	 }},
	{"Len 0", "length", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.len = 0; }); }},
	{"Len of 4 GiB", "length", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.len = 0xffffffff; }); }},
	{"reserved MID", "mid", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.mid = 0x42; }); }},
	{"MID behind the last one", "mid", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.mid = 0x0f; }); }},
	{"a second Hello", "carrier", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::hello, Octets(76, 1)); }},
	{"a second HelloAck", "carrier", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::hello_ack, a.tcp.hello_ack().extra); }},
	{"ChRcvBuf 0", "size", ECONNRESET, [](Attack &a) { a.peer.say(Mid::ch_rcv_buf, word(0)); }},
	{"ChRcvBuf 255", "size", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::ch_rcv_buf, word(255)); }},
	{"RdmaRdCompl 0", "size", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::read_compl, word(0)); }},
	{"SrcAvail of 0 octets", "size", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::src_avail, a.peer.advertise(0), stream(1)); }},
	{"SinkAvail of 0 octets", "size", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::sink_avail, sink_offer(a.peer, 0, 0)); }},
	{"SrcAvail that is all payload", "payload", ECONNRESET,
	 [](Attack &a) { source_offer(a.peer, 100); }},
	{"SrcAvail smaller than its payload", "payload", ECONNRESET,
	 [](Attack &a) { source_offer(a.peer, 99); }},
	{"DisConn with payload", "payload", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::disconn, {}, stream(1)); }},
	{"mode 3", "mode", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::mode_change, mode(false, 3)); }},
	{"mode 7 by the sink", "mode", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::mode_change, mode(true, 7)); }},
	{"OOB_PRES without payload", "oob", ECONNRESET,
	 [](Attack &a) { a.peer.flagged(Mid::data, 3); }},
	{"OOB_PRES in SrcAvail", "oob", ECONNRESET,
	 [](Attack &a) {
		 wrong(a, Mid::src_avail, [&](Draft &d) {
			 d.extra = a.peer.advertise(1000);
			 d.payload = stream(10);
			 d.flags = 3;
		 });
	 }},

	/* numbers and credits */
	{"MSeq again", "seq", ECONNRESET,
	 [](Attack &a) {
		 a.peer.say(Mid::data);
		 wrong(a, Mid::data, [](Draft &d) { d.mseq--; });
	 }},
	{"MSeq left out", "seq", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.mseq++; }); }},
	{"MSeq 0", "seq", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.mseq = 0; }); }},
	{"MSeqAck of the future", "ack", ECONNRESET,
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.ack += 1000; }); }},
	{"MSeqAck goes back", "ack", ECONNRESET, acknowledges_less},
	{"payload beyond credits", "credit", ECONNRESET, beyond_credits},
	{"SrcAvail beyond credits", "credit", ECONNRESET, offer_beyond_credits},

	/* states */
	{"DisConn twice", "state", EPIPE,
	 [](Attack &a) {
		 a.peer.say(Mid::disconn);
		 a.peer.say(Mid::disconn);
	 }},
	{"data after DisConn", "state", EPIPE,
	 [](Attack &a) {
		 a.peer.say(Mid::disconn);
		 a.peer.say(Mid::data, {}, stream(10));
	 }},
	{"SrcAvail after DisConn", "state", EPIPE,
	 [](Attack &a) {
		 a.peer.say(Mid::disconn);
		 source_offer(a.peer);
	 }},
	{"ModeChange after DisConn", "state", EPIPE,
	 [](Attack &a) {
		 a.peer.say(Mid::disconn);
		 a.peer.say(Mid::mode_change, mode(false, 2));
	 }},
	{"DisConn with a SrcAvail", "state", ECONNRESET,
	 [](Attack &a) {
		 source_offer(a.peer);
		 a.peer.say(Mid::disconn);
	 }},
	{"AbortConn without DisConn", "state", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::abort); }},
	{"SuspCommAck without SuspComm", "state", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::suspend_ack); }},

	/* modes */
	{"combined to combined", "modechange", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::mode_change, mode(false, 1)); }},
	{"buffered to pipelined", "modechange", ECONNRESET,
	 [](Attack &a) {
		 a.peer.say(Mid::mode_change, mode(false, 0));
		 a.peer.say(Mid::mode_change, mode(false, 2));
	 }},
	{"pipelined to buffered", "modechange", ECONNRESET,
	 [](Attack &a) {
		 a.peer.say(Mid::mode_change, mode(false, 2));
		 a.peer.say(Mid::mode_change, mode(false, 0));
	 }},
	{"buffered with a SrcAvail", "modechange", ECONNRESET,
	 [](Attack &a) {
		 source_offer(a.peer);
		 a.peer.say(Mid::mode_change, mode(false, 0));
	 }},
	{"the sink changes combined mode", "modechange", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::mode_change, mode(true, 1)); }},
	{"the sink wants pipelined mode", "modechange", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::mode_change, mode(true, 2)); }},

	/* Read Zcopy */
	{"SrcAvail in buffered mode", "src-mode", ECONNRESET,
	 [](Attack &a) {
		 a.peer.say(Mid::mode_change, mode(false, 0));
		 source_offer(a.peer);
	 }},
	{"SrcAvail without payload", "src-mode", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::src_avail, a.peer.advertise(1000)); }},
	{"SrcAvail with payload in pipelined mode", "src-mode", ECONNRESET,
	 [](Attack &a) {
		 a.peer.say(Mid::mode_change, mode(false, 2));
		 source_offer(a.peer);
	 }},
	{"a second SrcAvail", "src-limit", ECONNRESET,
	 [](Attack &a) {
		 source_offer(a.peer);
		 source_offer(a.peer);
	 }},
	{"more than MaxAdverts", "src-limit", ECONNRESET,
	 [](Attack &a) {
		 // krdma_sdp's is 2
		 a.peer.say(Mid::mode_change, mode(false, 2));
		 for (int i = 0; i < 3; i++)
			 a.peer.say(Mid::src_avail, a.peer.advertise(1000));
	 }},
	{"payload behind a SrcAvail", "src-payload", ECONNRESET,
	 [](Attack &a) {
		 source_offer(a.peer);
		 a.peer.say(Mid::data, {}, stream(10));
	 }},
	{"RdmaRdCompl without SrcAvail", "read", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::read_compl, word(100)); }},
	{"SendSm without SrcAvail", "read", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::send_sm); }},

	/* Write Zcopy */
	{"SinkAvail in combined mode", "sink-mode", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::sink_avail, sink_offer(a.peer, memory_size, 0)); }},
	{"a small SinkAvail", "sink-limit", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::sink_avail, sink_offer(a.peer, 100, 0)); }},
	{"NonDiscards too large", "sink-limit", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::sink_avail, sink_offer(a.peer, memory_size, 5)); }},
	{"RdmaWrCompl without SinkAvail", "write", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::write_compl, word(100)); }},
	{"SinkCancelAck without a cancel", "write", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::sink_cancel_ack); }},

	/* the rest */
	{"OOB_PRES without notice", "pend", ECONNRESET,
	 [](Attack &a) { a.peer.flagged(Mid::data, 1, stream(10)); }},
	{"OOB_PEND twice", "pend", ECONNRESET,
	 [](Attack &a) {
		 a.peer.flagged(Mid::data, 2);
		 a.peer.flagged(Mid::data, 2);
	 }},
	{"ChRcvBufAck without ChRcvBuf", "rcvbuf", ECONNRESET,
	 [](Attack &a) { a.peer.say(Mid::ch_rcv_buf_ack, word(4096)); }},
	{"ChRcvBuf before the answer", "rcvbuf", ECONNRESET, unanswered_size},
};

/* What is allowed ************************************************************************** */

namespace {

void resize(Attack &attack, std::uint32_t size)
{
	attack.peer.say(Mid::ch_rcv_buf, word(size));
	same(attack.peer.hear(Mid::ch_rcv_buf_ack).value, attack.peer.victim_size,
	     "size of the victim's buffers");
}

void updates(Attack &attack)
{
	for (int i = 0; i < 300; i++) {
		attack.peer.settle(0ms);
		/* the victim answers when two are left */
		for (int tries = 0; attack.peer.credits() < 2; tries++) {
			require(tries < 200, "credits");
			attack.peer.settle(50ms);
		}
		attack.peer.say(Mid::data);
	}
}

/* the victim reads all of it */
void offered_and_read(Attack &attack)
{
	Peer &peer = attack.peer;
	std::uint32_t reported = 0;

	/* the bytes are those of the message itself: header, payload, what was there before */
	source_offer(peer, 40000);
	Octets got(40000);
	same(recv(attack.victim.fd(), got.data(), got.size(), MSG_WAITALL), ssize_t{40000},
	     "octets of an offer");
	while (reported < 39900)
		reported += peer.hear(Mid::read_compl).value;
	same(reported, 39900U, "octets that were read");
	require(std::equal(got.begin(), got.begin() + 100, stream(100).begin()), "the payload");
}

void offered_and_refused(Attack &attack)
{
	Octets got(200);

	source_offer(attack.peer);
	pollfd p{.fd = attack.victim.fd(), .events = POLLIN, .revents = 0};
	same(poll(&p, 1, 20000), 1, "the payload comes");
	same(recv(attack.victim.fd(), got.data(), got.size(), MSG_DONTWAIT), ssize_t{100},
	     "octets of the payload");
	/* the second call finds only what it would have to read */
	(void)recv(attack.victim.fd(), got.data(), got.size(), MSG_DONTWAIT);
	(void)attack.peer.hear(Mid::send_sm);
}

void offered_and_cancelled(Attack &attack)
{
	Octets got(200);

	source_offer(attack.peer);
	attack.peer.say(Mid::src_cancel);
	(void)attack.peer.hear(Mid::send_sm);
	same(recv(attack.victim.fd(), got.data(), got.size(), 0), ssize_t{100},
	     "octets of the payload");
}

void urgent(Attack &attack)
{
	std::uint8_t octet = 0;

	attack.peer.flagged(Mid::data, 2);
	attack.peer.flagged(Mid::data, 1, {7});
	pollfd p{.fd = attack.victim.fd(), .events = POLLPRI, .revents = 0};
	same(poll(&p, 1, 20000), 1, "POLLPRI");
	same(recv(attack.victim.fd(), &octet, 1, MSG_OOB), ssize_t{1}, "recv with MSG_OOB");
	same(octet, std::uint8_t{7}, "the out-of-band octet");
}

} /* namespace */

const std::vector<Legal> legal{
	{"nothing odd", [](Attack &) {}},
	{"ChRcvBuf of 4 GiB", [](Attack &a) { resize(a, 0xffffffff); }},
	{"ChRcvBuf 256", [](Attack &a) { resize(a, 256); }},
	{"SrcAvailCancel without SrcAvail", [](Attack &a) { a.peer.say(Mid::src_cancel); }},
	{"SinkAvailCancel without SinkAvail", [](Attack &a) { a.peer.say(Mid::sink_cancel); }},
	{"reserved flags and REQ_PIPE", [](Attack &a) { a.peer.flagged(Mid::data, 0xfc); }},
	{"300 credit updates", updates},
	{"buffered mode", [](Attack &a) { a.peer.say(Mid::mode_change, mode(false, 0)); }},
	{"pipelined mode and back",
	 [](Attack &a) {
		 a.peer.say(Mid::mode_change, mode(false, 2));
		 a.peer.say(Mid::mode_change, mode(false, 1));
	 }},
	{"SrcAvail that is read", offered_and_read},
	{"SrcAvail that is refused", offered_and_refused},
	{"SrcAvail that is cancelled", offered_and_cancelled},
	{"an out-of-band octet", urgent},
	{"credits of 65535",
	 [](Attack &a) { wrong(a, Mid::data, [](Draft &d) { d.bufs = 0xffff; }); }},
};

/* By chance ******************************************************************************** */

namespace {

class Chance {
public:
	explicit Chance(std::uint32_t seed) : source_{seed}
	{}
	std::uint32_t below(std::uint32_t limit)
	{
		return static_cast<std::uint32_t>(source_() % limit);
	}
	bool one_in(std::uint32_t n)
	{
		return below(n) == 0;
	}
	std::uint32_t number()
	{
		static const std::vector<std::uint32_t> edges{
			0, 1, 99, 255, 256, 65536, 0x7fffffff, 0x80000000, 0xffffffff};

		return one_in(2) ? edges[below(static_cast<std::uint32_t>(edges.size()))]
				 : static_cast<std::uint32_t>(source_());
	}

private:
	std::mt19937 source_;
};

/* mostly right, so that it gets far */
Draft any_draft(Peer &peer, Chance &chance)
{
	static const std::vector<Mid> mids{
		Mid::data,        Mid::data,           Mid::data,        Mid::src_avail,
		Mid::src_avail,   Mid::sink_avail,     Mid::disconn,     Mid::abort,
		Mid::send_sm,     Mid::write_compl,    Mid::read_compl,  Mid::mode_change,
		Mid::mode_change, Mid::src_cancel,     Mid::sink_cancel, Mid::sink_cancel_ack,
		Mid::ch_rcv_buf,  Mid::ch_rcv_buf_ack, Mid::suspend,     Mid::suspend_ack,
		Mid::hello,       Mid::hello_ack};
	const Mid mid = mids[chance.below(static_cast<std::uint32_t>(mids.size()))];
	Draft draft = peer.draft(mid);

	switch (mid) {
	case Mid::data:
		draft.payload = stream(chance.one_in(2) ? 0 : 1 + chance.below(20000));
		break;
	case Mid::src_avail:
	case Mid::sink_avail:
		draft.extra = chance.one_in(2) ? peer.advertise(1 + chance.below(memory_size))
					       : word(chance.number()) + word(chance.number()) +
							 Octets(8, 0x55);
		if (mid == Mid::sink_avail)
			draft.extra = draft.extra + word(chance.below(3));
		draft.payload = stream(chance.one_in(3) ? 0 : 1 + chance.below(100));
		break;
	case Mid::mode_change:
		draft.extra = mode(chance.one_in(4), static_cast<int>(chance.below(4)));
		break;
	case Mid::suspend:
		draft.extra = big(chance.number(), 8);
		break;
	case Mid::write_compl:
	case Mid::read_compl:
	case Mid::ch_rcv_buf:
	case Mid::ch_rcv_buf_ack:
		draft.extra = word(chance.number());
		break;
	default:
		break;
	}
	if (chance.one_in(8))
		draft.flags = static_cast<std::uint8_t>(chance.below(256));
	if (chance.one_in(20))
		draft.mseq = chance.number();
	if (chance.one_in(20))
		draft.ack = chance.number();
	if (chance.one_in(20))
		draft.len = chance.number();
	if (chance.one_in(4))
		draft.bufs = static_cast<std::uint16_t>(chance.number());
	return draft;
}

/* a program that does something; it never waits */
void any_call(const Victim &victim, Chance &chance)
{
	static Octets room(1 << 20);

	switch (chance.below(5)) {
	case 0:
		(void)send(victim.fd(), room.data(), chance.below(200000),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case 1:
		(void)recv(victim.fd(), room.data(), chance.below(200000), MSG_DONTWAIT);
		break;
	case 2:
		(void)recv(victim.fd(), room.data(), 1, MSG_DONTWAIT | MSG_OOB);
		break;
	case 3:
		if (chance.one_in(5))
			(void)shutdown(victim.fd(), static_cast<int>(chance.below(3)));
		break;
	default:
		break;
	}
}

void random_round(World &world, std::uint32_t seed)
{
	Chance chance{seed};
	Attack attack{world, chance.one_in(2)};

	for (std::uint32_t i = 0, n = 1 + chance.below(12); i < n; i++) {
		attack.peer.transmit(any_draft(attack.peer, chance));
		any_call(attack.victim, chance);
		attack.peer.settle(0ms);
	}
	if (chance.one_in(2)) {
		attack.victim.close();
		attack.peer.settle(1ms);
	}
	attack.peer.abort();
}

} /* namespace */

void random_rounds(World &world, std::uint32_t seed, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		try {
			random_round(world, seed + i);
		} catch (const std::exception &error) {
			fail("seed " + std::to_string(seed + i) + ": " + error.what());
		}
	}
}

} /* namespace hostile */
