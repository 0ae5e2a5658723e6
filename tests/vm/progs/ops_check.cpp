// SPDX-License-Identifier: GPL-2.0 OR MIT
// What a program may expect of a stream socket, as checks that hold on TCP, too:
//
//	ops_check FAMILY PROTOCOL WINNER [ADDRESS [CHECK...]]
//
// FAMILY and PROTOCOL are given to socket(). Connections within this program then are of protocol
// WINNER: TCP's, whatever carries their bytes. Each check has a time limit of its own; the last
// line counts them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <string_view>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "ops_sock.hpp"

namespace {

using namespace std::chrono_literals;
using ops::Address;
using ops::Fd;
using Bytes = std::vector<unsigned char>;

// has no sockets but those of streams
constexpr int af_sdp = 27;

int family, protocol, winner;
Address base;
const char *self;

// nothing of these goes by TCP: a send waits until the road is there, or fails
constexpr int ipproto_sdp = 257;

bool must()
{
	return family == af_sdp || protocol == ipproto_sdp;
}

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

std::string where(int line)
{
	return "line " + std::to_string(line);
}

void need(bool ok, std::string_view what, int line = __builtin_LINE())
{
	if (!ok)
		throw Failure(where(line) + ": " + std::string(what) + ": " + std::strerror(errno));
}

template <typename T> void same(T wanted, T got, std::string_view what, int line = __builtin_LINE())
{
	if (wanted != got)
		throw Failure(where(line) + ": " + std::string(what) + ": wanted " +
			      std::to_string(wanted) + ", got " + std::to_string(got));
}

// a call fails with that errno
void refused(int wanted, long rc, std::string_view what, int line = __builtin_LINE())
{
	int got = rc < 0 ? errno : 0;

	if (wanted != got)
		throw Failure(where(line) + ": " + std::string(what) + ": wanted '" +
			      std::strerror(wanted) + "', got '" + std::strerror(got) + "'");
}

Fd make(int flags = 0)
{
	int of = family == AF_INET && base.v6() ? AF_INET6 : family;
	Fd fd(socket(of, SOCK_STREAM | flags, protocol));

	need(fd >= 0, "socket");
	return fd;
}

Fd listener(int backlog = 16, int flags = 0)
{
	Fd fd = make(flags);
	Address at = base;

	need(ops::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1), "SO_REUSEADDR");
	need(!bind(fd, at.raw(), at.size), "bind");
	need(!listen(fd, backlog), "listen");
	return fd;
}

Fd connected(int to)
{
	Fd fd = make();
	Address at = ops::name_of(to);

	need(!connect(fd, at.raw(), at.size), "connect");
	return fd;
}

struct Pair {
	Fd client, server;

	Pair()
	{
		Fd at = listener();

		client = connected(at);
		server = Fd(accept4(at, nullptr, nullptr, SOCK_CLOEXEC));
		need(server >= 0, "accept");
	}
};

bool ready(int fd, short events, std::chrono::milliseconds limit = 5000ms)
{
	pollfd entry{fd, events, 0};

	return poll(&entry, 1, limit.count()) == 1;
}

short events_of(int fd)
{
	pollfd entry{fd, POLLIN | POLLOUT | POLLRDHUP, 0};

	poll(&entry, 1, 0);
	return entry.revents;
}

// events may take a moment to come, on TCP
void events(short wanted, int fd, std::string_view what, int line = __builtin_LINE())
{
	for (int i = 0; i < 200 && events_of(fd) != wanted; i++)
		std::this_thread::sleep_for(10ms);
	same<int>(wanted, events_of(fd), what, line);
}

void send_all(int fd, const void *data, size_t size)
{
	auto *at = static_cast<const unsigned char *>(data);

	while (size) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);

		need(sent > 0, "send");
		at += sent;
		size -= sent;
	}
}

Bytes receive_all(int fd)
{
	Bytes all, some(65536);
	ssize_t got;

	while ((got = recv(fd, some.data(), some.size(), 0)) > 0)
		all.insert(all.end(), some.begin(), some.begin() + got);
	need(got == 0, "recv");
	return all;
}

std::string receive_text(int fd)
{
	Bytes all = receive_all(fd);

	return {all.begin(), all.end()};
}

Bytes pattern(size_t size, unsigned seed)
{
	std::minstd_rand random(seed);
	Bytes data(size);

	std::generate(data.begin(), data.end(), [&] { return random() >> 8; });
	return data;
}

// Checks **************************************************************************************

