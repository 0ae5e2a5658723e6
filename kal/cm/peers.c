// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rules for peers by address prefix, such as "10.0.0.0/8=off,fd00::/8=on". The longest prefix
 * that matches an address applies. Pure functions.
 */
#include <linux/errno.h>
#include <linux/inet.h>
#include <linux/string.h>

#include "peers.h"

#define V4_OFFSET	12	/* offset of the IPv4 address in a mapped one */

static const u8 peers_v4_mapped[V4_OFFSET] = { [10] = 0xff, [11] = 0xff };

static bool peers_is_v4(const u8 addr[KAL_ADDR_LEN])
{
	return !memcmp(addr, peers_v4_mapped, V4_OFFSET);
}

/* Are the first @len bits of both the same? */
static bool peers_same_bits(const u8 *a, const u8 *b, unsigned int len)
{
	const unsigned int bytes = len / 8;

	if (memcmp(a, b, bytes))
		return false;
	return !(len % 8) || !((a[bytes] ^ b[bytes]) >> (8 - len % 8));
}

static int peers_parse_addr(const char *text, int n, struct kal_peer_rule *rule)
{
	const char *end;

	memset(rule, 0, sizeof(*rule));
	memcpy(rule->addr, peers_v4_mapped, V4_OFFSET);
	rule->v4 = in4_pton(text, n, rule->addr + V4_OFFSET, -1, &end) && end == text + n;
	if (rule->v4)
		return 0;
	return in6_pton(text, n, rule->addr, -1, &end) && end == text + n ? 0 : -EINVAL;
}

/* Parse the length of a prefix: decimal digits only, at least one. */
static int peers_parse_len(const char *text, int n, struct kal_peer_rule *rule)
{
	const unsigned int bits = rule->v4 ? 32 : 128;
	unsigned int len = 0;
	int i;

	if (n < 1 || n > 3)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		len = 10 * len + text[i] - '0';
	}
	if (len > bits)
		return -EINVAL;
	rule->len = 128 - bits + len;
	return 0;
}

/* An address with bits behind the prefix is probably a mistake. */
static bool peers_has_host_bits(const struct kal_peer_rule *rule)
{
	unsigned int bit;

	for (bit = rule->len; bit < 8 * KAL_ADDR_LEN; bit++)
		if (rule->addr[bit / 8] & 0x80 >> bit % 8)
			return true;
	return false;
}

/* Parse "ADDRESS[/BITS]=on" or "ADDRESS[/BITS]=off" of @n bytes. */
static int peers_parse_rule(const char *text, int n, struct kal_peer_rule *rule)
{
	const char *equals = memchr(text, '=', n);
	const char *slash = memchr(text, '/', n);
	const char *end = text + n;
	int err;

	if (!equals || (slash && slash > equals))
		return -EINVAL;
	err = peers_parse_addr(text, (slash ?: equals) - text, rule);
	if (err)
		return err;
	rule->len = 128;
	if (slash)
		err = peers_parse_len(slash + 1, equals - slash - 1, rule);
	if (err || peers_has_host_bits(rule))
		return -EINVAL;
	if (!rule->v4 && rule->len >= 96 && peers_is_v4(rule->addr))
		rule->v4 = true;

	equals++;
	rule->on = end - equals == 2 && !memcmp(equals, "on", 2);
	if (rule->on || (end - equals == 3 && !memcmp(equals, "off", 3)))
		return 0;
	return -EINVAL;
}

static bool peers_known(const struct kal_peer_rule *rules, unsigned int num,
			const struct kal_peer_rule *rule)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		if (rules[i].len == rule->len && rules[i].v4 == rule->v4 &&
		    !memcmp(rules[i].addr, rule->addr, KAL_ADDR_LEN))
			return true;
	return false;
}

/**
 * kal_peers_parse() - parse the text of rules
 * @text: comma-separated rules, or empty; may end with a newline
 * @rules: room for KAL_PEER_RULES
 *
 * Return: number of rules, or an errno:
 * - -EINVAL: a rule is not "ADDRESS[/BITS]=on|off", an address has bits behind its prefix, or
 *   a prefix occurs twice
 * - -E2BIG: more than KAL_PEER_RULES
 */
int kal_peers_parse(const char *text, struct kal_peer_rule *rules)
{
	const char *end = text + strcspn(text, "\n");
	unsigned int num = 0;
	const char *comma;
	int err;

	if (*end && end[1])
		return -EINVAL;
	if (text == end)
		return 0;
	for (;; text = comma + 1) {
		comma = memchr(text, ',', end - text) ?: end;
		if (num == KAL_PEER_RULES)
			return -E2BIG;
		err = peers_parse_rule(text, comma - text, &rules[num]);
		if (err)
			return err;
		if (peers_known(rules, num, &rules[num]))
			return -EINVAL;
		num++;
		if (comma == end)
			return num;
	}
}

/**
 * kal_peers_look_up() - find the rule for an address
 * @rules: rules of kal_peers_parse()
 * @num: number of rules
 * @addr: IPv6 address or IPv4-mapped address
 * @otherwise: result for an address without a rule
 *
 * Return: the setting of the rule with the longest matching prefix, or @otherwise.
 */
bool kal_peers_look_up(const struct kal_peer_rule *rules, unsigned int num,
		       const u8 addr[KAL_ADDR_LEN], bool otherwise)
{
	const struct kal_peer_rule *best = NULL;
	const bool v4 = peers_is_v4(addr);
	unsigned int i;

	for (i = 0; i < num; i++)
		if (rules[i].v4 == v4 && peers_same_bits(rules[i].addr, addr, rules[i].len) &&
		    (!best || rules[i].len > best->len))
			best = &rules[i];
	return best ? best->on : otherwise;
}
