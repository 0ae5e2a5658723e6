/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The conformance test of kDAPL: a consumer that knows no other interface than krdma/kdat.h. The
 * RNIC talks to itself. For the files:
 *
 * - kdatc_main.c: the checks one after another, the table of known faults
 * - kdatc_bed.c: what the checks share: sides of connections, memory, events
 * - kdatc_ia.c: checks of the registry, of interface adapters and of handles
 * - kdatc_args.c: wrong arguments of functions that create objects
 * - kdatc_calls.c: wrong handles and arguments of the others
 * - kdatc_evd.c: checks of event dispatchers and of upcalls
 * - kdatc_ep.c: checks of the states of endpoints
 * - kdatc_conn.c: checks of connections and service points
 * - kdatc_dto.c: checks of data transfers
 * - kdatc_memory.c: checks of LMRs and RMRs
 * - kdatc_srq.c: checks of shared receive queues and of the InfiniBand extension
 * - kdatc_ssp.c: checks of socket service points
 * - kdatc_context.c: calls from softirqs, timers, upcalls and with a spinlock held
 * - kdatc_removal.c: the RNIC is removed while there are objects of all kinds
 */
#ifndef KDATC_H
#define KDATC_H

#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>

#include <krdma/kdat.h>

/* requests and receives of an endpoint, if a check says nothing else */
#define KDATC_QUEUE	16
#define KDATC_EVENTS	64	/* events of an EVD */
#define KDATC_READS	4	/* reads at once, in each direction */
#define KDATC_SIZE	65536	/* bytes of a side's memory */
#define KDATC_TIMEOUT	10000000	/* microseconds that a connection may take */
#define KDATC_ALL	DAT_MEM_PRIV_ALL_FLAG
#define KDATC_LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/**
 * struct kdatc_check - a check
 * @name: unique
 * @run: the check; the runner frees what is in the bed afterwards
 * @ib: it uses the IA that has the InfiniBand extension
 */
struct kdatc_check {
	const char *name;
	void (*run)(void);
	bool ib;
};

/* each ends with an empty entry */
extern const struct kdatc_check kdatc_ia_checks[];
extern const struct kdatc_check kdatc_args_checks[];
extern const struct kdatc_check kdatc_calls_checks[];
extern const struct kdatc_check kdatc_evd_checks[];
extern const struct kdatc_check kdatc_ep_checks[];
extern const struct kdatc_check kdatc_conn_checks[];
extern const struct kdatc_check kdatc_dto_checks[];
extern const struct kdatc_check kdatc_memory_checks[];
extern const struct kdatc_check kdatc_srq_checks[];
extern const struct kdatc_check kdatc_ssp_checks[];
extern const struct kdatc_check kdatc_context_checks[];

/* Return: 0, or -EIO if an expectation was not met. */
int kdatc_removal(unsigned int kind);

/**
 * struct kdatc - the run
 * @name: of the IA
 * @ib_name: of the IA of the same RNIC that has the InfiniBand extension
 * @remote: address that clients connect to, with the port
 * @port: that service points listen on; the next ones are free, too
 * @patience: jiffies that an event may take
 * @attr: attributes of the IA
 * @provider: attributes of the provider
 * @missing: the check found that the RNIC does not have what it is about
 * @failed: expectations that were not met
 * @where: the first of them
 * @last: the last event that was waited for, and a status if it was a completion
 */
struct kdatc {
	char name[DAT_NAME_MAX_LENGTH];
	char ib_name[DAT_NAME_MAX_LENGTH];
	struct sockaddr_storage remote;
	u16 port;
	unsigned long patience;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
	bool missing;
	unsigned int failed;
	char where[240];
	struct {
		u32 number;
		u32 status;
	} last;
};

extern struct kdatc kdatc;

/* iWARP: a peer's error ends the connection, a Write completes before the data is placed */
static inline bool kdatc_iwarp(void)
{
	return kdatc.provider.rdma_write_for_rdma_read_req == DAT_TRUE;
}

