/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The queue pair verbs that the kAL calls.
 */
#ifndef SOFT_QP_H
#define SOFT_QP_H

#include <krdma/rnicpi.h>

int soft_qp_create(struct ri_qp *ri, struct ri_qp_init_attr *attr,
		   struct ri_udata *udata);
int soft_qp_query(struct ri_qp *ri, struct ib_qp_attr *attr, int mask,
		  struct ri_qp_init_attr *init_attr);
int soft_qp_modify(struct ri_qp *ri, const struct ib_qp_attr *attr, int mask,
		   struct ri_llp *llp);
void soft_qp_destroy(struct ri_qp *ri);
int soft_qp_doorbell(struct ri_qp *ri);
void soft_qp_push(struct ri_qp *ri, bool sleep);
void soft_qp_info(struct ri_qp *ri, struct ri_qp_info *info);
int soft_post_send(struct ri_qp *ri, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int soft_post_recv(struct ri_qp *ri, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

#endif /* SOFT_QP_H */
