// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module, and how a connection opens. The active end's open() leaves it to a work item, which
 * looks for the passive end, in all network namespaces, until it is there. Then both ends are up at
 * once, or after "delay_ms", or, with "hold", when the test writes to "release":
 *
 *	1	the active end of each parked connection
 *	2	the passive one
 *	3	both
 *
 * A connection that is released by halves stays parked until it has both.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <krdma/compat.h>

#include "plain.h"

unsigned int plain_buffer = SZ_256K;
module_param_named(buffer, plain_buffer, uint, 0644);
MODULE_PARM_DESC(buffer, "Bytes of a direction from which on it takes no more");

unsigned int plain_break_after;
module_param_named(break_after, plain_break_after, uint, 0644);
MODULE_PARM_DESC(break_after, "Break at a send of more bytes than that; 0: never");

static bool plain_hold;
module_param_named(hold, plain_hold, bool, 0644);
MODULE_PARM_DESC(hold, "Open when the test says so");

static unsigned int plain_delay_ms;
module_param_named(delay_ms, plain_delay_ms, uint, 0644);
MODULE_PARM_DESC(delay_ms, "Time that opening takes");

static int plain_priority = 10;
module_param_named(priority, plain_priority, int, 0444);
MODULE_PARM_DESC(priority, "Priority");

static int plain_number = 259;
module_param_named(protocol, plain_number, int, 0444);
MODULE_PARM_DESC(protocol, "Protocol number of sockets that must use the road");

static bool plain_slower;
module_param_named(slower, plain_slower, bool, 0644);
MODULE_PARM_DESC(slower, "Say that TCP is faster: only a rule that names the road uses it");

static unsigned int plain_caps = OFFLOAD_KERNEL_CLIENTS;
module_param_named(caps, plain_caps, uint, 0444);
MODULE_PARM_DESC(caps, "Capabilities");

static atomic_t plain_opened = ATOMIC_INIT(0);

static int plain_opened_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&plain_opened));
}

static const struct kernel_param_ops plain_opened_ops = { .get = plain_opened_get };
module_param_cb(opened, &plain_opened_ops, NULL, 0444);
MODULE_PARM_DESC(opened, "Connections whose ends were both opened");

static struct offload_road plain_road;
static struct workqueue_struct *plain_work_queue;

/* connections that wait for the test */
static LIST_HEAD(plain_parked);
static DEFINE_SPINLOCK(plain_parked_lock);

/* unloading waits for them */
static atomic_t plain_pairs = ATOMIC_INIT(0);

/* how long the passive end may be missing: its ACK may be lost */
#define PLAIN_TRIES	500
#define PLAIN_AGAIN	msecs_to_jiffies(10)

static void plain_free(struct kref *ref)
{
	struct plain_pair *pair = container_of(ref, struct plain_pair, ref);

	__skb_queue_purge(&pair->ends[0].queue);
	__skb_queue_purge(&pair->ends[1].queue);
	/* see plain_enter() */
	kfree_rcu(pair, rcu);
	if (atomic_dec_and_test(&plain_pairs))
		wake_up_var(&plain_pairs);
}

/**
 * plain_put() - drop a reference
 * @pair: pair
 *
 * Context: any.
 */
void plain_put(struct plain_pair *pair)
{
	kref_put(&pair->ref, plain_free);
}

/* Opening ************************************************************************************ */

/* With a reference of the caller's, or NULL. */
static struct offload_conn *plain_conn(struct plain_pair *pair, int which)
{
	struct offload_conn *conn;

	spin_lock_bh(&pair->lock);
	conn = pair->ends[which].conn;
	if (conn)
		offload_conn_get(conn);
	spin_unlock_bh(&pair->lock);
	return conn;
}

static void plain_up(struct plain_pair *pair, int which)
{
	struct offload_conn *conn = plain_conn(pair, which);

	if (!conn)
		return;
	offload_road_up(conn, &pair->ends[which]);
	offload_conn_put(conn);
}

