/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The provider's objects, each with the library's object as its first member,
 * and the few helpers that replace what the C++ run-time library would bring.
 */
#ifndef KRDMA_PROVIDER_HPP
#define KRDMA_PROVIDER_HPP

#include <cerrno>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>

#include "ring.hpp"
#include "verbs_abi.hpp"

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

	/* 0 or an errno; nothing to map is fine */
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

/** class QueueLock - keeps the threads of a queue apart, unless its user promised one thread */
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

class QueueGuard {
public:
	explicit QueueGuard(QueueLock &lock) noexcept : lock_{lock}
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
	QueueLock &lock_;
};

/* 0 or an errno: tells the kernel to look at the rings of a QP */
[[nodiscard]] int ring_doorbell(ibv_context *context, std::uint32_t qp_handle) noexcept;

struct Context {
	verbs_context base;
	/* atomic: handle + 1 of a QP whose doorbell is due before anything is waited for, or 0 */
	std::uint64_t due;
	std::uint32_t poll_yield; /* for class Patience */
};

struct Td {
	ibv_td base;
	std::uint32_t users; /* atomic: parent domains made with it */
};

/** struct Pd - protection domain, or a parent domain that stands for one */
struct Pd {
	ibv_pd base;
	std::uint32_t users; /* atomic: parent domains that stand for it */
	Pd *stands_for;      /* nullptr for a real one */
	Td *td;

	[[nodiscard]] bool single_threaded() const noexcept
	{
		return td;
	}
};

/**
 * class Patience - what a thread does that polls and finds nothing
 *
 * The RNIC is software: its workers may wait for the very processor that the
 * polling thread keeps busy. After so many empty polls in a row as the kernel says
 * it lets them have it.
 */
class Patience {
public:
	/* of a kernel that does not say */
	static constexpr std::uint32_t usual = 16;

	void set_limit(std::uint32_t limit) noexcept
	{
		limit_ = limit;
	}

	/* an empty poll; true when it is time to yield() */
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
	std::uint32_t limit_{usual};
	std::uint32_t empty_{};
};

struct Cq {
	verbs_cq base;
	Patience patience;
	CompletionRing ring;
	QueueLock lock;
	Mapping memory;
	std::uint32_t polled; /* by start_poll() and next_poll(), not yet released */
};

struct Srq {
	ibv_srq base;
	RecvRing ring;
	QueueLock lock;
	Mapping memory;
	std::uint32_t max_sge;
};

/** struct Doorbell - the system call that tells the kernel to look at a QP's rings */
struct Doorbell {
	ib_uverbs_cmd_hdr header;
	ib_uverbs_post_send request;
};

static_assert(sizeof(ib_uverbs_post_send) == 24);

/* the legacy post_send command without work requests; see <krdma/soft-abi.h> */
inline Doorbell make_doorbell(std::uint32_t qp_handle, ib_uverbs_post_send_resp &response) noexcept
{
	Doorbell doorbell{};

	doorbell.header.command = IB_USER_VERBS_CMD_POST_SEND;
	doorbell.header.in_words = sizeof(doorbell) / 4;
	doorbell.header.out_words = sizeof(response) / 4;
	doorbell.request.response = reinterpret_cast<std::uintptr_t>(&response);
	doorbell.request.qp_handle = qp_handle;
	doorbell.request.wqe_size = sizeof(ib_uverbs_send_wr);
	return doorbell;
}

/* What is to be said of requests that were published just now; under the queue's lock. */
enum class Tell : std::uint8_t { nothing, soon, now };

template <typename Ring> Tell publish(Ring &ring) noexcept
{
	if (ring.publish())
		return Tell::now;
	if (!ring.gathering())
		return Tell::nothing;
	return ring.half_full() ? Tell::now : Tell::soon;
}

struct Qp {
	verbs_qp base;

	SendRing sq;
	QueueLock sq_lock;
	std::uint32_t max_send_sge;
	std::uint32_t max_inline;
	bool signal_all;

	/* between wr_start() and wr_complete() */
	krdma_soft_sqe *building;
	int build_error;

	RecvRing rq;
	QueueLock rq_lock;
	std::uint32_t max_recv_sge;

	Mapping sq_memory;
	Mapping rq_memory;

	/* 0 or an errno */
	[[nodiscard]] int ring_doorbell() noexcept;

