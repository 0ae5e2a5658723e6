/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#include "fake_ibverbs.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

constinit FakeKernel fake{};

namespace {

/* rings lie behind whatever doorbells write */
constexpr std::uint64_t first_offset = std::uint64_t{1} << 24;
constexpr std::uint32_t handle = 77;

std::uint64_t allocate(int fd, std::uint64_t size)
{
	const std::uint64_t offset = first_offset + fake.next_offset;

	fake.next_offset += (size + 4095) & ~std::uint64_t{4095};
	if (ftruncate(fd, static_cast<off_t>(first_offset + fake.next_offset)))
		abort();
	return offset;
}

std::uint64_t ring_size(std::uint32_t depth, std::uint32_t stride)
{
	return depth ? KRDMA_SOFT_RING_ENTRIES + std::uint64_t{depth} * stride : 0;
}

std::uint32_t round_depth(std::uint32_t depth)
{
	return depth ? std::bit_ceil(depth) : 0;
}

template <typename Driver>
void answer(void *resp, std::size_t resp_size, std::size_t core_size, const Driver &driver)
{
	if (resp_size != core_size + sizeof(driver))
		abort();
	std::memcpy(static_cast<std::byte *>(resp) + core_size, &driver, sizeof(driver));
}

int created()
{
	if (fake.fail)
		return fake.fail;
	fake.live_objects++;
	return 0;
}

int destroyed()
{
	if (fake.fail)
		return fake.fail;
	fake.live_objects--;
	return 0;
}

/* the driver's bytes of a resize stand behind the command */
template <typename Command> std::uint32_t step_of(const Command *cmd, std::size_t size)
{
	if (size < sizeof(*cmd) + sizeof(krdma_soft_resize_cq_req))
		abort();
	return reinterpret_cast<const krdma_soft_resize_cq_req *>(cmd + 1)->step;
}

/* what the kernel does when a queue changes its ring */
template <typename Head, typename Ring>
void move_ring(int fd, const Ring &from, const Ring &to, std::size_t stride)
{
	auto *old_ring = static_cast<std::byte *>(fake.map(fd, from.ring_offset, from.ring_size));
	auto *new_ring = static_cast<std::byte *>(fake.map(fd, to.ring_offset, to.ring_size));
	const auto &head = *reinterpret_cast<const Head *>(old_ring);
	const auto slot = [&](std::byte *ring, std::uint32_t index, std::uint32_t depth) {
		return ring + KRDMA_SOFT_RING_ENTRIES + (index & (depth - 1)) * stride;
	};

	*reinterpret_cast<Head *>(new_ring) = head;
	for (std::uint32_t i = head.cons; i != head.prod; i++)
		std::memcpy(slot(new_ring, i, to.depth), slot(old_ring, i, from.depth), stride);
	munmap(old_ring, from.ring_size);
	munmap(new_ring, to.ring_size);
}

} /* namespace */

void *FakeKernel::map(int fd, std::uint64_t offset, std::uint64_t size)
{
	void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     static_cast<off_t>(offset));
	return address == MAP_FAILED ? nullptr : address;
}

int FakeKernel::doorbells(int fd)
{
	constexpr off_t command = sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_post_send);

	return static_cast<int>(lseek(fd, 0, SEEK_CUR) / command);
}

int FakeKernel::make_device_file()
{
	return memfd_create("uverbs", MFD_CLOEXEC);
}

