// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Service points (PSP, RSP, CSP). The consumer's answers to connection requests are in cr.c.
 *
 * A service point is a listener of the kAL. Its handler makes a connection request of what the
 * kAL reports, and puts the event into the EVD. The handler does not wait: it holds the locks of
 * the listener and of the request. It only tries to take kdat_rnic.sem, because the removal of the
 * RNIC holds that while it waits for the handler. A request whose event finds no room is rejected.
 *
 * An answer first takes the kAL's endpoint out of the request, so of two answers one does the work.
 * A request stays until it is answered, even if its peer has ended the connection or its service
 * point was freed.
 *
 * An RSP has one request. With the event its handle becomes invalid and its port free. The rest of
 * it is freed when the request is answered. kdat_ia.mutex protects the links between EPs, requests
 * and service points.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include <krdma/netstack.h>
#include <krdma/noio.h>

#include "sp.h"

/* connections that wait for the worker; requests that wait for the consumer are in the EVD */
static unsigned int kdat_sp_backlog = 128;
module_param_named(kdapl_backlog, kdat_sp_backlog, uint, 0644);
MODULE_PARM_DESC(kdapl_backlog,
		 "requests that wait at a new kDAPL service point until they are events, at most 4096 (default 128)");

void kdat_sp_get(struct kdat_sp *sp)
{
	atomic_inc(&sp->calls);
}

/* The service point may be freed after the decrement; the wake-up uses its address only. */
void kdat_sp_put(struct kdat_sp *sp)
{
	if (atomic_dec_and_test(&sp->calls))
		wake_up_var(&sp->calls);
}

/* Endpoints of service points and requests ********************************** */

static bool kdat_sp_set_state(struct kdat_ep *ep, const DAT_EP_STATE *from, const DAT_EP_STATE *to)
{
	unsigned int i;
	bool found = false;

	mutex_lock(&ep->mutex);
	for (i = 0; i < 2 && !found; i++) {
		found = ep->state == from[i];
		if (found)
			kdat_ep_set_state(ep, to[i]);
	}
	mutex_unlock(&ep->mutex);
	return found;
}

static const DAT_EP_STATE kdat_sp_free_states[] = {
	DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_UNCONFIGURED_UNCONNECTED,
};

static const DAT_EP_STATE kdat_sp_reserved_states[] = {
	DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONFIGURED_RESERVED,
};

static const DAT_EP_STATE kdat_sp_tentative_states[] = {
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_TENTATIVE,
};

void kdat_sp_release_ep(struct kdat_ep *ep)
{
	kdat_sp_set_state(ep, kdat_sp_tentative_states, kdat_sp_free_states);
}

/* The service point gives its EP back; ia->mutex held. */
static void kdat_sp_unreserve(struct kdat_sp *sp)
{
	struct kdat_ep *ep = sp->ep;

	if (!ep)
		return;
	sp->ep = NULL;
	ep->sp = NULL;
	kdat_sp_set_state(ep, kdat_sp_reserved_states, kdat_sp_free_states);
}

DAT_RETURN kdat_sp_reserve(struct kdat_sp *sp, struct kdat_ep *ep)
{
	struct kdat_ia *ia = sp->obj.ia;
	DAT_RETURN error;

	mutex_lock(&ia->mutex);
	mutex_lock(&ep->mutex);
	error = kdat_ep_state_allows(ep->state, KDAT_EP_RESERVE);
	if (error == DAT_SUCCESS) {
		kdat_ep_set_state(ep, ep->state == DAT_EP_STATE_UNCONNECTED ?
				  DAT_EP_STATE_RESERVED : DAT_EP_STATE_UNCONFIGURED_RESERVED);
		ep->sp = sp;
		sp->ep = ep;
	}
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ia->mutex);
	return error;
}

void kdat_sp_forget_ep(struct kdat_ep *ep)
{
	struct kdat_ia *ia = ep->obj.ia;

	mutex_lock(&ia->mutex);
	if (ep->sp)
		ep->sp->ep = NULL;
	ep->sp = NULL;
	if (ep->cr)
		ep->cr->ep = NULL;
	ep->cr = NULL;
	mutex_unlock(&ia->mutex);
}

/* Requests ****************************************************************** */

