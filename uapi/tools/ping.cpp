/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The subcommand ping: messages there and back over a connection, through libkrdma. The
 * client's private data has the size of the messages. Each message carries its number. The
 * server sends it back unchanged.
 */
#include <algorithm>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "command.hpp"

namespace krdma::tools {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::uint32_t smallest = 8;
constexpr std::uint32_t largest = 16U << 20;

struct PingOptions {
	std::vector<std::string> words; /* ADDR PORT or ADDR:PORT; for a server also PORT */
	bool server{};
	std::uint64_t count{5};
	bool count_given{};
	std::uint32_t size{64};
	double interval{1};
	double timeout{5};
	bool quiet{};
	bool slow{};
	bool events{};
	Address address;
};

/* the client's private data, in network byte order */
struct Hello {
	static constexpr std::uint32_t number = 0x6b70696e; /* "kpin" */
	std::uint32_t magic;
	std::uint32_t size;
};

/* thrown after SIGINT or SIGTERM */
struct Interrupted {};

/* a wait checks for an interruption after this time */
constexpr std::chrono::milliseconds glance = 100ms;

/* one end of a connection, with a buffer for each direction */
class End {
public:
	End(const Context &context, Interrupt &interrupt, std::uint32_t size, bool events)
		: interrupt_{interrupt},
		  memory_(std::size_t{2} * size), events_{events}, pd_{context}, cq_{context,
										     {.depth = 16}},
		  qp_{pd_, cq_, cq_, {.max_send_wr = 4, .max_recv_wr = 4}},
		  region_{pd_, memory_, access::local_write}, to_send_{region_.slice(0, size)},
		  to_receive_{region_.slice(size, size)}
	{
		receive();
	}

	[[nodiscard]] const QueuePair &qp() const noexcept
	{
		return qp_;
	}

	[[nodiscard]] std::span<std::byte> sent() noexcept
	{
		return {memory_.data(), to_send_.length};
	}

	[[nodiscard]] std::span<const std::byte> received() const noexcept
	{
		return {memory_.data() + to_send_.length, to_receive_.length};
	}

	void receive()
	{
		qp_.receive(receive_id, to_receive_);
	}

	void send()
	{
		qp_.send(send_id, to_send_);
	}

	/*
	 * Wait until so many sends and receives have completed, in any order. Return: false:
	 * the connection ended. @throws Interrupted, std::system_error ETIMEDOUT
	 */
	[[nodiscard]] bool wait(unsigned int sends, unsigned int receives,
				std::chrono::milliseconds timeout)
	{
		const Clock::time_point end = Clock::now() + timeout;

		while (sent_ < sends || received_ < receives) {
			const std::optional<Completion> completion = next(end);

			if (!completion)
				throw std::system_error{ETIMEDOUT, std::generic_category(),
							"no answer"};
			if (!completion->ok()) {
				failure_ = completion->status_text();
				return false;
			}
			if (completion->id() == send_id) {
				sent_++;
				continue;
			}
			received_++;
			if (completion->length() != to_receive_.length)
				throw std::runtime_error{"the message has another size"};
		}
		sent_ -= sends;
		received_ -= receives;
		return true;
	}

	[[nodiscard]] const std::string &failure() const noexcept
	{
		return failure_;
	}

private:
	static constexpr std::uint64_t send_id = 1;
	static constexpr std::uint64_t receive_id = 2;

	[[nodiscard]] std::optional<Completion> next(Clock::time_point end)
	{
		Completion completion;

		for (unsigned int empty = 1;; empty++) {
			if (events_) {
				if (const auto woken = cq_.wait(glance))
					return woken;
			} else if (!cq_.poll({&completion, 1}).empty()) {
				return completion;
			} else if (empty % 256) {
				/* read the clock and check for signals only now and then */
				continue;
			}
			if (interrupt_.wait(-1, 0ms))
				throw Interrupted{};
			if (Clock::now() >= end)
				return std::nullopt;
		}
	}

	Interrupt &interrupt_;
	std::vector<std::byte> memory_;
	bool events_;
	ProtectionDomain pd_;
	CompletionQueue cq_;
	QueuePair qp_;
	MemoryRegion region_;
	Slice to_send_;
	Slice to_receive_;
	unsigned int sent_{}; /* completions that no wait() has used yet */
	unsigned int received_{};
	std::string failure_;
};

std::chrono::milliseconds milliseconds(double seconds)
{
	return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>{seconds});
}

/* Wait until the connection is established. Return: false: interrupted. */
bool establish(Connection &connection, Interrupt &interrupt, std::chrono::milliseconds timeout)
{
	const Clock::time_point end = Clock::now() + timeout;

	while (!interrupt.wait(-1, 0ms)) {
		try {
			connection.established(std::min(glance, timeout));
			return true;
		} catch (const std::system_error &error) {
			/* the connection itself may have failed with that errno */
			if (error.code().value() != ETIMEDOUT ||
			    connection.close_status() == ETIMEDOUT || Clock::now() >= end)
				throw;
		}
	}
	return false;
}

