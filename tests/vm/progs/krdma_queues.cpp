/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of queues: new sizes under load, events and their moderation, the states of a queue
 * pair, flushing, and a full completion queue. The output has one line for each check. The
 * last line is the verdict.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <thread>

#include "queues.hpp"

namespace queues {
namespace {

using rdma::must;
using rdma::require;
using rdma::require_eq;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::byte fill{0xa5};

/* Completion queues ******************************************************** */

void expect_in_order(rdma::Queue &queue, std::uint64_t first, std::uint64_t n)
{
	for (std::uint64_t i = 0; i < n; i++) {
		const ibv_wc wc = queue.wait();

		rdma::require_status(wc, IBV_WC_SUCCESS, "message");
		require_eq(wc.wr_id, first + i, "order of completions");
	}
	require(!queue.poll(), "a completion too many");
}

/* send n messages, whose completions wait at the server on return */
void leave_waiting(Link &link, std::uint64_t first, std::uint64_t n)
{
	for (std::uint64_t i = 0; i < n; i++)
		must(link.server->post_recv(link.target(), first + i), "post_recv");
	for (std::uint64_t i = 0; i < n; i++)
		must(link.client->post_send(link.source(), 0), "post_send");
	link.fence();
}

void cq_resize_keeps_what_waits(World &world)
{
	Link link{world, {.cqe = 8}};
	ibv_cq *cq = link.server->recvs.cq();

	require_eq(cq->cqe, 8, "entries of the new CQ");
	leave_waiting(link, 0, 6);
	must(ibv_resize_cq(cq, 20), "to 20");
	require_eq(cq->cqe, 32, "entries after it grew");
	require_eq(ibv_resize_cq(cq, 4), EINVAL, "to 4 with 6 waiting");
	require_eq(cq->cqe, 32, "entries after a refusal");
	require_eq(ibv_resize_cq(cq, 0), EINVAL, "to 0");
	require_eq(ibv_resize_cq(cq, world.device().max_cqe + 1), EINVAL, "above max_cqe");
	must(ibv_resize_cq(cq, 6), "to just what waits");
	require_eq(cq->cqe, 8, "entries after it shrank");
	expect_in_order(link.server->recvs, 0, 6);

	/* also across the end of the ring, after resizing in both directions */
	leave_waiting(link, 6, 7);
	must(ibv_resize_cq(cq, 16), "to 16");
	leave_waiting(link, 13, 9);
	expect_in_order(link.server->recvs, 6, 16);
	must(ibv_resize_cq(cq, 1), "to 1 when empty");
	leave_waiting(link, 22, 1);
	expect_in_order(link.server->recvs, 22, 1);
}

void cq_resize_keeps_it_armed(World &world)
{
	Link link{world};

	link.server->recvs.arm(false);
	must(ibv_resize_cq(link.server->recvs.cq(), 200), "resize");
	leave_waiting(link, 0, 1);
	require(link.server->recvs.event(5s), "no event after the resize");
	expect_in_order(link.server->recvs, 0, 1);
	require(!link.server->recvs.event(100ms), "an event too many");
}

void cq_resize_under_load(World &world)
{
	constexpr std::uint64_t total = 6000;
	constexpr std::uint64_t window = 16;
	Link link{world, {.cqe = 64}};
	std::atomic<bool> done{false};
	std::atomic<std::uint64_t> received{0};
	unsigned int resizes = 0;

	for (std::uint64_t i = 0; i < window; i++)
		must(link.server->post_recv(link.target(), i), "post_recv");
	auto resizer = std::async(std::launch::async, [&] {
		constexpr std::array sizes{64, 17, 4096, 128, 32, 1000};

		for (; !done; resizes++) {
			const int size = sizes[resizes % sizes.size()];

			must(ibv_resize_cq(link.server->recvs.cq(), size), "receive CQ");
			must(ibv_resize_cq(link.client->sends.cq(), size), "send CQ");
			std::this_thread::sleep_for(1ms);
		}
	});
	auto sender = std::async(std::launch::async, [&] {
		for (std::uint64_t i = 0; i < total; i++) {
			while (i - received.load() >= window)
				std::this_thread::yield();
			must(link.client->post_send(link.source(), IBV_SEND_SIGNALED, i),
			     "post_send");
			const ibv_wc wc = link.client->sends.wait();
			rdma::require_status(wc, IBV_WC_SUCCESS, "Send");
			require_eq(wc.wr_id, i, "order of Sends");
		}
	});
	for (std::uint64_t i = 0; i < total; i++) {
		const ibv_wc wc = link.server->recvs.wait();

		rdma::require_status(wc, IBV_WC_SUCCESS, "receive");
		require_eq(wc.wr_id, i, "order of receives");
		must(link.server->post_recv(link.target(), i + window), "post_recv");
		received++;
	}
	sender.get();
	done = true;
	resizer.get();
	require(resizes > 10, "hardly a resize under load");
}

void cq_moderation(World &world)
{
	constexpr auto period = 60ms;
	Link link{world};
	ibv_modify_cq_attr attr{};
	ibv_device_attr_ex device{};

	must(ibv_query_device_ex(world.context(), nullptr, &device), "ibv_query_device_ex");
	require(device.cq_mod_caps.max_cq_count >= 100, "max_cq_count");
	require(device.cq_mod_caps.max_cq_period >= 60000, "max_cq_period");
	attr.attr_mask = IBV_CQ_ATTR_MODERATE;
	attr.moderate.cq_count = 5;
	attr.moderate.cq_period = 60000;
	must(ibv_modify_cq(link.server->recvs.cq(), &attr), "ibv_modify_cq");

	/* fewer completions than the count wait for the period */
	link.server->recvs.arm(false);
	const auto begin = steady_clock::now();
	leave_waiting(link, 0, 2);
	require(link.server->recvs.event(10s), "no event after the time");
	require(steady_clock::now() - begin >= period, "event before the time");
	expect_in_order(link.server->recvs, 0, 2);

	/* that many completions do not wait, but there is no event for the first of them */
	link.server->recvs.arm(false);
	leave_waiting(link, 2, 5);
	require(link.server->recvs.event(10s), "no event after the count");
	expect_in_order(link.server->recvs, 2, 5);

	/* when moderation ends, a waiting event comes at once, and no other */
	attr.moderate.cq_count = 1000;
	must(ibv_modify_cq(link.server->recvs.cq(), &attr), "ibv_modify_cq");
	link.server->recvs.arm(false);
	leave_waiting(link, 7, 1);
	attr.moderate.cq_period = 0;
	must(ibv_modify_cq(link.server->recvs.cq(), &attr), "end of moderation");
	require(link.server->recvs.event(10s), "no event after the end of moderation");
	require(!link.server->recvs.event(100ms), "an event too many");
	expect_in_order(link.server->recvs, 7, 1);
	attr.attr_mask = 0;
	require(ibv_modify_cq(link.server->recvs.cq(), &attr) != 0, "modify of nothing");
}

void cq_vectors(World &world)
{
	ibv_context *context = world.context();
	const rdma::Channel channel{must(ibv_create_comp_channel(context), "channel")};

	errno = 0;
	require(!rdma::Cq{ibv_create_cq(context, 4, nullptr, channel.get(),
					context->num_comp_vectors)},
		"a vector that is not there");
	require_eq(errno, EINVAL, "a vector that is not there");
	require(context->num_comp_vectors > 0, "no completion vectors");
	for (int vector = 0; vector < context->num_comp_vectors; vector++) {
		Link link{world, {.vector = vector}};

		for (std::uint64_t i = 0; i < 20; i++) {
			link.server->recvs.arm(false);
			leave_waiting(link, i, 1);
			require(link.server->recvs.event(10s), "no event of the vector");
			expect_in_order(link.server->recvs, i, 1);
		}
	}
}

void solicited_events(World &world)
{
	Link link{world};

	link.server->recvs.arm(true);
	leave_waiting(link, 0, 2);
	require(!link.server->recvs.event(100ms), "event of an unsolicited message");
	must(link.server->post_recv(link.target(), 2), "post_recv");
	must(link.client->post_send(link.source(), IBV_SEND_SOLICITED), "post_send");
	require(link.server->recvs.event(10s), "no event of a solicited message");
	expect_in_order(link.server->recvs, 0, 3);
}

/* count the events until none has come for a while */
std::vector<ibv_async_event> events_of(World &world)
{
	std::vector<ibv_async_event> all;

	while (auto event = rdma::async_event(world.context(), all.empty() ? 10000ms : 300ms))
		all.push_back(*event);
	return all;
}

/* there is one event, and it is that event */
bool only(const std::vector<ibv_async_event> &events, ibv_event_type wanted)
{
	return events.size() == 1 && events[0].event_type == wanted;
}

void cq_overflow(World &world)
{
	Link link{world, {.cqe = 4}};

	for (std::uint64_t i = 0; i < 8; i++)
		must(link.server->post_recv(link.target(), i), "post_recv");
	for (std::uint64_t i = 0; i < 8; i++)
		must(link.client->post_send(link.source(), 0), "post_send");
	/* the peer gets a Terminate and may have its own events */
	const auto events = events_of(world);
	require_eq(std::count_if(events.begin(), events.end(),
				 [&](const ibv_async_event &event) {
					 return event.event_type == IBV_EVENT_CQ_ERR &&
						event.element.cq == link.server->recvs.cq();
				 }),
		   1, "IBV_EVENT_CQ_ERR");
	require_eq(std::count_if(events.begin(), events.end(),
				 [&](const ibv_async_event &event) {
					 return event.event_type == IBV_EVENT_QP_FATAL &&
						event.element.qp == link.server->qp();
				 }),
		   1, "IBV_EVENT_QP_FATAL");
	link.server->wait_for_state(IBV_QPS_ERR);
	/* older completions can still be read */
	expect_in_order(link.server->recvs, 0, 4);
}

/* Shared receive queues **************************************************** */

void srq_resize(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	rdma::Memory memory{pd.get(), message_size, IBV_ACCESS_LOCAL_WRITE};
	ibv_srq_init_attr_ex init{};
	ibv_srq_attr attr{};
	ibv_sge sge = memory.sge();
	ibv_recv_wr wr{};
	ibv_recv_wr *bad = nullptr;

	init.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
	init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	init.srq_type = IBV_SRQT_BASIC;
	init.pd = pd.get();
	const rdma::Srq srq{must(ibv_create_srq_ex(world.context(), &init), "ibv_create_srq_ex")};
	wr.sg_list = &sge;
	wr.num_sge = 1;
	for (wr.wr_id = 0; wr.wr_id < 6; wr.wr_id++)
		must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");

	const auto resize = [&](std::uint32_t max_wr, int mask = IBV_SRQ_MAX_WR) {
		attr.max_wr = max_wr;
		return ibv_modify_srq(srq.get(), &attr, mask);
	};
	const auto granted = [&] {
		must(ibv_query_srq(srq.get(), &attr), "ibv_query_srq");
		return attr.max_wr;
	};
	must(resize(20), "to 20");
	require_eq(granted(), 32U, "entries after it grew");
	require_eq(resize(4), EINVAL, "to 4 with 6 posted");
	require_eq(resize(0), EINVAL, "to 0");
	require_eq(resize(static_cast<std::uint32_t>(world.device().max_srq_wr) + 1), EINVAL,
		   "above max_srq_wr");
	attr.srq_limit = 9;
	require_eq(resize(8, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL, "limit above the new size");
	require_eq(granted(), 32U, "entries after refusals");
	require_eq(attr.srq_limit, 0U, "limit after refusals");
	/* a size below the old limit, together with a new limit that fits */
	attr.srq_limit = 20;
	must(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT), "limit of 20");
	require_eq(resize(6), EINVAL, "below the limit");
	require_eq(granted(), 32U, "entries after a refusal");
	require_eq(attr.srq_limit, 20U, "limit after a refusal");
	attr.srq_limit = 2;
	must(resize(6, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), "to just what is posted");
	require_eq(granted(), 8U, "entries after it shrank");
	require_eq(attr.srq_limit, 2U, "limit after it shrank");
	for (; wr.wr_id < 8; wr.wr_id++)
		must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");
	require_eq(ibv_post_srq_recv(srq.get(), &wr, &bad), ENOMEM, "full SRQ");

	/* all entries are used, in order; the limit event comes once, LAST_WQE at the end */
	Link link{world, {.pd = pd.get(), .srq = srq.get()}};
	for (int i = 0; i < 8; i++)
		must(link.client->post_send(link.source(), 0), "post_send");
	expect_in_order(link.server->recvs, 0, 8);
	auto events = events_of(world);
	require(only(events, IBV_EVENT_SRQ_LIMIT_REACHED), "limit event");
	require_eq((granted(), attr.srq_limit), 0U, "limit after its event");
	rdma_disconnect(link.client->id());
	events = events_of(world);
	require(only(events, IBV_EVENT_QP_LAST_WQE_REACHED), "IBV_EVENT_QP_LAST_WQE_REACHED");
}

/*
 * Receives are checked against the protection domain of their queue, not of the QP that takes
 * them.
 */
void srq_has_a_pd_of_its_own(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};

