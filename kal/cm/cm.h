/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface of the connection manager for the other folders of the kAL. The endpoint
 * functions for consumers are in krdma/kal.h. The other headers of this folder are for the
 * connection manager's own files.
 */
#ifndef KAL_CM_H
#define KAL_CM_H

#include <krdma/kal.h>

/* conn.c */
int kal_conn_init(void);
void kal_conn_exit(void);
/* milliseconds that a graceful end may take */
unsigned int kal_conn_disconnect_timeout(void);

/* endpoint.c */
void kal_rnic_abort_attempts(struct ri_rnic *rnic, kal_ep_handler handler);

/* listen.c */
bool kal_rnic_has(struct ri_rnic *rnic, const struct net *net,
		  const struct sockaddr_storage *addr);
bool kal_rnic_owns(struct ri_rnic *rnic, const struct net *net,
		   const struct sockaddr_storage *addr);

#endif /* KAL_CM_H */
