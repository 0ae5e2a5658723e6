// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The same-host road: bytes from one socket to the other through a ring of pages (ring.c).
 *
 * A sender copies into the ring and wakes the reader through the other end's sk_data_ready(), which
 * also serves epoll and SIGIO; a reader copies out of it, and wakes a sender who found no room
 * (SOCK_NOSPACE, as for TCP) through sk_write_space(). The memory that TCP would use for packets is
 * not used.
 *
 * Pages that have not been used for a while are given back by one worker for all pairs, and sooner
 * by a shrinker.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <krdma/compat.h>

#include "ops.h"

/* bytes that are copied before the reader is woken */
#define LOCAL_PART	(128 << 10)

static unsigned int local_idle_ms = 5000;
module_param_named(idle_ms, local_idle_ms, uint, 0644);
MODULE_PARM_DESC(idle_ms,
		 "Milliseconds without a byte after which a same-host connection gives its pages back (default 5000)");

static LIST_HEAD(local_pairs);		/* with pages; local_lock */
static unsigned int local_num;		/* of them; local_lock */
static DEFINE_SPINLOCK(local_lock);

static void local_trim_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(local_trim, local_trim_work);

/* Wake-ups ****************************************************************** */

/* The reader has made room. */
static void local_wake_writer(struct ops_sock *os, const struct ops_dir *dir)
{
	struct sock *peer = os->peer;
	struct socket *sock;

	/* pairs with the barrier between SOCK_NOSPACE and the look at the room */
	smp_mb();
	rcu_read_lock();
	sock = READ_ONCE(peer->sk_socket);
	if (sock && test_bit(SOCK_NOSPACE, &sock->flags) &&
	    ops_ring_roomy(ops_ring_unread(&dir->ring), dir->limit))
		ops_sk_write_space(peer);
	rcu_read_unlock();
}

/* Sending ******************************************************************* */

static void local_list(struct ops_pair *pair)
{
	spin_lock_bh(&local_lock);
	if (!pair->listed) {
		pair->listed = true;
		list_add_tail(&pair->node, &local_pairs);
		if (!local_num++)
			schedule_delayed_work(&local_trim, msecs_to_jiffies(local_idle_ms) / 2 + 1);
	}
	spin_unlock_bh(&local_lock);
}

static struct ops_ring_terms local_terms(const struct ops_sock *os, const struct ops_dir *dir)
{
	return (struct ops_ring_terms){
		.net = os->net,
		.memcg = os->sk->sk_memcg,
		.gfp = os->sk->sk_allocation,
		.limit = dir->limit,
	};
}

static int local_prepare(struct ops_sock *os, struct ops_dir *dir)
{
	struct ops_ring_terms terms = local_terms(os, dir);
	int err;

	if (likely(dir->ring.first))
		return 0;
	err = ops_ring_prepare(&dir->ring, &terms);
	if (!err)
		local_list(os->pair);
	return err;
}

bool ops_local_prepare(struct ops_sock *os)
{
	struct ops_dir *dir = ops_tx(os);
	int err;

	mutex_lock(&dir->mutex);
	WRITE_ONCE(dir->used, jiffies);
	err = local_prepare(os, dir);
	mutex_unlock(&dir->mutex);
	return !err;
}

/*
 * With the mutex. The receiver goes on with TCP behind the last byte of the ring, and need not wait
 * for more of those.
 */
static void local_back(struct ops_sock *os, struct ops_dir *dir)
{
	if (!os->tx_road)
		return;
	ops_dir_change(dir);
	WRITE_ONCE(os->tx_road, false);
	os->retry = jiffies + HZ;
	ops_wake_readers(os->peer);
}

void ops_local_back(struct ops_sock *os)
{
	struct ops_dir *dir = ops_tx(os);

	mutex_lock(&dir->mutex);
	local_back(os, dir);
	mutex_unlock(&dir->mutex);
	/* a sender who waits for room goes on with TCP */
	ops_wake_all(os->sk);
}

