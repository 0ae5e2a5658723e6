// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Events of the network devices that have an RNIC. When a netdev is removed or moves to another
 * network namespace, its RNIC is removed. A change of the link or of the address becomes an
 * event of the RNIC. The notifier runs under RTNL, so it only queues work. This file also
 * creates and removes the sysfs link "rnic" from a network device to its RNIC.
 */
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/sysfs.h>

#include "internal.h"

bool kal_netdev_link_up(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

/*
 * A network device's sysfs directory is removed after its NETDEV_UNREGISTER notification,
 * which takes this mutex. No code uses the directory after that. Taken inside RTNL.
 */
static DEFINE_MUTEX(kal_sysfs_mutex);

/* The link is only a hint for the administrator, so a failure to create it is ignored. */
void kal_netdev_link_rnic(struct ri_rnic *rnic, struct kobject *target)
{
	struct net_device *ndev = rnic->netdev;

	guard(mutex)(&kal_sysfs_mutex);
	if (READ_ONCE(ndev->reg_state) == NETREG_REGISTERED &&
	    !sysfs_create_link_nowarn(&ndev->dev.kobj, target, "rnic"))
		set_bit(RI_RNIC_SYSFS_LINK, &rnic->flags);
}

/* May be called without a link and more than once. May sleep. */
void kal_netdev_unlink_rnic(struct ri_rnic *rnic)
{
	guard(mutex)(&kal_sysfs_mutex);
	if (test_and_clear_bit(RI_RNIC_SYSFS_LINK, &rnic->flags))
		sysfs_remove_link(&rnic->netdev->dev.kobj, "rnic");
}

static int kal_netdev_notify(struct notifier_block *nb, unsigned long event,
			     void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);

	switch (event) {
	case NETDEV_UNREGISTER:	/* also sent when the device leaves its namespace */
		kal_rnics_netdev_gone(ndev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		kal_rnics_netdev_link(ndev);
		break;
	case NETDEV_CHANGEADDR:
		kal_rnics_netdev_address(ndev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block kal_netdev_nb = {
	.notifier_call = kal_netdev_notify,
};

int kal_netdev_init(void)
{
	return register_netdevice_notifier(&kal_netdev_nb);
}

void kal_netdev_exit(void)
{
	unregister_netdevice_notifier(&kal_netdev_nb);
}
