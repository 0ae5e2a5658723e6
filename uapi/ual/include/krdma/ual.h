/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * libkrdma for C. <krdma/krdma.hpp> is the same for C++. Structures named krdma_* and numbers
 * KRDMA_* are the kernel's (<krdma/krdma-abi.h>). Those named ual_* are the library's.
 *
 * Return values. A function that can fail returns 0 or a count on success, else a negative
 * errno. A function that creates an object writes it to its last argument, only on success.
 * "Wait" functions return 1, or 0 on a time-out. Times are in milliseconds; UAL_FOREVER means
 * no limit.
 *
 * Objects. An object ends with its ..._destroy(), which also takes NULL. Objects may be
 * destroyed in any order, because the kernel destroys an object when no other needs it. A
 * pointer must not be used after its object was destroyed. Otherwise any thread may call any
 * function at any time. A signal ends no call.
 *
 * Arguments. A function reads the memory that its arguments point to (slices, options, private
 * data, addresses) before it returns and not afterwards.
 *
 * Errors of creating an object:
 *   -EINVAL	above the RNIC's limits, see ual_query()
 *   -ENOMEM	no memory, RLIMIT_MEMLOCK reached, or the RNIC has no more such objects
 *   -EPERM	RLIMIT_MEMLOCK is 0
 *   -ENOSPC	a limit of the session, the user or the network namespace is reached
 *   -EAGAIN	the limit of the process' rdma cgroup is reached
 *   -EMFILE	no descriptor is left
 *   -ENODEV	the RNIC is gone
 *   -EOPNOTSUPP	the RNIC has no such objects
 *
 * Options. Initialize an option structure with its UAL_..._OPTIONS. NULL stands for these
 * defaults. -EINVAL: the size was not set. -E2BIG: an option is newer than this library.
 *
 * Structures of the kernel. Only ual_ri_syscall() needs the size set by the caller. Functions
 * that return a structure set its size: ual_query(), ual_usage(), ual_qp_query(),
 * ual_srq_query(), ual_route().
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
struct ual_request;		/* a connection request of a peer */
struct ual_connection;
struct ual_neighbour;		/* a neighbour with a link address that is watched */
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
 * Return: 0; -EINVAL: not an address in one of these forms; -ENODEV: no such interface.
 */
int ual_addr_parse(const char *text, struct krdma_addr *addr);

/**
 * ual_addr_format() - write an address in the form that ual_addr_parse() reads
 * @text: has @room bytes; a longer text is cut, and always ends with 0
 * Return: length of the whole text without the 0.
 */
size_t ual_addr_format(const struct krdma_addr *addr, char *text, size_t room);

/**
 * ual_addr_resolve() - like ual_addr_parse(), and also take host names: "server", "server:7000"
 * @family: AF_INET or AF_INET6: only an address of that family; 0: any
 * Asks the host's resolver, which may take seconds.
 * Return: 0; -EINVAL: not such a form; -ENXIO: no such host, or no such address of it; -EAGAIN:
 * the resolver does not answer; -ENODEV: no such interface.
 */
int ual_addr_resolve(const char *text, int family, struct krdma_addr *addr);

struct sockaddr;
/* from the socket API's form; -EINVAL: too short; -EAFNOSUPPORT: neither IPv4 nor IPv6 */
int ual_addr_from_sockaddr(const struct sockaddr *from, size_t length, struct krdma_addr *addr);

/* the port in the host's byte order */
uint16_t ual_addr_port(const struct krdma_addr *addr);

/* Causes of errors ********************************************************* */

/**
 * ual_last_error() - the cause of the last function that failed in this thread
 * @error: status is the errno, positive, or 0 if none has failed; cause is KRDMA_CAUSE_NONE if
 *	only the errno is known
 */
void ual_last_error(struct krdma_error *error);
/* the same in words: "queue pair: Cannot allocate memory (the RNIC allows 1,024 queue pairs)" */
size_t ual_last_error_text(char *text, size_t room);
/* a cause in words: "the RNIC allows 1,024 queue pairs"; "" for KRDMA_CAUSE_NONE */
size_t ual_cause_text(const struct krdma_error *error, char *text, size_t room);

/* Sessions and RNICs ******************************************************* */

