/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * libkrdma for C: what <krdma/krdma.hpp> is for C++. Structures named krdma_* and numbers
 * KRDMA_* are the kernel's, of <krdma/krdma-abi.h>; those named ual_* are the library's.
 *
 * Rules
 *
 * A function answers 0, or a count, or a negative errno, if it can fail. What makes an object
 * writes it to its last argument, and only if it answers 0. "Wait" functions answer 1: it
 * came, or 0: the time was over. Times are in milliseconds; UAL_FOREVER: no limit.
 *
 * An object ends with its ..._destroy(), which takes NULL, too. The order is free: the kernel
 * destroys one when nothing needs it any more. A pointer must not be used after it was
 * destroyed; otherwise any thread may call anything at any time. A signal ends no call.
 *
 * What arguments point to (slices, options, private data, addresses) is read before a function
 * returns, and is not looked at afterwards.
 *
 * Objects: -EINVAL: more than the RNIC's limits, of ual_query(); -ENOMEM: memory, RLIMIT_MEMLOCK,
 * or the RNIC has no more of them; -EPERM: RLIMIT_MEMLOCK is 0; -ENOSPC: the session's own limits;
 * -EAGAIN: the process' rdma cgroup has all that it may have;
 * -EMFILE: no descriptor is left; -ENODEV: the RNIC is gone; -EOPNOTSUPP: it has no such thing.
 *
 * Options are structures that begin as their UAL_..._OPTIONS; NULL stands for those.
 * EINVAL: one whose size was not set; E2BIG: it wants something that this library, being
 * older, does not know. Of the kernel's structures, here ual_ri_syscall() alone needs the size
 * set; functions that answer one (ual_query(), ual_usage(), ual_qp_query(), ual_srq_query(),
 * ual_route()) set it.
 */
#ifndef KRDMA_UAL_H
#define KRDMA_UAL_H

#include <stddef.h>
#include <stdint.h>

#include <krdma/krdma-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ual_session;		/* an open /dev/krdma */
struct ual_context;		/* use of an RNIC */
struct ual_pd;			/* protection domain */
struct ual_cq;			/* completion queue */
struct ual_srq;			/* shared receive queue */
struct ual_qp;			/* queue pair */
struct ual_mr;			/* memory region */
struct ual_mw;			/* memory window */
struct ual_listener;
struct ual_request;		/* of somebody who wants to connect */
struct ual_connection;
struct ual_neighbour;		/* whose link address is followed */
struct ual_port;		/* a reserved TCP port */
struct ual_dispatcher;		/* threads that run callbacks */
struct ual_source;		/* the events of one object, which owns it */

#define UAL_FOREVER	(-1)

/* Addresses **************************************************************** */

/* room for any address as text */
#define UAL_ADDR_TEXT	80

/**
 * ual_addr_parse() - read an address
 * @text: "10.0.0.1", "10.0.0.1:7000", "fd00::1", "fe80::1%eth0", "[fd00::1]:7000"; "*" and
 *	"::" are the addresses of all interfaces, IPv4 and IPv6
 * Return: 0; -EINVAL: it is none of these; -ENODEV: no such interface.
 */
int ual_addr_parse(const char *text, struct krdma_addr *addr);

/**
 * ual_addr_format() - write an address, as ual_addr_parse() reads it
 * @text: of @room octets; cut when they are too few, ended with 0 in any case
 * Return: octets that it needs without the 0.
 */
size_t ual_addr_format(const struct krdma_addr *addr, char *text, size_t room);

/* its port in the host's byte order */
uint16_t ual_addr_port(const struct krdma_addr *addr);

/* Sessions and RNICs ******************************************************* */

/**
 * ual_open() - open /dev/krdma
 * The session sees the RNICs of the network namespace that it is opened in.
 * Return: 0; -ENOENT: krdma.ko is not loaded.
 */
int ual_open(struct ual_session **session);

/* The file closes when all that was made from it is gone, too. */
void ual_close(struct ual_session *session);

