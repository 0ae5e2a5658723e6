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
 * @shm: memory of the ring, shared with the user; NULL when there is no ring
 * @head: indices and the arm word
 * @entries: the entries
 * @stamps: time at which each entry was added, if the user asked for timestamps; else NULL
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
 * @lock: protects the members up to @mod_period, and the order of entries
 * @prod: next entry to fill
 * @overflowed: an entry was lost; nothing is added any more
 * @cons: next entry that a kernel consumer takes; the index of a user is in the ring
 * @hole: begin of the hole during a purge: the entries from @hole up to @hole_end were
 *	dropped; otherwise equal to @hole_end
 * @hole_end: end of the hole, the first valid entry behind it
 * @mem: the ring in use
 * @event_prod: @prod when the last event was raised
 * @mod_count: number of completions that makes an event due at once
 * @mod_period: microseconds after which an event is due for fewer; 0 disables moderation
 * @mod_timer: runs while completions wait for more
 * @event_work: raises an event on the CPU of the completion vector
 * @error_work: reports that a completion was lost
 * @clock_offset: nanoseconds by which the user's monotonic clock is ahead of the kernel's
 * @walk_lock: serializes purges and changes of the ring, which release @lock in between; no
 *	memory is allocated under it
 * @resize_lock: serializes resizes, and protects @next
 * @next: the new ring of a resize, not in use yet
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

/* completions of a run that are added at a time; they are on the stack until then */
#define SOFT_CQ_RUN	16

/* Consumers that soft_cq_add() notifies. */
enum soft_cq_tell {
	SOFT_CQ_TELL_LATER,	/* none yet */
	SOFT_CQ_TELL,		/* armed for any completion */
	SOFT_CQ_TELL_SOLICITED,	/* armed for any completion, or for solicited ones */
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

/* Do new completions need soft_cq_raise()? With the lock held, which also keeps the ring. */
static inline bool soft_cq_event_wanted(struct soft_cq *cq, bool solicited)
{
	u32 arm;

	smp_mb(); /* write entries before reading the arm word: pairs with req_notify */
	arm = READ_ONCE(cq->mem.head->arm);
	return arm != KRDMA_SOFT_CQ_ARM_NONE &&
	       (arm != KRDMA_SOFT_CQ_ARM_SOLICITED || solicited) &&
	       soft_cq_event_due(cq);
}

#endif /* SOFT_CQ_H */
