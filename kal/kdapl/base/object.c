// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What all objects of an interface adapter have: handle, type and context, and their common end
 * when the adapter is closed or its RNIC is removed. The folders above register what it takes to
 * end an object of each type.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>

#include "base.h"

const struct kdat_obj_ops *kdat_obj_types[DAT_HANDLE_TYPE_EXTENSION_BASE + 1];

void kdat_obj_init(struct kdat_obj *obj, struct kdat_ia *ia, u32 type)
{
	obj->provider = ia->obj.provider;
	obj->ia = ia;
	atomic_set(&obj->uses, 0);
	scoped_guard(mutex, &ia->mutex)
		list_add_tail(&obj->node, &ia->objects[type]);
	/* from now on the handle is good */
	smp_store_release(&obj->type, KDAT_OBJ_MAGIC | type);
}

void kdat_obj_free(struct kdat_obj *obj)
{
	struct kdat_ia *ia = obj->ia;

	WRITE_ONCE(obj->type, 0);
	scoped_guard(mutex, &ia->mutex)
		list_del(&obj->node);
	kfree_rcu(obj, rcu);
}

static struct kdat_obj *kdat_obj_any(DAT_HANDLE handle)
{
	struct kdat_obj *obj = handle;

	return obj && (READ_ONCE(obj->type) & ~0xffu) == KDAT_OBJ_MAGIC ? obj : NULL;
}

static DAT_RETURN kdat_obj_set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct kdat_obj *obj = kdat_obj_any(handle);

	if (!obj)
		return KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	obj->context = context;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_obj_get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	const struct kdat_obj *obj = kdat_obj_any(handle);

	if (!obj)
		return KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!context)
		return KDAT_BAD_ARG(2);
	*context = obj->context;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_obj_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	const struct kdat_obj *obj = kdat_obj_any(handle);

	if (!obj)
		return KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!type)
		return KDAT_BAD_ARG(2);
	*type = READ_ONCE(obj->type) & 0xff;
	return DAT_SUCCESS;
}

/* Types ********************************************************************* */

void kdat_obj_register(u32 type, const struct kdat_obj_ops *ops)
{
	kdat_obj_types[type] = ops;
}

/* a type stands before those that its objects need */
static const u32 kdat_obj_order[] = {
	DAT_IW_HANDLE_TYPE_SSP, DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_CSP,
	DAT_HANDLE_TYPE_CR, DAT_HANDLE_TYPE_EP, DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR,
	DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_PZ,
};

static struct kdat_obj *kdat_obj_first(struct kdat_ia *ia, u32 type, const void *but)
{
	struct kdat_obj *obj;

	guard(mutex)(&ia->mutex);
	list_for_each_entry(obj, &ia->objects[type], node)
		if (obj != but)
			return obj;
	return NULL;
}

void kdat_obj_destroy_all(struct kdat_ia *ia, const void *but)
{
	struct kdat_obj *obj;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdat_obj_order); i++)
		while ((obj = kdat_obj_first(ia, kdat_obj_order[i], but)))
			kdat_obj_ops(obj)->destroy(obj);
}

void kdat_obj_drop_all(struct kdat_ia *ia)
{
	struct kdat_obj *obj;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdat_obj_order); i++)
		list_for_each_entry(obj, &ia->objects[kdat_obj_order[i]], node)
			kdat_obj_ops(obj)->drop(obj);
}

void kdat_obj_table(DAT_PROVIDER *provider)
{
	provider->set_consumer_context_func = kdat_obj_set_context;
	provider->get_consumer_context_func = kdat_obj_get_context;
	provider->get_handle_type_func = kdat_obj_handle_type;
}
