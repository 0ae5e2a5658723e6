/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The software RNIC's queues on their rings, for the rdma-core provider and for libkrdma's
 * user library. This file makes ring entries from requests, decides when to ring the doorbell,
 * and takes completions.
 *
 * A request is a struct krdma_wr with the numbers of the verbs. The only system call is
 * mmap(). Nothing here needs libstdc++ at run time.
 */
#ifndef KRDMA_QUEUE_HPP
#define KRDMA_QUEUE_HPP

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>

#include <krdma/krdma-abi.h>
#include <rdma/ib_user_verbs.h>

#include "ring.hpp"

namespace krdma {

/* Objects live in C memory: there is no operator new to link with. */
template <typename T> T *make() noexcept
{
	static_assert(alignof(T) <= alignof(std::max_align_t));
	void *memory = std::malloc(sizeof(T));

	if (!memory) {
		errno = ENOMEM;
		return nullptr;
	}
	return ::new (memory) T{};
}

template <typename T> void dispose(T *object) noexcept
{
	if (!object)
		return;
	object->~T();
	std::free(object);
}

/** class Mapping - memory of the device file, mapped */
class Mapping {
public:
	Mapping() noexcept = default;
	Mapping(const Mapping &) = delete;
	Mapping &operator=(const Mapping &) = delete;

	~Mapping()
	{
		if (address_)
			munmap(address_, size_);
	}

	/* Return: 0 or an errno. A size of 0 is valid. */
	[[nodiscard]] int map(int fd, std::uint64_t offset, std::uint64_t size) noexcept
	{
		if (size == 0)
			return 0;
		void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				     static_cast<off_t>(offset));
		if (address == MAP_FAILED)
			return errno;
		address_ = address;
		size_ = size;
		return 0;
	}

	[[nodiscard]] void *address() const noexcept
	{
		return address_;
	}

	void swap(Mapping &other) noexcept
	{
		std::swap(address_, other.address_);
		std::swap(size_, other.size_);
	}

private:
	void *address_{};
	std::size_t size_{};
};

/** class QueueLock - serializes the threads of a queue, unless the program promised one thread */
class QueueLock {
public:
	QueueLock() noexcept
	{
		pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE);
	}

	QueueLock(const QueueLock &) = delete;
	QueueLock &operator=(const QueueLock &) = delete;

	~QueueLock()
	{
		pthread_spin_destroy(&lock_);
	}

	void set_single_threaded(bool single) noexcept
	{
		needed_ = !single;
	}

	void lock() noexcept
	{
		if (needed_)
			pthread_spin_lock(&lock_);
	}

	void unlock() noexcept
	{
		if (needed_)
			pthread_spin_unlock(&lock_);
	}

private:
	pthread_spinlock_t lock_;
	bool needed_{true};
};

/** class QueueMutex - a lock that may be held during system calls */
class QueueMutex {
public:
	QueueMutex() noexcept = default;
	QueueMutex(const QueueMutex &) = delete;
	QueueMutex &operator=(const QueueMutex &) = delete;

	~QueueMutex()
	{
		pthread_mutex_destroy(&mutex_);
	}

	void lock() noexcept
	{
		pthread_mutex_lock(&mutex_);
	}

	void unlock() noexcept
	{
		pthread_mutex_unlock(&mutex_);
	}

private:
	pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

template <typename Lock> class QueueGuard {
public:
	explicit QueueGuard(Lock &lock) noexcept : lock_{lock}
	{
		lock_.lock();
	}

	QueueGuard(const QueueGuard &) = delete;
	QueueGuard &operator=(const QueueGuard &) = delete;

	~QueueGuard()
	{
		lock_.unlock();
	}

private:
	Lock &lock_;
};

/**
 * class Patience - decides when a thread that polls without success yields the CPU
 *
 * The RNIC is software. Its workers may wait for the processor that the polling thread uses. So
 * the thread yields after a number of empty polls in a row. The kernel sets this number.
 */
class Patience {
public:
	/* @said: the kernel's number; 0: the kernel gave none */
	void set_limit(std::uint32_t said) noexcept
	{
		limit_ = said ? said : usual;
	}

	/* Count an empty poll. Return: true when it is time to yield(). */
	[[nodiscard]] bool exhausted() noexcept
	{
		if (++empty_ < limit_)
			return false;
		empty_ = 0;
		return true;
	}

