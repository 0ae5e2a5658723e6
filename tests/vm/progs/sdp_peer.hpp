/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The common part of sdp_hostile: a peer that speaks SDP by hand over libkrdma, written from
 * docs/sdp-wire.md, and the socket of krdma_sdp that it speaks to. One process has both: the RNIC
 * of the one is in one network namespace, the socket in another.
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

inline constexpr std::uint16_t rendezvous = 27257, victim_port = 9400, own_port = 9401;
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

/* a right Hello or HelloAck, whose extra header is to be changed by its offset in the message */
[[nodiscard]] Draft hello(const std::string &from, const std::string &to, std::uint16_t port);
[[nodiscard]] Draft hello_ack();
void put(Draft &draft, std::size_t offset, const Octets &octets);

/* What is under attack ********************************************************************* */

/** class Counters - of /proc/net/sdp_stat */
class Counters {
public:
	Counters() : before_{read()}
	{}
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

/** struct World - the RNIC of the hostile host, and a listening socket on the other */
struct World {
	World(const char *own, const char *victim);

	std::string own_ip, victim_ip;
	ual::Host host;
	ops::Fd listener;

	[[nodiscard]] Victim accepted() const;
	/* begins to connect to the hostile host */
	[[nodiscard]] ops::Fd connecting() const;
	/* no socket of SDP is left but the listener, and the peer has none of its objects */
	void nothing_left() const;
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
	void established();

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

/** struct Attack - a connection that is open in both ends' view */
struct Attack {
	/* @passive: the victim has accepted; otherwise it has connected */
	Attack(const World &world, bool passive);

	Peer peer;
	Victim victim;
};

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
extern const std::vector<Violation> violations;
extern const std::vector<Legal> legal;
extern const std::vector<Check> memory_checks;
extern const std::vector<Check> end_checks;

/* messages by chance, from that seed on */
void random_rounds(World &world, std::uint32_t seed, unsigned int rounds);

} /* namespace hostile */

#endif /* KRDMA_TEST_SDP_PEER_HPP */
