/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * watch_rnics [SECONDS]: print the existing RNICs, and then the RNICs that come and go. The
 * program has its own poll() loop. Here it polls only the descriptor of libkrdma.
 *
 * g++ -std=c++20 watch_rnics.cpp $(pkg-config --cflags --libs krdma)
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>

#include <poll.h>

#include <krdma/krdma.hpp>

namespace {

void run(int seconds)
{
	const krdma::Session session;
	const std::time_t end = std::time(nullptr) + seconds;

	/* subscribe before listing, so that no RNIC is missed in between */
	session.subscribe(KRDMA_NET_RNIC);
	for (const krdma::Device &device : session.devices())
		std::printf("%s on %s\n", device.name().c_str(),
			    device.attributes().netdev.c_str());
	std::fflush(stdout);
	session.events().on_event([](const krdma::Event &event) {
		if (const krdma::NetInfo *info = event.net()) {
			std::printf("%s %s\n", info->name.c_str(), info->gone ? "went" : "came");
			std::fflush(stdout);
		}
	});
	while (std::time(nullptr) < end) {
		pollfd fd{session.descriptor(), POLLIN, 0};

		if (poll(&fd, 1, 100) > 0)
			session.dispatch();
	}
}

} /* namespace */

int main(int argc, char **argv)
{
	try {
		run(argc > 1 ? std::atoi(argv[1]) : 10);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 1;
	}
	return 0;
}
