// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/krdma: the commands of the network stack interface (krdma/netstack.h), for the network
 * namespace of the file. They do not refer to an RNIC.
 */
#include <linux/cleanup.h>
#include <linux/in.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <krdma/netstack.h>
#include <krdma/compat.h>

#include "chardev.h"

static unsigned int kal_file_ports = 1024;
module_param_named(file_ports, kal_file_ports, uint, 0644);
MODULE_PARM_DESC(file_ports, "ports that an open /dev/krdma may reserve (1024)");

/**
 * struct net_user - a file's objects of the network stack interface
 * @lock: protects @sub, one change at a time
 * @sub: subscription of the file, or NULL
 * @ports: number of reserved ports
 */
struct net_user {
	struct mutex lock;	/* protects sub */
	struct file_sub *sub;
	atomic_t ports;
};

/*
 * Get the struct net_user of @file. It is allocated on first use. Return: NULL if there is no
 * memory.
 */
static struct net_user *chardev_net_user(struct kal_file *file)
{
	struct net_user *user = READ_ONCE(file->net_user);
	struct net_user *fresh;

	if (user)
		return user;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	mutex_init(&fresh->lock);
	user = cmpxchg(&file->net_user, NULL, fresh);
	if (!user)
		return fresh;
	kfree(fresh);
	return user;
}

/* Routes ******************************************************************* */

/* Get all local addresses for @dst. *@count is their number. The caller frees them. */
static struct kal_local *chardev_net_locals(struct net *net, const struct sockaddr_storage *dst,
					    int *count)
{
	struct kal_local *entries;
	int room;

	*count = kal_net_locals(net, dst, NULL, 0);
	while (*count >= 0) {
		room = *count;
		entries = kvcalloc(max(room, 1), sizeof(*entries), GFP_KERNEL_ACCOUNT);
		if (!entries)
			return ERR_PTR(-ENOMEM);
		*count = kal_net_locals(net, dst, entries, room);
		/* repeat if there are more addresses now */
		if (*count >= 0 && *count <= room)
			return entries;
		kvfree(entries);
	}
	return ERR_PTR(*count);
}

int kal_cmd_net_local(struct kal_file *file, void *_cmd)
{
	struct krdma_net_locals *cmd = _cmd;
	struct krdma_net_local __user *to = u64_to_user_ptr(cmd->entries);
	struct krdma_net_local entry = {};
	struct sockaddr_storage dst;
	struct kal_local *from;
	int i, count, ret;

	ret = kal_addr_to_sockaddr(&cmd->dst, &dst);
	if (ret)
		return ret;
	from = chardev_net_locals(file->net, &dst, &count);
	if (IS_ERR(from))
		return PTR_ERR(from);
	for (i = 0; i < count && i < cmd->count && !ret; i++) {
		kal_addr_from_sockaddr(&from[i].addr, &entry.addr);
		entry.ifindex = from[i].ifindex;
		entry.rnic = kal_dev_index(file->net, entry.ifindex);
		if (copy_to_user(to + i, &entry, sizeof(entry)))
			ret = -EFAULT;
	}
	kvfree(from);
	cmd->count = count;
	return ret;
}

int kal_cmd_net_route(struct kal_file *file, void *_cmd)
{
	struct krdma_net_route *cmd = _cmd;
	struct sockaddr_storage dst, src = {};
	struct kal_route route;
	int ret;

	if (cmd->reserved || cmd->ifindex > INT_MAX)
		return -EINVAL;
	ret = kal_addr_to_sockaddr(&cmd->dst, &dst);
	if (!ret && cmd->src.family)
		ret = kal_addr_to_sockaddr(&cmd->src, &src);
	if (!ret)
		ret = kal_net_route(file->net, &dst, &src, cmd->ifindex, &route);
	if (ret)
		return ret;
	cmd->flags = (route.gateway ? KRDMA_ROUTE_GATEWAY : 0) |
		     (route.local ? KRDMA_ROUTE_LOCAL : 0);
	kal_addr_from_sockaddr(&route.src, &cmd->src);
	kal_addr_from_sockaddr(&route.next_hop, &cmd->next_hop);
	cmd->ifindex = route.ifindex;
	cmd->mtu = route.mtu;
	cmd->rnic = kal_dev_index(file->net, route.owner_ifindex);
	return 0;
}

