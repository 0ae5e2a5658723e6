// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Endpoints: creation, configuration, state, end. Connections are cm.c's.
 *
 * An endpoint has a queue pair as soon as it is configured: it has a protection zone and an EVD for
 * requests or receives; with an SRQ, for receives. kdat_ep.mutex is not held while queue pairs and
 * CQs change, because that takes outer locks. So a new configuration is made beside the old one,
 * and takes its place if the endpoint has not changed meanwhile.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include <krdma/netstack.h>

#include "../kdapl.h"

/* time for the RNIC to let go of the buffers of an SRQ */
#define KDAT_EP_LAST_WQE_TIMEOUT	HZ
/* looks for the completion of registrations when the queue pair ends, some 100 us apart */
#define KDAT_EP_FLUSH_LOOKS		1000

/* defaults of attributes, as far as the RNIC has so many */
#define KDAT_EP_IOV	4
#define KDAT_EP_READS	16

static unsigned int kdat_ep_dtos = 256;
module_param_named(kdapl_dtos, kdat_ep_dtos, uint, 0644);
MODULE_PARM_DESC(kdapl_dtos,
		 "requests, and receives, of a kDAPL endpoint whose consumer gives no attributes (default 256)");

#define KDAT_EP_RECV_FLAGS	(DAT_COMPLETION_SOLICITED_WAIT_FLAG |	\
				 DAT_COMPLETION_UNSIGNALLED_FLAG)
#define KDAT_EP_REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG |		\
				 DAT_COMPLETION_SOLICITED_WAIT_FLAG |	\
				 DAT_COMPLETION_UNSIGNALLED_FLAG |	\
				 DAT_COMPLETION_BARRIER_FENCE_FLAG |	\
				 DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

/* what an endpoint is made of */
struct kdat_ep_setup {
	struct kdat_pz *pz;
	struct kdat_evd *recv_evd;
	struct kdat_evd *request_evd;
	struct kdat_evd *connect_evd;
	struct kdat_srq *srq;
	DAT_EP_ATTR attr;
};

static bool kdat_ep_is_configured(const struct kdat_ep_setup *setup)
{
	return setup->pz && (setup->recv_evd || (setup->request_evd && !setup->srq));
}

/* Attributes **************************************************************** */

struct kdat_ep_limits kdat_ep_limits(const struct ri_rnic *rnic)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;

	return (struct kdat_ep_limits){
		.dtos = max(limits->max_qp_wr - KDAT_EP_OWN_REQUESTS, 1),
		.recv_iov = clamp(limits->max_recv_sge, 1, KDAT_MAX_IOV),
		.request_iov = clamp(limits->max_send_sge, 1, KDAT_MAX_IOV),
		/* RFC 5040: an RDMA Read has one sink */
		.read_iov = rnic->attr.transport == RI_TRANSPORT_IWARP ? 1 :
			clamp(limits->max_sge_rd, 1, KDAT_MAX_IOV),
		.reads_in = clamp(limits->max_qp_rd_atom, 0, U8_MAX),
		.reads_out = clamp(limits->max_qp_init_rd_atom, 0, U8_MAX),
	};
}

static void kdat_ep_default_attr(const struct ri_rnic *rnic, DAT_EP_ATTR *attr)
{
	const struct kdat_ep_limits limits = kdat_ep_limits(rnic);
	const u32 dtos = clamp(READ_ONCE(kdat_ep_dtos), 1u, (u32)limits.dtos);

	*attr = (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = KDAT_MAX_MESSAGE,
		.max_rdma_size = KDAT_MAX_MESSAGE,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = dtos,
		.max_request_dtos = dtos,
		.max_recv_iov = min(KDAT_EP_IOV, limits.recv_iov),
		.max_request_iov = min(KDAT_EP_IOV, limits.request_iov),
		.max_rdma_read_in = min(KDAT_EP_READS, limits.reads_in),
		.max_rdma_read_out = min(KDAT_EP_READS, limits.reads_out),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = limits.read_iov,
		.max_rdma_write_iov = min(KDAT_EP_IOV, limits.request_iov),
	};
}

static bool kdat_ep_in(DAT_COUNT value, DAT_COUNT limit)
{
	return value >= 0 && value <= limit;
}

