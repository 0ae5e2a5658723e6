// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The transports that are registered, and their devices.
 *
 * Each device gets one listener at the port of SDP, for all connections. A device that cannot
 * listen, because another socket has the port or memory is short, is of use for connects. It is
 * tried again when it gets an address, and by a work item, after a time that doubles up to a limit.
 *
 * sdp_ot_lock protects the lists and is not held while a transport is called. sdp_ot_listen_lock is
 * taken before it by functions that change the lists of transports and devices or lets devices
 * listen, and is held while they begin or end to. So an upcall of a listener must not take it.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <krdma/compat.h>

#include "devices.h"

/* below 1024: a program that may not bind there does not answer in the kernel's place */
#define SDP_OT_PORTS	1024

#define SDP_OT_RETRY_FIRST	(HZ / 10)	/* until a device is tried again */
#define SDP_OT_RETRY_MOST	(30 * HZ)

ushort sdp_ot_port = 1017;

/**
 * struct sdp_ot_entry - a transport
 * @list: in sdp_ot_entries
 * @ot: transport
 * @subscriber: to its events
 * @devices: struct sdp_ot_known; changed by events
 */
struct sdp_ot_entry {
	struct list_head list;
	struct sdp_ot *ot;
	struct sdp_ot_subscriber subscriber;
	struct list_head devices;
};

/**
 * struct sdp_ot_known - a device
 * @list: in entry->devices
 * @device: counted
 * @listener: at the rendezvous port, or NULL
 * @pending: it should listen, and could not
 */
struct sdp_ot_known {
	struct list_head list;
	struct sdp_ot_device *device;
	struct sdp_ot_listener *listener;
	bool pending;
};

static LIST_HEAD(sdp_ot_entries);
static LIST_HEAD(sdp_ot_nets);
static DEFINE_MUTEX(sdp_ot_lock);	/* protects the lists and all that is in them */
static DEFINE_MUTEX(sdp_ot_listen_lock);	/* see above; protects the next two, too */
static unsigned long sdp_ot_retry_delay = SDP_OT_RETRY_FIRST;
static void sdp_ot_retry_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(sdp_ot_retry, sdp_ot_retry_work);
/* held for reading while route() of a transport runs, which unregistering waits for */
static DECLARE_RWSEM(sdp_ot_users);
static const struct sdp_ot_user *sdp_ot_user;

/* Devices ******************************************************************* */

static struct sdp_ot_known *sdp_ot_find(struct sdp_ot_entry *entry,
					const struct sdp_ot_device *device)
{
	struct sdp_ot_known *known;

	list_for_each_entry(known, &entry->devices, list)
		if (known->device == device)
			return known;
	return NULL;
}

static void sdp_ot_request(void *context, struct sdp_ot_conn_request *request, const u8 *data,
			   u32 length, const struct sockaddr_storage *local,
			   const struct sockaddr_storage *remote)
{
	struct sdp_ot_known *known = context;

	sdp_ot_user->request(known->device, request, data, length, local, remote);
}

/* Has the device to listen? */
static bool sdp_ot_is_wanted(const struct sdp_ot_known *known)
{
	const struct sdp_ot_net *wanted;

	lockdep_assert_held(&sdp_ot_listen_lock);
	if (!sdp_ot_user->on_demand)
		return true;
	list_for_each_entry(wanted, &sdp_ot_nets, list)
		if (net_eq(wanted->net, known->device->net))
			return true;
	return false;
}

/* The device could not listen. The first time is a reason to say so. */
static void sdp_ot_try_later(struct sdp_ot_known *known, int error)
{
	if (!known->pending)
		pr_warn_ratelimited("krdma_sdp: %s: cannot listen at port %u yet: error %d\n",
				    known->device->name, sdp_ot_port, error);
	known->pending = true;
	queue_delayed_work(system_dfl_wq, &sdp_ot_retry, sdp_ot_retry_delay);
}

