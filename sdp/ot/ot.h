/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The offload transport interface: what SDP needs of a transport with RDMA, and nothing of how it
 * is done. A transport fills a struct sdp_ot_ops and registers; SDP calls the ops and gets upcalls.
 * ot_kdapl.c is the transport for every RNIC of the kernel access layer; the tests have one in
 * memory.
 *
 * SERVICES
 *
 *	devices and events	what there is, its addresses, links and routes
 *	pools			buffers for messages, and for RDMA
 *	completion services	direct (a handler is called) or polling
 *	data transfer		endpoints: Sends, receives, RDMA Reads and Writes, memory keys
 *	connections		listeners; connect, accept, reject
 *
 * What krdma_sdp does not ask for, and the checks of the contract do: polling, which lets a test
 * take completions one at a time; posts without SDP_OT_SIGNAL, and SDP_OT_FENCE; a Send that
 * invalidates, which peers may do, so that what it does here has to be tested.
 *
 * OBJECTS AND LIFETIME
 *
 * A transport has devices. A device has pools, completion queues, endpoints and listeners. Each
 * object is the transport's, is known to SDP by a pointer, and begins with the structure of this
 * header, whose members SDP may read. An object lives until SDP destroys it, whatever happens to
 * the device. What it was created from must live longer.
 *
 * When a device is removed, SDP gets SDP_OT_DEVICE_GONE. From then on every op that needs the
 * device answers -ENODEV, each endpoint gets SDP_OT_DOWN, and destroying works. The transport does
 * not wait; the struct sdp_ot_device lives until the last device_put().
 *
 * CONTEXTS
 *
 * "Sleeps": process context, no spinlock held. "Atomic": any context but hard interrupt and NMI,
 * also in an upcall and with spinlocks held. Each op says which it is. Upcalls:
 *
 *	completion handlers	softirq or process context; they do not sleep
 *	connection upcalls	process context; they may sleep and may call every op, except
 *				destroying the object that calls up
 *	event upcalls		process context; they may sleep
 *
 * No lock of the transport is held in an upcall. Upcalls of one object come one at a time. After an
 * object was destroyed, no upcall of it runs or comes. No atomic op calls up before it returns: SDP
 * calls these with its lock, which its handlers take.
 *
 * ERRORS
 *
 * Ops answer 0 or a negative errno. Each may answer -ENODEV. An op that posts answers -EAGAIN if
 * the queue is full, -ENOTCONN if the endpoint is not connected, -EMSGSIZE if the length is too
 * large. A message may arrive before SDP_OT_UP is reported; from then on the endpoint takes posts.
 *
 * What was posted completes exactly once, in order for each queue: with 0, with -ECANCELED if the
 * connection ended first, or with the error that ended it. A first completion with another error
 * than -ECANCELED is followed by SDP_OT_DOWN. A post without SDP_OT_SIGNAL that succeeds is not
 * reported; one that fails is.
 *
 * MEMORY
 *
 * A pool never grows beyond what it was created with: SDP charges it to a socket when it creates
 * it. Memory of programs is pinned and charged by SDP, which gives pages to key_post(). A key is
 * the transport's own 32-bit key (RKey or STag): it travels to the peer as it is. The transport
 * swaps no byte of private data, messages or keys.
 */
#ifndef SDP_OT_H
#define SDP_OT_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/socket.h>
#include <linux/types.h>

struct net;
struct page;

struct sdp_ot;
struct sdp_ot_cq;
struct sdp_ot_ep;
struct sdp_ot_listener;
struct sdp_ot_pool;
struct sdp_ot_conn_request;

