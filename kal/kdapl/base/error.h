/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Errors of the kernel and of RNICs in DAT's terms. Pure: tests/unit runs it in user space. */
#ifndef KDAT_ERROR_H
#define KDAT_ERROR_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include <krdma/kdat.h>

/* dat_strerror(), not exported */
DAT_RETURN kdat_error_names(DAT_RETURN ret, const char **major_message, const char **minor_message);

/**
 * kdat_error_of_errno() - turn an errno of the kAL into a return code
 * @err: 0 or a negative errno
 *
 * -EADDRINUSE is DAT_CONN_QUAL_IN_USE; for a CSP the caller answers DAT_PORT_IN_USE instead.
 * -EINVAL has no subtype, because the errno does not name the argument.
 *
 * Return: DAT_SUCCESS or an error. Context: any.
 */
DAT_RETURN kdat_error_of_errno(int err);

/**
 * kdat_error_of_resource() - turn the errno of a call that makes or changes an object
 * @err: 0 or a negative errno
 * @resource: DAT_RESOURCE_*: what there is not enough of, if @err says nothing else
 *
 * Return: DAT_SUCCESS or an error. Context: any.
 */
DAT_RETURN kdat_error_of_resource(int err, DAT_RETURN_SUBTYPE resource);

/**
 * kdat_error_dto_status() - turn a completion's status into DAT's
 * @status: status of the completion
 * @op: operation, a DAT_IB_DTOS too
 *
 * Return: status. Context: any.
 */
DAT_DTO_COMPLETION_STATUS kdat_error_dto_status(enum ib_wc_status status, DAT_DTOS op);

/**
 * kdat_error_conn_event() - choose the connection event of a failed connect
 * @status: negative errno, kal_ep_event.status of KAL_EP_CONN_REPLY
 * @has_private_data: kal_ep_event.private_data is not NULL, of whatever length
 *
 * -ECONNREFUSED comes from a TCP reset (no listener) and from an MPA Reply that rejects. Only a
 * Reply has private data, maybe of no bytes: so private data says that the peer's consumer has
 * rejected. An RNIC that makes connections itself may leave out the pointer to an empty one: such a
 * rejection looks like a reset.
 *
 * Return: DAT_CONNECTION_EVENT_*. Context: any.
 */
DAT_EVENT_NUMBER kdat_error_conn_event(int status, bool has_private_data);

#endif /* KDAT_ERROR_H */
