/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Devices of all transports, as the socket layer uses them; see ot.h for the transports themselves.
 *
 * Order of a module: sdp_ot_init(), then transports register. At the end transports unregister, the
 * sockets go, then sdp_ot_exit() and sdp_ot_kdapl_free().
 */
#ifndef SDP_OT_DEVICES_H
#define SDP_OT_DEVICES_H

#include "ot.h"

/**
 * struct sdp_ot_user - receiver of connection requests
 * @request: connection upcall of each device's listener: as that of struct sdp_ot_listen_attr.
 *	Requests of several devices may come at a time
 * @on_demand: devices listen only in namespaces of sdp_ot_listen_get(). A listener of a transport
 *	may keep its namespace from ending, as those of the kAL do
 */
struct sdp_ot_user {
	void (*request)(struct sdp_ot_device *device, struct sdp_ot_conn_request *request,
			const u8 *data, u32 length, const struct sockaddr_storage *local,
			const struct sockaddr_storage *remote);
	bool on_demand;
};

/* port of the transport at which devices listen; a parameter of the module */
extern ushort sdp_ot_port;

int sdp_ot_init(const struct sdp_ot_user *user);
void sdp_ot_exit(void);

/**
 * struct sdp_ot_net - a namespace in which devices listen on demand; its caller's
 * @list: SDP's transports'
 * @net: namespace
 */
struct sdp_ot_net {
	struct list_head list;
	const struct net *net;
};

void sdp_ot_listen_get(struct sdp_ot_net *wanted, const struct net *net);
void sdp_ot_listen_put(struct sdp_ot_net *wanted);
void sdp_ot_listeners(u32 *listening, u32 *pending);

struct sdp_ot_device *sdp_ot_route(struct net *net, const struct sockaddr_storage *remote,
				   struct sockaddr_storage *local, int bound_ifindex,
				   struct sockaddr_storage *next_hop);

int sdp_ot_kdapl_init(void);
void sdp_ot_kdapl_exit(void);
void sdp_ot_kdapl_free(void);

#endif /* SDP_OT_DEVICES_H */