/**
 * ual_ri_syscall() - a privileged verb or any other command of <krdma/krdma-abi.h>
 * @number: KRDMA_IOC_*
 * @command: its structure, with its size set
 * For what has no function here. Events of an object that was made so have the cookie that
 * the command had: let it be 0, so that they come to ual_session_events().
 * Return: 0 or a negative errno.
 */
int ual_ri_syscall(struct ual_session *session, unsigned long number, void *command);

/* the kernel's handles, for that */
uint32_t ual_context_handle(const struct ual_context *context);
uint32_t ual_pd_handle(const struct ual_pd *pd);
uint32_t ual_mr_handle(const struct ual_mr *mr);
uint32_t ual_mw_handle(const struct ual_mw *mw);
uint32_t ual_cq_handle(const struct ual_cq *cq);
uint32_t ual_srq_handle(const struct ual_srq *srq);
uint32_t ual_qp_handle(const struct ual_qp *qp);
uint32_t ual_connection_handle(const struct ual_connection *connection);

/**
 * ual_devices() - the RNICs of the namespace
 * @entries: at most @room of them
 * Return: how many there are, which may be more than there is room for; a negative errno.
 */
int ual_devices(struct ual_session *session, struct krdma_rnic_entry *entries, uint32_t room);

/*
 * Index of an RNIC: by its name or that of its network device; by an address of that; by
 * one that it leads to. -ENODEV: none. An index is never given to another RNIC.
 */
int ual_find(struct ual_session *session, const char *name, uint32_t *index);
int ual_find_local(struct ual_session *session, const struct krdma_addr *local, uint32_t *index);
int ual_find_remote(struct ual_session *session, const struct krdma_addr *remote, uint32_t *index);

/* limits and state of an RNIC; -ENODEV: it is gone */
int ual_query(struct ual_session *session, uint32_t index, struct krdma_rnic_query *query);

/* Return: how many counters there are, at most @room of them at @entries; a negative errno. */
int ual_counters(struct ual_session *session, uint32_t index, struct krdma_counter *entries,
		 uint32_t room);
/* an RNIC's queue pairs, whoever has them, in the same way; -EPERM: the administrator's */
int ual_queue_pairs(struct ual_session *session, uint32_t index, struct krdma_qp_entry *entries,
		    uint32_t room);
/* host's and offloaded TCP/IP counters as one, in the same way */
int ual_mib(struct ual_session *session, struct krdma_counter *entries, uint32_t room);

/* this file's use of its limits */
int ual_usage(struct ual_session *session, struct krdma_usage *usage);

/* Events ******************************************************************* */

/** struct ual_conn_info - of KRDMA_EVENT_CONN_REPLY, _ESTABLISHED, and of a request */
struct ual_conn_info {
	uint16_t ird;		/* inbound RDMA Reads */
	uint16_t ord;		/* outbound */
	uint32_t private_data_len;
	struct krdma_addr local;
	struct krdma_addr remote;
	uint8_t private_data[KRDMA_PRIVATE_DATA_MAX];
};

/** struct ual_neigh_info - of KRDMA_EVENT_NEIGH */
struct ual_neigh_info {
	struct krdma_addr addr;
	uint32_t ifindex;
	uint32_t state;		/* NUD_* */
	uint32_t lladdr_len;	/* 0: not resolved */
	uint8_t lladdr[8];
};

/** struct ual_net_info - of KRDMA_EVENT_NET */
struct ual_net_info {
	int gone;
	int up;
	uint32_t ifindex;
	uint32_t rnic;		/* index, 0: none */
	uint32_t mtu;
	uint32_t prefix_len;
	struct krdma_addr addr;
	char name[KRDMA_NAME_LEN];
};

/** struct ual_event - what the kernel said of an object */
struct ual_event {
	uint32_t type;		/* enum krdma_event_type, or a later kernel's */
	uint32_t handle;	/* of the object */
	/* COMPLETION: the queue's event handler; enum krdma_async; KRDMA_NET_*; how many were lost */
	uint32_t code;
	int status;		/* 0 or a negative errno */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	__extension__ union {	/* by the type */
		struct ual_conn_info conn;
		struct ual_neigh_info neigh;
		struct ual_net_info net;
	};
};

