// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * LLP management: the kernel TCP sockets of endpoints, from creation to the last FIN. No
 * function waits for the network. A socket's callbacks only notify the owner that the socket
 * needs attention. Called by listen.c, endpoint.c and startup.c.
 */
#include <linux/bvec.h>
#include <linux/memcontrol.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "../core/core.h"
#include "llp.h"
#include "policy.h"

#include <krdma/kal.h>
#include <krdma/netstack.h>

/* Creation ***************************************************************** */

/*
 * A start-up frame is answered by the next one, which acknowledges it, too, so TCP need not
 * do so at once: TCP_QUICKACK off.
 */
void kal_sock_delay_acks(struct sock *sk)
{
	tcp_sock_set_quickack(sk, 0);
}

/* Policy that every stream of ours follows; a child inherits that of its listener's time. */
static void llp_sock_setup(struct sock *sk)
{
	const unsigned int idle = READ_ONCE(kal_keepalive_time);
	int on = idle != 0;

	/* a stream may carry the swap device: no reclaim into file systems */
	sk->sk_allocation = GFP_NOIO;
	sk->sk_use_task_frag = false;
	tcp_sock_set_nodelay(sk);
	kal_sock_delay_acks(sk);
	tcp_sock_set_user_timeout(sk, READ_ONCE(kal_tcp_user_timeout_ms));
	if (idle) {
		tcp_sock_set_keepidle(sk, idle);
		tcp_sock_set_keepintvl(sk, READ_ONCE(kal_keepalive_interval));
		tcp_sock_set_keepcnt(sk, READ_ONCE(kal_keepalive_probes));
	}
	sock_setsockopt(sk->sk_socket, SOL_SOCKET, SO_KEEPALIVE, KERNEL_SOCKPTR(&on), sizeof(on));
}

/**
 * kal_sock_create() - a TCP socket of a network namespace
 * @net: of the RNIC's netdev
 * @family: AF_INET or AF_INET6
 * @vrf: the VRF to bind it to, 0: none
 * @sock: result
 *
 * As kal_net_sock_create(), with the policy of our streams. Context: may sleep.
 */
int kal_sock_create(struct net *net, int family, int vrf, struct socket **sock)
{
	int err;

	err = kal_net_sock_create(net, family, vrf, sock);
	if (!err)
		llp_sock_setup((*sock)->sk);
	return err;
}

static void llp_linger_work(struct work_struct *work);

static struct kal_llp *llp_alloc(gfp_t gfp)
{
	struct kal_llp *llp = kzalloc(sizeof(*llp), gfp);

	if (llp) {
		INIT_DELAYED_WORK(&llp->linger, llp_linger_work);
		INIT_LIST_HEAD(&llp->linger_node);
	}
	return llp;
}

static void llp_save_hooks(struct kal_llp *llp)
{
	struct sock *sk = llp->ri.sock->sk;

	llp->saved.data_ready = sk->sk_data_ready;
	llp->saved.state_change = sk->sk_state_change;
	llp->saved.error_report = sk->sk_error_report;
}

/**
 * kal_llp_open() - a stream that is not connected yet
 * @net: of the RNIC's netdev
 * @family: AF_INET or AF_INET6
 * @vrf: that it is in, 0: the default one
 *
 * Return: the stream or an ERR_PTR. Context: may sleep.
 */
struct kal_llp *kal_llp_open(struct net *net, int family, int vrf)
{
	struct kal_llp *llp = llp_alloc(GFP_KERNEL_ACCOUNT);
	int err;

	if (!llp)
		return ERR_PTR(-ENOMEM);
	err = kal_sock_create(net, family, vrf, &llp->ri.sock);
	if (err) {
		kfree(llp);
		return ERR_PTR(err);
	}
	llp_save_hooks(llp);
	return llp;
}

