// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The slow path of /dev/krdma: commands that post, poll and arm, in a slow context.
 *
 * The provider sees these calls as calls of a kernel consumer. Two measures keep a user from
 * the rights of the kernel:
 *
 * - This file only accepts the operations in a list, and copies inline data from the caller's
 *   memory.
 * - The access checks: a user's PD has no right to the kernel's memory.
 *
 * No data is copied from or to user space while an object is in use. A slow page fault must
 * not delay the removal of an RNIC.
 *
 * In any other context the queues belong to the user library, and a post command without work
 * requests is its doorbell.
 */
#include <linux/cleanup.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <krdma/compat.h>

#include "verbs.h"

/* more than any provider accepts; the provider checks its own limits */
#define KAL_POST_SGES	64
#define KAL_POST_INLINE	4096

/**
 * struct kal_post - a work request that is being posted
 * @wr: work request of user space
 * @sges: elements of user space
 * @sge: elements for the provider
 * @data: inline data
 */
struct kal_post {
	struct krdma_wr wr;
	struct krdma_sge sges[KAL_POST_SGES];
	struct ib_sge sge[KAL_POST_SGES];
	u8 data[KAL_POST_INLINE];
};

/* Copy inline data, which becomes the only element. */
static int chardev_post_copy_inline(struct kal_post *p)
{
	u32 i, done = 0;

	for (i = 0; i < p->wr.num_sge; i++) {
		const struct krdma_sge *sge = &p->sges[i];

		if (sge->length > sizeof(p->data) - done)
			return -EINVAL;
		if (copy_from_user(p->data + done, u64_to_user_ptr(sge->addr), sge->length))
			return -EFAULT;
		done += sge->length;
	}
	p->sge[0] = (struct ib_sge) { .addr = (uintptr_t)p->data, .length = done };
	p->wr.num_sge = 1;
	return 0;
}

static int chardev_post_copy(struct kal_post *p, u64 wrs, u32 index, bool send)
{
	const struct krdma_wr __user *from = u64_to_user_ptr(wrs);
	u32 i;

	if (copy_from_user(&p->wr, from + index, sizeof(p->wr)))
		return -EFAULT;
	if (p->wr.num_sge > KAL_POST_SGES)
		return -EINVAL;
	if (copy_from_user(p->sges, u64_to_user_ptr(p->wr.sges),
			   p->wr.num_sge * sizeof(p->sges[0])))
		return -EFAULT;
	if (send && p->wr.flags & KRDMA_SEND_INLINE)
		return chardev_post_copy_inline(p);
	for (i = 0; i < p->wr.num_sge; i++)
		p->sge[i] = (struct ib_sge) {
			.addr = p->sges[i].addr,
			.length = p->sges[i].length,
			.lkey = p->sges[i].lkey,
		};
	return 0;
}

/* Sends ******************************************************************** */

union kal_send_wr {
	struct ib_send_wr wr;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
	struct ri_bind_wr bind;
};

static int chardev_send_flags(u32 flags)
{
	return (flags & KRDMA_SEND_FENCE ? IB_SEND_FENCE : 0) |
	       (flags & KRDMA_SEND_SIGNALED ? IB_SEND_SIGNALED : 0) |
	       (flags & KRDMA_SEND_SOLICITED ? IB_SEND_SOLICITED : 0) |
	       (flags & KRDMA_SEND_INLINE ? IB_SEND_INLINE : 0);
}

/*
 * Convert a user's work request to the provider's. Operations that are not in this list are
 * reserved for kernel consumers.
 */
