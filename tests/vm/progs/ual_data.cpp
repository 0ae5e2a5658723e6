/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Checks of work requests: lists of slices, inline and immediate data, atomics, refusals. */
#include <bit>
#include <cstring>

#include "ual.hpp"

namespace ual {
namespace {

constexpr std::byte mark{0x5a};

std::uint64_t word(const Memory &memory, std::size_t index = 0)
{
	std::uint64_t value = 0;

	std::memcpy(&value, memory.octets.data() + index * sizeof(value), sizeof(value));
	return value;
}

void set_word(Memory &memory, std::uint64_t value)
{
	std::memcpy(memory.octets.data(), &value, sizeof(value));
}

/* bytes 0, 1, 2 ... */
void count_up(Memory &memory)
{
	for (std::size_t i = 0; i < memory.octets.size(); i++)
		memory.octets[i] = static_cast<std::byte>(i);
}

SideOptions with_slices()
{
	return {.qp = {.max_send_sge = 4, .max_recv_sge = 3}};
}

void lists_of_slices(World &world)
{
	const Pair pair{world, with_slices()};
	Memory from{pair.a.pd, 3000, access::local_write};
	const Memory to{pair.b.pd, 3000};
	const MemoryRegion &out = from.region;
	const std::array<Slice, 4> pieces{out.slice(0, 7), out.slice(7, 1493), out.slice(1500, 0),
					  out.slice(1500, 1500)};

	count_up(from);
	/* gathered from four pieces, one of them empty, and scattered to three */
	const std::array<Slice, 3> places{to.region.slice(2000, 1000), to.region.slice(1000, 1000),
					  to.region.slice(0, 1000)};
	pair.b.qp.receive(1, places);
	pair.a.qp.send(2, pieces);
	(void)pair.a.sent();
	same(pair.b.received().length(), 3000U, "octets received");
	require(std::memcmp(to.octets.data() + 2000, from.octets.data(), 1000) == 0 &&
			std::memcmp(to.octets.data() + 1000, from.octets.data() + 1000, 1000) ==
				0 &&
			std::memcmp(to.octets.data(), from.octets.data() + 2000, 1000) == 0,
		"what was gathered and scattered");

	/* gathered by a Write; read into four pieces */
	const std::vector<std::byte> wanted = from.octets;
	pair.a.qp.write(3, pieces, to.remote());
	(void)pair.a.sent();
	std::fill(from.octets.begin(), from.octets.end(), std::byte{0});
	pair.a.qp.read(4, pieces, to.remote());
	same(pair.a.sent().id(), std::uint64_t{4}, "id of the Read");
	require(from.octets == wanted && to.octets == wanted, "written and read back");
}

void too_many_slices(World &world)
{
	const Pair pair{world, with_slices()};
	const Memory memory{pair.a.pd, 64};
	const std::vector<Slice> many(pair.a.qp.granted().max_send_sge + 1,
				      memory.region.slice(0, 8));
	const std::vector<Slice> more(pair.a.qp.granted().max_recv_sge + 1,
				      memory.region.slice(0, 8));

	refused(EINVAL, "a Send of too many", [&] { pair.a.qp.send(1, many); });
	refused(EINVAL, "a Write of too many", [&] { pair.a.qp.write(1, many, {0, 0}); });
	refused(EINVAL, "a receive of too many", [&] { pair.a.qp.receive(1, more); });
	refused(EOPNOTSUPP, "an unknown operation", [&] {
		krdma_wr wr{};
		std::error_code error;

		wr.opcode = 77;
		same(pair.a.qp.post_send({&wr, 1}, error), std::size_t{0}, "posted");
		/* for an unknown operation, the user library returns another errno */
		if (error.value() == EINVAL && world.a.context.fast())
			error.assign(EOPNOTSUPP, std::generic_category());
		throw std::system_error{error};
	});
	/* the queue pair still works */
	const Memory peer{pair.b.pd, 64};
	reaches(pair, peer.remote(), 64, mark);
}

void no_room_for_the_message(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 64};
	const Memory to{pair.b.pd, 64};

