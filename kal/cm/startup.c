// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MPA start-up of an endpoint (RFC 5044 7.1, RFC 6581): the actions of ep_table.c's state
 * table between the first SYN and the hand-over of the stream to the provider. mpa.c encodes
 * and decodes the frames. All actions run under the endpoint's lock.
 */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "../core/core.h"
#include "endpoint.h"
#include "trace.h"

/* struct ib_qp_attr has 8 bits for each depth */
#define READS_LIMIT	U8_MAX

/*
 * Allocate the data of a start-up with @peer. Return: the data, or NULL. Context: may sleep if
 * @gfp may.
 */
struct kal_startup *kal_startup_alloc(struct ri_rnic *rnic, const struct sockaddr_storage *peer,
				      gfp_t gfp)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;
	struct kal_startup *su = kzalloc(sizeof(*su), gfp);

	if (!su)
		return NULL;
	su->local.crc = kal_crc_wanted(peer);
	su->local.marks = rnic->attr.caps & RI_CAP_MARKERS;
	su->local.markers = su->local.marks && READ_ONCE(kal_mpa_markers);
	su->local.revision = clamp(READ_ONCE(kal_mpa_revision), 1u, 2u);
	su->local.rtr = READ_ONCE(kal_mpa_rtr) & KAL_MPA_RTR_ALL;
	su->local.max_ird = clamp(limits->max_qp_rd_atom, 0, READS_LIMIT);
	su->local.max_ord = clamp(limits->max_qp_init_rd_atom, 0, READS_LIMIT);
	su->local.ird = su->local.max_ird;
	su->local.ord = su->local.max_ord;
	return su;
}

static void startup_set_depths(struct kal_startup *su, const struct kal_conn_param *param)
{
	su->local.ird = min(param->ird, su->local.max_ird);
	su->local.ord = min(param->ord, su->local.max_ord);
}

static int startup_send_frame(struct kal_ep *ep, enum kal_mpa_kind kind,
			      const struct kal_mpa_frame *frame, const void *private_data)
{
	struct kal_startup *su = ep->startup;
	int len = kal_mpa_build(su->tx, kind, frame, private_data);

	if (len < 0)
		return len;
	trace_mpa_frame(ep, true, kind, frame);
	return kal_llp_send(ep->llp, su->tx, len);
}

/* Number of bytes that are known to belong to the peer's frame. */
static u16 startup_frame_len(const struct kal_startup *su, const struct kal_mpa_frame *frame)
{
	if (su->rx_len < KAL_MPA_HDR_LEN)
		return KAL_MPA_HDR_LEN;
	return KAL_MPA_HDR_LEN + kal_mpa_enhanced_len(frame) + frame->pd_len;
}

/*
 * Read the available bytes of the peer's frame, but no byte behind it. At the end of the
 * stream the function also returns KAL_EP_STAY, because IN_DOWN handles the end.
 */
static int startup_read_frame(struct kal_ep *ep, enum kal_mpa_kind kind,
			      struct kal_mpa_frame *frame)
{
	struct kal_startup *su = ep->startup;

	/* the frame was read before, but the provider was busy then */
	if (su->rx_len >= KAL_MPA_HDR_LEN && su->rx_len == startup_frame_len(su, frame))
		return 0;
	while (su->rx_len < startup_frame_len(su, frame)) {
		int n = kal_llp_recv(ep->llp, su->rx + su->rx_len,
				     startup_frame_len(su, frame) - su->rx_len);

		if (n < 0 && n != -EAGAIN)
			su->error = n;
		if (n <= 0)
			return KAL_EP_STAY;
		su->rx_len += n;
		if (su->rx_len != KAL_MPA_HDR_LEN)
			continue;
		n = kal_mpa_parse_header(su->rx, kind, frame);
		if (n) {
			kal_count(ep->rnic, KAL_CNT_MPA_MALFORMED);
			return n;
		}
	}
	if (frame->enhanced)
		kal_mpa_parse_enhanced(su->rx + KAL_MPA_HDR_LEN, frame);
	trace_mpa_frame(ep, false, kind, frame);
	return 0;
}

static const u8 *startup_frame_private_data(const struct kal_startup *su,
					    const struct kal_mpa_frame *frame)
{
	return su->rx + KAL_MPA_HDR_LEN + kal_mpa_enhanced_len(frame);
}

/* The reason why the stream is down. */
static int startup_down_error(struct kal_ep *ep)
{
	return ep->startup->error ?: kal_llp_error(ep->llp);
}

/* What the host's stack does with packets of the stream. A priority counts for more than TOS. */
static void startup_set_traffic(struct socket *sock, const struct kal_conn_param *param)
{
	if (param->tos_set)
		kal_sock_set_tos(sock, param->tos);
	if (param->priority_set)
		sock_set_priority(sock->sk, param->priority);
	if (param->mark)
		sock_set_mark(sock->sk, param->mark);
}

