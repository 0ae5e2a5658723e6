/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * ABI of /dev/krdma, the interface of the kernel access layer for programs.
 *
 * An open file belongs to the network namespace in which it was opened, and sees only the
 * RNICs of that namespace. Each object that is made through the file has a handle, a number that
 * is unique in the file and means nothing elsewhere. All objects are gone after the last close.
 *
 * Commands: ioctl(fd, KRDMA_IOC_..., &cmd). Each structure begins with its size, as the caller
 * knows it. The kernel reads missing members of a shorter structure as zeros. The surplus of a
 * longer structure must be zeros (E2BIG). So either side may be the newer one. Results are written
 * into the structure. Errors of any command:
 *   EINVAL	a reserved field or unknown flag is not 0, or a handle is of another kind
 *   ENOENT	there is no such handle
 *   ENOTTY	there is no such command
 *   EOPNOTSUPP	the RNIC does not have this verb
 *   ENODEV	the RNIC is gone
 * KRDMA_IOC_CALL reports more than the errno.
 *
 * Events: read(fd) returns as many whole records as fit; poll() says whether there is one. A read
 * that is too short for the first record gets EINVAL and takes nothing.
 *
 * The numbers of operations, states, statuses, access flags and asynchronous events are those of
 * the verbs in ib_core and libibverbs (IBV_...). This header has names of its own for them.
 *
 * Fields have fixed widths, without implicit padding, and are the same for 32-bit and 64-bit
 * programs. Both sides assert sizes and offsets.
 */
#ifndef KRDMA_ABI_H
#define KRDMA_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KRDMA_ABI_VERSION	1
#define KRDMA_DEVICE		"/dev/krdma"
#define KRDMA_NAME_LEN		64
#define KRDMA_IOC_TYPE		'k'

/* an IPv4 or IPv6 address, with or without a port; family 0: no address */
struct krdma_addr {
	__u16 family;		/* AF_INET, AF_INET6 */
	__be16 port;
	__u32 scope_id;		/* interface of a link-local IPv6 address */
	__u8 addr[16];		/* IPv4: the first 4 bytes, the rest is 0 */
};

/* Numbers of the verbs ***************************************************** */

/* access rights of a region, a window or a queue pair */
#define KRDMA_ACCESS_LOCAL_WRITE	(1U << 0)
#define KRDMA_ACCESS_REMOTE_WRITE	(1U << 1)
#define KRDMA_ACCESS_REMOTE_READ	(1U << 2)
#define KRDMA_ACCESS_REMOTE_ATOMIC	(1U << 3)
#define KRDMA_ACCESS_MW_BIND		(1U << 4)	/* windows may be bound to it */
#define KRDMA_ACCESS_ZERO_BASED		(1U << 5)	/* tagged offsets begin at 0 */

/* operations of work requests */
enum krdma_wr_opcode {
	KRDMA_WR_RDMA_WRITE		= 0,
	KRDMA_WR_RDMA_WRITE_WITH_IMM	= 1,
	KRDMA_WR_SEND			= 2,
	KRDMA_WR_SEND_WITH_IMM		= 3,
	KRDMA_WR_RDMA_READ		= 4,
	KRDMA_WR_ATOMIC_CMP_AND_SWP	= 5,
	KRDMA_WR_ATOMIC_FETCH_AND_ADD	= 6,
	KRDMA_WR_LOCAL_INV		= 7,
	KRDMA_WR_BIND_MW		= 8,
	KRDMA_WR_SEND_WITH_INV		= 9,
};

/* operation of a completion that succeeded */
enum krdma_wc_opcode {
	KRDMA_WC_SEND			= 0,	/* of any kind */
	KRDMA_WC_RDMA_WRITE		= 1,
	KRDMA_WC_RDMA_READ		= 2,
	KRDMA_WC_COMP_SWAP		= 3,
	KRDMA_WC_FETCH_ADD		= 4,
	KRDMA_WC_BIND_MW		= 5,
	KRDMA_WC_LOCAL_INV		= 6,
	KRDMA_WC_RECV			= 128,	/* this bit marks receives */
	KRDMA_WC_RECV_RDMA_WITH_IMM	= 129,	/* consumed by an RDMA Write */
};

/* flags of a completion: the meaning of imm */
#define KRDMA_WC_WITH_IMM	(1U << 1)	/* immediate data */
#define KRDMA_WC_WITH_INV	(1U << 3)	/* the STag that the peer invalidated */

/* status of a completion */
enum krdma_status {
	KRDMA_STATUS_SUCCESS		= 0,
	KRDMA_STATUS_LOC_LEN_ERR	= 1,	/* a receive was too short */
	KRDMA_STATUS_LOC_QP_OP_ERR	= 2,
	KRDMA_STATUS_LOC_EEC_OP_ERR	= 3,
	KRDMA_STATUS_LOC_PROT_ERR	= 4,	/* this side's memory */
	KRDMA_STATUS_WR_FLUSH_ERR	= 5,	/* the connection had ended before */
	KRDMA_STATUS_MW_BIND_ERR	= 6,	/* Bind, Local Invalidate */
	KRDMA_STATUS_BAD_RESP_ERR	= 7,
	KRDMA_STATUS_LOC_ACCESS_ERR	= 8,
	KRDMA_STATUS_REM_INV_REQ_ERR	= 9,	/* the peer refused it */
	KRDMA_STATUS_REM_ACCESS_ERR	= 10,	/* the peer's memory */
	KRDMA_STATUS_REM_OP_ERR		= 11,
	KRDMA_STATUS_RETRY_EXC_ERR	= 12,
	KRDMA_STATUS_RNR_RETRY_EXC_ERR	= 13,
	KRDMA_STATUS_LOC_RDD_VIOL_ERR	= 14,
	KRDMA_STATUS_REM_INV_RD_REQ_ERR	= 15,
	KRDMA_STATUS_REM_ABORT_ERR	= 16,
	KRDMA_STATUS_INV_EECN_ERR	= 17,
	KRDMA_STATUS_INV_EEC_STATE_ERR	= 18,
	KRDMA_STATUS_FATAL_ERR		= 19,
	KRDMA_STATUS_RESP_TIMEOUT_ERR	= 20,
	KRDMA_STATUS_GENERAL_ERR	= 21,
};

