/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of memory protection: which regions, and which parts of them, the peer may read and
 * write, and which memory local work requests may name. A refused access ends the connection
 * on both sides and moves no byte.
 */
#include <algorithm>
#include <array>
#include <cerrno>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_status;

constexpr std::size_t size = 4096;
constexpr std::byte remote_fill{0x77};
constexpr std::byte local_fill{0x33};

/** struct Target - the memory that an access names */
struct Target {
	std::uint64_t address;
	std::uint32_t rkey;
	std::size_t length;
};

void ends(Pair &pair)
{
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
}

void refuses_read(Pair &pair, const Target &target)
{
	Memory local{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, local_fill};
	const std::array to{local.sge(0, target.length)};

	must(pair.client().post_rdma(IBV_WR_RDMA_READ, to, target.address, target.rkey),
	     "post_send");
	const ibv_wc wc = pair.client().sends.wait();
	require_status(wc, IBV_WC_REM_ACCESS_ERR, "refused Read");
	ends(pair);
	require(local.is_all(local_fill), "a refused Read brought data");
}

void refuses_write(Pair &pair, const Target &target)
{
	Memory local{pair.client().pd(), size, 0, local_fill};
	const std::array from{local.sge(0, target.length)};

	/* a Write completes when it is sent, refused or not */
	must(pair.client().post_rdma(IBV_WR_RDMA_WRITE, from, target.address, target.rkey),
	     "post_send");
	ends(pair);
}

/* Try both accesses on new connections; make() gives the target its region. */
template <typename Make> void refuses_both(World &world, Make make)
{
	{
		Pair pair{world};
		Memory memory{pair.server().pd(), size, rdma::all_access, remote_fill};

		refuses_read(pair, make(pair, memory));
	}
	Pair pair{world};
	Memory memory{pair.server().pd(), size, rdma::all_access, remote_fill};
	refuses_write(pair, make(pair, memory));
	require(memory.is_all(remote_fill), "a refused Write changed memory");
}

void read_without_remote_read(World &world)
{
	for (int access :
	     {0, int{IBV_ACCESS_LOCAL_WRITE}, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}) {
		Pair pair{world};
		Memory memory{pair.server().pd(), size, access, remote_fill};

		refuses_read(pair, {memory.address(), memory.key(), size});
	}
}

void write_without_remote_write(World &world)
{
	for (int access :
	     {0, int{IBV_ACCESS_LOCAL_WRITE}, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ}) {
		Pair pair{world};
		Memory memory{pair.server().pd(), size, access, remote_fill};

		refuses_write(pair, {memory.address(), memory.key(), size});
		require(memory.is_all(remote_fill), "a refused Write changed memory");
	}
}

/* If one of several Reads is refused, that Read fails, and not the first. */
void the_refused_one_of_several_reads(World &world)
{
	constexpr std::size_t large = 1 << 20;
	constexpr std::uint64_t reads = 4;
	constexpr std::uint64_t bad = 2;
	Pair pair{world};
	Memory open{pair.server().pd(), large, rdma::all_access, remote_fill};
	Memory closed{pair.server().pd(), large, IBV_ACCESS_LOCAL_WRITE, remote_fill};
	Memory local{pair.client().pd(), reads * large, IBV_ACCESS_LOCAL_WRITE, local_fill};

	for (std::uint64_t i = 0; i < reads; i++) {
		Memory &from = i == bad ? closed : open;
		const std::array to{local.sge(i * large, large)};

		must(pair.client().post_rdma(IBV_WR_RDMA_READ, to, from.address(), from.key(),
					     IBV_SEND_SIGNALED, i),
		     "post_send");
	}
	for (std::uint64_t i = 0; i < reads; i++) {
		const ibv_wc wc = pair.client().sends.wait();

		rdma::require_eq(wc.wr_id, i, "order");
		if (i != bad && (i > bad || wc.status != IBV_WC_SUCCESS))
			require_status(wc, IBV_WC_WR_FLUSH_ERR, "Read that nobody refused");
		if (i == bad)
			require_status(wc, IBV_WC_REM_ACCESS_ERR, "refused Read");
	}
	ends(pair);
	require(std::ranges::all_of(local.span().subspan(bad * large),
				    [](std::byte b) { return b == local_fill; }),
		"a refused Read brought data");
}

void behind_the_end(World &world)
{
	refuses_both(world, [](Pair &, Memory &m) { return Target{m.address(1), m.key(), size}; });
	refuses_both(world, [](Pair &, Memory &m) { return Target{m.address(size), m.key(), 1}; });
}

void before_the_beginning(World &world)
{
	refuses_both(world, [](Pair &, Memory &m) { return Target{m.address() - 1, m.key(), 2}; });
}

void around_the_end_of_the_address_space(World &world)
{
	refuses_both(world, [](Pair &, Memory &m) { return Target{UINT64_MAX - 7, m.key(), 16}; });
}

void unknown_key(World &world)
{
	refuses_both(world, [](Pair &, Memory &m) {
		return Target{m.address(), m.key() ^ 0x5a5a5a00, 16};
	});
	/* the 8 bits of the consumer's key part count, too */
	refuses_both(world, [](Pair &, Memory &m) { return Target{m.address(), m.key() ^ 1, 16}; });
}

