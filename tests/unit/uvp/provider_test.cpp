/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The provider's verbs against a fake library and kernel: what they put into
 * the rings, when they ring the doorbell, what they refuse and with which
 * errno, and that nothing is left behind.
 */
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fake_ibverbs.hpp"
#include "provider.hpp"

namespace {

struct Shared {
	Shared(int fd, std::uint64_t offset, std::uint64_t length)
		: page{length ? static_cast<std::byte *>(FakeKernel::map(
					fd, offset & ~page_mask, length + (offset & page_mask)))
			      : nullptr},
		  address{page ? page + (offset & page_mask) : nullptr}, size{length +
									      (offset & page_mask)}
	{}
	Shared(const Shared &) = delete;
	Shared &operator=(const Shared &) = delete;
	~Shared()
	{
		if (page)
			munmap(page, size);
	}

	krdma_soft_ring &head()
	{
		return *static_cast<krdma_soft_ring *>(address);
	}
	krdma_soft_cq_ring &cq_head()
	{
		return *static_cast<krdma_soft_cq_ring *>(address);
	}
	template <typename Entry>
	Entry &entry(std::uint32_t n, std::uint32_t stride = sizeof(Entry))
	{
		if (!address)
			std::abort();
		auto *octets = static_cast<std::byte *>(address) + KRDMA_SOFT_RING_ENTRIES;
		return *reinterpret_cast<Entry *>(octets + std::size_t{n} * stride);
	}

	static constexpr std::uint64_t page_mask = 4095;

	std::byte *page;
	void *address;
	std::size_t size;
};

class Provider : public testing::Test {
protected:
	void SetUp() override
	{
		fake.fail = 0;
		fake.abi_version = KRDMA_SOFT_ABI_VERSION;
		fake.stride_error = 0;
		fake.fail_switch = false;
		fake.rings_apart = false;
		fake.room_error = 0;
		fake.live_objects = 0;
		ASSERT_NE(fake.device_ops, nullptr);
		fd = FakeKernel::make_device_file();
		verbs_context *vctx = fake.device_ops->alloc_context(&device, fd, nullptr);
		ASSERT_NE(vctx, nullptr);
		context = &vctx->context;
		pd = fake.ops.alloc_pd(context);
		ASSERT_NE(pd, nullptr);
		cq = fake.ops.create_cq(context, 4, nullptr, 0);
		ASSERT_NE(cq, nullptr);
	}

	void TearDown() override
	{
		fake.fail = 0;
		EXPECT_EQ(fake.ops.destroy_cq(cq), 0);
		EXPECT_EQ(fake.ops.dealloc_pd(pd), 0);
		fake.ops.free_context(context);
		EXPECT_EQ(fake.live_objects, 0);
	}

	ibv_qp_init_attr qp_attr(std::uint32_t send_wr, std::uint32_t recv_wr)
	{
		ibv_qp_init_attr attr{};

		attr.send_cq = attr.recv_cq = cq;
		attr.cap = {.max_send_wr = send_wr,
			    .max_recv_wr = recv_wr,
			    .max_send_sge = 2,
			    .max_recv_sge = 2,
			    .max_inline_data = 40};
		attr.qp_type = IBV_QPT_RC;
		return attr;
	}

	ibv_device device{};
	int fd{-1};
	ibv_context *context{};
	ibv_pd *pd{};
	ibv_cq *cq{};
};

class WithQp : public Provider {
protected:
	void SetUp() override
	{
		Provider::SetUp();
		ibv_qp_init_attr attr = qp_attr(3, 3);
		qp = fake.ops.create_qp(pd, &attr);
		ASSERT_NE(qp, nullptr);
		EXPECT_EQ(attr.cap.max_send_wr, 4U);
		EXPECT_EQ(attr.cap.max_recv_wr, 4U);
		EXPECT_EQ(attr.cap.max_inline_data, 48U);
		stride = fake.qp.sq_stride;
		sq = std::make_unique<Shared>(fd, fake.qp.sq_offset, fake.qp.sq_size);
		rq = std::make_unique<Shared>(fd, fake.qp.rq_offset, fake.qp.rq_size);
	}

	void TearDown() override
	{
		EXPECT_EQ(fake.ops.destroy_qp(qp), 0);
		Provider::TearDown();
	}

	static ibv_send_wr send_wr(ibv_wr_opcode opcode, unsigned int flags = 0)
	{
		ibv_send_wr wr{};

		wr.opcode = opcode;
		wr.send_flags = flags;
		return wr;
	}

	int post(ibv_send_wr wr)
	{
		ibv_send_wr *bad = nullptr;
		const int err = fake.ops.post_send(qp, &wr, &bad);

		EXPECT_EQ(bad, err ? &wr : nullptr);
		return err;
	}

	krdma_soft_sqe &sqe(std::uint32_t n)
	{
		return sq->entry<krdma_soft_sqe>(n, stride);
	}

	ibv_qp *qp{};
	std::uint32_t stride{};
	std::unique_ptr<Shared> sq;
	std::unique_ptr<Shared> rq;
};

TEST_F(Provider, ContextOfAnotherAbiIsRefused)
{
	const int other = FakeKernel::make_device_file();

	fake.abi_version = KRDMA_SOFT_ABI_VERSION + 1;
	EXPECT_EQ(fake.device_ops->alloc_context(&device, other, nullptr), nullptr);
	EXPECT_EQ(errno, EPROTO);
	EXPECT_LT(lseek(other, 0, SEEK_CUR), 0) << "the descriptor belongs to the context";
}

TEST_F(Provider, PollingInVainYields)
{
	constexpr int usual = 16;
	constexpr int polls = 3 * 5 * usual;
	ibv_wc wc{};

	for (const std::uint32_t limit : {0U, 1U, 5U, UINT32_MAX}) {
		fake.poll_yield = limit;
		verbs_context *vctx = fake.device_ops->alloc_context(
			&device, FakeKernel::make_device_file(), nullptr);
		ASSERT_NE(vctx, nullptr);
		ibv_cq *other = fake.ops.create_cq(&vctx->context, 4, nullptr, 0);
		ASSERT_NE(other, nullptr);
		fake.yields = 0;
		for (int i = 0; i < polls; i++)
			EXPECT_EQ(fake.ops.poll_cq(other, 1, &wc), 0);
		const std::uint32_t every = limit ? limit : usual;
		EXPECT_EQ(fake.yields, static_cast<int>(polls / every)) << "limit " << limit;
		EXPECT_EQ(fake.ops.destroy_cq(other), 0);
		fake.ops.free_context(&vctx->context);
	}
	fake.poll_yield = 0;
}

TEST_F(Provider, PollingInStepsYieldsToo)
{
	ibv_cq_init_attr_ex attr{};
	ibv_poll_cq_attr poll_attr{};

	attr.cqe = 4;
	ibv_cq_ex *ex = fake.ops.create_cq_ex(context, &attr);
	ASSERT_NE(ex, nullptr);
	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};
	const auto in_vain = [&](int polls) {
		for (int i = 0; i < polls; i++)
			EXPECT_EQ(ibv_start_poll(ex, &poll_attr), ENOENT);
	};