void check_names()
{
	Fd at = listener(), client = make();
	Address there = ops::name_of(at), from, peer;

	same(1, ops::option(at, SOL_SOCKET, SO_ACCEPTCONN), "SO_ACCEPTCONN");
	refused(ENOTCONN, getpeername(client, peer.raw(), &peer.size),
		"getpeername() of a new one");
	need(!connect(client, there.raw(), there.size), "connect");
	Fd server(accept(at, from.raw(), &from.size));
	need(server >= 0, "accept");
	need(from.text() == ops::name_of(client).text(), "address of accept(): " + from.text());
	need(ops::name_of(server).text() == there.text(), "name of the server's end");
	peer = Address();
	need(!getpeername(client, peer.raw(), &peer.size), "getpeername");
	need(peer.text() == there.text(), "peer of the client");
	for (int fd : {int(client), int(server)}) {
		same(winner, ops::option(fd, SOL_SOCKET, SO_PROTOCOL), "SO_PROTOCOL");
		same(base.v6() ? AF_INET6 : AF_INET, ops::option(fd, SOL_SOCKET, SO_DOMAIN),
		     "SO_DOMAIN");
		same<int>(SOCK_STREAM, ops::option(fd, SOL_SOCKET, SO_TYPE), "SO_TYPE");
		same(0, ops::option(fd, SOL_SOCKET, SO_ERROR), "SO_ERROR");
		same(0, ops::option(fd, SOL_SOCKET, SO_ACCEPTCONN), "SO_ACCEPTCONN");
	}
}

void check_refusals()
{
	Fd at = listener(), fresh = make(), other = make();
	Address there = ops::name_of(at), nobody = base;
	char byte = 0;

	refused(EINVAL, accept(fresh, nullptr, nullptr), "accept() of a new one");
	refused(ENOTCONN, recv(fresh, &byte, 1, 0), "recv() of a new one");
	refused(EPIPE, send(fresh, &byte, 1, MSG_NOSIGNAL), "send() of a new one");
	refused(ENOTCONN, shutdown(fresh, SHUT_RDWR), "shutdown() of a new one");
	refused(ENOTCONN, recv(at, &byte, 1, 0), "recv() of a listener");
	refused(EADDRINUSE, bind(fresh, there.raw(), there.size), "bind() to a listener's address");
	refused(EISCONN, connect(at, there.raw(), there.size), "connect() of a listener");
	need(!bind(other, nobody.raw(), nobody.size), "bind");
	refused(EINVAL, bind(other, nobody.raw(), nobody.size), "bind() again");
	nobody = ops::name_of(other);
	refused(ECONNREFUSED, connect(fresh, nobody.raw(), nobody.size), "nobody listens");
	// the socket can be used again
	need(!connect(fresh, there.raw(), there.size), "connect() after a refusal");
	refused(EISCONN, connect(fresh, there.raw(), there.size), "connect() again");
	refused(EINVAL, listen(fresh, 1), "listen() of a connected one");
	refused(EOPNOTSUPP, socketpair(AF_INET, SOCK_STREAM, 0, std::array<int, 2>().data()),
		"socketpair");
	Fd datagram(socket(family, SOCK_DGRAM, 0));
	if (family == af_sdp) {
		refused(ESOCKTNOSUPPORT, datagram, "a datagram socket");
	} else {
		need(datagram >= 0, "a datagram socket");
		same<int>(IPPROTO_UDP, ops::option(datagram, SOL_SOCKET, SO_PROTOCOL),
			  "its protocol");
	}
	Fd implicit = make();
	need(!listen(implicit, 1), "listen() without bind()");
	need(ops::name_of(implicit).port() != 0, "its port");
}

void check_integrity()
{
	constexpr size_t size = 24 << 20;
	Pair pair;
	Bytes data = pattern(size, 1), got;
	std::thread sender([&] {
		std::minstd_rand random(2);

		for (size_t at = 0; at < size;) {
			size_t most = random() % 8 ? random() % 3000 + 1 : random() % 300000 + 1;
			size_t some = std::min(most, size - at), half = some / 2;
			std::array<iovec, 2> parts{iovec{data.data() + at, half},
						   iovec{data.data() + at + half, some - half}};
			ssize_t sent = writev(pair.client, parts.data(), 2);

			if (sent <= 0)
				break;
			at += sent;
		}
		shutdown(pair.client, SHUT_WR);
	});
	std::minstd_rand random(3);
	Bytes some(400000), peeked(1000);
	for (;;) {
		size_t most = random() % 4 ? random() % 5000 + 1 : random() % some.size() + 1;
		ssize_t seen = 0;

		if (random() % 8 == 0)
			seen = recv(pair.server, peeked.data(), peeked.size(), MSG_PEEK);
		ssize_t read =
			recv(pair.server, some.data(), most, random() % 16 ? 0 : MSG_WAITALL);
		if (read <= 0)
			break;
		if (!std::equal(peeked.begin(), peeked.begin() + std::min(seen, read),
				some.begin()))
			break;
		got.insert(got.end(), some.begin(), some.begin() + read);
	}
	sender.join();
	same(size, got.size(), "bytes");
	need(got == data, "the bytes");
}

