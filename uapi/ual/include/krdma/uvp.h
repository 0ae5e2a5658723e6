/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Between libkrdma (the uAL) and an RNIC's user library (the uVP): C, so that neither
 * side's C++ matters to the other.
 *
 * The library is the file that RNIC_QUERY names, in libkrdma's directory of them. It has
 * one symbol, krdma_uvp_open(). A verb goes to the library, which prepares the provider's
 * private octets and calls ri_syscall() for the privileged part; libkrdma hands that
 * to the kernel, and the library maps what the kernel granted. Posting, polling and arming
 * then touch the library alone. What has no function here (queries, moderation, limits,
 * connections) libkrdma asks of the kernel.
 *
 * Without one of the functions below the library is not used, and everything goes through the
 * kernel; but these may be NULL: qp_modify, and all functions of domains, of regions or of
 * windows (libkrdma asks the kernel, in the library's context), cq_modify and
 * srq_modify (a new size is refused: EOPNOTSUPP), cq_poll_times (no queue with times:
 * EOPNOTSUPP), and srq_create, with srq_destroy and srq_post (no shared receive queues:
 * EOPNOTSUPP).
 *
 * Functions answer 0 or an errno, unless said otherwise, and do not throw. Commands are
 * the structures of <krdma/krdma-abi.h>, complete but for their private octets.
 */
#ifndef KRDMA_UVP_H
#define KRDMA_UVP_H

#include <krdma/krdma-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KRDMA_UVP_VERSION	1
#define KRDMA_UVP_SYMBOL	"krdma_uvp_open"

/* what libkrdma does for a library; valid until context_close() returns */
struct krdma_uvp_host {
	__u32 size;
	int fd;			/* for mmap() of what the kernel granted, nothing else */
	void *host;		/* argument of the calls */
	/* a privileged verb: KRDMA_IOC_* and its structure */
	int (*ri_syscall)(void *host, unsigned long command, void *argument);
};

/*
 * struct krdma_uvp_ops - a library's functions. It serves any thread at any time, except
 * that nothing else is done with an object that is being destroyed.
 *
 * size: of the structure, as the library was compiled; what is behind it is NULL
 * version: KRDMA_UVP_VERSION
 * abi: version between library and kernel module, as RNIC_QUERY.uvp_abi has it
 */
struct krdma_uvp_ops {
	__u32 size;
	__u32 version;
	__u32 abi;
	__u32 reserved;

	/* EPROTO, EOPNOTSUPP: it cannot work with this kernel module; then it is not used */
	int (*context_open)(const struct krdma_uvp_host *host, struct krdma_context *cmd,
			    void **context);
	void (*context_close)(void *context);

	int (*cq_create)(void *context, struct krdma_cq *cmd, void **cq);
	int (*cq_modify)(void *cq, struct krdma_cq_modify *cmd);
	int (*cq_destroy)(void *cq);
	/* completions taken, or a negative errno */
	int (*cq_poll)(void *cq, struct krdma_wc *entries, int count);
	/* missed: something may wait in it */
	int (*cq_notify)(void *cq, int solicited_only, __u32 *missed);

	int (*srq_create)(void *context, struct krdma_srq *cmd, void **srq);
	int (*srq_modify)(void *srq, struct krdma_srq_attr *cmd);
	int (*srq_destroy)(void *srq);
	int (*srq_post)(void *srq, const struct krdma_wr *wrs, __u32 count, __u32 *done);

	/* the library's objects of the command's send_cq, recv_cq, srq (or NULL) */
	int (*qp_create)(void *context, struct krdma_qp *cmd, void *send_cq, void *recv_cq,
			 void *srq, void **qp);
	int (*qp_modify)(void *qp, struct krdma_qp_attr *cmd);
	int (*qp_destroy)(void *qp);
	int (*post_send)(void *qp, const struct krdma_wr *wrs, __u32 count, __u32 *done);
	int (*post_recv)(void *qp, const struct krdma_wr *wrs, __u32 count, __u32 *done);

	/* as cq_poll, of a queue that was created with KRDMA_CQ_TIMES: count times, too */
	int (*cq_poll_times)(void *cq, struct krdma_wc *entries, struct krdma_wc_time *times,
			     int count);

	/*
	 * For a library with something of its own to each. Other commands, and BIND_MW, name them
	 * by the kernel's handle, which is in the command when it was made. The kernel takes
	 * private octets for domains and for registrations of memory by address. What the
	 * library has is gone after ..._destroy() in any case; when the kernel still needs the
	 * object (EBUSY) libkrdma destroys it later, by its handle.
	 */
	int (*pd_create)(void *context, struct krdma_pd *cmd, void **pd);
	int (*pd_destroy)(void *pd);
	int (*mr_create)(void *context, struct krdma_mr *cmd, void **mr);
	int (*mr_reregister)(void *mr, struct krdma_mr_reregister *cmd);
	int (*mr_destroy)(void *mr);
	int (*mw_create)(void *context, struct krdma_mw *cmd, void **mw);
	int (*mw_destroy)(void *mw);
};

/* the functions, or NULL: the library does not know that version */
const struct krdma_uvp_ops *krdma_uvp_open(__u32 version);

#ifdef __cplusplus
}
#endif

#endif /* KRDMA_UVP_H */
