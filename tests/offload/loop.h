/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * offload_loop: a stream protocol between sockets of one host, for the tests of krdma_ops. What its
 * files share.
 *
 * - loop_main.c: the module, its parameters, the life of a socket
 * - loop_port.c: bind(), the owners of ports, the listener of an address
 * - loop_connect.c: listen(), connect(), accept(), shutdown(), close
 * - loop_data.c: sendmsg(), recvmsg(), poll()
 * - loop_option.c: socket options that programs of TCP set
 *
 * A connection is two socks that hold a reference on each other until each one's release(). A
 * sender puts buffers into the receive queue of its peer; they count as the sender's memory until
 * the peer has read them, so SO_SNDBUF bounds a connection. The errors and the states that a
 * program sees are TCP's.
 *
 * Addresses are IPv6 inside; those of IPv4 are mapped.
 *
 * Locks, outermost first:
 *
 *	lock_sock()		one call of bind, listen, connect, accept, shutdown or recvmsg
 *	loop_lock		ports, accept queues, states and links of all sockets
 *	sk_receive_queue.lock	the queue, loop_sock.unread, loop_sock.deaf
 *
 * Callbacks of a sock are called without loop_lock.
 */
#ifndef LOOP_H
#define LOOP_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>

#define LOOP_OPTIONS	32

/* an address with its port */
struct loop_end {
	struct in6_addr ip;
	__be16 port;
	u32 scope;
};

/**
 * struct loop_sock - a socket
 * @inet: the sock
 * @local: own address; its port is 0 before bind()
 * @remote: the peer's, from connect() on
 * @bound: in the table of ports, if @local.port was taken there
 * @peer: other end, with a reference
 * @bound_by_user: @local is kept when a connection ends
 * @queue: of a listener: connections that wait for accept()
 * @link: of such a connection, which the queue owns
 * @connect: continues with connect(); has a reference on the sock while it is queued
 * @deadline: when connect() gives up, in jiffies
 * @unread: bytes in the receive queue
 * @deaf: the receive queue takes no more, because this end was closed
 * @options: values of options that do nothing, see loop_option.c
 */
struct loop_sock {
	struct inet_sock inet;
	struct loop_end local;
	struct loop_end remote;
	struct hlist_node bound;
	struct loop_sock *peer;
	bool bound_by_user;
	struct list_head queue;
	struct list_head link;
	struct delayed_work connect;
	unsigned long deadline;
	size_t unread;
	bool deaf;
	int options[LOOP_OPTIONS];
};

static inline struct loop_sock *loop_sk(const struct sock *sk)
{
	return (struct loop_sock *)sk;
}

static inline struct sock *loop_sock(struct loop_sock *lsk)
{
	return &lsk->inet.sk;
}

/* The state is seen no earlier than what was set before it: the peer, sk_shutdown, sk_err. */
static inline void loop_state_set(struct sock *sk, int state)
{
	/* pairs with loop_state() */
	smp_store_release(&sk->sk_state, state);
}

static inline int loop_state(const struct sock *sk)
{
	/* pairs with loop_state_set() */
	return smp_load_acquire(&sk->sk_state);
}

extern spinlock_t loop_lock;
extern struct workqueue_struct *loop_queue;

/* main.c: parameters */
extern unsigned int loop_connect_delay_ms;
bool loop_refuses(__be16 port);

/* A sock without an owner yet, with one reference, or NULL. */
struct loop_sock *loop_new(struct net *net, int family, struct socket *sock, bool kern);

/* loop_port.c */
int loop_port_from_user(const struct sock *sk, const struct sockaddr *address, int len,
			struct loop_end *end);
int loop_port_to_user(const struct sock *sk, const struct loop_end *end, struct sockaddr *address);
bool loop_port_is_local(struct net *net, const struct in6_addr *ip);
int loop_port_bind(struct loop_sock *lsk, struct loop_end end);
/* with loop_lock */
void loop_port_leave(struct loop_sock *lsk);
bool loop_port_listen(struct loop_sock *lsk);
struct loop_sock *loop_port_listener(struct loop_sock *client);

/* loop_connect.c */
int loop_bind(struct socket *sock, struct sockaddr *address, int len);
int loop_listen(struct socket *sock, int backlog);
int loop_connect(struct socket *sock, struct sockaddr *address, int len, int flags);
int loop_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg);
int loop_shutdown(struct socket *sock, int how);
int loop_release(struct socket *sock);
int loop_getname(struct socket *sock, struct sockaddr *address, int peer);
void loop_connect_work(struct work_struct *work);
void loop_reset(struct loop_sock *lsk, int error);

/* loop_data.c */
int loop_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int loop_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
__poll_t loop_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int loop_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
/* Takes no more data, if @deaf. Return: some of it was not read; it is dropped. */
bool loop_data_drop(struct loop_sock *lsk, bool deaf);

/* loop_option.c */
void loop_option_init(struct loop_sock *lsk);
int loop_setsockopt(struct socket *sock, int level, int name, sockptr_t value, unsigned int len);
int loop_getsockopt(struct socket *sock, int level, int name, char __user *value, int __user *len);
int loop_option(const struct loop_sock *lsk, int level, int name);

#endif
