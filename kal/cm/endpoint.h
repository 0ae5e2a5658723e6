/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Endpoints, for the files of the connection manager:
 *
 * - endpoint.c: creation and release, incoming connections
 * - ep_table.c: the state table
 * - lanes.c: signals, and the workers that make inputs of them
 * - ep_calls.c, ep_view.c: the calls of the consumer and of the administrator
 * - startup.c: actions of the MPA start-up
 * - offload.c: actions of connections that the RNIC makes itself
 * - handover.c: the endpoint's QP and the hand-over of the stream
 * - pending.c: a listener's connections that the consumer does not know yet
 * - listen.c: listeners and the sources of incoming connections
 */
#ifndef KAL_ENDPOINT_H
#define KAL_ENDPOINT_H

#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/timer.h>

#include "../core/core.h"
#include "cm.h"
#include "llp.h"
#include "mpa.h"
#include "policy.h"

struct kal_lane;
struct kal_listener;
struct kal_peer;

/** enum kal_ep_state - state of an endpoint; the names are in ep_table.c */
enum kal_ep_state {
	KAL_EP_IDLE,
	KAL_EP_LISTENING,
	KAL_EP_CONNECTING,	/* active: TCP connects */
	KAL_EP_REPLY_WAIT,	/* active: Request sent */
	KAL_EP_REQUEST_WAIT,	/* passive: TCP is up */
	KAL_EP_REQUEST_READY,	/* passive: the Request waits for the listener's lock */
	KAL_EP_DECISION_WAIT,	/* passive: the consumer has the Request */
	KAL_EP_ACCEPTING,	/* passive: the RNIC was told to accept */
	KAL_EP_CONNECTED,	/* the provider owns the stream */
	KAL_EP_CLOSING,		/* ... and was told to end the stream */
	KAL_EP_DEAD,
	KAL_EP_STATES,
};

/** enum kal_ep_input - input of the state table; the names are in ep_table.c */
enum kal_ep_input {
	/* the consumer's calls */
	KAL_EP_IN_LISTEN,
	KAL_EP_IN_CONNECT,
	KAL_EP_IN_ACCEPT,
	KAL_EP_IN_REJECT,
	KAL_EP_IN_DISCONNECT,
	KAL_EP_IN_ABORT,
	/* the socket */
	KAL_EP_IN_UP,
	KAL_EP_IN_DATA,
	KAL_EP_IN_DOWN,
	/* the provider gave the stream back */
	KAL_EP_IN_LLP_CLOSE,
	KAL_EP_IN_LLP_ABORT,
	/* an RNIC that makes connections itself */
	KAL_EP_IN_CONN_UP,
	KAL_EP_IN_CONN_DOWN,
	/* the listener */
	KAL_EP_IN_DELIVER,
	KAL_EP_IN_EVICT,
	/* the endpoint itself */
	KAL_EP_IN_TIMEOUT,
	KAL_EP_IN_FALLBACK,
	KAL_EP_IN_FAIL,
	KAL_EP_INPUTS,
};

/**
 * struct kal_startup - data that is only needed before CONNECTED
 * @local: own side of the negotiation
 * @req: Request
 * @rep: Reply
 * @from: active: address to connect from
 * @to: active: address to connect to
 * @adopted: active: the stream was a consumer's socket, so there is no second attempt
 * @latest: active: the consumer's limit for all deadlines; 0: none
 * @error: error of a read after which the stream is broken
 * @pd_len: length of @pd in bytes
 * @rx_len: bytes in @rx
 * @pd: active: own private data
 * @rx: peer's frame
 * @tx: own frame
 */
struct kal_startup {
	struct kal_mpa_local local;
	struct kal_mpa_frame req;
	struct kal_mpa_frame rep;
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	bool adopted;
	unsigned long latest;
	int error;
	u16 pd_len;
	u16 rx_len;
	u8 pd[KAL_MPA_PD_MAX];
	u8 rx[KAL_MPA_FRAME_MAX];
	u8 tx[KAL_MPA_FRAME_MAX];
};

/**
 * struct kal_pending - connections of a listener that the consumer does not know; pending.c
 * @lock: protects all members
 * @count: number of connections
 * @peers: one struct kal_peer for each address that has silent connections
 * @ready: connections whose Request has arrived, in order of arrival
 */
struct kal_pending {
	spinlock_t lock;	/* protects all members */
	unsigned int count;
	struct list_head peers;
	struct list_head ready;
};

