/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The common part of sdp_hostile: a peer that speaks SDP by hand over libkrdma, written from
 * docs/sdp-wire.md, and the socket that it attacks. The peer has an ordinary TCP connection with
 * that socket, and opens the road beside it. One process has all: the peer's RNIC and TCP socket
 * are in one network namespace, the socket under attack in another.
 */
#ifndef KRDMA_TEST_SDP_PEER_HPP
#define KRDMA_TEST_SDP_PEER_HPP

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../sdp/message.hpp"
#include "ops_sock.hpp"
#include "ual.hpp"

namespace hostile {

using namespace std::chrono_literals;
using sdp::Carrier;
using sdp::Message;
using sdp::Mid;
using sdp::Octets;
using ual::patience;

/* a rule of the victim's host takes connections at the last two */
inline constexpr std::uint16_t rendezvous = 1017, victim_port = 9400, own_port = 9401;
/* most of a receive of the peer, and how many it has posted at any time */
inline constexpr std::uint32_t buffer_size = 8192;
inline constexpr std::uint16_t buffers = 16;
inline constexpr std::size_t memory_size = 65536;

/* Fields of messages *********************************************************************** */

[[nodiscard]] Octets big(std::uint64_t value, std::size_t size);
[[nodiscard]] inline Octets word(std::uint32_t value)
{
	return big(value, 4);
}
[[nodiscard]] Octets operator+(Octets left, const Octets &right);
/* bytes of a stream from that position on */
[[nodiscard]] Octets stream(std::size_t count, std::size_t from = 0);
/* extra header of ModeChange; @by_sink: S is 1 */
[[nodiscard]] Octets mode(bool by_sink, int mode);

/** struct Draft - a message, right or wrong */
struct Draft {
	std::uint8_t mid = 0;
	std::uint8_t flags = 0;
	std::uint16_t bufs = buffers;
	std::optional<std::uint32_t> len = {}; /* default: the right one */
	std::uint32_t mseq = 0;
	std::uint32_t ack = 0;
	Octets extra = {};
	Octets payload = {};

	[[nodiscard]] Octets octets() const;
};

/* their extra headers are changed by the offset in the message */
void put(Draft &draft, std::size_t offset, const Octets &octets);

/* TCP ************************************************************************************** */

/** class Tcp - the peer's end of a TCP connection, which has no mark */
class Tcp {
public:
	/* @active: the peer has connected; nothing was sent yet */
	Tcp(ops::Fd fd, bool active);

	/* the connection's name: the active end's question, or the passive end's answer */
	[[nodiscard]] Octets name(bool answer) const;
	/* right messages that name it */
	[[nodiscard]] Draft hello() const;
	[[nodiscard]] Draft hello_ack() const;
	/* number of the next octet of each direction: where a road takes over now */
	[[nodiscard]] std::uint32_t x() const
	{
		return next_;
	}
	[[nodiscard]] std::uint32_t victim_x() const
	{
		return victim_next_;
	}
	void send(const Octets &octets);
	void receives(const Octets &wanted);
	void finish() const;
	void reset();
	void close()
	{
		fd_.close();
	}

private:
	ops::Fd fd_;
	bool active_;
	ops::Address own_, victim_;
	std::uint32_t next_, victim_next_;
	/* the two initial sequence numbers */
	std::uint32_t active_isn_, passive_isn_;
};

/* the kernel's first octets of a direction: the road takes over at that number */
[[nodiscard]] Octets header(std::uint32_t x);

/* What is under attack ********************************************************************* */

/** class Counters - of the module */
class Counters {
public:
	Counters() : before_{read()}
	{}
	[[nodiscard]] static std::uint64_t now(const std::string &name);
	[[nodiscard]] std::uint64_t by(const std::string &name) const;
	/* Exactly that fault was counted, once; "": none. @refused: in a Hello */
	void expect(std::string_view fault, bool refused = false) const;

private:
	[[nodiscard]] static std::map<std::string, std::uint64_t> read();

	std::map<std::string, std::uint64_t> before_;
};

/** class Victim - a connected socket */
class Victim {
public:
	explicit Victim(ops::Fd fd);

	[[nodiscard]] int fd() const
	{
		return fd_;
	}
	void send(const Octets &octets) const;
	/* exactly that */
	void receives(const Octets &wanted) const;
	/* bytes until the end, and the errno of the end, 0: the peer's end */
	[[nodiscard]] std::size_t reads_until(int error) const;
	/* The connection is over, with that SO_ERROR. */
	void ends(int error, ual::Where where = ual::Where::current()) const;
	void close()
	{
		fd_.close();
	}

private:
	ops::Fd fd_;
};

/** struct Ends - a TCP connection without a road */
struct Ends {
	Tcp tcp;
	Victim victim;

	/* TCP carries octets in both directions. */
	void works();
};

/** struct World - the RNIC of the hostile host, and listening sockets of both */
struct World {
	World(const char *own, const char *victim);

	std::string own_ip, victim_ip;
	ual::Host host;
	krdma::Listener requests;
	ops::Fd own_listener, listener;

