// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The road. The parameter "at" names the step that fails, "error" how; both may change at any time.
 *
 *	none		offers() says that the peer is not reached
 *	offers		offers() returns the error
 *	slower		offers() says that TCP is faster; open() then fails
 *	open		open() returns the error
 *	async		open() begins, and fails after delay_ms
 *	never		open() begins, and nothing more comes
 *	lie		wrong names of the connection, which the switch must not know; then the
 *			right one
 *	passive		the passive end is up, and learns after delay_ms that the road has failed
 *	up		both ends are up, and learn at once that the road has failed
 *	send		both ends are up, and sendmsg() returns the error
 *	break		both ends are up, and the first sendmsg() is told that the road has failed
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <krdma/compat.h>

#include "fail.h"

enum fail_place {
	FAIL_NONE,
	FAIL_OFFERS,
	FAIL_SLOWER,
	FAIL_OPEN,
	FAIL_ASYNC,
	FAIL_NEVER,
	FAIL_LIE,
	FAIL_PASSIVE,
	FAIL_UP,
	FAIL_SEND,
	FAIL_BREAK,
};

static const char * const fail_places[] = {
	[FAIL_NONE]	= "none",
	[FAIL_OFFERS]	= "offers",
	[FAIL_SLOWER]	= "slower",
	[FAIL_OPEN]	= "open",
	[FAIL_ASYNC]	= "async",
	[FAIL_NEVER]	= "never",
	[FAIL_LIE]	= "lie",
	[FAIL_PASSIVE]	= "passive",
	[FAIL_UP]	= "up",
	[FAIL_SEND]	= "send",
	[FAIL_BREAK]	= "break",
};

static enum fail_place fail_at;

static int fail_at_set(const char *value, const struct kernel_param *param)
{
	int place = sysfs_match_string(fail_places, value);

	if (place < 0)
		return place;
	WRITE_ONCE(fail_at, place);
	return 0;
}

static int fail_at_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", fail_places[READ_ONCE(fail_at)]);
}

static const struct kernel_param_ops fail_at_ops = { .set = fail_at_set, .get = fail_at_get };
module_param_cb(at, &fail_at_ops, NULL, 0644);
MODULE_PARM_DESC(at, "Step that fails");

static int fail_error = EIO;
module_param_named(error, fail_error, int, 0644);
MODULE_PARM_DESC(error, "Errno of the failure");

static unsigned int fail_delay_ms = 100;
module_param_named(delay_ms, fail_delay_ms, uint, 0644);
MODULE_PARM_DESC(delay_ms, "When a step that takes time fails");

static int fail_number = 260;
module_param_named(protocol, fail_number, int, 0444);
MODULE_PARM_DESC(protocol, "Protocol number");

static int fail_priority = 20;
module_param_named(priority, fail_priority, int, 0444);
MODULE_PARM_DESC(priority, "Priority");

static bool fail_check;
module_param_named(wrong, fail_check, bool, 0444);
MODULE_PARM_DESC(wrong, "Only try wrong registrations");

static atomic_t fail_opened = ATOMIC_INIT(0);
static atomic_t fail_believed = ATOMIC_INIT(0);
static atomic_t fail_right = ATOMIC_INIT(0);

static int fail_number_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read((atomic_t *)param->arg));
}

static const struct kernel_param_ops fail_number_ops = { .get = fail_number_get };
module_param_cb(opened, &fail_number_ops, &fail_opened, 0444);
MODULE_PARM_DESC(opened, "How often a connection was opened");
module_param_cb(believed, &fail_number_ops, &fail_believed, 0444);
MODULE_PARM_DESC(believed, "Lies that found a connection");
module_param_cb(right, &fail_number_ops, &fail_right, 0444);
MODULE_PARM_DESC(right, "Right names that found a connection");

/**
 * struct fail_conn - an end whose failure is still to come
 * @conn: connection, with a reference of its own
 * @work: fails it
 */
struct fail_conn {
	struct offload_conn *conn;
	struct delayed_work work;
};

static struct workqueue_struct *fail_queue;
static atomic_t fail_pending = ATOMIC_INIT(0);
static struct offload_road fail_road;

static int fail_errno(void)
{
	return -READ_ONCE(fail_error);
}

static void fail_work(struct work_struct *work)
{
	struct fail_conn *fc = container_of(work, struct fail_conn, work.work);

	offload_road_failed(fc->conn, fail_errno());
	offload_conn_put(fc->conn);
	kfree(fc);
	if (atomic_dec_and_test(&fail_pending))
		wake_up_var(&fail_pending);
}

static int fail_later(struct offload_conn *conn)
{
	struct fail_conn *fc = kzalloc(sizeof(*fc), GFP_KERNEL);

	if (!fc)
		return -ENOMEM;
	offload_conn_get(conn);
	fc->conn = conn;
	atomic_inc(&fail_pending);
	INIT_DELAYED_WORK(&fc->work, fail_work);
	queue_delayed_work(fail_queue, &fc->work, msecs_to_jiffies(READ_ONCE(fail_delay_ms)));
	return 0;
}

/* The passive end, with a reference of the caller's. */
static struct offload_conn *fail_find(struct offload_conn *conn, u8 flip, u16 port)
{
	struct sockaddr_storage local, remote;
	u8 name[OFFLOAD_NAME_HASH];

	offload_conn_addresses(conn, &local, &remote);
	offload_conn_name(conn, false, name);
	name[0] ^= flip;
	/* the port is at the same place in both families */
	((struct sockaddr_in *)&local)->sin_port ^= htons(port);
	return offload_conn_find(sock_net(offload_conn_sk(conn)), &remote, &local, name,
				 &fail_road);
}

