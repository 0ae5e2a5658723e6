/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The pinned pages of a process and their pin counts: implemented by pins.c, used by memory.c. */
#ifndef KAL_PINS_H
#define KAL_PINS_H

#include <linux/types.h>

struct kal_pins;
struct mm_struct;
struct page;

struct kal_pins *kal_pins_get(struct mm_struct *mm);
void kal_pins_put(struct kal_pins *pins);
int kal_pins_allowed(unsigned long npages);
int kal_pins_add(struct kal_pins *pins, struct page **pages, unsigned long npages);
void kal_pins_remove(struct kal_pins *pins, struct page **pages, unsigned long npages);

#endif /* KAL_PINS_H */
