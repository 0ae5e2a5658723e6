// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The states of an endpoint: what a consumer may ask in each. This file is pure: it runs in KUnit,
 * too.
 */
#include <linux/array_size.h>
#include <linux/bits.h>

#include "ep_state.h"

#define KDAT_EP_MAY(call)	BIT(KDAT_EP_##call)

/* the connection exists, with one path or several */
#define KDAT_EP_MAY_CONNECTED	(KDAT_EP_MAY(DISCONNECT) | KDAT_EP_MAY(POST_REQUEST) |	\
				 KDAT_EP_MAY(POST_RECV) | KDAT_EP_MAY(FREE))

static const struct {
	DAT_RETURN_SUBTYPE subtype;
	u32 may;
} kdat_ep_states[] = {
	[DAT_EP_STATE_UNCONNECTED] = {
		DAT_INVALID_STATE_EP_UNCONNECTED,
		KDAT_EP_MAY(CONNECT) | KDAT_EP_MAY(POST_RECV) | KDAT_EP_MAY(MODIFY) |
			KDAT_EP_MAY(RESET) | KDAT_EP_MAY(FREE) | KDAT_EP_MAY(RESERVE) |
			KDAT_EP_MAY(ACCEPT),
	},
	[DAT_EP_STATE_UNCONFIGURED_UNCONNECTED] = {
		DAT_INVALID_STATE_EP_UNCONFIGURED,
		KDAT_EP_MAY(MODIFY) | KDAT_EP_MAY(FREE) | KDAT_EP_MAY(RESERVE),
	},
	[DAT_EP_STATE_RESERVED] = {
		DAT_INVALID_STATE_EP_RESERVED,
		KDAT_EP_MAY(POST_RECV) | KDAT_EP_MAY(MODIFY),
	},
	[DAT_EP_STATE_UNCONFIGURED_RESERVED] = {
		DAT_INVALID_STATE_EP_UNCONFRESERVED,
		KDAT_EP_MAY(MODIFY),
	},
	[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] = {
		DAT_INVALID_STATE_EP_PASSCONNPENDING,
		/* the queue pair is the connection's already */
		KDAT_EP_MAY(POST_RECV),
	},
	[DAT_EP_STATE_UNCONFIGURED_PASSIVE] = {
		DAT_INVALID_STATE_EP_UNCONFPASSIVE,
		KDAT_EP_MAY(MODIFY),
	},
	[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = {
		DAT_INVALID_STATE_EP_ACTCONNPENDING,
		KDAT_EP_MAY(DISCONNECT) | KDAT_EP_MAY(POST_RECV) | KDAT_EP_MAY(FREE),
	},
	[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] = {
		DAT_INVALID_STATE_EP_TENTCONNPENDING,
		KDAT_EP_MAY(POST_RECV) | KDAT_EP_MAY(MODIFY) | KDAT_EP_MAY(ACCEPT),
	},
	[DAT_EP_STATE_UNCONFIGURED_TENTATIVE] = {
		DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
		KDAT_EP_MAY(MODIFY),
	},
	[DAT_EP_STATE_CONNECTED] = {
		DAT_INVALID_STATE_EP_CONNECTED,
		KDAT_EP_MAY_CONNECTED,
	},
	[DAT_EP_STATE_DISCONNECT_PENDING] = {
		DAT_INVALID_STATE_EP_DISCPENDING,
		KDAT_EP_MAY(DISCONNECT) | KDAT_EP_MAY(POST_RECV) | KDAT_EP_MAY(FREE),
	},
	/* requests and receives flush at once; a disconnect has nothing to do */
	[DAT_EP_STATE_DISCONNECTED] = {
		DAT_INVALID_STATE_EP_DISCONNECTED,
		KDAT_EP_MAY(DISCONNECT) | KDAT_EP_MAY(POST_REQUEST) | KDAT_EP_MAY(POST_RECV) |
			KDAT_EP_MAY(RESET) | KDAT_EP_MAY(FREE),
	},
	[DAT_EP_STATE_COMPLETION_PENDING] = {
		DAT_INVALID_STATE_EP_COMPLPENDING,
		KDAT_EP_MAY(DISCONNECT) | KDAT_EP_MAY(POST_RECV) | KDAT_EP_MAY(FREE),
	},
	[DAT_EP_STATE_CONNECTED_SINGLE_PATH] = {
		DAT_INVALID_STATE_EP_CONNECTED,
		KDAT_EP_MAY_CONNECTED,
	},
	[DAT_EP_STATE_CONNECTED_MULTI_PATH] = {
		DAT_INVALID_STATE_EP_CONNECTED,
		KDAT_EP_MAY_CONNECTED,
	},
};

DAT_RETURN_SUBTYPE kdat_ep_state_subtype(DAT_EP_STATE state)
{
	if ((u32)state >= ARRAY_SIZE(kdat_ep_states))
		return DAT_NO_SUBTYPE;
	return kdat_ep_states[state].subtype;
}

DAT_RETURN kdat_ep_state_error(DAT_EP_STATE state)
{
	return DAT_CLASS_ERROR | DAT_INVALID_STATE | kdat_ep_state_subtype(state);
}

DAT_RETURN kdat_ep_state_allows(DAT_EP_STATE state, enum kdat_ep_call call)
{
	if ((u32)state < ARRAY_SIZE(kdat_ep_states) && kdat_ep_states[state].may & BIT(call))
		return DAT_SUCCESS;
	return kdat_ep_state_error(state);
}

/* pairs of states that differ only in whether the endpoint is configured */
static const struct {
	DAT_EP_STATE configured;
	DAT_EP_STATE unconfigured;
} kdat_ep_pairs[] = {
	{ DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_UNCONFIGURED_UNCONNECTED },
	{ DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONFIGURED_RESERVED },
	{ DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_PASSIVE },
	{ DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_TENTATIVE },
};

DAT_EP_STATE kdat_ep_state_configured(DAT_EP_STATE state, bool configured)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdat_ep_pairs); i++)
		if (state == kdat_ep_pairs[i].configured || state == kdat_ep_pairs[i].unconfigured)
			return configured ? kdat_ep_pairs[i].configured :
					    kdat_ep_pairs[i].unconfigured;
	return state;
}
