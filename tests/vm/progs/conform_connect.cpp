/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a provider owes: connections, from the request to the end that the peer sees. */
#include "conform.hpp"

namespace conform {
namespace {

/* what all transports carry; InfiniBand and RoCE have 56 bytes for a connect */
constexpr std::size_t data_size = 48;

std::vector<std::byte> some_data(unsigned int seed)
{
	std::vector<std::byte> data(data_size);

	fill(data, seed);
	return data;
}

/* iWARP carries the length; InfiniBand and RoCE fill a field of fixed length with zeros. */
void same_data(const World &world, const std::vector<std::byte> &got, unsigned int seed,
	       const char *what, Where where = Where::current())
{
	const auto begin = got.begin() + data_size;

	if (got.size() < data_size)
		fail(std::string{what} + ": " + std::to_string(got.size()) + " bytes", where);
	if (is_iwarp(world.a))
		same(got.size(), data_size, what, where);
	require(is_filled({got.data(), data_size}, seed), what, where);
	require(std::all_of(begin, got.end(), [](std::byte byte) { return byte == std::byte{0}; }),
		"what follows private data", where);
}

ConnectionRequest next_request(const Listener &listener, Where where = Where::current())
{
	std::optional<ConnectionRequest> request = listener.wait(patience);

	if (!request)
		fail("no request", where);
	return std::move(*request);
}

void private_data(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Listener listener{world.b.context, world.b.address};
	const std::vector<std::byte> asked = some_data(1);
	const std::vector<std::byte> answer = some_data(2);

	Connection at_a = Connection::connect(a.qp, listener.address(), {.private_data = asked});
	ConnectionRequest request = next_request(listener);
	same_data(world, request.info().private_data, 1, "private data of the request");
	require(request.info().local == listener.address(), "local address of the request");
	require(request.info().remote.host() == world.a.address.host(),
		"remote address of the request");
	Connection at_b = request.accept(b.qp, {.private_data = answer});
	at_a.established(patience);
	same_data(world, at_a.info().private_data, 2, "private data of the answer");
	require(at_a.info().remote == listener.address(), "remote address");
	a.qp.write(0, std::span<const Slice>{}, {0, 0});
	(void)a.sent();
	at_b.established(patience);
}

/* Each side's ird and ord are the numbers that both have agreed on. */
void read_depths(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Listener listener{world.b.context, world.b.address};
	Connection at_a = Connection::connect(a.qp, listener.address(), {.ird = 3, .ord = 5});
	ConnectionRequest request = next_request(listener);

	same(request.info().ird, std::uint16_t{5}, "inbound Reads of the request");
	same(request.info().ord, std::uint16_t{3}, "outbound Reads of the request");
	Connection at_b = request.accept(b.qp, {.ird = 5, .ord = 3});
	at_a.established(patience);
	same(at_a.info().ird, std::uint16_t{3}, "inbound Reads of the connecting side");
	same(at_a.info().ord, std::uint16_t{5}, "outbound Reads of the connecting side");
	a.qp.write(0, std::span<const Slice>{}, {0, 0});
	(void)a.sent();
	at_b.established(patience);
	same(at_b.info().ird, std::uint16_t{5}, "inbound Reads of the accepting side");
	same(at_b.info().ord, std::uint16_t{3}, "outbound Reads of the accepting side");
}

/*
 * A connecting side without outbound Reads, whose peer offers some: each Read is refused or fails.
 * RNICs that make connections themselves refuse it, and the queue goes on.
 */
void no_read_depth(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Memory memory{a.pd, 64};
	const Memory there{b.pd, 64};
	const Listener listener{world.b.context, world.b.address};
	Connection at_a = Connection::connect(a.qp, listener.address(), {.ird = 4, .ord = 0});
	ConnectionRequest request = next_request(listener);
	Connection at_b = request.accept(b.qp, {.ird = 4, .ord = 4});

	at_a.established(patience);
	same(at_a.info().ord, std::uint16_t{0}, "outbound Reads");
	if (!(attributes(world.a).caps & KRDMA_CAP_LLP_OFFLOAD)) {
		a.qp.read(1, memory.region.slice(), there.remote());
		require(!Side::next(a.sends).ok(), "a Read without a depth");
		return;
	}
	for (int i = 0; i < 100; i++)
		refused(EINVAL, "a Read without a depth",
			[&] { a.qp.read(1, memory.region.slice(), there.remote()); });
	b.qp.receive(2, there.region.slice());
	a.qp.send(3, memory.region.slice());
	same(a.sent().id(), std::uint64_t{3}, "id of the Send behind refused Reads");
	(void)b.received();
	/* what was refused does not complete at the end either */
	a.qp.change_state(QueueState::error);
	a.wait_for_state(QueueState::error);
	require(!a.sends.wait(moment), "a completion of a refused Read");
}

void bad_options(World &world)
{
	const Side a{world.a, {}};
	const std::vector<std::byte> much(600);
	const Address peer = world.b.address.with_port(7999);
	const krdma_rnic_query limits = attributes(world.a);

	refused(EINVAL, "too much private data",
		[&] { (void)Connection::connect(a.qp, peer, {.private_data = much}); });
	refused(EINVAL, "too many inbound Reads", [&] {
		(void)Connection::connect(a.qp, peer,
					  {.ird = static_cast<std::uint16_t>(limits.max_ird + 1)});
	});
	refused(EADDRNOTAVAIL, "a local address that the RNIC does not have", [&] {
		Connection connection =
			Connection::connect(a.qp, peer, {.local = Address::parse("192.0.2.1")});
		connection.established(patience);
	});
	refused(EADDRNOTAVAIL, "to listen at it", [&] {
		const Listener listener{world.a.context, Address::parse("192.0.2.1")};
	});
}

void rejected(World &world)
{
	const Side a{world.a, {}};
	const Listener listener{world.b.context, world.b.address};
	const std::vector<std::byte> reason = some_data(3);
	Connection connection = Connection::connect(a.qp, listener.address());

	next_request(listener).reject(reason);
	refused(ECONNREFUSED, "a rejected connection", [&] { connection.established(patience); });
	same_data(world, connection.info().private_data, 3, "private data of the rejection");
}

void request_dropped(World &world)
{
	const Side a{world.a, {}};
	const Listener listener{world.b.context, world.b.address};
	Connection connection = Connection::connect(a.qp, listener.address());

	{
		const ConnectionRequest request = next_request(listener);
	}
	refused(ECONNREFUSED, "a request that was dropped",
		[&] { connection.established(patience); });
}

void no_listener(World &world)
{
	const Side a{world.a, {}};
	Address nobody;
	{
		const Listener listener{world.b.context, world.b.address};
		nobody = listener.address();
	}
	refused(ECONNREFUSED, "a port without listener", [&] {
		Connection connection = Connection::connect(a.qp, nobody);
		connection.established(patience);
	});
}

void listeners(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Listener any{world.b.context, Address::any(world.b.address.family())};
	const std::uint16_t port = any.address().port();

	require(port != 0, "the port of a wildcard");
	refused(EADDRINUSE, "a port twice", [&] {
		const Listener again{world.b.context, world.b.address.with_port(port)};
	});
	Connection at_a = Connection::connect(a.qp, world.b.address.with_port(port));
	Connection at_b = next_request(any).accept(b.qp);
	at_a.established(patience);
	refused(EISCONN, "a second connection",
		[&] { (void)Connection::connect(a.qp, world.b.address.with_port(port)); });
}

/* Ends ********************************************************************* */

/** struct Joined - two connected sides with their connections */
struct Joined {
	explicit Joined(World &world, const SideOptions &options = {})
		: a{world.a, options}, b{world.b, options}, listener{world.b.context,
								     world.b.address},
		  at_a{Connection::connect(a.qp, listener.address())},
		  at_b{next_request(listener).accept(b.qp)}
	{
		at_a.established(patience);
		a.qp.write(0, std::span<const Slice>{}, {0, 0});
		(void)a.sent();
		at_b.established(patience);
	}

