/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* libkrdma over the fake kernel: lists, lifetimes, both data paths, events. */
#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <type_traits>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <krdma/krdma.hpp>

#include "fake_kernel.hpp"
#include "ring.hpp"
#include "uvp.hpp"

namespace {

using namespace krdma;
using namespace std::chrono_literals;

class Library : public testing::Test {
protected:
	std::shared_ptr<FakeKernel> kernel = std::make_shared<FakeKernel>();
	Session session{kernel};

	Context slow_context()
	{
		return Context{session.find("krdma0"), {.slow = true}};
	}

	/* over the real user library of the software RNIC */
	Context fast_context()
	{
		kernel->user_library = "libkrdma-uvp-soft.so";
		return Context{session.find("krdma0")};
	}

	void raise_connection(std::uint32_t type, std::uint64_t cookie, std::uint32_t conn,
			      int status = 0)
	{
		krdma_conn_event event{};

		event.base.type = type;
		event.base.cookie = cookie;
		event.base.status = -status;
		event.conn = conn;
		event.remote = Address::parse("10.0.0.9:9").raw();
		kernel->raise(event);
	}
};

TEST_F(Library, FindsDevices)
{
	ASSERT_EQ(session.devices().size(), 1U);
	EXPECT_EQ(session.find("krdma0").index(), 1U);
	EXPECT_EQ(session.find("eth0").name(), "krdma0");
	EXPECT_EQ(code_of([&] { (void)session.find("krdma"); }), ENODEV);

	kernel->handlers[KRDMA_IOC_RNIC_FIND] = [](void *argument) {
		auto &cmd = *static_cast<krdma_rnic_find *>(argument);

		EXPECT_EQ(cmd.size, sizeof(cmd));
		EXPECT_EQ(cmd.local.family, 0);
		EXPECT_EQ(cmd.remote.port, 0);
		cmd.index = 1;
		return 0;
	};
	EXPECT_EQ(session.find_remote(Address::parse("10.0.0.1:5")).name(), "krdma0");
}

TEST_F(Library, ListsLongerThanTheFirstTry)
{
	unsigned int calls = 0;

	kernel->handlers[KRDMA_IOC_MIB] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_mib *>(argument);
		auto *entries = reinterpret_cast<krdma_counter *>(cmd.entries);

		calls++;
		for (std::uint32_t i = 0; i < 200 && i < cmd.count; i++)
			entries[i].value = i;
		cmd.count = 200;
		return 0;
	};
	const std::vector<Counter> counters = session.mib();
	EXPECT_EQ(calls, 2U);
	ASSERT_EQ(counters.size(), 200U);
	EXPECT_EQ(counters.back().value, 199U);
}

TEST_F(Library, QueuePairsAreAskedForUntilAllAreTold)
{
	kernel->handlers[KRDMA_IOC_QP_LIST] = [](void *argument) {
		auto &cmd = *static_cast<krdma_qp_list *>(argument);
		auto *entries = reinterpret_cast<krdma_qp_entry *>(cmd.entries);
		std::uint32_t told = 0;

		EXPECT_EQ(cmd.index, 1U);
		for (std::uint32_t number = cmd.next; number < 150 && told < cmd.count; number++)
			entries[told++].number = number;
		cmd.count = told;
		cmd.next =
			told && entries[told - 1].number < 149 ? entries[told - 1].number + 1 : 0;
		return 0;
	};
	const std::vector<krdma_qp_entry> all = session.find("krdma0").queue_pairs();
	ASSERT_EQ(all.size(), 150U);
	for (std::uint32_t i = 0; i < all.size(); i++)
		EXPECT_EQ(all[i].number, i);

	kernel->handlers[KRDMA_IOC_QP_LIST] = [](void *) { return EPERM; };
	EXPECT_EQ(code_of([&] { (void)session.find("krdma0").queue_pairs(); }), EPERM);
}

TEST_F(Library, ErrorsAreTheKernels)
{
	for (const int err : {EPERM, ENODEV, EMFILE}) {
		kernel->handlers[KRDMA_IOC_CONTEXT] = [err](void *) { return err; };
		EXPECT_EQ(code_of([&] { (void)slow_context(); }), err);
	}
	EXPECT_EQ(kernel->objects(), 0U);
}

TEST_F(Library, ObjectsEndInAnyOrder)
{
	for (const bool fast : {false, true}) {
		std::optional<Context> context{fast ? fast_context() : slow_context()};
		ASSERT_EQ(context->fast(), fast) << context->why_slow();
		std::optional<ProtectionDomain> pd{*context};
		std::optional<CompletionQueue> cq{*context};
		std::optional<QueuePair> qp{std::in_place, *pd, *cq, *cq};
		std::vector<std::byte> memory(64);
		std::optional<MemoryRegion> region{std::in_place, *pd, memory, access::local_write};
		std::optional<Connection> connection{
			Connection::connect(*qp, Address::parse("10.0.0.9:9"))};

		EXPECT_EQ(kernel->objects(), 6U);
		context.reset();
		pd.reset();
		cq.reset();
		qp.reset();
		EXPECT_EQ(kernel->objects(), 6U) << "the connection needs all but the region";
		connection.reset();
		EXPECT_EQ(kernel->objects(), 3U) << "the region, its domain and context";
		region.reset();
		EXPECT_EQ(kernel->objects(), 0U);
	}
}

/*
 * A window that is bound to a region, as the kernel sees it: the one before that which a bind
 * was posted with and failed.
 */
TEST_F(Library, WhatIsNeededEndsWithWhatNeedsIt)
{
	std::array<std::byte, 64> memory{};
	std::optional<Context> context{slow_context()};
	std::optional<ProtectionDomain> pd{*context};
	std::optional<MemoryWindow> window{std::in_place, *pd, 1};
	std::optional<MemoryRegion> other{std::in_place, *pd, memory, access::local_write};
	std::uint32_t bound = 0;
	{
		const CompletionQueue cq{*context};
		const QueuePair qp{*pd, cq, cq};
		const MemoryRegion region{*pd, memory, access::window_bind};

		bound = region.handle();
		qp.bind(1, *window, region, region.slice(), access::remote_read);
		kernel->need(window->handle(), bound);
		qp.bind(2, *window, *other, other->slice(), access::remote_read);
	}
	/* it was tried with each queue's end, too */
	EXPECT_TRUE(kernel->has(bound));
	other.reset();
	context.reset();
	pd.reset();
	window.reset();
	EXPECT_EQ(kernel->objects(), 0U);
	/* nothing is left to be tried */
	kernel->log.clear();
	(void)std::optional{slow_context()};
	EXPECT_EQ(std::ranges::count(kernel->log, KRDMA_IOC_DESTROY), 1);
}

