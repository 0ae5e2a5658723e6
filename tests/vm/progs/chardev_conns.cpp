// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of connections by /dev/krdma: events of both sides, refusals, the backlog, the end. */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "chardev.hpp"

namespace chardev {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> pattern(std::size_t size, int seed)
{
	std::vector<std::byte> data(size);

	for (std::size_t i = 0; i < size; i++)
		data[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
	return data;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b)
{
	return std::ranges::equal(a, b);
}

/* private data of all sizes, cookies, addresses, depths; both sides see the end */
void whole_life(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_listen listener = make_listener(file, ctx, address, 8, 0x11);

	for (const std::size_t size : {0UL, 1UL, 7UL, 8UL, 200UL, 508UL}) {
		const krdma_qp client = make_qp(file, ctx), server = make_qp(file, ctx);
		const auto ask = pattern(size, 1), answer = pattern(size, 2);
		const krdma_conn conn =
			start_connect(file, client.handle, listener.local, ask, 0x22);
		const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);

		rdma::require_eq(request.base().handle, listener.handle, "listener");
		rdma::require_eq(request.base().cookie, std::uint64_t{0x11}, "listener's cookie");
		rdma::require(same(request.private_data(), ask), "private data of the request");
		rdma::require(std::ranges::equal(request.conn().local.addr, listener.local.addr) &&
				      request.conn().local.port == listener.local.port,
			      "address that was called");
		require_errno(accept_conn(file, request.conn().conn, server.handle, answer, 0x33),
			      0, "ACCEPT");
		bool replied = false, established = false;

		while (!replied || !established) {
			const auto event = file.next(rdma::patience);

			rdma::require(event.has_value(), "connected");
			require_errno(-event->base().status, 0, "status");
			if (event->base().type == KRDMA_EVENT_CONN_REPLY) {
				replied = true;
				rdma::require_eq(event->base().handle, conn.handle, "connection");
				rdma::require_eq(event->base().cookie, std::uint64_t{0x22},
						 "cookie");
				rdma::require(same(event->private_data(), answer),
					      "private data back");
			} else {
				established = true;
				rdma::require_eq(event->base().handle, request.conn().conn,
						 "connection");
				rdma::require_eq(event->base().cookie, std::uint64_t{0x33},
						 "cookie");
			}
		}
		krdma_qp_attr attr{.handle = client.handle};

		file.call(KRDMA_IOC_QP_QUERY, attr);
		rdma::require_eq(attr.state, std::uint32_t{IBV_QPS_RTS}, "state");
		rdma::require_eq(attr.remote.port, listener.local.port, "the peer's port");
		krdma_disconnect end{.qp = client.handle};

		file.call(KRDMA_IOC_DISCONNECT, end);
		for (int i = 0; i < 2; i++)
			require_errno(-file.expect(KRDMA_EVENT_CLOSED).base().status, 0, "CLOSED");
		file.expect_nothing();
		for (const std::uint32_t handle :
		     {conn.handle, request.conn().conn, client.handle, server.handle})
			file.destroy(handle);
	}
	file.destroy(listener.handle);
}

/* The limit of private data in the MPA revision in use: the enhanced data takes 4 bytes. */
std::size_t most_private_data()
{
	unsigned int revision = 0;

	std::ifstream{"/sys/module/krdma/parameters/mpa_revision"} >> revision;
	rdma::require(revision == 1 || revision == 2, "MPA revision");
	return revision == 1 ? 512 : 508;
}

int reject_conn(const File &file, std::uint32_t conn, std::span<const std::byte> why)
{
	krdma_conn cmd{.handle = conn,
		       .private_data = reinterpret_cast<std::uintptr_t>(why.data()),
		       .private_data_len = static_cast<std::uint32_t>(why.size())};

	return file.try_call(KRDMA_IOC_REJECT, cmd);
}

/*
 * A Request and its answer with private data of that length. If it is too long, the command is
 * refused and changes nothing.
 */
void private_data_of(const File &file, const Context &ctx, const krdma_listen &listener,
		     std::size_t size, bool accepted)
{
	const std::size_t most = most_private_data();
	const krdma_qp client = make_qp(file, ctx), server = make_qp(file, ctx);
	const auto ask = pattern(size, 1), answer = pattern(size, 2);
	const krdma_conn conn = start_connect(file, client.handle, listener.local, ask);
	const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);
	const std::uint32_t child = request.conn().conn;

