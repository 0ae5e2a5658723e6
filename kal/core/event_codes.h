/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Asynchronous events that wait to be told, of one object or RNIC: each code once, in the
 * order in which they happened last. So it needs no memory, and who hears of all of them
 * knows how things are now. Pure: the caller has a lock.
 */
#ifndef KAL_EVENT_CODES_H
#define KAL_EVENT_CODES_H

#include <linux/string.h>
#include <linux/types.h>

/* as many as enum ib_event_type has */
#define KAL_EVENT_CODES	20

/**
 * struct kal_event_codes - what waits
 * @time_ns: when each happened, oldest first
 * @code: which, enum ib_event_type
 * @num: of both
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

/* Return: false: there is no such code. */
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
