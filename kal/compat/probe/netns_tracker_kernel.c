// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <net/sock.h>

void probe(struct net *net, struct sock *sk);
void probe(struct net *net, struct sock *sk)
{
	__netns_tracker_free(net, &sk->ns_tracker, false);
}