/* as a region whose window is bound elsewhere, or ended, by a work request or a raw command */
TEST_F(Library, WhatIsNeededIsTriedWithEachDestroy)
{
	std::vector<std::uint32_t> needed;
	std::vector<std::uint32_t> ended;

	kernel->handlers[KRDMA_IOC_DESTROY] = [&](void *argument) {
		const std::uint32_t handle = static_cast<krdma_destroy *>(argument)->handle;

		if (std::ranges::count(needed, handle))
			return EBUSY;
		ended.push_back(handle);
		return 0;
	};
	std::array<std::byte, 64> memory{};
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	std::optional<MemoryRegion> one{std::in_place, pd, memory, access::local_write};
	std::optional<MemoryRegion> two{std::in_place, pd, memory, access::local_write};
	const std::uint32_t first = one->handle();
	const std::uint32_t second = two->handle();

	needed = {first, second};
	one.reset();
	EXPECT_TRUE(ended.empty());
	needed = {second};
	two.reset();
	EXPECT_EQ(ended, std::vector{first}) << "the next that is needed";
	needed.clear();
	krdma_destroy cmd{sizeof(cmd), 4711};
	EXPECT_EQ(session.ri_syscall(KRDMA_IOC_DESTROY, &cmd), 0);
	EXPECT_EQ(ended, (std::vector{first, 4711U, second})) << "a command of the program's";
}

TEST_F(Library, WithoutUserLibraryEachCallIsACommand)
{
	const Context context{session.find("krdma0")};
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Slice slice{0x1000, 64, 7};

	EXPECT_FALSE(context.fast());
	EXPECT_NE(context.why_slow(), "");
	qp.send(5, slice, {.solicited = true});
	qp.write(6, slice, {0x2000, 9});
	qp.fetch_add(7, slice, {0x3000, 8}, 3);
	ASSERT_EQ(kernel->posted.size(), 3U);
	EXPECT_EQ(kernel->posted[0].wr_id, 5U);
	EXPECT_EQ(kernel->posted[0].opcode, 2U);
	EXPECT_EQ(kernel->posted[0].flags, KRDMA_SEND_SIGNALED | KRDMA_SEND_SOLICITED);
	EXPECT_EQ(kernel->posted[1].rkey, 9U);
	EXPECT_EQ(kernel->posted[2].compare_add, 3U);

	kernel->handlers[KRDMA_IOC_CQ_POLL] = [](void *argument) {
		auto &cmd = *static_cast<krdma_cq_poll *>(argument);
		auto *entries = reinterpret_cast<krdma_wc *>(cmd.entries);

		entries[0] = {};
		entries[0].wr_id = 77;
		entries[0].status = KRDMA_STATUS_WR_FLUSH_ERR;
		entries[0].opcode = KRDMA_WC_RECV;
		entries[0].flags = KRDMA_WC_WITH_IMM;
		entries[0].imm = htonl(0x01020304);
		cmd.count = 1;
		return 0;
	};
	std::array<Completion, 4> completions;
	const auto got = cq.poll(completions);
	ASSERT_EQ(got.size(), 1U);
	EXPECT_EQ(got[0].id(), 77U);
	EXPECT_EQ(got[0].status(), Status::flushed);
	EXPECT_EQ(got[0].status_text(), "flushed");
	EXPECT_EQ(got[0].opcode(), Opcode::receive);
	EXPECT_TRUE(got[0].received());
	EXPECT_EQ(got[0].immediate(), 0x01020304U);
	EXPECT_FALSE(got[0].invalidated());

	kernel->handlers[KRDMA_IOC_POST_SEND] = [](void *) { return ENOMEM; };
	EXPECT_EQ(code_of([&] { qp.send(1, slice); }), ENOMEM);
}

TEST_F(Library, RequestsAreOfSlicesInAnyForm)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Slice a{0x1000, 64, 7};
	const Slice b{0x2000, 64, 7};
	const std::vector<Slice> both{a, b};
	const Slice plain[]{a, b, a};
	std::vector<std::uint32_t> lengths;

	kernel->handlers[KRDMA_IOC_POST_SEND] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_post *>(argument);
		const auto &wr = *reinterpret_cast<const krdma_wr *>(cmd.wrs);
		const auto *sges = reinterpret_cast<const krdma_sge *>(wr.sges);

		lengths.push_back(wr.num_sge);
		for (std::uint32_t i = 0; i < wr.num_sge; i++)
			EXPECT_EQ(sges[i].addr, i % 2 ? b.address : a.address);
		cmd.done = 1;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_POST_RECV] = kernel->handlers[KRDMA_IOC_POST_SEND];
	qp.receive(1, {});
	qp.receive(1, a);
	qp.receive(1, {a, b});
	qp.send(1, {a});
	qp.send(1, both);
	qp.send(1, plain);
	qp.send(1, std::span{plain}.first(2));
	qp.send(1, {plain, 2});
	qp.write(1, {a, b}, {0x3000, 9});
	qp.write(1, {}, {0x3000, 9});
	qp.read(1, {a, b}, {0x3000, 9});
	qp.send_immediate(1, a, 5);
	qp.send_invalidate(1, {a, b}, 5);
	qp.write_immediate(1, a, {0x3000, 9}, 5);
	EXPECT_EQ(lengths, (std::vector<std::uint32_t>{0, 1, 2, 1, 2, 3, 2, 2, 2, 0, 2, 1, 2, 1}));
}

