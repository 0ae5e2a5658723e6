/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The C interface: addresses, sessions, events, services of the network stack. */
#include <algorithm>

#include "c_api.hpp"

using namespace krdma::capi;
using krdma::Address;

namespace krdma::capi {

ual_conn_info conn_info(const ConnectionInfo &from) noexcept
{
	ual_conn_info to{};
	const std::size_t length = std::min(from.private_data.size(), sizeof(to.private_data));

	to.ird = from.ird;
	to.ord = from.ord;
	to.local = from.local.raw();
	to.remote = from.remote.raw();
	to.private_data_len = static_cast<std::uint32_t>(length);
	std::copy_n(reinterpret_cast<const std::uint8_t *>(from.private_data.data()), length,
		    to.private_data);
	return to;
}

namespace {

ual_neigh_info neigh_info(const NeighbourInfo &from) noexcept
{
	ual_neigh_info to{};
	const std::size_t length = std::min(from.link_address.size(), sizeof(to.lladdr));

	to.addr = from.address.raw();
	to.ifindex = from.ifindex;
	to.state = from.state;
	to.lladdr_len = static_cast<std::uint32_t>(length);
	std::copy_n(reinterpret_cast<const std::uint8_t *>(from.link_address.data()), length,
		    to.lladdr);
	return to;
}

ual_net_info net_info(const NetInfo &from) noexcept
{
	ual_net_info to{};

	to.gone = from.gone;
	to.up = from.up;
	to.ifindex = from.ifindex;
	to.rnic = from.rnic;
	to.mtu = from.mtu;
	to.prefix_len = from.prefix_len;
	to.addr = from.address.raw();
	put_name(from.name, to.name);
	return to;
}

ual_event event_of(const Event &from) noexcept
{
	ual_event to{};

	to.type = from.type;
	to.handle = from.handle;
	to.code = from.code;
	to.status = -from.status;
	to.time_ns = static_cast<std::uint64_t>(from.time.count());
	if (const ConnectionInfo *info = from.connection())
		to.conn = conn_info(*info);
	else if (const NeighbourInfo *info = from.neighbour())
		to.neigh = neigh_info(*info);
	else if (const NetInfo *info = from.net())
		to.net = net_info(*info);
	return to;
}

krdma_rnic_entry entry_of(const Device &device)
{
	krdma_rnic_entry entry{device.index(), device.ifindex(), {}};

	put_name(device.name(), entry.name);
	return entry;
}

krdma_counter counter_of(const Counter &from)
{
	krdma_counter to{{}, from.value};

	(void)put_text(from.name, to.name, sizeof(to.name));
	return to;
}

/* an RNIC of which only the index is known */
Device device_of(ual_session *session, std::uint32_t index)
{
	return {session->object.core(), index, 0, "RNIC " + std::to_string(index)};
}

} /* namespace */
} /* namespace krdma::capi */

/* Addresses **************************************************************** */

int ual_addr_parse(const char *text, krdma_addr *addr)
{
	return guarded([&] { *addr = Address::parse(text).raw(); });
}

int ual_addr_resolve(const char *text, int family, krdma_addr *addr)
{
	return guarded([&] { *addr = Address::resolve(text, family).raw(); });
}

int ual_addr_from_sockaddr(const sockaddr *from, size_t length, krdma_addr *addr)
{
	return guarded([&] {
		*addr = Address::from_sockaddr(
				from, static_cast<socklen_t>(std::min<size_t>(length, INT32_MAX)))
				.raw();
	});
}

size_t ual_addr_format(const krdma_addr *addr, char *text, size_t room)
{
	size_t length = put_text("", text, room);

	(void)guarded([&] { length = put_text(Address{*addr}.to_string(), text, room); });
	return length;
}

uint16_t ual_addr_port(const krdma_addr *addr)
{
	return Address{*addr}.port();
}

/* Causes ******************************************************************* */

