/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL 2.0: the Direct Access Transport API (DAT) for kernel consumers, and for providers.
 *
 * A consumer opens an interface adapter (IA) by its name and creates objects under it. Each object
 * is a handle. Completions and connection events arrive at event dispatchers (EVDs), which call the
 * consumer up or are dequeued by it. The names, values, orders and signatures are those of DAT 2.0.
 *
 * CONTEXTS
 *
 * "Sleeps": process context, no spinlock held; the function may sleep.
 * "Atomic": any context but hard interrupt and NMI, with softirqs on or off, also from an upcall
 * and under a consumer's spinlock.
 *
 *	function				context
 *	--------------------------------------	-------------------------------------------------
 *	dat_registry_*				Sleeps
 *	dat_ia_openv, dat_ia_open, _open_net,	Sleeps
 *	dat_ia_open_to
 *	dat_ia_close				Sleeps; not from an upcall of that IA
 *	dat_ia_query				Atomic
 *	dat_ia_memtype_hint			Atomic
 *	dat_ia_reserved_lmr			Sleeps
 *	dat_ia_ha_related			Sleeps
 *	dat_set_consumer_context		Atomic
 *	dat_get_consumer_context		Atomic
 *	dat_get_handle_type			Atomic
 *	dat_strerror				Atomic, hard interrupt too
 *	dat_pz_create, dat_pz_free		Sleeps
 *	dat_pz_query				Atomic
 *	dat_evd_kcreate				Sleeps
 *	dat_evd_free				Sleeps; not from an upcall of that EVD
 *	dat_evd_resize				Sleeps
 *	dat_evd_modify_upcall			Sleeps; DAT_UPCALL_TEARDOWN not from an upcall of
 *						that EVD
 *	dat_evd_query				Atomic
 *	dat_evd_post_se, dat_evd_dequeue	Atomic
 *	dat_lmr_kcreate, dat_lmr_allocate	Sleeps
 *	dat_lmr_free				Sleeps
 *	dat_lmr_query				Atomic
 *	dat_lmr_fmr, dat_lmr_invalidate		Atomic
 *	dat_lmr_sync_rdma_read, _write		Atomic
 *	dat_rmr_create, dat_rmr_create_for_ep	Sleeps
 *	dat_rmr_free				Sleeps
 *	dat_rmr_query, dat_rmr_bind		Atomic
 *	dat_ep_create, dat_ep_create_with_srq	Sleeps
 *	dat_ep_modify, dat_ep_reset		Sleeps
 *	dat_ep_free				Sleeps
 *	dat_ep_connect, dat_ep_common_connect	Sleeps
 *	dat_ep_set_source, dat_ep_set_traffic	Sleeps
 *	dat_ep_set_pushed			Sleeps
 *	dat_ep_push				Sleeps with DAT_TRUE, else Atomic
 *	dat_ep_dup_connect, dat_ep_disconnect	Sleeps
 *	dat_ep_query, dat_ep_get_status		Atomic
 *	dat_ep_recv_query			Atomic
 *	dat_ep_set_watermark			Sleeps
 *	dat_ep_post_*				Atomic
 *	dat_srq_create, dat_srq_resize		Sleeps
 *	dat_srq_set_lw, dat_srq_free		Sleeps
 *	dat_srq_query, dat_srq_post_recv	Atomic
 *	dat_psp_create, dat_psp_create_any	Sleeps
 *	dat_rsp_create, dat_csp_create		Sleeps
 *	dat_psp_free, dat_rsp_free, _csp_free	Sleeps
 *	dat_psp_query, dat_rsp_query, _csp_query Atomic
 *	dat_cr_query				Atomic
 *	dat_cr_accept, dat_cr_reject		Sleeps
 *	dat_cr_handoff				Sleeps
 *	dat_ib_post_*				Atomic
 *	dat_iw_ssp_create, dat_iw_ssp_free	Sleeps
 *	dat_iw_ssp_query			Atomic
 *	dat_iw_socket_connect			Sleeps
 *	dat_extension_op			that of the operation
 *
 * Upcalls
 *
 * An EVD that takes DTO completions or RMR bind completions (DAT_EVD_DTO_FLAG,
 * DAT_EVD_RMR_BIND_FLAG) calls up in softirq context: the upcall calls Atomic functions only.
 * Every other EVD (connection requests, connection events, asynchronous errors, software events)
 * calls up in process context: there the upcall may also call the functions that sleep, except
 * dat_evd_free() and DAT_UPCALL_TEARDOWN for its own EVD, and dat_ia_close() of its own IA, which
 * wait for the upcall's end. No lock of the provider is held in an upcall.
 *
 * Errors
 *
 * Every function answers DAT_SUCCESS, or DAT_CLASS_ERROR with a type and a subtype. Each may answer
 * DAT_INVALID_HANDLE for a handle that is NULL or of another type, and DAT_NOT_IMPLEMENTED if the
 * provider lacks the function. DAT_INVALID_ARGn names a wrong argument, the first one is 1. The
 * lists below name what else matters. An OUT argument that a function names optional may be NULL.
 *
 * Where the reference's headers contradict themselves, this one decides: each attribute of
 * DAT_IA_ATTR_MASK has a bit of its own, OUT contexts are pointers, va_type comes before
 * mem_optimization.
 */
#ifndef KRDMA_KDAT_H
#define KRDMA_KDAT_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <linux/socket.h>
#include <linux/stdarg.h>
#include <asm/byteorder.h>

struct net;
struct sockaddr_storage;
struct socket;

#define DAT_VERSION_MAJOR	2
#define DAT_VERSION_MINOR	0

/* what dat_ia_open() asks for; a thread-safe provider serves DAT_FALSE, too */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_TRUE
#endif

/* extensions are part of this header */
#ifndef DAT_EXTENSIONS
#define DAT_EXTENSIONS		1
#endif
#define DAT_IB_EXTENSION	1
#define DAT_IW_EXTENSION	2

/* Base types */

typedef u32 DAT_UINT32;
typedef u64 DAT_UINT64;
typedef unsigned long DAT_UVERYLONG;
typedef void *DAT_PVOID;
typedef int DAT_COUNT;
typedef u64 DAT_PADDR;			/* physical address, as phys_addr_t */
typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;	/* AF_INET or AF_INET6, of that family's size */

#define DAT_AF_INET		AF_INET
#define DAT_AF_INET6		AF_INET6

/* best alignment of buffers in bytes, for data that the compiler places */
#define DAT_OPTIMAL_ALIGNMENT	256

/* arguments of socket(2) */
typedef struct dat_comm {
	int domain;
	int type;
	int protocol;
} DAT_COMM;

typedef char *DAT_NAME_PTR;
#define DAT_NAME_MAX_LENGTH	256	/* bytes, the terminating zero included */

typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

typedef enum dat_boolean {
	DAT_FALSE	= 0,
	DAT_TRUE	= 1,
} DAT_BOOLEAN;

typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;
typedef DAT_CONTEXT DAT_LMR_COOKIE;

typedef DAT_UINT32 DAT_TIMEOUT;		/* microseconds */
#define DAT_TIMEOUT_INFINITE	((DAT_TIMEOUT)~0)

/* the first word of the object behind each handle points to its provider's table */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;
typedef DAT_HANDLE DAT_CSP_HANDLE;

#define DAT_HANDLE_NULL		((DAT_HANDLE)NULL)

#define DAT_IA_HANDLE_TO_UL(a)	((unsigned long)(a))
#define DAT_UL_TO_IA_HANDLE(a)	((DAT_IA_HANDLE)(a))

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR,
	DAT_HANDLE_TYPE_EP,
	DAT_HANDLE_TYPE_EVD,
	DAT_HANDLE_TYPE_IA,
	DAT_HANDLE_TYPE_LMR,
	DAT_HANDLE_TYPE_PSP,
	DAT_HANDLE_TYPE_PZ,
	DAT_HANDLE_TYPE_RMR,
	DAT_HANDLE_TYPE_RSP,
	DAT_HANDLE_TYPE_SRQ,
	DAT_HANDLE_TYPE_CSP,
	DAT_HANDLE_TYPE_EXTENSION_BASE,
} DAT_HANDLE_TYPE;

typedef DAT_UINT64 DAT_CONN_QUAL;	/* a TCP port for iWARP */
typedef DAT_UINT64 DAT_PORT_QUAL;

/*
 * Return codes: class in bits 31 and 30, type in bits 29 to 16, subtype in bits 15 to 0
 */

typedef DAT_UINT32 DAT_RETURN;

#define DAT_CLASS_ERROR		0x80000000
#define DAT_CLASS_WARNING	0x40000000
#define DAT_CLASS_SUCCESS	0x00000000
#define DAT_TYPE_MASK		0x3fff0000
#define DAT_SUBTYPE_MASK	0x0000ffff

#define DAT_IS_WARNING(status)	((DAT_UINT32)(status) & DAT_CLASS_WARNING)
#define DAT_GET_TYPE(status)	((DAT_UINT32)(status) & DAT_TYPE_MASK)
#define DAT_GET_SUBTYPE(status)	((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)
#define DAT_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))

typedef enum dat_return_type {
	DAT_SUCCESS			= 0x00000000,
	DAT_ABORT			= 0x00010000,
	DAT_CONN_QUAL_IN_USE		= 0x00020000,
	DAT_INSUFFICIENT_RESOURCES	= 0x00030000,
	DAT_INTERNAL_ERROR		= 0x00040000,
	DAT_INVALID_HANDLE		= 0x00050000,
	DAT_INVALID_PARAMETER		= 0x00060000,
	DAT_INVALID_STATE		= 0x00070000,
	DAT_LENGTH_ERROR		= 0x00080000,
	DAT_MODEL_NOT_SUPPORTED		= 0x00090000,
	DAT_PROVIDER_NOT_FOUND		= 0x000A0000,
	DAT_PRIVILEGES_VIOLATION	= 0x000B0000,
	DAT_PROTECTION_VIOLATION	= 0x000C0000,
	DAT_QUEUE_EMPTY			= 0x000D0000,
	DAT_QUEUE_FULL			= 0x000E0000,
	DAT_TIMEOUT_EXPIRED		= 0x000F0000,	/* user space only */
	DAT_PROVIDER_ALREADY_REGISTERED	= 0x00100000,
	DAT_PROVIDER_IN_USE		= 0x00110000,
	DAT_INVALID_ADDRESS		= 0x00120000,
	DAT_INTERRUPTED_CALL		= 0x00130000,	/* user space only */
	DAT_CONN_QUAL_UNAVAILABLE	= 0x00140000,
	DAT_RESERVED_LMR		= 0x00150000,	/* kernel only */
	DAT_PORT_IN_USE			= 0x00160000,
	DAT_COMM_NOT_SUPPORTED		= 0x00170000,
	DAT_EXTENSION_BASE		= 0x10000000,	/* to 0x3ffe0000 */
	DAT_NOT_IMPLEMENTED		= 0x3FFF0000,
} DAT_RETURN_TYPE;

/* of DAT 1.0 */
#define DAT_NAME_NOT_FOUND	DAT_PROVIDER_NOT_FOUND