/* Neighbours *************************************************************** */

/**
 * struct neigh_handle - a neighbour that is resolved or watched
 * @h: object
 * @watch: watch of the network stack interface
 * @rec: record of its events; unread changes are merged into one
 * @event: data of @rec, the last change
 */
struct neigh_handle {
	struct kal_handle h;
	struct kal_neigh_watch watch;
	struct kal_record rec;
	struct krdma_neigh_event event;
};

static u32 chardev_put_lladdr(u8 lladdr[8], const struct kal_neigh *neigh)
{
	const u32 len = min_t(u32, neigh->lladdr_len, 8);

	memset(lladdr, 0, 8);
	memcpy(lladdr, neigh->lladdr, len);
	return len;
}

static void chardev_neigh_event(struct kal_neigh_watch *watch, const struct kal_neigh *neigh,
				int status)
{
	struct neigh_handle *nh = container_of(watch, struct neigh_handle, watch);
	struct kal_file *file = nh->h.file;

	scoped_guard(spinlock_irqsave, &file->event_lock) {
		nh->event.base.status = status;
		nh->event.state = neigh->state;
		nh->event.lladdr_len = chardev_put_lladdr(nh->event.lladdr, neigh);
	}
	kal_file_raise(file, &nh->rec);
}

static int chardev_neigh_handle_destroy(struct kal_handle *h)
{
	kal_neigh_unwatch(&container_of(h, struct neigh_handle, h)->watch);
	kal_net_share_put(h->file->net, KAL_SHARE_NEIGH, &h->file->user);
	return 0;
}

static const struct kal_handle_ops chardev_neigh_ops = {
	.type = KAL_H_NEIGH,
	.size = sizeof(struct neigh_handle),
	.destroy = chardev_neigh_handle_destroy,
};

static struct neigh_handle *chardev_neigh_new(struct kal_file *file,
					      const struct krdma_net_neigh *cmd,
					      const struct sockaddr_storage *addr)
{
	struct kal_handle *h = kal_handle_new(file, &chardev_neigh_ops, NULL, cmd->cookie);
	struct neigh_handle *nh;

	if (IS_ERR(h))
		return ERR_CAST(h);
	nh = container_of(h, struct neigh_handle, h);
	nh->event.base.size = sizeof(nh->event);
	nh->event.base.type = KRDMA_EVENT_NEIGH;
	nh->event.base.handle = h->id;
	nh->event.base.cookie = cmd->cookie;
	nh->event.addr = cmd->addr;
	nh->event.ifindex = cmd->ifindex;
	kal_record_init(&nh->rec, h, &nh->event.base);
	nh->watch.net = file->net;
	nh->watch.addr = *addr;
	nh->watch.ifindex = cmd->ifindex;
	nh->watch.once = !(cmd->flags & KRDMA_NEIGH_WATCH);
	nh->watch.handler = chardev_neigh_event;
	return nh;
}

/* Return: 1 if the neighbour is watched; 0 if @neigh is the result; or an errno. */
static int chardev_neigh_watch_begin(struct kal_file *file, struct krdma_net_neigh *cmd,
				     const struct sockaddr_storage *addr, struct kal_neigh *neigh)
{
	struct neigh_handle *nh = chardev_neigh_new(file, cmd, addr);
	int ret;

	if (IS_ERR(nh))
		return PTR_ERR(nh);
	ret = kal_neigh_watch(&nh->watch, cmd->flags & KRDMA_NEIGH_ASK, neigh);
	if (ret <= 0) {
		kal_handle_cancel(&nh->h);
		return ret;
	}
	cmd->handle = nh->h.id;
	kal_handle_publish(&nh->h);
	return 1;
}