	Side a;
	Side b;
	Listener listener;
	Connection at_a;
	Connection at_b;
};

/* What completed before a graceful end has arrived; iWARP also sends what was only posted. */
void graceful_end(World &world)
{
	Joined joined{world};
	const Memory from{joined.a.pd, 4096};
	const Memory to{joined.b.pd, 4096};

	for (std::uint64_t i = 0; i < 20; i++)
		joined.b.qp.receive(i, to.region.slice());
	for (std::uint64_t i = 0; i < 10; i++)
		joined.a.qp.send(i, from.region.slice());
	if (!is_iwarp(world.a))
		for (std::uint64_t i = 0; i < 10; i++)
			same(joined.a.sent().id(), i, "id of a Send");
	joined.a.qp.disconnect();
	require(joined.at_a.closed(patience) && joined.at_b.closed(patience), "the end of both");
	for (std::uint64_t i = 0; i < 10; i++)
		same(joined.b.received().id(), i, "id of a receive");
	for (std::uint64_t i = 10; i < 20; i++)
		same(joined.b.received(Status::flushed).id(), i, "id of a flushed receive");
	same(joined.at_a.close_status(), 0, "status of the end here");
	same(joined.at_b.close_status(), 0, "status of the end at the peer");
	joined.a.wait_for_state(QueueState::error);
	joined.b.wait_for_state(QueueState::error);
}

void abrupt_end(World &world)
{
	Joined joined{world};
	const Memory to{joined.b.pd, 4096};

	for (std::uint64_t i = 0; i < 3; i++)
		joined.b.qp.receive(i, to.region.slice());
	joined.a.qp.disconnect(true);
	require(joined.at_a.closed(patience), "the end here");
	require(joined.at_b.closed(patience), "the end at the peer");
	require(joined.at_a.close_status() != 0, "an abrupt end without a status");
	for (std::uint64_t i = 0; i < 3; i++)
		same(joined.b.received(Status::flushed).id(), i, "id of a flushed receive");
	joined.a.wait_for_state(QueueState::error);
	joined.b.wait_for_state(QueueState::error);
}

/* destroyed objects end the connection, too */
void end_by_destruction(World &world)
{
	const Side b{world.b, {}};
	const Listener listener{world.b.context, world.b.address};
	std::unique_ptr<Connection> at_b;
	{
		const Side a{world.a, {}};
		Connection at_a = Connection::connect(a.qp, listener.address());

		at_b = std::make_unique<Connection>(next_request(listener).accept(b.qp));
		at_a.established(patience);
		a.qp.write(0, std::span<const Slice>{}, {0, 0});
		(void)a.sent();
		at_b->established(patience);
	}
	require(at_b->closed(patience), "the end at the peer");
	b.wait_for_state(QueueState::error);
}

/* Connections that are not the host's may leave a queue pair that is of no use any more. */
void reset(const Side &side, const Host &host)
{
	announced(!(attributes(host).caps & KRDMA_CAP_LLP_OFFLOAD), "a reset",
		  [&] { side.qp.change_state(QueueState::reset); });
}

void used_again(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Memory from{a.pd, 8};
	const Memory to{b.pd, 8};

	for (int round = 0; round < 3; round++) {
		const Listener listener{world.b.context, world.b.address};

		b.qp.receive(1, to.region.slice());
		Connection at_a = Connection::connect(a.qp, listener.address());
		Connection at_b = next_request(listener).accept(b.qp);
		at_a.established(patience);
		a.qp.send(2, from.region.slice());
		(void)a.sent();
		(void)b.received();
		at_b.established(patience);
		a.qp.disconnect();
		require(at_a.closed(patience) && at_b.closed(patience), "the end of both");
		for (const auto &[side, host] : {std::pair{&a, &world.a}, std::pair{&b, &world.b}})
			reset(*side, *host);
		same(a.qp.query().state, std::uint32_t{KRDMA_QP_STATE_INIT}, "state after reset");
	}
}

/*
 * An RNIC whose connections are the host's keeps requests until it is connected. Another one may
 * refuse them; it does not lose them.
 */
void posted_before(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Memory from{a.pd, 8};
	const Memory to{b.pd, 8};
	const Listener listener{world.b.context, world.b.address};

	b.qp.receive(1, to.region.slice());
	try {
		a.qp.send(2, from.region.slice());
	} catch (const std::system_error &error) {
		require(attributes(world.a).caps & KRDMA_CAP_LLP_OFFLOAD, error.what());
		same(error.code().value(), ENOTCONN, "errno of a Send before the connection");
		throw Missing{};
	}
	Connection at_a = Connection::connect(a.qp, listener.address());
	Connection at_b = next_request(listener).accept(b.qp);
	at_a.established(patience);
	same(a.sent().id(), std::uint64_t{2}, "id of the Send");
	same(b.received().id(), std::uint64_t{1}, "id of the receive");
}

} /* namespace */

const std::vector<Check> connect_checks = {
	{"conn-private-data", private_data},
	{"conn-read-depths", read_depths},
	{"conn-no-read-depth", no_read_depth},
	{"conn-options", bad_options},
	{"conn-reject", rejected},
	{"conn-request-dropped", request_dropped},
	{"conn-no-listener", no_listener},
	{"conn-listeners", listeners},
	{"conn-send-before", posted_before},
	{"conn-graceful-end", graceful_end},
	{"conn-abrupt-end", abrupt_end},
	{"conn-destroyed", end_by_destruction},
	{"conn-again", used_again},
};

} /* namespace conform */
