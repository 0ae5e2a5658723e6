// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The negative cache: peers that a road did not reach.
 *
 * The opening of roads puts a peer here when a road failed there, and does not try the road with
 * this peer again for the time of the limit "bad-peer-s"; nobody waits for a road, so that all the
 * cache saves is work. The port is part of the key: the peer's rules may take one port and not
 * another. A caller that means the whole host gives port 0 to all three functions. The cache is
 * bounded; a new entry drives out the oldest. An entry whose time is over stays until then and is
 * not looked at.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "pernet.h"

/* zero where nothing is said, because it is hashed and compared as bytes */
struct ops_peer_key {
	char road[OFFLOAD_NAME_MAX];
	struct in6_addr address;
	u32 scope;
	__be16 port;
	u16 zero;
};

struct ops_peer {
	struct rhash_head hash;
	struct list_head node;
	struct rcu_head rcu;
	struct ops_peer_key key;
	unsigned long until;
};

static const struct rhashtable_params peers_params = {
	.head_offset = offsetof(struct ops_peer, hash),
	.key_offset = offsetof(struct ops_peer, key),
	.key_len = sizeof(struct ops_peer_key),
	.automatic_shrinking = true,
};

/* Return: false: no address of IPv4 or IPv6 */
static bool peers_key(struct ops_peer_key *key, const char *road,
		      const struct sockaddr_storage *peer)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

	memset(key, 0, sizeof(*key));
	if (road)
		strscpy(key->road, road, sizeof(key->road));
	switch (peer->ss_family) {
	case AF_INET:
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &key->address);
		key->port = in->sin_port;
		return true;
	case AF_INET6:
		key->address = in6->sin6_addr;
		key->port = in6->sin6_port;
		if (ipv6_addr_type(&key->address) & IPV6_ADDR_LINKLOCAL)
			key->scope = in6->sin6_scope_id;
		return true;
	default:
		return false;
	}
}

/* with the lock */
static void peers_drop(struct ops_net *ops, struct ops_peer *peer)
{
	rhashtable_remove_fast(&ops->peers, &peer->hash, peers_params);
	list_del(&peer->node);
	WRITE_ONCE(ops->peers_num, ops->peers_num - 1);
	kfree_rcu(peer, rcu);
}

/**
 * ops_peer_is_bad() - did the road fail at this peer a short time ago?
 * @net: network namespace
 * @road: name
 * @peer: address and port; port 0: the host
 *
 * Context: any but hard interrupt.
 */
bool ops_peer_is_bad(struct net *net, const char *road,
		     const struct sockaddr_storage *peer)
{
	struct ops_net *ops = ops_net(net);
	const struct ops_peer *found;
	struct ops_peer_key key;
	bool bad;

	if (!READ_ONCE(ops->peers_num) || !peers_key(&key, road, peer))
		return false;
	rcu_read_lock();
	found = rhashtable_lookup(&ops->peers, &key, peers_params);
	bad = found && time_before(jiffies, READ_ONCE(found->until));
	rcu_read_unlock();
	return bad;
}

/* with the lock; a peer that is known already begins anew */
static void peers_add(struct ops_net *ops, struct ops_peer *fresh)
{
	u64 max = ops_net_limit(ops, KRDMA_OFFLOAD_LIMIT_PEERS);
	struct ops_peer *known = rhashtable_lookup_fast(&ops->peers, &fresh->key, peers_params);

	if (known) {
		WRITE_ONCE(known->until, fresh->until);
		list_move_tail(&known->node, &ops->peers_list);
		kfree(fresh);
		return;
	}
	while (ops->peers_num && ops->peers_num >= max)
		peers_drop(ops, list_first_entry(&ops->peers_list, struct ops_peer, node));
	if (!max ||
	    rhashtable_insert_fast(&ops->peers, &fresh->hash, peers_params)) {
		kfree(fresh);
		return;
	}
	list_add_tail(&fresh->node, &ops->peers_list);
	WRITE_ONCE(ops->peers_num, ops->peers_num + 1);
}

/**
 * ops_peer_bad() - remember that the road failed at this peer
 * @net: network namespace
 * @road: name
 * @peer: address and port; port 0: the host
 *
 * Without memory nothing is remembered. Context: any but hard interrupt.
 */
void ops_peer_bad(struct net *net, const char *road,
		  const struct sockaddr_storage *peer)
{
	struct ops_net *ops = ops_net(net);
	unsigned int seconds = min(ops_net_limit(ops, KRDMA_OFFLOAD_LIMIT_BAD_PEER_S), 86400ULL);
	struct ops_peer *fresh;

	if (!seconds)
		return;
	fresh = kzalloc(sizeof(*fresh), GFP_ATOMIC | __GFP_NOWARN);
	if (!fresh)
		return;
	if (!peers_key(&fresh->key, road, peer)) {
		kfree(fresh);
		return;
	}
	fresh->until = jiffies + seconds * HZ;
	spin_lock_bh(&ops->peers_lock);
	peers_add(ops, fresh);
	spin_unlock_bh(&ops->peers_lock);
}

static void peers_forget(struct ops_net *ops, const char *road,
			 const struct ops_peer_key *key)
{
	struct ops_peer *peer, *next;

	if (!READ_ONCE(ops->peers_num))
		return;
	spin_lock_bh(&ops->peers_lock);
	list_for_each_entry_safe(peer, next, &ops->peers_list, node) {
		if (road && strcmp(peer->key.road, road))
			continue;
		if (key && !ipv6_addr_equal(&peer->key.address, &key->address))
			continue;
		if (key && key->port && peer->key.port != key->port)
			continue;
		peers_drop(ops, peer);
	}
	spin_unlock_bh(&ops->peers_lock);
}

/**
 * ops_peers_forget() - the road may try these peers again
 * @net: network namespace; NULL: all of them
 * @road: name; NULL: all of them
 * @address: of a peer, with port 0: at all ports; NULL: all peers
 *
 * Context: any but hard interrupt.
 */
void ops_peers_forget(struct net *net, const char *road,
		      const struct sockaddr_storage *address)
{
	struct ops_peer_key key;

	if (address && !peers_key(&key, road, address))
		return;
	if (net) {
		peers_forget(ops_net(net), road, address ? &key : NULL);
		return;
	}
	rcu_read_lock();
	for_each_net_rcu(net)
		peers_forget(ops_net(net), road, address ? &key : NULL);
	rcu_read_unlock();
}

/**
 * ops_peers_init() - make the cache of a network namespace
 * @ops: network namespace
 *
 * Return: 0 or -ENOMEM.
 */
int ops_peers_init(struct ops_net *ops)
{
	INIT_LIST_HEAD(&ops->peers_list);
	spin_lock_init(&ops->peers_lock);
	return rhashtable_init(&ops->peers, &peers_params);
}

static void peers_free(void *peer, void *unused)
{
	kfree(peer);
}

/**
 * ops_peers_exit() - free it; there is no look-up any more
 * @ops: network namespace
 */
void ops_peers_exit(struct ops_net *ops)
{
	rhashtable_free_and_destroy(&ops->peers, peers_free, NULL);
}
