/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* See compat.h: what sockets of newer kernels have. */
#ifndef KRDMA_COMPAT_NET_H
#define KRDMA_COMPAT_NET_H

#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/sock.h>
#include <krdma/compat.h>

/* 6.19: addresses of calls on sockets */
#ifndef KRDMA_HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

/*
 * 7.1: recvmsg() of a protocol has no length of the name any more. A parameter, and an argument,
 * behind the others.
 */
#ifdef KRDMA_HAVE_RECVMSG_ADDR_LEN
#define COMPAT_ADDR_LEN_PARAM , int *addr_len
#define COMPAT_ADDR_LEN(pointer) , pointer
#else
#define COMPAT_ADDR_LEN_PARAM
#define COMPAT_ADDR_LEN(pointer)
#endif

/* 7.1: does the caller have CAP_NET_ADMIN? A parameter of a ULP's functions for inet_diag. */
#ifdef KRDMA_HAVE_ULP_NET_ADMIN
#define COMPAT_NET_ADMIN_PARAM , bool net_admin
#else
#define COMPAT_NET_ADMIN_PARAM
#endif

/* 6.14 */
#ifndef KRDMA_HAVE_ZEROCOPY_DEVMEM
#define msg_zerocopy_realloc(sk, size, uarg, devmem) msg_zerocopy_realloc(sk, size, uarg)
#endif

/* 6.18: the table is found by the namespace */
#ifdef KRDMA_HAVE_LOOKUP_HASHINFO
#define __inet_lookup_established(net, ...) \
	__inet_lookup_established(net, (net)->ipv4.tcp_death_row.hashinfo, __VA_ARGS__)
#define __inet6_lookup_established(net, ...) \
	__inet6_lookup_established(net, (net)->ipv4.tcp_death_row.hashinfo, __VA_ARGS__)
#endif

/* 6.12.43: a socket of the kernel keeps its namespace */
#ifndef KRDMA_HAVE_NET_REFCNT_UPGRADE
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	struct net *net = sock_net(sk);

#ifdef KRDMA_HAVE_NETNS_TRACKER_KERNEL
	__netns_tracker_free(net, &sk->ns_tracker, false);
#endif
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

/* 6.11: memory of a device, which the processor cannot read */
#ifndef KRDMA_HAVE_SKB_FRAGS_READABLE
#define skb_frags_readable(skb) true
#endif

/* 6.10 */
#ifndef KRDMA_HAVE_DEVCONF_ALL_RO
#define IPV4_DEVCONF_ALL_RO(net, attr) IPV4_DEVCONF_ALL(net, attr)
#endif

/* 6.7: another name */
#ifndef KRDMA_HAVE_MIB_OUTREQUESTS
#define IPSTATS_MIB_OUTREQUESTS IPSTATS_MIB_OUTPKTS
#endif

/* 6.10 */
#ifndef KRDMA_HAVE_DST_RT6_INFO
#define dst_rt6_info(dst) ((struct rt6_info *)(dst))
#define dst_rtable(dst) ((struct rtable *)(dst))
#endif

/* Whose a socket is when ports are compared: of sk_uid from 6.17 on, before of the inode. */
static inline kuid_t compat_sock_uid(struct socket *sock)
{
#ifdef KRDMA_HAVE_SK_UID
	return sk_uid(sock->sk);
#else
	return SOCK_INODE(sock)->i_uid;
#endif
}

static inline void compat_sock_set_uid(struct socket *sock, kuid_t uid)
{
#ifdef KRDMA_HAVE_SK_UID
	WRITE_ONCE(sock->sk->sk_uid, uid);
#else
	SOCK_INODE(sock)->i_uid = uid;
#endif
}

#endif