static int chardev_neigh_watch(struct kal_file *file, struct krdma_net_neigh *cmd,
			       const struct sockaddr_storage *addr, struct kal_neigh *neigh)
{
	int ret = kal_net_share_get(file->net, KAL_SHARE_NEIGH, &file->user);

	if (ret)
		return ret;
	ret = chardev_neigh_watch_begin(file, cmd, addr, neigh);
	/* otherwise the watch returns its share when it is destroyed */
	if (ret <= 0)
		kal_net_share_put(file->net, KAL_SHARE_NEIGH, &file->user);
	return min(ret, 0);
}

int kal_cmd_net_neigh(struct kal_file *file, void *_cmd)
{
	struct krdma_net_neigh *cmd = _cmd;
	struct sockaddr_storage addr;
	struct kal_neigh neigh;
	int ret;

	if (cmd->flags & ~(KRDMA_NEIGH_ASK | KRDMA_NEIGH_WATCH) || cmd->ifindex > INT_MAX)
		return -EINVAL;
	ret = kal_addr_to_sockaddr(&cmd->addr, &addr);
	if (ret)
		return ret;
	cmd->handle = 0;
	ret = cmd->flags ? chardev_neigh_watch(file, cmd, &addr, &neigh) :
			   kal_neigh_query(file->net, &addr, cmd->ifindex, &neigh);
	if (ret)
		return ret;
	cmd->state = neigh.state;
	cmd->lladdr_len = chardev_put_lladdr(cmd->lladdr, &neigh);
	return 0;
}

/* Ports ******************************************************************** */

struct port_handle {
	struct kal_handle h;
	struct kal_port *port;
};

static int chardev_port_destroy(struct kal_handle *h)
{
	struct net_user *user = h->file->net_user;

	kal_port_free(container_of(h, struct port_handle, h)->port);
	kal_net_share_put(h->file->net, KAL_SHARE_PORT, &h->file->user);
	atomic_dec(&user->ports);
	return 0;
}

static const struct kal_handle_ops chardev_port_ops = {
	.type = KAL_H_PORT,
	.size = sizeof(struct port_handle),
	.destroy = chardev_port_destroy,
};

static int chardev_port_new(struct kal_file *file, struct krdma_port *cmd)
{
	struct kal_handle *h = kal_handle_new(file, &chardev_port_ops, NULL, 0);
	struct sockaddr_storage addr;
	struct kal_port *port;
	int ret;

	if (IS_ERR(h))
		return PTR_ERR(h);
	ret = kal_addr_to_sockaddr(&cmd->addr, &addr);
	port = ret ? ERR_PTR(ret) : kal_port_alloc(file->net, &addr);
	if (IS_ERR(port)) {
		kal_handle_cancel(h);
		return PTR_ERR(port);
	}
	container_of(h, struct port_handle, h)->port = port;
	kal_addr_from_sockaddr(&addr, &cmd->addr);
	cmd->handle = h->id;
	kal_handle_publish(h);
	return 0;
}

/* The share is returned when the reservation is destroyed. */
static int chardev_port_new_shared(struct kal_file *file, struct krdma_port *cmd)
{
	int ret = kal_net_share_get(file->net, KAL_SHARE_PORT, &file->user);

	if (ret)
		return ret;
	ret = chardev_port_new(file, cmd);
	if (ret)
		kal_net_share_put(file->net, KAL_SHARE_PORT, &file->user);
	return ret;
}

int kal_cmd_port(struct kal_file *file, void *_cmd)
{
	struct net_user *user = chardev_net_user(file);
	struct krdma_port *cmd = _cmd;
	int ret;

	if (cmd->reserved)
		return -EINVAL;
	if (cmd->protocol != IPPROTO_TCP)
		return -EPROTONOSUPPORT;
	if (!user)
		return -ENOMEM;
	if (atomic_inc_return(&user->ports) > READ_ONCE(kal_file_ports))
		ret = -ENOSPC;
	else
		ret = chardev_port_new_shared(file, cmd);
	if (ret)
		atomic_dec(&user->ports);
	return ret;
}