	for (const bool of_the_srq : {true, false}) {
		/* ignored at creation, whatever its value */
		ibv_srq_init_attr init{.srq_context = nullptr, .attr = {4, 1, 1000}};
		const rdma::Srq srq{must(ibv_create_srq(pd.get(), &init), "ibv_create_srq")};
		Link link{world, {.srq = srq.get()}};
		rdma::Memory memory{of_the_srq ? pd.get() : link.server->pd(), message_size,
				    IBV_ACCESS_LOCAL_WRITE};
		ibv_sge sge = memory.sge();
		ibv_recv_wr wr{.wr_id = 5, .next = nullptr, .sg_list = &sge, .num_sge = 1};
		ibv_recv_wr *bad = nullptr;

		must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");
		must(link.client->post_send(link.source(), 0), "post_send");
		rdma::require_status(link.server->recvs.wait(),
				     of_the_srq ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR, "receive");
		(void)events_of(world);
	}
}

void srq_last_wqe_without_connection(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	const rdma::Cq cq{must(ibv_create_cq(world.context(), 4, nullptr, nullptr, 0), "CQ")};
	ibv_srq_init_attr init{.srq_context = nullptr, .attr = {4, 1, 0}};
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &init), "ibv_create_srq")};
	ibv_qp_init_attr qp_init{};
	ibv_qp_attr attr{};

	qp_init.send_cq = qp_init.recv_cq = cq.get();
	qp_init.srq = srq.get();
	qp_init.qp_type = IBV_QPT_RC;
	qp_init.cap = {4, 0, 1, 0, 0};
	const rdma::Qp qp{must(ibv_create_qp(pd.get(), &qp_init), "ibv_create_qp")};
	attr.qp_state = IBV_QPS_ERR;
	must(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), "to ERR");
	must(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), "to ERR again");
	const auto events = events_of(world);
	require(only(events, IBV_EVENT_QP_LAST_WQE_REACHED), "IBV_EVENT_QP_LAST_WQE_REACHED once");
}

