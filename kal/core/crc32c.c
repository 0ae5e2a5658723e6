// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * CRC32c through the kernel's crypto layer. The crypto layer selects an implementation that
 * uses the CPU's instruction for it and loads the driver on demand. libcrc32c is not used
 * because it is a separate module, which a plain insmod of krdma.ko would not load.
 */
#include <crypto/hash.h>
#include <linux/module.h>

#include <krdma/crc32c.h>
#include <krdma/rnicpi.h>

#include "internal.h"

static struct crypto_shash *kal_crc_tfm;

u32 ri_crc32c(u32 crc, const void *data, size_t len)
{
	SHASH_DESC_ON_STACK(desc, kal_crc_tfm);

	desc->tfm = kal_crc_tfm;
	/* the whole state of this hash is the CRC */
	*(u32 *)shash_desc_ctx(desc) = crc;
	/* cannot fail, because it only computes */
	crypto_shash_update(desc, data, len);
	return *(u32 *)shash_desc_ctx(desc);
}
EXPORT_SYMBOL_GPL(ri_crc32c);

/*
 * Return: 0; -ENOENT if the kernel has no CRC32c; -EINVAL if its state is not 4 bytes;
 * -ENOMEM. Context: may sleep.
 */
int kal_crc_init(void)
{
	kal_crc_tfm = crypto_alloc_shash("crc32c", 0, 0);
	if (IS_ERR(kal_crc_tfm))
		return PTR_ERR(kal_crc_tfm);
	if (crypto_shash_descsize(kal_crc_tfm) != sizeof(u32)) {
		crypto_free_shash(kal_crc_tfm);
		return -EINVAL;
	}
	return 0;
}

void kal_crc_exit(void)
{
	crypto_free_shash(kal_crc_tfm);
}
