/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Connections: made, listened for, accepted, refused. Private data goes along. */
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

/** EINVAL: more private data than 508 octets (512: MPA revision 1), more Reads than the RNIC's. */
struct ConnectionOptions {
	std::span<const std::byte> private_data{};
	std::uint16_t ird{8}; /**< inbound RDMA Reads */
	std::uint16_t ord{8}; /**< outbound RDMA Reads */
	std::optional<std::uint8_t> tos{};
	Address local{}; /**< to connect from; none: the host chooses */
};

namespace detail {
class ConnectionState;
class ListenerState;
} /* namespace detail */

/** A connection of a queue pair. Its end ends it. */
class Connection {
public:
	/**
	 * Begins to connect and returns; established() or the event KRDMA_EVENT_CONN_REPLY
	 * tells what came of it. Either may tell the errors of the way and of TCP.
	 * @throws std::system_error EINVAL: the queue pair has failed, or see ConnectionOptions;
	 *         EISCONN: it has a connection; EADDRNOTAVAIL: the local address, or the one that
	 *         the host chooses, is not the RNIC's; EADDRINUSE, EACCES: of the local port;
	 *         ENETUNREACH, EHOSTUNREACH: no way there.
	 */
	[[nodiscard]] static Connection connect(const QueuePair &qp, const Address &remote,
						const ConnectionOptions &options = {});

	/**
	 * Waits until it is made, and takes the event, unless there is a callback for it.
	 * @throws std::system_error ECONNREFUSED: the peer (with private_data()) or its host
	 *         refused; ETIMEDOUT: the time is over, here or in the kernel; ECONNRESET: the peer
	 *         went without an answer; EPROTO, EPROTONOSUPPORT, EOPNOTSUPP: it does not speak
	 *         MPA, or not so that both can; ECONNABORTED: it was ended here; ENODEV: the RNIC
	 *         is gone. Once this was told: why it has ended since, ECONNRESET for a graceful
	 *         end.
	 */
	void established(std::chrono::milliseconds timeout = forever);
	/** Waits until it has ended, or could not be made; false after the time. */
	[[nodiscard]] bool closed(std::chrono::milliseconds timeout = forever);

	/**
	 * Why it has ended: 0: gracefully; ECONNABORTED, ECONNRESET ...; why it could not be made.
	 * EINPROGRESS: it has not ended, as far as was read.
	 */
	[[nodiscard]] int close_status() const;

	/** As they are known: complete when it is established, before a callback hears of it. */
	[[nodiscard]] ConnectionInfo info() const;
	/** KRDMA_EVENT_CONN_REPLY or _ESTABLISHED, then _CLOSED. */
	[[nodiscard]] const EventSource &events() const noexcept;
	[[nodiscard]] std::uint32_t handle() const noexcept;

private:
	friend class ConnectionRequest;
	Connection() noexcept = default;
	std::shared_ptr<detail::ConnectionState> state_;
};

/** Somebody wants to connect. What is neither accepted nor refused is refused at its end. */
class ConnectionRequest {
public:
	ConnectionRequest(std::shared_ptr<detail::Core> core, ConnectionInfo info);

	/** Addresses, wished depths of RDMA Reads, private data. */
	[[nodiscard]] const ConnectionInfo &info() const noexcept;
	/**
	 * Begins to accept; Connection::established() tells when it is done. Once only.
	 * @throws std::system_error and the request may be answered again: EINVAL: the queue pair
	 *         has failed or is of another RNIC or session, or see ConnectionOptions; EISCONN:
	 *         it has a connection; ENOMEM. With any other errno it is over: ECONNRESET,
	 *         ENOTCONN: the peer has gone; ECONNABORTED: the queue pair failed.
	 */
	[[nodiscard]] Connection accept(const QueuePair &qp, const ConnectionOptions &options = {});
	/** Refuses, with private data. Once only. */
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
 * Hears of those who want to connect to an address of the RNIC. Those whom nobody took are
 * refused at its end.
 */
class Listener {
public:
	/**
	 * @param local address (or all of a family, which are those of the RNIC) and port; 0: the
	 *        kernel chooses. A listener of each RNIC may have all of a family, with one port.
	 * @throws std::system_error EADDRNOTAVAIL: it is not an address of the RNIC;
	 *         EADDRINUSE: a socket, a listener or another session's reservation has it;
	 *         EACCES: a privileged one; EAFNOSUPPORT: no address of IPv4 or IPv6.
	 */
	Listener(const Context &context, const Address &local, ListenerOptions options = {});

	/** With the port that was given. */
	[[nodiscard]] const Address &address() const noexcept;
	/** The next request, or nothing after the time. */
	[[nodiscard]] std::optional<ConnectionRequest>
	wait(std::chrono::milliseconds timeout = forever) const;
	/** Calls back with each request, see EventSource::on_event(). */
	void on_request(std::function<void(ConnectionRequest)> callback) const;

private:
	std::shared_ptr<detail::ListenerState> state_;
};

} /* namespace krdma */

#endif /* KRDMA_CONNECTION_HPP */
