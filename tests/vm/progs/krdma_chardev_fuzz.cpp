// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_chardev_fuzz SECONDS SEED ADDRESS: threads that give /dev/krdma random commands of
 * its grammar: each kind of field has its own values, mostly ones that mean something,
 * handles are mostly such as there are, of all kinds and of another file, and some octets
 * are changed at random. What comes back does not matter; that the kernel lives does, and
 * that nothing is left when the files are closed, which some of them are in between.
 *
 * To add a command: one more line in the table.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <krdma/soft-abi.h>
#include <rdma/ib_user_verbs.h>

#include "chardev.hpp"

namespace {

using namespace chardev;

/* what a field is, and so which values are worth trying */
enum class Kind {
	handle, /* in */
	made,   /* out: a new handle */
	index,  /* of an RNIC */
	small,  /* a count, a depth */
	flags,
	state,
	access,
	pointer, /* to user memory */
	length,  /* of it */
	priv_len,
	address, /* struct krdma_addr */
	wrs,     /* array of work requests */
	any,
};

struct Field {
	std::uint32_t offset;
	std::uint32_t size;
	Kind kind;
};

#define FIELD(type, member, kind)                                        \
	Field                                                            \
	{                                                                \
		offsetof(type, member), sizeof(type::member), Kind::kind \
	}
#define PRIV(type)                                                           \
	Field{offsetof(type, priv.in), 8, Kind::pointer},                    \
		Field{offsetof(type, priv.out), 8, Kind::pointer},           \
		Field{offsetof(type, priv.in_len), 4, Kind::priv_len}, Field \
	{                                                                    \
		offsetof(type, priv.out_len), 4, Kind::priv_len              \
	}

struct Command {
	unsigned long number;
	std::uint32_t size;
	std::uint32_t weight;
	std::vector<Field> fields;
};

const std::vector<Command> &commands()
{
	static const std::vector<Command> table{
		{KRDMA_IOC_RNIC_LIST,
		 sizeof(krdma_rnic_list),
		 1,
		 {FIELD(krdma_rnic_list, count, small), FIELD(krdma_rnic_list, entries, pointer)}},
		{KRDMA_IOC_RNIC_QUERY,
		 sizeof(krdma_rnic_query),
		 1,
		 {FIELD(krdma_rnic_query, index, index)}},
		{KRDMA_IOC_RNIC_COUNTERS,
		 sizeof(krdma_rnic_counters),
		 1,
		 {FIELD(krdma_rnic_counters, index, index),
		  FIELD(krdma_rnic_counters, count, small),
		  FIELD(krdma_rnic_counters, entries, pointer)}},
		{KRDMA_IOC_RNIC_FIND,
		 sizeof(krdma_rnic_find),
		 1,
		 {FIELD(krdma_rnic_find, local, address), FIELD(krdma_rnic_find, remote, address)}},
		{KRDMA_IOC_USAGE, sizeof(krdma_usage), 1, {}},
		{KRDMA_IOC_CONTEXT,
		 sizeof(krdma_context),
		 4,
		 {FIELD(krdma_context, index, index), FIELD(krdma_context, handle, made),
		  FIELD(krdma_context, flags, flags), FIELD(krdma_context, cookie, any),
		  PRIV(krdma_context)}},
		{KRDMA_IOC_DESTROY,
		 sizeof(krdma_destroy),
		 12,
		 {FIELD(krdma_destroy, handle, handle)}},
		{KRDMA_IOC_PD,
		 sizeof(krdma_pd),
		 6,
		 {FIELD(krdma_pd, context, handle), FIELD(krdma_pd, handle, made), PRIV(krdma_pd)}},
		{KRDMA_IOC_CQ,
		 sizeof(krdma_cq),
		 6,
		 {FIELD(krdma_cq, context, handle), FIELD(krdma_cq, handle, made),
		  FIELD(krdma_cq, depth, small), FIELD(krdma_cq, ceh, flags), PRIV(krdma_cq)}},
		{KRDMA_IOC_CQ_MODIFY,
		 sizeof(krdma_cq_modify),
		 2,
		 {FIELD(krdma_cq_modify, handle, handle), FIELD(krdma_cq_modify, mask, flags),
		  FIELD(krdma_cq_modify, depth, small), FIELD(krdma_cq_modify, count, small),
		  FIELD(krdma_cq_modify, period_us, small), PRIV(krdma_cq_modify)}},
		{KRDMA_IOC_CQ_POLL,
		 sizeof(krdma_cq_poll),
		 4,
		 {FIELD(krdma_cq_poll, handle, handle), FIELD(krdma_cq_poll, count, small),
		  FIELD(krdma_cq_poll, entries, pointer)}},
		{KRDMA_IOC_CQ_NOTIFY,
		 sizeof(krdma_cq_notify),
		 3,
		 {FIELD(krdma_cq_notify, handle, handle),
		  FIELD(krdma_cq_notify, solicited, flags)}},
		{KRDMA_IOC_SRQ,
		 sizeof(krdma_srq),
		 3,
		 {FIELD(krdma_srq, pd, handle), FIELD(krdma_srq, handle, made),
		  FIELD(krdma_srq, max_wr, small), FIELD(krdma_srq, max_sge, flags),
		  FIELD(krdma_srq, limit, flags), PRIV(krdma_srq)}},
		{KRDMA_IOC_SRQ_MODIFY,
		 sizeof(krdma_srq_attr),
		 2,
		 {FIELD(krdma_srq_attr, handle, handle), FIELD(krdma_srq_attr, mask, flags),
		  FIELD(krdma_srq_attr, max_wr, small), FIELD(krdma_srq_attr, limit, flags),
		  PRIV(krdma_srq_attr)}},
		{KRDMA_IOC_SRQ_QUERY,
		 sizeof(krdma_srq_attr),
		 1,
		 {FIELD(krdma_srq_attr, handle, handle)}},
		{KRDMA_IOC_QP,
		 sizeof(krdma_qp),
		 8,
		 {FIELD(krdma_qp, pd, handle), FIELD(krdma_qp, handle, made),
		  FIELD(krdma_qp, send_cq, handle), FIELD(krdma_qp, recv_cq, handle),
		  FIELD(krdma_qp, flags, flags), FIELD(krdma_qp, max_send_wr, small),
		  FIELD(krdma_qp, max_recv_wr, small), FIELD(krdma_qp, max_send_sge, flags),
		  FIELD(krdma_qp, max_recv_sge, flags), FIELD(krdma_qp, max_inline, small),
		  PRIV(krdma_qp)}},
		{KRDMA_IOC_QP_MODIFY,
		 sizeof(krdma_qp_attr),
		 3,
		 {FIELD(krdma_qp_attr, handle, handle), FIELD(krdma_qp_attr, mask, flags),
		  FIELD(krdma_qp_attr, state, state), FIELD(krdma_qp_attr, access, access)}},
		{KRDMA_IOC_QP_QUERY,
		 sizeof(krdma_qp_attr),
		 2,
		 {FIELD(krdma_qp_attr, handle, handle)}},
		{KRDMA_IOC_POST_SEND,
		 sizeof(krdma_post),
		 8,
		 {FIELD(krdma_post, handle, handle), FIELD(krdma_post, count, flags),
		  FIELD(krdma_post, wrs, wrs)}},
		{KRDMA_IOC_POST_RECV,
		 sizeof(krdma_post),
		 6,
		 {FIELD(krdma_post, handle, handle), FIELD(krdma_post, count, flags),
		  FIELD(krdma_post, wrs, wrs)}},
		{KRDMA_IOC_POST_SRQ,
		 sizeof(krdma_post),
		 3,
		 {FIELD(krdma_post, handle, handle), FIELD(krdma_post, count, flags),
		  FIELD(krdma_post, wrs, wrs)}},
		{KRDMA_IOC_MR,
		 sizeof(krdma_mr),
		 6,
		 {FIELD(krdma_mr, pd, handle), FIELD(krdma_mr, handle, made),
		  FIELD(krdma_mr, access, access), FIELD(krdma_mr, start, pointer),
		  FIELD(krdma_mr, length, length), FIELD(krdma_mr, iova, pointer)}},
		{KRDMA_IOC_MR_REREGISTER,
		 sizeof(krdma_mr_reregister),
		 3,
		 {FIELD(krdma_mr_reregister, handle, handle),
		  FIELD(krdma_mr_reregister, mask, flags), FIELD(krdma_mr_reregister, pd, handle),
		  FIELD(krdma_mr_reregister, access, access),
		  FIELD(krdma_mr_reregister, start, pointer),
		  FIELD(krdma_mr_reregister, length, length),
		  FIELD(krdma_mr_reregister, iova, pointer)}},
		{KRDMA_IOC_MW,
		 sizeof(krdma_mw),
		 2,
		 {FIELD(krdma_mw, pd, handle), FIELD(krdma_mw, handle, made),
		  FIELD(krdma_mw, type, flags)}},
		{KRDMA_IOC_LISTEN,
		 sizeof(krdma_listen),
		 3,
		 {FIELD(krdma_listen, context, handle), FIELD(krdma_listen, handle, made),
		  FIELD(krdma_listen, backlog, small), FIELD(krdma_listen, local, address)}},
		{KRDMA_IOC_CONNECT,
		 sizeof(krdma_conn),
		 6,
		 {FIELD(krdma_conn, handle, made), FIELD(krdma_conn, qp, handle),
		  FIELD(krdma_conn, ird, flags), FIELD(krdma_conn, ord, flags),
		  FIELD(krdma_conn, private_data, pointer),
		  FIELD(krdma_conn, private_data_len, priv_len),
		  FIELD(krdma_conn, remote, address)}},
		{KRDMA_IOC_ACCEPT,
		 sizeof(krdma_conn),
		 6,
		 {FIELD(krdma_conn, handle, handle), FIELD(krdma_conn, qp, handle),
		  FIELD(krdma_conn, private_data, pointer),
		  FIELD(krdma_conn, private_data_len, priv_len)}},
		{KRDMA_IOC_REJECT,
		 sizeof(krdma_conn),
		 2,
		 {FIELD(krdma_conn, handle, handle), FIELD(krdma_conn, private_data, pointer),
		  FIELD(krdma_conn, private_data_len, priv_len)}},
		{KRDMA_IOC_DISCONNECT,
		 sizeof(krdma_disconnect),
		 3,
		 {FIELD(krdma_disconnect, qp, handle), FIELD(krdma_disconnect, abrupt, flags)}},
	};
	return table;
}

/* of all processes, in memory that they share */
struct Counts {
	std::atomic<std::uint64_t> calls, good;
};

/* what all threads know */
class Shared {
public:
	explicit Shared(const char *address) : address_{address}
	{
		/* alone, far from anything: a region may be larger, and is written to */
		void *all = ::mmap(nullptr, 2 * guard + memory_size, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		rdma::require(all != MAP_FAILED, "mmap");
		memory = static_cast<std::byte *>(all) + guard;
		rdma::must(::mprotect(memory, memory_size, PROT_READ | PROT_WRITE), "mprotect");
		for (auto &file : files_)
			file = std::make_shared<File>();
		index = find_rnic(*files_[0], parse_address(address));
	}

	std::shared_ptr<File> file(std::size_t n)
	{
		const std::lock_guard guard{lock_};

		return files_[n % files_.size()];
	}

	/* the old one is closed by the last thread that uses it */
	void reopen(std::size_t n)
	{
		auto next = std::make_shared<File>();
		const std::lock_guard guard{lock_};

		files_[n % files_.size()].swap(next);
		ports_.clear();
	}

	void add_port(std::uint16_t port)
	{
		const std::lock_guard guard{lock_};

		if (ports_.size() < 64)
			ports_.push_back(port);
	}

	std::uint16_t port(std::size_t n)
	{
		const std::lock_guard guard{lock_};

		return ports_.empty() ? std::uint16_t{0} : ports_[n % ports_.size()];
	}

	[[nodiscard]] const char *address() const
	{
		return address_;
	}

	static constexpr std::size_t memory_size = 1 << 20;
	static constexpr std::size_t guard = 1 << 26;
	std::byte *memory;
	std::uint32_t index;

private:
	const char *address_;
	std::mutex lock_;
	std::array<std::shared_ptr<File>, 3> files_;
	std::vector<std::uint16_t> ports_;
};

class Fuzzer {
public:
	Fuzzer(Shared &shared, Counts &counts, std::uint64_t seed)
		: shared_{shared}, counts_{counts}, random_{seed}
	{
		for (std::size_t i = 0; i < commands().size(); i++)
			deck_.insert(deck_.end(), commands()[i].weight, i);
	}

