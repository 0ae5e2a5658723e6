/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * ABI between krdma_soft.ko and its user library: the shared rings, and the private bytes of
 * the verbs' calls.
 *
 * Rules of all rings:
 *  - Indices are free-running u32 counters. The slot is index & (size - 1); sizes are powers
 *    of two. A ring is full when prod - cons == size.
 *  - The producer writes the entry, then stores prod with release. The consumer loads prod
 *    with acquire, copies the entry, then stores cons with release.
 *  - The kernel copies an entry once and then checks its copy. User space can only make its
 *    own QP or CQ fail.
 *
 * Doorbell: after storing prod the library executes a full barrier and loads flags. If
 * KRDMA_SOFT_RING_DOORBELL is set, it makes a system call without any work request: post_send
 * for a send or receive queue, post_srq_recv for a shared receive queue. The kernel clears the
 * flag while its transmitter runs. In a receive queue it sets the flag while a receiver waits
 * for an entry, and after the QP has failed.
 *
 * KRDMA_SOFT_RING_SOON asks the library to gather work requests. The library then rings when a
 * poll of a CQ finds no completion, when a CQ is armed, or when prod has reached due. If the
 * library does not ring, the kernel looks at the ring later.
 *
 * Fields have fixed widths, without implicit padding. Both sides assert the sizes.
 */
#ifndef KRDMA_SOFT_ABI_H
#define KRDMA_SOFT_ABI_H

#include <linux/types.h>

#define KRDMA_SOFT_ABI_VERSION	2
/* driver id in ib_core and libibverbs; "krdm", far from the upstream range */
#define KRDMA_DRIVER_ID		0x6b72646dU

#define KRDMA_SOFT_MAX_SGE	16
#define KRDMA_SOFT_MAX_INLINE	512

/* head of a send, receive or shared receive ring, one page */
struct krdma_soft_ring {
	__u32 prod;		/* send, receive: user writes */
	__u32 pad0[15];
	__u32 cons;		/* send, receive: kernel writes */
	__u32 flags;		/* KRDMA_SOFT_RING_*, kernel writes */
	__u32 due;		/* for KRDMA_SOFT_RING_SOON, kernel writes before flags */
	__u32 pad1[13];
};

#define KRDMA_SOFT_RING_DOORBELL	(1U << 0)	/* tell the kernel of new entries */
#define KRDMA_SOFT_RING_DEAD		(1U << 1)	/* device is gone: posting returns EIO */
#define KRDMA_SOFT_RING_SOON		(1U << 2)	/* tell the kernel, but gather first */

/* entries follow the head at this offset, with the stride that the kernel reported */
#define KRDMA_SOFT_RING_ENTRIES	4096

struct krdma_soft_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

enum krdma_soft_op {
	KRDMA_SOFT_OP_SEND,
	KRDMA_SOFT_OP_SEND_INV,
	KRDMA_SOFT_OP_WRITE,
	KRDMA_SOFT_OP_READ,
	KRDMA_SOFT_OP_LOCAL_INV,
	KRDMA_SOFT_OP_SEND_IMM,
	KRDMA_SOFT_OP_WRITE_IMM,
	KRDMA_SOFT_OP_FETCH_ADD,
	KRDMA_SOFT_OP_CMP_SWAP,
	KRDMA_SOFT_OP_BIND_MW,
	/* user space may use the opcodes above, but not those below */
	KRDMA_SOFT_OP_USER_END,
	KRDMA_SOFT_OP_KERNEL = 0x80,
	KRDMA_SOFT_OP_READ_INV = KRDMA_SOFT_OP_KERNEL,
	KRDMA_SOFT_OP_REG_MR,
	KRDMA_SOFT_OP_KERNEL_END,
};

#define KRDMA_SOFT_WQE_SIGNALED		(1U << 0)
#define KRDMA_SOFT_WQE_SOLICITED	(1U << 1)
#define KRDMA_SOFT_WQE_FENCE		(1U << 2)
#define KRDMA_SOFT_WQE_INLINE		(1U << 3)	/* length bytes instead of sge[] */
#define KRDMA_SOFT_WQE_MASKED		(1U << 4)	/* completes as a masked atomic operation */

/*
 * Operands of FETCH_ADD and CMP_SWAP, in the byte order of memory. The result is the previous
 * value at raddr. It is stored in the only element, which has 8 bytes.
 */
struct krdma_soft_atomic {
	__aligned_u64 swap_add;		/* CMP_SWAP: new value; FETCH_ADD: summand */
	__aligned_u64 swap_add_mask;	/* bits to swap; highest bit of each field to add */
	__aligned_u64 compare;
	__aligned_u64 compare_mask;
};

