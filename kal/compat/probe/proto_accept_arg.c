// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/net.h>
#include <net/sock.h>

int probe(struct socket *sock, struct socket *made, struct proto_accept_arg *arg);
int probe(struct socket *sock, struct socket *made, struct proto_accept_arg *arg)
{
	return sock->ops->accept(sock, made, arg);
}
