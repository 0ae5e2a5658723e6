/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The states of an endpoint. Pure: tests/unit runs it in user space. */
#ifndef KDAT_EP_STATE_H
#define KDAT_EP_STATE_H

#include <linux/types.h>

#include <krdma/kdat.h>

/** enum kdat_ep_call - what a consumer asks of an endpoint; the columns of the state table */
enum kdat_ep_call {
	KDAT_EP_CONNECT,
	KDAT_EP_DISCONNECT,
	KDAT_EP_POST_REQUEST,
	KDAT_EP_POST_RECV,
	KDAT_EP_MODIFY,
	KDAT_EP_RESET,
	KDAT_EP_FREE,
	KDAT_EP_RESERVE,	/* RSP or SSP */
	KDAT_EP_ACCEPT,		/* of a request of a PSP or CSP */
	KDAT_EP_CALLS,
};

/* Return: DAT_SUCCESS, or DAT_INVALID_STATE with the subtype of @state. */
DAT_RETURN kdat_ep_state_allows(DAT_EP_STATE state, enum kdat_ep_call call);
DAT_RETURN_SUBTYPE kdat_ep_state_subtype(DAT_EP_STATE state);
/* DAT_INVALID_STATE with that subtype */
DAT_RETURN kdat_ep_state_error(DAT_EP_STATE state);
/* Return: @state of an endpoint that has a queue pair, or has none. */
DAT_EP_STATE kdat_ep_state_configured(DAT_EP_STATE state, bool configured);

#endif /* KDAT_EP_STATE_H */
