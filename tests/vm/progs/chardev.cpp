// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Use of /dev/krdma with its ABI alone: see chardev.hpp. */
#include "chardev.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chardev {

using namespace std::chrono_literals;
using rdma::Where;

Event::Event(std::span<const std::byte> record)
{
	std::memcpy(&base_, record.data(), sizeof(base_));
	rdma::require_eq(std::size_t{base_.size}, record.size(), "size of the record");
	if (base_.type < KRDMA_EVENT_CONN_REQUEST || base_.type > KRDMA_EVENT_ESTABLISHED)
		return;
	rdma::require(record.size() >= sizeof(krdma_conn_event), "size of a connection's record");
	std::uint32_t len = 0;

	std::memcpy(&conn_, record.data() + offsetof(krdma_conn_event, conn), sizeof(conn_));
	std::memcpy(&len, record.data() + offsetof(krdma_conn_event, private_data_len),
		    sizeof(len));
	const auto rest = record.subspan(sizeof(krdma_conn_event));

	rdma::require(len <= rest.size() && rest.size() % 8 == 0, "private data is in the record");
	rdma::require(std::ranges::all_of(rest.subspan(len),
					  [](std::byte b) { return b == std::byte{}; }),
		      "what fills a record up is zero");
	private_data_.assign(rest.begin(), rest.begin() + len);
}

File::File() : fd_{::open(KRDMA_DEVICE, O_RDWR | O_CLOEXEC)}
{
	if (fd_ < 0)
		rdma::fail_errno("open " KRDMA_DEVICE, errno);
}

File::~File()
{
	::close(fd_);
}

int File::raw(unsigned long number, void *cmd) const
{
	return ::ioctl(fd_, number, cmd) ? errno : 0;
}

int File::try_destroy(std::uint32_t handle) const
{
	krdma_destroy cmd{.size = 0, .handle = handle};

	return try_call(KRDMA_IOC_DESTROY, cmd);
}

void File::destroy(std::uint32_t handle, Where where) const
{
	require_errno(try_destroy(handle), 0, "DESTROY", where);
}

std::optional<Event> File::next(std::chrono::milliseconds limit) const
{
	std::array<std::byte, 1024> record{};
	pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};

	if (::poll(&p, 1, static_cast<int>(limit.count())) <= 0)
		return std::nullopt;
	/*
	 * Read one record at a time: behind the largest record there is no room for the
	 * smallest one.
	 */
	const ssize_t n = ::read(fd_, record.data(), sizeof(krdma_event));

	if (n == static_cast<ssize_t>(sizeof(krdma_event)))
		return Event{std::span{record}.first(sizeof(krdma_event))};
	if (n < 0 && errno == EINVAL) {
		/* a longer record: its length is not known before it is read */
		for (std::size_t room = sizeof(krdma_event) + 8; room <= record.size(); room += 8) {
			const ssize_t m = ::read(fd_, record.data(), room);

			if (m > 0)
				return Event{std::span{record}.first(static_cast<std::size_t>(m))};
			if (errno != EINVAL)
				break;
		}
	}
	rdma::fail_errno("read", errno);
}

Event File::expect(std::uint32_t type, Where where) const
{
	auto event = next(rdma::patience);

	if (!event)
		rdma::fail("no event of type " + std::to_string(type), where);
	rdma::require_eq(event->base().type, type, "type of the event", where);
	return *event;
}

void File::expect_nothing(Where where) const
{
	const auto event = next(0ms);

	if (event)
		rdma::fail("an event of type " + std::to_string(event->base().type), where);
}

krdma_usage File::usage() const
{
	krdma_usage cmd{};

	call(KRDMA_IOC_USAGE, cmd);
	return cmd;
}

krdma_addr parse_address(const char *text, std::uint16_t port)
{
	krdma_addr addr{};

	addr.port = htons(port);
	if (::inet_pton(AF_INET, text, addr.addr) == 1)
		addr.family = AF_INET;
	else if (::inet_pton(AF_INET6, text, addr.addr) == 1)
		addr.family = AF_INET6;
	else
		rdma::fail(std::string{text} + " is no address");
	return addr;
}

