// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Protection zones. */
#include <linux/slab.h>

#include "base.h"

static DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdat_pz *pz;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!pz_handle)
		return KDAT_BAD_ARG(2);
	pz = kzalloc(sizeof(*pz), GFP_KERNEL_ACCOUNT);
	if (!pz)
		return KDAT_NO_MEMORY;
	if (!kdat_enter(ia)) {
		kfree(pz);
		return KDAT_GONE;
	}
	pz->pd = kal_pd_alloc(ia->kr->rnic, NULL, NULL);
	if (IS_ERR(pz->pd)) {
		ret = PTR_ERR(pz->pd) == -ENOMEM ? KDAT_NO_MEMORY :
			KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
		kfree(pz);
	} else {
		kdat_obj_init(&pz->obj, ia, DAT_HANDLE_TYPE_PZ);
		*pz_handle = pz;
	}
	kdat_leave(ia);
	return ret;
}

static DAT_RETURN kdat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK mask,
				DAT_PZ_PARAM *param)
{
	const struct kdat_pz *pz = kdat_pz_of(pz_handle);

	if (!pz)
		return KDAT_BAD_HANDLE(PZ);
	if (mask & ~DAT_PZ_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	param->ia_handle = pz->obj.ia;
	return DAT_SUCCESS;
}

static void kdat_pz_drop(struct kdat_obj *obj)
{
	struct kdat_pz *pz = container_of(obj, struct kdat_pz, obj);

	if (pz->pd)
		WARN_ON(kal_pd_dealloc(pz->pd));
	pz->pd = NULL;
}

static void kdat_pz_destroy(struct kdat_obj *obj)
{
	struct kdat_ia *ia = obj->ia;

	kdat_hold(ia);
	kdat_pz_drop(obj);
	kdat_obj_free(obj);
	kdat_leave(ia);
}

static DAT_RETURN kdat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	struct kdat_pz *pz = kdat_pz_of(pz_handle);

	might_sleep();
	if (!pz)
		return KDAT_BAD_HANDLE(PZ);
	if (atomic_read(&pz->obj.uses))
		return KDAT_BAD_STATE(PZ_IN_USE);
	kdat_pz_destroy(&pz->obj);
	return DAT_SUCCESS;
}

void kdat_pz_table(DAT_PROVIDER *provider)
{
	provider->pz_create_func = kdat_pz_create;
	provider->pz_query_func = kdat_pz_query;
	provider->pz_free_func = kdat_pz_free;
}

void kdat_pz_init(void)
{
	static const struct kdat_obj_ops ops = {
		.destroy = kdat_pz_destroy,
		.drop = kdat_pz_drop,
	};

	kdat_obj_register(DAT_HANDLE_TYPE_PZ, &ops);
}