typedef enum dat_return_subtype {
	DAT_NO_SUBTYPE,

	/* DAT_ABORT */
	DAT_SUB_INTERRUPTED,

	/* DAT_INSUFFICIENT_RESOURCES */
	DAT_RESOURCE_MEMORY,
	DAT_RESOURCE_DEVICE,
	DAT_RESOURCE_TEP,		/* transport endpoint: QP */
	DAT_RESOURCE_TEVD,		/* transport EVD: CQ */
	DAT_RESOURCE_PROTECTION_DOMAIN,
	DAT_RESOURCE_MEMORY_REGION,	/* of LMRs and RMRs */
	DAT_RESOURCE_ERROR_HANDLER,
	DAT_RESOURCE_CREDITS,		/* RDMA Reads at a time, say */
	DAT_RESOURCE_SRQ,

	/* DAT_INVALID_HANDLE */
	DAT_INVALID_HANDLE_IA,
	DAT_INVALID_HANDLE_EP,
	DAT_INVALID_HANDLE_LMR,
	DAT_INVALID_HANDLE_RMR,
	DAT_INVALID_HANDLE_PZ,
	DAT_INVALID_HANDLE_PSP,
	DAT_INVALID_HANDLE_RSP,
	DAT_INVALID_HANDLE_CR,
	DAT_INVALID_HANDLE_CNO,
	DAT_INVALID_HANDLE_EVD_CR,
	DAT_INVALID_HANDLE_EVD_REQUEST,
	DAT_INVALID_HANDLE_EVD_RECV,
	DAT_INVALID_HANDLE_EVD_CONN,
	DAT_INVALID_HANDLE_EVD_ASYNC,
	DAT_INVALID_HANDLE_SRQ,
	DAT_INVALID_HANDLE_CSP,
	DAT_INVALID_HANDLE1,
	DAT_INVALID_HANDLE2,
	DAT_INVALID_HANDLE3,
	DAT_INVALID_HANDLE4,
	DAT_INVALID_HANDLE5,
	DAT_INVALID_HANDLE6,
	DAT_INVALID_HANDLE7,
	DAT_INVALID_HANDLE8,
	DAT_INVALID_HANDLE9,
	DAT_INVALID_HANDLE10,

	/* DAT_INVALID_PARAMETER */
	DAT_INVALID_ARG1,
	DAT_INVALID_ARG2,
	DAT_INVALID_ARG3,
	DAT_INVALID_ARG4,
	DAT_INVALID_ARG5,
	DAT_INVALID_ARG6,
	DAT_INVALID_ARG7,
	DAT_INVALID_ARG8,
	DAT_INVALID_ARG9,
	DAT_INVALID_ARG10,

	/* DAT_INVALID_STATE */
	DAT_INVALID_STATE_EP_UNCONNECTED,
	DAT_INVALID_STATE_EP_ACTCONNPENDING,
	DAT_INVALID_STATE_EP_PASSCONNPENDING,
	DAT_INVALID_STATE_EP_TENTCONNPENDING,
	DAT_INVALID_STATE_EP_CONNECTED,
	DAT_INVALID_STATE_EP_DISCONNECTED,
	DAT_INVALID_STATE_EP_RESERVED,
	DAT_INVALID_STATE_EP_COMPLPENDING,
	DAT_INVALID_STATE_EP_DISCPENDING,
	DAT_INVALID_STATE_EP_PROVIDERCONTROL,
	DAT_INVALID_STATE_EP_NOTREADY,
	DAT_INVALID_STATE_EP_RECV_WATERMARK,
	DAT_INVALID_STATE_EP_PZ,
	DAT_INVALID_STATE_EP_EVD_REQUEST,
	DAT_INVALID_STATE_EP_EVD_RECV,
	DAT_INVALID_STATE_EP_EVD_CONNECT,
	DAT_INVALID_STATE_EP_UNCONFIGURED,
	DAT_INVALID_STATE_EP_UNCONFRESERVED,
	DAT_INVALID_STATE_EP_UNCONFPASSIVE,
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
	DAT_INVALID_STATE_CNO_IN_USE,
	DAT_INVALID_STATE_CNO_DEAD,
	DAT_INVALID_STATE_EVD_OPEN,
	DAT_INVALID_STATE_EVD_ENABLED,
	DAT_INVALID_STATE_EVD_DISABLED,
	DAT_INVALID_STATE_EVD_WAITABLE,
	DAT_INVALID_STATE_EVD_UNWAITABLE,
	DAT_INVALID_STATE_EVD_IN_USE,
	DAT_INVALID_STATE_EVD_CONFIG_NOTIFY,
	DAT_INVALID_STATE_EVD_CONFIG_SOLICITED,
	DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD,
	DAT_INVALID_STATE_EVD_WAITER,
	DAT_INVALID_STATE_EVD_ASYNC,	/* needs an asynchronous EVD */
	DAT_INVALID_STATE_IA_IN_USE,
	DAT_INVALID_STATE_LMR_IN_USE,
	DAT_INVALID_STATE_LMR_FREE,
	DAT_INVALID_STATE_PZ_IN_USE,
	DAT_INVALID_STATE_PZ_FREE,
	DAT_INVALID_STATE_SRQ_OPERATIONAL,
	DAT_INVALID_STATE_SRQ_ERROR,
	DAT_INVALID_STATE_SRQ_IN_USE,
	DAT_INVALID_STATE_SRQ_SHUTDOWN,

	/* DAT_PRIVILEGES_VIOLATION */
	DAT_PRIVILEGES_READ,
	DAT_PRIVILEGES_WRITE,
	DAT_PRIVILEGES_RDMA_READ,
	DAT_PRIVILEGES_RDMA_WRITE,

	/* DAT_PROTECTION_VIOLATION */
	DAT_PROTECTION_READ,
	DAT_PROTECTION_WRITE,
	DAT_PROTECTION_RDMA_READ,
	DAT_PROTECTION_RDMA_WRITE,

	/* DAT_INVALID_ADDRESS */
	DAT_INVALID_ADDRESS_UNSUPPORTED,	/* multicast, broadcast */
	DAT_INVALID_ADDRESS_UNREACHABLE,
	DAT_INVALID_ADDRESS_MALFORMED,

	/* DAT_PROVIDER_NOT_FOUND */
	DAT_NAME_NOT_REGISTERED,
	DAT_MAJOR_NOT_FOUND,
	DAT_MINOR_NOT_FOUND,
	DAT_THREAD_SAFETY_NOT_FOUND,
} DAT_RETURN_SUBTYPE;

/* Flags of functions */

typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG		= 0x00,
	/* no completion event if it succeeds */
	DAT_COMPLETION_SUPPRESS_FLAG		= 0x01,
	/* the peer's receive completion notifies */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG	= 0x02,
	/* the completion event does not notify */
	DAT_COMPLETION_UNSIGNALLED_FLAG		= 0x04,
	/* starts when all earlier RDMA Reads have completed */
	DAT_COMPLETION_BARRIER_FENCE_FLAG	= 0x08,
	/* user space only */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG	= 0x10,
	/* dat_lmr_invalidate() starts when all earlier DTOs have completed */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20,
} DAT_COMPLETION_FLAGS;

typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT	= 0x00,
	DAT_QOS_HIGH_THROUGHPUT	= 0x01,
	DAT_QOS_LOW_LATENCY	= 0x02,
	DAT_QOS_ECONOMY		= 0x04,
	DAT_QOS_PREMIUM		= 0x08,
} DAT_QOS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG		= 0x00,
	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG	= 0x01,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG	= 0x02,
} DAT_CONNECT_FLAGS;

/* of DAT 1.x */
#define DAT_CONNECT_MULTIPATH_FLAG	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG

typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG	= 0x00,
	DAT_CLOSE_GRACEFUL_FLAG	= 0x01,
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT	DAT_CLOSE_ABRUPT_FLAG

/* streams of events that feed an EVD */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG	= 0x001,
	DAT_EVD_CR_FLAG		= 0x010,
	DAT_EVD_DTO_FLAG	= 0x020,
	DAT_EVD_CONNECTION_FLAG	= 0x040,
	DAT_EVD_RMR_BIND_FLAG	= 0x080,
	DAT_EVD_ASYNC_FLAG	= 0x100,
	DAT_EVD_DEFAULT_FLAG	= 0x1F0,	/* all but software events */
	DAT_EVD_EXTENSION_BASE	= 0x200,
} DAT_EVD_FLAGS;

typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG	= 0x00,		/* the consumer creates the EP of a request */
	DAT_PSP_PROVIDER_FLAG	= 0x01,		/* the provider does */
} DAT_PSP_FLAGS;

typedef enum dat_dtos {
	DAT_DTO_SEND,
	DAT_DTO_RDMA_WRITE,
	DAT_DTO_RDMA_READ,
	DAT_DTO_RECEIVE,
	DAT_DTO_RECEIVE_WITH_INVALIDATE,
	DAT_DTO_BIND_MW,
	DAT_DTO_LMR_FMR,
	DAT_DTO_LMR_INVALIDATE,
	DAT_DTO_EXTENSION_BASE,
} DAT_DTOS;

/* High availability */

typedef DAT_UINT32 DAT_HA_LB;
#define DAT_HA_LB_NONE		((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM	((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM	((DAT_HA_LB)2)

typedef enum dat_ha_relationship {
	DAT_HA_FALSE,
	DAT_HA_TRUE,
	DAT_HA_UNKNOWN,
	DAT_HA_CONFLICTING,		/* the two IAs answer differently */
	DAT_HA_EXTENSION_BASE,
} DAT_HA_RELATIONSHIP;

/* Memory: LMRs and RMRs. Contexts are iWARP STags; addresses and lengths are in bytes. */

typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;
typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT64 DAT_VADDR;
typedef DAT_UINT32 DAT_SEG_LENGTH;

/* the other members have no meaning if segment_length is 0 */
typedef struct dat_lmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_LMR_CONTEXT lmr_context;
} DAT_LMR_TRIPLET;

typedef struct dat_rmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_TRIPLET;

typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
	DAT_MEM_PRIV_EXTENSION_BASE	= 0x40,
} DAT_MEM_PRIV_FLAGS;

/* of DAT 1.0 */
#define DAT_MEM_PRIV_READ_FLAG	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

typedef enum dat_va_type {
	DAT_VA_TYPE_VA	= 0x0,		/* the region begins at its virtual address */
	DAT_VA_TYPE_ZB	= 0x1,		/* it begins at 0; see dat_lmr_fmr() for scatterlists */
} DAT_VA_TYPE;

/* what a region is made of; one value for each region, the union of them as an attribute */
typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0x00,		/* for_va: kernel virtual address */
	DAT_MEM_TYPE_LMR		= 0x01,		/* for_lmr_handle: the same memory again */
	DAT_MEM_TYPE_PHYSICAL		= 0x10,		/* for_physical: pages of PAGE_SIZE */
	DAT_MEM_TYPE_PLATFORM		= 0x20,		/* for_platform: struct sg_table */
	DAT_MEM_TYPE_IA			= 0x40,		/* for_ia: address as the IA sees it */
	DAT_MEM_TYPE_BYPASS		= 0x80,		/* for_platform */
	DAT_MEM_TYPE_PHYSICAL_VAR_PAGES	= 0x100,	/* for_array: pages of page_size bytes */
} DAT_MEM_TYPE;

typedef enum dat_mem_optimize_flags {
	DAT_MEM_OPTIMIZE_DONT_CARE	= 0x00,
	DAT_MEM_OPTIMIZE_IA		= 0x01,		/* least work for the IA */
	DAT_MEM_OPTIMIZE_MIN_EXPOSURE	= 0x02,		/* little more than asked for */
	DAT_MEM_OPTIMIZE_EXACT_EXPOSURE	= 0x04,		/* no more than asked for */
} DAT_MEM_OPTIMIZE_FLAGS;

#define DAT_MEM_OPT		DAT_MEM_OPTIMIZE_FLAGS

typedef struct dat_physical_var_pages {
	DAT_VLEN page_size;		/* bytes, a power of two */
	void *pages;			/* array of DAT_PADDR */
} DAT_PHYSICAL_VAR_PAGES;

typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	void *for_platform;
	DAT_PHYSICAL_VAR_PAGES for_array;
	DAT_PADDR *for_physical;
	DAT_PADDR for_ia;
} DAT_REGION_DESCRIPTION;

typedef enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP,
	DAT_LMR_SCOPE_PZ,
	DAT_LMR_SCOPE_ANY,
} DAT_LMR_SCOPE;

typedef struct dat_lmr_state {
	DAT_BOOLEAN fmr_support;	/* from dat_lmr_allocate() */
	DAT_BOOLEAN bound;		/* RMRs are bound to it */
} DAT_LMR_STATE;

typedef struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
	DAT_LMR_STATE lmr_state;
} DAT_LMR_PARAM;

typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x002,
	DAT_LMR_FIELD_REGION_DESC		= 0x004,
	DAT_LMR_FIELD_LENGTH			= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x020,
	DAT_LMR_FIELD_VA_TYPE			= 0x040,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x080,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x400,
	DAT_LMR_FIELD_LMR_STATE			= 0x800,
	DAT_LMR_FIELD_ALL			= 0xFFF,
} DAT_LMR_PARAM_MASK;

typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP,
	DAT_RMR_SCOPE_PZ,
	DAT_RMR_SCOPE_ANY,
} DAT_RMR_SCOPE;

typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_RMR_SCOPE		= 0x20,
	DAT_RMR_FIELD_VA_TYPE		= 0x40,
	DAT_RMR_FIELD_ALL		= 0x7F,
} DAT_RMR_PARAM_MASK;

/* byte orders for a context, an address or a length that travels in a message */
#define DAT_LMRC_TO_LSB(lmrc)	((__force DAT_LMR_CONTEXT)cpu_to_le32(lmrc))
#define DAT_LMRC_TO_MSB(lmrc)	((__force DAT_LMR_CONTEXT)cpu_to_be32(lmrc))
#define DAT_RMRC_TO_LSB(rmrc)	((__force DAT_RMR_CONTEXT)cpu_to_le32(rmrc))
#define DAT_RMRC_TO_MSB(rmrc)	((__force DAT_RMR_CONTEXT)cpu_to_be32(rmrc))
#define DAT_VADDR_TO_LSB(vaddr)	((__force DAT_VADDR)cpu_to_le64(vaddr))
#define DAT_VADDR_TO_MSB(vaddr)	((__force DAT_VADDR)cpu_to_be64(vaddr))
#define DAT_VLEN_TO_LSB(vlen)	((__force DAT_VLEN)cpu_to_le64(vlen))
#define DAT_VLEN_TO_MSB(vlen)	((__force DAT_VLEN)cpu_to_be64(vlen))

/* IA attributes */

typedef enum dat_extension {
	DAT_EXTENSION_NONE,
	DAT_EXTENSION_IB,
	DAT_EXTENSION_IW,
} DAT_EXTENSION;

typedef struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;	/* lives as long as the IA */
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_rdma_read_per_ep_in;
	DAT_COUNT max_rdma_read_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;			/* events */
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_SEG_LENGTH max_lmr_block_size;	/* bytes */
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_SEG_LENGTH max_message_size;	/* bytes */
	DAT_SEG_LENGTH max_rdma_size;		/* bytes */
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN zb_supported;
	DAT_BOOLEAN reserved_lmr_supported;
	DAT_EXTENSION extension_supported;
	DAT_COUNT extension_version;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
} DAT_IA_ATTR;

typedef DAT_UINT64 DAT_IA_ATTR_MASK;
#define DAT_IA_FIELD_IA_ADAPTER_NAME			0x0000000001ULL
#define DAT_IA_FIELD_IA_VENDOR_NAME			0x0000000002ULL
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		0x0000000004ULL
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		0x0000000008ULL
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		0x0000000010ULL
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		0x0000000020ULL
#define DAT_IA_FIELD_IA_ADDRESS_PTR			0x0000000040ULL
#define DAT_IA_FIELD_IA_MAX_EPS				0x0000000080ULL
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			0x0000000100ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		0x0000000200ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	0x0000000400ULL
#define DAT_IA_FIELD_IA_MAX_EVDS			0x0000000800ULL
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			0x0000001000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	0x0000002000ULL
#define DAT_IA_FIELD_IA_MAX_LMRS			0x0000004000ULL
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		0x0000008000ULL
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		0x0000010000ULL
#define DAT_IA_FIELD_IA_MAX_PZS				0x0000020000ULL
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		0x0000040000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			0x0000080000ULL
#define DAT_IA_FIELD_IA_MAX_RMRS			0x0000100000ULL
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		0x0000200000ULL
#define DAT_IA_FIELD_IA_MAX_SRQS			0x0000400000ULL
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			0x0000800000ULL
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		0x0001000000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	0x0002000000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	0x0004000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		0x0008000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		0x0010000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	0x0020000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	0x0040000000ULL
#define DAT_IA_FIELD_IA_ZB_SUPPORTED			0x0080000000ULL
#define DAT_IA_FIELD_IA_RESERVED_LMR_SUPPORTED		0x0100000000ULL
#define DAT_IA_FIELD_IA_EXTENSION			0x0200000000ULL
#define DAT_IA_FIELD_IA_EXTENSION_VERSION		0x0400000000ULL
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		0x0800000000ULL
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			0x1000000000ULL
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			0x2000000000ULL
#define DAT_IA_FIELD_IA_VENDOR_ATTR			0x4000000000ULL
#define DAT_IA_FIELD_ALL				0x7FFFFFFFFFULL
#define DAT_IA_FIELD_NONE				0x0ULL

