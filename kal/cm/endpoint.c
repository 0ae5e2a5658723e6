// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Endpoint management: the state of an endpoint, its LLP stream and its QP, kept
 * in step by one table. Consumers call the kal_ep_*() and kal_qp_*() functions
 * of krdma/kal.h, providers ri_llp_close() and ri_llp_abort().
 *
 * Everything that happens becomes an input, under the endpoint's lock. Inputs
 * of the socket and the clock come from one work item for each endpoint, which
 * looks at what is (level), not at what was reported (edge): signals may merge
 * but are never lost, and no endpoint waits for another.
 *
 *	active	IDLE > CONNECTING > REPLY_WAIT > CONNECTED > CLOSING > DEAD
 *	passive	REQUEST_WAIT > DECISION_WAIT > CONNECTED > CLOSING > DEAD
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../core/core.h"
#include "endpoint.h"
#include "trace.h"

static LIST_HEAD(eps);
static DEFINE_SPINLOCK(eps_lock);	/* protects eps */

/* bits of kal_ep.signals */
enum {
	SIGNAL_SOCKET,
	SIGNAL_TIMEOUT,
};

/* Actions ****************************************************************** */

static int ep_modify_qp(struct kal_ep *ep, enum ib_qp_state state)
{
	const struct ib_qp_attr attr = { .qp_state = state };

	return ep->rnic->ops->qp_modify(ep->qp, &attr, IB_QP_STATE, NULL);
}

/*
 * The provider owes the end of the stream in any case, so its answer does not
 * matter: a stream that ends at this moment makes it an error.
 */
static int act_disconnect(struct kal_ep *ep)
{
	kal_ep_arm(ep, &kal_disconnect_timeout_ms);
	ep_modify_qp(ep, IB_QPS_SQD);
	return 0;
}

static int act_kill(struct kal_ep *ep)
{
	ep->deadline = 0;
	ep_modify_qp(ep, IB_QPS_ERR);
	return 0;
}

static int act_too_slow(struct kal_ep *ep)
{
	kal_count(ep->rnic, KAL_CNT_CONN_TIMEOUT);
	return act_kill(ep);
}

static int act_closed(struct kal_ep *ep)
{
	struct kal_ep_event event = {
		.type = KAL_EP_CLOSED,
		.status = ep->llp_status,
	};

	/* an RNIC that goes takes its streams with it: TCP tries nothing in its stead */
	ep->polite = !ep->llp_aborted && kal_rnic_live(ep->rnic);
	kal_count(ep->rnic, ep->polite ? KAL_CNT_CONN_CLOSED : KAL_CNT_CONN_RESET);
	kal_ep_free_qp(ep);
	kal_ep_report(ep, &event);
	return 0;
}

static int act_abort(struct kal_ep *ep)
{
	return -ECONNABORTED;
}

/* State table ************************************************************** */

static const char *const state_names[KAL_EP_STATES] = {
	[KAL_EP_IDLE] = "idle",
	[KAL_EP_LISTENING] = "listening",
	[KAL_EP_CONNECTING] = "connecting",
	[KAL_EP_REPLY_WAIT] = "reply-wait",
	[KAL_EP_REQUEST_WAIT] = "request-wait",
	[KAL_EP_DECISION_WAIT] = "decision-wait",
	[KAL_EP_CONNECTED] = "connected",
	[KAL_EP_CLOSING] = "closing",
	[KAL_EP_DEAD] = "dead",
};

static const char *const input_names[KAL_EP_INPUTS] = {
	[KAL_EP_IN_LISTEN] = "listen",
	[KAL_EP_IN_CONNECT] = "connect",
	[KAL_EP_IN_ACCEPT] = "accept",
	[KAL_EP_IN_REJECT] = "reject",
	[KAL_EP_IN_DISCONNECT] = "disconnect",
	[KAL_EP_IN_ABORT] = "abort",
	[KAL_EP_IN_UP] = "up",
	[KAL_EP_IN_DATA] = "data",
	[KAL_EP_IN_DOWN] = "down",
	[KAL_EP_IN_LLP_CLOSE] = "llp-close",
	[KAL_EP_IN_LLP_ABORT] = "llp-abort",
	[KAL_EP_IN_TIMEOUT] = "timeout",
	[KAL_EP_IN_FALLBACK] = "fallback",
	[KAL_EP_IN_FAIL] = "fail",
};

const char *kal_ep_state_name(enum kal_ep_state state)
{
	return state_names[state];
}

