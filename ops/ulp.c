// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The upper layer protocol "krdma" of TCP: what a marked socket has in place of tcp_prot.
 *
 * There is one copy of tcp_prot and one of tcpv6_prot (and those of sockets that were made by
 * explicit.c). They differ in the calls that must know of the road; all else is TCP's. The copies
 * have no psock_update_sk_prot: a sockmap refuses a socket with an upper layer protocol.
 *
 * The program's socket gets a copy of its struct proto_ops, too, where splice() and poll() go past
 * sk_prot.
 * Nobody can take that copy for TCP's: what would copy it (kTLS) is refused as long as the mark is
 * on, and ops_decline() puts the original back first.
 */
#include <asm/ioctls.h>
#include <linux/inet_diag.h>
#include <linux/kmemleak.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sockios.h>
#include <linux/splice.h>
#include <net/netlink.h>
#include <krdma/compat_net.h>

#include "ops.h"

/* attributes of the protocol in inet_diag begin here: INET_ULP_INFO_* are others' */
#define ULP_INFO_KRDMA	75

/*
 * IPv4, IPv6. They are not freed: a request socket has the sk_prot of its listener, mark or not,
 * and lives as long as its handshake.
 */
static struct proto *ulp_prots;
static struct proto_ops ulp_socket_ops[2];
static const struct proto_ops *ulp_socket_base[2];

const struct proto_ops *ops_socket_base(int family)
{
	return ulp_socket_base[family == AF_INET6];
}

struct proto *ops_prot_of(const struct proto *base)
{
	if (base == &tcp_prot)
		return &ulp_prots[0];
	if (base == &tcpv6_prot)
		return &ulp_prots[1];
	return NULL;
}

/* Calls of the protocol ***************************************************** */

/* Bytes of the road that nobody has read: a reset, as TCP does for its own (RFC 2525, 2.17). */
static void ulp_close_by_reset(struct sock *sk)
{
	lock_sock(sk);
	sock_set_flag(sk, SOCK_LINGER);
	sk->sk_lingertime = 0;
	release_sock(sk);
}

static void ulp_close(struct sock *sk, long timeout)
{
	struct ops_sock *os = ops_sock_enter(sk);
	bool reset, unread;

	if (!os) {
		ops_plain_prot(sk)->close(sk, timeout);
		return;
	}
	unread = ops_is_local(os) ? ops_local_close(os) : ops_road_unread(os);
	if (unread)
		ulp_close_by_reset(sk);
	lock_sock(sk);
	/* a FIN is counted by two fields */
	reset = unread || ops_tcp_unread(os) || (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime);
	release_sock(sk);
	ops_road_close(os, reset);
	tcp_close(sk, timeout);
	/* behind TCP's own end: where that is a reset, the peer sees it first */
	if (!reset && ops_is_local(os))
		ops_local_fin(os);
	ops_sock_put(os);
}

/* After the programs of cgroups, which may have changed the address. */
static int ulp_prot_connect(struct sock *sk, struct sockaddr_unsized *address, int len)
{
	int err = 0;

	/* TCP says what is wrong with an address */
	if (address->sa_family == sk->sk_family &&
	    len >= (sk->sk_family == AF_INET6 ? SIN6_LEN_RFC2133 : (int)sizeof(struct sockaddr_in)))
		err = ops_explicit_check(sk, OPS_CONNECT, (struct sockaddr *)address);
	return err ?: ops_tcp_prot(sk)->connect(sk, address, len);
}

static int ulp_disconnect(struct sock *sk, int flags)
{
	struct ops_sock *os = ops_sock_enter(sk);
	int err;

	if (!os)
		return ops_plain_prot(sk)->disconnect(sk, flags);
	WRITE_ONCE(os->gone, true);
	if (ops_is_local(os))
		ops_local_close(os);
	ops_road_close(os, true);
	err = tcp_prot.disconnect(sk, flags);
	ops_unmark(sk, os, OPS_COUNTERS);
	/* such a socket is ours again when it connects again */
	if (os->explicit && sk->sk_socket && !sock_flag(sk, SOCK_DEAD))
		ops_mark_explicit(sk, os->must);
	ops_sock_put(os);
	return err;
}

