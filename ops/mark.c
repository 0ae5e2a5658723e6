// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Marks: which TCP sockets are ours, from when on, and how they become plain TCP again.
 *
 * The tracepoint inet_sock_set_state is called under TCP's lock for each change of state. When a
 * socket enters SYN_SENT or LISTEN, the rules are asked; a socket that a rule takes gets the upper
 * layer protocol "krdma" and its copy of tcp_prot (ulp.c). Children of a listener get theirs from
 * the protocol's clone. At ESTABLISHED both ends enter the table of pairs (pair.c).
 *
 * The probe runs with preemption off, in softirq too, and allocates without waiting. Where it
 * fails, the socket stays TCP's.
 */
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <net/mptcp.h>
#include <net/tcp_states.h>

#include "ops.h"

bool ops_down;

static struct kmem_cache *mark_cache;
static struct tracepoint *mark_tracepoint;

/* of a socket that nobody has taken */
void (*ops_sk_data_ready)(struct sock *sk) __read_mostly;
void (*ops_sk_write_space)(struct sock *sk) __read_mostly;
void (*ops_sk_state_change)(struct sock *sk) __read_mostly;

/* Contexts ****************************************************************** */

/**
 * ops_sock_alloc() - make the context of a socket
 * @sk: socket
 * @gfp: how
 *
 * Return: context with one reference, and one on the module; NULL. Context: as @gfp says.
 */
struct ops_sock *ops_sock_alloc(struct sock *sk, gfp_t gfp)
{
	struct offload_conn *conn;
	struct mem_cgroup *old;
	struct ops_sock *os;

	if (!try_module_get(THIS_MODULE))
		return NULL;
	old = set_active_memcg(sk->sk_memcg);
	conn = kmem_cache_zalloc(mark_cache, gfp | __GFP_NOWARN);
	set_active_memcg(old);
	if (!conn) {
		module_put(THIS_MODULE);
		return NULL;
	}
	os = &conn->os;
	refcount_set(&os->refs, 1);
	os->sk = sk;
	os->net = sock_net(sk);
	os->why = OPS_COUNTERS;
	os->retry = jiffies;
	mutex_init(&os->rx_mutex);
	atomic_set(&os->rx_lenders, 0);
	mutex_init(&os->tx_mutex);
	spin_lock_init(&os->lock);
	ops_road_prepare(os);
	return os;
}

static void mark_free(struct rcu_head *rcu)
{
	struct ops_sock *os = container_of(rcu, struct ops_sock, rcu);

	if (os->pair) {
		ops_pair_put(os->pair);
		sock_put(os->peer);
	}
	ops_road_free(os);
	if (os->sk_held)
		sock_put(os->sk);
	kmem_cache_free(mark_cache, ops_conn(os));
	module_put(THIS_MODULE);
}

void ops_sock_put(struct ops_sock *os)
{
	if (refcount_dec_and_test(&os->refs))
		call_rcu(&os->rcu, mark_free);
}

/* On and off **************************************************************** */

/**
 * ops_may_mark() - is this socket TCP's alone?
 * @sk: socket, with TCP's lock
 *
 * Sockets of the kernel, those with an upper layer protocol or a psock, of MPTCP, in repair, or
 * with callbacks of another user are left alone.
 */
bool ops_may_mark(const struct sock *sk)
{
	return !inet_csk(sk)->icsk_ulp_ops && !sk->sk_user_data && !sk->sk_kern_sock &&
	       !sk_is_mptcp(sk) && !tcp_sk(sk)->repair &&
	       sk->sk_data_ready == ops_sk_data_ready && ops_prot_of(sk->sk_prot);
}

/* With TCP's lock, and a reference on the module for icsk_ulp_ops. */
static void mark_install(struct sock *sk, struct ops_sock *os)
{
	os->base = sk->sk_prot;
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, os);
	inet_csk(sk)->icsk_ulp_ops = &ops_ulp;
	/* pairs with the calls: who finds our functions finds the context */
	smp_wmb();
	WRITE_ONCE(sk->sk_prot, ops_prot_of(os->base));
	ops_take_socket(os, sk);
	ops_view_add(os);
}

static struct ops_sock *mark_put_on(struct sock *sk)
{
	struct ops_sock *os;

	if (!try_module_get(THIS_MODULE))
		return NULL;
	os = ops_sock_alloc(sk, GFP_ATOMIC);
	if (!os) {
		module_put(THIS_MODULE);
		ops_count(sock_net(sk), OPS_COUNT_MEMORY);
		return NULL;
	}
	mark_install(sk, os);
	return os;
}

