// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_noio: looks at every allocation that work items of krdma's modules make, and counts those
 * whose reclaim may begin I/O: a storage user that waits for the work would wait for itself. Calls
 * from other tasks, such as the verbs of a target in a work item of iw_cm, allocate as these allow.
 * See <krdma/noio.h>. Parameters that are read, below /sys/module/krdma_noio/parameters:
 *
 * looked_at	allocations of such work so far
 * with_io	of those, such that may begin I/O; the log names the first ones
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#define NOIO_KNOWN_BITS	8
#define NOIO_LOGGED	8

static atomic_t noio_looked_at = ATOMIC_INIT(0);
static atomic_t noio_with_io = ATOMIC_INIT(0);

static int noio_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read((atomic_t *)param->arg));
}

static const struct kernel_param_ops noio_ops = { .get = noio_get };

module_param_cb(looked_at, &noio_ops, &noio_looked_at, 0444);
MODULE_PARM_DESC(looked_at, "allocations of krdma's work items");
module_param_cb(with_io, &noio_ops, &noio_with_io, 0444);
MODULE_PARM_DESC(with_io, "those of them that may begin I/O");

/* Addresses that were looked up; bit 63, which is set in all of them, has the answer. */
static unsigned long noio_known[BIT(NOIO_KNOWN_BITS)];

/* Is the address of a module of krdma? */
static bool noio_is_ours(unsigned long address)
{
	unsigned long *known = &noio_known[hash_long(address, NOIO_KNOWN_BITS)];
	const unsigned long ours = BIT(BITS_PER_LONG - 1), value = READ_ONCE(*known);
	char name[KSYM_SYMBOL_LEN];
	bool ret;

	if ((value | ours) == address)
		return value & ours;
	sprint_symbol(name, address);
	ret = strstr(name, "[krdma");
	WRITE_ONCE(*known, ret ? address : address & ~ours);
	return ret;
}

/* An RNIC's arrival and removal: no storage user waits for them to have its memory written back. */
static bool noio_may(const struct work_struct *work)
{
	static const char *const names[] = { "kal_rnic_delete_fn+", "hw_device_work+" };
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;

	sprint_symbol(name, (unsigned long)work->func);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strstarts(name, names[i]))
			return true;
	return false;
}

static void noio_look(unsigned long call_site, gfp_t gfp)
{
	const gfp_t io = __GFP_DIRECT_RECLAIM | __GFP_IO;
	struct work_struct *work;

	if (!in_task() || !(current->flags & PF_WQ_WORKER))
		return;
	work = current_work();
	if (!work)
		return;
	if (!noio_is_ours((unsigned long)work->func))
		return;
	atomic_inc(&noio_looked_at);
	if ((current_gfp_context(gfp) & io) != io || noio_may(work))
		return;
	if (atomic_inc_return(&noio_with_io) <= NOIO_LOGGED)
		pr_err("krdma_noio: %pS allocates with I/O in %ps\n", (void *)call_site,
		       work->func);
}

static void noio_kmalloc(void *data, unsigned long call_site, const void *ptr, size_t requested,
			 size_t allocated, gfp_t gfp, int node)
{
	noio_look(call_site, gfp);
}

static void noio_cache(void *data, unsigned long call_site, const void *ptr, struct kmem_cache *s,
		       gfp_t gfp, int node)
{
	noio_look(call_site, gfp);
}

static void noio_pages(void *data, struct page *page, unsigned int order, gfp_t gfp, int type)
{
	noio_look(0, gfp);
}

static struct noio_probe {
	const char *name;
	void *function;
	struct tracepoint *point;
} noio_probes[] = {
	{ "kmalloc", noio_kmalloc },
	{ "kmem_cache_alloc", noio_cache },
	{ "mm_page_alloc", noio_pages },
};

static void __init noio_find(struct tracepoint *point, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(noio_probes); i++)
		if (!strcmp(point->name, noio_probes[i].name))
			noio_probes[i].point = point;
}

static void noio_end(unsigned int num)
{
	while (num--)
		tracepoint_probe_unregister(noio_probes[num].point, noio_probes[num].function,
					    NULL);
	tracepoint_synchronize_unregister();
}

static int __init noio_init(void)
{
	unsigned int i;
	int ret;

	for_each_kernel_tracepoint(noio_find, NULL);
	for (i = 0; i < ARRAY_SIZE(noio_probes); i++) {
		ret = noio_probes[i].point ?
			      tracepoint_probe_register(noio_probes[i].point,
							noio_probes[i].function, NULL) :
			      -ENOENT;
		if (ret) {
			noio_end(i);
			return ret;
		}
	}
	return 0;
}

static void __exit noio_exit(void)
{
	noio_end(ARRAY_SIZE(noio_probes));
}

module_init(noio_init);
module_exit(noio_exit);

MODULE_DESCRIPTION("krdma test: allocations that may begin I/O");
MODULE_LICENSE("Dual MIT/GPL");
