// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ports of the protocol: bound ports of each network namespace, by TCP's rules; and the
 * listener of a connection.
 */
#include <linux/hashtable.h>
#include <linux/inetdevice.h>
#include <linux/random.h>
#include <net/addrconf.h>
#include <net/inet_common.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "loop.h"

static DEFINE_HASHTABLE(loop_ports, 8);	/* of loop_sock.bound; loop_lock */

/* bind() and connect() of AF_UNSPEC with the wildcard address means AF_INET, as in TCP's bind() */
int loop_port_from_user(const struct sock *sk, const struct sockaddr *address, int len,
			struct loop_end *end)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;

	memset(end, 0, sizeof(*end));
	if (len < offsetofend(struct sockaddr, sa_family))
		return -EINVAL;
	if (sk->sk_family == AF_INET6) {
		if (len < SIN6_LEN_RFC2133)
			return -EINVAL;
		if (in6->sin6_family != AF_INET6)
			return -EAFNOSUPPORT;
		end->ip = in6->sin6_addr;
		end->port = in6->sin6_port;
		if (len >= sizeof(*in6) && ipv6_addr_type(&end->ip) & IPV6_ADDR_LINKLOCAL)
			end->scope = in6->sin6_scope_id;
		return 0;
	}
	if (len < sizeof(*in))
		return -EINVAL;
	if (in->sin_family != AF_INET &&
	    (in->sin_family != AF_UNSPEC || in->sin_addr.s_addr != htonl(INADDR_ANY)))
		return -EAFNOSUPPORT;
	ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &end->ip);
	end->port = in->sin_port;
	return 0;
}

int loop_port_to_user(const struct sock *sk, const struct loop_end *end, struct sockaddr *address)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
	struct sockaddr_in *in = (struct sockaddr_in *)address;

	if (sk->sk_family == AF_INET6) {
		memset(in6, 0, sizeof(*in6));
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = end->ip;
		in6->sin6_port = end->port;
		in6->sin6_scope_id = end->scope;
		return sizeof(*in6);
	}
	memset(in, 0, sizeof(*in));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = end->ip.s6_addr32[3];
	in->sin_port = end->port;
	return sizeof(*in);
}

static bool loop_port_is_any(const struct in6_addr *ip)
{
	return ipv6_addr_any(ip) || (ipv6_addr_v4mapped(ip) && !ip->s6_addr32[3]);
}

bool loop_port_is_local(struct net *net, const struct in6_addr *ip)
{
	if (loop_port_is_any(ip))
		return true;
	if (ipv6_addr_v4mapped(ip))
		return inet_addr_type(net, ip->s6_addr32[3]) == RTN_LOCAL;
	return ipv6_chk_addr(net, ip, NULL, 0);
}

/* Does a socket that is bound to @bound answer @ip? 0: no; else how close it is. */
static int loop_port_score(const struct loop_sock *lsk, const struct in6_addr *ip)
{
	if (ipv6_addr_equal(&lsk->local.ip, ip))
		return 3;
	if (!loop_port_is_any(&lsk->local.ip))
		return 0;
	if (ipv6_addr_v4mapped(ip) == ipv6_addr_v4mapped(&lsk->local.ip))
		return 2;
	return ipv6_addr_v4mapped(ip) && !loop_option(lsk, IPPROTO_IPV6, IPV6_V6ONLY);
}

static bool loop_port_overlaps(const struct loop_sock *a, const struct loop_sock *b)
{
	int if_a = loop_sock((struct loop_sock *)a)->sk_bound_dev_if;
	int if_b = loop_sock((struct loop_sock *)b)->sk_bound_dev_if;

	if (if_a && if_b && if_a != if_b)
		return false;
	return loop_port_score(a, &b->local.ip) || loop_port_score(b, &a->local.ip);
}

/* May both have the port? */
static bool loop_port_shared(struct sock *a, struct sock *b)
{
	if (a->sk_reuse && b->sk_reuse && a->sk_state != TCP_LISTEN && b->sk_state != TCP_LISTEN)
		return true;
	return a->sk_reuseport && b->sk_reuseport && uid_eq(a->sk_uid, b->sk_uid);
}