/* states of a queue pair; an RNIC shows INIT, RTS, SQD and ERR */
enum krdma_qp_state {
	KRDMA_QP_STATE_RESET		= 0,
	KRDMA_QP_STATE_INIT		= 1,	/* new or reset */
	KRDMA_QP_STATE_RTR		= 2,
	KRDMA_QP_STATE_RTS		= 3,	/* connected */
	KRDMA_QP_STATE_SQD		= 4,	/* closing or resting, see KRDMA_QP_SQD_NOTIFY */
	KRDMA_QP_STATE_SQE		= 5,
	KRDMA_QP_STATE_ERR		= 6,	/* the connection has ended */
};

/* asynchronous events: code of KRDMA_EVENT_ASYNC */
enum krdma_async {
	KRDMA_ASYNC_CQ_ERR		= 0,	/* the CQ overflowed and is dead */
	KRDMA_ASYNC_QP_FATAL		= 1,
	KRDMA_ASYNC_QP_REQ_ERR		= 2,
	KRDMA_ASYNC_QP_ACCESS_ERR	= 3,
	KRDMA_ASYNC_COMM_EST		= 4,
	KRDMA_ASYNC_SQ_DRAINED		= 5,
	KRDMA_ASYNC_PATH_MIG		= 6,
	KRDMA_ASYNC_PATH_MIG_ERR	= 7,
	KRDMA_ASYNC_DEVICE_FATAL	= 8,	/* the RNIC is gone */
	KRDMA_ASYNC_PORT_ACTIVE		= 9,
	KRDMA_ASYNC_PORT_ERR		= 10,
	KRDMA_ASYNC_LID_CHANGE		= 11,
	KRDMA_ASYNC_PKEY_CHANGE		= 12,
	KRDMA_ASYNC_SM_CHANGE		= 13,
	KRDMA_ASYNC_SRQ_ERR		= 14,
	KRDMA_ASYNC_SRQ_LIMIT_REACHED	= 15,
	KRDMA_ASYNC_QP_LAST_WQE_REACHED	= 16,
	KRDMA_ASYNC_CLIENT_REREGISTER	= 17,
	KRDMA_ASYNC_GID_CHANGE		= 18,
	KRDMA_ASYNC_WQ_FATAL		= 19,
};

/* RNICs ******************************************************************** */

struct krdma_rnic_entry {
	__u32 index;		/* of the RNIC, never used again */
	__u32 ifindex;		/* of its network device, 0: none */
	char name[KRDMA_NAME_LEN];
};

/* KRDMA_IOC_RNIC_LIST: the RNICs of the namespace */
struct krdma_rnic_list {
	__u32 size;
	__u32 count;		/* in: room at entries; out: number of RNICs */
	__aligned_u64 entries;	/* struct krdma_rnic_entry[] */
};

#define KRDMA_RNIC_UP		(1U << 0)	/* the link is up */

/* krdma_rnic_query.caps */
#define KRDMA_CAP_LLP_OFFLOAD	(1U << 0)	/* its connections are not the host's sockets */
#define KRDMA_CAP_SRQ		(1U << 1)	/* shared receive queues */
#define KRDMA_CAP_ALLOW_DELETE	(1U << 2)	/* "rdma link add" made it */
#define KRDMA_CAP_MARKERS	(1U << 3)	/* MPA markers, if the peer wants them */
#define KRDMA_CAP_DMABUF	(1U << 4)	/* registers dma-bufs */
#define KRDMA_CAP_SG_GAPS	(1U << 5)	/* kernel consumers register lists with gaps */
#define KRDMA_CAP_OWN_PINS	(1U << 6)	/* its driver pins registered memory */
#define KRDMA_CAP_FIXED_CQ	(1U << 7)	/* completion queues keep their depth */
#define KRDMA_CAP_IMMEDIATE	(1U << 8)	/* Sends and Writes with immediate data */

