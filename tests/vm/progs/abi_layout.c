// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The layout of the ABI of /dev/krdma, for a 64-bit and a 32-bit compiler. The kernel checks
 * the same numbers. The program is compiled, with warnings of padding, and never run. It does
 * not include <assert.h>, which needs a 32-bit libc.
 */
#include <stddef.h>

#include <krdma/krdma-abi.h>

#define static_assert _Static_assert
#include <krdma/krdma-abi-layout.h>