static void startup_connected(struct kal_ep *ep, struct kal_ep_event *event)
{
	kal_ep_report(ep, event);
	kfree(ep->startup);
	ep->startup = NULL;
}

/* IN_DOWN */
int kal_startup_down(struct kal_ep *ep)
{
	return startup_down_error(ep);
}

/* IN_TIMEOUT */
int kal_startup_timeout(struct kal_ep *ep)
{
	kal_count(ep->rnic, KAL_CNT_CONN_TIMEOUT);
	return -ETIMEDOUT;
}

/* Active side ************************************************************** */

static bool startup_wants_bind(const struct sockaddr_storage *from)
{
	/* without an address and a port, TCP chooses both */
	return from->ss_family != AF_UNSPEC;
}

/* Begin to connect. The caller must check for events that happened before the hook was set. */
static int startup_connect_stream(struct kal_ep *ep)
{
	int err;

	kal_ep_arm(ep, &kal_connect_timeout_ms);
	err = kal_llp_connect(ep->llp, &ep->startup->to);
	if (!err)
		kal_llp_hook(ep->llp, kal_ep_notify, ep);
	return err;
}

static int startup_open_stream(struct kal_ep *ep, const struct kal_conn_param *param)
{
	struct kal_startup *su = ep->startup;
	struct kal_llp *llp;
	struct net *net;
	int err;

	net = kal_rnic_net_get(ep->rnic);
	if (!net)
		return -ENODEV;
	llp = kal_llp_open(net, su->to.ss_family, kal_rnic_vrf(ep->rnic, &su->from));
	put_net(net);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	ep->llp = llp;
	llp->ri.local = su->from;
	llp->ri.remote = su->to;
	startup_set_traffic(llp->ri.sock, param);
	if (startup_wants_bind(&su->from)) {
		err = kal_llp_bind(llp, &su->from, param);
		if (err)
			return err;
	}
	return startup_connect_stream(ep);
}

