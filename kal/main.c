// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma.ko, the kernel access layer: starts and ends its parts in the order of their
 * dependencies.
 */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "chardev/chardev.h"
#include "cm/cm.h"
#include "core/core.h"
#include "ib/bridge.h"
#include "net/net.h"
#include "netlink/netlink.h"

static const struct kal_block {
	int (*init)(void);
	void (*exit)(void);
} kal_blocks[] = {
	{ kal_crc_init, kal_crc_exit },
	{ kal_event_init, kal_event_exit },
	{ kal_registry_init, kal_registry_exit },
	{ kal_conn_init, kal_conn_exit },
	{ kal_netdev_init, kal_netdev_exit },
	{ kal_ib_init, kal_ib_exit },
	{ kal_chardev_rnic_init, kal_chardev_rnic_exit },
	/* after kal_chardev_rnic_init(): the events name RNICs by their indices of /dev/krdma */
	{ kal_netstack_init, kal_netstack_exit },
	{ kal_netlink_init, kal_netlink_exit },
	/*
	 * Last: from here on programs can open the device. If a later part failed, the module
	 * would be removed while files are open.
	 */
	{ kal_chardev_init, kal_chardev_exit },
};

static void kal_blocks_exit(unsigned int count)
{
	while (count--)
		kal_blocks[count].exit();
}

static int __init kal_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(kal_blocks); i++) {
		ret = kal_blocks[i].init();
		if (ret) {
			kal_blocks_exit(i);
			return ret;
		}
	}
	return 0;
}

static void __exit kal_exit(void)
{
	kal_blocks_exit(ARRAY_SIZE(kal_blocks));
}

module_init(kal_init);
module_exit(kal_exit);

MODULE_DESCRIPTION("krdma kernel access layer");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
MODULE_ALIAS_RDMA_LINK("krdma");
/* programs reach the devices through these modules */
MODULE_SOFTDEP("post: ib_uverbs rdma_ucm");