/* other names of the same */
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED		DAT_IA_FIELD_IA_EXTENSION
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE			DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_ALL					DAT_IA_FIELD_ALL

/* Provider attributes */

typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER	= 0x0,	/* the consumer's again when the call returns */
	DAT_IOV_PROVIDER_NOMOD	= 0x1,	/* the provider's until completion, not modified */
	DAT_IOV_PROVIDER_MOD	= 0x2,	/* the provider's until completion, may be modified */
} DAT_IOV_OWNERSHIP;

typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER,
	DAT_PSP_CREATES_EP_IFASKED,
	DAT_PSP_CREATES_EP_ALWAYS,
} DAT_EP_CREATOR_FOR_PSP;

typedef enum dat_upcall_policy {
	DAT_UPCALL_DISABLE		= 0,	/* no upcalls; a running one may go on */
	DAT_UPCALL_SINGLE_INSTANCE	= 1,	/* one at a time */
	DAT_UPCALL_NORIFY		= 2,	/* the same, without the event; DAT's spelling */
	DAT_UPCALL_MANY			= 100,	/* several at a time */
	DAT_UPCALL_TEARDOWN		= -1,	/* no upcalls, and none runs at return */
} DAT_UPCALL_POLICY;

#define DAT_UPCALL_NOTIFY	DAT_UPCALL_NORIFY

/* indexes of the merging matrix */
#define DAT_EVD_STREAM_TYPES	6	/* software, CR, DTO, connection, RMR bind, asynchronous */

typedef struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;	/* bytes */
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_UPCALL_POLICY upcall_policy;
	DAT_UINT32 optimal_buffer_alignment;	/* bytes */
	/* DAT_TRUE if the streams of row and column may feed one EVD */
	DAT_BOOLEAN evd_stream_merging_supported[DAT_EVD_STREAM_TYPES][DAT_EVD_STREAM_TYPES];
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_interrupt_safe;
	DAT_BOOLEAN fmr_supported;
	DAT_LMR_SCOPE lmr_for_fmr_scope_supported;
	DAT_BOOLEAN ha_supported;
	DAT_HA_LB ha_loadbalancing;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
} DAT_PROVIDER_ATTR;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		0x000000001ULL
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	0x000000002ULL
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	0x000000004ULL
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		0x000000008ULL
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		0x000000010ULL
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	0x000000020ULL
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		0x000000040ULL
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		0x000000080ULL
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	0x000000100ULL
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		0x000000200ULL
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	0x000000400ULL
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		0x000000800ULL
#define DAT_PROVIDER_FIELD_EP_CREATOR			0x000001000ULL
#define DAT_PROVIDER_FIELD_UPCALL_POLICY		0x000002000ULL
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	0x000004000ULL
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	0x000008000ULL
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		0x000010000ULL
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	0x000020000ULL
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	0x000040000ULL
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		0x000080000ULL
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	0x000100000ULL
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			0x000200000ULL
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	0x000400000ULL
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	0x000800000ULL
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	0x001000000ULL
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED		0x002000000ULL
#define DAT_PROVIDER_FIELD_IS_INTERRUPT_SAFE		0x004000000ULL
#define DAT_PROVIDER_FIELD_FMR_SUPPORTED		0x008000000ULL
#define DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE		0x010000000ULL
#define DAT_PROVIDER_FIELD_HA_SUPPORTED			0x020000000ULL
#define DAT_PROVIDER_FIELD_HA_LB			0x040000000ULL
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	0x080000000ULL
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	0x100000000ULL
#define DAT_PROVIDER_FIELD_ALL				0x1FFFFFFFFULL
#define DAT_PROVIDER_FIELD_NONE				0x0ULL

/* Endpoints */

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC,			/* reliable connection */
	DAT_SERVICE_TYPE_EXTENSION_BASE,
} DAT_SERVICE_TYPE;

typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_SEG_LENGTH max_message_size;	/* bytes */
	DAT_SEG_LENGTH max_rdma_size;		/* bytes */
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_request_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_request_iov;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_COUNT srq_soft_hw;
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED,
	DAT_EP_STATE_RESERVED,
	DAT_EP_STATE_UNCONFIGURED_RESERVED,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE,
	DAT_EP_STATE_CONNECTED,
	DAT_EP_STATE_DISCONNECT_PENDING,
	DAT_EP_STATE_DISCONNECTED,
	DAT_EP_STATE_COMPLETION_PENDING,
	DAT_EP_STATE_CONNECTED_SINGLE_PATH,
	DAT_EP_STATE_CONNECTED_MULTI_PATH,
} DAT_EP_STATE;

/* of DAT 1.0 */
#define DAT_EP_STATE_ERROR	DAT_EP_STATE_DISCONNECTED

typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_COMM comm;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

typedef DAT_UINT64 DAT_EP_PARAM_MASK;
#define DAT_EP_FIELD_IA_HANDLE				0x00000001ULL
#define DAT_EP_FIELD_EP_STATE				0x00000002ULL
#define DAT_EP_FIELD_COMM				0x00000004ULL
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		0x00000008ULL
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			0x00000010ULL
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		0x00000020ULL
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			0x00000040ULL
#define DAT_EP_FIELD_PZ_HANDLE				0x00000080ULL
#define DAT_EP_FIELD_RECV_EVD_HANDLE			0x00000100ULL
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			0x00000200ULL
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			0x00000400ULL
#define DAT_EP_FIELD_SRQ_HANDLE				0x00000800ULL
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		0x00001000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		0x00002000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		0x00004000ULL
#define DAT_EP_FIELD_EP_ATTR_QOS			0x00008000ULL
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	0x00010000ULL
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	0x00020000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		0x00040000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		0x00080000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		0x00100000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		0x00200000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		0x00400000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		0x00800000ULL
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		0x01000000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		0x02000000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		0x04000000ULL
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		0x08000000ULL
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	0x10000000ULL
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		0x20000000ULL
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	0x40000000ULL
#define DAT_EP_FIELD_EP_ATTR_ALL			0x7FFFF000ULL
#define DAT_EP_FIELD_ALL				0x7FFFFFFFULL

/* Shared receive queues and watermarks */

#define DAT_WATERMARK_INFINITE	((DAT_COUNT)~0)
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT	0x0
#define DAT_VALUE_UNKNOWN	(((DAT_COUNT)~0) - 1)

typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR,
	DAT_SRQ_STATE_OPERATIONAL,
	DAT_SRQ_STATE_SHUTDOWN,
} DAT_SRQ_STATE;

typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

typedef struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;
	DAT_COUNT outstanding_dto_count;
} DAT_SRQ_PARAM;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE			= 0x001,
	DAT_SRQ_FIELD_SRQ_STATE			= 0x002,
	DAT_SRQ_FIELD_PZ_HANDLE			= 0x004,
	DAT_SRQ_FIELD_MAX_RECV_DTO		= 0x008,
	DAT_SRQ_FIELD_MAX_RECV_IOV		= 0x010,
	DAT_SRQ_FIELD_LOW_WATERMARK		= 0x020,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT	= 0x040,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT	= 0x080,
	DAT_SRQ_FIELD_ALL			= 0x0FF,
} DAT_SRQ_PARAM_MASK;

/* Protection zones */

typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE	= 0x01,
	DAT_PZ_FIELD_ALL	= 0x01,
} DAT_PZ_PARAM_MASK;

/* Service points */

typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x01,
	DAT_PSP_FIELD_CONN_QUAL		= 0x02,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x08,
	DAT_PSP_FIELD_ALL		= 0x0F,
} DAT_PSP_PARAM_MASK;

typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x01,
	DAT_RSP_FIELD_CONN_QUAL		= 0x02,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_RSP_FIELD_EP_HANDLE		= 0x08,
	DAT_RSP_FIELD_ALL		= 0x0F,
} DAT_RSP_PARAM_MASK;

typedef struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
} DAT_CSP_PARAM;

typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE		= 0x01,
	DAT_CSP_FIELD_COMM		= 0x02,
	DAT_CSP_FIELD_IA_ADDRESS	= 0x04,
	DAT_CSP_FIELD_EVD_HANDLE	= 0x08,
	DAT_CSP_FIELD_ALL		= 0x0F,
} DAT_CSP_PARAM_MASK;

/* Connection requests. What the pointers point to lives as long as the request. */

typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;		/* bytes */
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;		/* the only EP that can accept, or NULL */
} DAT_CR_PARAM;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR	= 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL		= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE		= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA		= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE		= 0x10,
	DAT_CR_FIELD_ALL			= 0x1F,
} DAT_CR_PARAM_MASK;

/* Events */

typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS			= 0,
	DAT_DTO_ERR_FLUSHED		= 1,
	DAT_DTO_ERR_LOCAL_LENGTH	= 2,
	DAT_DTO_ERR_LOCAL_EP		= 3,
	DAT_DTO_ERR_LOCAL_PROTECTION	= 4,
	DAT_DTO_ERR_BAD_RESPONSE	= 5,
	DAT_DTO_ERR_REMOTE_ACCESS	= 6,
	DAT_DTO_ERR_REMOTE_RESPONDER	= 7,
	DAT_DTO_ERR_TRANSPORT		= 8,
	DAT_DTO_ERR_RECEIVER_NOT_READY	= 9,
	DAT_DTO_ERR_PARTIAL_PACKET	= 10,
	DAT_RMR_OPERATION_FAILED	= 11,
	DAT_DTO_ERR_LOCAL_MM_ERROR	= 12,	/* kernel only */
} DAT_DTO_COMPLETION_STATUS;

typedef DAT_DTO_COMPLETION_STATUS DAT_RMR_BIND_COMPLETION_STATUS;

/* of DAT 1.x */
#define DAT_DTO_LENGTH_ERROR	DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE		DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_SUCCESS	DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE	DAT_DTO_ERR_FLUSHED

typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length;	/* bytes, if status is success; DAT's spelling */
	DAT_DTOS operation;
	DAT_RMR_CONTEXT rmr_context;		/* invalidated by the peer, if status is success */
} DAT_DTO_COMPLETION_EVENT_DATA;

typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_RMR_BIND_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
	DAT_CSP_HANDLE csp_handle;
} DAT_SP_HANDLE;

typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;		/* NULL for an RSP, which is gone */
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
	DAT_BOOLEAN truncate_flag;		/* private data was cut */
} DAT_CR_ARRIVAL_EVENT_DATA;

typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;		/* bytes */
	DAT_PVOID private_data;
} DAT_CONNECTION_EVENT_DATA;

typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;			/* IA, EP, EVD, SRQ, LMR, RMR or PZ */
	DAT_COUNT reason;			/* one of the enums below, by the handle's type */
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR,
	DAT_IA_OTHER_ERROR,
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR,
	DAT_EP_OTHER_ERROR,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT,
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR,
	DAT_EVD_OTHER_ERROR,
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR,
	DAT_SRQ_OTHER_ERROR,
	DAT_SRQ_LOW_WATERMARK_EVENT,
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR,
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR,
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR,
} DAT_PZ_ASYNC_ERROR_REASON;

typedef struct dat_software_event_data {
	DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT			= 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT			= 0x01001,
	DAT_CONNECTION_REQUEST_EVENT			= 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED		= 0x04001,
	DAT_CONNECTION_EVENT_PEER_REJECTED		= 0x04002,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED		= 0x04003,
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR	= 0x04004,
	DAT_CONNECTION_EVENT_DISCONNECTED		= 0x04005,
	DAT_CONNECTION_EVENT_BROKEN			= 0x04006,
	DAT_CONNECTION_EVENT_TIMED_OUT			= 0x04007,
	DAT_CONNECTION_EVENT_UNREACHABLE		= 0x04008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW			= 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC			= 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN			= 0x08003,
	DAT_ASYNC_ERROR_TIMED_OUT			= 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR		= 0x08005,
	DAT_HA_DOWN_TO_1				= 0x08101,
	DAT_HA_UP_TO_MULTI_PATH				= 0x08102,
	DAT_SOFTWARE_EVENT				= 0x10001,
	DAT_EXTENSION_EVENT				= 0x20000,
	DAT_IB_EXTENSION_RANGE_BASE			= 0x40000,
	DAT_IW_EXTENSION_RANGE_BASE			= 0x80000,
} DAT_EVENT_NUMBER;

typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

typedef struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	DAT_EVENT_DATA event_data;
	DAT_UINT64 event_extension_data[8];
} DAT_EVENT;

#define DAT_EVENT_NULL		((DAT_EVENT *)NULL)

/* Event dispatchers and upcalls */

/**
 * typedef DAT_UPCALL_FUNC - a consumer's function that an EVD calls
 * @instance_data: that of the upcall object
 * @event: the event, taken from the EVD; valid during the call. NULL with DAT_UPCALL_NORIFY: the
 *	   consumer dequeues.
 * @more_events: DAT_TRUE if the EVD holds more events
 *
 * Context: softirq for an EVD with DTO or RMR bind completions, else process; see the file's head.
 */
typedef void (*DAT_UPCALL_FUNC)(DAT_PVOID instance_data, const DAT_EVENT *event,
				DAT_BOOLEAN more_events);

typedef struct dat_upcall_object {
	DAT_PVOID instance_data;
	DAT_UPCALL_FUNC upcall_func;
} DAT_UPCALL_OBJECT;

#define DAT_UPCALL_NULL		((DAT_UPCALL_OBJECT) { .instance_data = NULL, .upcall_func = NULL })
#define DAT_UPCALL_SAME		((DAT_UPCALL_OBJECT *)NULL)

typedef enum dat_upcall_flag {
	DAT_UPCALL_INVOC_NEW	= 0,	/* only events that arrive from now on call up */
	DAT_UPCALL_INVOC_ANY	= 1,	/* those in the queue as well */
} DAT_UPCALL_FLAG;

