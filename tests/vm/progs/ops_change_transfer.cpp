// SPDX-License-Identifier: GPL-2.0 OR MIT
// Transfers of ops_change: a sender and a receiver for each direction, each with a way of its own.
#include <algorithm>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <thread>

#include "ops_change.hpp"

namespace change {
namespace {

enum Sending {
	SEND_BLOCKS,
	SEND_EPOLL,
	SEND_EDGE,
	SEND_POLL,
	SEND_VECTOR,
	SEND_FILE,
	SEND_SPLICE,
	SENDINGS
};
enum Receiving {
	RECV_BLOCKS,
	RECV_WAITALL,
	RECV_PEEK,
	RECV_EPOLL,
	RECV_EDGE,
	RECV_EDGE_SHORT,
	RECV_SPLICE,
	RECEIVINGS
};
constexpr std::array<const char *, SENDINGS> sendings{
	"send", "send epoll", "send epoll ET", "send poll", "writev", "sendfile", "splice in"};
constexpr std::array<const char *, RECEIVINGS> receivings{
	"recv",          "recv WAITALL",  "recv PEEK", "recv epoll",
	"recv epoll ET", "recv ET short", "splice out"};

struct Plan {
	Sending sending;
	Receiving receiving;
	size_t size, chunk_out, chunk_in; // chunk 0: each call another one
	size_t change;                    // the sender pulls the trigger there
	Trigger::End change_of;
	int lowat;
	bool nodelay, cork, more;
	unsigned seed;
};

class Epoll {
public:
	Epoll(int fd, unsigned events) : set_(epoll_create1(EPOLL_CLOEXEC))
	{
		epoll_event event{events, {}};

		need(set_ >= 0, "epoll_create1");
		need(!epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
	}
	unsigned wait()
	{
		epoll_event event{};
		int rc;

		do {
			rc = epoll_wait(set_, &event, 1, -1);
		} while (rc < 0 && errno == EINTR);
		need(rc == 1, "epoll_wait");
		return event.events;
	}

private:
	ops::Fd set_;
};

class Chunks {
public:
	Chunks(size_t fixed, unsigned seed) : fixed_(fixed), random_(seed)
	{}
	size_t next(size_t left)
	{
		static constexpr std::array<size_t, 7> most{1, 7, 100, 1500, 9000, 66000, 200000};

		return std::min(left, fixed_ ? fixed_
					     : random_() % most[random_() / 8 % most.size()] + 1);
	}
	bool chance(unsigned percent)
	{
		return random_() / 8 % 100 < percent;
	}

private:
	size_t fixed_;
	Random random_;
};

// Sending *********************************************************************************

class Sender {
public:
	Sender(int fd, const Plan &plan, const Pattern &pattern, const Trigger &trigger,
	       size_t watched)
		: fd_(fd), plan_(plan), pattern_(pattern), trigger_(trigger),
		  place_(watch.place[watched]), chunks_(plan.chunk_out, plan.seed)
	{
		watch.what[watched] = sendings[plan.sending];
	}

	void run()
	{
		if (plan_.sending == SEND_FILE || plan_.sending == SEND_SPLICE)
			from_file();
		else
			from_memory();
		// one whose other end never opens would have no end
		if (plan_.change <= plan_.size)
			trigger_.pull();
		if (plan_.cork)
			ops::set_option(fd_, IPPROTO_TCP, TCP_CORK, 0);
		need(!shutdown(fd_, SHUT_WR), "shutdown");
	}

private:
	// the change is exactly at its byte: the call before it ends there
	size_t chunk()
	{
		size_t some = chunks_.next(plan_.size - sent_);

		if (sent_ == plan_.change)
			trigger_.pull(plan_.change_of);
		return sent_ < plan_.change ? std::min(some, plan_.change - sent_) : some;
	}
	void advance(size_t some)
	{
		sent_ += some;
		place_ = sent_;
	}

	ssize_t send_once(const unsigned char *data, size_t some, bool wait)
	{
		const int flags = MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT) |
				  (plan_.more && chunks_.chance(30) ? MSG_MORE : 0);