/* The reader has closed: TCP gets these bytes, and its answer is a reset. With the mutex. */
static int local_peer_closed(struct ops_sock *os, struct ops_dir *dir, struct msghdr *msg, u32 len)
{
	ops_ring_unwrite(&dir->ring, len);
	iov_iter_revert(&msg->msg_iter, len);
	local_back(os, dir);
	return 1;
}

/* No room: the reader is asked to wake us. Return: false: there is some meanwhile. */
static bool local_full(struct ops_sock *os, struct ops_dir *dir)
{
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, os->sk);
	set_bit(SOCK_NOSPACE, &os->sk->sk_socket->flags);
	/* pairs with local_wake_writer() */
	smp_mb__after_atomic();
	return !ops_ring_room(ops_ring_unread(&dir->ring), dir->limit) && !ops_dir_ends(dir);
}

/* With the mutex. Return: 0: all; 1: TCP is next; -EAGAIN: no room; -errno. */
static int local_fill(struct ops_sock *os, struct ops_dir *dir, struct msghdr *msg, size_t len,
		      size_t *sent)
{
	const struct ops_ring_terms terms = local_terms(os, dir);
	struct sock *sk = os->sk;
	ssize_t ret;

	while (*sent < len) {
		if (READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN)
			return -EPIPE;
		if (!os->tx_road)
			return 1;
		if (ops_dir_ends(dir) || READ_ONCE(os->dead) || local_prepare(os, dir)) {
			local_back(os, dir);
			return 1;
		}
		ret = ops_ring_write(&dir->ring, &msg->msg_iter,
				     min_t(size_t, len - *sent, LOCAL_PART), &terms);
		if (ret == -EAGAIN) {
			if (local_full(os, dir))
				return ret;
			continue;
		}
		if (ret == -ENOMEM) {
			ops_count(os->net, OPS_COUNT_MEMORY);
			local_back(os, dir);
			return 1;
		}
		if (ret < 0)
			return ret;
		/* pairs with the one of ops_local_close() */
		smp_mb();
		if (READ_ONCE(dir->closed))
			return local_peer_closed(os, dir, msg, ret);
		*sent += ret;
		os->sent += ret;
		ops_wake_readers(os->peer);
	}
	return 0;
}

static bool local_may_send(const struct ops_sock *os, const struct ops_dir *dir)
{
	const struct sock *sk = os->sk;

	return READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	       !READ_ONCE(os->tx_road) || ops_dir_ends(dir) || READ_ONCE(os->dead) ||
	       ops_ring_room(ops_ring_unread(&dir->ring), dir->limit);
}

/* Return: what is left of the time. Nothing is held. */
static long local_wait(struct ops_sock *os, struct ops_dir *dir, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = os->sk;

	add_wait_queue(sk_sleep(sk), &wait);
	/* a wake-up may have taken the bit away since local_full() */
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	/* pairs with local_wake_writer() */
	smp_mb__after_atomic();
	if (!local_may_send(os, dir))
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	remove_wait_queue(sk_sleep(sk), &wait);
	return timeo;
}

int ops_local_send(struct ops_sock *os, struct msghdr *msg, size_t len, size_t *sent)
{
	long timeo = sock_sndtimeo(os->sk, msg->msg_flags & MSG_DONTWAIT);
	struct ops_dir *dir = ops_tx(os);
	int ret;

	for (;;) {
		if (mutex_lock_interruptible(&dir->mutex))
			return sock_intr_errno(timeo);
		WRITE_ONCE(dir->used, jiffies);
		ret = local_fill(os, dir, msg, len, sent);
		mutex_unlock(&dir->mutex);
		if (ret != -EAGAIN || !timeo)
			return ret;
		if (signal_pending(current))
			return sock_intr_errno(timeo);
		timeo = local_wait(os, dir, timeo);
	}
}

