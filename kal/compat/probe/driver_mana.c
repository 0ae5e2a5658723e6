// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <rdma/ib_user_ioctl_verbs.h>

int probe(void);
int probe(void)
{
	return RDMA_DRIVER_MANA;
}
