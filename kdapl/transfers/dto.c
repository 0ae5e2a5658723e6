// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data transfers: posting requests and receives, and turning their completions into events.
 *
 * A struct kdat_dto, a slot, stands for each posted request and receive. It keeps the cookie and
 * the operation for the completion, whatever the RNIC reports of an error or a flush. Every work
 * request asks for a completion. Those that the consumer has suppressed end here.
 *
 * Most posts have one segment by an STag, and most completions are those of such a post, and
 * succeed. They take a short way; another one of each kind is for all others.
 */
#include "../kdapl.h"
#include "../memory/lmr.h"

void kdat_slots_reset(struct kdat_slots *slots)
{
	struct kdat_dto *dto = NULL;

	while ((dto = kdat_slots_next(slots, dto))) {
		if (dto->object)
			kdat_lmr_completed(dto, false);
		kdat_slot_clear(dto);
		cond_resched();
	}
}

/* Posting ******************************************************************* */

/* the queue is full */
#define KDAT_DTO_FULL	KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)

/* how often a post looks for requests that are complete */
#define KDAT_DTO_REAPS	4

/*
 * All requests are in use. Those that completed without an event are, too, as long as the consumer
 * does not look for events, and need not be waited for.
 */
static noinline struct kdat_dto *kdat_dto_reap(struct kdat_ep *ep)
{
	struct kdat_evd *evd = READ_ONCE(ep->request_evd);
	struct kdat_dto *dto = NULL;
	unsigned int i;

	for (i = 0; evd && !dto && i < KDAT_DTO_REAPS && kdat_evd_reap(evd); i++)
		dto = kdat_slot_get(&ep->requests);
	return dto;
}

/* flags that a consumer may give; the notification of receives is chosen by their endpoint */
#define KDAT_DTO_RECV_FLAGS	DAT_COMPLETION_UNSIGNALLED_FLAG
#define KDAT_DTO_RDMA_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG |		\
				 DAT_COMPLETION_UNSIGNALLED_FLAG |	\
				 DAT_COMPLETION_BARRIER_FENCE_FLAG |	\
				 DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)
#define KDAT_DTO_SEND_FLAGS	(KDAT_DTO_RDMA_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

