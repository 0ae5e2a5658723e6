/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the programs over libkrdma share: hosts, memory, connected pairs, expectations. */
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "ual.hpp"

namespace ual {

void fail(const std::string &what, Where where)
{
	throw Failure{std::string{where.file} + ':' + std::to_string(where.line) + ": " + what};
}

void refused(int wanted, const char *what, const std::function<void()> &action, Where where)
{
	try {
		action();
	} catch (const std::system_error &error) {
		if (error.code() == std::error_code{wanted, std::generic_category()})
			return;
		fail(std::string{what} + ": " + error.what() + ", wanted " +
			     strerrorname_np(wanted),
		     where);
	}
	fail(std::string{what} + ": not refused", where);
}

namespace {

/* the network namespace in which the program was started */
int home()
{
	static const int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd;
}

Session open_in(const char *netns)
{
	enter(netns);
	return Session{};
}

} /* namespace */

void enter(const char *netns)
{
	const int fd =
		netns ? open((std::string{"/run/netns/"} + netns).c_str(), O_RDONLY | O_CLOEXEC)
		      : dup(home());
	const int err = home() < 0 || fd < 0 || setns(fd, CLONE_NEWNET) ? errno : 0;

	close(fd);
	if (err)
		throw std::system_error{err, std::generic_category(), netns ? netns : "netns"};
}

Host::Host(const char *netns, const char *ip, ContextOptions options)
	: session{open_in(netns)}, address{Address::parse(ip)}, context{session.find_local(address),
									options}
{}

Memory::Memory(const ProtectionDomain &pd, std::size_t size, std::uint32_t access, std::byte fill)
	: octets(size, fill), region{pd, octets, access}
{}

Side::Side(const Host &host, const SideOptions &options)
	: pd{options.pd ? *options.pd : ProtectionDomain{host.context}},
	  sends{host.context, {.depth = options.depth}}, receives{host.context,
								  {.depth = options.depth,
								   .event_handler =
									   options.event_handler,
								   .times = options.times}},
	  qp{pd, sends, receives, options.qp}
{}

Completion Side::next(const CompletionQueue &cq, Where where)
{
	const std::optional<Completion> done = cq.wait(patience);

	if (!done)
		fail("no completion", where);
	return *done;
}

namespace {

Completion expect(const CompletionQueue &cq, Status status, Where where)
{
	const Completion done = Side::next(cq, where);

	if (done.status() != status)
		fail("request " + std::to_string(done.id()) + ": " +
			     std::string{done.status_text()} + ", wanted " + as_text(status),
		     where);
	return done;
}

} /* namespace */

Completion Side::sent(Status status, Where where) const
{
	return expect(sends, status, where);
}

Completion Side::received(Status status, Where where) const
{
	return expect(receives, status, where);
}

void Side::wait_for_state(QueueState state, Where where) const
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (qp.query().state != static_cast<std::uint32_t>(state)) {
		if (std::chrono::steady_clock::now() > end)
			fail("state " + std::to_string(qp.query().state), where);
		usleep(1000);
	}
}

Pair::Pair(const World &world, const SideOptions &of_a, const SideOptions &of_b)
	: a{world.a, of_a}, b{world.b, of_b}
{
	const Listener listener{world.b.context, world.b.address};

	at_a_ = std::make_unique<Connection>(Connection::connect(a.qp, listener.address()));
	std::optional<ConnectionRequest> request = listener.wait(patience);
	if (!request)
		fail("no request");
	at_b_ = std::make_unique<Connection>(request->accept(b.qp));
	at_a_->established(patience);
	/* the accepting side may not send before the other side */
	a.qp.write(0, std::span<const Slice>{}, {0, 0});
	(void)a.sent();
	at_b_->established(patience);
}

void Pair::refuses_read(Remote from, Where where) const
{
	const Memory local{a.pd, 8, access::local_write, std::byte{0x11}};

	a.qp.read(7, local.region.slice(), from);
	(void)a.sent(Status::remote_access_error, where);
	a.wait_for_state(QueueState::error, where);
	b.wait_for_state(QueueState::error, where);
	require(local.is_all(std::byte{0x11}, 0, 8), "a refused Read brought data", where);
}

void Pair::refuses_write(Remote to, Where where) const
{
	const Memory local{a.pd, 8, 0, std::byte{0x11}};

	a.qp.write(7, local.region.slice(), to);
	a.wait_for_state(QueueState::error, where);
	b.wait_for_state(QueueState::error, where);
}

void reaches(const Pair &pair, Remote there, std::size_t length, std::byte value, Where where)
{
	const Memory from{pair.a.pd, length, 0, value};
	const Memory to{pair.a.pd, length, access::local_write};

	pair.a.qp.write(1, from.region.slice(), there, {.signaled = false});
	pair.a.qp.read(2, to.region.slice(), there);
	(void)pair.a.sent(Status::success, where);
	require(to.is_all(value, 0, length), "what was written and read back", where);
}

} /* namespace ual */
