/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The module parameters. The administrator can set all of them at run time under
 * /sys/module/krdma_soft/parameters. Defaults and descriptions are in params.c.
 */
#ifndef SOFT_PARAMS_H
#define SOFT_PARAMS_H

#include <linux/types.h>

/* largest value of tx_blocks */
#define SOFT_TX_PAGES_MAX	1024U

/* copy_vectors */
#define SOFT_COPY_VECTORS_OFF		0
#define SOFT_COPY_VECTORS_AUTO		1
#define SOFT_COPY_VECTORS_ALWAYS	2

/** enum soft_same_host - which streams may leave TCP, parameter same_host */
enum soft_same_host {
	SOFT_SAME_HOST_OFF,
	SOFT_SAME_HOST_NETNS,	/* both ends in one network namespace */
	SOFT_SAME_HOST_ANY,
};

extern unsigned int soft_tx_batch_bytes;
extern unsigned int soft_tx_inline_bytes;
extern unsigned int soft_tx_gather_us;
extern unsigned int soft_tx_hasty_posts;
extern bool soft_kernel_inline;
extern unsigned int soft_tx_blocks;
/* largest value of tx_pollers: most works that a workqueue runs, WQ_MAX_ACTIVE of old kernels */
#define SOFT_POLLERS_MAX	512
extern unsigned int soft_tx_pollers;
extern unsigned int soft_tx_poll_us;
extern unsigned int soft_rx_inline_bytes;
extern unsigned int soft_rx_wait_ms;
extern unsigned int soft_close_timeout_ms;
extern bool soft_comp_affinity;
extern unsigned int soft_copy_string_min;
extern unsigned int soft_copy_vectors;
extern unsigned int soft_copy_vector_min;
extern unsigned int soft_poll_yield;
extern unsigned int soft_same_host;

#endif /* SOFT_PARAMS_H */
