/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface of the kernel access layer for its consumers: the ib bridge (kal/ib/), /dev/krdma
 * (kal/chardev/) and krdma_kdapl.ko (kal/kdapl/). Consumers use nothing below it.
 *
 * Verbs (kal_pd_alloc() and others) check the provider's abilities and the RNIC's limits, keep the
 * resource tree and call the provider. A struct kal_ep, an endpoint, stands for each listener and
 * each connection. The state table in cm/ep_table.c describes its life.
 */
#ifndef KRDMA_KAL_H
#define KRDMA_KAL_H

#include <linux/dma-mapping.h>

#include <krdma/rnicpi.h>

struct kal_port;
struct mem_cgroup;
struct socket;

/* Consumer sides *********************************************************** */

/**
 * struct kal_client - a consumer side that is shown every RNIC
 * @name: for messages
 * @mandatory: an error of @add fails the registration of the RNIC
 * @add: called when an RNIC is registered; may sleep. An error hides the RNIC from
 *	 this side.
 * @leave: optional: called when the removal of an RNIC begins, before its connections end; the
 *	 RNIC can still be used. @remove follows. May sleep
 * @remove: called when an RNIC is removed: ends every use of it, then returns; may sleep
 * @event: called for an event of the RNIC itself (port up, down, address); may sleep
 * @index: belongs to the registry
 * @node: belongs to the registry
 */
struct kal_client {
	const char *name;
	bool mandatory;
	int (*add)(struct ri_rnic *rnic);
	void (*leave)(struct ri_rnic *rnic);
	void (*remove)(struct ri_rnic *rnic);
	void (*event)(struct ri_rnic *rnic, enum ib_event_type event);
	u32 index;
	struct list_head node;
};

int kal_register_client(struct kal_client *client);
void kal_unregister_client(struct kal_client *client);

/* the data that @client keeps for @rnic */
void *kal_client_data(struct ri_rnic *rnic, const struct kal_client *client);
int kal_set_client_data(struct ri_rnic *rnic, const struct kal_client *client,
			void *data);

/* Count in "ia_name_taken" that another provider of the DAT registry has the RNIC's name. */
void kal_count_ia_name_taken(struct ri_rnic *rnic);

/* Create an RNIC on request of the administrator ("rdma link add"). */
int kal_rnic_create(const char *name, struct net_device *ndev);
/*
 * Let the provider destroy an RNIC that it created on request ("rdma link del"). Returns at once
 * and does nothing if the RNIC is going already. A kal_rnic_create() for the same name or netdev
 * waits for the end. Context: may sleep, RTNL held or not.
 */
void kal_rnic_delete(struct ri_rnic *rnic);

/* Verbs ******************************************************************** */
/* All may sleep. @uctx and @udata are NULL for kernel consumers. */

/* Copies between user space and @udata; nothing of an RNIC is held. 0 or -EFAULT */
int kal_udata_get(struct ri_udata *udata, const void __user *in, size_t in_len, size_t out_len);
int kal_udata_put(const struct ri_udata *udata, void __user *out);

int kal_user_check(struct ri_rnic *rnic, const struct cred *cred);
struct ri_ucontext *kal_ucontext_alloc(struct ri_rnic *rnic,
				       const struct ri_shmem_ops *shm_ops,
				       void *consumer, struct ri_udata *udata);
void kal_ucontext_dealloc(struct ri_ucontext *uctx);

struct ri_pd *kal_pd_alloc(struct ri_rnic *rnic, struct ri_ucontext *uctx,
			   struct ri_udata *udata);
/* a PD of a user without a context: all calls go through the kernel */
struct ri_pd *kal_pd_alloc_slow(struct ri_rnic *rnic);
int kal_pd_dealloc(struct ri_pd *pd);	/* -EBUSY while it has children */

