// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * LLP management: the kernel TCP sockets of endpoints, from creation to the last FIN. No
 * function waits for the network. A socket's callbacks only notify the owner that the socket
 * needs attention. Called by listen.c, endpoint.c and startup.c.
 */
#include <linux/bvec.h>
#include <linux/file.h>
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
#include <krdma/noio.h>
#include <krdma/compat_net.h>

/* Creation ***************************************************************** */

/*
 * Turn TCP_QUICKACK off. The next start-up frame answers the received one and also
 * acknowledges it, so an immediate acknowledgment is unnecessary.
 */
void kal_sock_delay_acks(struct sock *sk)
{
	tcp_sock_set_quickack(sk, 0);
}

/*
 * Set the policy of a stream. A child inherits the policy that was in force when its listener
 * was created, so kal_llp_adopt() sets the current policy.
 */
static void llp_sock_setup(struct sock *sk)
{
	const unsigned int idle = READ_ONCE(kal_keepalive_time);
	int on = idle != 0;

	/* a stream may carry a swap device: memory reclaim must not enter a file system */
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
 * kal_sock_create() - create a TCP socket with the policy of the streams
 * @net: network namespace of the RNIC's netdev
 * @family: AF_INET or AF_INET6
 * @vrf: VRF to bind the socket to, 0: none
 * @sock: result
 *
 * The socket is created by kal_net_sock_create(). Return: 0 or an errno. Context: may sleep.
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
 * kal_llp_open() - create a stream that is not connected yet
 * @net: network namespace of the RNIC's netdev
 * @family: AF_INET or AF_INET6
 * @vrf: VRF of the stream, 0: the default VRF
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
 * Charge to @memcg the memory that the socket already has from TCP's own limit. No function
 * for that is exported. The socket therefore reserves the same amount again with a memory
 * cgroup, and returns it without one.
 *
 * With softirqs off, the charge does not wait for reclaim in the cgroup. The cgroup's own
 * threads must reclaim the excess.
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
 * Charge an accepted socket to @memcg, which is the active memory cgroup, for the rest of its
 * life. TCP itself charges the cgroup of the thread that accepts. Here that thread is a
 * worker, which is in no cgroup. MPTCP does the same for subflows that its workers create
 * (mptcp_attach_cgroup()).
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
			/* the caller has set the active memory cgroup to @memcg */
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
 * kal_llp_adopt() - create the stream of an accepted connection
 * @sock: socket; the stream owns it on success
 * @data_ready: the listener's original callback, because @sock inherited the replacement
 * @memcg: memory cgroup to charge the socket's memory to; NULL: none
 * @gfp: flags for the allocation
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
	/* a kernel socket of a consumer; see kal_net_sock_create() */
	if (!sock->sk->sk_net_refcnt)
		sk_net_refcnt_upgrade(sock->sk);
	llp_sock_setup(sock->sk);
	llp_save_hooks(llp);
	llp->saved.data_ready = data_ready;
	return llp;
}

/*
 * A listener on the IPv6 wildcard also accepts IPv4. Report the addresses of such a connection
 * as IPv4 to all callers, because rdma_cm finds no device for an IPv4-mapped address.
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

/* Read both addresses of a connected socket. */
int kal_sock_names(struct socket *sock, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote)
{
	int err;

	err = kernel_getsockname(sock, (struct sockaddr *)local);
	if (err < 0)
		return err;
	err = kernel_getpeername(sock, (struct sockaddr *)remote);
	if (err < 0)
		return err;
	llp_unmap_ipv4(local);
	llp_unmap_ipv4(remote);
	return 0;
}

/* Read both addresses of a connected stream. */
int kal_llp_names(struct kal_llp *llp)
{
	return kal_sock_names(llp->ri.sock, &llp->ri.local, &llp->ri.remote);
}

/**
 * kal_sock_usable() - check whether a consumer's socket can become a stream
 * @sock: socket, or NULL
 *
 * Return: 0; -EINVAL: no TCP socket; -ENOTCONN; -EBUSY: a layer above TCP uses it. Context: any.
 */
