// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Shared receive queues.
 */
#include <linux/slab.h>

#include "transfers.h"

/* an SRQ's receives may complete at any EVD of its endpoints, which make room for all of them */

static DAT_RETURN kdat_srq_errno(int err)
{
	return kdat_error_of_resource(err, DAT_RESOURCE_SRQ);
}

static void kdat_srq_event(struct ri_srq *ri, enum ib_event_type event)
{
	struct kdat_srq *srq = ri->consumer;
	int reason = DAT_SRQ_LOW_WATERMARK_EVENT;

	switch (event) {
	case IB_EVENT_SRQ_LIMIT_REACHED:
		break;
	case IB_EVENT_SRQ_ERR:
		WRITE_ONCE(srq->failed, true);
		reason = DAT_SRQ_TRANSFER_TO_ERROR;
		break;
	default:
		return;
	}
	/* DAT has no number for events of an SRQ: the handle and the reason say which one */
	kdat_ia_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, srq, reason);
}

static DAT_COUNT kdat_srq_max_iov(const struct ri_rnic *rnic)
{
	return clamp(rnic->attr.limits.max_srq_sge, 1, KDAT_MAX_IOV);
}

static DAT_RETURN kdat_srq_check_attr(const struct ri_rnic *rnic, const DAT_SRQ_ATTR *attr)
{
	if (attr->max_recv_dtos < 1 || attr->max_recv_dtos > rnic->attr.limits.max_srq_wr ||
	    attr->max_recv_iov < 0 || attr->max_recv_iov > kdat_srq_max_iov(rnic) ||
	    attr->low_watermark < 0 || attr->low_watermark > attr->max_recv_dtos)
		return KDAT_BAD_ARG(3);
	return DAT_SUCCESS;
}

/* The RNIC is held. */
static DAT_RETURN kdat_srq_make(struct kdat_ia *ia, struct kdat_pz *pz, const DAT_SRQ_ATTR *attr,
				struct kdat_srq **to)
{
	struct ri_srq_init_attr init = {
		.attr = {
			.max_wr = attr->max_recv_dtos,
			.max_sge = max(attr->max_recv_iov, 1),
			.srq_limit = attr->low_watermark,
		},
	};
	struct kdat_srq *srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);
	struct ri_srq *ri;

	if (!srq)
		return KDAT_NO_MEMORY;
	srq->obj.ia = ia;
	srq->pz = pz;
	srq->attr = *attr;
	srq->attr.max_recv_iov = max(attr->max_recv_iov, 1);
	mutex_init(&srq->mutex);
	INIT_LIST_HEAD(&srq->queues);
	srq->room = attr->max_recv_dtos;
	ri = kdat_slots_init(&srq->recvs, NULL, &srq->posted, attr->max_recv_dtos, 0) ?
		ERR_PTR(-ENOMEM) : kal_srq_create(pz->pd, &init, kdat_srq_event, srq, NULL);
	if (IS_ERR(ri)) {
		kdat_slots_free(&srq->recvs);
		mutex_destroy(&srq->mutex);
		kfree(srq);
		return kdat_srq_errno(PTR_ERR(ri));
	}
	srq->srq = ri;
	atomic_inc(&pz->obj.uses);
	kdat_obj_init(&srq->obj, ia, DAT_HANDLE_TYPE_SRQ);
	*to = srq;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	struct kdat_pz *pz = kdat_pz_of(pz_handle);
	struct kdat_srq *srq;
	DAT_RETURN ret;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!pz || pz->obj.ia != ia)
		return KDAT_BAD_HANDLE(PZ);
	if (!attr)
		return KDAT_BAD_ARG(3);
	if (!handle)
		return KDAT_BAD_ARG(4);
	if (!kdat_enter(ia))
		return KDAT_GONE;
	if (!(ia->kr->rnic->attr.caps & RI_CAP_SRQ))
		ret = KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	else
		ret = kdat_srq_check_attr(ia->kr->rnic, attr);
	if (ret == DAT_SUCCESS)
		ret = kdat_srq_make(ia, pz, attr, &srq);
	if (ret == DAT_SUCCESS)
		*handle = srq;
	kdat_leave(ia);
	return ret;
}

static void kdat_srq_drop(struct kdat_obj *obj)
{
	struct kdat_srq *srq = container_of(obj, struct kdat_srq, obj);
	struct ri_srq *ri = srq->srq;

	if (!ri)
		return;
	WRITE_ONCE(srq->srq, NULL);
	WARN_ON(kal_srq_destroy(ri));
	/* the endpoints were freed, and their completions with them */
	kdat_slots_reset(&srq->recvs);
}

