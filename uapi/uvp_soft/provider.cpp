/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The part of the provider that libibverbs calls first: registration, matching of devices, the
 * context, and queries of a device and its port.
 */
#include <cstdio>

#include "provider.hpp"

namespace krdma {
namespace {

int query_device(ibv_context *context, const ibv_query_device_ex_input *input,
		 ibv_device_attr_ex *attr, std::size_t attr_size)
{
	ib_uverbs_ex_query_device_resp response{};
	std::size_t response_size = sizeof(response);
	int err = ibv_cmd_query_device_any(context, input, attr, attr_size, &response,
					   &response_size);

	if (err)
		return err;

	const std::uint64_t version = response.base.fw_ver;
	std::snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u",
		      static_cast<unsigned int>(version >> 32),
		      static_cast<unsigned int>(version >> 16 & 0xffff),
		      static_cast<unsigned int>(version & 0xffff));
	return 0;
}

/* The clock of completions' times. tv_nsec has the whole count, as with other drivers. */
int query_rt_values(ibv_context * /*context*/, ibv_values_ex *values)
{
	std::timespec now{};

	if (values->comp_mask & ~std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK})
		return EINVAL;
	if (!values->comp_mask)
		return 0;
	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return errno;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = now.tv_sec * 1'000'000'000 + now.tv_nsec;
	return 0;
}

int query_port(ibv_context *context, std::uint8_t port, ibv_port_attr *attr)
{
	ibv_query_port_cmd cmd{};

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

void free_context(ibv_context *context)
{
	verbs_context *vctx = verbs_get_ctx(context);

	verbs_uninit_context(vctx);
	dispose(&ours<Context>(vctx));
}

constexpr verbs_context_ops context_ops = {
	.alloc_mw = alloc_mw,
	.alloc_parent_domain = alloc_parent_domain,
	.alloc_pd = alloc_pd,
	.alloc_td = alloc_td,
	.bind_mw = bind_mw,
	.create_cq = create_cq,
	.create_cq_ex = create_cq_ex,
	.create_qp = create_qp,
	.create_qp_ex = create_qp_ex,
	.create_srq = create_srq,
	.dealloc_mw = dealloc_mw,
	.dealloc_pd = dealloc_pd,
	.dealloc_td = dealloc_td,
	.dereg_mr = dereg_mr,
	.destroy_cq = destroy_cq,
	.destroy_qp = destroy_qp,
	.destroy_srq = destroy_srq,
	.free_context = free_context,
	.import_mr = import_mr,
	.import_pd = import_pd,
	.modify_cq = modify_cq,
	.modify_qp = modify_qp,
	.modify_srq = modify_srq,
	.poll_cq = poll_cq,
	.post_recv = post_recv,
	.post_send = post_send,
	.post_srq_recv = post_srq_recv,
	.query_device_ex = query_device,
	.query_port = query_port,
	.query_qp = query_qp,
	.query_rt_values = query_rt_values,
	.query_srq = query_srq,
	.reg_dmabuf_mr = reg_dmabuf_mr,
	.reg_mr = reg_mr,
	.req_notify_cq = req_notify_cq,
	.rereg_mr = rereg_mr,
	.resize_cq = resize_cq,
	.unimport_mr = unimport_mr,
	.unimport_pd = unimport_pd,
};

verbs_context *alloc_context(ibv_device *device, int cmd_fd, void * /*private_data*/)
{
	/* owns cmd_fd from here on, also on failure */
	void *memory = _verbs_init_and_alloc_context(device, cmd_fd, sizeof(Context), nullptr,
						     KRDMA_DRIVER_ID);
	if (!memory)
		return nullptr;

	auto *context = static_cast<Context *>(memory);
	ibv_get_context_cmd cmd{};
	verbs_response<ib_uverbs_get_context_resp, krdma_soft_ucontext_resp> response{};

	const int err =
		verbs_get_context(&context->base, &cmd, sizeof(cmd), &response, response.size);
	return begin_context(context, err, response.driver);
}

/*
 * The kernel's driver id decides. If the kernel or the sysfs tree does not give it, only the
 * name is left, and an administrator may have given that name to any other device.
 */
bool match_device(verbs_sysfs_dev *sysfs_dev)
{
	constexpr std::uint32_t unknown = 0;

	if (sysfs_dev->driver_id != unknown)
		return sysfs_dev->driver_id == KRDMA_DRIVER_ID;
	return sysfs_dev->match;
}

verbs_device *alloc_device(verbs_sysfs_dev * /*sysfs_dev*/)
{
	return make<verbs_device>();
}

void uninit_device(verbs_device *device)
{
	dispose(device);
}

constexpr verbs_match_ent match_table[] = {
	{.driver_data = nullptr,
	 .u = {.driver_id = KRDMA_DRIVER_ID},
	 .vendor = 0,
	 .device = 0,
	 .kind = VERBS_MATCH_DRIVER_ID},
	{.driver_data = nullptr,
	 .u = {.modalias = "rdma_device:*Nkrdma*"},
	 .vendor = 0,
	 .device = 0,
	 .kind = VERBS_MATCH_MODALIAS},
	{},
};

constexpr verbs_device_ops device_ops = {
	.name = "krdma",
	.match_min_abi_version = KRDMA_SOFT_ABI_VERSION,
	.match_max_abi_version = KRDMA_SOFT_ABI_VERSION,
	.match_table = match_table,
	.static_providers = nullptr,
	.match_device = match_device,
	.alloc_context = alloc_context,
	.import_context = import_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

[[gnu::constructor]] void register_driver()
{
	/* rdma-core was upgraded: this would write over memory of the program */
	if (verbs_small_qp && ibv_wr_opcode_str) {
		std::fputs("krdma: this provider is for an older rdma-core; install it again\n",
			   stderr);
		return;
	}
	verbs_register_driver(&device_ops);
}

} /* namespace */

verbs_context *begin_context(Context *context, int err, const krdma_soft_ucontext_resp &answer)
{
	if (!err && answer.abi_version != KRDMA_SOFT_ABI_VERSION)
		err = EPROTO;
	if (err) {
		verbs_uninit_context(&context->base);
		dispose(context);
		errno = err;
		return nullptr;
	}
	context->poll_yield = answer.poll_yield;
	verbs_set_ops(&context->base, &context_ops);
	return &context->base;
}

} /* namespace krdma */
