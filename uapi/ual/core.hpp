/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The inner part of libkrdma: the open file that all objects share, the delivery of events,
 * and handles that are destroyed with their owners.
 */
#ifndef KRDMA_CORE_HPP
#define KRDMA_CORE_HPP

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <unistd.h>

#include <krdma/error.hpp>
#include <krdma/session.hpp>

namespace krdma::detail {

[[noreturn]] inline void throw_errno(int err, const char *what)
{
	throw Error{err, what};
}

/*
 * The record of the last command of this thread, all 0 if it had none. Commands of the data path
 * have no record and leave it as it is.
 */
krdma_error &last_refusal() noexcept;

/* Throw the errno of a command, with the cause from its record. */
[[noreturn]] void throw_refusal(int err, const char *what);

inline void check_refusal(int err, const char *what)
{
	if (err) [[unlikely]]
		throw_refusal(err, what);
}

/* Call a function of the user library, which issues commands or refuses by itself. */
template <typename Call> void through_library(Call call, const char *what)
{
	last_refusal() = {};
	check_refusal(call(), what);
}

/* a record that the library makes itself */
[[nodiscard]] inline krdma_error refusal(int err, krdma_cause cause,
					 krdma_unit unit = KRDMA_UNIT_NONE,
					 std::uint64_t value = 0) noexcept
{
	return {static_cast<std::uint32_t>(err), cause, unit, 0, value};
}

inline void check(int err, const char *what)
{
	if (err) [[unlikely]]
		throw_errno(err, what);
}

/** Create a command with its size set. */
template <typename Command> Command make_command() noexcept
{
	Command command{};

	command.size = sizeof(command);
	return command;
}

/** class Descriptor - a file descriptor, closed by its destructor */
class Descriptor {
public:
	explicit Descriptor(int fd = -1) noexcept : fd_{fd}
	{}
	Descriptor(Descriptor &&other) noexcept : fd_{std::exchange(other.fd_, -1)}
	{}
	Descriptor &operator=(Descriptor &&other) noexcept
	{
		std::swap(fd_, other.fd_);
		return *this;
	}
	~Descriptor()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	[[nodiscard]] int get() const noexcept
	{
		return fd_;
	}

private:
	int fd_;
};

class Mailbox;

using Clock = std::chrono::steady_clock;

/* The time after @timeout. Longer times than ten years count as ten years. */
[[nodiscard]] inline Clock::time_point deadline_in(std::chrono::milliseconds timeout)
{
	return Clock::now() + std::min<std::chrono::milliseconds>(timeout, std::chrono::years{10});
}

/** struct Scope - state that all objects of a context share */
struct Scope {
	std::atomic<bool> ended{}; /* an event has said that the RNIC is gone */
};

/**
 * class Core - an open /dev/krdma
 *
 * One thread at a time reads events and puts them into the mailboxes that the events' cookies
 * name. Other threads that wait sleep until it has finished. The lock protects the mailboxes.
 *
 * A mailbox with events and a callback is ready. Ready mailboxes are in one list, each once.
 * dispatch(), or any thread of a Dispatcher, takes the first mailbox and runs its callback for
 * one event. Threads that wait do not run callbacks.
 *
 * In a child that fork() made, destructors of objects do nothing. The open file and its objects
 * belong to the parent, and a lock may be held by a thread that the child does not have.
 *
 * When the last handle of an object ends, the kernel may still need the object. For example, a
 * window may be bound to a region, and the region needs its domain and context. Such an object
 * waits in a list. It is tried again whenever another object was destroyed. The list has at
 * most one entry for each object in the kernel.
 */
class Core : public std::enable_shared_from_this<Core> {
public:
	explicit Core(std::shared_ptr<Kernel> kernel);

	/* 0 or an errno */
	[[nodiscard]] int try_command(unsigned long number, void *argument) noexcept
	{
		const int err = issue(number, argument);

		/* a user library or the program may destroy objects with a command, too */
		if (number == KRDMA_IOC_DESTROY && !err && !forked())
			destroy_waiting();
		return err;
	}

	template <typename Command>
	void command(unsigned long number, Command &argument, const char *what)
	{
		check_refusal(issue(number, &argument), what);
	}

	/* Is this process a child of the process that opened the device? */
	[[nodiscard]] bool forked() const noexcept
	{
		return getpid() != opener_;
	}

	/* Return: 0 or an errno. EBUSY: the object is destroyed when no object needs it. */
	int destroy(std::uint32_t handle) noexcept
	{
		if (forked())
			return 0;
		krdma_destroy destroy{sizeof(destroy), handle};
		const int err = try_command(KRDMA_IOC_DESTROY, &destroy);

		return err == EBUSY ? destroy_later(handle) : err;
	}
	/* An object without owner was busy. Return: 0; EBUSY: it waits in the list. */
	int destroy_later(std::uint32_t handle) noexcept;

