// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of /dev/krdma between processes and together with the host's sockets: lost events of
 * a slow reader, a descriptor that is passed to another process, pages that are registered
 * several times, reserved ports, and processes that are killed while a connection is set up.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chardev.hpp"
#include "descriptor.hpp"

namespace chardev {
namespace {

using namespace std::chrono_literals;

/** class Fd - a descriptor */
class Fd {
public:
	explicit Fd(int fd, const char *what = "descriptor") : fd_{fd}
	{
		if (fd < 0)
			rdma::fail_errno(what, errno);
	}
	~Fd()
	{
		::close(fd_);
	}
	Fd(const Fd &) = delete;
	Fd &operator=(const Fd &) = delete;
	Fd(Fd &&) = delete;
	Fd &operator=(Fd &&) = delete;

	[[nodiscard]] int get() const
	{
		return fd_;
	}

private:
	int fd_;
};

/* changes a parameter of krdma.ko until its end */
class Parameter {
public:
	Parameter(const char *name, const std::string &value)
		: fd_{::open((std::string{"/sys/module/krdma/parameters/"} + name).c_str(), O_RDWR),
		      name}
	{
		std::array<char, 32> old{};

		rdma::require(::read(fd_.get(), old.data(), old.size() - 1) > 0, name);
		old_ = old.data();
		write(value);
	}
	~Parameter()
	{
		(void)!::pwrite(fd_.get(), old_.data(), old_.size(), 0);
	}
	Parameter(const Parameter &) = delete;
	Parameter &operator=(const Parameter &) = delete;
	Parameter(Parameter &&) = delete;
	Parameter &operator=(Parameter &&) = delete;

private:
	void write(const std::string &value) const
	{
		rdma::require(::pwrite(fd_.get(), value.data(), value.size(), 0) ==
				      static_cast<ssize_t>(value.size()),
			      "a parameter is changed");
	}

	Fd fd_;
	std::string old_;
};

/** class Child - another process, and a socket to it that can pass a descriptor */
class Child {
public:
	/* @work gets its end of the socket */
	explicit Child(const std::function<void(int)> &work)
	{
		std::array<int, 2> ends{};

		rdma::must(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()),
			   "socketpair");
		pid_ = ::fork();
		rdma::require(pid_ >= 0, "fork");
		if (pid_ == 0) {
			::close(ends[0]);
			try {
				work(ends[1]);
			} catch (const std::exception &e) {
				::dprintf(2, "in the child: %s\n", e.what());
				::_exit(1);
			}
			::_exit(0);
		}
		::close(ends[1]);
		line_ = ends[0];
	}
	~Child()
	{
		if (pid_ > 0)
			kill();
		::close(line_);
	}
	Child(const Child &) = delete;
	Child &operator=(const Child &) = delete;
	Child(Child &&) = delete;
	Child &operator=(Child &&) = delete;

	[[nodiscard]] int line() const
	{
		return line_;
	}
	[[nodiscard]] pid_t pid() const
	{
		return pid_;
	}

	void kill()
	{
		::kill(pid_, SIGKILL);
		::waitpid(pid_, nullptr, 0);
		pid_ = -1;
	}

	void join()
	{
		int status = 0;

		rdma::require(::waitpid(pid_, &status, 0) == pid_, "waitpid");
		pid_ = -1;
		rdma::require_eq(status, 0, "the child's end");
	}

private:
	pid_t pid_ = -1;
	int line_ = -1;
};

template <typename T> void say(int line, const T &what)
{
	rdma::require(::send(line, &what, sizeof(what), MSG_NOSIGNAL) == sizeof(what), "send");
}

template <typename T> T hear(int line)
{
	T what{};
	const timeval limit{.tv_sec = rdma::patience.count(), .tv_usec = 0};

	rdma::must(::setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
		   "SO_RCVTIMEO");
	rdma::require(::recv(line, &what, sizeof(what), 0) == sizeof(what),
		      "the other process says something");
	return what;
}

void pass(int line, int fd)
{
	rdma::give_fd(line, char{}, fd);
}

int take(int line)
{
	char octet = 0;

	return rdma::take_fd(line, octet);
}

/* A slow reader ************************************************************ */

/* an alias of the loopback interface, whose address changes: events of the namespace */
class Alias {
public:
	Alias() : socket_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"}
	{}
	~Alias()
	{
		ifreq request = named();

		/* an alias is removed in this way */
		(void)::ioctl(socket_.get(), SIOCSIFFLAGS, &request);
	}
	Alias(const Alias &) = delete;
	Alias &operator=(const Alias &) = delete;
	Alias(Alias &&) = delete;
	Alias &operator=(Alias &&) = delete;

	void change() const
	{
		ifreq request = named();
		sockaddr_in to{};

		to.sin_family = AF_INET;
		to.sin_addr.s_addr = htonl(0xc0000200U + 1 + next_++ % 250);
		std::memcpy(&request.ifr_addr, &to, sizeof(to));
		rdma::must(::ioctl(socket_.get(), SIOCSIFADDR, &request), "SIOCSIFADDR");
	}

private:
	static ifreq named()
	{
		ifreq request{};

		std::strcpy(request.ifr_name, "lo:9");
		return request;
	}

