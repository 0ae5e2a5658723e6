/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of the data path: received data and completions, events, flushing, the extended
 * interfaces.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "checks.hpp"

namespace checks {
namespace {

using namespace std::chrono_literals;
using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;
using rdma::Side;

/* long enough for an event that must not come */
constexpr auto moment = 300ms;

int modify_state(Side &side, ibv_qp_state state)
{
	ibv_qp_attr attr{};

	attr.qp_state = state;
	return ibv_modify_qp(side.qp(), &attr, IBV_QP_STATE);
}

void empty_messages(World &world)
{
	Pair pair{world};
	Memory memory{pair.server().pd(), 8, rdma::all_access, std::byte{1}};

	must(pair.server().post_recv({}), "post_recv");
	must(pair.client().post_send({}), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "empty Send");
	const ibv_wc wc = pair.server().recvs.wait();
	require_status(wc, IBV_WC_SUCCESS, "receive of nothing");
	require_eq(wc.byte_len, 0U, "byte_len");
	require_eq(wc.qp_num, pair.server().qp()->qp_num, "qp_num");
	must(pair.client().post_rdma(IBV_WR_RDMA_WRITE, {}, memory.address(), memory.key()),
	     "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "empty Write");
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, {}, memory.address(), memory.key()),
	     "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "empty Read");
	require(memory.is_all(std::byte{1}), "nothing was written");
}

void inline_data(World &world)
{
	rdma::SideOptions options;
	options.cap.max_inline_data = 64;
	Pair pair{world, options};
	Memory target{pair.server().pd(), 256, IBV_ACCESS_LOCAL_WRITE};
	const std::array to{target.sge()};
	std::vector<std::byte> source(pair.client().cap().max_inline_data, std::byte{0x11});
	ibv_sge from{reinterpret_cast<std::uintptr_t>(source.data()),
		     static_cast<std::uint32_t>(source.size()), 0};

	must(pair.server().post_recv(to), "post_recv");
	must(pair.client().post_send({&from, 1}, IBV_SEND_INLINE | IBV_SEND_SIGNALED), "post_send");
	/* inline data: the buffer is free when the call returns */
	std::ranges::fill(source, std::byte{0x22});
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "inline Send");
	const ibv_wc wc = pair.server().recvs.wait();
	require_eq(std::size_t{wc.byte_len}, source.size(), "byte_len");
	require(std::ranges::all_of(target.span().first(source.size()),
				    [](std::byte b) { return b == std::byte{0x11}; }),
		"inline data");

