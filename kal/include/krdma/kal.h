/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel access layer as its consumers see it: the ib bridge (kal/ib/),
 * kDAPL and /dev/krdma use this interface and nothing below it.
 *
 * Verbs (kal_pd_alloc() and the rest) check the provider's abilities and the
 * RNIC's limits, keep the resource tree and call the provider. Connections are
 * endpoints: one struct kal_ep for each listener and each connection, whose
 * life is the state machine of endpoint.c.
 */
#ifndef KRDMA_KAL_H
#define KRDMA_KAL_H

#include <krdma/rnicpi.h>

struct kal_port;
struct mem_cgroup;

/* Consumer sides *********************************************************** */

/**
 * struct kal_client - a consumer side that wants to see every RNIC
 * @name: for messages
 * @add: an RNIC was registered; may sleep. An error hides the RNIC from this
 *	 side and, when @mandatory, fails the registration.
 * @remove: it goes: end every use of it, then return; may sleep
 * @event: an event of the RNIC itself (port up, down, address); may sleep
 */
struct kal_client {
	const char *name;
	bool mandatory;
	int (*add)(struct ri_rnic *rnic);
	void (*remove)(struct ri_rnic *rnic);
	void (*event)(struct ri_rnic *rnic, enum ib_event_type event);
	u32 index;
	struct list_head node;
};

int kal_register_client(struct kal_client *client);
void kal_unregister_client(struct kal_client *client);

/* what @client keeps for @rnic; index is the client's */
void *kal_client_data(struct ri_rnic *rnic, const struct kal_client *client);
int kal_set_client_data(struct ri_rnic *rnic, const struct kal_client *client,
			void *data);

/* The administrator's requests: "rdma link add" and "rdma link del". */
int kal_rnic_create(const char *name, struct net_device *ndev);
/*
 * Has the provider destroy an RNIC that it made on request. Any context that
 * may sleep, RTNL held or not; returns at once. No-op when the RNIC goes
 * already. A kal_rnic_create() for the same name or netdev waits for its end.
 */
void kal_rnic_delete(struct ri_rnic *rnic);

/* Verbs ******************************************************************** */
/* All may sleep. @uctx and @udata are NULL for kernel consumers. */

/* Copies between user space and @udata; nothing of an RNIC is held. 0 or -EFAULT */
int kal_udata_get(struct ri_udata *udata, const void __user *in, size_t in_len, size_t out_len);
int kal_udata_put(const struct ri_udata *udata, void __user *out);

struct ri_ucontext *kal_ucontext_alloc(struct ri_rnic *rnic,
				       const struct ri_shmem_ops *shm_ops,
				       void *consumer, struct ri_udata *udata);
void kal_ucontext_dealloc(struct ri_ucontext *uctx);

struct ri_pd *kal_pd_alloc(struct ri_rnic *rnic, struct ri_ucontext *uctx,
			   struct ri_udata *udata);
/* of a user who has no context: all calls go through the kernel */
struct ri_pd *kal_pd_alloc_slow(struct ri_rnic *rnic);
int kal_pd_dealloc(struct ri_pd *pd);	/* -EBUSY while it has children */

struct kal_cq_attr {
	u32 depth;
	u32 ceh;
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
 * A consumer's modify: RTR and RTS answer -EINVAL (only an endpoint takes a QP
 * there), SQD and ERR of a connected QP go through its endpoint.
 */
int kal_qp_modify(struct ri_qp *qp, const struct ib_qp_attr *attr, int mask);
/* ends a connection or connection attempt first; its endpoint has reported so on return */
void kal_qp_disconnect(struct ri_qp *qp, bool abrupt);
/* an abrupt one, after which the QP gets no connection again: it will be destroyed */
void kal_qp_retire(struct ri_qp *qp);
int kal_qp_destroy(struct ri_qp *qp);

struct ri_mr *kal_mr_register(struct ri_pd *pd, const struct ri_mr_attr *wanted,
			      struct ri_udata *udata);
/*
 * Memory is pinned before a PD or an RNIC is held, since user space can make that wait; see
 * verbs.c.
 */
int kal_mr_check(const struct ri_rnic *rnic, const struct ri_mr_attr *attr);
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
 * For fast registrations of up to @max pages, with @gaps elements; the consumer fills
 * mr->list.
 */
