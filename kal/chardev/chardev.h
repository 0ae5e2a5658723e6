/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * /dev/krdma, for its own files:
 *
 * - file.c: the file and the table of commands
 * - handle.c: objects by number
 * - event.c: records that wait to be read
 * - rnic.c: the list of RNICs
 * - the files that implement commands
 *
 * main.c calls only the init and exit functions. krdma/krdma-abi.h defines the ABI, and
 * docs/krdma-abi.md describes it.
 *
 * Locks, outermost first:
 *
 *	kal_files_lock		list of open files; taken when an RNIC goes
 *	kal_file.destroy_lock	one object of a file is destroyed at a time
 *	kal_file.handles' lock	the object of a number, its users and children
 *	kal_file.event_lock	records; any context
 *
 * A handler of an endpoint (kal_ep_handler) takes only the last two.
 */
#ifndef KAL_CHARDEV_H
#define KAL_CHARDEV_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <krdma/krdma-abi.h>

#include <krdma/kal.h>

#include "../core/core.h"
#include "../net/net.h"

struct kal_file;
struct kal_handle;

/* RNICs ******************************************************************** */

/**
 * struct kal_dev - an RNIC as /dev/krdma shows it
 * @kref: one of the table until the RNIC goes, one of each handle that has it
 * @rnic: referenced; dead when the handles that use it are
 * @index: what user space calls it
 * @users: commands that found it by its index, and one of the table
 * @unused: completed when @users falls to 0
 */
struct kal_dev {
	struct kref kref;
	struct ri_rnic *rnic;
	u32 index;
	refcount_t users;
	struct completion unused;
	bool leaves;	/* its objects end, and nobody else's command does that */
};

/*
 * The RNIC of an index in @net, kept from going until kal_dev_put(); NULL: there is
 * none. May sleep, and nothing may wait for user space in between.
 */
struct kal_dev *kal_dev_get(const struct net *net, u32 index);
/* the one on the network device with @ifindex, or that stands in for it */
struct kal_dev *kal_dev_get_ifindex(struct net *net, u32 ifindex);
/* the one whose network device has the address @addr */
struct kal_dev *kal_dev_get_address(const struct net *net, const struct sockaddr_storage *addr);
void kal_dev_put(struct kal_dev *dev);
/* the index of the RNIC of a network device, 0: none */
u32 kal_dev_index(struct net *net, u32 ifindex);

void kal_dev_release(struct kref *kref);

/* Events ******************************************************************* */

/**
 * struct kal_record - a record that waits, or may come to wait, to be read
 * @node: in kal_file.records, else empty
 * @event: what is read, @event->size octets of it
 * @generation: of the file, when it last became part of it
 * @codes: of asynchronous events: which, one record for each; else NULL
 * @owner: the object that it is dropped with, NULL: none
 * @owner_node: in @owner's queued, else empty
 * @dynamic: of no object; counts against the limit, and is freed when it was read
 * @on_read: called with the event_lock held when it was read; may be NULL
 *
 * kal_file.event_lock protects all of it.
 */
struct kal_record {
	struct list_head node;
	struct krdma_event *event;
	u64 generation;
	struct kal_event_codes *codes;
	struct kal_handle *owner;
	struct list_head owner_node;
	bool dynamic;
	void (*on_read)(struct kal_record *rec);
};

/*
 * An event of which there is one at a time, with room for it in an object: never
 * lost. Its record is @rec, whose event is filled in but for the time. Any context.
 */
void kal_file_raise(struct kal_file *file, struct kal_record *rec);

/* Room for a record of @owner, which says @event. */
static inline void kal_record_init(struct kal_record *rec, struct kal_handle *owner,
				   struct krdma_event *event)
{
	INIT_LIST_HEAD(&rec->node);
	INIT_LIST_HEAD(&rec->owner_node);
	rec->owner = owner;
	rec->event = event;
}

