// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Endpoints: creation, configuration, state, end. Connections are in cm.c.
 *
 * An endpoint has a queue pair as soon as it is configured: it has a protection zone and an EVD for
 * requests or receives; with an SRQ, for receives. kdat_ep.mutex is not held while queue pairs and
 * CQs change, because that takes outer locks. So a new configuration is made beside the old one,
 * and takes its place if the endpoint has not changed meanwhile.
 */
#include <linux/in.h>
#include <linux/slab.h>

#include <krdma/netstack.h>

#include "ep.h"

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
	scoped_guard(spinlock_irqsave, &ep->query_lock) {
		ep->pz = setup->pz;
		ep->recv_evd = setup->recv_evd;
		ep->request_evd = setup->request_evd;
		ep->connect_evd = setup->connect_evd;
		ep->srq = setup->srq;
		ep->attr = setup->attr;
	}
}

/* Exchange ep->queues for @queues, which may be NULL. The caller frees the old ones. */
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
	/* the exchanged part belongs to the old queues; a late post may still look at it */
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
	spin_lock_init(&ep->query_lock);
	ep->reads.in = -1;
	ep->reads.out = -1;
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
	/* another thread has modified it, or receives are posted to the old queue pair */
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
		/* a post of a receive may still use the old queue pair */
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

/* Consumers have pointers to @to: change it only if it is another one. */
static void kdat_ep_show_address(struct sockaddr_storage *to, const struct sockaddr_storage *from)
{
	if (memcmp(to, from, sizeof(*to)))
		*to = *from;
}

/* The addresses that the pointers of a query show; with the lock. */
static void kdat_ep_show_addresses(struct kdat_ep *ep)
{
	struct kdat_ia *ia = ep->obj.ia;

	lockdep_assert_held(&ep->query_lock);
	kdat_ep_show_address(&ep->param_remote, &ep->remote);
	/* without a connection: the address of the RNIC, and no peer */
	if (ep->local.ss_family)
		kdat_ep_show_address(&ep->param_local, &ep->local);
	else
		scoped_guard(spinlock, &ia->address_lock)
			kdat_ep_show_address(&ep->param_local, &ia->address);
}

/* What a query shows; with the lock. */
static void kdat_ep_show(struct kdat_ep *ep, DAT_EP_PARAM *param)
{
	kdat_ep_show_addresses(ep);
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
	if (ep->reads.in >= 0)
		param->ep_attr.max_rdma_read_in = ep->reads.in;
	if (ep->reads.out >= 0)
		param->ep_attr.max_rdma_read_out = ep->reads.out;
}

static DAT_RETURN kdat_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct kdat_ep *ep = kdat_ep_of(handle);

	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (mask & ~DAT_EP_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	scoped_guard(spinlock_irqsave, &ep->query_lock)
		kdat_ep_show(ep, param);
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

/*
 * No RNIC reports which buffers of an SRQ an endpoint holds. Of its own buffers it holds the posted
 * ones.
 */
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
	if (ret == DAT_SUCCESS) {
		kdat_early_drop(ep);
		kdat_ep_forget_posted(ep);
		kdat_lmr_flushed(ep->obj.ia);
	}
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
