// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The rules for an element of a user's work request. To the device the queues of a user without
 * library are the kernel's. An STag that it takes for the kernel's own would name all memory.
 */
#include "access.h"

/**
 * hw_access_is_kernels() - does the STag name the kernel's memory?
 * @keys: the STags that do
 * @stag: STag
 *
 * 0 is one of them on several devices, and the STag of a region on none.
 *
 * Return: true also for 0. Context: any.
 */
bool hw_access_is_kernels(const struct hw_kernel_keys *keys, u32 stag)
{
	return !stag || stag == keys->device || stag == keys->domain || stag == keys->global;
}

/**
 * hw_access_check() - may a user's element name these bytes?
 * @keys: STags of the kernel's memory
 * @region: region that the protection domain has by that STag, or NULL
 * @stag: STag of the element
 * @addr: address of the element
 * @length: its length in bytes; an empty element may have any address
 * @write: the operation writes to the element
 *
 * Return: enum hw_access. Context: any.
 */
enum hw_access hw_access_check(const struct hw_kernel_keys *keys, const struct hw_region *region,
			       u32 stag, u64 addr, u32 length, bool write)
{
	if (hw_access_is_kernels(keys, stag) || !region || region->stag != stag)
		return HW_ACCESS_KEY;
	if (!length)
		return HW_ACCESS_OK;
	if (write && !region->writable)
		return HW_ACCESS_BOUNDS;
	/* without a sum that could wrap */
	if (addr < region->begin || length > region->length ||
	    addr - region->begin > region->length - length)
		return HW_ACCESS_BOUNDS;
	return HW_ACCESS_OK;
}
