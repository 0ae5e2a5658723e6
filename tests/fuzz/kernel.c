// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A small replacement for the kernel around the soft RNIC, in user space, with one thread and
 * no interrupts. Work items wait in a list until fz_run_works(). Locks are only checked for
 * being taken twice. TCP is a queue of incoming socket buffers and a function call for
 * outgoing data. Memory comes from malloc(), so AddressSanitizer checks all of it.
 */
#include <linux/crc32c.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/tcp.h>
#include <krdma/crc32c.h>
#include <krdma/rnicpi.h>

#include "fuzz.h"
#include "kernel.h"

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void free(void *p);

u32 fz_fail_atomic, fz_unreadable, fz_send_room, fz_llp_returned, fz_pages_used;
struct ri_rnic *fz_rnic;

/* Memory ******************************************************************* */

struct kmem_cache *kmalloc_caches[NR_KMALLOC_TYPES][KMALLOC_SHIFT_HIGH + 1];

static void *fz_alloc(size_t size, gfp_t flags)
{
	if (!(flags & __GFP_DIRECT_RECLAIM) && fz_fail_atomic && !--fz_fail_atomic)
		return NULL;
	return flags & __GFP_ZERO ? calloc(1, size) : malloc(size);
}

void *__kmalloc_noprof(size_t size, gfp_t flags)
{
	return fz_alloc(size, flags);
}

void *__kmalloc_cache_noprof(struct kmem_cache *s, gfp_t flags, size_t size)
{
	return fz_alloc(size, flags);
}

void *__kvmalloc_node_noprof(DECL_BUCKET_PARAMS(size, b), gfp_t flags, int node)
{
	return fz_alloc(size, flags);
}

void kfree(const void *p)
{
	free((void *)p);
}

void kvfree(const void *p)
{
	free((void *)p);
}

void kvfree_call_rcu(struct rcu_head *head, void *p)
{
	free(p);
}

void __percpu *pcpu_alloc_noprof(size_t size, size_t align, bool reserved, gfp_t gfp)
{
	return (void __percpu *)calloc(1, size);
}

void free_percpu(void __percpu *p)
{
	free((void *)p);
}

/* the struct page of byte n of the arena is fz_map[n / PAGE_SIZE] */
u8 fz_arena[FZ_PAGES * PAGE_SIZE] __aligned(PAGE_SIZE);
static struct page fz_map[FZ_PAGES] __aligned(64);
unsigned long vmemmap_base = (unsigned long)fz_map;
unsigned long page_offset_base = (unsigned long)fz_arena;

struct static_key_false hugetlb_optimize_vmemmap_key, devmap_managed_key;

bool __put_devmap_managed_folio_refs(struct folio *folio, int refs)
{
	return false;
}

/* The lower half of the arena has the regions, the upper half the allocated pages. */
static u32 fz_next_page;

bool skb_page_frag_refill(unsigned int size, struct page_frag *frag, gfp_t gfp)
{
	u32 n = max_t(u32, DIV_ROUND_UP(size, PAGE_SIZE), 1), i;

	if (frag->page) {
		if (frag->offset + size <= frag->size)
			return true;
		put_page(frag->page);
		frag->page = NULL;
	}
	for (i = 0; i < n && fz_next_page + i < FZ_PAGES; i++)
		fz_must(page_count(&fz_map[fz_next_page + i]) == 0);
	if (i < n)
		return false;
	frag->page = &fz_map[fz_next_page];
	fz_next_page += n;
	if (fz_next_page + 8 >= FZ_PAGES)
		fz_next_page = FZ_PAGES / 2;
	init_page_count(frag->page);
	fz_pages_used++;
	frag->offset = 0;
	frag->size = n * PAGE_SIZE;
	return true;
}

static struct shrinker fz_shrinker;

struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...)
{
	return &fz_shrinker;
}

void shrinker_register(struct shrinker *shrinker) {}
void shrinker_free(struct shrinker *shrinker) {}

void __folio_put(struct folio *folio)
{
	fz_pages_used--;
}

/* Locks ******************************************************************** */

static void fz_lock(raw_spinlock_t *lock)
{
	fz_must(!lock->raw_lock.val.counter);
	lock->raw_lock.val.counter = 1;
}

static void fz_unlock(raw_spinlock_t *lock)
{
	fz_must(lock->raw_lock.val.counter == 1);
	lock->raw_lock.val.counter = 0;
}