#ifdef CONFIG_MEMCG
/*
 * What TCP has of its own limit for the socket so far is charged to the group, too. No
 * function for that is exported, so the socket asks for as much again, with a group, and
 * gives it back without. With softirqs off, the charge waits for no reclaim in the
 * group: what is over the limit is for the group's own threads to reclaim.
 */
static bool llp_sock_charge_held(struct sock *sk, struct mem_cgroup *memcg)
{
	const int held = sk_mem_pages(sk->sk_forward_alloc + atomic_read(&sk->sk_rmem_alloc)) <<
			 PAGE_SHIFT;
	int charged;

	if (!held)
		return true;
	sk->sk_memcg = memcg;
	local_bh_disable();
	charged = __sk_mem_schedule(sk, held, SK_MEM_RECV);
	local_bh_enable();
	sk->sk_memcg = NULL;
	if (charged)
		__sk_mem_reclaim(sk, held);
	return charged;
}

/*
 * Charge an accepted socket to @memcg, the active one, for the rest of its life. TCP itself
 * charges the group of the thread that accepts; here a worker does, which is in none.
 * MPTCP does the same for subflows that its workers make (mptcp_attach_cgroup()).
 */
static int llp_sock_charge(struct sock *sk, struct mem_cgroup *memcg)
{
	int err = 0;

	if (!mem_cgroup_sockets_enabled || !cgroup_subsys_on_dfl(memory_cgrp_subsys) ||
	    !memcg || !parent_mem_cgroup(memcg))
		return 0;
	lock_sock(sk);
	if (!sk->sk_memcg && mem_cgroup_tryget(memcg)) {
		if (llp_sock_charge_held(sk, memcg)) {
			sk->sk_memcg = memcg;
			/* with set_active_memcg(), so to the same */
			kmem_cache_charge(sk, KAL_GFP_REQUEST);
		} else {
			mem_cgroup_put(memcg);
			err = -ENOMEM;
		}
	}
	release_sock(sk);
	return err;
}
#else
static int llp_sock_charge(struct sock *sk, struct mem_cgroup *memcg)
{
	return 0;
}
#endif

/**
 * kal_llp_adopt() - a stream of an accepted connection
 * @sock: becomes the stream's in case of success
 * @data_ready: what the listener had before it put its own callback in place,
 *		which @sock inherited
 * @memcg: what the socket's memory is charged to; NULL: nothing
 * @gfp: to allocate with
 *
 * Return: the stream or an ERR_PTR. Context: may sleep.
 */
struct kal_llp *kal_llp_adopt(struct socket *sock, void (*data_ready)(struct sock *sk),
			      struct mem_cgroup *memcg, gfp_t gfp)
{
	struct kal_llp *llp = llp_alloc(gfp);
	int err;

	if (!llp)
		return ERR_PTR(-ENOMEM);
	llp->ri.sock = sock;
	err = kal_llp_names(llp) ?: llp_sock_charge(sock->sk, memcg);
	if (err) {
		kfree(llp);
		return ERR_PTR(err);
	}
	llp_sock_setup(sock->sk);
	llp_save_hooks(llp);
	llp->saved.data_ready = data_ready;
	return llp;
}

/*
 * A listener on the IPv6 wildcard takes IPv4, too. Its connections have IPv4 addresses
 * for whoever asks: rdma_cm finds no device for a mapped one.
 */
static void llp_unmap_ipv4(struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	struct sockaddr_in in4 = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&in6->sin6_addr))
		return;
	in4.sin_port = in6->sin6_port;
	in4.sin_addr.s_addr = in6->sin6_addr.s6_addr32[3];
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &in4, sizeof(in4));
}

/* Fill in both addresses of a connected stream. */
int kal_llp_names(struct kal_llp *llp)
{
	int err;

	err = kernel_getsockname(llp->ri.sock, (struct sockaddr *)&llp->ri.local);
	if (err < 0)
		return err;
	err = kernel_getpeername(llp->ri.sock, (struct sockaddr *)&llp->ri.remote);
	if (err < 0)
		return err;
	llp_unmap_ipv4(&llp->ri.local);
	llp_unmap_ipv4(&llp->ri.remote);
	return 0;
}