/* "completion", "conn-request" ..., of at most @room octets; as ual_addr_format() */
size_t ual_event_name(uint32_t type, char *text, size_t room);
/* of the code of KRDMA_EVENT_ASYNC: "qp-fatal" ..., in the same way */
size_t ual_async_name(uint32_t code, char *text, size_t room);

typedef void (*ual_event_fn)(void *arg, const struct ual_event *event);

/* The events of each object. The session's: KRDMA_EVENT_NET, KRDMA_EVENT_OVERFLOW. */
struct ual_source *ual_session_events(struct ual_session *session);
struct ual_source *ual_context_events(struct ual_context *context);
struct ual_source *ual_cq_events(struct ual_cq *cq);
struct ual_source *ual_srq_events(struct ual_srq *srq);
struct ual_source *ual_qp_events(struct ual_qp *qp);
struct ual_source *ual_connection_events(struct ual_connection *connection);
struct ual_source *ual_neighbour_events(struct ual_neighbour *neighbour);

/**
 * ual_event_wait() - the next event of an object; not together with a callback
 * Return: 1: @event is one, 0: none in that time, or a negative errno.
 */
int ual_event_wait(struct ual_source *source, struct ual_event *event, int timeout_ms);

/**
 * ual_event_callback() - be called for each event from now on, those that wait first
 * @fn: NULL ends that. When this returns, the previous one does not run, unless it calls.
 *
 * ual_dispatch() or a dispatcher's threads call it, or this for what waits; nobody's wait
 * does. It is not called again before it has returned. The end of the object ends it, too. It
 * may destroy any object, its own included; not: wait for events of its own object, destroy
 * the dispatcher that runs it.
 */
int ual_event_callback(struct ual_source *source, ual_event_fn fn, void *arg);

/* for poll() alone: readable when ual_dispatch() has something to do; or a negative errno */
int ual_fd(struct ual_session *session);

/**
 * ual_dispatch() - read what waits, after at most that time, and run the callbacks
 * Return: how many events came, or a negative errno.
 */
int ual_dispatch(struct ual_session *session, int timeout_ms);

/*
 * reads and runs callbacks in threads: of one object one after the other, in order; of several
 * at the same time, by whichever is idle. -EBUSY: the session has a dispatcher already.
 */
int ual_dispatcher_create(struct ual_session *session, unsigned int threads,
			  struct ual_dispatcher **dispatcher);
/* waits for the callbacks that run; not from one of them */
void ual_dispatcher_destroy(struct ual_dispatcher *dispatcher);

/* Contexts, protection domains, memory ************************************* */

/**
 * ual_context_create() - use an RNIC
 * @flags: 0, or KRDMA_SLOW: through the kernel for every call, even if there is a user library
 */
int ual_context_create(struct ual_session *session, uint32_t index, uint32_t flags,
		       struct ual_context **context);
void ual_context_destroy(struct ual_context *context);
/* the data path is in the provider's user library; if not, why, for people to read */
int ual_context_fast(const struct ual_context *context);
const char *ual_context_why_slow(const struct ual_context *context);

int ual_pd_create(struct ual_context *context, struct ual_pd **pd);
void ual_pd_destroy(struct ual_pd *pd);
/* as "rdma resource show pd" has it */
uint32_t ual_pd_id(const struct ual_pd *pd);

/**
 * ual_mr_create() - register memory of this process
 * @access: KRDMA_ACCESS_*
 * The memory stays the program's; it must outlive the region and what was posted.
 */
int ual_mr_create(struct ual_pd *pd, void *memory, size_t length, uint32_t access,
		  struct ual_mr **mr);
/* the same, but tagged offsets begin at @iova (at 0 with KRDMA_ACCESS_ZERO_BASED) */
int ual_mr_create_at(struct ual_pd *pd, void *memory, size_t length, uint64_t iova,
		     uint32_t access, struct ual_mr **mr);
/* octets of a dma-buf, which the region keeps, not @fd; tagged offsets begin at @iova */
int ual_mr_create_dmabuf(struct ual_pd *pd, int fd, uint64_t offset, uint64_t length,
			 uint64_t iova, uint32_t access, struct ual_mr **mr);