	rdma::require(same(request.private_data(), ask), "private data of the Request");
	for (const std::size_t long_one : {most + 1, std::size_t{513}, std::size_t{65536}}) {
		const auto too_much = pattern(long_one, 3);

		require_errno(accept_conn(file, child, server.handle, too_much), EINVAL,
			      "ACCEPT with too much");
		require_errno(reject_conn(file, child, too_much), EINVAL, "REJECT with too much");
	}
	if (!accepted) {
		require_errno(reject_conn(file, child, answer), 0, "REJECT");
		const Event reply = file.expect(KRDMA_EVENT_CONN_REPLY);
		require_errno(-reply.base().status, ECONNREFUSED, "rejected");
		rdma::require(same(reply.private_data(), answer), "private data of the refusal");
	} else {
		require_errno(accept_conn(file, child, server.handle, answer), 0, "ACCEPT");
		for (int i = 0; i < 2; i++) {
			const auto event = file.next(rdma::patience);

			rdma::require(event.has_value(), "connected");
			require_errno(-event->base().status, 0, "status");
			if (event->base().type == KRDMA_EVENT_CONN_REPLY)
				rdma::require(same(event->private_data(), answer),
					      "private data of the Reply");
		}
	}
	for (const std::uint32_t handle : {conn.handle, child, client.handle, server.handle})
		file.destroy(handle);
	while (file.next(200ms))
		; /* of the end */
}

void refused(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_qp qp = make_qp(file, ctx);
	const krdma_listen listener = make_listener(file, ctx, address);
	const auto why = pattern(100, 3);
	krdma_conn conn = start_connect(file, qp.handle, listener.local);
	const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);
	krdma_conn reject{.handle = request.conn().conn,
			  .private_data = reinterpret_cast<std::uintptr_t>(why.data()),
			  .private_data_len = static_cast<std::uint32_t>(why.size())};

	file.call(KRDMA_IOC_REJECT, reject);
	Event reply = file.expect(KRDMA_EVENT_CONN_REPLY);

	require_errno(-reply.base().status, ECONNREFUSED, "rejected");
	rdma::require(same(reply.private_data(), why), "private data of the refusal");
	require_errno(file.try_call(KRDMA_IOC_REJECT, reject) != 0, 1, "REJECT twice");
	file.destroy(reject.handle);
	file.destroy(conn.handle);

	/* no listener is there any more */
	file.destroy(listener.handle);
	conn = start_connect(file, qp.handle, listener.local);
	reply = file.expect(KRDMA_EVENT_CONN_REPLY);
	require_errno(-reply.base().status, ECONNREFUSED, "no listener");
	require_errno(accept_conn(file, conn.handle, qp.handle) != 0, 1, "ACCEPT of one's own");
	file.destroy(conn.handle);
}

/* The number of a queue pair of /dev/krdma is no queue pair of rdma_cm. */
void other_side(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_qp qp = make_qp(file, ctx);
	const std::unique_ptr<rdma_event_channel, decltype(&rdma_destroy_event_channel)> channel{
		rdma_create_event_channel(), &rdma_destroy_event_channel};
	rdma_cm_id *raw = nullptr;
	sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(18998)};
	const auto step = [&](rdma_cm_event_type wanted) {
		rdma_cm_event *event = nullptr;

		require_errno(rdma_get_cm_event(channel.get(), &event) ? errno : 0, 0, "event");
		const auto type = event->event;
		(void)rdma_ack_cm_event(event);
		rdma::require_eq(int{type}, int{wanted}, "event");
	};

	inet_pton(AF_INET, address, &to.sin_addr);
	require_errno(rdma_create_id(channel.get(), &raw, nullptr, RDMA_PS_TCP) ? errno : 0, 0,
		      "rdma_create_id");
	const std::unique_ptr<rdma_cm_id, decltype(&rdma_destroy_id)> id{raw, &rdma_destroy_id};

	require_errno(rdma_resolve_addr(raw, nullptr, reinterpret_cast<sockaddr *>(&to), 5000)
			      ? errno
			      : 0,
		      0, "rdma_resolve_addr");
	step(RDMA_CM_EVENT_ADDR_RESOLVED);
	require_errno(rdma_resolve_route(raw, 5000) ? errno : 0, 0, "rdma_resolve_route");
	step(RDMA_CM_EVENT_ROUTE_RESOLVED);
	rdma_conn_param param{};
	param.qp_num = qp.number;
	require_errno(rdma_connect(raw, &param) ? errno : 0, EINVAL, "rdma_connect");
}

