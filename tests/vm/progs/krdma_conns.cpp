/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Client and server with many connections at a time. On each connection the client sends its
 * own pseudo-random data. The server compares the data and answers with other data, which the
 * client compares. Then all connections rest until a file exists, and end. They end because
 * one side wants it, or because the network does not work any more. Both ways must complete
 * every posted work request. The exit status is 0 only if this side found no fault.
 *
 * The private data has the number of the connection and is filled up to its full length. The
 * server checks all of it and answers with the same data.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include "pattern.hpp"
#include "rdma.hpp"

namespace {

using namespace std::chrono_literals;
using rdma::must;
using rdma::require;
using rdma::require_eq;

using Events = rdma::Owned<rdma_event_channel, rdma_destroy_event_channel>;
using Id = rdma::Owned<rdma_cm_id, rdma_destroy_id>;

/* how the connections will end */
enum class End : std::uint8_t { disconnect, silence, stalled_sends };

struct Options {
	const char *host = nullptr;
	const char *port = "7175";
	const char *hold = nullptr; /* file to wait for */
	std::size_t connections = 1;
	std::size_t size = 4096;
	std::size_t window = 64; /* number of connections that may be set up at a time */
	std::size_t private_data = sizeof(std::uint32_t);
	int tos = -1;
	End end = End::disconnect;
	bool server = false;
	bool qps_alone = false;
	bool empty_send = false; /* an empty Send to the server, before all others */
};

constexpr std::size_t stalled_sends = 64;

/* private data of a connection: its number, and a pattern that depends on the number */
std::vector<std::uint8_t> private_data(std::uint32_t number, std::size_t length)
{
	std::vector<std::uint8_t> data(length);

	for (std::size_t i = 0; i < length; i++)
		data[i] = static_cast<std::uint8_t>(std::size_t{number} * 7 + i);
	const std::uint32_t wire = htonl(number);
	std::memcpy(data.data(), &wire, std::min(length, sizeof(wire)));
	return data;
}

std::uint32_t number_of(std::span<const std::uint8_t> data)
{
	std::uint32_t wire = 0;

	require(data.size() >= sizeof(wire), "private data has a connection's number");
	std::memcpy(&wire, data.data(), sizeof(wire));
	return ntohl(wire);
}

/** class Link - one connection: an id with a QP, and its part of the memory */
class Link {
public:
	Link(Id id, std::uint32_t number) : number{number}, id_{std::move(id)}
	{}
	~Link()
	{
		if (id_ && id_->qp)
			rdma_destroy_qp(id_.get());
	}
	Link(const Link &) = delete;
	Link &operator=(const Link &) = delete;

	[[nodiscard]] rdma_cm_id *id() const
	{
		return id_.get();
	}
	[[nodiscard]] ibv_qp *qp() const
	{
		return id_->qp;
	}

	std::uint32_t number;
	bool ended = false;
	bool got_empty_send = false;
	std::size_t posted = 0; /* work requests that have not completed */

private:
	Id id_;
};

/** class Runner - one side */
class Runner {
public:
	explicit Runner(const Options &options)
		: options_{options}, events_{must(rdma_create_event_channel(),
						  "rdma_create_event_channel")}
	{
		fcntl(events_->fd, F_SETFL, O_NONBLOCK);
	}

	/* make as many unconnected queue pairs, to measure the memory of one */
	void run_qps()
	{
		std::vector<rdma::Qp> qps;
		ibv_qp_init_attr attr{};

		start_some();
		while (!memory_)
			handle_event();
		attr = qp_attr();
		while (qps.size() < options_.connections)
			qps.emplace_back(must(ibv_create_qp(pd_.get(), &attr), "ibv_create_qp"));
		std::printf("%zu queue pairs\n", qps.size());
		hold();
		qps.clear();
		links_.clear();
	}

	void run()
	{
		const Id listener = options_.server ? listen() : nullptr;

		while (up_ < options_.connections) {
			if (!options_.server)
				start_some();
			handle_event();
		}
		until([this] { return exchanged_ == options_.connections; }, "all data");
		std::printf("%zu connections, all octets right\n", exchanged_);
		hold();
		finish();
		links_.clear();
	}

private:
	void hold() const
	{
		std::fflush(stdout);
		if (options_.hold)
			while (access(options_.hold, F_OK))
				std::this_thread::sleep_for(50ms);
	}