TEST_F(Library, ASignalPostsNothingTwice)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	std::array<krdma_wr, 5> requests{};
	std::vector<std::uint64_t> posted;
	std::error_code error;

	for (std::size_t i = 0; i < requests.size(); i++)
		requests[i].wr_id = i;
	/* as the kernel does when a signal waits: two at a time */
	kernel->handlers[KRDMA_IOC_POST_RECV] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_post *>(argument);
		const auto *wrs = reinterpret_cast<const krdma_wr *>(cmd.wrs);

		for (cmd.done = 0; cmd.done < cmd.count && cmd.done < 2; cmd.done++)
			posted.push_back(wrs[cmd.done].wr_id);
		return cmd.done < cmd.count ? EINTR : 0;
	};
	EXPECT_EQ(qp.post_receive(requests, error), requests.size());
	EXPECT_FALSE(error);
	EXPECT_EQ(posted, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

TEST_F(Library, WithUserLibraryPostingAndPollingAreNone)
{
	const Context context = fast_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq, {.max_send_sge = 2}};
	std::byte *const cq_ring = kernel->ring(0);
	std::byte *const send_ring = kernel->ring(0x10000);
	const auto *head = reinterpret_cast<const krdma_soft_ring *>(send_ring);
	const auto *first = reinterpret_cast<const krdma_soft_sqe *>(send_ring + 4096);
	const std::size_t before = kernel->log.size();

	ASSERT_TRUE(context.fast()) << context.why_slow();
	EXPECT_EQ(qp.granted().max_inline, 64U);
	const std::array slices{Slice{0x1000, 8, 7}, Slice{0x2000, 16, 7}};
	qp.write(11, slices, {0x3000, 99});
	EXPECT_EQ(head->prod, 1U);
	EXPECT_EQ(first->wr_id, 11U);
	EXPECT_EQ(first->opcode, KRDMA_SOFT_OP_WRITE);
	EXPECT_EQ(first->flags, KRDMA_SOFT_WQE_SIGNALED);
	EXPECT_EQ(first->rkey, 99U);
	ASSERT_EQ(first->num_sge, 2);
	EXPECT_EQ(first->sge[1].addr, 0x2000U);

	char text[] = "inline";
	qp.send(12, Slice{reinterpret_cast<std::uintptr_t>(text), 6, 0}, {.inline_data = true});
	const auto *second = reinterpret_cast<const krdma_soft_sqe *>(send_ring + 4096 +
								      sizeof(krdma_soft_sqe) + 256);
	EXPECT_EQ(second->length, 6U);
	EXPECT_EQ(std::memcmp(second->sge, "inline", 6), 0);

	auto *completed = reinterpret_cast<krdma_soft_cq_ring *>(cq_ring);
	auto *cqe = reinterpret_cast<krdma_soft_cqe *>(cq_ring + 4096);
	cqe->wr_id = 11;
	cqe->qp_num = 42;
	std::array<Completion, 4> completions;
	EXPECT_TRUE(cq.poll(completions).empty());
	__atomic_store_n(&completed->prod, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(cq.poll(completions).size(), 1U);
	EXPECT_EQ(completions[0].id(), 11U);
	EXPECT_TRUE(completions[0].ok());
	EXPECT_FALSE(cq.arm());
	EXPECT_EQ(completed->arm, std::uint32_t{KRDMA_SOFT_CQ_ARM_NEXT});
	EXPECT_EQ(kernel->log.size(), before) << "no command until here";

	/* the ring asks for a doorbell */
	auto *flags = reinterpret_cast<krdma_soft_ring *>(send_ring);
	flags->flags = KRDMA_SOFT_RING_DOORBELL;
	qp.send(13, Slice{0x1000, 8, 7});
	EXPECT_EQ(kernel->doorbells, 1U);
	flags->due = 100;
	flags->flags = KRDMA_SOFT_RING_SOON;
	qp.send(14, Slice{0x1000, 8, 7});
	EXPECT_EQ(kernel->doorbells, 1U);
	(void)cq.poll(completions);
	EXPECT_EQ(kernel->doorbells, 2U) << "before it is waited in vain";
}

TEST_F(Library, AUserLibraryRefusesWhatTheQueueCannot)
{
	const Context context = fast_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Slice slice{0x1000, 8, 7};
	const std::array two{slice, slice};
	krdma_wr wr{};
	std::error_code error;

	EXPECT_EQ(code_of([&] { qp.send(1, two); }), EINVAL) << "one element was asked for";
	EXPECT_EQ(code_of([&] { qp.fetch_add(1, Slice{0x1000, 4, 7}, {0, 1}, 1); }), EINVAL);
	wr.opcode = 1000;
	EXPECT_EQ(qp.post_send({&wr, 1}, error), 0U);
	EXPECT_EQ(error.value(), EINVAL);
	wr.opcode = 2;
	wr.flags = 1U << 31;
	EXPECT_EQ(qp.post_send({&wr, 1}, error), 0U);
	for (int i = 0; i < 16; i++)
		qp.send(1, slice);
	EXPECT_EQ(code_of([&] { qp.send(1, slice); }), ENOMEM);
	for (int i = 0; i < 16; i++)
		qp.receive(1, slice);
	EXPECT_EQ(code_of([&] { qp.receive(1, slice); }), ENOMEM);
	EXPECT_EQ(kernel->posted.size(), 0U);
}

TEST_F(Library, QueuesOfAnotherContextAreRefused)
{
	const Context one = fast_context();
	const Context two = fast_context();
	const ProtectionDomain pd{one};
	const CompletionQueue cq{two};

	EXPECT_EQ(code_of([&] { QueuePair{pd, cq, cq}; }), EINVAL);
}

TEST_F(Library, UserLibrariesThatDoNotFit)
{
	const std::string library = "libkrdma-uvp-soft.so";

	EXPECT_EQ(detail::load_user_library(library, KRDMA_SOFT_ABI_VERSION).why, "");
	for (const char *name : {"", "no-such.so", "../uvp_soft/libkrdma-uvp-soft.so", ".hidden",
				 "libkrdma-rdmav34.so"}) {
		const detail::UserLibrary loaded =
			detail::load_user_library(name, KRDMA_SOFT_ABI_VERSION);

		EXPECT_EQ(loaded.ops, nullptr) << name;
		EXPECT_NE(loaded.why, "") << name;
	}
	EXPECT_NE(detail::load_user_library(library, 99).why.find("version"), std::string::npos);

	/* a module that does not agree is worked with through the kernel */
	kernel->user_library = library;
	kernel->handlers[KRDMA_IOC_CONTEXT] = [&](void *argument) {
		auto &cmd = *static_cast<krdma_context *>(argument);

		cmd.handle = 0;
		return cmd.flags & KRDMA_SLOW ? 0 : EPROTO;
	};
	const Context context{session.find("krdma0")};
	EXPECT_FALSE(context.fast());
}

TEST_F(Library, EventsFindTheirObjects)
{
	const Context context = slow_context();
	const CompletionQueue one{context};
	const CompletionQueue two{context};
	const std::uint64_t cookie_one = kernel->cookie(101);
	const std::uint64_t cookie_two = kernel->cookie(102);

	EXPECT_NE(cookie_one, cookie_two);
	kernel->raise(KRDMA_EVENT_COMPLETION, cookie_two);
	kernel->raise(KRDMA_EVENT_COMPLETION, cookie_one);
	kernel->raise(KRDMA_EVENT_COMPLETION, 999);
	kernel->raise(KRDMA_EVENT_ASYNC, cookie_one, 3);
	EXPECT_EQ(one.events().wait(1s)->type, std::uint32_t{KRDMA_EVENT_COMPLETION});
	EXPECT_EQ(one.events().wait(1s)->code, 3U);
	EXPECT_FALSE(one.events().wait(0ms));
	EXPECT_TRUE(two.events().wait(0ms));
	EXPECT_FALSE(session.events().wait(0ms));

	kernel->raise(KRDMA_EVENT_OVERFLOW, 0, 12);
	EXPECT_EQ(session.events().wait(1s)->code, 12U);
	EXPECT_TRUE(two.events().wait(0ms)) << "it may have been this one's";
}

TEST_F(Library, AFullMailboxTellsHowMuchWasLost)
{
	krdma_net_event event{};
	unsigned int told = 0;
	unsigned int lost = 0;

	event.base.type = KRDMA_EVENT_NET;
	event.base.code = KRDMA_NET_LINK;
	for (std::uint32_t i = 0; i < 20000; i++) {
		event.mtu = i;
		kernel->raise(event);
		if (i == 100)
			kernel->raise(KRDMA_EVENT_OVERFLOW, 0, 7);
		if (i % 50 == 49)
			(void)session.dispatch();
	}
	const std::optional<Event> first = session.events().wait(0ms);
	ASSERT_TRUE(first);
	EXPECT_EQ(first->type, std::uint32_t{KRDMA_EVENT_OVERFLOW}) << "where they were lost";
	lost = first->code;
	while (const std::optional<Event> next = session.events().wait(0ms)) {
		ASSERT_EQ(next->type, std::uint32_t{KRDMA_EVENT_NET});
		EXPECT_EQ(next->net()->mtu, 20000 - 16384 + told);
		told++;
	}
	EXPECT_EQ(told, 16384U);
	EXPECT_EQ(told + lost, 20007U);
}

TEST_F(Library, CallbacksOfAProgramThatDispatches)
{
	const Context context = slow_context();
	const CompletionQueue cq{context};
	const std::uint64_t cookie = kernel->cookie(101);
	unsigned int count = 0;

	kernel->raise(KRDMA_EVENT_COMPLETION, cookie);
	EXPECT_EQ(session.dispatch(), 1U);
	cq.events().on_event([&](const Event &) { count++; });
	EXPECT_EQ(count, 1U) << "what waited comes first";
	kernel->raise(KRDMA_EVENT_COMPLETION, cookie);
	EXPECT_EQ(session.dispatch(1s), 1U);
	EXPECT_EQ(count, 2U);
	cq.events().on_event({});
	kernel->raise(KRDMA_EVENT_COMPLETION, cookie);
	EXPECT_EQ(session.dispatch(1s), 1U);
	EXPECT_EQ(count, 2U);
	EXPECT_EQ(session.dispatch(5ms), 0U);
}

TEST_F(Library, ADispatcherKeepsTheOrderOfEachObject)
{
	const Context context = slow_context();
	const CompletionQueue one{context};
	const CompletionQueue two{context};
	std::vector<std::uint32_t> seen_one;
	std::vector<std::uint32_t> seen_two;
	std::atomic<unsigned int> count{};

	one.events().on_event([&](const Event &event) {
		seen_one.push_back(event.code);
		count++;
	});
	two.events().on_event([&](const Event &event) {
		seen_two.push_back(event.code);
		count++;
	});
	{
		const Dispatcher dispatcher{session, 3};

		for (std::uint32_t i = 0; i < 500; i++) {
			kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(i % 2 ? 101 : 102), i / 2);
			if (i % 50 == 0)
				std::this_thread::sleep_for(1ms);
		}
		for (int i = 0; i < 5000 && count < 500; i++)
			std::this_thread::sleep_for(1ms);
	}
	EXPECT_EQ(count, 500U);
	EXPECT_TRUE(std::is_sorted(seen_one.begin(), seen_one.end()));
	EXPECT_TRUE(std::is_sorted(seen_two.begin(), seen_two.end()));
	one.events().on_event({});
	two.events().on_event({});
}

