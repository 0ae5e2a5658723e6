/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * RNIC-PI: the RNIC Programming Interface, between the kernel access layer
 * (kAL, krdma.ko) and the RNIC providers (krdma_soft.ko, krdma_hw.ko, ...).
 *
 * Calls go down: the kAL calls a provider through struct ri_ops. Events come up: a provider
 * reports through the ri_*_event() upcalls. A provider uses only this header of the kAL, and
 * krdma/netstack.h for routes, neighbours, ports and MTUs of the host. It never sees a consumer,
 * the device side of ib_core, or /dev/krdma.
 *
 * Work requests, completions, attributes, states and access flags are those of
 * <rdma/ib_verbs.h>, so that no work request is translated between a kernel consumer and a
 * provider. The kAL owns the objects. It allocates each together with the provider's private
 * part, whose size the provider states in struct ri_ops. Each private structure has the ri_ object
 * as its first member.
 *
 * Sources: draft-hilland-rddp-verbs (verbs and their meaning); OpenRDMA architecture, sections
 * 2.2.1, 3.1 and 4 (roles, upcalls, event records). docs/rnic-pi.md is the guide for provider
 * authors.
 */
#ifndef KRDMA_RNICPI_H
#define KRDMA_RNICPI_H

#include <linux/completion.h>
#include <linux/if.h>
#include <linux/iosys-map.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include <krdma/mpa_params.h>

struct dma_buf;
struct mem_cgroup;
struct socket;
struct ri_rnic;
struct ri_llp;
struct ri_qp_info;
struct kal_rnic_events;

/* Objects ***************************************************************** */

/** enum ri_obj_type - type of an object of the resource tree */
enum ri_obj_type {
	RI_OBJ_UCONTEXT,
	RI_OBJ_PD,
	RI_OBJ_CQ,
	RI_OBJ_SRQ,
	RI_OBJ_QP,
	RI_OBJ_MR,
	RI_OBJ_MW,
	RI_OBJ_TYPES,
};

/**
 * struct ri_obj - head of every verbs object, owned by the kAL's resource manager
 * @rnic: the RNIC of the object
 * @parent: object that must outlive this one, or NULL
 * @type: type of the object
 * @id: unique among the RNIC's objects of this type, never 0; of a QP: its number
 * @refs: one of the owner and one of each look-up by id under way
 * @children: number of objects with this @parent
 * @unused: completed when @refs falls to 0
 *
 * A provider reads @rnic and @id, and uses no other member.
 */
struct ri_obj {
	struct ri_rnic *rnic;
	struct ri_obj *parent;
	enum ri_obj_type type;
	u32 id;
	refcount_t refs;
	atomic_t children;
	struct completion unused;
};

/**
 * struct ri_ucontext - a user of an RNIC: the open device of a process
 * @obj: resource tree
 * @shm_ops: the consumer side's way to make shared memory mappable; NULL: none
 * @consumer: the consumer's own
 */
struct ri_ucontext {
	struct ri_obj obj;
	const struct ri_shmem_ops *shm_ops;
	void *consumer;
};

/**
 * struct ri_pd - protection domain
 * @obj: resource tree
 * @uctx: its user; NULL for a kernel consumer and for a slow user
 * @slow: it belongs to a slow user: all calls of this user go through the kernel
 *
 * To a provider the objects of a slow user are those of a kernel consumer, except for their
 * rights: see ri_pd_is_kernels().
 */
struct ri_pd {
	struct ri_obj obj;
	struct ri_ucontext *uctx;
	bool slow;
};

/*
 * Does the PD belong to a kernel consumer? Only then may its QPs name the kernel's memory
 * (local_dma_lkey) and use the kernel's own work requests (IB_WR_REG_MR).
 */
static inline bool ri_pd_is_kernels(const struct ri_pd *pd)
{
	return !pd->uctx && !pd->slow;
}

/**
 * struct ri_cq - completion queue
 * @obj: resource tree
 * @uctx: its user, NULL for a kernel consumer
 * @depth: entries: those asked for, then those granted
 * @ceh: its completion event handler (completion vector)
 * @slow: it belongs to a slow user, as struct ri_pd
 * @timestamps: the user library reports to the user when each completion was added; only of a
 *		user and with a timestamp_mask in ri_rnic_attr.limits
 * @on_completion: the consumer's handler; any context, must not sleep
 * @on_event: the consumer's asynchronous event handler; any context, must not sleep
 * @consumer: the consumer's own
 */
struct ri_cq {
	struct ri_obj obj;
	struct ri_ucontext *uctx;
	u32 depth;
	u32 ceh;
	bool slow;
	bool timestamps;
	void (*on_completion)(struct ri_cq *cq);
	void (*on_event)(struct ri_cq *cq, enum ib_event_type event);
	void *consumer;
};

/** struct ri_srq - shared receive queue; fields as in struct ri_cq */
struct ri_srq {
	struct ri_obj obj;
	struct ri_pd *pd;
	void (*on_event)(struct ri_srq *srq, enum ib_event_type event);
	void *consumer;
};

