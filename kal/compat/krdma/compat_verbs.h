/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * See compat.h: what verbs of newer kernels have. An operation whose arguments have changed is
 * written for the newest kernel; compat_*() makes the one of this kernel from it.
 */
#ifndef KRDMA_COMPAT_VERBS_H
#define KRDMA_COMPAT_VERBS_H

#include <linux/dma-buf.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <krdma/compat.h>

struct ib_dmah;

/* 6.17: a DMA handle */
#ifdef KRDMA_HAVE_DMAH
#define COMPAT_REG_USER_MR(function) .reg_user_mr = (function)
#define COMPAT_DEFINE_REG_USER_MR(function)
#define COMPAT_REG_USER_MR_DMABUF(function) .reg_user_mr_dmabuf = (function)
#define COMPAT_DEFINE_REG_USER_MR_DMABUF(function)
#else
#define COMPAT_REG_USER_MR(function) .reg_user_mr = compat_##function
#define COMPAT_DEFINE_REG_USER_MR(function)							\
	static struct ib_mr *compat_##function(struct ib_pd *pd, u64 start, u64 length,		\
					       u64 iova, int access, struct ib_udata *udata)	\
	{											\
		return function(pd, start, length, iova, access, NULL, udata);			\
	}
#define COMPAT_REG_USER_MR_DMABUF(function) .reg_user_mr_dmabuf = compat_##function
#ifdef KRDMA_HAVE_CQ_ATTRS
#define COMPAT_DMABUF_LAST struct uverbs_attr_bundle *attrs
#define COMPAT_DMABUF_ATTRS attrs
#else
#define COMPAT_DMABUF_LAST struct ib_udata *udata
#define COMPAT_DMABUF_ATTRS NULL
#endif
#define COMPAT_DEFINE_REG_USER_MR_DMABUF(function)						\
	static struct ib_mr *compat_##function(struct ib_pd *pd, u64 offset, u64 length,	\
					       u64 iova, int fd, int access,			\
					       COMPAT_DMABUF_LAST)				\
	{											\
		return function(pd, offset, length, iova, fd, access, NULL,			\
				COMPAT_DMABUF_ATTRS);						\
	}
#endif

/* 6.11: all attributes, and not the driver's alone */
#ifdef KRDMA_HAVE_CQ_ATTRS
#define COMPAT_CREATE_CQ(function) .create_cq = (function)
#define COMPAT_DEFINE_CREATE_CQ(function)
#else
#define COMPAT_CREATE_CQ(function) .create_cq = compat_##function
#define COMPAT_DEFINE_CREATE_CQ(function)							\
	static int compat_##function(struct ib_cq *cq, const struct ib_cq_init_attr *attr,	\
				     struct ib_udata *udata)					\
	{											\
		return function(cq, attr,							\
				udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL);	\
	}
#endif

/* 7.1: for user CQs alone */
#ifdef KRDMA_HAVE_RESIZE_USER_CQ
#define COMPAT_RESIZE_USER_CQ(function) .resize_user_cq = (function)
#define COMPAT_DEFINE_RESIZE_USER_CQ(function)
#else
#define COMPAT_RESIZE_USER_CQ(function) .resize_cq = compat_##function
#define COMPAT_DEFINE_RESIZE_USER_CQ(function)							\
	static int compat_##function(struct ib_cq *cq, int cqe, struct ib_udata *udata)		\
	{											\
		return function(cq, cqe, udata);						\
	}
#endif

/* 6.14: the port */
#ifdef KRDMA_HAVE_COUNTER_PORT
#define COMPAT_COUNTER_BIND_QP(function) .counter_bind_qp = (function)
#define COMPAT_COUNTER_UNBIND_QP(function) .counter_unbind_qp = (function)
#define COMPAT_DEFINE_COUNTER_BIND_QP(function)
#define COMPAT_DEFINE_COUNTER_UNBIND_QP(function)
#else
#define COMPAT_COUNTER_BIND_QP(function) .counter_bind_qp = compat_##function
#define COMPAT_COUNTER_UNBIND_QP(function) .counter_unbind_qp = compat_##function
#define COMPAT_DEFINE_COUNTER_BIND_QP(function)							\
	static int compat_##function(struct rdma_counter *counter, struct ib_qp *qp)		\
	{											\
		return function(counter, qp, qp->port);						\
	}
#define COMPAT_DEFINE_COUNTER_UNBIND_QP(function)						\
	static int compat_##function(struct ib_qp *qp)						\
	{											\
		return function(qp, qp->port);							\
	}
#endif

/* until 7.0: the CQ of a consumer in the kernel changes its depth */
#ifndef KRDMA_HAVE_RESIZE_KERNEL_CQ
static inline int ib_resize_cq(struct ib_cq *cq, int cqe)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * From 6.6 on, rdma_cm finds an iWARP device by the network device of its GID, and before by the
 * GID: the link-layer address with zeros behind it. The next interface tells of that.
 */
#ifdef KRDMA_HAVE_DEVICE_GET_NETDEV
#define COMPAT_GID_BY_NETDEV	true
#else
#define COMPAT_GID_BY_NETDEV	false
#endif

/* 6.12 */
#ifndef KRDMA_HAVE_DEVICE_GET_NETDEV
static inline struct net_device *ib_device_get_netdev(struct ib_device *dev, u32 port)
{
	struct ib_port_data *data;
	struct net_device *ndev;

	if (!rdma_is_port_valid(dev, port) || !dev->port_data)
		return NULL;
	if (dev->ops.get_netdev)
		return dev->ops.get_netdev(dev, port);
	data = &dev->port_data[port];
	spin_lock(&data->netdev_lock);
	ndev = rcu_dereference_protected(data->netdev, lockdep_is_held(&data->netdev_lock));
	dev_hold(ndev);
	spin_unlock(&data->netdev_lock);
	return ndev;
}
#endif

/* 6.2 */
#ifndef KRDMA_HAVE_DRIVER_MANA
#define RDMA_DRIVER_MANA 20
#endif

/* 6.9: a device that is a part of another */
#ifdef KRDMA_HAVE_DEVICE_TYPE
#define compat_device_is_smi(dev) ((dev)->type == RDMA_DEVICE_TYPE_SMI)
#else
#define compat_device_is_smi(dev) false
#endif

/* 6.11: "rdma link delete" is for devices that a user named */
#ifndef KRDMA_HAVE_NAME_ASSIGNED
static inline void ib_mark_name_assigned_by_user(struct ib_device *dev)
{
}
#endif

/* 6.2 */
#ifndef KRDMA_HAVE_DMA_BUF_VMAP_UNLOCKED
#define dma_buf_vmap_unlocked dma_buf_vmap
#define dma_buf_vunmap_unlocked dma_buf_vunmap
#endif

#endif
