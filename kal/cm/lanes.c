// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Signals of sockets, timers and providers, and the workers that process them.
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
#include <linux/jhash.h>
#include <linux/random.h>

#include <krdma/noio.h>
#include <krdma/compat.h>

#include "../core/core.h"
#include "endpoint.h"

#define LANES		64	/* more than the number of CPUs that make connections at one time */
#define LANE_BUDGET	64	/* endpoints of one turn, then other work runs */

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

static struct kal_lane *ep_lane_of(const void *key, size_t len, const struct ri_rnic *rnic)
{
	return &ep_lanes[jhash(key, len, ep_lane_seed ^ hash_ptr(rnic, 32)) % LANES];
}

/* Some lane of an endpoint that has no peer yet. */
struct kal_lane *kal_lane_any(const struct ri_rnic *rnic, const struct kal_ep *ep)
{
	return ep_lane_of(&ep, sizeof(ep), rnic);
}

/* The lane of connections to @remote, independent of the port. */
struct kal_lane *kal_lane_to(const struct ri_rnic *rnic, const struct sockaddr_storage *remote)
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

/* kal_ep.timer */
void kal_ep_timer(struct timer_list *t)
{
	struct kal_ep *ep = timer_container_of(ep, t, timer);

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
void kal_ep_look_at_once(struct kal_ep *ep)
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
