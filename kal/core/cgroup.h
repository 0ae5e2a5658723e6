/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Charges of a process' objects on an RNIC to its rdma cgroup; see cgroup.c. ib_core itself
 * charges the objects that are created through ib_uverbs. The handles of /dev/krdma use this
 * interface. The ib bridge reports when the controller begins and ceases to know the RNIC; the
 * controller knows an RNIC with an ib_device of another driver from its registration on.
 */
#ifndef KAL_CGROUP_H
#define KAL_CGROUP_H

#include <linux/cgroup_rdma.h>
#include <linux/list.h>

struct ib_device;
struct ri_rnic;

/*
 * Flags for memory that set_active_memcg() charges to another task's cgroup. If that cgroup is
 * full, the allocation fails. It waits neither for the cgroup's reclaim nor for its OOM
 * killer.
 */
#define KAL_GFP_CHARGE	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/*
 * The same for an incoming connection request, which must not fail because of page cache
 * alone. The charge may exceed the limit. The cgroup's next own allocation then pays with
 * reclaim.
 */
#define KAL_GFP_REQUEST	(KAL_GFP_CHARGE | __GFP_HIGH)

/**
 * struct kal_charge - a charge, or room for one
 * @node: entry in the list of @rnic's charges; empty: nothing is charged
 * @rnic: RNIC of the charged object
 * @cg: charged cgroup
 * @resource: kind of the charged resource
 *
 * kal_charges_lock of cgroup.c protects it.
 */
struct kal_charge {
	struct list_head node;
	struct ri_rnic *rnic;
	struct rdma_cgroup *cg;
	enum rdmacg_resource_type resource;
};

int kal_charge(struct ri_rnic *rnic, struct kal_charge *charge, enum rdmacg_resource_type resource);
void kal_uncharge(struct kal_charge *charge);

void kal_charges_open(struct ri_rnic *rnic, struct ib_device *dev);
void kal_charges_close(struct ri_rnic *rnic);

#endif /* KAL_CGROUP_H */
