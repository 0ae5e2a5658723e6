/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The objects of the verbs behind the numbers of /dev/krdma, for the files that implement
 * their commands:
 *
 * - verbs.c: contexts, PDs, CQs
 * - qp.c: QPs, SRQs
 * - mem.c: regions, windows
 * - post.c: the slow path
 * - map.c: mmap
 * - conn.c: connections
 */
#ifndef KAL_CHARDEV_VERBS_H
#define KAL_CHARDEV_VERBS_H

#include <linux/mm_types.h>

#include "chardev.h"

/**
 * struct kal_h_context - use of an RNIC
 * @h: object
 * @uctx: provider's context; NULL: slow context, all calls go through the kernel
 * @objects: numbers of the objects in it, by kind; lock of kal_file.handles
 */
struct kal_h_context {
	struct kal_handle h;
	struct ri_ucontext *uctx;
	u32 objects[KAL_H_TYPES];
};

struct kal_h_pd {
	struct kal_handle h;
	struct kal_h_context *ctx;
	struct ri_pd *pd;
};

/**
 * struct kal_h_cq - completion queue
 * @h: object
 * @ctx: context
 * @cq: the kAL's CQ
 * @completion: record of completion events
 * @completion_event: data of @completion
 */
struct kal_h_cq {
	struct kal_handle h;
	struct kal_h_context *ctx;
	struct ri_cq *cq;
	struct kal_record completion;
	struct krdma_event completion_event;
};

struct kal_h_srq {
	struct kal_handle h;
	struct kal_h_context *ctx;
	struct ri_srq *srq;
};

struct kal_h_qp {
	struct kal_handle h;
	struct kal_h_context *ctx;
	struct ri_qp *qp;
};

/**
 * struct kal_h_mr - memory region
 * @h: object; its first parent is the PD, which @lock protects
 * @ctx: context
 * @mr: the kAL's region
 * @lock: allows one change at a time
 */
struct kal_h_mr {
	struct kal_handle h;
	struct kal_h_context *ctx;
	struct ri_mr *mr;
	struct mutex lock;	/* allows one change at a time */
};

struct kal_h_mw {
	struct kal_handle h;
	struct kal_h_context *ctx;
	struct ri_mw *mw;
};

/*
 * In a slow context all calls go through the kernel. It has no user library and no private
 * bytes.
 */
static inline bool kal_context_slow(const struct kal_h_context *ctx)
{
	return !ctx->uctx;
}

/* A kal_handle_get() that returns the type of the object, or an ERR_PTR. */
#define KAL_GET(file, id, type, member)                                            \
	({                                                                         \
		struct kal_handle *_h = kal_handle_get(file, id, type);           \
		IS_ERR(_h) ? ERR_CAST(_h) :                                        \
			     (void *)container_of(_h, struct member, h);           \
	})

static inline struct kal_h_context *kal_get_context(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_CONTEXT, kal_h_context);
}

static inline struct kal_h_pd *kal_get_pd(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_PD, kal_h_pd);
}

static inline struct kal_h_cq *kal_get_cq(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_CQ, kal_h_cq);
}

static inline struct kal_h_srq *kal_get_srq(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_SRQ, kal_h_srq);
}

static inline struct kal_h_qp *kal_get_qp(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_QP, kal_h_qp);
}

static inline struct kal_h_mr *kal_get_mr(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_MR, kal_h_mr);
}

static inline struct kal_h_mw *kal_get_mw(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_MW, kal_h_mw);
}

/*
 * Get the provider's own bytes of a call, @udata. Return: @udata; NULL in a slow context,
 * where the provider regards the call as a kernel consumer's; -EINVAL if there are bytes in a
 * slow context.
 */
struct ri_udata *kal_udata(const struct kal_h_context *ctx, struct ri_udata *udata);

/* map.c */
extern const struct ri_shmem_ops kal_map_ops;	/* ri_ucontext.consumer is the file */
int kal_map_mmap(struct kal_file *file, struct vm_area_struct *vma);

/* commands */
int kal_cmd_context(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_pd(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_cq(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_cq_modify(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_cq_poll(struct kal_file *file, void *cmd);
int kal_cmd_cq_notify(struct kal_file *file, void *cmd);
int kal_cmd_srq(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_srq_modify(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_srq_query(struct kal_file *file, void *cmd);
int kal_cmd_qp(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_qp_modify(struct kal_file *file, void *cmd);
int kal_cmd_qp_query(struct kal_file *file, void *cmd);
int kal_cmd_post_send(struct kal_file *file, void *cmd);
int kal_cmd_post_recv(struct kal_file *file, void *cmd);
int kal_cmd_post_srq(struct kal_file *file, void *cmd);
int kal_cmd_mr(struct kal_file *file, void *cmd, struct ri_udata *udata);
int kal_cmd_mr_reregister(struct kal_file *file, void *cmd);
int kal_cmd_mw(struct kal_file *file, void *cmd);
int kal_cmd_listen(struct kal_file *file, void *cmd);
int kal_cmd_connect(struct kal_file *file, void *cmd);
int kal_cmd_accept(struct kal_file *file, void *cmd);
int kal_cmd_reject(struct kal_file *file, void *cmd);
int kal_cmd_disconnect(struct kal_file *file, void *cmd);
bool kal_conn_answered(struct kal_handle *h);

#endif /* KAL_CHARDEV_VERBS_H */
