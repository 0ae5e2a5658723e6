/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * libkrun.so: socket() of AF_INET or AF_INET6 for a stream of TCP asks krdma_ops instead. krun
 * preloads it. The kernel does all the rest, so that no other function is wrapped, and descriptors
 * may be inherited, duplicated and passed on.
 *
 * C, because it is loaded into every program and must bring no library with it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WILDCARD 258 /* IPPROTO_OFFLOAD */
#define SWITCH 19    /* AF_INET_OFFLOAD: AF_INET knows the wildcard alone, not each protocol */

static struct {
	bool off;
	int family;   /* in place of AF_INET; 0: none */
	int protocol; /* with that family; 0: the program's own number, the wildcard */
	int (*next)(int family, int type, int protocol);
} krun;

static int krun_number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : 0;
}

/* Another library's constructor may call socket() before this: that makes a plain one. */
__attribute__((constructor)) static void krun_begin(void)
{
	const char *mode = getenv("KRUN");

	krun.next = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	krun.family = krun_number("KRUN_FAMILY");
	krun.protocol = krun_number("KRUN_PROTOCOL");
	if (krun.protocol && !krun.family)
		krun.family = SWITCH;
	krun.off = mode && (!strcmp(mode, "off") || !strcmp(mode, "0"));
}

static bool krun_wanted(int family, int type, int protocol)
{
	return krun.next && !krun.off && (family == AF_INET || family == AF_INET6) &&
	       (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM &&
	       (protocol == 0 || protocol == IPPROTO_TCP);
}

/* what a kernel without krdma_ops says */
static bool krun_unknown(int error)
{
	return error == EPROTONOSUPPORT || error == EINVAL || error == EAFNOSUPPORT ||
	       error == ESOCKTNOSUPPORT;
}

static int krun_plain(int family, int type, int protocol)
{
	if (krun.next)
		return krun.next(family, type, protocol);
	return (int)syscall(SYS_socket, family, type, protocol);
}

int socket(int family, int type, int protocol)
{
	const int error = errno;
	int fd;

	if (!krun_wanted(family, type, protocol))
		return krun_plain(family, type, protocol);
	if (krun.family && family == AF_INET)
		fd = krun_plain(krun.family, type, krun.protocol ? krun.protocol : protocol);
	else
		fd = krun_plain(family, type, WILDCARD);
	if (fd >= 0 || !krun_unknown(errno))
		return fd;
	errno = error;
	return krun_plain(family, type, protocol);
}