TEST_F(Library, AnyIdleThreadOfADispatcherTakesTheNextObject)
{
	constexpr std::size_t all = 4;
	const Context context = slow_context();
	std::vector<CompletionQueue> queues;
	std::atomic<unsigned int> together{};
	std::atomic<unsigned int> most{};

	for (std::size_t i = 0; i < all; i++)
		queues.emplace_back(context);
	for (const CompletionQueue &queue : queues)
		queue.events().on_event([&](const Event &) {
			together++;
			for (int i = 0; i < 5000 && most < all; i++) {
				most = std::max(most.load(), together.load());
				std::this_thread::sleep_for(1ms);
			}
			together--;
		});
	{
		const Dispatcher dispatcher{session, all};

		for (std::size_t i = 0; i < all; i++)
			kernel->raise(KRDMA_EVENT_COMPLETION,
				      kernel->cookie(static_cast<std::uint32_t>(101 + i)));
		for (int i = 0; i < 5000 && most < all; i++)
			std::this_thread::sleep_for(1ms);
	}
	EXPECT_EQ(most, all);
	for (const CompletionQueue &queue : queues)
		queue.events().on_event({});
}

TEST_F(Library, ASessionHasOneDispatcher)
{
	const Context context = slow_context();
	const CompletionQueue cq{context};
	std::atomic<unsigned int> count{};

	cq.events().on_event([&](const Event &) { count++; });
	{
		const Dispatcher first{session};

		EXPECT_EQ(code_of([&] { const Dispatcher second{session}; }), EBUSY);
		kernel->raise(KRDMA_EVENT_COMPLETION, kernel->cookie(101));
		for (int i = 0; i < 5000 && count < 1; i++)
			std::this_thread::sleep_for(1ms);
		EXPECT_EQ(count, 1U) << "the first still runs";
	}
	{
		const Dispatcher after{session};
	}
	kernel->raise(KRDMA_EVENT_COMPLETION, kernel->cookie(101));
	EXPECT_EQ(session.dispatch(1s), 1U);
	EXPECT_EQ(count, 2U);
	cq.events().on_event({});
}

TEST_F(Library, WaitsRunNoCallbacks)
{
	const auto pollable = std::make_shared<FakeKernel>(true);
	const Session other{pollable};
	const Context context{other.find("krdma0"), {.slow = true}};
	const CompletionQueue one{context};
	const CompletionQueue two{context};
	const std::uint64_t cookie = pollable->cookie(101);
	std::vector<std::thread::id> ran;
	const auto readable = [&] {
		pollfd fd{other.descriptor(), POLLIN, 0};

		return poll(&fd, 1, 0) == 1;
	};

	one.events().on_event([&](const Event &event) {
		ran.push_back(std::this_thread::get_id());
		if (event.code == 13)
			throw std::runtime_error{"of one"};
	});
	EXPECT_FALSE(readable());
	pollable->raise(KRDMA_EVENT_ASYNC, cookie, 13);
	pollable->raise(KRDMA_EVENT_ASYNC, cookie, 14);
	EXPECT_TRUE(readable()) << "the kernel's";
	EXPECT_FALSE(two.events().wait(1ms)) << "reads, and keeps them";
	EXPECT_TRUE(ran.empty());
	EXPECT_TRUE(readable()) << "the loop that has callbacks is to come";
	EXPECT_THROW((void)other.dispatch(), std::runtime_error);
	EXPECT_TRUE(readable()) << "one is left";
	EXPECT_EQ(other.dispatch(), 1U);
	EXPECT_EQ(ran.size(), 2U);
	EXPECT_FALSE(readable());

	/* of a thread that dispatches while another one reads */
	{
		const std::jthread waits{[&] { (void)two.events().wait(10s); }};

		std::this_thread::sleep_for(10ms);
		pollable->raise(KRDMA_EVENT_ASYNC, cookie, 15);
		EXPECT_EQ(other.dispatch(10s), 1U);
		ASSERT_EQ(ran.size(), 3U);
		EXPECT_EQ(ran.back(), std::this_thread::get_id());
		pollable->raise(KRDMA_EVENT_COMPLETION, pollable->cookie(102));
	}
	one.events().on_event({});
}

