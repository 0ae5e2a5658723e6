// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Domains, pools and keys of the transport on kDAPL.
 *
 * A domain is a protection zone. A message pool is one piece of memory with one LMR of local
 * rights. A key of an RDMA pool is an LMR that fast registrations name memory with.
 *
 * Fast registrations are undone by requests of an endpoint. When the connection has ended first,
 * the RNIC may still know the key, and an endpoint of the same domain could be used to reach the
 * memory. Then the key gets another LMR by a work item, which makes the old one void, and SDP is
 * notified of the end of the key after that.
 */
#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "kdapl.h"

/* the old LMR of a key may have requests for some moments */
#define SDP_KDAPL_RENEW_DELAY	1	/* jiffies */

/* Domains ******************************************************************* */

/**
 * sdp_kdapl_domain_get() - count the domain of a token, make it if it is new
 * @device: device; its sem is held for reading and it is not gone
 * @token: SDP's name for the domain
 *
 * Return: the domain or an ERR_PTR(). Context: may sleep.
 */
struct sdp_kdapl_domain *sdp_kdapl_domain_get(struct sdp_kdapl_device *device, const void *token)
{
	struct sdp_kdapl_domain *domain;
	DAT_RETURN ret;

	guard(mutex)(&device->domains_lock);
	list_for_each_entry(domain, &device->domains, list) {
		if (domain->token != token)
			continue;
		domain->refs++;
		return domain;
	}
	domain = kzalloc(sizeof(*domain), GFP_KERNEL_ACCOUNT);
	if (!domain)
		return ERR_PTR(-ENOMEM);
	ret = dat_pz_create(device->ia, &domain->pz);
	if (ret != DAT_SUCCESS) {
		kfree(domain);
		return ERR_PTR(sdp_kdapl_errno(ret));
	}
	domain->token = token;
	domain->refs = 1;
	list_add(&domain->list, &device->domains);
	return domain;
}

/** sdp_kdapl_domain_put() - give it back; device->sem is held for reading; may sleep */
void sdp_kdapl_domain_put(struct sdp_kdapl_device *device, struct sdp_kdapl_domain *domain)
{
	guard(mutex)(&device->domains_lock);
	if (--domain->refs)
		return;
	list_del(&domain->list);
	if (!device->gone)
		WARN_ON_ONCE(dat_pz_free(domain->pz) != DAT_SUCCESS);
	kfree(domain);
}

/* Keys ********************************************************************** */

/* Give the key another LMR. device->sem is held for reading. Return: false: not yet */
static bool sdp_kdapl_key_change(struct sdp_kdapl_pool *pool, struct sdp_kdapl_key *key)
{
	struct sdp_kdapl_device *device = pool->device;
	DAT_RETURN ret;

	/* the LMRs went with the IA */
	if (device->gone)
		return true;
	if (key->lmr) {
		ret = dat_lmr_free(key->lmr);
		if (ret != DAT_SUCCESS)
			return false;
		key->lmr = DAT_HANDLE_NULL;
	}
	/* without one, key_post() asks for it again */
	if (dat_lmr_allocate(device->ia, pool->domain->pz, pool->ot.attr.size, DAT_LMR_SCOPE_PZ,
			     &key->lmr) != DAT_SUCCESS)
		key->lmr = DAT_HANDLE_NULL;
	return true;
}

