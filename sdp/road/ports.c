// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Addresses and ports: bound ports of each network namespace, by TCP's rules, and the listener of a
 * connection.
 *
 * A port is reserved in TCP's port space, too, so that a port of SDP and one of TCP never belong to
 * two programs. Sockets that share a port (SO_REUSEADDR, SO_REUSEPORT) share the reservation. A leg
 * of the switch has none of its own: TCP's leg has the port.
 */
#include <linux/hash.h>
#include <linux/inetdevice.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/inet_common.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include <krdma/netstack.h>

#include "road.h"

#define SDP_PORT_BITS	8
#define SDP_PORT_TRIES	16

/**
 * struct sdp_port - a reservation in TCP's port space
 * @refs: sockets that have it
 * @holds: one for each family of addresses, or NULL
 */
struct sdp_port {
	refcount_t refs;
	struct kal_port *holds[2];
};

/* all sockets with the same port in a namespace are in one */
static struct sdp_bucket {
	spinlock_t lock;	/* protects socks and what is in their local end; process context */
	struct hlist_head socks;
} sdp_buckets[1 << SDP_PORT_BITS] = {
	[0 ... (1 << SDP_PORT_BITS) - 1] = {
		.lock = __SPIN_LOCK_UNLOCKED(sdp_buckets.lock),
	},
};

static struct sdp_bucket *sdp_port_bucket(const struct net *net, __be16 port)
{
	return &sdp_buckets[hash_32(net_hash_mix(net) + ntohs(port), SDP_PORT_BITS)];
}

/* Addresses ******************************************************************************** */

bool sdp_end_is_any(const struct in6_addr *ip)
{
	return ipv6_addr_any(ip) || (ipv6_addr_v4mapped(ip) && !ip->s6_addr32[3]);
}

static void sdp_end_from_in6(const struct sockaddr_in6 *in6, int len, struct sdp_end *end)
{
	end->ip = in6->sin6_addr;
	end->port = in6->sin6_port;
	if (len >= sizeof(*in6) && ipv6_addr_type(&end->ip) & IPV6_ADDR_LINKLOCAL)
		end->scope = in6->sin6_scope_id;
}

/**
 * sdp_end_from_user() - address of a program
 * @sk: sock
 * @address: address
 * @len: its length
 * @end: result
 *
 * A socket of AF_INET_SDP takes both families. AF_UNSPEC with the wildcard address means AF_INET,
 * as in TCP's bind().
 *
 * Return: 0, -EINVAL, -EAFNOSUPPORT. Context: any.
 */
int sdp_end_from_user(const struct sock *sk, const struct sockaddr *address, int len,
		      struct sdp_end *end)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	const bool any_family = !sdp_sk(sk)->registered && !sdp_sk(sk)->of_ops;

	memset(end, 0, sizeof(*end));
	if (len < offsetofend(struct sockaddr, sa_family))
		return -EINVAL;
	if (sk->sk_family == AF_INET6 || (any_family && address->sa_family == AF_INET6)) {
		if (len < SIN6_LEN_RFC2133)
			return -EINVAL;
		if (in6->sin6_family != AF_INET6)
			return -EAFNOSUPPORT;
		sdp_end_from_in6(in6, len, end);
		return 0;
	}
	if (len < sizeof(*in))
		return -EINVAL;
	if (in->sin_family != AF_INET && !(any_family && in->sin_family == AF_INET_SDP) &&
	    (in->sin_family != AF_UNSPEC || in->sin_addr.s_addr != htonl(INADDR_ANY)))
		return -EAFNOSUPPORT;
	ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &end->ip);
	end->port = in->sin_port;
	return 0;
}

