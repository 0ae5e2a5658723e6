/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What libkrdma does without functions that a user library lacks; the libraries are fake_uvp.c's.
 */
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include <krdma/krdma.hpp>

#include "fake_kernel.hpp"

namespace {

using namespace krdma;

class UserLibraries : public testing::Test {
protected:
	void SetUp() override
	{
		const std::string folder =
			std::filesystem::path{KRDMA_UVP_DIR}.parent_path() / "uvp_fake";

		ASSERT_EQ(setenv("KRDMA_UVP_DIR", folder.c_str(), 1), 0);
	}

	void TearDown() override
	{
		unsetenv("KRDMA_UVP_DIR");
		EXPECT_EQ(kernel->objects(), 0U);
	}

	Context context_of(const char *library)
	{
		kernel->user_library = library;
		return Context{session.find("krdma0")};
	}

	/* why it is not used */
	std::string refusal_of(const char *library)
	{
		const Context context = context_of(library);

		EXPECT_FALSE(context.fast()) << library;
		return context.why_slow();
	}

	std::shared_ptr<FakeKernel> kernel = std::make_shared<FakeKernel>();
	Session session{kernel};
};

TEST_F(UserLibraries, WhatMayBeMissing)
{
	const Context context = context_of("gaps.so");
	ASSERT_TRUE(context.fast()) << context.why_slow();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	std::uint32_t state = ~0U;
	std::uint32_t moderation = 0;

	/* the rings are the library's: no other code can do it */
	EXPECT_EQ(code_of([&] { cq.resize(512); }), EOPNOTSUPP);
	EXPECT_EQ(code_of([&] { const SharedReceiveQueue srq{pd}; }), EOPNOTSUPP);
	EXPECT_EQ(code_of([&] {
			  const CompletionQueue timed{context, {.times = true}};
		  }),
		  EOPNOTSUPP);
	/* the kernel can */
	kernel->handlers[KRDMA_IOC_QP_MODIFY] = [&](void *argument) {
		state = static_cast<krdma_qp_attr *>(argument)->state;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_CQ_MODIFY] = [&](void *argument) {
		moderation = static_cast<krdma_cq_modify *>(argument)->mask;
		return 0;
	};
	qp.change_state(QueueState::error);
	EXPECT_EQ(state, std::uint32_t{KRDMA_QP_STATE_ERR});
	cq.moderate(8, 100);
	EXPECT_EQ(moderation, KRDMA_CQ_MODERATION);
	EXPECT_EQ(code_of([&] { qp.send(1, {}); }), ENOMEM) << "the library's word";
}

TEST_F(UserLibraries, ObjectsOfItsOwn)
{
	const Context context = context_of("objects.so");
	ASSERT_TRUE(context.fast()) << context.why_slow();
	std::uint32_t handle = 4711;
	std::vector<std::uint32_t> private_octets, domains;
	std::uint32_t rights = 0;
	const auto seen = [&](const krdma_private &priv) {
		private_octets.push_back(
			priv.in_len == 4 ? *reinterpret_cast<const std::uint32_t *>(priv.in) : 0);
	};

	kernel->handlers[KRDMA_IOC_PD] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_pd *>(argument);

		seen(cmd.priv);
		cmd.handle = handle++;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_MR] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_mr *>(argument);

		seen(cmd.priv);
		domains.push_back(cmd.pd);
		cmd.handle = handle++;
		cmd.stag = 0x1700;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_MW] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_mw *>(argument);

		domains.push_back(cmd.pd);
		cmd.handle = handle++;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_MR_REREGISTER] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_mr_reregister *>(argument);

		EXPECT_EQ(cmd.handle, 4712U);
		rights = cmd.access;
		cmd.stag = 0x1701;
		return 0;
	};
	std::vector<std::uint32_t> ended;

	kernel->handlers[KRDMA_IOC_DESTROY] = [&](void *argument) {
		ended.push_back(static_cast<krdma_destroy *>(argument)->handle);
		return 0;
	};
	{
		const ProtectionDomain pd{context};
		std::array<std::byte, 64> memory{};
		const MemoryRegion region{pd, memory, access::local_write};
		const MemoryWindow window{pd, 2};

		EXPECT_EQ(region.stag(), 0x1700U);
		region.change_access(access::local_write);
		EXPECT_EQ(region.stag(), 0x1701U);
		EXPECT_EQ(rights, access::local_write | access::remote_read) << "not by it";
		EXPECT_EQ(window.handle(), 4713U);
	}
	EXPECT_EQ(private_octets, (std::vector<std::uint32_t>{0x5eed, 0x5eed}));
	EXPECT_EQ(domains, (std::vector<std::uint32_t>{4711, 4711}));
	EXPECT_EQ(ended, (std::vector<std::uint32_t>{4713, 4712, 4711})) << "each once, in order";
	kernel->handlers.clear();
}

TEST_F(UserLibraries, WhatTheKernelNeedsIsDestroyedLater)
{
	std::optional<Context> context{context_of("objects.so")};
	ASSERT_TRUE(context->fast()) << context->why_slow();
	std::array<std::byte, 64> memory{};
	std::optional<ProtectionDomain> pd{*context};
	std::optional<MemoryWindow> window{std::in_place, *pd, 1};
	{
		const MemoryRegion region{*pd, memory, access::window_bind};

		kernel->need(window->handle(), region.handle());
	}
	/* by the library, which has forgotten it */
	context.reset();
	pd.reset();
	EXPECT_EQ(kernel->objects(), 4U);
	window.reset();
	EXPECT_EQ(kernel->objects(), 0U);
}

TEST_F(UserLibraries, WhatMayNotBeMissing)
{
	EXPECT_NE(refusal_of("half-mr.so").find("lacks functions"), std::string::npos);

	EXPECT_NE(refusal_of("no-receive.so").find("lacks functions"), std::string::npos);
	EXPECT_NE(refusal_of("half-srq.so").find("lacks functions"), std::string::npos);
	EXPECT_NE(refusal_of("short.so").find("lacks functions"), std::string::npos)
		<< "behind its size is nothing";
}

TEST_F(UserLibraries, AnotherVersionIsNotUsed)
{
	EXPECT_NE(refusal_of("version.so").find("another version of libkrdma"), std::string::npos);
}

} /* namespace */
