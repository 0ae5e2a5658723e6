/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Generic netlink family of krdma_ops.ko: the roads beside TCP, the rules that say which sockets
 * may use them, the marked sockets, limits and counters. Each network namespace has its own.
 * Changes need CAP_NET_ADMIN in the user namespace that owns the network namespace; uids are of
 * that user namespace.
 */
#ifndef KRDMA_OFFLOAD_NETLINK_H
#define KRDMA_OFFLOAD_NETLINK_H

#define KRDMA_OFFLOAD_GENL_NAME		"krdma_offload"
#define KRDMA_OFFLOAD_GENL_VERSION	2

enum krdma_offload_cmd {
	KRDMA_OFFLOAD_CMD_UNSPEC,
	/* dump: NAME, NUMBER, CAPS, PRIORITY, SOCKETS of each road, by priority */
	KRDMA_OFFLOAD_CMD_ROAD_GET,
	/*
	 * dump: the rules in the order in which they are looked at, with all attributes of
	 * RULE_ADD that the rule has, and ID and HITS
	 */
	KRDMA_OFFLOAD_CMD_RULE_GET,
	/*
	 * DIRECTION and ACTION, NAME with ACTION_NAMED, and what a socket must have to match:
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
	/*
	 * dump: the marked sockets, without CAP_NET_ADMIN the caller's: ADDRESS4 or ADDRESS6 and
	 * PORT of this end, PEER4 or PEER6 and PEER_PORT, TCP_STATE, STATE, ID of the rule, UID,
	 * INODE, NAME and INFO of the road, the four counts of bytes, WHY
	 */
	KRDMA_OFFLOAD_CMD_SOCKET_GET,
	/*
	 * Marked sockets go back to TCP where no byte has changed over; FORCE: where one has, the
	 * connection ends. Those that match as a rule does (DIRECTION to UID of RULE_ADD); without
	 * DIRECTION and without anything else: all. The answer has VALUE: how many were changed.
	 */
	KRDMA_OFFLOAD_CMD_RESET,
	/* dump: LIMIT, NAME, VALUE, USED, and HOST: the module's parameter */
	KRDMA_OFFLOAD_CMD_LIMIT_GET,
	/* LIMIT and VALUE, at most HOST; without VALUE: as the parameter says. ERANGE: more */
	KRDMA_OFFLOAD_CMD_LIMIT_SET,
};

