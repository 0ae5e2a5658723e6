/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Outcome of the MPA start-up. It is part of the RNIC-PI and has a header of its own, so that the
 * pure negotiation code and its tests need no other header of it.
 */
#ifndef KRDMA_MPA_PARAMS_H
#define KRDMA_MPA_PARAMS_H

#include <linux/types.h>

/** enum ri_rtr - ready-to-receive frame that the MPA initiator owes (RFC 6581, 5) */
enum ri_rtr {
	RI_RTR_NONE,	/* client-server model: the first ULP message ends the wait */
	RI_RTR_SEND,	/* zero-length Send */
	RI_RTR_WRITE,	/* zero-length RDMA Write */
	RI_RTR_READ,	/* zero-length RDMA Read Request */
};

/**
 * struct ri_mpa_params - outcome of the MPA start-up (RFC 5044 7.1, RFC 6581 9)
 * @initiator: this side sent the MPA Request
 * @crc: CRC32c is generated and checked in both directions
 * @tx_markers: this side inserts markers
 * @rx_markers: the peer inserts markers
 * @revision: 1 or 2, of the peer's frame
 * @rtr: the frame that the initiator sends first. A responder knows which one
 *	 it would prefer; the initiator may choose another that both support.
 * @ird: inbound RDMA Read Requests that this side must be able to hold
 * @ord: outbound RDMA Read Requests that this side may have outstanding
 */
struct ri_mpa_params {
	bool initiator;
	bool crc;
	bool tx_markers;
	bool rx_markers;
	u8 revision;
	enum ri_rtr rtr;
	u16 ird;
	u16 ord;
};

#endif /* KRDMA_MPA_PARAMS_H */