/* Use a consumer's socket, which stays the consumer's on error. */
static int startup_adopt_stream(struct kal_ep *ep, struct socket *sock,
				const struct kal_conn_param *param)
{
	struct kal_startup *su = ep->startup;
	struct kal_llp *llp;

	llp = kal_llp_adopt(sock, sock->sk->sk_data_ready, NULL, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	ep->llp = llp;
	su->adopted = true;
	startup_set_traffic(sock, param);
	kal_ep_arm(ep, &kal_connect_timeout_ms);
	kal_llp_hook(llp, kal_ep_notify, ep);
	return 0;
}

/* IN_CONNECT */
int kal_startup_connect(struct kal_ep *ep)
{
	const struct kal_ep_open_arg *arg = ep->arg;
	const struct kal_conn_param *param = arg->param;
	struct kal_startup *su;
	int err;

	if (arg->local->ss_family && arg->local->ss_family != arg->remote->ss_family)
		return -EINVAL;
	su = kal_startup_alloc(ep->rnic, arg->remote, GFP_KERNEL_ACCOUNT);
	if (!su)
		return -ENOMEM;
	ep->startup = su;
	startup_set_depths(su, param);
	kal_mpa_request(&su->local, &su->req);
	if (param->private_data_len > kal_mpa_pd_max(&su->req))
		return -EINVAL;
	su->pd_len = param->private_data_len;
	if (su->pd_len)
		memcpy(su->pd, param->private_data, su->pd_len);
	su->from = *arg->local;
	su->to = *arg->remote;
	if (param->timeout_ms)
		su->latest = (jiffies + kal_ms(&param->timeout_ms)) ?: 1;

	err = kal_ep_attach_qp(ep, arg->qp);
	if (err)
		return err;
	kal_count(ep->rnic, KAL_CNT_CONN_ACTIVE);
	return arg->sock ? startup_adopt_stream(ep, arg->sock, param) :
			   startup_open_stream(ep, param);
}

/* IN_UP */
int kal_startup_send_request(struct kal_ep *ep)
{
	struct kal_startup *su = ep->startup;
	int err;

	err = kal_llp_names(ep->llp);
	if (err)
		return err;
	su->req.pd_len = su->pd_len;
	kal_ep_arm(ep, &kal_mpa_reply_timeout_ms);
	return startup_send_frame(ep, KAL_MPA_REQUEST, &su->req, su->pd);
}

/*
 * IN_FALLBACK: connect again with revision 1 (RFC 6581 10). A peer without RFC 6581 closes the
 * stream after a Request of revision 2. Or it answers in revision 1, and its consumer has
 * received our enhanced data as private data.
 *
 * If the consumer named a port, the same port is used. It may be a reserved port, and the
 * stream can bind to the reservation only the first time.
 */
int kal_startup_fallback(struct kal_ep *ep)
{
	struct kal_startup *su = ep->startup;
	int err;

	kal_count(ep->rnic, KAL_CNT_MPA_FALLBACK);
	err = kal_llp_renew(ep->llp);
	if (err)
		return err;
	su->rx_len = 0;
	su->error = 0;
	su->local.revision = 1;
	kal_mpa_request(&su->local, &su->req);
	err = startup_connect_stream(ep);
	if (!err)
		kal_ep_notify(ep);
	return err;
}

static bool startup_may_fall_back(const struct kal_startup *su)
{
	return READ_ONCE(kal_mpa_fallback) && su->req.revision > 1 && !su->adopted;
}

/* IN_DOWN after the Request was sent. */
int kal_startup_reply_lost(struct kal_ep *ep)
{
	const int err = startup_down_error(ep);

	if (err != -ECONNRESET || ep->startup->rx_len || !startup_may_fall_back(ep->startup))
		return err;
	kal_ep_step(ep, KAL_EP_IN_FALLBACK);
	return KAL_EP_STAY;
}

static void startup_send_terminate(struct kal_ep *ep, enum kal_mpa_term term)
{
	u8 stream[KAL_MPA_TERM_MAX];
	size_t len;

	len = kal_mpa_terminate(term, ep->startup->rep.markers, stream);
	if (kal_llp_send(ep->llp, stream, len))
		return;
	kal_count(ep->rnic, KAL_CNT_MPA_TERMINATE);
	ep->polite = true;
}

/* IN_DATA */
int kal_startup_read_reply(struct kal_ep *ep)
{
	struct kal_startup *su = ep->startup;
	struct kal_ep_event event = { .type = KAL_EP_CONN_REPLY };
	struct ri_mpa_params mpa;
	enum kal_mpa_term term;
	int err;

	err = startup_read_frame(ep, KAL_MPA_REPLY, &su->rep);
	if (err)
		return err;
	err = kal_mpa_conclude(&su->local, &su->req, &su->rep, &mpa, &term);
	if (err == -EPROTONOSUPPORT && startup_may_fall_back(su)) {
		kal_ep_step(ep, KAL_EP_IN_FALLBACK);
		return KAL_EP_STAY;
	}
	if (err == -EOPNOTSUPP)
		kal_count(ep->rnic, KAL_CNT_MPA_MARKERS);
	if (term != KAL_MPA_TERM_NONE)
		startup_send_terminate(ep, term);
	if (err)
		return err;

	err = kal_ep_hand_over(ep, &mpa, true);
	if (err == -EAGAIN) {
		kal_ep_try_again(ep);
		return KAL_EP_STAY;
	}
	if (err)
		return err;
	event.ird = mpa.ird;
	event.ord = mpa.ord;
	event.private_data = startup_frame_private_data(su, &su->rep);
	event.private_data_len = su->rep.pd_len;
	startup_connected(ep, &event);
	return 0;
}

/* IN_FAIL */
int kal_startup_report_failure(struct kal_ep *ep)
{
	struct kal_startup *su = ep->startup;
	struct kal_ep_event event = {
		.type = KAL_EP_CONN_REPLY,
		.status = ep->error,
	};
	const bool refused = ep->error == -ECONNREFUSED;

	/* a rejection may carry private data of the peer's consumer, and the stream is intact */
	if (refused && su->rep.reject) {
		event.private_data = startup_frame_private_data(su, &su->rep);
		event.private_data_len = su->rep.pd_len;
		ep->polite = true;
	}
	kal_count(ep->rnic, refused ? KAL_CNT_CONN_REFUSED : KAL_CNT_CONN_FAILED);
	kal_ep_free_qp(ep);
	kal_ep_report(ep, &event);
	return 0;
}

/* Passive side ************************************************************* */

static int startup_send_reject(struct kal_ep *ep, const void *private_data, u16 len)
{
	struct kal_startup *su = ep->startup;
	int err;

	kal_mpa_reject(&su->local, &su->req, &su->rep);
	su->rep.pd_len = len;
	err = startup_send_frame(ep, KAL_MPA_REPLY, &su->rep, private_data);
	if (err)
		return err;
	kal_count(ep->rnic, KAL_CNT_CONN_REJECTED);
	ep->polite = true;
	return 0;
}

/*
 * Check for bytes behind a Request that was not answered yet. The initiator cannot know yet
 * whether this side wants markers, so these bytes are no FPDU (RFC 5044 7.1.2).
 */
static int startup_check_early_data(struct kal_ep *ep)
{
	if (!kal_llp_inq(ep->llp))
		return 0;
	kal_count(ep->rnic, KAL_CNT_MPA_EARLY_DATA);
	return -EPROTO;
}

/* IN_DATA after the whole Request was read. */
int kal_startup_early_data(struct kal_ep *ep)
{
	return startup_check_early_data(ep) ?: KAL_EP_STAY;
}

/* The peer's depth, limited to the RNIC's. */
static u16 startup_peer_depth(const struct kal_mpa_frame *req, u16 depth, u16 limit)
{
	if (!req->enhanced || depth == KAL_MPA_READS_ULP)
		return limit;
	return min(depth, limit);
}

/*
 * IN_DELIVER: report the Request to the listener's consumer, which takes or rejects the child.
 * The listener's lock is also held.
 */
int kal_startup_deliver(struct kal_ep *ep)
{
	struct kal_startup *su = ep->startup;
	struct kal_ep *parent = ep->parent;
	struct kal_ep_event event = {
		.type = KAL_EP_CONN_REQUEST,
		.child = ep,
		.local = &ep->llp->ri.local,
		.remote = &ep->llp->ri.remote,
		.private_data = startup_frame_private_data(su, &su->req),
		.private_data_len = su->req.pd_len,
		.ird = startup_peer_depth(&su->req, su->req.ord, su->local.max_ird),
		.ord = startup_peer_depth(&su->req, su->req.ird, su->local.max_ord),
	};
	int err = -ECONNABORTED;

	if (parent->state == KAL_EP_LISTENING)
		err = kal_ep_report(parent, &event);
	if (err)
		startup_send_reject(ep, NULL, 0);
	else
		kal_pending_remove(ep);
	return err;
}

/* IN_DATA */
int kal_startup_read_request(struct kal_ep *ep)
{
	struct kal_startup *su = ep->startup;
	int err;

	err = startup_read_frame(ep, KAL_MPA_REQUEST, &su->req);
	if (err)
		return err;
	err = startup_check_early_data(ep);
	if (err)
		return err;
	/* the RNIC cannot insert markers; the peer may try again without */
	if (su->req.markers && !su->local.marks) {
		kal_count(ep->rnic, KAL_CNT_MPA_MARKERS);
		startup_send_reject(ep, NULL, 0);
		return -EOPNOTSUPP;
	}
	kal_ep_arm(ep, &kal_accept_timeout_ms);
	kal_pending_ready(ep);
	return 0;
}

/* Largest private data of the answer in bytes. The answer has the revision of the Request. */
u16 kal_startup_reply_room(const struct kal_ep *ep)
{
	return kal_mpa_pd_max(&ep->startup->req);
}

/*
 * IN_ACCEPT, with the QP attached. The Reply is sent first. The peer's first FPDU waits in the
 * socket until the QP is ready. The responder must wait for that FPDU anyway (RFC 5044 7.1.2
 * (4)).
 */
int kal_startup_accept(struct kal_ep *ep)
{
	const struct kal_ep_open_arg *arg = ep->arg;
	const struct kal_conn_param *param = arg->param;
	struct kal_startup *su = ep->startup;
	struct kal_ep_event event = { .type = KAL_EP_ESTABLISHED };
	struct ri_mpa_params mpa;
	int err;

	if (kal_llp_poll(ep->llp) & KAL_LLP_DOWN)
		return startup_down_error(ep);
	err = startup_check_early_data(ep);
	if (err)
		return err;
	startup_set_depths(su, param);
	kal_mpa_respond(&su->local, &su->req, &su->rep, &mpa);
	su->rep.pd_len = param->private_data_len;
	startup_set_traffic(ep->llp->ri.sock, param);
	err = startup_send_frame(ep, KAL_MPA_REPLY, &su->rep, param->private_data) ?:
	      kal_ep_hand_over(ep, &mpa, false);
	/* the endpoint is closed, so do not return an error that allows another call */
	if (err == -EINVAL || err == -ENOMEM)
		err = -ECONNABORTED;
	if (err)
		return err;
	event.ird = mpa.ird;
	event.ord = mpa.ord;
	startup_connected(ep, &event);
	return 0;
}

/* IN_REJECT */
int kal_startup_reject(struct kal_ep *ep)
{
	const struct kal_ep_reject_arg *arg = ep->arg;

	return startup_send_reject(ep, arg->private_data, arg->len);
}

/*
 * IN_ABORT or IN_DISCONNECT before an accept: reject the connection, because no consumer will
 * accept it.
 */
int kal_startup_refuse(struct kal_ep *ep)
{
	startup_send_reject(ep, NULL, 0);
	return -ECONNABORTED;
}
