// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <net/tcp.h>

int probe(const struct tcp_ulp_ops *ulp, struct sock *sk, struct sk_buff *skb);
int probe(const struct tcp_ulp_ops *ulp, struct sock *sk, struct sk_buff *skb)
{
	return ulp->get_info(sk, skb, true);
}
