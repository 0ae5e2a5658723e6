// SPDX-License-Identifier: GPL-2.0 OR MIT
// A round of sdp_random: the order of calls, the comparison, and the life of sockets.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <thread>

#include "sdp_random.hpp"

namespace side {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

volatile std::sig_atomic_t broken_pipes;

void count_broken_pipe(int)
{
	broken_pipes = broken_pipes + 1;
}

constexpr short all_events =
	POLLIN | POLLPRI | POLLOUT | POLLRDHUP | POLLRDNORM | POLLWRNORM | POLLRDBAND;

std::string events_text(short events)
{
	static constexpr struct {
		short bit;
		const char *name;
	} names[] = {
		{POLLIN, "in"},         {POLLPRI, "pri"},       {POLLOUT, "out"},
		{POLLRDHUP, "rdhup"},   {POLLRDNORM, "rdnorm"}, {POLLWRNORM, "wrnorm"},
		{POLLRDBAND, "rdband"}, {POLLERR, "err"},       {POLLHUP, "hup"},
		{POLLNVAL, "nval"},
	};
	std::string text;

	for (const auto &entry : names)
		if (events & entry.bit)
			text += (text.empty() ? "" : "+") + std::string(entry.name);
	return text.empty() ? "none" : text;
}

short events_of(int fd)
{
	pollfd entry{fd, all_events, 0};

	poll(&entry, 1, 0);
	return entry.revents;
}

// addresses are the same but for the port
std::string place(const ops::Address &address)
{
	std::string text = address.text();

	text.resize(text.rfind('.'));
	return text + (address.port() ? ".port" : ".0") + " family " +
	       std::to_string(address.storage.ss_family);
}

} // namespace

std::string Outcome::text() const
{
	std::string line = value < 0 ? std::string(strerrorname_np(error)) : std::to_string(value);

	return more.empty() ? line : line + " " + more;
}

Round::Round(const Setup &setup, unsigned seed)
	: setup_(setup),
	  random_(seed), worlds_{World{"tcp", setup.base.v6() ? AF_INET6 : AF_INET, 0, {}},
				 World{"sdp", setup.family, setup.protocol, {}}}
{
	// seeds that are neighbours begin alike
	random_.discard(10);
}

int Round::pick(const std::function<bool(int)> &fits)
{
	std::vector<int> found;

	for (int slot = 0; slot < slots; slot++)
		if (fits(slot))
			found.push_back(slot);
	return found.empty() ? -1 : found[any(found.size())];
}

int Round::pick_used()
{
	return pick([&](int slot) { return used(slot); });
}

int Round::pick_connected(int percent)
{
	return chance(percent)
		       ? pick([&](int slot) { return used(slot) && sockets_[slot]->connection; })
		       : pick_used();
}

int Round::pick_flags(const std::vector<Flag> &known)
{
	int flags = 0;

	for (const Flag &flag : known)
		if (chance(flag.percent))
			flags |= flag.bit;
	return flags;
}

int Round::pick_empty()
{
	return pick([&](int slot) { return !used(slot); });
}

void Round::note(const std::string &line)
{
	trace_.push_back(line);
	if (trace_.size() > 400)
		trace_.erase(trace_.begin());
}

// Comparison *******************************************************************************

// Return: the answer of both
Outcome Round::both(int slot, const std::string &what, const Call &call)
{
	std::array<Outcome, 2> outcomes;

	for (int i = 0; i < 2; i++) {
		const int before = broken_pipes;

		errno = 0;
		outcomes[i] = call(worlds_[i], slot < 0 ? -1 : int(worlds_[i].fd[slot]));
		if (outcomes[i].value >= 0)
			outcomes[i].error = 0;
		if (broken_pipes != before)
			outcomes[i].more += " SIGPIPE";
	}
	std::string line = (slot < 0 ? "" : "#" + std::to_string(slot) + " ") + what + " = " +
			   outcomes[0].text();
	note(line);
	if (outcomes[0] != outcomes[1])
		throw Difference(line + " on TCP, " + outcomes[1].text() + " on SDP");
	settle();
	return outcomes[0];
}

std::string Round::observe(const World &world) const
{
	std::string text;

	for (int slot = 0; slot < slots; slot++) {
		int unread = 0, mark = 0;

		if (!used(slot))
			continue;
		const int fd = world.fd[slot];
		if (ioctl(fd, SIOCINQ, &unread))
			unread = -errno;
		if (ioctl(fd, SIOCATMARK, &mark))
			mark = -errno;
		text += " #" + std::to_string(slot) + " " + events_text(events_of(fd)) +
			" unread " + std::to_string(unread) + " mark " + std::to_string(mark) + ";";
	}
	return text;
}