	void found() noexcept
	{
		empty_ = 0;
	}

private:
	static constexpr std::uint32_t usual = 16;
	std::uint32_t limit_{usual};
	std::uint32_t empty_{};
};

/* When to ring for requests that were just published. Determined under the queue's lock. */
enum class Tell : std::uint8_t { nothing, soon, now };

template <typename Ring> Tell publish(Ring &ring) noexcept
{
	if (ring.publish())
		return Tell::now;
	if (!ring.gathering())
		return Tell::nothing;
	return ring.due() ? Tell::now : Tell::soon;
}

/**
 * class DueDoorbells - the doorbells of a context that can wait until a thread waits
 *
 * There is a place for each of a few QPs. Of two QPs with the same place, only one can wait.
 * @ring, in both calls, is int(std::uint32_t handle): the system call, 0 or an errno.
 */
class DueDoorbells {
public:
	/* The doorbell of a QP can wait. */
	template <typename Ring> void put_off(std::uint32_t handle, Ring ring) noexcept
	{
		const std::uint64_t mine = std::uint64_t{handle} + 1;
		std::uint64_t &due = due_[handle % places];

		if (__atomic_load_n(&due, __ATOMIC_RELAXED) == mine)
			return;
		const std::uint64_t other = __atomic_exchange_n(&due, mine, __ATOMIC_ACQ_REL);
		/*
		 * set after the place: a thread that empties the place sees the bit, or the bit
		 * is set again
		 */
		if (!other)
			__atomic_fetch_or(&taken_, std::uint64_t{1} << handle % places,
					  __ATOMIC_RELEASE);
		/*
		 * the kernel looks at the ring later in any case, so the result does not matter
		 */
		else if (other != mine)
			(void)ring(static_cast<std::uint32_t>(other - 1));
	}

