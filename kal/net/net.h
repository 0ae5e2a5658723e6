/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The network stack interface for the other folders of the kAL, in addition to
 * krdma/netstack.h. internal.h is for the files of the interface itself.
 */
#ifndef KAL_NET_H
#define KAL_NET_H

#include <linux/uidgid_types.h>

#include <krdma/netstack.h>

/** enum kal_share - kinds of objects that are limited for each user of /dev/krdma */
enum kal_share {
	KAL_SHARE_NEIGH,	/* watched neighbours */
	KAL_SHARE_SUB,		/* subscriptions */
	KAL_SHARE_PORT,		/* reserved ports */
	KAL_SHARES,
};

/**
 * struct kal_net_user - the user whose share is used
 * @uid: user
 * @admin: has CAP_NET_ADMIN, so the user's limit does not apply
 */
struct kal_net_user {
	kuid_t uid;
	bool admin;
};

/* netstack.c */
int kal_netstack_init(void);
void kal_netstack_exit(void);

/* addr.c: a pure function */
int kal_sockaddr_len(const struct sockaddr_storage *addr);

/* sock.c */
int kal_net_sock_create(struct net *net, int family, int vrf, struct socket **sock);

/* share.c */
struct kal_net_user kal_net_user(void);
int kal_net_share_get(struct net *net, enum kal_share which, const struct kal_net_user *user);
void kal_net_share_put(struct net *net, enum kal_share which, const struct kal_net_user *user);

enum kal_share_full {
	KAL_SHARE_ROOM,
	KAL_SHARE_FULL_USER,
	KAL_SHARE_FULL_NET,
};

enum kal_share_full kal_net_share_full(struct net *net, enum kal_share which,
				       const struct kal_net_user *user, u32 *limit);

/* rnic.c */
bool kal_net_vlan_pair(const struct net_device *a, const struct net_device *b);

#endif /* KAL_NET_H */
