/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The netlink family of the kAL; main.c calls these. */
#ifndef KAL_NETLINK_H
#define KAL_NETLINK_H

int kal_netlink_init(void);
void kal_netlink_exit(void);

#endif /* KAL_NETLINK_H */
