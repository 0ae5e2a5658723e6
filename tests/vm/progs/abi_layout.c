// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ABI of /dev/krdma as a 64-bit and a 32-bit program's compiler sees it; the kernel's
 * compares with the same numbers. Compiled, with warnings of padding, and never run. Not
 * <assert.h>, which needs a 32-bit libc.
 */
#include <stddef.h>

#include <krdma/krdma-abi.h>

#define static_assert _Static_assert
#include <krdma/krdma-abi-layout.h>
