/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The DAT registry for the rest of kDAPL. */
#ifndef KDAT_REGISTRY_H
#define KDAT_REGISTRY_H

#include <krdma/kdat.h>

struct net;

/**
 * kdat_registry_withdraw() - remove all names of a provider whose IAs may be open
 * @provider: table
 *
 * No name is found from the start of the call on. The call returns when no ia_open_func() of the
 * table runs any more. IAs that are open stay so, and dat_ia_close() goes on to work: the table has
 * to live until they are closed.
 *
 * Context: may sleep. The caller holds no lock that ia_open_func() takes.
 */
void kdat_registry_withdraw(const DAT_PROVIDER *provider);

/*
 * The name of the IA that leads to an address, DAT_NAME_MAX_LENGTH bytes. Return: DAT_SUCCESS,
 * DAT_INVALID_ADDRESS (there is no route), or DAT_PROVIDER_NOT_FOUND. May sleep.
 */
DAT_RETURN kdat_provider_find(struct net *net, const struct sockaddr_storage *remote, char *name);

/*
 * ia_open_func() of kDAPL's own tables, which have an extension, for a namespace that the caller
 * keeps.
 */
DAT_RETURN kdat_provider_open_net(const char *name, struct net *net, DAT_COUNT qlen,
				  DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia);

#endif /* KDAT_REGISTRY_H */
