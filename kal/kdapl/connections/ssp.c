// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Socket service points of the iWARP extension: a connected TCP socket becomes an RDMA connection.
 * ext.c calls kdat_ssp_op() with the arguments of the functions in kdat.h.
 *
 * On the passive side an SSP is a service point (sp.c) with one connection, and reports its request
 * like any other. It keeps its handle until dat_iw_ssp_free(). On the active side the socket takes
 * the place of the address of an attempt (cm.c).
 */
#include "connections.h"

static struct kdat_sp *kdat_ssp_of(DAT_HANDLE handle)
{
	return kdat_obj(handle, DAT_IW_HANDLE_TYPE_SSP);
}

DAT_RETURN kdat_ssp_error(int err)
{
	switch (err) {
	case -EINVAL:
	case -ENOTCONN:
	case -EBUSY:
	case -EADDRNOTAVAIL:
		return KDAT_BAD_ARG(2);
	default:
		return kdat_error_of_errno(err);
	}
}

static DAT_RETURN kdat_ssp_create(DAT_IA_HANDLE ia_handle, DAT_IW_SOCKET sock,
				  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
				  const void *last, DAT_COUNT last_len,
				  DAT_IW_SSP_HANDLE *ssp_handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	DAT_RETURN error = DAT_SUCCESS;
	struct kdat_evd *evd;
	struct kdat_sp *sp;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!sock)
		return KDAT_BAD_ARG(2);
	if (ep_handle && (!ep || ep->obj.ia != ia))
		return KDAT_BAD_HANDLE(EP);
	evd = kdat_sp_evd(ia, evd_handle);
	if (!evd)
		return KDAT_BAD_HANDLE(EVD_CR);
	if (last_len < 0)
		return KDAT_BAD_ARG(6);
	if (last_len && !last)
		return KDAT_BAD_ARG(5);
	if (!ssp_handle)
		return KDAT_BAD_ARG(7);
	if (!kdat_enter(ia))
		return KDAT_GONE;
	sp = kdat_sp_alloc(ia, KDAT_SP_SSP, evd);
	if (IS_ERR(sp)) {
		kdat_leave(ia);
		return kdat_error_of_errno(PTR_ERR(sp));
	}
	sp->sock = sock;
	if (ep)
		error = kdat_sp_reserve(sp, ep);
	if (error == DAT_SUCCESS) {
		/* the request may come before this returns, and name the SSP */
		*ssp_handle = sp;
		kdat_sp_get(sp);
		error = kdat_ssp_error(kal_ep_listen_socket(sp->listener, sock, last, last_len));
		kdat_sp_put(sp);
	}
	if (error != DAT_SUCCESS) {
		*ssp_handle = NULL;
		kdat_sp_abandon(sp);
	}
	kdat_leave(ia);
	return error;
}

static DAT_RETURN kdat_ssp_free(DAT_IW_SSP_HANDLE ssp_handle)
{
	struct kdat_sp *sp = kdat_ssp_of(ssp_handle);

	might_sleep();
	if (!sp)
		return KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	kdat_sp_destroy(sp);
	return DAT_SUCCESS;
}

/*
 * An SSP is operational until its request has come, the time for it has passed, or the peer has
 * ended the connection.
 */
static DAT_RETURN kdat_ssp_query(DAT_IW_SSP_HANDLE ssp_handle, DAT_IW_SSP_PARAM_MASK mask,
				 DAT_IW_SSP_PARAM *param)
{
	struct kdat_sp *sp = kdat_ssp_of(ssp_handle);

	if (!sp)
		return KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (mask & ~DAT_IW_SSP_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	param->ia_handle = sp->obj.ia;
	param->socket_id = sp->sock;
	param->evd_handle = sp->evd;
	param->ep_handle = READ_ONCE(sp->ep);
	param->ssp_state = DAT_IW_SSP_STATE_NON_OPERATIONAL;
	if (kdat_enter_atomic(sp->obj.ia)) {
		const struct kal_ep *listener = READ_ONCE(sp->listener);

		if (!READ_ONCE(sp->used) && listener && kal_ep_expects(listener))
			param->ssp_state = DAT_IW_SSP_STATE_OPERATIONAL;
		kdat_leave_atomic(sp->obj.ia);
	}
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_ssp_connect(DAT_EP_HANDLE ep_handle, DAT_IW_SOCKET sock,
				   DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				   const void *private_data)
{
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct kdat_cm_open open = {
		.sock = sock,
		.timeout = timeout,
		.qos = DAT_QOS_BEST_EFFORT,
	};

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (!sock)
		return KDAT_BAD_ARG(2);
	return kdat_cm_connect(ep, &open, private_data_size, private_data, KDAT_BAD_ARG(4),
			       KDAT_BAD_ARG(5));
}

DAT_RETURN kdat_ssp_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DAT_IW_SSP_PARAM_MASK mask;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
	DAT_IW_SOCKET sock;
	DAT_TIMEOUT timeout;
	const void *data;
	DAT_COUNT len;

	switch ((int)op) {
	case DAT_IW_SSP_CREATE_OP:
		sock = va_arg(args, DAT_IW_SOCKET);
		ep_handle = va_arg(args, DAT_EP_HANDLE);
		evd_handle = va_arg(args, DAT_EVD_HANDLE);
		data = va_arg(args, const void *);
		len = va_arg(args, DAT_COUNT);
		return kdat_ssp_create(handle, sock, ep_handle, evd_handle, data, len,
				       va_arg(args, DAT_IW_SSP_HANDLE *));
	case DAT_IW_SSP_FREE_OP:
		return kdat_ssp_free(handle);
	case DAT_IW_SSP_QUERY_OP:
		mask = va_arg(args, DAT_IW_SSP_PARAM_MASK);
		return kdat_ssp_query(handle, mask, va_arg(args, DAT_IW_SSP_PARAM *));
	case DAT_IW_SOCKET_CONNECT_OP:
		sock = va_arg(args, DAT_IW_SOCKET);
		timeout = va_arg(args, DAT_TIMEOUT);
		len = va_arg(args, DAT_COUNT);
		return kdat_ssp_connect(handle, sock, timeout, len, va_arg(args, const void *));
	default:
		return KDAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	}
}
