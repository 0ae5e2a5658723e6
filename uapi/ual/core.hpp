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

#include <krdma/session.hpp>

namespace krdma::detail {

[[noreturn]] inline void throw_errno(int err, const char *what)
{
	throw std::system_error{err, std::generic_category(), what};
}

inline void check(int err, const char *what)
{
	if (err) [[unlikely]]
		throw_errno(err, what);
}

/** a command with its size set */
template <typename Command> Command make_command() noexcept
{
	Command command{};

	command.size = sizeof(command);
	return command;
}

/** class Descriptor - a file descriptor, closed with it */
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

/* so long from now; what is more than a clock can tell is ten years */
[[nodiscard]] inline Clock::time_point deadline_in(std::chrono::milliseconds timeout)
{
	return Clock::now() + std::min<std::chrono::milliseconds>(timeout, std::chrono::years{10});
}

/** struct Scope - what all objects of a context know of it */
struct Scope {
	std::atomic<bool> ended{}; /* its RNIC is gone; an event said so */
};

/**
 * class Core - an open /dev/krdma
 *
 * One thread at a time reads events and puts them into the mailboxes of the cookies
 * that they carry; others that wait sleep until it has. Mailboxes are the lock's.
 *
 * A mailbox with events and a callback is ready. Those that are stand in one list, each once,
 * from which dispatch(), or any thread of a Dispatcher, takes the first for one event at a
 * time. Nobody else runs callbacks: who waits leaves them to these.
 *
 * In a child that fork() made, the ends of objects do nothing: the open file, and what is in
 * it, are the parent's, and a lock may be held by a thread that the child does not have.
 *
 * An object that the kernel still needs when its last handle ends (a region that a window is
 * bound to, and the domain and context of that) waits in a list, and is tried again whenever
 * another was destroyed. The list is no longer than there are objects in the kernel.
 */
class Core : public std::enable_shared_from_this<Core> {
public:
	explicit Core(std::shared_ptr<Kernel> kernel);

	/* 0 or an errno */
	[[nodiscard]] int try_command(unsigned long number, void *argument) noexcept
	{
		const int err = kernel_->command(number, argument);

		/* whoever asked: a user library and the program destroy, too */
		if (number == KRDMA_IOC_DESTROY && !err && !forked())
			destroy_waiting();
		return err;
	}

	template <typename Command>
	void command(unsigned long number, Command &argument, const char *what)
	{
		check(kernel_->command(number, &argument), what);
	}

	/* this is a child of the process that opened it */
	[[nodiscard]] bool forked() const noexcept
	{
		return getpid() != opener_;
	}

	/* 0 or an errno; EBUSY: it is destroyed when nothing needs it any more */
	int destroy(std::uint32_t handle) noexcept
	{
		if (forked())
			return 0;
		krdma_destroy destroy{sizeof(destroy), handle};
		const int err = try_command(KRDMA_IOC_DESTROY, &destroy);

		return err == EBUSY ? destroy_later(handle) : err;
	}
	/* That object has no owner any more, and was needed: 0, or EBUSY, and it waits. */
	int destroy_later(std::uint32_t handle) noexcept;

	[[nodiscard]] Kernel &kernel() noexcept
	{
		return *kernel_;
	}

	/* a mailbox with a cookie of its own; of an object of that context */
	[[nodiscard]] std::shared_ptr<Mailbox> make_mailbox(std::shared_ptr<Scope> scope = {});
	/* that of events without cookie */
	[[nodiscard]] const std::shared_ptr<Mailbox> &own_mailbox() const noexcept
	{
		return own_;
	}

	/* reads once, after at most that time, or sleeps while another thread does: events */
	std::size_t pump(std::unique_lock<std::mutex> &guard,
			 std::chrono::steady_clock::time_point deadline, bool limited,
			 int wake = -1);

	/* those that sleep while another thread reads look again */
	void wake() noexcept
	{
		changed_.notify_all();
	}

	std::size_t dispatch(std::chrono::milliseconds timeout);

	/* readable when dispatch() has something to do */
	[[nodiscard]] int descriptor();

	/* a Dispatcher's threads run the callbacks, from now on or no more: 0, or EBUSY */
	[[nodiscard]] int begin_dispatcher();
	void end_dispatcher();

	/* the lock's: @mailbox may have become ready */
	void schedule(const std::shared_ptr<Mailbox> &mailbox);
	[[nodiscard]] bool is_ready() const noexcept
	{
		return !ready_.empty();
	}
	/* the callback of @mailbox is new */
	void run_waiting(const std::shared_ptr<Mailbox> &mailbox);
	/* one callback for one event, without the lock; false: there was none */
	bool run_one(std::unique_lock<std::mutex> &guard);

