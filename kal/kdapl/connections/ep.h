/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Endpoints, for the files that have their parts:
 *
 * - ep.c: creation, configuration, end
 * - ep_attr.c: attributes
 * - ep_qp.c: queue pairs
 */
#ifndef KDAT_EP_H
#define KDAT_EP_H

#include "connections.h"

/* what an endpoint is made of */
struct kdat_ep_setup {
	struct kdat_pz *pz;
	struct kdat_evd *recv_evd;
	struct kdat_evd *request_evd;
	struct kdat_evd *connect_evd;
	struct kdat_srq *srq;
	DAT_EP_ATTR attr;
};

static inline bool kdat_ep_is_configured(const struct kdat_ep_setup *setup)
{
	return setup->pz && (setup->recv_evd || (setup->request_evd && !setup->srq));
}

/* ep_attr.c */
void kdat_ep_default_attr(const struct ri_rnic *rnic, DAT_EP_ATTR *attr);
/*
 * Check the objects, then the attributes, which become what is granted; @bad_attr: the answer for a
 * wrong one. The RNIC is held.
 */
DAT_RETURN kdat_ep_check(struct kdat_ia *ia, struct kdat_ep_setup *setup, DAT_RETURN bad_attr);
void kdat_ep_modify_attr(DAT_EP_ATTR *attr, DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *to);

/* ep_qp.c; the RNIC is held */
struct ri_qp *kdat_ep_qp_create(struct kdat_ep *ep, const struct kdat_ep_setup *setup);
DAT_RETURN kdat_ep_qp_error(const struct ri_qp *qp);
void kdat_ep_leave_srq(struct kdat_ep *ep, const struct kdat_ep_queues *queues);
void kdat_ep_end_registrations(struct kdat_ep *ep);
void kdat_ep_forget_posted(struct kdat_ep *ep);
void kdat_ep_end_qp(struct kdat_ep *ep);
DAT_RETURN kdat_ep_queues_make(struct kdat_ep *ep, const struct kdat_ep_setup *setup,
			       struct kdat_ep_queues **to);
void kdat_ep_queues_free(struct kdat_ep_queues *queues);

#endif /* KDAT_EP_H */
