/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The providers of the DAT registry, for the start and the end of the module. */
#ifndef KDAT_PROVIDER_H
#define KDAT_PROVIDER_H

/* RNICs become providers. Return: 0 or an errno. */
int kdat_provider_init(void);
/* No RNIC is one any more. */
void kdat_provider_exit(void);

#endif /* KDAT_PROVIDER_H */