static __be16 *llp_sockaddr_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return &((struct sockaddr_in6 *)addr)->sin6_port;
	return &((struct sockaddr_in *)addr)->sin_port;
}

/**
 * kal_llp_bind() - set the local address of a stream before it connects
 * @llp: stream
 * @local: address and port, port 0 for any
 * @param: whether the port is reserved, and whether another may take its place
 *
 * The RDMA connection manager draws ephemeral ports from a table of its own,
 * which knows nothing of TCP's: such a port that TCP has in use is replaced,
 * unless @param says that it was chosen. Context: may sleep.
 */
int kal_llp_bind(struct kal_llp *llp, const struct sockaddr_storage *local,
		 const struct kal_conn_param *param)
{
	struct sockaddr_storage addr = *local;
	__be16 *port = llp_sockaddr_port(&addr);
	int low, high, err;

	sock_set_reuseaddr(llp->ri.sock->sk);
	err = kal_port_bind(param->port, llp->ri.sock, &addr);
	if (err != -EADDRINUSE || param->exact_port)
		return err;
	inet_get_local_port_range(sock_net(llp->ri.sock->sk), &low, &high);
	if (ntohs(*port) < low || ntohs(*port) > high)
		return err;
	*port = 0;
	return kernel_bind(llp->ri.sock, (struct sockaddr *)&addr, kal_sockaddr_len(&addr));
}

/**
 * kal_llp_connect() - begin to connect; the outcome comes as a notification
 * @llp: stream, hooked
 * @remote: address and port
 *
 * Return: 0 or why the attempt could not even begin. Context: may sleep, does
 * not wait for the peer.
 */
int kal_llp_connect(struct kal_llp *llp, const struct sockaddr_storage *remote)
{
	struct sockaddr_storage addr = *remote;
	int err;

	err = kernel_connect(llp->ri.sock, (struct sockaddr *)&addr, kal_sockaddr_len(&addr),
			     O_NONBLOCK);
	return err == -EINPROGRESS ? 0 : err;
}

/**
 * kal_llp_renew() - have a stream as it was before it connected
 * @llp: stream; unhooked by this
 *
 * The connection is reset. A local port that it was bound to stays its own, one that TCP had
 * chosen does not. Return: 0 or an error, with which it cannot be used any more. Context: may
 * sleep.
 */
int kal_llp_renew(struct kal_llp *llp)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int err;

	kal_llp_unhook(llp);
	err = kernel_connect(llp->ri.sock, &none, sizeof(none), 0);
	/* how the connection ended */
	sock_error(llp->ri.sock->sk);
	return err;
}

/* Set type of service or traffic class; a hint, so a failure does not matter. */
void kal_sock_set_tos(struct socket *sock, u8 tos)
{
	int value = tos;

	ip_sock_set_tos(sock->sk, tos);
	if (sock->sk->sk_family == AF_INET6)
		sock->ops->setsockopt(sock, SOL_IPV6, IPV6_TCLASS, KERNEL_SOCKPTR(&value),
				      sizeof(value));
}

/* Callbacks **************************************************************** */