int ops_mark(struct sock *sk, const struct ops_choice *choice)
{
	struct ops_sock *os = mark_put_on(sk);

	if (!os)
		return -ENOMEM;
	os->choice = *choice;
	os->ruled = choice->rule;
	return 0;
}

int ops_mark_explicit(struct sock *sk, u16 must)
{
	struct ops_sock *os = mark_put_on(sk);

	if (!os)
		return -ENOMEM;
	os->explicit = true;
	os->must = must;
	return 0;
}

/**
 * ops_unmark() - make a socket plain TCP again
 * @sk: socket, with TCP's lock
 * @os: its context
 * @why: counter
 *
 * Calls that run keep the context, see @dead, and go on with TCP. Context: process.
 */
void ops_unmark(struct sock *sk, struct ops_sock *os, enum ops_counter why)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (READ_ONCE(os->dead))
		return;
	WRITE_ONCE(os->dead, true);
	os->why = why;
	ops_give_socket(os, sk);
	WRITE_ONCE(sk->sk_prot, os->base);
	/* who finds no context finds TCP's functions */
	smp_wmb();
	RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	WRITE_ONCE(icsk->icsk_ulp_ops, NULL);
	/* pairs with ops_sock_of(): before the context of another protocol */
	smp_wmb();
	ops_pair_leave(os);
	ops_view_del(os);
	ops_count(os->net, OPS_COUNT_UNMARKED);
	/* readers of ours go on with TCP */
	if (sk->sk_socket)
		sk->sk_state_change(sk);
	module_put(THIS_MODULE);	/* of icsk_ulp_ops */
	ops_sock_put(os);
}

/* TCP carries all bytes of this direction, and the receiver knows. With the pair's lock. */
static bool mark_is_tcp(const struct ops_dir *dir)
{
	return !(dir->changes & 1) && ops_seen(dir) == dir->changes;
}

/* Return: true: no direction is on a road, and none will be. */
static bool mark_refuse(struct ops_sock *os)
{
	struct ops_pair *pair;
	bool refused = false;

	/* else the other end may find us, and send by the ring, until the mark is off */
	ops_pair_withdraw(os);
	pair = ops_pair_of(os);
	if (pair) {
		spin_lock_bh(&pair->lock);
		if (mark_is_tcp(&pair->dir[0]) && mark_is_tcp(&pair->dir[1])) {
			pair->refused = true;
			refused = true;
		}
		spin_unlock_bh(&pair->lock);
		return refused;
	}
	/*
	 * The peer may have begun to send by a road that is up, or by one that is up at its end:
	 * the road has found a passive end when the active one is about to be.
	 */
	spin_lock_bh(&os->lock);
	if (os->road_state != OPS_ROAD_UP &&
	    (os->active || os->road_state != OPS_ROAD_OPENING)) {
		os->road_state = OPS_ROAD_FAILED;
		refused = true;
	}
	spin_unlock_bh(&os->lock);
	return refused;
}

int ops_decline(struct sock *sk, struct ops_sock *os, enum ops_counter why)
{
	if (READ_ONCE(os->dead))
		return 0;
	if (!mark_refuse(os))
		return -EBUSY;
	ops_road_close(os, true);
	ops_unmark(sk, os, why);
	return 0;
}

/* The tracepoint ************************************************************ */

/* A socket that is marked already: the program asked, or an earlier connect() failed. */
static void mark_enter_again(struct sock *sk, bool ruled, const struct ops_choice *choice)
{
	struct ops_sock *os = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);

	os->choice = *choice;
	os->ruled = ruled;
	if (ruled || ops_explicit_allows(os, choice))
		return;
	if (os->must) {
		/* a rule that was there a moment ago: the next send says so */
		os->road_error = -EACCES;
		os->road_state = OPS_ROAD_FAILED;
		return;
	}
	if (!choice->rule)
		ops_count(os->net, OPS_COUNT_NO_RULE);
	ops_unmark(sk, os, choice->rule ? OPS_COUNT_RULE_TCP : OPS_COUNT_NO_RULE);
}

static void mark_enter(struct sock *sk, enum ops_direction direction)
{
	struct ops_choice choice = {};
	bool ruled = ops_rules_choose(sk, direction, &choice);

	if (READ_ONCE(ops_down))
		ruled = false;
	if (ops_is_marked(sk)) {
		mark_enter_again(sk, ruled, &choice);
	} else if (ruled) {
		/* who waits for the lock has TCP's functions, and would never see a road */
		if (!ops_may_mark(sk) ||
		    /* they are there already: the lock is held */
		    (direction == OPS_CONNECT && waitqueue_active(&sk->sk_lock.wq))) {
			ops_count(sock_net(sk), OPS_COUNT_LEFT_ALONE);
			return;
		}
		ops_mark(sk, &choice);
	}
	if (!ops_is_marked(sk))
		return;
	ops_count(sock_net(sk), direction == OPS_CONNECT ? OPS_COUNT_CONNECT : OPS_COUNT_LISTEN);
	if (direction == OPS_LISTEN) {
		struct ops_sock *os = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);

		/* its children would get ours, see ops_take_socket() */
		ops_give_socket(os, sk);
		ops_road_listens(os, true);
	}
}

