/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * An ordinary verbs program that krdma_hostile attacks. It listens, or connects again and
 * again, and offers memory with every combination of rights. It prints what it sees, one JSON
 * line for each: its regions, each connection, completion and asynchronous event, and at the
 * end of a connection whether memory changed.
 */
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <list>
#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "victim_connection.hpp"

namespace {

using namespace std::chrono_literals;
using rdma::must;
using victim::Clock;
using victim::Connection;
using victim::Line;
using victim::Memory;
using victim::Options;
using victim::Order;

sockaddr_storage address_of(const std::string &text, std::uint16_t port)
{
	sockaddr_storage storage{};
	auto *in4 = reinterpret_cast<sockaddr_in *>(&storage);
	auto *in6 = reinterpret_cast<sockaddr_in6 *>(&storage);

	if (inet_pton(AF_INET, text.c_str(), &in4->sin_addr) == 1) {
		in4->sin_family = AF_INET;
		in4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	} else {
		rdma::fail("no address: " + text);
	}
	return storage;
}

using EventChannel = rdma::Owned<rdma_event_channel, rdma_destroy_event_channel>;
using CmId = rdma::Owned<rdma_cm_id, rdma_destroy_id>;

/** class Program - the event loop */
class Program {
public:
	explicit Program(const Options &options);
	void run();

private:
	CmId bound_id(std::uint16_t port);
	void cm_event();
	void handle(const rdma_cm_event &event);
	void requested(const rdma_cm_event &event);
	void ended(rdma_cm_id *id, const rdma_cm_event &event);
	void comp_event();
	void async_events();
	void sweep();
	void connect_again();
	Connection *find(const rdma_cm_id *id);

	Options options_;
	EventChannel events_;
	CmId listener_;
	rdma::Channel completions_;
	std::unique_ptr<Memory> memory_;
	std::list<Connection> connections_;
	CmId connecting_; /* client: address and route are being resolved */
	Clock::time_point next_attempt_ = Clock::now();
	unsigned int count_ = 0;
};

void non_blocking(int fd)
{
	must(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), "fcntl");
}

CmId Program::bound_id(std::uint16_t port)
{
	sockaddr_storage local = address_of(options_.bind, port);
	rdma_cm_id *id = nullptr;

	must(rdma_create_id(events_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	CmId owner{id};
	must(rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&local)), "rdma_bind_addr");
	if (!id->verbs)
		rdma::fail(options_.bind + " belongs to no RDMA device");
	return owner;
}

Program::Program(const Options &options)
	: options_{options}, events_{must(rdma_create_event_channel(), "rdma_create_event_channel")}
{
	const bool server = options.connect.empty();

	listener_ = bound_id(server ? options.port : 0);
	completions_.reset(
		must(ibv_create_comp_channel(listener_->verbs), "ibv_create_comp_channel"));
	memory_ = std::make_unique<Memory>(listener_->verbs);
	non_blocking(events_->fd);
	non_blocking(completions_->fd);
	non_blocking(listener_->verbs->async_fd);
	if (server)
		must(rdma_listen(listener_.get(), 128), "rdma_listen");

	Line line("ready");
	line.number("region_size", victim::region_size).number("depth", options.depth);
	memory_->describe(line);
	line.print();
}

Connection *Program::find(const rdma_cm_id *id)
{
	for (Connection &connection : connections_)
		if (connection.id() == id)
			return &connection;
	return nullptr;
}

std::span<const std::uint8_t> private_data(const rdma_cm_event &event)
{
	return {static_cast<const std::uint8_t *>(event.param.conn.private_data),
		event.param.conn.private_data ? event.param.conn.private_data_len : std::size_t{0}};
}

void Program::requested(const rdma_cm_event &event)
{
	Connection &connection =
		connections_.emplace_back(++count_, event.id, *memory_, completions_.get());

	connection.follow(Order::decode(private_data(event)));
	connection.accept(options_);
}

void Program::ended(rdma_cm_id *id, const rdma_cm_event &event)
{
	std::string result = rdma_event_str(event.event);

	if (event.status)
		result += ": " + std::string{std::strerror(std::abs(event.status))};
	if (Connection *connection = find(id))
		connection->end(result);
	else if (connecting_.get() == id)
		rdma::fail(result);
}