/* The key has a new LMR: who waits for it? */
static void sdp_kdapl_key_renewed(struct sdp_kdapl_pool *pool, struct sdp_kdapl_key *key)
{
	struct sdp_kdapl_post *waiting;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	waiting = key->waiting;
	key->waiting = NULL;
	key->named = false;
	if (key->given_back) {
		key->given_back = false;
		list_add_tail(&key->ot.list, &pool->free);
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	if (waiting)
		sdp_kdapl_post_renewed(waiting);
}

static struct sdp_kdapl_key *sdp_kdapl_key_next(struct sdp_kdapl_pool *pool)
{
	struct sdp_kdapl_key *key;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	key = list_first_entry_or_null(&pool->renewing, struct sdp_kdapl_key, renew);
	if (key)
		list_del_init(&key->renew);
	spin_unlock_irqrestore(&pool->lock, flags);
	return key;
}

static void sdp_kdapl_keys_renew(struct work_struct *work)
{
	struct sdp_kdapl_pool *pool = container_of(to_delayed_work(work), struct sdp_kdapl_pool,
						   renew);
	u32 tries = pool->ot.attr.elements;
	struct sdp_kdapl_key *key;
	unsigned long flags;
	bool changed;

	while (tries-- && (key = sdp_kdapl_key_next(pool))) {
		scoped_guard(rwsem_read, &pool->device->sem)
			changed = sdp_kdapl_key_change(pool, key);
		if (changed) {
			sdp_kdapl_key_renewed(pool, key);
			continue;
		}
		spin_lock_irqsave(&pool->lock, flags);
		list_add_tail(&key->renew, &pool->renewing);
		spin_unlock_irqrestore(&pool->lock, flags);
		queue_delayed_work(sdp_kdapl_wq, &pool->renew, SDP_KDAPL_RENEW_DELAY);
	}
}

/**
 * sdp_kdapl_key_renew() - give a key another LMR, later
 * @key: key
 * @waiting: sdp_kdapl_post_renewed() is called for it then; or NULL
 *
 * Context: atomic.
 */
void sdp_kdapl_key_renew(struct sdp_kdapl_key *key, struct sdp_kdapl_post *waiting)
{
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(key->ot.pool);
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	if (waiting)
		key->waiting = waiting;
	if (list_empty(&key->renew))
		list_add_tail(&key->renew, &pool->renewing);
	spin_unlock_irqrestore(&pool->lock, flags);
	queue_delayed_work(sdp_kdapl_wq, &pool->renew, 0);
}

struct sdp_ot_key *sdp_kdapl_key_get(struct sdp_ot_pool *ot)
{
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(ot);
	struct sdp_ot_key *key;
	unsigned long flags;

	if (ot->attr.kind != SDP_OT_POOL_RDMA)
		return NULL;
	spin_lock_irqsave(&pool->lock, flags);
	key = list_first_entry_or_null(&pool->free, struct sdp_ot_key, list);
	if (key) {
		list_del_init(&key->list);
		pool->used++;
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return key;
}

void sdp_kdapl_key_put(struct sdp_ot_key *ot)
{
	struct sdp_kdapl_key *key = sdp_kdapl_key(ot);
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(ot->pool);
	unsigned long flags;
	bool renew;

	spin_lock_irqsave(&pool->lock, flags);
	pool->used--;
	/* one that is named still, or has no LMR, is not for others */
	renew = (key->named || !key->lmr) && !READ_ONCE(pool->device->gone);
	if (renew)
		key->given_back = true;
	else
		list_add_tail(&ot->list, &pool->free);
	spin_unlock_irqrestore(&pool->lock, flags);
	if (renew)
		sdp_kdapl_key_renew(key, NULL);
}

static int sdp_kdapl_keys_make(struct sdp_kdapl_pool *pool)
{
	const struct sdp_ot_pool_attr *attr = &pool->ot.attr;
	struct sdp_kdapl_key *key;
	DAT_RETURN ret;
	u32 i;

	pool->keys = kvcalloc(attr->elements, sizeof(*pool->keys), GFP_KERNEL_ACCOUNT);
	if (!pool->keys)
		return -ENOMEM;
	for (i = 0; i < attr->elements; i++) {
		key = &pool->keys[i];
		key->ot.pool = &pool->ot;
		INIT_LIST_HEAD(&key->renew);
		key->sgl = kvcalloc(attr->size, sizeof(*key->sgl), GFP_KERNEL_ACCOUNT);
		if (!key->sgl)
			return -ENOMEM;
		key->sgl_num = attr->size;
		sg_init_table(key->sgl, key->sgl_num);
		ret = dat_lmr_allocate(pool->device->ia, pool->domain->pz, attr->size,
				       DAT_LMR_SCOPE_PZ, &key->lmr);
		if (ret != DAT_SUCCESS)
			return sdp_kdapl_errno(ret);
		list_add_tail(&key->ot.list, &pool->free);
	}
	return 0;
}

/* Buffers ******************************************************************* */

struct sdp_ot_buf *sdp_kdapl_pool_get(struct sdp_ot_pool *ot)
{
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(ot);
	struct sdp_ot_buf *buf;
	unsigned long flags;

	if (ot->attr.kind != SDP_OT_POOL_MESSAGE)
		return NULL;
	spin_lock_irqsave(&pool->lock, flags);
	buf = list_first_entry_or_null(&pool->free, struct sdp_ot_buf, list);
	if (buf) {
		list_del_init(&buf->list);
		pool->used++;
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return buf;
}

void sdp_kdapl_pool_put(struct sdp_ot_buf *buf)
{
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(buf->pool);
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	pool->used--;
	/* the last one is the warmest */
	list_add(&buf->list, &pool->free);
	spin_unlock_irqrestore(&pool->lock, flags);
}

static int sdp_kdapl_bufs_make(struct sdp_kdapl_pool *pool)
{
	const struct sdp_ot_pool_attr *attr = &pool->ot.attr;
	const size_t stride = ALIGN((size_t)attr->size, L1_CACHE_BYTES);
	DAT_REGION_DESCRIPTION region;
	struct sdp_ot_buf *buf;
	DAT_RMR_CONTEXT remote;
	DAT_VADDR address;
	DAT_VLEN length;
	DAT_RETURN ret;
	u32 i;

	pool->bufs = kvcalloc(attr->elements, sizeof(*pool->bufs), GFP_KERNEL_ACCOUNT);
	/*
	 * SDP goes on without it: nobody is to be killed for it, and pages that are not side by
	 * side will do
	 */
	pool->memory = kvcalloc(attr->elements, stride,
				GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	if (!pool->bufs || !pool->memory)
		return -ENOMEM;
	region.for_va = pool->memory;
	ret = dat_lmr_kcreate(pool->device->ia, DAT_MEM_TYPE_VIRTUAL, region,
			      attr->elements * stride, pool->domain->pz,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &pool->lmr,
			      &pool->context, &remote, &length, &address);
	if (ret != DAT_SUCCESS)
		return sdp_kdapl_errno(ret);
	/* @address may be below the memory's */
	pool->base = (uintptr_t)pool->memory;
	for (i = 0; i < attr->elements; i++) {
		buf = &pool->bufs[i];
		buf->pool = &pool->ot;
		buf->data = pool->memory + i * stride;
		buf->size = attr->size;
		list_add_tail(&buf->list, &pool->free);
	}
	return 0;
}

/* Pools ********************************************************************* */

/* Free what there is of a pool. device->sem is held for reading. */
static void sdp_kdapl_pool_free(struct sdp_kdapl_pool *pool)
{
	struct sdp_kdapl_device *device = pool->device;
	struct sdp_kdapl_key *key;
	u32 i;

	if (pool->lmr && !device->gone)
		WARN_ON_ONCE(dat_lmr_free(pool->lmr) != DAT_SUCCESS);
	for (i = 0; pool->keys && i < pool->ot.attr.elements; i++) {
		key = &pool->keys[i];
		if (key->lmr && !device->gone)
			WARN_ON_ONCE(dat_lmr_free(key->lmr) != DAT_SUCCESS);
		kvfree(key->sgl);
	}
	if (pool->domain)
		sdp_kdapl_domain_put(device, pool->domain);
	kvfree(pool->keys);
	kvfree(pool->bufs);
	kvfree(pool->memory);
}

/* Make what there is to be in a pool. device->sem is held for reading. */
static int sdp_kdapl_pool_make(struct sdp_kdapl_pool *pool)
{
	struct sdp_kdapl_domain *domain;

	if (pool->device->gone)
		return -ENODEV;
	domain = sdp_kdapl_domain_get(pool->device, pool->ot.attr.domain);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	pool->domain = domain;
	return pool->ot.attr.kind == SDP_OT_POOL_RDMA ? sdp_kdapl_keys_make(pool) :
							sdp_kdapl_bufs_make(pool);
}

static int sdp_kdapl_pool_check(const struct sdp_ot_device *device,
				const struct sdp_ot_pool_attr *attr)
{
	if (attr->kind != SDP_OT_POOL_MESSAGE && attr->kind != SDP_OT_POOL_RDMA)
		return -EINVAL;
	if (!attr->elements || !attr->size || attr->elements > INT_MAX || attr->size > INT_MAX)
		return -EINVAL;
	if (attr->kind == SDP_OT_POOL_RDMA)
		return attr->size > device->max_pages ? -EINVAL : 0;
	return attr->segments > device->max_segments || attr->size > device->max_message ?
	       -EINVAL : 0;
}

struct sdp_ot_pool *sdp_kdapl_pool_create(struct sdp_ot_device *ot,
					  const struct sdp_ot_pool_attr *attr)
{
	struct sdp_kdapl_device *device = sdp_kdapl_device(ot);
	struct sdp_kdapl_pool *pool;
	int ret;

	might_sleep();
	ret = sdp_kdapl_pool_check(ot, attr);
	if (ret)
		return ERR_PTR(ret);
	pool = kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->ot.device = ot;
	pool->ot.attr = *attr;
	pool->device = device;
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->free);
	INIT_LIST_HEAD(&pool->renewing);
	INIT_DELAYED_WORK(&pool->renew, sdp_kdapl_keys_renew);
	scoped_guard(rwsem_read, &device->sem) {
		ret = sdp_kdapl_pool_make(pool);
		if (ret)
			sdp_kdapl_pool_free(pool);
	}
	if (ret) {
		kfree(pool);
		return ERR_PTR(ret);
	}
	sdp_kdapl_device_get(ot);
	return &pool->ot;
}

/* Are keys waiting for other LMRs? */
static bool sdp_kdapl_pool_renews(struct sdp_kdapl_pool *pool)
{
	unsigned long flags;
	bool renews;

	spin_lock_irqsave(&pool->lock, flags);
	renews = !list_empty(&pool->renewing);
	spin_unlock_irqrestore(&pool->lock, flags);
	return renews;
}

void sdp_kdapl_pool_settle(struct sdp_ot_pool *ot)
{
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(ot);

	might_sleep();
	do {
		flush_delayed_work(&pool->renew);
	} while (sdp_kdapl_pool_renews(pool));
}

void sdp_kdapl_pool_destroy(struct sdp_ot_pool *ot)
{
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(ot);

	might_sleep();
	WARN_ON_ONCE(pool->used);
	sdp_kdapl_pool_settle(ot);
	cancel_delayed_work_sync(&pool->renew);
	scoped_guard(rwsem_read, &pool->device->sem)
		sdp_kdapl_pool_free(pool);
	sdp_kdapl_device_put(ot->device);
	kfree(pool);
}