TEST_F(Library, ACallbackMayDoAnything)
{
	const Context context = slow_context();
	const CompletionQueue one{context};
	const CompletionQueue two{context};
	std::vector<std::uint32_t> codes;
	unsigned int deep = 0;

	one.events().on_event([&](const Event &event) {
		EXPECT_EQ(deep, 0U) << "not again before it returned";
		deep++;
		codes.push_back(event.code);
		if (event.code == 1) {
			kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(101), 3);
			kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(102), 4);
			EXPECT_EQ(two.events().wait(1s)->code, 4U);
			(void)session.dispatch();
		}
		if (event.code == 3)
			one.events().on_event(
				[&](const Event &next) { codes.push_back(10 + next.code); });
		deep--;
	});
	for (const std::uint32_t code : {1U, 2U})
		kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(101), code);
	EXPECT_EQ(session.dispatch(), 2U);
	kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(101), 5);
	EXPECT_EQ(session.dispatch(), 1U);
	EXPECT_EQ(codes, (std::vector<std::uint32_t>{1, 2, 3, 15}));
	one.events().on_event({});
}

TEST_F(Library, ThreadsThatWaitForTheirOwn)
{
	const Context context = slow_context();
	const CompletionQueue one{context};
	const CompletionQueue two{context};
	std::atomic<bool> got_one{};
	std::atomic<bool> got_two{};
	std::thread first{[&] { got_one = one.events().wait(10s).has_value(); }};
	std::thread second{[&] { got_two = two.events().wait(10s).has_value(); }};

	std::this_thread::sleep_for(10ms);
	kernel->raise(KRDMA_EVENT_COMPLETION, kernel->cookie(101));
	kernel->raise(KRDMA_EVENT_COMPLETION, kernel->cookie(102));
	first.join();
	second.join();
	EXPECT_TRUE(got_one);
	EXPECT_TRUE(got_two);
}

TEST_F(Library, ConnectionsAndWhatBecomesOfThem)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Address peer = Address::parse("10.0.0.9:9");

	Connection made = Connection::connect(qp, peer);
	raise_connection(KRDMA_EVENT_CONN_REPLY, kernel->cookie(made.handle()), made.handle());
	made.established(1s);
	EXPECT_EQ(made.info().remote, peer);
	EXPECT_FALSE(made.closed(1ms));
	kernel->raise(KRDMA_EVENT_CLOSED, kernel->cookie(made.handle()));
	EXPECT_TRUE(made.closed(1s));
	EXPECT_TRUE(made.closed(0ms));

	Connection refused = Connection::connect(qp, peer);
	raise_connection(KRDMA_EVENT_CONN_REPLY, kernel->cookie(refused.handle()), 0, ECONNREFUSED);
	EXPECT_EQ(code_of([&] { refused.established(1s); }), ECONNREFUSED);
	Connection silent = Connection::connect(qp, peer);
	EXPECT_EQ(code_of([&] { silent.established(1ms); }), ETIMEDOUT);
}

TEST_F(Library, ACallbackLeavesTheConnectionComplete)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	Connection connection = Connection::connect(qp, Address::parse("10.0.0.9:9"));
	std::vector<std::string> local;

	EXPECT_TRUE(connection.info().local.empty());
	connection.events().on_event(
		[&](const Event &) { local.push_back(connection.info().local.to_string()); });
	krdma_conn_event event{};
	event.base.type = KRDMA_EVENT_CONN_REPLY;
	event.base.cookie = kernel->cookie(connection.handle());
	event.local = Address::parse("10.0.0.1:7").raw();
	event.ird = 3;
	kernel->raise(event);
	EXPECT_EQ(session.dispatch(), 1U);
	EXPECT_EQ(local, std::vector<std::string>{"10.0.0.1:7"});
	EXPECT_EQ(connection.info().ird, 3U);
	EXPECT_EQ(connection.info().handle, connection.handle());
	connection.established(0ms);
	connection.events().on_event({});
}

/* one comes from connect() or accept() alone, or there would be some without anything */
static_assert(!std::is_default_constructible_v<Connection>);

/* what docs/libkrdma.md says of callbacks when an RNIC is removed */
TEST_F(Library, ACallbackOfAnEndThrowsThroughDispatch)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	Connection connection = Connection::connect(qp, Address::parse("10.0.0.9:9"));
	const std::uint64_t cookie = kernel->cookie(connection.handle());
	std::vector<std::string> heard;
	krdma_event end{};

	raise_connection(KRDMA_EVENT_CONN_REPLY, cookie, connection.handle());
	connection.established(1s);
	cq.events().on_event([&](const Event &) { heard.emplace_back("queue"); });
	qp.events().on_event([&](const Event &) { heard.emplace_back("queue pair"); });
	context.events().on_event([&](const Event &) { heard.emplace_back("context"); });
	connection.events().on_event([&](const Event &) {
		heard.emplace_back("connection");
		(void)cq.arm();
	});
	end.type = KRDMA_EVENT_CLOSED;
	end.cookie = cookie;
	end.status = -ECONNABORTED;
	kernel->handlers[KRDMA_IOC_CQ_NOTIFY] = [](void *) { return ENODEV; };
	kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(100), KRDMA_ASYNC_DEVICE_FATAL);
	kernel->raise(end);
	EXPECT_EQ(code_of([&] {
			  while (session.dispatch() != 0) {}
		  }),
		  ENODEV);
	while (session.dispatch() != 0) {}
	EXPECT_EQ(heard, (std::vector<std::string>{"context", "connection"}));
	EXPECT_EQ(connection.close_status(), ECONNABORTED);
	connection.events().on_event({});
	context.events().on_event({});
	cq.events().on_event({});
	qp.events().on_event({});
}

TEST_F(Library, AnEndHasItsCause)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};

	for (const int status : {0, ECONNABORTED}) {
		Connection connection = Connection::connect(qp, Address::parse("10.0.0.9:9"));
		const std::uint64_t cookie = kernel->cookie(connection.handle());
		krdma_event end{};

		EXPECT_EQ(connection.close_status(), EINPROGRESS);
		end.type = KRDMA_EVENT_CLOSED;
		end.cookie = cookie;
		end.status = -status;
		raise_connection(KRDMA_EVENT_CONN_REPLY, cookie, connection.handle());
		kernel->raise(end);
		EXPECT_EQ(session.dispatch(), 2U);
		EXPECT_EQ(connection.close_status(), status);
		connection.established(1s);
		EXPECT_TRUE(connection.closed(1s));
		EXPECT_EQ(connection.close_status(), status);
		EXPECT_EQ(code_of([&] { connection.established(1s); }),
			  status ? status : ECONNRESET);
		EXPECT_FALSE(connection.events().wait(0ms)) << "both were taken";
	}
}

TEST_F(Library, WhatWasRefusedHasEnded)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	Connection connection = Connection::connect(qp, Address::parse("10.0.0.9:9"));

	EXPECT_FALSE(connection.closed(0ms));
	raise_connection(KRDMA_EVENT_CONN_REPLY, kernel->cookie(connection.handle()), 0,
			 ECONNREFUSED);
	EXPECT_TRUE(connection.closed(1s));
	EXPECT_EQ(connection.close_status(), ECONNREFUSED);
	EXPECT_EQ(code_of([&] { connection.established(0ms); }), ECONNREFUSED);
	EXPECT_EQ(code_of([&] { connection.established(0ms); }), ECONNREFUSED) << "and again";
}

