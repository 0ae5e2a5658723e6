/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The shared rings against a kernel played by the test: index arithmetic, what
 * is visible when, and the doorbell and arming rules with a second thread. Also
 * built with ThreadSanitizer.
 */
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ring.hpp"

namespace {

using namespace krdma;

constexpr std::uint32_t stride = sizeof(krdma_soft_sqe) + 32;

/* ring memory as the kernel hands it out, and the kernel's view of it */
class Memory {
public:
	Memory(std::uint32_t depth, std::uint32_t entry_size)
		: shape{KRDMA_SOFT_RING_ENTRIES + std::uint64_t{depth} * entry_size, depth,
			entry_size},
		  words_((shape.size + 7) / 8)
	{}

	void *address()
	{
		return words_.data();
	}

	krdma_soft_ring &head()
	{
		return *reinterpret_cast<krdma_soft_ring *>(words_.data());
	}

	krdma_soft_cq_ring &cq_head()
	{
		return *reinterpret_cast<krdma_soft_cq_ring *>(words_.data());
	}

	template <typename Entry> Entry &entry(std::uint32_t index)
	{
		auto *octets = reinterpret_cast<std::byte *>(words_.data()) +
			       KRDMA_SOFT_RING_ENTRIES +
			       std::size_t{index & (shape.depth - 1)} * shape.stride;
		return *reinterpret_cast<Entry *>(octets);
	}

	const RingShape shape;

private:
	std::vector<std::uint64_t> words_;
};

TEST(RingShape, AcceptsWhatFits)
{
	EXPECT_TRUE((RingShape{0, 0, 0}.valid(64)));
	EXPECT_TRUE((RingShape{4096 + 4 * 96, 4, 96}.valid(64)));
	EXPECT_TRUE((RingShape{8192, 16, 96}.valid(96)));
}

TEST(RingShape, RefusesWhatDoesNot)
{
	EXPECT_FALSE((RingShape{4096, 0, 0}.valid(64))) << "memory without a ring";
	EXPECT_FALSE((RingShape{0, 4, 96}.valid(64))) << "ring without memory";
	EXPECT_FALSE((RingShape{8192, 3, 96}.valid(64))) << "depth no power of two";
	EXPECT_FALSE((RingShape{8192, 4, 64}.valid(96))) << "entries too small";
	EXPECT_FALSE((RingShape{8192, 4, 100}.valid(64))) << "entries not aligned";
	EXPECT_FALSE((RingShape{4096 + 4 * 96 - 1, 4, 96}.valid(64))) << "mapping too short";
	EXPECT_FALSE((RingShape{8192, 1U << 31, 0xfffffff8}.valid(64))) << "product above 32 bit";
}

TEST(ProducerRing, WithoutEntriesIsAlwaysFull)
{
	SendRing ring;

	ring.attach(nullptr, RingShape{0, 0, 0});
	EXPECT_EQ(ring.depth(), 0U);
	EXPECT_EQ(ring.reserve(), nullptr);
	EXPECT_FALSE(ring.dead());
	EXPECT_FALSE(ring.pending());
}

TEST(ProducerRing, ShowsEntriesAtPublishOnly)
{
	Memory memory{4, stride};
	SendRing ring;

	ring.attach(memory.address(), memory.shape);
	for (std::uint64_t id : {7, 8}) {
		krdma_soft_sqe *sqe = ring.reserve();
		ASSERT_NE(sqe, nullptr);
		sqe->wr_id = id;
		ring.commit();
	}
	EXPECT_TRUE(ring.pending());
	EXPECT_EQ(memory.head().prod, 0U);
	EXPECT_FALSE(ring.publish());
	EXPECT_FALSE(ring.pending());
	EXPECT_EQ(memory.head().prod, 2U);
	EXPECT_EQ(memory.entry<krdma_soft_sqe>(0).wr_id, 7U);
	EXPECT_EQ(memory.entry<krdma_soft_sqe>(1).wr_id, 8U);
}

TEST(ProducerRing, RewindDropsWhatWasNotPublished)
{
	Memory memory{4, stride};
	SendRing ring;

	ring.attach(memory.address(), memory.shape);
	ASSERT_NE(ring.reserve(), nullptr);
	ring.commit();
	EXPECT_FALSE(ring.publish());
	krdma_soft_sqe *second = ring.reserve();
	ring.commit();
	ring.rewind();
	EXPECT_FALSE(ring.pending());
	EXPECT_EQ(ring.reserve(), second);
	EXPECT_EQ(memory.head().prod, 1U);
}

TEST(ProducerRing, DoorbellWhenTheKernelAsks)
{
	Memory memory{4, stride};
	SendRing ring;

	memory.head().flags = KRDMA_SOFT_RING_DOORBELL;
	ring.attach(memory.address(), memory.shape);
	ASSERT_NE(ring.reserve(), nullptr);
	ring.commit();
	EXPECT_TRUE(ring.publish());
	memory.head().flags = 0;
	ASSERT_NE(ring.reserve(), nullptr);
	ring.commit();
	EXPECT_FALSE(ring.publish());
	memory.head().flags = KRDMA_SOFT_RING_DEAD;
	EXPECT_TRUE(ring.dead());
}

/* the indices' starting points: zero, and where u32 wraps */
class Wrap : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Wrap, FullAndEmptyWhileIndicesRun)
{
	constexpr std::uint32_t depth = 8;
	Memory memory{depth, stride};
	SendRing ring;
	std::uint32_t consumed = GetParam();
	std::uint32_t produced = GetParam();

