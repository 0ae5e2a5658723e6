// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The negative cache: peers that an offload protocol did not reach.
 *
 * connect.c puts a peer here when a protocol failed there, and does not ask the protocol about
 * this peer again for bad_peer_s seconds. The port is part of the key: a protocol may be refused
 * at one port and have a listener at another. The cache is bounded; a new entry drives out the
 * oldest. An entry whose time is over stays until then and is not looked at.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "policy.h"

unsigned int ops_bad_peer_s = 60;
module_param_named(bad_peer_s, ops_bad_peer_s, uint, 0644);
MODULE_PARM_DESC(bad_peer_s,
		 "seconds for which a peer that an offload protocol did not reach goes by TCP; 0: none");

static unsigned int ops_max_peers = 1024;
module_param_named(max_peers, ops_max_peers, uint, 0644);
MODULE_PARM_DESC(max_peers, "unreachable peers that each network namespace remembers");

/* zero where nothing is said, because it is hashed and compared as bytes */
struct ops_peer_key {
	const struct ops_proto *proto;
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
static bool peers_key(struct ops_peer_key *key, const struct ops_proto *proto,
		      const struct sockaddr_storage *peer)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

	memset(key, 0, sizeof(*key));
	key->proto = proto;
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
 * ops_peer_is_bad() - did the protocol fail at this peer a short time ago?
 * @net: network namespace
 * @proto: protocol
 * @peer: address and port
 *
 * Context: any but hard interrupt.
 */
bool ops_peer_is_bad(struct net *net, const struct ops_proto *proto,
		     const struct sockaddr_storage *peer)
{
	struct ops_net *ops = ops_net(net);
	const struct ops_peer *found;
	struct ops_peer_key key;
	bool bad;

	if (!READ_ONCE(ops->peers_num) || !peers_key(&key, proto, peer))
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
	struct ops_peer *known = rhashtable_lookup_fast(&ops->peers, &fresh->key, peers_params);

	if (known) {
		WRITE_ONCE(known->until, fresh->until);
		list_move_tail(&known->node, &ops->peers_list);
		kfree(fresh);
		return;
	}
	while (ops->peers_num && ops->peers_num >= READ_ONCE(ops_max_peers))
		peers_drop(ops, list_first_entry(&ops->peers_list, struct ops_peer, node));
	if (!READ_ONCE(ops_max_peers) ||
	    rhashtable_insert_fast(&ops->peers, &fresh->hash, peers_params)) {
		kfree(fresh);
		return;
	}
	list_add_tail(&fresh->node, &ops->peers_list);
	WRITE_ONCE(ops->peers_num, ops->peers_num + 1);
}

/**
 * ops_peer_bad() - remember that the protocol failed at this peer
 * @net: network namespace
 * @proto: protocol; ops_peers_forget() is called before it leaves
 * @peer: address and port
 *
 * Without memory nothing is remembered. Context: any but hard interrupt.
 */
void ops_peer_bad(struct net *net, const struct ops_proto *proto,
		  const struct sockaddr_storage *peer)
{
	unsigned int seconds = min(READ_ONCE(ops_bad_peer_s), 86400U);
	struct ops_net *ops = ops_net(net);
	struct ops_peer *fresh;

	if (!seconds)
		return;
	fresh = kzalloc(sizeof(*fresh), GFP_ATOMIC | __GFP_NOWARN);
	if (!fresh)
		return;
	if (!peers_key(&fresh->key, proto, peer)) {
		kfree(fresh);
		return;
	}
	fresh->until = jiffies + seconds * HZ;
	spin_lock_bh(&ops->peers_lock);
	peers_add(ops, fresh);
	spin_unlock_bh(&ops->peers_lock);
}

static void peers_forget(struct ops_net *ops, const struct ops_proto *proto,
			 const struct ops_peer_key *key)
{
	struct ops_peer *peer, *next;

	if (!READ_ONCE(ops->peers_num))
		return;
	spin_lock_bh(&ops->peers_lock);
	list_for_each_entry_safe(peer, next, &ops->peers_list, node) {
		if (proto && peer->key.proto != proto)
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
 * ops_peers_forget() - the protocol may try these peers again
 * @net: network namespace; NULL: all of them
 * @proto: protocol; NULL: all of them
 * @address: of a peer, with port 0: at all ports; NULL: all peers
 *
 * Context: any but hard interrupt.
 */
void ops_peers_forget(struct net *net, const struct ops_proto *proto,
		      const struct sockaddr_storage *address)
{
	struct ops_peer_key key;

	if (address && !peers_key(&key, proto, address))
		return;
	if (net) {
		peers_forget(ops_net(net), proto, address ? &key : NULL);
		return;
	}
	rcu_read_lock();
	for_each_net_rcu(net)
		peers_forget(ops_net(net), proto, address ? &key : NULL);
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