void ual_mr_destroy(struct ual_mr *mr);
/* STag, for local use and for the peer; changes with ual_mr_set_...() */
uint32_t ual_mr_stag(const struct ual_mr *mr);
/* tagged offset of its first octet, for the peer; its length */
uint64_t ual_mr_address(const struct ual_mr *mr);
uint64_t ual_mr_length(const struct ual_mr *mr);
/* a part of it, for work requests; -ERANGE: it does not lie in the region */
int ual_mr_slice(const struct ual_mr *mr, uint64_t offset, uint32_t length,
		 struct krdma_sge *slice);
/* the same region with other rights, other memory, in another domain of its context */
int ual_mr_set_access(struct ual_mr *mr, uint32_t access);
int ual_mr_set_memory(struct ual_mr *mr, void *memory, size_t length);
int ual_mr_set_memory_at(struct ual_mr *mr, void *memory, size_t length, uint64_t iova);
int ual_mr_set_pd(struct ual_mr *mr, struct ual_pd *pd);

/* @type: 1 or 2 */
int ual_mw_create(struct ual_pd *pd, uint32_t type, struct ual_mw **mw);
void ual_mw_destroy(struct ual_mw *mw);
/* changes with each ual_bind() */
uint32_t ual_mw_stag(const struct ual_mw *mw);
/* the same with the next key: what ual_bind() will give it */
uint32_t ual_mw_next_stag(const struct ual_mw *mw);

/* Completion queues ******************************************************** */

/** struct ual_cq_options - begins as UAL_CQ_OPTIONS */
struct ual_cq_options {
	size_t size;
	uint32_t depth;
	uint32_t event_handler;	/* completion event handler (vector) */
	uint32_t times;		/* 1: of each completion; -EOPNOTSUPP: not through the kernel */
	uint32_t reserved;	/* 0 */
};

/* depth 256, vector 0, no times */
#define UAL_CQ_OPTIONS { sizeof(struct ual_cq_options), 256, 0, 0, 0 }

int ual_cq_create(struct ual_context *context, const struct ual_cq_options *options,
		  struct ual_cq **cq);
void ual_cq_destroy(struct ual_cq *cq);
/* Return: completions taken, at most @room; a negative errno. No system call when fast. */
int ual_cq_poll(struct ual_cq *cq, struct krdma_wc *entries, int room);
/* The same with the time of each, of a queue that was made to tell them; else -EINVAL. */
int ual_cq_poll_times(struct ual_cq *cq, struct krdma_wc *entries, struct krdma_wc_time *times,
		      int room);
/**
 * ual_cq_arm() - ask for one event at the next completion
 * @solicited_only: at the next solicited one, or error
 * Return: 1: something may wait already, so poll before waiting; 0; a negative errno.
 */
int ual_cq_arm(struct ual_cq *cq, int solicited_only);
/*
 * The next completion: polled, then armed and waited for. 1, 0: the time was over, an errno:
 * -EIO: the queue has failed and is empty, -ENODEV: the RNIC is gone.
 */
int ual_cq_wait(struct ual_cq *cq, struct krdma_wc *entry, int timeout_ms);
uint32_t ual_cq_depth(const struct ual_cq *cq);
int ual_cq_resize(struct ual_cq *cq, uint32_t depth);
/* an event after so many completions or so long after the first; 0 and 0: at each */
int ual_cq_moderate(struct ual_cq *cq, uint16_t count, uint16_t period_us);

/* "success", "flushed" ... of a completion's status */
const char *ual_status_text(uint32_t status);
/* Immediate data, in the host's byte order, if it came with some: 1, else 0. */
int ual_wc_immediate(const struct krdma_wc *entry, uint32_t *immediate);
/* The STag that the peer invalidated, if it did: 1, else 0. */
int ual_wc_invalidated(const struct krdma_wc *entry, uint32_t *stag);

/* Shared receive queues **************************************************** */

/** struct ual_srq_options - begins as UAL_SRQ_OPTIONS */
struct ual_srq_options {
	size_t size;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;		/* an event when one is taken and fewer are left; 0: none */
};

/* 256 receives of one slice, no limit */
#define UAL_SRQ_OPTIONS { sizeof(struct ual_srq_options), 256, 1, 0 }