static bool kdat_ep_attr_fits(const struct kdat_ep_limits *limits, const DAT_EP_ATTR *attr,
			      bool srq)
{
	if (attr->service_type != DAT_SERVICE_TYPE_RC ||
	    attr->max_message_size > KDAT_MAX_MESSAGE || attr->max_rdma_size > KDAT_MAX_MESSAGE ||
	    attr->recv_completion_flags & ~KDAT_EP_RECV_FLAGS ||
	    attr->request_completion_flags & ~KDAT_EP_REQUEST_FLAGS)
		return false;
	/* named attributes: there are none */
	if (attr->ep_transport_specific_count || attr->ep_provider_specific_count)
		return false;
	if (!srq && !(kdat_ep_in(attr->max_recv_dtos, limits->dtos) &&
		      kdat_ep_in(attr->max_recv_iov, limits->recv_iov)))
		return false;
	return kdat_ep_in(attr->max_request_dtos, limits->dtos) &&
	       kdat_ep_in(attr->max_request_iov, limits->request_iov) &&
	       kdat_ep_in(attr->max_rdma_write_iov, limits->request_iov) &&
	       kdat_ep_in(attr->max_rdma_read_iov, limits->read_iov) &&
	       kdat_ep_in(attr->max_rdma_read_in, limits->reads_in) &&
	       kdat_ep_in(attr->max_rdma_read_out, limits->reads_out);
}

/*
 * Check what is wanted, and change it into what is granted: not less. @bad: the answer for a wrong
 * attribute.
 */
static DAT_RETURN kdat_ep_grant(const struct ri_rnic *rnic, DAT_EP_ATTR *attr,
				const struct kdat_srq *srq, DAT_RETURN bad)
{
	const struct kdat_ep_limits limits = kdat_ep_limits(rnic);

	if (!kdat_ep_attr_fits(&limits, attr, srq))
		return bad;
	if (!kdat_cm_qos_valid(attr->qos))
		return bad;
	/* no RNIC tells how many buffers an endpoint holds; 0 is what a cleared structure has */
	if (srq && attr->srq_soft_hw && attr->srq_soft_hw != DAT_HW_DEFAULT)
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	attr->srq_soft_hw = DAT_HW_DEFAULT;
	if (srq) {
		attr->max_recv_dtos = srq->attr.max_recv_dtos;
		attr->max_recv_iov = srq->attr.max_recv_iov;
	}
	attr->max_recv_dtos = max(attr->max_recv_dtos, 1);
	attr->max_request_dtos = max(attr->max_request_dtos, 1);
	attr->max_recv_iov = max(attr->max_recv_iov, 1);
	attr->max_request_iov = max(attr->max_request_iov, 1);
	/* consumers of DAT 1 leave these two 0 */
	attr->max_rdma_read_iov = max(attr->max_rdma_read_iov, 1);
	attr->max_rdma_write_iov = max(attr->max_rdma_write_iov, attr->max_request_iov);
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific = NULL;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_ep_check_evd(const struct kdat_ia *ia, const struct kdat_evd *evd,
				    DAT_EVD_FLAGS flag, DAT_RETURN bad)
{
	if (evd && (evd->obj.ia != ia || !(evd->flags & flag)))
		return bad;
	return DAT_SUCCESS;
}

/* Check the objects, then the attributes; @bad_attr: the answer for a wrong one. */
static DAT_RETURN kdat_ep_check(struct kdat_ia *ia, struct kdat_ep_setup *setup,
				DAT_RETURN bad_attr)
{
	const struct kdat_srq *srq = setup->srq;
	DAT_RETURN ret;

	if (setup->pz && setup->pz->obj.ia != ia)
		return KDAT_BAD_HANDLE(PZ);
	ret = kdat_ep_check_evd(ia, setup->recv_evd, DAT_EVD_DTO_FLAG, KDAT_BAD_HANDLE(EVD_RECV));
	if (ret == DAT_SUCCESS)
		ret = kdat_ep_check_evd(ia, setup->request_evd, DAT_EVD_DTO_FLAG,
					KDAT_BAD_HANDLE(EVD_REQUEST));
	if (ret == DAT_SUCCESS)
		ret = kdat_ep_check_evd(ia, setup->connect_evd, DAT_EVD_CONNECTION_FLAG,
					KDAT_BAD_HANDLE(EVD_CONN));
	if (ret != DAT_SUCCESS)
		return ret;
	/* the provider's attribute srq_ep_pz_difference_supported is false */
	if (srq && (srq->obj.ia != ia || (setup->pz && srq->pz != setup->pz)))
		return KDAT_BAD_HANDLE(SRQ);
	return kdat_ep_grant(ia->kr->rnic, &setup->attr, srq, bad_attr);
}

/* Queue pairs *************************************************************** */

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

static struct ri_qp *kdat_ep_qp_create(struct kdat_ep *ep, const struct kdat_ep_setup *setup)
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

static DAT_RETURN kdat_ep_qp_error(const struct ri_qp *qp)
{
	if (PTR_ERR(qp) == -EINVAL)
		return KDAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	return kdat_error_of_resource(PTR_ERR(qp), DAT_RESOURCE_TEP);
}

/* Wait until no buffer of the SRQ is left in the queue pair, and take their completions. */
static void kdat_ep_leave_srq(struct kdat_ep *ep, const struct kdat_ep_queues *queues)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	/* a device that goes may not tell, and its SRQs lose all buffers anyway */
	if (!queues->srq || !ep->connected || ep->obj.ia->kr->gone)
		return;
	if (!kal_qp_modify(queues->qp, &attr, IB_QP_STATE))
		wait_for_completion_timeout(&ep->last_wqe, KDAT_EP_LAST_WQE_TIMEOUT);
	kdat_evd_collect(queues->recv_evd);
}

