/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interfaces of newer kernels, for those that do not have them.
 *
 * The code is written for the newest kernel. What a kernel has is found out by compiling
 * kal/compat/probe/ when the modules are built. Include this behind the kernel's headers; what
 * needs more of those is in compat_net.h, compat_verbs.h.
 */
#ifndef KRDMA_COMPAT_H
#define KRDMA_COMPAT_H

#include <linux/bvec.h>
#include <linux/cleanup.h>
#include <linux/hrtimer.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <krdma/features.h>

/* 6.13: the name is a string */
#ifndef KRDMA_HAVE_IMPORT_NS_STRING
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns) MODULE_INFO(import_ns, ns)
#endif

/* 6.17: workqueues say where their work runs */
#ifndef KRDMA_HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#define system_dfl_wq system_unbound_wq
#endif

/* 6.16 */
#ifndef KRDMA_HAVE_TIMER_CONTAINER_OF
#define timer_container_of from_timer
#endif

/* 6.13 */
#ifndef KRDMA_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* 6.9: a workqueue in softirq. The system's other one is as good, but later. */
#ifndef KRDMA_HAVE_SYSTEM_BH_WQ
#define system_bh_wq system_highpri_wq
#endif

/* 6.10: the source is named in the field */
#ifdef KRDMA_HAVE_ASSIGN_STR_ONE
#define compat_assign_str(field, from) __assign_str(field)
#else
#define compat_assign_str(field, from) __assign_str(field, from)
#endif

/* 6.15: for nodes that never move */
#ifdef KRDMA_HAVE_KERNFS_PARENT_RCU
#define compat_kernfs_parent(node) rcu_dereference_protected((node)->__parent, true)
#else
#define compat_kernfs_parent(node) ((node)->parent)
#endif

/* 6.7 */
#ifndef KRDMA_HAVE_SHRINKER_ALLOC
#define shrinker_alloc(flags, name) compat_shrinker_alloc(flags)
#define shrinker_register(shrinker) compat_shrinker_register(shrinker, "krdma")
static inline struct shrinker *compat_shrinker_alloc(unsigned int flags)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (shrinker) {
		shrinker->seeks = DEFAULT_SEEKS;
		shrinker->flags = flags;
	}
	return shrinker;
}

/* It fails without memory alone; there is less to give back then. */
static inline void compat_shrinker_register(struct shrinker *shrinker, const char *name)
{
	if (register_shrinker(shrinker, "%s", name))
		pr_warn("%s: no memory for the shrinker\n", name);
}

static inline void shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}
#endif

/* 6.3: for modules */
#ifndef KRDMA_HAVE_VMALLOC_OR_MODULE_ADDR
#define is_vmalloc_or_module_addr compat_is_vmalloc_or_module_addr
static inline bool compat_is_vmalloc_or_module_addr(const void *addr)
{
#if defined(CONFIG_MODULES) && defined(MODULES_VADDR)
	if ((unsigned long)addr >= MODULES_VADDR && (unsigned long)addr < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr(addr);
}
#endif

/* 6.3 */
#ifndef KRDMA_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* 6.8, as __free(kvfree) */
#ifndef KRDMA_HAVE_KVFREE_FREE
DEFINE_FREE(kvfree, void *, if (!IS_ERR_OR_NULL(_T)) kvfree(_T))
#endif

/* 6.10 */
#ifndef KRDMA_HAVE_MEM_CGROUP_TRYGET
#ifdef CONFIG_MEMCG
#define mem_cgroup_tryget(memcg) (!(memcg) || css_tryget(&(memcg)->css))
#else
#define mem_cgroup_tryget(memcg) true
#endif
#endif

/* 6.12, and back-ported: an object that was made without a memory cgroup stays so */
#ifndef KRDMA_HAVE_KMEM_CACHE_CHARGE
static inline bool kmem_cache_charge(void *object, gfp_t gfp)
{
	return true;
}
#endif

/* 6.3 */
#ifndef KRDMA_HAVE_BVEC_SET_VIRT
static inline void bvec_set_virt(struct bio_vec *vec, void *from, unsigned int len)
{
	vec->bv_page = virt_to_page(from);
	vec->bv_len = len;
	vec->bv_offset = offset_in_page(from);
}
#endif

/* 6.7 */
#ifndef KRDMA_HAVE_SPINLOCK_BH_GUARD
DEFINE_LOCK_GUARD_1(spinlock_bh, spinlock_t, spin_lock_bh(_T->lock), spin_unlock_bh(_T->lock))
#endif

#endif