static void llp_notify(struct sock *sk)
{
	struct kal_llp *llp;

	read_lock_bh(&sk->sk_callback_lock);
	llp = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	/* the socket may have changed hands since this was called */
	if (llp && sk->sk_data_ready == llp_notify)
		llp->notify(llp->owner);
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * kal_llp_hook() - have an owner told of everything that happens on the socket
 * @llp: stream
 * @notify: see struct kal_llp
 * @owner: its argument
 *
 * What happened before is not reported: look once afterwards.
 */
void kal_llp_hook(struct kal_llp *llp, void (*notify)(void *owner), void *owner)
{
	struct sock *sk = llp->ri.sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	llp->notify = notify;
	llp->owner = owner;
	sk->sk_data_ready = llp_notify;
	sk->sk_state_change = llp_notify;
	sk->sk_error_report = llp_notify;
	/* NOCOPY: no other socket ever inherits the pointer */
	__rcu_assign_sk_user_data_with_flags(sk, llp, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Give the socket its own callbacks back; no notification after return. */
void kal_llp_unhook(struct kal_llp *llp)
{
	struct sock *sk = llp->ri.sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = llp->saved.data_ready;
	sk->sk_state_change = llp->saved.state_change;
	sk->sk_error_report = llp->saved.error_report;
	llp->notify = NULL;
	llp->owner = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Input and output ********************************************************* */

/**
 * kal_llp_poll() - state of the connection
 * @llp: stream
 *
 * Ask before reading: what was queued when DOWN was seen is all there is.
 * Return: KAL_LLP_UP and KAL_LLP_DOWN. Any context.
 */
unsigned int kal_llp_poll(struct kal_llp *llp)
{
	struct sock *sk = llp->ri.sock->sk;
	unsigned int flags = 0;

	switch (inet_sk_state_load(sk)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		break;
	case TCP_ESTABLISHED:
		flags = KAL_LLP_UP;
		break;
	case TCP_CLOSE_WAIT:
		flags = KAL_LLP_UP | KAL_LLP_DOWN;
		break;
	default:
		flags = KAL_LLP_DOWN;
		break;
	}
	if (READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
		flags |= KAL_LLP_DOWN;
	return flags;
}

/* Why a stream is down: TCP's error, or -ECONNRESET when the peer just ended it. */
int kal_llp_error(struct kal_llp *llp)
{
	const int err = sock_error(llp->ri.sock->sk);

	return !err || err == -EPIPE ? -ECONNRESET : err;
}

/* Octets that wait to be read. Context: may sleep. */
int kal_llp_inq(struct kal_llp *llp)
{
	struct sock *sk = llp->ri.sock->sk;
	int n;

	lock_sock(sk);
	n = tcp_inq(sk);
	release_sock(sk);
	return n;
}

/**
 * kal_llp_recv() - read without waiting
 * @llp: stream
 * @buf: where to
 * @len: most octets
 *
 * Return: octets, 0 at the end of the stream, -EAGAIN when there are none now,
 * or the stream's error.
 */
int kal_llp_recv(struct kal_llp *llp, void *buf, size_t len)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {};

	return kernel_recvmsg(llp->ri.sock, &msg, &vec, 1, len, MSG_DONTWAIT);
}

/**
 * kal_llp_send() - queue a start-up frame
 * @llp: stream
 * @buf: frame
 * @len: its octets
 *
 * At most two of them are ever queued on a stream, less than the least send
 * buffer: TCP takes such a frame whole unless memory is short. It goes in a piece of
 * a page that the CPU has for such things: for a copy TCP would give the socket eight
 * pages of its own.
 * Return: 0, -ENOBUFS, or the stream's error. Context: may sleep.
 */
int kal_llp_send(struct kal_llp *llp, const void *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES };
	struct bio_vec vec;
	void *frag;
	int n;

	frag = netdev_alloc_frag(len);
	if (!frag)
		return -ENOBUFS;
	memcpy(frag, buf, len);
	bvec_set_virt(&vec, frag, len);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	n = sock_sendmsg(llp->ri.sock, &msg);
	skb_free_frag(frag);

	if (n == -EPIPE)
		return -ECONNRESET;
	if (n == -EAGAIN)
		return -ENOBUFS;
	if (n < 0)
		return n;
	return n == len ? 0 : -ENOBUFS;
}

/* End ********************************************************************** */

static LIST_HEAD(lingering);
static DEFINE_SPINLOCK(llp_linger_lock);	/* protects lingering and llp_linger_stop */
static DECLARE_WAIT_QUEUE_HEAD(llp_linger_wait);
static bool llp_linger_stop;

/**
 * kal_llp_reset() - end a stream with RST at once
 * @llp: freed; not hooked by anybody else. Context: may sleep.
 */
void kal_llp_reset(struct kal_llp *llp)
{
	kal_llp_unhook(llp);
	sock_no_linger(llp->ri.sock->sk);
	sock_release(llp->ri.sock);
	kfree(llp);
}

static void llp_linger_notify(void *owner)
{
	struct kal_llp *llp = owner;

	mod_delayed_work(kal_conn_wq, &llp->linger, 0);
}

/**
 * kal_llp_linger() - end a stream gracefully, without waiting for it
 * @llp: not the caller's any more
 *
 * FIN goes behind what is queued. A socket that is released with unread input
 * sends RST, which would make the peer lose what it has not read yet; so input
 * is discarded until the peer's own FIN, but not longer than close_timeout_ms.
 * Context: may sleep.
 */
void kal_llp_linger(struct kal_llp *llp)
{
	kal_llp_unhook(llp);
	kernel_sock_shutdown(llp->ri.sock, SHUT_WR);
	llp->deadline = jiffies + kal_ms(&kal_close_timeout_ms);
	spin_lock_bh(&llp_linger_lock);
	list_add(&llp->linger_node, &lingering);
	spin_unlock_bh(&llp_linger_lock);
	/* the last access: the work may find the stream ended, and frees it */
	queue_delayed_work(kal_conn_wq, &llp->linger, 0);
}

/* Throw input away. Return: true when the peer has nothing more to say. */
static bool llp_linger_drain(struct kal_llp *llp)
{
	unsigned int budget = 64;
	int n;

	do {
		struct kvec vec = { .iov_len = SZ_64K };
		struct msghdr msg = {};

		/* TCP takes MSG_TRUNC as: consume, do not copy */
		n = kernel_recvmsg(llp->ri.sock, &msg, &vec, 1, vec.iov_len,
				   MSG_DONTWAIT | MSG_TRUNC);
	} while (n > 0 && --budget);
	if (n > 0)
		llp_linger_notify(llp);
	return n <= 0 && n != -EAGAIN;
}

static void llp_linger_work(struct work_struct *work)
{
	struct kal_llp *llp = container_of(to_delayed_work(work), struct kal_llp, linger);
	const bool stop = READ_ONCE(llp_linger_stop);
	const long left = llp->deadline - jiffies;
	bool done;

	if (!llp->notify)
		kal_llp_hook(llp, llp_linger_notify, llp);
	done = llp_linger_drain(llp);
	if (!done && !stop && left > 0) {
		queue_delayed_work(kal_conn_wq, &llp->linger, left);
		return;
	}

	kal_llp_unhook(llp);
	spin_lock_bh(&llp_linger_lock);
	list_del(&llp->linger_node);
	spin_unlock_bh(&llp_linger_lock);
	/* off the hook and off the list nobody queues the work again */
	cancel_delayed_work(&llp->linger);
	if (!done && stop)
		sock_no_linger(llp->ri.sock->sk);
	sock_release(llp->ri.sock);
	kfree(llp);
	wake_up(&llp_linger_wait);
}

static bool llp_linger_idle(void)
{
	bool idle;

	spin_lock_bh(&llp_linger_lock);
	idle = list_empty(&lingering);
	spin_unlock_bh(&llp_linger_lock);
	return idle;
}

/* Reset the streams that linger and wait for their end; no new ones come. May sleep. */
void kal_llp_exit(void)
{
	struct kal_llp *llp;

	WRITE_ONCE(llp_linger_stop, true);
	spin_lock_bh(&llp_linger_lock);
	list_for_each_entry(llp, &lingering, linger_node)
		llp_linger_notify(llp);
	spin_unlock_bh(&llp_linger_lock);
	wait_event(llp_linger_wait, llp_linger_idle());
}