/**
 * struct ri_qp - queue pair
 * @obj: resource tree; obj.id is the QP number
 * @pd: protection domain
 * @send_cq: completions of the send queue
 * @recv_cq: completions of the receive queue
 * @srq: shared receive queue, or NULL
 * @wc_qp: value for ib_wc.qp; the consumer sets it, may be NULL
 * @post_may_sleep: a kernel consumer posts Sends only where it may sleep, never under a spinlock
 *	or from a handler. The consumer sets it before its first post.
 * @pushed: a kernel consumer calls kal_qp_push() after its posts to the send queue. Until then the
 *	provider need not look at them. The consumer sets it while nothing is posted.
 * @plain_wrs: the consumer posts nothing but the work requests of the kernel's verbs: an
 *	IB_WR_BIND_MW is no struct ri_bind_wr and is refused. Set before the first post.
 * @on_event: the consumer's asynchronous event handler; any context, must not sleep
 * @consumer: the consumer's own
 * @ep: the endpoint of its present or last connection; owned by the kAL
 * @memcg: charged for ri_qp_alloc(), NULL: none is; owned by the kAL
 */
struct ri_qp {
	struct ri_obj obj;
	struct ri_pd *pd;
	struct ri_cq *send_cq;
	struct ri_cq *recv_cq;
	struct ri_srq *srq;
	struct ib_qp *wc_qp;
	bool post_may_sleep;
	bool pushed;
	bool plain_wrs;
	void (*on_event)(struct ri_qp *qp, enum ib_event_type event);
	void *consumer;
	void *ep;
	struct mem_cgroup *memcg;
};

/**
 * struct ri_page_list - memory that the next fast registration of a region will name
 * @pages: addresses, each aligned to the page size; kernel addresses for an RNIC that
 *	   works with virtual addresses (ib_uses_virt_dma())
 * @ends: for a list of elements of any address and length (RI_CAP_SG_GAPS): bytes from
 *	  the beginning of the first element to the end of each; else NULL
 * @num: pages or elements in use
 * @max: pages or elements that there is room for
 * @page_shift: page size as a power of two
 *
 * The consumer changes the list only while no fast registration of the region is posted and not
 * completed. Until the next registration the region names the memory that it named before.
 */
struct ri_page_list {
	u64 *pages;
	u64 *ends;
	u32 num;
	u32 max;
	u32 page_shift;
};

/**
 * struct ri_mr - memory region
 * @obj: resource tree
 * @pd: protection domain
 * @stag: steering tag, local and remote key alike; set by the provider. Fast
 *	  registrations change the 8 bits of its key.
 * @access: enum ib_access_flags, as asked for
 * @start: first user virtual address, or offset in the dma-buf
 * @length: length in bytes
 * @iova: tagged offset of the first byte
 * @region: the pinned memory, NULL for none; owned by the kAL
 * @list: for a region for fast registration, else empty
 */
struct ri_mr {
	struct ri_obj obj;
	struct ri_pd *pd;
	u32 stag;
	int access;
	u64 start;
	u64 length;
	u64 iova;
	struct ri_vm_region *region;
	struct ri_page_list list;
};

/**
 * struct ri_mw - memory window
 * @obj: resource tree
 * @pd: protection domain
 * @type: 1, or 2 (2B: belongs to the QP that binds it)
 * @stag: steering tag, which each bind changes; set by the provider
 */
struct ri_mw {
	struct ri_obj obj;
	struct ri_pd *pd;
	enum ib_mw_type type;
	u32 stag;
};

/* Creation attributes ****************************************************** */

struct ri_srq_init_attr {
	struct ib_srq_attr attr;
};

/** struct ri_qp_init_attr - ib_qp_init_attr with RNIC-PI objects */
struct ri_qp_init_attr {
	struct ri_cq *send_cq;
	struct ri_cq *recv_cq;
	struct ri_srq *srq;
	struct ib_qp_cap cap;
	enum ib_sig_type sq_sig_type;
	enum ib_qp_type qp_type;
	u32 create_flags;
};

/**
 * struct ri_mr_attr - a region to register
 * @start: first user virtual address, or byte of the dma-buf
 * @length: bytes, may be 0
 * @iova: tagged offset that the first byte gets; 0 with IB_ZERO_BASED
 * @access: enum ib_access_flags
 * @dmabuf: the memory is that of a dma-buf, only with RI_CAP_DMABUF
 * @fd: the dma-buf
 * @own_pins: the provider pins @start and @length of the calling process (RI_CAP_OWN_PINS)
 * @region: the memory, pinned by the kAL; NULL: empty, or @own_pins
 */
struct ri_mr_attr {
	u64 start;
	u64 length;
	u64 iova;
	int access;
	bool dmabuf;
	int fd;
	bool own_pins;
	struct ri_vm_region *region;
};

/* most bytes of a provider's own, in either direction of a call */
#define RI_UDATA_MAX	128

/**
 * struct ri_udata - the provider's own bytes of a call, from and to its user library
 * @in_len: bytes in @in
 * @out_len: bytes of @out that the library has room for
 * @answered: bytes of @out that the provider filled
 * @answer_to: where the library wants @out; NULL: in the answer of the call
 * @in: from the library
 * @out: to the library
 *
 * The consumer side copies from and to user space, before and after it uses the RNIC. A
 * provider does neither: user space can make a copy wait for ever.
 */
struct ri_udata {
	u32 in_len;
	u32 out_len;
	u32 answered;
	void __user *answer_to;
	u8 in[RI_UDATA_MAX] __aligned(8);
	u8 out[RI_UDATA_MAX] __aligned(8);
};

/* Answer with @len bytes of @from, or as many as the library has room for. */
static inline void ri_udata_answer(struct ri_udata *udata, const void *from, u32 len)
{
	udata->answered = min(len, udata->out_len);
	memcpy(udata->out, from, udata->answered);
}