	/*
	 * A thread is about to wait: ring for all gathered requests. Return: true if there were
	 * any.
	 */
	template <typename Ring> bool settle(Ring ring) noexcept
	{
		if (!__atomic_load_n(&taken_, __ATOMIC_RELAXED)) [[likely]]
			return false;
		std::uint64_t taken = __atomic_exchange_n(&taken_, 0, __ATOMIC_ACQUIRE);
		bool some = false;

		for (; taken; taken &= taken - 1) {
			const std::uint64_t due = __atomic_exchange_n(
				&due_[std::countr_zero(taken)], 0, __ATOMIC_ACQ_REL);
			/*
			 * if the QP is gone, the kernel returns an error, and there is nothing
			 * to send
			 */
			if (due && !ring(static_cast<std::uint32_t>(due - 1)))
				some = true;
		}
		return some;
	}

private:
	static constexpr std::uint32_t places = 64;
	std::uint64_t due_[places]{}; /* atomic: handle + 1 of a QP, or 0 */
	std::uint64_t taken_{};       /* atomic: a bit for each place that may be in use */
};

/*
 * Post a list: @push each request of @cursor into @ring until one is refused, and publish those
 * before it. @tell says when to ring. Cursor has more() and next(); afterwards it points to the
 * refused request.
 */
template <typename Ring, typename Cursor, typename Push>
int post_all(QueueLock &lock, Ring &ring, Cursor &cursor, Push push, Tell &tell)
{
	QueueGuard guard{lock};
	int err = ring.dead() ? EIO : 0;

	while (!err && cursor.more()) {
		err = push(cursor.item());
		if (!err)
			cursor.next();
	}
	tell = ring.pending() ? publish(ring) : Tell::nothing;
	return err;
}

/* Entries ****************************************************************** */

inline constexpr std::uint8_t no_op = 0xff;
static_assert(KRDMA_SOFT_OP_USER_END < no_op);

/* Convert IB_UVERBS_WR_* into KRDMA_SOFT_OP_*. Return: no_op if there is none. */
constexpr std::uint8_t soft_op(std::uint32_t opcode) noexcept
{
	switch (opcode) {
	case IB_UVERBS_WR_SEND:
		return KRDMA_SOFT_OP_SEND;
	case IB_UVERBS_WR_SEND_WITH_INV:
		return KRDMA_SOFT_OP_SEND_INV;
	case IB_UVERBS_WR_RDMA_WRITE:
		return KRDMA_SOFT_OP_WRITE;
	case IB_UVERBS_WR_RDMA_READ:
		return KRDMA_SOFT_OP_READ;
	case IB_UVERBS_WR_LOCAL_INV:
		return KRDMA_SOFT_OP_LOCAL_INV;
	case IB_UVERBS_WR_SEND_WITH_IMM:
		return KRDMA_SOFT_OP_SEND_IMM;
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
		return KRDMA_SOFT_OP_WRITE_IMM;
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		return KRDMA_SOFT_OP_FETCH_ADD;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
		return KRDMA_SOFT_OP_CMP_SWAP;
	case IB_UVERBS_WR_BIND_MW:
		return KRDMA_SOFT_OP_BIND_MW;
	default:
		return no_op;
	}
}

constexpr bool is_atomic(std::uint8_t op) noexcept
{
	return op == KRDMA_SOFT_OP_FETCH_ADD || op == KRDMA_SOFT_OP_CMP_SWAP;
}

/* the peer sends its data, so it cannot be inline */
constexpr bool is_answered(std::uint8_t op) noexcept
{
	return op == KRDMA_SOFT_OP_READ || is_atomic(op);
}

inline constexpr std::uint32_t known_send_flags =
	KRDMA_SEND_FENCE | KRDMA_SEND_SIGNALED | KRDMA_SEND_SOLICITED | KRDMA_SEND_INLINE;

inline std::uint8_t soft_flags(std::uint32_t send_flags, bool signal_all) noexcept
{
	/*
	 * SIGNALED and SOLICITED are neighbours in both sets of flags, FENCE is not. No branch
	 * is needed.
	 */
	static_assert(KRDMA_SOFT_WQE_SIGNALED == KRDMA_SEND_SIGNALED >> 1 &&
		      KRDMA_SOFT_WQE_SOLICITED == KRDMA_SEND_SOLICITED >> 1 &&
		      KRDMA_SOFT_WQE_FENCE == KRDMA_SEND_FENCE << 2);
	return static_cast<std::uint8_t>(
		(send_flags >> 1 & (KRDMA_SOFT_WQE_SIGNALED | KRDMA_SOFT_WQE_SOLICITED)) |
		(send_flags << 2 & KRDMA_SOFT_WQE_FENCE) |
		(signal_all ? KRDMA_SOFT_WQE_SIGNALED : 0));
}

static_assert(sizeof(krdma_sge) == sizeof(krdma_soft_sge));
static_assert(offsetof(krdma_sge, addr) == offsetof(krdma_soft_sge, addr));
static_assert(offsetof(krdma_sge, length) == offsetof(krdma_soft_sge, length));
static_assert(offsetof(krdma_sge, lkey) == offsetof(krdma_soft_sge, lkey));

inline const krdma_soft_sge *sges_of(const krdma_wr &wr) noexcept
{
	return reinterpret_cast<const krdma_soft_sge *>(wr.sges);
}

/* Number of bytes of a list of elements or buffers. The sum may need 64 bits. */
template <typename Buf> std::uint64_t total_length(const Buf *bufs, std::size_t n) noexcept
{
	std::uint64_t total = 0;

	for (std::size_t i = 0; i < n; i++)
		total += bufs[i].length;
	return total;
}

/* Copy one piece of inline data. Return: the place of the next piece. */
inline std::byte *put_inline(std::byte *to, const void *from, std::size_t length) noexcept
{
	if (length)
		std::memcpy(to, from, length);
	return to + length;
}

inline std::byte *payload(krdma_soft_sqe &sqe) noexcept
{
	return reinterpret_cast<std::byte *>(sqe.sge);
}

/* the usual case of one element, without a call */
inline void put_sges(krdma_soft_sge *to, const krdma_soft_sge *sges, std::size_t n) noexcept
{
	if (n == 1) [[likely]]
		std::memcpy(to, sges, sizeof(*sges));
	else if (n)
		std::memcpy(to, sges, n * sizeof(*sges));
}

inline void put_sges(krdma_soft_sqe &sqe, const krdma_soft_sge *sges, std::size_t n) noexcept
{
	sqe.num_sge = static_cast<std::uint16_t>(n);
	put_sges(sqe.sge, sges, n);
}

/* the result of an atomic operation has 8 bytes in one element */
inline bool list_fits(std::uint8_t op, const krdma_soft_sge *sges, std::size_t n) noexcept
{
	return !is_atomic(op) || (n == 1 && sges->length == sizeof(std::uint64_t));
}

inline void put_fetch_add(krdma_soft_sqe &sqe, std::uint64_t add) noexcept
{
	sqe.atomic = {.swap_add = add, .swap_add_mask = 0, .compare = 0, .compare_mask = 0};
}

inline void put_cmp_swap(krdma_soft_sqe &sqe, std::uint64_t compare, std::uint64_t swap) noexcept
{
	sqe.atomic = {.swap_add = swap,
		      .swap_add_mask = UINT64_MAX,
		      .compare = compare,
		      .compare_mask = UINT64_MAX};
}

inline void put_bind(krdma_soft_sqe &sqe, std::uint32_t rkey, std::uint32_t region_stag,
		     std::uint64_t addr, std::uint64_t length, std::uint32_t access) noexcept
{
	sqe.rkey = rkey;
	sqe.mem_stag = region_stag;
	sqe.raddr = addr;
	sqe.mem_length = length;
	sqe.mem_access = access;
}

/* the parts of a request other than its data */
inline void put_operands(krdma_soft_sqe &sqe, const krdma_wr &wr) noexcept
{
	switch (sqe.opcode) {
	case KRDMA_SOFT_OP_WRITE_IMM:
		sqe.imm = wr.imm;
		[[fallthrough]];
	case KRDMA_SOFT_OP_WRITE:
	case KRDMA_SOFT_OP_READ:
		break;
	case KRDMA_SOFT_OP_SEND_IMM:
		sqe.imm = wr.imm;
		return;
	case KRDMA_SOFT_OP_SEND_INV:
	case KRDMA_SOFT_OP_LOCAL_INV:
		sqe.invalidate = wr.imm;
		return;
	case KRDMA_SOFT_OP_BIND_MW:
		put_bind(sqe, wr.rkey, wr.bind_lkey, wr.bind_addr, wr.bind_length, wr.bind_access);
		return;
	case KRDMA_SOFT_OP_FETCH_ADD:
		put_fetch_add(sqe, wr.compare_add);
		break;
	case KRDMA_SOFT_OP_CMP_SWAP:
		put_cmp_swap(sqe, wr.compare_add, wr.swap);
		break;
	default:
		return;
	}
	sqe.raddr = wr.remote_addr;
	sqe.rkey = wr.rkey;
}

/** struct SendQueue - the send requests of a QP */
struct SendQueue {
	SendRing ring;
	QueueLock lock;
	Mapping memory;
	std::uint32_t max_sge{};
	std::uint32_t max_inline{};
	bool signal_all{};