/**
 * ual_open() - open /dev/krdma
 * The session sees the RNICs of the network namespace in which it is opened.
 * Return: 0; -ENOENT: krdma.ko is not loaded.
 */
int ual_open(struct ual_session **session);

/* The file closes when all objects that were made from it are gone, too. */
void ual_close(struct ual_session *session);

/**
 * ual_ri_syscall() - issue a privileged verb or any other command of <krdma/krdma-abi.h>
 * @number: KRDMA_IOC_*
 * @command: its structure, with the size set
 * For commands that have no function in this header. Events of an object that was made by
 * such a command have the command's cookie. Set it to 0 to get them from ual_session_events().
 * Return: 0 or a negative errno.
 */
int ual_ri_syscall(struct ual_session *session, unsigned long number, void *command);

/* the kernel's handles, for ual_ri_syscall() */
uint32_t ual_context_handle(const struct ual_context *context);
uint32_t ual_pd_handle(const struct ual_pd *pd);
uint32_t ual_mr_handle(const struct ual_mr *mr);
uint32_t ual_mw_handle(const struct ual_mw *mw);
uint32_t ual_cq_handle(const struct ual_cq *cq);
uint32_t ual_srq_handle(const struct ual_srq *srq);
uint32_t ual_qp_handle(const struct ual_qp *qp);
uint32_t ual_connection_handle(const struct ual_connection *connection);

/**
 * ual_devices() - list the RNICs of the namespace
 * @entries: takes at most @room of them
 * Return: number of RNICs, which may be more than @room; or a negative errno.
 */
int ual_devices(struct ual_session *session, struct krdma_rnic_entry *entries, uint32_t room);

/*
 * Find the index of an RNIC: by its name or that of its network device; by an address of that
 * device; by an address that is reached through it. -ENODEV: there is none. An index is never
 * given to another RNIC.
 */
int ual_find(struct ual_session *session, const char *name, uint32_t *index);
int ual_find_local(struct ual_session *session, const struct krdma_addr *local, uint32_t *index);
int ual_find_remote(struct ual_session *session, const struct krdma_addr *remote, uint32_t *index);

/* limits and state of an RNIC; -ENODEV: the RNIC is gone */
int ual_query(struct ual_session *session, uint32_t index, struct krdma_rnic_query *query);

/* state of a port, from 1 to krdma_rnic_query.num_ports; -EINVAL: there is no such port */
int ual_rnic_port(struct ual_session *session, uint32_t index, uint32_t number,
		  struct krdma_rnic_port *port);

/* Return: number of counters, of which @entries takes at most @room; or a negative errno. */
int ual_counters(struct ual_session *session, uint32_t index, struct krdma_counter *entries,
		 uint32_t room);
/* all queue pairs of an RNIC, in the same way; -EPERM: only for the administrator */
int ual_queue_pairs(struct ual_session *session, uint32_t index, struct krdma_qp_entry *entries,
		    uint32_t room);
/* the sums of the host's and the offloaded TCP/IP counters, in the same way */
int ual_mib(struct ual_session *session, struct krdma_counter *entries, uint32_t room);

/* the session's limits and how much of them is used */
int ual_usage(struct ual_session *session, struct krdma_usage *usage);

/* Events ******************************************************************* */

/** struct ual_conn_info - details of KRDMA_EVENT_CONN_REPLY, _ESTABLISHED and of a request */
struct ual_conn_info {
	uint16_t ird;		/* inbound RDMA Reads */
	uint16_t ord;		/* outbound */
	uint32_t private_data_len;
	struct krdma_addr local;
	struct krdma_addr remote;
	uint8_t private_data[KRDMA_PRIVATE_DATA_MAX];
};

/** struct ual_neigh_info - details of KRDMA_EVENT_NEIGH */
struct ual_neigh_info {
	struct krdma_addr addr;
	uint32_t ifindex;
	uint32_t state;		/* NUD_* */
	uint32_t lladdr_len;	/* 0: not resolved */
	uint8_t lladdr[8];
};

/** struct ual_net_info - details of KRDMA_EVENT_NET */
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