struct kal_cq_attr {
	u32 depth;
	u32 ceh;
	bool slow;		/* see struct ri_cq */
	bool timestamps;	/* see struct ri_cq */
	void (*on_completion)(struct ri_cq *cq);
	void (*on_event)(struct ri_cq *cq, enum ib_event_type event);
	void *consumer;
};

struct ri_cq *kal_cq_create(struct ri_rnic *rnic, struct ri_ucontext *uctx,
			    const struct kal_cq_attr *attr,
			    struct ri_udata *udata);
int kal_cq_resize(struct ri_cq *cq, u32 depth, struct ri_udata *udata);
int kal_cq_modify(struct ri_cq *cq, u16 count, u16 period);
int kal_cq_destroy(struct ri_cq *cq);

struct ri_srq *kal_srq_create(struct ri_pd *pd, struct ri_srq_init_attr *attr,
			      void (*on_event)(struct ri_srq *,
					       enum ib_event_type),
			      void *consumer, struct ri_udata *udata);
int kal_srq_modify(struct ri_srq *srq, const struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ri_udata *udata);
int kal_srq_query(struct ri_srq *srq, struct ib_srq_attr *attr);
int kal_srq_destroy(struct ri_srq *srq);

struct ri_qp *kal_qp_create(struct ri_pd *pd, struct ri_qp_init_attr *attr,
			    void (*on_event)(struct ri_qp *,
					     enum ib_event_type),
			    void *consumer, struct ib_qp *wc_qp,
			    struct ri_udata *udata);
int kal_qp_query(struct ri_qp *qp, struct ib_qp_attr *attr, int mask,
		 struct ri_qp_init_attr *init_attr);
/*
 * Modify a QP for a consumer. RTR and RTS return -EINVAL, because only an endpoint takes a QP
 * there. SQD and ERR of a connected QP go through its endpoint.
 */
int kal_qp_modify(struct ri_qp *qp, const struct ib_qp_attr *attr, int mask);
/* end the connection or the attempt; the endpoint has reported the end on return */
void kal_qp_disconnect(struct ri_qp *qp, bool abrupt);
/* the same, abruptly and for a QP that will be destroyed: it gets no connection any more */
void kal_qp_retire(struct ri_qp *qp);
int kal_qp_destroy(struct ri_qp *qp);

struct ri_mr *kal_mr_register(struct ri_pd *pd, const struct ri_mr_attr *wanted,
			      struct ri_udata *udata);
/*
 * Memory is pinned before a PD or an RNIC is held, since user space can make that wait; see
 * verbs.c.
 */
int kal_mr_check(const struct ri_rnic *rnic, struct ri_mr_attr *attr);
int kal_mr_pin(struct ri_mr_attr *attr);
void kal_mr_unpin(struct ri_vm_region *region);	/* NULL is fine */

/**
 * struct kal_mr_change - a reregistration
 * @flags: enum ib_mr_rereg_flags
 * @attr: the region as it is to be
 * @pin: it needs memory that is to be pinned
 * @pinned: attr.region is to be unpinned at the end: that memory, or what it took the place of
 */
struct kal_mr_change {
	int flags;
	struct ri_mr_attr attr;
	bool pin;
	bool pinned;
};

int kal_mr_change_begin(const struct ri_mr *mr, int flags, const struct ri_mr_attr *wanted,
			struct kal_mr_change *change);
int kal_mr_change_pin(struct kal_mr_change *change);
int kal_mr_reregister(struct ri_mr *mr, struct kal_mr_change *change, struct ri_pd *pd);
void kal_mr_change_end(struct kal_mr_change *change);

struct ri_mr *kal_mr_register_dma(struct ri_pd *pd, int access);
/*
 * Allocate a region for fast registrations of up to @max pages, or with @gaps of up to @max
 * elements. The consumer fills mr->list.
 */
struct ri_mr *kal_mr_alloc(struct ri_pd *pd, u32 max, bool gaps);
/*
 * The same for kal_mr_map(): @max may be larger than the limit of fast registrations.
 * -EOPNOTSUPP: the RNIC does not have that, or not with @gaps.
 */
