/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header: addresses from text. For tests/unit only. */
#ifndef COMPAT_LINUX_INET_H
#define COMPAT_LINUX_INET_H

#include <arpa/inet.h>
#include <string.h>

#include <linux/types.h>

static inline int compat_pton(int family, const char *src, int n, u8 *dst, const char **end)
{
	char text[64];

	if (n >= (int)sizeof(text))
		return 0;
	memcpy(text, src, n);
	text[n] = '\0';
	*end = src + n;
	return inet_pton(family, text, dst) == 1;
}

static inline int in4_pton(const char *src, int n, u8 *dst, int delim, const char **end)
{
	return compat_pton(AF_INET, src, n, dst, end);
}

static inline int in6_pton(const char *src, int n, u8 *dst, int delim, const char **end)
{
	return compat_pton(AF_INET6, src, n, dst, end);
}

#endif
