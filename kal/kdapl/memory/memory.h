/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL's memory regions and windows for the folders above. lmr.h is for the files of this one.
 */
#ifndef KDAT_MEMORY_H
#define KDAT_MEMORY_H

#include "../events/events.h"

struct kdat_lmr;
struct kdat_rmr;

#define kdat_lmr_of(h)	((struct kdat_lmr *)kdat_obj(h, DAT_HANDLE_TYPE_LMR))
#define kdat_rmr_of(h)	((struct kdat_rmr *)kdat_obj(h, DAT_HANDLE_TYPE_RMR))

/**
 * kdat_lmr_translate() - turn the consumer's segments into elements of a work request
 * @ia: IA
 * @pz: protection zone of the queue
 * @num: segments
 * @iov: segments; those of length 0 are skipped, whatever they name
 * @write: the memory will be written to
 * @sge: elements
 * @max: room in @sge
 * @total: takes the sum of the lengths in bytes
 *
 * Where the context is an STag, the RNIC alone checks protection zone, privileges and bounds, and
 * the completion reports a violation. Otherwise they are checked here.
 *
 * Return: number of elements; or a negative number: *@error has the DAT_RETURN. Any context.
 */
int kdat_lmr_translate(struct kdat_ia *ia, struct kdat_pz *pz, DAT_COUNT num,
		       const DAT_LMR_TRIPLET *iov, bool write, struct ib_sge *sge, u32 max,
		       u64 *total, DAT_RETURN *error);

/* the largest LMR with remote rights, in bytes */
u64 kdat_lmr_max_size(const struct ri_rnic *rnic);
int kdat_lmr_open_ia(struct kdat_ia *ia);	/* reserved LMR */
void kdat_lmr_close_ia(struct kdat_ia *ia);
/*
 * The endpoint and its state are connected, but ESTABLISHED was not reported yet. Return: true:
 * it can be; false: LMRs of its protection zone wait for their registration (RNICs without
 * ri_ops.mr_map), and kdat_obj_ops.ready() of the endpoint is called later. ep->mutex is held.
 */
bool kdat_lmr_connected(struct kdat_ep *ep);

/*
 * A queue pair has flushed all: registrations that it may have carried out are of no consequence
 * any more on return, if there is memory. The RNIC is held. May sleep.
 */
void kdat_lmr_flushed(struct kdat_ia *ia);

/* The start and the end of the module. */
int kdat_memory_init(void);
void kdat_memory_exit(void);
void kdat_lmr_table(DAT_PROVIDER *provider);
void kdat_rmr_table(DAT_PROVIDER *provider);

#endif /* KDAT_MEMORY_H */
