// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_chardev_fuzz [OPTION...] ADDRESS: threads send random commands of the grammar
 * (chardev_grammar.hpp) to /dev/krdma. Each kind of field has its own values. Most of these
 * are valid. Most handles exist. Some bytes, sizes and numbers are wrong. Between commands,
 * the threads read, map, duplicate and close files that other threads use, and fork. ADDRESS
 * belongs to an RNIC of this namespace.
 *
 *	--seed N	seed of the random numbers (the order between threads is not fixed)
 *	--seconds N	duration
 *	--marker FD	an open trace_marker, to which each command is written. With
 *			ftrace_dump_on_oops the log of a kernel that dies has the last of them.
 *	--any		a command that never succeeds is no failure: the RNIC is removed
 *
 * The program fails if the kernel is tainted or a thread hangs. Then it prints the last
 * commands. It also fails if a command, or a region of a dma-buf, has never succeeded.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <random>
#include <thread>

#include <csignal>
#include <fcntl.h>
#include <getopt.h>
#include <linux/udmabuf.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chardev.hpp"
#include "chardev_grammar.hpp"

namespace {

using namespace chardev;
using namespace grammar;
using Clock = std::chrono::steady_clock;

constexpr std::size_t num_threads = 4;
constexpr std::size_t num_files = 3;
constexpr std::size_t max_commands = 64;

struct Options {
	std::uint64_t seed = 1;
	int seconds = 10;
	int marker = -1;
	bool any = false;
	const char *address = nullptr;
};

/* What all processes know, in memory that they share *********************** */

/** struct Entry - a command that was sent; result -1: it has not returned */
struct Entry {
	std::uint64_t number;
	std::uint32_t command;
	std::int32_t result;
	std::array<std::byte, 96> octets;
};

struct Count {
	std::atomic<std::uint64_t> calls, good;
};

/** struct Common - counts, and each thread's last commands */
struct Common {
	std::array<Count, max_commands> counts;
	std::array<std::array<Entry, 16>, num_threads> last;
	std::atomic<bool> stop;
	std::atomic<unsigned int> forks, maps, closes, events, dmabufs;
};

Common &make_common()
{
	void *at = ::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	rdma::require(at != MAP_FAILED, "mmap");
	return *new (at) Common{};
}

/* taint bits of bad page, oops, warning, lockup (Documentation: tainted kernels) */
unsigned long taint()
{
	constexpr unsigned long mask = 1UL << 5 | 1UL << 7 | 1UL << 9 | 1UL << 14;
	std::array<char, 32> text{};
	const int fd = ::open("/proc/sys/kernel/tainted", O_RDONLY | O_CLOEXEC);

	rdma::require(fd >= 0, "tainted");
	const ssize_t n = ::read(fd, text.data(), text.size() - 1);

	::close(fd);
	rdma::require(n > 0, "tainted");
	return std::strtoul(text.data(), nullptr, 10) & mask;
}

void print_entry(const Entry &e)
{
	const Command &c = commands()[e.command];

	std::printf("%8llu %-14s", static_cast<unsigned long long>(e.number), c.name);
	if (e.result < 0)
		std::printf(" (has not answered)");
	else
		std::printf(" %s", e.result ? std::strerror(e.result) : "ok");
	for (std::size_t i = 0; i < std::min<std::size_t>(c.size, e.octets.size()); i += 4) {
		std::uint32_t word = 0;

		std::memcpy(&word, e.octets.data() + i, sizeof(word));
		std::printf(" %x", word);
	}
	std::puts("");
}

void print_last(const Common &common)
{
	for (std::size_t t = 0; t < common.last.size(); t++) {
		auto entries = common.last[t];

		std::printf("last commands of thread %zu, words of the structure:\n", t);
		std::ranges::sort(entries, {}, &Entry::number);
		for (const Entry &e : entries)
			if (e.number)
				print_entry(e);
	}
}

/* Files, and the objects that they have ************************************ */

/** class Slot - a file that all threads use and close */
class Slot {
public:
	Slot() : fd_{open()}
	{}
	~Slot()
	{
		::close(fd_);
	}
	Slot(const Slot &) = delete;
	Slot &operator=(const Slot &) = delete;
	Slot(Slot &&) = delete;
	Slot &operator=(Slot &&) = delete;

