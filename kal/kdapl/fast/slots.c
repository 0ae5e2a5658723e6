// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Slots of requests; see slots.h. */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "slots.h"

#define KDAT_SLOTS_LOOKS	8	/* of a search at all words */

/* of a queue that has no request */
static struct kdat_slot_block kdat_slots_none = { .free = { 0 } };

/* Free slots of @word while none is in use. The last word is for kDAPL's own. */
static unsigned long kdat_slots_all(const struct kdat_slot_block *block, u32 word)
{
	const u32 num = word < block->words ? block->num - word * BITS_PER_LONG : block->own;

	return num ? GENMASK(min_t(u32, num, BITS_PER_LONG) - 1, 0) : 0;
}

static void kdat_slots_open(struct kdat_slot_block *block)
{
	u32 i;

	for (i = 0; i <= block->words; i++)
		WRITE_ONCE(block->free[i], kdat_slots_all(block, i));
}

/* Let no slot be taken any more, unless some are in use. Return: false: some are. */
static bool kdat_slots_close(struct kdat_slot_block *block)
{
	unsigned long all;
	u32 i;

	for (i = 0; i <= block->words; i++) {
		all = kdat_slots_all(block, i);
		if (cmpxchg(&block->free[i], all, 0) == all)
			continue;
		while (i--)
			WRITE_ONCE(block->free[i], kdat_slots_all(block, i));
		return false;
	}
	return true;
}

static struct kdat_slot_block *kdat_slots_make(struct kdat_ep *ep, atomic_t *posted, u32 num,
					       u32 own)
{
	const u32 words = BITS_TO_LONGS(num);
	const u32 recvs = own ? 0 : num;
	struct kdat_slot_block *block;
	size_t size;
	u32 i;

	size = size_add(size_add(struct_size(block, free, words + 1),
				 array_size(num + own, sizeof(*block->dtos))),
			array_size(recvs, sizeof(*block->early)));
	block = kvzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!block)
		return NULL;
	block->words = words;
	block->num = num;
	block->own = own;
	block->posted = posted;
	block->dtos = (struct kdat_dto *)&block->free[words + 1];
	block->early = recvs ? (struct kdat_early *)&block->dtos[num] : NULL;
	for (i = 0; i < num + own; i++) {
		block->dtos[i].ep = ep;
		block->dtos[i].block = block;
		block->dtos[i].bit = i < num ? i : words * BITS_PER_LONG + i - num;
	}
	kdat_slots_open(block);
	return block;
}

/**
 * kdat_slots_init() - make the slots of a queue
 * @slots: to fill in
 * @ep: endpoint, NULL: an SRQ
 * @posted: where the slots in use of an SRQ are counted, or NULL
 * @num: most requests of the consumer
 * @own: most requests of kDAPL itself beside them, see kdat_slot_get_own(); one word at most. 0: it
 *	is a queue of receives
 *
 * Context: may sleep. Return: 0 or -ENOMEM; then the queue has no slot.
 */
int kdat_slots_init(struct kdat_slots *slots, struct kdat_ep *ep, atomic_t *posted, u32 num,
		    u32 own)
{
	struct kdat_slot_block *block = &kdat_slots_none;

	if (WARN_ON_ONCE(own > BITS_PER_LONG))
		own = BITS_PER_LONG;
	if (num)
		block = kdat_slots_make(ep, posted, num, own);
	spin_lock_init(&slots->lock);
	slots->blocks = block ?: &kdat_slots_none;
	return block ? 0 : -ENOMEM;
}

/* Make room for @num requests in an SRQ: no slot is freed. May sleep. Return: 0 or -ENOMEM. */
int kdat_slots_grow(struct kdat_slots *slots, u32 num)
{
	struct kdat_slot_block *block, *first = slots->blocks;

	for (block = first; block; block = block->next)
		num -= min(num, block->num);
	if (!num)
		return 0;
	block = kdat_slots_make(NULL, first->posted, num, 0);
	if (!block)
		return -ENOMEM;
	block->next = first;
	/* with kdat_slot_get(), which looks into the block */
	smp_store_release(&slots->blocks, block);
	return 0;
}

/* No request is in use. A post that comes too late does not write to memory of others. */
void kdat_slots_free(struct kdat_slots *slots)
{
	struct kdat_slot_block *block = slots->blocks, *next;

	slots->blocks = &kdat_slots_none;
	for (; block && block != &kdat_slots_none; block = next) {
		next = block->next;
		kvfree_rcu(block, rcu);
	}
}

/**
 * kdat_slots_swap() - exchange the slots of a queue, unless some are in use
 * @slots: queue, of an endpoint
 * @other: slots without another user
 * @to: becomes @qp at the same moment, or NULL: a post with a slot reads the queue pair after that
 * @qp: see @to
 *
 * Context: any. Return: false: nothing has changed.
 */
bool kdat_slots_swap(struct kdat_slots *slots, struct kdat_slots *other, struct ri_qp **to,
		     struct ri_qp *qp)
{
	struct kdat_slot_block *out;
	unsigned long flags;
	bool closed;