/* KRDMA_IOC_RNIC_QUERY */
struct krdma_rnic_query {
	__u32 size;
	__u32 index;		/* in */
	__u32 flags;		/* out, as are all members from here: KRDMA_RNIC_* */
	__u32 ifindex;
	char name[KRDMA_NAME_LEN];
	char netdev[16];
	char provider[KRDMA_NAME_LEN];	/* the provider's module */
	char uvp[KRDMA_NAME_LEN];	/* the provider's user library; empty: none */
	__u32 uvp_abi;		/* version between module and library */
	__u32 transport;	/* 0 iWARP, 1 InfiniBand, 2 RoCE */
	__u32 caps;		/* KRDMA_CAP_* */
	__u32 vendor_id;
	__u32 vendor_part_id;
	__u32 hw_version;
	__aligned_u64 fw_version;
	__aligned_u64 node_guid;	/* as a number, not network order */
	__u8 mac[8];		/* the first mac_len bytes */
	__u32 mac_len;
	__u32 mtu;		/* of the network device */
	__u32 num_ceh;		/* completion event handlers */
	__u32 num_counters;
	__aligned_u64 max_mr_size;
	__aligned_u64 device_cap_flags;	/* IBV_DEVICE_*, as in ibv_device_attr_ex */
	__u32 max_qp;
	__u32 max_qp_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_sge_rd;
	__u32 max_inline;
	__u32 max_cq;
	__u32 max_cqe;
	__u32 max_mr;
	__u32 max_mw;
	__u32 max_pd;
	__u32 max_srq;
	__u32 max_srq_wr;
	__u32 max_srq_sge;
	__u32 max_ird;		/* inbound reads of a QP */
	__u32 max_ord;		/* outbound */
	__u32 objects[8];	/* in use by all: context, PD, CQ, SRQ, QP, MR, MW; the last: 0 */
	__aligned_u64 timestamp_mask;	/* bits of a completion's time; 0: no times */
	__u32 clock_khz;	/* rate of the clock for these times */
	__u32 num_ports;	/* ports, numbered from 1 on */
};

/* KRDMA_IOC_RNIC_PORT: the state of a port */
struct krdma_rnic_port {
	__u32 size;
	__u32 index;		/* in: of the RNIC */
	__u32 port;		/* in: from 1 on */
	__u32 state;		/* out, as are all members from here: IBV_PORT_* */
	__u32 path_mtu;		/* largest MTU of a path in bytes; 0: it has no meaning */
	__u32 lid;		/* InfiniBand's local identifier, else 0 */
	__u32 ifindex;		/* of the network device below, 0: none in this namespace */
	__u32 reserved;
	__u8 gid[16];		/* the first GID; zero: none */
	char netdev[16];
};

struct krdma_counter {
	char name[56];
	__aligned_u64 value;
};

/* KRDMA_IOC_RNIC_COUNTERS */
struct krdma_rnic_counters {
	__u32 size;
	__u32 index;
	__u32 count;		/* in: room; out: number of counters */
	__u32 reserved;
	__aligned_u64 entries;	/* struct krdma_counter[] */
};

/*
 * KRDMA_IOC_RNIC_FIND: find the RNIC of the network device that has the local address, or that
 * leads to the remote address. ENODEV: there is none.
 */
struct krdma_rnic_find {
	__u32 size;
	__u32 index;		/* out */
	struct krdma_addr local;	/* in: one of the two */
	struct krdma_addr remote;
};

struct krdma_qp_entry {
	__u32 number;		/* of the QP */
	__u32 reserved;
	struct krdma_addr local;	/* family 0: not connected */
	struct krdma_addr remote;
	__aligned_u64 tx_octets;
	__aligned_u64 tx_messages;
	__aligned_u64 rx_octets;
	__aligned_u64 rx_messages;
	__aligned_u64 retransmissions;
};

/*
 * KRDMA_IOC_QP_LIST: all QPs of an RNIC in the order of their numbers, up to 256 at once. EPERM
 * without CAP_NET_ADMIN over the namespace.
 */
struct krdma_qp_list {
	__u32 size;
	__u32 index;
	__u32 count;		/* in: room at entries; out: number of entries */
	__u32 next;		/* in: lowest QP number; out: for the next call, 0: no more */
	__aligned_u64 entries;	/* struct krdma_qp_entry[] */
};

/* Contexts and objects ***************************************************** */

/* private bytes of a verb, as the provider's user library and module agreed */
struct krdma_private {
	__aligned_u64 in;
	__aligned_u64 out;
	__u32 in_len;
	__u32 out_len;
};

/* KRDMA_IOC_CONTEXT: begin to use an RNIC */
struct krdma_context {
	__u32 size;
	__u32 index;		/* in: RNIC */
	__u32 handle;		/* out */
	__u32 flags;		/* KRDMA_SLOW: no user library, every call is a command */
	__aligned_u64 cookie;	/* returned with events of the RNIC */
	struct krdma_private priv;
};

#define KRDMA_SLOW	(1U << 0)

/*
 * KRDMA_IOC_DESTROY: destroy an object of any kind. EBUSY while other objects need it. Unread
 * records of the object are dropped: none comes after return.
 */
struct krdma_destroy {
	__u32 size;
	__u32 handle;
};

/* KRDMA_IOC_PD */
struct krdma_pd {
	__u32 size;
	__u32 context;
	__u32 handle;		/* out */
	__u32 id;		/* out: the kAL's id, which "rdma resource" prints */
	struct krdma_private priv;
};

/* KRDMA_IOC_CQ. A CQ of a slow context is polled and armed by commands. */
#define KRDMA_CQ_TIMES		(1U << 0)
struct krdma_cq {
	__u32 size;
	__u32 context;
	__u32 handle;		/* out */
	__u32 id;		/* out */
	__u32 depth;		/* in: wanted; out: granted */
	__u32 ceh;		/* completion event handler */
	__aligned_u64 cookie;	/* returned with its events */
	struct krdma_private priv;
	__u32 flags;		/* KRDMA_CQ_TIMES: keep the time of each completion */
	__u32 reserved2;
};

/* time at which a completion was added, for the user library of a CQ with KRDMA_CQ_TIMES */
struct krdma_wc_time {
	__aligned_u64 device;	/* the RNIC's clock, see clock_khz and timestamp_mask */
	__aligned_u64 real;	/* CLOCK_REALTIME in nanoseconds, 0: not known */
};

