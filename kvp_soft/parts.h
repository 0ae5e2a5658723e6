/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The complete queue pair: queues, transmitter, receiver, direct path.
 */
#ifndef SOFT_PARTS_H
#define SOFT_PARTS_H

#include "direct.h"
#include "queues/qp.h"
#include "rx/rx.h"
#include "tx/tx.h"

/**
 * struct soft_qp_parts - all parts of a queue pair
 * @qp: queue pair; must be first, since it starts with the kAL's object
 * @tx: transmitter
 * @rx: receiver
 * @direct: its state for the direct path
 * @saved: the socket's original callbacks
 */
struct soft_qp_parts {
	struct soft_qp qp;
	struct soft_tx tx;
	struct soft_rx rx;
	struct soft_direct direct;
	struct {
		void (*data_ready)(struct sock *sk);
		void (*state_change)(struct sock *sk);
		void (*write_space)(struct sock *sk);
		void *user_data;
	} saved;
};

static inline struct soft_qp_parts *soft_qp_parts(struct soft_qp *qp)
{
	return container_of(qp, struct soft_qp_parts, qp);
}

#endif /* SOFT_PARTS_H */
