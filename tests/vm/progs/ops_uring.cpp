// SPDX-License-Identifier: GPL-2.0 OR MIT
// Stream sockets of the offload protocol switch by io_uring, and sends without copies:
//
//	ops_uring FAMILY PROTOCOL WINNER [ADDRESS]
//
// FAMILY and PROTOCOL are given to socket(). Connections within this program are of protocol
// WINNER: TCP's, whatever carries their bytes. Each check holds on TCP, too; the last line counts
// them.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <liburing.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "ops_sock.hpp"

namespace {

using namespace std::chrono_literals;
using ops::Address;
using ops::Fd;

int family, protocol, winner;
Address base;

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn]] void failed(int line, std::string_view what, long wanted, long got)
{
	throw Failure("line " + std::to_string(line) + ": " + std::string(what) + ": wanted " +
		      std::to_string(wanted) + ", got " + std::to_string(got));
}

void same(long wanted, long got, std::string_view what, int line = __builtin_LINE())
{
	if (wanted != got)
		failed(line, what, wanted, got);
}

void need(bool ok, std::string_view what, int line = __builtin_LINE())
{
	if (!ok)
		failed(line, what, 0, -errno);
}

struct Answer {
	std::uint64_t tag;
	int result;
	unsigned flags;
};

class Ring {
public:
	explicit Ring(unsigned entries = 64)
	{
		int rc = io_uring_queue_init(entries, &ring_, 0);

		if (rc)
			throw Failure("io_uring_queue_init: " + std::string(std::strerror(-rc)));
	}
	Ring(const Ring &) = delete;
	Ring &operator=(const Ring &) = delete;
	~Ring()
	{
		io_uring_queue_exit(&ring_);
	}

	io_uring_sqe *entry(std::uint64_t tag)
	{
		io_uring_sqe *sqe = io_uring_get_sqe(&ring_);

		need(sqe, "a submission entry");
		// prep functions clear the tag
		tags_.emplace_back(sqe, tag);
		return sqe;
	}
	void submit()
	{
		for (auto [sqe, tag] : tags_)
			io_uring_sqe_set_data64(sqe, tag);
		same(static_cast<long>(tags_.size()), io_uring_submit(&ring_), "io_uring_submit");
		tags_.clear();
	}
	Answer answer(std::chrono::seconds limit = 20s)
	{
		__kernel_timespec time{limit.count(), 0};
		io_uring_cqe *cqe = nullptr;
		int rc = io_uring_wait_cqe_timeout(&ring_, &cqe, &time);

		if (rc)
			throw Failure("no completion: " + std::string(std::strerror(-rc)));
		Answer got{cqe->user_data, cqe->res, cqe->flags};
		io_uring_cqe_seen(&ring_, cqe);
		return got;
	}
	// one operation, and its result
	int run(const std::function<void(io_uring_sqe *)> &prepare)
	{
		prepare(entry(1));
		submit();
		return answer().result;
	}
	io_uring *raw()
	{
		return &ring_;
	}

private:
	io_uring ring_{};
	std::vector<std::pair<io_uring_sqe *, std::uint64_t>> tags_;
};

Fd listener()
{
	Fd fd(socket(family, SOCK_STREAM, protocol));
	Address at = base;

	need(fd >= 0, "socket");
	need(!bind(fd, at.raw(), at.size), "bind");
	need(!listen(fd, 16), "listen");
	return fd;
}

// A connection that the ring makes: socket, connect and accept are its operations.
struct Pair {
	Fd at = listener(), client, server;

	explicit Pair(Ring &ring)
	{
		Address there = ops::name_of(at);

		client = Fd(ring.run([](io_uring_sqe *sqe) {
			io_uring_prep_socket(sqe, family, SOCK_STREAM, protocol, 0);
		}));
		need(client >= 0, "IORING_OP_SOCKET");
		io_uring_prep_accept(ring.entry(1), at, nullptr, nullptr, SOCK_CLOEXEC);
		io_uring_prep_connect(ring.entry(2), client, there.raw(), there.size);
		ring.submit();
		for (int i = 0; i < 2; i++) {
			Answer got = ring.answer();

			if (got.tag == 1)
				server = Fd(got.result);
			else
				same(0, got.result, "IORING_OP_CONNECT");
		}
		need(server >= 0, "IORING_OP_ACCEPT");
		for (int fd : {int(client), int(server)})
			same(winner, ops::option(fd, SOL_SOCKET, SO_PROTOCOL), "SO_PROTOCOL");
	}
};

