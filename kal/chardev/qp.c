// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/krdma's queue pairs and shared receive queues: the verbs that create, modify and query
 * them. The kAL controls their states. Connections are in conn.c.
 */
#include "verbs.h"

/* Shared receive queues **************************************************** */

static int chardev_srq_destroy(struct kal_handle *h)
{
	return kal_srq_destroy(container_of(h, struct kal_h_srq, h)->srq);
}

static const struct kal_handle_ops chardev_srq_ops = {
	.type = KAL_H_SRQ,
	.size = sizeof(struct kal_h_srq),
	.destroy = chardev_srq_destroy,
};

static void chardev_srq_event(struct ri_srq *rsrq, enum ib_event_type event)
{
	struct kal_h_srq *srq = rsrq->consumer;

	kal_handle_async(&srq->h, event);
}

static int chardev_srq_make(struct kal_handle *h, struct kal_handle *parent, void *_cmd,
			    struct ri_udata *udata)
{
	struct kal_h_pd *pd = container_of(parent, struct kal_h_pd, h);
	struct kal_h_srq *srq = container_of(h, struct kal_h_srq, h);
	struct krdma_srq *cmd = _cmd;
	struct ri_srq_init_attr attr = {
		.attr = {
			.max_wr = cmd->max_wr,
			.max_sge = cmd->max_sge,
			.srq_limit = cmd->limit,
		},
	};

	udata = kal_udata(pd->ctx, udata);
	if (IS_ERR(udata))
		return PTR_ERR(udata);
	srq->ctx = pd->ctx;
	srq->srq = kal_srq_create(pd->pd, &attr, chardev_srq_event, srq, udata);
	if (IS_ERR(srq->srq))
		return PTR_ERR(srq->srq);
	cmd->handle = srq->h.id;
	cmd->id = srq->srq->obj.id;
	cmd->max_wr = attr.attr.max_wr;
	cmd->max_sge = attr.attr.max_sge;
	return 0;
}

int kal_cmd_srq(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_srq *cmd = _cmd;
	struct kal_h_pd *pd;

	if (cmd->reserved)
		return -EINVAL;
	pd = kal_get_pd(file, cmd->pd);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	return kal_handle_make(&pd->h, &chardev_srq_ops, cmd->cookie, chardev_srq_make, cmd, udata);
}

int kal_cmd_srq_modify(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_srq_attr *cmd = _cmd;
	const struct ib_srq_attr attr = {
		.max_wr = cmd->max_wr,
		.srq_limit = cmd->limit,
	};
	enum ib_srq_attr_mask mask = 0;
	struct kal_h_srq *srq;
	int ret;

	if (!cmd->mask || cmd->mask & ~(KRDMA_SRQ_MAX_WR | KRDMA_SRQ_LIMIT))
		return -EINVAL;
	if (cmd->mask & KRDMA_SRQ_MAX_WR)
		mask |= IB_SRQ_MAX_WR;
	if (cmd->mask & KRDMA_SRQ_LIMIT)
		mask |= IB_SRQ_LIMIT;
	srq = kal_get_srq(file, cmd->handle);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	udata = kal_udata(srq->ctx, udata);
	ret = PTR_ERR_OR_ZERO(udata);
	if (!ret)
		ret = kal_srq_modify(srq->srq, &attr, mask, udata);
	kal_handle_put(&srq->h);
	return ret;
}

int kal_cmd_srq_query(struct kal_file *file, void *_cmd)
{
	struct krdma_srq_attr *cmd = _cmd;
	struct ib_srq_attr attr = {};
	struct kal_h_srq *srq;
	int ret;

	if (cmd->mask || cmd->priv.in_len || cmd->priv.out_len)
		return -EINVAL;
	srq = kal_get_srq(file, cmd->handle);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ret = kal_srq_query(srq->srq, &attr);
	kal_handle_put(&srq->h);
	cmd->max_wr = attr.max_wr;
	cmd->max_sge = attr.max_sge;
	cmd->limit = attr.srq_limit;
	return ret;
}

/* Queue pairs ************************************************************** */

static int chardev_qp_destroy(struct kal_handle *h)
{
	return kal_qp_destroy(container_of(h, struct kal_h_qp, h)->qp);
}

static const struct kal_handle_ops chardev_qp_ops = {
	.type = KAL_H_QP,
	.size = sizeof(struct kal_h_qp),
	.destroy = chardev_qp_destroy,
};

static void chardev_qp_event(struct ri_qp *rqp, enum ib_event_type event)
{
	struct kal_h_qp *qp = rqp->consumer;

	kal_handle_async(&qp->h, event);
}

/* The objects that a QP needs. Each is in use until the QP has been created. */
struct kal_qp_parts {
	struct kal_h_pd *pd;
	struct kal_h_cq *send_cq;
	struct kal_h_cq *recv_cq;
	struct kal_h_srq *srq;
};

