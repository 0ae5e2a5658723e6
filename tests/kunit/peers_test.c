// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Rules for peers by address prefix: which texts are valid, and which rule decides. */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kal/cm/peers.h"
#include "ktest.h"
#include "vectors.h"

static struct kal_peer_rule rules[KAL_PEER_RULES];

static const struct {
	const char *text;
	int result;
} texts[] = {
	{ "", 0 },
	{ "\n", 0 },
	{ "10.0.0.0/8=off", 1 },
	{ "10.0.0.0/8=off\n", 1 },
	{ "10.0.0.0/8=off,fd00::/8=on", 2 },
	{ "0.0.0.0/0=off,::/0=off", 2 },
	{ "192.0.2.1=on,2001:db8::1=off", 2 },
	{ "192.0.2.1/32=on", 1 },
	{ "2001:db8::1/128=on", 1 },
	{ "::ffff:10.0.0.0/104=on", 1 },
	{ "10.0.0.0/8", -EINVAL },
	{ "10.0.0.0/8=", -EINVAL },
	{ "10.0.0.0/8=0", -EINVAL },
	{ "10.0.0.0/8=ON", -EINVAL },
	{ "10.0.0.0/8=onx", -EINVAL },
	{ "10.0.0.0/8=o", -EINVAL },
	{ "10.0.0.0/33=on", -EINVAL },
	{ "10.0.0.0/=on", -EINVAL },
	{ "10.0.0.0/8x=on", -EINVAL },
	{ "10.0.0.0/-8=on", -EINVAL },
	{ "10.0.0.0/0008=on", -EINVAL },
	{ "10.0.0.1/8=on", -EINVAL },
	{ "10.0.0.0/8/8=on", -EINVAL },
	{ "10.0.0/8=on", -EINVAL },
	{ "10.0.0.0.0/8=on", -EINVAL },
	{ "10.0.0.256=on", -EINVAL },
	{ "fd00::/129=on", -EINVAL },
	{ "fd00::1/8=on", -EINVAL },
	{ "fd00::1::2=on", -EINVAL },
	{ "fd0g::=on", -EINVAL },
	{ "=on", -EINVAL },
	{ "/8=on", -EINVAL },
	{ "on=10.0.0.0/8", -EINVAL },
	{ ",", -EINVAL },
	{ "10.0.0.0/8=off,", -EINVAL },
	{ ",10.0.0.0/8=off", -EINVAL },
	{ "10.0.0.0/8=off,,fd00::/8=on", -EINVAL },
	{ "10.0.0.0/8=off fd00::/8=on", -EINVAL },
	{ " 10.0.0.0/8=off", -EINVAL },
	{ "10.0.0.0/8=off\nx", -EINVAL },
	{ "10.0.0.0/8=off,10.0.0.0/8=on", -EINVAL },
	{ "10.0.0.0/8=off,::ffff:10.0.0.0/104=on", -EINVAL },
};

static void parses(struct ktest *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		KTEST_EQ_MSG(test, kal_peers_parse(texts[i].text, rules), texts[i].result, "%s",
			     texts[i].text);
}

static void bounds_the_number(struct ktest *test)
{
	char *text = ktest_alloc(test, 2048);
	u32 i, n = 0;

	/* "10.0.NN.0/24=on,", without a printf() that both environments have */
	for (i = 0; i <= KAL_PEER_RULES; i++) {
		memcpy(text + n, "10.0.NN.0/24=on,", 16);
		text[n + 5] = '1' + i / 10;
		text[n + 6] = '0' + i % 10;
		n += 16;
	}
	text[n - 1] = '\0';
	KTEST_EQ(test, kal_peers_parse(text, rules), -E2BIG);
	text[n - 17] = '\0';
	KTEST_EQ(test, kal_peers_parse(text, rules), KAL_PEER_RULES);
}

#define V4	"00 00 00 00 00 00 00 00 00 00 ff ff "
#define V6	"fd 12 00 00 00 00 00 00 00 00 00 00 "

static const struct {
	const char *text;
	const char *addr;
	bool otherwise;
	bool result;
} lookups[] = {
	{ "", V4 "0a 00 00 01", true, true },
	{ "", V4 "0a 00 00 01", false, false },
	{ "10.0.0.0/8=off", V4 "0a ff ff ff", true, false },
	{ "10.0.0.0/8=on", V4 "0a ff ff ff", false, true },
	{ "10.0.0.0/8=off", V4 "0b 00 00 01", true, true },
	{ "10.0.0.0/8=off", V4 "09 ff ff ff", true, true },
	/* lengths that are no multiple of 8 */
	{ "10.1.2.64/26=off", V4 "0a 01 02 7f", true, false },
	{ "10.1.2.64/26=off", V4 "0a 01 02 80", true, true },
	{ "10.1.2.64/26=off", V4 "0a 01 02 3f", true, true },
	{ "128.0.0.0/1=off", V4 "ff 00 00 01", true, false },
	{ "128.0.0.0/1=off", V4 "7f 00 00 01", true, true },
	/* the longest prefix counts, in either order */
	{ "10.0.0.0/8=off,10.1.0.0/16=on", V4 "0a 01 00 01", false, true },
	{ "10.1.0.0/16=on,10.0.0.0/8=off", V4 "0a 01 00 01", false, true },
	{ "10.1.0.0/16=on,10.0.0.0/8=off", V4 "0a 02 00 01", true, false },
	{ "10.0.0.0/8=off,10.0.0.7=on", V4 "0a 00 00 07", false, true },
	{ "10.0.0.0/8=off,10.0.0.7=on", V4 "0a 00 00 06", true, false },
	/* each family for itself */
	{ "0.0.0.0/0=off", V4 "0a 00 00 01", true, false },
	{ "0.0.0.0/0=off", V6 "00 00 00 01", true, true },
	{ "::/0=off", V4 "0a 00 00 01", true, true },
	{ "::/0=off", V6 "00 00 00 01", true, false },
	{ "::ffff:10.0.0.0/104=off", V4 "0a 00 00 01", true, false },
	{ "fd00::/8=off", V6 "00 00 00 01", true, false },
	{ "fc00::/8=off", V6 "00 00 00 01", true, true },
	{ "fd12::1=off", V6 "00 00 00 01", true, false },
	{ "fd12::1=off", V6 "00 00 00 02", true, true },
	{ "fd12::/16=on,fd12::/64=off", V6 "00 00 00 02", true, false },
};

static void looks_up(struct ktest *test)
{
	u8 addr[KAL_ADDR_LEN];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lookups); i++) {
		const int num = kal_peers_parse(lookups[i].text, rules);

		hex_octets(lookups[i].addr, addr, sizeof(addr));
		KTEST_TRUE_MSG(test, num >= 0, "%s", lookups[i].text);
		KTEST_EQ_MSG(test,
			     kal_peers_look_up(rules, num, addr, lookups[i].otherwise),
			     lookups[i].result, "%s for %s", lookups[i].text, lookups[i].addr);
	}
}

static struct ktest_case cases[] = {
	KTEST_CASE(parses),
	KTEST_CASE(bounds_the_number),
	KTEST_CASE(looks_up),
	{}
};

KTEST_SUITE(kal_peers, cases);