/*
 * Whether the RNIC has carried out the registrations of LMRs has to be known before the queue pair
 * takes their completions along: it fails a second registration, and the connection with it.
 */
static void kdat_ep_end_registrations(struct kdat_ep *ep)
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
static void kdat_ep_forget_posted(struct kdat_ep *ep)
{
	if (ep->request_evd)
		kdat_evd_settle(ep->request_evd);
	if (ep->recv_evd && ep->recv_evd != ep->request_evd)
		kdat_evd_settle(ep->recv_evd);
	kdat_slots_reset(&ep->requests);
	kdat_slots_reset(&ep->recvs);
}

/* The connection is over: destroy the queue pair, forget all events of requests. */
static void kdat_ep_end_qp(struct kdat_ep *ep)
{
	struct kdat_ep_queues *queues = ep->queues;

	if (!queues || !queues->qp)
		return;
	kdat_ep_leave_srq(ep, queues);
	kdat_ep_end_registrations(ep);
	WRITE_ONCE(ep->qp, NULL);
	WARN_ON(kal_qp_destroy(queues->qp));
	queues->qp = NULL;
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
static void kdat_ep_queues_free(struct kdat_ep_queues *queues)
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
static DAT_RETURN kdat_ep_queues_make(struct kdat_ep *ep, const struct kdat_ep_setup *setup,
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

/* Configuration ************************************************************* */

void kdat_ep_set_state(struct kdat_ep *ep, DAT_EP_STATE state)
{
	lockdep_assert_held(&ep->mutex);
	if (state == DAT_EP_STATE_CONNECTED)
		ep->connected = true;
	WRITE_ONCE(ep->state, state);
}

static bool kdat_ep_is_solicited(const struct kdat_ep_setup *setup)
{
	return setup->attr.recv_completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

/* Count the streams that @setup brings to its EVDs; @num is 1 or -1. kdat_ia.mutex held. */
static void kdat_ep_count_streams(const struct kdat_ep_setup *setup, int num)
{
	if (setup->request_evd)
		setup->request_evd->plain_streams += num;
	if (!setup->recv_evd)
		return;
	if (kdat_ep_is_solicited(setup))
		setup->recv_evd->solicited_streams += num;
	else
		setup->recv_evd->plain_streams += num;
}

static DAT_RETURN kdat_ep_check_streams(const struct kdat_evd *evd)
{
	if (evd && evd->solicited_streams && evd->plain_streams)
		return evd->solicited ? KDAT_BAD_STATE(EVD_CONFIG_SOLICITED) :
					KDAT_BAD_STATE(EVD_CONFIG_NOTIFY);
	return DAT_SUCCESS;
}

static void kdat_ep_set_solicited(struct kdat_evd *evd)
{
	if (evd)
		kdat_evd_solicited(evd, evd->solicited_streams);
}

/*
 * All completions at an EVD call up in the same way: each, or those of solicited receives alone.
 * Exchange the streams of @from, which may be NULL, for those of @to, or change nothing.
 */
static DAT_RETURN kdat_ep_move_streams(struct kdat_ia *ia, const struct kdat_ep_setup *from,
				       const struct kdat_ep_setup *to)
{
	DAT_RETURN ret;

	guard(mutex)(&ia->mutex);
	if (from)
		kdat_ep_count_streams(from, -1);
	kdat_ep_count_streams(to, 1);
	ret = kdat_ep_check_streams(to->recv_evd);
	if (ret == DAT_SUCCESS)
		ret = kdat_ep_check_streams(to->request_evd);
	if (ret == DAT_SUCCESS) {
		kdat_ep_set_solicited(to->recv_evd);
		kdat_ep_set_solicited(to->request_evd);
		return ret;
	}
	kdat_ep_count_streams(to, -1);
	if (from)
		kdat_ep_count_streams(from, 1);
	return ret;
}

/* Take the streams of @from away, and give those of @to back, which may be NULL. */
static void kdat_ep_return_streams(struct kdat_ia *ia, const struct kdat_ep_setup *from,
				   const struct kdat_ep_setup *to)
{
	guard(mutex)(&ia->mutex);
	kdat_ep_count_streams(from, -1);
	if (to)
		kdat_ep_count_streams(to, 1);
	kdat_ep_set_solicited(from->recv_evd);
	kdat_ep_set_solicited(from->request_evd);
	if (!to)
		return;
	kdat_ep_set_solicited(to->recv_evd);
	kdat_ep_set_solicited(to->request_evd);
}

/* @num is 1 or -1 */
static void kdat_ep_count_uses(const struct kdat_ep_setup *setup, int num)
{
	if (setup->pz)
		atomic_add(num, &setup->pz->obj.uses);
	if (setup->recv_evd)
		atomic_add(num, &setup->recv_evd->obj.uses);
	if (setup->request_evd)
		atomic_add(num, &setup->request_evd->obj.uses);
	if (setup->connect_evd)
		atomic_add(num, &setup->connect_evd->obj.uses);
	if (setup->srq)
		atomic_add(num, &setup->srq->obj.uses);
}

static void kdat_ep_get_setup(const struct kdat_ep *ep, struct kdat_ep_setup *setup)
{
	*setup = (struct kdat_ep_setup){
		.pz = ep->pz,
		.recv_evd = ep->recv_evd,
		.request_evd = ep->request_evd,
		.connect_evd = ep->connect_evd,
		.srq = ep->srq,
		.attr = ep->attr,
	};
}

static void kdat_ep_put_setup(struct kdat_ep *ep, const struct kdat_ep_setup *setup)
{
	ep->pz = setup->pz;
	ep->recv_evd = setup->recv_evd;
	ep->request_evd = setup->request_evd;
	ep->connect_evd = setup->connect_evd;
	ep->srq = setup->srq;
	ep->attr = setup->attr;
}

/* Let @queues or, if that is NULL, nothing take the place of ep->queues, which the caller frees. */
static bool kdat_ep_swap_queues(struct kdat_ep *ep, struct kdat_ep_queues **queues)
{
	struct kdat_ep_queues none = {}, *to = *queues ?: &none;

	kdat_slots_init(&none.requests, ep, NULL, 0, 0);
	kdat_slots_init(&none.recvs, ep, NULL, 0, 0);
	/* requests are not posted in these states, but receives are */
	if (!kdat_slots_swap(&ep->requests, &to->requests, NULL, NULL))
		return false;
	if (!kdat_slots_swap(&ep->recvs, &to->recvs, &ep->qp, to->qp)) {
		kdat_slots_swap(&ep->requests, &to->requests, NULL, NULL);
		return false;
	}
	/* what was exchanged belongs to the queues that go; a late post may still look at it */
	if (ep->queues) {
		swap(ep->queues->recvs.blocks, to->recvs.blocks);
		swap(ep->queues->requests.blocks, to->requests.blocks);
	}
	swap(ep->queues, *queues);
	ep->connected = false;
	reinit_completion(&ep->last_wqe);
	return true;
}

/* Creation ****************************************************************** */

DAT_RETURN kdat_ep_make(struct kdat_ia *ia, struct kdat_pz *pz, struct kdat_evd *recv,
			struct kdat_evd *request, struct kdat_evd *connect, struct kdat_srq *srq,
			const DAT_EP_ATTR *attr, struct kdat_ep **to)
{
	struct kdat_ep_setup setup = {
		.pz = pz,
		.recv_evd = recv,
		.request_evd = request,
		.connect_evd = connect,
		.srq = srq,
	};
	struct kdat_ep_queues *queues = NULL;
	struct kdat_ep *ep;
	DAT_RETURN ret;

	if (attr)
		setup.attr = *attr;
	else
		kdat_ep_default_attr(ia->kr->rnic, &setup.attr);
	ret = kdat_ep_check(ia, &setup, srq ? KDAT_BAD_ARG(7) : KDAT_BAD_ARG(6));
	if (ret != DAT_SUCCESS)
		return ret;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep)
		return KDAT_NO_MEMORY;
	mutex_init(&ep->mutex);
	init_completion(&ep->last_wqe);
	ep->obj.ia = ia;
	kdat_cm_init(ep);
	kdat_slots_init(&ep->requests, ep, NULL, 0, 0);
	kdat_slots_init(&ep->recvs, ep, NULL, 0, 0);
	kdat_ep_put_setup(ep, &setup);
	ep->state = kdat_ep_state_configured(DAT_EP_STATE_UNCONNECTED,
					     kdat_ep_is_configured(&setup));
	ret = kdat_ep_move_streams(ia, NULL, &setup);
	if (ret != DAT_SUCCESS)
		goto err;
	kdat_ep_count_uses(&setup, 1);
	if (kdat_ep_is_configured(&setup)) {
		ret = kdat_ep_queues_make(ep, &setup, &queues);
		if (ret != DAT_SUCCESS)
			goto err_uses;
		kdat_ep_swap_queues(ep, &queues);
	}
	kdat_obj_init(&ep->obj, ia, DAT_HANDLE_TYPE_EP);
	*to = ep;
	return DAT_SUCCESS;
err_uses:
	kdat_ep_count_uses(&setup, -1);
	kdat_ep_return_streams(ia, &setup, NULL);
err:
	mutex_destroy(&ep->mutex);
	kfree(ep);
	return ret;
}

/* Does a consumer's handle name an object, or nothing where that is allowed? */
static bool kdat_ep_handle_ok(DAT_HANDLE handle, const void *object)
{
	return handle == DAT_HANDLE_NULL || object;
}

static DAT_RETURN kdat_ep_check_handles(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
					DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect)
{
	if (!kdat_ep_handle_ok(pz, kdat_pz_of(pz)))
		return KDAT_BAD_HANDLE(PZ);
	if (!kdat_ep_handle_ok(recv, kdat_evd_of(recv)))
		return KDAT_BAD_HANDLE(EVD_RECV);
	if (!kdat_ep_handle_ok(request, kdat_evd_of(request)))
		return KDAT_BAD_HANDLE(EVD_REQUEST);
	if (!kdat_ep_handle_ok(connect, kdat_evd_of(connect)))
		return KDAT_BAD_HANDLE(EVD_CONN);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_ep_create_any(struct kdat_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				     DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				     struct kdat_srq *srq, const DAT_EP_ATTR *attr,
				     DAT_EP_HANDLE *handle)
{
	struct kdat_ep *ep;
	DAT_RETURN ret;

	ret = kdat_ep_check_handles(pz, recv, request, connect);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!handle)
		return srq ? KDAT_BAD_ARG(8) : KDAT_BAD_ARG(7);
	if (!kdat_enter(ia))
		return KDAT_GONE;
	ret = kdat_ep_make(ia, pz, recv, request, connect, srq, attr, &ep);
	if (ret == DAT_SUCCESS)
		*handle = ep;
	kdat_leave(ia);
	return ret;
}

static DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				 DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				 const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	return kdat_ep_create_any(ia, pz, recv, request, connect, NULL, attr, handle);
}

static DAT_RETURN kdat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
					  DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
					  DAT_EVD_HANDLE connect, DAT_SRQ_HANDLE srq_handle,
					  const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
	struct kdat_srq *srq = kdat_srq_of(srq_handle);
	struct kdat_ia *ia = kdat_ia_of(ia_handle);

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!srq)
		return KDAT_BAD_HANDLE(SRQ);
	return kdat_ep_create_any(ia, pz, recv, request, connect, srq, attr, handle);
}

