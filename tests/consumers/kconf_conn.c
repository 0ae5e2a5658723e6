// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the conformance test: connections and endpoints, from the first call to the end in
 * each state.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>

#include "kconf.h"

static struct kconf_side *const client = &kconf_bed.client[0];
static struct kconf_side *const server = &kconf_bed.server[0];

static bool kconf_sides_open(void)
{
	return kconf_side_open(client, NULL) && kconf_side_open(server, NULL);
}

/* Private data and addresses ************************************************ */

static const u8 *kconf_words(u8 seed)
{
	static u8 words[RI_PRIVATE_DATA_MAX + 1];
	unsigned int i;

	for (i = 0; i < sizeof(words); i++)
		words[i] = i * 3 + seed;
	return words;
}

/* Did the end get the data? A transport that does not carry the length pads with zeros. */
static bool kconf_heard_words(const struct kconf_end *end, u8 seed, u16 len)
{
	if (end->data_len < len || memcmp(end->data, kconf_words(seed), len))
		return false;
	if (kconf.rnic->attr.transport == RI_TRANSPORT_IWARP)
		return end->data_len == len;
	return !memchr_inv(end->data + len, 0, end->data_len - len);
}

static u16 kconf_room(u16 offloaded)
{
	/* MPA's 512, less what revision 2 takes */
	return kconf.rnic->attr.caps & RI_CAP_LLP_OFFLOAD ? offloaded : 508;
}

static bool kconf_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/* the place is the same in both families */
static __be16 kconf_port_of(const struct sockaddr_storage *addr)
{
	return ((const struct sockaddr_in *)addr)->sin_port;
}

static void kconf_connected_data(u16 to_server, u16 to_client)
{
	const struct kconf_end *listener = &kconf_bed.listener;

	KCONF_EXPECT(!kconf_listen(&server->end));
	KCONF_EXPECT(!kconf_connect(client, kconf_words(11), to_server));
	KCONF_EXPECT(!kconf_accept(server, kconf_words(91), to_client));
	KCONF_EXPECT(kconf_heard_words(listener, 11, to_server));
	KCONF_EXPECT(!kconf_end_status(&client->end, KAL_EP_CONN_REPLY));
	KCONF_EXPECT(kconf_heard_words(&client->end, 91, to_client));
	KCONF_EXPECT(!kconf_end_status(&server->end, KAL_EP_ESTABLISHED));
}

static void kconf_connect_accept(void)
{
	const struct kconf_end *listener = &kconf_bed.listener;

	if (!kconf_sides_open())
		return;
	kconf_connected_data(40, 60);
	KCONF_EXPECT(listener->count[KAL_EP_CONN_REQUEST] == 1);
	KCONF_EXPECT(client->end.count[KAL_EP_CONN_REPLY] == 1);
	KCONF_EXPECT(server->end.count[KAL_EP_ESTABLISHED] == 1);
	KCONF_EXPECT(!client->end.count[KAL_EP_CLOSED] && !server->end.count[KAL_EP_CLOSED]);
	KCONF_EXPECT(kconf_state(client) == IB_QPS_RTS && kconf_state(server) == IB_QPS_RTS);
	/* the depths that were asked for */
	KCONF_EXPECT(listener->ird > 0 && listener->ord > 0);
	KCONF_EXPECT(client->end.ird > 0 && client->end.ord > 0);
	KCONF_EXPECT(server->end.ird > 0 && server->end.ord > 0);
}

static void kconf_addresses(void)
{
	const struct kconf_end *listener = &kconf_bed.listener;

	if (!kconf_pair_open(0, NULL, NULL))
		return;
	KCONF_EXPECT(kconf_same_addr(&listener->local, &kconf.remote));
	KCONF_EXPECT(kconf_port_of(&listener->local) == kconf_port_of(&kconf.remote));
	KCONF_EXPECT(kconf_same_addr(&listener->remote, &kconf.local));
	KCONF_EXPECT(kconf_same_addr(&client->end.local, &kconf.local));
	KCONF_EXPECT(kconf_same_addr(&client->end.remote, &kconf.remote));
	KCONF_EXPECT(kconf_port_of(&client->end.remote) == kconf_port_of(&kconf.remote));
	KCONF_EXPECT(kconf_port_of(&client->end.local) != 0);
	KCONF_EXPECT(kconf_port_of(&client->end.local) == kconf_port_of(&listener->remote));
	KCONF_EXPECT(kconf_same_addr(&server->end.local, &kconf.remote));
	KCONF_EXPECT(kconf_same_addr(&server->end.remote, &kconf.local));
}