int kal_sock_usable(const struct socket *sock)
{
	const struct sock *sk = sock ? sock->sk : NULL;

	if (!sk || sk->sk_type != SOCK_STREAM || sk->sk_protocol != IPPROTO_TCP ||
	    (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return -EINVAL;
	if (inet_sk_state_load(sk) != TCP_ESTABLISHED)
		return -ENOTCONN;
	return READ_ONCE(sk->sk_user_data) || inet_csk(sk)->icsk_ulp_ops ? -EBUSY : 0;
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
 * @param: reservation of the port, and whether another port may be used instead
 *
 * rdma_cm chooses ephemeral ports from its own table, which does not know TCP's ports. If TCP
 * already uses such a port, TCP chooses another port, unless @param says that the consumer
 * chose the port.
 *
 * Return: 0 or an errno. Context: may sleep.
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
	return kernel_bind(llp->ri.sock, (struct sockaddr_unsized *)&addr, kal_sockaddr_len(&addr));
}

/**
 * kal_llp_connect() - begin to connect
 * @llp: stream
 * @remote: address and port
 *
 * The result comes as a notification, or is found by kal_llp_poll().
 *
 * Return: 0, or an errno if the attempt could not begin. Context: may sleep, does not wait for
 * the peer.
 */
int kal_llp_connect(struct kal_llp *llp, const struct sockaddr_storage *remote)
{
	struct sockaddr_storage addr = *remote;
	int err;

	err = kernel_connect(llp->ri.sock, (struct sockaddr_unsized *)&addr,
			     kal_sockaddr_len(&addr), O_NONBLOCK);
	return err == -EINPROGRESS ? 0 : err;
}

/**
 * kal_llp_renew() - reset the connection and make the stream connectable again
 * @llp: stream; unhooked by this function
 *
 * A local port that the stream was bound to stays bound. A port that TCP chose on connect does
 * not.
 *
 * Return: 0, or an errno, after which the stream cannot be used any more. Context: may sleep.
 */
int kal_llp_renew(struct kal_llp *llp)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int err;

	kal_llp_unhook(llp);
	err = kernel_connect(llp->ri.sock, (struct sockaddr_unsized *)&none, sizeof(none), 0);
	/* discard the error with which the old connection ended */
	sock_error(llp->ri.sock->sk);
	return err;
}

/* Set the type of service or the traffic class. It is only a hint, so a failure is ignored. */
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
	/* the socket may have got another owner since TCP read the callback */
	if (llp && sk->sk_data_ready == llp_notify)
		llp->notify(llp->owner);
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * kal_llp_hook() - notify an owner of everything that happens on the socket
 * @llp: stream
 * @notify: see struct kal_llp
 * @owner: argument of @notify
 *
 * Earlier events are not reported, so the caller must examine the socket once afterwards.
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

/* Restore the socket's own callbacks. No notification comes after return. */
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
 * kal_llp_poll() - read the state of the connection
 * @llp: stream
 *
 * Call this function before reading. If it returns KAL_LLP_DOWN, no more data arrives than is
 * already queued.
 *
 * Return: KAL_LLP_UP and KAL_LLP_DOWN. Context: any.
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

/*
 * Read the reason why a stream is down. Return: TCP's error, or -ECONNRESET if the peer closed
 * the stream.
 */
int kal_llp_error(struct kal_llp *llp)
{
	const int err = sock_error(llp->ri.sock->sk);

	return !err || err == -EPIPE ? -ECONNRESET : err;
}

/* Number of bytes that wait to be read. Context: may sleep. */
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
 * @buf: destination
 * @len: size of @buf in bytes
 *
 * Return: number of bytes; 0 at the end of the stream; -EAGAIN if there are none now; or the
 * stream's error.
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
 * @len: length of the frame in bytes
 *
 * At most two frames are ever queued on a stream. They fit into the smallest send buffer, so
 * TCP takes a frame completely unless memory is short.
 *
 * The frame is sent from a page fragment of the CPU. If TCP copied it, TCP would allocate
 * eight pages for the socket.
 *
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

/**
 * kal_llp_send_last() - queue the last bytes of a consumer's own protocol
 * @llp: stream of an adopted socket, before any start-up frame
 * @buf: bytes
 * @len: their number
 *
 * Return: 0; -ENOBUFS: they do not fit into the send buffer; or the stream's error. Context: may
 * sleep, does not wait for the peer.
 */
int kal_llp_send_last(struct kal_llp *llp, const void *buf, size_t len)
{
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct sock *sk = llp->ri.sock->sk;
	bool room;
	int n;

	if (!len)
		return 0;
	lock_sock(sk);
	room = len <= max(sk_stream_wspace(sk), 0);
	release_sock(sk);
	if (!room)
		return -ENOBUFS;
	n = kernel_sendmsg(llp->ri.sock, &msg, &vec, 1, len);
	if (n == -EPIPE)
		return -ECONNRESET;
	if (n < 0 && n != -EAGAIN)
		return n;
	return n == len ? 0 : -ENOBUFS;
}

/* End ********************************************************************** */

/*
 * Release the socket of a stream that has ended or is to be reset. A consumer's socket may have a
 * file, which user space may keep open; so the stream ends before that is put.
 */
static void llp_release(struct socket *sock)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	if (!sock->file) {
		sock_release(sock);
		return;
	}
	kernel_connect(sock, (struct sockaddr_unsized *)&none, sizeof(none), 0);
	fput(sock->file);
}

static LIST_HEAD(lingering);
static DEFINE_SPINLOCK(llp_linger_lock);	/* protects lingering and llp_linger_stop */
static DECLARE_WAIT_QUEUE_HEAD(llp_linger_wait);
static bool llp_linger_stop;

/**
 * kal_llp_reset() - end a stream with RST at once
 * @llp: stream, freed; only its owner may have it hooked
 *
 * Context: may sleep.
 */
void kal_llp_reset(struct kal_llp *llp)
{
	kal_llp_unhook(llp);
	sock_no_linger(llp->ri.sock->sk);
	llp_release(llp->ri.sock);
	kfree(llp);
}

static void llp_linger_notify(void *owner)
{
	struct kal_llp *llp = owner;

	mod_delayed_work(kal_conn_wq, &llp->linger, 0);
}

/**
 * kal_llp_linger() - end a stream gracefully, without waiting for the end
 * @llp: stream; the caller gives up its ownership
 *
 * TCP sends FIN after the queued data. If a socket is released with unread input, TCP sends
 * RST, and the peer loses the data that it has not read yet. Input is therefore discarded
 * until the peer's FIN arrives, but not longer than close_timeout_ms.
 *
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
	/* the last access to the stream: the work may find it ended and free it */
	queue_delayed_work(kal_conn_wq, &llp->linger, 0);
}

/* Discard input. Return: true if no more input can arrive. */
static bool llp_linger_drain(struct kal_llp *llp)
{
	unsigned int budget = 64;
	int n;

	do {
		struct kvec vec = { .iov_len = SZ_64K };
		struct msghdr msg = {};

		/* with MSG_TRUNC, TCP consumes the data and does not copy it */
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

	guard(krdma_noio)();
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
	/* the stream is unhooked and not in the list, so the work is not queued again */
	cancel_delayed_work(&llp->linger);
	if (!done && stop)
		sock_no_linger(llp->ri.sock->sk);
	llp_release(llp->ri.sock);
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

/* Reset all lingering streams and wait for their end. No new ones come. May sleep. */
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
