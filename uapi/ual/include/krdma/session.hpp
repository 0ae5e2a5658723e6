/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * An open /dev/krdma: RNICs, the services of the network stack, events. Functions that fail
 * throw krdma::Error, a std::system_error with the kernel's errno and, where it is known, the
 * cause.
 */
#ifndef KRDMA_SESSION_HPP
#define KRDMA_SESSION_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <krdma/address.hpp>
#include <krdma/error.hpp>
#include <krdma/event.hpp>
#include <krdma/krdma-abi.h>

namespace krdma {

/**
 * The system calls on the device, as an interface that a test can implement. Numbers and
 * structures are those of <krdma/krdma-abi.h>.
 */
class Kernel {
public:
	Kernel() noexcept = default;
	Kernel(const Kernel &) = delete;
	Kernel &operator=(const Kernel &) = delete;
	virtual ~Kernel() = default;

	/** Issues a command. Returns 0 or an errno. */
	[[nodiscard]] virtual int command(unsigned long number, void *argument) noexcept = 0;
	/** Reads whole records. Returns their bytes, or a negative errno; -EAGAIN: none waits. */
	[[nodiscard]] virtual std::int64_t read(std::span<std::byte> to) noexcept = 0;
	/** The descriptor, for poll(), epoll and mmap(). */
	[[nodiscard]] virtual int descriptor() const noexcept = 0;
};

/** Opens the device. */
[[nodiscard]] std::shared_ptr<Kernel> open_kernel(const char *path = KRDMA_DEVICE);

struct Counter {
	std::string name;
	std::uint64_t value;
};

/** Attributes of an RNIC. */
struct Attributes {
	std::uint32_t index;
	std::uint32_t ifindex; /**< 0: no network device */
	std::string name;
	std::string netdev;
	std::string provider;     /**< kernel module */
	std::string user_library; /**< empty: none */
	bool up;
	krdma_rnic_query raw; /**< limits and all numbers */

	/** "iWARP", "InfiniBand", "RoCE" */
	[[nodiscard]] std::string_view transport() const noexcept;
	/** "02:00:00:00:00:01"; empty: none */
	[[nodiscard]] std::string mac() const;
	/** "1.0.0" */
	[[nodiscard]] std::string firmware() const;
};

/** An RNIC of the namespace. */
class Device {
public:
	Device(std::shared_ptr<detail::Core> core, std::uint32_t index, std::uint32_t ifindex,
	       std::string name) noexcept;

	[[nodiscard]] const std::string &name() const noexcept
	{
		return name_;
	}
	/** The index, which no other RNIC ever gets. */
	[[nodiscard]] std::uint32_t index() const noexcept
	{
		return index_;
	}
	/** Index of its network device, 0: none. */
	[[nodiscard]] std::uint32_t ifindex() const noexcept
	{
		return ifindex_;
	}

	/** @throws std::system_error ENODEV: the RNIC is gone. */
	[[nodiscard]] Attributes attributes() const;
	/** The ports. @throws std::system_error ENODEV: the RNIC is gone. */
	[[nodiscard]] std::vector<krdma_rnic_port> ports() const;
	[[nodiscard]] std::vector<Counter> counters() const;
	/**
	 * All queue pairs of the RNIC with their counters. A queue pair that is made or destroyed
	 * during the call may be listed or not.
	 * @throws std::system_error EPERM: only for the administrator; ENODEV: the RNIC is gone.
	 */
	[[nodiscard]] std::vector<krdma_qp_entry> queue_pairs() const;

	[[nodiscard]] const std::shared_ptr<detail::Core> &core() const noexcept
	{
		return core_;
	}

private:
	std::shared_ptr<detail::Core> core_;
	std::uint32_t index_;
	std::uint32_t ifindex_;
	std::string name_;
};

/** A local address that reaches a destination. */
struct LocalAddress {
	Address address;
	std::uint32_t ifindex;
	std::uint32_t rnic; /**< index of the RNIC there, 0: none */
};

/** The way to a destination. */
struct Route {
	Address source;
	Address next_hop;
	std::uint32_t ifindex;
	std::uint32_t mtu;
	std::uint32_t rnic; /**< index of the RNIC there, 0: none */
	bool gateway;       /**< the next hop is a router */
	bool local;         /**< the destination is this host */
};

/** The link address of a neighbour at the time of the query, and its later changes. */
class Neighbour {
public:
	enum class Follow : std::uint8_t {
		nothing, /**< only the present state */
		resolve, /**< ask the network; an event has the answer */
		watch,   /**< ask the network; an event comes at each change */
	};

