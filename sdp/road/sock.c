// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The hidden socket: its begin and end, its wake-ups, and what the state machine reports of its
 * connection.
 *
 * krdma_ops learns in this order: the road is up; bytes, room, the end of the stream; a failure.
 * What happens while offload_road_up() runs waits until it has returned. close() is krdma_ops' last
 * call and comes in each case, also after a failure; the socket calls krdma_ops no more then, and
 * lives on until the peer has all bytes, or for close_timeout_s.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/tcp_states.h>
#include <krdma/compat.h>

#include "road.h"

/* milliseconds to the next attempt when the peer says: later. They double up to the last one */
#define SDP_RETRY_FIRST	50
#define SDP_RETRY_MOST	800
#define SDP_RETRY_UNKNOWN	5	/* more attempts at a peer that knows no such connection */

static LIST_HEAD(sdp_socks);
static DEFINE_SPINLOCK(sdp_socks_lock);	/* protects the list and the count */
static u32 sdp_socks_nr;
static DECLARE_WAIT_QUEUE_HEAD(sdp_socks_wait);

/* Wake-ups ********************************************************************************* */

/* close() takes the program's socket away under that lock */
static void sdp_sock_urgent(struct sock *sk)
{
	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket)
		sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Without a lock; with a reference on @conn */
static void sdp_sock_report(struct sdp_sock *ssk, struct offload_conn *conn, u32 wake, int error)
{
	if (wake & SDP_WAKE_UP) {
		offload_road_up(conn, ssk);
		sdp_lock(ssk);
		if (ssk->phase == SDP_RISING)
			ssk->phase = SDP_ROAD_UP;
		/* what came meanwhile */
		sdp_unlock(ssk);
	}
	if (wake & SDP_WAKE_URGENT)
		sdp_sock_urgent(offload_conn_sk(conn));
	if (wake & SDP_WAKE_EOS)
		offload_end_of_stream(conn);
	if (wake & (SDP_WAKE_READ | SDP_WAKE_EOS))
		offload_data_ready(conn);
	if (wake & SDP_WAKE_WRITE)
		offload_write_space(conn);
	if (wake & SDP_WAKE_FAILED)
		offload_road_failed(conn, -error);
}

/* With sdp_lock(). Return: what is to be reported now */
static u32 sdp_sock_take_wake(struct sdp_sock *ssk)
{
	u32 later = 0, wake;

	if (ssk->phase == SDP_OPENING && ssk->wake & SDP_WAKE_UP)
		ssk->phase = SDP_RISING;
	if (ssk->phase == SDP_RISING)
		later = ssk->wake & SDP_WAKE_LATER;
	else if (ssk->phase == SDP_OPENING)
		/* nobody reads or writes yet */
		ssk->wake &= ~(SDP_WAKE_READ | SDP_WAKE_WRITE | SDP_WAKE_URGENT | SDP_WAKE_EOS);
	else if (ssk->phase == SDP_ROAD_OVER)
		ssk->wake &= ~(SDP_WAKE_LATER | SDP_WAKE_UP | SDP_WAKE_RETRY);
	wake = ssk->wake & ~later;
	ssk->wake = later;
	return wake;
}

static void sdp_unlock_any(struct sdp_sock *ssk, bool sleep)
	__releases(&ssk->lock)
{
	struct offload_conn *conn = NULL;
	struct sdp_link *link = ssk->link;
	struct sdp_link *push = NULL;
	int error;
	u32 wake;

	if (link) {
		/* one that ends only now may have posted its last message, and has its endpoint */
		const bool ending = link->ending;

		sdp_link_settle(link);
		/* the peer has its first message when krdma_ops here knows of the road */
		if (!ending && !(ssk->wake & SDP_WAKE_UP) && sdp_link_push_begin(link, sleep))
			push = link;
	}
	wake = sdp_sock_take_wake(ssk);
	error = ssk->error;
	if (wake & (SDP_WAKE_LATER | SDP_WAKE_UP)) {
		conn = ssk->conn;
		offload_conn_get(conn);
	}
	if (wake & SDP_WAKE_RETRY) {
		const u32 delay = min(SDP_RETRY_FIRST << min(ssk->tries, 8U), SDP_RETRY_MOST);

		sdp_sock_get(ssk);
		if (!queue_delayed_work(sdp_queue, &ssk->retry, msecs_to_jiffies(delay)))
			sdp_sock_put(ssk);
	}
	spin_unlock_bh(&ssk->lock);
	if (conn) {
		sdp_sock_report(ssk, conn, wake, error);
		offload_conn_put(conn);
	}
	if (push)
		sdp_link_push(push);
	/* last: its reference is one that the caller may count on */
	if (wake & SDP_WAKE_END)
		queue_work(sdp_queue, &link->end);
}