/* Wait until the peer has closed the connection, after an interruption only for a moment. */
void finish(Connection &connection, Interrupt &interrupt, std::chrono::milliseconds timeout)
{
	constexpr std::chrono::milliseconds moment = 1s;
	const Clock::time_point begin = Clock::now();

	while (!connection.closed(std::min(glance, timeout))) {
		if (interrupt.wait(-1, 0ms))
			timeout = std::min(moment, timeout);
		if (Clock::now() - begin >= timeout)
			return;
	}
}

/* Server ******************************************************************* */

std::optional<std::uint32_t> size_of(const ConnectionInfo &info)
{
	Hello hello;

	if (info.private_data.size() < sizeof(hello))
		return std::nullopt;
	std::memcpy(&hello, info.private_data.data(), sizeof(hello));
	const std::uint32_t size = ntohl(hello.size);
	if (ntohl(hello.magic) != Hello::number || size < smallest || size > largest)
		return std::nullopt;
	return size;
}

/* Send messages back until the client ends. A client that is silent for longer hangs. */
void echo(End &end, std::uint64_t &count)
{
	constexpr auto longest_pause = 3600s + 60s;

	for (; end.wait(0, 1, longest_pause); count++) {
		std::ranges::copy(end.received(), end.sent().begin());
		end.receive();
		end.send();
		if (!end.wait(1, 0, longest_pause))
			break;
	}
}

/* Serve one client. An error is reported and ends only the connection of this client. */
void serve_one(const Environment &environment, const Context &context, Interrupt &interrupt,
	       ConnectionRequest request, const PingOptions &options)
{
	const std::string peer = request.info().remote.to_string();
	const std::optional<std::uint32_t> size = size_of(request.info());
	std::uint64_t count = 0;
	std::string error;

	try {
		if (!size) {
			request.reject();
			throw std::runtime_error{"not a client of krdma ping"};
		}
		End end{context, interrupt, *size, options.events};
		Connection connection = request.accept(end.qp());
		if (establish(connection, interrupt, milliseconds(options.timeout)))
			echo(end, count);
	} catch (const Interrupted &) {
		/* reported like a client that ended; the loop of the listener ends then */
	} catch (const std::exception &failure) {
		error = failure.what();
	}
	if (environment.json)
		print_line({{"client", peer},
			    {"size", size.value_or(0)},
			    {"messages", count},
			    {"error", error}});
	else
		print(fmt::format("{}: {} messages{}{}\n", peer, count, error.empty() ? "" : ", ",
				  error));
}

void serve(const Environment &environment, const PingOptions &options)
{
	Interrupt interrupt;
	const Session session;
	const bool any =
		options.address == Address::any(options.address.family(), options.address.port());
	const std::vector<Device> devices = session.devices();
	if (any && devices.empty())
		throw Failure{ENODEV, "no RNIC", "krdma link add makes one"};
	const Context context{any ? devices.front() : session.find_local(options.address),
			      {.slow = options.slow}};
	const Listener listener{context, options.address};
	std::uint64_t served = 0;

	if (environment.json)
		print_line({{"listening", listener.address().to_string()},
			    {"port", listener.address().port()},
			    {"rnic", context.device().name()},
			    {"fast", context.fast()}});
	else
		print(fmt::format("listening on {} ({}, {})\n", listener.address().to_string(),
				  context.device().name(), context.fast() ? "fast" : "slow"));
	/* serve one client after the other, so that clients do not affect each other's figures */
	while (!options.count_given || served < options.count) {
		std::optional<ConnectionRequest> request = listener.wait(0ms);

		if (!request) {
			if (interrupt.wait(session.descriptor(), forever))
				return;
			continue;
		}
		if (interrupt.wait(-1, 0ms))
			return;
		serve_one(environment, context, interrupt, std::move(*request), options);
		served++;
	}
}

/* Client ******************************************************************* */

/* send one message there and back; returns its time */
std::chrono::nanoseconds exchange(End &end, std::uint64_t number, std::chrono::milliseconds timeout)
{
	std::memcpy(end.sent().data(), &number, sizeof(number));
	const Clock::time_point begin = Clock::now();
	end.send();
	if (!end.wait(1, 1, timeout))
		throw std::system_error{ECONNRESET, std::generic_category(), end.failure()};
	const Clock::time_point done = Clock::now();
	if (!std::ranges::equal(end.sent(), end.received()))
		throw std::runtime_error{"another message came back"};
	end.receive();
	return done - begin;
}

void report(const Environment &environment, const Address &peer, std::uint64_t number,
	    std::chrono::nanoseconds time, const PingOptions &options)
{
	const double microseconds = static_cast<double>(time.count()) / 1000;

	if (options.quiet)
		return;
	if (environment.json)
		print_line({{"seq", number}, {"size", options.size}, {"time_us", microseconds}});
	else
		print(fmt::format("{} bytes from {}: seq={} time={:.1f} us\n", options.size,
				  peer.host(), number, microseconds));
}

