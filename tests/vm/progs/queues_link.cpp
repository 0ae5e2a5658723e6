/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The connection of queues.hpp. */
#include "queues.hpp"

namespace queues {
namespace {

rdma::SideOptions side_options(const LinkOptions &options)
{
	rdma::SideOptions side;

	side.cqe = options.cqe;
	side.vector = options.vector;
	side.wc_flags = options.wc_flags;
	side.pd = options.pd;
	side.srq = options.srq;
	return side;
}

} /* namespace */

Link::Link(World &world, const LinkOptions &options)
	: pair_{world, {}, side_options(options)}, client{&pair_.client()}, server{&pair_.server()},
	  into_client{client->pd(), message_size, rdma::all_access}, into_server{server->pd(),
										 message_size,
										 rdma::all_access}
{}

void Link::fence()
{
	constexpr std::uint64_t id = ~std::uint64_t{0};
	const std::array sink{into_client.sge(0, 4)};

	/* the answer comes after all earlier messages */
	rdma::must(client->post_rdma(IBV_WR_RDMA_READ, sink, into_server.address(),
				     into_server.key(), IBV_SEND_SIGNALED, id),
		   "post of a Read");
	const ibv_wc wc = client->sends.wait();
	rdma::require_status(wc, IBV_WC_SUCCESS, "Read");
	rdma::require_eq(wc.wr_id, id, "completion before the Read's");
}

} /* namespace queues */