	void run(std::chrono::steady_clock::time_point end)
	{
		while (std::chrono::steady_clock::now() < end)
			step();
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

	std::uint64_t handle()
	{
		/* numbers go up by one: the last ones are likely to be there */
		if (chance(4))
			return random_();
		if (chance(30) || last_ < 2)
			return 1 + below(12);
		return last_ - below(std::min<std::uint64_t>(last_, 24));
	}

	std::uint64_t pointer()
	{
		static constexpr std::array<std::uint64_t, 5> odd{0, 8, 0xffff888000000000, ~0ULL,
								  1ULL << 47};

		if (chance(6))
			return odd[below(odd.size())];
		return reinterpret_cast<std::uintptr_t>(shared_.memory) +
		       below(Shared::memory_size / 2);
	}

	std::uint64_t length()
	{
		static constexpr std::array<std::uint64_t, 6> some{0,       1,       4096,
								   100'000, 1 << 20, ~0ULL};

		return chance(50) ? below(65536) : some[below(some.size())];
	}

	std::uint64_t value(Kind kind)
	{
		static constexpr std::array<std::uint64_t, 6> lens{0, 8, 16, 24, 56, 512};

		switch (kind) {
		case Kind::handle:
			return handle();
		case Kind::index:
			return chance(90) ? shared_.index : random_();
		case Kind::small:
			return chance(95) ? 1 + below(40) : random_();
		case Kind::flags:
			return chance(90) ? below(4) : random_();
		case Kind::state:
			return below(8);
		case Kind::access:
			return chance(90) ? below(32) : random_();
		case Kind::pointer:
			return pointer();
		case Kind::length:
			return length();
		case Kind::priv_len:
			return chance(50) ? 0 : lens[below(lens.size())];
		case Kind::wrs:
			return work_requests();
		default:
			return chance(50) ? 0 : random_();
		}
	}

	/* in this thread's memory, so that it means something mostly */
	std::uint64_t work_requests()
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
			      .mw = static_cast<std::uint32_t>(handle()),
			      .bind_addr = pointer(),
			      .bind_length = below(5000),
			      .bind_lkey = stag(),
			      .bind_access = static_cast<std::uint32_t>(below(64))};
		}
		return chance(97) ? reinterpret_cast<std::uintptr_t>(wrs_.data()) : pointer();
	}

