// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <net/ip6_fib.h>

struct rt6_info *probe(struct dst_entry *dst);
struct rt6_info *probe(struct dst_entry *dst)
{
	return dst_rt6_info(dst);
}
