// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <net/tcp.h>

/* the flags work */
void probe(void);
void probe(void)
{
	pr_debug("%d\n", THIS_MODULE->state);
}