struct ri_mr *kal_mr_alloc(struct ri_pd *pd, u32 max, bool gaps);
int kal_mr_deregister(struct ri_mr *mr);

struct ri_mw *kal_mw_alloc(struct ri_pd *pd, enum ib_mw_type type);
void kal_mw_dealloc(struct ri_mw *mw);

/* An object by id with a reference, or NULL; any context. */
struct ri_obj *kal_obj_get(struct ri_rnic *rnic, enum ri_obj_type type, u32 id);
void kal_obj_put(struct ri_obj *obj);

/*
 * References of shared memory for a consumer side's ri_shmem_ops: one is held
 * from insert() until no new mapping can be made. put may sleep.
 */
void kal_shmem_get(struct ri_shmem *shm);
void kal_shmem_put(struct ri_shmem *shm);
int kal_shmem_mmap(const struct ri_shmem *shm, struct vm_area_struct *vma);

/* Endpoints **************************************************************** */

struct kal_ep;

/** enum kal_ep_event_type - what an endpoint tells its consumer */
enum kal_ep_event_type {
	/* on a listener: @child waits for kal_ep_accept() or kal_ep_reject() */
	KAL_EP_CONN_REQUEST,
	/* answer to kal_ep_connect(), exactly one; @status 0 or why not */
	KAL_EP_CONN_REPLY,
	/* after kal_ep_accept() returned 0, exactly one */
	KAL_EP_ESTABLISHED,
	/* the last event; never before CONN_REPLY with 0 or ESTABLISHED */
	KAL_EP_CLOSED,
};

/**
 * struct kal_ep_event - an event of an endpoint
 * @type: which
 * @status: 0; -ECONNREFUSED (refused by TCP or by MPA Reply), -ECONNRESET,
 *	    -ETIMEDOUT, -EPROTO (peer broke MPA), -ECONNABORTED (local end), ...
 * @child: new endpoint of a CONN_REQUEST. The handler returns 0 and owns it, or
 *	   an errno and the kAL ends it.
 * @local: own address
 * @remote: peer's address
 * @private_data: the peer's, valid during the call
 * @private_data_len: octets, 0..512
 * @ird: inbound reads as negotiated (CONN_REQUEST: what the peer's ORD asks of us)
 * @ord: outbound reads as negotiated (CONN_REQUEST: what the peer's IRD allows us)
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
 * typedef kal_ep_handler - the consumer's event handler
 * Called in process context with the endpoint's lock held: it must not call
 * kal_ep_*() on the same endpoint, nor accept, reject or destroy the child of a
 * CONN_REQUEST before it has returned, and must not wait for another event.
 * ESTABLISHED comes before kal_ep_accept() returns.
 */
typedef int (*kal_ep_handler)(struct kal_ep *ep, void *context,
			      const struct kal_ep_event *event);

/**
 * struct kal_conn_param - what a side brings to the MPA start-up
 * @private_data: for the peer, copied
 * @private_data_len: octets, at most 512 (508 with MPA revision 2)
 * @ird: inbound reads offered
 * @ord: outbound reads wanted
 * @tos: IP type of service, used when @tos_set
 * @exact_port: kal_ep_connect(): no other local port takes the place of one that is in use
 * @port: kal_ep_connect(): reservation of the local port, or NULL; there until it returns
 */
struct kal_conn_param {
	const void *private_data;
	u16 private_data_len;
	u16 ird;
	u16 ord;
	bool tos_set;
	u8 tos;
	bool exact_port;
	struct kal_port *port;
};

/**
 * kal_ep_create() - a new endpoint on @rnic
 * Return: the endpoint with one reference, or ERR_PTR. May sleep.
 */
struct kal_ep *kal_ep_create(struct ri_rnic *rnic, kal_ep_handler handler,
			     void *context);

/* Give the endpoint of a CONN_REQUEST its own handler: in the listener's, or before accept. */
void kal_ep_set_handler(struct kal_ep *ep, kal_ep_handler handler,
			void *context);

