// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Endpoint management. One table keeps the state of an endpoint, its LLP stream and its QP in
 * step. Consumers call the kal_ep_*() and kal_qp_*() functions of krdma/kal.h. Providers call
 * ri_llp_close() and ri_llp_abort().
 *
 * Every event becomes an input of the table and is processed under the endpoint's lock. A
 * worker makes the inputs of the socket and the timer. It examines the current state (level),
 * not the reported change (edge). Signals may therefore merge but are never lost.
 *
 *	active	IDLE > CONNECTING > REPLY_WAIT > CONNECTED > CLOSING > DEAD
 *	passive	REQUEST_WAIT > REQUEST_READY > DECISION_WAIT > CONNECTED > CLOSING > DEAD
 *
 * An RNIC that makes connections itself (RI_CAP_LLP_OFFLOAD) has no stream and no MPA start-up of
 * ours. Its endpoints take the same states, with fewer steps; the RNIC's reports are the inputs
 * CONN_UP and CONN_DOWN.
 *
 *	active	IDLE > CONNECTING > CONNECTED > CLOSING > DEAD
 *	passive	REQUEST_READY > DECISION_WAIT > ACCEPTING > CONNECTED > CLOSING > DEAD
 *
 * Lanes. Programs such as perftest make several connections at once. They rely on the
 * connection requests arriving in the order of the connect calls. Signalled endpoints
 * therefore wait in a lane, which is a queue with its own worker. All connections from one
 * RNIC to one address use the same lane. A listener and its children also share a lane.
 * Different lanes run at the same time.
 *
 * A lane serves endpoints of several users. Its worker never waits for a lock that a user
 * thread can hold: such a thread may be preempted while it holds the lock, and may then run
 * rarely. The worker skips an endpoint whose lock is taken, and kal_ep_unlock() queues the
 * endpoint again. A provider that would have to wait returns -EAGAIN (RI_QP_NOWAIT), and the
 * endpoint's timer tries again.
 */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/jhash.h>
#include <linux/memcontrol.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <krdma/noio.h>

#include "../core/core.h"
#include "endpoint.h"
#include "trace.h"

#define LANES		64	/* more than the number of CPUs that make connections at one time */
#define LANE_BUDGET	64	/* endpoints of one turn, then other work runs */
#define EVICTIONS	16	/* per new connection; more than 1 if max_pending was lowered */

static DEFINE_SPINLOCK(eps_lock);	/* protects ri_rnic.eps and ri_rnic.num_eps */

