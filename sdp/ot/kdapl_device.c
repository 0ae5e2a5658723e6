// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Devices of the transport on kDAPL: RNICs of the kernel access layer, each in the network
 * namespaces in which it is of use.
 *
 * The kAL reports RNICs that are made and removed, and events of each. One worker then looks at the
 * present state, compares it with the last one, and reports the differences to the subscribers. So
 * no event is lost, and many at a time cost one look. A change in a namespace costs a look at its
 * devices alone, and one of its routes none at all. The end of an RNIC or of a namespace does not
 * wait for the worker: it ends the devices, and the worker reports later.
 *
 * sdp_kdapl_events_lock is the worker's and that of subscribe() and unsubscribe(). It is held in
 * event upcalls, which must not call these two. sdp_kdapl_rnics_lock keeps RNICs and namespaces
 * while they are looked at, and is not held in upcalls.
 */
#include <linux/cleanup.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>

#include <krdma/kal.h>
#include <krdma/krdma-abi.h>

#include "kdapl.h"

/**
 * struct sdp_kdapl_rnic - an RNIC that the kAL has shown; sdp_kdapl_rnics_lock
 * @list: in sdp_kdapl_rnics
 * @rnic: RNIC
 * @devices: its devices that are not gone, one for each namespace
 */
struct sdp_kdapl_rnic {
	struct list_head list;
	struct ri_rnic *rnic;
	struct list_head devices;
};

/**
 * struct sdp_kdapl_address - an address of a device
 * @list: in device->addresses
 * @address: address, port 0
 * @seen: by the last look
 * @reported: to subscribers
 */
struct sdp_kdapl_address {
	struct list_head list;
	struct sockaddr_storage address;
	bool seen;
	bool reported;
};

/* what has changed in the namespace of a device */
enum {
	SDP_KDAPL_CHANGE_ROUTES,
	SDP_KDAPL_CHANGE_LOOK,		/* an address or a link */
	SDP_KDAPL_CHANGE_LISTED,	/* the device is in sdp_kdapl_changed */
};

static DEFINE_MUTEX(sdp_kdapl_events_lock);	/* see above */
static LIST_HEAD(sdp_kdapl_subscribers);
static DEFINE_MUTEX(sdp_kdapl_rnics_lock);	/* see above */
static LIST_HEAD(sdp_kdapl_rnics);
static DEFINE_SPINLOCK(sdp_kdapl_devices_lock);	/* protects the list and what route() reads */
static LIST_HEAD(sdp_kdapl_devices);
static LLIST_HEAD(sdp_kdapl_changed);	/* devices with changes, referenced */
static atomic_t sdp_kdapl_look_wanted = ATOMIC_INIT(0);
static atomic_t sdp_kdapl_alive = ATOMIC_INIT(0);	/* devices in memory */

static void sdp_kdapl_events(struct work_struct *work);
static DECLARE_WORK(sdp_kdapl_events_work, sdp_kdapl_events);

/* Something else than routes has changed. */
static void sdp_kdapl_want_look(void)
{
	atomic_set(&sdp_kdapl_look_wanted, 1);
	queue_work(sdp_kdapl_wq, &sdp_kdapl_events_work);
}

/* References **************************************************************** */

void sdp_kdapl_device_get(struct sdp_ot_device *device)
{
	kref_get(&sdp_kdapl_device(device)->refs);
}

static void sdp_kdapl_device_free(struct kref *refs)
{
	struct sdp_kdapl_device *device = container_of(refs, struct sdp_kdapl_device, refs);
	struct sdp_kdapl_address *address, *next;

	list_for_each_entry_safe(address, next, &device->addresses, list)
		kfree(address);
	kfree(device);
	if (atomic_dec_and_test(&sdp_kdapl_alive))
		wake_up_var(&sdp_kdapl_alive);
}

void sdp_kdapl_device_put(struct sdp_ot_device *device)
{
	kref_put(&sdp_kdapl_device(device)->refs, sdp_kdapl_device_free);
}