/* Modification ************************************************************** */

/* attributes of the endpoint itself and of its connection are not the consumer's to change */
#define KDAT_EP_FIXED	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_COMM |	\
			 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL |	\
			 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL)

static void kdat_ep_modify_attr(DAT_EP_ATTR *attr, DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *to)
{
	if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE)
		attr->service_type = to->service_type;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)
		attr->max_message_size = to->max_message_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE)
		attr->max_rdma_size = to->max_rdma_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_QOS)
		attr->qos = to->qos;
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)
		attr->recv_completion_flags = to->recv_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
		attr->request_completion_flags = to->request_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)
		attr->max_recv_dtos = to->max_recv_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
		attr->max_request_dtos = to->max_request_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV)
		attr->max_recv_iov = to->max_recv_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV)
		attr->max_request_iov = to->max_request_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN)
		attr->max_rdma_read_in = to->max_rdma_read_in;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT)
		attr->max_rdma_read_out = to->max_rdma_read_out;
	if (mask & DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW)
		attr->srq_soft_hw = to->srq_soft_hw;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV)
		attr->max_rdma_read_iov = to->max_rdma_read_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV)
		attr->max_rdma_write_iov = to->max_rdma_write_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR)
		attr->ep_transport_specific_count = to->ep_transport_specific_count;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR)
		attr->ep_provider_specific_count = to->ep_provider_specific_count;
}

