/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rules for peers by address prefix: a parser for the rules, and the look-up for an address.
 * Pure functions. Called by crc_policy.c and by the unit tests.
 */
#ifndef KAL_PEERS_H
#define KAL_PEERS_H

#include <linux/types.h>

#define KAL_ADDR_LEN	16	/* IPv6; an IPv4 address is mapped (::ffff:a.b.c.d) */
#define KAL_PEER_RULES	64

/**
 * struct kal_peer_rule - what holds for the addresses of a prefix
 * @addr: first address
 * @len: bits of it that count
 * @v4: for IPv4 addresses
 * @on: what holds
 */
struct kal_peer_rule {
	u8 addr[KAL_ADDR_LEN];
	u8 len;
	bool v4;
	bool on;
};

int kal_peers_parse(const char *text, struct kal_peer_rule *rules);
bool kal_peers_look_up(const struct kal_peer_rule *rules, unsigned int num,
		       const u8 addr[KAL_ADDR_LEN], bool otherwise);

#endif /* KAL_PEERS_H */
