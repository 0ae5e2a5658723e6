// SPDX-License-Identifier: GPL-2.0 OR MIT
// Scenes of ops_change: what has an order of its own around the change of roads. Each says what it
// saw, and must see the same on TCP.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/userfaultfd.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sstream>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>

#include "ops_change.hpp"

namespace change {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

void pause(const Setup &setup)
{
	std::this_thread::sleep_for(30ms * setup.slow);
}

// a call's value, or its errno's name
std::string told(ssize_t rc)
{
	return rc < 0 ? strerrorname_np(errno) : std::to_string(rc);
}

int number(int fd, unsigned long request)
{
	int value = -1;

	return ioctl(fd, request, &value) ? -errno : value;
}

void wait_for(const Setup &setup, int fd, unsigned long request, int wanted)
{
	for (int i = 0; i < 100 * setup.slow && number(fd, request) != wanted; i++)
		std::this_thread::sleep_for(10ms);
}

// all until the end: how much, and how it ended
std::string drain(int fd, const Pattern &pattern, size_t from = 0)
{
	Bytes data(70000);
	size_t got = from;
	ssize_t rc;

	while ((rc = recv(fd, data.data(), data.size(), 0)) > 0) {
		pattern.compare(data.data(), rc, got, "what came");
		got += rc;
	}
	return std::to_string(got) + " then " + told(rc);
}

void send_pattern(int fd, const Pattern &pattern, size_t from, size_t size, int flags = 0)
{
	Bytes data(size);

	pattern.fill(data.data(), size, from);
	send_all(fd, data.data(), size, flags);
}

// Each scene has its change after some bytes: of TCP if there is nothing to pull.
struct Begin {
	Begin(const Setup &setup, unsigned seed)
		: trigger(setup), random(seed), there(seed, 0), back(seed, 1),
		  pair(connect_pair(setup))
	{
		trigger.wait();
	}
	// a few bytes before the change in both directions
	size_t some_before()
	{
		const size_t before = random() / 8 % 40;

		send_pattern(pair.client, there, 0, before);
		send_pattern(pair.server, back, 0, before);
		trigger.pull();
		return before;
	}

	Trigger trigger;
	Random random;
	Pattern there, back;
	Pair pair;
};

// Scenes **********************************************************************************

std::string half_close(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	const size_t before = b.some_before();

	send_pattern(b.pair.client, b.there, before, 50000);
	saw << told(shutdown(b.pair.client, SHUT_WR)) << ' ';
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL)) << ' ';
	saw << drain(b.pair.server, b.there) << ", ";
	send_pattern(b.pair.server, b.back, before, 60000);
	b.pair.server.close();
	saw << drain(b.pair.client, b.back);
	return saw.str();
}

std::string half_close_at_once(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	const size_t before = b.some_before();

	shutdown(b.pair.client, SHUT_WR);
	std::string saw = drain(b.pair.server, b.there);
	send_pattern(b.pair.server, b.back, before, 3);
	shutdown(b.pair.server, SHUT_WR);
	return saw + ", " + drain(b.pair.client, b.back);
}

std::string deaf(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	char byte;

	b.some_before();
	saw << told(shutdown(b.pair.client, SHUT_RD)) << ' ';
	while (recv(b.pair.client, &byte, 1, 0) > 0)
		;
	saw << told(send(b.pair.server, "x", 1, MSG_NOSIGNAL)) << ' ';
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL));
	return saw.str();
}

std::string linger_zero(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	const linger now{1, 0};
	const size_t before = b.some_before();

	send_pattern(b.pair.client, b.there, before, 3000);
	pause(setup);
	need(!setsockopt(b.pair.client, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), "SO_LINGER");
	b.pair.client.close();
	pause(setup);
	pollfd entry{b.pair.server, POLLIN | POLLOUT | POLLRDHUP, 0};
	poll(&entry, 1, 0);
	saw << entry.revents << ' ' << drain(b.pair.server, b.there) << ' ';
	saw << told(send(b.pair.server, "x", 1, MSG_NOSIGNAL)) << ' ';
	saw << told(recv(b.pair.server, &entry, 1, 0));
	return saw.str();
}

