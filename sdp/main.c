// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_sdp: the module, its families and protocol numbers, parameters and counters.
 *
 * Programs get a socket of SDP by AF_INET_SDP, by AF_INET or AF_INET6 with IPPROTO_SDP, or from the
 * switch (krdma_ops). If the switch has the number of AF_INET_SDP as its alias, that family is the
 * switch's, of which SDP is a protocol.
 *
 * The module has no alias for these numbers: socket() needs no right, and would load the module,
 * its listener and krdma for any user.
 *
 * Sockets of programs pin the module. Sockets that no program has any more, and legs of the switch,
 * do not: unloading ends their connections and waits for them.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <net/inet_common.h>
#include <net/protocol.h>
#include <net/transp_v6.h>

#include "road/road.h"

/* Parameters ******************************************************************************* */

unsigned int sdp_buffer_size = 32768;
unsigned int sdp_rcvbuf = 262144;
unsigned int sdp_sndbuf = 262144;
unsigned int sdp_send_queue = 64;
unsigned int sdp_backlog_mb = 128;
unsigned int sdp_zcopy_thresh = 65536;
unsigned int sdp_zcopy_thresh_soft = 131072;
unsigned int sdp_zcopy_thresh_adopted;
unsigned int sdp_zcopy_patience_ms = 200;
unsigned int sdp_zcopy_write;
unsigned int sdp_connect_timeout_s = 60;
unsigned int sdp_close_timeout_s = 60;

static int sdp_family = AF_INET_SDP;
module_param_named(family, sdp_family, int, 0444);
MODULE_PARM_DESC(family, "Number of AF_INET_SDP; 0: no family of its own (default 27)");

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
SDP_PARAM(rcvbuf, 4096, 16 << 20, "SO_RCVBUF of a new socket, bytes (default 262144)");
SDP_PARAM(sndbuf, 4096, 16 << 20, "SO_SNDBUF of a new socket, bytes (default 262144)");
SDP_PARAM(send_queue, 16, 1024, "Work requests of a connection at a time (default 64)");
SDP_PARAM(backlog_mb, 1, 65536,
	  "Buffers of a listener's connections that wait for accept(), MB (default 128)");
SDP_PARAM(zcopy_thresh, 0, 1 << 30,
	  "Bytes of a blocking send that goes without copies, 0: none (default 65536)");
SDP_PARAM(zcopy_thresh_soft, 0, 1 << 30, "... on krdma_soft (default 131072)");
SDP_PARAM(zcopy_thresh_adopted, 0, 1 << 30,
	  "... on siw and rxe, which krdma_hw has adopted (default 0)");
SDP_PARAM(zcopy_patience_ms, 1, 60000,
	  "Time without a byte that the peer reads, ms; the rest is copied (default 200)");
SDP_PARAM(zcopy_write, 0, 1,
	  "Receives that wait let the peer write into their memory: 0 or 1 (default 0)");
SDP_PARAM(connect_timeout_s, 1, 600, "Time for connect(), seconds (default 60)");
SDP_PARAM(close_timeout_s, 1, 600, "Time from close() to an abort, seconds (default 60)");

/* Counters ********************************************************************************* */

static DEFINE_PER_CPU(u64[SDP_COUNTERS], sdp_counters);

static const char *const sdp_counter_names[SDP_COUNT_FAULT] = {
	[SDP_COUNT_CONNECTS] = "connects",
	[SDP_COUNT_CONNECTED] = "connected",
	[SDP_COUNT_ACCEPTED] = "accepted",
	[SDP_COUNT_REFUSED] = "refused",
	[SDP_COUNT_NO_LISTENER] = "no-listener",
	[SDP_COUNT_BACKLOG] = "backlog-full",
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

u64 sdp_counted(enum sdp_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(sdp_counters, cpu)[which]);
	return sum;
}

const char *sdp_counter_name(enum sdp_counter which)
{
	return sdp_counter_names[which];
}

/* Families ********************************************************************************* */

struct workqueue_struct *sdp_queue;

static int sdp_family_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != 0 && protocol != IPPROTO_TCP && protocol != IPPROTO_SDP)
		return -EPROTONOSUPPORT;
	if (!sdp_sock_new(net, PF_INET, sock, kern))
		return -ENOMEM;
	sock->ops = &sdp_ops;
	sock->state = SS_UNCONNECTED;
	return 0;
}

static struct net_proto_family sdp_family_ops = {
	.create = sdp_family_create,
	.owner = THIS_MODULE,
};

static struct inet_protosw sdp_protosw4 = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_SDP,
	.prot = &sdp_prot,
	.ops = &sdp_ops,
};