void _raw_spin_lock(raw_spinlock_t *lock) { fz_lock(lock); }
void _raw_spin_unlock(raw_spinlock_t *lock) { fz_unlock(lock); }
void _raw_spin_lock_bh(raw_spinlock_t *lock) { fz_lock(lock); }
void _raw_spin_unlock_bh(raw_spinlock_t *lock) { fz_unlock(lock); }
void _raw_spin_lock_irq(raw_spinlock_t *lock) { fz_lock(lock); }
void _raw_spin_unlock_irq(raw_spinlock_t *lock) { fz_unlock(lock); }
unsigned long _raw_spin_lock_irqsave(raw_spinlock_t *lock) { fz_lock(lock); return 0; }
void _raw_spin_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags) { fz_unlock(lock); }
void _raw_read_lock_bh(rwlock_t *lock) {}
void _raw_read_unlock_bh(rwlock_t *lock) {}
void _raw_write_lock_bh(rwlock_t *lock) {}
void _raw_write_unlock_bh(rwlock_t *lock) {}

/* the preempt count, with disabled softirqs; here per-CPU data is at its own address */
DEFINE_PER_CPU_ALIGNED(struct pcpu_hot, pcpu_hot) = {
	.preempt_count = PREEMPT_ENABLED,
};

void __local_bh_enable_ip(unsigned long ip, unsigned int count)
{
	fz_must(preempt_count() >= count);
	preempt_count_sub(count);
}

void __rcu_read_lock(void) {}
void __rcu_read_unlock(void) {}
void synchronize_rcu(void) {}
void rcu_barrier(void) {}

void __mutex_init(struct mutex *lock, const char *name, struct lock_class_key *key)
{
	atomic_long_set(&lock->owner, 0);
}

int mutex_trylock(struct mutex *lock)
{
	if (atomic_long_read(&lock->owner))
		return 0;
	atomic_long_set(&lock->owner, 1);
	return 1;
}

void mutex_lock(struct mutex *lock)
{
	fz_must(mutex_trylock(lock));
}

void mutex_unlock(struct mutex *lock)
{
	fz_must(atomic_long_read(&lock->owner));
	atomic_long_set(&lock->owner, 0);
}

void __init_swait_queue_head(struct swait_queue_head *q, const char *name,
			     struct lock_class_key *key)
{
}

void complete(struct completion *x)
{
	x->done++;
}

void wait_for_completion(struct completion *x)
{
	/* with one thread, a wait that does not end now never ends */
	fz_must(x->done);
}

void usleep_range_state(unsigned long min, unsigned long max, unsigned int state)
{
	fz_broken("a wait for another thread");
}

void refcount_warn_saturate(refcount_t *r, enum refcount_saturation_type t)
{
	fz_broken("reference count");
}

bool __list_add_valid_or_report(struct list_head *new, struct list_head *prev,
				struct list_head *next)
{
	return prev->next == next && next->prev == prev;
}

bool __list_del_entry_valid_or_report(struct list_head *entry)
{
	return entry->prev->next == entry && entry->next->prev == entry;
}

/* a place where the kernel may schedule */
int fz_resched(void) asm("__SCT__might_resched");
int fz_resched(void)
{
	return 0;
}

int fz_cond_resched(void) asm("__SCT__cond_resched");
int fz_cond_resched(void)
{
	return 0;
}

void fz_preempt(void) asm("__SCT__preempt_schedule");
void fz_preempt(void) {}

struct static_key_false rfs_needed;

/* Odds and ends ************************************************************ */

unsigned long __per_cpu_offset[NR_CPUS];
DEFINE_PER_CPU_READ_MOSTLY(unsigned long, this_cpu_off);
unsigned int nr_cpu_ids = 1;
struct cpumask __cpu_possible_mask = { { 1 } };
const struct kernel_param_ops param_ops_uint, param_ops_bool, param_ops_int, param_ops_ulong;
struct module __this_module;

u8 get_random_u8(void)
{
	return 0x5a;
}

u32 get_random_u32(void)
{
	return 0;
}

u32 __get_random_u32_below(u32 ceil)
{
	return 0;
}

unsigned long __msecs_to_jiffies(const unsigned int m)
{
	return m;
}

void init_timer_key(struct timer_list *timer, void (*func)(struct timer_list *),
		    unsigned int flags, const char *name, struct lock_class_key *key)
{
}

void delayed_work_timer_fn(struct timer_list *t)
{
}

/* one processor */
unsigned int __bitmap_weight(const unsigned long *bitmap, unsigned int bits)
{
	return bitmap[0] & 1;
}

unsigned long _find_next_bit(const unsigned long *bitmap, unsigned long bits, unsigned long start)
{
	return start || !(bitmap[0] & 1) ? bits : 0;
}

