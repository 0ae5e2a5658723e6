// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The change of roads: sendmsg, recvmsg and poll of a marked socket.
 *
 * For each direction the sender says once "from byte X on". Under TCP's lock X is its write_seq;
 * what lies before goes by TCP, what follows by the road. The receiver reads TCP's queue up to X,
 * and then the road. So the change may come late, and nobody waits for it.
 *
 * The sender changes only while no other sender is inside tcp_sendmsg_locked(): that one waits
 * without the lock, and would append behind X. Bytes before X that TCP holds back (Nagle,
 * TCP_CORK) are pushed.
 *
 * The receiver never waits inside tcp_recvmsg(), where it would not see the road. It asks TCP
 * without waiting, goes on with the road in the same call when X is reached (a program with
 * edge-triggered epoll stops at a short read), and waits itself. SO_RCVLOWAT and MSG_WAITALL count
 * over both.
 *
 * On the same-host road a sender may go back to TCP: the receiver reads the ring to its end, and
 * then TCP's queue again. Urgent data, want of memory and the end of the module do so.
 */
#include <linux/tcp.h>
#include <linux/wait.h>
#include <krdma/compat_net.h>

#include "names.h"
#include "ops.h"

/* Sending ******************************************************************* */

/*
 * Time stamps (SO_TIMESTAMP, SO_TIMESTAMPING) are those of packets: sockets that want them stay on
 * TCP.
 */
bool ops_wants_stamps(const struct sock *sk)
{
	return sock_flag(sk, SOCK_RCVTSTAMP) ||
	       READ_ONCE(sk->sk_tsflags) & (SOF_TIMESTAMPING_TX_RECORD_MASK |
					    SOF_TIMESTAMPING_RX_SOFTWARE |
					    SOF_TIMESTAMPING_RX_HARDWARE);
}

/* states in which a socket carries bytes, now or soon */
#define OPS_CARRIES	(TCPF_SYN_SENT | TCPF_SYN_RECV | TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)

/* May TCP's connection of this socket be left now? With TCP's lock. */
static bool change_state_allows(const struct sock *sk, const struct ops_sock *os,
				const struct msghdr *msg)
{
	return (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT) &&
	       !(sk->sk_shutdown & SEND_SHUTDOWN) && !sk->sk_err && !os->senders &&
	       /* one that began before the mark (MSG_FASTOPEN), and waits inside of TCP */
	       !sk->sk_write_pending && !os->stay &&
	       !tcp_sk(sk)->repair && !(msg->msg_flags & MSG_FASTOPEN) &&
	       /* urgent data is TCP's, where TCP may be used */
	       (!(msg->msg_flags & MSG_OOB) || os->must) &&
	       time_after_eq(jiffies, os->retry);
}

/*
 * Does the other end's socket take bytes beside TCP's? Not if somebody reads TCP's queue himself
 * (a psock, a user in the kernel). TCP does not wake a reader who wants more than one byte for
 * the last ones before X, so these must be there.
 */
static bool change_peer_allows(const struct ops_sock *os)
{
	const struct sock *peer = os->peer;

	/* a filter of the program's (SO_ATTACH_FILTER) sees what TCP carries */
	if (READ_ONCE(peer->sk_user_data) || rcu_access_pointer(peer->sk_filter))
		return false;
	return READ_ONCE(peer->sk_rcvlowat) <= 1 ||
	       READ_ONCE(tcp_sk(peer)->rcv_nxt) == tcp_sk(os->sk)->write_seq;
}

static bool change_to_ring(struct ops_sock *os)
{
	struct ops_dir *dir = ops_tx(os);
	struct ops_pair *pair = os->pair;
	bool done = false;

	if (ops_dir_ends(dir) || READ_ONCE(pair->refused) || !change_peer_allows(os))
		return false;
	/* the receiver has not come back to TCP from the last change */
	if (ops_seen(dir) != dir->changes)
		return false;
	if (!ops_local_prepare(os)) {
		os->retry = jiffies + HZ;
		os->why = OPS_COUNT_MEMORY;
		return false;
	}
	spin_lock_bh(&pair->lock);
	if (!pair->refused) {
		dir->x = tcp_sk(os->sk)->write_seq;
		WRITE_ONCE(os->tx_road, true);
		ops_dir_change(dir);
		done = true;
	}
	spin_unlock_bh(&pair->lock);
	return done;
}

static bool change_to_road(struct ops_sock *os)
{
	bool changed;

	if (!ops_road_is_up(os))
		return false;
	/* offload_road_failed() decides by tx_road whether TCP goes on */
	spin_lock_bh(&os->lock);
	changed = os->road_state == OPS_ROAD_UP && !os->road_error;
	if (changed) {
		os->tx_x = tcp_sk(os->sk)->write_seq;
		os->tx_header = OPS_HEADER;
		WRITE_ONCE(os->tx_road, true);
	}
	spin_unlock_bh(&os->lock);
	return changed;
}

