/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A table of remote accesses and invalidations that must be refused, each with the Terminate
 * of RFC 5040 and 5041: every kind of wrong STag, with every operation. The side that receives
 * the Terminate sees it in the completion of a flushed receive.
 */
#include <algorithm>
#include <array>
#include <cstdio>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

constexpr std::size_t size = 4096;
constexpr std::byte fill{0x77};
constexpr int bindable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;

using Mw = rdma::Owned<ibv_mw, ibv_dealloc_mw>;

/** struct Scene - the two sides of a connection and the memory that the peer may name */
struct Scene {
	explicit Scene(World &world)
		: pair{world}, other_pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")},
		  neighbour{world, {}, {.pd = pair.server().pd()}}
	{}

	Pair pair;
	rdma::Pd other_pd;
	Pair neighbour; /* its server uses the same protection domain */
	std::vector<std::unique_ptr<Memory>> memories;
	std::vector<Mw> windows;

	Memory &memory(ibv_pd *pd, int access)
	{
		return *memories.emplace_back(std::make_unique<Memory>(pd, size, access, fill));
	}
	Memory &memory(int access)
	{
		return memory(pair.server().pd(), access);
	}
	std::uint32_t window(ibv_mw_type type, Pair &owner, unsigned int access)
	{
		Memory &region = memory(bindable);
		const Mw &mw = windows.emplace_back(
			must(ibv_alloc_mw(pair.server().pd(), type), "ibv_alloc_mw"));
		ibv_mw_bind bind{};

		bind.send_flags = IBV_SEND_SIGNALED;
		bind.bind_info = {.mr = region.mr(),
				  .addr = region.address(),
				  .length = size,
				  .mw_access_flags = access};
		if (type == IBV_MW_TYPE_1) {
			must(ibv_bind_mw(owner.server().qp(), mw.get(), &bind), "ibv_bind_mw");
			require_status(owner.server().sends.wait(), IBV_WC_SUCCESS, "bind");
			return mw->rkey;
		}
		ibv_send_wr wr{};
		ibv_send_wr *bad = nullptr;

		wr.opcode = IBV_WR_BIND_MW;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.bind_mw.mw = mw.get();
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		wr.bind_mw.bind_info = bind.bind_info;
		must(ibv_post_send(owner.server().qp(), &wr, &bad), "bind");
		require_status(owner.server().sends.wait(), IBV_WC_SUCCESS, "bind");
		return wr.bind_mw.rkey;
	}
};

/** struct Target - the STag and offset that the peer names */
struct Target {
	std::uint32_t stag;
	std::uint64_t to;
};

constexpr unsigned int both = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

/* the first byte of the newest memory, with that STag */
Target at_first(const Scene &s, std::uint32_t stag)
{
	return {stag, s.memories.back()->address()};
}

Target unknown(Scene &s)
{
	const Memory &m = s.memory(rdma::all_access);

	return {m.key() ^ 0x5a5a5a00, m.address()};
}

Target other_key(Scene &s)
{
	const Memory &m = s.memory(rdma::all_access);

	return {m.key() ^ 1, m.address()};
}

Target deregistered(Scene &s)
{
	Memory &m = s.memory(rdma::all_access);
	const Target target{m.key(), m.address()};

	m.deregister();
	return target;
}

Target local_only(Scene &s)
{
	return at_first(s, s.memory(IBV_ACCESS_LOCAL_WRITE).key());
}

Target foreign(Scene &s)
{
	return at_first(s, s.memory(s.other_pd.get(), rdma::all_access).key());
}

Target behind(Scene &s)
{
	const Memory &m = s.memory(rdma::all_access);

	return {m.key(), m.address(size)};
}

Target wrapping(Scene &s)
{
	return {s.memory(rdma::all_access).key(), UINT64_MAX - 3};
}

Target unbound_window(Scene &s)
{
	const Mw &mw = s.windows.emplace_back(
		must(ibv_alloc_mw(s.pair.server().pd(), IBV_MW_TYPE_2), "ibv_alloc_mw"));

	return {mw->rkey, 0};
}

Target rightless_window(Scene &s)
{
	return at_first(s, s.window(IBV_MW_TYPE_2, s.pair, 0));
}

Target neighbours_window(Scene &s)
{
	return at_first(s, s.window(IBV_MW_TYPE_2, s.neighbour, both));
}

Target behind_the_window(Scene &s)
{
	const std::uint32_t rkey = s.window(IBV_MW_TYPE_2, s.pair, both);

	return {rkey, s.memories.back()->address(size)};
}

Target shared_window(Scene &s)
{
	return at_first(s, s.window(IBV_MW_TYPE_1, s.pair, both));
}