/* capabilities of a device */
#define SDP_OT_CAP_INVALIDATE	BIT(1)	/* Send with Invalidate, both ways */
#define SDP_OT_CAP_LOCAL	BIT(2)	/* reaches addresses of its own host */
#define SDP_OT_CAP_ROUTED	BIT(3)	/* reaches addresses behind a router */
#define SDP_OT_CAP_SOFTWARE	BIT(4)	/* RDMA costs this host's processors */
#define SDP_OT_CAP_FIRST_HOP	BIT(5)	/* connect() wants to know the next hop */
#define SDP_OT_CAP_ADOPTED	BIT(6)	/* the driver of another module makes the connections */
#define SDP_OT_CAP_ACKED	BIT(7)	/* Sends and Writes complete when the peer has them */

/**
 * struct sdp_ot_device - an RNIC, as SDP sees it
 * @ot: its transport
 * @name: for people
 * @ifindex: its network device
 * @net: the namespace that it is of use in; valid as long as the device is not gone
 * @caps: SDP_OT_CAP_*
 * @request_len: bytes of private data in a connection request; 92 allow the full Hello
 * @answer_len: ... in its answer
 * @refusal_len: ... in a refusal
 * @max_message: bytes of a Send
 * @max_rdma: bytes of a Read or Write
 * @max_segments: segments of a Send or Write
 * @max_read_segments: segments of a Read
 * @max_pages: pages of one key
 * @reads_in: RDMA Reads of a peer at a time, for each endpoint
 * @reads_out: own Reads at a time, for each endpoint
 *
 * Owned by the transport, read-only for SDP, counted by device_get() and device_put().
 */
struct sdp_ot_device {
	const struct sdp_ot *ot;
	char name[32];
	int ifindex;
	struct net *net;
	u32 caps;
	u16 request_len;
	u16 answer_len;
	u16 refusal_len;
	u32 max_message;
	u32 max_rdma;
	u16 max_segments;
	u16 max_read_segments;
	u32 max_pages;
	u16 reads_in;
	u16 reads_out;
};

/** enum sdp_ot_event - what happens to devices and their surroundings */
enum sdp_ot_event {
	SDP_OT_DEVICE_NEW,
	SDP_OT_DEVICE_GONE,
	SDP_OT_ADDRESS_NEW,	/* an address of the device's network device */
	SDP_OT_ADDRESS_GONE,
	SDP_OT_LINK_UP,
	SDP_OT_LINK_DOWN,
	SDP_OT_ROUTES_CHANGED,	/* of the device's namespace */
};

/**
 * struct sdp_ot_subscriber - receives events of all devices of a transport
 * @event: upcall; @address is that of SDP_OT_ADDRESS_*, else NULL. Sleeps
 * @list: the transport's
 *
 * subscribe() reports each device and address that is there before it returns.
 */
struct sdp_ot_subscriber {
	void (*event)(struct sdp_ot_subscriber *subscriber, struct sdp_ot_device *device,
		      enum sdp_ot_event event, const struct sockaddr_storage *address);
	struct list_head list;
};

/* Pools ************************************************************************************ */

/** enum sdp_ot_pool_kind - what the elements of a pool are for */
enum sdp_ot_pool_kind {
	SDP_OT_POOL_MESSAGE,	/* Sends and receives of connected endpoints */
	SDP_OT_POOL_RDMA,	/* keys for memory that a peer reads or writes, see key_post() */
};

/**
 * struct sdp_ot_pool_attr - how large a pool is
 * @kind: enum sdp_ot_pool_kind
 * @elements: how many
 * @size: bytes of each buffer; of an RDMA pool: pages of each key
 * @segments: most segments of a Send from an element: its own buffer, and pages of programs
 * @domain: protection: elements are good for endpoints of the same domain only. Any address that
 *	stands for the connection, is not looked at; NULL: a domain of the device
 */
struct sdp_ot_pool_attr {
	enum sdp_ot_pool_kind kind;
	u32 elements;
	u32 size;
	u16 segments;
	const void *domain;
};

/**
 * struct sdp_ot_pool - elements that were made in advance
 * @device: where its elements can be used
 * @attr: as created
 */
