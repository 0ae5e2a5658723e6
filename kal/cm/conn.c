// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Start and end of the connection manager, and the module parameters that set its policy.
 * Called by main.c.
 */
#include <linux/moduleparam.h>
#include <krdma/uint_param.h>
#include <net/tcp.h>

#include "../core/core.h"
#include "cm.h"
#include "endpoint.h"
#include "mpa.h"
#include "llp.h"
#include "policy.h"

struct workqueue_struct *kal_conn_wq;

unsigned int kal_connect_timeout_ms = 10000;
module_param_named(connect_timeout_ms, kal_connect_timeout_ms, uint, 0644);
MODULE_PARM_DESC(connect_timeout_ms, "time for TCP to connect (default 10000)");

unsigned int kal_mpa_request_timeout_ms = 5000;
module_param_named(mpa_request_timeout_ms, kal_mpa_request_timeout_ms, uint, 0644);
MODULE_PARM_DESC(mpa_request_timeout_ms,
		 "time for a peer that connected to send its whole MPA Request (default 5000)");

unsigned int kal_mpa_reply_timeout_ms = 30000;
module_param_named(mpa_reply_timeout_ms, kal_mpa_reply_timeout_ms, uint, 0644);
MODULE_PARM_DESC(mpa_reply_timeout_ms,
		 "time for the peer to answer an MPA Request (default 30000)");

unsigned int kal_accept_timeout_ms = 60000;
module_param_named(accept_timeout_ms, kal_accept_timeout_ms, uint, 0644);
MODULE_PARM_DESC(accept_timeout_ms,
		 "time for the local consumer to accept or reject (default 60000)");

unsigned int kal_disconnect_timeout_ms = 30000;
module_param_named(disconnect_timeout_ms, kal_disconnect_timeout_ms, uint, 0644);
MODULE_PARM_DESC(disconnect_timeout_ms,
		 "time for posted work to leave after a graceful disconnect (default 30000)");

unsigned int kal_close_timeout_ms = 5000;
module_param_named(close_timeout_ms, kal_close_timeout_ms, uint, 0644);
MODULE_PARM_DESC(close_timeout_ms,
		 "time to discard input of a closed stream until the peer's FIN (default 5000)");

bool kal_mpa_markers;
module_param_named(mpa_markers, kal_mpa_markers, bool, 0644);
MODULE_PARM_DESC(mpa_markers,
		 "ask peers to send markers; a peer that asks for markers always gets them (default 0)");

unsigned int kal_mpa_revision = 2;
module_param_named(mpa_revision, kal_mpa_revision, uint, 0644);
MODULE_PARM_DESC(mpa_revision,
		 "MPA revision of our Requests, 1 or 2; both are always served (default 2)");

bool kal_mpa_fallback = true;
module_param_named(mpa_fallback, kal_mpa_fallback, bool, 0644);
MODULE_PARM_DESC(mpa_fallback,
		 "connect again with revision 1 when a peer ends the stream in place of a Reply (default 1)");

unsigned int kal_mpa_rtr = BIT(RI_RTR_WRITE) | BIT(RI_RTR_READ);
module_param_named(mpa_rtr, kal_mpa_rtr, uint, 0644);
MODULE_PARM_DESC(mpa_rtr,
		 "ready-to-receive frames: 2 Send, 4 Write, 8 Read; 0: client-server model (default 12)");

unsigned int kal_max_pending = 256;
module_param_named(max_pending, kal_max_pending, uint, 0644);
MODULE_PARM_DESC(max_pending,
		 "connections of one listener that its consumer has not been told of, with or without an MPA Request; one more evicts the oldest without a Request of the peer address that has most of those, or is refused if all have theirs (default 256)");

/* With any other value, TCP would silently refuse the setting when a connection is made. */
unsigned int kal_tcp_user_timeout_ms = 30000;
KRDMA_UINT_PARAM(tcp_user_timeout_ms, kal_tcp_user_timeout_ms, 0, INT_MAX);
MODULE_PARM_DESC(tcp_user_timeout_ms,
		 "time that sent data or a probe may stay unanswered; 0: TCP's own rule (default 30000)");

unsigned int kal_keepalive_time = 30;
KRDMA_UINT_PARAM(keepalive_time, kal_keepalive_time, 0, MAX_TCP_KEEPIDLE);
MODULE_PARM_DESC(keepalive_time,
		 "seconds of silence before a peer is probed; 0: never (default 30)");

unsigned int kal_keepalive_interval = 10;
KRDMA_UINT_PARAM(keepalive_interval, kal_keepalive_interval, 1, MAX_TCP_KEEPINTVL);
MODULE_PARM_DESC(keepalive_interval, "seconds between two probes (default 10)");

unsigned int kal_keepalive_probes = 3;
KRDMA_UINT_PARAM(keepalive_probes, kal_keepalive_probes, 1, MAX_TCP_KEEPCNT);
MODULE_PARM_DESC(keepalive_probes,
		 "unanswered probes that end a stream when tcp_user_timeout_ms is 0 (default 3)");

static const struct kal_conn_ops conn_core_ops = {
	.rnic_abort = kal_rnic_abort_eps,
	.qp_disconnect = kal_qp_disconnect,
	.qp_retire = kal_qp_retire,
};

unsigned int kal_conn_disconnect_timeout(void)
{
	return READ_ONCE(kal_disconnect_timeout_ms);
}
EXPORT_SYMBOL_GPL(kal_conn_disconnect_timeout);

unsigned int kal_conn_data_max(void)
{
	const struct kal_mpa_frame request = { .enhanced = READ_ONCE(kal_mpa_revision) > 1 };

	return kal_mpa_pd_max(&request);
}

/* Context: may sleep. Return: 0 or -ENOMEM. */
int kal_conn_init(void)
{
	int err;

	kal_ep_init();
	kal_conn_wq = alloc_workqueue("krdma_conn", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kal_conn_wq)
		return -ENOMEM;
	err = kal_listen_init();
	if (err) {
		destroy_workqueue(kal_conn_wq);
		return err;
	}
	kal_set_conn_ops(&conn_core_ops);
	return 0;
}

/*
 * Called when no RNIC and no endpoint is left. Ends the streams that still linger. Context:
 * may sleep.
 */
void kal_conn_exit(void)
{
	kal_listen_exit();
	kal_llp_exit();
	destroy_workqueue(kal_conn_wq);
}
