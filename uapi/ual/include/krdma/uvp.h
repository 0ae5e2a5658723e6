/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface between libkrdma (the uAL) and the user library of an RNIC (the uVP). It is C,
 * so that the C++ of either side does not matter to the other.
 *
 * The library is the file that RNIC_QUERY names, in libkrdma's directory of user libraries. It
 * exports one symbol, krdma_uvp_open(). libkrdma passes a verb to the library. The library
 * prepares the provider's private bytes and calls ri_syscall() for the privileged part.
 * libkrdma passes this call to the kernel, and the library maps the memory that the kernel
 * granted. Posting, polling and arming then use the library alone. For verbs without a
 * function here (queries, moderation, limits, connections) libkrdma calls the kernel.
 *
 * Some functions may be NULL:
 *   qp_modify; all of domains, of regions or of windows	libkrdma calls the kernel, in the
 * 							library's context
 *   cq_modify, srq_modify		a new size is refused: EOPNOTSUPP
 *   cq_poll_times			no queues with times: EOPNOTSUPP
 *   srq_create, srq_destroy, srq_post	no shared receive queues: EOPNOTSUPP
 * If any other function is NULL, libkrdma does not use the library, and every call is a
 * system call.
 *
 * Functions return 0 or an errno unless stated otherwise, and do not throw. Commands are the
 * structures of <krdma/krdma-abi.h>, complete except for their private bytes.
 */
#ifndef KRDMA_UVP_H
#define KRDMA_UVP_H

#include <krdma/krdma-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KRDMA_UVP_VERSION	1
#define KRDMA_UVP_SYMBOL	"krdma_uvp_open"

/* services of libkrdma for a library, valid until context_close() returns */
struct krdma_uvp_host {
	__u32 size;
	int fd;			/* only for mmap() of memory that the kernel granted */
	void *host;		/* argument of the calls */
	/* issue a privileged verb: KRDMA_IOC_* and its structure */
	int (*ri_syscall)(void *host, unsigned long command, void *argument);
};

/*
 * struct krdma_uvp_ops - the functions of a library. Any thread may call them at any time, but
 * nothing else is done with an object that is being destroyed.
 *
 * size: size of the structure when the library was compiled; members behind it count as NULL
 * version: KRDMA_UVP_VERSION
 * abi: version between library and kernel module, as in RNIC_QUERY.uvp_abi
 */
struct krdma_uvp_ops {
	__u32 size;
	__u32 version;
	__u32 abi;
	__u32 reserved;

	/* EPROTO, EOPNOTSUPP: not for this kernel module; libkrdma then does not use the library */
	int (*context_open)(const struct krdma_uvp_host *host, struct krdma_context *cmd,
			    void **context);
	void (*context_close)(void *context);

	int (*cq_create)(void *context, struct krdma_cq *cmd, void **cq);
	int (*cq_modify)(void *cq, struct krdma_cq_modify *cmd);
	int (*cq_destroy)(void *cq);
	/* returns the number of completions taken, or a negative errno */
	int (*cq_poll)(void *cq, struct krdma_wc *entries, int count);
	/* missed: a completion may be there already */
	int (*cq_notify)(void *cq, int solicited_only, __u32 *missed);

	int (*srq_create)(void *context, struct krdma_srq *cmd, void **srq);
	int (*srq_modify)(void *srq, struct krdma_srq_attr *cmd);
	int (*srq_destroy)(void *srq);
	int (*srq_post)(void *srq, const struct krdma_wr *wrs, __u32 count, __u32 *done);

	/* the library's own objects for the command's send_cq, recv_cq and srq (or NULL) */
	int (*qp_create)(void *context, struct krdma_qp *cmd, void *send_cq, void *recv_cq,
			 void *srq, void **qp);
	int (*qp_modify)(void *qp, struct krdma_qp_attr *cmd);
	int (*qp_destroy)(void *qp);
	int (*post_send)(void *qp, const struct krdma_wr *wrs, __u32 count, __u32 *done);
	int (*post_recv)(void *qp, const struct krdma_wr *wrs, __u32 count, __u32 *done);

	/* like cq_poll, for a queue created with KRDMA_CQ_TIMES; times has room for count, too */
	int (*cq_poll_times)(void *cq, struct krdma_wc *entries, struct krdma_wc_time *times,
			     int count);

	/*
	 * For a library that keeps data for these objects. Other commands, and BIND_MW, name an
	 * object by the kernel's handle, which is in the command after the object was created. The
	 * kernel takes private bytes for domains and for registrations of memory by address. After
	 * ..._destroy() the library's data is gone in any case. If the kernel still needs the
	 * object (EBUSY), libkrdma destroys it later by its handle.
	 */
	int (*pd_create)(void *context, struct krdma_pd *cmd, void **pd);
	int (*pd_destroy)(void *pd);
	int (*mr_create)(void *context, struct krdma_mr *cmd, void **mr);
	int (*mr_reregister)(void *mr, struct krdma_mr_reregister *cmd);
	int (*mr_destroy)(void *mr);
	int (*mw_create)(void *context, struct krdma_mw *cmd, void **mw);
	int (*mw_destroy)(void *mw);
};

/* returns the functions, or NULL if the library does not know that version */
const struct krdma_uvp_ops *krdma_uvp_open(__u32 version);

#ifdef __cplusplus
}
#endif

#endif /* KRDMA_UVP_H */