/*
 * A request of an RSP or SSP takes its EP. Return: false: there was a request before, or the EP was
 * freed.
 */
static bool kdat_sp_use(struct kdat_sp *sp, struct kdat_cr *cr)
{
	struct kdat_ia *ia = sp->obj.ia;
	bool fine;

	if (sp->kind != KDAT_SP_RSP && sp->kind != KDAT_SP_SSP)
		return true;
	mutex_lock(&ia->mutex);
	fine = !sp->used && (sp->ep || sp->kind == KDAT_SP_SSP);
	if (fine) {
		WRITE_ONCE(sp->used, true);
		if (sp->kind == KDAT_SP_RSP)
			cr->rsp = sp;
		cr->ep = sp->ep;
		sp->ep = NULL;
		if (cr->ep) {
			cr->ep->sp = NULL;
			cr->ep->cr = cr;
			kdat_sp_set_state(cr->ep, kdat_sp_reserved_states,
					  kdat_sp_tentative_states);
		}
	}
	mutex_unlock(&ia->mutex);
	return fine;
}

static void kdat_sp_unuse(struct kdat_sp *sp, struct kdat_cr *cr)
{
	struct kdat_ia *ia = sp->obj.ia;

	if (sp->kind != KDAT_SP_RSP && sp->kind != KDAT_SP_SSP)
		return;
	mutex_lock(&ia->mutex);
	WRITE_ONCE(sp->used, false);
	cr->rsp = NULL;
	sp->ep = cr->ep;
	cr->ep = NULL;
	if (sp->ep) {
		sp->ep->cr = NULL;
		sp->ep->sp = sp;
		kdat_sp_set_state(sp->ep, kdat_sp_tentative_states, kdat_sp_reserved_states);
	}
	mutex_unlock(&ia->mutex);
}

/*
 * A PSP makes the EP of a request, or, in the handler, takes the one that an earlier request did
 * not need.
 */
static int kdat_sp_provide(struct kdat_sp *sp, struct kdat_cr *cr, bool handler)
{
	static const DAT_EP_STATE none[] = {
		DAT_EP_STATE_UNCONFIGURED_UNCONNECTED, DAT_EP_STATE_UNCONNECTED,
	};
	static const DAT_EP_STATE tentative[] = {
		DAT_EP_STATE_UNCONFIGURED_TENTATIVE, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
	};
	struct kdat_ia *ia = sp->obj.ia;
	struct kdat_ep *ep;

	if (sp->kind != KDAT_SP_PSP || !(sp->psp_flags & DAT_PSP_PROVIDER_FLAG))
		return 0;
	ep = handler ? xchg(&sp->spare, NULL) : NULL;
	if (!ep) {
		if (kdat_ep_make(ia, NULL, NULL, NULL, NULL, NULL, NULL, &ep) != DAT_SUCCESS)
			return -ENOMEM;
		kdat_sp_set_state(ep, none, tentative);
	}
	mutex_lock(&ia->mutex);
	cr->own_ep = true;
	cr->ep = ep;
	ep->cr = cr;
	mutex_unlock(&ia->mutex);
	return 0;
}

/* Return: the EP of a request that a PSP made, or NULL. */
static struct kdat_ep *kdat_sp_unprovide(struct kdat_sp *sp, struct kdat_cr *cr)
{
	struct kdat_ia *ia = sp->obj.ia;
	struct kdat_ep *ep;

	if (!cr->own_ep)
		return NULL;
	mutex_lock(&ia->mutex);
	ep = cr->ep;
	cr->ep = NULL;
	if (ep)
		ep->cr = NULL;
	mutex_unlock(&ia->mutex);
	return ep;
}

static bool kdat_sp_tell(struct kdat_sp *sp, struct kdat_cr *cr)
{
	/* a request that was handed over came to another port */
	const struct sockaddr_storage *at = sp->kind == KDAT_SP_SSP ? &cr->local : &sp->address;
	const DAT_EVENT event = {
		.event_number = DAT_CONNECTION_REQUEST_EVENT,
		.event_data.cr_arrival_event_data = {
			.sp_handle.psp_handle = sp->kind == KDAT_SP_RSP ? DAT_HANDLE_NULL : sp,
			.local_ia_address_ptr = (struct sockaddr *)&cr->local,
			.conn_qual = ntohs(kal_addr_port(at)),
			.cr_handle = cr,
			.truncate_flag = DAT_FALSE,
		},
	};

	return kdat_evd_put(sp->evd, &event);
}

