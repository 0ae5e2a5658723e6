// SPDX-License-Identifier: GPL-2.0 OR MIT
/* exported: is_vmalloc_or_module_addr */
#include <linux/mm.h>

bool probe(const void *addr);
bool probe(const void *addr)
{
	return is_vmalloc_or_module_addr(addr);
}
