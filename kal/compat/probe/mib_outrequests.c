// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/snmp.h>

int probe(void);
int probe(void)
{
	return IPSTATS_MIB_OUTREQUESTS;
}
