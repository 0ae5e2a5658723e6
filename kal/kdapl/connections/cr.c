// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Connection requests: the consumer's answers, and their end. sp.c makes them. */
#include <krdma/netstack.h>

#include "sp.h"

static struct kdat_cr *kdat_cr_of(DAT_CR_HANDLE handle)
{
	return kdat_obj(handle, DAT_HANDLE_TYPE_CR);
}

/*
 * The request has ended; nothing names it any more. The RNIC is held. @keep_ep: the EP has taken
 * the connection. Takes in *@rsp and *@ep what the caller has to destroy when the RNIC is not held.
 */
static void kdat_cr_finish(struct kdat_cr *cr, bool keep_ep, struct kdat_sp **rsp,
			   struct kdat_ep **made)
{
	struct kdat_ia *ia = cr->obj.ia;
	struct kdat_ep *ep;

	*made = NULL;
	mutex_lock(&ia->mutex);
	*rsp = cr->rsp;
	cr->rsp = NULL;
	ep = cr->ep;
	cr->ep = NULL;
	if (ep) {
		ep->cr = NULL;
		if (!keep_ep && cr->own_ep)
			*made = ep;
		else if (!keep_ep)
			kdat_sp_release_ep(ep);
	}
	mutex_unlock(&ia->mutex);
	kdat_obj_free(&cr->obj);
}

static void kdat_cr_destroy_rest(struct kdat_sp *rsp, struct kdat_ep *made)
{
	if (rsp)
		kdat_sp_destroy(rsp);
	if (made)
		kdat_ep_destroy(made);
}

void kdat_cr_drop(struct kdat_cr *cr)
{
	struct kal_ep *conn = xchg(&cr->conn, NULL);

	if (conn)
		kal_ep_destroy(conn);
}

void kdat_cr_destroy(struct kdat_cr *cr)
{
	struct kdat_ia *ia = cr->obj.ia;
	struct kdat_sp *rsp;
	struct kdat_ep *made;

	kdat_hold(ia);
	kdat_cr_drop(cr);
	kdat_cr_finish(cr, false, &rsp, &made);
	kdat_leave(ia);
	kdat_cr_destroy_rest(rsp, made);
}

static DAT_RETURN kdat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK mask,
				DAT_CR_PARAM *param)
{
	struct kdat_cr *cr = kdat_cr_of(cr_handle);

	if (!cr)
		return KDAT_BAD_HANDLE(CR);
	if (mask & ~DAT_CR_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	param->remote_ia_address_ptr = (struct sockaddr *)&cr->remote;
	param->remote_port_qual = ntohs(kal_addr_port(&cr->remote));
	param->private_data_size = cr->private_data_len;
	param->private_data = cr->private_data_len ? cr->private_data : NULL;
	param->local_ep_handle = READ_ONCE(cr->ep);
	return DAT_SUCCESS;
}

/* Choose the EP: the one of the service point, if there is one, else the consumer's. */
static DAT_RETURN kdat_cr_choose_ep(struct kdat_cr *cr, DAT_EP_HANDLE handle, struct kdat_ep **ep,
				    bool *tentative)
{
	struct kdat_ep *own;

	own = READ_ONCE(cr->ep);
	*tentative = own;
	*ep = own ?: kdat_ep_of(handle);
	if (!*ep || (own && handle && handle != own) || (*ep)->obj.ia != cr->obj.ia)
		return KDAT_BAD_HANDLE(EP);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
				 DAT_COUNT private_data_size, const void *private_data)
{
	struct kdat_cr *cr = kdat_cr_of(cr_handle);
	struct kdat_ep *made = NULL, *ep;
	struct kdat_sp *rsp = NULL;
	struct kal_ep *conn;
	struct kdat_ia *ia;
	DAT_RETURN error;
	bool tentative;

	might_sleep();
	if (!cr)
		return KDAT_BAD_HANDLE(CR);
	ia = cr->obj.ia;
	if (!kdat_enter(ia))
		return KDAT_GONE;
	error = kdat_cr_choose_ep(cr, ep_handle, &ep, &tentative);
	if (error == DAT_SUCCESS)
		error = kdat_cm_check_data(ia, private_data_size, private_data, KDAT_BAD_ARG(3),
					   KDAT_BAD_ARG(4));
	conn = error == DAT_SUCCESS ? xchg(&cr->conn, NULL) : NULL;
	if (error == DAT_SUCCESS && !conn)
		error = KDAT_BAD_HANDLE(CR);
	if (error != DAT_SUCCESS)
		goto out;
	/* the EP leaves the request before it can be reset and take another one, or is freed */
	kdat_cm_get(ep);
	error = kdat_cm_accept(ep, conn, tentative, private_data, private_data_size);
	if (error == DAT_SUCCESS)
		kdat_cr_finish(cr, true, &rsp, &made);
	else
		xchg(&cr->conn, conn);
	kdat_cm_put(ep);
out:
	kdat_leave(ia);
	kdat_cr_destroy_rest(rsp, made);
	return error;
}

static DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
				 const void *private_data)
{
	struct kdat_cr *cr = kdat_cr_of(cr_handle);
	struct kdat_ep *made = NULL;
	struct kdat_sp *rsp = NULL;
	DAT_RETURN error;
	struct kal_ep *conn;
	struct kdat_ia *ia;

	might_sleep();
	if (!cr)
		return KDAT_BAD_HANDLE(CR);
	ia = cr->obj.ia;
	if (!kdat_enter(ia)) {
		/* the peer has the answer; with this call the consumer gives the handle back */
		kdat_cr_destroy(cr);
		return DAT_SUCCESS;
	}
	error = kdat_cm_check_data(ia, private_data_size, private_data, KDAT_BAD_ARG(2),
				   KDAT_BAD_ARG(3));
	conn = error == DAT_SUCCESS ? xchg(&cr->conn, NULL) : NULL;
	if (error == DAT_SUCCESS && !conn)
		error = KDAT_BAD_HANDLE(CR);
	if (error != DAT_SUCCESS)
		goto out;
	/* a peer that has ended the connection needs no answer */
	if (kal_ep_reject(conn, private_data, private_data_size) == -EINVAL &&
	    kal_ep_undecided(conn)) {
		xchg(&cr->conn, conn);
		error = KDAT_BAD_ARG(2);
		goto out;
	}
	kal_ep_destroy(conn);
	kdat_cr_finish(cr, false, &rsp, &made);
out:
	kdat_leave(ia);
	kdat_cr_destroy_rest(rsp, made);
	return error;
}

