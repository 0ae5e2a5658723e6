// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Registrations of a kDAPL LMR: the table against a list that was written from the events' point of
 * view; courses of events; and any course against a model of the RNIC.
 */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kal/kdapl/memory/lmr_state.h"
#include "ktest.h"

/*
 * For each event, the next state from FREE, POSTED, POSTED_INV, NAMED, NAMED_INV and UNKNOWN, and
 * what follows: x: refused, e: the memory has ended, r: the registration was carried out, b: both.
 */
static const struct {
	enum kdat_reg_event event;
	const char *name;
	const char *next;
	const char *flags;
} events[] = {
	{ KDAT_REG_TAKE,	"take",		"PPpNnU", "-xxxxx" },
	{ KDAT_REG_DONE,	"done",		"FNnNnU", "-rr---" },
	{ KDAT_REG_FAILED,	"failed",	"FFFNnU", "-ee---" },
	{ KDAT_REG_FLUSHED,	"flushed",	"FUUNnU", "-ee---" },
	{ KDAT_REG_INV,		"invalidate",	"FppnnU", "x-x-xx" },
	{ KDAT_REG_INV_DONE,	"invalidated",	"FPFNFF", "--b-e-" },
	{ KDAT_REG_INV_FAILED,	"inv. failed",	"FPPNNU", "------" },
	{ KDAT_REG_LOST,	"lost",		"FFFFFF", "-bbee-" },
	{ KDAT_REG_RENEWED,	"renewed",	"FPpNnF", "------" },
};

static const char letters[] = "FPpNnU";

/* A registration in @state, with number 7. */
static struct kdat_regs in_state(u32 state)
{
	const struct kdat_regs regs = { .state = { state }, .serial = { 7 }, .last = 7 };

	return regs;
}

static u32 wanted_flags(char letter)
{
	switch (letter) {
	case 'x':
		return KDAT_REGS_REFUSED;
	case 'e':
		return KDAT_REGS_ENDED;
	case 'r':
		return KDAT_REGS_RAN;
	case 'b':
		return KDAT_REGS_ENDED | KDAT_REGS_RAN;
	default:
		return 0;
	}
}

static void table(struct ktest *test)
{
	struct kdat_regs regs;
	u32 i, state, flags;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		KTEST_EQ_MSG(test, strlen(events[i].next), KDAT_REG_STATES, "%s", events[i].name);
		for (state = 0; state < KDAT_REG_STATES; state++) {
			regs = in_state(state);
			if (events[i].event == KDAT_REG_TAKE)
				flags = kdat_regs_take(&regs, false) < 0 ? KDAT_REGS_REFUSED : 0;
			else
				flags = kdat_regs_event(&regs, 7, events[i].event);
			KTEST_EQ_MSG(test, letters[regs.state[0]], events[i].next[state],
				     "%s in %c", events[i].name, letters[state]);
			KTEST_EQ_MSG(test, flags, wanted_flags(events[i].flags[state]),
				     "%s in %c", events[i].name, letters[state]);
		}
	}
}

static u32 take(struct ktest *test, struct kdat_regs *regs)
{
	KTEST_TRUE(test, kdat_regs_take(regs, true) >= 0);
	return regs->serial[regs->now];
}

/* Both an invalidation and the next registration are flushed: the RNIC has the first one. */
static void flushed(struct ktest *test)
{
	struct kdat_regs regs = {};
	u32 first, second;

	first = take(test, &regs);
	KTEST_EQ(test, kdat_regs_event(&regs, first, KDAT_REG_DONE), KDAT_REGS_RAN);
	KTEST_EQ(test, kdat_regs_event(&regs, first, KDAT_REG_INV), 0);
	second = take(test, &regs);
	KTEST_TRUE(test, kdat_regs_names(&regs));
	KTEST_EQ(test, kdat_regs_event(&regs, first, KDAT_REG_INV_FAILED), 0);
	KTEST_EQ(test, kdat_regs_event(&regs, second, KDAT_REG_FAILED),
		 KDAT_REGS_ENDED | KDAT_REGS_BACK);
	KTEST_EQ(test, regs.serial[regs.now], first);
	KTEST_TRUE(test, kdat_regs_is(&regs, KDAT_REG_NAMED));
	/* and it can be invalidated, and registered again */
	KTEST_EQ(test, kdat_regs_event(&regs, first, KDAT_REG_INV), 0);
	KTEST_EQ(test, kdat_regs_event(&regs, first, KDAT_REG_INV_DONE), KDAT_REGS_ENDED);
	take(test, &regs);
}

