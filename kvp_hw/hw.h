/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The hardware provider: an RNIC of the kAL for each RDMA device that the kernel drives. For the
 * files of this folder:
 *
 * - main.c: adoption of devices; the module
 * - drivers.c: the list of drivers
 * - netlink.c: the administrator's choice of devices
 * - rnic.c: attributes, ports, counters and the provider's table
 * - event.c: events of drivers, which may come in hard interrupts
 * - users.c: users' right to a device, and what their work requests may name
 * - access.c: the rules of that, pure code
 * - mem.c: protection domains and memory
 * - cq.c: completion queues
 * - qp.c: queue pairs and shared receive queues
 * - post.c: work requests
 * - reserve.c: memory cgroups of users without library
 * - conn.c: connections
 *
 * Verbs go to ib_core's kernel interface, connections to rdma_cm. A provider's objects are the
 * device's own: this module adds no queue and no memory translation.
 */
#ifndef HW_H
#define HW_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include <krdma/rnicpi.h>

#include "access.h"

/* counters of an RNIC; the names are in rnic.c */
enum hw_counter {
	HW_CNT_LKEY_REFUSED,	/* elements of users that name memory that is not theirs */
	HW_CNT_BOUNDS_REFUSED,	/* elements of users beyond their region or its rights */
	HW_CNT_USER_REFUSED,	/* contexts of users without the right */
	HW_CNT_DRAIN_TIMEOUT,	/* queue pairs that did not flush in time */
	HW_CNT_OTHER_DEVICE,	/* connections for which rdma_cm chose another device */
	HW_CNT_IOVA_REFUSED,	/* regions of users whose iova has another offset in its page */
	HW_CNT_NUM,
};

/**
 * struct hw_events - asynchronous events of an object that were not reported yet
 * @work: reports them in softirq; drivers may call in hard interrupts
 * @pending: bits by enum ib_event_type, atomic
 * @obj: object; NULL: the RNIC itself
 * @rnic: RNIC
 */
struct hw_events {
	struct work_struct work;
	unsigned long pending;
	struct ri_obj *obj;
	struct ri_rnic *rnic;
};

/**
 * struct hw_rnic - an adopted device
 * @ri: RNIC
 * @ibdev: device
 * @handler: for events of the device
 * @events: events of the device that were not reported yet
 * @qps: struct hw_qp_ref by device queue pair
 * @mrs: struct hw_mr by the index of its STag
 * @ends: ends rdma_cm ids, which may wait for the network
 * @stalled_until: of kernel consumers and of programs (1), in jiffies; until then queue pairs that
 *	are destroyed are given little time, because one of the same kind has not flushed
 * @counters: by enum hw_counter
 */
struct hw_rnic {
	struct ri_rnic ri;
	struct ib_device *ibdev;
	struct ib_event_handler handler;
	struct hw_events events;
	struct rhashtable qps;
	struct xarray mrs;
	struct workqueue_struct *ends;
	unsigned long stalled_until[2];
	atomic64_t counters[HW_CNT_NUM];
};

static inline struct hw_rnic *hw_rnic(const struct ri_rnic *ri)
{
	return container_of(ri, struct hw_rnic, ri);
}

/* The driver that needs a way of its own at several places (docs/kernel-bugs.md). Any context. */
static inline bool hw_is_siw(const struct ib_device *ibdev)
{
	return ibdev->ops.driver_id == RDMA_DRIVER_SIW;
}

static inline void hw_count(struct hw_rnic *hw, enum hw_counter counter)
{
	atomic64_inc(&hw->counters[counter]);
}

/**
 * struct hw_pd - protection domain
 * @ri: RNIC-PI object
 * @ib: the device's
 * @reserve: of a user's: charged pages of hw_reserve()
 * @regions: struct hw_region of users by STag, see users.c
 */
struct hw_pd {
	struct ri_pd ri;
	struct ib_pd *ib;
	struct list_head reserve;
	struct xarray regions;
};

/* room in a CQ for the markers of the queue pair that flushes, see hw_qp_drain() */
#define HW_CQ_MARKERS	2

/**
 * struct hw_cq - completion queue
 * @ri: RNIC-PI object
 * @ib: the device's, which has room for %HW_CQ_MARKERS beside @ri.depth
 * @events: asynchronous events
 * @completion: reports that there are completions
 * @lock: one poll at a time; protects @held, @num_held and struct hw_qp_ref.qp of its queue pairs
 * @held: struct hw_held: completions that were taken while a queue pair was destroyed
 * @num_held: of them; at most @ri.depth
 * @drain: allows the markers of one queue pair, or one new size, at a time
 * @reserve: charged pages of hw_reserve()
 */
struct hw_cq {
	struct ri_cq ri;
	struct ib_cq *ib;
	struct hw_events events;
	struct work_struct completion;
	spinlock_t lock;	/* protects held, num_held and hw_qp_ref.qp */
	struct list_head held;
	u32 num_held;
	struct mutex drain;	/* allows markers of one queue pair, or a new size */
	struct list_head reserve;
};