std::string unread_data(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	char byte;
	const size_t before = b.some_before();

	send_pattern(b.pair.client, b.there, before, 3000);
	need(ready(b.pair.server, POLLIN, 5000 * setup.slow), "data");
	need(recv(b.pair.server, &byte, 1, 0) == 1, "recv");
	pause(setup);
	b.pair.server.close();
	pause(setup);
	pollfd entry{b.pair.client, POLLIN | POLLOUT | POLLRDHUP, 0};
	poll(&entry, 1, 0);
	// whether TCP's other direction is read before the reset is a matter of time
	saw << (entry.revents & POLLERR) << ' ' << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL));
	return saw.str();
}

std::string first_after_close(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;

	b.some_before();
	Bytes sink(100);

	pause(setup);
	while (recv(b.pair.server, sink.data(), sink.size(), MSG_DONTWAIT) > 0)
		;
	b.pair.server.close();
	need(ready(b.pair.client, POLLRDHUP, 5000 * setup.slow), "news of the end");
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL)) << ' ';
	need(ready(b.pair.client, POLLERR, 5000 * setup.slow), "news of the reset");
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL));
	return saw.str();
}

// a sender that waits for room is ended by its peer
std::string sender_waits(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	ssize_t rc = 0;
	int error = 0;

	b.some_before();
	std::thread waiter([&] {
		Bytes data(200000);

		while ((rc = send(b.pair.client, data.data(), data.size(), MSG_NOSIGNAL)) > 0)
			;
		error = errno;
	});
	pause(setup);
	pause(setup);
	b.pair.server.close();
	waiter.join();
	errno = error;
	return told(rc);
}

std::string urgent(const Setup &setup, unsigned seed, bool in_line, int change)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	std::array<char, 32> data{};
	auto pull = [&](int at) {
		if (at == change)
			b.trigger.pull();
	};
	auto receive = [&](size_t size, int flags = 0) {
		data.fill(0);
		const ssize_t rc = recv(b.pair.server, data.data(), size, flags | MSG_DONTWAIT);

		saw << told(rc) << '"' << data.data() << "\" ";
	};

	if (in_line)
		ops::set_option(b.pair.server, SOL_SOCKET, SO_OOBINLINE, 1);
	pull(0);
	send_all(b.pair.client, reinterpret_cast<const unsigned char *>("abc"), 3);
	pull(1);
	saw << told(send(b.pair.client, "deU", 3, MSG_OOB)) << ' ';
	pull(2);
	send_all(b.pair.client, reinterpret_cast<const unsigned char *>("fgh"), 3);
	pull(3);
	pause(setup);
	pollfd entry{b.pair.server, POLLIN | POLLPRI, 0};
	poll(&entry, 1, 0);
	auto numbers = [&] {
		saw << number(b.pair.server, SIOCATMARK) << ',' << number(b.pair.server, FIONREAD)
		    << ' ';
	};
	saw << entry.revents << ' ';
	numbers();
	receive(2);
	numbers();
	receive(20);
	numbers();
	receive(1, MSG_OOB);
	receive(20);
	numbers();
	receive(1, MSG_OOB);
	receive(20);
	return saw.str();
}

std::string urgent_all(const Setup &setup, unsigned seed, bool in_line, int first)
{
	std::string saw;

	for (int change = first; change < 5; change++)
		saw += urgent(setup, seed, in_line, change) + "; ";
	return saw;
}

std::string urgent_data(const Setup &setup, unsigned seed)
{
	return urgent_all(setup, seed, false, 0);
}

std::string urgent_in_line(const Setup &setup, unsigned seed)
{
	return urgent_all(setup, seed, true, 0);
}

// the direction stays on TCP
std::string urgent_before(const Setup &setup, unsigned seed)
{
	return urgent_all(setup, seed, false, 2) + urgent_all(setup, seed, true, 2);
}

// a receive of no bytes says whether there are some
std::string nothing(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	std::array<char, 20> data{};
	auto ask = [&] {
		pause(setup);
		saw << told(recv(b.pair.server, data.data(), 0, MSG_DONTWAIT)) << ' '
		    << told(recv(b.pair.server, data.data(), 0, MSG_DONTWAIT | MSG_PEEK)) << ' ';
	};

	ask();
	send_pattern(b.pair.client, b.there, 0, 10);
	ask();
	b.trigger.pull();
	send_pattern(b.pair.client, b.there, 10, 10);
	ask();
	for (int i = 0; i < 2; i++) {
		saw << told(recv(b.pair.server, data.data(), 10, MSG_WAITALL)) << ' ';
		ask();
	}
	shutdown(b.pair.client, SHUT_WR);
	ask();
	return saw.str();
}