	memory.head().prod = memory.head().cons = GetParam();
	ring.attach(memory.address(), memory.shape);
	for (std::uint32_t round = 0; round < 5 * depth; round++) {
		while (krdma_soft_sqe *sqe = ring.reserve()) {
			sqe->wr_id = produced++;
			ring.commit();
		}
		ASSERT_EQ(produced - consumed, depth);
		EXPECT_FALSE(ring.publish());
		ASSERT_EQ(memory.head().prod, produced);
		for (std::uint32_t n = round % depth + 1; n; n--, consumed++)
			ASSERT_EQ(memory.entry<krdma_soft_sqe>(consumed).wr_id, consumed);
		memory.head().cons = consumed;
	}
}

TEST_P(Wrap, CompletionsWhileIndicesRun)
{
	constexpr std::uint32_t depth = 8;
	Memory memory{depth, sizeof(krdma_soft_cqe)};
	CompletionRing ring;
	std::uint32_t produced = GetParam();
	std::uint32_t expected = GetParam();

	memory.cq_head().prod = memory.cq_head().cons = GetParam();
	ring.attach(memory.address(), memory.shape);
	EXPECT_EQ(ring.available(), 0U);
	for (std::uint32_t round = 0; round < 5 * depth; round++) {
		for (std::uint32_t n = round % depth + 1; n; n--, produced++)
			memory.entry<krdma_soft_cqe>(produced).wr_id = produced;
		memory.cq_head().prod = produced;
		const std::uint32_t n = ring.available();
		ASSERT_EQ(n, round % depth + 1);
		for (std::uint32_t i = 0; i < n; i++)
			ASSERT_EQ(ring.peek(i).wr_id, expected++);
		EXPECT_EQ(memory.cq_head().cons, expected - n);
		ring.release(n);
		ASSERT_EQ(memory.cq_head().cons, expected);
	}
}

INSTANTIATE_TEST_SUITE_P(Start, Wrap, testing::Values(0U, 0xfffffff0U, 0xffffffffU, 0x7ffffffcU));