	/* bytes of an entry for requests with these limits */
	[[nodiscard]] static std::size_t stride(std::uint32_t max_sge,
						std::uint32_t max_inline) noexcept
	{
		const std::size_t sges = max_sge * sizeof(krdma_soft_sge);

		return sizeof(krdma_soft_sqe) + (sges > max_inline ? sges : max_inline);
	}

	/* Begin an entry without data. commit() makes it valid. */
	[[nodiscard]] krdma_soft_sqe *reserve(std::uint64_t wr_id, std::uint8_t op,
					      std::uint32_t send_flags) noexcept
	{
		krdma_soft_sqe *sqe = ring.reserve();

		if (!sqe) [[unlikely]]
			return nullptr;
		sqe->wr_id = wr_id;
		sqe->opcode = op;
		sqe->flags = soft_flags(send_flags, signal_all);
		sqe->num_sge = 0;
		return sqe;
	}

	/* Can push_plain() post this request? */
	[[nodiscard]] static bool is_plain(std::uint8_t op, std::uint32_t send_flags) noexcept
	{
		return (op == KRDMA_SOFT_OP_SEND || op == KRDMA_SOFT_OP_WRITE ||
			op == KRDMA_SOFT_OP_READ) &&
		       !(send_flags & (~known_send_flags | KRDMA_SEND_INLINE));
	}

	/* Post a frequent kind of request without a krdma_wr. Return: as push(). */
	[[nodiscard]] int push_plain(std::uint8_t op, std::uint64_t wr_id, std::uint32_t send_flags,
				     std::uint32_t rkey, std::uint64_t remote_addr,
				     const krdma_soft_sge *sges, std::uint32_t num_sge) noexcept
	{
		if (num_sge > max_sge) [[unlikely]]
			return EINVAL;
		krdma_soft_sqe *sqe = reserve(wr_id, op, send_flags);
		if (!sqe) [[unlikely]]
			return ENOMEM;
		sqe->rkey = rkey;
		sqe->raddr = remote_addr;
		put_sges(*sqe, sges, num_sge);
		ring.commit();
		return 0;
	}