/*
 * A copy of @event, event->size octets, becomes a record. The time is filled in. When there
 * is no room or memory it is lost, and KRDMA_EVENT_OVERFLOW says so. Any context.
 */
void kal_file_event(struct kal_file *file, const struct krdma_event *event);

/* An asynchronous event, enum ib_event_type, of an object. Never lost. Any context. */
void kal_handle_async(struct kal_handle *h, enum ib_event_type code);

/* Records of @owner that were not read are gone on return; none may come any more. */
void kal_file_drop_events(struct kal_file *file, struct kal_handle *owner);
/* the same of all objects; may sleep */
void kal_file_drop_all_events(struct kal_file *file);

u32 kal_file_events_limit(void);
void kal_events_init(struct kal_file *file);
void kal_events_exit(struct kal_file *file);
ssize_t kal_events_read(struct kal_file *file, char __user *buf, size_t len, bool nonblock);
bool kal_events_wait(struct kal_file *file);

/* Objects ****************************************************************** */

/* in the order in which they are destroyed when all are */
enum kal_handle_type {
	KAL_H_LISTENER,
	KAL_H_CONN,
	KAL_H_QP,
	KAL_H_SRQ,
	KAL_H_MW,
	KAL_H_MR,
	KAL_H_CQ,
	KAL_H_PD,
	KAL_H_CONTEXT,
	KAL_H_NEIGH,
	KAL_H_PORT,
	KAL_H_TYPES,
};

/**
 * struct kal_handle_ops - a kind of object
 * @type: which
 * @size: octets of the structure, whose first member is the struct kal_handle
 * @destroy: ends what it stands for; nothing uses it and it has no children. An errno
 *	     changes nothing and lets it live. May sleep.
 */
struct kal_handle_ops {
	enum kal_handle_type type;
	size_t size;
	int (*destroy)(struct kal_handle *h);
};

#define KAL_HANDLE_PARENTS	4

/* of contexts in kal_file.handles */
#define KAL_CONTEXT_MARK	XA_MARK_1

/**
 * struct kal_handle - an object of a file
 * @file: whose
 * @ops: its kind
 * @id: its number
 * @dev: RNIC, or NULL; holds the structure, not the RNIC
 * @parents: what it needs
 * @children: who need it; lock of kal_file.handles
 * @users: commands that use it now, and one of its own
 * @unused: completed when @users falls to 0
 * @dead: nobody may begin to use it; lock of kal_file.handles
 * @gone: dead for ever, @ops->destroy() was called; kal_file.destroy_lock
 * @cookie: comes with its events
 * @queued: its records that wait to be read; kal_file.event_lock
 * @async: record of its asynchronous events
 * @async_event: what that says
 * @async_codes: of which kinds
 * @charge: to the rdma cgroup of who made it
 */
struct kal_handle {
	struct kal_file *file;
	const struct kal_handle_ops *ops;
	u32 id;
	struct kal_dev *dev;
	struct kal_handle *parents[KAL_HANDLE_PARENTS];
	u32 children;
	refcount_t users;
	struct completion unused;
	bool dead;
	bool gone;
	u64 cookie;
	struct list_head queued;
	struct kal_record async;
	struct krdma_event async_event;
	struct kal_event_codes async_codes;
	struct kal_charge charge;
};

/*
 * A new object with a number, which nobody finds yet, charged to the caller. ERR_PTR:
 * -ENOMEM, -ENOSPC: the file has too many, -EAGAIN: the rdma cgroup, -ENODEV. May sleep.
 */
struct kal_handle *kal_handle_new(struct kal_file *file, const struct kal_handle_ops *ops,
				  struct kal_dev *dev, u64 cookie);
/*
 * The same in a thread of the kernel's, for a kind that the rdma cgroup does not count: charged
 * to who opened the file, whose memory cgroup's reclaim is not waited for.
 */
