// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Listeners of the transport on kDAPL, and connection requests.
 *
 * A listener has a public service point (PSP), whose upcall keeps requests for a work item, which
 * reports to SDP. So SDP's upcall may take long, and as many requests wait as a parameter allows;
 * others are refused.
 */
#include <linux/cleanup.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "kdapl.h"

static uint ot_requests = 256;
module_param(ot_requests, uint, 0644);
MODULE_PARM_DESC(ot_requests, "connection requests that may wait for a listener (default 256)");

#define SDP_KDAPL_REQUEST_EVENTS	1024	/* of a PSP that kDAPL keeps */

/**
 * struct sdp_ot_listener - a listener
 * @list: in device->listeners
 * @device: counted
 * @evd: events of connection requests; NULL when the device is gone
 * @psp: service point; NULL when the device is gone
 * @attr: as created
 * @requests: that are not reported yet; device->lock, as the next one
 * @waiting: their number
 * @work: reports to SDP
 */
struct sdp_ot_listener {
	struct list_head list;
	struct sdp_kdapl_device *device;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct sdp_ot_listen_attr attr;
	struct list_head requests;
	u32 waiting;
	struct work_struct work;
};

/**
 * struct sdp_ot_conn_request - a connection request
 * @list: in listener->requests, while SDP does not know it
 * @all: in device->requests
 * @device: counted
 * @cr: NULL when the device is gone
 * @local: own address
 * @remote: the peer's
 * @length: bytes
 * @data: private data
 */
struct sdp_ot_conn_request {
	struct list_head list;
	struct list_head all;
	struct sdp_kdapl_device *device;
	DAT_CR_HANDLE cr;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 length;
	u8 data[] __counted_by(length);
};

/* Requests ****************************************************************** */

static void sdp_kdapl_request_copy_address(struct sockaddr_storage *to, DAT_IA_ADDRESS_PTR from)
{
	if (from)
		memcpy(to, from, from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
							       sizeof(struct sockaddr_in));
}

static struct sdp_ot_conn_request *
sdp_kdapl_request_new(struct sdp_kdapl_device *device, const DAT_CR_ARRIVAL_EVENT_DATA *from)
{
	struct sdp_ot_conn_request *request;
	DAT_CR_PARAM param;
	u32 length;

	if (dat_cr_query(from->cr_handle, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS)
		return NULL;
	length = clamp(param.private_data_size, 0, SDP_KDAPL_DATA);
	request = kzalloc(struct_size(request, data, length), GFP_KERNEL_ACCOUNT);
	if (!request)
		return NULL;
	request->device = device;
	request->cr = from->cr_handle;
	request->length = length;
	if (length)
		memcpy(request->data, param.private_data, length);
	sdp_kdapl_request_copy_address(&request->local, from->local_ia_address_ptr);
	sdp_kdapl_request_copy_address(&request->remote, param.remote_ia_address_ptr);
	INIT_LIST_HEAD(&request->list);
	return request;
}

static void sdp_kdapl_request_free(struct sdp_ot_conn_request *request)
{
	struct sdp_kdapl_device *device = request->device;

	scoped_guard(spinlock_irq, &device->lock)
		list_del(&request->all);
	sdp_kdapl_device_put(&device->ot);
	kfree(request);
}

/* Return: false: too many wait. */
static bool sdp_kdapl_listener_keep(struct sdp_ot_listener *listener,
				    struct sdp_ot_conn_request *request)
{
	struct sdp_kdapl_device *device = listener->device;

	scoped_guard(spinlock_irq, &device->lock) {
		if (listener->waiting >= READ_ONCE(ot_requests))
			return false;
		sdp_kdapl_device_get(&device->ot);
		list_add_tail(&request->all, &device->requests);
		list_add_tail(&request->list, &listener->requests);
		listener->waiting++;
		queue_work(sdp_kdapl_wq, &listener->work);
	}
	return true;
}

/* kDAPL's upcall, in process context. It uses no device->sem, whose holder may wait for it. */
static void sdp_kdapl_listener_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *from = &event->event_data.cr_arrival_event_data;
	struct sdp_ot_listener *listener = data;
	struct sdp_ot_conn_request *request;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	request = sdp_kdapl_request_new(listener->device, from);
	if (request && sdp_kdapl_listener_keep(listener, request))
		return;
	dat_cr_reject(from->cr_handle, 0, NULL);
	kfree(request);
}

