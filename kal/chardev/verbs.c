// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/krdma's contexts, protection domains and completion queues. The provider's private
 * bytes belong to its user library and are passed through unchanged. A slow context has none.
 * Its objects are created like those of a kernel consumer, except for the rights: the PD is
 * marked as a user's.
 */
#include <linux/uaccess.h>

#include "verbs.h"

struct ri_udata *kal_udata(const struct kal_h_context *ctx, struct ri_udata *udata)
{
	if (kal_context_slow(ctx))
		return udata->in_len || udata->out_len ? ERR_PTR(-EINVAL) : NULL;
	return udata;
}

/* Contexts ***************************************************************** */

static int chardev_context_destroy(struct kal_handle *h)
{
	struct kal_h_context *ctx = container_of(h, struct kal_h_context, h);

	if (ctx->uctx)
		kal_ucontext_dealloc(ctx->uctx);
	return 0;
}

static const struct kal_handle_ops chardev_context_ops = {
	.type = KAL_H_CONTEXT,
	.size = sizeof(struct kal_h_context),
	.destroy = chardev_context_destroy,
};

static int chardev_context_open(struct kal_h_context *ctx, const struct krdma_context *cmd,
				struct ri_udata *udata)
{
	struct ri_ucontext *uctx;

	if (cmd->flags & KRDMA_SLOW)
		return udata->in_len || udata->out_len ? -EINVAL : 0;
	uctx = kal_ucontext_alloc(ctx->h.dev->rnic, &kal_map_ops, ctx->h.file, udata);
	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	ctx->uctx = uctx;
	return 0;
}

int kal_cmd_context(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_context *cmd = _cmd;
	struct kal_h_context *ctx;
	struct kal_handle *h;
	struct kal_dev *dev;
	int ret;

	if (cmd->flags & ~KRDMA_SLOW)
		return -EINVAL;
	dev = kal_dev_get(file->net, cmd->index);
	if (!dev)
		return -ENODEV;
	ret = kal_user_check(dev->rnic, file->cred);
	if (ret)
		goto out;
	h = kal_handle_new(file, &chardev_context_ops, dev, cmd->cookie);
	ret = PTR_ERR_OR_ZERO(h);
	if (ret)
		goto out;
	ctx = container_of(h, struct kal_h_context, h);
	ret = chardev_context_open(ctx, cmd, udata);
	if (ret) {
		kal_handle_cancel(h);
		goto out;
	}
	cmd->handle = h->id;
	kal_handle_publish(h);
out:
	/* not earlier: after this, the removal of the RNIC looks for contexts */
	kal_dev_put(dev);
	return ret;
}

/* Protection domains ******************************************************* */

static int chardev_pd_destroy(struct kal_handle *h)
{
	return kal_pd_dealloc(container_of(h, struct kal_h_pd, h)->pd);
}

static const struct kal_handle_ops chardev_pd_ops = {
	.type = KAL_H_PD,
	.size = sizeof(struct kal_h_pd),
	.destroy = chardev_pd_destroy,
};

static int chardev_pd_make(struct kal_handle *h, struct kal_handle *parent, void *_cmd,
			   struct ri_udata *udata)
{
	struct kal_h_context *ctx = container_of(parent, struct kal_h_context, h);
	struct kal_h_pd *pd = container_of(h, struct kal_h_pd, h);
	struct krdma_pd *cmd = _cmd;
	struct ri_rnic *rnic = ctx->h.dev->rnic;

	udata = kal_udata(ctx, udata);
	if (IS_ERR(udata))
		return PTR_ERR(udata);
	pd->ctx = ctx;
	pd->pd = kal_context_slow(ctx) ? kal_pd_alloc_slow(rnic) :
					 kal_pd_alloc(rnic, ctx->uctx, udata);
	if (IS_ERR(pd->pd))
		return PTR_ERR(pd->pd);
	cmd->handle = pd->h.id;
	cmd->id = pd->pd->obj.id;
	return 0;
}

int kal_cmd_pd(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_pd *cmd = _cmd;
	struct kal_h_context *ctx = kal_get_context(file, cmd->context);

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	return kal_handle_make(&ctx->h, &chardev_pd_ops, 0, chardev_pd_make, cmd, udata);
}

