// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Resource management: the tree context > PD > CQ, SRQ, QP, MR, MW of each RNIC, its limits,
 * and the ids of its objects. verbs.c creates and destroys objects with these functions.
 * event.c and the connection manager look objects up.
 *
 * Life of an object:
 *
 *	kal_obj_alloc()		counted, has an id, lookups do not find it
 *	kal_obj_publish()	the provider knows it: lookups find it
 *	kal_obj_unpublish()	no lookup finds it and no lookup is in progress
 *	kal_obj_free()		the provider forgot it: the id can be reused
 *
 * A lookup takes a reference under the xarray's lock, so an object in the array always has a
 * reference. The lock is taken with interrupts off because events come in any context.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "internal.h"
#include "trace.h"

/* 24 bits; 0 and 1 are special QP numbers in InfiniBand */
#define KAL_QPN_LIMIT	XA_LIMIT(2, BIT(24) - 1)
#define KAL_ID_LIMIT	XA_LIMIT(1, S32_MAX)

static struct xa_limit kal_obj_id_limit(enum ri_obj_type type)
{
	return type == RI_OBJ_QP ? KAL_QPN_LIMIT : KAL_ID_LIMIT;
}

/* Limit of the RNIC for objects of @type. */
unsigned int kal_obj_limit(const struct ri_rnic *rnic, enum ri_obj_type type)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;

	switch (type) {
	case RI_OBJ_PD:
		return limits->max_pd;
	case RI_OBJ_CQ:
		return limits->max_cq;
	case RI_OBJ_SRQ:
		return limits->max_srq;
	case RI_OBJ_QP:
		return limits->max_qp;
	case RI_OBJ_MR:
		return limits->max_mr;
	case RI_OBJ_MW:
		return limits->max_mw;
	default:
		return INT_MAX;
	}
}

void kal_resource_init(struct ri_rnic *rnic)
{
	enum ri_obj_type type;

	for (type = 0; type < RI_OBJ_TYPES; type++) {
		xa_init_flags(&rnic->objects[type],
			      XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
		atomic_set(&rnic->num_objects[type], 0);
	}
	/* late packets or programs that refer to an earlier RNIC should not hit a new QP */
	rnic->next_id[RI_OBJ_QP] =
		get_random_u32_inclusive(KAL_QPN_LIMIT.min, KAL_QPN_LIMIT.max);
}

void kal_resource_exit(struct ri_rnic *rnic)
{
	enum ri_obj_type type;

	for (type = 0; type < RI_OBJ_TYPES; type++)
		xa_destroy(&rnic->objects[type]);
}

/**
 * kal_resource_wait_empty() - wait until all objects of an RNIC are gone
 * @rnic: RNIC that is not live any more and that no consumer has
 */
void kal_resource_wait_empty(struct ri_rnic *rnic)
{
	enum ri_obj_type type;

	for (type = 0; type < RI_OBJ_TYPES; type++)
		wait_var_event(&rnic->num_objects[type],
			       !atomic_read(&rnic->num_objects[type]));
}

static void kal_obj_uncharge(struct ri_rnic *rnic, enum ri_obj_type type)
{
	if (atomic_dec_and_test(&rnic->num_objects[type]))
		wake_up_var(&rnic->num_objects[type]);
}

static int kal_obj_charge(struct ri_rnic *rnic, enum ri_obj_type type)
{
	/* full barrier: this thread sees that LIVE is clear, or the wait sees the count */
	unsigned int count = atomic_inc_return(&rnic->num_objects[type]);
	int ret = 0;

	if (!kal_rnic_live(rnic))
		ret = -ENODEV;
	else if (count > kal_obj_limit(rnic, type))
		ret = -ENOMEM;
	if (ret)
		kal_obj_uncharge(rnic, type);
	return ret;
}

/**
 * kal_obj_alloc() - allocate an object with an id; lookups do not find it yet
 * @rnic: RNIC
 * @type: type of the object
 * @size: size of the provider's structure in bytes
 * @parent: object that must outlive the new one, or NULL
 *
 * Return: the zeroed structure, whose first member is the struct ri_obj, or an ERR_PTR:
 * -ENOMEM (memory or the RNIC's limit), -ENODEV (the RNIC is removed). Context: may sleep.
 */
void *kal_obj_alloc(struct ri_rnic *rnic, enum ri_obj_type type, size_t size,
		    struct ri_obj *parent)
{
	struct ri_obj *obj;
	int ret;

	ret = kal_obj_charge(rnic, type);
	if (ret)
		return ERR_PTR(ret);

	ret = -ENOMEM;
	obj = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!obj)
		goto err_uncharge;
	obj->rnic = rnic;
	obj->type = type;
	obj->parent = parent;
	refcount_set(&obj->refs, 1);
	atomic_set(&obj->children, 0);
	init_completion(&obj->unused);

	ret = xa_alloc_cyclic_irq(&rnic->objects[type], &obj->id, NULL,
				  kal_obj_id_limit(type), &rnic->next_id[type],
				  GFP_KERNEL);
	if (ret < 0)
		goto err_free;
	if (parent)
		atomic_inc(&parent->children);
	return obj;

err_free:
	kfree(obj);
err_uncharge:
	kal_obj_uncharge(rnic, type);
	return ERR_PTR(ret == -EBUSY ? -ENOMEM : ret);
}

