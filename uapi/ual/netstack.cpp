/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Services of the network stack: addresses, routes, neighbours, ports. */
#include "core.hpp"

#include <netinet/in.h>

namespace krdma {
namespace {

krdma_addr without_port(const Address &address)
{
	krdma_addr raw = address.raw();

	raw.port = 0;
	return raw;
}

struct Watched {
	explicit Watched(std::shared_ptr<detail::Mailbox> events) noexcept
		: mailbox{std::move(events)}
	{}

	detail::Inbox mailbox;
	detail::Handle handle;
};

} /* namespace */

std::vector<LocalAddress> Session::local_addresses(const Address &destination) const
{
	auto command = detail::make_command<krdma_net_locals>();
	std::vector<LocalAddress> found;

	command.dst = without_port(destination);
	for (const krdma_net_local &entry : detail::list<krdma_net_local>(
		     *core_, KRDMA_IOC_NET_LOCAL, command, destination.host().c_str()))
		found.push_back({Address{entry.addr}, entry.ifindex, entry.rnic});
	return found;
}

Route Session::route(const Address &destination, const Address &source, std::uint32_t ifindex) const
{
	auto command = detail::make_command<krdma_net_route>();

	command.dst = without_port(destination);
	command.src = without_port(source);
	command.ifindex = ifindex;
	core_->command(KRDMA_IOC_NET_ROUTE, command, destination.host().c_str());
	return {Address{command.src},
		Address{command.next_hop},
		command.ifindex,
		command.mtu,
		command.rnic,
		(command.flags & KRDMA_ROUTE_GATEWAY) != 0,
		(command.flags & KRDMA_ROUTE_LOCAL) != 0};
}

Neighbour Session::neighbour(const Address &address, std::uint32_t ifindex,
			     Neighbour::Follow follow) const
{
	auto command = detail::make_command<krdma_net_neigh>();
	auto watched = std::make_shared<Watched>(core_->make_mailbox());

	command.addr = without_port(address);
	command.ifindex = ifindex;
	command.cookie = watched->mailbox->cookie();
	if (follow != Neighbour::Follow::nothing)
		command.flags |= KRDMA_NEIGH_ASK;
	if (follow == Neighbour::Follow::watch)
		command.flags |= KRDMA_NEIGH_WATCH;
	core_->command(KRDMA_IOC_NET_NEIGH, command, address.host().c_str());
	watched->handle = detail::Handle{core_, command.handle};

	Neighbour neighbour;
	const auto *bytes = reinterpret_cast<const std::byte *>(command.lladdr);
	const std::size_t length =
		std::min<std::size_t>(command.lladdr_len, sizeof(command.lladdr));
	neighbour.info_ = {address, ifindex, command.state, {bytes, bytes + length}};
	if (command.handle) {
		neighbour.events_ = EventSource{watched->mailbox.get()};
		neighbour.state_ = std::move(watched);
	}
	return neighbour;
}

PortReservation Session::reserve_port(const Address &address) const
{
	auto command = detail::make_command<krdma_port>();
	PortReservation port;

	command.addr = address.raw();
	command.protocol = IPPROTO_TCP;
	core_->command(KRDMA_IOC_PORT, command, address.to_string().c_str());
	port.state_ = std::make_shared<detail::Handle>(core_, command.handle);
	port.address_ = Address{command.addr};
	return port;
}

void Session::subscribe(std::uint32_t mask) const
{
	auto command = detail::make_command<krdma_net_subscribe>();

	command.mask = mask;
	core_->command(KRDMA_IOC_NET_SUBSCRIBE, command, "subscription");
}

} /* namespace krdma */