/* Queue pairs ************************************************************** */

struct Queried {
	explicit Queried(ibv_qp *qp)
	{
		/* the library and the kernel must overwrite all of this */
		std::memset(&attr, 0xee, sizeof(attr));
		std::memset(&init, 0xee, sizeof(init));
		must(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), "ibv_query_qp");
	}

	ibv_qp_attr attr;
	ibv_qp_init_attr init;
};

void expect_state(ibv_qp *qp, ibv_qp_state wanted, const char *when,
		  rdma::Where where = rdma::Where::current())
{
	const Queried now{qp};

	require_eq(int{now.attr.qp_state}, int{wanted}, when, where);
	require_eq(int{now.attr.cur_qp_state}, int{wanted}, when, where);
	require_eq(now.attr.qkey, 0U, "qkey", where);
	require_eq(now.attr.rq_psn, 0U, "rq_psn", where);
	require_eq(now.attr.sq_psn, 0U, "sq_psn", where);
	require_eq(now.attr.dest_qp_num, 0U, "dest_qp_num", where);
	require_eq(int{now.attr.timeout}, 0, "timeout", where);
	require_eq(int{now.attr.retry_cnt}, 0, "retry_cnt", where);
	require_eq(int{now.attr.rnr_retry}, 0, "rnr_retry", where);
	require_eq(int{now.attr.min_rnr_timer}, 0, "min_rnr_timer", where);
	require_eq(int{now.attr.port_num}, 1, "port_num", where);
	require(now.attr.path_mtu >= IBV_MTU_256 && now.attr.path_mtu <= IBV_MTU_4096, "path_mtu",
		where);
}

