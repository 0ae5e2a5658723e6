// SPDX-License-Identifier: GPL-2.0 OR MIT
// Random calls on TCP sockets, which the case's rules mark, from several threads of several
// processes:
//
//	ops_fuzz SECONDS [SEED]
//
// Threads share a table of descriptors, and close under each other's feet. A process is killed now
// and then, and begins again. What the calls answer does not matter; the kernel's log does, and
// that a call which must not wait comes back. The last line counts the calls by answer.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "ops_sock.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int processes = 2, threads = 4, slots = 24;
// few ports, so that threads meet; 0 is any
constexpr std::array<std::uint16_t, 6> ports{0, 0, 9301, 9302, 9303, 9304};

enum Call {
	MAKE,
	BIND,
	LISTEN,
	CONNECT,
	ACCEPT,
	SEND,
	RECEIVE,
	SHUTDOWN,
	CLOSE,
	POLL,
	SET,
	GET,
	NAMES,
	FILES,
	DUP,
	IOCTL,
	STREAM,
	CALLS,
};

// shared by all processes: what was done
struct Tally {
	std::array<std::atomic<long>, CALLS> done, failed;
};

class Fuzzer {
public:
	Fuzzer(unsigned seed, Tally &tally, std::array<std::atomic<int>, slots> &table)
		: random_(seed), tally_(tally), table_(table)
	{}

	void run(Clock::time_point end)
	{
		while (Clock::now() < end) {
			step();
			// an emulated machine has other things to do, too
			if (any(2))
				std::this_thread::sleep_for(std::chrono::microseconds(any(20000)));
		}
	}

private:
	unsigned any(unsigned below)
	{
		return random_() / 7 % below;
	}
	template <typename T, size_t N> T one_of(const std::array<T, N> &list)
	{
		return list[any(N)];
	}
	std::atomic<int> &slot()
	{
		return table_[any(slots)];
	}
	void keep(int fd)
	{
		if (fd < 0)
			return;
		int old = slot().exchange(fd);

		if (old >= 0)
			close(old);
	}

	ops::Address address()
	{
		static constexpr std::array<const char *, 5> hosts{"127.0.0.1", "127.0.0.1",
								   "0.0.0.0", "::1", "192.0.2.1"};
		ops::Address at = *ops::parse(one_of(hosts), one_of(ports));

		switch (any(40)) {
		case 0:
			at.size = any(sizeof(at.storage));
			break;
		case 1:
			at.storage.ss_family = any(46);
			break;
		case 2:
			at.storage.ss_family = AF_UNSPEC;
			break;
		}
		return at;
	}

	long make()
	{
		struct Kind {
			int family, protocol;
		};
		static constexpr std::array<Kind, 12> kinds{
			Kind{19, 0}, Kind{19, 6}, Kind{19, 258}, Kind{2, 258},
			Kind{2, 0},  Kind{10, 0}, Kind{10, 258}, Kind{2, 0},
			Kind{27, 0}, Kind{2, 6},  Kind{2, 0},    Kind{2, 0},
		};
		Kind kind = one_of(kinds);
		int fd = socket(kind.family,
				SOCK_STREAM | (any(3) ? SOCK_NONBLOCK : 0) | SOCK_CLOEXEC,
				kind.protocol);

		if (fd >= 0) {
			timeval limit{0, 50000};

			setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
			setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
			if (any(2))
				ops::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		}
		keep(fd);
		return fd;
	}

	long send_some(int fd)
	{
		static std::array<char, 100000> data;
		size_t size = any(4) ? any(2000) : any(data.size());
		int flags = MSG_NOSIGNAL;

		flags |= any(3) ? MSG_DONTWAIT : 0;
		flags |= any(20) ? 0 : MSG_OOB;
		flags |= any(8) ? 0 : MSG_MORE;
		flags |= any(8) ? 0 : MSG_ZEROCOPY;
		if (any(4))
			return send(fd, data.data(), size, flags);
		ops::Address to = address();
		return sendto(fd, data.data(), size, flags | (any(2) ? MSG_FASTOPEN : 0), to.raw(),
			      to.size);
	}

	long receive_some(int fd)
	{
		static thread_local std::array<char, 100000> data;
		int flags = any(3) ? MSG_DONTWAIT : 0;

		flags |= any(6) ? 0 : MSG_PEEK;
		flags |= any(6) ? 0 : MSG_WAITALL;
		flags |= any(20) ? 0 : MSG_OOB;
		flags |= any(20) ? 0 : MSG_TRUNC;
		flags |= any(20) ? 0 : MSG_ERRQUEUE;
		return recv(fd, data.data(), any(data.size()), flags);
	}

