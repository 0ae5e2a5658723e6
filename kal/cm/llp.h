/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * LLP streams. Each stream is one kernel TCP socket. The sockets never block, and a socket is
 * never released while it is in use. endpoint.c owns a stream, lends it to a provider and ends
 * it with kal_llp_linger() or kal_llp_reset().
 */
#ifndef KAL_LLP_H
#define KAL_LLP_H

#include <linux/workqueue.h>
#include <net/sock.h>

#include <krdma/rnicpi.h>

#include "../net/net.h"

/* state of a TCP connection, see kal_llp_poll() */
#define KAL_LLP_UP	BIT(0)	/* the three-way handshake is over */
#define KAL_LLP_DOWN	BIT(1)	/* no data arrives after the data that is queued */

/* struct kal_llp_hooks - the socket's own callbacks */
struct kal_llp_hooks {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

/**
 * struct kal_llp - an LLP stream
 * @ri: the provider's view of the stream; first member
 * @owner: argument of @notify
 * @notify: called when anything happened on the socket; any context but hard interrupt; must
 *	not sleep or lock the socket. NULL while a provider has the stream. sk_callback_lock
 *	protects @notify, @owner and @saved.
 * @saved: the socket's own callbacks
 * @linger: work that ends a stream without an owner
 * @linger_node: entry in the list of such streams
 * @deadline: deadline of the work in jiffies
 *
 * A stream has one owner at a time and no reference count. The owner is an endpoint, then the
 * linger work.
 */
struct kal_llp {
	struct ri_llp ri;
	void *owner;
	void (*notify)(void *owner);
	struct kal_llp_hooks saved;
	struct delayed_work linger;
	struct list_head linger_node;
	unsigned long deadline;
};

struct kal_conn_param;
struct mem_cgroup;
struct net;

int kal_sock_create(struct net *net, int family, int vrf, struct socket **sock);
void kal_sock_delay_acks(struct sock *sk);
void kal_sock_set_tos(struct socket *sock, u8 tos);

struct kal_llp *kal_llp_open(struct net *net, int family, int vrf);
struct kal_llp *kal_llp_adopt(struct socket *sock, void (*data_ready)(struct sock *sk),
			      struct mem_cgroup *memcg, gfp_t gfp);
int kal_llp_bind(struct kal_llp *llp, const struct sockaddr_storage *local,
		 const struct kal_conn_param *param);
int kal_llp_connect(struct kal_llp *llp, const struct sockaddr_storage *remote);
int kal_llp_renew(struct kal_llp *llp);
int kal_llp_names(struct kal_llp *llp);
int kal_sock_names(struct socket *sock, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote);
int kal_sock_usable(const struct socket *sock);

void kal_llp_hook(struct kal_llp *llp, void (*notify)(void *owner), void *owner);
void kal_llp_unhook(struct kal_llp *llp);

unsigned int kal_llp_poll(struct kal_llp *llp);
int kal_llp_error(struct kal_llp *llp);
int kal_llp_inq(struct kal_llp *llp);
int kal_llp_recv(struct kal_llp *llp, void *buf, size_t len);
int kal_llp_send(struct kal_llp *llp, const void *buf, size_t len);
int kal_llp_send_last(struct kal_llp *llp, const void *buf, size_t len);

void kal_llp_reset(struct kal_llp *llp);
void kal_llp_linger(struct kal_llp *llp);

void kal_llp_exit(void);

#endif /* KAL_LLP_H */
