/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The device file, and the delivery of its events to their receivers. */
#include "core.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace krdma {
namespace {

using detail::Clock;

bool posts(unsigned long number) noexcept
{
	return number == KRDMA_IOC_POST_SEND || number == KRDMA_IOC_POST_RECV ||
	       number == KRDMA_IOC_POST_SRQ;
}

class DeviceFile final : public Kernel {
public:
	explicit DeviceFile(const char *path) : fd_{open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)}
	{
		if (fd_.get() < 0)
			detail::throw_errno(errno, path);
	}

	[[nodiscard]] int command(unsigned long number, void *argument) noexcept override
	{
		const int saved = errno;

		while (ioctl(fd_.get(), number, argument) < 0) {
			const int err = errno;

			errno = saved;
			/* requests that were posted before the signal must not be posted again */
			if (err != EINTR || posts(number))
				return err;
		}
		return 0;
	}

	[[nodiscard]] std::int64_t read(std::span<std::byte> to) noexcept override
	{
		const ssize_t got = ::read(fd_.get(), to.data(), to.size());

		return got < 0 ? -errno : got;
	}

	[[nodiscard]] int descriptor() const noexcept override
	{
		return fd_.get();
	}

private:
	detail::Descriptor fd_;
};

/* time-out for poll(): milliseconds, rounded up; -1: no limit */
int milliseconds_to(Clock::time_point deadline, bool limited)
{
	if (!limited)
		return -1;
	const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
	return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT32_MAX));
}

} /* namespace */

std::shared_ptr<Kernel> open_kernel(const char *path)
{
	return std::make_shared<DeviceFile>(path);
}

