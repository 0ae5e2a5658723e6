// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Asynchronous events; event dispatchers as objects of the base. */
#include "evd.h"

void kdat_ia_async(struct kdat_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, int reason)
{
	const DAT_EVENT event = {
		.event_number = number,
		.event_data.asynch_error_event_data = {
			.dat_handle = handle,
			.reason = reason,
		},
	};

	kdat_evd_put(ia->async_evd, &event);
}

static void kdat_events_destroy(struct kdat_obj *obj)
{
	kdat_evd_destroy(container_of(obj, struct kdat_evd, obj));
}

static void kdat_events_drop(struct kdat_obj *obj)
{
	kdat_evd_drop_cq(container_of(obj, struct kdat_evd, obj));
}

int kdat_events_init(void)
{
	static const struct kdat_obj_ops ops = {
		.destroy = kdat_events_destroy,
		.drop = kdat_events_drop,
	};

	kdat_obj_register(DAT_HANDLE_TYPE_EVD, &ops);
	return kdat_evd_init();
}

void kdat_events_exit(void)
{
	kdat_evd_exit();
}
