/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The set of asynchronous events of one object or RNIC that wait for delivery. Each code is
 * present at most once. The codes are ordered by their last occurrence. The set therefore
 * needs no memory allocation, and a consumer that receives all codes knows the current state.
 * Pure functions: the caller holds a lock.
 */
#ifndef KAL_EVENT_CODES_H
#define KAL_EVENT_CODES_H

#include <linux/string.h>
#include <linux/types.h>

/* the number of codes of enum ib_event_type */
#define KAL_EVENT_CODES	20

/**
 * struct kal_event_codes - codes of undelivered events
 * @time_ns: times of the events, oldest first
 * @code: codes of the events, enum ib_event_type
 * @num: number of entries in both arrays
 */
struct kal_event_codes {
	u64 time_ns[KAL_EVENT_CODES];
	u8 code[KAL_EVENT_CODES];
	u8 num;
};

static inline void kal_event_codes_remove(struct kal_event_codes *codes, unsigned int i)
{
	const unsigned int behind = --codes->num - i;

	memmove(&codes->time_ns[i], &codes->time_ns[i + 1], behind * sizeof(codes->time_ns[0]));
	memmove(&codes->code[i], &codes->code[i + 1], behind * sizeof(codes->code[0]));
}

/* Return: false if @code is not a valid code. */
static inline bool kal_event_codes_add(struct kal_event_codes *codes, unsigned int code,
				       u64 time_ns)
{
	unsigned int i;

	if (code >= KAL_EVENT_CODES)
		return false;
	for (i = 0; i < codes->num; i++) {
		if (codes->code[i] == code) {
			kal_event_codes_remove(codes, i);
			break;
		}
	}
	codes->time_ns[codes->num] = time_ns;
	codes->code[codes->num++] = code;
	return true;
}

#endif /* KAL_EVENT_CODES_H */
