/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The rules of docs/sdp-wire.md, sections 4 to 13. Side::process() is what an end learns from a
 * message, Judge::judge() is what it may send with that knowledge.
 */
#include "judge.hpp"

#include <algorithm>
#include <utility>

namespace sdp {

namespace {

bool before(std::uint32_t a, std::uint32_t b)
{
	return static_cast<std::int32_t>(a - b) < 0;
}

/* RdmaRdCompl: for the oldest SrcAvail */
void report(std::vector<Advert> &srcs, std::uint32_t octets)
{
	if (srcs.empty())
		return;
	srcs.front().done += octets;
	if (srcs.front().done >= srcs.front().size)
		srcs.erase(srcs.begin());
}

void drop_first(std::vector<Advert> &adverts)
{
	if (!adverts.empty())
		adverts.erase(adverts.begin());
}

Advert advert_of(const Message &message)
{
	return {.mseq = message.mseq,
		.size = message.value,
		.rkey = message.rkey,
		.va = message.va,
		.done = static_cast<std::uint32_t>(
			message.mid == Mid::src_avail ? message.payload.size() : 0)};
}

} /* namespace */

std::uint32_t Side::credits() const
{
	return before(limit, mseq) ? 0 : limit - mseq;
}

bool Side::holds() const
{
	return answering && before(acked, *answering);
}

bool Side::may_hold() const
{
	return holds() ||
	       (!incoming.empty() && incoming.front().mid == Mid::src_cancel && !offered.empty());
}

/* section 8: which SinkAvails a message with payload leaves */
static void use_up(std::vector<Advert> &sinks, std::uint32_t mseq_ack)
{
	std::erase_if(sinks, [=](const Advert &sink) { return before(mseq_ack, sink.mseq); });
	drop_first(sinks);
}

static void learn_src_avail(Side &me, const Message &message)
{
	if (!me.sinks.empty() && before(message.mseq_ack, me.sinks.front().mseq))
		return;
	if (me.send_sm && before(message.mseq_ack, *me.send_sm))
		return;
	me.offered.push_back(advert_of(message));
}

static void learn_sink_avail(Side &me, const Message &message)
{
	if (me.fin_sent || me.mode_out != Mode::pipelined ||
	    message.non_discards != me.payloads_out)
		return;
	if (me.left_pipelined && before(message.mseq_ack, *me.left_pipelined))
		return;
	me.srcs.clear();
	me.src_cancel = false;
	me.kept.push_back(advert_of(message));
}

static void learn_mode(Side &me, const Message &message)
{
	if (message.send_half) {
		me.mode_out = message.mode;
		return;
	}
	if (me.mode_in == Mode::pipelined)
		me.sinks.clear();
	me.mode_in = message.mode;
}

void Side::process(const Message &message)
{
	limit = message.mseq_ack + message.bufs;
	if (!message.payload.empty()) {
		payloads_in++;
		use_up(sinks, message.mseq_ack);
	}
	switch (message.mid) {
	case Mid::src_avail:
		learn_src_avail(*this, message);
		break;
	case Mid::src_cancel:
		if (!offered.empty())
			answering = message.mseq;
		break;
	case Mid::read_compl:
		report(srcs, message.value);
		src_cancel = src_cancel && !srcs.empty();
		break;
	case Mid::send_sm:
		srcs.clear();
		src_cancel = false;
		break;
	case Mid::sink_avail:
		learn_sink_avail(*this, message);
		break;
	case Mid::write_compl:
		drop_first(sinks);
		break;
	case Mid::sink_cancel:
		owes_cancel_ack = !kept.empty();
		kept.clear();
		break;
	case Mid::sink_cancel_ack:
		sinks.clear();
		break;
	case Mid::mode_change:
		learn_mode(*this, message);
		break;
	case Mid::ch_rcv_buf:
		owes_size = true;
		break;
	case Mid::ch_rcv_buf_ack:
		size_asked = false;
		break;
	case Mid::suspend:
		owes_suspend = true;
		break;
	case Mid::suspend_ack:
		suspend_asked = false;
		break;
	case Mid::disconn:
		fin_received = true;
		sinks.clear();
		break;
	default:
		break;
	}
	sink_cancel = sink_cancel && !sinks.empty();
}

void Side::process_until(std::uint32_t mseq_ack)
{
	while (!incoming.empty() && !before(mseq_ack, incoming.front().mseq)) {
		const Message message = std::move(incoming.front());

		incoming.pop_front();
		process(message);
	}
	acked = mseq_ack;
	/* the reads are over; what is left open is dropped */
	if (answering && offered.empty())
		answering.reset();
}

void Judge::find(End end, std::string_view rule, std::string text)
{
	findings_.push_back({number_, end, std::string{rule}, std::move(text)});
}

/* section 4, in the order of section 14 */
void Judge::judge_credit(Side &me, const Message &message, Faults &faults)
{
	const std::uint32_t credits = me.credits();
	const bool payload = !message.payload.empty() || message.mid == Mid::src_avail;
	const bool gives = before(me.given, message.mseq_ack + message.bufs);

	if (credits == 0 || (payload && credits < 3) || (credits == 1 && !gives))
		faults.emplace_back("credit", std::to_string(credits) + " credits");
}

/* sections 12 and 13 */
void Judge::judge_class(Side &me, const Message &message, Faults &faults)
{
	bool source = !message.payload.empty();

	switch (message.mid) {
	case Mid::disconn:
	case Mid::write_compl:
	case Mid::src_cancel:
	case Mid::sink_cancel_ack:
	case Mid::src_avail:
		source = true;
		break;
	case Mid::mode_change:
		source = !message.send_half;
		break;
	default:
		break;
	}
	if (me.aborted)
		faults.emplace_back("state", "a message after AbortConn");
	else if (source && me.fin_sent)
		faults.emplace_back("state", "a source's message after DisConn");
	else if (message.mid == Mid::abort && !me.fin_sent)
		faults.emplace_back("state", "AbortConn without DisConn");
}

/* section 10 */
void Judge::judge_oob(Side &me, const Message &message, Faults &faults)
{
	if ((message.flags & flag::oob_pend) != 0) {
		if (me.pend)
			faults.emplace_back("pend", "OOB_PEND twice");
		me.pend = true;
	}
	if ((message.flags & flag::oob_pres) != 0) {
		if (!me.pend)
			faults.emplace_back("pend", "OOB_PRES without notice");
		me.pend = false;
	}
}

/* sections 6, 8 and 9 */
void Judge::judge_payload(Side &me, const Side &peer, const Message &message, Faults &faults)
{
	if (message.len > peer.size)
		faults.emplace_back("too-long", "the peer's buffers have " +
							std::to_string(peer.size) + " octets");
	if (message.payload.empty())
		return;
	if (me.holds())
		faults.emplace_back("held", "payload while MSeqAck is held");
	if (me.owes_cancel_ack)
		faults.emplace_back("write", "payload before SinkCancelAck");
	if (message.mid != Mid::src_avail && !me.srcs.empty())
		faults.emplace_back("src-payload", "payload while a SrcAvail is outstanding");
	me.payloads_out++;
	drop_first(me.kept);
}

void Judge::judge_src(Side &me, const Side &peer, const Message &message, Faults &faults)
{
	const bool payload = !message.payload.empty();

	if (me.mode_out == Mode::buffered || payload != (me.mode_out == Mode::combined))
		faults.emplace_back("src-mode",
				    "SrcAvail in " + std::string{name(me.mode_out)} + " mode");
	if (me.holds())
		faults.emplace_back("held", "SrcAvail while MSeqAck is held");
	if (me.src_cancel)
		faults.emplace_back("src-limit", "SrcAvail while a cancel is not answered");
	else if (me.mode_out == Mode::combined && !me.srcs.empty())
		faults.emplace_back("src-limit", "a second SrcAvail in combined mode");
	else if (!me.kept.empty())
		faults.emplace_back("src-limit", "SrcAvail with a valid SinkAvail");
	else if (me.srcs.size() + me.sinks.size() >= peer.max_adverts)
		faults.emplace_back("src-limit", "more than MaxAdverts");
	me.srcs.push_back(advert_of(message));
}

void Judge::judge_sink(Side &me, const Side &peer, const Message &message, Faults &faults)
{
	if (me.mode_in != Mode::pipelined)
		faults.emplace_back("sink-mode",
				    "SinkAvail in " + std::string{name(me.mode_in)} + " mode");
	if (me.holds())
		faults.emplace_back("held", "SinkAvail while MSeqAck is held");
	if (message.value < me.size)
		faults.emplace_back("sink-limit", "Size is below that of a private buffer");
	if (message.non_discards != me.payloads_in)
		faults.emplace_back("sink-limit",
				    "NonDiscards is not " + std::to_string(me.payloads_in));
	if (!me.offered.empty())
		faults.emplace_back("sink-limit", "SinkAvail while it has a SrcAvail");
	if (me.sink_cancel)
		faults.emplace_back("sink-limit", "SinkAvail while a cancel is not answered");
	if (me.srcs.size() + me.sinks.size() >= peer.max_adverts)
		faults.emplace_back("sink-limit", "more than MaxAdverts");
	me.sinks.push_back(advert_of(message));
}

/* section 7 */
void Judge::judge_reads(Side &me, const Message &message, Faults &faults)
{
	if (me.offered.empty()) {
		faults.emplace_back("read", "without a SrcAvail");
		return;
	}
	if (message.mid == Mid::send_sm) {
		me.offered.clear();
		me.send_sm = message.mseq;
	} else if (message.value > me.offered.front().size - me.offered.front().done) {
		faults.emplace_back("read", "beyond the SrcAvail");
		me.offered.clear();
	} else {
		report(me.offered, message.value);
	}
	if (me.offered.empty() && !me.holds())
		me.answering.reset();
}

/* section 8 */
void Judge::judge_writes(Side &me, const Message &message, Faults &faults)
{
	switch (message.mid) {
	case Mid::write_compl:
		if (me.kept.empty())
			faults.emplace_back("write", "without a SinkAvail");
		else if (message.value > me.kept.front().size)
			faults.emplace_back("write", "beyond the SinkAvail");
		drop_first(me.kept);
		break;
	case Mid::sink_cancel:
		me.sink_cancel = !me.sinks.empty();
		break;
	default: /* SinkCancelAck */
		if (!std::exchange(me.owes_cancel_ack, false))
			faults.emplace_back("write", "SinkCancelAck without need");
		break;
	}
}

/* section 5 */
void Judge::judge_mode(Side &me, const Message &message, Faults &faults)
{
	const Mode from = message.send_half ? me.mode_in : me.mode_out;
	bool legal = false;

	if (message.send_half) {
		legal = from == Mode::buffered && message.mode == Mode::combined;
		me.mode_in = message.mode;
	} else {
		if (from == Mode::combined)
			legal = message.mode == Mode::pipelined ||
				(message.mode == Mode::buffered && me.srcs.empty());
		else if (from == Mode::pipelined)
			legal = message.mode == Mode::combined && me.srcs.empty() &&
				me.kept.empty();
		if (from == Mode::pipelined)
			me.left_pipelined = message.mseq;
		me.mode_out = message.mode;
	}
	if (!legal)
		faults.emplace_back("modechange", "from " + std::string{name(from)} + " to " +
							  std::string{name(message.mode)});
}

/* sections 11 to 13 */
void Judge::judge_rest(Side &me, const Message &message, Faults &faults)
{
	switch (message.mid) {
	case Mid::ch_rcv_buf:
		if (std::exchange(me.size_asked, true))
			faults.emplace_back("rcvbuf", "ChRcvBuf twice");
		break;
	case Mid::ch_rcv_buf_ack:
		if (!std::exchange(me.owes_size, false))
			faults.emplace_back("rcvbuf", "ChRcvBufAck without a request");
		me.size = message.value;
		break;
	case Mid::suspend:
		me.suspend_asked = true;
		break;
	case Mid::suspend_ack:
		if (!std::exchange(me.owes_suspend, false))
			faults.emplace_back("state", "SuspCommAck without SuspComm");
		break;
	case Mid::disconn:
		if (!me.srcs.empty())
			faults.emplace_back("state", "DisConn while a SrcAvail is outstanding");
		me.fin_sent = true;
		me.kept.clear();
		break;
	case Mid::abort:
		me.aborted = true;
		break;
	default:
		break;
	}
}

Judge::Faults Judge::judge(Side &me, const Side &peer, const Message &message)
{
	Faults faults;

	judge_credit(me, message, faults);
	judge_class(me, message, faults);
	judge_oob(me, message, faults);
	judge_payload(me, peer, message, faults);
	switch (message.mid) {
	case Mid::src_avail:
		judge_src(me, peer, message, faults);
		break;
	case Mid::sink_avail:
		judge_sink(me, peer, message, faults);
		break;
	case Mid::send_sm:
	case Mid::read_compl:
		judge_reads(me, message, faults);
		break;
	case Mid::src_cancel:
		me.src_cancel = !me.srcs.empty();
		break;
	case Mid::write_compl:
	case Mid::sink_cancel:
	case Mid::sink_cancel_ack:
		judge_writes(me, message, faults);
		break;
	case Mid::mode_change:
		judge_mode(me, message, faults);
		break;
	default:
		judge_rest(me, message, faults);
		break;
	}
	if (before(me.given, message.mseq_ack + message.bufs))
		me.given = message.mseq_ack + message.bufs;
	me.mseq = message.mseq;
	return faults;
}

/* Hello and HelloAck */
void Judge::hello(End from)
{
	Side &me = at(from);

	me.given = now_.bufs;
	me.size = now_.hello.size;
	me.max_adverts = now_.hello.max_adverts;
	at(other(from)).limit = now_.bufs;
}

/* what depends on nothing but the numbers */
void Judge::order(End from)
{
	const Side &me = at(from);

	if (now_.mseq != me.mseq + 1)
		find(from, "seq", "expected " + std::to_string(me.mseq + 1));
	if (before(now_.mseq_ack, me.acked) || before(at(other(from)).mseq, now_.mseq_ack))
		find(from, "ack",
		     "neither between " + std::to_string(me.acked) + " and " +
			     std::to_string(at(other(from)).mseq));
	if (from == End::passive && now_.mseq_ack == 0 && me.mseq == 0)
		find(from, "early", "nothing of the active end has been processed");
}

/*
 * An end that holds its MSeqAck back knows more than it acknowledges. Its message is right if it is
 * right with any number of further messages of the peer.
 */
void Judge::sent(End from)
{
	Side &me = at(from);
	const Side &peer = at(other(from));

	me.process_until(now_.mseq_ack);
	Side best = me;
	Faults faults = judge(best, peer, now_);
	if (!faults.empty() && me.may_hold()) {
		Side more = me;
		while (!more.incoming.empty()) {
			more.process(more.incoming.front());
			more.incoming.pop_front();
			Side guess = more;
			if (Faults fewer = judge(guess, peer, now_); fewer.empty()) {
				best = guess;
				faults.clear();
				break;
			}
		}
	}
	me = std::move(best);
	for (auto &[rule, text] : faults)
		find(from, rule, std::move(text));
}

void Judge::count(End from, std::uint32_t moved)
{
	Totals &mine = totals_[static_cast<std::size_t>(from)];

	mine.messages++;
	mine.bcopy += now_.payload.size();
	mine.updates += now_.mid == Mid::data && now_.payload.empty() ? 1 : 0;
	mine.transactions += now_.mid == Mid::sink_avail && !now_.payload.empty() ? 1 : 0;
	mine.oob += (now_.flags & flag::oob_pres) != 0 ? 1 : 0;
	if (now_.mid == Mid::write_compl)
		mine.written += moved;
	if (now_.mid == Mid::read_compl)
		totals_[static_cast<std::size_t>(other(from))].read += moved;
}

const Message &Judge::message(End from, View octets, Carrier carrier)
{
	number_++;
	now_ = decode(octets, carrier);
	if (!now_.fault.empty()) {
		find(from, now_.fault, describe(now_));
		/* the numbers go on */
		if (carrier == Carrier::send && now_.fault != "short")
			at(from).mseq = now_.mseq;
		return now_;
	}
	if (carrier != Carrier::send) {
		hello(from);
		return now_;
	}
	order(from);
	sent(from);
	count(from, now_.value);
	if (now_.mid == Mid::write_compl) {
		const auto written = std::exchange(written_[static_cast<std::size_t>(from)], 0);
		if (rdma_seen_ && written != now_.value)
			find(from, "rdma",
			     "RdmaWrCompl of " + std::to_string(now_.value) + " after " +
				     std::to_string(written) + " octets written");
	}
	at(other(from)).incoming.push_back(now_);
	return now_;
}

/* A Write is for an open SinkAvail of the peer, from its begin. 0 octets: keepalive */
void Judge::rdma_write(End from, std::uint32_t rkey, std::uint64_t va, std::uint64_t size)
{
	const Side &peer = at(other(from));
	auto &written = written_[static_cast<std::size_t>(from)];

	number_++;
	rdma_seen_ = true;
	if (size == 0)
		return;
	const auto target = std::ranges::find(peer.sinks, rkey, &Advert::rkey);
	if (target == peer.sinks.end() || va != target->va + written ||
	    written + size > target->size)
		find(from, "rdma", "a Write where no SinkAvail allows it");
	written += size;
}

/* A Read is of an open SrcAvail of the peer. 0 octets: keepalive */
void Judge::rdma_read(End from, std::uint32_t rkey, std::uint64_t va, std::uint64_t size)
{
	const Side &peer = at(other(from));

	number_++;
	if (size == 0)
		return;
	for (const Advert &src : peer.srcs)
		if (src.rkey == rkey && va >= src.va && va + size <= src.va + src.size)
			return;
	find(from, "rdma", "a Read where no SrcAvail allows it");
}

void Judge::finish()
{
	number_++;
	if (!closed() || sides_[0].aborted || sides_[1].aborted)
		return;
	for (const End end : {End::active, End::passive}) {
		Side &me = at(end);

		while (!me.incoming.empty()) {
			me.process(me.incoming.front());
			me.incoming.pop_front();
		}
		if (!me.srcs.empty() || !me.sinks.empty() || !me.offered.empty())
			find(end, "end", "an advertisement is open at the end");
		if (me.pend)
			find(end, "end", "OOB_PEND without OOB_PRES at the end");
	}
}

} /* namespace sdp */