namespace detail {

krdma_error &last_refusal() noexcept
{
	thread_local krdma_error last{};

	return last;
}

void throw_refusal(int err, const char *what)
{
	const krdma_error seen = std::exchange(last_refusal(), krdma_error{});

	throw Error{err, what,
		    seen.status == static_cast<std::uint32_t>(err) ? seen : krdma_error{}};
}

namespace {

/* commands that are not to cost more, and whose errors have one cause each */
bool data_path(unsigned long number) noexcept
{
	return posts(number) || number == KRDMA_IOC_CQ_POLL || number == KRDMA_IOC_CQ_NOTIFY;
}

} /* namespace */

int Core::issue(unsigned long number, void *argument) noexcept
{
	if (data_path(number))
		return kernel_->command(number, argument);
	last_refusal() = {};
	if (!tells_.load(std::memory_order_relaxed))
		return kernel_->command(number, argument);

	krdma_call call{};
	call.size = sizeof(call);
	call.command = static_cast<std::uint32_t>(number);
	call.argument = reinterpret_cast<std::uintptr_t>(argument);
	const int err = kernel_->command(KRDMA_IOC_CALL, &call);

	/* an older kernel does not know CALL; it would say so of an unknown command in the record
	 */
	if (err == ENOTTY && !call.error.status) {
		tells_ = false;
		return kernel_->command(number, argument);
	}
	last_refusal() = call.error;
	return err;
}

Core::Core(std::shared_ptr<Kernel> kernel)
	: kernel_{std::move(kernel)}, own_{std::make_shared<Mailbox>(*this, 0, true)}
{}

std::shared_ptr<Mailbox> Core::make_mailbox(std::shared_ptr<Scope> scope)
{
	const std::lock_guard guard{lock};
	const std::uint64_t cookie = next_cookie_++;
	auto mailbox = std::make_shared<Mailbox>(*this, cookie, false, std::move(scope));

	mailboxes_.emplace(cookie, mailbox);
	return mailbox;
}

void Core::forget(std::uint64_t cookie) noexcept
{
	const std::lock_guard guard{lock};

	mailboxes_.erase(cookie);
}

int Core::destroy_now(std::uint32_t handle) noexcept
{
	krdma_destroy destroy{sizeof(destroy), handle};

	return kernel_->command(KRDMA_IOC_DESTROY, &destroy);
}

/* An object that is destroyed may free another one in the list, such as a domain its region. */
void Core::destroy_waiting_locked() noexcept
{
	while (std::erase_if(waiting_,
			     [this](std::uint32_t handle) { return destroy_now(handle) != EBUSY; }))
		;
}

void Core::destroy_waiting() noexcept
{
	const std::lock_guard guard{waiting_lock_};

	destroy_waiting_locked();
}

/*
 * Try the list again, with the lock held. The objects that needed this one may be gone, and the
 * thread that destroyed them has not seen this one in the list. From now on, every thread that
 * destroys an object sees it. Other entries are tried, too, because a work request may have
 * ended their use.
 */
int Core::destroy_later(std::uint32_t handle) noexcept
{
	const std::lock_guard guard{waiting_lock_};

	try {
		waiting_.push_back(handle);
	} catch (const std::bad_alloc &) {
		/* the end of the session destroys the object */
		return destroy_now(handle);
	}
	destroy_waiting_locked();
	return std::ranges::find(waiting_, handle) == waiting_.end() ? 0 : EBUSY;
}

/*
 * Drop an event that no program takes. A connection request that was read stays in the kernel
 * until it is destroyed.
 */
void Core::drop(const Event &event) noexcept
{
	const ConnectionInfo *info = event.connection();

	if (info && event.type == KRDMA_EVENT_CONN_REQUEST)
		(void)destroy(info->handle);
}

/* Put an event into its mailbox. If its object is gone already, the event is dropped. */
void Core::deliver(Event event, Delivery &delivery)
{
	const auto give = [&](std::shared_ptr<Mailbox> mailbox, Event copy) {
		mailbox->put(std::move(copy), delivery.dropped);
		delivery.touched.push_back(std::move(mailbox));
	};

	if (event.type == KRDMA_EVENT_OVERFLOW) {
		/* the lost events may have been events of any object */
		for (const auto &[cookie, weak] : mailboxes_) {
			if (auto mailbox = weak.lock())
				give(std::move(mailbox), event);
		}
		give(own_, std::move(event));
		return;
	}
	if (event.cookie == 0) {
		give(own_, std::move(event));
		return;
	}
	const auto found = mailboxes_.find(event.cookie);
	auto mailbox = found != mailboxes_.end() ? found->second.lock() : nullptr;
	if (mailbox)
		give(std::move(mailbox), std::move(event));
	else
		delivery.dropped.push_back(std::move(event));
}

std::size_t Core::pump(std::unique_lock<std::mutex> &guard, Clock::time_point deadline,
		       bool limited, int wake)
{
	if (reading_) {
		if (limited)
			changed_.wait_until(guard, deadline);
		else
			changed_.wait(guard);
		return 0;
	}

	alignas(8) std::array<std::byte, 16384> buffer;
	std::int64_t got = 0;

	reading_ = true;
	const bool busy = busy_;
	guard.unlock();
	/*
	 * A read that finds nothing is a system call in vain, and a program that waits usually
	 * comes before its event. So wait first, unless there is no time or events come in crowds.
	 */
	const bool late = limited && Clock::now() >= deadline;
	got = late || busy ? kernel_->read(buffer) : -EAGAIN;
	if (got == -EAGAIN && !late) {
		std::array<pollfd, 2> fds{{{kernel_->descriptor(), POLLIN, 0}, {wake, POLLIN, 0}}};

		if (poll(fds.data(), wake < 0 ? 1 : 2, milliseconds_to(deadline, limited)) > 0 &&
		    fds[0].revents)
			got = kernel_->read(buffer);
	}

	std::vector<Event> events;
	std::exception_ptr failure;
	try {
		if (got < 0 && got != -EAGAIN && got != -EINTR)
			throw_errno(static_cast<int>(-got), "events of /dev/krdma");
		std::span<const std::byte> rest{
			buffer.data(), static_cast<std::size_t>(std::max<std::int64_t>(got, 0))};
		while (!rest.empty())
			events.push_back(parse_event(rest));
	} catch (...) {
		failure = std::current_exception();
	}

	/* Destroyed without the lock, because the destructor of a mailbox takes the lock. */
	Delivery delivery;
	guard.lock();
	reading_ = false;
	busy_ = events.size() > 1;
	for (Event &event : events)
		deliver(std::move(event), delivery);
	for (const auto &mailbox : delivery.touched)
		schedule(mailbox);
	changed_.notify_all();
	guard.unlock();
	for (const Event &event : delivery.dropped)
		drop(event);
	delivery.touched.clear();
	guard.lock();
	if (failure)
		std::rethrow_exception(failure);
	return events.size();
}

std::size_t Core::dispatch(std::chrono::milliseconds timeout)
{
	const auto self = shared_from_this();
	std::unique_lock guard{lock};
	/*
	 * First run callbacks for events that other threads have read. Then do not wait for new
	 * events.
	 */
	const std::size_t kept = run_ready(guard);
	const bool limited = kept || timeout >= std::chrono::milliseconds{0};
	const Clock::time_point deadline =
		deadline_in(kept ? std::chrono::milliseconds{0} : timeout);
	std::size_t came = 0;

	/* if another thread reads, wait for it as for events */
	while ((came = pump(guard, deadline, limited)) == 0) {
		if ((limited && Clock::now() >= deadline) || (is_ready() && !dispatcher_))
			break;
	}
	const std::size_t ran = run_ready(guard);
	return kept + (came ? came : ran);
}

std::size_t Core::run_ready(std::unique_lock<std::mutex> &guard)
{
	std::size_t count = 0;

	while (!dispatcher_ && run_one(guard))
		count++;
	return count;
}

bool Core::run_one(std::unique_lock<std::mutex> &guard)
{
	while (is_ready()) {
		std::shared_ptr<Mailbox> mailbox = ready_.front().lock();
		std::exception_ptr failure;
		bool ran = false;

		ready_.pop_front();
		signal();
		if (!mailbox)
			continue;
		guard.unlock();
		try {
			ran = mailbox->step();
		} catch (...) {
			failure = std::current_exception();
		}
		guard.lock();
		mailbox->scheduled_ = false;
		schedule(mailbox);
		/* the mailbox's destructor takes the lock */
		guard.unlock();
		mailbox.reset();
		guard.lock();
		if (failure)
			std::rethrow_exception(failure);
		if (ran)
			return true;
	}
	return false;
}

/* Run a new callback for events that wait: in this thread, or in the dispatcher's threads. */
void Core::run_waiting(const std::shared_ptr<Mailbox> &mailbox)
{
	{
		const std::lock_guard guard{lock};

		/* the callback that runs now continues with these events */
		if (mailbox->scheduled_ || mailbox->runs_here())
			return;
		if (dispatcher_) {
			schedule(mailbox);
			return;
		}
	}
	try {
		while (mailbox->step())
			;
	} catch (...) {
		const std::lock_guard guard{lock};

		schedule(mailbox);
		throw;
	}
}

void Core::schedule(const std::shared_ptr<Mailbox> &mailbox)
{
	if (mailbox->scheduled_ || !mailbox->has_work())
		return;
	mailbox->scheduled_ = true;
	ready_.push_back(mailbox);
	signal();
	if (dispatcher_)
		work.notify_one();
	else
		wake();
}

void Core::signal() noexcept
{
	const bool wanted = is_ready() && !dispatcher_;
	std::uint64_t value = 1;

	if (signal_.get() < 0 || wanted == signaled_)
		return;
	signaled_ = wanted;
	if (wanted)
		(void)!write(signal_.get(), &value, sizeof(value));
	else
		(void)!read(signal_.get(), &value, sizeof(value));
}

int Core::descriptor()
{
	const std::lock_guard guard{lock};

	if (pollable_.get() >= 0)
		return pollable_.get();
	Descriptor ready{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	Descriptor both{epoll_create1(EPOLL_CLOEXEC)};
	if (ready.get() < 0 || both.get() < 0)
		throw_errno(errno, "descriptor to poll");
	for (const int fd : {kernel_->descriptor(), ready.get()}) {
		epoll_event wanted{};

		wanted.events = EPOLLIN;
		if (epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &wanted) == 0)
			continue;
		/* a regular file, which is always readable: a Kernel other than the device */
		if (errno == EPERM)
			return kernel_->descriptor();
		throw_errno(errno, "descriptor to poll");
	}
	signal_ = std::move(ready);
	pollable_ = std::move(both);
	signal();
	return pollable_.get();
}

int Core::begin_dispatcher()
{
	const std::lock_guard guard{lock};

	if (dispatcher_)
		return EBUSY;
	dispatcher_ = true;
	signal();
	return 0;
}

void Core::end_dispatcher()
{
	const std::lock_guard guard{lock};

	dispatcher_ = false;
	signal();
	wake();
}

Mailbox::Mailbox(Core &core, std::uint64_t cookie, bool is_own, std::shared_ptr<Scope> scope)
	: core_{is_own ? nullptr : core.shared_from_this()}, owner_{core}, cookie_{cookie},
	  scope_{std::move(scope)}
{}

Mailbox::~Mailbox()
{
	if (!core_ || core_->forked())
		return;
	core_->forget(cookie_);
	for (const Event &event : events_)
		core_->drop(event);
}

void Mailbox::put(Event event, std::vector<Event> &dropped)
{
	/*
	 * Only the context gets this event. Waits on the context's other objects read it from
	 * the scope.
	 */
	if (scope_ && event.type == KRDMA_EVENT_ASYNC && event.code == KRDMA_ASYNC_DEVICE_FATAL)
		scope_->ended = true;
	past_.note(event);
	if (events_.size() >= most)
		make_room(dropped);
	events_.push_back(std::move(event));
}

/* Drop the oldest event. An OVERFLOW event in front counts the dropped events. */
void Mailbox::make_room(std::vector<Event> &dropped)
{
	if (events_.front().type != KRDMA_EVENT_OVERFLOW)
		events_.push_front(
			{KRDMA_EVENT_OVERFLOW, 0, 0, 0, cookie_, events_.front().time, {}});
	Event &first = events_[0];
	Event &oldest = events_[1];

	first.time = oldest.time;
	if (oldest.type == KRDMA_EVENT_OVERFLOW)
		first.code += oldest.code;
	else
		first.code++;
	dropped.push_back(std::move(oldest));
	events_.erase(events_.begin() + 1);
}

void Past::note(const Event &event)
{
	switch (event.type) {
	case KRDMA_EVENT_COMPLETION:
	case KRDMA_EVENT_OVERFLOW:
		completions++;
		break;
	case KRDMA_EVENT_ASYNC:
		failed = true;
		break;
	case KRDMA_EVENT_CONN_REPLY:
	case KRDMA_EVENT_ESTABLISHED:
		if (const ConnectionInfo *info = event.connection())
			made = Made{*info, event.status};
		break;
	case KRDMA_EVENT_CLOSED:
		closed = event.status;
		break;
	default:
		break;
	}
}

bool Mailbox::take(std::uint32_t type)
{
	if (callback_)
		return false;
	const auto found = std::find_if(events_.begin(), events_.end(),
					[&](const Event &event) { return event.type == type; });
	if (found == events_.end())
		return false;
	events_.erase(found);
	return true;
}

std::optional<Event> Mailbox::wait(std::chrono::milliseconds timeout)
{
	std::optional<Event> event;

	wait_until(timeout, [&] {
		if (events_.empty())
			return false;
		event = std::move(events_.front());
		events_.pop_front();
		return true;
	});
	return event;
}

bool Mailbox::wait_until(std::chrono::milliseconds timeout, const std::function<bool()> &done)
{
	const bool limited = timeout >= std::chrono::milliseconds{0};
	const Clock::time_point deadline = deadline_in(timeout);
	std::unique_lock guard{owner_.lock};
	bool again = true;

	while (!done()) {
		if (ended())
			throw_errno(ENODEV, "RNIC");
		if (!again)
			return false;
		/* read events that wait in the kernel, even if no time is left */
		owner_.pump(guard, deadline, limited);
		again = !limited || Clock::now() < deadline;
	}
	return true;
}

void Mailbox::join(std::shared_ptr<Scope> scope)
{
	const std::lock_guard guard{owner_.lock};

	scope_ = std::move(scope);
}

void Mailbox::set_callback(EventCallback callback)
{
	auto next = callback ? std::make_shared<const EventCallback>(std::move(callback)) : nullptr;

	if (owner_.forked())
		return;
	{
		const std::lock_guard running{running_};
		const std::lock_guard guard{owner_.lock};

		callback_.swap(next);
	}
	/* the captures of the previous callback are destroyed without the locks */
	next.reset();
	owner_.run_waiting(shared_from_this());
}

void Mailbox::close() noexcept
{
	if (owner_.forked())
		return;
	owner_.forget(cookie_);

	std::shared_ptr<const EventCallback> last;
	std::deque<Event> left;
	{
		const std::lock_guard running{running_};
		const std::lock_guard guard{owner_.lock};

		callback_.swap(last);
		events_.swap(left);
	}
	for (const Event &event : left)
		owner_.drop(event);
}

bool Mailbox::step()
{
	const std::lock_guard running{running_};
	std::shared_ptr<const EventCallback> callback;
	std::optional<Event> event;
	{
		const std::lock_guard guard{owner_.lock};

		if (!has_work())
			return false;
		callback = callback_;
		event = std::move(events_.front());
		events_.pop_front();
	}
	const Running here{*this};
	(*callback)(*event);
	return true;
}

} /* namespace detail */

