/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The short way of a post: one segment, by an STag that the RNIC checks. It is not copied, because
 * a segment of DAT is laid out as the RNIC's element. Its work request is set by assignments,
 * because an initializer clears the structure first. All of it is inlined into each kind of post.
 * fast.h has the measurement.
 */
#ifndef KDAT_POST_H
#define KDAT_POST_H

#include "fast.h"

/*
 * A section of RCU for a post that looks at kdat_ia.direct itself. Elsewhere than in a real-time
 * kernel, in which the provider's locks sleep, it costs less than rcu_read_lock().
 */
static inline void kdat_enter_direct(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		rcu_read_lock();
	else
		rcu_read_lock_sched();
}

static inline void kdat_leave_direct(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		rcu_read_unlock();
	else
		rcu_read_unlock_sched();
}

/* a segment that needs no translation is handed on as it is */
static_assert(sizeof(struct ib_sge) == sizeof(DAT_LMR_TRIPLET));
static_assert(offsetof(struct ib_sge, addr) == offsetof(DAT_LMR_TRIPLET, virtual_address));
static_assert(offsetof(struct ib_sge, length) == offsetof(DAT_LMR_TRIPLET, segment_length));
static_assert(offsetof(struct ib_sge, lkey) == offsetof(DAT_LMR_TRIPLET, lmr_context));

/* Is it one segment, by an STag of the RNIC, which is there, and not by physical addresses? */
static __always_inline bool kdat_dto_is_direct(const struct kdat_ia *ia, DAT_COUNT num,
					       const DAT_LMR_TRIPLET *iov)
{
	return likely(num == 1 && READ_ONCE(ia->direct) && iov->segment_length) &&
	       likely(iov->lmr_context != ia->reserved_context);
}

/* What kdat_dto_request() does not set. */
static __always_inline void kdat_dto_wr_init(struct ib_send_wr *wr, enum ib_wr_opcode opcode)
{
	wr->opcode = opcode;
	wr->send_flags = IB_SEND_SIGNALED;
	wr->ex.imm_data = 0;
}

/* @wr asks for a completion; dto->flags has no other flags than KDAT_DTO_*. */
static __always_inline DAT_RETURN kdat_dto_post_wr(struct kdat_ep *ep, struct kdat_dto *dto,
						   struct ib_send_wr *wr,
						   DAT_COMPLETION_FLAGS flags)
{
	struct ri_qp *qp = READ_ONCE(ep->qp);
	const struct ib_send_wr *bad_wr __uninitialized;
	int ret = -ENOTCONN;

	wr->next = NULL;
	wr->wr_id = (uintptr_t)dto;
	if (unlikely(flags)) {
		dto->flags |= flags;
		if (flags & (DAT_COMPLETION_BARRIER_FENCE_FLAG |
			     DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG))
			wr->send_flags |= IB_SEND_FENCE;
		if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			wr->send_flags |= IB_SEND_SOLICITED;
	}
	if (likely(qp))
		ret = kal_post_send(qp, wr, &bad_wr);
	if (likely(!ret))
		return DAT_SUCCESS;
	kdat_slot_clear(dto);
	return kdat_dto_errno(ep, ret);
}

/* In a section of RCU, or with the RNIC held: the provider begins with what was posted. */
static inline void kdat_dto_push_atomic(struct kdat_ep *ep)
{
	struct ri_qp *qp = READ_ONCE(ep->qp);

	if (qp && qp->pushed)
		kal_qp_push(qp, false);
}

#endif /* KDAT_POST_H */