/* Let the device listen, or not any more. */
static void sdp_ot_listen(struct sdp_ot_known *known)
{
	const struct sdp_ot_listen_attr attr = {
		.port = sdp_ot_port,
		.request = sdp_ot_request,
		.context = known,
	};
	const struct sdp_ot_ops *ops = known->device->ot->ops;
	struct sdp_ot_listener *listener;

	lockdep_assert_held(&sdp_ot_listen_lock);
	if (!sdp_ot_is_wanted(known)) {
		if (known->listener)
			ops->listener_destroy(known->listener);
		known->listener = NULL;
		known->pending = false;
		return;
	}
	if (known->listener)
		return;
	listener = ops->listen(known->device, &attr);
	if (!IS_ERR(listener)) {
		known->listener = listener;
		known->pending = false;
	} else if (PTR_ERR(listener) != -ENODEV) {
		sdp_ot_try_later(known, PTR_ERR(listener));
	}
}

static void sdp_ot_add(struct sdp_ot_entry *entry, struct sdp_ot_device *device)
{
	struct sdp_ot_known *known;

	if (sdp_ot_find(entry, device))
		return;
	known = kzalloc(sizeof(*known), GFP_KERNEL);
	if (!known)
		return;
	device->ot->ops->device_get(device);
	known->device = device;
	guard(mutex)(&sdp_ot_listen_lock);
	scoped_guard(mutex, &sdp_ot_lock)
		list_add_tail(&known->list, &entry->devices);
	sdp_ot_listen(known);
}

static void sdp_ot_forget(struct sdp_ot_known *known)
{
	const struct sdp_ot_ops *ops = known->device->ot->ops;

	scoped_guard(mutex, &sdp_ot_listen_lock) {
		scoped_guard(mutex, &sdp_ot_lock)
			list_del(&known->list);
		if (known->listener)
			ops->listener_destroy(known->listener);
	}
	ops->device_put(known->device);
	kfree(known);
}

static void sdp_ot_listen_again(struct sdp_ot_known *known)
{
	guard(mutex)(&sdp_ot_listen_lock);
	sdp_ot_listen(known);
}

static void sdp_ot_event(struct sdp_ot_subscriber *subscriber, struct sdp_ot_device *device,
			 enum sdp_ot_event event, const struct sockaddr_storage *address)
{
	struct sdp_ot_entry *entry = container_of(subscriber, struct sdp_ot_entry, subscriber);
	struct sdp_ot_known *known = sdp_ot_find(entry, device);

	if (event == SDP_OT_DEVICE_NEW)
		sdp_ot_add(entry, device);
	if (!known)
		return;
	switch (event) {
	case SDP_OT_DEVICE_GONE:
		sdp_ot_forget(known);
		break;
	case SDP_OT_ADDRESS_NEW:
		sdp_ot_listen_again(known);
		break;
	/* nothing is kept of them: route() looks at what there is */
	case SDP_OT_DEVICE_NEW:
	case SDP_OT_ADDRESS_GONE:
	case SDP_OT_LINK_UP:
	case SDP_OT_LINK_DOWN:
	case SDP_OT_ROUTES_CHANGED:
		break;
	}
}

/* Transports **************************************************************** */

static bool sdp_ot_complete(const struct sdp_ot_ops *ops)
{
	/* all but pool_settle(), which not all need */
	return ops->subscribe && ops->unsubscribe && ops->device_get && ops->device_put &&
	       ops->route && ops->pool_create && ops->pool_destroy && ops->pool_get &&
	       ops->pool_put && ops->key_get && ops->key_put && ops->cq_create &&
	       ops->cq_destroy && ops->cq_poll && ops->cq_arm && ops->ep_create &&
	       ops->ep_destroy && ops->post_recv && ops->post_send && ops->post_read &&
	       ops->post_write && ops->key_post && ops->key_drop && ops->push && ops->listen &&
	       ops->listener_destroy && ops->connect && ops->accept &&
	       ops->reject && ops->disconnect;
}