/* With TCP's lock. Return: true: bytes go by the road from here on. */
static bool change_try(struct ops_sock *os, const struct msghdr *msg)
{
	struct sock *sk = os->sk;
	bool changed;

	if (!change_state_allows(sk, os, msg))
		return false;
	if (unlikely(!os->must &&
		     (ops_wants_stamps(sk) || (ops_is_local(os) && ops_wants_stamps(os->peer))))) {
		if (os->why != OPS_COUNT_STAMPS)
			ops_count(os->net, OPS_COUNT_STAMPS);
		os->why = OPS_COUNT_STAMPS;
		return false;
	}
	changed = ops_is_local(os) ? change_to_ring(os) : change_to_road(os);
	if (changed)
		ops_count(os->net, OPS_COUNT_CHANGED);
	return changed;
}

/*
 * What TCP holds back before X must go. The only exported way is TCP_NODELAY, which takes the lock
 * itself; the program's setting is put back.
 */
static void change_push(struct sock *sk, u8 nonagle)
{
	tcp_sock_set_nodelay(sk);
	lock_sock(sk);
	tcp_sk(sk)->nonagle = nonagle;
	release_sock(sk);
}

/* Notify a call that asked for MSG_ZEROCOPY: done, and copied. */
static void change_zerocopy_done(struct sock *sk, const struct msghdr *msg, size_t sent)
{
	struct ubuf_info *uarg;

	if (!sent || !(msg->msg_flags & MSG_ZEROCOPY) || msg->msg_ubuf ||
	    !sock_flag(sk, SOCK_ZEROCOPY))
		return;
	lock_sock(sk);
	uarg = msg_zerocopy_realloc(sk, sent, NULL, false);
	if (uarg) {
		uarg_to_msgzc(uarg)->zerocopy = 0;
		net_zcopy_put(uarg);
	}
	release_sock(sk);
}

/* Bytes by the road. Return: 0: all; 1: go on by TCP; -errno. */
static int change_send_road(struct ops_sock *os, struct msghdr *msg, size_t len, size_t *sent)
{
	const struct sock *sk = os->sk;
	size_t before = *sent;
	int ret;

	/* also for an empty send, and for roads that have nothing to wait for */
	if (unlikely(READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN))
		return -EPIPE;
	if (ops_is_local(os)) {
		if (unlikely(msg->msg_flags & MSG_OOB)) {
			ops_local_back(os);
			return 1;
		}
		ret = ops_local_send(os, msg, len, sent);
	} else {
		ret = ops_road_send(os, msg, len - before);
		if (ret >= 0) {
			*sent += ret;
			ret = 0;
		}
	}
	if (unlikely(msg->msg_flags & MSG_ZEROCOPY) && !ops_road_notifies(os))
		change_zerocopy_done(os->sk, msg, *sent - before);
	return ret;
}

/*
 * An error that a sender has had is no news for a reader, as TCP's. A road may have ended before
 * TCP knows why: the reason is TCP's to give, and comes at once.
 */
static int change_send_error(struct ops_sock *os, const struct msghdr *msg, int err)
{
	struct sock *sk = os->sk;

	if (err == -EPIPE && !ops_is_local(os) && !ops_tcp_ended(sk)) {
		if (!sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT))
			return -EAGAIN;
		wait_event_interruptible_timeout(*sk_sleep(sk), ops_tcp_ended(sk), HZ);
	}
	if (err < 0)
		err = sk_stream_error(sk, msg->msg_flags, err);
	if (err == -ECONNRESET)
		WRITE_ONCE(os->rx_cut, false);
	return err;
}

/*
 * With TCP's lock, which is given back: a socket that may not send by TCP, and whose change is not
 * now. Where the road is there it never will be: an error is pending, or the road has broken.
 * Return: -EXFULL: it may be; -errno.
 */
static int change_send_must(struct ops_sock *os, const struct msghdr *msg)
{
	int err = msg->msg_flags & MSG_FASTOPEN ? -EISCONN : -EPIPE;
	const bool up = ops_road_is_up(os);

	release_sock(os->sk);
	if (!up)
		err = ops_road_wait(os, msg->msg_flags);
	return err ? sk_stream_error(os->sk, msg->msg_flags, err) : -EXFULL;
}