static struct kdat_cr *kdat_sp_new_cr(const struct kal_ep_event *from)
{
	struct kdat_cr *cr = kzalloc(sizeof(*cr), GFP_KERNEL_ACCOUNT);

	if (!cr)
		return NULL;
	cr->conn = from->child;
	if (from->local)
		cr->local = *from->local;
	if (from->remote)
		cr->remote = *from->remote;
	cr->ird = from->ird;
	cr->ord = from->ord;
	cr->private_data_len = min_t(u16, from->private_data_len, sizeof(cr->private_data));
	if (cr->private_data_len)
		memcpy(cr->private_data, from->private_data, cr->private_data_len);
	return cr;
}

int kdat_sp_deliver(struct kdat_sp *sp, const struct kal_ep_event *from, bool handler,
		    struct kdat_ep **unneeded)
{
	struct kdat_cr *cr = kdat_sp_new_cr(from);
	int err;

	*unneeded = NULL;
	if (!cr)
		return -ENOMEM;
	err = kdat_sp_provide(sp, cr, handler);
	if (!err && !kdat_sp_use(sp, cr))
		err = -ECONNREFUSED;
	if (err) {
		kfree(cr);
		return err;
	}
	kdat_obj_init(&cr->obj, sp->obj.ia, DAT_HANDLE_TYPE_CR);
	if (kdat_sp_tell(sp, cr))
		return 0;
	kdat_sp_unuse(sp, cr);
	*unneeded = kdat_sp_unprovide(sp, cr);
	kdat_obj_free(&cr->obj);
	return -ENOBUFS;
}

static int kdat_sp_event(struct kal_ep *listener, void *context, const struct kal_ep_event *from)
{
	struct kdat_ep *unneeded;
	struct kdat_sp *sp = context;
	int err;

	if (from->type != KAL_EP_CONN_REQUEST)
		return -EINVAL;
	if (!kdat_try_enter(sp->obj.ia))
		return -ECONNABORTED;
	err = kdat_sp_deliver(sp, from, true, &unneeded);
	/* it cannot be destroyed here, and handlers of a listener run one after the other */
	if (unneeded)
		WARN_ON_ONCE(xchg(&sp->spare, unneeded));
	/* an RSP lives until its request is answered or ends, and that waits for this work */
	if (!err && sp->kind == KDAT_SP_RSP)
		queue_work(kdat_cm_wq, &sp->end);
	kdat_leave(sp->obj.ia);
	return err;
}

/* Life ********************************************************************** */

void kdat_sp_end_listener(struct kdat_sp *sp)
{
	struct kal_ep *listener = xchg(&sp->listener, NULL);

	if (listener)
		kal_ep_destroy(listener);
}

static void kdat_sp_end_work(struct work_struct *work)
{
	guard(krdma_noio)();
	kdat_sp_end_listener(container_of(work, struct kdat_sp, end));
}

struct kdat_evd *kdat_sp_evd(struct kdat_ia *ia, DAT_EVD_HANDLE handle)
{
	struct kdat_evd *evd = kdat_evd_of(handle);

	return evd && evd->obj.ia == ia && evd->flags & DAT_EVD_CR_FLAG ? evd : NULL;
}

static u32 kdat_sp_type(enum kdat_sp_kind kind)
{
	switch (kind) {
	case KDAT_SP_PSP:
		return DAT_HANDLE_TYPE_PSP;
	case KDAT_SP_RSP:
		return DAT_HANDLE_TYPE_RSP;
	case KDAT_SP_CSP:
		return DAT_HANDLE_TYPE_CSP;
	default:
		return DAT_IW_HANDLE_TYPE_SSP;
	}
}

struct kdat_sp *kdat_sp_alloc(struct kdat_ia *ia, enum kdat_sp_kind kind, struct kdat_evd *evd)
{
	struct kdat_sp *sp = kzalloc(sizeof(*sp), GFP_KERNEL_ACCOUNT);
	struct kal_ep *listener;

