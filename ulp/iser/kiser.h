/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * iSER initiator (RFC 7145) on kDAPL: what its files share.
 *
 * - main.c: the module, its parameters, the transport that libiscsi sees
 * - session.c: hosts, sessions, parameters
 * - conn.c: connections: an endpoint of open-iscsi is an IA, an EP and their EVDs
 * - route.c: which IA leads to a target
 * - buffer.c: buffers of PDUs, regions of commands
 * - send.c: tasks to PDUs
 * - receive.c: completions
 *
 * A connection owns one buffer for each receive, and for each task of its session (by the task's
 * index) one buffer to send from and one region for the data of a SCSI command. A command's data
 * is registered in the request before the command itself. The target's response invalidates the
 * region; if it does not, the response waits until the initiator has done so: a SCSI command
 * never completes while the target can reach its memory.
 *
 * Writes that fit into immediate data travel behind the command's header: from where they are, if
 * the IA has an LMR for physical addresses, else from a copy. All other data moves by RDMA.
 * Unsolicited Data-Out PDUs are never sent.
 *
 * libiscsi takes iscsi_session.frwd_lock to send, and iscsi_session.back_lock to complete. Either
 * is enough to use iscsi_conn.dd_data, the struct kiser_conn; both are held to clear it.
 */
#ifndef KISER_H
#define KISER_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <scsi/iscsi_proto.h>
#include <scsi/iser.h>
#include <scsi/libiscsi.h>
#include <scsi/scsi_transport_iscsi.h>

#include <krdma/kdat.h>

#define KISER_IMMEDIATE		ISCSI_DEF_MAX_RECV_SEG_LEN	/* most bytes of immediate data */
#define KISER_RECEIVE_DATA	384	/* bytes of data that a response may bring: sense data */
#define KISER_LOGIN_BUFFERS	2	/* receives while a connection logs in */
#define KISER_UNSOLICITED	16	/* receives for PDUs that answer no task */
#define KISER_MAX_SECTORS	1024	/* of 512 bytes in a command */
#define KISER_MAX_COMMANDS	512

/* An iSER message with an iSCSI PDU in it. */
struct kiser_pdu {
	struct iser_ctrl iser;
	struct iscsi_hdr iscsi;
	u8 data[];
} __packed;

/**
 * struct kiser_chunk - registered memory
 * @memory: KISER_CHUNK bytes
 * @lmr: LMR of it
 * @context: for local segments
 * @address: of @memory in such segments
 */
struct kiser_chunk {
	void *memory;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_VADDR address;
};

#define KISER_CHUNK	65536
#define KISER_SEGMENTS	4	/* of a message: headers, and immediate data of up to 3 pages */

/**
 * struct kiser_pool - buffers of the same size
 * @size: of a buffer, bytes
 * @stride: from one buffer to the next, bytes
 * @per_chunk: buffers in a chunk
 * @num_chunks: chunks
 * @chunks: chunks
 */
struct kiser_pool {
	u32 size;
	u32 stride;
	u32 per_chunk;
	u32 num_chunks;
	struct kiser_chunk *chunks;
};

/**
 * struct kiser_receive - a receive
 * @pdu: buffer
 * @segment: the same
 * @data: bytes of data that came with the PDU
 */
struct kiser_receive {
	struct kiser_pdu *pdu;
	DAT_LMR_TRIPLET segment;
	u32 data;
};

/** enum kiser_region_state - see struct kiser_region */
enum kiser_region_state {
	KISER_REGION_FREE,
	KISER_REGION_VALID,		/* the target may use it */
	KISER_REGION_INVALIDATING,	/* an invalidation is posted */
};

/**
 * struct kiser_region - data of a SCSI command
 * @lmr: LMR for fast registrations
 * @state: enum kiser_region_state; the thread that changes it from VALID does what follows
 * @context: names the memory to the target
 * @receive: response that waits for the invalidation, or NULL
 */
struct kiser_region {
	DAT_LMR_HANDLE lmr;
	atomic_t state;
	DAT_RMR_CONTEXT context;
	struct kiser_receive *receive;
};

/** enum kiser_conn_state - states of a connection */
enum kiser_conn_state {
	KISER_CONNECTING,
	KISER_UP,
	KISER_DOWN,
};

/**
 * struct kiser_conn - a connection; the private part of an iscsi_endpoint
 * @ep: endpoint of open-iscsi
 * @node: in the list of all connections
 * @remote: the target's address
 * @state: enum kiser_conn_state
 * @error: why the attempt failed: a negative errno
 * @settled: the attempt has ended
 * @down: the connection has ended: the target cannot reach any memory
 * @mutex: protects @iscsi and @closing; completions use @iscsi without it, see kiser_conn_bind()
 * @iscsi: connection of libiscsi, NULL: not bound
 * @closing: the endpoint is being disconnected
 * @failure: reports the failed connection to libiscsi
 * @cut: @failure ends the connection first
 * @ia: interface adapter, of this connection alone
 * @async_evd: its asynchronous events
 * @conn_evd: connection events; calls up in process context
 * @dto_evd: completions; calls up in softirq context
 * @pz: protection zone
 * @dat_ep: endpoint of kDAPL
 * @max_commands: tasks that the EP's queues hold
 * @max_pages: pages of a command's data, of which the first and the last may be cut
 * @max_segments: elements of data that a message can have in place; 0: it is copied
 * @physical: context of the LMR for physical addresses
 * @syncs: buffers have to be synchronised with the IA
 * @remote_invalidation: the target invalidates regions with its responses
 * @full_feature: the login has ended, and all receives are posted
 * @num_tasks: tasks of the session
 * @sends: buffers to send from, by the task's index
 * @regions: regions, by the task's index
 * @login: buffers of the first @receives, which hold whole login PDUs
 * @small: buffers of the others
 * @num_receives: receives
 * @receives: receives
 * @invalidating: regions whose invalidation is posted
 */
