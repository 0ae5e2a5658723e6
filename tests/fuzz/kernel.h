/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Functions of the replacement kernel that rnic.c uses, besides the kernel's own interfaces. */
#ifndef FUZZ_KERNEL_H
#define FUZZ_KERNEL_H

#include <linux/types.h>
#include <net/sock.h>
#include <krdma/rnicpi.h>

#define FZ_PAGES	8192

/* memory that has struct pages; bytes outside of regions are poisoned */
/* the kAL's pinning of the memory of a region; the second function takes NULL */
struct ri_vm_region *fz_pin(u64 start, u64 length, bool writable);
void fz_unpin(struct ri_vm_region *region);
extern u8 fz_arena[FZ_PAGES * PAGE_SIZE];

extern u32 fz_fail_atomic, fz_unreadable, fz_send_room, fz_llp_returned, fz_pages_used;
extern struct ri_rnic *fz_rnic;

void fz_kernel_begin(void);
void fz_kernel_end(void);
void fz_run_works(void);
void fz_fire_timers(void);
void fz_arrive(const u8 *p, u32 n);

void __asan_poison_memory_region(const volatile void *addr, size_t size);
void __asan_unpoison_memory_region(const volatile void *addr, size_t size);

#endif /* FUZZ_KERNEL_H */