struct ri_mr *kal_mr_alloc_map(struct ri_pd *pd, u32 max, bool gaps);
int kal_mr_map(struct ri_mr *mr, u64 iova, u64 length, u32 key, int access);
int kal_mr_deregister(struct ri_mr *mr);

struct ri_mw *kal_mw_alloc(struct ri_pd *pd, enum ib_mw_type type);
void kal_mw_dealloc(struct ri_mw *mw);

/* Look an object up by its id. Return: the object with a reference, or NULL. Context: any. */
struct ri_obj *kal_obj_get(struct ri_rnic *rnic, enum ri_obj_type type, u32 id);
void kal_obj_put(struct ri_obj *obj);

/*
 * References of shared memory for the ri_shmem_ops of a consumer side, which holds one from
 * insert() until no new mapping can be made. kal_shmem_put() may sleep.
 */
void kal_shmem_get(struct ri_shmem *shm);
void kal_shmem_put(struct ri_shmem *shm);
int kal_shmem_mmap(const struct ri_shmem *shm, struct vm_area_struct *vma);

/*
 * The data path: the provider's, without a floor between. Context: any but hard interrupt. The
 * objects cannot be destroyed meanwhile.
 */

static inline int kal_post_send(struct ri_qp *qp, const struct ib_send_wr *wr,
				const struct ib_send_wr **bad_wr)
{
	return qp->obj.rnic->ops->post_send(qp, wr, bad_wr);
}

/*
 * Let the provider begin with what was posted, for a consumer that has set ri_qp.pushed. @sleep:
 * the call may sleep, and may carry the work requests out.
 */
static inline void kal_qp_push(struct ri_qp *qp, bool sleep)
{
	const struct ri_ops *ops = qp->obj.rnic->ops;

	if (ops->push)
		ops->push(qp, sleep);
}

static inline int kal_post_recv(struct ri_qp *qp, const struct ib_recv_wr *wr,
				const struct ib_recv_wr **bad_wr)
{
	return qp->obj.rnic->ops->post_recv(qp, wr, bad_wr);
}

static inline int kal_post_srq_recv(struct ri_srq *srq, const struct ib_recv_wr *wr,
				    const struct ib_recv_wr **bad_wr)
{
	return srq->obj.rnic->ops->post_srq_recv(srq, wr, bad_wr);
}

/* Return: the number of completions in @wc, or an errno. */
static inline int kal_cq_poll(struct ri_cq *cq, int num_entries, struct ib_wc *wc)
{
	return cq->obj.rnic->ops->cq_poll(cq, num_entries, wc);
}

/* Return: more than 0 with IB_CQ_REPORT_MISSED_EVENTS if completions wait. */
static inline int kal_cq_req_notify(struct ri_cq *cq, enum ib_cq_notify_flags flags)
{
	return cq->obj.rnic->ops->cq_req_notify(cq, flags);
}

/**
 * struct kal_reg_wr - a fast registration (IB_WR_REG_MR) by a consumer of this header
 * @reg: the work request; kal_reg_wr_init() sets all but wr_id, send_flags and next
 * @names: what @reg.mr points to
 */
struct kal_reg_wr {
	struct ib_reg_wr reg;
	struct ib_mr names;
};

/**
 * kal_reg_wr_init() - fill in a fast registration of mr->list
 * @to: work request; lives until its completion
 * @mr: region of kal_mr_alloc()
 * @iova: tagged offset of the first byte; its offset in a page is that of the memory
 * @length: length in bytes
 * @key: the STag with a new key in its low 8 bits, which becomes mr->stag
 * @access: enum ib_access_flags
 */
