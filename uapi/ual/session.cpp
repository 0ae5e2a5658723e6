/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* RNICs of the namespace: lists, look-ups, attributes, counters. */
#include <krdma/session.hpp>

#include <array>
#include <cstdint>
#include <cstdio>

#include <net/if.h>

#include "core.hpp"

namespace krdma {
namespace {

std::vector<Counter> named(const std::vector<krdma_counter> &raw)
{
	std::vector<Counter> counters;

	counters.reserve(raw.size());
	for (const krdma_counter &counter : raw)
		counters.push_back({detail::text(counter.name), counter.value});
	return counters;
}

} /* namespace */

std::string_view Attributes::transport() const noexcept
{
	static constexpr std::array<std::string_view, 3> names = {"iWARP", "InfiniBand", "RoCE"};

	return raw.transport < names.size() ? names[raw.transport] : "unknown";
}

std::string Attributes::mac() const
{
	std::string text;

	for (std::uint32_t i = 0; i < raw.mac_len && i < sizeof(raw.mac); i++) {
		std::array<char, 4> byte;

		std::snprintf(byte.data(), byte.size(), "%s%02x", i ? ":" : "", raw.mac[i]);
		text += byte.data();
	}
	return text;
}

std::string Attributes::firmware() const
{
	const std::uint64_t version = raw.fw_version;

	return std::to_string(version >> 32) + '.' + std::to_string(version >> 16 & 0xffff) + '.' +
	       std::to_string(version & 0xffff);
}

Device::Device(std::shared_ptr<detail::Core> core, std::uint32_t index, std::uint32_t ifindex,
	       std::string name) noexcept
	: core_{std::move(core)}, index_{index}, ifindex_{ifindex}, name_{std::move(name)}
{}

Attributes Device::attributes() const
{
	auto query = detail::make_command<krdma_rnic_query>();

	query.index = index_;
	core_->command(KRDMA_IOC_RNIC_QUERY, query, name_.c_str());
	return {query.index,
		query.ifindex,
		detail::text(query.name),
		detail::text(query.netdev),
		detail::text(query.provider),
		detail::text(query.uvp),
		(query.flags & KRDMA_RNIC_UP) != 0,
		query};
}

std::vector<krdma_rnic_port> Device::ports() const
{
	/* an older kernel knows of one */
	const std::uint32_t num = std::max(attributes().raw.num_ports, 1U);
	std::vector<krdma_rnic_port> ports;

	for (std::uint32_t port = 1; port <= num; port++) {
		auto command = detail::make_command<krdma_rnic_port>();

		command.index = index_;
		command.port = port;
		core_->command(KRDMA_IOC_RNIC_PORT, command, name_.c_str());
		ports.push_back(command);
	}
	return ports;
}

std::vector<Counter> Device::counters() const
{
	auto command = detail::make_command<krdma_rnic_counters>();

	command.index = index_;
	return named(detail::list<krdma_counter>(*core_, KRDMA_IOC_RNIC_COUNTERS, command,
						 name_.c_str()));
}

std::vector<krdma_qp_entry> Device::queue_pairs() const
{
	std::vector<krdma_qp_entry> all;
	std::array<krdma_qp_entry, 64> some{};
	std::uint32_t next = 0;

	do {
		auto command = detail::make_command<krdma_qp_list>();

		command.index = index_;
		command.next = next;
		command.count = some.size();
		command.entries = reinterpret_cast<std::uintptr_t>(some.data());
		core_->command(KRDMA_IOC_QP_LIST, command, name_.c_str());
		all.insert(all.end(), some.begin(), some.begin() + command.count);
		next = command.next;
	} while (next);
	return all;
}

Session::Session() : Session{open_kernel()}
{}

Session::Session(std::shared_ptr<Kernel> kernel)
	: core_{std::make_shared<detail::Core>(std::move(kernel))},
	  events_{std::shared_ptr<detail::Mailbox>{core_, core_->own_mailbox().get()}}
{}

std::vector<Device> Session::devices() const
{
	std::vector<Device> devices;

	for (const krdma_rnic_entry &entry : detail::list<krdma_rnic_entry>(
		     *core_, KRDMA_IOC_RNIC_LIST, detail::make_command<krdma_rnic_list>(),
		     "list of RNICs"))
		devices.emplace_back(core_, entry.index, entry.ifindex, detail::text(entry.name));
	return devices;
}

namespace {

/* "krdma0 on eth0, krdma1": the RNICs that exist, for a user that named another */
std::string rnics(const std::vector<Device> &devices)
{
	std::string text;

	for (const Device &device : devices) {
		char name[IF_NAMESIZE];

		text += (text.empty() ? "" : ", ") + device.name();
		if (device.ifindex() && if_indextoname(device.ifindex(), name))
			text += std::string{" on "} + name;
	}
	return text.empty() ? "there is no RNIC; krdma link add makes one" : "RNICs: " + text;
}

Device find_by(const std::shared_ptr<detail::Core> &core, const Session &session,
	       const Address &local, const Address &remote)
{
	auto command = detail::make_command<krdma_rnic_find>();

	command.local = local.raw();
	command.remote = remote.raw();
	command.local.port = 0;
	command.remote.port = 0;
	const std::string what = (local.empty() ? remote : local).host();
	try {
		core->command(KRDMA_IOC_RNIC_FIND, command, what.c_str());
	} catch (const Error &error) {
		if (error.code().value() != ENODEV)
			throw;
		const std::string there = rnics(session.devices());
		throw Error{ENODEV, what, error.raw(),
			    error.reason().empty() ? there : error.reason() + "; " + there};
	}
	const std::vector<Device> all = session.devices();
	for (const Device &device : all) {
		if (device.index() == command.index)
			return device;
	}
	throw Error{ENODEV, what, detail::refusal(ENODEV, KRDMA_CAUSE_RNIC_REMOVED), rnics(all)};
}

} /* namespace */

Device Session::find(std::string_view name) const
{
	const std::vector<Device> all = devices();

	for (const Device &device : all) {
		if (device.name() == name)
			return device;
	}
	for (const Device &device : all) {
		if (device.attributes().netdev == name)
			return device;
	}
	throw Error{ENODEV, std::string{name}, detail::refusal(ENODEV, KRDMA_CAUSE_NO_RNIC),
		    rnics(all)};
}

Device Session::find_local(const Address &local) const
{
	return find_by(core_, *this, local, {});
}

Device Session::find_remote(const Address &remote) const
{
	return find_by(core_, *this, {}, remote);
}

int Session::ri_syscall(unsigned long number, void *argument) const noexcept
{
	return core_->try_command(number, argument);
}

krdma_usage Session::usage() const
{
	auto usage = detail::make_command<krdma_usage>();

	core_->command(KRDMA_IOC_USAGE, usage, "usage");
	return usage;
}

std::vector<Counter> Session::mib() const
{
	return named(detail::list<krdma_counter>(*core_, KRDMA_IOC_MIB,
						 detail::make_command<krdma_mib>(), "MIB"));
}

int Session::descriptor() const
{
	return core_->descriptor();
}

std::size_t Session::dispatch(std::chrono::milliseconds timeout) const
{
	return core_->dispatch(timeout);
}

} /* namespace krdma */
