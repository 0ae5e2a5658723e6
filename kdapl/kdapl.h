/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL: what the files of kdapl/ share. A provider of the DAT registry stands for each RNIC.
 *
 * - registry.c, api.c, error.c: the registry, the functions of kdat.h, errors
 * - provider.c: RNICs become providers; the table of functions
 * - ia.c: interface adapters, protection zones, contexts, handles
 * - evd.c: event dispatchers: the objects
 * - evd_upcall.c, evd_ring.c: their completions and upcalls, and their queue
 * - evd_early.c: receives that complete before their connection is reported
 * - ep.c, ep_state.c: endpoints and the table of their states
 * - dto.c: data transfers: posting, and completions to events
 * - slots.c, slots.h: memory for what is posted
 * - srq.c: shared receive queues
 * - lmr.h, lmr_mem.c, lmr.c, lmr_sync.c, lmr_local.c, lmr_fast.c, rmr.c: memory regions and windows
 * - cm.c, sp.c, ssp.c: connections, service points, connected sockets
 * - ext.c: extensions
 *
 * Locks, in the order in which they nest:
 *
 * - kdat_rnic.sem: functions that may sleep hold it for reading while they use an object of the
 *   RNIC, and while an object enters or leaves the lists of its IA. The removal of the RNIC holds
 *   it for writing, so that no list changes. It waits for handlers of kAL endpoints; so these take
 *   @sem with kdat_try_enter() only. kdat_*_destroy() and dat_*_free() take @sem themselves. It is
 *   never held while running upcalls are waited for, because an upcall may wait for @sem.
 * - kdat_ia.mutex: lists of objects
 * - kdat_ep.mutex: state, connection and configuration of an endpoint. It is never held during
 *   kal_ep_destroy(), because the handler of the connection takes it.
 * - spinlocks (kdat_evd.lock, kdat_slots.lock, kdat_ep.query_lock, kdat_ia.address_lock): any
 *   context
 *
 * Functions that must not sleep use the objects of an RNIC in a section of RCU, after a look at
 * kdat_rnic.gone or at kdat_ia.direct. The removal sets these, and waits for such sections before
 * it destroys objects.
 */
#ifndef KDAT_KDAPL_H
#define KDAT_KDAPL_H

#include <linux/completion.h>
#include <linux/irq_poll.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <krdma/kal.h>
#include <krdma/kdat.h>

#include "requests/ep_state.h"
#include "base/error.h"
#include "events/evd_ring.h"
#include "base/registry.h"
#include "requests/slots.h"

#define KDAT_ERROR(type, subtype)	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))
#define KDAT_NO_MEMORY			KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)
/* the RNIC went away: after DAT_ASYNC_ERROR_IA_CATASTROPHIC only free and close do something */
#define KDAT_GONE			KDAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE)
#define KDAT_BAD_ARG(n)			KDAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define KDAT_BAD_HANDLE(what)		KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)
#define KDAT_BAD_STATE(what)		KDAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_##what)

/* RNICs, interface adapters ************************************************* */

/**
 * struct kdat_rnic - an RNIC as kDAPL sees it
 * @rnic: RNIC
 * @refs: one of the registration and one of each IA
 * @sem: see above
 * @gone: the RNIC is being removed or was; set under @sem
 * @provider: table of the IA name NAME (iWARP extension: socket service points)
 * @provider_ib: table of the IA name NAME-ib (InfiniBand extension: immediate data, atomics)
 * @info: key of @provider in the registry
 * @info_ib: key of @provider_ib
 * @listed: the registry has @info; else another provider has the name. Lock of provider.c
 * @listed_ib: it has @info_ib
 * @node: in the list of provider.c
 * @ias: open IAs; @sem and @ias_lock
 * @ias_lock: protects @ias
 */
struct kdat_rnic {
	struct ri_rnic *rnic;
	refcount_t refs;
	struct rw_semaphore sem;
	bool gone;
	DAT_PROVIDER provider;
	DAT_PROVIDER provider_ib;
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER_INFO info_ib;
	bool listed;
	bool listed_ib;
	struct list_head node;
	struct list_head ias;
	struct mutex ias_lock;	/* protects ias */
};

/* in kdat_obj.type, beside DAT_HANDLE_TYPE: this is an object of ours, and it was not freed */
#define KDAT_OBJ_MAGIC	0x6b444100u

/**
 * struct kdat_obj - head of every object that a handle names
 * @provider: DAT_HANDLE_TO_PROVIDER(); the first member
 * @type: KDAT_OBJ_MAGIC | DAT_HANDLE_TYPE; 0: freed
 * @ia: the IA of the object; of an IA: itself
 * @context: the consumer's
 * @node: in kdat_ia.objects, under kdat_ia.mutex
 * @uses: objects and requests that need this one; it cannot be freed while there are some
 * @rcu: objects are freed after a grace period
 */
