// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's queue pairs and shared receive queues. Work requests go directly to the
 * provider without any change. A post from uverbs without a work request is a doorbell of a
 * user library.
 */
#include "bridge.h"

static void kal_ib_qp_event(struct ri_qp *rqp, enum ib_event_type type)
{
	struct kal_ib_qp *qp = rqp->consumer;
	struct ib_event event = {
		.device = qp->base.device,
		.element.qp = &qp->base,
		.event = type,
	};

	if (qp->base.event_handler)
		qp->base.event_handler(&event, qp->base.qp_context);
}

/* Does the QP belong to this consumer side? */
bool kal_ib_owns_qp(const struct ri_qp *rqp)
{
	return rqp->on_event == kal_ib_qp_event;
}

/* Return: false if the QP is being destroyed. Context: any. */
bool kal_ib_qp_get(struct kal_ib_qp *qp)
{
	return refcount_inc_not_zero(&qp->refs);
}

void kal_ib_qp_put(struct kal_ib_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->unused);
}

static int kal_ib_create_qp(struct ib_qp *base, struct ib_qp_init_attr *attr,
			    struct ib_udata *udata)
{
	struct kal_ib_qp *qp = to_kal_ib_qp(base);
	struct ri_qp_init_attr rattr = {
		.send_cq = attr->send_cq ? to_kal_ib_cq(attr->send_cq)->cq : NULL,
		.recv_cq = attr->recv_cq ? to_kal_ib_cq(attr->recv_cq)->cq : NULL,
		.srq = attr->srq ? to_kal_ib_srq(attr->srq)->srq : NULL,
		.cap = attr->cap,
		.sq_sig_type = attr->sq_sig_type,
		.qp_type = attr->qp_type,
		.create_flags = attr->create_flags,
	};
	struct ri_udata buf, *priv = kal_ib_udata_get(udata, &buf);
	struct ri_qp *rqp;

	if (IS_ERR(priv))
		return PTR_ERR(priv);
	/* before lookups find the QP */
	refcount_set(&qp->refs, 1);
	init_completion(&qp->unused);
	INIT_LIST_HEAD(&qp->counter_node);
	rqp = kal_qp_create(to_kal_ib_pd(base->pd)->pd, &rattr, kal_ib_qp_event,
			    qp, base, priv);
	if (IS_ERR(rqp))
		return PTR_ERR(rqp);
	if (kal_ib_udata_put(udata, priv)) {
		kal_qp_destroy(rqp);
		return -EFAULT;
	}
	rqp->plain_wrs = true;
	qp->qp = rqp;
	base->qp_num = rqp->obj.id;
	attr->cap = rattr.cap;
	return 0;
}

/*
 * Adapt the remote rights that rdma_cm sets on a QP:
 *
 * - rdma_cm takes a QP without a connection to INIT without any right, and never sets rights
 *   later. No rights in INIT therefore mean that the regions alone decide.
 * - rdma_cm gives a QP of the accepting side the rights to read and to write, and knows no
 *   other right for iWARP. A peer that may both read and write may also use atomic operations
 *   if the region allows it.
 *
 * Return: the remaining bits of @mask.
 */
static int kal_ib_qp_rights(struct ib_qp_attr *attr, int mask)
{
	const int both = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;

	if (!(mask & IB_QP_ACCESS_FLAGS))
		return mask;
	if ((attr->qp_access_flags & both) == both)
		attr->qp_access_flags |= IB_ACCESS_REMOTE_ATOMIC;
	if (!attr->qp_access_flags && mask & IB_QP_STATE &&
	    attr->qp_state == IB_QPS_INIT)
		mask &= ~IB_QP_ACCESS_FLAGS;
	return mask;
}

static int kal_ib_modify_qp(struct ib_qp *base, struct ib_qp_attr *attr,
			    int mask, struct ib_udata *udata)
{
	struct ib_qp_attr own = *attr;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mask = kal_ib_qp_rights(&own, mask);
	return kal_qp_modify(to_kal_ib_qp(base)->qp, &own, mask);
}

static int kal_ib_query_qp(struct ib_qp *base, struct ib_qp_attr *attr,
			   int mask, struct ib_qp_init_attr *init_attr)
{
	struct kal_ib_qp *qp = to_kal_ib_qp(base);
	struct ri_qp_init_attr rattr = {};
	int ret;

	/* "rdma resource show" also queries the QP; see kal_ib_fill_qp() */
	if (!kal_ib_qp_get(qp))
		return -EINVAL;
	ret = kal_qp_query(qp->qp, attr, mask, &rattr);
	kal_ib_qp_put(qp);
	if (ret)
		return ret;
	attr->port_num = KAL_IB_PORT;
	init_attr->event_handler = base->event_handler;
	init_attr->qp_context = base->qp_context;
	init_attr->send_cq = base->send_cq;
	init_attr->recv_cq = base->recv_cq;
	init_attr->srq = base->srq;
	init_attr->cap = rattr.cap;
	init_attr->sq_sig_type = rattr.sq_sig_type;
	init_attr->qp_type = base->qp_type;
	return 0;
}