/** struct ual_event - an event of an object */
struct ual_event {
	uint32_t type;		/* enum krdma_event_type; a newer kernel may have more */
	uint32_t handle;	/* of the object */
	/* event handler of the CQ, enum krdma_async, KRDMA_NET_*, or number of lost events */
	uint32_t code;
	int status;		/* 0 or a negative errno */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	__extension__ union {	/* according to type */
		struct ual_conn_info conn;
		struct ual_neigh_info neigh;
		struct ual_net_info net;
	};
};

/* name of a type: "completion", "conn-request" ...; @text as in ual_addr_format() */
size_t ual_event_name(uint32_t type, char *text, size_t room);
/* name of a code of KRDMA_EVENT_ASYNC: "qp-fatal" ..., in the same way */
size_t ual_async_name(uint32_t code, char *text, size_t room);

typedef void (*ual_event_fn)(void *arg, const struct ual_event *event);

/* Event sources of objects. The session has KRDMA_EVENT_NET and KRDMA_EVENT_OVERFLOW. */
struct ual_source *ual_session_events(struct ual_session *session);
struct ual_source *ual_context_events(struct ual_context *context);
struct ual_source *ual_cq_events(struct ual_cq *cq);
struct ual_source *ual_srq_events(struct ual_srq *srq);
struct ual_source *ual_qp_events(struct ual_qp *qp);
struct ual_source *ual_connection_events(struct ual_connection *connection);
struct ual_source *ual_neighbour_events(struct ual_neighbour *neighbour);

/**
 * ual_event_wait() - wait for the next event of an object that has no callback
 * Return: 1: @event is filled in; 0: time-out; or a negative errno.
 */
int ual_event_wait(struct ual_source *source, struct ual_event *event, int timeout_ms);

/**
 * ual_event_callback() - set the callback for the events of an object
 * @fn: called for each event, those that wait already first; NULL: no callback
 *
 * When this function returns, the previous callback is not running, unless it is the caller.
 *
 * ual_dispatch() and the threads of a dispatcher run callbacks. This function runs the new one
 * for events that wait already. Waits run no callback. A callback is not called again before it
 * has returned, and not after the end of its object.
 *
 * A callback may destroy any object, its own included. It must not wait for events of its own
 * object, nor destroy the dispatcher that runs it.
 */
int ual_event_callback(struct ual_source *source, ual_event_fn fn, void *arg);

/* descriptor for poll(), readable when ual_dispatch() has work; or a negative errno */
int ual_fd(struct ual_session *session);

/**
 * ual_dispatch() - wait for events at most @timeout_ms and run their callbacks
 * Return: number of events, or a negative errno.
 */
int ual_dispatch(struct ual_session *session, int timeout_ms);

/*
 * A dispatcher reads events and runs callbacks in threads of its own. Callbacks of one object
 * run one after the other, in order. Those of several objects run at the same time, in any idle
 * thread. -EBUSY: the session has a dispatcher already.
 */
int ual_dispatcher_create(struct ual_session *session, unsigned int threads,
			  struct ual_dispatcher **dispatcher);
/* waits for running callbacks; not to be called from one of them */
void ual_dispatcher_destroy(struct ual_dispatcher *dispatcher);

/* Contexts, protection domains, memory ************************************* */

/**
 * ual_context_create() - begin to use an RNIC
 * @flags: 0, or KRDMA_SLOW: every call is a system call, even with a user library
 */
int ual_context_create(struct ual_session *session, uint32_t index, uint32_t flags,
		       struct ual_context **context);
void ual_context_destroy(struct ual_context *context);
/* is the data path in the provider's user library? If not, the reason as text. */
int ual_context_fast(const struct ual_context *context);
const char *ual_context_why_slow(const struct ual_context *context);

int ual_pd_create(struct ual_context *context, struct ual_pd **pd);
void ual_pd_destroy(struct ual_pd *pd);
/* the id that "rdma resource show pd" prints */
uint32_t ual_pd_id(const struct ual_pd *pd);

/**
 * ual_mr_create() - register memory of this process
 * @access: KRDMA_ACCESS_*
 * The memory belongs to the program. It must outlive the region and the posted requests.
 */
int ual_mr_create(struct ual_pd *pd, void *memory, size_t length, uint32_t access,
		  struct ual_mr **mr);