static void ulp_shutdown(struct sock *sk, int how)
{
	struct ops_sock *os = ops_sock_enter(sk);

	if (os && how & RCV_SHUTDOWN)
		/* not what TCP's FIN says of the peer */
		WRITE_ONCE(os->rx_shut, true);
	if (os && how & SEND_SHUTDOWN && ops_is_local(os))
		ops_local_fin(os);
	else if (os)
		ops_road_shutdown(os);
	tcp_prot.shutdown(sk, how);
	if (!os)
		return;
	/* a road that came up meanwhile */
	if (!ops_is_local(os))
		ops_road_shutdown(os);
	else if (READ_ONCE(sk->sk_shutdown) == SHUTDOWN_MASK)
		ops_local_shut(os);
	ops_sock_put(os);
}

static int ulp_ioctl(struct sock *sk, int cmd, int *arg)
{
	struct ops_sock *os = ops_sock_enter(sk);
	int err;

	if (!os)
		return ops_plain_prot(sk)->ioctl(sk, cmd, arg);
	err = tcp_prot.ioctl(sk, cmd, arg);
	if (!err && cmd == SIOCINQ && ops_receives_beside(os))
		*arg = ops_inq_ioctl(os);
	else if (!err && cmd == SIOCATMARK && ops_at_road(os))
		*arg = !!(ops_road_urgent(os) & OFFLOAD_URGENT_MARK);
	else if (!err && (cmd == SIOCOUTQ || cmd == SIOCOUTQNSD))
		*arg += ops_unsent(os);
	ops_sock_put(os);
	return err;
}

/* Options that need plain TCP: the mark is taken off, where it still can be. */
static bool ulp_wants_plain(int level, int name, sockptr_t value, unsigned int len)
{
	char ulp[TCP_ULP_NAME_MAX] = {};

	if (level == SOL_IPV6)
		return name == IPV6_ADDRFORM;
	if (level != SOL_TCP)
		return false;
	if (name == TCP_REPAIR)
		return true;
	if (name != TCP_ULP || !len)
		return false;
	len = min_t(unsigned int, len, TCP_ULP_NAME_MAX - 1);
	return !copy_from_sockptr(ulp, value, len) && strcmp(ulp, ops_ulp.name);
}

/* An option that TCP does not know may be one of the road. TCP's answer depends on the level. */
static bool ulp_is_unknown(int err)
{
	return err == -ENOPROTOOPT || err == -EOPNOTSUPP;
}

/* ... whose answer holds, unless it does not know the option, either: @err of TCP, then */
static int ulp_known(int road_err, int err)
{
	return road_err == -ENOPROTOOPT ? err : road_err;
}

static int ulp_setsockopt(struct sock *sk, int level, int name, sockptr_t value, unsigned int len)
{
	struct ops_sock *os = ops_sock_enter(sk);
	int err = 0;

	if (!os)
		return ops_plain_prot(sk)->setsockopt(sk, level, name, value, len);
	if (ulp_wants_plain(level, name, value, len)) {
		lock_sock(sk);
		err = ops_decline(sk, os, OPS_COUNTERS);
		release_sock(sk);
		if (err && name == TCP_REPAIR)
			goto out;
	}
	err = ops_tcp_prot(sk)->setsockopt(sk, level, name, value, len);
	if (ulp_is_unknown(err))
		err = ulp_known(ops_road_setsockopt(os, level, name, value, len), err);
out:
	ops_sock_put(os);
	return err;
}

/* TCP_CMSG_TS of tcp.c: time stamps are wanted */
#define ULP_ZEROCOPY_FLAGS	2U

/*
 * TCP_ZEROCOPY_RECEIVE where bytes may come by a road: none are mapped, as when TCP finds no whole
 * page. What the program's buffer holds is copied, and recv_skip_hint says how much recv() has.
 * TCP's own call would take bytes behind X first, or say that the end is reached.
 */
