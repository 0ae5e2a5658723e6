// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Names of the counters that the kAL keeps for each RNIC. */
#include <linux/export.h>

#include <krdma/kal.h>

#include "counters.h"

const char *const kal_counter_names[KAL_CNT_NUM] = {
	[KAL_CNT_CONN_ACTIVE] = "conn_active",
	[KAL_CNT_CONN_PASSIVE] = "conn_passive",
	[KAL_CNT_CONN_ESTABLISHED] = "conn_established",
	[KAL_CNT_CONN_CLOSED] = "conn_closed",
	[KAL_CNT_CONN_RESET] = "conn_reset",
	[KAL_CNT_CONN_REJECTED] = "conn_rejected",
	[KAL_CNT_CONN_REFUSED] = "conn_refused",
	[KAL_CNT_CONN_FAILED] = "conn_failed",
	[KAL_CNT_CONN_TIMEOUT] = "conn_timeout",
	[KAL_CNT_LISTEN_OVERFLOW] = "listen_overflow",
	[KAL_CNT_LISTEN_EVICTED] = "listen_evicted",
	[KAL_CNT_LISTEN_NO_MEMORY] = "listen_no_memory",
	[KAL_CNT_LISTEN_NO_OWNER] = "listen_no_owner",
	[KAL_CNT_MPA_MALFORMED] = "mpa_malformed",
	[KAL_CNT_MPA_EARLY_DATA] = "mpa_early_data",
	[KAL_CNT_MPA_MARKERS] = "mpa_markers_refused",
	[KAL_CNT_MPA_FALLBACK] = "mpa_v1_fallback",
	[KAL_CNT_MPA_TERMINATE] = "mpa_terminate_sent",
	[KAL_CNT_IA_NAME_TAKEN] = "ia_name_taken",
};

void kal_count_ia_name_taken(struct ri_rnic *rnic)
{
	kal_count(rnic, KAL_CNT_IA_NAME_TAKEN);
}
EXPORT_SYMBOL_GPL(kal_count_ia_name_taken);