/* the same, but tagged offsets begin at @iova (at 0 with KRDMA_ACCESS_ZERO_BASED) */
int ual_mr_create_at(struct ual_pd *pd, void *memory, size_t length, uint64_t iova,
		     uint32_t access, struct ual_mr **mr);
/* part of a dma-buf, which the region keeps; @fd may be closed. Tagged offsets begin at @iova. */
int ual_mr_create_dmabuf(struct ual_pd *pd, int fd, uint64_t offset, uint64_t length,
			 uint64_t iova, uint32_t access, struct ual_mr **mr);
void ual_mr_destroy(struct ual_mr *mr);
/* STag for local use and for the peer; ual_mr_set_...() may change it */
uint32_t ual_mr_stag(const struct ual_mr *mr);
/* tagged offset of the first byte, for the peer; length */
uint64_t ual_mr_address(const struct ual_mr *mr);
uint64_t ual_mr_length(const struct ual_mr *mr);
/* make a slice of it for work requests; -ERANGE: outside the region */
int ual_mr_slice(const struct ual_mr *mr, uint64_t offset, uint32_t length,
		 struct krdma_sge *slice);
/* change its rights, its memory, or its domain (of the same context) */
int ual_mr_set_access(struct ual_mr *mr, uint32_t access);
int ual_mr_set_memory(struct ual_mr *mr, void *memory, size_t length);
int ual_mr_set_memory_at(struct ual_mr *mr, void *memory, size_t length, uint64_t iova);
int ual_mr_set_pd(struct ual_mr *mr, struct ual_pd *pd);

/* @type: 1 or 2 */
int ual_mw_create(struct ual_pd *pd, uint32_t type, struct ual_mw **mw);
void ual_mw_destroy(struct ual_mw *mw);
/* changes with each ual_bind() */
uint32_t ual_mw_stag(const struct ual_mw *mw);
/* the STag that the next ual_bind() gives it: the same with the next key */
uint32_t ual_mw_next_stag(const struct ual_mw *mw);

/* Completion queues ******************************************************** */

/** struct ual_cq_options - begins as UAL_CQ_OPTIONS */
struct ual_cq_options {
	size_t size;
	uint32_t depth;
	uint32_t event_handler;	/* completion event handler (vector) */
	uint32_t times;		/* 1: keep the time of each; -EOPNOTSUPP in a slow context */
	uint32_t reserved;	/* 0 */
};

/* depth 256, vector 0, no times */
#define UAL_CQ_OPTIONS { sizeof(struct ual_cq_options), 256, 0, 0, 0 }

int ual_cq_create(struct ual_context *context, const struct ual_cq_options *options,
		  struct ual_cq **cq);
void ual_cq_destroy(struct ual_cq *cq);
/* Return: completions taken, at most @room; or a negative errno. No system call if fast. */
int ual_cq_poll(struct ual_cq *cq, struct krdma_wc *entries, int room);
/* The same with the time of each; -EINVAL: the queue was created without times. */
int ual_cq_poll_times(struct ual_cq *cq, struct krdma_wc *entries, struct krdma_wc_time *times,
		      int room);
/**
 * ual_cq_arm() - request one event for the next completion
 * @solicited_only: for the next solicited completion or error
 * Return: 1: a completion may be there already, so poll before waiting; 0; or a negative errno.
 */
int ual_cq_arm(struct ual_cq *cq, int solicited_only);
/*
 * Take the next completion: poll, arm, wait. Return: 1; 0: time-out; -EIO: the queue has failed
 * and is empty; -ENODEV: the RNIC is gone.
 */
int ual_cq_wait(struct ual_cq *cq, struct krdma_wc *entry, int timeout_ms);
uint32_t ual_cq_depth(const struct ual_cq *cq);
int ual_cq_resize(struct ual_cq *cq, uint32_t depth);
/* event after @count completions or @period_us after the first; 0 and 0: at each completion */
int ual_cq_moderate(struct ual_cq *cq, uint16_t count, uint16_t period_us);

/* text of a completion's status: "success", "flushed" ... */
const char *ual_status_text(uint32_t status);

/*
 * vendor_err of a failed completion in words if it is the code of a Terminate, as the software
 * RNIC's; "" for 0, the number for a code without a name. @text as in ual_addr_format().
 */