static inline void kal_reg_wr_init(struct kal_reg_wr *to, struct ri_mr *mr, u64 iova, u64 length,
				   u32 key, int access)
{
	memset(to, 0, sizeof(*to));
	to->names.lkey = mr->stag;
	to->names.rkey = mr->stag;
	to->names.iova = iova;
	to->names.length = length;
	to->reg.wr.opcode = IB_WR_REG_MR;
	to->reg.mr = &to->names;
	to->reg.key = key;
	to->reg.access = access;
	mr->stag = key;
}

/* DMA addresses ************************************************************ */
/*
 * A kernel consumer maps its memory with these calls, and uses the addresses that they return in
 * elements and page lists. For an RNIC that works by virtual addresses they do nothing more than
 * return the virtual address. Context: any.
 */

static inline bool kal_dma_is_virtual(const struct ri_rnic *rnic)
{
	return !rnic->attr.dma_device;
}

/* Map @size bytes at @offset of @page, which has a kernel address if the RNIC works by those. */
static inline u64 kal_dma_map_page(struct ri_rnic *rnic, struct page *page, unsigned long offset,
				   size_t size, enum dma_data_direction dir)
{
	if (kal_dma_is_virtual(rnic))
		return (uintptr_t)(page_address(page) + offset);
	return dma_map_page(rnic->attr.dma_device, page, offset, size, dir);
}

static inline u64 kal_dma_map_single(struct ri_rnic *rnic, void *addr, size_t size,
				     enum dma_data_direction dir)
{
	if (kal_dma_is_virtual(rnic))
		return (uintptr_t)addr;
	return dma_map_single(rnic->attr.dma_device, addr, size, dir);
}

/* Return: 0, or -ENOMEM if the mapping failed. */
static inline int kal_dma_mapping_error(struct ri_rnic *rnic, u64 addr)
{
	return kal_dma_is_virtual(rnic) ? 0 : dma_mapping_error(rnic->attr.dma_device, addr);
}

static inline void kal_dma_unmap_page(struct ri_rnic *rnic, u64 addr, size_t size,
				      enum dma_data_direction dir)
{
	if (!kal_dma_is_virtual(rnic))
		dma_unmap_page(rnic->attr.dma_device, addr, size, dir);
}

static inline void kal_dma_unmap_single(struct ri_rnic *rnic, u64 addr, size_t size,
					enum dma_data_direction dir)
{
	if (!kal_dma_is_virtual(rnic))
		dma_unmap_single(rnic->attr.dma_device, addr, size, dir);
}

static inline void kal_dma_sync_for_cpu(struct ri_rnic *rnic, u64 addr, size_t size,
					enum dma_data_direction dir)
{
	if (!kal_dma_is_virtual(rnic))
		dma_sync_single_for_cpu(rnic->attr.dma_device, addr, size, dir);
}

static inline void kal_dma_sync_for_device(struct ri_rnic *rnic, u64 addr, size_t size,
					   enum dma_data_direction dir)
{
	if (!kal_dma_is_virtual(rnic))
		dma_sync_single_for_device(rnic->attr.dma_device, addr, size, dir);
}

/* Map a scatterlist. Return: the number of mapped elements, 0: failure. */
int kal_dma_map_sg(struct ri_rnic *rnic, struct scatterlist *sg, int nents,
		   enum dma_data_direction dir);
void kal_dma_unmap_sg(struct ri_rnic *rnic, struct scatterlist *sg, int nents,
		      enum dma_data_direction dir);

/* Ports ******************************************************************** */

/* May programs in @net use the RNIC? Under RCU or with the RNIC held; any context. */
bool kal_rnic_in_net(struct ri_rnic *rnic, const struct net *net);
/*
 * State of @port as @net sees it. Return: 0, -EINVAL (no such port) or the provider's error. May
 * sleep.
 */
int kal_port_query(struct ri_rnic *rnic, u32 port, const struct net *net,
		   struct ri_port_attr *attr);

/*
 * Does the RNIC have the local address @addr in @net? Addresses of a network device that forms a
 * VLAN pair with the RNIC's count, too. Context: any.
 */