/**
 * sdp_unlock() - give the spinlock back, and do what was noted meanwhile
 * @ssk: socket; the caller has a reference on it
 *
 * Context: after sdp_lock().
 */
void sdp_unlock(struct sdp_sock *ssk)
	__releases(&ssk->lock)
{
	sdp_unlock_any(ssk, false);
}

/**
 * sdp_unlock_push() - the same; this thread may do the work of the RNIC
 * @ssk: socket
 *
 * For calls of programs that move data. Context: after sdp_lock(); may sleep.
 */
void sdp_unlock_push(struct sdp_sock *ssk)
	__releases(&ssk->lock)
{
	sdp_unlock_any(ssk, true);
}

/* Notices of the machine ******************************************************************* */

/* The end of the road; with sdp_lock(). @error: positive errno; 0: both streams have ended */
static void sdp_sock_fail(struct sdp_sock *ssk, int error)
{
	sdp_sock_timer_stop(ssk, &ssk->end_timer);
	ssk->shutdown = SHUTDOWN_MASK;
	ssk->wake |= SDP_WAKE_READ | SDP_WAKE_WRITE;
	if (!error || ssk->error)
		return;
	ssk->error = error;
	ssk->wake |= SDP_WAKE_FAILED;
}

/*
 * The peer knows a connection when TCP's last packet of the handshake has come, which a full accept
 * queue may have dropped.
 */
static bool sdp_sock_may_retry(const struct sdp_sock *ssk, u8 refusal)
{
	return refusal == SDP_REFUSED_LATER ||
	       (refusal == SDP_REFUSED_UNKNOWN && ssk->tries < SDP_RETRY_UNKNOWN);
}

static void sdp_sock_refused(struct sdp_link *link)
{
	struct sdp_sock *ssk = link->ssk;

	if (sdp_sock_may_retry(ssk, link->refusal) && time_before(jiffies, ssk->deadline)) {
		sdp_sock_timer_stop(ssk, &ssk->end_timer);
		ssk->wake |= SDP_WAKE_RETRY;
		return;
	}
	sdp_count(SDP_COUNT_REFUSED);
	sdp_sock_fail(ssk, link->refusal == SDP_REFUSED_LATER ? ETIMEDOUT :
							       -link->error ?: ECONNREFUSED);
}

static void sdp_sock_reset(struct sdp_link *link)
{
	int error = ECONNRESET;

	/* the peer's end may be as new as this */
	if (link->conn.sink.fin)
		error = EPIPE;
	else if (link->error == -ETIMEDOUT)
		error = ETIMEDOUT;
	sdp_count(SDP_COUNT_RESETS);
	sdp_sock_fail(link->ssk, error);
}

static void sdp_sock_is_up(struct sdp_sock *ssk)
{
	sdp_count(ssk->link->conn.active ? SDP_COUNT_OPENED : SDP_COUNT_ACCEPTED);
	sdp_sock_timer_stop(ssk, &ssk->end_timer);
	ssk->wake |= SDP_WAKE_UP;
}

/**
 * sdp_sock_settle() - is the road of a passive end open?
 * @link: link of a socket
 *
 * It is when the peer's first message has come: the peer's kernel knows of the road then. So an end
 * that is not up never misses bytes behind TCP's FIN, unless it is the passive one that has
 * answered. Context: with sdp_lock(), outside of the machine.
 */