static void kdat_srq_destroy(struct kdat_obj *obj)
{
	struct kdat_srq *srq = container_of(obj, struct kdat_srq, obj);
	struct kdat_ia *ia = obj->ia;
	struct kdat_pz *pz = srq->pz;

	kdat_hold(ia);
	kdat_srq_drop(obj);
	kdat_slots_free(&srq->recvs);
	mutex_destroy(&srq->mutex);
	kdat_obj_free(obj);
	atomic_dec(&pz->obj.uses);
	kdat_leave(ia);
}

static DAT_RETURN kdat_srq_free(DAT_SRQ_HANDLE handle)
{
	struct kdat_srq *srq = kdat_srq_of(handle);

	might_sleep();
	if (!srq)
		return KDAT_BAD_HANDLE(SRQ);
	if (atomic_read(&srq->obj.uses))
		return KDAT_BAD_STATE(SRQ_IN_USE);
	kdat_srq_destroy(&srq->obj);
	return DAT_SUCCESS;
}

/* In a section of RCU. Return: NULL: the queue is full. */
static struct kdat_dto *kdat_srq_slot(struct kdat_srq *srq)
{
	int posted = atomic_read(&srq->posted);
	struct kdat_dto *dto;

	do {
		if (posted >= (int)READ_ONCE(srq->room))
			return NULL;
	} while (!atomic_try_cmpxchg(&srq->posted, &posted, posted + 1));
	dto = kdat_slot_get(&srq->recvs);
	if (unlikely(!dto))
		atomic_dec(&srq->posted);
	return dto;
}

/* The RNIC is held. */
static DAT_RETURN kdat_srq_recv(struct kdat_srq *srq, DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie)
{
	struct ib_sge sge[KDAT_MAX_IOV] __uninitialized;
	struct ib_recv_wr wr = { .sg_list = sge };
	const struct ib_recv_wr *bad_wr;
	struct kdat_dto *dto;
	u64 length = 0;
	DAT_RETURN ret;
	int err;

	if (unlikely(READ_ONCE(srq->failed)))
		return KDAT_BAD_STATE(SRQ_ERROR);
	wr.num_sge = kdat_lmr_translate(srq->obj.ia, srq->pz, num, iov, true, sge, ARRAY_SIZE(sge),
					&length, &ret);
	if (unlikely(wr.num_sge < 0))
		return ret;
	if (unlikely(length > KDAT_MAX_MESSAGE))
		return KDAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	dto = kdat_srq_slot(srq);
	if (unlikely(!dto))
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	dto->flags = KDAT_DTO_SPECIAL;
	dto->op = DAT_DTO_RECEIVE;
	dto->cookie = cookie;
	dto->length = length;
	wr.wr_id = (uintptr_t)dto;
	err = kal_post_srq_recv(srq->srq, &wr, &bad_wr);
	if (likely(!err))
		return DAT_SUCCESS;
	kdat_slot_clear(dto);
	return kdat_srq_errno(err);
}

static DAT_RETURN kdat_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT num, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie)
{
	struct kdat_srq *srq = kdat_srq_of(handle);
	DAT_RETURN ret;

	if (unlikely(!srq))
		return KDAT_BAD_HANDLE(SRQ);
	if (unlikely(num < 0 || num > srq->attr.max_recv_iov))
		return KDAT_BAD_ARG(2);
	if (unlikely(num && !iov))
		return KDAT_BAD_ARG(3);
	if (!kdat_enter_atomic(srq->obj.ia))
		return KDAT_GONE;
	ret = kdat_srq_recv(srq, num, iov, cookie);
	kdat_leave_atomic(srq->obj.ia);
	return ret;
}

