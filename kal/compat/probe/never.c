// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/module.h>

/* what is not declared is found out */
int probe(void);
int probe(void)
{
	return krdma_not_declared(THIS_MODULE);
}