/* The program may not have accepted it yet. */
static struct offload_conn *fail_find_accepted(struct offload_conn *conn)
{
	struct offload_conn *found;
	int tries = 250;

	do {
		found = fail_find(conn, 0, 0);
		if (!IS_ERR(found) || PTR_ERR(found) != -EAGAIN)
			break;
		msleep(20);
	} while (tries--);
	return found;
}

static void fail_lie_once(struct offload_conn *conn, u8 flip, u16 port)
{
	struct offload_conn *found = fail_find(conn, flip, port);

	if (IS_ERR(found))
		return;
	atomic_inc(&fail_believed);
	offload_road_failed(found, fail_errno());
	offload_conn_put(found);
}

static int fail_lie(struct offload_conn *conn)
{
	struct offload_conn *found;
	int i;

	for (i = 0; i < 8; i++)
		fail_lie_once(conn, BIT(i), 0);
	fail_lie_once(conn, 0, 1);
	fail_lie_once(conn, 0, 0x8000);
	found = fail_find_accepted(conn);
	if (!IS_ERR(found)) {
		atomic_inc(&fail_right);
		offload_road_failed(found, fail_errno());
		offload_conn_put(found);
	}
	return fail_errno();
}

/* Each end has a reference on the other one, for its close(). */
static int fail_ends(struct offload_conn *conn, struct offload_conn *peer, enum fail_place place)
{
	if (place == FAIL_PASSIVE) {
		offload_road_up(peer, NULL);
		fail_later(peer);
		return fail_errno();
	}
	offload_conn_get(conn);
	if (!offload_conn_set_priv(peer, conn)) {
		offload_conn_put(conn);
		return fail_errno();
	}
	offload_conn_get(peer);
	if (!offload_conn_set_priv(conn, peer))
		offload_conn_put(peer);
	offload_road_up(peer, conn);
	offload_road_up(conn, peer);
	if (place == FAIL_UP) {
		offload_road_failed(peer, fail_errno());
		offload_road_failed(conn, fail_errno());
	}
	return 0;
}

static int fail_both(struct offload_conn *conn, enum fail_place place)
{
	struct offload_conn *peer = fail_find_accepted(conn);
	int rc;

	if (IS_ERR(peer))
		return PTR_ERR(peer);
	rc = fail_ends(conn, peer, place);
	offload_conn_put(peer);
	return rc;
}

static int fail_open(struct offload_conn *conn)
{
	enum fail_place place = READ_ONCE(fail_at);

	atomic_inc(&fail_opened);
	switch (place) {
	case FAIL_ASYNC:
		return fail_later(conn);
	case FAIL_NEVER:
		return 0;
	case FAIL_LIE:
		return fail_lie(conn);
	case FAIL_PASSIVE:
	case FAIL_UP:
	case FAIL_SEND:
	case FAIL_BREAK:
		return fail_both(conn, place);
	default:
		return fail_errno();
	}
}

static int fail_offers(const struct offload_route *route)
{
	switch (READ_ONCE(fail_at)) {
	case FAIL_NONE:
		return -EHOSTUNREACH;
	case FAIL_OFFERS:
		return fail_errno();
	case FAIL_SLOWER:
		return 0;
	default:
		return 1;
	}
}

static int fail_sendmsg(struct offload_conn *conn, struct msghdr *msg, size_t len)
{
	if (READ_ONCE(fail_at) == FAIL_BREAK)
		offload_road_failed(conn, fail_errno());
	return fail_errno();
}

static int fail_recvmsg(struct offload_conn *conn, struct msghdr *msg, size_t len, int flags)
{
	return -EAGAIN;
}

static u32 fail_nothing(struct offload_conn *conn)
{
	return 0;
}

static bool fail_writable(struct offload_conn *conn)
{
	return true;
}

static void fail_shutdown(struct offload_conn *conn, int how)
{
}

static void fail_close(struct offload_conn *conn, bool abort)
{
	struct offload_conn *peer = offload_conn_priv(conn);

	if (!peer)
		return;
	(void)!offload_conn_set_priv(conn, NULL);
	if (abort)
		offload_road_failed(peer, -ECONNRESET);
	else
		offload_end_of_stream(peer);
	offload_conn_put(peer);
}

static struct offload_road fail_road = {
	.owner		= THIS_MODULE,
	.name		= "fail",
	.offers		= fail_offers,
	.open		= fail_open,
	.sendmsg	= fail_sendmsg,
	.recvmsg	= fail_recvmsg,
	.readable	= fail_nothing,
	.writable	= fail_writable,
	.unsent		= fail_nothing,
	.shutdown	= fail_shutdown,
	.close		= fail_close,
};

static int __init fail_init(void)
{
	int rc;

	fail_queue = alloc_workqueue("offload_fail", WQ_PERCPU, 0);
	if (!fail_queue)
		return -ENOMEM;
	fail_road.protocol = fail_number;
	fail_road.priority = fail_priority;
	rc = fail_check ? fail_wrong(&fail_road) : offload_register_road(&fail_road);
	if (rc)
		destroy_workqueue(fail_queue);
	return rc;
}

static void __exit fail_exit(void)
{
	if (!fail_check)
		offload_unregister_road(&fail_road);
	wait_var_event(&fail_pending, !atomic_read(&fail_pending));
	destroy_workqueue(fail_queue);
}

module_init(fail_init);
module_exit(fail_exit);
MODULE_DESCRIPTION("Road that fails on command, for tests");
MODULE_LICENSE("Dual MIT/GPL");
