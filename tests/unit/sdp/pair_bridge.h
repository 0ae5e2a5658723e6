/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* tests/kunit/sdp_pair.h for C++: one run of two state machines that are connected. */
#ifndef SDP_PAIR_BRIDGE_H
#define SDP_PAIR_BRIDGE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* what an observer between the two sees; end: 0 is the active one */
struct bridge_observer {
	void (*message)(void *context, int end, const uint8_t *p, uint32_t n, int carrier);
	void (*write)(void *context, int end, uint32_t rkey, uint64_t va, uint64_t len);
	void (*read)(void *context, int end, uint32_t rkey, uint64_t va, uint64_t len);
	void *context;
};

/* bytes by mechanism, of the half connection whose source is the index */
struct bridge_result {
	uint64_t bcopy[2];
	uint64_t read[2];
	uint64_t written[2];
	uint64_t octets[2];	/* length of the stream */
	char broken[256];	/* what was wrong; empty if nothing was */
};

void bridge_run(uint32_t seed, uint32_t steps, const struct bridge_observer *observer,
		struct bridge_result *result);

#ifdef __cplusplus
}
#endif

#endif /* SDP_PAIR_BRIDGE_H */