/* with loop_lock; @lsk has its address and port */
static bool loop_port_free(struct loop_sock *lsk)
{
	struct sock *sk = loop_sock(lsk);
	struct loop_sock *other;

	hash_for_each_possible(loop_ports, other, bound, be16_to_cpu(lsk->local.port))
		if (other != lsk && other->local.port == lsk->local.port &&
		    net_eq(sock_net(sk), sock_net(loop_sock(other))) &&
		    loop_port_overlaps(lsk, other) && !loop_port_shared(sk, loop_sock(other)))
			return false;
	return true;
}

/* with loop_lock */
static int loop_port_choose(struct loop_sock *lsk)
{
	int low, high, ports, first, i;

	inet_sk_get_local_port_range(loop_sock(lsk), &low, &high);
	ports = high - low + 1;
	first = get_random_u32_below(ports);
	for (i = 0; i < ports; i++) {
		lsk->local.port = htons(low + (first + i) % ports);
		if (loop_port_free(lsk))
			return 0;
	}
	return -EADDRINUSE;
}

/* what others in the kernel look for in an inet_sock */
static void loop_port_publish(struct loop_sock *lsk)
{
	struct inet_sock *inet = &lsk->inet;

	inet->inet_num = ntohs(lsk->local.port);
	inet->inet_sport = lsk->local.port;
	if (loop_sock(lsk)->sk_family == AF_INET) {
		inet->inet_saddr = lsk->local.ip.s6_addr32[3];
		inet->inet_rcv_saddr = inet->inet_saddr;
	}
}

/**
 * loop_port_bind() - take an address
 * @lsk: socket with no port; its sock is locked
 * @end: address; port 0: any that is free
 *
 * Return: 0 or an errno.
 */
int loop_port_bind(struct loop_sock *lsk, struct loop_end end)
{
	struct sock *sk = loop_sock(lsk);
	int rc = 0;

	if (!loop_option(lsk, IPPROTO_IP, IP_FREEBIND) &&
	    !loop_port_is_local(sock_net(sk), &end.ip))
		return -EADDRNOTAVAIL;
	if (end.port && inet_port_requires_bind_service(sock_net(sk), ntohs(end.port)) &&
	    !ns_capable(sock_net(sk)->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	spin_lock(&loop_lock);
	lsk->local = end;
	if (end.port)
		rc = loop_port_free(lsk) ? 0 : -EADDRINUSE;
	else
		rc = loop_port_choose(lsk);
	if (rc) {
		memset(&lsk->local, 0, sizeof(lsk->local));
	} else {
		hash_add(loop_ports, &lsk->bound, be16_to_cpu(lsk->local.port));
		loop_port_publish(lsk);
	}
	spin_unlock(&loop_lock);
	return rc;
}

void loop_port_leave(struct loop_sock *lsk)
{
	hash_del(&lsk->bound);
}

/* loop_port_listen() - may a bound socket listen? SO_REUSEADDR alone is not enough for two */
bool loop_port_listen(struct loop_sock *lsk)
{
	struct sock *sk = loop_sock(lsk);
	struct loop_sock *other;

	hash_for_each_possible(loop_ports, other, bound, be16_to_cpu(lsk->local.port))
		if (other != lsk && other->local.port == lsk->local.port &&
		    net_eq(sock_net(sk), sock_net(loop_sock(other))) &&
		    loop_sock(other)->sk_state == TCP_LISTEN && loop_port_overlaps(lsk, other) &&
		    !(sk->sk_reuseport && loop_sock(other)->sk_reuseport))
			return false;
	return true;
}

/* loop_port_listener() - that which answers loop_sock.remote; of equals one by chance; or NULL */
struct loop_sock *loop_port_listener(struct loop_sock *client)
{
	struct sock *sk = loop_sock(client), *candidate;
	struct loop_sock *lsk, *best = NULL;
	int score, high = 0, equals = 0;

	hash_for_each_possible(loop_ports, lsk, bound, be16_to_cpu(client->remote.port)) {
		candidate = loop_sock(lsk);
		if (lsk->local.port != client->remote.port || candidate->sk_state != TCP_LISTEN ||
		    !net_eq(sock_net(candidate), sock_net(sk)))
			continue;
		if (candidate->sk_bound_dev_if && candidate->sk_bound_dev_if != LOOPBACK_IFINDEX &&
		    candidate->sk_bound_dev_if != sk->sk_bound_dev_if)
			continue;
		score = loop_port_score(lsk, &client->remote.ip);
		if (!score || score < high)
			continue;
		equals = score == high ? equals + 1 : 1;
		high = score;
		if (get_random_u32_below(equals) == 0)
			best = lsk;
	}
	return best;
}