typedef struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;		/* events */
	DAT_UPCALL_POLICY upcall_policy;
	DAT_UPCALL_OBJECT upcall;
	DAT_EVD_FLAGS evd_flags;
} DAT_EVD_PARAM;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE		= 0x01,
	DAT_EVD_FIELD_EVD_QLEN		= 0x02,
	DAT_EVD_FIELD_UPCALL_POLICY	= 0x04,
	DAT_EVD_FIELD_UPCALL		= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS		= 0x10,
	DAT_EVD_FIELD_ALL		= 0x1F,
} DAT_EVD_PARAM_MASK;

/* Extensions: their operations, see the end of this file */

typedef int DAT_EXTENDED_OP;
#define DAT_OPEN_EXTENSION_BASE		0x1000
#define DAT_CLOSE_EXTENSION_BASE	0x2000

/* what a provider registers, and the key that dat_ia_openv() looks for */
typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

typedef struct dat_provider DAT_PROVIDER;

/*
 * Registry
 */

/**
 * dat_registry_add_provider() - register an IA name
 * @provider: table, which must live until the name is removed; one table may have several names
 * @provider_info: name, version and thread safety: the key. Copied.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (a table that cannot open or close an IA, a name that
 * is empty or has no end), DAT_PROVIDER_ALREADY_REGISTERED (the key is in use),
 * DAT_INSUFFICIENT_RESOURCES. Context: may sleep.
 */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info);

/**
 * dat_registry_remove_provider() - remove an IA name
 * @provider: that of dat_registry_add_provider()
 * @provider_info: the same key
 *
 * Return: DAT_SUCCESS, DAT_PROVIDER_NOT_FOUND, DAT_PROVIDER_IN_USE (IAs of that name are open or
 * are being opened), DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info);

/**
 * dat_registry_list_providers() - list the IA names
 * @max_to_return: entries in @dat_provider_list; 0 asks only for the number of names
 * @entries_returned: entries filled; with @max_to_return 0, the number of names
 * @dat_provider_list: pointers to structures of the caller, which are filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[]);

/**
 * dat_registry_providers_related() - ask whether two IA names are of related IAs
 * @ia_name1: a name
 * @ia_name2: another name
 * @answer: DAT_HA_TRUE, DAT_HA_FALSE, DAT_HA_CONFLICTING (each of the two says something else) or
 *	    DAT_HA_UNKNOWN (neither IA is open, or their providers do not know)
 *
 * Return: DAT_SUCCESS, DAT_PROVIDER_NOT_FOUND, DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_registry_providers_related(const char *ia_name1, const char *ia_name2,
					  DAT_HA_RELATIONSHIP *answer);

/*
 * Interface adapters
 */

/**
 * dat_ia_openv() - open an IA
 * @name: IA name
 * @asynch_evd_min_qlen: events that an asynchronous EVD made here has to hold, if it is made
 * @asynch_evd_handle: DAT_HANDLE_NULL: the provider makes an asynchronous EVD without upcalls and
 *		       stores its handle; else the EVD of another open instance of this IA
 * @ia_handle: the open IA
 * @dat_major_version_number: version that the consumer is written for
 * @dat_minor_version_number: the same
 * @dat_thread_safety: DAT_TRUE asks for a thread-safe provider, DAT_FALSE for any
 *
 * Return: DAT_SUCCESS, DAT_PROVIDER_NOT_FOUND (DAT_NAME_NOT_REGISTERED, DAT_MAJOR_NOT_FOUND,
 * DAT_MINOR_NOT_FOUND or DAT_THREAD_SAFETY_NOT_FOUND), DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE,
 * DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES. Context: may sleep.
 */
DAT_RETURN dat_ia_openv(const char *name, DAT_COUNT asynch_evd_min_qlen,
			DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major_version_number, DAT_UINT32 dat_minor_version_number,
			DAT_BOOLEAN dat_thread_safety);

#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv(name, qlen, async_evd, ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, \
		     DAT_THREADSAFE)

/**
 * dat_ia_open_net() - open an IA in a network namespace
 * @name: IA name
 * @net: namespace that the IA belongs to, in place of the task's
 * @asynch_evd_min_qlen: as dat_ia_openv()
 * @asynch_evd_handle: as dat_ia_openv()
 * @ia_handle: the open IA
 *
 * Not of DAT. The IA has no reference of @net, so that it does not keep a namespace from ending:
 * the caller closes the IA before that, and no call of the IA runs then.
 *
 * Return: as dat_ia_openv(); DAT_NOT_IMPLEMENTED: a provider of another module. Context: may sleep.
 */
DAT_RETURN dat_ia_open_net(const char *name, struct net *net, DAT_COUNT asynch_evd_min_qlen,
			   DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle);

/**
 * dat_ia_open_to() - open the IA that leads to an address
 * @remote: address, IPv4 or IPv6
 * @asynch_evd_min_qlen: as dat_ia_openv()
 * @asynch_evd_handle: as dat_ia_openv()
 * @ia_handle: the open IA
 *
 * Not of DAT. The IA is that on which dat_ep_connect() to @remote finds a route: that of the
 * outgoing interface, or of the interface below a VLAN, or that which has the address, if it is of
 * this host. IAs in a VRF come after the others.
 *
 * Return: as dat_ia_openv(); DAT_INVALID_ADDRESS: there is no route; DAT_PROVIDER_NOT_FOUND: the
 * route does not leave through an IA. Context: may sleep.
 */
DAT_RETURN dat_ia_open_to(const struct sockaddr_storage *remote, DAT_COUNT asynch_evd_min_qlen,
			  DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle);

/**
 * dat_ia_query() - ask for attributes of an IA and of its provider
 * @ia_handle: IA
 * @async_evd_handle: its asynchronous EVD; optional
 * @ia_attr_mask: what to fill in @ia_attr
 * @ia_attr: may be NULL if the mask is 0
 * @provider_attr_mask: what to fill in @provider_attr
 * @provider_attr: may be NULL if the mask is 0
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr);

/**
 * dat_ia_close() - close an IA
 * @ia_handle: IA; no handle after DAT_SUCCESS
 * @close_flags: graceful: refused while the IA has objects. Abrupt: they are destroyed with it.
 *
 * Both are refused while another IA's asynchronous events go to an EVD of this IA. No upcall runs
 * after an abrupt close has returned.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE (not open, or being closed), DAT_INVALID_STATE
 * (DAT_INVALID_STATE_IA_IN_USE), DAT_INVALID_PARAMETER. Context: may sleep; not from an upcall of
 * this IA.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);

/**
 * dat_ia_memtype_hint() - ask how to cut a buffer for best registration
 * @ia_handle: IA
 * @mem_type: what the region is made of
 * @length: bytes of the buffer
 * @mem_optimization: aim
 * @preferred_length: best length in bytes
 * @preferred_alignment: best alignment in bytes
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED. Context: any but hard
 * interrupt.
 */
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type, DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			       DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment);

/**
 * dat_ia_reserved_lmr() - get the LMR for physical addresses
 * @ia_handle: IA
 * @reserved_lmr_handle: its handle; it is the IA's and is never freed
 * @reserved_lmr_context: context for local segments whose addresses are physical (STag 0)
 *
 * Return: DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED, DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *reserved_lmr_handle,
			       DAT_LMR_CONTEXT *reserved_lmr_context);

/**
 * dat_ia_ha_related() - ask an IA whether it and another one are related
 * @ia_handle: IA
 * @provider: name of the other IA
 * @answer: DAT_TRUE if one can take over for the other
 *
 * A provider must not call dat_registry_*() or dat_ia_openv() to find out: the registry may ask.
 *
 * Return: DAT_SUCCESS, DAT_PROVIDER_NOT_FOUND, DAT_MODEL_NOT_SUPPORTED, DAT_INVALID_PARAMETER.
 * Context: may sleep.
 */
DAT_RETURN dat_ia_ha_related(DAT_IA_HANDLE ia_handle, const char *provider, DAT_BOOLEAN *answer);

/*
 * Any handle
 */

/**
 * dat_set_consumer_context() - tag an object
 * @dat_handle: object
 * @context: tag
 *
 * Return: DAT_SUCCESS or DAT_INVALID_HANDLE. Context: any but hard interrupt.
 */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);

/**
 * dat_get_consumer_context() - get an object's tag
 * @dat_handle: object
 * @context: tag; all zeroes if none was set
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context);

/**
 * dat_get_handle_type() - get the type of an object
 * @dat_handle: object
 * @handle_type: its type
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type);

/**
 * dat_strerror() - get the names of a return code's parts
 * @dat_function_return: return code
 * @major_message: name of its type
 * @minor_message: name of its subtype, DAT_NO_SUBTYPE if it has none; optional
 *
 * The strings live as long as the module.
 *
 * Return: DAT_SUCCESS, or DAT_INVALID_PARAMETER (an unknown type or subtype, @major_message is
 * NULL). Context: any.
 */
DAT_RETURN dat_strerror(DAT_RETURN dat_function_return, const char **major_message,
			const char **minor_message);

/*
 * Protection zones
 */

/**
 * dat_pz_create() - create a protection zone
 * @ia_handle: IA
 * @pz_handle: the new PZ
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/**
 * dat_pz_query() - ask for parameters of a PZ
 * @pz_handle: PZ
 * @pz_param_mask: what to fill
 * @pz_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param);

/**
 * dat_pz_free() - destroy a PZ
 * @pz_handle: PZ
 *
 * Return: DAT_SUCCESS, or DAT_INVALID_STATE (DAT_INVALID_STATE_PZ_IN_USE: EPs, LMRs, RMRs or SRQs
 * are in it). Context: may sleep.
 */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

/*
 * Event dispatchers
 */

/**
 * dat_evd_kcreate() - create an EVD
 * @ia_handle: IA
 * @evd_min_qlen: events that it has to hold
 * @upcall_policy: how it calls up; DAT_UPCALL_TEARDOWN is the same as DAT_UPCALL_DISABLE
 * @upcall: function and its argument, copied; NULL or DAT_UPCALL_NULL with no upcalls
 * @evd_flags: streams that may feed it
 * @evd_handle: the new EVD
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED
 * (policy, or streams that cannot share an EVD). Context: may sleep.
 */
DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy, const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle);

/**
 * dat_evd_modify_upcall() - change how an EVD calls up
 * @evd_handle: EVD
 * @upcall_policy: new policy. DAT_UPCALL_TEARDOWN returns when no upcall runs any more.
 * @upcall: new upcall, copied; DAT_UPCALL_SAME leaves the old one
 * @flags: whether events that wait in the queue call up
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED. Context: may sleep;
 * DAT_UPCALL_TEARDOWN not from an upcall of this EVD.
 */
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flags);

/**
 * dat_evd_query() - ask for parameters of an EVD
 * @evd_handle: EVD
 * @evd_param_mask: what to fill
 * @evd_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param);

/**
 * dat_evd_resize() - change the length of an EVD's queue
 * @evd_handle: EVD
 * @evd_min_qlen: events that it has to hold
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_STATE (more
 * events wait than the new length holds). Context: may sleep.
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/**
 * dat_evd_post_se() - post a software event
 * @evd_handle: EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: event with DAT_SOFTWARE_EVENT as its number, copied
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_QUEUE_FULL. Context: any but hard interrupt.
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/**
 * dat_evd_dequeue() - take the oldest event from an EVD
 * @evd_handle: EVD
 * @event: filled
 *
 * Return: DAT_SUCCESS, DAT_QUEUE_EMPTY, DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/**
 * dat_evd_free() - destroy an EVD, with the events in it
 * @evd_handle: EVD
 *
 * Return: DAT_SUCCESS, or DAT_INVALID_STATE (DAT_INVALID_STATE_EVD_IN_USE: an object feeds it).
 * Context: may sleep; not from an upcall of this EVD.
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/*
 * Memory regions
 */

/**
 * dat_lmr_kcreate() - register memory
 * @ia_handle: IA
 * @mem_type: what the region is made of
 * @region_description: the memory, by @mem_type
 * @length: bytes; for DAT_MEM_TYPE_PHYSICAL and DAT_MEM_TYPE_PHYSICAL_VAR_PAGES pages
 * @pz_handle: PZ
 * @privileges: accesses
 * @va_type: whether addresses in it begin at its virtual address or at 0
 * @mem_optimization: whether more may be registered than asked for
 * @lmr_handle: the new LMR
 * @lmr_context: context for local segments; optional
 * @rmr_context: context for the peer; optional
 * @registered_length: bytes; optional
 * @registered_address: first address; optional
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_MODEL_NOT_SUPPORTED, DAT_PRIVILEGES_VIOLATION, DAT_RESERVED_LMR. Context: may sleep.
 */
DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address);

/**
 * dat_lmr_allocate() - create an LMR without memory, for dat_lmr_fmr()
 * @ia_handle: IA
 * @pz_handle: PZ
 * @max_pages: pages that it has to hold
 * @scope: whether one EP or all of the PZ use it
 * @lmr_handle: the new LMR
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * Context: may sleep.
 */
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_COUNT max_pages,
			    DAT_LMR_SCOPE scope, DAT_LMR_HANDLE *lmr_handle);

/**
 * dat_lmr_fmr() - post a fast registration
 * @lmr_handle: LMR of dat_lmr_allocate() that has no memory
 * @mem_type: DAT_MEM_TYPE_PHYSICAL, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, ...
 * @region_description: the memory, by @mem_type; not needed any more after the call
 * @num_pages: pages
 * @mem_privileges: accesses
 * @va_type: DAT_VA_TYPE_VA: addresses in it begin at its physical address; DAT_VA_TYPE_ZB: at 0,
 *	or, with DAT_MEM_TYPE_PLATFORM, at the offset of the first byte in its page. An address that
 *	a peer is told should be of this type: the other one discloses where the memory is
 * @ep_handle: connected EP, after whose earlier requests it takes effect
 * @user_cookie: for the completion (DAT_DTO_LMR_FMR)
 * @completion_flags: see DAT_COMPLETION_FLAGS
 * @lmr_context: context for local segments; later requests of @ep_handle may use it at once
 * @rmr_context: context for the peer
 *
 * Return: DAT_SUCCESS, DAT_INVALID_STATE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED, DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION, DAT_RESERVED_LMR.
 * Context: any but hard interrupt.
 */
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description, DAT_VLEN num_pages,
		       DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
		       DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags, DAT_LMR_CONTEXT *lmr_context,
		       DAT_RMR_CONTEXT *rmr_context);

