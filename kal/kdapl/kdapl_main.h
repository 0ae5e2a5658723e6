/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* kDAPL for the start and the end of the kAL. */
#ifndef KDAT_KDAPL_MAIN_H
#define KDAT_KDAPL_MAIN_H

int kdat_init(void);
void kdat_exit(void);

#endif /* KDAT_KDAPL_MAIN_H */