struct sdp_ot_pool {
	struct sdp_ot_device *device;
	struct sdp_ot_pool_attr attr;
};

/**
 * struct sdp_ot_buf - an element of a message pool
 * @pool: where it belongs
 * @data: its bytes, mapped for the device
 * @size: how many
 * @list: SDP's, while it owns the element
 *
 * SDP owns an element from pool_get() to a post, and from its completion to pool_put().
 */
struct sdp_ot_buf {
	struct sdp_ot_pool *pool;
	u8 *data;
	u32 size;
	struct list_head list;
};

/**
 * struct sdp_ot_key - an element of an RDMA pool: memory that can be named to a peer
 * @pool: where it belongs
 * @key: the transport's key; valid from key_post() to key_drop()
 * @address: of the first byte, as the peer has to say it: less than a page, so that it does not
 *	disclose where the memory is
 * @local: for own Reads into the memory and own Writes from it
 * @list: SDP's, while it owns the element
 */
struct sdp_ot_key {
	struct sdp_ot_pool *pool;
	u32 key;
	u64 address;
	u32 local;
	struct list_head list;
};

/* what a peer may do with the memory of a key */
#define SDP_OT_PEER_READS	BIT(0)
#define SDP_OT_PEER_WRITES	BIT(1)

/**
 * struct sdp_ot_segment - local bytes of a post
 * @buf: element that holds them, or NULL
 * @key: ... key of the memory that holds them
 * @offset: of the first one, in the element or in the key's memory
 * @length: bytes
 */
struct sdp_ot_segment {
	struct sdp_ot_buf *buf;
	struct sdp_ot_key *key;
	u32 offset;
	u32 length;
};

/* Completions ****************************************************************************** */

/** enum sdp_ot_op - what has completed */
enum sdp_ot_op {
	SDP_OT_SEND,
	SDP_OT_RECV,
	SDP_OT_READ,
	SDP_OT_WRITE,
	SDP_OT_KEY_POST,
	SDP_OT_KEY_DROP,
};

/**
 * struct sdp_ot_completion - the end of a post
 * @ep: endpoint
 * @cookie: of the post
 * @status: 0 or a negative errno
 * @op: enum sdp_ot_op
 * @length: bytes received or read
 * @solicited: receive: the peer asked for attention, or the transport cannot know
 * @invalidated: receive: this key of the end was invalidated by the peer; 0 if none was
 */
struct sdp_ot_completion {
	struct sdp_ot_ep *ep;
	void *cookie;
	int status;
	enum sdp_ot_op op;
	u32 length;
	bool solicited;
	u32 invalidated;
};

/** enum sdp_ot_cq_kind - the context that processes completions */
enum sdp_ot_cq_kind {
	SDP_OT_CQ_DIRECT,	/* @handler of struct sdp_ot_cq_attr, at once */
	SDP_OT_CQ_POLLING,	/* cq_poll(); @notify says when, if it was asked for by cq_arm() */
};

/**
 * struct sdp_ot_cq_attr - a completion service
 * @kind: enum sdp_ot_cq_kind
 * @depth: completions that it holds
 * @handler: direct: one or more completions, oldest first
 * @notify: polling: there may be completions
 * @context: for both
 * @cpu: processor that should do the work, or -1
 */
struct sdp_ot_cq_attr {
	enum sdp_ot_cq_kind kind;
	u32 depth;
	void (*handler)(void *context, const struct sdp_ot_completion *completions, u32 n);
	void (*notify)(void *context);
	void *context;
	int cpu;
};

/**
 * struct sdp_ot_cq - completion queue
 * @device: where it is
 * @attr: as created
 */
struct sdp_ot_cq {
	struct sdp_ot_device *device;
	struct sdp_ot_cq_attr attr;
};

/* Endpoints and connections **************************************************************** */