extern "C" {

/* in place of libc's */
int sched_yield() noexcept
{
	fake.yields++;
	return 0;
}

void verbs_register_driver(const verbs_device_ops *ops)
{
	fake.device_ops = ops;
}

void *_verbs_init_and_alloc_context(ibv_device *device, int cmd_fd, std::size_t alloc_size,
				    verbs_context *context_offset, std::uint32_t driver_id)
{
	if (context_offset || driver_id != KRDMA_DRIVER_ID)
		abort();
	auto *context = static_cast<verbs_context *>(std::calloc(1, alloc_size));
	context->context.device = device;
	context->context.cmd_fd = cmd_fd;
	context->context.async_fd = -1;
	context->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->sz = sizeof(*context);
	fake.live_objects++;
	return context;
}

void verbs_uninit_context(verbs_context *context)
{
	close(context->context.cmd_fd);
	fake.live_objects--;
}

void verbs_set_ops(verbs_context *, const verbs_context_ops *ops)
{
	fake.ops = *ops;
}

int ibv_cmd_get_context(verbs_context *, ibv_get_context_cmd *, std::size_t,
			VERBS_SINCE_57(void *, ) void *resp, std::size_t resp_size)
{
	answer(resp, resp_size, sizeof(ib_uverbs_get_context_resp),
	       krdma_soft_ucontext_resp{.abi_version = fake.abi_version,
					.poll_yield = fake.poll_yield});
	return fake.fail;
}

int ibv_cmd_query_device_any(ibv_context *, const ibv_query_device_ex_input *, ibv_device_attr_ex *,
			     std::size_t, ib_uverbs_ex_query_device_resp *resp, std::size_t *)
{
	resp->base.fw_ver = std::uint64_t{1} << 32 | 2 << 16 | 3;
	return fake.fail;
}

int ibv_cmd_query_port(ibv_context *, std::uint8_t, ibv_port_attr *, ibv_query_port_cmd *,
		       std::size_t)
{
	return fake.fail;
}

int ibv_cmd_alloc_pd(ibv_context *context, ibv_pd *pd, ibv_alloc_pd_cmd *, std::size_t,
		     ib_uverbs_alloc_pd_resp *, std::size_t)
{
	pd->context = context;
	pd->handle = handle;
	return created();
}

int ibv_cmd_dealloc_pd(ibv_pd *)
{
	return destroyed();
}

int ibv_cmd_reg_mr(ibv_pd *pd, void *addr, std::size_t length, std::uint64_t iova, int access,
		   verbs_mr *mr, ibv_reg_mr_cmd *, std::size_t, void *resp, std::size_t resp_size)
{
	answer(resp, resp_size, sizeof(ib_uverbs_reg_mr_resp), krdma_soft_mr_resp{0x100, 0});
	mr->ibv_mr = {pd->context, pd, addr, length, handle, 0x100, 0x100};
	mr->access = access;
	fake.reg_mr_iova = iova;
	return created();
}

int ibv_cmd_rereg_mr(verbs_mr *mr, std::uint32_t flags, void *, std::size_t, std::uint64_t iova,
		     int, ibv_pd *, ibv_rereg_mr_cmd *, std::size_t, ib_uverbs_rereg_mr_resp *,
		     std::size_t)
{
	if (fake.fail)
		return fake.fail;
	fake.rereg_mr_flags = flags;
	fake.reg_mr_iova = iova;
	mr->ibv_mr.lkey = mr->ibv_mr.rkey = 0x101;
	return 0;
}

int ibv_cmd_reg_dmabuf_mr(ibv_pd *pd, std::uint64_t, std::size_t length, std::uint64_t iova, int fd,
			  int access, verbs_mr *mr, void *driver)
{
	if (fake.fail)
		return fake.fail;
	if (driver)
		return EINVAL;
	mr->ibv_mr = {pd->context, pd, nullptr, length, handle, 0x100, 0x100};
	mr->access = access;
	fake.reg_mr_iova = iova;
	fake.reg_mr_fd = fd;
	return created();
}

int ibv_cmd_query_mr(ibv_pd *pd, verbs_mr *mr, std::uint32_t mr_handle)
{
	if (fake.fail)
		return fake.fail;
	mr->ibv_mr = {pd->context, pd, nullptr, 4096, mr_handle, 0x100, 0x100};
	return 0;
}

int ibv_cmd_dereg_mr(verbs_mr *)
{
	return destroyed();
}

int ibv_cmd_alloc_mw(ibv_pd *pd, ibv_mw_type type, ibv_mw *mw, ibv_alloc_mw_cmd *, std::size_t,
		     ib_uverbs_alloc_mw_resp *, std::size_t)
{
	*mw = {pd->context, pd, 0x2000, handle, type};
	return created();
}

int ibv_cmd_dealloc_mw(ibv_mw *)
{
	return destroyed();
}

int ibv_cmd_create_cq(ibv_context *context, int cqe, ibv_comp_channel *, int, ibv_cq *cq,
		      ibv_create_cq_cmd *, std::size_t, void *resp, std::size_t resp_size)
{
	const std::uint32_t depth = round_depth(static_cast<std::uint32_t>(cqe));

	fake.cq = {};
	fake.cq.depth = depth;
	fake.cq.ring_size = ring_size(depth, sizeof(krdma_soft_cqe)) - fake.stride_error;
	fake.cq.ring_offset = allocate(context->cmd_fd, fake.cq.ring_size);
	cq->context = context;
	cq->cqe = static_cast<int>(depth);
	answer(resp, resp_size, sizeof(ib_uverbs_create_cq_resp), fake.cq);
	return created();
}

int ibv_cmd_create_cq_ex(ibv_context *context, const ibv_cq_init_attr_ex *attr,
			 VERBS_SINCE_59(void *, ) verbs_cq *cq, ibv_create_cq_ex_cmd *, std::size_t,
			 void *resp, std::size_t resp_size, std::uint32_t)
{
	const std::uint32_t depth = round_depth(attr->cqe);

	fake.cq = {};
	fake.cq.depth = depth;
	fake.cq.ring_size = ring_size(depth, sizeof(krdma_soft_cqe));
	if (!fake.no_stamps) {
		fake.cq.stamp_offset = fake.cq.ring_size;
		fake.cq.ring_size += std::uint64_t{depth} * sizeof(krdma_soft_cq_stamp);
	}
	fake.cq.ring_size -= fake.stride_error;
	fake.cq.ring_offset = allocate(context->cmd_fd, fake.cq.ring_size);
	cq->cq.context = context;
	cq->cq.cqe = static_cast<int>(depth);
	answer(resp, resp_size, sizeof(ib_uverbs_ex_create_cq_resp), fake.cq);
	return created();
}

int ibv_cmd_resize_cq(ibv_cq *cq, int cqe, ibv_resize_cq_cmd *cmd, std::size_t cmd_size, void *resp,
		      std::size_t resp_size)
{
	const std::uint32_t depth = round_depth(static_cast<std::uint32_t>(cqe));

	if (fake.fail || (step_of(cmd, cmd_size) == KRDMA_SOFT_RESIZE_SWITCH && fake.fail_switch))
		return ENOMEM;
	if (step_of(cmd, cmd_size) == KRDMA_SOFT_RESIZE_PREPARE) {
		if (fake.preparing++)
			fake.out_of_order++;
		fake.next_cq = fake.cq;
		fake.next_cq.depth = depth;
		fake.next_cq.ring_size =
			ring_size(depth, sizeof(krdma_soft_cqe)) - fake.stride_error;
		fake.next_cq.ring_offset = allocate(cq->context->cmd_fd, fake.next_cq.ring_size);
		answer(resp, resp_size, sizeof(ib_uverbs_resize_cq_resp), fake.next_cq);
		return 0;
	}
	fake.preparing--;
	move_ring<krdma_soft_cq_ring>(cq->context->cmd_fd, fake.cq, fake.next_cq,
				      sizeof(krdma_soft_cqe));
	fake.cq = fake.next_cq;
	cq->cqe = static_cast<int>(depth);
	return 0;
}

int ibv_cmd_modify_cq(ibv_cq *, ibv_modify_cq_attr *, ibv_modify_cq_cmd *, std::size_t)
{
	return fake.fail;
}

int ibv_cmd_destroy_cq(ibv_cq *)
{
	return destroyed();
}

int ibv_cmd_create_srq(ibv_pd *pd, ibv_srq *srq, ibv_srq_init_attr *attr, ibv_create_srq_cmd *,
		       std::size_t, void *resp, std::size_t resp_size)
{
	fake.srq = {};
	fake.srq.depth = attr->attr.max_wr = round_depth(attr->attr.max_wr);
	fake.srq.stride = static_cast<std::uint32_t>(sizeof(krdma_soft_rqe) +
						     attr->attr.max_sge * sizeof(krdma_soft_sge)) -
			  fake.stride_error;
	fake.srq.ring_size = ring_size(fake.srq.depth, fake.srq.stride);
	fake.srq.ring_offset = allocate(pd->context->cmd_fd, fake.srq.ring_size);
	srq->context = pd->context;
	answer(resp, resp_size, sizeof(ib_uverbs_create_srq_resp), fake.srq);
	return created();
}

int ibv_cmd_modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int mask, ibv_modify_srq_cmd *cmd,
		       std::size_t cmd_size)
{
	if (fake.fail || !(mask & IBV_SRQ_MAX_WR))
		return fake.fail;
	fake.srq_masks.push_back(mask);
	if (step_of(cmd, cmd_size) == KRDMA_SOFT_RESIZE_PREPARE) {
		fake.next_srq = fake.srq;
		fake.next_srq.depth = round_depth(attr->max_wr);
		fake.next_srq.ring_size = ring_size(fake.next_srq.depth, fake.next_srq.stride);
		fake.next_srq.ring_offset = allocate(srq->context->cmd_fd, fake.next_srq.ring_size);
		const auto *request = reinterpret_cast<const krdma_soft_modify_srq_req *>(cmd + 1);
		*reinterpret_cast<krdma_soft_srq_resp *>(request->resp) = fake.next_srq;
		return 0;
	}
	move_ring<krdma_soft_ring>(srq->context->cmd_fd, fake.srq, fake.next_srq, fake.srq.stride);
	fake.srq = fake.next_srq;
	return 0;
}

