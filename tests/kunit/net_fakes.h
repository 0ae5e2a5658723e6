/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The network stack interface's files as part of the test module, for tests that include
 * them: they export nothing here. In the kernel only.
 */
#ifndef NET_FAKES_H
#define NET_FAKES_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/export.h>

#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)	static_assert(__same_type(symbol, symbol))

#endif /* NET_FAKES_H */
