/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of immediate data with a Send and with an RDMA Write, from no data to many segments,
 * inline or not: one completion for both parts, in order with other messages; all bytes in
 * their place and no others changed; events.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include <arpa/inet.h>

#include "checks.hpp"
#include "pattern.hpp"

namespace checks {
namespace {

using namespace std::chrono_literals;
using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;
using rdma::Side;

constexpr std::byte untouched{0xee};
constexpr std::size_t most = std::size_t{1} << 20;
constexpr std::array<std::size_t, 9> sizes{0, 1, 7, 8, 1021, 4096, 65536, 300001, most};

int post(Side &side, ibv_wr_opcode opcode, std::uint32_t imm, std::span<const ibv_sge> sges,
	 std::uint64_t address = 0, std::uint32_t rkey = 0, unsigned int flags = IBV_SEND_SIGNALED)
{
	ibv_send_wr wr{};
	ibv_send_wr *bad = nullptr;

	wr.opcode = opcode;
	wr.send_flags = flags;
	wr.imm_data = htonl(imm);
	wr.sg_list = const_cast<ibv_sge *>(sges.data());
	wr.num_sge = static_cast<int>(sges.size());
	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(side.qp(), &wr, &bad);
}

void sent(Side &side, ibv_wc_opcode opcode)
{
	const ibv_wc wc = side.sends.wait();

	require_status(wc, IBV_WC_SUCCESS, "request");
	require_eq(int{wc.opcode}, int{opcode}, "opcode of the sender's completion");
}

void received(Side &side, ibv_wc_opcode opcode, std::size_t length, std::uint32_t imm)
{
	const ibv_wc wc = side.recvs.wait();

	require_status(wc, IBV_WC_SUCCESS, "receive");
	require_eq(int{wc.opcode}, int{opcode}, "opcode of the receiver's completion");
	require_eq(std::size_t{wc.byte_len}, length, "byte_len");
	require_eq(unsigned{wc.wc_flags}, unsigned{IBV_WC_WITH_IMM}, "wc_flags");
	require_eq(ntohl(wc.imm_data), imm, "immediate data");
}

void fill(Memory &memory, std::size_t size, std::uint64_t seed)
{
	const auto pieces = pattern::scatter(size, 1, 1);

	pattern::write(memory.span(), pieces, seed);
}

/* The data of fill() is at the beginning of @memory, and nothing is behind it. */
void is_filled(Memory &memory, Memory &from, std::size_t size)
{
	require(std::equal(memory.data(), memory.data() + size, from.data()), "data");
	require(std::all_of(memory.data() + size, memory.data() + memory.span().size(),
			    [](std::byte b) { return b == untouched; }),
		"memory behind the data");
}

void send_with_immediate(World &world)
{
	Pair pair{world};
	Memory from{pair.client().pd(), most + 64, 0};
	std::uint32_t imm = 0xfffffff0;

	for (std::size_t size : sizes) {
		Memory to{pair.server().pd(), most + 64, IBV_ACCESS_LOCAL_WRITE, untouched};
		const std::array list{from.sge(0, size)};

		fill(from, size, size);
		must(pair.server().post_recv(std::array{to.sge()}), "post_recv");
		must(pair.server().post_recv(std::array{to.sge(most, 64)}), "post_recv");
		must(post(pair.client(), IBV_WR_SEND_WITH_IMM, imm, list), "post_send");
		sent(pair.client(), IBV_WC_SEND);
		received(pair.server(), IBV_WC_RECV, size, imm++);
		is_filled(to, from, size);

		/* the next Send has no immediate data, and the queue has lost no receive */
		must(pair.client().post_send(std::array{from.sge(0, 3)}), "post_send");
		sent(pair.client(), IBV_WC_SEND);
		const ibv_wc wc = pair.server().recvs.wait();
		require_status(wc, IBV_WC_SUCCESS, "receive");
		require_eq(unsigned{wc.wc_flags}, 0U, "wc_flags of a plain Send");
		require_eq(wc.byte_len, 3U, "byte_len of a plain Send");
	}
}

void write_with_immediate(World &world)
{
	Pair pair{world};
	Memory from{pair.client().pd(), most + 64, 0};
	Memory unused{pair.server().pd(), 64, IBV_ACCESS_LOCAL_WRITE, untouched};
	std::uint32_t imm = 0x6b72646d; /* no value is special */

	for (std::size_t size : sizes) {
		Memory to{pair.server().pd(), most + 64, rdma::all_access, untouched};
		const std::array list{from.sge(0, size / 2), from.sge(size / 2, size - size / 2)};

		fill(from, size, size + 1);
		must(pair.server().post_recv(std::array{unused.sge()}), "post_recv");
		must(post(pair.client(), IBV_WR_RDMA_WRITE_WITH_IMM, imm, list, to.address(),
			  to.key()),
		     "post_send");
		sent(pair.client(), IBV_WC_RDMA_WRITE);
		received(pair.server(), IBV_WC_RECV_RDMA_WITH_IMM, size, imm++);
		is_filled(to, from, size);
	}
	require(unused.is_all(untouched), "the receive's own memory");
}

void a_receive_without_memory(World &world)
{
	Pair pair{world};
	Memory to{pair.server().pd(), 64, rdma::all_access, untouched};
	Memory from{pair.client().pd(), 64, 0, std::byte{5}};

	must(pair.server().post_recv({}), "post_recv");
	must(pair.server().post_recv({}), "post_recv");
	must(post(pair.client(), IBV_WR_RDMA_WRITE_WITH_IMM, 1, std::array{from.sge()},
		  to.address(), to.key()),
	     "post Write");
	must(post(pair.client(), IBV_WR_SEND_WITH_IMM, 2, {}), "post Send");
	received(pair.server(), IBV_WC_RECV_RDMA_WITH_IMM, 64, 1);
	received(pair.server(), IBV_WC_RECV, 0, 2);
	require(to.is_all(std::byte{5}), "data");
}

void inline_and_newer_calls(World &world)
{
	rdma::SideOptions options;
	options.cap.max_inline_data = 256;
	options.send_ops = IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	Pair pair{world, options};
	Memory to{pair.server().pd(), 200, rdma::all_access};
	Memory by_send{pair.server().pd(), 200, IBV_ACCESS_LOCAL_WRITE};
	ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.client().qp());
	std::vector<std::byte> data(200, std::byte{0x42});