#if IS_ENABLED(CONFIG_IPV6)
static struct inet_protosw sdp_protosw6 = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_SDP,
	.prot = &sdp_prot,
	.ops = &sdp_ops6,
};
#endif

/* a leg of the switch */
static int sdp_leg_create(struct net *net, struct socket *sock, int family, bool kern)
{
	struct sdp_sock *ssk = sdp_sock_new(net, family, sock, kern);

	if (!ssk)
		return -ENOMEM;
	ssk->of_ops = true;
	sock->ops = family == AF_INET6 ? &sdp_ops6 : &sdp_ops;
	sock->state = SS_UNCONNECTED;
	return 0;
}

static int sdp_leg_offers(const struct offload_route *route)
{
	struct sockaddr_storage local = *route->source, hop;
	struct sdp_ot_device *device;

	device = sdp_ot_route(route->net, route->destination, &local, sdp_sock_route_if(route),
			      &hop);
	if (IS_ERR(device))
		return PTR_ERR(device);
	device->ot->ops->device_put(device);
	return 0;
}

static const struct offload_protosw sdp_leg_protosw = {
	.owner = THIS_MODULE,
	.name = "sdp",
	.protocol = IPPROTO_SDP,
	.caps = OFFLOAD_RDMA | OFFLOAD_KERNEL_CLIENTS | OFFLOAD_FIRST_HOP,
	.priority = 100,
	.ops = &sdp_ops,
	.ops6 = &sdp_ops6,
	.create = sdp_leg_create,
	.offers = sdp_leg_offers,
	.connect_via = sdp_sock_connect_via,
};

static int sdp_families_register(void)
{
	int rc;

#if IS_ENABLED(CONFIG_IPV6)
	rc = inet6_register_protosw(&sdp_protosw6);
	if (rc)
		return rc;
#endif
	inet_register_protosw(&sdp_protosw4);
	sdp_family_ops.family = sdp_family;
	rc = sdp_family ? sock_register(&sdp_family_ops) : 0;
	if (rc == -EEXIST) {
		pr_info("krdma_sdp: another module has address family %d: SDP's sockets have AF_INET or AF_INET6 and protocol %d\n",
			sdp_family, IPPROTO_SDP);
		sdp_family = 0;
		rc = 0;
	}
	return rc;
}

static void sdp_families_unregister(void)
{
	if (sdp_family)
		sock_unregister(sdp_family);
	inet_unregister_protosw(&sdp_protosw4);
#if IS_ENABLED(CONFIG_IPV6)
	inet6_unregister_protosw(&sdp_protosw6);
#endif
}

/* Begin and end **************************************************************************** */

static int __init sdp_init(void)
{
	int rc;

	if (sdp_family < 0 || sdp_family >= NPROTO)
		return -EINVAL;
	sdp_diag_setup();
	/* what one socket waits for does not keep others from their ends */
	sdp_queue = alloc_workqueue("krdma_sdp", WQ_UNBOUND, 0);
	if (!sdp_queue)
		return -ENOMEM;
	rc = proto_register(&sdp_prot, 1);
	if (rc)
		goto no_proto;
	rc = sdp_diag_init();
	if (rc)
		goto no_diag;
	rc = sdp_ot_init(&sdp_listen_user);
	if (rc)
		goto no_ot;
	rc = sdp_ot_kdapl_init();
	if (rc)
		goto no_kdapl;
	rc = sdp_families_register();
	if (rc)
		goto no_families;
	rc = offload_register_protosw(&sdp_leg_protosw);
	if (rc)
		goto no_leg;
	return 0;

no_leg:
	sdp_families_unregister();
no_families:
	sdp_ot_kdapl_exit();
	sdp_sock_wait_all();
no_kdapl:
	sdp_ot_exit();
	sdp_ot_kdapl_free();
no_ot:
	sdp_diag_exit();
no_diag:
	proto_unregister(&sdp_prot);
no_proto:
	destroy_workqueue(sdp_queue);
	return rc;
}

static void __exit sdp_exit(void)
{
	offload_unregister_protosw(&sdp_leg_protosw);
	sdp_families_unregister();
	/* ends all connections; then their sockets go */
	sdp_ot_kdapl_exit();
	sdp_sock_wait_all();
	sdp_ot_exit();
	sdp_ot_kdapl_free();
	sdp_diag_exit();
	proto_unregister(&sdp_prot);
	destroy_workqueue(sdp_queue);
}

module_init(sdp_init);
module_exit(sdp_exit);

MODULE_DESCRIPTION("krdma Sockets Direct Protocol");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
