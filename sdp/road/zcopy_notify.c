// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MSG_ZEROCOPY: a send, which need not wait, offers the memory of the program to the peer, and
 * returns. When the peer has the bytes, or never will, the memory is given back, and the error
 * queue has a notification, as TCP's. A send is numbered when its first bytes are taken.
 *
 * What is not fit is copied, and its notification says so: pieces of memory that are small, memory
 * that cannot be pinned, a connection that is not there yet. Bytes that were offered count against
 * the send buffer like others; a call may go beyond it by one chunk.
 *
 * The memory is charged by the network core, which numbers and joins notifications, too.
 */
#include <linux/mm.h>
#include <net/sock.h>
#include <krdma/compat_net.h>

#include "pinned.h"

/**
 * sdp_notify_wanted() - does a send ask for notifications?
 * @ssk: socket
 * @msg: message
 *
 * Context: any.
 */
bool sdp_notify_wanted(struct sdp_sock *ssk, const struct msghdr *msg)
{
	return msg->msg_flags & MSG_ZEROCOPY && !(msg->msg_flags & MSG_OOB) &&
	       sock_flag(ssk->sk, SOCK_ZEROCOPY) && sdp_zcopy_may_pin(ssk, msg);
}

/* With sdp_lock(). Return: a chunk that is not in use, or NULL */
static struct sdp_chunk *sdp_notify_chunk(const struct sdp_link *link)
{
	struct sdp_zcopy *zc = link->zcopy_notify;
	u32 i;

	for (i = 0; i < zc->chunks_nr; i++)
		if (!zc->chunks[i].uarg)
			return &zc->chunks[i];
	return NULL;
}

/** sdp_notify_full() - has the connection as many offers as it may have? With sdp_lock() */
bool sdp_notify_full(const struct sdp_link *link)
{
	return link->zcopy_notify && !sdp_notify_chunk(link);
}

/* The chunk is pinned. Return: 0; or a negative errno: it is not in use */
static int sdp_notify_offer(struct sdp_sock *ssk, struct sdp_chunk *chunk,
			    struct ubuf_info *uarg)
{
	int rc;

	sdp_lock(ssk);
	if (sdp_send_allowed(ssk))
		sdp_send_flush(ssk);
	rc = sdp_zcopy_offer(ssk, chunk);
	if (!rc) {
		net_zcopy_get(uarg);
		chunk->uarg = uarg;
	}
	sdp_unlock_push(ssk);
	return rc;
}

/* With tx_mutex. Return: bytes that were offered; 0: they have to be copied */
static int sdp_notify_load(struct sdp_sock *ssk, struct msghdr *msg, size_t most,
			   struct ubuf_info *uarg)
{
	struct sdp_chunk *chunk;
	int len, rc;

	if (!sdp_zcopy_fits(msg))
		return 0;
	rc = sdp_pinned_half(ssk->link, &ssk->link->zcopy_notify, SDP_ZCOPY_NOTIFIED) ? 0 : -ENOMEM;
	if (rc)
		goto failed;
	sdp_lock(ssk);
	chunk = sdp_notify_chunk(ssk->link);
	sdp_unlock(ssk);
	len = sdp_chunk_grab(chunk, &msg->msg_iter, most);
	rc = len;
	if (len < 0)
		goto failed;
	rc = sdp_notify_offer(ssk, chunk, uarg);
	if (!rc)
		return len;
	unpin_user_pages(chunk->pages, chunk->npages);
	iov_iter_revert(&msg->msg_iter, len);
failed:
	if (rc != -EPIPE)
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
	return 0;
}

/* Return: 1: bytes may be taken; 0: there is no room; -EPIPE. @open: offers can be made */
static int sdp_notify_may(struct sdp_sock *ssk, bool *open)
{
	const struct sdp_link *link;
	int rc = -EPIPE;

	sdp_lock(ssk);
	link = ssk->link;
	if (sdp_send_allowed(ssk)) {
		rc = sdp_send_below(ssk) && !sdp_zcopy_sending(link) && !sdp_notify_full(link);
		*open = link->conn.state == SDP_OPEN || link->conn.state == SDP_CLOSE_WAIT;
	}
	sdp_unlock(ssk);
	return rc;
}

/**
 * sdp_notify_some() - take bytes of a send with MSG_ZEROCOPY
 * @ssk: socket
 * @msg: message that is wanted
 * @most: bytes
 * @uarg: the notification of the send, made with its first bytes; the caller gives its reference
 *	back when the call ends
 *
 * Return: bytes; 0: there is no room; or a negative errno. Context: with tx_mutex; may sleep, but
 * waits for no peer.
 */
int sdp_notify_some(struct sdp_sock *ssk, struct msghdr *msg, size_t most,
		    struct ubuf_info **uarg)
{
	const bool first = !*uarg;
	bool open = false;
	int rc;

	rc = sdp_notify_may(ssk, &open);
	if (rc <= 0)
		return rc;
	if (first)
		*uarg = msg_zerocopy_realloc(ssk->sk, min(msg_data_left(msg), most), NULL,
					     false);
	if (!*uarg)
		return -ENOBUFS;
	rc = open ? sdp_notify_load(ssk, msg, most, *uarg) : 0;
	if (rc)
		return rc;
	rc = sdp_send_some(ssk, msg);
	if (rc > 0) {
		uarg_to_msgzc(*uarg)->zerocopy = 0;
	} else if (first) {
		/* nobody else has taken a number meanwhile */
		msg_zerocopy_put_abort(*uarg, true);
		*uarg = NULL;
	}
	return rc;
}

/* With sdp_lock() taken meanwhile. Is the memory the program's alone? */
static bool sdp_notify_is_over(struct sdp_chunk *chunk)
{
	return READ_ONCE(chunk->uarg) && sdp_chunk_is_free(chunk);
}

/**
 * sdp_notify_reap() - give memory back, and notify the program
 * @work: of struct sdp_zcopy; has references on the link and its sock
 *
 * Context: work item.
 */
void sdp_notify_reap(struct work_struct *work)
{
	struct sdp_zcopy *zc = container_of(work, struct sdp_zcopy, reap);
	struct sdp_link *link = zc->link;
	struct sdp_sock *ssk = link->ssk;
	struct ubuf_info *uarg;
	u32 i;

	/* the thread that queued this has its references by now */
	sdp_lock(ssk);
	sdp_unlock(ssk);
	for (i = 0; i < zc->chunks_nr; i++) {
		struct sdp_chunk *chunk = &zc->chunks[i];

		if (!sdp_notify_is_over(chunk))
			continue;
		uarg = chunk->uarg;
		sdp_chunk_unpin(chunk, false);
		sdp_lock(ssk);
		WRITE_ONCE(chunk->uarg, NULL);
		if (!link->ended)
			sdp_send_done(link);
		sdp_unlock(ssk);
		net_zcopy_put(uarg);
	}
	sdp_sock_put(ssk);
}
