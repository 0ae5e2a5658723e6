/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * /dev/krdma, for its own files:
 *
 * - file.c: the file and the table of commands
 * - handle.c: objects by number
 * - event.c: records that wait to be read
 * - cause.c: why a command was refused
 * - rnic.c: the list of RNICs
 * - the files that implement commands
 *
 * main.c calls only the init and exit functions. krdma/krdma-abi.h defines the ABI, and
 * docs/krdma-abi.md describes it.
 *
 * Locks, outermost first:
 *
 *	kal_files_lock		list of open files; taken when an RNIC is removed
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
 * struct kal_dev - an RNIC in /dev/krdma
 * @kref: one reference of the table until the RNIC is removed, and one of each handle
 * @rnic: RNIC with a reference; must not be used after its handles are dead
 * @index: number of the RNIC in user space
 * @users: number of commands that found the RNIC by its index, plus one for the table
 * @unused: completed when @users falls to 0
 * @leaves: the RNIC is being removed; its dead objects return -ENODEV instead of -ENOENT
 */
struct kal_dev {
	struct kref kref;
	struct ri_rnic *rnic;
	u32 index;
	refcount_t users;
	struct completion unused;
	bool leaves;
};

/*
 * Get the RNIC with @index in @net. It is not removed before kal_dev_put(). Return: NULL if
 * there is none. May sleep. The caller must not wait for user space before kal_dev_put().
 */
struct kal_dev *kal_dev_get(const struct net *net, u32 index);
/* Get the RNIC on the network device with @ifindex, or on the other device of a VLAN pair. */
struct kal_dev *kal_dev_get_ifindex(struct net *net, u32 ifindex);
/* Get the RNIC whose network device has the address @addr. */
struct kal_dev *kal_dev_get_address(const struct net *net, const struct sockaddr_storage *addr);
void kal_dev_put(struct kal_dev *dev);
/* Get the index of the RNIC of a network device, 0: none. */
u32 kal_dev_index(struct net *net, u32 ifindex);

void kal_dev_release(struct kref *kref);

/* Events ******************************************************************* */

/**
 * struct kal_record - a record that waits to be read, or may do so later
 * @node: entry in kal_file.records, else empty
 * @event: data of the record, @event->size bytes
 * @generation: generation of the file when an event was last added to the record
 * @codes: for asynchronous events: their codes, each read as one record; else NULL
 * @owner: object with which the record is dropped, NULL: none
 * @owner_node: entry in @owner's queued, else empty
 * @dynamic: the record has no object; it counts against the limit and is freed after it was
 *	read
 * @on_read: called with the event_lock held when the record was read; may be NULL
 *
 * kal_file.event_lock protects all members.
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
 * Raise an event that has its own record in an object, so it is never lost. The data of @rec
 * is complete except for the time. Any context.
 */
void kal_file_raise(struct kal_file *file, struct kal_record *rec);

/* Initialise a record of @owner with the data @event. */
static inline void kal_record_init(struct kal_record *rec, struct kal_handle *owner,
				   struct krdma_event *event)
{
	INIT_LIST_HEAD(&rec->node);
	INIT_LIST_HEAD(&rec->owner_node);
	rec->owner = owner;
	rec->event = event;
}

/*
 * Add a record with a copy of @event, event->size bytes. The function fills in the time. If
 * there is no room or no memory, the event is lost and KRDMA_EVENT_OVERFLOW reports the loss.
 * Any context.
 */
void kal_file_event(struct kal_file *file, const struct krdma_event *event);

/* Report an asynchronous event, enum ib_event_type, of an object. It is never lost. Any context. */
void kal_handle_async(struct kal_handle *h, enum ib_event_type code);

/* Drop all unread records of @owner. No more records of @owner may come. */
void kal_file_drop_events(struct kal_file *file, struct kal_handle *owner);
/* The same for all objects. May sleep. */
void kal_file_drop_all_events(struct kal_file *file);

u32 kal_file_events_limit(void);
void kal_events_init(struct kal_file *file);
void kal_events_exit(struct kal_file *file);
ssize_t kal_events_read(struct kal_file *file, char __user *buf, size_t len, bool nonblock);
bool kal_events_wait(struct kal_file *file);

/* Objects ****************************************************************** */

/* in the order in which the objects of a file are destroyed */
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
 * @type: type of the object
 * @size: size of the structure in bytes; its first member is the struct kal_handle
 * @destroy: destroys the underlying object, which has no users and no children. If it returns
 *	an errno, nothing has changed and the object lives. May sleep.
 */
struct kal_handle_ops {
	enum kal_handle_type type;
	size_t size;
	int (*destroy)(struct kal_handle *h);
};

#define KAL_HANDLE_PARENTS	4

/* mark of contexts in kal_file.handles */
#define KAL_CONTEXT_MARK	XA_MARK_1