/* The RNIC may have carried out what it flushed: no request names the region until it is renewed. */
static void unknown(struct ktest *test)
{
	struct kdat_regs regs = {};
	u32 serial;

	serial = take(test, &regs);
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_INV), 0);
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_FLUSHED), KDAT_REGS_ENDED);
	KTEST_TRUE(test, kdat_regs_is(&regs, KDAT_REG_UNKNOWN));
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_INV_FAILED), 0);
	KTEST_FALSE(test, kdat_regs_names(&regs));
	KTEST_EQ(test, kdat_regs_take(&regs, true), -EBUSY);
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_INV), KDAT_REGS_REFUSED);
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_RENEWED), 0);
	KTEST_TRUE(test, take(test, &regs) != serial);
	/* the invalidation went to another endpoint, and has succeeded */
	serial = regs.serial[regs.now];
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_INV), 0);
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_FLUSHED), KDAT_REGS_ENDED);
	KTEST_EQ(test, kdat_regs_event(&regs, serial, KDAT_REG_INV_DONE), 0);
	take(test, &regs);
}

/* The peer invalidates, and the next registration is posted, before completions are looked at. */
static void lost_early(struct ktest *test)
{
	struct kdat_regs regs = {};
	u32 serials[10];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(serials); i++) {
		serials[i] = take(test, &regs);
		KTEST_EQ(test, kdat_regs_event(&regs, serials[i], KDAT_REG_LOST),
			 KDAT_REGS_RAN | KDAT_REGS_ENDED);
		KTEST_EQ(test, kdat_regs_event(&regs, serials[i], KDAT_REG_INV),
			 KDAT_REGS_REFUSED);
	}
	i = take(test, &regs);
	for (; serials[0] != i; serials[0]++)
		KTEST_EQ(test, kdat_regs_event(&regs, serials[0], KDAT_REG_DONE), 0);
	KTEST_TRUE(test, kdat_regs_is(&regs, KDAT_REG_POSTED));
}

/* Where the list of pages is the driver's, an invalidation has to complete first. */
static void not_behind(struct ktest *test)
{
	struct kdat_regs regs = {};
	u32 serial;

	KTEST_EQ(test, kdat_regs_take(&regs, false), 0);
	serial = regs.serial[0];
	KTEST_EQ(test, kdat_regs_take(&regs, false), -EBUSY);
	kdat_regs_event(&regs, serial, KDAT_REG_DONE);
	kdat_regs_event(&regs, serial, KDAT_REG_INV);
	KTEST_EQ(test, kdat_regs_take(&regs, false), -EBUSY);
	kdat_regs_event(&regs, serial, KDAT_REG_INV_DONE);
	KTEST_EQ(test, kdat_regs_take(&regs, false), 0);
	/* numbers pass 0 by */
	regs = (struct kdat_regs){ .last = ~0u };
	KTEST_EQ(test, kdat_regs_take(&regs, false), 0);
	KTEST_EQ(test, regs.serial[0], 1);
}

/**
 * struct model - an RNIC that carries out requests in order, and breaks at any time
 * @posted: requests: serial, and whether it is an invalidation
 * @head: first that has not completed
 * @run: first that was not carried out
 * @tail: behind the last
 * @valid: serial of what the STag names, 0: nothing
 * @broken: what was not carried out is flushed
 */
