// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The other calls of a socket that is not handed off: the leg that speaks for all answers them,
 * which is TCP's, so that the answer is TCP's. None of them waits in a leg. Data cannot move
 * before the hand-off: sendmsg() and recvmsg() wait for the connection, if one is under way, and
 * go on in the operations of the protocol that made it.
 */
#include <linux/err.h>
#include <linux/sched/signal.h>
#include <net/tcp.h>

#include "ops.h"

/* no answer of a leg: the socket was handed off, go on in sock->ops */
#define OPS_CALL_GO_ON	(-MAX_ERRNO)

/**
 * ops_leg_first() - the leg that speaks for all
 * @osk: ops_sock; with the mutex
 *
 * Return: TCP's leg, else the first one; NULL: there is none.
 */
struct ops_leg *ops_leg_first(struct ops_sock *osk)
{
	u32 i;

	for (i = 0; i < osk->num; i++)
		if (osk->legs[i].sock)
			return &osk->legs[i];
	return NULL;
}

/**
 * ops_leg_sk() - the sock that has the options of SOL_SOCKET
 * @osk: ops_sock; with the mutex
 *
 * Return: sock of the first leg, or that of @osk, which has the defaults.
 */
struct sock *ops_leg_sk(struct ops_sock *osk)
{
	struct ops_leg *leg = ops_leg_first(osk);

	return leg ? leg->sock->sk : &osk->inet.sk;
}

/* ops_enter() with the mutex; NULL: sock->ops are another protocol's */
static struct ops_sock *ops_call_begin(struct socket *sock)
{
	struct ops_sock *osk = ops_enter(sock);

	if (!osk)
		return NULL;
	mutex_lock(&osk->mutex);
	if (osk->state != OPS_HANDED_OFF)
		return osk;
	mutex_unlock(&osk->mutex);
	ops_leave(osk);
	return NULL;
}

static void ops_call_end(struct ops_sock *osk)
{
	mutex_unlock(&osk->mutex);
	ops_leave(osk);
}

/**
 * ops_getname() - local or peer's address
 * @sock: user's socket, or one of accept(), which is handed off
 * @address: result
 * @peer: as in struct proto_ops
 *
 * Return: length, or an errno. Context: may sleep.
 */
int ops_getname(struct socket *sock, struct sockaddr *address, int peer)
{
	struct ops_sock *osk = ops_call_begin(sock);
	struct ops_leg *leg;
	int len;

	if (!osk)
		return READ_ONCE(sock->ops)->getname(sock, address, peer);
	leg = ops_leg_first(osk);
	if (osk->state == OPS_CONNECTING && osk->attempt >= 0 && osk->legs[osk->attempt].sock)
		leg = &osk->legs[osk->attempt];
	len = leg ? leg->sock->ops->getname(leg->sock, address, peer) : -ENETDOWN;
	ops_call_end(osk);
	return len;
}

/* A socket that neither connects nor listens: -ENOTCONN of TCP, which remembers the direction. */
static int ops_call_shutdown(struct ops_sock *osk, int how)
{
	int err, result = -ENOTCONN;
	u32 i;

	for (i = osk->num; i-- > 0;) {
		struct socket *leg = osk->legs[i].sock;

		if (!leg)
			continue;
		err = leg->ops->shutdown(leg, how);
		result = err;
	}
	osk->inet.sk.sk_state_change(&osk->inet.sk);
	return result;
}

/**
 * ops_shutdown() - shutdown of a socket that is not handed off
 * @sock: user's socket
 * @how: as the call
 *
 * A listener that may not receive is none any more: accept() returns -EINVAL. A connect that is
 * under way is given up.
 *
 * Return: 0 or an errno, as TCP. Context: may sleep.
 */
int ops_shutdown(struct socket *sock, int how)
{
	struct ops_sock *osk = ops_call_begin(sock);
	int err = 0;

	if (!osk)
		return READ_ONCE(sock->ops)->shutdown(sock, how);
	if (how < SHUT_RD || how > SHUT_RDWR) {
		err = -EINVAL;
	} else if (osk->state == OPS_CONNECTING) {
		ops_connect_give_up(osk, sock);
	} else if (osk->state == OPS_LISTENING && how != SHUT_WR) {
		ops_listen_end(osk);
		osk->state = osk->before;
		err = ops_call_shutdown(osk, how);
	} else {
		err = ops_call_shutdown(osk, how);
	}
	ops_call_end(osk);
	return err;
}

/**
 * ops_ioctl() - ioctl of a socket that is not handed off
 * @sock: user's socket
 * @cmd: command
 * @arg: its argument
 *
 * Return: as TCP; -ENOIOCTLCMD: the socket layer may know it. Context: may sleep.
 */
