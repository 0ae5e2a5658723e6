// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Why /dev/krdma refused a command: the record of KRDMA_IOC_CALL. file.c asks after the command
 * has failed, and this file alone decides the record.
 *
 * The cause is found by the errno, the command's structure and the state of its objects now: the
 * checks that can give this errno are made again, in the order of the command. Where another
 * thread has changed the state meanwhile, the record may have no cause, or that of the state as
 * it is now. The commands themselves know nothing of causes.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <net/ip.h>

#include "verbs.h"
#include "../cm/cm.h"

#include <krdma/netstack.h>

#define CAUSE_HANDLES	4

/**
 * struct kal_cause - a refusal whose cause is wanted
 * @file: file
 * @nr: number of the command
 * @cmd: structure of the command
 * @err: negative errno of the command
 * @held: objects of the command, in the order of cause_handles; in use
 * @num: number of @held
 * @rnic: RNIC of the objects, or NULL
 * @to: record
 */
struct kal_cause {
	struct kal_file *file;
	unsigned int nr;
	const void *cmd;
	int err;
	struct kal_handle *held[CAUSE_HANDLES];
	unsigned int num;
	const struct ri_rnic *rnic;
	struct krdma_error *to;
};

/* Return: true, for callers that are done then. */
static bool cause_is(struct kal_cause *c, enum krdma_cause cause, enum krdma_unit unit, u64 value)
{
	c->to->cause = cause;
	c->to->unit = unit;
	c->to->value = value;
	return true;
}

/* Objects ****************************************************************** */

