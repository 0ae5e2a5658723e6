/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL's endpoints, connections and service points.
 *
 * - ep.c, ep_attr.c, ep_qp.c: endpoints: creation, configuration, end
 * - cm.c, sp.c, cr.c, ssp.c: connections, service points, requests, connected sockets
 */
#ifndef KDAT_CONNECTIONS_H
#define KDAT_CONNECTIONS_H

#include "../transfers/transfers.h"

/* ep.c */
/**
 * struct kdat_ep_limits - what the attributes of an endpoint may be at most
 * @dtos: requests, or receives
 * @recv_iov: segments of a receive
 * @request_iov: segments of a Send or a Write
 * @read_iov: segments of a Read
 * @reads_in: Reads of the peer at once
 * @reads_out: Reads at once
 */
struct kdat_ep_limits {
	DAT_COUNT dtos;
	DAT_COUNT recv_iov;
	DAT_COUNT request_iov;
	DAT_COUNT read_iov;
	DAT_COUNT reads_in;
	DAT_COUNT reads_out;
};

/* The RNIC is held. */
struct kdat_ep_limits kdat_ep_limits(const struct ri_rnic *rnic);
/* Change the state; ep->mutex held. */
void kdat_ep_set_state(struct kdat_ep *ep, DAT_EP_STATE state);
/* What dat_ep_create() does, for endpoints that a PSP provides, too. The RNIC is held. */
DAT_RETURN kdat_ep_make(struct kdat_ia *ia, struct kdat_pz *pz, struct kdat_evd *recv,
			struct kdat_evd *request, struct kdat_evd *connect, struct kdat_srq *srq,
			const DAT_EP_ATTR *attr, struct kdat_ep **ep);
/* End whatever is under way and free; allowed in every state. May sleep. */
void kdat_ep_destroy(struct kdat_ep *ep);
/* The RNIC is removed: end the connection, destroy the queue pair. May sleep. */
void kdat_ep_drop_qp(struct kdat_ep *ep);

/** enum kdat_sp_kind - kinds of service points */
enum kdat_sp_kind {
	KDAT_SP_PSP,
	KDAT_SP_RSP,
	KDAT_SP_CSP,
	KDAT_SP_SSP,
};

/**
 * struct kdat_sp - service point
 * @obj: head, type DAT_HANDLE_TYPE_PSP, _RSP, _CSP or DAT_IW_HANDLE_TYPE_SSP
 * @kind: kind
 * @evd: for connection requests
 * @listener: endpoint of the kAL, NULL: ended
 * @address: that it listens on
 * @psp_flags: of a PSP
 * @comm: of a CSP
 * @ep: that an RSP or SSP reserved, until its request comes; kdat_ia.mutex
 * @spare: endpoint that a PSP made for a request which could not be reported
 * @sock: socket of an SSP as the consumer names it
 * @used: an RSP or SSP had its request; of an RSP there is no handle any more. kdat_ia.mutex
 * @ending: no call begins to use it any more; kdat_ia.mutex
 * @calls: calls that use it now; its end waits for them
 * @end: ends the listener of a used RSP
 */
struct kdat_sp {
	struct kdat_obj obj;
	enum kdat_sp_kind kind;
	struct kdat_evd *evd;
	struct kal_ep *listener;
	struct sockaddr_storage address;
	DAT_PSP_FLAGS psp_flags;
	DAT_COMM comm;
	struct kdat_ep *ep;
	struct kdat_ep *spare;
	struct socket *sock;
	bool used;
	bool ending;
	atomic_t calls;
	struct work_struct end;
};

/**
 * struct kdat_cr - connection request
 * @obj: head, type DAT_HANDLE_TYPE_CR
 * @rsp: used RSP, which ends with the request; or NULL. kdat_ia.mutex
 * @conn: endpoint of the kAL; NULL: accepted, rejected or ended
 * @ep: endpoint that the service point gave, or NULL; kdat_ia.mutex
 * @own_ep: a PSP made @ep
 * @local: own address
 * @remote: the peer's
 * @ird: reads that the peer asks for
 * @ord: reads that the peer allows
 * @private_data_len: bytes
 * @private_data: of the request
 */
struct kdat_cr {
	struct kdat_obj obj;
	struct kdat_sp *rsp;
	struct kal_ep *conn;
	struct kdat_ep *ep;
	bool own_ep;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u16 ird;
	u16 ord;
	u16 private_data_len;
	u8 private_data[RI_PRIVATE_DATA_MAX];
};

