// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MIB objects of RNICs that count their own connections: kal/net/mib.c and kal/net/rnic.c with
 * fake providers, namespaces and a fake registry of RNICs. Runs only in the kernel.
 */
#include "net_fakes.h"

#include "../../kal/net/mib.c"
#include "../../kal/net/rnic.c"
#include "ktest.h"

/* What is played *********************************************************** */

static struct kal_net first, second;
static struct kal_client *client;
static void *client_data[3];
static unsigned int events;

/* the first namespace is the real one, whose own counters can be read */
struct kal_net *kal_net(struct net *net)
{
	return net == &init_net ? &first : &second;
}

void kal_net_deliver(struct kal_net *kn, const struct kal_net_event *event)
{
	events++;
}

void kal_rnic_get(struct ri_rnic *rnic)
{
}

int kal_register_client(struct kal_client *new)
{
	client = new;
	return 0;
}

void kal_unregister_client(struct kal_client *old)
{
	client = NULL;
}

void *kal_client_data(struct ri_rnic *rnic, const struct kal_client *whose)
{
	return client_data[rnic->index];
}

int kal_set_client_data(struct ri_rnic *rnic, const struct kal_client *whose, void *data)
{
	client_data[rnic->index] = data;
	return 0;
}

/* a provider whose objects count from a number that depends on their index */
static void query(struct ri_rnic *rnic, u64 *values)
{
	unsigned int i;

	for (i = 0; i < RI_MIB_OBJECTS; i++)
		values[i] += 1000 * (rnic->index + 1) + i;
}

static const struct ri_ops counting = { .query_mib = query };
static const struct ri_ops silent;

static struct ri_rnic *rnic_new(struct ktest *test, u32 index, const struct ri_ops *ops,
				struct net *net)
{
	struct ri_rnic *rnic = kunit_kzalloc(test, sizeof(*rnic), GFP_KERNEL);
	struct net_device *ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rnic);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	dev_net_set(ndev, net);
	ndev->ifindex = 100 + index;
	rnic->index = index;
	rnic->ops = ops;
	rnic->netdev = ndev;
	KTEST_EQ(test, client->add(rnic), 0);
	return rnic;
}

/* Tests ******************************************************************** */

/* the RNICs' part of an object of a namespace */
static u64 sum_of(struct kal_net *kn, unsigned int object)
{
	u64 sum[RI_MIB_OBJECTS] = {};

	kal_net_rnics_mib(kn, sum);
	return sum[object];
}

static void sums_and_remembers(struct ktest *test)
{
	/* only the pointer is used */
	struct net *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct ri_rnic *a, *b, *c;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KTEST_EQ(test, kal_net_rnic_init(), 0);
	first = (struct kal_net) {};
	second = (struct kal_net) {};
	a = rnic_new(test, 0, &counting, &init_net);
	b = rnic_new(test, 1, &silent, &init_net);
	c = rnic_new(test, 2, &counting, other);

	KTEST_EQ(test, sum_of(&first, RI_MIB_TCP_IN_SEGS), 1000 + RI_MIB_TCP_IN_SEGS);
	KTEST_EQ(test, sum_of(&second, RI_MIB_TCP_IN_SEGS), 3000 + RI_MIB_TCP_IN_SEGS);
	KTEST_EQ(test, sum_of(&first, RI_MIB_OBJECTS - 1), 1000 + RI_MIB_OBJECTS - 1);
	/* reading again gives the same values: nothing is added twice */
	KTEST_EQ(test, sum_of(&first, RI_MIB_TCP_IN_SEGS), 1000 + RI_MIB_TCP_IN_SEGS);

	/* counters stay when the RNIC is removed, gauges do not */
	client->remove(a);
	KTEST_EQ(test, sum_of(&first, RI_MIB_TCP_IN_SEGS), 1000 + RI_MIB_TCP_IN_SEGS);
	KTEST_EQ(test, sum_of(&first, RI_MIB_TCP_CURR_ESTAB), 0);
	KTEST_EQ(test, sum_of(&second, RI_MIB_TCP_CURR_ESTAB), 3000 + RI_MIB_TCP_CURR_ESTAB);
	a = rnic_new(test, 0, &counting, &init_net);
	KTEST_EQ(test, sum_of(&first, RI_MIB_TCP_IN_SEGS), 2 * (1000 + RI_MIB_TCP_IN_SEGS));
	KTEST_EQ(test, sum_of(&first, RI_MIB_TCP_CURR_ESTAB), 1000 + RI_MIB_TCP_CURR_ESTAB);

	/* the counters end with their namespace */
	kal_net_rnics_forget(&second);
	KTEST_EQ(test, sum_of(&second, RI_MIB_TCP_IN_SEGS), 0);
	client->remove(c);
	KTEST_EQ(test, sum_of(&second, RI_MIB_TCP_IN_SEGS), 0);
	client->remove(b);
	client->remove(a);
	/* each came and went, except the last one of the namespace that ended */
	KTEST_EQ(test, events, 7);
	kal_net_rnic_exit();
}

