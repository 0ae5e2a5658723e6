/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The peer's end of a TCP connection, and the name that the connection has for roads: see
 * docs/sdp-wire.md, section 3, and ops/pair.c. TCP_REPAIR tells the sequence numbers.
 */
#include "sdp_peer.hpp"

#include <bit>

#include <netinet/tcp.h>

namespace hostile {

using ual::require;
using ual::same;

namespace {

/* SipHash-2-4, the output of 64 bits */
class SipHash {
public:
	SipHash(std::uint64_t k0, std::uint64_t k1)
		: v_{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
		     k1 ^ 0x7465646279746573}
	{}
	[[nodiscard]] std::uint64_t of(const Octets &octets)
	{
		const std::size_t whole = octets.size() / 8 * 8;

		for (std::size_t at = 0; at < whole; at += 8)
			word(little(octets, at, 8));
		word(little(octets, whole, octets.size() - whole) |
		     std::uint64_t{octets.size() & 0xff} << 56);
		v_[2] ^= 0xff;
		rounds(4);
		return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
	}

private:
	static std::uint64_t little(const Octets &octets, std::size_t at, std::size_t count)
	{
		std::uint64_t value = 0;

		for (std::size_t i = 0; i < count; i++)
			value |= std::uint64_t{octets[at + i]} << 8 * i;
		return value;
	}
	void word(std::uint64_t word)
	{
		v_[3] ^= word;
		rounds(2);
		v_[0] ^= word;
	}
	void rounds(int count)
	{
		while (count--) {
			v_[0] += v_[1];
			v_[1] = std::rotl(v_[1], 13) ^ v_[0];
			v_[0] = std::rotl(v_[0], 32);
			v_[2] += v_[3];
			v_[3] = std::rotl(v_[3], 16) ^ v_[2];
			v_[0] += v_[3];
			v_[3] = std::rotl(v_[3], 21) ^ v_[0];
			v_[2] += v_[1];
			v_[1] = std::rotl(v_[1], 17) ^ v_[2];
			v_[2] = std::rotl(v_[2], 32);
		}
	}

	std::array<std::uint64_t, 4> v_;
};

enum class Queue : int { receive = TCP_RECV_QUEUE, send = TCP_SEND_QUEUE };

/* number of the next octet of a queue */
std::uint32_t next_of(int fd, Queue queue)
{
	require(ops::set_option(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, static_cast<int>(queue)),
		"TCP_REPAIR_QUEUE");
	std::uint32_t number = 0;
	socklen_t size = sizeof(number);
	same(getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &number, &size), 0, "TCP_QUEUE_SEQ");
	return number;
}

ops::Address peer_of(int fd)
{
	ops::Address address;

	require(!getpeername(fd, address.raw(), &address.size), "getpeername()");
	return address;
}

/* an IPv4 address behind that prefix of 12 octets */
Octets ipv4(const ops::Address &address, Octets prefix)
{
	const auto &in = reinterpret_cast<const sockaddr_in &>(address.storage);

	return std::move(prefix) + big(ntohl(in.sin_addr.s_addr), 4);
}

Octets mapped(const ops::Address &address)
{
	return ipv4(address, Octets(10) + Octets{0xff, 0xff});
}

Octets name_bytes(std::uint64_t hash)
{
	Octets octets(8);

	for (std::size_t i = 0; i < octets.size(); i++)
		octets[i] = static_cast<std::uint8_t>(hash >> 8 * i);
	return octets;
}

} /* namespace */

Tcp::Tcp(ops::Fd fd, bool active)
	: fd_{std::move(fd)}, active_{active}, own_{ops::name_of(fd_)}, victim_{peer_of(fd_)}
{
	const timeval limit{.tv_sec = 20, .tv_usec = 0};

	require(!setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), "a time limit");
	require(ops::set_option(fd_, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_ON), "TCP_REPAIR");
	next_ = next_of(fd_, Queue::send);
	victim_next_ = next_of(fd_, Queue::receive);
	require(ops::set_option(fd_, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP), "repaired");
	active_isn_ = (active ? next_ : victim_next_) - 1;
	passive_isn_ = (active ? victim_next_ : next_) - 1;
}

Octets Tcp::name(bool answer) const
{
	const ops::Address &from = active_ ? own_ : victim_, &to = active_ ? victim_ : own_;

	return name_bytes(SipHash{std::uint64_t{active_isn_} << 32 | passive_isn_, 0x4b52444d}.of(
		mapped(from) + mapped(to) + big(from.port(), 2) + big(to.port(), 2) +
		word(answer ? 2 : 1)));
}

Draft Tcp::hello() const
{
	Draft draft{.mid = static_cast<std::uint8_t>(Mid::hello)};

	draft.extra = Octets{0x30, 0x40, 0, 4} + word(buffer_size) + word(buffer_size) +
		      big(own_.port(), 2) + big(victim_.port(), 2) + ipv4(own_, Octets(12)) +
		      ipv4(victim_, Octets(12)) + Octets(4) + name(false) + Octets(16);
	return draft;
}

Draft Tcp::hello_ack() const
{
	Draft draft{.mid = static_cast<std::uint8_t>(Mid::hello_ack)};

	draft.extra = Octets{0x30, 0, 0, 4} + word(buffer_size) + name(true) + Octets(164);
	return draft;
}

void Tcp::send(const Octets &octets)
{
	same(::send(fd_, octets.data(), octets.size(), MSG_NOSIGNAL),
	     static_cast<ssize_t>(octets.size()), "octets sent by TCP");
	next_ += static_cast<std::uint32_t>(octets.size());
}

void Tcp::receives(const Octets &wanted)
{
	Octets got(wanted.size());

	same(recv(fd_, got.data(), got.size(), MSG_WAITALL), static_cast<ssize_t>(wanted.size()),
	     "octets received by TCP");
	require(got == wanted, "what came by TCP");
	victim_next_ += static_cast<std::uint32_t>(got.size());
}

void Tcp::finish() const
{
	same(shutdown(fd_, SHUT_WR), 0, "shutdown() of the peer");
}

void Tcp::reset()
{
	const linger at_once{.l_onoff = 1, .l_linger = 0};

	require(!setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), "SO_LINGER");
	fd_.close();
}

Octets header(std::uint32_t x)
{
	return Octets{'K', 'R', 'D', 'M'} + word(x);
}

} /* namespace hostile */