struct model {
	struct {
		u32 serial;
		bool inv;
		bool ok;
	} posted[16];
	u32 head;
	u32 run;
	u32 tail;
	u32 valid;
	bool broken;
};

static void model_run(struct ktest *test, struct model *m)
{
	const u32 i = m->run % ARRAY_SIZE(m->posted);

	if (m->run == m->tail)
		return;
	m->run++;
	m->posted[i].ok = !m->broken;
	if (m->broken)
		return;
	if (m->posted[i].inv) {
		/* what is invalid already, by the peer, may be invalidated */
		KTEST_TRUE(test, !m->valid || m->valid == m->posted[i].serial);
		m->valid = 0;
	} else {
		KTEST_EQ(test, m->valid, 0);
		m->valid = m->posted[i].serial;
	}
}

static void model_complete(struct model *m, struct kdat_regs *regs)
{
	const u32 i = m->head % ARRAY_SIZE(m->posted);

	if (m->head == m->run)
		return;
	m->head++;
	if (m->posted[i].inv)
		kdat_regs_event(regs, m->posted[i].serial,
				m->posted[i].ok ? KDAT_REG_INV_DONE : KDAT_REG_INV_FAILED);
	else
		kdat_regs_event(regs, m->posted[i].serial,
				m->posted[i].ok ? KDAT_REG_DONE : KDAT_REG_FAILED);
}

static void model_post(struct model *m, u32 serial, bool inv)
{
	const u32 i = m->tail++ % ARRAY_SIZE(m->posted);

	m->posted[i].serial = serial;
	m->posted[i].inv = inv;
}

static void model_step(struct ktest *test, struct model *m, struct kdat_regs *regs, u32 choice)
{
	const bool room = m->tail - m->head < ARRAY_SIZE(m->posted);
	const u32 serial = regs->serial[regs->now];

	switch (choice % 8) {
	case 0:
		if (room && kdat_regs_take(regs, true) >= 0)
			model_post(m, regs->serial[regs->now], false);
		break;
	case 1:
		if (room && !kdat_regs_event(regs, serial, KDAT_REG_INV))
			model_post(m, serial, true);
		break;
	case 2:
	case 3:
		model_run(test, m);
		break;
	case 4:
	case 5:
		model_complete(m, regs);
		break;
	case 6:
		/* the peer's invalidation is seen at once, maybe ahead of the registration */
		if (m->valid)
			kdat_regs_event(regs, m->valid, KDAT_REG_LOST);
		m->valid = 0;
		break;
	case 7:
		/* an endpoint is reset when all has completed */
		if (choice & 0x100)
			m->broken = true;
		else if (m->head == m->tail)
			m->broken = false;
		break;
	}
}

/* When all has completed, the LMR is as the RNIC has it, whatever happened. */
static void any_course(struct ktest *test)
{
	struct kdat_regs regs = {};
	struct model m = {};
	u32 round, i, seed = 1;

	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 40; i++) {
			seed = seed * 1103515245 + 12345;
			model_step(test, &m, &regs, seed >> 16);
		}
		while (m.run != m.tail)
			model_run(test, &m);
		while (m.head != m.tail)
			model_complete(&m, &regs);
		KTEST_EQ_MSG(test, kdat_regs_is(&regs, KDAT_REG_NAMED), m.valid != 0, "round %u",
			     round);
		KTEST_TRUE(test, kdat_regs_is(&regs, KDAT_REG_NAMED) ||
			   kdat_regs_is(&regs, KDAT_REG_FREE));
		KTEST_FALSE(test, kdat_regs_has(&regs, !regs.now));
		if (m.valid)
			KTEST_EQ(test, regs.serial[regs.now], m.valid);
	}
}

static struct ktest_case cases[] = {
	KTEST_CASE(table),
	KTEST_CASE(flushed),
	KTEST_CASE(unknown),
	KTEST_CASE(lost_early),
	KTEST_CASE(not_behind),
	KTEST_CASE(any_course),
	{}
};

KTEST_SUITE(kdat_lmr_state, cases);
