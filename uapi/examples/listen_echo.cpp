/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * listen_echo [ADDRESS:PORT]: a server whose callbacks run in the threads of a dispatcher. It
 * serves one client: it sends one message back, and ends. It rejects other clients meanwhile, and
 * clients that send no private data when they connect.
 *
 * g++ -std=c++20 listen_echo.cpp $(pkg-config --cflags --libs krdma)
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <memory>
#include <optional>

#include <krdma/krdma.hpp>

namespace {

using namespace std::chrono_literals;

/* a client's connection and its objects */
class Client {
public:
	explicit Client(const krdma::Context &context)
		: pd_{context}, cq_{context}, qp_{pd_, cq_, cq_},
		  region_{pd_, memory_, krdma::access::local_write}
	{
		qp_.receive(1, region_.slice());
	}

	void serve(krdma::ConnectionRequest &request)
	{
		krdma::Connection connection = request.accept(qp_);

		connection.established(5s);
		const std::optional<krdma::Completion> received = cq_.wait(5s);
		if (!received || !received->ok())
			throw std::runtime_error{"no message"};
		qp_.send(2, region_.slice(0, received->length()));
		if (!cq_.wait(5s).value().ok())
			throw std::runtime_error{"not sent"};
		/* the client ends the connection first, so that no message is lost */
		(void)connection.closed(5s);
		std::printf("%u bytes sent back to %s\n", received->length(),
			    connection.info().remote.to_string().c_str());
	}

private:
	std::array<std::byte, 4096> memory_{};
	krdma::ProtectionDomain pd_;
	krdma::CompletionQueue cq_;
	krdma::QueuePair qp_;
	krdma::MemoryRegion region_;
};

void run(const krdma::Address &address)
{
	const krdma::Session session;
	const krdma::Context context{session.find_local(address)};
	const krdma::Dispatcher dispatcher{session, 2};
	const krdma::Listener listener{context, address};
	std::atomic_flag taken;
	std::promise<void> served;

	std::printf("listening on %s\n", listener.address().to_string().c_str());
	std::fflush(stdout);
	listener.on_request([&](krdma::ConnectionRequest request) {
		/* the dispatcher has two threads, so requests may come at the same time */
		if (request.info().private_data.empty() || taken.test_and_set()) {
			request.reject();
			return;
		}
		try {
			Client{context}.serve(request);
			served.set_value();
		} catch (...) {
			served.set_exception(std::current_exception());
		}
	});
	served.get_future().get();
	listener.on_request({});
}

} /* namespace */

int main(int argc, char **argv)
{
	try {
		run(krdma::Address::parse(argc > 1 ? argv[1] : "127.0.0.1:7000"));
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 1;
	}
	return 0;
}
