// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reserved ports of the network stack interface. A reservation consists of one bound TCP
 * socket for each address. The socket never listens or connects. It does not set SO_REUSEADDR,
 * so its bind fails if the port is in use, and it makes the binds of other sockets fail. Only
 * the sockets of the reservation's owner can bind to the port.
 */
#include <linux/export.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/sock.h>
#include <krdma/compat_net.h>

#include "internal.h"

/* number of ports to try for port 0, because all addresses need the same port */
#define ANY_TRIES	64

/* a uid that no process can have */
#define NOBODY		INVALID_UID

/**
 * struct hold - one address of a reservation
 * @addr: address and port
 * @vrf: VRF of the address, 0: the default VRF
 * @sock: socket that is bound to @addr in @vrf, or NULL
 */
struct hold {
	struct sockaddr_storage addr;
	int vrf;
	struct socket *sock;
};

/**
 * struct kal_port - a reservation
 * @addr: address that the caller asked for, with the port
 * @num: number of @holds
 * @holds: one for each address
 */
struct kal_port {
	struct sockaddr_storage addr;
	unsigned int num;
	struct hold holds[] __counted_by(num);
};

/* Addresses **************************************************************** */

struct addrs {
	struct hold *holds;
	unsigned int room;
	unsigned int count;
};

/* Add an address once. Several prefixes or several RNICs may have the same address. */
static void net_port_found(struct addrs *a, const struct sockaddr_storage *addr, int vrf)
{
	unsigned int i;

	/* KAL_NET_ADDRS_MAX + 1 means that there are too many */
	if (a->count > KAL_NET_ADDRS_MAX)
		return;
	for (i = 0; i < min(a->count, a->room); i++)
		if (a->holds[i].vrf == vrf && kal_addr_same(&a->holds[i].addr, addr))
			return;
	if (a->count < a->room) {
		a->holds[a->count].addr = *addr;
		a->holds[a->count].vrf = vrf;
	}
	a->count++;
}

static void net_port_find4(struct addrs *a, const struct net_device *ndev)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;
	struct sockaddr_storage addr;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		kal_set_addr4(&addr, ifa->ifa_local);
		net_port_found(a, &addr, kal_netdev_vrf(ndev));
	}
}

static void net_port_find6(struct addrs *a, const struct net_device *ndev)
{
	const struct inet6_dev *idev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;
	struct sockaddr_storage addr;

	if (!idev)
		return;
	list_for_each_entry_rcu(ifa, &idev->addr_list, if_list) {
		if (ifa->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
			continue;
		kal_set_addr6(&addr, &ifa->addr, ndev->ifindex);
		net_port_found(a, &addr, kal_netdev_vrf(ndev));
	}
}

/*
 * Find the addresses of the RNICs of @net. Return: the number of addresses, which may exceed
 * @room. KAL_NET_ADDRS_MAX + 1 stands for all larger numbers.
 */
static unsigned int net_port_find_addrs(struct net *net, int family, struct hold *holds,
					unsigned int room)
{
	struct addrs a = { .holds = holds, .room = room };
	const struct net_device *ndev;

	guard(rcu)();
	for_each_netdev_rcu(net, ndev) {
		if (a.count > KAL_NET_ADDRS_MAX)
			break;
		if (!kal_net_has_rnic(net, ndev))
			continue;
		if (family == AF_INET)
			net_port_find4(&a, ndev);
		else
			net_port_find6(&a, ndev);
	}
	return a.count;
}

/* Holding ****************************************************************** */

static int net_port_hold(struct net *net, struct hold *h)
{
	int err;

	err = kal_net_sock_create(net, h->addr.ss_family, h->vrf, &h->sock);
	if (err)
		return err;
	compat_sock_set_uid(h->sock, NOBODY);
	err = kernel_bind(h->sock, (struct sockaddr_unsized *)&h->addr,
			  kal_sockaddr_len(&h->addr));
	if (!err)
		err = min(kernel_getsockname(h->sock, (struct sockaddr *)&h->addr), 0);
	if (err) {
		sock_release(h->sock);
		h->sock = NULL;
	}
	return err;
}

static void net_port_release(struct kal_port *port)
{
	unsigned int i;

	for (i = 0; i < port->num; i++) {
		if (port->holds[i].sock)
			sock_release(port->holds[i].sock);
		port->holds[i].sock = NULL;
	}
}

/* Hold all addresses at port @number. If it is 0, use the port that the first address gets. */
static int net_port_hold_all(struct net *net, struct kal_port *port, __be16 number)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < port->num && !err; i++) {
		kal_addr_set_port(&port->holds[i].addr, number);
		err = net_port_hold(net, &port->holds[i]);
		number = kal_addr_port(&port->holds[i].addr);
	}
	if (err)
		net_port_release(port);
	else
		kal_addr_set_port(&port->addr, number);
	return err;
}

