// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_sdp: the module, its parameters and counters. It is a road of krdma_ops, see road/, and
 * makes no socket for programs itself.
 *
 * Connections that use the road pin the module. Hidden sockets that TCP has closed do not:
 * unloading ends their connections and waits for them.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "road/road.h"

/* Parameters ******************************************************************************* */

unsigned int sdp_buffer_size = 32768;
unsigned int sdp_rcvbuf = 262144;
unsigned int sdp_sndbuf = 262144;
unsigned int sdp_send_queue = 64;
unsigned int sdp_zcopy_thresh = 65536;
unsigned int sdp_zcopy_thresh_soft = 131072;
unsigned int sdp_zcopy_thresh_adopted;
unsigned int sdp_zcopy_patience_ms = 200;
unsigned int sdp_zcopy_write;
unsigned int sdp_connect_timeout_s = 60;
unsigned int sdp_close_timeout_s = 60;

module_param_named(port, sdp_ot_port, ushort, 0444);
MODULE_PARM_DESC(port,
		 "Port of the transport at which devices listen, below 1024 (default 1017)");

struct sdp_limits {
	unsigned int least;
	unsigned int most;
	unsigned int *value;
};

static int sdp_param_set(const char *text, const struct kernel_param *param)
{
	const struct sdp_limits *limits = param->arg;
	unsigned int value;
	int rc;

	rc = kstrtouint(text, 0, &value);
	if (rc)
		return rc;
	if (value < limits->least || value > limits->most)
		return -EINVAL;
	WRITE_ONCE(*limits->value, value);
	return 0;
}

static int sdp_param_get(char *text, const struct kernel_param *param)
{
	const struct sdp_limits *limits = param->arg;

	return sysfs_emit(text, "%u\n", READ_ONCE(*limits->value));
}

static const struct kernel_param_ops sdp_param_ops = {
	.set = sdp_param_set,
	.get = sdp_param_get,
};

#define SDP_PARAM(name_, least_, most_, text_)						\
	static const struct sdp_limits sdp_##name_##_limits = { least_, most_, &sdp_##name_ };	\
	module_param_cb(name_, &sdp_param_ops, (void *)&sdp_##name_##_limits, 0644);		\
	MODULE_PARM_DESC(name_, text_)

SDP_PARAM(buffer_size, 1024, 65536, "Largest message, bytes (default 32768)");
SDP_PARAM(rcvbuf, 4096, 16 << 20,
	  "Receive buffer of a connection without SO_RCVBUF, bytes (default 262144)");
SDP_PARAM(sndbuf, 4096, 16 << 20,
	  "Send buffer of a connection without SO_SNDBUF, bytes (default 262144)");
SDP_PARAM(send_queue, 16, 1024, "Work requests of a connection at a time (default 64)");
SDP_PARAM(zcopy_thresh, 0, 1 << 30,
	  "Bytes of a blocking send that goes without copies, 0: none (default 65536)");
SDP_PARAM(zcopy_thresh_soft, 0, 1 << 30, "... on krdma_soft (default 131072)");
SDP_PARAM(zcopy_thresh_adopted, 0, 1 << 30,
	  "... on siw and rxe, which krdma_hw has adopted (default 0)");
SDP_PARAM(zcopy_patience_ms, 1, 60000,
	  "Time without a byte that the peer reads, ms; the rest is copied (default 200)");
SDP_PARAM(zcopy_write, 0, 1,
	  "Receives that wait let the peer write into their memory: 0 or 1 (default 0)");
SDP_PARAM(connect_timeout_s, 1, 600, "Time for opening a road, seconds (default 60)");
SDP_PARAM(close_timeout_s, 1, 600, "Time from close() to an abort, seconds (default 60)");

/* Counters ********************************************************************************* */

static DEFINE_PER_CPU(u64[SDP_COUNTERS], sdp_counters);

static const char *const sdp_counter_names[SDP_COUNT_FAULT] = {
	[SDP_COUNT_OPENS] = "opens",
	[SDP_COUNT_OPENED] = "opened",
	[SDP_COUNT_ACCEPTED] = "accepted",
	[SDP_COUNT_REFUSED] = "refused",
	[SDP_COUNT_UNKNOWN] = "unknown",
	[SDP_COUNT_LATER] = "later",
	[SDP_COUNT_BAD_HELLO] = "bad-hello",
	[SDP_COUNT_NO_MEMORY] = "no-memory",
	[SDP_COUNT_FAULTS] = "faults",
	[SDP_COUNT_RESETS] = "resets",
	[SDP_COUNT_TIMEOUTS] = "timeouts",
	[SDP_COUNT_TX_COPIED] = "tx-copied",
	[SDP_COUNT_TX_READ] = "tx-read",
	[SDP_COUNT_TX_WRITTEN] = "tx-written",
	[SDP_COUNT_RX_COPIED] = "rx-copied",
	[SDP_COUNT_RX_READ] = "rx-read",
	[SDP_COUNT_RX_WRITTEN] = "rx-written",
	[SDP_COUNT_ZCOPY_OFFERS] = "zcopy-offers",
	[SDP_COUNT_ZCOPY_REFUSALS] = "zcopy-refusals",
	[SDP_COUNT_ZCOPY_CUTS] = "zcopy-cuts",
	[SDP_COUNT_ZCOPY_SINKS] = "zcopy-sinks",
	[SDP_COUNT_ZCOPY_CANCELS] = "zcopy-cancels",
	[SDP_COUNT_ZCOPY_FAILURES] = "zcopy-failures",
};

void sdp_count_more(enum sdp_counter which, u32 n)
{
	this_cpu_add(sdp_counters[which], n);
}

static u64 sdp_counted(enum sdp_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(sdp_counters, cpu)[which]);
	return sum;
}