TEST_F(Library, RequestsAreRefusedWhenNobodyTakesThem)
{
	const Context context = slow_context();
	const Listener listener{context, Address::parse("10.0.0.1")};
	const std::uint64_t cookie = kernel->cookie(101);
	unsigned int destroyed = 0;
	unsigned int rejected = 0;

	EXPECT_EQ(listener.address(), Address::parse("10.0.0.1:7000"));
	kernel->handlers[KRDMA_IOC_DESTROY] = [&](void *argument) {
		EXPECT_EQ(static_cast<krdma_destroy *>(argument)->handle, 555U);
		destroyed++;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_REJECT] = [&](void *argument) {
		const auto &cmd = *static_cast<krdma_conn *>(argument);

		EXPECT_EQ(cmd.handle, 555U);
		EXPECT_EQ(cmd.private_data_len, 2U);
		rejected++;
		return 0;
	};
	raise_connection(KRDMA_EVENT_CONN_REQUEST, cookie, 555);
	EXPECT_TRUE(listener.wait(1s));
	EXPECT_EQ(destroyed, 1U);

	raise_connection(KRDMA_EVENT_CONN_REQUEST, cookie, 555);
	std::optional<ConnectionRequest> request = listener.wait(1s);
	ASSERT_TRUE(request);
	const std::array reason{std::byte{1}, std::byte{2}};
	request->reject(reason);
	EXPECT_EQ(rejected, 1U);
	EXPECT_FALSE(listener.wait(1ms));
	request.reset();
	kernel->handlers.clear();
}

/* whose queue pair has the number of one here */
TEST_F(Library, AQueuePairOfAnotherSessionIsRefused)
{
	const Session other_session{std::make_shared<FakeKernel>()};
	const Context other_context{other_session.find("krdma0"), {.slow = true}};
	const ProtectionDomain other_pd{other_context};
	const CompletionQueue other_cq{other_context};
	const QueuePair other{other_pd, other_cq, other_cq};
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Listener listener{context, Address::parse("10.0.0.1")};
	unsigned int accepted = 0;

	kernel->handlers[KRDMA_IOC_ACCEPT] = [&](void *) {
		accepted++;
		return 0;
	};
	raise_connection(KRDMA_EVENT_CONN_REQUEST, kernel->cookie(qp.handle() + 1), 555);
	std::optional<ConnectionRequest> request = listener.wait(1s);
	ASSERT_TRUE(request);
	ASSERT_EQ(other.handle(), qp.handle());
	EXPECT_EQ(code_of([&] { (void)request->accept(other); }), EINVAL);
	EXPECT_EQ(accepted, 0U);
	(void)request->accept(qp);
	EXPECT_EQ(accepted, 1U) << "it may be answered again";
}

TEST_F(Library, AWindowOfAnotherSessionIsNotBound)
{
	const Session other_session{std::make_shared<FakeKernel>()};
	const Context other_context{other_session.find("krdma0"), {.slow = true}};
	const ProtectionDomain other_pd{other_context};
	const MemoryWindow other{other_pd};
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const MemoryWindow window{pd};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	std::array<std::byte, 64> memory{};
	const MemoryRegion region{pd, memory, access::window_bind};
	const MemoryRegion other_region{other_pd, memory, access::window_bind};
	const std::uint32_t stag = other.stag();

	ASSERT_EQ(other.handle(), window.handle());
	EXPECT_EQ(code_of([&] { qp.bind(1, other, region, region.slice(), access::remote_read); }),
		  EINVAL);
	const auto bind_other = [&] {
		qp.bind(1, window, other_region, other_region.slice(), access::remote_read);
	};
	EXPECT_EQ(code_of(bind_other), EINVAL);
	EXPECT_EQ(other.stag(), stag);
	qp.bind(1, window, region, region.slice(), access::remote_read);
}

TEST_F(Library, WhatHasEndedCallsNobody)
{
	const Context context = slow_context();
	std::optional<CompletionQueue> cq{std::in_place, context};
	const std::uint64_t cookie = kernel->cookie(cq->handle());
	const EventSource copy = cq->events();
	unsigned int called = 0;

	copy.on_event([&](const Event &) { called++; });
	kernel->raise(KRDMA_EVENT_ASYNC, cookie, 3);
	/* a thread that waits for something else reads it */
	EXPECT_FALSE(context.events().wait(1ms));
	cq.reset();
	EXPECT_EQ(session.dispatch(0ms), 0U);
	EXPECT_EQ(called, 0U);
	copy.on_event({});
	EXPECT_FALSE(copy.wait(0ms));
}

TEST_F(Library, TheLongestTimeOutIsNone)
{
	const Context context = slow_context();
	const CompletionQueue cq{context};

	const std::jthread later{[&] {
		std::this_thread::sleep_for(50ms);
		kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(cq.handle()), 3);
	}};
	EXPECT_TRUE(cq.events().wait(std::chrono::milliseconds::max()));
}

TEST_F(Library, RequestsThatWereReadAreRefusedWithTheirListener)
{
	const Context context = slow_context();
	std::optional<Listener> listener{std::in_place, context, Address::parse("10.0.0.1")};
	const std::uint64_t cookie = kernel->cookie(101);
	std::vector<std::uint32_t> destroyed;

	kernel->handlers[KRDMA_IOC_DESTROY] = [&](void *argument) {
		destroyed.push_back(static_cast<krdma_destroy *>(argument)->handle);
		return 0;
	};
	raise_connection(KRDMA_EVENT_CONN_REQUEST, cookie, 555);
	raise_connection(KRDMA_EVENT_CONN_REQUEST, cookie, 556);
	EXPECT_EQ(session.dispatch(), 2U);
	EXPECT_TRUE(destroyed.empty()) << "somebody may take them";
	listener.reset();
	ASSERT_EQ(destroyed.size(), 3U);
	EXPECT_EQ(std::count(destroyed.begin(), destroyed.end(), 555U), 1);
	EXPECT_EQ(std::count(destroyed.begin(), destroyed.end(), 556U), 1);
	EXPECT_EQ(std::count(destroyed.begin(), destroyed.end(), 101U), 1);

	/* read after the listener has ended */
	destroyed.clear();
	raise_connection(KRDMA_EVENT_CONN_REQUEST, cookie, 557);
	raise_connection(KRDMA_EVENT_CONN_REPLY, cookie, 4711);
	EXPECT_EQ(session.dispatch(), 2U);
	EXPECT_EQ(destroyed, std::vector<std::uint32_t>{557U});
	kernel->handlers.clear();
}

TEST_F(Library, AFailedCompletionQueueEndsWaits)
{
	const Context context = slow_context();
	const CompletionQueue cq{context};
	unsigned int left = 1;

	kernel->handlers[KRDMA_IOC_CQ_POLL] = [&](void *argument) {
		static_cast<krdma_cq_poll *>(argument)->count = left ? left-- : 0;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_CQ_NOTIFY] = [](void *) { return 0; };
	kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(101), 0);
	EXPECT_TRUE(cq.wait(1s)) << "what is there comes first";
	EXPECT_EQ(code_of([&] { (void)cq.wait(10s); }), EIO);
	EXPECT_EQ(cq.events().wait(0ms)->type, std::uint32_t{KRDMA_EVENT_ASYNC});
	EXPECT_EQ(code_of([&] { (void)cq.wait(10s); }), EIO) << "it stays so";
}

