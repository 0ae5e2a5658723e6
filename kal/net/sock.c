// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Kernel TCP sockets in a network namespace, for the streams of the connection manager and for
 * reserved ports.
 */
#include <linux/net.h>
#include <net/sock.h>
#include <krdma/compat_net.h>

#include "net.h"

/**
 * kal_net_sock_create() - create a kernel TCP socket in a network namespace
 * @net: namespace
 * @family: AF_INET or AF_INET6
 * @vrf: ifindex of the VRF to bind the socket to, 0: none
 * @sock: result
 *
 * The socket keeps @net alive, like the socket of a process, because TCP timers may outlive
 * the release of a socket. Return: 0 or an errno. Context: may sleep.
 */
int kal_net_sock_create(struct net *net, int family, int vrf, struct socket **sock)
{
	int err;

	err = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, sock);
	if (err)
		return err;
	sk_net_refcnt_upgrade((*sock)->sk);
	err = vrf ? sock_bindtoindex((*sock)->sk, vrf, true) : 0;
	if (err) {
		sock_release(*sock);
		*sock = NULL;
	}
	return err;
}