static DAT_RETURN kdat_dto_errno(const struct kdat_ep *ep, int err)
{
	switch (err) {
	case -ENOMEM:
		return KDAT_DTO_FULL;
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
static void kdat_dto_push_atomic(struct kdat_ep *ep)
{
	struct ri_qp *qp = READ_ONCE(ep->qp);

	if (qp && qp->pushed)
		kal_qp_push(qp, false);
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
	/* the consumer does not know of it, and so does not push it */
	if (ret == DAT_SUCCESS && internal)
		kdat_dto_push_atomic(ep);
	return ret;
}

DAT_RETURN dat_ep_set_pushed(DAT_EP_HANDLE handle, DAT_BOOLEAN pushed)
{
	struct kdat_ep *ep = kdat_ep_of(handle);

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	guard(mutex)(&ep->mutex);
	if (ep->state != DAT_EP_STATE_UNCONNECTED)
		return kdat_ep_state_error(ep->state);
	ep->pushed = pushed;
	if (ep->qp)
		ep->qp->pushed = pushed;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ep_set_pushed);

/* Return: the queue pair, which is not destroyed until kal_obj_put(); or NULL. */
static struct ri_qp *kdat_dto_hold_qp(struct kdat_ep *ep)
{
	struct ri_qp *qp;

	if (!kdat_enter_atomic(ep->obj.ia))
		return NULL;
	qp = READ_ONCE(ep->qp);
	if (qp && !refcount_inc_not_zero(&qp->obj.refs))
		qp = NULL;
	kdat_leave_atomic(ep->obj.ia);
	return qp;
}

DAT_RETURN dat_ep_push(DAT_EP_HANDLE handle, DAT_BOOLEAN sleep)
{
	struct kdat_ep *ep = kdat_ep_of(handle);
	struct ri_qp *qp;

	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (!sleep) {
		if (!kdat_enter_atomic(ep->obj.ia))
			return KDAT_GONE;
		kdat_dto_push_atomic(ep);
		kdat_leave_atomic(ep->obj.ia);
		return DAT_SUCCESS;
	}
	qp = kdat_dto_hold_qp(ep);
	if (!qp)
		return KDAT_GONE;
	kal_qp_push(qp, true);
	kal_obj_put(&qp->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ep_push);

/* In a section of RCU. */
static __always_inline DAT_RETURN kdat_dto_request(struct kdat_ep *ep,
						   struct ib_send_wr *wr, struct ib_sge *sge,
						   const struct kdat_transfer *transfer, int num,
						   u64 length)
{
	struct kdat_dto *dto;

	if (unlikely(length > transfer->max))
		return KDAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (unlikely(!num && transfer->op == DAT_DTO_RDMA_READ)) {
		/* some devices want a sink even for nothing */
		sge[0] = (struct ib_sge){};
		num = 1;
	}
	dto = kdat_slot_get(&ep->requests);
	if (unlikely(!dto))
		dto = kdat_dto_reap(ep);
	if (unlikely(!dto))
		return KDAT_DTO_FULL;
	dto->op = transfer->op;
	dto->cookie = transfer->cookie;
	dto->length = length;
	if (unlikely(transfer->ext_op)) {
		dto->ext_op = transfer->ext_op;
		dto->flags = KDAT_DTO_SPECIAL;
	}
	wr->sg_list = sge;
	wr->num_sge = num;
	return kdat_dto_post_wr(ep, dto, wr, transfer->flags);
}

/* May requests be posted? */
static __always_inline DAT_RETURN kdat_dto_check_state(const struct kdat_ep *ep)
{
	const DAT_EP_STATE state = READ_ONCE(ep->state);
	DAT_RETURN ret = DAT_SUCCESS;

	if (unlikely(state != DAT_EP_STATE_CONNECTED)) {
		ret = kdat_ep_state_allows(state, KDAT_EP_POST_REQUEST);
		if (ret == DAT_SUCCESS && ep->request_evd && !kdat_ep_has_qp(ep))
			ret = kdat_dto_errno(ep, -ENOTCONN);
	}
	if (unlikely(ret == DAT_SUCCESS && !ep->request_evd))
		return KDAT_BAD_STATE(EP_EVD_REQUEST);
	return ret;
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

/* In a section of RCU. */
static noinline DAT_RETURN kdat_dto_move_translated(struct kdat_ep *ep, struct ib_send_wr *wr,
						    const struct kdat_transfer *transfer)
{
	struct ib_sge sge[KDAT_MAX_IOV] __uninitialized;
	u64 length = 0;
	DAT_RETURN ret;
	bool sink;
	int num;

	if (READ_ONCE(ep->obj.ia->kr->gone))
		return KDAT_GONE;
	ret = kdat_dto_check_state(ep);
	if (ret != DAT_SUCCESS)
		return ret;
	sink = wr->opcode == IB_WR_RDMA_READ || wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wr->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
	num = kdat_lmr_translate(ep->obj.ia, ep->pz, transfer->num, transfer->iov, sink, sge,
				 ARRAY_SIZE(sge), &length, &ret);
	return num < 0 ? ret : kdat_dto_request(ep, wr, sge, transfer, num, length);
}

static __always_inline DAT_RETURN kdat_dto_move(struct kdat_ep *ep, struct ib_send_wr *wr,
						const struct kdat_transfer *transfer)
{
	DAT_RETURN ret;

	kdat_enter_direct();
	if (kdat_dto_is_direct(ep->obj.ia, transfer->num, transfer->iov)) {
		ret = kdat_dto_check_state(ep);
		if (likely(ret == DAT_SUCCESS))
			ret = kdat_dto_request(ep, wr, (struct ib_sge *)transfer->iov, transfer, 1,
					       transfer->iov->segment_length);
	} else {
		/* a copy, so that the short way keeps the original in registers */
		const struct kdat_transfer copy = *transfer;

		ret = kdat_dto_move_translated(ep, wr, &copy);
	}
	kdat_leave_direct();
	return ret;
}

DAT_RETURN kdat_dto_transfer(struct kdat_ep *ep, struct ib_send_wr *wr,
			     const struct kdat_transfer *transfer)
{
	wr->send_flags |= IB_SEND_SIGNALED;
	return kdat_dto_move(ep, wr, transfer);
}

/* All but max, by assignments: an initializer clears the structure first. */
static __always_inline void kdat_transfer_init(struct kdat_transfer *transfer, DAT_DTOS op,
					       DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
					       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	transfer->op = op;
	transfer->ext_op = 0;
	transfer->num = num;
	transfer->iov = iov;
	transfer->cookie = cookie;
	transfer->flags = flags;
}

/* Sends ********************************************************************* */

static __always_inline DAT_RETURN kdat_dto_send(DAT_EP_HANDLE handle, struct ib_send_wr *wr,
						DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
						DAT_DTO_COOKIE cookie,
						DAT_COMPLETION_FLAGS flags)
{
	struct kdat_transfer transfer __uninitialized;
	struct kdat_ep *ep = kdat_ep_of(handle);

	if (unlikely(!ep))
		return KDAT_BAD_HANDLE(EP);
	if (unlikely((u32)num > (u32)ep->attr.max_request_iov))
		return KDAT_BAD_ARG(2);
	if (unlikely(!iov && num))
		return KDAT_BAD_ARG(3);
	if (unlikely(flags & ~KDAT_DTO_SEND_FLAGS))
		return KDAT_BAD_ARG(5);
	kdat_transfer_init(&transfer, DAT_DTO_SEND, num, iov, cookie, flags);
	transfer.max = ep->attr.max_message_size;
	return kdat_dto_move(ep, wr, &transfer);
}

static DAT_RETURN kdat_dto_post_send(DAT_EP_HANDLE handle, DAT_COUNT num, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ib_send_wr wr __uninitialized;

	kdat_dto_wr_init(&wr, IB_WR_SEND);
	return kdat_dto_send(handle, &wr, num, iov, cookie, flags);
}

static DAT_RETURN kdat_dto_post_send_inv(DAT_EP_HANDLE handle, DAT_COUNT num,
					 DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					 DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
					 DAT_RMR_CONTEXT context)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };

	if (invalidate) {
		wr.opcode = IB_WR_SEND_WITH_INV;
		wr.ex.invalidate_rkey = context;
	}
	return kdat_dto_send(handle, &wr, num, iov, cookie, flags);
}

/* RDMA ********************************************************************** */

/* The peer's memory, in the work request; it limits what is moved. */
static __always_inline void kdat_dto_set_remote(const struct kdat_ep *ep, struct ib_rdma_wr *wr,
						struct kdat_transfer *transfer,
						const DAT_RMR_TRIPLET *remote)
{
	transfer->max = min(ep->attr.max_rdma_size, remote->segment_length);
	wr->remote_addr = remote->virtual_address;
	wr->rkey = remote->rmr_context;
}

static __always_inline DAT_RETURN kdat_dto_rdma(DAT_EP_HANDLE handle, DAT_DTOS op, DAT_COUNT num,
						const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
						const DAT_RMR_TRIPLET *remote,
						DAT_COMPLETION_FLAGS flags)
{
	const bool read = op == DAT_DTO_RDMA_READ;
	struct kdat_transfer transfer __uninitialized;
	struct kdat_ep *ep = kdat_ep_of(handle);
	struct ib_rdma_wr wr __uninitialized;

	if (unlikely(!ep))
		return KDAT_BAD_HANDLE(EP);
	if (unlikely((u32)num > (u32)(read ? ep->attr.max_rdma_read_iov :
					     ep->attr.max_rdma_write_iov)))
		return KDAT_BAD_ARG(2);
	if (unlikely(!iov && num))
		return KDAT_BAD_ARG(3);
	if (unlikely(!remote))
		return KDAT_BAD_ARG(5);
	if (unlikely(flags & ~KDAT_DTO_RDMA_FLAGS))
		return KDAT_BAD_ARG(6);
	kdat_transfer_init(&transfer, op, num, iov, cookie, flags);
	kdat_dto_wr_init(&wr.wr, read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE);
	kdat_dto_set_remote(ep, &wr, &transfer, remote);
	return kdat_dto_move(ep, &wr.wr, &transfer);
}

static DAT_RETURN kdat_dto_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT num,
					   DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					   const DAT_RMR_TRIPLET *remote,
					   DAT_COMPLETION_FLAGS flags)
{
	return kdat_dto_rdma(handle, DAT_DTO_RDMA_WRITE, num, iov, cookie, remote, flags);
}

static DAT_RETURN kdat_dto_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT num,
					  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					  const DAT_RMR_TRIPLET *remote,
					  DAT_COMPLETION_FLAGS flags)
{
	return kdat_dto_rdma(handle, DAT_DTO_RDMA_READ, num, iov, cookie, remote, flags);
}