static int ulp_zerocopy_fill(struct ops_sock *os, struct tcp_zerocopy_receive *zc)
{
	const u32 room = max(zc->copybuf_len, 0), asked = zc->length;
	struct msghdr msg = {};
	u32 inq = ops_inq(os);
	int ret;

	zc->length = 0;
	zc->recv_skip_hint = 0;
	zc->copybuf_len = 0;
	zc->msg_flags = 0;
	if (zc->address & ~PAGE_MASK)
		return -EINVAL;
	if (!inq)
		return ops_recv_at_end(os) ? -EIO : 0;
	if (room && (inq <= room || inq >= PAGE_SIZE)) {
		ret = import_ubuf(ITER_DEST, u64_to_user_ptr(zc->copybuf_address), min(room, inq),
				  &msg.msg_iter);
		if (!ret)
			ret = ops_recv_now(os, &msg, msg_data_left(&msg));
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		zc->copybuf_len = max(ret, 0);
		inq = ops_inq(os);
	}
	/* not more than the program asked for, but what is less than a page: as TCP's */
	zc->recv_skip_hint = inq < PAGE_SIZE ? inq : min(inq, asked);
	return 0;
}

static int ulp_zerocopy_receive(struct ops_sock *os, char __user *value, int __user *len)
{
	struct tcp_zerocopy_receive zc = {};
	int size, err;

	if (get_user(size, len))
		return -EFAULT;
	if (size < (int)offsetofend(struct tcp_zerocopy_receive, length))
		return -EINVAL;
	err = copy_struct_from_user(&zc, sizeof(zc), value, size);
	if (err)
		return err == -E2BIG ? -EINVAL : err;
	if (zc.reserved || zc.msg_flags & ~ULP_ZEROCOPY_FLAGS)
		return -EINVAL;
	err = ulp_zerocopy_fill(os, &zc);
	if (err)
		return err;
	size = min_t(size_t, size, sizeof(zc));
	if (size >= (int)offsetofend(struct tcp_zerocopy_receive, err))
		zc.err = sock_error(os->sk);
	zc.inq = ops_inq_hint(os);
	return put_user(size, len) || copy_to_user(value, &zc, size) ? -EFAULT : 0;
}

/* Has the connection a road, or is one on its way? */
static bool ulp_zerocopy_beside(const struct ops_sock *os)
{
	const enum ops_road_state state = READ_ONCE(os->road_state);

	return ops_is_local(os) || state == OPS_ROAD_UP || state == OPS_ROAD_OPENING ||
	       ops_receives_beside(os);
}

/* TCP_INFO: the bytes of both count. */
static int ulp_info_add(char __user *info, int size, size_t offset, u64 bytes)
{
	u64 __user *field = (u64 __user *)(info + offset);
	u64 sum;

	if (size < (int)(offset + sizeof(*field)))
		return 0;
	if (get_user(sum, field) || put_user(sum + bytes, field))
		return -EFAULT;
	return 0;
}

static int ulp_info(const struct ops_sock *os, char __user *info, int __user *len)
{
	u64 received = READ_ONCE(os->received), sent = READ_ONCE(os->sent);
	int size;

	if (get_user(size, len) ||
	    ulp_info_add(info, size, offsetof(struct tcp_info, tcpi_bytes_acked), sent) ||
	    ulp_info_add(info, size, offsetof(struct tcp_info, tcpi_bytes_sent), sent) ||
	    ulp_info_add(info, size, offsetof(struct tcp_info, tcpi_bytes_received), received))
		return -EFAULT;
	return 0;
}

static int ulp_getsockopt(struct sock *sk, int level, int name, char __user *value, int __user *len)
{
	struct ops_sock *os = ops_sock_enter(sk);
	int err;

	if (!os)
		return ops_plain_prot(sk)->getsockopt(sk, level, name, value, len);
	if (level == SOL_TCP && name == TCP_ZEROCOPY_RECEIVE && ulp_zerocopy_beside(os)) {
		err = ulp_zerocopy_receive(os, value, len);
		goto out;
	}
	err = ops_tcp_prot(sk)->getsockopt(sk, level, name, value, len);
	if (ulp_is_unknown(err))
		err = ulp_known(ops_road_getsockopt(os, level, name, value, len), err);
	else if (!err && level == SOL_TCP && name == TCP_INFO)
		err = ulp_info(os, value, len);
out:
	ops_sock_put(os);
	return err;
}