	pair.b.qp.receive(1, to.region.slice(0, 63));
	pair.a.qp.send(2, from.region.slice());
	require(!Side::next(pair.b.receives).ok(), "a receive that is too short");
	pair.a.wait_for_state(QueueState::error);
	pair.b.wait_for_state(QueueState::error);
}

void inline_data(World &world)
{
	const SideOptions options{.qp = {.max_send_sge = 2, .max_inline = 64}};
	const Pair pair{world, options};
	const Memory to{pair.b.pd, 256};
	std::array<std::byte, 48> local{};
	const auto slice = [&](std::size_t from, std::uint32_t length) {
		return Slice{reinterpret_cast<std::uintptr_t>(local.data()) + from, length, 0};
	};

	require(pair.a.qp.granted().max_inline >= 64, "inline octets granted");
	local.fill(mark);
	const std::array<Slice, 2> two{slice(0, 16), slice(16, 32)};
	pair.b.qp.receive(1, to.region.slice(0, 48));
	pair.a.qp.send(2, two, {.inline_data = true});
	/* the data was copied */
	local.fill(std::byte{0});
	(void)pair.a.sent();
	same(pair.b.received().length(), 48U, "octets received");
	require(to.is_all(mark, 0, 48), "inline data of a Send");

	local.fill(mark);
	pair.a.qp.write(3, slice(0, 48), to.remote(100), {.inline_data = true});
	local.fill(std::byte{0});
	(void)pair.a.sent();
	const Memory back{pair.a.pd, 48};
	pair.a.qp.read(4, back.region.slice(), to.remote(100));
	(void)pair.a.sent();
	require(back.is_all(mark, 0, 48), "inline data of a Write");

	std::vector<std::byte> large(pair.a.qp.granted().max_inline + 1);
	const Slice all{reinterpret_cast<std::uintptr_t>(large.data()),
			static_cast<std::uint32_t>(large.size()), 0};
	refused(EINVAL, "too much of it", [&] { pair.a.qp.send(5, all, {.inline_data = true}); });
	refused(EINVAL, "a Read of it",
		[&] { pair.a.qp.read(5, slice(0, 8), to.remote(), {.inline_data = true}); });
}

void immediate_data(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 64, everything, mark};
	const Memory to{pair.b.pd, 64};
	const Slice octets = from.region.slice(0, 40);

	pair.b.qp.receive(1, to.region.slice());
	pair.a.qp.send_immediate(2, {&octets, 1}, 0x01020304);
	(void)pair.a.sent();
	Completion got = pair.b.received();
	same(got.immediate().value_or(0), 0x01020304U, "immediate data of a Send");
	same(got.length(), 40U, "its octets");
	require(to.is_all(mark, 0, 40), "its data");

	/* consumes a receive, whose memory does not change */
	pair.b.qp.receive(3, to.region.slice(60, 4));
	pair.a.qp.write_immediate(4, {&octets, 1}, to.remote(8), 0xfffefdfc);
	(void)pair.a.sent();
	got = pair.b.received();
	same(got.id(), std::uint64_t{3}, "id of the receive");
	same(got.immediate().value_or(0), 0xfffefdfcU, "immediate data of a Write");
	same(got.opcode(), Opcode::receive_write_immediate, "opcode");
	require(to.is_all(mark, 8, 40) && to.is_all(std::byte{0}, 48, 16), "what was written");

	/* without immediate data */
	pair.b.qp.receive(5, to.region.slice());
	pair.a.qp.send(6, octets);
	got = pair.b.received();
	require(!got.immediate() && !got.invalidated(), "a plain Send has none");
}

/* Atomics ****************************************************************** */

void atomics(World &world)
{
	const Pair pair{world};
	const Memory before{pair.a.pd, 16};
	Memory there{pair.b.pd, 16};
	const Slice first = before.region.slice(0, 8);
	const Slice second = before.region.slice(8, 8);
	constexpr std::uint64_t start = 0x1111111111111111;

	set_word(there, start);
	pair.a.qp.fetch_add(1, first, there.remote(), 5);
	same(pair.a.sent().opcode(), Opcode::fetch_add, "opcode");
	same(word(before), start, "what was there");
	pair.a.qp.fetch_add(2, first, there.remote(), ~std::uint64_t{0});
	pair.a.qp.compare_swap(3, second, there.remote(), start + 4, 99);
	(void)pair.a.sent();
	same(pair.a.sent().opcode(), Opcode::compare_swap, "opcode");
	same(word(before, 0), start + 5, "before the second addition");
	same(word(before, 1), start + 4, "before the swap");
	same(word(there), std::uint64_t{99}, "after the swap");
	pair.a.qp.compare_swap(4, second, there.remote(), 98, 7);
	(void)pair.a.sent();
	same(word(before, 1), std::uint64_t{99}, "what was there and is no match");
	same(word(there), std::uint64_t{99}, "no swap then");
}