	long poll_some(int fd)
	{
		pollfd entry{fd, POLLIN | POLLOUT | POLLRDHUP | POLLPRI, 0};

		if (any(2))
			return poll(&entry, 1, any(10));
		ops::Fd set(epoll_create1(EPOLL_CLOEXEC));
		epoll_event event{EPOLLIN | EPOLLOUT | (any(2) ? EPOLLET : 0u), {}};
		long rc = epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);

		epoll_wait(set, &event, 1, any(10));
		return rc;
	}

	struct Option {
		int level, name;
	};
	Option option()
	{
		static constexpr std::array<Option, 22> options{
			Option{SOL_SOCKET, SO_REUSEADDR},
			Option{SOL_SOCKET, SO_REUSEPORT},
			Option{SOL_SOCKET, SO_KEEPALIVE},
			Option{SOL_SOCKET, SO_SNDBUF},
			Option{SOL_SOCKET, SO_RCVBUF},
			Option{SOL_SOCKET, SO_RCVLOWAT},
			Option{SOL_SOCKET, SO_LINGER},
			Option{SOL_SOCKET, SO_ERROR},
			Option{SOL_SOCKET, SO_ZEROCOPY},
			Option{SOL_SOCKET, SO_BINDTODEVICE},
			Option{SOL_SOCKET, SO_INCOMING_CPU},
			Option{SOL_SOCKET, SO_PROTOCOL},
			Option{IPPROTO_TCP, TCP_NODELAY},
			Option{IPPROTO_TCP, TCP_CORK},
			Option{IPPROTO_TCP, TCP_FASTOPEN},
			Option{IPPROTO_TCP, TCP_DEFER_ACCEPT},
			Option{IPPROTO_TCP, TCP_ULP},
			Option{IPPROTO_TCP, TCP_INFO},
			Option{IPPROTO_TCP, TCP_FASTOPEN_CONNECT},
			Option{IPPROTO_IP, IP_TOS},
			Option{IPPROTO_IPV6, IPV6_V6ONLY},
			Option{IPPROTO_IPV6, IPV6_ADDRFORM},
		};
		return any(10) ? one_of(options) : Option{int(any(300)), int(any(100))};
	}

	long set(int fd)
	{
		Option which = option();
		std::array<int, 2> value{int(any(4) ? any(3) : random_()), int(any(2))};

		if (which.name == TCP_ULP && which.level == IPPROTO_TCP)
			return any(3) ? setsockopt(fd, which.level, which.name, "tls", 4)
				      : setsockopt(fd, which.level, which.name, "krdma", 6);
		// a full second of lingering holds up the thread
		if (which.name == SO_LINGER && which.level == SOL_SOCKET)
			value[1] = 0;
		return setsockopt(fd, which.level, which.name, value.data(), any(10) ? 8 : any(9));
	}

	long get(int fd)
	{
		Option which = option();
		std::array<char, 256> value;
		socklen_t size = any(value.size());

		return getsockopt(fd, which.level, which.name, value.data(), &size);
	}

	long files(int fd)
	{
		std::array<int, 2> ends;

		if (pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC))
			return -1;
		ops::Fd from(ends[0]), to(ends[1]);
		switch (any(3)) {
		case 0:
			return splice(fd, nullptr, to, nullptr, any(100000), SPLICE_F_NONBLOCK);
		case 1: {
			static std::array<char, 4096> data;

			if (write(to, data.data(), data.size()) < 0)
				return -1;
			return splice(from, nullptr, fd, nullptr, 4096, SPLICE_F_NONBLOCK);
		}
		default: {
			ops::Fd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));

			return sendfile(fd, file, nullptr, any(200000));
		}
		}
	}

	// both ends of a connection and some data, so that this is not rare
	long stream()
	{
		ops::Fd at(socket(2, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, any(2) ? 258 : 0));
		ops::Fd client(
			socket(2, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, any(2) ? 258 : 0));
		ops::Address any_port = *ops::parse("127.0.0.1", 0);

		if (bind(at, any_port.raw(), any_port.size) || listen(at, 5))
			return -1;
		any_port = ops::name_of(at);
		(void)connect(client, any_port.raw(), any_port.size);
		pollfd entry{at, POLLIN, 0};
		poll(&entry, 1, 100);
		int server = accept4(at, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (server < 0)
			return -1;
		keep(server);
		keep(client.release());
		return 0;
	}

	long call(Call which, int fd)
	{
		ops::Address at;

		switch (which) {
		case MAKE:
			return make();
		case BIND:
			at = address();
			return bind(fd, at.raw(), at.size);
		case LISTEN:
			return listen(fd, any(20));
		case CONNECT:
			at = address();
			return connect(fd, at.raw(), at.size);
		case ACCEPT: {
			int got = accept4(fd, at.raw(), &at.size,
					  SOCK_CLOEXEC | (any(2) ? SOCK_NONBLOCK : 0));
			keep(got);
			return got;
		}
		case SEND:
			return send_some(fd);
		case RECEIVE:
			return receive_some(fd);
		case SHUTDOWN:
			return shutdown(fd, any(4));
		case CLOSE:
			fd = slot().exchange(-1);
			return fd < 0 ? 0 : close(fd);
		case POLL:
			return poll_some(fd);
		case SET:
			return set(fd);
		case GET:
			return get(fd);
		case NAMES:
			return any(2) ? getsockname(fd, at.raw(), &at.size)
				      : getpeername(fd, at.raw(), &at.size);
		case FILES:
			return files(fd);
		case DUP:
			fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
			keep(fd);
			return fd;
		case IOCTL: {
			static constexpr std::array<unsigned long, 5> codes{
				FIONREAD, TIOCOUTQ, 0x8905, FIOASYNC, 0x8910};
			std::array<char, 64> room{};

			return ioctl(fd, one_of(codes), room.data());
		}
		case STREAM:
			return stream();
		case CALLS:
			break;
		}
		return -1;
	}

	void step()
	{
		static constexpr std::array<Call, 34> often{
			MAKE,    MAKE,     MAKE,    BIND,    BIND,    BIND,    LISTEN,
			LISTEN,  LISTEN,   CONNECT, CONNECT, CONNECT, CONNECT, ACCEPT,
			ACCEPT,  ACCEPT,   SEND,    SEND,    SEND,    RECEIVE, RECEIVE,
			RECEIVE, SHUTDOWN, CLOSE,   CLOSE,   POLL,    POLL,    SET,
			SET,     GET,      NAMES,   FILES,   DUP,     STREAM,
		};
		Call which = any(30) ? one_of(often) : IOCTL;
		long rc = call(which, slot());

		tally_.done[which]++;
		if (rc < 0)
			tally_.failed[which]++;
	}

	std::minstd_rand random_;
	Tally &tally_;
	std::array<std::atomic<int>, slots> &table_;
};

