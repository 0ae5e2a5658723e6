/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the kernel has, by scripts/kernel-features: of 3212230259 13256 */
#define KRDMA_HAVE_DST_RT6_INFO 1
#define KRDMA_HAVE_LOOKUP_HASHINFO 1
#define KRDMA_HAVE_RECVMSG_ADDR_LEN 1
#define KRDMA_HAVE_RESIZE_KERNEL_CQ 1