	/* what publish() answered: 0 or an errno */
	[[nodiscard]] int notify(Tell tell) noexcept;

	/* the doorbell can wait; that of another QP that could, too, cannot any more */
	void ring_soon() noexcept;
};

/* The library's object is the first member of ours, so the addresses are the same. */
template <typename T, typename Base> T &ours(Base *base) noexcept
{
	static_assert(std::is_standard_layout_v<T>);
	return *reinterpret_cast<T *>(base);
}

/* a thread is about to wait: what was gathered goes out first; true when there was some */
inline bool ring_due(ibv_context *context) noexcept
{
	auto &ctx = ours<Context>(verbs_get_ctx(context));

	if (!__atomic_load_n(&ctx.due, __ATOMIC_RELAXED)) [[likely]]
		return false;
	const std::uint64_t due = __atomic_exchange_n(&ctx.due, 0, __ATOMIC_ACQ_REL);
	/* a QP that is gone meanwhile has nothing to send; the kernel says so */
	return due && !ring_doorbell(context, static_cast<std::uint32_t>(due - 1));
}

/*
 * What ibv_post_*() of any queue does: @push each request into @ring until one is
 * refused, publish those before it, and @notify when the kernel asked for it.
 */
template <typename Ring, typename Wr, typename Push, typename Notify>
int post_list(QueueLock &lock, Ring &ring, Wr *wr, Wr **bad_wr, Push push, Notify notify)
{
	Wr *const first = wr;
	Tell tell = Tell::nothing;
	int err;

	{
		QueueGuard guard{lock};

		err = ring.dead() ? EIO : 0;
		while (wr && !err) {
			err = push(*wr);
			if (!err)
				wr = wr->next;
		}
		if (ring.pending())
			tell = publish(ring);
	}
	if (err) [[unlikely]]
		*bad_wr = wr;
	if (tell != Tell::nothing) {
		if (int failed = notify(tell); failed && !err) {
			*bad_wr = first;
			err = failed;
		}
	}
	return err;
}

/* a receive request into ring, for RQ and SRQ alike: 0, EINVAL, ENOMEM */
int push_recv(RecvRing &ring, const ibv_recv_wr &wr, std::uint32_t max_sge) noexcept;

ibv_pd *alloc_pd(ibv_context *context);
ibv_pd *alloc_parent_domain(ibv_context *context, ibv_parent_domain_init_attr *attr);
int dealloc_pd(ibv_pd *pd);
ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *attr);
int dealloc_td(ibv_td *td);
ibv_mr *reg_mr(ibv_pd *pd, void *addr, std::size_t length, std::uint64_t iova, int access);
ibv_mr *reg_dmabuf_mr(ibv_pd *pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
		      int fd, int access);
int rereg_mr(verbs_mr *mr, int flags, ibv_pd *pd, void *addr, std::size_t length, int access);
int dereg_mr(verbs_mr *mr);
ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type);
int dealloc_mw(ibv_mw *mw);
int bind_mw(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *bind);

ibv_cq *create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel, int comp_vector);
ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr);
int poll_cq(ibv_cq *cq, int num_entries, ibv_wc *wc);
int req_notify_cq(ibv_cq *cq, int solicited_only);
int resize_cq(ibv_cq *cq, int cqe);
int modify_cq(ibv_cq *cq, ibv_modify_cq_attr *attr);
void purge_cqs(const ibv_qp &qp) noexcept;
int destroy_cq(ibv_cq *cq);
void set_cq_readers(ibv_cq_ex &cq);

ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *attr);
int modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask);
int query_srq(ibv_srq *srq, ibv_srq_attr *attr);
int destroy_srq(ibv_srq *srq);
int post_srq_recv(ibv_srq *srq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);

ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *attr);
ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr);
int modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask);
int query_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask, ibv_qp_init_attr *init_attr);
int destroy_qp(ibv_qp *qp);
int post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad_wr);
int post_recv(ibv_qp *qp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);

/* IBV_QP_EX_WITH_* that set_send_ops() can serve */
inline constexpr std::uint64_t supported_send_ops =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
	IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ |
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
	IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
void set_send_ops(ibv_qp_ex &qp, std::uint64_t ops);

} /* namespace krdma */

#endif /* KRDMA_PROVIDER_HPP */