/* TCP's peer acknowledges what its buffer holds: half of the ring counts as that. */
u32 ops_local_unsent(const struct ops_sock *os)
{
	const struct ops_dir *dir = ops_tx(os);
	u32 unread = ops_ring_unread(&dir->ring);

	return unread > dir->limit / 2 ? unread - dir->limit / 2 : 0;
}

bool ops_local_writable(const struct ops_sock *os, int wake)
{
	const struct ops_dir *dir = ops_tx(os);

	return ops_dir_ends(dir) ||
	       (ops_ring_roomy(ops_ring_unread(&dir->ring), dir->limit) &&
		(u64)ops_local_unsent(os) << wake < tcp_notsent_lowat(tcp_sk(os->sk)));
}

/* Receiving ***************************************************************** */

/**
 * ops_local_recv() - read from the ring
 * @os: reader
 * @msg: where to
 * @len: how many bytes at most
 * @flags: MSG_PEEK, MSG_TRUNC
 * @offset: with MSG_PEEK: bytes to skip
 *
 * Return: bytes; -EAGAIN; -EFAULT. Context: with rx_mutex.
 */
int ops_local_recv(struct ops_sock *os, struct msghdr *msg, size_t len, int flags, u32 offset)
{
	struct ops_dir *dir = ops_rx(os);
	const bool discard = flags & MSG_TRUNC;
	ssize_t ret;

	len = min_t(size_t, len, INT_MAX);
	if (unlikely(flags & MSG_PEEK))
		return ops_ring_peek(&dir->ring, &msg->msg_iter, len, offset, discard);
	ret = ops_ring_read(&dir->ring, &msg->msg_iter, len, discard);
	if (ret > 0) {
		os->received += ret;
		sk_peek_offset_bwd(os->sk, ret);
		local_wake_writer(os, dir);
	}
	return ret;
}

/* Ends ********************************************************************** */

void ops_local_fin(struct ops_sock *os)
{
	struct ops_dir *dir = ops_tx(os);

	mutex_lock(&dir->mutex);
	if (os->tx_road)
		/* behind all bytes; pairs with change_recv_road() */
		smp_store_release(&dir->fin, true);
	mutex_unlock(&dir->mutex);
	ops_wake_readers(os->peer);
}

bool ops_local_close(struct ops_sock *os)
{
	struct ops_dir *dir = ops_rx(os);
	bool unread;

	WRITE_ONCE(dir->closed, true);
	/* a writer sees it, or we see its bytes */
	smp_mb();
	unread = ops_ring_unread(&dir->ring);
	ops_wake_writers(os->peer);
	return unread;
}

void ops_local_shut(struct ops_sock *os)
{
	WRITE_ONCE(ops_rx(os)->shut, true);
	ops_wake_writers(os->peer);
}

static void local_free_work(struct work_struct *work);
static LLIST_HEAD(local_dead);
static DECLARE_WORK(local_free, local_free_work);

/* Any context. */
void ops_local_pair_free(struct ops_pair *pair)
{
	spin_lock_bh(&local_lock);
	if (pair->listed) {
		list_del(&pair->node);
		local_num--;
	}
	spin_unlock_bh(&local_lock);
	/* pages are many, and put_net() is not for softirqs */
	llist_add((struct llist_node *)&pair->rcu, &local_dead);
	schedule_work(&local_free);
}

static void local_free_work(struct work_struct *work)
{
	struct llist_node *node = llist_del_all(&local_dead);

	while (node) {
		struct ops_pair *pair = container_of((struct rcu_head *)node, struct ops_pair, rcu);

		node = node->next;
		ops_ring_free(&pair->dir[0].ring);
		ops_ring_free(&pair->dir[1].ring);
		kfree(pair);
		cond_resched();
	}
}

/* Giving back *************************************************************** */

