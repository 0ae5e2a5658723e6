// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/krdma's memory regions and windows. A region consists of the calling process' memory,
 * whatever process opened the file. That memory is pinned and charged to the calling process.
 *
 * User space can delay a pin for ever (userfaultfd, FUSE, a fence of a dma-buf). The command
 * for a region therefore checks its objects, releases them, pins the memory and gets the
 * objects again. If the RNIC has gone meanwhile, the command returns -ENODEV.
 */
#include <linux/sched/signal.h>

#include "verbs.h"

static int chardev_mr_destroy(struct kal_handle *h)
{
	struct kal_h_mr *mr = container_of(h, struct kal_h_mr, h);
	int ret;

	/* -EBUSY while a window is bound to it */
	ret = kal_mr_deregister(mr->mr);
	if (!ret)
		mutex_destroy(&mr->lock);
	return ret;
}

static const struct kal_handle_ops chardev_mr_ops = {
	.type = KAL_H_MR,
	.size = sizeof(struct kal_h_mr),
	.destroy = chardev_mr_destroy,
};

/* Arguments of chardev_mr_make(): the command, and the memory that was pinned for it. */
struct kal_mr_call {
	struct krdma_mr *cmd;
	struct ri_mr_attr attr;
};

static int chardev_mr_make(struct kal_handle *h, struct kal_handle *parent, void *_cmd,
			   struct ri_udata *udata)
{
	struct kal_h_pd *pd = container_of(parent, struct kal_h_pd, h);
	struct kal_h_mr *mr = container_of(h, struct kal_h_mr, h);
	struct kal_mr_call *call = _cmd;
	struct krdma_mr *cmd = call->cmd;

	udata = kal_udata(pd->ctx, udata);
	if (IS_ERR(udata))
		return PTR_ERR(udata);
	mr->ctx = pd->ctx;
	mutex_init(&mr->lock);
	mr->mr = kal_mr_register(pd->pd, &call->attr, udata);
	if (IS_ERR(mr->mr)) {
		mutex_destroy(&mr->lock);
		return PTR_ERR(mr->mr);
	}
	cmd->handle = mr->h.id;
	cmd->stag = mr->mr->stag;
	return 0;
}

int kal_cmd_mr(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_mr *cmd = _cmd;
	struct kal_mr_call call = {
		.cmd = cmd,
		.attr = {
			.start = cmd->start,
			.length = cmd->length,
			.iova = cmd->iova,
			.access = cmd->access,
			.dmabuf = cmd->flags & KRDMA_MR_DMABUF,
			.fd = cmd->fd,
		},
	};
	struct kal_h_pd *pd;
	int ret;

	if (cmd->reserved || cmd->flags & ~KRDMA_MR_DMABUF)
		return -EINVAL;
	pd = kal_get_pd(file, cmd->pd);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = kal_mr_check(pd->pd->obj.rnic, &call.attr);
	kal_handle_put(&pd->h);
	if (!ret)
		ret = kal_mr_pin(&call.attr);
	if (ret)
		return ret;
	pd = kal_get_pd(file, cmd->pd);
	ret = IS_ERR(pd) ? PTR_ERR(pd) :
			   kal_handle_make(&pd->h, &chardev_mr_ops, 0, chardev_mr_make, &call,
					   udata);
	if (ret)
		kal_mr_unpin(call.attr.region);
	return ret;
}

/* KRDMA_REREG_* have the same values as enum ib_mr_rereg_flags. */
static int chardev_mr_change_plan(struct kal_file *file, const struct krdma_mr_reregister *cmd,
				  struct kal_mr_change *change)
{
	const struct ri_mr_attr attr = {
		.start = cmd->start,
		.length = cmd->length,
		.iova = cmd->iova,
		.access = cmd->access,
	};
	struct kal_h_mr *mr = kal_get_mr(file, cmd->handle);
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	scoped_guard(mutex, &mr->lock)
		ret = kal_mr_change_begin(mr->mr, cmd->mask, &attr, change);
	kal_handle_put(&mr->h);
	return ret;
}