/* Bytes by TCP, unless the change is now. Return: as tcp_sendmsg(); -EXFULL: changed. */
static int change_send_tcp(struct ops_sock *os, struct msghdr *msg, size_t len)
{
	struct sock *sk = os->sk;
	int ret;

	lock_sock(sk);
	if (unlikely(os->dead)) {
		/* the mark was taken off while we waited: another protocol may be there */
		release_sock(sk);
		if (READ_ONCE(os->gone))
			return -EPIPE;
		return ops_plain_prot(sk)->sendmsg(sk, msg, len);
	}
	/* an empty send moves no byte: it changes nothing, and TCP knows its answer */
	if (os->tx_road || (len && change_try(os, msg))) {
		/* Nagle or a cork may hold bytes back */
		bool held = tcp_send_head(sk) && !(tcp_sk(sk)->nonagle & TCP_NAGLE_PUSH);
		u8 nonagle = tcp_sk(sk)->nonagle;

		release_sock(sk);
		if (held)
			change_push(sk, nonagle);
		return -EXFULL;
	}
	/* TCP says what is wrong with a socket that is not connected */
	if (unlikely(os->must) && len && (1 << sk->sk_state) & OPS_CARRIES)
		return change_send_must(os, msg);
	if (unlikely(msg->msg_flags & MSG_OOB) && len)
		os->stay = true;
	os->senders++;
	ret = tcp_sendmsg_locked(sk, msg, len);
	os->senders--;
	release_sock(sk);
	return ret;
}

static int change_send(struct ops_sock *os, struct msghdr *msg, size_t len)
{
	size_t sent = 0;
	int ret;

	for (;;) {
		if (READ_ONCE(os->tx_road)) {
			ret = change_send_road(os, msg, len, &sent);
			if (ret == 1)
				continue;
			return sent ?: change_send_error(os, msg, ret);
		}
		ret = change_send_tcp(os, msg, len - sent);
		if (ret != -EXFULL)
			break;
	}
	if (ret < 0)
		return sent ?: ret;
	return sent + ret;
}

int ops_sendmsg(struct sock *sk, struct msghdr *msg, size_t size)
{
	struct ops_sock *os = ops_sock_enter(sk);
	int ret;

	if (unlikely(!os))
		return ops_plain_prot(sk)->sendmsg(sk, msg, size);
	ret = change_send(os, msg, size);
	ops_sock_put(os);
	return ret;
}

bool ops_stream_memory_free(const struct sock *sk, int wake)
{
	bool is_free = true, known = false;
	struct ops_sock *os;

	rcu_read_lock();
	os = ops_sock_of(sk);
	if (os && READ_ONCE(os->tx_road)) {
		known = true;
		is_free = ops_is_local(os) ? ops_local_writable(os, wake) : ops_road_writable(os);
	} else if (os && unlikely(os->must) &&
		   (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)) {
		known = true;
		is_free = READ_ONCE(os->road_state) >= OPS_ROAD_UP;
	}
	rcu_read_unlock();
	return known ? is_free : tcp_stream_memory_free(sk, wake);
}

u32 ops_unsent(const struct ops_sock *os)
{
	if (!READ_ONCE(os->tx_road))
		return 0;
	return ops_is_local(os) ? ops_local_unsent(os) : ops_road_unsent(os);
}

/* Receiving ***************************************************************** */

/* Does the peer's part by TCP end? @x: where. With rx_mutex, or as a hint. */
static bool change_known(const struct ops_sock *os, u32 *x)
{
	if (ops_is_local(os)) {
		const struct ops_dir *dir = ops_rx(os);

		if (!ops_changed(ops_changes(dir), dir->seen))
			return false;
		*x = dir->x;
		return true;
	}
	/* pairs with ops_header_read() */
	if (smp_load_acquire(&os->rx_header) < OPS_HEADER)
		return false;
	*x = os->rx_x;
	return true;
}

/* The same, when the road may be read. With rx_mutex. */
static bool change_learn(struct ops_sock *os, u32 *x)
{
	if (!ops_is_local(os) && !ops_header_read(os))
		return false;
	return change_known(os, x);
}

/* TCP stops in front of urgent data. */
static bool change_at_mark(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return READ_ONCE(tp->urg_data) && READ_ONCE(tp->urg_seq) == READ_ONCE(tp->copied_seq);
}

/* bytes of TCP's queue; a hint */
static u32 change_tcp_bytes(const struct ops_sock *os)
{
	const struct tcp_sock *tp = tcp_sk(os->sk);
	u32 inq = READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);

	/* a FIN that came is a number, not a byte */
	return inq && sock_flag(os->sk, SOCK_DONE) ? inq - 1 : inq;
}

bool ops_tcp_unread(const struct ops_sock *os)
{
	return change_tcp_bytes(os);
}

/* ... those that recvmsg() has: it jumps over the urgent byte, see tcp_poll() */
static u32 change_tcp_inq(const struct ops_sock *os)
{
	u32 inq = change_tcp_bytes(os);

	return inq && change_at_mark(os->sk) && !sock_flag(os->sk, SOCK_URGINLINE) ? inq - 1 : inq;
}