	/* when it is used, it may be closed, or the number of another file */
	[[nodiscard]] int fd() const
	{
		return fd_;
	}

	/* the objects end when the last call in progress has ended */
	void reopen()
	{
		const int old = fd_.exchange(open());

		{
			const std::lock_guard guard{lock_};

			for (auto &handles : handles_)
				handles.clear();
		}
		::close(old);
	}

	/* another descriptor of the same file */
	void duplicate()
	{
		const int fresh = ::dup(fd_);

		if (fresh >= 0)
			::close(fd_.exchange(fresh));
	}

	/* Return: the handle that has no room any more, or 0. */
	std::uint32_t add(Object type, std::uint32_t handle)
	{
		const std::lock_guard guard{lock_};
		auto &handles = handles_.at(static_cast<std::size_t>(type));
		std::uint32_t out = 0;

		if (handles.size() >= 24) {
			out = handles.front();
			handles.erase(handles.begin());
		}
		handles.push_back(handle);
		return out;
	}

	void remove(std::uint32_t handle)
	{
		const std::lock_guard guard{lock_};

		for (auto &handles : handles_)
			std::erase(handles, handle);
	}

	/* Return: a handle, or 0 for none. @n: which one, counted from the newest. */
	std::uint32_t find(Object type, std::size_t n)
	{
		const std::lock_guard guard{lock_};
		const auto &handles = handles_.at(static_cast<std::size_t>(type));

		return handles.empty() ? 0 : handles[handles.size() - 1 - n % handles.size()];
	}

	/* a ring that can be mapped */
	void add_ring(std::uint64_t offset, std::uint64_t size)
	{
		const std::lock_guard guard{lock_};

		rings_[next_ring_++ % rings_.size()] = {offset, size};
	}

	std::pair<std::uint64_t, std::uint64_t> ring(std::size_t n)
	{
		const std::lock_guard guard{lock_};

		return rings_[n % rings_.size()];
	}

private:
	static int open()
	{
		const int fd = ::open(KRDMA_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0)
			rdma::fail_errno("open " KRDMA_DEVICE, errno);
		return fd;
	}