/* KRDMA_IOC_CQ_MODIFY */
#define KRDMA_CQ_DEPTH		(1U << 0)
#define KRDMA_CQ_MODERATION	(1U << 1)
struct krdma_cq_modify {
	__u32 size;
	__u32 handle;
	__u32 mask;		/* KRDMA_CQ_*, one of them */
	__u32 depth;		/* in and out */
	__u16 count;		/* moderation: completions */
	__u16 period_us;
	__u32 reserved;
	struct krdma_private priv;
};

struct krdma_wc {
	__aligned_u64 wr_id;
	__u32 status;		/* enum krdma_status */
	__u32 opcode;		/* enum krdma_wc_opcode */
	__u32 vendor_err;	/* the provider's own code of a failure, see krdma-abi.md */
	__u32 byte_len;
	__be32 imm;		/* or, in the host's byte order, the invalidated STag */
	__u32 qp;		/* QP number */
	__u32 flags;		/* KRDMA_WC_WITH_* */
	__u32 reserved;
};

/* KRDMA_IOC_CQ_POLL: poll a CQ of a slow context */
struct krdma_cq_poll {
	__u32 size;
	__u32 handle;
	__u32 count;		/* in: room; out: taken */
	__u32 reserved;
	__aligned_u64 entries;	/* struct krdma_wc[] */
};

/* KRDMA_IOC_CQ_NOTIFY: arm a CQ of a slow context */
struct krdma_cq_notify {
	__u32 size;
	__u32 handle;
	__u32 solicited;	/* only for solicited completions and errors */
	__u32 missed;		/* out: a completion may be there already; poll */
};

/* KRDMA_IOC_SRQ */
struct krdma_srq {
	__u32 size;
	__u32 pd;
	__u32 handle;		/* out */
	__u32 id;		/* out */
	__u32 max_wr;		/* in and out */
	__u32 max_sge;		/* in and out */
	__u32 limit;
	__u32 reserved;
	__aligned_u64 cookie;
	struct krdma_private priv;
};

/* KRDMA_IOC_SRQ_MODIFY, KRDMA_IOC_SRQ_QUERY */
#define KRDMA_SRQ_MAX_WR	(1U << 0)
#define KRDMA_SRQ_LIMIT		(1U << 1)
struct krdma_srq_attr {
	__u32 size;
	__u32 handle;
	__u32 mask;		/* MODIFY: KRDMA_SRQ_*; QUERY: 0 */
	__u32 max_wr;
	__u32 max_sge;		/* out */
	__u32 limit;
	struct krdma_private priv;
};

/* KRDMA_IOC_QP */
#define KRDMA_QP_SIGNAL_ALL	(1U << 0)
struct krdma_qp {
	__u32 size;
	__u32 pd;
	__u32 handle;		/* out */
	__u32 number;		/* out: QP number */
	__u32 send_cq;
	__u32 recv_cq;
	__u32 srq;		/* 0: none */
	__u32 flags;		/* KRDMA_QP_* */
	__u32 max_send_wr;	/* this and the next four: in: wanted; out: granted */
	__u32 max_recv_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline;
	__u32 reserved;
	__aligned_u64 cookie;	/* returned with its events; a connection has its own */
	struct krdma_private priv;
};

/* KRDMA_IOC_QP_QUERY, KRDMA_IOC_QP_MODIFY */
#define KRDMA_QP_STATE		(1U << 0)
#define KRDMA_QP_ACCESS		(1U << 1)
/* with STATE and SQD: InfiniBand's SQD, in which requests rest until RTS; else iWARP's Closing */
#define KRDMA_QP_SQD_NOTIFY	(1U << 2)
struct krdma_qp_attr {
	__u32 size;
	__u32 handle;
	__u32 mask;		/* MODIFY: KRDMA_QP_*; QUERY: 0 */
	__u32 state;		/* enum krdma_qp_state; MODIFY: RESET, INIT, RTS, SQD, ERR */
	__u32 access;		/* KRDMA_ACCESS_REMOTE_* */
	__u32 ird;		/* out, as are the next members */
	__u32 ord;
	__u32 max_send_wr;
	__u32 max_recv_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline;
	struct krdma_addr local;	/* family 0: not connected */
	struct krdma_addr remote;
	__u32 mpa_revision;
	__u32 mss;
	__u32 crc;		/* 1: in use */
	__u32 markers;		/* bit 0: sent, bit 1: received */
	__u32 cwnd;
	__u32 srtt_us;
	__aligned_u64 tx_octets;
	__aligned_u64 tx_messages;
	__aligned_u64 rx_octets;
	__aligned_u64 rx_messages;
	__aligned_u64 retransmissions;
	__u32 sqd_notify;	/* 1: KRDMA_ASYNC_SQ_DRAINED is wanted; also for MODIFY */
	__u32 draining;		/* 1: in SQD with unfinished requests */
};

struct krdma_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