/* Return: its length */
int sdp_end_to_user(const struct sock *sk, const struct sdp_end *end, struct sockaddr *address)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
	struct sockaddr_in *in = (struct sockaddr_in *)address;

	if (sk->sk_family == AF_INET6 || !ipv6_addr_v4mapped(&end->ip)) {
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

/* as the transport and the network stack have it: mapped addresses are AF_INET */
void sdp_end_to_storage(const struct sdp_end *end, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
	struct sockaddr_in *in = (struct sockaddr_in *)address;

	memset(address, 0, sizeof(*address));
	if (ipv6_addr_v4mapped(&end->ip)) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = end->ip.s6_addr32[3];
		in->sin_port = end->port;
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = end->ip;
		in6->sin6_port = end->port;
		in6->sin6_scope_id = end->scope;
	}
}

void sdp_end_from_storage(const struct sockaddr_storage *address, struct sdp_end *end)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;

	memset(end, 0, sizeof(*end));
	if (address->ss_family == AF_INET6) {
		sdp_end_from_in6(in6, sizeof(*in6), end);
	} else {
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &end->ip);
		end->port = in->sin_port;
	}
}

static bool sdp_end_is_local(struct sdp_sock *ssk, const struct sdp_end *end)
{
	struct net *net = sock_net(sdp_sock(ssk));

	if (sdp_end_is_any(&end->ip))
		return true;
	if (ipv6_addr_v4mapped(&end->ip))
		return inet_addr_type_dev_table(net, NULL, end->ip.s6_addr32[3]) == RTN_LOCAL;
	return ipv6_chk_addr(net, &end->ip, NULL, 0);
}

/* The table ******************************************************************************** */

/* Does a socket that is bound to @ssk->local answer @ip? 0: no; else how close it is. */
static int sdp_port_score(const struct sdp_sock *ssk, const struct in6_addr *ip)
{
	if (ipv6_addr_equal(&ssk->local.ip, ip))
		return 3;
	if (!sdp_end_is_any(&ssk->local.ip))
		return 0;
	if (ipv6_addr_v4mapped(ip) == ipv6_addr_v4mapped(&ssk->local.ip))
		return 2;
	return ipv6_addr_v4mapped(ip) && !sdp_opt(ssk, IPPROTO_IPV6, IPV6_V6ONLY);
}

static bool sdp_port_overlaps(const struct sdp_sock *a, const struct sdp_sock *b)
{
	const int if_a = a->inet.sk.sk_bound_dev_if, if_b = b->inet.sk.sk_bound_dev_if;

	if (if_a && if_b && if_a != if_b)
		return false;
	return sdp_port_score(a, &b->local.ip) || sdp_port_score(b, &a->local.ip);
}

/* May both have the port? */
static bool sdp_port_shared(const struct sock *a, const struct sock *b)
{
	if (a->sk_reuse && b->sk_reuse && a->sk_state != TCP_LISTEN && b->sk_state != TCP_LISTEN)
		return true;
	return a->sk_reuseport && b->sk_reuseport && uid_eq(a->sk_uid, b->sk_uid);
}

static bool sdp_port_same(const struct sdp_sock *a, const struct sdp_sock *b)
{
	return a != b && a->local.port == b->local.port &&
	       net_eq(sock_net(&a->inet.sk), sock_net(&b->inet.sk)) && sdp_port_overlaps(a, b);
}

/* what others in the kernel look for in an inet_sock */
static void sdp_port_publish(struct sdp_sock *ssk)
{
	struct inet_sock *inet = &ssk->inet;

	inet->inet_num = ntohs(ssk->local.port);
	inet->inet_sport = ssk->local.port;
	if (ipv6_addr_v4mapped(&ssk->local.ip)) {
		inet->inet_saddr = ssk->local.ip.s6_addr32[3];
		inet->inet_rcv_saddr = inet->inet_saddr;
	}
}

