// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SDP's transport interface: the checks of its contract over the transport in memory, failures of
 * that, and the registry of transports.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "../../sdp/ot/devices.h"
#include "ktest.h"
#include "sdp_ot_checks.h"
#include "sdp_ot_memory.h"

static struct otc_bed sdp_ot_bed;
static struct otm *sdp_ot_memory;

static void sdp_ot_settle(struct otc_bed *bed)
{
	otm_settle(sdp_ot_memory);
}

static void sdp_ot_remove(struct otc_bed *bed)
{
	otm_remove(sdp_ot_memory, 1);
}

static struct otc_bed *sdp_ot_begin(void)
{
	struct otc_bed *bed = &sdp_ot_bed;

	sdp_ot_memory = otm_begin(&init_net);
	memset(bed, 0, sizeof(*bed));
	bed->ops = sdp_ot_memory->ot.ops;
	bed->net = &init_net;
	bed->devices[0] = &sdp_ot_memory->devices[0].ot;
	bed->devices[1] = &sdp_ot_memory->devices[1].ot;
	bed->remote = sdp_ot_memory->devices[1].address;
	bed->port = 7990;
	((struct sockaddr_in *)&bed->remote)->sin_port = htons(bed->port);
	bed->settle = sdp_ot_settle;
	bed->remove = sdp_ot_remove;
	otc_begin(bed);
	return bed;
}

static void keeps_the_contract(struct kunit *test)
{
	const struct otc_check *const *list, *check;
	struct otc_bed *bed;

	for (list = otc_checks; *list; list++) {
		for (check = *list; check->name; check++) {
			bed = sdp_ot_begin();
			check->run(bed);
			otc_end(bed);
			KUNIT_EXPECT_EQ_MSG(test, bed->failed, 0, "%s: %s", check->name,
					    bed->where);
			KUNIT_EXPECT_TRUE_MSG(test, otm_end(sdp_ot_memory),
					      "%s: something is left", check->name);
		}
	}
}

/* The registry **************************************************************** */

static u32 sdp_ot_asked;

static void sdp_ot_requested(struct sdp_ot_device *device, struct sdp_ot_conn_request *request,
			     const u8 *data, u32 length, const struct sockaddr_storage *local,
			     const struct sockaddr_storage *remote)
{
	sdp_ot_asked++;
	device->ot->ops->reject(request, "full", 4);
}

static const struct sdp_ot_user sdp_ot_test_user = { .request = sdp_ot_requested };

static void registers_transports(struct kunit *test)
{
	struct otc_bed *bed = sdp_ot_begin();
	struct sdp_ot *ot = &sdp_ot_memory->ot;
	struct sockaddr_storage local = {};
	struct sdp_ot_ops lacking = *ot->ops;
	struct sdp_ot wrong = { .name = "wrong", .ops = &lacking };
	struct sdp_ot_device *device;

	/* before the socket layer is there */
	KUNIT_EXPECT_EQ(test, sdp_ot_register(ot), -EINVAL);
	KUNIT_ASSERT_EQ(test, sdp_ot_init(&sdp_ot_test_user), 0);
	lacking.key_drop = NULL;
	KUNIT_EXPECT_EQ(test, sdp_ot_register(&wrong), -EINVAL);
	device = sdp_ot_route(&init_net, &bed->remote, &local, 0, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(device), -ENODEV);
	KUNIT_ASSERT_EQ(test, sdp_ot_register(ot), 0);
	KUNIT_EXPECT_EQ(test, sdp_ot_register(ot), -EEXIST);

	device = sdp_ot_route(&init_net, &bed->remote, &local, 0, NULL);
	KUNIT_EXPECT_PTR_EQ(test, device, bed->devices[0]);
	KUNIT_EXPECT_EQ(test, local.ss_family, AF_INET);
	bed->ops->device_put(device);
	device = sdp_ot_route(&init_net, &bed->remote, &bed->remote, 0, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(device), -EADDRNOTAVAIL);
	sdp_ot_unregister(ot);
	KUNIT_EXPECT_TRUE(test, otm_end(sdp_ot_memory));
	sdp_ot_exit();
}