int ual_srq_create(struct ual_pd *pd, const struct ual_srq_options *options,
		   struct ual_srq **srq);
void ual_srq_destroy(struct ual_srq *srq);
int ual_srq_post(struct ual_srq *srq, uint64_t id, const struct krdma_sge *slices,
		 uint32_t count);
/* requests in the ABI's own form, as ual_post_receive() */
uint32_t ual_post_srq(struct ual_srq *srq, const struct krdma_wr *requests, uint32_t count,
		      int *error);
int ual_srq_resize(struct ual_srq *srq, uint32_t max_wr);
/* for one event; it disarms itself */
int ual_srq_set_limit(struct ual_srq *srq, uint32_t limit);
int ual_srq_query(struct ual_srq *srq, struct krdma_srq_attr *attr);

/* Queue pairs ************************************************************** */

/** struct ual_qp_options - begins as UAL_QP_OPTIONS */
struct ual_qp_options {
	size_t size;
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
	uint32_t flags;		/* KRDMA_QP_SIGNAL_ALL: every send request completes */
	struct ual_srq *srq;	/* its receives; NULL: of its own */
};

/* 128 requests of one slice in either queue, no inline data, receives of its own */
#define UAL_QP_OPTIONS { sizeof(struct ual_qp_options), 128, 128, 1, 1, 0, 0, NULL }

int ual_qp_create(struct ual_pd *pd, struct ual_cq *send, struct ual_cq *receive,
		  const struct ual_qp_options *options, struct ual_qp **qp);
void ual_qp_destroy(struct ual_qp *qp);
uint32_t ual_qp_number(const struct ual_qp *qp);
/* state, limits as granted, which may be more than was wished, connection and its traffic */
int ual_qp_query(struct ual_qp *qp, struct krdma_qp_attr *attr);
/*
 * @state: KRDMA_QP_STATE_RESET, _INIT, _RTS (as ual_qp_resume()), _SQD or _ERR; -EINVAL: another
 * one. After the end of its connection a queue pair is in _ERR; RESET makes it like new, for
 * another one, and forgets its completions.
 */
int ual_qp_set_state(struct ual_qp *qp, uint32_t state);
/*
 * A connected queue pair rests: what was begun is finished, other requests wait, receiving goes
 * on, until ual_qp_resume(). If @event, KRDMA_ASYNC_SQ_DRAINED tells when that is finished.
 */
int ual_qp_drain(struct ual_qp *qp, int event);
int ual_qp_resume(struct ual_qp *qp);
/* @access: KRDMA_ACCESS_REMOTE_*; a new queue pair has them all */
int ual_qp_set_access(struct ual_qp *qp, uint32_t access);
/* ends the connection: at once if @abrupt, else when what was posted has left */
int ual_disconnect(struct ual_qp *qp, int abrupt);

/*
 * Work requests, at any time: before the queue pair is connected they wait, after that they are
 * flushed. @id comes with the completion, @flags are KRDMA_SEND_*: a request without
 * KRDMA_SEND_SIGNALED completes only if it fails. With KRDMA_SEND_INLINE the slices name this
 * process' memory, whatever their lkey, which may be used again at once.
 * -ENOMEM: the queue is full, in which a place is free when a request is done, before its
 * completion is polled; -EINVAL: a request that cannot be.
 */

/** struct ual_remote - memory of the peer */
struct ual_remote {
	uint64_t address;
	uint32_t stag;
};

int ual_receive(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count);
int ual_send(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count,
	     uint32_t flags);
/* @immediate: in the host's byte order; krdma_wc.imm has it in the network's */
int ual_send_immediate(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices,
		       uint32_t count, uint32_t immediate, uint32_t flags);
int ual_send_invalidate(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices,
			uint32_t count, uint32_t stag, uint32_t flags);
int ual_write(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count,
	      struct ual_remote to, uint32_t flags);
/* takes a receive of the peer, whose completion has the immediate data */
int ual_write_immediate(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices,
			uint32_t count, struct ual_remote to, uint32_t immediate,
			uint32_t flags);
int ual_read(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count,
	     struct ual_remote from, uint32_t flags);