struct kdat_obj {
	const DAT_PROVIDER *provider;
	u32 type;
	struct kdat_ia *ia;
	DAT_CONTEXT context;
	struct list_head node;
	atomic_t uses;
	struct rcu_head rcu;
};

/**
 * struct kdat_ia - an open interface adapter
 * @obj: head
 * @kr: RNIC
 * @node: in kdat_rnic.ias
 * @mutex: protects @objects
 * @objects: by DAT_HANDLE_TYPE; service points, connection requests and SSPs as well
 * @async_evd: EVD for asynchronous events
 * @own_async_evd: the IA made it; else the consumer gave it
 * @passes: STags of LMRs are the RNIC's: it checks the local segments of requests
 * @direct: the same, as long as the RNIC is there
 * @leaving: DAT_ASYNC_ERROR_IA_CATASTROPHIC was reported
 * @reserved_lmr: LMR of all kernel memory for local use, NULL: none
 * @reserved_context: its local context, 0: none
 * @stags: LMRs and RMRs that are regions and windows of the RNIC, by the index of their STag
 * @lmrs: LMRs by their local context, for an RNIC without ri_ops.mr_map
 * @next_lmr: start of the next search for a context
 * @net: network namespace of the task that opened the IA, or what dat_ia_open_net() was given
 * @net_counted: the IA has a reference of @net
 * @ifindex: of a port's network device, if the RNIC itself has none; 0: there is none
 * @address: of the RNIC in @net; see kdat_ia_refresh_address(); under @address_lock
 * @address_lock: innermost; any context
 */
struct kdat_ia {
	struct kdat_obj obj;
	struct kdat_rnic *kr;
	struct list_head node;
	struct mutex mutex;	/* protects objects */
	struct list_head objects[DAT_HANDLE_TYPE_EXTENSION_BASE + 1];
	struct kdat_evd *async_evd;
	bool own_async_evd;
	bool passes;
	bool direct;
	atomic_t leaving;
	DAT_LMR_CONTEXT reserved_context;
	struct kdat_lmr *reserved_lmr;
	struct xarray stags;
	struct xarray lmrs;
	u32 next_lmr;
	struct net *net;
	bool net_counted;
	int ifindex;
	struct sockaddr_storage address;
	spinlock_t address_lock;	/* protects address */
};

/* Initialise @obj and put it into the IA's list. kdat_rnic.sem held. May sleep. */
void kdat_obj_init(struct kdat_obj *obj, struct kdat_ia *ia, u32 type);
/*
 * Take @obj, the first member of its structure, from the IA's list, poison it and free it with
 * kfree() after a grace period. kdat_rnic.sem held. May sleep.
 */
void kdat_obj_free(struct kdat_obj *obj);

/* Return: the object if @handle is one of ours, of @type and not freed; else NULL. */
static inline void *kdat_obj(DAT_HANDLE handle, u32 type)
{
	struct kdat_obj *obj = handle;

	return obj && READ_ONCE(obj->type) == (KDAT_OBJ_MAGIC | type) ? obj : NULL;
}

#define kdat_ia_of(h)	((struct kdat_ia *)kdat_obj(h, DAT_HANDLE_TYPE_IA))
#define kdat_pz_of(h)	((struct kdat_pz *)kdat_obj(h, DAT_HANDLE_TYPE_PZ))
#define kdat_evd_of(h)	((struct kdat_evd *)kdat_obj(h, DAT_HANDLE_TYPE_EVD))
#define kdat_ep_of(h)	((struct kdat_ep *)kdat_obj(h, DAT_HANDLE_TYPE_EP))
#define kdat_srq_of(h)	((struct kdat_srq *)kdat_obj(h, DAT_HANDLE_TYPE_SRQ))
#define kdat_lmr_of(h)	((struct kdat_lmr *)kdat_obj(h, DAT_HANDLE_TYPE_LMR))
#define kdat_rmr_of(h)	((struct kdat_rmr *)kdat_obj(h, DAT_HANDLE_TYPE_RMR))

/*
 * Use the objects of the RNIC. kdat_enter() for functions that may sleep. If either returns
 * false, the RNIC is gone, nothing is held, and the function answers KDAT_GONE.
 */
static inline bool kdat_enter(struct kdat_ia *ia)
{
	might_sleep();
	down_read(&ia->kr->sem);
	if (!ia->kr->gone)
		return true;
	up_read(&ia->kr->sem);
	return false;
}

/* For the handler of a kAL endpoint: false also while the RNIC is being removed. */
static inline bool kdat_try_enter(struct kdat_ia *ia)
{
	if (!down_read_trylock(&ia->kr->sem))
		return false;
	if (!ia->kr->gone)
		return true;
	up_read(&ia->kr->sem);
	return false;
}

