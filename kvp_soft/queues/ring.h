/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel's side of the rings that are shared with user space (krdma/soft-abi.h).
 *
 * User space may change everything in a ring at any time; only the kernel's own indices are
 * safe. So the kernel loads an index once and checks it, and copies an entry once.
 */
#ifndef SOFT_RING_H
#define SOFT_RING_H

#include <linux/types.h>
#include <krdma/rnicpi.h>
#include <krdma/soft-abi.h>

/**
 * struct soft_ring - a send or (shared) receive ring
 * @shm: its memory; NULL for a ring of depth 0, or for a ring behind another
 * @head: indices and flags
 * @entries: first entry
 * @depth: entries, power of two, or 0
 * @stride: bytes from entry to entry
 * @fetched: next entry that the kernel takes
 * @posted: next entry that a kernel consumer fills; unused for a user's ring
 *
 * The owner's lock protects @fetched, its post lock @posted.
 */
struct soft_ring {
	struct ri_shmem *shm;
	struct krdma_soft_ring *head;
	u8 *entries;
	u32 depth;
	u32 stride;
	u32 fetched;
	u32 posted;
};

size_t soft_ring_size(u32 depth, u32 stride);
int soft_ring_init(struct soft_ring *ring, struct ri_ucontext *uctx, u32 depth,
		   u32 stride, size_t room);
void soft_ring_init_behind(struct soft_ring *ring, const struct soft_ring *first,
			   u32 depth, u32 stride);
void soft_ring_free(struct soft_ring *ring);

static inline void *soft_ring_entry(const struct soft_ring *ring, u32 index)
{
	return ring->entries + (size_t)(index & (ring->depth - 1)) * ring->stride;
}

/* Entries posted and not fetched; -EINVAL when the producer's index is invalid. */
static inline int soft_ring_pending(const struct soft_ring *ring)
{
	u32 n;

	if (!ring->depth)
		return 0;
	/* pairs with the poster's release of the entries */
	n = smp_load_acquire(&ring->head->prod) - ring->fetched;
	return n <= ring->depth ? (int)n : -EINVAL;
}

/* Show the producer that entries up to @cons are free again. */
static inline void soft_ring_release(struct soft_ring *ring, u32 cons)
{
	/* pairs with the poster's acquire: the kernel is done with the entries */
	smp_store_release(&ring->head->cons, cons);
}

/*
 * Ask for a doorbell with the next entry. The caller has to check the ring again afterwards: a
 * poster does not ring for an entry that it posted before the flag was visible.
 */
static inline void soft_ring_want_doorbell(struct soft_ring *ring)
{
	if (!ring->depth)
		return;
	/* release: a poster that sees the flag also sees what the caller wrote before */
	smp_store_release(&ring->head->flags, KRDMA_SOFT_RING_DOORBELL);
	smp_mb(); /* set the flag before reading the index: pairs with the poster's barrier */
}

/* Ask for a doorbell, but the poster may gather up to @most entries first. */
static inline void soft_ring_want_soon(struct soft_ring *ring, u32 most)
{
	if (!ring->depth)
		return;
	WRITE_ONCE(ring->head->due, ring->fetched + most);
	/* release: a poster that sees the flag also sees due */
	smp_store_release(&ring->head->flags, KRDMA_SOFT_RING_SOON);
	smp_mb(); /* as in soft_ring_want_doorbell() */
}

static inline void soft_ring_no_doorbell(struct soft_ring *ring)
{
	if (ring->depth && READ_ONCE(ring->head->flags))
		WRITE_ONCE(ring->head->flags, 0);
}

/* Slot for a kernel consumer's next work request, or NULL when the ring is full. */
static inline void *soft_ring_slot(struct soft_ring *ring)
{
	if (!ring->depth ||
	    ring->posted - READ_ONCE(ring->head->cons) >= ring->depth)
		return NULL;
	return soft_ring_entry(ring, ring->posted);
}

static inline void soft_ring_publish(struct soft_ring *ring)
{
	/* pairs with soft_ring_pending() */
	smp_store_release(&ring->head->prod, ring->posted);
}

#endif /* SOFT_RING_H */