int to_state(ibv_qp *qp, ibv_qp_state state, int more = 0, int notify = 0)
{
	ibv_qp_attr attr{};

	attr.qp_state = state;
	attr.en_sqd_async_notify = static_cast<std::uint8_t>(notify);
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | more);
}

void states_without_connection(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	const rdma::Cq cq{must(ibv_create_cq(world.context(), 4, nullptr, nullptr, 0), "CQ")};
	ibv_qp_init_attr init{};

	init.send_cq = init.recv_cq = cq.get();
	init.qp_type = IBV_QPT_RC;
	init.sq_sig_all = 1;
	init.cap = {3, 5, 2, 3, 33};
	const rdma::Qp qp{must(ibv_create_qp(pd.get(), &init), "ibv_create_qp")};
	/* iWARP's Idle; rdma-core's tests expect the same of an RNIC */
	expect_state(qp.get(), IBV_QPS_INIT, "a new QP");
	const Queried now{qp.get()};
	require_eq(std::memcmp(&now.init.cap, &init.cap, sizeof(init.cap)), 0, "caps");
	require_eq(now.init.sq_sig_all, 1, "sq_sig_all");
	require(now.init.send_cq == cq.get() && now.init.recv_cq == cq.get() && !now.init.srq,
		"queues");
	require_eq(int{now.init.qp_type}, int{IBV_QPT_RC}, "qp_type");
	require_eq(int{now.attr.max_rd_atomic}, 0, "ORD of a QP without connection");

	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	must(ibv_modify_qp(qp.get(), &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "to INIT");
	expect_state(qp.get(), IBV_QPS_INIT, "after INIT");
	require_eq(Queried{qp.get()}.attr.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_READ},
		   "access flags");
	require_eq(to_state(qp.get(), IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY, 1), EINVAL,
		   "SQD without connection");
	require_eq(to_state(qp.get(), IBV_QPS_SQE), EINVAL, "to SQE");
	must(to_state(qp.get(), IBV_QPS_ERR), "to ERR");
	expect_state(qp.get(), IBV_QPS_ERR, "after ERR");
	require_eq(to_state(qp.get(), IBV_QPS_INIT), EINVAL, "ERR to INIT");
	must(to_state(qp.get(), IBV_QPS_RESET), "to RESET");
	expect_state(qp.get(), IBV_QPS_INIT, "after RESET");
}

