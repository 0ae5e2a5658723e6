/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Checks of queues: shared receives and their limit, new sizes, events, connections' data. */
#include <array>
#include <ctime>
#include <thread>

#include <poll.h>

#include "ual.hpp"

namespace ual {
namespace {

/* a Send of one byte, and its completion at @a */
void send_one(const Pair &pair, const Memory &from)
{
	pair.a.qp.send(1, from.region.slice(0, 1));
	(void)pair.a.sent();
}

void shared_receives_and_limit(World &world)
{
	const ProtectionDomain pd{world.b.context};
	const SharedReceiveQueue srq{pd, {.max_wr = 16, .limit = 4}};
	const SideOptions shared{.qp = {.receives = &srq}, .pd = &pd};
	const Memory to{pd, 64};
	const Pair one{world, {}, shared};
	const Pair other{world, {}, shared};
	const Memory from_one{one.a.pd, 8};
	const Memory from_other{other.a.pd, 8};

	const Slice slice = to.region.slice(0, 8);
	const krdma_sge place{slice.address, slice.length, slice.key};
	std::array<krdma_wr, 6> receives{};
	std::error_code error;

	for (std::size_t i = 0; i < receives.size(); i++) {
		receives[i].wr_id = 10 + i;
		receives[i].num_sge = 1;
		receives[i].sges = reinterpret_cast<std::uintptr_t>(&place);
	}
	same(srq.post(receives, error), receives.size(), "receives in a list");
	require(!error, "an error with them");
	same(srq.query().limit, 4U, "limit");
	/* in turns; after two, four are left, which is not yet fewer than four */
	send_one(one, from_one);
	send_one(other, from_other);
	same(one.b.received().id(), std::uint64_t{10}, "first");
	same(other.b.received().id(), std::uint64_t{11}, "second");
	require(!srq.events().wait(moment), "an event at the limit");
	send_one(one, from_one);
	same(one.b.received().id(), std::uint64_t{12}, "third");
	const std::optional<Event> event = srq.events().wait(patience);
	require(event.has_value(), "no event below the limit");
	require(event->async() == AsyncCode::srq_limit_reached, "an event of another kind");
	same(srq.query().limit, 0U, "limit, which is disarmed");
	send_one(other, from_other);
	same(other.b.received().id(), std::uint64_t{13}, "fourth");
	require(!srq.events().wait(moment), "a second event");

	/*
	 * a limit above the number that is left: the event comes with the next receive that is
	 * taken
	 */
	srq.set_limit(3);
	require(!srq.events().wait(moment), "an event when none was taken");
	send_one(one, from_one);
	require(srq.events().wait(patience).has_value(), "no event of the new limit");
}

void shared_receives_refused(World &world)
{
	const ProtectionDomain pd{world.b.context};
	const SharedReceiveQueue srq{pd, {.max_wr = 16, .max_sge = 2}};
	const SideOptions shared{.qp = {.receives = &srq}, .pd = &pd};
	const Pair pair{world, {}, shared};
	const Memory to{pd, 64};
	const std::vector<Slice> many(srq.query().max_sge + 1, to.region.slice(0, 8));
	const std::uint32_t depth = srq.query().max_wr;

	require(depth >= 16 && srq.query().max_sge >= 2, "size");
	refused(EINVAL, "a queue pair's own receive",
		[&] { pair.b.qp.receive(1, to.region.slice()); });
	refused(EINVAL, "too many slices", [&] { srq.post(1, many); });
	refused(EINVAL, "a limit above the size", [&] { srq.set_limit(depth + 1); });
	for (std::uint32_t i = 0; i < depth; i++)
		srq.post(i, to.region.slice());
	refused(ENOMEM, "more than fit", [&] { srq.post(depth, to.region.slice()); });
	refused(EINVAL, "smaller than what is posted", [&] { srq.resize(depth / 2); });
	refused(EINVAL, "no size", [&] { srq.resize(0); });
	srq.resize(2 * depth);
	require(srq.query().max_wr >= 2 * depth, "new size");
	for (std::uint32_t i = depth; i < 2 * depth; i++)
		srq.post(i, to.region.slice());

	/* in order, across the resizing */
	const Memory from{pair.a.pd, 8};
	for (std::uint64_t id = 0; id < std::uint64_t{2} * depth; id++) {
		send_one(pair, from);
		same(pair.b.received().id(), id, "order");
	}
	refused(EINVAL, "a shared receive queue of another RNIC", [&] {
		const ProtectionDomain elsewhere{world.a.context};
		const CompletionQueue cq{world.a.context};
		const QueuePair qp{elsewhere, cq, cq, {.receives = &srq}};
	});
	refused(EINVAL, "a completion queue of another RNIC", [&] {
		const ProtectionDomain here{world.b.context};
		const CompletionQueue cq{world.a.context};
		const QueuePair qp{here, cq, cq};
	});
}

/* make that many messages wait in @b's queue; a Read is answered after them */
void fill(const Pair &pair, std::uint64_t &next, unsigned int count)
{
	const Memory from{pair.a.pd, 16};
	const Memory to{pair.b.pd, 16};

	for (; count; count--) {
		pair.b.qp.receive(next++, to.region.slice());
		pair.a.qp.send(1, from.region.slice(0, 8), {.signaled = false});
	}
	pair.a.qp.read(2, from.region.slice(8, 8), to.remote(8));
	(void)pair.a.sent();
}

void completion_queue_sizes(World &world)
{
	const Pair pair{world, {.depth = 16}};
	const CompletionQueue &cq = pair.b.receives;
	const Memory from{pair.a.pd, 8};
	std::uint64_t next = 0;

	fill(pair, next, 10);
	refused(EINVAL, "smaller than what waits", [&] { cq.resize(4); });
	refused(EINVAL, "no size", [&] { cq.resize(0); });
	refused(EINVAL, "more than the RNIC has",
		[&] { cq.resize(world.b.context.device().attributes().raw.max_cqe + 1); });
	cq.resize(100);
	require(cq.depth() >= 100, "new depth");
	fill(pair, next, 60);
	for (std::uint64_t id = 0; id < next; id++)
		same(pair.b.received().id(), id, "order across a new size");
	cq.resize(8);
	require(cq.depth() >= 8 && cq.depth() < 100, "smaller again");

	/* an armed queue stays armed */
	(void)pair.b.receives.arm();
	pair.b.receives.resize(128);
	const Memory to{pair.b.pd, 8};
	pair.b.qp.receive(1, to.region.slice());
	pair.a.qp.send(1, from.region.slice(0, 8));
	require(pair.b.receives.events().wait(patience).has_value(), "no event after a new size");
	(void)pair.b.received();
	(void)pair.a.sent();

	refused(EINVAL, "no depth", [&] {
		const CompletionQueue none{world.a.context, {.depth = 0}};
	});
	refused(EINVAL, "a handler that is not there", [&] {
		const CompletionQueue none{world.a.context, {.event_handler = 10000}};
	});
}

/* one event for several completions, or after a time */
void moderation(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};

