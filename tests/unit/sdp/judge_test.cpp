/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The judge against scripts: right ones for every mechanism and every crossing that
 * docs/sdp-wire.md names, and wrong ones for every rule.
 */
#include <cstdint>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../sdp/capture.hpp"
#include "../../sdp/judge.hpp"

namespace {

using namespace sdp;

constexpr End A = End::active;
constexpr End P = End::passive;

void put(Octets &octets, std::uint64_t value, int size)
{
	for (; size > 8; size--)
		octets.push_back(0);
	for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
		octets.push_back(static_cast<std::uint8_t>(value >> shift));
}

/* What a script may say of a message; the rest follows from the messages before */
struct Options {
	std::uint32_t value = 0;
	std::uint32_t payload = 0;
	std::uint8_t flags = 0;
	std::uint8_t mode = 0;                 /* byte of ModeChange */
	std::optional<std::uint32_t> ack = {}; /* behind the last one: crossing messages */
	std::optional<std::uint16_t> bufs = {};
	std::optional<std::uint32_t> mseq = {};
	std::optional<std::uint32_t> nond = {};
	std::uint32_t rkey = 7;
};

class Script {
public:
	explicit Script(std::uint16_t bufs = 16, std::uint8_t adverts = 4) : bufs_(bufs)
	{
		hello(0x00, 92, adverts);
		hello(0x01, 196, adverts);
	}
	/* the first message, and pipelined mode for both halves */
	Script &begin(bool pipelined = false)
	{
		send(A, Mid::data);
		if (pipelined) {
			send(A, Mid::mode_change, {.mode = 0x20});
			send(P, Mid::mode_change, {.mode = 0x20});
		}
		return *this;
	}
	Script &send(End from, Mid mid, const Options &options = {})
	{
		judge.message(from, build(from, mid, options));
		return *this;
	}
	[[nodiscard]] std::uint32_t last(End end) const
	{
		return mseq_[static_cast<int>(end)];
	}
	/* names of the rules that were violated, blank between them */
	[[nodiscard]] std::string rules()
	{
		std::string names;

		judge.finish();
		for (const Finding &finding : judge.findings())
			names += (names.empty() ? "" : " ") + finding.rule;
		return names;
	}

	Judge judge;

private:
	void hello(std::uint8_t mid, std::uint32_t len, std::uint8_t adverts)
	{
		Octets octets;

		put(octets, mid << 24U | bufs_, 4);
		put(octets, len, 4);
		put(octets, 0, 8);
		put(octets, mid == 0 ? 0x30400000U | adverts : 0x30000000U | adverts, 4);
		put(octets, 1024, 4);
		put(octets, 1024, 4);
		put(octets, 0x00010002, 4);
		octets.resize(len);
		if (mid == 1)
			std::fill(octets.begin() + 24, octets.end(), 0);
		judge.message(mid == 0 ? A : P, octets,
			      mid == 0 ? Carrier::request : Carrier::answer);
	}
	/* messages with payload that an end has received when it has processed up to @ack */
	[[nodiscard]] std::uint32_t payloads(End end, std::uint32_t ack) const
	{
		std::uint32_t count = judge.side(end).payloads_in;

		for (const Message &message : judge.side(end).incoming)
			count += message.mseq <= ack && !message.payload.empty() ? 1 : 0;
		return count;
	}
	Octets build(End from, Mid mid, const Options &options)
	{
		auto &mseq = mseq_[static_cast<int>(from)];
		const std::uint32_t ack = options.ack.value_or(last(other(from)));
		Octets extra;
		Octets octets;

		mseq = options.mseq.value_or(mseq + 1);
		if (mid == Mid::src_avail || mid == Mid::sink_avail) {
			put(extra, options.value, 4);
			put(extra, options.rkey, 4);
			put(extra, 0x1000, 8);
			if (mid == Mid::sink_avail)
				put(extra, options.nond.value_or(payloads(from, ack)), 4);
		} else if (mid == Mid::mode_change) {
			put(extra, options.mode, 1);
			put(extra, 0, 3);
		} else if (mid == Mid::suspend) {
			put(extra, 1, 8);
		} else if (options.value != 0) {
			put(extra, options.value, 4);
		}
		put(octets, static_cast<std::uint8_t>(mid), 1);
		put(octets, options.flags, 1);
		put(octets, options.bufs.value_or(bufs_), 2);
		put(octets, 16 + extra.size() + options.payload, 4);
		put(octets, mseq, 4);
		put(octets, ack, 4);
		octets.insert(octets.end(), extra.begin(), extra.end());
		octets.resize(octets.size() + options.payload, 0x55);
		return octets;
	}

