// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <net/sock.h>

void probe(struct sock *sk);
void probe(struct sock *sk)
{
	sk_net_refcnt_upgrade(sk);
}