static int net_port_hold_any(struct net *net, struct kal_port *port, __be16 number)
{
	int tries, err;

	for (tries = 0; tries < ANY_TRIES; tries++) {
		err = net_port_hold_all(net, port, number);
		/* -EADDRINUSE for port 0: no free port, or another address uses the chosen one */
		if (err != -EADDRINUSE || number || port->num == 1)
			break;
	}
	return err;
}

static struct kal_port *net_port_new(const struct sockaddr_storage *addr, unsigned int num)
{
	struct kal_port *port;

	port = kvzalloc(struct_size(port, holds, num), GFP_KERNEL_ACCOUNT);
	if (!port)
		return NULL;
	port->num = num;
	port->addr = *addr;
	return port;
}

/* Allocate a reservation and find its addresses. */
static struct kal_port *net_port_for(struct net *net, const struct sockaddr_storage *addr)
{
	unsigned int num, count = 1;
	struct kal_port *port;

	if (!kal_addr_any(addr)) {
		port = net_port_new(addr, 1);
		if (!port)
			return ERR_PTR(-ENOMEM);
		port->holds[0].addr = *addr;
		port->holds[0].vrf = kal_net_addr_vrf(net, addr);
		return port;
	}
	do {
		num = count;
		port = net_port_new(addr, num);
		if (!port)
			return ERR_PTR(-ENOMEM);
		count = net_port_find_addrs(net, addr->ss_family, port->holds, num);
		if (count && count <= num) {
			port->num = count;
			return port;
		}
		kvfree(port);
	} while (count && count <= KAL_NET_ADDRS_MAX);
	return ERR_PTR(count ? -ENOSPC : -EADDRNOTAVAIL);
}

static int net_port_check(struct net *net, const struct sockaddr_storage *addr)
{
	int err = kal_addr_check(addr);

	if (err == -EINVAL)
		return -EADDRNOTAVAIL;
	if (!err && addr->ss_family == AF_INET && !kal_addr_any(addr) &&
	    inet_addr_type(net, kal_in4(addr)->sin_addr.s_addr) == RTN_BROADCAST)
		return -EADDRNOTAVAIL;
	return err;
}

struct kal_port *kal_port_alloc(struct net *net, struct sockaddr_storage *addr)
{
	struct kal_port *port;
	int err;

	err = net_port_check(net, addr);
	if (err)
		return ERR_PTR(err);
	port = net_port_for(net, addr);
	if (IS_ERR(port))
		return port;
	err = net_port_hold_any(net, port, kal_addr_port(addr));
	if (err) {
		kvfree(port);
		return ERR_PTR(err);
	}
	kal_addr_set_port(addr, kal_addr_port(&port->addr));
	return port;
}
EXPORT_SYMBOL_GPL(kal_port_alloc);

void kal_port_free(struct kal_port *port)
{
	net_port_release(port);
	kvfree(port);
}
EXPORT_SYMBOL_GPL(kal_port_free);

/* Use by the owner ********************************************************* */

bool kal_port_covers(const struct kal_port *port, const struct sockaddr_storage *addr)
{
	unsigned int i;

	if (addr->ss_family != port->addr.ss_family ||
	    kal_addr_port(addr) != kal_addr_port(&port->addr))
		return false;
	if (kal_addr_same(addr, &port->addr))
		return true;
	for (i = 0; i < port->num; i++)
		if (kal_addr_same(addr, &port->holds[i].addr))
			return true;
	return false;
}
EXPORT_SYMBOL_GPL(kal_port_covers);

