/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The transport on kDAPL, for its own files:
 *
 *	ot_kdapl.c		table of ops, start and end, errors of DAT
 *	ot_kdapl_device.c	devices: RNICs of the kAL in a namespace; addresses, routes, events
 *	ot_kdapl_pool.c		domains, pools, keys
 *	ot_kdapl_cq.c		completion queues: upcalls of kDAPL, and handlers of SDP
 *	ot_kdapl_post.c		what is posted
 *	ot_kdapl_ep.c		endpoints and their connections
 *	ot_kdapl_listen.c	listeners, requests
 *
 * LIFE OF A DEVICE
 *
 * A device is an RNIC in a network namespace, with an IA. When the RNIC or the namespace goes,
 * sdp_kdapl_device_end() takes everything of kDAPL away from its objects, and closes the IA. The
 * objects are SDP's until SDP destroys them, and use kDAPL no more.
 *
 * LOCKS
 *
 * sdp_kdapl_device.sem is held for reading by ops that sleep and use the IA, and for writing by
 * sdp_kdapl_device_end(). It is not held in an upcall of SDP nor while one is waited for. Ops that
 * do not sleep count in sdp_kdapl_ep.posting instead, see sdp_kdapl_ep_enter().
 *
 * Spinlocks are held for few instructions, with interrupts off, and not while kDAPL or SDP is
 * called.
 */
#ifndef SDP_OT_KDAPL_H
#define SDP_OT_KDAPL_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <krdma/kdat.h>
#include <krdma/netstack.h>

#include "ot.h"

struct ri_rnic;
struct sdp_kdapl_ep;

#define SDP_KDAPL_SEGMENTS	16	/* of a post: they are on the stack */
#define SDP_KDAPL_LINKS		8	/* network devices of an RNIC that are looked at */
#define SDP_KDAPL_DATA		512	/* bytes of private data: the most that MPA carries */

/* Devices ******************************************************************* */

/**
 * struct sdp_kdapl_device - an RNIC in a namespace
 * @ot: what SDP sees
 * @refs: SDP's, those of objects, and one until the device ends
 * @list: in sdp_kdapl_devices
 * @rnic: distinguishes the device; not used after its removal
 * @sem: see above
 * @gone: the IA is closed; changed with @sem held for writing
 * @reported: subscribers know the device; event worker's, as the next one
 * @reported_up: they know that it has a link
 * @ia: interface adapter
 * @iwarp: the sink of a Read needs the right for remote Writes
 * @syncs: the RNIC reaches buffers by DMA: they have to be synchronised with it
 * @lock: protects the next members
 * @eps: struct sdp_kdapl_ep
 * @requests: struct sdp_ot_conn_request that have not been answered
 * @links: interfaces of the RNIC in the namespace
 * @up: one of them has a link
 * @addresses: struct sdp_kdapl_address, event worker's
 * @listeners_lock: serialises listen() and listener_destroy(); protects @listeners
 * @listeners: struct sdp_ot_listener, one for each port
 * @domains_lock: protects @domains
 * @domains: struct sdp_kdapl_domain
 * @net_sub: subscription to changes of routes, addresses and links
 * @net_subscribed: it is active
 * @changes: SDP_KDAPL_CHANGE_*, atomic
 * @changed: entry in the list of devices with changes
 * @of_rnic: entry in the list of the RNIC's devices
 */
struct sdp_kdapl_device {
	struct sdp_ot_device ot;
	struct kref refs;
	struct list_head list;
	struct ri_rnic *rnic;
	struct rw_semaphore sem;
	bool gone;
	bool reported;
	bool reported_up;
	DAT_IA_HANDLE ia;
	bool iwarp;
	bool syncs;
	spinlock_t lock;
	struct list_head eps;
	struct list_head requests;
	int links[SDP_KDAPL_LINKS];
	bool up;
	struct list_head addresses;
	struct mutex listeners_lock;
	struct list_head listeners;
	struct mutex domains_lock;
	struct list_head domains;
	struct kal_net_sub net_sub;
	bool net_subscribed;
	unsigned long changes;
	struct llist_node changed;
	struct list_head of_rnic;
};

static inline struct sdp_kdapl_device *sdp_kdapl_device(struct sdp_ot_device *device)
{
	return container_of(device, struct sdp_kdapl_device, ot);
}

extern struct sdp_ot sdp_kdapl;
extern struct workqueue_struct *sdp_kdapl_wq;

int sdp_kdapl_errno(DAT_RETURN ret);

