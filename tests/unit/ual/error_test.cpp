/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Causes of errors: their words, and the records of a kernel that reports them or does not. */
#include <array>
#include <set>
#include <type_traits>

#include <gtest/gtest.h>

#include <krdma/krdma.hpp>
#include <krdma/ual.h>

#include "fake_kernel.hpp"

namespace {

using namespace krdma;

std::string words(Cause cause, std::uint64_t value = 0, Unit unit = KRDMA_UNIT_NONE)
{
	return cause_text({EINVAL, cause, unit, 0, value});
}

TEST(Cause, HasWords)
{
	EXPECT_EQ(words(KRDMA_CAUSE_NONE), "");
	EXPECT_EQ(words(KRDMA_CAUSE_MAX_QP, 1024), "the RNIC allows 1,024 queue pairs");
	EXPECT_EQ(words(KRDMA_CAUSE_MAX_QP, 1), "the RNIC allows 1 queue pair");
	EXPECT_EQ(words(KRDMA_CAUSE_MAX_MR_SIZE, 1234567),
		  "the RNIC allows 1,234,567 bytes in a region");
	EXPECT_EQ(words(KRDMA_CAUSE_MEMLOCK, 65536),
		  "`ulimit -l` (64 KiB) is too small for the memory to lock");
	EXPECT_EQ(words(KRDMA_CAUSE_MEMLOCK, 0),
		  "`ulimit -l` (0 KiB) is too small for the memory to lock");
	EXPECT_EQ(words(KRDMA_CAUSE_FILE_PORTS, 999),
		  "a session may have 999 reserved ports (parameter file_ports of krdma)");
	EXPECT_EQ(words(KRDMA_CAUSE_ACCESS, KRDMA_ACCESS_REMOTE_READ | 1U << 31),
		  "these rights cannot be given: remote read, 0x80000000");
	EXPECT_EQ(words(KRDMA_CAUSE_QP_STATE, KRDMA_QP_STATE_ERR),
		  "the state of the queue pair is error (its connection has ended)");
	EXPECT_EQ(words(KRDMA_CAUSE_QP_STATE, 77), "the state of the queue pair is unknown");
	EXPECT_EQ(words(KRDMA_CAUSE_IN_USE, 1), "1 other object needs it");
	EXPECT_EQ(words(KRDMA_CAUSE_NO_RNIC_THERE, 1), "there is no RNIC on lo");
	EXPECT_EQ(words(KRDMA_CAUSE_NO_RNIC, 4, KRDMA_UNIT_RNIC), "no RNIC has the index 4");
	EXPECT_EQ(words(KRDMA_CAUSE_PORT_USED, 0), "no port is free");
	/* each cause has its own; a newer kernel's has none */
	std::set<std::string> all;
	for (std::uint32_t cause = 1; cause <= KRDMA_CAUSE_NEEDS_GROUP; cause++)
		EXPECT_TRUE(all.insert(words(static_cast<Cause>(cause), 3)).second) << cause;
	EXPECT_FALSE(all.contains(""));
	EXPECT_EQ(words(static_cast<Cause>(KRDMA_CAUSE_NEEDS_GROUP + 1), 3), "");
}

TEST(Cause, ErrorsCarryIt)
{
	static_assert(std::is_nothrow_copy_constructible_v<Error>);
	const Error error{
		ENOMEM, "queue pair", {ENOMEM, KRDMA_CAUSE_MAX_QP, KRDMA_UNIT_COUNT, 0, 64}};
	Error copy{EINVAL, "another"};
	copy = error;

	EXPECT_STREQ(copy.what(),
		     "queue pair: Cannot allocate memory (the RNIC allows 64 queue pairs)");
	EXPECT_EQ(copy.reason(), "the RNIC allows 64 queue pairs");
	EXPECT_EQ(copy.cause(), KRDMA_CAUSE_MAX_QP);
	EXPECT_EQ(copy.value(), 64U);
	EXPECT_EQ(copy.unit(), KRDMA_UNIT_COUNT);
	EXPECT_EQ(copy.code(), std::error_code(ENOMEM, std::generic_category()));
	EXPECT_STREQ((Error{EINVAL, "cq"}.what()), "cq: Invalid argument");
	EXPECT_STREQ((Error{EINVAL, "cq", {}, "so it is"}.what()),
		     "cq: Invalid argument (so it is)");
}

TEST(Cause, TerminatesHaveWords)
{
	EXPECT_EQ(terminate_text(0), "");
	EXPECT_EQ(terminate_text(0x1101), "DDP: the range is outside the memory");
	EXPECT_EQ(terminate_text(0x1205), "DDP: the message is longer than the receive");
	EXPECT_EQ(terminate_text(0xabcd), "code 0xabcd");
}

class Kernels : public testing::Test {
protected:
	std::shared_ptr<FakeKernel> kernel = std::make_shared<FakeKernel>();
	Session session{kernel};

