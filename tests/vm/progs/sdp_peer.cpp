/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The peer that speaks SDP by hand, and the socket that it attacks: see sdp_peer.hpp. */
#include "sdp_peer.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

#include <poll.h>

namespace hostile {

using ual::fail;
using ual::require;
using ual::same;

/* Fields of messages *********************************************************************** */

Octets big(std::uint64_t value, std::size_t size)
{
	Octets octets(size);

	for (std::size_t i = 0; i < size; i++)
		octets[i] = static_cast<std::uint8_t>(value >> 8 * (size - 1 - i));
	return octets;
}

Octets operator+(Octets left, const Octets &right)
{
	left.insert(left.end(), right.begin(), right.end());
	return left;
}

Octets stream(std::size_t count, std::size_t from)
{
	Octets octets(count);

	for (std::size_t i = 0; i < count; i++)
		octets[i] = static_cast<std::uint8_t>((from + i) % 251);
	return octets;
}

Octets mode(bool by_sink, int mode)
{
	return {static_cast<std::uint8_t>((by_sink ? 0x80 : 0) | mode << 4), 0, 0, 0};
}

Octets Draft::octets() const
{
	const std::size_t right = 16 + extra.size() + payload.size();

	return Octets{mid, flags} + big(bufs, 2) +
	       word(len.value_or(static_cast<std::uint32_t>(right))) + word(mseq) + word(ack) +
	       extra + payload;
}

void put(Draft &draft, std::size_t offset, const Octets &octets)
{
	std::ranges::copy(octets, draft.extra.begin() + static_cast<std::ptrdiff_t>(offset - 16));
}

/* What is under attack ********************************************************************* */

std::map<std::string, std::uint64_t> Counters::read()
{
	std::ifstream file{"/sys/kernel/debug/krdma_sdp/counters"};
	std::map<std::string, std::uint64_t> values;
	std::string name;
	std::uint64_t value = 0;

	while (file >> name >> value)
		values[name] = value;
	require(values.contains("faults"), "counters of krdma_sdp");
	return values;
}

std::uint64_t Counters::now(const std::string &name)
{
	return read().at(name);
}

std::uint64_t Counters::by(const std::string &name) const
{
	const auto now = read();

	if (!now.contains(name))
		fail("no counter " + name);
	return now.at(name) - before_.at(name);
}

void Counters::expect(std::string_view fault, bool refused) const
{
	const std::string counter = "fault-" + std::string{fault};

	/* a program that polls may see the end before the violation is counted */
	for (int i = 0; i < 200 && !fault.empty() && !by(counter); i++)
		std::this_thread::sleep_for(10ms);
	if (!fault.empty())
		same(by(counter), std::uint64_t{1}, counter.c_str());
	for (const auto &[name, value] : read())
		if (name.starts_with("fault-") && name != counter)
			same(value, before_.at(name), name.c_str());
	same(by("faults"), std::uint64_t{!fault.empty() && !refused}, "faults");
}

namespace {

bool comes(int fd, short events, std::chrono::milliseconds limit = patience)
{
	const auto end = std::chrono::steady_clock::now() + limit;
	pollfd p{.fd = fd, .events = events, .revents = 0};

	// POLLERR is never left out, and may come before the others
	while (poll(&p, 1, static_cast<int>(limit.count())) == 1) {
		if (p.revents & events)
			return true;
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds{10});
	}
	return false;
}

void set_timeouts(int fd)
{
	const timeval limit{.tv_sec = 20, .tv_usec = 0};

	require(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
			!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)),
		"time limits");
}

ops::Fd made()
{
	ops::Fd fd{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	require(fd >= 0, "a socket");
	return fd;
}

/* of the namespace in which the thread is */
ops::Fd listening(const std::string &ip, std::uint16_t port)
{
	auto address = ops::parse(ip.c_str(), port);
	ops::Fd fd = made();

	require(ops::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1), "SO_REUSEADDR");
	require(!bind(fd, address->raw(), address->size) && !listen(fd, 64), "a listener");
	return fd;
}

