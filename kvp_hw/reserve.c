// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory cgroups and what drivers allocate for users without library.
 *
 * A driver takes such a user for the kernel. It allocates the queues with GFP_KERNEL, which charges
 * no cgroup, and no exported function charges pages that another module allocates. So this module
 * allocates as many pages of its own, charged to the caller, and keeps them as long as the object
 * exists. The memory of a user's queues is therefore allocated twice; but no user has more of it
 * than the limit of the memory cgroup allows.
 *
 * The sizes are those of the largest entries of siw and rdma_rxe, which have their queues in
 * memory of the kernel alone. Both round the number of entries up to a power of two. Adapters
 * have smaller entries.
 */
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>

#include "hw.h"

#define HW_RESERVE_CQE	128	/* bytes of a completion */
#define HW_RESERVE_SQE	208	/* of a send request, without its elements */
#define HW_RESERVE_RQE	112	/* of a receive, without its elements */
#define HW_RESERVE_READ	256	/* of an outstanding or answered Read */
#define HW_RESERVE_OBJ	SZ_4K	/* of an object itself, with the driver's socket */
#define HW_RESERVE_PAGE	40	/* of a pinned page */

/*
 * At the limit of the cgroup the call fails, and no process is killed for it: so single pages, for
 * which __GFP_RETRY_MAYFAIL has this meaning.
 */
#define HW_GFP_RESERVE	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * hw_reserve() - charge memory to the caller's memory cgroup
 * @pages: empty list, takes the charged pages
 * @bytes: size
 *
 * Return: 0, -ENOMEM at the limit of the cgroup, -EINTR if the caller is killed. Context: of the
 * user; may sleep.
 */
int hw_reserve(struct list_head *pages, u64 bytes)
{
	u64 left = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	struct page *page;

	if (mem_cgroup_disabled())
		return 0;
	for (; left; left--) {
		page = fatal_signal_pending(current) ? NULL : alloc_page(HW_GFP_RESERVE);
		if (!page) {
			hw_reserve_release(pages);
			return fatal_signal_pending(current) ? -EINTR : -ENOMEM;
		}
		list_add(&page->lru, pages);
		cond_resched();
	}
	return 0;
}

/* Return the charge; @pages may be empty. May sleep. */
void hw_reserve_release(struct list_head *pages)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, pages, lru) {
		list_del(&page->lru);
		__free_page(page);
		cond_resched();
	}
}

/* Sizes ********************************************************************* */

/* A queue has one entry more than was asked for, at least, before it is rounded up. */
static u64 hw_reserve_queue(u32 depth, u32 entry)
{
	return depth ? size_mul(roundup_pow_of_two((u64)depth + 1), roundup_pow_of_two(entry)) : 0;
}

u64 hw_reserve_of_pd(void)
{
	return HW_RESERVE_OBJ;
}

/* One address that is listened on: the rdma_cm id, and the driver's socket. */
u64 hw_reserve_of_listener(void)
{
	return HW_RESERVE_OBJ;
}

u64 hw_reserve_of_cq(u32 depth)
{
	return HW_RESERVE_OBJ + hw_reserve_queue(depth, HW_RESERVE_CQE);
}

static u64 hw_reserve_of_receives(u32 wr, u32 sge)
{
	return hw_reserve_queue(wr, HW_RESERVE_RQE + sge * sizeof(struct ib_sge));
}

u64 hw_reserve_of_srq(const struct ib_srq_attr *attr)
{
	return HW_RESERVE_OBJ + hw_reserve_of_receives(attr->max_wr, attr->max_sge);
}

u64 hw_reserve_of_qp(const struct ib_qp_cap *cap)
{
	const u32 data = max_t(u32, cap->max_send_sge * sizeof(struct ib_sge),
			       cap->max_inline_data);

	return HW_RESERVE_OBJ + hw_reserve_queue(cap->max_send_wr, HW_RESERVE_SQE + data) +
	       hw_reserve_of_receives(cap->max_recv_wr, cap->max_recv_sge);
}

/* A region of user memory: the driver's and ib_core's lists of its pages. */
u64 hw_reserve_of_mr(u64 start, u64 length)
{
	const u64 pages = DIV_ROUND_UP_ULL((start & ~PAGE_MASK) + length, PAGE_SIZE);

	return HW_RESERVE_OBJ + pages * HW_RESERVE_PAGE;
}

/* A connection, with the Reads of both directions. */
u64 hw_reserve_of_conn(u32 reads)
{
	return HW_RESERVE_OBJ + (u64)reads * HW_RESERVE_READ;
}
