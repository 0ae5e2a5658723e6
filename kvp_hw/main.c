// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_hw.ko: adopts the RDMA devices of the kernel that the administrator chooses. None is
 * adopted by default.
 *
 * ib_core calls hw_client under its own locks, which the kAL also meets from the other side, when
 * it shows a software RNIC to ib_core. Registration of an RNIC therefore runs in a work item of
 * the device. The removal of a device waits for the end of that work item.
 *
 * The release of a device waits for the calls of its users, one of which may wait for the
 * user's memory. So nothing waits for the work items of all devices, and a handler of generic
 * netlink, which holds a lock of all families, waits for that of the device it is about for a
 * short time only.
 */
#include <linux/cleanup.h>
#include <linux/glob.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <krdma/hw-netlink.h>
#include <krdma/compat_verbs.h>

#include "drivers.h"
#include "hw.h"

unsigned int hw_drain_timeout_ms = 1000;
module_param_named(drain_timeout_ms, hw_drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms,
		 "time for a queue pair that is destroyed to flush its queues (default 1000)");

/**
 * struct hw_device - a device of ib_core
 * @kref: of @node, and of threads in hw_devices_choose()
 * @node: entry in hw_devices
 * @ibdev: device; not from @done on
 * @work: makes @rnic what hw_device_wanted() says
 * @leaves: the device is being removed
 * @choice: enum krdma_hw_choice; hw_devices_lock
 * @chosen: how often @choice was set; hw_devices_lock
 * @met: value of @chosen that the last run of @work has met; @work only
 * @done: completed when the last run of @work has ended
 * @rnic: RNIC, NULL: it is not adopted; @work only
 * @error: of the last adoption, 0 or a negative errno; @work only
 */
struct hw_device {
	struct kref kref;
	struct list_head node;
	struct ib_device *ibdev;
	struct work_struct work;
	bool leaves;
	u8 choice;
	u32 chosen;
	u32 met;
	struct completion done;
	struct hw_rnic *rnic;
	int error;
};

static LIST_HEAD(hw_devices);
static DEFINE_MUTEX(hw_devices_lock);	/* protects hw_devices and hw_patterns */
static struct workqueue_struct *hw_wq;
static DECLARE_WAIT_QUEUE_HEAD(hw_devices_met);	/* hw_device.met has changed */

static void hw_device_release(struct kref *kref)
{
	kfree(container_of(kref, struct hw_device, kref));
}

static void hw_device_put(struct hw_device *dev)
{
	kref_put(&dev->kref, hw_device_release);
}

/* Choice ******************************************************************** */

#define HW_PATTERNS_MAX	256

static char hw_patterns[HW_PATTERNS_MAX];

/* Does one of the patterns match? A pattern with "!" in front excludes; the last match counts. */
static bool hw_patterns_match(const char *name)
{
	char copy[HW_PATTERNS_MAX];
	char *rest = copy, *pattern;
	bool ret = false;

	strscpy(copy, hw_patterns, sizeof(copy));
	while ((pattern = strsep(&rest, ",")))
		if (glob_match(pattern + (*pattern == '!'), name))
			ret = *pattern != '!';
	return ret;
}

static bool hw_device_wanted(const struct hw_device *dev)
{
	lockdep_assert_held(&hw_devices_lock);
	if (dev->leaves || dev->choice == KRDMA_HW_RELEASE)
		return false;
	return dev->choice == KRDMA_HW_ADOPT || dev->choice == KRDMA_HW_ADOPT_FORCED ||
	       hw_patterns_match(dev_name(&dev->ibdev->dev));
}

static int hw_patterns_set(const char *value, const struct kernel_param *param)
{
	char copy[HW_PATTERNS_MAX];
	struct hw_device *dev;

	if (strscpy(copy, value, sizeof(copy)) < 0)
		return -ENOSPC;
	guard(mutex)(&hw_devices_lock);
	strscpy(hw_patterns, strim(copy), sizeof(hw_patterns));
	list_for_each_entry(dev, &hw_devices, node)
		queue_work(hw_wq, &dev->work);
	return 0;
}

static int hw_patterns_get(char *buffer, const struct kernel_param *param)
{
	guard(mutex)(&hw_devices_lock);
	return sysfs_emit(buffer, "%s\n", hw_patterns);
}

static const struct kernel_param_ops hw_patterns_ops = {
	.set = hw_patterns_set,
	.get = hw_patterns_get,
};

