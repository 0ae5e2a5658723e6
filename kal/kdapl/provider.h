/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * RNICs as providers of the DAT registry, and their interface adapters. These files stand above all
 * folders.
 */
#ifndef KDAT_PROVIDER_H
#define KDAT_PROVIDER_H

#include "base/base.h"

/* RNICs become providers. Return: 0 or an errno. */
int kdat_provider_init(void);
/* No RNIC is one any more. */
void kdat_provider_exit(void);
void kdat_provider_put(struct kdat_rnic *kr);

DAT_RETURN kdat_ia_open(struct kdat_rnic *kr, const DAT_PROVIDER *provider, struct net *net,
			DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *handle);
/* The removal of the RNIC begins: report it, once. Any context but hard interrupt. */
void kdat_ia_leave(struct kdat_ia *ia);
void kdat_ia_drop(struct kdat_ia *ia);
/*
 * Set the address of the RNIC that the IA shows: the first IPv4 address of its network device in
 * the IA's namespace, else a global IPv6 address; AF_UNSPEC: none. The RNIC is held. May sleep.
 */
void kdat_ia_refresh_address(struct kdat_ia *ia);
void kdat_ia_table(DAT_PROVIDER *provider);

#endif /* KDAT_PROVIDER_H */
