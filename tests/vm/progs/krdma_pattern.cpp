/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Client and server that move pseudo-random data by Send, RDMA Write and RDMA Read in both
 * directions and in many sizes. Source and target are unaligned and scattered. Every byte of
 * the target is compared, and the bytes around it, too. The exit status is 0 only if this side
 * found no fault.
 *
 * Both sides go through the same list of steps. In each step one side is active and moves the
 * data. The other side is passive:
 *
 *	passive			active
 *	  Ready ----------------->		Send: a receive is posted; else: memory
 *	  <------------ Send, Write, or Read
 *	  <----------------- Done		not after a Send
 *
 * A receive for a message is always posted before the peer can know that it may send the
 * message, because iWARP has no retry.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <getopt.h>
#include <unistd.h>

#include "pattern.hpp"
#include "rdma.hpp"

namespace {

using pattern::Piece;
using rdma::require_eq;

enum class Op : std::uint8_t { send, write, read };
constexpr std::array op_names{"send", "write", "read"};

struct Step {
	Op op;
	bool client_active;
	std::size_t size;
	std::size_t active_sges;
	std::size_t passive_sges; /* pieces of a receive; remote memory is contiguous */
};

/* the message of the passive side */
struct Ready {
	std::uint64_t address;
	std::uint32_t rkey;
	std::uint32_t step;
};

struct Options {
	const char *host = nullptr;
	const char *port = "7174";
	std::size_t max_size = std::size_t{64} << 20;
	bool server = false;
	bool no_empty = false; /* siw fails with empty elements, see docs/interop.md */
};

constexpr std::array<std::size_t, 10> sizes{
	0, 1, 3, 1021, 4095, 4096, 4097, 65535, std::size_t{1} << 20, std::size_t{64} << 20,
};
constexpr std::size_t big = std::size_t{16} << 20;

std::vector<Step> make_steps(const Options &options, std::size_t max_sge, std::size_t max_read_sge)
{
	std::vector<Step> steps;

	for (std::size_t size : sizes) {
		if (size > options.max_size)
			break;
		for (Op op : {Op::send, Op::write, Op::read}) {
			if (op == Op::read && !size && options.no_empty)
				continue;
			const std::size_t most = op == Op::read ? max_read_sge : max_sge;

			/* the client sends first, because a responder must wait for that */
			for (bool client_active : {false, true}) {
				steps.push_back({op, client_active, size, most, max_sge});
				if (size >= big)
					continue;
				steps.push_back({op, client_active, size, 1, 1});
				steps.push_back({op, client_active, size,
						 std::min<std::size_t>(most, 3),
						 std::min<std::size_t>(max_sge, 5)});
			}
		}
	}
	return steps;
}

/** class Runner - one side on its way through the steps */
class Runner {
public:
	Runner(rdma::CmId id, const Options &options)
		: client_{!options.server}, no_empty_{options.no_empty}, device_{query(id->verbs)},
		  side_{std::move(id), side_options(device_)}, data_{side_.pd(),
								     options.max_size + margin,
								     rdma::all_access},
		  control_{side_.pd(), 4 * sizeof(Ready), IBV_ACCESS_LOCAL_WRITE},
		  steps_{make_steps(options, max_sge(device_), max_read_sge(device_))}
	{
		if (active(0))
			post_control_recv(0);
	}

	rdma::Side &side()
	{
		return side_;
	}

	std::size_t run()
	{
		for (step_ = 0; step_ < steps_.size(); step_++) {
			try {
				if (active(step_))
					run_active(steps_[step_]);
				else
					run_passive(steps_[step_]);
			} catch (const rdma::Failure &failure) {
				throw rdma::Failure{describe(steps_[step_]) + ": " +
						    failure.what()};
			}
		}
		return steps_.size();
	}

private:
	static constexpr std::size_t margin = 512; /* for gaps between pieces */
	static constexpr std::size_t guard = 64;   /* bytes compared behind the data */