		if (plan_.sending != SEND_VECTOR)
			return send(fd_, data, some, flags);
		auto *from = const_cast<unsigned char *>(data);
		const size_t first = some / 3;
		std::array<iovec, 3> parts{iovec{from, first}, iovec{nullptr, 0},
					   iovec{from + first, some - first}};
		msghdr message{};
		message.msg_iov = parts.data();
		message.msg_iovlen = parts.size();
		return sendmsg(fd_, &message, flags);
	}

	void from_memory()
	{
		const bool edge = plan_.sending == SEND_EDGE;
		const bool epoll = plan_.sending == SEND_EPOLL || edge;
		const bool wait = !epoll && plan_.sending != SEND_POLL;
		Epoll set(fd_, EPOLLOUT | (edge ? unsigned(EPOLLET) : 0u));
		Bytes data(200000);
		bool told = false;

		while (sent_ < plan_.size) {
			const size_t some = chunk();
			ssize_t rc;

			if (epoll && !edge) {
				set.wait();
				told = true;
			} else if (plan_.sending == SEND_POLL) {
				told = ready(fd_, POLLOUT, -1);
			}
			pattern_.fill(data.data(), some, sent_);
			rc = send_once(data.data(), some, wait);
			if (rc < 0 && errno == EAGAIN && !wait) {
				need(!told, "EAGAIN after POLLOUT");
				if (edge)
					set.wait();
				continue;
			}
			need(rc > 0, "send");
			need(!wait || rc == ssize_t(some), "a send that blocks is whole");
			advance(rc);
		}
		if (plan_.change == plan_.size)
			trigger_.pull(plan_.change_of);
	}

	void from_file()
	{
		ops::Fd file(memfd_create("data", MFD_CLOEXEC));
		std::array<int, 2> ends{};
		Bytes data(plan_.size);

		pattern_.fill(data.data(), plan_.size, 0);
		need(write(file, data.data(), plan_.size) == ssize_t(plan_.size), "memfd");
		need(!pipe2(ends.data(), O_CLOEXEC), "pipe");
		ops::Fd out(ends[0]), in(ends[1]);
		off_t at = 0;
		while (sent_ < plan_.size) {
			size_t some = chunk();

			if (plan_.sending == SEND_FILE) {
				ssize_t rc = sendfile(fd_, file, &at, some);

				need(rc > 0, "sendfile");
				advance(rc);
				continue;
			}
			ssize_t moved =
				splice(file, &at, in, nullptr, std::min<size_t>(some, 60000), 0);
			need(moved > 0, "splice from a file");
			while (moved > 0) {
				ssize_t rc = splice(out, nullptr, fd_, nullptr, moved,
						    plan_.more ? SPLICE_F_MORE : 0);

				need(rc > 0, "splice into the socket");
				moved -= rc;
				advance(rc);
			}
		}
		if (plan_.change == plan_.size)
			trigger_.pull(plan_.change_of);
	}

	int fd_;
	const Plan &plan_;
	const Pattern &pattern_;
	const Trigger &trigger_;
	std::atomic<size_t> &place_;
	Chunks chunks_;
	size_t sent_ = 0;
};

// Receiving *******************************************************************************

class Receiver {
public:
	Receiver(int fd, const Plan &plan, const Pattern &pattern, size_t watched)
		: fd_(fd), plan_(plan), pattern_(pattern), place_(watch.place[watched]),
		  chunks_(plan.chunk_in, plan.seed + 77), data_(200000)
	{
		watch.what[watched] = receivings[plan.receiving];
	}

	void run()
	{
		switch (plan_.receiving) {
		case RECV_EPOLL:
		case RECV_EDGE:
		case RECV_EDGE_SHORT:
			by_events();
			break;
		case RECV_SPLICE:
			by_splice();
			break;
		default:
			blocking();
		}
		same(plan_.size, got_, "bytes before the end");
	}

private:
	size_t chunk()
	{
		return chunks_.next(data_.size());
	}
	void take(size_t some)
	{
		need(got_ + some <= plan_.size, "more than was sent");
		pattern_.compare(data_.data(), some, got_, receivings[plan_.receiving]);
		got_ += some;
		place_ = got_;
	}

