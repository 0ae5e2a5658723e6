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

#include "pinned.h"

/**
 * sdp_zerocopy_wanted() - does a send ask for notifications?
 * @ssk: socket
 * @msg: message
 *
 * Context: any.
 */
bool sdp_zerocopy_wanted(struct sdp_sock *ssk, const struct msghdr *msg)
{
	return msg->msg_flags & MSG_ZEROCOPY && !(msg->msg_flags & MSG_OOB) &&
	       sock_flag(sdp_sock(ssk), SOCK_ZEROCOPY) && sdp_zcopy_may_pin(ssk, msg);
}

/* With sdp_lock(). Return: a chunk that is not in use, or NULL */
static struct sdp_zchunk *sdp_zerocopy_chunk(const struct sdp_link *link)
{
	struct sdp_zcopy *zc = link->zcopy_told;
	u32 i;

	for (i = 0; i < zc->chunks_nr; i++)
		if (!zc->chunks[i].told)
			return &zc->chunks[i];
	return NULL;
}

/** sdp_zerocopy_full() - has the connection as many offers as it may have? With sdp_lock() */
bool sdp_zerocopy_full(const struct sdp_link *link)
{
	return link->zcopy_told && !sdp_zerocopy_chunk(link);
}

/* The chunk is pinned. Return: 0; or a negative errno: it is not in use */
static int sdp_zerocopy_offer(struct sdp_sock *ssk, struct sdp_zchunk *chunk,
			      struct ubuf_info *told)
{
	int rc;

	sdp_lock(ssk);
	if (sdp_send_allowed(ssk))
		sdp_send_flush(ssk);
	rc = sdp_zcopy_offer(ssk, chunk);
	if (!rc) {
		net_zcopy_get(told);
		chunk->told = told;
	}
	sdp_unlock_push(ssk);
	return rc;
}

/* With tx_mutex. Return: bytes that were offered; 0: they have to be copied */
static int sdp_zerocopy_load(struct sdp_sock *ssk, struct msghdr *msg, size_t most,
			     struct ubuf_info *told)
{
	struct sdp_zchunk *chunk;
	int len, rc;

	if (!sdp_zcopy_fits(msg))
		return 0;
	rc = sdp_zcopy_half(ssk->link, &ssk->link->zcopy_told, SDP_ZCOPY_NOTIFIED) ? 0 : -ENOMEM;
	if (rc)
		goto failed;
	sdp_lock(ssk);
	chunk = sdp_zerocopy_chunk(ssk->link);
	sdp_unlock(ssk);
	len = sdp_zchunk_grab(chunk, &msg->msg_iter, most);
	rc = len;
	if (len < 0)
		goto failed;
	rc = sdp_zerocopy_offer(ssk, chunk, told);
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
static int sdp_zerocopy_may(struct sdp_sock *ssk, bool *open)
{
	const struct sdp_link *link;
	int rc = -EPIPE;

	sdp_lock(ssk);
	link = ssk->link;
	if (sdp_send_allowed(ssk)) {
		rc = sdp_send_below(ssk) && !sdp_zcopy_sending(link) && !sdp_zerocopy_full(link);
		*open = link->conn.state == SDP_OPEN || link->conn.state == SDP_CLOSE_WAIT;
	}
	sdp_unlock(ssk);
	return rc;
}

/**
 * sdp_zerocopy_some() - take bytes of a send with MSG_ZEROCOPY
 * @ssk: socket
 * @msg: message that is wanted
 * @most: bytes
 * @told: the notification of the send, made with its first bytes; the caller gives its reference
 *	back when the call ends
 *
 * Return: bytes; 0: there is no room; or a negative errno. Context: with tx_mutex; may sleep, but
 * waits for no peer.
 */
int sdp_zerocopy_some(struct sdp_sock *ssk, struct msghdr *msg, size_t most,
		      struct ubuf_info **told)
{
	const bool first = !*told;
	bool open = false;
	int rc;

	rc = sdp_zerocopy_may(ssk, &open);
	if (rc <= 0)
		return rc;
	if (first)
		*told = msg_zerocopy_realloc(sdp_sock(ssk), min(msg_data_left(msg), most), NULL);
	if (!*told)
		return -ENOBUFS;
	rc = open ? sdp_zerocopy_load(ssk, msg, most, *told) : 0;
	if (rc)
		return rc;
	rc = sdp_send_some(ssk, msg);
	if (rc > 0) {
		uarg_to_msgzc(*told)->zerocopy = 0;
	} else if (first) {
		/* nobody else has taken a number meanwhile */
		msg_zerocopy_put_abort(*told, true);
		*told = NULL;
	}
	return rc;
}

/* With sdp_lock() taken meanwhile. Is the memory the program's alone? */
static bool sdp_zerocopy_is_over(struct sdp_zchunk *chunk)
{
	return READ_ONCE(chunk->told) && sdp_zchunk_is_free(chunk);
}

/**
 * sdp_zerocopy_reap() - give memory back, and notify the program
 * @work: of struct sdp_zcopy; has references on the link and its sock
 *
 * Context: work item.
 */
void sdp_zerocopy_reap(struct work_struct *work)
{
	struct sdp_zcopy *zc = container_of(work, struct sdp_zcopy, reap);
	struct sdp_link *link = zc->link;
	struct sdp_sock *ssk = link->ssk;
	struct ubuf_info *told;
	u32 i;

	/* the thread that queued this has its references by now */
	sdp_lock(ssk);
	sdp_unlock(ssk);
	for (i = 0; i < zc->chunks_nr; i++) {
		struct sdp_zchunk *chunk = &zc->chunks[i];

		if (!sdp_zerocopy_is_over(chunk))
			continue;
		told = chunk->told;
		sdp_zchunk_unpin(chunk, false);
		sdp_lock(ssk);
		WRITE_ONCE(chunk->told, NULL);
		if (!link->ended)
			sdp_send_done(link);
		sdp_unlock(ssk);
		net_zcopy_put(told);
	}
	sdp_conn_put(link);
	sock_put(sdp_sock(ssk));
}
