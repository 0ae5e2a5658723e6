// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A 32-bit program that uses /dev/krdma on a 64-bit kernel: commands with pointers in both
 * directions, a region of its memory, events. It uses no libc, because a 64-bit host may have
 * no 32-bit libc. The exit status is 0, or the number of the line that failed.
 */
#include <stddef.h>

#include <linux/errno.h>
#include <linux/fcntl.h>

#include <krdma/krdma-abi.h>

_Static_assert(sizeof(void *) == 4, "32 bits");

/* i386's */
enum { sys_exit = 1, sys_read = 3, sys_open = 5, sys_ioctl = 54 };

static long call(long number, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory");
	return ret;
}

#define CHECK(ok)                                                              \
	do {                                                                   \
		if (!(ok))                                                     \
			call(sys_exit, __LINE__, 0, 0);                        \
	} while (0)

static long command(long fd, unsigned long number, void *arg)
{
	return call(sys_ioctl, fd, (long)number, (long)arg);
}

static void destroy(long fd, __u32 handle)
{
	struct krdma_destroy cmd = { .size = sizeof(cmd), .handle = handle };

	CHECK(command(fd, KRDMA_IOC_DESTROY, &cmd) == 0);
	CHECK(command(fd, KRDMA_IOC_DESTROY, &cmd) == -ENOENT);
}

static char memory[8192];

__attribute__((noreturn, force_align_arg_pointer)) void _start(void)
{
	static struct krdma_rnic_entry entries[4];
	struct krdma_rnic_list list = { .size = sizeof(list), .count = 4 };
	struct krdma_context context = { .size = sizeof(context), .flags = KRDMA_SLOW };
	struct krdma_pd pd = { .size = sizeof(pd) };
	struct krdma_cq cq = { .size = sizeof(cq), .depth = 16 };
	struct krdma_mr mr = { .size = sizeof(mr) };
	static struct krdma_event event;
	long fd = call(sys_open, (long)KRDMA_DEVICE, O_RDWR | O_NONBLOCK, 0);

	CHECK(fd >= 0);
	list.entries = (unsigned long)entries;
	CHECK(command(fd, KRDMA_IOC_RNIC_LIST, &list) == 0);
	CHECK(list.count >= 1 && entries[0].index && entries[0].name[0]);
	list.size = 4;
	CHECK(command(fd, KRDMA_IOC_RNIC_LIST, &list) == -EINVAL);

	context.index = entries[0].index;
	CHECK(command(fd, KRDMA_IOC_CONTEXT, &context) == 0);
	pd.context = context.handle;
	CHECK(command(fd, KRDMA_IOC_PD, &pd) == 0);
	cq.context = context.handle;
	CHECK(command(fd, KRDMA_IOC_CQ, &cq) == 0 && cq.depth >= 16);
	mr.pd = pd.handle;
	mr.access = KRDMA_ACCESS_LOCAL_WRITE | KRDMA_ACCESS_REMOTE_READ;
	mr.start = (unsigned long)memory;
	mr.iova = mr.start;
	mr.length = sizeof(memory);
	CHECK(command(fd, KRDMA_IOC_MR, &mr) == 0 && mr.stag);
	CHECK(call(sys_read, fd, (long)&event, sizeof(event)) == -EAGAIN);

	/* an address that a 32-bit program cannot have */
	destroy(fd, mr.handle);
	mr.start = 1ULL << 40;
	CHECK(command(fd, KRDMA_IOC_MR, &mr) == -EFAULT);
	destroy(fd, cq.handle);
	destroy(fd, pd.handle);
	destroy(fd, context.handle);
	call(sys_exit, 0, 0, 0);
	__builtin_unreachable();
}
