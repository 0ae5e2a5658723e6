/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * offload_plain: a road that copies within the host, for the tests of krdma_ops. It opens when the
 * test says so.
 *
 * - plain_main.c: the module, its parameters; how a connection finds its other end and opens
 * - plain_data.c: the two queues of a connection
 *
 * The road of both ends is one struct plain_pair. It dies when both have closed it.
 */
#ifndef PLAIN_H
#define PLAIN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <krdma/offload.h>

/**
 * struct plain_end - one end of a connection
 * @pair: both ends
 * @conn: connection; NULL: the passive end is not found yet, or the end was closed
 * @queue: what the other end has sent, as buffers; &plain_data_read of each counts what was read
 * @unread: bytes in @queue
 * @ended: nothing follows them
 */
struct plain_end {
	struct plain_pair *pair;
	struct offload_conn *conn;
	struct sk_buff_head queue;
	u32 unread;
	bool ended;
	bool shut;
};

/**
 * struct plain_pair - the road of a connection
 * @ref: one for each end that is not closed, one for @work while it is queued, one of the list
 * @lock: protects both ends
 * @ends: active and passive
 * @parked: in the list of those that wait for the test; protected by the list's lock
 * @work: finds the passive end, and opens
 * @tries: how often it looked for it
 * @released: ends that the test has opened, 1 and 2
 * @rcu: frees it
 */
struct plain_pair {
	struct kref ref;
	spinlock_t lock;
	struct plain_end ends[2];
	struct list_head parked;
	struct delayed_work work;
	unsigned int tries;
	unsigned int released;
	struct rcu_head rcu;
};

static inline struct plain_end *plain_other(struct plain_end *end)
{
	return &end->pair->ends[end == end->pair->ends];
}

/* plain_main.c */
extern unsigned int plain_buffer;
extern unsigned int plain_break_after;
void plain_put(struct plain_pair *pair);
void plain_unpark(struct plain_pair *pair);

/* plain_data.c: operations of struct offload_road */
int plain_sendmsg(struct offload_conn *conn, struct msghdr *msg, size_t len);
int plain_recvmsg(struct offload_conn *conn, struct msghdr *msg, size_t len, int flags);
u32 plain_readable(struct offload_conn *conn);
bool plain_full(struct offload_conn *conn);
bool plain_writable(struct offload_conn *conn);
u32 plain_unsent(struct offload_conn *conn);
void plain_shutdown(struct offload_conn *conn, int how);
void plain_abort(struct offload_conn *conn);
void plain_close(struct offload_conn *conn, bool abort);

#endif
