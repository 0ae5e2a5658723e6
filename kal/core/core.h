/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of the kAL core offer each other. Consumers see krdma/kal.h,
 * providers krdma/rnicpi.h; endpoints have endpoint.h.
 */
#ifndef KAL_CORE_H
#define KAL_CORE_H

#include <krdma/kal.h>

/*
 * Bits of ri_rnic.flags. The registry sets and clears them; LIVE may be read
 * by anybody.
 */
enum {
	RI_RNIC_BUSY,		/* ri_register_rnic() is running */
	RI_RNIC_REGISTERED,	/* it succeeded */
	RI_RNIC_LIVE,		/* consumers may make objects and endpoints */
	RI_RNIC_DELETING,	/* its provider's destroy() is queued */
	RI_RNIC_UNREGISTERING,	/* ri_unregister_rnic() has begun */
	RI_RNIC_GONE,		/* ... and ended */
	RI_RNIC_LINK_UP,	/* last state of the link that was reported */
	RI_RNIC_SYSFS_LINK,	/* its network device links to it in sysfs */
	RI_RNIC_CLIENT0,	/* and following: shown to the client of this index */
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
void kal_rnic_rename(struct ri_rnic *rnic, const char *name);
void kal_clients_event(struct ri_rnic *rnic, enum ib_event_type event);

/* netdev.c */
int kal_netdev_init(void);
void kal_netdev_exit(void);
bool kal_netdev_link_up(const struct net_device *ndev);
/* called by it, RTNL held: what happened to @ndev */
void kal_rnics_netdev_gone(struct net_device *ndev);
void kal_rnics_netdev_link(struct net_device *ndev);
void kal_rnics_netdev_address(struct net_device *ndev);
/* the link "rnic" below /sys/class/net/DEV, to @target */
void kal_netdev_link_rnic(struct ri_rnic *rnic, struct kobject *target);
void kal_netdev_unlink_rnic(struct ri_rnic *rnic);

/* event.c */
int kal_event_init(void);
void kal_event_exit(void);
int kal_rnic_events_init(struct ri_rnic *rnic);
void kal_rnic_events_exit(struct ri_rnic *rnic);
void kal_rnic_event(struct ri_rnic *rnic, enum ib_event_type event);
void kal_event_flush(void);

/* resource.c */
void kal_resource_init(struct ri_rnic *rnic);
void kal_resource_exit(struct ri_rnic *rnic);
void kal_resource_wait_empty(struct ri_rnic *rnic);
void *kal_obj_alloc(struct ri_rnic *rnic, enum ri_obj_type type, size_t size,
		    struct ri_obj *parent);
void kal_obj_publish(struct ri_obj *obj);
void kal_obj_unpublish(struct ri_obj *obj);
void kal_obj_free(struct ri_obj *obj);
struct ri_obj *kal_obj_next(struct ri_rnic *rnic, enum ri_obj_type type, u32 id);

/* dmabuf.c */
void kal_dmabuf_unpin(struct ri_vm_region *region);

/* ib/device.c */
int kal_ib_init(void);
void kal_ib_exit(void);

/* crc32c.c */
int kal_crc_init(void);
void kal_crc_exit(void);

#endif /* KAL_CORE_H */