	std::uint32_t stag()
	{
		return chance(80) ? stag_ : static_cast<std::uint32_t>(random_());
	}

	krdma_addr address()
	{
		krdma_addr addr{};

		if (chance(10))
			return addr;
		if (chance(95))
			addr = parse_address(shared_.address());
		else
			addr.family = static_cast<std::uint16_t>(below(20));
		const std::uint16_t port = shared_.port(below(64));

		addr.port = chance(90) ? port : static_cast<std::uint16_t>(random_());
		return addr;
	}

	void fill(const Command &c)
	{
		buf_.fill(std::byte{});
		for (const Field &f : c.fields) {
			if (f.kind == Kind::address) {
				const krdma_addr addr = address();

				std::memcpy(buf_.data() + f.offset, &addr, sizeof(addr));
				continue;
			}
			const std::uint64_t v = value(f.kind);

			std::memcpy(buf_.data() + f.offset, &v, f.size);
		}
		const std::uint32_t size =
			chance(97) ? c.size : static_cast<std::uint32_t>(below(300));

		std::memcpy(buf_.data(), &size, sizeof(size));
		while (chance(6))
			buf_[4 + below(c.size - 4)] = static_cast<std::byte>(random_());
	}

	/* a new listener's port is free to choose, and to be told to the others */
	void prepare(const Command &c)
	{
		if (c.number == KRDMA_IOC_LISTEN && chance(80)) {
			krdma_listen cmd{};

			std::memcpy(&cmd, buf_.data(), sizeof(cmd));
			cmd.local.port = 0;
			std::memcpy(buf_.data(), &cmd, sizeof(cmd));
		}
	}