	std::uint16_t bufs_;
	std::uint32_t mseq_[2] = {};
};

/* both ends finish */
void close(Script &script)
{
	script.send(A, Mid::disconn).send(P, Mid::disconn);
}

TEST(SdpJudge, Bcopy)
{
	Script s;

	s.begin().send(A, Mid::data, {.payload = 1000}).send(P, Mid::data, {.payload = 1});
	close(s);
	EXPECT_EQ(s.rules(), "");
	EXPECT_EQ(s.judge.totals(A).bcopy, 1000U);
	EXPECT_EQ(s.judge.totals(P).bcopy, 1U);
	EXPECT_TRUE(s.judge.closed());
}

TEST(SdpJudge, HalfClose)
{
	Script s;

	s.begin().send(A, Mid::disconn).send(P, Mid::data, {.payload = 10}).send(A, Mid::data);
	s.send(P, Mid::src_avail, {.value = 100, .payload = 1})
		.send(A, Mid::read_compl, {.value = 99});
	s.send(P, Mid::disconn);
	EXPECT_EQ(s.rules(), "");
	EXPECT_EQ(s.judge.totals(P).octets(), 110U);
	EXPECT_EQ(s.judge.totals(P).read, 99U);
}

TEST(SdpJudge, AbortAfterDisConn)
{
	Script s;

	s.begin().send(A, Mid::disconn).send(A, Mid::abort);
	EXPECT_EQ(s.rules(), "");
}

TEST(SdpJudge, ReadZcopy)
{
	Script s;

	s.begin();
	/* keepalive */
	s.judge.rdma_read(P, 0, 0, 0);
	s.send(A, Mid::src_avail, {.value = 5000, .payload = 100});
	s.judge.rdma_read(P, 7, 0x1000 + 100, 4900);
	s.send(P, Mid::read_compl, {.value = 4000}).send(P, Mid::read_compl, {.value = 900});
	s.send(A, Mid::src_avail, {.value = 5000, .payload = 100}).send(P, Mid::send_sm);
	s.send(A, Mid::data, {.payload = 1000});
	close(s);
	EXPECT_EQ(s.rules(), "");
	EXPECT_EQ(s.judge.totals(A).read, 4900U);
}

TEST(SdpJudge, SrcAvailsThatCrossSendSm)
{
	Script s;

	s.begin(true).send(A, Mid::src_avail, {.value = 5000});
	const auto seen = s.last(P);
	s.send(P, Mid::send_sm).send(A, Mid::src_avail, {.value = 5000, .ack = seen});
	/* the second one is gone as well */
	s.send(A, Mid::data, {.payload = 100});
	close(s);
	EXPECT_EQ(s.rules(), "");
}

TEST(SdpJudge, SrcAvailCancel)
{
	Script s;

	s.begin(true)
		.send(A, Mid::src_avail, {.value = 5000})
		.send(A, Mid::src_avail, {.value = 100});
	const auto adverts = s.last(A);
	s.send(A, Mid::src_cancel);
	/* a credit update and the report while the reads go on: MSeqAck is held back */
	s.send(P, Mid::data, {.ack = adverts}).send(P, Mid::read_compl, {.value = 100});
	s.send(P, Mid::send_sm).send(A, Mid::data, {.payload = 10});
	/* one that finds nothing */
	s.send(A, Mid::src_cancel).send(P, Mid::data);
	close(s);
	EXPECT_EQ(s.rules(), "");
}

TEST(SdpJudge, AnswersWhileMSeqAckIsHeld)
{
	Script s;

	s.begin(true).send(A, Mid::src_avail, {.value = 5000});
	const auto held = s.last(A);
	s.send(A, Mid::src_cancel).send(A, Mid::ch_rcv_buf, {.value = 2048});
	s.send(P, Mid::ch_rcv_buf_ack, {.value = 2048, .ack = held}).send(P, Mid::send_sm);
	close(s);
	EXPECT_EQ(s.rules(), "");
}

TEST(SdpJudge, WriteZcopy)
{
	Script s;

	s.begin(true).send(P, Mid::sink_avail, {.value = 4096});
	s.judge.rdma_write(A, 7, 0x1000, 2000);
	s.judge.rdma_write(A, 7, 0x1000 + 2000, 1000);
	s.send(A, Mid::write_compl, {.value = 3000});
	/* Data uses up another one */
	s.send(P, Mid::sink_avail, {.value = 4096}).send(A, Mid::data, {.payload = 5});
	s.send(P, Mid::sink_avail, {.value = 4096}).send(P, Mid::sink_cancel);
	s.send(A, Mid::sink_cancel_ack);
	close(s);
	EXPECT_EQ(s.rules(), "");
	EXPECT_EQ(s.judge.totals(A).written, 3000U);
}

TEST(SdpJudge, StaleSinkAvails)
{
	Script s;

	s.begin(true);
	const auto seen = s.last(P);
	s.send(P, Mid::sink_avail, {.value = 4096}).send(P, Mid::sink_avail, {.value = 4096});
	/* crosses both: they are void, at both ends */
	s.send(A, Mid::data, {.payload = 5, .ack = seen}).send(A, Mid::src_avail, {.value = 100});
	s.send(P, Mid::read_compl, {.value = 100});
	close(s);
	EXPECT_EQ(s.rules(), "");
}

TEST(SdpJudge, SinkAvailVoidsSrcAvails)
{
	Script s;

	s.begin(true);
	const auto seen = s.last(A);
	s.send(A, Mid::src_avail, {.value = 9000});
	s.send(P, Mid::sink_avail, {.value = 4096, .ack = seen});
	s.send(A, Mid::write_compl, {.value = 4096});
	/* the sink has discarded the SrcAvail */
	s.send(A, Mid::src_avail, {.value = 4904}).send(P, Mid::read_compl, {.value = 4904});
	close(s);
	EXPECT_EQ(s.rules(), "");
}

TEST(SdpJudge, Transaction)
{
	Script s;

	s.begin(true).send(A, Mid::sink_avail, {.value = 4096, .payload = 64, .flags = 3});
	s.send(P, Mid::write_compl, {.value = 4096});
	close(s);
	EXPECT_EQ(s.rules(), "");
	EXPECT_EQ(s.judge.totals(A).transactions, 1U);
	EXPECT_EQ(s.judge.totals(A).oob, 1U);
}

TEST(SdpJudge, ModesBufferSizesAndSuspension)
{
	Script s;

	s.begin()
		.send(A, Mid::mode_change, {.mode = 0x00})
		.send(P, Mid::mode_change, {.mode = 0x90});
	s.send(A, Mid::mode_change, {.mode = 0x20}).send(A, Mid::mode_change, {.mode = 0x10});
	s.send(A, Mid::ch_rcv_buf, {.value = 65536}).send(P, Mid::ch_rcv_buf_ack, {.value = 2048});
	s.send(A, Mid::data, {.payload = 2000});
	s.send(A, Mid::suspend).send(P, Mid::suspend_ack);
	s.send(A, Mid::data, {.flags = flag::oob_pend})
		.send(A, Mid::data, {.payload = 1, .flags = 1});
	EXPECT_EQ(s.rules(), "");
}

TEST(SdpJudge, LastCredits)
{
	Script s{3};

	/* one credit is left: only with additional credits */
	s.send(A, Mid::data).send(A, Mid::mode_change, {.mode = 0x20, .bufs = 4});
	s.send(A, Mid::mode_change, {.mode = 0x10, .bufs = 5});
	EXPECT_EQ(s.rules(), "");
}

/* A script with one fault at its end */
struct Wrong {
	const char *name;
	const char *rules;
	std::function<void(Script &)> run;
};

void in_pipelined(Script &s, std::initializer_list<std::tuple<End, Mid, Options>> steps)
{
	s.begin(true);
	for (const auto &[end, mid, options] : steps)
		s.send(end, mid, options);
}

void in_combined(Script &s, std::initializer_list<std::tuple<End, Mid, Options>> steps)
{
	s.begin();
	for (const auto &[end, mid, options] : steps)
		s.send(end, mid, options);
}

const std::vector<Wrong> wrong = {
	{"skipped number", "seq",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::data, {.mseq = 3}}});
	 }},
	{"same number", "seq",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::data, {.mseq = 1}}});
	 }},
	{"future ack", "ack",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::data, {.ack = 2}}});
	 }},
	{"ack goes back", "ack",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::data, {}}, {P, Mid::data, {.ack = 0}}});
	 }},
	{"passive end first", "early", [](Script &s) { s.send(P, Mid::data); }},
	{"no credit", "credit",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::data, {.bufs = 0}}, {A, Mid::data, {}}});
	 }},
	{"payload with two credits", "credit",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::data, {.bufs = 2}}, {A, Mid::data, {.payload = 1}}});
	 }},
	{"SrcAvail with two credits", "credit",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::data, {.bufs = 2}}, {A, Mid::src_avail, {.value = 9}}});
	 }},
	{"last credit for nothing", "credit",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::data, {.bufs = 1}}, {A, Mid::data, {.bufs = 15}}});
	 }},
	{"payload after DisConn", "state",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::disconn, {}}, {A, Mid::data, {.payload = 1}}});
	 }},
	{"DisConn twice", "state",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::disconn, {}}, {A, Mid::disconn, {}}});
	 }},
	{"AbortConn first", "state",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::abort, {}}});
	 }},
	{"after AbortConn", "state",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::disconn, {}}, {A, Mid::abort, {}}, {A, Mid::data, {}}});
	 }},
	{"DisConn with SrcAvail", "state",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 5}}, {A, Mid::disconn, {}}});
	 }},
	{"SuspCommAck", "state",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::suspend_ack, {}}});
	 }},
	{"to its own mode", "modechange",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::mode_change, {.mode = 0x10}}});
	 }},
	{"pipelined to buffered", "modechange",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::mode_change, {.mode = 0x00}}});
	 }},
	{"sink to pipelined", "modechange",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::mode_change, {.mode = 0xa0}}});
	 }},
	{"to buffered with SrcAvail", "modechange",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::src_avail, {.value = 5, .payload = 1}},
				 {A, Mid::mode_change, {.mode = 0x00}}});
	 }},
	{"SrcAvail in buffered mode", "src-mode",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::mode_change, {.mode = 0x00}},
				 {A, Mid::src_avail, {.value = 5, .payload = 1}}});
	 }},
	{"SrcAvail without payload", "src-mode",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::src_avail, {.value = 5}}});
	 }},
	{"SrcAvail with payload", "src-mode",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 5, .payload = 1}}});
	 }},
	{"second SrcAvail", "src-limit",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::src_avail, {.value = 5, .payload = 1}},
				 {A, Mid::src_avail, {.value = 5, .payload = 1}}});
	 }},
	{"fifth SrcAvail", "src-limit",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 5}},
				  {A, Mid::src_avail, {.value = 5}},
				  {A, Mid::src_avail, {.value = 5}},
				  {A, Mid::src_avail, {.value = 5}},
				  {A, Mid::src_avail, {.value = 5}}});
	 }},
	{"SrcAvail in a cancel", "src-limit",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 5}},
				  {A, Mid::src_cancel, {}},
				  {A, Mid::src_avail, {.value = 5}}});
	 }},
	{"SrcAvail against SinkAvail", "src-limit",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000}},
				  {A, Mid::src_avail, {.value = 5}}});
	 }},
	{"Data behind SrcAvail", "src-payload",
	 [](Script &s) {
		 in_pipelined(s,
			      {{A, Mid::src_avail, {.value = 5}}, {A, Mid::data, {.payload = 5}}});
	 }},
	{"payload while holding", "held",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 5}},
				  {A, Mid::src_cancel, {}},
				  {A, Mid::ch_rcv_buf, {.value = 2048}},
				  {P, Mid::ch_rcv_buf_ack, {.value = 2048, .ack = 3}},
				  {P, Mid::data, {.payload = 5, .ack = 3}}});
	 }},
	{"report of nothing", "read",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::read_compl, {.value = 1}}});
	 }},
	{"report beyond", "read",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::src_avail, {.value = 5, .payload = 1}},
				 {P, Mid::read_compl, {.value = 5}}});
	 }},
	{"SendSm of nothing", "read",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::send_sm, {}}});
	 }},
	{"SendSm for a cancel that dropped nothing", "read",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 5}},
				  {A, Mid::src_cancel, {}},
				  {P, Mid::read_compl, {.value = 5}},
				  {P, Mid::send_sm, {}}});
	 }},
	{"SinkAvail in combined mode", "sink-mode",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::sink_avail, {.value = 5000}}});
	 }},
	{"small SinkAvail", "sink-limit",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 1023}}});
	 }},
	{"wrong NonDiscards", "sink-limit",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000, .nond = 1}}});
	 }},
	{"SinkAvail in a cancel", "sink-limit",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000}},
				  {P, Mid::sink_cancel, {}},
				  {P, Mid::sink_avail, {.value = 5000}}});
	 }},
	{"SinkAvail with SrcAvail", "sink-limit",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 5}},
				  {P, Mid::sink_avail, {.value = 5000}}});
	 }},
	{"write of nothing", "write",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::write_compl, {.value = 1}}});
	 }},
	{"write to a stale one", "write",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000}},
				  {A, Mid::data, {.payload = 1, .ack = 1}},
				  {A, Mid::write_compl, {.value = 1}}});
	 }},
	{"write beyond", "write",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000}},
				  {A, Mid::write_compl, {.value = 5001}}});
	 }},
	{"SinkCancelAck of nothing", "write",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000}},
				  {A, Mid::write_compl, {.value = 5000}},
				  {P, Mid::sink_cancel, {}},
				  {A, Mid::sink_cancel_ack, {}}});
	 }},
	{"payload before SinkCancelAck", "write",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000}},
				  {P, Mid::sink_cancel, {}},
				  {A, Mid::data, {.payload = 5}}});
	 }},
	{"OOB_PRES without notice", "pend",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::data, {.payload = 1, .flags = 1}}});
	 }},
	{"OOB_PEND twice", "pend",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::data, {.flags = 2}}, {A, Mid::data, {.flags = 2}}});
	 }},
	{"ChRcvBuf twice", "rcvbuf",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::ch_rcv_buf, {.value = 512}},
				 {A, Mid::ch_rcv_buf, {.value = 512}}});
	 }},
	{"ChRcvBufAck", "rcvbuf",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::ch_rcv_buf_ack, {.value = 512}}});
	 }},
	{"payload too long", "too-long",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::data, {.payload = 1009}}});
	 }},
	{"malformed", "size",
	 [](Script &s) {
		 in_combined(s, {{P, Mid::ch_rcv_buf, {.value = 255}}});
	 }},
	{"left open", "end",
	 [](Script &s) {
		 in_combined(s, {{A, Mid::data, {.flags = 2}},
				 {A, Mid::disconn, {}},
				 {P, Mid::disconn, {}}});
	 }},
	{"a Write without right", "rdma",
	 [](Script &s) {
		 s.begin();
		 s.judge.rdma_write(A, 7, 0x1000, 10);
	 }},
	{"other octets than reported", "rdma",
	 [](Script &s) {
		 in_pipelined(s, {{P, Mid::sink_avail, {.value = 5000}}});
		 s.judge.rdma_write(A, 7, 0x1000, 10);
		 s.send(A, Mid::write_compl, {.value = 11});
	 }},
	{"a Read without right", "rdma",
	 [](Script &s) {
		 in_pipelined(s, {{A, Mid::src_avail, {.value = 10}}});
		 s.judge.rdma_read(P, 7, 0x1000, 11);
	 }},
};

