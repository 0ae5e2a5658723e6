/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What evd.c, the objects, uses of evd_upcall.c, their completions and upcalls. */
#ifndef KDAT_EVD_H
#define KDAT_EVD_H

#include "../kdapl.h"

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
/* evd_early.c */
u32 kdat_early_take(struct kdat_evd *evd, u32 max, struct ib_wc *wc);

#endif /* KDAT_EVD_H */
