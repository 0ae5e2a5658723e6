// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Connections that an RNIC makes itself (RI_CAP_LLP_OFFLOAD). The actions of the state table call
 * the RNIC's connection operations. The RNIC reports results and ends by the ri_conn_*() upcalls.
 *
 * An upcall takes no endpoint's lock. It notes the report in the struct ri_conn and signals the
 * endpoint; the endpoint's lane turns the report into an input of the table. Called by
 * endpoint.c, ep_table.c, lanes.c and providers.
 */
#include <linux/cleanup.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>

#include "../core/core.h"
#include "endpoint.h"

/* bits of ri_conn.outcome */
#define OFFLOAD_MADE	BIT(0)
#define OFFLOAD_ENDED	BIT(1)

static const struct ri_ops *offload_ops(const struct kal_ep *ep)
{
	return ep->rnic->ops;
}

/* Allocate the connection of a new endpoint. Return: 0 or -ENOMEM. */
int kal_offload_alloc(struct kal_ep *ep, gfp_t gfp)
{
	struct ri_conn *conn = kzalloc(offload_ops(ep)->size_conn, gfp);

	if (!conn)
		return -ENOMEM;
	conn->rnic = ep->rnic;
	conn->ep = ep;
	spin_lock_init(&conn->lock);
	ep->conn = conn;
	return 0;
}

/*
 * End the connection, if there is one. Before DEAD with the endpoint's lock held, or when no other
 * thread knows the endpoint. May sleep.
 */
void kal_offload_free(struct kal_ep *ep)
{
	struct ri_conn *conn = ep->conn;

	if (!conn)
		return;
	offload_ops(ep)->conn_destroy(conn);
	ep->conn = NULL;
	kfree(conn);
}

/* The reports ************************************************************** */

static void offload_report(struct ri_conn *conn, unsigned int outcome, int status)
{
	scoped_guard(spinlock_irqsave, &conn->lock) {
		if (conn->outcome & outcome)
			return;
		conn->outcome |= outcome;
		if (outcome == OFFLOAD_MADE)
			conn->made = status;
		else
			conn->ended = status;
	}
	kal_ep_notify(conn->ep);
}

void ri_conn_established(struct ri_conn *conn, int status)
{
	offload_report(conn, OFFLOAD_MADE, status);
}
EXPORT_SYMBOL_GPL(ri_conn_established);

void ri_conn_closed(struct ri_conn *conn, int status)
{
	offload_report(conn, OFFLOAD_ENDED, status);
}
EXPORT_SYMBOL_GPL(ri_conn_closed);

struct ri_conn *ri_conn_new_child(struct ri_conn *listener)
{
	struct kal_ep *ep = kal_ep_new_child(listener->ep);

	return IS_ERR(ep) ? ERR_CAST(ep) : ep->conn;
}
EXPORT_SYMBOL_GPL(ri_conn_new_child);

void ri_conn_request(struct ri_conn *listener, struct ri_conn *child)
{
	kal_ep_request(listener->ep, child->ep);
}
EXPORT_SYMBOL_GPL(ri_conn_request);

void ri_conn_drop_child(struct ri_conn *child)
{
	struct kal_ep *ep = child->ep;

	ep->conn = NULL;
	kfree(child);
	kal_ep_drop_child(ep);
}
EXPORT_SYMBOL_GPL(ri_conn_drop_child);

/* Turn what the RNIC reported into inputs. Endpoint's lock held. */
void kal_offload_look(struct kal_ep *ep)
{
	struct ri_conn *conn = ep->conn;
	unsigned int outcome;
	int made;

	scoped_guard(spinlock_irqsave, &conn->lock) {
		outcome = conn->outcome;
		made = conn->made;
	}
	if (outcome & OFFLOAD_MADE &&
	    (ep->state == KAL_EP_CONNECTING || ep->state == KAL_EP_ACCEPTING))
		kal_ep_step(ep, made ? KAL_EP_IN_CONN_DOWN : KAL_EP_IN_CONN_UP);
	if (outcome & OFFLOAD_ENDED)
		kal_ep_step(ep, KAL_EP_IN_CONN_DOWN);
}