static void chardev_qp_parts_put(const struct kal_qp_parts *parts)
{
	if (!IS_ERR_OR_NULL(parts->pd))
		kal_handle_put(&parts->pd->h);
	if (!IS_ERR_OR_NULL(parts->send_cq))
		kal_handle_put(&parts->send_cq->h);
	if (!IS_ERR_OR_NULL(parts->recv_cq))
		kal_handle_put(&parts->recv_cq->h);
	if (!IS_ERR_OR_NULL(parts->srq))
		kal_handle_put(&parts->srq->h);
}

/*
 * Check that all objects are of one context. Objects that the provider regards as a kernel
 * consumer's must not be mixed with a user's.
 */
static int chardev_qp_parts_check(const struct kal_qp_parts *parts)
{
	const struct kal_h_context *ctx;

	if (IS_ERR(parts->pd))
		return PTR_ERR(parts->pd);
	if (IS_ERR(parts->send_cq))
		return PTR_ERR(parts->send_cq);
	if (IS_ERR(parts->recv_cq))
		return PTR_ERR(parts->recv_cq);
	if (IS_ERR(parts->srq))
		return PTR_ERR(parts->srq);
	ctx = parts->pd->ctx;
	if (parts->send_cq->ctx != ctx || parts->recv_cq->ctx != ctx ||
	    (parts->srq && parts->srq->ctx != ctx))
		return -EINVAL;
	return 0;
}

static int chardev_qp_need(struct kal_h_qp *qp, const struct kal_qp_parts *parts)
{
	int ret;

	ret = kal_handle_need(&qp->h, &parts->pd->h);
	if (!ret)
		ret = kal_handle_need(&qp->h, &parts->send_cq->h);
	if (!ret)
		ret = kal_handle_need(&qp->h, &parts->recv_cq->h);
	if (!ret && parts->srq)
		ret = kal_handle_need(&qp->h, &parts->srq->h);
	return ret;
}

static void chardev_qp_granted(const struct ib_qp_cap *cap, struct krdma_qp *cmd)
{
	cmd->max_send_wr = cap->max_send_wr;
	cmd->max_recv_wr = cap->max_recv_wr;
	cmd->max_send_sge = cap->max_send_sge;
	cmd->max_recv_sge = cap->max_recv_sge;
	cmd->max_inline = cap->max_inline_data;
}

static int chardev_qp_make(struct kal_h_qp *qp, const struct kal_qp_parts *parts,
			   struct krdma_qp *cmd,
			   struct ri_udata *udata)
{
	struct ri_qp_init_attr attr = {
		.send_cq = parts->send_cq->cq,
		.recv_cq = parts->recv_cq->cq,
		.srq = parts->srq ? parts->srq->srq : NULL,
		.cap = {
			.max_send_wr = cmd->max_send_wr,
			.max_recv_wr = cmd->max_recv_wr,
			.max_send_sge = cmd->max_send_sge,
			.max_recv_sge = cmd->max_recv_sge,
			.max_inline_data = cmd->max_inline,
		},
		.sq_sig_type = cmd->flags & KRDMA_QP_SIGNAL_ALL ? IB_SIGNAL_ALL_WR :
								  IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int ret;