	Fd socket_;
	mutable unsigned int next_ = 0;
};

struct Told {
	std::uint64_t net = 0;
	std::uint64_t lost = 0;
	unsigned int overflows = 0;
	std::vector<Event> others;
};

/* read all waiting records */
Told read_all(const File &file)
{
	Told told;

	while (auto event = file.next(0ms)) {
		if (event->base().type == KRDMA_EVENT_NET) {
			told.net++;
		} else if (event->base().type == KRDMA_EVENT_OVERFLOW) {
			told.lost += event->base().code;
			told.overflows++;
		} else {
			told.others.push_back(std::move(*event));
		}
	}
	return told;
}

bool has(const Told &told, std::uint32_t type, std::uint32_t handle)
{
	return std::ranges::count_if(told.others, [=](const Event &e) {
		       return e.base().type == type && e.base().handle == handle;
	       }) == 1;
}

/* Make so many changes of the alias. Return: the number of events that a fast reader gets. */
std::uint64_t change_all(const Alias &alias, const File &quick, int changes)
{
	std::uint64_t all = 0;

	for (int i = 0; i < changes; i++) {
		alias.change();
		const Told told = read_all(quick);

		rdma::require_eq(told.overflows, 0U, "a quick reader loses nothing");
		all += told.net;
	}
	return all;
}

void overflow(const char *address)
{
	constexpr std::uint32_t room = 8;
	const Parameter limit{"file_events", std::to_string(room)};
	const File quick, slow;
	const Context ctx{slow, address};
	const Alias alias;
	krdma_net_subscribe subscribe{.mask = KRDMA_NET_ADDRESS};

	quick.call(KRDMA_IOC_NET_SUBSCRIBE, subscribe);
	slow.call(KRDMA_IOC_NET_SUBSCRIBE, subscribe);
	rdma::require_eq(slow.usage().max_events, room, "limit");
	std::uint64_t all = change_all(alias, quick, 30);

	rdma::require(all > 2UL * room, "more events than there is room for");
	rdma::require_eq(slow.usage().events, room + 1, "records: bounded, and one of OVERFLOW");
	rdma::require_eq(slow.usage().lost_events, all - room, "lost events");

	/* events that must not be lost find room all the same */
	const krdma_listen listener = make_listener(slow, ctx, address);
	const krdma_qp server = make_qp(slow, ctx), client = make_qp(slow, ctx);
	krdma_cq_notify arm{.handle = ctx.cq};
	krdma_qp_attr error{.handle = server.handle, .mask = KRDMA_QP_STATE, .state = IBV_QPS_ERR};

	slow.call(KRDMA_IOC_CQ_NOTIFY, arm);
	rdma::must(post_recv(slow, KRDMA_IOC_POST_RECV, server.handle, 1, {}), "POST_RECV");
	slow.call(KRDMA_IOC_QP_MODIFY, error);
	const krdma_conn conn = start_connect(slow, client.handle, listener.local);

	all += change_all(alias, quick, 10);
	/* the request comes from a kernel thread */
	for (int i = 0; i < 500 && slow.usage().events < room + 3; i++)
		std::this_thread::sleep_for(20ms);
	Told told = read_all(slow);

	rdma::require_eq(told.net, std::uint64_t{room}, "the first ones are kept");
	rdma::require_eq(told.overflows, 1U, "records of OVERFLOW");
	rdma::require_eq(told.net + told.lost, all, "those that are told and those that are lost");
	rdma::require(has(told, KRDMA_EVENT_COMPLETION, ctx.cq), "the completion is told");
	rdma::require(has(told, KRDMA_EVENT_CONN_REQUEST, listener.handle), "and the request");
	slow.destroy(conn.handle);

	/* once more: OVERFLOW counts from the last OVERFLOW that was read */
	read_all(quick);
	all = change_all(alias, quick, 20);
	told = read_all(slow);
	rdma::require_eq(told.net + told.lost, all, "the same after it was read");
	rdma::require(told.lost > 0, "lost again");
	all = change_all(alias, quick, 1);
	told = read_all(slow);
	rdma::require_eq(told.net, all, "and then none");
	rdma::require_eq(told.overflows, 0U, "OVERFLOW when nothing was lost");
}

/* The link of an RNIC ******************************************************* */

/** class Link - the network device of an RNIC; the destructor sets it up again */
class Link {
public:
	Link(const File &file, const Context &ctx)
		: socket_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"}
	{
		std::memcpy(name_.data(), query(file, ctx.index).netdev, name_.size() - 1);
	}
	~Link()
	{
		ifreq request = named();

		request.ifr_flags = IFF_UP;
		(void)::ioctl(socket_.get(), SIOCSIFFLAGS, &request);
	}
	Link(const Link &) = delete;
	Link &operator=(const Link &) = delete;
	Link(Link &&) = delete;
	Link &operator=(Link &&) = delete;