/* The program's socket ****************************************************** */

static int ulp_family(const struct sock *sk)
{
	return sk->sk_family == AF_INET6;
}

/*
 * tcp_splice_read() reads TCP's queue, and would wait there. The generic function calls recvmsg.
 */
static ssize_t ulp_splice_read(struct socket *sock, loff_t *pos, struct pipe_inode_info *pipe,
			       size_t len, unsigned int flags)
{
	const struct proto_ops *base = ulp_socket_base[ulp_family(sock->sk)];
	struct ops_sock *os = ops_sock_enter(sock->sk);

	if (!os)
		return base->splice_read(sock, pos, pipe, len, flags);
	ops_sock_put(os);
	if (*pos)
		return -ESPIPE;
	return copy_splice_read(sock->file, pos, pipe, len, flags);
}

static int ulp_set_rcvlowat(struct sock *sk, int value)
{
	struct ops_sock *os;
	int err = ulp_socket_base[ulp_family(sk)]->set_rcvlowat(sk, value);

	os = ops_sock_enter(sk);
	if (!os)
		return err;
	ops_low_water(os);
	ops_sock_put(os);
	return err;
}

/*
 * TCP's FIN is no end as long as the peer has not ended its stream on the road: a program would ask
 * poll() and recv() in turn, for as long as the peer likes. The road's end wakes it. TCP knows
 * nothing of urgent data of a road.
 */
static __poll_t ulp_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	__poll_t mask = tcp_poll(file, sock, wait);
	const struct ops_sock *os;

	rcu_read_lock();
	os = ops_sock_of(sock->sk);
	if (os && !ops_is_local(os)) {
		if (mask & EPOLLRDHUP && ops_end_waits(os))
			mask &= ~(EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLHUP);
		if (ops_road_urgent(os) & OFFLOAD_URGENT_BYTE)
			mask |= EPOLLPRI;
	}
	rcu_read_unlock();
	return mask;
}

/**
 * ops_take_socket() - give the program's socket our operations
 * @os: context
 * @sk: its sock, with TCP's lock
 *
 * A child has no socket before accept(), which calls release_cb under TCP's lock before the program
 * knows the descriptor. A listener keeps TCP's: accept() gives those of the listener to each child,
 * marked or not, and nobody would take them away again.
 */
void ops_take_socket(struct ops_sock *os, struct sock *sk)
{
	struct socket *sock = sk->sk_socket;
	int family = ulp_family(sk);

	if (os->ops || !sock || sk->sk_state == TCP_LISTEN ||
	    READ_ONCE(sock->ops) != ulp_socket_base[family])
		return;
	os->ops = ulp_socket_base[family];
	WRITE_ONCE(sock->ops, &ulp_socket_ops[family]);
}

void ops_give_socket(struct ops_sock *os, struct sock *sk)
{
	struct socket *sock = sk->sk_socket;

	if (!os->ops)
		return;
	if (sock && READ_ONCE(sock->ops) == &ulp_socket_ops[ulp_family(sk)])
		WRITE_ONCE(sock->ops, os->ops);
	os->ops = NULL;
}

static void ulp_release_cb(struct sock *sk)
{
	struct ops_sock *os;

	tcp_prot.release_cb(sk);
	if (!ops_is_marked(sk))
		return;
	os = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);
	if (os && unlikely(os->breaks_late))
		ops_road_lock_left(os);
	if (!os || os->ops || !sk->sk_socket)
		return;
	ops_take_socket(os, sk);
	/* a child: its context was made in softirq, and is the accepting program's, as its sock */
	if (os->ops)
		kmem_cache_charge(ops_conn(os), GFP_ATOMIC | __GFP_NOWARN);
}

/* Operations of the upper layer protocol ************************************ */

/*
 * setsockopt(TCP_ULP, "krdma"): before connect(), where the rules have the last word (mark.c), and
 * on a listener that a rule takes. An established socket is too late: a reader may wait in TCP.
 */
