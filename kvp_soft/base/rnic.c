// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * RNIC services for all parts of the module: workqueues, counters, asynchronous events.
 */
#include <linux/bottom_half.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>
#include <krdma/compat.h>

#include "params.h"
#include "rnic.h"

struct workqueue_struct *soft_wq;
struct workqueue_struct *soft_event_wq;
struct workqueue_struct *soft_poll_wq;

/**
 * soft_workqueues_init() - create the workqueues at module start
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int soft_workqueues_init(void)
{
	/* not WQ_HIGHPRI: it would preempt a poster between its calls for several QPs */
	soft_wq = alloc_workqueue("krdma_soft",
				  WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, 0);
	soft_event_wq = alloc_workqueue("krdma_soft_event",
					WQ_PERCPU | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	/* separate: pollers run long, and work for memory reclaim must not wait behind them */
	soft_poll_wq = alloc_workqueue("krdma_soft_poll",
				       WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, SOFT_POLLERS_MAX);
	if (soft_wq && soft_event_wq && soft_poll_wq)
		return 0;
	soft_workqueues_exit();
	return -ENOMEM;
}

/** soft_workqueues_exit() - finish queued work and free the workqueues; may sleep */
void soft_workqueues_exit(void)
{
	if (soft_poll_wq)
		destroy_workqueue(soft_poll_wq);
	if (soft_wq)
		destroy_workqueue(soft_wq);
	if (soft_event_wq)
		destroy_workqueue(soft_event_wq);
}

const char *const soft_counter_names[SOFT_CNT_MAX] = {
	[SOFT_CNT_TX_FPDU] = "tx_fpdus",
	[SOFT_CNT_TX_BYTES] = "tx_bytes",
	[SOFT_CNT_TX_SENDS] = "tx_llp_sends",
	[SOFT_CNT_TX_STALLS] = "tx_llp_full",
	[SOFT_CNT_RX_FPDU] = "rx_fpdus",
	[SOFT_CNT_RX_BYTES] = "rx_bytes",
	[SOFT_CNT_RX_BOUNCED] = "rx_fpdus_reassembled",
	[SOFT_CNT_RX_WAITS] = "rx_waits",
	[SOFT_CNT_RX_UNREADABLE] = "rx_unreadable",
	[SOFT_CNT_DOORBELLS] = "doorbells",
	[SOFT_CNT_TX_POLLED] = "tx_polled",
	[SOFT_CNT_TERM_TX] = "terminates_sent",
	[SOFT_CNT_TERM_RX] = "terminates_received",
	[SOFT_CNT_CRC_ERR] = "rx_crc_errors",
	[SOFT_CNT_PROTO_ERR] = "rx_protocol_errors",
	[SOFT_CNT_ACCESS_ERR] = "rx_access_errors",
	[SOFT_CNT_NO_BUFFER] = "rx_no_buffer",
	[SOFT_CNT_LLP_RESET] = "llp_resets",
	[SOFT_CNT_LLP_LOST] = "llp_lost",
	[SOFT_CNT_BAD_WQE] = "bad_work_requests",
	[SOFT_CNT_CQ_OVERFLOW] = "cq_overflows",
	[SOFT_CNT_FLUSHED] = "flushed_work_requests",
	[SOFT_CNT_LOCAL_ERR] = "local_operation_errors",
	[SOFT_CNT_FAST_REG] = "fast_registrations",
	[SOFT_CNT_LOCAL_INV] = "local_invalidations",
	[SOFT_CNT_REMOTE_INV] = "remote_invalidations",
	[SOFT_CNT_REMOTE_INV_REFUSED] = "remote_invalidations_refused",
	[SOFT_CNT_DIRECT_SEGMENTS] = "same_host_segments",
	[SOFT_CNT_DIRECT_BYTES] = "same_host_bytes",
};

/**
 * soft_async_event() - report an asynchronous event of an object
 * @rnic: RNIC
 * @type: type of the object
 * @id: identifier of the object
 * @event: the event
 *
 * Softirqs are off during the handler, whatever the context of the caller. So debug checks find
 * a handler that sleeps: the socket may be locked.
 * Context: any with interrupts on, without spinlocks of ours.
 */
void soft_async_event(struct soft_rnic *rnic, enum ri_obj_type type, u32 id,
		      enum ib_event_type event)
{
	const struct ri_async_event record = {
		.type = type,
		.id = id,
		.event = event,
	};

	local_bh_disable();
	ri_async_event(&rnic->ri, &record);
	local_bh_enable();
}

/* ri_ops.query_counters */
void soft_query_counters(struct ri_rnic *ri, u64 *values)
{
	struct soft_rnic *rnic = to_soft_rnic(ri);
	const struct soft_counter_set *set;
	int cpu, i;

	memset(values, 0, SOFT_CNT_MAX * sizeof(*values));
	for_each_possible_cpu(cpu) {
		set = per_cpu_ptr(rnic->counters, cpu);
		for (i = 0; i < SOFT_CNT_MAX; i++)
			values[i] += READ_ONCE(set->v[i]);
	}
}
