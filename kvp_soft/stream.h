/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The QP and its TCP stream, from attach to detach.
 */
#ifndef SOFT_STREAM_H
#define SOFT_STREAM_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct ri_llp;
struct soft_qp;

int soft_stream_attach(struct soft_qp *qp, struct ri_llp *llp, bool nowait);
void soft_stream_close(struct soft_qp *qp);
void soft_stream_end(struct soft_qp *qp, bool abort, int status);
int soft_stream_fail(struct soft_qp *qp, bool nowait);
void soft_ctl_work(struct work_struct *work);
void soft_close_timer(struct work_struct *work);

#endif /* SOFT_STREAM_H */