	[[nodiscard]] ibv_qp_init_attr qp_attr() const
	{
		ibv_qp_init_attr attr{};

		attr.send_cq = attr.recv_cq = queue_->cq();
		attr.cap.max_send_wr = options_.end == End::stalled_sends ? stalled_sends + 1 : 2;
		attr.cap.max_recv_wr = 2;
		attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
		attr.qp_type = IBV_QPT_RC;
		return attr;
	}

	[[nodiscard]] Id listen()
	{
		rdma_addrinfo hints{};
		rdma_addrinfo *info = nullptr;
		Id id = make_id();

		hints.ai_flags = RAI_PASSIVE;
		hints.ai_port_space = RDMA_PS_TCP;
		must(rdma_getaddrinfo(options_.host, options_.port, &hints, &info),
		     "rdma_getaddrinfo");
		const rdma::Owned<rdma_addrinfo, rdma_freeaddrinfo> owner{info};
		must(rdma_bind_addr(id.get(), info->ai_src_addr), "rdma_bind_addr");
		must(rdma_listen(id.get(), 1024), "rdma_listen");
		return id;
	}

	[[nodiscard]] Id make_id()
	{
		rdma_cm_id *id = nullptr;

		must(rdma_create_id(events_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
		Id owner{id};
		if (options_.tos >= 0) {
			auto tos = static_cast<std::uint8_t>(options_.tos);

			must(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos,
					     sizeof(tos)),
			     "rdma_set_option(TOS)");
		}
		return owner;
	}

	/* client: begin connections up to the window */
	void start_some()
	{
		while (started_ < (options_.qps_alone ? 1 : options_.connections) &&
		       started_ - up_ < options_.window) {
			rdma_addrinfo hints{};
			rdma_addrinfo *info = nullptr;
			Id id = make_id();

			hints.ai_port_space = RDMA_PS_TCP;
			must(rdma_getaddrinfo(options_.host, options_.port, &hints, &info),
			     "rdma_getaddrinfo");
			const rdma::Owned<rdma_addrinfo, rdma_freeaddrinfo> owner{info};
			must(rdma_resolve_addr(id.get(), nullptr, info->ai_dst_addr, 20000),
			     "rdma_resolve_addr");
			add(std::move(id), static_cast<std::uint32_t>(started_++));
		}
	}

	Link &add(Id id, std::uint32_t number)
	{
		rdma_cm_id *raw = id.get();
		auto link = std::make_unique<Link>(std::move(id), number);
		Link &ref = *link;

		links_[raw] = std::move(link);
		return ref;
	}

	/* the QP of a connection; PD, CQ and region are shared by all */
	void make_qp(Link &link)
	{
		if (!memory_) {
			const int depth =
				static_cast<int>(options_.connections * (4 + stalled_sends));

			pd_.reset(must(ibv_alloc_pd(link.id()->verbs), "ibv_alloc_pd"));
			queue_ = std::make_unique<rdma::Queue>(link.id()->verbs, depth);
			memory_ = std::make_unique<rdma::Memory>(
				pd_.get(), 2 * options_.size * options_.connections,
				IBV_ACCESS_LOCAL_WRITE);
		}
		ibv_qp_init_attr attr = qp_attr();

		must(rdma_create_qp(link.id(), pd_.get(), &attr), "rdma_create_qp");
		qps_[link.qp()->qp_num] = &link;
		post_recv(link);
		if (expects_empty_send())
			post_recv(link);
	}

	/* an initiator's ready-to-receive frame can be a Send, which takes a receive */
	[[nodiscard]] bool expects_empty_send() const
	{
		return options_.server && options_.empty_send;
	}

	[[nodiscard]] std::size_t in_offset(const Link &link) const
	{
		return 2 * options_.size * link.number;
	}
	[[nodiscard]] std::size_t out_offset(const Link &link) const
	{
		return in_offset(link) + options_.size;
	}
	[[nodiscard]] std::uint64_t seed(const Link &link, bool to_server) const
	{
		return 2 * std::uint64_t{link.number} + to_server + 1;
	}

	void post_recv(Link &link)
	{
		ibv_sge sge = memory_->sge(in_offset(link), options_.size);
		ibv_recv_wr wr{};
		ibv_recv_wr *bad = nullptr;

		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_recv(link.qp(), &wr, &bad), "ibv_post_recv");
		link.posted++;
	}