/* Arrays by index, large enough for the few entries of a fuzzed RNIC. */
#define FZ_ENTRIES 64
static struct {
	struct xarray *xa;
	unsigned long index;
	void *entry;
} fz_entries[FZ_ENTRIES];

static void **fz_slot(struct xarray *xa, unsigned long index, bool make)
{
	int i, empty = -1;

	for (i = 0; i < FZ_ENTRIES; i++) {
		if (fz_entries[i].xa == xa && fz_entries[i].index == index)
			return &fz_entries[i].entry;
		if (!fz_entries[i].xa && empty < 0)
			empty = i;
	}
	if (!make)
		return NULL;
	fz_must(empty >= 0);
	fz_entries[empty].xa = xa;
	fz_entries[empty].index = index;
	return &fz_entries[empty].entry;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	void **slot = fz_slot(xa, index, false);

	return slot ? *slot : NULL;
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	void **slot = fz_slot(xa, index, true);
	void *old = *slot;

	*slot = entry;
	return old;
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	int i;

	for (i = 0; i < FZ_ENTRIES; i++) {
		if (fz_entries[i].xa == xa && fz_entries[i].index == index) {
			void *old = fz_entries[i].entry;

			memset(&fz_entries[i], 0, sizeof(fz_entries[i]));
			return old;
		}
	}
	return NULL;
}

void xa_destroy(struct xarray *xa)
{
}

/* the lowest free index, so that STags are the same in each run */
int __xa_alloc_cyclic(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit,
		      u32 *next, gfp_t gfp)
{
	u32 i;

	for (i = max(limit.min, 1U); i <= limit.max; i++) {
		if (fz_slot(xa, i, false))
			continue;
		*fz_slot(xa, i, true) = entry;
		*id = i;
		return 0;
	}
	return -EBUSY;
}

int __xa_alloc(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, gfp_t gfp)
{
	u32 next;

	return __xa_alloc_cyclic(xa, id, entry, limit, &next, gfp);
}

/* Work items *************************************************************** */

#define FZ_WORKS 32
static struct work_struct *fz_works[FZ_WORKS];
static u32 fz_nworks;
static struct delayed_work *fz_timer[FZ_WORKS];

static bool fz_dequeue(struct work_struct *work)
{
	u32 i;

	for (i = 0; i < fz_nworks && fz_works[i] != work; i++)
		;
	if (i == fz_nworks)
		return false;
	memmove(&fz_works[i], &fz_works[i + 1], (--fz_nworks - i) * sizeof(fz_works[0]));
	clear_bit(WORK_STRUCT_PENDING_BIT, work_data_bits(work));
	return true;
}

bool queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
{
	if (test_and_set_bit(WORK_STRUCT_PENDING_BIT, work_data_bits(work)))
		return false;
	fz_must(fz_nworks < FZ_WORKS);
	fz_works[fz_nworks++] = work;
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	return fz_dequeue(work);
}

bool flush_work(struct work_struct *work)
{
	if (!fz_dequeue(work))
		return false;
	work->func(work);
	return true;
}

/* no time passes, and completion events are not moderated */
void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode)
{
	memset(timer, 0, sizeof(*timer));
}

int hrtimer_cancel(struct hrtimer *timer)
{
	return 0;
}

ktime_t ktime_get(void)
{
	return 0;
}

ktime_t ktime_mono_to_any(ktime_t mono, enum tk_offsets offs)
{
	return mono;
}

bool mod_delayed_work_on(int cpu, struct workqueue_struct *wq, struct delayed_work *work,
			 unsigned long delay)
{
	u32 i, empty = FZ_WORKS;

	for (i = FZ_WORKS; i-- > 0;) {
		if (fz_timer[i] == work)
			return true;
		if (!fz_timer[i])
			empty = i;
	}
	fz_must(empty < FZ_WORKS);
	fz_timer[empty] = work;
	return false;
}

bool queue_delayed_work_on(int cpu, struct workqueue_struct *wq, struct delayed_work *work,
			   unsigned long delay)
{
	return !mod_delayed_work_on(cpu, wq, work, delay);
}

bool cancel_delayed_work_sync(struct delayed_work *work)
{
	bool found = fz_dequeue(&work->work);
	u32 i;

	for (i = 0; i < FZ_WORKS; i++) {
		if (fz_timer[i] == work) {
			fz_timer[i] = NULL;
			found = true;
		}
	}
	return found;
}

bool cancel_delayed_work(struct delayed_work *work)
{
	return cancel_delayed_work_sync(work);
}