struct kal_handle *kal_handle_new_nowait(struct kal_file *file, const struct kal_handle_ops *ops,
					 struct kal_dev *dev, u64 cookie);
/* @h needs @parent, which the caller has; at most KAL_HANDLE_PARENTS times. -ENODEV */
int kal_handle_need(struct kal_handle *h, struct kal_handle *parent);
/* It can be found. */
void kal_handle_publish(struct kal_handle *h);
/* It came to nothing; not published, nothing to destroy. */
void kal_handle_cancel(struct kal_handle *h);

/*
 * A command that makes an object which needs @parent. The caller uses that and does not
 * any more on return. @make makes what the object stands for and writes its answer,
 * the number included, into @cmd, and the provider's into @udata. May sleep.
 */
typedef int (*kal_handle_maker)(struct kal_handle *h, struct kal_handle *parent, void *cmd,
				struct ri_udata *udata);
int kal_handle_make(struct kal_handle *parent, const struct kal_handle_ops *ops, u64 cookie,
		    kal_handle_maker make, void *cmd, struct ri_udata *udata);

/* To use one until kal_handle_put(): ERR_PTR -ENOENT, -EINVAL (its kind), -ENODEV. */
struct kal_handle *kal_handle_get(struct kal_file *file, u32 id, enum kal_handle_type type);
void kal_handle_put(struct kal_handle *h);

/* The same as kal_handle_get() for its maker, before it is published. */
static inline void kal_handle_hold(struct kal_handle *h)
{
	refcount_inc(&h->users);
}

/* @parent, which the caller uses, is what @h needs in place of its first parent. */
void kal_handle_change_parent(struct kal_handle *h, struct kal_handle *parent);

/* As KRDMA_IOC_DESTROY does. May sleep. */
int kal_handle_destroy(struct kal_file *file, u32 id);
/* The same for one without children that a destroy() takes with it. */
void kal_handle_destroy_locked(struct kal_handle *h);
/* All objects on @dev come to their end, but keep their numbers. */
void kal_handles_end(struct kal_file *file, struct kal_dev *dev);
u32 kal_file_objects_limit(void);
/* All objects and their numbers. */
void kal_handles_exit(struct kal_file *file);

/* The file ***************************************************************** */

/**
 * struct kal_file - an open /dev/krdma
 * @node: in the list of files; kal_files_lock
 * @visits: of kal_files_each(), it stays in the list; kal_files_lock
 * @net: the network namespace it was opened in, referenced
 * @user: who opened it, whose share of the namespace it uses
 * @destroy_lock: see above
 * @handles: objects by number
 * @next_handle: for @handles
 * @objects: in @handles
 * @maps: memory that may be mapped, by page offset (map.c)
 * @next_map: for @maps
 * @event_lock: protects the records and what follows it
 * @records: those that wait
 * @num_dynamic: of those, the ones that count against the limit
 * @num_records: of all
 * @generation: events that came
 * @lost: events since open
 * @overflow: record that says so
 * @overflow_event: what that says
 * @wait: readers
 * @read_lock: one reader at a time
 * @net_user: the network stack's part (another file's own), freed by it
 */
struct kal_file {
	struct list_head node;
	u32 visits;
	struct net *net;
	struct kal_net_user user;
	struct mem_cgroup *memcg;	/* of who opened it: pays for events and requests */
	struct mutex destroy_lock;	/* see above */
	struct xarray handles;
	u32 next_handle;
	atomic_t objects;
	struct xarray maps;
	u32 next_map;

	spinlock_t event_lock;		/* protects what follows */
	struct list_head records;
	u32 num_dynamic;
	u32 num_records;
	u64 generation;
	u64 lost;
	struct kal_record overflow;
	struct krdma_event overflow_event;
	wait_queue_head_t wait;
	struct mutex read_lock;		/* one reader at a time */
	void *net_user;
};

/* Calls @fn for all open files; none opens or closes meanwhile. May sleep. */
void kal_files_each(void (*fn)(struct kal_file *file, void *arg), void *arg);