static struct sdp_ot_conn_request *sdp_kdapl_listener_next(struct sdp_ot_listener *listener)
{
	struct sdp_ot_conn_request *request;

	scoped_guard(spinlock_irq, &listener->device->lock) {
		request = list_first_entry_or_null(&listener->requests, struct sdp_ot_conn_request,
						   list);
		if (request) {
			list_del_init(&request->list);
			listener->waiting--;
		}
	}
	return request;
}

static void sdp_kdapl_listener_work(struct work_struct *work)
{
	struct sdp_ot_listener *listener = container_of(work, struct sdp_ot_listener, work);
	struct sdp_ot_conn_request *request;

	while ((request = sdp_kdapl_listener_next(listener)))
		listener->attr.request(listener->attr.context, request, request->data,
				       request->length, &request->local, &request->remote);
}

int sdp_kdapl_accept(struct sdp_ot_conn_request *request, struct sdp_ot_ep *ot, const u8 *data,
		     u32 length)
{
	struct sdp_kdapl_device *device = request->device;
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);
	DAT_RETURN ret;

	might_sleep();
	if (length > device->ot.answer_len)
		return -EMSGSIZE;
	if (ep->device != device)
		return -EINVAL;
	scoped_guard(rwsem_read, &device->sem) {
		if (!request->cr || !ep->dat)
			return -ENODEV;
		if (READ_ONCE(ep->state) != SDP_KDAPL_IDLE)
			return -EISCONN;
		sdp_kdapl_ep_accepting(ep, true);
		ret = dat_cr_accept(request->cr, ep->dat, length, data);
		if (ret != DAT_SUCCESS)
			sdp_kdapl_ep_accepting(ep, false);
	}
	if (ret != DAT_SUCCESS)
		return sdp_kdapl_errno(ret);
	sdp_kdapl_request_free(request);
	return 0;
}

int sdp_kdapl_reject(struct sdp_ot_conn_request *request, const u8 *data, u32 length)
{
	struct sdp_kdapl_device *device = request->device;
	int ret = 0;

	might_sleep();
	if (length > device->ot.refusal_len)
		return -EMSGSIZE;
	scoped_guard(rwsem_read, &device->sem)
		/* the peer of a device that is gone knows */
		if (request->cr && dat_cr_reject(request->cr, length, data) != DAT_SUCCESS)
			/* the peer's way to connect leaves less room */
			ret = sdp_kdapl_errno(dat_cr_reject(request->cr, 0, NULL));
	WARN_ON_ONCE(ret);
	sdp_kdapl_request_free(request);
	return 0;
}

/* Listeners ***************************************************************** */

/* Begin to listen. device->sem is held for reading, it is not gone. */
static int sdp_kdapl_listener_open(struct sdp_ot_listener *listener)
{
	const DAT_UPCALL_OBJECT upcall = {
		.instance_data = listener,
		.upcall_func = sdp_kdapl_listener_upcall,
	};
	struct sdp_kdapl_device *device = listener->device;
	DAT_RETURN ret;

	ret = dat_evd_kcreate(device->ia, SDP_KDAPL_REQUEST_EVENTS, DAT_UPCALL_SINGLE_INSTANCE,
			      &upcall, DAT_EVD_CR_FLAG, &listener->evd);
	if (ret != DAT_SUCCESS)
		return sdp_kdapl_errno(ret);
	ret = dat_psp_create(device->ia, listener->attr.port, listener->evd,
			     DAT_PSP_CONSUMER_FLAG, &listener->psp);
	if (ret != DAT_SUCCESS)
		dat_evd_free(listener->evd);
	return sdp_kdapl_errno(ret);
}

