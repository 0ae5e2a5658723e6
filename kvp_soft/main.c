// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_soft.ko: the software iWARP RNIC. Makes an RNIC of any network device
 * when the administrator says so ("rdma link add NAME type krdma netdev DEV").
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <krdma/soft-abi.h>
#include <krdma/uint_param.h>

#include "memory/copy.h"
#include "queues/cq.h"
#include "device.h"
#include "direct.h"
#include "memory/memory.h"
#include "params.h"
#include "qp.h"
#include "queues/queue.h"
#include "tx/tx.h"

unsigned int soft_tx_batch_bytes = 128 * 1024;
KRDMA_UINT_PARAM(tx_batch_bytes, soft_tx_batch_bytes, 1, UINT_MAX);
MODULE_PARM_DESC(tx_batch_bytes,
		 "FPDUs are gathered up to this many octets for one send to TCP (131072)");

unsigned int soft_tx_inline_bytes = 256 * 1024;
module_param_named(tx_inline_bytes, soft_tx_inline_bytes, uint, 0644);
MODULE_PARM_DESC(tx_inline_bytes,
		 "octets that the poster's own doorbell call sends before a worker takes over, and that a worker sends before it gives others their turn (262144)");

bool soft_kernel_inline = true;
module_param_named(kernel_inline, soft_kernel_inline, bool, 0644);
MODULE_PARM_DESC(kernel_inline,
		 "what a consumer in the kernel posts where it may sleep is sent in that call, not by a worker (Y)");

unsigned int soft_tx_gather_us = 50;
module_param_named(tx_gather_us, soft_tx_gather_us, uint, 0644);
MODULE_PARM_DESC(tx_gather_us,
		 "work requests of one who posts many may wait so long to be gathered, and four times that while he goes on posting; 0: never (50)");

unsigned int soft_tx_hasty_posts = 8;
KRDMA_UINT_PARAM(tx_hasty_posts, soft_tx_hasty_posts, 1, UINT_MAX);
MODULE_PARM_DESC(tx_hasty_posts,
		 "doorbells in a row that do not wait for each other, of one who posts many (8)");

unsigned int soft_tx_blocks = 256;
KRDMA_UINT_PARAM(tx_blocks, soft_tx_blocks, 0, SOFT_TX_PAGES_MAX);
MODULE_PARM_DESC(tx_blocks,
		 "blocks of 32 KiB that a CPU keeps to build FPDUs in again when the peer has acknowledged them, as long as memory is not short; 0 to 1024 (256)");

unsigned int soft_tx_pollers;
KRDMA_UINT_PARAM(tx_pollers, soft_tx_pollers, 0, SOFT_POLLERS_MAX);
MODULE_PARM_DESC(tx_pollers,
		 "so many queue pairs at a time have a thread that looks for what they post, each with a CPU to itself at best, so that posting takes no system call; 0 to 512 (0)");

unsigned int soft_tx_poll_us = 100;
module_param_named(tx_poll_us, soft_tx_poll_us, uint, 0644);
MODULE_PARM_DESC(tx_poll_us,
		 "such a thread ends when nothing was posted for so long (100)");

unsigned int soft_rx_inline_bytes = 16 * 1024;
module_param_named(rx_inline_bytes, soft_rx_inline_bytes, uint, 0644);
MODULE_PARM_DESC(rx_inline_bytes,
		 "octets waiting up to which the receiver runs in softirq, a worker above (16384)");

unsigned int soft_rx_wait_ms = 3000;
module_param_named(rx_wait_ms, soft_rx_wait_ms, uint, 0644);
MODULE_PARM_DESC(rx_wait_ms,
		 "a Send that finds no receive posted waits so long before it is refused; 0 refuses at once (3000)");

unsigned int soft_close_timeout_ms = 5000;
module_param_named(close_timeout_ms, soft_close_timeout_ms, uint, 0644);
MODULE_PARM_DESC(close_timeout_ms,
		 "a stream that has to send its last octets is reset after this time (5000)");

