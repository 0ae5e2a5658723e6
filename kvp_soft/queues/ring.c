// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Allocation of the send and receive rings that are shared with user space.
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

/* Bytes that a ring needs, whole cache lines; 0 for an empty ring. */
size_t soft_ring_size(u32 depth, u32 stride)
{
	if (!depth)
		return 0;
	return ALIGN(KRDMA_SOFT_RING_ENTRIES +
			     array_size(roundup_pow_of_two(depth), stride),
		     KRDMA_SOFT_RING_ENTRIES);
}

static void soft_ring_place(struct soft_ring *ring, void *addr, u32 depth,
			    u32 stride)
{
	ring->head = addr;
	ring->entries = addr + KRDMA_SOFT_RING_ENTRIES;
	ring->depth = roundup_pow_of_two(depth);
	ring->stride = stride;
}

/**
 * soft_ring_init() - make a ring
 * @ring: to fill in
 * @uctx: user context, NULL for a kernel consumer
 * @depth: entries wanted, rounded up to a power of two; 0 makes an empty ring
 * @stride: bytes of an entry
 * @room: bytes to reserve behind the ring, for another ring
 * Context: may sleep.
 * Return: 0 or the errno of ri_shmem_alloc().
 */
int soft_ring_init(struct soft_ring *ring, struct ri_ucontext *uctx, u32 depth,
		   u32 stride, size_t room)
{
	struct ri_shmem *shm;

	memset(ring, 0, sizeof(*ring));
	if (!depth)
		return 0;
	shm = ri_shmem_alloc(uctx, size_add(soft_ring_size(depth, stride), room));
	if (IS_ERR(shm))
		return PTR_ERR(shm);
	ring->shm = shm;
	soft_ring_place(ring, shm->addr, depth, stride);
	return 0;
}

/**
 * soft_ring_init_behind() - make a ring in the room behind another ring
 * @ring: to fill in
 * @first: the other ring, not empty; it outlives @ring
 * @depth: as for soft_ring_init(), but not 0
 * @stride: bytes of an entry
 */
void soft_ring_init_behind(struct soft_ring *ring, const struct soft_ring *first,
			   u32 depth, u32 stride)
{
	memset(ring, 0, sizeof(*ring));
	soft_ring_place(ring,
			first->shm->addr + soft_ring_size(first->depth, first->stride),
			depth, stride);
}

/** soft_ring_free() - free a ring of either kind; a user that still looks at it sees that */
void soft_ring_free(struct soft_ring *ring)
{
	if (!ring->depth)
		return;
	WRITE_ONCE(ring->head->flags, KRDMA_SOFT_RING_DEAD);
	ri_shmem_free(ring->shm);
	ring->shm = NULL;
	ring->depth = 0;
}
