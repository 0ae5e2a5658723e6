// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The ring of the same-host road (ops/ring.c), and the numbers of a change (ops/names.h). */
#include <linux/array_size.h>
#include <linux/uio.h>
#include <net/net_namespace.h>

#include "ktest.h"
#include "under_test_ops.h"

#include "../../ops/names.h"
#include "../../ops/ring.h"

#define LIMIT	(512 << 10)
#define MOST	(64 << 10)	/* bytes of one call */

/* Numbers ******************************************************************* */

static void numbers(struct ktest *test)
{
	static const struct {
		u32 isn;
		u64 bytes;
	} rows[] = {
		{ 0, 0 }, { 1, 0 }, { U32_MAX, 0 }, { U32_MAX, 1 }, { 0x80000000, 77 },
		{ U32_MAX - 5, 100 }, { 12345, 1ULL << 32 }, { U32_MAX, (1ULL << 33) + 3 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 next = rows[i].isn + 1 + (u32)rows[i].bytes;

		/* TCP counts the SYN of the end that connected as a byte */
		KTEST_EQ(test, ops_isn_own(next, rows[i].bytes + 1, true), rows[i].isn);
		KTEST_EQ(test, ops_isn_own(next, rows[i].bytes, false), rows[i].isn);
		KTEST_EQ(test, ops_isn_peer(next, rows[i].bytes), rows[i].isn);
	}
}

static void before_x(struct ktest *test)
{
	KTEST_EQ(test, ops_before_x(10, 10), 0);
	KTEST_EQ(test, ops_before_x(10, 15), 5);
	KTEST_EQ(test, ops_before_x(11, 10), 0);	/* a FIN that was read */
	KTEST_EQ(test, ops_before_x(U32_MAX - 1, 3), 5);
	KTEST_EQ(test, ops_before_x(3, U32_MAX - 1), 0);
	KTEST_TRUE(test, ops_changed(1, 0));
	KTEST_FALSE(test, ops_changed(2, 2));
}

/* The ring ****************************************************************** */

struct bed {
	struct ops_ring ring;
	u8 *bytes;
	u32 written;
	u32 read;
	u32 seed;
};

static struct bed *bed_make(struct ktest *test)
{
	struct bed *bed = ktest_alloc(test, sizeof(*bed));

	memset(bed, 0, sizeof(*bed));
	bed->bytes = ktest_alloc(test, MOST);
	bed->seed = 1;
	/* positions wrap soon */
	bed->ring.head = -100000U;
	bed->ring.tail = -100000U;
	ops_test_charged = 0;
	ops_test_limit = S64_MAX;
	return bed;
}

static void bed_end(struct ktest *test, struct bed *bed)
{
	ops_ring_free(&bed->ring);
	KTEST_EQ(test, ops_test_charged, 0);
}

static u32 bed_random(struct bed *bed, u32 below)
{
	bed->seed = bed->seed * 1103515245 + 12345;
	return (bed->seed >> 8) % below;
}

/* byte number @at of the stream */
static u8 bed_byte(u32 at)
{
	return at ^ at >> 8 ^ at >> 16;
}

static ssize_t bed_write(struct bed *bed, u32 len, u32 limit)
{
	struct kvec kvec = { .iov_base = bed->bytes, .iov_len = len };
	struct iov_iter iter;
	const struct ops_ring_terms terms = {
		.net = &init_net, .gfp = GFP_KERNEL, .limit = limit,
	};
	ssize_t ret;
	u32 i;

	for (i = 0; i < len; i++)
		bed->bytes[i] = bed_byte(bed->written + i);
	if (ops_ring_prepare(&bed->ring, &terms))
		return -ENOMEM;
	iov_iter_kvec(&iter, ITER_SOURCE, &kvec, 1, len);
	ret = ops_ring_write(&bed->ring, &iter, len, &terms);
	if (ret > 0)
		bed->written += ret;
	return ret;
}

static ssize_t bed_read(struct ktest *test, struct bed *bed, u32 len, bool peek, u32 offset)
{
	struct kvec kvec = { .iov_base = bed->bytes, .iov_len = len };
	struct iov_iter iter;
	ssize_t ret, i;
	u32 wrong = 0;

	iov_iter_kvec(&iter, ITER_DEST, &kvec, 1, len);
	ret = peek ? ops_ring_peek(&bed->ring, &iter, len, offset, false) :
		     ops_ring_read(&bed->ring, &iter, len, false);
	for (i = 0; i < ret; i++)
		wrong += bed->bytes[i] != bed_byte(bed->read + offset + i);
	KTEST_EQ_MSG(test, wrong, 0, "after %u bytes", bed->read);
	if (!peek && ret > 0)
		bed->read += ret;
	return ret;
}

static void orders(struct ktest *test)
{
	KTEST_EQ(test, ops_ring_order(0, LIMIT), 0);	/* an idle connection has one page */
	KTEST_EQ(test, ops_ring_order(PAGE_SIZE, LIMIT), 2);
	KTEST_EQ(test, ops_ring_order(65536, LIMIT), 4);
	KTEST_EQ(test, ops_ring_order(65536, 8192), 0);
	KTEST_EQ(test, ops_ring_room(0, 100), 100);
	KTEST_EQ(test, ops_ring_room(150, 100), 0);
	KTEST_TRUE(test, ops_ring_roomy(0, LIMIT));
	KTEST_FALSE(test, ops_ring_roomy(LIMIT - 1, LIMIT));
}

/* Question and answer: one page, however often. */
static void one_page(struct ktest *test)
{
	struct bed *bed = bed_make(test);
	int i;

	for (i = 0; i < 5000; i++) {
		KTEST_EQ(test, bed_write(bed, 64, LIMIT), 64);
		KTEST_EQ(test, bed_read(test, bed, 100, false, 0), 64);
	}
	KTEST_EQ(test, ops_test_charged, PAGE_SIZE);
	KTEST_EQ(test, bed_read(test, bed, 100, false, 0), -EAGAIN);
	ops_ring_trim(&bed->ring);
	KTEST_EQ(test, ops_test_charged, 0);
	KTEST_EQ(test, bed_write(bed, 64, LIMIT), 64);
	KTEST_EQ(test, bed_read(test, bed, 100, false, 0), 64);
	bed_end(test, bed);
}

/* A message that does not fit into the page is in one piece as soon as there is a larger chunk. */
static void one_piece(struct ktest *test)
{
	struct bed *bed = bed_make(test);
	int i;

	for (i = 0; i < 100; i++) {
		KTEST_EQ(test, bed_write(bed, PAGE_SIZE, LIMIT), PAGE_SIZE);
		if (i)
			KTEST_EQ(test, bed->ring.write_off, PAGE_SIZE);
		KTEST_EQ(test, bed_read(test, bed, MOST, false, 0), PAGE_SIZE);
		/* a small one is in the page again */
		KTEST_EQ(test, bed_write(bed, 64, LIMIT), 64);
		KTEST_TRUE(test, bed->ring.write == bed->ring.first);
		KTEST_EQ(test, bed_read(test, bed, 100, false, 0), 64);
	}
	KTEST_EQ(test, ops_test_charged, 5 * PAGE_SIZE);
	bed_end(test, bed);
}

static void random_calls(struct ktest *test)
{
	static const u32 limits[] = { 8192, 20000, 100000, LIMIT };
	struct bed *bed = bed_make(test);
	u32 most = 0;
	int i;

	for (i = 0; i < 40000; i++) {
		u32 limit = limits[i / 10000], unread, len;

		if (bed_random(bed, 2)) {
			len = bed_random(bed, bed_random(bed, 3) ? 3000 : MOST) + 1;
			bed_write(bed, len, limit);
			unread = ops_ring_unread(&bed->ring);
			KTEST_EQ(test, unread, bed->written - bed->read);
			most = max(most, unread);
			KTEST_TRUE(test, unread <= limit + OPS_RING_WHOLE);
		} else if (bed_random(bed, 5)) {
			bed_read(test, bed, bed_random(bed, MOST) + 1, false, 0);
		} else {
			bed_read(test, bed, bed_random(bed, MOST) + 1, true,
				 bed_random(bed, ops_ring_unread(&bed->ring) + 1));
		}
		if (!bed_random(bed, 500))
			ops_ring_trim(&bed->ring);
	}
	KTEST_TRUE(test, most > 100000);
	bed_end(test, bed);
}

/* A record of up to OPS_RING_WHOLE bytes is taken whole, or not at all. */
static void whole_records(struct ktest *test)
{
	struct bed *bed = bed_make(test);
	ssize_t ret;

	do {
		ret = bed_write(bed, 10000, 65536);
		KTEST_TRUE(test, ret == 10000 || ret == -EAGAIN);
	} while (ret > 0);
	KTEST_TRUE(test, ops_ring_unread(&bed->ring) >= 65536);
	while (bed_read(test, bed, 777, false, 0) > 0)
		;
	KTEST_EQ(test, bed->read, bed->written);
	bed_end(test, bed);
}

/* Without memory: what was written can be read, and a chunk that was read is used again. */
static void no_memory(struct ktest *test)
{
	struct bed *bed = bed_make(test);
	ssize_t ret;

	ops_test_limit = 0;
	KTEST_EQ(test, bed_write(bed, 100, LIMIT), -ENOMEM);
	ops_test_limit = 5 * PAGE_SIZE;
	ret = bed_write(bed, 60000, LIMIT);
	KTEST_TRUE(test, ret > 0 && ret < 60000);
	KTEST_TRUE(test, bed_write(bed, 100, LIMIT) < 0);
	while (bed_read(test, bed, 5000, false, 0) > 0)
		;
	KTEST_EQ(test, bed->read, bed->written);
	KTEST_EQ(test, bed_write(bed, 100, LIMIT), 100);
	KTEST_EQ(test, bed_read(test, bed, 5000, false, 0), 100);
	bed_end(test, bed);
}

static struct ktest_case cases[] = {
	KTEST_CASE(numbers),
	KTEST_CASE(before_x),
	KTEST_CASE(orders),
	KTEST_CASE(one_page),
	KTEST_CASE(one_piece),
	KTEST_CASE(random_calls),
	KTEST_CASE(whole_records),
	KTEST_CASE(no_memory),
	{}
};

KTEST_SUITE(ops_ring, cases);
