/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The ib bridge: a consumer side of the kAL that shows each RNIC to ib_core. ib_core allocates
 * and frees its objects. Each object of the bridge has ib_core's object as its first member
 * and points to the kAL's object.
 */
#ifndef KRDMA_KAL_IB_BRIDGE_H
#define KRDMA_KAL_IB_BRIDGE_H

#include <linux/if_ether.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include <krdma/kal.h>

struct iw_cm_id;

/* driver id of all devices of the bridge, here and in libibverbs: "krdm" */
#define KAL_IB_DRIVER_ID	((enum rdma_driver_id)0x6b72646d)
#define KAL_IB_PORT		1

/* number of counters of a set of QPs (qp_counter.c) */
#define KAL_IB_QP_COUNTERS	7

/**
 * struct kal_ib_device - an RNIC as an ib_device
 * @base: ib_core's device; the RNIC's client data holds a reference to its struct device
 * @node: entry in the list of all devices (device.c)
 * @rnic: RNIC, which outlives the registration with ib_core
 * @flags: KAL_IB_DEV_*
 * @mac: random address that is used if the netdev has none
 * @requests: connection requests that iw_cm has not answered, by token (cm.c)
 * @next_request: next token for @requests
 * @stat_descs: names of the counters (restrack.c)
 * @num_stats: number of counters
 * @counters: counters of sets of QPs, by id (qp_counter.c)
 */
struct kal_ib_device {
	struct ib_device base;
	struct list_head node;
	struct ri_rnic *rnic;
	unsigned long flags;
	u8 mac[ETH_ALEN];
	struct xarray requests;
	u32 next_request;
	struct rdma_stat_desc *stat_descs;
	unsigned int num_stats;
	struct xarray counters;
};

#define KAL_IB_DEV_REGISTERED	0	/* ib_register_device() succeeded */

struct kal_ib_ucontext {
	struct ib_ucontext base;
	struct ri_ucontext *uctx;
};

struct kal_ib_pd {
	struct ib_pd base;
	struct ri_pd *pd;
};

struct kal_ib_cq {
	struct ib_cq base;
	struct ri_cq *cq;
};

struct kal_ib_srq {
	struct ib_srq base;
	struct ri_srq *srq;
};

/**
 * struct kal_ib_qp - queue pair
 * @base: ib_core's QP
 * @qp: the kAL's QP
 * @refs: one reference of the verbs, and one of each iw_cm_id that has the QP
 * @unused: completed when @refs falls to 0
 * @counter_node: entry in the list of the counter's QPs; the counter's lock protects it and
 *	@counted
 * @counted: values of the QP's counters when it was bound
 */
struct kal_ib_qp {
	struct ib_qp base;
	struct ri_qp *qp;
	refcount_t refs;
	struct completion unused;
	struct list_head counter_node;
	u64 counted[KAL_IB_QP_COUNTERS];
};

struct kal_ib_mw {
	struct ib_mw base;
	struct ri_mw *mw;
};

/* allocated by the bridge, unlike the other objects */
struct kal_ib_mr {
	struct ib_mr base;
	struct ri_mr *mr;
};

static inline struct kal_ib_device *to_kal_ib_device(struct ib_device *base)
{
	return container_of(base, struct kal_ib_device, base);
}

static inline struct kal_ib_ucontext *to_kal_ib_ucontext(struct ib_ucontext *base)
{
	return container_of(base, struct kal_ib_ucontext, base);
}

static inline struct kal_ib_pd *to_kal_ib_pd(struct ib_pd *base)
{
	return container_of(base, struct kal_ib_pd, base);
}

static inline struct kal_ib_cq *to_kal_ib_cq(struct ib_cq *base)
{
	return container_of(base, struct kal_ib_cq, base);
}

static inline struct kal_ib_srq *to_kal_ib_srq(struct ib_srq *base)
{
	return container_of(base, struct kal_ib_srq, base);
}

static inline struct kal_ib_qp *to_kal_ib_qp(struct ib_qp *base)
{
	return container_of(base, struct kal_ib_qp, base);
}

static inline struct kal_ib_mr *to_kal_ib_mr(struct ib_mr *base)
{
	return container_of(base, struct kal_ib_mr, base);
}

static inline struct kal_ib_mw *to_kal_ib_mw(struct ib_mw *base)
{
	return container_of(base, struct kal_ib_mw, base);
}

/* device.c: called by main.c; the rest of this header is for the bridge's own files */
int kal_ib_init(void);
void kal_ib_exit(void);

/* operations of each file */
extern const struct ib_device_ops kal_ib_port_ops;	/* port.c */
extern const struct ib_device_ops kal_ib_verbs_ops;	/* verbs.c */
extern const struct ib_device_ops kal_ib_mw_ops;	/* verbs.c */
extern const struct ib_device_ops kal_ib_srq_ops;	/* qp.c */
extern const struct ib_device_ops kal_ib_qp_ops;	/* qp.c */
extern const struct ib_device_ops kal_ib_user_ops;	/* user.c */
extern const struct ib_device_ops kal_ib_cm_ops;	/* cm.c */
extern const struct ib_device_ops kal_ib_stats_ops;	/* restrack.c */
extern const struct ib_device_ops kal_ib_sysfs_ops;	/* sysfs.c */
extern const struct ib_device_ops kal_ib_restrack_ops;	/* restrack.c */
extern const struct ib_device_ops kal_ib_counter_ops;	/* qp_counter.c */

/* user.c: additions of the bridge to ib_core's commands */
extern const struct uapi_definition kal_ib_user_defs[];

/* the provider's own bytes of a call; ERR_PTR(-EFAULT); NULL for a kernel consumer's call */
struct ri_udata *kal_ib_udata_get(struct ib_udata *from, struct ri_udata *udata);
int kal_ib_udata_put(const struct ib_udata *to, const struct ri_udata *udata);

/* port.c */
bool kal_ib_netdev_has_mac(const struct net_device *ndev);

/* cm.c */
int kal_ib_cm_init(void);
void kal_ib_cm_exit(void);
void kal_ib_cm_abort(struct kal_ib_device *dev);
void kal_ib_cm_remove(struct kal_ib_device *dev);

/**
 * struct kal_ib_cm_entry - endpoint of an iw_cm_id
 * @node: entry in the table; cm_table.c's lock protects it
 * @cm_id: id, used only as a key
 * @ep: endpoint, which lives as long as the entry is in the table
 */
struct kal_ib_cm_entry {
	struct hlist_node node;
	const struct iw_cm_id *cm_id;
	struct kal_ep *ep;
};

/* cm_table.c */
void kal_ib_cm_show(struct kal_ib_cm_entry *entry, const struct iw_cm_id *cm_id,
		    struct kal_ep *ep);
void kal_ib_cm_hide(struct kal_ib_cm_entry *entry);
struct kal_ep *kal_ib_cm_find(const struct iw_cm_id *cm_id);

/* restrack.c */
int kal_ib_stats_init(struct kal_ib_device *dev);
void kal_ib_stats_exit(struct kal_ib_device *dev);

/* qp_counter.c */
extern const char *const kal_ib_qp_counter_names[KAL_IB_QP_COUNTERS];
void kal_ib_counter_forget(struct kal_ib_qp *qp);

/* qp.c */
bool kal_ib_owns_qp(const struct ri_qp *rqp);
bool kal_ib_qp_get(struct kal_ib_qp *qp);
void kal_ib_qp_put(struct kal_ib_qp *qp);

#endif /* KRDMA_KAL_IB_BRIDGE_H */