	fake.yields = 0;
	in_vain(16);
	EXPECT_EQ(fake.yields, 1);
	in_vain(15);
	ring.cq_head().prod = 1;
	ASSERT_EQ(ibv_start_poll(ex, &poll_attr), 0);
	ibv_end_poll(ex);
	in_vain(15);
	EXPECT_EQ(fake.yields, 1) << "a completion begins the count anew";
	in_vain(1);
	EXPECT_EQ(fake.yields, 2);
	EXPECT_EQ(fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Provider, FirmwareVersionIsReadable)
{
	ibv_device_attr_ex attr{};

	ASSERT_EQ(fake.ops.query_device_ex(context, nullptr, &attr, sizeof(attr)), 0);
	EXPECT_STREQ(attr.orig_attr.fw_ver, "1.2.3");
}

TEST_F(Provider, MatchesByDriverIdBeforeName)
{
	verbs_sysfs_dev dev{};
	const verbs_match_ent by_name{};

	dev.driver_id = KRDMA_DRIVER_ID;
	EXPECT_TRUE(fake.device_ops->match_device(&dev));
	dev.driver_id = 18;
	dev.match = &by_name;
	EXPECT_FALSE(fake.device_ops->match_device(&dev)) << "a siw device called krdma0";
	dev.driver_id = 0;
	EXPECT_TRUE(fake.device_ops->match_device(&dev));
	dev.match = nullptr;
	EXPECT_FALSE(fake.device_ops->match_device(&dev));
}

TEST_F(Provider, FailuresOfTheKernelReachTheCaller)
{
	ibv_qp_init_attr qp_init = qp_attr(1, 1);
	ibv_srq_init_attr srq_init{.srq_context = nullptr, .attr = {1, 1, 0}};
	const int before = fake.live_objects;

	fake.fail = EPERM;
	errno = 0;
	EXPECT_EQ(fake.ops.alloc_pd(context), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPERM);
	EXPECT_EQ(fake.ops.create_cq(context, 4, nullptr, 0), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPERM);
	EXPECT_EQ(fake.ops.create_qp(pd, &qp_init), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPERM);
	EXPECT_EQ(fake.ops.create_srq(pd, &srq_init), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPERM);
	EXPECT_EQ(fake.ops.reg_mr(pd, this, 1, 0, 0), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPERM);
	EXPECT_EQ(fake.ops.dealloc_pd(pd), EPERM);
	EXPECT_EQ(fake.ops.destroy_cq(cq), EPERM);
	EXPECT_EQ(fake.live_objects, before);
}

TEST_F(Provider, RingsThatDoNotFitAreRefused)
{
	ibv_qp_init_attr qp_init = qp_attr(1, 1);
	ibv_srq_init_attr srq_init{.srq_context = nullptr, .attr = {1, 1, 0}};
	const int before = fake.live_objects;

	fake.stride_error = 8;
	EXPECT_EQ(fake.ops.create_cq(context, 4, nullptr, 0), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPROTO);
	EXPECT_EQ(fake.ops.create_qp(pd, &qp_init), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPROTO);
	EXPECT_EQ(fake.ops.create_srq(pd, &srq_init), nullptr);
	EXPECT_EQ(std::exchange(errno, 0), EPROTO);
	EXPECT_EQ(fake.live_objects, before);
}

TEST_F(Provider, UnsupportedQpTypeIsEopnotsupp)
{
	ibv_qp_init_attr attr = qp_attr(1, 1);

	attr.qp_type = IBV_QPT_UD;
	EXPECT_EQ(fake.ops.create_qp(pd, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Provider, QueuesOfDepthZeroExistAndAreFull)
{
	ibv_qp_init_attr attr = qp_attr(0, 0);
	ibv_qp *qp = fake.ops.create_qp(pd, &attr);
	ibv_send_wr send{};
	ibv_send_wr *bad_send = nullptr;
	ibv_recv_wr recv{};
	ibv_recv_wr *bad_recv = nullptr;

	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(fake.ops.post_send(qp, &send, &bad_send), ENOMEM);
	EXPECT_EQ(bad_send, &send);
	EXPECT_EQ(fake.ops.post_recv(qp, &recv, &bad_recv), ENOMEM);
	EXPECT_EQ(bad_recv, &recv);
	EXPECT_EQ(fake.ops.destroy_qp(qp), 0);
}

TEST_F(Provider, RegionKeepsItsIova)
{
	std::array<std::byte, 16> buffer;
	ibv_mr *mr = fake.ops.reg_mr(pd, buffer.data(), buffer.size(), 0x123456789abcdefULL, 1);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(fake.reg_mr_iova, 0x123456789abcdefULL);
	EXPECT_EQ(fake.ops.dereg_mr(reinterpret_cast<verbs_mr *>(mr)), 0);
}

TEST_F(Provider, RegionIsRegisteredAnew)
{
	std::array<std::byte, 16> buffer;
	ibv_mr *mr = fake.ops.reg_mr(pd, buffer.data(), buffer.size(), 0, 1);
	auto *vmr = reinterpret_cast<verbs_mr *>(mr);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(fake.ops.rereg_mr(vmr, IBV_REREG_MR_CHANGE_TRANSLATION, pd, buffer.data(),
				    buffer.size(), 0),
		  0);
	EXPECT_EQ(fake.reg_mr_iova, reinterpret_cast<std::uintptr_t>(buffer.data()));
	EXPECT_EQ(fake.rereg_mr_flags, std::uint32_t{IBV_REREG_MR_CHANGE_TRANSLATION});
	EXPECT_EQ(mr->rkey, 0x101U);
	fake.fail = EINVAL;
	EXPECT_EQ(fake.ops.rereg_mr(vmr, IBV_REREG_MR_CHANGE_ACCESS, pd, nullptr, 0, 1), EINVAL);
	fake.fail = 0;
	EXPECT_EQ(fake.ops.dereg_mr(vmr), 0);
}

TEST_F(Provider, RegionOfADmabuf)
{
	ibv_mr *mr = fake.ops.reg_dmabuf_mr(pd, 4096, 100, 8192, 17, 1);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(fake.reg_mr_iova, 8192U);
	EXPECT_EQ(fake.reg_mr_fd, 17);
	EXPECT_EQ(fake.ops.dereg_mr(reinterpret_cast<verbs_mr *>(mr)), 0);
	fake.fail = EBADF;
	EXPECT_EQ(fake.ops.reg_dmabuf_mr(pd, 0, 100, 0, -1, 1), nullptr);
	EXPECT_EQ(errno, EBADF);
	fake.fail = 0;
}

TEST_F(Provider, ParentDomainKeepsItsParts)
{
	ibv_td_init_attr td_attr{};
	ibv_td *td = fake.ops.alloc_td(context, &td_attr);
	ibv_parent_domain_init_attr attr{};

	ASSERT_NE(td, nullptr);
	EXPECT_EQ(fake.ops.alloc_parent_domain(context, &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	attr.pd = pd;
	attr.td = td;
	ibv_pd *parent = fake.ops.alloc_parent_domain(context, &attr);
	ASSERT_NE(parent, nullptr);
	EXPECT_EQ(parent->handle, pd->handle);
	EXPECT_EQ(fake.ops.dealloc_pd(pd), EBUSY);
	EXPECT_EQ(fake.ops.dealloc_td(td), EBUSY);

	ibv_qp_init_attr qp_init = qp_attr(1, 1);
	ibv_qp *qp = fake.ops.create_qp(parent, &qp_init);
	ASSERT_NE(qp, nullptr);
	ibv_send_wr wr{};
	ibv_send_wr *bad;
	wr.opcode = IBV_WR_SEND;
	EXPECT_EQ(fake.ops.post_send(qp, &wr, &bad), 0);
	EXPECT_EQ(fake.ops.destroy_qp(qp), 0);

	EXPECT_EQ(fake.ops.dealloc_pd(parent), 0);
	EXPECT_EQ(fake.ops.dealloc_td(td), 0);
}

TEST_F(WithQp, SendQueueEntries)
{
	std::array<ibv_sge, 2> sges{{{0x1000, 10, 1}, {0x2000, 20, 2}}};
	std::array<ibv_send_wr, 4> wrs{};

	wrs[0] = send_wr(IBV_WR_SEND, IBV_SEND_SIGNALED);
	wrs[1] = send_wr(IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED);
	wrs[1].invalidate_rkey = 0xabcd;
	wrs[2] = send_wr(IBV_WR_RDMA_WRITE);
	wrs[2].wr.rdma = {.remote_addr = 0x123456789, .rkey = 0x77};
	wrs[3] = send_wr(IBV_WR_RDMA_READ, IBV_SEND_FENCE);
	wrs[3].wr.rdma = {.remote_addr = 0x987654321, .rkey = 0x88};
	for (std::size_t i = 0; i < wrs.size(); i++) {
		wrs[i].wr_id = 100 + i;
		wrs[i].next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
		wrs[i].sg_list = sges.data();
		wrs[i].num_sge = static_cast<int>(i % 3);
	}
	ibv_send_wr *bad = nullptr;
	ASSERT_EQ(fake.ops.post_send(qp, wrs.data(), &bad), 0);
	EXPECT_EQ(bad, nullptr);
	EXPECT_EQ(sq->head().prod, 4U);

	for (std::uint32_t i = 0; i < 4; i++) {
		EXPECT_EQ(sqe(i).wr_id, 100 + i);
		ASSERT_EQ(sqe(i).num_sge, i % 3);
		EXPECT_EQ(std::memcmp(sqe(i).sge, sges.data(), sqe(i).num_sge * sizeof(ibv_sge)),
			  0);
	}
	EXPECT_EQ(sqe(0).opcode, KRDMA_SOFT_OP_SEND);
	EXPECT_EQ(sqe(0).flags, KRDMA_SOFT_WQE_SIGNALED);
	EXPECT_EQ(sqe(1).opcode, KRDMA_SOFT_OP_SEND_INV);
	EXPECT_EQ(sqe(1).flags, KRDMA_SOFT_WQE_SOLICITED);
	EXPECT_EQ(sqe(1).invalidate, 0xabcdU);
	EXPECT_EQ(sqe(2).opcode, KRDMA_SOFT_OP_WRITE);
	EXPECT_EQ(sqe(2).flags, 0);
	EXPECT_EQ(sqe(2).raddr, 0x123456789U);
	EXPECT_EQ(sqe(2).rkey, 0x77U);
	EXPECT_EQ(sqe(3).opcode, KRDMA_SOFT_OP_READ);
	EXPECT_EQ(sqe(3).flags, KRDMA_SOFT_WQE_FENCE);
	EXPECT_EQ(sqe(3).raddr, 0x987654321U);
	EXPECT_EQ(sqe(3).rkey, 0x88U);

	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), ENOMEM) << "four entries, none consumed";
	sq->head().cons = 1;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
}

TEST_F(WithQp, LocalInvalidateHasNoData)
{
	std::array<ibv_sge, 2> sges{};
	ibv_send_wr wr = send_wr(IBV_WR_LOCAL_INV, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	wr.invalidate_rkey = 0x1234ab;
	wr.sg_list = sges.data();
	wr.num_sge = 2;
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(0).opcode, KRDMA_SOFT_OP_LOCAL_INV);
	EXPECT_EQ(sqe(0).flags, KRDMA_SOFT_WQE_SIGNALED | KRDMA_SOFT_WQE_FENCE);
	EXPECT_EQ(sqe(0).num_sge, 0);
	EXPECT_EQ(sqe(0).invalidate, 0x1234abU);
}

TEST_F(WithQp, ImmediateDataAndAtomicOperations)
{
	std::array<ibv_sge, 1> sges{{{0x1000, 8, 1}}};
	std::array<ibv_send_wr, 4> wrs{};

	wrs[0] = send_wr(IBV_WR_SEND_WITH_IMM);
	wrs[0].imm_data = 0x04030201;
	wrs[1] = send_wr(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SOLICITED);
	wrs[1].imm_data = 0x08070605;
	wrs[1].wr.rdma = {.remote_addr = 0x123456789, .rkey = 0x77};
	wrs[2] = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD);
	wrs[2].wr.atomic = {.remote_addr = 0xabc8, .compare_add = 5, .swap = 6, .rkey = 0x88};
	wrs[3] = send_wr(IBV_WR_ATOMIC_CMP_AND_SWP, IBV_SEND_FENCE);
	wrs[3].wr.atomic = {.remote_addr = 0xabd0, .compare_add = 7, .swap = 8, .rkey = 0x99};
	for (std::size_t i = 0; i < wrs.size(); i++) {
		wrs[i].next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
		wrs[i].sg_list = sges.data();
		wrs[i].num_sge = 1;
	}
	ibv_send_wr *bad = nullptr;
	ASSERT_EQ(fake.ops.post_send(qp, wrs.data(), &bad), 0);

	EXPECT_EQ(sqe(0).opcode, KRDMA_SOFT_OP_SEND_IMM);
	EXPECT_EQ(sqe(0).imm, 0x04030201U);
	EXPECT_EQ(sqe(1).opcode, KRDMA_SOFT_OP_WRITE_IMM);
	EXPECT_EQ(sqe(1).imm, 0x08070605U);
	EXPECT_EQ(sqe(1).flags, KRDMA_SOFT_WQE_SOLICITED);
	EXPECT_EQ(sqe(1).raddr, 0x123456789U);
	EXPECT_EQ(sqe(1).rkey, 0x77U);
	EXPECT_EQ(sqe(2).opcode, KRDMA_SOFT_OP_FETCH_ADD);
	EXPECT_EQ(sqe(2).raddr, 0xabc8U);
	EXPECT_EQ(sqe(2).rkey, 0x88U);
	EXPECT_EQ(sqe(2).atomic.swap_add, 5U);
	EXPECT_EQ(sqe(2).atomic.swap_add_mask, 0U) << "one field of 64 bits";
	EXPECT_EQ(sqe(3).opcode, KRDMA_SOFT_OP_CMP_SWAP);
	EXPECT_EQ(sqe(3).raddr, 0xabd0U);
	EXPECT_EQ(sqe(3).rkey, 0x99U);
	EXPECT_EQ(sqe(3).atomic.compare, 7U);
	EXPECT_EQ(sqe(3).atomic.swap_add, 8U);
	EXPECT_EQ(sqe(3).atomic.compare_mask, UINT64_MAX);
	EXPECT_EQ(sqe(3).atomic.swap_add_mask, UINT64_MAX);
}

TEST_F(WithQp, TheResultOfAnAtomicOperationHasEightOctetsInOnePiece)
{
	std::array<ibv_sge, 2> sges{{{0x1000, 8, 1}, {0x2000, 0, 1}}};

	for (ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		ibv_send_wr wr = send_wr(opcode);

		wr.sg_list = sges.data();
		wr.num_sge = 2;
		EXPECT_EQ(post(wr), EINVAL);
		wr.num_sge = 1;
		for (std::uint32_t length : {0U, 4U, 7U, 9U, 16U}) {
			sges[0].length = length;
			EXPECT_EQ(post(wr), EINVAL) << length;
		}
		sges[0].length = 8;
		wr.send_flags = IBV_SEND_INLINE;
		EXPECT_EQ(post(wr), EINVAL);
		wr.send_flags = 0;
		EXPECT_EQ(post(wr), 0);
	}
}

TEST_F(WithQp, BindsWindowsOfType2)
{
	ibv_mw *mw = fake.ops.alloc_mw(pd, IBV_MW_TYPE_2);
	ASSERT_NE(mw, nullptr);
	ibv_mr mr{};
	mr.lkey = 0x4711;
	ibv_send_wr wr = send_wr(IBV_WR_BIND_MW, IBV_SEND_SIGNALED);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = {&mr, 0x123456789, 0x1000, IBV_ACCESS_REMOTE_READ};
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(0).opcode, KRDMA_SOFT_OP_BIND_MW);
	EXPECT_EQ(sqe(0).flags, KRDMA_SOFT_WQE_SIGNALED);
	EXPECT_EQ(sqe(0).num_sge, 0);
	EXPECT_EQ(sqe(0).rkey, mw->rkey + 1);
	EXPECT_EQ(sqe(0).mem_stag, 0x4711U);
	EXPECT_EQ(sqe(0).raddr, 0x123456789U);
	EXPECT_EQ(sqe(0).mem_length, 0x1000U);
	EXPECT_EQ(sqe(0).mem_access, std::uint32_t{IBV_ACCESS_REMOTE_READ});

	/* of another index nothing is taken but the key */
	wr.bind_mw.rkey = 0x12300 + ((mw->rkey + 2) & 0xff);
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(1).rkey, (mw->rkey & ~0xffU) | ((mw->rkey + 2) & 0xff));
	wr.bind_mw.mw = nullptr;
	EXPECT_EQ(post(wr), EINVAL);
	wr.bind_mw.mw = mw;
	wr.send_flags = IBV_SEND_INLINE;
	EXPECT_EQ(post(wr), EINVAL);
	EXPECT_EQ(fake.ops.dealloc_mw(mw), 0);
}