size_t ual_terminate_text(uint32_t vendor_err, char *text, size_t room);

/* gets completions, or @count 0 and a negative errno when no more can come */
typedef void (*ual_completion_fn)(void *arg, const struct krdma_wc *entries, uint32_t count,
				  int error);
/**
 * ual_cq_callback() - set a callback that gets all completions, those that are there first
 * The library arms the queue and takes them until it is empty. The callback takes the place of
 * one for ual_cq_events() and runs as that does. NULL removes it.
 */
int ual_cq_callback(struct ual_cq *cq, ual_completion_fn fn, void *arg);
/* Return: 1: @immediate is filled in, in the host's byte order; 0: there is none. */
int ual_wc_immediate(const struct krdma_wc *entry, uint32_t *immediate);
/* Return: 1: @stag is the STag that the peer invalidated; 0: it invalidated none. */
int ual_wc_invalidated(const struct krdma_wc *entry, uint32_t *stag);

/* Shared receive queues **************************************************** */

/** struct ual_srq_options - begins as UAL_SRQ_OPTIONS */
struct ual_srq_options {
	size_t size;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;		/* event when fewer receives are left; 0: none */
};

/* 256 receives of one slice, no limit */
#define UAL_SRQ_OPTIONS { sizeof(struct ual_srq_options), 256, 1, 0 }

int ual_srq_create(struct ual_pd *pd, const struct ual_srq_options *options,
		   struct ual_srq **srq);
void ual_srq_destroy(struct ual_srq *srq);
int ual_srq_post(struct ual_srq *srq, uint64_t id, const struct krdma_sge *slices,
		 uint32_t count);
/* post requests in the form of the ABI, like ual_post_receive() */
uint32_t ual_post_srq(struct ual_srq *srq, const struct krdma_wr *requests, uint32_t count,
		      int *error);
int ual_srq_resize(struct ual_srq *srq, uint32_t max_wr);
/* the limit raises one event and then disarms itself */
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
	struct ual_srq *srq;	/* shared receive queue; NULL: a receive queue of its own */
};

/* 128 requests of one slice in each queue, no inline data, its own receive queue */
#define UAL_QP_OPTIONS { sizeof(struct ual_qp_options), 128, 128, 1, 1, 0, 0, NULL }

int ual_qp_create(struct ual_pd *pd, struct ual_cq *send, struct ual_cq *receive,
		  const struct ual_qp_options *options, struct ual_qp **qp);
void ual_qp_destroy(struct ual_qp *qp);
uint32_t ual_qp_number(const struct ual_qp *qp);
/* state, granted limits (which may exceed those asked for), connection and its traffic */
int ual_qp_query(struct ual_qp *qp, struct krdma_qp_attr *attr);
/*
 * @state: KRDMA_QP_STATE_RESET, _INIT, _RTS (like ual_qp_resume()), _SQD or _ERR; -EINVAL: any
 * other. After its connection has ended, a queue pair is in _ERR. RESET makes it like new, for
 * another connection, and discards its completions.
 */
int ual_qp_set_state(struct ual_qp *qp, uint32_t state);
/*
 * Make a connected queue pair rest until ual_qp_resume(). Requests that have begun are finished,
 * other requests wait, receiving continues. If @event, KRDMA_ASYNC_SQ_DRAINED says that the begun
 * requests are finished.
 */
int ual_qp_drain(struct ual_qp *qp, int event);
int ual_qp_resume(struct ual_qp *qp);
/* @access: KRDMA_ACCESS_REMOTE_*; a new queue pair has all of them */
int ual_qp_set_access(struct ual_qp *qp, uint32_t access);
/* end the connection: at once if @abrupt, else when all posted requests have left */
int ual_disconnect(struct ual_qp *qp, int abrupt);

/*
 * Work requests may be posted at any time. Before the queue pair is connected they wait; after
 * the end of the connection they are flushed.
 *
 * @id comes back with the completion. @flags are KRDMA_SEND_*. A request without
 * KRDMA_SEND_SIGNALED completes only if it fails. With KRDMA_SEND_INLINE the slices name memory of
 * this process, whatever their lkey, and the memory may be used again at once.
 *
 * -ENOMEM: the queue is full. A place becomes free when a request is done, before its completion
 * is polled. -EINVAL: the request is invalid.
 */