/* Listeners **************************************************************** */

/* IN_LISTEN */
int kal_offload_listen(struct kal_ep *ep)
{
	const struct kal_ep_listen_arg *arg = ep->arg;
	const struct ri_listen_param param = {
		.net = arg->param->net ?: current->nsproxy->net_ns,
		.local = arg->local,
		.backlog = max(arg->param->backlog, 1),
		.v6only = arg->param->v6only,
		.tos_set = arg->param->tos_set,
		.tos = arg->param->tos,
		/* listeners of the kernel's consumers are charged to nobody */
		.users = arg->param->memcg,
	};

	if (arg->param->port)
		return -EOPNOTSUPP;
	return offload_ops(ep)->conn_listen(ep->conn, &param);
}

/* IN_DELIVER */
int kal_offload_deliver(struct kal_ep *ep)
{
	const struct ri_conn_info *info = &ep->conn->info;
	struct kal_ep *parent = ep->parent;
	struct kal_ep_event event = {
		.type = KAL_EP_CONN_REQUEST,
		.child = ep,
		.private_data = info->private_data,
		.private_data_len = info->private_data_len,
		.ird = info->ird,
		.ord = info->ord,
	};
	int err = -ECONNABORTED;

	/* the addresses are the child's, the handler is the listener's */
	if (parent->state == KAL_EP_LISTENING)
		err = kal_ep_report_request(parent, ep, &event);
	if (err)
		offload_ops(ep)->conn_reject(ep->conn, NULL, 0);
	else
		kal_pending_remove(ep);
	return err;
}

/* IN_ACCEPT; kal_ep_accept() has attached the QP */
int kal_offload_accept(struct kal_ep *ep)
{
	const struct kal_ep_open_arg *arg = ep->arg;
	const struct ri_conn_param param = {
		.private_data = arg->param->private_data,
		.private_data_len = arg->param->private_data_len,
		.ird = arg->param->ird,
		.ord = arg->param->ord,
		.tos_set = arg->param->tos_set,
		.tos = arg->param->tos,
		.timeout_ms = READ_ONCE(kal_connect_timeout_ms),
	};

	kal_ep_arm(ep, &kal_mpa_reply_timeout_ms);
	return offload_ops(ep)->conn_accept(ep->conn, ep->qp, &param);
}

/* IN_REJECT */
int kal_offload_reject(struct kal_ep *ep)
{
	const struct kal_ep_reject_arg *arg = ep->arg;

	return offload_ops(ep)->conn_reject(ep->conn, arg->private_data, arg->len);
}

/* The consumer does not want the request, or its RNIC is removed. */
int kal_offload_refuse(struct kal_ep *ep)
{
	offload_ops(ep)->conn_reject(ep->conn, NULL, 0);
	return 0;
}

/* IN_CONN_UP in ACCEPTING */
int kal_offload_accepted(struct kal_ep *ep)
{
	struct kal_ep_event event = {
		.type = KAL_EP_ESTABLISHED,
		.ird = ep->conn->info.ird,
		.ord = ep->conn->info.ord,
	};

	ep->deadline = 0;
	kal_count(ep->rnic, KAL_CNT_CONN_ESTABLISHED);
	kal_ep_report(ep, &event);
	return 0;
}

/* IN_FAIL in ACCEPTING: the peer or the network ended what the consumer had accepted. */
int kal_offload_report_unaccepted(struct kal_ep *ep)
{
	struct kal_ep_event event = {
		.type = KAL_EP_ESTABLISHED,
		.status = ep->error,
	};

	kal_ep_free_qp(ep);
	kal_ep_report(ep, &event);
	return 0;
}

/* Active side ************************************************************** */

/* A time limit, at most the consumer's. */
static unsigned int offload_timeout(const struct kal_conn_param *param, const unsigned int *limit)
{
	return min(param->timeout_ms ?: UINT_MAX, READ_ONCE(*limit));
}

