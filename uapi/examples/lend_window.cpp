/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * lend_window -l ADDRESS:PORT		server: lends one client a part of its memory
 * lend_window ADDRESS:PORT TEXT		client: writes the text there
 *
 * The server lends the memory through a memory window until the client returns it. The client
 * asks with a message, because a window can be bound only when the connection is established.
 *
 * The server posts its receives to a shared receive queue, as a server with many clients
 * would. An asynchronous event tells it to post more of them.
 *
 * g++ -std=c++20 lend_window.cpp $(pkg-config --cflags --libs krdma)
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <arpa/inet.h>
#include <endian.h>

#include <krdma/krdma.hpp>

namespace {

using namespace std::chrono_literals;
namespace access = krdma::access;

/* the server's answer, in network byte order */
struct Loan {
	std::uint64_t address;
	std::uint32_t length;
	std::uint32_t stag;
};

constexpr std::uint32_t message_size = 64;
constexpr std::size_t first = 1000; /* offset of the lent bytes */
constexpr std::uint32_t length = 200;
constexpr std::size_t receives = 3;

/* Wait for the next completion, which must be of the request with that id. */
krdma::Completion next(const krdma::CompletionQueue &cq, std::uint64_t id)
{
	const std::optional<krdma::Completion> done = cq.wait(5s);

	if (!done)
		throw std::runtime_error{"nothing comes"};
	if (!done->ok())
		throw std::runtime_error{std::string{done->status_text()}};
	if (done->id() != id)
		throw std::runtime_error{"another request completed"};
	return *done;
}

/* Server ******************************************************************* */

enum ServerRequest : std::uint64_t { message, bind, answer };

void serve(const krdma::Address &address)
{
	const krdma::Session session;
	const krdma::Context context{session.find_local(address)};
	const krdma::ProtectionDomain pd{context};
	/* two queues: an answer may arrive before the message that it answers is complete here */
	const krdma::CompletionQueue sends{context};
	const krdma::CompletionQueue arrivals{context};
	/* raise an event when fewer than two receives are left */
	const krdma::SharedReceiveQueue shared{pd, {.max_wr = receives, .limit = 2}};
	const krdma::QueuePair qp{pd, sends, arrivals, {.receives = &shared}};

	std::array<std::byte, receives * message_size> messages{};
	const krdma::MemoryRegion inbox{pd, messages, access::local_write};
	for (std::size_t i = 0; i < receives; i++)
		shared.post(message, inbox.slice(i * message_size, message_size));

	/* The peer has no right to the region. The window will give rights to a part of it. */
	std::array<char, 4096> memory{};
	const krdma::MemoryRegion region{pd, std::as_writable_bytes(std::span{memory}),
					 access::local_write | access::window_bind};
	const krdma::MemoryWindow window{pd};

	const krdma::Listener listener{context, address};
	std::printf("listening on %s\n", listener.address().to_string().c_str());
	std::fflush(stdout);
	krdma::ConnectionRequest request = listener.wait().value();
	krdma::Connection connection = request.accept(qp);
	connection.established(5s);
	(void)next(arrivals, message);

	/* the peer addresses the window like the region, from part.address on */
	const krdma::Slice part = region.slice(first, length);
	qp.bind(bind, window, region, part, access::remote_write);
	(void)next(sends, bind);
	const Loan loan{htobe64(part.address), htonl(part.length), htonl(window.stag())};
	std::array<std::byte, sizeof(loan)> bytes{};
	std::memcpy(bytes.data(), &loan, sizeof(loan));
	const krdma::MemoryRegion outbox{pd, bytes, 0};
	qp.send(answer, outbox.slice());
	(void)next(sends, answer);

	/* The client's last message invalidates the window, so the client writes no more. */
	const krdma::Completion back = next(arrivals, message);
	if (back.invalidated() != window.stag())
		throw std::runtime_error{"the window was not given back"};
	std::printf("the client wrote '%.*s'\n", static_cast<int>(length), &memory[first]);

	const std::optional<krdma::Event> event = shared.events().wait(5s);
	if (!event || event->async() != krdma::AsyncCode::srq_limit_reached)
		throw std::runtime_error{"no event of the receives"};
	shared.post(message, inbox.slice(0, message_size));
	shared.post(message, inbox.slice(message_size, message_size));
	shared.set_limit(2);
	std::printf("receives ran low, and were posted again\n");
	(void)connection.closed(5s);
}

/* Client ******************************************************************* */

enum ClientRequest : std::uint64_t { loan_comes, asked, written, given_back };

void borrow(const krdma::Address &peer, std::string_view text)
{
	const krdma::Session session;
	const krdma::Context context{session.find_remote(peer)};
	const krdma::ProtectionDomain pd{context};
	const krdma::CompletionQueue sends{context};
	const krdma::CompletionQueue arrivals{context};
	const krdma::QueuePair qp{pd, sends, arrivals};
	std::array<std::byte, 4096> memory{};
	const krdma::MemoryRegion region{pd, memory, access::local_write};
	Loan loan{};

	qp.receive(loan_comes, region.slice(0, sizeof(loan)));
	krdma::Connection connection = krdma::Connection::connect(qp, peer);
	connection.established(5s);
	/* a message without data */
	qp.send(asked, {});
	(void)next(sends, asked);
	(void)next(arrivals, loan_comes);
	std::memcpy(&loan, memory.data(), sizeof(loan));

	const krdma::Remote there{be64toh(loan.address), ntohl(loan.stag)};
	if (text.size() > std::min<std::size_t>(ntohl(loan.length), memory.size()))
		throw std::runtime_error{"the text is too long"};
	std::memcpy(memory.data(), text.data(), text.size());
	qp.write(written, region.slice(0, static_cast<std::uint32_t>(text.size())), there);
	/* This message arrives after the written data. It invalidates the window. */
	qp.send_invalidate(given_back, {}, there.stag);
	(void)next(sends, written);
	(void)next(sends, given_back);
	std::printf("'%.*s' written through a window of %u bytes\n", static_cast<int>(text.size()),
		    text.data(), ntohl(loan.length));
	qp.disconnect();
	(void)connection.closed(5s);
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::fprintf(stderr, "usage: %s -l ADDRESS:PORT | ADDRESS:PORT TEXT\n", argv[0]);
		return 2;
	}
	try {
		if (std::string_view{argv[1]} == "-l")
			serve(krdma::Address::parse(argv[2]));
		else
			borrow(krdma::Address::parse(argv[1]), argv[2]);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 1;
	}
	return 0;
}