/* requests beyond the backlog are refused; a destroyed listener ends its unread requests */
void backlog(const char *address)
{
	const File file, other;
	const Context ctx{file, address}, other_ctx{other, address};
	const krdma_listen listener = make_listener(file, ctx, address, 2);
	std::vector<krdma_conn> conns;

	conns.reserve(4);
	for (int i = 0; i < 4; i++)
		conns.push_back(
			start_connect(other, make_qp(other, other_ctx).handle, listener.local));
	int failed = 0;

	while (failed < 2) {
		const Event reply = other.expect(KRDMA_EVENT_CONN_REPLY);

		rdma::require(reply.base().status != 0, "beyond the backlog");
		failed++;
	}
	const Event first = file.expect(KRDMA_EVENT_CONN_REQUEST);

	rdma::require_eq(file.usage().objects, 6U, "context, PD, CQ, listener, two requests");
	file.destroy(listener.handle);
	file.expect_nothing();
	rdma::require_eq(file.usage().objects, 4U, "the request that was read is left");
	const krdma_qp qp = make_qp(file, ctx);

	require_errno(accept_conn(file, first.conn().conn, qp.handle), 0,
		      "ACCEPT without its listener");
	int good = 0;

	for (int i = 0; i < 2; i++)
		good += other.expect(KRDMA_EVENT_CONN_REPLY).base().status == 0;
	rdma::require_eq(good, 1, "connections");
	file.expect(KRDMA_EVENT_ESTABLISHED);
	/* the file of the peer is closed as it is */
}

void set_state(const File &file, const krdma_qp &qp, std::uint32_t state)
{
	krdma_qp_attr cmd{.handle = qp.handle, .mask = KRDMA_QP_STATE, .state = state};

	file.call(KRDMA_IOC_QP_MODIFY, cmd);
}

/* CONNECT with a queue pair that has failed is refused, and the peer hears nothing of it. */
void wrong_connect(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_listen listener = make_listener(file, ctx, address);
	const krdma_qp qp = make_qp(file, ctx);
	krdma_conn cmd{.qp = qp.handle, .remote = listener.local};

	set_state(file, qp, KRDMA_QP_STATE_ERR);
	for (int i = 0; i < 3; i++)
		require_errno(file.try_call(KRDMA_IOC_CONNECT, cmd), EINVAL,
			      "CONNECT with a queue pair in error");
	rdma::require(!file.next(std::chrono::milliseconds{300}), "the peer heard of it");
	set_state(file, qp, KRDMA_QP_STATE_RESET);
	start_connect(file, qp.handle, listener.local);
	file.expect(KRDMA_EVENT_CONN_REQUEST);
}

/* A wrong ACCEPT leaves the request, and its place in the backlog, as they were. */
void wrong_accept(const char *address)
{
	const File file, other;
	const Context ctx{file, address}, other_ctx{other, address};
	const Ends busy{file, ctx, address};
	const krdma_listen listener = make_listener(file, ctx, address, 1);
	const krdma_qp qp = make_qp(file, ctx);
	const auto ask = [&] {
		return start_connect(other, make_qp(other, other_ctx).handle, listener.local);
	};

	for (const bool mended : {true, false, true}) {
		const krdma_conn conn = ask();
		const std::uint32_t request = file.expect(KRDMA_EVENT_CONN_REQUEST).conn().conn;

		set_state(file, qp, KRDMA_QP_STATE_ERR);
		for (int i = 0; i < 2; i++) {
			require_errno(accept_conn(file, request, qp.handle), EINVAL,
				      "ACCEPT with a queue pair in error");
			require_errno(accept_conn(file, request, busy.server.handle), EISCONN,
				      "ACCEPT with a queue pair of another connection");
		}
		const krdma_conn beyond = ask();
		Event reply = other.expect(KRDMA_EVENT_CONN_REPLY);

		rdma::require_eq(reply.base().handle, beyond.handle, "beyond the backlog");
		require_errno(-reply.base().status, ECONNREFUSED, "it still counts");
		other.destroy(beyond.handle);
		set_state(file, qp, KRDMA_QP_STATE_RESET);
		if (mended)
			require_errno(accept_conn(file, request, qp.handle), 0, "ACCEPT, mended");
		else
			require_errno(reject_conn(file, request, {}), 0, "REJECT instead");
		reply = other.expect(KRDMA_EVENT_CONN_REPLY);
		rdma::require_eq(reply.base().handle, conn.handle, "the answer");
		require_errno(-reply.base().status, mended ? 0 : ECONNREFUSED, "answered");
		other.destroy(conn.handle);
		if (mended) {
			file.expect(KRDMA_EVENT_ESTABLISHED);
			file.expect(KRDMA_EVENT_CLOSED);
		}
		file.destroy(request);
	}
	/* a request that is never accepted: its place is free when its peer has gone */
	const krdma_conn conn = ask();
	const std::uint32_t request = file.expect(KRDMA_EVENT_CONN_REQUEST).conn().conn;

	set_state(file, qp, KRDMA_QP_STATE_ERR);
	require_errno(accept_conn(file, request, qp.handle), EINVAL, "ACCEPT, never mended");
	other.destroy(conn.handle);
	set_state(file, qp, KRDMA_QP_STATE_RESET);
	/* whether the end was noticed already or not */
	(void)reject_conn(file, request, {});
	ask();
	file.expect(KRDMA_EVENT_CONN_REQUEST);
}