bool soft_comp_affinity = true;
module_param_named(comp_affinity, soft_comp_affinity, bool, 0644);
MODULE_PARM_DESC(comp_affinity,
		 "completion events of vector n > 0 are raised on CPU n, not where the work completed (Y)");

unsigned int soft_copy_string_min = 256;
KRDMA_UINT_PARAM(copy_string_min, soft_copy_string_min, 0, UINT_MAX);
MODULE_PARM_DESC(copy_string_min,
		 "octets from which payload is copied by a string instruction of the processor (256)");

unsigned int soft_copy_vectors = SOFT_COPY_VECTORS_AUTO;
KRDMA_UINT_PARAM(copy_vectors, soft_copy_vectors, SOFT_COPY_VECTORS_OFF,
		 SOFT_COPY_VECTORS_ALWAYS);
MODULE_PARM_DESC(copy_vectors,
		 "payload is copied with vector registers: 0 never, 1 on processors whose string instructions are not fast (no ERMS), 2 always (1)");

unsigned int soft_copy_vector_min = 4096;
KRDMA_UINT_PARAM(copy_vector_min, soft_copy_vector_min, 0, UINT_MAX);
MODULE_PARM_DESC(copy_vector_min,
		 "octets in a row from which that is done (4096)");

static unsigned int soft_poll_yield = 16;
KRDMA_UINT_PARAM(poll_yield, soft_poll_yield, 1, UINT_MAX);
MODULE_PARM_DESC(poll_yield,
		 "a thread that polls a completion queue in vain so often in a row lets others run; for programs that begin from then on (16)");

unsigned int soft_same_host = SOFT_SAME_HOST_NETNS;
KRDMA_UINT_PARAM(same_host, soft_same_host, SOFT_SAME_HOST_OFF, SOFT_SAME_HOST_ANY);
MODULE_PARM_DESC(same_host,
		 "streams whose ends are both on this host leave TCP for one copy of the payload: 0 none, 1 those inside of a network namespace, 2 all (1)");

struct workqueue_struct *soft_wq;
struct workqueue_struct *soft_event_wq;
struct workqueue_struct *soft_poll_wq;

/* protects the list and that a network device has one soft RNIC at most */
static DEFINE_MUTEX(soft_devices_lock);
static LIST_HEAD(soft_devices);

static const char *const soft_counter_names[SOFT_CNT_MAX] = {
	[SOFT_CNT_TX_FPDU] = "tx_fpdus",
	[SOFT_CNT_TX_BYTES] = "tx_bytes",
	[SOFT_CNT_TX_SENDS] = "tx_llp_sends",
	[SOFT_CNT_TX_STALLS] = "tx_llp_full",
	[SOFT_CNT_RX_FPDU] = "rx_fpdus",
	[SOFT_CNT_RX_BYTES] = "rx_bytes",
	[SOFT_CNT_RX_BOUNCED] = "rx_fpdus_reassembled",
	[SOFT_CNT_RX_WAITS] = "rx_waits",
	[SOFT_CNT_DOORBELLS] = "doorbells",
	[SOFT_CNT_TX_POLLED] = "tx_polled",
	[SOFT_CNT_TERM_TX] = "terminates_sent",
	[SOFT_CNT_TERM_RX] = "terminates_received",
	[SOFT_CNT_CRC_ERR] = "rx_crc_errors",
	[SOFT_CNT_PROTO_ERR] = "rx_protocol_errors",
	[SOFT_CNT_ACCESS_ERR] = "rx_access_errors",
	[SOFT_CNT_NO_BUFFER] = "rx_no_buffer",
	[SOFT_CNT_LLP_RESET] = "llp_resets",
	[SOFT_CNT_LLP_LOST] = "llp_lost",
	[SOFT_CNT_BAD_WQE] = "bad_work_requests",
	[SOFT_CNT_CQ_OVERFLOW] = "cq_overflows",
	[SOFT_CNT_FLUSHED] = "flushed_work_requests",
	[SOFT_CNT_LOCAL_ERR] = "local_operation_errors",
	[SOFT_CNT_FAST_REG] = "fast_registrations",
	[SOFT_CNT_LOCAL_INV] = "local_invalidations",
	[SOFT_CNT_REMOTE_INV] = "remote_invalidations",
	[SOFT_CNT_DIRECT_SEGMENTS] = "same_host_segments",
	[SOFT_CNT_DIRECT_BYTES] = "same_host_bytes",
};

