// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Endpoints, service points and connection requests as objects of the base. */
#include "connections.h"

static void kdat_connections_destroy_ep(struct kdat_obj *obj)
{
	kdat_ep_destroy(container_of(obj, struct kdat_ep, obj));
}

static void kdat_connections_drop_ep(struct kdat_obj *obj)
{
	kdat_ep_drop_qp(container_of(obj, struct kdat_ep, obj));
}

static void kdat_connections_destroy_sp(struct kdat_obj *obj)
{
	kdat_sp_destroy(container_of(obj, struct kdat_sp, obj));
}

static void kdat_connections_drop_sp(struct kdat_obj *obj)
{
	kdat_sp_drop(container_of(obj, struct kdat_sp, obj));
}

static void kdat_connections_destroy_cr(struct kdat_obj *obj)
{
	kdat_cr_destroy(container_of(obj, struct kdat_cr, obj));
}

static void kdat_connections_drop_cr(struct kdat_obj *obj)
{
	kdat_cr_drop(container_of(obj, struct kdat_cr, obj));
}

int kdat_connections_init(void)
{
	static const struct kdat_obj_ops ep = {
		.destroy = kdat_connections_destroy_ep,
		.drop = kdat_connections_drop_ep,
		.ready = kdat_cm_ready,
	};
	static const struct kdat_obj_ops sp = {
		.destroy = kdat_connections_destroy_sp,
		.drop = kdat_connections_drop_sp,
	};
	static const struct kdat_obj_ops cr = {
		.destroy = kdat_connections_destroy_cr,
		.drop = kdat_connections_drop_cr,
	};

	kdat_obj_register(DAT_HANDLE_TYPE_EP, &ep);
	kdat_obj_register(DAT_HANDLE_TYPE_PSP, &sp);
	kdat_obj_register(DAT_HANDLE_TYPE_RSP, &sp);
	kdat_obj_register(DAT_HANDLE_TYPE_CSP, &sp);
	kdat_obj_register(DAT_IW_HANDLE_TYPE_SSP, &sp);
	kdat_obj_register(DAT_HANDLE_TYPE_CR, &cr);
	return kdat_cm_wq_init();
}

void kdat_connections_exit(void)
{
	kdat_cm_wq_exit();
}
