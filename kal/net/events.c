// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Events of the network stack interface. The host notifies of changes of links, addresses and
 * routes, and this file passes them to the subscribers of the network namespace.
 *
 * The host also notifies in softirq context, so no function here sleeps. A subscriber keeps
 * the events that it needs in its own bounded queue.
 *
 * The notifiers of routes and next hops are registered for a namespace only while a subscriber
 * there wants routes, because the host reports all existing routes on registration.
 */
#include <linux/export.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_fib.h>
#include <net/ip_fib.h>
#include <net/nexthop.h>
#include <krdma/krdma-abi.h>

#include "../core/core.h"
#include "internal.h"

#define ALL_EVENTS (KRDMA_NET_LINK | KRDMA_NET_ADDRESS | KRDMA_NET_ROUTE | KRDMA_NET_RNIC)

/**
 * kal_net_deliver() - deliver an event to the subscribers of a namespace
 * @kn: namespace
 * @event: event
 *
 * Each namespace has its own lock, so a slow handler delays no other namespace. Context: any
 * but hard interrupt.
 */
void kal_net_deliver(struct kal_net *kn, const struct kal_net_event *event)
{
	struct kal_net_sub *sub;

	spin_lock_bh(&kn->sub_lock);
	list_for_each_entry(sub, &kn->subs, node)
		if (sub->mask & event->type)
			sub->handler(sub, event);
	spin_unlock_bh(&kn->sub_lock);
}

/* Find the RNIC of an event and deliver the event. @rnic_only: only if there is an RNIC. */
static void net_events_report(struct net *net, struct kal_net_event *event, bool rnic_only)
{
	/* RCU also keeps the RNIC */
	guard(rcu)();
	if (event->ndev) {
		event->ifindex = event->ndev->ifindex;
		event->rnic = kal_net_rnic_find(event->ndev);
	}
	if (event->rnic || !rnic_only)
		kal_net_deliver(kal_net(net), event);
}

/* Links ******************************************************************** */

static int net_events_link_notify(struct notifier_block *nb, unsigned long what, void *arg)
{
	const struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct kal_net_event event = {
		.type = KRDMA_NET_LINK,
		.gone = what == NETDEV_UNREGISTER,
		.ndev = ndev,
		.mtu = READ_ONCE(ndev->mtu),
	};

	switch (what) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGENAME:
	case NETDEV_CHANGEADDR:
	case NETDEV_UNREGISTER:
		event.up = what != NETDEV_DOWN && !event.gone && kal_netdev_link_up(ndev);
		net_events_report(dev_net(ndev), &event, true);
	}
	return NOTIFY_DONE;
}

static struct notifier_block net_events_link_nb = { .notifier_call = net_events_link_notify };

/* Addresses **************************************************************** */

static int net_events_addr4_notify(struct notifier_block *nb, unsigned long what, void *arg)
{
	const struct in_ifaddr *ifa = arg;
	struct kal_net_event event = {
		.type = KRDMA_NET_ADDRESS,
		.gone = what == NETDEV_DOWN,
		.ndev = ifa->ifa_dev->dev,
		.prefix_len = ifa->ifa_prefixlen,
	};

	kal_set_addr4(&event.addr, ifa->ifa_local);
	net_events_report(dev_net(event.ndev), &event, false);
	return NOTIFY_DONE;
}

static int net_events_addr6_notify(struct notifier_block *nb, unsigned long what, void *arg)
{
	const struct inet6_ifaddr *ifa = arg;
	struct kal_net_event event = {
		.type = KRDMA_NET_ADDRESS,
		.gone = what == NETDEV_DOWN,
		.ndev = ifa->idev->dev,
		.prefix_len = ifa->prefix_len,
	};

	kal_set_addr6(&event.addr, &ifa->addr, event.ndev->ifindex);
	net_events_report(dev_net(event.ndev), &event, false);
	return NOTIFY_DONE;
}

static struct notifier_block net_events_addr4_nb = { .notifier_call = net_events_addr4_notify };
static struct notifier_block net_events_addr6_nb = { .notifier_call = net_events_addr6_notify };

/* Routes ******************************************************************* */

/* Can a connection use or hit a route of this type? */
static bool net_events_route_counts(u8 type)
{
	return type != RTN_BROADCAST && type != RTN_ANYCAST && type != RTN_MULTICAST;
}

static bool net_events_route4_event(const void *info, struct kal_net_event *event)
{
	const struct fib_entry_notifier_info *fen = info;
	const struct fib_nh_common *nhc = fib_info_nhc(fen->fi, 0);

	if (!net_events_route_counts(fen->type))
		return false;
	kal_set_addr4(&event->addr, htonl(fen->dst));
	event->prefix_len = fen->dst_len;
	event->ndev = nhc ? nhc->nhc_dev : NULL;
	return true;
}

static bool net_events_route6_event(const void *info, struct kal_net_event *event)
{
	const struct fib6_entry_notifier_info *fen = info;
	struct fib6_info *rt = fen->rt;

	if (!net_events_route_counts(rt->fib6_type))
		return false;
	event->ndev = fib6_info_nh_dev(rt);
	kal_set_addr6(&event->addr, &rt->fib6_dst.addr,
		      event->ndev ? event->ndev->ifindex : 0);
	event->prefix_len = rt->fib6_dst.plen;
	return true;
}

static bool net_events_any_route_event(int family, struct kal_net_event *event)
{
	event->gone = false;
	event->addr.ss_family = family;
	return family == AF_INET || family == AF_INET6;
}