// are there bytes that were not sent yet? TCP's are with the peer when they were sent
bool Round::unsent(const World &world) const
{
	for (int slot = 0; slot < slots; slot++) {
		int left = 0;

		if (used(slot) && !(events_of(world.fd[slot]) & (POLLERR | POLLHUP)) &&
		    !ioctl(world.fd[slot], SIOCOUTQNSD, &left) && left)
			return true;
	}
	return false;
}

void Round::settle()
{
	const auto limit = Clock::now() + 4s * setup_.slow;
	std::array<std::string, 2> seen;
	int calm = 0;

	while (calm < 2) {
		std::this_thread::sleep_for(500us);
		for (int i = 0; i < 2; i++)
			seen[i] = observe(worlds_[i]);
		const bool waits = unsent(worlds_[0]) || unsent(worlds_[1]);
		calm = seen[0] == seen[1] && !waits ? calm + 1 : 0;
		if (!calm && Clock::now() > limit)
			throw Difference(
				(waits ? "bytes that are not sent" : "states that differ") +
				std::string("\n    TCP:") + seen[0] + "\n    SDP:" + seen[1]);
	}
}

// Order ************************************************************************************

void Round::run()
{
	struct sigaction action {};

	action.sa_handler = count_broken_pipe;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPIPE, &action, nullptr);
	if (chance(85))
		begin();
	for (int i = 0; i < setup_.steps; i++)
		step();
	for (int slot = 0; slot < slots; slot++)
		if (used(slot))
			close_one(slot);
}

// a pair, with options
void Round::begin()
{
	make(0);
	make(1);
	for (int i = any(4); i > 0; i--)
		set_option();
	bind_to(0, 0, -1);
	listen_one(0);
	connect_one(1);
	accept_one(0);
}

void Round::step()
{
	using Step = void (Round::*)();
	static constexpr struct {
		int weight;
		Step step;
	} table[] = {
		{24, &Round::send_one},  {26, &Round::receive_one}, {6, &Round::set_option},
		{7, &Round::get_option}, {6, &Round::ask},          {4, &Round::poll_one},
		{3, &Round::names},      {3, &Round::file_flags},   {3, &Round::shut_one},
		{2, &Round::dup_one},    {2, &Round::transfer},     {3, &Round::bind_one},
	};
	int at = any(100);

	for (const auto &entry : table) {
		if (at < entry.weight) {
			(this->*entry.step)();
			return;
		}
		at -= entry.weight;
	}
	const int slot = pick_used(), empty = pick_empty();
	if (slot < 0 || (empty >= 0 && chance(30)))
		make(empty);
	else if (chance(35))
		accept_one(pick(
			[&](int i) { return used(i) && (sockets_[i]->waiting || chance(20)); }));
	else if (chance(50))
		connect_one(slot);
	else if (chance(40))
		listen_one(slot);
	else
		close_one(slot);
}

// Life of sockets **************************************************************************

void Round::make(int slot)
{
	sockets_[slot] = std::make_shared<Socket>();
	both(-1, "socket() #" + std::to_string(slot), [&](World &world, int) {
		const timeval wait{0, 40000L * std::min(setup_.slow, 20)}, patience{5, 0};
		int made = socket(world.family, SOCK_STREAM, world.protocol);

		if (made < 0)
			return Outcome{made, errno, ""};
		world.fd[slot] = ops::Fd(made);
		setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
		setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		// SDP's buffers have that size from the beginning
		if (world.protocol == 0 && &world == &worlds_[0]) {
			ops::set_option(made, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20);
			ops::set_option(made, SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20);
		}
		return Outcome{};
	});
}

// KIND: 0 the address, 1 any address, 2 that of another slot, 3 one that is not here, 4 too short,
// 5 another family
bool Round::bind_to(int slot, int kind, int other)
{
	static const char *const names[] = {"address",         "any address",   "address of #",
					    "foreign address", "short address", "family 1"};
	std::string what = std::string("bind() ") + names[kind];

	if (kind == 2)
		what += std::to_string(other);
	return both(slot, what, [&](World &world, int fd) {
		       ops::Address at = setup_.base;

		       if (kind == 1) {
			       if (at.v6())
				       at = *ops::parse("::");
			       else
				       at = *ops::parse("0.0.0.0");
		       } else if (kind == 2) {
			       at = ops::name_of(world.fd[other]);
		       } else if (kind == 3) {
			       at = *ops::parse(at.v6() ? "2001:db8::77" : "203.0.113.77");
		       } else if (kind == 4) {
			       at.size = 5;
		       } else if (kind == 5) {
			       at.storage.ss_family = AF_UNIX;
		       }
		       return Outcome{bind(fd, at.raw(), at.size), errno, ""};
	       }).value == 0;
}