/* Enter the table, and take over the reservation of a socket with the same address. */
static int sdp_port_enter(struct sdp_sock *ssk, const struct sdp_end *end)
{
	struct sdp_bucket *bucket = sdp_port_bucket(sock_net(sdp_sock(ssk)), end->port);
	struct sdp_sock *other;

	spin_lock(&bucket->lock);
	ssk->local = *end;
	hlist_for_each_entry(other, &bucket->socks, bound) {
		if (!sdp_port_same(ssk, other))
			continue;
		if (!sdp_port_shared(sdp_sock(ssk), sdp_sock(other))) {
			memset(&ssk->local, 0, sizeof(ssk->local));
			spin_unlock(&bucket->lock);
			return -EADDRINUSE;
		}
	}
	hlist_for_each_entry(other, &bucket->socks, bound)
		if (!ssk->port && other->port && sdp_port_same(ssk, other) &&
		    (ipv6_addr_equal(&ssk->local.ip, &other->local.ip) ||
		     sdp_end_is_any(&other->local.ip))) {
			refcount_inc(&other->port->refs);
			ssk->port = other->port;
		}
	hlist_add_head(&ssk->bound, &bucket->socks);
	sdp_port_publish(ssk);
	spin_unlock(&bucket->lock);
	return 0;
}

static void sdp_port_put(struct sdp_port *port)
{
	int i;

	if (!port || !refcount_dec_and_test(&port->refs))
		return;
	for (i = 0; i < ARRAY_SIZE(port->holds); i++)
		if (port->holds[i])
			kal_port_free(port->holds[i]);
	kfree(port);
}

static void sdp_port_exit(struct sdp_sock *ssk)
{
	struct sdp_bucket *bucket;
	struct sdp_port *port;

	if (!ssk->local.port)
		return;
	bucket = sdp_port_bucket(sock_net(sdp_sock(ssk)), ssk->local.port);
	spin_lock(&bucket->lock);
	if (!hlist_unhashed(&ssk->bound))
		hlist_del_init(&ssk->bound);
	port = ssk->port;
	ssk->port = NULL;
	spin_unlock(&bucket->lock);
	sdp_port_put(port);
}

/* Reservation ****************************************************************************** */

/*
 * One family. There is nothing to reserve where no RNIC has an address of it, or where the host
 * does not have the address, which IP_FREEBIND allows.
 */
static int sdp_port_hold(struct sdp_sock *ssk, struct sdp_end *end, struct kal_port **hold)
{
	struct sockaddr_storage address;
	struct sdp_end held;

	sdp_end_to_storage(end, &address);
	*hold = kal_port_alloc(sock_net(sdp_sock(ssk)), &address);
	if (IS_ERR(*hold)) {
		int rc = PTR_ERR(*hold);

		*hold = NULL;
		return rc == -EADDRNOTAVAIL && (sdp_end_is_any(&end->ip) ||
						sdp_opt(ssk, IPPROTO_IP, IP_FREEBIND)) ? 0 : rc;
	}
	sdp_end_from_storage(&address, &held);
	end->port = held.port;
	return 0;
}

/* @end: port 0 becomes one that is free, if there is something to reserve */
static struct sdp_port *sdp_port_reserve(struct sdp_sock *ssk, struct sdp_end *end)
{
	struct sdp_end v4 = *end;
	struct sdp_port *port;
	int rc;

	port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return ERR_PTR(-ENOMEM);
	refcount_set(&port->refs, 1);
	rc = sdp_port_hold(ssk, end, &port->holds[0]);
	if (!rc && ipv6_addr_any(&end->ip) && !sdp_opt(ssk, IPPROTO_IPV6, IPV6_V6ONLY)) {
		ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &v4.ip);
		v4.port = end->port;
		rc = sdp_port_hold(ssk, &v4, &port->holds[1]);
		end->port = v4.port;
	}
	if (rc) {
		sdp_port_put(port);
		return ERR_PTR(rc);
	}
	return port;
}

