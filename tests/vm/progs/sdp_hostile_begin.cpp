/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Wrong begins: what is no Hello or no HelloAck, names of other connections, refusals, silence. TCP
 * carries the octets of the program in each case.
 */
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
	{"version 2", "version", 3, [](Draft &d) { put(d, 16, {0x22}); }},
	{"version 4", "version", 3, [](Draft &d) { put(d, 16, {0x42}); }},
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
		 d.extra.resize(24);
	 }},
	{"no credits", "bufs", 4, [](Draft &d) { d.bufs = 0; }},
	{"two credits", "bufs", 4, [](Draft &d) { d.bufs = 2; }},
	{"flags", "start", 4, [](Draft &d) { d.flags = 2; }},
	{"MSeq 1", "start", 4, [](Draft &d) { d.mseq = 1; }},
	{"MSeqAck 1", "start", 4, [](Draft &d) { d.ack = 1; }},
	{"LocalRcvSz 255", "size", 4, [](Draft &d) { put(d, 24, word(255)); }},
	{"LocalRcvSz 0", "size", 4, [](Draft &d) { put(d, 24, word(0)); }},
	{"DesRemRcvSz 255", "size", 4, [](Draft &d) { put(d, 20, word(255)); }},
	{"another port of the victim", "", 1, [](Draft &d) { put(d, 30, big(9999, 2)); }},
	{"another port of the peer", "", 1, [](Draft &d) { d.extra[13] ^= 1; }},
	{"first bit of the name", "", 1, [](Draft &d) { d.extra[52] ^= 0x80; }},
	{"last bit of the name", "", 1, [](Draft &d) { d.extra[59] ^= 1; }},
	{"no name", "", 1, [](Draft &d) { put(d, 68, Octets(8)); }},
};

void is_refused(const World &world, const Octets &request, int reason, const char *what)
{
	Peer peer{world};
	const Octets answer = peer.refused(request);

	if (answer.size() < 4 || answer[0] != 0x30 || answer[1] != reason || answer[2] != 0 ||
	    answer[3] != 0)
		fail(std::string{what} + ": " + std::to_string(answer.size()) + " octets, reason " +
		     (answer.size() > 1 ? std::to_string(answer[1]) : "none"));
}

/* The connection's own Hello opens the road, and the road works. */
void opens_and_works(const World &world, Ends ends)
{
	Attack attack{world, std::move(ends), true};

	attack.works();
}

void hellos(World &world)
{
	Ends ends = world.connected(true);

	for (const WrongHello &wrong : wrong_hellos) {
		const Counters counters;
		Draft draft = ends.tcp.hello();

		wrong.change(draft);
		try {
			is_refused(world, draft.octets(), wrong.reason, "refusal");
			counters.expect(wrong.fault, true);
			same(counters.by("bad-hello"), std::uint64_t{wrong.reason != 1},
			     "bad-hello");
			same(counters.by("unknown"), std::uint64_t{wrong.reason == 1}, "unknown");
		} catch (const std::exception &error) {
			fail(std::string{wrong.name} + ": " + error.what());
		}
	}
	ends.works();
	opens_and_works(world, std::move(ends));
}

void short_hellos(World &world)
{
	Ends ends = world.connected(true);
	const Octets right = ends.tcp.hello().octets();

	for (const std::size_t size : {0, 1, 15}) {
		const Counters counters;

		is_refused(world, Octets(right.begin(), right.begin() + size), 4, "a short one");
		counters.expect("short", true);
	}
	opens_and_works(world, std::move(ends));
}

