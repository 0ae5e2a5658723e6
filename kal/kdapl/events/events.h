/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL's event dispatchers.
 *
 * - events.c: asynchronous events
 * - evd.c: the objects
 * - evd_upcall.c, evd_ring.c: their completions and upcalls, and their queue
 * - complete.c: completions become events
 * - evd_early.c: receives that complete before their connection is reported
 */
#ifndef KDAT_EVENTS_H
#define KDAT_EVENTS_H

/* irq_poll.h needs it */
#include <linux/types.h>
#include <linux/irq_poll.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../fast/batch.h"
#include "../fast/fast.h"
#include "evd_ring.h"

#define kdat_evd_of(h)	((struct kdat_evd *)kdat_obj(h, DAT_HANDLE_TYPE_EVD))

#define KDAT_EVD_MANY	4	/* upcalls at the same time with DAT_UPCALL_MANY */

/**
 * struct kdat_upcall - work item that calls up; belongs to evd_upcall.c
 * @work: work
 * @evd: its EVD
 * @busy: @work is queued or runs and has not found that there is nothing to do; kdat_evd.lock
 * @cpu: of an EVD with @bh: where @work runs, -1: nowhere
 */
struct kdat_upcall {
	struct work_struct work;
	struct kdat_evd *evd;
	bool busy;
	int cpu;
};

/**
 * struct kdat_evd - event dispatcher
 * @obj: head; kdat_obj.uses counts endpoints, service points and the IA's asynchronous events
 * @borrowers: other IAs that have their asynchronous events put here
 * @flags: DAT_EVD_FLAGS, streams that may be fed
 * @bh: it has a CQ, or had one: it calls up in softirq context
 * @cq: completions of DTOs and binds; NULL if @flags has neither and after the removal of the RNIC.
 *	A function that does not hold the RNIC uses it under @lock, in a section of RCU, and looks
 *	at kdat_rnic.gone.
 * @mutex: protects @reserved; a resize excludes kdat_evd_purge()
 * @reserved: completions that endpoints may have in @cq at once
 * @plain_streams: endpoints' queues whose completions call up; under kdat_ia.mutex
 * @solicited_streams: those whose solicited receives alone do, then all of them; kdat_ia.mutex
 * @lock: protects all below; any context
 * @ring: events that were put, and completions that were polled
 * @batch: completions that the busy work item has polled; younger than those in @ring
 * @drained: @cq had no more than was polled, and was not armed since
 * @armed: @cq notifies of the next completion; it was empty when it was armed
 * @solicited: it notifies of solicited ones only
 * @early: endpoints with receives that were held, see evd_early.c; they are older than those in @cq
 * @overflow: an event was lost, and that was reported; until there is room again
 * @overflow_due: the report has to go to this very EVD, and waits for room
 * @notified: with DAT_UPCALL_NORIFY: the consumer was called and did not see an empty queue since
 * @policy: of upcalls
 * @upcall: the consumer's
 * @stopping: number of threads that wait for the end of running upcalls: none starts
 * @busy: number of @upcalls that are busy
 * @poll: with @bh: runs the first of @upcalls
 * @upcalls: work
 */
struct kdat_evd {
	struct kdat_obj obj;
	atomic_t borrowers;
	DAT_EVD_FLAGS flags;
	bool bh;
	struct ri_cq *cq;
	struct mutex mutex;	/* protects reserved, the memory of ring */
	u32 reserved;
	u32 plain_streams;
	u32 solicited_streams;
	spinlock_t lock;	/* protects all below */
	struct kdat_evd_ring ring;
	struct kdat_batch batch;
	bool drained;
	bool armed;
	bool solicited;
	struct list_head early;
	bool overflow;
	bool overflow_due;
	bool notified;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT upcall;
	u32 stopping;
	u32 busy;
	struct irq_poll poll;
	struct kdat_upcall upcalls[KDAT_EVD_MANY];
};

/*
 * Make an EVD, with a CQ if @flags has DTOs or binds. Used by dat_evd_kcreate() and for the
 * asynchronous EVD that an IA makes itself. The arguments are valid, but for a @qlen that is too
 * large. The RNIC is held.
 */
DAT_RETURN kdat_evd_make(struct kdat_ia *ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			 const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags,
			 struct kdat_evd **evd);
/*
 * Free an EVD that nothing uses: no upcall is running or comes after the return. May sleep. The
 * RNIC is not held, for an upcall may wait for it; not from an upcall of @evd.
 */
void kdat_evd_destroy(struct kdat_evd *evd);
/* Return: whether the caller is an upcall of @evd. Any context but hard interrupt. */
bool kdat_evd_in_upcall(const struct kdat_evd *evd);
/* Start no more upcalls, and wait for those that run, without the RNIC. May sleep. */
void kdat_evd_stop(struct kdat_evd *evd);
/* The RNIC is removed: destroy the CQ, keep the queued events. May sleep. */
void kdat_evd_drop_cq(struct kdat_evd *evd);

/*
 * Put @event into the queue and call up. Sets event->evd_handle. If the queue is full, the event is
 * lost, and DAT_ASYNC_ERROR_EVD_OVERFLOW is reported: once until the consumer has made room.
 * Return: false: it is lost. Any context but hard interrupt.
 */
bool kdat_evd_put(struct kdat_evd *evd, const DAT_EVENT *event);

/* Make room for the completions of @num more requests in the CQ, or give it back. May sleep. */
DAT_RETURN kdat_evd_reserve(struct kdat_evd *evd, u32 num);
void kdat_evd_unreserve(struct kdat_evd *evd, u32 num);
/*
 * Take all completions from the CQ into the queue, which is made longer for them: they stay when
 * their queue pair is reset or destroyed. The RNIC is held. May sleep.
 */
void kdat_evd_collect(struct kdat_evd *evd);
/*
 * Take some completions from the CQ into the queue: those without an event give their requests
 * back, even if the consumer does not look for events. Return: there were some. In a section of
 * RCU.
 */
bool kdat_evd_reap(struct kdat_evd *evd);
/* Wait for a poll of the CQ: no request of what was polled is looked at any more. Any context. */
void kdat_evd_settle(struct kdat_evd *evd);
/* Receives that are early, see evd_early.c */
void kdat_early_begin(struct kdat_ep *ep);
void kdat_early_end(struct kdat_ep *ep);
void kdat_early_drop(struct kdat_ep *ep);
/* Forget queued DTO events of @ep, whose queue pair is destroyed. May sleep. */
void kdat_evd_purge(struct kdat_evd *evd, const struct kdat_ep *ep);
/*
 * The receives of all endpoints on @evd ask for solicited notification, or not. Such an @evd takes
 * no completions of requests: they are not solicited, and would not call up.
 */
void kdat_evd_solicited(struct kdat_evd *evd, bool solicited);

/* Report an asynchronous event to the IA's EVD. Any context but hard interrupt. */
void kdat_ia_async(struct kdat_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, int reason);

/* The start of the module, and its end. */
int kdat_events_init(void);
void kdat_events_exit(void);
void kdat_evd_table(DAT_PROVIDER *provider);

#endif /* KDAT_EVENTS_H */