/* what was there goes to the slice of 8 octets */
int ual_fetch_add(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slice,
		  struct ual_remote at, uint64_t add, uint32_t flags);
int ual_compare_swap(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slice,
		     struct ual_remote at, uint64_t compare, uint64_t swap, uint32_t flags);
/* @stag: of a window of type 2, or of a region without windows */
int ual_invalidate(struct ual_qp *qp, uint64_t id, uint32_t stag, uint32_t flags);
/*
 * Binds a window to a part of a region; ual_mw_stag() is then another one, for the peer when the
 * bind has completed, which needs a connection. The peer addresses its first octet as the
 * region's, by @part's addr, or by 0 if @access has KRDMA_ACCESS_ZERO_BASED. -EINVAL: they are
 * not of the queue pair's context.
 */
int ual_bind(struct ual_qp *qp, uint64_t id, struct ual_mw *mw, struct ual_mr *mr,
	     const struct krdma_sge *part, uint32_t access, uint32_t flags);

/* Requests in the ABI's own form. Return: how many were posted; of the next one @error. */
uint32_t ual_post_send(struct ual_qp *qp, const struct krdma_wr *requests, uint32_t count,
		       int *error);
uint32_t ual_post_receive(struct ual_qp *qp, const struct krdma_wr *requests, uint32_t count,
			  int *error);

/* Connections ************************************************************** */

/** struct ual_conn_options - begins as UAL_CONN_OPTIONS */
struct ual_conn_options {
	size_t size;
	const void *private_data;
	uint32_t private_data_len;	/* 508 at most, 512 with MPA revision 1 */
	uint16_t ird;		/* inbound RDMA Reads; -EINVAL: more than max_ird */
	uint16_t ord;		/* outbound; -EINVAL: more than max_ord of the RNIC */
	int tos;		/* -1: the host's */
	struct krdma_addr local;	/* to connect from; family 0: the host chooses */
};

/* no private data, 8 Reads either way */
#define UAL_CONN_OPTIONS \
	{ sizeof(struct ual_conn_options), NULL, 0, 8, 8, -1, { 0, 0, 0, { 0 } } }

/**
 * ual_connect() - begin to connect
 * ual_established() or the event KRDMA_EVENT_CONN_REPLY tells what came of it. The end of the
 * object ends the connection.
 * Return: 0; -EINVAL: the queue pair has failed, or the options; -EISCONN: it has a
 * connection; -EADDRNOTAVAIL: the local address, or the one that the host chooses, is not the
 * RNIC's; -EADDRINUSE, -EACCES: of the local port; -ENETUNREACH, -EHOSTUNREACH: no way there.
 */
int ual_connect(struct ual_qp *qp, const struct krdma_addr *remote,
		const struct ual_conn_options *options, struct ual_connection **connection);
/**
 * ual_established() - wait until it is made; its event is taken, unless a callback wants it
 * Return: 0; -ECONNREFUSED: the peer, with private data, or its host refused; -ETIMEDOUT:
 * the time is over, here or in the kernel; -ECONNRESET: the peer went without an answer; -EPROTO,
 * -EPROTONOSUPPORT, -EOPNOTSUPP: it does not speak MPA, or not so that both can; -ECONNABORTED:
 * it was ended here; -ENODEV: the RNIC is gone. Once this was told: why it has ended since,
 * -ECONNRESET for a graceful end.
 */
int ual_established(struct ual_connection *connection, int timeout_ms);
/* 1: it has ended, or could not be made; 0: not in that time */
int ual_closed(struct ual_connection *connection, int timeout_ms);
/*
 * Why it has ended: 0: gracefully; -ECONNABORTED, -ECONNRESET ...; why it could not be made.
 * -EINPROGRESS: it has not ended, as far as was read.
 */
int ual_close_status(const struct ual_connection *connection);
/* complete when it is established; after a refusal the peer's private data */
void ual_connection_info(const struct ual_connection *connection, struct ual_conn_info *info);
void ual_connection_destroy(struct ual_connection *connection);

/** struct ual_listen_options - begins as UAL_LISTEN_OPTIONS */
struct ual_listen_options {
	size_t size;
	uint32_t backlog;
	uint32_t flags;		/* KRDMA_LISTEN_V6ONLY */
	int tos;		/* -1: the host's */
};

