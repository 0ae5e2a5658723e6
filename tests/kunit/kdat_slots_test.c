// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Slots of kDAPL's requests: each one belongs to one user at a time, whoever takes, gives back and
 * exchanges meanwhile. Runs only in the kernel.
 */
#include <linux/kthread.h>
#include <linux/sched/task.h>

#include "../../kal/kdapl/fast/slots.c"
#include "ktest.h"

#define OWN	4

static char owner;

static void make(struct ktest *test, struct kdat_slots *slots, atomic_t *posted, u32 num, u32 own)
{
	KTEST_EQ(test, kdat_slots_init(slots, (struct kdat_ep *)&owner, posted, num, own), 0);
}

/* Take all. Return: their number. */
static u32 take_all(struct kdat_slots *slots, struct kdat_dto **dtos, u32 most)
{
	u32 num = 0;

	while (num < most && (dtos[num] = kdat_slot_get(slots)))
		num++;
	return num;
}

static u32 count_in_use(const struct kdat_slots *slots)
{
	struct kdat_dto *dto = NULL;
	u32 num = 0;

	while ((dto = kdat_slots_next(slots, dto)))
		num++;
	return num;
}

static void every_number(struct ktest *test)
{
	static const u32 nums[] = { 1, 2, 63, 64, 65, 127, 128, 129, 200 };
	struct kdat_dto **dtos = ktest_alloc(test, 201 * sizeof(*dtos));
	struct kdat_slots slots;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		make(test, &slots, NULL, nums[i], OWN);
		KTEST_TRUE(test, kdat_slots_idle(&slots));
		KTEST_EQ(test, take_all(&slots, dtos, 201), nums[i]);
		KTEST_EQ(test, kdat_slots_used(&slots), nums[i]);
		KTEST_EQ(test, count_in_use(&slots), nums[i]);
		for (j = 0; j < nums[i]; j++) {
			KTEST_TRUE(test, dtos[j]->ep == (struct kdat_ep *)&owner);
			KTEST_EQ(test, dtos[j]->cookie.as_64, 0);
			dtos[j]->cookie.as_64 = 1;
		}
		for (j = 0; j < nums[i]; j++)
			kdat_slot_put(dtos[j]);
		KTEST_TRUE(test, kdat_slots_idle(&slots));
		kdat_slots_free(&slots);
	}
}

static void one_of_many(struct ktest *test)
{
	struct kdat_dto **dtos = ktest_alloc(test, 201 * sizeof(*dtos));
	struct kdat_slots slots;
	u32 i;

	make(test, &slots, NULL, 200, OWN);
	KTEST_EQ(test, take_all(&slots, dtos, 201), 200);
	for (i = 0; i < 400; i++) {
		kdat_slot_put(dtos[i * 37 % 200]);
		KTEST_TRUE(test, kdat_slot_get(&slots) == dtos[i * 37 % 200]);
		KTEST_TRUE(test, !kdat_slot_get(&slots));
	}
	kdat_slots_free(&slots);
}

static void own_beside(struct ktest *test)
{
	struct kdat_dto *own[OWN], *dto;
	struct kdat_slots slots;
	u32 i;

	make(test, &slots, NULL, 1, OWN);
	dto = kdat_slot_get(&slots);
	KTEST_FALSE(test, kdat_slots_has_internal(&slots));
	for (i = 0; i < OWN; i++) {
		own[i] = kdat_slot_get_own(&slots);
		KTEST_TRUE(test, own[i] && own[i]->flags == KDAT_DTO_INTERNAL);
	}
	KTEST_TRUE(test, !kdat_slot_get_own(&slots));
	KTEST_TRUE(test, !kdat_slot_get(&slots));
	kdat_slot_put(dto);
	KTEST_EQ(test, kdat_slots_used(&slots), 0);
	KTEST_FALSE(test, kdat_slots_idle(&slots));
	KTEST_TRUE(test, kdat_slots_has_internal(&slots));
	for (i = 0; i < OWN; i++) {
		own[i]->object = (struct kdat_obj *)&owner;
		own[i]->ext_op = 1;
		kdat_slot_clear(own[i]);
		KTEST_TRUE(test, !own[i]->object && !own[i]->ext_op && !own[i]->flags);
	}
	KTEST_TRUE(test, kdat_slots_idle(&slots));
	kdat_slots_free(&slots);
}

static void none(struct ktest *test)
{
	struct kdat_slots slots, other;
	struct ri_qp *qp = NULL;

	make(test, &slots, NULL, 0, 0);
	KTEST_TRUE(test, !kdat_slot_get(&slots));
	KTEST_TRUE(test, !kdat_slot_get_own(&slots));
	KTEST_TRUE(test, kdat_slots_idle(&slots));
	make(test, &other, NULL, 3, OWN);
	KTEST_TRUE(test, kdat_slots_swap(&slots, &other, &qp, (struct ri_qp *)&owner));
	KTEST_TRUE(test, qp == (struct ri_qp *)&owner);
	KTEST_TRUE(test, !!kdat_slot_get(&slots));
	kdat_slots_free(&slots);
	kdat_slots_free(&other);
}