	pair.b.receives.moderate(4, 60000);
	(void)pair.b.receives.arm();
	const auto start = std::chrono::steady_clock::now();
	for (std::uint64_t i = 0; i < 4; i++) {
		pair.b.qp.receive(i, to.region.slice());
		pair.a.qp.send(i, from.region.slice());
	}
	require(pair.b.receives.events().wait(patience).has_value(), "no event after four");
	require(std::chrono::steady_clock::now() - start < patience / 2, "it came late");
	for (std::uint64_t i = 0; i < 4; i++)
		same(pair.b.received().id(), i, "order");
	pair.b.receives.moderate(0, 0);
}

/* a full queue returns an error and the number of posted requests */
void full_queues(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.a.pd, 8};
	const Slice slice = memory.region.slice();
	const std::uint32_t depth = pair.a.qp.granted().max_recv_wr;
	std::vector<krdma_wr> many(depth + 3);
	std::error_code error;

	for (krdma_wr &wr : many) {
		wr.sges = reinterpret_cast<std::uintptr_t>(&slice);
		wr.num_sge = 1;
	}
	many[5].num_sge = pair.a.qp.granted().max_recv_sge + 1;
	same(pair.a.qp.post_receive(many, error), std::size_t{5}, "posted before the bad one");
	same(error.value(), EINVAL, "error of the bad one");
	many[5].num_sge = 1;
	same(pair.a.qp.post_receive(many, error), std::size_t{depth} - 5,
	     "posted before it is full");
	same(error.value(), ENOMEM, "error of a full queue");
	refused(ENOMEM, "one more", [&] { pair.a.qp.receive(1, slice); });
	same(pair.a.qp.post_receive({}, error), std::size_t{0}, "posted of none");
	same(error.value(), 0, "error of none");
}