void fz_fire_timers(void)
{
	u32 i;

	for (i = 0; i < FZ_WORKS; i++) {
		struct delayed_work *work = fz_timer[i];

		fz_timer[i] = NULL;
		if (work)
			work->work.func(&work->work);
	}
}

/* Run work items while there are any. Work that queues itself for ever is a fault. */
void fz_run_works(void)
{
	u32 i;

	for (i = 0; fz_nworks; i++) {
		fz_must(i < 10000 && !preempt_count());
		flush_work(fz_works[0]);
	}
}

/* TCP ********************************************************************** */

/* Socket buffers that the receiver has not taken. Each has one piece or several. */
static struct fz_skb {
	struct sk_buff skb;
	struct skb_shared_info info;
	struct fz_skb *next;
	u32 taken;
} *fz_skbs;
static bool fz_sock_locked;

static void fz_skb_free(struct fz_skb *s)
{
	struct sk_buff *part, *next;

	for (part = s->info.frag_list; part; part = next) {
		next = part->next;
		free(part->data);
		free(container_of(part, struct fz_skb, skb));
	}
	free(s->skb.data);
	free(s);
}

/* A piece of the exact size, so that AddressSanitizer finds an access beyond. */
static struct fz_skb *fz_skb_piece(const u8 *p, u32 n)
{
	struct fz_skb *s = calloc(1, sizeof(*s));

	s->skb.head = (void *)&s->info;
	s->skb.data = malloc(n);
	s->skb.len = n;
	memcpy(s->skb.data, p, n);
	return s;
}

void fz_arrive(const u8 *p, u32 n)
{
	static const u32 sizes[] = { U32_MAX, 128, 1024, 3000 };
	const u32 size = sizes[n % ARRAY_SIZE(sizes)];
	struct fz_skb *s = fz_skb_piece(p, min(n, size)), **end = &fz_skbs;
	struct sk_buff **part = &s->info.frag_list;
	u32 at;

	for (at = s->skb.len; at < n; at += min(n - at, size)) {
		*part = &fz_skb_piece(p + at, min(n - at, size))->skb;
		part = &(*part)->next;
	}
	s->skb.data_len = n - s->skb.len;
	s->skb.len = n;
	s->skb.unreadable = fz_unreadable && !--fz_unreadable;
	while (*end)
		end = &(*end)->next;
	*end = s;
}

/* The piece that contains the byte at @off. @off becomes the offset in it. */
static const struct sk_buff *fz_skb_at(const struct sk_buff *skb, u32 *off)
{
	const struct sk_buff *part = skb;
	u32 len;

	while (*off >= (len = part->len - part->data_len)) {
		*off -= len;
		part = part == skb ? skb_shinfo(skb)->frag_list : part->next;
	}
	return part;
}

void lock_sock_nested(struct sock *sk, int subclass)
{
	fz_must(!fz_sock_locked);
	fz_sock_locked = true;
}

void release_sock(struct sock *sk)
{
	fz_must(fz_sock_locked);
	fz_sock_locked = false;
}

int tcp_read_sock(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor)
{
	struct fz_skb *s;
	int done = 0, n;

	while ((s = fz_skbs)) {
		n = actor(desc, &s->skb, s->taken, s->skb.len - s->taken);
		if (n <= 0)
			return done ?: n;
		fz_must(n <= s->skb.len - s->taken);
		s->taken += n;
		tcp_sk(sk)->copied_seq += n;
		done += n;
		if (s->taken < s->skb.len)
			break;
		fz_skbs = s->next;
		fz_skb_free(s);
	}
	return done;
}

int skb_copy_bits(const struct sk_buff *skb, int offset, void *to, int len)
{
	const struct sk_buff *part;
	u32 off, n;

	if (offset < 0 || len < 0 || offset > (int)skb->len - len)
		return -EFAULT;
	fz_must(!skb->unreadable);
	for (; len; to += n, offset += n, len -= n) {
		off = offset;
		part = fz_skb_at(skb, &off);
		n = min((u32)len, part->len - part->data_len - off);
		memcpy(to, part->data + off, n);
	}
	return 0;
}

void skb_prepare_seq_read(struct sk_buff *skb, unsigned int from, unsigned int to,
			  struct skb_seq_state *st)
{
	st->lower_offset = from;
	st->upper_offset = to;
	st->cur_skb = skb;
	st->root_skb = skb;
}

unsigned int skb_seq_read(unsigned int consumed, const u8 **data, struct skb_seq_state *st)
{
	u32 at = st->lower_offset + consumed;
	const struct sk_buff *part;

	if (at >= st->upper_offset)
		return 0;
	fz_must(at < st->root_skb->len);
	part = fz_skb_at(st->root_skb, &at);
	*data = part->data + at;
	return part->len - part->data_len - at;
}