ops::Fd connecting(const std::string &ip, std::uint16_t port)
{
	auto address = ops::parse(ip.c_str(), port);
	ops::Fd fd = made();

	if (connect(fd, address->raw(), address->size))
		fail(std::string{"connect: "} + std::strerror(errno));
	return fd;
}

ops::Fd accepting(int listener)
{
	require(comes(listener, POLLIN), "the listener gets a connection");
	ops::Fd fd{accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)};

	require(fd >= 0, "accept");
	return fd;
}

/** class Visit - the thread is in the hostile host's namespace */
class Visit {
public:
	Visit()
	{
		ual::enter("hostA");
	}
	~Visit()
	{
		ual::enter("hostB");
	}
	Visit(const Visit &) = delete;
	Visit &operator=(const Visit &) = delete;
};

Octets octets_of(const std::vector<std::byte> &data)
{
	Octets octets(data.size());

	std::memcpy(octets.data(), data.data(), data.size());
	return octets;
}

Message asked_by(const krdma::ConnectionRequest &request)
{
	Message asked = sdp::decode(octets_of(request.info().private_data), Carrier::request);

	if (!asked.fault.empty() || asked.mid != Mid::hello)
		fail("the victim's Hello: " + sdp::describe(asked));
	return asked;
}

bool is_name(const std::array<std::uint8_t, 8> &got, const Octets &wanted)
{
	return std::ranges::equal(got, wanted);
}

} /* namespace */

void Ends::works()
{
	victim.send(stream(300));
	tcp.receives(stream(300));
	tcp.send(stream(200, 9));
	victim.receives(stream(200, 9));
}

Victim::Victim(ops::Fd fd) : fd_{std::move(fd)}
{
	set_timeouts(fd_);
}

void Victim::send(const Octets &octets) const
{
	same(::send(fd_, octets.data(), octets.size(), MSG_NOSIGNAL),
	     static_cast<ssize_t>(octets.size()), "octets sent by the victim");
}

void Victim::receives(const Octets &wanted) const
{
	Octets got(wanted.size());

	same(recv(fd_, got.data(), got.size(), MSG_WAITALL), static_cast<ssize_t>(wanted.size()),
	     "octets received by the victim");
	require(got == wanted, "what the victim received");
}

std::size_t Victim::reads_until(int error) const
{
	Octets room(1 << 20);
	std::size_t all = 0;

	for (;;) {
		const ssize_t n = recv(fd_, room.data(), room.size(), 0);

		if (n <= 0) {
			same(n ? errno : 0, error, "what ends the victim's reading");
			return all;
		}
		all += static_cast<std::size_t>(n);
	}
}

void Victim::ends(int error, ual::Where where) const
{
	if (!comes(fd_, POLLHUP))
		fail("the victim's connection does not end", where);
	same(ops::option(fd_, SOL_SOCKET, SO_ERROR), error, "the victim's error", where);
}

World::World(const char *own, const char *victim)
	: own_ip{own}, victim_ip{victim}, host{"hostA", own},
	  requests{host.context, krdma::Address::parse(own_ip).with_port(rendezvous)},
	  own_listener{listening(own_ip, own_port)}, objects_{host.session.usage().objects}
{
	ual::enter("hostB");
	listener = listening(victim_ip, victim_port);
}

Tcp World::asks() const
{
	const Visit visit;

	return {connecting(victim_ip, victim_port), true};
}

Victim World::accepted() const
{
	return Victim{accepting(listener)};
}

Ends World::connected(bool passive) const
{
	if (passive) {
		Tcp tcp = asks();

		return {std::move(tcp), accepted()};
	}
	Victim victim{connecting(own_ip, own_port)};

	return {Tcp{accepting(own_listener), false}, std::move(victim)};
}

