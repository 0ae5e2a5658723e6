/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Completion queues: the transmitter and the receiver add completions, a kernel consumer
 * polls them, events notify the consumer.
 */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <krdma/rnicpi.h>
#include <krdma/soft-abi.h>

/**
 * struct soft_cq_mem - memory of a completion ring
 * @shm: shared with the user; NULL when there is no ring
 * @head: indices and the arm word
 * @entries: the entries
 * @stamps: when each entry was added, for a user who asked for it; else NULL
 * @depth: entries, power of two
 * @wc_qps: ib_wc.qp of each entry, for a kernel consumer; else NULL
 */
struct soft_cq_mem {
	struct ri_shmem *shm;
	struct krdma_soft_cq_ring *head;
	struct krdma_soft_cqe *entries;
	struct krdma_soft_cq_stamp *stamps;
	u32 depth;
	struct ib_qp **wc_qps;
};

/**
 * struct soft_cq - completion queue
 * @lock: protects what follows up to @mod_period, and the order of entries
 * @prod: next entry to fill
 * @overflowed: an entry was lost; nothing is added any more
 * @cons: next entry that a kernel consumer takes; a user's stands in the ring
 * @hole: while a purge is under way: behind this entry follows the one at @hole_end; the
 *	two are equal otherwise
 * @hole_end: see there
 * @mem: the ring in use
 * @event_prod: @prod when the last event was raised
 * @mod_count: completions that make an event due at once
 * @mod_period: microseconds after which fewer do; 0 is at once
 * @mod_timer: runs while completions wait for more
 * @event_work: raises an event on the CPU of the completion vector
 * @error_work: says that a completion was lost
 * @clock_offset: nanoseconds by which the user's monotonic clock is ahead of the kernel's
 * @walk_lock: one purge or change of rings at a time, which release @lock on their way;
 *	no memory is allocated under it
 * @resize_lock: one resize at a time, and @next
 * @next: the ring to change to, made and not used yet
 */
struct soft_cq {
	struct ri_cq ri;
	spinlock_t lock;
	u32 prod;
	bool overflowed;
	u32 cons;
	u32 hole;
	u32 hole_end;
	struct soft_cq_mem mem;
	u32 event_prod;
	u16 mod_count;
	u16 mod_period;
	struct hrtimer mod_timer;
	struct work_struct event_work;
	struct work_struct error_work;
	s64 clock_offset;
	struct mutex walk_lock;
	struct mutex resize_lock;
	struct soft_cq_mem next;
};

static inline struct soft_cq *to_soft_cq(struct ri_cq *ri)
{
	return container_of(ri, struct soft_cq, ri);
}

/* so many completions of a run are added at a time; they stand on the stack until then */
#define SOFT_CQ_RUN	16

/*
 * Whom soft_cq_add() tells: nobody yet, who asked for any event, or also who asked for
 * solicited ones.
 */
enum soft_cq_tell {
	SOFT_CQ_TELL_LATER,
	SOFT_CQ_TELL,
	SOFT_CQ_TELL_SOLICITED,
};

/* cq.c */
bool soft_cq_add(struct soft_cq *cq, const struct krdma_soft_cqe *cqes, u32 n,
		 struct ib_qp *wc_qp, enum soft_cq_tell tell);
bool soft_cq_waiting(struct soft_cq *cq);
void soft_cq_purge(struct soft_cq *cq, u32 qp_num);

int soft_cq_create(struct ri_cq *ri, struct ri_udata *udata);
int soft_cq_resize(struct ri_cq *ri, u32 depth, struct ri_udata *udata);
void soft_cq_destroy(struct ri_cq *ri);
int soft_cq_poll(struct ri_cq *ri, int num_entries, struct ib_wc *wc);

/* cq_event.c */
void soft_cq_event_init(struct soft_cq *cq);
void soft_cq_event_exit(struct soft_cq *cq);
void soft_cq_event_flush(struct soft_cq *cq);
bool soft_cq_event_due(struct soft_cq *cq);
void soft_cq_raise(struct soft_cq *cq);
void soft_cq_broken(struct soft_cq *cq);
void soft_cq_notify(struct soft_cq *cq, bool solicited);
int soft_cq_moderate(struct ri_cq *ri, u16 count, u16 period);
int soft_cq_req_notify(struct ri_cq *ri, enum ib_cq_notify_flags flags);

/* Does what was added want soft_cq_raise()? With the lock held, which also keeps the ring. */
static inline bool soft_cq_event_wanted(struct soft_cq *cq, bool solicited)
{
	u32 arm;

	smp_mb(); /* entries before the arm word: pairs with req_notify */
	arm = READ_ONCE(cq->mem.head->arm);
	return arm != KRDMA_SOFT_CQ_ARM_NONE &&
	       (arm != KRDMA_SOFT_CQ_ARM_SOLICITED || solicited) &&
	       soft_cq_event_due(cq);
}

#endif /* SOFT_CQ_H */
