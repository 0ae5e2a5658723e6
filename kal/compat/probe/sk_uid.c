// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <net/sock.h>

kuid_t probe(const struct sock *sk);
kuid_t probe(const struct sock *sk)
{
	return sk_uid(sk);
}