#define KRDMA_SEND_FENCE	(1U << 0)
#define KRDMA_SEND_SIGNALED	(1U << 1)
#define KRDMA_SEND_SOLICITED	(1U << 2)
#define KRDMA_SEND_INLINE	(1U << 3)
/* a work request; the receive commands use only wr_id, sges and num_sge */
struct krdma_wr {
	__aligned_u64 wr_id;
	__aligned_u64 sges;	/* struct krdma_sge[num_sge]; INLINE: of the caller's memory */
	__u32 num_sge;
	__u32 opcode;		/* enum krdma_wr_opcode */
	__u32 flags;		/* KRDMA_SEND_* */
	__be32 imm;		/* or, in the host's byte order, the STag to invalidate */
	__aligned_u64 remote_addr;
	__u32 rkey;		/* BIND_MW: new STag of the window, with the same index */
	__u32 mw;		/* BIND_MW: handle of the window */
	__aligned_u64 compare_add;	/* atomic operations */
	__aligned_u64 swap;
	__aligned_u64 bind_addr;	/* BIND_MW */
	__aligned_u64 bind_length;
	__u32 bind_lkey;	/* BIND_MW: STag of the region */
	__u32 bind_access;
};

/*
 * KRDMA_IOC_POST_SEND, KRDMA_IOC_POST_RECV, KRDMA_IOC_POST_SRQ: post work requests in a slow
 * context. In a fast context count is 0, and the command is the doorbell of a shared ring. On an
 * error, done is the number of requests that were posted before it.
 */
struct krdma_post {
	__u32 size;
	__u32 handle;
	__u32 count;
	__u32 done;		/* out */
	__aligned_u64 wrs;	/* struct krdma_wr[] */
};

/* KRDMA_IOC_MR */
#define KRDMA_MR_DMABUF		(1U << 0)
struct krdma_mr {
	__u32 size;
	__u32 pd;
	__u32 handle;		/* out */
	__u32 stag;		/* out */
	__u32 flags;		/* KRDMA_MR_* */
	__u32 access;		/* KRDMA_ACCESS_* */
	__aligned_u64 start;	/* address, or offset in the dma-buf */
	__aligned_u64 length;
	__aligned_u64 iova;	/* tagged offset of the first byte */
	__s32 fd;		/* the dma-buf */
	__u32 reserved;
	struct krdma_private priv;
};

/* KRDMA_IOC_MR_REREGISTER */
#define KRDMA_REREG_TRANSLATION	(1U << 0)
#define KRDMA_REREG_PD		(1U << 1)
#define KRDMA_REREG_ACCESS	(1U << 2)
struct krdma_mr_reregister {
	__u32 size;
	__u32 handle;
	__u32 mask;		/* KRDMA_REREG_* */
	__u32 pd;
	__u32 access;
	__u32 stag;		/* out */
	__aligned_u64 start;
	__aligned_u64 length;
	__aligned_u64 iova;
};

/* KRDMA_IOC_MW */
struct krdma_mw {
	__u32 size;
	__u32 pd;
	__u32 handle;		/* out */
	__u32 stag;		/* out */
	__u32 type;		/* 1, 2 */
	__u32 reserved;
	struct krdma_private priv;
};

/* Connections ************************************************************** */

#define KRDMA_PRIVATE_DATA_MAX	512

#define KRDMA_CONN_TOS		(1U << 0)	/* tos is valid */
#define KRDMA_LISTEN_V6ONLY	(1U << 1)

/* KRDMA_IOC_LISTEN */
struct krdma_listen {
	__u32 size;
	__u32 context;
	__u32 handle;		/* out */
	__u32 backlog;
	__u32 flags;		/* KRDMA_CONN_TOS, KRDMA_LISTEN_V6ONLY */
	__u32 tos;
	__aligned_u64 cookie;	/* returned with CONN_REQUEST */
	struct krdma_addr local;	/* in and out; port 0: the kernel chooses */
};

/*
 * KRDMA_IOC_CONNECT, KRDMA_IOC_ACCEPT, KRDMA_IOC_REJECT. A connection has a handle of its own,
 * from CONNECT or CONN_REQUEST on. DESTROY of the handle ends the connection.
 */
struct krdma_conn {
	__u32 size;
	__u32 handle;		/* CONNECT: out; else in: conn of the CONN_REQUEST */
	__u32 qp;		/* not for REJECT */
	__u32 flags;		/* KRDMA_CONN_TOS */
	__u32 tos;
	__u16 ird;
	__u16 ord;
	__aligned_u64 private_data;
	__u32 private_data_len;
	__u32 reserved;
	__aligned_u64 cookie;	/* returned with the connection's events */
	struct krdma_addr local;	/* CONNECT; family 0: the host chooses */
	struct krdma_addr remote;	/* CONNECT */
	__u32 timeout_ms;	/* CONNECT: ETIMEDOUT after it at the latest; 0: krdma.ko's times */
	__u32 reserved2;
};

/* KRDMA_IOC_DISCONNECT: end the connection of a QP; CLOSED follows */
struct krdma_disconnect {
	__u32 size;
	__u32 qp;
	__u32 abrupt;
	__u32 reserved;
};

/* Network stack ************************************************************ */

struct krdma_net_local {
	struct krdma_addr addr;
	__u32 ifindex;
	__u32 rnic;		/* index of the RNIC there, 0: none */
};

/* KRDMA_IOC_NET_LOCAL: list the local addresses that reach dst, best first */
struct krdma_net_locals {
	__u32 size;
	__u32 count;		/* in: room; out: number of addresses */
	__aligned_u64 entries;	/* struct krdma_net_local[] */
	struct krdma_addr dst;
};

#define KRDMA_ROUTE_GATEWAY	(1U << 0)	/* next_hop is a router */
#define KRDMA_ROUTE_LOCAL	(1U << 1)	/* dst is an address of this host */

