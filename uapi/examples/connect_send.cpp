/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * connect_send ADDRESS:PORT: send one message to listen_echo and receive the answer. The
 * program uses no thread and no callback. It waits for each event.
 *
 * g++ -std=c++20 connect_send.cpp $(pkg-config --cflags --libs krdma)
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

#include <krdma/krdma.hpp>

namespace {

using namespace std::chrono_literals;

constexpr std::string_view message = "hello from libkrdma";

void run(const krdma::Address &peer)
{
	const krdma::Session session;
	const krdma::Device device = session.find_remote(peer);
	const krdma::Context context{device};
	const krdma::ProtectionDomain pd{context};
	const krdma::CompletionQueue cq{context};
	const krdma::QueuePair qp{pd, cq, cq};

	std::array<std::byte, 256> memory{};
	const krdma::MemoryRegion region{pd, memory, krdma::access::local_write};
	std::memcpy(memory.data(), message.data(), message.size());

	/* The second half is for the answer. Post the receive before the answer can come. */
	qp.receive(1, region.slice(128, 128));
	const std::string_view greeting = "example";
	krdma::Connection connection = krdma::Connection::connect(
		qp, peer, {.private_data = std::as_bytes(std::span{greeting})});
	connection.established(5s);

	qp.send(2, region.slice(0, message.size()));
	for (int left = 2; left > 0; left--) {
		const krdma::Completion done = cq.wait(5s).value();

		if (!done.ok())
			throw std::runtime_error{std::string{done.status_text()}};
	}
	if (std::memcmp(memory.data() + 128, message.data(), message.size()) != 0)
		throw std::runtime_error{"something else came back"};
	std::printf("'%s' came back through %s, %s\n", message.data(), device.name().c_str(),
		    context.fast() ? "without system calls" : context.why_slow().c_str());
	qp.disconnect();
	(void)connection.closed(5s);
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fprintf(stderr, "usage: %s ADDRESS:PORT\n", argv[0]);
		return 2;
	}
	try {
		run(krdma::Address::parse(argv[1]));
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 1;
	}
	return 0;
}