static DAT_RETURN kdat_cr_handoff_error(int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -ENOBUFS:
		return KDAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	case -ECONNREFUSED:
		return KDAT_BAD_ARG(2);
	default:
		return KDAT_NO_MEMORY;
	}
}

static DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	struct kdat_cr *cr = kdat_cr_of(cr_handle);
	struct kdat_ep *made = NULL, *unneeded = NULL;
	struct kal_ep_event event;
	struct kdat_sp *rsp = NULL, *sp;
	struct kdat_ia *ia;
	DAT_RETURN error;
	int err;

	might_sleep();
	if (!cr)
		return KDAT_BAD_HANDLE(CR);
	if (!handoff || handoff > U16_MAX)
		return KDAT_BAD_ARG(2);
	ia = cr->obj.ia;
	if (!kdat_enter(ia))
		return KDAT_GONE;
	sp = kdat_sp_find(ia, &cr->local, htons(handoff));
	if (!sp) {
		kdat_leave(ia);
		return KDAT_BAD_ARG(2);
	}
	event = (struct kal_ep_event) {
		.type = KAL_EP_CONN_REQUEST,
		.child = xchg(&cr->conn, NULL),
		.local = &cr->local,
		.remote = &cr->remote,
		.private_data = cr->private_data,
		.private_data_len = cr->private_data_len,
		.ird = cr->ird,
		.ord = cr->ord,
	};
	if (event.child) {
		err = kdat_sp_deliver(sp, &event, false, &unneeded);
		error = kdat_cr_handoff_error(err);
		if (err)
			xchg(&cr->conn, event.child);
		else
			kdat_cr_finish(cr, false, &rsp, &made);
		if (!err && sp->kind == KDAT_SP_RSP)
			kdat_sp_end_listener(sp);
	} else {
		error = KDAT_BAD_HANDLE(CR);
	}
	kdat_sp_put(sp);
	kdat_leave(ia);
	kdat_cr_destroy_rest(rsp, made);
	if (unneeded)
		kdat_ep_destroy(unneeded);
	return error;
}

void kdat_cr_table(DAT_PROVIDER *provider)
{
	provider->cr_query_func = kdat_cr_query;
	provider->cr_accept_func = kdat_cr_accept;
	provider->cr_reject_func = kdat_cr_reject;
	provider->cr_handoff_func = kdat_cr_handoff;
}