static DAT_RETURN kdat_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask,
				 DAT_SRQ_PARAM *param)
{
	struct kdat_srq *srq = kdat_srq_of(handle);
	DAT_COUNT used, max;

	if (!srq)
		return KDAT_BAD_HANDLE(SRQ);
	if (mask & ~DAT_SRQ_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	used = atomic_read(&srq->posted);
	max = READ_ONCE(srq->attr.max_recv_dtos);
	*param = (DAT_SRQ_PARAM){
		.ia_handle = srq->obj.ia,
		.srq_state = READ_ONCE(srq->failed) || !READ_ONCE(srq->srq) ?
			DAT_SRQ_STATE_ERROR : DAT_SRQ_STATE_OPERATIONAL,
		.pz_handle = srq->pz,
		.max_recv_dtos = max,
		.max_recv_iov = srq->attr.max_recv_iov,
		.low_watermark = READ_ONCE(srq->attr.low_watermark),
		/* the RNIC does not report which buffers endpoints hold already */
		.available_dto_count = DAT_VALUE_UNKNOWN,
		.outstanding_dto_count = used,
	};
	return DAT_SUCCESS;
}

/* Give or take room in the CQs of the endpoints; srq->mutex held. */
static DAT_RETURN kdat_srq_reserve(struct kdat_srq *srq, u32 max)
{
	struct kdat_ep_queues *queues;
	DAT_RETURN ret;

	list_for_each_entry(queues, &srq->queues, node) {
		if (max <= queues->recv_reserved)
			continue;
		ret = kdat_evd_reserve(queues->recv_evd, max - queues->recv_reserved);
		if (ret != DAT_SUCCESS)
			return ret;
		queues->recv_reserved = max;
	}
	return DAT_SUCCESS;
}

static void kdat_srq_unreserve(struct kdat_srq *srq, u32 max)
{
	struct kdat_ep_queues *queues;

	list_for_each_entry(queues, &srq->queues, node) {
		if (max >= queues->recv_reserved)
			continue;
		kdat_evd_unreserve(queues->recv_evd, queues->recv_reserved - max);
		queues->recv_reserved = max;
	}
}

/* The RNIC is held, and srq->mutex. */
static DAT_RETURN kdat_srq_set_max(struct kdat_srq *srq, u32 max)
{
	const struct ib_srq_attr attr = { .max_wr = max };
	const u32 old = srq->attr.max_recv_dtos;
	DAT_RETURN ret;
	int err;

	if (max < atomic_read(&srq->posted) || max < srq->attr.low_watermark)
		return KDAT_BAD_STATE(SRQ_IN_USE);
	if (kdat_slots_grow(&srq->recvs, max))
		return KDAT_NO_MEMORY;
	ret = kdat_srq_reserve(srq, max);
	if (ret == DAT_SUCCESS) {
		/* fewer from now on: what is posted later must fit, too */
		if (max < old)
			WRITE_ONCE(srq->room, max);
		err = kal_srq_modify(srq->srq, &attr, IB_SRQ_MAX_WR, NULL);
		if (err)
			ret = err == -EINVAL ? KDAT_BAD_STATE(SRQ_IN_USE) : kdat_srq_errno(err);
	}
	if (ret != DAT_SUCCESS) {
		WRITE_ONCE(srq->room, old);
		kdat_srq_unreserve(srq, old);
		return ret;
	}
	WRITE_ONCE(srq->attr.max_recv_dtos, max);
	WRITE_ONCE(srq->room, max);
	/* completions of the longer queue may wait still: the room is kept */
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max)
{
	struct kdat_srq *srq = kdat_srq_of(handle);
	DAT_RETURN ret = KDAT_BAD_ARG(2);
	struct kdat_ia *ia;

	might_sleep();
	if (!srq)
		return KDAT_BAD_HANDLE(SRQ);
	ia = srq->obj.ia;
	if (!kdat_enter(ia))
		return KDAT_GONE;
	if (max > 0 && max <= ia->kr->rnic->attr.limits.max_srq_wr) {
		guard(mutex)(&srq->mutex);
		ret = READ_ONCE(srq->failed) ? KDAT_BAD_STATE(SRQ_ERROR) :
					       kdat_srq_set_max(srq, max);
	}
	kdat_leave(ia);
	return ret;
}

/* The RNIC is held, and srq->mutex. */
static DAT_RETURN kdat_srq_arm(struct kdat_srq *srq, u32 low)
{
	const struct ib_srq_attr attr = { .srq_limit = low };
	int err;

	if (READ_ONCE(srq->failed))
		return KDAT_BAD_STATE(SRQ_ERROR);
	if (low > srq->attr.max_recv_dtos)
		return KDAT_BAD_ARG(2);
	err = kal_srq_modify(srq->srq, &attr, IB_SRQ_LIMIT, NULL);
	if (err)
		return err == -EINVAL ? KDAT_BAD_ARG(2) : kdat_srq_errno(err);
	WRITE_ONCE(srq->attr.low_watermark, low);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low)
{
	struct kdat_srq *srq = kdat_srq_of(handle);
	struct kdat_ia *ia;
	DAT_RETURN ret;

	might_sleep();
	if (!srq)
		return KDAT_BAD_HANDLE(SRQ);
	if (low < 0)
		return KDAT_BAD_ARG(2);
	ia = srq->obj.ia;
	if (!kdat_enter(ia))
		return KDAT_GONE;
	scoped_guard(mutex, &srq->mutex)
		ret = kdat_srq_arm(srq, low);
	kdat_leave(ia);
	return ret;
}

void kdat_srq_table(DAT_PROVIDER *provider)
{
	provider->srq_create_func = kdat_srq_create;
	provider->srq_free_func = kdat_srq_free;
	provider->srq_post_recv_func = kdat_srq_post_recv;
	provider->srq_query_func = kdat_srq_query;
	provider->srq_resize_func = kdat_srq_resize;
	provider->srq_set_lw_func = kdat_srq_set_lw;
}

void kdat_srq_init(void)
{
	static const struct kdat_obj_ops ops = {
		.destroy = kdat_srq_destroy,
		.drop = kdat_srq_drop,
	};

	kdat_obj_register(DAT_HANDLE_TYPE_SRQ, &ops);
}