// a peer that has shut down both directions answers bytes with a reset
std::string shut_both_ways(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	Bytes sink(100);

	b.some_before();
	pause(setup);
	while (recv(b.pair.server, sink.data(), sink.size(), MSG_DONTWAIT) > 0)
		;
	saw << told(shutdown(b.pair.server, SHUT_RDWR)) << ' ';
	need(ready(b.pair.client, POLLRDHUP, 5000 * setup.slow), "news of the end");
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL)) << ' ';
	need(ready(b.pair.client, POLLERR, 5000 * setup.slow), "news of the reset");
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL)) << ' ';
	saw << told(recv(b.pair.server, sink.data(), 1, 0));
	return saw.str();
}

// ... also where bytes have changed over before
std::string shut_both_ways_late(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	Bytes data(3000);
	const size_t before = b.some_before();

	send_pattern(b.pair.client, b.there, before, data.size() - before);
	saw << told(recv(b.pair.server, data.data(), data.size(), MSG_WAITALL)) << ' ';
	saw << told(shutdown(b.pair.server, SHUT_WR)) << ' ';
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL)) << ' ';
	saw << told(recv(b.pair.server, data.data(), 1, 0)) << ' ';
	saw << told(shutdown(b.pair.server, SHUT_RD)) << ' ';
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL)) << ' ';
	need(ready(b.pair.client, POLLERR, 5000 * setup.slow), "news of the reset");
	saw << told(send(b.pair.client, "x", 1, MSG_NOSIGNAL));
	return saw.str();
}

std::string numbers(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	Bytes data(5000);
	const size_t before = b.some_before();
	auto reaches = [&](int fd, unsigned long request, int wanted) {
		wait_for(setup, fd, request, wanted);
		saw << number(fd, request) << ' ';
	};

	send_pattern(b.pair.client, b.there, before, 5000 - before);
	reaches(b.pair.server, FIONREAD, 5000);
	reaches(b.pair.client, SIOCOUTQ, 0);
	reaches(b.pair.client, SIOCOUTQNSD, 0);
	saw << told(recv(b.pair.server, data.data(), 20, MSG_PEEK)) << ' ';
	saw << told(recv(b.pair.server, data.data(), 1000, MSG_WAITALL)) << ' ';
	saw << number(b.pair.server, FIONREAD) << ' ';
	saw << told(recv(b.pair.server, nullptr, 999, MSG_TRUNC)) << ' ';
	saw << number(b.pair.server, FIONREAD) << ' ';
	shutdown(b.pair.client, SHUT_WR);
	saw << drain(b.pair.server, b.there, 1999);
	return saw.str();
}

std::string low_water(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	Bytes data(5000);

	need(ops::set_option(b.pair.server, SOL_SOCKET, SO_RCVLOWAT, 100), "SO_RCVLOWAT");
	for (size_t change = 0; change < 2; change++) {
		const size_t at = change * 100;

		send_pattern(b.pair.client, b.there, at, 60);
		saw << ready(b.pair.server, POLLIN, 50 * setup.slow) << ' ';
		if (!change)
			b.trigger.pull();
		std::thread late([&] {
			std::this_thread::sleep_for(50ms);
			send_pattern(b.pair.client, b.there, at + 60, 40);
		});
		saw << ready(b.pair.server, POLLIN, 5000 * setup.slow) << ' ';
		saw << told(recv(b.pair.server, data.data(), 200, 0)) << ' ';
		b.there.compare(data.data(), 100, at, "what came");
		late.join();
	}
	return saw.str();
}

// More may be asked for than the road holds: when it is full, what it has is enough, as TCP's
std::string low_water_full(const Setup &setup, unsigned seed)
{
	static constexpr size_t size = 2000000;
	Begin b(setup, seed);
	const size_t before = b.some_before();
	Bytes data(size);
	size_t got = 0;

	need(ops::set_option(b.pair.server, SOL_SOCKET, SO_RCVLOWAT, size / 2), "SO_RCVLOWAT");
	std::thread sender([&] {
		Bytes all(size);

		b.there.fill(all.data(), size, 0);
		(void)!send(b.pair.client, &all[before], size - before, MSG_NOSIGNAL);
		shutdown(b.pair.client, SHUT_WR);
	});
	while (got < size && ready(b.pair.server, POLLIN, 5000 * setup.slow)) {
		ssize_t rc = recv(b.pair.server, data.data(), 5000, MSG_PEEK);

		if (rc > 0)
			rc = recv(b.pair.server, data.data(), 65536, MSG_DONTWAIT);
		if (rc <= 0)
			break;
		b.there.compare(data.data(), rc, got, "what came");
		got += rc;
	}
	shutdown(b.pair.server, SHUT_RDWR);
	sender.join();
	return std::to_string(got);
}