/* a connection request to the rendezvous port */
static void listens_on_each_device(struct kunit *test)
{
	struct otc_bed *bed = sdp_ot_begin();
	const struct sdp_ot_cq_attr cq_attr = { .kind = SDP_OT_CQ_POLLING, .depth = 4 };
	struct sdp_ot *ot = &sdp_ot_memory->ot;
	struct sdp_ot_ep_attr attr = { .sends = 1, .recvs = 1, .segments = 1 };
	struct otc_side *side = &bed->sides[0];
	struct sdp_ot_ep *ep;

	KUNIT_ASSERT_EQ(test, sdp_ot_init(&sdp_ot_test_user), 0);
	KUNIT_ASSERT_EQ(test, sdp_ot_register(ot), 0);
	sdp_ot_asked = 0;
	((struct sockaddr_in *)&bed->remote)->sin_port = htons(sdp_ot_port);
	attr.send_cq = bed->ops->cq_create(bed->devices[0], &cq_attr);
	attr.recv_cq = attr.send_cq;
	attr.event = otc_note_event;
	side->bed = bed;
	attr.context = side;
	ep = bed->ops->ep_create(bed->devices[0], &attr);
	KUNIT_EXPECT_EQ(test, bed->ops->connect(ep, NULL, &bed->remote, NULL, "x", 1, 0), 0);
	otm_settle(sdp_ot_memory);
	KUNIT_EXPECT_EQ(test, sdp_ot_asked, 1);
	KUNIT_EXPECT_EQ(test, side->told[SDP_OT_REFUSED], 1);
	KUNIT_EXPECT_EQ(test, memcmp(side->data, "full", 4), 0);
	bed->ops->ep_destroy(ep);
	bed->ops->cq_destroy(attr.send_cq);
	sdp_ot_unregister(ot);
	sdp_ot_exit();
	KUNIT_EXPECT_TRUE(test, otm_end(sdp_ot_memory));
}

/* a device that cannot listen is of use for connects, and listens later */
static void listens_later(struct kunit *test)
{
	struct sdp_ot *ot;

	sdp_ot_begin();
	ot = &sdp_ot_memory->ot;
	KUNIT_ASSERT_EQ(test, sdp_ot_init(&sdp_ot_test_user), 0);
	sdp_ot_memory->fail[OTM_LISTEN] = -EADDRINUSE;
	KUNIT_ASSERT_EQ(test, sdp_ot_register(ot), 0);
	/* the first device was refused once, and has listened with its address */
	KUNIT_EXPECT_EQ(test, sdp_ot_memory->fail[OTM_LISTEN], 0);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&sdp_ot_memory->listeners), 2);
	sdp_ot_unregister(ot);
	sdp_ot_exit();
	KUNIT_EXPECT_TRUE(test, otm_end(sdp_ot_memory));
}

/* in the namespaces of sockets that listen, as long as they do */
static void listens_on_demand(struct kunit *test)
{
	static const struct sdp_ot_user user = { .request = sdp_ot_requested, .on_demand = true };
	struct otc_bed *bed = sdp_ot_begin();
	struct sdp_ot *ot = &sdp_ot_memory->ot;
	struct sdp_ot_net one, other;

	KUNIT_ASSERT_EQ(test, sdp_ot_init(&user), 0);
	KUNIT_ASSERT_EQ(test, sdp_ot_register(ot), 0);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&sdp_ot_memory->listeners), 0);
	sdp_ot_listen_get(&one, bed->net);
	sdp_ot_listen_get(&other, bed->net);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&sdp_ot_memory->listeners), 2);
	sdp_ot_listen_put(&one);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&sdp_ot_memory->listeners), 2);
	otm_remove(sdp_ot_memory, 0);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&sdp_ot_memory->listeners), 1);
	sdp_ot_listen_put(&other);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&sdp_ot_memory->listeners), 0);
	/* a transport that comes later finds who wants it */
	sdp_ot_unregister(ot);
	sdp_ot_listen_get(&one, bed->net);
	KUNIT_ASSERT_EQ(test, sdp_ot_register(ot), 0);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&sdp_ot_memory->listeners), 1);
	sdp_ot_unregister(ot);
	sdp_ot_listen_put(&one);
	sdp_ot_exit();
	KUNIT_EXPECT_TRUE(test, otm_end(sdp_ot_memory));
}

