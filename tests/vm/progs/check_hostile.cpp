/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of what a process can do with the rings that it shares with the kernel. Whatever the
 * process writes there, only its own QP may fail. The checks reach the rings through the
 * structures of the provider, whose layout is fixed by the provider's headers.
 */
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include <sys/mman.h>
#include <unistd.h>

#include "checks.hpp"
#include "provider.hpp"

namespace checks {
namespace {

using rdma::must;
using rdma::require;
using rdma::require_eq;
using namespace std::chrono_literals;

constexpr auto moment = 300ms;

/** class RawQp - the rings of one side, without the library */
class RawQp {
public:
	explicit RawQp(rdma::Side &side) : side_{side}, qp_{krdma::ours<krdma::Qp>(side.qp())}
	{}

	[[nodiscard]] krdma_soft_ring &sq_head() const
	{
		return *qp_.sq.ring.head();
	}

	[[nodiscard]] krdma_soft_ring &rq_head() const
	{
		return *qp_.rq.ring.head();
	}

	/* the first entry, because nothing was posted yet */
	[[nodiscard]] krdma_soft_sqe &first_sqe() const
	{
		return *static_cast<krdma_soft_sqe *>(entries(sq_head()));
	}

	[[nodiscard]] krdma_soft_rqe &first_rqe() const
	{
		return *static_cast<krdma_soft_rqe *>(entries(rq_head()));
	}

	[[nodiscard]] std::uint32_t depth() const
	{
		return qp_.sq.ring.depth();
	}

	void publish(std::uint32_t prod) const
	{
		krdma::store_release(sq_head().prod, prod);
		krdma::full_barrier();
		doorbell();
	}

	/* Ring as the library does when the flag asks for it. Return: 0 or an errno. */
	int doorbell() const
	{
		return ring(side_.context()->cmd_fd, side_.qp()->handle);
	}

	static int ring(int cmd_fd, std::uint32_t qp_handle)
	{
		ib_uverbs_post_send_resp response{};
		const krdma::Doorbell command = krdma::make_doorbell(qp_handle, response);

		return write(cmd_fd, &command, sizeof(command)) < 0 ? errno : 0;
	}

private:
	static void *entries(krdma_soft_ring &head)
	{
		return reinterpret_cast<std::byte *>(&head) + KRDMA_SOFT_RING_ENTRIES;
	}

	rdma::Side &side_;
	krdma::Qp &qp_;
};

using Spoil = std::function<void(krdma_soft_sqe &)>;

/* A wrong entry must fail its QP, and nothing else. */
void entry_fails(World &world, const char *what, const Spoil &spoil)
{
	Pair pair{world};
	const RawQp raw{pair.client()};
	krdma_soft_sqe &sqe = raw.first_sqe();

	sqe.wr_id = 99;
	sqe.opcode = KRDMA_SOFT_OP_SEND;
	spoil(sqe);
	raw.publish(1);
	const ibv_wc wc = pair.client().sends.wait();
	if (wc.status == IBV_WC_SUCCESS)
		rdma::fail(std::string{what} + " was accepted");
	require_eq(wc.wr_id, std::uint64_t{99}, "wr_id");
	pair.client().wait_for_state(IBV_QPS_ERR);
}

void hostile_entries(World &world)
{
	entry_fails(world, "first opcode that is not a user's",
		    [](krdma_soft_sqe &s) { s.opcode = KRDMA_SOFT_OP_USER_END; });
	entry_fails(world, "the kernel's Read with Invalidate",
		    [](krdma_soft_sqe &s) { s.opcode = KRDMA_SOFT_OP_READ_INV; });
	entry_fails(world, "the kernel's fast registration",
		    [](krdma_soft_sqe &s) { s.opcode = KRDMA_SOFT_OP_REG_MR; });
	entry_fails(world, "Local Invalidate of inline data", [](krdma_soft_sqe &s) {
		s.opcode = KRDMA_SOFT_OP_LOCAL_INV;
		s.flags |= KRDMA_SOFT_WQE_INLINE;
	});
	entry_fails(world, "opcode 255", [](krdma_soft_sqe &s) { s.opcode = 255; });
	entry_fails(world, "65535 sges", [](krdma_soft_sqe &s) { s.num_sge = 65535; });
	entry_fails(world, "17 sges", [](krdma_soft_sqe &s) { s.num_sge = 17; });
	entry_fails(world, "4 GiB of inline data", [](krdma_soft_sqe &s) {
		s.flags = KRDMA_SOFT_WQE_INLINE;
		s.length = UINT32_MAX;
	});
	entry_fails(world, "inline data of a Read", [](krdma_soft_sqe &s) {
		s.opcode = KRDMA_SOFT_OP_READ;
		s.flags = KRDMA_SOFT_WQE_INLINE;
		s.length = 8;
	});
	entry_fails(world, "sges of more than 4 GiB", [](krdma_soft_sqe &s) {
		s.num_sge = 2;
		s.sge[0].length = s.sge[1].length = UINT32_MAX;
	});
	entry_fails(world, "kernel addresses", [](krdma_soft_sqe &s) {
		s.num_sge = 1;
		s.sge[0] = {.addr = 0xffff888000000000ULL, .length = 4096, .lkey = 0};
	});
	still_works(world);
}

/* An index that is ahead of the entries, or behind those that were taken. */
void hostile_send_indices(World &world)
{
	const std::uint32_t depth = [&] {
		Pair pair{world};

		return RawQp{pair.client()}.depth();
	}();

	for (std::uint32_t prod :
	     {depth + 1, depth + 1000, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
		Pair pair{world};

		RawQp{pair.client()}.publish(prod);
		pair.client().wait_for_state(IBV_QPS_ERR);
	}
	still_works(world);
}

void hostile_receive_queue(World &world)
{
	{
		Pair pair{world};
		const RawQp raw{pair.server()};

		raw.first_rqe().num_sge = UINT32_MAX;
		krdma::store_release(raw.rq_head().prod, 1);
		must(pair.client().post_send({}), "post_send");
		pair.server().wait_for_state(IBV_QPS_ERR);
	}
	{
		Pair pair{world};
		const RawQp raw{pair.server()};

		krdma::store_release(raw.rq_head().prod, 0x40000000);
		must(pair.client().post_send({}), "post_send");
		pair.server().wait_for_state(IBV_QPS_ERR);
	}
	still_works(world);
}

/* A wrong index of a shared queue: each QP that takes from it fails, and the queue once. */
void hostile_shared_receive_queue(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	ibv_srq_init_attr init{.srq_context = nullptr, .attr = {8, 1, 0}};
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &init), "ibv_create_srq")};
	auto &head = *static_cast<krdma_soft_ring *>(
		krdma::ours<krdma::Srq>(srq.get()).queue.memory.address());
	rdma::SideOptions options;
	int broken = 0;

