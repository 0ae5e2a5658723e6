// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The objects of an open /dev/krdma, by number.
 *
 * A command uses an object between kal_handle_get() and kal_handle_put(). To destroy an
 * object, the code marks it dead, so that no new use begins. It then waits for the uses in
 * progress, none of which waits for a peer, and calls destroy() of the object's kind. An
 * object that another object needs cannot be destroyed. The need begins before the other
 * object is created.
 *
 * When an RNIC is removed, its objects end in the same way but keep their numbers. Commands on them
 * return ENODEV until user space destroys them.
 */
#include <linux/cleanup.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "verbs.h"

static unsigned int kal_file_objects = 262144;
module_param_named(file_objects, kal_file_objects, uint, 0644);
MODULE_PARM_DESC(file_objects, "objects that an open /dev/krdma may have (262144)");

u32 kal_file_objects_limit(void)
{
	return READ_ONCE(kal_file_objects);
}

/* Count @h in the context that it is in, if any; the lock of the handles is held. */
static void chardev_handle_count(const struct kal_handle *h, int change)
{
	const struct kal_handle *top = h->parents[0];

	while (top && top->ops->type != KAL_H_CONTEXT)
		top = top->parents[0];
	if (top)
		container_of(top, struct kal_h_context, h)->objects[h->ops->type] += change;
}

static void chardev_handle_drop_parents(struct kal_handle *h)
{
	unsigned int i;

	xa_lock(&h->file->handles);
	chardev_handle_count(h, -1);
	for (i = 0; i < KAL_HANDLE_PARENTS && h->parents[i]; i++)
		h->parents[i]->children--;
	xa_unlock(&h->file->handles);
}

/* The resource that the rdma cgroup is charged with: the same as ib_uverbs charges. */
static enum rdmacg_resource_type chardev_handle_resource(enum kal_handle_type type)
{
	switch (type) {
	case KAL_H_CONTEXT:
		return RDMACG_RESOURCE_HCA_HANDLE;
	case KAL_H_QP:
	case KAL_H_SRQ:
	case KAL_H_MW:
	case KAL_H_MR:
	case KAL_H_CQ:
	case KAL_H_PD:
		return RDMACG_RESOURCE_HCA_OBJECT;
	default:
		return RDMACG_RESOURCE_MAX;
	}
}

static void chardev_handle_free(struct kal_handle *h)
{
	kal_uncharge(&h->charge);
	chardev_handle_drop_parents(h);
	xa_erase(&h->file->handles, h->id);
	kal_file_drop_events(h->file, h);
	atomic_dec(&h->file->objects);
	if (h->dev)
		kref_put(&h->dev->kref, kal_dev_release);
	kfree(h);
}

static struct kal_handle *chardev_handle_alloc(struct kal_file *file,
					       const struct kal_handle_ops *ops,
					       struct kal_dev *dev, u64 cookie, gfp_t gfp)
{
	struct kal_handle *h;
	int ret = -ENOSPC;

	if (atomic_inc_return(&file->objects) > kal_file_objects_limit())
		goto err_count;
	ret = -ENOMEM;
	h = kzalloc(ops->size, gfp);
	if (!h)
		goto err_count;
	h->file = file;
	h->ops = ops;
	h->cookie = cookie;
	refcount_set(&h->users, 1);
	init_completion(&h->unused);
	INIT_LIST_HEAD(&h->charge.node);
	if (dev) {
		ret = kal_charge(dev->rnic, &h->charge, chardev_handle_resource(ops->type));
		if (ret)
			goto err_free;
	}
	ret = xa_alloc_cyclic(&file->handles, &h->id, NULL, XA_LIMIT(1, S32_MAX),
			      &file->next_handle, gfp);
	if (ret < 0)
		goto err_uncharge;
	INIT_LIST_HEAD(&h->queued);
	kal_record_init(&h->async, h, &h->async_event);
	h->async.codes = &h->async_codes;
	h->async_event.size = sizeof(h->async_event);
	h->async_event.type = KRDMA_EVENT_ASYNC;
	h->async_event.handle = h->id;
	h->async_event.cookie = cookie;
	if (dev) {
		kref_get(&dev->kref);
		h->dev = dev;
	}
	return h;

err_uncharge:
	kal_uncharge(&h->charge);
err_free:
	kfree(h);
err_count:
	atomic_dec(&file->objects);
	return ERR_PTR(ret);
}