/**
 * struct ri_bind_wr - IB_WR_BIND_MW, for which the kernel's verbs have no structure
 * @wr: opcode, flags and wr_id
 * @stag: STag of the window with its new key
 * @region: STag of the region
 * @addr: tagged offset of the first byte in the region
 * @length: length in bytes; 0 unbinds a window of type 1
 * @access: enum ib_access_flags
 */
struct ri_bind_wr {
	struct ib_send_wr wr;
	u32 stag;
	u32 region;
	u64 addr;
	u64 length;
	int access;
};

static inline const struct ri_bind_wr *ri_bind_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct ri_bind_wr, wr);
}

/* LLP stream *************************************************************** */

/**
 * struct ri_llp - a connected LLP stream, handed to a provider by qp_modify()
 * @sock: the TCP socket after the MPA start-up. No byte behind the last MPA frame was
 *	  read: data that the peer sent after it waits in the socket.
 * @mpa: outcome of the MPA start-up
 * @local: own address
 * @remote: the peer's address
 *
 * The kAL owns the structure. Between qp_modify(RTS) and the provider's
 * ri_llp_close() or ri_llp_abort() the socket and its callbacks are the
 * provider's.
 */
struct ri_llp {
	struct socket *sock;
	struct ri_mpa_params mpa;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
};

/* Connections that an RNIC makes itself ************************************ */

/* most bytes of private data of a connection */
#define RI_PRIVATE_DATA_MAX	512

/**
 * struct ri_conn_info - what is known of a connection
 * @local: own address
 * @remote: the peer's address
 * @ird: inbound reads: of a request, the number that the peer's ORD asks for; else negotiated
 * @ord: outbound reads: of a request, the number that the peer's IRD allows; else negotiated
 * @rejected: the peer's consumer refused, with private data or without any; false: a part below it
 *	did, or no consumer is there
 * @private_data_len: bytes in @private_data; a transport that does not carry the length pads
 *	the data with zeros
 * @private_data: of the peer
 */
struct ri_conn_info {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u16 ird;
	u16 ord;
	bool rejected;
	u16 private_data_len;
	u8 private_data[RI_PRIVATE_DATA_MAX];
};

/**
 * struct ri_conn - a connection or a listener of an RNIC with RI_CAP_LLP_OFFLOAD
 * @rnic: RNIC
 * @info: the provider fills it in before it reports a request, an established connection or a
 *	refusal by the peer's consumer, and does not change it afterwards
 * @ep: the endpoint; owned by the kAL
 * @lock: protects the members below, which are owned by the kAL
 * @outcome: what the provider has reported
 * @made: status of ri_conn_established()
 * @ended: status of ri_conn_closed()
 *
 * The kAL allocates it with the provider's private part (ri_ops.size_conn), zeroed. It lives until
 * conn_destroy() has returned.
 */
struct ri_conn {
	struct ri_rnic *rnic;
	struct ri_conn_info info;
	void *ep;
	spinlock_t lock;	/* protects the members below */
	unsigned int outcome;
	int made;
	int ended;
};

/**
 * struct ri_conn_param - parameters of one side of a connection
 * @net: network namespace of the consumer
 * @local: own address; port 0: any; AF_UNSPEC: the RNIC chooses (connect only)
 * @remote: the peer's address (connect only)
 * @private_data: for the peer, valid during the call
 * @private_data_len: its length in bytes
 * @ird: inbound reads offered
 * @ord: outbound reads wanted
 * @tos_set: @tos is valid
 * @tos: type of service
 * @timeout_ms: time for each exchange with the network
 */
struct ri_conn_param {
	struct net *net;
	const struct sockaddr_storage *local;
	const struct sockaddr_storage *remote;
	const void *private_data;
	u16 private_data_len;
	u16 ird;
	u16 ord;
	bool tos_set;
	u8 tos;
	unsigned int timeout_ms;
};

/**
 * struct ri_listen_param - parameters of a listener
 * @net: network namespace of the consumer
 * @local: wildcard or an address, with a port; port 0: any free one
 * @backlog: requests that may wait
 * @v6only: an IPv6 wildcard does not accept IPv4
 * @tos_set: @tos is valid
 * @tos: type of service of incoming connections
 * @users: it is a program's listener; the current task is of the program
 */
struct ri_listen_param {
	struct net *net;
	const struct sockaddr_storage *local;
	unsigned int backlog;
	bool v6only;
	bool tos_set;
	u8 tos;
	bool users;
};

/* Ports ******************************************************************** */

/**
 * struct ri_port_attr - state of a port
 * @state: enum ib_port_state
 * @path_mtu: largest MTU of a path in bytes; 0: it has no meaning for the transport
 * @gid: first GID; zero: there is none
 * @lid: InfiniBand's local identifier, else 0
 * @ifindex: network device below, 0: none that @net has
 * @netdev: its name
 */
struct ri_port_attr {
	u8 state;
	u32 path_mtu;
	union ib_gid gid;
	u32 lid;
	int ifindex;
	char netdev[IFNAMSIZ];
};

/* The provider's table ***************************************************** */

/* in qp_modify()'s mask, beside IB_QP_*: do not wait for a user's thread */
#define RI_QP_NOWAIT		BIT(30)

/* maximum answer of ucontext_query() in bytes */
#define RI_UCONTEXT_ANSWER	64