void atomics_refused(World &world)
{
	{
		const Pair pair{world};
		const Memory before{pair.a.pd, 8};
		const Memory there{pair.b.pd, 16};

		/* an address that crosses two words */
		pair.a.qp.fetch_add(1, before.region.slice(), there.remote(4), 1);
		(void)pair.a.sent(Status::remote_invalid_request);
		require(there.is_all(std::byte{0}, 0, 16), "memory of a refused addition");
	}
	{
		const Pair pair{world};
		const Memory before{pair.a.pd, 8};
		const Memory there{pair.b.pd, 16, everything & ~access::remote_atomic};

		pair.a.qp.fetch_add(1, before.region.slice(), there.remote(), 1);
		(void)pair.a.sent(Status::remote_access_error);
		require(there.is_all(std::byte{0}, 0, 16), "memory of a refused addition");
	}
}

/* Rights of a queue pair *************************************************** */

void rights_of_a_queue_pair(World &world)
{
	const Pair pair{world};
	const Memory there{pair.b.pd, 64};

	refused(EINVAL, "a right that is none",
		[&] { pair.b.qp.change_access(access::local_write << 9); });
	pair.b.qp.change_access(access::remote_write | access::remote_read);
	reaches(pair, there.remote(), 64, mark);
	pair.b.qp.change_access(access::remote_write);
	same(pair.b.qp.query().access, std::uint32_t{access::remote_write}, "rights");
	pair.refuses_read(there.remote());
}

/* Rights that a peer does not have at the start do not come with the connection. */
void no_rights_before_it_connects(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Memory from{a.pd, 8, everything, mark};
	const Memory there{b.pd, 8};
	const Listener listener{world.b.context, world.b.address};

	b.qp.change_access(0);
	same(b.qp.query().access, 0U, "no rights");
	Connection at_a = Connection::connect(a.qp, listener.address());
	std::optional<ConnectionRequest> request = listener.wait(patience);
	require(request.has_value(), "no request");
	Connection at_b = request->accept(b.qp);
	at_a.established(patience);
	a.qp.write(1, from.region.slice(), there.remote());
	require(at_b.closed(patience) && at_a.closed(patience), "the end of both");
	require(there.is_all(std::byte{0}, 0, 8), "memory of a refused Write");
	b.qp.change_state(QueueState::reset);
	same(b.qp.query().access,
	     std::uint32_t{access::remote_write | access::remote_read | access::remote_atomic},
	     "rights of one that is like new");
}

/* Errors ******************************************************************* */

void local_errors(World &world)
{
	struct Case {
		const char *what;
		Status status;
		std::function<void(const Pair &, const Memory &)> post;
	};
	const std::array<Case, 3> cases{{{"Send of a wrong STag", Status::local_protection_error,
					  [](const Pair &pair, const Memory &memory) {
						  Slice slice = memory.region.slice();

						  slice.key ^= 0x100;
						  pair.a.qp.send(1, slice);
					  }},
					 {"Send beyond the region", Status::local_protection_error,
					  [](const Pair &pair, const Memory &memory) {
						  Slice slice = memory.region.slice();

						  slice.length++;
						  pair.a.qp.send(1, slice);
					  }},
					 {"invalidation of nothing", Status::bind_error,
					  [](const Pair &pair, const Memory &memory) {
						  pair.a.qp.invalidate(1, memory.region.stag() ^
										  0x100);
					  }}}};

	for (const Case &one : cases) {
		const Pair pair{world};
		const Memory memory{pair.a.pd, 64};

		one.post(pair, memory);
		const Completion done = Side::next(pair.a.sends);
		if (done.ok())
			fail(std::string{one.what} + " succeeded");
		if (done.status() != one.status)
			fail(std::string{one.what} + ": " + std::string{done.status_text()});
		pair.a.wait_for_state(QueueState::error);
	}
}

void flushed(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.a.pd, 64};

	for (std::uint64_t id = 0; id < 5; id++)
		pair.a.qp.receive(id, memory.region.slice());
	pair.a.qp.change_state(QueueState::error);
	for (std::uint64_t id = 0; id < 5; id++)
		same(pair.a.received(Status::flushed).id(), id, "order of what is flushed");
	pair.a.qp.send(6, memory.region.slice());
	same(pair.a.sent(Status::flushed).id(), std::uint64_t{6}, "posted afterwards");
	pair.b.wait_for_state(QueueState::error);
}

} /* namespace */

const std::vector<Check> data_checks = {
	{"lists_of_slices", lists_of_slices},
	{"too_many_slices", too_many_slices},
	{"no_room_for_the_message", no_room_for_the_message},
	{"inline_data", inline_data},
	{"immediate_data", immediate_data},
	{"atomics", atomics},
	{"atomics_refused", atomics_refused},
	{"rights_of_a_queue_pair", rights_of_a_queue_pair},
	{"no_rights_before_it_connects", no_rights_before_it_connects},
	{"local_errors", local_errors},
	{"flushed", flushed},
};

} /* namespace ual */