/*
 * Only the owner of a reservation may bind a socket in spite of the holds.
 *
 * inet_bind_conflict() has one exception of this kind: sockets with SO_REUSEPORT do not
 * conflict if they belong to the same user. The other exceptions are unsuitable:
 *
 * - SO_REUSEADDR also admits every other socket that sets it.
 * - With SK_FORCE_REUSE, inet_csk_get_port() does not compare the owner's socket with any
 *   other.
 *
 * The user is i_uid of the socket's inode, and from 6.17 on sk_uid. Only fchown() changes them in
 * the kernel, and it needs a file. During a call, the holds and the owner's socket therefore get
 * SO_REUSEPORT and a uid that no other socket has. The holds of other reservations do not have
 * SO_REUSEPORT at that time, so they still conflict, as do all other sockets.
 */
static DEFINE_MUTEX(net_port_pass_mutex);

static void net_port_set_reuseport(struct kal_port *port, bool on)
{
	unsigned int i;

	for (i = 0; i < port->num; i++) {
		struct sock *sk = port->holds[i].sock->sk;

		lock_sock(sk);
		sk->sk_reuseport = on;
		release_sock(sk);
	}
}

/*
 * TCP remembers in tb->fastreuseport that the sockets in the port's bucket do not conflict. It
 * would then not compare the next socket with any of them. This function clears
 * tb->fastreuseport.
 *
 * Only inet_csk_update_fastreuse() clears it, when a socket without SO_REUSEPORT enters the
 * bucket. That function is not exported. get_port() is therefore called a second time, as
 * inet_csk_listen_start() does for a socket that is already in the bucket. SK_FORCE_REUSE
 * prevents the comparison of this socket.
 */
static void net_port_forget(struct sock *sk)
{
	const u8 reuse = sk->sk_reuse;

	if (!inet_sk(sk)->inet_num)
		return;
	sk->sk_reuse = SK_FORCE_REUSE;
	sk->sk_prot->get_port(sk, inet_sk(sk)->inet_num);
	sk->sk_reuse = reuse;
}

/* Return: the socket's uid, for net_port_pass_end(). */
static kuid_t net_port_pass_begin(struct kal_port *port, struct socket *sock)
{
	const kuid_t uid = compat_sock_uid(sock);
	struct sock *sk = sock->sk;

	mutex_lock(&net_port_pass_mutex);
	net_port_set_reuseport(port, true);
	lock_sock(sk);
	compat_sock_set_uid(sock, NOBODY);
	sk->sk_reuseport = true;
	release_sock(sk);
	return uid;
}

static void net_port_pass_end(struct kal_port *port, struct socket *sock, kuid_t uid)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	sk->sk_reuseport = false;
	compat_sock_set_uid(sock, uid);
	net_port_forget(sk);
	release_sock(sk);
	net_port_set_reuseport(port, false);
	mutex_unlock(&net_port_pass_mutex);
}

int kal_port_bind(struct kal_port *port, struct socket *sock, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage to = *addr;
	kuid_t uid;
	int err;

	if (!port)
		return kernel_bind(sock, (struct sockaddr_unsized *)&to, kal_sockaddr_len(&to));
	uid = net_port_pass_begin(port, sock);
	err = kernel_bind(sock, (struct sockaddr_unsized *)&to, kal_sockaddr_len(&to));
	net_port_pass_end(port, sock, uid);
	return err;
}
EXPORT_SYMBOL_GPL(kal_port_bind);

int kal_port_listen(struct kal_port *port, struct socket *sock, int backlog)
{
	kuid_t uid;
	int err;

	if (!port)
		return kernel_listen(sock, backlog);
	/* when a socket begins to listen, inet_csk_get_port() compares it again */
	uid = net_port_pass_begin(port, sock);
	err = kernel_listen(sock, backlog);
	net_port_pass_end(port, sock, uid);
	return err;
}
EXPORT_SYMBOL_GPL(kal_port_listen);
