/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The user-space side of the rings that are shared with krdma_soft.ko: producer of send,
 * receive and shared receive rings, consumer of completion rings. Only this file contains the
 * ordering rules of <krdma/soft-abi.h>.
 *
 * The code makes no system call and takes no lock. The caller makes calls on a ring one at a
 * time. queue.hpp uses this file.
 */
#ifndef KRDMA_RING_HPP
#define KRDMA_RING_HPP

#include <bit>
#include <cstddef>
#include <cstdint>

#include <krdma/soft-abi.h>

namespace krdma {

static_assert(sizeof(krdma_soft_ring) == 128);
static_assert(offsetof(krdma_soft_ring, cons) == 64);
static_assert(offsetof(krdma_soft_ring, flags) == 68);
static_assert(sizeof(krdma_soft_cq_ring) == 128);
static_assert(offsetof(krdma_soft_cq_ring, flags) == 4);
static_assert(offsetof(krdma_soft_cq_ring, cons) == 64);
static_assert(offsetof(krdma_soft_cq_ring, arm) == 68);
static_assert(sizeof(krdma_soft_sge) == 16);
static_assert(sizeof(krdma_soft_sqe) == 64);
static_assert(sizeof(krdma_soft_rqe) == 16);
static_assert(sizeof(krdma_soft_cqe) == 32);

/*
 * Access to shared words. They are plain fields of a C structure, so use builtins and not
 * std::atomic.
 */

inline std::uint32_t load_relaxed(const std::uint32_t &word) noexcept
{
	return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

inline std::uint32_t load_acquire(const std::uint32_t &word) noexcept
{
	return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

inline void store_release(std::uint32_t &word, std::uint32_t value) noexcept
{
	__atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

inline void full_barrier() noexcept
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/** struct RingShape - the kernel's description of a ring */
struct RingShape {
	std::uint64_t size; /* bytes to map */
	std::uint32_t depth;
	std::uint32_t stride;

	/*
	 * Is the ring absent, or are all entries of at least min_stride bytes inside the
	 * mapping?
	 */
	[[nodiscard]] constexpr bool valid(std::size_t min_stride) const noexcept
	{
		if (depth == 0)
			return size == 0;
		return std::has_single_bit(depth) && stride >= min_stride && stride % 8 == 0 &&
		       size >= KRDMA_SOFT_RING_ENTRIES + std::uint64_t{depth} * stride;
	}
};

/**
 * class ProducerRing - a send, receive or shared receive queue
 *
 * reserve() and commit() fill entries. The kernel sees them after publish(). rewind() drops
 * them. The kernel's index is read only when the ring looks full, so that posting does not
 * fetch its cache line.
 */
template <typename Entry> class ProducerRing {
public:
	ProducerRing() noexcept = default;

	/* memory: zeroed by the kernel and mapped as @shape says; nullptr with depth 0 */
	void attach(void *memory, const RingShape &shape) noexcept
	{
		head_ = static_cast<krdma_soft_ring *>(memory);
		depth_ = memory ? shape.depth : 0;
		stride_ = shape.stride;
		if (memory) {
			/* A ring that replaces another one continues with its indices. */
			prod_ = published_ = load_relaxed(head_->prod);
			cons_ = load_acquire(head_->cons);
		}
	}

	[[nodiscard]] std::uint32_t depth() const noexcept
	{
		return depth_;
	}

	/* Shared header; the entries follow it. nullptr for an absent ring. */
	[[nodiscard]] krdma_soft_ring *head() const noexcept
	{
		return head_;
	}

	/* the device is gone: no posted request will ever complete */
	[[nodiscard]] bool dead() const noexcept
	{
		return head_ && (load_relaxed(head_->flags) & KRDMA_SOFT_RING_DEAD);
	}

	/* The next entry to fill; nullptr when the ring is full. */
	[[nodiscard]] Entry *reserve() noexcept
	{
		if (prod_ - cons_ >= depth_) [[unlikely]] {
			if (!head_)
				return nullptr;
			cons_ = load_acquire(head_->cons);
			if (prod_ - cons_ >= depth_)
				return nullptr;
		}
		return entry(prod_);
	}

	void commit() noexcept
	{
		++prod_;
	}

	/* Drop the entries that were committed since the last publish(). */
	void rewind() noexcept
	{
		prod_ = published_;
	}

	[[nodiscard]] bool pending() const noexcept
	{
		return prod_ != published_;
	}

	/*
	 * Show the committed entries to the kernel. Return: true if the kernel wants a
	 * doorbell.
	 */
	[[nodiscard]] bool publish() noexcept
	{
		published_ = prod_;
		store_release(head_->prod, prod_);
		full_barrier();
		return load_relaxed(head_->flags) & KRDMA_SOFT_RING_DOORBELL;
	}

	/* May published requests wait for more? */
	[[nodiscard]] bool gathering() const noexcept
	{
		return load_acquire(head_->flags) & KRDMA_SOFT_RING_SOON;
	}

	/* Have so many been gathered that they must not wait any longer? */
	[[nodiscard]] bool due() const noexcept
	{
		return static_cast<std::int32_t>(published_ - load_relaxed(head_->due)) >= 0;
	}

private:
	[[nodiscard]] Entry *entry(std::uint32_t index) const noexcept
	{
		auto *bytes = reinterpret_cast<std::byte *>(head_) + KRDMA_SOFT_RING_ENTRIES;
		return reinterpret_cast<Entry *>(bytes +
						 std::size_t{index & (depth_ - 1)} * stride_);
	}

	krdma_soft_ring *head_{};
	std::uint32_t depth_{};
	std::uint32_t stride_{};
	std::uint32_t prod_{};
	std::uint32_t published_{};
	std::uint32_t cons_{}; /* last value that was read; the kernel may be ahead */
};

using SendRing = ProducerRing<krdma_soft_sqe>;
using RecvRing = ProducerRing<krdma_soft_rqe>;

/** class CompletionRing - a completion queue: the kernel produces, the library consumes */
class CompletionRing {
public:
	/* @stamp_offset: offset of the times in @memory; 0: there are none */
	void attach(void *memory, const RingShape &shape, std::uint64_t stamp_offset = 0) noexcept
	{
		auto *bytes = static_cast<std::byte *>(memory);

		head_ = static_cast<krdma_soft_cq_ring *>(memory);
		stamps_ = stamp_offset
				  ? reinterpret_cast<krdma_soft_cq_stamp *>(bytes + stamp_offset)
				  : nullptr;
		mask_ = shape.depth - 1;
		cons_ = load_relaxed(head_->cons);
	}

	/* Number of completions that peek() may read. */
	[[nodiscard]] std::uint32_t available() const noexcept
	{
		return load_acquire(head_->prod) - cons_;
	}

	/* The nth completion that was not released yet, n < available(). */
	[[nodiscard]] const krdma_soft_cqe &peek(std::uint32_t n) const noexcept
	{
		return at(n);
	}

	/* The time at which the nth was added; only for a queue with times. */
	[[nodiscard]] const krdma_soft_cq_stamp &stamp(std::uint32_t n) const noexcept
	{
		return stamps_[slot(n)];
	}

	/* Give n entries back to the kernel. */
	void release(std::uint32_t n) noexcept
	{
		cons_ += n;
		store_release(head_->cons, cons_);
	}

	/*
	 * Drop the completions of a QP that adds no more. The others keep their order. The
	 * first @seen entries stay, whatever their QP.
	 */
	void purge(std::uint32_t qp_num, std::uint32_t seen = 0) noexcept
	{
		std::uint32_t kept = available();

		for (std::uint32_t n = kept; n-- > 0;) {
			if (n >= seen && peek(n).qp_num == qp_num)
				continue;
			at(--kept) = peek(n);
			if (stamps_)
				stamps_[slot(kept)] = stamps_[slot(n)];
		}
		if (kept)
			release(kept);
	}

	/* If this is true and available() is 0, no completion will ever come. */
	[[nodiscard]] bool dead() const noexcept
	{
		return load_acquire(head_->flags) & KRDMA_SOFT_RING_DEAD;
	}

	/*
	 * Ask for an event at the next completion. Arming for any completion is not reduced to
	 * solicited ones.
	 */
	void arm(bool solicited_only) noexcept
	{
		if (solicited_only) {
			std::uint32_t none = KRDMA_SOFT_CQ_ARM_NONE;

			__atomic_compare_exchange_n(&head_->arm, &none, KRDMA_SOFT_CQ_ARM_SOLICITED,
						    false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		} else {
			store_release(head_->arm, KRDMA_SOFT_CQ_ARM_NEXT);
		}
		full_barrier();
	}

private:
	[[nodiscard]] std::uint32_t slot(std::uint32_t n) const noexcept
	{
		return (cons_ + n) & mask_;
	}

	[[nodiscard]] krdma_soft_cqe &at(std::uint32_t n) const noexcept
	{
		auto *bytes = reinterpret_cast<std::byte *>(head_) + KRDMA_SOFT_RING_ENTRIES;
		return reinterpret_cast<krdma_soft_cqe *>(bytes)[slot(n)];
	}

	krdma_soft_cq_ring *head_{};
	krdma_soft_cq_stamp *stamps_{};
	std::uint32_t mask_{};
	std::uint32_t cons_{};
};

} /* namespace krdma */

#endif /* KRDMA_RING_HPP */
