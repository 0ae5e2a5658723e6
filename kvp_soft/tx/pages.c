// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The pages in which FPDUs are built.
 *
 * A new page costs as much as half of the copy into it, since the allocator zeroes the page.
 * TCP releases a page when the peer has acknowledged all its data; then the page can be used
 * again. So each CPU remembers the blocks of pages that its transmitters filled last, and
 * tries the oldest first. A remembered block without other users is memory that the shrinker
 * can free.
 *
 * A transmitter owns a block only while it runs. The next transmitter that runs on the CPU
 * uses the rest of the block.
 */
#include <linux/mm.h>
#include <linux/shrinker.h>
#include <linux/skbuff.h>
#include <krdma/compat.h>

#include "../base/params.h"
#include "internal.h"

#define SOFT_TX_BLOCK	(PAGE_SIZE << SKB_FRAG_PAGE_ORDER)
/* blocks to try: behind a block in use are later filled ones, which are mostly in use, too */
#define SOFT_TX_LOOKS	2

/**
 * struct soft_tx_pages - the blocks of a CPU
 * @lock: protects @block and @next
 * @rest: rest of the block that was used last; accessed by this CPU only
 * @block: whole blocks, with a reference each
 * @next: entry to try next
 */
struct soft_tx_pages {
	spinlock_t lock;
	struct page_frag rest;
	struct page *block[SOFT_TX_PAGES_MAX];
	u32 next;
};

static struct soft_tx_pages __percpu *soft_tx_pages;

static struct shrinker *soft_tx_pages_shrinker;

/** soft_tx_pages_swap() - exchange tx.frag and the rest of the CPU's block; process context */
void soft_tx_pages_swap(struct soft_tx *tx)
{
	struct soft_tx_pages *p = get_cpu_ptr(soft_tx_pages);

	swap(tx->frag, p->rest);
	put_cpu_ptr(soft_tx_pages);
}

/** soft_tx_pages_drop() - release the rest of a block */
void soft_tx_pages_drop(struct page_frag *frag)
{
	if (frag->page)
		put_page(frag->page);
	*frag = (struct page_frag){};
}

/* The entry that was filled or tried longest ago, or NULL when tx_blocks is 0. */
static struct page **soft_tx_pages_oldest(struct soft_tx_pages *p)
{
	const u32 n = min(READ_ONCE(soft_tx_blocks), SOFT_TX_PAGES_MAX);

	if (p->next >= n)
		p->next = 0;
	return n ? &p->block[p->next] : NULL;
}

/* A block without other users, with a new reference, or NULL. */
static struct page *soft_tx_pages_take(struct soft_tx_pages *p)
{
	struct page **block;
	int i;

	for (i = 0; i < SOFT_TX_LOOKS; i++) {
		block = soft_tx_pages_oldest(p);
		if (!block || !*block)
			break;
		p->next++;
		if (page_ref_count(*block) != 1)
			continue;
		get_page(*block);
		return *block;
	}
	return NULL;
}

static bool soft_tx_pages_reuse(struct page_frag *frag)
{
	struct soft_tx_pages *p = raw_cpu_ptr(soft_tx_pages);
	struct page *page;

	spin_lock_bh(&p->lock);
	page = soft_tx_pages_take(p);
	spin_unlock_bh(&p->lock);
	if (page)
		*frag = (struct page_frag){
			.page = page,
			.size = SOFT_TX_BLOCK,
		};
	return page;
}

static void soft_tx_pages_keep(const struct page_frag *frag)
{
	struct soft_tx_pages *p = raw_cpu_ptr(soft_tx_pages);
	struct page *old = NULL;
	struct page **block;

	if (frag->size != SOFT_TX_BLOCK)
		return;
	spin_lock_bh(&p->lock);
	block = soft_tx_pages_oldest(p);
	if (block) {
		p->next++;
		get_page(frag->page);
		old = *block;
		*block = frag->page;
	}
	spin_unlock_bh(&p->lock);
	if (old)
		put_page(old);
}

/** soft_tx_pages_next() - get another block; see soft_tx_pages_refill() */
bool soft_tx_pages_next(struct page_frag *frag, u32 want)
{
	soft_tx_pages_drop(frag);
	if (soft_tx_pages_reuse(frag))
		return true;
	if (!skb_page_frag_refill(want, frag, GFP_NOIO))
		return false;
	soft_tx_pages_keep(frag);
	return true;
}

/* Count the blocks of a CPU without other users, and free up to @most of them. */
static u32 soft_tx_pages_idle(struct soft_tx_pages *p, u32 most)
{
	struct page **block;
	u32 n = 0;

	spin_lock_bh(&p->lock);
	for (block = p->block; block < p->block + SOFT_TX_PAGES_MAX; block++) {
		if (!*block || page_ref_count(*block) != 1)
			continue;
		if (n++ < most) {
			put_page(*block);
			*block = NULL;
		}
	}
	spin_unlock_bh(&p->lock);
	return n;
}

static unsigned long soft_tx_pages_count(struct shrinker *shrinker,
					 struct shrink_control *sc)
{
	unsigned long n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += soft_tx_pages_idle(per_cpu_ptr(soft_tx_pages, cpu), 0);
	return n << SKB_FRAG_PAGE_ORDER ?: SHRINK_EMPTY;
}

static unsigned long soft_tx_pages_scan(struct shrinker *shrinker,
					struct shrink_control *sc)
{
	u32 most = DIV_ROUND_UP(sc->nr_to_scan, BIT(SKB_FRAG_PAGE_ORDER));
	u32 freed = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		freed += min(most - freed,
			     soft_tx_pages_idle(per_cpu_ptr(soft_tx_pages, cpu),
						most - freed));
	return (unsigned long)freed << SKB_FRAG_PAGE_ORDER;
}

static void soft_tx_pages_forget(struct soft_tx_pages *p)
{
	struct page **block;

	for (block = p->block; block < p->block + SOFT_TX_PAGES_MAX; block++) {
		if (*block)
			put_page(*block);
		*block = NULL;
	}
}

/**
 * soft_tx_pages_init() - allocate the blocks of all CPUs at module start
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int soft_tx_pages_init(void)
{
	int cpu;

	soft_tx_pages = alloc_percpu(struct soft_tx_pages);
	if (!soft_tx_pages)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(soft_tx_pages, cpu)->lock);
	soft_tx_pages_shrinker = shrinker_alloc(0, "krdma_soft");
	if (!soft_tx_pages_shrinker) {
		free_percpu(soft_tx_pages);
		return -ENOMEM;
	}
	soft_tx_pages_shrinker->count_objects = soft_tx_pages_count;
	soft_tx_pages_shrinker->scan_objects = soft_tx_pages_scan;
	shrinker_register(soft_tx_pages_shrinker);
	return 0;
}

/** soft_tx_pages_exit() - free all blocks at module exit; no transmitter runs */
void soft_tx_pages_exit(void)
{
	struct soft_tx_pages *p;
	int cpu;

	shrinker_free(soft_tx_pages_shrinker);
	for_each_possible_cpu(cpu) {
		p = per_cpu_ptr(soft_tx_pages, cpu);
		soft_tx_pages_drop(&p->rest);
		soft_tx_pages_forget(p);
	}
	free_percpu(soft_tx_pages);
}
