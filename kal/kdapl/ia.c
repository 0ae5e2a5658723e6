// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Interface adapters: from opening to closing, their addresses and attributes. */
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>

#include <krdma/netstack.h>

#include "connections/connections.h"
#include "provider.h"

/* Address ******************************************************************* */

static bool kdat_ia_address_of(const struct net_device *ndev, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
	struct sockaddr_in *in = (struct sockaddr_in *)address;
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct inet6_ifaddr *ifa6;
	const struct in_ifaddr *ifa;
	struct inet6_dev *in6_dev;

	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			in->sin_family = AF_INET;
			in->sin_addr.s_addr = ifa->ifa_local;
			return true;
		}
	}
	in6_dev = IS_ENABLED(CONFIG_IPV6) ? __in6_dev_get(ndev) : NULL;
	if (!in6_dev)
		return false;
	list_for_each_entry_rcu(ifa6, &in6_dev->addr_list, if_list) {
		if (ipv6_addr_type(&ifa6->addr) & IPV6_ADDR_LINKLOCAL)
			continue;
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = ifa6->addr;
		return true;
	}
	return false;
}

/* Consumers have pointers to ia->address: change it only if it is another one. */
static void kdat_ia_set_address(struct kdat_ia *ia, const struct sockaddr_storage *address)
{
	scoped_guard(spinlock_irqsave, &ia->address_lock)
		if (memcmp(&ia->address, address, sizeof(*address)))
			ia->address = *address;
}

/* From the network device as it is now. The RNIC is held. Any context but hard interrupt. */
static void kdat_ia_look_up_address(struct kdat_ia *ia)
{
	struct sockaddr_storage address = {};
	struct net_device *ndev;

	guard(rcu)();
	ndev = ia->kr->rnic->netdev ?: dev_get_by_index_rcu(ia->net, READ_ONCE(ia->ifindex));
	if (ndev)
		kdat_ia_address_of(ndev, &address);
	kdat_ia_set_address(ia, &address);
}

/* Has the device an address in the IA's namespace? */
static bool kdat_ia_has_address(struct kdat_ia *ia, int ifindex)
{
	struct sockaddr_storage address = {};
	struct net_device *ndev;

	guard(rcu)();
	ndev = dev_get_by_index_rcu(ia->net, ifindex);
	return ndev && kdat_ia_address_of(ndev, &address);
}

/* The first port's network device with an address, else the first one; 0: there is none. */
static int kdat_ia_find_ifindex(struct kdat_ia *ia)
{
	struct ri_rnic *rnic = ia->kr->rnic;
	struct ri_port_attr port;
	int ifindex = 0;
	u32 i;

	for (i = 1; i <= max(rnic->attr.num_ports, 1u); i++) {
		memset(&port, 0, sizeof(port));
		if (kal_port_query(rnic, i, ia->net, &port) || !port.ifindex)
			continue;
		if (kdat_ia_has_address(ia, port.ifindex))
			return port.ifindex;
		ifindex = ifindex ?: port.ifindex;
	}
	return ifindex;
}

void kdat_ia_refresh_address(struct kdat_ia *ia)
{
	if (!ia->kr->rnic->netdev)
		WRITE_ONCE(ia->ifindex, kdat_ia_find_ifindex(ia));
	kdat_ia_look_up_address(ia);
}

/* Interface adapters ******************************************************** */

/* an asynchronous EVD of an IA's own has room for so many events at least */
#define KDAT_IA_ASYNC_QLEN	16

static void kdat_ia_release(struct kdat_ia *ia)
{
	struct kdat_rnic *kr = ia->kr;

	WRITE_ONCE(ia->obj.type, 0);
	if (ia->net_counted)
		put_net(ia->net);
	mutex_destroy(&ia->mutex);
	kfree_rcu(ia, obj.rcu);
	kdat_provider_put(kr);
}

/* The IA's asynchronous EVD: the consumer's, or a new one. The RNIC is held. */
static DAT_RETURN kdat_ia_set_async(struct kdat_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *handle)
{
	DAT_RETURN ret;

	if (*handle == DAT_HANDLE_NULL) {
		ret = kdat_evd_make(ia, max(qlen, KDAT_IA_ASYNC_QLEN), DAT_UPCALL_DISABLE, NULL,
				    DAT_EVD_ASYNC_FLAG, &ia->async_evd);
		if (ret != DAT_SUCCESS)
			return ret;
		ia->own_async_evd = true;
		*handle = ia->async_evd;
	} else {
		ia->async_evd = kdat_evd_of(*handle);
		if (!ia->async_evd)
			return KDAT_BAD_HANDLE(EVD_ASYNC);
		atomic_inc(&ia->async_evd->borrowers);
	}
	atomic_inc(&ia->async_evd->obj.uses);
	return DAT_SUCCESS;
}