/* what is reserved, and a minor version, is not looked at; padding follows a Hello */
void odd_hellos(World &world)
{
	const Counters counters;

	for (int i = 0; i < 4; i++) {
		const Ends ends = world.connected(true);
		Draft draft = ends.tcp.hello();
		Octets request;

		if (i == 0)
			put(draft, 16, {0x3f});
		if (i == 1)
			put(draft, 76, Octets(16, 0xff));
		if (i == 2) {
			/* compact: the name follows the ports */
			draft.extra.resize(16);
			draft.extra = draft.extra + ends.tcp.name(false);
		}
		request = draft.octets();
		if (i == 3)
			request.resize(120, 0xff);
		Peer peer{world};
		peer.connect(request);
		peer.established(ends.tcp);
		peer.say(Mid::data);
		change(peer, ends.tcp, ends.victim);
		peer.say(Mid::data, {}, stream(100));
		ends.victim.receives(stream(100));
		peer.abort();
		ends.victim.ends(ECONNRESET);
	}
	counters.expect("");
}

/* Names ************************************************************************************ */

void names_of_others(World &world)
{
	const Counters counters;
	Ends first = world.connected(true), second = world.connected(true);
	Draft draft = first.tcp.hello();

	put(draft, 68, second.tcp.name(false));
	is_refused(world, draft.octets(), 1, "the name of another connection");
	draft = first.tcp.hello();
	put(draft, 68, first.tcp.name(true));
	is_refused(world, draft.octets(), 1, "the name of the answer");
	/* a connection that the victim has made: it asks itself, and is not to be asked */
	Ends active = world.connected(false);
	const krdma::ConnectionRequest request = world.request_of(active.tcp);
	draft = active.tcp.hello();
	is_refused(world, draft.octets(), 1, "a connection of the other direction");
	same(counters.by("unknown"), std::uint64_t{3}, "unknown");
	active.works();
	first.works();
	opens_and_works(world, std::move(second));
	opens_and_works(world, std::move(first));
	counters.expect("");
}

/* One TCP connection has one road, once. */
void twice(World &world)
{
	const Counters counters;
	Ends ends = world.connected(true);
	const Octets right = ends.tcp.hello().octets();

	{
		Peer peer{world};

		peer.connect(right);
		peer.established(ends.tcp);
		is_refused(world, right, 1, "while the road opens");
		peer.say(Mid::data);
		change(peer, ends.tcp, ends.victim);
		is_refused(world, right, 1, "while the road is open");
		peer.say(Mid::data, {}, stream(100));
		ends.victim.receives(stream(100));
		peer.abort();
		ends.victim.ends(ECONNRESET);
	}
	is_refused(world, right, 1, "afterwards");
	counters.expect("");
}

/* ... also when nothing came of it */
void twice_after_failure(World &world)
{
	Ends ends = world.connected(true);

	{
		Peer peer{world};

		peer.connect(ends.tcp.hello().octets());
		peer.established(ends.tcp);
		peer.abort();
		world.no_road_left();
	}
	is_refused(world, ends.tcp.hello().octets(), 1, "after a road that failed");
	ends.works();
}

/* The program has not accepted the connection yet. */
void not_accepted(World &world)
{
	const Counters counters;
	Tcp tcp = world.asks();

	for (int i = 0; i < 3; i++)
		is_refused(world, tcp.hello().octets(), 2, "before accept()");
	same(counters.by("later"), std::uint64_t{3}, "later");
	opens_and_works(world, {std::move(tcp), world.accepted()});
	counters.expect("");
}

/* ... and many of them keep nobody out */
void backlog_fills(World &world)
{
	std::vector<Tcp> waiting;

	for (int i = 0; i < 40; i++) {
		waiting.push_back(world.asks());
		is_refused(world, waiting.back().hello().octets(), 2, "before accept()");
	}
	for (Tcp &tcp : waiting) {
		Victim victim = world.accepted();

		if (&tcp == &waiting.back())
			opens_and_works(world, {std::move(tcp), std::move(victim)});
	}
}

void ended(World &world)
{
	for (const bool reset : {false, true}) {
		Ends ends = world.connected(true);
		const Octets right = ends.tcp.hello().octets();

		if (reset) {
			ends.tcp.reset();
			ends.victim.ends(ECONNRESET);
		} else {
			ends.victim.close();
			ends.tcp.close();
		}
		is_refused(world, right, 1, "the TCP connection has ended");
	}
}