/** sdp_kdapl_devices_wait() - wait until no device is left in memory; may sleep */
void sdp_kdapl_devices_wait(void)
{
	wait_var_event(&sdp_kdapl_alive, !atomic_read(&sdp_kdapl_alive));
}

/* Begin and end of a device ************************************************** */

static void sdp_kdapl_net_event(struct kal_net_sub *sub, const struct kal_net_event *event)
{
	struct sdp_kdapl_device *device = container_of(sub, struct sdp_kdapl_device, net_sub);

	set_bit(event->type == KRDMA_NET_ROUTE ? SDP_KDAPL_CHANGE_ROUTES : SDP_KDAPL_CHANGE_LOOK,
		&device->changes);
	if (!test_and_set_bit(SDP_KDAPL_CHANGE_LISTED, &device->changes)) {
		kref_get(&device->refs);
		llist_add(&device->changed, &sdp_kdapl_changed);
	}
	queue_work(sdp_kdapl_wq, &sdp_kdapl_events_work);
}

static u16 sdp_kdapl_u16(DAT_COUNT count)
{
	return clamp(count, 0, U16_MAX);
}

static void sdp_kdapl_device_limits(struct sdp_kdapl_device *device, const DAT_IA_ATTR *ia,
				    const DAT_PROVIDER_ATTR *provider)
{
	const struct ri_rnic_attr *rnic = &device->rnic->attr;
	struct sdp_ot_device *ot = &device->ot;

	ot->caps = SDP_OT_CAP_LOCAL | SDP_OT_CAP_ROUTED;
	if (rnic->limits.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)
		ot->caps |= SDP_OT_CAP_INVALIDATE;
	if (kal_dma_is_virtual(device->rnic))
		ot->caps |= SDP_OT_CAP_SOFTWARE;
	if (rnic->caps & RI_CAP_LLP_OFFLOAD)
		ot->caps |= SDP_OT_CAP_ADOPTED;
	ot->request_len = min(provider->max_private_data_size, SDP_KDAPL_DATA);
	ot->answer_len = ot->request_len;
	ot->refusal_len = ot->request_len;
	ot->max_message = ia->max_message_size;
	ot->max_rdma = ia->max_rdma_size;
	ot->max_segments = min3(ia->max_iov_segments_per_dto, ia->max_iov_segments_per_rdma_write,
				SDP_KDAPL_SEGMENTS);
	ot->max_read_segments = min(ia->max_iov_segments_per_rdma_read, SDP_KDAPL_SEGMENTS);
	ot->max_pages = rnic->limits.max_fast_reg_page_list_len;
	ot->reads_in = sdp_kdapl_u16(ia->max_rdma_read_per_ep_in);
	ot->reads_out = sdp_kdapl_u16(ia->max_rdma_read_per_ep_out);
	device->iwarp = provider->rdma_write_for_rdma_read_req == DAT_TRUE;
	if (!device->iwarp)
		ot->caps |= SDP_OT_CAP_ACKED;
	device->syncs = provider->lmr_sync_req == DAT_TRUE;
}