/** enum sdp_ot_conn_event - what happens to a connection */
enum sdp_ot_conn_event {
	SDP_OT_UP,		/* active: private data of the answer; passive: nothing */
	SDP_OT_REFUSED,		/* private data of the refusal; -ECONNREFUSED */
	SDP_OT_UNREACHABLE,	/* -EHOSTUNREACH, -ENETUNREACH, -ETIMEDOUT */
	SDP_OT_DOWN,		/* it was up: 0, -ECONNRESET, -ETIMEDOUT or what else ended it */
};

/**
 * struct sdp_ot_ep_attr - an endpoint
 * @send_cq: completions of Sends, Reads, Writes and keys
 * @recv_cq: completions of receives
 * @sends: posts to the send queue at a time
 * @recvs: receives at a time
 * @segments: most segments of a post
 * @reads_in: Reads of the peer at a time
 * @reads_out: own Reads at a time
 * @event: connection upcall: @error is 0 or a negative errno; @data of @length bytes is valid
 *	during the upcall. Each of UP and the other three comes at most once
 * @context: for @event
 * @domain: as in struct sdp_ot_pool_attr: what the peer of another domain's endpoint cannot reach
 * @tos: IP type of service of the connection, where the transport has such a thing; 0: its own
 * @priority: of packets that the host sends for it, as of SO_PRIORITY
 * @mark: of these, as of SO_MARK; 0: none
 * @pushed: SDP calls push() after posts to the send queue, which may wait for it
 */
struct sdp_ot_ep_attr {
	struct sdp_ot_cq *send_cq;
	struct sdp_ot_cq *recv_cq;
	u32 sends;
	u32 recvs;
	u16 segments;
	u16 reads_in;
	u16 reads_out;
	void (*event)(void *context, enum sdp_ot_conn_event event, int error, const u8 *data,
		      u32 length);
	void *context;
	const void *domain;
	u8 tos;
	u32 priority;
	u32 mark;
	bool pushed;
};

/**
 * struct sdp_ot_ep - a data transfer service
 * @device: where it is
 * @attr: as created
 * @local: own address, with the transport's port; valid from SDP_OT_UP on
 * @remote: the peer's
 * @reads_out: own Reads at a time that were negotiated, the same
 */
struct sdp_ot_ep {
	struct sdp_ot_device *device;
	struct sdp_ot_ep_attr attr;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u16 reads_out;
};

/* what a Send or its completion is to do */
#define SDP_OT_SIGNAL		BIT(0)	/* completes visibly, with all silent ones before it */
#define SDP_OT_SOLICITED	BIT(1)	/* asks for the peer's attention */
#define SDP_OT_FENCE		BIT(2)	/* begins when own Reads before it have completed */

/**
 * struct sdp_ot_listen_attr - a listener
 * @port: of the transport; one listener of a device at a time
 * @request: connection upcall: a request has arrived. @request is the callee's until accept() or
 *	reject(), in any context and as late as it likes; @data is valid as long
 * @context: for @request
 */
struct sdp_ot_listen_attr {
	u16 port;
	void (*request)(void *context, struct sdp_ot_conn_request *request, const u8 *data,
			u32 length, const struct sockaddr_storage *local,
			const struct sockaddr_storage *remote);
	void *context;
};