/**
 * struct kal_ep - an endpoint
 * @kref: the owner (the consumer; the kAL until a child is delivered) has a reference. The
 *	lane has one while the endpoint is in it, the provider has one while it owns the
 *	stream.
 * @rnic: RNIC, with a reference
 * @node: entry in the list of the RNIC's live endpoints, until DEAD; eps_lock
 * @id: number in the table of endpoints, until DEAD; else 0
 * @owner: process that made it; of an incoming connection the listener's
 * @net: cookie of the namespace that sees it; 0: not known yet
 * @signals: bits for the lane's worker, atomic
 * @queued: the endpoint is in @lane, with a reference, and @signals are to be processed
 * @lane: lane whose worker processes the endpoint; changes in state IDLE only
 * @lane_node: entry in kal_lane.eps; the lane's lock
 * @timer: sets a signal
 * @ended: completed when DEAD, after all events were reported
 * @lock: held for each input and while the handler runs; protects all members below. Only
 *	consumers wait for it: a user thread may hold it for as long as the scheduler likes.
 *	Workers only try to take it, and kal_ep_unlock() queues the endpoint for them again.
 * @handler: consumer's handler
 * @context: argument of @handler
 * @state: enum kal_ep_state
 * @deadline: deadline of the state in jiffies, 0: none
 * @busy: the provider could not take the QP to its next state without waiting; the timer
 *	examines the socket again
 * @error: reason for DEAD, for the consumer's next call
 * @polite: end the stream with FIN instead of RST
 * @conn: connection or listener of an RNIC that makes connections itself, until DEAD; else NULL
 * @llp: stream, or NULL
 * @llp_status: provider's status when it gave the stream back
 * @llp_aborted: the provider wants the stream reset
 * @qp: QP with a reference, from connect or accept until DEAD
 * @qp_free: the end is being reported, so another endpoint may take @qp; handover.c
 * @startup: data of the MPA start-up, NULL outside of it
 * @arg: arguments of the consumer's call that is the current input
 * @parent: listener of a child that is not delivered, with a reference
 * @peer: peer of a silent child; pending.c
 * @pending_node: entry of a child that is not delivered; pending.c
 * @pending: listener: children that are not delivered
 * @tos_set: listener: @tos is valid; both are set once, before connections come
 * @tos: listener: IP type of service of its children
 * @memcg: listener: memory cgroup that its children are charged to, with a reference; or NULL
 * @listener: listener: its TCP listener, NULL for a detached one; listen.c
 * @listen_node: listener: entry in the list of the same TCP listener; listen.c
 */
struct kal_ep {
	struct kref kref;
	struct ri_rnic *rnic;
	struct list_head node;
	u32 id;
	struct kal_owner owner;
	u64 net;
	unsigned long signals;
	atomic_t queued;
	struct kal_lane *lane;
	struct list_head lane_node;
	struct timer_list timer;
	struct completion ended;

	struct mutex lock;	/* protects the members below */
	kal_ep_handler handler;
	void *context;
	enum kal_ep_state state;
	unsigned long deadline;
	bool busy;
	int error;
	bool polite;
	struct ri_conn *conn;
	struct kal_llp *llp;
	int llp_status;
	bool llp_aborted;
	struct ri_qp *qp;
	bool qp_free;
	struct kal_startup *startup;
	const void *arg;

	struct kal_ep *parent;
	struct kal_peer *peer;
	struct list_head pending_node;
	struct kal_pending pending;
	bool tos_set;
	u8 tos;
	struct mem_cgroup *memcg;
	struct kal_listener *listener;
	struct list_head listen_node;
};

/* arguments of the consumer's calls, in kal_ep.arg */
struct kal_ep_listen_arg {
	const struct sockaddr_storage *local;
	const struct kal_listen_param *param;
	struct socket *sock;	/* the only connection, then what is above is not set; or NULL */
	const void *last;	/* to be sent on it first */
	size_t last_len;
};

struct kal_ep_open_arg {
	struct ri_qp *qp;
	const struct sockaddr_storage *local;	/* connect only; AF_UNSPEC: any */
	const struct sockaddr_storage *remote;
	const struct kal_conn_param *param;
	struct socket *sock;	/* connect only; already connected, or NULL */
};

struct kal_ep_reject_arg {
	const void *private_data;
	u16 len;
};

/* endpoint.c */
void kal_ep_incoming(struct kal_ep *parent, struct socket *sock,
		     void (*data_ready)(struct sock *sk));
int kal_ep_listen_on(struct kal_ep *parent, const struct kal_ep_listen_arg *arg);
struct kal_ep *kal_ep_new_child(struct kal_ep *parent);
void kal_ep_drop_child(struct kal_ep *ep);
void kal_ep_request(struct kal_ep *parent, struct kal_ep *ep);
void kal_ep_end(struct kal_ep *ep, bool abrupt);
void kal_ep_finish(struct kal_ep *ep);
void kal_rnic_abort_eps(struct ri_rnic *rnic);

/* ep_table.c */
int kal_ep_step(struct kal_ep *ep, enum kal_ep_input input);
const char *kal_ep_state_name(enum kal_ep_state state);
const char *kal_ep_input_name(enum kal_ep_input input);

