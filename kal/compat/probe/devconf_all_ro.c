// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/inetdevice.h>

int probe(struct net *net);
int probe(struct net *net)
{
	return IPV4_DEVCONF_ALL_RO(net, FORWARDING);
}