/* a port that the program named: the table first, because others may share it */
static int sdp_port_bind_named(struct sdp_sock *ssk, struct sdp_end *end)
{
	struct sdp_bucket *bucket = sdp_port_bucket(sock_net(sdp_sock(ssk)), end->port);
	struct sdp_port *port;
	int rc;

	rc = sdp_port_enter(ssk, end);
	if (rc || ssk->port || ssk->of_ops)
		return rc;
	port = sdp_port_reserve(ssk, end);
	if (IS_ERR(port)) {
		sdp_port_leave(ssk);
		return PTR_ERR(port);
	}
	spin_lock(&bucket->lock);
	ssk->port = port;
	spin_unlock(&bucket->lock);
	return 0;
}

static int sdp_port_bind_any(struct sdp_sock *ssk, struct sdp_end *end)
{
	struct sdp_port *port = NULL;
	struct sdp_end chosen;
	int low, high, i, rc = -EADDRINUSE;

	for (i = 0; i < SDP_PORT_TRIES && rc == -EADDRINUSE; i++) {
		chosen = *end;
		if (!ssk->of_ops) {
			port = sdp_port_reserve(ssk, &chosen);
			/* free for IPv6 is not free for IPv4 */
			rc = PTR_ERR_OR_ZERO(port);
			if (rc)
				continue;
		}
		if (!chosen.port) {
			inet_sk_get_local_port_range(sdp_sock(ssk), &low, &high);
			chosen.port = htons(low + get_random_u32_below(high - low + 1));
		}
		rc = sdp_port_enter(ssk, &chosen);
		if (rc || ssk->port)
			sdp_port_put(port);
		else
			ssk->port = port;
	}
	return rc;
}

/**
 * sdp_port_check() - may a program take an address?
 * @ssk: socket
 * @end: address; port 0: any that is free
 *
 * Return: 0, -EADDRNOTAVAIL, -EACCES. Context: process.
 */