	/** Is the link address known? */
	[[nodiscard]] bool resolved() const noexcept
	{
		return !info_.link_address.empty();
	}
	[[nodiscard]] const NeighbourInfo &info() const noexcept
	{
		return info_;
	}
	/** Will events follow? */
	[[nodiscard]] bool follows() const noexcept
	{
		return static_cast<bool>(state_);
	}
	/** Events KRDMA_EVENT_NEIGH, only if follows(). */
	[[nodiscard]] const EventSource &events() const noexcept
	{
		return events_;
	}

private:
	friend class Session;
	NeighbourInfo info_{};
	std::shared_ptr<void> state_;
	EventSource events_;
};

/** A reserved TCP port of the host, which no other program gets while this object lives. */
class PortReservation {
public:
	/** The reserved address and port. */
	[[nodiscard]] const Address &address() const noexcept
	{
		return address_;
	}

private:
	friend class Session;
	std::shared_ptr<void> state_;
	Address address_;
};

/**
 * An open /dev/krdma. It sees the RNICs of the network namespace in which it was opened. Copies
 * share the open file, which is closed when all objects that were made from it are gone.
 */
class Session {
public:
	/** Opens /dev/krdma. @throws std::system_error ENOENT: krdma.ko is not loaded. */
	Session();
	/** Uses another implementation of the system calls. */
	explicit Session(std::shared_ptr<Kernel> kernel);

	/** The RNICs of the namespace. */
	[[nodiscard]] std::vector<Device> devices() const;
	/** Finds an RNIC by its or its network device's name. @throws std::system_error ENODEV */
	[[nodiscard]] Device find(std::string_view name) const;
	/** Finds the RNIC with this local address. @throws std::system_error ENODEV */
	[[nodiscard]] Device find_local(const Address &local) const;
	/** Finds the RNIC that leads to this address. @throws std::system_error ENODEV */
	[[nodiscard]] Device find_remote(const Address &remote) const;

	/**
	 * Issues a privileged verb or any other command (KRDMA_IOC_* and its structure, with the
	 * size set) that has no function here. With cookie 0 its events come to events().
	 * Returns 0 or an errno.
	 */
	[[nodiscard]] int ri_syscall(unsigned long number, void *argument) const noexcept;

	/** The session's limits and how much of them is used. */
	[[nodiscard]] krdma_usage usage() const;

	/** Local addresses that reach a destination, best first. */
	[[nodiscard]] std::vector<LocalAddress> local_addresses(const Address &destination) const;
	/**
	 * The next hop. @param source local address, or none. @param ifindex interface, or 0.
	 * @throws std::system_error ENETUNREACH ...
	 */
	[[nodiscard]] Route route(const Address &destination, const Address &source = {},
				  std::uint32_t ifindex = 0) const;
	/** Link address of a next hop. */
	[[nodiscard]] Neighbour neighbour(const Address &address, std::uint32_t ifindex,
					  Neighbour::Follow follow) const;
	/**
	 * Reserves a TCP port. Port 0: any; address zero: the addresses of all RNICs. Only this
	 * session may listen at the port and connect from it.
	 * @throws std::system_error EADDRINUSE: a socket, a listener or a reservation has it;
	 * EACCES
	 */
	[[nodiscard]] PortReservation reserve_port(const Address &address) const;
	/** The sums of the host's and the offloaded TCP/IP counters. */
	[[nodiscard]] std::vector<Counter> mib() const;

	/** Chooses events of the namespace (KRDMA_NET_*), which come to events(). */
	void subscribe(std::uint32_t mask) const;
	/** Events that belong to no object: KRDMA_EVENT_NET, KRDMA_EVENT_OVERFLOW. */
	[[nodiscard]] const EventSource &events() const noexcept
	{
		return events_;
	}

	/** A descriptor for poll(), readable when dispatch() has work. The session owns it. */
	[[nodiscard]] int descriptor() const;
	/**
	 * Waits for events at most that time and runs their callbacks, also for events that
	 * waiting threads have read. With a Dispatcher it finds no callback to run.
	 * Returns the number of events.
	 */
	std::size_t dispatch(std::chrono::milliseconds timeout = std::chrono::milliseconds{
				     0}) const;

	[[nodiscard]] const std::shared_ptr<detail::Core> &core() const noexcept
	{
		return core_;
	}

private:
	std::shared_ptr<detail::Core> core_;
	EventSource events_;
};

/**
 * Reads a session's events and runs the callbacks in threads of its own. Callbacks of one object
 * run one after the other, in order. Those of several objects run at the same time, in any idle
 * thread. A session has one dispatcher at a time.
 */
class Dispatcher {
public:
	/**
	 * @param threads number of threads, at least one
	 * @throws std::system_error EBUSY: the session has a dispatcher already.
	 */
	explicit Dispatcher(const Session &session, unsigned int threads = 1);
	Dispatcher(Dispatcher &&) noexcept;
	Dispatcher &operator=(Dispatcher &&) noexcept;
	/** Waits for running callbacks; not to be called from one of them. */
	~Dispatcher();

private:
	class Impl;
	std::unique_ptr<Impl> impl_;
};

} /* namespace krdma */

#endif /* KRDMA_SESSION_HPP */