/* KRDMA_IOC_NET_ROUTE: find the next hop */
struct krdma_net_route {
	__u32 size;
	__u32 flags;		/* out: KRDMA_ROUTE_* */
	struct krdma_addr dst;
	struct krdma_addr src;	/* in: family 0 or a local address; out: the local address */
	struct krdma_addr next_hop;	/* out */
	__u32 ifindex;		/* in: 0 or an outgoing interface; out: the interface */
	__u32 mtu;		/* out: of the path */
	__u32 rnic;		/* out: index of the RNIC there, 0: none */
	__u32 reserved;
};

/* KRDMA_IOC_NET_NEIGH: get the link address of a next hop */
#define KRDMA_NEIGH_ASK		(1U << 0)	/* resolve it; an event KRDMA_EVENT_NEIGH follows */
#define KRDMA_NEIGH_WATCH	(1U << 1)	/* an event at changes, one until it is read */
struct krdma_net_neigh {
	__u32 size;
	__u32 flags;		/* in: KRDMA_NEIGH_* */
	struct krdma_addr addr;
	__u32 ifindex;
	__u32 state;		/* out: NUD_*; 0: nothing known */
	__u8 lladdr[8];		/* out: the first lladdr_len bytes */
	__u32 lladdr_len;	/* out: 0: not resolved */
	__u32 handle;		/* out: with ASK or WATCH; 0: no event will follow */
	__aligned_u64 cookie;	/* returned with the events */
};

/*
 * KRDMA_IOC_PORT: reserve a port of the host's port space until DESTROY of its handle.
 * EADDRINUSE: a socket or another user has it. EACCES: the port is privileged.
 */
struct krdma_port {
	__u32 size;
	__u32 handle;		/* out */
	struct krdma_addr addr;	/* in and out; port 0: any; address 0: that of all RNICs */
	__u32 protocol;		/* IPPROTO_TCP */
	__u32 reserved;
};

/* KRDMA_IOC_NET_SUBSCRIBE: choose events of the namespace; replaces the choice before */
#define KRDMA_NET_LINK		(1U << 0)	/* up, down, MTU, name of RNICs' network devices */
#define KRDMA_NET_ADDRESS	(1U << 1)	/* addresses of the namespace */
#define KRDMA_NET_ROUTE		(1U << 2)	/* routes */
#define KRDMA_NET_RNIC		(1U << 3)	/* RNICs that come and go */
struct krdma_net_subscribe {
	__u32 size;
	__u32 mask;
};

/* KRDMA_IOC_MIB: read the namespace's TCP/IP counters, host and offloaded added up */
struct krdma_mib {
	__u32 size;
	__u32 count;		/* in: room; out: number of counters */
	__aligned_u64 entries;	/* struct krdma_counter[]: "tcpInSegs" ... */
};

/* Limits ******************************************************************* */

/* KRDMA_IOC_USAGE: read the file's limits and their use */
struct krdma_usage {
	__u32 size;
	__u32 objects;		/* objects with handles */
	__u32 max_objects;
	__u32 events;		/* records that wait to be read */
	__u32 max_events;
	__u32 reserved;
	__aligned_u64 lost_events;	/* since open */
	__aligned_u64 pinned_pages;	/* of the process, as RLIMIT_MEMLOCK counts */
};

/* Causes of errors ********************************************************* */

/* what krdma_error.value is */
enum krdma_unit {
	KRDMA_UNIT_NONE,		/* it is 0 */
	KRDMA_UNIT_COUNT,
	KRDMA_UNIT_BYTES,
	KRDMA_UNIT_HANDLE,		/* of an object of the file */
	KRDMA_UNIT_RNIC,		/* index of an RNIC */
	KRDMA_UNIT_IFINDEX,		/* of a network device */
	KRDMA_UNIT_PORT,		/* number of a TCP port */
	KRDMA_UNIT_STATE,		/* enum krdma_qp_state */
	KRDMA_UNIT_ACCESS,		/* KRDMA_ACCESS_*, also bits without a name */
};