TEST_F(WithQp, BindsWindowsOfType1)
{
	ibv_mw *mw = fake.ops.alloc_mw(pd, IBV_MW_TYPE_1);
	ASSERT_NE(mw, nullptr);
	const std::uint32_t before = mw->rkey;
	ibv_mw_bind bind{};
	EXPECT_EQ(fake.ops.bind_mw(qp, mw, &bind), 0);
	EXPECT_EQ(sqe(0).opcode, KRDMA_SOFT_OP_BIND_MW);
	EXPECT_EQ(sqe(0).mem_length, 0U);
	EXPECT_EQ(mw->rkey, before + 1);
	EXPECT_EQ(sqe(0).rkey, mw->rkey);
	bind.send_flags = IBV_SEND_INLINE;
	EXPECT_EQ(fake.ops.bind_mw(qp, mw, &bind), EINVAL);
	EXPECT_EQ(mw->rkey, before + 1) << "a refused bind leaves the key";

	ibv_send_wr wr = send_wr(IBV_WR_BIND_MW);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey;
	EXPECT_EQ(post(wr), EINVAL) << "type 1 has ibv_bind_mw()";
	EXPECT_EQ(fake.ops.dealloc_mw(mw), 0);
	fake.fail = ENOMEM;
	EXPECT_EQ(fake.ops.alloc_mw(pd, IBV_MW_TYPE_1), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	fake.fail = 0;
}

TEST_F(WithQp, RingsInPiecesOfTheirOwn)
{
	fake.rings_apart = true;
	ibv_qp_init_attr attr = qp_attr(2, 2);
	ibv_qp *other = fake.ops.create_qp(pd, &attr);
	ASSERT_NE(other, nullptr);
	Shared ring{fd, fake.qp.rq_offset, fake.qp.rq_size};
	ibv_recv_wr recv{};
	ibv_recv_wr *bad;

	recv.wr_id = 7;
	EXPECT_EQ(fake.ops.post_recv(other, &recv, &bad), 0);
	EXPECT_EQ(ring.head().prod, 1U);
	EXPECT_EQ(ring.entry<krdma_soft_rqe>(0, fake.qp.rq_stride).wr_id, 7U);
	EXPECT_EQ(fake.ops.destroy_qp(other), 0);
}

TEST_F(WithQp, ReceiveRingEndsWithItsMapping)
{
	fake.room_error = 1;
	ibv_qp_init_attr attr = qp_attr(2, 2);
	EXPECT_EQ(fake.ops.create_qp(pd, &attr), nullptr);
	EXPECT_EQ(errno, EPROTO);
}

TEST_F(WithQp, SignalAll)
{
	ibv_qp_init_attr attr = qp_attr(1, 1);
	attr.sq_sig_all = 1;
	ibv_qp *other = fake.ops.create_qp(pd, &attr);
	ASSERT_NE(other, nullptr);
	Shared ring{fd, fake.qp.sq_offset, fake.qp.sq_size};
	ibv_send_wr wr = send_wr(IBV_WR_SEND);
	ibv_send_wr *bad;

	EXPECT_EQ(fake.ops.post_send(other, &wr, &bad), 0);
	EXPECT_EQ(ring.entry<krdma_soft_sqe>(0, fake.qp.sq_stride).flags, KRDMA_SOFT_WQE_SIGNALED);
	EXPECT_EQ(fake.ops.destroy_qp(other), 0);
}

TEST_F(WithQp, WhatCannotBeSentIsEinval)
{
	for (ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
				     IBV_WR_BIND_MW, IBV_WR_TSO, static_cast<ibv_wr_opcode>(1000)})
		EXPECT_EQ(post(send_wr(opcode)), EINVAL) << opcode;

	std::array<ibv_sge, 3> sges{};
	ibv_send_wr wr = send_wr(IBV_WR_SEND);
	wr.sg_list = sges.data();
	wr.num_sge = 3;
	EXPECT_EQ(post(wr), EINVAL);
	wr.num_sge = -1;
	EXPECT_EQ(post(wr), EINVAL);
	EXPECT_EQ(post(send_wr(IBV_WR_SEND, IBV_SEND_IP_CSUM)), EINVAL);
	EXPECT_EQ(post(send_wr(IBV_WR_RDMA_READ, IBV_SEND_INLINE)), EINVAL);
	EXPECT_EQ(sq->head().prod, 0U);
}

