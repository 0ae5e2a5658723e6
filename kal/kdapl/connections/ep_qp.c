// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Queue pairs of endpoints, the room in CQs and the memory for requests that belong to them. */
#include <linux/delay.h>
#include <linux/slab.h>

#include "ep.h"

/* time for the RNIC to release the buffers of an SRQ */
#define KDAT_EP_LAST_WQE_TIMEOUT	HZ
/* looks for the completion of registrations when the queue pair ends, some 100 us apart */
#define KDAT_EP_FLUSH_LOOKS		1000

static void kdat_ep_qp_event(struct ri_qp *qp, enum ib_event_type event)
{
	struct kdat_ep *ep = qp->consumer;

	switch (event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		complete_all(&ep->last_wqe);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		kdat_ia_async(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep, DAT_EP_TRANSFER_TO_ERROR);
		break;
	default:
		break;
	}
}

struct ri_qp *kdat_ep_qp_create(struct kdat_ep *ep, const struct kdat_ep_setup *setup)
{
	struct kdat_evd *recv = setup->recv_evd ?: setup->request_evd;
	struct kdat_evd *request = setup->request_evd ?: setup->recv_evd;
	const DAT_EP_ATTR *attr = &setup->attr;
	struct ri_qp_init_attr init = {
		.send_cq = request->cq,
		.recv_cq = recv->cq,
		.srq = setup->srq ? setup->srq->srq : NULL,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
		.cap = {
			.max_send_wr = attr->max_request_dtos + KDAT_EP_OWN_REQUESTS,
			.max_recv_wr = setup->recv_evd ? attr->max_recv_dtos : 0,
			.max_send_sge = max3(attr->max_request_iov, attr->max_rdma_write_iov,
					     attr->max_rdma_read_iov),
			.max_recv_sge = attr->max_recv_iov,
		},
	};
	struct ri_qp *qp;

	if (setup->srq) {
		init.cap.max_recv_wr = 0;
		init.cap.max_recv_sge = 0;
	}
	qp = kal_qp_create(setup->pz->pd, &init, kdat_ep_qp_event, ep, (struct ib_qp *)ep, NULL);
	if (!IS_ERR(qp))
		qp->pushed = READ_ONCE(ep->pushed);
	return qp;
}

DAT_RETURN kdat_ep_qp_error(const struct ri_qp *qp)
{
	if (PTR_ERR(qp) == -EINVAL)
		return KDAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	return kdat_error_of_resource(PTR_ERR(qp), DAT_RESOURCE_TEP);
}

/* Wait until no buffer of the SRQ is left in the queue pair, and take their completions. */
void kdat_ep_leave_srq(struct kdat_ep *ep, const struct kdat_ep_queues *queues)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	/* a device that is removed may not report it, and its SRQs lose all buffers anyway */
	if (!queues->srq || !ep->connected || ep->obj.ia->kr->gone)
		return;
	if (!kal_qp_modify(queues->qp, &attr, IB_QP_STATE))
		wait_for_completion_timeout(&ep->last_wqe, KDAT_EP_LAST_WQE_TIMEOUT);
	kdat_evd_collect(queues->recv_evd);
}

/*
 * Wait for the completions of registrations before the queue pair, and the completions with it, is
 * destroyed. Otherwise kDAPL does not know whether the RNIC has carried them out. The RNIC refuses
 * a second registration, and ends the connection.
 */
void kdat_ep_end_registrations(struct kdat_ep *ep)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	unsigned int looks = KDAT_EP_FLUSH_LOOKS;
	struct kdat_ep_queues *queues = ep->queues;

	if (!ep->connected || ep->obj.ia->kr->gone || !queues->request_evd)
		return;
	if (kdat_slots_has_internal(&ep->requests))
		kal_qp_modify(queues->qp, &attr, IB_QP_STATE);
	while (kdat_slots_has_internal(&ep->requests) && looks--) {
		kdat_evd_collect(queues->request_evd);
		usleep_range(50, 100);
	}
}

/* The queue pair has lost what was posted, and its completions: take the requests back. */
void kdat_ep_forget_posted(struct kdat_ep *ep)
{
	if (ep->request_evd)
		kdat_evd_settle(ep->request_evd);
	if (ep->recv_evd && ep->recv_evd != ep->request_evd)
		kdat_evd_settle(ep->recv_evd);
	kdat_slots_reset(&ep->requests);
	kdat_slots_reset(&ep->recvs);
}