	source.resize(source.size() + 1);
	from = {reinterpret_cast<std::uintptr_t>(source.data()),
		static_cast<std::uint32_t>(source.size()), 0};
	require_eq(pair.client().post_send({&from, 1}, IBV_SEND_INLINE), EINVAL, "inline too long");
}

void bad_requests(World &world)
{
	Pair pair{world};
	Side &client = pair.client();
	std::vector<ibv_sge> many(client.cap().max_send_sge + 1);
	std::vector<ibv_sge> many_recv(client.cap().max_recv_sge + 1);

	require_eq(client.post_send(many), EINVAL, "too many sges");
	require_eq(client.post_recv(many_recv), EINVAL, "too many sges to receive");
	for (ibv_wr_opcode opcode :
	     {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_BIND_MW, IBV_WR_TSO})
		require_eq(client.post_rdma(opcode, {}, 0, 0), EINVAL, "opcode");
	require_eq(int{client.state()}, int{IBV_QPS_RTS}, "state after refused requests");
}

void receive_queue_fills(World &world)
{
	Pair pair{world};
	Side &server = pair.server();

	for (std::uint32_t i = 0; i < server.cap().max_recv_wr; i++)
		must(server.post_recv({}, i), "post_recv");
	require_eq(server.post_recv({}), ENOMEM, "full receive queue");
}

void flush_on_error(World &world)
{
	Pair pair{world};
	Side &client = pair.client();

	for (std::uint64_t id = 0; id < 3; id++)
		must(client.post_recv({}, id), "post_recv");
	must(modify_state(client, IBV_QPS_ERR), "to ERR");
	/* also what comes afterwards */
	must(client.post_recv({}, 3), "post_recv in ERR");
	must(client.post_send({}, 0, 4), "post_send in ERR");
	for (std::uint64_t id = 0; id < 4; id++) {
		const ibv_wc wc = client.recvs.wait();

		require_status(wc, IBV_WC_WR_FLUSH_ERR, "receive");
		require_eq(wc.wr_id, id, "order of flushed receives");
	}
	const ibv_wc wc = client.sends.wait();
	require_status(wc, IBV_WC_WR_FLUSH_ERR, "unsignalled Send");
	require_eq(wc.wr_id, std::uint64_t{4}, "wr_id");
	pair.server().wait_for_state(IBV_QPS_ERR);
}

void disconnect_flushes_receives(World &world)
{
	Pair pair{world};

	must(pair.server().post_recv({}, 7), "post_recv");
	must(pair.client().post_recv({}, 8), "post_recv");
	rdma_disconnect(pair.client().id());
	pair.server().wait_for_disconnect();
	const ibv_wc there = pair.server().recvs.wait();
	require_status(there, IBV_WC_WR_FLUSH_ERR, "the peer's receive");
	require_eq(there.wr_id, std::uint64_t{7}, "wr_id");
	require_status(pair.client().recvs.wait(), IBV_WC_WR_FLUSH_ERR, "own receive");
}

void message_longer_than_its_receive(World &world)
{
	Pair pair{world};
	Memory small{pair.server().pd(), 100, IBV_ACCESS_LOCAL_WRITE};
	Memory large{pair.client().pd(), 5000, IBV_ACCESS_LOCAL_WRITE, std::byte{3}};
	const std::array to{small.sge(0, 99)};
	const std::array from{large.sge()};

	must(pair.server().post_recv(to), "post_recv");
	must(pair.client().post_send(from), "post_send");
	require_status(pair.server().recvs.wait(), IBV_WC_LOC_LEN_ERR, "short receive");
	require(small.span()[99] == std::byte{0}, "octet behind the receive");
	pair.server().wait_for_state(IBV_QPS_ERR);
	pair.client().wait_for_state(IBV_QPS_ERR);
}

void message_without_receive(World &world)
{
	Pair pair{world};

	must(pair.client().post_send({}), "post_send");
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
}

void solicited_events(World &world)
{
	Pair pair{world};
	Side &server = pair.server();

	for (std::uint64_t id = 0; id < 3; id++)
		must(server.post_recv({}, id), "post_recv");
	server.recvs.arm(true);
	must(pair.client().post_send({}), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Send");
	require(!server.recvs.event(moment), "event for an unsolicited message");
	must(pair.client().post_send({}, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), "post_send");
	require(server.recvs.event(rdma::patience), "no event for a solicited message");
	require_status(server.recvs.wait(), IBV_WC_SUCCESS, "receive");
	require_status(server.recvs.wait(), IBV_WC_SUCCESS, "receive");

	/* arming for any completion stays */
	server.recvs.arm(false);
	server.recvs.arm(true);
	must(pair.client().post_send({}), "post_send");
	require(server.recvs.event(rdma::patience), "no event although armed for any");
}

void one_event_for_each_arming(World &world)
{
	Pair pair{world};
	Side &server = pair.server();

	for (std::uint64_t id = 0; id < 2; id++)
		must(server.post_recv({}, id), "post_recv");
	must(pair.client().post_send({}), "post_send");
	require(!server.recvs.event(moment), "event without arming");
	require_status(server.recvs.wait(), IBV_WC_SUCCESS, "receive");
	while (server.recvs.event(1ms))
		;
	server.recvs.arm(false);
	must(pair.client().post_send({}), "post_send");
	require(server.recvs.event(rdma::patience), "no event");
	require(!server.recvs.event(moment), "second event");
}

void unsignalled_sends(World &world)
{
	Pair pair{world};

	for (std::uint64_t id = 0; id < 3; id++)
		must(pair.server().post_recv({}, id), "post_recv");
	must(pair.client().post_send({}, 0, 1), "post_send");
	must(pair.client().post_send({}, 0, 2), "post_send");
	must(pair.client().post_send({}, IBV_SEND_SIGNALED, 3), "post_send");
	const ibv_wc wc = pair.client().sends.wait();
	require_status(wc, IBV_WC_SUCCESS, "Send");
	require_eq(wc.wr_id, std::uint64_t{3}, "the one signalled Send");
}

void many_rounds_over_a_small_queue(World &world)
{
	constexpr std::uint32_t rounds = 2000;
	rdma::SideOptions options;
	options.cap.max_send_wr = options.cap.max_recv_wr = 2;
	Pair pair{world, options, options};
	Memory from{pair.client().pd(), sizeof(std::uint32_t), IBV_ACCESS_LOCAL_WRITE};
	Memory to{pair.server().pd(), sizeof(std::uint32_t), IBV_ACCESS_LOCAL_WRITE};
	const std::array source{from.sge()};
	const std::array target{to.sge()};

	for (std::uint32_t i = 0; i < rounds; i++) {
		std::uint32_t got = 0;

		must(pair.server().post_recv(target, i), "post_recv");
		std::memcpy(from.data(), &i, sizeof(i));
		must(pair.client().post_send(source, IBV_SEND_SIGNALED, i), "post_send");
		require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Send");
		const ibv_wc wc = pair.server().recvs.wait();
		require_status(wc, IBV_WC_SUCCESS, "receive");
		require_eq(wc.wr_id, std::uint64_t{i}, "wr_id");
		std::memcpy(&got, to.data(), sizeof(got));
		require_eq(got, i, "data");
	}
}

void shared_receive_queue(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	ibv_srq_init_attr init{};

	init.attr.max_wr = 8;
	init.attr.max_sge = 1;
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &init), "ibv_create_srq")};
	Memory memory{pd.get(), 64, IBV_ACCESS_LOCAL_WRITE};
	rdma::SideOptions options;
	options.pd = pd.get();
	options.srq = srq.get();
	options.cap.max_recv_wr = 0;
	Pair one{world, {}, options};
	Pair two{world, {}, options};
	require_eq(one.server().post_recv({}), EINVAL, "post_recv on a QP with SRQ");

	for (std::uint64_t id = 0; id < 4; id++) {
		ibv_sge sge = memory.sge(id * 16, 16);
		ibv_recv_wr wr{};
		ibv_recv_wr *bad = nullptr;

		wr.wr_id = id;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");
	}
	ibv_srq_attr limit{};
	limit.srq_limit = 3;
	must(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");

	for (Pair *pair : {&one, &two}) {
		Memory data{pair->client().pd(), 16, IBV_ACCESS_LOCAL_WRITE, std::byte{9}};
		const std::array from{data.sge()};

		must(pair->client().post_send(from), "post_send");
		const ibv_wc wc = pair->server().recvs.wait();
		require_status(wc, IBV_WC_SUCCESS, "receive");
		require_eq(wc.byte_len, 16U, "byte_len");
		require_eq(wc.qp_num, pair->server().qp()->qp_num, "qp_num");
		require(std::ranges::all_of(memory.span().subspan(wc.wr_id * 16, 16),
					    [](std::byte b) { return b == std::byte{9}; }),
			"data in the receive that the completion names");
	}
	bool reached = false;
	while (const auto event = rdma::async_event(world.context(), reached ? moment : 20000ms)) {
		if (event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
			require(!reached, "a second limit event");
			reached = true;
		}
	}
	require(reached, "no limit event");
}