/* why a command was refused; docs/krdma-abi.md has their errnos and values */
enum krdma_cause {
	KRDMA_CAUSE_NONE,		/* the errno says what is known */
	KRDMA_CAUSE_NO_MEMORY,		/* the kernel or the memory cgroup has none */
	KRDMA_CAUSE_POINTER,		/* an address that the command names is not accessible */
	KRDMA_CAUSE_ZERO,		/* a size or length is 0 */
	/* objects */
	KRDMA_CAUSE_NO_HANDLE,
	KRDMA_CAUSE_OTHER_KIND,		/* the handle is of an object of another kind */
	KRDMA_CAUSE_OTHER_CONTEXT,	/* the object is of another context, or another RNIC */
	KRDMA_CAUSE_IN_USE,		/* other objects need it */
	KRDMA_CAUSE_WINDOW_BOUND,	/* a window is bound to the region */
	/* RNICs */
	KRDMA_CAUSE_NO_RNIC,		/* no RNIC has that index */
	KRDMA_CAUSE_NO_RNIC_THERE,	/* no RNIC on the network device of the address */
	KRDMA_CAUSE_RNIC_REMOVED,
	KRDMA_CAUSE_NO_VERB,		/* the RNIC does not have it */
	/* limits of the RNIC: as the members of krdma_rnic_query */
	KRDMA_CAUSE_MAX_PD,
	KRDMA_CAUSE_MAX_CQ,
	KRDMA_CAUSE_MAX_SRQ,
	KRDMA_CAUSE_MAX_QP,
	KRDMA_CAUSE_MAX_MR,
	KRDMA_CAUSE_MAX_MW,
	KRDMA_CAUSE_MAX_CQE,
	KRDMA_CAUSE_MAX_QP_WR,
	KRDMA_CAUSE_MAX_SEND_SGE,
	KRDMA_CAUSE_MAX_RECV_SGE,
	KRDMA_CAUSE_MAX_INLINE,
	KRDMA_CAUSE_MAX_SRQ_WR,
	KRDMA_CAUSE_MAX_SRQ_SGE,
	KRDMA_CAUSE_MAX_MR_SIZE,
	KRDMA_CAUSE_MAX_IRD,
	KRDMA_CAUSE_MAX_ORD,
	KRDMA_CAUSE_NUM_CEH,
	/* limits of the file, the user, the process */
	KRDMA_CAUSE_FILE_OBJECTS,
	KRDMA_CAUSE_FILE_PORTS,
	KRDMA_CAUSE_USER_PORTS,
	KRDMA_CAUSE_NET_PORTS,
	KRDMA_CAUSE_USER_WATCHES,
	KRDMA_CAUSE_NET_WATCHES,
	KRDMA_CAUSE_USER_SUBSCRIPTIONS,
	KRDMA_CAUSE_NET_SUBSCRIPTIONS,
	KRDMA_CAUSE_MEMLOCK,		/* RLIMIT_MEMLOCK */
	KRDMA_CAUSE_CGROUP_HANDLES,	/* hca_handle of the rdma cgroup */
	KRDMA_CAUSE_CGROUP_OBJECTS,	/* hca_object of the rdma cgroup */
	/* memory and rights */
	KRDMA_CAUSE_ACCESS,		/* rights that are unknown, or not the RNIC's */
	KRDMA_CAUSE_LOCAL_WRITE,	/* remote write, atomic: without local write */
	KRDMA_CAUSE_MEMORY,		/* not mapped, or not writable */
	KRDMA_CAUSE_WRAPS,		/* start or iova, and the length, exceed 64 bits */
	KRDMA_CAUSE_OTHER_PROCESS,	/* another process registered the region */
	KRDMA_CAUSE_NEEDS_ADMIN,	/* CAP_NET_ADMIN over the namespace */
	/* queue pairs and connections */
	KRDMA_CAUSE_QP_STATE,		/* not in this state of the queue pair */
	KRDMA_CAUSE_QP_CONNECTED,
	KRDMA_CAUSE_QUEUE_FULL,
	KRDMA_CAUSE_PRIVATE_DATA,	/* more than fits */
	KRDMA_CAUSE_FAMILY,		/* neither IPv4 nor IPv6, or not the peer's */
	KRDMA_CAUSE_NOT_LOCAL,		/* not an address of the RNIC */
	KRDMA_CAUSE_ROUTE_ELSEWHERE,	/* the host's route leaves by another network device */
	KRDMA_CAUSE_NO_ROUTE,
	KRDMA_CAUSE_PORT_USED,
	KRDMA_CAUSE_PORT_PRIVILEGED,
	KRDMA_CAUSE_PEER_GONE,
	KRDMA_CAUSE_ANSWERED,		/* the request has its answer already */
	KRDMA_CAUSE_NEEDS_GROUP,	/* not in the group that may use adopted devices */
};

struct krdma_error {
	__u32 status;		/* the errno, positive; 0: nothing was recorded */
	__u32 cause;		/* enum krdma_cause; a newer kernel may have more */
	__u32 unit;		/* enum krdma_unit */
	__u32 reserved;
	__aligned_u64 value;	/* the limit or the state that refused */
};

/*
 * KRDMA_IOC_CALL: issue a command and learn why it was refused. The result is that of the
 * command. error is written only if the command fails. A kernel without KRDMA_IOC_CALL returns
 * ENOTTY and leaves error.status 0.
 */
struct krdma_call {
	__u32 size;
	__u32 command;		/* KRDMA_IOC_*, not KRDMA_IOC_CALL */
	__aligned_u64 argument;	/* its structure */
	struct krdma_error error;	/* out */
};

/* Events ******************************************************************* */

enum krdma_event_type {
	KRDMA_EVENT_COMPLETION = 1,	/* an armed CQ has a completion */
	KRDMA_EVENT_ASYNC,		/* of a QP, CQ, SRQ, or of the RNIC (handle: the context) */
	KRDMA_EVENT_CONN_REQUEST,	/* handle: the listener, conn: the new connection */
	KRDMA_EVENT_CONN_REPLY,		/* result of CONNECT */
	KRDMA_EVENT_ESTABLISHED,	/* result of ACCEPT */
	KRDMA_EVENT_CLOSED,		/* a connection has ended */
	KRDMA_EVENT_NEIGH,
	KRDMA_EVENT_NET,		/* code: one KRDMA_NET_* */
	KRDMA_EVENT_OVERFLOW,		/* events were lost at this place; code: how many */
};

/* a record: struct krdma_event, then the members of its type; size is a multiple of 8 */
struct krdma_event {
	__u32 size;		/* bytes of the record */
	__u32 type;		/* enum krdma_event_type */
	__u32 handle;
	__u32 code;		/* COMPLETION: ceh; ASYNC: enum krdma_async; NET: KRDMA_NET_* */
	__s32 status;		/* 0 or a negative errno */
	__u32 reserved;
	__aligned_u64 cookie;	/* of the object */
	__aligned_u64 time_ns;	/* CLOCK_MONOTONIC */
};

