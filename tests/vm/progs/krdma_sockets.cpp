// SPDX-License-Identifier: GPL-2.0 OR MIT
// What stream sockets of one host cost, for make bench: a child is the other end.
//
//	krdma_sockets [-s SIZE] [-n COUNT] [-e] rtt|stream|connect|idle ADDRESS|unix|pipe
//
// rtt: SIZE bytes and as many back. stream: writes of SIZE bytes. connect: a connection, 64 bytes
// and an answer, close. idle: COUNT connections that have exchanged 64 bytes and stay until a line
// comes. With -e both ends wait by epoll, else in their calls. The last line has the figures.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <string_view>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <vector>

#include "ops_sock.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
	size_t size = 64;
	long count = 1000;
	bool epoll = false;
};

[[noreturn]] void die(const char *what)
{
	std::perror(what);
	std::exit(1);
}

// One end: a socket, or two pipes.
class End {
public:
	End(ops::Fd in, ops::Fd out, bool epoll)
		: in_(std::move(in)), out_(std::move(out)), epoll_(epoll)
	{
		if (!epoll_)
			return;
		input_ = watch(in_, EPOLLIN);
		output_ = watch(writer(), EPOLLOUT);
	}
	void send_all(const char *data, size_t size)
	{
		while (size) {
			ssize_t rc = sends(data, size);

			if (rc < 0 && errno == EAGAIN) {
				wait(output_);
				continue;
			}
			if (rc <= 0)
				die("send");
			data += rc;
			size -= rc;
		}
	}
	// false at the end
	bool receive_all(char *data, size_t size)
	{
		while (size) {
			ssize_t rc = receive(data, size);

			if (rc < 0)
				die("recv");
			if (!rc)
				return false;
			data += rc;
			size -= rc;
		}
		return true;
	}
	ssize_t receive(char *data, size_t size)
	{
		for (;;) {
			ssize_t rc = out_ >= 0 ? read(in_, data, size)
					       : recv(in_, data, size, epoll_ ? MSG_DONTWAIT : 0);

			if (rc >= 0 || errno != EAGAIN)
				return rc;
			wait(input_);
		}
	}
	void shut()
	{
		if (out_ >= 0)
			out_.close();
		else
			shutdown(in_, SHUT_WR);
	}

private:
	int writer() const
	{
		return out_ >= 0 ? int(out_) : int(in_);
	}
	ssize_t sends(const char *data, size_t size)
	{
		return out_ >= 0
			       ? write(out_, data, size)
			       : send(in_, data, size, MSG_NOSIGNAL | (epoll_ ? MSG_DONTWAIT : 0));
	}
	static ops::Fd watch(int fd, unsigned events)
	{
		ops::Fd set(epoll_create1(EPOLL_CLOEXEC));
		epoll_event event{events, {}};

		if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event))
			die("epoll");
		return set;
	}
	static void wait(int set)
	{
		epoll_event event{};

		while (epoll_wait(set, &event, 1, -1) < 0)
			if (errno != EINTR)
				die("epoll_wait");
	}

	ops::Fd in_, out_, input_, output_;
	bool epoll_;
};

ops::Fd listener(const char *where, ops::Address &at)
{
	auto address = ops::parse(where);

	if (!address) {
		std::fprintf(stderr, "'%s' is no address\n", where);
		std::exit(2);
	}
	at = *address;
	ops::Fd fd(socket(at.v6() ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
	if (fd < 0 || bind(fd, at.raw(), at.size) || listen(fd, 1024))
		die("listen");
	at = ops::name_of(fd);
	return fd;
}

ops::Fd connected(ops::Address &at)
{
	ops::Fd fd(socket(at.v6() ? AF_INET6 : AF_INET, SOCK_STREAM, 0));

	if (fd < 0 || connect(fd, at.raw(), at.size))
		die("connect");
	return fd;
}

struct Descriptors {
	ops::Fd in, out;
};

// The child goes on in the second one.
using TwoEnds = std::pair<Descriptors, Descriptors>;

TwoEnds two_ends(std::string_view where)
{
	std::array<int, 2> there{}, back{};

	if (where == "pipe") {
		if (pipe(there.data()) || pipe(back.data()))
			die("pipe");
		return TwoEnds{Descriptors{ops::Fd(back[0]), ops::Fd(there[1])},
			       Descriptors{ops::Fd(there[0]), ops::Fd(back[1])}};
	}
	if (where == "unix") {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, there.data()))
			die("socketpair");
		return TwoEnds{Descriptors{ops::Fd(there[0]), {}},
			       Descriptors{ops::Fd(there[1]), {}}};
	}
	ops::Address at;
	ops::Fd listening = listener(std::string(where).c_str(), at);
	ops::Fd client = connected(at);
	ops::Fd server(accept(listening, nullptr, nullptr));
	if (server < 0)
		die("accept");
	return TwoEnds{Descriptors{std::move(client), {}}, Descriptors{std::move(server), {}}};
}

void finish(pid_t child)
{
	int status = 1;

	if (waitpid(child, &status, 0) != child || status)
		die("the other end");
}