std::uint32_t find_rnic(const File &file, const krdma_addr &local)
{
	krdma_rnic_find cmd{};

	cmd.local = local;
	file.call(KRDMA_IOC_RNIC_FIND, cmd);
	return cmd.index;
}

void require_errno(int got, int wanted, const std::string &what, Where where)
{
	if (got != wanted)
		rdma::fail(what + ": " + std::strerror(got) + ", wanted " + std::strerror(wanted),
			   where);
}

Memory::Memory(const File &file, std::uint32_t pd, std::size_t size, std::uint32_t access)
	: data_(size)
{
	krdma_mr cmd{};

	cmd.pd = pd;
	cmd.access = access;
	cmd.start = address();
	cmd.iova = address();
	cmd.length = size;
	file.call(KRDMA_IOC_MR, cmd);
	stag_ = cmd.stag;
	handle_ = cmd.handle;
}

std::uint32_t make_cq(const File &file, std::uint32_t context, std::uint32_t depth,
		      std::uint64_t cookie)
{
	krdma_cq cmd{};

	cmd.context = context;
	cmd.depth = depth;
	cmd.cookie = cookie;
	file.call(KRDMA_IOC_CQ, cmd);
	rdma::require(cmd.depth >= depth, "the CQ is deep enough");
	return cmd.handle;
}

Context::Context(const File &file, const char *address, std::uint32_t flags)
	: index{find_rnic(file, parse_address(address))}
{
	krdma_context ctx_cmd{};

	ctx_cmd.index = index;
	ctx_cmd.flags = flags;
	ctx_cmd.cookie = 0xc0;
	file.call(KRDMA_IOC_CONTEXT, ctx_cmd);
	context = ctx_cmd.handle;

	krdma_pd pd_cmd{};

	pd_cmd.context = context;
	file.call(KRDMA_IOC_PD, pd_cmd);
	pd = pd_cmd.handle;
	cq = make_cq(file, context, 64, 0xcc);
}

krdma_qp make_qp(const File &file, const Context &ctx, std::uint32_t srq, std::uint64_t cookie)
{
	krdma_qp cmd{};

	cmd.pd = ctx.pd;
	cmd.send_cq = ctx.cq;
	cmd.recv_cq = ctx.cq;
	cmd.srq = srq;
	cmd.max_send_wr = 16;
	cmd.max_recv_wr = srq ? 0 : 16;
	cmd.max_send_sge = 4;
	cmd.max_recv_sge = srq ? 0 : 4;
	cmd.max_inline = 128;
	cmd.cookie = cookie;
	file.call(KRDMA_IOC_QP, cmd);
	return cmd;
}

krdma_listen make_listener(const File &file, const Context &ctx, const char *address,
			   std::uint32_t backlog, std::uint64_t cookie)
{
	krdma_listen cmd{};

	cmd.context = ctx.context;
	cmd.backlog = backlog;
	cmd.cookie = cookie;
	cmd.local = parse_address(address);
	file.call(KRDMA_IOC_LISTEN, cmd);
	rdma::require(cmd.local.port != 0, "the listener has a port");
	return cmd;
}

/* the options of both sides of a connection */
static krdma_conn conn_command(std::uint32_t qp, std::span<const std::byte> private_data,
			       std::uint64_t cookie)
{
	krdma_conn cmd{};

	cmd.qp = qp;
	cmd.ird = 8;
	cmd.ord = 8;
	cmd.private_data = reinterpret_cast<std::uintptr_t>(private_data.data());
	cmd.private_data_len = static_cast<std::uint32_t>(private_data.size());
	cmd.cookie = cookie;
	return cmd;
}

krdma_conn start_connect(const File &file, std::uint32_t qp, const krdma_addr &remote,
			 std::span<const std::byte> private_data, std::uint64_t cookie)
{
	krdma_conn cmd = conn_command(qp, private_data, cookie);

	cmd.remote = remote;
	file.call(KRDMA_IOC_CONNECT, cmd);
	return cmd;
}

int accept_conn(const File &file, std::uint32_t conn, std::uint32_t qp,
		std::span<const std::byte> private_data, std::uint64_t cookie)
{
	krdma_conn cmd = conn_command(qp, private_data, cookie);

	cmd.handle = conn;
	return file.try_call(KRDMA_IOC_ACCEPT, cmd);
}

