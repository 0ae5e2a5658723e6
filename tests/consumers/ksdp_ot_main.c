// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checks of SDP's transport interface (tests/kunit/sdp_ot_checks.c) over the transport on
 * kDAPL. Loading the module runs all of them once, on the RNIC of the parameters, which is
 * connected with itself; see kcheck.h for what the kernel's log says of them.
 *
 * The initialisation fails with -EIO if a check failed.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../sdp/ot/devices.h"
#include "../kunit/sdp_ot_checks.h"
#include "kcheck.h"

static char *rnic = "";
module_param(rnic, charp, 0444);
MODULE_PARM_DESC(rnic, "name of the RNIC to test");

static char *local = "";
module_param(local, charp, 0444);
MODULE_PARM_DESC(local, "address to connect from (default: what routing chooses)");

static char *remote = "";
module_param(remote, charp, 0444);
MODULE_PARM_DESC(remote, "address of the RNIC");

static ushort port = 7990;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "first of two free ports (default 7990)");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run only the check of this name");

static uint rounds = 1;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "run the checks as often (default 1)");

static uint patience = 10;
module_param(patience, uint, 0444);
MODULE_PARM_DESC(patience, "seconds that an event may take (default 10)");

static bool removal;
module_param(removal, bool, 0444);
MODULE_PARM_DESC(removal, "no checks: make objects, wait until the RNIC goes");

/* Faults of drivers that this test meets; the lines are those of Linux 6.12.117. */
static const struct kcheck_known ksdp_known[] = {
	{}
};

static void ksdp_request(struct sdp_ot_device *device, struct sdp_ot_conn_request *request,
			 const u8 *data, u32 length, const struct sockaddr_storage *from,
			 const struct sockaddr_storage *to)
{
	device->ot->ops->reject(request, NULL, 0);
}

static const struct sdp_ot_user ksdp_user = { .request = ksdp_request };

static void ksdp_run_some(struct otc_bed *bed, const struct otc_check *check,
			  struct kcheck_run *run)
{
	for (; check->name; check++) {
		if (*only && strcmp(only, check->name))
			continue;
		/* that takes a whole run, see @removal */
		if (!strcmp(check->name, "removal"))
			continue;
		otc_begin(bed);
		check->run(bed);
		otc_end(bed);
		kcheck_verdict(run, check->name, bed->failed, bed->where, bed->missing);
	}
}

static void ksdp_ready(struct otc_bed *bed)
{
	pr_info("ksdp_ot: %s: ready\n", rnic);
}

static int ksdp_run(struct otc_bed *bed)
{
	struct kcheck_run run = { .test = "ksdp_ot", .rnic = rnic, .known = ksdp_known };
	const struct otc_check *const *list;
	unsigned int i;

	if (removal) {
		otc_begin(bed);
		otc_removal(bed, ksdp_ready);
		otc_end(bed);
		kcheck_verdict(&run, "removal", bed->failed, bed->where, false);
		return kcheck_end(&run);
	}
	for (i = 0; i < rounds; i++)
		for (list = otc_checks; *list; list++)
			ksdp_run_some(bed, *list, &run);
	return kcheck_end(&run);
}

static int ksdp_address(const char *text, struct sockaddr_storage *to)
{
	char digits[8];

	snprintf(digits, sizeof(digits), "%u", port);
	return inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, text, digits, to);
}

/* Find the device, run the checks on it. */
static int ksdp_find_and_run(struct otc_bed *bed)
{
	struct sockaddr_storage own = {};
	struct sdp_ot_device *device;
	int ret;

	ret = ksdp_address(remote, &bed->remote);
	if (!ret && *local)
		ret = ksdp_address(local, &bed->local);
	if (ret)
		return ret;
	bed->net = current->nsproxy->net_ns;
	bed->port = port;
	bed->patience = patience * HZ;
	device = sdp_ot_route(bed->net, &bed->remote, &own, 0, NULL);
	if (IS_ERR(device) || strcmp(device->name, rnic)) {
		pr_info("ksdp_ot: %s: no device has %s\n", rnic, remote);
		if (IS_ERR(device))
			return PTR_ERR(device);
		device->ot->ops->device_put(device);
		return -ENODEV;
	}
	bed->ops = device->ot->ops;
	bed->devices[0] = device;
	bed->devices[1] = device;
	ret = ksdp_run(bed);
	bed->ops->device_put(device);
	return ret;
}

static int ksdp_start_and_run(struct otc_bed *bed)
{
	int ret = sdp_ot_kdapl_init();

	if (!ret) {
		ret = ksdp_find_and_run(bed);
		sdp_ot_kdapl_exit();
		sdp_ot_exit();
		sdp_ot_kdapl_free();
	} else {
		sdp_ot_exit();
	}
	return ret;
}

static int __init ksdp_init(void)
{
	struct otc_bed *bed;
	int ret;

	bed = kzalloc(sizeof(*bed), GFP_KERNEL);
	if (!bed)
		return -ENOMEM;
	ret = sdp_ot_init(&ksdp_user);
	if (!ret)
		ret = ksdp_start_and_run(bed);
	kfree(bed);
	return ret;
}

static void __exit ksdp_exit(void)
{
}

module_init(ksdp_init);
module_exit(ksdp_exit);

MODULE_DESCRIPTION("checks of SDP's transport interface over kDAPL");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
