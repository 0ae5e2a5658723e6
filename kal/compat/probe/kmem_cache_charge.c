// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/slab.h>

bool probe(void *object);
bool probe(void *object)
{
	return kmem_cache_charge(object, GFP_KERNEL);
}
