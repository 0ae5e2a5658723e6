// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of endpoints: of consumers' endpoints and of those of incoming connections. Consumers
 * call the kal_ep_*() and kal_qp_*() functions of krdma/kal.h. Providers call ri_llp_close() and
 * ri_llp_abort().
 *
 * - ep_table.c: the state table
 * - lanes.c: the workers that make inputs of the table of what happens to sockets and timers
 * - ep_calls.c: the consumer's calls
 * - ep_view.c: the state of endpoints for the administrator
 */
#include <linux/cleanup.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "../core/core.h"
#include "endpoint.h"

#define EVICTIONS	16	/* per new connection; more than 1 if max_pending was lowered */

static DEFINE_SPINLOCK(eps_lock);	/* protects ri_rnic.eps and ri_rnic.num_eps */

/* live endpoints by number, for kal_ep_next() */
static DEFINE_XARRAY_FLAGS(eps_table, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
static u32 eps_next_id;

/* Enter DEAD: release everything. No event is reported after this. */
void kal_ep_finish(struct kal_ep *ep)
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

/* The namespace of @rnic, if it has one only: it goes when its network device leaves that. */
static u64 ep_net_of(const struct ri_rnic *rnic)
{
	const struct net_device *ndev;

	guard(rcu)();
	ndev = READ_ONCE(rnic->netdev);
	return ndev ? dev_net(ndev)->net_cookie : 0;
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
	ep->lane = kal_lane_any(rnic, ep);
	timer_setup(&ep->timer, kal_ep_timer, 0);
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
int kal_ep_listen_on(struct kal_ep *parent, const struct kal_ep_listen_arg *arg)
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
