// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the errnos with which /dev/krdma refuses commands: sizes, reserved fields,
 * handles. Also checks of the attributes of RNICs.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chardev.hpp"
#include "chardev_grammar.hpp"

namespace chardev {
namespace {

/* the structure of a command, followed by other bytes */
struct Buffer {
	alignas(8) std::array<std::uint8_t, 8192> octets{};

	void set_size(std::uint32_t size)
	{
		std::memcpy(octets.data(), &size, sizeof(size));
	}
};

void sizes(const char *)
{
	const File file;

	for (const grammar::Command &c : grammar::commands()) {
		const std::string name = c.name;
		Buffer buf;

		for (const std::uint32_t size : {0U, 4U}) {
			buf.set_size(size);
			require_errno(file.raw(c.number, buf.octets.data()), EINVAL,
				      name + ", short");
		}
		buf.set_size(8192);
		require_errno(file.raw(c.number, buf.octets.data()), E2BIG, name + ", huge");
		buf.set_size(c.size + 8);
		buf.octets[c.size + 3] = 1;
		require_errno(file.raw(c.number, buf.octets.data()), E2BIG,
			      name + ", more than zeros");
		require_errno(file.raw(c.number, nullptr), EFAULT, name + ", no address");
		/* only its size can be read */
		auto *page = static_cast<std::byte *>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
							     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

		rdma::require(page != MAP_FAILED, "mmap");
		rdma::must(::mprotect(page + 4096, 4096, PROT_NONE), "mprotect");
		std::memcpy(page + 4092, &c.size, sizeof(c.size));
		if (c.size > 4)
			require_errno(file.raw(c.number, page + 4092), EFAULT,
				      name + ", half an address");
		::munmap(page, 8192);
	}
	rdma::require_eq(file.usage().objects, 0U, "objects");
}

/* the structure of a newer program, with zeros in the part that the kernel does not know */
void longer(const char *)
{
	const File file;
	Buffer buf;

	buf.set_size(sizeof(krdma_rnic_list) + 64);
	require_errno(file.raw(KRDMA_IOC_RNIC_LIST, buf.octets.data()), 0, "a longer structure");
	/* the structure of an older program */
	buf.set_size(offsetof(krdma_usage, events));
	buf.octets.fill(0xff);
	buf.set_size(offsetof(krdma_usage, events));
	require_errno(file.raw(KRDMA_IOC_USAGE, buf.octets.data()), 0, "a shorter structure");
	rdma::require(buf.octets[offsetof(krdma_usage, events)] == 0xff,
		      "nothing behind it is written");
}

void unknown(const char *)
{
	const File file;
	Buffer buf;

	buf.set_size(64);
	for (const unsigned long number : {0x07UL, 0x0fUL, 0x23UL, 0x35UL, 0x7fUL, 0xffUL})
		require_errno(file.raw(_IO(KRDMA_IOC_TYPE, number), buf.octets.data()), ENOTTY,
			      "unknown command");
	require_errno(file.raw(_IO('K', 1), buf.octets.data()), ENOTTY, "another type");
	require_errno(file.raw(_IOR(KRDMA_IOC_TYPE, 1, int), buf.octets.data()), ENOTTY,
		      "another direction");
}

void rnics(const char *address)
{
	const File file;
	krdma_rnic_list list{};

	file.call(KRDMA_IOC_RNIC_LIST, list);
	rdma::require_eq(list.count, 1U, "RNICs of this namespace");
	krdma_rnic_entry entry{};

	list.entries = reinterpret_cast<std::uintptr_t>(&entry);
	file.call(KRDMA_IOC_RNIC_LIST, list);
	rdma::require_eq(entry.index, find_rnic(file, parse_address(address)), "index by address");
	const krdma_rnic_query q = query(file, entry.index);

	rdma::require(std::string_view{q.name} == entry.name, "name");
	rdma::require(std::string_view{q.provider} == "krdma_soft", "provider");
	rdma::require(std::string_view{q.uvp} == "libkrdma-uvp-soft.so", "user library");
	rdma::require_eq(q.ifindex, entry.ifindex, "ifindex");
	rdma::require(q.flags & KRDMA_RNIC_UP, "the link is up");
	rdma::require(q.max_qp && q.max_cqe && q.max_mr && q.mtu && q.num_ceh, "limits");
	require_errno(
		[&] {
			krdma_rnic_query none{};

			none.index = entry.index + 1000;
			return file.try_call(KRDMA_IOC_RNIC_QUERY, none);
		}(),
		ENODEV, "no such RNIC");

	rdma::require_eq(q.num_ports, 1U, "ports");
	krdma_rnic_port port{.index = entry.index, .port = 1};
	file.call(KRDMA_IOC_RNIC_PORT, port);
	rdma::require_eq(port.ifindex, entry.ifindex, "ifindex of the port");
	rdma::require_eq(port.state, 4U, "the port is active");
	rdma::require(std::string_view{port.netdev} == q.netdev, "network device of the port");
	for (const std::uint32_t none : {0U, 2U}) {
		port.port = none;
		require_errno(file.try_call(KRDMA_IOC_RNIC_PORT, port), EINVAL, "no such port");
	}

	std::vector<krdma_counter> counters(q.num_counters);
	krdma_rnic_counters c{};

	c.index = entry.index;
	c.count = 1;
	c.entries = reinterpret_cast<std::uintptr_t>(counters.data());
	file.call(KRDMA_IOC_RNIC_COUNTERS, c);
	rdma::require_eq(c.count, q.num_counters, "counters");
	rdma::require(counters.size() > 1 && counters[0].name[0] && !counters[1].name[0],
		      "no more than there is room for");
	c.count = q.num_counters;
	file.call(KRDMA_IOC_RNIC_COUNTERS, c);
	rdma::require(std::ranges::any_of(counters,
					  [](const krdma_counter &one) {
						  return std::string_view{one.name} == "tx_fpdus";
					  }),
		      "tx_fpdus");
}

void find(const char *address)
{
	const File file;
	krdma_rnic_find cmd{};

	require_errno(file.try_call(KRDMA_IOC_RNIC_FIND, cmd), EINVAL, "neither address");
	cmd.local = parse_address(address);
	cmd.remote = cmd.local;
	require_errno(file.try_call(KRDMA_IOC_RNIC_FIND, cmd), EINVAL, "both");
	cmd.remote = {};
	cmd.local = parse_address("192.0.2.1");
	require_errno(file.try_call(KRDMA_IOC_RNIC_FIND, cmd), ENODEV, "nobody's address");
	cmd.local.family = 77;
	require_errno(file.try_call(KRDMA_IOC_RNIC_FIND, cmd), EAFNOSUPPORT, "family");
	cmd.local = {};
	cmd.remote = parse_address("192.0.2.1");
	require_errno(file.try_call(KRDMA_IOC_RNIC_FIND, cmd), ENODEV, "no route");
	cmd.remote = parse_address(address);
	file.call(KRDMA_IOC_RNIC_FIND, cmd);
	rdma::require_eq(cmd.index, find_rnic(file, parse_address(address)), "by its own address");
	/* through the RNIC's network device to the other host */
	cmd.remote = parse_address("10.77.0.2");
	file.call(KRDMA_IOC_RNIC_FIND, cmd);
	rdma::require_eq(cmd.index, find_rnic(file, parse_address(address)), "by a neighbour's");
	cmd.remote = parse_address("fd77::2");
	file.call(KRDMA_IOC_RNIC_FIND, cmd);
}

void handles(const char *address)
{
	const File file, other;
	const Context ctx{file, address};
	krdma_pd pd{};

	for (const std::uint32_t wrong : {0U, 0x7fffffffU, 0xffffffffU}) {
		pd.context = wrong;
		require_errno(file.try_call(KRDMA_IOC_PD, pd), ENOENT, "no such handle");
		require_errno(file.try_destroy(wrong), ENOENT, "DESTROY of none");
	}
	pd.context = ctx.pd;
	require_errno(file.try_call(KRDMA_IOC_PD, pd), EINVAL, "another kind");
	pd.context = ctx.context;
	require_errno(other.try_call(KRDMA_IOC_PD, pd), ENOENT, "another file's");
	require_errno(other.try_destroy(ctx.cq), ENOENT, "DESTROY of another file's");
	require_errno(file.try_destroy(ctx.context), EBUSY, "a context with objects");

	const krdma_qp qp = make_qp(file, ctx);

	for (const std::uint32_t needed : {ctx.context, ctx.pd, ctx.cq})
		require_errno(file.try_destroy(needed), EBUSY, "what a QP needs");
	rdma::require_eq(file.usage().objects, 4U, "objects");
	file.destroy(qp.handle);
	require_errno(file.try_destroy(qp.handle), ENOENT, "DESTROY twice");
	file.destroy(ctx.pd);
	file.destroy(ctx.cq);
	file.destroy(ctx.context);
	rdma::require_eq(file.usage().objects, 0U, "objects");
}

/* private bytes at a bad address: the kernel reads them before it looks at the context */
int try_pd_of_nowhere(const File &file, const Context &ctx)
{
	krdma_pd cmd{.context = ctx.context, .priv = {.in_len = 1}};

	return file.try_call(KRDMA_IOC_PD, cmd);
}

/* one unknown bit in each */
void reserved(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const auto refuse = [&file](unsigned long number, auto cmd, const char *what) {
		require_errno(file.try_call(number, cmd), EINVAL, what);
	};

	refuse(KRDMA_IOC_CONTEXT, krdma_context{.index = ctx.index, .flags = 2}, "context flags");
	refuse(KRDMA_IOC_CONTEXT,
	       krdma_context{.index = ctx.index, .flags = KRDMA_SLOW, .priv = {.out_len = 8}},
	       "private octets of a slow context");
	/* readable, else this would be the first error */
	refuse(KRDMA_IOC_PD,
	       krdma_pd{.context = ctx.context,
			.priv = {.in = reinterpret_cast<std::uintptr_t>(address), .in_len = 1}},
	       "and of its PD");
	require_errno(try_pd_of_nowhere(file, ctx), EFAULT, "of nowhere");
	refuse(KRDMA_IOC_CQ, krdma_cq{.context = ctx.context, .depth = 0}, "no depth");
	refuse(KRDMA_IOC_CQ, krdma_cq{.context = ctx.context, .depth = 8, .ceh = 100000}, "CEH");
	refuse(KRDMA_IOC_CQ_MODIFY, krdma_cq_modify{.handle = ctx.cq, .mask = 3}, "both");
	refuse(KRDMA_IOC_CQ_MODIFY,
	       krdma_cq_modify{.handle = ctx.cq, .mask = 1, .depth = 8, .reserved = 1}, "reserved");
	refuse(KRDMA_IOC_CQ_NOTIFY, krdma_cq_notify{.handle = ctx.cq, .solicited = 2}, "solicited");
	refuse(KRDMA_IOC_SRQ, krdma_srq{.pd = ctx.pd, .max_wr = 4, .max_sge = 1, .reserved = 1},
	       "SRQ");
	refuse(KRDMA_IOC_QP,
	       krdma_qp{.pd = ctx.pd, .send_cq = ctx.cq, .recv_cq = ctx.cq, .flags = 2},
	       "QP flags");
	refuse(KRDMA_IOC_QP,
	       krdma_qp{
		       .pd = ctx.pd, .send_cq = ctx.cq, .recv_cq = ctx.cq, .max_send_wr = 1U << 30},
	       "QP size");
	refuse(KRDMA_IOC_MR, krdma_mr{.pd = ctx.pd, .flags = 2}, "MR flags");
	refuse(KRDMA_IOC_MW, krdma_mw{.pd = ctx.pd, .type = 3}, "MW type");
	refuse(KRDMA_IOC_LISTEN,
	       krdma_listen{.context = ctx.context, .flags = 4, .local = parse_address(address)},
	       "flags");

	const krdma_qp qp = make_qp(file, ctx);

	refuse(KRDMA_IOC_QP_MODIFY, krdma_qp_attr{.handle = qp.handle, .mask = 8}, "QP mask");
	refuse(KRDMA_IOC_QP_MODIFY, krdma_qp_attr{.handle = qp.handle, .mask = 4},
	       "SQD_NOTIFY alone");
	refuse(KRDMA_IOC_QP_MODIFY, krdma_qp_attr{.handle = qp.handle, .mask = 5, .state = 6},
	       "SQD_NOTIFY with ERR");
	refuse(KRDMA_IOC_QP_MODIFY,
	       krdma_qp_attr{.handle = qp.handle, .mask = 5, .state = 4, .sqd_notify = 2},
	       "SQD_NOTIFY of 2");
	refuse(KRDMA_IOC_QP_MODIFY, krdma_qp_attr{.handle = qp.handle, .mask = 5, .state = 4},
	       "SQD without connection");
	refuse(KRDMA_IOC_QP_MODIFY, krdma_qp_attr{.handle = qp.handle, .mask = 1, .state = 3},
	       "RTS");
	refuse(KRDMA_IOC_QP_MODIFY, krdma_qp_attr{.handle = qp.handle, .mask = 2, .access = 1},
	       "access");
	refuse(KRDMA_IOC_QP_QUERY, krdma_qp_attr{.handle = qp.handle, .mask = 1},
	       "query with a mask");
	refuse(KRDMA_IOC_DISCONNECT, krdma_disconnect{.qp = qp.handle, .abrupt = 2}, "abrupt");
	refuse(KRDMA_IOC_CONNECT, krdma_conn{.qp = qp.handle, .private_data_len = 513},
	       "private data");
	require_errno(
		[&] {
			krdma_conn cmd{.qp = qp.handle,
				       .local = parse_address("192.0.2.1"),
				       .remote = parse_address(address, 9)};

			return file.try_call(KRDMA_IOC_CONNECT, cmd);
		}(),
		EADDRNOTAVAIL, "from an address that is not the RNIC's");
	require_errno(
		[&] {
			krdma_conn cmd{.qp = qp.handle,
				       .private_data = 8,
				       .private_data_len = 4,
				       .remote = parse_address(address, 9)};

			return file.try_call(KRDMA_IOC_CONNECT, cmd);
		}(),
		EFAULT, "private data of nowhere");
	rdma::require_eq(file.usage().objects, 4U, "what failed has left nothing");
}

/* The answer cannot be written: the new object is destroyed. */
void no_answer(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const std::uint32_t before = file.usage().objects;
	auto *page = static_cast<krdma_pd *>(
		::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	rdma::require(page != MAP_FAILED, "mmap");
	*page = {.size = sizeof(*page), .context = ctx.context};
	rdma::must(::mprotect(page, 4096, PROT_READ), "mprotect");
	require_errno(file.raw(KRDMA_IOC_PD, page), EFAULT, "a PD whose handle cannot be told");
	rdma::require_eq(file.usage().objects, before, "objects");
	::munmap(page, 4096);
}

void events(const char *)
{
	const File file;
	std::array<std::byte, 8> room{};

	::alarm(30);
	file.expect_nothing();
	rdma::must(::fcntl(file.fd(), F_SETFL, O_NONBLOCK), "fcntl");
	rdma::require(::read(file.fd(), room.data(), room.size()) == -1 && errno == EAGAIN,
		      "reading nothing");
	::alarm(0);
}

/* every user may open it, within limits */
void limits(const char *address)
{
	as_nobody([&] {
		const File file;
		const Context ctx{file, address};
		std::vector<std::byte> memory(1 << 20);
		krdma_mr cmd{};

		cmd.pd = ctx.pd;
		cmd.start = reinterpret_cast<std::uintptr_t>(memory.data());
		cmd.length = memory.size();
		require_errno(file.try_call(KRDMA_IOC_MR, cmd), ENOMEM, "more than RLIMIT_MEMLOCK");
		cmd.length = 4096;
		file.call(KRDMA_IOC_MR, cmd);
		rdma::require(file.usage().pinned_pages >= 1, "pinned pages");
	});
}

/* A child that inherits the file registers its own memory. Its end changes no other region. */
void inherited(const char *address)
{
	const File file;
	const Context ctx{file, address};
	Memory before{file, ctx.pd, 8192, IBV_ACCESS_LOCAL_WRITE};
	const auto pinned = file.usage().pinned_pages;
	const pid_t child = ::fork();

	rdma::require(child >= 0, "fork");
	if (child == 0) {
		try {
			rdma::require_eq(file.usage().pinned_pages, std::uint64_t{0},
					 "pinned by the child");
			const Memory own{file, ctx.pd, 8192, IBV_ACCESS_LOCAL_WRITE};

			rdma::require(file.usage().pinned_pages >= 2, "pinned by the child");
		} catch (const std::exception &e) {
			::dprintf(2, "in the child: %s\n", e.what());
			::_exit(1);
		}
		::_exit(0);
	}
	int status = 0;

	rdma::require(::waitpid(child, &status, 0) == child && status == 0, "the child");
	rdma::require_eq(file.usage().pinned_pages, pinned, "pinned by the parent");
	file.destroy(before.handle());
	const Ends ends{file, ctx, address};
}

} /* namespace */

const std::vector<Check> error_checks{
	{"sizes", sizes},       {"longer and shorter", longer}, {"unknown commands", unknown},
	{"RNICs", rnics},       {"RNIC by address", find},      {"handles", handles},
	{"reserved", reserved}, {"no answer", no_answer},       {"no events", events},
	{"limits", limits},     {"inherited", inherited},
};

} /* namespace chardev */