/* The program has closed the connection, which still has octets to send. */
void orphaned(World &world)
{
	const Counters counters;
	Ends ends = world.connected(true);
	const Octets much(1 << 20);
	ssize_t n = 0;

	do
		n = send(ends.victim.fd(), much.data(), much.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n > 0);
	same(errno, EAGAIN, "a full send buffer");
	ends.victim.close();
	is_refused(world, ends.tcp.hello().octets(), 1, "nobody has the connection any more");
	same(counters.by("later"), std::uint64_t{0}, "later");
}

/* The peer's FIN has come, and the victim may still send: by the road, if the peer wants. */
void half_ended(World &world)
{
	Ends ends = world.connected(true);
	Peer peer{world};

	ends.tcp.finish();
	same(ends.victim.reads_until(0), std::size_t{0}, "octets before the FIN");
	peer.opens(ends.tcp);
	peer.say(Mid::disconn);
	ends.victim.send(stream(100));
	peer.settle(200ms);
	peer.abort();
	/* its octets went by TCP, or by a road that broke */
	ends.victim.close();
}

/* HelloAck ********************************************************************************* */

struct WrongAck {
	const char *name;
	const char *fault;
	void (*change)(Draft &draft);
};

const std::vector<WrongAck> wrong_acks{
	{"nothing", "short", [](Draft &d) { d.extra.clear(); }},
	{"a compact one", "length", [](Draft &d) { d.extra.resize(16); }},
	{"Len too large", "length", [](Draft &d) { d.len = 197; }},
	{"Len too small", "length", [](Draft &d) { d.len = 100; }},
	{"reserved MID", "mid", [](Draft &d) { d.mid = 0x55; }},
	{"a Hello", "carrier", [](Draft &d) { d.mid = 0; }},
	{"Data", "carrier", [](Draft &d) { d.mid = 0xff; }},
	{"version 1", "version", [](Draft &d) { put(d, 16, {0x12}); }},
	{"version 2", "version", [](Draft &d) { put(d, 16, {0x22}); }},
	{"no MaxAdverts", "adverts", [](Draft &d) { put(d, 19, {0}); }},
	{"no credits", "bufs", [](Draft &d) { d.bufs = 0; }},
	{"two credits", "bufs", [](Draft &d) { d.bufs = 2; }},
	{"MSeq 1", "start", [](Draft &d) { d.mseq = 1; }},
	{"MSeqAck 1", "start", [](Draft &d) { d.ack = 1; }},
	{"ActRcvSz 255", "size", [](Draft &d) { put(d, 20, word(255)); }},
	{"first bit of the name", "name", [](Draft &d) { d.extra[8] ^= 0x80; }},
	{"last bit of the name", "name", [](Draft &d) { d.extra[15] ^= 1; }},
	{"no name", "name", [](Draft &d) { put(d, 24, Octets(8)); }},
};

/* The attempt has failed; the program does not notice. */
void tcp_goes_on(const World &world, Ends &ends)
{
	world.no_road_left();
	ends.works();
}

void acks(World &world)
{
	for (const WrongAck &wrong : wrong_acks) {
		const Counters counters;
		Ends ends = world.connected(false);
		krdma::ConnectionRequest request = world.request_of(ends.tcp);
		Peer peer{world};
		Draft draft = ends.tcp.hello_ack();

		wrong.change(draft);
		Octets answer = draft.octets();
		if (std::string_view{wrong.fault} == "short")
			answer.clear();
		peer.accept(request, answer);
		peer.closed();
		try {
			tcp_goes_on(world, ends);
			counters.expect(wrong.fault);
			same(counters.by("refused"), std::uint64_t{1}, "refused");
			same(counters.by("opened"), std::uint64_t{0}, "opened");
		} catch (const std::exception &error) {
			fail(std::string{wrong.name} + ": " + error.what());
		}
	}
}

