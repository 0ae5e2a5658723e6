// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which IA leads to a target: that whose address the network device of the route has. If the
 * target's address is one of this host, it is the device that has it. A module parameter may
 * name the IA instead.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/route.h>

#include "kiser.h"

#define KISER_ROUTE_IAS	64	/* names of the registry that are looked at */

/* Return: index of the network device that has the address, 0: none */
static int kiser_route_owner(struct net *net, const struct sockaddr *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	struct net_device *dev = NULL;
	int index;

	rcu_read_lock();
	if (address->sa_family == AF_INET)
		dev = __ip_dev_find(net, in->sin_addr.s_addr, false);
	else if (address->sa_family == AF_INET6)
		dev = ipv6_dev_find(net, &in6->sin6_addr, NULL);
	index = dev ? dev->ifindex : 0;
	rcu_read_unlock();
	return index;
}

static int kiser_route_device4(struct net *net, const struct sockaddr_in *to)
{
	struct flowi4 flow = { .daddr = to->sin_addr.s_addr };
	struct rtable *route;
	bool local;
	int index;

	route = ip_route_output_key(net, &flow);
	if (IS_ERR(route))
		return PTR_ERR(route);
	local = route->rt_type == RTN_LOCAL;
	index = route->dst.dev->ifindex;
	ip_rt_put(route);
	return local ? kiser_route_owner(net, (const struct sockaddr *)to) : index;
}

static int kiser_route_device6(struct net *net, const struct sockaddr_in6 *to)
{
	struct flowi6 flow = { .daddr = to->sin6_addr, .flowi6_oif = to->sin6_scope_id };
	struct dst_entry *entry;
	bool local;
	int index;

	entry = ip6_route_output(net, NULL, &flow);
	index = entry->error ? entry->error : entry->dev->ifindex;
	local = dst_rt6_info(entry)->rt6i_flags & RTF_LOCAL;
	dst_release(entry);
	return local && index > 0 ? kiser_route_owner(net, (const struct sockaddr *)to) : index;
}

static int kiser_route_device(struct net *net, const struct sockaddr_storage *to)
{
	int index = -EAFNOSUPPORT;

	if (to->ss_family == AF_INET)
		index = kiser_route_device4(net, (const struct sockaddr_in *)to);
	else if (to->ss_family == AF_INET6)
		index = kiser_route_device6(net, (const struct sockaddr_in6 *)to);
	return index ?: -ENETUNREACH;
}

static int kiser_route_open_name(const char *name, DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async_evd)
{
	*async_evd = DAT_HANDLE_NULL;
	return kiser_conn_errno(dat_ia_open(name, 8, async_evd, ia));
}

/* Return: index of the network device that has the IA's address, 0: none */
static int kiser_route_ia_device(struct net *net, DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR *attr __free(kfree) = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_EVD_HANDLE evd;

	if (!attr || dat_ia_query(ia, &evd, DAT_IA_FIELD_IA_ADDRESS_PTR, attr,
				  DAT_PROVIDER_FIELD_NONE, NULL) || !attr->ia_address_ptr)
		return 0;
	return kiser_route_owner(net, attr->ia_address_ptr);
}

static int kiser_route_find(struct net *net, int index, DAT_PROVIDER_INFO **names, DAT_COUNT num,
			    DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async_evd)
{
	DAT_COUNT i;

	for (i = 0; i < num; i++) {
		if (kiser_route_open_name(names[i]->ia_name, ia, async_evd))
			continue;
		if (kiser_route_ia_device(net, *ia) == index)
			return 0;
		dat_ia_close(*ia, DAT_CLOSE_ABRUPT_FLAG);
		*ia = DAT_HANDLE_NULL;
		*async_evd = DAT_HANDLE_NULL;
	}
	return -ENODEV;
}

/* Return: the IA that the module's parameter names, in @name; NULL: none */
static char *kiser_route_parameter(char *name, size_t size)
{
	kernel_param_lock(THIS_MODULE);
	strscpy(name, kiser_ia, size);
	kernel_param_unlock(THIS_MODULE);
	/* "echo" has put a newline behind it */
	name = strim(name);
	return *name ? name : NULL;
}

int kiser_route_open(const struct sockaddr_storage *to, DAT_IA_HANDLE *ia,
		     DAT_EVD_HANDLE *async_evd)
{
	DAT_PROVIDER_INFO *info __free(kvfree) = NULL;
	DAT_PROVIDER_INFO **names __free(kfree) = NULL;
	struct net *net = current->nsproxy->net_ns;
	char buffer[DAT_NAME_MAX_LENGTH];
	DAT_COUNT num = 0;
	DAT_RETURN ret;
	int index, i;
	char *name;

	name = kiser_route_parameter(buffer, sizeof(buffer));
	if (name)
		return kiser_route_open_name(name, ia, async_evd);
	index = kiser_route_device(net, to);
	if (index < 0)
		return index;
	info = kvcalloc(KISER_ROUTE_IAS, sizeof(*info), GFP_KERNEL);
	names = kcalloc(KISER_ROUTE_IAS, sizeof(*names), GFP_KERNEL);
	if (!info || !names)
		return -ENOMEM;
	for (i = 0; i < KISER_ROUTE_IAS; i++)
		names[i] = &info[i];
	ret = dat_registry_list_providers(KISER_ROUTE_IAS, &num, names);
	return ret ? kiser_conn_errno(ret) : kiser_route_find(net, index, names, num, ia,
							      async_evd);
}