/* the program's own loop over the session's descriptor */
void callbacks_by_descriptor(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};
	unsigned int got = 0;
	const auto end = std::chrono::steady_clock::now() + patience;

	pair.b.receives.events().on_event([&](const Event &event) {
		std::array<Completion, 4> done;

		if (event.type != KRDMA_EVENT_COMPLETION)
			return;
		(void)pair.b.receives.arm();
		while (const std::size_t n = pair.b.receives.poll(done).size())
			got += static_cast<unsigned int>(n);
	});
	(void)pair.b.receives.arm();
	for (unsigned int wanted = 1; wanted <= 5; wanted++) {
		pair.b.qp.receive(wanted, to.region.slice());
		pair.a.qp.send(wanted, from.region.slice());
		while (got < wanted) {
			pollfd fd{world.b.session.descriptor(), POLLIN, 0};

			require(std::chrono::steady_clock::now() < end, "no event");
			if (poll(&fd, 1, 100) > 0)
				(void)world.b.session.dispatch();
		}
	}
	pair.b.receives.events().on_event({});
}

/* only solicited or failed completions raise an event */
void solicited_events(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};

	(void)pair.b.receives.arm(true);
	pair.b.qp.receive(1, to.region.slice());
	pair.b.qp.receive(2, to.region.slice());
	pair.a.qp.send(1, from.region.slice());
	(void)pair.a.sent();
	require(!pair.b.receives.events().wait(moment), "an event of a Send that is not solicited");
	pair.a.qp.send(2, from.region.slice(), {.solicited = true});
	require(pair.b.receives.events().wait(patience).has_value(), "no event");
	(void)pair.b.received();
	(void)pair.b.received();
}

void raises(const Pair &pair, AsyncCode wanted)
{
	const std::optional<Event> event = pair.b.qp.events().wait(patience);

	require(event.has_value(), "no event of the queue pair");
	require(event->async() == wanted, "an event of another kind");
}

void queue_pair_events(World &world)
{
	const ProtectionDomain pd{world.b.context};
	const SharedReceiveQueue srq{pd, {.max_wr = 16}};
	const Pair shared{world, {}, {.qp = {.receives = &srq}, .pd = &pd}};

	shared.b.qp.change_state(QueueState::error);
	raises(shared, AsyncCode::qp_last_wqe);

	const Pair pair{world};
	const Memory closed{pair.b.pd, 8, 0};
	pair.refuses_write({closed.region.address(), closed.region.stag()});
	raises(pair, AsyncCode::qp_access_error);
}

/* requests wait until the queue pair resumes; receives go on */
void queue_pair_rests(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};
	const Memory back{pair.b.pd, 8};
	const Memory here{pair.a.pd, 8};
	const Side idle{world.a, {}};

	refused(EINVAL, "a rest without a connection", [&] { idle.qp.drain(); });
	refused(EINVAL, "to go on without one", [&] { idle.qp.resume(); });
	for (const bool told : {true, false}) {
		pair.a.qp.drain(told);
		if (told) {
			const std::optional<Event> event = pair.a.qp.events().wait(patience);

			require(event.has_value(), "no event of the rest");
			require(event->async() == AsyncCode::sq_drained, "of another kind");
		} else {
			require(!pair.a.qp.events().wait(moment), "an event nobody asked for");
		}
		same(pair.a.qp.query().state, std::uint32_t{KRDMA_QP_STATE_SQD}, "state");
		same(pair.a.qp.query().draining, 0U, "what was begun");
		pair.b.qp.receive(1, to.region.slice());
		pair.a.qp.send(2, from.region.slice());
		pair.a.qp.receive(3, here.region.slice());
		pair.b.qp.send(4, back.region.slice());
		(void)pair.b.sent();
		same(pair.a.received().id(), std::uint64_t{3}, "a receive meanwhile");
		require(!pair.b.receives.wait(moment), "sent while it rests");
		pair.a.qp.resume();
		same(pair.b.received().id(), std::uint64_t{1}, "what has rested");
		same(pair.a.sent().id(), std::uint64_t{2}, "its completion");
		same(pair.a.qp.query().state, std::uint32_t{KRDMA_QP_STATE_RTS}, "state");
	}
}

std::uint64_t clock_ns(clockid_t clock)
{
	timespec now{};

	clock_gettime(clock, &now);
	return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
	       static_cast<std::uint64_t>(now.tv_nsec);
}