void Round::bind_one()
{
	const int slot = pick_used();

	if (slot < 0)
		return;
	int kind = chance(50) ? 0 : any(6), other = -1;
	if (kind == 2) {
		// TCP keeps the ports of connections that ended for a while, and the
		// listener's port as long as a connection has it; SDP keeps a port until
		// its socket is closed
		other = pick([&](int i) {
			return used(i) && !sockets_[i]->accepted && sockets_[i] != sockets_[slot] &&
			       (sockets_[i]->fresh || sockets_[i]->listening) &&
			       ops::name_of(worlds_[0].fd[i]).port();
		});
		if (other < 0)
			kind = 0;
	}
	bind_to(slot, kind, other);
}

void Round::listen_one(int slot)
{
	const int backlog = 4 + any(4);

	if (both(slot, "listen() " + std::to_string(backlog), [&](World &, int fd) {
		    return Outcome{listen(fd, backlog), errno, ""};
	    }).value == 0) {
		sockets_[slot]->listening = true;
		sockets_[slot]->fresh = false;
	}
}

bool Round::connect_one(int slot)
{
	// 0 to a listener, 1 to a port that does not listen, 2 to port 1, 3 to port 0, 4 AF_UNSPEC,
	// 5 too short
	int kind = chance(75) ? 0 : 1 + any(5), target = -1;

	if (kind == 0)
		target = pick([&](int i) {
			return used(i) && sockets_[i]->listening && sockets_[i]->waiting < 3 &&
			       sockets_[i] != sockets_[slot];
		});
	else if (kind == 1)
		target = pick([&](int i) {
			return used(i) && !sockets_[i]->listening && !sockets_[i]->connection &&
			       sockets_[i] != sockets_[slot] &&
			       ops::name_of(worlds_[0].fd[i]).port();
		});
	if (kind < 2 && target < 0)
		kind = 2;
	static const char *const names[] = {"to listener #", "to #",         "to port 1",
					    "to port 0",     "to AF_UNSPEC", "short"};
	std::string what = std::string("connect() ") + names[kind];
	if (kind < 2)
		what += std::to_string(target);
	Outcome outcome = both(slot, what, [&](World &world, int fd) {
		ops::Address at = setup_.base;

		if (kind < 2)
			at.set_port(ops::name_of(world.fd[target]).port());
		else if (kind == 2)
			at.set_port(1);
		else if (kind == 4)
			at.storage.ss_family = AF_UNSPEC;
		else if (kind == 5)
			at.size = 6;
		return Outcome{connect(fd, at.raw(), at.size), errno, ""};
	});
	Socket &socket = *sockets_[slot];
	if (kind == 4 && !outcome.value) {
		socket.connection.reset();
		socket.listening = false;
		socket.waiting = 0;
	}
	socket.fresh = false;
	if (kind != 0 || (outcome.value && outcome.error != EINPROGRESS))
		return false;
	if (socket.connection)
		return true;
	sockets_[target]->waiting++;
	socket.connection = std::make_shared<Connection>();
	socket.end = 0;
	return true;
}

bool Round::accept_one(int slot)
{
	const int into = pick_empty();
	const bool calm = chance(20);

	if (slot < 0 || into < 0)
		return false;
	// -1: the client is gone
	int client = -1;
	Outcome outcome = both(
		slot,
		std::string("accept() #") + std::to_string(into) + (calm ? " SOCK_NONBLOCK" : ""),
		[&](World &world, int fd) {
			ops::Address from;
			const int made =
				accept4(fd, from.raw(), &from.size, calm ? SOCK_NONBLOCK : 0);

			if (made < 0)
				return Outcome{made, errno, ""};
			world.fd[into] = ops::Fd(made);
			client = -1;
			for (int i = 0; i < slots; i++)
				if (used(i) && ops::name_of(world.fd[i]).text() == from.text())
					client = i;
			// options of the listener are those of the connection
			timeval wait{};
			socklen_t size = sizeof(wait);
			getsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &wait, &size);
			const timeval again{0, 40000};
			setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &again, sizeof(again));
			return Outcome{0, 0,
				       "from #" + std::to_string(client) + " " + place(from) +
					       " wait " + std::to_string(wait.tv_usec / 10000)};
		});
	if (outcome.value)
		return false;
	sockets_[into] = std::make_shared<Socket>();
	sockets_[into]->end = 1;
	sockets_[into]->accepted = true;
	sockets_[into]->rcvbuf = sockets_[slot]->rcvbuf;
	sockets_[into]->sndbuf = sockets_[slot]->sndbuf;
	if (sockets_[slot]->waiting)
		sockets_[slot]->waiting--;
	if (client >= 0 && sockets_[client]->connection)
		sockets_[into]->connection = sockets_[client]->connection;
	else
		sockets_[into]->connection = std::make_shared<Connection>();
	return true;
}