	spin_lock_irqsave(&slots->lock, flags);
	out = slots->blocks;
	closed = kdat_slots_close(out);
	if (closed) {
		kdat_slots_open(other->blocks);
		if (to)
			WRITE_ONCE(*to, qp);
		/* with the atomic operation of kdat_slot_get(): its caller sees @qp after that */
		smp_store_release(&slots->blocks, other->blocks);
		other->blocks = out;
	}
	spin_unlock_irqrestore(&slots->lock, flags);
	return closed;
}

/* Return: number of the consumer's requests in use. Any context. */
u32 kdat_slots_used(struct kdat_slots *slots)
{
	const struct kdat_slot_block *block;
	unsigned long flags;
	u32 i, used = 0;

	/* no exchange closes the block meanwhile */
	spin_lock_irqsave(&slots->lock, flags);
	for (block = slots->blocks; block; block = block->next)
		for (i = 0; i < block->words; i++)
			used += hweight_long(kdat_slots_all(block, i) &
					     ~READ_ONCE(block->free[i]));
	spin_unlock_irqrestore(&slots->lock, flags);
	return used;
}

/*
 * Is nothing posted, also by kDAPL itself, or nothing but what has completed and was taken from the
 * CQ?
 */
bool kdat_slots_idle(const struct kdat_slots *slots)
{
	const struct kdat_slot_block *block;
	u32 i;

	for (block = slots->blocks; block; block = block->next)
		for (i = 0; i <= block->words; i++)
			if (READ_ONCE(block->free[i]) != kdat_slots_all(block, i))
				return false;
	return true;
}

/* Return: the first slot in use after @dto, or, if that is NULL, of all; NULL: there is none. */
struct kdat_dto *kdat_slots_next(const struct kdat_slots *slots, struct kdat_dto *dto)
{
	const struct kdat_slot_block *block = dto ? dto->block : slots->blocks;
	u32 i = dto ? dto - block->dtos + 1 : 0;

	for (; block; block = block->next, i = 0)
		for (; i < block->num + block->own; i++)
			if (!test_bit(block->dtos[i].bit, block->free))
				return &block->dtos[i];
	return NULL;
}

/* Is a request of kDAPL's own posted, such as a registration? */
bool kdat_slots_has_internal(const struct kdat_slots *slots)
{
	struct kdat_dto *dto = NULL;

	while ((dto = kdat_slots_next(slots, dto)))
		if (READ_ONCE(dto->flags) & KDAT_DTO_INTERNAL)
			return true;
	return false;
}

/* Look at all words, with the lock held. @some: takes whether one was not empty after that. */
static struct kdat_dto *kdat_slots_scan(struct kdat_slots *slots, bool *some)
{
	struct kdat_slot_block *block;
	struct kdat_dto *dto;
	u32 i, word;

	*some = false;
	for (block = slots->blocks; block; block = block->next) {
		for (i = 0; i < block->words; i++) {
			word = (block->hint + i) % block->words;
			dto = kdat_slot_take_of(block, word);
			if (dto) {
				WRITE_ONCE(block->hint, word);
				return dto;
			}
		}
	}
	for (block = slots->blocks; block && !*some; block = block->next)
		for (i = 0; i < block->words && !*some; i++)
			*some = READ_ONCE(block->free[i]);
	return NULL;
}

/*
 * kdat_slot_get() has found none where it looked. Look everywhere, and wait for an exchange. Slots
 * are taken and given back without the lock. One may be given back where the search has been
 * already, so that a queue that was never full looks full.
 */
struct kdat_dto *kdat_slots_search(struct kdat_slots *slots)
{
	unsigned int looks = KDAT_SLOTS_LOOKS;
	struct kdat_dto *dto;
	unsigned long flags;
	bool some;

	spin_lock_irqsave(&slots->lock, flags);
	do
		dto = kdat_slots_scan(slots, &some);
	while (!dto && some && --looks);
	spin_unlock_irqrestore(&slots->lock, flags);
	return dto;
}

/* Take a slot for a request of kDAPL itself, which takes no place from the consumer's. */
struct kdat_dto *kdat_slot_get_own(struct kdat_slots *slots)
{
	struct kdat_slot_block *block = READ_ONCE(slots->blocks);
	const unsigned long free = kdat_slot_claim(&block->free[block->words]);
	struct kdat_dto *dto;

	if (!free)
		return NULL;
	dto = &block->dtos[block->num + __ffs(free)];
	WRITE_ONCE(dto->flags, KDAT_DTO_INTERNAL);
	return dto;
}

/* Give any slot back. */
void kdat_slot_clear(struct kdat_dto *dto)
{
	atomic_t *posted = dto->block->posted;

	dto->object = NULL;
	dto->ext_op = 0;
	WRITE_ONCE(dto->flags, 0);
	kdat_slot_put(dto);
	/* not before the slot is free: an SRQ with room has one */
	if (posted)
		atomic_dec_return_release(posted);
}