void check_flags()
{
	Pair pair;
	std::array<char, 16> buffer{};

	refused(EAGAIN, recv(pair.server, buffer.data(), 4, MSG_DONTWAIT), "MSG_DONTWAIT");
	send_all(pair.client, "abcdefgh", 8);
	same<long>(3, recv(pair.server, buffer.data(), 3, MSG_PEEK), "MSG_PEEK");
	same<long>(2, recv(pair.server, buffer.data(), 2, 0), "a part");
	need(buffer[0] == 'a' && buffer[1] == 'b', "the part");
	int left = 0;
	need(!ioctl(pair.server, FIONREAD, &left), "FIONREAD");
	same(6, left, "FIONREAD");
	std::thread late([&] {
		std::this_thread::sleep_for(100ms);
		send_all(pair.client, "ijkl", 4);
	});
	ssize_t got = recv(pair.server, buffer.data(), 10, MSG_WAITALL);
	late.join();
	same<long>(10, got, "MSG_WAITALL");
	need(!std::memcmp(buffer.data(), "cdefghijkl", 10), "the rest");
	send_all(pair.client, "12345", 5);
	need(ready(pair.server, POLLIN), "poll");
	same<long>(3, recv(pair.server, nullptr, 3, MSG_TRUNC), "MSG_TRUNC");
	same<long>(2, recv(pair.server, buffer.data(), 9, 0), "after MSG_TRUNC");
	need(buffer[0] == '4', "what was not thrown away");
	// the end cuts MSG_WAITALL short
	send_all(pair.client, "xyz", 3);
	shutdown(pair.client, SHUT_WR);
	same<long>(3, recv(pair.server, buffer.data(), 16, MSG_WAITALL), "MSG_WAITALL and the end");
	same<long>(0, recv(pair.server, buffer.data(), 16, 0), "the end");
}

void check_poll()
{
	Fd fresh = make(), at = listener();

	events(POLLOUT | POLLHUP, fresh, "a new one");
	events(0, at, "a listener");
	Fd client = connected(at);
	events(POLLIN, at, "a listener with a connection");
	Fd server(accept(at, nullptr, nullptr));
	events(0, at, "a listener whose connection was accepted");
	events(POLLOUT, client, "a connection");
	send_all(client, "x", 1);
	events(POLLIN | POLLOUT, server, "data");
	shutdown(client, SHUT_WR);
	events(POLLIN | POLLOUT | POLLRDHUP, server, "half closed");
	shutdown(server, SHUT_WR);
	events(POLLIN | POLLOUT | POLLRDHUP | POLLHUP, server, "closed");
	events(POLLIN | POLLOUT | POLLRDHUP | POLLHUP, client, "closed, the other end");

	Pair full;
	Bytes chunk(65536);
	auto fill = [&] {
		bool some = false;

		while (send(full.client, chunk.data(), chunk.size(), MSG_DONTWAIT) > 0)
			some = true;
		return some;
	};
	// what is still on its way to the other end makes room when it has arrived
	for (int i = 0; i < 50 && fill(); i++)
		std::this_thread::sleep_for(50ms);
	refused(EAGAIN, send(full.client, chunk.data(), chunk.size(), MSG_DONTWAIT), "a full one");
	events(0, full.client, "a full one");
	std::thread reader([&] {
		Bytes sink(1 << 20);

		while (recv(full.server, sink.data(), sink.size(), 0) > 0)
			;
	});
	bool room = ready(full.client, POLLOUT);
	shutdown(full.client, SHUT_WR);
	reader.join();
	need(room, "room comes");
}

void check_shutdown()
{
	Pair pair;

	send_all(pair.client, "question", 8);
	need(!shutdown(pair.client, SHUT_WR), "SHUT_WR");
	refused(EPIPE, send(pair.client, "x", 1, MSG_NOSIGNAL), "send() after SHUT_WR");
	need(receive_text(pair.server) == "question", "what came before the end");
	send_all(pair.server, "answer", 6);
	need(!shutdown(pair.server, SHUT_WR), "SHUT_WR of the other end");
	need(receive_text(pair.client) == "answer", "the other direction");

	Pair deaf;
	std::thread waiter([&] {
		std::this_thread::sleep_for(100ms);
		shutdown(deaf.server, SHUT_RD);
	});
	char byte;
	same<long>(0, recv(deaf.server, &byte, 1, 0), "recv() that SHUT_RD ends");
	waiter.join();
	send_all(deaf.server, "still", 5);
	same<long>(1, recv(deaf.client, &byte, 1, 0), "after SHUT_RD of the other end");

	// a thread waits in accept(), another one closes the listener to it
	Fd at = listener();
	std::thread closer([&] {
		std::this_thread::sleep_for(100ms);
		shutdown(at, SHUT_RDWR);
	});
	refused(EINVAL, accept(at, nullptr, nullptr), "accept() that shutdown() ends");
	closer.join();
}