static unsigned int object_named(struct ktest *test, const char *name)
{
	unsigned int i;

	for (i = 0; i < kal_mib_count; i++)
		if (!strcmp(kal_mib_name(i), name))
			return i;
	KTEST_TRUE_MSG(test, false, "no object %s", name);
	return 0;
}

/* objects that the host does not count during a test, and the RNICs' part of them */
static const struct {
	const char *name;
	unsigned int object;
} merged[] = {
	{ "tcpRetransSegs", RI_MIB_TCP_RETRANS_SEGS },
	{ "tcpAttemptFails", RI_MIB_TCP_ATTEMPT_FAILS },
	{ "ipReasmFails", RI_MIB_IP4 + RI_MIB_IP_REASM_FAILS },
	{ "ipSystemStatsReasmFails.ipv4", RI_MIB_IP4 + RI_MIB_IP_REASM_FAILS },
	{ "ipSystemStatsReasmFails.ipv6", RI_MIB_IP6 + RI_MIB_IP_REASM_FAILS },
	{ "ipSystemStatsOutFragCreates.ipv6", RI_MIB_IP6 + RI_MIB_IP_FRAG_CREATES },
};

static void merges_with_the_host(struct ktest *test)
{
	u64 *before = ktest_alloc(test, kal_mib_count * sizeof(u64));
	u64 *after = ktest_alloc(test, kal_mib_count * sizeof(u64));
	const unsigned int ttl = object_named(test, "ipDefaultTTL");
	struct ri_rnic *rnic;
	unsigned int i, at;

	KTEST_EQ(test, kal_net_rnic_init(), 0);
	first = (struct kal_net) {};
	kal_mib_read(&init_net, before);
	rnic = rnic_new(test, 1, &counting, &init_net);
	kal_mib_read(&init_net, after);
	for (i = 0; i < ARRAY_SIZE(merged); i++) {
		at = object_named(test, merged[i].name);
		KTEST_EQ_MSG(test, after[at] - before[at], 2000 + merged[i].object, "%s",
			     merged[i].name);
	}
	/* objects that no RNIC counts have the host's values */
	KTEST_EQ(test, after[ttl], before[ttl]);
	client->remove(rnic);
	kal_net_rnic_exit();
}

/* there are rows only for types that the host has counted */
static void lists_messages(struct ktest *test)
{
	atomic_long_t *counted = init_net.mib.icmpmsg_statistics->mibs;
	/* a reserved type, which is not sent meanwhile */
	const u8 type = 7;
	struct kal_mib_message row;
	unsigned int next = 0, found = 0;

	while (kal_mib_message(&init_net, &next, &row))
		KTEST_TRUE(test, row.in || row.out);
	KTEST_EQ(test, next, KAL_MIB_MESSAGES);
	atomic_long_add(3, &counted[type]);
	atomic_long_add(5, &counted[type + 256]);
	for (next = 0; kal_mib_message(&init_net, &next, &row);) {
		if (row.version != 4 || row.type != type)
			continue;
		KTEST_EQ(test, row.in, 3);
		KTEST_EQ(test, row.out, 5);
		found++;
	}
	KTEST_EQ(test, found, 1);
	atomic_long_sub(3, &counted[type]);
	atomic_long_sub(5, &counted[type + 256]);
}

static struct ktest_case cases[] = {
	KTEST_CASE(sums_and_remembers),
	KTEST_CASE(merges_with_the_host),
	KTEST_CASE(lists_messages),
	{}
};

KTEST_SUITE(mib, cases);
