// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Registrations that are wrong in one field each, and what the switch answers.
 */
#include <linux/in.h>
#include <linux/printk.h>

#include "fail.h"

static void fail_wrong_no_name(struct offload_protosw *sw)
{
	sw->name = NULL;
}

static void fail_wrong_empty_name(struct offload_protosw *sw)
{
	sw->name = "";
}

static void fail_wrong_long_name(struct offload_protosw *sw)
{
	sw->name = "sixteen-letters-";
}

static void fail_wrong_odd_name(struct offload_protosw *sw)
{
	sw->name = "fail now";
}

static void fail_wrong_no_ops(struct offload_protosw *sw)
{
	sw->ops = NULL;
}

static void fail_wrong_no_create(struct offload_protosw *sw)
{
	sw->create = NULL;
}

static void fail_wrong_zero(struct offload_protosw *sw)
{
	sw->protocol = 0;
}

static void fail_wrong_negative(struct offload_protosw *sw)
{
	sw->protocol = -1;
}

static void fail_wrong_tcp(struct offload_protosw *sw)
{
	sw->protocol = IPPROTO_TCP;
}

static void fail_wrong_wildcard(struct offload_protosw *sw)
{
	sw->protocol = IPPROTO_OFFLOAD;
}

static void fail_wrong_caps(struct offload_protosw *sw)
{
	sw->caps = OFFLOAD_CAPS + 1;
}

static void fail_wrong_hop(struct offload_protosw *sw)
{
	sw->caps = OFFLOAD_FIRST_HOP;
	sw->connect_via = NULL;
}

static void fail_wrong_ops_family(struct offload_protosw *sw)
{
	static const struct proto_ops empty = { .family = PF_INET };

	sw->ops = &empty;
}

static const struct {
	const char *what;
	void (*spoil)(struct offload_protosw *sw);
} fail_wrongs[] = {
	{ "no name", fail_wrong_no_name },
	{ "an empty name", fail_wrong_empty_name },
	{ "a long name", fail_wrong_long_name },
	{ "a name with a space", fail_wrong_odd_name },
	{ "no operations", fail_wrong_no_ops },
	{ "no create()", fail_wrong_no_create },
	{ "protocol 0", fail_wrong_zero },
	{ "a negative protocol", fail_wrong_negative },
	{ "TCP's protocol", fail_wrong_tcp },
	{ "the wildcard's protocol", fail_wrong_wildcard },
	{ "unknown caps", fail_wrong_caps },
	{ "no connect_via()", fail_wrong_hop },
	{ "operations with none in them", fail_wrong_ops_family },
};

static int fail_wrong_one(const char *what, const struct offload_protosw *sw, int wanted)
{
	int rc = offload_register_protosw(sw);

	if (!rc)
		offload_unregister_protosw(sw);
	if (rc == wanted)
		return 0;
	pr_err("offload_fail: a registration with %s was answered with %d\n", what, rc);
	return -EINVAL;
}

/* one more than fit, and those that collide with one that is there */
static int fail_wrong_many(const struct offload_protosw *good)
{
	static const char * const names[OFFLOAD_PROTOCOLS_MAX + 1] = {
		"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8",
	};
	struct offload_protosw sw[ARRAY_SIZE(names)], same;
	int rc = 0, num, i;

	for (num = 0; num < ARRAY_SIZE(names); num++) {
		sw[num] = *good;
		sw[num].name = names[num];
		sw[num].protocol = good->protocol + 100 + num;
		if (offload_register_protosw(&sw[num]))
			break;
	}
	if (!num) {
		pr_err("offload_fail: no protocol at all can be registered\n");
		return -EINVAL;
	}
	if (num < ARRAY_SIZE(names))
		rc = fail_wrong_one("no room", &sw[num], -ENOSPC);
	else
		rc = -EINVAL;
	/* room for one, so that a collision is not hidden */
	offload_unregister_protosw(&sw[--num]);
	if (num) {
		same = sw[num];
		same.name = sw[0].name;
		rc = rc ?: fail_wrong_one("a name in use", &same, -EEXIST);
		same = sw[num];
		same.protocol = sw[0].protocol;
		rc = rc ?: fail_wrong_one("a protocol in use", &same, -EEXIST);
	}
	for (i = 0; i < num; i++)
		offload_unregister_protosw(&sw[i]);
	return rc;
}

int fail_wrong(const struct offload_protosw *good)
{
	struct offload_protosw sw;
	int rc = 0, i;

	for (i = 0; i < ARRAY_SIZE(fail_wrongs); i++) {
		sw = *good;
		fail_wrongs[i].spoil(&sw);
		if (fail_wrong_one(fail_wrongs[i].what, &sw, -EINVAL))
			rc = -EINVAL;
	}
	return rc ?: fail_wrong_many(good);
}