	if (!sp)
		return ERR_PTR(-ENOMEM);
	listener = kal_ep_create(ia->kr->rnic, kdat_sp_event, sp);
	if (IS_ERR(listener)) {
		kfree(sp);
		return ERR_CAST(listener);
	}
	sp->kind = kind;
	sp->evd = evd;
	sp->listener = listener;
	INIT_WORK(&sp->end, kdat_sp_end_work);
	atomic_inc(&evd->obj.uses);
	kdat_obj_init(&sp->obj, ia, kdat_sp_type(kind));
	return sp;
}

/*
 * Everything but the spare EP. The RNIC is held. Return: that EP, to be destroyed when it is not
 * held, or NULL.
 */
static struct kdat_ep *kdat_sp_finish(struct kdat_sp *sp)
{
	struct kdat_ia *ia = sp->obj.ia;
	struct kdat_ep *spare;
	struct kdat_obj *obj;

	mutex_lock(&ia->mutex);
	sp->ending = true;
	mutex_unlock(&ia->mutex);
	wait_var_event(&sp->calls, !atomic_read(&sp->calls));
	/* no handler runs and no work comes after this */
	kdat_sp_end_listener(sp);
	cancel_work_sync(&sp->end);
	mutex_lock(&ia->mutex);
	kdat_sp_unreserve(sp);
	list_for_each_entry(obj, &ia->objects[DAT_HANDLE_TYPE_CR], node) {
		struct kdat_cr *cr = container_of(obj, struct kdat_cr, obj);

		if (cr->rsp == sp)
			cr->rsp = NULL;
	}
	mutex_unlock(&ia->mutex);
	spare = sp->spare;
	atomic_dec(&sp->evd->obj.uses);
	kdat_obj_free(&sp->obj);
	return spare;
}

void kdat_sp_abandon(struct kdat_sp *sp)
{
	/* it has had no request, so there is no spare */
	kdat_sp_finish(sp);
}

void kdat_sp_destroy(struct kdat_sp *sp)
{
	struct kdat_ia *ia = sp->obj.ia;
	struct kdat_ep *spare;

	kdat_hold(ia);
	spare = kdat_sp_finish(sp);
	kdat_leave(ia);
	if (spare)
		kdat_ep_destroy(spare);
}

void kdat_sp_drop(struct kdat_sp *sp)
{
	kdat_sp_end_listener(sp);
	cancel_work_sync(&sp->end);
}

/* Create ******************************************************************** */

/*
 * Used RSPs of the IA that still listen on @port: wait until they do not. Return: there was one.
 */
static bool kdat_sp_settle(struct kdat_ia *ia, __be16 port)
{
	struct kdat_sp *found = NULL;
	struct kdat_obj *obj;

	mutex_lock(&ia->mutex);
	list_for_each_entry(obj, &ia->objects[DAT_HANDLE_TYPE_RSP], node) {
		struct kdat_sp *sp = container_of(obj, struct kdat_sp, obj);

		if (!sp->used || sp->ending || kal_addr_port(&sp->address) != port)
			continue;
		found = sp;
		kdat_sp_get(sp);
		break;
	}
	mutex_unlock(&ia->mutex);
	if (!found)
		return false;
	kdat_sp_end_listener(found);
	flush_work(&found->end);
	kdat_sp_put(found);
	return true;
}

static int kdat_sp_listen_once(struct kdat_sp *sp, const struct sockaddr_storage *address)
{
	const struct kal_listen_param param = {
		.backlog = clamp(READ_ONCE(kdat_sp_backlog), 1u, 4096u),
		.net = sp->obj.ia->net,
	};

	return kal_ep_listen(sp->listener, (const struct sockaddr *)address, &param,
			     &sp->address);
}

/* An error of kal_ep_listen() ends the endpoint: another attempt needs another one. */
static int kdat_sp_renew(struct kdat_sp *sp)
{
	struct kal_ep *listener;

	kdat_sp_end_listener(sp);
	listener = kal_ep_create(sp->obj.ia->kr->rnic, kdat_sp_event, sp);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	xchg(&sp->listener, listener);
	return 0;
}