static const struct cause_handle {
	u16 offset;
	u16 type;
	bool optional;	/* 0: none */
} cause_handles[][CAUSE_HANDLES] = {
#define NEEDS(command, member, kind)						\
	{ offsetof(struct command, member), KAL_H_##kind, false }
#define MAY_NEED(command, member, kind)						\
	{ offsetof(struct command, member), KAL_H_##kind, true }
	[_IOC_NR(KRDMA_IOC_PD)] = { NEEDS(krdma_pd, context, CONTEXT) },
	[_IOC_NR(KRDMA_IOC_CQ)] = { NEEDS(krdma_cq, context, CONTEXT) },
	[_IOC_NR(KRDMA_IOC_CQ_MODIFY)] = { NEEDS(krdma_cq_modify, handle, CQ) },
	[_IOC_NR(KRDMA_IOC_CQ_POLL)] = { NEEDS(krdma_cq_poll, handle, CQ) },
	[_IOC_NR(KRDMA_IOC_CQ_NOTIFY)] = { NEEDS(krdma_cq_notify, handle, CQ) },
	[_IOC_NR(KRDMA_IOC_SRQ)] = { NEEDS(krdma_srq, pd, PD) },
	[_IOC_NR(KRDMA_IOC_SRQ_MODIFY)] = { NEEDS(krdma_srq_attr, handle, SRQ) },
	[_IOC_NR(KRDMA_IOC_SRQ_QUERY)] = { NEEDS(krdma_srq_attr, handle, SRQ) },
	[_IOC_NR(KRDMA_IOC_QP)] = {
		NEEDS(krdma_qp, pd, PD),
		NEEDS(krdma_qp, send_cq, CQ),
		NEEDS(krdma_qp, recv_cq, CQ),
		MAY_NEED(krdma_qp, srq, SRQ),
	},
	[_IOC_NR(KRDMA_IOC_QP_MODIFY)] = { NEEDS(krdma_qp_attr, handle, QP) },
	[_IOC_NR(KRDMA_IOC_QP_QUERY)] = { NEEDS(krdma_qp_attr, handle, QP) },
	[_IOC_NR(KRDMA_IOC_POST_SEND)] = { NEEDS(krdma_post, handle, QP) },
	[_IOC_NR(KRDMA_IOC_POST_RECV)] = { NEEDS(krdma_post, handle, QP) },
	[_IOC_NR(KRDMA_IOC_POST_SRQ)] = { NEEDS(krdma_post, handle, SRQ) },
	[_IOC_NR(KRDMA_IOC_MR)] = { NEEDS(krdma_mr, pd, PD) },
	[_IOC_NR(KRDMA_IOC_MR_REREGISTER)] = {
		NEEDS(krdma_mr_reregister, handle, MR),
		MAY_NEED(krdma_mr_reregister, pd, PD),
	},
	[_IOC_NR(KRDMA_IOC_MW)] = { NEEDS(krdma_mw, pd, PD) },
	[_IOC_NR(KRDMA_IOC_LISTEN)] = { NEEDS(krdma_listen, context, CONTEXT) },
	[_IOC_NR(KRDMA_IOC_CONNECT)] = { NEEDS(krdma_conn, qp, QP) },
	[_IOC_NR(KRDMA_IOC_ACCEPT)] = {
		NEEDS(krdma_conn, handle, CONN),
		NEEDS(krdma_conn, qp, QP),
	},
	[_IOC_NR(KRDMA_IOC_REJECT)] = { NEEDS(krdma_conn, handle, CONN) },
	[_IOC_NR(KRDMA_IOC_DISCONNECT)] = { NEEDS(krdma_disconnect, qp, QP) },
#undef NEEDS
#undef MAY_NEED
};

static const u32 *cause_member(const struct kal_cause *c, u16 offset)
{
	return c->cmd + offset;
}

/* A region that keeps its PD ignores the number of one. */
static bool cause_handle_unused(const struct kal_cause *c, const struct cause_handle *need)
{
	const struct krdma_mr_reregister *reregister = c->cmd;

	if (c->nr == _IOC_NR(KRDMA_IOC_MR_REREGISTER) && need->type == KAL_H_PD)
		return !(reregister->mask & KRDMA_REREG_PD);
	return need->optional && !*cause_member(c, need->offset);
}

static bool cause_handle_missing(struct kal_cause *c, u32 id, int err)
{
	if (err != c->err)
		return false;
	if (err == -ENOENT)
		return cause_is(c, KRDMA_CAUSE_NO_HANDLE, KRDMA_UNIT_HANDLE, id);
	if (err == -EINVAL)
		return cause_is(c, KRDMA_CAUSE_OTHER_KIND, KRDMA_UNIT_HANDLE, id);
	return cause_is(c, KRDMA_CAUSE_RNIC_REMOVED, KRDMA_UNIT_HANDLE, id);
}

/* Use the objects of the command. Return: true if one of them is the cause. */
static bool cause_hold(struct kal_cause *c)
{
	const struct cause_handle *need;
	struct kal_handle *h;
	unsigned int i;
	u32 id;

	if (c->nr >= ARRAY_SIZE(cause_handles))
		return false;
	for (i = 0; i < CAUSE_HANDLES && cause_handles[c->nr][i].offset; i++) {
		need = &cause_handles[c->nr][i];
		if (cause_handle_unused(c, need))
			continue;
		id = *cause_member(c, need->offset);
		h = kal_handle_get(c->file, id, need->type);
		if (!IS_ERR(h))
			c->held[c->num++] = h;
		else if (cause_handle_missing(c, id, PTR_ERR(h)))
			return true;
	}
	if (c->num && c->held[0]->dev)
		c->rnic = c->held[0]->dev->rnic;
	return false;
}

static void cause_release(struct kal_cause *c)
{
	while (c->num)
		kal_handle_put(c->held[--c->num]);
}

static struct kal_handle *cause_held(const struct kal_cause *c, enum kal_handle_type type)
{
	unsigned int i;

	for (i = 0; i < c->num; i++)
		if (c->held[i]->ops->type == type)
			return c->held[i];
	return NULL;
}

/* The context of an object; a connection has none. */
static const struct kal_handle *cause_context(const struct kal_handle *h)
{
	while (h && h->ops->type != KAL_H_CONTEXT)
		h = h->parents[0];
	return h;
}

/* Are the objects of several contexts, or of several RNICs? */
static bool cause_parts(struct kal_cause *c)
{
	const struct kal_handle *first, *other;
	unsigned int i;
	bool differ;

	for (i = 1; i < c->num; i++) {
		xa_lock(&c->file->handles);
		first = cause_context(c->held[0]);
		other = cause_context(c->held[i]);
		differ = (first && other && first != other) || c->held[i]->dev != c->held[0]->dev;
		xa_unlock(&c->file->handles);
		if (differ)
			return cause_is(c, KRDMA_CAUSE_OTHER_CONTEXT, KRDMA_UNIT_HANDLE,
					c->held[i]->id);
	}
	return false;
}

/* EBUSY of DESTROY and MR_REREGISTER */
static bool cause_busy(struct kal_cause *c)
{
	const struct krdma_destroy *destroy = c->cmd;
	bool region = c->nr == _IOC_NR(KRDMA_IOC_MR_REREGISTER);
	u32 children = 0;

	if (c->nr == _IOC_NR(KRDMA_IOC_DESTROY)) {
		const struct kal_handle *h;

		xa_lock(&c->file->handles);
		h = xa_load(&c->file->handles, destroy->handle);
		if (h) {
			children = h->children;
			region = h->ops->type == KAL_H_MR;
		}
		xa_unlock(&c->file->handles);
	}
	if (children)
		return cause_is(c, KRDMA_CAUSE_IN_USE, KRDMA_UNIT_COUNT, children);
	return region && cause_is(c, KRDMA_CAUSE_WINDOW_BOUND, KRDMA_UNIT_NONE, 0);
}

/* Limits of the RNIC ******************************************************* */

static u64 cause_rnic_limit(const struct ri_rnic *rnic, enum krdma_cause cause)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;

	switch (cause) {
	case KRDMA_CAUSE_MAX_CQE:
		return limits->max_cqe;
	case KRDMA_CAUSE_MAX_QP_WR:
		return limits->max_qp_wr;
	case KRDMA_CAUSE_MAX_SEND_SGE:
		return limits->max_send_sge;
	case KRDMA_CAUSE_MAX_RECV_SGE:
		return limits->max_recv_sge;
	case KRDMA_CAUSE_MAX_INLINE:
		return rnic->attr.max_inline;
	case KRDMA_CAUSE_MAX_SRQ_WR:
		return limits->max_srq_wr;
	case KRDMA_CAUSE_MAX_SRQ_SGE:
		return limits->max_srq_sge;
	case KRDMA_CAUSE_MAX_IRD:
		return limits->max_qp_rd_atom;
	case KRDMA_CAUSE_MAX_ORD:
		return limits->max_qp_init_rd_atom;
	default:
		return U64_MAX;
	}
}

struct cause_limit {
	unsigned int nr;
	u16 offset;
	u16 width;
	enum krdma_cause cause;
};

/* members that may not exceed a limit of the RNIC */
static const struct cause_limit cause_limits[] = {
#define LIMIT(ioc, command, member, limit)						\
	{ _IOC_NR(KRDMA_IOC_##ioc), offsetof(struct command, member),			\
	  sizeof_field(struct command, member), KRDMA_CAUSE_##limit }
	LIMIT(CQ, krdma_cq, depth, MAX_CQE),
	LIMIT(CQ_MODIFY, krdma_cq_modify, depth, MAX_CQE),
	LIMIT(SRQ, krdma_srq, max_wr, MAX_SRQ_WR),
	LIMIT(SRQ, krdma_srq, max_sge, MAX_SRQ_SGE),
	LIMIT(SRQ_MODIFY, krdma_srq_attr, max_wr, MAX_SRQ_WR),
	LIMIT(QP, krdma_qp, max_send_wr, MAX_QP_WR),
	LIMIT(QP, krdma_qp, max_send_sge, MAX_SEND_SGE),
	LIMIT(QP, krdma_qp, max_inline, MAX_INLINE),
	LIMIT(QP, krdma_qp, max_recv_wr, MAX_QP_WR),
	LIMIT(QP, krdma_qp, max_recv_sge, MAX_RECV_SGE),
	LIMIT(CONNECT, krdma_conn, ird, MAX_IRD),
	LIMIT(CONNECT, krdma_conn, ord, MAX_ORD),
	LIMIT(ACCEPT, krdma_conn, ird, MAX_IRD),
	LIMIT(ACCEPT, krdma_conn, ord, MAX_ORD),
#undef LIMIT
};

/* members that may not be 0 */
static const struct cause_limit cause_zeros[] = {
#define ZERO(ioc, command, member)							\
	{ _IOC_NR(KRDMA_IOC_##ioc), offsetof(struct command, member),			\
	  sizeof_field(struct command, member), KRDMA_CAUSE_ZERO }
	ZERO(CQ, krdma_cq, depth),
	ZERO(CQ_MODIFY, krdma_cq_modify, depth),
	ZERO(SRQ, krdma_srq, max_wr),
	ZERO(SRQ_MODIFY, krdma_srq_attr, max_wr),
#undef ZERO
};

/* Is the member not read in this use of the command? */
static bool cause_member_unused(const struct kal_cause *c, const struct cause_limit *limit)
{
	const struct krdma_cq_modify *cq_modify = c->cmd;
	const struct krdma_srq_attr *srq_attr = c->cmd;
	const struct krdma_qp *qp = c->cmd;

	switch (limit->nr) {
	case _IOC_NR(KRDMA_IOC_CQ_MODIFY):
		return cq_modify->mask != KRDMA_CQ_DEPTH;
	case _IOC_NR(KRDMA_IOC_SRQ_MODIFY):
		return !(srq_attr->mask & KRDMA_SRQ_MAX_WR);
	case _IOC_NR(KRDMA_IOC_QP):
		return qp->srq && (limit->offset == offsetof(struct krdma_qp, max_recv_wr) ||
				   limit->offset == offsetof(struct krdma_qp, max_recv_sge));
	default:
		return false;
	}
}

static u64 cause_value(const struct kal_cause *c, const struct cause_limit *limit)
{
	const void *at = c->cmd + limit->offset;

	switch (limit->width) {
	case sizeof(u16):
		return *(const u16 *)at;
	case sizeof(u32):
		return *(const u32 *)at;
	default:
		return *(const u64 *)at;
	}
}

static bool cause_sizes(struct kal_cause *c)
{
	const struct cause_limit *limit;
	unsigned int i;
	u64 most;

	for (i = 0; c->rnic && i < ARRAY_SIZE(cause_limits); i++) {
		limit = &cause_limits[i];
		most = cause_rnic_limit(c->rnic, limit->cause);
		if (limit->nr == c->nr && !cause_member_unused(c, limit) &&
		    cause_value(c, limit) > most)
			return cause_is(c, limit->cause, limit->cause == KRDMA_CAUSE_MAX_INLINE ?
					KRDMA_UNIT_BYTES : KRDMA_UNIT_COUNT, most);
	}
	for (i = 0; i < ARRAY_SIZE(cause_zeros); i++) {
		limit = &cause_zeros[i];
		if (limit->nr == c->nr && !cause_member_unused(c, limit) && !cause_value(c, limit))
			return cause_is(c, KRDMA_CAUSE_ZERO, KRDMA_UNIT_NONE, 0);
	}
	return false;
}

static bool cause_ceh(struct kal_cause *c)
{
	const struct krdma_cq *cmd = c->cmd;

	return c->nr == _IOC_NR(KRDMA_IOC_CQ) && c->rnic && cmd->ceh >= c->rnic->attr.num_ceh &&
	       cause_is(c, KRDMA_CAUSE_NUM_CEH, KRDMA_UNIT_COUNT, c->rnic->attr.num_ceh);
}

/* ENOMEM: has the RNIC no more objects of that kind? */
static bool cause_rnic_full(struct kal_cause *c)
{
	static const struct {
		unsigned int nr;
		enum ri_obj_type type;
		enum krdma_cause cause;
	} kinds[] = {
		{ _IOC_NR(KRDMA_IOC_PD), RI_OBJ_PD, KRDMA_CAUSE_MAX_PD },
		{ _IOC_NR(KRDMA_IOC_CQ), RI_OBJ_CQ, KRDMA_CAUSE_MAX_CQ },
		{ _IOC_NR(KRDMA_IOC_SRQ), RI_OBJ_SRQ, KRDMA_CAUSE_MAX_SRQ },
		{ _IOC_NR(KRDMA_IOC_QP), RI_OBJ_QP, KRDMA_CAUSE_MAX_QP },
		{ _IOC_NR(KRDMA_IOC_MR), RI_OBJ_MR, KRDMA_CAUSE_MAX_MR },
		{ _IOC_NR(KRDMA_IOC_MW), RI_OBJ_MW, KRDMA_CAUSE_MAX_MW },
	};
	unsigned int i, most;

	for (i = 0; c->rnic && i < ARRAY_SIZE(kinds); i++) {
		most = kal_obj_limit(c->rnic, kinds[i].type);
		if (kinds[i].nr == c->nr &&
		    atomic_read(&c->rnic->num_objects[kinds[i].type]) >= most)
			return cause_is(c, kinds[i].cause, KRDMA_UNIT_COUNT, most);
	}
	return false;
}

/* Memory ******************************************************************* */

/* the memory that the command registers; nothing if it registers none */
struct cause_range {
	u64 start;
	u64 length;
	u64 iova;
	bool given;
};

static struct cause_range cause_range_of(const struct kal_cause *c)
{
	const struct krdma_mr_reregister *change = c->cmd;
	const struct krdma_mr *mr = c->cmd;

	if (c->nr == _IOC_NR(KRDMA_IOC_MR))
		return (struct cause_range) { mr->start, mr->length,
			mr->access & KRDMA_ACCESS_ZERO_BASED ? 0 : mr->iova, true };
	if (c->nr == _IOC_NR(KRDMA_IOC_MR_REREGISTER) && change->mask & KRDMA_REREG_TRANSLATION)
		return (struct cause_range) { change->start, change->length, change->iova, true };
	return (struct cause_range) {};
}

static bool cause_memlock(struct kal_cause *c)
{
	const struct cause_range range = cause_range_of(c);
	const u64 limit = rlimit(RLIMIT_MEMLOCK);
	u64 last, pages;

	if (!range.given || !range.length || !current->mm ||
	    ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK) ||
	    check_add_overflow(range.start, range.length - 1, &last))
		return false;
	pages = (last >> PAGE_SHIFT) - (range.start >> PAGE_SHIFT) + 1;
	return pages + atomic64_read(&current->mm->pinned_vm) > limit >> PAGE_SHIFT &&
	       cause_is(c, KRDMA_CAUSE_MEMLOCK, KRDMA_UNIT_BYTES, limit);
}

/* rights that the kAL knows; those that are no rights are checked with EINVAL, too */
#define CAUSE_ACCESS	(KRDMA_ACCESS_LOCAL_WRITE | KRDMA_ACCESS_REMOTE_WRITE |		\
			 KRDMA_ACCESS_REMOTE_READ | KRDMA_ACCESS_REMOTE_ATOMIC |	\
			 KRDMA_ACCESS_MW_BIND | KRDMA_ACCESS_ZERO_BASED |		\
			 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

static bool cause_access(struct kal_cause *c)
{
	const struct krdma_mr_reregister *change = c->cmd;
	const struct krdma_mr *mr = c->cmd;
	const struct krdma_qp_attr *qp = c->cmd;
	u32 access = 0, able = CAUSE_ACCESS;
	bool region = true;

	if (c->nr == _IOC_NR(KRDMA_IOC_MR)) {
		access = mr->access;
	} else if (c->nr == _IOC_NR(KRDMA_IOC_MR_REREGISTER)) {
		access = change->mask & KRDMA_REREG_ACCESS ? change->access : 0;
	} else if (c->nr == _IOC_NR(KRDMA_IOC_QP_MODIFY)) {
		access = qp->mask & KRDMA_QP_ACCESS ? qp->access : 0;
		able = KRDMA_ACCESS_REMOTE_WRITE | KRDMA_ACCESS_REMOTE_READ |
		       KRDMA_ACCESS_REMOTE_ATOMIC;
		region = false;
	}
	if (access & ~able)
		return cause_is(c, KRDMA_CAUSE_ACCESS, KRDMA_UNIT_ACCESS, access & ~able);
	return region && access & (KRDMA_ACCESS_REMOTE_WRITE | KRDMA_ACCESS_REMOTE_ATOMIC) &&
	       !(access & KRDMA_ACCESS_LOCAL_WRITE) &&
	       cause_is(c, KRDMA_CAUSE_LOCAL_WRITE, KRDMA_UNIT_ACCESS, access);
}

static bool cause_memory(struct kal_cause *c)
{
	const struct cause_range range = cause_range_of(c);
	u64 end;

	if (!range.given)
		return false;
	if (c->rnic && range.length > c->rnic->attr.limits.max_mr_size)
		return cause_is(c, KRDMA_CAUSE_MAX_MR_SIZE, KRDMA_UNIT_BYTES,
				c->rnic->attr.limits.max_mr_size);
	return (check_add_overflow(range.start, range.length, &end) ||
		check_add_overflow(range.iova, range.length, &end)) &&
	       cause_is(c, KRDMA_CAUSE_WRAPS, KRDMA_UNIT_NONE, 0);
}

/* Addresses **************************************************************** */

/* The local address of the command and its peer's; family 0 or NULL: none. */
static const struct krdma_addr *cause_local(const struct kal_cause *c)
{
	switch (c->nr) {
	case _IOC_NR(KRDMA_IOC_LISTEN):
		return &((const struct krdma_listen *)c->cmd)->local;
	case _IOC_NR(KRDMA_IOC_CONNECT):
		return &((const struct krdma_conn *)c->cmd)->local;
	case _IOC_NR(KRDMA_IOC_PORT):
		return &((const struct krdma_port *)c->cmd)->addr;
	case _IOC_NR(KRDMA_IOC_NET_ROUTE):
		return &((const struct krdma_net_route *)c->cmd)->src;
	default:
		return NULL;
	}
}

static bool cause_addr_any(const struct krdma_addr *addr)
{
	return !addr->family || !memchr_inv(addr->addr, 0, sizeof(addr->addr));
}

/* EADDRNOTAVAIL */
static bool cause_not_local(struct kal_cause *c)
{
	const struct krdma_addr *local = cause_local(c);
	const struct krdma_conn *conn = c->cmd;
	const struct ri_rnic *rnic = c->rnic;
	struct sockaddr_storage remote;
	struct kal_route route;

	if (!local)
		return false;
	if (c->nr != _IOC_NR(KRDMA_IOC_CONNECT) || !cause_addr_any(local))
		return cause_is(c, KRDMA_CAUSE_NOT_LOCAL, KRDMA_UNIT_NONE, 0);
	if (!rnic || kal_addr_to_sockaddr(&conn->remote, &remote) ||
	    kal_net_route(c->file->net, &remote, NULL,
			  rnic->netdev ? kal_netdev_vrf(rnic->netdev) : 0, &route))
		return false;
	return cause_is(c, KRDMA_CAUSE_ROUTE_ELSEWHERE, KRDMA_UNIT_IFINDEX, route.owner_ifindex);
}

/* EACCES: a user without the right to the RNIC, a privileged port, or a route that prohibits */
static bool cause_prohibited(struct kal_cause *c)
{
	const struct krdma_addr *local = cause_local(c);
	const int first = READ_ONCE(c->file->net->ipv4.sysctl_ip_prot_sock);

	if (c->nr == _IOC_NR(KRDMA_IOC_CONTEXT))
		return cause_is(c, KRDMA_CAUSE_NEEDS_GROUP, KRDMA_UNIT_NONE, 0);
	if (!local)
		return false;
	if (local->port && ntohs(local->port) < first)
		return cause_is(c, KRDMA_CAUSE_PORT_PRIVILEGED, KRDMA_UNIT_PORT, first);
	return (c->nr == _IOC_NR(KRDMA_IOC_CONNECT) || c->nr == _IOC_NR(KRDMA_IOC_NET_ROUTE)) &&
	       cause_is(c, KRDMA_CAUSE_NO_ROUTE, KRDMA_UNIT_NONE, 0);
}

/* ENODEV of a look-up by address */
static bool cause_no_rnic_there(struct kal_cause *c)
{
	const struct krdma_rnic_find *cmd = c->cmd;
	struct sockaddr_storage addr;
	struct kal_route route;

	if (kal_addr_to_sockaddr(cmd->local.family ? &cmd->local : &cmd->remote, &addr))
		return false;
	if (kal_net_route(c->file->net, &addr, NULL, 0, &route))
		return cause_is(c, KRDMA_CAUSE_NO_ROUTE, KRDMA_UNIT_NONE, 0);
	if (cmd->local.family && !route.local)
		return cause_is(c, KRDMA_CAUSE_NOT_LOCAL, KRDMA_UNIT_NONE, 0);
	return cause_is(c, KRDMA_CAUSE_NO_RNIC_THERE, KRDMA_UNIT_IFINDEX, route.owner_ifindex);
}

/* Queue pairs and connections ********************************************** */

/* the state of the command's QP; IB_QPS_RESET, which a QP does not show, if there is none */
static enum ib_qp_state cause_qp_state(const struct kal_cause *c)
{
	struct kal_handle *h = cause_held(c, KAL_H_QP);
	struct ri_qp_init_attr init_attr;
	struct ib_qp_attr attr;

	if (!h || kal_qp_query(container_of(h, struct kal_h_qp, h)->qp, &attr, IB_QP_STATE,
			       &init_attr))
		return IB_QPS_RESET;
	return attr.qp_state;
}

static bool cause_private_data(struct kal_cause *c)
{
	const struct krdma_conn *cmd = c->cmd;
	u32 room = kal_conn_data_max();

	if (c->rnic && c->rnic->attr.caps & RI_CAP_LLP_OFFLOAD)
		room = c->nr == _IOC_NR(KRDMA_IOC_CONNECT) ? c->rnic->attr.max_connect_data :
		       c->nr == _IOC_NR(KRDMA_IOC_ACCEPT) ? c->rnic->attr.max_accept_data :
							    c->rnic->attr.max_reject_data;
	return cmd->private_data_len > room &&
	       cause_is(c, KRDMA_CAUSE_PRIVATE_DATA, KRDMA_UNIT_BYTES, room);
}

/* EINVAL of CONNECT, ACCEPT and REJECT */
static bool cause_conn(struct kal_cause *c)
{
	struct kal_handle *request = cause_held(c, KAL_H_CONN);
	const struct krdma_conn *cmd = c->cmd;
	enum ib_qp_state state;

	if (cause_private_data(c))
		return true;
	if (c->nr == _IOC_NR(KRDMA_IOC_CONNECT) && cmd->local.family &&
	    cmd->local.family != cmd->remote.family)
		return cause_is(c, KRDMA_CAUSE_FAMILY, KRDMA_UNIT_NONE, 0);
	if (request && kal_conn_answered(request))
		return cause_is(c, KRDMA_CAUSE_ANSWERED, KRDMA_UNIT_NONE, 0);
	state = cause_qp_state(c);
	return state == IB_QPS_ERR && cause_is(c, KRDMA_CAUSE_QP_STATE, KRDMA_UNIT_STATE, state);
}

/* EINVAL of QP_MODIFY whose members are all known */
static bool cause_qp_modify(struct kal_cause *c)
{
	const struct krdma_qp_attr *cmd = c->cmd;
	const enum ib_qp_state state = cause_qp_state(c);

	if (!(cmd->mask & KRDMA_QP_STATE) || cmd->state > IB_QPS_ERR || state == IB_QPS_RESET ||
	    cmd->mask & ~(KRDMA_QP_STATE | KRDMA_QP_ACCESS | KRDMA_QP_SQD_NOTIFY))
		return false;
	return cause_is(c, KRDMA_CAUSE_QP_STATE, KRDMA_UNIT_STATE, state);
}

/* Errnos ******************************************************************* */

static bool cause_invalid(struct kal_cause *c)
{
	if (cause_parts(c) || cause_sizes(c) || cause_ceh(c) || cause_access(c) || cause_memory(c))
		return true;
	switch (c->nr) {
	case _IOC_NR(KRDMA_IOC_CONNECT):
	case _IOC_NR(KRDMA_IOC_ACCEPT):
	case _IOC_NR(KRDMA_IOC_REJECT):
		return cause_conn(c);
	case _IOC_NR(KRDMA_IOC_QP_MODIFY):
		return cause_qp_modify(c);
	default:
		return false;
	}
}

static bool cause_no_space(struct kal_cause *c)
{
	enum krdma_cause cause;
	u32 limit;

	if (atomic_read(&c->file->objects) >= kal_file_objects_limit() &&
	    c->nr != _IOC_NR(KRDMA_IOC_NET_SUBSCRIBE))
		return cause_is(c, KRDMA_CAUSE_FILE_OBJECTS, KRDMA_UNIT_COUNT,
				kal_file_objects_limit());
	cause = kal_net_cause(c->file, c->nr, &limit);
	return cause && cause_is(c, cause, KRDMA_UNIT_COUNT, limit);
}

static bool cause_no_memory(struct kal_cause *c)
{
	switch (c->nr) {
	case _IOC_NR(KRDMA_IOC_POST_SEND):
	case _IOC_NR(KRDMA_IOC_POST_RECV):
	case _IOC_NR(KRDMA_IOC_POST_SRQ):
		return cause_is(c, KRDMA_CAUSE_QUEUE_FULL, KRDMA_UNIT_NONE, 0);
	}
	return cause_rnic_full(c) || cause_memlock(c) ||
	       cause_is(c, KRDMA_CAUSE_NO_MEMORY, KRDMA_UNIT_NONE, 0);
}

static bool cause_not_permitted(struct kal_cause *c)
{
	switch (c->nr) {
	case _IOC_NR(KRDMA_IOC_QP_LIST):
		return cause_is(c, KRDMA_CAUSE_NEEDS_ADMIN, KRDMA_UNIT_NONE, 0);
	case _IOC_NR(KRDMA_IOC_MR):
	case _IOC_NR(KRDMA_IOC_MR_REREGISTER):
		return cause_memlock(c) ||
		       (c->nr == _IOC_NR(KRDMA_IOC_MR_REREGISTER) &&
			cause_is(c, KRDMA_CAUSE_OTHER_PROCESS, KRDMA_UNIT_NONE, 0));
	default:
		return false;
	}
}

/* ENODEV without an object that has ended */
static bool cause_no_device(struct kal_cause *c)
{
	switch (c->nr) {
	case _IOC_NR(KRDMA_IOC_RNIC_QUERY):
	case _IOC_NR(KRDMA_IOC_RNIC_COUNTERS):
	case _IOC_NR(KRDMA_IOC_RNIC_PORT):
	case _IOC_NR(KRDMA_IOC_QP_LIST):
	case _IOC_NR(KRDMA_IOC_CONTEXT):
		/* the index is the member after the size in each of them */
		return cause_is(c, KRDMA_CAUSE_NO_RNIC, KRDMA_UNIT_RNIC,
				*cause_member(c, offsetof(struct krdma_rnic_query, index)));
	case _IOC_NR(KRDMA_IOC_RNIC_FIND):
		return cause_no_rnic_there(c);
	case _IOC_NR(KRDMA_IOC_NET_ROUTE):
	case _IOC_NR(KRDMA_IOC_NET_NEIGH):
		return false;	/* the network device */
	default:
		return cause_is(c, KRDMA_CAUSE_RNIC_REMOVED, KRDMA_UNIT_NONE, 0);
	}
}

static bool cause_not_found(struct kal_cause *c)
{
	const struct krdma_destroy *cmd = c->cmd;

	return c->nr == _IOC_NR(KRDMA_IOC_DESTROY) &&
	       cause_is(c, KRDMA_CAUSE_NO_HANDLE, KRDMA_UNIT_HANDLE, cmd->handle);
}

static bool cause_fault(struct kal_cause *c)
{
	/* of a region without private bytes only its memory is read */
	return cause_is(c, cause_range_of(c).given ? KRDMA_CAUSE_MEMORY : KRDMA_CAUSE_POINTER,
			KRDMA_UNIT_NONE, 0);
}

static bool cause_by_errno(struct kal_cause *c)
{
	const struct krdma_addr *local = cause_local(c);

	switch (c->err) {
	case -EINVAL:
		return cause_invalid(c);
	case -ENOMEM:
		return cause_no_memory(c);
	case -ENOSPC:
		return cause_no_space(c);
	case -EAGAIN:
		return cause_is(c, c->nr == _IOC_NR(KRDMA_IOC_CONTEXT) ?
				KRDMA_CAUSE_CGROUP_HANDLES : KRDMA_CAUSE_CGROUP_OBJECTS,
				KRDMA_UNIT_NONE, 0);
	case -EPERM:
		return cause_not_permitted(c);
	case -ENOENT:
		return cause_not_found(c);
	case -ENODEV:
		return cause_no_device(c);
	case -EBUSY:
		return cause_busy(c);
	case -EFAULT:
		return cause_fault(c);
	case -EOPNOTSUPP:
		return cause_access(c) || cause_is(c, KRDMA_CAUSE_NO_VERB, KRDMA_UNIT_NONE, 0);
	case -EISCONN:
		return cause_is(c, KRDMA_CAUSE_QP_CONNECTED, KRDMA_UNIT_STATE, cause_qp_state(c));
	case -EAFNOSUPPORT:
		return cause_is(c, KRDMA_CAUSE_FAMILY, KRDMA_UNIT_NONE, 0);
	case -EADDRNOTAVAIL:
		return cause_not_local(c);
	case -EADDRINUSE:
		return local && cause_is(c, KRDMA_CAUSE_PORT_USED, KRDMA_UNIT_PORT,
					 ntohs(local->port));
	case -EACCES:
		return cause_prohibited(c);
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return cause_is(c, KRDMA_CAUSE_NO_ROUTE, KRDMA_UNIT_NONE, 0);
	case -ECONNRESET:
	case -ENOTCONN:
		return cause_is(c, KRDMA_CAUSE_PEER_GONE, KRDMA_UNIT_NONE, 0);
	default:
		return false;
	}
}

/**
 * kal_cause_find() - find why a command was refused
 * @file: file
 * @nr: number of the command
 * @cmd: its structure in the kernel's size
 * @err: negative errno of the command
 * @to: record, already with the errno; gets the cause if one is found
 *
 * Context: of the process, no object is in use; may sleep.
 */
void kal_cause_find(struct kal_file *file, unsigned int nr, const void *cmd, int err,
		    struct krdma_error *to)
{
	struct kal_cause c = { .file = file, .nr = nr, .cmd = cmd, .err = err, .to = to };

	if (!cause_hold(&c))
		cause_by_errno(&c);
	cause_release(&c);
}
