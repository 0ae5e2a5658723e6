// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of KRDMA_IOC_CALL: for each refusal the record's cause, unit and value, and that
 * nothing is written without it.
 */
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chardev.hpp"

namespace chardev {
namespace {

/* a parameter of krdma.ko, with its old value at the end */
class Parameter {
public:
	Parameter(const std::string &name, unsigned int value)
		: path_{"/sys/module/krdma/parameters/" + name}
	{
		std::ifstream{path_} >> before_;
		set(value);
	}
	Parameter(const Parameter &) = delete;
	Parameter &operator=(const Parameter &) = delete;
	~Parameter()
	{
		std::ofstream{path_} << before_;
	}

private:
	void set(unsigned int value)
	{
		std::ofstream file{path_};

		rdma::require(static_cast<bool>(file << value << std::flush), "a parameter");
	}

	std::string path_;
	unsigned int before_{};
};

/* CALL itself; an old program, which does not ask, sees what it always saw */
void the_call(const char *address)
{
	const File file;
	const Context ctx{file, address};
	alignas(8) std::array<std::byte, 8192> room{};
	krdma_call call{.size = sizeof(call),
			.command = KRDMA_IOC_USAGE,
			.argument = reinterpret_cast<std::uintptr_t>(room.data())};
	krdma_usage usage{.size = sizeof(usage)};

	std::memcpy(room.data(), &usage, sizeof(usage));
	std::memset(&call.error, 0xff, sizeof(call.error));
	require_errno(file.raw(KRDMA_IOC_CALL, &call), 0, "a command that succeeds");
	rdma::require_eq(call.error.status, ~0U, "nothing is recorded then");
	std::memcpy(&usage, room.data(), sizeof(usage));
	rdma::require_eq(usage.objects, 3U, "its answer");

	for (const std::uint32_t size : {0U, 4U, 39U}) {
		call.size = size;
		require_errno(file.raw(KRDMA_IOC_CALL, &call), EINVAL, "a short CALL");
	}
	call.size = 8192;
	require_errno(file.raw(KRDMA_IOC_CALL, &call), E2BIG, "a huge CALL");
	require_errno(file.raw(KRDMA_IOC_CALL, nullptr), EFAULT, "no CALL");
	room[0] = std::byte{48};
	room[44] = std::byte{1};
	require_errno(file.raw(KRDMA_IOC_CALL, room.data()), E2BIG, "more than zeros");

	call.size = sizeof(call);
	call.argument = reinterpret_cast<std::uintptr_t>(&call);
	for (const unsigned long number :
	     {std::uint64_t{KRDMA_IOC_CALL}, std::uint64_t{_IO(KRDMA_IOC_TYPE, 0x7f)}}) {
		call.command = static_cast<std::uint32_t>(number);
		call.error = {};
		require_errno(file.raw(KRDMA_IOC_CALL, &call), ENOTTY, "no command of CALL");
		rdma::require_eq(call.error.status, std::uint32_t{ENOTTY}, "the record says so");
	}
	call.command = KRDMA_IOC_PD;
	call.argument = 8;
	require_errno(file.raw(KRDMA_IOC_CALL, &call), EFAULT, "a command of nowhere");
	rdma::require_eq(call.error.status, std::uint32_t{EFAULT}, "the record says so");

	/* the record cannot be written: the errno is the command's */
	krdma_pd pd{.size = sizeof(pd), .context = 77};
	auto *page = static_cast<krdma_call *>(
		::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	rdma::require(page != MAP_FAILED, "mmap");
	*page = {.size = sizeof(*page),
		 .command = KRDMA_IOC_PD,
		 .argument = reinterpret_cast<std::uintptr_t>(&pd)};
	rdma::must(::mprotect(page, 4096, PROT_READ), "mprotect");
	require_errno(file.raw(KRDMA_IOC_CALL, page), ENOENT, "a record that cannot be written");
	::munmap(page, 4096);

	/* without CALL: the structure of a refused command stays as it was */
	krdma_qp qp{.size = sizeof(qp), .pd = 77, .handle = 1, .number = 2};
	const krdma_qp before = qp;
	require_errno(file.raw(KRDMA_IOC_QP, &qp), ENOENT, "without CALL");
	rdma::require(std::memcmp(&qp, &before, sizeof(qp)) == 0, "nothing is written");
}

void objects(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const Context other{file, address};

	refused(file, KRDMA_IOC_PD, krdma_pd{.context = 0x7ffffffe}, ENOENT, KRDMA_CAUSE_NO_HANDLE,
		KRDMA_UNIT_HANDLE, 0x7ffffffe, "no handle");
	refused(file, KRDMA_IOC_DESTROY, krdma_destroy{.handle = 0x7ffffffe}, ENOENT,
		KRDMA_CAUSE_NO_HANDLE, KRDMA_UNIT_HANDLE, 0x7ffffffe, "DESTROY of none");
	refused(file, KRDMA_IOC_PD, krdma_pd{.context = ctx.cq}, EINVAL, KRDMA_CAUSE_OTHER_KIND,
		KRDMA_UNIT_HANDLE, ctx.cq, "another kind");
	refused(file, KRDMA_IOC_QP,
		krdma_qp{.pd = ctx.pd, .send_cq = ctx.cq, .recv_cq = other.cq, .max_send_wr = 1},
		EINVAL, KRDMA_CAUSE_OTHER_CONTEXT, KRDMA_UNIT_HANDLE, other.cq, "another context");
	refused(file, KRDMA_IOC_DESTROY, krdma_destroy{.handle = ctx.context}, EBUSY,
		KRDMA_CAUSE_IN_USE, KRDMA_UNIT_COUNT, 2, "in use");
	refused(file, KRDMA_IOC_CONTEXT, krdma_context{.index = 4711, .flags = KRDMA_SLOW}, ENODEV,
		KRDMA_CAUSE_NO_RNIC, KRDMA_UNIT_RNIC, 4711, "no RNIC with the index");
	refused(file, KRDMA_IOC_RNIC_QUERY, krdma_rnic_query{.index = 4711}, ENODEV,
		KRDMA_CAUSE_NO_RNIC, KRDMA_UNIT_RNIC, 4711, "no RNIC to query");
	/* an unknown flag has no cause but its errno */
	refused(file, KRDMA_IOC_CQ, krdma_cq{.context = ctx.context, .depth = 8, .flags = 2},
		EINVAL, KRDMA_CAUSE_NONE, KRDMA_UNIT_NONE, 0, "an unknown flag");
	refused(file, KRDMA_IOC_PD, krdma_pd{.context = ctx.context, .priv = {.in_len = 1}}, EFAULT,
		KRDMA_CAUSE_POINTER, KRDMA_UNIT_NONE, 0, "private bytes of nowhere");
	const Parameter limit{"file_objects", 6};
	refused(file, KRDMA_IOC_PD, krdma_pd{.context = ctx.context}, ENOSPC,
		KRDMA_CAUSE_FILE_OBJECTS, KRDMA_UNIT_COUNT, 6, "objects of a file");
}

void rnic_limits(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_rnic_query q = query(file, ctx.index);
	const auto count = [&file](unsigned long number, auto cmd, krdma_cause cause,
				   std::uint64_t value, const char *what) {
		refused(file, number, cmd, EINVAL, cause, KRDMA_UNIT_COUNT, value, what);
	};
	const auto qp = [&ctx](auto set) {
		krdma_qp cmd{.pd = ctx.pd, .send_cq = ctx.cq, .recv_cq = ctx.cq};

		set(cmd);
		return cmd;
	};
	const auto srq = [&ctx](std::uint32_t max_wr, std::uint32_t max_sge) {
		return krdma_srq{.pd = ctx.pd, .max_wr = max_wr, .max_sge = max_sge};
	};

	count(KRDMA_IOC_CQ, krdma_cq{.context = ctx.context, .depth = q.max_cqe + 1},
	      KRDMA_CAUSE_MAX_CQE, q.max_cqe, "depth of a CQ");
	count(KRDMA_IOC_CQ_MODIFY,
	      krdma_cq_modify{.handle = ctx.cq, .mask = KRDMA_CQ_DEPTH, .depth = q.max_cqe + 1},
	      KRDMA_CAUSE_MAX_CQE, q.max_cqe, "new depth of a CQ");
	count(KRDMA_IOC_CQ, krdma_cq{.context = ctx.context, .depth = 8, .ceh = q.num_ceh},
	      KRDMA_CAUSE_NUM_CEH, q.num_ceh, "event handlers");
	refused(file, KRDMA_IOC_CQ, krdma_cq{.context = ctx.context}, EINVAL, KRDMA_CAUSE_ZERO,
		KRDMA_UNIT_NONE, 0, "no depth");
	count(KRDMA_IOC_QP, qp([&](krdma_qp &cmd) { cmd.max_send_wr = q.max_qp_wr + 1; }),
	      KRDMA_CAUSE_MAX_QP_WR, q.max_qp_wr, "send requests");
	count(KRDMA_IOC_QP, qp([&](krdma_qp &cmd) { cmd.max_recv_wr = q.max_qp_wr + 1; }),
	      KRDMA_CAUSE_MAX_QP_WR, q.max_qp_wr, "receives");
	count(KRDMA_IOC_QP, qp([&](krdma_qp &cmd) { cmd.max_send_sge = q.max_send_sge + 1; }),
	      KRDMA_CAUSE_MAX_SEND_SGE, q.max_send_sge, "slices of a send");
	count(KRDMA_IOC_QP, qp([&](krdma_qp &cmd) { cmd.max_recv_sge = q.max_recv_sge + 1; }),
	      KRDMA_CAUSE_MAX_RECV_SGE, q.max_recv_sge, "slices of a receive");
	refused(file, KRDMA_IOC_QP, qp([&](krdma_qp &cmd) { cmd.max_inline = q.max_inline + 1; }),
		EINVAL, KRDMA_CAUSE_MAX_INLINE, KRDMA_UNIT_BYTES, q.max_inline, "inline data");
	count(KRDMA_IOC_SRQ, srq(q.max_srq_wr + 1, 1), KRDMA_CAUSE_MAX_SRQ_WR, q.max_srq_wr,
	      "receives of an SRQ");
	count(KRDMA_IOC_SRQ, srq(1, q.max_srq_sge + 1), KRDMA_CAUSE_MAX_SRQ_SGE, q.max_srq_sge,
	      "slices of an SRQ");
	const krdma_qp own = make_qp(file, ctx);
	krdma_conn conn{.qp = own.handle,
			.ird = static_cast<std::uint16_t>(q.max_ird + 1),
			.remote = parse_address(address, 9)};
	count(KRDMA_IOC_CONNECT, conn, KRDMA_CAUSE_MAX_IRD, q.max_ird, "ird");
	conn.ird = 0;
	conn.ord = static_cast<std::uint16_t>(q.max_ord + 1);
	count(KRDMA_IOC_CONNECT, conn, KRDMA_CAUSE_MAX_ORD, q.max_ord, "ord");
}

void memory(const char *address)
{
	const File file;
	const Context ctx{file, address};
	std::vector<std::byte> octets(1 << 20);
	krdma_mr mr{.pd = ctx.pd, .access = KRDMA_ACCESS_REMOTE_WRITE};

	mr.start = mr.iova = reinterpret_cast<std::uintptr_t>(octets.data());
	mr.length = octets.size();
	refused(file, KRDMA_IOC_MR, mr, EINVAL, KRDMA_CAUSE_LOCAL_WRITE, KRDMA_UNIT_ACCESS,
		KRDMA_ACCESS_REMOTE_WRITE, "remote write alone");
	mr.access = 1U << 31 | KRDMA_ACCESS_LOCAL_WRITE;
	refused(file, KRDMA_IOC_MR, mr, EINVAL, KRDMA_CAUSE_ACCESS, KRDMA_UNIT_ACCESS, 1U << 31,
		"no such right");
	mr.access = KRDMA_ACCESS_LOCAL_WRITE;
	krdma_mr wrong = mr;
	wrong.iova = UINT64_MAX - 8;
	refused(file, KRDMA_IOC_MR, wrong, EINVAL, KRDMA_CAUSE_WRAPS, KRDMA_UNIT_NONE, 0,
		"an iova that wraps");
	wrong = mr;
	wrong.start = 4096;
	wrong.length = 4096;
	refused(file, KRDMA_IOC_MR, wrong, EFAULT, KRDMA_CAUSE_MEMORY, KRDMA_UNIT_NONE, 0,
		"memory that is not mapped");

	const std::uint64_t most = query(file, ctx.index).max_mr_size;
	if (most < UINT64_MAX) {
		wrong = mr;
		wrong.length = most + 1;
		refused(file, KRDMA_IOC_MR, wrong, EINVAL, KRDMA_CAUSE_MAX_MR_SIZE,
			KRDMA_UNIT_BYTES, most, "a region that is too large");
	}
	as_nobody([&] {
		refused(file, KRDMA_IOC_MR, mr, ENOMEM, KRDMA_CAUSE_MEMLOCK, KRDMA_UNIT_BYTES,
			65536, "more than RLIMIT_MEMLOCK");
		const rlimit none{};
		rdma::must(::setrlimit(RLIMIT_MEMLOCK, &none), "setrlimit");
		refused(file, KRDMA_IOC_MR, mr, EPERM, KRDMA_CAUSE_MEMLOCK, KRDMA_UNIT_BYTES, 0,
			"RLIMIT_MEMLOCK of 0");
		refused(file, KRDMA_IOC_QP_LIST, krdma_qp_list{.index = ctx.index}, EPERM,
			KRDMA_CAUSE_NEEDS_ADMIN, KRDMA_UNIT_NONE, 0, "the list of all QPs");
	});
}

void queue_pairs(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const Ends ends{file, ctx, address};
	const krdma_qp fresh = make_qp(file, ctx), failed = make_qp(file, ctx);
	const krdma_listen listener = make_listener(file, ctx, address);
	krdma_conn conn{.qp = ends.client.handle, .remote = listener.local};

	refused(file, KRDMA_IOC_CONNECT, conn, EISCONN, KRDMA_CAUSE_QP_CONNECTED, KRDMA_UNIT_STATE,
		KRDMA_QP_STATE_RTS, "a connected QP");
	refused(file, KRDMA_IOC_QP_MODIFY,
		krdma_qp_attr{.handle = fresh.handle,
			      .mask = KRDMA_QP_STATE,
			      .state = KRDMA_QP_STATE_RTS},
		EINVAL, KRDMA_CAUSE_QP_STATE, KRDMA_UNIT_STATE, KRDMA_QP_STATE_INIT, "RTS");
	refused(file, KRDMA_IOC_QP_MODIFY,
		krdma_qp_attr{.handle = fresh.handle,
			      .mask = KRDMA_QP_ACCESS,
			      .access = KRDMA_ACCESS_LOCAL_WRITE},
		EINVAL, KRDMA_CAUSE_ACCESS, KRDMA_UNIT_ACCESS, KRDMA_ACCESS_LOCAL_WRITE,
		"rights of a QP");
	krdma_qp_attr to_error{
		.handle = failed.handle, .mask = KRDMA_QP_STATE, .state = KRDMA_QP_STATE_ERR};
	file.call(KRDMA_IOC_QP_MODIFY, to_error);
	conn.qp = failed.handle;
	refused(file, KRDMA_IOC_CONNECT, conn, EINVAL, KRDMA_CAUSE_QP_STATE, KRDMA_UNIT_STATE,
		KRDMA_QP_STATE_ERR, "a failed QP");
	conn.qp = fresh.handle;
	conn.private_data_len = 513;
	refused(file, KRDMA_IOC_CONNECT, conn, EINVAL, KRDMA_CAUSE_PRIVATE_DATA, KRDMA_UNIT_BYTES,
		508, "private data");
	conn.private_data_len = 0;
	conn.local = parse_address("fd77::1");
	conn.remote = parse_address("10.77.0.2", 9);
	refused(file, KRDMA_IOC_CONNECT, conn, EINVAL, KRDMA_CAUSE_FAMILY, KRDMA_UNIT_NONE, 0,
		"two families");

	/* an answer is given once */
	(void)start_connect(file, fresh.handle, listener.local);
	const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);
	krdma_conn answer{.handle = request.conn().conn, .qp = failed.handle};
	refused(file, KRDMA_IOC_ACCEPT, answer, EINVAL, KRDMA_CAUSE_QP_STATE, KRDMA_UNIT_STATE,
		KRDMA_QP_STATE_ERR, "ACCEPT with a failed QP");
	answer.qp = 0;
	file.call(KRDMA_IOC_REJECT, answer);
	krdma_error error{};
	rdma::require(call_for(file, KRDMA_IOC_REJECT, answer, error) != 0, "REJECT twice");
	rdma::require(error.cause == KRDMA_CAUSE_ANSWERED || error.cause == KRDMA_CAUSE_PEER_GONE,
		      "why");
	const Event reply = file.expect(KRDMA_EVENT_CONN_REPLY);
	require_errno(-reply.base().status, ECONNREFUSED, "rejected");
}

void addresses(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_qp qp = make_qp(file, ctx);
	const krdma_listen listener = make_listener(file, ctx, address);
	const std::uint16_t port = ntohs(listener.local.port);
	krdma_conn conn{.qp = qp.handle,
			.local = parse_address("192.0.2.1"),
			.remote = parse_address(address, 9)};
	krdma_rnic_find find{.local = parse_address("192.0.2.1")};

	refused(file, KRDMA_IOC_CONNECT, conn, EADDRNOTAVAIL, KRDMA_CAUSE_NOT_LOCAL,
		KRDMA_UNIT_NONE, 0, "from another's address");
	conn.local = {};
	conn.remote = parse_address("127.0.0.1", 9);
	/* lo is the first device of each namespace */
	refused(file, KRDMA_IOC_CONNECT, conn, EADDRNOTAVAIL, KRDMA_CAUSE_ROUTE_ELSEWHERE,
		KRDMA_UNIT_IFINDEX, 1, "a route by lo");
	conn.remote = parse_address("192.0.2.1", 9);
	refused(file, KRDMA_IOC_CONNECT, conn, ENETUNREACH, KRDMA_CAUSE_NO_ROUTE, KRDMA_UNIT_NONE,
		0, "no route");
	refused(file, KRDMA_IOC_RNIC_FIND, find, ENODEV, KRDMA_CAUSE_NO_ROUTE, KRDMA_UNIT_NONE, 0,
		"an address without a route");
	find.local = parse_address("10.77.0.2");
	refused(file, KRDMA_IOC_RNIC_FIND, find, ENODEV, KRDMA_CAUSE_NOT_LOCAL, KRDMA_UNIT_NONE, 0,
		"a neighbour's address");
	find.local = parse_address("127.0.0.1");
	refused(file, KRDMA_IOC_RNIC_FIND, find, ENODEV, KRDMA_CAUSE_NO_RNIC_THERE,
		KRDMA_UNIT_IFINDEX, 1, "no RNIC on lo");
	refused(file, KRDMA_IOC_LISTEN,
		krdma_listen{.context = ctx.context, .local = parse_address("192.0.2.1")},
		EADDRNOTAVAIL, KRDMA_CAUSE_NOT_LOCAL, KRDMA_UNIT_NONE, 0, "LISTEN elsewhere");
	refused(file, KRDMA_IOC_LISTEN,
		krdma_listen{.context = ctx.context, .local = listener.local}, EADDRINUSE,
		KRDMA_CAUSE_PORT_USED, KRDMA_UNIT_PORT, port, "LISTEN twice");
	refused(file, KRDMA_IOC_PORT, krdma_port{.addr = listener.local, .protocol = IPPROTO_TCP},
		EADDRINUSE, KRDMA_CAUSE_PORT_USED, KRDMA_UNIT_PORT, port, "a port in use");
	krdma_listen wrong{.context = ctx.context};
	wrong.local.family = 77;
	refused(file, KRDMA_IOC_LISTEN, wrong, EAFNOSUPPORT, KRDMA_CAUSE_FAMILY, KRDMA_UNIT_NONE, 0,
		"a family");

	const krdma_port any{.addr = parse_address(address), .protocol = IPPROTO_TCP};
	{
		const Parameter limit{"file_ports", 1};
		krdma_port first = any;

		file.call(KRDMA_IOC_PORT, first);
		refused(file, KRDMA_IOC_PORT, any, ENOSPC, KRDMA_CAUSE_FILE_PORTS, KRDMA_UNIT_COUNT,
			1, "ports of a file");
		file.destroy(first.handle);
	}
	const Parameter of_user{"user_net_ports", 1};
	as_nobody([&] {
		const File own;
		krdma_port first = any;

		own.call(KRDMA_IOC_PORT, first);
		refused(own, KRDMA_IOC_PORT, any, ENOSPC, KRDMA_CAUSE_USER_PORTS, KRDMA_UNIT_COUNT,
			1, "ports of a user");
		refused(own, KRDMA_IOC_PORT,
			krdma_port{.addr = parse_address(address, 80), .protocol = IPPROTO_TCP},
			ENOSPC, KRDMA_CAUSE_USER_PORTS, KRDMA_UNIT_COUNT, 1, "the share first");
		own.destroy(first.handle);
		refused(own, KRDMA_IOC_PORT,
			krdma_port{.addr = parse_address(address, 80), .protocol = IPPROTO_TCP},
			EACCES, KRDMA_CAUSE_PORT_PRIVILEGED, KRDMA_UNIT_PORT, 1024,
			"a privileged port");
	});
}

/* shares of a namespace that are used up, for all of its programs and for one user */
void shares(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_port port{.addr = parse_address(address), .protocol = IPPROTO_TCP};
	const krdma_net_neigh watch{.flags = KRDMA_NEIGH_WATCH,
				    .addr = parse_address("10.77.0.2"),
				    .ifindex = query(file, ctx.index).ifindex};
	const krdma_net_subscribe subscribe{.mask = KRDMA_NET_LINK};
	const auto full = [](const File &by, unsigned long number, auto cmd, krdma_cause cause,
			     const char *what) {
		refused(by, number, cmd, ENOSPC, cause, KRDMA_UNIT_COUNT, 0, what);
	};

	for (const bool of_user : {false, true}) {
		const std::string prefix = of_user ? "user_" : "";
		const Parameter ports{prefix + "net_ports", 0};
		const Parameter watches{prefix + "neigh_watches", 0};
		const Parameter subscriptions{prefix + "net_subscriptions", 0};
		const auto check = [&] {
			const File own;

			full(own, KRDMA_IOC_PORT, port,
			     of_user ? KRDMA_CAUSE_USER_PORTS : KRDMA_CAUSE_NET_PORTS, "ports");
			full(own, KRDMA_IOC_NET_NEIGH, watch,
			     of_user ? KRDMA_CAUSE_USER_WATCHES : KRDMA_CAUSE_NET_WATCHES,
			     "watches");
			full(own, KRDMA_IOC_NET_SUBSCRIBE, subscribe,
			     of_user ? KRDMA_CAUSE_USER_SUBSCRIPTIONS
				     : KRDMA_CAUSE_NET_SUBSCRIPTIONS,
			     "subscriptions");
		};

		if (of_user)
			as_nobody(check);
		else
			check();
	}
}

/* a connect whose peer never answers ends after its own time */
void own_time(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_qp qp = make_qp(file, ctx);
	const krdma_listen listener = make_listener(file, ctx, address);
	krdma_conn conn{.qp = qp.handle, .remote = listener.local, .timeout_ms = 300};
	const auto begin = std::chrono::steady_clock::now();

	file.call(KRDMA_IOC_CONNECT, conn);
	const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);
	const Event reply = file.expect(KRDMA_EVENT_CONN_REPLY);
	const auto took = std::chrono::steady_clock::now() - begin;

	require_errno(-reply.base().status, ETIMEDOUT, "no answer");
	rdma::require(took >= std::chrono::milliseconds{250}, "not before its time");
	rdma::require(took < std::chrono::seconds{9}, "and not after krdma.ko's");
	krdma_conn answer{.handle = request.conn().conn, .qp = qp.handle, .timeout_ms = 1};
	require_errno(file.try_call(KRDMA_IOC_ACCEPT, answer), EINVAL, "ACCEPT has no time");
	/* the structure of an older program ends before it */
	conn.size = offsetof(krdma_conn, timeout_ms);
	conn.handle = 0;
	require_errno(file.raw(KRDMA_IOC_CONNECT, &conn), 0, "an older structure");
	(void)file.expect(KRDMA_EVENT_CONN_REQUEST);
}

} /* namespace */

const std::vector<Check> cause_checks{
	{"CALL", the_call},
	{"causes: objects", objects},
	{"causes: limits of the RNIC", rnic_limits},
	{"causes: memory", memory},
	{"causes: queue pairs", queue_pairs},
	{"causes: addresses and ports", addresses},
	{"causes: shares of a namespace", shares},
	{"a connect's own time", own_time},
};

} /* namespace chardev */
