/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What kdt_dapl.c and kdt_limits.c share. */
#ifndef KDT_DAPL_H
#define KDT_DAPL_H

#include <krdma/kdat.h>

/**
 * struct kdt_dapl - a run's interface adapter
 * @ia: IA
 * @async_evd: its asynchronous events
 * @pz: protection zone
 * @cr_evd: connection requests of a server
 * @psp: service point of a server
 * @attr: the IA's
 * @sink_writes: memory that Reads fill has to be open for Writes of the peer
 */
struct kdt_dapl {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
	bool sink_writes;
};

const char *kdt_dapl_text(const char *call, u32 ret, char *text, size_t size);

#endif /* KDT_DAPL_H */