bool tcp_stream_memory_free(const struct sock *sk, int wake)
{
	return true;
}

void iov_iter_bvec(struct iov_iter *i, unsigned int direction, const struct bio_vec *bvec,
		   unsigned long nr_segs, size_t count)
{
	*i = (struct iov_iter){
		.iter_type = ITER_BVEC,
		.data_source = direction,
		.bvec = bvec,
		.nr_segs = nr_segs,
		.count = count,
	};
}

int tcp_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t size)
{
	size_t left = msg->msg_iter.count, n;
	const struct bio_vec *bv = msg->msg_iter.bvec;
	int done = 0;

	fz_must(fz_sock_locked && size == left);
	if (READ_ONCE(sk->sk_state) == TCP_CLOSE)
		return -EPIPE;
	if (fz_send_room)
		left = min(left, (size_t)fz_send_room);
	fz_must(msg->msg_flags & MSG_DONTWAIT);
	for (; left; bv++) {
		n = min(left, (size_t)bv->bv_len);
		fz_must(page_count(bv->bv_page) > 0);
		fz_sent(page_address(bv->bv_page) + bv->bv_offset, n);
		left -= n;
		done += n;
	}
	return done;
}

/* The kAL ****************************************************************** */

u32 ri_crc32c(u32 crc, const void *address, size_t length)
{
	static u32 table[256];
	const u8 *p = address;
	u32 i, bit;

	for (i = 0; !table[255] && i < 256; i++) {
		table[i] = i;
		for (bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
	}
	while (length--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 255];
	return crc;
}

struct ri_rnic *_ri_rnic_alloc(const struct ri_ops *ops, size_t size)
{
	struct ri_rnic *rnic = calloc(1, size);

	rnic->ops = ops;
	return rnic;
}

void ri_rnic_put(struct ri_rnic *rnic)
{
	free(rnic);
}

int ri_register_rnic(struct ri_rnic *rnic, const char *name)
{
	rnic->netdev = rnic->attr.netdev;
	fz_rnic = rnic;
	return 0;
}

void ri_completion_event(struct ri_cq *cq)
{
}

void ri_async_event(struct ri_rnic *rnic, const struct ri_async_event *event)
{
	fz_must(rnic == fz_rnic && event->type < RI_OBJ_TYPES && event->id);
}

void ri_llp_close(struct ri_llp *llp, int status)
{
	fz_must(!fz_sock_locked);
	fz_llp_returned++;
}

void ri_llp_abort(struct ri_llp *llp, int status)
{
	ri_llp_close(llp, status);
}

void *ri_qp_alloc(struct ri_qp *qp, size_t size, bool may_sleep)
{
	return may_sleep ? kvmalloc(size, GFP_NOIO) : kmalloc(size, GFP_ATOMIC);
}

struct ri_shmem *ri_shmem_alloc(struct ri_ucontext *uctx, size_t size)
{
	struct ri_shmem *shm = calloc(1, sizeof(*shm));

	shm->addr = calloc(1, size);
	shm->size = size;
	return shm;
}

void ri_shmem_free(struct ri_shmem *shm)
{
	if (!shm)
		return;
	free(shm->addr);
	free(shm);
}

/* a "user address" is an address of the arena */
struct ri_vm_region *fz_pin(u64 start, u64 length, bool writable)
{
	struct ri_vm_region *region = calloc(1, sizeof(*region));
	u64 first = (start - (u64)fz_arena) >> PAGE_SHIFT, i;

	region->offset = offset_in_page(start);
	region->npages = DIV_ROUND_UP(region->offset + length, PAGE_SIZE);
	region->writable = writable;
	region->pages = calloc(region->npages, sizeof(*region->pages));
	for (i = 0; i < region->npages; i++)
		region->pages[i] = &fz_map[first + i];
	return region;
}

void fz_unpin(struct ri_vm_region *region)
{
	if (!region)
		return;
	free(region->pages);
	free(region);
}

void fz_kernel_begin(void)
{
	fz_next_page = FZ_PAGES / 2;
	fz_llp_returned = 0;
	fz_must(!fz_pages_used);
}

/* Check that nothing is left of a stream. */
void fz_kernel_end(void)
{
	struct fz_skb *s;

	fz_must(!fz_nworks && !fz_sock_locked && !fz_pages_used && !preempt_count());
	while ((s = fz_skbs)) {
		fz_skbs = s->next;
		fz_skb_free(s);
	}
}