void send_queue_drains_and_goes_on(World &world)
{
	constexpr std::size_t size = 1 << 20;
	Link link{world};
	rdma::Memory from{link.client->pd(), size, rdma::all_access, fill};
	rdma::Memory to{link.server->pd(), size, rdma::all_access};
	const std::array big{from.sge()};
	ibv_qp *qp = link.client->qp();

	expect_state(qp, IBV_QPS_RTS, "connected");
	require(Queried{qp}.attr.max_rd_atomic > 0, "ORD");
	require(Queried{qp}.attr.max_dest_rd_atomic > 0, "IRD");
	for (std::uint64_t i = 0; i < 4; i++)
		must(link.client->post_rdma(IBV_WR_RDMA_WRITE, big, to.address(), to.key(),
					    IBV_SEND_SIGNALED, i),
		     "post_send");
	must(to_state(qp, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY, 1), "to SQD");
	expect_state(qp, IBV_QPS_SQD, "after SQD");
	const auto events = events_of(world);
	require(only(events, IBV_EVENT_SQ_DRAINED), "IBV_EVENT_SQ_DRAINED");
	require_eq(int{Queried{qp}.attr.sq_draining}, 0, "sq_draining after the event");

	/* requests that have begun are complete, the others and new ones wait */
	std::uint64_t next = 0;
	while (auto wc = link.client->sends.poll()) {
		rdma::require_status(*wc, IBV_WC_SUCCESS, "Write");
		require_eq(wc->wr_id, next++, "order");
	}
	must(link.client->post_rdma(IBV_WR_RDMA_WRITE, big, to.address(), to.key(),
				    IBV_SEND_SIGNALED, 4),
	     "post_send in SQD");
	std::this_thread::sleep_for(300ms);
	require(!link.client->sends.poll(), "a send queue at rest sends");

	/* the receive queue continues */
	const std::array small{link.into_client.sge()};
	const std::array back{link.into_server.sge()};
	must(link.client->post_recv(small, 77), "post_recv");
	must(link.server->post_send(back), "post_send of the peer");
	require_eq(link.client->recvs.wait().wr_id, 77UL, "receive in SQD");
	const ibv_wc answered = link.server->sends.wait();
	rdma::require_status(answered, IBV_WC_SUCCESS, "Send of the peer");

	must(to_state(qp, IBV_QPS_RTS), "back to RTS");
	expect_state(qp, IBV_QPS_RTS, "after RTS");
	expect_in_order(link.client->sends, next, 5 - next);
	link.fence();
	require(to.is_all(fill), "written data");

	/* no event if the program did not ask for one */
	must(to_state(qp, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY, 0), "to SQD silently");
	rdma::wait_until([&] { return !Queried{qp}.attr.sq_draining; }, "it does not drain");
	require(!rdma::async_event(world.context(), 200ms), "event that nobody wanted");
	/* a disconnect in this state sends the posted requests */
	must(link.server->post_recv(link.target(), 5), "post_recv");
	must(link.client->post_send(link.source(), 0), "post_send");
	rdma_disconnect(link.client->id());
	rdma::require_status(link.server->recvs.wait(), IBV_WC_SUCCESS, "last message");
	link.client->wait_for_state(IBV_QPS_ERR);
}