/* For the end of an object: the RNIC stays as it is, there or gone, until kdat_leave(). */
static inline void kdat_hold(struct kdat_ia *ia)
{
	might_sleep();
	down_read(&ia->kr->sem);
}

static inline void kdat_leave(struct kdat_ia *ia)
{
	up_read(&ia->kr->sem);
}

static inline bool kdat_enter_atomic(struct kdat_ia *ia)
{
	rcu_read_lock();
	if (likely(!READ_ONCE(ia->kr->gone)))
		return true;
	rcu_read_unlock();
	return false;
}

static inline void kdat_leave_atomic(struct kdat_ia *ia)
{
	rcu_read_unlock();
}

/*
 * A section of RCU for a post that looks at kdat_ia.direct itself. Elsewhere than in a real-time
 * kernel, in which the provider's locks sleep, it costs less than rcu_read_lock().
 */
static inline void kdat_enter_direct(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		rcu_read_lock();
	else
		rcu_read_lock_sched();
}

static inline void kdat_leave_direct(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		rcu_read_unlock();
	else
		rcu_read_unlock_sched();
}

/*
 * Set the address of the RNIC that the IA shows: the first IPv4 address of its network device in
 * the IA's namespace, else a global IPv6 address; AF_UNSPEC: none. The RNIC is held. May sleep.
 */
void kdat_ia_refresh_address(struct kdat_ia *ia);
/* Report an asynchronous event to the IA's EVD. Any context but hard interrupt. */
void kdat_ia_async(struct kdat_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, int reason);

/* provider.c */
void kdat_provider_put(struct kdat_rnic *kr);

/* Limits that kDAPL sets */
#define KDAT_MAX_IOV		16	/* segments of a request; they are on the stack */
#define KDAT_MAX_MESSAGE	0x7fffffffu
#define KDAT_EP_OWN_REQUESTS	4	/* of an endpoint's send queue, for kDAPL itself */

/* ia.c */
DAT_RETURN kdat_ia_open(struct kdat_rnic *kr, const DAT_PROVIDER *provider, struct net *net,
			DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *handle);
/* The removal of the RNIC begins: report it, once. Any context but hard interrupt. */
void kdat_ia_leave(struct kdat_ia *ia);
void kdat_ia_drop(struct kdat_ia *ia);
u16 kdat_ia_max_private_data(const struct ri_rnic *rnic);

/** struct kdat_pz - protection zone; @pd is NULL when the RNIC is gone */
struct kdat_pz {
	struct kdat_obj obj;
	struct ri_pd *pd;
};

struct kdat_ep;
struct kdat_lmr;
struct kdat_rmr;

/* Event dispatchers ********************************************************* */

#define KDAT_EVD_POLL	16	/* completions that are taken from a CQ at once */
#define KDAT_EVD_MANY	4	/* upcalls at the same time with DAT_UPCALL_MANY */

/**
 * struct kdat_upcall - work item that calls up; belongs to evd_upcall.c
 * @work: work
 * @evd: its EVD
 * @busy: @work is queued or runs and has not found that there is nothing to do; kdat_evd.lock
 * @cpu: of an EVD with @bh: where @work runs, -1: nowhere
 */
struct kdat_upcall {
	struct work_struct work;
	struct kdat_evd *evd;
	bool busy;
	int cpu;
};

/**
 * struct kdat_evd - event dispatcher
 * @obj: head; kdat_obj.uses counts endpoints, service points and the IA's asynchronous events
 * @borrowers: other IAs that have their asynchronous events put here
 * @flags: DAT_EVD_FLAGS, streams that may be fed
 * @bh: it has a CQ, or had one: it calls up in softirq context
 * @cq: completions of DTOs and binds; NULL if @flags has neither and when the RNIC is gone. Who
 *	does not hold the RNIC uses it under @lock, in a section of RCU, and looks at
 *	kdat_rnic.gone.
 * @mutex: protects @reserved; a resize excludes kdat_evd_purge()
 * @reserved: completions that endpoints may have in @cq at once
 * @plain_streams: endpoints' queues whose completions call up; under kdat_ia.mutex
 * @solicited_streams: those whose solicited receives alone do, then all of them; kdat_ia.mutex
 * @lock: protects all below; any context
 * @ring: events that were put, and completions that were polled
 * @batch: completions that the busy work item has polled; younger than those in @ring
 * @wc: completions as the RNIC reports them, for a moment
 * @batch_next: index of the oldest one that is not taken, @batch_num or more: none; the work item
 *	takes one without @lock
 * @batch_num: their number
 * @drained: @cq had no more than was polled, and was not armed since
 * @armed: @cq tells of the next completion, and when that was asked for none waited
 * @solicited: it tells of solicited ones only
 * @early: endpoints with receives that were held, see evd_early.c; they are older than those in @cq
 * @overflow: an event was lost, and that was reported; until there is room again
 * @overflow_due: the report has to go to this very EVD, and waits for room
 * @told: with DAT_UPCALL_NORIFY: the consumer was called and did not see an empty queue since
 * @policy: of upcalls
 * @upcall: the consumer's
 * @stopping: number of those who wait for the end of running upcalls: none starts
 * @busy: number of @upcalls that are busy
 * @poll: with @bh: runs the first of @upcalls
 * @upcalls: work
 */