/**
 * dat_lmr_invalidate() - post the invalidation of a fast registration
 * @lmr_handle: LMR of dat_lmr_allocate()
 * @ep_handle: connected EP, after whose earlier requests it takes effect
 * @user_cookie: for the completion (DAT_DTO_LMR_INVALIDATE)
 * @completion_flags: DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG: after all earlier DTOs completed
 *
 * Return: DAT_SUCCESS, DAT_INVALID_STATE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_PROTECTION_VIOLATION, DAT_RESERVED_LMR. Context: any but hard interrupt.
 */
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_lmr_query() - ask for parameters of an LMR
 * @lmr_handle: LMR
 * @lmr_param_mask: what to fill
 * @lmr_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param);

/**
 * dat_lmr_free() - destroy an LMR
 * @lmr_handle: LMR
 *
 * Return: DAT_SUCCESS, DAT_INVALID_STATE (DAT_INVALID_STATE_LMR_IN_USE: RMRs are bound to it),
 * DAT_RESERVED_LMR. Context: may sleep.
 */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/**
 * dat_lmr_sync_rdma_read() - make memory ready for RDMA Reads by the peer
 * @ia_handle: IA
 * @local_segments: the memory
 * @num_segments: their number
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments);

/**
 * dat_lmr_sync_rdma_write() - make memory ready for the consumer after RDMA Writes by the peer
 * @ia_handle: IA
 * @local_segments: the memory
 * @num_segments: their number
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);

/**
 * dat_rmr_create() - create an RMR for any EP of a PZ
 * @pz_handle: PZ
 * @rmr_handle: the new RMR
 *
 * The peer cannot invalidate it, see dat_ep_post_send_with_invalidate().
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * Context: may sleep.
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/**
 * dat_rmr_create_for_ep() - create an RMR that only the EP which binds it can use
 * @pz_handle: PZ
 * @rmr_handle: the new RMR
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * Context: may sleep.
 */
DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/**
 * dat_rmr_query() - ask for parameters of an RMR
 * @rmr_handle: RMR
 * @rmr_param_mask: what to fill
 * @rmr_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param);

/**
 * dat_rmr_bind() - post the binding of an RMR to a part of an LMR
 * @rmr_handle: RMR
 * @lmr_handle: LMR
 * @lmr_triplet: part of the LMR; length 0 unbinds
 * @mem_priv: accesses of the peer
 * @va_type: whether the peer's addresses begin at the virtual address or at 0
 * @ep_handle: connected EP, after whose earlier requests it takes effect
 * @user_cookie: for the completion
 * @completion_flags: see DAT_COMPLETION_FLAGS
 * @context: context for the peer
 *
 * Return: DAT_SUCCESS, DAT_INVALID_STATE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED, DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION. Context: any but
 * hard interrupt.
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
			DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_RMR_CONTEXT *context);

/**
 * dat_rmr_free() - destroy an RMR, bound or not
 * @rmr_handle: RMR
 *
 * Return: DAT_SUCCESS. Context: may sleep.
 */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/*
 * Endpoints
 */

/**
 * dat_ep_create() - create an EP
 * @ia_handle: IA
 * @pz_handle: PZ
 * @recv_evd_handle: EVD for receive completions, or NULL: no receives
 * @request_evd_handle: EVD for completions of requests, or NULL: no requests
 * @connect_evd_handle: EVD for connection events, or NULL: no connection
 * @ep_attributes: what it has to hold; NULL for the provider's defaults
 * @ep_handle: the new EP, unconnected
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_MODEL_NOT_SUPPORTED. Context: may sleep.
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_create_with_srq() - create an EP that takes its receive buffers from an SRQ
 * @ia_handle: IA
 * @pz_handle: PZ
 * @recv_evd_handle: EVD for receive completions
 * @request_evd_handle: EVD for completions of requests, or NULL: no requests
 * @connect_evd_handle: EVD for connection events, or NULL: no connection
 * @srq_handle: SRQ
 * @ep_attributes: what it has to hold; NULL for the provider's defaults
 * @ep_handle: the new EP, unconnected
 *
 * Return: as dat_ep_create(). Context: may sleep.
 */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_query() - ask for parameters of an EP
 * @ep_handle: EP
 * @ep_param_mask: what to fill
 * @ep_param: filled, as it is at one moment; its addresses live as long as the EP and its
 *	connection
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param);

/**
 * dat_ep_modify() - change parameters of an EP
 * @ep_handle: EP that is not connected
 * @ep_param_mask: what to change
 * @ep_param: new values
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_MODEL_NOT_SUPPORTED. Context: may sleep.
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param);

/**
 * dat_ep_connect() - begin a connection to a PSP or RSP
 * @ep_handle: unconnected EP
 * @remote_ia_address: address of the peer's IA
 * @remote_conn_qual: its connection qualifier: a TCP port
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes
 * @private_data: for the peer, copied
 * @quality_of_service: see DAT_QOS
 * @connect_flags: see DAT_CONNECT_FLAGS
 *
 * One connection event reports the result.
 *
 * Return: DAT_SUCCESS (begun), DAT_INVALID_STATE, DAT_INVALID_PARAMETER, DAT_INVALID_ADDRESS,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED. Context: may sleep.
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const void *private_data,
			  DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags);

/**
 * dat_ep_set_source() - choose the local address of the next connect
 * @ep_handle: unconnected EP
 * @address: of the RNIC, its port is not looked at; AF_UNSPEC: what routing chooses
 *
 * Not of DAT. Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE, DAT_INVALID_ADDRESS,
 * DAT_NOT_IMPLEMENTED (a provider of another module). Context: may sleep.
 */
DAT_RETURN dat_ep_set_source(DAT_EP_HANDLE ep_handle, const struct sockaddr_storage *address);

/**
 * dat_ep_set_traffic() - say how the host's stack treats packets of the EP's connections
 * @ep_handle: unconnected EP
 * @tos: IP type of service; 0: that of the quality of service of dat_ep_connect()
 * @priority: as of SO_PRIORITY
 * @mark: as of SO_MARK, 0: none
 *
 * It holds for connects and accepts. An RNIC that makes connections itself knows @tos alone. Where
 * a listener answers for an accept that has not come yet, it does so with its own.
 *
 * Not of DAT. Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE. Context: may sleep.
 */
DAT_RETURN dat_ep_set_traffic(DAT_EP_HANDLE ep_handle, u8 tos, u32 priority, u32 mark);

/**
 * dat_ep_set_pushed() - say that dat_ep_push() will be called after posts
 * @ep_handle: unconnected EP without posted requests
 * @pushed: DAT_TRUE: requests may wait for dat_ep_push(); DAT_FALSE, as in a new EP: they do not
 *
 * A consumer that posts under a spinlock can so let its own thread do the work of an RNIC that is
 * software, when the spinlock is free again. Requests that fast registrations and windows need
 * are pushed, too. A graceful dat_ep_disconnect() pushes what was posted before.
 *
 * Not of DAT. Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE. Context: may sleep.
 */
DAT_RETURN dat_ep_set_pushed(DAT_EP_HANDLE ep_handle, DAT_BOOLEAN pushed);

/**
 * dat_ep_push() - let the RNIC begin with what was posted
 * @ep_handle: EP of dat_ep_set_pushed()
 * @sleep: DAT_TRUE: an RNIC that is software may do the work in this call, for a limited number
 *	of bytes; upcalls of any EVD may come meanwhile
 *
 * Not of DAT. Return: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INTERNAL_ERROR: the RNIC was removed or
 * the EP has no queue pair, and the posted requests are flushed or lost as otherwise. Context: may
 * sleep with DAT_TRUE, else any but hard interrupt.
 */
DAT_RETURN dat_ep_push(DAT_EP_HANDLE ep_handle, DAT_BOOLEAN sleep);

/**
 * dat_ep_common_connect() - begin a connection to a CSP
 * @ep_handle: unconnected EP
 * @remote_ia_address: address and port of the peer
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes
 * @private_data: for the peer, copied
 *
 * Return: as dat_ep_connect(). Context: may sleep.
 */
DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				 const void *private_data);

/**
 * dat_ep_dup_connect() - begin a connection to where another EP is connected
 * @ep_handle: unconnected EP
 * @ep_dup_handle: connected EP
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes
 * @private_data: for the peer, copied
 * @quality_of_service: see DAT_QOS
 *
 * Return: as dat_ep_connect(). Context: may sleep.
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const void *private_data, DAT_QOS quality_of_service);

/**
 * dat_ep_disconnect() - end a connection or a connection attempt
 * @ep_handle: EP
 * @close_flags: graceful: posted requests complete first. Abrupt: they are flushed.
 *
 * A connection event reports the end. A disconnected EP stays as it is, without an event.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_STATE, DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags);

/**
 * dat_ep_reset() - make a disconnected EP unconnected
 * @ep_handle: disconnected EP; an unconnected one stays as it is
 *
 * Completions that wait at the EVDs stay there.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES. Context: may sleep.
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_free() - destroy an EP, in any state but that of an RSP or a CR
 * @ep_handle: EP; its connection ends abruptly
 *
 * Return: DAT_SUCCESS or DAT_INVALID_STATE. Context: may sleep.
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_get_status() - get the state of an EP
 * @ep_handle: EP
 * @ep_state: its state; optional
 * @recv_idle: DAT_TRUE if no receive is outstanding; optional
 * @request_idle: DAT_TRUE if no request is outstanding; optional
 *
 * Return: DAT_SUCCESS. Context: any but hard interrupt.
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/**
 * dat_ep_recv_query() - ask for the receive buffers that an EP holds
 * @ep_handle: EP
 * @nbufs_allocated: buffers; optional
 * @bufs_alloc_span: messages between the first and the last of them; optional
 *
 * Return: DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED. Context: any but hard interrupt.
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span);

/**
 * dat_ep_set_watermark() - limit the buffers of an SRQ that an EP holds
 * @ep_handle: EP with an SRQ
 * @soft_high_watermark: buffers above which an asynchronous event comes
 * @hard_high_watermark: buffers above which the connection breaks
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED.
 * Context: may sleep.
 */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark);

/**
 * dat_ep_post_send() - post a send
 * @ep_handle: connected EP
 * @num_segments: segments
 * @local_iov: the message
 * @user_cookie: for the completion
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: DAT_SUCCESS, DAT_INVALID_STATE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_LENGTH_ERROR, DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION. Context: any but hard
 * interrupt.
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_send_with_invalidate() - post a send that invalidates an RMR or LMR of the peer
 * @ep_handle: connected EP
 * @num_segments: segments
 * @local_iov: the message
 * @user_cookie: for the completion
 * @completion_flags: see DAT_COMPLETION_FLAGS
 * @invalidate_flag: DAT_FALSE: as dat_ep_post_send()
 * @rmr_context: the peer's context, of an LMR of dat_lmr_allocate() or of an RMR of
 *		 dat_rmr_create_for_ep(); any other is an error of the consumer, and may break the
 *		 connection
 *
 * The completion has DAT_DTO_SEND as its operation. Return: as dat_ep_post_send(). Context: any
 * but hard interrupt.
 */
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context);

/**
 * dat_ep_post_recv() - post a receive buffer
 * @ep_handle: EP without an SRQ, connected or not yet
 * @num_segments: segments
 * @local_iov: the buffer
 * @user_cookie: for the completion
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: as dat_ep_post_send(). Context: any but hard interrupt.
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_read() - post an RDMA Read into LMRs
 * @ep_handle: connected EP
 * @num_segments: segments of @local_iov
 * @local_iov: memory for the data
 * @user_cookie: for the completion
 * @remote_iov: the peer's memory, as long as @local_iov
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: as dat_ep_post_send(). Context: any but hard interrupt.
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_read_to_rmr() - post an RDMA Read into memory named by an RMR context
 * @ep_handle: connected EP
 * @local_iov: memory for the data
 * @user_cookie: for the completion
 * @remote_iov: the peer's memory, as long as @local_iov
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: as dat_ep_post_send(). Context: any but hard interrupt.
 */
DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_iov,
					DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_write() - post an RDMA Write
 * @ep_handle: connected EP
 * @num_segments: segments of @local_iov
 * @local_iov: the data
 * @user_cookie: for the completion
 * @remote_iov: the peer's memory, as long as @local_iov
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: as dat_ep_post_send(). Context: any but hard interrupt.
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags);

/*
 * Shared receive queues
 */

/**
 * dat_srq_create() - create an SRQ
 * @ia_handle: IA
 * @pz_handle: PZ
 * @srq_attr: what it has to hold
 * @srq_handle: the new SRQ
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * Context: may sleep.
 */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);

/**
 * dat_srq_query() - ask for parameters of an SRQ
 * @srq_handle: SRQ
 * @srq_param_mask: what to fill
 * @srq_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param);

/**
 * dat_srq_resize() - change the length of an SRQ
 * @srq_handle: SRQ
 * @srq_max_recv_dto: receives that it has to hold
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_INVALID_STATE.
 * Context: may sleep.
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);

/**
 * dat_srq_set_lw() - arm the low watermark of an SRQ
 * @srq_handle: SRQ
 * @low_watermark: buffers below which one asynchronous event comes
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED.
 * Context: may sleep.
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/**
 * dat_srq_post_recv() - post a receive buffer to an SRQ
 * @srq_handle: SRQ
 * @num_segments: segments
 * @local_iov: the buffer
 * @user_cookie: for the completion
 *
 * Return: as dat_ep_post_send(). Context: any but hard interrupt.
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);

/**
 * dat_srq_free() - destroy an SRQ with the buffers in it
 * @srq_handle: SRQ
 *
 * Return: DAT_SUCCESS, or DAT_INVALID_STATE (DAT_INVALID_STATE_SRQ_IN_USE: EPs use it). Context:
 * may sleep.
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/*
 * Service points
 */