static int kdat_sp_listen(struct kdat_sp *sp, const struct sockaddr_storage *address)
{
	int err = kdat_sp_listen_once(sp, address);

	if (err == -EADDRINUSE && kdat_sp_settle(sp->obj.ia, kal_addr_port(address)))
		err = kdat_sp_renew(sp) ?: kdat_sp_listen_once(sp, address);
	return err;
}

/* All addresses of the RNIC; a host without IPv6 has no IPv6 wildcard. */
static int kdat_sp_listen_port(struct kdat_sp *sp, u16 port)
{
	struct sockaddr_storage address = { .ss_family = AF_INET6 };
	int err;

	kal_addr_set_port(&address, htons(port));
	err = kdat_sp_listen(sp, &address);
	if (err != -EAFNOSUPPORT && err != -EADDRNOTAVAIL)
		return err;
	address.ss_family = AF_INET;
	return kdat_sp_renew(sp) ?: kdat_sp_listen(sp, &address);
}

/* @in_use: what to answer if the port is taken */
static DAT_RETURN kdat_sp_listen_error(int err, DAT_RETURN_TYPE in_use)
{
	switch (err) {
	case -EADDRINUSE:
		return KDAT_ERROR(in_use, DAT_NO_SUBTYPE);
	case -EACCES:
	case -EPERM:
	/* a wildcard, but the RNIC's network device is in another namespace */
	case -EINVAL:
		return KDAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	default:
		return kdat_error_of_errno(err);
	}
}

/*
 * Listen, with the handle at *@handle, because a request may come, and name it, before the caller
 * has it; and the consumer may free that. On error the service point ends. @address: or NULL: all
 * addresses of the RNIC. *@port: without @address; 0: any free one; takes the actual one.
 */
static DAT_RETURN kdat_sp_open(struct kdat_sp *sp, const struct sockaddr_storage *address,
			       u16 *port, DAT_RETURN_TYPE in_use, DAT_HANDLE *handle)
{
	int err;

	*handle = sp;
	kdat_sp_get(sp);
	err = address ? kdat_sp_listen(sp, address) : kdat_sp_listen_port(sp, *port);
	if (!err && port)
		*port = ntohs(kal_addr_port(&sp->address));
	kdat_sp_put(sp);
	if (!err)
		return DAT_SUCCESS;
	*handle = NULL;
	kdat_sp_abandon(sp);
	return kdat_sp_listen_error(err, in_use);
}

/* The common part of both functions that make a PSP; *@port as kdat_sp_open() */
static DAT_RETURN kdat_sp_create_psp(struct kdat_ia *ia, u16 *port, DAT_EVD_HANDLE evd_handle,
				     DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	const DAT_RETURN_TYPE in_use = *port ? DAT_CONN_QUAL_IN_USE : DAT_CONN_QUAL_UNAVAILABLE;
	struct kdat_evd *evd = kdat_sp_evd(ia, evd_handle);
	struct kdat_sp *sp;
	DAT_RETURN error;

	if (!evd)
		return KDAT_BAD_HANDLE(EVD_CR);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return KDAT_BAD_ARG(4);
	if (!psp)
		return KDAT_BAD_ARG(5);
	if (!kdat_enter(ia))
		return KDAT_GONE;
	sp = kdat_sp_alloc(ia, KDAT_SP_PSP, evd);
	if (IS_ERR(sp)) {
		error = kdat_error_of_errno(PTR_ERR(sp));
	} else {
		sp->psp_flags = flags;
		error = kdat_sp_open(sp, NULL, port, in_use, psp);
	}
	kdat_leave(ia);
	return error;
}

static DAT_RETURN kdat_sp_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
				     DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
				     DAT_PSP_HANDLE *psp_handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	u16 port = conn_qual;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!conn_qual || conn_qual > U16_MAX)
		return KDAT_BAD_ARG(2);
	return kdat_sp_create_psp(ia, &port, evd_handle, flags, psp_handle);
}

static DAT_RETURN kdat_sp_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
					 DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
					 DAT_PSP_HANDLE *psp_handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	DAT_RETURN error;
	u16 port = 0;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!conn_qual)
		return KDAT_BAD_ARG(2);
	error = kdat_sp_create_psp(ia, &port, evd_handle, flags, psp_handle);
	if (error == DAT_SUCCESS)
		*conn_qual = port;
	return error;
}