/* sp.c, cr.c */
void kdat_sp_destroy(struct kdat_sp *sp);
void kdat_sp_drop(struct kdat_sp *sp);		/* RNIC is removed: end the listener */
void kdat_cr_destroy(struct kdat_cr *cr);
void kdat_cr_drop(struct kdat_cr *cr);		/* RNIC is removed: end the request */
/* The endpoint ends: no service point and no request names it any more. */
void kdat_sp_forget_ep(struct kdat_ep *ep);
/* Make a service point, and take an EP for it if there is one; the RNIC is held. */
struct kdat_sp *kdat_sp_alloc(struct kdat_ia *ia, enum kdat_sp_kind kind, struct kdat_evd *evd);
DAT_RETURN kdat_sp_reserve(struct kdat_sp *sp, struct kdat_ep *ep);
/* Take the alloc and the reservation back; no handle was given out. The RNIC is held. */
void kdat_sp_abandon(struct kdat_sp *sp);
/* A call uses the service point, though the consumer may end it meanwhile. */
void kdat_sp_get(struct kdat_sp *sp);
void kdat_sp_put(struct kdat_sp *sp);
/* EVD of @ia for connection requests, or NULL */
struct kdat_evd *kdat_sp_evd(struct kdat_ia *ia, DAT_EVD_HANDLE handle);

/* cm.c */

/*
 * For work that the consumer's calls wait for, also those in upcalls. It has a rescuer because the
 * upcalls' workqueue has one, and it is another one because that may be full of such upcalls.
 */
extern struct workqueue_struct *kdat_cm_wq;
int kdat_cm_wq_init(void);
void kdat_cm_wq_exit(void);
/* See kdat_obj_ops.ready(). */
void kdat_cm_ready(struct kdat_ep *ep, DAT_RETURN error);

/**
 * struct kdat_cm_open - what a connection attempt needs
 * @remote: the peer
 * @sock: connected socket, or NULL
 * @timeout: in microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data: for the peer
 * @private_data_len: its length in bytes
 * @qos: quality of service
 */
struct kdat_cm_open {
	struct sockaddr_storage remote;
	struct socket *sock;
	DAT_TIMEOUT timeout;
	const void *private_data;
	u16 private_data_len;
	DAT_QOS qos;
};

/* Set up the part of a new endpoint that is cm.c's. */
void kdat_cm_init(struct kdat_ep *ep);
/* A call uses the endpoint, though the consumer may reset or free it: kdat_cm_end() waits. */
void kdat_cm_get(struct kdat_ep *ep);
void kdat_cm_put(struct kdat_ep *ep);
/*
 * May the consumer send so much private data? @bad_size and @bad_data: the answers if not. The RNIC
 * is held.
 */
DAT_RETURN kdat_cm_check_data(struct kdat_ia *ia, DAT_COUNT size, const void *private_data,
			      DAT_RETURN bad_size, DAT_RETURN bad_data);
/* Start an attempt. @open has all but the private data. May sleep. */
DAT_RETURN kdat_cm_connect(struct kdat_ep *ep, struct kdat_cm_open *open, DAT_COUNT size,
			   const void *private_data, DAT_RETURN bad_size, DAT_RETURN bad_data);
/*
 * Accept @conn for @ep; @tentative: which was tentative for it. DAT_SUCCESS: one event of @ep
 * reports the result. Else the request still waits. The RNIC is held.
 */
DAT_RETURN kdat_cm_accept(struct kdat_ep *ep, struct kal_ep *conn, bool tentative,
			  const void *private_data, u16 private_data_len);
/* Check and copy a consumer's address; an IPv4-mapped one becomes IPv4. @any: wildcard is fine */
DAT_RETURN kdat_cm_address(const struct sockaddr *from, bool any, struct sockaddr_storage *to);
/* Is it one of the values of DAT_QOS? */
bool kdat_cm_qos_valid(DAT_QOS qos);
/*
 * End the connection of @ep, if there is one; no event of it comes after the return. Before the
 * return one comes only if the RNIC is removed. The endpoint leaves its service point or request.
 * Before the queue pair is reset or destroyed, with the RNIC held, without kdat_ia.mutex and
 * ep->mutex. May sleep.
 */
void kdat_cm_end(struct kdat_ep *ep);

/* ssp.c */
/* What dat_iw_*() answers for an error of a call of the kAL with a socket, its second argument */
DAT_RETURN kdat_ssp_error(int err);
/* operations of the iWARP extension, for ext.c */
DAT_RETURN kdat_ssp_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

/* The start of the module, and its end. */
int kdat_connections_init(void);
void kdat_connections_exit(void);
void kdat_ep_table(DAT_PROVIDER *provider);
void kdat_cm_table(DAT_PROVIDER *provider);
void kdat_sp_table(DAT_PROVIDER *provider);
void kdat_cr_table(DAT_PROVIDER *provider);

#endif /* KDAT_CONNECTIONS_H */
