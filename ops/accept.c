// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * accept(): the oldest connection of all legs.
 *
 * The queue of listen.c says which leg to ask; its numbers are hints. So before a thread sleeps,
 * it has asked all legs. It sleeps at the user's socket, where the legs' events arrive, as an
 * exclusive waiter: one connection wakes one thread. A thread that was woken asks before it
 * looks for a signal, so a wake-up is never lost with it. One that comes while the thread is in a
 * leg's accept(), which may sleep in its own way, is passed on.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "ops.h"

/* The connection is gone; the next one may be there. */
static bool ops_accept_stale(int err)
{
	return err == -EAGAIN || err == -ECONNABORTED || err == -ECONNRESET;
}

static int ops_accept_leg(struct ops_leg *leg, struct socket *newsock,
			  struct proto_accept_arg *arg)
{
	struct ops_sock *osk = leg->osk;
	struct proto_accept_arg now = *arg;
	int err;

	if (!leg->sock || !leg->listening)
		return -EAGAIN;
	now.flags |= O_NONBLOCK;
	err = leg->sock->ops->accept(leg->sock, newsock, &now);
	if (err)
		return err;
	arg->is_empty = now.is_empty;
	ops_handoff_new(leg->proto, newsock, osk->family);
	ops_count(sock_net(&osk->inet.sk),
		  leg->proto->sw ? OPS_REASON_ACCEPTED : OPS_REASON_NATIVE_ACCEPTED);
	return 0;
}

static int ops_accept_any(struct ops_sock *osk, struct socket *newsock,
			  struct proto_accept_arg *arg)
{
	bool listening = false;
	int err, failed = -EAGAIN;
	struct ops_leg *leg;
	u32 i;

	while ((leg = ops_listen_oldest(osk))) {
		err = ops_accept_leg(leg, newsock, arg);
		if (!err) {
			/* io_uring asks whether there is more */
			if (READ_ONCE(osk->queue_num))
				arg->is_empty = 0;
			return 0;
		}
	}
	for (i = 0; i < osk->num; i++) {
		leg = &osk->legs[i];
		/* an aborted one is dropped; the next one takes its place */
		do {
			err = ops_accept_leg(leg, newsock, arg);
		} while (err != -EAGAIN && ops_accept_stale(err));
		if (!err)
			return 0;
		/* as a connect that fails: the wildcard continues with TCP */
		if (err != -EAGAIN && (!leg->proto->sw || !ops_native(osk)))
			failed = err;
		listening |= leg->listening;
	}
	return listening ? failed : -ENETDOWN;
}

static int ops_accept_try(struct ops_sock *osk, struct socket *newsock,
			  struct proto_accept_arg *arg)
{
	int err = -EINVAL;

	mutex_lock(&osk->mutex);
	if (osk->state == OPS_LISTENING)
		err = ops_accept_any(osk, newsock, arg);
	mutex_unlock(&osk->mutex);
	return err;
}

static long ops_accept_timeo(struct ops_sock *osk, int flags)
{
	long timeo;

	mutex_lock(&osk->mutex);
	timeo = sock_rcvtimeo(ops_leg_sk(osk), flags & O_NONBLOCK);
	mutex_unlock(&osk->mutex);
	return timeo;
}

static int ops_accept_wait(struct ops_sock *osk, struct socket *sock, struct socket *newsock,
			   struct proto_accept_arg *arg)
{
	long timeo = ops_accept_timeo(osk, arg->flags);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = -EAGAIN;

	if (!timeo)
		return err;
	add_wait_queue_exclusive(&sock->wq.wait, &wait);
	for (;;) {
		err = ops_accept_try(osk, newsock, arg);
		if (err != -EAGAIN)
			break;
		if (signal_pending(current)) {
			err = sock_intr_errno(timeo);
			break;
		}
		if (!timeo)
			break;
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	}
	remove_wait_queue(&sock->wq.wait, &wait);
	/* a wake-up for a connection that this thread does not take is another one's */
	if (wait.flags & WQ_FLAG_WOKEN)
		wake_up_interruptible_poll(&sock->wq.wait, EPOLLIN | EPOLLRDNORM);
	return err;
}

/**
 * ops_accept() - accept a connection of any protocol
 * @sock: user's socket
 * @newsock: becomes a socket of the protocol of the connection
 * @arg: flags; O_NONBLOCK
 *
 * Return: 0 or an errno, as TCP. Context: may sleep.
 */
int ops_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	struct ops_sock *osk = ops_enter(sock);
	int err;

	if (!osk)
		return READ_ONCE(sock->ops)->accept(sock, newsock, arg);
	err = ops_accept_try(osk, newsock, arg);
	if (err == -EAGAIN)
		err = ops_accept_wait(osk, sock, newsock, arg);
	ops_leave(osk);
	return err;
}