EventSource::EventSource(std::shared_ptr<detail::Mailbox> mailbox) noexcept
	: mailbox_{std::move(mailbox)}
{}

std::optional<Event> EventSource::wait(std::chrono::milliseconds timeout) const
{
	return mailbox_ ? mailbox_->wait(timeout) : std::nullopt;
}

void EventSource::on_event(EventCallback callback) const
{
	if (mailbox_)
		mailbox_->set_callback(std::move(callback));
}

/* A Dispatcher: one thread reads events, the other threads run callbacks. */
class Dispatcher::Impl {
public:
	Impl(std::shared_ptr<detail::Core> core, unsigned int threads)
		: core_{std::move(core)}, wake_{eventfd(0, EFD_CLOEXEC)},
		  workers_(std::max(threads, 1U))
	{
		if (wake_.get() < 0)
			detail::throw_errno(errno, "eventfd");
		detail::check(core_->begin_dispatcher(), "session has a dispatcher");
		try {
			for (std::thread &worker : workers_)
				worker = std::thread{[this] { work(); }};
			reader_ = std::thread{[this] { read(); }};
		} catch (...) {
			stop();
			throw;
		}
	}
	Impl(const Impl &) = delete;
	Impl &operator=(const Impl &) = delete;

	~Impl()
	{
		stop();
	}

