// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Allocation of the rings that are shared with user space.
 */
#include <linux/log2.h>
#include <linux/overflow.h>

#include "ring.h"

static_assert(sizeof(struct krdma_soft_ring) == 128);
static_assert(sizeof(struct krdma_soft_sge) == 16);
static_assert(sizeof(struct krdma_soft_sqe) == 64);
static_assert(sizeof(struct krdma_soft_rqe) == 16);
static_assert(sizeof(struct krdma_soft_cqe) == 32);
static_assert(sizeof(struct krdma_soft_cq_ring) == 128);

/**
 * soft_ring_init() - make a ring
 * @ring: to fill in
 * @uctx: whose it is, NULL for a kernel consumer
 * @depth: entries wanted, rounded up to a power of two; 0 makes an empty ring
 * @stride: octets of an entry
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int soft_ring_init(struct soft_ring *ring, struct ri_ucontext *uctx, u32 depth,
		   u32 stride)
{
	memset(ring, 0, sizeof(*ring));
	if (!depth)
		return 0;
	depth = roundup_pow_of_two(depth);
	ring->shm = ri_shmem_alloc(uctx, KRDMA_SOFT_RING_ENTRIES +
					 array_size(depth, stride));
	if (IS_ERR(ring->shm)) {
		int ret = PTR_ERR(ring->shm);

		ring->shm = NULL;
		return ret;
	}
	ring->head = ring->shm->addr;
	ring->entries = ring->shm->addr + KRDMA_SOFT_RING_ENTRIES;
	ring->depth = depth;
	ring->stride = stride;
	return 0;
}

/** soft_ring_free() - undo soft_ring_init(); tells a user that still looks */
void soft_ring_free(struct soft_ring *ring)
{
	if (!ring->shm)
		return;
	WRITE_ONCE(ring->head->flags, KRDMA_SOFT_RING_DEAD);
	ri_shmem_free(ring->shm);
	ring->shm = NULL;
	ring->depth = 0;
}
