// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What administrators see: /proc/net/sdp, one line for each socket of the namespace, and
 * /proc/net/sdp_stat, the counters of the module.
 *
 * All sockets are in a table; an entry is no reference. A reader holds a bucket's lock to find the
 * next one only.
 */
#include <linux/hash.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp_states.h>

#include "road.h"

#define SDP_DIAG_BITS	8

static struct sdp_diag_bucket {
	spinlock_t lock;	/* protects socks; softirq */
	struct list_head socks;
} sdp_diag_all[1 << SDP_DIAG_BITS];

static struct sdp_diag_bucket *sdp_diag_bucket(const struct sdp_sock *ssk)
{
	return &sdp_diag_all[hash_ptr(ssk, SDP_DIAG_BITS)];
}

void sdp_diag_add(struct sdp_sock *ssk)
{
	struct sdp_diag_bucket *bucket = sdp_diag_bucket(ssk);

	spin_lock_bh(&bucket->lock);
	list_add_tail(&ssk->all, &bucket->socks);
	spin_unlock_bh(&bucket->lock);
}

void sdp_diag_remove(struct sdp_sock *ssk)
{
	struct sdp_diag_bucket *bucket = sdp_diag_bucket(ssk);

	spin_lock_bh(&bucket->lock);
	list_del(&ssk->all);
	spin_unlock_bh(&bucket->lock);
}

/* /proc/net/sdp **************************************************************************** */

/**
 * struct sdp_diag_walk - a reader
 * @net: first member of struct seq_net_private
 * @bucket: where it is
 * @ssk: the present socket, with a reference, or NULL
 */
struct sdp_diag_walk {
	struct seq_net_private net;
	u32 bucket;
	struct sdp_sock *ssk;
};

/* The one after @ssk in a bucket, or the one at @skip; with a reference */
static struct sdp_sock *sdp_diag_find(struct net *net, u32 bucket, struct sdp_sock *ssk, u32 skip)
{
	struct sdp_diag_bucket *b = &sdp_diag_all[bucket];
	struct sdp_sock *i, *found = NULL;

	spin_lock_bh(&b->lock);
	i = ssk ?: list_entry(&b->socks, struct sdp_sock, all);
	list_for_each_entry_continue(i, &b->socks, all) {
		if (!net_eq(sock_net(sdp_sock(i)), net))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		if (refcount_inc_not_zero(&sdp_sock(i)->sk_refcnt)) {
			found = i;
			break;
		}
	}
	spin_unlock_bh(&b->lock);
	return found;
}

/* a position has the bucket in its upper half, and the place in it below, from 1 on */
static void *sdp_diag_go(struct seq_file *seq, loff_t *pos, struct sdp_sock *after)
{
	struct sdp_diag_walk *walk = seq->private;
	u32 skip = after ? 0 : (u32)*pos - !!(u32)*pos;

	walk->bucket = *pos >> 32;
	walk->ssk = NULL;
	while (walk->bucket < ARRAY_SIZE(sdp_diag_all)) {
		walk->ssk = sdp_diag_find(seq_file_net(seq), walk->bucket, after, skip);
		if (walk->ssk)
			break;
		walk->bucket++;
		*pos = (loff_t)walk->bucket << 32 | 1;
		after = NULL;
		skip = 0;
	}
	return walk->ssk;
}

static void *sdp_diag_start(struct seq_file *seq, loff_t *pos)
{
	struct sdp_diag_walk *walk = seq->private;

	walk->ssk = NULL;
	return *pos ? sdp_diag_go(seq, pos, NULL) : SEQ_START_TOKEN;
}

static void *sdp_diag_next(struct seq_file *seq, void *v, loff_t *pos)
{
	struct sdp_diag_walk *walk = seq->private;
	struct sdp_sock *ssk = walk->ssk;
	void *next;

	if (v == SEQ_START_TOKEN) {
		*pos = 1;
		return sdp_diag_go(seq, pos, NULL);
	}
	++*pos;
	next = sdp_diag_go(seq, pos, ssk);
	sock_put(sdp_sock(ssk));
	return next;
}

static void sdp_diag_stop(struct seq_file *seq, void *v)
{
	struct sdp_diag_walk *walk = seq->private;

	if (walk->ssk)
		sock_put(sdp_sock(walk->ssk));
	walk->ssk = NULL;
}

static void sdp_diag_end(struct seq_file *seq, const struct sdp_end *end)
{
	if (ipv6_addr_v4mapped(&end->ip))
		seq_printf(seq, " %pI4:%u", &end->ip.s6_addr32[3], ntohs(end->port));
	else
		seq_printf(seq, " [%pI6c]:%u", &end->ip, ntohs(end->port));
}

static const char *sdp_diag_mode(u8 mode)
{
	static const char *const names[SDP_MODES] = { "buffered", "combined", "pipelined" };

	return mode < SDP_MODES ? names[mode] : "?";
}