// Who waits for more than is there learns that less is enough
std::string low_water_falls(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	ops::Fd set(epoll_create1(EPOLL_CLOEXEC));
	epoll_event event{EPOLLIN, {}};
	const size_t before = b.some_before();

	need(set >= 0, "epoll_create1");
	need(ops::set_option(b.pair.server, SOL_SOCKET, SO_RCVLOWAT, 1000), "SO_RCVLOWAT");
	send_pattern(b.pair.client, b.there, before, 100);
	wait_for(setup, b.pair.server, FIONREAD, int(before) + 100);
	need(!epoll_ctl(set, EPOLL_CTL_ADD, b.pair.server, &event), "epoll_ctl");
	saw << epoll_wait(set, &event, 1, 50) << ' ';
	std::thread late([&] {
		std::this_thread::sleep_for(50ms);
		ops::set_option(b.pair.server, SOL_SOCKET, SO_RCVLOWAT, 50);
	});
	saw << epoll_wait(set, &event, 1, 5000 * setup.slow);
	late.join();
	return saw.str();
}

// A page that comes when it is told to
class LatePage {
public:
	LatePage() : fd_(int(syscall(SYS_userfaultfd, O_CLOEXEC)))
	{
		uffdio_api api{};
		uffdio_register range{};

		need(fd_ >= 0, "userfaultfd");
		page_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		api.api = UFFD_API;
		range.range.start = reinterpret_cast<std::uintptr_t>(page_);
		range.range.len = size;
		range.mode = UFFDIO_REGISTER_MODE_MISSING;
		need(page_ != MAP_FAILED && !ioctl(fd_, UFFDIO_API, &api) &&
			     !ioctl(fd_, UFFDIO_REGISTER, &range),
		     "memory of a userfaultfd");
	}
	void *data() const
	{
		return page_;
	}
	// until somebody needs it
	void wait() const
	{
		uffd_msg message{};

		need(read(fd_, &message, sizeof(message)) == sizeof(message), "a fault");
	}
	void come()
	{
		fd_.close();
	}
	static constexpr size_t size = 4096;

private:
	ops::Fd fd_;
	void *page_;
};

// A recv() that does not wait for bytes waits for one that copies, whose rest it gets
std::string reader_copies(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	LatePage page;
	Bytes data(1000);
	ssize_t first = 0, second = 0, third = 0;
	std::atomic<int> done = 0;
	const size_t before = b.some_before();

	send_pattern(b.pair.client, b.there, before, 1000 - before);
	wait_for(setup, b.pair.server, FIONREAD, 1000);
	std::thread copies([&] { first = recv(b.pair.server, page.data(), 100, MSG_DONTWAIT); });
	page.wait();
	std::thread next([&] {
		second = recv(b.pair.server, data.data(), 300, MSG_DONTWAIT);
		done++;
	});
	std::thread peeks([&] {
		Bytes peeked(1000);

		third = recv(b.pair.server, peeked.data(), peeked.size(), MSG_PEEK | MSG_DONTWAIT);
		done++;
	});
	pause(setup);
	saw << done << ' ';
	page.come();
	copies.join();
	next.join();
	peeks.join();
	saw << first << ' ' << second << ' ' << (third == 900 || third == 600);
	if (second > 0)
		b.there.compare(data.data(), second, 100, "what came");
	return saw.str();
}

// ... and for none that waits
std::string reader_blocks(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	Bytes data(300000);
	char byte = 0;
	ssize_t rc = 0;
	const size_t before = b.some_before();

	send_pattern(b.pair.client, b.there, before, 100);
	same(before + 100, recv(b.pair.server, data.data(), before + 100, MSG_WAITALL), "recv");
	std::thread waiter(
		[&] { rc = recv(b.pair.server, data.data(), data.size(), MSG_WAITALL); });
	pause(setup);
	saw << told(recv(b.pair.server, &byte, 1, MSG_DONTWAIT)) << ' ';
	saw << told(recv(b.pair.server, &byte, 1, MSG_DONTWAIT | MSG_PEEK)) << ' ';
	send_pattern(b.pair.client, b.there, before + 100, data.size());
	waiter.join();
	saw << rc;
	b.there.compare(data.data(), data.size(), before + 100, "what came");
	return saw.str();
}