/* The RNIC checks the sink, because the context may be that of a window or of a region. */
static DAT_RETURN kdat_dto_post_rdma_read_to_rmr(DAT_EP_HANDLE handle,
						 const DAT_RMR_TRIPLET *local,
						 DAT_DTO_COOKIE cookie,
						 const DAT_RMR_TRIPLET *remote,
						 DAT_COMPLETION_FLAGS flags)
{
	struct kdat_ep *ep = kdat_ep_of(handle);
	struct kdat_transfer transfer = {
		.op = DAT_DTO_RDMA_READ,
		.cookie = cookie,
		.flags = flags,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_READ,
		.wr.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_sge sge;
	DAT_RETURN ret;

	if (unlikely(!ep))
		return KDAT_BAD_HANDLE(EP);
	if (unlikely(!local))
		return KDAT_BAD_ARG(2);
	if (unlikely(!remote))
		return KDAT_BAD_ARG(4);
	if (unlikely(flags & ~KDAT_DTO_RDMA_FLAGS))
		return KDAT_BAD_ARG(5);
	sge = (struct ib_sge){
		.addr = local->virtual_address,
		.length = local->segment_length,
		.lkey = local->rmr_context,
	};
	kdat_dto_set_remote(ep, &wr, &transfer, remote);
	if (!kdat_enter_atomic(ep->obj.ia))
		return KDAT_GONE;
	ret = kdat_dto_check_state(ep);
	if (likely(ret == DAT_SUCCESS))
		ret = kdat_dto_request(ep, &wr.wr, &sge, &transfer, sge.length ? 1 : 0,
				       sge.length);
	kdat_leave_atomic(ep->obj.ia);
	return ret;
}

/* Receives ****************************************************************** */

/* In a section of RCU. */
static __always_inline DAT_RETURN kdat_dto_recv(struct kdat_ep *ep, struct ib_sge *sge, int num,
						u64 length, DAT_DTO_COOKIE cookie,
						DAT_COMPLETION_FLAGS flags)
{
	const struct ib_recv_wr *bad_wr __uninitialized;
	struct ib_recv_wr wr __uninitialized;
	struct kdat_dto *dto;
	int err = -ENOTCONN;
	struct ri_qp *qp;

	if (unlikely(length > ep->attr.max_message_size))
		return KDAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	dto = kdat_slot_get(&ep->recvs);
	if (unlikely(!dto))
		return KDAT_DTO_FULL;
	dto->op = DAT_DTO_RECEIVE;
	dto->cookie = cookie;
	dto->length = length;
	if (unlikely(flags))
		dto->flags = flags;
	/* its completion may be early */
	if (unlikely(READ_ONCE(ep->state) != DAT_EP_STATE_CONNECTED || READ_ONCE(ep->early)))
		dto->flags |= KDAT_DTO_SPECIAL;
	wr.next = NULL;
	wr.wr_id = (uintptr_t)dto;
	wr.sg_list = sge;
	wr.num_sge = num;
	/* after the slot was taken: see kdat_ep_swap_queues() */
	qp = READ_ONCE(ep->qp);
	if (likely(qp))
		err = kal_post_recv(qp, &wr, &bad_wr);
	if (likely(!err))
		return DAT_SUCCESS;
	kdat_slot_clear(dto);
	return kdat_dto_errno(ep, err);
}

/* May receives be posted? */
static __always_inline DAT_RETURN kdat_dto_check_recv(const struct kdat_ep *ep)
{
	const DAT_EP_STATE state = READ_ONCE(ep->state);
	DAT_RETURN ret = DAT_SUCCESS;

	if (unlikely(state != DAT_EP_STATE_CONNECTED))
		ret = kdat_ep_state_allows(state, KDAT_EP_POST_RECV);
	if (unlikely(ret != DAT_SUCCESS))
		return ret;
	if (unlikely(!ep->recv_evd))
		return KDAT_BAD_STATE(EP_EVD_RECV);
	return likely(kdat_ep_has_qp(ep)) ? DAT_SUCCESS : kdat_dto_errno(ep, -ENOTCONN);
}

/* In a section of RCU. */
static noinline DAT_RETURN kdat_dto_recv_translated(struct kdat_ep *ep, DAT_COUNT num,
						    const DAT_LMR_TRIPLET *iov,
						    DAT_DTO_COOKIE cookie,
						    DAT_COMPLETION_FLAGS flags)
{
	struct ib_sge sge[KDAT_MAX_IOV] __uninitialized;
	u64 length = 0;
	DAT_RETURN ret;

	if (READ_ONCE(ep->obj.ia->kr->gone))
		return KDAT_GONE;
	ret = kdat_dto_check_recv(ep);
	if (ret != DAT_SUCCESS)
		return ret;
	num = kdat_lmr_translate(ep->obj.ia, ep->pz, num, iov, true, sge, ARRAY_SIZE(sge),
				 &length, &ret);
	return num < 0 ? ret : kdat_dto_recv(ep, sge, num, length, cookie, flags);
}

static DAT_RETURN kdat_dto_post_recv(DAT_EP_HANDLE handle, DAT_COUNT num, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_ep *ep = kdat_ep_of(handle);
	DAT_RETURN ret;

	if (unlikely(!ep || ep->srq))
		return KDAT_BAD_HANDLE(EP);
	if (unlikely((u32)num > (u32)ep->attr.max_recv_iov))
		return KDAT_BAD_ARG(2);
	if (unlikely(!iov && num))
		return KDAT_BAD_ARG(3);
	if (unlikely(flags & ~KDAT_DTO_RECV_FLAGS))
		return KDAT_BAD_ARG(5);
	kdat_enter_direct();
	if (kdat_dto_is_direct(ep->obj.ia, num, iov)) {
		ret = kdat_dto_check_recv(ep);
		if (likely(ret == DAT_SUCCESS))
			ret = kdat_dto_recv(ep, (struct ib_sge *)iov, 1, iov->segment_length,
					    cookie, flags);
	} else {
		ret = kdat_dto_recv_translated(ep, num, iov, cookie, flags);
	}
	kdat_leave_direct();
	return ret;
}

/* Completions *************************************************************** */

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
		kdat_lmr_invalidated(ep, wc->ex.invalidate_rkey);
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
		kdat_lmr_completed(dto, wc->status == IB_WC_SUCCESS);
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

void kdat_dto_table(DAT_PROVIDER *provider)
{
	provider->ep_post_send_func = kdat_dto_post_send;
	provider->ep_post_send_with_invalidate_func = kdat_dto_post_send_inv;
	provider->ep_post_recv_func = kdat_dto_post_recv;
	provider->ep_post_rdma_read_func = kdat_dto_post_rdma_read;
	provider->ep_post_rdma_read_to_rmr_func = kdat_dto_post_rdma_read_to_rmr;
	provider->ep_post_rdma_write_func = kdat_dto_post_rdma_write;
}