int sdp_kdapl_devices_init(void);
void sdp_kdapl_devices_exit(void);
void sdp_kdapl_devices_wait(void);
int sdp_kdapl_subscribe(struct sdp_ot_subscriber *subscriber);
void sdp_kdapl_unsubscribe(struct sdp_ot_subscriber *subscriber);
void sdp_kdapl_device_get(struct sdp_ot_device *device);
void sdp_kdapl_device_put(struct sdp_ot_device *device);
struct sdp_ot_device *sdp_kdapl_route(struct net *net, const struct sockaddr_storage *remote,
				      struct sockaddr_storage *local, int bound_ifindex,
				      struct sockaddr_storage *next_hop);

/* Pools ********************************************************************* */

/**
 * struct sdp_kdapl_domain - a protection zone
 * @list: in device->domains
 * @token: SDP's name for it
 * @refs: objects that use it; device->domains_lock
 * @pz: NULL when the device is gone
 */
struct sdp_kdapl_domain {
	struct list_head list;
	const void *token;
	u32 refs;
	DAT_PZ_HANDLE pz;
};

/**
 * struct sdp_kdapl_pool - a pool
 * @ot: what SDP sees
 * @device: counted
 * @domain: counted
 * @lock: protects the next members
 * @free: elements that are not SDP's
 * @renewing: keys that get a new LMR, by @renew
 * @used: elements that are SDP's
 * @renew: see sdp_kdapl_key_renew()
 * @memory: of all buffers of a message pool
 * @lmr: for @memory
 * @context: of @lmr, for segments
 * @base: address of @memory for segments
 * @bufs: elements of a message pool
 * @keys: ... of an RDMA pool
 */
struct sdp_kdapl_pool {
	struct sdp_ot_pool ot;
	struct sdp_kdapl_device *device;
	struct sdp_kdapl_domain *domain;
	spinlock_t lock;
	struct list_head free;
	struct list_head renewing;
	u32 used;
	struct delayed_work renew;
	void *memory;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_VADDR base;
	struct sdp_ot_buf *bufs;
	struct sdp_kdapl_key *keys;
};

/**
 * struct sdp_kdapl_key - an element of an RDMA pool
 * @ot: what SDP sees
 * @lmr: NULL: its renewal failed
 * @named: it may name memory
 * @size: bytes of that memory
 * @sgl: room for its pages
 * @sgl_num: elements of it up to its end mark
 * @renew: in pool->renewing; pool->lock, as the next ones
 * @waiting: post of a key_drop() that ends with the renewal, or NULL
 * @given_back: by SDP: to be put into the pool after the renewal
 */
struct sdp_kdapl_key {
	struct sdp_ot_key ot;
	DAT_LMR_HANDLE lmr;
	bool named;
	u64 size;
	struct scatterlist *sgl;
	u32 sgl_num;
	struct list_head renew;
	struct sdp_kdapl_post *waiting;
	bool given_back;
};

static inline struct sdp_kdapl_pool *sdp_kdapl_pool(struct sdp_ot_pool *pool)
{
	return container_of(pool, struct sdp_kdapl_pool, ot);
}

static inline struct sdp_kdapl_key *sdp_kdapl_key(struct sdp_ot_key *key)
{
	return container_of(key, struct sdp_kdapl_key, ot);
}

struct sdp_kdapl_domain *sdp_kdapl_domain_get(struct sdp_kdapl_device *device, const void *token);
void sdp_kdapl_domain_put(struct sdp_kdapl_device *device, struct sdp_kdapl_domain *domain);

struct sdp_ot_pool *sdp_kdapl_pool_create(struct sdp_ot_device *device,
					  const struct sdp_ot_pool_attr *attr);
void sdp_kdapl_pool_destroy(struct sdp_ot_pool *pool);
struct sdp_ot_buf *sdp_kdapl_pool_get(struct sdp_ot_pool *pool);
void sdp_kdapl_pool_put(struct sdp_ot_buf *buf);
struct sdp_ot_key *sdp_kdapl_key_get(struct sdp_ot_pool *pool);
void sdp_kdapl_key_put(struct sdp_ot_key *key);
void sdp_kdapl_pool_settle(struct sdp_ot_pool *pool);
void sdp_kdapl_key_renew(struct sdp_kdapl_key *key, struct sdp_kdapl_post *waiting);

/* Completion queues ********************************************************* */

/**
 * struct sdp_kdapl_cq - a completion queue
 * @ot: what SDP sees
 * @device: counted
 * @evd: NULL when the device is gone
 * @lock: protects the next members
 * @done: posts that have to be reported to SDP, oldest first
 * @busy: a context reports to SDP, or @work is going to
 * @armed: SDP wants notify()
 * @work: reports to SDP when there is much to report, and what its own ops have ended
 */