static void exchange(struct ktest *test)
{
	struct kdat_slots slots, other;
	struct kdat_slot_block *old;
	struct ri_qp *qp = NULL;
	struct kdat_dto *dto;

	make(test, &slots, NULL, 100, OWN);
	make(test, &other, NULL, 2, OWN);
	old = slots.blocks;
	dto = &old->dtos[99];
	/* the last word is in use: the others, which were closed already, are open again */
	clear_bit(dto->bit, old->free);
	KTEST_FALSE(test, kdat_slots_swap(&slots, &other, &qp, (struct ri_qp *)&owner));
	KTEST_TRUE(test, !qp && slots.blocks == old);
	kdat_slot_put(dto);
	dto = kdat_slot_get_own(&slots);
	KTEST_FALSE(test, kdat_slots_swap(&slots, &other, NULL, NULL));
	kdat_slot_clear(dto);
	KTEST_TRUE(test, kdat_slots_idle(&slots));

	KTEST_TRUE(test, kdat_slots_swap(&slots, &other, &qp, (struct ri_qp *)&owner));
	KTEST_TRUE(test, qp == (struct ri_qp *)&owner && other.blocks == old);
	/* a post that has seen the old block before */
	KTEST_TRUE(test, !kdat_slot_take_of(old, 0));
	KTEST_TRUE(test, kdat_slot_get(&slots) && kdat_slot_get(&slots) && !kdat_slot_get(&slots));
	kdat_slots_free(&slots);
	kdat_slots_free(&other);
}

static void growth(struct ktest *test)
{
	struct kdat_dto **dtos = ktest_alloc(test, 201 * sizeof(*dtos));
	struct kdat_slots slots;
	atomic_t posted;
	u32 i;

	atomic_set(&posted, 0);
	make(test, &slots, &posted, 10, 0);
	KTEST_EQ(test, take_all(&slots, dtos, 201), 10);
	KTEST_EQ(test, kdat_slots_grow(&slots, 10), 0);
	KTEST_TRUE(test, !kdat_slot_get(&slots));
	KTEST_EQ(test, kdat_slots_grow(&slots, 150), 0);
	KTEST_EQ(test, kdat_slots_used(&slots), 10);
	KTEST_EQ(test, take_all(&slots, dtos + 10, 191), 140);
	KTEST_EQ(test, count_in_use(&slots), 150);
	atomic_set(&posted, 150);
	for (i = 0; i < 150; i++)
		kdat_slot_clear(dtos[i]);
	KTEST_EQ(test, atomic_read(&posted), 0);
	KTEST_TRUE(test, kdat_slots_idle(&slots));
	KTEST_EQ(test, take_all(&slots, dtos, 201), 150);
	kdat_slots_free(&slots);
}

/* Threads ******************************************************************* */

#define USERS	3
#define ROUNDS	20000

/**
 * struct crowd - threads that take slots and give them back
 * @slots: queue
 * @late: a slot was not taken though there was one for each
 * @shared: two had the same slot
 * @took: slots that were taken
 */
struct crowd {
	struct kdat_slots slots;
	atomic_t late;
	atomic_t shared;
	atomic_t took;
};

static int crowd_user(void *arg)
{
	struct crowd *crowd = arg;
	struct kdat_dto *dto;
	u32 i;

	for (i = 0; i < ROUNDS; i++) {
		scoped_guard(rcu) {
			dto = kdat_slot_get(&crowd->slots);
			if (dto) {
				if (xchg(&dto->length, 1))
					atomic_inc(&crowd->shared);
				cpu_relax();
				WRITE_ONCE(dto->length, 0);
				kdat_slot_put(dto);
				atomic_inc(&crowd->took);
			} else {
				atomic_inc(&crowd->late);
			}
		}
		if (i % 64 == 0)
			cond_resched();
	}
	return 0;
}

static void crowd_runs(struct ktest *test, bool swaps)
{
	struct task_struct *users[USERS];
	struct kdat_slots other;
	struct crowd crowd = {};
	u32 i, n = 0;

	make(test, &crowd.slots, NULL, USERS, OWN);
	for (i = 0; i < USERS; i++) {
		users[i] = kthread_run(crowd_user, &crowd, "kdat_slots/%u", i);
		if (!IS_ERR(users[i]))
			get_task_struct(users[i]);
	}
	for (i = 0; swaps && i < 200; i++) {
		make(test, &other, NULL, USERS + i % 100, OWN);
		n += kdat_slots_swap(&crowd.slots, &other, NULL, NULL);
		/* as the end of the queue pair does before its requests are freed */
		synchronize_rcu();
		kdat_slots_free(&other);
		cond_resched();
	}
	for (i = 0; i < USERS; i++) {
		KTEST_FALSE(test, IS_ERR(users[i]));
		if (IS_ERR(users[i]))
			continue;
		kthread_stop(users[i]);
		put_task_struct(users[i]);
	}
	if (swaps)
		KTEST_NE(test, n, 0);
	KTEST_EQ(test, atomic_read(&crowd.shared), 0);
	KTEST_EQ(test, atomic_read(&crowd.late), 0);
	KTEST_EQ(test, atomic_read(&crowd.took), USERS * ROUNDS);
	KTEST_TRUE(test, kdat_slots_idle(&crowd.slots));
	kdat_slots_free(&crowd.slots);
}

static void crowd_shares(struct ktest *test)
{
	crowd_runs(test, false);
}

static void crowd_sees_exchanges(struct ktest *test)
{
	crowd_runs(test, true);
}

static struct ktest_case cases[] = {
	KTEST_CASE(every_number),
	KTEST_CASE(one_of_many),
	KTEST_CASE(own_beside),
	KTEST_CASE(none),
	KTEST_CASE(exchange),
	KTEST_CASE(growth),
	KTEST_CASE(crowd_shares),
	KTEST_CASE(crowd_sees_exchanges),
	{}
};

KTEST_SUITE(kdat_slots, cases);