	options.pd = pd.get();
	options.srq = srq.get();
	options.cap.max_recv_wr = 0;
	Pair one{world, {}, options};
	Pair two{world, {}, options};
	krdma::store_release(head.prod, 0x40000000);
	for (Pair *pair : {&one, &two}) {
		must(pair->client().post_send({}), "post_send");
		pair->server().wait_for_state(IBV_QPS_ERR);
		/* it is too late to correct the index */
		krdma::store_release(head.prod, 1);
	}
	while (const auto event = rdma::async_event(world.context(), broken ? moment : 20000ms)) {
		if (event->event_type != IBV_EVENT_SRQ_ERR)
			continue;
		require(event->element.srq == srq.get(), "event of another SRQ");
		broken++;
	}
	require_eq(broken, 1, "IBV_EVENT_SRQ_ERR");
	still_works(world);
}

/* A process overwrites what the kernel writes for itself. This must not matter. */
void hostile_kernel_words(World &world)
{
	Pair pair{world};
	const RawQp raw{pair.client()};
	auto *cq = static_cast<krdma_soft_cq_ring *>(
		krdma::ours<krdma::Cq>(pair.client().sends.cq()).queue.memory.address());

	for (std::uint32_t value : {0xffffffffU, 0x80000000U, 12345U}) {
		krdma::store_release(raw.sq_head().cons, value);
		krdma::store_release(raw.sq_head().flags, value);
		krdma::store_release(raw.rq_head().cons, value);
		krdma::store_release(raw.rq_head().flags, value);
		krdma::store_release(cq->prod, value);
		krdma::store_release(cq->cons, value);
		krdma::store_release(cq->arm, value);
		raw.doorbell();
	}
	still_works(world);
}

/* An entry that changes while the kernel reads it. */
void entries_that_change(World &world)
{
	for (int round = 0; round < 20; round++) {
		Pair pair{world};
		const RawQp raw{pair.client()};
		krdma_soft_sqe &sqe = raw.first_sqe();

		sqe.opcode = KRDMA_SOFT_OP_SEND;
		sqe.flags = KRDMA_SOFT_WQE_INLINE;
		sqe.length = 16;
		krdma::store_release(raw.sq_head().prod, raw.depth());
		for (int i = 0; i < 200; i++) {
			sqe.length = i % 2 ? UINT32_MAX : 16;
			sqe.num_sge = i % 3 ? 65535 : 0;
			sqe.opcode = static_cast<std::uint8_t>(i);
			raw.doorbell();
		}
	}
	still_works(world);
}

void doorbell_of_other_objects(World &world)
{
	const int fd = world.context()->cmd_fd;
	Pair pair{world};

	for (std::uint32_t handle : {pair.client().sends.cq()->handle, 0x7fffffffU, 0xffffffffU})
		require(RawQp::ring(fd, handle) != 0, "doorbell of something that is no QP");
	must(RawQp::ring(fd, pair.client().qp()->handle), "doorbell of a QP");
	still_works(world);
}

void mappings(World &world)
{
	const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	const int fd = world.context()->cmd_fd;

	/* nothing can be mapped at other offsets */
	for (std::uint64_t offset :
	     {std::uint64_t{1} << 40, std::uint64_t{1} << 50, ~std::uint64_t{0}}) {
		const auto at =
			static_cast<off_t>(offset & ~(page - 1) & ~(std::uint64_t{1} << 63));
		void *address = mmap(nullptr, page, PROT_READ, MAP_SHARED, fd, at);

		require(address == MAP_FAILED, "mapping of nothing");
	}

	/* a mapping that outlives its QP is harmless */
	void *copy = MAP_FAILED;
	{
		Pair pair{world};

		copy = mremap(&RawQp{pair.client()}.sq_head(), 0, 2 * page, MREMAP_MAYMOVE);
	}
	if (copy != MAP_FAILED) {
		std::memset(copy, 0xff, 2 * page);
		munmap(copy, 2 * page);
	}
	still_works(world);
}

} /* namespace */

const std::vector<Check> hostile_checks{
	{"hostile_entries", hostile_entries},
	{"hostile_send_indices", hostile_send_indices},
	{"hostile_receive_queue", hostile_receive_queue},
	{"hostile_shared_receive_queue", hostile_shared_receive_queue},
	{"hostile_kernel_words", hostile_kernel_words},
	{"entries_that_change", entries_that_change},
	{"doorbell_of_other_objects", doorbell_of_other_objects},
	{"mappings", mappings},
};

} /* namespace checks */
