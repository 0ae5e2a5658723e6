/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_kernel.hpp"
#include "ring.hpp"

namespace {

constexpr std::uint32_t ring_entries = 16;
constexpr std::uint32_t send_stride = sizeof(krdma_soft_sqe) + 256;
constexpr std::uint32_t recv_stride = sizeof(krdma_soft_rqe) + 64;

template <typename Response> int answer(const krdma_private &priv, const Response &response)
{
	if (priv.out_len < sizeof(response))
		return EINVAL;
	std::memcpy(reinterpret_cast<void *>(priv.out), &response, sizeof(response));
	return 0;
}

} /* namespace */

FakeKernel::FakeKernel(bool pollable) : memory_{memfd_create("rings", MFD_CLOEXEC)}
{
	if (pollable)
		events_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ftruncate(memory_, 1 << 20) < 0)
		std::abort();
}

FakeKernel::~FakeKernel()
{
	for (const auto &[address, size] : mapped_)
		munmap(address, size);
	close(memory_);
	if (events_fd_ >= 0)
		close(events_fd_);
}

void FakeKernel::signal() const noexcept
{
	const std::uint64_t one = 1;

	if (events_fd_ >= 0)
		(void)!write(events_fd_, &one, sizeof(one));
}

std::byte *FakeKernel::ring(std::uint64_t offset)
{
	void *address = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, memory_,
			     static_cast<off_t>(offset));

	if (address == MAP_FAILED)
		std::abort();
	mapped_.emplace_back(address, 1 << 16);
	return static_cast<std::byte *>(address);
}

std::uint64_t FakeKernel::grant(std::size_t size)
{
	const std::uint64_t offset = used_;

	used_ += (size + 0xffff) / 0x10000 * 0x10000;
	return offset;
}

int FakeKernel::command(unsigned long number, void *argument) noexcept
{
	const std::lock_guard guard{commands_};

	if (number != KRDMA_IOC_CALL)
		return run(number, argument);
	calls++;
	if (!tells)
		return ENOTTY;
	auto *call = static_cast<krdma_call *>(argument);
	const int err = run(call->command, reinterpret_cast<void *>(call->argument));

	if (err) {
		call->error = refusal;
		call->error.status = static_cast<std::uint32_t>(err);
	}
	return err;
}

int FakeKernel::run(unsigned long number, void *argument)
{
	log.push_back(number);
	const auto handler = handlers.find(number);
	return handler != handlers.end() ? handler->second(argument) : builtin(number, argument);
}

/*
 * As many whole records as there is room for. None waits without a wait: poll() of a file
 * says at once that it is readable.
 */
std::int64_t FakeKernel::read(std::span<std::byte> to) noexcept
{
	const std::lock_guard guard{lock_};

	if (events_.empty()) {
		if (events_fd_ < 0)
			usleep(1000);
		return -EAGAIN;
	}
	std::size_t size = 0;

	while (!events_.empty() && events_.front().size() <= to.size() - size) {
		std::ranges::copy(events_.front(), to.begin() + static_cast<std::ptrdiff_t>(size));
		size += events_.front().size();
		events_.pop_front();
	}
	if (size == 0)
		return -EINVAL;
	std::uint64_t signals = 0;
	if (events_fd_ >= 0 && events_.empty())
		(void)!::read(events_fd_, &signals, sizeof(signals));
	return static_cast<std::int64_t>(size);
}

void FakeKernel::raise_raw(std::span<const std::byte> record)
{
	const std::lock_guard guard{lock_};

	signal();
	events_.emplace_back(record.begin(), record.end());
}

std::uint32_t FakeKernel::add(std::initializer_list<std::uint32_t> needs, std::uint64_t cookie)
{
	objects_[next_] = {needs, cookie};
	return next_++;
}

int FakeKernel::destroy(std::uint32_t handle)
{
	if (!objects_.contains(handle))
		return ENOENT;
	for (const auto &[other, object] : objects_) {
		if (object.needs.contains(handle))
			return EBUSY;
	}
	objects_.erase(handle);
	return 0;
}