struct kal_handle *kal_handle_new(struct kal_file *file, const struct kal_handle_ops *ops,
				  struct kal_dev *dev, u64 cookie)
{
	return chardev_handle_alloc(file, ops, dev, cookie, GFP_KERNEL_ACCOUNT);
}

struct kal_handle *kal_handle_new_nowait(struct kal_file *file, const struct kal_handle_ops *ops,
					 struct kal_dev *dev, u64 cookie)
{
	struct mem_cgroup *before = set_active_memcg(file->memcg);
	struct kal_handle *h;

	h = chardev_handle_alloc(file, ops, dev, cookie, KAL_GFP_REQUEST);
	set_active_memcg(before);
	return h;
}

int kal_handle_need(struct kal_handle *h, struct kal_handle *parent)
{
	unsigned int i = 0;

	if (parent->dev != h->dev)
		return -EINVAL;
	/* no other thread can access @h yet */
	while (i < KAL_HANDLE_PARENTS && h->parents[i])
		i++;
	if (WARN_ON_ONCE(i == KAL_HANDLE_PARENTS))
		return -EINVAL;
	h->parents[i] = parent;
	xa_lock(&h->file->handles);
	parent->children++;
	if (!i)
		chardev_handle_count(h, 1);
	xa_unlock(&h->file->handles);
	return 0;
}

void kal_handle_change_parent(struct kal_handle *h, struct kal_handle *parent)
{
	xa_lock(&h->file->handles);
	chardev_handle_count(h, -1);
	parent->children++;
	h->parents[0]->children--;
	h->parents[0] = parent;
	chardev_handle_count(h, 1);
	xa_unlock(&h->file->handles);
}

void kal_handle_publish(struct kal_handle *h)
{
	const bool context = h->ops->type == KAL_H_CONTEXT;
	struct xarray *handles = &h->file->handles;
	const u32 id = h->id;

	/* a thread that guesses the number may destroy @h at once, so @h is not accessed again */
	xa_lock(handles);
	/* the number is reserved, so the store allocates no memory and cannot fail */
	__xa_store(handles, id, h, 0);
	if (context)
		__xa_set_mark(handles, id, KAL_CONTEXT_MARK);
	xa_unlock(handles);
}

void kal_handle_cancel(struct kal_handle *h)
{
	chardev_handle_free(h);
}

int kal_handle_make(struct kal_handle *parent, const struct kal_handle_ops *ops, u64 cookie,
		    kal_handle_maker make, void *cmd, struct ri_udata *udata)
{
	struct kal_handle *h = kal_handle_new(parent->file, ops, parent->dev, cookie);
	int ret = PTR_ERR_OR_ZERO(h);

	if (ret)
		goto out;
	ret = kal_handle_need(h, parent);
	if (!ret)
		ret = make(h, parent, cmd, udata);
	if (ret)
		kal_handle_cancel(h);
	else
		kal_handle_publish(h);
out:
	kal_handle_put(parent);
	return ret;
}

/* Is the object's RNIC removed or being removed? Its number then stays until DESTROY. */
static bool chardev_handle_left(const struct kal_handle *h)
{
	return READ_ONCE(h->gone) || (h->dev && READ_ONCE(h->dev->leaves));
}

struct kal_handle *kal_handle_get(struct kal_file *file, u32 id, enum kal_handle_type type)
{
	struct kal_handle *h;
	int ret = 0;

	xa_lock(&file->handles);
	h = xa_load(&file->handles, id);
	if (!h)
		ret = -ENOENT;
	else if (h->ops->type != type)
		ret = -EINVAL;
	else if (h->dead)
		ret = chardev_handle_left(h) ? -ENODEV : -ENOENT;
	else
		refcount_inc(&h->users);
	xa_unlock(&file->handles);
	return ret ? ERR_PTR(ret) : h;
}

void kal_handle_put(struct kal_handle *h)
{
	if (refcount_dec_and_test(&h->users))
		complete(&h->unused);
}

bool kal_file_context(struct kal_file *file, u32 *id, struct kal_context_view *view)
{
	unsigned long index = *id;
	struct kal_handle *h;

	xa_lock(&file->handles);
	h = xa_find(&file->handles, &index, ULONG_MAX, KAL_CONTEXT_MARK);
	while (h && h->dead)
		h = xa_find_after(&file->handles, &index, ULONG_MAX, KAL_CONTEXT_MARK);
	if (h) {
		const struct kal_h_context *ctx = container_of(h, struct kal_h_context, h);

		strscpy(view->rnic, h->dev->rnic->name, sizeof(view->rnic));
		view->index = h->dev->index;
		memcpy(view->objects, ctx->objects, sizeof(view->objects));
	}
	xa_unlock(&file->handles);
	*id = index;
	return h;
}

