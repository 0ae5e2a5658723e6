// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The active end: krdma_ops asks whether SDP reaches the peer of a TCP connection, and lets it open
 * a road beside the connection. Nobody waits for it: TCP carries the data meanwhile.
 *
 * The Hello has the TCP connection's addresses and its name, which only its ends can know. A peer
 * that knows the connection but cannot take it yet says: later; then a work item tries again, after
 * a time that doubles, until connect_timeout_s has passed.
 */
#include <linux/if.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <krdma/netstack.h>

#include "road.h"

/* room for the addresses of a route */
struct sdp_open_route {
	struct offload_route route;
	struct sockaddr_storage source;
	struct sockaddr_storage destination;
	struct sockaddr_storage first_hop;
};

/* The device that a connection has to use; 0: the peer is on this host, its route is asked */
static int sdp_open_ifindex(const struct offload_route *route)
{
	if (route->bound_if)
		return route->bound_if;
	return route->ifindex == LOOPBACK_IFINDEX ? 0 : route->ifindex;
}

/* Return: the counted device of a route, or an ERR_PTR. May sleep. */
static struct sdp_ot_device *sdp_open_device(const struct offload_route *route,
					     struct sockaddr_storage *local,
					     struct sockaddr_storage *hop)
{
	*local = *route->source;
	return sdp_ot_route(route->net, route->destination, local, sdp_open_ifindex(route), hop);
}

/**
 * sdp_open_offers() - would SDP be faster than TCP?
 * @route: route of a connection
 *
 * Only on an RNIC that is hardware: on a software one SDP takes the same wire, and more
 * instructions.
 *
 * Return: 1: yes; 0: no, but it reaches the peer; or a negative errno. Context: may sleep.
 */
int sdp_open_offers(const struct offload_route *route)
{
	struct sockaddr_storage local, hop;
	struct sdp_ot_device *device = sdp_open_device(route, &local, &hop);
	bool hardware;

	if (IS_ERR(device))
		return PTR_ERR(device);
	hardware = !(device->caps & SDP_OT_CAP_SOFTWARE);
	device->ot->ops->device_put(device);
	return hardware;
}

/* One attempt of a socket without a link. Return: 0 or a negative errno. May sleep. */
static int sdp_open_attempt(struct sdp_sock *ssk, struct offload_conn *conn)
{
	struct sdp_open_route r = {
		.route = {
			.source = &r.source,
			.destination = &r.destination,
			.first_hop = &r.first_hop,
		},
	};
	struct sockaddr_storage local, hop = {};
	struct sdp_ot_device *device;
	struct sdp_link *link;
	int rc;

	rc = offload_conn_route(conn, &r.route);
	if (rc)
		return rc;
	device = sdp_open_device(&r.route, &local, &hop);
	if (IS_ERR(device))
		return PTR_ERR(device) == -ENODEV ? -ENETUNREACH : PTR_ERR(device);
	if (r.first_hop.ss_family)
		hop = r.first_hop;
	link = sdp_link_create(ssk, conn, device);
	if (IS_ERR(link)) {
		sdp_count(SDP_COUNT_NO_MEMORY);
		return PTR_ERR(link);
	}
	/* the transport's ports are its own: the Hello has those of the TCP connection */
	kal_addr_set_port(&local, 0);
	kal_addr_set_port(&r.destination, htons(sdp_ot_port));
	return sdp_link_connect(link, conn, &local, &r.destination, &hop,
				READ_ONCE(sdp_connect_timeout_s) * MSEC_PER_SEC);
}

/**
 * sdp_open() - begin to open a road
 * @conn: TCP connection, established
 *
 * Return: 0: krdma_ops learns of the end; or a negative errno. Context: may sleep.
 */
int sdp_open(struct offload_conn *conn)
{
	struct sdp_sock *ssk = sdp_sock_new(conn);
	int rc;

	if (!ssk)
		return -ENOMEM;
	sdp_count(SDP_COUNT_OPENS);
	ssk->deadline = jiffies + READ_ONCE(sdp_connect_timeout_s) * HZ;
	rc = sdp_open_attempt(ssk, conn);
	if (rc)
		sdp_sock_give_up(ssk, rc);
	sdp_sock_put(ssk);
	return 0;
}

/**
 * sdp_open_retry() - the peer has said: later
 * @work: of a socket; it has a reference
 *
 * Context: work item.
 */
void sdp_open_retry(struct work_struct *work)
{
	struct sdp_sock *ssk = container_of(to_delayed_work(work), struct sdp_sock, retry);
	struct offload_conn *conn = NULL;
	struct sdp_link *dead = NULL;
	int rc;

	sdp_lock(ssk);
	if (ssk->phase == SDP_OPENING && !ssk->link->ended) {
		ssk->wake |= SDP_WAKE_RETRY;
	} else if (ssk->phase == SDP_OPENING) {
		ssk->tries++;
		conn = ssk->conn;
		offload_conn_get(conn);
		dead = ssk->link;
		ssk->link = NULL;
		ssk->shutdown = 0;
	}
	sdp_unlock(ssk);
	if (dead) {
		sdp_link_free(dead);
		rc = sdp_open_attempt(ssk, conn);
		if (rc)
			sdp_sock_give_up(ssk, rc);
		offload_conn_put(conn);
	}
	sdp_sock_put(ssk);
}
