/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The C interface over the fake kernel: errors, options, lists, callbacks, lifetimes. */
#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "c_api.hpp"
#include "fake_kernel.hpp"

namespace {

class CInterface : public testing::Test {
protected:
	void SetUp() override
	{
		ASSERT_EQ(ual_find(session.get(), "krdma0", &index), 0);
		ASSERT_EQ(ual_context_create(session.get(), index, KRDMA_SLOW, &context), 0);
		ASSERT_EQ(ual_pd_create(context, &pd), 0);
		ASSERT_EQ(ual_cq_create(context, nullptr, &cq), 0);
		ASSERT_EQ(ual_qp_create(pd, cq, cq, nullptr, &qp), 0);
	}

	void TearDown() override
	{
		/* the context first: the order is free */
		ual_context_destroy(context);
		ual_pd_destroy(pd);
		ual_qp_destroy(qp);
		ual_cq_destroy(cq);
		EXPECT_EQ(kernel->objects(), 0U);
	}

	std::shared_ptr<FakeKernel> kernel = std::make_shared<FakeKernel>();
	std::unique_ptr<ual_session> session = std::make_unique<ual_session>(kernel);
	std::uint32_t index{};
	ual_context *context{};
	ual_pd *pd{};
	ual_cq *cq{};
	ual_qp *qp{};
};

TEST_F(CInterface, ErrorsAreNegativeErrnos)
{
	std::uint32_t other = 7;
	ual_pd *none = nullptr;

	EXPECT_EQ(ual_find(session.get(), "nobody", &other), -ENODEV);
	EXPECT_EQ(other, 7U) << "nothing is written";
	EXPECT_EQ(ual_context_create(session.get(), 4711, 0, &context), -ENODEV);
	EXPECT_EQ(ual_context_create(session.get(), index, 8, &context), -EINVAL);
	kernel->handlers[KRDMA_IOC_PD] = [](void *) { return ENOSPC; };
	EXPECT_EQ(ual_pd_create(context, &none), -ENOSPC);
	EXPECT_EQ(none, nullptr);
	EXPECT_EQ(ual_ri_syscall(session.get(), KRDMA_IOC_PD, nullptr), -ENOSPC);
	EXPECT_EQ(ual_cq_poll(cq, nullptr, -1), -EINVAL);
}

TEST_F(CInterface, DestroysNothing)
{
	ual_close(nullptr);
	ual_context_destroy(nullptr);
	ual_qp_destroy(nullptr);
	ual_connection_destroy(nullptr);
	ual_listener_destroy(nullptr);
	ual_request_destroy(nullptr);
}

TEST_F(CInterface, OptionsHaveSizes)
{
	struct {
		ual_cq_options known;
		std::uint64_t later;
	} longer{UAL_CQ_OPTIONS, 0};
	ual_cq_options options = UAL_CQ_OPTIONS;
	ual_cq *made = nullptr;

	options.size = 0;
	EXPECT_EQ(ual_cq_create(context, &options, &made), -EINVAL);
	longer.known.size = sizeof(longer);
	ASSERT_EQ(ual_cq_create(context, &longer.known, &made), 0);
	ual_cq_destroy(made);
	longer.later = 1;
	EXPECT_EQ(ual_cq_create(context, &longer.known, &made), -E2BIG);
}

TEST_F(CInterface, OptionsOfAnEarlierHeader)
{
	ual_cq_options options = UAL_CQ_OPTIONS;
	ual_cq *made = nullptr;
	krdma_cq seen{};

	kernel->handlers[KRDMA_IOC_CQ] = [&](void *argument) {
		seen = *static_cast<krdma_cq *>(argument);
		return ENOSPC;
	};
	/* what is behind its size is not looked at */
	options.size = offsetof(ual_cq_options, times);
	options.depth = 17;
	options.times = 4711;
	options.reserved = 1;
	EXPECT_EQ(ual_cq_create(context, &options, &made), -ENOSPC);
	EXPECT_EQ(seen.depth, 17U);
	EXPECT_EQ(seen.flags, 0U);
	options.size--;
	EXPECT_EQ(ual_cq_create(context, &options, &made), -EINVAL);
	options.size = sizeof(options);
	EXPECT_EQ(ual_cq_create(context, &options, &made), -EINVAL);
	options.times = 1;
	EXPECT_EQ(ual_cq_create(context, &options, &made), -EINVAL) << "reserved";
	options.reserved = 0;
	EXPECT_EQ(ual_cq_create(context, &options, &made), -EOPNOTSUPP) << "through the kernel";
}

TEST_F(CInterface, TimesOfAQueueWithout)
{
	std::array<krdma_wc, 2> entries{};
	std::array<krdma_wc_time, 2> times{};

	EXPECT_EQ(ual_cq_poll_times(cq, entries.data(), times.data(), 2), -EINVAL);
	EXPECT_EQ(ual_cq_poll_times(cq, entries.data(), times.data(), -1), -EINVAL);
}

TEST_F(CInterface, DrainAndResume)
{
	std::vector<std::array<std::uint32_t, 3>> seen;

	kernel->handlers[KRDMA_IOC_QP_MODIFY] = [&](void *argument) {
		const auto &cmd = *static_cast<const krdma_qp_attr *>(argument);

		seen.push_back({cmd.mask, cmd.state, cmd.sqd_notify});
		return 0;
	};
	EXPECT_EQ(ual_qp_drain(qp, 7), 0);
	EXPECT_EQ(ual_qp_drain(qp, 0), 0);
	EXPECT_EQ(ual_qp_resume(qp), 0);
	constexpr std::uint32_t rest = KRDMA_QP_STATE | KRDMA_QP_SQD_NOTIFY;
	const std::vector<std::array<std::uint32_t, 3>> wanted = {
		{rest, KRDMA_QP_STATE_SQD, 1},
		{rest, KRDMA_QP_STATE_SQD, 0},
		{KRDMA_QP_STATE, KRDMA_QP_STATE_RTS, 0},
	};
	EXPECT_EQ(seen, wanted);
}

TEST_F(CInterface, OptionsReachTheKernel)
{
	ual_qp_options options = UAL_QP_OPTIONS;
	ual_srq *srq = nullptr;
	ual_qp *made = nullptr;
	krdma_qp seen{};

	kernel->handlers[KRDMA_IOC_SRQ] = [](void *argument) {
		static_cast<krdma_srq *>(argument)->handle = 4711;
		return 0;
	};
	ASSERT_EQ(ual_srq_create(pd, nullptr, &srq), 0);
	EXPECT_EQ(ual_srq_handle(srq), 4711U);
	options.max_send_wr = 11;
	options.max_send_sge = 3;
	options.flags = KRDMA_QP_SIGNAL_ALL;
	options.srq = srq;
	kernel->handlers[KRDMA_IOC_QP] = [&](void *argument) {
		seen = *static_cast<krdma_qp *>(argument);
		return ENOMEM;
	};
	EXPECT_EQ(ual_qp_create(pd, cq, cq, &options, &made), -ENOMEM);
	EXPECT_EQ(seen.max_send_wr, 11U);
	EXPECT_EQ(seen.max_send_sge, 3U);
	EXPECT_EQ(seen.flags, std::uint32_t{KRDMA_QP_SIGNAL_ALL});
	EXPECT_EQ(seen.srq, 4711U);
	options.flags = 1U << 5;
	EXPECT_EQ(ual_qp_create(pd, cq, cq, &options, &made), -EINVAL);
	ual_srq_destroy(srq);
}

TEST_F(CInterface, ReceivesOfSharedQueueInAList)
{
	std::array<krdma_wr, 3> requests{};
	ual_srq *srq = nullptr;
	int error = 7;

	kernel->handlers[KRDMA_IOC_SRQ] = [](void *argument) {
		static_cast<krdma_srq *>(argument)->handle = 4711;
		return 0;
	};
	ASSERT_EQ(ual_srq_create(pd, nullptr, &srq), 0);
	for (std::size_t i = 0; i < requests.size(); i++)
		requests[i].wr_id = i;
	EXPECT_EQ(ual_post_srq(srq, requests.data(), 3, &error), 3U);
	EXPECT_EQ(error, 0);
	ASSERT_EQ(kernel->posted.size(), 3U);
	EXPECT_EQ(kernel->posted[2].wr_id, 2U);
	kernel->handlers[KRDMA_IOC_POST_SRQ] = [](void *argument) {
		auto &cmd = *static_cast<krdma_post *>(argument);

		cmd.done = cmd.count / 2;
		return ENOMEM;
	};
	EXPECT_EQ(ual_post_srq(srq, requests.data(), 3, &error), 1U);
	EXPECT_EQ(error, -ENOMEM);
	EXPECT_EQ(ual_srq_post(srq, 1, nullptr, 0), -ENOMEM);
	ual_srq_destroy(srq);
}

TEST_F(CInterface, RegionsAnywhereAndInOtherDomains)
{
	std::array<std::byte, 64> memory{};
	krdma_mr_reregister changed{};
	ual_context *elsewhere = nullptr;
	ual_pd *second = nullptr;
	ual_pd *foreign = nullptr;
	ual_mr *mr = nullptr;
	krdma_mr seen{};

	kernel->handlers[KRDMA_IOC_MR] = [&](void *argument) {
		seen = *static_cast<krdma_mr *>(argument);
		static_cast<krdma_mr *>(argument)->handle = 4712;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_MR_REREGISTER] = [&](void *argument) {
		changed = *static_cast<krdma_mr_reregister *>(argument);
		static_cast<krdma_mr_reregister *>(argument)->stag = 0x99;
		return 0;
	};
	ASSERT_EQ(ual_pd_create(context, &second), 0);
	ASSERT_EQ(ual_mr_create_at(pd, memory.data(), 64, 0x7000, KRDMA_ACCESS_LOCAL_WRITE, &mr),
		  0);
	EXPECT_EQ(seen.iova, 0x7000U);
	EXPECT_EQ(seen.start, reinterpret_cast<std::uintptr_t>(memory.data()));
	EXPECT_EQ(ual_mr_handle(mr), 4712U);
	EXPECT_EQ(ual_mr_address(mr), 0x7000U);

	EXPECT_EQ(ual_mr_set_memory_at(mr, memory.data(), 32, 0x8000), 0);
	EXPECT_EQ(changed.mask, KRDMA_REREG_TRANSLATION);
	EXPECT_EQ(changed.iova, 0x8000U);
	EXPECT_EQ(ual_mr_address(mr), 0x8000U);

	EXPECT_EQ(ual_mr_set_pd(mr, second), 0);
	EXPECT_EQ(changed.mask, KRDMA_REREG_PD);
	EXPECT_EQ(changed.pd, ual_pd_handle(second));
	EXPECT_EQ(ual_mr_stag(mr), 0x99U);
	EXPECT_EQ(ual_mr_address(mr), 0x8000U);

	/* whose handle may be a domain's here */
	ASSERT_EQ(ual_context_create(session.get(), index, 0, &elsewhere), 0);
	ASSERT_EQ(ual_pd_create(elsewhere, &foreign), 0);
	EXPECT_EQ(ual_mr_set_pd(mr, foreign), -EINVAL);
	ual_mr_destroy(mr);
	ual_pd_destroy(second);
	ual_pd_destroy(foreign);
	ual_context_destroy(elsewhere);
}

TEST_F(CInterface, NumbersForOtherCommands)
{
	ual_mw *mw = nullptr;

	kernel->handlers[KRDMA_IOC_MW] = [](void *argument) {
		static_cast<krdma_mw *>(argument)->stag = 0x56ff;
		return 0;
	};
	ASSERT_EQ(ual_mw_create(pd, 2, &mw), 0);
	EXPECT_EQ(ual_mw_stag(mw), 0x56ffU);
	EXPECT_EQ(ual_mw_next_stag(mw), 0x5600U);
	EXPECT_EQ(ual_context_handle(context), context->object.handle());
	EXPECT_EQ(ual_pd_handle(pd), pd->object.handle());
	EXPECT_EQ(ual_pd_id(pd), pd->object.id());
	EXPECT_EQ(ual_cq_handle(cq), cq->object.handle());
	EXPECT_NE(ual_cq_handle(cq), ual_pd_handle(pd));
	ual_mw_destroy(mw);
}

TEST_F(CInterface, RequestsAreAsSaid)
{
	const krdma_sge slice{0x1000, 64, 7};

	EXPECT_EQ(ual_send(qp, 5, &slice, 1, KRDMA_SEND_SOLICITED), 0);
	EXPECT_EQ(
		ual_write_immediate(qp, 6, &slice, 1, {0x2000, 9}, 0x01020304, KRDMA_SEND_SIGNALED),
		0);
	EXPECT_EQ(ual_compare_swap(qp, 7, &slice, {0x3000, 8}, 3, 4, 0), 0);
	EXPECT_EQ(ual_send(qp, 8, &slice, 1, 1U << 9), -EINVAL);
	ASSERT_EQ(kernel->posted.size(), 3U);
	EXPECT_EQ(kernel->posted[0].opcode, 2U);
	EXPECT_EQ(kernel->posted[0].flags, std::uint32_t{KRDMA_SEND_SOLICITED});
	EXPECT_EQ(kernel->posted[0].num_sge, 1U);
	EXPECT_EQ(kernel->posted[1].opcode, 1U);
	EXPECT_EQ(kernel->posted[1].imm, htonl(0x01020304));
	EXPECT_EQ(kernel->posted[1].rkey, 9U);
	EXPECT_EQ(kernel->posted[2].compare_add, 3U);
	EXPECT_EQ(kernel->posted[2].swap, 4U);

	const std::array<krdma_wr, 2> two{kernel->posted[0], kernel->posted[1]};
	int error = 1;
	EXPECT_EQ(ual_post_send(qp, two.data(), two.size(), &error), 2U);
	EXPECT_EQ(error, 0);
	kernel->handlers[KRDMA_IOC_POST_SEND] = [](void *argument) {
		static_cast<krdma_post *>(argument)->done = 1;
		return ENOMEM;
	};
	EXPECT_EQ(ual_post_send(qp, two.data(), two.size(), &error), 1U);
	EXPECT_EQ(error, -ENOMEM);
	EXPECT_EQ(ual_send(qp, 5, &slice, 1, 0), 0) << "one was posted";
}

TEST_F(CInterface, SlicesStayInTheirRegion)
{
	std::array<std::byte, 64> memory{};
	ual_mr *mr = nullptr;
	krdma_sge slice{};

	ASSERT_EQ(ual_mr_create(pd, memory.data(), memory.size(), 1, &mr), 0);
	EXPECT_EQ(ual_mr_slice(mr, 60, 4, &slice), 0);
	EXPECT_EQ(slice.addr, ual_mr_address(mr) + 60);
	EXPECT_EQ(slice.lkey, ual_mr_stag(mr));
	EXPECT_EQ(ual_mr_slice(mr, 60, 5, &slice), -ERANGE);
	ual_mr_destroy(mr);
}

TEST_F(CInterface, ListsSayHowMuchThereIs)
{
	krdma_rnic_entry entry{};
	std::array<krdma_counter, 2> counters{};

	EXPECT_EQ(ual_devices(session.get(), nullptr, 0), 1);
	EXPECT_EQ(ual_devices(session.get(), &entry, 1), 1);
	EXPECT_STREQ(entry.name, "krdma0");
	kernel->handlers[KRDMA_IOC_MIB] = [](void *argument) {
		auto &cmd = *static_cast<krdma_mib *>(argument);
		auto *entries = reinterpret_cast<krdma_counter *>(cmd.entries);

		for (std::uint32_t i = 0; i < 3 && i < cmd.count; i++)
			entries[i] = {"tcpInSegs", i};
		cmd.count = 3;
		return 0;
	};
	EXPECT_EQ(ual_mib(session.get(), counters.data(), counters.size()), 3);
	EXPECT_STREQ(counters[1].name, "tcpInSegs");
	EXPECT_EQ(counters[1].value, 1U);
}

TEST_F(CInterface, TextIsCutAndEnded)
{
	krdma_addr address{};
	std::array<char, 8> text;

	EXPECT_EQ(ual_addr_parse("not one", &address), -EINVAL);
	ASSERT_EQ(ual_addr_parse("[fd00::1]:7000", &address), 0);
	EXPECT_EQ(ual_addr_port(&address), 7000);
	EXPECT_EQ(ual_addr_format(&address, text.data(), text.size()), 14U);
	EXPECT_STREQ(text.data(), "[fd00::");
	EXPECT_EQ(ual_addr_format(&address, nullptr, 0), 14U);
	EXPECT_EQ(ual_event_name(KRDMA_EVENT_CLOSED, text.data(), text.size()), 6U);
	EXPECT_STREQ(text.data(), "closed");
	EXPECT_EQ(ual_async_name(KRDMA_ASYNC_QP_FATAL, text.data(), text.size()), 8U);
	EXPECT_STREQ(text.data(), "qp-fata");
	EXPECT_STREQ(ual_status_text(KRDMA_STATUS_WR_FLUSH_ERR), "flushed");
	EXPECT_STREQ(ual_status_text(4711), "unknown status");
}

TEST_F(CInterface, CompletionsTellWhatCameWithThem)
{
	krdma_wc entry{};
	std::uint32_t value = 7;

	entry.imm = htonl(0x01020304);
	EXPECT_EQ(ual_wc_immediate(&entry, &value), 0);
	EXPECT_EQ(ual_wc_invalidated(&entry, &value), 0);
	EXPECT_EQ(value, 7U) << "nothing is written";
	entry.flags = KRDMA_WC_WITH_IMM;
	EXPECT_EQ(ual_wc_invalidated(&entry, &value), 0);
	EXPECT_EQ(ual_wc_immediate(&entry, &value), 1);
	EXPECT_EQ(value, 0x01020304U);
	entry.flags = KRDMA_WC_WITH_INV;
	entry.imm = 0x1234;
	EXPECT_EQ(ual_wc_immediate(&entry, &value), 0);
	EXPECT_EQ(ual_wc_invalidated(&entry, &value), 1);
	EXPECT_EQ(value, 0x1234U) << "an STag is no octets of the network";
	EXPECT_EQ(ual_wc_invalidated(&entry, nullptr), 1);
}

TEST_F(CInterface, StructuresThatAreAnsweredNeedNoSize)
{
	krdma_qp_attr attr{};
	krdma_usage usage{};

	kernel->handlers[KRDMA_IOC_QP_QUERY] = [](void *argument) {
		auto &cmd = *static_cast<krdma_qp_attr *>(argument);

		EXPECT_EQ(cmd.size, sizeof(cmd));
		cmd.state = KRDMA_QP_STATE_RTS;
		return 0;
	};
	kernel->handlers[KRDMA_IOC_USAGE] = [](void *argument) {
		EXPECT_EQ(static_cast<krdma_usage *>(argument)->size, sizeof(krdma_usage));
		return 0;
	};
	EXPECT_EQ(ual_qp_query(qp, &attr), 0);
	EXPECT_EQ(attr.state, std::uint32_t{KRDMA_QP_STATE_RTS});
	EXPECT_EQ(ual_usage(session.get(), &usage), 0);
}

TEST_F(CInterface, OptionsBeginAsTheirMacrosSay)
{
	const ual_conn_options connection = UAL_CONN_OPTIONS;
	const ual_qp_options queues = UAL_QP_OPTIONS;
	const ual_listen_options listener = UAL_LISTEN_OPTIONS;
	const ual_srq_options shared = UAL_SRQ_OPTIONS;

	EXPECT_EQ(connection.ird, krdma::ConnectionOptions{}.ird);
	EXPECT_EQ(connection.ord, krdma::ConnectionOptions{}.ord);
	EXPECT_EQ(connection.tos, -1);
	EXPECT_EQ(queues.max_send_wr, krdma::QueuePairOptions{}.max_send_wr);
	EXPECT_EQ(queues.max_recv_sge, krdma::QueuePairOptions{}.max_recv_sge);
	EXPECT_EQ(queues.srq, nullptr);
	EXPECT_EQ(listener.backlog, krdma::ListenerOptions{}.backlog);
	EXPECT_EQ(listener.tos, -1);
	EXPECT_EQ(shared.max_wr, krdma::ReceiveQueueOptions{}.max_wr);
}

TEST_F(CInterface, EventsAreWaitedForOrCalledBack)
{
	const std::uint64_t cookie = kernel->cookie(ual_cq_handle(cq));
	ual_event event{};
	std::vector<std::uint32_t> codes;

	EXPECT_EQ(ual_event_wait(ual_cq_events(cq), &event, 0), 0);
	kernel->raise(KRDMA_EVENT_ASYNC, cookie, 3);
	EXPECT_EQ(ual_event_wait(ual_cq_events(cq), &event, 1000), 1);
	EXPECT_EQ(event.code, 3U);

	ASSERT_EQ(ual_event_callback(
			  ual_cq_events(cq),
			  [](void *arg, const ual_event *got) {
				  static_cast<std::vector<std::uint32_t> *>(arg)->push_back(
					  got->code);
			  },
			  &codes),
		  0);
	kernel->raise(KRDMA_EVENT_ASYNC, cookie, 4);
	kernel->raise(KRDMA_EVENT_ASYNC, cookie, 5);
	EXPECT_EQ(ual_dispatch(session.get(), 1000), 2);
	EXPECT_EQ(codes, (std::vector<std::uint32_t>{4, 5}));
	/* the queue pair keeps the queue, but the destroyed object has no callback */
	ual_cq_destroy(std::exchange(cq, nullptr));
	kernel->raise(KRDMA_EVENT_ASYNC, cookie, 6);
	EXPECT_EQ(ual_dispatch(session.get(), 1000), 1);
	EXPECT_EQ(codes.size(), 2U);
}

TEST_F(CInterface, ConnectionsTellPrivateData)
{
	const std::array<std::byte, 3> octets{std::byte{1}, std::byte{2}, std::byte{3}};
	ual_conn_options options = UAL_CONN_OPTIONS;
	ual_connection *connection = nullptr;
	ual_conn_info info{};
	krdma_addr remote{};

	ASSERT_EQ(ual_addr_parse("10.0.0.9:9", &remote), 0);
	options.tos = 256;
	EXPECT_EQ(ual_connect(qp, &remote, &options, &connection), -EINVAL);
	ASSERT_EQ(ual_connect(qp, &remote, nullptr, &connection), 0);
	EXPECT_EQ(ual_established(connection, 0), -ETIMEDOUT);

	krdma_conn_event refusal{};
	refusal.base.type = KRDMA_EVENT_CONN_REPLY;
	refusal.base.cookie = kernel->cookie(connection->object.handle());
	refusal.base.status = -ECONNREFUSED;
	refusal.private_data_len = octets.size();
	kernel->raise(refusal, octets);
	EXPECT_EQ(ual_close_status(connection), -EINPROGRESS);
	EXPECT_EQ(ual_established(connection, 1000), -ECONNREFUSED);
	EXPECT_EQ(ual_close_status(connection), -ECONNREFUSED);
	ual_connection_info(connection, &info);
	ASSERT_EQ(info.private_data_len, octets.size());
	EXPECT_EQ(std::memcmp(info.private_data, octets.data(), octets.size()), 0);
	ual_connection_destroy(connection);
}

TEST_F(CInterface, RequestsOfAListenerAreTheCallbacks)
{
	ual_listener *listener = nullptr;
	ual_request *asked = nullptr;
	unsigned int destroyed = 0;
	krdma_addr local{};

	ASSERT_EQ(ual_addr_parse("10.0.0.1:0", &local), 0);
	ASSERT_EQ(ual_listen(context, &local, nullptr, &listener), 0);
	ASSERT_EQ(ual_listener_callback(
			  listener,
			  [](void *arg, ual_request *request) {
				  *static_cast<ual_request **>(arg) = request;
			  },
			  &asked),
		  0);
	krdma_conn_event event{};
	event.base.type = KRDMA_EVENT_CONN_REQUEST;
	event.base.cookie = kernel->cookie(ual_qp_handle(qp) + 1);
	event.conn = 555;
	event.ird = 4;
	kernel->raise(event);
	EXPECT_EQ(ual_dispatch(session.get(), 1000), 1);
	ASSERT_NE(asked, nullptr);
	ual_conn_info info{};
	ual_request_info(asked, &info);
	EXPECT_EQ(info.ird, 4U);
	{
		const auto other = std::make_unique<ual_session>(std::make_shared<FakeKernel>());
		ual_context *there = nullptr;
		ual_pd *domain = nullptr;
		ual_cq *queue = nullptr;
		ual_qp *stranger = nullptr;
		ual_connection *none = nullptr;

		ASSERT_EQ(ual_context_create(other.get(), index, KRDMA_SLOW, &there), 0);
		ASSERT_EQ(ual_pd_create(there, &domain), 0);
		ASSERT_EQ(ual_cq_create(there, nullptr, &queue), 0);
		ASSERT_EQ(ual_qp_create(domain, queue, queue, nullptr, &stranger), 0);
		EXPECT_EQ(ual_accept(asked, stranger, nullptr, &none), -EINVAL);
		EXPECT_EQ(none, nullptr);
		ual_qp_destroy(stranger);
		ual_cq_destroy(queue);
		ual_pd_destroy(domain);
		ual_context_destroy(there);
	}
	kernel->handlers[KRDMA_IOC_DESTROY] = [&](void *argument) {
		EXPECT_EQ(static_cast<krdma_destroy *>(argument)->handle, 555U);
		destroyed++;
		return 0;
	};
	ual_request_destroy(asked);
	EXPECT_EQ(destroyed, 1U) << "it is refused";
	kernel->handlers.erase(KRDMA_IOC_DESTROY);
	ual_listener_destroy(listener);
}

} /* namespace */