	/* Put a request into the ring, under the lock. Return: 0, EINVAL, ENOMEM. */
	[[nodiscard]] int push(const krdma_wr &wr) noexcept
	{
		const std::uint8_t op = soft_op(wr.opcode);

		if (op == no_op || wr.num_sge > max_sge || wr.flags & ~known_send_flags ||
		    !list_fits(op, sges_of(wr), wr.num_sge)) [[unlikely]]
			return EINVAL;

		/* these requests have no data, so ignore their lists */
		const bool has_data = op != KRDMA_SOFT_OP_LOCAL_INV && op != KRDMA_SOFT_OP_BIND_MW;
		const bool is_inline = wr.flags & KRDMA_SEND_INLINE;
		std::uint64_t length = 0;
		if (is_inline && op == KRDMA_SOFT_OP_BIND_MW)
			return EINVAL;
		if (is_inline && has_data) {
			length = total_length(sges_of(wr), wr.num_sge);
			if (is_answered(op) || length > max_inline)
				return EINVAL;
		}

		krdma_soft_sqe *sqe = reserve(wr.wr_id, op, wr.flags);
		if (!sqe) [[unlikely]]
			return ENOMEM;
		put_operands(*sqe, wr);
		if (is_inline && has_data)
			put_inline_data(*sqe, wr, length);
		else if (has_data)
			put_sges(*sqe, sges_of(wr), wr.num_sge);
		ring.commit();
		return 0;
	}

private:
	static void put_inline_data(krdma_soft_sqe &sqe, const krdma_wr &wr,
				    std::uint64_t length) noexcept
	{
		const krdma_soft_sge *sges = sges_of(wr);
		std::byte *to = payload(sqe);

		sqe.flags |= KRDMA_SOFT_WQE_INLINE;
		sqe.length = static_cast<std::uint32_t>(length);
		for (std::uint32_t i = 0; i < wr.num_sge; i++)
			to = put_inline(to, reinterpret_cast<const void *>(sges[i].addr),
					sges[i].length);
	}
};

/** struct RecvQueue - the receive requests of a QP, or of a shared receive queue */
struct RecvQueue {
	RecvRing ring;
	QueueLock lock;
	QueueMutex resizing; /* taken before lock */
	Mapping memory;
	std::uint32_t max_sge{};

	[[nodiscard]] static std::size_t stride(std::uint32_t max_sge) noexcept
	{
		return sizeof(krdma_soft_rqe) + max_sge * sizeof(krdma_soft_sge);
	}

	/* Put a request into the ring, under the lock. Return: 0, EINVAL, ENOMEM. */
	[[nodiscard]] int push(std::uint64_t wr_id, const krdma_soft_sge *sges,
			       std::uint32_t num_sge) noexcept
	{
		if (num_sge > max_sge)
			return EINVAL;
		krdma_soft_rqe *rqe = ring.reserve();
		if (!rqe)
			return ENOMEM;

		rqe->wr_id = wr_id;
		rqe->num_sge = num_sge;
		put_sges(rqe->sge, sges, num_sge);
		ring.commit();
		return 0;
	}
};

/* Map and attach a ring of the kernel. Return: 0 or an errno. */
template <typename Queue>
int attach_ring(Queue &queue, int fd, std::uint64_t offset, const RingShape &shape,
		std::size_t min_stride) noexcept
{
	if (!shape.valid(min_stride))
		return EPROTO;
	if (int err = queue.memory.map(fd, offset, shape.size))
		return err;
	queue.ring.attach(queue.memory.address(), shape);
	return 0;
}

/* Attach both rings of a new QP. */
inline int attach_rings(SendQueue &sq, RecvQueue &rq, int fd, const krdma_soft_qp_resp &granted,
			std::size_t send_stride, std::size_t recv_stride) noexcept
{
	const RingShape send{granted.sq_size, granted.sq_depth, granted.sq_stride};
	const RingShape recv{granted.rq_size, granted.rq_depth, granted.rq_stride};

	if (!recv.valid(recv_stride))
		return EPROTO;
	if (int err = attach_ring(sq, fd, granted.sq_offset, send, send_stride))
		return err;
	if (granted.rq_offset - granted.sq_offset < granted.sq_size) {
		const std::uint64_t begin = granted.rq_offset - granted.sq_offset;

		if (recv.size > send.size - begin)
			return EPROTO;
		rq.ring.attach(static_cast<char *>(sq.memory.address()) + begin, recv);
		return 0;
	}
	return attach_ring(rq, fd, granted.rq_offset, recv, recv_stride);
}

/* Completions ************************************************************** */

/* KRDMA_WC_WITH_* of a completion. libibverbs' IBV_WC_WITH_* have the same values. */
inline std::uint32_t soft_wc_flags(const krdma_soft_cqe &cqe) noexcept
{
	if (cqe.flags & KRDMA_SOFT_WC_IMM)
		return KRDMA_WC_WITH_IMM;
	return cqe.flags & KRDMA_SOFT_WC_INVALIDATED ? KRDMA_WC_WITH_INV : 0;
}

/** class PollingThread - the thread that holds the lock of a queue from one call to the next */
class PollingThread {
public:
	void begin() noexcept
	{
		__atomic_store_n(&thread_, pthread_self(), __ATOMIC_RELAXED);
	}