void completion_queue_overflow(World &world)
{
	rdma::SideOptions tiny;
	tiny.cqe = 1;
	Pair pair{world, tiny};
	Memory target{pair.server().pd(), 8, rdma::all_access};
	const int room = pair.client().sends.cq()->cqe;
	bool reported = false;

	/* empty Writes need no receive */
	for (int i = 0; i < room + 2; i++) {
		int err = 0;

		rdma::wait_until(
			[&] {
				err = pair.client().post_rdma(IBV_WR_RDMA_WRITE, {},
							      target.address(), target.key());
				return err != ENOMEM;
			},
			"send queue stays full");
		must(err, "post_send");
	}
	while (const auto event = rdma::async_event(world.context(), reported ? moment : 20000ms)) {
		if (event->event_type == IBV_EVENT_CQ_ERR) {
			require(event->element.cq == pair.client().sends.cq(), "CQ of the event");
			reported = true;
		}
	}
	require(reported, "no event for the overflow");
}

/* The peer does not end a region of a user, whatever rights it has there. */
void region_outlives_invalidation(World &world)
{
	Pair pair{world};
	Pair other{world, {}, {.pd = pair.server().pd()}};
	Memory target{pair.server().pd(), 64, rdma::all_access};
	Memory source{other.client().pd(), 64, IBV_ACCESS_LOCAL_WRITE, std::byte{1}};
	const std::array from{source.sge()};

	must(pair.server().post_recv({}), "post_recv");
	must(pair.client().post_rdma(IBV_WR_SEND_WITH_INV, {}, 0, target.key()), "post_send");
	require_status(pair.server().recvs.wait(), IBV_WC_REM_INV_REQ_ERR, "receive");
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
	must(other.client().post_rdma(IBV_WR_RDMA_WRITE, from, target.address(), target.key()),
	     "post_send");
	require_status(other.client().sends.wait(), IBV_WC_SUCCESS, "Write");
	must(other.client().post_rdma(IBV_WR_RDMA_READ, {}, target.address(), target.key()),
	     "post_send");
	require_status(other.client().sends.wait(), IBV_WC_SUCCESS, "empty Read");
	require(target.is_all(std::byte{1}), "data of another connection");
}

