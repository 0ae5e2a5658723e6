// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The verbs of queue pairs that consumers call. A connected QP's state belongs to its
 * endpoint. Consumers use IB's state names. This file decides which state changes go to the
 * provider, which end a connection, and which have no meaning on an RNIC whose connections are
 * made by endpoints.
 */
#include <linux/memcontrol.h>

#include "internal.h"

static int kal_qp_check_cap(const struct ri_rnic *rnic,
			    const struct ri_qp_init_attr *attr)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;
	const struct ib_qp_cap *cap = &attr->cap;

	if (cap->max_send_wr > limits->max_qp_wr ||
	    cap->max_send_sge > limits->max_send_sge ||
	    cap->max_inline_data > rnic->attr.max_inline)
		return -EINVAL;
	/* with an SRQ the sizes of the receive queue have no meaning */
	if (!attr->srq && (cap->max_recv_wr > limits->max_qp_wr ||
			   cap->max_recv_sge > limits->max_recv_sge))
		return -EINVAL;
	return 0;
}

static int kal_qp_check(const struct ri_pd *pd,
			const struct ri_qp_init_attr *attr)
{
	const struct ri_rnic *rnic = pd->obj.rnic;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq ||
	    attr->send_cq->obj.rnic != rnic ||
	    attr->recv_cq->obj.rnic != rnic ||
	    (attr->srq && attr->srq->obj.rnic != rnic))
		return -EINVAL;
	return kal_qp_check_cap(rnic, attr);
}

/* A QP prevents the destruction of its PD (the parent), its CQs and its SRQ. */
static void kal_qp_hold(struct ri_qp *qp)
{
	atomic_inc(&qp->send_cq->obj.children);
	atomic_inc(&qp->recv_cq->obj.children);
	if (qp->srq)
		atomic_inc(&qp->srq->obj.children);
}

static void kal_qp_free(struct ri_qp *qp)
{
	atomic_dec(&qp->send_cq->obj.children);
	atomic_dec(&qp->recv_cq->obj.children);
	if (qp->srq)
		atomic_dec(&qp->srq->obj.children);
	mem_cgroup_put(qp->memcg);
	kal_obj_free(&qp->obj);
}

struct ri_qp *kal_qp_create(struct ri_pd *pd, struct ri_qp_init_attr *attr,
			    void (*on_event)(struct ri_qp *,
					     enum ib_event_type),
			    void *consumer, struct ib_qp *wc_qp,
			    struct ri_udata *udata)
{
	struct ri_rnic *rnic = pd->obj.rnic;
	struct ri_qp *qp;
	int ret;

	ret = kal_qp_check(pd, attr);
	if (ret)
		return ERR_PTR(ret);
	qp = kal_obj_alloc(rnic, RI_OBJ_QP, rnic->ops->size_qp, &pd->obj);
	if (IS_ERR(qp))
		return qp;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->wc_qp = wc_qp;
	qp->on_event = on_event;
	qp->consumer = consumer;
	/* memory for a user QP's traffic is charged to the user's memory cgroup */
	if (!ri_pd_is_kernels(pd))
		qp->memcg = get_mem_cgroup_from_mm(current->mm);
	kal_qp_hold(qp);
	ret = rnic->ops->qp_create(qp, attr, udata);
	if (ret) {
		kal_qp_free(qp);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&qp->obj);
	return qp;
}
EXPORT_SYMBOL_GPL(kal_qp_create);

int kal_qp_query(struct ri_qp *qp, struct ib_qp_attr *attr, int mask,
		 struct ri_qp_init_attr *init_attr)
{
	/* a provider fills in only the members it knows; consumers pass uninitialised memory */
	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));
	return qp->obj.rnic->ops->qp_query(qp, attr, mask, init_attr);
}
EXPORT_SYMBOL_GPL(kal_qp_query);

/*
 * Attributes that cannot be changed and that no connection manager sets. A queue keeps its
 * size, and TCP determines the path. Other attributes of InfiniBand may be in the mask and are
 * ignored.
 */
