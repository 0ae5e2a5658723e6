/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of atomic operations: the returned values and the memory, of which no other byte
 * changes; the order among atomic operations and with Reads; refusals; and one counter that
 * many queue pairs and a processor increase without losing a step.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;
using rdma::Side;

constexpr int with_atomics = rdma::all_access | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::size_t page = 4096;
constexpr std::byte untouched{0xee};

/** class Words - a registered page that starts on a page, as 64-bit words */
class Words {
public:
	explicit Words(ibv_pd *pd, int access = with_atomics)
		: memory_{pd, 2 * page, access, untouched}
	{}

	[[nodiscard]] std::uint64_t address(std::size_t octet = 0) const
	{
		return memory_.address(offset() + octet);
	}
	[[nodiscard]] std::uint32_t key() const
	{
		return memory_.key();
	}
	[[nodiscard]] ibv_sge sge(std::size_t word) const
	{
		return memory_.sge(offset() + word * sizeof(std::uint64_t), sizeof(std::uint64_t));
	}
	[[nodiscard]] std::uint64_t &operator[](std::size_t word)
	{
		return reinterpret_cast<std::uint64_t *>(memory_.data() + offset())[word];
	}
	/* Every word is as it was made, except that one. */
	[[nodiscard]] bool untouched_but(std::size_t word)
	{
		const std::uint64_t kept = (*this)[word];

		std::memset(&(*this)[word], static_cast<int>(untouched), sizeof(kept));
		const bool ok = memory_.is_all(untouched);
		(*this)[word] = kept;
		return ok;
	}

private:
	[[nodiscard]] std::size_t offset() const
	{
		return (page - memory_.address() % page) % page;
	}

	Memory memory_;
};

/** struct Operation - an atomic operation */
struct Operation {
	ibv_wr_opcode opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	std::uint64_t compare_add = 1;
	std::uint64_t swap = 0;
};

int post(Side &side, const Operation &op, const ibv_sge &result, std::uint64_t address,
	 std::uint32_t rkey, unsigned int flags = IBV_SEND_SIGNALED, std::uint64_t wr_id = 0)
{
	ibv_sge sge = result;
	ibv_send_wr wr{};
	ibv_send_wr *bad = nullptr;

	wr.wr_id = wr_id;
	wr.opcode = op.opcode;
	wr.send_flags = flags;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.atomic = {.remote_addr = address,
			.compare_add = op.compare_add,
			.swap = op.swap,
			.rkey = rkey};
	return ibv_post_send(side.qp(), &wr, &bad);
}

void completes(Side &side, ibv_wc_opcode opcode)
{
	const ibv_wc wc = side.sends.wait();

	require_status(wc, IBV_WC_SUCCESS, "atomic operation");
	require_eq(int{wc.opcode}, int{opcode}, "opcode of the completion");
	require_eq(wc.byte_len, std::uint32_t{8}, "byte_len");
}

void device_says_so(World &world)
{
	require_eq(int{world.device().atomic_cap}, int{IBV_ATOMIC_GLOB}, "atomic_cap");
	require(world.device().max_qp_rd_atom > 0, "max_qp_rd_atom");
}

void fetch_and_add(World &world)
{
	Pair pair{world};
	Words target{pair.server().pd()};
	Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};
	std::mt19937_64 random{7306};

	for (std::size_t word : {0U, 3U, 511U}) {
		std::uint64_t value = target[word] = random();

		for (int i = 0; i < 50; i++) {
			const std::uint64_t add = i ? random() : UINT64_MAX;

			must(post(pair.client(), {IBV_WR_ATOMIC_FETCH_AND_ADD, add, 99},
				  result.sge(5), target.address(word * 8), target.key()),
			     "post_send");
			completes(pair.client(), IBV_WC_FETCH_ADD);
			require_eq(result[5], value, "what was there");
			value += add;
			require_eq(target[word], value, "what is there");
		}
		require(target.untouched_but(word), "memory beside the target");
		require(result.untouched_but(5), "memory beside the result");
		std::memset(&target[word], static_cast<int>(untouched), 8);
	}
}