/* Of a direction that was not used for so long. Return: bytes that were given back. */
static u32 local_trim_dir(struct ops_dir *dir, unsigned long idle)
{
	u32 before;

	if (!READ_ONCE(dir->ring.pages) || !time_after(jiffies, READ_ONCE(dir->used) + idle))
		return 0;
	if (!mutex_trylock(&dir->mutex))
		return 0;
	before = dir->ring.pages;
	ops_ring_trim(&dir->ring);
	before -= dir->ring.pages;
	mutex_unlock(&dir->mutex);
	return before;
}

/* The pair that has waited longest, with a reference; it goes to the end of the list. */
static struct ops_pair *local_next_pair(void)
{
	struct ops_pair *pair = NULL;

	spin_lock_bh(&local_lock);
	if (!list_empty(&local_pairs)) {
		pair = list_first_entry(&local_pairs, struct ops_pair, node);
		list_move_tail(&pair->node, &local_pairs);
		if (!refcount_inc_not_zero(&pair->refs))
			pair = NULL;
	}
	spin_unlock_bh(&local_lock);
	return pair;
}

static u32 local_trim_pair(struct ops_pair *pair, unsigned long idle)
{
	u32 freed = local_trim_dir(&pair->dir[0], idle) + local_trim_dir(&pair->dir[1], idle);

	spin_lock_bh(&local_lock);
	/* one that has pages again is listed again */
	if (pair->listed && !READ_ONCE(pair->dir[0].ring.pages) &&
	    !READ_ONCE(pair->dir[1].ring.pages)) {
		list_del_init(&pair->node);
		pair->listed = false;
		local_num--;
	}
	spin_unlock_bh(&local_lock);
	return freed;
}

/* Goes over so many pairs, or until so many bytes are free. Return: how many. */
static u64 local_trim_some(unsigned int num, unsigned long idle, u64 wanted)
{
	u64 freed = 0;

	while (num-- && freed < wanted) {
		struct ops_pair *pair = local_next_pair();

		if (!pair)
			continue;
		freed += local_trim_pair(pair, idle);
		ops_pair_put(pair);
		cond_resched();
	}
	return freed;
}

static void local_trim_work(struct work_struct *work)
{
	local_trim_some(READ_ONCE(local_num), msecs_to_jiffies(local_idle_ms), U64_MAX);
	spin_lock_bh(&local_lock);
	if (local_num)
		schedule_delayed_work(&local_trim, msecs_to_jiffies(local_idle_ms) / 2 + 1);
	spin_unlock_bh(&local_lock);
}

/*
 * When memory is scarce, pages are given back as soon as they have not been used for a moment. The
 * caller may be a writer who allocates, and has a direction's mutex: that one is passed over.
 */
#define LOCAL_MOMENT		msecs_to_jiffies(100)
#define LOCAL_SHRINK_PAIRS	1024U

static struct shrinker *local_shrinker;

static unsigned long local_shrink_count(struct shrinker *shrinker, struct shrink_control *control)
{
	return ops_ring_total() >> PAGE_SHIFT;
}

static unsigned long local_shrink_scan(struct shrinker *shrinker, struct shrink_control *control)
{
	/* the next call goes on with the others */
	unsigned int num = min(READ_ONCE(local_num), LOCAL_SHRINK_PAIRS);
	u64 freed = local_trim_some(num, LOCAL_MOMENT, (u64)control->nr_to_scan << PAGE_SHIFT);

	return freed >> PAGE_SHIFT ?: SHRINK_STOP;
}

int ops_local_init(void)
{
	local_shrinker = shrinker_alloc(0, "krdma_ops");
	if (!local_shrinker)
		return -ENOMEM;
	local_shrinker->count_objects = local_shrink_count;
	local_shrinker->scan_objects = local_shrink_scan;
	shrinker_register(local_shrinker);
	return 0;
}

/* Pairs do not need its calls: change.c calls the functions above. It has a name for rules. */
const struct offload_road ops_local_road = {
	.owner = THIS_MODULE,
	.name = "local",
	.priority = 100,
};

void ops_local_exit(void)
{
	shrinker_free(local_shrinker);
	cancel_delayed_work_sync(&local_trim);
	flush_work(&local_free);
}