/**
 * struct ri_ops - the verbs of a provider
 *
 * Verbs run in process context and may sleep, except the data path (post_*, push, cq_poll,
 * cq_req_notify), which may be called in any context but hard interrupt. A verb left NULL does not
 * exist, and the kAL returns -EOPNOTSUPP for it. Return values are 0 or a negative errno.
 *
 * @udata arguments carry the provider's own bytes from and to its user library;
 * NULL for a kernel consumer. A call that fails has no answer.
 */
struct ri_ops {
	struct module *owner;
	/* ABI version between the provider and its user library */
	u32 abi_version;

	size_t size_ucontext;
	size_t size_pd;
	size_t size_cq;
	size_t size_srq;
	size_t size_qp;
	size_t size_mr;
	size_t size_mw;

	/* fills @values[ri_rnic_attr.num_counters] */
	void (*query_counters)(struct ri_rnic *rnic, u64 *values);
	/*
	 * Only with RI_CAP_LLP_OFFLOAD: fills @values[RI_MIB_OBJECTS], which are
	 * zeroed before and indexed by enum ri_mib_object, with the counts of the
	 * connections that the RNIC makes itself, since it was registered. Counts
	 * of the host's own TCP/IP are left out.
	 */
	void (*query_mib)(struct ri_rnic *rnic, u64 *values);

	/*
	 * Optional: may a user open a context, fast or slow? The current credentials are those of
	 * the task that opened /dev/krdma. 0 or -EACCES. Left out: every user may.
	 */
	int (*user_check)(struct ri_rnic *rnic);
	int (*ucontext_alloc)(struct ri_ucontext *uctx, struct ri_udata *udata);
	void (*ucontext_dealloc)(struct ri_ucontext *uctx);
	/*
	 * Repeats the answer of ucontext_alloc for another process that imports the open
	 * device. @answer has room for RI_UCONTEXT_ANSWER bytes. Returns their number. It
	 * may be NULL: then no process can import the device.
	 */
	int (*ucontext_query)(struct ri_ucontext *uctx, void *answer);

	/* may be left out: a PD need be no more than the kAL's object */
	int (*pd_alloc)(struct ri_pd *pd, struct ri_udata *udata);
	void (*pd_dealloc)(struct ri_pd *pd);

	/* cq->depth holds what was asked for; the provider may raise it */
	int (*cq_create)(struct ri_cq *cq, struct ri_udata *udata);
	/* sets cq->depth; the CQ continues as it was when this fails */
	int (*cq_resize)(struct ri_cq *cq, u32 depth, struct ri_udata *udata);
	/* moderation: event after @count completions or @period usecs after the first */
	int (*cq_modify)(struct ri_cq *cq, u16 count, u16 period);
	void (*cq_destroy)(struct ri_cq *cq);
	int (*cq_poll)(struct ri_cq *cq, int num_entries, struct ib_wc *wc);
	int (*cq_req_notify)(struct ri_cq *cq, enum ib_cq_notify_flags flags);

	int (*srq_create)(struct ri_srq *srq, struct ri_srq_init_attr *attr,
			  struct ri_udata *udata);
	int (*srq_modify)(struct ri_srq *srq, const struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ri_udata *udata);
	int (*srq_query)(struct ri_srq *srq, struct ib_srq_attr *attr);
	void (*srq_destroy)(struct ri_srq *srq);
	/* @wr is NULL: a user wrote to the shared queue and rings the doorbell */
	int (*post_srq_recv)(struct ri_srq *srq, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad_wr);

	/* rounds attr->cap up to what was granted */
	int (*qp_create)(struct ri_qp *qp, struct ri_qp_init_attr *attr,
			 struct ri_udata *udata);
	/* both structures are zeroed; members that do not apply stay 0 */
	int (*qp_query)(struct ri_qp *qp, struct ib_qp_attr *attr, int mask,
			struct ri_qp_init_attr *init_attr);
	/*
	 * States, with the names of the verbs:
	 *  INIT, RESET	idle
	 *  RTS		with @llp: take the stream over (no other transition has an @llp)
	 *  SQD		let posted work leave, then end the stream (iWARP's Closing)
	 *  SQD		with IB_QP_EN_SQD_ASYNC_NOTIFY in @mask: keep the stream, begin no new
	 *		work until RTS without @llp (InfiniBand's SQD); -EINVAL if unsupported
	 *  ERR		end the stream now
	 *
	 * After RTS with @llp has succeeded, the provider owes exactly one
	 * ri_llp_close() or ri_llp_abort(). If it fails, the stream stays with the
	 * kAL.
	 *
	 * RI_QP_NOWAIT in @mask, with RTS and @llp or with ERR: the caller is a
	 * worker that serves several users. The provider takes no lock that a user's
	 * thread may hold; -EAGAIN when the QP cannot be had without, and
	 * the kAL calls again soon.
	 */
	int (*qp_modify)(struct ri_qp *qp, const struct ib_qp_attr *attr,
			 int mask, struct ri_llp *llp);
	/* ends the stream if there is one; no upcall for @qp after return */
	void (*qp_destroy)(struct ri_qp *qp);
	int (*post_send)(struct ri_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad_wr);
	int (*post_recv)(struct ri_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad_wr);
	/* a user wrote to the shared send or receive queue and rings; process context */
	int (*doorbell)(struct ri_qp *qp);
	/*
	 * Optional: begins with what was posted since the last call, see ri_qp.pushed. @sleep: in
	 * process context; the call may sleep, and may carry the work requests out itself, a
	 * bounded number of bytes. Else any context but hard interrupt, as for post_send().
	 */
	void (*push)(struct ri_qp *qp, bool sleep);
	/* fills in the driver fields of "rdma resource show qp" */
	void (*qp_info)(struct ri_qp *qp, struct ri_qp_info *info);

