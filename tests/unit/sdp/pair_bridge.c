// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See pair_bridge.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kunit/sdp_pair.h"
#include "pair_bridge.h"

static void bridge_message(void *context, int end, const u8 *p, u32 n, int carrier)
{
	const struct bridge_observer *observer = context;

	observer->message(observer->context, end, p, n, carrier);
}

static void bridge_write(void *context, int end, u32 rkey, u64 va, u64 len)
{
	const struct bridge_observer *observer = context;

	observer->write(observer->context, end, rkey, va, len);
}

static void bridge_read(void *context, int end, u32 rkey, u64 va, u64 len)
{
	const struct bridge_observer *observer = context;

	observer->read(observer->context, end, rkey, va, len);
}

void bridge_run(uint32_t seed, uint32_t steps, const struct bridge_observer *observer,
		struct bridge_result *result)
{
	const struct pair_observer ours = {
		.message = bridge_message,
		.write = bridge_write,
		.read = bridge_read,
		.context = (void *)observer,
	};
	struct sdp_pair *p = malloc(sizeof(*p));
	u32 i;

	memset(result, 0, sizeof(*result));
	pair_begin(p, seed, NULL, 0, &ours);
	for (i = 0; i < steps && !p->broken; i++)
		pair_step(p);
	if (!p->broken)
		pair_finish(p);
	if (p->broken)
		snprintf(result->broken, sizeof(result->broken), "%s, line %d", p->broken, p->line);
	for (i = 0; i < 2; i++) {
		const struct sdp_conn *c = &p->ends[i].c;

		result->bcopy[i] = c->tx.bcopy;
		result->read[i] = c->tx.read;
		result->written[i] = c->tx.written;
		result->octets[i] = c->source.end;
	}
	free(p);
}
