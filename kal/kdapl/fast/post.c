// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Posting for the other folders, errors of a post, and the end of requests without a completion. */
#include "post.h"

DAT_RETURN kdat_dto_errno(const struct kdat_ep *ep, int err)
{
	switch (err) {
	case -ENOMEM:
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	case -ENOTCONN:
		return kdat_ep_state_error(READ_ONCE(ep->state));
	case -EINVAL:
		return KDAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	case -EOPNOTSUPP:
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return KDAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	}
}

DAT_RETURN kdat_dto_post(struct kdat_ep *ep, struct kdat_dto *dto, struct ib_send_wr *wr,
			 DAT_COMPLETION_FLAGS flags)
{
	const bool internal = (flags | dto->flags) & KDAT_DTO_INTERNAL;
	DAT_RETURN ret;

	dto->length = 0;
	dto->flags |= KDAT_DTO_SPECIAL;
	wr->send_flags |= IB_SEND_SIGNALED;
	ret = kdat_dto_post_wr(ep, dto, wr, flags);
	/* the consumer does not know of the request, and so does not push it */
	if (ret == DAT_SUCCESS && internal)
		kdat_dto_push_atomic(ep);
	return ret;
}

void kdat_slots_reset(struct kdat_slots *slots)
{
	struct kdat_dto *dto = NULL;

	while ((dto = kdat_slots_next(slots, dto))) {
		if (dto->object)
			kdat_obj_ops(dto->object)->completed(dto, IB_WC_WR_FLUSH_ERR);
		kdat_slot_clear(dto);
		cond_resched();
	}
}
