// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_chardev ADDRESS: checks of /dev/krdma with its ABI alone.
 * krdma_chardev -v ADDRESS: traffic with all kinds of objects, until the program is killed.
 * krdma_chardev -p ADDRESS: private data of all lengths, with the MPA revision in use.
 * krdma_chardev -r ADDRESS: waits until its RNIC is gone, and checks what is left.
 * krdma_chardev -e ADDRESS: prints the codes of a context's asynchronous events, one a line,
 *	until the program is killed. If a read fails for want of memory, it is repeated.
 * krdma_chardev -c ADDRESS: after a line of input, makes up to 4096 requests, rejects and keeps
 *	them. The next line ends the program.
 * krdma_chardev -i ADDRESS: until the program is killed, eight threads of the SCHED_IDLE class
 *	connect to themselves on the last CPU, on which another thread computes.
 * krdma_chardev -l ADDRESS: connects to itself for ten seconds, and prints the longest time of a
 *	connection in ms.
 * krdma_chardev -t ADDRESS: closes files with few and with many endpoints, and checks that the time
 *	for each endpoint is about the same.
 * krdma_chardev -m ADDRESS: makes as many PDs as the RNIC has, and one more.
 *
 * ADDRESS belongs to an RNIC of this namespace.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <sched.h>
#include <unistd.h>

#include "chardev.hpp"

