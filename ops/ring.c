// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The same-host road's memory: bytes from one writer to one reader.
 *
 * A ring is a chain of chunks, linked from the oldest to the newest:
 *
 *	first -> ... -> read -> ... -> write -> ... -> NULL
 *	      free        unread bytes      free
 *
 * The writer fills a chunk to its end before it takes the next one: a free one behind it, the
 * oldest one in front of the reader, or a new one. So pages stay, and there are as many as the
 * bytes that have been on their way at once. When all bytes have been read, the writer begins
 * again at the start of the oldest chunk: a program that asks and waits uses one page, or the chunk
 * behind it for messages that are larger.
 *
 * The writer and the reader share no lock. head is stored with release behind the bytes, tail
 * behind the copy of them. While head == tail the chunks are the writer's: the reader looks at no
 * chunk unless it has seen unread bytes, and at none any more after it has stored tail.
 *
 * Memory is charged to the socket's memory cgroup and to its network namespace. It is never
 * worth an OOM kill: an allocation that fails is reported, and TCP goes on.
 */
#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>

#include "ring.h"
#include "rules.h"

#define RING_ORDER_MAX	4	/* 64 KiB: larger ones do not copy faster */

static atomic_long_t ring_total;

unsigned long ops_ring_total(void)
{
	return atomic_long_read(&ring_total);
}

u32 ops_ring_order(u32 pages, u32 limit)
{
	u32 order = !pages ? 0 : pages < 16384 ? 2 : RING_ORDER_MAX;

	while (order && (PAGE_SIZE << order) > limit / 8)
		order--;
	return order;
}

static struct ops_chunk *ring_chunk_pages(u32 order, const struct ops_ring_terms *terms)
{
	gfp_t gfp = terms->gfp | __GFP_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY |
		    (order ? __GFP_COMP : 0);
	struct mem_cgroup *old = set_active_memcg(terms->memcg);
	unsigned long address = __get_free_pages(gfp, order);

	set_active_memcg(old);
	return (struct ops_chunk *)address;
}

static struct ops_chunk *ring_chunk_alloc(struct ops_ring *ring,
					  const struct ops_ring_terms *terms, u32 order)
{
	const u32 bytes = PAGE_SIZE << order;
	struct ops_chunk *chunk;

	if (!ops_charge(ring->net, KRDMA_OFFLOAD_LIMIT_MEMORY, bytes))
		return NULL;
	chunk = ring_chunk_pages(order, terms);
	if (!chunk) {
		ops_uncharge(ring->net, KRDMA_OFFLOAD_LIMIT_MEMORY, bytes);
		return NULL;
	}
	chunk->next = NULL;
	chunk->order = order;
	chunk->size = bytes - offsetof(struct ops_chunk, data);
	ring->pages += bytes;
	atomic_long_add(bytes, &ring_total);
	return chunk;
}

static void ring_chunk_free(struct ops_ring *ring, struct ops_chunk *chunk)
{
	const u32 bytes = PAGE_SIZE << chunk->order;

	ring->pages -= bytes;
	atomic_long_sub(bytes, &ring_total);
	free_pages((unsigned long)chunk, chunk->order);
	ops_uncharge(ring->net, KRDMA_OFFLOAD_LIMIT_MEMORY, bytes);
}

/* Grow: large chunks where there are some, single pages else, and none while memory is scarce. */
static struct ops_chunk *ring_grow(struct ops_ring *ring, const struct ops_ring_terms *terms)
{
	u32 order = ops_ring_order(ring->pages, terms->limit);
	struct ops_chunk *chunk;

	if (ring->pages && ops_memory_pressure(ring->net))
		return NULL;
	chunk = ring_chunk_alloc(ring, terms, order);
	if (!chunk && order)
		chunk = ring_chunk_alloc(ring, terms, 0);
	return chunk;
}

int ops_ring_prepare(struct ops_ring *ring, const struct ops_ring_terms *terms)
{
	struct ops_chunk *chunk;

	if (ring->first)
		return 0;
	if (!ring->net)
		ring->net = get_net(terms->net);
	chunk = ring_grow(ring, terms);
	if (!chunk)
		return -ENOMEM;
	ring->first = chunk;
	ring->write = chunk;
	ring->write_off = 0;
	ring->read = chunk;
	ring->read_off = 0;
	return 0;
}

/* For the writer: what the reader has read, and looks at no more. */
static u32 ring_tail(const struct ops_ring *ring)
{
	/* pairs with ops_ring_read() */
	return smp_load_acquire(&ring->tail);
}

static struct ops_chunk *ring_read_chunk(const struct ops_ring *ring)
{
	/* pairs with ops_ring_read() */
	return smp_load_acquire(&ring->read);
}

/* For the reader: up to where there are bytes. */
static u32 ring_head(const struct ops_ring *ring)
{
	/* pairs with ops_ring_write() */
	return smp_load_acquire(&ring->head);
}

/* The next chunk to write. Return: false: none. */
static bool ring_advance(struct ops_ring *ring, const struct ops_ring_terms *terms)
{
	struct ops_chunk *chunk = ring->write->next;

	if (!chunk) {
		if (ring->first != ring_read_chunk(ring)) {
			chunk = ring->first;
			ring->first = chunk->next;
			chunk->next = NULL;
		} else {
			chunk = ring_grow(ring, terms);
		}
		if (!chunk)
			return false;
		/* the reader follows it when it has seen the head behind it */
		WRITE_ONCE(ring->write->next, chunk);
	}
	ring->write = chunk;
	ring->write_off = 0;
	return true;
}

/*
 * Where to begin when there are no bytes: at the oldest chunk, which is a page, or behind it if
 * only there the bytes are in one piece.
 */