void sdp_sock_settle(struct sdp_link *link)
{
	const struct sdp_conn *c = &link->conn;
	struct sdp_sock *ssk = link->ssk;

	if (ssk->phase == SDP_OPENING && !c->active && c->state > SDP_QUIET &&
	    c->state != SDP_DEAD && !(ssk->wake & SDP_WAKE_UP))
		sdp_sock_is_up(ssk);
}

/**
 * sdp_sock_notify() - the state machine reports something
 * @link: link of a socket
 * @what: enum sdp_notice
 *
 * Context: with sdp_lock(), inside of the machine.
 */
void sdp_sock_notify(struct sdp_link *link, enum sdp_notice what)
{
	struct sdp_sock *ssk = link->ssk;

	switch (what) {
	case SDP_NOTICE_CONNECTED:
		/* the passive end waits for the first message, see sdp_sock_settle() */
		if (link->conn.active)
			sdp_sock_is_up(ssk);
		break;
	case SDP_NOTICE_REFUSED:
		sdp_sock_refused(link);
		break;
	case SDP_NOTICE_TIMED_OUT:
		sdp_count(SDP_COUNT_TIMEOUTS);
		sdp_sock_fail(ssk, ETIMEDOUT);
		break;
	case SDP_NOTICE_RESET:
		sdp_sock_reset(link);
		break;
	case SDP_NOTICE_CLOSED:
		sdp_sock_fail(ssk, 0);
		break;
	case SDP_NOTICE_PEER_FIN:
		ssk->shutdown |= RCV_SHUTDOWN;
		ssk->wake |= SDP_WAKE_EOS;
		break;
	case SDP_NOTICE_SRC_AVAIL:
		ssk->wake |= SDP_WAKE_READ;
		break;
	case SDP_NOTICE_URGENT:
		link->oob = SDP_OOB_PENDING;
		ssk->wake |= SDP_WAKE_URGENT;
		break;
	default:
		break;
	}
}

/* Timers *********************************************************************************** */

/** sdp_sock_timer_set() - let a timer of a socket run; it has a reference then; with sdp_lock() */
void sdp_sock_timer_set(struct sdp_sock *ssk, struct timer_list *timer, unsigned long delay)
{
	if (!mod_timer(timer, jiffies + delay))
		sdp_sock_get(ssk);
}

/** sdp_sock_timer_stop() - ... not any more; the caller has a reference */
void sdp_sock_timer_stop(struct sdp_sock *ssk, struct timer_list *timer)
{
	if (timer_delete(timer))
		sdp_sock_put(ssk);
}

/* softirq: the time for opening or for closing is over */
static void sdp_sock_end_timer(struct timer_list *timer)
{
	struct sdp_sock *ssk = timer_container_of(ssk, timer, end_timer);

	sdp_lock(ssk);
	if (ssk->link && ssk->link->conn.state != SDP_DEAD) {
		sdp_state_event(&ssk->link->conn, SDP_EV_TIMEOUT);
		/* a peer that takes nothing does not take AbortConn, either */
		if (ssk->link->conn.state != SDP_DEAD)
			sdp_sock_timer_set(ssk, timer, READ_ONCE(sdp_close_timeout_s) * HZ);
	}
	sdp_unlock(ssk);
	sdp_sock_put(ssk);
}

/* Begin and end **************************************************************************** */

/** sdp_sock_get() - take a reference; any context */
void sdp_sock_get(struct sdp_sock *ssk)
{
	kref_get(&ssk->refs);
}

static void sdp_sock_gone(struct work_struct *work)
{
	struct sdp_sock *ssk = container_of(work, struct sdp_sock, gone);
	bool last;

	if (ssk->link)
		sdp_link_free(ssk->link);
	mem_cgroup_put(ssk->memcg);
	offload_account_put(ssk->account);
	spin_lock_bh(&sdp_socks_lock);
	list_del(&ssk->list);
	last = !--sdp_socks_nr;
	spin_unlock_bh(&sdp_socks_lock);
	/* see sdp_sock_of() */
	kfree_rcu(ssk, rcu);
	if (last)
		wake_up(&sdp_socks_wait);
}

static void sdp_sock_release(struct kref *refs)
{
	struct sdp_sock *ssk = container_of(refs, struct sdp_sock, refs);

	queue_work(sdp_queue, &ssk->gone);
}

