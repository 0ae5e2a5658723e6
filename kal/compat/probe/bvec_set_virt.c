// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/bvec.h>

void probe(struct bio_vec *vec, void *from);
void probe(struct bio_vec *vec, void *from)
{
	bvec_set_virt(vec, from, 1);
}
