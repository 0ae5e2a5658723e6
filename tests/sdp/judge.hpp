/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A judge of SDP connections, written from docs/sdp-wire.md. It sees the messages of both ends in
 * the order in which an observer between them sees them. An end can know only what it has
 * acknowledged: before a message is judged, its sender is given the peer's messages up to
 * MSeqAck.
 */
#ifndef KRDMA_TEST_SDP_JUDGE_HPP
#define KRDMA_TEST_SDP_JUDGE_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "message.hpp"

namespace sdp {

enum class End : std::uint8_t { active = 0, passive = 1 };

[[nodiscard]] constexpr End other(End end)
{
	return end == End::active ? End::passive : End::active;
}

/**
 * struct Finding - a violation
 * @number: of the message or RDMA operation, 1 is the first one
 * @rule: name in section 14 of the document, or "held", "too-long", "rdma", "end"
 */
struct Finding {
	std::size_t number;
	End end;
	std::string rule;
	std::string text;
};

/** struct Totals - bytes of one half connection, by mechanism */
struct Totals {
	std::uint64_t bcopy = 0;
	std::uint64_t read = 0;
	std::uint64_t written = 0;
	std::uint64_t messages = 0;
	std::uint64_t updates = 0;
	std::uint64_t transactions = 0;
	std::uint64_t oob = 0;

	[[nodiscard]] std::uint64_t octets() const
	{
		return bcopy + read + written;
	}
};

/** struct Advert - a SrcAvail or SinkAvail; @done: bytes moved, payload of SrcAvail included */
struct Advert {
	std::uint32_t mseq = 0;
	std::uint32_t size = 0;
	std::uint32_t rkey = 0;
	std::uint64_t va = 0;
	std::uint32_t done = 0;
};

/** struct Side - what one end knows. Names say from where the end looks at a half connection. */
struct Side {
	/* of the connection */
	std::uint32_t mseq = 0;        /* last message sent */
	std::uint32_t acked = 0;       /* last message processed */
	std::uint32_t limit = 0;       /* last message that it may send */
	std::uint32_t given = 0;       /* last message that it ever let the peer send */
	std::uint32_t size = 0;        /* of its private buffers */
	std::uint16_t max_adverts = 0; /* that it accepts */
	std::deque<Message> incoming;  /* sent by the peer, not processed */
	bool aborted = false;

	/* as a source */
	Mode mode_out = Mode::combined;
	std::vector<Advert> srcs;                    /* outstanding */
	std::vector<Advert> kept;                    /* valid SinkAvails */
	std::optional<std::uint32_t> left_pipelined; /* MSeq of the last such ModeChange */
	std::uint32_t payloads_out = 0;
	bool src_cancel = false;
	bool owes_cancel_ack = false;
	bool fin_sent = false;
	bool pend = false;

	/* as a sink */
	Mode mode_in = Mode::combined;
	std::vector<Advert> offered; /* SrcAvails that arrived */
	std::vector<Advert> sinks;   /* outstanding */
	std::uint32_t payloads_in = 0;
	std::optional<std::uint32_t> answering; /* MSeq of a SrcAvailCancel */
	std::optional<std::uint32_t> send_sm;   /* MSeq of the last one */
	bool sink_cancel = false;
	bool fin_received = false;

	/* ChRcvBuf, SuspComm */
	bool size_asked = false;
	bool owes_size = false;
	bool suspend_asked = false;
	bool owes_suspend = false;

	[[nodiscard]] std::uint32_t credits() const;
	/* MSeqAck lags behind what the end knows: proven, and possible */
	[[nodiscard]] bool holds() const;
	[[nodiscard]] bool may_hold() const;
	void process(const Message &message);
	void process_until(std::uint32_t mseq_ack);
};

/** class Judge - judges one connection */
class Judge {
public:
	/* @return: the message in fields */
	const Message &message(End from, View octets, Carrier carrier = Carrier::send);
	/* RDMA operations, if the observer sees them: bytes written, bytes asked for */
	void rdma_write(End from, std::uint32_t rkey, std::uint64_t va, std::uint64_t size);
	void rdma_read(End from, std::uint32_t rkey, std::uint64_t va, std::uint64_t size);
	/* the connection is over */
	void finish();

	[[nodiscard]] const std::vector<Finding> &findings() const
	{
		return findings_;
	}
	[[nodiscard]] const Side &side(End end) const
	{
		return sides_[static_cast<std::size_t>(end)];
	}
	/* of the half connection whose source is @end */
	[[nodiscard]] const Totals &totals(End end) const
	{
		return totals_[static_cast<std::size_t>(end)];
	}
	[[nodiscard]] bool closed() const
	{
		return sides_[0].fin_sent && sides_[1].fin_sent;
	}

private:
	using Faults = std::vector<std::pair<std::string_view, std::string>>;

	Side &at(End end)
	{
		return sides_[static_cast<std::size_t>(end)];
	}
	void find(End end, std::string_view rule, std::string text);
	void hello(End from);
	void order(End from);
	void sent(End from);
	void count(End from, std::uint32_t moved);

	/* rules for the sender of @message, given what it knows; changes what it knows */
	static Faults judge(Side &me, const Side &peer, const Message &message);
	static void judge_credit(Side &me, const Message &message, Faults &faults);
	static void judge_class(Side &me, const Message &message, Faults &faults);
	static void judge_oob(Side &me, const Message &message, Faults &faults);
	static void judge_payload(Side &me, const Side &peer, const Message &message,
				  Faults &faults);
	static void judge_src(Side &me, const Side &peer, const Message &message, Faults &faults);
	static void judge_sink(Side &me, const Side &peer, const Message &message, Faults &faults);
	static void judge_reads(Side &me, const Message &message, Faults &faults);
	static void judge_writes(Side &me, const Message &message, Faults &faults);
	static void judge_mode(Side &me, const Message &message, Faults &faults);
	static void judge_rest(Side &me, const Message &message, Faults &faults);

	Side sides_[2];
	Totals totals_[2];
	std::uint64_t written_[2] = {}; /* to the oldest SinkAvail, as seen */
	bool rdma_seen_ = false;
	Message now_;
	std::size_t number_ = 0;
	std::vector<Finding> findings_;
};

} /* namespace sdp */

#endif /* KRDMA_TEST_SDP_JUDGE_HPP */