/* Open the IA and ask for its attributes. The RNIC and the namespace are kept. */
static int sdp_kdapl_device_open(struct sdp_kdapl_device *device)
{
	DAT_PROVIDER_ATTR *provider __free(kfree) = kzalloc(sizeof(*provider), GFP_KERNEL);
	DAT_IA_ATTR *ia __free(kfree) = kzalloc(sizeof(*ia), GFP_KERNEL);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	if (!provider || !ia)
		return -ENOMEM;
	ret = dat_ia_open_net(device->rnic->name, device->ot.net, 8, &async, &device->ia);
	if (ret != DAT_SUCCESS)
		return sdp_kdapl_errno(ret);
	ret = dat_ia_query(device->ia, NULL, DAT_IA_FIELD_ALL, ia, DAT_PROVIDER_FIELD_ALL,
			   provider);
	/* another RNIC may have the name for its second IA */
	if (ret == DAT_SUCCESS && !strcmp(ia->adapter_name, device->rnic->name)) {
		sdp_kdapl_device_limits(device, ia, provider);
		return 0;
	}
	dat_ia_close(device->ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret == DAT_SUCCESS ? -ENODEV : sdp_kdapl_errno(ret);
}

static struct sdp_kdapl_device *sdp_kdapl_device_new(struct ri_rnic *rnic, struct net *net)
{
	struct sdp_kdapl_device *device = kzalloc(sizeof(*device), GFP_KERNEL);

	if (!device)
		return NULL;
	device->ot.ot = &sdp_kdapl;
	strscpy(device->ot.name, rnic->name, sizeof(device->ot.name));
	device->ot.net = net;
	device->rnic = rnic;
	kref_init(&device->refs);
	init_rwsem(&device->sem);
	spin_lock_init(&device->lock);
	INIT_LIST_HEAD(&device->eps);
	INIT_LIST_HEAD(&device->requests);
	INIT_LIST_HEAD(&device->listeners);
	INIT_LIST_HEAD(&device->addresses);
	mutex_init(&device->listeners_lock);
	mutex_init(&device->domains_lock);
	INIT_LIST_HEAD(&device->domains);
	if (sdp_kdapl_device_open(device)) {
		kfree(device);
		return NULL;
	}
	atomic_inc(&sdp_kdapl_alive);
	device->net_sub.handler = sdp_kdapl_net_event;
	/* routes may not be had; they are looked up for each connect anyway */
	device->net_sub.mask = KRDMA_NET_ROUTE | KRDMA_NET_ADDRESS | KRDMA_NET_LINK;
	device->net_subscribed = !kal_net_subscribe(net, &device->net_sub);
	if (device->net_subscribed)
		return device;
	device->net_sub.mask &= ~KRDMA_NET_ROUTE;
	device->net_subscribed = !kal_net_subscribe(net, &device->net_sub);
	return device;
}

/*
 * Take kDAPL away from the device and all its objects, and report it to the endpoints. The RNIC and
 * the namespace are kept.
 */
static void sdp_kdapl_device_end(struct sdp_kdapl_device *device)
{
	struct sdp_kdapl_ep *ep;

	lockdep_assert_held(&sdp_kdapl_rnics_lock);
	if (device->net_subscribed)
		kal_net_unsubscribe(&device->net_sub);
	device->net_subscribed = false;
	down_write(&device->sem);
	WRITE_ONCE(device->gone, true);
	/* first of all: no connection of the device can reach a key afterwards */
	list_for_each_entry(ep, &device->eps, list)
		sdp_kdapl_ep_kill(ep);
	sdp_kdapl_listeners_end(device);
	list_for_each_entry(ep, &device->eps, list)
		sdp_kdapl_ep_gone(ep);
	WARN_ON(dat_ia_close(device->ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS);
	device->ia = DAT_HANDLE_NULL;
	up_write(&device->sem);
	list_del(&device->of_rnic);
	sdp_kdapl_want_look();
}

/* What there is ************************************************************** */

/* The interfaces of the RNIC in @net; @links has SDP_KDAPL_LINKS zeroes. Return: their number. */
static unsigned int sdp_kdapl_links(struct ri_rnic *rnic, struct net *net, int *links)
{
	struct net_device *ndev;
	struct ri_port_attr port;
	unsigned int n = 0;
	u32 i;

	if (!kal_rnic_in_net(rnic, net))
		return 0;
	if (rnic->netdev) {
		links[n++] = rnic->netdev->ifindex;
		guard(rcu)();
		for_each_netdev_rcu(net, ndev)
			if (n < SDP_KDAPL_LINKS && is_vlan_dev(ndev) &&
			    vlan_dev_real_dev(ndev) == rnic->netdev)
				links[n++] = ndev->ifindex;
		return n;
	}
	for (i = 1; i <= max(rnic->attr.num_ports, 1u) && n < SDP_KDAPL_LINKS; i++) {
		memset(&port, 0, sizeof(port));
		if (!kal_port_query(rnic, i, net, &port) && port.ifindex)
			links[n++] = port.ifindex;
	}
	return n;
}

static void sdp_kdapl_see_address(struct sdp_kdapl_device *device,
				  const struct sockaddr_storage *seen)
{
	struct sdp_kdapl_address *address;

	list_for_each_entry(address, &device->addresses, list) {
		if (memcmp(&address->address, seen, sizeof(*seen)))
			continue;
		address->seen = true;
		return;
	}
	/* what finds no memory is seen by the next look */
	address = kzalloc(sizeof(*address), GFP_ATOMIC);
	if (!address)
		return;
	address->address = *seen;
	address->seen = true;
	list_add_tail(&address->list, &device->addresses);
}

static void sdp_kdapl_see_addresses(struct sdp_kdapl_device *device, const struct net_device *ndev)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct inet6_ifaddr *ifa6;
	const struct in_ifaddr *ifa;
	struct inet6_dev *in6_dev;

	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			struct sockaddr_storage address = { .ss_family = AF_INET };

			((struct sockaddr_in *)&address)->sin_addr.s_addr = ifa->ifa_local;
			sdp_kdapl_see_address(device, &address);
		}
	}
	in6_dev = IS_ENABLED(CONFIG_IPV6) ? __in6_dev_get(ndev) : NULL;
	if (!in6_dev)
		return;
	list_for_each_entry_rcu(ifa6, &in6_dev->addr_list, if_list) {
		struct sockaddr_storage address = { .ss_family = AF_INET6 };
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;

		in6->sin6_addr = ifa6->addr;
		if (__ipv6_addr_needs_scope_id(ipv6_addr_type(&ifa6->addr)))
			in6->sin6_scope_id = ndev->ifindex;
		sdp_kdapl_see_address(device, &address);
	}
}