int sdp_ot_register(struct sdp_ot *ot)
{
	struct sdp_ot_entry *entry, *other;
	bool taken = false;
	int ret;

	if (!ot->name || !ot->ops || !sdp_ot_complete(ot->ops) || !sdp_ot_user)
		return -EINVAL;
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->ot = ot;
	entry->subscriber.event = sdp_ot_event;
	INIT_LIST_HEAD(&entry->devices);
	mutex_lock(&sdp_ot_listen_lock);
	scoped_guard(mutex, &sdp_ot_lock) {
		list_for_each_entry(other, &sdp_ot_entries, list)
			taken |= !strcmp(other->ot->name, ot->name);
		if (!taken)
			list_add_tail(&entry->list, &sdp_ot_entries);
	}
	mutex_unlock(&sdp_ot_listen_lock);
	if (taken) {
		kfree(entry);
		return -EEXIST;
	}
	ret = ot->ops->subscribe(&entry->subscriber);
	if (ret) {
		mutex_lock(&sdp_ot_listen_lock);
		scoped_guard(mutex, &sdp_ot_lock)
			list_del(&entry->list);
		mutex_unlock(&sdp_ot_listen_lock);
		down_write(&sdp_ot_users);
		up_write(&sdp_ot_users);
		kfree(entry);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_ot_register);

void sdp_ot_unregister(struct sdp_ot *ot)
{
	struct sdp_ot_entry *entry, *found = NULL;
	struct sdp_ot_known *known, *next;

	mutex_lock(&sdp_ot_listen_lock);
	scoped_guard(mutex, &sdp_ot_lock) {
		list_for_each_entry(entry, &sdp_ot_entries, list)
			if (entry->ot == ot)
				found = entry;
		if (found)
			list_del(&found->list);
	}
	mutex_unlock(&sdp_ot_listen_lock);
	if (!found)
		return;
	/* a look-up of a route has seen the transport, or does not any more */
	down_write(&sdp_ot_users);
	up_write(&sdp_ot_users);
	ot->ops->unsubscribe(&found->subscriber);
	list_for_each_entry_safe(known, next, &found->devices, list)
		sdp_ot_forget(known);
	kfree(found);
}
EXPORT_SYMBOL_GPL(sdp_ot_unregister);

/* Choice ******************************************************************** */

/* The @index-th transport; sdp_ot_users held for reading, so that it stays. */
static struct sdp_ot *sdp_ot_at(unsigned int index)
{
	struct sdp_ot_entry *entry;

	guard(mutex)(&sdp_ot_lock);
	list_for_each_entry(entry, &sdp_ot_entries, list)
		if (!index--)
			return entry->ot;
	return NULL;
}

/**
 * sdp_ot_route() - find the device for a destination
 * @net: namespace
 * @remote: destination
 * @local: the wanted own address, or AF_UNSPEC; takes what was chosen
 * @bound_ifindex: interface that the socket is bound to; 0: none
 * @next_hop: takes the next hop; may be NULL
 *
 * Transports are asked in the order of their registration.
 *
 * Return: a counted device, or an ERR_PTR() as route() of struct sdp_ot_ops: the last transport's,
 * but -ENODEV only if all say that. Context: may sleep.
 */
struct sdp_ot_device *sdp_ot_route(struct net *net, const struct sockaddr_storage *remote,
				   struct sockaddr_storage *local, int bound_ifindex,
				   struct sockaddr_storage *next_hop)
{
	struct sdp_ot_device *device;
	struct sockaddr_storage own;
	long error = -ENODEV;
	struct sdp_ot *ot;
	unsigned int i;

	guard(rwsem_read)(&sdp_ot_users);
	for (i = 0; (ot = sdp_ot_at(i)); i++) {
		own = *local;
		device = ot->ops->route(net, remote, &own, bound_ifindex, next_hop);
		if (!IS_ERR(device)) {
			*local = own;
			return device;
		}
		if (PTR_ERR(device) != -ENODEV)
			error = PTR_ERR(device);
	}
	return ERR_PTR(error);
}

/* Listening on demand ******************************************************** */

/* Look at the devices in @net, or, if that is NULL, at those that could not listen. */
static void sdp_ot_listen_in(const struct net *net)
{
	struct sdp_ot_entry *entry;
	struct sdp_ot_known *known;

	lockdep_assert_held(&sdp_ot_listen_lock);
	list_for_each_entry(entry, &sdp_ot_entries, list)
		list_for_each_entry(known, &entry->devices, list)
			if (net ? net_eq(known->device->net, net) : known->pending)
				sdp_ot_listen(known);
}

/* One try of each device; sdp_ot_try_later() queues the next one. */
static void sdp_ot_retry_work(struct work_struct *work)
{
	guard(mutex)(&sdp_ot_listen_lock);
	sdp_ot_retry_delay = min(2 * sdp_ot_retry_delay, SDP_OT_RETRY_MOST);
	sdp_ot_listen_in(NULL);
	if (!delayed_work_pending(&sdp_ot_retry))
		sdp_ot_retry_delay = SDP_OT_RETRY_FIRST;
}

/**
 * sdp_ot_listen_get() - a socket of the namespace listens: devices do, too
 * @wanted: filled; stays until sdp_ot_listen_put()
 * @net: namespace, which the caller keeps until then
 *
 * Devices that cannot listen are not an error: see the file's head.
 *
 * Context: may sleep; not from an upcall of a listener, nor with a lock that one waits for.
 */
void sdp_ot_listen_get(struct sdp_ot_net *wanted, const struct net *net)
{
	guard(mutex)(&sdp_ot_listen_lock);
	wanted->net = net;
	list_add(&wanted->list, &sdp_ot_nets);
	sdp_ot_listen_in(net);
}

/** sdp_ot_listen_put() - it does not any more; context as sdp_ot_listen_get() */
void sdp_ot_listen_put(struct sdp_ot_net *wanted)
{
	guard(mutex)(&sdp_ot_listen_lock);
	list_del(&wanted->list);
	sdp_ot_listen_in(wanted->net);
}

/**
 * sdp_ot_listeners() - how many devices listen?
 * @listening: filled
 * @pending: those that should, and could not yet
 *
 * Context: may sleep.
 */
void sdp_ot_listeners(u32 *listening, u32 *pending)
{
	const struct sdp_ot_entry *entry;
	const struct sdp_ot_known *known;

	*listening = 0;
	*pending = 0;
	guard(mutex)(&sdp_ot_listen_lock);
	list_for_each_entry(entry, &sdp_ot_entries, list) {
		list_for_each_entry(known, &entry->devices, list) {
			*listening += !!known->listener;
			*pending += known->pending;
		}
	}
}

/* Start and end ************************************************************* */

/**
 * sdp_ot_init() - begin: transports may register
 * @user: receiver of connection requests; lives until sdp_ot_exit()
 *
 * Return: 0 or -EINVAL: the port is wrong.
 */
int sdp_ot_init(const struct sdp_ot_user *user)
{
	if (!sdp_ot_port || sdp_ot_port >= SDP_OT_PORTS)
		return -EINVAL;
	sdp_ot_user = user;
	return 0;
}

/** sdp_ot_exit() - end; all transports have unregistered */
void sdp_ot_exit(void)
{
	WARN_ON(!list_empty(&sdp_ot_entries) || !list_empty(&sdp_ot_nets));
	cancel_delayed_work_sync(&sdp_ot_retry);
	sdp_ot_retry_delay = SDP_OT_RETRY_FIRST;
	sdp_ot_user = NULL;
}
