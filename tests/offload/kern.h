/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A user of sockets in the kernel. kern_main.c makes the connection, kern_data.c moves data and has
 * the callbacks of the sockets.
 */
#ifndef OFFLOAD_KERN_H
#define OFFLOAD_KERN_H

#include <linux/completion.h>
#include <linux/net.h>
#include <linux/workqueue.h>

/**
 * struct kern_watch - a user's callback of a socket; the socket's sk_user_data
 * @sock: socket
 * @saved: callback that was there before
 * @ready: the callback has run
 * @work: receives what has arrived
 * @over: all data has been received, or an error
 * @got: where data is stored
 * @len: bytes that are wanted
 * @done: bytes that were received
 * @calls: how often the callback has run
 * @error: 0 or a negative errno
 */
struct kern_watch {
	struct socket *sock;
	void (*saved)(struct sock *sk);
	struct completion ready;
	struct work_struct work;
	struct completion over;
	u8 *got;
	u32 len;
	u32 done;
	atomic_t calls;
	int error;
};

/* how the sender's memory is described */
enum kern_memory {
	KERN_KVEC,
	KERN_BVEC,
	KERN_SPLICE,		/* pages, with MSG_SPLICE_PAGES */
	KERN_USER,		/* memory of the process that loads the module */
	KERN_MEMORIES,
};

#define KERN_PATIENCE	(60 * HZ)

void kern_watch_begin(struct kern_watch *watch, struct socket *sock);
void kern_watch_end(struct kern_watch *watch);
void kern_watch_forget(struct kern_watch *watch, struct socket *sock);
int kern_transfer(struct socket *from, struct socket *to, u32 bytes, enum kern_memory memory);

#endif /* OFFLOAD_KERN_H */
