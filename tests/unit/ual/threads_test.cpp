/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Threads that use the same objects of libkrdma at the same time, for ThreadSanitizer
 * (ual_tsan_test) and AddressSanitizer alike.
 */
#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include <krdma/krdma.hpp>

#include "fake_kernel.hpp"

namespace {

using namespace krdma;
using namespace std::chrono_literals;

constexpr unsigned int rounds = 500;

class Threads : public testing::Test {
protected:
	/* both at once, over and over */
	template <typename One, typename Two> static void race(One one, Two two)
	{
		std::atomic<unsigned int> here{};
		const auto run = [&](auto &action) {
			here++;
			while (here < 2)
				std::this_thread::yield();
			for (unsigned int i = 0; i < rounds; i++)
				action(i);
		};
		const std::jthread other{[&] { run(one); }};

		run(two);
	}

	std::shared_ptr<FakeKernel> kernel = std::make_shared<FakeKernel>();
	Session session{kernel};
	Context context{session.find("krdma0"), {.slow = true}};
	ProtectionDomain pd{context};
	CompletionQueue cq{context};
	QueuePair qp{pd, cq, cq};
};

TEST_F(Threads, ASliceIsOfOneTime)
{
	std::array<std::byte, 96> memory{};
	const std::span<std::byte> all{memory};
	const MemoryRegion region{pd, all.first(32), access::local_write};

	/* the STag says which memory it is */
	kernel->handlers[KRDMA_IOC_MR_REREGISTER] = [](void *argument) {
		auto &cmd = *static_cast<krdma_mr_reregister *>(argument);

		cmd.stag = static_cast<std::uint32_t>(cmd.start + cmd.length);
		return 0;
	};
	region.change_memory(all);
	race([&](unsigned int i) { region.change_memory(all.subspan(i % 32, 32 + i % 32)); },
	     [&](unsigned int) {
		     const Slice slice = region.slice();

		     EXPECT_EQ(slice.key, static_cast<std::uint32_t>(slice.address + slice.length));
		     (void)region.slice(1, 2);
		     (void)region.stag();
	     });
}

TEST_F(Threads, AWindowIsBoundByOneAtATime)
{
	std::array<std::byte, 64> memory{};
	kernel->handlers[KRDMA_IOC_MW] = [](void *argument) {
		static_cast<krdma_mw *>(argument)->handle = 4711;
		static_cast<krdma_mw *>(argument)->stag = 0x5600;
		return 0;
	};
	const MemoryWindow window{pd};
	const auto bind = [&](unsigned int) {
		const MemoryRegion region{pd, memory, access::local_write | access::window_bind};

		qp.bind(1, window, region, region.slice(), access::remote_write);
		(void)window.stag();
	};

	race(bind, bind);
	ASSERT_EQ(kernel->posted.size(), 2U * rounds);
	for (std::size_t i = 0; i < kernel->posted.size(); i++)
		EXPECT_EQ(kernel->posted[i].rkey, 0x5600U | ((i + 1) & 0xff));
	EXPECT_EQ(window.stag(), kernel->posted.back().rkey);
}

/* whoever comes first, the window's end or the region's: nothing is left */
TEST_F(Threads, AWindowAndItsRegionEnd)
{
	std::array<std::byte, 64> memory{};
	const std::size_t objects = kernel->objects();

	for (unsigned int i = 0; i < rounds; i++) {
		std::optional<MemoryRegion> region{std::in_place, pd, memory, access::window_bind};
		std::optional<MemoryWindow> window{std::in_place, pd, 1};
		std::atomic<unsigned int> here{};
		const auto end = [&here](auto &object) {
			here++;
			while (here < 2)
				std::this_thread::yield();
			object.reset();
		};

		kernel->need(window->handle(), region->handle());
		{
			const std::jthread other{[&] { end(region); }};

			end(window);
		}
		ASSERT_EQ(kernel->objects(), objects);
	}
}

TEST_F(Threads, AConnectionIsAskedWhileItIsMade)
{
	Connection connection = Connection::connect(qp, Address::parse("10.0.0.9:9"));
	const std::uint64_t cookie = kernel->cookie(connection.handle());
	const std::array<std::byte, 8> octets{std::byte{7}};

	race(
		[&](unsigned int) {
			krdma_conn_event event{};

			event.base.type = KRDMA_EVENT_CONN_REPLY;
			event.base.cookie = cookie;
			event.private_data_len = octets.size();
			kernel->raise(event, octets);
			connection.established(10s);
		},
		[&](unsigned int) {
			const ConnectionInfo info = connection.info();

			EXPECT_TRUE(info.private_data.empty() ||
				    info.private_data.front() == octets.front());
			EXPECT_EQ(connection.close_status(), EINPROGRESS);
		});
}

TEST_F(Threads, ADepthIsAskedWhileItChanges)
{
	kernel->handlers[KRDMA_IOC_CQ_MODIFY] = [](void *) { return 0; };
	race([&](unsigned int i) { cq.resize(i + 1); },
	     [&](unsigned int) { EXPECT_LE(cq.depth(), rounds); });
	EXPECT_EQ(cq.depth(), rounds);
}

TEST_F(Threads, CallbacksComeAndGoWhileEventsAreRead)
{
	std::atomic<unsigned int> seen{};
	const std::uint64_t cookie = kernel->cookie(102);

	race(
		[&](unsigned int) {
			kernel->raise(KRDMA_EVENT_ASYNC, cookie, 1);
			(void)session.dispatch();
		},
		[&](unsigned int) {
			cq.events().on_event([&](const Event &) { seen++; });
			cq.events().on_event({});
		});
	cq.events().on_event([&](const Event &) { seen++; });
	(void)session.dispatch();
	cq.events().on_event({});
	EXPECT_EQ(seen, rounds);
}

} /* namespace */