/*
 * The rules may have changed since the listener was marked, and this is the first time that the
 * address of an accepted socket is known.
 */
static bool mark_child_ruled(struct sock *sk, struct ops_sock *os)
{
	struct ops_choice choice = {};
	bool ruled = ops_rules_choose(sk, OPS_LISTEN, &choice);

	if (!ruled && !ops_explicit_allows(os, &choice)) {
		os->why = choice.rule ? OPS_COUNT_RULE_TCP : OPS_COUNT_NO_RULE;
		if (os->must) {
			/* the next send says so */
			os->road_error = -EACCES;
			os->road_state = OPS_ROAD_FAILED;
		}
		/* ops_rules_choose() has counted a rule that says TCP */
		if (!choice.rule)
			ops_count(os->net, OPS_COUNT_NO_RULE);
		return false;
	}
	os->choice = choice;
	os->ruled = ruled;
	return true;
}

static void mark_established(struct sock *sk, int oldstate)
{
	struct ops_sock *os;

	if (!ops_is_marked(sk)) {
		/* its listener was unmarked while it was copied */
		if (unlikely(sk->sk_prot->recvmsg == ops_recvmsg)) {
			sk->sk_prot_creator = ops_tcp_prot(sk);
			WRITE_ONCE(sk->sk_prot, ops_tcp_prot(sk));
		}
		return;
	}
	rcu_read_lock();
	os = rcu_dereference(inet_csk(sk)->icsk_ulp_data);
	if (os) {
		os->active = oldstate == TCP_SYN_SENT;
		if (os->active || mark_child_ruled(sk, os))
			ops_pair_enter(os);
	}
	rcu_read_unlock();
}

/* TCP was reset, or has waited in vain: the peer of a road is not to wait until close() */
static void mark_reset(struct sock *sk)
{
	struct ops_sock *os;

	if (!ops_is_marked(sk))
		return;
	rcu_read_lock();
	os = rcu_dereference(inet_csk(sk)->icsk_ulp_data);
	if (os && !ops_is_local(os))
		ops_road_reset(os);
	rcu_read_unlock();
}

static void mark_probe(void *unused, const struct sock *const_sk, const int oldstate,
		       const int newstate)
{
	/* TCP's lock is held: the socket is not const for us */
	struct sock *sk = (struct sock *)const_sk;

	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	switch (newstate) {
	case TCP_SYN_SENT:
		mark_enter(sk, OPS_CONNECT);
		break;
	case TCP_LISTEN:
		mark_enter(sk, OPS_LISTEN);
		break;
	case TCP_ESTABLISHED:
		mark_established(sk, oldstate);
		break;
	case TCP_CLOSE:
		/* else the road may have bytes that are still to be read */
		if (sk->sk_err)
			mark_reset(sk);
		break;
	default:
		break;
	}
}

static void mark_find_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	if (!strcmp(tracepoint->name, "inet_sock_set_state"))
		mark_tracepoint = tracepoint;
}

/* What callbacks does a socket have that nobody has taken? */
static int mark_learn_callbacks(void)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);

	if (err)
		return err;
	ops_sk_data_ready = sock->sk->sk_data_ready;
	ops_sk_write_space = sock->sk->sk_write_space;
	ops_sk_state_change = sock->sk->sk_state_change;
	sock_release(sock);
	return 0;
}

int ops_mark_init(void)
{
	int err = mark_learn_callbacks();

	if (err)
		return err;
	for_each_kernel_tracepoint(mark_find_tracepoint, NULL);
	if (!mark_tracepoint)
		return -ENOENT;
	mark_cache = KMEM_CACHE(offload_conn, SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT);
	if (!mark_cache)
		return -ENOMEM;
	err = tracepoint_probe_register(mark_tracepoint, mark_probe, NULL);
	if (err)
		kmem_cache_destroy(mark_cache);
	return err;
}

/* No mark is put on any more. */
void ops_mark_stop(void)
{
	tracepoint_probe_unregister(mark_tracepoint, mark_probe, NULL);
	tracepoint_synchronize_unregister();
}

void ops_mark_exit(void)
{
	rcu_barrier();
	kmem_cache_destroy(mark_cache);
}
