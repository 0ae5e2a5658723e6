/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Counters that the kAL keeps for each RNIC in ri_rnic.base_counters. "rdma statistic" shows
 * them after the provider's own counters.
 */
#ifndef KAL_COUNTERS_H
#define KAL_COUNTERS_H

#include <linux/atomic.h>

#include <krdma/rnicpi.h>

/** enum kal_counter - counters of the kAL; the names are in kal_counter_names */
enum kal_counter {
	KAL_CNT_CONN_ACTIVE,		/* connections that this side began */
	KAL_CNT_CONN_PASSIVE,		/* incoming connections */
	KAL_CNT_CONN_ESTABLISHED,
	KAL_CNT_CONN_CLOSED,		/* established connections that ended with FIN */
	KAL_CNT_CONN_RESET,		/* established connections that ended with RST */
	KAL_CNT_CONN_REJECTED,		/* this side sent a Reply with R=1 */
	KAL_CNT_CONN_REFUSED,		/* the peer sent R=1, or its TCP refused */
	KAL_CNT_CONN_FAILED,		/* any other failure before established */
	KAL_CNT_CONN_TIMEOUT,		/* a phase took too long */
	KAL_CNT_LISTEN_OVERFLOW,	/* reset: max_pending reached, none is silent */
	KAL_CNT_LISTEN_EVICTED,		/* reset: silent, evicted for a new connection */
	KAL_CNT_LISTEN_NO_MEMORY,	/* reset: no memory, or the listener's cgroup is full */
	KAL_CNT_LISTEN_NO_OWNER,	/* reset: no RNIC has the address */
	KAL_CNT_MPA_MALFORMED,		/* malformed Request or Reply */
	KAL_CNT_MPA_EARLY_DATA,		/* bytes behind a Request before the Reply */
	KAL_CNT_MPA_MARKERS,		/* refused: the peer wants markers */
	KAL_CNT_MPA_FALLBACK,		/* connected again with revision 1 */
	KAL_CNT_MPA_TERMINATE,		/* Terminate sent by the MPA start-up */
	KAL_CNT_IA_NAME_TAKEN,		/* kDAPL: another provider has the RNIC's IA name */
	KAL_CNT_NUM,
};

extern const char *const kal_counter_names[KAL_CNT_NUM];

/* Increment a counter. Any context. kal_counter_read() reads it. */
static inline void kal_count(struct ri_rnic *rnic, enum kal_counter counter)
{
	atomic64_inc((atomic64_t *)&rnic->base_counters[counter]);
}

static inline u64 kal_counter_read(struct ri_rnic *rnic, enum kal_counter counter)
{
	return atomic64_read((atomic64_t *)&rnic->base_counters[counter]);
}

#endif /* KAL_COUNTERS_H */