static DAT_RETURN kdat_sp_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
				     DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
				     DAT_RSP_HANDLE *rsp_handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct kdat_evd *evd;
	u16 port = conn_qual;
	struct kdat_sp *sp;
	DAT_RETURN error;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!conn_qual || conn_qual > U16_MAX)
		return KDAT_BAD_ARG(2);
	if (!ep || ep->obj.ia != ia)
		return KDAT_BAD_HANDLE(EP);
	evd = kdat_sp_evd(ia, evd_handle);
	if (!evd)
		return KDAT_BAD_HANDLE(EVD_CR);
	if (!rsp_handle)
		return KDAT_BAD_ARG(5);
	if (!kdat_enter(ia))
		return KDAT_GONE;
	sp = kdat_sp_alloc(ia, KDAT_SP_RSP, evd);
	if (IS_ERR(sp)) {
		kdat_leave(ia);
		return kdat_error_of_errno(PTR_ERR(sp));
	}
	error = kdat_sp_reserve(sp, ep);
	if (error == DAT_SUCCESS) {
		error = kdat_sp_open(sp, NULL, &port, DAT_CONN_QUAL_IN_USE, rsp_handle);
	} else {
		*rsp_handle = NULL;
		kdat_sp_abandon(sp);
	}
	kdat_leave(ia);
	return error;
}

static DAT_RETURN kdat_sp_check_comm(const DAT_COMM *comm)
{
	if ((comm->domain != AF_INET && comm->domain != AF_INET6) || comm->type != SOCK_STREAM ||
	    (comm->protocol && comm->protocol != IPPROTO_TCP))
		return KDAT_ERROR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_sp_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
				     DAT_IA_ADDRESS_PTR address_ptr, DAT_EVD_HANDLE evd_handle,
				     DAT_CSP_HANDLE *csp_handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	struct sockaddr_storage address;
	struct kdat_evd *evd;
	struct kdat_sp *sp;
	DAT_RETURN error;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!comm)
		return KDAT_BAD_ARG(2);
	if (!address_ptr)
		return KDAT_BAD_ARG(3);
	evd = kdat_sp_evd(ia, evd_handle);
	if (!evd)
		return KDAT_BAD_HANDLE(EVD_CR);
	if (!csp_handle)
		return KDAT_BAD_ARG(5);
	error = kdat_sp_check_comm(comm);
	if (error != DAT_SUCCESS)
		return error;
	if (address_ptr->sa_family != comm->domain)
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	error = kdat_cm_address(address_ptr, true, &address);
	if (error != DAT_SUCCESS)
		return error;
	if (!kdat_enter(ia))
		return KDAT_GONE;
	sp = kdat_sp_alloc(ia, KDAT_SP_CSP, evd);
	if (IS_ERR(sp)) {
		kdat_leave(ia);
		return kdat_error_of_errno(PTR_ERR(sp));
	}
	sp->comm = *comm;
	error = kdat_sp_open(sp, &address, NULL, DAT_PORT_IN_USE, csp_handle);
	kdat_leave(ia);
	return error;
}

/* Query, free *************************************************************** */

static struct kdat_sp *kdat_sp_of(DAT_HANDLE handle, u32 type)
{
	struct kdat_sp *sp = kdat_obj(handle, type);

	/* the handle of an RSP ends with its request */
	return sp && !(type == DAT_HANDLE_TYPE_RSP && READ_ONCE(sp->used)) ? sp : NULL;
}