/*
 * SQD with only the state in the mask is iWARP's Closing, after the posted requests.
 * rdma_disconnect() uses it before it asks the kernel. rshutdown() does nothing else: rsockets
 * wait for their receives to be flushed.
 */
void closes_without_more_words(World &world)
{
	Link link{world};

	for (std::uint64_t i = 0; i < 3; i++) {
		must(link.client->post_recv(link.target(), i), "post_recv");
		must(link.server->post_recv(link.target(), i), "post_recv of the peer");
	}
	must(link.client->post_send(link.source(), IBV_SEND_SIGNALED), "post_send");
	must(to_state(link.client->qp(), IBV_QPS_SQD), "to SQD");
	rdma::require_status(link.client->sends.wait(), IBV_WC_SUCCESS, "last message");
	rdma::require_status(link.server->recvs.wait(), IBV_WC_SUCCESS, "its receive");
	for (int i = 0; i < 3; i++)
		rdma::require_status(link.client->recvs.wait(), IBV_WC_WR_FLUSH_ERR, "receive");
	for (int i = 0; i < 2; i++)
		rdma::require_status(link.server->recvs.wait(), IBV_WC_WR_FLUSH_ERR,
				     "receive of the peer");
	link.client->wait_for_state(IBV_QPS_ERR);
	link.server->wait_for_state(IBV_QPS_ERR);
	must(to_state(link.client->qp(), IBV_QPS_SQD), "to SQD again");
	rdma_disconnect(link.client->id());
}