TEST_F(WithQp, ABadRequestEndsTheListButNotItsBeginning)
{
	std::array<ibv_send_wr, 3> wrs{send_wr(IBV_WR_SEND), send_wr(IBV_WR_TSO),
				       send_wr(IBV_WR_SEND)};
	ibv_send_wr *bad = nullptr;

	wrs[0].next = &wrs[1];
	wrs[1].next = &wrs[2];
	EXPECT_EQ(fake.ops.post_send(qp, wrs.data(), &bad), EINVAL);
	EXPECT_EQ(bad, &wrs[1]);
	EXPECT_EQ(sq->head().prod, 1U);
}

TEST_F(WithQp, InlineDataIsGathered)
{
	std::string first = "inline data of ";
	std::string second = "two pieces";
	std::array<ibv_sge, 2> sges{{{reinterpret_cast<std::uintptr_t>(first.data()),
				      static_cast<std::uint32_t>(first.size()), 0},
				     {reinterpret_cast<std::uintptr_t>(second.data()),
				      static_cast<std::uint32_t>(second.size()), 0}}};
	ibv_send_wr wr = send_wr(IBV_WR_SEND, IBV_SEND_INLINE);

	wr.sg_list = sges.data();
	wr.num_sge = 2;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(0).flags, KRDMA_SOFT_WQE_INLINE);
	EXPECT_EQ(std::string_view(reinterpret_cast<char *>(sqe(0).sge), sqe(0).length),
		  first + second);

	std::string longest(48, 'x');
	sges[0] = {reinterpret_cast<std::uintptr_t>(longest.data()), 48, 0};
	wr.num_sge = 1;
	EXPECT_EQ(post(wr), 0);
	sges[0].length = 49;
	EXPECT_EQ(post(wr), EINVAL);
	/* lengths whose sum is small in 32 bits */
	sges[0].length = 0x80000000;
	sges[1].length = 0x80000000;
	wr.num_sge = 2;
	EXPECT_EQ(post(wr), EINVAL);
	wr.num_sge = 0;
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(2).length, 0U);
}

TEST_F(WithQp, DoorbellOncePerListAndOnlyWhenAsked)
{
	std::array<ibv_send_wr, 2> wrs{send_wr(IBV_WR_SEND), send_wr(IBV_WR_SEND)};
	ibv_send_wr *bad;

	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 0);
	sq->head().flags = KRDMA_SOFT_RING_DOORBELL;
	wrs[0].next = &wrs[1];
	EXPECT_EQ(fake.ops.post_send(qp, wrs.data(), &bad), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1);

	struct {
		ib_uverbs_cmd_hdr header;
		ib_uverbs_post_send request;
	} command;
	ASSERT_EQ(pread(fd, &command, sizeof(command), 0), ssize_t{sizeof(command)});
	EXPECT_EQ(command.header.command, unsigned{IB_USER_VERBS_CMD_POST_SEND});
	EXPECT_EQ(command.header.in_words * 4U, sizeof(command));
	EXPECT_EQ(command.header.out_words * 4U, sizeof(ib_uverbs_post_send_resp));
	EXPECT_EQ(command.request.qp_handle, qp->handle);
	EXPECT_EQ(command.request.wr_count, 0U);
	EXPECT_EQ(command.request.sge_count, 0U);
	EXPECT_EQ(command.request.wqe_size, sizeof(ib_uverbs_send_wr));
}

TEST_F(WithQp, WhatMayWaitIsAnnouncedBeforeAnybodyWaits)
{
	ibv_wc wc{};

	sq->head().due = 100;
	sq->head().flags = KRDMA_SOFT_RING_SOON;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 0);
	EXPECT_EQ(fake.ops.poll_cq(cq, 1, &wc), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1);
	EXPECT_EQ(fake.ops.poll_cq(cq, 1, &wc), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1) << "it was announced";

	sq->head().cons = 2;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(fake.ops.req_notify_cq(cq, 0), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 2);
}