namespace krdma::capi {

LastError &last_error() noexcept
{
	thread_local LastError last{};

	return last;
}

void remember(int err, const krdma_error &detail, const char *text) noexcept
{
	LastError &last = last_error();

	last.detail = detail;
	last.detail.status = static_cast<std::uint32_t>(err);
	(void)put_text(text, last.text.data(), last.text.size());
}

} /* namespace krdma::capi */

void ual_last_error(krdma_error *error)
{
	*error = last_error().detail;
}

size_t ual_last_error_text(char *text, size_t room)
{
	return put_text(last_error().text.data(), text, room);
}

size_t ual_cause_text(const krdma_error *error, char *text, size_t room)
{
	size_t length = put_text("", text, room);

	(void)guarded([&] { length = put_text(krdma::cause_text(*error), text, room); });
	return length;
}

/* Sessions ***************************************************************** */

int ual_open(ual_session **session)
{
	return make(session);
}

void ual_close(ual_session *session)
{
	destroy(session);
}

int ual_ri_syscall(ual_session *session, unsigned long number, void *command)
{
	return -session->object.ri_syscall(number, command);
}

int ual_devices(ual_session *session, krdma_rnic_entry *entries, uint32_t room)
{
	return guarded(
		[&] { return put_list(session->object.devices(), entries, room, entry_of); });
}

int ual_find(ual_session *session, const char *name, uint32_t *index)
{
	return guarded([&] { *index = session->object.find(name).index(); });
}

int ual_find_local(ual_session *session, const krdma_addr *local, uint32_t *index)
{
	return guarded([&] { *index = session->object.find_local(Address{*local}).index(); });
}

int ual_find_remote(ual_session *session, const krdma_addr *remote, uint32_t *index)
{
	return guarded([&] { *index = session->object.find_remote(Address{*remote}).index(); });
}

int ual_query(ual_session *session, uint32_t index, krdma_rnic_query *query)
{
	return guarded([&] { *query = device_of(session, index).attributes().raw; });
}

int ual_rnic_port(ual_session *session, uint32_t index, uint32_t number, krdma_rnic_port *port)
{
	return guarded([&] {
		const std::vector<krdma_rnic_port> ports = device_of(session, index).ports();

		if (!number || number > ports.size())
			krdma::detail::throw_errno(EINVAL, "port");
		*port = ports[number - 1];
	});
}

int ual_counters(ual_session *session, uint32_t index, krdma_counter *entries, uint32_t room)
{
	return guarded([&] {
		return put_list(device_of(session, index).counters(), entries, room, counter_of);
	});
}

int ual_queue_pairs(ual_session *session, uint32_t index, krdma_qp_entry *entries, uint32_t room)
{
	return guarded([&] {
		return put_list(device_of(session, index).queue_pairs(), entries, room,
				[](const krdma_qp_entry &entry) { return entry; });
	});
}

int ual_mib(ual_session *session, krdma_counter *entries, uint32_t room)
{
	return guarded([&] { return put_list(session->object.mib(), entries, room, counter_of); });
}

int ual_usage(ual_session *session, krdma_usage *usage)
{
	return guarded([&] { *usage = session->object.usage(); });
}

/* Events ******************************************************************* */

size_t ual_event_name(uint32_t type, char *text, size_t room)
{
	size_t length = put_text("", text, room);

	(void)guarded([&] { length = put_text(krdma::event_name(type), text, room); });
	return length;
}

size_t ual_async_name(uint32_t code, char *text, size_t room)
{
	size_t length = put_text("", text, room);

	(void)guarded([&] { length = put_text(krdma::async_name(code), text, room); });
	return length;
}

ual_source *ual_session_events(ual_session *session)
{
	return &session->events;
}

ual_source *ual_context_events(ual_context *context)
{
	return &context->events;
}

ual_source *ual_cq_events(ual_cq *cq)
{
	return &cq->events;
}

ual_source *ual_srq_events(ual_srq *srq)
{
	return &srq->events;
}