/**
 * sdp_sock_of() - the hidden socket of a TCP connection
 * @conn: connection
 *
 * close() may come while a program's call begins.
 *
 * Return: the socket with a reference, or NULL: there is none any more. Context: any.
 */
struct sdp_sock *sdp_sock_of(struct offload_conn *conn)
{
	struct sdp_sock *ssk;

	rcu_read_lock();
	ssk = offload_conn_priv(conn);
	if (ssk && !kref_get_unless_zero(&ssk->refs))
		ssk = NULL;
	rcu_read_unlock();
	return ssk;
}

/** sdp_sock_put() - give a reference back; any context */
void sdp_sock_put(struct sdp_sock *ssk)
{
	kref_put(&ssk->refs, sdp_sock_release);
}

/**
 * sdp_sock_sizes() - sizes of the buffers
 * @ssk: socket
 * @sk: TCP's sock
 *
 * TCP's buffers grow with use, these do not: only what the program has set is taken over.
 * Context: any.
 */
void sdp_sock_sizes(struct sdp_sock *ssk, const struct sock *sk)
{
	const u32 sndbuf = sk->sk_userlocks & SOCK_SNDBUF_LOCK ? READ_ONCE(sk->sk_sndbuf) :
								 READ_ONCE(sdp_sndbuf);
	const u32 rcvbuf = sk->sk_userlocks & SOCK_RCVBUF_LOCK ? READ_ONCE(sk->sk_rcvbuf) :
								 READ_ONCE(sdp_rcvbuf);

	WRITE_ONCE(ssk->sndbuf, sndbuf);
	WRITE_ONCE(ssk->rcvbuf, rcvbuf);
}

/**
 * sdp_sock_new() - make a hidden socket
 * @conn: TCP connection, whose private pointer it becomes
 *
 * The caller has one reference, krdma_ops another one until sdp_sock_close(). Buffers are charged
 * to the memory cgroup of the TCP sock, and to the account of its namespace, which may both end
 * before the socket does.
 *
 * Return: the socket, or NULL: no memory, or the program has closed the connection meanwhile.
 * Context: may sleep.
 */
struct sdp_sock *sdp_sock_new(struct offload_conn *conn)
{
	struct sock *sk = offload_conn_sk(conn);
	struct sdp_sock *ssk = kzalloc(sizeof(*ssk), GFP_KERNEL);

	if (!ssk)
		return NULL;
	spin_lock_init(&ssk->lock);
	kref_init(&ssk->refs);
	kref_get(&ssk->refs);
	ssk->conn = conn;
	ssk->sk = sk;
	ssk->account = offload_conn_account(conn);
	offload_conn_addresses(conn, &ssk->local, &ssk->remote);
#ifdef CONFIG_MEMCG
	if (mem_cgroup_tryget(sk->sk_memcg))
		ssk->memcg = sk->sk_memcg;
#endif
	mutex_init(&ssk->tx_mutex);
	mutex_init(&ssk->rx_mutex);
	sdp_sock_sizes(ssk, sk);
	timer_setup(&ssk->end_timer, sdp_sock_end_timer, 0);
	timer_setup(&ssk->cork_timer, sdp_send_timer, 0);
	INIT_DELAYED_WORK(&ssk->retry, sdp_open_retry);
	INIT_WORK(&ssk->gone, sdp_sock_gone);
	ssk->zcopy_thresh = -1;
	ssk->zcopy_write = -1;
	spin_lock_bh(&sdp_socks_lock);
	list_add_tail(&ssk->list, &sdp_socks);
	sdp_socks_nr++;
	spin_unlock_bh(&sdp_socks_lock);
	if (!offload_conn_set_priv(conn, ssk)) {
		/* no close() follows */
		ssk->phase = SDP_ROAD_OVER;
		sdp_sock_put(ssk);
		sdp_sock_put(ssk);
		return NULL;
	}
	return ssk;
}

/** sdp_sock_count() - hidden sockets that there are */
u32 sdp_sock_count(void)
{
	return READ_ONCE(sdp_socks_nr);
}

/** sdp_sock_wait_all() - wait until there is none; the transports end their connections */
void sdp_sock_wait_all(void)
{
	wait_event(sdp_socks_wait, !sdp_sock_count());
	rcu_barrier();
}