/**
 * struct kal_handle - an object of a file
 * @file: file of the object
 * @ops: kind of the object
 * @id: number of the object
 * @dev: RNIC, or NULL; keeps the structure, but not the RNIC
 * @parents: objects that this one needs
 * @children: number of objects that need this one; lock of kal_file.handles
 * @users: number of commands that use the object now, plus one
 * @unused: completed when @users falls to 0
 * @dead: no new use may begin; lock of kal_file.handles
 * @gone: dead for ever, @ops->destroy() was called; kal_file.destroy_lock
 * @cookie: returned with the object's events
 * @queued: unread records of the object; kal_file.event_lock
 * @async: record of its asynchronous events
 * @async_event: data of @async
 * @async_codes: codes of @async
 * @charge: charge to the rdma cgroup of the process that created the object
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
 * Allocate an object with a number, charged to the caller. Look-ups do not find it yet.
 * Return: ERR_PTR: -ENOMEM; -ENOSPC: the file has too many objects; -EAGAIN: limit of the rdma
 * cgroup; -ENODEV. May sleep.
 */
struct kal_handle *kal_handle_new(struct kal_file *file, const struct kal_handle_ops *ops,
				  struct kal_dev *dev, u64 cookie);
/*
 * The same in a kernel thread, for a kind of object that the rdma cgroup does not count. The
 * memory is charged to the memory cgroup of the process that opened the file, without waiting
 * for the cgroup's reclaim.
 */
struct kal_handle *kal_handle_new_nowait(struct kal_file *file, const struct kal_handle_ops *ops,
					 struct kal_dev *dev, u64 cookie);
/*
 * Record that @h needs @parent, which the caller uses; at most KAL_HANDLE_PARENTS times.
 * Return: 0, or -EINVAL if the objects have different RNICs.
 */
int kal_handle_need(struct kal_handle *h, struct kal_handle *parent);
/* Make the object visible to look-ups. */
void kal_handle_publish(struct kal_handle *h);
/* Free an object that was not published, and whose underlying object does not exist. */
void kal_handle_cancel(struct kal_handle *h);

/*
 * Create an object that needs @parent, for a command. The caller uses @parent, and the
 * function ends this use. @make creates the underlying object. It writes its results,
 * including the number, to @cmd and those of the provider to @udata. May sleep.
 */
typedef int (*kal_handle_maker)(struct kal_handle *h, struct kal_handle *parent, void *cmd,
				struct ri_udata *udata);
int kal_handle_make(struct kal_handle *parent, const struct kal_handle_ops *ops, u64 cookie,
		    kal_handle_maker make, void *cmd, struct ri_udata *udata);

/*
 * Begin to use an object, until kal_handle_put(). Return: ERR_PTR: -ENOENT, -EINVAL (wrong
 * kind), -ENODEV.
 */
struct kal_handle *kal_handle_get(struct kal_file *file, u32 id, enum kal_handle_type type);
void kal_handle_put(struct kal_handle *h);

/* Like kal_handle_get(), for the creator of the object before it is published. */
static inline void kal_handle_hold(struct kal_handle *h)
{
	refcount_inc(&h->users);
}

/* Replace the first parent of @h by @parent, which the caller uses. */
void kal_handle_change_parent(struct kal_handle *h, struct kal_handle *parent);

/* Destroy an object for KRDMA_IOC_DESTROY. May sleep. */
int kal_handle_destroy(struct kal_file *file, u32 id);
/* The same from a destroy(), for an object without children that is destroyed together with it. */
void kal_handle_destroy_locked(struct kal_handle *h);
/* End all objects on @dev. They keep their numbers. */
void kal_handles_end(struct kal_file *file, struct kal_dev *dev);
u32 kal_file_objects_limit(void);
/* Destroy all objects and free their numbers. */
void kal_handles_exit(struct kal_file *file);

/* The file ***************************************************************** */

/**
 * struct kal_file - an open /dev/krdma
 * @node: entry in the list of files; kal_files_lock
 * @visits: number of kal_files_each() at the file, which keep it in the list; kal_files_lock
 * @net: network namespace in which the file was opened, with a reference
 * @user: user that opened the file, whose share of the namespace is used
 * @owner: process that opened the file
 * @cred: credentials of that process then, which the open file holds
 * @number: number of the file; rises along the list of files
 * @memcg: memory cgroup of the process that opened the file, charged for events and requests
 * @destroy_lock: see the lock order above
 * @handles: objects by number
 * @next_handle: next number for @handles
 * @objects: number of objects in @handles
 * @maps: memory that can be mapped, by page offset (map.c)
 * @next_map: next offset for @maps
 * @event_lock: protects the records and the members after it
 * @records: unread records
 * @num_dynamic: number of unread records that count against the limit
 * @num_records: number of all unread records
 * @generation: number of events so far
 * @lost: number of events lost since open
 * @overflow: record that reports lost events
 * @overflow_event: data of @overflow
 * @wait: readers
 * @read_lock: allows one reader at a time
 * @net_user: data of net.c, which allocates and frees it
 */
