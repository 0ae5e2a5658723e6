// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Listeners of the transport on kDAPL, and connection requests.
 *
 * All listeners of a device that name the same port share a public service point (PSP), which is
 * made with the first and freed with the last. Its upcall compares private data, and gives the
 * request to a listener. A work item of the listener reports to SDP: so a listener whose upcall
 * takes long keeps no other one from its requests, and may have as many requests waiting as a
 * parameter allows.
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
 * struct sdp_kdapl_port - a port with listeners
 * @list: in device->ports
 * @device: device
 * @port: number
 * @evd: events of connection requests; NULL when the device is gone
 * @psp: service point; NULL when the device is gone
 * @listeners: struct sdp_ot_listener, first one first; device->lock
 */
struct sdp_kdapl_port {
	struct list_head list;
	struct sdp_kdapl_device *device;
	u16 port;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct list_head listeners;
};

/**
 * struct sdp_ot_listener - a listener
 * @list: in port->listeners
 * @device: counted
 * @port: where it listens
 * @attr: as created
 * @requests: that are not reported yet; device->lock, as the next one
 * @waiting: their number
 * @work: reports to SDP
 */
struct sdp_ot_listener {
	struct list_head list;
	struct sdp_kdapl_device *device;
	struct sdp_kdapl_port *port;
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

/* Refuse a request with the device's own private data. */
static void sdp_kdapl_refuse(struct sdp_kdapl_device *device, DAT_CR_HANDLE cr)
{
	u8 data[SDP_KDAPL_DATA];
	u32 length;

	scoped_guard(spinlock_irq, &device->lock) {
		length = device->refusal_len;
		memcpy(data, device->refusal, length);
	}
	if (dat_cr_reject(cr, length, data) != DAT_SUCCESS)
		dat_cr_reject(cr, 0, NULL);
}

static bool sdp_kdapl_match(const struct sdp_ot_match *match, const u8 *data, u32 length)
{
	return !match->size ||
	       (match->size <= sizeof(match->value) && match->offset + match->size <= length &&
		!memcmp(data + match->offset, match->value, match->size));
}

/* How many matches has the listener, that all hold? Return: -1: they do not */
static int sdp_kdapl_matches(const struct sdp_ot_listener *listener, const u8 *data, u32 length)
{
	unsigned int i;
	int n = 0;

	for (i = 0; i < SDP_OT_MATCHES; i++) {
		if (!sdp_kdapl_match(&listener->attr.match[i], data, length))
			return -1;
		n += !!listener->attr.match[i].size;
	}
	return n;
}

/* Give the request to the best listener. Return: false: no listener wants it. */
static bool sdp_kdapl_port_give(struct sdp_kdapl_port *port, struct sdp_ot_conn_request *request)
{
	struct sdp_ot_listener *listener, *best = NULL;
	int n, most = -1;

	scoped_guard(spinlock_irq, &port->device->lock) {
		list_for_each_entry(listener, &port->listeners, list) {
			n = sdp_kdapl_matches(listener, request->data, request->length);
			if (n <= most)
				continue;
			most = n;
			best = listener;
		}
		if (!best || best->waiting >= READ_ONCE(ot_requests))
			return false;
		sdp_kdapl_device_get(&port->device->ot);
		list_add_tail(&request->all, &port->device->requests);
		list_add_tail(&request->list, &best->requests);
		best->waiting++;
		queue_work(sdp_kdapl_wq, &best->work);
	}
	return true;
}

/* kDAPL's upcall, in process context. It uses no device->sem, whose holder may wait for it. */
static void sdp_kdapl_port_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *from = &event->event_data.cr_arrival_event_data;
	struct sdp_kdapl_port *port = data;
	struct sdp_ot_conn_request *request;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	request = sdp_kdapl_request_new(port->device, from);
	if (request && sdp_kdapl_port_give(port, request))
		return;
	sdp_kdapl_refuse(port->device, from->cr_handle);
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

int sdp_kdapl_set_refusal(struct sdp_ot_device *ot, const u8 *data, u32 length)
{
	struct sdp_kdapl_device *device = sdp_kdapl_device(ot);

	if (length > ot->refusal_len)
		return -EMSGSIZE;
	if (READ_ONCE(device->gone))
		return -ENODEV;
	scoped_guard(spinlock_irq, &device->lock) {
		memcpy(device->refusal, data, length);
		device->refusal_len = length;
	}
	return 0;
}

/* Ports ********************************************************************* */

/* Begin to listen. device->sem is held for reading, it is not gone. */
static int sdp_kdapl_port_open(struct sdp_kdapl_port *port)
{
	const DAT_UPCALL_OBJECT upcall = {
		.instance_data = port,
		.upcall_func = sdp_kdapl_port_upcall,
	};
	struct sdp_kdapl_device *device = port->device;
	DAT_RETURN ret;

	ret = dat_evd_kcreate(device->ia, SDP_KDAPL_REQUEST_EVENTS, DAT_UPCALL_SINGLE_INSTANCE,
			      &upcall, DAT_EVD_CR_FLAG, &port->evd);
	if (ret != DAT_SUCCESS)
		return sdp_kdapl_errno(ret);
	ret = dat_psp_create(device->ia, port->port, port->evd, DAT_PSP_CONSUMER_FLAG, &port->psp);
	if (ret != DAT_SUCCESS)
		dat_evd_free(port->evd);
	return sdp_kdapl_errno(ret);
}

/* Free the service point and refuse what its EVD holds. device->sem is held. */
static void sdp_kdapl_port_close(struct sdp_kdapl_port *port)
{
	DAT_EVENT event;

	if (!port->psp)
		return;
	WARN_ON_ONCE(dat_psp_free(port->psp) != DAT_SUCCESS);
	port->psp = DAT_HANDLE_NULL;
	dat_evd_modify_upcall(port->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	while (dat_evd_dequeue(port->evd, &event) == DAT_SUCCESS)
		sdp_kdapl_refuse(port->device, event.event_data.cr_arrival_event_data.cr_handle);
	WARN_ON_ONCE(dat_evd_free(port->evd) != DAT_SUCCESS);
}

/**
 * sdp_kdapl_ports_end() - the device is removed: nothing listens, and requests are not answered
 * @device: device; its sem is held for writing
 *
 * Context: may sleep.
 */
void sdp_kdapl_ports_end(struct sdp_kdapl_device *device)
{
	struct sdp_ot_conn_request *request;
	struct sdp_kdapl_port *port;

	list_for_each_entry(port, &device->ports, list)
		sdp_kdapl_port_close(port);
	scoped_guard(spinlock_irq, &device->lock) {
		list_for_each_entry(request, &device->requests, all)
			request->cr = DAT_HANDLE_NULL;
	}
}

static struct sdp_kdapl_port *sdp_kdapl_port_find(struct sdp_kdapl_device *device, u16 number)
{
	struct sdp_kdapl_port *port;

	list_for_each_entry(port, &device->ports, list)
		if (port->port == number)
			return port;
	return NULL;
}

static bool sdp_kdapl_same_matches(const struct sdp_ot_match *a, const struct sdp_ot_match *b)
{
	unsigned int i;

	for (i = 0; i < SDP_OT_MATCHES; i++)
		if (a[i].size != b[i].size ||
		    (a[i].size && (a[i].offset != b[i].offset ||
				   memcmp(a[i].value, b[i].value, a[i].size))))
			return false;
	return true;
}

/* Add the listener to a port that there is. Return: 0 or -EADDRINUSE */
static int sdp_kdapl_port_join(struct sdp_kdapl_port *port, struct sdp_ot_listener *listener)
{
	struct sdp_ot_listener *other;

	scoped_guard(spinlock_irq, &port->device->lock) {
		list_for_each_entry(other, &port->listeners, list)
			if (sdp_kdapl_same_matches(other->attr.match, listener->attr.match))
				return -EADDRINUSE;
		listener->port = port;
		list_add_tail(&listener->list, &port->listeners);
	}
	return 0;
}

/* Make a port for the listener. device->sem is held for reading, it is not gone. */
static int sdp_kdapl_port_make(struct sdp_kdapl_device *device, struct sdp_ot_listener *listener)
{
	struct sdp_kdapl_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!port)
		return -ENOMEM;
	port->device = device;
	port->port = listener->attr.port;
	INIT_LIST_HEAD(&port->listeners);
	/* a request may come at once */
	sdp_kdapl_port_join(port, listener);
	ret = sdp_kdapl_port_open(port);
	if (ret)
		kfree(port);
	else
		list_add_tail(&port->list, &device->ports);
	return ret;
}

struct sdp_ot_listener *sdp_kdapl_listen(struct sdp_ot_device *ot,
					 const struct sdp_ot_listen_attr *attr)
{
	struct sdp_kdapl_device *device = sdp_kdapl_device(ot);
	struct sdp_ot_listener *listener;
	struct sdp_kdapl_port *port;
	unsigned int i;
	int ret;

	might_sleep();
	if (!attr->port || !attr->request)
		return ERR_PTR(-EINVAL);
	for (i = 0; i < SDP_OT_MATCHES; i++)
		if (attr->match[i].size > sizeof(attr->match[i].value))
			return ERR_PTR(-EINVAL);
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	listener->device = device;
	listener->attr = *attr;
	INIT_LIST_HEAD(&listener->requests);
	INIT_WORK(&listener->work, sdp_kdapl_listener_work);
	scoped_guard(rwsem_read, &device->sem) {
		guard(mutex)(&device->ports_lock);
		port = sdp_kdapl_port_find(device, attr->port);
		if (device->gone)
			ret = -ENODEV;
		else
			ret = port ? sdp_kdapl_port_join(port, listener) :
				     sdp_kdapl_port_make(device, listener);
	}
	if (ret) {
		kfree(listener);
		return ERR_PTR(ret);
	}
	sdp_kdapl_device_get(ot);
	return listener;
}

/* Take the listener from its port, and free that if it was the last one. */
static void sdp_kdapl_port_leave(struct sdp_kdapl_port *port, struct sdp_ot_listener *listener)
{
	struct sdp_kdapl_device *device = port->device;
	bool last;

	guard(rwsem_read)(&device->sem);
	guard(mutex)(&device->ports_lock);
	scoped_guard(spinlock_irq, &device->lock) {
		list_del(&listener->list);
		last = list_empty(&port->listeners);
	}
	if (!last)
		return;
	list_del(&port->list);
	sdp_kdapl_port_close(port);
	kfree(port);
}

void sdp_kdapl_listener_destroy(struct sdp_ot_listener *listener)
{
	struct sdp_kdapl_device *device = listener->device;
	struct sdp_ot_conn_request *request, *next;

	might_sleep();
	sdp_kdapl_port_leave(listener->port, listener);
	/* not with device->sem: the upcall may need it. The port may be gone, no request comes */
	cancel_work_sync(&listener->work);
	list_for_each_entry_safe(request, next, &listener->requests, list) {
		list_del_init(&request->list);
		sdp_kdapl_reject(request, device->refusal, device->refusal_len);
	}
	sdp_kdapl_device_put(&device->ot);
	kfree(listener);
}
