/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Numbers of TCP's stream: pure, so that KUnit runs it.
 */
#ifndef OPS_NAMES_H
#define OPS_NAMES_H

#include <linux/types.h>

/**
 * ops_isn_own() - the initial sequence number of this end
 * @snd_una: first byte that the peer has not acknowledged
 * @bytes_acked: of TCP, which counts the SYN of the end that connected, not that of the other
 * @active: this end connected
 *
 * It holds also after bytes have been sent, those of TCP Fast Open among them.
 */
static inline u32 ops_isn_own(u32 snd_una, u64 bytes_acked, bool active)
{
	return snd_una - (u32)bytes_acked - !active;
}

/* That of the peer: TCP counts no SYN here. */
static inline u32 ops_isn_peer(u32 rcv_nxt, u64 bytes_received)
{
	return rcv_nxt - (u32)bytes_received - 1;
}

/**
 * ops_before_x() - bytes of TCP's stream that are still to be read
 * @copied_seq: next byte that the program reads from TCP
 * @x: first byte that goes by the road
 *
 * Return: 0: the road is next. A FIN that was read is a number, too: copied_seq may be x + 1.
 */
static inline u32 ops_before_x(u32 copied_seq, u32 x)
{
	s32 rest = (s32)(x - copied_seq);

	return rest > 0 ? rest : 0;
}

/* Does the receiver follow? @seen even: it reads TCP. Return: the sender has changed since. */
static inline bool ops_changed(u32 changes, u32 seen)
{
	return changes != seen;
}

#endif