TEST_F(WithQp, WhatMayWaitIsAnnouncedByWhoMayNotWrite)
{
	ibv_wc wc{};

	/* as another process, or one with other credentials, finds out */
	krdma::ours<krdma::Context>(verbs_get_ctx(context)).no_write = true;
	fake.slow_doorbells = 0;
	qp->handle = 7;
	sq->head().due = 100;
	sq->head().flags = KRDMA_SOFT_RING_SOON;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(fake.slow_doorbells, 0);
	EXPECT_EQ(fake.ops.poll_cq(cq, 1, &wc), 0);
	EXPECT_EQ(fake.slow_doorbells, 1);
	EXPECT_EQ(fake.doorbell_handle, 7U);
	sq->head().flags = KRDMA_SOFT_RING_DOORBELL;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(fake.slow_doorbells, 2);
	EXPECT_EQ(FakeKernel::doorbells(fd), 0);
}

TEST_F(WithQp, WhatMayWaitIsAnnouncedWhenItIsDue)
{
	sq->head().due = 3;
	sq->head().flags = KRDMA_SOFT_RING_SOON;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 0);
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1) << "three";

	/* the kernel took them, so as many may wait again */
	sq->head().cons = 3;
	sq->head().due = 5;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1);
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 2);
}

TEST_F(WithQp, WhatIsDueWrapsLikeTheIndices)
{
	sq->head().due = 0xffffffff;
	sq->head().flags = KRDMA_SOFT_RING_SOON;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1) << "due before the first";
}

/* A second QP, whose doorbells may wait like the first's. */
class WithQps : public WithQp {
protected:
	void SetUp() override
	{
		WithQp::SetUp();
		ibv_qp_init_attr attr = qp_attr(3, 3);
		other = fake.ops.create_qp(pd, &attr);
		ASSERT_NE(other, nullptr);
		Shared ring{fd, fake.qp.sq_offset, fake.qp.sq_size};
		sq->head().due = ring.head().due = 100;
		sq->head().flags = ring.head().flags = KRDMA_SOFT_RING_SOON;
	}

	void TearDown() override
	{
		EXPECT_EQ(fake.ops.destroy_qp(other), 0);
		WithQp::TearDown();
	}

	int post_other()
	{
		ibv_send_wr wr = send_wr(IBV_WR_SEND);
		ibv_send_wr *bad = nullptr;

		return fake.ops.post_send(other, &wr, &bad);
	}

	int poll()
	{
		ibv_wc wc{};

		return fake.ops.poll_cq(cq, 1, &wc);
	}

	ibv_qp *other{};
};

TEST_F(WithQps, DoorbellsOfSeveralWaitTogether)
{
	other->handle = qp->handle + 1;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(post_other(), 0);
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 0);
	EXPECT_EQ(poll(), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 2) << "one for each";
	EXPECT_EQ(poll(), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 2) << "and once";
}

TEST_F(WithQps, OneRingsWhenAnotherTakesItsPlace)
{
	other->handle = qp->handle + 64;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 0);
	EXPECT_EQ(post_other(), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1) << "the first";
	EXPECT_EQ(poll(), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 2);
	EXPECT_EQ(post_other(), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 2) << "the place is free again";
	EXPECT_EQ(poll(), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 3);
}

TEST_F(WithQp, DeadDeviceIsEio)
{
	ibv_recv_wr recv{};
	ibv_recv_wr *bad = nullptr;

	sq->head().flags = KRDMA_SOFT_RING_DEAD;
	rq->head().flags = KRDMA_SOFT_RING_DEAD;
	EXPECT_EQ(post(send_wr(IBV_WR_SEND)), EIO);
	EXPECT_EQ(fake.ops.post_recv(qp, &recv, &bad), EIO);
	EXPECT_EQ(bad, &recv);
	EXPECT_EQ(sq->head().prod, 0U);
}

TEST_F(WithQp, ReceiveQueueEntriesAndDoorbell)
{
	std::array<ibv_sge, 3> sges{{{0x1000, 10, 1}, {0x2000, 20, 2}, {}}};
	std::array<ibv_recv_wr, 5> wrs{};
	ibv_recv_wr *bad = nullptr;

	for (std::size_t i = 0; i < wrs.size(); i++) {
		wrs[i].wr_id = i;
		wrs[i].next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
		wrs[i].sg_list = sges.data();
		wrs[i].num_sge = static_cast<int>(i % 3);
	}
	EXPECT_EQ(fake.ops.post_recv(qp, wrs.data(), &bad), ENOMEM);
	EXPECT_EQ(bad, &wrs[4]);
	EXPECT_EQ(rq->head().prod, 4U);
	for (std::uint32_t i = 0; i < 4; i++) {
		const auto &rqe = rq->entry<krdma_soft_rqe>(i, fake.qp.rq_stride);

		EXPECT_EQ(rqe.wr_id, i);
		ASSERT_EQ(rqe.num_sge, i % 3);
		EXPECT_EQ(std::memcmp(rqe.sge, sges.data(), rqe.num_sge * sizeof(ibv_sge)), 0);
	}
	EXPECT_EQ(FakeKernel::doorbells(fd), 0);

	rq->head().cons = 4;
	rq->head().flags = KRDMA_SOFT_RING_DOORBELL;
	wrs[0].next = nullptr;
	EXPECT_EQ(fake.ops.post_recv(qp, wrs.data(), &bad), 0);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1);
	wrs[0].num_sge = 3;
	EXPECT_EQ(fake.ops.post_recv(qp, wrs.data(), &bad), EINVAL);
}

TEST_F(Provider, SharedReceiveQueue)
{
	ibv_srq_init_attr attr{.srq_context = nullptr,
			       .attr = {.max_wr = 2, .max_sge = 1, .srq_limit = 0}};
	ibv_srq *srq = fake.ops.create_srq(pd, &attr);
	ASSERT_NE(srq, nullptr);
	Shared ring{fd, fake.srq.ring_offset, fake.srq.ring_size};

	ibv_qp_init_attr qp_init = qp_attr(1, 5);
	qp_init.srq = srq;
	ibv_qp *qp = fake.ops.create_qp(pd, &qp_init);
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(qp_init.cap.max_recv_wr, 0U);

	std::array<ibv_recv_wr, 3> wrs{};
	ibv_recv_wr *bad = nullptr;
	EXPECT_EQ(fake.ops.post_recv(qp, wrs.data(), &bad), EINVAL) << "the SRQ takes them";
	wrs[0].next = &wrs[1];
	wrs[1].next = &wrs[2];
	EXPECT_EQ(fake.ops.post_srq_recv(srq, wrs.data(), &bad), ENOMEM);
	EXPECT_EQ(bad, &wrs[2]);
	EXPECT_EQ(ring.head().prod, 2U);
	ring.head().flags = KRDMA_SOFT_RING_DEAD;
	EXPECT_EQ(fake.ops.post_srq_recv(srq, wrs.data(), &bad), EIO);
	EXPECT_EQ(fake.ops.destroy_qp(qp), 0);
	EXPECT_EQ(fake.ops.destroy_srq(srq), 0);
}

TEST_F(Provider, PollingTakesWhatIsThere)
{
	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};
	std::array<ibv_wc, 4> wc{};

	EXPECT_EQ(fake.ops.poll_cq(cq, 4, wc.data()), 0);
	for (std::uint32_t i = 0; i < 3; i++) {
		auto &cqe = ring.entry<krdma_soft_cqe>(i);

		cqe.wr_id = 1000 + i;
		cqe.qp_num = 42;
		cqe.byte_len = 7 * i;
		cqe.opcode = i == 1 ? IBV_WC_RECV : IBV_WC_RDMA_READ;
		cqe.status = i == 2 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
		cqe.vendor_err = i == 2 ? 0x1234 : 0;
		cqe.flags = i == 1 ? KRDMA_SOFT_WC_INVALIDATED : 0;
		cqe.invalidated = i == 1 ? 0x5678 : 0;
	}
	ring.cq_head().prod = 3;
	EXPECT_EQ(fake.ops.poll_cq(cq, 0, wc.data()), 0);
	EXPECT_EQ(fake.ops.poll_cq(cq, 2, wc.data()), 2);
	EXPECT_EQ(ring.cq_head().cons, 2U);
	EXPECT_EQ(fake.ops.poll_cq(cq, 4, wc.data() + 2), 1);
	EXPECT_EQ(ring.cq_head().cons, 3U);
	for (std::uint32_t i = 0; i < 3; i++) {
		EXPECT_EQ(wc[i].wr_id, 1000 + i);
		EXPECT_EQ(wc[i].qp_num, 42U);
		EXPECT_EQ(wc[i].byte_len, 7 * i);
	}
	EXPECT_EQ(wc[0].opcode, IBV_WC_RDMA_READ);
	EXPECT_EQ(wc[0].wc_flags, 0U);
	EXPECT_EQ(wc[1].opcode, IBV_WC_RECV);
	EXPECT_EQ(wc[1].wc_flags, unsigned{IBV_WC_WITH_INV});
	EXPECT_EQ(wc[1].invalidated_rkey, 0x5678U);
	EXPECT_EQ(wc[2].status, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(wc[2].vendor_err, 0x1234U);
	ring.cq_head().prod = 4;
	ring.cq_head().flags = KRDMA_SOFT_RING_DEAD;
	EXPECT_EQ(fake.ops.poll_cq(cq, 4, wc.data()), 1) << "what came before the end";
	EXPECT_EQ(fake.ops.poll_cq(cq, 4, wc.data()), -EIO);
}