static void kdat_ia_put_async(struct kdat_ia *ia)
{
	if (!ia->own_async_evd)
		atomic_dec(&ia->async_evd->borrowers);
	atomic_dec(&ia->async_evd->obj.uses);
}

static DAT_RETURN kdat_ia_begin(struct kdat_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async)
{
	struct kdat_rnic *kr = ia->kr;
	DAT_RETURN ret;

	if (!kdat_enter(ia))
		return KDAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (!kal_rnic_in_net(kr->rnic, ia->net)) {
		kdat_leave(ia);
		return KDAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	}
	ret = kdat_ia_set_async(ia, qlen, async);
	if (ret == DAT_SUCCESS && kdat_lmr_open_ia(ia)) {
		kdat_ia_put_async(ia);
		ret = KDAT_NO_MEMORY;
	}
	if (ret == DAT_SUCCESS) {
		kdat_ia_refresh_address(ia);
		guard(mutex)(&kr->ias_lock);
		list_add_tail(&ia->node, &kr->ias);
	}
	kdat_leave(ia);
	if (ret != DAT_SUCCESS && ia->own_async_evd) {
		kdat_evd_destroy(ia->async_evd);
		*async = DAT_HANDLE_NULL;
	}
	return ret;
}

/* The caller holds a reference of @kr. @net: that the caller keeps; NULL: the task's, counted */
DAT_RETURN kdat_ia_open(struct kdat_rnic *kr, const DAT_PROVIDER *provider, struct net *net,
			DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *handle)
{
	struct kdat_ia *ia;
	DAT_RETURN ret;
	unsigned int i;

	might_sleep();
	if (qlen < 0)
		return KDAT_BAD_ARG(2);
	if (!async)
		return KDAT_BAD_ARG(3);
	if (*async != DAT_HANDLE_NULL) {
		const struct kdat_evd *evd = kdat_evd_of(*async);

		if (!evd || !(evd->flags & DAT_EVD_ASYNC_FLAG))
			return KDAT_BAD_HANDLE(EVD_ASYNC);
	}
	if (!handle)
		return KDAT_BAD_ARG(4);
	ia = kzalloc(sizeof(*ia), GFP_KERNEL_ACCOUNT);
	if (!ia)
		return KDAT_NO_MEMORY;
	ia->obj.provider = provider;
	ia->obj.ia = ia;
	ia->kr = kr;
	refcount_inc(&kr->refs);
	mutex_init(&ia->mutex);
	spin_lock_init(&ia->address_lock);
	for (i = 0; i < ARRAY_SIZE(ia->objects); i++)
		INIT_LIST_HEAD(&ia->objects[i]);
	ia->net_counted = !net;
	ia->net = net ?: get_net(current->nsproxy->net_ns);
	ret = kdat_ia_begin(ia, qlen, async);
	if (ret != DAT_SUCCESS) {
		kdat_ia_release(ia);
		return ret;
	}
	/* from now on the handle is good */
	smp_store_release(&ia->obj.type, KDAT_OBJ_MAGIC | DAT_HANDLE_TYPE_IA);
	*handle = ia;
	return DAT_SUCCESS;
}

static bool kdat_ia_in_use(struct kdat_ia *ia)
{
	const struct kdat_obj *obj;
	unsigned int i;

	guard(mutex)(&ia->mutex);
	for (i = 0; i < ARRAY_SIZE(ia->objects); i++) {
		list_for_each_entry(obj, &ia->objects[i], node) {
			if (ia->own_async_evd && obj == &ia->async_evd->obj &&
			    atomic_read(&obj->uses) == 1)
				continue;
			if (ia->reserved_lmr && obj == (const void *)ia->reserved_lmr)
				continue;
			return true;
		}
	}
	return false;
}

/* Does another IA have its asynchronous events put to an EVD of this one? */
static bool kdat_ia_lends_evd(struct kdat_ia *ia)
{
	const struct kdat_evd *evd;

	guard(mutex)(&ia->mutex);
	list_for_each_entry(evd, &ia->objects[DAT_HANDLE_TYPE_EVD], obj.node)
		if (atomic_read(&evd->borrowers))
			return true;
	return false;
}

/* An upcall that closed its IA would wait for itself. */
static bool kdat_ia_in_upcall(struct kdat_ia *ia)
{
	const struct kdat_evd *evd;

	guard(mutex)(&ia->mutex);
	list_for_each_entry(evd, &ia->objects[DAT_HANDLE_TYPE_EVD], obj.node)
		if (kdat_evd_in_upcall(evd))
			return true;
	return false;
}