	udata = kal_udata(parts->pd->ctx, udata);
	if (IS_ERR(udata))
		return PTR_ERR(udata);
	ret = chardev_qp_need(qp, parts);
	if (ret)
		return ret;
	qp->ctx = parts->pd->ctx;
	qp->qp = kal_qp_create(parts->pd->pd, &attr, chardev_qp_event, qp, NULL, udata);
	if (IS_ERR(qp->qp))
		return PTR_ERR(qp->qp);
	/*
	 * The identification of the QP in completions. It is only a number, because a poller
	 * may process a completion while the QP is destroyed.
	 */
	qp->qp->wc_qp = (struct ib_qp *)(uintptr_t)qp->qp->obj.id;
	/* in a slow context, posts come from kal_cmd_post_send(), a system call */
	qp->qp->post_may_sleep = true;
	cmd->handle = qp->h.id;
	cmd->number = qp->qp->obj.id;
	chardev_qp_granted(&attr.cap, cmd);
	kal_handle_publish(&qp->h);
	return 0;
}

int kal_cmd_qp(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_qp *cmd = _cmd;
	struct kal_qp_parts parts;
	struct kal_handle *h;
	int ret;

	if (cmd->reserved || cmd->flags & ~KRDMA_QP_SIGNAL_ALL)
		return -EINVAL;
	parts = (struct kal_qp_parts) {
		.pd = kal_get_pd(file, cmd->pd),
		.send_cq = kal_get_cq(file, cmd->send_cq),
		.recv_cq = kal_get_cq(file, cmd->recv_cq),
		.srq = cmd->srq ? kal_get_srq(file, cmd->srq) : NULL,
	};
	ret = chardev_qp_parts_check(&parts);
	if (ret)
		goto out;
	h = kal_handle_new(file, &chardev_qp_ops, parts.pd->h.dev, cmd->cookie);
	ret = PTR_ERR_OR_ZERO(h);
	if (ret)
		goto out;
	ret = chardev_qp_make(container_of(h, struct kal_h_qp, h), &parts, cmd, udata);
	if (ret)
		kal_handle_cancel(h);
out:
	chardev_qp_parts_put(&parts);
	return ret;
}

#define KAL_QP_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static int chardev_qp_attr_check(const struct krdma_qp_attr *cmd)
{
	if (!cmd->mask || cmd->mask & ~(KRDMA_QP_STATE | KRDMA_QP_ACCESS | KRDMA_QP_SQD_NOTIFY))
		return -EINVAL;
	if (cmd->mask & KRDMA_QP_ACCESS && cmd->access & ~KAL_QP_ACCESS)
		return -EINVAL;
	if (cmd->mask & KRDMA_QP_SQD_NOTIFY &&
	    (!(cmd->mask & KRDMA_QP_STATE) || cmd->state != IB_QPS_SQD || cmd->sqd_notify > 1))
		return -EINVAL;
	if (!(cmd->mask & KRDMA_QP_STATE))
		return 0;
	switch (cmd->state) {
	case IB_QPS_RESET:
	case IB_QPS_INIT:
	case IB_QPS_RTS:
	case IB_QPS_SQD:
	case IB_QPS_ERR:
		return 0;
	default:
		return -EINVAL;
	}
}

int kal_cmd_qp_modify(struct kal_file *file, void *_cmd)
{
	const struct krdma_qp_attr *cmd = _cmd;
	const struct ib_qp_attr attr = {
		.qp_state = cmd->state,
		.qp_access_flags = cmd->access,
		.en_sqd_async_notify = cmd->sqd_notify,
	};
	struct kal_h_qp *qp;
	int mask = 0;
	int ret;

	ret = chardev_qp_attr_check(cmd);
	if (ret)
		return ret;
	if (cmd->mask & KRDMA_QP_STATE)
		mask |= IB_QP_STATE;
	if (cmd->mask & KRDMA_QP_ACCESS)
		mask |= IB_QP_ACCESS_FLAGS;
	if (cmd->mask & KRDMA_QP_SQD_NOTIFY)
		mask |= IB_QP_EN_SQD_ASYNC_NOTIFY;
	qp = kal_get_qp(file, cmd->handle);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = kal_qp_modify(qp->qp, &attr, mask);
	kal_handle_put(&qp->h);
	return ret;
}

static void chardev_qp_put_attr(const struct ib_qp_attr *attr, struct krdma_qp_attr *cmd)
{
	cmd->state = attr->qp_state;
	cmd->access = attr->qp_access_flags;
	cmd->ird = attr->max_dest_rd_atomic;
	cmd->ord = attr->max_rd_atomic;
	cmd->max_send_wr = attr->cap.max_send_wr;
	cmd->max_recv_wr = attr->cap.max_recv_wr;
	cmd->max_send_sge = attr->cap.max_send_sge;
	cmd->max_recv_sge = attr->cap.max_recv_sge;
	cmd->max_inline = attr->cap.max_inline_data;
	cmd->sqd_notify = attr->en_sqd_async_notify;
	cmd->draining = attr->sq_draining;
}

static void chardev_qp_put_info(const struct ri_qp_info *info, struct krdma_qp_attr *cmd)
{
	cmd->tx_octets = info->tx.bytes;
	cmd->tx_messages = info->tx.messages;
	cmd->rx_octets = info->rx.bytes;
	cmd->rx_messages = info->rx.messages;
	cmd->retransmissions = info->retransmissions;
	if (!info->connected)
		return;
	kal_addr_from_sockaddr(&info->local, &cmd->local);
	kal_addr_from_sockaddr(&info->remote, &cmd->remote);
	cmd->mpa_revision = info->mpa.revision;
	cmd->mss = info->mss;
	cmd->crc = info->mpa.crc;
	cmd->markers = info->mpa.tx_markers | info->mpa.rx_markers << 1;
	cmd->cwnd = info->cwnd;
	cmd->srtt_us = info->srtt_us;
}

static int chardev_qp_ask(struct kal_h_qp *qp, struct krdma_qp_attr *cmd)
{
	const struct ri_ops *ops = qp->qp->obj.rnic->ops;
	struct ri_qp_init_attr init_attr;
	struct ri_qp_info info = {};
	struct ib_qp_attr attr;
	int ret;

	ret = kal_qp_query(qp->qp, &attr, IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_CAP, &init_attr);
	if (ret)
		return ret;
	chardev_qp_put_attr(&attr, cmd);
	if (ops->qp_info) {
		ops->qp_info(qp->qp, &info);
		chardev_qp_put_info(&info, cmd);
	}
	return 0;
}

int kal_cmd_qp_query(struct kal_file *file, void *_cmd)
{
	struct krdma_qp_attr *cmd = _cmd;
	const u32 size = cmd->size, handle = cmd->handle;
	struct kal_h_qp *qp;
	int ret;

	if (cmd->mask)
		return -EINVAL;
	qp = kal_get_qp(file, handle);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = size;
	cmd->handle = handle;
	ret = chardev_qp_ask(qp, cmd);
	kal_handle_put(&qp->h);
	return ret;
}
