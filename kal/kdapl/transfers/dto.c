// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Posting of requests and receives on endpoints.
 *
 * A struct kdat_dto, a slot, stands for each posted request and receive. It keeps the cookie and
 * the operation for the completion, whatever the RNIC reports of an error or a flush. Every work
 * request asks for a completion. Those that the consumer has suppressed end in events/complete.c.
 *
 * Most posts have one segment by an STag. They take the short way of fast/post.h; another one is
 * for all others.
 */
#include "../fast/post.h"
#include "transfers.h"

/* Posting ******************************************************************* */

/* the queue is full */
#define KDAT_DTO_FULL	KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)

/* how often a post looks for requests that are complete */
#define KDAT_DTO_REAPS	4

/*
 * All requests are in use. Among them are those that completed without an event, as long as the
 * consumer does not look for events. They need not be waited for.
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

void kdat_dto_table(DAT_PROVIDER *provider)
{
	provider->ep_post_send_func = kdat_dto_post_send;
	provider->ep_post_send_with_invalidate_func = kdat_dto_post_send_inv;
	provider->ep_post_recv_func = kdat_dto_post_recv;
	provider->ep_post_rdma_read_func = kdat_dto_post_rdma_read;
	provider->ep_post_rdma_read_to_rmr_func = kdat_dto_post_rdma_read_to_rmr;
	provider->ep_post_rdma_write_func = kdat_dto_post_rdma_write;
}
