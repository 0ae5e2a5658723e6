// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * States of a kDAPL endpoint: every cell of the table is compared with a list that was written from
 * the calls' point of view, not from the states'.
 */
#include <linux/array_size.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kal/kdapl/base/ep_state.h"
#include "ktest.h"

#define STATES	15

/* one letter for each state, in the order of DAT_EP_STATE: y: allowed, -: not */
static const struct {
	enum kdat_ep_call call;
	const char *name;
	const char *allowed;
} calls[] = {
	/* the letters: UuRrPpATtCDdcSM, of which u, r, p and t are unconfigured */
	{ KDAT_EP_CONNECT,	"connect", "y--------------" },
	{ KDAT_EP_DISCONNECT,	"disconnect", "------y--yyyyyy" },
	{ KDAT_EP_POST_REQUEST,	"request", "---------y-y-yy" },
	{ KDAT_EP_POST_RECV,	"receive", "y-y-y-yy-yyyyyy" },
	{ KDAT_EP_MODIFY,	"modify", "yyyy-y-yy------" },
	{ KDAT_EP_RESET,	"reset", "y----------y---" },
	{ KDAT_EP_FREE,		"free", "yy----y--yyyyyy" },
	{ KDAT_EP_RESERVE,	"reserve", "yy-------------" },
	{ KDAT_EP_ACCEPT,	"accept", "y------y-------" },
};

static const DAT_EP_STATE states[STATES] = {
	DAT_EP_STATE_UNCONNECTED,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED,
	DAT_EP_STATE_RESERVED,
	DAT_EP_STATE_UNCONFIGURED_RESERVED,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE,
	DAT_EP_STATE_CONNECTED,
	DAT_EP_STATE_DISCONNECT_PENDING,
	DAT_EP_STATE_DISCONNECTED,
	DAT_EP_STATE_COMPLETION_PENDING,
	DAT_EP_STATE_CONNECTED_SINGLE_PATH,
	DAT_EP_STATE_CONNECTED_MULTI_PATH,
};

static const DAT_RETURN_SUBTYPE subtypes[STATES] = {
	DAT_INVALID_STATE_EP_UNCONNECTED,
	DAT_INVALID_STATE_EP_UNCONFIGURED,
	DAT_INVALID_STATE_EP_RESERVED,
	DAT_INVALID_STATE_EP_UNCONFRESERVED,
	DAT_INVALID_STATE_EP_PASSCONNPENDING,
	DAT_INVALID_STATE_EP_UNCONFPASSIVE,
	DAT_INVALID_STATE_EP_ACTCONNPENDING,
	DAT_INVALID_STATE_EP_TENTCONNPENDING,
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
	DAT_INVALID_STATE_EP_CONNECTED,
	DAT_INVALID_STATE_EP_DISCPENDING,
	DAT_INVALID_STATE_EP_DISCONNECTED,
	DAT_INVALID_STATE_EP_COMPLPENDING,
	DAT_INVALID_STATE_EP_CONNECTED,
	DAT_INVALID_STATE_EP_CONNECTED,
};

static DAT_RETURN expected(u32 call, u32 state)
{
	if (calls[call].allowed[state] == 'y')
		return DAT_SUCCESS;
	return DAT_CLASS_ERROR | DAT_INVALID_STATE | subtypes[state];
}

static void allows(struct ktest *test)
{
	u32 call, state;

	KTEST_EQ(test, ARRAY_SIZE(calls), KDAT_EP_CALLS);
	for (call = 0; call < ARRAY_SIZE(calls); call++) {
		KTEST_EQ_MSG(test, strlen(calls[call].allowed), STATES, "%s", calls[call].name);
		for (state = 0; state < STATES; state++) {
			KTEST_EQ(test, states[state], state);
			KTEST_EQ_MSG(test, kdat_ep_state_allows(states[state], calls[call].call),
				     expected(call, state), "%s in state %u", calls[call].name,
				     state);
		}
	}
}

static void unknown_states_allow_nothing(struct ktest *test)
{
	u32 call;

	for (call = 0; call < KDAT_EP_CALLS; call++) {
		KTEST_EQ(test, kdat_ep_state_allows((DAT_EP_STATE)STATES, call),
			 DAT_CLASS_ERROR | DAT_INVALID_STATE);
		KTEST_EQ(test, kdat_ep_state_allows((DAT_EP_STATE)-1, call),
			 DAT_CLASS_ERROR | DAT_INVALID_STATE);
	}
}

static void configuration_changes_the_state(struct ktest *test)
{
	u32 state, to;
	bool on;

	for (state = 0; state < STATES; state++) {
		for (on = false;; on = true) {
			to = kdat_ep_state_configured(states[state], on);
			/* the first six alternate, and so does the pair at 7 */
			if (state < 6)
				KTEST_EQ_MSG(test, to, on ? state & ~1u : state | 1, "%u", state);
			else if (state == 7 || state == 8)
				KTEST_EQ_MSG(test, to, on ? 7 : 8, "%u", state);
			else
				KTEST_EQ_MSG(test, to, state, "%u", state);
			if (on)
				break;
		}
	}
}

static struct ktest_case cases[] = {
	KTEST_CASE(allows),
	KTEST_CASE(unknown_states_allow_nothing),
	KTEST_CASE(configuration_changes_the_state),
	{}
};

KTEST_SUITE(kdat_ep_state, cases);