struct sdp_kdapl_cq {
	struct sdp_ot_cq ot;
	struct sdp_kdapl_device *device;
	DAT_EVD_HANDLE evd;
	spinlock_t lock;
	struct list_head done;
	bool busy;
	bool armed;
	struct work_struct work;
};

static inline struct sdp_kdapl_cq *sdp_kdapl_cq(struct sdp_ot_cq *cq)
{
	return container_of(cq, struct sdp_kdapl_cq, ot);
}

struct sdp_ot_cq *sdp_kdapl_cq_create(struct sdp_ot_device *device,
				      const struct sdp_ot_cq_attr *attr);
void sdp_kdapl_cq_destroy(struct sdp_ot_cq *cq);
u32 sdp_kdapl_cq_poll(struct sdp_ot_cq *cq, struct sdp_ot_completion *completions, u32 n);
int sdp_kdapl_cq_arm(struct sdp_ot_cq *cq, bool solicited);

/** enum sdp_kdapl_reporter - may the context that ends a post call SDP up? */
enum sdp_kdapl_reporter {
	SDP_KDAPL_REPORT_HERE,	/* an upcall of kDAPL, a work item, the end of an endpoint */
	SDP_KDAPL_REPORT_LATER,	/* an op of SDP */
};

void sdp_kdapl_cq_add(struct sdp_kdapl_cq *cq, struct list_head *posts,
		      enum sdp_kdapl_reporter reporter);

/* Endpoints ***************************************************************** */

/** enum sdp_kdapl_post_state - where a post is */
enum sdp_kdapl_post_state {
	SDP_KDAPL_FREE,
	SDP_KDAPL_POSTED,	/* kDAPL will report its end, or the endpoint ends */
	SDP_KDAPL_RENEWING,	/* key_drop(): the key gets a new LMR first */
	SDP_KDAPL_DONE,		/* it has ended; it is reported to SDP in the order of posts */
};

/**
 * struct sdp_kdapl_post - something that was posted
 * @list: in queue->free, queue->posted or cq->done
 * @queue: of the endpoint
 * @key: of KEY_POST and KEY_DROP
 * @buf: of RECV
 * @completion: what is reported to SDP
 * @state: enum sdp_kdapl_post_state; queue->lock
 * @silent: only a failure is reported to SDP
 */
struct sdp_kdapl_post {
	struct list_head list;
	struct sdp_kdapl_queue *queue;
	struct sdp_kdapl_key *key;
	struct sdp_ot_buf *buf;
	struct sdp_ot_completion completion;
	u8 state;
	bool silent;
};

/**
 * struct sdp_kdapl_queue - send or receive queue of an endpoint
 * @ep: endpoint
 * @cq: queue of its completions
 * @lock: protects the next members
 * @posted: oldest first
 * @free: posts that are not in use
 * @untold: posts that are not reported to SDP yet
 */
struct sdp_kdapl_queue {
	struct sdp_kdapl_ep *ep;
	struct sdp_kdapl_cq *cq;
	spinlock_t lock;
	struct list_head posted;
	struct list_head free;
	atomic_t untold;
};

/** enum sdp_kdapl_ep_state - an endpoint's connection */
enum sdp_kdapl_ep_state {
	SDP_KDAPL_IDLE,
	SDP_KDAPL_CONNECTING,
	SDP_KDAPL_UP,
	SDP_KDAPL_DOWN,
};

/**
 * struct sdp_kdapl_ep - an endpoint
 * @ot: what SDP sees
 * @rcu: frees it: an upcall of a completion queue may still look at a post
 * @refs: the owner's, and one for each queue with posts that are not reported
 * @device: counted
 * @domain: counted
 * @list: in device->eps
 * @dat: NULL when the device is gone or the endpoint ends
 * @conn_evd: events of the connection
 * @posting: ops that use @dat now
 * @closed: none begins any more
 * @send: send queue
 * @recv: receive queue
 * @lock: protects the next members
 * @state: enum sdp_kdapl_ep_state
 * @mute: the endpoint is being destroyed
 * @up_due: SDP_OT_UP has to be reported
 * @end_due: one of the other events has
 * @up_reported: SDP_OT_UP was reported
 * @end_reported: one of the others
 * @end: enum sdp_ot_conn_event, that one
 * @error: for it
 * @failed: status of the first post that failed by itself, or 0
 * @disconnecting: SDP has asked for the end
 * @abrupt: abruptly
 * @data: private data of the peer
 * @data_len: bytes
 * @event_work: calls SDP up
 * @end_work: disconnects
 * @posts: of both queues
 */
