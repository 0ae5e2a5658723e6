// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/net.h>

int probe(struct socket *sock, struct sockaddr_unsized *addr);
int probe(struct socket *sock, struct sockaddr_unsized *addr)
{
	return kernel_bind(sock, addr, 16) ?: sock->ops->connect(sock, addr, 16, 0);
}