TEST_F(Provider, PollingImmediateData)
{
	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};
	auto &cqe = ring.entry<krdma_soft_cqe>(0);
	ibv_wc wc{};

	cqe.opcode = static_cast<std::uint8_t>(IBV_WC_RECV_RDMA_WITH_IMM);
	cqe.flags = KRDMA_SOFT_WC_IMM;
	cqe.imm = 0x04030201;
	ring.cq_head().prod = 1;
	ASSERT_EQ(fake.ops.poll_cq(cq, 1, &wc), 1);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM});
	EXPECT_EQ(wc.imm_data, 0x04030201U);
}

TEST_F(Provider, AResizedCqGoesOnWhereItWas)
{
	Shared before{fd, fake.cq.ring_offset, fake.cq.ring_size};
	std::array<ibv_wc, 8> wc{};

	for (std::uint32_t i = 0; i < 4; i++)
		before.entry<krdma_soft_cqe>(i).wr_id = 1000 + i;
	before.cq_head().prod = 4;
	EXPECT_EQ(fake.ops.poll_cq(cq, 1, wc.data()), 1);
	EXPECT_EQ(fake.ops.req_notify_cq(cq, 0), 0);

	fake.stride_error = 8;
	EXPECT_EQ(fake.ops.resize_cq(cq, 8), EPROTO) << "a ring that is too short";
	fake.stride_error = 0;
	fake.fail_switch = true;
	EXPECT_EQ(fake.ops.resize_cq(cq, 8), ENOMEM);
	EXPECT_EQ(cq->cqe, 4);
	EXPECT_EQ(fake.ops.poll_cq(cq, 1, wc.data()), 1) << "the old ring is in use still";
	fake.fail_switch = false;
	EXPECT_EQ(fake.ops.resize_cq(cq, 8), 0);
	EXPECT_EQ(cq->cqe, 8);

	Shared after{fd, fake.cq.ring_offset, fake.cq.ring_size};
	EXPECT_EQ(after.cq_head().arm, unsigned{KRDMA_SOFT_CQ_ARM_NEXT});
	after.entry<krdma_soft_cqe>(4).wr_id = 1004;
	after.cq_head().prod = 5;
	EXPECT_EQ(fake.ops.poll_cq(cq, 8, wc.data()), 3);
	for (std::uint32_t i = 0; i < 3; i++)
		EXPECT_EQ(wc[i].wr_id, 1002 + i);
	EXPECT_EQ(after.cq_head().cons, 5U);
}

