/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of the contract of sdp/ot/ot.h, for any transport: the one in memory (KUnit) and the one
 * on kDAPL (ksdp_ot.ko, in the virtual machine). Two sides: side 0 connects, side 1 listens. They
 * may be on the same device.
 */
#ifndef KUNIT_SDP_OT_CHECKS_H
#define KUNIT_SDP_OT_CHECKS_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include "../../sdp/ot/ot.h"

#define OTC_DONE	128	/* completions that are kept, of each queue */
#define OTC_ELEMENTS	24
#define OTC_SIZE	2048
#define OTC_PAGES	4

struct otc_bed;

/** struct otc_queue - what a completion queue has told */
struct otc_queue {
	struct otc_side *side;
	struct sdp_ot_cq *cq;
	struct sdp_ot_completion done[OTC_DONE];
	u32 nr;
	u32 notified;
};

/** struct otc_side - an endpoint and what it needs */
struct otc_side {
	struct otc_bed *bed;
	struct sdp_ot_device *device;
	struct otc_queue send;
	struct otc_queue recv;
	struct sdp_ot_pool *pool;
	struct sdp_ot_pool *keys;
	struct sdp_ot_ep *ep;
	struct page *pages[OTC_PAGES];
	u32 told[4];		/* by enum sdp_ot_conn_event */
	int error;		/* of the last one */
	u8 data[512];		/* of the last one that had some */
	u32 data_len;
	bool destroyed;		/* an upcall after this is a fault */
	bool repost;		/* receives, in the handler that tells their end */
	struct sdp_ot_buf *greeting;	/* sent in the upcall of SDP_OT_UP */
	struct sdp_ot_buf *answer;	/* sent in the handler of the first receive */
	bool pushed;		/* posts wait for push(); set before the endpoint is made */
	u16 reads_in;		/* of the endpoint; 0: 2; set before it is made */
	struct task_struct *in_op;	/* is in an op that must not call up */
};

/** struct otc_asked - a request that a listener was told of */
struct otc_asked {
	struct otc_bed *bed;
	struct sdp_ot_listener *listener;
	struct sdp_ot_conn_request *request;
	u8 data[512];
	u32 length;
	u32 nr;
};

#define OTC_LISTENERS	4

/**
 * struct otc_bed - the run of a check
 * @ops: the transport's
 * @net: namespace
 * @devices: of the two sides
 * @remote: address of side 1, with @port
 * @local: address of side 0, AF_UNSPEC: what routing chooses
 * @port: free port of the transport; the next one is free, too
 * @settle: let what is under way happen; NULL: it happens by itself
 * @patience: jiffies that it may take
 * @remove: take the device of side 1 away; NULL: cannot be done
 * @lock: protects what upcalls change
 */
struct otc_bed {
	const struct sdp_ot_ops *ops;
	struct net *net;
	struct sdp_ot_device *devices[2];
	struct sockaddr_storage remote;
	struct sockaddr_storage local;
	u16 port;
	void (*settle)(struct otc_bed *bed);
	unsigned long patience;
	void (*remove)(struct otc_bed *bed);
	spinlock_t lock;
	wait_queue_head_t wait;
	struct otc_side sides[2];
	struct otc_asked asked[OTC_LISTENERS];
	unsigned int failed;
	bool missing;
	char where[200];
};

struct otc_check {
	const char *name;
	void (*run)(struct otc_bed *bed);
};

extern const struct otc_check *const otc_checks[];	/* lists; each ends with an empty one */

/* the connection upcall of struct sdp_ot_ep_attr, with a struct otc_side */
void otc_note_event(void *context, enum sdp_ot_conn_event event, int error, const u8 *data,
		    u32 length);
/* the connection upcall of struct sdp_ot_listen_attr, with a struct otc_asked */
void otc_note_request(void *context, struct sdp_ot_conn_request *request, const u8 *data,
		      u32 length, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote);
void otc_begin(struct otc_bed *bed);
void otc_end(struct otc_bed *bed);
/* the device of side 1 goes while there are objects in every state; @ready is called before */
void otc_removal(struct otc_bed *bed, void (*ready)(struct otc_bed *bed));
bool otc_expect(struct otc_bed *bed, bool met, int line, const char *what);

#define OTC_EXPECT(bed, cond)	otc_expect(bed, !!(cond), __LINE__, #cond)

#endif /* KUNIT_SDP_OT_CHECKS_H */
