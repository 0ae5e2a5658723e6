/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Includes the files of the network stack interface into the test module. They export nothing
 * here. Runs only in the kernel.
 */
#ifndef NET_FAKES_H
#define NET_FAKES_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/export.h>

#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)	static_assert(__same_type(symbol, symbol))

#endif /* NET_FAKES_H */
