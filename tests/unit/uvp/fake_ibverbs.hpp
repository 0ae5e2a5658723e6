/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * libibverbs and the kernel below it, as far as the provider calls them, for
 * provider_test. The device file is a memfd: rings lie in it, and what the
 * provider write()s moves its file position, which counts doorbells.
 */
#ifndef KRDMA_FAKE_IBVERBS_HPP
#define KRDMA_FAKE_IBVERBS_HPP

#include <atomic>
#include <cstdint>
#include <vector>

#include <krdma/soft-abi.h>

#include "verbs_abi.hpp"

/** struct FakeKernel - what the next calls answer, and what the last ones did */
struct FakeKernel {
	const verbs_device_ops *device_ops; /* as registered */
	verbs_context_ops ops;

	int fail; /* errno of every following command */
	std::uint32_t abi_version = KRDMA_SOFT_ABI_VERSION;
	std::uint32_t poll_yield;      /* as the kernel says */
	int yields;                    /* calls of sched_yield() */
	bool fail_switch;              /* the second step of a resize fails */
	std::atomic<int> preparing;    /* resizes of CQs between their steps */
	std::atomic<int> out_of_order; /* that began between those of another */
	bool no_stamps;                /* a CQ has no times, whatever was asked for */
	bool rings_apart;              /* a QP's are not in one piece of memory */
	std::uint32_t room_error;      /* bytes that the receive ring claims behind its memory */
	std::uint32_t stride_error;    /* bytes that a reported stride lacks */

	int slow_doorbells;            /* by libibverbs, which makes an ioctl() */
	std::uint32_t doorbell_handle; /* of the last one */
	std::vector<int> srq_masks;    /* of modify_srq, of each step */
	int live_objects;
	std::uint64_t next_offset;
	krdma_soft_cq_resp cq;
	krdma_soft_cq_resp next_cq; /* made by the first step of a resize */
	krdma_soft_srq_resp srq;
	krdma_soft_srq_resp next_srq;
	krdma_soft_qp_resp qp;
	std::uint64_t reg_mr_iova;
	int reg_mr_fd;
	std::uint32_t rereg_mr_flags;

	/* a second mapping of a ring, for the kernel's side of it */
	[[nodiscard]] static void *map(int fd, std::uint64_t offset, std::uint64_t size);
	[[nodiscard]] static int doorbells(int fd);
	[[nodiscard]] static int make_device_file();
};

extern FakeKernel fake;

#endif /* KRDMA_FAKE_IBVERBS_HPP */