struct krdma_soft_sqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u16 num_sge;
	__u32 length;		/* inline data only */
	union {
		__u32 invalidate;	/* STag for SEND_INV, LOCAL_INV, READ_INV */
		__be32 imm;		/* immediate data for SEND_IMM, WRITE_IMM */
	};
	__u32 rkey;		/* remote STag; REG_MR, BIND_MW: new STag of region, window */
	__aligned_u64 raddr;	/* remote TO; REG_MR, BIND_MW: TO of the first byte */
	union {
		struct {
			__aligned_u64 mem_length;	/* REG_MR, BIND_MW: bytes */
			__u32 mem_access;	/* REG_MR, BIND_MW: enum ib_access_flags */
			__u32 mem_stag;		/* BIND_MW: STag of the region */
		};
		struct krdma_soft_atomic atomic;
		__aligned_u64 reserved[4];
	};
	struct krdma_soft_sge sge[];	/* or inline data */
};

struct krdma_soft_rqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	struct krdma_soft_sge sge[];
};

struct krdma_soft_cqe {
	__aligned_u64 wr_id;
	__u32 byte_len;
	__u32 qp_num;
	union {
		__u32 invalidated;	/* STag, with KRDMA_SOFT_WC_INVALIDATED */
		__be32 imm;		/* immediate data, with KRDMA_SOFT_WC_IMM */
	};
	__u32 vendor_err;	/* Terminate: layer << 12 | etype << 8 | code, 0 if none */
	__u8 status;		/* enum ibv_wc_status, same numbers as ib_wc_status */
	__u8 opcode;		/* enum ibv_wc_opcode */
	__u8 flags;		/* KRDMA_SOFT_WC_* */
	__u8 reserved[5];
};

#define KRDMA_SOFT_WC_INVALIDATED	(1U << 0)
#define KRDMA_SOFT_WC_IMM		(1U << 1)

/*
 * Time at which a completion was added, for a CQ that was created with times. The clocks are
 * CLOCK_MONOTONIC, in the time namespace of the process that created the CQ, and CLOCK_REALTIME,
 * in nanoseconds. There is one for each entry, in a separate array.
 */
struct krdma_soft_cq_stamp {
	__aligned_u64 monotonic;
	__aligned_u64 real;
};

/* head of a completion ring: kernel produces, user consumes */
struct krdma_soft_cq_ring {
	__u32 prod;		/* kernel writes */
	__u32 flags;		/* KRDMA_SOFT_RING_DEAD, kernel writes */
	__u32 pad0[14];
	__u32 cons;		/* user writes */
	__u32 arm;		/* KRDMA_SOFT_CQ_ARM_*; user sets, kernel clears */
	__u32 pad1[14];
};

/* user: full barrier after setting arm; kernel: one between prod and arm */
#define KRDMA_SOFT_CQ_ARM_NONE		0
#define KRDMA_SOFT_CQ_ARM_SOLICITED	1
#define KRDMA_SOFT_CQ_ARM_NEXT		2

/* Private bytes behind the verbs' own requests and responses. */

struct krdma_soft_ucontext_resp {
	__u32 abi_version;
	__u32 poll_yield;	/* polls in vain after which a thread yields; 0: not stated */
};

struct krdma_soft_cq_resp {
	__aligned_u64 ring_offset;	/* for mmap() */
	__aligned_u64 ring_size;	/* bytes to map */
	__u32 depth;			/* entries, power of two */
	__u32 cq_id;
	/* offset of struct krdma_soft_cq_stamp[depth] in the mapping; 0: no times */
	__aligned_u64 stamp_offset;
};

/*
 * A ring gets a new size in two calls, so that nothing can fail in between. With the first call
 * the kernel makes the new ring, and the library maps it. With the second call, while the
 * library's side of the ring is at rest, the kernel moves the waiting entries and changes over.
 * Indices go on counting. A new ring that was not changed to is freed by the next first call, or
 * with its queue.
 */
enum krdma_soft_resize_step {
	KRDMA_SOFT_RESIZE_PREPARE = 1,
	KRDMA_SOFT_RESIZE_SWITCH = 2,
};

/* resize_cq; the response of the first step is struct krdma_soft_cq_resp */
struct krdma_soft_resize_cq_req {
	__u32 step;
	__u32 reserved;
};

/* modify_srq with a new size; this verb has no response, so the request has an address for it */
struct krdma_soft_modify_srq_req {
	__u32 step;
	__u32 reserved;
	__aligned_u64 resp;	/* first step: address of struct krdma_soft_srq_resp */
};

struct krdma_soft_srq_resp {
	__aligned_u64 ring_offset;
	__aligned_u64 ring_size;
	__u32 depth;
	__u32 stride;
	__u32 srq_id;
	__u32 reserved;
};

/*
 * A queue of depth 0 has size 0 and no mapping. If rq_offset lies within the sq_size bytes from
 * sq_offset, the receive ring is part of the send ring's mapping and has none of its own.
 */
struct krdma_soft_qp_resp {
	__aligned_u64 sq_offset;
	__aligned_u64 sq_size;
	__aligned_u64 rq_offset;
	__aligned_u64 rq_size;
	__u32 sq_depth;
	__u32 sq_stride;
	__u32 rq_depth;
	__u32 rq_stride;
	__u32 max_inline;
	__u32 qp_num;
};

struct krdma_soft_mr_resp {
	__u32 stag;
	__u32 reserved;
};

#endif /* KRDMA_SOFT_ABI_H */