int FakeKernel::builtin(unsigned long number, void *argument)
{
	switch (number) {
	case KRDMA_IOC_DESTROY:
		return destroy(static_cast<krdma_destroy *>(argument)->handle);
	case KRDMA_IOC_RNIC_LIST: {
		auto &cmd = *static_cast<krdma_rnic_list *>(argument);
		auto *entries = reinterpret_cast<krdma_rnic_entry *>(cmd.entries);

		if (cmd.count)
			entries[0] = {1, 7, "krdma0"};
		cmd.count = 1;
		return 0;
	}
	case KRDMA_IOC_RNIC_QUERY: {
		auto &cmd = *static_cast<krdma_rnic_query *>(argument);

		if (cmd.index != 1)
			return ENODEV;
		std::strncpy(cmd.name, "krdma0", sizeof(cmd.name) - 1);
		std::strncpy(cmd.netdev, "eth0", sizeof(cmd.netdev) - 1);
		std::strncpy(cmd.uvp, user_library.c_str(), sizeof(cmd.uvp) - 1);
		cmd.flags = KRDMA_RNIC_UP;
		cmd.uvp_abi = KRDMA_SOFT_ABI_VERSION;
		return 0;
	}
	case KRDMA_IOC_CONTEXT: {
		auto &cmd = *static_cast<krdma_context *>(argument);

		cmd.handle = add({}, cmd.cookie);
		if (cmd.flags & KRDMA_SLOW || !cmd.priv.out_len)
			return 0;
		return answer(cmd.priv, krdma_soft_ucontext_resp{KRDMA_SOFT_ABI_VERSION, 0});
	}
	case KRDMA_IOC_PD: {
		auto &cmd = *static_cast<krdma_pd *>(argument);

		cmd.handle = add({cmd.context}, 0);
		cmd.id = 5;
		return 0;
	}
	case KRDMA_IOC_CQ: {
		auto &cmd = *static_cast<krdma_cq *>(argument);

		cmd.handle = add({cmd.context}, cmd.cookie);
		cmd.depth = ring_entries;
		if (!cmd.priv.out_len)
			return 0;
		krdma_soft_cq_resp granted{};
		granted.ring_size = 4096 + ring_entries * sizeof(krdma_soft_cqe);
		granted.ring_offset = grant(granted.ring_size);
		granted.depth = ring_entries;
		return answer(cmd.priv, granted);
	}
	case KRDMA_IOC_QP: {
		auto &cmd = *static_cast<krdma_qp *>(argument);

		cmd.handle = add({cmd.pd, cmd.send_cq, cmd.recv_cq}, cmd.cookie);
		cmd.number = 42;
		if (!cmd.priv.out_len)
			return 0;
		krdma_soft_qp_resp granted{};
		granted.sq_size = 4096 + ring_entries * send_stride;
		granted.sq_offset = grant(granted.sq_size);
		granted.rq_size = 4096 + ring_entries * recv_stride;
		granted.rq_offset = grant(granted.rq_size);
		granted.sq_depth = granted.rq_depth = ring_entries;
		granted.sq_stride = send_stride;
		granted.rq_stride = recv_stride;
		granted.max_inline = 64;
		return answer(cmd.priv, granted);
	}
	case KRDMA_IOC_MR: {
		auto &cmd = *static_cast<krdma_mr *>(argument);

		cmd.handle = add({cmd.pd}, 0);
		cmd.stag = 0x1234;
		return 0;
	}
	case KRDMA_IOC_MW: {
		auto &cmd = *static_cast<krdma_mw *>(argument);

		cmd.handle = add({cmd.pd}, 0);
		cmd.stag = 0x5600;
		return 0;
	}
	case KRDMA_IOC_LISTEN: {
		auto &cmd = *static_cast<krdma_listen *>(argument);

		cmd.handle = add({cmd.context}, cmd.cookie);
		cmd.local.port = htons(7000);
		return 0;
	}
	case KRDMA_IOC_CONNECT: {
		auto &cmd = *static_cast<krdma_conn *>(argument);

		cmd.handle = add({cmd.qp}, cmd.cookie);
		return 0;
	}
	case KRDMA_IOC_POST_SEND:
	case KRDMA_IOC_POST_RECV:
	case KRDMA_IOC_POST_SRQ: {
		auto &cmd = *static_cast<krdma_post *>(argument);
		const auto *wrs = reinterpret_cast<const krdma_wr *>(cmd.wrs);

		doorbells += cmd.count == 0;
		posted.insert(posted.end(), wrs, wrs + cmd.count);
		cmd.done = cmd.count;
		return 0;
	}
	default:
		return ENOTTY;
	}
}
