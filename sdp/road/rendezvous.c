// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The passive end: each RNIC of a namespace in which a marked socket listens has one listener of
 * the transport, at a port that only the administrator can listen at. A peer's Hello names a TCP
 * connection: without the name of one that is established and marked here, it is refused, and
 * nothing is kept of it.
 *
 * A connection whose program has not accepted it yet would have its buffers charged to nobody: the
 * peer is asked to try later.
 *
 * The upcall of a request may sleep, so all of this happens in it.
 */
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/sock.h>

#include <krdma/netstack.h>

#include "road.h"

static void sdp_rendezvous_refuse(struct sdp_ot_device *device,
				  struct sdp_ot_conn_request *request, enum sdp_refusal reason)
{
	static const u8 counters[] = {
		[SDP_REFUSED_UNKNOWN] = SDP_COUNT_UNKNOWN,
		[SDP_REFUSED_LATER] = SDP_COUNT_LATER,
		[SDP_REFUSED_VERSION] = SDP_COUNT_BAD_HELLO,
		[SDP_REFUSED_MALFORMED] = SDP_COUNT_BAD_HELLO,
		[SDP_REFUSED_RESOURCES] = SDP_COUNT_NO_MEMORY,
	};
	u8 octets[SDP_REFUSAL_LEN];

	sdp_wire_put_refusal(reason, octets);
	sdp_count(counters[reason]);
	device->ot->ops->reject(request, octets, sizeof(octets));
}

static bool sdp_rendezvous_same_ip(const u8 ip[16], const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *in6 = (const void *)address;
	const struct sockaddr_in *in4 = (const void *)address;

	return address->ss_family == AF_INET ? !memcmp(ip + 12, &in4->sin_addr, 4) :
					       !memcmp(ip, &in6->sin6_addr, 16);
}

/*
 * The ends of the TCP connection: the transport's addresses with the Hello's ports. A full Hello
 * has addresses, too, which have to be the same. Return: whether they are.
 */
static bool sdp_rendezvous_ends(const struct sdp_hello *hello, struct sockaddr_storage *local,
				struct sockaddr_storage *remote)
{
	kal_addr_set_port(local, htons(hello->dst_port));
	kal_addr_set_port(remote, htons(hello->local_port));
	if (hello->ipv != (local->ss_family == AF_INET ? 4 : 6))
		return false;
	return hello->compact || (sdp_rendezvous_same_ip(hello->dst, local) &&
				  sdp_rendezvous_same_ip(hello->src, remote));
}

static enum sdp_refusal sdp_rendezvous_reason(const struct offload_conn *conn)
{
	switch (PTR_ERR(conn)) {
	case -EAGAIN:
		return SDP_REFUSED_LATER;
	case -ENOMEM:
		return SDP_REFUSED_RESOURCES;
	default:
		return SDP_REFUSED_UNKNOWN;
	}
}

/* The connection and the request are the caller's no more. */
static void sdp_rendezvous_answer(struct offload_conn *conn, struct sdp_ot_device *device,
				  struct sdp_ot_conn_request *request,
				  const struct sdp_msg *hello)
{
	struct sdp_sock *ssk;
	struct sdp_link *link;
	int rc;

	ssk = sdp_sock_new(conn);
	/* that a connection was closed meanwhile, krdma_ops knows */
	if (!ssk) {
		sdp_rendezvous_refuse(device, request, SDP_REFUSED_RESOURCES);
		offload_road_failed(conn, -ENOMEM);
		return;
	}
	device->ot->ops->device_get(device);
	link = sdp_link_create(ssk, conn, device);
	rc = IS_ERR(link) ? PTR_ERR(link) : sdp_link_accept(link, request, hello);
	if (rc) {
		/* the peer has gone, or it may ask again */
		sdp_rendezvous_refuse(device, request, rc == -ECANCELED ? SDP_REFUSED_UNKNOWN :
									   SDP_REFUSED_RESOURCES);
		sdp_sock_give_up(ssk, rc);
	}
	sdp_sock_put(ssk);
}

