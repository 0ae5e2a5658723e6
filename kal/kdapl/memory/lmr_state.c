// SPDX-License-Identifier: GPL-2.0 OR MIT
/* States of the registrations of an LMR; see lmr_state.h. */
#include <linux/errno.h>

#include "lmr_state.h"

/** struct kdat_reg_cell - the next state, and KDAT_REGS_REFUSED, _ENDED and _RAN */
struct kdat_reg_cell {
	u8 next;
	u8 flags;
};

/* cells of the table */
#define REG_TO(state)	{ KDAT_REG_##state, 0 }
#define REG_RAN(state)	{ KDAT_REG_##state, KDAT_REGS_RAN }
#define REG_END	{ KDAT_REG_FREE, KDAT_REGS_ENDED }
#define REG_RAN_END	{ KDAT_REG_FREE, KDAT_REGS_RAN | KDAT_REGS_ENDED }
#define REG_UNSURE	{ KDAT_REG_UNKNOWN, KDAT_REGS_ENDED }
#define REG_NO(state)	{ KDAT_REG_##state, KDAT_REGS_REFUSED }

/*
 * Completions may come in any order: those of two endpoints do, and the peer's invalidation is seen
 * in a receive. An invalidation by either end is proof that the registration was carried out, also
 * one that follows a flush. A cell that returns to its own state is one of a completion that cannot
 * come then.
 */
static const struct kdat_reg_cell kdat_reg_table[KDAT_REG_STATES][KDAT_REG_EVENTS] = {
	[KDAT_REG_FREE] = {
		[KDAT_REG_TAKE] = REG_TO(POSTED),
		[KDAT_REG_DONE] = REG_TO(FREE),
		[KDAT_REG_FAILED] = REG_TO(FREE),
		[KDAT_REG_FLUSHED] = REG_TO(FREE),
		[KDAT_REG_INV] = REG_NO(FREE),
		[KDAT_REG_INV_DONE] = REG_TO(FREE),
		[KDAT_REG_INV_FAILED] = REG_TO(FREE),
		[KDAT_REG_LOST] = REG_TO(FREE),
		[KDAT_REG_REPLACED] = REG_TO(FREE),
		[KDAT_REG_RENEWED] = REG_TO(FREE),
	},
	[KDAT_REG_POSTED] = {
		[KDAT_REG_TAKE] = REG_NO(POSTED),
		[KDAT_REG_DONE] = REG_RAN(NAMED),
		[KDAT_REG_FAILED] = REG_END,
		[KDAT_REG_FLUSHED] = REG_UNSURE,
		[KDAT_REG_INV] = REG_TO(POSTED_INV),
		[KDAT_REG_INV_DONE] = REG_TO(POSTED),
		[KDAT_REG_INV_FAILED] = REG_TO(POSTED),
		[KDAT_REG_LOST] = REG_RAN_END,
		[KDAT_REG_REPLACED] = REG_END,
		[KDAT_REG_RENEWED] = REG_TO(POSTED),
	},
	[KDAT_REG_POSTED_INV] = {
		[KDAT_REG_TAKE] = REG_NO(POSTED_INV),
		[KDAT_REG_DONE] = REG_RAN(NAMED_INV),
		[KDAT_REG_FAILED] = REG_END,
		[KDAT_REG_FLUSHED] = REG_UNSURE,
		[KDAT_REG_INV] = REG_NO(POSTED_INV),
		[KDAT_REG_INV_DONE] = REG_RAN_END,
		[KDAT_REG_INV_FAILED] = REG_TO(POSTED),
		[KDAT_REG_LOST] = REG_RAN_END,
		[KDAT_REG_REPLACED] = REG_END,
		[KDAT_REG_RENEWED] = REG_TO(POSTED_INV),
	},
	[KDAT_REG_NAMED] = {
		[KDAT_REG_TAKE] = REG_NO(NAMED),
		[KDAT_REG_DONE] = REG_TO(NAMED),
		[KDAT_REG_FAILED] = REG_TO(NAMED),
		[KDAT_REG_FLUSHED] = REG_TO(NAMED),
		[KDAT_REG_INV] = REG_TO(NAMED_INV),
		[KDAT_REG_INV_DONE] = REG_TO(NAMED),
		[KDAT_REG_INV_FAILED] = REG_TO(NAMED),
		[KDAT_REG_LOST] = REG_END,
		[KDAT_REG_REPLACED] = REG_END,
		[KDAT_REG_RENEWED] = REG_TO(NAMED),
	},
	[KDAT_REG_NAMED_INV] = {
		[KDAT_REG_TAKE] = REG_NO(NAMED_INV),
		[KDAT_REG_DONE] = REG_TO(NAMED_INV),
		[KDAT_REG_FAILED] = REG_TO(NAMED_INV),
		[KDAT_REG_FLUSHED] = REG_TO(NAMED_INV),
		[KDAT_REG_INV] = REG_NO(NAMED_INV),
		[KDAT_REG_INV_DONE] = REG_END,
		[KDAT_REG_INV_FAILED] = REG_TO(NAMED),
		[KDAT_REG_LOST] = REG_END,
		[KDAT_REG_REPLACED] = REG_END,
		[KDAT_REG_RENEWED] = REG_TO(NAMED_INV),
	},
	[KDAT_REG_UNKNOWN] = {
		[KDAT_REG_TAKE] = REG_NO(UNKNOWN),
		[KDAT_REG_DONE] = REG_TO(UNKNOWN),
		[KDAT_REG_FAILED] = REG_TO(UNKNOWN),
		[KDAT_REG_FLUSHED] = REG_TO(UNKNOWN),
		[KDAT_REG_INV] = REG_NO(UNKNOWN),
		[KDAT_REG_INV_DONE] = REG_TO(FREE),
		[KDAT_REG_INV_FAILED] = REG_TO(UNKNOWN),
		[KDAT_REG_LOST] = REG_TO(FREE),
		[KDAT_REG_REPLACED] = REG_TO(FREE),
		[KDAT_REG_RENEWED] = REG_TO(FREE),
	},
};