void compare_and_swap(World &world)
{
	Pair pair{world};
	Words target{pair.server().pd()};
	Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};
	std::mt19937_64 random{7306};
	std::uint64_t value = target[1] = random();

	for (int i = 0; i < 100; i++) {
		/* the words differ in one bit */
		const std::uint64_t compare = i % 2 ? value : value ^ 1ULL << i % 64;
		const std::uint64_t swap = random();

		must(post(pair.client(), {IBV_WR_ATOMIC_CMP_AND_SWP, compare, swap}, result.sge(0),
			  target.address(8), target.key()),
		     "post_send");
		completes(pair.client(), IBV_WC_COMP_SWAP);
		require_eq(result[0], value, "what was there");
		if (compare == value)
			value = swap;
		require_eq(target[1], value, "what is there");
	}
	require(target.untouched_but(1), "memory beside the target");
	require(result.untouched_but(0), "memory beside the result");
}

void by_the_newer_calls(World &world)
{
	rdma::SideOptions options;
	options.send_ops = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	Pair pair{world, options};
	Words target{pair.server().pd()};
	Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};
	ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.client().qp());

	target[0] = 40;
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_fetch_add(qp, target.key(), target.address(), 2);
	ibv_wr_set_sge(qp, result.sge(0).lkey, result.sge(0).addr, 8);
	ibv_wr_atomic_cmp_swp(qp, target.key(), target.address(), 42, 43);
	ibv_wr_set_sge(qp, result.sge(1).lkey, result.sge(1).addr, 8);
	must(ibv_wr_complete(qp), "ibv_wr_complete");
	completes(pair.client(), IBV_WC_FETCH_ADD);
	completes(pair.client(), IBV_WC_COMP_SWAP);
	require_eq(result[0], std::uint64_t{40}, "first");
	require_eq(result[1], std::uint64_t{42}, "second");
	require_eq(target[0], std::uint64_t{43}, "target");
}

/* Many more operations than may be outstanding, with Reads of the same word in between. */
void in_line_with_reads(World &world)
{
	constexpr std::uint64_t rounds = 200;
	rdma::SideOptions options;
	options.cap.max_send_wr = 128;
	options.cqe = 256;
	Pair pair{world, options};
	Words target{pair.server().pd()};
	Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};

	target[0] = 0;
	for (std::uint64_t first = 0; first < rounds; first += 50) {
		for (std::uint64_t i = first; i < first + 50; i++) {
			const std::array to{result.sge(2 * i + 1)};

			must(post(pair.client(), {}, result.sge(2 * i), target.address(),
				  target.key(), 0, i),
			     "post atomic");
			must(pair.client().post_rdma(IBV_WR_RDMA_READ, to, target.address(),
						     target.key(), IBV_SEND_SIGNALED, i),
			     "post Read");
		}
		for (std::uint64_t i = first; i < first + 50; i++) {
			const ibv_wc wc = pair.client().sends.wait();

			require_status(wc, IBV_WC_SUCCESS, "Read");
			require_eq(wc.wr_id, i, "order of completions");
		}
	}
	for (std::uint64_t i = 0; i < rounds; i++) {
		require_eq(result[2 * i], i, "result");
		require_eq(result[2 * i + 1], i + 1, "Read behind it");
	}
}

/* A fenced request sees the result in local memory. */
void fence(World &world)
{
	Pair pair{world};
	Words target{pair.server().pd()};
	Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};
	const std::array from{result.sge(0)};

	for (std::uint64_t i = 0; i < 50; i++) {
		target[0] = i * i + 7;
		must(post(pair.client(), {}, result.sge(0), target.address(), target.key(), 0),
		     "post atomic");
		must(pair.client().post_rdma(IBV_WR_RDMA_WRITE, from, target.address(8),
					     target.key(), IBV_SEND_FENCE),
		     "post Write");
		/* its answer arrives after the Write */
		must(pair.client().post_rdma(IBV_WR_RDMA_READ, std::array{result.sge(1)},
					     target.address(8), target.key()),
		     "post Read");
		require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Read");
		require_eq(target[1], i * i + 7, "what the fenced Write brought");
		require_eq(result[1], i * i + 7, "what the Read behind it brought");
	}
}

/* One refused operation, on a new connection. */
void refused(World &world, int access, std::int64_t octet, std::uint32_t key_change,
	     ibv_wc_status status, std::uint32_t terminate)
{
	for (ibv_wr_opcode opcode : {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
		Pair pair{world};
		Words target{pair.server().pd(), access};
		Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};
		const std::uint64_t all = target[0];

		must(post(pair.client(), {opcode, all, 1}, result.sge(0),
			  target.address() + static_cast<std::uint64_t>(octet),
			  target.key() ^ key_change),
		     "post_send");
		const ibv_wc wc = pair.client().sends.wait();
		require_status(wc, status, "refused operation");
		require_eq(wc.vendor_err, terminate, "Terminate");
		pair.client().wait_for_state(IBV_QPS_ERR);
		pair.server().wait_for_state(IBV_QPS_ERR);
		require_eq(target[0], all, "target");
		require(target.untouched_but(0) && result.untouched_but(0), "memory");
		require_eq(result[0], all, "result");
	}
}

