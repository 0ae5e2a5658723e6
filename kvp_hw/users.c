// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Users of an adopted device. ib_core offers a kernel module the kernel's queue pairs only, so
 * those of a user without library are the kernel's as far as the device knows, and the local DMA
 * key of their protection domain names all memory. Two things follow:
 *
 * - A user needs a right, which the administrator gives to a group (hw_users_check()).
 * - Each element of a user passes hw_users_check_sges(). It asks two tables that have nothing in
 *   common but the STag: the RNIC's, of all regions with their protection domains, and that of the
 *   protection domain, of its users' regions with their bounds and rights.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/moduleparam.h>
#include <linux/uidgid.h>

#include "hw.h"

/* The right to a context **************************************************** */

#define HW_USERS_NOBODY	(-1)

static int hw_users_gid = HW_USERS_NOBODY;

static int hw_users_gid_set(const char *value, const struct kernel_param *param)
{
	int gid, ret;

	ret = kstrtoint(value, 0, &gid);
	if (ret)
		return ret;
	if (gid < HW_USERS_NOBODY)
		return -EINVAL;
	WRITE_ONCE(hw_users_gid, gid);
	return 0;
}

static const struct kernel_param_ops hw_users_gid_ops = {
	.set = hw_users_gid_set,
	.get = param_get_int,
};

module_param_cb(users_gid, &hw_users_gid_ops, &hw_users_gid, 0644);
MODULE_PARM_DESC(users_gid,
		 "id of the group whose members may use adopted devices through /dev/krdma; -1: nobody without CAP_SYS_RAWIO (default -1)");

static bool hw_users_in_group(void)
{
	const int gid = READ_ONCE(hw_users_gid);

	/* sysfs and the kernel's command line are the initial namespace's */
	return gid != HW_USERS_NOBODY && in_group_p(make_kgid(&init_user_ns, gid));
}

/**
 * hw_users_check() - may the current credentials open a user's context?
 * @ri: RNIC
 *
 * CAP_SYS_RAWIO is the right to all memory anyway.
 *
 * Return: 0 or -EACCES, which is counted. Context: process.
 */
int hw_users_check(struct ri_rnic *ri)
{
	if (hw_users_in_group() || capable(CAP_SYS_RAWIO))
		return 0;
	hw_count(hw_rnic(ri), HW_CNT_USER_REFUSED);
	return -EACCES;
}

/* Regions of users ********************************************************** */

static struct hw_kernel_keys hw_users_kernel_keys(const struct ib_pd *pd)
{
	return (struct hw_kernel_keys) {
		.device = pd->device->local_dma_lkey,
		.domain = pd->local_dma_lkey,
		.global = pd->flags & IB_PD_UNSAFE_GLOBAL_RKEY ? pd->unsafe_global_rkey : 0,
	};
}

/* siw ignores the iova: elements name the memory by its address */
static u64 hw_users_begin(const struct ib_device *ibdev, const struct ri_mr_attr *attr)
{
	return hw_is_siw(ibdev) ? attr->start : attr->iova;
}

/**
 * hw_users_add_region() - enter a registered region of a user in its protection domain's table
 * @mr: region with its STag
 * @attr: what was registered
 *
 * Return: 0, -EBUSY (another region has the STag), -EOPNOTSUPP (the STag is one of the kernel's),
 * -ENOMEM. Context: may sleep.
 */
int hw_users_add_region(struct hw_mr *mr, const struct ri_mr_attr *attr)
{
	struct hw_pd *pd = hw_pd(mr->ri.pd);
	const struct hw_kernel_keys keys = hw_users_kernel_keys(pd->ib);
	int ret;

	mr->region = (struct hw_region) {
		.stag = mr->ri.stag,
		.begin = hw_users_begin(pd->ib->device, attr),
		.length = attr->length,
		.writable = attr->access & IB_ACCESS_LOCAL_WRITE,
	};
	if (hw_access_is_kernels(&keys, mr->ri.stag))
		return -EOPNOTSUPP;
	ret = xa_insert_irq(&pd->regions, mr->ri.stag, &mr->region, GFP_KERNEL_ACCOUNT);
	mr->users = !ret;
	return ret;
}

/* Take it out again; nothing to do for a region of the kernel. Context: may sleep. */
void hw_users_remove_region(struct hw_mr *mr)
{
	if (mr->users)
		xa_erase_irq(&hw_pd(mr->ri.pd)->regions, mr->region.stag);
}

/* The driver kept the region: enter it again, in the slot that it had a moment ago. */
void hw_users_restore_region(struct hw_mr *mr)
{
	if (mr->users)
		xa_store_irq(&hw_pd(mr->ri.pd)->regions, mr->region.stag, &mr->region,
			     GFP_KERNEL | __GFP_NOFAIL);
}

/* Elements ****************************************************************** */

/* The RNIC's table: has the protection domain a region with exactly this STag? */
static bool hw_users_rnic_knows(struct hw_rnic *hw, const struct ri_pd *pd, u32 stag)
{
	const struct hw_mr *mr;
	unsigned long flags;
	bool ret;

	xa_lock_irqsave(&hw->mrs, flags);
	mr = hw_mr_find(hw, stag);
	ret = mr && mr->ri.pd == pd && mr->ri.stag == stag;
	xa_unlock_irqrestore(&hw->mrs, flags);
	return ret;
}

/* The protection domain's table: is the element in a region of its user? */
static enum hw_access hw_users_domain_allows(struct hw_pd *pd, const struct ib_sge *sge, bool write)
{
	const struct hw_kernel_keys keys = hw_users_kernel_keys(pd->ib);
	enum hw_access ret;
	unsigned long flags;

	xa_lock_irqsave(&pd->regions, flags);
	ret = hw_access_check(&keys, xa_load(&pd->regions, sge->lkey), sge->lkey, sge->addr,
			      sge->length, write);
	xa_unlock_irqrestore(&pd->regions, flags);
	return ret;
}

static bool hw_users_sge_allowed(struct ri_pd *ri, const struct ib_sge *sge, bool write)
{
	struct hw_rnic *hw = hw_rnic(ri->obj.rnic);
	const enum hw_access access = hw_users_domain_allows(hw_pd(ri), sge, write);

	if (access == HW_ACCESS_OK && hw_users_rnic_knows(hw, ri, sge->lkey))
		return true;
	hw_count(hw, access == HW_ACCESS_BOUNDS ? HW_CNT_BOUNDS_REFUSED : HW_CNT_LKEY_REFUSED);
	return false;
}

/**
 * hw_users_check_sges() - may a user without library post these elements?
 * @pd: protection domain of the queue
 * @sge: elements
 * @num: number of elements
 * @write: the operation writes to them
 *
 * All that a user posts to any queue passes here, immediately before it is given to the device.
 * Refused elements are counted.
 *
 * Return: 0 or -EINVAL. Context: any.
 */
int hw_users_check_sges(struct ri_pd *pd, const struct ib_sge *sge, int num, bool write)
{
	int i;

	for (i = 0; i < num; i++)
		if (!hw_users_sge_allowed(pd, &sge[i], write))
			return -EINVAL;
	return 0;
}

/**
 * hw_users_check_stag() - may a user without library invalidate this STag?
 * @pd: protection domain of the queue
 * @stag: STag
 *
 * Return: 0 or -EINVAL, which is counted. Context: any.
 */
int hw_users_check_stag(struct ri_pd *pd, u32 stag)
{
	const struct ib_sge empty = { .lkey = stag };

	return hw_users_check_sges(pd, &empty, 1, false);
}