/* As much private data as the attributes say; one byte more is refused. */
static void kconf_most_data(void)
{
	const struct ri_rnic_attr *attr = &kconf.rnic->attr;
	const u16 most = kconf_room(attr->max_connect_data);
	const u16 answer = kconf_room(attr->max_accept_data);

	if (!kconf_sides_open())
		return;
	kconf_connected_data(most, answer);
}

static void kconf_too_much_data(void)
{
	const struct ri_rnic_attr *attr = &kconf.rnic->attr;
	const bool offload = attr->caps & RI_CAP_LLP_OFFLOAD;
	const u16 connect = (offload ? attr->max_connect_data : RI_PRIVATE_DATA_MAX) + 1;
	const u16 accept = (offload ? attr->max_accept_data : RI_PRIVATE_DATA_MAX) + 1;
	const u16 reject = (offload ? attr->max_reject_data : RI_PRIVATE_DATA_MAX) + 1;
	const struct kal_conn_param param = {
		.private_data = kconf_words(1),
		.private_data_len = accept,
	};
	struct kal_ep *child;

	if (!kconf_sides_open())
		return;
	KCONF_EXPECT(!kconf_listen(&server->end));
	KCONF_EXPECT(kconf_connect(client, kconf_words(1), connect) == -EINVAL);
	kconf_end_destroy(&client->end);
	KCONF_EXPECT(!client->end.count[KAL_EP_CONN_REPLY]);

	KCONF_EXPECT(!kconf_connect(client, NULL, 0));
	child = kconf_request();
	if (!KCONF_EXPECT(child))
		return;
	/* the request still waits for its answer */
	KCONF_EXPECT(kal_ep_accept(child, server->qp, &param) == -EINVAL);
	KCONF_EXPECT(kal_ep_reject(child, kconf_words(1), reject) == -EINVAL);
	KCONF_EXPECT(kal_ep_undecided(child));
	KCONF_EXPECT(!kal_ep_accept(child, server->qp, &(struct kal_conn_param){}));
	server->end.ep = child;
	KCONF_EXPECT(!kconf_end_status(&client->end, KAL_EP_CONN_REPLY));
	KCONF_EXPECT(!kconf_end_status(&server->end, KAL_EP_ESTABLISHED));
}

/* Refusals ****************************************************************** */

static bool kconf_refused(int status)
{
	return status == -ECONNREFUSED || status == -ECONNRESET;
}

static void kconf_nobody_listens(void)
{
	if (!kconf_side_open(client, NULL))
		return;
	KCONF_EXPECT(!kconf_connect(client, NULL, 0));
	KCONF_EXPECT(kconf_refused(kconf_end_status(&client->end, KAL_EP_CONN_REPLY)));
	KCONF_EXPECT(kconf_state(client) != IB_QPS_RTS);
	kconf_end_destroy(&client->end);
	KCONF_EXPECT(client->end.count[KAL_EP_CONN_REPLY] == 1);
	KCONF_EXPECT(!client->end.count[KAL_EP_CLOSED]);
}

static void kconf_reject(void)
{
	struct kal_ep *child;

	if (!kconf_sides_open())
		return;
	KCONF_EXPECT(!kconf_listen(&server->end));
	KCONF_EXPECT(!kconf_connect(client, kconf_words(5), 20));
	child = kconf_request();
	if (!KCONF_EXPECT(child))
		return;
	KCONF_EXPECT(kal_ep_undecided(child));
	KCONF_EXPECT(!kal_ep_reject(child, kconf_words(33), 30));
	KCONF_EXPECT(!kal_ep_undecided(child));
	kal_ep_destroy(child);
	KCONF_EXPECT(kconf_refused(kconf_end_status(&client->end, KAL_EP_CONN_REPLY)));
	KCONF_EXPECT(kconf_heard_words(&client->end, 33, 30));
	KCONF_EXPECT(!server->end.count[KAL_EP_ESTABLISHED] && !server->end.count[KAL_EP_CLOSED]);
}