	std::atomic<int> fd_;
	std::mutex lock_;
	std::array<std::vector<std::uint32_t>, objects> handles_;
	std::array<std::pair<std::uint64_t, std::uint64_t>, 8> rings_{};
	std::size_t next_ring_ = 0;
};

constexpr std::size_t dmabuf_size = std::size_t{16} * 4096;

int make_dmabuf()
{
	const File memory{::memfd_create("krdma", MFD_ALLOW_SEALING | MFD_CLOEXEC)};
	const File device{::open("/dev/udmabuf", O_RDWR | O_CLOEXEC)};
	udmabuf_create create{.memfd = static_cast<std::uint32_t>(memory.fd()),
			      .flags = UDMABUF_FLAGS_CLOEXEC,
			      .size = dmabuf_size};

	rdma::must(::ftruncate(memory.fd(), dmabuf_size), "ftruncate");
	rdma::must(::fcntl(memory.fd(), F_ADD_SEALS, F_SEAL_SHRINK), "F_SEAL_SHRINK");
	const int fd = ::ioctl(device.fd(), UDMABUF_CREATE, &create);

	rdma::require(fd >= 0, "UDMABUF_CREATE");
	return fd;
}

/** class Shared - state that the threads of a process share */
class Shared {
public:
	Shared(const Options &options, Common &common) : options{options}, common{common}
	{
		/*
		 * a separate mapping, far from others: a region may exceed it, and is written
		 * to
		 */
		void *all = ::mmap(nullptr, 2 * guard + memory_size, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		rdma::require(all != MAP_FAILED, "mmap");
		memory = static_cast<std::byte *>(all) + guard;
		rdma::must(::mprotect(memory, memory_size, PROT_READ | PROT_WRITE), "mprotect");
		const File file;

		check_complete(file.fd());
		index = find_rnic(file, parse_address(options.address));
		krdma_rnic_query query{.index = index};

		file.call(KRDMA_IOC_RNIC_QUERY, query);
		ifindex = query.ifindex;
	}

	void add_port(std::uint16_t port)
	{
		ports_[next_port_++ % ports_.size()] = port;
	}

	std::uint16_t port(std::size_t n)
	{
		return ports_[n % ports_.size()];
	}

	static constexpr std::size_t memory_size = 1 << 20;
	static constexpr std::size_t guard = 1 << 26;
	const Options &options;
	Common &common;
	std::byte *memory;
	std::uint32_t index;
	std::uint32_t ifindex;
	const File dmabuf{make_dmabuf()};
	std::array<Slot, num_files> files;
	std::atomic<std::uint32_t> stag;

private:
	std::array<std::atomic<std::uint16_t>, 16> ports_{};
	std::atomic<std::size_t> next_port_;
};

/* A thread ***************************************************************** */

/** struct Call - a command with its structure */
struct Call {
	std::size_t command = 0;
	unsigned long number = 0;
	alignas(8) std::array<std::byte, 4200> octets{};
};

class Fuzzer {
public:
	Fuzzer(Shared &shared, std::size_t thread)
		: shared_{shared}, thread_{thread}, random_{shared.options.seed * 1000 + thread},
		  taint_{taint()}
	{
		for (std::size_t i = 0; i < commands().size(); i++)
			deck_.insert(deck_.end(), commands()[i].weight, i);
	}

	void run(Clock::time_point end)
	{
		while (Clock::now() < end && !shared_.common.stop) {
			step();
			if (number_ % 256 == 0 && taint() != taint_)
				shared_.common.stop = true;
		}
	}

private:
	std::uint64_t below(std::uint64_t n)
	{
		return std::uniform_int_distribution<std::uint64_t>{0, n - 1}(random_);
	}

	bool chance(unsigned int percent)
	{
		return below(100) < percent;
	}

	/* Values */

	std::uint64_t handle(Slot &slot, std::uint32_t arg)
	{
		if (chance(3))
			return random_();
		if (chance(2))
			return below(64);
		const bool wrong = arg >= objects || chance(4);
		const auto type =
			wrong ? static_cast<Object>(below(objects)) : static_cast<Object>(arg);

		/* 0 is a valid value, too: no SRQ, no window */
		if (type == Object::srq && chance(60))
			return 0;
		/* the newest handles are likely to belong to one context, and to work together */
		return slot.find(type, chance(70) ? 0 : below(24));
	}

	std::uint64_t pointer()
	{
		static constexpr std::array<std::uint64_t, 5> odd{0, 8, 0xffff888000000000, ~0ULL,
								  1ULL << 47};

		if (chance(4))
			return odd[below(odd.size())];
		return reinterpret_cast<std::uintptr_t>(shared_.memory) +
		       below(Shared::memory_size / 2);
	}

