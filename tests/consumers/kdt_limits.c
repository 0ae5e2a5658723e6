// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The limits test: objects of each kind, until one is refused or enough are there. A refusal must
 * name a lack of resources, must leave room for one object more once one was freed, and all must
 * be freed in the end.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kdt.h"
#include "kdt_dapl.h"

#define KDT_LIMITS_PAGE	4096

/**
 * struct kdt_limits - what objects are made of
 * @dapl: IA
 * @evd: event dispatcher of endpoints and windows
 * @cr_evd: event dispatcher of service points
 * @page: memory of regions
 */
struct kdt_limits {
	struct kdt_dapl *dapl;
	DAT_EVD_HANDLE evd;
	DAT_EVD_HANDLE cr_evd;
	void *page;
};

struct kdt_limits_kind {
	const char *name;
	/* they return DAT_RETURN */
	u32 (*create)(struct kdt_limits *limits, DAT_HANDLE *handle);
	u32 (*free)(DAT_HANDLE handle);
	size_t promised;	/* offset of the attribute, 0: none */
};

static DAT_RETURN kdt_limits_pz(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	return dat_pz_create(limits->dapl->ia, handle);
}

static DAT_RETURN kdt_limits_evd(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	return dat_evd_kcreate(limits->dapl->ia, 1, DAT_UPCALL_DISABLE, NULL,
			       DAT_EVD_SOFTWARE_FLAG, handle);
}

static DAT_RETURN kdt_limits_dto_evd(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	return dat_evd_kcreate(limits->dapl->ia, 1, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
			       handle);
}

static DAT_RETURN kdt_limits_ep(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 1,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
		.max_message_size = KDT_LIMITS_PAGE,
		.max_rdma_size = KDT_LIMITS_PAGE,
	};

	return dat_ep_create(limits->dapl->ia, limits->dapl->pz, limits->evd, limits->evd,
			     limits->evd, &attr, handle);
}

static DAT_RETURN kdt_limits_lmr(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	DAT_REGION_DESCRIPTION region = { .for_va = limits->page };
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_VADDR address;
	DAT_VLEN length;

	return dat_lmr_kcreate(limits->dapl->ia, DAT_MEM_TYPE_VIRTUAL, region, KDT_LIMITS_PAGE,
			       limits->dapl->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, handle, &lkey, &rkey, &length, &address);
}

static DAT_RETURN kdt_limits_rmr(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	return dat_rmr_create(limits->dapl->pz, handle);
}

static DAT_RETURN kdt_limits_srq(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = 1,
		.max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	return dat_srq_create(limits->dapl->ia, limits->dapl->pz, &attr, handle);
}

static DAT_RETURN kdt_limits_psp(struct kdt_limits *limits, DAT_HANDLE *handle)
{
	DAT_CONN_QUAL qual;

	return dat_psp_create_any(limits->dapl->ia, &qual, limits->cr_evd, DAT_PSP_CONSUMER_FLAG,
				  handle);
}

static const struct kdt_limits_kind kdt_limits_kinds[KDT_OBJECT_KINDS] = {
	[KDT_PZ] = { "PZ", kdt_limits_pz, dat_pz_free, offsetof(DAT_IA_ATTR, max_pzs) },
	[KDT_EVD] = { "EVD", kdt_limits_evd, dat_evd_free, offsetof(DAT_IA_ATTR, max_evds) },
	[KDT_DTO_EVD] = { "EVD for DTOs", kdt_limits_dto_evd, dat_evd_free,
			  offsetof(DAT_IA_ATTR, max_evds) },
	[KDT_EP] = { "EP", kdt_limits_ep, dat_ep_free, offsetof(DAT_IA_ATTR, max_eps) },
	[KDT_LMR] = { "LMR", kdt_limits_lmr, dat_lmr_free, offsetof(DAT_IA_ATTR, max_lmrs) },
	[KDT_RMR] = { "RMR", kdt_limits_rmr, dat_rmr_free, offsetof(DAT_IA_ATTR, max_rmrs) },
	[KDT_SRQ] = { "SRQ", kdt_limits_srq, dat_srq_free, offsetof(DAT_IA_ATTR, max_srqs) },
	[KDT_PSP] = { "PSP", kdt_limits_psp, dat_psp_free, 0 },
};