	[[nodiscard]] bool forked() const noexcept
	{
		return core_->forked();
	}

private:
	void stop()
	{
		const std::uint64_t one = 1;

		{
			const std::lock_guard guard{core_->lock};

			ending_ = true;
			core_->wake();
		}
		(void)!write(wake_.get(), &one, sizeof(one));
		if (reader_.joinable())
			reader_.join();
		{
			const std::lock_guard guard{core_->lock};

			stopped_ = true;
			core_->work.notify_all();
		}
		for (std::thread &worker : workers_) {
			if (worker.joinable())
				worker.join();
		}
		core_->end_dispatcher();
	}

	/* callbacks that are ready run before the end */
	void work()
	{
		std::unique_lock guard{core_->lock};

		for (;;) {
			core_->work.wait(guard, [&] { return stopped_ || core_->is_ready(); });
			if (!core_->run_one(guard) && stopped_)
				return;
		}
	}

	void read()
	{
		std::unique_lock guard{core_->lock};

		while (!ending_)
			core_->pump(guard, {}, false, wake_.get());
	}

	std::shared_ptr<detail::Core> core_;
	detail::Descriptor wake_;
	std::vector<std::thread> workers_;
	std::thread reader_;
	bool ending_{};  /* under the core's lock */
	bool stopped_{}; /* under the core's lock */
};

Dispatcher::Dispatcher(const Session &session, unsigned int threads)
	: impl_{std::make_unique<Impl>(session.core(), threads)}
{}

Dispatcher::Dispatcher(Dispatcher &&) noexcept = default;
Dispatcher &Dispatcher::operator=(Dispatcher &&) noexcept = default;

Dispatcher::~Dispatcher()
{
	/* in a forked child: the threads belong to the parent */
	if (impl_ && impl_->forked())
		(void)impl_.release();
}

} /* namespace krdma */