static u32 change_road_inq(const struct ops_sock *os)
{
	return ops_is_local(os) ? ops_ring_unread(&ops_rx(os)->ring) : ops_road_readable(os);
}

/*
 * Of the bytes that are there, TCP's come first up to X, then those of the road, then what TCP has
 * behind X from a sender who went back. The road counts as soon as TCP has all bytes before X, so
 * that SO_RCVLOWAT sees both together.
 */
static bool change_road_counts(const struct ops_sock *os)
{
	u32 x;

	return READ_ONCE(os->rx_road) ||
	       (change_known(os, &x) && (s32)(READ_ONCE(tcp_sk(os->sk)->rcv_nxt) - x) >= 0);
}

/* What recvmsg() has at once. */
u32 ops_inq(const struct ops_sock *os)
{
	u32 inq = change_road_counts(os) ? change_road_inq(os) : 0;

	return inq + change_tcp_inq(os);
}

u32 ops_inq_ioctl(const struct ops_sock *os)
{
	const struct tcp_sock *tp = tcp_sk(os->sk);
	u32 copied_seq = READ_ONCE(tp->copied_seq), urgent = READ_ONCE(tp->urg_seq) - copied_seq;
	const bool in_line = sock_flag(os->sk, SOCK_URGINLINE);
	u32 road = change_road_counts(os) ? change_road_inq(os) : 0;
	u32 x = copied_seq;

	if (!in_line)
		road = min(road, ops_road_ahead(os));
	if (in_line || !READ_ONCE(tp->urg_data) || urgent >= READ_ONCE(tp->rcv_nxt) - copied_seq)
		return road + change_tcp_inq(os);
	/* bytes of the road that come before it */
	if (!READ_ONCE(os->rx_road) && change_known(os, &x) && urgent < ops_before_x(copied_seq, x))
		road = 0;
	return road + urgent;
}

bool ops_at_road(const struct ops_sock *os)
{
	u32 x;

	if (!READ_ONCE(os->rx_road) &&
	    (!change_known(os, &x) || ops_before_x(READ_ONCE(tcp_sk(os->sk)->copied_seq), x)))
		return false;
	/* the sender of a ring may have gone back to TCP */
	return !ops_is_local(os) || change_road_inq(os);
}

bool ops_before_road(const struct ops_sock *os)
{
	u32 x;

	return !READ_ONCE(os->rx_road) && change_known(os, &x) &&
	       ops_before_x(READ_ONCE(tcp_sk(os->sk)->rcv_nxt), x);
}

/* TCP has asked for its own bytes alone. */
void ops_low_water(struct ops_sock *os)
{
	if (!ops_receives_beside(os))
		return;
	/* for the work item; where there is a road it is held already */
	if (!os->sk_held) {
		os->sk_held = true;
		sock_hold(os->sk);
	}
	ops_road_receive(os);
}

/* Does the receiver know of a road? Else TCP's own answers hold. */
bool ops_receives_beside(const struct ops_sock *os)
{
	u32 x;

	return READ_ONCE(os->rx_road) || change_known(os, &x);
}

/* The peer's stream has ended on the road, though TCP's FIN may never come. */
static bool change_fin(const struct ops_sock *os)
{
	if (!READ_ONCE(os->rx_road))
		return false;
	return ops_is_local(os) ? READ_ONCE(ops_rx(os)->fin) : READ_ONCE(os->rx_end);
}

/*
 * TCP's FIN may overtake bytes of a road that is not in memory, and the place where they begin. As
 * long as the road is open, the peer's stream has ended when it has ended there, too. The peer of a
 * passive end may have the road before this end does.
 */
static bool change_end_waits(const struct ops_sock *os)
{
	if (ops_is_local(os) || READ_ONCE(os->rx_end))
		return false;
	return ops_road_is_up(os) ||
	       (!os->active && READ_ONCE(os->road_state) == OPS_ROAD_OPENING);
}

/* TCP's FIN is there and nothing can be read: is recvmsg()'s answer EAGAIN, and not the end? */
bool ops_end_waits(const struct ops_sock *os)
{
	const struct sock *sk = os->sk;

	return sock_flag(sk, SOCK_DONE) && change_end_waits(os) && !READ_ONCE(sk->sk_err) &&
	       !ops_inq(os);
}

/* With rx_mutex: X is reached. */
static void change_take_road(struct ops_sock *os)
{
	WRITE_ONCE(os->rx_road, true);
	if (ops_is_local(os))
		ops_dir_follow(ops_rx(os));
}