void Round::close_one(int slot)
{
	if (sockets_[slot]->connection)
		sockets_[slot]->connection->ending = true;
	sockets_[slot].reset();
	both(-1, "close() #" + std::to_string(slot), [&](World &world, int) {
		return Outcome{close(world.fd[slot].release()), errno, ""};
	});
}

void Round::dup_one()
{
	const int slot = pick_used(), into = pick_empty();

	if (slot < 0 || into < 0)
		return;
	both(slot, "dup() #" + std::to_string(into), [&](World &world, int fd) {
		world.fd[into] = ops::Fd(dup(fd));
		return Outcome{};
	});
	sockets_[into] = sockets_[slot];
}

void Round::shut_one()
{
	const int slot = pick_used(), how = chance(10) ? 3 : any(3);

	if (slot < 0)
		return;
	both(slot, "shutdown() " + std::to_string(how), [&](World &, int fd) {
		return Outcome{shutdown(fd, how), errno, ""};
	});
	if (sockets_[slot]->connection)
		sockets_[slot]->connection->ending = true;
	if (how != SHUT_WR) {
		sockets_[slot]->listening = false;
		sockets_[slot]->waiting = 0;
	}
}

void Round::poll_one()
{
	const int slot = pick_used();

	if (slot < 0)
		return;
	const short wanted = random_() & all_events;
	const int wait = any(2) * 5;
	both(slot, "poll() for " + events_text(wanted), [&](World &, int fd) {
		pollfd entry{fd, wanted, 0};
		const int n = poll(&entry, 1, wait);

		return Outcome{n, errno, events_text(entry.revents)};
	});
}

void Round::names()
{
	const int slot = pick_used();
	const bool peer = chance(50);
	const socklen_t room = chance(80) ? sizeof(sockaddr_storage) : any(30);

	if (slot < 0)
		return;
	both(slot, std::string(peer ? "getpeername() " : "getsockname() ") + std::to_string(room),
	     [&](World &, int fd) {
		     ops::Address address;

		     address.size = room;
		     const int rc = peer ? getpeername(fd, address.raw(), &address.size)
					 : getsockname(fd, address.raw(), &address.size);
		     // a port that was the socket's once
		     if (!peer && events_of(fd) & POLLHUP)
			     address = ops::Address();
		     return Outcome{rc, errno, std::to_string(address.size) + " " + place(address)};
	     });
}

void Round::file_flags()
{
	const int slot = pick_used(), calm = any(2);

	if (slot < 0)
		return;
	both(slot, std::string("O_NONBLOCK ") + std::to_string(calm), [&](World &, int fd) {
		const int rc = fcntl(fd, F_SETFL, calm ? O_NONBLOCK : 0);

		return Outcome{rc, errno, std::to_string(fcntl(fd, F_GETFL))};
	});
}

void Round::ask()
{
	static constexpr struct {
		unsigned long command;
		const char *name;
	} questions[] = {
		{SIOCINQ, "SIOCINQ"},           {SIOCATMARK, "SIOCATMARK"},
		{SIOCOUTQNSD, "SIOCOUTQNSD"},   {SIOCGPGRP, "SIOCGPGRP"},
		{SIOCGSTAMP_OLD, "SIOCGSTAMP"}, {0x5499, "0x5499"},
	};
	const int slot = pick_used();
	const auto &question = questions[any(std::size(questions))];

	if (slot < 0)
		return;
	both(slot, std::string("ioctl() ") + question.name, [&](World &, int fd) {
		int answer[8] = {};
		const int rc = ioctl(fd, question.command, answer);

		// data that is not sent when a connection ends is not compared
		if (question.command == SIOCOUTQNSD && events_of(fd) & POLLHUP)
			answer[0] = 0;
		return Outcome{rc, errno, rc ? "" : std::to_string(answer[0])};
	});
}

} // namespace side