	/*
	 * Sets mr->stag. attr->region stays until mr_deregister(), or mr_reregister() with
	 * another one, has returned 0.
	 */
	int (*mr_register)(struct ri_mr *mr, const struct ri_mr_attr *attr,
			   struct ri_udata *udata);
	/* registers all kernel memory by virtual address; kernel consumers only */
	int (*mr_register_dma)(struct ri_mr *mr, int access);
	/*
	 * Allocates a region for fast registration (IB_WR_REG_MR); kernel consumers
	 * only. The region names no memory until a work request registers @mr->list.
	 * The provider finds the region by the STag in ib_reg_wr.key, and reads the
	 * list when it carries the work request out.
	 */
	int (*mr_alloc)(struct ri_mr *mr);
	/*
	 * Optional: does to a region of mr_alloc() what IB_WR_REG_MR does, at once and without a
	 * work request. @key is the new STag, with the same index, and becomes mr->stag. A
	 * provider that has it takes lists of any length in mr_alloc(), and refuses work requests
	 * for lists longer than max_fast_reg_page_list_len. -EINVAL: @mr->list is shorter than
	 * @length, or an address wraps; -EBUSY: the region names memory already. May sleep.
	 */
	int (*mr_map)(struct ri_mr *mr, u64 iova, u64 length, u32 key, int access);
	/*
	 * Changes the parts that @flags (enum ib_mr_rereg_flags) names. @attr and @pd
	 * describe the whole new region. Sets mr->stag. A failure changes nothing.
	 */
	int (*mr_reregister)(struct ri_mr *mr, int flags,
			     const struct ri_mr_attr *attr, struct ri_pd *pd);
	/*
	 * The STag is invalid on return, or the call fails and changes nothing
	 * (-EBUSY while a window is bound to the region).
	 */
	int (*mr_deregister)(struct ri_mr *mr);

	/* sets mw->stag; a window is bound by a work request */
	int (*mw_alloc)(struct ri_mw *mw);
	/* the window may be bound */
	void (*mw_dealloc)(struct ri_mw *mw);

	/*
	 * Connections: all of these with RI_CAP_LLP_OFFLOAD, else none. The calls do not wait
	 * for the network. The kAL calls with its endpoint's lock held and never takes that lock
	 * in an upcall, so a provider may hold its own locks across an upcall.
	 */
	size_t size_conn;
	/* sets conn->info.local; requests are reported by ri_conn_request() */
	int (*conn_listen)(struct ri_conn *conn, const struct ri_listen_param *param);
	/* 0: exactly one ri_conn_established() follows; takes the QP to RTS before it */
	int (*conn_connect)(struct ri_conn *conn, struct ri_qp *qp,
			    const struct ri_conn_param *param);
	/* answers a request; as conn_connect(), @param has no addresses */
	int (*conn_accept)(struct ri_conn *conn, struct ri_qp *qp,
			   const struct ri_conn_param *param);
	int (*conn_reject)(struct ri_conn *conn, const void *private_data, u16 len);
	/*
	 * Of an established connection. Graceful: ends it after the peer got what was posted,
	 * as far as the transport can; ri_conn_closed() follows. @abrupt: the QP is in the error
	 * state on return; conn_destroy() follows.
	 */
	void (*conn_disconnect)(struct ri_conn *conn, bool abrupt);
	/*
	 * Ends what is under way, without waiting for the network; @conn may be one that no other
	 * call was made for. No upcall for @conn is running or comes after the return. The QP may
	 * be destroyed after it.
	 */
	void (*conn_destroy)(struct ri_conn *conn);

	/* These may be left out by an RNIC with one port and a network device. */
	/* can programs in @net use the RNIC? under RCU or with the RNIC held; must not sleep */
	bool (*in_net)(struct ri_rnic *rnic, const struct net *net);
	/* is @addr a local address of the RNIC in @net? context as in_net() */
	bool (*has_address)(struct ri_rnic *rnic, const struct net *net,
			    const struct sockaddr_storage *addr);
	/* state of @port (from 1 on), as @net sees it */
	int (*port_query)(struct ri_rnic *rnic, u32 port, const struct net *net,
			  struct ri_port_attr *attr);
};

/**
 * struct ri_traffic - traffic of a QP's streams in one direction
 * @bytes: bytes of the stream
 * @fpdus: whole FPDUs
 * @messages: whole messages on the wire; a work request may have several
 */
struct ri_traffic {
	u64 bytes;
	u64 fpdus;
	u64 messages;
};

/**
 * struct ri_qp_info - state of a QP and its connection for the administrator
 * @tx: sent since the QP was created
 * @rx: received since the QP was created
 * @retransmissions: segments that TCP sent again since the QP was created
 * @connected: the next members are valid
 * @mpa: outcome of the MPA start-up
 * @local: own address
 * @remote: the peer's address
 * @mss: payload of a segment in bytes, the limit of an FPDU
 * @cwnd: congestion window, in segments
 * @srtt_us: smoothed round-trip time
 * @unacked: segments under way
 * @reads_in: unanswered RDMA Reads and atomic operations of the peer
 * @reads_out: unanswered RDMA Reads and atomic operations of this side
 */
struct ri_qp_info {
	struct ri_traffic tx;
	struct ri_traffic rx;
	u64 retransmissions;
	bool connected;
	struct ri_mpa_params mpa;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 mss;
	u32 cwnd;
	u32 srtt_us;
	u32 unacked;
	u32 reads_in;
	u32 reads_out;
};

