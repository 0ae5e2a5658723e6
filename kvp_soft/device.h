/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A soft RNIC: one for each network device that the administrator asked for.
 */
#ifndef SOFT_DEVICE_H
#define SOFT_DEVICE_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <krdma/rnicpi.h>
#include "counters.h"
#include "tx/pace.h"

struct soft_counter_set {
	u64 v[SOFT_CNT_MAX];
};

/**
 * struct soft_rnic - a soft RNIC
 * @ri: the kAL's interface object
 * @node: in the list of all soft RNICs, under its mutex
 * @mems: STag index to struct soft_mem; readers under RCU
 * @mems_gen: counts what was taken from @mems
 * @next_mem: where the search for a free STag index goes on
 * @all_memory: what the local DMA lkey names
 * @counters: one set for each CPU
 */
struct soft_rnic {
	struct ri_rnic ri;
	struct list_head node;
	struct xarray mems;
	atomic64_t mems_gen;
	u32 next_mem;
	struct soft_mem *all_memory;
	struct soft_counter_set __percpu *counters;
};

static inline struct soft_rnic *to_soft_rnic(struct ri_rnic *ri)
{
	return container_of(ri, struct soft_rnic, ri);
}

/**
 * struct soft_ucontext - a user's opened RNIC
 * @ri: the kAL's interface object
 * @gather: its QPs whose doorbells can wait
 */
struct soft_ucontext {
	struct ri_ucontext ri;
	struct soft_gather gather;
};

static inline struct soft_ucontext *to_soft_ucontext(struct ri_ucontext *ri)
{
	return container_of(ri, struct soft_ucontext, ri);
}

static inline void soft_count_add(struct soft_rnic *rnic,
				  enum soft_counter which, u64 n)
{
	this_cpu_add(rnic->counters->v[which], n);
}

static inline void soft_count(struct soft_rnic *rnic, enum soft_counter which)
{
	soft_count_add(rnic, which, 1);
}

/* transmit, receive and teardown of all QPs */
extern struct workqueue_struct *soft_wq;
/* completion events, each on the CPU of its vector */
extern struct workqueue_struct *soft_event_wq;
/* threads that look at send queues */
extern struct workqueue_struct *soft_poll_wq;

extern const struct ri_ops soft_ops;

int soft_device_create(const char *name, struct net_device *ndev);
void soft_device_destroy(struct ri_rnic *ri);
void soft_async_event(struct soft_rnic *rnic, enum ri_obj_type type, u32 id,
		      enum ib_event_type event);
void soft_query_counters(struct ri_rnic *ri, u64 *values);

#endif /* SOFT_DEVICE_H */
