// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Accounting of pinned memory. A process may register a page several times, with one RNIC or
 * with several. The page is charged to the process once, in the same counter and by the same
 * rule as ib_core's own regions. One limit therefore holds for a process whatever interface it
 * uses.
 *
 * The accounting is by page and not by address. Unmapped memory stays pinned, and a later
 * mapping at the same address is different memory.
 */
#include <linux/cleanup.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "pins.h"

/**
 * struct kal_pins - pinned pages of a process
 * @node: entry in kal_pins_table
 * @mm: memory of the process
 * @users: number of regions; kal_pins_lock
 * @lock: protects @pages and the charge for them
 * @pages: pin count of each page, by page frame number
 */
struct kal_pins {
	struct hlist_node node;
	struct mm_struct *mm;
	unsigned long users;
	struct mutex lock;	/* protects pages and the charge */
	struct xarray pages;
};

static DEFINE_HASHTABLE(kal_pins_table, 6);
static DEFINE_MUTEX(kal_pins_lock);	/* protects kal_pins_table */

static struct kal_pins *kal_pins_find(const struct mm_struct *mm)
{
	struct kal_pins *pins;

	hash_for_each_possible(kal_pins_table, pins, node, (unsigned long)mm)
		if (pins->mm == mm)
			return pins;
	return NULL;
}

/* Get the pinned pages of @mm; kal_pins_put() must follow. NULL: no memory. May sleep. */
struct kal_pins *kal_pins_get(struct mm_struct *mm)
{
	struct kal_pins *pins;

	guard(mutex)(&kal_pins_lock);
	pins = kal_pins_find(mm);
	if (!pins) {
		pins = kzalloc(sizeof(*pins), GFP_KERNEL_ACCOUNT);
		if (!pins)
			return NULL;
		mmgrab(mm);
		pins->mm = mm;
		mutex_init(&pins->lock);
		xa_init_flags(&pins->pages, XA_FLAGS_ACCOUNT);
		hash_add(kal_pins_table, &pins->node, (unsigned long)mm);
	}
	pins->users++;
	return pins;
}

/* Any process. May sleep. */
void kal_pins_put(struct kal_pins *pins)
{
	scoped_guard(mutex, &kal_pins_lock) {
		if (--pins->users)
			return;
		hash_del(&pins->node);
	}
	WARN_ON(!xa_empty(&pins->pages));
	xa_destroy(&pins->pages);
	mutex_destroy(&pins->lock);
	mmdrop(pins->mm);
	kfree(pins);
}

static bool kal_pins_fit(u64 npages)
{
	return npages <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT || capable(CAP_IPC_LOCK);
}

/*
 * May the calling process pin @npages pages at all? The check limits the memory that is
 * allocated before the pages are known. Return: 0, -EPERM, -ENOMEM.
 */
int kal_pins_allowed(unsigned long npages)
{
	if (!can_do_mlock())
		return -EPERM;
	return kal_pins_fit(npages) ? 0 : -ENOMEM;
}

/*
 * A process is charged for a page once, however often it pins the page. But each pin takes
 * references. If the reference count overflows, the kernel warns in the code of other users.
 */
static bool kal_pins_too_many(struct page *page)
{
	return folio_ref_count(page_folio(page)) > INT_MAX / 2;
}

static int kal_pins_count(struct kal_pins *pins, struct page *page, unsigned long *fresh)
{
	XA_STATE(xas, &pins->pages, page_to_pfn(page));
	void *entry;

	if (kal_pins_too_many(page))
		return -ENOMEM;
	do {
		xas_lock(&xas);
		entry = xas_load(&xas);
		xas_store(&xas, xa_mk_value(entry ? xa_to_value(entry) + 1 : 1));
		xas_unlock(&xas);
	} while (xas_nomem(&xas, GFP_KERNEL_ACCOUNT));
	if (!entry && !xas_error(&xas))
		++*fresh;
	return xas_error(&xas);
}

/* Return: number of pages that are not pinned any more. */
static unsigned long kal_pins_uncount(struct kal_pins *pins, struct page **pages,
				      unsigned long npages)
{
	unsigned long i, times, gone = 0;

	for (i = 0; i < npages; i++) {
		XA_STATE(xas, &pins->pages, page_to_pfn(pages[i]));

		/* the entry exists, so the store allocates no memory */
		xas_lock(&xas);
		times = xa_to_value(xas_load(&xas)) - 1;
		xas_store(&xas, times ? xa_mk_value(times) : NULL);
		xas_unlock(&xas);
		gone += !times;
		if (i % 1024 == 1023)
			cond_resched();
	}
	return gone;
}

/*
 * Count @pages, which the calling process, the owner of @pins, has pinned. Pages that it had
 * not pinned before are charged to it. Return: 0, or -ENOMEM (memory or RLIMIT_MEMLOCK), and
 * nothing is counted.
 */
int kal_pins_add(struct kal_pins *pins, struct page **pages, unsigned long npages)
{
	unsigned long done, fresh = 0;
	int ret = 0;

	guard(mutex)(&pins->lock);
	for (done = 0; done < npages; done++) {
		ret = kal_pins_count(pins, pages[done], &fresh);
		if (ret)
			break;
	}
	if (!ret && !kal_pins_fit(atomic64_add_return(fresh, &pins->mm->pinned_vm))) {
		atomic64_sub(fresh, &pins->mm->pinned_vm);
		ret = -ENOMEM;
	}
	if (ret)
		kal_pins_uncount(pins, pages, done);
	return ret;
}

/* Uncount pages that are about to be unpinned. Any process; may sleep. */
void kal_pins_remove(struct kal_pins *pins, struct page **pages, unsigned long npages)
{
	guard(mutex)(&pins->lock);
	atomic64_sub(kal_pins_uncount(pins, pages, npages), &pins->mm->pinned_vm);
}