std::string times_out(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	const timeval limit{0, 200000};
	Bytes data(200000);

	const size_t before = b.some_before();
	need(!setsockopt(b.pair.server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
	     "SO_RCVTIMEO");
	need(!setsockopt(b.pair.client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)),
	     "SO_SNDTIMEO");
	if (before)
		saw << (recv(b.pair.server, data.data(), before, MSG_WAITALL) == ssize_t(before))
		    << ' ';
	else
		saw << "1 ";
	auto begin = Clock::now();
	saw << told(recv(b.pair.server, data.data(), 10, 0)) << ' ';
	saw << (Clock::now() - begin >= 100ms) << ' ';
	send_all(b.pair.client, data.data(), 5);
	begin = Clock::now();
	saw << told(recv(b.pair.server, data.data(), 10, MSG_WAITALL)) << ' ';
	saw << (Clock::now() - begin >= 100ms) << ' ';
	ssize_t rc;
	while ((rc = send(b.pair.client, data.data(), data.size(), MSG_NOSIGNAL)) > 0)
		;
	saw << told(rc);
	return saw.str();
}

std::string reconnects(const Setup &setup, unsigned seed)
{
	ops::Fd at = listener(setup);
	ops::Address there = ops::name_of(at), none;
	const Trigger trigger(setup);
	const Pattern pattern(seed, 0);
	ops::Fd client = connected(setup, at);
	std::string saw;

	none.storage.ss_family = AF_UNSPEC;
	none.size = sizeof(sockaddr_in);
	for (int i = 0; i < 3; i++) {
		ops::Fd server(accept(at, nullptr, nullptr));
		const size_t before = (seed + i * 7) % 30;

		trigger.wait();
		send_pattern(client, pattern, 0, before);
		trigger.pull();
		send_pattern(client, pattern, before, 3000);
		Bytes data(before + 3000);
		same(data.size(), recv(server, data.data(), data.size(), MSG_WAITALL), "recv");
		pattern.compare(data.data(), data.size(), 0, "what came");
		saw += told(connect(client, none.raw(), none.size)) + ' ';
		saw += told(recv(server, data.data(), 1, 0)) + ' ';
		saw += told(send(client, "x", 1, MSG_NOSIGNAL)) + ' ';
		need(!connect(client, there.raw(), there.size), "connect() again");
	}
	return saw;
}

// a child continues in the middle, of either end
std::string forks(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	const size_t before = b.some_before();

	auto child = [&](auto work) {
		const pid_t pid = fork();

		if (!pid) {
			try {
				work();
			} catch (const std::exception &error) {
				(void)!write(2, error.what(), std::strlen(error.what()));
				_exit(1);
			}
			_exit(0);
		}
		return pid;
	};
	// closed with data unread, it would be a reset
	Bytes back(before);
	(void)recv(b.pair.client, back.data(), before, before ? MSG_WAITALL : MSG_DONTWAIT);
	send_pattern(b.pair.client, b.there, before, 10000);
	const pid_t sender =
		child([&] { send_pattern(b.pair.client, b.there, before + 10000, 100000); });
	Bytes data(before + 5000);
	same(data.size(), recv(b.pair.server, data.data(), data.size(), MSG_WAITALL), "recv");
	b.there.compare(data.data(), data.size(), 0, "before the fork");
	const pid_t receiver = child([&] {
		b.pair.client.close();
		Bytes rest(60000);
		same(rest.size(), recv(b.pair.server, rest.data(), rest.size(), MSG_WAITALL),
		     "recv");
		b.there.compare(rest.data(), rest.size(), before + 5000, "in the child");
	});
	int status = 1;
	waitpid(receiver, &status, 0);
	same(0, status, "the receiving child");
	std::thread end([&] {
		int ended = 1;

		waitpid(sender, &ended, 0);
		send_pattern(b.pair.client, b.there, before + 110000, 10);
		b.pair.client.close();
	});
	std::string saw = drain(b.pair.server, b.there, before + 65000);
	end.join();
	return "all but " + std::to_string(before) + ": " +
	       (saw == std::to_string(before + 110010) + " then 0" ? "whole" : saw);
}

int pass_on(int fd)
{
	std::array<int, 2> ends{};

	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()), "socketpair");
	ops::Fd near(ends[0]), far(ends[1]);
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
	std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	need(sendmsg(near, &message, 0) == 1, "sendmsg");
	need(recvmsg(far, &message, 0) == 1, "recvmsg");
	rights = CMSG_FIRSTHDR(&message);
	need(rights, "a descriptor");
	if (rights)
		std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
	return fd;
}

