// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/module.h>

#undef MODULE_INFO
#define MODULE_INFO(tag, info) static const char probe_info[sizeof(info)] = info
MODULE_IMPORT_NS("PROBE");
static_assert(sizeof(probe_info) == sizeof("PROBE"), "a string of a string");
const char *probe(void);
const char *probe(void)
{
	return probe_info;
}