bool kal_rnic_owns(struct ri_rnic *rnic, const struct net *net,
		   const struct sockaddr_storage *addr);

/* Endpoints **************************************************************** */

struct kal_ep;

/* Milliseconds that a graceful end of a connection may take (disconnect_timeout_ms). */
unsigned int kal_conn_disconnect_timeout(void);

/** enum kal_ep_event_type - events of an endpoint */
enum kal_ep_event_type {
	/* of a listener: @child waits for kal_ep_accept() or kal_ep_reject() */
	KAL_EP_CONN_REQUEST,
	/* exactly one for each kal_ep_connect() that returned 0; @status is the result */
	KAL_EP_CONN_REPLY,
	/* exactly one for each kal_ep_accept() that returned 0; @status is the result */
	KAL_EP_ESTABLISHED,
	/* the last event; only after CONN_REPLY or ESTABLISHED with status 0 */
	KAL_EP_CLOSED,
};

/**
 * struct kal_ep_event - an event of an endpoint
 * @type: type of the event
 * @status: 0; -ECONNREFUSED (refused by TCP or by MPA Reply), -ECONNRESET,
 *	    -ETIMEDOUT, -EPROTO (the peer violated MPA), -ECONNABORTED (ended here), ...
 * @child: new endpoint of a CONN_REQUEST. If the handler returns 0, it owns the
 *	   endpoint. If it returns an errno, the kAL ends the endpoint.
 * @local: own address
 * @remote: peer's address
 * @private_data: that of the peer, valid during the call
 * @private_data_len: its length in bytes, 0 to 512
 * @ird: negotiated inbound reads (CONN_REQUEST: the number that the peer's ORD asks for)
 * @ord: negotiated outbound reads (CONN_REQUEST: the number that the peer's IRD allows)
 */
struct kal_ep_event {
	enum kal_ep_event_type type;
	int status;
	struct kal_ep *child;
	const struct sockaddr_storage *local;
	const struct sockaddr_storage *remote;
	const void *private_data;
	u16 private_data_len;
	u16 ird;
	u16 ord;
};

/**
 * typedef kal_ep_handler - handle an event of an endpoint
 * @ep: endpoint
 * @context: that of kal_ep_create() or kal_ep_set_handler()
 * @event: the event
 *
 * The handler is called in process context with the endpoint's lock held. It must not call
 * kal_ep_*() on the same endpoint, and must not wait for another event. The child of a
 * CONN_REQUEST may be accepted, rejected or destroyed only after the handler has returned.
 * ESTABLISHED comes before kal_ep_accept() returns, with status 0, unless the RNIC makes
 * connections itself (RI_CAP_LLP_OFFLOAD): then it comes later, and may report that the peer or
 * the network ended the connection first.
 */
typedef int (*kal_ep_handler)(struct kal_ep *ep, void *context,
			      const struct kal_ep_event *event);

/**
 * struct kal_conn_param - parameters of one side for the MPA start-up
 * @private_data: for the peer, copied
 * @private_data_len: its length in bytes, at most 512 (508 with MPA revision 2)
 * @ird: inbound reads offered
 * @ord: outbound reads wanted
 * @tos: IP type of service, used when @tos_set
 * @priority: of the packets (SO_PRIORITY), used when @priority_set; not with RI_CAP_LLP_OFFLOAD
 * @mark: of the packets (SO_MARK), 0: none; not with RI_CAP_LLP_OFFLOAD
 * @exact_port: kal_ep_connect(): fail if the local port is in use, do not choose another
 * @port: kal_ep_connect(): reservation of the local port, or NULL; valid until it returns. Not
 *	with RI_CAP_LLP_OFFLOAD: -EOPNOTSUPP
 * @net: kal_ep_connect(): namespace to connect from, for an RNIC that makes connections itself;
 *	NULL: the calling task's. Other RNICs connect from the namespace of their network device.
 * @timeout_ms: kal_ep_connect(): the reply comes within this time; 0: the time limits of the
 *	parameters, which it does not extend
 */