void deregistered_region(World &world)
{
	refuses_both(world, [](Pair &, Memory &m) {
		const Target target{m.address(), m.key(), 16};

		m.deregister();
		return target;
	});
}

void region_of_another_pd(World &world)
{
	const rdma::Pd other{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Memory memory{other.get(), size, rdma::all_access, remote_fill};

	refuses_both(world, [&](Pair &, Memory &) {
		return Target{memory.address(), memory.key(), 16};
	});
	require(memory.is_all(remote_fill), "a refused Write changed memory");
}

/* Work requests of this side that name memory without the right to it. */
void refuses_locally(World &world, ibv_wr_opcode opcode, int access, bool other_pd, bool too_long)
{
	const rdma::Pd other{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Pair pair{world};
	Memory remote{pair.server().pd(), size, rdma::all_access, remote_fill};
	Memory local{other_pd ? other.get() : pair.client().pd(), size, access, local_fill};
	const std::array sges{local.sge(0, too_long ? size + 1 : size)};

	must(pair.client().post_rdma(opcode, sges, remote.address(), remote.key()), "post_send");
	const ibv_wc wc = pair.client().sends.wait();
	require_status(wc, IBV_WC_LOC_PROT_ERR, "request");
	ends(pair);
	require(local.is_all(local_fill), "local memory changed");
	require(remote.is_all(remote_fill), "remote memory changed");
}

void own_memory_must_be_usable(World &world)
{
	refuses_locally(world, IBV_WR_RDMA_READ, 0, false, false);
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
		refuses_locally(world, opcode, rdma::all_access, true, false);
		refuses_locally(world, opcode, rdma::all_access, false, true);
	}
}

void receive_into_unwritable_memory(World &world)
{
	Pair pair{world};
	Memory target{pair.server().pd(), size, IBV_ACCESS_REMOTE_READ, remote_fill};
	Memory source{pair.client().pd(), size, 0, local_fill};
	const std::array to{target.sge()};
	const std::array from{source.sge()};

	must(pair.server().post_recv(to), "post_recv");
	must(pair.client().post_send(from), "post_send");
	const ibv_wc wc = pair.server().recvs.wait();
	require_status(wc, IBV_WC_LOC_PROT_ERR, "request");
	ends(pair);
	require(target.is_all(remote_fill), "unwritable memory changed");
}

void read_sink_needs_no_remote_write(World &world)
{
	Pair pair{world};
	Memory remote{pair.server().pd(), size, IBV_ACCESS_REMOTE_READ, remote_fill};
	Memory local{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, local_fill};
	const std::array to{local.sge()};

	must(pair.client().post_rdma(IBV_WR_RDMA_READ, to, remote.address(), remote.key()),
	     "post_send");
	const ibv_wc wc = pair.client().sends.wait();
	require_status(wc, IBV_WC_SUCCESS, "request");
	require(local.is_all(remote_fill), "data");
}

void iova_differs_from_address(World &world)
{
	std::array<std::byte, 2 * size> octets{};
	/* ib_uverbs needs the same offset in a page for both */
	const std::uint64_t iova =
		0x123456789000ULL | (reinterpret_cast<std::uintptr_t>(octets.data() + 5) & 0xfff);
	Pair pair{world};
	const rdma::Mr mr{must(ibv_reg_mr_iova(pair.server().pd(), octets.data() + 5, size, iova,
					       rdma::all_access),
			       "ibv_reg_mr_iova")};
	Memory local{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, local_fill};
	const std::array all{local.sge()};

	must(pair.client().post_rdma(IBV_WR_RDMA_WRITE, all, iova, mr->rkey), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Write");
	std::ranges::fill(local.span(), std::byte{0});
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, all, iova, mr->rkey), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Read");
	require(local.is_all(local_fill), "data through the iova");
	require(octets[4] == std::byte{0} && octets[5] == local_fill &&
			octets[size + 4] == local_fill && octets[size + 5] == std::byte{0},
		"place of the data");

	/* local work requests use the iova, too */
	const ibv_sge by_iova{iova + 100, 50, mr->lkey};
	must(pair.client().post_recv(all), "post_recv");
	must(pair.server().post_send({&by_iova, 1}), "post_send");
	require_status(pair.server().sends.wait(), IBV_WC_SUCCESS, "Send");
	require_status(pair.client().recvs.wait(), IBV_WC_SUCCESS, "receive");

	refuses_write(pair, {reinterpret_cast<std::uintptr_t>(octets.data() + 5), mr->rkey, 16});
}

} /* namespace */

const std::vector<Check> access_checks{
	{"read_without_remote_read", read_without_remote_read},
	{"write_without_remote_write", write_without_remote_write},
	{"the_refused_one_of_several_reads", the_refused_one_of_several_reads},
	{"behind_the_end", behind_the_end},
	{"before_the_beginning", before_the_beginning},
	{"around_the_end_of_the_address_space", around_the_end_of_the_address_space},
	{"unknown_key", unknown_key},
	{"deregistered_region", deregistered_region},
	{"region_of_another_pd", region_of_another_pd},
	{"own_memory_must_be_usable", own_memory_must_be_usable},
	{"receive_into_unwritable_memory", receive_into_unwritable_memory},
	{"read_sink_needs_no_remote_write", read_sink_needs_no_remote_write},
	{"iova_differs_from_address", iova_differs_from_address},
};

} /* namespace checks */
