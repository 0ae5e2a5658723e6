// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Memory regions and windows as objects of the base. */
#include "lmr.h"

static void kdat_memory_destroy_lmr(struct kdat_obj *obj)
{
	kdat_lmr_destroy(container_of(obj, struct kdat_lmr, obj));
}

static void kdat_memory_drop_lmr(struct kdat_obj *obj)
{
	kdat_lmr_drop(container_of(obj, struct kdat_lmr, obj));
}

static void kdat_memory_destroy_rmr(struct kdat_obj *obj)
{
	kdat_rmr_destroy(container_of(obj, struct kdat_rmr, obj));
}

static void kdat_memory_drop_rmr(struct kdat_obj *obj)
{
	kdat_rmr_drop(container_of(obj, struct kdat_rmr, obj));
}

int kdat_memory_init(void)
{
	static const struct kdat_obj_ops lmr = {
		.destroy = kdat_memory_destroy_lmr,
		.drop = kdat_memory_drop_lmr,
		.completed = kdat_lmr_completed,
		.invalidated = kdat_lmr_invalidated,
	};
	static const struct kdat_obj_ops rmr = {
		.destroy = kdat_memory_destroy_rmr,
		.drop = kdat_memory_drop_rmr,
		.completed = kdat_lmr_completed,
	};

	kdat_obj_register(DAT_HANDLE_TYPE_LMR, &lmr);
	kdat_obj_register(DAT_HANDLE_TYPE_RMR, &rmr);
	return kdat_lmr_wq_init();
}

void kdat_memory_exit(void)
{
	kdat_lmr_wq_exit();
}