	static ibv_device_attr query(ibv_context *context)
	{
		ibv_device_attr attr{};

		rdma::must(ibv_query_device(context, &attr), "ibv_query_device");
		return attr;
	}

	static std::size_t max_sge(const ibv_device_attr &attr)
	{
		return static_cast<std::size_t>(std::clamp(attr.max_sge, 1, 16));
	}

	static std::size_t max_read_sge(const ibv_device_attr &attr)
	{
		return static_cast<std::size_t>(
			std::clamp(std::min(attr.max_sge_rd, attr.max_sge), 1, 16));
	}

	static rdma::SideOptions side_options(const ibv_device_attr &attr)
	{
		rdma::SideOptions options;

		options.cap.max_send_sge = options.cap.max_recv_sge =
			static_cast<std::uint32_t>(max_sge(attr));
		return options;
	}

	[[nodiscard]] bool active(std::size_t step) const
	{
		return step < steps_.size() && steps_[step].client_active == client_;
	}

	[[nodiscard]] std::string describe(const Step &step) const
	{
		return std::string{op_names.at(static_cast<std::size_t>(step.op))} + " of " +
		       std::to_string(step.size) + " octets by " +
		       (step.client_active ? "client" : "server") + ", " +
		       std::to_string(step.active_sges) + " and " +
		       std::to_string(step.passive_sges) + " sges, step " + std::to_string(step_);
	}

	/* both sides know the data of a step */
	[[nodiscard]] std::uint64_t seed() const
	{
		return step_ + 1;
	}

	[[nodiscard]] std::vector<ibv_sge> sges(std::span<const Piece> pieces) const
	{
		std::vector<ibv_sge> list;

		for (const Piece &piece : pieces) {
			if (piece.length || !no_empty_)
				list.push_back(data_.sge(piece.offset, piece.length));
		}
		if (list.empty())
			list.push_back(data_.sge(pieces.front().offset, 0));
		return list;
	}

	[[nodiscard]] std::span<std::byte> area(std::span<const Piece> pieces)
	{
		return data_.span().first(pattern::extent(pieces) + guard);
	}

	void check(std::span<const Piece> pieces)
	{
		const auto where = area(pieces);
		const std::size_t at = pattern::mismatch(where, pieces, seed());

		if (at != where.size())
			rdma::fail("octet " + std::to_string(at) + " of the buffer is wrong");
	}

	/* control messages: two slots each to receive and to send */

	void post_control_recv(std::size_t step)
	{
		const std::array list{control_.sge(step % 2 * sizeof(Ready), sizeof(Ready))};

		rdma::must(side_.post_recv(list, step), "post_recv");
	}

	void send_control(const Ready &message)
	{
		const std::size_t offset = (2 + step_ % 2) * sizeof(Ready);
		const std::array list{control_.sge(offset, sizeof(Ready))};

		std::memcpy(control_.data() + offset, &message, sizeof(message));
		rdma::must(side_.post_send(list), "post_send");
		complete_send(IBV_WC_SEND);
	}

	void complete_send(ibv_wc_opcode opcode)
	{
		const ibv_wc wc = side_.sends.wait();

		rdma::require_status(wc, IBV_WC_SUCCESS, "request");
		require_eq(int{wc.opcode}, int{opcode}, "opcode of a send completion");
	}

	Ready receive_control()
	{
		Ready message;

		expect_recv(sizeof(message));
		std::memcpy(&message, control_.data() + step_ % 2 * sizeof(Ready), sizeof(message));
		require_eq(std::size_t{message.step}, step_, "step of a control message");
		return message;
	}

	void expect_recv(std::size_t length)
	{
		const ibv_wc wc = side_.recvs.wait();

		rdma::require_status(wc, IBV_WC_SUCCESS, "receive");
		require_eq(int{wc.opcode}, int{IBV_WC_RECV}, "opcode of a receive completion");
		require_eq(std::size_t{wc.byte_len}, length, "byte_len");
		require_eq(std::size_t{wc.wr_id}, step_, "wr_id");
	}

