/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the files of the checks of sdp/ot/ot.h share; sdp_ot_checks.h is for those who run them. */
#ifndef KUNIT_SDP_OT_BED_H
#define KUNIT_SDP_OT_BED_H

#include <linux/jiffies.h>

#include "sdp_ot_checks.h"

/* Wait for @cond. */
#define otc_wait(bed, cond) ({								\
	const unsigned long end_ = jiffies + (bed)->patience;				\
											\
	if ((bed)->settle)								\
		(bed)->settle(bed);							\
	else										\
		wait_event_idle_timeout((bed)->wait, cond, end_ - jiffies);		\
	otc_expect(bed, !!(cond), __LINE__, #cond);					\
})

/* Time for what should not happen */
void otc_pause(struct otc_bed *bed);
void otc_note(struct otc_queue *queue, const struct sdp_ot_completion *completions, u32 n);
struct sdp_ot_pool *otc_pool(struct otc_side *side, enum sdp_ot_pool_kind kind,
			     const void *domain);
bool otc_ep(struct otc_side *side);
/* Make all of a side. */
bool otc_side(struct otc_bed *bed, unsigned int index, enum sdp_ot_cq_kind kind);
void otc_ep_destroy(struct otc_side *side);
struct otc_asked *otc_listen(struct otc_bed *bed, unsigned int index, long error);
void otc_unlisten(struct otc_bed *bed, struct otc_asked *asked);
int otc_connect(struct otc_bed *bed, const u8 *data, u32 length);
bool otc_accept(struct otc_bed *bed, struct otc_asked *asked, const u8 *data, u32 length);
/* Both sides, connected */
bool otc_connected_by(struct otc_bed *bed, enum sdp_ot_cq_kind kind);
bool otc_connected(struct otc_bed *bed);
/* Is the connection down on both sides, each told once? */
void otc_is_down(struct otc_bed *bed);
/* Post @n receives; their cookies are the elements. */
void otc_recvs(struct otc_side *side, unsigned int n);
/* An element with @length bytes that begin with @first */
struct sdp_ot_buf *otc_filled(struct otc_side *side, u8 first, u32 length);
bool otc_is_filled(const u8 *data, u8 first, u32 length);
int otc_send(struct otc_side *side, struct sdp_ot_buf *buf, u32 length, u32 flags);
/* all that the queue has told: ended with @status */
bool otc_all(const struct otc_queue *queue, u32 from, int status);
/* Name @length bytes at @offset of the side's pages. */
struct sdp_ot_key *otc_key(struct otc_side *side, u32 offset, u64 length, u32 access);
void otc_drop(struct otc_side *side, struct sdp_ot_key *key);

extern const struct otc_check otc_device_checks[];
extern const struct otc_check otc_conn_checks[];
extern const struct otc_check otc_data_checks[];
extern const struct otc_check otc_key_checks[];

#endif /* KUNIT_SDP_OT_BED_H */