int ops_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct ops_sock *osk = ops_call_begin(sock);
	struct ops_leg *leg;
	int err;

	if (!osk)
		return READ_ONCE(sock->ops)->ioctl(sock, cmd, arg);
	leg = ops_leg_first(osk);
	err = leg ? leg->sock->ops->ioctl(leg->sock, cmd, arg) : -ENETDOWN;
	ops_call_end(osk);
	return err;
}

/* Data in the SYN is TCP's alone; if the host does not allow it, TCP's leg says so. */
static bool ops_call_is_fast_open(struct ops_sock *osk, const struct msghdr *msg)
{
	if (!(msg->msg_flags & MSG_FASTOPEN) || !ops_native(osk))
		return false;
	if (osk->state != OPS_NEW && osk->state != OPS_BOUND)
		return false;
	return READ_ONCE(sock_net(&osk->inet.sk)->ipv4.sysctl_tcp_fastopen) & TFO_CLIENT_ENABLE;
}

/* An attempt is under way. Return: 0: look again; with the mutex again. */
static int ops_call_wait(struct ops_sock *osk, struct socket *sock, long *timeo)
{
	int err;

	if (!*timeo)
		return -EAGAIN;
	mutex_unlock(&osk->mutex);
	err = ops_connect_wait(osk, sock, timeo);
	mutex_lock(&osk->mutex);
	return err;
}

static int ops_call_send(struct ops_sock *osk, struct msghdr *msg, size_t len)
{
	unsigned int flags = msg->msg_flags;
	struct ops_leg *leg;
	int err;

	err = sock_error(&osk->inet.sk);
	if (err)
		return err;
	leg = ops_leg_first(osk);
	if (!leg) {
		if (!(flags & MSG_NOSIGNAL))
			send_sig(SIGPIPE, current, 0);
		return -EPIPE;
	}
	msg->msg_flags |= MSG_DONTWAIT;
	err = leg->sock->ops->sendmsg(leg->sock, msg, len);
	msg->msg_flags = flags;
	return err;
}

/* Return: what the call returns, or OPS_CALL_GO_ON. */
static int ops_call_before_send(struct ops_sock *osk, struct socket *sock, struct msghdr *msg,
				size_t len)
{
	long timeo = sock_sndtimeo(ops_leg_sk(osk), msg->msg_flags & MSG_DONTWAIT);
	int err;

	while (osk->state == OPS_CONNECTING) {
		err = ops_call_wait(osk, sock, &timeo);
		if (err)
			return err;
	}
	if (osk->state == OPS_HANDED_OFF)
		return OPS_CALL_GO_ON;
	if (ops_call_is_fast_open(osk, msg)) {
		ops_count(sock_net(&osk->inet.sk), OPS_REASON_FAST_OPEN);
		ops_handoff(osk, sock, ops_native(osk));
		return OPS_CALL_GO_ON;
	}
	return ops_call_send(osk, msg, len);
}

/**
 * ops_sendmsg() - send on a socket that is not handed off
 * @sock: user's socket
 * @msg: message
 * @len: its length
 *
 * Return: as TCP. Context: may sleep.
 */
int ops_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct ops_sock *osk = ops_call_begin(sock);
	int err = OPS_CALL_GO_ON;

	if (osk) {
		err = ops_call_before_send(osk, sock, msg, len);
		ops_call_end(osk);
	}
	return err == OPS_CALL_GO_ON ? READ_ONCE(sock->ops)->sendmsg(sock, msg, len) : err;
}

/* As ops_call_before_send() */
static int ops_call_before_recv(struct ops_sock *osk, struct socket *sock, struct msghdr *msg,
				size_t len, int flags)
{
	long timeo = sock_rcvtimeo(ops_leg_sk(osk), flags & (MSG_DONTWAIT | MSG_ERRQUEUE));
	struct ops_leg *leg;
	int err;

	while (osk->state == OPS_CONNECTING) {
		err = ops_call_wait(osk, sock, &timeo);
		if (err)
			return err;
	}
	if (osk->state == OPS_HANDED_OFF)
		return OPS_CALL_GO_ON;
	err = flags & MSG_ERRQUEUE ? 0 : sock_error(&osk->inet.sk);
	if (err)
		return err;
	leg = ops_leg_first(osk);
	if (!leg)
		return -ENOTCONN;
	return leg->sock->ops->recvmsg(leg->sock, msg, len, flags | MSG_DONTWAIT);
}

/**
 * ops_recvmsg() - receive on a socket that is not handed off
 * @sock: user's socket
 * @msg: message
 * @len: room
 * @flags: MSG_*
 *
 * Return: as TCP. Context: may sleep.
 */
int ops_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct ops_sock *osk = ops_call_begin(sock);
	int err = OPS_CALL_GO_ON;

	if (osk) {
		err = ops_call_before_recv(osk, sock, msg, len, flags);
		ops_call_end(osk);
	}
	return err == OPS_CALL_GO_ON ? READ_ONCE(sock->ops)->recvmsg(sock, msg, len, flags) : err;
}
