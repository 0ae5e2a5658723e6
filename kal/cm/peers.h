/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rules for peers by address prefix: a parser for the rules, and the look-up for an address.
 * Pure functions. Called by crc_policy.c and by the unit tests.
 */
#ifndef KAL_PEERS_H
#define KAL_PEERS_H

#include <linux/types.h>

#define KAL_ADDR_LEN	16	/* an IPv6 address, or a mapped IPv4 address (::ffff:a.b.c.d) */
#define KAL_PEER_RULES	64

/**
 * struct kal_peer_rule - setting for the addresses of a prefix
 * @addr: first address
 * @len: length of the prefix in bits
 * @v4: the rule is for IPv4 addresses
 * @on: setting
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
