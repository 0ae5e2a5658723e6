// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_soft.ko: the software iWARP RNIC. The administrator creates an RNIC on top of a
 * network device with "rdma link add NAME type krdma netdev DEV".
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <krdma/soft-abi.h>

#include "base/params.h"
#include "device.h"
#include "direct.h"
#include "memory/copy.h"
#include "memory/memory.h"
#include "parts.h"
#include "qp.h"
#include "queues/cq.h"
#include "queues/recvq.h"
#include "tx/tx.h"

/* protects the list; a network device has at most one soft RNIC */
static DEFINE_MUTEX(soft_devices_lock);
static LIST_HEAD(soft_devices);

static int soft_ucontext_query(struct ri_ucontext *uctx, void *answer)
{
	struct krdma_soft_ucontext_resp *resp = answer;

	static_assert(sizeof(*resp) <= RI_UCONTEXT_ANSWER);
	*resp = (struct krdma_soft_ucontext_resp){
		.abi_version = KRDMA_SOFT_ABI_VERSION,
		.poll_yield = READ_ONCE(soft_poll_yield),
	};
	return sizeof(*resp);
}

static int soft_ucontext_alloc(struct ri_ucontext *uctx,
			       struct ri_udata *udata)
{
	struct krdma_soft_ucontext_resp resp;

	soft_ucontext_query(uctx, &resp);
	if (udata->out_len < sizeof(resp))
		return -EINVAL;
	ri_udata_answer(udata, &resp, sizeof(resp));
	soft_gather_init(&to_soft_ucontext(uctx)->gather);
	return 0;
}

static void soft_ucontext_dealloc(struct ri_ucontext *uctx)
{
	soft_gather_exit(&to_soft_ucontext(uctx)->gather);
}

/* a protection domain has no data of its own; soft_mem_get() compares its address */
static int soft_pd_alloc(struct ri_pd *pd, struct ri_udata *udata)
{
	return 0;
}

static void soft_pd_dealloc(struct ri_pd *pd)
{
}

const struct ri_ops soft_ops = {
	.owner = THIS_MODULE,
	.abi_version = KRDMA_SOFT_ABI_VERSION,

	.size_ucontext = sizeof(struct soft_ucontext),
	.size_pd = sizeof(struct ri_pd),
	.size_cq = sizeof(struct soft_cq),
	.size_srq = sizeof(struct soft_srq),
	.size_qp = sizeof(struct soft_qp_parts),
	.size_mr = sizeof(struct soft_mr),
	.size_mw = sizeof(struct soft_mw),

	.query_counters = soft_query_counters,
	.ucontext_alloc = soft_ucontext_alloc,
	.ucontext_dealloc = soft_ucontext_dealloc,
	.ucontext_query = soft_ucontext_query,

	.pd_alloc = soft_pd_alloc,
	.pd_dealloc = soft_pd_dealloc,

	.cq_create = soft_cq_create,
	.cq_resize = soft_cq_resize,
	.cq_modify = soft_cq_moderate,
	.cq_destroy = soft_cq_destroy,
	.cq_poll = soft_cq_poll,
	.cq_req_notify = soft_cq_req_notify,

	.srq_create = soft_srq_create,
	.srq_modify = soft_srq_modify,
	.srq_query = soft_srq_query,
	.srq_destroy = soft_srq_destroy,
	.post_srq_recv = soft_post_srq_recv,

	.qp_create = soft_qp_create,
	.qp_query = soft_qp_query,
	.qp_modify = soft_qp_modify,
	.qp_destroy = soft_qp_destroy,
	.post_send = soft_post_send,
	.post_recv = soft_post_recv,
	.doorbell = soft_qp_doorbell,
	.push = soft_qp_push,
	.qp_info = soft_qp_info,

	.mr_register = soft_mr_register,
	.mr_register_dma = soft_mr_register_dma,
	.mr_alloc = soft_mr_alloc,
	.mr_map = soft_mr_map,
	.mr_reregister = soft_mr_reregister,
	.mr_deregister = soft_mr_deregister,

	.mw_alloc = soft_mw_alloc,
	.mw_dealloc = soft_mw_dealloc,
};

static void soft_device_attr(struct ri_rnic_attr *attr,
			     struct net_device *ndev)
{
	struct ib_device_attr *limits = &attr->limits;

	attr->vendor_id = 0x6b7264; /* "krd" */
	attr->vendor_part_id = 1;
	attr->fw_version = 1ULL << 32;
	attr->transport = RI_TRANSPORT_IWARP;
	attr->caps = RI_CAP_SRQ | RI_CAP_MARKERS | RI_CAP_ALLOW_DELETE |
		     RI_CAP_DMABUF | RI_CAP_SG_GAPS | RI_CAP_IMMEDIATE;
	attr->max_inline = KRDMA_SOFT_MAX_INLINE;
	attr->num_ceh = num_possible_cpus();
	attr->uvp_library = "libkrdma-uvp-soft.so";
	attr->num_counters = SOFT_CNT_MAX;
	attr->counter_names = soft_counter_names;
	attr->netdev = ndev;