void extended_posting_and_polling(World &world)
{
	rdma::SideOptions options;
	options.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV |
			   IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
	options.cap.max_inline_data = 16;
	Pair pair{world, options};
	Memory remote{pair.server().pd(), 64, rdma::all_access, std::byte{7}};
	Memory local{pair.client().pd(), 64, rdma::all_access};
	const std::array to{remote.sge(32, 32)};
	ibv_qp_ex *qp = must(ibv_qp_to_qp_ex(pair.client().qp()), "ibv_qp_to_qp_ex");
	std::array<char, 5> word{'h', 'e', 'l', 'l', 'o'};

	must(pair.server().post_recv(to), "post_recv");
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(qp, remote.key(), remote.address());
	ibv_wr_set_sge(qp, local.key(), local.address(), 16);
	qp->wr_id = 2;
	qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	ibv_wr_rdma_write(qp, remote.key(), remote.address(16));
	ibv_wr_set_sge(qp, local.key(), local.address(32), 16);
	qp->wr_id = 3;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, word.data(), word.size());
	must(ibv_wr_complete(qp), "ibv_wr_complete");

	for (std::uint64_t id = 1; id <= 3; id++) {
		const ibv_wc wc = pair.client().sends.wait();

		require_status(wc, IBV_WC_SUCCESS, "extended request");
		require_eq(wc.wr_id, id, "order of completions");
	}
	const ibv_wc wc = pair.server().recvs.wait();
	require_status(wc, IBV_WC_SUCCESS, "receive");
	require_eq(std::size_t{wc.byte_len}, word.size(), "byte_len");
	require(std::memcmp(&remote.span()[32], word.data(), word.size()) == 0, "sent data");
	require(local.span()[15] == std::byte{7} && local.span()[16] == std::byte{0}, "read data");
	require(remote.span()[15] == std::byte{7} && remote.span()[16] == std::byte{0} &&
			remote.span()[31] == std::byte{0},
		"written data");

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_abort(qp);

	ibv_cq_init_attr_ex attr{};
	attr.cqe = 8;
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	ibv_cq_ex *cq = must(ibv_create_cq_ex(world.context(), &attr), "ibv_create_cq_ex");
	const rdma::Cq owner{ibv_cq_ex_to_cq(cq)};
	ibv_poll_cq_attr poll{};
	require_eq(ibv_start_poll(cq, &poll), ENOENT, "poll of an empty CQ");
}

} /* namespace */

const std::vector<Check> data_checks{
	{"empty_messages", empty_messages},
	{"inline_data", inline_data},
	{"bad_requests", bad_requests},
	{"receive_queue_fills", receive_queue_fills},
	{"flush_on_error", flush_on_error},
	{"disconnect_flushes_receives", disconnect_flushes_receives},
	{"message_longer_than_its_receive", message_longer_than_its_receive},
	{"message_without_receive", message_without_receive},
	{"solicited_events", solicited_events},
	{"one_event_for_each_arming", one_event_for_each_arming},
	{"unsignalled_sends", unsignalled_sends},
	{"many_rounds_over_a_small_queue", many_rounds_over_a_small_queue},
	{"shared_receive_queue", shared_receive_queue},
	{"completion_queue_overflow", completion_queue_overflow},
	{"region_outlives_invalidation", region_outlives_invalidation},
	{"extended_posting_and_polling", extended_posting_and_polling},
};

} /* namespace checks */
