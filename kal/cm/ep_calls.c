// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The consumer's calls that are inputs of an endpoint, and the events that it gets. */
#include <linux/cleanup.h>
#include <linux/memcontrol.h>
#include <net/net_namespace.h>
#include <krdma/compat.h>

#include "../core/core.h"
#include "endpoint.h"
#include "trace.h"

/* The consumer's namespace, for an RNIC that is in several. Endpoint's lock held. */
static void ep_note_net(struct kal_ep *ep, const struct net *net)
{
	if (!ep->net)
		WRITE_ONCE(ep->net, (net ?: current->nsproxy->net_ns)->net_cookie);
}

/* Call the consumer's handler, with the endpoint's lock held. Return: the handler's result. */
int kal_ep_report(struct kal_ep *ep, struct kal_ep_event *event)
{
	const struct kal_startup *su = ep->startup;

	if (ep->conn) {
		event->local = &ep->conn->info.local;
		event->remote = &ep->conn->info.remote;
	} else if (ep->llp) {
		event->local = &ep->llp->ri.local;
		event->remote = &ep->llp->ri.remote;
	} else if (su) {
		event->local = &su->from;
		event->remote = &su->to;
	}
	trace_ep_event(ep, event);
	return ep->handler(ep, ep->context, event);
}

/*
 * Report the request of @child, with its addresses, to the consumer of @parent. The parent's lock
 * is held.
 */
int kal_ep_report_request(struct kal_ep *parent, const struct kal_ep *child,
			  struct kal_ep_event *event)
{
	event->local = &child->conn->info.local;
	event->remote = &child->conn->info.remote;
	trace_ep_event(parent, event);
	return parent->handler(parent, parent->context, event);
}

static int ep_call_locked(struct kal_ep *ep, enum kal_ep_input input, const void *arg)
{
	int err;

	if (ep->state == KAL_EP_DEAD)
		return ep->error ?: -ENOTCONN;
	ep->arg = arg;
	err = kal_ep_step(ep, input);
	ep->arg = NULL;
	return err;
}

/* Copy an address. Return: 0, or -EAFNOSUPPORT if TCP does not run on its family. */
static int ep_copy_sockaddr(struct sockaddr_storage *to, const struct sockaddr *from)
{
	int len;

	memset(to, 0, sizeof(*to));
	to->ss_family = from->sa_family;
	len = kal_sockaddr_len(to);
	if (!len)
		return -EAFNOSUPPORT;
	memcpy(to, from, len);
	return 0;
}

static int ep_listen(struct kal_ep *ep, const struct kal_ep_listen_arg *arg,
		     struct sockaddr_storage *bound)
{
	int err;

	/* the consumer may get a request and destroy the listener before this function returns */
	kal_ep_get(ep);
	mutex_lock(&ep->lock);
	if (arg->param && !ep->memcg && mem_cgroup_tryget(arg->param->memcg))
		ep->memcg = arg->param->memcg;
	ep_note_net(ep, arg->param ? arg->param->net : NULL);
	err = ep_call_locked(ep, KAL_EP_IN_LISTEN, arg);
	/* the lock is still held, so no request is delivered before this */
	if (!err && bound && ep->conn)
		*bound = ep->conn->info.local;
	else if (!err && bound)
		err = kal_listen_address(ep, bound);
	kal_ep_unlock(ep);
	kal_ep_put(ep);
	return err;
}

int kal_ep_listen(struct kal_ep *ep, const struct sockaddr *local,
		  const struct kal_listen_param *param, struct sockaddr_storage *bound)
{
	struct sockaddr_storage addr;
	const struct kal_ep_listen_arg arg = { .local = &addr, .param = param };

	return ep_copy_sockaddr(&addr, local) ?: ep_listen(ep, &arg, bound);
}
EXPORT_SYMBOL_GPL(kal_ep_listen);

/* Check a consumer's socket and read its addresses. Return: 0 or as kal_ep_connect_socket(). */
static int ep_check_socket(struct ri_rnic *rnic, struct socket *sock,
			   struct sockaddr_storage *local, struct sockaddr_storage *remote)
{
	bool same_net;
	int err;

	if (rnic->attr.caps & RI_CAP_LLP_OFFLOAD)
		return -EOPNOTSUPP;
	err = kal_sock_usable(sock) ?: kal_sock_names(sock, local, remote);
	if (err)
		return err;
	scoped_guard(rcu)
		same_net = net_eq(sock_net(sock->sk), dev_net(rnic->netdev));
	return same_net && kal_rnic_owns(rnic, sock_net(sock->sk), local) ? 0 : -EADDRNOTAVAIL;
}

int kal_ep_listen_socket(struct kal_ep *ep, struct socket *sock, const void *last, size_t last_len)
{
	const struct kal_ep_listen_arg arg = { .sock = sock, .last = last, .last_len = last_len };
	struct sockaddr_storage local = {}, remote = {};

	return ep_check_socket(ep->rnic, sock, &local, &remote) ?: ep_listen(ep, &arg, NULL);
}
EXPORT_SYMBOL_GPL(kal_ep_listen_socket);