TEST_F(Library, OneEventIsForAllThatWaitForCompletions)
{
	const Context context = slow_context();
	const CompletionQueue cq{context};
	std::atomic<unsigned int> armed{};
	std::atomic<unsigned int> left{};
	std::array<bool, 2> got{};

	kernel->handlers[KRDMA_IOC_CQ_POLL] = [&](void *argument) {
		static_cast<krdma_cq_poll *>(argument)->count = left ? left--, 1 : 0;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_CQ_NOTIFY] = [&](void *) {
		armed++;
		return 0;
	};
	{
		const std::array threads{
			std::jthread{[&] { got[0] = cq.wait(10s).has_value(); }},
			std::jthread{[&] { got[1] = cq.wait(10s).has_value(); }},
		};

		while (armed < 2)
			std::this_thread::sleep_for(1ms);
		std::this_thread::sleep_for(10ms);
		left = 2;
		kernel->raise(KRDMA_EVENT_COMPLETION, kernel->cookie(101));
	}
	EXPECT_EQ(got, (std::array{true, true}));
	EXPECT_FALSE(cq.events().wait(0ms));
}

TEST_F(Library, AnRnicThatGoesEndsWaits)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Listener listener{context, Address::parse("10.0.0.1")};
	const Connection connection = Connection::connect(qp, Address::parse("10.0.0.9:9"));
	const Context other = slow_context();
	const CompletionQueue of_other{other};
	std::array<int, 4> codes{};

	kernel->handlers[KRDMA_IOC_CQ_POLL] = [](void *argument) {
		static_cast<krdma_cq_poll *>(argument)->count = 0;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_CQ_NOTIFY] = [](void *) { return 0; };
	{
		const std::array threads{
			std::jthread{
				[&] { codes[0] = code_of([&] { (void)listener.wait(10s); }); }},
			std::jthread{[&] { codes[1] = code_of([&] { (void)cq.wait(10s); }); }},
			std::jthread{[&] {
				codes[2] =
					code_of([&] { Connection{connection}.established(10s); });
			}},
			std::jthread{
				[&] { codes[3] = code_of([&] { (void)qp.events().wait(10s); }); }},
		};

		std::this_thread::sleep_for(10ms);
		/* of the first context, which is object 100 */
		kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(100), 8);
	}
	EXPECT_EQ(codes, (std::array{ENODEV, ENODEV, ENODEV, ENODEV}));
	EXPECT_EQ(context.events().wait(0ms)->code, 8U);
	EXPECT_EQ(code_of([&] { (void)context.events().wait(0ms); }), ENODEV);
	EXPECT_FALSE(of_other.events().wait(1ms)) << "the other context lives";
	EXPECT_FALSE(session.events().wait(0ms));
}

TEST_F(Library, WhatWasToldBeforeAnRnicWentIsTaken)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Listener listener{context, Address::parse("10.0.0.1")};

	raise_connection(KRDMA_EVENT_CONN_REQUEST, kernel->cookie(104), 555);
	kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(100), 8);
	EXPECT_EQ(session.dispatch(), 2U);
	std::optional<ConnectionRequest> request = listener.wait(1s);
	ASSERT_TRUE(request);
	EXPECT_EQ(code_of([&] { (void)listener.wait(1s); }), ENODEV);
	/* accepted while it went */
	kernel->handlers[KRDMA_IOC_ACCEPT] = [](void *) { return 0; };
	Connection connection = request->accept(qp);
	EXPECT_EQ(code_of([&] { connection.established(1s); }), ENODEV);
}

TEST_F(Library, AUserLibrarysErrorIsExplained)
{
	const Context context = fast_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	const Slice slice{0x1000, 8, 7};

	ASSERT_TRUE(context.fast()) << context.why_slow();
	reinterpret_cast<krdma_soft_cq_ring *>(kernel->ring(0))->flags = KRDMA_SOFT_RING_DEAD;
	reinterpret_cast<krdma_soft_ring *>(kernel->ring(0x10000))->flags = KRDMA_SOFT_RING_DEAD;
	EXPECT_EQ(code_of([&] { (void)cq.wait(1s); }), EIO) << "the queue alone";
	EXPECT_EQ(code_of([&] { qp.send(1, slice); }), EIO);

	kernel->handlers[KRDMA_IOC_RNIC_QUERY] = [](void *) { return ENODEV; };
	EXPECT_EQ(code_of([&] { (void)cq.wait(1s); }), ENODEV);
	kernel->handlers.clear();

	kernel->raise(KRDMA_EVENT_ASYNC, kernel->cookie(100), 8);
	(void)session.dispatch();
	EXPECT_EQ(code_of([&] { (void)cq.wait(1s); }), ENODEV);
	EXPECT_EQ(code_of([&] { (void)cq.arm(); }), ENODEV);
	EXPECT_EQ(code_of([&] { qp.send(1, slice); }), ENODEV);
}

/* objects of any kind, over both paths, whose destructors run in a child: as exit() has it */
TEST_F(Library, AChildDestroysNothing)
{
	for (const bool fast : {false, true}) {
		std::optional<Context> context{fast ? fast_context() : slow_context()};
		std::optional<ProtectionDomain> pd{*context};
		std::optional<CompletionQueue> cq{*context};
		std::optional<QueuePair> qp{std::in_place, *pd, *cq, *cq};
		std::array<std::byte, 64> memory{};
		std::optional<MemoryRegion> region{std::in_place, *pd, memory, access::local_write};
		std::optional<Listener> listener{std::in_place, *context,
						 Address::parse("10.0.0.1")};
		std::optional<Connection> connection{
			Connection::connect(*qp, Address::parse("10.0.0.9:9"))};
		std::optional<Dispatcher> dispatcher{session};
		const std::size_t objects = kernel->objects();

		ASSERT_EQ(context->fast(), fast);
		cq->events().on_event([](const Event &) {});
		const std::size_t commands = kernel->log.size();
		const pid_t child = fork();
		if (child == 0) {
			alarm(20);
			dispatcher.reset();
			cq->events().on_event({});
			connection.reset();
			listener.reset();
			region.reset();
			qp.reset();
			cq.reset();
			pd.reset();
			context.reset();
			_exit(kernel->objects() == objects && kernel->log.size() == commands ? 0
											     : 1);
		}
		int status = -1;
		ASSERT_EQ(waitpid(child, &status, 0), child);
		EXPECT_EQ(status, 0);
		cq->events().on_event({});
	}
	EXPECT_EQ(kernel->objects(), 0U);
}

TEST_F(Library, AMalformedRecordIsAnError)
{
	const std::array<std::byte, 16> nonsense{};

	kernel->raise_raw(nonsense);
	EXPECT_EQ(code_of([&] { (void)session.dispatch(1s); }), EBADMSG);
	EXPECT_EQ(session.dispatch(), 0U);
}

