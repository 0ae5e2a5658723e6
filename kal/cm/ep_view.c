// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The state of endpoints for the administrator. */
#include <linux/cleanup.h>
#include <linux/delay.h>

#include "../core/core.h"
#include "endpoint.h"

void kal_ep_query(struct kal_ep *ep, struct kal_ep_info *info)
{
	unsigned long now = jiffies;

	memset(info, 0, sizeof(*info));
	guard(kal_ep)(ep);
	info->state = kal_ep_state_name(ep->state);
	if (ep->deadline && time_after(ep->deadline, now))
		info->expires_ms = jiffies_to_msecs(ep->deadline - now);
	if (ep->llp && (ep->state == KAL_EP_CONNECTED || ep->state == KAL_EP_CLOSING)) {
		info->connected = true;
		info->mpa = ep->llp->ri.mpa;
	} else if (ep->state == KAL_EP_LISTENING) {
		info->listening = true;
		info->pending = READ_ONCE(ep->pending.count);
		if (!ep->conn)
			kal_listen_query(ep, info);
	}
}
EXPORT_SYMBOL_GPL(kal_ep_query);

/* Fill in what never changes, or only once. Any context. */
void kal_ep_view_owner(const struct kal_ep *ep, struct kal_ep_view *view)
{
	*view = (struct kal_ep_view) {
		.rnic = ep->rnic,
		.owner = &ep->owner,
		.net = READ_ONCE(ep->net),
	};
}

static void ep_view_addresses(struct kal_ep *ep, struct kal_ep_view *view)
{
	if (view->listener) {
		if (ep->conn)
			view->local = ep->conn->info.local;
		else if (kal_listen_address(ep, &view->local))
			view->state = "detached";
	} else if (ep->conn) {
		view->local = ep->conn->info.local;
		view->remote = ep->conn->info.remote;
	} else if (ep->llp && ep->llp->ri.remote.ss_family) {
		view->local = ep->llp->ri.local;
		view->remote = ep->llp->ri.remote;
	} else if (ep->startup) {
		view->local = ep->startup->from;
		view->remote = ep->startup->to;
	}
}

static void ep_view_name(struct kal_ep_view *view, enum kal_ep_state state)
{
	view->listener = state == KAL_EP_LISTENING;
	if (state != KAL_EP_IDLE && state != KAL_EP_DEAD)
		view->state = kal_ep_state_name(state);
}

/**
 * kal_ep_view_state() - fill in the state, the addresses and the QP
 * @ep: endpoint; the caller holds a reference
 * @view: view of kal_ep_view_owner()
 * @patience: how often the caller will wait for a taken lock, for all its calls together. After
 *	that there is the state alone: a thread of a user may hold the lock for long, and the
 *	administrator wants to see the others.
 *
 * Context: may sleep.
 */
void kal_ep_view_state(struct kal_ep *ep, struct kal_ep_view *view, unsigned int *patience)
{
	while (!mutex_trylock(&ep->lock)) {
		if (!*patience) {
			ep_view_name(view, READ_ONCE(ep->state));
			return;
		}
		--*patience;
		usleep_range(1000, 2000);
	}
	ep_view_name(view, ep->state);
	if (view->state)
		ep_view_addresses(ep, view);
	if (ep->qp && view->state)
		view->qp = ep->qp->obj.id;
	kal_ep_unlock(ep);
}
