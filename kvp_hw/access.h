/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What an element of a user's work request may name: pure code, for users.c and the unit tests.
 */
#ifndef HW_ACCESS_H
#define HW_ACCESS_H

#include <linux/types.h>

/**
 * struct hw_region - a user's region as it was registered
 * @stag: STag
 * @begin: address of the first byte, as elements name it
 * @length: length in bytes
 * @writable: local operations may write to it
 */
struct hw_region {
	u32 stag;
	u64 begin;
	u64 length;
	bool writable;
};

/**
 * struct hw_kernel_keys - STags that name the kernel's memory
 * @device: the device's local DMA key; 0 if it has none, which is no key of a region either
 * @domain: local DMA key of the protection domain
 * @global: remote key of all memory, 0: the protection domain has none
 */
struct hw_kernel_keys {
	u32 device;
	u32 domain;
	u32 global;
};

/**
 * enum hw_access - result of a check
 * @HW_ACCESS_OK: the element is in the region
 * @HW_ACCESS_KEY: the STag is one of the kernel's, or of another region
 * @HW_ACCESS_BOUNDS: bytes beyond the region, or no right to write
 */
enum hw_access {
	HW_ACCESS_OK,
	HW_ACCESS_KEY,
	HW_ACCESS_BOUNDS,
};

bool hw_access_is_kernels(const struct hw_kernel_keys *keys, u32 stag);
enum hw_access hw_access_check(const struct hw_kernel_keys *keys, const struct hw_region *region,
			       u32 stag, u64 addr, u32 length, bool write);

#endif /* HW_ACCESS_H */