std::vector<unsigned char> pattern(size_t size)
{
	std::vector<unsigned char> data(size);
	unsigned state = 1;

	for (auto &byte : data)
		byte = (state = state * 1103515245 + 12345) >> 16;
	return data;
}

// Checks **************************************************************************************

void check_names()
{
	Ring ring;
	Pair pair(ring);

	need(ops::name_of(pair.server).text() == ops::name_of(pair.at).text(), "names");
	same(0, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_shutdown(sqe, pair.client, SHUT_WR);
	}),
	     "IORING_OP_SHUTDOWN");
	char byte = 0;
	same(0, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_recv(sqe, pair.server, &byte, 1, 0);
	}),
	     "the end");
	same(0,
	     ring.run([&](io_uring_sqe *sqe) { io_uring_prep_close(sqe, pair.client.release()); }),
	     "IORING_OP_CLOSE");
}

void check_refusals()
{
	Ring ring;
	Fd at = listener(), fresh(socket(family, SOCK_STREAM, protocol));
	Address there = ops::name_of(at);
	char byte = 0;

	same(-ENOTCONN,
	     ring.run([&](io_uring_sqe *sqe) { io_uring_prep_recv(sqe, fresh, &byte, 1, 0); }),
	     "recv of a new one");
	same(-EINVAL, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_accept(sqe, fresh, nullptr, nullptr, 0);
	}),
	     "accept of a new one");
	at.close();
	same(-ECONNREFUSED, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_connect(sqe, fresh, there.raw(), there.size);
	}),
	     "nobody listens");
}

// A linked chain of sends on one side; one receive after the other on the other.
void check_integrity()
{
	constexpr size_t size = 4 << 20, part = 200000;
	Ring ring;
	Pair pair(ring);
	auto data = pattern(size);
	std::vector<unsigned char> got(size);
	size_t sent = 0, received = 0;
	bool sending = false;

	auto receive = [&] {
		io_uring_prep_recv(ring.entry(2), pair.server, got.data() + received,
				   std::min<size_t>(size - received, 70000), 0);
	};
	receive();
	while (received < size) {
		if (!sending && sent < size) {
			size_t first = std::min(part, size - sent),
			       second = std::min(part, size - sent - first);
			io_uring_sqe *sqe = ring.entry(1);

			io_uring_prep_send(sqe, pair.client, data.data() + sent, first,
					   MSG_WAITALL | MSG_NOSIGNAL);
			if (second) {
				sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
				io_uring_prep_send(ring.entry(1), pair.client,
						   data.data() + sent + first, second,
						   MSG_WAITALL | MSG_NOSIGNAL);
			}
			sending = true;
			sent += first + second;
		}
		ring.submit();
		Answer answer = ring.answer();
		need(answer.result > 0, answer.tag == 1 ? "send" : "recv");
		if (answer.tag == 1) {
			sending = false;
			continue;
		}
		received += answer.result;
		if (received < size)
			receive();
	}
	need(got == data, "the bytes");
}

void check_vectors()
{
	Ring ring;
	Pair pair(ring);
	std::string first = "abc", second = "defgh";
	std::array<iovec, 2> from{iovec{first.data(), 3}, iovec{second.data(), 5}};
	msghdr message{};

	message.msg_iov = from.data();
	message.msg_iovlen = from.size();
	same(8, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_sendmsg(sqe, pair.client, &message, 0);
	}),
	     "sendmsg");
	std::array<char, 4> left{}, right{};
	std::array<iovec, 2> to{iovec{left.data(), 4}, iovec{right.data(), 4}};
	message.msg_iov = to.data();
	same(8, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_recvmsg(sqe, pair.server, &message, MSG_WAITALL);
	}),
	     "recvmsg");
	need(!std::memcmp(left.data(), "abcd", 4) && !std::memcmp(right.data(), "efgh", 4),
	     "the bytes");
	same(4, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_write(sqe, pair.client, "wxyz", 4, 0);
	}),
	     "write");
	same(4, ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_read(sqe, pair.server, left.data(), 4, 0);
	}),
	     "read");
}