/* Look at a device that continues. */
static void sdp_kdapl_look_at(struct sdp_kdapl_device *device, const int *links)
{
	struct sdp_kdapl_address *address;
	struct net_device *ndev;
	bool up = false;
	unsigned int i;

	list_for_each_entry(address, &device->addresses, list)
		address->seen = false;
	scoped_guard(rcu) {
		for (i = 0; i < SDP_KDAPL_LINKS && links[i]; i++) {
			ndev = dev_get_by_index_rcu(device->ot.net, links[i]);
			if (!ndev)
				continue;
			up |= netif_running(ndev) && netif_carrier_ok(ndev);
			sdp_kdapl_see_addresses(device, ndev);
		}
	}
	scoped_guard(spinlock, &sdp_kdapl_devices_lock) {
		memcpy(device->links, links, sizeof(device->links));
		device->ot.ifindex = links[0];
	}
	device->up = up;
}

static struct sdp_kdapl_device *sdp_kdapl_find(const struct sdp_kdapl_rnic *shown,
					       const struct net *net)
{
	struct sdp_kdapl_device *device;

	lockdep_assert_held(&sdp_kdapl_rnics_lock);
	list_for_each_entry(device, &shown->devices, of_rnic)
		if (net_eq(device->ot.net, net))
			return device;
	return NULL;
}

static void sdp_kdapl_look_in_net(struct sdp_kdapl_rnic *shown, struct net *net)
{
	struct sdp_kdapl_device *device = sdp_kdapl_find(shown, net);
	int links[SDP_KDAPL_LINKS] = {};

	if (!sdp_kdapl_links(shown->rnic, net, links)) {
		if (device)
			sdp_kdapl_device_end(device);
		return;
	}
	if (!device) {
		device = sdp_kdapl_device_new(shown->rnic, net);
		if (!device)
			return;
		list_add_tail(&device->of_rnic, &shown->devices);
		scoped_guard(spinlock, &sdp_kdapl_devices_lock)
			list_add_tail(&device->list, &sdp_kdapl_devices);
	}
	sdp_kdapl_look_at(device, links);
}

/* All namespaces, counted; the caller puts and frees them. Return: how many, or -ENOMEM. */
static int sdp_kdapl_all_nets(struct net ***to)
{
	unsigned int room = 0, n = 0;
	struct net **nets, *net;

	down_read(&net_rwsem);
	for_each_net(net)
		room++;
	nets = kvcalloc(room, sizeof(*nets), GFP_KERNEL);
	if (nets)
		for_each_net(net)
			if (maybe_get_net(net))
				nets[n++] = net;
	up_read(&net_rwsem);
	*to = nets;
	return nets ? n : -ENOMEM;
}