/* CONN_REQUEST, CONN_REPLY, ESTABLISHED */
__extension__ struct krdma_conn_event {
	struct krdma_event base;
	__u32 conn;		/* CONN_REQUEST: handle for ACCEPT or REJECT */
	__u16 ird;
	__u16 ord;
	struct krdma_addr local;
	struct krdma_addr remote;
	__u32 private_data_len;
	__u32 reserved;
	__u8 private_data[];	/* padded with zeros to a multiple of 8 */
};

/* NEIGH */
struct krdma_neigh_event {
	struct krdma_event base;	/* status: 0 or -EHOSTUNREACH */
	struct krdma_addr addr;
	__u32 ifindex;
	__u32 state;
	__u8 lladdr[8];
	__u32 lladdr_len;
	__u32 reserved;
};

/* NET */
struct krdma_net_event {
	struct krdma_event base;
	__u32 gone;		/* 1: removed; 0: new or changed */
	__u32 ifindex;
	__u32 rnic;		/* index, 0: none */
	__u32 mtu;		/* LINK */
	__u32 up;		/* LINK */
	__u32 prefix_len;	/* ADDRESS, ROUTE */
	struct krdma_addr addr;	/* ADDRESS; ROUTE: destination */
	char name[KRDMA_NAME_LEN];	/* LINK: network device; RNIC: RNIC */
};

/* Numbers ****************************************************************** */

#define KRDMA_IOC_RNIC_LIST	_IO(KRDMA_IOC_TYPE, 0x00)
#define KRDMA_IOC_RNIC_QUERY	_IO(KRDMA_IOC_TYPE, 0x01)
#define KRDMA_IOC_RNIC_COUNTERS	_IO(KRDMA_IOC_TYPE, 0x02)
#define KRDMA_IOC_RNIC_FIND	_IO(KRDMA_IOC_TYPE, 0x03)
#define KRDMA_IOC_USAGE		_IO(KRDMA_IOC_TYPE, 0x04)
#define KRDMA_IOC_QP_LIST	_IO(KRDMA_IOC_TYPE, 0x05)
#define KRDMA_IOC_RNIC_PORT	_IO(KRDMA_IOC_TYPE, 0x06)
#define KRDMA_IOC_CALL		_IO(KRDMA_IOC_TYPE, 0x08)

#define KRDMA_IOC_CONTEXT	_IO(KRDMA_IOC_TYPE, 0x10)
#define KRDMA_IOC_DESTROY	_IO(KRDMA_IOC_TYPE, 0x11)
#define KRDMA_IOC_PD		_IO(KRDMA_IOC_TYPE, 0x12)
#define KRDMA_IOC_CQ		_IO(KRDMA_IOC_TYPE, 0x13)
#define KRDMA_IOC_CQ_MODIFY	_IO(KRDMA_IOC_TYPE, 0x14)
#define KRDMA_IOC_CQ_POLL	_IO(KRDMA_IOC_TYPE, 0x15)
#define KRDMA_IOC_CQ_NOTIFY	_IO(KRDMA_IOC_TYPE, 0x16)
#define KRDMA_IOC_SRQ		_IO(KRDMA_IOC_TYPE, 0x17)
#define KRDMA_IOC_SRQ_MODIFY	_IO(KRDMA_IOC_TYPE, 0x18)
#define KRDMA_IOC_SRQ_QUERY	_IO(KRDMA_IOC_TYPE, 0x19)
#define KRDMA_IOC_QP		_IO(KRDMA_IOC_TYPE, 0x1a)
#define KRDMA_IOC_QP_MODIFY	_IO(KRDMA_IOC_TYPE, 0x1b)
#define KRDMA_IOC_QP_QUERY	_IO(KRDMA_IOC_TYPE, 0x1c)
#define KRDMA_IOC_POST_SEND	_IO(KRDMA_IOC_TYPE, 0x1d)
#define KRDMA_IOC_POST_RECV	_IO(KRDMA_IOC_TYPE, 0x1e)
#define KRDMA_IOC_POST_SRQ	_IO(KRDMA_IOC_TYPE, 0x1f)
#define KRDMA_IOC_MR		_IO(KRDMA_IOC_TYPE, 0x20)
#define KRDMA_IOC_MR_REREGISTER	_IO(KRDMA_IOC_TYPE, 0x21)
#define KRDMA_IOC_MW		_IO(KRDMA_IOC_TYPE, 0x22)

#define KRDMA_IOC_LISTEN	_IO(KRDMA_IOC_TYPE, 0x30)
#define KRDMA_IOC_CONNECT	_IO(KRDMA_IOC_TYPE, 0x31)
#define KRDMA_IOC_ACCEPT	_IO(KRDMA_IOC_TYPE, 0x32)
#define KRDMA_IOC_REJECT	_IO(KRDMA_IOC_TYPE, 0x33)
#define KRDMA_IOC_DISCONNECT	_IO(KRDMA_IOC_TYPE, 0x34)

#define KRDMA_IOC_NET_LOCAL	_IO(KRDMA_IOC_TYPE, 0x40)
#define KRDMA_IOC_NET_ROUTE	_IO(KRDMA_IOC_TYPE, 0x41)
#define KRDMA_IOC_NET_NEIGH	_IO(KRDMA_IOC_TYPE, 0x42)
#define KRDMA_IOC_PORT		_IO(KRDMA_IOC_TYPE, 0x43)
#define KRDMA_IOC_NET_SUBSCRIBE	_IO(KRDMA_IOC_TYPE, 0x44)
#define KRDMA_IOC_MIB		_IO(KRDMA_IOC_TYPE, 0x45)

#endif /* KRDMA_ABI_H */