void check_multishot()
{
	constexpr int clients = 5, buffers = 16;
	constexpr std::size_t room = 128;
	Ring ring;
	Fd at = listener();
	Address there = ops::name_of(at);
	std::array<Fd, clients> client, server;
	std::vector<char> memory(buffers * room);

	io_uring_prep_multishot_accept(ring.entry(7), at, nullptr, nullptr, 0);
	ring.submit();
	for (int i = 0; i < clients; i++) {
		client[i] = Fd(socket(family, SOCK_STREAM, protocol));
		need(!connect(client[i], there.raw(), there.size), "connect");
		Answer got = ring.answer();
		need(got.result >= 0, "multishot accept");
		need(got.flags & IORING_CQE_F_MORE, "more follow");
		server[i] = Fd(got.result);
	}
	same(
		buffers,
		[&] {
			int rc = ring.run([&](io_uring_sqe *sqe) {
				io_uring_prep_provide_buffers(sqe, memory.data(), room, buffers, 3,
							      0);
			});
			return rc < 0 ? rc : buffers;
		}(),
		"buffers");
	io_uring_sqe *sqe = ring.entry(8);
	io_uring_prep_recv_multishot(sqe, server[0], nullptr, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 3;
	ring.submit();
	for (int i = 0; i < 4; i++) {
		same(10, send(client[0], "0123456789", 10, 0), "send");
		Answer got = ring.answer();
		same(10, got.result, "multishot receive");
		need(got.flags & IORING_CQE_F_BUFFER, "a buffer");
		need(!std::memcmp(&memory[(got.flags >> IORING_CQE_BUFFER_SHIFT) * room],
				  "0123456789", 10),
		     "the bytes");
	}
	shutdown(client[0], SHUT_WR);
	Answer last = ring.answer();
	same(0, last.result, "the end");
	need(!(last.flags & IORING_CQE_F_MORE), "no more");
}

void check_cancel()
{
	Ring ring;
	Pair pair(ring);
	char byte = 0;

	io_uring_prep_recv(ring.entry(5), pair.server, &byte, 1, 0);
	ring.submit();
	std::this_thread::sleep_for(50ms);
	io_uring_prep_cancel64(ring.entry(6), 5, 0);
	ring.submit();
	for (int i = 0; i < 2; i++) {
		Answer got = ring.answer();
		same(got.tag == 5 ? -ECANCELED : 0, got.result, got.tag == 5 ? "recv" : "cancel");
	}
	// a time limit linked to an operation
	__kernel_timespec limit{0, 50000000};
	io_uring_sqe *sqe = ring.entry(5);
	io_uring_prep_accept(sqe, pair.at, nullptr, nullptr, 0);
	sqe->flags |= IOSQE_IO_LINK;
	io_uring_prep_link_timeout(ring.entry(6), &limit, 0);
	ring.submit();
	for (int i = 0; i < 2; i++) {
		Answer got = ring.answer();
		same(got.tag == 5 ? -ECANCELED : -ETIME, got.result,
		     got.tag == 5 ? "accept" : "its limit");
	}
	// nothing was taken by what was cancelled
	same(1, send(pair.client, "x", 1, 0), "send");
	same(1, ring.run([&](io_uring_sqe *s) { io_uring_prep_recv(s, pair.server, &byte, 1, 0); }),
	     "recv");
	same('x', byte, "the byte");
}

void check_poll()
{
	Ring ring;
	Pair pair(ring);

	io_uring_prep_poll_add(ring.entry(5), pair.server, POLLIN);
	ring.submit();
	std::this_thread::sleep_for(20ms);
	same(1, send(pair.client, "x", 1, 0), "send");
	need(ring.answer().result & POLLIN, "POLLIN");
	pair.client.close();
	char byte = 0;
	same(1, recv(pair.server, &byte, 1, 0), "recv");
	need(ring.run([&](io_uring_sqe *sqe) {
		io_uring_prep_poll_add(sqe, pair.server, POLLRDHUP);
	}) & POLLRDHUP,
	     "POLLRDHUP");
}

void check_splice()
{
	Ring ring;
	Pair pair(ring);
	std::array<int, 2> ends{};

	need(!pipe(ends.data()), "pipe");
	Fd out(ends[0]), in(ends[1]);
	auto data = pattern(30000);
	same(30000, write(in, data.data(), data.size()), "write");
	size_t moved = 0;
	while (moved < data.size()) {
		int rc = ring.run([&](io_uring_sqe *sqe) {
			io_uring_prep_splice(sqe, out, -1, pair.client, -1, data.size() - moved, 0);
		});
		need(rc > 0, "splice into the socket");
		moved += rc;
	}
	std::vector<unsigned char> got(data.size());
	moved = 0;
	while (moved < data.size()) {
		int rc = ring.run([&](io_uring_sqe *sqe) {
			io_uring_prep_splice(sqe, pair.server, -1, in, -1, data.size() - moved, 0);
		});
		need(rc > 0, "splice out of the socket");
		need(read(out, got.data() + moved, rc) == rc, "read");
		moved += rc;
	}
	need(got == data, "the bytes");
}

// A program that ends with operations under way leaves nothing.
void check_abandoned()
{
	char byte = 0;

	for (int i = 0; i < 20; i++) {
		Ring ring;
		Pair pair(ring);

		io_uring_prep_recv(ring.entry(5), pair.server, &byte, 1, 0);
		io_uring_prep_accept(ring.entry(6), pair.at, nullptr, nullptr, 0);
		ring.submit();
	}
}

// TCP sends without copies: MSG_ZEROCOPY and IORING_OP_SEND_ZC. Another protocol refuses the option
// (the core knows TCP alone), takes the flag as TCP does without the option, and copies.
void check_zerocopy()
{
	constexpr size_t size = 1 << 20;
	Ring ring;
	Pair pair(ring);
	auto data = pattern(size);
	std::vector<unsigned char> got(size);
	auto receive = [&] {
		size_t at = 0;

		while (at < size) {
			ssize_t some = recv(pair.server, got.data() + at, size - at, 0);

			if (some <= 0)
				break;
			at += some;
		}
	};
	bool able = ops::set_option(pair.client, SOL_SOCKET, SO_ZEROCOPY, 1);
	same(winner == IPPROTO_TCP, able, "SO_ZEROCOPY");
	std::thread reader(receive);
	size_t sent = 0;
	unsigned sends = 0;
	while (sent < size) {
		ssize_t some = send(pair.client, data.data() + sent, size - sent,
				    MSG_ZEROCOPY | MSG_NOSIGNAL);

		if (some <= 0) {
			shutdown(pair.client, SHUT_RDWR);
			break;
		}
		sent += some;
		sends++;
	}
	reader.join();
	same(size, sent, "sent");
	need(got == data, "the bytes");
	// the error queue reports each send
	for (unsigned told = 0; able && told < sends;) {
		std::array<char, 256> control{};
		msghdr message{};
		pollfd entry{pair.client, 0, 0};

		message.msg_control = control.data();
		message.msg_controllen = control.size();
		same(1, poll(&entry, 1, 10000), "poll for POLLERR");
		need(recvmsg(pair.client, &message, MSG_ERRQUEUE) == 0, "MSG_ERRQUEUE");
		cmsghdr *header = CMSG_FIRSTHDR(&message);
		need(header && header->cmsg_level == SOL_IP && header->cmsg_type == IP_RECVERR,
		     "IP_RECVERR");
		sock_extended_err error{};
		std::memcpy(&error, CMSG_DATA(header), sizeof(error));
		same(SO_EE_ORIGIN_ZEROCOPY, error.ee_origin, "origin");
		same(told, error.ee_info, "the first send that it tells of");
		told = error.ee_data + 1;
	}
	// by the ring
	std::thread again(receive);
	io_uring_prep_send_zc(ring.entry(9), pair.client, data.data(), size,
			      MSG_WAITALL | MSG_NOSIGNAL, 0);
	ring.submit();
	Answer answer = ring.answer();
	if (able) {
		same(size, answer.result, "IORING_OP_SEND_ZC");
		if (answer.flags & IORING_CQE_F_MORE)
			need(ring.answer().flags & IORING_CQE_F_NOTIF, "its notification");
	} else {
		same(-EOPNOTSUPP, answer.result, "IORING_OP_SEND_ZC");
		(void)shutdown(pair.client, SHUT_WR);
	}
	again.join();
	need(!able || got == data, "the bytes");
}

struct Check {
	const char *name;
	void (*run)();
};

constexpr std::array checks{
	Check{"names", check_names},         Check{"refusals", check_refusals},
	Check{"integrity", check_integrity}, Check{"vectors", check_vectors},
	Check{"multishot", check_multishot}, Check{"cancel", check_cancel},
	Check{"poll", check_poll},           Check{"splice", check_splice},
	Check{"abandoned", check_abandoned}, Check{"zerocopy", check_zerocopy},
};

} // namespace

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;

	auto address = ops::parse(argc > 4 ? argv[4] : "127.0.0.1");
	if (argc < 4 || !address) {
		std::fprintf(stderr, "usage: %s FAMILY PROTOCOL WINNER [ADDRESS]\n", argv[0]);
		return 2;
	}
	family = std::atoi(argv[1]);
	protocol = std::atoi(argv[2]);
	winner = std::atoi(argv[3]);
	base = *address;
	signal(SIGPIPE, SIG_IGN);
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	for (const Check &check : checks) {
		try {
			check.run();
			passed++;
		} catch (const std::exception &error) {
			std::printf("%s: %s\n", check.name, error.what());
			failed++;
		}
	}
	std::printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