static int ulp_init(struct sock *sk)
{
	struct ops_choice choice = {};
	struct ops_sock *os;
	int err = -EINVAL;

	if (sk->sk_state == TCP_LISTEN)
		err = ops_rules_choose(sk, OPS_LISTEN, &choice) ? 0 : -EPERM;
	else if (sk->sk_state == TCP_CLOSE)
		err = 0;
	if (!err && (READ_ONCE(ops_down) || !ops_may_mark(sk)))
		err = -EBUSY;
	if (!err)
		err = ops_mark(sk, &choice);
	if (err)
		return err;
	os = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);
	os->asked = true;
	/* the caller has one more reference on the module than icsk_ulp_ops needs */
	module_put(THIS_MODULE);
	if (sk->sk_socket)
		set_bit(SOCK_SUPPORT_ZC, &sk->sk_socket->flags);
	ops_count(sock_net(sk), OPS_COUNT_ASKED);
	return 0;
}

/* A socket ends. Softirq, or TCP's lock; no call on it runs, but references may live on. */
static void ulp_release(struct sock *sk)
{
	struct ops_sock *os = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);

	if (!os)
		return;
	WRITE_ONCE(os->dead, true);
	WRITE_ONCE(sk->sk_prot, os->base);
	RCU_INIT_POINTER(inet_csk(sk)->icsk_ulp_data, NULL);
	ops_pair_leave(os);
	ops_road_close(os, true);
	ops_view_del(os);
	ops_sock_put(os);
}

/*
 * A listener's child, of which only the ports are known; TCP's structures are a copy of the
 * listener's. It cannot fail: without memory the child is plain. Softirq, RCU.
 */
static void ulp_clone(const struct request_sock *req, struct sock *newsk, const gfp_t priority)
{
	struct inet_connection_sock *icsk = inet_csk(newsk);
	struct ops_sock *parent = rcu_dereference(icsk->icsk_ulp_data);
	struct proto *base = ops_tcp_prot(newsk);
	struct ops_sock *os = NULL;

	newsk->sk_prot_creator = base;
	RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	if (parent && !READ_ONCE(ops_down) && try_module_get(THIS_MODULE)) {
		os = ops_sock_alloc(newsk, priority);
		if (!os)
			module_put(THIS_MODULE);
	}
	if (!os) {
		icsk->icsk_ulp_ops = NULL;
		WRITE_ONCE(newsk->sk_prot, base);
		return;
	}
	os->base = base;
	os->choice = parent->choice;
	os->asked = parent->asked;
	os->explicit = parent->explicit;
	os->ruled = parent->ruled;
	os->must = parent->must;
	/* a listener that was shut down before listen() has such children */
	os->rx_shut = newsk->sk_shutdown & RCV_SHUTDOWN;
	rcu_assign_pointer(icsk->icsk_ulp_data, os);
	/* the mark of the listener may be half on or off in the copy */
	WRITE_ONCE(newsk->sk_prot, ops_prot_of(base));
	ops_view_add(os);
	ops_count(sock_net(newsk), OPS_COUNT_CHILD);
}

static int ulp_get_info(struct sock *sk, struct sk_buff *skb COMPAT_NET_ADMIN_PARAM)
{
	struct ops_sock_view view;
	struct ops_sock *os;
	struct nlattr *nest;
	int err = 0;

	nest = nla_nest_start_noflag(skb, ULP_INFO_KRDMA);
	if (!nest)
		return -EMSGSIZE;
	os = ops_sock_enter(sk);
	if (os) {
		ops_sock_view(os, &view);
		err = nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME, view.road) ||
		      nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_STATE, view.state) ||
		      nla_put_u64_64bit(skb, KRDMA_OFFLOAD_ATTR_SENT, view.sent,
					KRDMA_OFFLOAD_ATTR_PAD) ||
		      nla_put_u64_64bit(skb, KRDMA_OFFLOAD_ATTR_RECEIVED, view.received,
					KRDMA_OFFLOAD_ATTR_PAD);
		ops_sock_put(os);
	}
	if (err) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static size_t ulp_get_info_size(const struct sock *sk COMPAT_NET_ADMIN_PARAM)
{
	return nla_total_size(0) + nla_total_size(OFFLOAD_NAME_MAX) + nla_total_size(1) +
	       2 * nla_total_size_64bit(sizeof(u64));
}