/* Put the consumer's values into @setup. */
static DAT_RETURN kdat_ep_modify_setup(struct kdat_ia *ia, struct kdat_ep_setup *setup,
				       DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	DAT_RETURN ret;

	ret = kdat_ep_check_handles(mask & DAT_EP_FIELD_PZ_HANDLE ? param->pz_handle : NULL,
				    mask & DAT_EP_FIELD_RECV_EVD_HANDLE ?
					    param->recv_evd_handle : NULL,
				    mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE ?
					    param->request_evd_handle : NULL,
				    mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE ?
					    param->connect_evd_handle : NULL);
	if (ret != DAT_SUCCESS)
		return ret;
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		setup->pz = param->pz_handle;
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		setup->recv_evd = param->recv_evd_handle;
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		setup->request_evd = param->request_evd_handle;
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		setup->connect_evd = param->connect_evd_handle;
	if (mask & DAT_EP_FIELD_SRQ_HANDLE) {
		if (!kdat_ep_handle_ok(param->srq_handle, kdat_srq_of(param->srq_handle)))
			return KDAT_BAD_HANDLE(SRQ);
		setup->srq = param->srq_handle;
	}
	kdat_ep_modify_attr(&setup->attr, mask, &param->ep_attr);
	return kdat_ep_check(ia, setup, KDAT_BAD_ARG(3));
}

