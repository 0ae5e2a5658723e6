/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Generic netlink family of krdma_ops.ko: the offload protocols, the rules that say which
 * connections may use them, and the counters. Each network namespace has rules and counters of
 * its own. Changes need CAP_NET_ADMIN in the user namespace that owns the network namespace.
 */
#ifndef KRDMA_OFFLOAD_NETLINK_H
#define KRDMA_OFFLOAD_NETLINK_H

#define KRDMA_OFFLOAD_GENL_NAME		"krdma_offload"
#define KRDMA_OFFLOAD_GENL_VERSION	1

enum krdma_offload_cmd {
	KRDMA_OFFLOAD_CMD_UNSPEC,
	/* dump: NAME, NUMBER, CAPS, PRIORITY, SOCKETS, IPV6 of each protocol, by priority */
	KRDMA_OFFLOAD_CMD_PROTOCOL_GET,
	/*
	 * dump: the rules in the order in which they are looked at, with all attributes of
	 * RULE_ADD that the rule has, and ID and HITS
	 */
	KRDMA_OFFLOAD_CMD_RULE_GET,
	/*
	 * DIRECTION and ACTION, NAME with ACTION_PROTOCOL, and what a socket must have to match:
	 * ADDRESS4 or ADDRESS6, PREFIX_LEN, PORT_MIN, PORT_MAX, CGROUP or CGROUP_PATH, UID. The
	 * answer has the ID. EEXIST: a rule for the same sockets is there; ENOSPC: too many rules.
	 */
	KRDMA_OFFLOAD_CMD_RULE_ADD,
	/* ID; ENOENT: there is none */
	KRDMA_OFFLOAD_CMD_RULE_DEL,
	/* all rules of the namespace go */
	KRDMA_OFFLOAD_CMD_RULE_FLUSH,
	/* dump: NAME and VALUE of each counter */
	KRDMA_OFFLOAD_CMD_COUNTER_GET,
};

enum krdma_offload_attr {
	KRDMA_OFFLOAD_ATTR_UNSPEC,
	KRDMA_OFFLOAD_ATTR_PAD,
	KRDMA_OFFLOAD_ATTR_NAME,	/* string: of a protocol or a counter */
	KRDMA_OFFLOAD_ATTR_NUMBER,	/* u32: that programs give to socket() */
	KRDMA_OFFLOAD_ATTR_CAPS,	/* u32: OFFLOAD_* of krdma/offload.h */
	KRDMA_OFFLOAD_ATTR_PRIORITY,	/* s32 */
	KRDMA_OFFLOAD_ATTR_SOCKETS,	/* u32: the protocol's, and those that may become so */
	KRDMA_OFFLOAD_ATTR_IPV6,	/* flag: it takes AF_INET6 */
	KRDMA_OFFLOAD_ATTR_ID,		/* u32: of a rule */
	KRDMA_OFFLOAD_ATTR_DIRECTION,	/* u8: enum krdma_offload_direction */
	KRDMA_OFFLOAD_ATTR_ACTION,	/* u8: enum krdma_offload_action */
	KRDMA_OFFLOAD_ATTR_ADDRESS4,	/* be32 */
	KRDMA_OFFLOAD_ATTR_ADDRESS6,	/* 16 bytes */
	KRDMA_OFFLOAD_ATTR_PREFIX_LEN,	/* u8: of the address; missing: all of it */
	KRDMA_OFFLOAD_ATTR_PORT_MIN,	/* u16, host order */
	KRDMA_OFFLOAD_ATTR_PORT_MAX,	/* u16; missing: PORT_MIN */
	KRDMA_OFFLOAD_ATTR_CGROUP,	/* u64: id in the v2 hierarchy; descendants match, too */
	KRDMA_OFFLOAD_ATTR_CGROUP_PATH,	/* string: the same by path below the v2 hierarchy's root */
	KRDMA_OFFLOAD_ATTR_UID,		/* u32: owner of the socket */
	KRDMA_OFFLOAD_ATTR_HITS,	/* u64: how often the rule was asked about a protocol */
	KRDMA_OFFLOAD_ATTR_VALUE,	/* u64: of a counter */
	KRDMA_OFFLOAD_ATTR_END,
};

#define KRDMA_OFFLOAD_ATTR_MAX	(KRDMA_OFFLOAD_ATTR_END - 1)

enum krdma_offload_direction {
	KRDMA_OFFLOAD_CONNECT,	/* address and port are the peer's */
	KRDMA_OFFLOAD_LISTEN,	/* address and port are the socket's */
	KRDMA_OFFLOAD_SOCKET,	/* redirection of AF_INET by krdma_ops: uid and cgroup of a task */
};

enum krdma_offload_action {
	KRDMA_OFFLOAD_ACTION_ANY,	/* all protocols */
	KRDMA_OFFLOAD_ACTION_TCP,	/* no offload protocol */
	KRDMA_OFFLOAD_ACTION_RDMA,	/* those that move data by RDMA */
	KRDMA_OFFLOAD_ACTION_PROTOCOL,	/* the one called NAME; it may be registered later */
};

#define KRDMA_OFFLOAD_NAME_LEN	16	/* of a protocol, with the zero */
#define KRDMA_OFFLOAD_PATH_LEN	4096	/* of a cgroup, with the zero */

#endif /* KRDMA_OFFLOAD_NETLINK_H */