	void end() noexcept
	{
		__atomic_store_n(&thread_, none, __ATOMIC_RELAXED);
	}

	/* Only this thread itself changes the result. */
	[[nodiscard]] bool is_this() const noexcept
	{
		return __atomic_load_n(&thread_, __ATOMIC_RELAXED) == pthread_self();
	}

private:
	static constexpr pthread_t none{};
	pthread_t thread_{none};
};

/** struct SoftCq - completions, and the state of polling */
struct SoftCq {
	/* the caller's duty after an empty poll: ring due doorbells, perhaps yield */
	struct Idle {
		bool empty{};
		bool yield{};
	};

	CompletionRing ring;
	QueueMutex resizing; /* taken before lock */
	QueueLock lock;      /* taken before arming */
	QueueLock arming;
	Mapping memory;
	Patience patience;
	PollingThread polling;  /* thread that holds lock between calls */
	std::uint32_t polled{}; /* entries that it has read but not released */

	void set_single_threaded(bool single) noexcept
	{
		lock.set_single_threaded(single);
		arming.set_single_threaded(single);
	}

	/* Number of completions that wait. If it is 0 and @dead is true, none will come. */
	[[nodiscard]] std::uint32_t available(bool &dead) const noexcept
	{
		dead = ring.dead();
		return ring.available();
	}

	/*
	 * Polling in steps: begin(), step() after each completion, end(). ENOENT, EIO: no more.
	 */
	[[nodiscard]] int begin(Idle &idle) noexcept
	{
		bool dead = false;

		lock.lock();
		if (available(dead)) {
			polling.begin();
			polled = 1;
			patience.found();
			return 0;
		}
		idle = {true, patience.exhausted()};
		lock.unlock();
		return dead ? EIO : ENOENT;
	}

	[[nodiscard]] int step() noexcept
	{
		if (polled == ring.available())
			return ENOENT;
		polled++;
		return 0;
	}

	void end() noexcept
	{
		ring.release(polled);
		polled = 0;
		polling.end();
		lock.unlock();
	}

	/*
	 * Pass up to @count completions to @fill(n, completion). Return: their number, or -EIO:
	 * the queue is empty and its device is gone, so none will come.
	 */
	template <typename Fill> int poll(int count, Fill fill, Idle &idle) noexcept
	{
		QueueGuard guard{lock};
		bool dead = false;
		std::uint32_t n = available(dead);

		if (n > 0) {
			if (count <= 0)
				return 0;
			if (n > static_cast<std::uint32_t>(count))
				n = static_cast<std::uint32_t>(count);
			for (std::uint32_t i = 0; i < n; i++)
				fill(i, ring.peek(i));
			ring.release(n);
			patience.found();
			return static_cast<int>(n);
		}
		if (dead)
			return -EIO;
		idle = {true, patience.exhausted()};
		return 0;
	}

	/* 0 or EIO */
	int arm(bool solicited_only) noexcept
	{
		/* a ring that is being replaced would lose the arming */
		QueueGuard guard{arming};

		ring.arm(solicited_only);
		return ring.dead() ? EIO : 0;
	}

