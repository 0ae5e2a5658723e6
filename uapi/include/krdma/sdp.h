/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * krdma_sdp.ko: options of its connections, and what inet_diag and the switch's family show of them
 * (KRDMA_OFFLOAD_ATTR_INFO of krdma/offload-netlink.h).
 */
#ifndef KRDMA_SDP_H
#define KRDMA_SDP_H

#define SOL_SDP			1025
#define SDP_ZCOPY_THRESH	80	/* int: bytes, 0: never, -1: as the module says */
#define SDP_ZCOPY_WRITE		81	/* int: 0 or 1, -1: as the module says */

/* each is a u64 */
enum krdma_sdp_info {
	KRDMA_SDP_INFO_UNSPEC,
	KRDMA_SDP_INFO_PAD,
	KRDMA_SDP_INFO_STATE,		/* row of the table of states, docs/sdp-wire.md */
	KRDMA_SDP_INFO_MODE_OUT,	/* 0 buffered, 1 combined, 2 pipelined */
	KRDMA_SDP_INFO_MODE_IN,
	KRDMA_SDP_INFO_CREDITS,		/* messages that may be sent */
	KRDMA_SDP_INFO_POSTED,		/* receive buffers that are posted */
	KRDMA_SDP_INFO_TX_COPIED,	/* bytes sent in messages */
	KRDMA_SDP_INFO_TX_READ,		/* ... that the peer has read */
	KRDMA_SDP_INFO_TX_WRITTEN,	/* ... written into the peer's memory */
	KRDMA_SDP_INFO_RX_COPIED,	/* bytes received in messages */
	KRDMA_SDP_INFO_RX_READ,
	KRDMA_SDP_INFO_RX_WRITTEN,
	KRDMA_SDP_INFO_FAULT,		/* of the peer; 0: none */
	KRDMA_SDP_INFO_END,
};

#define KRDMA_SDP_INFO_MAX	(KRDMA_SDP_INFO_END - 1)

#endif /* KRDMA_SDP_H */