/**
 * struct hw_srq - shared receive queue
 * @ri: RNIC-PI object
 * @ib: the device's
 * @events: asynchronous events
 * @reserve: charged pages of hw_reserve()
 */
struct hw_srq {
	struct ri_srq ri;
	struct ib_srq *ib;
	struct hw_events events;
	struct list_head reserve;
};

/**
 * struct hw_qp_ref - finds the queue pair of a completion
 * @node: entry in hw_rnic.qps
 * @ib: key. A driver may leave completions of a destroyed queue pair in a CQ, so the pointer
 *	of a completion is compared but not followed.
 * @qp: queue pair, NULL when its completions have no receiver any more; the locks of its CQs
 * @send_cq: one of them; compared only. Another CQ may have a completion of an earlier queue pair
 *	with this address.
 * @recv_cq: the other one
 * @kref: of @node, and of each completion in a struct hw_held
 * @rcu: for kfree_rcu()
 */
struct hw_qp_ref {
	struct rhash_head node;
	struct ib_qp *ib;
	struct hw_qp *qp;
	const struct hw_cq *send_cq;
	const struct hw_cq *recv_cq;
	struct kref kref;
	struct rcu_head rcu;
};

/**
 * struct hw_qp - queue pair
 * @ri: RNIC-PI object
 * @ib: the device's
 * @ref: entry in hw_rnic.qps
 * @events: asynchronous events
 * @sig_type: which send requests complete; no driver reports it in a query
 * @access: rights of the peer, enum ib_access_flags
 * @max_inline: granted inline data in bytes
 * @ird: inbound reads of the connection
 * @ord: outbound reads of the connection
 * @made: the connection was established, and @ird and @ord are its depths
 * @failed: the driver reported that the queue pair failed, since the connection began
 * @given: the driver was given it for a connection
 * @drained: 0; while it is drained: 1 and the markers that came back, see hw_qp_drain()
 * @id_lock: protects @id
 * @id: rdma_cm id of the connection, which is to know that the peer sends, or NULL
 * @resetting: one reset at a time
 * @reserve: charged pages of hw_reserve()
 */
struct hw_qp {
	struct ri_qp ri;
	struct ib_qp *ib;
	struct hw_qp_ref *ref;
	struct hw_events events;
	enum ib_sig_type sig_type;
	int access;
	u32 max_inline;
	u8 ird;
	u8 ord;
	bool made;
	bool failed;
	bool given;
	atomic_t drained;
	spinlock_t id_lock;	/* protects id */
	struct rdma_cm_id *id;
	struct mutex resetting;	/* one reset at a time */
	struct list_head reserve;
};

/**
 * struct hw_mr - memory region
 * @ri: RNIC-PI object
 * @ib: the device's; NULL: the local DMA lkey of the protection domain
 * @sg: for fast registrations: ri.list in the form that drivers take
 * @reserve: of a user's region: charged pages of hw_reserve()
 * @users: @region is in the table of the protection domain
 * @region: what a user may name of it
 */
struct hw_mr {
	struct ri_mr ri;
	struct ib_mr *ib;
	struct scatterlist *sg;
	struct list_head reserve;
	bool users;
	struct hw_region region;
};

struct hw_id;
struct netlink_ext_ack;
struct rdma_cm_id;

/**
 * struct hw_conn - connection or listener
 * @ri: RNIC-PI object
 * @hid: of a connection
 * @ids: of a listener: struct hw_id for each address
 */
struct hw_conn {
	struct ri_conn ri;
	struct hw_id *hid;
	struct list_head ids;
};

static inline struct hw_conn *hw_conn(struct ri_conn *ri)
{
	return container_of(ri, struct hw_conn, ri);
}

static inline struct hw_pd *hw_pd(const struct ri_pd *ri)
{
	return container_of(ri, struct hw_pd, ri);
}

static inline struct hw_cq *hw_cq(const struct ri_cq *ri)
{
	return container_of(ri, struct hw_cq, ri);
}

static inline struct hw_srq *hw_srq(const struct ri_srq *ri)
{
	return container_of(ri, struct hw_srq, ri);
}

static inline struct hw_qp *hw_qp(const struct ri_qp *ri)
{
	return container_of(ri, struct hw_qp, ri);
}

static inline struct hw_mr *hw_mr(const struct ri_mr *ri)
{
	return container_of(ri, struct hw_mr, ri);
}

/* main.c */
extern unsigned int hw_drain_timeout_ms;

/**
 * struct hw_choice - a device of ib_core, for netlink
 * @name: of the device
 * @choice: enum krdma_hw_choice
 * @driver: enum krdma_hw_driver
 * @driver_name: module of its driver
 * @adopted: it is an RNIC
 * @error: of the last adoption, 0 or a negative errno
 */
struct hw_choice {
	char name[IB_DEVICE_NAME_MAX];
	u8 choice;
	u8 driver;
	char driver_name[MODULE_NAME_LEN];
	bool adopted;
	int error;
};

bool hw_devices_nth(unsigned int n, struct hw_choice *to);
int hw_devices_choose(const char *name, u8 choice, struct netlink_ext_ack *extack);