/*
 * An RNIC with a network device is of use in that namespace alone. The RNIC of another driver moves
 * with its device: what it was in the namespace before ends.
 */
static void sdp_kdapl_look_at_netdev(struct sdp_kdapl_rnic *shown)
{
	struct sdp_kdapl_device *device, *next;
	struct net *net;

	scoped_guard(rcu)
		net = maybe_get_net(dev_net(shown->rnic->netdev));
	if (!net)
		return;
	list_for_each_entry_safe(device, next, &shown->devices, of_rnic)
		if (!net_eq(device->ot.net, net))
			sdp_kdapl_device_end(device);
	sdp_kdapl_look_in_net(shown, net);
	put_net(net);
}

/* Look at all RNICs, those without a network device in all namespaces. */
static void sdp_kdapl_look(void)
{
	struct sdp_kdapl_rnic *shown;
	struct net **nets;
	int n, i;

	n = sdp_kdapl_all_nets(&nets);
	scoped_guard(mutex, &sdp_kdapl_rnics_lock)
		list_for_each_entry(shown, &sdp_kdapl_rnics, list) {
			if (shown->rnic->netdev)
				sdp_kdapl_look_at_netdev(shown);
			for (i = 0; i < n && !shown->rnic->netdev; i++)
				sdp_kdapl_look_in_net(shown, nets[i]);
		}
	for (i = 0; i < n; i++)
		put_net(nets[i]);
	kvfree(nets);
}

/* Telling ******************************************************************** */

static void sdp_kdapl_report(struct sdp_kdapl_device *device, enum sdp_ot_event event,
			     const struct sockaddr_storage *address)
{
	struct sdp_ot_subscriber *subscriber;

	lockdep_assert_held(&sdp_kdapl_events_lock);
	list_for_each_entry(subscriber, &sdp_kdapl_subscribers, list)
		subscriber->event(subscriber, &device->ot, event, address);
}

static void sdp_kdapl_report_addresses(struct sdp_kdapl_device *device)
{
	struct sdp_kdapl_address *address, *next;

	list_for_each_entry_safe(address, next, &device->addresses, list) {
		if (address->seen && !address->reported) {
			address->reported = true;
			sdp_kdapl_report(device, SDP_OT_ADDRESS_NEW, &address->address);
		} else if (!address->seen) {
			if (address->reported)
				sdp_kdapl_report(device, SDP_OT_ADDRESS_GONE, &address->address);
			list_del(&address->list);
			kfree(address);
		}
	}
}

/* Report the differences. The list of a device that is gone keeps it for this. */
static void sdp_kdapl_report_of(struct sdp_kdapl_device *device)
{
	if (READ_ONCE(device->gone)) {
		if (device->reported)
			sdp_kdapl_report(device, SDP_OT_DEVICE_GONE, NULL);
		scoped_guard(mutex, &sdp_kdapl_rnics_lock) {
			scoped_guard(spinlock, &sdp_kdapl_devices_lock)
				list_del(&device->list);
		}
		sdp_kdapl_device_put(&device->ot);
		return;
	}
	if (!device->reported) {
		device->reported = true;
		sdp_kdapl_report(device, SDP_OT_DEVICE_NEW, NULL);
	}
	sdp_kdapl_report_addresses(device);
	if (device->up != device->reported_up) {
		device->reported_up = device->up;
		sdp_kdapl_report(device, device->up ? SDP_OT_LINK_UP : SDP_OT_LINK_DOWN, NULL);
	}
}

/* Look at one device, for its namespace has changed. */
static void sdp_kdapl_look_again(struct sdp_kdapl_device *device)
{
	int links[SDP_KDAPL_LINKS] = {};

	guard(mutex)(&sdp_kdapl_rnics_lock);
	if (device->gone)
		return;
	if (sdp_kdapl_links(device->rnic, device->ot.net, links))
		sdp_kdapl_look_at(device, links);
	else
		sdp_kdapl_device_end(device);
}