static DAT_RETURN kdat_sp_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK mask,
				    DAT_PSP_PARAM *param)
{
	struct kdat_sp *sp = kdat_sp_of(psp_handle, DAT_HANDLE_TYPE_PSP);

	if (!sp)
		return KDAT_BAD_HANDLE(PSP);
	if (mask & ~DAT_PSP_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	param->ia_handle = sp->obj.ia;
	param->conn_qual = ntohs(kal_addr_port(&sp->address));
	param->evd_handle = sp->evd;
	param->psp_flags = sp->psp_flags;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_sp_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK mask,
				    DAT_RSP_PARAM *param)
{
	struct kdat_sp *sp = kdat_sp_of(rsp_handle, DAT_HANDLE_TYPE_RSP);

	if (!sp)
		return KDAT_BAD_HANDLE(RSP);
	if (mask & ~DAT_RSP_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	param->ia_handle = sp->obj.ia;
	param->conn_qual = ntohs(kal_addr_port(&sp->address));
	param->evd_handle = sp->evd;
	param->ep_handle = READ_ONCE(sp->ep);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_sp_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK mask,
				    DAT_CSP_PARAM *param)
{
	struct kdat_sp *sp = kdat_sp_of(csp_handle, DAT_HANDLE_TYPE_CSP);

	if (!sp)
		return KDAT_BAD_HANDLE(CSP);
	if (mask & ~DAT_CSP_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	param->ia_handle = sp->obj.ia;
	param->comm = &sp->comm;
	param->address_ptr = (struct sockaddr *)&sp->address;
	param->evd_handle = sp->evd;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_sp_psp_free(DAT_PSP_HANDLE psp_handle)
{
	struct kdat_sp *sp = kdat_sp_of(psp_handle, DAT_HANDLE_TYPE_PSP);

	might_sleep();
	if (!sp)
		return KDAT_BAD_HANDLE(PSP);
	kdat_sp_destroy(sp);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_sp_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	struct kdat_sp *sp = kdat_sp_of(rsp_handle, DAT_HANDLE_TYPE_RSP);
	struct kdat_ia *ia;
	bool used;

	might_sleep();
	if (!sp)
		return KDAT_BAD_HANDLE(RSP);
	ia = sp->obj.ia;
	/* of a request and this, one is first */
	mutex_lock(&ia->mutex);
	used = sp->used;
	WRITE_ONCE(sp->used, true);
	mutex_unlock(&ia->mutex);
	if (used)
		return KDAT_BAD_HANDLE(RSP);
	kdat_sp_destroy(sp);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_sp_csp_free(DAT_CSP_HANDLE csp_handle)
{
	struct kdat_sp *sp = kdat_sp_of(csp_handle, DAT_HANDLE_TYPE_CSP);

	might_sleep();
	if (!sp)
		return KDAT_BAD_HANDLE(CSP);
	kdat_sp_destroy(sp);
	return DAT_SUCCESS;
}

static bool kdat_sp_serves(const struct kdat_sp *sp, const struct sockaddr_storage *local,
			   __be16 port)
{
	if (sp->used || sp->ending || kal_addr_port(&sp->address) != port)
		return false;
	if (kal_addr_any(&sp->address))
		return sp->address.ss_family == AF_INET6 || local->ss_family == AF_INET;
	return kal_addr_same(&sp->address, local);
}

struct kdat_sp *kdat_sp_find(struct kdat_ia *ia, const struct sockaddr_storage *local, __be16 port)
{
	static const u32 types[] = {
		DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_CSP, DAT_HANDLE_TYPE_RSP,
	};
	struct kdat_sp *sp, *found = NULL;
	struct kdat_obj *obj;
	unsigned int i;

	mutex_lock(&ia->mutex);
	for (i = 0; i < ARRAY_SIZE(types) && !found; i++) {
		list_for_each_entry(obj, &ia->objects[types[i]], node) {
			sp = container_of(obj, struct kdat_sp, obj);
			if (!kdat_sp_serves(sp, local, port))
				continue;
			found = sp;
			kdat_sp_get(sp);
			break;
		}
	}
	mutex_unlock(&ia->mutex);
	return found;
}

void kdat_sp_table(DAT_PROVIDER *provider)
{
	provider->psp_create_func = kdat_sp_psp_create;
	provider->psp_create_any_func = kdat_sp_psp_create_any;
	provider->psp_query_func = kdat_sp_psp_query;
	provider->psp_free_func = kdat_sp_psp_free;
	provider->rsp_create_func = kdat_sp_rsp_create;
	provider->rsp_query_func = kdat_sp_rsp_query;
	provider->rsp_free_func = kdat_sp_rsp_free;
	provider->csp_create_func = kdat_sp_csp_create;
	provider->csp_query_func = kdat_sp_csp_query;
	provider->csp_free_func = kdat_sp_csp_free;
}