/* DESTROY of a connection that is being set up, and of one whose QP is gone */
void destroyed(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_listen listener = make_listener(file, ctx, address);
	const krdma_qp qp = make_qp(file, ctx);

	for (int i = 0; i < 20; i++) {
		const krdma_conn conn = start_connect(file, qp.handle, listener.local);

		if (i % 2)
			std::this_thread::sleep_for(std::chrono::milliseconds{i});
		file.destroy(conn.handle);
	}
	while (auto event = file.next(200ms)) {
		rdma::require_eq(event->base().type, std::uint32_t{KRDMA_EVENT_CONN_REQUEST},
				 "event");
		file.destroy(event->conn().conn);
	}
	file.destroy(listener.handle);
	file.destroy(qp.handle);

	const Ends ends{file, ctx, address};

	file.destroy(ends.client.handle);
	for (int i = 0; i < 2; i++)
		file.expect(KRDMA_EVENT_CLOSED);
	file.destroy(ends.client_conn);
	file.destroy(ends.server_conn);
	file.expect_nothing();
}

void ports(const char *address)
{
	const File file, other;
	const Context ctx{file, address}, other_ctx{other, address};
	const krdma_listen listener = make_listener(file, ctx, address);
	krdma_listen again{.context = other_ctx.context, .backlog = 1, .local = listener.local};

	require_errno(other.try_call(KRDMA_IOC_LISTEN, again), EADDRINUSE, "a port in use");
	again.local = parse_address("192.0.2.1", 9999);
	require_errno(other.try_call(KRDMA_IOC_LISTEN, again), EADDRNOTAVAIL,
		      "not the RNIC's address");
	/* a wildcard, IPv6 as well */
	again.local = parse_address("::");
	other.call(KRDMA_IOC_LISTEN, again);
	krdma_addr to = parse_address(address);

	to.port = again.local.port;
	const krdma_conn conn = start_connect(file, make_qp(file, ctx).handle, to);
	const Event request = other.expect(KRDMA_EVENT_CONN_REQUEST);

	other.destroy(request.conn().conn);
	rdma::require(file.expect(KRDMA_EVENT_CONN_REPLY).base().status != 0,
		      "ended by the other side");
	file.destroy(conn.handle);
}

/* a waiting reader is woken; a reader with a small buffer loses no record */
void reading(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const krdma_listen listener = make_listener(file, ctx, address);
	const krdma_qp qp = make_qp(file, ctx);
	std::thread asker{[&] {
		std::this_thread::sleep_for(50ms);
		start_connect(file, qp.handle, listener.local);
	}};
	pollfd p{.fd = file.fd(), .events = POLLIN, .revents = 0};
	const int n = ::poll(&p, 1, 30'000);

	asker.join();
	rdma::require_eq(n, 1, "poll is woken");
	const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);

	/* the unread record is gone with its object */
	require_errno(accept_conn(file, request.conn().conn, make_qp(file, ctx).handle), 0,
		      "ACCEPT");
	std::this_thread::sleep_for(100ms);
	rdma::require_eq(file.usage().events, 2U, "events that wait");
	file.destroy(request.conn().conn);
	while (const auto event = file.next(200ms))
		rdma::require(event->base().handle != request.conn().conn,
			      "none of what was destroyed");
}

} /* namespace */

void private_data(const char *address)
{
	const std::size_t most = most_private_data();
	const File file;
	const Context ctx{file, address};
	const krdma_listen listener = make_listener(file, ctx, address);

	for (const std::size_t size : {std::size_t{0}, std::size_t{255}, std::size_t{256}, most}) {
		private_data_of(file, ctx, listener, size, true);
		private_data_of(file, ctx, listener, size, false);
	}
	const krdma_qp qp = make_qp(file, ctx);
	for (const std::size_t size : {most + 1, std::size_t{513}}) {
		const auto too_much = pattern(size, 4);
		krdma_conn cmd{.qp = qp.handle,
			       .private_data = reinterpret_cast<std::uintptr_t>(too_much.data()),
			       .private_data_len = static_cast<std::uint32_t>(size),
			       .remote = listener.local};

		require_errno(file.try_call(KRDMA_IOC_CONNECT, cmd), EINVAL,
			      "CONNECT with too much");
	}
	file.expect_nothing();
	std::printf("private data of up to %zu octets\n", most);
}

const std::vector<Check> conn_checks{
	{"whole life", whole_life},
	{"refused", refused},
	{"wrong connects", wrong_connect},
	{"wrong answers", wrong_accept},
	{"backlog", backlog},
	{"numbers of another side", other_side},
	{"destroyed", destroyed},
	{"ports", ports},
	{"reading", reading},
};

} /* namespace chardev */
