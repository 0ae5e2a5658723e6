/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Slots: memory for the requests that a queue may have. Posts take a slot without a lock, and
 * completions give it back without one; a bit says whether it is free.
 */
#ifndef KDAT_SLOTS_H
#define KDAT_SLOTS_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <krdma/kdat.h>

struct kdat_ep;
struct kdat_obj;
struct kdat_slot_block;
struct ri_qp;

/* in kdat_dto.flags, beside DAT_COMPLETION_FLAGS */
#define KDAT_DTO_INTERNAL	BIT(16)	/* kDAPL's own: no event, whatever its result */
/*
 * Of an SRQ; or has, or may have, an ext_op or an object; or a receive that was posted before its
 * connection was reported
 */
#define KDAT_DTO_SPECIAL	BIT(17)

/**
 * struct kdat_dto - a posted request; its address is the wr_id of the work request
 * @ep: endpoint; NULL for a receive of an SRQ
 * @block: where it belongs
 * @cookie: the consumer's
 * @object: LMR or RMR of a registration, an invalidation or a bind; it has a use of it
 * @op: operation
 * @ext_op: DAT_IB_DTOS + 1 of an extension's operation, else 0
 * @flags: DAT_COMPLETION_FLAGS and KDAT_DTO_*; 0: it completes as most do, see kdat_dto_plain()
 * @length: bytes of the local segments
 * @bit: its number in the block's free slots
 * @serial: of a registration or an invalidation: number in kdat_lmr.regs
 *
 * While a slot is free, @object, @ext_op and @flags are 0.
 */
struct kdat_dto {
	struct kdat_ep *ep;
	struct kdat_slot_block *block;
	DAT_CONTEXT cookie;
	struct kdat_obj *object;
	DAT_DTOS op;
	int ext_op;
	u32 flags;
	u32 length;
	u32 bit;
	u32 serial;
};

/**
 * struct kdat_early - how a receive has completed whose connection is not reported yet
 * @next: the endpoint's next one
 * @status: enum ib_wc_status
 * @opcode: enum ib_wc_opcode
 * @flags: enum ib_wc_flags
 * @length: bytes
 * @more: ib_wc.ex
 */
struct kdat_early {
	struct kdat_dto *next;
	u32 status;
	u32 opcode;
	u32 flags;
	u32 length;
	u32 more;
};

/**
 * struct kdat_slot_block - some slots
 * @hint: word of @free to look at first
 * @words: words of @free for the consumer's requests; one more is for kDAPL's own
 * @num: consumer's requests
 * @own: kDAPL's own requests
 * @dtos: @num consumer's slots, then @own of kDAPL's; behind @free
 * @early: of a queue of receives: for each slot; behind @dtos. Else NULL
 * @posted: counts the slots in use of an SRQ, NULL: no SRQ
 * @next: of the same queue
 * @rcu: a post may still look at a block that is out of use
 * @free: bit set: the slot is free; all clear: the block is out of use
 */
struct kdat_slot_block {
	u32 hint;
	u32 words;
	u32 num;
	u32 own;
	struct kdat_dto *dtos;
	struct kdat_early *early;
	atomic_t *posted;
	struct kdat_slot_block *next;
	struct rcu_head rcu;
	unsigned long free[];
};

/**
 * struct kdat_slots - the requests that a queue may have
 * @blocks: their memory; never NULL
 * @lock: an exchange, and a search for a free slot; any context
 */
struct kdat_slots {
	struct kdat_slot_block *blocks;
	spinlock_t lock;	/* see above */
};

int kdat_slots_init(struct kdat_slots *slots, struct kdat_ep *ep, atomic_t *posted, u32 num,
		    u32 own);
int kdat_slots_grow(struct kdat_slots *slots, u32 num);
void kdat_slots_free(struct kdat_slots *slots);
bool kdat_slots_swap(struct kdat_slots *slots, struct kdat_slots *other, struct ri_qp **to,
		     struct ri_qp *qp);
u32 kdat_slots_used(struct kdat_slots *slots);
bool kdat_slots_idle(const struct kdat_slots *slots);
bool kdat_slots_has_internal(const struct kdat_slots *slots);
struct kdat_dto *kdat_slots_next(const struct kdat_slots *slots, struct kdat_dto *dto);
struct kdat_dto *kdat_slots_search(struct kdat_slots *slots);
struct kdat_dto *kdat_slot_get_own(struct kdat_slots *slots);
void kdat_slot_clear(struct kdat_dto *dto);

/* Clear the lowest bit of @word. Return: what the word was before; 0: it had none. */
static __always_inline unsigned long kdat_slot_claim(unsigned long *word)
{
	unsigned long free = READ_ONCE(*word);

	while (likely(free) && unlikely(!try_cmpxchg(word, &free, free & (free - 1))))
		;
	return free;
}

/* Take a free slot of one word of @block. Return: NULL: there is none. */
static __always_inline struct kdat_dto *kdat_slot_take_of(struct kdat_slot_block *block, u32 word)
{
	const unsigned long free = kdat_slot_claim(&block->free[word]);

	return likely(free) ? &block->dtos[word * BITS_PER_LONG + __ffs(free)] : NULL;
}

/*
 * Take a slot, in any context; in a section of RCU, unless an exchange is excluded otherwise. The
 * caller sets cookie, op and length, and the others where they are not 0.
 * Return: NULL: the queue is full.
 */
static __always_inline struct kdat_dto *kdat_slot_get(struct kdat_slots *slots)
{
	struct kdat_slot_block *block = READ_ONCE(slots->blocks);
	struct kdat_dto *dto = kdat_slot_take_of(block, READ_ONCE(block->hint));

	return likely(dto) ? dto : kdat_slots_search(slots);
}

/* Give a slot back whose object, ext_op and flags are 0; nothing reads it after that. */
static __always_inline void kdat_slot_put(struct kdat_dto *dto)
{
	/* with kdat_slot_take_of(): what the last user reads comes before the next one's writes */
	smp_mb__before_atomic();
	set_bit(dto->bit, dto->block->free);
}

#endif /* KDAT_SLOTS_H */
