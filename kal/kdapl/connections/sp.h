/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Service points, sp.c, for the answers to their requests, cr.c. */
#ifndef KDAT_SP_H
#define KDAT_SP_H

#include "connections.h"

/*
 * Make a connection request and put its event. The consumer may answer it before the return. The
 * RNIC is held. *@unneeded: takes an EP that was made and is not needed.
 * Return: 0: the request owns from->child; -ENOMEM; -ECONNREFUSED: no more requests; -ENOBUFS: no
 * room in the EVD.
 */
int kdat_sp_deliver(struct kdat_sp *sp, const struct kal_ep_event *from, bool handler,
		    struct kdat_ep **unneeded);
/* No more requests; may sleep. */
void kdat_sp_end_listener(struct kdat_sp *sp);
/* The request of a tentative EP has ended. kdat_ia.mutex held. */
void kdat_sp_release_ep(struct kdat_ep *ep);
/* The service point of the IA at @port of @local, with one of its calls; or NULL. */
struct kdat_sp *kdat_sp_find(struct kdat_ia *ia, const struct sockaddr_storage *local, __be16 port);

#endif /* KDAT_SP_H */