/* lanes.c */
void kal_ep_init(void);
struct kal_lane *kal_lane_any(const struct ri_rnic *rnic, const struct kal_ep *ep);
struct kal_lane *kal_lane_to(const struct ri_rnic *rnic, const struct sockaddr_storage *remote);
void kal_ep_notify(void *ep);
void kal_ep_timer(struct timer_list *t);
void kal_ep_unlock(struct kal_ep *ep);
void kal_ep_arm(struct kal_ep *ep, const unsigned int *timeout_ms);
void kal_ep_try_again(struct kal_ep *ep);
void kal_ep_look_at_once(struct kal_ep *ep);
void kal_ep_signal_ready(struct kal_ep *parent);
void kal_ep_signal_end(struct kal_ep *ep);

DEFINE_GUARD(kal_ep, struct kal_ep *, mutex_lock(&_T->lock), kal_ep_unlock(_T))

/* ep_calls.c */
int kal_ep_report(struct kal_ep *ep, struct kal_ep_event *event);
int kal_ep_report_request(struct kal_ep *parent, const struct kal_ep *child,
			  struct kal_ep_event *event);

/* handover.c */
int kal_ep_attach_qp(struct kal_ep *ep, struct ri_qp *qp);
void kal_ep_free_qp(struct kal_ep *ep);
void kal_ep_detach_qp(struct kal_ep *ep);
int kal_ep_hand_over(struct kal_ep *ep, const struct ri_mpa_params *mpa, bool nowait);

/* pending.c */
void kal_pending_init(struct kal_pending *pending);
int kal_pending_add(struct kal_ep *parent, struct kal_ep *ep, gfp_t gfp);
bool kal_pending_reserve(struct kal_ep *parent, struct kal_ep *ep, unsigned int max);
void kal_pending_add_ready(struct kal_ep *parent, struct kal_ep *ep);
void kal_pending_ready(struct kal_ep *ep);
void kal_pending_remove(struct kal_ep *ep);
struct kal_ep *kal_pending_victim(struct kal_ep *parent);
struct kal_ep *kal_pending_next(struct kal_ep *parent);

/* an action returns this to leave the state as it is, for example after a step of its own */
#define KAL_EP_STAY	1

/* startup.c: actions. They return 0, KAL_EP_STAY, or an errno, which causes IN_FAIL. */
struct kal_startup *kal_startup_alloc(struct ri_rnic *rnic, const struct sockaddr_storage *peer,
				      gfp_t gfp);
int kal_startup_connect(struct kal_ep *ep);
int kal_startup_fallback(struct kal_ep *ep);
int kal_startup_send_request(struct kal_ep *ep);
int kal_startup_read_reply(struct kal_ep *ep);
int kal_startup_reply_lost(struct kal_ep *ep);
int kal_startup_report_failure(struct kal_ep *ep);
int kal_startup_read_request(struct kal_ep *ep);
int kal_startup_deliver(struct kal_ep *ep);
int kal_startup_early_data(struct kal_ep *ep);
u16 kal_startup_reply_room(const struct kal_ep *ep);
int kal_startup_accept(struct kal_ep *ep);
int kal_startup_reject(struct kal_ep *ep);
int kal_startup_refuse(struct kal_ep *ep);
int kal_startup_down(struct kal_ep *ep);
int kal_startup_timeout(struct kal_ep *ep);

/* offload.c: the same for an endpoint with a struct ri_conn */
int kal_offload_alloc(struct kal_ep *ep, gfp_t gfp);
void kal_offload_free(struct kal_ep *ep);
void kal_offload_look(struct kal_ep *ep);
int kal_offload_listen(struct kal_ep *ep);
int kal_offload_connect(struct kal_ep *ep);
int kal_offload_report_failure(struct kal_ep *ep);
int kal_offload_connected(struct kal_ep *ep);
int kal_offload_deliver(struct kal_ep *ep);
int kal_offload_accept(struct kal_ep *ep);
int kal_offload_reject(struct kal_ep *ep);
int kal_offload_refuse(struct kal_ep *ep);
int kal_offload_accepted(struct kal_ep *ep);
int kal_offload_report_unaccepted(struct kal_ep *ep);
int kal_offload_down(struct kal_ep *ep);
int kal_offload_closed(struct kal_ep *ep);
int kal_offload_disconnect(struct kal_ep *ep);
int kal_offload_kill(struct kal_ep *ep);

/* listen.c */
int kal_listen_init(void);
void kal_listen_exit(void);
int kal_listen_start(struct kal_ep *ep);
int kal_listen_stop(struct kal_ep *ep);
void kal_listen_query(struct kal_ep *ep, struct kal_ep_info *info);
struct net *kal_rnic_net_get(const struct ri_rnic *rnic);
int kal_rnic_vrf(const struct ri_rnic *rnic, const struct sockaddr_storage *local);
int kal_listen_address(struct kal_ep *ep, struct sockaddr_storage *addr);

#endif /* KAL_ENDPOINT_H */