/* With rx_mutex: the ring is empty. Return: true: the sender went back to TCP. */
static bool change_take_tcp(struct ops_sock *os)
{
	struct ops_dir *dir;

	if (!ops_is_local(os))
		return false;
	dir = ops_rx(os);
	if (!ops_changed(ops_changes(dir), dir->seen))
		return false;
	/* bytes that came before it went back */
	if (ops_ring_unread(&dir->ring))
		return true;
	WRITE_ONCE(os->rx_road, false);
	ops_dir_follow(dir);
	return true;
}

/*
 * The answer where there are no bytes, as TCP's. An error stays the socket's, see change_answer().
 * On the same-host road what TCP says of the end comes before the peer's flag: it may be a reset.
 * On others TCP's FIN may overtake bytes: it is the end unless the road broke before its own end.
 */
static int change_road_end(const struct ops_sock *os)
{
	const bool local = ops_is_local(os), waits = change_end_waits(os);
	const struct sock *sk = os->sk;
	const bool done = sock_flag(sk, SOCK_DONE);
	int err = READ_ONCE(sk->sk_err);

	if (local ? done : change_fin(os))
		return 0;
	if (!local && unlikely(READ_ONCE(os->rx_cut)) && !READ_ONCE(os->rx_shut))
		return err ? -err : -ECONNRESET;
	if (!local && done && !waits)
		return 0;
	if (err)
		return -err;
	if (local && change_fin(os))
		return 0;
	/* the program's own shutdown(); else TCP's FIN */
	if (!done && READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
		return 0;
	return !waits && inet_sk_state_load(sk) == TCP_CLOSE ? -ENOTCONN : -EAGAIN;
}

/*
 * What a call returns. An error is returned once, by a call that has nothing else to give: TCP's
 * own calls have taken it off the socket then, and ours do it here.
 */
static int change_answer(struct ops_sock *os, int copied, int ret)
{
	struct sock *sk = os->sk;

	if (copied)
		return copied;
	if (ret < 0 && ret == -READ_ONCE(sk->sk_err))
		sock_error(sk);
	if (ret < 0 && ret != -EAGAIN)
		WRITE_ONCE(os->rx_cut, false);
	return ret;
}

/* A call for no bytes, as TCP's: are there some, or an end? Without waiting. With rx_mutex. */
static int change_recv_none(struct ops_sock *os, struct msghdr *msg, int flags)
{
	u32 x;

	change_learn(os, &x);
	if (ops_inq(os))
		return 0;
	return ops_receives_beside(os) ?
		       change_road_end(os) :
		       ops_tcp_recvmsg(os->sk, msg, 0, flags | MSG_DONTWAIT COMPAT_ADDR_LEN(NULL));
}

/* Bytes of the road, without waiting. 0: end of the stream. With rx_mutex. */
static int change_recv_road(struct ops_sock *os, struct msghdr *msg, size_t len, int flags)
{
	int end = -EAGAIN, ret;

	for (;;) {
		ret = ops_is_local(os) ? ops_local_recv(os, msg, len, flags, 0) :
					 ops_road_recv(os, msg, len, flags);
		if (ret != -EAGAIN)
			return ret;
		if (end != -EAGAIN)
			return end;
		end = change_road_end(os);
		if (end == -EAGAIN)
			return end;
		/* the last bytes were stored before the end was: look once more */
		smp_rmb();
	}
}

/*
 * Bytes that TCP's queue has, asked before X is: a sender who changes, and goes back to TCP at
 * once, has sent none of them behind an X that change_learn() does not know yet.
 */
static u32 change_tcp_now(const struct ops_sock *os)
{
	const struct tcp_sock *tp = tcp_sk(os->sk);
	u32 inq = READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);

	/* before the look at the sender's changes */
	smp_rmb();
	return inq;
}

/* Reads TCP's queue, but no more than it had when change_tcp_now() said @inq. */
static int change_recv_tcp(struct ops_sock *os, struct msghdr *msg, size_t len, int flags, u32 inq)
{
	const int begins = TCPF_LISTEN | TCPF_SYN_SENT | TCPF_SYN_RECV;

	if (inq)
		len = min_t(size_t, len, inq);
	else if (!((1 << inet_sk_state_load(os->sk)) & begins))
		return change_road_end(os);
	return ops_tcp_recvmsg(os->sk, msg, len, flags COMPAT_ADDR_LEN(NULL));
}

/*
 * Begins to read. @waits: the call may wait. @lends: also with rx_mutex, see change_recv_now().
 * Return: 0; -EAGAIN: one that lends has it; -EINTR.
 */
