// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <net/net_namespace.h>

void probe(struct net *net, netns_tracker *tracker);
void probe(struct net *net, netns_tracker *tracker)
{
	__netns_tracker_free(net, tracker, false);
}
