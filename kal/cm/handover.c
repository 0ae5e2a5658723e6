// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The QP of an endpoint, and the hand-over of the endpoint's stream to the provider and back.
 * The MPA start-up calls kal_ep_attach_qp() and kal_ep_hand_over(). Providers call
 * ri_llp_close() and ri_llp_abort(). Consumers call kal_qp_disconnect().
 */
#include "../core/core.h"
#include "endpoint.h"

static DEFINE_SPINLOCK(handover_qp_lock);	/* protects ri_qp.ep and kal_ep.qp_free */

/* value of ri_qp.ep if no endpoint may take the QP any more */
#define QP_RETIRED	ERR_PTR(-ENODEV)

/**
 * kal_ep_attach_qp() - bind a QP to the endpoint until DEAD
 * @ep: endpoint
 * @qp: consumer's QP
 *
 * Return: 0; -EINVAL if the QP belongs to another RNIC or is being destroyed; -EISCONN if the
 * QP has an endpoint. Context: endpoint's lock held, may sleep.
 */
int kal_ep_attach_qp(struct kal_ep *ep, struct ri_qp *qp)
{
	const struct kal_ep *other;
	int err = 0;

	if (qp->obj.rnic != ep->rnic)
		return -EINVAL;
	if (!kal_obj_get(ep->rnic, RI_OBJ_QP, qp->obj.id))
		return -EINVAL;
	spin_lock(&handover_qp_lock);
	other = qp->ep;
	if (other == QP_RETIRED)
		err = -EINVAL;
	else if (other && !other->qp_free)
		err = -EISCONN;
	else
		qp->ep = ep;
	spin_unlock(&handover_qp_lock);
	if (err)
		kal_obj_put(&qp->obj);
	else
		ep->qp = qp;
	return err;
}

/*
 * The consumer is about to get the last event, and may react quickly. From now on another
 * endpoint may take the QP. Endpoint's lock held.
 */
void kal_ep_free_qp(struct kal_ep *ep)
{
	spin_lock(&handover_qp_lock);
	ep->qp_free = true;
	spin_unlock(&handover_qp_lock);
}

/* Undo kal_ep_attach_qp(), if there is a QP. Endpoint's lock held. */
void kal_ep_detach_qp(struct kal_ep *ep)
{
	struct ri_qp *qp = ep->qp;

	if (!qp)
		return;
	ep->qp = NULL;
	spin_lock(&handover_qp_lock);
	if (qp->ep == ep)
		qp->ep = NULL;
	spin_unlock(&handover_qp_lock);
	kal_obj_put(&qp->obj);
}

/**
 * kal_ep_hand_over() - take the QP to RTS and give the provider the stream
 * @ep: endpoint with a QP
 * @mpa: outcome of the MPA start-up
 * @nowait: the caller is a worker, so the provider must not wait
 *
 * The provider may end the stream before it returns from qp_modify(). That end is handled
 * after the endpoint's lock is released, so the caller's report comes first.
 *
 * Return: 0; -EAGAIN with @nowait: nothing has changed, call again later; another errno of the
 * provider. Context: endpoint's lock held, may sleep.
 */
int kal_ep_hand_over(struct kal_ep *ep, const struct ri_mpa_params *mpa, bool nowait)
{
	const struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.max_rd_atomic = mpa->ord,
		.max_dest_rd_atomic = mpa->ird,
	};
	const int mask = IB_QP_STATE | IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC |
			 (nowait ? RI_QP_NOWAIT : 0);
	struct kal_llp *llp = ep->llp;
	int err;

	kal_llp_unhook(llp);
	llp->owner = ep;
	llp->ri.mpa = *mpa;
	kal_ep_get(ep);
	err = ep->rnic->ops->qp_modify(ep->qp, &attr, mask, &llp->ri);
	if (err) {
		llp->owner = NULL;
		kal_ep_put(ep);
		if (err == -EAGAIN)
			kal_llp_hook(llp, kal_ep_notify, ep);
		return err;
	}
	ep->deadline = 0;
	kal_count(ep->rnic, KAL_CNT_CONN_ESTABLISHED);
	return 0;
}

/* The provider's reference passes to the worker. */
static void handover_llp_end(struct ri_llp *ri, int status, bool aborted)
{
	struct kal_llp *llp = container_of(ri, struct kal_llp, ri);
	struct kal_ep *ep = xchg(&llp->owner, NULL);

	if (WARN_ON_ONCE(!ep))
		return;
	ep->llp_status = status;
	ep->llp_aborted = aborted;
	kal_ep_signal_end(ep);
}

void ri_llp_close(struct ri_llp *llp, int status)
{
	handover_llp_end(llp, status, false);
}
EXPORT_SYMBOL_GPL(ri_llp_close);

void ri_llp_abort(struct ri_llp *llp, int status)
{
	handover_llp_end(llp, status, true);
}
EXPORT_SYMBOL_GPL(ri_llp_abort);

static struct kal_ep *handover_qp_get_ep(struct ri_qp *qp)
{
	struct kal_ep *ep;

	spin_lock(&handover_qp_lock);
	ep = qp->ep;
	if (IS_ERR(ep))
		ep = NULL;
	if (ep)
		kal_ep_get(ep);
	spin_unlock(&handover_qp_lock);
	return ep;
}

/**
 * kal_qp_disconnect() - end the connection of a QP, or the attempt to make one
 * @qp: QP that cannot be destroyed during the call
 * @abrupt: reset the stream; the endpoint has reported its end on return
 *
 * Context: may sleep; not from an endpoint's handler.
 */
void kal_qp_disconnect(struct ri_qp *qp, bool abrupt)
{
	struct kal_ep *ep = handover_qp_get_ep(qp);

	if (!ep)
		return;
	kal_ep_end(ep, abrupt);
	kal_ep_put(ep);
}
EXPORT_SYMBOL_GPL(kal_qp_disconnect);

/**
 * kal_qp_retire() - disconnect a QP abruptly and keep endpoints from taking it again
 * @qp: QP that is about to be destroyed
 */
void kal_qp_retire(struct ri_qp *qp)
{
	bool retired;

	do {
		kal_qp_disconnect(qp, true);
		spin_lock(&handover_qp_lock);
		retired = IS_ERR_OR_NULL(qp->ep);
		if (retired)
			qp->ep = QP_RETIRED;
		spin_unlock(&handover_qp_lock);
	} while (!retired);
}