static void kconf_bad_calls(void)
{
	struct kconf_end *listener = &kconf_bed.listener;
	const struct kal_listen_param listen = { .backlog = 1 };
	const struct kal_conn_param param = {};
	struct kconf_end second = {};

	if (!kconf_sides_open())
		return;
	KCONF_EXPECT(!kconf_listen(&server->end));
	/* the address is in use */
	init_waitqueue_head(&second.heard);
	spin_lock_init(&second.lock);
	second.children = &server->end;
	if (KCONF_EXPECT(!kconf_end_create(&second)))
		KCONF_EXPECT(kal_ep_listen(second.ep, (struct sockaddr *)&kconf.remote, &listen,
					   NULL) == -EADDRINUSE);
	kconf_end_destroy(&second);
	/* a listener does not connect, accept or reject */
	KCONF_EXPECT(kal_ep_connect(listener->ep, client->qp, NULL,
				    (struct sockaddr *)&kconf.remote, &param) == -EINVAL);
	KCONF_EXPECT(kal_ep_accept(listener->ep, client->qp, &param) == -EINVAL);
	KCONF_EXPECT(kal_ep_reject(listener->ep, NULL, 0) == -EINVAL);
	/* it still listens */
	KCONF_EXPECT(!kconf_connect(client, NULL, 0));
	KCONF_EXPECT(!kconf_accept(server, NULL, 0));
	KCONF_EXPECT(!kconf_end_status(&client->end, KAL_EP_CONN_REPLY));
	KCONF_EXPECT(!kconf_end_status(&server->end, KAL_EP_ESTABLISHED));
}

/* Endpoints destroyed in each state ***************************************** */

static void kconf_destroy_idle(void)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		KCONF_EXPECT(!kconf_end_create(&client->end));
		kconf_end_destroy(&client->end);
	}
	KCONF_EXPECT(!client->end.count[KAL_EP_CONN_REPLY] && !client->end.count[KAL_EP_CLOSED]);
}

/* The port is free again at once. */
static void kconf_destroy_listening(void)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		KCONF_EXPECT(!kconf_listen(&server->end));
		kconf_end_destroy(&kconf_bed.listener);
	}
}

/* The reply is reported before the end, whatever it is. */
static void kconf_destroy_connecting(void)
{
	const struct kconf_end *end = &client->end;
	unsigned int i;

	if (!kconf_sides_open())
		return;
	KCONF_EXPECT(!kconf_listen(&server->end));
	KCONF_EXPECT(!kconf_connect(client, NULL, 0));
	kconf_end_destroy(&client->end);
	KCONF_EXPECT(end->count[KAL_EP_CONN_REPLY] == 1);
	KCONF_EXPECT(end->status[KAL_EP_CONN_REPLY] || end->count[KAL_EP_CLOSED] == 1);
	/* the request may have arrived; it may be answered by anything */
	for (i = 0; i < 20 && !kconf_bed.listener.child; i++)
		msleep(20);
	kconf_end_destroy(&kconf_bed.listener);
}

/* The queue pair is destroyed before its endpoint. */
static void kconf_destroy_qp_connecting(void)
{
	if (!kconf_sides_open())
		return;
	KCONF_EXPECT(!kconf_listen(&server->end));
	KCONF_EXPECT(!kconf_connect(client, NULL, 0));
	KCONF_EXPECT(!kal_qp_destroy(client->qp));
	client->qp = NULL;
	KCONF_EXPECT(client->end.count[KAL_EP_CONN_REPLY] == 1);
}

static struct kal_ep *kconf_undecided(void)
{
	if (!kconf_sides_open() || !KCONF_EXPECT(!kconf_listen(&server->end)) ||
	    !KCONF_EXPECT(!kconf_connect(client, NULL, 0)))
		return NULL;
	return kconf_request();
}