void flushed_in_order(World &world)
{
	Link link{world};

	for (std::uint64_t i = 0; i < 5; i++)
		must(link.client->post_recv(link.target(), i), "post_recv");
	must(to_state(link.client->qp(), IBV_QPS_ERR), "to ERR");
	expect_state(link.client->qp(), IBV_QPS_ERR, "after ERR");
	for (std::uint64_t i = 5; i < 8; i++) {
		must(link.client->post_recv(link.target(), i), "post_recv in ERR");
		must(link.client->post_send(link.source(), 0, i), "post_send in ERR");
	}
	for (std::uint64_t i = 0; i < 8; i++) {
		const ibv_wc wc = link.client->recvs.wait();

		rdma::require_status(wc, IBV_WC_WR_FLUSH_ERR, "flushed receive");
		require_eq(wc.wr_id, i, "order of flushed receives");
	}
	for (std::uint64_t i = 5; i < 8; i++) {
		const ibv_wc wc = link.client->sends.wait();

		rdma::require_status(wc, IBV_WC_WR_FLUSH_ERR, "flushed Send");
		require_eq(wc.wr_id, i, "order of flushed Sends");
	}
}

/* two QPs without connection whose flushed receives share a CQ */
struct Flushed {
	explicit Flushed(World &world)
		: pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")},
		  cq{must(ibv_create_cq(world.context(), 16, nullptr, nullptr, 0), "CQ")}
	{
		ibv_qp_init_attr init{};

		init.send_cq = init.recv_cq = cq.get();
		init.qp_type = IBV_QPT_RC;
		init.cap = {4, 4, 1, 1, 0};
		for (auto &qp : qps) {
			qp.reset(must(ibv_create_qp(pd.get(), &init), "ibv_create_qp"));
			must(to_state(qp.get(), IBV_QPS_ERR), "to ERR");
		}
		for (std::uint64_t i = 0; i < 8; i++) {
			ibv_recv_wr wr{};
			ibv_recv_wr *bad = nullptr;

			wr.wr_id = i;
			must(ibv_post_recv(qps[i % 2].get(), &wr, &bad), "post_recv");
		}
	}

	/* the remaining completions belong to the second QP, in order */
	void expect_second_only() const
	{
		std::array<ibv_wc, 16> wcs{};
		const int n = ibv_poll_cq(cq.get(), 16, wcs.data());

		require_eq(n, 4, "completions left");
		for (int i = 0; i < n; i++) {
			require_eq(wcs[i].qp_num, qps[1]->qp_num, "QP of what is left");
			require_eq(wcs[i].wr_id, 2UL * i + 1, "order of what is left");
		}
	}

	rdma::Pd pd;
	rdma::Cq cq;
	std::array<rdma::Qp, 2> qps;
};

void reset_takes_its_completions(World &world)
{
	const Flushed flushed{world};

	must(to_state(flushed.qps[0].get(), IBV_QPS_RESET), "to RESET");
	flushed.expect_second_only();
}

void destroy_takes_its_completions(World &world)
{
	Flushed flushed{world};

	flushed.qps[0].reset();
	flushed.expect_second_only();
}

/* verbs: a resource is not destroyed while an event of it is not acknowledged */
void destroy_waits_for_acknowledged_events(World &world)
{
	auto link = std::make_unique<Link>(world, LinkOptions{.cqe = 4});
	ibv_async_event event{};

	for (std::uint64_t i = 0; i < 8; i++)
		must(link->server->post_recv(link->target(), i), "post_recv");
	for (std::uint64_t i = 0; i < 8; i++)
		must(link->client->post_send(link->source(), 0), "post_send");
	do {
		must(ibv_get_async_event(world.context(), &event), "ibv_get_async_event");
		if (event.event_type != IBV_EVENT_QP_FATAL)
			ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_QP_FATAL);
	auto gone = std::async(std::launch::async, [&] { link.reset(); });
	require(gone.wait_for(300ms) == std::future_status::timeout,
		"destroyed with an event that is not acknowledged");
	ibv_ack_async_event(&event);
	gone.get();
}

