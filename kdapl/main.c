// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_kdapl.ko: DAT 2.0 for kernel consumers, above the kernel access layer.
 *
 * A consumer uses the functions that this module exports. So it loads the module, and the module
 * stays until the consumer is unloaded, with all IAs of the consumer.
 */
#include <linux/module.h>

#include "kdapl.h"
#include "provider.h"

static const struct kdat_part {
	int (*init)(void);
	void (*exit)(void);
} kdat_parts[] = {
	{ kdat_evd_init, kdat_evd_exit },
	{ kdat_cm_wq_init, kdat_cm_wq_exit },
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