static void kconf_destroy_request(void)
{
	struct kal_ep *child = kconf_undecided();

	if (!KCONF_EXPECT(child))
		return;
	kal_ep_destroy(child);
	KCONF_EXPECT(kconf_refused(kconf_end_status(&client->end, KAL_EP_CONN_REPLY)));
	KCONF_EXPECT(!server->end.count[KAL_EP_ESTABLISHED] && !server->end.count[KAL_EP_CLOSED]);
}

/* A request that waits does not keep its listener. */
static void kconf_destroy_listener_request(void)
{
	const struct kal_conn_param param = {};
	struct kal_ep *child = kconf_undecided();

	if (!KCONF_EXPECT(child))
		return;
	kconf_end_destroy(&kconf_bed.listener);
	KCONF_EXPECT(!kal_ep_accept(child, server->qp, &param));
	server->end.ep = child;
	KCONF_EXPECT(!kconf_end_status(&client->end, KAL_EP_CONN_REPLY));
	KCONF_EXPECT(!kconf_end_status(&server->end, KAL_EP_ESTABLISHED));
}

static void kconf_destroy_accepting(void)
{
	const struct kal_conn_param param = {};
	struct kal_ep *child = kconf_undecided();

	if (!KCONF_EXPECT(child))
		return;
	KCONF_EXPECT(!kal_ep_accept(child, server->qp, &param));
	kal_ep_destroy(child);
	KCONF_EXPECT(server->end.count[KAL_EP_ESTABLISHED] == 1);
	KCONF_EXPECT(server->end.status[KAL_EP_ESTABLISHED] ||
		     server->end.count[KAL_EP_CLOSED] == 1);
	/* the peer hears of the end in one way or the other */
	if (!kconf_end_status(&client->end, KAL_EP_CONN_REPLY))
		KCONF_EXPECT(kconf_end_hears(&client->end, KAL_EP_CLOSED));
}

static void kconf_destroy_connected(void)
{
	if (!kconf_pair_open(0, NULL, NULL))
		return;
	kconf_end_destroy(&client->end);
	KCONF_EXPECT(client->end.count[KAL_EP_CLOSED] == 1);
	KCONF_EXPECT(client->end.status[KAL_EP_CLOSED] < 0);
	KCONF_EXPECT(kconf_state(client) == IB_QPS_ERR);
	KCONF_EXPECT(kconf_end_hears(&server->end, KAL_EP_CLOSED));
	KCONF_EXPECT(kconf_broken(server));
}

/* Ends of connections ******************************************************* */

/* Both hear of it once. @end is the side that ends the connection. */
static void kconf_both_closed(struct kconf_side *end, struct kconf_side *peer)
{
	KCONF_EXPECT(kconf_end_hears(&end->end, KAL_EP_CLOSED));
	KCONF_EXPECT(kconf_end_hears(&peer->end, KAL_EP_CLOSED));
	KCONF_EXPECT(kconf_state(end) == IB_QPS_ERR);
	KCONF_EXPECT(kconf_state(peer) == IB_QPS_ERR);
	kconf_end_destroy(&end->end);
	kconf_end_destroy(&peer->end);
	KCONF_EXPECT(end->end.count[KAL_EP_CLOSED] == 1);
	KCONF_EXPECT(peer->end.count[KAL_EP_CLOSED] == 1);
}

static void kconf_graceful(struct kconf_side *end, struct kconf_side *peer)
{
	if (!kconf_pair_open(0, NULL, NULL))
		return;
	KCONF_EXPECT(!kconf_post_recv(end, 1, 0, 0));
	KCONF_EXPECT(!kconf_post_recv(peer, 2, 0, 0));
	kal_qp_disconnect(end->qp, false);
	kconf_both_closed(end, peer);
	KCONF_EXPECT(!end->end.status[KAL_EP_CLOSED]);
	KCONF_EXPECT(!peer->end.status[KAL_EP_CLOSED]);
	KCONF_EXPECT(kconf_received(end, 1, NULL) == IB_WC_WR_FLUSH_ERR);
	KCONF_EXPECT(kconf_received(peer, 2, NULL) == IB_WC_WR_FLUSH_ERR);
}

static void kconf_graceful_client(void)
{
	kconf_graceful(client, server);
}

static void kconf_graceful_server(void)
{
	kconf_graceful(server, client);
}