int sdp_port_check(struct sdp_sock *ssk, const struct sdp_end *end)
{
	struct sock *sk = sdp_sock(ssk);

	if (!sdp_opt(ssk, IPPROTO_IP, IP_FREEBIND) && !sdp_end_is_local(ssk, end))
		return -EADDRNOTAVAIL;
	if (end->port && inet_port_requires_bind_service(sock_net(sk), ntohs(end->port)) &&
	    !ns_capable(sock_net(sk)->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	return 0;
}

/**
 * sdp_port_bound() - has a socket a port that bind() must not change?
 * @ssk: socket
 *
 * As TCP: a port that the program has not named is its until the socket is closed, by whomever.
 * Context: any.
 */
bool sdp_port_bound(const struct sdp_sock *ssk)
{
	return ssk->local.port && (ssk->port_named || !ssk->used ||
				   sdp_get_state(&ssk->inet.sk) != TCP_CLOSE);
}

/**
 * sdp_port_bind() - take an address
 * @ssk: socket without a port; its sock is locked
 * @end: address that sdp_port_check() allows; port 0: any that is free
 *
 * Return: 0 or a negative errno as bind() of TCP. Context: may sleep.
 */
int sdp_port_bind(struct sdp_sock *ssk, struct sdp_end end)
{
	ssk->used = false;
	ssk->port_named = end.port;
	return end.port ? sdp_port_bind_named(ssk, &end) : sdp_port_bind_any(ssk, &end);
}

/**
 * sdp_port_bind_address() - take an address, and a port only when one is needed
 * @ssk: socket without a port; its sock is locked
 * @end: address that sdp_port_check() allows; its port is 0
 *
 * IP_BIND_ADDRESS_NO_PORT. Context: process.
 */
void sdp_port_bind_address(struct sdp_sock *ssk, const struct sdp_end *end)
{
	ssk->local = *end;
	sdp_port_publish(ssk);
}

/**
 * sdp_port_leave() - give the address back
 * @ssk: socket
 *
 * Context: may sleep.
 */
void sdp_port_leave(struct sdp_sock *ssk)
{
	sdp_port_exit(ssk);
	memset(&ssk->local, 0, sizeof(ssk->local));
	ssk->inet.inet_num = 0;
	ssk->inet.inet_sport = 0;
	ssk->port_named = false;
}

/**
 * sdp_port_narrow() - a socket that is bound to all addresses uses one from now on
 * @ssk: bound socket
 * @end: address; its port does not matter
 *
 * Context: process.
 */
void sdp_port_narrow(struct sdp_sock *ssk, const struct sdp_end *end)
{
	struct sdp_bucket *bucket = sdp_port_bucket(sock_net(sdp_sock(ssk)), ssk->local.port);

	spin_lock(&bucket->lock);
	ssk->local.ip = end->ip;
	ssk->local.scope = end->scope;
	sdp_port_publish(ssk);
	spin_unlock(&bucket->lock);
}

/**
 * sdp_port_restore() - forget the address of a connection that has ended, or never was
 * @ssk: socket without a link; its sock is locked
 *
 * As TCP: the socket has what bind() has given it, or nothing. Context: may sleep.
 */
void sdp_port_restore(struct sdp_sock *ssk)
{
	if (ssk->bound_by_user && ssk->given.port) {
		sdp_port_narrow(ssk, &ssk->given);
		return;
	}
	sdp_port_leave(ssk);
	if (ssk->bound_by_user)
		sdp_port_bind_address(ssk, &ssk->given);
}

/* Listeners ******************************************************************************** */

/**
 * sdp_port_listen() - let a bound socket listen, unless another one does at the same address
 * @ssk: bound socket; its sock is locked
 *
 * SO_REUSEADDR alone is not enough for two. Return: 0 or -EADDRINUSE. Context: process.
 */
int sdp_port_listen(struct sdp_sock *ssk)
{
	struct sock *sk = sdp_sock(ssk);
	struct sdp_bucket *bucket = sdp_port_bucket(sock_net(sk), ssk->local.port);
	struct sdp_sock *other;
	int rc = 0;

	spin_lock(&bucket->lock);
	hlist_for_each_entry(other, &bucket->socks, bound)
		if (sdp_port_same(ssk, other) && sdp_sock(other)->sk_state == TCP_LISTEN &&
		    !(sk->sk_reuseport && sdp_sock(other)->sk_reuseport))
			rc = -EADDRINUSE;
	if (!rc) {
		sdp_set_state(sk, TCP_LISTEN);
		ssk->used = true;
	}
	spin_unlock(&bucket->lock);
	return rc;
}

/**
 * sdp_port_listener() - the socket that answers an address
 * @net: namespace
 * @local: address that a peer wants to reach
 * @ifindex: network device of the RNIC
 *
 * Return: the closest match, of equals one by chance, with a reference; or NULL. Context: process.
 */
struct sdp_sock *sdp_port_listener(struct net *net, const struct sdp_end *local, int ifindex)
{
	struct sdp_bucket *bucket = sdp_port_bucket(net, local->port);
	struct sdp_sock *ssk, *best = NULL;
	int score, high = 0, equals = 0;

	spin_lock(&bucket->lock);
	hlist_for_each_entry(ssk, &bucket->socks, bound) {
		const struct sock *sk = sdp_sock(ssk);

		if (ssk->local.port != local->port || sk->sk_state != TCP_LISTEN ||
		    !net_eq(sock_net(sk), net))
			continue;
		if (sk->sk_bound_dev_if && sk->sk_bound_dev_if != ifindex)
			continue;
		score = sdp_port_score(ssk, &local->ip);
		if (!score || score < high)
			continue;
		equals = score == high ? equals + 1 : 1;
		high = score;
		if (get_random_u32_below(equals) == 0)
			best = ssk;
	}
	if (best)
		sock_hold(sdp_sock(best));
	spin_unlock(&bucket->lock);
	return best;
}
