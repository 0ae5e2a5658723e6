// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A user library as C has it, for the tests of libkrdma: it makes what the kernel grants,
 * has queues that take nothing and complete nothing, and lacks what FAKE_... says.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include <krdma/soft-abi.h>
#include <krdma/uvp.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION KRDMA_UVP_VERSION
#endif
#ifndef FAKE_SIZE
#define FAKE_SIZE sizeof(struct krdma_uvp_ops)
#endif

struct object {
	const struct krdma_uvp_host *host;
	__u32 handle;
};

static int make(const struct krdma_uvp_host *host, unsigned long command, void *cmd,
		const __u32 *handle, void **result)
{
	struct object *object = malloc(sizeof(*object));
	int err = object ? host->ri_syscall(host->host, command, cmd) : ENOMEM;

	if (err) {
		free(object);
		return err;
	}
	object->host = host;
	object->handle = *handle;
	*result = object;
	return 0;
}

static int end(void *base)
{
	struct object *object = base;
	struct krdma_destroy cmd = { sizeof(cmd), object->handle };
	const int err = object->host->ri_syscall(object->host->host, KRDMA_IOC_DESTROY, &cmd);

	free(object);
	return err;
}

static int context_open(const struct krdma_uvp_host *host, struct krdma_context *cmd,
			void **context)
{
	return make(host, KRDMA_IOC_CONTEXT, cmd, &cmd->handle, context);
}

static int cq_create(void *context, struct krdma_cq *cmd, void **cq)
{
	return make(((struct object *)context)->host, KRDMA_IOC_CQ, cmd, &cmd->handle, cq);
}

static int cq_poll(void *cq, struct krdma_wc *entries, int count)
{
	(void)cq;
	(void)entries;
	(void)count;
	return 0;
}

static int cq_notify(void *cq, int solicited_only, __u32 *missed)
{
	(void)cq;
	(void)solicited_only;
	*missed = 0;
	return 0;
}

static int qp_create(void *context, struct krdma_qp *cmd, void *send_cq, void *recv_cq, void *srq,
		     void **qp)
{
	(void)send_cq;
	(void)recv_cq;
	(void)srq;
	return make(((struct object *)context)->host, KRDMA_IOC_QP, cmd, &cmd->handle, qp);
}

static int post(void *queue, const struct krdma_wr *wrs, __u32 count, __u32 *done)
{
	(void)queue;
	(void)wrs;
	(void)count;
	*done = 0;
	return ENOMEM;
}

#ifdef FAKE_OBJECTS
/* bytes that the kernel is to see, and which the library takes away again */
static const __u32 octets = 0x5eed;

static void bring(struct krdma_private *priv)
{
	priv->in = (__u64)(size_t)&octets;
	priv->in_len = sizeof(octets);
}

static int pd_create(void *context, struct krdma_pd *cmd, void **pd)
{
	int err;

	bring(&cmd->priv);
	err = make(((struct object *)context)->host, KRDMA_IOC_PD, cmd, &cmd->handle, pd);
	cmd->priv = (struct krdma_private){ 0 };
	return err;
}

static int mr_create(void *context, struct krdma_mr *cmd, void **mr)
{
	int err;

	bring(&cmd->priv);
	err = make(((struct object *)context)->host, KRDMA_IOC_MR, cmd, &cmd->handle, mr);
	cmd->priv = (struct krdma_private){ 0 };
	return err;
}

#ifndef FAKE_NO_REREGISTER
static int mr_reregister(void *mr, struct krdma_mr_reregister *cmd)
{
	const struct krdma_uvp_host *host = ((struct object *)mr)->host;

	/* its way through the library is seen by that */
	cmd->access |= KRDMA_ACCESS_REMOTE_READ;
	return host->ri_syscall(host->host, KRDMA_IOC_MR_REREGISTER, cmd);
}
#endif

static int mw_create(void *context, struct krdma_mw *cmd, void **mw)
{
	return make(((struct object *)context)->host, KRDMA_IOC_MW, cmd, &cmd->handle, mw);
}
#endif

static const struct krdma_uvp_ops ops = {
	.size = FAKE_SIZE,
	.version = FAKE_VERSION,
	.abi = KRDMA_SOFT_ABI_VERSION,
	.context_open = context_open,
	.context_close = free,
	.cq_create = cq_create,
	.cq_destroy = end,
	.cq_poll = cq_poll,
	.cq_notify = cq_notify,
#ifdef FAKE_HALF_SRQ
	.srq_post = post,
	.srq_create = (int (*)(void *, struct krdma_srq *, void **))cq_create,
#endif
	.qp_create = qp_create,
	.qp_destroy = end,
	.post_send = post,
#ifndef FAKE_NO_RECEIVE
	.post_recv = post,
#endif
#ifdef FAKE_OBJECTS
	.pd_create = pd_create,
	.pd_destroy = end,
	.mr_create = mr_create,
#ifndef FAKE_NO_REREGISTER
	.mr_reregister = mr_reregister,
#endif
	.mr_destroy = end,
	.mw_create = mw_create,
	.mw_destroy = end,
#endif
};

const struct krdma_uvp_ops *krdma_uvp_open(__u32 version)
{
	(void)version;
	return &ops;
}