/* live endpoints by number, for kal_ep_next() */
static DEFINE_XARRAY_FLAGS(eps_table, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
static u32 eps_next_id;

/* bits of kal_ep.signals */
enum {
	SIGNAL_SOCKET,
	SIGNAL_TIMEOUT,
	SIGNAL_READY,	/* listener: a child is ready */
	SIGNAL_END,	/* the provider gave back the stream, and its reference */
};

/**
 * struct kal_lane - signalled endpoints, in the order of their signals
 * @lock: protects @eps
 * @eps: endpoints, with one reference each
 * @work: processes the endpoints
 */
struct kal_lane {
	spinlock_t lock;	/* protects eps */
	struct list_head eps;
	struct work_struct work;
};

static struct kal_lane ep_lanes[LANES];
static u32 ep_lane_seed __read_mostly;

DEFINE_GUARD(kal_ep, struct kal_ep *, mutex_lock(&_T->lock), kal_ep_unlock(_T))

/* Actions ****************************************************************** */

static int ep_modify_qp(struct kal_ep *ep, enum ib_qp_state state, int nowait)
{
	const struct ib_qp_attr attr = { .qp_state = state };

	return ep->rnic->ops->qp_modify(ep->qp, &attr, IB_QP_STATE | nowait, NULL);
}

/*
 * The result of qp_modify() does not matter. The provider ends the stream in any case. A
 * stream that ends at this moment makes qp_modify() fail.
 */
static int ep_act_disconnect(struct kal_ep *ep)
{
	kal_ep_arm(ep, &kal_disconnect_timeout_ms);
	if (ep->conn)
		return kal_offload_disconnect(ep);
	ep_modify_qp(ep, IB_QPS_SQD, 0);
	return 0;
}

static int ep_act_kill(struct kal_ep *ep)
{
	ep->deadline = 0;
	if (ep->conn)
		return kal_offload_kill(ep);
	ep_modify_qp(ep, IB_QPS_ERR, 0);
	return 0;
}

/* Called from a worker. */
static int ep_act_too_slow(struct kal_ep *ep)
{
	if (ep->conn) {
		kal_count(ep->rnic, KAL_CNT_CONN_TIMEOUT);
		return kal_offload_kill(ep);
	}
	if (ep_modify_qp(ep, IB_QPS_ERR, RI_QP_NOWAIT) == -EAGAIN) {
		ep->deadline = (jiffies + 1) ?: 1;
		mod_timer(&ep->timer, ep->deadline);
		return KAL_EP_STAY;
	}
	ep->deadline = 0;
	kal_count(ep->rnic, KAL_CNT_CONN_TIMEOUT);
	return 0;
}

/* A new connection needs the place of this one. */
static int ep_act_evict(struct kal_ep *ep)
{
	kal_count(ep->rnic, KAL_CNT_LISTEN_EVICTED);
	return -ECONNABORTED;
}

static int ep_act_closed(struct kal_ep *ep)
{
	struct kal_ep_event event = {
		.type = KAL_EP_CLOSED,
		.status = ep->llp_status,
	};

	/* an RNIC that goes resets its streams: TCP does not finish them for the RNIC */
	ep->polite = !ep->llp_aborted && kal_rnic_live(ep->rnic);
	kal_count(ep->rnic, ep->polite ? KAL_CNT_CONN_CLOSED : KAL_CNT_CONN_RESET);
	kal_ep_free_qp(ep);
	kal_ep_report(ep, &event);
	return 0;
}

static int ep_act_abort(struct kal_ep *ep)
{
	return -ECONNABORTED;
}

/* Actions that depend on who makes the connection: the RNIC itself, or the kAL. */

static int ep_listen_socket(struct kal_ep *ep, const struct kal_ep_listen_arg *arg);

static int ep_act_listen(struct kal_ep *ep)
{
	const struct kal_ep_listen_arg *arg = ep->arg;

	if (arg->sock)
		return ep_listen_socket(ep, arg);
	return ep->conn ? kal_offload_listen(ep) : kal_listen_start(ep);
}

static int ep_act_unlisten(struct kal_ep *ep)
{
	return ep->conn ? 0 : kal_listen_stop(ep);
}

static int ep_act_connect(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_connect(ep) : kal_startup_connect(ep);
}

static int ep_act_connect_failed(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_report_failure(ep) : kal_startup_report_failure(ep);
}

static int ep_act_deliver(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_deliver(ep) : kal_startup_deliver(ep);
}

/* The next state of the table is that of the kAL's own connections. */
static int ep_act_accept(struct kal_ep *ep)
{
	int err;

	if (!ep->conn)
		return kal_startup_accept(ep);
	err = kal_offload_accept(ep);
	if (err)
		return err;
	ep->state = KAL_EP_ACCEPTING;
	return KAL_EP_STAY;
}

static int ep_act_reject(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_reject(ep) : kal_startup_reject(ep);
}

static int ep_act_refuse(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_refuse(ep) : kal_startup_refuse(ep);
}

/* State table ************************************************************** */

static const char *const ep_state_names[KAL_EP_STATES] = {
	[KAL_EP_IDLE] = "idle",
	[KAL_EP_LISTENING] = "listening",
	[KAL_EP_CONNECTING] = "connecting",
	[KAL_EP_REPLY_WAIT] = "reply-wait",
	[KAL_EP_REQUEST_WAIT] = "request-wait",
	[KAL_EP_REQUEST_READY] = "request-ready",
	[KAL_EP_DECISION_WAIT] = "decision-wait",
	[KAL_EP_ACCEPTING] = "accepting",
	[KAL_EP_CONNECTED] = "connected",
	[KAL_EP_CLOSING] = "closing",
	[KAL_EP_DEAD] = "dead",
};

static const char *const ep_input_names[KAL_EP_INPUTS] = {
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
	[KAL_EP_IN_CONN_UP] = "conn-up",
	[KAL_EP_IN_CONN_DOWN] = "conn-down",
	[KAL_EP_IN_DELIVER] = "deliver",
	[KAL_EP_IN_EVICT] = "evict",
	[KAL_EP_IN_TIMEOUT] = "timeout",
	[KAL_EP_IN_FALLBACK] = "fallback",
	[KAL_EP_IN_FAIL] = "fail",
};

const char *kal_ep_state_name(enum kal_ep_state state)
{
	return ep_state_names[state];
}

const char *kal_ep_input_name(enum kal_ep_input input)
{
	return ep_input_names[input];
}

/*
 * An input without a row has no meaning in its state and returns -EINVAL. An action that
 * returns an error causes IN_FAIL, whatever the input was. An action that returns KAL_EP_STAY
 * leaves the state unchanged.
 */
static const struct ep_row {
	enum kal_ep_state state;
	enum kal_ep_input input;
	int (*action)(struct kal_ep *ep);
	enum kal_ep_state next;
} ep_table[] = {
#define ROW(s, i, act, n) { KAL_EP_##s, KAL_EP_IN_##i, act, KAL_EP_##n }
	ROW(IDLE, LISTEN, ep_act_listen, LISTENING),
	ROW(IDLE, CONNECT, ep_act_connect, CONNECTING),
	ROW(IDLE, ABORT, NULL, DEAD),
	ROW(IDLE, FAIL, NULL, DEAD),

	ROW(LISTENING, ABORT, ep_act_unlisten, DEAD),

	ROW(CONNECTING, UP, kal_startup_send_request, REPLY_WAIT),
	ROW(CONNECTING, CONN_UP, kal_offload_connected, CONNECTED),
	ROW(CONNECTING, CONN_DOWN, kal_offload_down, DEAD),
	ROW(CONNECTING, DOWN, kal_startup_down, DEAD),
	ROW(CONNECTING, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(CONNECTING, DISCONNECT, ep_act_abort, DEAD),
	ROW(CONNECTING, ABORT, ep_act_abort, DEAD),
	ROW(CONNECTING, FAIL, ep_act_connect_failed, DEAD),

	ROW(REPLY_WAIT, DATA, kal_startup_read_reply, CONNECTED),
	ROW(REPLY_WAIT, FALLBACK, kal_startup_fallback, CONNECTING),
	ROW(REPLY_WAIT, DOWN, kal_startup_reply_lost, DEAD),
	ROW(REPLY_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REPLY_WAIT, DISCONNECT, ep_act_abort, DEAD),
	ROW(REPLY_WAIT, ABORT, ep_act_abort, DEAD),
	ROW(REPLY_WAIT, FAIL, kal_startup_report_failure, DEAD),

	ROW(REQUEST_WAIT, DATA, kal_startup_read_request, REQUEST_READY),
	ROW(REQUEST_WAIT, DOWN, kal_startup_down, DEAD),
	ROW(REQUEST_WAIT, EVICT, ep_act_evict, DEAD),
	ROW(REQUEST_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REQUEST_WAIT, ABORT, ep_act_abort, DEAD),
	ROW(REQUEST_WAIT, FAIL, NULL, DEAD),

	ROW(REQUEST_READY, DELIVER, ep_act_deliver, DECISION_WAIT),
	ROW(REQUEST_READY, CONN_DOWN, kal_offload_down, DEAD),
	ROW(REQUEST_READY, DATA, kal_startup_early_data, DEAD),
	ROW(REQUEST_READY, DOWN, kal_startup_down, DEAD),
	ROW(REQUEST_READY, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REQUEST_READY, ABORT, ep_act_refuse, DEAD),
	ROW(REQUEST_READY, FAIL, NULL, DEAD),

	ROW(DECISION_WAIT, ACCEPT, ep_act_accept, CONNECTED),
	ROW(DECISION_WAIT, REJECT, ep_act_reject, DEAD),
	ROW(DECISION_WAIT, CONN_DOWN, kal_offload_down, DEAD),
	ROW(DECISION_WAIT, DATA, kal_startup_early_data, DEAD),
	ROW(DECISION_WAIT, DOWN, kal_startup_down, DEAD),
	ROW(DECISION_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(DECISION_WAIT, DISCONNECT, ep_act_refuse, DEAD),
	ROW(DECISION_WAIT, ABORT, ep_act_refuse, DEAD),
	ROW(DECISION_WAIT, FAIL, NULL, DEAD),

	ROW(ACCEPTING, CONN_UP, kal_offload_accepted, CONNECTED),
	ROW(ACCEPTING, CONN_DOWN, kal_offload_down, DEAD),
	ROW(ACCEPTING, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(ACCEPTING, DISCONNECT, ep_act_abort, DEAD),
	ROW(ACCEPTING, ABORT, ep_act_abort, DEAD),
	ROW(ACCEPTING, FAIL, kal_offload_report_unaccepted, DEAD),

	ROW(CONNECTED, DISCONNECT, ep_act_disconnect, CLOSING),
	ROW(CONNECTED, ABORT, ep_act_kill, CLOSING),
	ROW(CONNECTED, LLP_CLOSE, ep_act_closed, DEAD),
	ROW(CONNECTED, LLP_ABORT, ep_act_closed, DEAD),
	ROW(CONNECTED, CONN_DOWN, kal_offload_closed, DEAD),

	ROW(CLOSING, ABORT, ep_act_kill, CLOSING),
	ROW(CLOSING, TIMEOUT, ep_act_too_slow, CLOSING),
	ROW(CLOSING, LLP_CLOSE, ep_act_closed, DEAD),
	ROW(CLOSING, LLP_ABORT, ep_act_closed, DEAD),
	ROW(CLOSING, CONN_DOWN, kal_offload_closed, DEAD),
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

/* Enter DEAD: release everything. No event is reported after this. */
static void ep_finish(struct kal_ep *ep)
{
	ep->deadline = 0;
	timer_delete(&ep->timer);
	if (ep->llp && ep->polite)
		kal_llp_linger(ep->llp);
	else if (ep->llp)
		kal_llp_reset(ep->llp);
	ep->llp = NULL;
	kal_offload_free(ep);
	kal_ep_detach_qp(ep);
	kfree(ep->startup);
	ep->startup = NULL;

	xa_erase(&eps_table, ep->id);
	ep->id = 0;
	spin_lock(&eps_lock);
	list_del_init(&ep->node);
	WRITE_ONCE(ep->rnic->num_eps, ep->rnic->num_eps - 1);
	spin_unlock(&eps_lock);
	complete_all(&ep->ended);

	/* a child that was not delivered to a consumer is owned by the kAL */
	if (ep->parent) {
		/* other children may be ready behind this one */
		kal_ep_signal_ready(ep->parent);
		kal_pending_remove(ep);
		kal_ep_put(ep);
	}
}

/**
 * kal_ep_step() - process one input by the state table
 * @ep: endpoint
 * @input: input
 *
 * Return: the action's result; -EINVAL if the input has no meaning in the state.
 * Context: endpoint's lock held; the caller holds a reference besides the owner's; may sleep.
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

static struct kal_lane *ep_lane_of(const void *key, size_t len, const struct ri_rnic *rnic)
{
	return &ep_lanes[jhash(key, len, ep_lane_seed ^ hash_ptr(rnic, 32)) % LANES];
}

/* The lane of connections to @remote, independent of the port. */
static struct kal_lane *ep_lane_to(const struct ri_rnic *rnic,
				   const struct sockaddr_storage *remote)
{
	if (remote->ss_family == AF_INET6)
		return ep_lane_of(&((const struct sockaddr_in6 *)remote)->sin6_addr,
				  sizeof(struct in6_addr), rnic);
	return ep_lane_of(&((const struct sockaddr_in *)remote)->sin_addr, sizeof(struct in_addr),
			  rnic);
}

/*
 * Put the endpoint into its lane, once for any number of signals. This function never drops a
 * reference, because it is called in contexts that must not drop the last one.
 */
static void ep_queue(struct kal_ep *ep)
{
	struct kal_lane *lane = ep->lane;

	if (atomic_xchg(&ep->queued, 1))
		return;
	if (!kref_get_unless_zero(&ep->kref))
		return;
	spin_lock_bh(&lane->lock);
	list_add_tail(&ep->lane_node, &lane->eps);
	spin_unlock_bh(&lane->lock);
	queue_work(kal_conn_wq, &lane->work);
}

static void ep_signal(struct kal_ep *ep, int signal)
{
	set_bit(signal, &ep->signals);
	ep_queue(ep);
}

/**
 * kal_ep_unlock() - release the endpoint's lock
 * @ep: endpoint; the caller has a reference
 *
 * A worker that found the lock taken left the endpoint's signals set. The endpoint is then
 * queued again.
 */
void kal_ep_unlock(struct kal_ep *ep)
{
	mutex_unlock(&ep->lock);
	/*
	 * Pairs with ep_lane_next(): the worker sees the lock free, or this thread sees the
	 * signal.
	 */
	smp_mb();
	if (READ_ONCE(ep->signals))
		ep_queue(ep);
}

/** kal_ep_signal_ready() - signal that a child of listener @parent is ready; process context */
void kal_ep_signal_ready(struct kal_ep *parent)
{
	ep_signal(parent, SIGNAL_READY);
}

/**
 * kal_ep_signal_end() - the provider gave the stream back
 * @ep: endpoint; the provider's reference passes to the worker
 *
 * Context: any but hard interrupt.
 */
void kal_ep_signal_end(struct kal_ep *ep)
{
	ep_signal(ep, SIGNAL_END);
}

/**
 * kal_ep_notify() - something happened on the endpoint's socket
 * @ep: endpoint, as the owner of the stream
 *
 * Context: any but hard interrupt, under the socket's callback lock, which keeps the endpoint
 * alive.
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

/* Set the deadline of the next state. Endpoint's lock held. */
void kal_ep_arm(struct kal_ep *ep, const unsigned int *timeout_ms)
{
	ep->deadline = (jiffies + kal_ms(timeout_ms)) ?: 1;
	if (ep->startup && ep->startup->latest && time_after(ep->deadline, ep->startup->latest))
		ep->deadline = ep->startup->latest;
	mod_timer(&ep->timer, ep->deadline);
}

/* The provider was busy: examine the socket again soon. Endpoint's lock held. */
void kal_ep_try_again(struct kal_ep *ep)
{
	ep->busy = true;
	mod_timer(&ep->timer, jiffies + 1);
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
	/*
	 * DOWN was read before the step: ignore it if the step changed the state. A busy
	 * endpoint has its whole Reply and waits for its QP.
	 */
	if (flags & KAL_LLP_DOWN && ep->state == state && !ep->busy)
		kal_ep_step(ep, KAL_EP_IN_DOWN);
}

static void ep_look_at_clock(struct kal_ep *ep)
{
	if (ep->deadline && time_after_eq(jiffies, ep->deadline)) {
		ep->deadline = 0;
		kal_ep_step(ep, KAL_EP_IN_TIMEOUT);
		return;
	}
	if (!ep->busy)
		return;
	/* the retry used the timer of the deadline */
	ep->busy = false;
	if (ep->deadline)
		mod_timer(&ep->timer, ep->deadline);
	ep_look_at_socket(ep);
}

/* Report all ready children to the consumer of the listener. */
static void ep_deliver_ready(struct kal_ep *ep)
{
	struct kal_ep *child;

	while ((child = kal_pending_next(ep))) {
		const bool free = mutex_trylock(&child->lock);

		if (free) {
			kal_ep_step(child, KAL_EP_IN_DELIVER);
			kal_ep_unlock(child);
		} else {
			/*
			 * The child's RNIC may be going; if not, the child's own turn reports
			 * it as ready again.
			 */
			ep_signal(child, SIGNAL_SOCKET);
		}
		kal_ep_put(child);
		if (!free)
			break;
	}
}

/* Process the endpoint's signals in the turn of its lane. Endpoint's lock held. */
static void ep_look(struct kal_ep *ep)
{
	if (test_and_clear_bit(SIGNAL_SOCKET, &ep->signals)) {
		if (ep->conn)
			kal_offload_look(ep);
		else
			ep_look_at_socket(ep);
	}
	if (test_and_clear_bit(SIGNAL_TIMEOUT, &ep->signals))
		ep_look_at_clock(ep);
	if (test_and_clear_bit(SIGNAL_READY, &ep->signals))
		ep_deliver_ready(ep);
	if (ep->state == KAL_EP_REQUEST_READY)
		kal_ep_signal_ready(ep->parent);
	if (test_and_clear_bit(SIGNAL_END, &ep->signals)) {
		kal_ep_step(ep, ep->llp_aborted ? KAL_EP_IN_LLP_ABORT : KAL_EP_IN_LLP_CLOSE);
		/* the provider's reference */
		kal_ep_put(ep);
	}
}

/*
 * If the peer is on this host, TCP has connected when connect returns. This thread then sends
 * the Request itself, without a switch to a worker. The worker handles all other states.
 */
static void ep_look_at_once(struct kal_ep *ep)
{
	const unsigned int flags = kal_llp_poll(ep->llp);

	if (flags == KAL_LLP_UP)
		kal_ep_step(ep, KAL_EP_IN_UP);
	else if (flags)
		kal_ep_notify(ep);
}

/* Take the first endpoint of the lane, with the lane's reference; NULL if the lane is empty. */
static struct kal_ep *ep_lane_next(struct kal_lane *lane)
{
	struct kal_ep *ep;

	spin_lock_bh(&lane->lock);
	ep = list_first_entry_or_null(&lane->eps, struct kal_ep, lane_node);
	if (ep)
		list_del_init(&ep->lane_node);
	spin_unlock_bh(&lane->lock);
	/* full barriers: if a signal finds queued set, this turn sees the signal */
	if (ep)
		atomic_xchg(&ep->queued, 0);
	return ep;
}

static void ep_lane_work(struct work_struct *work)
{
	struct kal_lane *lane = container_of(work, struct kal_lane, work);
	unsigned int budget;
	struct kal_ep *ep;

	guard(krdma_noio)();
	for (budget = LANE_BUDGET; budget; budget--) {
		ep = ep_lane_next(lane);
		if (!ep)
			return;
		if (mutex_trylock(&ep->lock)) {
			ep_look(ep);
			kal_ep_unlock(ep);
		}
		kal_ep_put(ep);
	}
	queue_work(kal_conn_wq, &lane->work);
}

/* Called before any endpoint is created. */
void kal_ep_init(void)
{
	struct kal_lane *lane;

	ep_lane_seed = get_random_u32();
	for (lane = ep_lanes; lane < ep_lanes + LANES; lane++) {
		spin_lock_init(&lane->lock);
		INIT_LIST_HEAD(&lane->eps);
		INIT_WORK(&lane->work, ep_lane_work);
	}
}

/* Life ********************************************************************* */

/* The namespace of @rnic, if it has one only: it goes when its network device leaves that. */
static u64 ep_net_of(const struct ri_rnic *rnic)
{
	const struct net_device *ndev;

	guard(rcu)();
	ndev = READ_ONCE(rnic->netdev);
	return ndev ? dev_net(ndev)->net_cookie : 0;
}

/* The consumer's namespace, for an RNIC that is in several. Endpoint's lock held. */
static void ep_note_net(struct kal_ep *ep, const struct net *net)
{
	if (!ep->net)
		WRITE_ONCE(ep->net, (net ?: current->nsproxy->net_ns)->net_cookie);
}

/* @parent: listener of an incoming connection, or NULL: the calling process makes it */
static struct kal_ep *ep_alloc(struct ri_rnic *rnic, const struct kal_ep *parent,
			       kal_ep_handler handler, void *context, gfp_t gfp)
{
	struct kal_ep *ep = kzalloc(sizeof(*ep), gfp);

	if (!ep)
		return NULL;
	kref_init(&ep->kref);
	kal_rnic_get(rnic);
	ep->rnic = rnic;
	INIT_LIST_HEAD(&ep->node);
	INIT_LIST_HEAD(&ep->lane_node);
	INIT_LIST_HEAD(&ep->pending_node);
	kal_pending_init(&ep->pending);
	ep->lane = ep_lane_of(&ep, sizeof(ep), rnic);
	timer_setup(&ep->timer, ep_timer, 0);
	init_completion(&ep->ended);
	mutex_init(&ep->lock);
	INIT_LIST_HEAD(&ep->listen_node);
	ep->handler = handler;
	ep->context = context;
	if (parent) {
		kal_owner_copy(&ep->owner, &parent->owner);
		ep->net = parent->net;
	} else {
		kal_owner_init(&ep->owner);
		ep->net = ep_net_of(rnic);
	}
	if (xa_alloc_cyclic(&eps_table, &ep->id, NULL, XA_LIMIT(1, S32_MAX), &eps_next_id,
			    gfp) < 0)
		goto err;
	if (rnic->attr.caps & RI_CAP_LLP_OFFLOAD && kal_offload_alloc(ep, gfp))
		goto err;
	return ep;

err:
	kal_ep_put(ep);
	return NULL;
}

static void ep_publish(struct kal_ep *ep)
{
	/* the number is reserved, so the store allocates no memory and cannot fail */
	xa_store(&eps_table, ep->id, ep, 0);
	spin_lock(&eps_lock);
	list_add_tail(&ep->node, &ep->rnic->eps);
	WRITE_ONCE(ep->rnic->num_eps, ep->rnic->num_eps + 1);
	spin_unlock(&eps_lock);
}

static void ep_release(struct kref *kref)
{
	struct kal_ep *ep = container_of(kref, struct kal_ep, kref);

	timer_shutdown_sync(&ep->timer);
	if (ep->id)
		xa_erase(&eps_table, ep->id);
	kal_owner_exit(&ep->owner);
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
 * kal_ep_end() - end the endpoint's activity
 * @ep: endpoint
 * @abrupt: end at once; the endpoint is DEAD on return
 *
 * Context: may sleep; caller has a reference and no endpoint's lock.
 */
void kal_ep_end(struct kal_ep *ep, bool abrupt)
{
	mutex_lock(&ep->lock);
	kal_ep_step(ep, abrupt ? KAL_EP_IN_ABORT : KAL_EP_IN_DISCONNECT);
	kal_ep_unlock(ep);
	if (abrupt)
		wait_for_completion(&ep->ended);
}

/*
 * Get the first live endpoint of @rnic, with a reference. A live endpoint always has its
 * owner's.
 */
static struct kal_ep *ep_get_first(struct ri_rnic *rnic)
{
	struct kal_ep *ep;

	spin_lock(&eps_lock);
	ep = list_first_entry_or_null(&rnic->eps, struct kal_ep, node);
	if (ep)
		kal_ep_get(ep);
	spin_unlock(&eps_lock);
	return ep;
}

/**
 * kal_rnic_abort_eps() - end every endpoint of an RNIC
 * @rnic: RNIC that is not live any more
 *
 * Each endpoint has reported its end on return. The owners still have to destroy their
 * endpoints. Context: may sleep.
 */
void kal_rnic_abort_eps(struct ri_rnic *rnic)
{
	struct kal_ep *ep;

	while ((ep = ep_get_first(rnic))) {
		kal_ep_end(ep, true);
		kal_ep_put(ep);
	}
}

/* The state is only a hint, because the endpoint's lock is not held. */
static bool ep_is_attempt(const struct kal_ep *ep, kal_ep_handler handler)
{
	const enum kal_ep_state state = READ_ONCE(ep->state);

	return READ_ONCE(ep->handler) == handler &&
	       (state == KAL_EP_CONNECTING || state == KAL_EP_REPLY_WAIT);
}

/*
 * Move the first endpoint to the end of the list. Return: the endpoint with a reference if it
 * is an attempt of @handler, else NULL.
 */
static struct kal_ep *ep_rotate(struct ri_rnic *rnic, kal_ep_handler handler)
{
	struct kal_ep *ep;

	spin_lock(&eps_lock);
	ep = list_first_entry_or_null(&rnic->eps, struct kal_ep, node);
	if (ep) {
		list_move_tail(&ep->node, &rnic->eps);
		if (ep_is_attempt(ep, handler))
			kal_ep_get(ep);
		else
			ep = NULL;
	}
	spin_unlock(&eps_lock);
	return ep;
}

/**
 * kal_rnic_abort_attempts() - end connection attempts that wait for their peers
 * @rnic: RNIC that is not live any more
 * @handler: only endpoints with this handler
 *
 * Each attempt has reported its failure on return. One call at a time for an RNIC.
 * Context: may sleep.
 */
void kal_rnic_abort_attempts(struct ri_rnic *rnic, kal_ep_handler handler)
{
	unsigned int left = READ_ONCE(rnic->num_eps);
	struct kal_ep *ep;

	for (; left; left--) {
		ep = ep_rotate(rnic, handler);
		if (!ep)
			continue;
		kal_ep_end(ep, true);
		kal_ep_put(ep);
	}
}

/* Make room for another pending connection if necessary. Return: true if there is room. */
static bool ep_make_room(struct kal_ep *parent)
{
	unsigned int tries = EVICTIONS;
	struct kal_ep *victim;

	while (READ_ONCE(parent->pending.count) >= READ_ONCE(kal_max_pending)) {
		victim = tries-- ? kal_pending_victim(parent) : NULL;
		if (!victim)
			return false;
		if (mutex_trylock(&victim->lock)) {
			kal_ep_step(victim, KAL_EP_IN_EVICT);
			kal_ep_unlock(victim);
		}
		kal_ep_put(victim);
	}
	return true;
}

/* Allocate the endpoint of an incoming connection. On success the endpoint owns the socket. */
static struct kal_ep *ep_alloc_child(struct kal_ep *parent, struct socket *sock,
				     void (*data_ready)(struct sock *sk), gfp_t gfp)
{
	struct kal_ep *ep = ep_alloc(parent->rnic, parent, parent->handler, parent->context, gfp);
	struct kal_llp *llp;

	if (!ep)
		return NULL;
	llp = kal_llp_adopt(sock, data_ready, parent->memcg, gfp);
	if (IS_ERR(llp))
		goto err_ep;
	ep->startup = kal_startup_alloc(parent->rnic, &llp->ri.remote, gfp);
	if (!ep->startup)
		goto err_llp;
	ep->llp = llp;
	ep->lane = parent->lane;
	ep->state = KAL_EP_REQUEST_WAIT;
	if (!kal_pending_add(parent, ep, gfp))
		return ep;
	kfree(ep->startup);
err_llp:
	kfree(llp);
err_ep:
	kal_ep_put(ep);
	return NULL;
}

/*
 * The same as ep_alloc_child(), charged to the listener's memory cgroup instead of this
 * thread's.
 */
static struct kal_ep *ep_alloc_charged(struct kal_ep *parent, struct socket *sock,
				       void (*data_ready)(struct sock *sk))
{
	struct mem_cgroup *before = set_active_memcg(parent->memcg);
	struct kal_ep *ep;

	ep = ep_alloc_child(parent, sock, data_ready,
			    parent->memcg ? KAL_GFP_REQUEST : GFP_KERNEL);
	set_active_memcg(before);
	return ep;
}

/* Wait for the Request of a new child, which no other thread knows. */
static void ep_start_child(struct kal_ep *ep)
{
	kal_ep_get(ep);
	/* nobody has it; published, it may be ended before it is hooked */
	mutex_trylock(&ep->lock);
	kal_ep_arm(ep, &kal_mpa_request_timeout_ms);
	ep_publish(ep);
	kal_llp_hook(ep->llp, kal_ep_notify, ep);
	kal_ep_unlock(ep);
	kal_ep_notify(ep);
	kal_ep_put(ep);
}

/**
 * kal_ep_incoming() - handle an incoming connection of a listener
 * @parent: listener
 * @sock: socket of the connection, always consumed
 * @data_ready: callback of a socket without hooks
 *
 * The kAL owns the new endpoint until the consumer takes it. If too many connections are
 * pending, the oldest silent one is evicted.
 *
 * Context: may sleep; one call at a time for a listener.
 */
void kal_ep_incoming(struct kal_ep *parent, struct socket *sock,
		     void (*data_ready)(struct sock *sk))
{
	enum kal_counter refused = KAL_CNT_LISTEN_OVERFLOW;
	struct kal_ep *ep = NULL;

	kal_count(parent->rnic, KAL_CNT_CONN_PASSIVE);
	if (ep_make_room(parent)) {
		refused = KAL_CNT_LISTEN_NO_MEMORY;
		ep = ep_alloc_charged(parent, sock, data_ready);
	}
	if (!ep) {
		kal_count(parent->rnic, refused);
		sock_no_linger(sock->sk);
		sock_release(sock);
		return;
	}
	if (parent->tos_set)
		kal_sock_set_tos(sock, parent->tos);
	ep_start_child(ep);
}

/*
 * The only connection of listener @parent is a consumer's socket, which stays the consumer's on
 * error. The lock of @parent is held; may sleep.
 */
static int ep_listen_socket(struct kal_ep *parent, const struct kal_ep_listen_arg *arg)
{
	struct kal_ep *ep;
	int err;

	kal_count(parent->rnic, KAL_CNT_CONN_PASSIVE);
	ep = ep_alloc_child(parent, arg->sock, arg->sock->sk->sk_data_ready, GFP_KERNEL_ACCOUNT);
	if (!ep)
		return -ENOMEM;
	err = kal_llp_send_last(ep->llp, arg->last, arg->last_len);
	if (err) {
		kfree(ep->startup);
		kfree(ep->llp);
		kal_ep_drop_child(ep);
		return err;
	}
	ep_start_child(ep);
	return 0;
}

/**
 * kal_ep_new_child() - allocate the endpoint of a request that an RNIC got itself
 * @parent: listener with a struct ri_conn
 *
 * Return: the endpoint, charged to the listener's memory cgroup, or an ERR_PTR: -ENOBUFS
 * (max_pending), -ENOMEM. Context: may sleep.
 */
struct kal_ep *kal_ep_new_child(struct kal_ep *parent)
{
	struct mem_cgroup *before;
	struct kal_ep *ep;

	kal_count(parent->rnic, KAL_CNT_CONN_PASSIVE);
	before = set_active_memcg(parent->memcg);
	ep = ep_alloc(parent->rnic, parent, parent->handler, parent->context,
		      parent->memcg ? KAL_GFP_REQUEST : GFP_KERNEL);
	set_active_memcg(before);
	if (!ep) {
		kal_count(parent->rnic, KAL_CNT_LISTEN_NO_MEMORY);
		return ERR_PTR(-ENOMEM);
	}
	if (!kal_pending_reserve(parent, ep, READ_ONCE(kal_max_pending))) {
		kal_count(parent->rnic, KAL_CNT_LISTEN_OVERFLOW);
		kal_offload_free(ep);
		kal_ep_put(ep);
		return ERR_PTR(-ENOBUFS);
	}
	ep->lane = parent->lane;
	ep->state = KAL_EP_REQUEST_READY;
	return ep;
}

/* Forget a new child. No other thread knows it. May sleep. */
void kal_ep_drop_child(struct kal_ep *ep)
{
	kal_pending_remove(ep);
	kal_ep_put(ep);
}

/*
 * Queue the request of a new child for the consumer of listener @parent. No endpoint's lock is
 * taken: the caller may hold locks that the connection operations take. May sleep.
 */
void kal_ep_request(struct kal_ep *parent, struct kal_ep *ep)
{
	kal_ep_arm(ep, &kal_accept_timeout_ms);
	kal_ep_get(ep);
	/* from here on another thread may end it */
	ep_publish(ep);
	kal_pending_add_ready(parent, ep);
	kal_ep_signal_ready(parent);
	kal_ep_put(ep);
}

/* The consumer's calls ***************************************************** */

struct kal_ep *kal_ep_create(struct ri_rnic *rnic, kal_ep_handler handler, void *context)
{
	struct kal_ep *ep;

	ep = ep_alloc(rnic, NULL, handler, context, GFP_KERNEL_ACCOUNT);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep_publish(ep);
	/*
	 * By eps_lock, this thread sees that the RNIC goes, or kal_rnic_abort_eps() sees the
	 * endpoint.
	 */
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
	guard(kal_ep)(ep);
	info->state = kal_ep_state_name(ep->state);
	if (ep->deadline && time_after(ep->deadline, now))
		info->expires_ms = jiffies_to_msecs(ep->deadline - now);
	if (ep->llp && (ep->state == KAL_EP_CONNECTED || ep->state == KAL_EP_CLOSING)) {
		info->connected = true;
		info->mpa = ep->llp->ri.mpa;
	} else if (ep->state == KAL_EP_LISTENING) {
		info->listening = true;
		info->pending = READ_ONCE(ep->pending.count);
		if (!ep->conn)
			kal_listen_query(ep, info);
	}
}
EXPORT_SYMBOL_GPL(kal_ep_query);

/* The administrator's view ************************************************** */

/**
 * kal_ep_next() - the first endpoint whose number is not below *@id
 * @id: smallest number; on return the endpoint's
 *
 * Return: the endpoint with a reference, or NULL. Context: process.
 */
struct kal_ep *kal_ep_next(u32 *id)
{
	unsigned long index = *id;
	struct kal_ep *ep;

	xa_lock(&eps_table);
	ep = xa_find(&eps_table, &index, ULONG_MAX, XA_PRESENT);
	/* what is in the table has its owner's reference */
	if (ep)
		kal_ep_get(ep);
	xa_unlock(&eps_table);
	*id = index;
	return ep;
}

/* Fill in what never changes, or only once. Any context. */
void kal_ep_view_owner(const struct kal_ep *ep, struct kal_ep_view *view)
{
	*view = (struct kal_ep_view) {
		.rnic = ep->rnic,
		.owner = &ep->owner,
		.net = READ_ONCE(ep->net),
	};
}

static void ep_view_addresses(struct kal_ep *ep, struct kal_ep_view *view)
{
	if (view->listener) {
		if (ep->conn)
			view->local = ep->conn->info.local;
		else if (kal_listen_address(ep, &view->local))
			view->state = "deaf";
	} else if (ep->conn) {
		view->local = ep->conn->info.local;
		view->remote = ep->conn->info.remote;
	} else if (ep->llp && ep->llp->ri.remote.ss_family) {
		view->local = ep->llp->ri.local;
		view->remote = ep->llp->ri.remote;
	} else if (ep->startup) {
		view->local = ep->startup->from;
		view->remote = ep->startup->to;
	}
}

static void ep_view_name(struct kal_ep_view *view, enum kal_ep_state state)
{
	view->listener = state == KAL_EP_LISTENING;
	if (state != KAL_EP_IDLE && state != KAL_EP_DEAD)
		view->state = kal_ep_state_name(state);
}

/**
 * kal_ep_view_state() - fill in the state, the addresses and the QP
 * @ep: endpoint; the caller holds a reference
 * @view: view of kal_ep_view_owner()
 * @patience: how often the caller will wait for a taken lock, for all its calls together. After
 *	that there is the state alone: a thread of a user may hold the lock for long, and the
 *	administrator wants to see the others.
 *
 * Context: may sleep.
 */
void kal_ep_view_state(struct kal_ep *ep, struct kal_ep_view *view, unsigned int *patience)
{
	while (!mutex_trylock(&ep->lock)) {
		if (!*patience) {
			ep_view_name(view, READ_ONCE(ep->state));
			return;
		}
		--*patience;
		usleep_range(1000, 2000);
	}
	ep_view_name(view, ep->state);
	if (view->state)
		ep_view_addresses(ep, view);
	if (ep->qp && view->state)
		view->qp = ep->qp->obj.id;
	kal_ep_unlock(ep);
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
		ep->lane = ep_lane_to(ep->rnic, arg->remote);
	ep_note_net(ep, arg->param->net);
	err = ep_call_locked(ep, KAL_EP_IN_CONNECT, arg);
	if (!err && ep->llp)
		ep_look_at_once(ep);
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
