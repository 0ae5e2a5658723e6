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
		 "FPDUs are gathered up to this many octets for one send to TCP (131072)");

unsigned int soft_tx_inline_bytes = 256 * 1024;
module_param_named(tx_inline_bytes, soft_tx_inline_bytes, uint, 0644);
MODULE_PARM_DESC(tx_inline_bytes,
		 "octets that the poster's own doorbell call sends before a worker takes over, and that a worker sends before it gives others their turn (262144)");

bool soft_kernel_inline = true;
module_param_named(kernel_inline, soft_kernel_inline, bool, 0644);
MODULE_PARM_DESC(kernel_inline,
		 "what a consumer in the kernel posts to a queue pair of which it said that it may sleep there is sent in that call, not by a worker (Y)");

unsigned int soft_tx_gather_us = 50;
module_param_named(tx_gather_us, soft_tx_gather_us, uint, 0644);
MODULE_PARM_DESC(tx_gather_us,
		 "work requests of one who posts many may wait so long to be gathered, and four times that while he goes on posting; 0: never (50)");

unsigned int soft_tx_hasty_posts = 8;
KRDMA_UINT_PARAM(tx_hasty_posts, soft_tx_hasty_posts, 1, UINT_MAX);
MODULE_PARM_DESC(tx_hasty_posts,
		 "doorbells in a row that do not wait for each other, of one who posts many (8)");

unsigned int soft_tx_blocks = 256;
KRDMA_UINT_PARAM(tx_blocks, soft_tx_blocks, 0, SOFT_TX_PAGES_MAX);
MODULE_PARM_DESC(tx_blocks,
		 "blocks of 32 KiB that a CPU keeps to build FPDUs in again when the peer has acknowledged them, as long as memory is not short; 0 to 1024 (256)");

unsigned int soft_tx_pollers;
KRDMA_UINT_PARAM(tx_pollers, soft_tx_pollers, 0, SOFT_POLLERS_MAX);
MODULE_PARM_DESC(tx_pollers,
		 "so many queue pairs at a time have a thread that looks for what they post, each with a CPU to itself at best, so that posting takes no system call; 0 to 512 (0)");

unsigned int soft_tx_poll_us = 100;
module_param_named(tx_poll_us, soft_tx_poll_us, uint, 0644);
MODULE_PARM_DESC(tx_poll_us,
		 "such a thread ends when nothing was posted for so long (100)");

unsigned int soft_rx_inline_bytes = 16 * 1024;
module_param_named(rx_inline_bytes, soft_rx_inline_bytes, uint, 0644);
MODULE_PARM_DESC(rx_inline_bytes,
		 "octets waiting up to which the receiver runs in softirq, a worker above (16384)");

unsigned int soft_rx_wait_ms = 3000;
module_param_named(rx_wait_ms, soft_rx_wait_ms, uint, 0644);
MODULE_PARM_DESC(rx_wait_ms,
		 "a Send that finds no receive posted waits so long before it is refused; 0 refuses at once (3000)");

unsigned int soft_close_timeout_ms = 5000;
module_param_named(close_timeout_ms, soft_close_timeout_ms, uint, 0644);
MODULE_PARM_DESC(close_timeout_ms,
		 "a stream that has to send its last octets is reset after this time (5000)");

bool soft_comp_affinity = true;
module_param_named(comp_affinity, soft_comp_affinity, bool, 0644);
MODULE_PARM_DESC(comp_affinity,
		 "completion events of vector n > 0 are raised on CPU n, not where the work completed (Y)");

unsigned int soft_copy_string_min = 256;
KRDMA_UINT_PARAM(copy_string_min, soft_copy_string_min, 0, UINT_MAX);
MODULE_PARM_DESC(copy_string_min,
		 "octets from which payload is copied by a string instruction of the processor (256)");

unsigned int soft_copy_vectors = SOFT_COPY_VECTORS_AUTO;
KRDMA_UINT_PARAM(copy_vectors, soft_copy_vectors, SOFT_COPY_VECTORS_OFF,
		 SOFT_COPY_VECTORS_ALWAYS);
MODULE_PARM_DESC(copy_vectors,
		 "payload is copied with vector registers: 0 never, 1 on processors whose string instructions are not fast (no ERMS), 2 always (1)");

unsigned int soft_copy_vector_min = 4096;
KRDMA_UINT_PARAM(copy_vector_min, soft_copy_vector_min, 0, UINT_MAX);
MODULE_PARM_DESC(copy_vector_min,
		 "octets in a row from which that is done (4096)");

unsigned int soft_poll_yield = 16;
KRDMA_UINT_PARAM(poll_yield, soft_poll_yield, 1, UINT_MAX);
MODULE_PARM_DESC(poll_yield,
		 "a thread that polls a completion queue in vain so often in a row lets others run; for programs that begin from then on (16)");

unsigned int soft_same_host = SOFT_SAME_HOST_NETNS;
KRDMA_UINT_PARAM(same_host, soft_same_host, SOFT_SAME_HOST_OFF, SOFT_SAME_HOST_ANY);
MODULE_PARM_DESC(same_host,
		 "streams whose ends are both on this host leave TCP for one copy of the payload: 0 none, 1 those inside of a network namespace, 2 all (1)");