void check_reset()
{
	char byte;
	linger now{1, 0};

	Pair lingering;
	need(!setsockopt(lingering.client, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), "SO_LINGER");
	lingering.client.close();
	need(ready(lingering.server, POLLIN), "news of the reset");
	refused(ECONNRESET, recv(lingering.server, &byte, 1, 0), "a reset");
	same<long>(0, recv(lingering.server, &byte, 1, 0), "after the reset");

	Pair unread;
	send_all(unread.client, "unread", 6);
	need(ready(unread.server, POLLIN), "data");
	unread.server.close();
	need(ready(unread.client, POLLIN), "news of the reset");
	refused(ECONNRESET, recv(unread.client, &byte, 1, 0), "closed with data unread");

	Pair gone;
	gone.server.close();
	need(ready(gone.client, POLLRDHUP), "news of the end");
	long first = send(gone.client, "x", 1, MSG_NOSIGNAL);
	if (!must())
		same<long>(1, first, "the first data after the end");
	if (first == 1) {
		need(ready(gone.client, POLLERR), "news of the reset");
		refused(EPIPE, send(gone.client, "x", 1, MSG_NOSIGNAL), "the next data");
	}

	// the listener is destroyed with a connection in its queue
	Fd at = listener(), client = connected(at);
	at.close();
	need(ready(client, POLLIN), "news of the listener");
	refused(ECONNRESET, recv(client, &byte, 1, 0), "a listener that goes");
}

std::atomic<int> signals;

void count_signal(int)
{
	signals++;
}

void handle(int number, int flags)
{
	struct sigaction action {};

	action.sa_handler = count_signal;
	action.sa_flags = flags;
	sigaction(number, &action, nullptr);
	signals = 0;
}

void check_signals()
{
	Pair pair;
	char byte;

	handle(SIGPIPE, 0);
	shutdown(pair.client, SHUT_WR);
	refused(EPIPE, write(pair.client, "x", 1), "write() after SHUT_WR");
	same(1, signals.load(), "SIGPIPE");
	signal(SIGPIPE, SIG_IGN);

	itimerval soon{{}, {0, 100000}};
	Fd at = listener();
	handle(SIGALRM, 0);
	setitimer(ITIMER_REAL, &soon, nullptr);
	refused(EINTR, accept(at, nullptr, nullptr), "accept() and a signal");
	setitimer(ITIMER_REAL, &soon, nullptr);
	refused(EINTR, recv(pair.client, &byte, 1, 0), "recv() and a signal");
	handle(SIGALRM, SA_RESTART);
	setitimer(ITIMER_REAL, &soon, nullptr);
	std::thread late([&] {
		sigset_t all;

		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, nullptr);
		std::this_thread::sleep_for(400ms);
		send_all(pair.server, "y", 1);
	});
	same<long>(1, recv(pair.client, &byte, 1, 0), "recv() that goes on after a signal");
	late.join();
	same(1, signals.load(), "SIGALRM");

	handle(SIGIO, SA_RESTART);
	need(fcntl(at, F_SETOWN, getpid()) >= 0, "F_SETOWN");
	need(fcntl(at, F_SETFL, O_ASYNC | O_NONBLOCK) >= 0, "O_ASYNC");
	Fd client = connected(at);
	for (int i = 0; i < 100 && !signals; i++)
		std::this_thread::sleep_for(10ms);
	need(signals > 0, "SIGIO of a listener");
	Fd server(accept(at, nullptr, nullptr));
	need(server >= 0, "accept");
	signals = 0;
	need(fcntl(server, F_SETOWN, getpid()) >= 0, "F_SETOWN");
	need(fcntl(server, F_SETFL, O_ASYNC) >= 0, "O_ASYNC");
	send_all(client, "z", 1);
	for (int i = 0; i < 100 && !signals; i++)
		std::this_thread::sleep_for(10ms);
	need(signals > 0, "SIGIO of a connection");
	signal(SIGIO, SIG_IGN);
}

void check_timeouts()
{
	Pair pair;
	Fd at = listener();
	timeval limit{0, 200000};
	char byte;

	for (int fd : {int(pair.client), int(at)}) {
		need(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
		     "SO_RCVTIMEO");
		need(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)),
		     "SO_SNDTIMEO");
	}
	const auto in_time = [](const char *what, auto call) {
		const auto begin = std::chrono::steady_clock::now();

		refused(EAGAIN, call(), what);
		const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
			std::chrono::steady_clock::now() - begin);
		need(took > 150ms && took < 10s,
		     std::string{what} + " took ms: " + std::to_string(took.count()));
	};

	in_time("recv() for some time", [&] { return recv(pair.client, &byte, 1, 0); });
	in_time("accept() for some time", [&] { return accept(at, nullptr, nullptr); });
	Bytes chunk(1 << 20);
	ssize_t sent;
	while ((sent = send(pair.client, chunk.data(), chunk.size(), 0)) > 0)
		;
	refused(EAGAIN, sent, "send() for some time");
}

