/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Events of /dev/krdma, as records and as values. */
#ifndef KRDMA_EVENT_HPP
#define KRDMA_EVENT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <krdma/address.hpp>
#include <krdma/krdma-abi.h>

namespace krdma {

/** Of KRDMA_EVENT_CONN_REQUEST, _CONN_REPLY, _ESTABLISHED. */
struct ConnectionInfo {
	std::uint32_t handle; /**< of the connection */
	std::uint16_t ird;    /**< inbound RDMA Reads */
	std::uint16_t ord;    /**< outbound RDMA Reads */
	Address local;
	Address remote;
	std::vector<std::byte> private_data;
};

/** Of KRDMA_EVENT_NEIGH. */
struct NeighbourInfo {
	Address address;
	std::uint32_t ifindex;
	std::uint32_t state;                 /**< NUD_* */
	std::vector<std::byte> link_address; /**< empty: not resolved */
};

/** Of KRDMA_EVENT_NET. */
struct NetInfo {
	bool gone;
	bool up;
	std::uint32_t ifindex;
	std::uint32_t rnic; /**< index, 0: none */
	std::uint32_t mtu;
	std::uint32_t prefix_len;
	Address address;
	std::string name;
};

/** Code of KRDMA_EVENT_ASYNC, as enum krdma_async has it. */
enum class AsyncCode : std::uint32_t {
	cq_error = KRDMA_ASYNC_CQ_ERR, /**< it overflowed, and is dead */
	qp_fatal = KRDMA_ASYNC_QP_FATAL,
	qp_request_error = KRDMA_ASYNC_QP_REQ_ERR,
	qp_access_error = KRDMA_ASYNC_QP_ACCESS_ERR,
	sq_drained = KRDMA_ASYNC_SQ_DRAINED,
	device_fatal = KRDMA_ASYNC_DEVICE_FATAL, /**< the RNIC is gone */
	port_active = KRDMA_ASYNC_PORT_ACTIVE,
	port_error = KRDMA_ASYNC_PORT_ERR,
	srq_error = KRDMA_ASYNC_SRQ_ERR,
	srq_limit_reached = KRDMA_ASYNC_SRQ_LIMIT_REACHED,
	qp_last_wqe = KRDMA_ASYNC_QP_LAST_WQE_REACHED,
};

/** What a record said. */
struct Event {
	std::uint32_t type;   /**< enum krdma_event_type, or a later kernel's */
	std::uint32_t handle; /**< of the object */
	/** Event handler of the queue, enum krdma_async, KRDMA_NET_*, how many were lost. */
	std::uint32_t code;
	int status; /**< 0 or an errno */
	std::uint64_t cookie;
	std::chrono::nanoseconds time; /**< CLOCK_MONOTONIC */
	std::variant<std::monostate, ConnectionInfo, NeighbourInfo, NetInfo> detail;

	/** What an asynchronous event says; nothing if it is another one. */
	[[nodiscard]] std::optional<AsyncCode> async() const noexcept
	{
		return type == KRDMA_EVENT_ASYNC ? std::optional{AsyncCode{code}} : std::nullopt;
	}
	/** The part of its type; nullptr if it is another one. */
	[[nodiscard]] const ConnectionInfo *connection() const noexcept
	{
		return std::get_if<ConnectionInfo>(&detail);
	}
	[[nodiscard]] const NeighbourInfo *neighbour() const noexcept
	{
		return std::get_if<NeighbourInfo>(&detail);
	}
	[[nodiscard]] const NetInfo *net() const noexcept
	{
		return std::get_if<NetInfo>(&detail);
	}
};

/**
 * The first event of what was read; the rest begins behind it. Records that are
 * longer than known are taken for what is known of them.
 * @throws std::system_error EBADMSG: a record is shorter than its type or longer than the rest.
 */
[[nodiscard]] Event parse_event(std::span<const std::byte> &rest);

/** "completion", "conn-request" ...; "event-N" for an unknown one. */
[[nodiscard]] std::string event_name(std::uint32_t type);

/** Name of an asynchronous event's code: "qp-fatal" ... */
[[nodiscard]] std::string async_name(std::uint32_t code);

using EventCallback = std::function<void(const Event &)>;

/** No time limit. */
inline constexpr std::chrono::milliseconds forever{-1};

namespace detail {
class Core;
class Mailbox;
} /* namespace detail */

/**
 * The events of one object, in order: taken one by one, or given to a callback.
 * Either the program waits, or Session::dispatch() or a Dispatcher brings them. Callbacks run
 * there and in on_event(), not in the waits of anybody. A callback may call anything: wait,
 * dispatch() for the others, end its own callback or object. It is not called again before it
 * has returned. Two whose callbacks end each other's at the same time wait forever.
 *
 * What a callback captures lives as long as it: one that has a copy of its own object keeps
 * that, until on_event({}). A copy of the source keeps no object, and nothing comes to it any
 * more when that has ended.
 */
class EventSource {
public:
	EventSource() noexcept = default;
	explicit EventSource(std::shared_ptr<detail::Mailbox> mailbox) noexcept;

	/**
	 * The next event, or nothing after the time. Not together with a callback.
	 * @throws std::system_error ENODEV: the RNIC is gone and all that it said was taken. The
	 *         context's event says so first: KRDMA_EVENT_ASYNC, KRDMA_ASYNC_DEVICE_FATAL.
	 */
	[[nodiscard]] std::optional<Event> wait(std::chrono::milliseconds timeout = forever) const;

	/**
	 * Calls back for each event from now on, those that wait first; an empty one ends that.
	 * When this returns the previous callback does not run, unless it is the one that calls.
	 * An exception of a callback ends dispatch() with it, or in a Dispatcher the program.
	 */
	void on_event(EventCallback callback) const;

private:
	std::shared_ptr<detail::Mailbox> mailbox_;
};

} /* namespace krdma */

#endif /* KRDMA_EVENT_HPP */