static void sdp_rendezvous_request(struct sdp_ot_device *device,
				   struct sdp_ot_conn_request *request, const u8 *data, u32 length,
				   const struct sockaddr_storage *transport_local,
				   const struct sockaddr_storage *transport_remote)
{
	struct sockaddr_storage local = *transport_local, remote = *transport_remote;
	struct offload_conn *conn;
	enum sdp_fault fault;
	struct sdp_msg hello;

	fault = sdp_wire_decode(data, length, SDP_IN_REQUEST, &hello);
	if (fault) {
		sdp_count_fault(fault);
		sdp_rendezvous_refuse(device, request, sdp_wire_fault_refusal(fault));
		return;
	}
	if (!sdp_rendezvous_ends(&hello.hello, &local, &remote)) {
		sdp_rendezvous_refuse(device, request, SDP_REFUSED_MALFORMED);
		return;
	}
	conn = offload_conn_find(device->net, &local, &remote, hello.hello.name, &sdp_road);
	if (IS_ERR(conn)) {
		sdp_rendezvous_refuse(device, request, sdp_rendezvous_reason(conn));
		return;
	}
	sdp_rendezvous_answer(conn, device, request, &hello);
	/* the road has another one until its close() */
	offload_conn_put(conn);
}

/* Which namespaces ************************************************************************* */

/* a program that begins to listen again soon, and connections whose listener was closed */
#define SDP_RENDEZVOUS_LINGER	(5 * HZ)

/**
 * struct sdp_rendezvous_net - a namespace
 * @net: namespace
 * @listeners: marked sockets that listen there
 * @until: jiffies, as long as it is served after the last one of them
 * @served: its devices listen, or are tried again; @work, which runs one at a time
 * @wanted: meanwhile
 * @work: lets them begin or end
 */
struct sdp_rendezvous_net {
	struct net *net;
	atomic_t listeners;
	unsigned long until;
	bool served;
	struct sdp_ot_net wanted;
	struct delayed_work work;
};

static unsigned int sdp_rendezvous_id __read_mostly;

static void sdp_rendezvous_work(struct work_struct *work)
{
	struct sdp_rendezvous_net *rn = container_of(to_delayed_work(work),
						     struct sdp_rendezvous_net, work);
	bool wanted = atomic_read(&rn->listeners) > 0;
	long left;

	if (!wanted) {
		/* pairs with sdp_rendezvous_listens() */
		smp_rmb();
		left = READ_ONCE(rn->until) - jiffies;
		wanted = left > 0;
		/* also one that listened for a moment only has connections */
		if (wanted)
			queue_delayed_work(sdp_queue, &rn->work, left);
	}
	if (wanted == rn->served)
		return;
	if (wanted)
		sdp_ot_listen_get(&rn->wanted, rn->net);
	else
		sdp_ot_listen_put(&rn->wanted);
	rn->served = wanted;
}

/**
 * sdp_rendezvous_listens() - a marked socket begins to listen, or does not any more
 * @net: namespace; the socket keeps it
 * @on: it begins
 *
 * A listener of the transport keeps its namespace from ending: so devices do not listen for ever.
 * Context: any but hard interrupt.
 */
void sdp_rendezvous_listens(struct net *net, bool on)
{
	struct sdp_rendezvous_net *rn = net_generic(net, sdp_rendezvous_id);

	if (on) {
		atomic_inc(&rn->listeners);
		mod_delayed_work(sdp_queue, &rn->work, 0);
		return;
	}
	WRITE_ONCE(rn->until, jiffies + SDP_RENDEZVOUS_LINGER);
	/* pairs with sdp_rendezvous_work() */
	smp_wmb();
	atomic_dec(&rn->listeners);
	queue_delayed_work(sdp_queue, &rn->work, SDP_RENDEZVOUS_LINGER);
}

static int __net_init sdp_rendezvous_net_init(struct net *net)
{
	struct sdp_rendezvous_net *rn = net_generic(net, sdp_rendezvous_id);

	rn->net = net;
	rn->until = jiffies;
	INIT_DELAYED_WORK(&rn->work, sdp_rendezvous_work);
	return 0;
}

static void __net_exit sdp_rendezvous_net_exit(struct net *net)
{
	struct sdp_rendezvous_net *rn = net_generic(net, sdp_rendezvous_id);

	cancel_delayed_work_sync(&rn->work);
	if (rn->served)
		sdp_ot_listen_put(&rn->wanted);
}

static struct pernet_operations sdp_rendezvous_net_ops = {
	.init = sdp_rendezvous_net_init,
	.exit = sdp_rendezvous_net_exit,
	.id = &sdp_rendezvous_id,
	.size = sizeof(struct sdp_rendezvous_net),
};

/** sdp_rendezvous_init() - begin; 0 or a negative errno; may sleep */
int sdp_rendezvous_init(void)
{
	return register_pernet_subsys(&sdp_rendezvous_net_ops);
}

/** sdp_rendezvous_exit() - no device listens afterwards; may sleep */
void sdp_rendezvous_exit(void)
{
	unregister_pernet_subsys(&sdp_rendezvous_net_ops);
}

const struct sdp_ot_user sdp_rendezvous_user = {
	.request = sdp_rendezvous_request,
	.on_demand = true,
};