struct kdat_evd {
	struct kdat_obj obj;
	atomic_t borrowers;
	DAT_EVD_FLAGS flags;
	bool bh;
	struct ri_cq *cq;
	struct mutex mutex;	/* protects reserved, the memory of ring */
	u32 reserved;
	u32 plain_streams;
	u32 solicited_streams;
	spinlock_t lock;	/* protects all below */
	struct kdat_evd_ring ring;
	struct kdat_evd_entry batch[KDAT_EVD_POLL];
	struct ib_wc wc[KDAT_EVD_POLL];
	u32 batch_next;
	u32 batch_num;
	bool drained;
	bool armed;
	bool solicited;
	struct list_head early;
	bool overflow;
	bool overflow_due;
	bool told;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT upcall;
	u32 stopping;
	u32 busy;
	struct irq_poll poll;
	struct kdat_upcall upcalls[KDAT_EVD_MANY];
};

/* the workqueue of EVDs without a CQ; evd_upcall.c */
int kdat_evd_init(void);
void kdat_evd_exit(void);

/*
 * Make an EVD, with a CQ if @flags has DTOs or binds. Used by dat_evd_kcreate() and for the
 * asynchronous EVD that an IA makes itself. The arguments are valid, but for a @qlen that is too
 * large. The RNIC is held.
 */
DAT_RETURN kdat_evd_make(struct kdat_ia *ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			 const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags,
			 struct kdat_evd **evd);
/*
 * Free an EVD that nothing uses: no upcall is running or comes after the return. May sleep. The
 * RNIC is not held, for an upcall may wait for it; not from an upcall of @evd.
 */
void kdat_evd_destroy(struct kdat_evd *evd);
/* Return: whether the caller is an upcall of @evd. Any context but hard interrupt. */
bool kdat_evd_in_upcall(const struct kdat_evd *evd);
/* Start no more upcalls, and wait for those that run, without the RNIC. May sleep. */
void kdat_evd_stop(struct kdat_evd *evd);
/* RNIC goes: destroy the CQ, keep the queued events. May sleep. */
void kdat_evd_drop_cq(struct kdat_evd *evd);

/*
 * Put @event into the queue and call up. Sets event->evd_handle. If the queue is full, the event is
 * lost, and DAT_ASYNC_ERROR_EVD_OVERFLOW is reported: once until the consumer has made room.
 * Return: false: it is lost. Any context but hard interrupt.
 */
bool kdat_evd_put(struct kdat_evd *evd, const DAT_EVENT *event);

/* Make room for the completions of @num more requests in the CQ, or give it back. May sleep. */
DAT_RETURN kdat_evd_reserve(struct kdat_evd *evd, u32 num);
void kdat_evd_unreserve(struct kdat_evd *evd, u32 num);
/*
 * Take all completions from the CQ into the queue, which is made longer for them: they stay when
 * their queue pair is reset or destroyed. The RNIC is held. May sleep.
 */
void kdat_evd_collect(struct kdat_evd *evd);
/*
 * Take some completions from the CQ into the queue: those without an event give their requests
 * back, though no consumer looks for them. Return: there were some. In a section of RCU.
 */
bool kdat_evd_reap(struct kdat_evd *evd);
/* Wait for a poll of the CQ: no request of what was polled is looked at any more. Any context. */
void kdat_evd_settle(struct kdat_evd *evd);
/* Receives that are early, see evd_early.c */
void kdat_early_begin(struct kdat_ep *ep);
bool kdat_early_hold(struct kdat_ep *ep, struct kdat_dto *dto, const struct ib_wc *wc);
void kdat_early_end(struct kdat_ep *ep);
void kdat_early_drop(struct kdat_ep *ep);
/* Forget queued DTO events of @ep, whose queue pair is destroyed. May sleep. */
void kdat_evd_purge(struct kdat_evd *evd, const struct kdat_ep *ep);
/*
 * The receives of all endpoints on @evd ask for solicited notification, or not. Such an @evd takes
 * no completions of requests: they are not solicited, and would not call up.
 */
void kdat_evd_solicited(struct kdat_evd *evd, bool solicited);

/* Posted requests *********************************************************** */