TEST_F(Library, SlicesLieInTheirRegion)
{
	const ProtectionDomain pd{slow_context()};
	std::array<std::byte, 64> memory{};
	const MemoryRegion region{pd, memory, access::local_write};

	EXPECT_EQ(region.slice().length, 64U);
	EXPECT_EQ(region.slice(60, 4).address, region.address() + 60);
	EXPECT_THROW((void)region.slice(61, 4), std::out_of_range);
	EXPECT_THROW((void)region.slice(65, 0), std::out_of_range);
	EXPECT_THROW((void)region.slice(UINT64_MAX, 2), std::out_of_range);
}

TEST_F(Library, MemoryForThePeerInAMessage)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	std::array<std::byte, 64> memory{};
	const MemoryRegion region{pd, memory, access::local_write | access::remote_write};
	const Remote remote = region.remote(16);
	const std::array<std::byte, 12> packed = remote.pack();

	EXPECT_EQ(remote.address, region.address() + 16);
	EXPECT_EQ(remote.stag, region.stag());
	EXPECT_EQ(packed[8], std::byte{0});
	EXPECT_EQ(packed[10], std::byte{0x12});
	EXPECT_EQ(packed[11], std::byte{0x34});
	const Remote again = Remote::unpack(packed);
	EXPECT_EQ(again.address, remote.address);
	EXPECT_EQ(again.stag, remote.stag);
	EXPECT_EQ((again + 8).address, remote.address + 8);
	EXPECT_NO_THROW((void)region.remote(64));
	EXPECT_THROW((void)region.remote(65), std::out_of_range);
}

TEST_F(Library, MemoryThatIsOnlyRead)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	static constexpr std::array<std::byte, 8> memory{};
	std::uint32_t asked = 77;

	kernel->handlers[KRDMA_IOC_MR] = [&](void *argument) {
		asked = static_cast<krdma_mr *>(argument)->access;
		return 0;
	};
	(void)MemoryRegion::read_only(pd, memory);
	EXPECT_EQ(asked, 0U);
	(void)MemoryRegion::read_only(pd, memory, access::remote_read);
	EXPECT_EQ(asked, access::remote_read);
	for (const std::uint32_t writes :
	     {access::local_write, access::remote_write, access::remote_atomic})
		EXPECT_EQ(code_of([&] { (void)MemoryRegion::read_only(pd, memory, writes); }),
			  EINVAL);

	qp.send_inline(1, memory, {.signaled = false});
	qp.write_inline(2, memory, {0x1000, 5});
	ASSERT_EQ(kernel->posted.size(), 2U);
	EXPECT_EQ(kernel->posted[0].flags, KRDMA_SEND_INLINE);
	EXPECT_EQ(kernel->posted[1].flags, KRDMA_SEND_INLINE | KRDMA_SEND_SIGNALED);
	EXPECT_EQ(kernel->posted[1].opcode, std::uint32_t{KRDMA_WR_RDMA_WRITE});
	EXPECT_EQ(kernel->posted[1].remote_addr, 0x1000U);
}

/* completions that a slow queue has, and how often it is armed */
struct SlowQueue {
	explicit SlowQueue(FakeKernel &kernel)
	{
		kernel.handlers[KRDMA_IOC_CQ_POLL] = [this](void *argument) {
			auto &cmd = *static_cast<krdma_cq_poll *>(argument);
			auto *entries = reinterpret_cast<krdma_wc *>(cmd.entries);

			if (err)
				return err;
			cmd.count = std::min(cmd.count, left);
			for (std::uint32_t i = 0; i < cmd.count; i++) {
				entries[i] = {};
				entries[i].wr_id = next++;
			}
			left -= cmd.count;
			return 0;
		};
		kernel.handlers[KRDMA_IOC_CQ_NOTIFY] = [this](void *) {
			armed++;
			left += late;
			late = 0;
			return 0;
		};
	}

	std::uint32_t left{};
	std::uint32_t late{}; /* come while it is armed */
	std::uint64_t next{};
	unsigned int armed{};
	int err{};
};

TEST_F(Library, CompletionsByCallback)
{
	SlowQueue queue{*kernel};
	const Context context = slow_context();
	std::vector<std::uint64_t> ids;
	std::vector<int> failures;
	auto cq = std::make_optional<CompletionQueue>(context);
	const std::uint64_t cookie = kernel->cookie(cq->handle());

	queue.left = 70;
	queue.late = 5;
	cq->on_completion(
		[&](std::span<const Completion> some) {
			EXPECT_FALSE(some.empty());
			for (const Completion &one : some)
				ids.push_back(one.id());
		},
		[&](int err) { failures.push_back(err); });
	EXPECT_EQ(ids.size(), 75U) << "those that are there, and those that come meanwhile";
	EXPECT_TRUE(std::ranges::is_sorted(ids));
	EXPECT_EQ(queue.armed, 1U);

	queue.left = 1;
	kernel->raise(KRDMA_EVENT_COMPLETION, cookie);
	session.dispatch(1s);
	EXPECT_EQ(ids.size(), 76U);
	EXPECT_EQ(queue.armed, 2U);
	EXPECT_TRUE(failures.empty());

	/* a failed queue is reported once, after its last completions */
	queue.left = 2;
	kernel->raise(KRDMA_EVENT_ASYNC, cookie, KRDMA_ASYNC_CQ_ERR);
	kernel->raise(KRDMA_EVENT_COMPLETION, cookie);
	session.dispatch(1s);
	EXPECT_EQ(ids.size(), 78U);
	EXPECT_EQ(failures, std::vector{EIO});

	/* the callback keeps no queue */
	const std::uint32_t handle = cq->handle();
	cq.reset();
	EXPECT_FALSE(kernel->has(handle));
}

TEST_F(Library, AnRnicThatGoesWhileCompletionsAreTaken)
{
	SlowQueue queue{*kernel};
	const Context context = slow_context();
	const CompletionQueue cq{context};
	int failure = 0;

	queue.err = ENODEV;
	cq.on_completion([](std::span<const Completion>) { ADD_FAILURE(); },
			 [&](int err) { failure = err; });
	EXPECT_EQ(failure, ENODEV);
	/* without a callback for failures nothing leaves dispatch() */
	cq.on_completion([](std::span<const Completion>) { ADD_FAILURE(); });
	cq.on_completion({});
}

TEST_F(Library, AConnectHasItsOwnTime)
{
	const Context context = slow_context();
	const ProtectionDomain pd{context};
	const CompletionQueue cq{context};
	const QueuePair qp{pd, cq, cq};
	std::vector<std::uint32_t> times;

	kernel->handlers[KRDMA_IOC_CONNECT] = [&](void *argument) {
		times.push_back(static_cast<krdma_conn *>(argument)->timeout_ms);
		return 0;
	};
	const Address peer = Address::parse("10.0.0.2:7");
	(void)Connection::connect(qp, peer);
	(void)Connection::connect(qp, peer, {.timeout = 250ms});
	(void)Connection::connect(qp, peer, {.timeout = 0ms});
	(void)Connection::connect(qp, peer, {.timeout = std::chrono::hours{100000}});
	EXPECT_EQ(times, (std::vector<std::uint32_t>{0, 250, 1, UINT32_MAX}));
}

} /* namespace */