/* Commands ***************************************************************** */

/**
 * struct kal_command - a command
 * @handler: gets the structure in the kernel's size, zeros where the caller's is
 *	     shorter, and changes it; may sleep
 * @private_handler: in its place: the same with the provider's own bytes, which are copied
 *		     from user space before and to it afterwards
 * @private: offset of the struct krdma_private that says where those are
 * @min: octets that the caller must have
 * @size: of the structure
 * @handle: offset of the handle of what it makes, 0: it makes nothing
 * @always: what the structure says counts on an error, too
 */
struct kal_command {
	int (*handler)(struct kal_file *file, void *cmd);
	int (*private_handler)(struct kal_file *file, void *cmd, struct ri_udata *udata);
	u32 private;
	u32 min;
	u32 size;
	u32 handle;
	bool always;
};

#define KAL_COMMAND(fn, type, last) \
	{ .handler = (fn), .min = offsetofend(struct type, last), .size = sizeof(struct type) }
/* makes an object, and says its handle in the member of that name */
#define KAL_COMMAND_NEW(fn, type, last)                                                   \
	{ .handler = (fn), .min = offsetofend(struct type, last), .size = sizeof(struct type), \
	  .handle = offsetof(struct type, handle) }
/* the same with the provider's own bytes, in the member priv */
#define KAL_COMMAND_PRIVATE(fn, type, last)                                               \
	{ .private_handler = (fn), .private = offsetof(struct type, priv),                 \
	  .min = offsetofend(struct type, last), .size = sizeof(struct type) }
#define KAL_COMMAND_NEW_PRIVATE(fn, type, last)                                           \
	{ .private_handler = (fn), .private = offsetof(struct type, priv),                 \
	  .min = offsetofend(struct type, last), .size = sizeof(struct type),              \
	  .handle = offsetof(struct type, handle) }
#define KAL_COMMAND_ALWAYS(fn, type, last)                                                \
	{ .handler = (fn), .min = offsetofend(struct type, last), .size = sizeof(struct type), \
	  .always = true }

/* An array of results: @count in is the room at @entries, out how many there are. */
int kal_put_entries(u64 entries, u32 *count, const void *from, u32 num, size_t size);

/* addresses */
int kal_addr_to_sockaddr(const struct krdma_addr *from, struct sockaddr_storage *to);
void kal_addr_from_sockaddr(const struct sockaddr_storage *from, struct krdma_addr *to);

/* file.c: the first two are for main.c */
int kal_chardev_init(void);
void kal_chardev_exit(void);

/* rnic.c: the same */
int kal_chardev_rnic_init(void);
void kal_chardev_rnic_exit(void);
int kal_cmd_rnic_list(struct kal_file *file, void *cmd);
int kal_cmd_rnic_query(struct kal_file *file, void *cmd);
int kal_cmd_rnic_counters(struct kal_file *file, void *cmd);
int kal_cmd_rnic_find(struct kal_file *file, void *cmd);
int kal_cmd_qp_list(struct kal_file *file, void *cmd);

/* net.c */
int kal_cmd_net_local(struct kal_file *file, void *cmd);
int kal_cmd_net_route(struct kal_file *file, void *cmd);
int kal_cmd_net_neigh(struct kal_file *file, void *cmd);
int kal_cmd_port(struct kal_file *file, void *cmd);
int kal_cmd_net_subscribe(struct kal_file *file, void *cmd);
int kal_cmd_mib(struct kal_file *file, void *cmd);
/* a port that the file has reserved, for a call that binds to it */
struct kal_handle *kal_file_port_get(struct kal_file *file, const struct sockaddr_storage *addr,
				     struct kal_port **port);
void kal_file_port_put(struct kal_handle *h);
void kal_file_net_exit(struct kal_file *file);

#endif /* KAL_CHARDEV_H */
