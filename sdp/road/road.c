// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SDP as krdma_ops sees it: the entry points of struct offload_road. Each one looks up the hidden
 * socket of the connection and keeps it meanwhile.
 */
#include <net/netlink.h>
#include <net/sock.h>

#include <krdma/sdp.h>

#include "road.h"

static int sdp_road_sendmsg(struct offload_conn *conn, struct msghdr *msg, size_t len)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	int rc;

	if (!ssk)
		return -EPIPE;
	rc = sdp_send(ssk, offload_conn_sk(conn), msg, len);
	sdp_sock_put(ssk);
	return rc;
}

static int sdp_road_recvmsg(struct offload_conn *conn, struct msghdr *msg, size_t len, int flags)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	int rc;

	/* it ends meanwhile: krdma_ops knows how */
	if (!ssk)
		return -EAGAIN;
	rc = sdp_receive(ssk, offload_conn_sk(conn), msg, len, flags);
	sdp_sock_put(ssk);
	return rc;
}

static u32 sdp_road_readable(struct offload_conn *conn)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	u32 readable;

	if (!ssk)
		return 0;
	readable = sdp_receive_readable(ssk);
	sdp_sock_put(ssk);
	return readable;
}

static bool sdp_road_full(struct offload_conn *conn)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	bool full;

	if (!ssk)
		return false;
	full = sdp_receive_full(ssk);
	sdp_sock_put(ssk);
	return full;
}

static bool sdp_road_writable(struct offload_conn *conn)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	bool room;

	/* the answer is an error at once */
	if (!ssk)
		return true;
	sdp_lock(ssk);
	room = !sdp_send_allowed(ssk) || sdp_send_room(ssk);
	if (!room)
		ssk->nospace = true;
	sdp_unlock(ssk);
	sdp_sock_put(ssk);
	return room;
}

static u32 sdp_road_unsent(struct offload_conn *conn)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	u64 unacked;

	if (!ssk)
		return 0;
	sdp_lock(ssk);
	unacked = sdp_send_unacked(ssk->link);
	sdp_unlock(ssk);
	sdp_sock_put(ssk);
	return min_t(u64, unacked, INT_MAX);
}

static u32 sdp_road_urgent(struct offload_conn *conn, u32 *ahead)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	u32 urgent;

	if (!ssk)
		return 0;
	urgent = sdp_receive_urgent(ssk, ahead);
	sdp_sock_put(ssk);
	return urgent;
}

static void sdp_road_shutdown(struct offload_conn *conn, int how)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);

	if (!ssk)
		return;
	sdp_sock_shutdown(ssk, how);
	sdp_sock_put(ssk);
}

static void sdp_road_close(struct offload_conn *conn, bool abort)
{
	struct sdp_sock *ssk = offload_conn_priv(conn);

	/* NULL: there was no memory for it */
	if (!ssk)
		return;
	/* a call that begins later finds none, see sdp_sock_of() */
	(void)!offload_conn_set_priv(conn, NULL);
	sdp_sock_close(ssk, abort);
}

static void sdp_road_abort(struct offload_conn *conn)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);

	if (!ssk)
		return;
	sdp_sock_abort(ssk);
	sdp_sock_put(ssk);
}

static int sdp_road_setsockopt(struct offload_conn *conn, int level, int name, sockptr_t value,
			       unsigned int len)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	int rc;

	if (!ssk)
		return -ENOPROTOOPT;
	rc = sdp_setsockopt(ssk, level, name, value, len);
	sdp_sock_put(ssk);
	return rc;
}

static int sdp_road_getsockopt(struct offload_conn *conn, int level, int name, char __user *value,
			       int __user *len)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	int rc;

	if (!ssk)
		return -ENOPROTOOPT;
	rc = sdp_getsockopt(ssk, level, name, value, len);
	sdp_sock_put(ssk);
	return rc;
}

/* One copy for a line of "ss" or "krdma offload sockets" */
static int sdp_road_info(struct offload_conn *conn, struct sk_buff *skb)
{
	struct sdp_sock *ssk = sdp_sock_of(conn);
	u64 values[KRDMA_SDP_INFO_MAX + 1] = {};
	const struct sdp_conn *c;
	int i, rc = 0;

	if (!ssk)
		return 0;
	sdp_lock(ssk);
	if (ssk->link) {
		c = &ssk->link->conn;
		values[KRDMA_SDP_INFO_STATE] = c->state;
		values[KRDMA_SDP_INFO_MODE_OUT] = c->source.mode;
		values[KRDMA_SDP_INFO_MODE_IN] = c->sink.mode;
		values[KRDMA_SDP_INFO_CREDITS] = c->credit.limit - c->credit.sent;
		values[KRDMA_SDP_INFO_POSTED] = c->credit.posted;
		values[KRDMA_SDP_INFO_TX_COPIED] = c->tx.bcopy;
		values[KRDMA_SDP_INFO_TX_READ] = c->tx.read;
		values[KRDMA_SDP_INFO_TX_WRITTEN] = c->tx.written;
		values[KRDMA_SDP_INFO_RX_COPIED] = c->rx.bcopy;
		values[KRDMA_SDP_INFO_RX_READ] = c->rx.read;
		values[KRDMA_SDP_INFO_RX_WRITTEN] = c->rx.written;
		values[KRDMA_SDP_INFO_FAULT] = c->fault;
	}
	sdp_unlock(ssk);
	sdp_sock_put(ssk);
	for (i = KRDMA_SDP_INFO_PAD + 1; i <= KRDMA_SDP_INFO_MAX && !rc; i++)
		rc = nla_put_u64_64bit(skb, i, values[i], KRDMA_SDP_INFO_PAD);
	return rc;
}

const struct offload_road sdp_road = {
	.owner = THIS_MODULE,
	.name = "sdp",
	.protocol = IPPROTO_SDP,
	.caps = OFFLOAD_RDMA | OFFLOAD_KERNEL_CLIENTS | OFFLOAD_ZEROCOPY,
	.priority = 100,
	.offers = sdp_open_offers,
	.open = sdp_open,
	.sendmsg = sdp_road_sendmsg,
	.recvmsg = sdp_road_recvmsg,
	.readable = sdp_road_readable,
	.full = sdp_road_full,
	.writable = sdp_road_writable,
	.unsent = sdp_road_unsent,
	.urgent = sdp_road_urgent,
	.shutdown = sdp_road_shutdown,
	.close = sdp_road_close,
	.abort = sdp_road_abort,
	.setsockopt = sdp_road_setsockopt,
	.getsockopt = sdp_road_getsockopt,
	.listens = sdp_rendezvous_listens,
	.info = sdp_road_info,
	.shutdown_road = sdp_sock_abort_all,
};
