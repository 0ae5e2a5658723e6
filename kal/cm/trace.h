/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tracepoints of connections, "krdma:*". The other tracepoints of the kAL are in
 * kal/core/trace.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM krdma

#if !defined(KRDMA_KAL_CM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KRDMA_KAL_CM_TRACE_H

#include <linux/tracepoint.h>
#include <krdma/compat.h>

#include "endpoint.h"

/* an endpoint processed an input of its state table */
TRACE_EVENT(ep_step,
	TP_PROTO(const struct kal_ep *ep, const char *state, const char *input, int err),
	TP_ARGS(ep, state, input, err),
	TP_STRUCT__entry(
		__string(name, ep->rnic->name)
		__field(const void *, ep)
		__field(u32, qp)
		__string(state, state)
		__string(input, input)
		__field(int, err)
	),
	TP_fast_assign(
		compat_assign_str(name, ep->rnic->name);
		__entry->ep = ep;
		__entry->qp = ep->qp ? ep->qp->obj.id : 0;
		compat_assign_str(state, state);
		compat_assign_str(input, input);
		__entry->err = err;
	),
	TP_printk("rnic=%s ep=%p qp=%u state=%s input=%s err=%d", __get_str(name),
		  __entry->ep, __entry->qp, __get_str(state), __get_str(input), __entry->err)
);

#define kal_show_ep_event(type)						\
	__print_symbolic(type,						\
			 { KAL_EP_CONN_REQUEST, "conn-request" },	\
			 { KAL_EP_CONN_REPLY, "conn-reply" },		\
			 { KAL_EP_ESTABLISHED, "established" },		\
			 { KAL_EP_CLOSED, "closed" })

TRACE_DEFINE_ENUM(KAL_EP_CONN_REQUEST);
TRACE_DEFINE_ENUM(KAL_EP_CONN_REPLY);
TRACE_DEFINE_ENUM(KAL_EP_ESTABLISHED);
TRACE_DEFINE_ENUM(KAL_EP_CLOSED);

/* an endpoint reports an event to its consumer */
TRACE_EVENT(ep_event,
	TP_PROTO(const struct kal_ep *ep, const struct kal_ep_event *event),
	TP_ARGS(ep, event),
	TP_STRUCT__entry(
		__string(name, ep->rnic->name)
		__field(const void *, ep)
		__field(const void *, child)
		__field(unsigned int, type)
		__field(int, status)
		__field(u16, pd_len)
		__field(u16, ird)
		__field(u16, ord)
	),
	TP_fast_assign(
		compat_assign_str(name, ep->rnic->name);
		__entry->ep = ep;
		__entry->child = event->child;
		__entry->type = event->type;
		__entry->status = event->status;
		__entry->pd_len = event->private_data_len;
		__entry->ird = event->ird;
		__entry->ord = event->ord;
	),
	TP_printk("rnic=%s ep=%p child=%p %s status=%d pd_len=%u ird=%u ord=%u",
		  __get_str(name), __entry->ep, __entry->child,
		  kal_show_ep_event(__entry->type), __entry->status,
		  __entry->pd_len, __entry->ird, __entry->ord)
);

/* a whole MPA start-up frame was sent or received */
TRACE_EVENT(mpa_frame,
	TP_PROTO(const struct kal_ep *ep, bool sent, unsigned int kind,
		 const struct kal_mpa_frame *frame),
	TP_ARGS(ep, sent, kind, frame),
	TP_STRUCT__entry(
		__field(const void *, ep)
		__field(bool, sent)
		__field(bool, reply)
		__field(u8, revision)
		__field(bool, markers)
		__field(bool, crc)
		__field(bool, reject)
		__field(bool, enhanced)
		__field(bool, p2p)
		__field(u8, rtr)
		__field(u16, ird)
		__field(u16, ord)
		__field(u16, pd_len)
	),
	TP_fast_assign(
		__entry->ep = ep;
		__entry->sent = sent;
		__entry->reply = kind == KAL_MPA_REPLY;
		__entry->revision = frame->revision;
		__entry->markers = frame->markers;
		__entry->crc = frame->crc;
		__entry->reject = frame->reject;
		__entry->enhanced = frame->enhanced;
		__entry->p2p = frame->p2p;
		__entry->rtr = frame->rtr;
		__entry->ird = frame->ird;
		__entry->ord = frame->ord;
		__entry->pd_len = frame->pd_len;
	),
	TP_printk("ep=%p %s %s rev=%u M=%d C=%d R=%d S=%d A=%d rtr=%#x ird=%u ord=%u pd_len=%u",
		  __entry->ep, __entry->sent ? "tx" : "rx", __entry->reply ? "reply" : "request",
		  __entry->revision, __entry->markers, __entry->crc, __entry->reject,
		  __entry->enhanced, __entry->p2p, __entry->rtr, __entry->ird,
		  __entry->ord, __entry->pd_len)
);

#endif /* KRDMA_KAL_CM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH kal/cm
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
