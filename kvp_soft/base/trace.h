/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tracepoints of the soft RNIC, under events/krdma_soft. ../trace.c creates them and includes
 * the definitions of the structures that they read.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM krdma_soft

#if !defined(SOFT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SOFT_TRACE_H

#include <linux/tracepoint.h>

struct krdma_soft_cqe;
struct krdma_soft_sqe;
struct soft_qp;
struct soft_seg;
struct soft_term;

TRACE_DEFINE_ENUM(SOFT_QP_IDLE);
TRACE_DEFINE_ENUM(SOFT_QP_RTS);
TRACE_DEFINE_ENUM(SOFT_QP_CLOSING);
TRACE_DEFINE_ENUM(SOFT_QP_TERMINATE);
TRACE_DEFINE_ENUM(SOFT_QP_ERROR);

#define soft_show_qp_state(x)                                                  \
	__print_symbolic(x, { SOFT_QP_IDLE, "IDLE" }, { SOFT_QP_RTS, "RTS" },  \
			 { SOFT_QP_CLOSING, "CLOSING" },                       \
			 { SOFT_QP_TERMINATE, "TERMINATE" },                   \
			 { SOFT_QP_ERROR, "ERROR" })

TRACE_EVENT(soft_qp_state,
	TP_PROTO(const struct soft_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(int, state)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->qpn = qp->ri.obj.id;
		__entry->state = qp->state;
		__entry->status = qp->status;
	),
	TP_printk("qpn=%u state=%s status=%d", __entry->qpn,
		  soft_show_qp_state(__entry->state), __entry->status)
);

/* the reason why a stream failed, once for each stream */
TRACE_EVENT(soft_fail,
	TP_PROTO(const struct soft_qp *qp, const struct soft_term *term,
		 bool tell, int status),
	TP_ARGS(qp, term, tell, status),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(bool, tell)
		__field(u8, layer)
		__field(u8, etype)
		__field(u8, code)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->qpn = qp->ri.obj.id;
		__entry->tell = tell;
		__entry->layer = term->layer;
		__entry->etype = term->etype;
		__entry->code = term->code;
		__entry->status = status;
	),
	TP_printk("qpn=%u by=%s layer=%u etype=%u code=0x%02x status=%d",
		  __entry->qpn, __entry->tell ? "us" : "peer", __entry->layer,
		  __entry->etype, __entry->code, __entry->status)
);

/* a work request was taken from the send queue */
TRACE_EVENT(soft_wr,
	TP_PROTO(const struct soft_qp *qp, const struct krdma_soft_sqe *wqe,
		 int error),
	TP_ARGS(qp, wqe, error),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, len)
		__field(u8, opcode)
		__field(u8, flags)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->wr_id = wqe->wr_id;
		__entry->qpn = qp->ri.obj.id;
		__entry->len = wqe->length;
		__entry->opcode = wqe->opcode;
		__entry->flags = wqe->flags;
		__entry->error = error;
	),
	TP_printk("qpn=%u wr_id=0x%llx op=%u flags=0x%02x len=%u error=%d",
		  __entry->qpn, __entry->wr_id, __entry->opcode, __entry->flags,
		  __entry->len, __entry->error)
);

/* a completion of a work request, as its consumer will see it */
TRACE_EVENT(soft_completion,
	TP_PROTO(const struct soft_qp *qp, const struct krdma_soft_cqe *cqe),
	TP_ARGS(qp, cqe),
	TP_STRUCT__entry(
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, len)
		__field(u32, opcode)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->wr_id = cqe->wr_id;
		__entry->qpn = qp->ri.obj.id;
		__entry->len = cqe->byte_len;
		__entry->opcode = cqe->opcode;
		__entry->status = cqe->status;
	),
	TP_printk("qpn=%u wr_id=0x%llx op=%u len=%u status=%u", __entry->qpn,
		  __entry->wr_id, __entry->opcode, __entry->len,
		  __entry->status)
);

/* an FPDU is built, @n bytes with markers and CRC; mss is the limit */
TRACE_EVENT(soft_fpdu,
	TP_PROTO(const struct soft_qp *qp, const u8 *header, u32 n),
	TP_ARGS(qp, header, n),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u64, seq)
		__field(u32, len)
		__field(u32, mss)
		__field(u8, ddp)
		__field(u8, rdmap)
	),
	TP_fast_assign(
		__entry->qpn = qp->ri.obj.id;
		__entry->seq = qp->tx->seq_built;
		__entry->len = n;
		__entry->mss = READ_ONCE(tcp_sk(qp->llp->sock->sk)->mss_cache);
		__entry->ddp = header[0];
		__entry->rdmap = header[1];
	),
	TP_printk("qpn=%u seq=%llu op=%u last=%d len=%u mss=%u", __entry->qpn,
		  __entry->seq, __entry->rdmap & 0xf,
		  !!(__entry->ddp & SOFT_DDP_LAST), __entry->len, __entry->mss)
);

TRACE_EVENT(soft_send,
	TP_PROTO(const struct soft_qp *qp, u32 staged, int taken),
	TP_ARGS(qp, staged, taken),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, staged)
		__field(int, taken)
	),
	TP_fast_assign(
		__entry->qpn = qp->ri.obj.id;
		__entry->staged = staged;
		__entry->taken = taken;
	),
	TP_printk("qpn=%u staged=%u taken=%d", __entry->qpn, __entry->staged,
		  __entry->taken)
);

TRACE_EVENT(soft_recv,
	TP_PROTO(const struct soft_qp *qp, const struct soft_seg *seg),
	TP_ARGS(qp, seg),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, opcode)
		__field(bool, last)
		__field(u32, len)
		__field(u32, stag)
		__field(u64, to)
		__field(u32, msn)
		__field(u32, mo)
	),
	TP_fast_assign(
		__entry->qpn = qp->ri.obj.id;
		__entry->opcode = seg->opcode;
		__entry->last = seg->last;
		__entry->len = seg->payload_len;
		__entry->stag = seg->tagged ? seg->stag : 0;
		__entry->to = seg->tagged ? seg->to : 0;
		__entry->msn = seg->tagged ? 0 : seg->msn;
		__entry->mo = seg->tagged ? 0 : seg->mo;
	),
	TP_printk("qpn=%u op=%u last=%d len=%u stag=0x%08x to=0x%llx msn=%u mo=%u",
		  __entry->qpn, __entry->opcode, __entry->last, __entry->len,
		  __entry->stag, __entry->to, __entry->msn, __entry->mo)
);

TRACE_EVENT(soft_terminate,
	TP_PROTO(const struct soft_qp *qp, const struct soft_term *term,
		 bool sent),
	TP_ARGS(qp, term, sent),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(bool, sent)
		__field(u8, layer)
		__field(u8, etype)
		__field(u8, code)
	),
	TP_fast_assign(
		__entry->qpn = qp->ri.obj.id;
		__entry->sent = sent;
		__entry->layer = term->layer;
		__entry->etype = term->etype;
		__entry->code = term->code;
	),
	TP_printk("qpn=%u %s layer=%u etype=%u code=0x%02x", __entry->qpn,
		  __entry->sent ? "sent" : "received", __entry->layer,
		  __entry->etype, __entry->code)
);

#endif /* SOFT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