struct kal_file {
	struct list_head node;
	u32 visits;
	struct net *net;
	struct kal_net_user user;
	struct kal_owner owner;
	const struct cred *cred;
	u64 number;
	struct mem_cgroup *memcg;
	struct mutex destroy_lock;	/* see the lock order above */
	struct xarray handles;
	u32 next_handle;
	atomic_t objects;
	struct xarray maps;
	u32 next_map;

	spinlock_t event_lock;		/* protects the members below */
	struct list_head records;
	u32 num_dynamic;
	u32 num_records;
	u64 generation;
	u64 lost;
	struct kal_record overflow;
	struct krdma_event overflow_event;
	wait_queue_head_t wait;
	struct mutex read_lock;		/* allows one reader at a time */
	void *net_user;
};

/* Call @fn for all open files. A file is not closed while @fn runs for it. May sleep. */
void kal_files_each(void (*fn)(struct kal_file *file, void *arg), void *arg);

/**
 * struct kal_context_view - a context of an open file, for the administrator
 * @rnic: RNIC
 * @index: number of the RNIC in user space
 * @objects: numbers of the objects in the context, by kind; connections are in none
 */
struct kal_context_view {
	char rnic[IB_DEVICE_NAME_MAX];
	u32 index;
	u32 objects[KAL_H_TYPES];
};

/**
 * struct kal_contexts_walk - a walk over the contexts of open files
 * @net: only files of this namespace
 * @file: number of the file that is next, 0 at first
 * @context: number of its context that is next
 * @wanted: are this owner's files wanted?
 * @take: takes a context; an errno ends the walk before that context. Must not wait.
 * @arg: argument of both
 */
struct kal_contexts_walk {
	const struct net *net;
	u64 file;
	u32 context;
	bool (*wanted)(const struct kal_owner *owner, void *arg);
	int (*take)(const struct kal_owner *owner, const struct kal_context_view *view, void *arg);
	void *arg;
};

/* Return: 0 at the end, or the errno. May sleep. */
int kal_contexts_walk(struct kal_contexts_walk *walk);
/*
 * Get the first context of @file whose number is not below *@id; on return that is its number.
 * Return: false if there is none.
 */
bool kal_file_context(struct kal_file *file, u32 *id, struct kal_context_view *view);

/* Commands ***************************************************************** */

/**
 * struct kal_command - a command
 * @handler: gets the structure in the kernel's size, with zeros where the caller's is shorter,
 *	and modifies it; may sleep
 * @private_handler: used instead of @handler; also gets the provider's own bytes, which are
 *	copied from user space before the call and to it afterwards
 * @private: offset of the struct krdma_private that describes the provider's own bytes
 * @min: minimum size of the caller's structure in bytes
 * @size: size of the structure
 * @handle: offset of the handle of the created object, 0: the command creates none
 * @always: the structure is also returned on an error
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
/* creates an object and returns its handle in the member of that name */
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

/*
 * Return an array of results. On entry @count is the room at @entries, on return the number of
 * results.
 */
int kal_put_entries(u64 entries, u32 *count, const void *from, u32 num, size_t size);

/* conversion of addresses */
int kal_addr_to_sockaddr(const struct krdma_addr *from, struct sockaddr_storage *to);
void kal_addr_from_sockaddr(const struct sockaddr_storage *from, struct krdma_addr *to);

/* cause.c */
void kal_cause_find(struct kal_file *file, unsigned int nr, const void *cmd, int err,
		    struct krdma_error *to);

/* file.c: main.c calls the first two */
int kal_chardev_init(void);
void kal_chardev_exit(void);

/* rnic.c: main.c calls the first two */
int kal_chardev_rnic_init(void);
void kal_chardev_rnic_exit(void);
int kal_cmd_rnic_list(struct kal_file *file, void *cmd);
int kal_cmd_rnic_query(struct kal_file *file, void *cmd);
int kal_cmd_rnic_counters(struct kal_file *file, void *cmd);
int kal_cmd_rnic_find(struct kal_file *file, void *cmd);
int kal_cmd_rnic_port(struct kal_file *file, void *cmd);
int kal_cmd_qp_list(struct kal_file *file, void *cmd);

/* net.c */
int kal_cmd_net_local(struct kal_file *file, void *cmd);
int kal_cmd_net_route(struct kal_file *file, void *cmd);
int kal_cmd_net_neigh(struct kal_file *file, void *cmd);
int kal_cmd_port(struct kal_file *file, void *cmd);
int kal_cmd_net_subscribe(struct kal_file *file, void *cmd);
int kal_cmd_mib(struct kal_file *file, void *cmd);
/* Get a reserved port of the file, for a call that binds to it. */
struct kal_handle *kal_file_port_get(struct kal_file *file, const struct sockaddr_storage *addr,
				     struct kal_port **port);
void kal_file_port_put(struct kal_handle *h);
enum krdma_cause kal_net_cause(struct kal_file *file, unsigned int nr, u32 *limit);
void kal_file_net_exit(struct kal_file *file);

#endif /* KAL_CHARDEV_H */