/* a backlog of 64 */
#define UAL_LISTEN_OPTIONS { sizeof(struct ual_listen_options), 64, 0, -1 }

/**
 * ual_listen() - hear of those who want to connect
 * @local: an address of the RNIC, or all of a family, which are those of the RNIC; port 0: the
 * kernel chooses. A listener of each RNIC may have all of a family, with one port.
 * Return: 0; -EADDRNOTAVAIL: it is not an address of the RNIC; -EADDRINUSE: a socket, a listener
 * or another session's reservation has the port; -EACCES: a privileged one; -EAFNOSUPPORT: no
 * address of IPv4 or IPv6.
 */
int ual_listen(struct ual_context *context, const struct krdma_addr *local,
	       const struct ual_listen_options *options, struct ual_listener **listener);
/* with the port that was given */
void ual_listener_address(const struct ual_listener *listener, struct krdma_addr *address);
/* The next request, which ends with ual_request_destroy(). 1, 0: none in time, an errno. */
int ual_listener_wait(struct ual_listener *listener, struct ual_request **request,
		      int timeout_ms);
/* as ual_event_callback(); the request is the callback's, or whom it gives it to, to destroy */
typedef void (*ual_request_fn)(void *arg, struct ual_request *request);
int ual_listener_callback(struct ual_listener *listener, ual_request_fn fn, void *arg);
void ual_listener_destroy(struct ual_listener *listener);

/* addresses, wished depths of RDMA Reads, private data */
void ual_request_info(const struct ual_request *request, struct ual_conn_info *info);
/**
 * ual_accept() - begin to accept; ual_established() tells when it is done. Once only.
 * Return: 0. The request may be answered again after -EINVAL: the queue pair has failed or is
 * of another RNIC or session, or the options; -EISCONN: it has a connection; -ENOMEM. With any
 * other errno it is over: -ECONNRESET, -ENOTCONN: the peer has gone; -ECONNABORTED: the queue
 * pair failed.
 */
int ual_accept(struct ual_request *request, struct ual_qp *qp,
	       const struct ual_conn_options *options, struct ual_connection **connection);
int ual_reject(struct ual_request *request, const void *private_data, uint32_t length);
/* refuses it if that was neither accepted nor refused */
void ual_request_destroy(struct ual_request *request);

/* Network stack ************************************************************ */

/* Return: how many local addresses reach @to, best first, at most @room at @entries. */
int ual_local_addresses(struct ual_session *session, const struct krdma_addr *to,
			struct krdma_net_local *entries, uint32_t room);
/* @route: in: dst, and what else counts, or 0; out: all of it. -ENETUNREACH ... */
int ual_route(struct ual_session *session, struct krdma_net_route *route);

/**
 * ual_neighbour_get() - link address of a next hop
 * @flags: 0: what is known now, KRDMA_NEIGH_ASK: an event tells the answer, KRDMA_NEIGH_WATCH:
 *	and one at each change
 * @info: what is known now
 * @neighbour: NULL if nothing will follow; may be NULL when @flags is 0
 */
int ual_neighbour_get(struct ual_session *session, const struct krdma_addr *addr, uint32_t ifindex,
		      uint32_t flags, struct ual_neigh_info *info, struct ual_neighbour **neighbour);
void ual_neighbour_destroy(struct ual_neighbour *neighbour);

/**
 * ual_port_reserve() - keep a TCP port, at which this session alone may listen, and connect from
 * @addr: port 0: any; address 0: all RNICs'. Out: what was reserved.
 * Return: 0; -EADDRINUSE: a socket, a listener or a reservation has it; -EACCES: a privileged one.
 */
int ual_port_reserve(struct ual_session *session, struct krdma_addr *addr,
		     struct ual_port **port);
void ual_port_destroy(struct ual_port *port);

/* wishes events of the namespace: KRDMA_NET_*; they come to ual_session_events() */
int ual_subscribe(struct ual_session *session, uint32_t mask);

#ifdef __cplusplus
}
#endif

#endif /* KRDMA_UAL_H */