void unaligned(World &world)
{
	for (std::int64_t octet = 1; octet < 8; octet++)
		refused(world, with_atomics, octet, 0, IBV_WC_REM_INV_REQ_ERR, 0x0207);
}

void without_the_right(World &world)
{
	refused(world, rdma::all_access, 0, 0, IBV_WC_REM_ACCESS_ERR, 0x0102);
	refused(world, IBV_ACCESS_LOCAL_WRITE, 0, 0, IBV_WC_REM_ACCESS_ERR, 0x0102);
}

void beside_the_region(World &world)
{
	refused(world, with_atomics, -2 * std::int64_t{page}, 0, IBV_WC_REM_ACCESS_ERR, 0x0101);
	refused(world, with_atomics, 2 * std::int64_t{page}, 0, IBV_WC_REM_ACCESS_ERR, 0x0101);
	refused(world, with_atomics, 0, 0x5a5a5a00, IBV_WC_REM_ACCESS_ERR, 0x0100);
}

/* The right to atomic operations gives no right to read or to write. */
void nothing_else_with_the_right(World &world)
{
	Pair pair{world};
	Words target{pair.server().pd(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC};
	Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};

	target[0] = 1;
	must(post(pair.client(), {}, result.sge(0), target.address(), target.key()), "post_send");
	completes(pair.client(), IBV_WC_FETCH_ADD);
	require_eq(target[0], std::uint64_t{2}, "target");
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, std::array{result.sge(1)}, target.address(),
				     target.key()),
	     "post Read");
	require_status(pair.client().sends.wait(), IBV_WC_REM_ACCESS_ERR, "Read");
}

void bad_results(World &world)
{
	{
		Pair pair{world};
		Words target{pair.server().pd()};
		Words result{pair.client().pd(), 0};

		target[0] = 5;
		must(post(pair.client(), {}, result.sge(0), target.address(), target.key()),
		     "post_send");
		require_status(pair.client().sends.wait(), IBV_WC_LOC_PROT_ERR, "result");
		require_eq(target[0], std::uint64_t{5}, "target");
	}
	Pair pair{world};
	Words target{pair.server().pd()};
	Words result{pair.client().pd(), IBV_ACCESS_LOCAL_WRITE};
	ibv_sge sge = result.sge(0);

	for (std::uint32_t length : {0U, 4U, 7U, 9U, 16U}) {
		sge.length = length;
		require_eq(post(pair.client(), {}, sge, target.address(), target.key()), EINVAL,
			   "length of the result");
	}
	require_eq(post(pair.client(), {}, result.sge(0), target.address(), target.key(),
			IBV_SEND_INLINE),
		   EINVAL, "inline");
	require_eq(int{pair.client().state()}, int{IBV_QPS_RTS}, "state after refused requests");
}

constexpr std::uint64_t pairs = 4;
constexpr std::uint64_t steps = 2000; /* number of operations of each */

/* @depth operations at a time; every result is stored in @seen */
void count_up(Side &side, const Words &target, std::vector<std::uint64_t> &seen)
{
	constexpr std::uint64_t depth = 16;
	Words result{side.pd(), IBV_ACCESS_LOCAL_WRITE};

	for (std::uint64_t posted = 0, done = 0; done < steps;) {
		while (posted < steps && posted < done + depth)
			must(post(side, {}, result.sge(posted++ % depth), target.address(),
				  target.key()),
			     "post_send");
		completes(side, IBV_WC_FETCH_ADD);
		seen.push_back(result[done++ % depth]);
	}
}

