/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a provider owes: operations with their data, and completion events. */
#include <cstring>
#include <optional>

#include "conform.hpp"

namespace conform {
namespace {

constexpr std::array<std::uint32_t, 13> sizes{0,    1,     3,     64,    1000,     4095,    4096,
					      8191, 65535, 65536, 65537, 1U << 20, 4U << 20};
constexpr std::size_t largest = 4U << 20;
/* bytes behind the data, which do not change */
constexpr std::size_t margin = 64;
constexpr std::byte blank{0x11};
constexpr std::byte mark{0x5a};

/** struct Way - a direction of a pair */
struct Way {
	const Side &from;
	const Side &to;
};

/* Do all sizes in both directions. @one moves that many bytes from one memory to the other. */
template <typename One> void each_size(const Pair &pair, One one)
{
	unsigned int seed = 0;

	for (const Way &way : {Way{pair.a, pair.b}, Way{pair.b, pair.a}}) {
		Memory from{way.from.pd, largest};
		Memory to{way.to.pd, largest + margin};

		for (std::uint32_t size : sizes) {
			const std::string what = std::to_string(size) + " bytes";

			fill({from.octets.data(), size}, ++seed);
			std::fill_n(to.octets.begin(), size + margin, blank);
			one(way, from, to, size);
			require(is_filled({to.octets.data(), size}, seed), what.c_str());
			require(to.is_all(blank, size, margin), ("behind " + what).c_str());
		}
	}
}

void sends(World &world)
{
	const Pair pair{world};

	each_size(pair,
		  [](const Way &way, const Memory &from, const Memory &to, std::uint32_t size) {
			  way.to.qp.receive(size, to.region.slice(0, size + margin));
			  way.from.qp.send(size, from.region.slice(0, size));
			  same(way.from.sent().id(), std::uint64_t{size}, "id of a Send");
			  same(way.to.received().length(), size, "bytes received");
		  });
}

void writes(World &world)
{
	const Pair pair{world};

	each_size(pair,
		  [](const Way &way, const Memory &from, const Memory &to, std::uint32_t size) {
			  way.from.qp.write(1, from.region.slice(0, size), to.remote());
			  same(way.from.sent().opcode(), Opcode::write, "opcode");
			  /* a Send arrives behind the Write */
			  way.to.qp.receive(2, to.region.slice(largest, 1));
			  way.from.qp.send(3, from.region.slice(0, 0));
			  (void)way.from.sent();
			  (void)way.to.received();
		  });
}

void reads(World &world)
{
	const Pair pair{world};

	each_size(pair,
		  [](const Way &way, const Memory &from, const Memory &to, std::uint32_t size) {
			  /* the reader is the side that gets the data */
			  way.to.qp.read(1, to.region.slice(0, size), from.remote());
			  const Completion done = way.to.sent();

			  same(done.opcode(), Opcode::read, "opcode");
			  same(done.length(), size, "bytes read");
		  });
}

void many_reads(World &world)
{
	constexpr std::size_t count = 64;
	constexpr std::uint32_t each = 100;
	const Pair pair{world};
	const Memory to{pair.a.pd, count * each};
	Memory from{pair.b.pd, count * each};

	fill(from.octets, 77);
	for (std::size_t i = 0; i < count; i++)
		pair.a.qp.read(i, to.region.slice(i * each, each), from.remote(i * each));
	for (std::size_t i = 0; i < count; i++)
		same(pair.a.sent().id(), std::uint64_t{i}, "order of Reads");
	require(is_filled(to.octets, 77), "bytes read");
}

/* Each Read waits for the one before. The queue has more than one round of them, and goes on. */
void fenced_reads(World &world)
{
	constexpr std::size_t count = 200;
	constexpr std::uint32_t each = 16;
	const Pair pair{world};
	const Memory to{pair.a.pd, count * each};
	Memory from{pair.b.pd, count * each};

	fill(from.octets, 78);
	for (std::size_t i = 0; i < count; i++) {
		pair.a.qp.read(i, to.region.slice(i * each, each), from.remote(i * each),
			       {.fence = true});
		same(pair.a.sent().id(), std::uint64_t{i}, "order of fenced Reads");
	}
	require(is_filled(to.octets, 78), "bytes read");
	pair.a.qp.write(count, to.region.slice(), from.remote(), {.fence = true});
	same(pair.a.sent().id(), std::uint64_t{count}, "id of the Write behind");
}

void slices(World &world)
{
	const std::uint32_t count =
		std::min({attributes(world.a).max_send_sge, attributes(world.b).max_recv_sge, 4U});
	const Pair pair{world, {.qp = {.max_send_sge = count, .max_recv_sge = count}}};
	Memory from{pair.a.pd, 4000};
	const Memory to{pair.b.pd, 4000};
	std::vector<Slice> out;
	std::vector<Slice> in;

	if (count < 2)
		throw Missing{};
	fill(from.octets, 31);
	/* the last pieces take the rest; an empty one is among those that are sent */
	for (std::size_t i = 0; i + 1 < count; i++) {
		out.push_back(from.region.slice(i * 7, i == 1 ? 0 : 7));
		in.push_back(to.region.slice(i * 501, 501));
	}
	std::vector<std::byte> wanted;
	out.push_back(from.region.slice(1000, 3000));
	in.push_back(to.region.slice(2000, 2000));
	for (const Slice &slice : out) {
		const auto begin =
			from.octets.begin() +
			static_cast<std::ptrdiff_t>(slice.address - from.region.address());
		wanted.insert(wanted.end(), begin,
			      begin + static_cast<std::ptrdiff_t>(slice.length));
	}
	pair.b.qp.receive(1, in);
	pair.a.qp.send(2, out);
	(void)pair.a.sent();
	same(pair.b.received().length(), static_cast<std::uint32_t>(wanted.size()),
	     "bytes received");
	std::size_t done = 0;
	for (const Slice &slice : in) {
		const std::size_t length =
			std::min<std::size_t>(slice.length, wanted.size() - done);

		require(std::equal(wanted.begin() + static_cast<std::ptrdiff_t>(done),
				   wanted.begin() + static_cast<std::ptrdiff_t>(done + length),
				   to.octets.begin() +
					   static_cast<std::ptrdiff_t>(slice.address -
								       to.region.address())),
			"what was gathered and scattered");
		done += length;
	}
}

/* Operations that not every RNIC has *************************************** */

/*
 * InfiniBand and RoCE always have immediate data, iWARP by RFC 7306. An RNIC that does not send it
 * does not take it either.
 */
void peer_has_immediate(World &world)
{
	if (!is_iwarp(world.b))
		return;
	const Pair pair{world};
	optional("immediate data of the peer", [&] { pair.b.qp.send_immediate(1, {}, 0); });
}

void send_immediate(World &world)
{
	peer_has_immediate(world);
	const Pair pair{world};
	const Memory from{pair.a.pd, 64, everything, mark};
	const Memory to{pair.b.pd, 64};

	pair.b.qp.receive(1, to.region.slice());
	announced(!is_iwarp(world.a), "a Send with immediate data",
		  [&] { pair.a.qp.send_immediate(2, from.region.slice(0, 40), 0x01020304); });
	(void)pair.a.sent();
	const Completion got = pair.b.received();
	same(got.immediate().value_or(0), 0x01020304U, "immediate data");
	same(got.length(), 40U, "bytes");
	require(to.is_all(mark, 0, 40), "data");
}

void write_immediate(World &world)
{
	peer_has_immediate(world);
	const Pair pair{world};
	const Memory from{pair.a.pd, 64, everything, mark};
	const Memory to{pair.b.pd, 64};

	pair.b.qp.receive(3, to.region.slice(60, 4));
	announced(!is_iwarp(world.a), "a Write with immediate data", [&] {
		pair.a.qp.write_immediate(4, from.region.slice(0, 40), to.remote(8), 0xfffefdfc);
	});
	(void)pair.a.sent();
	const Completion got = pair.b.received();
	same(got.id(), std::uint64_t{3}, "id of the receive");
	same(got.immediate().value_or(0), 0xfffefdfcU, "immediate data");
	same(got.opcode(), Opcode::receive_write_immediate, "opcode");
	require(to.is_all(mark, 8, 40) && to.is_all(std::byte{0}, 48, 16), "what was written");
}

/* IBV_DEVICE_MEM_MGT_EXTENSIONS: InfiniBand's announcement; iWARP always has it */
constexpr std::uint64_t cap_invalidates = 1U << 21;

bool invalidates(const Host &host)
{
	const krdma_rnic_query attr = attributes(host);

	return attr.transport == iwarp || attr.device_cap_flags & cap_invalidates;
}

/* what the peer may invalidate: a window if there are any, else a region */
void send_invalidate(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 64};
	const Memory to{pair.b.pd, 64};
	const bool windows = attributes(world.b).max_mw;
	const Memory lent{pair.b.pd, 64, windows ? everything | access::window_bind : everything,
			  blank};
	std::optional<MemoryWindow> window;
	Remote target = lent.remote();