/* The end ****************************************************************** */

/* Prevent new uses of the object. No use is in progress on return. */
static void chardev_handle_stop(struct kal_handle *h)
{
	xa_lock(&h->file->handles);
	h->dead = true;
	xa_unlock(&h->file->handles);
	kal_handle_put(h);
	wait_for_completion(&h->unused);
}

/* Undo chardev_handle_stop(). */
static void chardev_handle_revive(struct kal_handle *h)
{
	reinit_completion(&h->unused);
	refcount_set(&h->users, 1);
	xa_lock(&h->file->handles);
	h->dead = false;
	xa_unlock(&h->file->handles);
}

static bool chardev_handle_needed(struct kal_handle *h)
{
	bool ret;

	xa_lock(&h->file->handles);
	ret = h->children;
	xa_unlock(&h->file->handles);
	return ret;
}

/* Called when the underlying object does not exist any more. */
static void chardev_handle_ended(struct kal_handle *h)
{
	WRITE_ONCE(h->gone, true);
	kal_uncharge(&h->charge);
}

static int chardev_handle_end(struct kal_handle *h)
{
	int ret;

	lockdep_assert_held(&h->file->destroy_lock);
	if (h->gone)
		return 0;
	if (!h->dead)
		chardev_handle_stop(h);
	/* a command that used @h may have created an object that needs it */
	ret = chardev_handle_needed(h) ? -EBUSY : h->ops->destroy(h);
	if (ret)
		chardev_handle_revive(h);
	else
		chardev_handle_ended(h);
	return ret;
}

int kal_handle_destroy(struct kal_file *file, u32 id)
{
	struct kal_handle *h;
	int ret;

	guard(mutex)(&file->destroy_lock);
	/* the lock keeps the object */
	h = xa_load(&file->handles, id);
	if (!h)
		return -ENOENT;
	if (chardev_handle_needed(h))
		return -EBUSY;
	ret = chardev_handle_end(h);
	if (!ret)
		chardev_handle_free(h);
	return ret;
}

void kal_handle_destroy_locked(struct kal_handle *h)
{
	if (!WARN_ON(chardev_handle_end(h)))
		chardev_handle_free(h);
}

/*
 * Stop all use of the objects on @dev (NULL: of all objects), and the creation of new ones. A
 * command in progress may create one while this function waits for the object's parents.
 */
static void chardev_handles_stop(struct kal_file *file, struct kal_dev *dev)
{
	struct kal_handle *h;
	unsigned long id;
	bool again;

	do {
		again = false;
		xa_for_each(&file->handles, id, h) {
			if (h->dead || (dev && h->dev != dev))
				continue;
			chardev_handle_stop(h);
			again = true;
		}
	} while (again);
}

static void chardev_handles_destroy(struct kal_file *file, struct kal_dev *dev)
{
	enum kal_handle_type type;
	struct kal_handle *h;
	unsigned long id;

	for (type = 0; type < KAL_H_TYPES; type++) {
		xa_for_each(&file->handles, id, h) {
			if (h->gone || h->ops->type != type || (dev && h->dev != dev))
				continue;
			/* a connection that came while its listener ended */
			if (!h->dead)
				chardev_handle_stop(h);
			WARN_ON(h->ops->destroy(h));
			chardev_handle_ended(h);
		}
	}
}

void kal_handles_end(struct kal_file *file, struct kal_dev *dev)
{
	struct kal_handle *h;
	unsigned long id;

	guard(mutex)(&file->destroy_lock);
	chardev_handles_stop(file, dev);
	chardev_handles_destroy(file, dev);
	xa_for_each_marked(&file->handles, id, h, KAL_CONTEXT_MARK)
		if (h->dev == dev)
			kal_handle_async(h, IB_EVENT_DEVICE_FATAL);
}

/* Called when no command runs. An RNIC may go at the same time. */
void kal_handles_exit(struct kal_file *file)
{
	enum kal_handle_type type;
	struct kal_handle *h;
	unsigned long id;

	guard(mutex)(&file->destroy_lock);
	chardev_handles_stop(file, NULL);
	chardev_handles_destroy(file, NULL);
	/* drop all records at once instead of for each object */
	kal_file_drop_all_events(file);
	for (type = 0; type < KAL_H_TYPES; type++) {
		xa_for_each(&file->handles, id, h) {
			if (h->ops->type == type)
				chardev_handle_free(h);
			cond_resched();
		}
	}
}
