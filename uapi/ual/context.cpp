/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Contexts, with or without a user library; protection domains, regions, windows. */
#include "state.hpp"

#include <cstring>
#include <stdexcept>

#include <endian.h>

namespace krdma {
namespace detail {
namespace {

/* commands of the user library to the kernel */
int ri_syscall(void *host, unsigned long command, void *argument)
{
	return static_cast<Core *>(host)->try_command(command, argument);
}

} /* namespace */

ContextState::ContextState(const Device &dev, ContextOptions options)
	: device{dev}, core{dev.core()}, scope{std::make_shared<Scope>()},
	  mailbox{core->make_mailbox(scope)}, events{mailbox.get()}
{
	auto cmd = make_command<krdma_context>();

	cmd.index = device.index();
	cmd.cookie = mailbox->cookie();
	if (options.slow) {
		why_slow = "the program wants it so";
	} else {
		const Attributes attributes = device.attributes();
		const UserLibrary library =
			load_user_library(attributes.user_library, attributes.raw.uvp_abi);

		why_slow = library.why;
		uvp = library.complete;
		if (library.ops)
			open_fast(cmd);
	}
	if (!user) {
		cmd.flags = KRDMA_SLOW;
		cmd.priv = {};
		core->command(KRDMA_IOC_CONTEXT, cmd, device.name().c_str());
	}
	handle = Handle{core, cmd.handle};
}

/* A user library that does not fit its kernel module is not used. Other errors are the RNIC's. */
void ContextState::open_fast(krdma_context &cmd)
{
	host = {sizeof(host), core->kernel().descriptor(), core.get(), ri_syscall};
	last_refusal() = {};
	const int err = uvp.context_open(&host, &cmd, &user);

	if (err == EPROTO || err == EOPNOTSUPP) {
		why_slow = "the user library and the kernel module do not agree";
		user = nullptr;
		return;
	}
	check_refusal(err, device.name().c_str());
}

int ContextState::cause(int err) noexcept
{
	if (err != EIO) [[likely]]
		return err;
	if (scope->ended)
		return ENODEV;
	/* the event about the removal may not have been read yet */
	auto query = make_command<krdma_rnic_query>();
	query.index = device.index();
	return core->try_command(KRDMA_IOC_RNIC_QUERY, &query) == ENODEV ? ENODEV : EIO;
}

ContextState::~ContextState()
{
	handle.reset();
	if (user && !core->forked())
		uvp.context_close(user);
}

PdState::PdState(const Context &owner) : Optional{owner.state()}
{
	auto cmd = make_command<krdma_pd>();

	cmd.context = context->handle.value();
	make(context->uvp.pd_create, KRDMA_IOC_PD, cmd, "protection domain");
	id = cmd.id;
}

PdState::~PdState()
{
	end(context->uvp.pd_destroy);
}

MrState::MrState(const ProtectionDomain &domain, krdma_mr &cmd)
	: Optional{domain.state()->context}, pd{domain.state()},
	  zero_based_{(cmd.access & access::zero_based) != 0}
{
	cmd.pd = pd->number;
	make(context->uvp.mr_create, KRDMA_IOC_MR, cmd, "memory region");
	name_ = {cmd.stag, cmd.iova, cmd.length};
}

MrState::~MrState()
{
	end(context->uvp.mr_destroy);
}

void MrState::reregister(krdma_mr_reregister &cmd)
{
	cmd.handle = number;
	if (user)
		through_library([&] { return context->uvp.mr_reregister(user, &cmd); },
				"memory region");
	else
		core.command(KRDMA_IOC_MR_REREGISTER, cmd, "memory region");
}

void MrState::change_access(std::uint32_t access)
{
	auto cmd = make_command<krdma_mr_reregister>();
	const std::lock_guard guard{lock_};

	cmd.mask = KRDMA_REREG_ACCESS;
	cmd.access = access;
	reregister(cmd);
	name_.stag = cmd.stag;
}

void MrState::change_memory(std::span<std::byte> memory, std::uint64_t iova)
{
	auto cmd = make_command<krdma_mr_reregister>();
	const std::lock_guard guard{lock_};

	cmd.mask = KRDMA_REREG_TRANSLATION;
	cmd.start = reinterpret_cast<std::uintptr_t>(memory.data());
	cmd.length = memory.size();
	cmd.iova = zero_based_ ? 0 : iova;
	reregister(cmd);
	name_ = {cmd.stag, cmd.iova, cmd.length};
}

void MrState::change_domain(const ProtectionDomain &domain)
{
	auto cmd = make_command<krdma_mr_reregister>();
	std::shared_ptr<PdState> next = domain.state();

	/* its number may be a number of another session */
	if (next->context != context)
		throw_other_context("memory region");
	const std::lock_guard guard{lock_};

	cmd.mask = KRDMA_REREG_PD;
	cmd.pd = next->number;
	reregister(cmd);
	name_.stag = cmd.stag;
	pd.swap(next); /* the old domain ends without the lock */
}

MwState::MwState(const ProtectionDomain &domain, std::uint32_t type)
	: Optional{domain.state()->context}, pd{domain.state()}
{
	auto cmd = make_command<krdma_mw>();

	cmd.pd = pd->number;
	cmd.type = type;
	make(context->uvp.mw_create, KRDMA_IOC_MW, cmd, "memory window");
	stag = cmd.stag;
}

MwState::~MwState()
{
	end(context->uvp.mw_destroy);
}

} /* namespace detail */

Context::Context(const Device &device, ContextOptions options)
	: state_{std::make_shared<detail::ContextState>(device, options)}
{}

bool Context::fast() const noexcept
{
	return state_->fast();
}

const std::string &Context::why_slow() const noexcept
{
	return state_->why_slow;
}

std::uint32_t Context::handle() const noexcept
{
	return state_->handle.value();
}

const Device &Context::device() const noexcept
{
	return state_->device;
}

const EventSource &Context::events() const noexcept
{
	return state_->events;
}

ProtectionDomain::ProtectionDomain(const Context &context)
	: state_{std::make_shared<detail::PdState>(context)}
{}

std::uint32_t ProtectionDomain::handle() const noexcept
{
	return state_->number;
}

std::uint32_t ProtectionDomain::id() const noexcept
{
	return state_->id;
}

MemoryRegion::MemoryRegion(const ProtectionDomain &pd, std::span<std::byte> memory,
			   std::uint32_t access)
	: MemoryRegion{pd, memory, reinterpret_cast<std::uintptr_t>(memory.data()), access}
{}

MemoryRegion::MemoryRegion(const ProtectionDomain &pd, std::span<std::byte> memory,
			   std::uint64_t iova, std::uint32_t access)
{
	auto cmd = detail::make_command<krdma_mr>();

	cmd.access = access;
	cmd.start = reinterpret_cast<std::uintptr_t>(memory.data());
	cmd.length = memory.size();
	cmd.iova = access & access::zero_based ? 0 : iova;
	state_ = std::make_shared<detail::MrState>(pd, cmd);
}

MemoryRegion::MemoryRegion(const ProtectionDomain &pd, int dmabuf, std::uint64_t offset,
			   std::uint64_t length, std::uint64_t iova, std::uint32_t access)
{
	auto cmd = detail::make_command<krdma_mr>();

	cmd.flags = KRDMA_MR_DMABUF;
	cmd.fd = dmabuf;
	cmd.access = access;
	cmd.start = offset;
	cmd.length = length;
	cmd.iova = access & access::zero_based ? 0 : iova;
	state_ = std::make_shared<detail::MrState>(pd, cmd);
}

std::uint32_t MemoryRegion::handle() const noexcept
{
	return state_->number;
}

std::uint32_t MemoryRegion::stag() const noexcept
{
	return state_->name().stag;
}

std::uint64_t MemoryRegion::address() const noexcept
{
	return state_->name().address;
}

std::uint64_t MemoryRegion::length() const noexcept
{
	return state_->name().length;
}

MemoryRegion MemoryRegion::read_only(const ProtectionDomain &pd, std::span<const std::byte> memory,
				     std::uint32_t access)
{
	constexpr std::uint32_t writes =
		access::local_write | access::remote_write | access::remote_atomic;

	if (access & writes)
		throw Error{EINVAL, "read-only memory region",
			    detail::refusal(EINVAL, KRDMA_CAUSE_ACCESS, KRDMA_UNIT_ACCESS,
					    access & writes)};
	/* nothing writes through this pointer, as the region has no right to */
	return {pd, {const_cast<std::byte *>(memory.data()), memory.size()}, access};
}

Remote MemoryRegion::remote(std::uint64_t offset) const
{
	const detail::MrState::Name name = state_->name();

	if (offset > name.length)
		throw std::out_of_range{"an offset in its region"};
	return {name.address + offset, name.stag};
}

std::array<std::byte, Remote::packed_size> Remote::pack() const noexcept
{
	const std::uint64_t there = htobe64(address);
	const std::uint32_t name = htobe32(stag);
	std::array<std::byte, packed_size> packed{};

	std::memcpy(packed.data(), &there, sizeof(there));
	std::memcpy(packed.data() + sizeof(there), &name, sizeof(name));
	return packed;
}

Remote Remote::unpack(std::span<const std::byte, packed_size> from) noexcept
{
	std::uint64_t there = 0;
	std::uint32_t name = 0;

	std::memcpy(&there, from.data(), sizeof(there));
	std::memcpy(&name, from.data() + sizeof(there), sizeof(name));
	return {be64toh(there), be32toh(name)};
}

Slice MemoryRegion::slice() const
{
	const detail::MrState::Name name = state_->name();

	if (name.length > UINT32_MAX)
		throw std::out_of_range{"a slice has less than 4 GiB"};
	return {name.address, static_cast<std::uint32_t>(name.length), name.stag};
}

Slice MemoryRegion::slice(std::uint64_t offset, std::uint32_t length) const
{
	const detail::MrState::Name name = state_->name();

	if (offset > name.length || length > name.length - offset)
		throw std::out_of_range{"a slice lies in its region"};
	return {name.address + offset, length, name.stag};
}

void MemoryRegion::change_access(std::uint32_t access) const
{
	state_->change_access(access);
}

void MemoryRegion::change_memory(std::span<std::byte> memory) const
{
	state_->change_memory(memory, reinterpret_cast<std::uintptr_t>(memory.data()));
}

void MemoryRegion::change_memory(std::span<std::byte> memory, std::uint64_t iova) const
{
	state_->change_memory(memory, iova);
}

void MemoryRegion::change_domain(const ProtectionDomain &pd) const
{
	state_->change_domain(pd);
}

MemoryWindow::MemoryWindow(const ProtectionDomain &pd, std::uint32_t type)
	: state_{std::make_shared<detail::MwState>(pd, type)}
{}

std::uint32_t MemoryWindow::stag() const noexcept
{
	const std::lock_guard guard{state_->lock};

	return state_->stag;
}

std::uint32_t MemoryWindow::next_stag() const noexcept
{
	const std::lock_guard guard{state_->lock};

	return state_->next_stag();
}

std::uint32_t MemoryWindow::handle() const noexcept
{
	return state_->number;
}

} /* namespace krdma */