void check_options()
{
	Fd at = listener();
	Fd client = make();
	Address there = ops::name_of(at);

	need(ops::set_option(client, SOL_SOCKET, SO_RCVBUF, 54321), "SO_RCVBUF");
	need(ops::set_option(client, SOL_SOCKET, SO_SNDBUF, 65432), "SO_SNDBUF");
	need(ops::set_option(client, SOL_SOCKET, SO_KEEPALIVE, 1), "SO_KEEPALIVE");
	need(ops::set_option(client, IPPROTO_TCP, TCP_NODELAY, 1), "TCP_NODELAY");
	need(ops::set_option(client, IPPROTO_TCP, TCP_KEEPIDLE, 77), "TCP_KEEPIDLE");
	if (!base.v6())
		need(ops::set_option(client, IPPROTO_IP, IP_TOS, 0x10), "IP_TOS");
	timeval limit{3, 0};
	need(!setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), "SO_RCVTIMEO");
	for (int round = 0; round < 2; round++) {
		same(108642, ops::option(client, SOL_SOCKET, SO_RCVBUF), "SO_RCVBUF");
		same(130864, ops::option(client, SOL_SOCKET, SO_SNDBUF), "SO_SNDBUF");
		same(1, ops::option(client, SOL_SOCKET, SO_KEEPALIVE), "SO_KEEPALIVE");
		same(1, ops::option(client, IPPROTO_TCP, TCP_NODELAY), "TCP_NODELAY");
		same(77, ops::option(client, IPPROTO_TCP, TCP_KEEPIDLE), "TCP_KEEPIDLE");
		if (!base.v6())
			same(0x10, ops::option(client, IPPROTO_IP, IP_TOS), "IP_TOS");
		limit = {};
		socklen_t size = sizeof(limit);
		need(!getsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, &size), "SO_RCVTIMEO");
		same<long>(3, limit.tv_sec, "SO_RCVTIMEO");
		if (!round)
			need(!connect(client, there.raw(), there.size), "connect");
	}
	same(winner, ops::option(client, SOL_SOCKET, SO_PROTOCOL), "SO_PROTOCOL");
}

void check_ports()
{
	Fd one = make(), two = make(), three = make(), four = make();
	Address at = base;

	need(!bind(one, at.raw(), at.size), "bind");
	at = ops::name_of(one);
	need(at.port(), "a port");
	refused(EADDRINUSE, bind(two, at.raw(), at.size), "the same port");
	for (int fd : {int(three), int(four)})
		need(ops::set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1), "SO_REUSEPORT");
	refused(EADDRINUSE, bind(three, at.raw(), at.size), "SO_REUSEPORT of one alone");
	one.close();
	need(!bind(three, at.raw(), at.size), "bind");
	need(!bind(four, at.raw(), at.size), "SO_REUSEPORT");
	need(!listen(three, 16) && !listen(four, 16), "listen");
	for (int i = 0; i < 16; i++) {
		Fd client = connected(three);
		std::array<pollfd, 2> both{pollfd{three, POLLIN, 0}, pollfd{four, POLLIN, 0}};

		need(poll(both.data(), 2, 5000) == 1, "one of the two has it");
		Fd server(accept(both[0].revents ? three : four, nullptr, nullptr));
		need(server >= 0, "accept");
	}
	// the port of a client that it chose
	Fd to = listener(), client = make();
	Address there = ops::name_of(to), from;
	at.set_port(0);
	need(!bind(client, at.raw(), at.size), "bind");
	at = ops::name_of(client);
	need(!connect(client, there.raw(), there.size), "connect");
	Fd server(accept(to, from.raw(), &from.size));
	need(from.text() == at.text(), "the client's port");
}

