/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The direct path: both ends of a stream are queue pairs of this host.
 */
#ifndef SOFT_DIRECT_H
#define SOFT_DIRECT_H

#include <linux/build_bug.h>
#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>

struct soft_qp;
struct soft_tx_ops;

/**
 * struct soft_stream_id - identity of a TCP connection, seen from one end
 * @local: local address; IPv4 is mapped into IPv6
 * @remote: remote address
 * @local_port: local port
 * @remote_port: remote port
 * @sent: sequence number of the first byte that this end sent
 * @received: sequence number of the first byte that this end received
 *
 * The identity seen from the other end has the members of each pair exchanged. The sequence
 * numbers are random, so no other connection of this host has the same identity, whatever its
 * network namespace.
 */
struct soft_stream_id {
	struct in6_addr local;
	struct in6_addr remote;
	__be16 local_port;
	__be16 remote_port;
	u32 sent;
	u32 received;
};

/* the key is compared byte by byte, so it must have no holes */
static_assert(sizeof(struct soft_stream_id) == 2 * 16 + 2 * 2 + 2 * 4);

/**
 * struct soft_direct - a queue pair's part in the direct path
 * @qp: queue pair
 * @node: entry in the table of streams
 * @id: key in that table
 * @listed: @node is in the table; under the table's lock
 * @users: references: one for the stream, one for each push of the peer in progress
 * @unused: completed when @users falls to 0
 */
struct soft_direct {
	struct soft_qp *qp;
	struct rhash_head node;
	struct soft_stream_id id;
	bool listed;
	refcount_t users;
	struct completion unused;
};

int soft_direct_init(void);
void soft_direct_exit(void);

void soft_direct_init_qp(struct soft_direct *direct, struct soft_qp *qp);
bool soft_direct_join(struct soft_qp *qp);
bool soft_direct_busy(struct soft_qp *qp);
void soft_direct_leave(struct soft_qp *qp);

extern const struct soft_tx_ops soft_direct_ops;

#endif /* SOFT_DIRECT_H */