/**
 * soft_async_event() - tell of an object's asynchronous event
 * @rnic: RNIC
 * @type: the object's
 * @id: the object's
 * @event: what happened
 *
 * A kernel consumer that posts from its handler must see that it may not sleep there: the
 * socket may be locked for it. Context: any with interrupts on, without spinlocks of ours.
 */
void soft_async_event(struct soft_rnic *rnic, enum ri_obj_type type, u32 id,
		      enum ib_event_type event)
{
	const struct ri_async_event record = {
		.type = type,
		.id = id,
		.event = event,
	};

	local_bh_disable();
	ri_async_event(&rnic->ri, &record);
	local_bh_enable();
}

/* ri_ops.query_counters */
void soft_query_counters(struct ri_rnic *ri, u64 *values)
{
	struct soft_rnic *rnic = to_soft_rnic(ri);
	const struct soft_counter_set *set;
	int cpu, i;

	memset(values, 0, SOFT_CNT_MAX * sizeof(*values));
	for_each_possible_cpu(cpu) {
		set = per_cpu_ptr(rnic->counters, cpu);
		for (i = 0; i < SOFT_CNT_MAX; i++)
			values[i] += READ_ONCE(set->v[i]);
	}
}

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

/* a protection domain is known by its address, see soft_mem_get() */
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
	.size_qp = sizeof(struct soft_qp),
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
	.qp_info = soft_qp_info,

	.mr_register = soft_mr_register,
	.mr_register_dma = soft_mr_register_dma,
	.mr_alloc = soft_mr_alloc,
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
		     RI_CAP_DMABUF | RI_CAP_SG_GAPS;
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
	limits->max_fast_reg_page_list_len = 1024;
	limits->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	limits->max_mw = (1 << 24) - 1;
	limits->max_pd = 1 << 16;
	limits->max_qp_rd_atom = 128;
	limits->max_qp_init_rd_atom = 128;
	limits->max_res_rd_atom = 128 << 16;
	/* without an exchange of 64 bits of its own the processor takes no part */
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
	rnic->ri.attr.local_dma_lkey = rnic->all_memory->stag;
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

static int __init soft_init(void)
{
	int ret;

	soft_copy_init();
	/* not WQ_HIGHPRI: that has the CPU between two calls of whoever posts to several QPs */
	soft_wq = alloc_workqueue("krdma_soft",
				  WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, 0);
	soft_event_wq = alloc_workqueue("krdma_soft_event",
					WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	/* of its own: a poller stays, and who waits for memory must not wait behind it */
	soft_poll_wq = alloc_workqueue("krdma_soft_poll",
				       WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, SOFT_POLLERS_MAX);
	if (!soft_wq || !soft_event_wq || !soft_poll_wq) {
		ret = -ENOMEM;
		goto err;
	}
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
	if (soft_poll_wq)
		destroy_workqueue(soft_poll_wq);
	if (soft_event_wq)
		destroy_workqueue(soft_event_wq);
	if (soft_wq)
		destroy_workqueue(soft_wq);
	return ret;
}

static void __exit soft_exit(void)
{
	ri_unregister_provider(&soft_provider);
	destroy_workqueue(soft_poll_wq);
	destroy_workqueue(soft_wq);
	destroy_workqueue(soft_event_wq);
	soft_direct_exit();
	soft_tx_pages_exit();
	rcu_barrier();
}

module_init(soft_init);
module_exit(soft_exit);

MODULE_DESCRIPTION("krdma software iWARP RNIC");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_ALIAS("krdma-provider");
