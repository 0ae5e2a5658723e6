// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sockets that ask for a road by their family or protocol: TCP sockets that are marked from the
 * beginning.
 *
 *	socket()						may use
 *	AF_INET_OFFLOAD, protocol 0, 6, IPPROTO_OFFLOAD		TCP and any road
 *	AF_INET, AF_INET6, IPPROTO_OFFLOAD			the same
 *	AF_INET_SDP, protocol 0, 6, IPPROTO_SDP			bytes go by the road "sdp" only
 *	AF_INET, AF_INET6, AF_INET_OFFLOAD, IPPROTO_SDP		the same
 *
 * sk_family and sk_protocol are TCP's, so is all that programs and the kernel ask of them. Roads
 * are the administrator's decision: a rule has to take such a socket, too, or the parameter
 * "explicit" allows them where no rule says TCP. Else the first kind stays on TCP, and connect()
 * and listen() of the second kind fail.
 *
 * The LSMs look at an address's family: Landlock lets pass what is not AF_INET or AF_INET6. So
 * addresses of our own families are refused, unless the parameter "addresses" allows them for old
 * programs.
 */
#include <linux/module.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/protocol.h>

#include "ops.h"

int ops_family = AF_INET_OFFLOAD;
module_param_named(family, ops_family, int, 0444);
MODULE_PARM_DESC(family, "Number of AF_INET_OFFLOAD, one that no other module has (default 19)");

int ops_alias = AF_INET_SDP;
module_param_named(alias, ops_alias, int, 0444);
MODULE_PARM_DESC(alias, "Number of AF_INET_SDP; 0: none (default 27)");

static bool explicit_addresses;
module_param_named(addresses, explicit_addresses, bool, 0644);
MODULE_PARM_DESC(addresses, "Addresses may have these families, too: LSMs do not look at their ports");

static bool explicit_allowed;
module_param_named(explicit, explicit_allowed, bool, 0644);
MODULE_PARM_DESC(explicit,
		 "Sockets that ask for a road by family or protocol need no rule (default off)");

bool ops_explicit_allows(const struct ops_sock *os, const struct ops_choice *choice)
{
	return os->explicit && !choice->rule && READ_ONCE(explicit_allowed);
}

int ops_explicit_check(const struct sock *sk, enum ops_direction direction,
		       const struct sockaddr *to)
{
	const struct ops_sock *os;
	int err = 0;

	rcu_read_lock();
	os = ops_sock_of(sk);
	if (os && os->must && !READ_ONCE(explicit_allowed) && !ops_rules_allow(sk, direction, to))
		err = -EACCES;
	rcu_read_unlock();
	return err;
}

int ops_explicit_address(struct sockaddr *address, int len)
{
	if (len < (int)sizeof(address->sa_family))
		return 0;	/* TCP says what is wrong */
	if (address->sa_family != ops_family &&
	    (!ops_alias || address->sa_family != ops_alias))
		return 0;
	if (!READ_ONCE(explicit_addresses))
		return -EAFNOSUPPORT;
	address->sa_family = AF_INET;
	return 0;
}

/* AF_INET and AF_INET6, by protocol ***************************************** */

/*
 * Marks a socket that was just made. One that may use TCP is TCP's without memory for the mark, and
 * so is one of the kernel; one that must use a road is not made then.
 */
static int explicit_mark(struct sock *sk, u16 must, int kern)
{
	int err = kern ? -EPROTONOSUPPORT : ops_mark_explicit(sk, must);

	return must ? err : 0;
}

/* of sockets that are being made: a reference on the module each, until they get TCP's own */
static struct proto explicit_prots[2][2];

static int explicit_init_sock(struct sock *sk, u16 must)
{
	struct proto *tcp = ops_tcp_prot(sk);
	int err;

	sk->sk_protocol = IPPROTO_TCP;
	sk->sk_prot = tcp;
	sk->sk_prot_creator = tcp;
	err = tcp->init(sk);
	if (!err)
		err = explicit_mark(sk, must, sk->sk_kern_sock);
	module_put(THIS_MODULE);
	return err;
}

static int explicit_init_offload(struct sock *sk)
{
	return explicit_init_sock(sk, 0);
}

static int explicit_init_sdp(struct sock *sk)
{
	return explicit_init_sock(sk, IPPROTO_SDP);
}

static struct inet_protosw explicit_protosws[2][2];	/* IPv4, IPv6; offload, sdp */

