// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The table of commands: see chardev_grammar.hpp. A new command needs one more entry. */
#include "chardev_grammar.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <sys/ioctl.h>

#include <krdma/krdma-abi.h>

#include "rdma.hpp"

namespace grammar {
namespace {

#define FIELD(type, member, kind, arg)                                        \
	Field                                                                 \
	{                                                                     \
		offsetof(type, member), sizeof(type::member), Kind::kind, arg \
	}
#define NEEDS(type, member, object) \
	FIELD(type, member, handle, static_cast<std::uint32_t>(Object::object))
#define MAKES(type, member, object) \
	FIELD(type, member, made, static_cast<std::uint32_t>(Object::object))
/* sizes of the private bytes of the soft RNIC's user library (krdma/soft-abi.h) */
#define PRIV(type, in, out) FIELD(type, priv, priv, (in) << 16 | (out))
/* the members from there on are results */
#define REST(type, member)                                                                  \
	Field                                                                               \
	{                                                                                   \
		offsetof(type, member), sizeof(type) - offsetof(type, member), Kind::out, 0 \
	}

} /* namespace */

const std::vector<Command> &commands()
{
	static const std::vector<Command> table{
		{"RNIC_LIST",
		 KRDMA_IOC_RNIC_LIST,
		 sizeof(krdma_rnic_list),
		 1,
		 {FIELD(krdma_rnic_list, count, count, 0),
		  FIELD(krdma_rnic_list, entries, pointer, 0)}},
		{"RNIC_QUERY",
		 KRDMA_IOC_RNIC_QUERY,
		 sizeof(krdma_rnic_query),
		 1,
		 {FIELD(krdma_rnic_query, index, index, 0), REST(krdma_rnic_query, flags)}},
		{"RNIC_COUNTERS",
		 KRDMA_IOC_RNIC_COUNTERS,
		 sizeof(krdma_rnic_counters),
		 1,
		 {FIELD(krdma_rnic_counters, index, index, 0),
		  FIELD(krdma_rnic_counters, count, count, 0),
		  FIELD(krdma_rnic_counters, reserved, reserved, 0),
		  FIELD(krdma_rnic_counters, entries, pointer, 0)}},
		{"RNIC_FIND",
		 KRDMA_IOC_RNIC_FIND,
		 sizeof(krdma_rnic_find),
		 1,
		 {FIELD(krdma_rnic_find, index, out, 0), FIELD(krdma_rnic_find, local, address, 0),
		  FIELD(krdma_rnic_find, remote, address, 0)}},
		{"USAGE",
		 KRDMA_IOC_USAGE,
		 sizeof(krdma_usage),
		 1,
		 {FIELD(krdma_usage, objects, out, 0), FIELD(krdma_usage, max_objects, out, 0),
		  FIELD(krdma_usage, events, out, 0), FIELD(krdma_usage, max_events, out, 0),
		  FIELD(krdma_usage, reserved, reserved, 0),
		  FIELD(krdma_usage, lost_events, out, 0),
		  FIELD(krdma_usage, pinned_pages, out, 0)}},
		{"RNIC_PORT",
		 KRDMA_IOC_RNIC_PORT,
		 sizeof(krdma_rnic_port),
		 1,
		 {FIELD(krdma_rnic_port, index, index, 0), FIELD(krdma_rnic_port, port, choice, 3),
		  REST(krdma_rnic_port, state)}},
		{"QP_LIST",
		 KRDMA_IOC_QP_LIST,
		 sizeof(krdma_qp_list),
		 1,
		 {FIELD(krdma_qp_list, index, index, 0), FIELD(krdma_qp_list, count, count, 0),
		  FIELD(krdma_qp_list, next, choice, 2),
		  FIELD(krdma_qp_list, entries, pointer, 0)}},
		{"CALL",
		 KRDMA_IOC_CALL,
		 sizeof(krdma_call),
		 1,
		 {FIELD(krdma_call, command, count, 0), FIELD(krdma_call, argument, pointer, 0),
		  REST(krdma_call, error)}},
		{"CONTEXT",
		 KRDMA_IOC_CONTEXT,
		 sizeof(krdma_context),
		 5,
		 {FIELD(krdma_context, index, index, 0), MAKES(krdma_context, handle, context),
		  FIELD(krdma_context, flags, flags, 1), FIELD(krdma_context, cookie, cookie, 0),
		  PRIV(krdma_context, 0, 8)}},
		{"DESTROY",
		 KRDMA_IOC_DESTROY,
		 sizeof(krdma_destroy),
		 12,
		 {NEEDS(krdma_destroy, handle, any)}},
		{"PD",
		 KRDMA_IOC_PD,
		 sizeof(krdma_pd),
		 6,
		 {NEEDS(krdma_pd, context, context), MAKES(krdma_pd, handle, pd),
		  FIELD(krdma_pd, id, out, 0), PRIV(krdma_pd, 0, 0)}},
		{"CQ",
		 KRDMA_IOC_CQ,
		 sizeof(krdma_cq),
		 6,
		 {NEEDS(krdma_cq, context, context), MAKES(krdma_cq, handle, cq),
		  FIELD(krdma_cq, id, out, 0), FIELD(krdma_cq, depth, count, 0),
		  FIELD(krdma_cq, ceh, choice, 2), FIELD(krdma_cq, cookie, cookie, 0),
		  PRIV(krdma_cq, 0, 24), FIELD(krdma_cq, flags, flags, 1),
		  FIELD(krdma_cq, reserved2, reserved, 0)}},
		{"CQ_MODIFY",
		 KRDMA_IOC_CQ_MODIFY,
		 sizeof(krdma_cq_modify),
		 3,
		 {NEEDS(krdma_cq_modify, handle, cq), FIELD(krdma_cq_modify, mask, flags, 3),
		  FIELD(krdma_cq_modify, depth, count, 0), FIELD(krdma_cq_modify, count, count, 0),
		  FIELD(krdma_cq_modify, period_us, count, 0),
		  FIELD(krdma_cq_modify, reserved, reserved, 0), PRIV(krdma_cq_modify, 8, 24)}},
		{"CQ_POLL",
		 KRDMA_IOC_CQ_POLL,
		 sizeof(krdma_cq_poll),
		 4,
		 {NEEDS(krdma_cq_poll, handle, cq), FIELD(krdma_cq_poll, count, count, 0),
		  FIELD(krdma_cq_poll, reserved, reserved, 0),
		  FIELD(krdma_cq_poll, entries, pointer, 0)}},
		{"CQ_NOTIFY",
		 KRDMA_IOC_CQ_NOTIFY,
		 sizeof(krdma_cq_notify),
		 3,
		 {NEEDS(krdma_cq_notify, handle, cq), FIELD(krdma_cq_notify, solicited, choice, 2),
		  FIELD(krdma_cq_notify, missed, out, 0)}},
		{"SRQ",
		 KRDMA_IOC_SRQ,
		 sizeof(krdma_srq),
		 4,
		 {NEEDS(krdma_srq, pd, pd), MAKES(krdma_srq, handle, srq),
		  FIELD(krdma_srq, id, out, 0), FIELD(krdma_srq, max_wr, count, 0),
		  FIELD(krdma_srq, max_sge, choice, 5), FIELD(krdma_srq, limit, choice, 3),
		  FIELD(krdma_srq, reserved, reserved, 0), FIELD(krdma_srq, cookie, cookie, 0),
		  PRIV(krdma_srq, 0, 32)}},
		{"SRQ_MODIFY",
		 KRDMA_IOC_SRQ_MODIFY,
		 sizeof(krdma_srq_attr),
		 3,
		 {NEEDS(krdma_srq_attr, handle, srq), FIELD(krdma_srq_attr, mask, flags, 3),
		  FIELD(krdma_srq_attr, max_wr, count, 0), FIELD(krdma_srq_attr, max_sge, out, 0),
		  FIELD(krdma_srq_attr, limit, choice, 4), PRIV(krdma_srq_attr, 16, 0)}},
		{"SRQ_QUERY",
		 KRDMA_IOC_SRQ_QUERY,
		 sizeof(krdma_srq_attr),
		 2,
		 {NEEDS(krdma_srq_attr, handle, srq), FIELD(krdma_srq_attr, mask, reserved, 0),
		  FIELD(krdma_srq_attr, max_wr, out, 0), FIELD(krdma_srq_attr, max_sge, out, 0),
		  FIELD(krdma_srq_attr, limit, out, 0), PRIV(krdma_srq_attr, 0, 0)}},
		{"QP",
		 KRDMA_IOC_QP,
		 sizeof(krdma_qp),
		 12,
		 {NEEDS(krdma_qp, pd, pd), MAKES(krdma_qp, handle, qp),
		  FIELD(krdma_qp, number, out, 0), NEEDS(krdma_qp, send_cq, cq),
		  NEEDS(krdma_qp, recv_cq, cq), NEEDS(krdma_qp, srq, srq),
		  FIELD(krdma_qp, flags, flags, 1), FIELD(krdma_qp, max_send_wr, count, 0),
		  FIELD(krdma_qp, max_recv_wr, count, 0), FIELD(krdma_qp, max_send_sge, choice, 5),
		  FIELD(krdma_qp, max_recv_sge, choice, 5), FIELD(krdma_qp, max_inline, count, 0),
		  FIELD(krdma_qp, reserved, reserved, 0), FIELD(krdma_qp, cookie, cookie, 0),
		  PRIV(krdma_qp, 0, 56)}},
		{"QP_MODIFY",
		 KRDMA_IOC_QP_MODIFY,
		 sizeof(krdma_qp_attr),
		 3,
		 {NEEDS(krdma_qp_attr, handle, qp), FIELD(krdma_qp_attr, mask, flags, 7),
		  FIELD(krdma_qp_attr, state, choice, 8), FIELD(krdma_qp_attr, access, access, 0),
		  REST(krdma_qp_attr, ird)}},
		{"QP_QUERY",
		 KRDMA_IOC_QP_QUERY,
		 sizeof(krdma_qp_attr),
		 2,
		 {NEEDS(krdma_qp_attr, handle, qp), FIELD(krdma_qp_attr, mask, reserved, 0),
		  REST(krdma_qp_attr, state)}},
		{"POST_SEND",
		 KRDMA_IOC_POST_SEND,
		 sizeof(krdma_post),
		 8,
		 {NEEDS(krdma_post, handle, qp), FIELD(krdma_post, count, choice, 4),
		  FIELD(krdma_post, done, out, 0), FIELD(krdma_post, wrs, wrs, 0)}},
		{"POST_RECV",
		 KRDMA_IOC_POST_RECV,
		 sizeof(krdma_post),
		 6,
		 {NEEDS(krdma_post, handle, qp), FIELD(krdma_post, count, choice, 4),
		  FIELD(krdma_post, done, out, 0), FIELD(krdma_post, wrs, wrs, 0)}},
		{"POST_SRQ",
		 KRDMA_IOC_POST_SRQ,
		 sizeof(krdma_post),
		 4,
		 {NEEDS(krdma_post, handle, srq), FIELD(krdma_post, count, choice, 4),
		  FIELD(krdma_post, done, out, 0), FIELD(krdma_post, wrs, wrs, 0)}},
		{"MR",
		 KRDMA_IOC_MR,
		 sizeof(krdma_mr),
		 6,
		 {NEEDS(krdma_mr, pd, pd), MAKES(krdma_mr, handle, mr),
		  FIELD(krdma_mr, stag, out, 0), FIELD(krdma_mr, flags, flags, KRDMA_MR_DMABUF),
		  FIELD(krdma_mr, access, access, 0), FIELD(krdma_mr, start, pointer, 0),
		  FIELD(krdma_mr, length, length, 0), FIELD(krdma_mr, iova, pointer, 0),
		  FIELD(krdma_mr, fd, fd, 0), FIELD(krdma_mr, reserved, reserved, 0),
		  PRIV(krdma_mr, 0, 8)}},
		{"MR_REREGISTER",
		 KRDMA_IOC_MR_REREGISTER,
		 sizeof(krdma_mr_reregister),
		 3,
		 {NEEDS(krdma_mr_reregister, handle, mr),
		  FIELD(krdma_mr_reregister, mask, flags, 7), NEEDS(krdma_mr_reregister, pd, pd),
		  FIELD(krdma_mr_reregister, access, access, 0),
		  FIELD(krdma_mr_reregister, stag, out, 0),
		  FIELD(krdma_mr_reregister, start, pointer, 0),
		  FIELD(krdma_mr_reregister, length, length, 0),
		  FIELD(krdma_mr_reregister, iova, pointer, 0)}},
		{"MW",
		 KRDMA_IOC_MW,
		 sizeof(krdma_mw),
		 3,
		 {NEEDS(krdma_mw, pd, pd), MAKES(krdma_mw, handle, mw),
		  FIELD(krdma_mw, stag, out, 0), FIELD(krdma_mw, type, choice, 3),
		  FIELD(krdma_mw, reserved, reserved, 0), PRIV(krdma_mw, 0, 0)}},
		{"LISTEN",
		 KRDMA_IOC_LISTEN,
		 sizeof(krdma_listen),
		 4,
		 {NEEDS(krdma_listen, context, context), MAKES(krdma_listen, handle, listener),
		  FIELD(krdma_listen, backlog, count, 0), FIELD(krdma_listen, flags, flags, 3),
		  FIELD(krdma_listen, tos, choice, 256), FIELD(krdma_listen, cookie, cookie, 0),
		  FIELD(krdma_listen, local, address, 0)}},
		{"CONNECT",
		 KRDMA_IOC_CONNECT,
		 sizeof(krdma_conn),
		 8,
		 {MAKES(krdma_conn, handle, conn), NEEDS(krdma_conn, qp, qp),
		  FIELD(krdma_conn, flags, flags, 1), FIELD(krdma_conn, tos, choice, 256),
		  FIELD(krdma_conn, ird, choice, 9), FIELD(krdma_conn, ord, choice, 9),
		  FIELD(krdma_conn, private_data, pointer, 0),
		  FIELD(krdma_conn, private_data_len, short_length, 0),
		  FIELD(krdma_conn, reserved, reserved, 0), FIELD(krdma_conn, cookie, cookie, 0),
		  FIELD(krdma_conn, local, address, 0), FIELD(krdma_conn, remote, address, 0),
		  FIELD(krdma_conn, timeout_ms, choice, 1 << 16),
		  FIELD(krdma_conn, reserved2, reserved, 0)}},
		{"ACCEPT",
		 KRDMA_IOC_ACCEPT,
		 sizeof(krdma_conn),
		 8,
		 {NEEDS(krdma_conn, handle, request), NEEDS(krdma_conn, qp, qp),
		  FIELD(krdma_conn, flags, flags, 1), FIELD(krdma_conn, tos, choice, 256),
		  FIELD(krdma_conn, ird, choice, 9), FIELD(krdma_conn, ord, choice, 9),
		  FIELD(krdma_conn, private_data, pointer, 0),
		  FIELD(krdma_conn, private_data_len, short_length, 0),
		  FIELD(krdma_conn, reserved, reserved, 0), FIELD(krdma_conn, cookie, cookie, 0),
		  FIELD(krdma_conn, local, out, 0), FIELD(krdma_conn, remote, out, 0),
		  FIELD(krdma_conn, timeout_ms, reserved, 0),
		  FIELD(krdma_conn, reserved2, reserved, 0)}},
		{"REJECT",
		 KRDMA_IOC_REJECT,
		 sizeof(krdma_conn),
		 2,
		 {NEEDS(krdma_conn, handle, request), FIELD(krdma_conn, qp, out, 0),
		  FIELD(krdma_conn, flags, flags, 1), FIELD(krdma_conn, tos, choice, 256),
		  FIELD(krdma_conn, ird, out, 0), FIELD(krdma_conn, ord, out, 0),
		  FIELD(krdma_conn, private_data, pointer, 0),
		  FIELD(krdma_conn, private_data_len, short_length, 0),
		  FIELD(krdma_conn, reserved, reserved, 0), FIELD(krdma_conn, cookie, cookie, 0),
		  FIELD(krdma_conn, local, out, 0), FIELD(krdma_conn, remote, out, 0),
		  FIELD(krdma_conn, timeout_ms, reserved, 0),
		  FIELD(krdma_conn, reserved2, reserved, 0)}},
		{"DISCONNECT",
		 KRDMA_IOC_DISCONNECT,
		 sizeof(krdma_disconnect),
		 3,
		 {NEEDS(krdma_disconnect, qp, qp), FIELD(krdma_disconnect, abrupt, choice, 2),
		  FIELD(krdma_disconnect, reserved, reserved, 0)}},
		{"NET_LOCAL",
		 KRDMA_IOC_NET_LOCAL,
		 sizeof(krdma_net_locals),
		 2,
		 {FIELD(krdma_net_locals, count, count, 0),
		  FIELD(krdma_net_locals, entries, pointer, 0),
		  FIELD(krdma_net_locals, dst, address, 0)}},
		{"NET_ROUTE",
		 KRDMA_IOC_NET_ROUTE,
		 sizeof(krdma_net_route),
		 2,
		 {FIELD(krdma_net_route, flags, out, 0), FIELD(krdma_net_route, dst, address, 0),
		  FIELD(krdma_net_route, src, address, 0), FIELD(krdma_net_route, next_hop, out, 0),
		  FIELD(krdma_net_route, ifindex, ifindex, 0), FIELD(krdma_net_route, mtu, out, 0),
		  FIELD(krdma_net_route, rnic, out, 0),
		  FIELD(krdma_net_route, reserved, reserved, 0)}},
		{"NET_NEIGH",
		 KRDMA_IOC_NET_NEIGH,
		 sizeof(krdma_net_neigh),
		 4,
		 {FIELD(krdma_net_neigh, flags, flags, 3), FIELD(krdma_net_neigh, addr, address, 0),
		  FIELD(krdma_net_neigh, ifindex, ifindex, 0),
		  FIELD(krdma_net_neigh, state, out, 0), FIELD(krdma_net_neigh, lladdr, out, 0),
		  FIELD(krdma_net_neigh, lladdr_len, out, 0), MAKES(krdma_net_neigh, handle, neigh),
		  FIELD(krdma_net_neigh, cookie, cookie, 0)}},
		{"PORT",
		 KRDMA_IOC_PORT,
		 sizeof(krdma_port),
		 4,
		 {MAKES(krdma_port, handle, port), FIELD(krdma_port, addr, address, 0),
		  FIELD(krdma_port, protocol, choice, 7),
		  FIELD(krdma_port, reserved, reserved, 0)}},
		{"NET_SUBSCRIBE",
		 KRDMA_IOC_NET_SUBSCRIBE,
		 sizeof(krdma_net_subscribe),
		 2,
		 {FIELD(krdma_net_subscribe, mask, flags, 15)}},
		{"MIB",
		 KRDMA_IOC_MIB,
		 sizeof(krdma_mib),
		 1,
		 {FIELD(krdma_mib, count, count, 0), FIELD(krdma_mib, entries, pointer, 0)}},
	};
	return table;
}

namespace {

/* each byte behind the size belongs to one field */
void check_fields(const Command &c)
{
	std::uint32_t at = sizeof(std::uint32_t);

	for (const Field &f : c.fields) {
		if (f.offset != at)
			rdma::fail(std::string{c.name} + ": octet " + std::to_string(at) +
				   " is in no field");
		at += f.size;
	}
	if (at != c.size)
		rdma::fail(std::string{c.name} + ": its last octets are in no field");
}

} /* namespace */

void check_complete(int fd)
{
	std::array<bool, 256> known{};

	for (const Command &c : commands()) {
		known.at(c.number & 0xff) = true;
		check_fields(c);
	}
	for (unsigned int nr = 0; nr < known.size(); nr++) {
		/* no structure is that short: the errno says whether the number is known */
		std::uint32_t size = 0;
		const bool there =
			::ioctl(fd, _IO(KRDMA_IOC_TYPE, nr), &size) == 0 || errno != ENOTTY;

		if (there != known.at(nr))
			rdma::fail("command " + std::to_string(nr) +
				   (there ? " is not in the table" : " is none of the kernel's"));
	}
}

} /* namespace grammar */