/**
 * dat_psp_create() - listen for connection requests
 * @ia_handle: IA
 * @conn_qual: connection qualifier: a TCP port
 * @evd_handle: EVD for connection requests
 * @psp_flags: whether the consumer or the provider creates the EPs
 * @psp_handle: the new PSP
 *
 * Return: DAT_SUCCESS, DAT_CONN_QUAL_IN_USE, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER,
 * DAT_MODEL_NOT_SUPPORTED. Context: may sleep.
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_create_any() - listen at a free connection qualifier
 * @ia_handle: IA
 * @conn_qual: the qualifier
 * @evd_handle: EVD for connection requests
 * @psp_flags: whether the consumer or the provider creates the EPs
 * @psp_handle: the new PSP
 *
 * Return: as dat_psp_create(), but DAT_CONN_QUAL_UNAVAILABLE. Context: may sleep.
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_query() - ask for parameters of a PSP
 * @psp_handle: PSP
 * @psp_param_mask: what to fill
 * @psp_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param);

/**
 * dat_psp_free() - end a PSP; requests that have arrived stay
 * @psp_handle: PSP
 *
 * Return: DAT_SUCCESS. Context: may sleep.
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

/**
 * dat_rsp_create() - listen for one connection request, for one EP
 * @ia_handle: IA
 * @conn_qual: connection qualifier: a TCP port
 * @ep_handle: unconnected EP, reserved until the request
 * @evd_handle: EVD for the connection request
 * @rsp_handle: the new RSP
 *
 * Return: as dat_psp_create(), or DAT_INVALID_STATE of the EP. Context: may sleep.
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle);

/**
 * dat_rsp_query() - ask for parameters of an RSP
 * @rsp_handle: RSP
 * @rsp_param_mask: what to fill
 * @rsp_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param);

/**
 * dat_rsp_free() - end an RSP; its EP is unconnected again
 * @rsp_handle: RSP
 *
 * Return: DAT_SUCCESS. Context: may sleep.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/**
 * dat_csp_create() - listen at an IP address and port
 * @ia_handle: IA
 * @communicator: arguments of socket(2)
 * @address: own address and port; port 0: any, see dat_csp_query()
 * @evd_handle: EVD for connection requests
 * @csp_handle: the new CSP
 *
 * Return: DAT_SUCCESS, DAT_COMM_NOT_SUPPORTED, DAT_PORT_IN_USE, DAT_INVALID_ADDRESS,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *communicator,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle);

/**
 * dat_csp_query() - ask for parameters of a CSP
 * @csp_handle: CSP
 * @csp_param_mask: what to fill
 * @csp_param: filled; what its pointers point to lives as long as the CSP
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param);

/**
 * dat_csp_free() - end a CSP; requests that have arrived stay
 * @csp_handle: CSP
 *
 * Return: DAT_SUCCESS. Context: may sleep.
 */
DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle);

/*
 * Connection requests
 */

/**
 * dat_cr_query() - ask for parameters of a connection request
 * @cr_handle: request
 * @cr_param_mask: what to fill
 * @cr_param: filled; what its pointers point to lives as long as the request
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param);

/**
 * dat_cr_accept() - accept a connection request
 * @cr_handle: request; no handle after DAT_SUCCESS
 * @ep_handle: unconnected EP; NULL if the service point has one
 * @private_data_size: bytes
 * @private_data: for the peer, copied
 *
 * One connection event at the EP's EVD reports the result.
 *
 * Return: DAT_SUCCESS (begun), DAT_INVALID_STATE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES. Context: may sleep.
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const void *private_data);

/**
 * dat_cr_reject() - reject a connection request
 * @cr_handle: request; no handle after DAT_SUCCESS
 * @private_data_size: bytes
 * @private_data: for the peer, copied
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: may sleep.
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const void *private_data);

/**
 * dat_cr_handoff() - pass a connection request to another service point
 * @cr_handle: request; no handle after DAT_SUCCESS
 * @handoff: connection qualifier of the other
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED. Context: may sleep.
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

/*
 * Extensions
 */

/**
 * dat_extension_op() - call an operation of an extension
 * @handle: object of the operation
 * @operation: the operation: DAT_IB_OP or DAT_IW_OP
 *
 * The other arguments are those of the operation, of exactly its types: call the functions below.
 *
 * Return: as the operation. Context: as the operation.
 */
DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...);

/* the same with a list of arguments */
DAT_RETURN dat_extension_opv(DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list args);

/*
 * Table of a provider. A slot that is NULL answers DAT_NOT_IMPLEMENTED.
 */

typedef DAT_RETURN (*DAT_IA_OPEN_FUNC)(const char *name, DAT_COUNT asynch_evd_min_qlen,
				       DAT_EVD_HANDLE *asynch_evd_handle,
				       DAT_IA_HANDLE *ia_handle);
typedef DAT_RETURN (*DAT_HANDLE_EXTENDEDOP_FUNC)(DAT_HANDLE handle, DAT_EXTENDED_OP operation,
						 va_list args);
typedef DAT_RETURN (*DAT_IA_OPENV_FUNC)(const char *name, DAT_COUNT asynch_evd_min_qlen,
					DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle,
					DAT_UINT32 dat_major_version_number,
					DAT_UINT32 dat_minor_version_number,
					DAT_BOOLEAN dat_thread_safety);
typedef DAT_RETURN (*DAT_IA_QUERY_FUNC)(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
					DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
					DAT_PROVIDER_ATTR_MASK provider_attr_mask,
					DAT_PROVIDER_ATTR *provider_attr);
typedef DAT_RETURN (*DAT_IA_CLOSE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);
typedef DAT_RETURN (*DAT_IA_MEMTYPE_HINT_FUNC)(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
					       DAT_VLEN length,
					       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
					       DAT_VLEN *preferred_length,
					       DAT_VADDR *preferred_alignment);
typedef DAT_RETURN (*DAT_IA_RESERVED_LMR_FUNC)(DAT_IA_HANDLE ia_handle,
					       DAT_LMR_HANDLE *reserved_lmr_handle,
					       DAT_LMR_CONTEXT *reserved_lmr_context);
typedef DAT_RETURN (*DAT_IA_HA_RELATED_FUNC)(DAT_IA_HANDLE ia_handle, const char *provider,
					     DAT_BOOLEAN *answer);
typedef DAT_RETURN (*DAT_SET_CONSUMER_CONTEXT_FUNC)(DAT_HANDLE dat_handle, DAT_CONTEXT context);
typedef DAT_RETURN (*DAT_GET_CONSUMER_CONTEXT_FUNC)(DAT_HANDLE dat_handle, DAT_CONTEXT *context);
typedef DAT_RETURN (*DAT_GET_HANDLE_TYPE_FUNC)(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type);
typedef DAT_RETURN (*DAT_CR_QUERY_FUNC)(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
					DAT_CR_PARAM *cr_param);
typedef DAT_RETURN (*DAT_CR_ACCEPT_FUNC)(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
					 DAT_COUNT private_data_size, const void *private_data);
typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
					 const void *private_data);
typedef DAT_RETURN (*DAT_CR_HANDOFF_FUNC)(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);
typedef DAT_RETURN (*DAT_EVD_KCREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
					   DAT_UPCALL_POLICY upcall_policy,
					   const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS evd_flags,
					   DAT_EVD_HANDLE *evd_handle);
typedef DAT_RETURN (*DAT_EVD_QUERY_FUNC)(DAT_EVD_HANDLE evd_handle,
					 DAT_EVD_PARAM_MASK evd_param_mask,
					 DAT_EVD_PARAM *evd_param);
typedef DAT_RETURN (*DAT_EVD_MODIFY_UPCALL_FUNC)(DAT_EVD_HANDLE evd_handle,
						 DAT_UPCALL_POLICY upcall_policy,
						 const DAT_UPCALL_OBJECT *upcall,
						 DAT_UPCALL_FLAG flags);
typedef DAT_RETURN (*DAT_EVD_RESIZE_FUNC)(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);
typedef DAT_RETURN (*DAT_EVD_POST_SE_FUNC)(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);
typedef DAT_RETURN (*DAT_EVD_DEQUEUE_FUNC)(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
typedef DAT_RETURN (*DAT_EVD_FREE_FUNC)(DAT_EVD_HANDLE evd_handle);
typedef DAT_RETURN (*DAT_EP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
					 DAT_EVD_HANDLE recv_evd_handle,
					 DAT_EVD_HANDLE request_evd_handle,
					 DAT_EVD_HANDLE connect_evd_handle,
					 const DAT_EP_ATTR *ep_attributes,
					 DAT_EP_HANDLE *ep_handle);
typedef DAT_RETURN (*DAT_EP_CREATE_WITH_SRQ_FUNC)(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
						  DAT_EVD_HANDLE recv_evd_handle,
						  DAT_EVD_HANDLE request_evd_handle,
						  DAT_EVD_HANDLE connect_evd_handle,
						  DAT_SRQ_HANDLE srq_handle,
						  const DAT_EP_ATTR *ep_attributes,
						  DAT_EP_HANDLE *ep_handle);
typedef DAT_RETURN (*DAT_EP_QUERY_FUNC)(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
					DAT_EP_PARAM *ep_param);
typedef DAT_RETURN (*DAT_EP_MODIFY_FUNC)(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
					 const DAT_EP_PARAM *ep_param);
typedef DAT_RETURN (*DAT_EP_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
					  DAT_IA_ADDRESS_PTR remote_ia_address,
					  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
					  DAT_COUNT private_data_size, const void *private_data,
					  DAT_QOS quality_of_service,
					  DAT_CONNECT_FLAGS connect_flags);
typedef DAT_RETURN (*DAT_EP_COMMON_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
						 DAT_IA_ADDRESS_PTR remote_ia_address,
						 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
						 const void *private_data);
typedef DAT_RETURN (*DAT_EP_DUP_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
					      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
					      const void *private_data, DAT_QOS quality_of_service);
typedef DAT_RETURN (*DAT_EP_DISCONNECT_FUNC)(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags);
typedef DAT_RETURN (*DAT_EP_POST_SEND_FUNC)(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC)(DAT_EP_HANDLE ep_handle,
			DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
			DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			DAT_BOOLEAN invalidate_flag, DAT_RMR_CONTEXT rmr_context);
typedef DAT_RETURN (*DAT_EP_POST_RECV_FUNC)(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_FUNC)(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
						 DAT_LMR_TRIPLET *local_iov,
						 DAT_DTO_COOKIE user_cookie,
						 const DAT_RMR_TRIPLET *remote_iov,
						 DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_TO_RMR_FUNC)(DAT_EP_HANDLE ep_handle,
							const DAT_RMR_TRIPLET *local_iov,
							DAT_DTO_COOKIE user_cookie,
							const DAT_RMR_TRIPLET *remote_iov,
							DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_WRITE_FUNC)(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
						  DAT_LMR_TRIPLET *local_iov,
						  DAT_DTO_COOKIE user_cookie,
						  const DAT_RMR_TRIPLET *remote_iov,
						  DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_GET_STATUS_FUNC)(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
					     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);
typedef DAT_RETURN (*DAT_EP_FREE_FUNC)(DAT_EP_HANDLE ep_handle);
typedef DAT_RETURN (*DAT_EP_RESET_FUNC)(DAT_EP_HANDLE ep_handle);
typedef DAT_RETURN (*DAT_EP_RECV_QUERY_FUNC)(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
					     DAT_COUNT *bufs_alloc_span);
typedef DAT_RETURN (*DAT_EP_SET_WATERMARK_FUNC)(DAT_EP_HANDLE ep_handle,
						DAT_COUNT soft_high_watermark,
						DAT_COUNT hard_high_watermark);
typedef DAT_RETURN (*DAT_LMR_KCREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
					   DAT_REGION_DESCRIPTION region_description,
					   DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
					   DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
					   DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
					   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
					   DAT_RMR_CONTEXT *rmr_context,
					   DAT_VLEN *registered_length,
					   DAT_VADDR *registered_address);
typedef DAT_RETURN (*DAT_LMR_QUERY_FUNC)(DAT_LMR_HANDLE lmr_handle,
					 DAT_LMR_PARAM_MASK lmr_param_mask,
					 DAT_LMR_PARAM *lmr_param);
typedef DAT_RETURN (*DAT_LMR_FREE_FUNC)(DAT_LMR_HANDLE lmr_handle);
typedef DAT_RETURN (*DAT_LMR_ALLOCATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
					    DAT_COUNT max_pages, DAT_LMR_SCOPE scope,
					    DAT_LMR_HANDLE *lmr_handle);
typedef DAT_RETURN (*DAT_LMR_FMR_FUNC)(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
				       DAT_REGION_DESCRIPTION region_description,
				       DAT_VLEN num_pages, DAT_MEM_PRIV_FLAGS mem_privileges,
				       DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
				       DAT_LMR_COOKIE user_cookie,
				       DAT_COMPLETION_FLAGS completion_flags,
				       DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context);
typedef DAT_RETURN (*DAT_LMR_INVALIDATE_FUNC)(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
					      DAT_LMR_COOKIE user_cookie,
					      DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_READ_FUNC)(DAT_IA_HANDLE ia_handle,
						  const DAT_LMR_TRIPLET *local_segments,
						  DAT_VLEN num_segments);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_WRITE_FUNC)(DAT_IA_HANDLE ia_handle,
						   const DAT_LMR_TRIPLET *local_segments,
						   DAT_VLEN num_segments);
typedef DAT_RETURN (*DAT_RMR_CREATE_FUNC)(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);
typedef DAT_RETURN (*DAT_RMR_CREATE_FOR_EP_FUNC)(DAT_PZ_HANDLE pz_handle,
						 DAT_RMR_HANDLE *rmr_handle);
typedef DAT_RETURN (*DAT_RMR_QUERY_FUNC)(DAT_RMR_HANDLE rmr_handle,
					 DAT_RMR_PARAM_MASK rmr_param_mask,
					 DAT_RMR_PARAM *rmr_param);
typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
					const DAT_LMR_TRIPLET *lmr_triplet,
					DAT_MEM_PRIV_FLAGS mem_priv, DAT_VA_TYPE va_type,
					DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
					DAT_COMPLETION_FLAGS completion_flags,
					DAT_RMR_CONTEXT *context);
typedef DAT_RETURN (*DAT_RMR_FREE_FUNC)(DAT_RMR_HANDLE rmr_handle);
typedef DAT_RETURN (*DAT_PSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
					  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
					  DAT_PSP_HANDLE *psp_handle);
