// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/cleanup.h>
#include <linux/slab.h>

void probe(void);
void probe(void)
{
	void *memory __free(kvfree) = NULL;

	memory = kvmalloc(1, GFP_KERNEL);
}