/*
 * The connection ends and reports its end. iw_cm drops its references when it processes this
 * event. Only then can the QP be destroyed.
 */
static int kal_ib_destroy_qp(struct ib_qp *base, struct ib_udata *udata)
{
	struct kal_ib_qp *qp = to_kal_ib_qp(base);

	kal_qp_retire(qp->qp);
	kal_ib_qp_put(qp);
	wait_for_completion(&qp->unused);
	kal_ib_counter_forget(qp);
	return kal_qp_destroy(qp->qp);
}

static int kal_ib_post_send(struct ib_qp *base, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad_wr)
{
	struct ri_qp *qp = to_kal_ib_qp(base)->qp;
	const struct ri_ops *ops = qp->obj.rnic->ops;

	if (likely(!base->uobject))
		return ops->post_send(qp, wr, bad_wr);
	if (!wr)
		return ops->doorbell ? ops->doorbell(qp) : -EOPNOTSUPP;
	/* a user's work requests are only in the user's queue */
	*bad_wr = wr;
	return -EINVAL;
}

static int kal_ib_post_recv(struct ib_qp *base, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad_wr)
{
	struct ri_qp *qp = to_kal_ib_qp(base)->qp;

	if (unlikely(base->uobject)) {
		*bad_wr = wr;
		return -EINVAL;
	}
	return qp->obj.rnic->ops->post_recv(qp, wr, bad_wr);
}

const struct ib_device_ops kal_ib_qp_ops = {
	.create_qp = kal_ib_create_qp,
	.destroy_qp = kal_ib_destroy_qp,
	.modify_qp = kal_ib_modify_qp,
	.post_recv = kal_ib_post_recv,
	.post_send = kal_ib_post_send,
	.query_qp = kal_ib_query_qp,

	INIT_RDMA_OBJ_SIZE(ib_qp, kal_ib_qp, base),
};

/* Shared receive queues ***************************************************** */

static void kal_ib_srq_event(struct ri_srq *rsrq, enum ib_event_type type)
{
	struct kal_ib_srq *srq = rsrq->consumer;
	struct ib_event event = {
		.device = srq->base.device,
		.element.srq = &srq->base,
		.event = type,
	};

	if (srq->base.event_handler)
		srq->base.event_handler(&event, srq->base.srq_context);
}

static int kal_ib_create_srq(struct ib_srq *base, struct ib_srq_init_attr *attr,
			     struct ib_udata *udata)
{
	struct kal_ib_srq *srq = to_kal_ib_srq(base);
	struct ri_srq_init_attr rattr = { .attr = attr->attr };
	struct ri_udata buf, *priv;
	struct ri_srq *rsrq;

	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	/* ignored here (ibv_create_srq(3)); ibv_modify_srq() sets the limit */
	rattr.attr.srq_limit = 0;
	priv = kal_ib_udata_get(udata, &buf);
	if (IS_ERR(priv))
		return PTR_ERR(priv);
	rsrq = kal_srq_create(to_kal_ib_pd(base->pd)->pd, &rattr,
			      kal_ib_srq_event, srq, priv);
	if (IS_ERR(rsrq))
		return PTR_ERR(rsrq);
	if (kal_ib_udata_put(udata, priv)) {
		kal_srq_destroy(rsrq);
		return -EFAULT;
	}
	srq->srq = rsrq;
	attr->attr = rattr.attr;
	return 0;
}

static int kal_ib_modify_srq(struct ib_srq *base, struct ib_srq_attr *attr,
			     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct ri_udata buf, *priv = kal_ib_udata_get(udata, &buf);
	int ret;

	if (IS_ERR(priv))
		return PTR_ERR(priv);
	ret = kal_srq_modify(to_kal_ib_srq(base)->srq, attr, mask, priv);
	return ret ?: kal_ib_udata_put(udata, priv);
}

static int kal_ib_query_srq(struct ib_srq *base, struct ib_srq_attr *attr)
{
	return kal_srq_query(to_kal_ib_srq(base)->srq, attr);
}

static int kal_ib_destroy_srq(struct ib_srq *base, struct ib_udata *udata)
{
	return kal_srq_destroy(to_kal_ib_srq(base)->srq);
}

static int kal_ib_post_srq_recv(struct ib_srq *base,
				const struct ib_recv_wr *wr,
				const struct ib_recv_wr **bad_wr)
{
	struct ri_srq *srq = to_kal_ib_srq(base)->srq;

	/*
	 * A user's work requests are only in the user's queue; a post without one is the
	 * doorbell.
	 */
	if (unlikely(base->uobject && wr)) {
		*bad_wr = wr;
		return -EINVAL;
	}
	return srq->obj.rnic->ops->post_srq_recv(srq, wr, bad_wr);
}

const struct ib_device_ops kal_ib_srq_ops = {
	.create_srq = kal_ib_create_srq,
	.destroy_srq = kal_ib_destroy_srq,
	.modify_srq = kal_ib_modify_srq,
	.post_srq_recv = kal_ib_post_srq_recv,
	.query_srq = kal_ib_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, kal_ib_srq, base),
};