/* The connection has ended: destroy the queue pair, drop all events of requests. */
void kdat_ep_end_qp(struct kdat_ep *ep)
{
	struct kdat_ep_queues *queues = ep->queues;

	if (!queues || !queues->qp)
		return;
	kdat_ep_leave_srq(ep, queues);
	kdat_ep_end_registrations(ep);
	WRITE_ONCE(ep->qp, NULL);
	WARN_ON(kal_qp_destroy(queues->qp));
	queues->qp = NULL;
	kdat_early_drop(ep);
	if (queues->request_evd)
		kdat_evd_purge(queues->request_evd, ep);
	if (queues->recv_evd && queues->recv_evd != queues->request_evd)
		kdat_evd_purge(queues->recv_evd, ep);
	kdat_ep_forget_posted(ep);
}

/* Make room in the CQs for the completions. */
static DAT_RETURN kdat_ep_reserve(struct kdat_ep_queues *queues, const DAT_EP_ATTR *attr)
{
	const u32 requests = attr->max_request_dtos + KDAT_EP_OWN_REQUESTS;
	DAT_RETURN ret;

	if (queues->request_evd) {
		ret = kdat_evd_reserve(queues->request_evd, requests);
		if (ret != DAT_SUCCESS)
			return ret;
		queues->request_reserved = requests;
	}
	if (!queues->recv_evd)
		return DAT_SUCCESS;
	if (!queues->srq) {
		ret = kdat_evd_reserve(queues->recv_evd, attr->max_recv_dtos);
		if (ret == DAT_SUCCESS)
			queues->recv_reserved = attr->max_recv_dtos;
		return ret;
	}
	/* the SRQ may be resized meanwhile and later: see kdat_srq_resize() */
	guard(mutex)(&queues->srq->mutex);
	ret = kdat_evd_reserve(queues->recv_evd, queues->srq->attr.max_recv_dtos);
	if (ret == DAT_SUCCESS) {
		queues->recv_reserved = queues->srq->attr.max_recv_dtos;
		list_add_tail(&queues->node, &queues->srq->queues);
	}
	return ret;
}

/* Free @queues, in which nothing is posted. */
void kdat_ep_queues_free(struct kdat_ep_queues *queues)
{
	if (!queues)
		return;
	if (queues->qp)
		WARN_ON(kal_qp_destroy(queues->qp));
	if (queues->request_reserved)
		kdat_evd_unreserve(queues->request_evd, queues->request_reserved);
	if (queues->srq) {
		scoped_guard(mutex, &queues->srq->mutex)
			list_del_init(&queues->node);
	}
	if (queues->recv_reserved)
		kdat_evd_unreserve(queues->recv_evd, queues->recv_reserved);
	kdat_slots_free(&queues->requests);
	kdat_slots_free(&queues->recvs);
	kfree(queues);
}

/* Make the queue pair for @setup, which is configured. */
DAT_RETURN kdat_ep_queues_make(struct kdat_ep *ep, const struct kdat_ep_setup *setup,
			       struct kdat_ep_queues **to)
{
	const u32 recvs = setup->recv_evd && !setup->srq ? setup->attr.max_recv_dtos : 0;
	struct kdat_ep_queues *queues = kzalloc(sizeof(*queues), GFP_KERNEL_ACCOUNT);
	DAT_RETURN ret = KDAT_NO_MEMORY;
	struct ri_qp *qp;

	if (!queues)
		return ret;
	INIT_LIST_HEAD(&queues->node);
	queues->recv_evd = setup->recv_evd;
	queues->request_evd = setup->request_evd;
	queues->srq = setup->srq;
	if (kdat_slots_init(&queues->requests, ep, NULL,
			    setup->request_evd ? setup->attr.max_request_dtos : 0,
			    setup->request_evd ? KDAT_EP_OWN_REQUESTS : 0) ||
	    kdat_slots_init(&queues->recvs, ep, NULL, recvs, 0))
		goto err;
	ret = kdat_ep_reserve(queues, &setup->attr);
	if (ret != DAT_SUCCESS)
		goto err;
	qp = kdat_ep_qp_create(ep, setup);
	if (IS_ERR(qp)) {
		ret = kdat_ep_qp_error(qp);
		goto err;
	}
	queues->qp = qp;
	*to = queues;
	return DAT_SUCCESS;
err:
	kdat_ep_queues_free(queues);
	return ret;
}
