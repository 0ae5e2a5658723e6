/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Generic netlink family of krdma.ko: connections, listeners and the use of RNICs, with the
 * processes that made them. "krdma resource" is the caller.
 *
 * A caller sees its network namespace. With CAP_NET_ADMIN in the user namespace that owns it, the
 * caller sees what all users have made there, else only what was made with the effective user that
 * made the netlink socket. Processes are named if they are in the reader's PID namespace.
 */
#ifndef KRDMA_NETLINK_H
#define KRDMA_NETLINK_H

#define KRDMA_GENL_NAME		"krdma"
#define KRDMA_GENL_VERSION	1

enum krdma_genl_cmd {
	KRDMA_GENL_CMD_UNSPEC,
	/* dump: one message for each connection and listener, of every consumer */
	KRDMA_GENL_CMD_ENDPOINT_GET,
	/* dump: one message for each context of an open /dev/krdma; its process opened that */
	KRDMA_GENL_CMD_CONTEXT_GET,
};

enum krdma_genl_attr {
	KRDMA_GENL_ATTR_UNSPEC,
	KRDMA_GENL_ATTR_PAD,
	/* both commands */
	KRDMA_GENL_ATTR_RNIC_INDEX,	/* u32: as in /dev/krdma */
	KRDMA_GENL_ATTR_RNIC_NAME,	/* string */
	KRDMA_GENL_ATTR_UID,		/* u32: effective user of the process when it made it */
	KRDMA_GENL_ATTR_PID,		/* u32: not if the process has ended */
	KRDMA_GENL_ATTR_COMMAND,	/* string: at that time */
	/* ENDPOINT_GET */
	KRDMA_GENL_ATTR_STATE,		/* string, as in "rdma resource show cm_id -dd" */
	KRDMA_GENL_ATTR_LISTENER,	/* flag */
	KRDMA_GENL_ATTR_LOCAL,		/* struct krdma_addr; not if it is not known */
	KRDMA_GENL_ATTR_REMOTE,		/* struct krdma_addr; not of a listener */
	KRDMA_GENL_ATTR_QP,		/* u32: number of the queue pair, if there is one */
	/* CONTEXT_GET: u32: objects in it, by kind */
	KRDMA_GENL_ATTR_PDS,
	KRDMA_GENL_ATTR_CQS,
	KRDMA_GENL_ATTR_SRQS,
	KRDMA_GENL_ATTR_QPS,
	KRDMA_GENL_ATTR_MRS,
	KRDMA_GENL_ATTR_MWS,
	KRDMA_GENL_ATTR_END,
};

#define KRDMA_GENL_ATTR_MAX	(KRDMA_GENL_ATTR_END - 1)

#endif /* KRDMA_NETLINK_H */
