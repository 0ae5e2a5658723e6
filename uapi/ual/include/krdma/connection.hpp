/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Connections: connect, listen, accept, reject, with private data. */
#ifndef KRDMA_CONNECTION_HPP
#define KRDMA_CONNECTION_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <krdma/verbs.hpp>

namespace krdma {

/** EINVAL: private data above 508 bytes (512: MPA revision 1), more Reads than the RNIC has. */
struct ConnectionOptions {
	std::span<const std::byte> private_data{};
	std::uint16_t ird{8}; /**< inbound RDMA Reads */
	std::uint16_t ord{8}; /**< outbound RDMA Reads */
	std::optional<std::uint8_t> tos{};
	Address local{}; /**< local address; empty: the host chooses */
	/**
	 * connect(): the result comes within this time, ETIMEDOUT at the latest. None: the times
	 * of krdma.ko (connect_timeout_ms, mpa_reply_timeout_ms), which this does not extend.
	 */
	std::optional<std::chrono::milliseconds> timeout{};
};

namespace detail {
class ConnectionState;
class ListenerState;
} /* namespace detail */

/** A connection of a queue pair. Destroying the object ends the connection. */
class Connection {
public:
	/**
	 * Begins to connect and returns. established() or the event KRDMA_EVENT_CONN_REPLY gives
	 * the result. Errors of routing and of TCP may come from this call or with the result.
	 * @throws std::system_error EINVAL: the queue pair has failed, or see ConnectionOptions;
	 *         EISCONN: the queue pair has a connection; EADDRNOTAVAIL: the local address, or
	 *         the one that the host chooses, is not the RNIC's; EADDRINUSE, EACCES: the local
	 *         port is in use or privileged; ENETUNREACH, EHOSTUNREACH: no route to the peer;
	 *         E2BIG: a time limit, and the kernel module is older.
	 */
	[[nodiscard]] static Connection connect(const QueuePair &qp, const Address &remote,
						const ConnectionOptions &options = {});

	/**
	 * Waits until the connection is established. Takes the event, unless there is a callback.
	 * @throws std::system_error ECONNREFUSED: the peer (see info().private_data) or its host
	 *         refused; ETIMEDOUT: this time or a time limit of the kernel is over; ECONNRESET:
	 *         the peer went without an answer; EPROTO, EPROTONOSUPPORT, EOPNOTSUPP: the peer
	 *         does not speak MPA, or no common form of it; ECONNABORTED: this side ended it;
	 *         ENODEV: the RNIC is gone. After the result was returned once: the reason why
	 *         the connection has ended since, ECONNRESET for a graceful end.
	 */
	void established(std::chrono::milliseconds timeout = forever);
	/** Waits until it has ended or could not be established. False: time-out. */
	[[nodiscard]] bool closed(std::chrono::milliseconds timeout = forever);

	/**
	 * The reason of the end or of the failed attempt. 0: graceful; ECONNABORTED, ECONNRESET
	 * and others; EINPROGRESS: no end was read yet.
	 */
	[[nodiscard]] int close_status() const;

	/** What is known; complete before a callback gets the established event. */
	[[nodiscard]] ConnectionInfo info() const;
	/** KRDMA_EVENT_CONN_REPLY or _ESTABLISHED, then _CLOSED. */
	[[nodiscard]] const EventSource &events() const noexcept;
	[[nodiscard]] std::uint32_t handle() const noexcept;

private:
	friend class ConnectionRequest;
	Connection() noexcept = default;
	std::shared_ptr<detail::ConnectionState> state_;
};

/** A connection request of a peer. Destroying an unanswered request rejects it. */
class ConnectionRequest {
public:
	ConnectionRequest(std::shared_ptr<detail::Core> core, ConnectionInfo info);

	/** Addresses, the peer's wishes for RDMA Read depths, private data. */
	[[nodiscard]] const ConnectionInfo &info() const noexcept;
	/**
	 * Begins to accept, once. Connection::established() waits for the result.
	 * @throws std::system_error The request may be answered again after EINVAL: the queue pair
	 *         has failed or is of another RNIC or session, or see ConnectionOptions; EISCONN:
	 *         the queue pair has a connection; ENOMEM. After any other errno the request is
	 *         over: ECONNRESET, ENOTCONN: the peer has gone; ECONNABORTED: the queue pair
	 *         failed.
	 */
	[[nodiscard]] Connection accept(const QueuePair &qp, const ConnectionOptions &options = {});
	/** Rejects, with private data, once. */
	void reject(std::span<const std::byte> private_data = {});

private:
	std::shared_ptr<detail::ConnectionState> state_;
};

struct ListenerOptions {
	std::uint32_t backlog{64};
	bool v6only{false};
	std::optional<std::uint8_t> tos{};
};

/**
 * Listens for connection requests to an address of the RNIC. Destroying it rejects the requests
 * that were not taken.
 */
class Listener {
public:
	/**
	 * @param local an address of the RNIC, or the wildcard of a family, which stands for the
	 *        RNIC's addresses, with a port; 0: the kernel chooses. Listeners of several RNICs
	 *        may share a wildcard and a port.
	 * @throws std::system_error EADDRNOTAVAIL: not an address of the RNIC; EADDRINUSE: a
	 *         socket, a listener or another session's reservation has the port; EACCES: the
	 *         port is privileged; EAFNOSUPPORT: neither IPv4 nor IPv6.
	 */
	Listener(const Context &context, const Address &local, ListenerOptions options = {});

	/** The address with the actual port. */
	[[nodiscard]] const Address &address() const noexcept;
	/** The next request; nothing: time-out. */
	[[nodiscard]] std::optional<ConnectionRequest>
	wait(std::chrono::milliseconds timeout = forever) const;
	/** Sets a callback for requests, see EventSource::on_event(). */
	void on_request(std::function<void(ConnectionRequest)> callback) const;

private:
	std::shared_ptr<detail::ListenerState> state_;
};

} /* namespace krdma */

#endif /* KRDMA_CONNECTION_HPP */
