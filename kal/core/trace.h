/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tracepoints of the core of the kAL, "krdma:*": creation and removal of RNICs and objects,
 * and events. kal/cm/trace.h has the tracepoints of connections. No other code of the kAL
 * prints.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM krdma

#if !defined(KRDMA_KAL_CORE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KRDMA_KAL_CORE_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include <krdma/compat.h>
#include <krdma/rnicpi.h>

TRACE_DEFINE_ENUM(RI_OBJ_UCONTEXT);
TRACE_DEFINE_ENUM(RI_OBJ_PD);
TRACE_DEFINE_ENUM(RI_OBJ_CQ);
TRACE_DEFINE_ENUM(RI_OBJ_SRQ);
TRACE_DEFINE_ENUM(RI_OBJ_QP);
TRACE_DEFINE_ENUM(RI_OBJ_MR);
TRACE_DEFINE_ENUM(RI_OBJ_MW);
TRACE_DEFINE_ENUM(RI_OBJ_TYPES);

#define kal_show_obj_type(type)						\
	__print_symbolic(type,						\
			 { RI_OBJ_UCONTEXT, "ucontext" },		\
			 { RI_OBJ_PD, "pd" },				\
			 { RI_OBJ_CQ, "cq" },				\
			 { RI_OBJ_SRQ, "srq" },				\
			 { RI_OBJ_QP, "qp" },				\
			 { RI_OBJ_MR, "mr" },				\
			 { RI_OBJ_MW, "mw" },				\
			 { RI_OBJ_TYPES, "rnic" })

DECLARE_EVENT_CLASS(kal_rnic_class,
	TP_PROTO(const struct ri_rnic *rnic),
	TP_ARGS(rnic),
	TP_STRUCT__entry(
		__string(name, rnic->name)
		__string(netdev, rnic->attr.netdev ? rnic->attr.netdev->name : "none")
	),
	TP_fast_assign(
		compat_assign_str(name, rnic->name);
		compat_assign_str(netdev, rnic->attr.netdev ? rnic->attr.netdev->name : "none");
	),
	TP_printk("rnic=%s netdev=%s", __get_str(name), __get_str(netdev))
);

/* all consumers have been shown the RNIC */
DEFINE_EVENT(kal_rnic_class, rnic_register,
	TP_PROTO(const struct ri_rnic *rnic), TP_ARGS(rnic));
/* the removal of the RNIC begins */
DEFINE_EVENT(kal_rnic_class, rnic_unregister,
	TP_PROTO(const struct ri_rnic *rnic), TP_ARGS(rnic));

DECLARE_EVENT_CLASS(kal_obj_class,
	TP_PROTO(const struct ri_obj *obj),
	TP_ARGS(obj),
	TP_STRUCT__entry(
		__string(name, obj->rnic->name)
		__field(unsigned int, type)
		__field(u32, id)
	),
	TP_fast_assign(
		compat_assign_str(name, obj->rnic->name);
		__entry->type = obj->type;
		__entry->id = obj->id;
	),
	TP_printk("rnic=%s %s=%u", __get_str(name),
		  kal_show_obj_type(__entry->type), __entry->id)
);

DEFINE_EVENT(kal_obj_class, object_create,
	TP_PROTO(const struct ri_obj *obj), TP_ARGS(obj));
DEFINE_EVENT(kal_obj_class, object_destroy,
	TP_PROTO(const struct ri_obj *obj), TP_ARGS(obj));

/* runs on the CPU of the completion event handler, if the provider has a CPU for each handler */
TRACE_EVENT(completion_event,
	TP_PROTO(const struct ri_cq *cq),
	TP_ARGS(cq),
	TP_STRUCT__entry(
		__string(name, cq->obj.rnic->name)
		__field(u32, id)
		__field(u32, ceh)
	),
	TP_fast_assign(
		compat_assign_str(name, cq->obj.rnic->name);
		__entry->id = cq->obj.id;
		__entry->ceh = cq->ceh;
	),
	TP_printk("rnic=%s cq=%u ceh=%u", __get_str(name), __entry->id, __entry->ceh)
);

TRACE_EVENT(async_event,
	TP_PROTO(const struct ri_rnic *rnic, const struct ri_async_event *event),
	TP_ARGS(rnic, event),
	TP_STRUCT__entry(
		__string(name, rnic->name)
		__field(unsigned int, type)
		__field(u32, id)
		__field(unsigned int, event)
	),
	TP_fast_assign(
		compat_assign_str(name, rnic->name);
		__entry->type = event->type;
		__entry->id = event->id;
		__entry->event = event->event;
	),
	TP_printk("rnic=%s %s=%u event=%u", __get_str(name),
		  kal_show_obj_type(__entry->type), __entry->id,
		  __entry->event)
);

#endif /* KRDMA_KAL_CORE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH kal/core
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
