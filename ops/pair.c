// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Who is the other end? The two initial sequence numbers of a TCP connection are 64 bits that only
 * its ends know, and what reads its packets. Each marked end enters them into one table of the host
 * when it is established; the second one finds the first, and they are a pair from then on.
 *
 * Addresses and ports must be each other's, too, unless the parameter "nat" allows others: a port
 * forward on the host keeps the numbers and changes the addresses. Ends in two network namespaces
 * need a rule in each: a program cannot reach past its namespace by asking. The owner of a
 * namespace can make an end with any numbers, if he sees them in packets: what each end has
 * received must be what the other has sent, no loopback address leads to another namespace, and an
 * end of the same namespace comes first.
 *
 * A peer chooses one of the numbers and sees the other, so the hash has a key.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "names.h"
#include "ops.h"

#define PAIR_BITS	14

static bool pair_nat;
module_param_named(nat, pair_nat, bool, 0644);
MODULE_PARM_DESC(nat, "Ends whose addresses differ because of NAT on this host may pair, too");

static unsigned int pair_ring_bytes = 512 << 10;
module_param_named(ring_bytes, pair_ring_bytes, uint, 0644);
MODULE_PARM_DESC(ring_bytes,
		 "Bytes that each direction of a same-host connection may hold (default 524288)");

static struct pair_bucket {
	spinlock_t lock;		/* protects the next one */
	struct hlist_head ends;
} *pair_table;

static siphash_key_t pair_key __read_mostly;

static struct pair_bucket *pair_bucket(const struct ops_name *name)
{
	return &pair_table[siphash_2u32(name->active, name->passive, &pair_key) &
			   ((1 << PAIR_BITS) - 1)];
}

void ops_addresses(const struct sock *sk, struct in6_addr *local, struct in6_addr *remote)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		*local = sk->sk_v6_rcv_saddr;
		*remote = sk->sk_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_saddr, local);
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_daddr, remote);
}

/* Do two sockets have each other's addresses? */
static bool pair_addresses(const struct sock *a, const struct sock *b)
{
	struct in6_addr a_local, a_remote, b_local, b_remote;

	if (inet_sk(a)->inet_sport != inet_sk(b)->inet_dport ||
	    inet_sk(a)->inet_dport != inet_sk(b)->inet_sport)
		return false;
	ops_addresses(a, &a_local, &a_remote);
	ops_addresses(b, &b_local, &b_remote);
	return ipv6_addr_equal(&a_local, &b_remote) && ipv6_addr_equal(&a_remote, &b_local);
}

/* Does what the rules say of an end allow the same-host road? */
static bool pair_allows(const struct ops_sock *os)
{
	if (os->must)
		return false;
	return os->choice.action != KRDMA_OFFLOAD_ACTION_NAMED ||
	       !strcmp(os->choice.road, ops_local_road.name);
}

static bool pair_has_loopback(const struct sock *sk)
{
	struct in6_addr local, remote;

	ops_addresses(sk, &local, &remote);
	return ipv6_addr_loopback(&local) || ipv6_addr_loopback(&remote) ||
	       ipv6_addr_v4mapped_loopback(&local) || ipv6_addr_v4mapped_loopback(&remote);
}

/*
 * Has @to received what @from has sent, and no less than it knows to be there? The other end is
 * not locked: the one that can only be left behind is read first. write_seq, as a packet may arrive
 * before snd_nxt has moved.
 */
static bool pair_positions(const struct sock *from, const struct sock *to)
{
	u32 acked = READ_ONCE(tcp_sk(from)->snd_una), received;

	/* in the order in which they grow */
	smp_rmb();
	received = READ_ONCE(tcp_sk(to)->rcv_nxt);
	/* likewise */
	smp_rmb();
	return !before(received, acked) && !after(received, READ_ONCE(tcp_sk(from)->write_seq));
}

static bool pair_namespaces(const struct ops_sock *a, const struct ops_sock *b)
{
	if (net_eq(a->net, b->net))
		return true;
	return a->ruled && b->ruled && !pair_has_loopback(a->sk) && !pair_has_loopback(b->sk);
}