	void note(const Command &c)
	{
		for (const Field &f : c.fields)
			if (f.kind == Kind::made) {
				std::uint32_t made = 0;

				std::memcpy(&made, buf_.data() + f.offset, sizeof(made));
				last_ = made;
			}
		if (c.number == KRDMA_IOC_MR) {
			krdma_mr cmd{};

			std::memcpy(&cmd, buf_.data(), sizeof(cmd));
			stag_ = cmd.stag;
		} else if (c.number == KRDMA_IOC_LISTEN) {
			krdma_listen cmd{};

			std::memcpy(&cmd, buf_.data(), sizeof(cmd));
			shared_.add_port(cmd.local.port);
		}
	}

	/* what a program does first, so that there is something to be wrong with */
	void build(const File &file)
	{
		try {
			const Context ctx{file, shared_.address()};
			const krdma_qp qp = make_qp(file, ctx);
			const krdma_listen l = make_listener(file, ctx, shared_.address());

			shared_.add_port(l.local.port);
			last_ = l.handle;
			start_connect(file, qp.handle, l.local);
		} catch (const std::exception &) {
			/* another thread has destroyed a part of it already */
		}
	}

	void read_events(const File &file)
	{
		std::array<std::byte, 700> room{};

		/* whoever opened it */
		::fcntl(file.fd(), F_SETFL, O_NONBLOCK);
		const ssize_t n = ::read(file.fd(), room.data(), below(room.size()));

		if (n < static_cast<ssize_t>(sizeof(krdma_conn_event)))
			return;
		krdma_event base{};

		std::memcpy(&base, room.data(), sizeof(base));
		if (base.type == KRDMA_EVENT_CONN_REQUEST)
			std::memcpy(&last_, room.data() + offsetof(krdma_conn_event, conn), 4);
	}

