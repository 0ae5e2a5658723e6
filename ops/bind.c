// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * bind(): TCP first, and its port for all others.
 *
 * TCP's table of ports is the arbiter between two programs: a program that has the port there gets
 * the same one of the offload protocols. A protocol in which another program has it, which uses
 * that protocol alone, is left out for this socket.
 *
 * Programs of the OFED age give AF_INET_SDP a sockaddr of AF_INET6, or one with AF_INET_SDP in it.
 */
#include <net/ip.h>
#include <net/ipv6.h>

#include "ops.h"

/* IPv4 of an IPv6 address. Return: false: it is not any, nor mapped. */
static bool bind_v4_of(const struct in6_addr *address, __be32 *v4)
{
	*v4 = address->s6_addr32[3];
	return ipv6_addr_any(address) || ipv6_addr_v4mapped(address);
}

/**
 * ops_address() - the address that a program means, in the family of the legs
 * @osk: ops_sock
 * @address: of bind() or connect()
 * @len: its length
 * @to: the same; for sockets of AF_INET and AF_INET6 just that
 *
 * Return: length; -EINVAL: it is too short or too long; -EAFNOSUPPORT: it is no IPv4 address.
 */
int ops_address(const struct ops_sock *osk, const struct sockaddr *address, int len,
		struct sockaddr_storage *to)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	struct sockaddr_in *in = (struct sockaddr_in *)to;
	__be32 v4;

	if (len < (int)sizeof(address->sa_family) || len > (int)sizeof(*to))
		return -EINVAL;
	memset(to, 0, sizeof(*to));
	if (osk->by_family && address->sa_family == AF_INET6) {
		if (len < SIN6_LEN_RFC2133)
			return -EINVAL;
		if (!bind_v4_of(&in6->sin6_addr, &v4))
			return -EAFNOSUPPORT;
		in->sin_family = AF_INET;
		in->sin_port = in6->sin6_port;
		in->sin_addr.s_addr = v4;
		return sizeof(*in);
	}
	memcpy(to, address, len);
	if (osk->by_family &&
	    (to->ss_family == AF_INET_SDP || to->ss_family == READ_ONCE(ops_family)))
		to->ss_family = AF_INET;
	return len;
}

static __be16 bind_port(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ?
		((const struct sockaddr_in6 *)address)->sin6_port :
		((const struct sockaddr_in *)address)->sin_port;
}

/* Where TCP does not check it, this does: ports of the system need the capability. */
static int bind_allowed(struct ops_sock *osk, const struct sockaddr_storage *address, int len)
{
	struct net *net = sock_net(&osk->inet.sk);
	unsigned short port;

	if (osk->kern || len < (int)sizeof(struct sockaddr_in))
		return 0;
	port = ntohs(bind_port(address));
	if (port && inet_port_requires_bind_service(net, port) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	return 0;
}

static int bind_leg(struct ops_leg *leg, const struct sockaddr_storage *address, int len)
{
	/* cgroup's programs may change it */
	struct sockaddr_storage copy = *address;

	return leg->sock->ops->bind(leg->sock, (struct sockaddr *)&copy, len);
}

/* The leg that speaks for all; @address becomes what it is bound to. Return: length or an errno. */
static int bind_first(struct ops_sock *osk, struct ops_leg *first,
		      struct sockaddr_storage *address, int len)
{
	bool native = !first->proto->sw;
	int err = native ? 0 : bind_allowed(osk, address, len);

	err = err ?: bind_leg(first, address, len);
	if (ops_decide(OPS_CALL_BIND, osk->wants, true, native, err, native) == OPS_FAIL)
		return err;
	return first->sock->ops->getname(first->sock, (struct sockaddr *)address, 0);
}

static void bind_others(struct ops_sock *osk, struct ops_leg *first,
			const struct sockaddr_storage *address, int len)
{
	u32 i;

	for (i = 0; i < osk->num; i++) {
		struct ops_leg *leg = &osk->legs[i];
		int err;

		if (!leg->sock || leg == first)
			continue;
		err = bind_leg(leg, address, len);
		if (ops_decide(OPS_CALL_BIND, osk->wants, true, true, err, false) == OPS_DROP_LEG) {
			ops_count(sock_net(&osk->inet.sk), OPS_REASON_BIND);
			ops_leg_drop(leg);
		}
	}
}

/* With the mutex. */
static int bind_all(struct ops_sock *osk, const struct sockaddr *address, int len)
{
	struct sockaddr_storage local;
	struct ops_leg *first;

	if (osk->state != OPS_NEW && osk->state != OPS_BOUND && osk->state != OPS_FAILED)
		return -EINVAL;
	len = ops_address(osk, address, len, &local);
	if (len < 0)
		return len;
	ops_legs_refill(osk);
	first = ops_leg_first(osk);
	if (!first)
		return -ENETDOWN;
	len = bind_first(osk, first, &local, len);
	if (len < 0)
		return len;
	bind_others(osk, first, &local, len);
	if (osk->state == OPS_NEW)
		osk->state = OPS_BOUND;
	return 0;
}

/**
 * ops_bind() - bind all legs to one address and port
 * @sock: user's socket
 * @address: local address
 * @len: its length
 *
 * Return: 0, or the errno of TCP, or of the only protocol. Context: may sleep.
 */
int ops_bind(struct socket *sock, struct sockaddr *address, int len)
{
	struct ops_sock *osk = ops_enter(sock);
	bool gone = !osk;
	int err = 0;

	if (osk) {
		mutex_lock(&osk->mutex);
		gone = osk->state == OPS_HANDED_OFF;
		if (!gone)
			err = bind_all(osk, address, len);
		mutex_unlock(&osk->mutex);
		ops_leave(osk);
	}
	return gone ? READ_ONCE(sock->ops)->bind(sock, address, len) : err;
}
