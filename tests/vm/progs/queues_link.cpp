/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#include "queues.hpp"

#include <future>

#include <endian.h>

namespace queues {
namespace {

using Sides = std::pair<std::unique_ptr<rdma::Side>, std::unique_ptr<rdma::Side>>;

Sides connect(World &world, const LinkOptions &options)
{
	rdma::SideOptions server_options;
	Sides sides;

	server_options.cqe = options.cqe;
	server_options.vector = options.vector;
	server_options.pd = options.pd;
	server_options.srq = options.srq;
	sides.first = std::make_unique<rdma::Side>(world.client(), rdma::SideOptions{});
	auto accepted = std::async(std::launch::async, [&] {
		sides.second = std::make_unique<rdma::Side>(rdma::next_request(world.listener()),
							    server_options);
		sides.second->accept();
	});
	sides.first->connect();
	accepted.get();
	return sides;
}

} /* namespace */

World::World(const char *address)
	: address_{address}, listener_{rdma::make_listener(address, nullptr)},
	  port_{std::to_string(be16toh(rdma_get_src_port(listener_.get())))}
{
	rdma::must(listener_->verbs ? 0 : ENODEV, "RDMA device of the address");
	rdma::must(ibv_query_device(context(), &device_), "ibv_query_device");
}

Link::Link(World &world, const LinkOptions &options) : Link{connect(world, options)}
{}

Link::Link(Sides sides)
	: client{std::move(sides.first)}, server{std::move(sides.second)},
	  into_client{client->pd(), message_size, rdma::all_access}, into_server{server->pd(),
										 message_size,
										 rdma::all_access}
{}

void Link::fence()
{
	constexpr std::uint64_t id = ~std::uint64_t{0};
	const std::array sink{into_client.sge(0, 4)};

	/* answered behind what came before */
	rdma::must(client->post_rdma(IBV_WR_RDMA_READ, sink, into_server.address(),
				     into_server.key(), IBV_SEND_SIGNALED, id),
		   "post of a Read");
	const ibv_wc wc = client->sends.wait();
	rdma::require_status(wc, IBV_WC_SUCCESS, "Read");
	rdma::require_eq(wc.wr_id, id, "completion before the Read's");
}

} /* namespace queues */