struct kiser_conn {
	struct iscsi_endpoint *ep;
	struct list_head node;
	struct sockaddr_storage remote;
	int state;
	int error;
	struct completion settled;
	struct completion down;
	struct mutex mutex;	/* protects iscsi, closing */
	struct iscsi_conn *iscsi;
	bool closing;
	struct work_struct failure;
	bool cut;

	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE dto_evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE dat_ep;
	u32 max_commands;
	u32 max_pages;
	u32 max_segments;
	DAT_LMR_CONTEXT physical;
	bool syncs;
	bool remote_invalidation;
	bool full_feature;

	u32 num_tasks;
	struct kiser_pool sends;
	struct kiser_region *regions;
	struct kiser_pool login;
	struct kiser_pool small;
	u32 num_receives;
	struct kiser_receive *receives;
	atomic_t invalidating;
};

/** struct kiser_task - the private part of an iscsi_task: @header is its PDU's */
struct kiser_task {
	struct iscsi_hdr header;
};

/* main.c */
extern unsigned int kiser_max_sectors;
extern unsigned int kiser_max_commands;
extern char *kiser_ia;
extern struct iscsi_transport kiser_transport;
extern struct scsi_transport_template *kiser_template;

/* session.c */
bool kiser_session_set_name(const char *transport);
struct iscsi_cls_session *kiser_session_create(struct iscsi_endpoint *ep, u16 commands,
					       u16 depth, u32 cmdsn);
void kiser_session_destroy(struct iscsi_cls_session *session);
struct iscsi_cls_conn *kiser_session_add_conn(struct iscsi_cls_session *session, u32 cid);
int kiser_session_set_param(struct iscsi_cls_conn *conn, enum iscsi_param param, char *value,
			    int length);
void kiser_session_stats(struct iscsi_cls_conn *conn, struct iscsi_stats *stats);
umode_t kiser_session_visible(int type, int param);

/* conn.c */
struct iscsi_endpoint *kiser_conn_connect(struct Scsi_Host *host, struct sockaddr *to,
					  int non_blocking);
int kiser_conn_poll(struct iscsi_endpoint *ep, int timeout_ms);
void kiser_conn_disconnect(struct iscsi_endpoint *ep);
int kiser_conn_ep_param(struct iscsi_endpoint *ep, enum iscsi_param param, char *value);
int kiser_conn_bind(struct iscsi_cls_session *session, struct iscsi_cls_conn *cls_conn,
		    u64 handle, int leading);
void kiser_conn_close_all(void);
void kiser_conn_wait_ends(void);
int kiser_conn_init(void);
void kiser_conn_exit(void);
/* Tell libiscsi, later, that the connection failed. Any context. */
void kiser_conn_fail(struct kiser_conn *kc);
/* The same, and end the connection abruptly before. Any context. */
void kiser_conn_cut(struct kiser_conn *kc);
/* An error of kDAPL as errno. */
int kiser_conn_errno(DAT_RETURN ret);

/* route.c */
/* Open the IA that leads to @to. May sleep. */
int kiser_route_open(const struct sockaddr_storage *to, DAT_IA_HANDLE *ia,
		     DAT_EVD_HANDLE *async_evd);

/* buffer.c */
/* Make what a session of @num_tasks tasks needs. May sleep. */
int kiser_buffer_alloc(struct kiser_conn *kc, u32 num_tasks);
void kiser_buffer_free(struct kiser_conn *kc);
/* Return: buffer @index of @pool; @segment takes its place. */
void *kiser_buffer_get(const struct kiser_pool *pool, u32 index, DAT_LMR_TRIPLET *segment);
int kiser_buffer_map(struct kiser_conn *kc, struct kiser_region *region, struct scsi_cmnd *sc,
		     DAT_VADDR *address);
/*
 * Invalidate @region if it is valid; then @receive, if there is one, is delivered when that has
 * happened. Any context. Return: false: it is not valid (any more), nothing was done.
 */
bool kiser_buffer_unmap(struct kiser_conn *kc, struct kiser_region *region,
			struct kiser_receive *receive);

/* send.c */
int kiser_send_alloc_pdu(struct iscsi_task *task, u8 opcode);
int kiser_send_task(struct iscsi_task *task);
void kiser_send_cleanup_task(struct iscsi_task *task);

/* receive.c */
int kiser_receive_post(struct kiser_conn *kc, struct kiser_receive *receive);
void kiser_receive_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more);

#endif /* KISER_H */