static struct ops_chunk *ring_begin(const struct ops_ring *ring, size_t len)
{
	struct ops_chunk *next = ring->first->next;

	return len > ring->first->size && next && len <= next->size ? next : ring->first;
}

/**
 * ops_ring_write() - copy bytes into the ring
 * @ring: ring, with a first chunk (ops_ring_prepare())
 * @from: bytes; advanced by what was taken
 * @len: how many
 * @terms: limit, and how new chunks are made
 *
 * Return: how many were taken; -EAGAIN: there is no room, until something is read; -ENOMEM: there
 * is no memory for it; -EFAULT. Context: writer, may sleep.
 */
ssize_t ops_ring_write(struct ops_ring *ring, struct iov_iter *from, size_t len,
		       const struct ops_ring_terms *terms)
{
	const u32 unread = ring->head - ring_tail(ring);
	u32 room = ops_ring_room(unread, terms->limit);
	size_t done = 0;

	if (!room)
		return -EAGAIN;
	if (len <= OPS_RING_WHOLE)
		room = max_t(u32, room, len);
	len = min_t(size_t, len, room);
	if (!unread) {
		ring->write = ring_begin(ring, len);
		ring->write_off = 0;
		ring->read = ring->write;
		ring->read_off = 0;
	}
	while (done < len) {
		size_t part, copied;

		if (ring->write_off == ring->write->size && !ring_advance(ring, terms))
			return done ?: -ENOMEM;
		part = min_t(size_t, len - done, ring->write->size - ring->write_off);
		copied = copy_from_iter(ring->write->data + ring->write_off, part, from);
		ring->write_off += copied;
		done += copied;
		/* pairs with ring_head() */
		smp_store_release(&ring->head, ring->head + (u32)copied);
		if (copied < part)
			return done ?: -EFAULT;
	}
	return done;
}

void ops_ring_unwrite(struct ops_ring *ring, u32 len)
{
	/* nobody reads: where the bytes lie does not matter */
	WRITE_ONCE(ring->head, ring->head - len);
}

static size_t ring_copy(struct iov_iter *to, const u8 *data, size_t len, bool discard)
{
	return discard ? len : copy_to_iter(data, len, to);
}

/**
 * ops_ring_read() - copy bytes out of the ring
 * @ring: ring
 * @to: where to
 * @len: how many at most
 * @discard: do not copy them
 *
 * Return: how many; -EAGAIN: there are none; -EFAULT. Context: reader, may sleep.
 */
ssize_t ops_ring_read(struct ops_ring *ring, struct iov_iter *to, size_t len, bool discard)
{
	const u32 unread = ring_head(ring) - ring->tail;
	size_t done = 0;

	if (!unread)
		return -EAGAIN;
	len = min_t(size_t, len, unread);
	while (done < len) {
		struct ops_chunk *chunk = ring->read;
		size_t part, copied;

		if (ring->read_off == chunk->size) {
			chunk = READ_ONCE(chunk->next);
			ring->read_off = 0;
			/* pairs with ring_read_chunk(): the one before it is the writer's */
			smp_store_release(&ring->read, chunk);
		}
		part = min_t(size_t, len - done, chunk->size - ring->read_off);
		copied = ring_copy(to, chunk->data + ring->read_off, part, discard);
		ring->read_off += copied;
		done += copied;
		/* pairs with ring_tail() */
		smp_store_release(&ring->tail, ring->tail + (u32)copied);
		if (copied < part)
			return done ?: -EFAULT;
	}
	return done;
}

/**
 * ops_ring_peek() - copy bytes, and leave them there
 * @ring: ring
 * @to: where to
 * @len: how many at most
 * @offset: unread bytes to skip first
 * @discard: do not copy them
 *
 * Return: how many; -EAGAIN: there are none; -EFAULT. Context: reader, may sleep.
 */
ssize_t ops_ring_peek(struct ops_ring *ring, struct iov_iter *to, size_t len, u32 offset,
		      bool discard)
{
	const u32 unread = ring_head(ring) - ring->tail;
	struct ops_chunk *chunk = ring->read;
	size_t done = 0;
	u32 off;

	if (unread <= offset)
		return -EAGAIN;
	len = min_t(size_t, len, unread - offset);
	off = ring->read_off;
	while (done < len) {
		size_t part, copied;

		if (off == chunk->size) {
			chunk = READ_ONCE(chunk->next);
			off = 0;
		}
		part = chunk->size - off;
		if (offset) {
			part = min_t(size_t, part, offset);
			offset -= part;
			off += part;
			continue;
		}
		part = min_t(size_t, len - done, part);
		copied = ring_copy(to, chunk->data + off, part, discard);
		off += copied;
		done += copied;
		if (copied < part)
			return done ?: -EFAULT;
	}
	return done;
}

/* A chain of chunks that nobody uses. */
static void ring_free_chain(struct ops_ring *ring, struct ops_chunk *chunk)
{
	while (chunk) {
		struct ops_chunk *next = chunk->next;

		ring_chunk_free(ring, chunk);
		chunk = next;
	}
}

void ops_ring_trim(struct ops_ring *ring)
{
	struct ops_chunk *chunk;

	if (!ring->first)
		return;
	if (ring->head == ring_tail(ring)) {
		chunk = ring->first;
		ring->first = NULL;
		ring->write = NULL;
		ring->read = NULL;
		ring_free_chain(ring, chunk);
		return;
	}
	ring_free_chain(ring, ring->write->next);
	ring->write->next = NULL;
	while (ring->first != ring_read_chunk(ring)) {
		chunk = ring->first;
		ring->first = chunk->next;
		ring_chunk_free(ring, chunk);
	}
}

void ops_ring_free(struct ops_ring *ring)
{
	ring_free_chain(ring, ring->first);
	if (ring->net)
		put_net(ring->net);
}
