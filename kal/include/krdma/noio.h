/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Allocations of work that a storage user may wait for.
 *
 * A consumer that memory is written back to (iSER, NVMe, NFS) waits for connections, completions
 * and their ends while memory is reclaimed. The consumer's own scope of GFP_NOIO does not reach the
 * work items that serve it, so each of these begins one: reclaim in it would wait for the consumer,
 * which waits for it. Their workqueues are WQ_MEM_RECLAIM for the same reason.
 *
 *	guard(krdma_noio)();
 */
#ifndef KRDMA_NOIO_H
#define KRDMA_NOIO_H

#include <linux/cleanup.h>
#include <linux/sched/mm.h>

DEFINE_LOCK_GUARD_0(krdma_noio, _T->flags = memalloc_noio_save(),
		    memalloc_noio_restore(_T->flags), unsigned int flags)

#endif /* KRDMA_NOIO_H */