/* Completion queues ******************************************************** */

static int chardev_cq_destroy(struct kal_handle *h)
{
	return kal_cq_destroy(container_of(h, struct kal_h_cq, h)->cq);
}

static const struct kal_handle_ops chardev_cq_ops = {
	.type = KAL_H_CQ,
	.size = sizeof(struct kal_h_cq),
	.destroy = chardev_cq_destroy,
};

static void chardev_cq_completion(struct ri_cq *rcq)
{
	struct kal_h_cq *cq = rcq->consumer;

	kal_file_raise(cq->h.file, &cq->completion);
}

static void chardev_cq_event(struct ri_cq *rcq, enum ib_event_type event)
{
	struct kal_h_cq *cq = rcq->consumer;

	kal_handle_async(&cq->h, event);
}

static void chardev_cq_init_record(struct kal_h_cq *cq, u32 ceh)
{
	cq->completion_event = (struct krdma_event) {
		.size = sizeof(cq->completion_event),
		.type = KRDMA_EVENT_COMPLETION,
		.handle = cq->h.id,
		.code = ceh,
		.cookie = cq->h.cookie,
	};
	kal_record_init(&cq->completion, &cq->h, &cq->completion_event);
}

static int chardev_cq_make(struct kal_handle *h, struct kal_handle *parent, void *_cmd,
			   struct ri_udata *udata)
{
	struct kal_h_context *ctx = container_of(parent, struct kal_h_context, h);
	struct kal_h_cq *cq = container_of(h, struct kal_h_cq, h);
	struct krdma_cq *cmd = _cmd;
	const struct kal_cq_attr attr = {
		.depth = cmd->depth,
		.ceh = cmd->ceh,
		.slow = kal_context_slow(ctx),
		.timestamps = cmd->flags & KRDMA_CQ_TIMES,
		.on_completion = chardev_cq_completion,
		.on_event = chardev_cq_event,
		.consumer = cq,
	};

	udata = kal_udata(ctx, udata);
	if (IS_ERR(udata))
		return PTR_ERR(udata);
	cq->ctx = ctx;
	chardev_cq_init_record(cq, cmd->ceh);
	cq->cq = kal_cq_create(ctx->h.dev->rnic, ctx->uctx, &attr, udata);
	if (IS_ERR(cq->cq))
		return PTR_ERR(cq->cq);
	cmd->handle = cq->h.id;
	cmd->id = cq->cq->obj.id;
	cmd->depth = cq->cq->depth;
	return 0;
}

int kal_cmd_cq(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_cq *cmd = _cmd;
	struct kal_h_context *ctx;

	if (cmd->reserved2 || cmd->flags & ~KRDMA_CQ_TIMES)
		return -EINVAL;
	ctx = kal_get_context(file, cmd->context);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	return kal_handle_make(&ctx->h, &chardev_cq_ops, cmd->cookie, chardev_cq_make, cmd, udata);
}

static int chardev_cq_set_depth(struct kal_h_cq *cq, struct krdma_cq_modify *cmd,
				struct ri_udata *udata)
{
	int ret;

	udata = kal_udata(cq->ctx, udata);
	if (IS_ERR(udata))
		return PTR_ERR(udata);
	ret = kal_cq_resize(cq->cq, cmd->depth, udata);
	if (!ret)
		cmd->depth = READ_ONCE(cq->cq->depth);
	return ret;
}

int kal_cmd_cq_modify(struct kal_file *file, void *_cmd, struct ri_udata *udata)
{
	struct krdma_cq_modify *cmd = _cmd;
	struct kal_h_cq *cq;
	int ret;

	if (cmd->reserved || (cmd->mask != KRDMA_CQ_DEPTH && cmd->mask != KRDMA_CQ_MODERATION))
		return -EINVAL;
	cq = kal_get_cq(file, cmd->handle);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	if (cmd->mask == KRDMA_CQ_DEPTH)
		ret = chardev_cq_set_depth(cq, cmd, udata);
	else
		ret = kal_cq_modify(cq->cq, cmd->count, cmd->period_us);
	kal_handle_put(&cq->h);
	return ret;
}