namespace {

using namespace chardev;

constexpr std::uint32_t rights =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

int run_checks(const char *address)
{
	int passed = 0, failed = 0;

	for (const auto *checks :
	     {&error_checks, &cause_checks, &data_checks, &conn_checks, &shared_checks}) {
		for (const Check &check : *checks) {
			try {
				check.run(address);
				passed++;
				std::printf("ok: %s\n", check.name);
			} catch (const std::exception &e) {
				failed++;
				std::printf("failed: %s: %s\n", check.name, e.what());
			}
			std::fflush(stdout);
		}
	}
	std::printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}

void victim(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const Ends ends{file, ctx, address};
	const krdma_listen listener = make_listener(file, ctx, address);
	Memory from{file, ctx.pd, 1 << 20, rights}, to{file, ctx.pd, 1 << 20, rights};
	const std::array out{from.sge(0, 1 << 20)};

	/* a request that is never answered */
	start_connect(file, make_qp(file, ctx).handle, listener.local);
	std::puts("ready");
	std::fflush(stdout);
	for (;;) {
		const krdma_wr wr{.opcode = IB_UVERBS_WR_RDMA_WRITE,
				  .flags = KRDMA_SEND_SIGNALED,
				  .remote_addr = to.address(),
				  .rkey = to.stag()};

		require_errno(post_send(file, ends.client.handle, wr, out), 0, "POST_SEND");
		rdma::require_eq(next_wc(file, ctx.cq).status, 0U, "Write");
	}
}

void removal(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const Ends ends{file, ctx, address};
	const krdma_listen listener = make_listener(file, ctx, address);
	const Memory memory{file, ctx.pd, 1 << 20, rights};
	const auto objects = file.usage().objects;

	std::puts("ready");
	std::fflush(stdout);
	bool fatal = false;
	int closed = 0;

	while (!fatal || closed < 2) {
		const auto event = file.next(rdma::patience);

		rdma::require(event.has_value(), "events of the RNIC's end");
		closed += event->base().type == KRDMA_EVENT_CLOSED;
		if (event->base().type == KRDMA_EVENT_ASYNC &&
		    event->base().handle == ctx.context &&
		    event->base().code == IBV_EVENT_DEVICE_FATAL) {
			rdma::require_eq(event->base().cookie, std::uint64_t{0xc0}, "cookie");
			fatal = true;
		}
	}
	rdma::require_eq(file.usage().objects, objects, "numbers stay");
	const auto gone = [&file](unsigned long number, auto cmd, std::uint32_t handle,
				  const char *what) {
		refused(file, number, cmd, ENODEV, KRDMA_CAUSE_RNIC_REMOVED, KRDMA_UNIT_HANDLE,
			handle, what);
	};

	gone(KRDMA_IOC_CQ_POLL, krdma_cq_poll{.handle = ctx.cq}, ctx.cq, "CQ");
	gone(KRDMA_IOC_PD, krdma_pd{.context = ctx.context}, ctx.context, "context");
	gone(KRDMA_IOC_QP_QUERY, krdma_qp_attr{.handle = ends.client.handle}, ends.client.handle,
	     "QP");
	gone(KRDMA_IOC_LISTEN,
	     krdma_listen{.context = ctx.context, .local = parse_address(address)}, ctx.context,
	     "LISTEN");
	refused(file, KRDMA_IOC_RNIC_QUERY, krdma_rnic_query{.index = ctx.index}, ENODEV,
		KRDMA_CAUSE_NO_RNIC, KRDMA_UNIT_RNIC, ctx.index, "RNIC");
	require_errno(file.try_destroy(ctx.pd), EBUSY, "what others need");
	for (const std::uint32_t handle :
	     {listener.handle, ends.client_conn, ends.server_conn, ends.client.handle,
	      ends.server.handle, memory.handle(), ctx.cq, ctx.pd, ctx.context})
		file.destroy(handle);
	rdma::require_eq(file.usage().objects, 0U, "objects");
	file.expect_nothing();
}

/* a record that can be read now */
bool print_event(const File &file)
{
	krdma_event event{};
	const ssize_t n = ::read(file.fd(), &event, sizeof(event));

	if (n < 0 && errno == ENOMEM)
		return false;
	if (n < 0)
		rdma::fail_errno("read", errno);
	rdma::require_eq(n, ssize_t{sizeof(event)}, "octets of the event");
	rdma::require_eq(event.type, std::uint32_t{KRDMA_EVENT_ASYNC}, "type of the event");
	std::printf("event %u\n", event.code);
	std::fflush(stdout);
	return true;
}

[[noreturn]] void print_events(const char *address)
{
	const File file;
	const Context ctx{file, address};

	std::puts("ready");
	std::fflush(stdout);
	for (;;)
		if (!print_event(file))
			std::this_thread::sleep_for(std::chrono::milliseconds{50});
}

/* All PDs that the RNIC has, and one more. The other kinds are counted by the same function. */
void most_objects(const char *address)
{
	const File file;
	const Context ctx{file, address};
	const std::uint64_t most = query(file, ctx.index).max_pd;
	krdma_pd cmd{.context = ctx.context};
	int err = 0;

	for (std::uint64_t i = 0; i <= most && err == 0; i++)
		err = file.try_call(KRDMA_IOC_PD, cmd);
	require_errno(err, ENOMEM, "more PDs than the RNIC has");
	refused(file, KRDMA_IOC_PD, krdma_pd{.context = ctx.context}, ENOMEM, KRDMA_CAUSE_MAX_PD,
		KRDMA_UNIT_COUNT, most, "one more PD");
}

void await_line()
{
	for (int c = 0; c != '\n' && c != EOF;)
		c = std::getchar();
}

bool line_waits()
{
	pollfd input{STDIN_FILENO, POLLIN, 0};

	return ::poll(&input, 1, 0) == 1;
}

void keep_rejected(const char *address)
{
	/* opened after the line of input: the memory cgroup of that time counts */
	await_line();
	const File server, client;
	const Context ctx{server, address}, client_ctx{client, address};
	const krdma_listen listener = make_listener(server, ctx, address);
	const krdma_qp qp = make_qp(client, client_ctx);

	for (int i = 0; i < 4096 && !line_waits(); i++) {
		const krdma_conn conn = start_connect(client, qp.handle, listener.local);
		krdma_conn reject{};

		reject.handle = server.expect(KRDMA_EVENT_CONN_REQUEST).conn().conn;
		server.call(KRDMA_IOC_REJECT, reject);
		client.expect(KRDMA_EVENT_CONN_REPLY);
		client.destroy(conn.handle);
	}
	await_line();
}

/*
 * Connect to itself again and again with the same queue pairs. New objects would wait for
 * rdmacg_mutex, which the whole host shares.
 */
class Connections {
public:
	explicit Connections(const char *address)
		: ctx_{file_, address}, listener_{make_listener(file_, ctx_, address)},
		  client_{make_qp(file_, ctx_)}, server_{make_qp(file_, ctx_)}
	{}