int ibv_cmd_query_srq(ibv_srq *, ibv_srq_attr *, ibv_query_srq_cmd *, std::size_t)
{
	return fake.fail;
}

int ibv_cmd_destroy_srq(ibv_srq *)
{
	return destroyed();
}

int ibv_cmd_create_qp_ex(ibv_context *context, verbs_qp *vqp, ibv_qp_init_attr_ex *attr,
			 ibv_create_qp_cmd *, std::size_t, void *resp, std::size_t resp_size)
{
	if (attr->qp_type != IBV_QPT_RC)
		return EOPNOTSUPP;
	if (attr->srq)
		attr->cap.max_recv_wr = 0;
	attr->cap.max_send_wr = round_depth(attr->cap.max_send_wr);
	attr->cap.max_recv_wr = round_depth(attr->cap.max_recv_wr);

	krdma_soft_qp_resp granted{};
	const auto data = std::max<std::uint32_t>(attr->cap.max_send_sge * 16,
						  (attr->cap.max_inline_data + 15) & ~15U);
	granted.max_inline = data;
	granted.sq_depth = attr->cap.max_send_wr;
	granted.sq_stride =
		static_cast<std::uint32_t>(sizeof(krdma_soft_sqe)) + data - fake.stride_error;
	granted.sq_size = ring_size(granted.sq_depth, granted.sq_stride);
	granted.rq_depth = attr->cap.max_recv_wr;
	granted.rq_stride =
		static_cast<std::uint32_t>(sizeof(krdma_soft_rqe)) + attr->cap.max_recv_sge * 16;
	granted.rq_size = ring_size(granted.rq_depth, granted.rq_stride);
	if (granted.sq_size && granted.rq_size && !fake.rings_apart) {
		const std::uint64_t begin = (granted.sq_size + 127) & ~std::uint64_t{127};

		granted.sq_size = begin + granted.rq_size;
		granted.sq_offset = allocate(context->cmd_fd, granted.sq_size);
		granted.rq_offset = granted.sq_offset + begin;
		granted.rq_size += fake.room_error;
	} else {
		granted.sq_offset = allocate(context->cmd_fd, granted.sq_size);
		granted.rq_offset = allocate(context->cmd_fd, granted.rq_size);
	}
	granted.qp_num = 42;
	fake.qp = granted;

	vqp->qp.context = context;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	vqp->qp.srq = attr->srq;
	vqp->qp.handle = handle;
	vqp->qp.qp_num = granted.qp_num;
	vqp->comp_mask = 0;
	answer(resp, resp_size, sizeof(ib_uverbs_create_qp_resp), granted);
	return created();
}

int ibv_cmd_modify_qp(ibv_qp *, ibv_qp_attr *, int, ibv_modify_qp_cmd *, std::size_t)
{
	return fake.fail;
}

int ibv_cmd_query_qp(ibv_qp *, ibv_qp_attr *, int, ibv_qp_init_attr *, ibv_query_qp_cmd *,
		     std::size_t)
{
	return fake.fail;
}

int ibv_cmd_destroy_qp(ibv_qp *)
{
	return destroyed();
}

int ibv_cmd_post_srq_recv(ibv_srq *, ibv_recv_wr *, ibv_recv_wr **)
{
	return EBADF;
}

int ibv_cmd_post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **)
{
	if (wr)
		return EBADF;
	fake.slow_doorbells++;
	fake.doorbell_handle = qp->handle;
	return 0;
}

} /* extern "C" */
