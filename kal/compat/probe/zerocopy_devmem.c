// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/skbuff.h>

struct ubuf_info *probe(struct sock *sk);
struct ubuf_info *probe(struct sock *sk)
{
	return msg_zerocopy_realloc(sk, 1, NULL, false);
}