typedef DAT_RETURN (*DAT_PSP_CREATE_ANY_FUNC)(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
					      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
					      DAT_PSP_HANDLE *psp_handle);
typedef DAT_RETURN (*DAT_PSP_QUERY_FUNC)(DAT_PSP_HANDLE psp_handle,
					 DAT_PSP_PARAM_MASK psp_param_mask,
					 DAT_PSP_PARAM *psp_param);
typedef DAT_RETURN (*DAT_PSP_FREE_FUNC)(DAT_PSP_HANDLE psp_handle);
typedef DAT_RETURN (*DAT_RSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
					  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
					  DAT_RSP_HANDLE *rsp_handle);
typedef DAT_RETURN (*DAT_RSP_QUERY_FUNC)(DAT_RSP_HANDLE rsp_handle,
					 DAT_RSP_PARAM_MASK rsp_param_mask,
					 DAT_RSP_PARAM *rsp_param);
typedef DAT_RETURN (*DAT_RSP_FREE_FUNC)(DAT_RSP_HANDLE rsp_handle);
typedef DAT_RETURN (*DAT_CSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_COMM *communicator,
					  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
					  DAT_CSP_HANDLE *csp_handle);
typedef DAT_RETURN (*DAT_CSP_QUERY_FUNC)(DAT_CSP_HANDLE csp_handle,
					 DAT_CSP_PARAM_MASK csp_param_mask,
					 DAT_CSP_PARAM *csp_param);
typedef DAT_RETURN (*DAT_CSP_FREE_FUNC)(DAT_CSP_HANDLE csp_handle);
typedef DAT_RETURN (*DAT_PZ_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);
typedef DAT_RETURN (*DAT_PZ_QUERY_FUNC)(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
					DAT_PZ_PARAM *pz_param);
typedef DAT_RETURN (*DAT_PZ_FREE_FUNC)(DAT_PZ_HANDLE pz_handle);
typedef DAT_RETURN (*DAT_SRQ_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
					  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);
typedef DAT_RETURN (*DAT_SRQ_QUERY_FUNC)(DAT_SRQ_HANDLE srq_handle,
					 DAT_SRQ_PARAM_MASK srq_param_mask,
					 DAT_SRQ_PARAM *srq_param);
typedef DAT_RETURN (*DAT_SRQ_RESIZE_FUNC)(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);
typedef DAT_RETURN (*DAT_SRQ_SET_LW_FUNC)(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);
typedef DAT_RETURN (*DAT_SRQ_POST_RECV_FUNC)(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie);
typedef DAT_RETURN (*DAT_SRQ_FREE_FUNC)(DAT_SRQ_HANDLE srq_handle);

struct dat_provider {
	const char *device_name;
	DAT_PVOID extension;

	DAT_IA_OPEN_FUNC ia_open_func;
	DAT_IA_QUERY_FUNC ia_query_func;
	DAT_IA_CLOSE_FUNC ia_close_func;
	DAT_IA_MEMTYPE_HINT_FUNC ia_memtype_hint_func;

	DAT_SET_CONSUMER_CONTEXT_FUNC set_consumer_context_func;
	DAT_GET_CONSUMER_CONTEXT_FUNC get_consumer_context_func;
	DAT_GET_HANDLE_TYPE_FUNC get_handle_type_func;

	DAT_CR_QUERY_FUNC cr_query_func;
	DAT_CR_ACCEPT_FUNC cr_accept_func;
	DAT_CR_REJECT_FUNC cr_reject_func;
	DAT_CR_HANDOFF_FUNC cr_handoff_func;

	DAT_EVD_KCREATE_FUNC evd_kcreate_func;
	DAT_EVD_QUERY_FUNC evd_query_func;
	DAT_EVD_MODIFY_UPCALL_FUNC evd_modify_upcall_func;
	DAT_EVD_RESIZE_FUNC evd_resize_func;
	DAT_EVD_POST_SE_FUNC evd_post_se_func;
	DAT_EVD_DEQUEUE_FUNC evd_dequeue_func;
	DAT_EVD_FREE_FUNC evd_free_func;

	DAT_EP_CREATE_FUNC ep_create_func;
	DAT_EP_QUERY_FUNC ep_query_func;
	DAT_EP_MODIFY_FUNC ep_modify_func;
	DAT_EP_CONNECT_FUNC ep_connect_func;
	DAT_EP_DUP_CONNECT_FUNC ep_dup_connect_func;
	DAT_EP_DISCONNECT_FUNC ep_disconnect_func;
	DAT_EP_POST_SEND_FUNC ep_post_send_func;
	DAT_EP_POST_RECV_FUNC ep_post_recv_func;
	DAT_EP_POST_RDMA_READ_FUNC ep_post_rdma_read_func;
	DAT_EP_POST_RDMA_WRITE_FUNC ep_post_rdma_write_func;
	DAT_EP_GET_STATUS_FUNC ep_get_status_func;
	DAT_EP_FREE_FUNC ep_free_func;

	DAT_LMR_KCREATE_FUNC lmr_kcreate_func;
	DAT_LMR_QUERY_FUNC lmr_query_func;
	DAT_LMR_FREE_FUNC lmr_free_func;

	DAT_RMR_CREATE_FUNC rmr_create_func;
	DAT_RMR_QUERY_FUNC rmr_query_func;
	DAT_RMR_BIND_FUNC rmr_bind_func;
	DAT_RMR_FREE_FUNC rmr_free_func;

	DAT_PSP_CREATE_FUNC psp_create_func;
	DAT_PSP_QUERY_FUNC psp_query_func;
	DAT_PSP_FREE_FUNC psp_free_func;

	DAT_RSP_CREATE_FUNC rsp_create_func;
	DAT_RSP_QUERY_FUNC rsp_query_func;
	DAT_RSP_FREE_FUNC rsp_free_func;

	DAT_PZ_CREATE_FUNC pz_create_func;
	DAT_PZ_QUERY_FUNC pz_query_func;
	DAT_PZ_FREE_FUNC pz_free_func;

	/* DAT 1.1 */
	DAT_PSP_CREATE_ANY_FUNC psp_create_any_func;
	DAT_EP_RESET_FUNC ep_reset_func;

	/* DAT 1.2 */
	DAT_LMR_SYNC_RDMA_READ_FUNC lmr_sync_rdma_read_func;
	DAT_LMR_SYNC_RDMA_WRITE_FUNC lmr_sync_rdma_write_func;
	DAT_EP_CREATE_WITH_SRQ_FUNC ep_create_with_srq_func;
	DAT_EP_RECV_QUERY_FUNC ep_recv_query_func;
	DAT_EP_SET_WATERMARK_FUNC ep_set_watermark_func;
	DAT_SRQ_CREATE_FUNC srq_create_func;
	DAT_SRQ_FREE_FUNC srq_free_func;
	DAT_SRQ_POST_RECV_FUNC srq_post_recv_func;
	DAT_SRQ_QUERY_FUNC srq_query_func;
	DAT_SRQ_RESIZE_FUNC srq_resize_func;
	DAT_SRQ_SET_LW_FUNC srq_set_lw_func;

	/* DAT 2.0 */
	DAT_CSP_CREATE_FUNC csp_create_func;
	DAT_CSP_QUERY_FUNC csp_query_func;
	DAT_CSP_FREE_FUNC csp_free_func;
	DAT_EP_COMMON_CONNECT_FUNC ep_common_connect_func;
	DAT_RMR_CREATE_FOR_EP_FUNC rmr_create_for_ep_func;
	DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC ep_post_send_with_invalidate_func;
	DAT_EP_POST_RDMA_READ_TO_RMR_FUNC ep_post_rdma_read_to_rmr_func;
	DAT_LMR_ALLOCATE_FUNC lmr_allocate_func;
	DAT_LMR_FMR_FUNC lmr_fmr_func;
	DAT_LMR_INVALIDATE_FUNC lmr_invalidate_func;
	DAT_IA_RESERVED_LMR_FUNC ia_reserved_lmr_func;
	DAT_HANDLE_EXTENDEDOP_FUNC handle_extendedop_func;
	DAT_IA_HA_RELATED_FUNC ia_ha_related_func;
};

#define DAT_HANDLE_TO_PROVIDER(handle)	(*(const DAT_PROVIDER **)(handle))

/*
 * Redirection: straight to the provider, without any check. Arguments as those of the function.
 */

#define DAT_REDIRECT(call, handle, ...) \
	(DAT_HANDLE_TO_PROVIDER(handle)->call##_func(handle, ##__VA_ARGS__))

#define DAT_IA_QUERY(...)		DAT_REDIRECT(ia_query, __VA_ARGS__)
#define DAT_IA_MEMTYPE_HINT(...)	DAT_REDIRECT(ia_memtype_hint, __VA_ARGS__)
#define DAT_IA_RESERVED_LMR(...)	DAT_REDIRECT(ia_reserved_lmr, __VA_ARGS__)
#define DAT_IA_HA_RELATED(...)		DAT_REDIRECT(ia_ha_related, __VA_ARGS__)
#define DAT_SET_CONSUMER_CONTEXT(...)	DAT_REDIRECT(set_consumer_context, __VA_ARGS__)
#define DAT_GET_CONSUMER_CONTEXT(...)	DAT_REDIRECT(get_consumer_context, __VA_ARGS__)
#define DAT_GET_HANDLE_TYPE(...)	DAT_REDIRECT(get_handle_type, __VA_ARGS__)
#define DAT_CR_QUERY(...)		DAT_REDIRECT(cr_query, __VA_ARGS__)
#define DAT_CR_ACCEPT(...)		DAT_REDIRECT(cr_accept, __VA_ARGS__)
#define DAT_CR_REJECT(...)		DAT_REDIRECT(cr_reject, __VA_ARGS__)
#define DAT_CR_HANDOFF(...)		DAT_REDIRECT(cr_handoff, __VA_ARGS__)
#define DAT_EVD_KCREATE(...)		DAT_REDIRECT(evd_kcreate, __VA_ARGS__)
#define DAT_EVD_MODIFY_UPCALL(...)	DAT_REDIRECT(evd_modify_upcall, __VA_ARGS__)
#define DAT_EVD_QUERY(...)		DAT_REDIRECT(evd_query, __VA_ARGS__)
#define DAT_EVD_RESIZE(...)		DAT_REDIRECT(evd_resize, __VA_ARGS__)
#define DAT_EVD_POST_SE(...)		DAT_REDIRECT(evd_post_se, __VA_ARGS__)
#define DAT_EVD_DEQUEUE(...)		DAT_REDIRECT(evd_dequeue, __VA_ARGS__)
#define DAT_EVD_FREE(...)		DAT_REDIRECT(evd_free, __VA_ARGS__)
#define DAT_EP_CREATE(...)		DAT_REDIRECT(ep_create, __VA_ARGS__)
#define DAT_EP_CREATE_WITH_SRQ(...)	DAT_REDIRECT(ep_create_with_srq, __VA_ARGS__)
#define DAT_EP_QUERY(...)		DAT_REDIRECT(ep_query, __VA_ARGS__)
#define DAT_EP_MODIFY(...)		DAT_REDIRECT(ep_modify, __VA_ARGS__)
#define DAT_EP_CONNECT(...)		DAT_REDIRECT(ep_connect, __VA_ARGS__)
#define DAT_EP_COMMON_CONNECT(...)	DAT_REDIRECT(ep_common_connect, __VA_ARGS__)
#define DAT_EP_DUP_CONNECT(...)		DAT_REDIRECT(ep_dup_connect, __VA_ARGS__)
#define DAT_EP_DISCONNECT(...)		DAT_REDIRECT(ep_disconnect, __VA_ARGS__)
#define DAT_EP_POST_SEND(...)		DAT_REDIRECT(ep_post_send, __VA_ARGS__)
#define DAT_EP_POST_SEND_WITH_INVALIDATE(...) \
	DAT_REDIRECT(ep_post_send_with_invalidate, __VA_ARGS__)
#define DAT_EP_POST_RECV(...)		DAT_REDIRECT(ep_post_recv, __VA_ARGS__)
#define DAT_EP_POST_RDMA_READ(...)	DAT_REDIRECT(ep_post_rdma_read, __VA_ARGS__)
#define DAT_EP_POST_RDMA_READ_TO_RMR(...) \
	DAT_REDIRECT(ep_post_rdma_read_to_rmr, __VA_ARGS__)
#define DAT_EP_POST_RDMA_WRITE(...)	DAT_REDIRECT(ep_post_rdma_write, __VA_ARGS__)
#define DAT_EP_GET_STATUS(...)		DAT_REDIRECT(ep_get_status, __VA_ARGS__)
#define DAT_EP_FREE(...)		DAT_REDIRECT(ep_free, __VA_ARGS__)
#define DAT_EP_RESET(...)		DAT_REDIRECT(ep_reset, __VA_ARGS__)
#define DAT_EP_RECV_QUERY(...)		DAT_REDIRECT(ep_recv_query, __VA_ARGS__)
#define DAT_EP_SET_WATERMARK(...)	DAT_REDIRECT(ep_set_watermark, __VA_ARGS__)
#define DAT_LMR_KCREATE(...)		DAT_REDIRECT(lmr_kcreate, __VA_ARGS__)
#define DAT_LMR_QUERY(...)		DAT_REDIRECT(lmr_query, __VA_ARGS__)
#define DAT_LMR_FREE(...)		DAT_REDIRECT(lmr_free, __VA_ARGS__)
#define DAT_LMR_ALLOCATE(...)		DAT_REDIRECT(lmr_allocate, __VA_ARGS__)
#define DAT_LMR_FMR(...)		DAT_REDIRECT(lmr_fmr, __VA_ARGS__)
#define DAT_LMR_INVALIDATE(...)		DAT_REDIRECT(lmr_invalidate, __VA_ARGS__)
#define DAT_LMR_SYNC_RDMA_READ(...)	DAT_REDIRECT(lmr_sync_rdma_read, __VA_ARGS__)
#define DAT_LMR_SYNC_RDMA_WRITE(...)	DAT_REDIRECT(lmr_sync_rdma_write, __VA_ARGS__)
#define DAT_RMR_CREATE(...)		DAT_REDIRECT(rmr_create, __VA_ARGS__)
#define DAT_RMR_CREATE_FOR_EP(...)	DAT_REDIRECT(rmr_create_for_ep, __VA_ARGS__)
#define DAT_RMR_QUERY(...)		DAT_REDIRECT(rmr_query, __VA_ARGS__)
#define DAT_RMR_BIND(...)		DAT_REDIRECT(rmr_bind, __VA_ARGS__)
#define DAT_RMR_FREE(...)		DAT_REDIRECT(rmr_free, __VA_ARGS__)
#define DAT_PSP_CREATE(...)		DAT_REDIRECT(psp_create, __VA_ARGS__)
#define DAT_PSP_CREATE_ANY(...)		DAT_REDIRECT(psp_create_any, __VA_ARGS__)
#define DAT_PSP_QUERY(...)		DAT_REDIRECT(psp_query, __VA_ARGS__)
#define DAT_PSP_FREE(...)		DAT_REDIRECT(psp_free, __VA_ARGS__)
#define DAT_RSP_CREATE(...)		DAT_REDIRECT(rsp_create, __VA_ARGS__)
#define DAT_RSP_QUERY(...)		DAT_REDIRECT(rsp_query, __VA_ARGS__)
#define DAT_RSP_FREE(...)		DAT_REDIRECT(rsp_free, __VA_ARGS__)
#define DAT_CSP_CREATE(...)		DAT_REDIRECT(csp_create, __VA_ARGS__)
#define DAT_CSP_QUERY(...)		DAT_REDIRECT(csp_query, __VA_ARGS__)
#define DAT_CSP_FREE(...)		DAT_REDIRECT(csp_free, __VA_ARGS__)
#define DAT_PZ_CREATE(...)		DAT_REDIRECT(pz_create, __VA_ARGS__)
#define DAT_PZ_QUERY(...)		DAT_REDIRECT(pz_query, __VA_ARGS__)
#define DAT_PZ_FREE(...)		DAT_REDIRECT(pz_free, __VA_ARGS__)
#define DAT_SRQ_CREATE(...)		DAT_REDIRECT(srq_create, __VA_ARGS__)
#define DAT_SRQ_QUERY(...)		DAT_REDIRECT(srq_query, __VA_ARGS__)
#define DAT_SRQ_RESIZE(...)		DAT_REDIRECT(srq_resize, __VA_ARGS__)
#define DAT_SRQ_SET_LW(...)		DAT_REDIRECT(srq_set_lw, __VA_ARGS__)
#define DAT_SRQ_POST_RECV(...)		DAT_REDIRECT(srq_post_recv, __VA_ARGS__)
#define DAT_SRQ_FREE(...)		DAT_REDIRECT(srq_free, __VA_ARGS__)

/*
 * Extensions: named attributes among the provider specific ones
 */

#define DAT_EXTENSION_ATTR		 "DAT_EXTENSION_INTERFACE"
#define DAT_EXTENSION_ATTR_VERSION	 "DAT_EXTENSION_VERSION"
#define DAT_EXTENSION_ATTR_VERSION_VALUE "2.0.1"

/*
 * IB extension: immediate data and atomic operations, RFC 7306 with iWARP. Values as those of its
 * version 2.0.9, without unreliable datagrams, counters and collective operations.
 */

#define DAT_IB_EXTENSION_VERSION	209
#define DAT_IB_ATTR_FETCH_AND_ADD	"DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_CMP_AND_SWAP	"DAT_IB_CMP_AND_SWAP"
#define DAT_IB_ATTR_IMMED_DATA		"DAT_IB_IMMED_DATA"

typedef enum dat_ib_event_number {
	DAT_IB_DTO_EVENT	= DAT_IB_EXTENSION_RANGE_BASE,
} DAT_IB_EVENT_NUMBER;

typedef enum dat_ib_op {
	DAT_IB_FETCH_AND_ADD_OP,
	DAT_IB_CMP_AND_SWAP_OP,
	DAT_IB_RDMA_WRITE_IMMED_OP,
} DAT_IB_OP;

typedef enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD,
	DAT_IB_CMP_AND_SWAP,
	DAT_IB_RDMA_WRITE_IMMED,	/* the writer's completion */
	DAT_IB_RDMA_WRITE_IMMED_DATA,	/* the peer's receive completion, after a Write */
	DAT_IB_RECV_IMMED_DATA,		/* the peer's receive completion, of immediate data only */
} DAT_IB_EXT_TYPE;

