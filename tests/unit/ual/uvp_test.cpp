/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What libkrdma does without functions that a user library lacks; the libraries are fake_uvp.c's.
 */
#include <cstdlib>
#include <filesystem>

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

	/* the rings are the library's: nobody else can do it */
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

TEST_F(UserLibraries, WhatMayNotBeMissing)
{

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