/* The connection whose other end is @conn, with a reference of the caller's. */
static struct offload_conn *plain_find(struct offload_conn *conn)
{
	struct net *own = sock_net(offload_conn_sk(conn)), *net;
	struct sockaddr_storage local, remote;
	struct offload_conn *found;
	u8 name[OFFLOAD_NAME_HASH];

	offload_conn_addresses(conn, &local, &remote);
	offload_conn_name(conn, false, name);
	found = offload_conn_find(own, &remote, &local, name, &plain_road);
	if (!IS_ERR(found) || PTR_ERR(found) != -ENOENT)
		return found;
	down_read(&net_rwsem);
	for_each_net(net) {
		if (net == own)
			continue;
		found = offload_conn_find(net, &remote, &local, name, &plain_road);
		if (!IS_ERR(found) || PTR_ERR(found) != -ENOENT)
			break;
	}
	up_read(&net_rwsem);
	return found;
}

static bool plain_queue_work(struct plain_pair *pair, unsigned long delay)
{
	kref_get(&pair->ref);
	if (queue_delayed_work(plain_work_queue, &pair->work, delay))
		return true;
	plain_put(pair);
	return false;
}

static void plain_park(struct plain_pair *pair)
{
	kref_get(&pair->ref);
	spin_lock_bh(&plain_parked_lock);
	list_add_tail(&pair->parked, &plain_parked);
	spin_unlock_bh(&plain_parked_lock);
}

/**
 * plain_unpark() - take a pair out of the list, if it is there
 * @pair: pair, with a reference
 *
 * Context: any.
 */
void plain_unpark(struct plain_pair *pair)
{
	bool parked;

	spin_lock_bh(&plain_parked_lock);
	parked = !list_empty(&pair->parked);
	list_del_init(&pair->parked);
	spin_unlock_bh(&plain_parked_lock);
	if (parked)
		plain_put(pair);
}

/* Return: the passive end is there now. */
static bool plain_join(struct plain_pair *pair, struct offload_conn *conn)
{
	struct offload_conn *peer = plain_find(conn);

	if (IS_ERR(peer)) {
		bool late = PTR_ERR(peer) == -ENOENT || PTR_ERR(peer) == -EAGAIN;

		if (late && pair->tries++ < PLAIN_TRIES)
			plain_queue_work(pair, PLAIN_AGAIN);
		else
			offload_road_failed(conn, PTR_ERR(peer));
		return false;
	}
	/* until close() of that end */
	kref_get(&pair->ref);
	if (!offload_conn_set_priv(peer, &pair->ends[1])) {
		plain_put(pair);
		offload_conn_put(peer);
		offload_road_failed(conn, -ENOENT);
		return false;
	}
	spin_lock_bh(&pair->lock);
	pair->ends[1].conn = peer;
	spin_unlock_bh(&pair->lock);
	offload_conn_put(peer);
	return true;
}

/* Looks for the passive end, and then opens. */
static void plain_work(struct work_struct *work)
{
	struct plain_pair *pair = container_of(work, struct plain_pair, work.work);
	struct offload_conn *conn = plain_conn(pair, 0);
	bool joined = READ_ONCE(pair->ends[1].conn);

	if (conn && !joined && plain_join(pair, conn)) {
		if (READ_ONCE(plain_hold))
			plain_park(pair);
		else if (READ_ONCE(plain_delay_ms))
			plain_queue_work(pair, msecs_to_jiffies(READ_ONCE(plain_delay_ms)));
		else
			joined = true;
	}
	if (joined) {
		plain_up(pair, 1);
		plain_up(pair, 0);
		atomic_inc(&plain_opened);
	}
	if (conn)
		offload_conn_put(conn);
	plain_put(pair);
}

