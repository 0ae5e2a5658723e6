/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The module's interface to the kAL: the verbs, the user context, creation of RNICs.
 */
#ifndef SOFT_DEVICE_H
#define SOFT_DEVICE_H

#include <krdma/rnicpi.h>
#include "base/rnic.h"
#include "tx/pace.h"

/**
 * struct soft_ucontext - a user's opened RNIC
 * @ri: the kAL's interface object
 * @gather: the QPs of this context whose posters gather work requests
 */
struct soft_ucontext {
	struct ri_ucontext ri;
	struct soft_gather gather;
};

static inline struct soft_ucontext *to_soft_ucontext(struct ri_ucontext *ri)
{
	return container_of(ri, struct soft_ucontext, ri);
}

extern const struct ri_ops soft_ops;

int soft_device_create(const char *name, struct net_device *ndev);
void soft_device_destroy(struct ri_rnic *ri);

#endif /* SOFT_DEVICE_H */
