/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A connection of krdma_victim: an rdma_cm id, its QP, and its results. The event loop in
 * krdma_victim.cpp owns the connections.
 */
#ifndef KRDMA_TEST_VICTIM_CONNECTION_HPP
#define KRDMA_TEST_VICTIM_CONNECTION_HPP

#include <chrono>
#include <cstdint>
#include <string>

#include "victim_memory.hpp"

namespace victim {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/* time limit for posted requests to complete after the end of a connection */
inline constexpr auto flush_limit = 10s;

/* from the command line */
struct Options {
	std::string bind;
	std::string connect;
	std::uint16_t port = 7471;
	std::uint8_t depth = 4; /* of inbound and outbound reads */
};

/** struct Tally - the completions of one direction */
struct Tally {
	unsigned int posted = 0;
	unsigned int ok = 0;
	unsigned int flushed = 0;
	std::string error;      /* status of the first that neither succeeded nor was flushed */
	std::uint32_t code = 0; /* the Terminate's code in that completion */

	void count(const ibv_wc &wc)
	{
		if (wc.status == IBV_WC_SUCCESS)
			ok++;
		else if (wc.status == IBV_WC_WR_FLUSH_ERR || !error.empty())
			flushed++;
		else {
			error = ibv_wc_status_str(wc.status);
			code = wc.vendor_err;
		}
	}
	[[nodiscard]] unsigned int outstanding() const
	{
		return posted - ok - flushed - (error.empty() ? 0 : 1);
	}
};

/** class Connection - an rdma_cm id, its QP and its results */
class Connection {
public:
	Connection(unsigned int number, rdma_cm_id *id, Memory &memory, ibv_comp_channel *channel)
		: number_{number}, id_{id}, memory_{memory}
	{
		constexpr int depth = 2 * receives_max;

		cq_.reset(must(ibv_create_cq(id->verbs, depth, nullptr, channel, 0),
			       "ibv_create_cq"));
		ibv_qp_init_attr attr{};
		attr.qp_type = IBV_QPT_RC;
		attr.send_cq = attr.recv_cq = cq_.get();
		attr.cap = {.max_send_wr = 16,
			    .max_recv_wr = receives_max,
			    .max_send_sge = 1,
			    .max_recv_sge = 1,
			    .max_inline_data = sizeof(greeting)};
		must(rdma_create_qp(id, memory.pd(), &attr), "rdma_create_qp");
	}
	~Connection()
	{
		if (cq_events_)
			ibv_ack_cq_events(cq_.get(), cq_events_);
		rdma_destroy_qp(id_);
		cq_.reset();
		rdma_destroy_id(id_);
	}
	Connection(const Connection &) = delete;
	Connection &operator=(const Connection &) = delete;

	[[nodiscard]] const rdma_cm_id *id() const
	{
		return id_;
	}
	[[nodiscard]] ibv_cq *cq() const
	{
		return cq_.get();
	}
	[[nodiscard]] unsigned int number() const
	{
		return number_;
	}
	[[nodiscard]] std::uint32_t qp_number() const
	{
		return id_->qp->qp_num;
	}

	void follow(const Order &order)
	{
		order_ = order;
	}
	void post_receives();
	void post_atomic();
	void post_immediate();
	void connect(const Options &options);
	void accept(const Options &options);
	void established();
	void cq_event()
	{
		cq_events_++;
		arm();
	}
	void poll();
	void async(const char *name);
	void end(const std::string &result)
	{
		if (result_.empty())
			result_ = result;
		ended_ = Clock::now();
	}
	/* the connection is over, and no request will complete any more */
	[[nodiscard]] bool finished() const
	{
		if (result_.empty())
			return false;
		return !established_ || Clock::now() > ended_ + flush_limit ||
		       (!receives_.outstanding() && !sends_.outstanding());
	}
	[[nodiscard]] bool refused() const
	{
		return !established_;
	}
	void report();

private:
	void arm()
	{
		must(ibv_req_notify_cq(cq_.get(), order_.wishes & wish_solicited ? 1 : 0),
		     "ibv_req_notify_cq");
	}
	void post_send(ibv_send_wr &wr);
	void post_greeting();
	void post_read();
	void post_rdma(ibv_wr_opcode opcode, std::uint32_t size, std::uint64_t to);
	void post_large();
	void post_flood();

	unsigned int number_;
	rdma_cm_id *id_;
	Memory &memory_;
	rdma::Cq cq_;
	unsigned int cq_events_ = 0;
	Order order_;
	Tally receives_, sends_;
	std::string result_, async_;
	Clock::time_point ended_;
	bool established_ = false;
};

} /* namespace victim */

#endif /* KRDMA_TEST_VICTIM_CONNECTION_HPP */