/** struct ual_remote - memory of the peer */
struct ual_remote {
	uint64_t address;
	uint32_t stag;
};

int ual_receive(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count);
int ual_send(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count,
	     uint32_t flags);
/* @immediate: in the host's byte order; krdma_wc.imm is in network order */
int ual_send_immediate(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices,
		       uint32_t count, uint32_t immediate, uint32_t flags);
int ual_send_invalidate(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices,
			uint32_t count, uint32_t stag, uint32_t flags);
int ual_write(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count,
	      struct ual_remote to, uint32_t flags);
/* consumes a receive of the peer, with the immediate data in its completion */
int ual_write_immediate(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices,
			uint32_t count, struct ual_remote to, uint32_t immediate,
			uint32_t flags);
int ual_read(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slices, uint32_t count,
	     struct ual_remote from, uint32_t flags);
/* the previous value is stored in the slice, which has 8 bytes */
int ual_fetch_add(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slice,
		  struct ual_remote at, uint64_t add, uint32_t flags);
int ual_compare_swap(struct ual_qp *qp, uint64_t id, const struct krdma_sge *slice,
		     struct ual_remote at, uint64_t compare, uint64_t swap, uint32_t flags);
/* @stag: of a type 2 window, or of a region without bound windows */
int ual_invalidate(struct ual_qp *qp, uint64_t id, uint32_t stag, uint32_t flags);
/*
 * Bind a window to a part of a region. ual_mw_stag() then returns another STag, which the peer may
 * use when the bind has completed. A bind completes only on a connected queue pair. The peer
 * addresses the first byte by @part's addr, or by 0 if @access has KRDMA_ACCESS_ZERO_BASED.
 * -EINVAL: an object is not of the queue pair's context.
 */
int ual_bind(struct ual_qp *qp, uint64_t id, struct ual_mw *mw, struct ual_mr *mr,
	     const struct krdma_sge *part, uint32_t access, uint32_t flags);

/* Post requests in the form of the ABI. Return: number posted; @error is that of the next one. */
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
	/* ual_connect(): -ETIMEDOUT after it at the latest; 0: the times of krdma.ko */
	uint32_t timeout_ms;
	uint32_t reserved;	/* 0 */
};

/* no private data, 8 Reads either way */
#define UAL_CONN_OPTIONS \
	{ sizeof(struct ual_conn_options), NULL, 0, 8, 8, -1, { 0, 0, 0, { 0 } }, 0, 0 }

/**
 * ual_connect() - begin to connect
 * ual_established() or the event KRDMA_EVENT_CONN_REPLY gives the result. Destroying the object
 * ends the connection.
 * Return: 0; -EINVAL: the queue pair has failed, or an option is invalid; -EISCONN: the queue
 * pair has a connection; -EADDRNOTAVAIL: the local address, or the one that the host chooses, is
 * not the RNIC's; -EADDRINUSE, -EACCES: the local port is in use or privileged; -ENETUNREACH,
 * -EHOSTUNREACH: no route to the peer.
 */
int ual_connect(struct ual_qp *qp, const struct krdma_addr *remote,
		const struct ual_conn_options *options, struct ual_connection **connection);
/**
 * ual_established() - wait until a connection is established
 * It takes the connection's event, unless there is a callback for it.
 * Return: 0; -ECONNREFUSED: the peer (with private data) or its host refused; -ETIMEDOUT:
 * @timeout_ms or a time limit of the kernel is over; -ECONNRESET: the peer went without an answer;
 * -EPROTO, -EPROTONOSUPPORT, -EOPNOTSUPP: the peer does not speak MPA, or no common form of it;
 * -ECONNABORTED: this side ended it; -ENODEV: the RNIC is gone. After the result was returned
 * once: 0, or the reason why the connection has ended since, -ECONNRESET for a graceful end.
 */
int ual_established(struct ual_connection *connection, int timeout_ms);
/* wait for the end. Return: 1: it has ended or was never established; 0: time-out. */
int ual_closed(struct ual_connection *connection, int timeout_ms);
/*
 * The reason of the end, or of the failed attempt: 0: graceful; -ECONNABORTED, -ECONNRESET ...;
 * -EINPROGRESS: no end was read yet.
 */