void summarize(const Environment &environment, const Context &context, const Address &peer,
	       std::uint64_t sent, const Statistics &statistics, const PingOptions &options)
{
	const Json summary = statistics.summary();

	if (environment.json) {
		Json line = {{"peer", peer.to_string()},
			     {"rnic", context.device().name()},
			     {"fast", context.fast()},
			     {"size", options.size},
			     {"sent", sent},
			     {"received", statistics.count()}};

		line.update(summary);
		print_line({{"summary", line}});
		return;
	}
	print(fmt::format("--- {} by {} ({}): {} sent, {} came back\n", peer.to_string(),
			  context.device().name(), context.fast() ? "fast" : "slow", sent,
			  statistics.count()));
	if (summary.empty())
		return;
	const auto value = [&](const char *key) { return summary[key].get<double>(); };
	print(fmt::format("min/avg/max/mdev = {:.1f}/{:.1f}/{:.1f}/{:.1f} us\n"
			  "p50/p90/p99/p99.9 = {:.1f}/{:.1f}/{:.1f}/{:.1f} us\n",
			  value("min_us"), value("avg_us"), value("max_us"), value("mdev_us"),
			  value("p50_us"), value("p90_us"), value("p99_us"), value("p99_9_us")));
}

void ping(const Environment &environment, const PingOptions &options)
{
	Interrupt interrupt;
	const Session session;
	const Context context{session.find_remote(options.address), {.slow = options.slow}};
	const Hello hello{htonl(Hello::number), htonl(options.size)};
	const std::chrono::milliseconds timeout = milliseconds(options.timeout);
	End end{context, interrupt, options.size, options.events};
	Connection connection = Connection::connect(
		end.qp(), options.address, {.private_data = std::as_bytes(std::span{&hello, 1})});
	Statistics statistics;
	std::uint64_t sent = 0;
	std::exception_ptr failure;

	const bool begun = establish(connection, interrupt, timeout);
	for (std::size_t i = 0; i < end.sent().size(); i++)
		end.sent()[i] = static_cast<std::byte>(i * 7);
	try {
		while (begun && sent < options.count) {
			/*
			 * the first message is slow, because caches are cold, as for any
			 * program
			 */
			if (interrupt.wait(-1, sent ? milliseconds(options.interval) : 0ms))
				break;
			const std::chrono::nanoseconds time = exchange(end, ++sent, timeout);

			statistics.add(static_cast<double>(time.count()));
			report(environment, options.address, sent, time, options);
		}
	} catch (const Interrupted &) {
		/* print the summary of the messages so far */
	} catch (...) {
		failure = std::current_exception();
	}
	summarize(environment, context, options.address, sent, statistics, options);
	if (failure)
		std::rethrow_exception(failure);
	if (!begun)
		return;
	end.qp().disconnect();
	finish(connection, interrupt, timeout);
}

Address ping_address(const PingOptions &options)
{
	const std::string &host = options.words.front();
	const std::string &port = options.words.back();
	const bool two_words = options.words.size() > 1;
	const bool joined = !two_words && host.find(':') != std::string::npos;
	Address address = Address::any(AF_INET);
	std::uint16_t number = 0;

	if (!two_words && !joined && !options.server)
		throw CLI::RequiredError("PORT");
	if (two_words || joined) {
		try {
			address = Address::resolve(host);
		} catch (const Error &error) {
			/* another errno is the resolver's or the host's, and no wrong usage */
			if (error.code().value() != EINVAL)
				throw;
			throw CLI::ValidationError(host, "no IPv4 or IPv6 address, and no name");
		}
	}
	if (joined)
		number = address.port();
	if ((!joined && !CLI::detail::lexical_cast(port, number)) || (!number && !options.server))
		throw CLI::ValidationError(port, "no port number");
	return address.with_port(number);
}

} /* namespace */

void add_ping_command(CLI::App &app, Environment &environment)
{
	const auto options = std::make_shared<PingOptions>();
	CLI::App *command = add_command(
		app, environment, "ping", "ADDR PORT | --server [ADDR] PORT",
		"latency of messages there and back: ADDR PORT, or --server [ADDR] PORT");

	command->add_option("ADDR", options->words,
			    "the server's address or name, and its port; or both as ADDR:PORT")
		->required()
		->expected(1, 2);
	command->add_flag("-s,--server", options->server, "answer clients until interrupted");
	CLI::Option *count = command->add_option("-c,--count", options->count,
						 "messages (5); server: end after so many clients");
	count->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62));
	command->add_option("-b,--size", options->size, "bytes of a message (64)")
		->check(CLI::Range(smallest, largest));
	command->add_option("-i,--interval", options->interval, "seconds between messages (1)")
		->check(CLI::Range(0.0, 3600.0));
	command->add_option("-t,--timeout", options->timeout, "seconds to wait for an answer (5)")
		->check(CLI::Range(0.01, 3600.0));
	command->add_flag("-q,--quiet", options->quiet, "the summary alone");
	command->add_flag("--slow", options->slow, "through the kernel for every call");
	command->add_flag("-e,--events", options->events, "sleep until events come, do not poll");
	command->callback([&environment, options, count] {
		options->count_given = count->count() > 0;
		options->address = ping_address(*options);
		environment.chosen = [&environment, options] {
			if (options->server)
				serve(environment, *options);
			else
				ping(environment, *options);
		};
	});
}

} /* namespace krdma::tools */