	void blocking()
	{
		for (;;) {
			const size_t some = chunk();
			const bool all = plan_.receiving == RECV_WAITALL && chunks_.chance(60);
			ssize_t peeked = 0;

			if (plan_.receiving == RECV_PEEK && chunks_.chance(50)) {
				// more than the socket holds would never come
				peeked = recv(fd_, data_.data(), some,
					      MSG_PEEK | (some < 2000 && chunks_.chance(20)
								  ? MSG_WAITALL
								  : 0));
				need(peeked >= 0, "recv MSG_PEEK");
				pattern_.compare(data_.data(), peeked, got_, "MSG_PEEK");
			}
			ssize_t rc = recv(fd_, data_.data(), some, all ? MSG_WAITALL : 0);
			need(rc >= 0, "recv");
			if (!rc) {
				same(0, peeked, "peeked bytes that cannot be read");
				return;
			}
			need(rc >= peeked, "what was peeked at can be read");
			// only the end may cut it short
			if (all && rc < ssize_t(some))
				same(plan_.size, got_ + rc, "MSG_WAITALL");
			take(rc);
		}
	}

	void by_events()
	{
		const bool edge = plan_.receiving != RECV_EPOLL;
		Epoll set(fd_, EPOLLIN | EPOLLRDHUP | (edge ? unsigned(EPOLLET) : 0u));

		for (;;) {
			const unsigned events = set.wait();
			bool first = events & EPOLLIN;

			for (;;) {
				const size_t some = chunk();
				ssize_t rc = recv(fd_, data_.data(), some, MSG_DONTWAIT);

				if (!rc)
					return;
				if (rc < 0) {
					need(errno == EAGAIN, "recv");
					// an edge may be left over from what was read already
					need(!first || edge, "EAGAIN after POLLIN");
					break;
				}
				first = false;
				take(rc);
				if (!edge)
					break;
				// as programs do that save the call which answers EAGAIN
				if (plan_.receiving == RECV_EDGE_SHORT && rc < ssize_t(some) &&
				    !(events & EPOLLRDHUP))
					break;
			}
		}
	}

	void by_splice()
	{
		std::array<int, 2> ends{};

		need(!pipe2(ends.data(), O_CLOEXEC), "pipe");
		ops::Fd out(ends[0]), in(ends[1]);
		for (;;) {
			ssize_t moved = splice(fd_, nullptr, in, nullptr,
					       std::min<size_t>(chunk(), 60000), 0);

			need(moved >= 0, "splice out of the socket");
			if (!moved)
				return;
			for (ssize_t at = 0; at < moved;) {
				ssize_t rc = read(out, data_.data() + at, moved - at);

				need(rc > 0, "read of the pipe");
				at += rc;
			}
			take(moved);
		}
	}

