/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The objects of the rdma-core provider. Each object has the object of libibverbs as its first
 * member and uses the queues of queue.hpp.
 */
#ifndef KRDMA_PROVIDER_HPP
#define KRDMA_PROVIDER_HPP

#include <type_traits>

#include "queue.hpp"
#include "verbs_abi.hpp"

namespace krdma {

/* Tells the kernel to look at the rings of a QP. Return: 0 or an errno. */
[[nodiscard]] int ring_doorbell(ibv_context *context, std::uint32_t qp_handle) noexcept;

struct Context {
	verbs_context base;
	DueDoorbells due;
	std::uint32_t poll_yield; /* for class Patience */
	bool no_write;            /* atomic: the kernel takes doorbells only by ioctl() */
};

struct Td {
	ibv_td base;
	std::uint32_t users; /* atomic: number of parent domains with it */
};

/** struct Pd - protection domain, or a parent domain that stands for one */
struct Pd {
	ibv_pd base;
	std::uint32_t users; /* atomic: number of parent domains that stand for it */
	Pd *stands_for;      /* nullptr for a real domain */
	Td *td;

	[[nodiscard]] bool single_threaded() const noexcept
	{
		return td;
	}
};

struct Cq {
	verbs_cq base;
	SoftCq queue;
};

struct Srq {
	ibv_srq base;
	RecvQueue queue;
};

/** struct Doorbell - the system call that tells the kernel to look at the rings of a QP */
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

struct Qp {
	verbs_qp base;

	SendQueue sq;
	RecvQueue rq;

	/* between wr_start() and wr_complete() */
	krdma_soft_sqe *building;
	int build_error;

	/* 0 or an errno */
	[[nodiscard]] int ring_doorbell() noexcept;

	/* result of publish(): 0 or an errno */
	[[nodiscard]] int notify(Tell tell) noexcept;

	/* the doorbell can wait */
	void ring_soon() noexcept;
};

/* libibverbs' object is the first member, so both have the same address. */
template <typename T, typename Base> T &ours(Base *base) noexcept
{
	static_assert(std::is_standard_layout_v<T>);
	return *reinterpret_cast<T *>(base);
}

/* A thread is about to wait: ring for all gathered requests. Return: true if there were any. */
inline bool ring_due(ibv_context *context) noexcept
{
	return ours<Context>(verbs_get_ctx(context)).due.settle([context](std::uint32_t handle) {
		return ring_doorbell(context, handle);
	});
}

/* libibverbs' lists, for post_all() */
template <typename Wr> class List {
public:
	explicit List(Wr *first) noexcept : at_{first}
	{}
	[[nodiscard]] bool more() const noexcept
	{
		return at_;
	}
	[[nodiscard]] const Wr &item() const noexcept
	{
		return *at_;
	}
	void next() noexcept
	{
		at_ = at_->next;
	}
	[[nodiscard]] Wr *at() const noexcept
	{
		return at_;
	}

private:
	Wr *at_;
};

/*
 * The common part of ibv_post_*(): @push each request into the ring until one is refused,
 * publish those before it, and @notify if the kernel asked for a doorbell.
 */
template <typename Queue, typename Wr, typename Push, typename Notify>
int post_list(Queue &queue, Wr *wr, Wr **bad_wr, Push push, Notify notify)
{
	List<Wr> list{wr};
	Tell tell = Tell::nothing;
	int err = post_all(queue.lock, queue.ring, list, push, tell);

	if (err) [[unlikely]]
		*bad_wr = list.at();
	if (tell != Tell::nothing) {
		if (int failed = notify(tell); failed && !err) {
			*bad_wr = wr;
			err = failed;
		}
	}
	return err;
}

static_assert(sizeof(ibv_sge) == sizeof(krdma_soft_sge));
static_assert(offsetof(ibv_sge, addr) == offsetof(krdma_soft_sge, addr));
static_assert(offsetof(ibv_sge, length) == offsetof(krdma_soft_sge, length));
static_assert(offsetof(ibv_sge, lkey) == offsetof(krdma_soft_sge, lkey));

inline const krdma_soft_sge *soft_sges(const ibv_sge *sges) noexcept
{
	return reinterpret_cast<const krdma_soft_sge *>(sges);
}

/* Put a receive request into the ring of an RQ or SRQ. Return: 0, EINVAL, ENOMEM. */
inline int push_recv(RecvQueue &queue, const ibv_recv_wr &wr) noexcept
{
	if (wr.num_sge < 0)
		return EINVAL;
	return queue.push(wr.wr_id, soft_sges(wr.sg_list), static_cast<std::uint32_t>(wr.num_sge));
}

ibv_pd *alloc_pd(ibv_context *context);
ibv_pd *import_pd(ibv_context *context, std::uint32_t handle);
void unimport_pd(ibv_pd *pd);
ibv_pd *alloc_parent_domain(ibv_context *context, ibv_parent_domain_init_attr *attr);
int dealloc_pd(ibv_pd *pd);
ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *attr);
int dealloc_td(ibv_td *td);
ibv_mr *reg_mr(ibv_pd *pd, void *addr, std::size_t length, std::uint64_t iova, int access);
ibv_mr *reg_dmabuf_mr(ibv_pd *pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
		      int fd, int access);
int rereg_mr(verbs_mr *mr, int flags, ibv_pd *pd, void *addr, std::size_t length, int access);
int dereg_mr(verbs_mr *mr);
ibv_mr *import_mr(ibv_pd *pd, std::uint32_t handle);
void unimport_mr(ibv_mr *mr);
verbs_context *import_context(ibv_device *device, int cmd_fd);
/* Make a context from the kernel's answer @answer. It owns the descriptor, also on failure. */
verbs_context *begin_context(Context *context, int err, const krdma_soft_ucontext_resp &answer);
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
void set_cq_readers(ibv_cq_ex &cq, std::uint64_t wc_flags);

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