static int change_reader_enters(struct ops_sock *os, bool waits, bool lends)
{
	int err;

	/* before it is taken: a call that does not wait never waits for it */
	if (lends) {
		atomic_inc(&os->rx_lenders);
		/* pairs with road_reader_waits() */
		smp_mb__after_atomic();
	}
	if (waits || ops_is_local(os))
		err = mutex_lock_interruptible(&os->rx_mutex);
	else
		err = ops_road_reader_try(os) ? 0 : -EAGAIN;
	if (err && lends)
		atomic_dec(&os->rx_lenders);
	return err;
}

static void change_reader_leaves(struct ops_sock *os, bool lends)
{
	mutex_unlock(&os->rx_mutex);
	if (lends)
		atomic_dec(&os->rx_lenders);
	if (!ops_is_local(os))
		ops_road_reader_left(os);
}

/* A call that has bytes ends in front of urgent data, TCP's or the road's. */
static bool change_at_urgent(const struct ops_sock *os)
{
	return change_at_mark(os->sk) ||
	       (READ_ONCE(os->rx_road) && ops_road_urgent(os) & OFFLOAD_URGENT_MARK);
}

/*
 * All that is there without waiting, over the change. With rx_mutex. @lend: a road other than the
 * same-host one may wait, with the program's memory lent to the peer.
 */
static int change_recv_now(struct ops_sock *os, struct msghdr *msg, size_t len, int flags,
			   bool lend)
{
	const int waiting = flags;
	int copied = 0, ret = 0;
	bool waits;
	u32 x;

	flags = (flags | MSG_DONTWAIT) & ~MSG_WAITALL;
	if (unlikely(!len))
		return change_recv_none(os, msg, flags);
	do {
		size_t part = len - copied;
		u32 inq;

		if (os->rx_road) {
			/* a road may take an error off the socket, and there is something to say */
			if (copied && !ops_is_local(os) && READ_ONCE(os->sk->sk_err))
				break;
			if (copied && change_at_urgent(os))
				break;
			lend &= !copied;
			ret = change_recv_road(os, msg, part, lend ? waiting : flags);
			if (ret > 0)
				copied += ret;
			/* one that may wait takes what the program wants, and knows best when */
			if (lend || (ret <= 0 && !change_take_tcp(os)))
				break;
			continue;
		}
		inq = change_tcp_now(os);
		if (change_learn(os, &x)) {
			part = min_t(size_t, part, ops_before_x(tcp_sk(os->sk)->copied_seq, x));
			if (!part) {
				change_take_road(os);
				continue;
			}
		}
		if (copied && change_at_urgent(os))
			break;
		ret = change_recv_tcp(os, msg, part, flags, inq);
		if (ret > 0)
			copied += ret;
		/* the end is the peer's, not the program's own SHUT_RD */
		waits = !ret && part && sock_flag(os->sk, SOCK_DONE) && change_end_waits(os);
		/* what came before the road's end was stored before it */
		smp_rmb();
		/* X, or TCP's end at X: the road is next */
		if (change_learn(os, &x) && !ops_before_x(tcp_sk(os->sk)->copied_seq, x))
			continue;
		if (waits)
			ret = -EAGAIN;
		break;
	} while (copied < len);
	return copied ?: ret;
}

int ops_recv_now(struct ops_sock *os, struct msghdr *msg, size_t len)
{
	int ret = change_reader_enters(os, false, false);

	if (ret)
		return ret;
	ret = change_recv_now(os, msg, len, 0, false);
	change_reader_leaves(os, false);
	return change_answer(os, 0, ret);
}

bool ops_recv_at_end(const struct ops_sock *os)
{
	return !change_road_end(os);
}

u32 ops_inq_hint(const struct ops_sock *os)
{
	u32 inq = ops_inq(os);

	if (!inq && (sock_flag(os->sk, SOCK_DONE) || change_fin(os)))
		inq = !change_end_waits(os);
	return inq;
}

/*
 * May no more come until some of what is there is read? Then it is enough for a reader who wants
 * more (SO_RCVLOWAT, MSG_PEEK): TCP's buffer grows with what he wants, or says so itself. @all: he
 * wants as much as there may be.
 */
static bool change_full(const struct ops_sock *os, bool all)
{
	const struct ops_dir *dir;
	u32 unread;

	if (!change_road_counts(os))
		return false;
	if (!ops_is_local(os))
		return ops_road_full(os);
	dir = ops_rx(os);
	unread = ops_ring_unread(&dir->ring);
	/* the sender went back: TCP counts its own bytes alone, and wakes nobody for fewer */
	if (unread && !(ops_changes(dir) & 1))
		return true;
	/* a sender may wait for room sooner than the ring is full, see ops_local_writable() */
	return all ? !ops_ring_roomy(unread, dir->limit) : unread >= dir->limit / 2;
}

/**
 * struct change_want - what a reader waits for
 * @bytes: so many
 * @least: or so many, where no more come
 * @all: with MSG_WAITALL
 */
