/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of local work requests: their order in the send queue, their failures, and that an
 * invalidated region allows no access.
 */
#include <algorithm>
#include <array>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

constexpr std::size_t size = 40000;
constexpr std::byte here{0x33};
constexpr std::byte there{0x77};

void local_inv(rdma::Side &side, std::uint32_t key, unsigned int flags = IBV_SEND_SIGNALED,
	       std::uint64_t wr_id = 0)
{
	ibv_send_wr wr{};
	ibv_send_wr *bad;

	wr.wr_id = wr_id;
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.send_flags = flags;
	wr.invalidate_rkey = key;
	must(ibv_post_send(side.qp(), &wr, &bad), "post_send");
}

void invalidated(rdma::Side &side, std::uint64_t wr_id = 0)
{
	const ibv_wc wc = side.sends.wait();

	require_status(wc, IBV_WC_SUCCESS, "local invalidate");
	require_eq(int{wc.opcode}, int{IBV_WC_LOCAL_INV}, "opcode");
	require_eq(wc.wr_id, wr_id, "order of completions");
}

void ends(Pair &pair)
{
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
}

void closes_region_to_the_peer(World &world)
{
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
		Pair pair{world};
		Memory remote{pair.server().pd(), size, rdma::all_access, there};
		Memory local{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, here};
		const std::array sge{local.sge()};

		must(pair.client().post_rdma(opcode, sge, remote.address(), remote.key()), "post");
		require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "before");
		/* the Send arrives after the Write, so the Write is placed */
		must(pair.server().post_recv({}), "post_recv");
		must(pair.client().post_send({}), "post_send");
		require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Send");
		require_status(pair.server().recvs.wait(), IBV_WC_SUCCESS, "receive");
		const std::byte before = opcode == IBV_WR_RDMA_READ ? there : here;
		require(remote.is_all(before) && local.is_all(before), "data");

		local_inv(pair.server(), remote.key());
		invalidated(pair.server());
		std::ranges::fill(local.span(), std::byte{1});
		must(pair.client().post_rdma(opcode, sge, remote.address(), remote.key()), "post");
		ends(pair);
		require(remote.is_all(before) && local.is_all(std::byte{1}), "refused access");
	}
	still_works(world);
}

void closes_region_to_its_owner(World &world)
{
	Pair pair{world};
	Memory local{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, here};
	const std::array sge{local.sge()};

	local_inv(pair.client(), local.key());
	invalidated(pair.client());
	must(pair.client().post_send(sge), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_LOC_PROT_ERR, "Send from it");
	ends(pair);
}

/* An invalidation does not affect requests that were posted before it. */
void keeps_its_turn(World &world)
{
	Pair pair{world};
	Memory from{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, here};
	Memory to{pair.server().pd(), 2 * size, IBV_ACCESS_LOCAL_WRITE};
	const std::array source{from.sge()};
	const std::array first{to.sge(0, size)};
	const std::array second{to.sge(size, size)};

	must(pair.server().post_recv(first), "post_recv");
	must(pair.server().post_recv(second), "post_recv");
	must(pair.client().post_send(source, 0, 1), "post_send");
	must(pair.client().post_send(source, IBV_SEND_SIGNALED, 2), "post_send");
	local_inv(pair.client(), from.key(), IBV_SEND_SIGNALED, 3);
	const ibv_wc wc = pair.client().sends.wait();
	require_status(wc, IBV_WC_SUCCESS, "Send");
	require_eq(wc.wr_id, std::uint64_t{2}, "order of completions");
	invalidated(pair.client(), 3);
	require_status(pair.server().recvs.wait(), IBV_WC_SUCCESS, "receive");
	require_status(pair.server().recvs.wait(), IBV_WC_SUCCESS, "receive");
	require(to.is_all(here), "data");
}