struct kal_conn_param {
	const void *private_data;
	u16 private_data_len;
	u16 ird;
	u16 ord;
	bool tos_set;
	bool priority_set;
	u8 tos;
	u32 priority;
	u32 mark;
	bool exact_port;
	struct kal_port *port;
	struct net *net;
	unsigned int timeout_ms;
};

/**
 * kal_ep_create() - create an endpoint on @rnic
 * Return: the endpoint with one reference, or ERR_PTR. May sleep.
 */
struct kal_ep *kal_ep_create(struct ri_rnic *rnic, kal_ep_handler handler,
			     void *context);

/* Set the handler of a CONN_REQUEST's endpoint: in the listener's handler, or before accept. */
void kal_ep_set_handler(struct kal_ep *ep, kal_ep_handler handler,
			void *context);

/**
 * struct kal_listen_param - parameters of a listener
 * @backlog: connections that may wait for the consumer
 * @v6only: an IPv6 wildcard does not accept IPv4
 * @tos_set: @tos is valid
 * @tos: IP type of service of incoming connections
 * @net: namespace whose addresses a wildcard stands for; NULL: the calling task's
 * @port: reservation of the local port, or NULL; valid until kal_ep_listen() returns
 * @memcg: memory cgroup that endpoints of incoming connections are charged to; NULL: none
 */
struct kal_listen_param {
	int backlog;
	bool v6only;
	bool tos_set;
	u8 tos;
	struct net *net;
	struct kal_port *port;
	struct mem_cgroup *memcg;
};

/**
 * kal_ep_listen() - listen for connections to @local
 * @ep: endpoint
 * @local: wildcard or an address of the RNIC's netdev, with a TCP port; port 0: any free one
 * @param: parameters
 * @bound: takes the actual address and port; may be NULL
 *
 * All RNICs of a network namespace that listen on one address and port share one TCP listener. A
 * connection belongs to the RNIC whose netdev owns the destination address.
 *
 * A wildcard means the addresses of the caller's network namespace. If a task of another namespace
 * than the netdev's asks for one, as ib_core's shared mode does for every RNIC, the listener
 * accepts nothing. With @bound this is -EINVAL. No request has come when the function fails.
 *
 * Return: 0, -EADDRINUSE, -EADDRNOTAVAIL, -EINVAL, -ENOMEM. May sleep.
 */
int kal_ep_listen(struct kal_ep *ep, const struct sockaddr *local,
		  const struct kal_listen_param *param, struct sockaddr_storage *bound);

/**
 * kal_ep_connect() - start a connection without waiting for the network
 * @ep: endpoint
 * @qp: changes to RTS when the MPA start-up succeeds
 * @local: local address
 * @remote: address of the peer
 * @param: parameters
 * Return: 0: exactly one KAL_EP_CONN_REPLY follows; or an errno: no event follows.
 */
int kal_ep_connect(struct kal_ep *ep, struct ri_qp *qp,
		   const struct sockaddr *local, const struct sockaddr *remote,
		   const struct kal_conn_param *param);

/**
 * kal_ep_connect_socket() - start a connection over a connected TCP socket
 * @ep: endpoint
 * @qp: as in kal_ep_connect()
 * @sock: socket of the RNIC's network device, in ESTABLISHED, without another user
 * @param: parameters; those that choose a path are ignored
 *
 * The socket becomes the stream of the endpoint, which sends the MPA Request. On success the socket
 * belongs to the kAL, together with the caller's reference if it has a file. On error it stays the
 * caller's.
 *
 * Return: 0: exactly one KAL_EP_CONN_REPLY follows; -EOPNOTSUPP: the RNIC makes connections itself;
 * -EINVAL: no TCP socket; -ENOTCONN; -EBUSY: it has another user; -EADDRNOTAVAIL: it is not of the
 * RNIC; or another errno as of kal_ep_connect(). May sleep.
 */