static void kdt_limits_unclean(struct kdt_limit *limit, const char *call, DAT_RETURN ret)
{
	limit->clean = 0;
	kdt_dapl_text(call, ret, limit->text, sizeof(limit->text));
}

/* One was refused: with one less there is room for one again. */
static void kdt_limits_again(struct kdt_limits *limits, const struct kdt_limits_kind *kind,
			     struct kdt_limit *limit, DAT_HANDLE *handles)
{
	DAT_RETURN ret;

	if (!limit->reached)
		return;
	ret = kind->free(handles[limit->reached - 1]);
	if (ret != DAT_SUCCESS) {
		kdt_limits_unclean(limit, "free", ret);
		return;
	}
	ret = kind->create(limits, &handles[limit->reached - 1]);
	if (ret != DAT_SUCCESS) {
		limit->reached--;
		kdt_limits_unclean(limit, "again", ret);
	}
}

static void kdt_limits_kind(struct kdt_limits *limits, const struct kdt_limits_kind *kind,
			    struct kdt_limit *limit, DAT_HANDLE *handles, u32 max)
{
	DAT_RETURN ret = DAT_SUCCESS;
	u32 i;

	strscpy(limit->object, kind->name, sizeof(limit->object));
	if (kind->promised)
		limit->promised = *(DAT_COUNT *)((void *)&limits->dapl->attr + kind->promised);
	limit->clean = 1;
	while (limit->reached < max && !signal_pending(current)) {
		ret = kind->create(limits, &handles[limit->reached]);
		if (ret != DAT_SUCCESS)
			break;
		limit->reached++;
		cond_resched();
	}
	if (ret != DAT_SUCCESS) {
		limit->refused = 1;
		kdt_dapl_text("create", ret, limit->text, sizeof(limit->text));
		/* what there is none of is no matter of how many */
		limit->clean = DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ||
			       (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED && !limit->reached);
		kdt_limits_again(limits, kind, limit, handles);
	}
	for (i = 0; i < limit->reached; i++) {
		ret = kind->free(handles[i]);
		if (ret != DAT_SUCCESS)
			kdt_limits_unclean(limit, "free", ret);
		cond_resched();
	}
}

static int kdt_limits_all(struct kdt_run *run, struct kdt_limits *limits, DAT_HANDLE *handles)
{
	struct kdt_args *args = run->args;
	u32 i;
	int ret = 0;

	for (i = 0; i < KDT_OBJECT_KINDS; i++) {
		struct kdt_limit *limit = &args->limits[args->nlimits];

		if (args->kinds && !(args->kinds & BIT(i)))
			continue;
		if (signal_pending(current)) {
			args->interrupted = 1;
			break;
		}
		kdt_limits_kind(limits, &kdt_limits_kinds[i], limit, handles, args->max_objects);
		args->nlimits++;
		if (!limit->clean) {
			kdt_run_failed(run, -EPROTO, limit->text, true);
			ret = -EPROTO;
		}
	}
	return ret;
}

int kdt_limits_run(struct kdt_run *run)
{
	struct kdt_limits limits = { .dapl = run->priv };
	DAT_HANDLE *handles;
	int ret = -ENOMEM;

	handles = kvcalloc(run->args->max_objects, sizeof(*handles), GFP_KERNEL);
	limits.page = (void *)get_zeroed_page(GFP_KERNEL);
	if (handles && limits.page) {
		ret = -ENOBUFS;
		if (dat_evd_kcreate(limits.dapl->ia, 256, DAT_UPCALL_DISABLE, NULL,
				    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
				    &limits.evd) == DAT_SUCCESS &&
		    dat_evd_kcreate(limits.dapl->ia, 256, DAT_UPCALL_DISABLE, NULL,
				    DAT_EVD_CR_FLAG, &limits.cr_evd) == DAT_SUCCESS)
			ret = kdt_limits_all(run, &limits, handles);
	}
	if (limits.cr_evd)
		dat_evd_free(limits.cr_evd);
	if (limits.evd)
		dat_evd_free(limits.evd);
	free_page((unsigned long)limits.page);
	kvfree(handles);
	return ret;
}