/* Make @obj visible to lookups. Cannot fail, because the id is reserved. */
void kal_obj_publish(struct ri_obj *obj)
{
	xa_store_irq(&obj->rnic->objects[obj->type], obj->id, obj, GFP_KERNEL);
	trace_object_create(obj);
}

/* Hide a published @obj from lookups and wait until no user has a reference. May sleep. */
void kal_obj_unpublish(struct ri_obj *obj)
{
	trace_object_destroy(obj);
	/* the id stays reserved while the provider may still use it */
	xa_store_irq(&obj->rnic->objects[obj->type], obj->id, XA_ZERO_ENTRY,
		     GFP_KERNEL);
	kal_obj_put(obj);
	wait_for_completion(&obj->unused);
}

/* Free an object that is not published. */
void kal_obj_free(struct ri_obj *obj)
{
	struct ri_rnic *rnic = obj->rnic;
	enum ri_obj_type type = obj->type;

	xa_erase_irq(&rnic->objects[type], obj->id);
	if (obj->parent)
		atomic_dec(&obj->parent->children);
	kfree(obj);
	kal_obj_uncharge(rnic, type);
}

/**
 * kal_obj_get() - look up an object by its id
 * @rnic: RNIC
 * @type: type of the object
 * @id: id of the object
 *
 * Return: the object with a reference, which kal_obj_put() drops, or NULL.
 * Context: any.
 */
struct ri_obj *kal_obj_get(struct ri_rnic *rnic, enum ri_obj_type type, u32 id)
{
	struct xarray *objects = &rnic->objects[type];
	unsigned long flags;
	struct ri_obj *obj;

	xa_lock_irqsave(objects, flags);
	obj = xa_load(objects, id);
	if (obj)
		refcount_inc(&obj->refs);
	xa_unlock_irqrestore(objects, flags);
	return obj;
}

/**
 * kal_obj_next() - look up the first object whose id is not below @id
 * @rnic: RNIC
 * @type: type of the object
 * @id: smallest id
 *
 * Return: the object with a reference, which kal_obj_put() drops, or NULL.
 * Context: any.
 */
struct ri_obj *kal_obj_next(struct ri_rnic *rnic, enum ri_obj_type type, u32 id)
{
	struct xarray *objects = &rnic->objects[type];
	unsigned long index = id;
	unsigned long flags;
	struct ri_obj *obj;

	xa_lock_irqsave(objects, flags);
	obj = xa_find(objects, &index, ULONG_MAX, XA_PRESENT);
	if (obj)
		refcount_inc(&obj->refs);
	xa_unlock_irqrestore(objects, flags);
	return obj;
}

/* Context: any. */
void kal_obj_put(struct ri_obj *obj)
{
	if (refcount_dec_and_test(&obj->refs))
		complete(&obj->unused);
}
EXPORT_SYMBOL_GPL(kal_obj_put);
