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
#include <krdma/soft-abi.h>

#include "wire/ddp.h"

struct soft_qp;

/* of a segment; the receiver's socket is locked for as long as it takes to copy it */
#define SOFT_DIRECT_PAYLOAD	(256 * 1024U)

/*
 * Messages up to this go together as FPDUs, which costs a second copy and, where the stream
 * has one, the CRC; longer ones are copied one by one, from memory to memory.
 */
#define SOFT_DIRECT_RUN		4096U
#define SOFT_DIRECT_RUN_CRC	1024U

/* so many octets are copied so in the time of one through TCP, by the transmitter's bounds */
#define SOFT_DIRECT_COST	4

/** enum soft_same_host - which streams may leave TCP, parameter same_host */
enum soft_same_host {
	SOFT_SAME_HOST_OFF,
	SOFT_SAME_HOST_NETNS,	/* both ends in one network namespace */
	SOFT_SAME_HOST_ANY,
};

/**
 * struct soft_stream_id - what a TCP connection is known by at one end
 * @local: address; IPv4 mapped into IPv6
 * @remote: the other end's
 * @local_port: of @local
 * @remote_port: of @remote
 * @sent: sequence number of the first octet that this end sent
 * @received: of the first that it received
 *
 * The other end's has each pair exchanged. The sequence numbers are random, so no
 * other connection of this host, in whatever namespace, has the same.
 */
struct soft_stream_id {
	struct in6_addr local;
	struct in6_addr remote;
	__be16 local_port;
	__be16 remote_port;
	u32 sent;
	u32 received;
};

/* a key that is compared as octets: no holes */
static_assert(sizeof(struct soft_stream_id) == 2 * 16 + 2 * 2 + 2 * 4);

/**
 * struct soft_direct - a queue pair's part in the direct path
 * @node: in the table of streams
 * @id: its key there
 * @listed: it is there; under the table's lock
 * @peer: the other end, or NULL; changes under the table's lock and the QP's
 * @users: one of the stream, one of each push of the peer in progress
 * @unused: completed when @users falls to 0
 */
struct soft_direct {
	struct rhash_head node;
	struct soft_stream_id id;
	bool listed;
	struct soft_qp *peer;
	refcount_t users;
	struct completion unused;
};

/**
 * struct soft_place - where octets of a sender's memory are
 * @stag: of the memory
 * @need: the right that the sender needs to read them
 * @to: tagged offset of the first
 */
struct soft_place {
	u32 stag;
	int need;
	u64 to;
};

/**
 * struct soft_direct_seg - a segment on its way to a peer on this host
 * @len: octets of @raw in use; 0 when there is no segment
 * @payload: octets that follow them, in the sender's memory
 * @at: where
 * @from: the sender
 * @of_message: a segment of soft_tx.msg, which moves on when it is delivered
 * @raw: ULPDU_Length, which counts what stands here; headers and what comes with them
 */
struct soft_direct_seg {
	u32 len;
	u32 payload;
	struct soft_place at;
	struct soft_qp *from;
	bool of_message;
	u8 raw[SOFT_MPA_HDR + SOFT_UNTAGGED_HDR + KRDMA_SOFT_MAX_INLINE];
};

static_assert(sizeof_field(struct soft_direct_seg, raw) >= SOFT_TERM_ULPDU_MAX);
static_assert(sizeof_field(struct soft_direct_seg, raw) >= SOFT_HDR_MAX);

int soft_direct_init(void);
void soft_direct_exit(void);

void soft_direct_join(struct soft_qp *qp);
void soft_direct_leave(struct soft_qp *qp);
bool soft_direct_switch(struct soft_qp *qp);
int soft_direct_push(struct soft_qp *qp);
u32 soft_direct_give(struct soft_qp *qp, u32 *fpdus);
void soft_direct_wake(struct soft_qp *qp);

#endif /* SOFT_DIRECT_H */