static u32 kdat_regs_step(struct kdat_regs *regs, unsigned int i, enum kdat_reg_event event)
{
	const struct kdat_reg_cell *cell = &kdat_reg_table[regs->state[i]][event];

	WRITE_ONCE(regs->state[i], cell->next);
	return cell->flags;
}

/**
 * kdat_regs_take() - begin a registration
 * @regs: of an LMR
 * @behind: it may be posted behind an invalidation that has not completed
 *
 * Return: which of the two it is, or -EBUSY: the LMR has memory, or will have.
 */
int kdat_regs_take(struct kdat_regs *regs, bool behind)
{
	unsigned int i = regs->now;

	/* the one before can be there only if the present one is */
	if (behind && regs->state[i] == KDAT_REG_NAMED_INV)
		i = !i;
	if (kdat_regs_step(regs, i, KDAT_REG_TAKE) & KDAT_REGS_REFUSED)
		return -EBUSY;
	if (!++regs->last)
		regs->last = 1;
	regs->serial[i] = regs->last;
	WRITE_ONCE(regs->now, i);
	return i;
}

/**
 * kdat_regs_event() - something has happened to a registration
 * @regs: of an LMR
 * @serial: its number
 * @event: all but KDAT_REG_TAKE and KDAT_REG_REPLACED
 *
 * Return: KDAT_REGS_*; 0 also for a registration that has ended.
 */
u32 kdat_regs_event(struct kdat_regs *regs, u32 serial, enum kdat_reg_event event)
{
	unsigned int i;
	u32 flags;

	for (i = 0; i < 2; i++)
		if (regs->serial[i] == serial && kdat_regs_has(regs, i))
			break;
	if (i == 2)
		return event == KDAT_REG_INV ? KDAT_REGS_REFUSED : 0;
	flags = kdat_regs_step(regs, i, event);
	if (flags & KDAT_REGS_RAN)
		kdat_regs_step(regs, !i, KDAT_REG_REPLACED);
	if (!kdat_regs_has(regs, regs->now) && kdat_regs_has(regs, !regs->now)) {
		WRITE_ONCE(regs->now, !regs->now);
		flags |= KDAT_REGS_BACK;
	}
	return flags;
}