static int sdp_counters_show(struct seq_file *seq, void *v)
{
	u32 listening, pending;
	int i;

	for (i = 0; i < SDP_COUNT_FAULT; i++)
		seq_printf(seq, "%s %llu\n", sdp_counter_names[i], sdp_counted(i));
	for (; i < SDP_COUNTERS; i++)
		seq_printf(seq, "fault-%s %llu\n", sdp_wire_fault_name(i - SDP_COUNT_FAULT + 1),
			   sdp_counted(i));
	/* hidden sockets that there are now */
	seq_printf(seq, "sockets %u\n", sdp_sock_count());
	/* devices */
	sdp_ot_listeners(&listening, &pending);
	seq_printf(seq, "listeners %u\nlisteners-pending %u\n", listening, pending);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sdp_counters);

/* Begin and end **************************************************************************** */

struct workqueue_struct *sdp_queue;

static struct dentry *sdp_debugfs;

static int __init sdp_init(void)
{
	int rc;

	/* what one socket waits for does not keep others from their ends */
	sdp_queue = alloc_workqueue("krdma_sdp", WQ_UNBOUND, 0);
	if (!sdp_queue)
		return -ENOMEM;
	rc = sdp_ot_init(&sdp_rendezvous_user);
	if (rc)
		goto no_ot;
	rc = sdp_ot_kdapl_init();
	if (rc)
		goto no_kdapl;
	rc = sdp_rendezvous_init();
	if (rc)
		goto no_rendezvous;
	rc = offload_register_road(&sdp_road);
	if (rc)
		goto no_road;
	sdp_debugfs = debugfs_create_dir("krdma_sdp", NULL);
	debugfs_create_file("counters", 0444, sdp_debugfs, NULL, &sdp_counters_fops);
	return 0;

no_road:
	sdp_rendezvous_exit();
no_rendezvous:
	sdp_ot_kdapl_exit();
	sdp_sock_wait_all();
	sdp_ot_kdapl_free();
no_kdapl:
	sdp_ot_exit();
no_ot:
	destroy_workqueue(sdp_queue);
	return rc;
}

static void __exit sdp_exit(void)
{
	debugfs_remove(sdp_debugfs);
	offload_unregister_road(&sdp_road);
	sdp_rendezvous_exit();
	/* ends all connections; then their sockets go */
	sdp_ot_kdapl_exit();
	sdp_sock_wait_all();
	sdp_ot_exit();
	sdp_ot_kdapl_free();
	destroy_workqueue(sdp_queue);
}

module_init(sdp_init);
module_exit(sdp_exit);

MODULE_DESCRIPTION("krdma Sockets Direct Protocol");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
