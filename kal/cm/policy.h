/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The module parameters of the connection manager (documented in conn.c), and the workqueue
 * that its files share.
 */
#ifndef KAL_CM_POLICY_H
#define KAL_CM_POLICY_H

#include <linux/jiffies.h>
#include <linux/socket.h>
#include <linux/workqueue.h>

/* crc_policy.c */
bool kal_crc_wanted(const struct sockaddr_storage *peer);

/* not ordered; one work item for each lane, each listener and each lingering stream */
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

/* convert a timeout parameter to jiffies, at least one */
static inline unsigned long kal_ms(const unsigned int *param)
{
	return msecs_to_jiffies(READ_ONCE(*param)) ?: 1;
}

#endif /* KAL_CM_POLICY_H */