static int ep_connect(struct kal_ep *ep, const struct kal_ep_open_arg *arg)
{
	int err;

	/* the consumer may get the reply and destroy the endpoint before this function returns */
	kal_ep_get(ep);
	mutex_lock(&ep->lock);
	if (ep->state == KAL_EP_IDLE)
		ep->lane = kal_lane_to(ep->rnic, arg->remote);
	ep_note_net(ep, arg->param->net);
	err = ep_call_locked(ep, KAL_EP_IN_CONNECT, arg);
	if (!err && ep->llp)
		kal_ep_look_at_once(ep);
	kal_ep_unlock(ep);
	kal_ep_put(ep);
	return err;
}

int kal_ep_connect_socket(struct kal_ep *ep, struct ri_qp *qp, struct socket *sock,
			  const struct kal_conn_param *param)
{
	struct sockaddr_storage from = {}, to = {};
	const struct kal_ep_open_arg arg = {
		.qp = qp,
		.local = &from,
		.remote = &to,
		.param = param,
		.sock = sock,
	};

	return ep_check_socket(ep->rnic, sock, &from, &to) ?: ep_connect(ep, &arg);
}
EXPORT_SYMBOL_GPL(kal_ep_connect_socket);

int kal_ep_connect(struct kal_ep *ep, struct ri_qp *qp, const struct sockaddr *local,
		   const struct sockaddr *remote, const struct kal_conn_param *param)
{
	struct sockaddr_storage from = {}, to;
	const struct kal_ep_open_arg arg = {
		.qp = qp,
		.local = &from,
		.remote = &to,
		.param = param,
	};
	int err;

	err = ep_copy_sockaddr(&to, remote);
	if (!err && local)
		err = ep_copy_sockaddr(&from, local);
	return err ?: ep_connect(ep, &arg);
}
EXPORT_SYMBOL_GPL(kal_ep_connect);

bool kal_ep_expects(const struct kal_ep *ep)
{
	return READ_ONCE(ep->pending.count) != 0;
}
EXPORT_SYMBOL_GPL(kal_ep_expects);

bool kal_ep_undecided(struct kal_ep *ep)
{
	guard(kal_ep)(ep);
	return ep->state == KAL_EP_DECISION_WAIT;
}
EXPORT_SYMBOL_GPL(kal_ep_undecided);

/* @max: room of an RNIC that makes connections itself */
static bool ep_reply_has_room(const struct kal_ep *ep, u16 len, u16 max)
{
	if (ep->conn)
		return len <= max;
	return ep->state != KAL_EP_DECISION_WAIT || kal_startup_reply_room(ep) >= len;
}

/* Is the QP in a state that allows no connection before a reset? */
static bool ep_qp_spoiled(struct ri_qp *qp)
{
	struct ri_qp_init_attr init_attr;
	struct ib_qp_attr attr = {};

	return kal_qp_query(qp, &attr, IB_QP_STATE, &init_attr) || attr.qp_state == IB_QPS_ERR;
}

/*
 * Find errors of the consumer's call itself before the endpoint takes a step. The request then
 * still waits for an answer.
 */
static int ep_check_accept(struct kal_ep *ep, struct ri_qp *qp, const struct kal_conn_param *param)
{
	if (!ep_reply_has_room(ep, param->private_data_len, ep->rnic->attr.max_accept_data))
		return -EINVAL;
	if (ep->state != KAL_EP_DECISION_WAIT)
		return 0;
	return ep_qp_spoiled(qp) ? -EINVAL : kal_ep_attach_qp(ep, qp);
}

int kal_ep_accept(struct kal_ep *ep, struct ri_qp *qp, const struct kal_conn_param *param)
{
	const struct kal_ep_open_arg arg = { .qp = qp, .param = param };
	int err;

	/* the consumer may get the end and destroy the endpoint before this function returns */
	kal_ep_get(ep);
	mutex_lock(&ep->lock);
	err = ep_check_accept(ep, qp, param) ?: ep_call_locked(ep, KAL_EP_IN_ACCEPT, &arg);
	if (err == KAL_EP_STAY)
		err = 0;
	kal_ep_unlock(ep);
	kal_ep_put(ep);
	return err;
}
EXPORT_SYMBOL_GPL(kal_ep_accept);

int kal_ep_reject(struct kal_ep *ep, const void *private_data, u16 len)
{
	const struct kal_ep_reject_arg arg = { .private_data = private_data, .len = len };

	guard(kal_ep)(ep);
	if (!ep_reply_has_room(ep, len, ep->rnic->attr.max_reject_data))
		return -EINVAL;
	return ep_call_locked(ep, KAL_EP_IN_REJECT, &arg);
}
EXPORT_SYMBOL_GPL(kal_ep_reject);
