// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What an RNIC allows its consumers, in DAT's terms. */
#include "base.h"

u16 kdat_ia_max_private_data(const struct ri_rnic *rnic)
{
	if (rnic->attr.caps & RI_CAP_LLP_OFFLOAD)
		return min3(rnic->attr.max_connect_data, rnic->attr.max_accept_data,
			    rnic->attr.max_reject_data);
	/* RFC 6581: four bytes of the 512 are the read depths */
	return RI_PRIVATE_DATA_MAX - 4;
}