enum krdma_offload_attr {
	KRDMA_OFFLOAD_ATTR_UNSPEC,
	KRDMA_OFFLOAD_ATTR_PAD,
	KRDMA_OFFLOAD_ATTR_NAME,	/* string: of a road, a counter or a limit */
	KRDMA_OFFLOAD_ATTR_NUMBER,	/* u32: that programs give to socket(); 0: none */
	KRDMA_OFFLOAD_ATTR_CAPS,	/* u32: OFFLOAD_* of krdma/offload.h */
	KRDMA_OFFLOAD_ATTR_PRIORITY,	/* s32 */
	KRDMA_OFFLOAD_ATTR_SOCKETS,	/* u32: that use the road */
	KRDMA_OFFLOAD_ATTR_ID,		/* u32: of a rule */
	KRDMA_OFFLOAD_ATTR_DIRECTION,	/* u8: enum krdma_offload_direction */
	KRDMA_OFFLOAD_ATTR_ACTION,	/* u8: enum krdma_offload_action */
	KRDMA_OFFLOAD_ATTR_ADDRESS4,	/* be32 */
	KRDMA_OFFLOAD_ATTR_ADDRESS6,	/* 16 bytes */
	KRDMA_OFFLOAD_ATTR_PREFIX_LEN,	/* u8: of the address; missing: all of it */
	KRDMA_OFFLOAD_ATTR_PORT_MIN,	/* u16, host order */
	KRDMA_OFFLOAD_ATTR_PORT_MAX,	/* u16; missing: PORT_MIN */
	KRDMA_OFFLOAD_ATTR_CGROUP,	/* u64: id in the v2 hierarchy; descendants match, too */
	/*
	 * string: path below the root of the caller's cgroup namespace. It need not exist: each
	 * cgroup that gets this path matches, with its descendants.
	 */
	KRDMA_OFFLOAD_ATTR_CGROUP_PATH,
	KRDMA_OFFLOAD_ATTR_UID,		/* u32: owner of the socket */
	KRDMA_OFFLOAD_ATTR_HITS,	/* u64: sockets that the rule decided about */
	KRDMA_OFFLOAD_ATTR_VALUE,	/* u64: of a counter or a limit */
	KRDMA_OFFLOAD_ATTR_PORT,	/* u16, host order */
	KRDMA_OFFLOAD_ATTR_PEER4,	/* be32 */
	KRDMA_OFFLOAD_ATTR_PEER6,	/* 16 bytes */
	KRDMA_OFFLOAD_ATTR_PEER_PORT,	/* u16, host order */
	KRDMA_OFFLOAD_ATTR_TCP_STATE,	/* u8: TCP_ESTABLISHED ... of linux/tcp.h */
	KRDMA_OFFLOAD_ATTR_STATE,	/* u8: enum krdma_offload_state */
	KRDMA_OFFLOAD_ATTR_INODE,	/* u64: of the program's descriptor */
	KRDMA_OFFLOAD_ATTR_SENT,	/* u64: bytes by the road */
	KRDMA_OFFLOAD_ATTR_RECEIVED,	/* u64 */
	KRDMA_OFFLOAD_ATTR_TCP_SENT,	/* u64: bytes by TCP */
	KRDMA_OFFLOAD_ATTR_TCP_RECEIVED, /* u64 */
	KRDMA_OFFLOAD_ATTR_WHY,		/* string: name of a counter: why the socket is on TCP */
	KRDMA_OFFLOAD_ATTR_INFO,	/* nested: attributes of the road's own */
	KRDMA_OFFLOAD_ATTR_FORCE,	/* flag */
	KRDMA_OFFLOAD_ATTR_LIMIT,	/* u8: enum krdma_offload_limit */
	KRDMA_OFFLOAD_ATTR_USED,	/* u64: of a limit */
	KRDMA_OFFLOAD_ATTR_HOST,	/* u64: the most that a namespace may set */
	KRDMA_OFFLOAD_ATTR_END,
};

#define KRDMA_OFFLOAD_ATTR_MAX	(KRDMA_OFFLOAD_ATTR_END - 1)

enum krdma_offload_direction {
	KRDMA_OFFLOAD_CONNECT,	/* address and port are the peer's */
	KRDMA_OFFLOAD_LISTEN,	/* address and port are the socket's */
};

enum krdma_offload_action {
	KRDMA_OFFLOAD_ACTION_ANY,	/* each road, where it is faster than TCP */
	KRDMA_OFFLOAD_ACTION_TCP,	/* the socket is left alone */
	KRDMA_OFFLOAD_ACTION_NAMED,	/* the road NAME, even where it is slower; may come later */
};

/* what has become of a marked socket */
enum krdma_offload_state {
	KRDMA_OFFLOAD_STATE_MARKED,	/* a listener, or not established yet */
	KRDMA_OFFLOAD_STATE_OPENING,	/* the road is being opened; TCP carries the bytes */
	KRDMA_OFFLOAD_STATE_TCP,	/* TCP carries the bytes, and it stays so: WHY */
	KRDMA_OFFLOAD_STATE_UP,		/* the road is open, no direction has changed yet */
	KRDMA_OFFLOAD_STATE_SENDING,	/* this end sends by the road */
	KRDMA_OFFLOAD_STATE_RECEIVING,	/* this end receives by the road */
	KRDMA_OFFLOAD_STATE_BOTH,
};

enum krdma_offload_limit {
	KRDMA_OFFLOAD_LIMIT_RULES,		/* rules */
	KRDMA_OFFLOAD_LIMIT_PEERS,		/* peers that a road did not reach */
	KRDMA_OFFLOAD_LIMIT_BAD_PEER_S,		/* seconds for which they are remembered */
	KRDMA_OFFLOAD_LIMIT_CONNECTIONS,	/* connections with a road */
	KRDMA_OFFLOAD_LIMIT_MEMORY,		/* bytes of roads' buffers */
};

#define KRDMA_OFFLOAD_LIMITS	5

#define KRDMA_OFFLOAD_NAME_LEN	16	/* of a road, with the zero */
#define KRDMA_OFFLOAD_PATH_LEN	1024	/* of a cgroup, with the zero */

#endif /* KRDMA_OFFLOAD_NETLINK_H */