static int net_events_route_notify(struct notifier_block *nb, unsigned long what, void *arg)
{
	struct kal_net *kn = container_of(nb, struct kal_net, fib_nb);
	const struct fib_notifier_info *info = arg;
	struct kal_net_event event = {
		.type = KRDMA_NET_ROUTE,
		.gone = what == FIB_EVENT_ENTRY_DEL,
	};
	bool known = false;

	if (!READ_ONCE(kn->route_live))
		return NOTIFY_DONE;
	switch (what) {
	case FIB_EVENT_ENTRY_REPLACE:
	case FIB_EVENT_ENTRY_APPEND:
	case FIB_EVENT_ENTRY_ADD:
	case FIB_EVENT_ENTRY_DEL:
		if (info->family == AF_INET)
			known = net_events_route4_event(info, &event);
		else if (info->family == AF_INET6)
			known = net_events_route6_event(info, &event);
		break;
	case FIB_EVENT_NH_ADD:
	case FIB_EVENT_NH_DEL:
	case FIB_EVENT_RULE_ADD:
	case FIB_EVENT_RULE_DEL:
		known = net_events_any_route_event(info->family, &event);
		break;
	}
	if (known)
		net_events_report(kn->net, &event, false);
	return NOTIFY_DONE;
}

/*
 * A shared next hop object has changed. The host does not report which routes use it, so
 * report an event for any route.
 */
static void net_events_nexthop_changed(struct work_struct *work)
{
	struct kal_net *kn = container_of(work, struct kal_net, nexthop_work);
	static const int families[] = { AF_INET, AF_INET6 };
	struct kal_net_event event = { .type = KRDMA_NET_ROUTE };
	unsigned int i;

	/* the host notifies before the change, and makes the change under RTNL */
	rtnl_lock();
	rtnl_unlock();
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		if (net_events_any_route_event(families[i], &event))
			net_events_report(kn->net, &event, false);
	}
}

/* The deletion of a next hop object is reported as the deletion of its routes. */
static int net_events_nexthop_notify(struct notifier_block *nb, unsigned long what, void *arg)
{
	struct kal_net *kn = container_of(nb, struct kal_net, nexthop_nb);

	if (READ_ONCE(kn->route_live) &&
	    (what == NEXTHOP_EVENT_REPLACE || what == NEXTHOP_EVENT_BUCKET_REPLACE))
		schedule_work(&kn->nexthop_work);
	return NOTIFY_DONE;
}

static int net_events_routes_get(struct kal_net *kn)
{
	int err;

	guard(mutex)(&kn->route_lock);
	if (kn->route_users++)
		return 0;
	kn->fib_nb.notifier_call = net_events_route_notify;
	kn->nexthop_nb.notifier_call = net_events_nexthop_notify;
	INIT_WORK(&kn->nexthop_work, net_events_nexthop_changed);
	err = register_fib_notifier(kn->net, &kn->fib_nb, NULL, NULL);
	if (err)
		goto err_users;
	err = register_nexthop_notifier(kn->net, &kn->nexthop_nb, NULL);
	if (err)
		goto err_fib;
	WRITE_ONCE(kn->route_live, true);
	return 0;

err_fib:
	unregister_fib_notifier(kn->net, &kn->fib_nb);
err_users:
	kn->route_users--;
	return err;
}

static void net_events_routes_put(struct kal_net *kn)
{
	guard(mutex)(&kn->route_lock);
	if (--kn->route_users)
		return;
	unregister_nexthop_notifier(kn->net, &kn->nexthop_nb);
	unregister_fib_notifier(kn->net, &kn->fib_nb);
	WRITE_ONCE(kn->route_live, false);
	cancel_work_sync(&kn->nexthop_work);
}

/* Subscriptions ************************************************************ */

int kal_net_subscribe(struct net *net, struct kal_net_sub *sub)
{
	struct kal_net *kn = kal_net(net);
	int err;

	if (sub->mask & ~ALL_EVENTS)
		return -EINVAL;
	if (sub->mask & KRDMA_NET_ROUTE) {
		err = net_events_routes_get(kn);
		if (err)
			return err;
	}
	sub->net = net;
	spin_lock_bh(&kn->sub_lock);
	list_add_tail(&sub->node, &kn->subs);
	spin_unlock_bh(&kn->sub_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_net_subscribe);

void kal_net_unsubscribe(struct kal_net_sub *sub)
{
	struct kal_net *kn = kal_net(sub->net);

	spin_lock_bh(&kn->sub_lock);
	list_del(&sub->node);
	spin_unlock_bh(&kn->sub_lock);
	if (sub->mask & KRDMA_NET_ROUTE)
		net_events_routes_put(kn);
}
EXPORT_SYMBOL_GPL(kal_net_unsubscribe);

int kal_net_events_init(void)
{
	int err;

	err = register_netdevice_notifier(&net_events_link_nb);
	if (err)
		return err;
	err = register_inetaddr_notifier(&net_events_addr4_nb);
	if (err)
		goto err_link;
	err = register_inet6addr_notifier(&net_events_addr6_nb);
	if (err)
		goto err_addr4;
	return 0;

err_addr4:
	unregister_inetaddr_notifier(&net_events_addr4_nb);
err_link:
	unregister_netdevice_notifier(&net_events_link_nb);
	return err;
}

void kal_net_events_exit(void)
{
	unregister_inet6addr_notifier(&net_events_addr6_nb);
	unregister_inetaddr_notifier(&net_events_addr4_nb);
	unregister_netdevice_notifier(&net_events_link_nb);
}