TEST_F(Provider, AResizedSrqKeepsWhatIsPosted)
{
	ibv_srq_init_attr init{.srq_context = nullptr, .attr = {2, 1, 0}};
	ibv_srq *srq = fake.ops.create_srq(pd, &init);
	ASSERT_NE(srq, nullptr);
	ibv_recv_wr wr{};
	ibv_recv_wr *bad = nullptr;
	ibv_srq_attr attr{.max_wr = 4, .max_sge = 1, .srq_limit = 0};

	for (wr.wr_id = 0; wr.wr_id < 2; wr.wr_id++)
		EXPECT_EQ(fake.ops.post_srq_recv(srq, &wr, &bad), 0);
	EXPECT_EQ(fake.ops.post_srq_recv(srq, &wr, &bad), ENOMEM);
	EXPECT_EQ(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	EXPECT_EQ(fake.srq_masks, (std::vector<int>(2, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)))
		<< "the kernel knows the new limit at both steps";
	for (; wr.wr_id < 4; wr.wr_id++)
		EXPECT_EQ(fake.ops.post_srq_recv(srq, &wr, &bad), 0);
	EXPECT_EQ(fake.ops.post_srq_recv(srq, &wr, &bad), ENOMEM);

	Shared ring{fd, fake.srq.ring_offset, fake.srq.ring_size};
	EXPECT_EQ(ring.head().prod, 4U);
	for (std::uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(ring.entry<krdma_soft_rqe>(i, fake.srq.stride).wr_id, i);
	fake.fail = EINVAL;
	EXPECT_EQ(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	fake.fail = 0;
	EXPECT_EQ(fake.ops.destroy_srq(srq), 0);
}

TEST_F(WithQp, AResetQpLeavesNoCompletions)
{
	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};
	std::array<ibv_wc, 4> wc{};
	ibv_qp_attr attr{};

	for (std::uint32_t i = 0; i < 4; i++) {
		ring.entry<krdma_soft_cqe>(i).wr_id = i;
		ring.entry<krdma_soft_cqe>(i).qp_num = i % 2 ? qp->qp_num : qp->qp_num + 1;
	}
	ring.cq_head().prod = 4;
	attr.qp_state = IBV_QPS_ERR;
	EXPECT_EQ(fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
	EXPECT_EQ(ring.cq_head().cons, 0U);
	attr.qp_state = IBV_QPS_RESET;
	EXPECT_EQ(fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
	EXPECT_EQ(fake.ops.poll_cq(cq, 4, wc.data()), 2);
	EXPECT_EQ(wc[0].wr_id, 0U);
	EXPECT_EQ(wc[1].wr_id, 2U);
}

/* what a thread may do between the steps of its polling: all but poll otherwise */
TEST_F(WithQp, BetweenTheStepsOfPolling)
{
	ibv_cq_init_attr_ex init{};
	ibv_poll_cq_attr poll_attr{};
	ibv_qp_attr attr{};

	init.cqe = 8;
	for (const bool single_threaded : {false, true}) {
		init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		init.flags = single_threaded ? unsigned{IBV_CREATE_CQ_ATTR_SINGLE_THREADED} : 0U;
		ibv_cq_ex *ex = fake.ops.create_cq_ex(context, &init);
		ASSERT_NE(ex, nullptr);
		qp->send_cq = qp->recv_cq = ibv_cq_ex_to_cq(ex);
		auto ring = std::make_unique<Shared>(fd, fake.cq.ring_offset, fake.cq.ring_size);

		for (std::uint32_t i = 0; i < 6; i++) {
			ring->entry<krdma_soft_cqe>(i).wr_id = i;
			ring->entry<krdma_soft_cqe>(i).qp_num = qp->qp_num + i % 2;
		}
		ring->cq_head().prod = 6;
		ASSERT_EQ(ibv_start_poll(ex, &poll_attr), 0);
		EXPECT_EQ(ex->wr_id, 0U);
		ASSERT_EQ(ibv_next_poll(ex), 0);
		EXPECT_EQ(fake.ops.req_notify_cq(ibv_cq_ex_to_cq(ex), 0), 0);
		EXPECT_EQ(ring->cq_head().arm, unsigned{KRDMA_SOFT_CQ_ARM_NEXT});

		attr.qp_state = IBV_QPS_RESET;
		EXPECT_EQ(fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
		EXPECT_EQ(ex->wr_id, 1U);
		EXPECT_EQ(ibv_wc_read_qp_num(ex), qp->qp_num + 1) << "still the one it stands on";
		EXPECT_EQ(fake.ops.resize_cq(ibv_cq_ex_to_cq(ex), 16), 0);
		ring = std::make_unique<Shared>(fd, fake.cq.ring_offset, fake.cq.ring_size);
		EXPECT_EQ(ibv_wc_read_qp_num(ex), qp->qp_num + 1);

		/* 2 and 4 were the QP's */
		ASSERT_EQ(ibv_next_poll(ex), 0);
		EXPECT_EQ(ex->wr_id, 3U);
		ibv_end_poll(ex);
		EXPECT_EQ(ring->cq_head().cons, 5U);
		ASSERT_EQ(ibv_start_poll(ex, &poll_attr), 0);
		EXPECT_EQ(ex->wr_id, 5U);
		EXPECT_EQ(ibv_next_poll(ex), ENOENT);
		ibv_end_poll(ex);
		EXPECT_EQ(ring->cq_head().cons, 6U);
		qp->send_cq = qp->recv_cq = cq;
		EXPECT_EQ(fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	}
}

TEST_F(Provider, ResizesOneAfterTheOther)
{
	constexpr int rounds = 2000;
	std::array<ibv_wc, 1> wc{};
	const auto resizer = [&](int first) {
		for (int i = 0; i < rounds; i++)
			EXPECT_EQ(fake.ops.resize_cq(cq, (first + i) % 2 ? 8 : 4), 0);
	};

	fake.preparing = fake.out_of_order = 0;
	std::thread other{resizer, 0};
	resizer(1);
	other.join();
	EXPECT_EQ(fake.out_of_order, 0) << "a ring that took another one's place";

	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};
	ring.cq_head().prod++;
	EXPECT_EQ(fake.ops.poll_cq(cq, 1, wc.data()), 1) << "the ring that the kernel has";
}

TEST_F(Provider, Arming)
{
	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};

	EXPECT_EQ(fake.ops.req_notify_cq(cq, 1), 0);
	EXPECT_EQ(ring.cq_head().arm, unsigned{KRDMA_SOFT_CQ_ARM_SOLICITED});
	EXPECT_EQ(fake.ops.req_notify_cq(cq, 0), 0);
	EXPECT_EQ(ring.cq_head().arm, unsigned{KRDMA_SOFT_CQ_ARM_NEXT});
}

TEST_F(Provider, ExtendedPolling)
{
	ibv_cq_init_attr_ex attr{};
	ibv_poll_cq_attr poll_attr{};

	attr.cqe = 4;
	attr.wc_flags = IBV_WC_EX_WITH_FLOW_TAG;
	EXPECT_EQ(fake.ops.create_cq_ex(context, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	EXPECT_EQ(fake.ops.create_cq_ex(context, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	ibv_cq_ex *ex = fake.ops.create_cq_ex(context, &attr);
	ASSERT_NE(ex, nullptr);

	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};
	EXPECT_EQ(ibv_start_poll(ex, &poll_attr), ENOENT);
	for (std::uint32_t i = 0; i < 2; i++) {
		auto &cqe = ring.entry<krdma_soft_cqe>(i);

		cqe.wr_id = i + 1;
		cqe.status = i ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
		cqe.byte_len = 100 + i;
		cqe.qp_num = 42;
		cqe.opcode = IBV_WC_RECV;
		cqe.flags = i ? KRDMA_SOFT_WC_IMM : KRDMA_SOFT_WC_INVALIDATED;
		cqe.invalidated = 0xabc + i;
	}
	ring.cq_head().prod = 2;
	ASSERT_EQ(ibv_start_poll(ex, &poll_attr), 0);
	EXPECT_EQ(ex->wr_id, 1U);
	EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_byte_len(ex), 100U);
	EXPECT_EQ(ibv_wc_read_qp_num(ex), 42U);
	EXPECT_EQ(ibv_wc_read_wc_flags(ex), unsigned{IBV_WC_WITH_INV});
	EXPECT_EQ(ibv_wc_read_invalidated_rkey(ex), 0xabcU);
	ASSERT_EQ(ibv_next_poll(ex), 0);
	EXPECT_EQ(ex->wr_id, 2U);
	EXPECT_EQ(ex->status, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(ibv_wc_read_byte_len(ex), 101U);
	EXPECT_EQ(ibv_wc_read_wc_flags(ex), unsigned{IBV_WC_WITH_IMM});
	EXPECT_EQ(ibv_wc_read_imm_data(ex), 0xabdU);
	EXPECT_EQ(ibv_next_poll(ex), ENOENT);
	EXPECT_EQ(ring.cq_head().cons, 0U);
	ibv_end_poll(ex);
	EXPECT_EQ(ring.cq_head().cons, 2U);
	poll_attr.comp_mask = 1;
	EXPECT_EQ(ibv_start_poll(ex, &poll_attr), EINVAL);
	EXPECT_EQ(fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Provider, CompletionTimes)
{
	const int before = fake.live_objects;
	ibv_cq_init_attr_ex attr{};
	ibv_poll_cq_attr poll_attr{};

	attr.cqe = 4;
	attr.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	fake.no_stamps = true;
	EXPECT_EQ(fake.ops.create_cq_ex(context, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	fake.no_stamps = false;
	/* times that are not all in the mapping */
	fake.stride_error = 8;
	EXPECT_EQ(fake.ops.create_cq_ex(context, &attr), nullptr);
	EXPECT_EQ(errno, EPROTO);
	fake.stride_error = 0;
	EXPECT_EQ(fake.live_objects, before);

	ibv_cq_ex *ex = fake.ops.create_cq_ex(context, &attr);
	ASSERT_NE(ex, nullptr);
	Shared ring{fd, fake.cq.ring_offset, fake.cq.ring_size};
	auto *stamps = reinterpret_cast<krdma_soft_cq_stamp *>(
		reinterpret_cast<std::byte *>(&ring.cq_head()) + fake.cq.stamp_offset);

	for (std::uint32_t i = 0; i < 3; i++) {
		ring.entry<krdma_soft_cqe>(i).qp_num = i % 2 ? 42 : 43;
		stamps[i] = {.monotonic = 1000 + i, .real = 2000 + i};
	}
	ring.cq_head().prod = 3;
	/* the times of those that stay go with them */
	krdma::ours<krdma::Cq>(ex).queue.purge(42);
	ASSERT_EQ(ibv_start_poll(ex, &poll_attr), 0);
	EXPECT_EQ(ibv_wc_read_completion_ts(ex), 1000U);
	EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex), 2000U);
	ASSERT_EQ(ibv_next_poll(ex), 0);
	EXPECT_EQ(ibv_wc_read_completion_ts(ex), 1002U);
	EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex), 2002U);
	EXPECT_EQ(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	EXPECT_EQ(fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex)), 0);

	/* each is there only for the caller that asked for it */
	attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	ex = fake.ops.create_cq_ex(context, &attr);
	ASSERT_NE(ex, nullptr);
	EXPECT_NE(ex->read_completion_ts, nullptr);
	EXPECT_EQ(ex->read_completion_wallclock_ns, nullptr);
	EXPECT_EQ(fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Provider, RawClock)
{
	ibv_values_ex values{};

	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	ASSERT_EQ(fake.ops.query_rt_values(context, &values), 0);
	EXPECT_EQ(values.comp_mask, unsigned{IBV_VALUES_MASK_RAW_CLOCK});
	EXPECT_EQ(values.raw_clock.tv_sec, 0);
	const auto before = values.raw_clock.tv_nsec;
	EXPECT_GT(before, 0);
	ASSERT_EQ(fake.ops.query_rt_values(context, &values), 0);
	EXPECT_GE(values.raw_clock.tv_nsec, before);
	values.comp_mask = 2;
	EXPECT_EQ(fake.ops.query_rt_values(context, &values), EINVAL);
}

TEST_F(Provider, ImportedRegion)
{
	ibv_mr *mr = fake.ops.import_mr(pd, 5);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(mr->handle, 5U);
	EXPECT_EQ(mr->lkey, 0x100U);
	fake.ops.unimport_mr(mr);
	fake.fail = ENOENT;
	EXPECT_EQ(fake.ops.import_mr(pd, 6), nullptr);
	EXPECT_EQ(errno, ENOENT);
	/* the device file here is no ib_uverbs' */
	EXPECT_EQ(fake.ops.import_pd(context, 7), nullptr);
	EXPECT_EQ(errno, ENOTTY);
	fake.fail = 0;
}

class ExtendedPosting : public Provider {
protected:
	void SetUp() override
	{
		Provider::SetUp();
		ibv_qp_init_attr basic = qp_attr(4, 0);
		ibv_qp_init_attr_ex attr{};

		attr.send_cq = attr.recv_cq = cq;
		attr.cap = basic.cap;
		attr.qp_type = IBV_QPT_RC;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.pd = pd;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO;
		EXPECT_EQ(fake.ops.create_qp_ex(context, &attr), nullptr);
		EXPECT_EQ(errno, EOPNOTSUPP);
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV |
				      IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
				      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				      IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
		ibv_qp *base = fake.ops.create_qp_ex(context, &attr);
		ASSERT_NE(base, nullptr);
		EXPECT_TRUE(reinterpret_cast<verbs_qp *>(base)->comp_mask & VERBS_QP_EX);
		qp = reinterpret_cast<ibv_qp_ex *>(base);
		ring = std::make_unique<Shared>(fd, fake.qp.sq_offset, fake.qp.sq_size);
	}

	void TearDown() override
	{
		EXPECT_EQ(fake.ops.destroy_qp(&qp->qp_base), 0);
		Provider::TearDown();
	}

	krdma_soft_sqe &sqe(std::uint32_t n)
	{
		return ring->entry<krdma_soft_sqe>(n, fake.qp.sq_stride);
	}

	ibv_qp_ex *qp{};
	std::unique_ptr<Shared> ring;
};

TEST_F(ExtendedPosting, AllKindsInOneBatch)
{
	const std::array<ibv_sge, 2> sges{{{0x1000, 10, 1}, {0x2000, 20, 2}}};
	std::array<char, 3> a{'a', 'b', 'c'};
	std::array<char, 2> b{'d', 'e'};
	const std::array<ibv_data_buf, 2> bufs{{{a.data(), a.size()}, {b.data(), b.size()}}};

	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 9, 0x3000, 30);
	qp->wr_id = 2;
	qp->wr_flags = 0;
	ibv_wr_send_inv(qp, 0x111);
	ibv_wr_set_inline_data_list(qp, bufs.size(), bufs.data());
	qp->wr_id = 3;
	ibv_wr_rdma_write(qp, 0x22, 0x222);
	ibv_wr_set_inline_data(qp, b.data(), b.size());
	qp->wr_id = 4;
	qp->wr_flags = IBV_SEND_FENCE;
	ibv_wr_rdma_read(qp, 0x33, 0x333);
	ibv_wr_set_sge_list(qp, sges.size(), sges.data());
	EXPECT_EQ(ring->head().prod, 0U);
	ring->head().flags = KRDMA_SOFT_RING_DOORBELL;
	ASSERT_EQ(ibv_wr_complete(qp), 0);
	EXPECT_EQ(ring->head().prod, 4U);
	EXPECT_EQ(FakeKernel::doorbells(fd), 1);

	EXPECT_EQ(sqe(0).opcode, KRDMA_SOFT_OP_SEND);
	EXPECT_EQ(sqe(0).wr_id, 1U);
	EXPECT_EQ(sqe(0).flags, KRDMA_SOFT_WQE_SIGNALED);
	ASSERT_EQ(sqe(0).num_sge, 1);
	EXPECT_EQ(sqe(0).sge[0].addr, 0x3000U);
	EXPECT_EQ(sqe(0).sge[0].lkey, 9U);
	EXPECT_EQ(sqe(1).opcode, KRDMA_SOFT_OP_SEND_INV);
	EXPECT_EQ(sqe(1).invalidate, 0x111U);
	EXPECT_EQ(sqe(1).flags, KRDMA_SOFT_WQE_INLINE);
	EXPECT_EQ(std::string_view(reinterpret_cast<char *>(sqe(1).sge), sqe(1).length), "abcde");
	EXPECT_EQ(sqe(2).opcode, KRDMA_SOFT_OP_WRITE);
	EXPECT_EQ(sqe(2).rkey, 0x22U);
	EXPECT_EQ(sqe(2).raddr, 0x222U);
	EXPECT_EQ(std::string_view(reinterpret_cast<char *>(sqe(2).sge), sqe(2).length), "de");
	EXPECT_EQ(sqe(3).opcode, KRDMA_SOFT_OP_READ);
	EXPECT_EQ(sqe(3).flags, KRDMA_SOFT_WQE_FENCE);
	ASSERT_EQ(sqe(3).num_sge, 2);
	EXPECT_EQ(std::memcmp(sqe(3).sge, sges.data(), sizeof(sges)), 0);
}

TEST_F(ExtendedPosting, ImmediateDataAndAtomicOperations)
{
	std::array<char, 2> data{'d', 'e'};

	ibv_wr_start(qp);
	ibv_wr_send_imm(qp, 0x04030201);
	ibv_wr_set_inline_data(qp, data.data(), data.size());
	ibv_wr_rdma_write_imm(qp, 0x22, 0x222, 0x08070605);
	ibv_wr_set_sge(qp, 9, 0x3000, 30);
	ibv_wr_atomic_fetch_add(qp, 0x33, 0x338, 5);
	ibv_wr_set_sge(qp, 9, 0x3000, 8);
	ibv_wr_atomic_cmp_swp(qp, 0x44, 0x440, 7, 8);
	ibv_wr_set_sge(qp, 9, 0x3008, 8);
	ASSERT_EQ(ibv_wr_complete(qp), 0);
	EXPECT_EQ(sqe(0).opcode, KRDMA_SOFT_OP_SEND_IMM);
	EXPECT_EQ(sqe(0).imm, 0x04030201U);
	EXPECT_EQ(sqe(1).opcode, KRDMA_SOFT_OP_WRITE_IMM);
	EXPECT_EQ(sqe(1).imm, 0x08070605U);
	EXPECT_EQ(sqe(1).rkey, 0x22U);
	EXPECT_EQ(sqe(1).raddr, 0x222U);
	EXPECT_EQ(sqe(2).opcode, KRDMA_SOFT_OP_FETCH_ADD);
	EXPECT_EQ(sqe(2).raddr, 0x338U);
	EXPECT_EQ(sqe(2).atomic.swap_add, 5U);
	EXPECT_EQ(sqe(2).atomic.swap_add_mask, 0U);
	EXPECT_EQ(sqe(3).opcode, KRDMA_SOFT_OP_CMP_SWAP);
	EXPECT_EQ(sqe(3).rkey, 0x44U);
	EXPECT_EQ(sqe(3).atomic.compare, 7U);
	EXPECT_EQ(sqe(3).atomic.swap_add, 8U);
	EXPECT_EQ(sqe(3).atomic.compare_mask, UINT64_MAX);
}

TEST_F(ExtendedPosting, TheResultOfAnAtomicOperationHasEightOctetsInOnePiece)
{
	const std::array<ibv_sge, 2> sges{{{0x1000, 8, 1}, {0x2000, 0, 2}}};
	std::array<char, 8> data{};

	ibv_wr_start(qp);
	ibv_wr_atomic_fetch_add(qp, 1, 8, 5);
	ibv_wr_set_sge(qp, 9, 0x3000, 7);
	EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
	ibv_wr_start(qp);
	ibv_wr_atomic_cmp_swp(qp, 1, 8, 5, 6);
	ibv_wr_set_sge_list(qp, sges.size(), sges.data());
	EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
	ibv_wr_start(qp);
	ibv_wr_atomic_cmp_swp(qp, 1, 8, 5, 6);
	ibv_wr_set_inline_data(qp, data.data(), data.size());
	EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
	EXPECT_EQ(ring->head().prod, 0U);
}

TEST_F(ExtendedPosting, AnErrorOrAbortPostsNothing)
{
	std::array<char, 100> data{};

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 1, 2, 3);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, data.data(), data.size());
	ibv_wr_send(qp);
	EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
	EXPECT_EQ(ring->head().prod, 0U);

	ibv_wr_start(qp);
	for (int i = 0; i < 5; i++) {
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, 1, 2, 3);
	}
	EXPECT_EQ(ibv_wr_complete(qp), ENOMEM);
	EXPECT_EQ(ring->head().prod, 0U);

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_abort(qp);
	EXPECT_EQ(ring->head().prod, 0U);

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	EXPECT_EQ(ibv_wr_complete(qp), 0);
	EXPECT_EQ(ring->head().prod, 1U);

	ring->head().flags = KRDMA_SOFT_RING_DEAD;
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	EXPECT_EQ(ibv_wr_complete(qp), EIO);
}

} /* namespace */
