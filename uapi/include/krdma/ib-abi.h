/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What krdma.ko adds to the verbs' commands of ib_uverbs, for libraries of providers. A
 * process that was given an open device by another (ibv_import_device()) asks with them
 * for what the first one was told.
 */
#ifndef KRDMA_IB_ABI_H
#define KRDMA_IB_ABI_H

#include <rdma/ib_user_ioctl_cmds.h>

/* UVERBS_METHOD_QUERY_CONTEXT: the provider's octets behind GET_CONTEXT's answer */
enum krdma_ib_attrs_query_context {
	KRDMA_IB_ATTR_QUERY_CONTEXT_ANSWER = 1U << UVERBS_ID_NS_SHIFT,
};

/* of UVERBS_OBJECT_PD */
enum krdma_ib_methods_pd {
	/* ENOENT when there is no such protection domain */
	KRDMA_IB_METHOD_PD_QUERY = 1U << UVERBS_ID_NS_SHIFT,
};

enum krdma_ib_attrs_pd_query {
	KRDMA_IB_ATTR_PD_QUERY_HANDLE = 1U << UVERBS_ID_NS_SHIFT,
};

#endif /* KRDMA_IB_ABI_H */