	/* what it throws */
	template <typename Action> static Error error_of(const Action &action)
	{
		try {
			action();
		} catch (const Error &error) {
			return error;
		}
		return Error{0, "nothing"};
	}

	void refuse_queue_pairs()
	{
		kernel->handlers[KRDMA_IOC_QP] = [](void *) { return ENOMEM; };
		kernel->refusal = {0, KRDMA_CAUSE_MAX_QP, KRDMA_UNIT_COUNT, 0, 7};
	}
};

TEST_F(Kernels, TellTheCause)
{
	const Context context{session.find("krdma0"), {.slow = true}};
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};

	refuse_queue_pairs();
	const Error error = error_of([&] { const QueuePair qp{pd, cq, cq}; });
	EXPECT_EQ(error.code().value(), ENOMEM);
	EXPECT_EQ(error.cause(), KRDMA_CAUSE_MAX_QP);
	EXPECT_EQ(error.value(), 7U);
	/* an error of the library's own has no part of it */
	EXPECT_EQ(error_of([] { (void)Address::parse("x"); }).cause(), KRDMA_CAUSE_NONE);
	EXPECT_TRUE(kernel->tells);
}

TEST_F(Kernels, OfAnOlderVersionAreAskedOnce)
{
	kernel->tells = false;
	const Context context{session.find("krdma0"), {.slow = true}};
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};

	refuse_queue_pairs();
	const Error error = error_of([&] { const QueuePair qp{pd, cq, cq}; });
	EXPECT_EQ(error.code().value(), ENOMEM);
	EXPECT_EQ(error.cause(), KRDMA_CAUSE_NONE);
	EXPECT_STREQ(error.what(), "queue pair: Cannot allocate memory");
	EXPECT_EQ(kernel->calls, 1U);
}

TEST_F(Kernels, DoNotTellTheDataPath)
{
	const Context context{session.find("krdma0"), {.slow = true}};
	const CompletionQueue cq{context};
	std::array<Completion, 4> room;

	kernel->handlers[KRDMA_IOC_CQ_POLL] = [](void *argument) {
		static_cast<krdma_cq_poll *>(argument)->count = 0;
		return 0;
	};
	const unsigned int before = kernel->calls;
	EXPECT_TRUE(cq.poll(room).empty());
	EXPECT_EQ(kernel->calls, before);
}

TEST_F(Kernels, AreNotBlamedForTheUserLibrary)
{
	kernel->user_library = "libkrdma-uvp-soft.so";
	const Context context{session.find("krdma0")};
	ASSERT_TRUE(context.fast()) << context.why_slow();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};

	/* through the library, too */
	refuse_queue_pairs();
	EXPECT_EQ(error_of([&] { const QueuePair qp{pd, cq, cq}; }).cause(), KRDMA_CAUSE_MAX_QP);
	/* a record whose errno is another one is not this error's */
	kernel->handlers[KRDMA_IOC_QP] = [this](void *) {
		kernel->handlers.erase(KRDMA_IOC_QP);
		return EBADF;
	};
	EXPECT_EQ(error_of([&] { const QueuePair qp{pd, cq, cq}; }).code().value(), EBADF);
}

TEST_F(Kernels, TellADeviceThatHasNoRnic)
{
	kernel->handlers[KRDMA_IOC_RNIC_FIND] = [](void *) { return ENODEV; };
	kernel->refusal = {0, KRDMA_CAUSE_NO_RNIC_THERE, KRDMA_UNIT_IFINDEX, 0, 1};
	const Error error =
		error_of([&] { (void)session.find_local(Address::parse("127.0.0.1")); });

	EXPECT_EQ(error.cause(), KRDMA_CAUSE_NO_RNIC_THERE);
	EXPECT_EQ(error.reason().find("there is no RNIC on lo; RNICs: krdma0"), 0U) << error.what();
	EXPECT_NE(std::string{error_of([&] { (void)session.find("x"); }).what()}.find(
			  "RNICs: krdma0"),
		  std::string::npos);
}

/* the last error of the C interface is the thread's */
TEST(CError, IsRemembered)
{
	krdma_addr addr{};
	krdma_error error{};
	std::array<char, 80> text{};

	EXPECT_EQ(ual_addr_parse("x", &addr), -EINVAL);
	ual_last_error(&error);
	EXPECT_EQ(error.status, std::uint32_t{EINVAL});
	EXPECT_EQ(error.cause, std::uint32_t{KRDMA_CAUSE_NONE});
	EXPECT_EQ(ual_last_error_text(text.data(), text.size()), 29U);
	EXPECT_STREQ(text.data(), "address 'x': Invalid argument");
	error = {ENOMEM, KRDMA_CAUSE_MAX_MW, KRDMA_UNIT_COUNT, 0, 2};
	(void)ual_cause_text(&error, text.data(), text.size());
	EXPECT_STREQ(text.data(), "the RNIC allows 2 memory windows");
	(void)ual_terminate_text(0x1100, text.data(), text.size());
	EXPECT_STREQ(text.data(), "DDP: no such STag");
}

} /* namespace */