struct change_want {
	u32 bytes;
	u32 least;
	bool all;
};

static bool change_enough(const struct ops_sock *os, const struct change_want *want)
{
	const u32 inq = ops_inq(os);

	return inq >= want->bytes || (inq >= want->least && change_full(os, want->all));
}

/* Is there something for a reader who waits? */
static bool change_ready(const struct ops_sock *os, const struct change_want *want)
{
	const bool waits = change_end_waits(os);
	const struct sock *sk = os->sk;
	u32 x;

	if (READ_ONCE(os->dead) || READ_ONCE(sk->sk_err) || change_fin(os) ||
	    change_enough(os, want))
		return true;
	if (sock_flag(sk, SOCK_DONE) ? !waits : READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
		return true;
	if (inet_sk_state_load(sk) == TCP_CLOSE && !waits)
		return true;
	/* the sender went back, or X is where TCP's queue ends */
	if (!change_known(os, &x))
		return false;
	if (READ_ONCE(os->rx_road))
		return ops_is_local(os) && !ops_ring_unread(&ops_rx(os)->ring);
	return false;
}

/* Return: what is left of the time. Nothing is held. */
static long change_wait(const struct ops_sock *os, const struct change_want *want, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = os->sk;

	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	/* pairs with wq_has_sleeper() of who wakes: no lock is between */
	smp_mb();
	if (!change_ready(os, want))
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
	return timeo;
}

/* The mark was taken off while we waited: another protocol may be there. */
static int change_recv_plain(struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	return ops_plain_prot(sk)->recvmsg(sk, msg, len, flags COMPAT_ADDR_LEN(NULL));
}

static int change_recv(struct ops_sock *os, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = os->sk;
	const int target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	const struct change_want want = { .bytes = 1, .least = 1 };
	unsigned long begin;
	int copied = 0, ret;
	bool lend;

	for (;;) {
		/* a reader whose memory is lent has the mutex while he waits */
		lend = timeo && !copied && !ops_is_local(os);
		ret = change_reader_enters(os, timeo, lend);
		if (ret)
			return copied ?: ret == -EAGAIN ? ret : sock_intr_errno(timeo);
		begin = jiffies;
		ret = change_recv_now(os, msg, len - copied, flags, lend);
		if (lend && timeo != MAX_SCHEDULE_TIMEOUT)
			timeo -= min_t(long, timeo, jiffies - begin);
		change_reader_leaves(os, lend);
		if (ret > 0)
			copied += ret;
		else if (ret != -EAGAIN)
			return change_answer(os, copied, ret);
		if (copied && (copied >= target || copied == len || change_at_urgent(os)))
			return copied;
		if (!timeo)
			return copied ?: -EAGAIN;
		if (signal_pending(current))
			return copied ?: sock_intr_errno(timeo);
		if (READ_ONCE(os->dead) && !READ_ONCE(os->gone))
			return copied ?: change_recv_plain(sk, msg, len, flags);
		timeo = change_wait(os, &want, timeo);
		if (READ_ONCE(os->gone))
			return copied ?: -EPIPE;
	}
}

/* Peeking ******************************************************************* */

/*
 * With rx_mutex: the ring's first @peeked bytes were peeked at. Are TCP's the next ones, from a
 * sender who went back? With SO_PEEK_OFF TCP counts from its own first byte.
 */
static bool change_peek_behind(const struct ops_sock *os, int flags, u32 peeked)
{
	if (!os->rx_road || !ops_is_local(os) || sk_peek_offset(os->sk, flags) >= 0)
		return false;
	return !(ops_changes(ops_rx(os)) & 1) && change_road_inq(os) == peeked &&
	       change_tcp_bytes(os) && !change_at_mark(os->sk);
}

/* With rx_mutex. @off: of SO_PEEK_OFF, over both. */
static int change_peek_now(struct ops_sock *os, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = os->sk;
	u32 off = max(sk_peek_offset(sk, flags), 0);
	u32 x, rest = U32_MAX, inq;
	int copied = 0, ret = -EAGAIN;

	if (os->rx_road && !change_road_inq(os))
		change_take_tcp(os);
	inq = change_tcp_now(os);
	if (os->rx_road)
		rest = 0;
	else if (change_learn(os, &x))
		rest = ops_before_x(tcp_sk(sk)->copied_seq, x);
	flags = (flags | MSG_DONTWAIT) & ~MSG_WAITALL;
	if (off < rest) {
		size_t part = min_t(size_t, len, rest - off);

		/* TCP moves SO_PEEK_OFF itself */
		ret = change_recv_tcp(os, msg, part, flags, inq > off ? inq - off : 0);
		if (ret < 0)
			return ret;
		copied = ret;
		if (copied == len || off + copied < rest)
			return copied;
	}
	ret = ops_is_local(os) ?
		      ops_local_recv(os, msg, len - copied, flags, off + copied - rest) :
		      ops_road_peek(os, msg, len - copied, flags, off + copied - rest);
	if (ret > 0) {
		sk_peek_offset_fwd(sk, ret);
		copied += ret;
		if (copied < len && change_peek_behind(os, flags, copied)) {
			ret = ops_tcp_recvmsg(sk, msg, len - copied, flags COMPAT_ADDR_LEN(NULL));
			copied += max(ret, 0);
		}
		return copied;
	}
	if (ret == -EAGAIN && !copied)
		return change_road_end(os);
	return copied ?: ret;
}

static int change_peek(struct ops_sock *os, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = os->sk;
	const u32 target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	struct change_want want = { .all = flags & MSG_WAITALL };
	int ret;

	for (;;) {
		want.least = max(sk_peek_offset(sk, flags), 0) + 1;
		want.bytes = target + want.least - 1;
		if (!timeo || change_ready(os, &want)) {
			ret = change_reader_enters(os, timeo, false);
			if (ret)
				return ret == -EAGAIN ? ret : sock_intr_errno(timeo);
			ret = len ? change_peek_now(os, msg, len, flags) :
				    change_recv_none(os, msg, flags);
			change_reader_leaves(os, false);
			if (ret != -EAGAIN || !timeo)
				return change_answer(os, 0, ret);
		}
		if (signal_pending(current))
			return sock_intr_errno(timeo);
		if (READ_ONCE(os->dead) && !READ_ONCE(os->gone))
			return change_recv_plain(sk, msg, len, flags);
		timeo = change_wait(os, &want, timeo);
		if (READ_ONCE(os->gone))
			return -EPIPE;
	}
}

/* TCP_INQ: TCP counted its own queue only, if any. */
static void change_tell_inq(struct ops_sock *os, struct msghdr *msg, void *control, size_t room)
{
	const bool cmsg = tcp_sk(os->sk)->recvmsg_inq;

	if (!cmsg && !msg->msg_get_inq)
		return;
	msg->msg_inq = ops_inq_hint(os);
	if (!cmsg)
		return;
	msg->msg_control = control;
	msg->msg_controllen = room;
	put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(msg->msg_inq), &msg->msg_inq);
}