/* Take back what is in use of @slots: its completions cannot come any more. May sleep. */
void kdat_slots_reset(struct kdat_slots *slots);
/*
 * Post @wr for @dto, whose cookie, op and object are set, on the request queue of @ep: sets length,
 * flags, wr_id and the send flags (beside those that are set). On failure the slot is given back;
 * the use of dto->object stays the caller's. The RNIC is held. Any context.
 */
DAT_RETURN kdat_dto_post(struct kdat_ep *ep, struct kdat_dto *dto, struct ib_send_wr *wr,
			 DAT_COMPLETION_FLAGS flags);

/**
 * struct kdat_transfer - a request that moves data
 * @op: operation
 * @ext_op: as in struct kdat_dto
 * @num: local segments
 * @iov: local segments
 * @max: most bytes
 * @cookie: the consumer's
 * @flags: the consumer's, checked
 */
struct kdat_transfer {
	DAT_DTOS op;
	int ext_op;
	DAT_COUNT num;
	const DAT_LMR_TRIPLET *iov;
	u64 max;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
};

/* Translate the segments and post @wr, which has all but these and what kdat_dto_post() sets. */
DAT_RETURN kdat_dto_transfer(struct kdat_ep *ep, struct ib_send_wr *wr,
			     const struct kdat_transfer *transfer);

/*
 * Turn @num completions into events, and give their requests back. @entries takes the events; those
 * that are suppressed or internal have none. Sets an entry's event, and notify: it calls up; counts
 * those that do not in @quiet. Return: number of events. Under evd->lock, any context: it puts no
 * event itself, also not to another EVD.
 */
unsigned int kdat_dto_events(struct kdat_evd *evd, const struct ib_wc *wc, unsigned int num,
			     struct kdat_evd_entry *entries, u32 *quiet);

/* Endpoints ***************************************************************** */

/**
 * struct kdat_ep_queues - queue pair of an endpoint and the room in CQs that it has
 * @qp: queue pair; NULL when the RNIC is gone
 * @recv_evd: its completions of receives
 * @request_evd: its completions of requests
 * @srq: shared receive queue, or NULL
 * @recv_reserved: completions reserved in the CQ of @recv_evd; with @srq under its mutex
 * @request_reserved: in the CQ of @request_evd
 * @node: in kdat_srq.queues
 * @requests: for kdat_ep.requests
 * @recvs: for kdat_ep.recvs
 */
struct kdat_ep_queues {
	struct ri_qp *qp;
	struct kdat_evd *recv_evd;
	struct kdat_evd *request_evd;
	struct kdat_srq *srq;
	u32 recv_reserved;
	u32 request_reserved;
	struct list_head node;
	struct kdat_slots requests;
	struct kdat_slots recvs;
};

/**
 * struct kdat_ep - endpoint
 * @obj: head
 * @mutex: see above; protects what has no other rule
 * @state: DAT_EP_STATE; changed under @mutex by kdat_ep_set_state(), read with READ_ONCE()
 * @early: its receives are held, see evd_early.c; under the lock of @recv_evd, as the next three
 * @early_first: oldest one that is held, NULL: none
 * @early_last: youngest one
 * @early_node: in kdat_evd.early
 * @pz: protection zone, NULL: unconfigured
 * @recv_evd: completions of receives, NULL: none
 * @request_evd: completions of requests
 * @connect_evd: connection events
 * @srq: shared receive queue, NULL: none
 * @attr: attributes as granted
 * @qp: queue pair; NULL while unconfigured and when the RNIC is gone. A new one takes its place
 *	only while the endpoint is not connected and has no posted receive.
 * @queues: what belongs to @qp, NULL while unconfigured
 * @changes: of the configuration
 * @connected: @qp had a connection
 * @resetting: dat_ep_reset() runs
 * @pushed: the consumer calls dat_ep_push() after its posts; @mutex
 * @last_wqe: @qp takes nothing more from @srq
 * @requests: posted requests
 * @recvs: posted receives, unless there is @srq
 * @conn: connection or attempt, NULL: none
 * @cr: tentative connection request, NULL: none; kdat_ia.mutex
 * @calls: calls of cm.c that use the endpoint now; the end of the endpoint waits for them
 * @disconnecting: the consumer asked for the end of the connection
 * @patience: in jiffies: when a graceful end does not wait any longer for posted requests
 * @timed_out: the consumer's time for the attempt is over
 * @quiet: the end of the connection has been reported, and it still has to end
 * @local: own address of the connection
 * @remote: the peer's
 * @private_data: of the peer's answer; valid until the next connection
 * @private_data_len: its length
 * @timeout: ends a connection attempt after the consumer's time, or a connection when its requests
 *	are complete, or flushes after a failure
 * @sp: RSP or SSP that reserved the endpoint, NULL: none; kdat_ia.mutex
 * @source: local address of the next connect, AF_UNSPEC: any; mutex
 * @traffic: what dat_ep_set_traffic() has said; mutex
 * @query_lock: what dat_ep_query() shows and only threads with @mutex change is changed with both:
 *	pz to attr without @early, @local, @remote. Alone it protects the next two; any context
 * @param_local: what the pointers of dat_ep_query() show
 * @param_remote: the same
 */
