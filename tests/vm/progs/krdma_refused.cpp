/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Client and server. The client posts requests that the server's RNIC must refuse, each on a
 * new connection. The client must see a failed completion, if the request needs an answer, the
 * end of the connection, and a queue pair in the error state that flushes later requests. The
 * server must see the end of the connection and unchanged memory.
 *
 * The two RNICs may be of different kinds, so the statuses are printed and not compared.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <getopt.h>

#include "rdma.hpp"

namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::Side;

constexpr std::size_t size = 4096;
constexpr std::byte untouched{0xee};

/* the server's message: the place of its memory */
struct Offer {
	std::uint64_t address;
	std::uint32_t rkey;
	std::uint32_t reserved;
};

struct Request {
	const char *name;
	ibv_wr_opcode opcode;
	std::uint32_t rkey_xor;      /* changes the key that was offered */
	std::size_t offset = 0;      /* offset in the offered memory */
	bool completes_well = false; /* the request completes before the answer */
};

/* index of another region, the same key */
constexpr std::uint32_t other_region = 0x00100000;

constexpr std::array<Request, 7> requests{{
	{"fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, 0},
	{"cmp-swap", IBV_WR_ATOMIC_CMP_AND_SWP, 0},
	{"send-imm", IBV_WR_SEND_WITH_IMM, 0, 0, true},
	{"read-stag", IBV_WR_RDMA_READ, other_region},
	{"read-bounds", IBV_WR_RDMA_READ, 0, size - 1},
	{"write-stag", IBV_WR_RDMA_WRITE, other_region, 0, true},
	{"write-bounds", IBV_WR_RDMA_WRITE, 0, size - 1, true},
}};

void post(Side &side, const Request &request, const Offer &peer, const ibv_sge &sge)
{
	ibv_send_wr wr{};
	ibv_send_wr *bad = nullptr;
	ibv_sge list = sge;

	wr.wr_id = 1;
	wr.opcode = request.opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.sg_list = &list;
	wr.num_sge = 1;
	if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	    request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = peer.address + request.offset;
		wr.wr.atomic.rkey = peer.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = peer.address + request.offset;
		wr.wr.rdma.rkey = peer.rkey ^ request.rkey_xor;
	}
	must(ibv_post_send(side.qp(), &wr, &bad), "ibv_post_send");
}

std::string describe(const ibv_wc &wc)
{
	std::array<char, 16> code{};

	std::snprintf(code.data(), code.size(), "%#x", wc.vendor_err);
	return std::string{ibv_wc_status_str(wc.status)} + " (" + code.data() + ')';
}

/** class Client - one refusal, on its own connection */
class Client {
public:
	Client(const char *host, const char *port)
		: side_{rdma::make_client(host, port), {}}, data_{side_.pd(), size,
								  IBV_ACCESS_LOCAL_WRITE, untouched}
	{
		const std::array offer{data_.sge(0, sizeof(Offer))};

		must(side_.post_recv(offer), "post_recv");
		side_.connect();
		send_empty();
		rdma::require_status(side_.sends.wait(), IBV_WC_SUCCESS, "hello");
		rdma::require_status(side_.recvs.wait(), IBV_WC_SUCCESS, "offer");
		std::memcpy(&peer_, data_.data(), sizeof(peer_));
	}

	void run(const Request &request, bool after_the_end)
	{
		post(side_, request, peer_, data_.sge(64, 8));
		const ibv_wc first = side_.sends.wait();

		if (!request.completes_well)
			require(first.status != IBV_WC_SUCCESS, "what was refused completed well");
		side_.wait_for_disconnect();
		side_.wait_for_state(IBV_QPS_ERR);
		if (after_the_end) {
			send_empty();
			rdma::require_status(side_.sends.wait(), IBV_WC_WR_FLUSH_ERR,
					     "request after the end");
		}
		std::printf("%-12s %s\n", request.name, describe(first).c_str());
	}

private:
	void send_empty()
	{
		const std::array hello{data_.sge(0, 1)};

		must(side_.post_send(hello), "post_send");
	}

	Side side_;
	Memory data_;
	Offer peer_{};
};

/* one connection: send the offer and wait for the end, which the RNIC makes */
void serve(rdma_cm_id *listener)
{
	Side side{rdma::next_request(listener), {}};
	Memory offered{side.pd(), size, rdma::all_access, untouched};
	Memory control{side.pd(), size, IBV_ACCESS_LOCAL_WRITE};
	const Offer offer{offered.address(), offered.key(), 0};

	for (std::size_t i = 1; i <= 4; i++)
		must(side.post_recv(std::array{control.sge(i * 64, 64)}), "post_recv");
	side.accept();
	rdma::require_status(side.recvs.wait(), IBV_WC_SUCCESS, "hello");
	std::memcpy(control.data(), &offer, sizeof(offer));
	must(side.post_send(std::array{control.sge(0, sizeof(offer))}), "post_send");
	rdma::require_status(side.sends.wait(), IBV_WC_SUCCESS, "offer");
	side.wait_for_disconnect();
	require(offered.is_all(untouched), "memory changed");
}

[[noreturn]] void usage()
{
	std::fputs("krdma_refused -s COUNT [-p PORT] ADDRESS	server of that many connections\n"
		   "krdma_refused [-n] [-p PORT] ADDRESS REQUEST...	client\n"
		   "	-n	post nothing after the end, which siw does not flush\n"
		   "requests:",
		   stderr);
	for (const Request &request : requests)
		std::fprintf(stderr, " %s", request.name);
	std::fputs("\n", stderr);
	std::exit(2);
}

const Request &find(std::string_view name)
{
	const auto found = std::ranges::find(requests, name, &Request::name);

	if (found == requests.end())
		usage();
	return *found;
}

} /* namespace */

int main(int argc, char **argv)
{
	const char *port = "7175";
	int connections = 0;
	bool after_the_end = true;

	for (int c; (c = getopt(argc, argv, "s:p:n")) != -1;) {
		switch (c) {
		case 'n':
			after_the_end = false;
			break;
		case 's':
			connections = std::atoi(optarg);
			break;
		case 'p':
			port = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind >= argc)
		usage();
	const char *host = argv[optind++];

	try {
		if (connections) {
			const rdma::CmId listener = rdma::make_listener(host, port);

			while (connections--)
				serve(listener.get());
		}
		for (; optind < argc; optind++) {
			const Request &request = find(argv[optind]);

			try {
				Client(host, port).run(request, after_the_end);
			} catch (const rdma::Failure &failure) {
				rdma::fail(std::string{request.name} + ": " + failure.what());
			}
		}
		return 0;
	} catch (const rdma::Failure &failure) {
		std::fprintf(stderr, "krdma_refused: %s\n", failure.what());
		return 1;
	}
}
