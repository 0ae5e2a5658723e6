/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface of the core of the kAL (RNICs, their objects, memory and events) for the other
 * folders of the kAL. The core neither includes nor calls these folders. Consumers outside the
 * kAL use krdma/kal.h. Providers use krdma/rnicpi.h. internal.h is for the core's own files.
 */
#ifndef KAL_CORE_H
#define KAL_CORE_H

#include <krdma/kal.h>

#include "cgroup.h"
#include "counters.h"
#include "event_codes.h"
#include "owner.h"

/* Bits of ri_rnic.flags. The core sets and clears them. Any code may read LIVE. */
enum {
	RI_RNIC_BUSY,		/* ri_register_rnic() is running */
	RI_RNIC_REGISTERED,	/* the registration succeeded */
	RI_RNIC_LIVE,		/* consumers may create objects and endpoints */
	RI_RNIC_DELETING,	/* destroy() of its provider is queued */
	RI_RNIC_UNREGISTERING,	/* ri_unregister_rnic() has begun */
	RI_RNIC_GONE,		/* ... and has ended */
	RI_RNIC_LINK_UP,	/* last reported state of the link */
	RI_RNIC_SYSFS_LINK,	/* the network device's sysfs link "rnic" exists */
	RI_RNIC_CLIENT0,	/* and following bits: the client with this index has the RNIC */
	RI_RNIC_CLIENT_END = BITS_PER_LONG,
};

static inline bool kal_rnic_live(const struct ri_rnic *rnic)
{
	return test_bit(RI_RNIC_LIVE, &rnic->flags);
}

/* registry.c */
int kal_registry_init(void);
void kal_registry_exit(void);
void kal_rnic_get(struct ri_rnic *rnic);

/**
 * struct kal_conn_ops - functions of the connection manager for the core
 * @rnic_abort: end every endpoint of an RNIC; each has reported its end on return
 * @qp_disconnect: see kal_qp_disconnect()
 * @qp_retire: see kal_qp_retire()
 *
 * All may sleep.
 */
struct kal_conn_ops {
	void (*rnic_abort)(struct ri_rnic *rnic);
	void (*qp_disconnect)(struct ri_qp *qp, bool abrupt);
	void (*qp_retire)(struct ri_qp *qp);
};

void kal_set_conn_ops(const struct kal_conn_ops *ops);

/* netdev.c */
int kal_netdev_init(void);
void kal_netdev_exit(void);
bool kal_netdev_link_up(const struct net_device *ndev);
/* the sysfs link /sys/class/net/DEV/rnic to @target */
void kal_netdev_link_rnic(struct ri_rnic *rnic, struct kobject *target);
void kal_netdev_unlink_rnic(struct ri_rnic *rnic);

/* event.c */
int kal_event_init(void);
void kal_event_exit(void);
void kal_rnic_event(struct ri_rnic *rnic, enum ib_event_type event);

/* resource.c */
unsigned int kal_obj_limit(const struct ri_rnic *rnic, enum ri_obj_type type);
struct ri_obj *kal_obj_next(struct ri_rnic *rnic, enum ri_obj_type type, u32 id);

/* crc32c.c */
int kal_crc_init(void);
void kal_crc_exit(void);

#endif /* KAL_CORE_H */