/* An EVD that may call up, with a use of it; NULL: there is none. */
static struct kdat_evd *kdat_ia_caller(struct kdat_ia *ia)
{
	struct kdat_evd *evd;

	guard(mutex)(&ia->mutex);
	list_for_each_entry(evd, &ia->objects[DAT_HANDLE_TYPE_EVD], obj.node) {
		if (READ_ONCE(evd->stopping))
			continue;
		atomic_inc(&evd->obj.uses);
		return evd;
	}
	return NULL;
}

/* No upcall may see that the objects of its event are freed. */
static void kdat_ia_stop_upcalls(struct kdat_ia *ia)
{
	struct kdat_evd *evd;

	while ((evd = kdat_ia_caller(ia))) {
		kdat_evd_stop(evd);
		atomic_dec(&evd->obj.uses);
	}
}

void kdat_ia_leave(struct kdat_ia *ia)
{
	if (!atomic_xchg(&ia->leaving, 1))
		kdat_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, ia, DAT_IA_CATASTROPHIC_ERROR);
}

/**
 * kdat_ia_drop() - take the RNIC from all objects of the IA, which stay until they are freed
 * @ia: IA of an RNIC that is being removed; kdat_rnic.sem held for writing
 */
void kdat_ia_drop(struct kdat_ia *ia)
{
	kdat_ia_leave(ia);
	kdat_obj_drop_all(ia);
}

static DAT_RETURN kdat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return KDAT_BAD_ARG(2);
	if ((flags == DAT_CLOSE_GRACEFUL_FLAG && kdat_ia_in_use(ia)) || kdat_ia_lends_evd(ia))
		return KDAT_BAD_STATE(IA_IN_USE);
	if (kdat_ia_in_upcall(ia))
		return KDAT_BAD_STATE(EVD_IN_USE);
	/* of two closes one does the work */
	if (cmpxchg(&ia->obj.type, KDAT_OBJ_MAGIC | DAT_HANDLE_TYPE_IA, 0) == 0)
		return KDAT_BAD_HANDLE(IA);
	kdat_ia_stop_upcalls(ia);
	kdat_lmr_close_ia(ia);
	kdat_obj_destroy_all(ia, ia->async_evd);
	cancel_delayed_work_sync(&ia->register_work);
	kdat_hold(ia);
	scoped_guard(mutex, &ia->kr->ias_lock)
		list_del(&ia->node);
	kdat_leave(ia);
	kdat_ia_put_async(ia);
	if (ia->own_async_evd)
		kdat_evd_destroy(ia->async_evd);
	kdat_ia_release(ia);
	return DAT_SUCCESS;
}

/* Attributes **************************************************************** */

static bool kdat_ia_is_ib(const struct kdat_ia *ia)
{
	return ia->obj.provider == &ia->kr->provider_ib;
}

static DAT_NAMED_ATTR kdat_ia_iw_attrs[] = {
	{ DAT_EXTENSION_ATTR, "TRUE" },
	{ DAT_EXTENSION_ATTR_VERSION, DAT_EXTENSION_ATTR_VERSION_VALUE },
	/* the last one: only with the kAL's own connections */
	{ DAT_IW_ATTR_SSP, "TRUE" },
};

static DAT_NAMED_ATTR kdat_ia_ib_attrs[] = {
	{ DAT_EXTENSION_ATTR, "TRUE" },
	{ DAT_EXTENSION_ATTR_VERSION, DAT_EXTENSION_ATTR_VERSION_VALUE },
	{ DAT_IB_ATTR_IMMED_DATA, "TRUE" },
	/* the last two: only with atomic operations */
	{ DAT_IB_ATTR_FETCH_AND_ADD, "TRUE" },
	{ DAT_IB_ATTR_CMP_AND_SWAP, "TRUE" },
};

/* the same without immediate data */
static DAT_NAMED_ATTR kdat_ia_ib_atomic_attrs[] = {
	{ DAT_EXTENSION_ATTR, "TRUE" },
	{ DAT_EXTENSION_ATTR_VERSION, DAT_EXTENSION_ATTR_VERSION_VALUE },
	{ DAT_IB_ATTR_FETCH_AND_ADD, "TRUE" },
	{ DAT_IB_ATTR_CMP_AND_SWAP, "TRUE" },
};