	/* from connecting to the end, like a program that cleans up */
	void next() const
	{
		const Ends ends{file_, client_, server_, listener_};
		krdma_disconnect end{.qp = client_.handle, .abrupt = 1};

		file_.call(KRDMA_IOC_DISCONNECT, end);
		for (int i = 0; i < 2; i++)
			file_.expect(KRDMA_EVENT_CLOSED);
		for (const std::uint32_t handle : {ends.client_conn, ends.server_conn})
			file_.destroy(handle);
		for (const std::uint32_t handle : {client_.handle, server_.handle}) {
			krdma_qp_attr reset{
				.handle = handle, .mask = 1, .state = KRDMA_QP_STATE_RESET};

			file_.call(KRDMA_IOC_QP_MODIFY, reset);
		}
	}

private:
	File file_;
	Context ctx_;
	krdma_listen listener_;
	krdma_qp client_;
	krdma_qp server_;
};

void stay_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (::sched_setaffinity(0, sizeof(set), &set))
		rdma::fail_errno("sched_setaffinity", errno);
}

void stay_on_last_cpu()
{
	stay_on_cpu(static_cast<int>(std::thread::hardware_concurrency()) - 1);
}

void become_idle()
{
	const sched_param param{};

	if (::sched_setscheduler(0, SCHED_IDLE, &param))
		rdma::fail_errno("sched_setscheduler", errno);
	stay_on_last_cpu();
}

[[noreturn]] void starve(const char *address)
{
	std::thread{[] {
		stay_on_last_cpu();
		for (;;)
			asm volatile("");
	}}.detach();
	for (int i = 0; i < 8; i++)
		std::thread{[address] {
			const Connections connections{address};

			connections.next();
			std::puts("ready");
			std::fflush(stdout);
			become_idle();
			for (;;)
				connections.next();
		}}.detach();
	for (;;)
		::pause();
}

void longest_connect(const char *address)
{
	using Clock = std::chrono::steady_clock;
	const Connections connections{address};
	Clock::duration longest{};
	int count = 0;

	stay_on_cpu(0);
	for (const auto end = Clock::now() + std::chrono::seconds{10}; Clock::now() < end;
	     count++) {
		const auto begin = Clock::now();

		connections.next();
		longest = std::max(longest, Clock::now() - begin);
	}
	std::printf("%lld ms at most, %d connections\n",
		    static_cast<long long>(
			    std::chrono::duration_cast<std::chrono::milliseconds>(longest).count()),
		    count);
}

/* Close a file with so many endpoints. Return: microseconds for each endpoint. */
double time_of_end(const char *address, unsigned int count)
{
	using Clock = std::chrono::steady_clock;
	auto file = std::make_unique<File>();
	const Context ctx{*file, address};

	for (unsigned int i = 0; i < count; i++)
		make_listener(*file, ctx, address);
	const auto begin = Clock::now();
	file.reset();
	return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / count;
}

/* the median of three */
double usual_time_of_end(const char *address, unsigned int count)
{
	std::array times{time_of_end(address, count), time_of_end(address, count),
			 time_of_end(address, count)};

	std::ranges::sort(times);
	return times[1];
}

void ends_of_files(const char *address)
{
	constexpr unsigned int few = 500, many = 4000;
	const double each_of_few = usual_time_of_end(address, few);
	const double each_of_many = usual_time_of_end(address, many);

	std::printf("%.1f us each of %u endpoints, %.1f us each of %u\n", each_of_few, few,
		    each_of_many, many);
	rdma::require(each_of_many < 4 * each_of_few, "a file's end is linear in its endpoints");
}

} /* namespace */

int main(int argc, char **argv)
{
	const bool mode = argc == 3 && argv[1][0] == '-';

	if (argc != 2 && !mode) {
		std::fprintf(stderr,
			     "usage: %s [-p | -v | -r | -e | -c | -i | -l | -t | -m] ADDRESS\n",
			     argv[0]);
		return 2;
	}
	try {
		if (!mode)
			return run_checks(argv[1]);
		if (argv[1][1] == 'v')
			victim(argv[2]);
		else if (argv[1][1] == 'p')
			private_data(argv[2]);
		else if (argv[1][1] == 'e')
			print_events(argv[2]);
		else if (argv[1][1] == 'c')
			keep_rejected(argv[2]);
		else if (argv[1][1] == 'i')
			starve(argv[2]);
		else if (argv[1][1] == 'l')
			longest_connect(argv[2]);
		else if (argv[1][1] == 't')
			ends_of_files(argv[2]);
		else if (argv[1][1] == 'm')
			most_objects(argv[2]);
		else
			removal(argv[2]);
		return 0;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "failed: %s\n", e.what());
		return 1;
	}
}