int kal_ep_connect_socket(struct kal_ep *ep, struct ri_qp *qp, struct socket *sock,
			  const struct kal_conn_param *param);

/**
 * kal_ep_listen_socket() - wait for the MPA Request of a connected socket's peer
 * @ep: endpoint; a listener from now on, for this connection only
 * @sock: as in kal_ep_connect_socket(); the Request may have come
 * @last: last bytes of the consumer's own protocol, sent first
 * @last_len: their number
 *
 * The Request is reported as CONN_REQUEST. If it does not come in time, or the peer ends the
 * stream, the connection ends without an event. When @ep is destroyed first, the Request is
 * rejected. After an error from sending, the stream may hold a part of @last.
 *
 * Return: 0; -ENOBUFS: @last does not fit into the socket's send buffer; or as
 * kal_ep_connect_socket(). May sleep.
 */
int kal_ep_listen_socket(struct kal_ep *ep, struct socket *sock, const void *last,
			 size_t last_len);

/**
 * kal_ep_accept() - accept the connection of a CONN_REQUEST
 * @ep: endpoint of the request
 * @qp: changes to RTS
 * @param: parameters
 *
 * After -EINVAL (more private data than a Reply to that Request has room for, or a QP in the error
 * state) and -EISCONN (a QP with an endpoint) the request still waits for its answer. After any
 * other error the endpoint is closed.
 *
 * Return: 0: there is exactly one KAL_EP_ESTABLISHED; or an errno: there is none.
 */
int kal_ep_accept(struct kal_ep *ep, struct ri_qp *qp,
		  const struct kal_conn_param *param);

/* Reject the request, with private data (RFC 5044 7.1.2). No event follows. -EINVAL as above. */
int kal_ep_reject(struct kal_ep *ep, const void *private_data, u16 len);

/* Has the listener connections that were not delivered to its consumer? Any context. */
bool kal_ep_expects(const struct kal_ep *ep);

/* Does the endpoint wait for accept or reject? Not from the handler. */
bool kal_ep_undecided(struct kal_ep *ep);

/**
 * kal_ep_destroy() - end the endpoint and drop the owner's reference
 * @ep: endpoint
 *
 * A connecting endpoint reports its CONN_REPLY and an established one its CLOSED before the
 * function returns. No other event follows. Context: may sleep; not from the handler.
 */
void kal_ep_destroy(struct kal_ep *ep);

struct ri_rnic *kal_ep_rnic(struct kal_ep *ep);
/* what a listener's connections are charged to, or NULL; there as long as @ep is */
struct mem_cgroup *kal_ep_memcg(const struct kal_ep *ep);

/*
 * References for code that looks at an endpoint that it does not own, and that may end at any
 * time. kal_ep_put() may sleep.
 */
void kal_ep_get(struct kal_ep *ep);
void kal_ep_put(struct kal_ep *ep);

/**
 * struct kal_ep_info - state of an endpoint for the administrator
 * @state: name of its state; "detached" for a listener without a TCP listener
 * @expires_ms: time until the state ends by itself; 0: never
 * @connected: @mpa is valid
 * @mpa: outcome of the MPA start-up
 * @listening: the next members are valid
 * @backlog: connections that TCP keeps for all RNICs that listen there
 * @waiting: connections that wait there now
 * @pending: connections whose MPA Request was not delivered yet
 */
struct kal_ep_info {
	const char *state;
	u32 expires_ms;
	bool connected;
	struct ri_mpa_params mpa;
	bool listening;
	u32 backlog;
	u32 waiting;
	u32 pending;
};

/* Read the state of @ep. The caller holds a reference. May sleep; not from a handler. */
void kal_ep_query(struct kal_ep *ep, struct kal_ep_info *info);

#endif /* KRDMA_KAL_H */