/* Free the service point and refuse what its EVD holds. device->sem is held. */
static void sdp_kdapl_listener_close(struct sdp_ot_listener *listener)
{
	DAT_EVENT event;

	if (!listener->psp)
		return;
	WARN_ON_ONCE(dat_psp_free(listener->psp) != DAT_SUCCESS);
	listener->psp = DAT_HANDLE_NULL;
	dat_evd_modify_upcall(listener->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	while (dat_evd_dequeue(listener->evd, &event) == DAT_SUCCESS)
		dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
	WARN_ON_ONCE(dat_evd_free(listener->evd) != DAT_SUCCESS);
}

/**
 * sdp_kdapl_listeners_end() - the device is removed: nothing listens, and requests are not answered
 * @device: device; its sem is held for writing
 *
 * Context: may sleep.
 */
void sdp_kdapl_listeners_end(struct sdp_kdapl_device *device)
{
	struct sdp_ot_conn_request *request;
	struct sdp_ot_listener *listener;

	list_for_each_entry(listener, &device->listeners, list)
		sdp_kdapl_listener_close(listener);
	scoped_guard(spinlock_irq, &device->lock) {
		list_for_each_entry(request, &device->requests, all)
			request->cr = DAT_HANDLE_NULL;
	}
}

/* device->sem is held for reading. */
static int sdp_kdapl_listener_begin(struct sdp_ot_listener *listener)
{
	struct sdp_kdapl_device *device = listener->device;
	struct sdp_ot_listener *other;
	int ret;

	guard(mutex)(&device->listeners_lock);
	if (device->gone)
		return -ENODEV;
	list_for_each_entry(other, &device->listeners, list)
		if (other->attr.port == listener->attr.port)
			return -EADDRINUSE;
	ret = sdp_kdapl_listener_open(listener);
	if (!ret)
		list_add_tail(&listener->list, &device->listeners);
	return ret;
}

struct sdp_ot_listener *sdp_kdapl_listen(struct sdp_ot_device *ot,
					 const struct sdp_ot_listen_attr *attr)
{
	struct sdp_kdapl_device *device = sdp_kdapl_device(ot);
	struct sdp_ot_listener *listener;
	int ret;

	might_sleep();
	if (!attr->port || !attr->request)
		return ERR_PTR(-EINVAL);
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	listener->device = device;
	listener->attr = *attr;
	INIT_LIST_HEAD(&listener->requests);
	INIT_WORK(&listener->work, sdp_kdapl_listener_work);
	/* a request may come at once */
	sdp_kdapl_device_get(ot);
	scoped_guard(rwsem_read, &device->sem)
		ret = sdp_kdapl_listener_begin(listener);
	if (!ret)
		return listener;
	sdp_kdapl_device_put(ot);
	kfree(listener);
	return ERR_PTR(ret);
}

void sdp_kdapl_listener_destroy(struct sdp_ot_listener *listener)
{
	struct sdp_kdapl_device *device = listener->device;
	struct sdp_ot_conn_request *request, *next;

	might_sleep();
	scoped_guard(rwsem_read, &device->sem) {
		guard(mutex)(&device->listeners_lock);
		list_del(&listener->list);
		sdp_kdapl_listener_close(listener);
	}
	/* not with device->sem: the upcall may need it. No request comes any more */
	cancel_work_sync(&listener->work);
	list_for_each_entry_safe(request, next, &listener->requests, list) {
		list_del_init(&request->list);
		sdp_kdapl_reject(request, NULL, 0);
	}
	sdp_kdapl_device_put(&device->ot);
	kfree(listener);
}