/* a device for which memory was short is tried again, and is visible until it listens */
static void listens_after_a_retry(struct kunit *test)
{
	static const struct sdp_ot_user user = { .request = sdp_ot_requested, .on_demand = true };
	const unsigned long end = jiffies + 10 * HZ;
	struct otc_bed *bed = sdp_ot_begin();
	struct sdp_ot *ot = &sdp_ot_memory->ot;
	struct sdp_ot_net wanted;
	u32 listening, pending;

	KUNIT_ASSERT_EQ(test, sdp_ot_init(&user), 0);
	KUNIT_ASSERT_EQ(test, sdp_ot_register(ot), 0);
	sdp_ot_memory->fail[OTM_LISTEN] = -ENOMEM;
	sdp_ot_listen_get(&wanted, bed->net);
	sdp_ot_listeners(&listening, &pending);
	KUNIT_EXPECT_EQ(test, listening, 1);
	KUNIT_EXPECT_EQ(test, pending, 1);
	do {
		msleep(20);
		sdp_ot_listeners(&listening, &pending);
	} while (pending && time_before(jiffies, end));
	KUNIT_EXPECT_EQ(test, listening, 2);
	KUNIT_EXPECT_EQ(test, pending, 0);
	/* one that is not wanted any more is not tried */
	sdp_ot_listen_put(&wanted);
	sdp_ot_memory->fail[OTM_LISTEN] = -ENOMEM;
	sdp_ot_listen_get(&wanted, bed->net);
	sdp_ot_listen_put(&wanted);
	sdp_ot_listeners(&listening, &pending);
	KUNIT_EXPECT_EQ(test, listening + pending, 0);
	sdp_ot_unregister(ot);
	sdp_ot_exit();
	KUNIT_EXPECT_TRUE(test, otm_end(sdp_ot_memory));
}

/* The transport in memory ****************************************************** */

static void fails_on_request(struct kunit *test)
{
	const struct sdp_ot_pool_attr pool = {
		.kind = SDP_OT_POOL_MESSAGE, .elements = 1, .size = 64, .segments = 1,
	};
	const struct sdp_ot_cq_attr cq = { .kind = SDP_OT_CQ_POLLING, .depth = 4 };
	struct otc_bed *bed = sdp_ot_begin();

	sdp_ot_memory->fail[OTM_POOL_CREATE] = -ENOMEM;
	KUNIT_EXPECT_EQ(test, PTR_ERR(bed->ops->pool_create(bed->devices[0], &pool)), -ENOMEM);
	sdp_ot_memory->fail[OTM_CQ_CREATE] = -ENOMEM;
	KUNIT_EXPECT_EQ(test, PTR_ERR(bed->ops->cq_create(bed->devices[0], &cq)), -ENOMEM);
	/* once */
	KUNIT_EXPECT_EQ(test, sdp_ot_memory->fail[OTM_CQ_CREATE], 0);
	KUNIT_EXPECT_TRUE(test, otm_end(sdp_ot_memory));
}