	limits->device_cap_flags = IB_DEVICE_MEM_WINDOW |
				   IB_DEVICE_MEM_WINDOW_TYPE_2B |
				   IB_DEVICE_MEM_MGT_EXTENSIONS |
				   IB_DEVICE_SRQ_RESIZE |
				   IB_DEVICE_PORT_ACTIVE_EVENT |
				   IB_DEVICE_SYS_IMAGE_GUID;
	limits->max_mr_size = U64_MAX;
	limits->page_size_cap = 0xfffff000;
	limits->max_qp = 1 << 16;
	limits->max_qp_wr = 1 << 15;
	limits->max_send_sge = KRDMA_SOFT_MAX_SGE;
	limits->max_recv_sge = KRDMA_SOFT_MAX_SGE;
	limits->max_sge_rd = KRDMA_SOFT_MAX_SGE;
	limits->max_cq = 1 << 17;
	limits->max_cqe = 1 << 20;
	limits->max_mr = (1 << 24) - 1;
	limits->max_fast_reg_page_list_len = SOFT_FAST_REG_MAX;
	limits->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	limits->max_mw = (1 << 24) - 1;
	limits->max_pd = 1 << 16;
	limits->max_qp_rd_atom = 128;
	limits->max_qp_init_rd_atom = 128;
	limits->max_res_rd_atom = 128 << 16;
	/* without a 64-bit exchange instruction, operations are not atomic with the processors */
	limits->atomic_cap = IS_ENABLED(CONFIG_GENERIC_ATOMIC64) ? IB_ATOMIC_HCA :
								   IB_ATOMIC_GLOB;
	limits->masked_atomic_cap = limits->atomic_cap;
	limits->max_srq = 1 << 16;
	limits->max_srq_wr = 1 << 15;
	limits->max_srq_sge = KRDMA_SOFT_MAX_SGE;
	limits->timestamp_mask = U64_MAX;
	limits->hca_core_clock = NSEC_PER_SEC / MSEC_PER_SEC; /* kHz */
	limits->cq_caps.max_cq_moderation_count = U16_MAX;
	limits->cq_caps.max_cq_moderation_period = U16_MAX;
}

static struct soft_rnic *soft_device_alloc(struct net_device *ndev)
{
	struct soft_rnic *rnic;

	rnic = ri_rnic_alloc(&soft_ops, soft_rnic, ri);
	if (!rnic)
		return ERR_PTR(-ENOMEM);
	rnic->counters = alloc_percpu(struct soft_counter_set);
	if (!rnic->counters || soft_mem_init(rnic)) {
		free_percpu(rnic->counters);
		ri_rnic_put(&rnic->ri);
		return ERR_PTR(-ENOMEM);
	}
	soft_device_attr(&rnic->ri.attr, ndev);
	rnic->ri.attr.local_dma_lkey = rnic->mems->all->stag;
	return rnic;
}

static void soft_device_free(struct soft_rnic *rnic)
{
	soft_mem_exit(rnic);
	free_percpu(rnic->counters);
	ri_rnic_put(&rnic->ri);
}

static bool soft_device_exists(const struct net_device *ndev)
{
	const struct soft_rnic *rnic;

	lockdep_assert_held(&soft_devices_lock);
	list_for_each_entry(rnic, &soft_devices, node)
		if (rnic->ri.attr.netdev == ndev)
			return true;
	return false;
}

/* ri_provider.create */
int soft_device_create(const char *name, struct net_device *ndev)
{
	struct soft_rnic *rnic;
	int ret;

	if (ndev->type != ARPHRD_ETHER && ndev->type != ARPHRD_LOOPBACK &&
	    ndev->type != ARPHRD_NONE)
		return -EINVAL;

	rnic = soft_device_alloc(ndev);
	if (IS_ERR(rnic))
		return PTR_ERR(rnic);
	scoped_guard(mutex, &soft_devices_lock) {
		if (soft_device_exists(ndev)) {
			soft_device_free(rnic);
			return -EEXIST;
		}
		list_add_tail(&rnic->node, &soft_devices);
	}
	ret = ri_register_rnic(&rnic->ri, name);
	if (ret) {
		scoped_guard(mutex, &soft_devices_lock)
			list_del(&rnic->node);
		soft_device_free(rnic);
	}
	return ret;
}

/* ri_provider.destroy */
void soft_device_destroy(struct ri_rnic *ri)
{
	struct soft_rnic *rnic = to_soft_rnic(ri);

	ri_unregister_rnic(ri);
	scoped_guard(mutex, &soft_devices_lock)
		list_del(&rnic->node);
	soft_device_free(rnic);
}

static struct ri_provider soft_provider = {
	.name = "soft",
	.owner = THIS_MODULE,
	.create = soft_device_create,
	.destroy = soft_device_destroy,
};

static int __init soft_module_init(void)
{
	int ret;

	soft_copy_init();
	ret = soft_workqueues_init();
	if (ret)
		return ret;
	ret = soft_tx_pages_init();
	if (ret)
		goto err;
	ret = soft_direct_init();
	if (ret)
		goto err_pages;
	ret = ri_register_provider(&soft_provider);
	if (!ret)
		return 0;
	soft_direct_exit();
err_pages:
	soft_tx_pages_exit();
err:
	soft_workqueues_exit();
	return ret;
}

static void __exit soft_module_exit(void)
{
	ri_unregister_provider(&soft_provider);
	soft_workqueues_exit();
	soft_direct_exit();
	soft_tx_pages_exit();
	rcu_barrier();
}

module_init(soft_module_init);
module_exit(soft_module_exit);

MODULE_DESCRIPTION("krdma software iWARP RNIC");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
MODULE_ALIAS("krdma-provider");