static bool pair_matches(const struct ops_sock *a, const struct ops_sock *b)
{
	if (a->name.active != b->name.active || a->name.passive != b->name.passive ||
	    a->active == b->active || !pair_namespaces(a, b))
		return false;
	if (!READ_ONCE(pair_nat) && !pair_addresses(a->sk, b->sk))
		return false;
	return pair_positions(a->sk, b->sk) && pair_positions(b->sk, a->sk);
}

/* Bytes that may be unread: what both programs asked for, if they did. */
static u32 pair_limit(const struct sock *sender, const struct sock *receiver)
{
	const u32 most = clamp(READ_ONCE(pair_ring_bytes), 16384U, 16U << 20);
	u32 limit = 0;

	limit += sender->sk_userlocks & SOCK_SNDBUF_LOCK ? READ_ONCE(sender->sk_sndbuf) : most;
	limit += receiver->sk_userlocks & SOCK_RCVBUF_LOCK ? READ_ONCE(receiver->sk_rcvbuf) : most;
	return clamp(limit, 8192U, most);
}

static struct ops_pair *pair_alloc(struct ops_sock *first, struct ops_sock *second)
{
	struct mem_cgroup *old = set_active_memcg(first->sk->sk_memcg ?: second->sk->sk_memcg);
	struct ops_pair *pair = kzalloc(sizeof(*pair), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	int i;

	set_active_memcg(old);
	if (!pair)
		return NULL;
	refcount_set(&pair->refs, 2);
	spin_lock_init(&pair->lock);
	INIT_LIST_HEAD(&pair->node);
	for (i = 0; i < 2; i++)
		mutex_init(&pair->dir[i].mutex);
	pair->dir[0].limit = pair_limit(first->sk, second->sk);
	pair->dir[1].limit = pair_limit(second->sk, first->sk);
	return pair;
}

static void pair_set(struct ops_sock *os, struct ops_pair *pair, u8 side, struct sock *peer)
{
	sock_hold(peer);
	os->peer = peer;
	os->side = side;
	/* pairs with ops_pair_of() */
	smp_store_release(&os->pair, pair);
	ops_count(os->net, OPS_COUNT_PAIRED);
}

static bool pair_charge(struct ops_sock *os)
{
	if (!os->charged)
		os->charged = ops_charge(os->net, KRDMA_OFFLOAD_LIMIT_CONNECTIONS, 1);
	return os->charged;
}

/* A child of a listener that was shut down: TCP ends it, and its first byte is to come by TCP. */
static void pair_shut(struct ops_sock *os)
{
	if (READ_ONCE(os->rx_shut) && READ_ONCE(os->sk->sk_shutdown) == SHUTDOWN_MASK)
		WRITE_ONCE(ops_rx(os)->shut, true);
}

/* With the bucket's lock. @first is the one that was there. */
static void pair_join(struct ops_sock *first, struct ops_sock *second)
{
	struct ops_pair *pair;

	if (!pair_charge(first) || !pair_charge(second)) {
		first->why = OPS_COUNT_LIMIT;
		second->why = OPS_COUNT_LIMIT;
		return;
	}
	pair = pair_alloc(first, second);
	if (!pair) {
		ops_count(second->net, OPS_COUNT_MEMORY);
		first->why = OPS_COUNT_MEMORY;
		second->why = OPS_COUNT_MEMORY;
		return;
	}
	pair_set(first, pair, 0, second->sk);
	pair_set(second, pair, 1, first->sk);
	pair_shut(first);
	pair_shut(second);
}

/* With the bucket's lock. */
static struct ops_sock *pair_find(struct pair_bucket *bucket, const struct ops_sock *os)
{
	struct ops_sock *other, *found = NULL;

