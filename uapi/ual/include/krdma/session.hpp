/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * An open /dev/krdma: RNICs, the network stack's services, events. Everything
 * that fails throws std::system_error with the kernel's errno.
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
#include <krdma/event.hpp>
#include <krdma/krdma-abi.h>

namespace krdma {

/**
 * The system calls on the device, so that a test can stand for the kernel. Numbers and
 * structures are those of <krdma/krdma-abi.h>.
 */
class Kernel {
public:
	Kernel() noexcept = default;
	Kernel(const Kernel &) = delete;
	Kernel &operator=(const Kernel &) = delete;
	virtual ~Kernel() = default;

	/** 0 or an errno. */
	[[nodiscard]] virtual int command(unsigned long number, void *argument) noexcept = 0;
	/** Octets of whole records, or a negative errno; -EAGAIN: none waits. */
	[[nodiscard]] virtual std::int64_t read(std::span<std::byte> to) noexcept = 0;
	/** For poll(), epoll and mmap(). */
	[[nodiscard]] virtual int descriptor() const noexcept = 0;
};

/** Opens the device. */
[[nodiscard]] std::shared_ptr<Kernel> open_kernel(const char *path = KRDMA_DEVICE);

struct Counter {
	std::string name;
	std::uint64_t value;
};

/** What there is to know of an RNIC. */
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
	/** Never given to another RNIC. */
	[[nodiscard]] std::uint32_t index() const noexcept
	{
		return index_;
	}
	/** Index of its network device, 0: none. */
	[[nodiscard]] std::uint32_t ifindex() const noexcept
	{
		return ifindex_;
	}

	/** @throws std::system_error ENODEV: it is gone. */
	[[nodiscard]] Attributes attributes() const;
	[[nodiscard]] std::vector<Counter> counters() const;
	/**
	 * Its queue pairs, whoever has them, and what each has counted. One that comes or goes
	 * meanwhile may be told or not.
	 * @throws std::system_error EPERM: only the administrator may know; ENODEV: it is gone.
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

/** Link address of a neighbour, as it was when asked, and what comes of it. */
class Neighbour {
public:
	enum class Follow : std::uint8_t {
		nothing, /**< what is known now */
		resolve, /**< ask the network; an event tells the answer */
		watch,   /**< ask, and an event at each change */
	};

	/** Resolved already? */
	[[nodiscard]] bool resolved() const noexcept
	{
		return !info_.link_address.empty();
	}
	[[nodiscard]] const NeighbourInfo &info() const noexcept
	{
		return info_;
	}
	/** True if events follow. */
	[[nodiscard]] bool follows() const noexcept
	{
		return static_cast<bool>(state_);
	}
	/** KRDMA_EVENT_NEIGH; only when follows(). */
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

/** A TCP port of the host that nobody else gets while this lives. */
class PortReservation {
public:
	/** Address and port that were reserved. */
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
 * An open /dev/krdma. It sees the RNICs of the network namespace that it was opened in.
 * Copies are the same open file, which is closed when all that was made from it is gone.
 */
class Session {
public:
	/** Opens /dev/krdma. @throws std::system_error ENOENT: krdma.ko is not loaded. */
	Session();
	/** Over another kernel. */
	explicit Session(std::shared_ptr<Kernel> kernel);

	/** The RNICs there are. */
	[[nodiscard]] std::vector<Device> devices() const;
	/** By its name, or that of its network device. @throws std::system_error ENODEV */
	[[nodiscard]] Device find(std::string_view name) const;
	/** That whose network device has the address. @throws std::system_error ENODEV */
	[[nodiscard]] Device find_local(const Address &local) const;
	/** That through which the address is reached. @throws std::system_error ENODEV */
	[[nodiscard]] Device find_remote(const Address &remote) const;

	/**
	 * A privileged verb or any other command, KRDMA_IOC_* and its structure with its size,
	 * for what has no function here. With cookie 0 its events come to events().
	 * Returns 0 or an errno.
	 */
	[[nodiscard]] int ri_syscall(unsigned long number, void *argument) const noexcept;

	/** This file's use of its limits. */
	[[nodiscard]] krdma_usage usage() const;

	/** Local addresses that reach a destination, best first. */
	[[nodiscard]] std::vector<LocalAddress> local_addresses(const Address &destination) const;
	/**
	 * The next hop. @param source to send from, or none. @param ifindex to send by, or 0.
	 * @throws std::system_error ENETUNREACH ...
	 */
	[[nodiscard]] Route route(const Address &destination, const Address &source = {},
				  std::uint32_t ifindex = 0) const;
	/** Link address of a next hop. */
	[[nodiscard]] Neighbour neighbour(const Address &address, std::uint32_t ifindex,
					  Neighbour::Follow follow) const;
	/**
	 * Reserves a TCP port: any when it is 0, at all RNICs' addresses when that is zero. This
	 * session alone may listen there and connect from it.
	 * @throws std::system_error EADDRINUSE: a socket, a listener or a reservation has it;
	 * EACCES
	 */
	[[nodiscard]] PortReservation reserve_port(const Address &address) const;
	/** Host's and offloaded TCP/IP counters as one. */
	[[nodiscard]] std::vector<Counter> mib() const;

	/** Wishes events of the namespace: KRDMA_NET_*; they come to events(). */
	void subscribe(std::uint32_t mask) const;
	/** Those that belong to no object: KRDMA_EVENT_NET, KRDMA_EVENT_OVERFLOW. */
	[[nodiscard]] const EventSource &events() const noexcept
	{
		return events_;
	}

	/** Readable when dispatch() has something to do. For poll() alone; the session's. */
	[[nodiscard]] int descriptor() const;
	/**
	 * Reads what waits, after at most that time, and runs the callbacks for it, and for what
	 * threads that waited have read. A Dispatcher leaves it none to run.
	 * Returns how many events came.
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
 * Reads a session's events and runs the callbacks in threads of its own: those of one
 * object one after the other, in order; those of several at the same time, by whichever thread
 * is idle. A session has one at a time.
 */
class Dispatcher {
public:
	/**
	 * @param threads that run callbacks, at least one
	 * @throws std::system_error EBUSY: the session has one already.
	 */
	explicit Dispatcher(const Session &session, unsigned int threads = 1);
	Dispatcher(Dispatcher &&) noexcept;
	Dispatcher &operator=(Dispatcher &&) noexcept;
	/** Waits for the callbacks that run; not from one of them. */
	~Dispatcher();

private:
	class Impl;
	std::unique_ptr<Impl> impl_;
};

} /* namespace krdma */

#endif /* KRDMA_SESSION_HPP */
