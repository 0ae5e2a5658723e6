// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The connections of a listener that have not been reported to the listener's consumer yet.
 * Called by endpoint.c and startup.c.
 *
 * A connection is silent until its MPA Request has arrived. After that it is ready. Silent
 * connections are counted for each peer address.
 *
 * The parameter max_pending limits the pending connections of a listener. At the limit, a new
 * connection evicts the oldest silent connection of the peer address that has the most silent
 * connections. A peer that opens connections and sends nothing therefore does not keep other
 * peers out.
 *
 * Ready connections wait in the order in which their Requests arrived.
 */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "endpoint.h"

/**
 * struct kal_peer - silent connections of one address
 * @node: entry in kal_pending.peers
 * @addr: address; IPv4 is mapped into IPv6
 * @count: entries of @eps
 * @eps: connections, oldest first
 */
struct kal_peer {
	struct list_head node;
	struct in6_addr addr;
	unsigned int count;
	struct list_head eps;
};

void kal_pending_init(struct kal_pending *pending)
{
	spin_lock_init(&pending->lock);
	INIT_LIST_HEAD(&pending->peers);
	INIT_LIST_HEAD(&pending->ready);
}

static struct in6_addr pending_addr(const struct sockaddr_storage *from)
{
	struct in6_addr addr;

	if (from->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)from)->sin6_addr;
	ipv6_addr_set_v4mapped(((const struct sockaddr_in *)from)->sin_addr.s_addr, &addr);
	return addr;
}

static struct kal_peer *pending_find_peer(struct kal_pending *pending,
					  const struct in6_addr *addr)
{
	struct kal_peer *peer;

	list_for_each_entry(peer, &pending->peers, node)
		if (ipv6_addr_equal(&peer->addr, addr))
			return peer;
	return NULL;
}

/**
 * kal_pending_add() - add a new connection, which is silent
 * @parent: listener; becomes @ep's parent with a reference
 * @ep: connection, with a stream
 * @gfp: flags for the allocation
 *
 * Return: 0 or -ENOMEM. Context: may sleep; one call at a time for a listener.
 */
int kal_pending_add(struct kal_ep *parent, struct kal_ep *ep, gfp_t gfp)
{
	const struct in6_addr addr = pending_addr(&ep->llp->ri.remote);
	struct kal_pending *pending = &parent->pending;
	struct kal_peer *peer, *new;

	new = kzalloc(sizeof(*new), gfp);
	if (!new)
		return -ENOMEM;
	new->addr = addr;
	INIT_LIST_HEAD(&new->eps);
	kal_ep_get(parent);
	ep->parent = parent;

	spin_lock(&pending->lock);
	peer = pending_find_peer(pending, &addr);
	if (!peer) {
		peer = new;
		new = NULL;
		list_add_tail(&peer->node, &pending->peers);
	}
	peer->count++;
	list_add_tail(&ep->pending_node, &peer->eps);
	ep->peer = peer;
	WRITE_ONCE(pending->count, pending->count + 1);
	spin_unlock(&pending->lock);
	kfree(new);
	return 0;
}

/* Remove a connection from its list. Return: an empty struct kal_peer to free, or NULL. */
static struct kal_peer *pending_leave_peer(struct kal_ep *ep)
{
	struct kal_peer *peer = ep->peer;

	lockdep_assert_held(&ep->parent->pending.lock);
	list_del_init(&ep->pending_node);
	ep->peer = NULL;
	if (!peer || --peer->count)
		return NULL;
	list_del(&peer->node);
	return peer;
}

/**
 * kal_pending_reserve() - count a new connection whose Request the RNIC has
 * @parent: listener; becomes @ep's parent with a reference
 * @ep: connection that no other thread knows
 * @max: limit of the listener's pending connections
 *
 * Return: false at the limit. Context: process context.
 */
bool kal_pending_reserve(struct kal_ep *parent, struct kal_ep *ep, unsigned int max)
{
	struct kal_pending *pending = &parent->pending;
	bool room;

	spin_lock(&pending->lock);
	room = pending->count < max;
	if (room)
		WRITE_ONCE(pending->count, pending->count + 1);
	spin_unlock(&pending->lock);
	if (!room)
		return false;
	kal_ep_get(parent);
	ep->parent = parent;
	return true;
}

/* Mark a reserved connection as ready, unless it is DEAD meanwhile. Process context. */
void kal_pending_add_ready(struct kal_ep *parent, struct kal_ep *ep)
{
	struct kal_pending *pending = &parent->pending;

	spin_lock(&pending->lock);
	if (ep->parent == parent)
		list_add_tail(&ep->pending_node, &pending->ready);
	spin_unlock(&pending->lock);
}

/**
 * kal_pending_ready() - mark a connection whose Request has arrived as ready
 * @ep: silent connection
 *
 * Context: endpoint's lock held.
 */
void kal_pending_ready(struct kal_ep *ep)
{
	struct kal_pending *pending = &ep->parent->pending;
	struct kal_peer *unused;

	spin_lock(&pending->lock);
	unused = pending_leave_peer(ep);
	list_add_tail(&ep->pending_node, &pending->ready);
	spin_unlock(&pending->lock);
	kfree(unused);
}

/**
 * kal_pending_remove() - remove a connection that the consumer took, or that is DEAD
 * @ep: connection; its reference to the listener is dropped
 *
 * Context: endpoint's lock held, may sleep.
 */
void kal_pending_remove(struct kal_ep *ep)
{
	struct kal_ep *parent = ep->parent;
	struct kal_pending *pending = &parent->pending;
	struct kal_peer *unused;

	spin_lock(&pending->lock);
	unused = pending_leave_peer(ep);
	WRITE_ONCE(pending->count, pending->count - 1);
	ep->parent = NULL;
	spin_unlock(&pending->lock);
	kfree(unused);
	kal_ep_put(parent);
}

/**
 * kal_pending_victim() - choose the silent connection to evict
 * @parent: listener
 *
 * Return: the oldest connection of the address that has most silent connections, with a
 * reference; NULL if none is silent. Context: process context.
 */
struct kal_ep *kal_pending_victim(struct kal_ep *parent)
{
	struct kal_pending *pending = &parent->pending;
	struct kal_peer *peer, *most = NULL;
	struct kal_ep *ep = NULL;

	spin_lock(&pending->lock);
	list_for_each_entry(peer, &pending->peers, node)
		if (!most || peer->count > most->count)
			most = peer;
	if (most) {
		ep = list_first_entry(&most->eps, struct kal_ep, pending_node);
		kal_ep_get(ep);
	}
	spin_unlock(&pending->lock);
	return ep;
}

/**
 * kal_pending_next() - get the ready connection to deliver next
 * @parent: listener
 *
 * Return: the connection with a reference, or NULL. Context: process context.
 */
struct kal_ep *kal_pending_next(struct kal_ep *parent)
{
	struct kal_pending *pending = &parent->pending;
	struct kal_ep *ep;

	spin_lock(&pending->lock);
	ep = list_first_entry_or_null(&pending->ready, struct kal_ep, pending_node);
	if (ep)
		kal_ep_get(ep);
	spin_unlock(&pending->lock);
	return ep;
}
