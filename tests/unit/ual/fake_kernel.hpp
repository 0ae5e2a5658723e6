/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A kernel that a test plays: handlers by command, events by hand, objects that refuse to
 * go before those that need them.
 */
#ifndef KRDMA_FAKE_KERNEL_HPP
#define KRDMA_FAKE_KERNEL_HPP

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <vector>

#include <krdma/session.hpp>

class FakeKernel final : public krdma::Kernel {
public:
	/* @pollable: its descriptor can be waited at, but not mapped */
	explicit FakeKernel(bool pollable = false);
	~FakeKernel() override;

	[[nodiscard]] int command(unsigned long number, void *argument) noexcept override;
	[[nodiscard]] std::int64_t read(std::span<std::byte> to) noexcept override;
	[[nodiscard]] int descriptor() const noexcept override
	{
		return events_fd_ < 0 ? memory_ : events_fd_;
	}

	/* answers a command in place of what is built in, and makes none itself */
	std::map<unsigned long, std::function<int(void *)>> handlers;
	/* commands in the order they came */
	std::vector<unsigned long> log;
	/* does it know KRDMA_IOC_CALL, and what does it record of a refusal? */
	bool tells{true};
	unsigned int calls{};
	krdma_error refusal{};
	/* user library of the RNIC */
	std::string user_library;
	/* posted through commands; doorbells have no requests */
	std::vector<krdma_wr> posted;
	unsigned int doorbells{};

	/* an event record to be read */
	template <typename Record> void raise(Record record, std::span<const std::byte> behind = {})
	{
		const std::size_t size = (sizeof(record) + behind.size() + 7) / 8 * 8;
		const std::lock_guard guard{lock_};
		auto *base = reinterpret_cast<krdma_event *>(&record);

		signal();
		base->size = static_cast<std::uint32_t>(size);
		std::vector<std::byte> &to = events_.emplace_back(size);
		std::memcpy(to.data(), &record, sizeof(record));
		std::ranges::copy(behind, to.begin() + sizeof(record));
	}
	void raise_raw(std::span<const std::byte> record);
	void raise(std::uint32_t type, std::uint64_t cookie, std::uint32_t code = 0)
	{
		krdma_event event{};

		event.type = type;
		event.cookie = cookie;
		event.code = code;
		raise(event);
	}

	[[nodiscard]] std::size_t objects() const noexcept
	{
		return objects_.size();
	}
	[[nodiscard]] std::uint64_t cookie(std::uint32_t handle) const
	{
		return objects_.at(handle).cookie;
	}
	/* as a window needs the region that it is bound to */
	void need(std::uint32_t handle, std::uint32_t other)
	{
		objects_.at(handle).needs.insert(other);
	}
	[[nodiscard]] bool has(std::uint32_t handle) const
	{
		return objects_.contains(handle);
	}
	/* bytes of the file that rings are mapped from */
	[[nodiscard]] std::byte *ring(std::uint64_t offset);

private:
	struct Object {
		std::set<std::uint32_t> needs;
		std::uint64_t cookie{};
	};

	std::uint32_t add(std::initializer_list<std::uint32_t> needs, std::uint64_t cookie);
	int destroy(std::uint32_t handle);
	int run(unsigned long number, void *argument);
	int builtin(unsigned long number, void *argument);
	std::uint64_t grant(std::size_t size);
	void signal() const noexcept;

	int memory_;
	int events_fd_{-1};
	std::uint64_t used_{};
	std::uint32_t next_{100};
	std::map<std::uint32_t, Object> objects_;
	std::mutex commands_; /* one command at a time */
	std::mutex lock_;
	std::deque<std::vector<std::byte>> events_; /* a record each */
	std::vector<std::pair<void *, std::size_t>> mapped_;
};

/* the errno that it fails with; 0: it does not */
template <typename Action> int code_of(const Action &action)
{
	try {
		action();
	} catch (const std::system_error &error) {
		return error.code().value();
	}
	return 0;
}

#endif /* KRDMA_FAKE_KERNEL_HPP */