#define KAL_QP_NEVER_MASK	(IB_QP_CAP | IB_QP_ALT_PATH | \
				 IB_QP_PATH_MIG_STATE | IB_QP_QKEY)

/* attributes that connection managers set on the way to RTR; the others are InfiniBand's */
#define KAL_QP_RTR_MASK	(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_PORT | \
			 IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS)

/*
 * The endpoint controls RTR. The iWARP part of rdma_cm asks for RTR before it connects or
 * accepts, with access flags only. Only these flags are applied. A request with a destination
 * QP and a path is an attempt to connect as in InfiniBand, and is refused.
 */
static int kal_qp_modify_rtr(struct ri_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	if (mask & ~KAL_QP_RTR_MASK & (IB_QP_AV | IB_QP_PATH_MTU |
				       IB_QP_DEST_QPN | IB_QP_RQ_PSN))
		return -EINVAL;
	mask &= IB_QP_ACCESS_FLAGS;
	if (!mask)
		return 0;
	return qp->obj.rnic->ops->qp_modify(qp, attr, mask, NULL);
}

/* RTS is allowed only if the QP is in RTS, to change other attributes, or in SQD. */
static int kal_qp_modify_rts(struct ri_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	struct ri_qp_init_attr init_attr = {};
	struct ib_qp_attr now = {};
	int ret;

	ret = kal_qp_query(qp, &now, IB_QP_STATE, &init_attr);
	if (ret)
		return ret;
	if (now.qp_state == IB_QPS_SQD)
		return qp->obj.rnic->ops->qp_modify(qp, attr, mask, NULL);
	if (now.qp_state != IB_QPS_RTS)
		return -EINVAL;
	mask &= ~(IB_QP_STATE | IB_QP_CUR_STATE);
	if (!mask)
		return 0;
	return qp->obj.rnic->ops->qp_modify(qp, attr, mask, NULL);
}

/*
 * SQD (graceful) and ERR (abrupt) end the connection and leave the QP in ERR. iw_cm and
 * rdma_disconnect() in user space disconnect in this way. Both may ask, and both requests
 * succeed. rsockets only ask for SQD. The flushed receives then wake the thread in rpoll().
 *
 * Without a connection, the provider handles ERR, and SQD has nothing to drain.
 *
 * The SQD of InfiniBand, from which a QP can return to RTS, is different: its request says
 * whether IB_EVENT_SQ_DRAINED is wanted. Neither iw_cm nor rdma_disconnect() says that.
 */
static int kal_qp_modify_end(struct ri_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	bool abrupt = attr->qp_state == IB_QPS_ERR;

	if (!abrupt && mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		return qp->obj.rnic->ops->qp_modify(qp, attr, mask, NULL);
	kal_conn_ops->qp_disconnect(qp, abrupt);
	if (!abrupt)
		return 0;
	return qp->obj.rnic->ops->qp_modify(qp, attr, mask, NULL);
}

int kal_qp_modify(struct ri_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & KAL_QP_NEVER_MASK)
		return -EINVAL;
	if (mask & IB_QP_STATE) {
		switch (attr->qp_state) {
		case IB_QPS_RTR:
			return kal_qp_modify_rtr(qp, attr, mask);
		case IB_QPS_RTS:
			return kal_qp_modify_rts(qp, attr, mask);
		case IB_QPS_SQD:
		case IB_QPS_ERR:
			return kal_qp_modify_end(qp, attr, mask);
		case IB_QPS_RESET:
			kal_conn_ops->qp_disconnect(qp, true);
			break;
		case IB_QPS_INIT:
			break;
		default:
			return -EINVAL;
		}
	}
	if (!mask)
		return 0;
	return qp->obj.rnic->ops->qp_modify(qp, attr, mask, NULL);
}
EXPORT_SYMBOL_GPL(kal_qp_modify);

int kal_qp_destroy(struct ri_qp *qp)
{
	kal_conn_ops->qp_retire(qp);
	kal_obj_unpublish(&qp->obj);
	qp->obj.rnic->ops->qp_destroy(qp);
	kal_qp_free(qp);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_qp_destroy);
