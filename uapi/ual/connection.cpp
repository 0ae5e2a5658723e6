/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Connections and listeners. */
#include <algorithm>

#include "state.hpp"

namespace krdma {
namespace detail {

/* a connection, or the request for one */
class ConnectionState {
public:
	/* @scope: scope of the context, if it is known already */
	explicit ConnectionState(std::shared_ptr<Core> owner, std::shared_ptr<Scope> scope = {})
		: core{std::move(owner)}, mailbox{core->make_mailbox(std::move(scope))},
		  events{mailbox.get()}
	{}

	std::shared_ptr<Core> core;
	Inbox mailbox;
	EventSource events;
	std::mutex answering;        /* one accept() or reject() at a time */
	std::shared_ptr<QpState> qp; /* ends after the handle */
	Handle handle;
	ConnectionInfo asked{}; /* the request's details */

	/* 0 or an errno; ETIMEDOUT: the time is over */
	[[nodiscard]] int established(std::chrono::milliseconds timeout) const;
	[[nodiscard]] bool closed(std::chrono::milliseconds timeout) const;
	/* 0 or an errno; EINPROGRESS: the connection has not ended */
	[[nodiscard]] int close_status() const;
	[[nodiscard]] ConnectionInfo info() const;
};

int ConnectionState::established(std::chrono::milliseconds timeout) const
{
	int status = ETIMEDOUT;

	(void)mailbox->wait_until(timeout, [&] {
		const Past &past = mailbox->past();

		/*
		 * an established connection may have received messages before its end, so
		 * report it first
		 */
		const bool news = mailbox->take(KRDMA_EVENT_CONN_REPLY) ||
				  mailbox->take(KRDMA_EVENT_ESTABLISHED);

		if (past.closed && !news)
			status = *past.closed ? *past.closed : ECONNRESET;
		else if (past.made)
			status = past.made->status;
		else
			return false;
		return true;
	});
	return status;
}

bool ConnectionState::closed(std::chrono::milliseconds timeout) const
{
	return mailbox->wait_until(timeout, [&] {
		const Past &past = mailbox->past();

		/* a connection that was never established has no CLOSED event */
		if (past.made && past.made->status)
			return true;
		if (!past.closed)
			return false;
		(void)mailbox->take(KRDMA_EVENT_CLOSED);
		return true;
	});
}

int ConnectionState::close_status() const
{
	const std::lock_guard guard{core->lock};
	const Past &past = mailbox->past();

	if (past.closed)
		return *past.closed;
	if (past.made && past.made->status)
		return past.made->status;
	return mailbox->ended() ? ENODEV : EINPROGRESS;
}

ConnectionInfo ConnectionState::info() const
{
	ConnectionInfo known = asked;
	{
		const std::lock_guard guard{core->lock};

		if (const auto &made = mailbox->past().made)
			known = made->info;
	}
	known.handle = handle.value();
	return known;
}

class ListenerState : public Source {
public:
	explicit ListenerState(const Context &owner) : Source{owner.state()}
	{}