/* Which limit gives ENOSPC to command @nr now? KRDMA_CAUSE_NONE: none that is known. */
enum krdma_cause kal_net_cause(struct kal_file *file, unsigned int nr, u32 *limit)
{
	static const enum krdma_cause causes[KAL_SHARES][3] = {
		[KAL_SHARE_NEIGH] = { KRDMA_CAUSE_NONE, KRDMA_CAUSE_USER_WATCHES,
				      KRDMA_CAUSE_NET_WATCHES },
		[KAL_SHARE_SUB] = { KRDMA_CAUSE_NONE, KRDMA_CAUSE_USER_SUBSCRIPTIONS,
				    KRDMA_CAUSE_NET_SUBSCRIPTIONS },
		[KAL_SHARE_PORT] = { KRDMA_CAUSE_NONE, KRDMA_CAUSE_USER_PORTS,
				     KRDMA_CAUSE_NET_PORTS },
	};
	const struct net_user *user = READ_ONCE(file->net_user);
	enum kal_share which;

	switch (nr) {
	case _IOC_NR(KRDMA_IOC_PORT):
		*limit = READ_ONCE(kal_file_ports);
		if (user && atomic_read(&user->ports) >= *limit)
			return KRDMA_CAUSE_FILE_PORTS;
		which = KAL_SHARE_PORT;
		break;
	case _IOC_NR(KRDMA_IOC_NET_NEIGH):
		which = KAL_SHARE_NEIGH;
		break;
	case _IOC_NR(KRDMA_IOC_NET_SUBSCRIBE):
		which = KAL_SHARE_SUB;
		break;
	default:
		return KRDMA_CAUSE_NONE;
	}
	return causes[which][kal_net_share_full(file->net, which, &file->user, limit)];
}

/**
 * kal_file_port_get() - get a file's reservation for a listen or connect
 * @file: file
 * @addr: address and port of the bind
 * @port: resulting reservation, or NULL
 *
 * Return: the reservation's object, for kal_file_port_put() after the call. NULL if there is
 * none, or if it is being destroyed. Context: may sleep.
 */
struct kal_handle *kal_file_port_get(struct kal_file *file, const struct sockaddr_storage *addr,
				     struct kal_port **port)
{
	struct kal_handle *h;
	unsigned long id;

	*port = NULL;
	if (!READ_ONCE(file->net_user))
		return NULL;
	for (id = 0; (h = xa_find_after(&file->handles, &id, ULONG_MAX, XA_PRESENT));) {
		h = kal_handle_get(file, id, KAL_H_PORT);
		if (IS_ERR(h))
			continue;
		*port = container_of(h, struct port_handle, h)->port;
		if (kal_port_covers(*port, addr))
			return h;
		kal_handle_put(h);
	}
	*port = NULL;
	return NULL;
}

void kal_file_port_put(struct kal_handle *h)
{
	if (h)
		kal_handle_put(h);
}

/* Events ******************************************************************* */

struct file_sub {
	struct kal_net_sub sub;
	struct kal_file *file;
};

static void chardev_net_event(struct kal_net_sub *sub, const struct kal_net_event *from)
{
	struct krdma_net_event event = {
		.base.size = sizeof(event),
		.base.type = KRDMA_EVENT_NET,
		.base.code = from->type,
		.gone = from->gone,
		.ifindex = from->ifindex,
		.rnic = from->rnic ? from->rnic->index : 0,
		.mtu = from->mtu,
		.up = from->up,
		.prefix_len = from->prefix_len,
	};

	kal_addr_from_sockaddr(&from->addr, &event.addr);
	if (from->type == KRDMA_NET_RNIC)
		strscpy(event.name, from->rnic->name, sizeof(event.name));
	else if (from->type == KRDMA_NET_LINK)
		strscpy(event.name, from->ndev->name, sizeof(event.name));
	kal_file_event(container_of(sub, struct file_sub, sub)->file, &event.base);
}