static int chardev_mr_change_in(struct kal_h_mr *mr, struct kal_h_pd *pd,
				struct krdma_mr_reregister *cmd, struct kal_mr_change *change)
{
	int ret;

	if (pd && pd->ctx != mr->ctx)
		return -EINVAL;
	guard(mutex)(&mr->lock);
	ret = kal_mr_reregister(mr->mr, change, pd ? pd->pd : mr->mr->pd);
	if (ret)
		return ret;
	if (pd)
		kal_handle_change_parent(&mr->h, &pd->h);
	cmd->stag = mr->mr->stag;
	return 0;
}

static int chardev_mr_change_apply(struct kal_file *file, struct krdma_mr_reregister *cmd,
				   struct kal_mr_change *change)
{
	struct kal_h_mr *mr = kal_get_mr(file, cmd->handle);
	struct kal_h_pd *pd = NULL;
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	if (cmd->mask & KRDMA_REREG_PD)
		pd = kal_get_pd(file, cmd->pd);
	ret = PTR_ERR_OR_ZERO(pd);
	if (!ret) {
		ret = chardev_mr_change_in(mr, pd, cmd, change);
		if (pd)
			kal_handle_put(&pd->h);
	}
	kal_handle_put(&mr->h);
	return ret;
}

int kal_cmd_mr_reregister(struct kal_file *file, void *_cmd)
{
	struct krdma_mr_reregister *cmd = _cmd;
	struct kal_mr_change change;
	int ret;

	BUILD_BUG_ON(KRDMA_REREG_TRANSLATION ^ IB_MR_REREG_TRANS);
	BUILD_BUG_ON(KRDMA_REREG_PD ^ IB_MR_REREG_PD);
	BUILD_BUG_ON(KRDMA_REREG_ACCESS ^ IB_MR_REREG_ACCESS);
	if (!cmd->mask || cmd->mask & ~IB_MR_REREG_SUPPORTED)
		return -EINVAL;
	/* repeat if another thread has changed the region meanwhile */
	do {
		ret = chardev_mr_change_plan(file, cmd, &change);
		if (!ret)
			ret = kal_mr_change_pin(&change);
		if (!ret) {
			ret = chardev_mr_change_apply(file, cmd, &change);
			kal_mr_change_end(&change);
		}
	} while (ret == -ESTALE && !signal_pending(current));
	return ret == -ESTALE ? -EINTR : ret;
}

/* Windows ****************************************************************** */

static int chardev_mw_destroy(struct kal_handle *h)
{
	kal_mw_dealloc(container_of(h, struct kal_h_mw, h)->mw);
	return 0;
}

static const struct kal_handle_ops chardev_mw_ops = {
	.type = KAL_H_MW,
	.size = sizeof(struct kal_h_mw),
	.destroy = chardev_mw_destroy,
};

static int chardev_mw_make(struct kal_handle *h, struct kal_handle *parent, void *_cmd,
			   struct ri_udata *udata)
{
	struct kal_h_pd *pd = container_of(parent, struct kal_h_pd, h);
	struct kal_h_mw *mw = container_of(h, struct kal_h_mw, h);
	struct krdma_mw *cmd = _cmd;

	/* the RNIC-PI passes no private bytes for windows */
	if (cmd->priv.in_len || cmd->priv.out_len)
		return -EINVAL;
	mw->ctx = pd->ctx;
	mw->mw = kal_mw_alloc(pd->pd, cmd->type == 1 ? IB_MW_TYPE_1 : IB_MW_TYPE_2);
	if (IS_ERR(mw->mw))
		return PTR_ERR(mw->mw);
	cmd->handle = mw->h.id;
	cmd->stag = mw->mw->stag;
	return 0;
}

int kal_cmd_mw(struct kal_file *file, void *_cmd)
{
	struct krdma_mw *cmd = _cmd;
	struct kal_h_pd *pd;

	if (cmd->reserved || (cmd->type != 1 && cmd->type != 2))
		return -EINVAL;
	pd = kal_get_pd(file, cmd->pd);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	return kal_handle_make(&pd->h, &chardev_mw_ops, 0, chardev_mw_make, cmd, NULL);
}
