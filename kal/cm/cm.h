/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Connections: what the rest of the kAL calls, and the policy (module
 * parameters, documented in conn.c) that the connection files share.
 */
#ifndef KAL_CM_H
#define KAL_CM_H

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include <krdma/kal.h>

int kal_conn_init(void);
void kal_conn_exit(void);

/* ends every endpoint of @rnic; each has reported so on return. May sleep. */
void kal_rnic_abort_eps(struct ri_rnic *rnic);
void kal_rnic_abort_attempts(struct ri_rnic *rnic, kal_ep_handler handler);

/* crc_policy.c */
bool kal_crc_wanted(const struct sockaddr_storage *peer);

/* one work item for each endpoint, listener and lingering stream */
extern struct workqueue_struct *kal_conn_wq;

extern unsigned int kal_connect_timeout_ms;
extern unsigned int kal_mpa_request_timeout_ms;
extern unsigned int kal_mpa_reply_timeout_ms;
extern unsigned int kal_accept_timeout_ms;
extern unsigned int kal_disconnect_timeout_ms;
extern unsigned int kal_close_timeout_ms;
extern unsigned int kal_mpa_revision;
extern unsigned int kal_mpa_rtr;
extern unsigned int kal_max_pending;
extern unsigned int kal_tcp_user_timeout_ms;
extern unsigned int kal_keepalive_time;
extern unsigned int kal_keepalive_interval;
extern unsigned int kal_keepalive_probes;
extern bool kal_mpa_markers;
extern bool kal_mpa_fallback;

/* a time-out parameter as jiffies, at least one */
static inline unsigned long kal_ms(const unsigned int *param)
{
	return msecs_to_jiffies(READ_ONCE(*param)) ?: 1;
}

#endif /* KAL_CM_H */
