/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The common part of the checks of krdma_queues: a connection with a buffer at each end. */
#ifndef KRDMA_TEST_QUEUES_HPP
#define KRDMA_TEST_QUEUES_HPP

#include <array>

#include "checks.hpp"

namespace queues {

using checks::World;

inline constexpr std::size_t message_size = 256;

/** struct LinkOptions - of the server's side, which most checks are about */
struct LinkOptions {
	int cqe = 64;
	int vector = 0;
	std::uint64_t wc_flags = 0;
	ibv_pd *pd = nullptr;
	ibv_srq *srq = nullptr;
};

/** struct Link - a connection with both ends here and a buffer at each */
struct Link {
	explicit Link(World &world, const LinkOptions &options = {});

	/* All messages that the client sent before have been handled by the server's RNIC. */
	void fence();

	[[nodiscard]] std::array<ibv_sge, 1> source() const
	{
		return {into_client.sge()};
	}
	[[nodiscard]] std::array<ibv_sge, 1> target() const
	{
		return {into_server.sge()};
	}

private:
	checks::Pair pair_;

public:
	rdma::Side *const client;
	rdma::Side *const server;
	rdma::Memory into_client;
	rdma::Memory into_server;
};

/* when completions came (queues_times.cpp) */
void completion_times(World &world);
void completion_times_of_a_new_ring(World &world);
void completion_times_only_when_asked_for(World &world);

/* two at one queue (queues_races.cpp) */
void cq_resizes_at_once(World &world);
void srq_resizes_at_once(World &world);
void flushed_places_are_free(World &world);

/* many QPs on one SRQ, random sizes, limit events and new sizes under load (queues_srq.cpp) */
void srq_of_many(World &world);

/* queues of the largest size, and many that wait (queues_large.cpp) */
void large_queues_flush(World &world);
void large_cq_moves(World &world);
void large_srq_moves(World &world);
void many_wait_for_an_srq(World &world);

} /* namespace queues */

#endif /* KRDMA_TEST_QUEUES_HPP */
