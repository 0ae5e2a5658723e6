/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A ring of bytes for one writer and one reader, see ring.c. It knows nothing of sockets.
 */
#ifndef OPS_RING_H
#define OPS_RING_H

#include <linux/cache.h>
#include <linux/types.h>
#include <linux/uio.h>

struct mem_cgroup;
struct net;

/* a write of up to so many bytes is not cut in two by a limit, so that records stay whole */
#define OPS_RING_WHOLE	16384

/**
 * struct ops_chunk - a piece of memory, at its own beginning
 * @next: the chunk behind it
 * @size: bytes of @data
 * @order: of its pages
 * @data: bytes
 */
struct ops_chunk {
	struct ops_chunk *next;
	u32 size;
	u32 order;
	u8 data[] __aligned(64);
};

/**
 * struct ops_ring - bytes on their way
 * @head: bytes written, modulo 2^32; the writer's
 * @first: oldest chunk; those before @read are free. The writer's
 * @write: chunk that is written. The writer's
 * @write_off: bytes in it
 * @pages: bytes of memory in all chunks
 * @net: namespace that they are charged to, with a reference; NULL: none yet
 * @tail: bytes read, modulo 2^32; the reader's
 * @read: chunk that is read; the reader's while there are unread bytes, else the writer's
 * @read_off: bytes of it that were read; likewise
 */
struct ops_ring {
	u32 head;
	struct ops_chunk *first;
	struct ops_chunk *write;
	u32 write_off;
	u32 pages;
	struct net *net;

	u32 tail ____cacheline_aligned_in_smp;
	struct ops_chunk *read;
	u32 read_off;
};

/* unread bytes; a hint without a lock. Context: any. */
static inline u32 ops_ring_unread(const struct ops_ring *ring)
{
	u32 tail = READ_ONCE(ring->tail);

	/* the tail first: a head that is newer only makes it more */
	smp_rmb();
	return READ_ONCE(ring->head) - tail;
}

/* bytes that may be written */
static inline u32 ops_ring_room(u32 unread, u32 limit)
{
	return unread < limit ? limit - unread : 0;
}

/* Is it worth waking a writer, or telling poll() that there is room? */
static inline bool ops_ring_roomy(u32 unread, u32 limit)
{
	return unread <= limit - limit / 3;
}

/**
 * struct ops_ring_terms - what a writer brings
 * @net: network namespace that is charged
 * @memcg: memory cgroup that is charged; NULL: the task's
 * @gfp: how to allocate: a socket of a block device must not wait for that device
 * @limit: bytes that may be unread
 */
struct ops_ring_terms {
	struct net *net;
	struct mem_cgroup *memcg;
	gfp_t gfp;
	u32 limit;
};

/* bytes of memory in all rings. Context: any. */
unsigned long ops_ring_total(void);
/* Order of the pages of a ring's next chunk: it has @pages bytes, and may have @limit. */
u32 ops_ring_order(u32 pages, u32 limit);

/* Makes the first chunk, if there is none. Return: 0 or -ENOMEM. Writer. */
int ops_ring_prepare(struct ops_ring *ring, const struct ops_ring_terms *terms);
ssize_t ops_ring_write(struct ops_ring *ring, struct iov_iter *from, size_t len,
		       const struct ops_ring_terms *terms);
/* Take back the last @len bytes; the reader has left. Writer. */
void ops_ring_unwrite(struct ops_ring *ring, u32 len);
ssize_t ops_ring_read(struct ops_ring *ring, struct iov_iter *to, size_t len, bool discard);
ssize_t ops_ring_peek(struct ops_ring *ring, struct iov_iter *to, size_t len, u32 offset,
		      bool discard);
/* Gives back what holds no bytes. Writer. */
void ops_ring_trim(struct ops_ring *ring);
/* Nobody uses it any more. */
void ops_ring_free(struct ops_ring *ring);

#endif