std::optional<krdma::ConnectionRequest> World::request_of(const Tcp &tcp,
							  std::chrono::milliseconds limit) const
{
	const Octets malformed{0x30, 4, 0, 0};

	for (;;) {
		std::optional<krdma::ConnectionRequest> request = requests.wait(limit);

		if (!request || is_name(asked_by(*request).hello.name, tcp.name(false)))
			return request;
		request->reject(std::as_bytes(std::span{malformed}));
	}
}

krdma::ConnectionRequest World::request_of(const Tcp &tcp) const
{
	std::optional<krdma::ConnectionRequest> request = request_of(tcp, patience);

	require(request.has_value(), "a request of the victim");
	return std::move(*request);
}

void World::no_road_left() const
{
	const auto end = std::chrono::steady_clock::now() + patience;
	std::uint64_t left = 0;

	do {
		left = Counters::now("sockets");
		if (!left)
			return;
		std::this_thread::sleep_for(5ms);
	} while (std::chrono::steady_clock::now() < end);
	fail(std::to_string(left) + " connections of SDP are left");
}

void World::nothing_left() const
{
	same(host.session.usage().objects, objects_, "objects of the peer afterwards");
	no_road_left();
}

/* The peer ********************************************************************************* */

Peer::Peer(const World &world)
	: world_{world}, side_{world.host, {.qp = {.max_send_wr = 64, .max_recv_wr = 64}}},
	  in_{side_.pd, std::size_t{buffers} * buffer_size}, out_{side_.pd, memory_size}
{
	for (std::size_t i = 0; i < buffers; i++)
		post(i);
}

void Peer::post(std::size_t slot) const
{
	side_.qp.receive(slot, in_.region.slice(slot * buffer_size, buffer_size));
}

void Peer::connect(const Octets &request)
{
	connection_ = krdma::Connection::connect(
		side_.qp, krdma::Address::parse(world_.victim_ip).with_port(rendezvous),
		{.private_data = std::as_bytes(std::span{request})});
}

void Peer::accept(krdma::ConnectionRequest &request, const Octets &answer)
{
	connection_ = request.accept(side_.qp, {.private_data = std::as_bytes(std::span{answer})});
}

Octets Peer::refused(const Octets &request)
{
	connect(request);
	ual::refused(ECONNREFUSED, "the connection", [&] { connection_->established(patience); });
	return octets_of(connection_->info().private_data);
}

void Peer::established(const Tcp &tcp)
{
	connection_->established(patience);
	const Message ack =
		sdp::decode(octets_of(connection_->info().private_data), Carrier::answer);
	if (!ack.fault.empty() || ack.mid != Mid::hello_ack)
		fail("the answer: " + sdp::describe(ack));
	require(is_name(ack.hello.name, tcp.name(true)), "the name in the answer");
	limit = ack.bufs;
	victim_size = ack.hello.size;
}

void Peer::opens(const Tcp &tcp)
{
	connect(tcp.hello().octets());
	established(tcp);
	say(Mid::data);
}

void Peer::answers(const Tcp &tcp)
{
	krdma::ConnectionRequest request = world_.request_of(tcp);
	const Message asked = asked_by(request);

	limit = asked.bufs;
	victim_size = asked.hello.size;
	accept(request, tcp.hello_ack().octets());
	/* its first message */
	(void)hear(Mid::data);
}

Draft Peer::draft(Mid mid, Octets extra, Octets payload)
{
	return {.mid = static_cast<std::uint8_t>(mid),
		.mseq = ++sent,
		.ack = got,
		.extra = std::move(extra),
		.payload = std::move(payload)};
}

void Peer::transmit(const Octets &octets, std::optional<std::uint32_t> invalidate)
{
	require(octets.size() <= memory_size, "a message that fits");
	std::memcpy(out_.octets.data(), octets.data(), octets.size());
	const auto message = [&] {
		return out_.region.slice(0, static_cast<std::uint32_t>(octets.size()));
	};
	try {
		if (octets.empty())
			side_.qp.send(99, std::span<const krdma::Slice>{});
		else if (invalidate)
			side_.qp.send_invalidate(99, message(), *invalidate);
		else
			side_.qp.send(99, message());
	} catch (const std::system_error &) {
		/* the victim was faster with the end */
		return;
	}
	(void)ual::Side::next(side_.sends);
}