/**
 * struct sdp_ot_ops - a transport
 *
 * Devices and events
 *
 * @subscribe: begin to receive events. Sleeps
 * @unsubscribe: no upcall runs or comes afterwards. Sleeps; not from an upcall of the subscriber
 * @device_get: count a device. Atomic
 * @device_put: give it back. Atomic
 * @route: find the device for a destination. @local is the wanted own address, or has the family
 *	AF_UNSPEC, and is filled; @next_hop is filled, if it is not NULL. Return: a counted device,
 *	or an ERR_PTR(): -EHOSTUNREACH, -ENETUNREACH, -EADDRNOTAVAIL, -ENODEV if no device of this
 *	transport leads there. Sleeps
 *
 * Pools
 *
 * @pool_create: Return: a pool, or an ERR_PTR(): -ENOMEM, -EINVAL. Sleeps
 * @pool_destroy: all elements have been given back. Sleeps
 * @pool_get: an element, or NULL if the pool is empty. Atomic
 * @pool_put: give an element back. Atomic
 * @key_get: an element of an RDMA pool, or NULL. Atomic
 * @key_put: give it back. Atomic
 * @pool_settle: keys that were given back while they named memory name it no more, and it is not
 *	mapped for the device. Optional. Sleeps
 *
 * Completion services
 *
 * @cq_create: Return: a completion queue, or an ERR_PTR(). Sleeps
 * @cq_destroy: no endpoint uses it any more. Sleeps
 * @cq_poll: polling: take up to @n completions. Return: how many. Atomic
 * @cq_arm: polling: call notify() once, for the next completion; for a solicited one only, if
 *	@solicited is set. Return: 1 if there may be completions already. Atomic
 *
 * Data transfer
 *
 * @ep_create: Return: an endpoint, or an ERR_PTR(). Sleeps
 * @ep_destroy: ends the connection abruptly; what was posted completes before it returns. Sleeps;
 *	not from an upcall of the endpoint
 * @post_recv: receive into an element; @cookie comes with the completion. Before the connection is
 *	up, too. Atomic
 * @post_send: send @n segments as one message. @invalidate is a key of the peer that it loses, 0
 *	for none; needs SDP_OT_CAP_INVALIDATE. Atomic
 * @post_read: read @length bytes at @key, @address of the peer into segments; with @n 0 a Read of
 *	0 bytes, which asks whether the peer lives. Atomic
 * @post_write: write segments to @key, @address of the peer; with @n 0 a Write of 0 bytes, which
 *	asks the same with SDP_OT_CAP_ACKED. Atomic
 * @key_post: name memory: @n pages, @offset bytes into the first, @length bytes in all. @access
 *	is SDP_OT_PEER_*. Later posts of the endpoint may use the key at once. Atomic
 * @key_drop: after the completion the peer cannot use the key, and what was transferred is in the
 *	pages. If the connection is down, the peer cannot at once; the completion follows. Atomic
 * @push: begin with what was posted to the send queue. @sleep: the caller may sleep, and may do the
 *	work of a device that is software; completion handlers may come meanwhile, also of this
 *	endpoint. Sleeps with @sleep, else atomic
 *
 * Connections
 *
 * @listen: Return: a listener, or an ERR_PTR(): -EADDRINUSE: the port is taken. Sleeps
 * @listener_destroy: requests that have arrived stay. Sleeps; not from its upcall
 * @connect: begin; an upcall reports the result. @next_hop is that of route(), or NULL. @timeout_ms
 *	is the transport's limit. Does not wait for the peer. Sleeps
 * @accept: accept a request with an endpoint; SDP_OT_UP or SDP_OT_DOWN follows. The request is gone
 *	if the answer is 0. Sleeps
 * @reject: refuse a request (consumer reject; code 28 on InfiniBand). The request is gone. Sleeps
 * @disconnect: end a connection or an attempt. Not abrupt: what was posted is sent first.
 *	SDP_OT_DOWN follows. Atomic: what has to sleep is done later
 *
 * Sizes in @request_len and the like are limits: a longer one is -EMSGSIZE. Transports may pad
 * private data with zeroes.
 */
struct sdp_ot_ops {
	int (*subscribe)(struct sdp_ot_subscriber *subscriber);
	void (*unsubscribe)(struct sdp_ot_subscriber *subscriber);
	void (*device_get)(struct sdp_ot_device *device);
	void (*device_put)(struct sdp_ot_device *device);
	struct sdp_ot_device *(*route)(struct net *net, const struct sockaddr_storage *remote,
				       struct sockaddr_storage *local, int bound_ifindex,
				       struct sockaddr_storage *next_hop);