/* Queue pairs and a processor increase one counter: each value is returned once. */
void one_counter_for_all(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	rdma::SideOptions server;
	server.pd = pd.get();
	Words target{pd.get()};
	std::vector<std::unique_ptr<Pair>> connections;
	std::vector<std::vector<std::uint64_t>> seen(pairs + 1);
	std::atomic<bool> failed{false};
	std::atomic<bool> stop{false};

	target[0] = 0;
	for (std::uint64_t i = 0; i < pairs; i++)
		connections.push_back(std::make_unique<Pair>(world, rdma::SideOptions{}, server));

	std::vector<std::thread> threads;
	for (std::uint64_t i = 0; i < pairs; i++)
		threads.emplace_back([&, i] {
			try {
				count_up(connections[i]->client(), target, seen[i]);
			} catch (const rdma::Failure &failure) {
				std::printf("%s ", failure.what());
				failed = true;
			}
		});
	std::thread processor{[&] {
		/* a limited number, with pauses, because the emulated machine has other work */
		while (!stop && seen[pairs].size() < 200000) {
			for (int i = 0; i < 64; i++)
				seen[pairs].push_back(
					__atomic_fetch_add(&target[0], 1, __ATOMIC_SEQ_CST));
			std::this_thread::yield();
		}
	}};
	for (std::thread &thread : threads)
		thread.join();
	stop = true;
	processor.join();

	require(!failed, "a queue pair failed");
	std::vector<std::uint64_t> all;
	for (const auto &one : seen) {
		require(std::is_sorted(one.begin(), one.end()), "order of one side's results");
		all.insert(all.end(), one.begin(), one.end());
	}
	std::sort(all.begin(), all.end());
	for (std::uint64_t i = 0; i < all.size(); i++)
		require_eq(all[i], i, "number drawn");
	require_eq(target[0], std::uint64_t{all.size()}, "counter");
	require(all.size() > pairs * steps, "the processor took part");
}

/* A lock made of compare and swap guards a sum that is read and written remotely. */
void lock_by_compare_and_swap(World &world)
{
	constexpr std::uint64_t rounds = 100;
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	rdma::SideOptions server;
	server.pd = pd.get();
	Words target{pd.get()};
	std::atomic<int> failed{0};

	target[0] = 0; /* the lock */
	target[1] = 0; /* the sum */
	Pair first{world, {}, server};
	Pair second{world, {}, server};
	auto work = [&](Side &side, std::uint64_t id) {
		Words mine{side.pd(), IBV_ACCESS_LOCAL_WRITE};
		const auto swap = [&](std::uint64_t compare, std::uint64_t value) {
			must(post(side, {IBV_WR_ATOMIC_CMP_AND_SWP, compare, value}, mine.sge(0),
				  target.address(), target.key()),
			     "post_send");
			completes(side, IBV_WC_COMP_SWAP);
			return mine[0] == compare;
		};
		const auto sum = std::array{mine.sge(1)};

		for (std::uint64_t i = 0; i < rounds; i++) {
			while (!swap(0, id))
				std::this_thread::yield();
			must(side.post_rdma(IBV_WR_RDMA_READ, sum, target.address(8), target.key()),
			     "post Read");
			require_status(side.sends.wait(), IBV_WC_SUCCESS, "Read");
			mine[1] += id;
			must(side.post_rdma(IBV_WR_RDMA_WRITE, sum, target.address(8),
					    target.key()),
			     "post Write");
			require_status(side.sends.wait(), IBV_WC_SUCCESS, "Write");
			require(swap(id, 0), "the lock is not the owner's");
		}
	};
	auto guarded = [&](Side &side, std::uint64_t id) {
		try {
			work(side, id);
		} catch (const rdma::Failure &failure) {
			std::printf("%s ", failure.what());
			failed++;
		}
	};
	std::thread other{guarded, std::ref(second.client()), 1000};
	guarded(first.client(), 1);
	other.join();
	require_eq(failed.load(), 0, "failed sides");
	require_eq(target[1], rounds * 1001, "sum");
}

} /* namespace */

const std::vector<Check> atomic_checks{
	{"device_says_so", device_says_so},
	{"fetch_and_add", fetch_and_add},
	{"compare_and_swap", compare_and_swap},
	{"atomics_by_the_newer_calls", by_the_newer_calls},
	{"atomics_in_line_with_reads", in_line_with_reads},
	{"atomics_and_fence", fence},
	{"atomics_unaligned", unaligned},
	{"atomics_without_the_right", without_the_right},
	{"atomics_beside_the_region", beside_the_region},
	{"nothing_else_with_the_right", nothing_else_with_the_right},
	{"atomics_with_bad_results", bad_results},
	{"one_counter_for_all", one_counter_for_all},
	{"lock_by_compare_and_swap", lock_by_compare_and_swap},
};

} /* namespace checks */