	[[nodiscard]] Kernel &kernel() noexcept
	{
		return *kernel_;
	}

	/* a new mailbox with a new cookie, for an object of that context */
	[[nodiscard]] std::shared_ptr<Mailbox> make_mailbox(std::shared_ptr<Scope> scope = {});
	/* the mailbox of events without cookie */
	[[nodiscard]] const std::shared_ptr<Mailbox> &own_mailbox() const noexcept
	{
		return own_;
	}

	/*
	 * Read events once, within the time limit, or sleep while another thread reads. Return:
	 * number of events.
	 */
	std::size_t pump(std::unique_lock<std::mutex> &guard,
			 std::chrono::steady_clock::time_point deadline, bool limited,
			 int wake = -1);

	/* Wake the threads that sleep while another thread reads. */
	void wake() noexcept
	{
		changed_.notify_all();
	}

	std::size_t dispatch(std::chrono::milliseconds timeout);

	/* a descriptor that is readable when dispatch() has work */
	[[nodiscard]] int descriptor();

	/*
	 * From now on, or no more, a Dispatcher's threads run the callbacks. Return: 0 or
	 * EBUSY.
	 */
	[[nodiscard]] int begin_dispatcher();
	void end_dispatcher();

	/* With the lock held: @mailbox may have become ready. */
	void schedule(const std::shared_ptr<Mailbox> &mailbox);
	[[nodiscard]] bool is_ready() const noexcept
	{
		return !ready_.empty();
	}
	/* @mailbox has a new callback. */
	void run_waiting(const std::shared_ptr<Mailbox> &mailbox);
	/* Run one callback for one event, without the lock. Return: false if there was none. */
	bool run_one(std::unique_lock<std::mutex> &guard);

	std::mutex lock;
	std::condition_variable work; /* a mailbox is ready, or the Dispatcher ends */

private:
	friend class Mailbox;

	/* work of deliver() that must be done without the lock */
	struct Delivery {
		std::vector<std::shared_ptr<Mailbox>> touched;
		std::vector<Event> dropped;
	};

	/* Issue a command, and keep the record of a refusal for the thread. */
	int issue(unsigned long number, void *argument) noexcept;

	/* with waiting_lock_ held */
	int destroy_now(std::uint32_t handle) noexcept;
	void destroy_waiting_locked() noexcept;
	void destroy_waiting() noexcept;

	void deliver(Event event, Delivery &delivery);
	void drop(const Event &event) noexcept;
	void forget(std::uint64_t cookie) noexcept;
	/* With the lock held: make descriptor() readable if a mailbox is ready. */
	void signal() noexcept;
	std::size_t run_ready(std::unique_lock<std::mutex> &guard);

	std::shared_ptr<Kernel> kernel_;
	std::atomic<bool> tells_{true}; /* the kernel has KRDMA_IOC_CALL, as far as is known */
	const pid_t opener_{getpid()};
	std::shared_ptr<Mailbox> own_;
	std::condition_variable changed_;
	bool reading_{};
	bool busy_{}; /* the last read found several events */
	std::deque<std::weak_ptr<Mailbox>> ready_;
	bool dispatcher_{};
	Descriptor signal_;   /* eventfd; its value is 1 if signaled_ */
	Descriptor pollable_; /* the kernel's descriptor and signal_; from the first descriptor() */
	bool signaled_{};
	std::uint64_t next_cookie_{1};
	std::unordered_map<std::uint64_t, std::weak_ptr<Mailbox>> mailboxes_;
	std::mutex waiting_lock_;            /* protects waiting_; innermost lock */
	std::vector<std::uint32_t> waiting_; /* objects without owner that the kernel still needs */
};

/** struct Past - the events that an object has had so far, whether they were taken or not */
struct Past {
	struct Made {
		ConnectionInfo info;
		int status;
	};

	std::uint64_t completions{}; /* number of events that ask for a poll of the CQ */
	bool failed{};               /* there was an ASYNC event; for a CQ this is the end */
	std::optional<Made> made;    /* result of CONNECT or ACCEPT */
	std::optional<int> closed;   /* status of CLOSED */

	void note(const Event &event);
};

/** class Mailbox - the events of one object that the program has not taken yet */
class Mailbox : public std::enable_shared_from_this<Mailbox> {
public:
	Mailbox(Core &core, std::uint64_t cookie, bool is_own, std::shared_ptr<Scope> scope = {});
	Mailbox(const Mailbox &) = delete;
	Mailbox &operator=(const Mailbox &) = delete;
	~Mailbox();

	[[nodiscard]] std::uint64_t cookie() const noexcept
	{
		return cookie_;
	}

	[[nodiscard]] std::optional<Event> wait(std::chrono::milliseconds timeout);
	/*
	 * Read events until @done, which runs under the lock, is true, or the time is over.
	 * Throws ENODEV if no more events can come.
	 */
	bool wait_until(std::chrono::milliseconds timeout, const std::function<bool()> &done);
	/* From now on the mailbox belongs to that context. */
	void join(std::shared_ptr<Scope> scope);
	void set_callback(EventCallback callback);
	/* The object is destroyed. On return no callback runs, and no events will come. */
	void close() noexcept;