/* netlink.c */
int hw_netlink_init(void);
void hw_netlink_exit(void);

/* rnic.c */
struct hw_rnic *hw_rnic_create(struct ib_device *ibdev);
void hw_rnic_destroy(struct hw_rnic *hw);

/* event.c */
void hw_events_init(struct hw_events *events, struct ri_rnic *rnic, struct ri_obj *obj);
void hw_events_raise(struct hw_events *events, enum ib_event_type event);
void hw_events_end(struct hw_events *events);

/* users.c */
int hw_users_check(struct ri_rnic *ri);
int hw_users_add_region(struct hw_mr *mr, const struct ri_mr_attr *attr);
void hw_users_remove_region(struct hw_mr *mr);
void hw_users_restore_region(struct hw_mr *mr);
int hw_users_check_sges(struct ri_pd *pd, const struct ib_sge *sge, int num, bool write);
int hw_users_check_stag(struct ri_pd *pd, u32 stag);

/* mem.c */
int hw_pd_alloc(struct ri_pd *pd, struct ri_udata *udata);
void hw_pd_dealloc(struct ri_pd *pd);
int hw_mr_register(struct ri_mr *mr, const struct ri_mr_attr *attr, struct ri_udata *udata);
int hw_mr_register_dma(struct ri_mr *mr, int access);
int hw_mr_alloc(struct ri_mr *mr);
int hw_mr_deregister(struct ri_mr *mr);
struct hw_mr *hw_mr_find(struct hw_rnic *hw, u32 stag);
int hw_mr_map_list(struct hw_mr *mr, u64 iova, u64 length);

/* cq.c */
int hw_cq_create(struct ri_cq *cq, struct ri_udata *udata);
int hw_cq_resize(struct ri_cq *cq, u32 depth, struct ri_udata *udata);
int hw_cq_modify(struct ri_cq *cq, u16 count, u16 period);
void hw_cq_destroy(struct ri_cq *cq);
int hw_cq_poll(struct ri_cq *cq, int num_entries, struct ib_wc *wc);
int hw_cq_req_notify(struct ri_cq *cq, enum ib_cq_notify_flags flags);
bool hw_cq_hold(struct hw_cq *cq);
bool hw_cq_probe_resize(struct ib_device *ibdev);

/* qp.c */
extern const struct rhashtable_params hw_qp_params;
int hw_srq_create(struct ri_srq *srq, struct ri_srq_init_attr *attr, struct ri_udata *udata);
int hw_srq_modify(struct ri_srq *srq, const struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		  struct ri_udata *udata);
int hw_srq_query(struct ri_srq *srq, struct ib_srq_attr *attr);
void hw_srq_destroy(struct ri_srq *srq);
int hw_qp_create(struct ri_qp *qp, struct ri_qp_init_attr *attr, struct ri_udata *udata);
int hw_qp_query(struct ri_qp *qp, struct ib_qp_attr *attr, int mask,
		struct ri_qp_init_attr *init_attr);
int hw_qp_modify(struct ri_qp *qp, const struct ib_qp_attr *attr, int mask, struct ri_llp *llp);
int hw_qp_fail(struct hw_qp *qp);
void hw_qp_ref_put(struct hw_qp_ref *ref);
bool hw_qp_spent(const struct hw_qp *qp);
bool hw_qp_give(struct hw_qp *qp);
void hw_qp_set_id(struct hw_qp *qp, struct rdma_cm_id *id);
bool hw_qp_drop_id(struct hw_qp *qp, const struct rdma_cm_id *id);
void hw_qp_abandon(struct hw_qp *qp);
void hw_qp_destroy(struct ri_qp *qp);
u32 hw_qp_probe_inline(struct ib_device *ibdev);

/* post.c */
int hw_post_send(struct ri_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr);
int hw_post_recv(struct ri_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr);
bool hw_post_has_immediate(const struct ib_device *ibdev);
int hw_post_srq_recv(struct ri_srq *srq, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr);

/* reserve.c */
int hw_reserve(struct list_head *pages, u64 bytes);
void hw_reserve_release(struct list_head *pages);
u64 hw_reserve_of_pd(void);
u64 hw_reserve_of_listener(void);
u64 hw_reserve_of_cq(u32 depth);
u64 hw_reserve_of_srq(const struct ib_srq_attr *attr);
u64 hw_reserve_of_qp(const struct ib_qp_cap *cap);
u64 hw_reserve_of_mr(u64 start, u64 length);
u64 hw_reserve_of_conn(u32 reads);

/* conn.c */
int hw_conn_listen(struct ri_conn *conn, const struct ri_listen_param *param);
int hw_conn_connect(struct ri_conn *conn, struct ri_qp *qp, const struct ri_conn_param *param);
int hw_conn_accept(struct ri_conn *conn, struct ri_qp *qp, const struct ri_conn_param *param);
int hw_conn_reject(struct ri_conn *conn, const void *private_data, u16 len);
void hw_conn_disconnect(struct ri_conn *conn, bool abrupt);
void hw_conn_destroy(struct ri_conn *conn);

#endif /* HW_H */