/* Two endpoints of polling queues, connected; nothing is told of them. */
static void sdp_ot_pair(struct otc_bed *bed, struct sdp_ot_ep *eps[2], struct sdp_ot_cq *cqs[2])
{
	const struct sdp_ot_cq_attr cq_attr = { .kind = SDP_OT_CQ_POLLING, .depth = 16 };
	struct sdp_ot_ep_attr attr = {
		.sends = 4, .recvs = 4, .segments = 1, .event = otc_note_event,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		cqs[i] = bed->ops->cq_create(bed->devices[i], &cq_attr);
		attr.send_cq = cqs[i];
		attr.recv_cq = cqs[i];
		bed->sides[i].bed = bed;
		attr.context = &bed->sides[i];
		eps[i] = bed->ops->ep_create(bed->devices[i], &attr);
	}
	bed->asked[0].listener = bed->ops->listen(bed->devices[1], &(struct sdp_ot_listen_attr){
		.port = bed->port, .request = otc_note_request, .context = &bed->asked[0],
	});
	bed->asked[0].bed = bed;
	bed->ops->connect(eps[0], NULL, &bed->remote, NULL, "x", 1, 0);
	otm_settle(sdp_ot_memory);
	bed->ops->accept(bed->asked[0].request, eps[1], NULL, 0);
	bed->asked[0].request = NULL;
	otm_settle(sdp_ot_memory);
}

static void sdp_ot_unpair(struct otc_bed *bed, struct sdp_ot_ep *eps[2], struct sdp_ot_cq *cqs[2])
{
	struct sdp_ot_completion done[8];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		while (bed->ops->cq_poll(cqs[i], done, 8))
			;
		bed->ops->ep_destroy(eps[i]);
		bed->ops->cq_destroy(cqs[i]);
	}
	bed->ops->listener_destroy(bed->asked[0].listener);
}

/* Writes of 0 octets: one step, one completion */
static void steps_and_breaks(struct kunit *test)
{
	struct otc_bed *bed = sdp_ot_begin();
	struct sdp_ot_completion done[8];
	struct sdp_ot_ep *eps[2];
	struct sdp_ot_cq *cqs[2];
	unsigned int i;

	sdp_ot_pair(bed, eps, cqs);
	KUNIT_EXPECT_EQ(test, bed->sides[0].told[SDP_OT_UP], 1);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, bed->ops->post_write(eps[0], NULL, 0, 0, 0, SDP_OT_SIGNAL,
							   bed), 0);
	KUNIT_EXPECT_EQ(test, bed->ops->post_write(eps[0], NULL, 0, 0, 0, SDP_OT_SIGNAL, bed),
			-EAGAIN);
	KUNIT_EXPECT_EQ(test, bed->ops->cq_poll(cqs[0], done, 8), 0);
	KUNIT_EXPECT_TRUE(test, otm_step(sdp_ot_memory));
	KUNIT_EXPECT_EQ(test, bed->ops->cq_poll(cqs[0], done, 8), 1);
	KUNIT_EXPECT_EQ(test, done[0].status, 0);
	/* the first of the others fails, the rest is cancelled */
	otm_break(eps[0], -EIO);
	otm_settle(sdp_ot_memory);
	KUNIT_EXPECT_EQ(test, bed->ops->cq_poll(cqs[0], done, 8), 3);
	KUNIT_EXPECT_EQ(test, done[0].status, -EIO);
	KUNIT_EXPECT_EQ(test, done[1].status, -ECANCELED);
	KUNIT_EXPECT_EQ(test, done[2].status, -ECANCELED);
	KUNIT_EXPECT_EQ(test, bed->sides[0].told[SDP_OT_DOWN], 1);
	KUNIT_EXPECT_EQ(test, bed->sides[0].error, -EIO);
	KUNIT_EXPECT_EQ(test, bed->sides[1].error, -ECONNRESET);
	sdp_ot_unpair(bed, eps, cqs);
	KUNIT_EXPECT_TRUE(test, otm_end(sdp_ot_memory));
}

static struct ktest_case cases[] = {
	KTEST_CASE(keeps_the_contract),
	KTEST_CASE(registers_transports),
	KTEST_CASE(listens_on_each_device),
	KTEST_CASE(listens_later),
	KTEST_CASE(listens_on_demand),
	KTEST_CASE(listens_after_a_retry),
	KTEST_CASE(fails_on_request),
	KTEST_CASE(steps_and_breaks),
	{}
};

KTEST_SUITE(sdp_ot, cases);