static bool kdat_ep_needs_new_qp(const struct kdat_ep_setup *old, const struct kdat_ep_setup *new)
{
	const DAT_EP_ATTR *a = &old->attr, *b = &new->attr;

	if (!kdat_ep_is_configured(old))
		return true;
	return old->pz != new->pz || old->recv_evd != new->recv_evd ||
	       old->request_evd != new->request_evd || old->srq != new->srq ||
	       a->max_recv_dtos != b->max_recv_dtos || a->max_request_dtos != b->max_request_dtos ||
	       a->max_recv_iov != b->max_recv_iov || a->max_request_iov != b->max_request_iov ||
	       a->max_rdma_write_iov != b->max_rdma_write_iov ||
	       a->max_rdma_read_iov != b->max_rdma_read_iov;
}

/*
 * Let @new take the place of @old, if the endpoint is still as it was. @queues: the new ones, then
 * those to be freed. @swap: they change.
 */
static DAT_RETURN kdat_ep_commit(struct kdat_ep *ep, u32 changes, const struct kdat_ep_setup *new,
				 bool swap, struct kdat_ep_queues **queues)
{
	DAT_RETURN ret;

	guard(mutex)(&ep->mutex);
	ret = kdat_ep_state_allows(ep->state, KDAT_EP_MODIFY);
	if (ret != DAT_SUCCESS)
		return ret;
	/* another thread modifies it, or receives are posted to the old queue pair */
	if (ep->changes != changes || (swap && !kdat_ep_swap_queues(ep, queues)))
		return KDAT_BAD_STATE(EP_NOTREADY);
	kdat_ep_put_setup(ep, new);
	ep->changes++;
	kdat_ep_set_state(ep, kdat_ep_state_configured(ep->state, kdat_ep_is_configured(new)));
	return DAT_SUCCESS;
}

/* The RNIC is held. */
static DAT_RETURN kdat_ep_change(struct kdat_ep *ep, DAT_EP_PARAM_MASK mask,
				 const DAT_EP_PARAM *param)
{
	struct kdat_ia *ia = ep->obj.ia;
	struct kdat_ep_queues *queues = NULL;
	struct kdat_ep_setup old, new;
	DAT_RETURN ret;
	u32 changes;
	bool swap;

	scoped_guard(mutex, &ep->mutex) {
		ret = kdat_ep_state_allows(ep->state, KDAT_EP_MODIFY);
		kdat_ep_get_setup(ep, &old);
		changes = ep->changes;
	}
	if (ret != DAT_SUCCESS)
		return ret;
	new = old;
	ret = kdat_ep_modify_setup(ia, &new, mask, param);
	if (ret != DAT_SUCCESS)
		return ret;
	swap = kdat_ep_needs_new_qp(&old, &new);
	ret = kdat_ep_move_streams(ia, &old, &new);
	if (ret != DAT_SUCCESS)
		return ret;
	kdat_ep_count_uses(&new, 1);
	if (swap && kdat_ep_is_configured(&new))
		ret = kdat_ep_queues_make(ep, &new, &queues);
	if (ret == DAT_SUCCESS)
		ret = kdat_ep_commit(ep, changes, &new, swap, &queues);
	if (ret == DAT_SUCCESS) {
		kdat_ep_count_uses(&old, -1);
		/* who posts a receive may still use the old queue pair */
		if (queues)
			synchronize_rcu();
	} else {
		kdat_ep_count_uses(&new, -1);
		kdat_ep_return_streams(ia, &new, &old);
	}
	kdat_ep_queues_free(queues);
	return ret;
}

