/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Conversion of the records of read(2) into events, and the names of event types and codes. */
#include <krdma/event.hpp>

#include <array>
#include <cstring>
#include <system_error>

#include "core.hpp"

namespace krdma {
namespace {

constexpr std::size_t alignment = 8;

[[noreturn]] void malformed(const char *what)
{
	detail::throw_errno(EBADMSG, what);
}

/* Read the fixed part of a record, if the record is long enough. */
template <typename Record> Record fixed_part(std::span<const std::byte> record)
{
	Record fixed{};

	if (record.size() < sizeof(fixed))
		malformed("event record shorter than its type");
	std::memcpy(static_cast<void *>(&fixed), record.data(), sizeof(fixed));
	return fixed;
}

ConnectionInfo connection_info(std::span<const std::byte> record)
{
	const auto raw = fixed_part<krdma_conn_event>(record);
	const std::span<const std::byte> rest =
		record.subspan(offsetof(krdma_conn_event, private_data));

	if (raw.private_data_len > rest.size() || raw.private_data_len > KRDMA_PRIVATE_DATA_MAX)
		malformed("private data behind its record");
	const auto data = rest.first(raw.private_data_len);
	return {raw.conn,
		raw.ird,
		raw.ord,
		Address{raw.local},
		Address{raw.remote},
		{data.begin(), data.end()}};
}

NeighbourInfo neighbour_info(std::span<const std::byte> record)
{
	const auto raw = fixed_part<krdma_neigh_event>(record);

	if (raw.lladdr_len > sizeof(raw.lladdr))
		malformed("link address longer than its field");
	const auto *lladdr = reinterpret_cast<const std::byte *>(raw.lladdr);
	return {Address{raw.addr}, raw.ifindex, raw.state, {lladdr, lladdr + raw.lladdr_len}};
}

NetInfo net_info(std::span<const std::byte> record)
{
	const auto raw = fixed_part<krdma_net_event>(record);

	return {raw.gone != 0, raw.up != 0,    raw.ifindex,       raw.rnic,
		raw.mtu,       raw.prefix_len, Address{raw.addr}, detail::text(raw.name)};
}

} /* namespace */

Event parse_event(std::span<const std::byte> &rest)
{
	krdma_event base;

	if (rest.size() < sizeof(base))
		malformed("event record cut off");
	std::memcpy(&base, rest.data(), sizeof(base));
	if (base.size < sizeof(base) || base.size % alignment || base.size > rest.size())
		malformed("event record of impossible size");
	const std::span<const std::byte> record = rest.first(base.size);

	Event event{base.type,   base.handle,
		    base.code,   -base.status,
		    base.cookie, std::chrono::nanoseconds{base.time_ns},
		    {}};
	switch (base.type) {
	case KRDMA_EVENT_CONN_REQUEST:
	case KRDMA_EVENT_CONN_REPLY:
	case KRDMA_EVENT_ESTABLISHED:
		event.detail = connection_info(record);
		break;
	case KRDMA_EVENT_NEIGH:
		event.detail = neighbour_info(record);
		break;
	case KRDMA_EVENT_NET:
		event.detail = net_info(record);
		break;
	default:
		break;
	}
	rest = rest.subspan(base.size);
	return event;
}

std::string event_name(std::uint32_t type)
{
	switch (type) {
	case KRDMA_EVENT_COMPLETION:
		return "completion";
	case KRDMA_EVENT_ASYNC:
		return "async";
	case KRDMA_EVENT_CONN_REQUEST:
		return "conn-request";
	case KRDMA_EVENT_CONN_REPLY:
		return "conn-reply";
	case KRDMA_EVENT_ESTABLISHED:
		return "established";
	case KRDMA_EVENT_CLOSED:
		return "closed";
	case KRDMA_EVENT_NEIGH:
		return "neigh";
	case KRDMA_EVENT_NET:
		return "net";
	case KRDMA_EVENT_OVERFLOW:
		return "overflow";
	default:
		return "event-" + std::to_string(type);
	}
}

std::string async_name(std::uint32_t code)
{
	/* enum krdma_async */
	static constexpr std::array names = {
		"cq-error",         "qp-fatal",          "qp-request-error", "qp-access-error",
		"comm-established", "sq-drained",        "path-migrated",    "path-migration-error",
		"device-fatal",     "port-active",       "port-error",       "lid-change",
		"pkey-change",      "sm-change",         "srq-error",        "srq-limit-reached",
		"qp-last-wqe",      "client-reregister", "gid-change",       "wq-fatal",
	};

	return code < names.size() ? names[code] : "async-" + std::to_string(code);
}

} /* namespace krdma */
