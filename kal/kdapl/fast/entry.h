/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* An event in the queue of an event dispatcher, or on its way there. */
#ifndef KDAT_ENTRY_H
#define KDAT_ENTRY_H

#include <linux/types.h>

#include <krdma/kdat.h>

/**
 * struct kdat_evd_entry - an event in the ring
 * @event: event
 * @polled: it is a completion from the CQ; else it was put
 * @notify: it is marked: it calls up
 * @dead: it was purged and waits for its turn to be dropped
 */
struct kdat_evd_entry {
	DAT_EVENT event;
	bool polled;
	bool notify;
	bool dead;
};

#endif /* KDAT_ENTRY_H */