Target region_with_window(Scene &s)
{
	Memory &m = s.memory(rdma::all_access | IBV_ACCESS_MW_BIND);
	const Mw &mw = s.windows.emplace_back(
		must(ibv_alloc_mw(s.pair.server().pd(), IBV_MW_TYPE_1), "ibv_alloc_mw"));
	ibv_mw_bind bind{};

	bind.send_flags = IBV_SEND_SIGNALED;
	bind.bind_info = {.mr = m.mr(), .addr = m.address(), .length = 8, .mw_access_flags = both};
	must(ibv_bind_mw(s.pair.server().qp(), mw.get(), &bind), "ibv_bind_mw");
	require_status(s.pair.server().sends.wait(), IBV_WC_SUCCESS, "bind");
	return {m.key(), m.address()};
}

/** struct Refusal - a target and the Terminate for each operation; 0: it is allowed */
struct Refusal {
	const char *what;
	Target (*target)(Scene &scene);
	std::uint32_t write;
	std::uint32_t read;
	std::uint32_t invalidate;
};

/* RFC 5041 7.2 for a Write, RFC 5040 7.2 for a Read and 5.3 for an invalidation */
constexpr Refusal refusals[] = {
	{"unknown STag", unknown, 0x1100, 0x0100, 0x0209},
	{"another key", other_key, 0x1100, 0x0100, 0x0209},
	{"deregistered region", deregistered, 0x1100, 0x0100, 0x0209},
	{"region without remote rights", local_only, 0x1100, 0x0102, 0x0109},
	{"region of another protection domain", foreign, 0x1102, 0x0103, 0x0109},
	{"behind the region", behind, 0x1101, 0x0101, 0x0109},
	{"TO that wraps", wrapping, 0x1103, 0x0104, 0x0109},
	{"window that is not bound", unbound_window, 0x1100, 0x0100, 0x0209},
	{"window without rights", rightless_window, 0x1100, 0x0102, 0},
	{"window of another queue pair", neighbours_window, 0x1102, 0x0103, 0x0109},
	{"behind the window", behind_the_window, 0x1101, 0x0101, 0},
	{"type 1 window", shared_window, 0, 0, 0x0109},
	{"region with a window", region_with_window, 0, 0, 0x0109},
};

void refused(World &world, const Refusal &refusal, ibv_wr_opcode opcode, std::uint32_t terminate)
{
	Scene s{world};
	Pair &pair = s.pair;
	const Target target = refusal.target(s);
	Memory local{pair.client().pd(), 8, IBV_ACCESS_LOCAL_WRITE};
	const std::array all{local.sge()};
	const bool invalidates = opcode == IBV_WR_SEND_WITH_INV;

	must(pair.client().post_recv({}), "post_recv");
	must(pair.server().post_recv({}), "post_recv");
	must(pair.client().post_rdma(opcode, invalidates ? std::span<const ibv_sge>{} : all,
				     target.to, target.stag),
	     "post_send");
	if (!terminate) {
		require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "what is allowed");
		require_eq(int{pair.client().state()}, int{IBV_QPS_RTS}, "state");
		return;
	}
	const ibv_wc here = pair.client().recvs.wait();
	require_status(here, IBV_WC_WR_FLUSH_ERR, "the peer's receive");
	require_eq(here.vendor_err, terminate, "Terminate");
	const ibv_wc there = pair.server().recvs.wait();
	require_status(there, invalidates ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_WR_FLUSH_ERR,
		       "receive");
	require_eq(there.vendor_err, terminate, "Terminate as sent");
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
	for (const auto &memory : s.memories)
		require(memory->is_all(fill), "a refused access changed memory");
	/* the other connection is not affected */
	require_eq(int{s.neighbour.client().state()}, int{IBV_QPS_RTS}, "state of the neighbour");
}

void each(World &world, ibv_wr_opcode opcode, std::uint32_t Refusal::*terminate)
{
	for (const Refusal &refusal : refusals) {
		try {
			refused(world, refusal, opcode, refusal.*terminate);
		} catch (const rdma::Failure &failure) {
			rdma::fail(std::string{refusal.what} + ": " + failure.what());
		}
	}
}

void refused_writes(World &world)
{
	each(world, IBV_WR_RDMA_WRITE, &Refusal::write);
}

void refused_reads(World &world)
{
	each(world, IBV_WR_RDMA_READ, &Refusal::read);
}

void refused_invalidations(World &world)
{
	each(world, IBV_WR_SEND_WITH_INV, &Refusal::invalidate);
}

} /* namespace */

const std::vector<Check> refusal_checks{
	{"refused_writes", refused_writes},
	{"refused_reads", refused_reads},
	{"refused_invalidations", refused_invalidations},
};

} /* namespace checks */