Ends::Ends(const File &file, const Context &ctx, const char *address, std::uint32_t srq)
	: client{make_qp(file, ctx)}, server{make_qp(file, ctx, srq)}
{
	const krdma_listen listener = make_listener(file, ctx, address);

	connect(file, listener);
	file.destroy(listener.handle);
}

Ends::Ends(const File &file, const krdma_qp &client, const krdma_qp &server,
	   const krdma_listen &listener)
	: client{client}, server{server}
{
	connect(file, listener);
}

void Ends::connect(const File &file, const krdma_listen &listener)
{
	client_conn = start_connect(file, client.handle, listener.local).handle;
	server_conn = file.expect(KRDMA_EVENT_CONN_REQUEST).conn().conn;
	require_errno(accept_conn(file, server_conn, server.handle), 0, "ACCEPT");
	/* in either order */
	for (int i = 0; i < 2; i++) {
		const auto event = file.next(rdma::patience);

		rdma::require(event && (event->base().type == KRDMA_EVENT_CONN_REPLY ||
					event->base().type == KRDMA_EVENT_ESTABLISHED),
			      "both sides hear that they are connected");
		require_errno(-event->base().status, 0, "connection");
	}
}

int post_send(const File &file, std::uint32_t qp, krdma_wr wr, std::span<const krdma_sge> sges)
{
	krdma_post cmd{};

	wr.sges = reinterpret_cast<std::uintptr_t>(sges.data());
	wr.num_sge = static_cast<std::uint32_t>(sges.size());
	cmd.handle = qp;
	cmd.count = 1;
	cmd.wrs = reinterpret_cast<std::uintptr_t>(&wr);
	const int err = file.try_call(KRDMA_IOC_POST_SEND, cmd);

	rdma::require_eq(cmd.done, err ? 0U : 1U, "work requests posted");
	return err;
}

int post_recv(const File &file, unsigned long number, std::uint32_t queue, std::uint64_t wr_id,
	      std::span<const krdma_sge> sges)
{
	krdma_wr wr{};
	krdma_post cmd{};

	wr.wr_id = wr_id;
	wr.sges = reinterpret_cast<std::uintptr_t>(sges.data());
	wr.num_sge = static_cast<std::uint32_t>(sges.size());
	cmd.handle = queue;
	cmd.count = 1;
	cmd.wrs = reinterpret_cast<std::uintptr_t>(&wr);
	return file.try_call(number, cmd);
}

krdma_wc next_wc(const File &file, std::uint32_t cq, Where where)
{
	const auto end = std::chrono::steady_clock::now() + rdma::patience;

	for (;;) {
		krdma_wc wc{};
		krdma_cq_poll cmd{};

		cmd.handle = cq;
		cmd.count = 1;
		cmd.entries = reinterpret_cast<std::uintptr_t>(&wc);
		file.call(KRDMA_IOC_CQ_POLL, cmd, where);
		if (cmd.count)
			return wc;
		if (std::chrono::steady_clock::now() > end)
			rdma::fail("no completion", where);
		std::this_thread::sleep_for(1ms);
	}
}

krdma_rnic_query query(const File &file, std::uint32_t index)
{
	krdma_rnic_query cmd{.index = index};

	file.call(KRDMA_IOC_RNIC_QUERY, cmd);
	return cmd;
}

void in_child(const std::function<void()> &action)
{
	const pid_t child = ::fork();

	rdma::require(child >= 0, "fork");
	if (child == 0) {
		try {
			action();
		} catch (const std::exception &e) {
			::dprintf(2, "in the child: %s\n", e.what());
			::_exit(1);
		}
		::_exit(0);
	}
	int status = 0;

	rdma::require(::waitpid(child, &status, 0) == child && status == 0, "in a child");
}

void as_nobody(const std::function<void()> &action)
{
	in_child([&] {
		const rlimit limit{.rlim_cur = 65536, .rlim_max = 65536};

		rdma::must(::setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
		rdma::must(::setuid(65534), "setuid");
		action();
	});
}

} /* namespace chardev */
