/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The stock kernel's configuration, less what its headers would want of the
 * kernel itself. Included before everything else by tests/fuzz/Makefile.
 */
#undef CONFIG_TRACEPOINTS
#undef CONFIG_FORTIFY_SOURCE
#undef CONFIG_HARDENED_USERCOPY
#undef CONFIG_CC_HAS_KASAN_MEMINTRINSIC_PREFIX
#undef CONFIG_JUMP_LABEL