static DAT_RETURN kdat_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask,
				 const DAT_EP_PARAM *param)
{
	struct kdat_ep *ep = kdat_ep_of(handle);
	struct kdat_ia *ia;
	DAT_RETURN ret;

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (mask & (~DAT_EP_FIELD_ALL | KDAT_EP_FIXED))
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	ia = ep->obj.ia;
	if (!kdat_enter(ia))
		return KDAT_GONE;
	ret = kdat_ep_change(ep, mask, param);
	kdat_leave(ia);
	return ret;
}

/* Queries ******************************************************************* */

static DAT_RETURN kdat_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct kdat_ep *ep = kdat_ep_of(handle);

	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (mask & ~DAT_EP_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	/* without a connection: the address of the RNIC, and no peer */
	ep->param_local = ep->local.ss_family ? ep->local : ep->obj.ia->address;
	ep->param_remote = ep->remote;
	*param = (DAT_EP_PARAM){
		.ia_handle = ep->obj.ia,
		.ep_state = READ_ONCE(ep->state),
		.comm = {
			.domain = ep->param_local.ss_family,
			.type = SOCK_STREAM,
			.protocol = IPPROTO_TCP,
		},
		.local_ia_address_ptr = (struct sockaddr *)&ep->param_local,
		.local_port_qual = ntohs(kal_addr_port(&ep->param_local)),
		.remote_ia_address_ptr =
			ep->param_remote.ss_family ? (struct sockaddr *)&ep->param_remote : NULL,
		.remote_port_qual = ntohs(kal_addr_port(&ep->param_remote)),
		.pz_handle = ep->pz,
		.recv_evd_handle = ep->recv_evd,
		.request_evd_handle = ep->request_evd,
		.connect_evd_handle = ep->connect_evd,
		.srq_handle = ep->srq,
		.ep_attr = ep->attr,
	};
	return DAT_SUCCESS;
}

/* A request is outstanding until its completion has been taken from the CQ. */
static DAT_RETURN kdat_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state,
				     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct kdat_ep *ep = kdat_ep_of(handle);

	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (state)
		*state = READ_ONCE(ep->state);
	if (recv_idle)
		*recv_idle = kdat_slots_used(&ep->recvs) ? DAT_FALSE : DAT_TRUE;
	if (request_idle)
		*request_idle = kdat_slots_used(&ep->requests) ? DAT_FALSE : DAT_TRUE;
	return DAT_SUCCESS;
}

/* No RNIC tells which buffers of an SRQ an endpoint holds. Of its own it holds those posted. */
static DAT_RETURN kdat_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *allocated, DAT_COUNT *span)
{
	struct kdat_ep *ep = kdat_ep_of(handle);

	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (allocated)
		*allocated = ep->srq ? DAT_VALUE_UNKNOWN : (DAT_COUNT)kdat_slots_used(&ep->recvs);
	if (span)
		*span = DAT_VALUE_UNKNOWN;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	if (!kdat_ep_of(handle))
		return KDAT_BAD_HANDLE(EP);
	return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

/* End *********************************************************************** */

/* Return: false: another thread resets the endpoint, or has done it. */
static bool kdat_ep_begin_reset(struct kdat_ep *ep)
{
	bool begun;

	scoped_guard(mutex, &ep->mutex) {
		begun = ep->state == DAT_EP_STATE_DISCONNECTED && ep->qp && !ep->resetting;
		if (begun)
			ep->resetting = true;
	}
	return begun;
}

/* Take the queue pair from the posters. */
static void kdat_ep_hide_qp(struct kdat_ep *ep)
{
	scoped_guard(mutex, &ep->mutex)
		WRITE_ONCE(ep->qp, NULL);
	synchronize_rcu();
}

static void kdat_ep_end_reset(struct kdat_ep *ep, bool success)
{
	guard(mutex)(&ep->mutex);
	ep->resetting = false;
	WRITE_ONCE(ep->qp, ep->queues->qp);
	if (!success)
		return;
	ep->connected = false;
	reinit_completion(&ep->last_wqe);
	kdat_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED);
}