#define KDATC_ERROR(type, subtype)	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))
#define KDATC_EMPTY			KDATC_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE)

bool kdatc_expect(bool met, const char *file, int line, const char *what);
bool kdatc_answers(DAT_RETURN ret, DAT_RETURN wanted, DAT_RETURN mask, const char *file, int line,
		   const char *what);

/* Is @cond true? The first expectation that is not met is the check's verdict. Any context. */
#define KDATC_EXPECT(cond)	kdatc_expect(!!(cond), __FILE__, __LINE__, #cond)
#define KDATC_OK(call)		kdatc_answers(call, DAT_SUCCESS, ~0U, __FILE__, __LINE__, #call)
/* The call answers this error, with this subtype. */
#define KDATC_REFUSED(call, type, subtype)						\
	kdatc_answers(call, KDATC_ERROR(type, subtype), ~0U, __FILE__, __LINE__, #call)
/* The call answers an error of this type. */
#define KDATC_TYPE(call, type)								\
	kdatc_answers(call, KDATC_ERROR(type, 0), ~(DAT_RETURN)DAT_SUBTYPE_MASK,		\
		      __FILE__, __LINE__, #call)

/* The RNIC does not have it: it must say so by its attributes (@absent) and by the call. */
#define KDATC_MISSING(absent, call) do {						\
	if (KDATC_EXPECT(absent) && KDATC_TYPE(call, DAT_MODEL_NOT_SUPPORTED))		\
		kdatc.missing = true;							\
} while (0)

/**
 * struct kdatc_mem - memory with an LMR
 * @va: address
 * @size: bytes
 * @base: DAT address of the first byte
 * @lmr: LMR, or NULL
 * @lmr_context: for local use
 * @rmr_context: for the peer
 */
struct kdatc_mem {
	u8 *va;
	size_t size;
	DAT_VADDR base;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/**
 * struct kdatc_side - one side of a connection
 * @pz: protection zone
 * @recv: completions of receives
 * @request: completions of requests
 * @conn: connection events
 * @srq: shared receive queue, or NULL
 * @ep: endpoint
 * @mem: memory
 */
struct kdatc_side {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv;
	DAT_EVD_HANDLE request;
	DAT_EVD_HANDLE conn;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	struct kdatc_mem mem;
};

/**
 * struct kdatc_opts - what a side is to have; 0 stands for the usual
 * @requests: size of the request queue
 * @srq: receives of a shared receive queue, 0: none
 * @request_flags: DAT_COMPLETION_FLAGS of the endpoint
 * @recv_flags: of the endpoint
 * @priv: rights of the memory
 * @va_type: of the memory
 * @recv_upcall: of the EVD of receives
 * @request_upcall: of the EVD of requests
 * @no_ep: all but the endpoint
 */
struct kdatc_opts {
	DAT_COUNT requests;
	DAT_COUNT srq;
	DAT_COMPLETION_FLAGS request_flags;
	DAT_COMPLETION_FLAGS recv_flags;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va_type;
	const DAT_UPCALL_OBJECT *recv_upcall;
	const DAT_UPCALL_OBJECT *request_upcall;
	bool no_ep;
};

/**
 * struct kdatc_bed - what a check works with
 * @ia: interface adapter
 * @async: its EVD of asynchronous events
 * @request: EVD of connection requests
 * @psp: service point of IAs whose address has the family of the parameter's
 * @csp: of the others
 * @client: connecting sides
 * @server: accepting sides
 *
 * Zeroed before each check, but for the first two. The runner frees what a check left in it, and
 * closes the IA gracefully: nothing else may be left.
 */
struct kdatc_bed {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_EVD_HANDLE request;
	DAT_PSP_HANDLE psp;
	DAT_CSP_HANDLE csp;
	struct kdatc_side client[2];
	struct kdatc_side server[2];
};

extern struct kdatc_bed kdatc_bed;

bool kdatc_bed_init(const char *name);
void kdatc_bed_close(void);
/* Forget all handles: the IA was closed, or will be closed abruptly. */
void kdatc_bed_forget(void);

/* objects */
DAT_EVD_HANDLE kdatc_evd(DAT_EVD_FLAGS flags);
DAT_EVD_HANDLE kdatc_upcall_evd(DAT_COUNT qlen, DAT_EVD_FLAGS flags, DAT_UPCALL_POLICY policy,
				DAT_UPCALL_FUNC func, void *data);
DAT_EP_ATTR kdatc_ep_attr(const struct kdatc_opts *opts);
bool kdatc_ep_open(struct kdatc_side *side, const struct kdatc_opts *opts);
bool kdatc_side_open(struct kdatc_side *side, const struct kdatc_opts *opts);
void kdatc_side_close(struct kdatc_side *side);
DAT_EP_STATE kdatc_state(DAT_EP_HANDLE ep);
bool kdatc_becomes(DAT_EP_HANDLE ep, DAT_EP_STATE state);

/* memory */
bool kdatc_mem_open(struct kdatc_mem *mem, size_t size);
bool kdatc_mem_register(struct kdatc_mem *mem, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			DAT_VA_TYPE va_type);
void kdatc_mem_close(struct kdatc_mem *mem);
void kdatc_fill(struct kdatc_mem *mem, u8 seed);
bool kdatc_is(const struct kdatc_mem *mem, size_t from, size_t len, u8 seed, size_t at);
DAT_LMR_TRIPLET kdatc_near(const struct kdatc_mem *mem, size_t at, u32 len);
DAT_RMR_TRIPLET kdatc_far(const struct kdatc_mem *mem, size_t at, u32 len);

/* connections */
bool kdatc_listen(void);
DAT_RETURN kdatc_connect(DAT_EP_HANDLE ep, const void *data, DAT_COUNT len);
bool kdatc_request(DAT_CR_ARRIVAL_EVENT_DATA *arrival);
DAT_CR_HANDLE kdatc_cr(void);
bool kdatc_established(struct kdatc_side *client, struct kdatc_side *server);
bool kdatc_sides_connect(struct kdatc_side *client, struct kdatc_side *server);
bool kdatc_pair_open(unsigned int i, const struct kdatc_opts *client,
		     const struct kdatc_opts *server);
bool kdatc_ends(struct kdatc_side *side, DAT_EVENT_NUMBER *number);
bool kdatc_disconnect(struct kdatc_side *side, struct kdatc_side *peer, DAT_CLOSE_FLAGS how);

/* events */
DAT_RETURN kdatc_next(DAT_EVD_HANDLE evd, DAT_EVENT *event);
bool kdatc_hears(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event);
bool kdatc_silent(DAT_EVD_HANDLE evd);
int kdatc_status(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, u64 cookie, DAT_DTOS op, DAT_EVENT *event);
bool kdatc_done(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, u64 cookie, DAT_DTOS op, u32 len);

/* transfers of one segment */
static inline DAT_CONTEXT kdatc_cookie(u64 number)
{
	return (DAT_CONTEXT){ .as_64 = number };
}

DAT_RETURN kdatc_send(struct kdatc_side *side, u64 cookie, size_t at, u32 len, int flags);
DAT_RETURN kdatc_recv(struct kdatc_side *side, u64 cookie, size_t at, u32 len);
DAT_RETURN kdatc_write(struct kdatc_side *side, u64 cookie, size_t at, u32 len,
		       const DAT_RMR_TRIPLET *to, int flags);
DAT_RETURN kdatc_read(struct kdatc_side *side, u64 cookie, size_t at, u32 len,
		      const DAT_RMR_TRIPLET *from, int flags);
bool kdatc_sync(struct kdatc_side *from, struct kdatc_side *to);
bool kdatc_transfer(struct kdatc_side *from, struct kdatc_side *to, u32 len, u8 seed);

#endif /* KDATC_H */