	int fd_;
	const Plan &plan_;
	const Pattern &pattern_;
	std::atomic<size_t> &place_;
	Chunks chunks_;
	Bytes data_;
	size_t got_ = 0;
};

Plan plan_of(Random &random, bool with_trigger)
{
	static constexpr std::array<size_t, 8> sizes{0,     1,      64,     3000,
						     20000, 100000, 400000, 1000000};
	static constexpr std::array<size_t, 6> chunks{0, 0, 0, 64, 65536, 200000};
	auto any = [&](size_t n) { return random() / 8 % n; };
	Plan plan{};

	plan.sending = Sending(any(SENDINGS));
	plan.receiving = Receiving(any(RECEIVINGS));
	plan.size = any(sizes[any(sizes.size())] + 1);
	plan.chunk_out = any(20) ? chunks[any(chunks.size())] : 1;
	plan.chunk_in = any(20) ? chunks[any(chunks.size())] : 1;
	// so that a round has an end
	if (plan.chunk_out == 1 || plan.chunk_in == 1)
		plan.size = std::min<size_t>(plan.size, 5000);
	plan.change = with_trigger
			      ? any(any(2) ? std::min<size_t>(plan.size, 300) + 1 : plan.size + 1)
			      : plan.size + 1;
	plan.change_of = any(3) ? Trigger::both : any(2) ? Trigger::active : Trigger::passive;
	// TCP itself does not wake a receive that waits for more, with fewer bytes than that unread
	plan.lowat = plan.receiving < RECV_EPOLL || plan.receiving > RECV_EDGE_SHORT || any(3)
			     ? 1
			     : int(any(2) ? any(20) + 1 : any(30000) + 1);
	plan.nodelay = !any(4);
	plan.cork = !any(8);
	plan.more = !any(4);
	plan.seed = random();
	return plan;
}

void run_all(std::vector<std::thread> &threads, std::exception_ptr &error)
{
	for (std::thread &thread : threads)
		thread.join();
	if (error)
		std::rethrow_exception(error);
}

void move_both(const Setup &setup, Pair &pair, const std::array<Plan, 2> &plans, unsigned seed)
{
	const std::array<Pattern, 2> patterns{Pattern(seed, 0), Pattern(seed, 1)};
	const std::array<int, 2> from{pair.client, pair.server}, to{pair.server, pair.client};
	const Trigger trigger(setup);
	std::vector<std::thread> threads;
	std::exception_ptr error;
	std::atomic<bool> has_error = false;
	auto guarded = [&](auto work) {
		threads.emplace_back([&, work] {
			try {
				work();
			} catch (...) {
				if (!has_error.exchange(true))
					error = std::current_exception();
				// the other threads end
				shutdown(pair.client, SHUT_RDWR);
				shutdown(pair.server, SHUT_RDWR);
			}
		});
	};

	threads.reserve(4);
	for (size_t i = 0; i < 2; i++) {
		const Plan &plan = plans[i];

		if (plan.lowat > 1)
			need(ops::set_option(to[i], SOL_SOCKET, SO_RCVLOWAT, plan.lowat),
			     "SO_RCVLOWAT");
		if (plan.nodelay)
			ops::set_option(from[i], IPPROTO_TCP, TCP_NODELAY, 1);
		if (plan.cork)
			ops::set_option(from[i], IPPROTO_TCP, TCP_CORK, 1);
	}
	for (size_t i = 0; i < 2; i++) {
		guarded([&, i] { Sender(from[i], plans[i], patterns[i], trigger, 2 * i).run(); });
		guarded([&, i] { Receiver(to[i], plans[i], patterns[i], 2 * i + 1).run(); });
	}
	run_all(threads, error);
}

} // namespace

void transfer(const Setup &setup, unsigned seed)
{
	Random random(seed * 7919 + 1);
	const Trigger trigger(setup);
	std::array<Plan, 2> plans{plan_of(random, trigger.there()),
				  plan_of(random, trigger.there())};
	Pair pair = connect_pair(setup);

	trigger.wait();
	if (setup.verbose)
		for (const Plan &plan : plans)
			std::printf(
				"%zu bytes, %s %zu, %s %zu, change at %zu of %d, lowat %d%s%s%s\n",
				plan.size, sendings[plan.sending], plan.chunk_out,
				receivings[plan.receiving], plan.chunk_in, plan.change,
				int(plan.change_of), plan.lowat, plan.nodelay ? ", nodelay" : "",
				plan.cork ? ", cork" : "", plan.more ? ", more" : "");
	move_both(setup, pair, plans, seed);
}

void change_at(const Setup &setup, size_t at, unsigned seed)
{
	static constexpr size_t rest = 500;
	const Trigger trigger(setup);
	const std::array<Pattern, 2> patterns{Pattern(seed, 0), Pattern(seed, 1)};
	Pair pair = connect_pair(setup);
	const std::array<int, 2> from{pair.client, pair.server}, to{pair.server, pair.client};
	Bytes data(at + rest), got(at + rest);

	trigger.wait();
	watch.what[0] = "change_at";
	// what lies before is read before, or after, or a part of it
	const size_t early = at ? Random(seed + at)() % (at + 1) : 0;
	for (size_t i = 0; i < 2; i++) {
		patterns[i].fill(data.data(), data.size(), 0);
		send_all(from[i], data.data(), at);
		if (early)
			same(early, recv(to[i], got.data(), early, MSG_WAITALL),
			     "what is read before");
	}
	trigger.pull();
	for (size_t i = 0; i < 2; i++) {
		patterns[i].fill(data.data(), data.size(), 0);
		patterns[i].fill(got.data(), early, 0);
		send_all(from[i], data.data() + at, rest);
		same(got.size() - early,
		     recv(to[i], got.data() + early, got.size() - early, MSG_WAITALL), "the rest");
		patterns[i].compare(got.data(), got.size(), 0,
				    i ? "to the client" : "to the server");
	}
	for (size_t i = 0; i < 2; i++) {
		need(!shutdown(from[i], SHUT_WR), "shutdown");
		same(0, recv(to[i], got.data(), 1, 0), "the end");
	}
}

} // namespace change