	void set(bool up) const
	{
		ifreq request = named();

		request.ifr_flags = static_cast<short>(up ? IFF_UP : 0);
		rdma::must(::ioctl(socket_.get(), SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
	}

private:
	[[nodiscard]] ifreq named() const
	{
		ifreq request{};

		std::memcpy(request.ifr_name, name_.data(), name_.size());
		return request;
	}

	Fd socket_;
	std::array<char, IFNAMSIZ> name_{};
};

std::uint64_t monotonic_ns()
{
	timespec now{};

	rdma::must(::clock_gettime(CLOCK_MONOTONIC, &now), "clock_gettime");
	return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
	       static_cast<std::uint64_t>(now.tv_nsec);
}

/* Set the link and wait until a fast reader has the event. Return: the time before that. */
std::uint64_t set_link(const Link &link, const File &quick, bool up)
{
	const std::uint64_t begin = monotonic_ns();
	const std::uint32_t code = up ? KRDMA_ASYNC_PORT_ACTIVE : KRDMA_ASYNC_PORT_ERR;

	link.set(up);
	while (quick.expect(KRDMA_EVENT_ASYNC).base().code != code)
		;
	return begin;
}

/* The next event of the link must say @up, with a time of @begin or later. */
void expect_link(const File &slow, bool up, std::uint64_t begin, std::uint64_t end)
{
	const Event event = slow.expect(KRDMA_EVENT_ASYNC);

	rdma::require_eq(event.base().code,
			 std::uint32_t{up ? KRDMA_ASYNC_PORT_ACTIVE : KRDMA_ASYNC_PORT_ERR},
			 "the link's events in order");
	rdma::require(event.base().time_ns >= begin, "the time of this one, not of the one before");
	rdma::require(event.base().time_ns <= end, "nor of the one behind");
}

/* A late reader gets the last event last. */
void link_events(const char *address)
{
	/* the kernel serves the older open files first */
	const File slow, quick;
	const Context seen{quick, address}, late{slow, address};
	const Link link{quick, seen};
	std::uint64_t down = set_link(link, quick, false);
	std::uint64_t up = set_link(link, quick, true);

	expect_link(slow, false, down, up);
	expect_link(slow, true, up, monotonic_ns());
	slow.expect_nothing();

	/* a repeated event has one record, at the place of its last time */
	set_link(link, quick, false);
	up = set_link(link, quick, true);
	down = set_link(link, quick, false);
	expect_link(slow, true, up, down);
	expect_link(slow, false, down, monotonic_ns());
	slow.expect_nothing();
	up = set_link(link, quick, true);
	expect_link(slow, true, up, monotonic_ns());
}

/* A descriptor that is passed on ******************************************* */

/* VmPin of a process in kilobytes */
std::uint64_t pinned_kb(pid_t pid)
{
	const std::unique_ptr<FILE, int (*)(FILE *)> file{
		std::fopen(("/proc/" + std::to_string(pid) + "/status").c_str(), "r"),
		&std::fclose};
	std::array<char, 256> line{};
	unsigned long kb = 0;

	rdma::must(file.get(), "status");
	while (std::fgets(line.data(), line.size(), file.get()))
		if (std::sscanf(line.data(), "VmPin: %lu", &kb) == 1)
			return kb;
	rdma::fail("no VmPin");
}

constexpr std::size_t passed_size = 65536;

/* the place of the receiver's region */
struct Region {
	std::uint64_t address;
	std::uint32_t stag;
	std::uint32_t handle;
};

/* in another process, without privilege: use of a file that another user has opened */
void receiver(int line, const Context &ctx)
{
	const rlimit limit{.rlim_cur = 2 * passed_size, .rlim_max = 2 * passed_size};

	rdma::must(::setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
	rdma::must(::setuid(65534), "setuid");
	const File file{take(line)}, own;
	krdma_pd pd{.context = ctx.context};

	/* the passed descriptor reaches all its objects, a new one reaches none of them */
	require_errno(own.try_call(KRDMA_IOC_PD, pd), ENOENT, "another file's context");
	require_errno(own.try_destroy(ctx.cq), ENOENT, "another file's CQ");
	rdma::require_eq(own.usage().objects, 0U, "objects of its own");
	file.call(KRDMA_IOC_PD, pd);
	rdma::require_eq(file.usage().objects, 4U, "objects of the file");
	require_errno(file.try_destroy(ctx.context), EBUSY, "a context in use");

	std::vector<std::byte> large(4 * passed_size);
	krdma_mr mr{.pd = pd.handle};

	mr.start = reinterpret_cast<std::uintptr_t>(large.data());
	mr.length = large.size();
	require_errno(file.try_call(KRDMA_IOC_MR, mr), ENOMEM, "more than its own RLIMIT_MEMLOCK");
	rdma::require_eq(pinned_kb(::getpid()), std::uint64_t{0}, "pinned in vain");

	Memory memory{file, ctx.pd, passed_size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ};

	std::ranges::fill(memory.data(), std::byte{0x5a});
	rdma::require(pinned_kb(::getpid()) >= passed_size / 1024,
		      "counted where it is registered");
	file.destroy(pd.handle);
	say(line, Region{memory.address(), memory.stag(), memory.handle()});
	::pause();
}

void passed(const char *address)
{
	const File file;
	const Context ctx{file, address};
	Child child{[&ctx](int line) { receiver(line, ctx); }};

	pass(child.line(), file.fd());
	const auto region = hear<Region>(child.line());

	rdma::require_eq(pinned_kb(::getpid()), std::uint64_t{0}, "pinned by the other process");
	rdma::require(pinned_kb(child.pid()) >= passed_size / 1024, "there it is");
	rdma::require_eq(file.usage().objects, 4U, "the region is an object of the file");
	/*
	 * the end of the process changes nothing in the file: its region stays with its
	 * contents
	 */
	child.kill();
	rdma::require_eq(file.usage().objects, 4U, "objects when a user has gone");
	const Ends ends{file, ctx, address};
	Memory to{file, ctx.pd, passed_size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
	krdma_wr read{.opcode = IB_UVERBS_WR_RDMA_READ, .flags = KRDMA_SEND_SIGNALED};

	read.remote_addr = region.address;
	read.rkey = region.stag;
	require_errno(post_send(file, ends.client.handle, read, std::array{to.sge(0, passed_size)}),
		      0, "POST_SEND");
	rdma::require_eq(next_wc(file, ctx.cq).status, 0U, "RDMA Read");
	rdma::require(
		std::ranges::all_of(to.data(), [](std::byte b) { return b == std::byte{0x5a}; }),
		"memory of a process that is gone");
	file.destroy(region.handle);
}

/* the process that opened the file closes first: the other one keeps all objects */
void outlived(const char *address)
{
	auto file = std::make_unique<File>();
	const Context ctx{*file, address};
	const krdma_listen listener = make_listener(*file, ctx, address);
	Child child{[&](int line) {
		const File mine{take(line)};

		/* the copy that fork() made */
		file.reset();
		hear<char>(line);
		rdma::require_eq(mine.usage().objects, 4U, "objects without who made them");
		const krdma_qp qp = make_qp(mine, ctx);

		start_connect(mine, qp.handle, listener.local);
		mine.expect(KRDMA_EVENT_CONN_REQUEST);
	}};

	pass(child.line(), file->fd());
	file.reset();
	const File other;

	require_errno(other.try_destroy(ctx.context), ENOENT, "what another has now");
	say(child.line(), char{1});
	child.join();
	/* the last close frees the port */
	const Context again{other, address};
	krdma_listen same{.context = again.context, .local = listener.local};

	other.call(KRDMA_IOC_LISTEN, same);
}

/* Pages that are registered several times ********************************** */

constexpr std::size_t page = 4096;
constexpr std::size_t buffer_pages = 64, limit_pages = 72;

/** class Pages - mapped memory, and regions of it */
class Pages {
public:
	explicit Pages(std::size_t pages) : size_{pages * page}, at_{map(nullptr)}
	{}
	~Pages()
	{
		::munmap(at_, size_);
	}
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;
	Pages(Pages &&) = delete;
	Pages &operator=(Pages &&) = delete;

	/* other memory at the same address */
	void replace()
	{
		::munmap(at_, size_);
		rdma::require(map(at_) == at_, "the same address");
	}

	/* Register pages from @first. Return: 0 or the errno. */
	int try_pin(const File &file, std::uint32_t pd, std::size_t first, std::size_t count,
		    std::uint32_t &handle, std::uint32_t access = 0) const
	{
		krdma_mr cmd{.pd = pd, .access = access};

		cmd.start = reinterpret_cast<std::uintptr_t>(at_) + first * page;
		cmd.length = count * page;
		const int err = file.try_call(KRDMA_IOC_MR, cmd);

		handle = cmd.handle;
		return err;
	}

	std::uint32_t pin(const File &file, std::uint32_t pd, std::size_t first, std::size_t count,
			  std::uint32_t access = 0) const
	{
		std::uint32_t handle = 0;

		require_errno(try_pin(file, pd, first, count, handle, access), 0, "MR");
		return handle;
	}

private:
	void *map(void *at) const
	{
		void *got = ::mmap(at, size_, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

		rdma::require(got != MAP_FAILED, "mmap");
		std::memset(got, 0x77, size_);
		return got;
	}

	std::size_t size_;
	void *at_;
};

void pinned_are(std::size_t pages, const char *when)
{
	rdma::require_eq(pinned_kb(::getpid()), std::uint64_t{pages * page / 1024}, when);
}

/* an open file of another namespace's, whose RNIC is another one */
void enter(const char *netns)
{
	const Fd fd{::open(netns, O_RDONLY | O_CLOEXEC), netns};

	rdma::must(::setns(fd.get(), CLONE_NEWNET), "setns");
}

/* in a new process, without privilege */
void pin_by_two(const char *address)
{
	const File one;
	const Context first{one, address};

	enter("/run/netns/hostB");
	const File two;
	const Context second{two, "10.77.0.2"};
	const rlimit limit{.rlim_cur = limit_pages * page, .rlim_max = limit_pages * page};

	rdma::must(::setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
	rdma::must(::setuid(65534), "setuid");
	rdma::require(first.index != second.index, "two RNICs");

	Pages memory{2 * limit_pages};
	std::uint32_t none = 0;

	const std::uint32_t a = memory.pin(one, first.pd, 0, buffer_pages);

	pinned_are(buffer_pages, "by one RNIC");
	const std::uint32_t b = memory.pin(two, second.pd, 0, buffer_pages, IBV_ACCESS_LOCAL_WRITE);
	const std::uint32_t c = memory.pin(one, first.pd, 0, buffer_pages);

	pinned_are(buffer_pages, "by both, and twice by one");
	const std::uint32_t d = memory.pin(two, second.pd, 32, limit_pages - 32);

	pinned_are(limit_pages, "with a range that overlaps");
	require_errno(memory.try_pin(one, first.pd, 56, 24, none), ENOMEM, "beyond the limit");
	require_errno(memory.try_pin(one, first.pd, 0, limit_pages + 1, none), ENOMEM,
		      "larger than the limit");
	pinned_are(limit_pages, "what failed counts nothing");
	one.destroy(a);
	two.destroy(b);
	pinned_are(limit_pages, "the third has them still");
	one.destroy(c);
	pinned_are(limit_pages - 32, "what only the overlapping range has");
	/* again in the other order */
	const std::uint32_t e = memory.pin(one, first.pd, 0, buffer_pages);

	two.destroy(d);
	pinned_are(buffer_pages, "the range in the middle has gone");
	require_errno(memory.try_pin(two, second.pd, 70, 16, none), ENOMEM, "none is free");
	/* unmapped, but still pinned: other memory at that address counts in addition */
	memory.replace();
	pinned_are(buffer_pages, "unmapped");
	require_errno(memory.try_pin(two, second.pd, 0, buffer_pages, none), ENOMEM,
		      "other memory at the same address");
	const std::uint32_t f = memory.pin(two, second.pd, 0, limit_pages - buffer_pages);

	pinned_are(limit_pages, "both");
	one.destroy(e);
	two.destroy(f);
	pinned_are(0, "at the end");
	(void)memory.pin(one, first.pd, 3, 5);
	/* and files are closed while they have a region */
}

void pinned_once(const char *address)
{
	Child child{[&](int) { pin_by_two(address); }};

	child.join();
}

/* Ports ******************************************************************** */

sockaddr_in to_sockaddr(const krdma_addr &addr)
{
	sockaddr_in to{};

	to.sin_family = AF_INET;
	to.sin_port = addr.port;
	std::memcpy(&to.sin_addr, addr.addr, sizeof(to.sin_addr));
	return to;
}

/* A socket of the host, as servers use it. Return: 0 or the errno of bind() or listen(). */
int host_listen(const Fd &socket, const krdma_addr &addr)
{
	const int one = 1;
	const sockaddr_in to = to_sockaddr(addr);

	rdma::must(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)),
		   "SO_REUSEADDR");
	if (::bind(socket.get(), reinterpret_cast<const sockaddr *>(&to), sizeof(to)) ||
	    ::listen(socket.get(), 8))
		return errno;
	return 0;
}

Fd tcp_socket()
{
	return Fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"};
}

/* in network order */
in_port_t port_of(const Fd &socket)
{
	sockaddr_in name{};
	socklen_t len = sizeof(name);

	rdma::must(::getsockname(socket.get(), reinterpret_cast<sockaddr *>(&name), &len),
		   "getsockname");
	return name.sin_port;
}

krdma_port reserve(const File &file, const krdma_addr &addr)
{
	krdma_port port{.addr = addr, .protocol = IPPROTO_TCP};

	file.call(KRDMA_IOC_PORT, port);
	rdma::require(port.addr.port != 0, "a port");
	return port;
}

/* Listen on a port that the file has reserved. No other socket can have it. */
void reserved_listener(const File &file, const File &other, const Context &ctx,
		       const Context &other_ctx, const char *address)
{
	const krdma_port port = reserve(file, parse_address(address));
	krdma_listen listener{.context = other_ctx.context, .local = port.addr};

	require_errno(other.try_call(KRDMA_IOC_LISTEN, listener), EADDRINUSE,
		      "LISTEN on another's port");
	require_errno(host_listen(tcp_socket(), port.addr), EADDRINUSE, "a socket on it");
	listener.context = ctx.context;
	file.call(KRDMA_IOC_LISTEN, listener);
	rdma::require_eq(listener.local.port, port.addr.port, "the reserved port");
	require_errno(host_listen(tcp_socket(), port.addr), EADDRINUSE,
		      "a socket beside the listener");
	const krdma_conn conn = start_connect(other, make_qp(other, other_ctx).handle, port.addr);
	const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);

	require_errno(accept_conn(file, request.conn().conn, make_qp(file, ctx).handle), 0,
		      "ACCEPT");
	file.expect(KRDMA_EVENT_ESTABLISHED);
	require_errno(-other.expect(KRDMA_EVENT_CONN_REPLY).base().status, 0, "CONN_REPLY");
	/*
	 * the reservation stays after the listener, and the listener would stay after the
	 * reservation
	 */
	file.destroy(listener.handle);
	require_errno(host_listen(tcp_socket(), port.addr), EADDRINUSE, "still reserved");
	file.call(KRDMA_IOC_LISTEN, listener);
	file.destroy(port.handle);
	require_errno(host_listen(tcp_socket(), port.addr), EADDRINUSE, "the listener has it");
	file.destroy(listener.handle);
	other.destroy(conn.handle);
	file.destroy(request.conn().conn);
}

/* Connect from a reserved port; @from is the local address with its port. */
void reserved_connect(const File &file, const File &other, const Context &ctx,
		      const Context &other_ctx, const char *address, const char *from)
{
	const krdma_port port = reserve(file, parse_address(address));
	const krdma_listen listener = make_listener(other, other_ctx, address);
	krdma_conn conn{.qp = make_qp(file, ctx).handle,
			.local = parse_address(from, ntohs(port.addr.port)),
			.remote = listener.local};

	file.call(KRDMA_IOC_CONNECT, conn);
	const Event request = other.expect(KRDMA_EVENT_CONN_REQUEST);

	rdma::require_eq(request.conn().remote.port, port.addr.port, "the caller's port");
	require_errno(accept_conn(other, request.conn().conn, make_qp(other, other_ctx).handle), 0,
		      "ACCEPT");
	other.expect(KRDMA_EVENT_ESTABLISHED);
	require_errno(-file.expect(KRDMA_EVENT_CONN_REPLY).base().status, 0, "CONN_REPLY");
	require_errno(host_listen(tcp_socket(), port.addr), EADDRINUSE, "a socket on it");
	for (const std::uint32_t handle : {conn.handle, port.handle})
		file.destroy(handle);
	other.destroy(request.conn().conn);
	other.destroy(listener.handle);
}

/* Does the next connection of @server come from @port and use that MPA revision? */
void begins(const Fd &server, const krdma_addr &port, unsigned int revision)
{
	std::array<std::uint8_t, 20> frame{};
	sockaddr_in from{};
	socklen_t len = sizeof(from);
	const Fd peer{::accept(server.get(), reinterpret_cast<sockaddr *>(&from), &len), "accept"};

	rdma::require_eq(from.sin_port, port.port, "the caller's port");
	rdma::require_eq(::recv(peer.get(), frame.data(), frame.size(), MSG_WAITALL),
			 ssize_t{frame.size()}, "a Request");
	rdma::require_eq(unsigned{frame[17]}, revision, "its revision");
}

/* the second attempt, with MPA revision 1, uses the same port */
void reserved_fallback(const File &file, const Context &ctx, const char *address)
{
	const krdma_port port = reserve(file, parse_address(address));
	const krdma_addr to = parse_address(address, 7789);
	const Fd server = tcp_socket();
	krdma_conn conn{.qp = make_qp(file, ctx).handle, .local = port.addr, .remote = to};

	require_errno(host_listen(server, to), 0, "a peer");
	file.call(KRDMA_IOC_CONNECT, conn);
	begins(server, port.addr, 2);
	begins(server, port.addr, 1);
	require_errno(-file.expect(KRDMA_EVENT_CONN_REPLY).base().status, ECONNRESET, "CONN_REPLY");
	for (const std::uint32_t handle : {conn.handle, port.handle})
		file.destroy(handle);
}

/** class Taker - a thread that tries to take a port all the time */
class Taker {
public:
	explicit Taker(const krdma_addr &addr)
		: thread_{[this, addr](const std::stop_token &stop) { run(stop, addr); }}
	{}

	/* Throws if the thread ever got the port. */
	void end()
	{
		thread_.request_stop();
		thread_.join();
		rdma::require(tries_ > 0, "somebody tried");
		rdma::require_eq(taken_, 0U, "a reserved port that was taken, times");
	}

private:
	void run(const std::stop_token &stop, const krdma_addr &addr)
	{
		for (; !stop.stop_requested(); tries_++) {
			const Fd socket = tcp_socket();
			const int share = tries_ % 2;

			rdma::must(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &share,
						sizeof(share)),
				   "SO_REUSEPORT");
			taken_ += !host_listen(socket, addr);
		}
	}

	unsigned int tries_ = 0;
	unsigned int taken_ = 0;
	std::jthread thread_;
};

/* The owner's calls never free the port, not even for a moment; @at: the reservation. */
void reserved_contended(const File &file, const Context &ctx, const char *address, const char *at)
{
	const krdma_port port = reserve(file, parse_address(at));
	const krdma_addr local = parse_address(address, ntohs(port.addr.port));
	krdma_listen listener{.context = ctx.context, .local = port.addr};
	krdma_conn conn{.qp = make_qp(file, ctx).handle,
			.local = local,
			.remote = parse_address(address, 9)};
	Taker taker{local};

	for (int i = 0; i < 300; i++) {
		file.call(KRDMA_IOC_LISTEN, listener);
		file.destroy(listener.handle);
		file.call(KRDMA_IOC_CONNECT, conn);
		file.destroy(conn.handle);
	}
	taker.end();
	for (const std::uint32_t handle : {conn.qp, port.handle})
		file.destroy(handle);
}

/* The owner's listener passes its reservation, but no other socket and no other listener. */
void reserved_beside(const File &file, const Context &ctx, const char *address)
{
	const krdma_port port = reserve(file, parse_address("0.0.0.0"));
	const std::uint16_t number = ntohs(port.addr.port);
	krdma_listen all{.context = ctx.context, .local = port.addr};
	krdma_listen one{.context = ctx.context, .local = parse_address(address, number)};

	{
		const Fd socket = tcp_socket();

		require_errno(host_listen(socket, parse_address("127.0.0.1", number)), 0,
			      "a socket on an address without an RNIC");
		require_errno(file.try_call(KRDMA_IOC_LISTEN, all), EADDRINUSE,
			      "LISTEN on that, too");
		file.call(KRDMA_IOC_LISTEN, one);
		file.destroy(one.handle);
	}
	file.call(KRDMA_IOC_LISTEN, all);
	require_errno(file.try_call(KRDMA_IOC_LISTEN, one), EADDRINUSE, "LISTEN beside one's own");
	for (const std::uint32_t handle : {all.handle, port.handle})
		file.destroy(handle);
}

/* The other way: a port that a socket has; @number: the port, 0: an ephemeral one. */
void socket_first(const File &file, const Context &ctx, const char *address, std::uint16_t number)
{
	const Fd server = tcp_socket();
	krdma_addr taken = parse_address(address, number);

	require_errno(host_listen(server, taken), 0, "a socket of the host");
	taken.port = port_of(server);
	krdma_port port{.addr = taken, .protocol = IPPROTO_TCP};
	krdma_listen listener{.context = ctx.context, .local = taken};
	krdma_conn conn{.qp = make_qp(file, ctx).handle,
			.local = taken,
			.remote = parse_address(address, 9)};

	require_errno(file.try_call(KRDMA_IOC_PORT, port), EADDRINUSE, "PORT");
	require_errno(file.try_call(KRDMA_IOC_LISTEN, listener), EADDRINUSE, "LISTEN");
	/* a connection that cannot begin fails at once or with its answer */
	const int err = file.try_call(KRDMA_IOC_CONNECT, conn);

	if (err) {
		require_errno(err, EADDRINUSE, "CONNECT");
		return;
	}
	require_errno(-file.expect(KRDMA_EVENT_CONN_REPLY).base().status, EADDRINUSE, "CONN_REPLY");
	file.destroy(conn.handle);
}

void reserved_ports(const char *address)
{
	const File file, other;
	const Context ctx{file, address}, other_ctx{other, address};

	reserved_listener(file, other, ctx, other_ctx, address);
	for (const char *from : {address, "0.0.0.0"})
		reserved_connect(file, other, ctx, other_ctx, address, from);
	reserved_fallback(file, ctx, address);
	for (const char *at : {address, "0.0.0.0"})
		reserved_contended(file, ctx, address, at);
	reserved_beside(file, ctx, address);
	for (const std::uint16_t number : {std::uint16_t{7788}, std::uint16_t{0}})
		socket_first(file, ctx, address, number);
}

/* Each user's share ******************************************************** */

/* Number of neighbours that can be watched before the limit, at most @most. */
unsigned int watch(const File &file, unsigned int most)
{
	for (unsigned int i = 0; i < most; i++) {
		krdma_net_neigh cmd{.flags = KRDMA_NEIGH_WATCH,
				    .addr = parse_address("10.77.0.99"),
				    .ifindex = 1};
		const int err = file.try_call(KRDMA_IOC_NET_NEIGH, cmd);

		if (err) {
			require_errno(err, ENOSPC, "NET_NEIGH");
			return i;
		}
	}
	return most;
}

int subscribe(const File &file, std::uint32_t mask)
{
	krdma_net_subscribe cmd{.mask = mask};

	return file.try_call(KRDMA_IOC_NET_SUBSCRIBE, cmd);
}

/* Number of ports that can be reserved, of so many, at all addresses. */
unsigned int reserve(const File &file, unsigned int most)
{
	for (unsigned int i = 0; i < most; i++) {
		krdma_port cmd{.addr = {.family = AF_INET}, .protocol = IPPROTO_TCP};
		const int err = file.try_call(KRDMA_IOC_PORT, cmd);

		if (err) {
			require_errno(err, ENOSPC, "PORT");
			return i;
		}
	}
	return most;
}

constexpr unsigned int user_share = 4;

/* another user, with all that it may have until it is killed; @own_namespace: of users */
void take_share(int line, uid_t uid, bool own_namespace, unsigned int share)
{
	rdma::must(::setuid(uid), "setuid");
	if (own_namespace)
		rdma::must(::unshare(CLONE_NEWUSER), "unshare");
	const File one, two, three;

	rdma::require_eq(watch(one, 3) + watch(two, 2 * user_share), share, "watches of a user");
	rdma::require_eq(reserve(one, 3) + reserve(two, 2 * user_share), share, "ports of a user");
	if (share) {
		require_errno(subscribe(one, KRDMA_NET_LINK), 0, "NET_SUBSCRIBE");
		require_errno(subscribe(two, KRDMA_NET_ADDRESS), 0, "another");
		require_errno(subscribe(two, KRDMA_NET_ROUTE), 0, "changed");
		require_errno(subscribe(two, ~0U), EINVAL, "wrongly changed");
	}
	require_errno(subscribe(three, KRDMA_NET_LINK), ENOSPC, "NET_SUBSCRIBE of one too many");
	if (share) {
		require_errno(subscribe(one, 0), 0, "no more");
		require_errno(subscribe(three, KRDMA_NET_LINK), 0, "in its place");
	}
	say(line, char{1});
	::pause();
}

/** class User - a process that uses up its user's share */
class User {
public:
	User(uid_t uid, unsigned int share, bool own_namespace = false)
		: child_{[=](int line) { take_share(line, uid, own_namespace, share); }}
	{
		hear<char>(child_.line());
	}

private:
	Child child_;
};

void shares(const char *)
{
	const Parameter watches{"neigh_watches", "14"}, subscriptions{"net_subscriptions", "5"};
	const Parameter user_watches{"user_neigh_watches", std::to_string(user_share)};
	const Parameter user_subscriptions{"user_net_subscriptions", "2"};
	const Parameter ports{"net_ports", "14"};
	const Parameter user_ports{"user_net_ports", std::to_string(user_share)};
	auto first = std::make_unique<User>(65534, user_share);
	const User second{65533, user_share};

	/* it counts as the same user */
	const User disguised{65534, 0, true};

	/* the administrator gets the rest of the limit, and no more */
	auto admin = std::make_unique<File>();
	const File another;

	rdma::require_eq(watch(*admin, 10), 14 - 2 * user_share, "watches of the administrator's");
	rdma::require_eq(reserve(*admin, 10), 14 - 2 * user_share, "ports of the administrator's");
	require_errno(subscribe(*admin, KRDMA_NET_LINK), 0, "NET_SUBSCRIBE");
	require_errno(subscribe(another, KRDMA_NET_LINK), ENOSPC, "beyond the namespace's");
	/* afterwards all is free again */
	first.reset();
	rdma::require_eq(watch(another, 10), user_share, "what a user had");
	rdma::require_eq(reserve(another, 10), user_share, "ports that a user had");
	admin.reset();
	const User third{65532, user_share};
}

/* Killed while a connection is set up ************************************** */

/* A process that has connected is killed before (@late: after) its request is read. */
void killed_asking(const char *address, bool late)
{
	const File file;
	const Context ctx{file, address};
	const krdma_listen listener = make_listener(file, ctx, address);
	Child child{[&](int line) {
		const File mine;
		const Context own{mine, address};

		start_connect(mine, make_qp(mine, own).handle, listener.local);
		say(line, char{1});
		::pause();
	}};

	hear<char>(child.line());
	pollfd wait{.fd = file.fd(), .events = POLLIN, .revents = 0};

	rdma::require_eq(::poll(&wait, 1, 60'000), 1, "it asks");
	if (!late)
		child.kill();
	const Event request = file.expect(KRDMA_EVENT_CONN_REQUEST);

	if (late)
		child.kill();
	const krdma_qp qp = make_qp(file, ctx);

	/* the kernel knows at once or soon that the peer is gone */
	if (!accept_conn(file, request.conn().conn, qp.handle) &&
	    !file.expect(KRDMA_EVENT_ESTABLISHED).base().status)
		file.expect(KRDMA_EVENT_CLOSED);
	file.destroy(request.conn().conn);
	file.expect_nothing();
	rdma::require_eq(file.usage().objects, 5U, "context, PD, CQ, listener, QP");
}

/* A process that has a request is killed; @read: it has read the request. */
void killed_asked(const char *address, bool read)
{
	const File file;
	const Context ctx{file, address};
	Child child{[&](int line) {
		const File mine;
		const Context own{mine, address};

		say(line, make_listener(mine, own, address).local);
		pollfd wait{.fd = mine.fd(), .events = POLLIN, .revents = 0};

		rdma::require_eq(::poll(&wait, 1, 60'000), 1, "it is asked");
		if (read)
			mine.expect(KRDMA_EVENT_CONN_REQUEST);
		say(line, char{1});
		::pause();
	}};
	const auto to = hear<krdma_addr>(child.line());
	const krdma_conn conn = start_connect(file, make_qp(file, ctx).handle, to);

	hear<char>(child.line());
	child.kill();
	const Event reply = file.expect(KRDMA_EVENT_CONN_REPLY);

	rdma::require(reply.base().status < 0, "no connection with a process that is gone");
	file.destroy(conn.handle);
	file.expect_nothing();
}

/* A process is killed that waits for an answer of TCP (@mute: of MPA), which does not come. */
void killed_waiting(const char *address, bool mute)
{
	const Fd server = tcp_socket();
	krdma_addr to = parse_address(mute ? address : "10.77.0.250", 9);

	if (mute) {
		to.port = 0;
		require_errno(host_listen(server, to), 0, "a server that says nothing");
		to.port = port_of(server);
	}
	Child child{[&](int line) {
		const File mine;
		const Context own{mine, address};

		start_connect(mine, make_qp(mine, own).handle, to);
		say(line, char{1});
		::pause();
	}};

	hear<char>(child.line());
	if (!mute)
		return;
	const Fd peer{::accept(server.get(), nullptr, nullptr), "accept"};
	std::array<char, 256> room{};

	rdma::require(::recv(peer.get(), room.data(), room.size(), 0) >= 20, "an MPA Request");
	child.kill();
	/* its stream ends, by FIN or RST */
	rdma::require(::recv(peer.get(), room.data(), room.size(), 0) <= 0, "the end");
}

void killed_in_setup(const char *address)
{
	::alarm(300);
	for (const bool which : {false, true}) {
		killed_asking(address, which);
		killed_asked(address, which);
		killed_waiting(address, which);
	}
	::alarm(0);
}

} /* namespace */

const std::vector<Check> shared_checks{
	{"overflow", overflow},
	{"the link goes down and up, unread", link_events},
	{"descriptor passed on", passed},
	{"descriptor that outlives its maker", outlived},
	{"pages pinned once", pinned_once},
	{"reserved ports", reserved_ports},
	{"each user's share of the network's objects", shares},
	{"killed in a connection's setup", killed_in_setup},
};

} /* namespace chardev */
