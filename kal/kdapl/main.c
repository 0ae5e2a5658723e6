// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_kdapl.ko: DAT 2.0 for kernel consumers, above the kernel access layer.
 *
 * A consumer uses the functions that this module exports. So it loads the module, and the module
 * stays until the consumer is unloaded, with all IAs of the consumer.
 */
#include <linux/module.h>

#include "connections/connections.h"
#include "provider.h"

static const struct kdat_part {
	int (*init)(void);
	void (*exit)(void);
} kdat_parts[] = {
	{ kdat_events_init, kdat_events_exit },
	{ kdat_memory_init, kdat_memory_exit },
	{ kdat_connections_init, kdat_connections_exit },
	/* last: from here on consumers can open IAs */
	{ kdat_provider_init, kdat_provider_exit },
};

static void kdat_parts_exit(unsigned int count)
{
	while (count--)
		kdat_parts[count].exit();
}

static int __init kdat_init(void)
{
	unsigned int i;
	int err;

	kdat_pz_init();
	kdat_srq_init();
	for (i = 0; i < ARRAY_SIZE(kdat_parts); i++) {
		err = kdat_parts[i].init();
		if (err) {
			kdat_parts_exit(i);
			return err;
		}
	}
	return 0;
}

static void __exit kdat_exit(void)
{
	kdat_parts_exit(ARRAY_SIZE(kdat_parts));
}

module_init(kdat_init);
module_exit(kdat_exit);

MODULE_DESCRIPTION("krdma kDAPL: DAT 2.0 for kernel consumers");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
