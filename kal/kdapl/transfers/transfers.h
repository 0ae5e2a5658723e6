/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL's data transfers.
 *
 * - dto.c: posting on endpoints
 * - srq.c: shared receive queues
 * - ext.c: operations of the InfiniBand extension
 */
#ifndef KDAT_TRANSFERS_H
#define KDAT_TRANSFERS_H

#include "../memory/memory.h"

#define kdat_srq_of(h)	((struct kdat_srq *)kdat_obj(h, DAT_HANDLE_TYPE_SRQ))

/**
 * struct kdat_srq - shared receive queue
 * @obj: head; kdat_obj.uses counts endpoints
 * @pz: protection zone
 * @srq: of the RNIC, NULL after its removal
 * @attr: attributes as granted
 * @failed: the RNIC reported an error of the queue
 * @recvs: posted receives
 * @posted: their number
 * @room: most of them
 * @mutex: protects @queues and changes of @attr; taken under kdat_rnic.sem, outside of all others
 * @queues: endpoints' queue pairs
 */
struct kdat_srq {
	struct kdat_obj obj;
	struct kdat_pz *pz;
	struct ri_srq *srq;
	DAT_SRQ_ATTR attr;
	bool failed;
	struct kdat_slots recvs;
	atomic_t posted;
	u32 room;
	struct mutex mutex;	/* see above */
	struct list_head queues;
};

/* Data transfers ********************************************************** */

/**
 * struct kdat_transfer - a request that moves data
 * @op: operation
 * @ext_op: as in struct kdat_dto
 * @num: local segments
 * @iov: local segments
 * @max: most bytes
 * @cookie: the consumer's
 * @flags: the consumer's, checked
 */
struct kdat_transfer {
	DAT_DTOS op;
	int ext_op;
	DAT_COUNT num;
	const DAT_LMR_TRIPLET *iov;
	u64 max;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
};

/* Translate the segments and post @wr, which has all but these and what kdat_dto_post() sets. */
DAT_RETURN kdat_dto_transfer(struct kdat_ep *ep, struct ib_send_wr *wr,
			     const struct kdat_transfer *transfer);

/* the operations of the InfiniBand extension, for the provider's table */
DAT_RETURN kdat_ext_ib_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

/* The start of the module. */
void kdat_srq_init(void);
void kdat_dto_table(DAT_PROVIDER *provider);
void kdat_srq_table(DAT_PROVIDER *provider);

#endif /* KDAT_TRANSFERS_H */