struct tcp_ulp_ops ops_ulp __read_mostly = {
	.name = "krdma",
	.owner = THIS_MODULE,
	.init = ulp_init,
	.release = ulp_release,
	.clone = ulp_clone,
	.get_info = ulp_get_info,
	.get_info_size = ulp_get_info_size,
};

/* Start and end ************************************************************* */

static void ulp_build(struct proto *prot, const struct proto *base)
{
	*prot = *base;
	prot->sendmsg = ops_sendmsg;
	prot->recvmsg = ops_recvmsg;
	prot->connect = ulp_prot_connect;
	prot->close = ulp_close;
	prot->disconnect = ulp_disconnect;
	prot->shutdown = ulp_shutdown;
	prot->ioctl = ulp_ioctl;
	prot->setsockopt = ulp_setsockopt;
	prot->getsockopt = ulp_getsockopt;
	prot->sock_is_readable = ops_is_readable;
	prot->stream_memory_free = ops_stream_memory_free;
	prot->release_cb = ulp_release_cb;
#ifdef CONFIG_BPF_SYSCALL
	prot->psock_update_sk_prot = NULL;
#endif
}

static int ulp_bind(struct socket *sock, struct sockaddr_unsized *address, int len)
{
	return ops_explicit_address((struct sockaddr *)address, len) ?:
	       ulp_socket_base[ulp_family(sock->sk)]->bind(sock, address, len);
}

static int ulp_connect(struct socket *sock, struct sockaddr_unsized *address, int len, int flags)
{
	return ops_explicit_address((struct sockaddr *)address, len) ?:
	       ulp_socket_base[ulp_family(sock->sk)]->connect(sock, address, len, flags);
}

static int ulp_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	int err = 0;

	lock_sock(sk);
	if (sk->sk_state == TCP_CLOSE)
		err = ops_explicit_check(sk, OPS_LISTEN, NULL);
	release_sock(sk);
	return err ?: ulp_socket_base[ulp_family(sk)]->listen(sock, backlog);
}

/* accept() that was called before listen(): the child got ours. */
static int ulp_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	const struct proto_ops *base = ulp_socket_base[ulp_family(sock->sk)];

	WRITE_ONCE(newsock->ops, base);
	return base->accept(sock, newsock, arg);
}

/* TCP's operations for AF_INET6 have no exported name. */
static void ulp_build_socket(int index, int family)
{
	struct socket *sock;

	if (sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP, &sock))
		return;	/* no IPv6 */
	ulp_socket_base[index] = sock->ops;
	ulp_socket_ops[index] = *sock->ops;
	/* the socket has a reference on the owner of the original */
	ulp_socket_ops[index].splice_read = ulp_splice_read;
	ulp_socket_ops[index].poll = ulp_poll;
	ulp_socket_ops[index].set_rcvlowat = ulp_set_rcvlowat;
	ulp_socket_ops[index].bind = ulp_bind;
	ulp_socket_ops[index].connect = ulp_connect;
	ulp_socket_ops[index].listen = ulp_listen;
	ulp_socket_ops[index].accept = ulp_accept;
	sock_release(sock);
}

int ops_ulp_init(void)
{
	int err;

	ulp_prots = kcalloc(2, sizeof(*ulp_prots), GFP_KERNEL);
	if (!ulp_prots)
		return -ENOMEM;
	kmemleak_not_leak(ulp_prots);
	ulp_build(&ulp_prots[0], &tcp_prot);
	ulp_build(&ulp_prots[1], &tcpv6_prot);
	ulp_build_socket(0, AF_INET);
	ulp_build_socket(1, AF_INET6);
	err = tcp_register_ulp(&ops_ulp);
	if (err)
		kfree(ulp_prots);
	return err;
}

void ops_ulp_exit(void)
{
	tcp_unregister_ulp(&ops_ulp);
	/* for the requests that are left */
	ulp_prots[0] = tcp_prot;
	ulp_prots[1] = tcpv6_prot;
}
