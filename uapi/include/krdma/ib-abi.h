/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Commands that krdma.ko adds to those of ib_uverbs, for libraries of providers. A process that
 * imports an open device of another process (ibv_import_device()) uses them to get the answers
 * that the first process got.
 */
#ifndef KRDMA_IB_ABI_H
#define KRDMA_IB_ABI_H

#include <rdma/ib_user_ioctl_cmds.h>

/* UVERBS_METHOD_QUERY_CONTEXT: the provider's bytes behind the answer of GET_CONTEXT */
enum krdma_ib_attrs_query_context {
	KRDMA_IB_ATTR_QUERY_CONTEXT_ANSWER = 1U << UVERBS_ID_NS_SHIFT,
};

/* methods of UVERBS_OBJECT_PD */
enum krdma_ib_methods_pd {
	/* ENOENT: there is no such protection domain */
	KRDMA_IB_METHOD_PD_QUERY = 1U << UVERBS_ID_NS_SHIFT,
};

enum krdma_ib_attrs_pd_query {
	KRDMA_IB_ATTR_PD_QUERY_HANDLE = 1U << UVERBS_ID_NS_SHIFT,
};

#endif /* KRDMA_IB_ABI_H */
