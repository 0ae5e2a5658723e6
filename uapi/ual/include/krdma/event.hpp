/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Events of /dev/krdma as records and as values. */
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

/** Details of KRDMA_EVENT_CONN_REQUEST, _CONN_REPLY, _ESTABLISHED. */
struct ConnectionInfo {
	std::uint32_t handle; /**< of the connection */
	std::uint16_t ird;    /**< inbound RDMA Reads */
	std::uint16_t ord;    /**< outbound RDMA Reads */
	Address local;
	Address remote;
	std::vector<std::byte> private_data;
};

/** Details of KRDMA_EVENT_NEIGH. */
struct NeighbourInfo {
	Address address;
	std::uint32_t ifindex;
	std::uint32_t state;                 /**< NUD_* */
	std::vector<std::byte> link_address; /**< empty: not resolved */
};

/** Details of KRDMA_EVENT_NET. */
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

/** Code of KRDMA_EVENT_ASYNC; the numbers of enum krdma_async. */
enum class AsyncCode : std::uint32_t {
	cq_error = KRDMA_ASYNC_CQ_ERR, /**< the queue overflowed and is dead */
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

/** An event of an object. */
struct Event {
	std::uint32_t type;   /**< enum krdma_event_type; a newer kernel may have more */
	std::uint32_t handle; /**< of the object */
	/** Event handler of the CQ, enum krdma_async, KRDMA_NET_*, or number of lost events. */
	std::uint32_t code;
	int status; /**< 0 or an errno */
	std::uint64_t cookie;
	std::chrono::nanoseconds time; /**< CLOCK_MONOTONIC */
	std::variant<std::monostate, ConnectionInfo, NeighbourInfo, NetInfo> detail;

	/** The code of an asynchronous event; nothing for any other event. */
	[[nodiscard]] std::optional<AsyncCode> async() const noexcept
	{
		return type == KRDMA_EVENT_ASYNC ? std::optional{AsyncCode{code}} : std::nullopt;
	}
	/** The details of this type; nullptr for an event of another type. */
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
 * Parses the first record of @p rest and moves @p rest behind it. Of a record that is longer than
 * this library knows, only the known part is used.
 * @throws std::system_error EBADMSG: a record is shorter than its type or longer than the rest.
 */
[[nodiscard]] Event parse_event(std::span<const std::byte> &rest);

/** Name of an event type: "completion", "conn-request" ...; "event-N" if unknown. */
[[nodiscard]] std::string event_name(std::uint32_t type);

/** Name of the code of an asynchronous event: "qp-fatal" ... */
[[nodiscard]] std::string async_name(std::uint32_t code);

using EventCallback = std::function<void(const Event &)>;

/** No time limit. */
inline constexpr std::chrono::milliseconds forever{-1};

namespace detail {
class Core;
class Mailbox;
} /* namespace detail */

/**
 * The events of one object, in order. The program waits for them one by one, or sets a callback.
 *
 * Callbacks run in Session::dispatch(), in the threads of a Dispatcher, and in on_event(). Waits
 * run no callback. A callback may call any function: wait, dispatch() for other objects, end its
 * own callback or object. It is not called again before it has returned. Two callbacks that end
 * each other at the same time wait forever.
 *
 * The captures of a callback live as long as the callback. A callback that holds a copy of its own
 * object keeps the object alive until on_event({}). A copy of the source keeps no object, and gets
 * no events after the object's end.
 */
class EventSource {
public:
	EventSource() noexcept = default;
	explicit EventSource(std::shared_ptr<detail::Mailbox> mailbox) noexcept;

	/**
	 * The next event; nothing: time-out. Not together with a callback.
	 * @throws std::system_error ENODEV: the RNIC is gone and all earlier events were taken. The
	 *         context first gets an event: KRDMA_EVENT_ASYNC, KRDMA_ASYNC_DEVICE_FATAL.
	 */
	[[nodiscard]] std::optional<Event> wait(std::chrono::milliseconds timeout = forever) const;

	/**
	 * Sets the callback, which is called for each event, those that wait already first. An
	 * empty one removes it. When this returns, the previous callback is not running, unless it
	 * is the caller. An exception of a callback leaves dispatch(); in a Dispatcher it ends
	 * the program.
	 */
	void on_event(EventCallback callback) const;

private:
	std::shared_ptr<detail::Mailbox> mailbox_;
};

} /* namespace krdma */

#endif /* KRDMA_EVENT_HPP */