/**
 * struct kal_listen_param - how to listen
 * @backlog: connections that may wait for the consumer
 * @v6only: an IPv6 wildcard does not take IPv4
 * @tos_set: @tos is valid
 * @tos: IP type of service of the connections that come
 * @net: whose addresses a wildcard means; NULL: the calling task's network namespace
 * @port: reservation of the local port, or NULL; there until kal_ep_listen() returns
 * @memcg: what the endpoints of connections that come are charged to; NULL: nothing
 */
struct kal_listen_param {
	int backlog;
	bool v6only;
	bool tos_set;
	u8 tos;
	const struct net *net;
	struct kal_port *port;
	struct mem_cgroup *memcg;
};

/**
 * kal_ep_listen() - accept connections for @local
 * @local: address, wildcard or one of the RNIC's netdev, and TCP port; 0: any that is free
 * @param: how
 * @bound: takes the address and port that it listens on; NULL: not asked for
 *
 * All RNICs of a network namespace that listen on one address and port share
 * one TCP listener; a connection goes to the RNIC whose netdev owns the
 * destination address. A listener asked for with a wildcard address by a task
 * of another network namespace than the netdev's accepts nothing: ib_core's
 * shared mode asks every RNIC, but a wildcard means the caller's own addresses.
 * With @bound that is -EINVAL. No request has come when it fails.
 *
 * Return: 0, -EADDRINUSE, -EADDRNOTAVAIL, -EINVAL, -ENOMEM. May sleep.
 */
int kal_ep_listen(struct kal_ep *ep, const struct sockaddr *local,
		  const struct kal_listen_param *param, struct sockaddr_storage *bound);

/**
 * kal_ep_connect() - start a connection; never blocks on the network
 * @qp: taken to RTS when the MPA start-up succeeds
 * Return: 0 and exactly one KAL_EP_CONN_REPLY follows; or an errno and none.
 */
int kal_ep_connect(struct kal_ep *ep, struct ri_qp *qp,
		   const struct sockaddr *local, const struct sockaddr *remote,
		   const struct kal_conn_param *param);

/**
 * kal_ep_accept() - accept the connection of a CONN_REQUEST
 * Return: 0 and exactly one KAL_EP_ESTABLISHED follows; or an errno and none, the
 * endpoint is closed. It is not, and waits on for its answer, when the call was wrong:
 * -EINVAL for more private data than a Reply to that Request has room for, or a QP in
 * the error state; -EISCONN for a QP with an endpoint.
 */
int kal_ep_accept(struct kal_ep *ep, struct ri_qp *qp,
		  const struct kal_conn_param *param);

/* Refuse it with private data (RFC 5044 7.1.2); no event follows. -EINVAL as above. */
int kal_ep_reject(struct kal_ep *ep, const void *private_data, u16 len);

/* Does it wait for either of these? Not from the handler. */
bool kal_ep_undecided(struct kal_ep *ep);

/**
 * kal_ep_destroy() - end whatever the endpoint does and drop the owner's reference
 *
 * Nothing is reported any more, except the CONN_REPLY or CLOSED that an
 * established or connecting endpoint still owes, before return.
 * Not from the handler.
 */
void kal_ep_destroy(struct kal_ep *ep);

struct ri_rnic *kal_ep_rnic(struct kal_ep *ep);
/* what a listener's connections are charged to, or NULL; there as long as @ep is */
struct mem_cgroup *kal_ep_memcg(const struct kal_ep *ep);

/*
 * References for one who looks at an endpoint that is not his: it may end
 * meanwhile. put may sleep.
 */
void kal_ep_get(struct kal_ep *ep);
void kal_ep_put(struct kal_ep *ep);

/**
 * struct kal_ep_info - an endpoint as the administrator sees it
 * @state: name of its state; "deaf" for a listener without TCP's
 * @expires_ms: when the state ends by itself, 0 for never
 * @connected: @mpa is valid
 * @mpa: how the two sides agreed
 * @listening: what follows is valid
 * @backlog: connections that TCP keeps for all RNICs that listen there
 * @waiting: of these, those that wait
 * @pending: connections whose MPA Request was not delivered
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

/* How @ep is now. The caller has a reference; not from a handler. May sleep. */
void kal_ep_query(struct kal_ep *ep, struct kal_ep_info *info);

#endif /* KRDMA_KAL_H */
