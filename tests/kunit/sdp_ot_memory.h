/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A transport of sdp/ot/ot.h in memory: two devices whose endpoints reach each other, and nothing
 * happens by itself. Each otm_step() does one thing: a post is carried out, a completion or an
 * event is told. A test decides how many, holds completions back, breaks connections, lets ops
 * fail and takes devices away. For one thread.
 */
#ifndef KUNIT_SDP_OT_MEMORY_H
#define KUNIT_SDP_OT_MEMORY_H

#include "../../sdp/ot/ot.h"

#define OTM_DEVICES	2

/** enum otm_call - ops that can be made to fail */
enum otm_call {
	OTM_POOL_CREATE,
	OTM_CQ_CREATE,
	OTM_EP_CREATE,
	OTM_LISTEN,
	OTM_CONNECT,
	OTM_ACCEPT,
	OTM_POST,
	OTM_CALLS,
};

struct otm_device {
	struct sdp_ot_device ot;
	struct sockaddr_storage address;
	int refs;
	bool gone;
};

/**
 * struct otm - the transport; there is one at a time
 * @ot: for sdp_ot_register()
 * @devices: of the namespace that otm_begin() was given
 * @hold: completions are not told
 * @fail: errors of the next call of each op, 0: it does not fail
 * @subscribers: struct sdp_ot_subscriber
 * @eps: struct otm_ep
 * @cqs: struct otm_cq
 * @pools: struct otm_pool
 * @listeners: struct sdp_ot_listener
 * @requests: struct sdp_ot_conn_request
 * @next_key: last key that was given out
 */
struct otm {
	struct sdp_ot ot;
	struct otm_device devices[OTM_DEVICES];
	bool hold;
	int fail[OTM_CALLS];
	struct list_head subscribers;
	struct list_head eps;
	struct list_head cqs;
	struct list_head pools;
	struct list_head listeners;
	struct list_head requests;
	u32 next_key;
};

struct otm *otm_begin(struct net *net);
bool otm_end(struct otm *otm);			/* false: something was left */
bool otm_step(struct otm *otm);			/* false: there is nothing to do */
void otm_settle(struct otm *otm);		/* steps until then */
void otm_remove(struct otm *otm, unsigned int device);
/* the first post ends with @error, or if there is none the connection does */
void otm_break(struct sdp_ot_ep *ep, int error);

#endif /* KUNIT_SDP_OT_MEMORY_H */
