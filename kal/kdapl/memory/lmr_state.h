/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * States of the registrations of an LMR by work requests: a table, and the two registrations that
 * an LMR may have at a time. Pure: no lock, no memory, no RNIC.
 */
#ifndef KDAT_LMR_STATE_H
#define KDAT_LMR_STATE_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * enum kdat_reg_state - a registration
 * @KDAT_REG_FREE: none: the STag names nothing
 * @KDAT_REG_POSTED: its request is posted; the RNIC may read the page list
 * @KDAT_REG_POSTED_INV: and its invalidation is, too
 * @KDAT_REG_NAMED: the RNIC has carried it out: the STag names memory
 * @KDAT_REG_NAMED_INV: and its invalidation is posted
 * @KDAT_REG_UNKNOWN: its request was flushed, and the RNIC may have carried it out: neither a
 *	registration nor an invalidation is safe before the region has another STag
 */
enum kdat_reg_state {
	KDAT_REG_FREE,
	KDAT_REG_POSTED,
	KDAT_REG_POSTED_INV,
	KDAT_REG_NAMED,
	KDAT_REG_NAMED_INV,
	KDAT_REG_UNKNOWN,
	KDAT_REG_STATES,
};

/**
 * enum kdat_reg_event - what happens to a registration
 * @KDAT_REG_TAKE: its request is being posted
 * @KDAT_REG_DONE: the request has succeeded
 * @KDAT_REG_FAILED: it was refused, or flushed and certainly not carried out
 * @KDAT_REG_FLUSHED: it was flushed, see &ri_rnic_attr.flush_unsure
 * @KDAT_REG_INV: an invalidation is being posted
 * @KDAT_REG_INV_DONE: that has succeeded
 * @KDAT_REG_INV_FAILED: that was flushed or refused, so the RNIC still knows the STag
 * @KDAT_REG_LOST: the peer has invalidated the STag
 * @KDAT_REG_REPLACED: the RNIC has carried out a later registration of the same LMR
 * @KDAT_REG_RENEWED: the LMR has a new region of the RNIC, which was not registered yet
 */
enum kdat_reg_event {
	KDAT_REG_TAKE,
	KDAT_REG_DONE,
	KDAT_REG_FAILED,
	KDAT_REG_FLUSHED,
	KDAT_REG_INV,
	KDAT_REG_INV_DONE,
	KDAT_REG_INV_FAILED,
	KDAT_REG_LOST,
	KDAT_REG_REPLACED,
	KDAT_REG_RENEWED,
	KDAT_REG_EVENTS,
};

/* what follows from an event */
#define KDAT_REGS_REFUSED	0x01	/* it is not allowed; nothing has changed */
#define KDAT_REGS_ENDED		0x02	/* the RNIC does not reach the memory any more */
#define KDAT_REGS_RAN		0x04	/* it was carried out: the other one is over */
#define KDAT_REGS_BACK		0x08	/* the registration before it is the present one again */

/**
 * struct kdat_regs - the registrations of an LMR
 * @state: enum kdat_reg_state of both
 * @now: the present one: the last that was posted, or, if that has failed, the one before it
 * @serial: numbers of both; a completion of any other number is too late to mean anything
 * @last: number of the last registration; never 0
 *
 * There are two because a consumer may post an invalidation and the next registration without
 * waiting. If both are flushed, the RNIC still has the first.
 */
struct kdat_regs {
	u8 state[2];
	u8 now;
	u32 serial[2];
	u32 last;
};

int kdat_regs_take(struct kdat_regs *regs, bool behind);
u32 kdat_regs_event(struct kdat_regs *regs, u32 serial, enum kdat_reg_event event);

/* Is registration @i there, as far as completions tell? */
static inline bool kdat_regs_has(const struct kdat_regs *regs, unsigned int i)
{
	return READ_ONCE(regs->state[i]) != KDAT_REG_FREE;
}

/* Will the present registration name memory when all posted requests are done? */
static inline bool kdat_regs_names(const struct kdat_regs *regs)
{
	const u8 state = READ_ONCE(regs->state[READ_ONCE(regs->now)]);

	return state == KDAT_REG_POSTED || state == KDAT_REG_NAMED;
}

static inline bool kdat_regs_is(const struct kdat_regs *regs, enum kdat_reg_state state)
{
	return READ_ONCE(regs->state[READ_ONCE(regs->now)]) == state;
}

#endif /* KDAT_LMR_STATE_H */