	Address address;
};

namespace {

[[noreturn]] void throw_answered(const char *what)
{
	throw Error{EINVAL, what, refusal(EINVAL, KRDMA_CAUSE_ANSWERED)};
}

krdma_conn connection_command(const ConnectionState &state, const QpState &qp,
			      const ConnectionOptions &options)
{
	auto cmd = make_command<krdma_conn>();

	cmd.qp = qp.id;
	cmd.ird = options.ird;
	cmd.ord = options.ord;
	if (options.tos) {
		cmd.flags |= KRDMA_CONN_TOS;
		cmd.tos = *options.tos;
	}
	cmd.private_data = reinterpret_cast<std::uintptr_t>(options.private_data.data());
	cmd.private_data_len = static_cast<std::uint32_t>(options.private_data.size());
	cmd.cookie = state.mailbox->cookie();
	return cmd;
}

/* at least one millisecond; 0: none was given */
std::uint32_t timeout_of(const ConnectionOptions &options)
{
	if (!options.timeout)
		return 0;
	return static_cast<std::uint32_t>(
		std::clamp<std::int64_t>(options.timeout->count(), 1, UINT32_MAX));
}

} /* namespace */
} /* namespace detail */

Connection Connection::connect(const QueuePair &qp, const Address &remote,
			       const ConnectionOptions &options)
{
	Connection connection;
	const detail::ContextState &context = *qp.state()->context;
	auto state = std::make_shared<detail::ConnectionState>(context.core, context.scope);

	state->qp = qp.state();
	auto cmd = detail::connection_command(*state, *state->qp, options);
	cmd.local = options.local.raw();
	cmd.remote = remote.raw();
	cmd.timeout_ms = detail::timeout_of(options);
	state->core->command(KRDMA_IOC_CONNECT, cmd, remote.to_string().c_str());
	state->handle = detail::Handle{state->core, cmd.handle};
	state->asked.remote = remote;
	state->asked.local = options.local;
	connection.state_ = std::move(state);
	return connection;
}

void Connection::established(std::chrono::milliseconds timeout)
{
	const int err = state_->established(timeout);

	if (!err)
		return;
	throw Error{err, state_->asked.remote.to_string(), krdma_error{},
		    err == ECONNREFUSED
			    ? "nobody listens there, the listener's backlog is full, or "
			      "the peer's program rejected"
			    : ""};
}

bool Connection::closed(std::chrono::milliseconds timeout)
{
	return state_->closed(timeout);
}

int Connection::close_status() const
{
	return state_->close_status();
}

ConnectionInfo Connection::info() const
{
	return state_->info();
}

const EventSource &Connection::events() const noexcept
{
	return state_->events;
}

std::uint32_t Connection::handle() const noexcept
{
	return state_->handle.value();
}

ConnectionRequest::ConnectionRequest(std::shared_ptr<detail::Core> core, ConnectionInfo info)
	: state_{std::make_shared<detail::ConnectionState>(std::move(core))}
{
	state_->handle = detail::Handle{state_->core, info.handle};
	state_->asked = std::move(info);
}

const ConnectionInfo &ConnectionRequest::info() const noexcept
{
	return state_->asked;
}

Connection ConnectionRequest::accept(const QueuePair &qp, const ConnectionOptions &options)
{
	Connection connection;
	auto cmd = detail::connection_command(*state_, *qp.state(), options);
	const std::lock_guard guard{state_->answering};

	/* its number may name another queue pair in this session */
	if (qp.state()->context->core != state_->core)
		detail::throw_other_context("accept");
	if (state_->qp)
		detail::throw_answered("accept");
	state_->mailbox->join(qp.state()->context->scope);
	cmd.handle = state_->handle.value();
	state_->core->command(KRDMA_IOC_ACCEPT, cmd, state_->asked.remote.to_string().c_str());
	state_->qp = qp.state();
	connection.state_ = state_;
	return connection;
}

void ConnectionRequest::reject(std::span<const std::byte> private_data)
{
	auto cmd = detail::make_command<krdma_conn>();
	const std::lock_guard guard{state_->answering};

	if (state_->qp)
		detail::throw_answered("reject");
	cmd.handle = state_->handle.value();
	cmd.private_data = reinterpret_cast<std::uintptr_t>(private_data.data());
	cmd.private_data_len = static_cast<std::uint32_t>(private_data.size());
	state_->core->command(KRDMA_IOC_REJECT, cmd, state_->asked.remote.to_string().c_str());
	state_->handle.reset();
}

Listener::Listener(const Context &context, const Address &local, ListenerOptions options)
	: state_{std::make_shared<detail::ListenerState>(context)}
{
	auto cmd = detail::make_command<krdma_listen>();

	cmd.context = context.state()->handle.value();
	cmd.backlog = options.backlog;
	cmd.flags = options.v6only ? KRDMA_LISTEN_V6ONLY : 0;
	if (options.tos) {
		cmd.flags |= KRDMA_CONN_TOS;
		cmd.tos = *options.tos;
	}
	cmd.cookie = state_->mailbox->cookie();
	cmd.local = local.raw();
	state_->core.command(KRDMA_IOC_LISTEN, cmd, local.to_string().c_str());
	state_->handle = detail::Handle{context.state()->core, cmd.handle};
	state_->address = Address{cmd.local};
}

const Address &Listener::address() const noexcept
{
	return state_->address;
}

std::optional<ConnectionRequest> Listener::wait(std::chrono::milliseconds timeout) const
{
	const detail::Clock::time_point deadline = detail::deadline_in(timeout);
	std::chrono::milliseconds left = timeout;

	for (;;) {
		const std::optional<Event> event = state_->events.wait(left);

		if (!event)
			return std::nullopt;
		if (const ConnectionInfo *info = event->connection())
			return ConnectionRequest{state_->context->core, *info};
		if (timeout >= std::chrono::milliseconds{0})
			left = std::max(std::chrono::milliseconds{0},
					std::chrono::ceil<std::chrono::milliseconds>(
						deadline - detail::Clock::now()));
	}
}

void Listener::on_request(std::function<void(ConnectionRequest)> callback) const
{
	if (!callback) {
		state_->events.on_event({});
		return;
	}
	state_->events.on_event(
		[core = state_->context->core, callback = std::move(callback)](const Event &event) {
			if (const ConnectionInfo *info = event.connection())
				callback(ConnectionRequest{core, *info});
		});
}

} /* namespace krdma */