module_param_cb(devices, &hw_patterns_ops, NULL, 0644);
MODULE_PARM_DESC(devices,
		 "names of the devices to adopt, as patterns: siw*,!siw3; may be changed at any time (default: none)");

/* Devices ******************************************************************* */

static u8 hw_device_driver(const struct hw_device *dev)
{
	return hw_driver_status(dev->ibdev->ops.driver_id);
}

static void hw_device_adopt(struct hw_device *dev, bool forced)
{
	struct hw_rnic *rnic = ERR_PTR(-EOPNOTSUPP);

	if (forced || hw_device_driver(dev) != KRDMA_HW_DRIVER_UNLISTED)
		rnic = hw_rnic_create(dev->ibdev);
	else
		dev_warn(&dev->ibdev->dev, "krdma: the driver is not on the list of krdma_hw\n");
	WRITE_ONCE(dev->error, PTR_ERR_OR_ZERO(rnic));
	if (IS_ERR(rnic))
		dev_warn(&dev->ibdev->dev, "krdma: not adopted: %pe\n", rnic);
	else
		WRITE_ONCE(dev->rnic, rnic);
}

static void hw_device_work(struct work_struct *work)
{
	struct hw_device *dev = container_of(work, struct hw_device, work);
	bool wanted, forced, last;
	u32 chosen;

	scoped_guard(mutex, &hw_devices_lock) {
		wanted = hw_device_wanted(dev);
		forced = dev->choice == KRDMA_HW_ADOPT_FORCED;
		chosen = dev->chosen;
		/* hw_client_remove() may have queued another run, which is the last one */
		last = dev->leaves && !work_pending(&dev->work);
	}
	if (!wanted)
		WRITE_ONCE(dev->error, 0);
	if (wanted && !dev->rnic) {
		hw_device_adopt(dev, forced);
	} else if (!wanted && dev->rnic) {
		hw_rnic_destroy(dev->rnic);
		WRITE_ONCE(dev->rnic, NULL);
	} else if (wanted) {
		/* the administrator may have renamed the device */
		ri_rnic_rename(&dev->rnic->ri, dev_name(&dev->ibdev->dev));
	}
	WRITE_ONCE(dev->met, chosen);
	wake_up_all(&hw_devices_met);
	if (last)
		complete(&dev->done);
}

/* Is it the device of an RNIC, with which the kAL shows the RNIC to ib_core? */
static bool hw_device_is_kals(const struct ib_device *ibdev)
{
	return !strcmp(module_name(ibdev->ops.owner), "krdma");
}

/* Does the device make reliable connections by rdma_cm? */
static bool hw_device_usable(struct ib_device *ibdev)
{
	u32 port;

	if (compat_device_is_smi(ibdev) || !ibdev->phys_port_cnt)
		return false;
	rdma_for_each_port(ibdev, port)
		if (!rdma_cap_ib_cm(ibdev, port) && !rdma_cap_iw_cm(ibdev, port))
			return false;
	return !hw_device_is_kals(ibdev);
}

static int hw_client_add(struct ib_device *ibdev);
static void hw_client_remove(struct ib_device *ibdev, void *data);

static void hw_client_rename(struct ib_device *ibdev, void *data)
{
	struct hw_device *dev = data;

	guard(mutex)(&hw_devices_lock);
	if (!dev->leaves)
		queue_work(hw_wq, &dev->work);
}

static struct ib_client hw_client = {
	.name = "krdma_hw",
	.add = hw_client_add,
	.remove = hw_client_remove,
	.rename = hw_client_rename,
};

static int hw_client_add(struct ib_device *ibdev)
{
	struct hw_device *dev;

	if (!hw_device_usable(ibdev))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	kref_init(&dev->kref);
	INIT_WORK(&dev->work, hw_device_work);
	init_completion(&dev->done);
	ib_set_client_data(ibdev, &hw_client, dev);
	scoped_guard(mutex, &hw_devices_lock)
		list_add_tail(&dev->node, &hw_devices);
	queue_work(hw_wq, &dev->work);
	return 0;
}

/*
 * Under load, too. The RNIC is removed on return. This waits for a completion rather than the work
 * item: ib_core holds a lock of the device, of the kind that the kAL waits for when a software RNIC
 * is removed. The two devices are never the same, which lockdep cannot know.
 */
static void hw_client_remove(struct ib_device *ibdev, void *data)
{
	struct hw_device *dev = data;

	scoped_guard(mutex, &hw_devices_lock) {
		list_del(&dev->node);
		WRITE_ONCE(dev->leaves, true);
		/* nobody queues it after this */
		queue_work(hw_wq, &dev->work);
	}
	wait_for_completion(&dev->done);
	hw_device_put(dev);
}

