/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * verbs_abi.hpp against the installed libibverbs: the library itself copies the table of verbs and
 * reads a QP, and shows by that where it believes the members to be.
 */
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "verbs_abi.hpp"

namespace {

constexpr std::size_t op_count = sizeof(verbs_context_ops) / sizeof(void *);
/* what is behind the table */
constexpr std::uintptr_t beyond = 0xbe0d;

class Copied : public testing::Test {
protected:
	Copied()
	{
		for (std::size_t i = 0; i < op_count; i++)
			table[i] = i + 1;
		for (std::size_t i = op_count; i < std::size(table); i++)
			table[i] = beyond;
		context()->priv = reinterpret_cast<verbs_ex_private *>(hidden);
		verbs_set_ops(context(), reinterpret_cast<const verbs_context_ops *>(table));
	}

	[[nodiscard]] verbs_context *context()
	{
		return reinterpret_cast<verbs_context *>(bytes);
	}

	/* what the library has copied of a verb, and what it is in the table */
	template <typename Op> static std::uintptr_t number(Op op)
	{
		return reinterpret_cast<std::uintptr_t>(op);
	}
	template <typename T> static std::uintptr_t nth(T verbs_context_ops::*member)
	{
		static const verbs_context_ops ops{};

		return (reinterpret_cast<const char *>(&(ops.*member)) -
			reinterpret_cast<const char *>(&ops)) /
			       sizeof(void *) +
		       1;
	}

	std::uintptr_t table[op_count + 64];
	/* the library's own part, which also has room for a larger table */
	std::uintptr_t hidden[1024]{};
	alignas(16) unsigned char bytes[sizeof(verbs_context) + 64]{};
};

TEST_F(Copied, VerbsAreWhereTheLibraryHasThem)
{
	const ibv_context_ops &ops = context()->context.ops;

	EXPECT_EQ(number(context()->advise_mr), nth(&verbs_context_ops::advise_mr));
	EXPECT_EQ(number(context()->alloc_dm), nth(&verbs_context_ops::alloc_dm));
	EXPECT_EQ(number(context()->alloc_td), nth(&verbs_context_ops::alloc_td));
	EXPECT_EQ(number(context()->create_counters), nth(&verbs_context_ops::create_counters));
	EXPECT_EQ(number(context()->create_wq), nth(&verbs_context_ops::create_wq));
	EXPECT_EQ(number(context()->destroy_wq), nth(&verbs_context_ops::destroy_wq));
	EXPECT_EQ(number(context()->free_dm), nth(&verbs_context_ops::free_dm));
	EXPECT_EQ(number(context()->modify_cq), nth(&verbs_context_ops::modify_cq));
	EXPECT_EQ(number(ops.poll_cq), nth(&verbs_context_ops::poll_cq));
	EXPECT_EQ(number(ops.post_recv), nth(&verbs_context_ops::post_recv));
	EXPECT_EQ(number(ops.post_send), nth(&verbs_context_ops::post_send));
	EXPECT_EQ(number(ops.post_srq_recv), nth(&verbs_context_ops::post_srq_recv));
	EXPECT_EQ(number(context()->query_rt_values), nth(&verbs_context_ops::query_rt_values));
	EXPECT_EQ(number(context()->reg_dm_mr), nth(&verbs_context_ops::reg_dm_mr));
	EXPECT_EQ(number(ops.req_notify_cq), nth(&verbs_context_ops::req_notify_cq));
}

TEST_F(Copied, TheTableIsNoLongerAndNoShorter)
{
	bool last = false;

	for (const std::uintptr_t word : hidden) {
		last |= word == op_count;
		EXPECT_NE(word, beyond) << "the library has more verbs";
	}
	EXPECT_TRUE(last) << "the library has fewer verbs";
	for (std::size_t i = sizeof(verbs_context); i < sizeof(bytes); i++)
		EXPECT_EQ(bytes[i], 0) << "the library's context is larger";
}

TEST(Layout, ExtendedQp)
{
	/* members behind it that could be taken for it are 0 */
	struct {
		verbs_qp qp;
		std::uint64_t rest[8];
	} object{};

	EXPECT_EQ(ibv_qp_to_qp_ex(&object.qp.qp), nullptr);
	object.qp.comp_mask = VERBS_QP_EX;
	EXPECT_EQ(ibv_qp_to_qp_ex(&object.qp.qp), &object.qp.qp_ex);
}

} /* namespace */