void Peer::flagged(Mid mid, std::uint8_t flags, Octets payload)
{
	Draft flagged = draft(mid, {}, std::move(payload));

	flagged.flags = flags;
	transmit(flagged);
}

bool Peer::take(std::chrono::milliseconds time)
{
	const std::optional<krdma::Completion> done = side_.receives.wait(time);

	if (!done || !done->ok())
		return false;
	const std::size_t slot = done->id();
	Octets octets(done->length());
	std::memcpy(octets.data(), in_.octets.data() + slot * buffer_size, octets.size());
	const Message message = sdp::decode(octets, Carrier::send);
	if (!message.fault.empty() || message.mseq != got + 1)
		fail("the victim sends after " + std::to_string(got) + ": " +
		     sdp::describe(message));
	got = message.mseq;
	limit = message.mseq_ack + message.bufs;
	heard_.push_back(message);
	try {
		post(slot);
	} catch (const std::system_error &) {
		return true;
	}
	return true;
}

Message Peer::hear(Mid mid, ual::Where where)
{
	for (;;) {
		while (!heard_.empty()) {
			Message message = std::move(heard_.front());

			heard_.pop_front();
			if (message.mid == mid)
				return message;
		}
		if (!take(patience))
			fail("the victim does not send " + std::string{sdp::name(mid)}, where);
	}
}

Octets Peer::hear_payload(ual::Where where)
{
	for (;;) {
		Message message = hear(Mid::data, where);

		if (!message.payload.empty())
			return std::move(message.payload);
	}
}

Octets Peer::hear_stream(std::size_t count)
{
	Octets got;

	while (got.size() < count)
		got = std::move(got) + hear_payload();
	same(got.size(), count, "octets that the victim sent");
	return got;
}

void Peer::settle(std::chrono::milliseconds quiet)
{
	while (take(quiet))
		;
}

void Peer::fill()
{
	for (int i = 0; i < 1000; i++) {
		settle(credits() > 2 ? 0ms : 700ms);
		if (credits() <= 2)
			return;
		say(Mid::data, {}, stream(20000));
	}
	fail("the victim's window does not close");
}

Octets Peer::advertise(std::uint32_t size) const
{
	return word(size) + word(out_.region.stag()) + big(out_.region.address(), 8);
}

void Peer::abort() const
{
	side_.qp.disconnect(true);
}

void Peer::end() const
{
	side_.qp.disconnect(false);
}

void Peer::closed(ual::Where where)
{
	if (!connection_->closed(patience))
		fail("the victim does not end the connection", where);
}

/* Open connections ************************************************************************* */

void change(Peer &peer, const Tcp &tcp, const Victim &victim)
{
	peer.say(Mid::data, {}, header(tcp.x()) + Octets{7});
	victim.receives({7});
	/* it has read the peer's: so its end of the road is open */
	victim.send({9});
	require(peer.hear_stream(9) == header(tcp.victim_x()) + Octets{9}, "the victim's change");
}

Attack::Attack(const World &world, Ends ends, bool passive)
	: peer{world}, tcp{std::move(ends.tcp)}, victim{std::move(ends.victim)}
{
	if (passive)
		peer.opens(tcp);
	else
		peer.answers(tcp);
	change(peer, tcp, victim);
}

void Attack::works()
{
	peer.settle(0ms);
	peer.say(Mid::data, {}, stream(2000, 5));
	victim.receives(stream(2000, 5));
	victim.send(stream(777));
	require(peer.hear_stream(777) == stream(777), "what the victim sent");
	peer.say(Mid::disconn);
	same(victim.reads_until(0), std::size_t{0}, "octets at the end");
	same(shutdown(victim.fd(), SHUT_WR), 0, "shutdown()");
	(void)peer.hear(Mid::disconn);
	peer.end();
	tcp.finish();
	victim.ends(0);
}

} /* namespace hostile */
