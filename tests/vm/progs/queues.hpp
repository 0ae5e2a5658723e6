/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the checks of krdma_queues share: the device, and a connection with both
 * ends in this process.
 */
#ifndef KRDMA_TEST_QUEUES_HPP
#define KRDMA_TEST_QUEUES_HPP

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "rdma.hpp"

namespace queues {

inline constexpr std::size_t message_size = 256;

class World {
public:
	explicit World(const char *address);

	[[nodiscard]] ibv_context *context() const
	{
		return listener_->verbs;
	}
	[[nodiscard]] const ibv_device_attr &device() const
	{
		return device_;
	}
	[[nodiscard]] rdma_cm_id *listener() const
	{
		return listener_.get();
	}
	[[nodiscard]] rdma::CmId client() const
	{
		return rdma::make_client(address_, port_.c_str());
	}

private:
	const char *address_;
	rdma::CmId listener_;
	std::string port_;
	ibv_device_attr device_{};
};

/** struct LinkOptions - of the server's side, which most checks are about */
struct LinkOptions {
	int cqe = 64;
	int vector = 0;
	ibv_pd *pd = nullptr;
	ibv_srq *srq = nullptr;
};

/** struct Link - a connection with both ends here and a buffer at each */
struct Link {
	explicit Link(World &world, const LinkOptions &options = {});

	/* everything that the client sent before has been handled by the server's RNIC */
	void fence();

	[[nodiscard]] std::array<ibv_sge, 1> source() const
	{
		return {into_client.sge()};
	}
	[[nodiscard]] std::array<ibv_sge, 1> target() const
	{
		return {into_server.sge()};
	}

	std::unique_ptr<rdma::Side> client;
	std::unique_ptr<rdma::Side> server;
	rdma::Memory into_client;
	rdma::Memory into_server;

private:
	explicit Link(std::pair<std::unique_ptr<rdma::Side>, std::unique_ptr<rdma::Side>> sides);
};

struct Check {
	const char *name;
	void (*run)(World &world);
};

/* many QPs on one SRQ, random sizes, limit events and new sizes under load (queues_srq.cpp) */
void srq_of_many(World &world);

} /* namespace queues */

#endif /* KRDMA_TEST_QUEUES_HPP */
