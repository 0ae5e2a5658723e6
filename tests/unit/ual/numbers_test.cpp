/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The numbers of krdma-abi.h are those of libibverbs and of the kernel's own verbs ABI:
 * a provider's bytes reach a program of either without translation. Names of statuses and
 * events are libkrdma's own.
 */
#include <bit>
#include <string>

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include <krdma/krdma.hpp>

namespace {

constexpr bool same(unsigned int ours, unsigned int theirs) noexcept
{
	return ours == theirs;
}

/* KRDMA_(ours)name and (theirs)name are one number */
#define SAME(ours, theirs, name) static_assert(same(KRDMA_##ours##name, theirs##name))

SAME(ACCESS_, IB_UVERBS_ACCESS_, LOCAL_WRITE);
SAME(ACCESS_, IB_UVERBS_ACCESS_, REMOTE_WRITE);
SAME(ACCESS_, IB_UVERBS_ACCESS_, REMOTE_READ);
SAME(ACCESS_, IB_UVERBS_ACCESS_, REMOTE_ATOMIC);
SAME(ACCESS_, IB_UVERBS_ACCESS_, MW_BIND);
SAME(ACCESS_, IB_UVERBS_ACCESS_, ZERO_BASED);
SAME(ACCESS_, IBV_ACCESS_, LOCAL_WRITE);
SAME(ACCESS_, IBV_ACCESS_, REMOTE_WRITE);
SAME(ACCESS_, IBV_ACCESS_, REMOTE_READ);
SAME(ACCESS_, IBV_ACCESS_, REMOTE_ATOMIC);
SAME(ACCESS_, IBV_ACCESS_, MW_BIND);
SAME(ACCESS_, IBV_ACCESS_, ZERO_BASED);

SAME(WR_, IB_UVERBS_WR_, RDMA_WRITE);
SAME(WR_, IB_UVERBS_WR_, RDMA_WRITE_WITH_IMM);
SAME(WR_, IB_UVERBS_WR_, SEND);
SAME(WR_, IB_UVERBS_WR_, SEND_WITH_IMM);
SAME(WR_, IB_UVERBS_WR_, RDMA_READ);
SAME(WR_, IB_UVERBS_WR_, ATOMIC_CMP_AND_SWP);
SAME(WR_, IB_UVERBS_WR_, ATOMIC_FETCH_AND_ADD);
SAME(WR_, IB_UVERBS_WR_, LOCAL_INV);
SAME(WR_, IB_UVERBS_WR_, BIND_MW);
SAME(WR_, IB_UVERBS_WR_, SEND_WITH_INV);

/* receives are libibverbs' alone */
SAME(WC_, IBV_WC_, SEND);
SAME(WC_, IBV_WC_, RDMA_WRITE);
SAME(WC_, IBV_WC_, RDMA_READ);
SAME(WC_, IBV_WC_, COMP_SWAP);
SAME(WC_, IBV_WC_, FETCH_ADD);
SAME(WC_, IBV_WC_, BIND_MW);
SAME(WC_, IBV_WC_, LOCAL_INV);
SAME(WC_, IBV_WC_, RECV);
SAME(WC_, IBV_WC_, RECV_RDMA_WITH_IMM);
SAME(WC_, IBV_WC_, WITH_IMM);
SAME(WC_, IBV_WC_, WITH_INV);
static_assert(same(KRDMA_WC_BIND_MW, IB_UVERBS_WC_BIND_MW));
static_assert(same(KRDMA_WC_LOCAL_INV, IB_UVERBS_WC_LOCAL_INV));

SAME(STATUS_, IBV_WC_, SUCCESS);
SAME(STATUS_, IBV_WC_, LOC_LEN_ERR);
SAME(STATUS_, IBV_WC_, LOC_QP_OP_ERR);
SAME(STATUS_, IBV_WC_, LOC_EEC_OP_ERR);
SAME(STATUS_, IBV_WC_, LOC_PROT_ERR);
SAME(STATUS_, IBV_WC_, WR_FLUSH_ERR);
SAME(STATUS_, IBV_WC_, MW_BIND_ERR);
SAME(STATUS_, IBV_WC_, BAD_RESP_ERR);
SAME(STATUS_, IBV_WC_, LOC_ACCESS_ERR);
SAME(STATUS_, IBV_WC_, REM_INV_REQ_ERR);
SAME(STATUS_, IBV_WC_, REM_ACCESS_ERR);
SAME(STATUS_, IBV_WC_, REM_OP_ERR);
SAME(STATUS_, IBV_WC_, RETRY_EXC_ERR);
SAME(STATUS_, IBV_WC_, RNR_RETRY_EXC_ERR);
SAME(STATUS_, IBV_WC_, LOC_RDD_VIOL_ERR);
SAME(STATUS_, IBV_WC_, REM_INV_RD_REQ_ERR);
SAME(STATUS_, IBV_WC_, REM_ABORT_ERR);
SAME(STATUS_, IBV_WC_, INV_EECN_ERR);
SAME(STATUS_, IBV_WC_, INV_EEC_STATE_ERR);
SAME(STATUS_, IBV_WC_, FATAL_ERR);
SAME(STATUS_, IBV_WC_, RESP_TIMEOUT_ERR);
SAME(STATUS_, IBV_WC_, GENERAL_ERR);

SAME(QP_STATE_, IBV_QPS_, RESET);
SAME(QP_STATE_, IBV_QPS_, INIT);
SAME(QP_STATE_, IBV_QPS_, RTR);
SAME(QP_STATE_, IBV_QPS_, RTS);
SAME(QP_STATE_, IBV_QPS_, SQD);
SAME(QP_STATE_, IBV_QPS_, SQE);
SAME(QP_STATE_, IBV_QPS_, ERR);

SAME(ASYNC_, IBV_EVENT_, CQ_ERR);
SAME(ASYNC_, IBV_EVENT_, QP_FATAL);
SAME(ASYNC_, IBV_EVENT_, QP_REQ_ERR);
SAME(ASYNC_, IBV_EVENT_, QP_ACCESS_ERR);
SAME(ASYNC_, IBV_EVENT_, COMM_EST);
SAME(ASYNC_, IBV_EVENT_, SQ_DRAINED);
SAME(ASYNC_, IBV_EVENT_, PATH_MIG);
SAME(ASYNC_, IBV_EVENT_, PATH_MIG_ERR);
SAME(ASYNC_, IBV_EVENT_, DEVICE_FATAL);
SAME(ASYNC_, IBV_EVENT_, PORT_ACTIVE);
SAME(ASYNC_, IBV_EVENT_, PORT_ERR);
SAME(ASYNC_, IBV_EVENT_, LID_CHANGE);
SAME(ASYNC_, IBV_EVENT_, PKEY_CHANGE);
SAME(ASYNC_, IBV_EVENT_, SM_CHANGE);
SAME(ASYNC_, IBV_EVENT_, SRQ_ERR);
SAME(ASYNC_, IBV_EVENT_, SRQ_LIMIT_REACHED);
SAME(ASYNC_, IBV_EVENT_, QP_LAST_WQE_REACHED);
SAME(ASYNC_, IBV_EVENT_, CLIENT_REREGISTER);
SAME(ASYNC_, IBV_EVENT_, GID_CHANGE);
SAME(ASYNC_, IBV_EVENT_, WQ_FATAL);

TEST(Numbers, NamesAreOfTheSameNumbers)
{
	using krdma::async_name;
	const auto text = [](std::uint32_t status) {
		krdma_wc raw{};

		raw.status = status;
		return std::string{std::bit_cast<krdma::Completion>(raw).status_text()};
	};

	EXPECT_EQ(text(KRDMA_STATUS_SUCCESS), "success");
	EXPECT_EQ(text(KRDMA_STATUS_REM_ACCESS_ERR), "remote access error");
	EXPECT_EQ(text(KRDMA_STATUS_GENERAL_ERR), "general error");
	EXPECT_EQ(text(KRDMA_STATUS_GENERAL_ERR + 1), "unknown status");
	EXPECT_EQ(async_name(KRDMA_ASYNC_CQ_ERR), "cq-error");
	EXPECT_EQ(async_name(KRDMA_ASYNC_SRQ_LIMIT_REACHED), "srq-limit-reached");
	EXPECT_EQ(async_name(KRDMA_ASYNC_WQ_FATAL), "wq-fatal");
	EXPECT_EQ(async_name(KRDMA_ASYNC_WQ_FATAL + 1), "async-20");
}

TEST(Numbers, AnEventHasACodeOnlyIfItIsAsynchronous)
{
	krdma::Event event{};

	event.type = KRDMA_EVENT_ASYNC;
	event.code = KRDMA_ASYNC_DEVICE_FATAL;
	EXPECT_EQ(event.async(), krdma::AsyncCode::device_fatal);
	event.type = KRDMA_EVENT_NET;
	EXPECT_FALSE(event.async());
}

} /* namespace */