/* The end of a device is not for this to report: it wants a look at all of them. */
static void sdp_kdapl_report_changes(void)
{
	struct sdp_kdapl_device *device, *next;

	lockdep_assert_held(&sdp_kdapl_events_lock);
	llist_for_each_entry_safe(device, next, llist_del_all(&sdp_kdapl_changed), changed) {
		/* a change from here on lists the device again; a full barrier, as the others */
		test_and_clear_bit(SDP_KDAPL_CHANGE_LISTED, &device->changes);
		if (test_and_clear_bit(SDP_KDAPL_CHANGE_LOOK, &device->changes)) {
			sdp_kdapl_look_again(device);
			if (!READ_ONCE(device->gone))
				sdp_kdapl_report_of(device);
		}
		if (test_and_clear_bit(SDP_KDAPL_CHANGE_ROUTES, &device->changes) &&
		    device->reported && !READ_ONCE(device->gone))
			sdp_kdapl_report(device, SDP_OT_ROUTES_CHANGED, NULL);
		sdp_kdapl_device_put(&device->ot);
	}
}

static void sdp_kdapl_look_and_report(void)
{
	struct sdp_kdapl_device *device, *next;

	lockdep_assert_held(&sdp_kdapl_events_lock);
	atomic_set(&sdp_kdapl_look_wanted, 0);
	sdp_kdapl_look();
	/* devices are added and deleted with sdp_kdapl_events_lock held only */
	list_for_each_entry_safe(device, next, &sdp_kdapl_devices, list)
		sdp_kdapl_report_of(device);
}

static void sdp_kdapl_events(struct work_struct *work)
{
	guard(mutex)(&sdp_kdapl_events_lock);
	if (atomic_read(&sdp_kdapl_look_wanted))
		sdp_kdapl_look_and_report();
	sdp_kdapl_report_changes();
}

int sdp_kdapl_subscribe(struct sdp_ot_subscriber *subscriber)
{
	const struct sdp_kdapl_address *address;
	struct sdp_kdapl_device *device;

	guard(mutex)(&sdp_kdapl_events_lock);
	sdp_kdapl_look_and_report();
	list_for_each_entry(device, &sdp_kdapl_devices, list) {
		if (!device->reported)
			continue;
		subscriber->event(subscriber, &device->ot, SDP_OT_DEVICE_NEW, NULL);
		list_for_each_entry(address, &device->addresses, list)
			if (address->reported)
				subscriber->event(subscriber, &device->ot, SDP_OT_ADDRESS_NEW,
						  &address->address);
		if (device->reported_up)
			subscriber->event(subscriber, &device->ot, SDP_OT_LINK_UP, NULL);
	}
	list_add_tail(&subscriber->list, &sdp_kdapl_subscribers);
	return 0;
}

void sdp_kdapl_unsubscribe(struct sdp_ot_subscriber *subscriber)
{
	guard(mutex)(&sdp_kdapl_events_lock);
	list_del(&subscriber->list);
}

/* Routes ********************************************************************* */

static struct sdp_kdapl_device *sdp_kdapl_of_link(const struct net *net, int ifindex)
{
	struct sdp_kdapl_device *device;
	unsigned int i;

	scoped_guard(spinlock, &sdp_kdapl_devices_lock) {
		list_for_each_entry(device, &sdp_kdapl_devices, list) {
			if (READ_ONCE(device->gone) || !net_eq(device->ot.net, net))
				continue;
			for (i = 0; i < SDP_KDAPL_LINKS && device->links[i]; i++) {
				if (device->links[i] != ifindex)
					continue;
				kref_get(&device->refs);
				return device;
			}
		}
	}
	return NULL;
}

struct sdp_ot_device *sdp_kdapl_route(struct net *net, const struct sockaddr_storage *remote,
				      struct sockaddr_storage *local, int bound_ifindex,
				      struct sockaddr_storage *next_hop)
{
	const __be16 port = local->ss_family ? kal_addr_port(local) : 0;
	struct sdp_kdapl_device *device;
	struct kal_route route;
	int err;

