/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The soft RNIC for all parts of the module: its counters, events and workqueues. The headers
 * of the parts declare their own data for each RNIC.
 */
#ifndef SOFT_RNIC_H
#define SOFT_RNIC_H

#include <linux/percpu.h>
#include <linux/workqueue.h>
#include <krdma/rnicpi.h>
#include "counters.h"

struct soft_mem_table;

struct soft_counter_set {
	u64 v[SOFT_CNT_MAX];
};

/**
 * struct soft_rnic - a soft RNIC, created by the administrator on a network device
 * @ri: the kAL's interface object
 * @node: entry in the list of all soft RNICs, under the mutex of the list
 * @mems: table of its STags (memory/)
 * @counters: one set for each CPU
 */
struct soft_rnic {
	struct ri_rnic ri;
	struct list_head node;
	struct soft_mem_table *mems;
	struct soft_counter_set __percpu *counters;
};

static inline struct soft_rnic *to_soft_rnic(struct ri_rnic *ri)
{
	return container_of(ri, struct soft_rnic, ri);
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

/* transmitter, receiver and teardown works of all QPs */
extern struct workqueue_struct *soft_wq;
/* completion events, each on the CPU of its vector */
extern struct workqueue_struct *soft_event_wq;
/* pollers of send queues */
extern struct workqueue_struct *soft_poll_wq;

extern const char *const soft_counter_names[SOFT_CNT_MAX];

int soft_workqueues_init(void);
void soft_workqueues_exit(void);
void soft_async_event(struct soft_rnic *rnic, enum ri_obj_type type, u32 id,
		      enum ib_event_type event);
void soft_query_counters(struct ri_rnic *ri, u64 *values);

#endif /* SOFT_RNIC_H */
