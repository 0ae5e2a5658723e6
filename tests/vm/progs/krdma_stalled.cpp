/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * krdma_stalled ADDRESS COMMAND: a command of /dev/krdma that waits for memory. The memory
 * belongs to a userfaultfd whose faults are not answered. The program prints "stalled" when
 * the command waits. After a line of input it answers the faults and prints the errno of the
 * command.
 */
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <krdma/soft-abi.h>

#include "chardev.hpp"

namespace {

constexpr std::size_t page = 4096;

/** class Silent - a page whose fault is not handled before answer() */
class Silent {
public:
	Silent() : fd_{static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC))}
	{
		uffdio_api api{};
		uffdio_register range{};

		if (fd_ < 0)
			rdma::fail_errno("userfaultfd", errno);
		memory_ = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		api.api = UFFD_API;
		range.range.start = address();
		range.range.len = page;
		range.mode = UFFDIO_REGISTER_MODE_MISSING;
		if (memory_ == MAP_FAILED || ::ioctl(fd_, UFFDIO_API, &api) ||
		    ::ioctl(fd_, UFFDIO_REGISTER, &range))
			rdma::fail_errno("userfaultfd's memory", errno);
	}
	Silent(const Silent &) = delete;
	Silent &operator=(const Silent &) = delete;
	Silent(Silent &&) = delete;
	Silent &operator=(Silent &&) = delete;
	~Silent()
	{
		::munmap(memory_, page);
	}

	[[nodiscard]] std::uint64_t address() const
	{
		return reinterpret_cast<std::uintptr_t>(memory_);
	}
	/* wait until a thread has a fault there */
	void wait_asked() const
	{
		uffd_msg msg{};

		if (::read(fd_, &msg, sizeof(msg)) != sizeof(msg) ||
		    msg.event != UFFD_EVENT_PAGEFAULT)
			rdma::fail_errno("userfaultfd's event", errno);
	}
	void answer() const
	{
		::close(fd_);
	}

private:
	int fd_;
	void *memory_ = nullptr;
};

using Command = int (*)(const chardev::File &file, const chardev::Context &ctx,
			std::uint64_t silent);

int make_region(const chardev::File &file, std::uint32_t pd, std::uint64_t start, krdma_mr &mr)
{
	mr = {};
	mr.pd = pd;
	mr.start = start;
	mr.iova = start;
	mr.length = page;
	mr.access = 1; /* local write */
	return file.try_call(KRDMA_IOC_MR, mr);
}

int region(const chardev::File &file, const chardev::Context &ctx, std::uint64_t silent)
{
	krdma_mr mr;

	return make_region(file, ctx.pd, silent, mr);
}

int change_region(const chardev::File &file, const chardev::Context &ctx, std::uint64_t silent)
{
	alignas(page) static std::byte there[page];
	krdma_mr_reregister change{};
	krdma_mr mr;
	const int err = make_region(file, ctx.pd, reinterpret_cast<std::uintptr_t>(there), mr);

	if (err)
		return err;
	change.handle = mr.handle;
	change.mask = KRDMA_REREG_TRANSLATION;
	change.start = silent;
	change.iova = silent;
	change.length = page;
	return file.try_call(KRDMA_IOC_MR_REREGISTER, change);
}

/* a context that is not slow: the provider's answer is stored in separate memory */
int open_context(const chardev::File &file, const chardev::Context &ctx, std::uint64_t out)
{
	krdma_context cmd{};

	cmd.index = ctx.index;
	cmd.priv.out = out;
	cmd.priv.out_len = sizeof(krdma_soft_ucontext_resp);
	return file.try_call(KRDMA_IOC_CONTEXT, cmd);
}

int context(const chardev::File &file, const chardev::Context &ctx, std::uint64_t silent)
{
	return open_context(file, ctx, silent);
}

std::uint32_t fast_context(const chardev::File &file, const chardev::Context &ctx)
{
	krdma_soft_ucontext_resp resp{};
	krdma_context cmd{};

	cmd.index = ctx.index;
	cmd.priv.out = reinterpret_cast<std::uintptr_t>(&resp);
	cmd.priv.out_len = sizeof(resp);
	file.call(KRDMA_IOC_CONTEXT, cmd);
	return cmd.handle;
}

int queue(const chardev::File &file, const chardev::Context &ctx, std::uint64_t silent)
{
	krdma_cq cq{};

	cq.context = fast_context(file, ctx);
	cq.depth = 16;
	cq.priv.out = silent;
	cq.priv.out_len = sizeof(krdma_soft_cq_resp);
	return file.try_call(KRDMA_IOC_CQ, cq);
}

/* the address of the answer is in the bytes that the provider reads */
int resize(const chardev::File &file, const chardev::Context &ctx, std::uint64_t silent)
{
	krdma_soft_modify_srq_req req{};
	krdma_soft_srq_resp resp{};
	krdma_srq_attr change{};
	krdma_srq srq{};
	krdma_pd pd{};

	pd.context = fast_context(file, ctx);
	file.call(KRDMA_IOC_PD, pd);
	srq.pd = pd.handle;
	srq.max_wr = 16;
	srq.max_sge = 1;
	srq.priv.out = reinterpret_cast<std::uintptr_t>(&resp);
	srq.priv.out_len = sizeof(resp);
	file.call(KRDMA_IOC_SRQ, srq);
	req.step = KRDMA_SOFT_RESIZE_PREPARE;
	req.resp = silent;
	change.handle = srq.handle;
	change.mask = KRDMA_SRQ_MAX_WR;
	change.max_wr = 64;
	change.priv.in = reinterpret_cast<std::uintptr_t>(&req);
	change.priv.in_len = sizeof(req);
	return file.try_call(KRDMA_IOC_SRQ_MODIFY, change);
}

Command command(const std::string &name)
{
	if (name == "region")
		return region;
	if (name == "change")
		return change_region;
	if (name == "context")
		return context;
	if (name == "queue")
		return queue;
	if (name == "resize")
		return resize;
	rdma::fail("no such command: " + name);
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::fprintf(stderr, "usage: %s ADDRESS region|change|context|queue|resize\n",
			     argv[0]);
		return 2;
	}
	try {
		const Command run = command(argv[2]);
		const chardev::File file;
		const chardev::Context ctx{file, argv[1]};
		const Silent silent;
		int err = 0;
		std::thread caller{[&] { err = run(file, ctx, silent.address()); }};

		silent.wait_asked();
		std::puts("stalled");
		std::fflush(stdout);
		std::getchar();
		silent.answer();
		caller.join();
		std::printf("answer: %s\n", err ? std::strerror(err) : "done");
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
	return 0;
}