	/* a connection that the victim's program has not accepted yet */
	[[nodiscard]] Tcp asks() const;
	[[nodiscard]] Victim accepted() const;
	/* @passive: the victim accepts; otherwise it connects */
	[[nodiscard]] Ends connected(bool passive) const;
	/* the victim's next request for a road of that connection; older ones are refused */
	[[nodiscard]] std::optional<krdma::ConnectionRequest>
	request_of(const Tcp &tcp, std::chrono::milliseconds limit) const;
	[[nodiscard]] krdma::ConnectionRequest request_of(const Tcp &tcp) const;
	/* no connection of SDP is left */
	void no_road_left() const;
	/* ... and the peer has none of its objects */
	void nothing_left() const;

private:
	std::uint64_t objects_;
};

/* The peer ********************************************************************************* */

/** class Peer - one connection, with all that the peer knows of it */
class Peer {
public:
	explicit Peer(const World &world);

	/* begin: with that private data */
	void connect(const Octets &request);
	void accept(krdma::ConnectionRequest &request, const Octets &answer);
	/* Return: the private data of a refusal */
	[[nodiscard]] Octets refused(const Octets &request);
	void established(const Tcp &tcp);
	/* Open the road of that connection, as far as the first message, or the victim's. */
	void opens(const Tcp &tcp);
	void answers(const Tcp &tcp);

	/* the next message, with right numbers */
	[[nodiscard]] Draft draft(Mid mid, Octets extra = {}, Octets payload = {});
	void transmit(const Draft &draft)
	{
		transmit(draft.octets());
	}
	/* @invalidate: key of the victim that the Send invalidates */
	void transmit(const Octets &octets, std::optional<std::uint32_t> invalidate = {});
	void say(Mid mid, Octets extra = {}, Octets payload = {})
	{
		transmit(draft(mid, std::move(extra), std::move(payload)));
	}
	/* the same by a Send with Invalidate */
	void say_invalidating(std::uint32_t key, Mid mid, Octets extra = {})
	{
		transmit(draft(mid, std::move(extra)).octets(), key);
	}
	/* flags of a message without extra header */
	void flagged(Mid mid, std::uint8_t flags, Octets payload = {});
	/* the next message of that kind; others are skipped, but none may be wrong */
	[[nodiscard]] Message hear(Mid mid, ual::Where where = ual::Where::current());
	/* the payload of the next Data that has some: a Data without any only renews credits */
	[[nodiscard]] Octets hear_payload(ual::Where where = ual::Where::current());
	/* exactly so many, in as many messages as they need */
	[[nodiscard]] Octets hear_stream(std::size_t count);
	/* Take what comes, until nothing has come for that time. */
	void settle(std::chrono::milliseconds quiet);
	/* Send payload until only the two reserved credits are left. */
	void fill();
	/* extra header of an advertisement of the peer's own memory */
	[[nodiscard]] Octets advertise(std::uint32_t size) const;

	void abort() const;
	void end() const;
	/* The victim has ended the connection. */
	void closed(ual::Where where = ual::Where::current());

	[[nodiscard]] std::int32_t credits() const
	{
		return static_cast<std::int32_t>(limit - sent);
	}

	std::uint32_t sent = 0, got = 0, limit = 0;
	std::uint32_t victim_size = 0; /* of its private buffers */

private:
	/* Return: whether a message came */
	bool take(std::chrono::milliseconds limit);
	void post(std::size_t slot) const;

	const World &world_;
	ual::Side side_;
	ual::Memory in_;
	ual::Memory out_;
	std::optional<krdma::Connection> connection_;
	std::deque<Message> heard_;
};

/** struct Attack - a connection whose directions have both changed to the road */
struct Attack {
	/* @passive: the victim has accepted; otherwise it has connected */
	Attack(const World &world, bool passive) : Attack{world, world.connected(passive), passive}
	{}
	Attack(const World &world, Ends ends, bool passive);

	Peer peer;
	Tcp tcp;
	Victim victim;

	/* Both directions work, and the end is right. */
	void works();
};

/* both directions take the open road */
void change(Peer &peer, const Tcp &tcp, const Victim &victim);

/* The checks ******************************************************************************* */

struct Check {
	const char *name;
	void (*run)(World &world);
};

/** struct Violation - what the victim has to end with an abort */
struct Violation {
	const char *name;
	const char *fault; /* its name in the document */
	int error;         /* the program's */
	void (*act)(Attack &attack);
};

/** struct Legal - odd, but no violation: the connection works afterwards */
struct Legal {
	const char *name;
	void (*act)(Attack &attack);
};

extern const std::vector<Check> begin_checks;
extern const std::vector<Check> change_checks;
extern const std::vector<Violation> violations;
extern const std::vector<Legal> legal;
extern const std::vector<Check> memory_checks;
extern const std::vector<Check> end_checks;

/* messages by chance, from that seed on */
void random_rounds(World &world, std::uint32_t seed, unsigned int rounds);

} /* namespace hostile */

#endif /* KRDMA_TEST_SDP_PEER_HPP */