	std::uint64_t length()
	{
		static constexpr std::array<std::uint64_t, 6> some{0,       1,       4096,
								   100'000, 1 << 20, ~0ULL};

		return chance(60) ? 1 + below(65536) : some[below(some.size())];
	}

	std::uint32_t stag()
	{
		return chance(80) ? shared_.stag.load() : static_cast<std::uint32_t>(random_());
	}

	std::uint64_t flags(std::uint32_t mask)
	{
		if (chance(95))
			return chance(50) ? random_() & mask : 1ULL << below(2) & mask;
		return random_();
	}

	/* a dma-buf, another file, a closed descriptor */
	std::uint64_t descriptor(Slot &slot)
	{
		/* a number above the limit of descriptors */
		constexpr std::uint64_t closed = 1 << 20;

		if (chance(80))
			return static_cast<std::uint64_t>(shared_.dmabuf.fd());
		if (chance(45))
			return static_cast<std::uint64_t>(slot.fd());
		return chance(90) ? closed : random_();
	}

	std::uint64_t value(Slot &slot, const Field &f)
	{
		switch (f.kind) {
		case Kind::handle:
			return handle(slot, f.arg);
		case Kind::index:
			return chance(95) ? shared_.index : random_();
		case Kind::ifindex:
			return chance(80) ? shared_.ifindex : chance(80) ? below(4) : random_();
		case Kind::count:
			return chance(96) ? 1 + below(40) : random_();
		case Kind::flags:
			return flags(f.arg);
		case Kind::choice:
			return chance(96) ? below(f.arg) : random_();
		case Kind::access:
			return chance(90) ? below(32) : random_();
		case Kind::pointer:
			return pointer();
		case Kind::length:
			return length();
		case Kind::short_length:
			return chance(50) ? 0 : below(600);
		case Kind::wrs:
			return work_requests(slot);
		case Kind::stag:
			return stag();
		case Kind::cookie:
			return random_();
		case Kind::fd:
			return descriptor(slot);
		default:
			/* a field that must be zero, or is not read */
			return chance(97) ? 0 : random_();
		}
	}

	/* mostly in this thread's memory, so that it is valid */
	std::uint64_t work_requests(Slot &slot)
	{
		for (auto &wr : wrs_) {
			sges_.fill({pointer(), static_cast<std::uint32_t>(below(5000)), stag()});
			wr = {.wr_id = random_(),
			      .sges = reinterpret_cast<std::uintptr_t>(sges_.data()),
			      .num_sge =
				      static_cast<std::uint32_t>(chance(95) ? below(4) : random_()),
			      .opcode = static_cast<std::uint32_t>(chance(95) ? below(16)
									      : random_()),
			      .flags = static_cast<std::uint32_t>(below(chance(95) ? 16 : 64)),
			      .imm = stag(),
			      .remote_addr = pointer(),
			      .rkey = stag(),
			      .mw = slot.find(Object::mw, below(24)),
			      .compare_add = random_(),
			      .swap = random_(),
			      .bind_addr = pointer(),
			      .bind_length = below(5000),
			      .bind_lkey = stag(),
			      .bind_access = static_cast<std::uint32_t>(below(64))};
		}
		return chance(97) ? reinterpret_cast<std::uintptr_t>(wrs_.data()) : pointer();
	}

	/* mostly addresses of this host, with the port of a listener or none */
	krdma_addr address()
	{
		krdma_addr addr{};

		if (chance(25))
			return addr;
		addr = parse_address(chance(95) ? shared_.options.address : "10.77.0.2");
		if (chance(3))
			addr.family = static_cast<std::uint16_t>(below(20));
		addr.port = chance(60)   ? shared_.port(below(16))
			    : chance(90) ? std::uint16_t{0}
					 : static_cast<std::uint16_t>(random_());
		return addr;
	}

	krdma_private private_octets(std::uint32_t arg)
	{
		static constexpr std::array<std::uint32_t, 6> odd{0, 8, 16, 24, 56, 512};

		/* sizes of a slow context, of the user library, or others */
		if (chance(55))
			return {};
		if (chance(80))
			return {pointer(), pointer(), arg >> 16, arg & 0xffff};
		return {pointer(), pointer(), odd[below(odd.size())], odd[below(odd.size())]};
	}

	/* The structure */

	void fill_field(Slot &slot, const Field &f, std::byte *at)
	{
		if (f.kind == Kind::address) {
			const krdma_addr addr = address();

			std::memcpy(at, &addr, sizeof(addr));
		} else if (f.kind == Kind::priv) {
			const krdma_private priv = private_octets(f.arg);

			std::memcpy(at, &priv, sizeof(priv));
		} else if (f.size <= sizeof(std::uint64_t)) {
			const std::uint64_t v = value(slot, f);

			std::memcpy(at, &v, f.size);
		}
	}

	/* start is an offset in the dma-buf; mostly the range is inside of it */
	void aim_at_dmabuf(Call &call)
	{
		auto cmd = as<krdma_mr>(call);

		if (!(cmd.flags & KRDMA_MR_DMABUF) || chance(10))
			return;
		cmd.start = below(dmabuf_size);
		cmd.length = 1 + below(dmabuf_size + dmabuf_size / 8 - cmd.start);
		/* REREGISTER of a dma-buf has no private bytes */
		if (chance(90))
			cmd.priv = {};
		std::memcpy(call.octets.data(), &cmd, sizeof(cmd));
	}

	/* shorter or longer, with zeros or other values behind the end */
	std::uint32_t wrong_size(const Command &c, Call &call)
	{
		static constexpr std::array<std::uint32_t, 6> odd{0, 3, 4, 4096, 4097, ~0U};
		const auto around = static_cast<std::uint32_t>(c.size - 8 + below(24));

		if (chance(30))
			call.octets[c.size + below(16)] = static_cast<std::byte>(random_());
		return chance(70) ? around : odd[below(odd.size())];
	}

	void fill(Slot &slot, std::size_t command, Call &call)
	{
		const Command &c = commands()[command];

		call.command = command;
		call.number = c.number;
		call.octets.fill(std::byte{});
		for (const Field &f : c.fields)
			fill_field(slot, f, call.octets.data() + f.offset);
		if (c.number == KRDMA_IOC_MR)
			aim_at_dmabuf(call);
		const std::uint32_t size = chance(96) ? c.size : wrong_size(c, call);

		std::memcpy(call.octets.data(), &size, sizeof(size));
		while (chance(4))
			call.octets[4 + below(c.size - 4)] = static_cast<std::byte>(random_());
		/* another direction, size or letter in the number */
		if (below(300) == 0)
			call.number ^= 1UL << below(32);
	}

	Entry &log(const Call &call)
	{
		auto &last = shared_.common.last[thread_];
		Entry &e = last[++number_ % last.size()];

		e.command = static_cast<std::uint32_t>(call.command);
		e.result = -1;
		std::ranges::copy_n(call.octets.data(), e.octets.size(), e.octets.data());
		e.number = number_;
		return e;
	}

	void mark(const Entry &e) const
	{
		std::array<char, 512> line{};
		int len = std::snprintf(line.data(), line.size(), "fuzz %zu %llu %s", thread_,
					static_cast<unsigned long long>(e.number),
					commands()[e.command].name);

		for (std::size_t i = 0; i < e.octets.size(); i += 4) {
			std::uint32_t word = 0;

			std::memcpy(&word, e.octets.data() + i, sizeof(word));
			len += std::snprintf(line.data() + len,
					     line.size() - static_cast<std::size_t>(len), " %x",
					     word);
		}
		(void)!::write(shared_.options.marker, line.data(), static_cast<std::size_t>(len));
	}

	static int issue(Slot &slot, Call &call)
	{
		return ::ioctl(slot.fd(), call.number, call.octets.data()) ? errno : 0;
	}

	/* where KRDMA_IOC_CALL is in the table; its own arguments there are seldom right */
	static std::size_t ask_index()
	{
		static const auto index = static_cast<std::size_t>(
			std::find_if(commands().begin(), commands().end(),
				     [](const grammar::Command &c) {
					     return c.number == KRDMA_IOC_CALL;
				     }) -
			commands().begin());
		return index;
	}

	/* by KRDMA_IOC_CALL; the record is that of the errno, if there is one */
	static int ask(Slot &slot, Call &call)
	{
		krdma_call via{};

		via.size = sizeof(via);
		via.command = static_cast<std::uint32_t>(call.number);
		via.argument = reinterpret_cast<std::uintptr_t>(call.octets.data());
		const int err = ::ioctl(slot.fd(), KRDMA_IOC_CALL, &via) ? errno : 0;
		if (via.error.status != static_cast<std::uint32_t>(err))
			rdma::fail("errno " + std::to_string(err) + ", record " +
				   std::to_string(via.error.status));
		return err;
	}

	void give(Slot &slot, Call &call)
	{
		Count &count = shared_.common.counts.at(call.command);
		Entry &e = log(call);

		if (shared_.options.marker >= 0)
			mark(e);
		count.calls++;
		const bool asks = e.number % 2;
		const int err = asks ? ask(slot, call) : issue(slot, call);

		e.result = err;
		if (err || call.number != commands()[call.command].number)
			return;
		count.good++;
		if (asks)
			shared_.common.counts.at(ask_index()).good++;
		note(slot, call);
	}

	/* Results */

	template <typename T> static T as(const Call &call)
	{
		T cmd{};

		std::memcpy(&cmd, call.octets.data(), sizeof(cmd));
		return cmd;
	}

	static std::uint32_t word(const Call &call, std::uint32_t offset)
	{
		std::uint32_t v = 0;

		std::memcpy(&v, call.octets.data() + offset, sizeof(v));
		return v;
	}

	void keep(Slot &slot, Object type, std::uint32_t handle)
	{
		const std::uint32_t out = handle ? slot.add(type, handle) : 0;
		krdma_destroy cmd{.size = sizeof(cmd), .handle = out};

		if (out)
			(void)::ioctl(slot.fd(), KRDMA_IOC_DESTROY, &cmd);
	}

	/* the rings in the provider's answer: pairs of offset and size come first */
	void note_rings(Slot &slot, const Call &call, std::uint32_t offset)
	{
		krdma_private priv{};
		std::array<std::uint64_t, 4> rings{};

		std::memcpy(&priv, call.octets.data() + offset, sizeof(priv));
		const std::uint64_t at =
			priv.out - reinterpret_cast<std::uintptr_t>(shared_.memory);

		if (priv.out_len < 24 || at > Shared::memory_size - sizeof(rings))
			return;
		std::memcpy(rings.data(), shared_.memory + at, sizeof(rings));
		slot.add_ring(rings[0], rings[1]);
		if (call.number == KRDMA_IOC_QP)
			slot.add_ring(rings[2], rings[3]);
	}

	void note_region(const krdma_mr &mr)
	{
		shared_.stag = mr.stag;
		if (mr.flags & KRDMA_MR_DMABUF)
			shared_.common.dmabufs++;
	}

	void note(Slot &slot, const Call &call)
	{
		for (const Field &f : commands()[call.command].fields) {
			if (f.kind == Kind::made)
				keep(slot, static_cast<Object>(f.arg), word(call, f.offset));
			else if (f.kind == Kind::priv)
				note_rings(slot, call, f.offset);
		}
		if (call.number == KRDMA_IOC_DESTROY)
			slot.remove(as<krdma_destroy>(call).handle);
		else if (call.number == KRDMA_IOC_MR)
			note_region(as<krdma_mr>(call));
		else if (call.number == KRDMA_IOC_LISTEN)
			shared_.add_port(as<krdma_listen>(call).local.port);
	}

	/* In between */

	/* the first calls of a normal program, so that there are objects to use */
	void build(Slot &slot)
	{
		try {
			const File file{::dup(slot.fd())};
			const Context ctx{file, shared_.options.address};

			keep(slot, Object::context, ctx.context);
			keep(slot, Object::pd, ctx.pd);
			keep(slot, Object::cq, ctx.cq);
			for (int i = 0; i < 3; i++)
				keep(slot, Object::qp, make_qp(file, ctx).handle);
			const krdma_listen l = make_listener(file, ctx, shared_.options.address);

			keep(slot, Object::listener, l.handle);
			shared_.add_port(l.local.port);
			const krdma_qp qp = make_qp(file, ctx);

			keep(slot, Object::qp, qp.handle);
			keep(slot, Object::conn, start_connect(file, qp.handle, l.local).handle);
		} catch (const std::exception &) {
			/* another thread has destroyed a part of it already */
		}
	}

	void read_events(Slot &slot)
	{
		std::array<std::byte, 4096> room{};
		const ssize_t n = ::read(slot.fd(), room.data(), below(room.size()));
		std::size_t at = 0;

		while (n > 0 && at + sizeof(krdma_event) <= static_cast<std::size_t>(n)) {
			krdma_event base{};

			std::memcpy(&base, room.data() + at, sizeof(base));
			if (base.type == KRDMA_EVENT_CONN_REQUEST) {
				std::uint32_t conn = 0;

				std::memcpy(&conn,
					    room.data() + at + offsetof(krdma_conn_event, conn),
					    sizeof(conn));
				keep(slot, Object::request, conn);
			}
			shared_.common.events++;
			if (!base.size)
				break;
			at += base.size;
		}
	}

	void map(Slot &slot)
	{
		auto [offset, octets] = slot.ring(below(8));

		if (!octets || octets % 4096 || octets > (1 << 24) || chance(10)) {
			offset = 4096 * below(64);
			octets = 4096 * (1 + below(4));
		}
		void *at = ::mmap(nullptr, octets, PROT_READ | PROT_WRITE,
				  chance(95) ? MAP_SHARED : MAP_PRIVATE, slot.fd(),
				  static_cast<off_t>(offset));

		if (at == MAP_FAILED)
			return;
		shared_.common.maps++;
		/*
		 * write values into a ring that a library would not write; mostly into its head
		 */
		for (int i = 0; i < 20; i++)
			static_cast<volatile std::uint32_t *>(
				at)[chance(50) ? below(34) : below(octets / 4)] =
				static_cast<std::uint32_t>(chance(50) ? below(64) : random_());
		/* a part of it first */
		if (chance(20))
			::munmap(at, 4096);
		::munmap(at, octets);
	}

	/*
	 * Fork a process with the same files and memory, which continues for a while. It takes no
	 * lock, because another thread may have held the lock at the fork.
	 */
	void fork_one(Slot &slot)
	{
		std::array<Call, 4> calls;
		const bool early = chance(50);
		const int fd = slot.fd();

		for (Call &call : calls)
			fill(slot, deck_[below(deck_.size())], call);
		const pid_t child = ::fork();

		if (child < 0)
			return;
		if (child == 0) {
			for (Call &call : calls)
				(void)::ioctl(fd, call.number, call.octets.data());
			*reinterpret_cast<volatile char *>(shared_.memory) = 1;
			::_exit(0);
		}
		if (early)
			::kill(child, SIGKILL);
		::waitpid(child, nullptr, 0);
		shared_.common.forks++;
	}

	void disturb(Slot &slot)
	{
		if (below(2500) == 0) {
			slot.reopen();
			shared_.common.closes++;
		}
		if (below(500) == 0)
			slot.duplicate();
		if (below(700) == 0)
			fork_one(slot);
		if (chance(1))
			build(slot);
		if (chance(6))
			read_events(slot);
		if (chance(3))
			map(slot);
	}

	void step()
	{
		Slot &slot = shared_.files[below(num_files)];

		disturb(slot);
		fill(slot, deck_[below(deck_.size())], call_);
		give(slot, call_);
	}

	Shared &shared_;
	std::size_t thread_;
	std::mt19937_64 random_;
	unsigned long taint_;
	std::uint64_t number_ = 0;
	std::vector<std::size_t> deck_;
	Call call_;
	std::array<krdma_wr, 4> wrs_{};
	std::array<krdma_sge, 4> sges_{};
};

/* Processes **************************************************************** */

/* the threads of one process, until @end */
void fuzz(const Options &options, Common &common, Clock::time_point end)
{
	Shared shared{options, common};
	std::vector<std::thread> threads;

	for (std::size_t i = 0; i < num_threads; i++)
		threads.emplace_back([&shared, i, end] { Fuzzer{shared, i}.run(end); });
	for (auto &thread : threads)
		thread.join();
}

/* Return: the status of the process. Fails if it runs for long after @end. */
int wait_for(pid_t child, Clock::time_point end)
{
	int status = 0;

	while (::waitpid(child, &status, WNOHANG) == 0) {
		if (Clock::now() > end + 2 * rdma::patience) {
			::kill(child, SIGKILL);
			rdma::fail("the threads hang");
		}
		std::this_thread::sleep_for(std::chrono::milliseconds{50});
	}
	return status;
}

/*
 * Run in a child: a random address may be an address of the program itself, and the kernel's
 * write there may end the program. Return: the child ran to its end.
 */
bool fuzz_in_child(const Options &options, Common &common, Clock::time_point end)
{
	std::fflush(stdout);
	const pid_t child = ::fork();

	rdma::require(child >= 0, "fork");
	if (child == 0) {
		try {
			fuzz(options, common, end);
		} catch (const std::exception &e) {
			std::fprintf(stderr, "failed: %s\n", e.what());
			::_exit(1);
		}
		::_exit(0);
	}
	const int status = wait_for(child, end);

	rdma::require(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "the child works");
	return !WIFSIGNALED(status);
}

/*
 * Print how often each command was sent and succeeded. Return: the number of commands that
 * never succeeded.
 */
unsigned int print_counts(const Common &common)
{
	unsigned int never = 0;
	std::uint64_t calls = 0, good = 0;

	for (std::size_t i = 0; i < commands().size(); i++) {
		const Count &count = common.counts.at(i);

		std::printf("%-14s %8llu %8llu\n", commands()[i].name,
			    static_cast<unsigned long long>(count.calls),
			    static_cast<unsigned long long>(count.good));
		never += !count.good;
		calls += count.calls;
		good += count.good;
	}
	std::printf("%llu commands, %llu succeeded; %u events, %u mappings, %u forks, %u closes, "
		    "%u regions of a dma-buf\n",
		    static_cast<unsigned long long>(calls), static_cast<unsigned long long>(good),
		    common.events.load(), common.maps.load(), common.forks.load(),
		    common.closes.load(), common.dmabufs.load());
	return never;
}

int run(const Options &options, Common &common)
{
	const auto end = Clock::now() + std::chrono::seconds{options.seconds};
	const unsigned long before = taint();
	Options now = options;
	int lost = 0;

	std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
	/* another seed, because the same one would end at the same place */
	for (; !fuzz_in_child(now, common, end); now.seed++)
		lost++;
	const unsigned int never = print_counts(common);

	std::printf("%d processes lost\n", lost);
	if (taint() != before)
		rdma::fail("the kernel complains, see its log");
	if (never && !options.any)
		rdma::fail(std::to_string(never) + " commands have never succeeded");
	rdma::require(options.any || common.dmabufs, "a region of a dma-buf");
	return 0;
}

bool parse(int argc, char **argv, Options &options)
{
	static const std::array<option, 5> known{{{"seed", required_argument, nullptr, 's'},
						  {"seconds", required_argument, nullptr, 't'},
						  {"marker", required_argument, nullptr, 'm'},
						  {"any", no_argument, nullptr, 'a'},
						  {nullptr, 0, nullptr, 0}}};

	for (int c = 0; (c = ::getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
		switch (c) {
		case 's':
			options.seed = std::strtoull(optarg, nullptr, 0);
			break;
		case 't':
			options.seconds = std::atoi(optarg);
			break;
		case 'm':
			options.marker = std::atoi(optarg);
			break;
		case 'a':
			options.any = true;
			break;
		default:
			return false;
		}
	}
	options.address = argv[optind];
	return optind == argc - 1;
}

} /* namespace */

int main(int argc, char **argv)
{
	Options options;

	if (!parse(argc, argv, options)) {
		std::fprintf(stderr,
			     "usage: %s [--seed N] [--seconds N] [--marker FD] [--any] ADDRESS\n",
			     argv[0]);
		return 2;
	}
	Common *common = nullptr;

	try {
		common = &make_common();
		return run(options, *common);
	} catch (const std::exception &e) {
		if (common)
			print_last(*common);
		std::printf("failed: %s\n", e.what());
		return 1;
	}
}
