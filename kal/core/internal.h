/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Functions that the files of the core provide only to each other; see core.h. */
#ifndef KAL_CORE_INTERNAL_H
#define KAL_CORE_INTERNAL_H

#include "core.h"

/* registry.c */
/* set before the first RNIC is registered */
extern const struct kal_conn_ops *kal_conn_ops;
struct ri_rnic *kal_rnic_next(struct ri_rnic *prev);
/* called by netdev.c with RTNL held for an event of @ndev */
void kal_rnics_netdev_gone(struct net_device *ndev);
void kal_rnics_netdev_link(struct net_device *ndev);
void kal_rnics_netdev_address(struct net_device *ndev);

/* client.c */
int kal_clients_add(struct ri_rnic *rnic);
void kal_clients_leave(struct ri_rnic *rnic);
void kal_clients_remove(struct ri_rnic *rnic);
void kal_clients_event(struct ri_rnic *rnic, enum ib_event_type event);

/* event.c */
int kal_rnic_events_init(struct ri_rnic *rnic);
void kal_rnic_events_exit(struct ri_rnic *rnic);
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

/* memory.c */
struct ri_vm_region *kal_vm_pin_range(u64 start, u64 length, bool writable);
void kal_vm_unpin(struct ri_vm_region *region);

/* dmabuf.c */
struct ri_vm_region *kal_vm_pin_dmabuf(int fd, u64 offset, u64 length, bool writable);
void kal_dmabuf_unpin(struct ri_vm_region *region);

/* cgroup.c */
void kal_charges_init(struct ri_rnic *rnic);

#endif /* KAL_CORE_INTERNAL_H */