static struct file_sub *chardev_sub_new(struct kal_file *file, u32 mask)
{
	struct file_sub *sub = kzalloc(sizeof(*sub), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!sub)
		return ERR_PTR(-ENOMEM);
	sub->file = file;
	sub->sub.mask = mask;
	sub->sub.handler = chardev_net_event;
	ret = kal_net_subscribe(file->net, &sub->sub);
	if (!ret)
		return sub;
	kfree(sub);
	return ERR_PTR(ret);
}

static void chardev_sub_free(struct file_sub *sub)
{
	if (!sub)
		return;
	kal_net_unsubscribe(&sub->sub);
	kfree(sub);
}

/*
 * Replace the subscription @old, which may be NULL. The file uses one share, however often it
 * changes the subscription.
 */
static struct file_sub *chardev_sub_replace(struct kal_file *file, struct file_sub *old, u32 mask)
{
	struct file_sub *sub = NULL;
	int ret = 0;

	if (mask && !old)
		ret = kal_net_share_get(file->net, KAL_SHARE_SUB, &file->user);
	if (ret)
		return ERR_PTR(ret);
	if (mask)
		sub = chardev_sub_new(file, mask);
	if (!IS_ERR(sub))
		chardev_sub_free(old);
	if (IS_ERR(sub) ? !old : old && !mask)
		kal_net_share_put(file->net, KAL_SHARE_SUB, &file->user);
	return sub;
}

int kal_cmd_net_subscribe(struct kal_file *file, void *_cmd)
{
	const struct krdma_net_subscribe *cmd = _cmd;
	struct net_user *user = chardev_net_user(file);
	struct file_sub *sub;

	if (!user)
		return -ENOMEM;
	guard(mutex)(&user->lock);
	sub = chardev_sub_replace(file, user->sub, cmd->mask);
	if (IS_ERR(sub))
		return PTR_ERR(sub);
	user->sub = sub;
	return 0;
}

/* Called when the file is closed and has no objects any more. No event comes after return. */
void kal_file_net_exit(struct kal_file *file)
{
	struct net_user *user = file->net_user;

	if (!user)
		return;
	chardev_sub_replace(file, user->sub, 0);
	mutex_destroy(&user->lock);
	kfree(user);
}

/* MIB ********************************************************************** */

/* two entries for each row */
#define KAL_MIB_MOST	(kal_mib_count + 2 * KAL_MIB_MESSAGES)

static void chardev_mib_row(struct krdma_counter *to, const char *column,
			    const struct kal_mib_message *row, u64 value)
{
	snprintf(to->name, sizeof(to->name), "icmpMsgStats%s.ipv%u.%u", column, row->version,
		 row->type);
	to->value = value;
}

/* Fill in all counters. @values: values of the objects. Return: number of counters. */
static u32 chardev_mib_fill(struct net *net, struct krdma_counter *counters, const u64 *values)
{
	struct kal_mib_message row;
	unsigned int next = 0;
	u32 i;

	for (i = 0; i < kal_mib_count; i++) {
		strscpy(counters[i].name, kal_mib_name(i), sizeof(counters[i].name));
		counters[i].value = values[i];
	}
	while (kal_mib_message(net, &next, &row)) {
		chardev_mib_row(&counters[i++], "InPkts", &row, row.in);
		chardev_mib_row(&counters[i++], "OutPkts", &row, row.out);
	}
	return i;
}

int kal_cmd_mib(struct kal_file *file, void *_cmd)
{
	u64 *values __free(kvfree) = kvcalloc(kal_mib_count, sizeof(*values), GFP_KERNEL_ACCOUNT);
	struct krdma_counter *counters __free(kvfree) =
		kvcalloc(KAL_MIB_MOST, sizeof(*counters), GFP_KERNEL_ACCOUNT);
	struct krdma_mib *cmd = _cmd;
	u32 num;

	if (!values || !counters)
		return -ENOMEM;
	kal_mib_read(file->net, values);
	num = chardev_mib_fill(file->net, counters, values);
	return kal_put_entries(cmd->entries, &cmd->count, counters, num, sizeof(*counters));
}
