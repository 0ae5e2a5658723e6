/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The stock kernel's configuration without the options for which the kernel's headers need the
 * kernel itself. tests/fuzz/Makefile includes it before everything else.
 */
#undef CONFIG_TRACEPOINTS
#undef CONFIG_FORTIFY_SOURCE
#undef CONFIG_HARDENED_USERCOPY
#undef CONFIG_CC_HAS_KASAN_MEMINTRINSIC_PREFIX
#undef CONFIG_JUMP_LABEL

/* there is no task whose allocations <krdma/noio.h> could limit */
#define KRDMA_NOIO_H
typedef int class_krdma_noio_t;
static inline class_krdma_noio_t class_krdma_noio_constructor(void)
{
	return 0;
}

static inline void class_krdma_noio_destructor(class_krdma_noio_t *none)
{
}
