/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Completion queues, shared receive queues and queue pairs. Calls go through the user library
 * or through the kernel.
 */
#include "state.hpp"

#include <array>

namespace krdma {
namespace detail {
namespace {

using UserPost = int (*)(void *queue, const krdma_wr *wrs, __u32 count, __u32 *done);

/*
 * Post requests to a queue pair or shared receive queue: with the function of the user library
 * if the queue belongs to it, else with the command. Return: number of posted requests.
 */
template <typename Queue>
std::size_t post(const Queue &queue, std::uint32_t handle, UserPost krdma_uvp_ops::*function,
		 unsigned long number, std::span<const krdma_wr> requests, int &err) noexcept
{
	const auto count = static_cast<std::uint32_t>(requests.size());
	auto cmd = make_command<krdma_post>();
	std::uint32_t done = 0;

	err = 0;
	/* a command without requests would be a doorbell */
	if (requests.empty())
		return 0;
	if (queue.user) {
		err = queue.context->cause(
			(queue.context->uvp.*function)(queue.user, requests.data(), count, &done));
		return done;
	}
	cmd.handle = handle;
	do {
		/* a signal ends a command between two requests */
		cmd.count = count - done;
		cmd.wrs = reinterpret_cast<std::uintptr_t>(requests.data() + done);
		cmd.done = 0;
		err = queue.core.try_command(number, &cmd);
		done += cmd.done;
	} while (err == EINTR && done < count);
	return done;
}

/* Throw the errno of a request that was not posted to a queue with room for @most. */
[[noreturn]] void throw_post(const std::error_code &error, const char *what, std::uint32_t most)
{
	const int err = error.value();

	throw Error{err, what,
		    err == ENOMEM ? refusal(err, KRDMA_CAUSE_QUEUE_FULL, KRDMA_UNIT_COUNT, most)
				  : krdma_error{}};
}

krdma_wr receive_request(std::uint64_t id, Slices slices) noexcept
{
	krdma_wr wr{};

	wr.wr_id = id;
	wr.sges = reinterpret_cast<std::uintptr_t>(slices.data());
	wr.num_sge = static_cast<std::uint32_t>(slices.size());
	return wr;
}

} /* namespace */

CqState::CqState(const Context &owner, const CompletionQueueOptions &options)
	: Source{owner.state()}
{
	auto cmd = make_command<krdma_cq>();

	cmd.context = context->handle.value();
	cmd.depth = options.depth;
	cmd.ceh = options.event_handler;
	cmd.cookie = mailbox->cookie();
	cmd.flags = options.times ? KRDMA_CQ_TIMES : 0;
	times = options.times;
	if (times && !(context->fast() && context->uvp.cq_poll_times))
		throw Error{EOPNOTSUPP, "times of completions",
			    refusal(EOPNOTSUPP, KRDMA_CAUSE_NO_VERB)};
	if (context->fast()) {
		through_library([&] { return context->uvp.cq_create(context->user, &cmd, &user); },
				"completion queue");
	} else {
		core.command(KRDMA_IOC_CQ, cmd, "completion queue");
		handle = Handle{context->core, cmd.handle};
	}
	number = cmd.handle;
	depth = cmd.depth;
}

CqState::~CqState()
{
	if (user && !core.forked())
		context->uvp.cq_destroy(user);
}

std::int64_t CqState::poll(std::span<krdma_wc> to)
{
	const std::size_t room = std::min<std::size_t>(to.size(), INT32_MAX);

	if (user) {
		const int got = context->uvp.cq_poll(user, to.data(), static_cast<int>(room));

		return got < 0 ? -context->cause(-got) : got;
	}
	auto cmd = make_command<krdma_cq_poll>();
	cmd.handle = number;
	cmd.count = static_cast<std::uint32_t>(room);
	cmd.entries = reinterpret_cast<std::uintptr_t>(to.data());
	if (const int err = core.try_command(KRDMA_IOC_CQ_POLL, &cmd)) [[unlikely]]
		return -err;
	return static_cast<std::int64_t>(std::min<std::size_t>(cmd.count, room));
}

int CqState::arm(bool solicited_only, bool &missed)
{
	std::uint32_t any = 0;

	if (user) {
		const int err = context->cause(context->uvp.cq_notify(user, solicited_only, &any));

		missed = any;
		return err;
	}
	auto cmd = make_command<krdma_cq_notify>();
	cmd.handle = number;
	cmd.solicited = solicited_only;
	const int err = core.try_command(KRDMA_IOC_CQ_NOTIFY, &cmd);
	missed = cmd.missed;
	return err;
}

int CqState::drain(const std::function<void(std::span<const Completion>)> &taken)
{
	std::array<Completion, 32> some;
	bool armed = false;

	for (;;) {
		const std::int64_t got =
			poll({reinterpret_cast<krdma_wc *>(some.data()), some.size()});

		if (got < 0)
			return static_cast<int>(-got);
		if (got > 0) {
			taken(std::span<const Completion>{some}.first(
				static_cast<std::size_t>(got)));
			continue;
		}
		/* what came before the queue was armed raises no event: look once more */
		if (armed)
			return 0;
		bool missed = false;
		if (const int err = arm(false, missed))
			return err;
		armed = true;
	}
}

void CqState::pretend_event()
{
	std::vector<Event> dropped;
	const std::lock_guard guard{core.lock};

	mailbox->put({KRDMA_EVENT_COMPLETION, number, 0, 0, mailbox->cookie(), {}, {}}, dropped);
}

Past CqState::past()
{
	const std::lock_guard guard{core.lock};

	return mailbox->past();
}

/* One event wakes all threads that wait. Each thread then polls the queue. */
Past CqState::next(std::chrono::milliseconds timeout, const Past &seen)
{
	Past now;

	(void)mailbox->wait_until(timeout, [&] {
		while (mailbox->take(KRDMA_EVENT_COMPLETION))
			;
		(void)mailbox->take(KRDMA_EVENT_OVERFLOW);
		now = mailbox->past();
		return now.completions != seen.completions || now.failed;
	});
	return now;
}

SrqState::SrqState(const ProtectionDomain &domain, const ReceiveQueueOptions &options)
	: Source{domain.state()->context}, pd{domain.state()}
{
	auto cmd = make_command<krdma_srq>();

	cmd.pd = pd->number;
	cmd.max_wr = options.max_wr;
	cmd.max_sge = options.max_sge;
	cmd.limit = options.limit;
	cmd.cookie = mailbox->cookie();
	if (context->fast()) {
		through_library(
			[&] {
				return context->uvp.srq_create
					       ? context->uvp.srq_create(context->user, &cmd, &user)
					       : EOPNOTSUPP;
			},
			"shared receive queue");
	} else {
		core.command(KRDMA_IOC_SRQ, cmd, "shared receive queue");
		handle = Handle{context->core, cmd.handle};
	}
	number = cmd.handle;
}

SrqState::~SrqState()
{
	if (user && !core.forked())
		context->uvp.srq_destroy(user);
	handle.reset();
}

QpState::QpState(const ProtectionDomain &domain, const CompletionQueue &send,
		 const CompletionQueue &receive, const QueuePairOptions &options)
	: Source{domain.state()->context}, pd{domain.state()}, send_cq{send.state()},
	  recv_cq{receive.state()}, granted{options}
{
	auto cmd = make_command<krdma_qp>();

	/* a user library does not check its pointers */
	if (send_cq->context != context || recv_cq->context != context)
		throw_other_context("queue pair");
	if (options.receives) {
		srq = options.receives->state();
		if (srq->context != context)
			throw_other_context("queue pair");
	}
	granted.receives = nullptr;
	cmd.pd = pd->number;
	cmd.send_cq = send_cq->number;
	cmd.recv_cq = recv_cq->number;
	cmd.srq = srq ? srq->number : 0;
	cmd.flags = options.signal_all ? KRDMA_QP_SIGNAL_ALL : 0;
	cmd.max_send_wr = options.max_send_wr;
	cmd.max_recv_wr = srq ? 0 : options.max_recv_wr;
	cmd.max_send_sge = options.max_send_sge;
	cmd.max_recv_sge = srq ? 0 : options.max_recv_sge;
	cmd.max_inline = options.max_inline;
	cmd.cookie = mailbox->cookie();
	if (context->fast()) {
		through_library(
			[&] {
				return context->uvp.qp_create(context->user, &cmd, send_cq->user,
							      recv_cq->user,
							      srq ? srq->user : nullptr, &user);
			},
			"queue pair");
	} else {
		core.command(KRDMA_IOC_QP, cmd, "queue pair");
		handle = Handle{context->core, cmd.handle};
	}
	number = cmd.number;
	id = cmd.handle;
	granted.max_send_wr = cmd.max_send_wr;
	granted.max_recv_wr = cmd.max_recv_wr;
	granted.max_send_sge = cmd.max_send_sge;
	granted.max_recv_sge = cmd.max_recv_sge;
	granted.max_inline = cmd.max_inline;
}

QpState::~QpState()
{
	if (user && !core.forked())
		context->uvp.qp_destroy(user);
	handle.reset();
}

} /* namespace detail */

using detail::check;

std::string_view Completion::status_text() const noexcept
{
	/* enum krdma_status */
	static constexpr std::array<std::string_view, 22> names = {
		"success",
		"local length error",
		"local queue pair operation error",
		"local EE context operation error",
		"local protection error",
		"flushed",
		"memory window bind error",
		"bad response",
		"local access error",
		"remote invalid request",
		"remote access error",
		"remote operation error",
		"transport retries exceeded",
		"receiver not ready",
		"local RDD violation",
		"remote invalid RD request",
		"remote abort",
		"invalid EE context number",
		"invalid EE context state",
		"fatal error",
		"response time-out",
		"general error",
	};

	return raw_.status < names.size() ? names[raw_.status] : "unknown status";
}

CompletionQueue::CompletionQueue(const Context &context, CompletionQueueOptions options)
	: state_{std::make_shared<detail::CqState>(context, options)}
{}

std::span<Completion> CompletionQueue::poll(std::span<Completion> to) const
{
	const std::int64_t got = state_->poll({reinterpret_cast<krdma_wc *>(to.data()), to.size()});

	if (got < 0) [[unlikely]]
		detail::throw_errno(static_cast<int>(-got), "poll");
	return to.first(static_cast<std::size_t>(got));
}

std::span<Completion> CompletionQueue::poll(std::span<Completion> to,
					    std::span<CompletionTime> times) const
{
	const std::size_t room = std::min({to.size(), times.size(), std::size_t{INT32_MAX}});

	if (!state_->times)
		detail::throw_errno(EINVAL, "a queue without times");
	const int got = state_->context->uvp.cq_poll_times(state_->user,
							   reinterpret_cast<krdma_wc *>(to.data()),
							   times.data(), static_cast<int>(room));
	if (got < 0) [[unlikely]]
		detail::throw_errno(state_->context->cause(-got), "poll");
	return to.first(static_cast<std::size_t>(got));
}

bool CompletionQueue::arm(bool solicited_only) const
{
	bool missed = false;

	check(state_->arm(solicited_only, missed), "arm");
	return missed;
}

void CompletionQueue::on_completion(std::function<void(std::span<const Completion>)> taken,
				    std::function<void(int)> failed) const
{
	if (!taken) {
		state_->events.on_event({});
		return;
	}
	/* the callback does not keep the queue */
	const std::weak_ptr<detail::CqState> weak{state_};
	auto ended = std::make_shared<bool>(false);
	/* completions that are there already raise no event: begin as with one */
	state_->pretend_event();
	state_->events.on_event(
		[weak, ended, taken = std::move(taken), failed = std::move(failed)](const Event &) {
			const std::shared_ptr<detail::CqState> cq = weak.lock();

			if (!cq || *ended)
				return;
			int err = cq->drain(taken);
			if (!err && cq->past().failed)
				err = EIO;
			if (!err)
				return;
			*ended = true;
			if (failed)
				failed(err);
		});
}

std::optional<Completion> CompletionQueue::wait(std::chrono::milliseconds timeout) const
{
	const bool limited = timeout >= std::chrono::milliseconds{0};
	const detail::Clock::time_point deadline = detail::deadline_in(timeout);
	std::chrono::milliseconds left = timeout;
	detail::Past seen = state_->past();
	Completion completion;

	for (;;) {
		if (!poll({&completion, 1}).empty())
			return completion;
		/* completions from before it was armed raise no event */
		arm();
		if (!poll({&completion, 1}).empty())
			return completion;
		if (seen.failed)
			detail::throw_errno(EIO, "completion queue");
		if (limited) {
			left = std::chrono::ceil<std::chrono::milliseconds>(deadline -
									    detail::Clock::now());
			if (left.count() <= 0)
				return std::nullopt;
		}
		seen = state_->next(left, seen);
	}
}

std::uint32_t CompletionQueue::depth() const noexcept
{
	return state_->depth;
}

void CompletionQueue::resize(std::uint32_t depth) const
{
	auto cmd = detail::make_command<krdma_cq_modify>();
	const std::lock_guard guard{state_->resizing};

	cmd.handle = state_->number;
	cmd.mask = KRDMA_CQ_DEPTH;
	cmd.depth = depth;
	if (state_->user)
		detail::through_library(
			[&] {
				return state_->context->uvp.cq_modify
					       ? state_->context->uvp.cq_modify(state_->user, &cmd)
					       : EOPNOTSUPP;
			},
			"resize");
	else
		state_->core.command(KRDMA_IOC_CQ_MODIFY, cmd, "resize");
	state_->depth = cmd.depth;
}

void CompletionQueue::moderate(std::uint16_t count, std::uint16_t period_us) const
{
	auto cmd = detail::make_command<krdma_cq_modify>();

	cmd.handle = state_->number;
	cmd.mask = KRDMA_CQ_MODERATION;
	cmd.count = count;
	cmd.period_us = period_us;
	state_->core.command(KRDMA_IOC_CQ_MODIFY, cmd, "moderation");
}

std::uint32_t CompletionQueue::handle() const noexcept
{
	return state_->number;
}

const EventSource &CompletionQueue::events() const noexcept
{
	return state_->events;
}

SharedReceiveQueue::SharedReceiveQueue(const ProtectionDomain &pd, ReceiveQueueOptions options)
	: state_{std::make_shared<detail::SrqState>(pd, options)}
{}

void SharedReceiveQueue::post(std::uint64_t id, Slices slices) const
{
	const krdma_wr wr = detail::receive_request(id, slices);
	std::error_code error;

	if (post({&wr, 1}, error) != 1) [[unlikely]]
		detail::throw_post(error, "post to shared receive queue", 0);
}

std::size_t SharedReceiveQueue::post(std::span<const krdma_wr> requests,
				     std::error_code &error) const noexcept
{
	int err = 0;
	const std::size_t posted = detail::post(*state_, state_->number, &krdma_uvp_ops::srq_post,
						KRDMA_IOC_POST_SRQ, requests, err);

	error.assign(err, std::generic_category());
	return posted;
}

std::uint32_t SharedReceiveQueue::handle() const noexcept
{
	return state_->number;
}

namespace {

void modify_srq(detail::SrqState &srq, krdma_srq_attr &cmd)
{
	cmd.handle = srq.number;
	if (srq.user && cmd.mask & KRDMA_SRQ_MAX_WR)
		detail::through_library(
			[&] {
				return srq.context->uvp.srq_modify
					       ? srq.context->uvp.srq_modify(srq.user, &cmd)
					       : EOPNOTSUPP;
			},
			"shared receive queue");
	else
		srq.core.command(KRDMA_IOC_SRQ_MODIFY, cmd, "shared receive queue");
}

} /* namespace */

void SharedReceiveQueue::resize(std::uint32_t max_wr) const
{
	auto cmd = detail::make_command<krdma_srq_attr>();

	cmd.mask = KRDMA_SRQ_MAX_WR;
	cmd.max_wr = max_wr;
	modify_srq(*state_, cmd);
}

void SharedReceiveQueue::set_limit(std::uint32_t limit) const
{
	auto cmd = detail::make_command<krdma_srq_attr>();

	cmd.mask = KRDMA_SRQ_LIMIT;
	cmd.limit = limit;
	modify_srq(*state_, cmd);
}

krdma_srq_attr SharedReceiveQueue::query() const
{
	auto cmd = detail::make_command<krdma_srq_attr>();

	cmd.handle = state_->number;
	state_->core.command(KRDMA_IOC_SRQ_QUERY, cmd, "shared receive queue");
	return cmd;
}

const EventSource &SharedReceiveQueue::events() const noexcept
{
	return state_->events;
}

QueuePair::QueuePair(const ProtectionDomain &pd, const CompletionQueue &send,
		     const CompletionQueue &receive, QueuePairOptions options)
	: state_{std::make_shared<detail::QpState>(pd, send, receive, options)}
{}

std::size_t QueuePair::post_send(std::span<const krdma_wr> requests,
				 std::error_code &error) const noexcept
{
	int err = 0;
	const std::size_t posted = detail::post(*state_, state_->id, &krdma_uvp_ops::post_send,
						KRDMA_IOC_POST_SEND, requests, err);

	error.assign(err, std::generic_category());
	return posted;
}

std::size_t QueuePair::post_receive(std::span<const krdma_wr> requests,
				    std::error_code &error) const noexcept
{
	int err = 0;
	const std::size_t posted = detail::post(*state_, state_->id, &krdma_uvp_ops::post_recv,
						KRDMA_IOC_POST_RECV, requests, err);

	error.assign(err, std::generic_category());
	return posted;
}

namespace {

krdma_wr request(krdma_wr_opcode operation, std::uint64_t id, Slices slices,
		 const SendOptions &options) noexcept
{
	krdma_wr wr = detail::receive_request(id, slices);

	wr.opcode = operation;
	wr.flags = (options.signaled ? KRDMA_SEND_SIGNALED : 0U) |
		   (options.solicited ? KRDMA_SEND_SOLICITED : 0U) |
		   (options.fence ? KRDMA_SEND_FENCE : 0U) |
		   (options.inline_data ? KRDMA_SEND_INLINE : 0U);
	return wr;
}

krdma_wr request(krdma_wr_opcode operation, std::uint64_t id, Slices slices,
		 const SendOptions &options, Remote remote) noexcept
{
	krdma_wr wr = request(operation, id, slices, options);

	wr.remote_addr = remote.address;
	wr.rkey = remote.stag;
	return wr;
}

void post_one(const QueuePair &qp, const krdma_wr &wr)
{
	std::error_code error;

	if (qp.post_send({&wr, 1}, error) != 1) [[unlikely]]
		detail::throw_post(error, "post send", qp.granted().max_send_wr);
}

} /* namespace */

void QueuePair::send(std::uint64_t id, Slices slices, SendOptions options) const
{
	post_one(*this, request(KRDMA_WR_SEND, id, slices, options));
}

namespace {

/* The address of inline data is only read. */
Slice inline_slice(std::span<const std::byte> data)
{
	if (data.size() > UINT32_MAX)
		throw Error{EINVAL, "inline data"};
	return {reinterpret_cast<std::uintptr_t>(data.data()),
		static_cast<std::uint32_t>(data.size()), 0};
}

} /* namespace */

void QueuePair::send_inline(std::uint64_t id, std::span<const std::byte> data,
			    SendOptions options) const
{
	options.inline_data = true;
	send(id, inline_slice(data), options);
}

void QueuePair::write_inline(std::uint64_t id, std::span<const std::byte> data, Remote to,
			     SendOptions options) const
{
	options.inline_data = true;
	write(id, inline_slice(data), to, options);
}

void QueuePair::send_immediate(std::uint64_t id, Slices slices, std::uint32_t immediate,
			       SendOptions options) const
{
	krdma_wr wr = request(KRDMA_WR_SEND_WITH_IMM, id, slices, options);

	wr.imm = htonl(immediate);
	post_one(*this, wr);
}

void QueuePair::send_invalidate(std::uint64_t id, Slices slices, std::uint32_t stag,
				SendOptions options) const
{
	krdma_wr wr = request(KRDMA_WR_SEND_WITH_INV, id, slices, options);

	wr.imm = stag;
	post_one(*this, wr);
}

void QueuePair::write(std::uint64_t id, Slices slices, Remote to, SendOptions options) const
{
	post_one(*this, request(KRDMA_WR_RDMA_WRITE, id, slices, options, to));
}

void QueuePair::write_immediate(std::uint64_t id, Slices slices, Remote to, std::uint32_t immediate,
				SendOptions options) const
{
	krdma_wr wr = request(KRDMA_WR_RDMA_WRITE_WITH_IMM, id, slices, options, to);

	wr.imm = htonl(immediate);
	post_one(*this, wr);
}

void QueuePair::read(std::uint64_t id, Slices slices, Remote from, SendOptions options) const
{
	post_one(*this, request(KRDMA_WR_RDMA_READ, id, slices, options, from));
}

void QueuePair::fetch_add(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t add,
			  SendOptions options) const
{
	krdma_wr wr = request(KRDMA_WR_ATOMIC_FETCH_AND_ADD, id, slice, options, at);

	wr.compare_add = add;
	post_one(*this, wr);
}

void QueuePair::compare_swap(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t compare,
			     std::uint64_t swap, SendOptions options) const
{
	krdma_wr wr = request(KRDMA_WR_ATOMIC_CMP_AND_SWP, id, slice, options, at);

	wr.compare_add = compare;
	wr.swap = swap;
	post_one(*this, wr);
}

void QueuePair::invalidate(std::uint64_t id, std::uint32_t stag, SendOptions options) const
{
	krdma_wr wr = request(KRDMA_WR_LOCAL_INV, id, {}, options);

	wr.imm = stag;
	post_one(*this, wr);
}

void QueuePair::bind(std::uint64_t id, const MemoryWindow &window, const MemoryRegion &region,
		     const Slice &part, std::uint32_t access, SendOptions options) const
{
	krdma_wr wr = request(KRDMA_WR_BIND_MW, id, {}, options);
	detail::MwState &bound = *window.state();
	std::shared_ptr<detail::MrState> next = region.state();

	/* their numbers may be numbers of another session */
	if (bound.pd->context != state()->pd->context || next->context != state()->pd->context)
		detail::throw_other_context("bind");
	/* each STag is used once, for the region that is posted with it */
	const std::lock_guard guard{bound.lock};

	wr.mw = window.handle();
	wr.rkey = bound.next_stag();
	wr.bind_addr = part.address;
	wr.bind_length = part.length;
	wr.bind_lkey = region.stag();
	wr.bind_access = access;
	post_one(*this, wr);
	bound.stag = wr.rkey;
	/*
	 * The previous region ends without the lock. The kernel keeps it until the request is
	 * done. If the request fails, the kernel keeps it until the next bind or the end of the
	 * window. Meanwhile it waits in the core's list.
	 */
	bound.region.swap(next);
}

void QueuePair::receive(std::uint64_t id, Slices slices) const
{
	const krdma_wr wr = detail::receive_request(id, slices);
	std::error_code error;

	if (post_receive({&wr, 1}, error) != 1) [[unlikely]]
		detail::throw_post(error, "post receive", state_->granted.max_recv_wr);
}

std::uint32_t QueuePair::number() const noexcept
{
	return state_->number;
}

std::uint32_t QueuePair::handle() const noexcept
{
	return state_->id;
}

const QueuePairOptions &QueuePair::granted() const noexcept
{
	return state_->granted;
}

krdma_qp_attr QueuePair::query() const
{
	auto cmd = detail::make_command<krdma_qp_attr>();

	cmd.handle = state_->id;
	state_->core.command(KRDMA_IOC_QP_QUERY, cmd, "queue pair");
	return cmd;
}

namespace {

void modify(const detail::QpState &qp, krdma_qp_attr &cmd)
{
	cmd.handle = qp.id;
	if (qp.user && qp.context->uvp.qp_modify)
		detail::through_library([&] { return qp.context->uvp.qp_modify(qp.user, &cmd); },
					"queue pair");
	else
		qp.core.command(KRDMA_IOC_QP_MODIFY, cmd, "queue pair");
}

} /* namespace */

void QueuePair::change_state(QueueState state) const
{
	auto cmd = detail::make_command<krdma_qp_attr>();

	cmd.mask = KRDMA_QP_STATE;
	cmd.state = static_cast<std::uint32_t>(state);
	modify(*state_, cmd);
}

void QueuePair::drain(bool event) const
{
	auto cmd = detail::make_command<krdma_qp_attr>();

	cmd.mask = KRDMA_QP_STATE | KRDMA_QP_SQD_NOTIFY;
	cmd.state = KRDMA_QP_STATE_SQD;
	cmd.sqd_notify = event;
	modify(*state_, cmd);
}

void QueuePair::resume() const
{
	change_state(QueueState::rts);
}

void QueuePair::change_access(std::uint32_t access) const
{
	auto cmd = detail::make_command<krdma_qp_attr>();

	cmd.handle = state_->id;
	cmd.mask = KRDMA_QP_ACCESS;
	cmd.access = access;
	state_->core.command(KRDMA_IOC_QP_MODIFY, cmd, "queue pair");
}

void QueuePair::disconnect(bool abrupt) const
{
	auto cmd = detail::make_command<krdma_disconnect>();

	cmd.qp = state_->id;
	cmd.abrupt = abrupt;
	state_->core.command(KRDMA_IOC_DISCONNECT, cmd, "disconnect");
}

const EventSource &QueuePair::events() const noexcept
{
	return state_->events;
}

} /* namespace krdma */