	if (windows) {
		window.emplace(pair.b.pd);
		pair.b.qp.bind(3, *window, lent.region, lent.region.slice(),
			       access::remote_read | access::remote_write);
		(void)pair.b.sent();
		target.stag = window->stag();
	}
	reaches(pair, target, 64, mark);
	pair.b.qp.receive(1, to.region.slice());
	announced(invalidates(world.a), "a Send with invalidation",
		  [&] { pair.a.qp.send_invalidate(2, from.region.slice(), target.stag); });
	(void)pair.a.sent();
	const Completion got = pair.b.received();
	same(got.invalidated().value_or(0), target.stag, "the STag that was invalidated");
	read_refused(pair, target);
}

void local_invalidate(World &world)
{
	const Pair pair{world};
	const Memory lent{pair.b.pd, 64, everything, blank};

	reaches(pair, lent.remote(), 64, mark);
	announced(invalidates(world.b), "a local invalidation",
		  [&] { pair.b.qp.invalidate(1, lent.region.stag()); });
	same(pair.b.sent().opcode(), Opcode::invalidate, "opcode");
	read_refused(pair, lent.remote());
}

/* A new queue pair grants atomic operations to the peer if the RNIC has them. */
bool has_atomics(const Side &side)
{
	return side.qp.query().access & access::remote_atomic;
}

std::uint64_t word(const Memory &memory, std::size_t index = 0)
{
	std::uint64_t value = 0;

	std::memcpy(&value, memory.octets.data() + index * sizeof(value), sizeof(value));
	return value;
}

void atomics(World &world)
{
	const Pair pair{world};
	const bool here = has_atomics(pair.a);
	const bool there = has_atomics(pair.b);
	const std::uint32_t rights =
		access::local_write | access::remote_read | (there ? access::remote_atomic : 0);
	const Memory before{pair.a.pd, 16, access::local_write};
	const Memory target{pair.b.pd, 16, rights};
	const Slice first = before.region.slice(0, 8);
	const Slice second = before.region.slice(8, 8);

	if (here && !there)
		throw Missing{};
	announced(here, "an addition", [&] { pair.a.qp.fetch_add(1, first, target.remote(), 5); });
	same(pair.a.sent().opcode(), Opcode::fetch_add, "opcode");
	same(word(before), std::uint64_t{0}, "what was there");
	pair.a.qp.fetch_add(2, first, target.remote(), ~std::uint64_t{0});
	pair.a.qp.compare_swap(3, second, target.remote(), 4, 99);
	(void)pair.a.sent();
	same(pair.a.sent().opcode(), Opcode::compare_swap, "opcode");
	same(word(before, 0), std::uint64_t{5}, "before the second addition");
	same(word(before, 1), std::uint64_t{4}, "before the swap");
	same(word(target), std::uint64_t{99}, "after the swap");
	pair.a.qp.compare_swap(4, second, target.remote(), 98, 7);
	(void)pair.a.sent();
	same(word(before, 1), std::uint64_t{99}, "what was there and is no match");
	same(word(target), std::uint64_t{99}, "no swap then");
}

void inline_data(World &world)
{
	const std::uint32_t most = attributes(world.a).max_inline;
	const std::uint32_t size = std::min(most, 48U);
	const Pair pair{world, {.qp = {.max_inline = size}}};
	const Memory to{pair.b.pd, 256};
	std::vector<std::byte> local(pair.a.qp.granted().max_inline + 1, mark);
	const Slice all{reinterpret_cast<std::uintptr_t>(local.data()),
			static_cast<std::uint32_t>(local.size()), 0};
	const Slice part{all.address, size, 0};

	if (!most) {
		refused(EINVAL, "inline data beyond the limit",
			[&] { pair.a.qp.send(1, all, {.inline_data = true}); });
		throw Missing{};
	}
	refused(EINVAL, "too much of it", [&] { pair.a.qp.send(1, all, {.inline_data = true}); });
	pair.b.qp.receive(1, to.region.slice());
	pair.a.qp.send(2, part, {.inline_data = true});
	pair.a.qp.write(3, part, to.remote(128), {.inline_data = true});
	/* the data was copied */
	std::fill(local.begin(), local.end(), std::byte{0});
	(void)pair.a.sent();
	(void)pair.a.sent();
	same(pair.b.received().length(), size, "bytes received");
	require(to.is_all(mark, 0, size), "inline data of a Send");
	const Memory back{pair.a.pd, 48};
	pair.a.qp.read(4, back.region.slice(0, size), to.remote(128));
	(void)pair.a.sent();
	require(back.is_all(mark, 0, size), "inline data of a Write");
}

/* Completions ************************************************************** */

void send_one(const Pair &pair, const Memory &from, const Memory &to, bool solicited)
{
	pair.b.qp.receive(1, to.region.slice());
	pair.a.qp.send(2, from.region.slice(), {.solicited = solicited});
	(void)pair.a.sent();
}

void events(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};
	const CompletionQueue &cq = pair.b.receives;