/* The named attributes say which operations of the extension the RNIC has. */
static void kdat_ia_named_attrs(const struct kdat_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	const struct ri_rnic_attr *rnic = &ia->kr->rnic->attr;
	const int atomics = rnic->limits.atomic_cap == IB_ATOMIC_NONE ? 0 : 2;

	if (!kdat_ia_is_ib(ia)) {
		attr->provider_specific_attr = kdat_ia_iw_attrs;
		attr->num_provider_specific_attr = ARRAY_SIZE(kdat_ia_iw_attrs) -
			(rnic->caps & RI_CAP_LLP_OFFLOAD ? 1 : 0);
	} else if (rnic->caps & RI_CAP_IMMEDIATE) {
		attr->provider_specific_attr = kdat_ia_ib_attrs;
		attr->num_provider_specific_attr = ARRAY_SIZE(kdat_ia_ib_attrs) - 2 + atomics;
	} else {
		attr->provider_specific_attr = kdat_ia_ib_atomic_attrs;
		attr->num_provider_specific_attr = ARRAY_SIZE(kdat_ia_ib_atomic_attrs) - 2 +
						   atomics;
	}
}

/* Limits of 32 bits and more in the types of DAT. */
static DAT_COUNT kdat_ia_count(u64 value)
{
	return min_t(u64, value, S32_MAX);
}

static void kdat_ia_attr(struct kdat_ia *ia, DAT_IA_ATTR *attr)
{
	const struct ri_rnic *rnic = ia->kr->rnic;
	const struct ib_device_attr *limits = &rnic->attr.limits;
	const struct kdat_ep_limits ep = kdat_ep_limits(rnic);

	memset(attr, 0, sizeof(*attr));
	strscpy(attr->adapter_name, rnic->name, sizeof(attr->adapter_name));
	strscpy(attr->vendor_name, module_name(rnic->ops->owner), sizeof(attr->vendor_name));
	attr->hardware_version_major = rnic->attr.hw_version;
	attr->firmware_version_major = upper_32_bits(rnic->attr.fw_version);
	attr->firmware_version_minor = rnic->attr.fw_version >> 16 & 0xffff;
	kdat_ia_look_up_address(ia);
	attr->ia_address_ptr = (struct sockaddr *)&ia->address;
	attr->max_eps = limits->max_qp;
	attr->max_dto_per_ep = ep.dtos;
	attr->max_rdma_read_per_ep_in = ep.reads_in;
	attr->max_rdma_read_per_ep_out = ep.reads_out;
	attr->max_evds = limits->max_cq;
	attr->max_evd_qlen = limits->max_cqe;
	attr->max_iov_segments_per_dto = min(ep.request_iov, ep.recv_iov);
	attr->max_lmrs = limits->max_mr;
	attr->max_lmr_block_size = min_t(u64, kdat_lmr_max_size(rnic), U32_MAX);
	attr->max_lmr_virtual_address = U64_MAX;
	attr->max_pzs = limits->max_pd;
	attr->max_message_size = KDAT_MAX_MESSAGE;
	attr->max_rdma_size = KDAT_MAX_MESSAGE;
	attr->max_rmrs = limits->max_mw;
	attr->max_rmr_target_address = U64_MAX;
	if (rnic->attr.caps & RI_CAP_SRQ) {
		attr->max_srqs = limits->max_srq;
		attr->max_ep_per_srq = limits->max_qp;
		attr->max_recv_per_srq = limits->max_srq_wr;
	}
	attr->max_iov_segments_per_rdma_read = ep.read_iov;
	attr->max_iov_segments_per_rdma_write = ep.request_iov;
	attr->max_rdma_read_in = kdat_ia_count((u64)limits->max_qp * limits->max_qp_rd_atom);
	attr->max_rdma_read_out = kdat_ia_count((u64)limits->max_qp * limits->max_qp_init_rd_atom);
	attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	attr->zb_supported = DAT_TRUE;
	attr->reserved_lmr_supported = ia->reserved_lmr ? DAT_TRUE : DAT_FALSE;
	attr->extension_supported = kdat_ia_is_ib(ia) ? DAT_EXTENSION_IB : DAT_EXTENSION_IW;
	attr->extension_version = kdat_ia_is_ib(ia) ? DAT_IB_EXTENSION_VERSION :
		DAT_IW_EXTENSION_VERSION;
}