static void explicit_build(int v6, int sdp, const struct proto *tcp, const struct proto_ops *ops)
{
	struct inet_protosw *sw = &explicit_protosws[v6][sdp];
	struct proto *prot = &explicit_prots[v6][sdp];

	*prot = *tcp;
	prot->owner = THIS_MODULE;
	prot->init = sdp ? explicit_init_sdp : explicit_init_offload;
	sw->type = SOCK_STREAM;
	sw->protocol = sdp ? IPPROTO_SDP : IPPROTO_OFFLOAD;
	sw->prot = prot;
	sw->ops = ops;
	sw->flags = INET_PROTOSW_ICSK;
}

/* Families ****************************************************************** */

static int explicit_must(int family, int protocol)
{
	if (protocol == IPPROTO_SDP)
		return IPPROTO_SDP;
	if (family != ops_family && family == ops_alias && protocol != IPPROTO_OFFLOAD)
		return IPPROTO_SDP;
	return 0;
}

static bool explicit_is_ours(int protocol)
{
	return protocol == IPPROTO_IP || protocol == IPPROTO_TCP || protocol == IPPROTO_SDP ||
	       protocol == IPPROTO_OFFLOAD;
}

/*
 * Makes a socket of AF_INET, so that LSMs, cgroups and namespaces see what they see there, and
 * moves its sock into @sock before that is published. __sock_create() does not release what a
 * family has left in @sock with an error.
 */
static int explicit_create(struct net *net, struct socket *sock, int protocol, int kern, int family)
{
	const bool ours = sock->type == SOCK_STREAM && explicit_is_ours(protocol);
	struct socket *inner;
	struct sock *sk;
	int err;

	err = __sock_create(net, AF_INET, sock->type, ours ? IPPROTO_TCP : protocol, &inner, kern);
	if (err)
		return err;
	sk = inner->sk;
	if (ours) {
		lock_sock(sk);
		err = explicit_mark(sk, explicit_must(family, protocol), kern);
		release_sock(sk);
		if (err) {
			sock_release(inner);
			return err;
		}
	}
	inner->sk = NULL;
	sock->ops = inner->ops;
	sock->state = SS_UNCONNECTED;
	if (test_bit(SOCK_SUPPORT_ZC, &inner->flags))
		set_bit(SOCK_SUPPORT_ZC, &sock->flags);
	sock_graft(sk, sock);
	sock_release(inner);
	return 0;
}

static int explicit_family_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	return explicit_create(net, sock, protocol, kern, ops_family);
}

/* AF_INET_SDP has streams alone. */
static int explicit_alias_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (!explicit_is_ours(protocol))
		return -EPROTONOSUPPORT;
	return explicit_create(net, sock, protocol, kern, ops_alias);
}

static struct net_proto_family explicit_family = {
	.create = explicit_family_create,
	.owner = THIS_MODULE,
};

static struct net_proto_family explicit_alias = {
	.create = explicit_alias_create,
	.owner = THIS_MODULE,
};

static int explicit_register_families(void)
{
	int err;

	explicit_family.family = ops_family;
	err = sock_register(&explicit_family);
	if (err) {
		pr_err("krdma_ops: another module has address family %d: choose a free one (family=)\n",
		       ops_family);
		return err;
	}
	if (ops_alias == ops_family)
		ops_alias = 0;
	explicit_alias.family = ops_alias;
	/* the alias is for old programs: the switch works without it */
	if (ops_alias && sock_register(&explicit_alias)) {
		pr_info("krdma_ops: another module has address family %d: no AF_INET_SDP\n",
			ops_alias);
		ops_alias = 0;
	}
	return 0;
}

int ops_explicit_init(void)
{
	const struct proto_ops *ops6 = ops_socket_base(AF_INET6);
	int err, sdp;

	if (ops_family <= 0 || ops_family >= NPROTO || ops_alias < 0 || ops_alias >= NPROTO)
		return -EINVAL;
	err = explicit_register_families();
	if (err)
		return err;
	for (sdp = 0; sdp < 2; sdp++) {
		explicit_build(0, sdp, &tcp_prot, &inet_stream_ops);
		inet_register_protosw(&explicit_protosws[0][sdp]);
		if (!ops6)
			continue;
		explicit_build(1, sdp, &tcpv6_prot, ops6);
		inet6_register_protosw(&explicit_protosws[1][sdp]);
	}
	return 0;
}

void ops_explicit_exit(void)
{
	int sdp;

	for (sdp = 0; sdp < 2; sdp++) {
		inet_unregister_protosw(&explicit_protosws[0][sdp]);
		if (ops_socket_base(AF_INET6))
			inet6_unregister_protosw(&explicit_protosws[1][sdp]);
	}
	if (ops_alias)
		sock_unregister(ops_alias);
	sock_unregister(ops_family);
}