/* what a line says of a connection, copied under the lock */
struct sdp_diag_link {
	struct sdp_end hop;
	u8 state;
	u8 fault;
	u8 out_mode;
	u8 in_mode;
	u32 credits;
	u32 posted;
	u32 unread;
	u32 unsent;
	struct sdp_traffic tx;
	struct sdp_traffic rx;
};

static bool sdp_diag_copy(struct sdp_sock *ssk, struct sdp_diag_link *to)
{
	const struct sdp_link *link;

	sdp_lock(ssk);
	link = ssk->link;
	if (link)
		*to = (struct sdp_diag_link){
			.hop = link->hop,
			.state = link->conn.state,
			.fault = link->conn.fault,
			.out_mode = link->conn.source.mode,
			.in_mode = link->conn.sink.mode,
			.credits = link->conn.credit.limit - link->conn.credit.sent,
			.posted = link->conn.credit.posted,
			.unread = link->queued,
			.unsent = sdp_send_unsent(link),
			.tx = link->conn.tx,
			.rx = link->conn.rx,
		};
	sdp_unlock(ssk);
	return link;
}

static int sdp_diag_show(struct seq_file *seq, void *v)
{
	struct sdp_diag_link link;
	struct sdp_sock *ssk = v;
	struct sock *sk;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "local remote tcp-state state mode-out mode-in credits posted unread unsent tx-copied tx-read tx-written rx-copied rx-read rx-written tx-messages rx-messages fault inode hop\n");
		return 0;
	}
	sk = sdp_sock(ssk);
	memset(&link, 0, sizeof(link));
	sdp_diag_copy(ssk, &link);
	sdp_diag_end(seq, &ssk->local);
	sdp_diag_end(seq, &ssk->remote);
	seq_printf(seq, " %d %s %s %s %u %u %u %u", sdp_get_state(sk), sdp_state_name(link.state),
		   sdp_diag_mode(link.out_mode), sdp_diag_mode(link.in_mode), link.credits,
		   link.posted, link.unread, link.unsent);
	seq_printf(seq, " %llu %llu %llu %llu %llu %llu %llu %llu %s %lu", link.tx.bcopy,
		   link.tx.read, link.tx.written, link.rx.bcopy, link.rx.read, link.rx.written,
		   link.tx.messages, link.rx.messages, sdp_wire_fault_name(link.fault),
		   sock_i_ino(sk));
	sdp_diag_end(seq, &link.hop);
	seq_putc(seq, '\n');
	return 0;
}

static const struct seq_operations sdp_diag_ops = {
	.start = sdp_diag_start,
	.next = sdp_diag_next,
	.stop = sdp_diag_stop,
	.show = sdp_diag_show,
};

static int sdp_diag_stat(struct seq_file *seq, void *v)
{
	int i;

	for (i = 0; i < SDP_COUNT_FAULT; i++)
		seq_printf(seq, "%s %llu\n", sdp_counter_name(i), sdp_counted(i));
	for (; i < SDP_COUNTERS; i++)
		seq_printf(seq, "fault-%s %llu\n", sdp_wire_fault_name(i - SDP_COUNT_FAULT + 1),
			   sdp_counted(i));
	return 0;
}

/* Begin and end **************************************************************************** */

static int __net_init sdp_diag_net_init(struct net *net)
{
	if (!proc_create_net("sdp", 0444, net->proc_net, &sdp_diag_ops,
			     sizeof(struct sdp_diag_walk)))
		return -ENOMEM;
	if (!net_eq(net, &init_net))
		return 0;
	if (!proc_create_net_single("sdp_stat", 0444, net->proc_net, sdp_diag_stat, NULL)) {
		remove_proc_entry("sdp", net->proc_net);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit sdp_diag_net_exit(struct net *net)
{
	/*
	 * The transports have ended the connections of the namespace. What is left of closed
	 * sockets of the kernel goes now: they have no reference on the namespace.
	 */
	flush_workqueue(sdp_queue);
	if (net_eq(net, &init_net))
		remove_proc_entry("sdp_stat", net->proc_net);
	remove_proc_entry("sdp", net->proc_net);
}

static struct pernet_operations sdp_diag_net_ops = {
	.init = sdp_diag_net_init,
	.exit = sdp_diag_net_exit,
};

void sdp_diag_setup(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sdp_diag_all); i++) {
		spin_lock_init(&sdp_diag_all[i].lock);
		INIT_LIST_HEAD(&sdp_diag_all[i].socks);
	}
}

int sdp_diag_init(void)
{
	return register_pernet_subsys(&sdp_diag_net_ops);
}

void sdp_diag_exit(void)
{
	unregister_pernet_subsys(&sdp_diag_net_ops);
}
