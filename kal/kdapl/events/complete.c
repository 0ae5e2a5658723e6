// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completions become events, and give their requests back. Most are those of a transfer without
 * flags that has succeeded, and take a short way: a slot without flags and a status of 0 are one
 * comparison. fast.h has the measurement.
 */
#include "evd.h"

/* Fill in what the InfiniBand extension reports of the operation. */
static void kdat_dto_extension(DAT_EVENT *event, DAT_IB_EXT_TYPE type, bool success, u32 immediate)
{
	DAT_IB_EXTENSION_EVENT_DATA *data = (void *)event->event_extension_data;

	memset(event->event_extension_data, 0, sizeof(event->event_extension_data));
	event->event_number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	data->type = type;
	data->status = success ? DAT_OP_SUCCESS : DAT_IB_OP_ERR;
	data->val.immed.data = immediate;
	data->context = event->event_data.dto_completion_event_data.user_cookie;
}

static void kdat_dto_ext_event(const struct kdat_dto *dto, bool success, DAT_EVENT *event)
{
	DAT_IB_EXT_TYPE type = DAT_IB_RDMA_WRITE_IMMED;

	switch (dto->ext_op - 1) {
	case DAT_IB_DTO_FETCH_ADD:
		type = DAT_IB_FETCH_AND_ADD;
		break;
	case DAT_IB_DTO_CMP_SWAP:
		type = DAT_IB_CMP_AND_SWAP;
		break;
	}
	event->event_data.dto_completion_event_data.operation = (DAT_DTOS)(dto->ext_op - 1);
	kdat_dto_extension(event, type, success, 0);
}

/* A receive succeeded: what did the peer send beside the message? */
static noinline void kdat_dto_received_more(struct kdat_ep *ep, const struct ib_wc *wc,
					    DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	const struct kdat_ia *ia = ep->obj.ia;

	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		data->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		data->rmr_context = wc->ex.invalidate_rkey;
		kdat_obj_types[DAT_HANDLE_TYPE_LMR]->invalidated(ep, wc->ex.invalidate_rkey);
	} else if (wc->wc_flags & IB_WC_WITH_IMM && ia->obj.provider == &ia->kr->provider_ib) {
		const bool write = wc->opcode == IB_WC_RECV_RDMA_WITH_IMM;

		data->operation = (DAT_DTOS)(write ? DAT_IB_DTO_RECV_IMMED :
						     DAT_IB_DTO_RECV_MSG_IMMED);
		kdat_dto_extension(event,
				   write ? DAT_IB_RDMA_WRITE_IMMED_DATA : DAT_IB_RECV_IMMED_DATA,
				   true, be32_to_cpu(wc->ex.imm_data));
	}
}

/* A bind has an event of its own; a registration or an invalidation is like a transfer. */
static void kdat_dto_bound(struct kdat_dto *dto, const struct ib_wc *wc, DAT_EVENT *event)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data = &event->event_data.rmr_completion_event_data;

	event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	data->rmr_handle = dto->object;
	data->user_cookie = dto->cookie;
	data->status = kdat_error_dto_status(wc->status, dto->op);
}

static __always_inline void kdat_dto_received(struct kdat_ep *ep, const struct ib_wc *wc,
					      DAT_EVENT *event)
{
	event->event_data.dto_completion_event_data.transfered_length = wc->byte_len;
	if (unlikely(wc->wc_flags))
		kdat_dto_received_more(ep, wc, event);
}

/* The event of a transfer that has succeeded, but for what a receive or an extension adds. */
static __always_inline void kdat_dto_describe(struct kdat_evd *evd, const struct kdat_dto *dto,
					      struct kdat_ep *ep, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	data->ep_handle = ep;
	data->user_cookie = dto->cookie;
	data->status = DAT_DTO_SUCCESS;
	data->transfered_length = dto->length;
	data->operation = dto->op;
	data->rmr_context = 0;
}

/* A receive of an SRQ does not know its endpoint, but the queue pair does. */
static struct kdat_ep *kdat_dto_ep(const struct kdat_dto *dto, const struct ib_wc *wc)
{
	return dto->ep ?: (struct kdat_ep *)wc->qp;
}

/* Turn a completion into an event. Return: false: it has none. */
static bool kdat_dto_event(struct kdat_evd *evd, const struct ib_wc *wc,
			   struct kdat_evd_entry *entry)
{
	DAT_EVENT *event = &entry->event;
	DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	struct kdat_dto *dto = (struct kdat_dto *)(uintptr_t)wc->wr_id;
	const bool success = wc->status == IB_WC_SUCCESS;
	struct kdat_ep *ep = kdat_dto_ep(dto, wc);

	if (unlikely(dto->flags & KDAT_DTO_INTERNAL ||
		     (success && dto->flags & DAT_COMPLETION_SUPPRESS_FLAG)))
		return false;
	entry->notify = !success || !(dto->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	if (unlikely(dto->op == DAT_DTO_BIND_MW)) {
		event->evd_handle = evd;
		kdat_dto_bound(dto, wc, event);
		return true;
	}
	kdat_dto_describe(evd, dto, ep, event);
	if (!success) {
		data->status = kdat_error_dto_status(wc->status, dto->op);
		data->transfered_length = 0;
	}
	if (unlikely(dto->ext_op))
		kdat_dto_ext_event(dto, success, event);
	else if (success && dto->op == DAT_DTO_RECEIVE)
		kdat_dto_received(ep, wc, event);
	return true;
}

/* The event of a transfer without flags, and which has succeeded. */
static __always_inline void kdat_dto_plain(struct kdat_evd *evd, struct kdat_dto *dto,
					   const struct ib_wc *wc, struct kdat_evd_entry *entry)
{
	entry->notify = true;
	kdat_dto_describe(evd, dto, dto->ep, &entry->event);
	if (dto->op == DAT_DTO_RECEIVE)
		kdat_dto_received(dto->ep, wc, &entry->event);
	kdat_slot_put(dto);
}

/* Any other one. Return: number of events. */
static noinline unsigned int kdat_dto_special(struct kdat_evd *evd, struct kdat_dto *dto,
					      const struct ib_wc *wc, struct kdat_evd_entry *entry,
					      u32 *quiet)
{
	unsigned int num;

	if (dto->op == DAT_DTO_RECEIVE && kdat_early_hold(kdat_dto_ep(dto, wc), dto, wc))
		return 0;
	num = kdat_dto_event(evd, wc, entry);
	if (num)
		*quiet += !entry->notify;
	if (dto->object)
		kdat_obj_ops(dto->object)->completed(dto, wc->status);
	kdat_slot_clear(dto);
	return num;
}

unsigned int kdat_dto_events(struct kdat_evd *evd, const struct ib_wc *wc, unsigned int num,
			     struct kdat_evd_entry *entries, u32 *quiet)
{
	const struct ib_wc *const end = wc + num;
	struct kdat_evd_entry *entry = entries;

	*quiet = 0;
	for (; wc < end; wc++) {
		struct kdat_dto *dto = (struct kdat_dto *)(uintptr_t)wc->wr_id;

		if (likely(!(dto->flags | wc->status)))
			kdat_dto_plain(evd, dto, wc, entry++);
		else
			entry += kdat_dto_special(evd, dto, wc, entry, quiet);
	}
	return entry - entries;
}
