// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/kernel.h>
#include <trace/stages/stage6_event_callback.h>

/* the number of arguments alone: the macro is expanded, and not compiled */
#define PROBE_TEXT(...) #__VA_ARGS__
#define PROBE(...) PROBE_TEXT(__VA_ARGS__)

const char *probe(void);
const char *probe(void)
{
	return PROBE(__assign_str(name));
}