int ual_close_status(const struct ual_connection *connection);
/* complete when established; after a refusal it has the peer's private data */
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
 * ual_listen() - listen for connection requests
 * @local: an address of the RNIC, or the wildcard of a family, which stands for the RNIC's
 * addresses; port 0: the kernel chooses. Listeners of several RNICs may share a wildcard and port.
 * Return: 0; -EADDRNOTAVAIL: not an address of the RNIC; -EADDRINUSE: a socket, a listener or
 * another session's reservation has the port; -EACCES: the port is privileged; -EAFNOSUPPORT:
 * neither IPv4 nor IPv6.
 */
int ual_listen(struct ual_context *context, const struct krdma_addr *local,
	       const struct ual_listen_options *options, struct ual_listener **listener);
/* the address with the actual port */
void ual_listener_address(const struct ual_listener *listener, struct krdma_addr *address);
/* Wait for a request, to be destroyed by ual_request_destroy(). Return: 1, 0 or an errno. */
int ual_listener_wait(struct ual_listener *listener, struct ual_request **request,
		      int timeout_ms);
/* like ual_event_callback(); the callback owns the request and destroys it or passes it on */
typedef void (*ual_request_fn)(void *arg, struct ual_request *request);
int ual_listener_callback(struct ual_listener *listener, ual_request_fn fn, void *arg);
void ual_listener_destroy(struct ual_listener *listener);

/* addresses, the peer's wishes for RDMA Read depths, private data */
void ual_request_info(const struct ual_request *request, struct ual_conn_info *info);
/**
 * ual_accept() - begin to accept a request, once
 * ual_established() says when the connection is established.
 * Return: 0. After these errors the request may be answered again: -EINVAL: the queue pair has
 * failed or is of another RNIC or session, or an option is invalid; -EISCONN: the queue pair has a
 * connection; -ENOMEM. After any other error the request is over: -ECONNRESET, -ENOTCONN: the peer
 * has gone; -ECONNABORTED: the queue pair failed.
 */
int ual_accept(struct ual_request *request, struct ual_qp *qp,
	       const struct ual_conn_options *options, struct ual_connection **connection);
int ual_reject(struct ual_request *request, const void *private_data, uint32_t length);
/* refuses the request if it was neither accepted nor rejected */
void ual_request_destroy(struct ual_request *request);

/* Network stack ************************************************************ */

/* Return: number of local addresses that reach @to, of which @entries takes @room, best first. */
int ual_local_addresses(struct ual_session *session, const struct krdma_addr *to,
			struct krdma_net_local *entries, uint32_t room);
/* @route: in: dst, and src and ifindex or 0; out: all members. -ENETUNREACH ... */
int ual_route(struct ual_session *session, struct krdma_net_route *route);

/**
 * ual_neighbour_get() - get the link address of a next hop
 * @flags: 0: return the present state; KRDMA_NEIGH_ASK: an event has the answer;
 *	KRDMA_NEIGH_WATCH: an event comes at each change, too
 * @info: the present state
 * @neighbour: set to NULL if no event will follow; may be NULL if @flags is 0
 */
int ual_neighbour_get(struct ual_session *session, const struct krdma_addr *addr, uint32_t ifindex,
		      uint32_t flags, struct ual_neigh_info *info, struct ual_neighbour **neighbour);
void ual_neighbour_destroy(struct ual_neighbour *neighbour);

/**
 * ual_port_reserve() - reserve a TCP port for listening and connecting by this session alone
 * @addr: port 0: any; address 0: the addresses of all RNICs. Out: the reserved address and port.
 * Return: 0; -EADDRINUSE: a socket, a listener or a reservation has the port; -EACCES: the port is
 * privileged.
 */
int ual_port_reserve(struct ual_session *session, struct krdma_addr *addr,
		     struct ual_port **port);
void ual_port_destroy(struct ual_port *port);

/* choose events of the namespace (KRDMA_NET_*), which come to ual_session_events() */
int ual_subscribe(struct ual_session *session, uint32_t mask);

#ifdef __cplusplus
}
#endif

#endif /* KRDMA_UAL_H */