/* The administrator's choice ************************************************ */

/* Describe the device number @n. Return: false if there are fewer. May sleep. */
bool hw_devices_nth(unsigned int n, struct hw_choice *to)
{
	const struct hw_device *dev;

	guard(mutex)(&hw_devices_lock);
	list_for_each_entry(dev, &hw_devices, node) {
		if (n--)
			continue;
		strscpy(to->name, dev_name(&dev->ibdev->dev), sizeof(to->name));
		to->choice = dev->choice;
		to->driver = hw_device_driver(dev);
		strscpy(to->driver_name, module_name(dev->ibdev->ops.owner),
			sizeof(to->driver_name));
		to->adopted = READ_ONCE(dev->rnic);
		to->error = READ_ONCE(dev->error);
		return true;
	}
	return false;
}

static struct hw_device *hw_devices_find(const char *name)
{
	struct hw_device *dev;

	lockdep_assert_held(&hw_devices_lock);
	list_for_each_entry(dev, &hw_devices, node)
		if (!strcmp(dev_name(&dev->ibdev->dev), name))
			return dev;
	return NULL;
}

/* Has the device met choice number @chosen, or a later one, or will it never? Any context. */
static bool hw_device_has_met(const struct hw_device *dev, u32 chosen)
{
	return (s32)(READ_ONCE(dev->met) - chosen) >= 0 || READ_ONCE(dev->leaves);
}

/* The result of a choice that was met. The caller has a reference. */
static int hw_device_result(struct hw_device *dev, u8 choice, struct netlink_ext_ack *extack)
{
	int ret;

	guard(mutex)(&hw_devices_lock);
	if (dev->leaves)
		return -ENODEV;
	ret = READ_ONCE(dev->error);
	if (ret && choice != KRDMA_HW_ADOPT_FORCED &&
	    hw_device_driver(dev) == KRDMA_HW_DRIVER_UNLISTED)
		NL_SET_ERR_MSG(extack, "the driver is not on the list of krdma_hw");
	return ret;
}

#define HW_CHOOSE_TIMEOUT	(2 * HZ)

/**
 * hw_devices_choose() - adopt or release a device
 * @name: of the device
 * @choice: enum krdma_hw_choice
 * @extack: gets the cause of a refusal
 *
 * Return: 0; -ENODEV: there is no such device; -EOPNOTSUPP: the driver is not on the list; the
 * error of the adoption; -EINPROGRESS: that takes longer; -EINTR: a signal came first. In the last
 * two cases the choice holds. Context: may sleep.
 */
int hw_devices_choose(const char *name, u8 choice, struct netlink_ext_ack *extack)
{
	struct hw_device *dev;
	u32 chosen = 0;
	long left;
	int ret;

	scoped_guard(mutex, &hw_devices_lock) {
		dev = hw_devices_find(name);
		if (!dev)
			break;
		dev->choice = choice;
		WRITE_ONCE(dev->error, 0);
		chosen = ++dev->chosen;
		kref_get(&dev->kref);
		queue_work(hw_wq, &dev->work);
	}
	if (!dev)
		return -ENODEV;
	left = wait_event_interruptible_timeout(hw_devices_met, hw_device_has_met(dev, chosen),
						HW_CHOOSE_TIMEOUT);
	if (left > 0)
		ret = hw_device_result(dev, choice, extack);
	else
		ret = left ? -EINTR : -EINPROGRESS;
	hw_device_put(dev);
	return ret;
}

/* The module **************************************************************** */

static int __init hw_init(void)
{
	int ret;

	hw_wq = alloc_workqueue("krdma_hw", WQ_UNBOUND, 0);
	if (!hw_wq)
		return -ENOMEM;
	ret = ib_register_client(&hw_client);
	if (ret)
		goto err_wq;
	ret = hw_netlink_init();
	if (!ret)
		return 0;
	ib_unregister_client(&hw_client);
err_wq:
	destroy_workqueue(hw_wq);
	return ret;
}

static void __exit hw_exit(void)
{
	hw_netlink_exit();
	ib_unregister_client(&hw_client);
	destroy_workqueue(hw_wq);
}

module_init(hw_init);
module_exit(hw_exit);

MODULE_DESCRIPTION("krdma provider: the RDMA devices that the kernel drives");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
