/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* before 6.12 */
#include <asm/unaligned.h>