/* the time of each completion, by both clocks, also after resizing */
void times_of_completions(World &world)
{
	const CompletionQueueOptions options{.depth = 8, .times = true};

	if (!world.b.context.fast()) {
		refused(EOPNOTSUPP, "times through the kernel", [&] {
			const CompletionQueue none{world.b.context, options};
		});
		return;
	}
	const Pair pair{world, {}, {.depth = 8, .times = true}};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};
	std::array<Completion, 8> got;
	std::array<CompletionTime, 4> times{};
	std::uint64_t monotonic = clock_ns(CLOCK_MONOTONIC);
	std::uint64_t real = clock_ns(CLOCK_REALTIME);

	refused(EINVAL, "times of a queue without", [&] { (void)pair.a.sends.poll(got, times); });
	for (std::uint64_t id = 0; id < 6; id++) {
		pair.b.qp.receive(id, to.region.slice());
		pair.a.qp.send(id, from.region.slice());
		(void)pair.a.sent();
		if (id == 3)
			pair.b.receives.resize(64);
	}
	std::uint64_t next = 0;

	for (int tries = 0; next < 6 && tries < 1000; tries++) {
		/* not more than there is room for in both spans */
		const std::span<Completion> some = pair.b.receives.poll(got, times);

		require(some.size() <= times.size(), "more than there is room for");
		for (std::size_t i = 0; i < some.size(); i++, next++) {
			same(some[i].id(), next, "order");
			require(times[i].device >= monotonic, "earlier than the one before");
			require(times[i].real + 1'000'000'000U > real, "the clock on the wall");
			monotonic = times[i].device;
			real = times[i].real;
		}
		if (some.empty())
			std::this_thread::sleep_for(std::chrono::milliseconds{5});
	}
	same(next, std::uint64_t{6}, "completions");
	require(monotonic <= clock_ns(CLOCK_MONOTONIC), "a time to come");
	require(real <= clock_ns(CLOCK_REALTIME) + 1'000'000'000U, "a time to come on the wall");
}

/* each completion event handler of the RNIC raises the events of its own queues */
void event_handlers(World &world)
{
	const std::uint32_t handlers =
		world.b.session.find_local(world.b.address).attributes().raw.num_ceh;

	require(handlers >= 2, "one completion event handler alone");
	for (std::uint32_t handler = 0; handler < handlers; handler++) {
		const Pair pair{world, {}, {.event_handler = handler}};
		const Memory from{pair.a.pd, 8};
		const Memory to{pair.b.pd, 8};

		(void)pair.b.receives.arm();
		pair.b.qp.receive(1, to.region.slice());
		pair.a.qp.send(1, from.region.slice());
		const auto event = pair.b.receives.events().wait(patience);

		require(event.has_value(), "no event");
		/* tests/vm/cases/24-libkrdma.sh checks the CPU */
		same(event->code, handler, "who tells it");
		(void)pair.b.received();
	}
}

/* Connections ************************************************************** */

std::vector<std::byte> octets(std::size_t length, std::byte first)
{
	std::vector<std::byte> data(length);

	for (std::size_t i = 0; i < length; i++)
		data[i] = static_cast<std::byte>(i + static_cast<std::size_t>(first));
	return data;
}

void private_data(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Listener listener{world.b.context, world.b.address};
	const std::vector<std::byte> asked = octets(300, std::byte{1});
	const std::vector<std::byte> told = octets(200, std::byte{77});

	Connection refusal = Connection::connect(a.qp, listener.address(), {.private_data = asked});
	std::optional<ConnectionRequest> request = listener.wait(patience);
	require(request && request->info().private_data.size() >= asked.size() &&
			std::equal(asked.begin(), asked.end(),
				   request->info().private_data.begin()),
		"private data of the request");
	same(request->info().remote.host() == world.a.address.host(), true, "who asks");
	request->reject(told);
	refused(ECONNREFUSED, "what was refused", [&] { refusal.established(patience); });
	require(refusal.info().private_data.size() >= told.size() &&
			std::equal(told.begin(), told.end(), refusal.info().private_data.begin()),
		"private data of the refusal");
	refused(EINVAL, "private data that is too long", [&] {
		const Side other{world.a, {}};
		(void)Connection::connect(other.qp, listener.address(),
					  {.private_data = octets(513, std::byte{0})});
	});

	const Side again{world.a, {}};
	Connection at_a = Connection::connect(again.qp, listener.address(), {.ird = 3, .ord = 2});
	request = listener.wait(patience);
	require(request.has_value(), "no request");
	same(request->info().ord, std::uint16_t{3}, "outbound Reads that the peer allows");
	Connection at_b = request->accept(b.qp, {.private_data = told});
	at_a.established(patience);
	at_b.established(patience);
	require(at_a.info().private_data.size() >= told.size() &&
			std::equal(told.begin(), told.end(), at_a.info().private_data.begin()),
		"private data of the acceptance");
	again.qp.disconnect();
	require(at_a.closed(patience) && at_b.closed(patience), "the end of both");
}

void accepting_side_speaks_first(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Memory from{b.pd, 8};
	const Memory to{a.pd, 8};
	const Listener listener{world.b.context, world.b.address};

	a.qp.receive(1, to.region.slice());
	Connection at_a = Connection::connect(a.qp, listener.address());
	std::optional<ConnectionRequest> request = listener.wait(patience);
	require(request.has_value(), "no request");
	Connection at_b = request->accept(b.qp);
	at_b.established(patience);
	b.qp.send(2, from.region.slice());
	at_a.established(patience);
	same(a.received().length(), 8U, "octets received");
	(void)b.sent();
}

void nobody_listens(World &world)
{
	const Side side{world.a, {}};
	Connection connection = Connection::connect(side.qp, world.b.address.with_port(9));

	refused(ECONNREFUSED, "a port that nobody listens at",
		[&] { connection.established(patience); });
	/* an unanswered request is rejected by its destructor */
	const Side other{world.a, {}};
	const Listener listener{world.b.context, world.b.address};
	Connection waiting = Connection::connect(other.qp, listener.address());
	require(listener.wait(patience).has_value(), "no request");
	refused(ECONNREFUSED, "a request that was dropped", [&] { waiting.established(patience); });
	refused(EADDRINUSE, "a second listener", [&] {
		const Listener second{world.b.context, listener.address()};
	});
}

/*
 * When the end of an attempt is reported, the queue pair is free for the next one, although the
 * connection of the attempt still exists.
 */
void refused_and_tried_again(World &world)
{
	const Side a{world.a, {}};
	const Side b{world.b, {}};
	const Address nobody = world.b.address.with_port(9);
	const Listener listener{world.b.context, world.b.address};
	Connection attempt = Connection::connect(a.qp, nobody);

	for (unsigned int i = 0; i < 200; i++) {
		refused(ECONNREFUSED, "nobody listens", [&] { attempt.established(patience); });
		attempt = Connection::connect(a.qp, nobody);
	}
	refused(ECONNREFUSED, "nobody listens", [&] { attempt.established(patience); });
	attempt = Connection::connect(a.qp, listener.address());
	std::optional<ConnectionRequest> request = listener.wait(patience);
	require(request.has_value(), "no request");
	Connection at_b = request->accept(b.qp);
	attempt.established(patience);
	refused(EISCONN, "a connection beside it",
		[&] { (void)Connection::connect(a.qp, listener.address()); });
}

/* a command without a function in the library, and an unknown command */
void commands(World &world)
{
	krdma_usage usage{};

	usage.size = sizeof(usage);
	same(world.a.session.ri_syscall(KRDMA_IOC_USAGE, &usage), 0, "KRDMA_IOC_USAGE");
	same(usage.objects, world.a.session.usage().objects, "objects");
	same(world.a.session.ri_syscall(_IO(KRDMA_IOC_TYPE, 0xfe), &usage), ENOTTY, "no command");
}

} /* namespace */

const std::vector<Check> queue_checks = {
	{"shared_receives_and_limit", shared_receives_and_limit},
	{"shared_receives_refused", shared_receives_refused},
	{"completion_queue_sizes", completion_queue_sizes},
	{"moderation", moderation},
	{"full_queues", full_queues},
	{"callbacks_by_descriptor", callbacks_by_descriptor},
	{"solicited_events", solicited_events},
	{"queue_pair_events", queue_pair_events},
	{"event_handlers", event_handlers},
	{"queue_pair_rests", queue_pair_rests},
	{"times_of_completions", times_of_completions},
	{"private_data", private_data},
	{"accepting_side_speaks_first", accepting_side_speaks_first},
	{"nobody_listens", nobody_listens},
	{"refused_and_tried_again", refused_and_tried_again},
	{"commands", commands},
};

} /* namespace ual */