	[[nodiscard]] bool empty() noexcept
	{
		QueueGuard guard{lock};

		return ring.available() == 0;
	}

	/* Remove the completions of a QP, which have no meaning any more. */
	void purge(std::uint32_t qp_num) noexcept
	{
		const StepGuard guard{*this};

		ring.purge(qp_num, polled);
	}

	[[nodiscard]] int attach(int fd, const krdma_soft_cq_resp &granted) noexcept
	{
		const RingShape shape = shape_of(granted);

		if (!valid(granted, shape))
			return EPROTO;
		if (int err = memory.map(fd, granted.ring_offset, granted.ring_size))
			return err;
		ring.attach(memory.address(), shape, granted.stamp_offset);
		return 0;
	}

	/*
	 * Resize the queue: with @prepare(granted) the kernel makes a new ring, and @change()
	 * puts it into use. Return: 0 or an errno.
	 */
	template <typename Prepare, typename Change>
	[[nodiscard]] int resize(int fd, Prepare prepare, Change change) noexcept
	{
		/* one resize at a time: another prepared ring would replace this one */
		const QueueGuard one{resizing};
		krdma_soft_cq_resp granted{};
		Mapping next;

		if (int err = prepare(granted))
			return err;
		const RingShape shape = shape_of(granted);
		if (!valid(granted, shape))
			return EPROTO;
		if (int err = next.map(fd, granted.ring_offset, granted.ring_size))
			return err;

		/* no thread polls or arms while the kernel moves the waiting entries */
		const StepGuard polls{*this};
		const QueueGuard arms{arming};
		if (int err = change())
			return err;
		ring.attach(next.address(), shape, granted.stamp_offset);
		memory.swap(next);
		return 0;
	}

private:
	/* takes the lock, unless this thread holds it because it polls in steps */
	class StepGuard {
	public:
		explicit StepGuard(SoftCq &cq) noexcept : cq_{cq}, held_{cq.polling.is_this()}
		{
			if (!held_)
				cq_.lock.lock();
		}

		StepGuard(const StepGuard &) = delete;
		StepGuard &operator=(const StepGuard &) = delete;

		~StepGuard()
		{
			if (!held_)
				cq_.lock.unlock();
		}

	private:
		SoftCq &cq_;
		bool held_;
	};

	[[nodiscard]] static bool valid(const krdma_soft_cq_resp &granted,
					const RingShape &shape) noexcept
	{
		const std::uint64_t entries = std::uint64_t{shape.depth} * sizeof(krdma_soft_cqe);
		const std::uint64_t stamps =
			std::uint64_t{shape.depth} * sizeof(krdma_soft_cq_stamp);

		if (shape.depth == 0 || !shape.valid(sizeof(krdma_soft_cqe)))
			return false;
		return !granted.stamp_offset ||
		       (granted.stamp_offset >= KRDMA_SOFT_RING_ENTRIES + entries &&
			granted.stamp_offset % alignof(krdma_soft_cq_stamp) == 0 &&
			stamps <= granted.ring_size &&
			granted.stamp_offset <= granted.ring_size - stamps);
	}

	[[nodiscard]] static RingShape shape_of(const krdma_soft_cq_resp &granted) noexcept
	{
		return {granted.ring_size, granted.depth, sizeof(krdma_soft_cqe)};
	}
};

/* Resize a shared receive queue in the same way. */
template <typename Prepare, typename Change>
int resize_srq_ring(RecvQueue &queue, int fd, Prepare prepare, Change change) noexcept
{
	const QueueGuard one{queue.resizing};
	krdma_soft_srq_resp granted{};
	Mapping next;

	if (int err = prepare(granted))
		return err;
	const RingShape shape{granted.ring_size, granted.depth, granted.stride};
	if (!shape.valid(RecvQueue::stride(queue.max_sge)))
		return EPROTO;
	if (int err = next.map(fd, granted.ring_offset, granted.ring_size))
		return err;

	/* no thread posts while the kernel moves the posted entries */
	const QueueGuard guard{queue.lock};
	if (int err = change())
		return err;
	queue.ring.attach(next.address(), shape);
	queue.memory.swap(next);
	return 0;
}

} /* namespace krdma */

#endif /* KRDMA_QUEUE_HPP */