struct sdp_kdapl_ep {
	struct sdp_ot_ep ot;
	struct rcu_head rcu;
	refcount_t refs;
	struct sdp_kdapl_device *device;
	struct sdp_kdapl_domain *domain;
	struct list_head list;
	DAT_EP_HANDLE dat;
	DAT_EVD_HANDLE conn_evd;
	atomic_t posting;
	bool closed;
	struct sdp_kdapl_queue send;
	struct sdp_kdapl_queue recv;
	spinlock_t lock;
	u8 state;
	bool mute;
	bool up_due;
	bool end_due;
	bool up_reported;
	bool end_reported;
	u8 end;
	int error;
	int failed;
	bool disconnecting;
	bool abrupt;
	u8 data[SDP_KDAPL_DATA];
	u32 data_len;
	struct work_struct event_work;
	struct work_struct end_work;
	struct sdp_kdapl_post posts[];
};

static inline struct sdp_kdapl_ep *sdp_kdapl_ep(struct sdp_ot_ep *ep)
{
	return container_of(ep, struct sdp_kdapl_ep, ot);
}

struct sdp_ot_ep *sdp_kdapl_ep_create(struct sdp_ot_device *device,
				      const struct sdp_ot_ep_attr *attr);
void sdp_kdapl_ep_destroy(struct sdp_ot_ep *ep);
void sdp_kdapl_ep_put(struct sdp_kdapl_ep *ep);
bool sdp_kdapl_ep_use(struct sdp_kdapl_ep *ep);
int sdp_kdapl_ep_enter(struct sdp_kdapl_ep *ep, bool up);
void sdp_kdapl_ep_leave(struct sdp_kdapl_ep *ep);
void sdp_kdapl_ep_kill(struct sdp_kdapl_ep *ep);
void sdp_kdapl_ep_flush(struct sdp_kdapl_ep *ep);
void sdp_kdapl_ep_gone(struct sdp_kdapl_ep *ep);
void sdp_kdapl_ep_failed(struct sdp_kdapl_ep *ep, int status);
void sdp_kdapl_ep_received(struct sdp_kdapl_ep *ep);
void sdp_kdapl_ep_accepting(struct sdp_kdapl_ep *ep, bool begun);
int sdp_kdapl_connect(struct sdp_ot_ep *ep, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote,
		      const struct sockaddr_storage *next_hop, const u8 *data, u32 length,
		      u32 timeout_ms);
void sdp_kdapl_disconnect(struct sdp_ot_ep *ep, bool abrupt);

/* Posts ********************************************************************* */

int sdp_kdapl_post_recv(struct sdp_ot_ep *ep, struct sdp_ot_buf *buf, void *cookie);
int sdp_kdapl_post_send(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			u32 flags, u32 invalidate, void *cookie);
int sdp_kdapl_post_read(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			u32 key, u64 address, u32 flags, void *cookie);
int sdp_kdapl_post_write(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			 u32 key, u64 address, u32 flags, void *cookie);
int sdp_kdapl_key_post(struct sdp_ot_ep *ep, struct sdp_ot_key *key, struct page **pages, u32 n,
		       u32 offset, u64 length, u32 access, void *cookie);
int sdp_kdapl_key_drop(struct sdp_ot_ep *ep, struct sdp_ot_key *key, void *cookie);
void sdp_kdapl_push(struct sdp_ot_ep *ep, bool sleep);
void sdp_kdapl_post_event(const DAT_EVENT *event);
void sdp_kdapl_post_renewed(struct sdp_kdapl_post *post);
void sdp_kdapl_post_free(struct sdp_kdapl_post *post);
void sdp_kdapl_queue_told(struct sdp_kdapl_queue *queue);
void sdp_kdapl_post_told(struct sdp_kdapl_post *post);
void sdp_kdapl_queue_cancel(struct sdp_kdapl_queue *queue);
void sdp_kdapl_queue_wait(struct sdp_kdapl_queue *queue);

/* Listeners ***************************************************************** */

struct sdp_ot_listener *sdp_kdapl_listen(struct sdp_ot_device *device,
					 const struct sdp_ot_listen_attr *attr);
void sdp_kdapl_listener_destroy(struct sdp_ot_listener *listener);
int sdp_kdapl_accept(struct sdp_ot_conn_request *request, struct sdp_ot_ep *ep, const u8 *data,
		     u32 length);
int sdp_kdapl_reject(struct sdp_ot_conn_request *request, const u8 *data, u32 length);
void sdp_kdapl_listeners_end(struct sdp_kdapl_device *device);

#endif /* SDP_OT_KDAPL_H */