static int plain_open(struct offload_conn *conn)
{
	struct plain_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL_ACCOUNT);
	int i;

	if (!pair)
		return -ENOMEM;
	atomic_inc(&plain_pairs);
	kref_init(&pair->ref);
	spin_lock_init(&pair->lock);
	for (i = 0; i < 2; i++) {
		pair->ends[i].pair = pair;
		__skb_queue_head_init(&pair->ends[i].queue);
	}
	INIT_LIST_HEAD(&pair->parked);
	INIT_DELAYED_WORK(&pair->work, plain_work);
	pair->ends[0].conn = conn;
	/* never refused to an active end */
	(void)!offload_conn_set_priv(conn, &pair->ends[0]);
	plain_queue_work(pair, 0);
	return 0;
}

static int plain_offers(const struct offload_route *route)
{
	return !READ_ONCE(plain_slower);
}

/* What the test says ************************************************************************* */

static void plain_release_ends(struct plain_pair *pair, unsigned int which)
{
	if (which & 2)
		plain_up(pair, 1);
	if (which & 1)
		plain_up(pair, 0);
	pair->released |= which;
	if (pair->released == 3) {
		atomic_inc(&plain_opened);
		plain_unpark(pair);
	}
}

/* Writers of one parameter take turns. */
static int plain_release(const char *value, const struct kernel_param *param)
{
	struct plain_pair *pairs[64];
	struct plain_pair *pair;
	unsigned int which;
	int num = 0;
	int rc;

	rc = kstrtouint(value, 0, &which);
	if (rc)
		return rc;
	spin_lock_bh(&plain_parked_lock);
	list_for_each_entry(pair, &plain_parked, parked) {
		if (num == ARRAY_SIZE(pairs))
			break;
		kref_get(&pair->ref);
		pairs[num++] = pair;
	}
	spin_unlock_bh(&plain_parked_lock);
	while (num--) {
		plain_release_ends(pairs[num], which & 3);
		plain_put(pairs[num]);
	}
	return 0;
}

static int plain_parked_get(char *buffer, const struct kernel_param *param)
{
	struct list_head *at;
	int num = 0;

	spin_lock_bh(&plain_parked_lock);
	list_for_each(at, &plain_parked)
		num++;
	spin_unlock_bh(&plain_parked_lock);
	return sysfs_emit(buffer, "%d\n", num);
}

static const struct kernel_param_ops plain_release_ops = { .set = plain_release };
module_param_cb(release, &plain_release_ops, NULL, 0200);
MODULE_PARM_DESC(release, "Opens the ends of parked connections");
static const struct kernel_param_ops plain_parked_ops = { .get = plain_parked_get };
module_param_cb(parked, &plain_parked_ops, NULL, 0444);
MODULE_PARM_DESC(parked, "How many connections wait for that");

/* The module ********************************************************************************* */

static struct offload_road plain_road = {
	.owner		= THIS_MODULE,
	.name		= "plain",
	.offers		= plain_offers,
	.open		= plain_open,
	.sendmsg	= plain_sendmsg,
	.recvmsg	= plain_recvmsg,
	.readable	= plain_readable,
	.full		= plain_full,
	.writable	= plain_writable,
	.unsent		= plain_unsent,
	.shutdown	= plain_shutdown,
	.close		= plain_close,
	.abort		= plain_abort,
};

static int __init plain_init(void)
{
	int rc;

	plain_work_queue = alloc_workqueue("offload_plain", WQ_PERCPU, 0);
	if (!plain_work_queue)
		return -ENOMEM;
	plain_road.protocol = plain_number;
	plain_road.priority = plain_priority;
	plain_road.caps = plain_caps;
	rc = offload_register_road(&plain_road);
	if (rc)
		destroy_workqueue(plain_work_queue);
	return rc;
}

static void __exit plain_exit(void)
{
	offload_unregister_road(&plain_road);
	wait_var_event(&plain_pairs, !atomic_read(&plain_pairs));
	destroy_workqueue(plain_work_queue);
}

module_init(plain_init);
module_exit(plain_exit);
MODULE_DESCRIPTION("Road that copies within the host, for tests");
MODULE_LICENSE("Dual MIT/GPL");