TEST(SdpJudge, FindsEachViolation)
{
	for (const Wrong &w : wrong) {
		Script s;

		w.run(s);
		EXPECT_EQ(s.rules(), w.rules) << w.name;
	}
}

TEST(SdpCapture, Text)
{
	std::istringstream in{"# comment\n"
			      "> request 00000010 00000020 00000000 00000000 22400004 00000400\n"
			      "\n"
			      "> ff000010 00000010 00000001 00000000 # first\n"
			      "< write 0x7 4096 10\n"};
	/* a line is an event: the request is short on purpose */
	const Conversation conversation = read_text(in);

	ASSERT_EQ(conversation.events.size(), 3U);
	EXPECT_EQ(std::get<Sent>(conversation.events[0]).octets.size(), 24U);
	EXPECT_EQ(std::get<Sent>(conversation.events[1]).carrier, Carrier::send);
	EXPECT_EQ(std::get<Rdma>(conversation.events[2]).va, 4096U);
	std::istringstream bad{"> ff0\n"};
	EXPECT_THROW((void)read_text(bad), Unreadable);
}

/* pcap *********************************************************************** */

class Pcap {
public:
	Pcap()
	{
		for (const std::uint32_t word : {0xa1b2c3d4U, 0x00020004U, 0U, 0U, 65535U, 1U})
			put(file_, word, 4);
	}
	/* a segment of TCP in IPv4 in Ethernet */
	void segment(End from, const Octets &payload, std::uint8_t flags = 0x10)
	{
		auto &sequence = sequence_[static_cast<int>(from)];

		packet(from, sequence, payload, flags);
		sequence += static_cast<std::uint32_t>(payload.size()) + ((flags & 2) != 0 ? 1 : 0);
	}
	void packet(End from, std::uint32_t sequence, const Octets &payload,
		    std::uint8_t flags = 0x10)
	{
		Octets frame(12);

		put(frame, 0x0800, 2);
		put(frame, 0x45000000U | (40 + payload.size()), 4);
		put(frame, 0x0000000040060000, 8);
		put(frame, from == A ? 0x0a4d0001 : 0x0a4d0002, 4);
		put(frame, from == A ? 0x0a4d0002 : 0x0a4d0001, 4);
		put(frame, from == A ? 40000 : 27257, 2);
		put(frame, from == A ? 27257 : 40000, 2);
		put(frame, sequence, 4);
		put(frame, 0, 4);
		put(frame, 0x50000000U | std::uint32_t{flags} << 16U, 4);
		put(frame, 0, 4);
		frame.insert(frame.end(), payload.begin(), payload.end());
		put(file_, 0, 8);
		put(file_, frame.size(), 4);
		put(file_, frame.size(), 4);
		file_.insert(file_.end(), frame.begin(), frame.end());
	}
	[[nodiscard]] std::uint32_t next(End from) const
	{
		return sequence_[static_cast<int>(from)];
	}
	[[nodiscard]] std::string file() const
	{
		return {file_.begin(), file_.end()};
	}

private:
	Octets file_;
	std::uint32_t sequence_[2] = {0xffffff00, 1000};
};