void check_nonblocking()
{
	Fd at = listener(16, SOCK_NONBLOCK);
	Address there = ops::name_of(at);

	refused(EAGAIN, accept(at, nullptr, nullptr), "accept() of nobody");
	for (int i = 0; i < 8; i++) {
		Fd client = make(SOCK_NONBLOCK);
		Fd set(epoll_create1(0));
		epoll_event event{};

		// an entry from before the connection stays
		if (i % 2) {
			event.events = EPOLLIN | EPOLLOUT | EPOLLET;
			need(!epoll_ctl(set, EPOLL_CTL_ADD, client, &event), "epoll_ctl");
			epoll_wait(set, &event, 1, 0);
		}
		if (connect(client, there.raw(), there.size) < 0) {
			refused(EINPROGRESS, -1, "connect");
			need(ready(client, POLLOUT), "poll");
		}
		if (i % 2) {
			need(epoll_wait(set, &event, 1, 5000) == 1, "epoll_wait");
			need(event.events & EPOLLOUT, "EPOLLOUT");
			need(!(event.events & (EPOLLERR | EPOLLHUP)), "no error");
		}
		same(0, ops::option(client, SOL_SOCKET, SO_ERROR), "SO_ERROR");
		need(ready(at, POLLIN), "poll of the listener");
		Fd server(accept4(at, nullptr, nullptr, SOCK_NONBLOCK));
		need(server >= 0, "accept");
		same(winner, ops::option(client, SOL_SOCKET, SO_PROTOCOL), "SO_PROTOCOL");
		need(ready(server, POLLOUT), "room");
		// with the road comes room, which is an event
		if (must() && i % 2) {
			need(ready(client, POLLOUT), "room of the client");
			epoll_wait(set, &event, 1, 0);
		}
		send_all(server, "data", 4);
		if (i % 2) {
			need(epoll_wait(set, &event, 1, 5000) == 1, "epoll_wait for data");
			need(event.events & EPOLLIN, "EPOLLIN");
			need(epoll_wait(set, &event, 1, 50) == 0, "an edge, once");
		}
		need(ready(client, POLLIN), "data");
		char byte;
		same<long>(1, recv(client, &byte, 1, 0), "recv");
	}
	Fd client = make(SOCK_NONBLOCK);
	Fd closed = make();
	Address nobody = base;
	need(!bind(closed, nobody.raw(), nobody.size), "bind");
	nobody = ops::name_of(closed);
	if (connect(client, nobody.raw(), nobody.size) < 0 && errno == EINPROGRESS) {
		need(ready(client, POLLOUT), "poll");
		same(ECONNREFUSED, ops::option(client, SOL_SOCKET, SO_ERROR), "SO_ERROR");
	} else {
		refused(ECONNREFUSED, -1, "connect");
	}
}

// A thread waits at a socket in some call while another one connects it.
void check_waiters()
{
	for (int i = 0; i < 6; i++) {
		Fd at = listener(), client = make();
		Address there = ops::name_of(at);
		Fd set(epoll_create1(0));
		epoll_event event{EPOLLIN | EPOLLRDHUP, {}};
		bool seen = false;

		need(!epoll_ctl(set, EPOLL_CTL_ADD, client, &event), "epoll_ctl");
		std::thread waiter([&] {
			for (int tries = 0; tries < 400 && !seen; tries++) {
				epoll_event got{};

				if (epoll_wait(set, &got, 1, 5000) != 1)
					break;
				seen = got.events & EPOLLIN;
				if (!seen)
					std::this_thread::sleep_for(10ms);
			}
		});
		std::this_thread::sleep_for(30ms);
		need(!connect(client, there.raw(), there.size), "connect");
		Fd server(accept(at, nullptr, nullptr));
		send_all(server, "x", 1);
		waiter.join();
		need(seen, "epoll_wait() that began before the connection");
	}
}

void check_epoll_listener()
{
	for (unsigned edge : {0u, unsigned(EPOLLET)}) {
		Fd at = listener(64, SOCK_NONBLOCK), set(epoll_create1(0));
		epoll_event event{EPOLLIN | edge, {}};
		std::vector<Fd> clients;
		int accepted = 0;

		clients.reserve(20);
		need(!epoll_ctl(set, EPOLL_CTL_ADD, at, &event), "epoll_ctl");
		for (int i = 0; i < 20; i++)
			clients.push_back(connected(at));
		for (int tries = 0; accepted < 20 && tries < 100; tries++) {
			if (epoll_wait(set, &event, 1, 5000) != 1)
				break;
			// an edge comes once for all; a level for each again
			do {
				Fd server(accept(at, nullptr, nullptr));

				if (server < 0)
					break;
				accepted++;
			} while (edge);
		}
		same(20, accepted, edge ? "connections by edge" : "connections by level");
		need(epoll_wait(set, &event, 1, 50) == 0, "no more");
	}
}

void check_threads()
{
	constexpr int num = 64;
	Fd at = listener(num);
	std::atomic<int> accepted = 0, sum = 0;
	std::vector<std::thread> threads;

	threads.reserve(8);
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			while (accepted.fetch_add(1) < num) {
				Fd server(accept(at, nullptr, nullptr));
				int value = 0;

				if (server >= 0 && recv(server, &value, sizeof(value),
							MSG_WAITALL) == sizeof(value))
					sum += value;
			}
		});
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			for (int value = 1 + i; value <= num; value += 4)
				send_all(connected(at), &value, sizeof(value));
		});
	for (std::thread &thread : threads)
		thread.join();
	same(num * (num + 1) / 2, sum.load(), "sum of what was sent");

	// many writers and readers of one connection
	Pair pair;
	std::atomic<long> read = 0;
	threads.clear();
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			Bytes sink(5000);
			ssize_t got;

			while ((got = recv(pair.server, sink.data(), sink.size(), 0)) > 0)
				read += got;
		});
	std::vector<std::thread> writers;
	writers.reserve(3);
	for (int i = 0; i < 3; i++)
		writers.emplace_back([&] {
			Bytes source(7001);

			for (int j = 0; j < 200; j++)
				send_all(pair.client, source.data(), source.size());
		});
	for (std::thread &thread : writers)
		thread.join();
	shutdown(pair.client, SHUT_WR);
	for (std::thread &thread : threads)
		thread.join();
	same(3L * 200 * 7001, read.load(), "bytes of many threads");
}