TEST(ProducerRing, AKernelIndexThatRunsAheadGivesNothingAway)
{
	Memory memory{4, stride};
	SendRing ring;

	ring.attach(memory.address(), memory.shape);
	for (int i = 0; i < 4; i++) {
		ASSERT_NE(ring.reserve(), nullptr);
		ring.commit();
	}
	memory.head().cons = 100;
	EXPECT_EQ(ring.reserve(), nullptr);
}

TEST(CompletionRing, SolicitedDoesNotDowngrade)
{
	Memory memory{4, sizeof(krdma_soft_cqe)};
	CompletionRing ring;

	ring.attach(memory.address(), memory.shape);
	ring.arm(true);
	EXPECT_EQ(memory.cq_head().arm, std::uint32_t{KRDMA_SOFT_CQ_ARM_SOLICITED});
	ring.arm(false);
	EXPECT_EQ(memory.cq_head().arm, std::uint32_t{KRDMA_SOFT_CQ_ARM_NEXT});
	ring.arm(true);
	EXPECT_EQ(memory.cq_head().arm, std::uint32_t{KRDMA_SOFT_CQ_ARM_NEXT});
}

/*
 * The transmitter: works while there is something in the ring, then sets the
 * flag, looks once more, and sleeps until the doorbell. An entry for which
 * without a wake-up it would never be consumed.
 */
class Transmitter {
public:
	explicit Transmitter(Memory &memory) : memory_{memory}
	{
		memory.head().flags = KRDMA_SOFT_RING_DOORBELL;
	}

	void ring_doorbell()
	{
		doorbells.fetch_add(1);
		doorbells.notify_one();
	}

	void run(std::uint32_t total)
	{
		krdma_soft_ring &head = memory_.head();
		std::uint32_t cons = 0;
		std::uint32_t seen = 0;

		while (cons != total) {
			doorbells.wait(seen);
			seen = doorbells.load();
			__atomic_store_n(&head.flags, 0U, __ATOMIC_SEQ_CST);
			do {
				cons = consume(cons);
				__atomic_store_n(&head.flags, KRDMA_SOFT_RING_DOORBELL,
						 __ATOMIC_SEQ_CST);
				full_barrier();
			} while (load_acquire(head.prod) != cons);
		}
	}

	std::atomic<std::uint32_t> doorbells{0};
	bool in_order = true;

private:
	std::uint32_t consume(std::uint32_t cons)
	{
		krdma_soft_ring &head = memory_.head();

		while (cons != load_acquire(head.prod)) {
			const auto &sqe = memory_.entry<krdma_soft_sqe>(cons);

			in_order = in_order && sqe.wr_id == cons && sqe.raddr == ~sqe.wr_id;
			store_release(head.cons, ++cons);
		}
		return cons;
	}

	Memory &memory_;
};

TEST(ProducerRing, NoEntryIsForgottenWithoutADoorbell)
{
	constexpr std::uint32_t total = 200000;
	Memory memory{64, stride};
	Transmitter transmitter{memory};
	SendRing ring;

	ring.attach(memory.address(), memory.shape);
	std::thread kernel{[&] { transmitter.run(total); }};
	for (std::uint32_t i = 0; i < total;) {
		/* lists of one to four, so that the transmitter often runs dry */
		for (std::uint32_t n = i % 4 + 1; n && i < total; n--) {
			krdma_soft_sqe *sqe = ring.reserve();
			if (!sqe)
				break;
			sqe->wr_id = i;
			sqe->raddr = ~std::uint64_t{i};
			ring.commit();
			i++;
		}
		if (!ring.pending())
			std::this_thread::yield();
		else if (ring.publish())
			transmitter.ring_doorbell();
	}
	kernel.join();
	EXPECT_TRUE(transmitter.in_order);
	EXPECT_GT(transmitter.doorbells.load(), 0U);
}

/*
 * The same with one entry at a time and without sleeping: each round has the
 * moment in which one side publishes while the other sets the flag. Without
 * the barrier both soon wait for each other.
 */