/* TCP's byte, or one of the road. */
static int change_recv_urgent(struct ops_sock *os, struct msghdr *msg, size_t len, int flags)
{
	int ret = ops_tcp_recvmsg(os->sk, msg, len, flags COMPAT_ADDR_LEN(NULL));

	if (ret != -EINVAL || !ops_road_urgent_there(os))
		return ret;
	/* as TCP: a byte that came before a reset cannot be read behind it */
	if (ops_road_urgent(os) & OFFLOAD_URGENT_BYTE &&
	    inet_sk_state_load(os->sk) == TCP_CLOSE && !sock_flag(os->sk, SOCK_DONE))
		return -ENOTCONN;
	return ops_road_recv(os, msg, len, flags);
}

int ops_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags COMPAT_ADDR_LEN_PARAM)
{
	struct ops_sock *os = ops_sock_enter(sk);
	size_t room = msg->msg_controllen;
	void *control = msg->msg_control;
	int ret;

	if (unlikely(!os))
		return ops_plain_prot(sk)->recvmsg(sk, msg, len, flags COMPAT_ADDR_LEN(addr_len));
	if (unlikely(flags & MSG_OOB))
		ret = change_recv_urgent(os, msg, len, flags);
	else if (unlikely(flags & MSG_ERRQUEUE))
		ret = ops_tcp_recvmsg(sk, msg, len, flags COMPAT_ADDR_LEN(addr_len));
	else if (unlikely(flags & MSG_PEEK))
		ret = change_peek(os, msg, len, flags);
	else
		ret = change_recv(os, msg, len, flags);
	if (ret >= 0 && !(flags & MSG_ERRQUEUE) && ops_receives_beside(os))
		change_tell_inq(os, msg, control, room);
	ops_sock_put(os);
	return ret;
}

/* tcp_poll() has asked TCP's queue. With SO_RCVLOWAT the bytes of both count. */
static bool change_is_readable(const struct ops_sock *os)
{
	const struct change_want want = {
		.bytes = sock_rcvlowat(os->sk, 0, INT_MAX),
		.least = 1,
	};

	return ops_receives_beside(os) && (change_enough(os, &want) || change_fin(os));
}

bool ops_is_readable(struct sock *sk)
{
	bool readable = false;
	struct ops_sock *os;

	rcu_read_lock();
	os = ops_sock_of(sk);
	if (os)
		readable = change_is_readable(os);
	rcu_read_unlock();
	return readable;
}