void Program::handle(const rdma_cm_event &event)
{
	Connection *connection = find(event.id);

	switch (event.event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		requested(event);
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		must(rdma_resolve_route(event.id, 5000), "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connections_
			.emplace_back(++count_, connecting_.release(), *memory_, completions_.get())
			.connect(options_);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (!connection)
			break;
		if (!options_.connect.empty())
			connection->follow(Order::decode(private_data(event)));
		connection->established();
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		break;
	default:
		ended(event.id, event);
		break;
	}
}

void Program::cm_event()
{
	rdma_cm_event *event = nullptr;

	while (!rdma_get_cm_event(events_.get(), &event)) {
		/* its private data is valid until it is acknowledged */
		const rdma::Owned<rdma_cm_event, rdma_ack_cm_event> owner{event};

		handle(*event);
	}
}

void Program::comp_event()
{
	ibv_cq *cq = nullptr;
	void *context = nullptr;

	while (!ibv_get_cq_event(completions_.get(), &cq, &context))
		for (Connection &connection : connections_)
			if (connection.cq() == cq)
				connection.cq_event();
}

void Program::async_events()
{
	ibv_async_event event{};

	while (!ibv_get_async_event(listener_->verbs, &event)) {
		const char *name = ibv_event_type_str(event.event_type);
		const bool of_qp = event.event_type <= IBV_EVENT_PATH_MIG_ERR ||
				   event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
		Line line("async");

		line.text("name", name);
		for (Connection &connection : connections_) {
			/* of_qp is also true for errors of a CQ */
			if (!of_qp || event.event_type == IBV_EVENT_CQ_ERR ||
			    event.element.qp != connection.id()->qp)
				continue;
			line.number("connection", connection.number());
			connection.async(name);
		}
		line.print();
		ibv_ack_async_event(&event);
	}
}

/* Report and forget the connections that are over. */
void Program::sweep()
{
	for (auto it = connections_.begin(); it != connections_.end();) {
		it->poll();
		if (!it->finished()) {
			++it;
			continue;
		}
		async_events();
		/* events of its CQ must be acknowledged before the CQ is destroyed */
		comp_event();
		it->poll();
		it->report();
		next_attempt_ = Clock::now() + (it->refused() ? 100ms : 0ms);
		it = connections_.erase(it);
	}
}

void Program::connect_again()
{
	sockaddr_storage peer = address_of(options_.connect, options_.port);

	if (connecting_ || !connections_.empty() || Clock::now() < next_attempt_)
		return;
	connecting_ = bound_id(0);
	must(rdma_resolve_addr(connecting_.get(), nullptr, reinterpret_cast<sockaddr *>(&peer),
			       5000),
	     "rdma_resolve_addr");
}

void Program::run()
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	must(sigprocmask(SIG_BLOCK, &signals, nullptr), "sigprocmask");
	const int stop = signalfd(-1, &signals, SFD_CLOEXEC);
	std::array<pollfd, 5> fds{{{events_->fd, POLLIN, 0},
				   {completions_->fd, POLLIN, 0},
				   {listener_->verbs->async_fd, POLLIN, 0},
				   {stop, POLLIN, 0},
				   {STDIN_FILENO, POLLIN, 0}}};

	for (;;) {
		if (!options_.connect.empty())
			connect_again();
		/* no event reports the end of a connection, so check now and then */
		if (poll(fds.data(), fds.size(), connections_.empty() ? 100 : 10) < 0 &&
		    errno != EINTR)
			rdma::fail_errno("poll", errno);
		if (fds[3].revents)
			break;
		if (fds[4].revents) {
			std::string word;

			if (std::getline(std::cin, word) && word == "quit")
				break;
			if (!std::cin)
				fds[4].fd = -1; /* no terminal: a signal ends it */
		}
		cm_event();
		async_events();
		comp_event();
		sweep();
	}
	close(stop);
	connections_.clear();
	const std::string changed = memory_->changes();
	Line("quit").number("connections", count_).text("changed", changed).print();
}

} /* namespace */

int main(int argc, char **argv)
try {
	Options options;
	CLI::App app{"A verbs program for krdma_hostile to attack; ends at 'quit' or SIGTERM"};

	app.add_option("-b,--bind", options.bind, "address of the RDMA device to use")->required();
	app.add_option("-c,--connect", options.connect,
		       "connect there, again and again, instead of listening");
	app.add_option("-p,--port", options.port, "port to listen on or connect to")
		->capture_default_str();
	app.add_option("-d,--depth", options.depth, "inbound and outbound reads")
		->capture_default_str();
	CLI11_PARSE(app, argc, argv);
	Program(options).run();
	return 0;
} catch (const std::exception &failure) {
	std::cerr << "krdma_victim: " << failure.what() << '\n';
	return 1;
}