	/*
	 * Run the callback for one event, without the core's lock. Return: false if there is
	 * none.
	 */
	bool step();

	/* With the lock held. Events for which there is no room go to @dropped. */
	void put(Event event, std::vector<Event> &dropped);
	[[nodiscard]] const Past &past() const noexcept
	{
		return past_;
	}
	/* Will no more events come? */
	[[nodiscard]] bool ended() const noexcept
	{
		return scope_ && scope_->ended;
	}
	/* Take the first event of that type, unless there is a callback. */
	bool take(std::uint32_t type);
	[[nodiscard]] bool has_work() const noexcept
	{
		return callback_ && !events_.empty();
	}
	[[nodiscard]] bool has_event() const noexcept
	{
		return !events_.empty();
	}

private:
	friend class Core;

	/* Exists while a callback runs. The callback may call its own object. */
	class Running {
	public:
		explicit Running(Mailbox &mailbox) noexcept
			: mailbox_{mailbox}, before_{mailbox.runner_.exchange(
						     std::this_thread::get_id())}
		{}
		Running(const Running &) = delete;
		Running &operator=(const Running &) = delete;
		~Running()
		{
			mailbox_.runner_ = before_;
		}

	private:
		Mailbox &mailbox_;
		std::thread::id before_;
	};

	[[nodiscard]] bool runs_here() const noexcept
	{
		return runner_.load() == std::this_thread::get_id();
	}

	/* limit of the events that the program does not take; then the oldest are dropped */
	static constexpr std::size_t most = 16384;

	void make_room(std::vector<Event> &dropped);

	std::shared_ptr<Core> core_; /* empty for the core's own mailbox */
	Core &owner_;
	std::uint64_t cookie_;
	std::shared_ptr<Scope> scope_; /* under the lock */
	std::deque<Event> events_;
	Past past_;
	std::shared_ptr<const EventCallback> callback_;
	bool scheduled_{};                      /* in the ready list, or taken from it and run */
	std::recursive_mutex running_;          /* held while a callback runs */
	std::atomic<std::thread::id> runner_{}; /* the thread of the callback */
};

/** class Inbox - the mailbox of an object; the destructor closes it */
class Inbox {
public:
	explicit Inbox(std::shared_ptr<Mailbox> mailbox) noexcept : mailbox_{std::move(mailbox)}
	{}
	Inbox(const Inbox &) = delete;
	Inbox &operator=(const Inbox &) = delete;
	~Inbox()
	{
		mailbox_->close();
	}

	[[nodiscard]] Mailbox *operator->() const noexcept
	{
		return mailbox_.get();
	}
	[[nodiscard]] const std::shared_ptr<Mailbox> &get() const noexcept
	{
		return mailbox_;
	}

private:
	std::shared_ptr<Mailbox> mailbox_;
};

/** class Handle - an object of the kernel, destroyed by the destructor */
class Handle {
public:
	Handle() noexcept = default;
	Handle(std::shared_ptr<Core> core, std::uint32_t value) noexcept
		: core_{std::move(core)}, value_{value}
	{}
	Handle(Handle &&other) noexcept
		: core_{std::move(other.core_)}, value_{std::exchange(other.value_, 0)}
	{}
	Handle &operator=(Handle &&other) noexcept
	{
		std::swap(core_, other.core_);
		std::swap(value_, other.value_);
		return *this;
	}
	~Handle()
	{
		reset();
	}

	[[nodiscard]] std::uint32_t value() const noexcept
	{
		return value_;
	}

	/* Return: 0 or an errno. If the object is still needed, the core destroys it later. */
	int reset() noexcept
	{
		if (!value_)
			return 0;
		return core_->destroy(std::exchange(value_, 0));
	}

private:
	std::shared_ptr<Core> core_;
	std::uint32_t value_{};
};

/* text of a character array from the kernel, with or without a final 0 */
template <std::size_t size> std::string text(const char (&from)[size])
{
	return {from, strnlen(from, size)};
}

/*
 * Read a list whose command returns the number of entries. Ask again with more room until all
 * entries fit. Command has the members count and entries.
 */
template <typename Entry, typename Command>
std::vector<Entry> list(Core &core, unsigned long number, Command command, const char *what)
{
	std::vector<Entry> entries(64);

	for (;;) {
		const auto room = static_cast<std::uint32_t>(entries.size());

		command.count = room;
		command.entries = reinterpret_cast<std::uintptr_t>(entries.data());
		core.command(number, command, what);
		entries.resize(command.count);
		if (command.count <= room)
			return entries;
	}
}

} /* namespace krdma::detail */

#endif /* KRDMA_CORE_HPP */