static void kdat_ia_provider_attr(struct kdat_ia *ia, DAT_PROVIDER_ATTR *to)
{
	const struct ri_rnic *rnic = ia->kr->rnic;
	DAT_PROVIDER_ATTR attr = {
		.provider_name = "krdma",
		.provider_version_major = DAT_VERSION_MAJOR,
		.provider_version_minor = DAT_VERSION_MINOR,
		.dapl_version_major = DAT_VERSION_MAJOR,
		.dapl_version_minor = DAT_VERSION_MINOR,
		.lmr_mem_types_supported = DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
			DAT_MEM_TYPE_PHYSICAL | DAT_MEM_TYPE_PLATFORM | DAT_MEM_TYPE_IA |
			DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
		.iov_ownership_on_return = DAT_IOV_CONSUMER,
		.dat_qos_supported = DAT_QOS_BEST_EFFORT | DAT_QOS_HIGH_THROUGHPUT |
			DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | DAT_QOS_PREMIUM,
		.completion_flags_supported = DAT_COMPLETION_SUPPRESS_FLAG |
			DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
			DAT_COMPLETION_BARRIER_FENCE_FLAG |
			DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG,
		.is_thread_safe = DAT_TRUE,
		.max_private_data_size = kdat_ia_max_private_data(rnic),
		.supports_multipath = DAT_FALSE,
		.ep_creator = DAT_PSP_CREATES_EP_IFASKED,
		.upcall_policy = DAT_UPCALL_MANY,
		.optimal_buffer_alignment = L1_CACHE_BYTES,
		.evd_stream_merging_supported = {
			[0 ... 5] = { [0 ... 5] = DAT_TRUE },
		},
		.srq_supported = rnic->attr.caps & RI_CAP_SRQ ? DAT_TRUE : DAT_FALSE,
		.srq_watermarks_supported = rnic->attr.caps & RI_CAP_SRQ ? 1 : 0,
		.srq_ep_pz_difference_supported = DAT_FALSE,
		.srq_info_supported = 1,
		.ep_recv_info_supported = 0,
		.lmr_sync_req = kal_dma_is_virtual(rnic) ? DAT_FALSE : DAT_TRUE,
		.dto_async_return_guaranteed = DAT_TRUE,
		.rdma_write_for_rdma_read_req = rnic->attr.transport == RI_TRANSPORT_IWARP ?
			DAT_TRUE : DAT_FALSE,
		.rdma_read_lmr_rmr_context_exposure = rnic->attr.transport == RI_TRANSPORT_IWARP ?
			DAT_TRUE : DAT_FALSE,
		.rmr_scope_supported = DAT_RMR_SCOPE_ANY,
		/* "interrupt": any context but hard interrupt, see kdat.h */
		.is_interrupt_safe = DAT_FALSE,
		.fmr_supported = DAT_TRUE,
		.lmr_for_fmr_scope_supported = DAT_LMR_SCOPE_PZ,
		.ha_supported = DAT_FALSE,
		.ha_loadbalancing = DAT_HA_LB_NONE,
	};

	kdat_ia_named_attrs(ia, &attr);
	/* it has a constant member */
	memcpy((void *)to, &attr, sizeof(attr));
}

static DAT_RETURN kdat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async,
				DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
				DAT_PROVIDER_ATTR_MASK provider_mask,
				DAT_PROVIDER_ATTR *provider_attr)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);

	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (ia_mask & ~DAT_IA_FIELD_ALL)
		return KDAT_BAD_ARG(3);
	if (ia_mask && !ia_attr)
		return KDAT_BAD_ARG(4);
	if (provider_mask & ~DAT_PROVIDER_FIELD_ALL)
		return KDAT_BAD_ARG(5);
	if (provider_mask && !provider_attr)
		return KDAT_BAD_ARG(6);
	if (async)
		*async = ia->async_evd;
	if (!ia_mask && !provider_mask)
		return DAT_SUCCESS;
	if (!kdat_enter_atomic(ia))
		return KDAT_GONE;
	if (ia_mask)
		kdat_ia_attr(ia, ia_attr);
	if (provider_mask)
		kdat_ia_provider_attr(ia, provider_attr);
	kdat_leave_atomic(ia);
	return DAT_SUCCESS;
}

/* No RNIC has high availability: two names are related when they are of the same RNIC. */
static DAT_RETURN kdat_ia_related(DAT_IA_HANDLE ia_handle, const char *name,
				  DAT_BOOLEAN *related)
{
	const struct kdat_ia *ia = kdat_ia_of(ia_handle);

	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!name)
		return KDAT_BAD_ARG(2);
	if (!related)
		return KDAT_BAD_ARG(3);
	*related = !strcmp(name, ia->kr->info.ia_name) || !strcmp(name, ia->kr->info_ib.ia_name) ?
		DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

void kdat_ia_table(DAT_PROVIDER *provider)
{
	provider->ia_query_func = kdat_ia_query;
	provider->ia_close_func = kdat_ia_close;
	provider->ia_ha_related_func = kdat_ia_related;
}
