/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What sockets use of the registered transports, see ot.c. */
#ifndef SDP_OT_DEVICES_H
#define SDP_OT_DEVICES_H

#include "ot.h"

struct sdp_ot_device *sdp_ot_route(struct net *net, const struct sockaddr_storage *remote,
				   struct sockaddr_storage *local, int bound_ifindex,
				   struct sockaddr_storage *next_hop);

struct sdp_ot_user {
	void (*request)(struct sdp_ot_device *device, struct sdp_ot_conn_request *request,
			const u8 *data, u32 length, const struct sockaddr_storage *local,
			const struct sockaddr_storage *remote);
};

extern ushort sdp_ot_rendezvous_port;

int sdp_ot_init(const struct sdp_ot_user *user);
void sdp_ot_exit(void);
int sdp_ot_kdapl_init(void);
void sdp_ot_kdapl_exit(void);
void sdp_ot_kdapl_free(void);

#endif /* SDP_OT_DEVICES_H */