/* MIB ********************************************************************** */

/** enum ri_mib_ip - objects of the ipSystemStatsTable (RFC 4293), for one version of IP */
enum ri_mib_ip {
	RI_MIB_IP_IN_RECEIVES,
	RI_MIB_IP_IN_OCTETS,
	RI_MIB_IP_IN_HDR_ERRORS,
	RI_MIB_IP_IN_ADDR_ERRORS,
	RI_MIB_IP_IN_DISCARDS,
	RI_MIB_IP_IN_DELIVERS,
	RI_MIB_IP_REASM_REQDS,
	RI_MIB_IP_REASM_OKS,
	RI_MIB_IP_REASM_FAILS,
	RI_MIB_IP_OUT_REQUESTS,
	RI_MIB_IP_OUT_TRANSMITS,
	RI_MIB_IP_OUT_OCTETS,
	RI_MIB_IP_OUT_DISCARDS,
	RI_MIB_IP_FRAG_OKS,
	RI_MIB_IP_FRAG_FAILS,
	RI_MIB_IP_FRAG_CREATES,
	RI_MIB_IP_OBJECTS,
};

/** enum ri_mib_object - counts of an RNIC that makes connections itself; TCP: RFC 4022 */
enum ri_mib_object {
	RI_MIB_TCP_ACTIVE_OPENS,
	RI_MIB_TCP_PASSIVE_OPENS,
	RI_MIB_TCP_ATTEMPT_FAILS,
	RI_MIB_TCP_ESTAB_RESETS,
	RI_MIB_TCP_CURR_ESTAB,	/* now, a gauge */
	RI_MIB_TCP_IN_SEGS,
	RI_MIB_TCP_OUT_SEGS,
	RI_MIB_TCP_RETRANS_SEGS,
	RI_MIB_TCP_IN_ERRS,
	RI_MIB_TCP_OUT_RSTS,
	RI_MIB_IP4,		/* and following: enum ri_mib_ip */
	RI_MIB_IP6 = RI_MIB_IP4 + RI_MIB_IP_OBJECTS,
	RI_MIB_OBJECTS = RI_MIB_IP6 + RI_MIB_IP_OBJECTS,
};

/* The RNIC ***************************************************************** */

/** enum ri_transport - transport of an RNIC */
enum ri_transport {
	RI_TRANSPORT_IWARP,
	RI_TRANSPORT_IB,
	RI_TRANSPORT_ROCE,
};

/* ri_rnic_attr.caps */
#define RI_CAP_LLP_OFFLOAD	BIT(0)	/* makes connections itself: ri_ops.conn_* */
#define RI_CAP_SRQ		BIT(1)
#define RI_CAP_MARKERS		BIT(3)	/* inserts and removes MPA markers */
#define RI_CAP_ALLOW_DELETE	BIT(2)	/* for "rdma link add" and "rdma link del" */
#define RI_CAP_DMABUF		BIT(4)	/* registers dma-bufs */
#define RI_CAP_SG_GAPS		BIT(5)	/* fast registration of elements with gaps */
#define RI_CAP_OWN_PINS		BIT(6)	/* mr_register() pins and charges user memory itself */
#define RI_CAP_FIXED_CQ		BIT(7)	/* a CQ keeps its depth: no cq_resize() */
#define RI_CAP_IMMEDIATE	BIT(8)	/* Sends and Writes with immediate data */

/**
 * struct ri_rnic_attr - attributes of an RNIC, stated by the provider
 * @vendor_id: IEEE OUI or PCI vendor
 * @vendor_part_id: model
 * @hw_version: revision
 * @fw_version: as major << 32 | minor << 16 | patch
 * @transport: its transport
 * @caps: RI_CAP_*
 * @limits: the fields of ib_device_attr that state limits and abilities;
 *	    max_sge, max_qp, max_cqe, atomic_cap, device_cap_flags, ...
 * @local_dma_lkey: with IBK_LOCAL_DMA_LKEY in @limits.kernel_cap_flags: STag of all
 *		    kernel memory, for local use by kernel consumers
 * @max_inline: maximum inline data of a QP in bytes
 * @num_ceh: completion event handlers (completion vectors)
 * @uvp_library: name of the provider's user-space library, for the uAL
 * @num_counters: entries of @counter_names
 * @counter_names: for "rdma statistic"
 * @netdev: the network device below; the kAL holds its own reference. NULL only with
 *	    RI_CAP_LLP_OFFLOAD: none, or several
 * @num_ports: ports, numbered from 1 on; 0 means 1
 * @max_connect_data: most private data of a connect in bytes; only with RI_CAP_LLP_OFFLOAD
 * @max_accept_data: ... of an accept
 * @max_reject_data: ... of a reject
 * @node_guid: of an RNIC without network device
 * @dma_device: device that maps the memory of kernel consumers (kal_dma_map_page()); NULL: the
 *		RNIC works by virtual addresses
 * @ibdev: device by which ib_core has the RNIC already, and by which the rdma cgroup controller
 *	   charges its objects; it stays until ri_unregister_rnic() has returned. NULL: the kAL
 *	   makes one
 * @flush_unsure: a fast registration that was flushed may have been carried out
 */