struct kdat_ep {
	struct kdat_obj obj;
	struct mutex mutex;	/* see above */
	DAT_EP_STATE state;
	bool early;
	struct kdat_pz *pz;
	struct kdat_evd *recv_evd;
	struct kdat_evd *request_evd;
	struct kdat_evd *connect_evd;
	struct kdat_srq *srq;
	DAT_EP_ATTR attr;
	struct kdat_dto *early_first;
	struct kdat_dto *early_last;
	struct list_head early_node;
	struct ri_qp *qp;
	struct kdat_ep_queues *queues;
	u32 changes;
	bool connected;
	bool resetting;
	bool pushed;
	struct completion last_wqe;
	struct kdat_slots requests;
	struct kdat_slots recvs;
	struct kal_ep *conn;
	struct kdat_cr *cr;
	atomic_t calls;
	bool disconnecting;
	unsigned long patience;
	bool timed_out;
	bool quiet;
	struct sockaddr_storage source;
	struct {
		bool set;
		u8 tos;
		u32 priority;
		u32 mark;
	} traffic;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u8 private_data[RI_PRIVATE_DATA_MAX];
	u16 private_data_len;
	struct delayed_work timeout;
	struct kdat_sp *sp;
	spinlock_t query_lock;	/* see above */
	struct sockaddr_storage param_local;
	struct sockaddr_storage param_remote;
};

/*
 * Ask this, in the section of RCU, before a request is taken for a post: while the endpoint is
 * reset, it has no queue pair, and its requests are taken back.
 */
static inline bool kdat_ep_has_qp(const struct kdat_ep *ep)
{
	return READ_ONCE(ep->qp);
}

/* ep.c */
/**
 * struct kdat_ep_limits - what the attributes of an endpoint may be at most
 * @dtos: requests, or receives
 * @recv_iov: segments of a receive
 * @request_iov: segments of a Send or a Write
 * @read_iov: segments of a Read
 * @reads_in: Reads of the peer at once
 * @reads_out: Reads at once
 */
struct kdat_ep_limits {
	DAT_COUNT dtos;
	DAT_COUNT recv_iov;
	DAT_COUNT request_iov;
	DAT_COUNT read_iov;
	DAT_COUNT reads_in;
	DAT_COUNT reads_out;
};

/* The RNIC is held. */
struct kdat_ep_limits kdat_ep_limits(const struct ri_rnic *rnic);
/* Change the state; ep->mutex held. */
void kdat_ep_set_state(struct kdat_ep *ep, DAT_EP_STATE state);
/* What dat_ep_create() does, for endpoints that a PSP provides, too. The RNIC is held. */
DAT_RETURN kdat_ep_make(struct kdat_ia *ia, struct kdat_pz *pz, struct kdat_evd *recv,
			struct kdat_evd *request, struct kdat_evd *connect, struct kdat_srq *srq,
			const DAT_EP_ATTR *attr, struct kdat_ep **ep);
/* End whatever is under way and free; allowed in every state. May sleep. */
void kdat_ep_destroy(struct kdat_ep *ep);
/* RNIC goes: end the connection, destroy the queue pair. May sleep. */
void kdat_ep_drop_qp(struct kdat_ep *ep);

/* Shared receive queues ***************************************************** */

/**
 * struct kdat_srq - shared receive queue
 * @obj: head; kdat_obj.uses counts endpoints
 * @pz: protection zone
 * @srq: of the RNIC, NULL when it is gone
 * @attr: attributes as granted
 * @failed: the RNIC reported an error of the queue
 * @recvs: posted receives
 * @posted: their number
 * @room: most of them
 * @mutex: protects @queues and changes of @attr; taken under kdat_rnic.sem, outside of all others
 * @queues: endpoints' queue pairs
 */
struct kdat_srq {
	struct kdat_obj obj;
	struct kdat_pz *pz;
	struct ri_srq *srq;
	DAT_SRQ_ATTR attr;
	bool failed;
	struct kdat_slots recvs;
	atomic_t posted;
	u32 room;
	struct mutex mutex;	/* see above */
	struct list_head queues;
};

void kdat_srq_destroy(struct kdat_srq *srq);
void kdat_srq_drop(struct kdat_srq *srq);

/* Memory ******************************************************************** */