	must(pair.server().post_recv({}), "post_recv");
	must(pair.server().post_recv(std::array{by_send.sge()}), "post_recv");
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(qp, to.key(), to.address(), htonl(77));
	ibv_wr_set_inline_data(qp, data.data(), data.size());
	ibv_wr_send_imm(qp, htonl(78));
	ibv_wr_set_inline_data(qp, data.data(), data.size());
	must(ibv_wr_complete(qp), "ibv_wr_complete");
	sent(pair.client(), IBV_WC_RDMA_WRITE);
	sent(pair.client(), IBV_WC_SEND);
	received(pair.server(), IBV_WC_RECV_RDMA_WITH_IMM, 200, 77);
	received(pair.server(), IBV_WC_RECV, 200, 78);
	require(to.is_all(std::byte{0x42}), "data of the Write");
	require(by_send.is_all(std::byte{0x42}), "data of the Send");
}

/* Each kind of message in turn, with Reads of the peer in between: the order is kept. */
void many_in_order(World &world)
{
	constexpr std::uint32_t rounds = 300;
	Pair pair{world};
	Memory from{pair.client().pd(), 5000, 0, std::byte{1}};
	Memory to{pair.server().pd(), 5000, rdma::all_access};
	Memory by_send{pair.server().pd(), 5000, IBV_ACCESS_LOCAL_WRITE};
	Memory read{pair.client().pd(), 5000, IBV_ACCESS_LOCAL_WRITE};

	for (std::uint32_t i = 0; i < rounds; i++) {
		const std::size_t size = i * 37 % 5000;
		const std::array list{from.sge(0, size)};

		must(pair.server().post_recv(std::array{by_send.sge()}), "post_recv");
		if (i % 3 == 0)
			must(post(pair.client(), IBV_WR_RDMA_WRITE_WITH_IMM, i, list, to.address(),
				  to.key(), 0),
			     "post_send");
		else if (i % 3 == 1)
			must(post(pair.client(), IBV_WR_SEND_WITH_IMM, i, list, 0, 0, 0),
			     "post_send");
		else
			must(pair.client().post_send(list, 0), "post_send");
		must(pair.client().post_rdma(IBV_WR_RDMA_READ, std::array{read.sge(0, 100)},
					     to.address(), to.key()),
		     "post Read");
		require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Read");
		if (i % 3 == 0)
			received(pair.server(), IBV_WC_RECV_RDMA_WITH_IMM, size, i);
		else if (i % 3 == 1)
			received(pair.server(), IBV_WC_RECV, size, i);
		else
			require_eq(std::size_t{pair.server().recvs.wait().byte_len}, size,
				   "byte_len of a Send");
	}
}

void shared_receive_queue(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	ibv_srq_init_attr attr{};
	attr.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &attr), "ibv_create_srq")};
	rdma::SideOptions server;
	server.pd = pd.get();
	server.srq = srq.get();
	Pair first{world, {}, server};
	Pair second{world, {}, server};
	Memory to{pd.get(), 64, rdma::all_access};
	Memory from{first.client().pd(), 64, 0, std::byte{9}};
	ibv_recv_wr wr{};
	ibv_recv_wr *bad = nullptr;

	for (int i = 0; i < 2; i++)
		must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");
	must(post(first.client(), IBV_WR_RDMA_WRITE_WITH_IMM, 1, std::array{from.sge()},
		  to.address(), to.key()),
	     "post Write");
	received(first.server(), IBV_WC_RECV_RDMA_WITH_IMM, 64, 1);
	must(post(second.client(), IBV_WR_SEND_WITH_IMM, 2, {}), "post Send");
	received(second.server(), IBV_WC_RECV, 0, 2);
	require(to.is_all(std::byte{9}), "data");
}