	might_sleep();
	if (local->ss_family && kal_addr_any(local))
		err = kal_net_route(net, remote, NULL, bound_ifindex, &route);
	else
		err = kal_net_route(net, remote, local, bound_ifindex, &route);
	if (err)
		return ERR_PTR(err == -EINVAL ? -EHOSTUNREACH : err);
	device = sdp_kdapl_of_link(net, route.owner_ifindex);
	if (!device)
		return ERR_PTR(-ENODEV);
	*local = route.src;
	kal_addr_set_port(local, port);
	if (next_hop)
		*next_hop = route.next_hop;
	return &device->ot;
}

/* RNICs and namespaces ******************************************************* */

static int sdp_kdapl_rnic_add(struct ri_rnic *rnic);
static void sdp_kdapl_rnic_remove(struct ri_rnic *rnic);

static void sdp_kdapl_rnic_event(struct ri_rnic *rnic, enum ib_event_type event)
{
	sdp_kdapl_want_look();
}

static struct kal_client sdp_kdapl_client = {
	.name = "sdp",
	.add = sdp_kdapl_rnic_add,
	.remove = sdp_kdapl_rnic_remove,
	.event = sdp_kdapl_rnic_event,
};

static int sdp_kdapl_rnic_add(struct ri_rnic *rnic)
{
	struct sdp_kdapl_rnic *shown = kzalloc(sizeof(*shown), GFP_KERNEL);
	int err;

	if (!shown)
		return -ENOMEM;
	shown->rnic = rnic;
	INIT_LIST_HEAD(&shown->devices);
	err = kal_set_client_data(rnic, &sdp_kdapl_client, shown);
	if (err) {
		kfree(shown);
		return err;
	}
	scoped_guard(mutex, &sdp_kdapl_rnics_lock)
		list_add_tail(&shown->list, &sdp_kdapl_rnics);
	sdp_kdapl_want_look();
	return 0;
}

/* End the devices of @rnic, or of all RNICs; in @net, or everywhere. */
static void sdp_kdapl_end_devices(const struct ri_rnic *rnic, const struct net *net)
{
	struct sdp_kdapl_device *device;

	lockdep_assert_held(&sdp_kdapl_rnics_lock);
	list_for_each_entry(device, &sdp_kdapl_devices, list)
		if (!device->gone && (!rnic || device->rnic == rnic) &&
		    (!net || net_eq(device->ot.net, net)))
			sdp_kdapl_device_end(device);
}

static void sdp_kdapl_rnic_remove(struct ri_rnic *rnic)
{
	struct sdp_kdapl_rnic *shown = kal_client_data(rnic, &sdp_kdapl_client);

	scoped_guard(mutex, &sdp_kdapl_rnics_lock) {
		list_del(&shown->list);
		sdp_kdapl_end_devices(rnic, NULL);
	}
	kal_set_client_data(rnic, &sdp_kdapl_client, NULL);
	kfree(shown);
}

static void sdp_kdapl_net_exit(struct net *net)
{
	scoped_guard(mutex, &sdp_kdapl_rnics_lock)
		sdp_kdapl_end_devices(NULL, net);
	/* SDP has been reported of each end */
	flush_workqueue(sdp_kdapl_wq);
}

static struct pernet_operations sdp_kdapl_net_ops = {
	.exit = sdp_kdapl_net_exit,
};

/** sdp_kdapl_devices_init() - find the devices; 0 or a negative errno; may sleep */
int sdp_kdapl_devices_init(void)
{
	int ret;

	ret = register_pernet_subsys(&sdp_kdapl_net_ops);
	if (ret)
		return ret;
	ret = kal_register_client(&sdp_kdapl_client);
	if (ret)
		unregister_pernet_subsys(&sdp_kdapl_net_ops);
	return ret;
}

/** sdp_kdapl_devices_exit() - end all devices; there is no subscriber any more; may sleep */
void sdp_kdapl_devices_exit(void)
{
	kal_unregister_client(&sdp_kdapl_client);
	unregister_pernet_subsys(&sdp_kdapl_net_ops);
	flush_work(&sdp_kdapl_events_work);
	/* what the last event has left */
	sdp_kdapl_events(&sdp_kdapl_events_work);
}