/**
 * kdat_lmr_translate() - turn the consumer's segments into elements of a work request
 * @ia: IA
 * @pz: protection zone of the queue
 * @num: segments
 * @iov: segments; those of length 0 are skipped, whatever they name
 * @write: the memory will be written to
 * @sge: elements
 * @max: room in @sge
 * @total: takes the sum of the lengths in bytes
 *
 * Where the context is an STag, the RNIC alone checks protection zone, privileges and bounds, and
 * the completion tells of a violation. Otherwise they are checked here.
 *
 * Return: number of elements; or a negative number: *@error has the DAT_RETURN. Any context.
 */
int kdat_lmr_translate(struct kdat_ia *ia, struct kdat_pz *pz, DAT_COUNT num,
		       const DAT_LMR_TRIPLET *iov, bool write, struct ib_sge *sge, u32 max,
		       u64 *total, DAT_RETURN *error);

/* the largest LMR with remote rights, in bytes */
u64 kdat_lmr_max_size(const struct ri_rnic *rnic);
int kdat_lmr_open_ia(struct kdat_ia *ia);	/* reserved LMR */
void kdat_lmr_close_ia(struct kdat_ia *ia);
void kdat_lmr_destroy(struct kdat_lmr *lmr);
void kdat_lmr_drop(struct kdat_lmr *lmr);
void kdat_rmr_destroy(struct kdat_rmr *rmr);
void kdat_rmr_drop(struct kdat_rmr *rmr);
/*
 * A fast registration, invalidation or bind has completed, or never will because its queue pair is
 * destroyed: the use of @dto->object ends. The peer has invalidated @stag, or a Read did: the LMR
 * or RMR is unbound. Any context.
 */
void kdat_lmr_completed(struct kdat_dto *dto, bool success);
void kdat_lmr_invalidated(struct kdat_ep *ep, u32 stag);
/*
 * The endpoint is connected, and so is its state, but the consumer was not told yet: post the
 * registration of the LMRs of its protection zone that wait for a queue pair (RNICs without
 * ri_ops.mr_map). Later requests of the endpoint come after them. The RNIC is held, ep->mutex is
 * not. Process context.
 */
DAT_RETURN kdat_lmr_connected(struct kdat_ep *ep);

/* Connections, service points *********************************************** */

/** enum kdat_sp_kind - kinds of service points */
enum kdat_sp_kind {
	KDAT_SP_PSP,
	KDAT_SP_RSP,
	KDAT_SP_CSP,
	KDAT_SP_SSP,
};

/**
 * struct kdat_sp - service point
 * @obj: head, type DAT_HANDLE_TYPE_PSP, _RSP, _CSP or DAT_IW_HANDLE_TYPE_SSP
 * @kind: kind
 * @evd: for connection requests
 * @listener: endpoint of the kAL, NULL: ended
 * @address: that it listens on
 * @psp_flags: of a PSP
 * @comm: of a CSP
 * @ep: that an RSP or SSP reserved, until its request comes; kdat_ia.mutex
 * @spare: endpoint that a PSP made for a request which could not be reported
 * @sock: socket of an SSP as the consumer names it
 * @used: an RSP or SSP had its request; of an RSP there is no handle any more. kdat_ia.mutex
 * @ending: no call begins to use it any more; kdat_ia.mutex
 * @calls: calls that use it now; its end waits for them
 * @end: ends the listener of a used RSP
 */
struct kdat_sp {
	struct kdat_obj obj;
	enum kdat_sp_kind kind;
	struct kdat_evd *evd;
	struct kal_ep *listener;
	struct sockaddr_storage address;
	DAT_PSP_FLAGS psp_flags;
	DAT_COMM comm;
	struct kdat_ep *ep;
	struct kdat_ep *spare;
	struct socket *sock;
	bool used;
	bool ending;
	atomic_t calls;
	struct work_struct end;
};

/**
 * struct kdat_cr - connection request
 * @obj: head, type DAT_HANDLE_TYPE_CR
 * @rsp: used RSP, which ends with the request; or NULL. kdat_ia.mutex
 * @conn: endpoint of the kAL; NULL: accepted, rejected or ended
 * @ep: endpoint that the service point gave, or NULL; kdat_ia.mutex
 * @own_ep: a PSP made @ep
 * @local: own address
 * @remote: the peer's
 * @ird: reads that the peer asks for
 * @ord: reads that the peer allows
 * @private_data_len: bytes
 * @private_data: of the request
 */
struct kdat_cr {
	struct kdat_obj obj;
	struct kdat_sp *rsp;
	struct kal_ep *conn;
	struct kdat_ep *ep;
	bool own_ep;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u16 ird;
	u16 ord;
	u16 private_data_len;
	u8 private_data[RI_PRIVATE_DATA_MAX];
};