void fence_waits_for_reads(World &world)
{
	Pair pair{world};
	Memory remote{pair.server().pd(), size, rdma::all_access, there};
	Memory local{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, here};

	for (std::size_t part = 0; part < 4; part++) {
		const std::array sge{local.sge(part * size / 4, size / 4)};

		must(pair.client().post_rdma(IBV_WR_RDMA_READ, sge, remote.address(), remote.key(),
					     IBV_SEND_SIGNALED, part),
		     "post");
	}
	local_inv(pair.client(), local.key(), IBV_SEND_SIGNALED | IBV_SEND_FENCE, 4);
	for (std::uint64_t part = 0; part < 4; part++) {
		const ibv_wc wc = pair.client().sends.wait();

		require_status(wc, IBV_WC_SUCCESS, "Read");
		require_eq(wc.wr_id, part, "order of completions");
	}
	invalidated(pair.client(), 4);
	require(local.is_all(there), "data");
}

/* Before the peer has sent its first message, when an MPA responder must not send. */
void needs_no_peer(World &world)
{
	Pair pair{world};
	Memory memory{pair.server().pd(), size, rdma::all_access};

	local_inv(pair.server(), memory.key());
	invalidated(pair.server());
}

void fails(World &world, std::uint32_t key, ibv_pd *pd, ibv_wc_status status)
{
	Pair pair{world, {.pd = pd}};

	must(pair.server().post_recv({}, 9), "post_recv");
	local_inv(pair.client(), key);
	const ibv_wc wc = pair.client().sends.wait();
	require_status(wc, status, "invalidation");
	ends(pair);
	require_status(pair.server().recvs.wait(), IBV_WC_WR_FLUSH_ERR, "receive");
}

void needs_a_valid_key(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Memory memory{pd.get(), size, rdma::all_access, here};

	fails(world, memory.key() ^ 1, pd.get(), IBV_WC_MW_BIND_ERR);
	fails(world, memory.key() ^ 0x5a5a5a00, pd.get(), IBV_WC_MW_BIND_ERR);
	fails(world, 0, pd.get(), IBV_WC_MW_BIND_ERR);
	/* of another protection domain */
	fails(world, memory.key(), nullptr, IBV_WC_MW_BIND_ERR);
	{
		Pair pair{world, {.pd = pd.get()}};

		/* an invalid region stays invalid */
		for (int i = 0; i < 2; i++) {
			local_inv(pair.client(), memory.key());
			invalidated(pair.client());
		}
	}
	fails(world, memory.key(), nullptr, IBV_WC_MW_BIND_ERR);
}

/* 2^32 bytes: the completion has an error, and there is no event */
void message_too_long(World &world)
{
	Pair pair{world};
	Memory memory{pair.client().pd(), size, rdma::all_access};
	ibv_sge half = memory.sge();

	half.length = 1U << 31;
	must(pair.client().post_send(std::array{half, half}), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_LOC_LEN_ERR, "Send of 2^32 octets");
	ends(pair);
}

void by_the_extended_interface(World &world)
{
	Pair pair{world, {.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_LOCAL_INV}};
	Memory memory{pair.client().pd(), size, rdma::all_access};
	ibv_qp_ex *qp = must(ibv_qp_to_qp_ex(pair.client().qp()), "ibv_qp_to_qp_ex");

	ibv_wr_start(qp);
	qp->wr_id = 5;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_local_inv(qp, memory.key());
	must(ibv_wr_complete(qp), "ibv_wr_complete");
	invalidated(pair.client(), 5);
}

} /* namespace */

const std::vector<Check> local_checks{
	{"local_inv_closes_region_to_the_peer", closes_region_to_the_peer},
	{"local_inv_closes_region_to_its_owner", closes_region_to_its_owner},
	{"local_inv_keeps_its_turn", keeps_its_turn},
	{"local_inv_fence_waits_for_reads", fence_waits_for_reads},
	{"local_inv_needs_no_peer", needs_no_peer},
	{"local_inv_needs_a_valid_key", needs_a_valid_key},
	{"local_inv_by_the_extended_interface", by_the_extended_interface},
	{"message_too_long", message_too_long},
};

} /* namespace checks */
