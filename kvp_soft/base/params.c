// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module parameters, their defaults and descriptions.
 */
#include <linux/module.h>
#include <krdma/uint_param.h>

#include "params.h"

unsigned int soft_tx_batch_bytes = 128 * 1024;
KRDMA_UINT_PARAM(tx_batch_bytes, soft_tx_batch_bytes, 1, UINT_MAX);
MODULE_PARM_DESC(tx_batch_bytes,
		 "bytes of FPDUs that are collected for one send call of TCP (131072)");

unsigned int soft_tx_inline_bytes = 256 * 1024;
module_param_named(tx_inline_bytes, soft_tx_inline_bytes, uint, 0644);
MODULE_PARM_DESC(tx_inline_bytes,
		 "bytes that a doorbell call sends itself before a worker takes over, and that a worker sends before other queue pairs have their turn (262144)");

bool soft_kernel_inline = true;
module_param_named(kernel_inline, soft_kernel_inline, bool, 0644);
MODULE_PARM_DESC(kernel_inline,
		 "send in the post call of a kernel consumer, if the consumer said that it may sleep there; N: a worker sends (Y)");

unsigned int soft_tx_gather_us = 50;
module_param_named(tx_gather_us, soft_tx_gather_us, uint, 0644);
MODULE_PARM_DESC(tx_gather_us,
		 "time in us for collecting the work requests of a busy poster: they wait for half of it if the program does nothing, for 1.5 times it while the program goes on posting, and for 3.5 times it if the program uses several queue pairs or has collected 16 or more; 0: never (50)");

unsigned int soft_tx_hasty_posts = 8;
KRDMA_UINT_PARAM(tx_hasty_posts, soft_tx_hasty_posts, 1, UINT_MAX);
MODULE_PARM_DESC(tx_hasty_posts,
		 "doorbells in a row, without waiting in between, that make a program a busy poster (8)");

unsigned int soft_tx_blocks = 256;
KRDMA_UINT_PARAM(tx_blocks, soft_tx_blocks, 0, SOFT_TX_PAGES_MAX);
MODULE_PARM_DESC(tx_blocks,
		 "blocks of 32 KiB that each CPU keeps for new FPDUs after the peer has acknowledged the old ones; given back when memory is short; 0 to 1024 (256)");

unsigned int soft_tx_pollers;
KRDMA_UINT_PARAM(tx_pollers, soft_tx_pollers, 0, SOFT_POLLERS_MAX);
MODULE_PARM_DESC(tx_pollers,
		 "number of queue pairs that a thread each polls for posted work requests, so that posting takes no system call; each wants a CPU of its own; 0 to 512 (0)");

unsigned int soft_tx_poll_us = 100;
module_param_named(tx_poll_us, soft_tx_poll_us, uint, 0644);
MODULE_PARM_DESC(tx_poll_us,
		 "time in us without a post after which a polling thread ends (100)");

unsigned int soft_rx_inline_bytes = 16 * 1024;
module_param_named(rx_inline_bytes, soft_rx_inline_bytes, uint, 0644);
MODULE_PARM_DESC(rx_inline_bytes,
		 "up to this many waiting bytes the receiver runs in softirq, above that in a worker (16384)");

unsigned int soft_rx_wait_ms = 3000;
module_param_named(rx_wait_ms, soft_rx_wait_ms, uint, 0644);
MODULE_PARM_DESC(rx_wait_ms,
		 "time in ms for which a Send waits for a posted receive before it is refused; 0: refuse at once (3000)");

unsigned int soft_close_timeout_ms = 5000;
module_param_named(close_timeout_ms, soft_close_timeout_ms, uint, 0644);
MODULE_PARM_DESC(close_timeout_ms,
		 "time in ms for the last bytes of a closing stream; then the stream is reset (5000)");

bool soft_comp_affinity = true;
module_param_named(comp_affinity, soft_comp_affinity, bool, 0644);
MODULE_PARM_DESC(comp_affinity,
		 "raise completion events of vector n > 0 on CPU n, not on the CPU where the work completed (Y)");

unsigned int soft_copy_string_min = 256;
KRDMA_UINT_PARAM(copy_string_min, soft_copy_string_min, 0, UINT_MAX);
MODULE_PARM_DESC(copy_string_min,
		 "bytes from which payload is copied by a string instruction of the processor (256)");

unsigned int soft_copy_vectors = SOFT_COPY_VECTORS_AUTO;
KRDMA_UINT_PARAM(copy_vectors, soft_copy_vectors, SOFT_COPY_VECTORS_OFF,
		 SOFT_COPY_VECTORS_ALWAYS);
MODULE_PARM_DESC(copy_vectors,
		 "copy payload with vector registers: 0 never, 1 on processors without fast string instructions (no ERMS), 2 always (1)");

unsigned int soft_copy_vector_min = 4096;
KRDMA_UINT_PARAM(copy_vector_min, soft_copy_vector_min, 0, UINT_MAX);
MODULE_PARM_DESC(copy_vector_min,
		 "contiguous bytes from which payload is copied with vector registers (4096)");

unsigned int soft_poll_yield = 16;
KRDMA_UINT_PARAM(poll_yield, soft_poll_yield, 1, UINT_MAX);
MODULE_PARM_DESC(poll_yield,
		 "empty polls of a completion queue in a row after which a thread yields the CPU; for programs that start from then on (16)");

unsigned int soft_same_host = SOFT_SAME_HOST_NETNS;
KRDMA_UINT_PARAM(same_host, soft_same_host, SOFT_SAME_HOST_OFF, SOFT_SAME_HOST_ANY);
MODULE_PARM_DESC(same_host,
		 "streams with both ends on this host bypass TCP with one copy of the payload: 0 none, 1 within a network namespace, 2 all (1)");
