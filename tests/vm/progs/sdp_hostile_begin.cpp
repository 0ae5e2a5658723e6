/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Wrong begins: what is no Hello or no HelloAck, refusals, silence. */
#include <poll.h>

#include "sdp_peer.hpp"

namespace hostile {
namespace {

using ual::fail;
using ual::require;
using ual::same;

/* Hello ************************************************************************************ */

/** struct WrongHello - with its fault and the reason of the refusal */
struct WrongHello {
	const char *name;
	const char *fault;
	int reason;
	void (*change)(Draft &draft);
};

/* "": no fault of the message alone */
const std::vector<WrongHello> wrong_hellos{
	{"octets that are missing", "length", 4, [](Draft &d) { d.extra.resize(60); }},
	{"Len too small", "length", 4, [](Draft &d) { d.len = 91; }},
	{"Len too large", "length", 4, [](Draft &d) { d.len = 93; }},
	{"Len of 4 GiB", "length", 4, [](Draft &d) { d.len = 0xffffffff; }},
	{"Len 0", "length", 4, [](Draft &d) { d.len = 0; }},
	{"reserved MID", "mid", 4, [](Draft &d) { d.mid = 0x55; }},
	{"HelloAck for a Hello", "carrier", 4, [](Draft &d) { d.mid = 1; }},
	{"Data for a Hello", "carrier", 4, [](Draft &d) { d.mid = 0xff; }},
	{"version 1", "version", 3, [](Draft &d) { put(d, 16, {0x12}); }},
	{"version 3", "version", 3, [](Draft &d) { put(d, 16, {0x32}); }},
	{"IPV 5", "ipv", 4, [](Draft &d) { put(d, 17, {0x50}); }},
	{"octets before an IPv4 address", "ipv", 4, [](Draft &d) { put(d, 40, {1}); }},
	{"IPV 6 on IPv4", "", 4, [](Draft &d) { put(d, 17, {0x60}); }},
	{"another SrcIP", "", 4, [](Draft &d) { put(d, 47, {99}); }},
	{"another DstIP", "", 4, [](Draft &d) { put(d, 63, {99}); }},
	{"LocalPort 0", "port", 4,
	 [](Draft &d) {
		 put(d, 28, {0, 0});
	 }},
	{"DstPort 0", "port", 4,
	 [](Draft &d) {
		 put(d, 30, {0, 0});
	 }},
	{"no MaxAdverts", "adverts", 4, [](Draft &d) { put(d, 19, {0}); }},
	{"no ExtMaxAdverts", "adverts", 4, [](Draft &d) { put(d, 17, {0x42}); }},
	{"compact with EXT_MAXADVERTS", "adverts", 4,
	 [](Draft &d) {
		 put(d, 17, {0x42});
		 d.extra.resize(16);
	 }},
	{"no credits", "bufs", 4, [](Draft &d) { d.bufs = 0; }},
	{"two credits", "bufs", 4, [](Draft &d) { d.bufs = 2; }},
	{"flags", "start", 4, [](Draft &d) { d.flags = 2; }},
	{"MSeq 1", "start", 4, [](Draft &d) { d.mseq = 1; }},
	{"MSeqAck 1", "start", 4, [](Draft &d) { d.ack = 1; }},
	{"LocalRcvSz 255", "size", 4, [](Draft &d) { put(d, 24, word(255)); }},
	{"LocalRcvSz 0", "size", 4, [](Draft &d) { put(d, 24, word(0)); }},
	{"DesRemRcvSz 255", "size", 4, [](Draft &d) { put(d, 20, word(255)); }},
	{"nobody listens there", "", 1, [](Draft &d) { put(d, 30, big(9999, 2)); }},
};

void is_refused(const World &world, const Octets &request, int reason, const char *what)
{
	Peer peer{world};
	const Octets answer = peer.refused(request);

	if (answer.size() < 4 || answer[0] != 0x22 || answer[1] != reason || answer[2] != 0 ||
	    answer[3] != 0)
		fail(std::string{what} + ": " + std::to_string(answer.size()) + " octets, reason " +
		     (answer.size() > 1 ? std::to_string(answer[1]) : "none"));
}

void hellos(World &world)
{
	for (const WrongHello &wrong : wrong_hellos) {
		const Counters counters;
		Draft draft = hello(world.own_ip, world.victim_ip, victim_port);

		wrong.change(draft);
		try {
			is_refused(world, draft.octets(), wrong.reason, "refusal");
			counters.expect(wrong.fault, true);
			same(counters.by("bad-hello"), std::uint64_t{wrong.reason != 1},
			     "bad-hello");
			same(counters.by("no-listener"), std::uint64_t{wrong.reason == 1},
			     "no-listener");
		} catch (const std::exception &error) {
			fail(std::string{wrong.name} + ": " + error.what());
		}
	}
}

void short_hellos(World &world)
{
	const Octets right = hello(world.own_ip, world.victim_ip, victim_port).octets();

	for (const std::size_t size : {0, 1, 15}) {
		const Counters counters;

		is_refused(world, Octets(right.begin(), right.begin() + size), 4, "a short one");
		counters.expect("short", true);
	}
}

/* what is reserved, and a minor version, is not looked at; padding follows a Hello */
void odd_hellos(World &world)
{
	const Counters counters;

	for (int i = 0; i < 4; i++) {
		Draft draft = hello(world.own_ip, world.victim_ip, victim_port);
		Octets request;

		if (i == 0)
			put(draft, 16, {0x2f});
		if (i == 1)
			put(draft, 68, Octets(24, 0xff));
		if (i == 2)
			draft.extra.resize(16);
		request = draft.octets();
		if (i == 3)
			request.resize(120, 0xff);
		Peer peer{world};
		peer.connect(request);
		peer.established();
		peer.say(Mid::data);
		Victim victim = world.accepted();
		peer.say(Mid::data, {}, stream(100));
		victim.receives(stream(100));
		peer.abort();
		victim.ends(ECONNRESET);
	}
	counters.expect("");
}

/* HelloAck ********************************************************************************* */

struct WrongAck {
	const char *name;
	const char *fault;
	void (*change)(Draft &draft);
};

const std::vector<WrongAck> wrong_acks{
	{"nothing", "short", [](Draft &d) { d.extra.clear(); }},
	{"a compact one", "length", [](Draft &d) { d.extra.resize(8); }},
	{"Len too large", "length", [](Draft &d) { d.len = 197; }},
	{"Len too small", "length", [](Draft &d) { d.len = 100; }},
	{"reserved MID", "mid", [](Draft &d) { d.mid = 0x55; }},
	{"a Hello", "carrier", [](Draft &d) { d.mid = 0; }},
	{"Data", "carrier", [](Draft &d) { d.mid = 0xff; }},
	{"version 1", "version", [](Draft &d) { put(d, 16, {0x12}); }},
	{"no MaxAdverts", "adverts", [](Draft &d) { put(d, 19, {0}); }},
	{"no credits", "bufs", [](Draft &d) { d.bufs = 0; }},
	{"two credits", "bufs", [](Draft &d) { d.bufs = 2; }},
	{"MSeq 1", "start", [](Draft &d) { d.mseq = 1; }},
	{"MSeqAck 1", "start", [](Draft &d) { d.ack = 1; }},
	{"ActRcvSz 255", "size", [](Draft &d) { put(d, 20, word(255)); }},
};

/* the victim's connect() ends with that errno */
void fails(int fd, int error, const char *what)
{
	pollfd p{.fd = fd, .events = POLLOUT, .revents = 0};

	if (poll(&p, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) != 1)
		fail(std::string{what} + ": connect() does not end");
	same(ops::option(fd, SOL_SOCKET, SO_ERROR), error, what);
}

krdma::Listener listen(const World &world)
{
	return {world.host.context, krdma::Address::parse(world.own_ip).with_port(rendezvous)};
}

krdma::ConnectionRequest next_request(const krdma::Listener &listener)
{
	std::optional<krdma::ConnectionRequest> request = listener.wait(patience);

	require(request.has_value(), "a request of the victim");
	return std::move(*request);
}

void acks(World &world)
{
	const krdma::Listener listener = listen(world);

	for (const WrongAck &wrong : wrong_acks) {
		const Counters counters;
		const ops::Fd fd = world.connecting();
		krdma::ConnectionRequest request = next_request(listener);
		Peer peer{world};
		Draft draft = hello_ack();

		wrong.change(draft);
		Octets answer = draft.octets();
		if (std::string_view{wrong.fault} == "short")
			answer.clear();
		peer.accept(request, answer);
		fails(fd, ECONNREFUSED, wrong.name);
		peer.closed();
		counters.expect(wrong.fault);
	}
}

/* The passive end must not speak first: what it says acknowledges nothing. */
void early(World &world)
{
	const krdma::Listener listener = listen(world);
	const Counters counters;
	ops::Fd fd = world.connecting();
	krdma::ConnectionRequest request = next_request(listener);
	Peer peer{world};

	peer.accept(request, hello_ack().octets());
	/* the transport lets nothing pass before the active end's first message */
	(void)peer.hear(Mid::data);
	peer.got = 0;
	peer.say(Mid::data, {}, stream(10));
	const Victim victim{std::move(fd)};
	victim.ends(ECONNRESET);
	counters.expect("early");
}

/* Refusals ********************************************************************************* */

void refusals(World &world)
{
	const krdma::Listener listener = listen(world);
	const Counters counters;

	for (const Octets &reason : {Octets{}, Octets{0x22, 1, 0, 0}, Octets{0x22, 3, 0, 0},
				     Octets{0x22, 77, 0, 0}, Octets{0x22}, Octets(400, 0xff)}) {
		const ops::Fd fd = world.connecting();

		next_request(listener).reject(std::as_bytes(std::span{reason}));
		fails(fd, ECONNREFUSED, "refused");
	}
	same(counters.by("refused"), std::uint64_t{6}, "refused");
	counters.expect("");
}

/* A full backlog is no refusal for the program, until its time is over. */
void backlog_stays_full(World &world)
{
	const krdma::Listener listener = listen(world);
	const ops::Fd fd = world.connecting();
	const Octets reason{0x22, 2, 0, 0};
	pollfd p{.fd = fd, .events = POLLOUT, .revents = 0};
	int requests = 0;

	while (poll(&p, 1, 0) == 0) {
		auto request = listener.wait(50ms);

		if (!request)
			continue;
		request->reject(std::as_bytes(std::span{reason}));
		requests++;
	}
	fails(fd, ETIMEDOUT, "the time is over");
	require(requests > 1, "it tries again");
}

void backlog_fills(World &world)
{
	const Counters counters;
	std::vector<std::unique_ptr<Peer>> peers;
	int accepted = 0;

	/* the backlog of the listener is 16; connections that say nothing count */
	for (;; accepted++) {
		require(accepted < 40, "an end of the backlog");
		peers.push_back(std::make_unique<Peer>(world));
		peers.back()->connect(hello(world.own_ip, world.victim_ip, victim_port).octets());
		try {
			peers.back()->established();
		} catch (const std::system_error &error) {
			same(error.code().value(), ECONNREFUSED, "a full backlog");
			break;
		}
	}
	require(accepted >= 8, "connections in the backlog");
	same(counters.by("backlog-full"), std::uint64_t{1}, "backlog-full");
	peers.back() = std::make_unique<Peer>(world);
	is_refused(world, hello(world.own_ip, world.victim_ip, victim_port).octets(), 2, "full");
	for (int i = 0; i < accepted; i++)
		(void)world.accepted();
}

/* Silence ********************************************************************************** */

void request_unanswered(World &world)
{
	const krdma::Listener listener = listen(world);
	const Counters counters;
	const ops::Fd fd = world.connecting();
	const krdma::ConnectionRequest request = next_request(listener);

	fails(fd, ETIMEDOUT, "nobody answers");
	/* the transport has the same time limit */
	same(counters.by("timeouts") + counters.by("refused"), std::uint64_t{1}, "counted");
}

/* close() without an answer of the peer */
void given_up(World &world)
{
	const krdma::Listener listener = listen(world);
	ops::Fd fd = world.connecting();
	krdma::ConnectionRequest request = next_request(listener);
	Peer peer{world};

	fd.close();
	try {
		peer.accept(request, hello_ack().octets());
		peer.closed();
	} catch (const std::system_error &) {
		/* the request has gone */
		return;
	}
}

/* A connection without a first message is one for the program. */
void first_message_missing(World &world)
{
	const Counters counters;
	Peer peer{world};

	peer.connect(hello(world.own_ip, world.victim_ip, victim_port).octets());
	peer.established();
	Victim victim = world.accepted();
	std::uint8_t octet = 0;
	same(recv(victim.fd(), &octet, 1, MSG_DONTWAIT), ssize_t{-1}, "octets to read");
	same(errno, EAGAIN, "nothing to read");
	victim.send(stream(1000));
	victim.close();
	/* what was sent and the end wait for the first message, and not for ever */
	peer.closed();
	same(counters.by("timeouts"), std::uint64_t{1}, "timeouts");
	counters.expect("");
}

void first_message_late(World &world)
{
	Peer peer{world};

	peer.connect(hello(world.own_ip, world.victim_ip, victim_port).octets());
	peer.established();
	const Victim victim = world.accepted();
	victim.send(stream(1000));
	peer.settle(200ms);
	same(peer.got, 0U, "messages before the first one of the peer");
	peer.say(Mid::data);
	require(peer.hear_payload() == stream(1000), "what had to wait");
	peer.abort();
	victim.ends(ECONNRESET);
}

/* of a connection that is not accepted */
void aborted_in_backlog(World &world)
{
	for (const bool speaks : {false, true}) {
		Peer peer{world};

		peer.connect(hello(world.own_ip, world.victim_ip, victim_port).octets());
		peer.established();
		if (speaks)
			peer.say(Mid::data, {}, stream(10));
		/* before, there is no connection to accept */
		pollfd p{.fd = world.listener, .events = POLLIN, .revents = 0};
		same(poll(&p, 1, 20000), 1, "the listener has a connection");
		peer.abort();
		const Victim victim = world.accepted();
		victim.ends(ECONNRESET);
	}
}

} /* namespace */

const std::vector<Check> begin_checks{
	{"wrong Hellos", hellos},
	{"short Hellos", short_hellos},
	{"odd Hellos", odd_hellos},
	{"wrong HelloAcks", acks},
	{"passive end first", early},
	{"refusals", refusals},
	{"a backlog that stays full", backlog_stays_full},
	{"the backlog is full", backlog_fills},
	{"a request unanswered", request_unanswered},
	{"a request given up", given_up},
	{"no first message", first_message_missing},
	{"a late first message", first_message_late},
	{"aborted in the backlog", aborted_in_backlog},
};

} /* namespace hostile */