	struct sdp_ot_pool *(*pool_create)(struct sdp_ot_device *device,
					   const struct sdp_ot_pool_attr *attr);
	void (*pool_destroy)(struct sdp_ot_pool *pool);
	struct sdp_ot_buf *(*pool_get)(struct sdp_ot_pool *pool);
	void (*pool_put)(struct sdp_ot_buf *buf);
	struct sdp_ot_key *(*key_get)(struct sdp_ot_pool *pool);
	void (*key_put)(struct sdp_ot_key *key);
	void (*pool_settle)(struct sdp_ot_pool *pool);

	struct sdp_ot_cq *(*cq_create)(struct sdp_ot_device *device,
				       const struct sdp_ot_cq_attr *attr);
	void (*cq_destroy)(struct sdp_ot_cq *cq);
	u32 (*cq_poll)(struct sdp_ot_cq *cq, struct sdp_ot_completion *completions, u32 n);
	int (*cq_arm)(struct sdp_ot_cq *cq, bool solicited);

	struct sdp_ot_ep *(*ep_create)(struct sdp_ot_device *device,
				       const struct sdp_ot_ep_attr *attr);
	void (*ep_destroy)(struct sdp_ot_ep *ep);
	int (*post_recv)(struct sdp_ot_ep *ep, struct sdp_ot_buf *buf, void *cookie);
	int (*post_send)(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			 u32 flags, u32 invalidate, void *cookie);
	int (*post_read)(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			 u32 key, u64 address, u32 flags, void *cookie);
	int (*post_write)(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			  u32 key, u64 address, u32 flags, void *cookie);
	int (*key_post)(struct sdp_ot_ep *ep, struct sdp_ot_key *key, struct page **pages, u32 n,
			u32 offset, u64 length, u32 access, void *cookie);
	int (*key_drop)(struct sdp_ot_ep *ep, struct sdp_ot_key *key, void *cookie);
	void (*push)(struct sdp_ot_ep *ep, bool sleep);

	struct sdp_ot_listener *(*listen)(struct sdp_ot_device *device,
					  const struct sdp_ot_listen_attr *attr);
	void (*listener_destroy)(struct sdp_ot_listener *listener);
	int (*connect)(struct sdp_ot_ep *ep, const struct sockaddr_storage *local,
		       const struct sockaddr_storage *remote,
		       const struct sockaddr_storage *next_hop, const u8 *data, u32 length,
		       u32 timeout_ms);
	int (*accept)(struct sdp_ot_conn_request *request, struct sdp_ot_ep *ep, const u8 *data,
		      u32 length);
	int (*reject)(struct sdp_ot_conn_request *request, const u8 *data, u32 length);
	void (*disconnect)(struct sdp_ot_ep *ep, bool abrupt);
};

/**
 * struct sdp_ot - a transport that is registered
 * @name: "kdapl", say
 * @owner: module that its ops are in
 * @ops: all are there, but pool_settle() may be missing
 * @list: SDP's
 */
struct sdp_ot {
	const char *name;
	struct module *owner;
	const struct sdp_ot_ops *ops;
	struct list_head list;
};

/**
 * sdp_ot_register() - offer a transport to SDP
 * @ot: lives until sdp_ot_unregister()
 *
 * SDP subscribes to its events before this returns, and listens on each device as sockets need it.
 *
 * Return: 0, -EEXIST if the name is taken, -EINVAL if an op is missing, or what subscribe()
 * answers. Context: may sleep.
 */
int sdp_ot_register(struct sdp_ot *ot);

/**
 * sdp_ot_unregister() - take a transport back
 * @ot: transport
 *
 * SDP's listeners on its devices are destroyed, and no event comes afterwards. Objects and
 * references of its devices may be left: the transport ends its devices, which ends the
 * connections, and waits for these itself before it goes. Context: may sleep; not from an upcall.
 */
void sdp_ot_unregister(struct sdp_ot *ot);

#endif /* SDP_OT_H */