void device_limits(World &world)
{
	ibv_device_attr_ex device{};

	must(ibv_query_device_ex(world.context(), nullptr, &device), "ibv_query_device_ex");
	const ibv_device_attr &limits = device.orig_attr;
	require_eq(std::uint32_t{limits.phys_port_cnt}, device.phys_port_cnt_ex, "ports");
	require(limits.max_srq > 0 && limits.max_srq_wr > 0 && limits.max_srq_sge > 0,
		"SRQ limits");
	require(limits.max_cq >= limits.max_qp, "fewer CQs than QPs");
	require(limits.max_cqe >= limits.max_qp_wr, "a CQ smaller than a QP");
	require(device.odp_caps.general_caps == 0, "ODP");
	require(device.raw_packet_caps == 0, "raw packets");
	require(limits.max_ah == 0 && limits.max_mcast_grp == 0 && limits.max_ee == 0,
		"resources of other transports");
}

/*
 * After a burst of Writes the program only looks at memory. Requests that the RNIC lets wait
 * for gathering must be sent without a poll or another post.
 */
void writes_go_without_a_poll(World &world)
{
	constexpr std::uint32_t burst = 12;
	constexpr std::uint32_t rounds = 300;
	Link link{world};
	auto *from = reinterpret_cast<std::uint32_t *>(link.into_client.data());
	auto *last = reinterpret_cast<std::uint32_t *>(link.into_server.data());

	for (std::uint32_t round = 1; round <= rounds; round++) {
		for (std::uint32_t i = 0; i < burst; i++) {
			const bool end = i + 1 == burst;
			const std::array source{
				link.into_client.sge(i * sizeof(*from), sizeof(*from))};

			from[i] = round * burst + i;
			must(link.client->post_rdma(
				     IBV_WR_RDMA_WRITE, source, link.into_server.address(),
				     link.into_server.key(), end ? IBV_SEND_SIGNALED : 0, round),
			     "post of a Write");
		}
		const auto deadline = steady_clock::now() + 20s;
		while (std::atomic_ref{*last}.load() != round * burst + burst - 1)
			require(steady_clock::now() < deadline, "the Writes do not arrive");
		const ibv_wc wc = link.client->sends.wait();
		rdma::require_status(wc, IBV_WC_SUCCESS, "Write");
		require_eq(wc.wr_id, std::uint64_t{round}, "completion");
	}
}

const std::vector<checks::Check> own_checks{
	{"device_limits", device_limits},
	{"writes_go_without_a_poll", writes_go_without_a_poll},
	{"cq_resize_keeps_what_waits", cq_resize_keeps_what_waits},
	{"cq_resize_keeps_it_armed", cq_resize_keeps_it_armed},
	{"cq_resize_under_load", cq_resize_under_load},
	{"cq_resizes_at_once", cq_resizes_at_once},
	{"cq_moderation", cq_moderation},
	{"cq_vectors", cq_vectors},
	{"solicited_events", solicited_events},
	{"completion_times", completion_times},
	{"completion_times_of_a_new_ring", completion_times_of_a_new_ring},
	{"completion_times_only_when_asked_for", completion_times_only_when_asked_for},
	{"cq_overflow", cq_overflow},
	{"srq_resize", srq_resize},
	{"srq_resizes_at_once", srq_resizes_at_once},
	{"srq_has_a_pd_of_its_own", srq_has_a_pd_of_its_own},
	{"srq_last_wqe_without_connection", srq_last_wqe_without_connection},
	{"srq_of_many", srq_of_many},
	{"many_wait_for_an_srq", many_wait_for_an_srq},
	{"large_queues_flush", large_queues_flush},
	{"large_cq_moves", large_cq_moves},
	{"large_srq_moves", large_srq_moves},
	{"states_without_connection", states_without_connection},
	{"send_queue_drains_and_goes_on", send_queue_drains_and_goes_on},
	{"closes_without_more_words", closes_without_more_words},
	{"flushed_in_order", flushed_in_order},
	{"flushed_places_are_free", flushed_places_are_free},
	{"reset_takes_its_completions", reset_takes_its_completions},
	{"destroy_takes_its_completions", destroy_takes_its_completions},
	{"destroy_waits_for_acknowledged_events", destroy_waits_for_acknowledged_events},
};

} /* namespace */
} /* namespace queues */

int main(int argc, char **argv)
{
	return checks::run_program(argc, argv, queues::own_checks);
}
