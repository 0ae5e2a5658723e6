/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The layout of krdma/krdma-abi.h in numbers: octets of each structure and where its last
 * member is. The kernel includes it, and so does a test that is compiled for 64 and for 32
 * bits: what is different for one of them does not compile. To be included after
 * krdma-abi.h, by C or C++.
 */
#ifndef KRDMA_ABI_LAYOUT_H
#define KRDMA_ABI_LAYOUT_H

#define KRDMA_LAYOUT(type, octets, last, where)                                  \
	static_assert(sizeof(struct type) == (octets) &&                         \
		      offsetof(struct type, last) == (where), #type)

KRDMA_LAYOUT(krdma_addr, 24, addr, 8);
KRDMA_LAYOUT(krdma_rnic_entry, 72, name, 8);
KRDMA_LAYOUT(krdma_rnic_list, 16, entries, 8);
KRDMA_LAYOUT(krdma_rnic_query, 400, objects, 368);
KRDMA_LAYOUT(krdma_counter, 64, value, 56);
KRDMA_LAYOUT(krdma_rnic_counters, 24, entries, 16);
KRDMA_LAYOUT(krdma_rnic_find, 56, remote, 32);
KRDMA_LAYOUT(krdma_qp_entry, 96, retransmissions, 88);
KRDMA_LAYOUT(krdma_qp_list, 24, entries, 16);
KRDMA_LAYOUT(krdma_private, 24, out_len, 20);
KRDMA_LAYOUT(krdma_context, 48, priv, 24);
KRDMA_LAYOUT(krdma_destroy, 8, handle, 4);
KRDMA_LAYOUT(krdma_pd, 40, priv, 16);
KRDMA_LAYOUT(krdma_cq, 56, priv, 32);
KRDMA_LAYOUT(krdma_cq_modify, 48, priv, 24);
KRDMA_LAYOUT(krdma_wc, 40, reserved, 36);
KRDMA_LAYOUT(krdma_cq_poll, 24, entries, 16);
KRDMA_LAYOUT(krdma_cq_notify, 16, missed, 12);
KRDMA_LAYOUT(krdma_srq, 64, priv, 40);
KRDMA_LAYOUT(krdma_srq_attr, 48, priv, 24);
KRDMA_LAYOUT(krdma_qp, 88, priv, 64);
KRDMA_LAYOUT(krdma_qp_attr, 160, retransmissions, 152);
KRDMA_LAYOUT(krdma_sge, 16, lkey, 12);
KRDMA_LAYOUT(krdma_wr, 88, bind_access, 84);
KRDMA_LAYOUT(krdma_post, 24, wrs, 16);
KRDMA_LAYOUT(krdma_mr, 80, priv, 56);
KRDMA_LAYOUT(krdma_mr_reregister, 48, iova, 40);
KRDMA_LAYOUT(krdma_mw, 48, priv, 24);
KRDMA_LAYOUT(krdma_listen, 56, local, 32);
KRDMA_LAYOUT(krdma_conn, 96, remote, 72);
KRDMA_LAYOUT(krdma_disconnect, 16, reserved, 12);
KRDMA_LAYOUT(krdma_net_local, 32, rnic, 28);
KRDMA_LAYOUT(krdma_net_locals, 40, dst, 16);
KRDMA_LAYOUT(krdma_net_route, 96, reserved, 92);
KRDMA_LAYOUT(krdma_net_neigh, 64, cookie, 56);
KRDMA_LAYOUT(krdma_port, 40, reserved, 36);
KRDMA_LAYOUT(krdma_net_subscribe, 8, mask, 4);
KRDMA_LAYOUT(krdma_mib, 16, entries, 8);
KRDMA_LAYOUT(krdma_usage, 40, pinned_pages, 32);
KRDMA_LAYOUT(krdma_event, 40, time_ns, 32);
KRDMA_LAYOUT(krdma_conn_event, 104, private_data, 104);
KRDMA_LAYOUT(krdma_neigh_event, 88, reserved, 84);
KRDMA_LAYOUT(krdma_net_event, 152, name, 88);

#undef KRDMA_LAYOUT

#endif /* KRDMA_ABI_LAYOUT_H */