/* Let a new queue pair take the place of one that cannot be reset. */
static DAT_RETURN kdat_ep_renew_qp(struct kdat_ep *ep)
{
	struct kdat_ep_setup setup;
	struct ri_qp *qp;

	kdat_ep_get_setup(ep, &setup);
	qp = kdat_ep_qp_create(ep, &setup);
	if (IS_ERR(qp))
		return kdat_ep_qp_error(qp);
	WARN_ON(kal_qp_destroy(ep->queues->qp));
	ep->queues->qp = qp;
	return DAT_SUCCESS;
}

/* Of an endpoint that is disconnected. The RNIC is held. */
static DAT_RETURN kdat_ep_reset_qp(struct kdat_ep *ep)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	DAT_RETURN ret = DAT_SUCCESS;

	/* first: the connection of an endpoint that another thread has reset is a new one */
	if (!kdat_ep_begin_reset(ep))
		return KDAT_BAD_STATE(EP_NOTREADY);
	kdat_cm_end(ep);
	kdat_ep_hide_qp(ep);
	kdat_ep_leave_srq(ep, ep->queues);
	kdat_ep_end_registrations(ep);
	if (ep->request_evd)
		kdat_evd_collect(ep->request_evd);
	if (ep->recv_evd && ep->recv_evd != ep->request_evd)
		kdat_evd_collect(ep->recv_evd);
	if (kal_qp_modify(ep->queues->qp, &attr, IB_QP_STATE))
		ret = kdat_ep_renew_qp(ep);
	if (ret == DAT_SUCCESS)
		kdat_ep_forget_posted(ep);
	kdat_ep_end_reset(ep, ret == DAT_SUCCESS);
	return ret;
}

static DAT_RETURN kdat_ep_reset(DAT_EP_HANDLE handle)
{
	struct kdat_ep *ep = kdat_ep_of(handle);
	DAT_EP_STATE state;
	DAT_RETURN ret;
	struct kdat_ia *ia;

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	ia = ep->obj.ia;
	if (!kdat_enter(ia))
		return KDAT_GONE;
	state = READ_ONCE(ep->state);
	ret = kdat_ep_state_allows(state, KDAT_EP_RESET);
	if (ret == DAT_SUCCESS && state == DAT_EP_STATE_DISCONNECTED)
		ret = kdat_ep_reset_qp(ep);
	kdat_leave(ia);
	return ret;
}

void kdat_ep_drop_qp(struct kdat_ep *ep)
{
	kdat_cm_end(ep);
	kdat_ep_end_qp(ep);
}

void kdat_ep_destroy(struct kdat_ep *ep)
{
	struct kdat_ia *ia = ep->obj.ia;
	struct kdat_ep_setup setup;

	kdat_hold(ia);
	/* from now on kdat_lmr_pending() does not find the endpoint */
	scoped_guard(mutex, &ia->mutex)
		list_del_init(&ep->obj.node);
	kdat_sp_forget_ep(ep);
	kdat_cm_end(ep);
	kdat_ep_end_qp(ep);
	kdat_ep_queues_free(ep->queues);
	kdat_slots_free(&ep->requests);
	kdat_slots_free(&ep->recvs);
	kdat_ep_get_setup(ep, &setup);
	kdat_ep_return_streams(ia, &setup, NULL);
	mutex_destroy(&ep->mutex);
	kdat_obj_free(&ep->obj);
	kdat_ep_count_uses(&setup, -1);
	kdat_leave(ia);
}

static DAT_RETURN kdat_ep_free(DAT_EP_HANDLE handle)
{
	struct kdat_ep *ep = kdat_ep_of(handle);
	DAT_RETURN ret;

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	ret = kdat_ep_state_allows(READ_ONCE(ep->state), KDAT_EP_FREE);
	if (ret == DAT_SUCCESS)
		kdat_ep_destroy(ep);
	return ret;
}

void kdat_ep_table(DAT_PROVIDER *provider)
{
	provider->ep_create_func = kdat_ep_create;
	provider->ep_create_with_srq_func = kdat_ep_create_with_srq;
	provider->ep_query_func = kdat_ep_query;
	provider->ep_modify_func = kdat_ep_modify;
	provider->ep_get_status_func = kdat_ep_get_status;
	provider->ep_recv_query_func = kdat_ep_recv_query;
	provider->ep_set_watermark_func = kdat_ep_set_watermark;
	provider->ep_reset_func = kdat_ep_reset;
	provider->ep_free_func = kdat_ep_free;
}