void check_files()
{
	constexpr size_t size = 3 << 20;
	Pair pair;
	Bytes data = pattern(size, 4);
	Fd file(memfd_create("data", 0));
	std::array<int, 2> ends;

	need(write(file, data.data(), size) == ssize_t(size), "memfd");
	std::thread sender([&] {
		off_t at = 0;

		while (at < off_t(size) && sendfile(pair.client, file, &at, size - at) > 0)
			;
		shutdown(pair.client, SHUT_WR);
	});
	need(!pipe(ends.data()), "pipe");
	Fd from(ends[0]), to(ends[1]), copy(memfd_create("copy", 0));
	ssize_t got;
	size_t all = 0;
	while ((got = splice(pair.server, nullptr, to, nullptr, 65536, 0)) > 0) {
		all += got;
		for (ssize_t out; got > 0; got -= out) {
			out = splice(from, nullptr, copy, nullptr, got, 0);
			need(out > 0, "splice to a file");
		}
	}
	sender.join();
	need(!got, "splice from a socket");
	same(size, all, "bytes");
	void *map = mmap(nullptr, size, PROT_READ, MAP_SHARED, copy, 0);
	need(map != MAP_FAILED, "mmap");
	need(!std::memcmp(map, data.data(), size), "the bytes");
	munmap(map, size);

	// and from a pipe into a socket
	need(write(to, data.data(), 5000) == 5000, "write");
	same<long>(5000, splice(from, nullptr, pair.server, nullptr, 5000, 0),
		   "splice from a pipe");
	shutdown(pair.server, SHUT_WR);
	Bytes back = receive_all(pair.client);
	need(back.size() == 5000 && std::equal(back.begin(), back.end(), data.begin()),
	     "the bytes");
}

void finished(pid_t child)
{
	int status = -1;

	need(waitpid(child, &status, 0) == child, "waitpid");
	same(0, status, "status of the child");
}

void check_processes()
{
	Fd at = listener();

	// a child has the listener and the client's end
	Fd client = connected(at);
	std::array<int, 2> pipes;
	need(!pipe(pipes.data()), "pipe");
	Fd news(pipes[0]), tell(pipes[1]);
	char done = 0;
	pid_t child = fork();
	if (!child) {
		Fd server(accept(at, nullptr, nullptr));
		bool ok = server >= 0 && send(client, "from the child", 14, 0) == 14 &&
			  write(tell, &done, 1) == 1 && receive_text(server) == "from the child";

		_exit(!ok);
	}
	// the end is seen when both have closed it
	tell.close();
	need(read(news, &done, 1) == 1, "the child has sent");
	shutdown(client, SHUT_WR);
	client.close();
	finished(child);

	// another program, with the descriptor of a connection as its standard output
	Pair pair;
	child = fork();
	if (!child) {
		dup2(pair.client, 1);
		execl(self, self, "--say", "after exec", nullptr);
		_exit(127);
	}
	pair.client.close();
	need(receive_text(pair.server) == "after exec\n", "what the other program said");
	finished(child);

	// a descriptor travels
	Pair other;
	std::array<int, 2> ends;
	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()), "socketpair");
	Fd near(ends[0]), far(ends[1]);
	char byte = 'x';
	iovec part{&byte, 1};
	alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
	msghdr message{};
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	message.msg_control = control.data();
	message.msg_controllen = control.size();
	cmsghdr *rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	int sent = other.client;
	std::memcpy(CMSG_DATA(rights), &sent, sizeof(sent));
	need(sendmsg(near, &message, 0) == 1, "sendmsg");
	other.client.close();
	need(recvmsg(far, &message, 0) == 1, "recvmsg");
	rights = CMSG_FIRSTHDR(&message);
	need(rights, "a descriptor");
	std::memcpy(&sent, CMSG_DATA(rights), sizeof(sent));
	Fd moved(sent);
	same(winner, ops::option(moved, SOL_SOCKET, SO_PROTOCOL), "SO_PROTOCOL");
	Fd copy(dup(moved));
	moved.close();
	send_all(copy, "moved", 5);
	copy.close();
	need(receive_text(other.server) == "moved", "through a descriptor that travelled");
}