	hlist_for_each_entry(other, &bucket->ends, node) {
		if (!pair_matches(other, os))
			continue;
		found = other;
		if (net_eq(other->net, os->net))
			break;
	}
	return found;
}

/**
 * ops_pair_enter() - an end is established
 * @os: its context
 *
 * Context: softirq or process, with TCP's lock; RCU.
 */
void ops_pair_enter(struct ops_sock *os)
{
	const struct tcp_sock *tp = tcp_sk(os->sk);
	struct pair_bucket *bucket;
	struct ops_sock *other;
	u32 own, peer;

	if (os->entered || os->pair || tp->repair)
		return;
	own = ops_isn_own(tp->snd_una, tp->bytes_acked, os->active);
	peer = ops_isn_peer(tp->rcv_nxt, tp->bytes_received);
	os->name.active = os->active ? own : peer;
	os->name.passive = os->active ? peer : own;

	bucket = pair_bucket(&os->name);
	spin_lock_bh(&bucket->lock);
	other = pair_find(bucket, os);
	if (other && pair_allows(other) && pair_allows(os)) {
		hlist_del_init(&other->node);
		other->entered = false;
		pair_join(other, os);
	} else {
		os->entered = true;
		hlist_add_head(&os->node, &bucket->ends);
	}
	spin_unlock_bh(&bucket->lock);
	if (!os->pair && os->active)
		ops_road_begin(os);
}

/**
 * ops_pair_withdraw() - nobody finds this end any more
 * @os: its context, with TCP's lock
 *
 * It has its pair when this returns, or will have none. Context: any but hard interrupt.
 */
void ops_pair_withdraw(struct ops_sock *os)
{
	struct pair_bucket *bucket = pair_bucket(&os->name);

	spin_lock_bh(&bucket->lock);
	if (os->entered) {
		hlist_del_init(&os->node);
		os->entered = false;
	}
	spin_unlock_bh(&bucket->lock);
}

/**
 * ops_pair_leave() - an end has ended, or lost its mark
 * @os: its context
 *
 * The pair stays as long as the other end: there may be bytes that it has not read. Context: any
 * but hard interrupt.
 */
void ops_pair_leave(struct ops_sock *os)
{
	struct pair_bucket *bucket = pair_bucket(&os->name);
	struct ops_pair *pair;

	ops_road_listens(os, false);
	spin_lock_bh(&bucket->lock);
	if (os->entered) {
		hlist_del_init(&os->node);
		os->entered = false;
	}
	if (os->charged) {
		os->charged = false;
		ops_uncharge(os->net, KRDMA_OFFLOAD_LIMIT_CONNECTIONS, 1);
	}
	spin_unlock_bh(&bucket->lock);
	pair = ops_pair_of(os);
	if (!pair)
		return;
	spin_lock_bh(&pair->lock);
	pair->refused = true;
	spin_unlock_bh(&pair->lock);
	/* the end of file is close()'s or shutdown()'s word: this may be a reset */
	WRITE_ONCE(ops_rx(os)->closed, true);
	ops_wake_readers(os->peer);
	ops_wake_writers(os->peer);
}

void ops_pair_put(struct ops_pair *pair)
{
	if (refcount_dec_and_test(&pair->refs))
		ops_local_pair_free(pair);
}

/* For other hosts *********************************************************** */

struct offload_name_bytes {
	struct in6_addr active_address;
	struct in6_addr passive_address;
	__be16 active_port;
	__be16 passive_port;
	__be32 what;
} __packed;

void offload_conn_name(struct offload_conn *conn, bool answer, u8 name[OFFLOAD_NAME_HASH])
{
	const struct ops_sock *os = &conn->os;
	const struct inet_sock *inet = inet_sk(os->sk);
	struct offload_name_bytes bytes = { .what = cpu_to_be32(answer ? 2 : 1) };
	siphash_key_t key = { .key = { (u64)os->name.active << 32 | os->name.passive,
				       OPS_HEADER_MAGIC } };
	__le64 hash;

	if (os->active) {
		ops_addresses(os->sk, &bytes.active_address, &bytes.passive_address);
		bytes.active_port = inet->inet_sport;
		bytes.passive_port = inet->inet_dport;
	} else {
		ops_addresses(os->sk, &bytes.passive_address, &bytes.active_address);
		bytes.active_port = inet->inet_dport;
		bytes.passive_port = inet->inet_sport;
	}
	hash = cpu_to_le64(siphash(&bytes, sizeof(bytes), &key));
	memcpy(name, &hash, OFFLOAD_NAME_HASH);
}
EXPORT_SYMBOL_GPL(offload_conn_name);

int ops_pair_init(void)
{
	int i;

	pair_table = kvcalloc(1 << PAIR_BITS, sizeof(*pair_table), GFP_KERNEL);
	if (!pair_table)
		return -ENOMEM;
	for (i = 0; i < 1 << PAIR_BITS; i++)
		spin_lock_init(&pair_table[i].lock);
	get_random_bytes(&pair_key, sizeof(pair_key));
	return 0;
}

void ops_pair_exit(void)
{
	kvfree(pair_table);
}