	void post_send(Link &link)
	{
		ibv_sge sge = memory_->sge(out_offset(link), options_.size);
		ibv_send_wr wr{};
		ibv_send_wr *bad = nullptr;

		wr.opcode = IBV_WR_SEND;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_send(link.qp(), &wr, &bad), "ibv_post_send");
		link.posted++;
	}

	void send_data(Link &link)
	{
		const std::array pieces{pattern::Piece{0, options_.size}};

		pattern::write(memory_->span().subspan(out_offset(link), options_.size), pieces,
			       seed(link, !options_.server));
		post_send(link);
	}

	/* the peer's data: compare it and answer */
	void received(Link &link, const ibv_wc &wc)
	{
		const std::array pieces{pattern::Piece{0, options_.size}};
		const auto data = memory_->span().subspan(in_offset(link), options_.size);

		if (expects_empty_send() && !link.got_empty_send) {
			require_eq(wc.byte_len, 0U, "octets of the ready-to-receive Send");
			link.got_empty_send = true;
			return;
		}
		require_eq(std::size_t{wc.byte_len}, options_.size, "octets received");
		const std::size_t at = pattern::mismatch(data, pieces, seed(link, options_.server));
		require(at == data.size(), "data of a connection");
		/* post a receive for the next message, or to be flushed */
		post_recv(link);
		if (options_.server)
			send_data(link);
		exchanged_++;
	}

	void handle_completions()
	{
		while (auto wc = queue_ ? queue_->poll() : std::nullopt) {
			Link &link = *qps_.at(wc->qp_num);

			link.posted--;
			if (finishing_ && wc->status == IBV_WC_WR_FLUSH_ERR) {
				flushed_++;
				continue;
			}
			rdma::require_status(*wc, IBV_WC_SUCCESS, "work request");
			if (wc->opcode & IBV_WC_RECV)
				received(link, *wc);
		}
	}

	bool handle_event()
	{
		rdma_cm_event *event = nullptr;
		pollfd p{.fd = events_->fd, .events = POLLIN, .revents = 0};

		handle_completions();
		if (poll(&p, 1, 10) != 1)
			return false;
		if (rdma_get_cm_event(events_.get(), &event))
			return false;
		const rdma::Owned<rdma_cm_event, rdma_ack_cm_event> owner{event};
		on_event(*event);
		return true;
	}

	void on_event(const rdma_cm_event &event)
	{
		switch (event.event) {
		case RDMA_CM_EVENT_ADDR_RESOLVED:
			make_qp(*links_.at(event.id));
			must(rdma_resolve_route(event.id, 20000), "rdma_resolve_route");
			break;
		case RDMA_CM_EVENT_ROUTE_RESOLVED:
			connect(*links_.at(event.id));
			break;
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			accept(event);
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			established(*links_.at(event.id), event);
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			require(finishing_ || options_.server, "a connection ends too early");
			links_.at(event.id)->ended = true;
			ended_++;
			break;
		default:
			rdma::fail(std::string{rdma_event_str(event.event)} + ", status " +
				   std::to_string(event.status));
		}
	}

	/* the number, and all that belongs to it */
	static rdma_conn_param param(const std::vector<std::uint8_t> &data)
	{
		rdma_conn_param param{};

		param.private_data = data.data();
		param.private_data_len = static_cast<std::uint8_t>(data.size());
		param.initiator_depth = param.responder_resources = 1;
		return param;
	}

	void connect(Link &link)
	{
		const auto data = private_data(link.number, options_.private_data);
		rdma_conn_param p = param(data);

		must(rdma_connect(link.id(), &p), "rdma_connect");
	}

	static std::span<const std::uint8_t> data_of(const rdma_cm_event &event)
	{
		return {static_cast<const std::uint8_t *>(event.param.conn.private_data),
			event.param.conn.private_data_len};
	}

	static void check_private_data(std::span<const std::uint8_t> got, std::uint32_t number)
	{
		const auto wanted = private_data(number, got.size());

		require(std::equal(got.begin(), got.end(), wanted.begin()), "private data");
	}

	void accept(const rdma_cm_event &event)
	{
		const auto got = data_of(event);
		Link &link = add(Id{event.id}, number_of(got));

		require(link.number < options_.connections, "number of a connection");
		check_private_data(got, link.number);
		make_qp(link);
		const auto data = private_data(link.number, got.size());
		rdma_conn_param p = param(data);
		must(rdma_accept(event.id, &p), "rdma_accept");
	}

