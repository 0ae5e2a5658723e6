/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The common part of the test programs: see rdma.hpp. */
#include "rdma.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include <poll.h>

namespace rdma {
namespace {

constexpr std::uint8_t read_depth = 16;

bool readable(int fd, std::chrono::milliseconds limit)
{
	pollfd p{.fd = fd, .events = POLLIN, .revents = 0};

	return poll(&p, 1, static_cast<int>(limit.count())) == 1;
}

CmId make_endpoint(const char *host, const char *port, int flags)
{
	rdma_addrinfo hints{};
	rdma_addrinfo *info = nullptr;
	rdma_cm_id *id = nullptr;

	hints.ai_flags = flags;
	hints.ai_port_space = RDMA_PS_TCP;
	must(rdma_getaddrinfo(host, port, &hints, &info), "rdma_getaddrinfo");
	const Owned<rdma_addrinfo, rdma_freeaddrinfo> owner{info};
	must(rdma_create_ep(&id, info, nullptr, nullptr), "rdma_create_ep");
	return CmId{id};
}

} /* namespace */

void fail(const std::string &what, Where where)
{
	const std::string file{where.file};

	throw Failure{file.substr(file.rfind('/') + 1) + ':' + std::to_string(where.line) + ": " +
		      what};
}

void fail_errno(const std::string &what, int err, Where where)
{
	fail(what + ": " + std::strerror(err), where);
}

void require_status(const ibv_wc &wc, ibv_wc_status wanted, const char *what, Where where)
{
	if (wc.status == wanted)
		return;
	std::array<char, 16> code{};
	std::snprintf(code.data(), code.size(), "%#x", wc.vendor_err);
	fail(std::string{what} + " completed with " + ibv_wc_status_str(wc.status) +
		     " (Terminate " + code.data() + "), wanted " + ibv_wc_status_str(wanted),
	     where);
}

Memory::Memory(ibv_pd *pd, std::size_t size, int access, std::byte fill)
	: bytes_(size, fill), mr_{must(ibv_reg_mr(pd, bytes_.data(), size, access), "ibv_reg_mr")}
{}

bool Memory::is_all(std::byte value) const
{
	return std::all_of(bytes_.begin(), bytes_.end(),
			   [value](std::byte b) { return b == value; });
}

Queue::Queue(ibv_context *context, int depth, int vector, std::uint64_t wc_flags)
	: channel_{must(ibv_create_comp_channel(context), "ibv_create_comp_channel")}
{
	if (wc_flags) {
		ibv_cq_init_attr_ex attr{};

		attr.cqe = static_cast<std::uint32_t>(depth);
		attr.channel = channel_.get();
		attr.comp_vector = static_cast<std::uint32_t>(vector);
		attr.wc_flags = wc_flags;
		cq_.reset(ibv_cq_ex_to_cq(
			must(ibv_create_cq_ex(context, &attr), "ibv_create_cq_ex")));
	} else {
		cq_.reset(must(ibv_create_cq(context, depth, nullptr, channel_.get(), vector),
			       "ibv_create_cq"));
	}
}

std::optional<ibv_wc> Queue::poll()
{
	ibv_wc wc{};
	const int n = ibv_poll_cq(cq_.get(), 1, &wc);

	if (n < 0)
		fail("ibv_poll_cq answered " + std::to_string(n));
	return n ? std::optional{wc} : std::nullopt;
}

void Queue::arm(bool solicited_only)
{
	must(ibv_req_notify_cq(cq_.get(), solicited_only), "ibv_req_notify_cq");
}

bool Queue::event(std::chrono::milliseconds limit)
{
	ibv_cq *cq = nullptr;
	void *context = nullptr;

	if (!readable(channel_->fd, limit))
		return false;
	must(ibv_get_cq_event(channel_.get(), &cq, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	return true;
}

ibv_wc Queue::wait(Where where)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	for (;;) {
		if (auto wc = poll())
			return *wc;
		arm(false);
		if (auto wc = poll())
			return *wc;
		const auto left = end - std::chrono::steady_clock::now();
		if (left <= 0s ||
		    !event(std::chrono::duration_cast<std::chrono::milliseconds>(left)))
			fail("no completion", where);
	}
}

Side::Side(CmId id, const SideOptions &options)
	: id_{std::move(id)}, own_pd_{options.pd ? nullptr
						 : must(ibv_alloc_pd(id_->verbs), "ibv_alloc_pd")},
	  pd_{options.pd ? options.pd : own_pd_.get()}, sends{id_->verbs, options.cqe,
							      options.vector, options.wc_flags},
	  recvs{id_->verbs, options.cqe, options.vector, options.wc_flags}
{
	ibv_qp_init_attr_ex attr{};

	attr.send_cq = sends.cq();
	attr.recv_cq = recvs.cq();
	attr.srq = options.srq;
	attr.cap = options.cap;
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = options.signal_all;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = pd_;
	if (options.send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = options.send_ops;
	}
	must(rdma_create_qp_ex(id_.get(), &attr), "rdma_create_qp_ex");
	cap_ = attr.cap;
}

Side::~Side()
{
	rdma_destroy_qp(id_.get());
}

void Side::connect()
{
	rdma_conn_param param{};

	param.initiator_depth = read_depth;
	param.responder_resources = read_depth;
	must(rdma_connect(id_.get(), &param), "rdma_connect");
}

void Side::accept()
{
	rdma_conn_param param{};

	param.initiator_depth = read_depth;
	param.responder_resources = read_depth;
	must(rdma_accept(id_.get(), &param), "rdma_accept");
}

void Side::wait_for_disconnect(Where where)
{
	rdma_cm_event *event = nullptr;

	if (!readable(id_->channel->fd, patience))
		fail("the connection does not end", where);
	must(rdma_get_cm_event(id_->channel, &event), "rdma_get_cm_event");
	const rdma_cm_event_type type = event->event;
	rdma_ack_cm_event(event);
	require(type == RDMA_CM_EVENT_DISCONNECTED, rdma_event_str(type), where);
}

int Side::post_recv(std::span<const ibv_sge> sges, std::uint64_t wr_id)
{
	ibv_recv_wr wr{};
	ibv_recv_wr *bad = nullptr;

	wr.wr_id = wr_id;
	wr.sg_list = const_cast<ibv_sge *>(sges.data());
	wr.num_sge = static_cast<int>(sges.size());
	return ibv_post_recv(qp(), &wr, &bad);
}

int Side::post_send(std::span<const ibv_sge> sges, unsigned int flags, std::uint64_t wr_id)
{
	return post_rdma(IBV_WR_SEND, sges, 0, 0, flags, wr_id);
}

int Side::post_rdma(ibv_wr_opcode opcode, std::span<const ibv_sge> sges, std::uint64_t address,
		    std::uint32_t rkey, unsigned int flags, std::uint64_t wr_id)
{
	ibv_send_wr wr{};
	ibv_send_wr *bad = nullptr;

	wr.wr_id = wr_id;
	wr.opcode = opcode;
	wr.send_flags = flags;
	wr.sg_list = const_cast<ibv_sge *>(sges.data());
	wr.num_sge = static_cast<int>(sges.size());
	if (opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV) {
		wr.invalidate_rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = address;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(qp(), &wr, &bad);
}

ibv_qp_state Side::state() const
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr init{};

	must(ibv_query_qp(qp(), &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

void Side::wait_for_state(ibv_qp_state wanted, Where where) const
{
	wait_until([&] { return state() == wanted; }, "QP state does not come", where);
}

CmId make_listener(const char *host, const char *port)
{
	CmId id = make_endpoint(host, port, RAI_PASSIVE);

	must(rdma_listen(id.get(), 8), "rdma_listen");
	return id;
}

CmId make_client(const char *host, const char *port)
{
	return make_endpoint(host, port, 0);
}

CmId next_request(rdma_cm_id *listener)
{
	rdma_cm_id *id = nullptr;

	must(rdma_get_request(listener, &id), "rdma_get_request");
	return CmId{id};
}

std::optional<ibv_async_event> async_event(ibv_context *context, std::chrono::milliseconds limit)
{
	ibv_async_event event{};

	if (!readable(context->async_fd, limit))
		return std::nullopt;
	must(ibv_get_async_event(context, &event), "ibv_get_async_event");
	ibv_ack_async_event(&event);
	return event;
}

void wait_until(const std::function<bool()> &condition, const char *what, Where where)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (!condition()) {
		if (std::chrono::steady_clock::now() > end)
			fail(what, where);
		std::this_thread::sleep_for(5ms);
	}
}

} /* namespace rdma */