struct ri_rnic_attr {
	u32 vendor_id;
	u32 vendor_part_id;
	u32 hw_version;
	u64 fw_version;
	enum ri_transport transport;
	u32 caps;
	struct ib_device_attr limits;
	u32 local_dma_lkey;
	u32 max_inline;
	u32 num_ceh;
	const char *uvp_library;
	unsigned int num_counters;
	const char *const *counter_names;
	struct net_device *netdev;
	u32 num_ports;
	__be64 node_guid;
	u16 max_connect_data;
	u16 max_accept_data;
	u16 max_reject_data;
	struct device *dma_device;
	struct ib_device *ibdev;
	bool flush_unsure;
};

/**
 * struct ri_rnic - an RNIC: the kAL's interface object for one provider device
 *
 * It is allocated with ri_rnic_alloc() and is the first member of the provider's private part. The
 * members below @netdev belong to the kAL.
 */
struct ri_rnic {
	const struct ri_ops *ops;
	struct ri_rnic_attr attr;
	char name[IB_DEVICE_NAME_MAX];
	struct net_device *netdev;
	netdevice_tracker netdev_tracker;

	struct kref kref;
	struct list_head node;		/* registry's list, its mutex */
	u32 index;			/* its index in /dev/krdma, 0: none yet */
	unsigned long flags;		/* RI_RNIC_*, atomic bits */
	struct ri_provider *provider;	/* that made it on request, or NULL */
	struct work_struct delete_work;
	struct xarray objects[RI_OBJ_TYPES];	/* id to struct ri_obj */
	u32 next_id[RI_OBJ_TYPES];
	atomic_t num_objects[RI_OBJ_TYPES];
	struct xarray client_data;	/* by kal_client index */
	u64 *base_counters;
	struct list_head eps;		/* live endpoints; this and the next: a lock of cm/ */
	unsigned int num_eps;
	struct kal_rnic_events *events;		/* of the RNIC itself; event.c delivers */
	struct rdmacg_device *cg_device;	/* NULL: not known; this and the rest: cgroup.c */
	struct list_head charges;
	bool cg_closed;
};

/** ri_rnic_alloc() - allocate an RNIC with its provider's private part, see _ri_rnic_alloc() */
#define ri_rnic_alloc(ops, drv_struct, member)                                 \
	container_of(_ri_rnic_alloc(ops, sizeof(struct drv_struct) +           \
				    BUILD_BUG_ON_ZERO(offsetof(                \
					    struct drv_struct, member))),      \
		     struct drv_struct, member)

/**
 * _ri_rnic_alloc() - allocate an RNIC
 * @ops: the provider's table, lives as long as the provider
 * @size: size of the provider's structure, struct ri_rnic included
 *
 * Return: the RNIC with one reference, or NULL. Context: may sleep.
 */
struct ri_rnic *_ri_rnic_alloc(const struct ri_ops *ops, size_t size);

/**
 * ri_rnic_put() - drop the reference of ri_rnic_alloc()
 * @rnic: RNIC, not registered
 */
void ri_rnic_put(struct ri_rnic *rnic);

/**
 * ri_register_rnic() - show an RNIC to all consumer sides
 * @rnic: with @attr filled in
 * @name: of the device, "%d" takes the next free number
 *
 * Return: 0; -EEXIST: the name is taken; -EINVAL: the table or an attribute is invalid; -ENOMEM.
 * Context: may sleep; no RTNL held.
 */
int ri_register_rnic(struct ri_rnic *rnic, const char *name);

/**
 * ri_unregister_rnic() - take an RNIC from all consumers
 * @rnic: registered RNIC
 *
 * Ends all connections, destroys the objects of consumers, and returns when no call into the
 * provider for @rnic is running or can begin. It works under load and while user processes have
 * the device open. It may be called more than once and concurrently. Every call returns after the
 * work is done.
 * Context: may sleep; no RTNL held.
 */
void ri_unregister_rnic(struct ri_rnic *rnic);

/**
 * ri_rnic_rename() - follow the device below, or the one that shows the RNIC, to its new name
 * @rnic: registered RNIC
 * @name: new name; the old one stays if another RNIC has it
 * Context: may sleep.
 */
void ri_rnic_rename(struct ri_rnic *rnic, const char *name);

/**
 * struct ri_provider - a provider that creates RNICs on request
 * @name: for messages
 * @owner: module
 * @create: creates and registers an RNIC on @ndev ("rdma link add"); may sleep, no
 *	    RTNL held. -EEXIST: @ndev has an RNIC already; -EINVAL: @ndev is not
 *	    usable.
 * @destroy: unregisters and frees an RNIC; called once for each created RNIC, in
 *	     process context, when the administrator deletes it or its netdev is removed
 * @node: belongs to the registry
 */
struct ri_provider {
	const char *name;
	struct module *owner;
	int (*create)(const char *name, struct net_device *ndev);
	void (*destroy)(struct ri_rnic *rnic);
	struct list_head node;
};

int ri_register_provider(struct ri_provider *provider);
/* destroy the RNICs that @provider created; returns when all are gone */
void ri_unregister_provider(struct ri_provider *provider);

/* Upcalls: events ********************************************************** */

/**
 * ri_completion_event() - report a completion in an armed CQ
 * @cq: CQ of the calling provider
 * Context: any but hard interrupt.
 */
void ri_completion_event(struct ri_cq *cq);

/**
 * struct ri_async_event - asynchronous event record (OpenRDMA 4.2.1)
 * @type: type of the resource, RI_OBJ_TYPES for the RNIC itself
 * @id: ri_obj.id of the resource
 * @event: the event
 */
struct ri_async_event {
	enum ri_obj_type type;
	u32 id;
	enum ib_event_type event;
};

