// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Charges to the rdma cgroup for objects that processes create without ib_core.
 *
 * The controller identifies an RNIC by its ib_device: that of the ib bridge, or the driver's
 * (ri_rnic_attr.ibdev), which outlives the RNIC. The bridge's may end before the RNIC ("rdma link
 * delete" ends it first), and the controller then forgets all charges. Each RNIC therefore has a
 * list of its charges. A charge is returned at the end of the object or at the end of the
 * ib_device, whichever comes first.
 */
#include <linux/cleanup.h>
#include <linux/mutex.h>

#include "internal.h"

/* protects the charges of all RNICs; the controller also has only one lock */
static DEFINE_MUTEX(kal_charges_lock);

#ifdef CONFIG_CGROUP_RDMA

static struct rdmacg_device *kal_cg_device(struct ib_device *dev)
{
	return &dev->cg_device;
}

static int kal_cg_charge(struct kal_charge *charge, struct rdmacg_device *device)
{
	return rdmacg_try_charge(&charge->cg, device, charge->resource);
}

static void kal_cg_uncharge(struct kal_charge *charge, struct rdmacg_device *device)
{
	rdmacg_uncharge(charge->cg, device, charge->resource);
}

#else

static struct rdmacg_device *kal_cg_device(struct ib_device *dev)
{
	return NULL;
}

static int kal_cg_charge(struct kal_charge *charge, struct rdmacg_device *device)
{
	return 0;
}

static void kal_cg_uncharge(struct kal_charge *charge, struct rdmacg_device *device)
{
}

#endif

static void kal_uncharge_locked(struct kal_charge *charge, struct rdmacg_device *device)
{
	kal_cg_uncharge(charge, device);
	list_del_init(&charge->node);
}

/**
 * kal_charge() - charge an object to the caller's rdma cgroup
 * @rnic: RNIC of the object
 * @charge: zeroed or uncharged; its memory must exist until kal_uncharge()
 * @resource: kind of the resource; RDMACG_RESOURCE_MAX: charge nothing
 *
 * Nothing is charged while the controller does not know @rnic.
 *
 * Return: 0; -EAGAIN: the cgroup or an ancestor has reached its limit; -ENOMEM; -ENODEV: the
 * RNIC is removed. Context: of the process; may sleep.
 */
int kal_charge(struct ri_rnic *rnic, struct kal_charge *charge, enum rdmacg_resource_type resource)
{
	int ret;

	INIT_LIST_HEAD(&charge->node);
	charge->rnic = rnic;
	charge->resource = resource;
	if (resource == RDMACG_RESOURCE_MAX)
		return 0;
	guard(mutex)(&kal_charges_lock);
	if (rnic->cg_closed)
		return -ENODEV;
	if (!rnic->cg_device)
		return 0;
	ret = kal_cg_charge(charge, rnic->cg_device);
	if (!ret)
		list_add(&charge->node, &rnic->charges);
	return ret;
}

/**
 * kal_uncharge() - return a charge
 * @charge: charge of kal_charge(), whatever that function returned
 *
 * Does nothing if the charge was already returned. Context: may sleep.
 */
void kal_uncharge(struct kal_charge *charge)
{
	guard(mutex)(&kal_charges_lock);
	if (!list_empty(&charge->node))
		kal_uncharge_locked(charge, charge->rnic->cg_device);
}

/* Initialise a new RNIC, which the controller does not know yet. */
void kal_charges_init(struct ri_rnic *rnic)
{
	INIT_LIST_HEAD(&rnic->charges);
}

/**
 * kal_charges_open() - begin to charge for an RNIC's objects
 * @rnic: RNIC
 * @dev: ib_device by which the controller knows @rnic, until kal_charges_close()
 *
 * Context: may sleep.
 */
void kal_charges_open(struct ri_rnic *rnic, struct ib_device *dev)
{
	guard(mutex)(&kal_charges_lock);
	rnic->cg_device = kal_cg_device(dev);
	rnic->cg_closed = false;
}

/**
 * kal_charges_close() - return all charges before the controller forgets an RNIC
 * @rnic: RNIC; no more objects can be charged on it
 *
 * Context: may sleep.
 */
void kal_charges_close(struct ri_rnic *rnic)
{
	struct kal_charge *charge, *next;

	guard(mutex)(&kal_charges_lock);
	list_for_each_entry_safe(charge, next, &rnic->charges, node)
		kal_uncharge_locked(charge, rnic->cg_device);
	rnic->cg_device = NULL;
	rnic->cg_closed = true;
}