static int chardev_send_fill(struct kal_post *p, union kal_send_wr *to)
{
	const struct krdma_wr *wr = &p->wr;

	if (wr->flags & ~(KRDMA_SEND_FENCE | KRDMA_SEND_SIGNALED | KRDMA_SEND_SOLICITED |
			  KRDMA_SEND_INLINE))
		return -EINVAL;
	memset(to, 0, sizeof(*to));
	to->wr.wr_id = wr->wr_id;
	to->wr.sg_list = p->sge;
	to->wr.num_sge = wr->num_sge;
	to->wr.opcode = (enum ib_wr_opcode)wr->opcode;
	to->wr.send_flags = chardev_send_flags(wr->flags);
	switch (wr->opcode) {
	case IB_UVERBS_WR_SEND:
		return 0;
	case IB_UVERBS_WR_SEND_WITH_IMM:
		to->wr.ex.imm_data = wr->imm;
		return 0;
	case IB_UVERBS_WR_SEND_WITH_INV:
	case IB_UVERBS_WR_LOCAL_INV:
		to->wr.ex.invalidate_rkey = (__force u32)wr->imm;
		return 0;
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
		to->wr.ex.imm_data = wr->imm;
		fallthrough;
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_READ:
		to->rdma.remote_addr = wr->remote_addr;
		to->rdma.rkey = wr->rkey;
		return 0;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		to->atomic.remote_addr = wr->remote_addr;
		to->atomic.rkey = wr->rkey;
		to->atomic.compare_add = wr->compare_add;
		to->atomic.swap = wr->swap;
		return 0;
	case IB_UVERBS_WR_BIND_MW:
		to->wr.num_sge = 0;
		to->bind.stag = wr->rkey;
		to->bind.region = wr->bind_lkey;
		to->bind.addr = wr->bind_addr;
		to->bind.length = wr->bind_length;
		to->bind.access = wr->bind_access;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* The window of a bind must be in the file. The STag must be that of the window, with any key. */
static int chardev_send_check_window(struct kal_file *file, const struct krdma_wr *wr)
{
	struct kal_h_mw *mw;
	int ret = 0;

	if (wr->opcode != IB_UVERBS_WR_BIND_MW)
		return 0;
	mw = kal_get_mw(file, wr->mw);
	if (IS_ERR(mw))
		return PTR_ERR(mw);
	if ((mw->mw->stag ^ wr->rkey) >> 8)
		ret = -EINVAL;
	kal_handle_put(&mw->h);
	return ret;
}

static int chardev_post_send_one(struct kal_file *file, u32 handle, struct kal_post *p)
{
	const struct ib_send_wr *bad_wr;
	union kal_send_wr wr;
	struct kal_h_qp *qp;
	int ret;

	ret = chardev_send_fill(p, &wr);
	if (!ret)
		ret = chardev_send_check_window(file, &p->wr);
	if (ret)
		return ret;
	qp = kal_get_qp(file, handle);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	if (kal_context_slow(qp->ctx))
		ret = qp->qp->obj.rnic->ops->post_send(qp->qp, &wr.wr, &bad_wr);
	else
		ret = -EINVAL;
	kal_handle_put(&qp->h);
	return ret;
}

/* Receives ***************************************************************** */

static void chardev_recv_fill(struct kal_post *p, struct ib_recv_wr *to)
{
	*to = (struct ib_recv_wr) {
		.wr_id = p->wr.wr_id,
		.sg_list = p->sge,
		.num_sge = p->wr.num_sge,
	};
}

static int chardev_post_recv_one(struct kal_file *file, u32 handle, struct kal_post *p)
{
	const struct ib_recv_wr *bad_wr;
	struct ib_recv_wr wr;
	struct kal_h_qp *qp;
	int ret = -EINVAL;

	chardev_recv_fill(p, &wr);
	qp = kal_get_qp(file, handle);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	if (kal_context_slow(qp->ctx))
		ret = qp->qp->obj.rnic->ops->post_recv(qp->qp, &wr, &bad_wr);
	kal_handle_put(&qp->h);
	return ret;
}

static int chardev_post_srq_one(struct kal_file *file, u32 handle, struct kal_post *p)
{
	const struct ib_recv_wr *bad_wr;
	struct kal_h_srq *srq;
	struct ib_recv_wr wr;
	int ret = -EINVAL;

	chardev_recv_fill(p, &wr);
	srq = kal_get_srq(file, handle);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	if (kal_context_slow(srq->ctx))
		ret = srq->srq->obj.rnic->ops->post_srq_recv(srq->srq, &wr, &bad_wr);
	kal_handle_put(&srq->h);
	return ret;
}

/* Commands ***************************************************************** */

typedef int (*kal_post_fn)(struct kal_file *file, u32 handle, struct kal_post *p);

static int chardev_post_all(struct kal_file *file, struct krdma_post *cmd, bool send,
			    kal_post_fn post)
{
	struct kal_post *p __free(kvfree) = kvmalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	int ret = 0;

	if (!p)
		return -ENOMEM;
	while (cmd->done < cmd->count) {
		if (signal_pending(current) && cmd->done)
			return -EINTR;
		ret = chardev_post_copy(p, cmd->wrs, cmd->done, send);
		if (!ret)
			ret = post(file, cmd->handle, p);
		if (ret)
			break;
		cmd->done++;
		cond_resched();
	}
	return ret;
}

static int chardev_qp_doorbell(struct kal_file *file, u32 handle)
{
	struct kal_h_qp *qp = kal_get_qp(file, handle);
	int ret = 0;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	if (!kal_context_slow(qp->ctx)) {
		const struct ri_ops *ops = qp->qp->obj.rnic->ops;

		ret = ops->doorbell ? ops->doorbell(qp->qp) : -EOPNOTSUPP;
	}
	kal_handle_put(&qp->h);
	return ret;
}

int kal_cmd_post_send(struct kal_file *file, void *_cmd)
{
	struct krdma_post *cmd = _cmd;

	cmd->done = 0;
	if (!cmd->count)
		return chardev_qp_doorbell(file, cmd->handle);
	return chardev_post_all(file, cmd, true, chardev_post_send_one);
}

int kal_cmd_post_recv(struct kal_file *file, void *_cmd)
{
	struct krdma_post *cmd = _cmd;

	cmd->done = 0;
	if (!cmd->count)
		return chardev_qp_doorbell(file, cmd->handle);
	return chardev_post_all(file, cmd, false, chardev_post_recv_one);
}

static int chardev_srq_doorbell(struct kal_file *file, u32 handle)
{
	struct kal_h_srq *srq = kal_get_srq(file, handle);
	const struct ib_recv_wr *bad_wr;
	int ret = 0;

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	if (!kal_context_slow(srq->ctx))
		ret = srq->srq->obj.rnic->ops->post_srq_recv(srq->srq, NULL, &bad_wr);
	kal_handle_put(&srq->h);
	return ret;
}

int kal_cmd_post_srq(struct kal_file *file, void *_cmd)
{
	struct krdma_post *cmd = _cmd;

	cmd->done = 0;
	if (!cmd->count)
		return chardev_srq_doorbell(file, cmd->handle);
	return chardev_post_all(file, cmd, false, chardev_post_srq_one);
}

/* Completions ************************************************************** */

static void chardev_wc_fill(const struct ib_wc *wc, struct krdma_wc *to)
{
	*to = (struct krdma_wc) {
		.wr_id = wc->wr_id,
		.status = wc->status,
		.opcode = wc->opcode,
		.vendor_err = wc->vendor_err,
		.byte_len = wc->byte_len,
		.qp = (uintptr_t)wc->qp,
	};
	if (wc->wc_flags & IB_WC_WITH_IMM) {
		to->imm = wc->ex.imm_data;
		to->flags = KRDMA_WC_WITH_IMM;
	} else if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		to->imm = (__force __be32)wc->ex.invalidate_rkey;
		to->flags = KRDMA_WC_WITH_INV;
	}
}

#define KAL_POLL_BATCH	8

/* Poll up to @count completions. Return: their number, or an errno if there are none. */
static int chardev_cq_take(struct ri_cq *cq, struct krdma_wc *to, u32 count)
{
	const struct ri_ops *ops = cq->obj.rnic->ops;
	struct ib_wc wc[KAL_POLL_BATCH];
	u32 done = 0;
	int i, n;

	do {
		n = ops->cq_poll(cq, min_t(u32, count - done, KAL_POLL_BATCH), wc);
		for (i = 0; i < n; i++)
			chardev_wc_fill(&wc[i], to + done++);
	} while (n > 0 && done < count);
	return done ?: n;
}

/* maximum number of completions of one command */
#define KAL_POLL_MAX	256

int kal_cmd_cq_poll(struct kal_file *file, void *_cmd)
{
	struct krdma_wc *wcs __free(kvfree) = NULL;
	struct krdma_cq_poll *cmd = _cmd;
	struct kal_h_cq *cq;
	u32 count;
	int n = 0;

	if (cmd->reserved)
		return -EINVAL;
	count = min_t(u32, cmd->count, KAL_POLL_MAX);
	wcs = kvmalloc_array(max(count, 1U), sizeof(*wcs), GFP_KERNEL_ACCOUNT);
	if (!wcs)
		return -ENOMEM;
	cq = kal_get_cq(file, cmd->handle);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	if (!kal_context_slow(cq->ctx))
		n = -EINVAL;
	else if (count)
		n = chardev_cq_take(cq->cq, wcs, count);
	kal_handle_put(&cq->h);
	if (n < 0)
		return n;
	cmd->count = n;
	if (n && copy_to_user(u64_to_user_ptr(cmd->entries), wcs, array_size(n, sizeof(*wcs))))
		return -EFAULT;
	return 0;
}

int kal_cmd_cq_notify(struct kal_file *file, void *_cmd)
{
	struct krdma_cq_notify *cmd = _cmd;
	struct kal_h_cq *cq;
	int ret = -EINVAL;

	if (cmd->solicited > 1)
		return -EINVAL;
	cq = kal_get_cq(file, cmd->handle);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	if (kal_context_slow(cq->ctx))
		ret = cq->cq->obj.rnic->ops->cq_req_notify(cq->cq,
				(cmd->solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP) |
				IB_CQ_REPORT_MISSED_EVENTS);
	kal_handle_put(&cq->h);
	if (ret < 0)
		return ret;
	cmd->missed = ret > 0;
	return 0;
}
