/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * sdp/state/wire.c for C++: the same fields in types of the standard. wire_bridge.c is compiled with the
 * stand-ins for the kernel's headers, the tests are not.
 */
#ifndef SDP_WIRE_BRIDGE_H
#define SDP_WIRE_BRIDGE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* carrier: 0 a Send, 1 a connection request, 2 its answer */
struct bridge_msg {
	uint8_t mid;
	uint8_t flags;
	uint16_t bufs;
	uint32_t hdr_len;
	uint32_t payload_len;
	uint32_t mseq;
	uint32_t mseq_ack;
	uint32_t value;		/* bytes, or size of an advertisement */
	uint32_t rkey;
	uint64_t va;		/* or the service */
	uint32_t non_discards;
	uint8_t send_half;
	uint8_t mode;
	uint8_t compact;
	uint8_t version;
	uint8_t ipv;
	uint8_t caps;
	uint16_t max_adverts;
	uint32_t want_size;
	uint32_t size;
	uint16_t local_port;
	uint16_t dst_port;
	uint8_t name[8];
	uint8_t src[16];
	uint8_t dst[16];
};

/* Return: name of the fault, "ok" if there is none. */
const char *bridge_decode(const uint8_t *p, uint32_t n, int carrier, struct bridge_msg *msg);
/* Return: bytes of the headers, at most 196. */
uint32_t bridge_encode(const struct bridge_msg *msg, uint8_t *out);

#ifdef __cplusplus
}
#endif

#endif /* SDP_WIRE_BRIDGE_H */