	for (int round = 0; round < 3; round++) {
		require(!cq.arm(), "completions of an empty queue");
		require(!cq.events().wait(moment), "an event without completion");
		send_one(pair, from, to, false);
		const std::optional<Event> event = cq.events().wait(patience);
		require(event && event->type == KRDMA_EVENT_COMPLETION, "no event");
		(void)pair.b.received();
		/* one event for each time that the queue is armed */
		send_one(pair, from, to, false);
		require(!cq.events().wait(moment), "an event of a queue that is not armed");
		require(cq.arm(), "a queue with a completion says that it is empty");
		(void)pair.b.received();
		/* the next one is announced, for the queue is armed */
		send_one(pair, from, to, false);
		require(cq.events().wait(patience).has_value(), "no second event");
		(void)pair.b.received();
	}
}

void solicited(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};
	const CompletionQueue &cq = pair.b.receives;

	(void)cq.arm(true);
	send_one(pair, from, to, false);
	(void)pair.b.received();
	require(!cq.events().wait(moment), "an event of a Send that is not solicited");
	(void)cq.arm(true);
	send_one(pair, from, to, true);
	require(cq.events().wait(patience / 5).has_value(), "no event of a solicited Send");
	(void)pair.b.received();
}

void unsignaled(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};

	/* several times round the queue */
	for (std::uint64_t i = 0; i < 500; i++) {
		const bool signaled = i % 10 == 9;

		pair.b.qp.receive(i, to.region.slice());
		pair.a.qp.send(i, from.region.slice(), {.signaled = signaled});
		same(pair.b.received().id(), i, "id of the receive");
		if (signaled)
			same(pair.a.sent().id(), i, "id of a signaled Send");
	}
	require(!pair.a.sends.wait(moment), "a completion of a Send that is not signaled");
}

} /* namespace */

const std::vector<Check> data_checks = {
	{"send-sizes", sends},
	{"write-sizes", writes},
	{"read-sizes", reads},
	{"read-many", many_reads},
	{"read-fenced", fenced_reads},
	{"slices", slices},
	{"send-immediate", send_immediate},
	{"write-immediate", write_immediate},
	{"send-invalidate", send_invalidate},
	{"local-invalidate", local_invalidate},
	{"atomics", atomics},
	{"inline", inline_data},
	{"cq-events", events},
	{"cq-solicited", solicited},
	{"unsignaled", unsignaled},
};

} /* namespace conform */
