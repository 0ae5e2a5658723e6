/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL's base: RNICs, interface adapters, and what all objects of an IA have. The other folders
 * stand above it: fast, events, memory, transfers, connections, and the files beside them, each of
 * which uses only those before it. A provider of the DAT registry stands for each RNIC.
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
#ifndef KDAT_BASE_H
#define KDAT_BASE_H

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

#include "ep_state.h"
#include "error.h"

#define KDAT_ERROR(type, subtype)	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))
#define KDAT_NO_MEMORY			KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)
/* the RNIC was removed, after DAT_ASYNC_ERROR_IA_CATASTROPHIC: only free and close work */
#define KDAT_GONE			KDAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE)
#define KDAT_BAD_ARG(n)			KDAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define KDAT_BAD_HANDLE(what)		KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)
#define KDAT_BAD_STATE(what)		KDAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_##what)

struct kdat_dto;
struct kdat_ep;
struct kdat_evd;
struct kdat_lmr;

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
 * @register_work: posts registrations of LMRs, and reports connections that wait for them
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
	struct delayed_work register_work;
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

/**
 * struct kdat_obj_ops - what the base and the data path ask of objects without knowing them
 * @destroy: free the object, which the consumer did not; the RNIC is not held. May sleep.
 * @drop: the RNIC is removed: give back what the object has of it. The object stays until it is
 *	freed. kdat_rnic.sem is held for writing. May sleep.
 * @completed: of an object that is kdat_dto.object of requests: such a request has completed, or
 *	never will because its queue pair is destroyed. The use of the object ends. Any context.
 * @invalidated: of LMRs: the peer of an endpoint has invalidated an STag, or a Read did: an LMR's
 *	or an RMR's. Any context.
 * @ready: of endpoints: report the connection, whose LMRs are registered, or that it failed with
 *	@error, unless that is over. Takes the endpoint's mutex.
 */
struct kdat_obj_ops {
	void (*destroy)(struct kdat_obj *obj);
	void (*drop)(struct kdat_obj *obj);
	void (*completed)(struct kdat_dto *dto, enum ib_wc_status status);
	void (*invalidated)(struct kdat_ep *ep, u32 stag);
	void (*ready)(struct kdat_ep *ep, DAT_RETURN error);
};

/* Objects of @type have these. When the module starts; @ops stays. */
void kdat_obj_register(u32 type, const struct kdat_obj_ops *ops);
/* Destroy all objects of @ia but @but. May sleep. */
void kdat_obj_destroy_all(struct kdat_ia *ia, const void *but);
/* Drop all objects of @ia. kdat_rnic.sem held for writing. May sleep. */
void kdat_obj_drop_all(struct kdat_ia *ia);

extern const struct kdat_obj_ops *kdat_obj_types[DAT_HANDLE_TYPE_EXTENSION_BASE + 1];

/* The operations of @obj, which was not freed. */
static inline const struct kdat_obj_ops *kdat_obj_ops(const struct kdat_obj *obj)
{
	return kdat_obj_types[obj->type & 0xff];
}

/* Return: the object if @handle is one of ours, of @type and not freed; else NULL. */
static inline void *kdat_obj(DAT_HANDLE handle, u32 type)
{
	struct kdat_obj *obj = handle;

	return obj && READ_ONCE(obj->type) == (KDAT_OBJ_MAGIC | type) ? obj : NULL;
}

#define kdat_ia_of(h)	((struct kdat_ia *)kdat_obj(h, DAT_HANDLE_TYPE_IA))
#define kdat_pz_of(h)	((struct kdat_pz *)kdat_obj(h, DAT_HANDLE_TYPE_PZ))

/*
 * Use the objects of the RNIC. kdat_enter() for functions that may sleep. If either returns
 * false, the RNIC was removed, nothing is held, and the function answers KDAT_GONE.
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

/* For the end of an object: the RNIC stays as it is, present or removed, until kdat_leave(). */
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

/* Limits that kDAPL sets */
#define KDAT_MAX_IOV		16	/* segments of a request; they are on the stack */
#define KDAT_MAX_MESSAGE	0x7fffffffu
#define KDAT_EP_OWN_REQUESTS	4	/* of an endpoint's send queue, for kDAPL itself */

/* most private data of either side of a connection, in bytes */
u16 kdat_ia_max_private_data(const struct ri_rnic *rnic);

/**
 * struct kdat_pz - protection zone
 * @obj: head
 * @pd: protection domain, NULL: the RNIC was removed
 * @unnamed: LMRs that wait for their registration
 */
struct kdat_pz {
	struct kdat_obj obj;
	struct ri_pd *pd;
	atomic_t unnamed;
};

/* the functions of the provider's table that the base has */
void kdat_obj_table(DAT_PROVIDER *provider);
void kdat_pz_table(DAT_PROVIDER *provider);
void kdat_pz_init(void);

#endif /* KDAT_BASE_H */
