// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Registrations that are wrong in one field each, and what the switch answers.
 */
#include <linux/in.h>
#include <linux/printk.h>

#include "fail.h"

static void fail_wrong_no_name(struct offload_road *road)
{
	road->name = NULL;
}

static void fail_wrong_empty_name(struct offload_road *road)
{
	road->name = "";
}

static void fail_wrong_long_name(struct offload_road *road)
{
	road->name = "sixteen-letters-";
}

static void fail_wrong_odd_name(struct offload_road *road)
{
	road->name = "fail now";
}

static void fail_wrong_no_offers(struct offload_road *road)
{
	road->offers = NULL;
}

static void fail_wrong_no_open(struct offload_road *road)
{
	road->open = NULL;
}

static void fail_wrong_no_sendmsg(struct offload_road *road)
{
	road->sendmsg = NULL;
}

static void fail_wrong_no_close(struct offload_road *road)
{
	road->close = NULL;
}

static void fail_wrong_negative(struct offload_road *road)
{
	road->protocol = -1;
}

static void fail_wrong_tcp(struct offload_road *road)
{
	road->protocol = IPPROTO_TCP;
}

static void fail_wrong_wildcard(struct offload_road *road)
{
	road->protocol = IPPROTO_OFFLOAD;
}

static void fail_wrong_caps(struct offload_road *road)
{
	road->caps = OFFLOAD_CAPS + 1;
}

static const struct {
	const char *what;
	void (*spoil)(struct offload_road *road);
} fail_wrongs[] = {
	{ "no name", fail_wrong_no_name },
	{ "an empty name", fail_wrong_empty_name },
	{ "a long name", fail_wrong_long_name },
	{ "a name with a space", fail_wrong_odd_name },
	{ "no offers()", fail_wrong_no_offers },
	{ "no open()", fail_wrong_no_open },
	{ "no sendmsg()", fail_wrong_no_sendmsg },
	{ "no close()", fail_wrong_no_close },
	{ "a negative protocol", fail_wrong_negative },
	{ "TCP's protocol", fail_wrong_tcp },
	{ "the wildcard's protocol", fail_wrong_wildcard },
	{ "unknown caps", fail_wrong_caps },
};

static int fail_wrong_one(const char *what, const struct offload_road *road, int wanted)
{
	int rc = offload_register_road(road);

	if (!rc)
		offload_unregister_road(road);
	if (rc == wanted)
		return 0;
	pr_err("offload_fail: a registration with %s was answered with %d\n", what, rc);
	return -EINVAL;
}

/* one more than fit, and those that collide with one that is there */
static int fail_wrong_many(const struct offload_road *good)
{
	static const char * const names[OFFLOAD_ROADS_MAX + 1] = {
		"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8",
	};
	struct offload_road roads[ARRAY_SIZE(names)], same;
	int rc = 0, num, i;

	for (num = 0; num < ARRAY_SIZE(names); num++) {
		roads[num] = *good;
		roads[num].name = names[num];
		roads[num].protocol = good->protocol + 100 + num;
		if (offload_register_road(&roads[num]))
			break;
	}
	if (!num) {
		pr_err("offload_fail: no road at all can be registered\n");
		return -EINVAL;
	}
	if (num < ARRAY_SIZE(names))
		rc = fail_wrong_one("no room", &roads[num], -ENOSPC);
	else
		rc = -EINVAL;
	/* room for one, so that a collision is not hidden */
	offload_unregister_road(&roads[--num]);
	if (num) {
		same = roads[num];
		same.name = roads[0].name;
		rc = rc ?: fail_wrong_one("a name in use", &same, -EEXIST);
		same = roads[num];
		same.protocol = roads[0].protocol;
		rc = rc ?: fail_wrong_one("a protocol in use", &same, -EEXIST);
	}
	for (i = 0; i < num; i++)
		offload_unregister_road(&roads[i]);
	return rc;
}

int fail_wrong(const struct offload_road *good)
{
	struct offload_road road;
	int rc = 0, i;

	for (i = 0; i < ARRAY_SIZE(fail_wrongs); i++) {
		road = *good;
		fail_wrongs[i].spoil(&road);
		if (fail_wrong_one(fail_wrongs[i].what, &road, -EINVAL))
			rc = -EINVAL;
	}
	return rc ?: fail_wrong_many(good);
}
