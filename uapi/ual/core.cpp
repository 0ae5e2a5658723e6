/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The device file, and the way of events from it to whom they are for. */
#include "core.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace krdma {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t device_fatal = 8; /* IBV_EVENT_DEVICE_FATAL */

class Descriptor {
public:
	explicit Descriptor(int fd) noexcept : fd_{fd}
	{}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
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
			if (err != EINTR)
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
	Descriptor fd_;
};

/* for poll(): milliseconds, rounded up; -1: no limit */
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

/* Nobody will take it. A request that was read stays in the kernel until it is destroyed. */
void Core::drop(const Event &event) noexcept
{
	const ConnectionInfo *info = event.connection();

	if (info && event.type == KRDMA_EVENT_CONN_REQUEST)
		(void)destroy(info->handle);
}

/* An object that is gone may have had an event in what was read already: nobody's. */
void Core::deliver(Event event, Delivery &delivery)
{
	const auto give = [&](std::shared_ptr<Mailbox> mailbox, Event copy) {
		mailbox->put(std::move(copy), delivery.dropped);
		delivery.touched.push_back(std::move(mailbox));
	};

	if (event.type == KRDMA_EVENT_OVERFLOW) {
		/* what was lost may have been anybody's */
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
	guard.unlock();
	got = kernel_->read(buffer);
	if (got == -EAGAIN) {
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

	/* ends without the lock, which the end of a mailbox takes */
	Delivery delivery;
	guard.lock();
	reading_ = false;
	for (Event &event : events)
		deliver(std::move(event), delivery);
	if (schedule) {
		for (const auto &mailbox : delivery.touched) {
			if (mailbox->has_work())
				schedule(mailbox);
		}
	}
	const bool scheduled = static_cast<bool>(schedule);
	changed_.notify_all();
	guard.unlock();
	for (const Event &event : delivery.dropped)
		drop(event);
	if (!scheduled) {
		for (const auto &mailbox : delivery.touched)
			mailbox->run();
	}
	delivery.touched.clear();
	guard.lock();
	if (failure)
		std::rethrow_exception(failure);
	return events.size();
}

std::size_t Core::dispatch(std::chrono::milliseconds timeout)
{
	const bool limited = timeout >= std::chrono::milliseconds{0};
	const Clock::time_point deadline = Clock::now() + timeout;
	std::unique_lock guard{lock};
	std::size_t count = 0;

	/* another thread that reads is waited for, as events are */
	while ((count = pump(guard, deadline, limited)) == 0) {
		if (limited && Clock::now() >= deadline)
			break;
	}
	return count;
}

Mailbox::Mailbox(Core &core, std::uint64_t cookie, bool is_own, std::shared_ptr<Scope> scope)
	: core_{is_own ? nullptr : core.shared_from_this()}, owner_{core}, cookie_{cookie},
	  scope_{std::move(scope)}
{}

Mailbox::~Mailbox()
{
	if (!core_)
		return;
	core_->forget(cookie_);
	for (const Event &event : events_)
		core_->drop(event);
}

void Mailbox::put(Event event, std::vector<Event> &dropped)
{
	/* said to the context alone; those that wait for something else hear of it here */
	if (scope_ && event.type == KRDMA_EVENT_ASYNC && event.code == device_fatal)
		scope_->ended = true;
	past_.note(event);
	if (events_.size() >= most)
		make_room(dropped);
	events_.push_back(std::move(event));
}

/* The oldest event goes; the first one says how many went before the second. */
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
	const Clock::time_point deadline = Clock::now() + timeout;
	std::unique_lock guard{owner_.lock};
	bool again = true;

	while (!done()) {
		if (ended())
			throw_errno(ENODEV, "RNIC");
		if (!again)
			return false;
		/* what waits in the kernel counts, also with no time left */
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
	{
		const std::lock_guard running{running_};
		const std::lock_guard guard{owner_.lock};

		callback_ = std::move(callback);
		if (!has_work())
			return;
		if (owner_.schedule) {
			owner_.schedule(shared_from_this());
			return;
		}
	}
	run();
}

void Mailbox::run()
{
	const std::lock_guard running{running_};

	for (;;) {
		EventCallback callback;
		std::optional<Event> event;
		{
			const std::lock_guard guard{owner_.lock};

			if (!has_work())
				return;
			callback = callback_;
			event = std::move(events_.front());
			events_.pop_front();
		}
		callback(*event);
	}
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

/* One thread reads; a mailbox always goes to the same one of the others. */
class Dispatcher::Impl {
public:
	Impl(std::shared_ptr<detail::Core> core, unsigned int threads)
		: core_{std::move(core)}, wake_{eventfd(0, EFD_CLOEXEC)},
		  workers_(std::max(threads, 1U))
	{
		if (wake_.get() < 0)
			detail::throw_errno(errno, "eventfd");
		{
			const std::lock_guard guard{core_->lock};

			core_->schedule = [this](std::shared_ptr<detail::Mailbox> mailbox) {
				schedule(std::move(mailbox));
			};
		}
		for (Worker &worker : workers_)
			worker.thread = std::thread{[this, &worker] { work(worker); }};
		reader_ = std::thread{[this] { read(); }};
	}
	Impl(const Impl &) = delete;
	Impl &operator=(const Impl &) = delete;

	~Impl()
	{
		const std::uint64_t one = 1;

		{
			const std::lock_guard guard{core_->lock};

			ending_ = true;
			core_->schedule = nullptr;
			core_->wake();
		}
		(void)!write(wake_.get(), &one, sizeof(one));
		reader_.join();
		{
			const std::lock_guard guard{lock_};

			stopped_ = true;
		}
		changed_.notify_all();
		for (Worker &worker : workers_)
			worker.thread.join();
	}

private:
	struct Worker {
		std::deque<std::shared_ptr<detail::Mailbox>> ready;
		std::thread thread;
	};

	void schedule(std::shared_ptr<detail::Mailbox> mailbox)
	{
		{
			const std::lock_guard guard{lock_};

			workers_[mailbox->cookie() % workers_.size()].ready.push_back(
				std::move(mailbox));
		}
		changed_.notify_all();
	}

	void work(Worker &worker)
	{
		std::unique_lock guard{lock_};

		for (;;) {
			changed_.wait(guard, [&] { return stopped_ || !worker.ready.empty(); });
			if (worker.ready.empty())
				return;
			auto mailbox = std::move(worker.ready.front());
			worker.ready.pop_front();
			guard.unlock();
			mailbox->run();
			mailbox.reset();
			guard.lock();
		}
	}

	void read()
	{
		std::unique_lock guard{core_->lock};

		while (!ending_)
			core_->pump(guard, {}, false, wake_.get());
	}

	std::shared_ptr<detail::Core> core_;
	Descriptor wake_;
	std::mutex lock_; /* protects the workers' lists and stopped_ */
	std::condition_variable changed_;
	std::vector<Worker> workers_;
	std::thread reader_;
	bool ending_{}; /* the core's lock */
	bool stopped_{};
};

Dispatcher::Dispatcher(const Session &session, unsigned int threads)
	: impl_{std::make_unique<Impl>(session.core(), threads)}
{}

Dispatcher::Dispatcher(Dispatcher &&) noexcept = default;
Dispatcher &Dispatcher::operator=(Dispatcher &&) noexcept = default;
Dispatcher::~Dispatcher() = default;

} /* namespace krdma */