	std::mutex lock;
	std::condition_variable work; /* something is ready, or the Dispatcher ends */

private:
	friend class Mailbox;

	/* what deliver() leaves for when the lock is not held any more */
	struct Delivery {
		std::vector<std::shared_ptr<Mailbox>> touched;
		std::vector<Event> dropped;
	};

	/* the lock of those that wait is held */
	int destroy_now(std::uint32_t handle) noexcept;
	void destroy_waiting_locked() noexcept;
	void destroy_waiting() noexcept;

	void deliver(Event event, Delivery &delivery);
	void drop(const Event &event) noexcept;
	void forget(std::uint64_t cookie) noexcept;
	/* the lock's: descriptor() is readable while something is ready */
	void signal() noexcept;
	std::size_t run_ready(std::unique_lock<std::mutex> &guard);

	std::shared_ptr<Kernel> kernel_;
	const pid_t opener_{getpid()};
	std::shared_ptr<Mailbox> own_;
	std::condition_variable changed_;
	bool reading_{};
	std::deque<std::weak_ptr<Mailbox>> ready_;
	bool dispatcher_{};
	Descriptor signal_;   /* eventfd, 1 if signaled_ */
	Descriptor pollable_; /* the kernel's and signal_, once somebody asked */
	bool signaled_{};
	std::uint64_t next_cookie_{1};
	std::unordered_map<std::uint64_t, std::weak_ptr<Mailbox>> mailboxes_;
	std::mutex waiting_lock_;            /* of waiting_; no other is taken below it */
	std::vector<std::uint32_t> waiting_; /* objects without owner that are needed */
};

/** struct Past - what an object was told so far, whoever took the events */
struct Past {
	struct Made {
		ConnectionInfo info;
		int status;
	};

	std::uint64_t completions{}; /* how often to look into a completion queue */
	bool failed{};               /* ASYNC; of a completion queue it is the end */
	std::optional<Made> made;    /* what became of CONNECT or ACCEPT */
	std::optional<int> closed;   /* status of CLOSED */

	void note(const Event &event);
};

/** class Mailbox - the events of one object until somebody takes them */
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
	 * Reads until @done, which runs under the lock, is true, or the time is over. Throws ENODEV
	 * when nothing will come any more.
	 */
	bool wait_until(std::chrono::milliseconds timeout, const std::function<bool()> &done);
	/* it belongs to that context from now on */
	void join(std::shared_ptr<Scope> scope);
	void set_callback(EventCallback callback);
	/* The object is no more: nothing comes any more, and no callback runs on return. */
	void close() noexcept;

	/* runs the callback for one event, without the core's lock; false: there is none */
	bool step();

	/* the lock's; what there is no room for goes to @dropped */
	void put(Event event, std::vector<Event> &dropped);
	[[nodiscard]] const Past &past() const noexcept
	{
		return past_;
	}
	/* nothing will come any more */
	[[nodiscard]] bool ended() const noexcept
	{
		return scope_ && scope_->ended;
	}
	/* the first event of that type is taken, unless it is a callback's */
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

	/* for as long as a callback runs, which may call its own object */
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

	/* a program that takes nothing does not fill the memory: the oldest goes */
	static constexpr std::size_t most = 16384;

	void make_room(std::vector<Event> &dropped);

	std::shared_ptr<Core> core_; /* empty for the core's own mailbox */
	Core &owner_;
	std::uint64_t cookie_;
	std::shared_ptr<Scope> scope_; /* the lock's */
	std::deque<Event> events_;
	Past past_;
	std::shared_ptr<const EventCallback> callback_;
	bool scheduled_{};                      /* in the ready list, or taken from it and run */
	std::recursive_mutex running_;          /* a callback runs */
	std::atomic<std::thread::id> runner_{}; /* in that thread */
};

/** class Inbox - an object's mailbox, which the object's end closes */
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

/** class Handle - an object of the kernel, destroyed with it */
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

	/* 0 or an errno; the object is given up in any case: the core's, if it is needed */
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

/* a character array that the kernel filled, ended or not */
template <std::size_t size> std::string text(const char (&from)[size])
{
	return {from, strnlen(from, size)};
}

/*
 * Lists that say how many entries there are: asked again with more room until all fit.
 * Command has count and entries.
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
