// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Events: from the legs to the user's socket, and poll().
 *
 * Each leg has a struct socket of its own, and the sock's default callbacks wake the wait queue
 * that is in it. The switch has an entry in that wait queue. This way no callback of the sock is
 * replaced: a child of a listener inherits nothing of the switch, may move to a listener that the
 * switch does not know (net.ipv4.tcp_migrate_req), and sk_user_data is the protocol's. When the
 * entry is out of the queue, nothing of the switch runs for the leg.
 *
 * An entry is called with the lock of its wait queue and wakes the user's socket, so lockdep is
 * told that the two wait queues are different.
 */
#include <linux/poll.h>

#include "ops.h"

static struct lock_class_key ops_poll_leg_key;

/**
 * ops_leg_watch() - call a function for each event of a leg
 * @leg: leg, which neither listens nor connects yet
 * @event: called with interrupts off
 *
 * Context: with the mutex.
 */
void ops_leg_watch(struct ops_leg *leg, wait_queue_func_t event)
{
	struct wait_queue_head *queue = &leg->sock->wq.wait;

	lockdep_assert_held(&leg->osk->mutex);
	if (WARN_ON_ONCE(leg->watched))
		return;
	lockdep_set_class(&queue->lock, &ops_poll_leg_key);
	init_waitqueue_func_entry(&leg->event, event);
	add_wait_queue(queue, &leg->event);
	leg->watched = true;
}

/**
 * ops_leg_unwatch() - no more events of a leg
 * @leg: leg; its socket is still there
 *
 * A leg that vanishes while it connects or listens is missed: the connect continues with the next
 * one, accept() looks what is left. Context: with the mutex.
 */
void ops_leg_unwatch(struct ops_leg *leg)
{
	struct ops_sock *osk = leg->osk;

	lockdep_assert_held(&osk->mutex);
	if (!leg->watched)
		return;
	remove_wait_queue(&leg->sock->wq.wait, &leg->event);
	leg->watched = false;
	if (leg->listening) {
		ops_listen_forget(leg);
		osk->inet.sk.sk_state_change(&osk->inet.sk);
	} else if (osk->state == OPS_CONNECTING && osk->attempt == leg - osk->legs) {
		ops_connect_kick(osk);
	}
}

static __poll_t ops_poll_listener(struct ops_sock *osk, struct file *file)
{
	__poll_t mask = 0;
	u32 i;

	for (i = 0; i < osk->num; i++) {
		struct socket *leg = osk->legs[i].sock;

		if (leg && osk->legs[i].listening)
			mask |= leg->ops->poll(file, leg, NULL);
	}
	return mask & (EPOLLIN | EPOLLRDNORM);
}

static __poll_t ops_poll_state(struct ops_sock *osk, struct file *file)
{
	__poll_t mask;
	struct ops_leg *leg;

	switch (osk->state) {
	case OPS_LISTENING:
		mask = ops_poll_listener(osk, file);
		break;
	case OPS_CONNECTING:
		mask = 0;
		break;
	case OPS_FAILED:
		/* as TCP after a reset */
		mask = EPOLLHUP | EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT | EPOLLWRNORM;
		break;
	default:
		leg = ops_leg_first(osk);
		mask = leg ? leg->sock->ops->poll(file, leg->sock, NULL) :
			     EPOLLHUP | EPOLLOUT | EPOLLWRNORM;
		break;
	}
	if (READ_ONCE(osk->inet.sk.sk_err))
		mask |= EPOLLERR;
	return mask;
}

/**
 * ops_poll() - poll of a socket that is not handed off
 * @file: file
 * @sock: user's socket
 * @wait: NULL: do not wait
 *
 * A listener asks its legs, whose answer is exact. A socket that connects has nothing to report
 * until the last leg's verdict. Any other says what TCP's leg says.
 *
 * Return: events. Context: may sleep.
 */
__poll_t ops_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	struct ops_sock *osk;
	__poll_t mask = 0;
	bool gone;

	sock_poll_wait(file, sock, wait);
	osk = ops_enter(sock);
	if (osk) {
		mutex_lock(&osk->mutex);
		gone = osk->state == OPS_HANDED_OFF;
		if (!gone)
			mask = ops_poll_state(osk, file);
		mutex_unlock(&osk->mutex);
		ops_leave(osk);
		if (!gone)
			return mask;
	}
	/* already in the wait queue: it is the same one */
	return READ_ONCE(sock->ops)->poll(file, sock, NULL);
}