std::string passes(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::string saw;

	send_pattern(b.pair.client, b.there, 0, 20);
	b.pair.client = ops::Fd(pass_on(b.pair.client));
	send_pattern(b.pair.client, b.there, 20, 20);
	b.trigger.pull();
	send_pattern(b.pair.client, b.there, 40, 2000);
	b.pair.server = ops::Fd(pass_on(b.pair.server));
	b.pair.client = ops::Fd(pass_on(b.pair.client));
	send_pattern(b.pair.client, b.there, 2040, 60);
	b.pair.client.close();
	return drain(b.pair.server, b.there);
}

// Records of several threads: whole, and those of a thread in their order, while the road changes
std::string records(const Setup &setup, unsigned seed)
{
	constexpr unsigned writers = 4, each = 2000;
	struct Record {
		unsigned writer, number;
		std::array<unsigned, 14> fill;
	};
	static_assert(sizeof(Record) == 64);
	Begin b(setup, seed);
	std::vector<std::thread> threads;
	std::array<unsigned, writers> next{};

	threads.reserve(writers + 1);
	for (unsigned writer = 0; writer < writers; writer++)
		threads.emplace_back([&, writer] {
			for (unsigned i = 0; i < each; i++) {
				Record record{writer, i, {}};

				record.fill.fill(writer * each + i);
				if (send(b.pair.client, &record, sizeof(record), MSG_NOSIGNAL) !=
				    sizeof(record))
					return;
			}
		});
	threads.emplace_back([&] {
		std::this_thread::sleep_for(std::chrono::microseconds(b.random() / 8 % 20000));
		b.trigger.pull();
	});
	std::string saw = "whole";
	for (unsigned i = 0; i < writers * each; i++) {
		Record record{};

		if (recv(b.pair.server, &record, sizeof(record), MSG_WAITALL) != sizeof(record)) {
			saw = "ends at " + std::to_string(i);
			break;
		}
		const bool good =
			record.writer < writers && record.number == next[record.writer] &&
			std::all_of(record.fill.begin(), record.fill.end(), [&](unsigned value) {
				return value == record.writer * each + record.number;
			});
		if (!good) {
			saw = "torn at " + std::to_string(i);
			break;
		}
		next[record.writer]++;
	}
	shutdown(b.pair.server, SHUT_RDWR);
	for (std::thread &thread : threads)
		thread.join();
	return saw;
}

// Several readers share the bytes; none is lost or read twice.
std::string readers(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::atomic<size_t> sum = 0, bytes = 0;
	std::vector<std::thread> threads;
	const Bytes data(300001, 3);

	threads.reserve(3);
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			Bytes some(1000);
			ssize_t rc;

			while ((rc = recv(b.pair.server, some.data(), some.size(), 0)) > 0) {
				bytes += rc;
				for (ssize_t at = 0; at < rc; at++)
					sum += some[at];
			}
		});
	send_all(b.pair.client, data.data(), 1000);
	b.trigger.pull();
	send_all(b.pair.client, data.data() + 1000, data.size() - 1000);
	shutdown(b.pair.client, SHUT_WR);
	for (std::thread &thread : threads)
		thread.join();
	return std::to_string(bytes) + " " + std::to_string(sum);
}

// a thread waits in recv() while the road changes
std::string reader_waits(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	Bytes data(3000);
	ssize_t rc = 0;

	std::thread waiter(
		[&] { rc = recv(b.pair.server, data.data(), data.size(), MSG_WAITALL); });
	send_pattern(b.pair.client, b.there, 0, 10);
	pause(setup);
	b.trigger.pull();
	pause(setup);
	send_pattern(b.pair.client, b.there, 10, 2990);
	waiter.join();
	same(3000, rc, "recv");
	b.there.compare(data.data(), data.size(), 0, "what came");
	return "whole";
}

// Bytes that TCP holds back at the change do not wait for its timer
std::string corked(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	Bytes data(3000);

	ops::set_option(b.pair.client, IPPROTO_TCP, TCP_CORK, 1);
	send_pattern(b.pair.client, b.there, 0, 10);
	b.trigger.pull();
	send_pattern(b.pair.client, b.there, 10, 10, MSG_MORE);
	ops::set_option(b.pair.client, IPPROTO_TCP, TCP_CORK, 0);
	send_pattern(b.pair.client, b.there, 20, 2980);
	same(3000, recv(b.pair.server, data.data(), data.size(), MSG_WAITALL), "recv");
	b.there.compare(data.data(), data.size(), 0, "what came");
	return "whole";
}

