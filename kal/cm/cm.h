/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface of the connection manager for the other folders of the kAL. The endpoint
 * functions for consumers are in krdma/kal.h. The other headers of this folder are for the
 * connection manager's own files.
 */
#ifndef KAL_CM_H
#define KAL_CM_H

#include <krdma/kal.h>

#include "../core/core.h"

/* conn.c */
int kal_conn_init(void);
void kal_conn_exit(void);
/* bytes of private data in the MPA revision that krdma begins with */
unsigned int kal_conn_data_max(void);

/* endpoint.c */
void kal_rnic_abort_attempts(struct ri_rnic *rnic, kal_ep_handler handler);

/**
 * struct kal_ep_view - an endpoint for the administrator
 * @rnic: RNIC; there as long as the endpoint
 * @owner: process that made it; there as long as the endpoint
 * @net: cookie of its namespace; 0: not known yet
 * @state: name of the state; NULL: neither a connection nor a listener
 * @listener: it is a listener
 * @local: own address; family 0: none, or not known
 * @remote: the peer's address, in the same way
 * @qp: number of the QP; 0: none
 */
struct kal_ep_view {
	const struct ri_rnic *rnic;
	const struct kal_owner *owner;
	u64 net;
	const char *state;
	bool listener;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 qp;
};

struct kal_ep *kal_ep_next(u32 *id);
void kal_ep_view_owner(const struct kal_ep *ep, struct kal_ep_view *view);
void kal_ep_view_state(struct kal_ep *ep, struct kal_ep_view *view, unsigned int *patience);

/* listen.c */
bool kal_rnic_has(struct ri_rnic *rnic, const struct net *net,
		  const struct sockaddr_storage *addr);

#endif /* KAL_CM_H */