/**
 * ri_async_event() - report an asynchronous event to its consumer
 * @rnic: RNIC
 * @event: event record; a record for a resource that was destroyed is dropped
 * Context: any but hard interrupt.
 */
void ri_async_event(struct ri_rnic *rnic, const struct ri_async_event *event);

/* Upcalls: LLP ************************************************************* */

/**
 * ri_llp_close() - return a stream to end it gracefully
 * @llp: as handed over by qp_modify(); the provider must not use it any more
 * @status: 0 after a graceful end, else the reason as a negative errno
 *
 * Before the call the provider restores the socket's callbacks and stops using the socket. The kAL
 * sends FIN behind the queued data, discards input until the peer's FIN or close_timeout_ms, and
 * reports to the consumer that the connection is closed.
 * Context: any but hard interrupt, not under the socket's lock.
 */
void ri_llp_close(struct ri_llp *llp, int status);

/** ri_llp_abort() - return a stream like ri_llp_close(), but reset it at once */
void ri_llp_abort(struct ri_llp *llp, int status);

/* Upcalls: connections that the RNIC makes itself ************************** */

/**
 * ri_conn_new_child() - make the connection of a request that a listener got
 * @listener: listener, whose conn_destroy() has not returned
 *
 * The provider fills in the private part and conn->info, then calls ri_conn_request() or
 * ri_conn_drop_child().
 *
 * Return: the connection or an ERR_PTR: -ENOBUFS (too many requests wait), -ENOMEM. The
 * provider then rejects the request. Context: may sleep.
 */
struct ri_conn *ri_conn_new_child(struct ri_conn *listener);

/*
 * Report @child, a request that @listener got. From now on the kAL may call conn_accept() and the
 * others. May sleep.
 */
void ri_conn_request(struct ri_conn *listener, struct ri_conn *child);

/* Forget a child that was not reported; no conn_destroy() follows. May sleep. */
void ri_conn_drop_child(struct ri_conn *child);

/**
 * ri_conn_established() - report the result of conn_connect() or conn_accept()
 * @conn: connection
 * @status: 0: the QP is in RTS; or an errno: -ECONNREFUSED, -ETIMEDOUT, ...; conn->info has
 *	the private data of the peer's answer, if there is any
 * Context: any but hard interrupt.
 */
void ri_conn_established(struct ri_conn *conn, int status);

/**
 * ri_conn_closed() - report that the peer or the network ended the connection or the request
 * @conn: connection that was established, or a request that was not answered
 * @status: 0 after a graceful end, or an errno
 *
 * The provider takes the QP to the error state before. Context: any but hard interrupt.
 */
void ri_conn_closed(struct ri_conn *conn, int status);

/* Upcalls: memory ********************************************************** */

/**
 * struct ri_vm_region - pinned memory of a user, or a part of a dma-buf
 * @mm: address space of the memory, NULL for a dma-buf
 * @pins: the kAL's account of the pinned pages
 * @npages: number of pages
 * @offset: offset of the first byte in pages[0] or in the dma-buf
 * @writable: the memory may be written to
 * @pages: the pages in order
 * @dmabuf: the dma-buf
 * @map: kernel mapping of the whole dma-buf, instead of @pages
 */
struct ri_vm_region {
	struct mm_struct *mm;
	struct kal_pins *pins;
	unsigned long npages;
	u64 offset;
	bool writable;
	struct page **pages;
	struct dma_buf *dmabuf;
	struct iosys_map map;
};

/**
 * ri_qp_alloc() - memory that a QP needs when none of its consumer's calls is in progress
 * @qp: queue pair
 * @size: bytes
 * @may_sleep: for memory that softirq did not get
 *
 * Charged to the memory cgroup of the process that made the QP. Nothing waits for that
 * group's reclaim: without @may_sleep a full group is -ENOMEM, with it the memory is charged
 * beyond the limit, for which the next thing that the group asks for pays.
 *
 * Return: memory for kvfree(), not zeroed, or NULL. Context: any but hard interrupt;
 * process context with @may_sleep.
 */
void *ri_qp_alloc(struct ri_qp *qp, size_t size, bool may_sleep);

/**
 * struct ri_shmem - zeroed kernel memory that the provider shares with its user library
 * @addr: kernel address, page aligned
 * @size: bytes, a multiple of the page size
 * @offset: offset for mmap() in user space; 0 if there is no user
 *
 * The memory lives until ri_shmem_free() and the last mapping in progress are done. A mapping that
 * user space keeps afterwards shows harmless memory.
 */
struct ri_shmem {
	void *addr;
	size_t size;
	u64 offset;
	struct kref kref;
	struct ri_ucontext *uctx;
	void *consumer;
};

/** struct ri_shmem_ops - operations of a consumer side that make a ri_shmem mappable */
struct ri_shmem_ops {
	int (*insert)(struct ri_ucontext *uctx, struct ri_shmem *shm);
	void (*remove)(struct ri_ucontext *uctx, struct ri_shmem *shm);
};

/**
 * ri_shmem_alloc() - allocate shared memory for @uctx, or plain memory if that is NULL
 * @uctx: user, or NULL
 * @size: size in bytes, rounded up to pages
 * Return: the memory or an ERR_PTR. Context: may sleep.
 */
struct ri_shmem *ri_shmem_alloc(struct ri_ucontext *uctx, size_t size);
void ri_shmem_free(struct ri_shmem *shm); /* NULL is fine */

#endif /* KRDMA_RNICPI_H */
