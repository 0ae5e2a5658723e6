/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A connection of krdma_victim: see victim_connection.hpp. */
#include "victim_connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <arpa/inet.h>

namespace victim {
namespace {

std::string hex(std::span<const std::uint8_t> octets)
{
	std::string out;
	std::array<char, 3> two{};

	for (const std::uint8_t octet : octets) {
		std::snprintf(two.data(), two.size(), "%02x", octet);
		out += two.data();
	}
	return out;
}

} /* namespace */

void Connection::post_receives()
{
	Area &memory = memory_[local];
	const unsigned int count = std::min<unsigned int>(order_.receives, receives_max);

	for (unsigned int i = 0; i < count; i++) {
		ibv_sge sge{memory.address() + receives_at + i * receive_size, receive_size,
			    memory.key()};
		ibv_recv_wr wr{}, *bad = nullptr;

		wr.wr_id = i;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_recv(id_->qp, &wr, &bad), "ibv_post_recv");
		receives_.posted++;
	}
}

/* the stream may have ended already */
void Connection::post_send(ibv_send_wr &wr)
{
	ibv_send_wr *bad = nullptr;

	wr.wr_id = send_id + sends_.posted;
	wr.send_flags |= IBV_SEND_SIGNALED;
	if (!ibv_post_send(id_->qp, &wr, &bad))
		sends_.posted++;
}

void Connection::post_greeting()
{
	ibv_sge sge{reinterpret_cast<std::uintptr_t>(greeting), sizeof(greeting), 0};
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_INLINE;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	post_send(wr);
}

void Connection::post_rdma(ibv_wr_opcode opcode, std::uint32_t size, std::uint64_t to)
{
	Area &memory = memory_[local];
	ibv_sge sge{memory.address(), size, memory.key()};
	ibv_send_wr wr{};

	wr.opcode = opcode;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma = {.remote_addr = to, .rkey = read_stag};
	post_send(wr);
}

void Connection::post_large()
{
	post_rdma(IBV_WR_SEND, large_size, 0);
	post_rdma(IBV_WR_RDMA_WRITE, large_size, large_to);
}

void Connection::post_flood()
{
	for (unsigned int i = 0; i < flood_writes; i++)
		post_rdma(IBV_WR_RDMA_WRITE, region_size, read_to);
}

void Connection::post_read()
{
	post_rdma(IBV_WR_RDMA_READ, read_size, read_to);
}

void Connection::post_atomic()
{
	Area &memory = memory_[local];
	ibv_sge sge{memory.address(), sizeof(std::uint64_t), memory.key()};
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.atomic = {
		.remote_addr = read_to, .compare_add = summand, .swap = 0, .rkey = read_stag};
	post_send(wr);
}

void Connection::post_immediate()
{
	ibv_sge sge{reinterpret_cast<std::uintptr_t>(greeting), sizeof(greeting), 0};
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.send_flags = IBV_SEND_INLINE;
	wr.imm_data = htonl(send_imm);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	post_send(wr);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.send_flags |= IBV_SEND_SOLICITED;
	wr.imm_data = htonl(write_imm);
	wr.wr.rdma.rkey = read_stag;
	wr.wr.rdma.remote_addr = read_to;
	post_send(wr);
}

void Connection::connect(const Options &options)
{
	order_.id = number_;
	const auto order = order_.encode();
	rdma_conn_param param{};

	arm();
	post_receives();
	param.private_data = order.data();
	param.private_data_len = order.size();
	param.responder_resources = param.initiator_depth = options.depth;
	must(rdma_connect(id_, &param), "rdma_connect");
}

void Connection::accept(const Options &options)
{
	rdma_conn_param param{};

	if (order_.wishes & wish_reject) {
		const auto order = order_.encode();

		must(rdma_reject(id_, order.data(), order.size()), "rdma_reject");
		end("rejected");
		return;
	}
	arm();
	post_receives();
	param.responder_resources = param.initiator_depth = options.depth;
	if (rdma_accept(id_, &param))
		end(std::string{"accept: "} + std::strerror(errno));
}

void Connection::established()
{
	established_ = true;
	Line("established")
		.number("connection", number_)
		.number("id", order_.id)
		.number("qp", qp_number())
		.print();
	if (order_.wishes & wish_send)
		post_greeting();
	if (order_.wishes & wish_read)
		post_read();
	for (int i = 0; i < 3 && order_.wishes & wish_reads; i++)
		post_read();
	if (order_.wishes & wish_atomic)
		post_atomic();
	if (order_.wishes & wish_imm)
		post_immediate();
	if (order_.wishes & wish_large)
		post_large();
	if (order_.wishes & wish_flood)
		post_flood();
}

void Connection::async(const char *name)
{
	async_ += async_.empty() ? name : std::string{", "} + name;
	if (order_.wishes & wish_late)
		post_greeting();
}

void Connection::poll()
{
	ibv_wc wc{};

	while (ibv_poll_cq(cq_.get(), 1, &wc) == 1) {
		const bool send = wc.wr_id >= send_id;

		(send ? sends_ : receives_).count(wc);
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			continue;
		Line line("completion");

		line.number("connection", number_).number("id", order_.id);
		line.text("queue", send ? "send" : "receive").number("wr", wc.wr_id);
		line.text("status", ibv_wc_status_str(wc.status));
		if (!send && wc.status == IBV_WC_SUCCESS) {
			const std::uint8_t *data =
				memory_[local].data() + receives_at + wc.wr_id * receive_size;

			line.number("bytes", wc.byte_len);
			if (wc.wc_flags & IBV_WC_WITH_IMM)
				line.number("imm", ntohl(wc.imm_data));
			line.text("data",
				  hex({data, std::min<std::size_t>(wc.byte_len, receive_size)}));
			line.text("shown", hex({memory_[write].data() + shown_end - shown_size,
						shown_size}));
			line.number("events", cq_events_);
		}
		line.print();
	}
}

void Connection::report()
{
	Line("end")
		.number("connection", number_)
		.number("id", order_.id)
		.text("result", result_)
		.number("receives_ok", receives_.ok)
		.number("receives_flushed", receives_.flushed)
		.text("receive_error", receives_.error)
		.number("sends_ok", sends_.ok)
		.number("sends_flushed", sends_.flushed)
		.text("send_error", sends_.error)
		.number("send_code", sends_.code)
		.number("lost", established_ ? receives_.outstanding() + sends_.outstanding() : 0)
		.text("async", async_)
		.text("changed", memory_.changes())
		.print();
	memory_.restore();
}

} /* namespace victim */