/* IN_CONNECT */
int kal_offload_connect(struct kal_ep *ep)
{
	const struct kal_ep_open_arg *arg = ep->arg;
	const struct ri_conn_param param = {
		.net = arg->param->net ?: current->nsproxy->net_ns,
		.local = arg->local,
		.remote = arg->remote,
		.private_data = arg->param->private_data,
		.private_data_len = arg->param->private_data_len,
		.ird = arg->param->ird,
		.ord = arg->param->ord,
		.tos_set = arg->param->tos_set,
		.tos = arg->param->tos,
		.timeout_ms = offload_timeout(arg->param, &kal_connect_timeout_ms),
	};
	const unsigned int reply_ms = offload_timeout(arg->param, &kal_mpa_reply_timeout_ms);
	int err;

	if (arg->local->ss_family && arg->local->ss_family != arg->remote->ss_family)
		return -EINVAL;
	if (param.private_data_len > ep->rnic->attr.max_connect_data)
		return -EINVAL;
	if (arg->param->port)
		return -EOPNOTSUPP;
	err = kal_ep_attach_qp(ep, arg->qp);
	if (err)
		return err;
	kal_count(ep->rnic, KAL_CNT_CONN_ACTIVE);
	ep->conn->info.local = *arg->local;
	ep->conn->info.remote = *arg->remote;
	/* finding the peer, and the peer's answer */
	kal_ep_arm(ep, &reply_ms);
	return offload_ops(ep)->conn_connect(ep->conn, ep->qp, &param);
}

static void offload_report_reply(struct kal_ep *ep, int status)
{
	const struct ri_conn_info *info = &ep->conn->info;
	/* with data, if only of length 0: the peer's consumer has answered */
	const bool answered = !status || info->rejected;
	struct kal_ep_event event = {
		.type = KAL_EP_CONN_REPLY,
		.status = status,
		.private_data = answered ? info->private_data : NULL,
		.private_data_len = answered ? info->private_data_len : 0,
		.ird = status ? 0 : info->ird,
		.ord = status ? 0 : info->ord,
	};

	kal_ep_report(ep, &event);
}

/* IN_CONN_UP in CONNECTING */
int kal_offload_connected(struct kal_ep *ep)
{
	ep->deadline = 0;
	kal_count(ep->rnic, KAL_CNT_CONN_ESTABLISHED);
	offload_report_reply(ep, 0);
	return 0;
}

/* IN_FAIL in CONNECTING */
int kal_offload_report_failure(struct kal_ep *ep)
{
	kal_ep_free_qp(ep);
	offload_report_reply(ep, ep->error);
	return 0;
}

/* Ends ********************************************************************* */

/* IN_CONN_DOWN before CONNECTED */
int kal_offload_down(struct kal_ep *ep)
{
	return ep->conn->made ?: ep->conn->ended ?: -ECONNRESET;
}

/* IN_CONN_DOWN from CONNECTED on */
int kal_offload_closed(struct kal_ep *ep)
{
	struct kal_ep_event event = {
		.type = KAL_EP_CLOSED,
		.status = ep->conn->ended,
	};

	kal_count(ep->rnic, event.status ? KAL_CNT_CONN_RESET : KAL_CNT_CONN_CLOSED);
	kal_ep_free_qp(ep);
	kal_ep_report(ep, &event);
	return 0;
}

/* The consumer ends the connection gracefully. */
int kal_offload_disconnect(struct kal_ep *ep)
{
	offload_ops(ep)->conn_disconnect(ep->conn, false);
	return 0;
}

/*
 * The connection ends at once; the state is DEAD on return. The end is ours before the RNIC, whose
 * report of the same end may come at any time from then on, can call it a graceful one.
 */
int kal_offload_kill(struct kal_ep *ep)
{
	ri_conn_closed(ep->conn, -ECONNABORTED);
	offload_ops(ep)->conn_disconnect(ep->conn, true);
	kal_ep_step(ep, KAL_EP_IN_CONN_DOWN);
	return KAL_EP_STAY;
}