double micro(Clock::duration time)
{
	return std::chrono::duration<double, std::micro>(time).count();
}

void each(const Options &options, Clock::duration time)
{
	std::printf("size %zu count %ld us %.4f\n", options.size, options.count,
		    micro(time) / options.count);
}

void echo(End &end, const Options &options, long count)
{
	std::vector<char> data(options.size, 'x');

	while (count-- && end.receive_all(data.data(), data.size()))
		end.send_all(data.data(), data.size());
}

void round_trips(End &end, const Options &options, long count)
{
	std::vector<char> data(options.size, 'y');

	while (count--) {
		end.send_all(data.data(), data.size());
		if (!end.receive_all(data.data(), data.size()))
			die("the end");
	}
}

void rtt(const Options &options, std::string_view where)
{
	auto [near, far] = two_ends(where);
	const long before = std::max(options.count / 10, 20L);
	const pid_t child = fork();

	if (!child) {
		near = {};
		End end(std::move(far.in), std::move(far.out), options.epoll);
		echo(end, options, options.count + before);
		_exit(0);
	}
	far = {};
	End end(std::move(near.in), std::move(near.out), options.epoll);
	round_trips(end, options, before);
	const auto begin = Clock::now();
	round_trips(end, options, options.count);
	const auto time = Clock::now() - begin;
	finish(child);
	each(options, time);
}

// until the last byte was read, and a byte of the reader says so
void stream(const Options &options, std::string_view where)
{
	auto [near, far] = two_ends(where);
	const pid_t child = fork();
	const size_t all = options.size * options.count;

	if (!child) {
		near = {};
		End end(std::move(far.in), std::move(far.out), options.epoll);
		std::vector<char> data(options.size);
		size_t got = 0;
		while (got < all) {
			ssize_t rc = end.receive(data.data(), data.size());
			if (rc <= 0)
				_exit(1);
			got += rc;
		}
		end.send_all("z", 1);
		_exit(0);
	}
	far = {};
	End end(std::move(near.in), std::move(near.out), options.epoll);
	std::vector<char> data(options.size, 'x');
	char byte = 0;
	const auto begin = Clock::now();
	for (long i = 0; i < options.count; i++)
		end.send_all(data.data(), data.size());
	if (!end.receive_all(&byte, 1))
		die("the end");
	const auto time = Clock::now() - begin;
	finish(child);
	std::printf("size %zu count %ld mb_per_s %.4f\n", options.size, options.count,
		    options.size * options.count / micro(time));
}

void connects(const Options &options, const char *where)
{
	ops::Address at;
	ops::Fd listening = listener(where, at);
	const pid_t child = fork();

	if (!child) {
		for (long i = 0; i < options.count; i++) {
			End end(ops::Fd(accept(listening, nullptr, nullptr)), ops::Fd(),
				options.epoll);
			echo(end, options, 1);
			char byte;
			(void)end.receive(&byte, 1);
		}
		_exit(0);
	}
	const auto begin = Clock::now();
	for (long i = 0; i < options.count; i++) {
		End end(connected(at), ops::Fd(), options.epoll);
		round_trips(end, options, 1);
	}
	const auto time = Clock::now() - begin;
	finish(child);
	each(options, time);
}

void idle(const Options &options, const char *where)
{
	ops::Address at;
	ops::Fd listening = listener(where, at);
	std::vector<End> ends;

	ends.reserve(2 * options.count);
	for (long i = 0; i < options.count; i++) {
		ends.emplace_back(connected(at), ops::Fd(), false);
		ends.emplace_back(ops::Fd(accept(listening, nullptr, nullptr)), ops::Fd(), false);
		std::array<char, 64> data{};
		for (size_t one : {2 * i, 2 * i + 1}) {
			ends[one].send_all(data.data(), data.size());
			ends[one ^ 1].receive_all(data.data(), data.size());
		}
	}
	std::printf("%ld connections\n", options.count);
	std::fflush(stdout);
	(void)std::getchar();
}

int usage()
{
	std::fprintf(stderr,
		     "usage: krdma_sockets [-s SIZE] [-n COUNT] [-e] rtt|stream|connect|idle "
		     "ADDRESS|unix|pipe\n");
	return 2;
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	int letter;

	while ((letter = getopt(argc, argv, "s:n:e")) != -1) {
		switch (letter) {
		case 's':
			options.size = std::strtoul(optarg, nullptr, 0);
			break;
		case 'n':
			options.count = std::strtol(optarg, nullptr, 0);
			break;
		case 'e':
			options.epoll = true;
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != 2 || options.size < 1 || options.count < 1)
		return usage();
	signal(SIGPIPE, SIG_IGN);
	const std::string_view what = argv[optind];
	if (what == "rtt")
		rtt(options, argv[optind + 1]);
	else if (what == "stream")
		stream(options, argv[optind + 1]);
	else if (what == "connect")
		connects(options, argv[optind + 1]);
	else if (what == "idle")
		idle(options, argv[optind + 1]);
	else
		return usage();
	return 0;
}