void solicited_events(World &world)
{
	Pair pair{world};
	Memory to{pair.server().pd(), 64, rdma::all_access};
	Memory from{pair.client().pd(), 64, 0};

	for (ibv_wr_opcode opcode : {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM}) {
		for (bool solicited : {false, true}) {
			std::optional<ibv_wc> wc;

			must(pair.server().post_recv(std::array{to.sge()}), "post_recv");
			pair.server().recvs.arm(true);
			must(post(pair.client(), opcode, 5, std::array{from.sge()}, to.address(),
				  to.key(), solicited ? IBV_SEND_SOLICITED : 0),
			     "post_send");
			if (solicited)
				require(pair.server().recvs.event(20s), "a solicited event");
			rdma::wait_until(
				[&] { return (wc = pair.server().recvs.poll()).has_value(); },
				"completion");
			require_status(*wc, IBV_WC_SUCCESS, "receive");
			require_eq(ntohl(wc->imm_data), 5U, "immediate data");
			if (!solicited)
				require(!pair.server().recvs.event(200ms),
					"an event that nobody solicited");
		}
	}
}

/* The Write is refused, so the immediate data does not arrive. */
void not_after_a_refused_write(World &world)
{
	Pair pair{world};
	Memory to{pair.server().pd(), 64, IBV_ACCESS_LOCAL_WRITE, untouched};
	Memory from{pair.client().pd(), 64, 0};

	must(pair.server().post_recv({}), "post_recv");
	must(post(pair.client(), IBV_WR_RDMA_WRITE_WITH_IMM, 1, std::array{from.sge()},
		  to.address(), to.key()),
	     "post Write");
	require_status(pair.server().recvs.wait(), IBV_WC_WR_FLUSH_ERR, "receive");
	pair.client().wait_for_state(IBV_QPS_ERR);
	require(to.is_all(untouched), "memory");
}

} /* namespace */

const std::vector<Check> immediate_checks{
	{"send_with_immediate", send_with_immediate},
	{"write_with_immediate", write_with_immediate},
	{"a_receive_without_memory", a_receive_without_memory},
	{"immediate_inline_by_the_newer_calls", inline_and_newer_calls},
	{"immediate_many_in_order", many_in_order},
	{"immediate_on_a_shared_receive_queue", shared_receive_queue},
	{"immediate_solicited_events", solicited_events},
	{"immediate_not_after_a_refused_write", not_after_a_refused_write},
};

} /* namespace checks */