const char *kal_ep_input_name(enum kal_ep_input input)
{
	return input_names[input];
}

/*
 * An input without a row means nothing in its state. An action that fails makes
 * IN_FAIL out of any input; one that answers KAL_EP_STAY leaves the state alone.
 */
static const struct ep_row {
	enum kal_ep_state state;
	enum kal_ep_input input;
	int (*action)(struct kal_ep *ep);
	enum kal_ep_state next;
} ep_table[] = {
#define ROW(s, i, act, n) { KAL_EP_##s, KAL_EP_IN_##i, act, KAL_EP_##n }
	ROW(IDLE, LISTEN, kal_listen_start, LISTENING),
	ROW(IDLE, CONNECT, kal_startup_connect, CONNECTING),
	ROW(IDLE, ABORT, NULL, DEAD),
	ROW(IDLE, FAIL, NULL, DEAD),

	ROW(LISTENING, ABORT, kal_listen_stop, DEAD),

	ROW(CONNECTING, UP, kal_startup_send_request, REPLY_WAIT),
	ROW(CONNECTING, DOWN, kal_startup_down, DEAD),
	ROW(CONNECTING, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(CONNECTING, DISCONNECT, act_abort, DEAD),
	ROW(CONNECTING, ABORT, act_abort, DEAD),
	ROW(CONNECTING, FAIL, kal_startup_report_failure, DEAD),

	ROW(REPLY_WAIT, DATA, kal_startup_read_reply, CONNECTED),
	ROW(REPLY_WAIT, FALLBACK, kal_startup_fallback, CONNECTING),
	ROW(REPLY_WAIT, DOWN, kal_startup_reply_lost, DEAD),
	ROW(REPLY_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REPLY_WAIT, DISCONNECT, act_abort, DEAD),
	ROW(REPLY_WAIT, ABORT, act_abort, DEAD),
	ROW(REPLY_WAIT, FAIL, kal_startup_report_failure, DEAD),

	ROW(REQUEST_WAIT, DATA, kal_startup_read_request, DECISION_WAIT),
	ROW(REQUEST_WAIT, DOWN, kal_startup_down, DEAD),
	ROW(REQUEST_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REQUEST_WAIT, ABORT, act_abort, DEAD),
	ROW(REQUEST_WAIT, FAIL, NULL, DEAD),

	ROW(DECISION_WAIT, ACCEPT, kal_startup_accept, CONNECTED),
	ROW(DECISION_WAIT, REJECT, kal_startup_reject, DEAD),
	ROW(DECISION_WAIT, DATA, kal_startup_early_data, DEAD),
	ROW(DECISION_WAIT, DOWN, kal_startup_down, DEAD),
	ROW(DECISION_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(DECISION_WAIT, DISCONNECT, kal_startup_refuse, DEAD),
	ROW(DECISION_WAIT, ABORT, kal_startup_refuse, DEAD),
	ROW(DECISION_WAIT, FAIL, NULL, DEAD),

	ROW(CONNECTED, DISCONNECT, act_disconnect, CLOSING),
	ROW(CONNECTED, ABORT, act_kill, CLOSING),
	ROW(CONNECTED, LLP_CLOSE, act_closed, DEAD),
	ROW(CONNECTED, LLP_ABORT, act_closed, DEAD),

	ROW(CLOSING, ABORT, act_kill, CLOSING),
	ROW(CLOSING, TIMEOUT, act_too_slow, CLOSING),
	ROW(CLOSING, LLP_CLOSE, act_closed, DEAD),
	ROW(CLOSING, LLP_ABORT, act_closed, DEAD),
#undef ROW
};

static const struct ep_row *ep_find_row(enum kal_ep_state state, enum kal_ep_input input)
{
	const struct ep_row *row;

	for (row = ep_table; row < ep_table + ARRAY_SIZE(ep_table); row++)
		if (row->state == state && row->input == input)
			return row;
	return NULL;
}

/* Entry into DEAD: give everything up; nothing is reported any more. */
static void ep_finish(struct kal_ep *ep)
{
	ep->deadline = 0;
	timer_delete(&ep->timer);
	if (ep->llp && ep->polite)
		kal_llp_linger(ep->llp);
	else if (ep->llp)
		kal_llp_reset(ep->llp);
	ep->llp = NULL;
	kal_ep_detach_qp(ep);
	kfree(ep->startup);
	ep->startup = NULL;

	spin_lock(&eps_lock);
	list_del_init(&ep->node);
	spin_unlock(&eps_lock);
	complete_all(&ep->ended);

	/* a child that nobody got to see is the kAL's own */
	if (ep->parent) {
		kal_ep_delivered(ep);
		kal_ep_put(ep);
	}
}

/**
 * kal_ep_step() - one input, looked up in the table
 * @ep: endpoint
 * @input: what happened
 *
 * Return: the action's result; -EINVAL for an input that means nothing now.
 * Context: the endpoint's lock held and a reference besides its owner's; may sleep.
 */
int kal_ep_step(struct kal_ep *ep, enum kal_ep_input input)
{
	const enum kal_ep_state state = ep->state;
	const struct ep_row *row = ep_find_row(state, input);
	int err = 0;

	if (!row)
		return -EINVAL;
	if (row->action)
		err = row->action(ep);
	if (err == KAL_EP_STAY)
		return err;
	trace_ep_step(ep, kal_ep_state_name(state), kal_ep_input_name(input), err);
	if (err) {
		ep->error = err;
		kal_ep_step(ep, KAL_EP_IN_FAIL);
		return err;
	}
	ep->state = row->next;
	if (ep->state == KAL_EP_DEAD && state != KAL_EP_DEAD)
		ep_finish(ep);
	return 0;
}

/* Signals ****************************************************************** */

/*
 * Queue the work once for any number of signals. Never drops a reference: it is
 * called where the last one must not go.
 */
static void ep_signal(struct kal_ep *ep, int signal)
{
	set_bit(signal, &ep->signals);
	if (atomic_xchg(&ep->queued, 1))
		return;
	if (kref_get_unless_zero(&ep->kref))
		queue_work(kal_conn_wq, &ep->work);
}

/**
 * kal_ep_notify() - something happened on the endpoint's socket
 * @ep: the endpoint, as a stream's owner
 *
 * Context: any but hard interrupt, under the socket's callback lock, which
 * keeps the endpoint alive.
 */
void kal_ep_notify(void *ep)
{
	ep_signal(ep, SIGNAL_SOCKET);
}

static void ep_timer(struct timer_list *t)
{
	struct kal_ep *ep = from_timer(ep, t, timer);

	ep_signal(ep, SIGNAL_TIMEOUT);
}

/* Give the coming state a deadline. Endpoint's lock held. */
void kal_ep_arm(struct kal_ep *ep, const unsigned int *timeout_ms)
{
	ep->deadline = (jiffies + kal_ms(timeout_ms)) ?: 1;
	mod_timer(&ep->timer, ep->deadline);
}

static void ep_look_at_socket(struct kal_ep *ep)
{
	enum kal_ep_state state;
	unsigned int flags;

	if (!ep->llp || !ep->startup)
		return;
	flags = kal_llp_poll(ep->llp);
	if (flags & KAL_LLP_UP)
		kal_ep_step(ep, KAL_EP_IN_UP);
	state = ep->state;
	kal_ep_step(ep, KAL_EP_IN_DATA);
	/* the flags are of the stream before the step */
	if (flags & KAL_LLP_DOWN && ep->state == state)
		kal_ep_step(ep, KAL_EP_IN_DOWN);
}

/*
 * To a peer on this host TCP has connected by the time it says that it begins to: the
 * Request goes on its way with no other thread. All else is the work's.
 */
static void ep_look_at_once(struct kal_ep *ep)
{
	const unsigned int flags = kal_llp_poll(ep->llp);

	if (flags == KAL_LLP_UP)
		kal_ep_step(ep, KAL_EP_IN_UP);
	else if (flags)
		kal_ep_notify(ep);
}

static void ep_work(struct work_struct *work)
{
	struct kal_ep *ep = container_of(work, struct kal_ep, work);

	/* full barriers: a signal that finds queued set is seen below */
	atomic_xchg(&ep->queued, 0);
	mutex_lock(&ep->lock);
	if (test_and_clear_bit(SIGNAL_SOCKET, &ep->signals))
		ep_look_at_socket(ep);
	if (test_and_clear_bit(SIGNAL_TIMEOUT, &ep->signals) && ep->deadline &&
	    time_after_eq(jiffies, ep->deadline)) {
		ep->deadline = 0;
		kal_ep_step(ep, KAL_EP_IN_TIMEOUT);
	}
	mutex_unlock(&ep->lock);
	kal_ep_put(ep);
}

/* Life ********************************************************************* */

static struct kal_ep *ep_alloc(struct ri_rnic *rnic, kal_ep_handler handler, void *context,
			       gfp_t gfp)
{
	struct kal_ep *ep = kzalloc(sizeof(*ep), gfp);

	if (!ep)
		return NULL;
	kref_init(&ep->kref);
	kal_rnic_get(rnic);
	ep->rnic = rnic;
	INIT_WORK(&ep->work, ep_work);
	INIT_WORK(&ep->end_work, kal_ep_end_work);
	timer_setup(&ep->timer, ep_timer, 0);
	init_completion(&ep->ended);
	mutex_init(&ep->lock);
	INIT_LIST_HEAD(&ep->listen_node);
	ep->handler = handler;
	ep->context = context;
	return ep;
}

/* One for a connection that came: charged to its listener's group, not to this thread's. */
static struct kal_ep *ep_alloc_child(struct kal_ep *parent)
{
	struct mem_cgroup *memcg = parent->memcg;
	struct mem_cgroup *before = set_active_memcg(memcg);
	struct kal_ep *ep;

	ep = ep_alloc(parent->rnic, parent->handler, parent->context,
		      memcg ? KAL_GFP_REQUEST : GFP_KERNEL);
	set_active_memcg(before);
	return ep;
}

static void ep_publish(struct kal_ep *ep)
{
	spin_lock(&eps_lock);
	list_add_tail(&ep->node, &eps);
	spin_unlock(&eps_lock);
}

static void ep_release(struct kref *kref)
{
	struct kal_ep *ep = container_of(kref, struct kal_ep, kref);

	timer_shutdown_sync(&ep->timer);
	ri_rnic_put(ep->rnic);
	mem_cgroup_put(ep->memcg);
	mutex_destroy(&ep->lock);
	kfree(ep);
}

void kal_ep_get(struct kal_ep *ep)
{
	kref_get(&ep->kref);
}
EXPORT_SYMBOL_GPL(kal_ep_get);

/* Context: may sleep. */
void kal_ep_put(struct kal_ep *ep)
{
	kref_put(&ep->kref, ep_release);
}
EXPORT_SYMBOL_GPL(kal_ep_put);

/**
 * kal_ep_end() - end whatever the endpoint does
 * @ep: endpoint
 * @abrupt: at once; it is DEAD on return
 *
 * Context: may sleep; caller has a reference and no endpoint's lock.
 */
void kal_ep_end(struct kal_ep *ep, bool abrupt)
{
	mutex_lock(&ep->lock);
	kal_ep_step(ep, abrupt ? KAL_EP_IN_ABORT : KAL_EP_IN_DISCONNECT);
	mutex_unlock(&ep->lock);
	if (abrupt)
		wait_for_completion(&ep->ended);
}

/* @handler: NULL, or only its attempts to connect; a hint, as the lock is the endpoint's */
static bool ep_matches(const struct kal_ep *ep, const struct ri_rnic *rnic,
		       kal_ep_handler handler)
{
	enum kal_ep_state state = READ_ONCE(ep->state);

	if (rnic && ep->rnic != rnic)
		return false;
	return !handler || (READ_ONCE(ep->handler) == handler &&
			    (state == KAL_EP_CONNECTING || state == KAL_EP_REPLY_WAIT));
}

/* A live endpoint of @rnic with a reference; a live one always has its owner's. */
static struct kal_ep *ep_get_first(struct ri_rnic *rnic, kal_ep_handler handler)
{
	struct kal_ep *ep, *found = NULL;

	spin_lock(&eps_lock);
	list_for_each_entry(ep, &eps, node) {
		if (ep_matches(ep, rnic, handler)) {
			kal_ep_get(ep);
			found = ep;
			break;
		}
	}
	spin_unlock(&eps_lock);
	return found;
}

/**
 * kal_rnic_abort_eps() - end every endpoint of an RNIC
 * @rnic: not live any more; NULL for all RNICs
 *
 * Each endpoint has reported its end on return; their owners still have to
 * destroy them. Context: may sleep.
 */
void kal_rnic_abort_eps(struct ri_rnic *rnic)
{
	struct kal_ep *ep;

	while ((ep = ep_get_first(rnic, NULL))) {
		kal_ep_end(ep, true);
		kal_ep_put(ep);
	}
}

/**
 * kal_rnic_abort_attempts() - end connection attempts that wait for their peers
 * @rnic: of this RNIC
 * @handler: whose endpoints
 *
 * Each has reported its failure on return. Context: may sleep.
 */
void kal_rnic_abort_attempts(struct ri_rnic *rnic, kal_ep_handler handler)
{
	struct kal_ep *ep;

	while ((ep = ep_get_first(rnic, handler))) {
		kal_ep_end(ep, true);
		kal_ep_put(ep);
	}
}

void kal_ep_exit(void)
{
	kal_rnic_abort_eps(NULL);
}

/**
 * kal_ep_incoming() - a connection came for a listener
 * @parent: the listener
 * @sock: the connection, always consumed
 * @data_ready: of a socket without hooks
 *
 * The new endpoint is the kAL's own until the consumer takes it. Context: may
 * sleep.
 */
void kal_ep_incoming(struct kal_ep *parent, struct socket *sock,
		     void (*data_ready)(struct sock *sk))
{
	struct ri_rnic *rnic = parent->rnic;
	struct kal_ep *ep = NULL;
	struct kal_llp *llp;

	kal_count(rnic, KAL_CNT_CONN_PASSIVE);
	if (atomic_inc_return(&parent->pending) > READ_ONCE(kal_max_pending)) {
		kal_count(rnic, KAL_CNT_LISTEN_OVERFLOW);
		goto refuse;
	}
	ep = ep_alloc_child(parent);
	if (!ep)
		goto refuse;
	llp = kal_llp_adopt(sock, data_ready);
	if (IS_ERR(llp))
		goto refuse;
	ep->startup = kal_startup_alloc(rnic, &llp->ri.remote);
	if (!ep->startup) {
		kfree(llp);
		goto refuse;
	}
	ep->llp = llp;

	if (parent->tos_set)
		kal_sock_set_tos(sock, parent->tos);

	kal_ep_get(parent);
	ep->parent = parent;
	ep->state = KAL_EP_REQUEST_WAIT;
	kal_ep_get(ep);
	kal_ep_arm(ep, &kal_mpa_request_timeout_ms);
	ep_publish(ep);
	kal_llp_hook(ep->llp, kal_ep_notify, ep);
	kal_ep_notify(ep);
	kal_ep_put(ep);
	return;

refuse:
	if (ep)
		kal_ep_put(ep);
	atomic_dec(&parent->pending);
	sock_no_linger(sock->sk);
	sock_release(sock);
}

/* A child leaves the care of its listener. Endpoint's lock held. */
void kal_ep_delivered(struct kal_ep *ep)
{
	atomic_dec(&ep->parent->pending);
	kal_ep_put(ep->parent);
	ep->parent = NULL;
}

/* The consumer's calls ***************************************************** */

struct kal_ep *kal_ep_create(struct ri_rnic *rnic, kal_ep_handler handler, void *context)
{
	struct kal_ep *ep;

	ep = ep_alloc(rnic, handler, context, GFP_KERNEL_ACCOUNT);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep_publish(ep);
	/* eps_lock orders: this sees that the RNIC goes, or kal_rnic_abort_eps() the endpoint */
	if (!kal_rnic_live(rnic)) {
		kal_ep_destroy(ep);
		return ERR_PTR(-ENODEV);
	}
	return ep;
}
EXPORT_SYMBOL_GPL(kal_ep_create);

void kal_ep_set_handler(struct kal_ep *ep, kal_ep_handler handler, void *context)
{
	ep->handler = handler;
	ep->context = context;
}
EXPORT_SYMBOL_GPL(kal_ep_set_handler);

struct ri_rnic *kal_ep_rnic(struct kal_ep *ep)
{
	return ep->rnic;
}
EXPORT_SYMBOL_GPL(kal_ep_rnic);

struct mem_cgroup *kal_ep_memcg(const struct kal_ep *ep)
{
	return ep->memcg;
}

void kal_ep_destroy(struct kal_ep *ep)
{
	kal_ep_end(ep, true);
	kal_ep_put(ep);
}
EXPORT_SYMBOL_GPL(kal_ep_destroy);

void kal_ep_query(struct kal_ep *ep, struct kal_ep_info *info)
{
	unsigned long now = jiffies;

	memset(info, 0, sizeof(*info));
	guard(mutex)(&ep->lock);
	info->state = kal_ep_state_name(ep->state);
	if (ep->deadline && time_after(ep->deadline, now))
		info->expires_ms = jiffies_to_msecs(ep->deadline - now);
	if (ep->state == KAL_EP_CONNECTED || ep->state == KAL_EP_CLOSING) {
		info->connected = true;
		info->mpa = ep->llp->ri.mpa;
	} else if (ep->state == KAL_EP_LISTENING) {
		kal_listen_query(ep, info);
	}
}
EXPORT_SYMBOL_GPL(kal_ep_query);

/* Tell the consumer, under the endpoint's lock. Return: its answer. */
int kal_ep_report(struct kal_ep *ep, struct kal_ep_event *event)
{
	const struct kal_startup *su = ep->startup;

	if (ep->llp) {
		event->local = &ep->llp->ri.local;
		event->remote = &ep->llp->ri.remote;
	} else if (su) {
		event->local = &su->from;
		event->remote = &su->to;
	}
	trace_ep_event(ep, event);
	return ep->handler(ep, ep->context, event);
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

/* Copy an address of a family that TCP runs on. */
static int copy_sockaddr(struct sockaddr_storage *to, const struct sockaddr *from)
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

int kal_ep_listen(struct kal_ep *ep, const struct sockaddr *local,
		  const struct kal_listen_param *param, struct sockaddr_storage *bound)
{
	struct sockaddr_storage addr;
	const struct kal_ep_listen_arg arg = { .local = &addr, .param = param };
	int err;

	err = copy_sockaddr(&addr, local);
	if (err)
		return err;
	guard(mutex)(&ep->lock);
	if (!ep->memcg && mem_cgroup_tryget(param->memcg))
		ep->memcg = param->memcg;
	err = ep_call_locked(ep, KAL_EP_IN_LISTEN, &arg);
	/* with the lock still held: the first request comes after that */
	if (!err && bound)
		err = kal_listen_address(ep, bound);
	return err;
}
EXPORT_SYMBOL_GPL(kal_ep_listen);

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

	err = copy_sockaddr(&to, remote);
	if (!err && local)
		err = copy_sockaddr(&from, local);
	if (err)
		return err;
	/* the answer may come, and the consumer destroy the endpoint, before this returns */
	kal_ep_get(ep);
	mutex_lock(&ep->lock);
	err = ep_call_locked(ep, KAL_EP_IN_CONNECT, &arg);
	if (!err)
		ep_look_at_once(ep);
	mutex_unlock(&ep->lock);
	kal_ep_put(ep);
	return err;
}
EXPORT_SYMBOL_GPL(kal_ep_connect);

bool kal_ep_undecided(struct kal_ep *ep)
{
	guard(mutex)(&ep->lock);
	return ep->state == KAL_EP_DECISION_WAIT;
}
EXPORT_SYMBOL_GPL(kal_ep_undecided);

static bool reply_has_room(const struct kal_ep *ep, u16 len)
{
	return ep->state != KAL_EP_DECISION_WAIT || kal_startup_reply_room(ep) >= len;
}

/* No connection can be made of it before it is reset. */
static bool qp_spoiled(struct ri_qp *qp)
{
	struct ri_qp_init_attr init_attr;
	struct ib_qp_attr attr = {};

	return kal_qp_query(qp, &attr, IB_QP_STATE, &init_attr) || attr.qp_state == IB_QPS_ERR;
}

/*
 * What is wrong with the consumer's call, and not with the connection, is seen before the
 * endpoint takes a step: the request goes on waiting for an answer.
 */
static int ep_check_accept(struct kal_ep *ep, struct ri_qp *qp, const struct kal_conn_param *param)
{
	if (!reply_has_room(ep, param->private_data_len))
		return -EINVAL;
	if (ep->state != KAL_EP_DECISION_WAIT)
		return 0;
	return qp_spoiled(qp) ? -EINVAL : kal_ep_attach_qp(ep, qp);
}

int kal_ep_accept(struct kal_ep *ep, struct ri_qp *qp, const struct kal_conn_param *param)
{
	const struct kal_ep_open_arg arg = { .qp = qp, .param = param };
	int err;

	/* the end may come, and the consumer destroy the endpoint, before this returns */
	kal_ep_get(ep);
	mutex_lock(&ep->lock);
	err = ep_check_accept(ep, qp, param) ?: ep_call_locked(ep, KAL_EP_IN_ACCEPT, &arg);
	mutex_unlock(&ep->lock);
	kal_ep_put(ep);
	return err;
}
EXPORT_SYMBOL_GPL(kal_ep_accept);

int kal_ep_reject(struct kal_ep *ep, const void *private_data, u16 len)
{
	const struct kal_ep_reject_arg arg = { .private_data = private_data, .len = len };

	guard(mutex)(&ep->lock);
	if (!reply_has_room(ep, len))
		return -EINVAL;
	return ep_call_locked(ep, KAL_EP_IN_REJECT, &arg);
}
EXPORT_SYMBOL_GPL(kal_ep_reject);