// The socket is its own peer.
std::string to_itself(const Setup &setup, unsigned seed)
{
	ops::Fd fd(socket(setup.base.v6() ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
	ops::Address at = setup.base;
	const Pattern pattern(seed, 0);
	std::ostringstream saw;

	need(fd >= 0 && !bind(fd, at.raw(), at.size), "bind");
	at = ops::name_of(fd);
	saw << told(connect(fd, at.raw(), at.size)) << ' ';
	send_pattern(fd, pattern, 0, 10000);
	shutdown(fd, SHUT_WR);
	saw << drain(fd, pattern);
	return saw.str();
}

std::string peek_offset(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	std::array<unsigned char, 64> data{};

	send_pattern(b.pair.client, b.there, 0, 20);
	b.trigger.pull();
	send_pattern(b.pair.client, b.there, 20, 20);
	pause(setup);
	saw << ops::set_option(b.pair.server, SOL_SOCKET, SO_PEEK_OFF, 0) << ' ';
	for (size_t i = 0; i < 3; i++) {
		const ssize_t rc = recv(b.pair.server, data.data(), 15, MSG_PEEK | MSG_DONTWAIT);

		saw << told(rc) << ':' << ops::option(b.pair.server, SOL_SOCKET, SO_PEEK_OFF)
		    << ' ';
		if (rc > 0)
			b.there.compare(data.data(), rc, i * 15, "peeked at an offset");
	}
	saw << told(recv(b.pair.server, data.data(), 25, MSG_WAITALL)) << ':'
	    << ops::option(b.pair.server, SOL_SOCKET, SO_PEEK_OFF) << ' ';
	saw << told(recv(b.pair.server, data.data(), 64, MSG_PEEK | MSG_DONTWAIT));
	return saw.str();
}

// what recvmsg() says that is left
std::string bytes_left(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	std::array<unsigned char, 64> data{};

	send_pattern(b.pair.client, b.there, 0, 20);
	b.trigger.pull();
	send_pattern(b.pair.client, b.there, 20, 20);
	pause(setup);
	saw << ops::set_option(b.pair.server, IPPROTO_TCP, TCP_INQ, 1) << ' ';
	for (size_t size : {5, 20, 15}) {
		iovec part{data.data(), size};
		alignas(cmsghdr) std::array<char, 64> control{};
		msghdr message{};
		message.msg_iov = &part;
		message.msg_iovlen = 1;
		message.msg_control = control.data();
		message.msg_controllen = control.size();
		saw << told(recvmsg(b.pair.server, &message, 0));
		const cmsghdr *header = CMSG_FIRSTHDR(&message);
		int left = -1;
		if (header && header->cmsg_type == TCP_CM_INQ)
			std::memcpy(&left, CMSG_DATA(header), sizeof(left));
		saw << ':' << left << ' ';
	}
	return saw.str();
}

// POLLOUT with a limit on what is not sent comes back when the reader has read
std::string not_sent_low(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	const Bytes data(3000);
	std::ostringstream saw;

	saw << ops::set_option(b.pair.client, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 5000) << ' ';
	for (int i = 0; i < 3000 && ready(b.pair.client, POLLOUT, 0); i++)
		if (send(b.pair.client, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
	b.trigger.pull();
	std::thread reader([&] {
		Bytes sink(100000);

		while (recv(b.pair.server, sink.data(), sink.size(), 0) > 0)
			;
	});
	saw << ready(b.pair.client, POLLOUT, 5000 * setup.slow);
	shutdown(b.pair.client, SHUT_RDWR);
	reader.join();
	return saw.str();
}

// The receiver's own memory in place of copies, where the kernel has pages to give
std::string zerocopy_receive(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	constexpr size_t page = 4096, pages = 16;
	void *map = mmap(nullptr, pages * page, PROT_READ, MAP_SHARED, b.pair.server, 0);
	size_t got = 0, before = b.some_before();

	need(map != MAP_FAILED, "mmap of a socket");
	send_pattern(b.pair.client, b.there, before, pages * page - before);
	shutdown(b.pair.client, SHUT_WR);
	while (got < pages * page) {
		tcp_zerocopy_receive ask{};
		socklen_t size = sizeof(ask);

		need(ready(b.pair.server, POLLIN, 5000 * setup.slow), "data");
		ask.address = reinterpret_cast<std::uintptr_t>(map);
		ask.length = pages * page;
		need(!getsockopt(b.pair.server, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &ask, &size),
		     "TCP_ZEROCOPY_RECEIVE");
		b.there.compare(static_cast<unsigned char *>(map), ask.length, got, "mapped");
		got += ask.length;
		Bytes rest(std::max<size_t>(ask.recv_skip_hint, 1));
		ssize_t rc = recv(b.pair.server, rest.data(), rest.size(), MSG_DONTWAIT);
		if (rc <= 0)
			continue;
		b.there.compare(rest.data(), rc, got, "copied");
		got += rc;
	}
	std::ostringstream saw;
	saw << drain(b.pair.server, b.there, got);
	tcp_zerocopy_receive ask{};
	socklen_t size = sizeof(ask);
	ask.address = reinterpret_cast<std::uintptr_t>(map);
	ask.length = page;
	saw << ' '
	    << told(getsockopt(b.pair.server, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &ask, &size));
	return saw.str();
}

// struct tcp_zerocopy_receive of linux/tcp.h, of which libc has the beginning
struct ZerocopyReceive {
	std::uint64_t address;
	std::uint32_t length, recv_skip_hint, inq;
	std::int32_t err;
	std::uint64_t copybuf_address;
	std::int32_t copybuf_len;
	std::uint32_t flags;
};

// What is less than a page is copied into a buffer that is large enough, or left to recv()
std::string zerocopy_copies(const Setup &setup, unsigned seed)
{
	Begin b(setup, seed);
	std::ostringstream saw;
	constexpr size_t page = 4096;
	void *map = mmap(nullptr, page, PROT_READ, MAP_SHARED, b.pair.server, 0);
	Bytes copied(100);
	size_t got = 0;
	auto ask = [&](int room) {
		ZerocopyReceive zc{};
		socklen_t size = sizeof(zc);

		zc.address = reinterpret_cast<std::uintptr_t>(map);
		zc.length = page;
		zc.copybuf_address = reinterpret_cast<std::uintptr_t>(copied.data());
		zc.copybuf_len = room;
		saw << told(getsockopt(b.pair.server, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &zc,
				       &size))
		    << ':' << zc.length << ',' << zc.recv_skip_hint << ',' << zc.copybuf_len << ','
		    << zc.inq << ',' << zc.err << ' ';
		if (zc.copybuf_len > 0) {
			b.there.compare(copied.data(), zc.copybuf_len, got, "copied");
			got += zc.copybuf_len;
		}
	};

	need(map != MAP_FAILED, "mmap of a socket");
	ask(10);
	send_pattern(b.pair.client, b.there, 0, 20);
	b.trigger.pull();
	send_pattern(b.pair.client, b.there, 20, 20);
	pause(setup);
	ask(0);
	ask(30);
	ask(50);
	ask(50);
	send_pattern(b.pair.client, b.there, 40, 20);
	pause(setup);
	ask(10);
	ask(20);
	return saw.str();
}

} // namespace

const std::vector<Scene> scenes{
	{"half_close", half_close},
	{"half_close_at_once", half_close_at_once},
	{"deaf", deaf},
	{"linger_zero", linger_zero},
	{"unread_data", unread_data},
	{"first_after_close", first_after_close},
	{"sender_waits", sender_waits},
	{"urgent_data", urgent_data, true},
	{"urgent_in_line", urgent_in_line, true},
	{"urgent_before", urgent_before},
	{"nothing", nothing},
	{"shut_both_ways", shut_both_ways},
	{"shut_both_ways_late", shut_both_ways_late},
	{"numbers", numbers},
	{"low_water", low_water},
	{"low_water_full", low_water_full},
	{"low_water_falls", low_water_falls},
	{"times_out", times_out},
	{"reconnects", reconnects},
	{"forks", forks},
	{"passes", passes},
	{"records", records},
	{"readers", readers},
	{"reader_waits", reader_waits},
	{"reader_copies", reader_copies},
	{"reader_blocks", reader_blocks},
	{"corked", corked},
	{"to_itself", to_itself},
	{"peek_offset", peek_offset},
	{"bytes_left", bytes_left},
	{"not_sent_low", not_sent_low},
	{"zerocopy_receive", zerocopy_receive},
	{"zerocopy_copies", zerocopy_copies},
};

} // namespace change