/* the question's name is no answer, nor is another connection's */
void answers_of_others(World &world)
{
	for (const bool own : {true, false}) {
		const Counters counters;
		const Ends other = world.connected(true);
		Ends ends = world.connected(false);
		krdma::ConnectionRequest request = world.request_of(ends.tcp);
		Peer peer{world};
		Draft draft = ends.tcp.hello_ack();

		put(draft, 24, own ? ends.tcp.name(false) : other.tcp.name(true));
		peer.accept(request, draft.octets());
		peer.closed();
		tcp_goes_on(world, ends);
		counters.expect("name");
	}
}

/* The passive end must not speak first: what it says acknowledges nothing. */
void early(World &world)
{
	const Counters counters;
	Ends ends = world.connected(false);
	Peer peer{world};

	/* the transport lets nothing pass before the active end's first message */
	peer.answers(ends.tcp);
	peer.got = 0;
	peer.say(Mid::data, {}, stream(10));
	peer.closed();
	tcp_goes_on(world, ends);
	counters.expect("early");
}

/* A violation before the change costs the road alone. */
void violated_before_change(World &world)
{
	for (const bool passive : {true, false}) {
		const Counters counters;
		Ends ends = world.connected(passive);
		Peer peer{world};

		if (passive)
			peer.opens(ends.tcp);
		else
			peer.answers(ends.tcp);
		peer.say(Mid::suspend_ack);
		peer.closed();
		tcp_goes_on(world, ends);
		counters.expect("state");
	}
}

/* Refusals ********************************************************************************* */

/** struct Reason - private data of a refusal */
struct Reason {
	Octets data;
	bool again; /* the victim tries again for a while */
};

void refusals(World &world)
{
	const Counters counters;
	const std::vector<Reason> reasons{
		{{}, true},
		{{0x30, 1, 0, 0}, true},
		{{0x22, 1, 0, 0}, true},
		{{0x30}, true},
		{{0x30, 77, 0, 0}, true},
		{Octets(400, 0xff), true},
		{{0x22, 3, 0, 0}, false},
		{{0x30, 3, 0, 0}, false},
		{{0x30, 4, 0, 0}, false},
		{{0x30, 5, 0, 0}, false},
	};

	for (const Reason &reason : reasons) {
		Ends ends = world.connected(false);
		int requests = 0;

		for (;;) {
			auto request = world.request_of(ends.tcp, requests ? 2500ms : patience);

			if (!request)
				break;
			request->reject(std::as_bytes(std::span{reason.data}));
			require(++requests < 20, "an end of the attempts");
		}
		require(reason.again ? requests > 1 : requests == 1, "attempts");
		tcp_goes_on(world, ends);
	}
	same(counters.by("refused"), std::uint64_t{reasons.size()}, "refused");
	counters.expect("");
}

/* "Later", until the time for opening is over */
void stays_later(World &world)
{
	const Octets later{0x30, 2, 0, 0};
	Ends ends = world.connected(false);
	int requests = 0;

	for (;;) {
		auto request = world.request_of(ends.tcp, requests ? 5000ms : patience);

		if (!request)
			break;
		request->reject(std::as_bytes(std::span{later}));
		require(++requests < 100, "an end of the attempts");
		/* nobody waits for the road */
		ends.works();
	}
	require(requests > 1, "it tries again");
	tcp_goes_on(world, ends);
}

/* ... and then the road */
void later_and_then(World &world)
{
	const Octets later{0x30, 2, 0, 0};
	Ends ends = world.connected(false);

	for (int i = 0; i < 3; i++)
		world.request_of(ends.tcp).reject(std::as_bytes(std::span{later}));
	Attack attack{world, std::move(ends), false};
	attack.works();
}

/* Silence ********************************************************************************** */