/* iWARP: what was posted before a graceful end arrives. Others may flush it. */
static void kconf_graceful_send(void)
{
	const struct kconf_req send = { .op = IB_WR_SEND, .id = 1 };
	const bool iwarp = kconf.rnic->attr.transport == RI_TRANSPORT_IWARP;
	int sent, received;

	if (!kconf_pair_open(0, NULL, NULL))
		return;
	KCONF_EXPECT(!kconf_post_recv(server, 2, 0, 0));
	KCONF_EXPECT(!kconf_post(client, &send));
	kal_qp_disconnect(client->qp, false);
	kconf_both_closed(client, server);
	sent = kconf_done(client, 1, NULL);
	received = kconf_received(server, 2, NULL);
	KCONF_EXPECT(!sent || (!iwarp && sent == IB_WC_WR_FLUSH_ERR));
	KCONF_EXPECT(!received || (!iwarp && received == IB_WC_WR_FLUSH_ERR));
}

static void kconf_graceful_both(void)
{
	if (!kconf_pair_open(0, NULL, NULL))
		return;
	kal_qp_disconnect(client->qp, false);
	kal_qp_disconnect(server->qp, false);
	kconf_both_closed(client, server);
}

/* The peer need not learn that the end was abrupt: not every transport has two words for it. */
static void kconf_abrupt(void)
{
	if (!kconf_pair_open(0, NULL, NULL))
		return;
	kal_qp_disconnect(client->qp, true);
	/* on return */
	KCONF_EXPECT(client->end.count[KAL_EP_CLOSED] == 1);
	KCONF_EXPECT(client->end.status[KAL_EP_CLOSED] < 0);
	kconf_both_closed(client, server);
}

/* Modify to ERR is an abrupt end, too. */
static void kconf_modify_ends(void)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (!kconf_pair_open(0, NULL, NULL))
		return;
	KCONF_EXPECT(!kal_qp_modify(server->qp, &attr, IB_QP_STATE));
	KCONF_EXPECT(server->end.count[KAL_EP_CLOSED] == 1);
	kconf_both_closed(server, client);
}

static void kconf_destroy_qp_connected(void)
{
	if (!kconf_pair_open(0, NULL, NULL))
		return;
	KCONF_EXPECT(!kal_qp_destroy(client->qp));
	client->qp = NULL;
	KCONF_EXPECT(client->end.count[KAL_EP_CLOSED] == 1);
	KCONF_EXPECT(kconf_end_hears(&server->end, KAL_EP_CLOSED));
	KCONF_EXPECT(kconf_broken(server));
}

/* Many one after another, without a pause. */
static void kconf_many(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		if (!kconf_pair_open(0, NULL, NULL))
			return;
		if (i % 2)
			kal_qp_disconnect(client->qp, i % 4 == 1);
		kconf_bed_close();
		kconf_bed_init();
	}
}

const struct kconf_check kconf_conn_checks[] = {
	{ "connect and accept", kconf_connect_accept },
	{ "addresses", kconf_addresses },
	{ "most private data", kconf_most_data },
	{ "too much private data", kconf_too_much_data },
	{ "nobody listens", kconf_nobody_listens },
	{ "reject with data", kconf_reject },
	{ "calls without a meaning", kconf_bad_calls },
	{ "destroyed idle", kconf_destroy_idle },
	{ "destroyed listening", kconf_destroy_listening },
	{ "destroyed connecting", kconf_destroy_connecting },
	{ "QP destroyed connecting", kconf_destroy_qp_connecting },
	{ "destroyed undecided", kconf_destroy_request },
	{ "listener of a request destroyed", kconf_destroy_listener_request },
	{ "destroyed accepting", kconf_destroy_accepting },
	{ "destroyed connected", kconf_destroy_connected },
	{ "graceful end by the client", kconf_graceful_client },
	{ "graceful end by the server", kconf_graceful_server },
	{ "graceful end by both", kconf_graceful_both },
	{ "Send before a graceful end", kconf_graceful_send },
	{ "abrupt end", kconf_abrupt },
	{ "ended by modify", kconf_modify_ends },
	{ "QP destroyed connected", kconf_destroy_qp_connected },
	{ "many connections", kconf_many },
	{}
};