/* sp.c */
void kdat_sp_destroy(struct kdat_sp *sp);
void kdat_sp_drop(struct kdat_sp *sp);		/* RNIC goes: end the listener */
void kdat_cr_destroy(struct kdat_cr *cr);
void kdat_cr_drop(struct kdat_cr *cr);		/* RNIC goes: end the request */
/* The endpoint ends: no service point and no request names it any more. */
void kdat_sp_forget_ep(struct kdat_ep *ep);
/* Make a service point, and take an EP for it if there is one; the RNIC is held. */
struct kdat_sp *kdat_sp_alloc(struct kdat_ia *ia, enum kdat_sp_kind kind, struct kdat_evd *evd);
DAT_RETURN kdat_sp_reserve(struct kdat_sp *sp, struct kdat_ep *ep);
/* Take the alloc and the reservation back; no handle was given out. The RNIC is held. */
void kdat_sp_abandon(struct kdat_sp *sp);
/* A call uses the service point, though the consumer may end it meanwhile. */
void kdat_sp_get(struct kdat_sp *sp);
void kdat_sp_put(struct kdat_sp *sp);
/* EVD of @ia for connection requests, or NULL */
struct kdat_evd *kdat_sp_evd(struct kdat_ia *ia, DAT_EVD_HANDLE handle);

/* cm.c */

/*
 * For work that the consumer's calls wait for, also those in upcalls. It has a rescuer because the
 * upcalls' workqueue has one, and it is another one because that may be full of such upcalls.
 */
extern struct workqueue_struct *kdat_cm_wq;
int kdat_cm_wq_init(void);
void kdat_cm_wq_exit(void);

/**
 * struct kdat_cm_open - what a connection attempt needs
 * @remote: the peer
 * @sock: connected socket, or NULL
 * @timeout: in microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data: for the peer
 * @private_data_len: its length in bytes
 * @qos: quality of service
 */
struct kdat_cm_open {
	struct sockaddr_storage remote;
	struct socket *sock;
	DAT_TIMEOUT timeout;
	const void *private_data;
	u16 private_data_len;
	DAT_QOS qos;
};

/* Set up the part of a new endpoint that is cm.c's. */
void kdat_cm_init(struct kdat_ep *ep);
/* A call uses the endpoint, though the consumer may reset or free it: kdat_cm_end() waits. */
void kdat_cm_get(struct kdat_ep *ep);
void kdat_cm_put(struct kdat_ep *ep);
/*
 * May the consumer send so much private data? @bad_size and @bad_data: the answers if not. The RNIC
 * is held.
 */
DAT_RETURN kdat_cm_check_data(struct kdat_ia *ia, DAT_COUNT size, const void *private_data,
			      DAT_RETURN bad_size, DAT_RETURN bad_data);
/* Start an attempt. @open has all but the private data. May sleep. */
DAT_RETURN kdat_cm_connect(struct kdat_ep *ep, struct kdat_cm_open *open, DAT_COUNT size,
			   const void *private_data, DAT_RETURN bad_size, DAT_RETURN bad_data);
/*
 * Accept @conn for @ep; @tentative: which was tentative for it. DAT_SUCCESS: one event of @ep
 * tells the result. Else the request still waits. The RNIC is held.
 */
DAT_RETURN kdat_cm_accept(struct kdat_ep *ep, struct kal_ep *conn, bool tentative,
			  const void *private_data, u16 private_data_len);
/* Check and copy a consumer's address; an IPv4-mapped one becomes IPv4. @any: wildcard is fine */
DAT_RETURN kdat_cm_address(const struct sockaddr *from, bool any, struct sockaddr_storage *to);
/* Is it one of the values of DAT_QOS? */
bool kdat_cm_qos_valid(DAT_QOS qos);
/*
 * End the connection of @ep, if there is one; no event of it comes after the return, and only one
 * of an RNIC that goes comes before. The endpoint leaves its service point or request. Before the
 * queue pair is reset or destroyed, with the RNIC held, without kdat_ia.mutex and ep->mutex. May
 * sleep.
 */
void kdat_cm_end(struct kdat_ep *ep);

/* ssp.c */
/* What dat_iw_*() answers for an error of a call of the kAL with a socket, its second argument */
DAT_RETURN kdat_ssp_error(int err);
/* operations of the iWARP extension, for ext.c */
DAT_RETURN kdat_ssp_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

/* Functions of the provider's table ***************************************** */

/* each file fills in its own */
void kdat_ia_table(DAT_PROVIDER *provider);
void kdat_evd_table(DAT_PROVIDER *provider);
void kdat_ep_table(DAT_PROVIDER *provider);
void kdat_dto_table(DAT_PROVIDER *provider);
void kdat_srq_table(DAT_PROVIDER *provider);
void kdat_lmr_table(DAT_PROVIDER *provider);
void kdat_rmr_table(DAT_PROVIDER *provider);
void kdat_cm_table(DAT_PROVIDER *provider);
void kdat_sp_table(DAT_PROVIDER *provider);
void kdat_ext_table(DAT_PROVIDER *provider);

#endif /* KDAT_KDAPL_H */
