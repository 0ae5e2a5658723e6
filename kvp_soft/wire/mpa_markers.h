/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * MPA markers (RFC 5044 4.2, 4.3). Pure functions; the transmitter and the receiver of the
 * software RNIC and their tests call them.
 */
#ifndef SOFT_MPA_MARKERS_H
#define SOFT_MPA_MARKERS_H

#include <linux/types.h>

#define SOFT_MPA_MARKER		4	/* reserved (16), FPDUPTR (16) */

/**
 * soft_marker_leads - is there a marker before ULPDU_Length?
 * @pos: stream position where the FPDU begins
 */
static inline bool soft_marker_leads(u64 pos)
{
	return !(pos & 511);
}

u32 soft_marked_len(u64 pos, u32 len);
u32 soft_marked_mulpdu(u32 emss);
u32 soft_markers_insert(u8 *p, u64 pos, u32 len);
int soft_markers_remove(u8 *p, u64 pos, u32 total);

#endif /* SOFT_MPA_MARKERS_H */
