// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MPA markers (RFC 5044 4.2, 4.3). Every 512 bytes of the TCP stream, counted from the first
 * byte of full operation, there is a marker of four bytes. It holds the distance back to the
 * start of the surrounding FPDU. Pure functions; the transmitter and the receiver of the
 * software RNIC call them.
 *
 * FPDUs and markers are multiples of four bytes, so a marker never splits ULPDU_Length or the
 * CRC. A marker at the boundary between two FPDUs belongs to the second.
 */
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "mpa_framing.h"
#include "mpa_markers.h"

#define MARKER_PERIOD	512
#define MARKER_DATA	(MARKER_PERIOD - SOFT_MPA_MARKER)

/* Bytes from stream position @pos to the next marker. */
static u32 soft_mpa_first_marker(u64 pos)
{
	return -(u32)pos & (MARKER_PERIOD - 1);
}

static u32 soft_mpa_count_markers(u64 pos, u32 len)
{
	u32 first = soft_mpa_first_marker(pos);

	return len > first ? DIV_ROUND_UP(len - first, MARKER_DATA) : 0;
}

/*
 * The FPDUPTR of a marker that is @at bytes behind the start of the FPDU. A marker before
 * ULPDU_Length is not counted.
 */
static u16 soft_mpa_fpduptr(u32 first, u32 at)
{
	return at && !first ? at - SOFT_MPA_MARKER : at;
}

/**
 * soft_marked_len - bytes of an FPDU with its markers
 * @pos: stream position where it begins
 * @len: bytes without markers
 */
u32 soft_marked_len(u64 pos, u32 len)
{
	return len + SOFT_MPA_MARKER * soft_mpa_count_markers(pos, len);
}

/**
 * soft_marked_mulpdu - largest ULPDU with markers, as soft_mulpdu() (RFC 5044 4.5)
 * @emss: effective maximum segment size of the connection, in bytes
 */
u32 soft_marked_mulpdu(u32 emss)
{
	return soft_mulpdu(emss - min(emss, SOFT_MPA_MARKER *
					    DIV_ROUND_UP(emss, MARKER_PERIOD)));
}

/**
 * soft_markers_insert - insert the markers into an FPDU, in place
 * @p: the FPDU, with room for soft_marked_len() bytes
 * @pos: stream position where it begins
 * @len: bytes without markers
 *
 * Return: bytes with markers. The CRC, which covers them, is not set.
 */
u32 soft_markers_insert(u8 *p, u64 pos, u32 len)
{
	u32 first = soft_mpa_first_marker(pos);
	u32 n = soft_mpa_count_markers(pos, len);
	u32 total = len + SOFT_MPA_MARKER * n;
	u32 at, from;

	/* from the end, so that every byte moves once and none is overwritten */
	while (n--) {
		at = first + MARKER_PERIOD * n;
		from = at - SOFT_MPA_MARKER * n;
		memmove(p + at + SOFT_MPA_MARKER, p + from,
			min_t(u32, len - from, MARKER_DATA));
		put_unaligned_be16(0, p + at);
		put_unaligned_be16(soft_mpa_fpduptr(first, at), p + at + 2);
	}
	return total;
}

/**
 * soft_markers_remove - remove the markers from an FPDU, in place
 * @p: the FPDU with its markers
 * @pos: stream position where it begins
 * @total: bytes with markers, from soft_marked_len()
 *
 * Reserved bits are not checked.
 *
 * Return: bytes without markers; -EPROTO when a marker does not point to the first byte of the
 * FPDU (RFC 5044 8, error 3).
 */
int soft_markers_remove(u8 *p, u64 pos, u32 total)
{
	u32 first = soft_mpa_first_marker(pos);
	u32 to = min(first, total);
	u32 at, n;

	for (at = first; at < total; at += MARKER_PERIOD) {
		if ((get_unaligned_be16(p + at + 2) & ~3) != soft_mpa_fpduptr(first, at))
			return -EPROTO;
		n = min_t(u32, total - at - SOFT_MPA_MARKER, MARKER_DATA);
		memmove(p + to, p + at + SOFT_MPA_MARKER, n);
		to += n;
	}
	return to;
}