	void map(const File &file)
	{
		const std::size_t octets = 4096 * (1 + below(4));
		void *at = ::mmap(nullptr, octets, PROT_READ | PROT_WRITE,
				  chance(90) ? MAP_SHARED : MAP_PRIVATE, file.fd(),
				  static_cast<off_t>(4096 * below(64)));

		if (at == MAP_FAILED)
			return;
		/* a ring that another program's library would not write so */
		for (int i = 0; i < 20; i++)
			static_cast<volatile std::uint32_t *>(at)[below(octets / 4)] =
				static_cast<std::uint32_t>(chance(50) ? below(64) : random_());
		::munmap(at, octets);
	}

	void step()
	{
		const std::size_t n = below(3);
		const auto file = shared_.file(n);

		if (below(3000) == 0) {
			shared_.reopen(n);
			return;
		}
		if (chance(1))
			build(*file);
		if (chance(4))
			read_events(*file);
		if (chance(3))
			map(*file);
		const Command &c = commands()[deck_[below(deck_.size())]];

		fill(c);
		prepare(c);
		counts_.calls++;
		if (file->raw(c.number, buf_.data()) == 0) {
			counts_.good++;
			note(c);
		}
	}

	Shared &shared_;
	Counts &counts_;
	std::mt19937_64 random_;
	std::vector<std::size_t> deck_;
	alignas(8) std::array<std::byte, 4096> buf_{};
	std::array<krdma_wr, 4> wrs_{};
	std::array<krdma_sge, 4> sges_{};
	std::uint32_t last_ = 0;
	std::uint32_t stag_ = 0;
};

/* the threads of one process, until @end */
void fuzz(const char *address, std::uint64_t seed, Counts &counts,
	  std::chrono::steady_clock::time_point end)
{
	Shared shared{address};
	std::vector<std::thread> threads;

	for (unsigned int i = 0; i < 4; i++)
		threads.emplace_back([&shared, &counts, seed, i, end] {
			Fuzzer{shared, counts, seed + i}.run(end);
		});
	for (auto &thread : threads)
		thread.join();
}

/*
 * In a child: an address that is changed at random may be one of the program's own, and
 * what the kernel then writes there, as it was told, may end it. Return: it ran to the end.
 */
bool fuzz_in_child(const char *address, std::uint64_t seed, Counts &counts,
		   std::chrono::steady_clock::time_point end)
{
	const pid_t child = ::fork();
	int status = 0;

	rdma::require(child >= 0, "fork");
	if (child == 0) {
		try {
			fuzz(address, seed, counts, end);
		} catch (const std::exception &e) {
			std::fprintf(stderr, "failed: %s\n", e.what());
			::_exit(1);
		}
		::_exit(0);
	}
	rdma::require(::waitpid(child, &status, 0) == child, "waitpid");
	rdma::require(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "the child works");
	return !WIFSIGNALED(status);
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::fprintf(stderr, "usage: %s SECONDS SEED ADDRESS\n", argv[0]);
		return 2;
	}
	try {
		const auto end =
			std::chrono::steady_clock::now() + std::chrono::seconds{std::atoi(argv[1])};
		auto seed = std::strtoull(argv[2], nullptr, 0);
		void *page = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		int lost = 0;

		rdma::require(page != MAP_FAILED, "mmap");
		Counts &counts = *new (page) Counts{};

		for (; !fuzz_in_child(argv[3], seed, counts, end); seed += 1000)
			lost++;
		std::printf("%llu commands, %llu succeeded, %d processes lost\n",
			    static_cast<unsigned long long>(counts.calls),
			    static_cast<unsigned long long>(counts.good), lost);
		/* one that succeeds in nothing tests nothing */
		return counts.good * 50 < counts.calls;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "failed: %s\n", e.what());
		return 1;
	}
}
