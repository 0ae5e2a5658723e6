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
 * table runs any more. Open IAs stay open, and dat_ia_close() continues to work: the table has to
 * live until they are closed.
 *
 * Context: may sleep. The caller holds no lock that ia_open_func() takes.
 */
void kdat_registry_withdraw(const DAT_PROVIDER *provider);

/* ia_open_func() for a namespace that the caller keeps */
typedef DAT_RETURN (*kdat_registry_open_net)(const char *name, struct net *net, DAT_COUNT qlen,
					     DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia);

/* That of kDAPL's own tables, which have an extension. When the module starts. */
void kdat_registry_set_open_net(kdat_registry_open_net open_net);

#endif /* KDAT_REGISTRY_H */