Octets start_up(std::string_view key, std::uint8_t flags, const Octets &data)
{
	Octets frame{key.begin(), key.end()};

	put(frame, flags, 1);
	put(frame, 1, 1);
	put(frame, data.size(), 2);
	frame.insert(frame.end(), data.begin(), data.end());
	return frame;
}

Octets fpdu(const Octets &ulpdu)
{
	Octets octets;

	put(octets, ulpdu.size(), 2);
	octets.insert(octets.end(), ulpdu.begin(), ulpdu.end());
	octets.resize((octets.size() + 3) / 4 * 4 + 4);
	return octets;
}

Octets send_segment(bool last, std::uint32_t msn, std::uint32_t at, const Octets &payload)
{
	Octets ulpdu;

	put(ulpdu, last ? 0x4143 : 0x0143, 2);
	put(ulpdu, 0, 8);
	put(ulpdu, msn, 4);
	put(ulpdu, at, 4);
	ulpdu.insert(ulpdu.end(), payload.begin(), payload.end());
	return fpdu(ulpdu);
}

TEST(SdpCapture, Iwarp)
{
	const Octets data = {0xff, 0, 0, 16, 0, 0, 0,   20,  0,   0,
			     0,    1, 0, 0,  0, 0, 'a', 'b', 'c', 'd'};
	Octets write;
	Octets read;
	Pcap pcap;

	pcap.segment(A, {}, 0x02);
	pcap.segment(P, {}, 0x12);
	pcap.segment(A, start_up("MPA ID Req Frame", 0x40, {1, 2, 3}));
	pcap.segment(P, start_up("MPA ID Rep Frame", 0x40, {4, 5}));
	/* a message in two DDP segments, in TCP segments out of order and one twice */
	Octets octets = send_segment(false, 1, 0, {data.begin(), data.begin() + 18});
	const Octets second = send_segment(true, 1, 18, {data.begin() + 18, data.end()});
	octets.insert(octets.end(), second.begin(), second.end());
	const Octets front{octets.begin(), octets.begin() + 21};
	const auto at = pcap.next(A);
	pcap.packet(A, at + 21, {octets.begin() + 21, octets.end()});
	pcap.packet(A, at, front);
	pcap.packet(A, at, front);
	put(write, 0xc140, 2);
	put(write, 0x1234, 4);
	put(write, 0x5678, 8);
	put(write, 0, 3);
	pcap.segment(P, fpdu(write));
	put(read, 0x4141, 2);
	put(read, 0, 16);
	put(read, 1, 4);
	put(read, 2, 8);
	put(read, 300, 4);
	put(read, 0x99, 4);
	put(read, 0x77, 8);
	pcap.segment(P, fpdu(read));

	std::istringstream in{pcap.file()};
	EXPECT_TRUE(is_pcap(in));
	const auto conversations = read_pcap(in);
	ASSERT_EQ(conversations.size(), 1U);
	const auto &events = conversations[0].events;
	EXPECT_TRUE(conversations[0].errors.empty());
	ASSERT_EQ(events.size(), 5U);
	EXPECT_EQ(std::get<Sent>(events[0]).octets, (Octets{1, 2, 3}));
	EXPECT_EQ(std::get<Sent>(events[1]).carrier, Carrier::answer);
	EXPECT_EQ(std::get<Sent>(events[2]).octets, data);
	EXPECT_EQ(std::get<Rdma>(events[3]).rkey, 0x1234U);
	EXPECT_EQ(std::get<Rdma>(events[3]).size, 3U);
	EXPECT_EQ(std::get<Rdma>(events[4]).va, 0x77U);
	EXPECT_EQ(std::get<Rdma>(events[4]).size, 300U);
}

} /* namespace */
