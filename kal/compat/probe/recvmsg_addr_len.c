// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <net/sock.h>

int probe(struct sock *sk, struct msghdr *msg, int *addr_len);
int probe(struct sock *sk, struct msghdr *msg, int *addr_len)
{
	return sk->sk_prot->recvmsg(sk, msg, 1, 0, addr_len);
}