typedef enum dat_ib_status {
	DAT_OP_SUCCESS	= DAT_SUCCESS,
	DAT_IB_OP_ERR,
} DAT_IB_STATUS;

typedef enum dat_ib_return {
	DAT_IB_ERR	= DAT_EXTENSION_BASE,
} DAT_IB_RETURN;

/* as DAT_DTOS in completions */
typedef enum dat_ib_dtos {
	DAT_IB_DTO_RDMA_WRITE_IMMED	= DAT_DTO_EXTENSION_BASE,
	DAT_IB_DTO_RECV_IMMED,
	DAT_IB_DTO_FETCH_ADD,
	DAT_IB_DTO_CMP_SWAP,
	DAT_IB_DTO_RECV_MSG_IMMED,
} DAT_IB_DTOS;

typedef enum dat_ib_handle_type {
	DAT_IB_HANDLE_TYPE_EXT	= DAT_HANDLE_TYPE_EXTENSION_BASE,
} DAT_IB_HANDLE_TYPE;

typedef enum dat_ib_evd_extension_flags {
	DAT_IB_EVD_EXTENSION_FLAG	= DAT_EVD_EXTENSION_BASE,
} DAT_IB_EVD_EXTENSION_FLAGS;

/* as DAT_MEM_PRIV_FLAGS */
typedef enum dat_ib_mem_priv_flags {
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC	= DAT_MEM_PRIV_EXTENSION_BASE,
} DAT_IB_MEM_PRIV_FLAGS;

typedef struct dat_ib_immed_data {
	DAT_UINT32 data;
} DAT_IB_IMMED_DATA;

/* event_extension_data of an event with the number DAT_IB_DTO_EVENT */
typedef struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE type;
	DAT_IB_STATUS status;
	union {
		DAT_IB_IMMED_DATA immed;
	} val;
	DAT_CONTEXT context;
} DAT_IB_EXTENSION_EVENT_DATA;

static_assert(sizeof(DAT_IB_EXTENSION_EVENT_DATA) <=
	      sizeof(((DAT_EVENT *)NULL)->event_extension_data));

/**
 * dat_ib_post_fetch_and_add() - post an atomic addition to 64 bits of the peer
 * @ep_handle: connected EP
 * @add_value: what is added
 * @local_iov: one segment of 8 bytes, for the old value
 * @user_cookie: for the completion (DAT_IB_DTO_EVENT)
 * @remote_iov: the peer's 8 bytes, aligned to 8 bytes
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: as dat_ep_post_send(), or DAT_MODEL_NOT_SUPPORTED. Context: any but hard interrupt.
 */
static inline DAT_RETURN
dat_ib_post_fetch_and_add(DAT_EP_HANDLE ep_handle, DAT_UINT64 add_value,
			  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			  const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags)
{
	return dat_extension_op(ep_handle, DAT_IB_FETCH_AND_ADD_OP, add_value, local_iov,
				user_cookie, remote_iov, completion_flags);
}

/**
 * dat_ib_post_cmp_and_swap() - post an atomic comparison and exchange of 64 bits of the peer
 * @ep_handle: connected EP
 * @cmp_value: what the old value has to be
 * @swap_value: the new value
 * @local_iov: one segment of 8 bytes, for the old value
 * @user_cookie: for the completion (DAT_IB_DTO_EVENT)
 * @remote_iov: the peer's 8 bytes, aligned to 8 bytes
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: as dat_ep_post_send(), or DAT_MODEL_NOT_SUPPORTED. Context: any but hard interrupt.
 */
static inline DAT_RETURN
dat_ib_post_cmp_and_swap(DAT_EP_HANDLE ep_handle, DAT_UINT64 cmp_value, DAT_UINT64 swap_value,
			 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			 const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags)
{
	return dat_extension_op(ep_handle, DAT_IB_CMP_AND_SWAP_OP, cmp_value, swap_value,
				local_iov, user_cookie, remote_iov, completion_flags);
}

/**
 * dat_ib_post_rdma_write_immed() - post an RDMA Write with immediate data
 * @ep_handle: connected EP
 * @num_segments: segments of @local_iov
 * @local_iov: the data
 * @user_cookie: for the completion (DAT_IB_DTO_EVENT)
 * @remote_iov: the peer's memory, as long as @local_iov
 * @immed_data: completes a receive of the peer
 * @completion_flags: see DAT_COMPLETION_FLAGS
 *
 * Return: as dat_ep_post_send(), or DAT_MODEL_NOT_SUPPORTED. Context: any but hard interrupt.
 */
static inline DAT_RETURN
dat_ib_post_rdma_write_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     const DAT_RMR_TRIPLET *remote_iov, DAT_UINT32 immed_data,
			     DAT_COMPLETION_FLAGS completion_flags)
{
	return dat_extension_op(ep_handle, DAT_IB_RDMA_WRITE_IMMED_OP, num_segments, local_iov,
				user_cookie, remote_iov, immed_data, completion_flags);
}

/*
 * iWARP extension: connected stream sockets become RDMA connections
 */

#define DAT_IW_EXTENSION_VERSION	201
#define DAT_IW_ATTR_SSP			"DAT_IW_ATTR_SSP"

typedef enum dat_handle_iw_ext_type {
	DAT_IW_HANDLE_TYPE_SSP	= DAT_HANDLE_TYPE_EXTENSION_BASE,
} DAT_HANDLE_IW_EXT_TYPE;

typedef DAT_HANDLE DAT_IW_SSP_HANDLE;
typedef struct socket *DAT_IW_SOCKET;

typedef enum dat_iw_ssp_state {
	DAT_IW_SSP_STATE_OPERATIONAL,
	DAT_IW_SSP_STATE_NON_OPERATIONAL,
} DAT_IW_SSP_STATE;

typedef struct dat_iw_ssp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_IW_SOCKET socket_id;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
	DAT_IW_SSP_STATE ssp_state;
} DAT_IW_SSP_PARAM;

typedef enum dat_iw_ssp_param_mask {
	DAT_IW_SSP_FIELD_IA_HANDLE	= 0x01,
	DAT_IW_SSP_FIELD_SOCKET_ID	= 0x02,
	DAT_IW_SSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_IW_SSP_FIELD_EP_HANDLE	= 0x08,
	DAT_IW_SSP_FIELD_SSP_STATE	= 0x10,
	DAT_IW_SSP_FIELD_ALL		= 0x1F,
} DAT_IW_SSP_PARAM_MASK;

/* the handle's type distinguishes them from DAT_IB_OP */
typedef enum dat_iw_op {
	DAT_IW_SSP_CREATE_OP,		/* IA */
	DAT_IW_SSP_FREE_OP,		/* SSP */
	DAT_IW_SSP_QUERY_OP,		/* SSP */
	DAT_IW_SOCKET_CONNECT_OP,	/* EP */
} DAT_IW_OP;

/**
 * dat_iw_ssp_create() - wait for the MPA Request of a connected socket's peer
 * @ia_handle: IA
 * @socket_id: connected TCP socket; the provider's from now on
 * @ep_handle: unconnected EP for the connection, or NULL: dat_cr_accept() names one
 * @evd_handle: EVD for the connection request
 * @final_sm_msg: last message in streaming mode, sent first; NULL if there is none
 * @final_sm_msg_len: its bytes
 * @ssp_handle: the new SSP
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_MODEL_NOT_SUPPORTED. After an error the socket is the caller's as before. Context: may sleep.
 */
static inline DAT_RETURN
dat_iw_ssp_create(DAT_IA_HANDLE ia_handle, DAT_IW_SOCKET socket_id, DAT_EP_HANDLE ep_handle,
		  DAT_EVD_HANDLE evd_handle, const void *final_sm_msg, DAT_COUNT final_sm_msg_len,
		  DAT_IW_SSP_HANDLE *ssp_handle)
{
	return dat_extension_op(ia_handle, DAT_IW_SSP_CREATE_OP, socket_id, ep_handle, evd_handle,
				final_sm_msg, final_sm_msg_len, ssp_handle);
}

/**
 * dat_iw_ssp_free() - end an SSP
 * @ssp_handle: SSP
 *
 * Return: DAT_SUCCESS. Context: may sleep.
 */
static inline DAT_RETURN dat_iw_ssp_free(DAT_IW_SSP_HANDLE ssp_handle)
{
	return dat_extension_op(ssp_handle, DAT_IW_SSP_FREE_OP);
}

/**
 * dat_iw_ssp_query() - ask for parameters of an SSP
 * @ssp_handle: SSP
 * @ssp_param_mask: what to fill
 * @ssp_param: filled
 *
 * Return: DAT_SUCCESS or DAT_INVALID_PARAMETER. Context: any but hard interrupt.
 */
static inline DAT_RETURN
dat_iw_ssp_query(DAT_IW_SSP_HANDLE ssp_handle, DAT_IW_SSP_PARAM_MASK ssp_param_mask,
		 DAT_IW_SSP_PARAM *ssp_param)
{
	return dat_extension_op(ssp_handle, DAT_IW_SSP_QUERY_OP, ssp_param_mask, ssp_param);
}

/**
 * dat_iw_socket_connect() - begin a connection over a connected socket
 * @ep_handle: unconnected EP
 * @socket_id: connected TCP socket; the provider's from now on
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes
 * @private_data: for the peer, copied
 *
 * One connection event reports the result.
 *
 * Return: DAT_SUCCESS (begun), DAT_INVALID_STATE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED. After an error the socket is the caller's as
 * before. Context: may sleep.
 */
static inline DAT_RETURN
dat_iw_socket_connect(DAT_EP_HANDLE ep_handle, DAT_IW_SOCKET socket_id, DAT_TIMEOUT timeout,
		      DAT_COUNT private_data_size, const void *private_data)
{
	return dat_extension_op(ep_handle, DAT_IW_SOCKET_CONNECT_OP, socket_id, timeout,
				private_data_size, private_data);
}

#endif /* KRDMA_KDAT_H */