/**
 * sdp_sock_abort() - reset the connection; what has come can still be read
 * @ssk: socket
 *
 * Context: atomic.
 */
void sdp_sock_abort(struct sdp_sock *ssk)
{
	sdp_lock(ssk);
	if (ssk->link)
		sdp_state_event(&ssk->link->conn, SDP_EV_ABORT);
	/* one that is closed needs its timer */
	if (ssk->phase != SDP_ROAD_OVER)
		sdp_sock_fail(ssk, ECONNRESET);
	sdp_unlock(ssk);
}

/** sdp_sock_abort_all() - reset all connections; may sleep */
void sdp_sock_abort_all(void)
{
	struct sdp_sock *ssk;

	spin_lock_bh(&sdp_socks_lock);
	list_for_each_entry(ssk, &sdp_socks, list) {
		if (!kref_get_unless_zero(&ssk->refs))
			continue;
		spin_unlock_bh(&sdp_socks_lock);
		sdp_sock_abort(ssk);
		spin_lock_bh(&sdp_socks_lock);
		/* the reference keeps it in the list */
		sdp_sock_put(ssk);
	}
	spin_unlock_bh(&sdp_socks_lock);
}

/**
 * sdp_sock_give_up() - an attempt has failed before the machine had a connection
 * @ssk: socket
 * @error: negative errno
 *
 * Context: without a lock; krdma_ops learns of it.
 */
void sdp_sock_give_up(struct sdp_sock *ssk, int error)
{
	sdp_lock(ssk);
	sdp_sock_fail(ssk, -error);
	sdp_unlock(ssk);
}

/**
 * sdp_sock_shutdown() - no more bytes will be sent, or received
 * @ssk: socket
 * @how: SEND_SHUTDOWN, RCV_SHUTDOWN
 *
 * Context: atomic.
 */
void sdp_sock_shutdown(struct sdp_sock *ssk, int how)
{
	struct sdp_conn *c;

	sdp_lock(ssk);
	how &= ~ssk->shutdown;
	ssk->shutdown |= how;
	c = ssk->link ? &ssk->link->conn : NULL;
	if (c && how & SEND_SHUTDOWN) {
		sdp_send_flush(ssk);
		sdp_state_event(c, SDP_EV_FIN);
	}
	if (c && ssk->shutdown == SHUTDOWN_MASK && !c->sink.fin)
		sdp_state_stop_receiving(c);
	ssk->wake |= SDP_WAKE_READ | SDP_WAKE_WRITE;
	sdp_unlock(ssk);
}

/* those that wait in a call of the road */
static void sdp_sock_wake_callers(struct sock *sk)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_all(&wq->wait);
	rcu_read_unlock();
}

/**
 * sdp_sock_close() - the TCP connection has no use for the road any more
 * @ssk: socket; krdma_ops' reference is given back
 * @abort: as with a reset
 *
 * Bytes that were taken are still sent, unless bytes of the peer are unread. Calls of programs may
 * be in progress: they end. Context: atomic.
 */
void sdp_sock_close(struct sdp_sock *ssk, bool abort)
{
	struct sock *sk = ssk->sk;
	struct sdp_link *link;

	sdp_lock(ssk);
	ssk->phase = SDP_ROAD_OVER;
	ssk->shutdown = SHUTDOWN_MASK;
	ssk->conn = NULL;
	link = ssk->link;
	if (link && link->conn.state != SDP_DEAD) {
		sdp_send_flush(ssk);
		if (abort)
			sdp_state_event(&link->conn, SDP_EV_ABORT);
		else
			sdp_state_close(&link->conn);
		if (link->conn.state != SDP_DEAD)
			sdp_sock_timer_set(ssk, &ssk->end_timer,
					   READ_ONCE(sdp_close_timeout_s) * HZ);
	}
	sdp_sock_timer_stop(ssk, &ssk->cork_timer);
	sdp_unlock(ssk);
	sdp_sock_wake_callers(sk);
	if (cancel_delayed_work(&ssk->retry))
		sdp_sock_put(ssk);
	sdp_sock_put(ssk);
}