void check_backlog()
{
	Fd at = listener(4, SOCK_NONBLOCK);
	std::vector<Fd> clients;
	Address there = ops::name_of(at);
	int waiting = 0, accepted = 0;

	for (int i = 0; i < 12; i++) {
		clients.push_back(make(SOCK_NONBLOCK));
		if (connect(clients.back(), there.raw(), there.size) < 0)
			need(errno == EINPROGRESS, "connect");
	}
	std::this_thread::sleep_for(200ms);
	for (Fd &client : clients)
		waiting += !(events_of(client) & POLLOUT);
	need(waiting >= 4, "those beyond the backlog wait");
	while (Fd(accept(at, nullptr, nullptr)) >= 0)
		accepted++;
	need(accepted >= 4, "the backlog: " + std::to_string(accepted));
	// on a slow machine they may all have come in the meantime
	need(accepted == 12 || ready(at, POLLIN, 10000ms), "those who wait are served then");
}

void check_reconnect()
{
	Fd at = listener();
	Address there = ops::name_of(at), none;
	Fd client = make();

	none.storage.ss_family = AF_UNSPEC;
	none.size = sizeof(sockaddr_in);
	for (int i = 0; i < 3; i++) {
		need(!connect(client, there.raw(), there.size), "connect");
		Fd server(accept(at, nullptr, nullptr));
		send_all(client, "again", 5);
		char text[5];
		same<long>(5, recv(server, text, 5, MSG_WAITALL), "recv");
		need(!connect(client, none.raw(), none.size), "connect() to nothing");
		Address peer;
		refused(ENOTCONN, getpeername(client, peer.raw(), &peer.size), "getpeername");
	}
}

// close() of the descriptor in all stages of a socket's life leaves nothing; the case counts
void check_abandoned()
{
	for (int stage = 0; stage < 60; stage++) {
		Fd at, client = make(SOCK_NONBLOCK), server;
		Address there = base;

		if (stage % 6 == 0)
			continue;
		if (stage % 6 == 1) {
			need(!bind(client, there.raw(), there.size), "bind");
			continue;
		}
		at = listener();
		there = ops::name_of(at);
		if (stage % 6 == 2)
			continue;
		(void)connect(client, there.raw(), there.size);
		if (stage % 6 == 3)
			continue;
		need(ready(at, POLLIN), "poll");
		if (stage % 6 == 4)
			at.close();
		else
			server = Fd(accept(at, nullptr, nullptr));
	}
}

struct Check {
	const char *name;
	void (*run)();
};

constexpr std::array checks{
	Check{"names", check_names},         Check{"refusals", check_refusals},
	Check{"integrity", check_integrity}, Check{"flags", check_flags},
	Check{"poll", check_poll},           Check{"shutdown", check_shutdown},
	Check{"reset", check_reset},         Check{"signals", check_signals},
	Check{"timeouts", check_timeouts},   Check{"options", check_options},
	Check{"ports", check_ports},         Check{"nonblocking", check_nonblocking},
	Check{"waiters", check_waiters},     Check{"epoll-listener", check_epoll_listener},
	Check{"threads", check_threads},     Check{"files", check_files},
	Check{"processes", check_processes}, Check{"backlog", check_backlog},
	Check{"reconnect", check_reconnect}, Check{"abandoned", check_abandoned},
};

// Each check is a process, so that one that hangs or is killed does not end the rest.
bool passes(const Check &check)
{
	pid_t child = fork();

	if (!child) {
		alarm(60);
		try {
			check.run();
			_exit(0);
		} catch (const std::exception &error) {
			std::printf("%s: %s\n", check.name, error.what());
			std::fflush(stdout);
			_exit(1);
		}
	}
	int status = -1;
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		std::printf("%s: ended by signal %d\n", check.name, WTERMSIG(status));
	return !status;
}

bool wanted(const Check &check, int argc, char **argv)
{
	return argc <= 5 || std::any_of(argv + 5, argv + argc,
					[&](std::string_view name) { return name == check.name; });
}

} // namespace

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;

	if (argc == 3 && argv[1] == std::string_view("--say"))
		return std::puts(argv[2]) < 0;
	auto address = ops::parse(argc > 4 ? argv[4] : "127.0.0.1");
	if (argc < 4 || !address) {
		std::fprintf(stderr, "usage: %s FAMILY PROTOCOL WINNER [ADDRESS [CHECK...]]\n",
			     argv[0]);
		return 2;
	}
	self = "/proc/self/exe";
	family = std::atoi(argv[1]);
	protocol = std::atoi(argv[2]);
	winner = std::atoi(argv[3]);
	base = *address;
	signal(SIGPIPE, SIG_IGN);
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	for (const Check &check : checks) {
		if (!wanted(check, argc, argv))
			continue;
		if (passes(check))
			passed++;
		else
			failed++;
	}
	std::printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
