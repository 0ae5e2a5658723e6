/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Functions of evd_upcall.c (completions and upcalls) that evd.c (the objects) uses. */
#ifndef KDAT_EVD_H
#define KDAT_EVD_H

#include "events.h"

/* the workqueue of EVDs without a CQ */
int kdat_evd_init(void);
void kdat_evd_exit(void);
/* Make the queue longer, for the completions in the CQ. Return: false: it is as it was. */
bool kdat_evd_lengthen(struct kdat_evd *evd);
void kdat_evd_upcalls_init(struct kdat_evd *evd);
bool kdat_evd_calls(DAT_UPCALL_POLICY policy);
void kdat_evd_kick(struct kdat_evd *evd);
void kdat_evd_spill(struct kdat_evd *evd);
void kdat_evd_on_completion(struct ri_cq *cq);
void kdat_evd_has_room(struct kdat_evd *evd);
bool kdat_evd_try_put(struct kdat_evd *evd, const DAT_EVENT *event);
DAT_RETURN kdat_evd_take(struct kdat_evd *evd, DAT_EVENT *event);
void kdat_evd_change(struct kdat_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall, bool only_new);
void kdat_evd_go_on(struct kdat_evd *evd);
/* complete.c */
/*
 * Turn @num completions into events, and give their requests back. @entries takes the events; those
 * that are suppressed or internal have none. Sets an entry's event, and notify: it calls up; counts
 * those that do not in @quiet. Return: number of events. Under evd->lock, any context: it puts no
 * event itself, also not to another EVD.
 */
unsigned int kdat_dto_events(struct kdat_evd *evd, const struct ib_wc *wc, unsigned int num,
			     struct kdat_evd_entry *entries, u32 *quiet);

/* evd_early.c */
bool kdat_early_hold(struct kdat_ep *ep, struct kdat_dto *dto, const struct ib_wc *wc);
u32 kdat_early_take(struct kdat_evd *evd, u32 max, struct ib_wc *wc);

#endif /* KDAT_EVD_H */