	void run_active(const Step &step)
	{
		const auto pieces = pattern::scatter(step.size, step.active_sges, 1);
		const auto list = sges(pieces);

		if (step.op == Op::read)
			std::ranges::fill(area(pieces), pattern::untouched);
		else
			pattern::write(area(pieces), pieces, seed());

		const Ready peer = receive_control();
		if (active(step_ + 1))
			post_control_recv(step_ + 1);
		switch (step.op) {
		case Op::send:
			rdma::must(side_.post_send(list), "post_send");
			complete_send(IBV_WC_SEND);
			return;
		case Op::write:
			rdma::must(
				side_.post_rdma(IBV_WR_RDMA_WRITE, list, peer.address, peer.rkey),
				"post_send");
			complete_send(IBV_WC_RDMA_WRITE);
			break;
		case Op::read:
			rdma::must(side_.post_rdma(IBV_WR_RDMA_READ, list, peer.address, peer.rkey),
				   "post_send");
			complete_send(IBV_WC_RDMA_READ);
			check(pieces);
			break;
		}
		send_control({0, 0, static_cast<std::uint32_t>(step_)});
	}

	void run_passive(const Step &step)
	{
		const std::size_t n = step.op == Op::send ? step.passive_sges : 1;
		const auto pieces = pattern::scatter(step.size, n, 3);

		if (step.op == Op::read)
			pattern::write(area(pieces), pieces, seed());
		else
			std::ranges::fill(area(pieces), pattern::untouched);

		if (step.op == Op::send)
			rdma::must(side_.post_recv(sges(pieces), step_), "post_recv");
		else
			post_control_recv(step_);
		if (active(step_ + 1))
			post_control_recv(step_ + 1);
		send_control({data_.address(pieces.front().offset), data_.key(),
			      static_cast<std::uint32_t>(step_)});
		if (step.op == Op::send)
			expect_recv(step.size);
		else
			receive_control();
		check(pieces);
	}

	bool client_;
	bool no_empty_;
	ibv_device_attr device_;
	rdma::Side side_;
	rdma::Memory data_;
	rdma::Memory control_;
	std::vector<Step> steps_;
	std::size_t step_{};
};

std::size_t run(const Options &options)
{
	if (options.server) {
		const rdma::CmId listener = rdma::make_listener(options.host, options.port);
		Runner runner{rdma::next_request(listener.get()), options};

		runner.side().accept();
		const std::size_t steps = runner.run();
		/* the client ends the connection, so that no answer is lost */
		runner.side().wait_for_disconnect();
		return steps;
	}
	Runner runner{rdma::make_client(options.host, options.port), options};

	runner.side().connect();
	const std::size_t steps = runner.run();
	rdma_disconnect(runner.side().id());
	return steps;
}

[[noreturn]] void usage()
{
	std::fputs("krdma_pattern -s [-e] [-p PORT] [-m MAXSIZE] [ADDRESS]	server\n"
		   "krdma_pattern [-e] [-p PORT] [-m MAXSIZE] ADDRESS	client\n"
		   "	-e	no empty elements in scatter lists, no empty RDMA Reads\n",
		   stderr);
	std::exit(2);
}

} /* namespace */

int main(int argc, char **argv)
{
	Options options;

	for (int c; (c = getopt(argc, argv, "sep:m:")) != -1;) {
		switch (c) {
		case 's':
			options.server = true;
			break;
		case 'e':
			options.no_empty = true;
			break;
		case 'p':
			options.port = optarg;
			break;
		case 'm':
			options.max_size = std::strtoull(optarg, nullptr, 0);
			break;
		default:
			usage();
		}
	}
	if (optind < argc)
		options.host = argv[optind++];
	if (optind != argc || (!options.server && !options.host))
		usage();

	try {
		const std::size_t steps = run(options);

		std::printf("%zu transfers, all octets right\n", steps);
		return 0;
	} catch (const rdma::Failure &failure) {
		std::fprintf(stderr, "krdma_pattern: %s\n", failure.what());
		return 1;
	}
}