[[noreturn]] void work(unsigned seed, Tally &tally, Clock::time_point end)
{
	std::array<std::atomic<int>, slots> table;
	std::vector<std::thread> all;

	all.reserve(threads);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (auto &slot : table)
		slot = -1;
	for (int i = 0; i < threads; i++)
		all.emplace_back([&, i] { Fuzzer(seed * threads + i, tally, table).run(end); });
	for (std::thread &thread : all)
		thread.join();
	_exit(0);
}

} // namespace

int main(int argc, char **argv)
{
	static constexpr std::array<const char *, CALLS> names{
		"socket", "bind",     "listen", "connect", "accept", "send",
		"recv",   "shutdown", "close",  "poll",    "set",    "get",
		"names",  "files",    "dup",    "ioctl",   "stream",
	};
	if (argc < 2) {
		std::fprintf(stderr, "usage: %s SECONDS [SEED]\n", argv[0]);
		return 2;
	}
	unsigned seed = argc > 2 ? std::strtoul(argv[2], nullptr, 0) : std::random_device()();
	std::printf("seed %u\n", seed);
	std::fflush(stdout);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	void *shared = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	auto &tally = *new (shared) Tally{};
	auto end = Clock::now() + std::chrono::seconds(std::atoi(argv[1]));
	std::minstd_rand random(seed);
	std::array<pid_t, processes> children{};
	int killed = 0;
	while (Clock::now() < end) {
		for (pid_t &child : children)
			if (!child) {
				seed = random();
				child = fork();
				if (!child)
					work(seed, tally, end);
			}
		std::this_thread::sleep_for(std::chrono::milliseconds(200 + random() % 500));
		pid_t &victim = children[random() % processes];
		kill(victim, SIGKILL);
		waitpid(victim, nullptr, 0);
		victim = 0;
		killed++;
	}
	// a call that waits may be killed
	int status = 0;
	for (pid_t child : children) {
		if (child)
			kill(child, SIGKILL);
		for (int i = 0; child && i < 300 && !waitpid(child, &status, WNOHANG); i++)
			std::this_thread::sleep_for(std::chrono::milliseconds(100));
		if (child && !kill(child, 0)) {
			std::printf("process %d does not end\n", child);
			return 1;
		}
	}
	std::printf("%d processes killed\n", killed);
	for (int i = 0; i < CALLS; i++)
		std::printf("%s %ld/%ld ", names[i], tally.done[i].load(), tally.failed[i].load());
	std::printf("\n");
	return 0;
}