ual_source *ual_qp_events(ual_qp *qp)
{
	return &qp->events;
}

ual_source *ual_connection_events(ual_connection *connection)
{
	return &connection->events;
}

ual_source *ual_neighbour_events(ual_neighbour *neighbour)
{
	return &neighbour->events;
}

int ual_event_wait(ual_source *source, ual_event *event, int timeout_ms)
{
	return guarded([&] {
		const std::optional<krdma::Event> next =
			source->source.wait(milliseconds(timeout_ms));

		if (next)
			*event = event_of(*next);
		return next.has_value();
	});
}

int ual_event_callback(ual_source *source, ual_event_fn fn, void *arg)
{
	return guarded([&] {
		source->called = fn != nullptr;
		if (!fn) {
			source->source.on_event({});
			return;
		}
		source->source.on_event([fn, arg](const krdma::Event &event) {
			const ual_event copy = event_of(event);

			fn(arg, &copy);
		});
	});
}

int ual_fd(ual_session *session)
{
	return guarded([&] { return session->object.descriptor(); });
}

int ual_dispatch(ual_session *session, int timeout_ms)
{
	return guarded([&] { return session->object.dispatch(milliseconds(timeout_ms)); });
}

int ual_dispatcher_create(ual_session *session, unsigned int threads, ual_dispatcher **dispatcher)
{
	return make(dispatcher, session->object, threads);
}

void ual_dispatcher_destroy(ual_dispatcher *dispatcher)
{
	destroy(dispatcher);
}

/* Network stack ************************************************************ */

int ual_local_addresses(ual_session *session, const krdma_addr *to, krdma_net_local *entries,
			uint32_t room)
{
	return guarded([&] {
		return put_list(
			session->object.local_addresses(Address{*to}), entries, room,
			[](const krdma::LocalAddress &from) {
				return krdma_net_local{from.address.raw(), from.ifindex, from.rnic};
			});
	});
}

int ual_route(ual_session *session, krdma_net_route *route)
{
	krdma_net_route command = *route;

	command.size = sizeof(command);
	command.flags = 0;
	command.dst.port = 0;
	command.src.port = 0;
	const int err = session->object.ri_syscall(KRDMA_IOC_NET_ROUTE, &command);
	if (!err)
		*route = command;
	return -err;
}

int ual_neighbour_get(ual_session *session, const krdma_addr *addr, uint32_t ifindex,
		      uint32_t flags, ual_neigh_info *info, ual_neighbour **neighbour)
{
	return guarded([&] {
		using Follow = krdma::Neighbour::Follow;
		const Follow follow = flags & KRDMA_NEIGH_WATCH ? Follow::watch
				      : flags & KRDMA_NEIGH_ASK ? Follow::resolve
								: Follow::nothing;

		if (flags & ~(KRDMA_NEIGH_WATCH | KRDMA_NEIGH_ASK))
			krdma::detail::throw_errno(EINVAL, "flags");
		const krdma::Neighbour found =
			session->object.neighbour(Address{*addr}, ifindex, follow);
		std::unique_ptr<ual_neighbour> followed;
		if (found.follows())
			followed = std::make_unique<ual_neighbour>(found);
		*info = neigh_info(found.info());
		if (neighbour)
			*neighbour = followed.release();
	});
}

void ual_neighbour_destroy(ual_neighbour *neighbour)
{
	destroy(neighbour);
}

int ual_port_reserve(ual_session *session, krdma_addr *addr, ual_port **port)
{
	const int err = guarded([&] {
		auto reserved =
			std::make_unique<ual_port>(session->object.reserve_port(Address{*addr}));

		*addr = reserved->object.address().raw();
		*port = reserved.release();
	});

	return err;
}

void ual_port_destroy(ual_port *port)
{
	destroy(port);
}

int ual_subscribe(ual_session *session, uint32_t mask)
{
	return guarded([&] { session->object.subscribe(mask); });
}