TEST(ProducerRing, DoorbellRaceAtEveryEntry)
{
	constexpr std::uint32_t total = 200000;
	static constexpr auto patience = std::chrono::seconds{10};
	Memory memory{1, stride};
	krdma_soft_ring &head = memory.head();
	std::atomic<std::uint32_t> doorbells{0};
	std::atomic<bool> stuck{false};
	bool in_order = true;
	SendRing ring;

	/* until ready() or for too long; a loaded machine may need others to run */
	const auto spin = [&stuck](auto ready) {
		const auto end = std::chrono::steady_clock::now() + patience;

		for (std::uint32_t i = 1; !ready(); i++) {
			if (i % 256 == 0)
				std::this_thread::yield();
			if (i % 65536 == 0 && std::chrono::steady_clock::now() > end)
				stuck = true;
			if (stuck)
				return false;
		}
		return true;
	};

	head.flags = KRDMA_SOFT_RING_DOORBELL;
	ring.attach(memory.address(), memory.shape);
	std::thread kernel{[&] {
		std::uint32_t cons = 0;
		std::uint32_t seen = 0;

		while (cons != total && spin([&] { return doorbells != seen; })) {
			seen = doorbells;
			__atomic_store_n(&head.flags, 0U, __ATOMIC_SEQ_CST);
			do {
				if (cons != load_acquire(head.prod)) {
					const auto &sqe = memory.entry<krdma_soft_sqe>(cons);

					in_order = in_order && sqe.wr_id == cons &&
						   sqe.sge[0].addr == cons;
					store_release(head.cons, ++cons);
				}
				__atomic_store_n(&head.flags, KRDMA_SOFT_RING_DOORBELL,
						 __ATOMIC_SEQ_CST);
			} while (__atomic_load_n(&head.prod, __ATOMIC_SEQ_CST) != cons);
		}
	}};
	for (std::uint32_t i = 0; i < total; i++) {
		krdma_soft_sqe *sqe = nullptr;

		if (!spin([&] { return (sqe = ring.reserve()) != nullptr; }))
			break;
		sqe->wr_id = i;
		sqe->sge[0].addr = i;
		ring.commit();
		if (ring.publish())
			doorbells++;
	}
	kernel.join();
	EXPECT_TRUE(in_order);
	EXPECT_FALSE(stuck) << "an entry was published and nobody told";
}

/* The kernel's side of arming: produce, barrier, take the request, raise the event. */
TEST(CompletionRing, NoEventIsLost)
{
	constexpr std::uint32_t total = 100000;
	Memory memory{64, sizeof(krdma_soft_cqe)};
	std::atomic<std::uint32_t> events{0};
	CompletionRing ring;

	ring.attach(memory.address(), memory.shape);
	std::thread kernel{[&] {
		krdma_soft_cq_ring &head = memory.cq_head();

		for (std::uint32_t prod = 0; prod != total;) {
			if (prod - load_acquire(head.cons) == memory.shape.depth) {
				std::this_thread::yield();
				continue;
			}
			memory.entry<krdma_soft_cqe>(prod).wr_id = prod;
			store_release(head.prod, ++prod);
			full_barrier();
			if (__atomic_exchange_n(&head.arm, KRDMA_SOFT_CQ_ARM_NONE,
						__ATOMIC_SEQ_CST) == KRDMA_SOFT_CQ_ARM_NEXT) {
				events.fetch_add(1);
				events.notify_one();
			}
		}
	}};

	std::uint32_t seen = 0;
	std::uint64_t expected = 0;
	bool in_order = true;
	while (expected != total) {
		ring.arm(false);
		if (ring.available() == 0)
			events.wait(seen);
		const std::uint32_t n = ring.available();
		for (std::uint32_t i = 0; i < n; i++)
			in_order = in_order && ring.peek(i).wr_id == expected++;
		ring.release(n);
		seen = events.load();
	}
	kernel.join();
	EXPECT_TRUE(in_order);
}

} /* namespace */