	void established(Link &link, const rdma_cm_event &event)
	{
		up_++;
		if (options_.server)
			return;
		require_eq(data_of(event).size(), options_.private_data,
			   "octets of private data in the reply");
		check_private_data(data_of(event), link.number);
		send_data(link);
	}

	template <typename Condition> void until(Condition condition, const char *what)
	{
		auto end = std::chrono::steady_clock::now() + rdma::patience;

		while (!condition()) {
			if (handle_event())
				end = std::chrono::steady_clock::now() + rdma::patience;
			if (std::chrono::steady_clock::now() > end)
				rdma::fail(std::string{"does not come: "} + what);
		}
	}

	/* all connections end, and all posted requests complete */
	void finish()
	{
		finishing_ = true;
		for (auto &[id, link] : links_) {
			if (options_.end == End::stalled_sends && !options_.server)
				for (std::size_t i = 0; i < stalled_sends; i++)
					post_send(*link);
			if (options_.end == End::disconnect && !options_.server)
				must(rdma_disconnect(id), "rdma_disconnect");
		}
		until([this] { return ended_ == options_.connections; }, "all connections' end");
		until(
			[this] {
				return std::ranges::all_of(links_, [](const auto &entry) {
					return !entry.second->posted;
				});
			},
			"all work requests' completions");
		for (auto &[id, link] : links_)
			check_state(*link);
		require(flushed_ >= options_.connections, "receives were flushed");
		std::printf("all ended, %zu work requests flushed\n", flushed_);
	}

	static void check_state(const Link &link)
	{
		ibv_qp_attr attr{};
		ibv_qp_init_attr init{};

		must(ibv_query_qp(link.qp(), &attr, IBV_QP_STATE, &init), "ibv_query_qp");
		require_eq(int{attr.qp_state}, int{IBV_QPS_ERR}, "state of a QP at the end");
	}

	const Options &options_;
	Events events_;
	rdma::Pd pd_;
	std::unique_ptr<rdma::Queue> queue_;
	std::unique_ptr<rdma::Memory> memory_;
	std::map<rdma_cm_id *, std::unique_ptr<Link>> links_;
	std::map<std::uint32_t, Link *> qps_;
	std::size_t started_ = 0;
	std::size_t up_ = 0;
	std::size_t exchanged_ = 0;
	std::size_t ended_ = 0;
	std::size_t flushed_ = 0;
	bool finishing_ = false;
};

[[noreturn]] void usage()
{
	std::fputs("krdma_conns -s [option...] [ADDRESS]	server\n"
		   "krdma_conns [option...] ADDRESS		client; options of both:\n"
		   "  -p PORT  -n CONNECTIONS  -m OCTETS  -w CONNECTIONS_ON_THEIR_WAY  -t TOS\n"
		   "  -q     client: queue pairs alone, without connections\n"
		   "  -z     server: a Send without data comes first\n"
		   "  -d OCTETS_OF_PRIVATE_DATA  -k FILE_TO_WAIT_FOR\n"
		   "  -e     the network ends the connections; -ee: while Sends are under way\n",
		   stderr);
	std::exit(2);
}

Options parse(int argc, char **argv)
{
	Options options;

	for (int c; (c = getopt(argc, argv, "sp:n:m:w:d:t:k:eqz")) != -1;) {
		const auto number = [] { return std::strtoul(optarg, nullptr, 0); };

		switch (c) {
		case 's':
			options.server = true;
			break;
		case 'p':
			options.port = optarg;
			break;
		case 'n':
			options.connections = number();
			break;
		case 'm':
			options.size = number();
			break;
		case 'w':
			options.window = number();
			break;
		case 'd':
			options.private_data = number();
			break;
		case 't':
			options.tos = static_cast<int>(number());
			break;
		case 'k':
			options.hold = optarg;
			break;
		case 'z':
			options.empty_send = true;
			break;
		case 'q':
			options.qps_alone = true;
			break;
		case 'e':
			options.end =
				options.end == End::disconnect ? End::silence : End::stalled_sends;
			break;
		default:
			usage();
		}
	}
	if (optind < argc)
		options.host = argv[optind++];
	if (optind != argc || (!options.server && !options.host))
		usage();
	return options;
}

} /* namespace */

int main(int argc, char **argv)
{
	const Options options = parse(argc, argv);

	try {
		Runner runner{options};

		options.qps_alone ? runner.run_qps() : runner.run();
		return 0;
	} catch (const std::exception &failure) {
		std::fprintf(stderr, "krdma_conns: %s\n", failure.what());
		return 1;
	}
}
