// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Receives that complete before their connection is reported.
 *
 * An RNIC receives as soon as it has a connection. The consumer learns of the connection later,
 * when the kAL has called the handler of the endpoint, which runs in another context. A consumer
 * that got a message in between could not answer it: the endpoint is not connected yet, its pending
 * LMRs are not registered, and the queue pair of some devices takes no requests.
 *
 * So from the beginning of an attempt until its result is in the queue of the connection's EVD,
 * completions of the endpoint's receives are held: kdat_early_hold() takes them when they have been
 * polled. Then kdat_early_end() hands the endpoint to the EVD of its receives, which takes what was
 * held before it polls the CQ again. So receives keep their order, and none comes before the
 * result.
 *
 * There is a record for each receive slot, so there is always room. All of this is under the lock
 * of the EVD of the endpoint's receives.
 */
#include <linux/cleanup.h>
#include <linux/list.h>
#include <linux/sched.h>

#include "evd.h"

static struct kdat_early *kdat_early_of(const struct kdat_dto *dto)
{
	return &dto->block->early[dto - dto->block->dtos];
}

/** kdat_early_begin() - an attempt begins; ep->mutex held, the endpoint has an EVD for receives */
void kdat_early_begin(struct kdat_ep *ep)
{
	scoped_guard(spinlock_irqsave, &ep->recv_evd->lock) {
		WRITE_ONCE(ep->early, true);
		/* what was held for an attempt that did not begin is held again */
		list_del_init(&ep->early_node);
	}
}

/**
 * kdat_early_hold() - hold a completion, if it is early
 * @ep: endpoint
 * @dto: receive that has completed
 * @wc: completion
 *
 * Context: under the lock of the EVD of the endpoint's receives.
 * Return: true: it comes later, and @dto stays in use.
 */
bool kdat_early_hold(struct kdat_ep *ep, struct kdat_dto *dto, const struct ib_wc *wc)
{
	if (likely(!READ_ONCE(ep->early)))
		return false;
	*kdat_early_of(dto) = (struct kdat_early){
		.status = wc->status,
		.opcode = wc->opcode,
		.flags = wc->wc_flags,
		.length = wc->byte_len,
		.more = wc->ex.invalidate_rkey,
	};
	if (ep->early_last)
		kdat_early_of(ep->early_last)->next = dto;
	else
		ep->early_first = dto;
	ep->early_last = dto;
	return true;
}

/** kdat_early_end() - the attempt's result is in its queue; ep->mutex held; any number of times */
void kdat_early_end(struct kdat_ep *ep)
{
	struct kdat_evd *evd = ep->recv_evd;

	if (!evd)
		return;
	scoped_guard(spinlock_irqsave, &evd->lock) {
		WRITE_ONCE(ep->early, false);
		if (ep->early_first && list_empty(&ep->early_node)) {
			list_add_tail(&ep->early_node, &evd->early);
			/* a work item looks for completions */
			evd->drained = false;
			evd->armed = false;
			kdat_evd_kick(evd);
		}
	}
}

/**
 * kdat_early_take() - take completions that were held and are not early any more
 * @evd: EVD of receives; with its lock
 * @max: most of them
 * @wc: takes them
 *
 * Return: their number, at least 1 if kdat_evd.early is not empty.
 */
u32 kdat_early_take(struct kdat_evd *evd, u32 max, struct ib_wc *wc)
{
	const struct kdat_early *held;
	struct kdat_dto *dto;
	struct kdat_ep *ep;
	u32 n = 0;

	while (n < max && !list_empty(&evd->early)) {
		ep = list_first_entry(&evd->early, struct kdat_ep, early_node);
		dto = ep->early_first;
		held = kdat_early_of(dto);
		wc[n++] = (struct ib_wc){
			.wr_id = (uintptr_t)dto,
			.status = held->status,
			.opcode = held->opcode,
			.byte_len = held->length,
			.wc_flags = held->flags,
			.ex.invalidate_rkey = held->more,
			.qp = (struct ib_qp *)ep,
		};
		ep->early_first = held->next;
		if (ep->early_first)
			continue;
		ep->early_last = NULL;
		list_del_init(&ep->early_node);
	}
	return n;
}

/**
 * kdat_early_drop() - forget what is held; the endpoint's queue pair is destroyed, or is reset
 * @ep: endpoint
 *
 * Slots of an SRQ are given back here, those of the endpoint with all others. Context: may sleep.
 */
void kdat_early_drop(struct kdat_ep *ep)
{
	struct kdat_evd *evd = ep->recv_evd;
	struct kdat_dto *dto, *next;

	if (!evd)
		return;
	scoped_guard(spinlock_irqsave, &evd->lock) {
		dto = ep->early_first;
		ep->early_first = NULL;
		ep->early_last = NULL;
		WRITE_ONCE(ep->early, false);
		list_del_init(&ep->early_node);
	}
	for (; dto && !dto->ep; dto = next) {
		next = kdat_early_of(dto)->next;
		kdat_slot_clear(dto);
		cond_resched();
	}
}