void request_unanswered(World &world)
{
	const Counters counters;
	Ends ends = world.connected(false);
	const krdma::ConnectionRequest request = world.request_of(ends.tcp);

	ends.works();
	tcp_goes_on(world, ends);
	/* the transport has the same time limit */
	same(counters.by("timeouts") + counters.by("refused"), std::uint64_t{1}, "counted");
}

/* close() without an answer of the peer */
void given_up(World &world)
{
	Ends ends = world.connected(false);
	krdma::ConnectionRequest request = world.request_of(ends.tcp);
	Peer peer{world};

	ends.victim.close();
	try {
		peer.accept(request, ends.tcp.hello_ack().octets());
		peer.closed();
	} catch (const std::system_error &) {
		/* the request has gone */
		return;
	}
}

/* Without a first message there is no road, and no waiting for it. */
void first_message_missing(World &world)
{
	const Counters counters;
	Ends ends = world.connected(true);
	Peer peer{world};

	peer.connect(ends.tcp.hello().octets());
	peer.established(ends.tcp);
	ends.works();
	/* after connect_timeout_s */
	peer.closed();
	tcp_goes_on(world, ends);
	same(counters.by("timeouts"), std::uint64_t{1}, "timeouts");
	counters.expect("");
}

/* TCP's end comes while the road opens: the program has it when nothing comes of the road. */
void ended_while_opening(World &world)
{
	Ends ends = world.connected(true);
	Peer peer{world};

	peer.connect(ends.tcp.hello().octets());
	peer.established(ends.tcp);
	ends.tcp.send(stream(100));
	ends.tcp.finish();
	ends.victim.receives(stream(100));
	same(ends.victim.reads_until(0), std::size_t{0}, "octets at the end");
	peer.closed();
}

void first_message_late(World &world)
{
	Ends ends = world.connected(true);
	Peer peer{world};

	peer.connect(ends.tcp.hello().octets());
	peer.established(ends.tcp);
	ends.works();
	peer.settle(200ms);
	same(peer.got, 0U, "messages before the first one of the peer");
	peer.say(Mid::data);
	change(peer, ends.tcp, ends.victim);
	ends.victim.send(stream(1000));
	require(peer.hear_stream(1000) == stream(1000), "what came by the road");
	peer.abort();
	ends.victim.ends(ECONNRESET);
}

/* Abrupt ends before the change cost the road alone. */
void aborted_before_change(World &world)
{
	for (const bool speaks : {false, true}) {
		Ends ends = world.connected(true);
		Peer peer{world};

		peer.connect(ends.tcp.hello().octets());
		peer.established(ends.tcp);
		if (speaks)
			peer.say(Mid::data);
		peer.abort();
		tcp_goes_on(world, ends);
	}
	Ends ends = world.connected(false);
	Peer peer{world};
	peer.answers(ends.tcp);
	peer.abort();
	tcp_goes_on(world, ends);
}

} /* namespace */

const std::vector<Check> begin_checks{
	{"wrong Hellos", hellos},
	{"short Hellos", short_hellos},
	{"odd Hellos", odd_hellos},
	{"names of other connections", names_of_others},
	{"two requests for one connection", twice},
	{"another request after a failure", twice_after_failure},
	{"a request before accept()", not_accepted},
	{"requests for a full backlog", backlog_fills},
	{"a request after TCP's end", ended},
	{"a request after close()", orphaned},
	{"a request after the peer's FIN", half_ended},
	{"wrong HelloAcks", acks},
	{"answers of other connections", answers_of_others},
	{"passive end first", early},
	{"a violation before the change", violated_before_change},
	{"refusals", refusals},
	{"refusals that say: later", stays_later},
	{"later, and then the road", later_and_then},
	{"a request unanswered", request_unanswered},
	{"a request given up", given_up},
	{"no first message", first_message_missing},
	{"TCP's end while the road opens", ended_while_opening},
	{"a late first message", first_message_late},
	{"aborted before the change", aborted_before_change},
};

} /* namespace hostile */
