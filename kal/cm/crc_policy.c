// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The policy that decides whether to ask a peer for CRC32c. The parameter mpa_crc sets the
 * default. The parameter mpa_crc_peers overrides it for some peers. Called by the MPA start-up
 * of every connection.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "peers.h"
#include "policy.h"

static bool mpa_crc = true;
module_param(mpa_crc, bool, 0644);
MODULE_PARM_DESC(mpa_crc, "ask for CRC32c; 0: only when the peer asks (default 1)");

/**
 * struct crc_peers - value of the parameter mpa_crc_peers
 * @text: text as the administrator wrote it
 * @num: number of rules
 * @rules: parsed rules
 */
struct crc_peers {
	char *text;
	unsigned int num;
	struct kal_peer_rule rules[KAL_PEER_RULES];
};

static struct crc_peers __rcu *crc_peers;

static void crc_peers_free(struct crc_peers *peers)
{
	if (!peers)
		return;
	kfree(peers->text);
	kfree(peers);
}

/* the module's parameter lock is held around set, get and free */

static int crc_peers_set(const char *val, const struct kernel_param *kp)
{
	struct crc_peers *peers, *old;
	int num;

	peers = kzalloc(sizeof(*peers), GFP_KERNEL);
	if (!peers)
		return -ENOMEM;
	num = kal_peers_parse(val, peers->rules);
	if (num >= 0) {
		peers->num = num;
		peers->text = kstrndup(val, strcspn(val, "\n"), GFP_KERNEL);
	}
	if (!peers->text) {
		crc_peers_free(peers);
		return num < 0 ? num : -ENOMEM;
	}
	old = rcu_replace_pointer(crc_peers, peers, true);
	synchronize_rcu();
	crc_peers_free(old);
	return 0;
}

static int crc_peers_get(char *buffer, const struct kernel_param *kp)
{
	const struct crc_peers *peers = rcu_dereference_protected(crc_peers, true);

	return scnprintf(buffer, PAGE_SIZE, "%s\n", peers ? peers->text : "");
}

/* Called when the module is unloaded. */
static void crc_peers_exit(void *arg)
{
	crc_peers_free(rcu_dereference_protected(crc_peers, true));
	RCU_INIT_POINTER(crc_peers, NULL);
}

static const struct kernel_param_ops crc_peers_ops = {
	.set = crc_peers_set,
	.get = crc_peers_get,
	.free = crc_peers_exit,
};

module_param_cb(mpa_crc_peers, &crc_peers_ops, NULL, 0644);
__MODULE_PARM_TYPE(mpa_crc_peers, "string");
MODULE_PARM_DESC(mpa_crc_peers,
		 "peers for which mpa_crc is not what holds, as 10.0.0.0/8=off,fd00::/8=on; the longest prefix counts (default none)");

/**
 * kal_crc_wanted() - decide whether to ask for CRC32c on a connection
 * @peer: IPv4 or IPv6 address of the peer
 * Context: any in which an RCU read-side section is allowed.
 */
bool kal_crc_wanted(const struct sockaddr_storage *peer)
{
	const bool otherwise = READ_ONCE(mpa_crc);
	const struct crc_peers *peers;
	struct in6_addr addr;

	if (peer->ss_family == AF_INET6)
		addr = ((const struct sockaddr_in6 *)peer)->sin6_addr;
	else
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)peer)->sin_addr.s_addr, &addr);
	guard(rcu)();
	peers = rcu_dereference(crc_peers);
	if (!peers)
		return otherwise;
	return kal_peers_look_up(peers->rules, peers->num, addr.s6_addr, otherwise);
}
