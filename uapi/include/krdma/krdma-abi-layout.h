/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The layout of krdma/krdma-abi.h in numbers: the size of each structure and the offset of each
 * member. The kernel includes this header, and so does a test that is compiled for 64 and for 32
 * bits. A difference between them does not compile. Include it after krdma-abi.h, in C or C++.
 */
#ifndef KRDMA_ABI_LAYOUT_H
#define KRDMA_ABI_LAYOUT_H

/* offset of a member in the structure of the enclosing KRDMA_LAYOUT() */
#define AT(member, where) (offsetof(__typeof__(*self), member) == (where))

#define KRDMA_LAYOUT(type, size, members)                                        \
	static inline void krdma_layout_##type(const struct type *self)          \
	{                                                                        \
		static_assert(sizeof(*self) == (size) && (members), #type);      \
	}                                                                        \
	struct type

KRDMA_LAYOUT(krdma_addr, 24, AT(family, 0) && AT(port, 2) && AT(scope_id, 4) && AT(addr, 8));
KRDMA_LAYOUT(krdma_rnic_entry, 72, AT(index, 0) && AT(ifindex, 4) && AT(name, 8));
KRDMA_LAYOUT(krdma_rnic_list, 16, AT(size, 0) && AT(count, 4) && AT(entries, 8));
KRDMA_LAYOUT(krdma_rnic_query, 416, AT(size, 0) && AT(index, 4) && AT(flags, 8) &&
	     AT(ifindex, 12) && AT(name, 16) && AT(netdev, 80) && AT(provider, 96) &&
	     AT(uvp, 160) && AT(uvp_abi, 224) && AT(transport, 228) && AT(caps, 232) &&
	     AT(vendor_id, 236) && AT(vendor_part_id, 240) && AT(hw_version, 244) &&
	     AT(fw_version, 248) && AT(node_guid, 256) && AT(mac, 264) && AT(mac_len, 272) &&
	     AT(mtu, 276) && AT(num_ceh, 280) && AT(num_counters, 284) && AT(max_mr_size, 288) &&
	     AT(device_cap_flags, 296) && AT(max_qp, 304) && AT(max_qp_wr, 308) &&
	     AT(max_send_sge, 312) && AT(max_recv_sge, 316) && AT(max_sge_rd, 320) &&
	     AT(max_inline, 324) && AT(max_cq, 328) && AT(max_cqe, 332) && AT(max_mr, 336) &&
	     AT(max_mw, 340) && AT(max_pd, 344) && AT(max_srq, 348) && AT(max_srq_wr, 352) &&
	     AT(max_srq_sge, 356) && AT(max_ird, 360) && AT(max_ord, 364) && AT(objects, 368) &&
	     AT(timestamp_mask, 400) && AT(clock_khz, 408) && AT(num_ports, 412));
KRDMA_LAYOUT(krdma_rnic_port, 64, AT(size, 0) && AT(index, 4) && AT(port, 8) && AT(state, 12) &&
	     AT(path_mtu, 16) && AT(lid, 20) && AT(ifindex, 24) && AT(reserved, 28) &&
	     AT(gid, 32) && AT(netdev, 48));
KRDMA_LAYOUT(krdma_counter, 64, AT(name, 0) && AT(value, 56));
KRDMA_LAYOUT(krdma_rnic_counters, 24, AT(size, 0) && AT(index, 4) && AT(count, 8) &&
	     AT(reserved, 12) && AT(entries, 16));
KRDMA_LAYOUT(krdma_rnic_find, 56, AT(size, 0) && AT(index, 4) && AT(local, 8) && AT(remote, 32));
KRDMA_LAYOUT(krdma_qp_entry, 96, AT(number, 0) && AT(reserved, 4) && AT(local, 8) &&
	     AT(remote, 32) && AT(tx_octets, 56) && AT(tx_messages, 64) && AT(rx_octets, 72) &&
	     AT(rx_messages, 80) && AT(retransmissions, 88));
KRDMA_LAYOUT(krdma_qp_list, 24, AT(size, 0) && AT(index, 4) && AT(count, 8) && AT(next, 12) &&
	     AT(entries, 16));
KRDMA_LAYOUT(krdma_private, 24, AT(in, 0) && AT(out, 8) && AT(in_len, 16) && AT(out_len, 20));
KRDMA_LAYOUT(krdma_context, 48, AT(size, 0) && AT(index, 4) && AT(handle, 8) && AT(flags, 12) &&
	     AT(cookie, 16) && AT(priv, 24));
KRDMA_LAYOUT(krdma_destroy, 8, AT(size, 0) && AT(handle, 4));
KRDMA_LAYOUT(krdma_pd, 40, AT(size, 0) && AT(context, 4) && AT(handle, 8) && AT(id, 12) &&
	     AT(priv, 16));
KRDMA_LAYOUT(krdma_cq, 64, AT(size, 0) && AT(context, 4) && AT(handle, 8) && AT(id, 12) &&
	     AT(depth, 16) && AT(ceh, 20) && AT(cookie, 24) && AT(priv, 32) &&
	     AT(flags, 56) && AT(reserved2, 60));
KRDMA_LAYOUT(krdma_wc_time, 16, AT(device, 0) && AT(real, 8));
KRDMA_LAYOUT(krdma_cq_modify, 48, AT(size, 0) && AT(handle, 4) && AT(mask, 8) && AT(depth, 12) &&
	     AT(count, 16) && AT(period_us, 18) && AT(reserved, 20) && AT(priv, 24));
KRDMA_LAYOUT(krdma_wc, 40, AT(wr_id, 0) && AT(status, 8) && AT(opcode, 12) &&
	     AT(vendor_err, 16) && AT(byte_len, 20) && AT(imm, 24) && AT(qp, 28) &&
	     AT(flags, 32) && AT(reserved, 36));
KRDMA_LAYOUT(krdma_cq_poll, 24, AT(size, 0) && AT(handle, 4) && AT(count, 8) &&
	     AT(reserved, 12) && AT(entries, 16));
KRDMA_LAYOUT(krdma_cq_notify, 16, AT(size, 0) && AT(handle, 4) && AT(solicited, 8) &&
	     AT(missed, 12));
KRDMA_LAYOUT(krdma_srq, 64, AT(size, 0) && AT(pd, 4) && AT(handle, 8) && AT(id, 12) &&
	     AT(max_wr, 16) && AT(max_sge, 20) && AT(limit, 24) && AT(reserved, 28) &&
	     AT(cookie, 32) && AT(priv, 40));
KRDMA_LAYOUT(krdma_srq_attr, 48, AT(size, 0) && AT(handle, 4) && AT(mask, 8) && AT(max_wr, 12) &&
	     AT(max_sge, 16) && AT(limit, 20) && AT(priv, 24));
KRDMA_LAYOUT(krdma_qp, 88, AT(size, 0) && AT(pd, 4) && AT(handle, 8) && AT(number, 12) &&
	     AT(send_cq, 16) && AT(recv_cq, 20) && AT(srq, 24) && AT(flags, 28) &&
	     AT(max_send_wr, 32) && AT(max_recv_wr, 36) && AT(max_send_sge, 40) &&
	     AT(max_recv_sge, 44) && AT(max_inline, 48) && AT(reserved, 52) && AT(cookie, 56) &&
	     AT(priv, 64));
KRDMA_LAYOUT(krdma_qp_attr, 168, AT(size, 0) && AT(handle, 4) && AT(mask, 8) && AT(state, 12) &&
	     AT(access, 16) && AT(ird, 20) && AT(ord, 24) && AT(max_send_wr, 28) &&
	     AT(max_recv_wr, 32) && AT(max_send_sge, 36) && AT(max_recv_sge, 40) &&
	     AT(max_inline, 44) && AT(local, 48) && AT(remote, 72) && AT(mpa_revision, 96) &&
	     AT(mss, 100) && AT(crc, 104) && AT(markers, 108) && AT(cwnd, 112) &&
	     AT(srtt_us, 116) && AT(tx_octets, 120) && AT(tx_messages, 128) &&
	     AT(rx_octets, 136) && AT(rx_messages, 144) && AT(retransmissions, 152) &&
	     AT(sqd_notify, 160) && AT(draining, 164));
KRDMA_LAYOUT(krdma_sge, 16, AT(addr, 0) && AT(length, 8) && AT(lkey, 12));
KRDMA_LAYOUT(krdma_wr, 88, AT(wr_id, 0) && AT(sges, 8) && AT(num_sge, 16) && AT(opcode, 20) &&
	     AT(flags, 24) && AT(imm, 28) && AT(remote_addr, 32) && AT(rkey, 40) && AT(mw, 44) &&
	     AT(compare_add, 48) && AT(swap, 56) && AT(bind_addr, 64) && AT(bind_length, 72) &&
	     AT(bind_lkey, 80) && AT(bind_access, 84));
KRDMA_LAYOUT(krdma_post, 24, AT(size, 0) && AT(handle, 4) && AT(count, 8) && AT(done, 12) &&
	     AT(wrs, 16));
KRDMA_LAYOUT(krdma_mr, 80, AT(size, 0) && AT(pd, 4) && AT(handle, 8) && AT(stag, 12) &&
	     AT(flags, 16) && AT(access, 20) && AT(start, 24) && AT(length, 32) &&
	     AT(iova, 40) && AT(fd, 48) && AT(reserved, 52) && AT(priv, 56));
KRDMA_LAYOUT(krdma_mr_reregister, 48, AT(size, 0) && AT(handle, 4) && AT(mask, 8) &&
	     AT(pd, 12) && AT(access, 16) && AT(stag, 20) && AT(start, 24) && AT(length, 32) &&
	     AT(iova, 40));
KRDMA_LAYOUT(krdma_mw, 48, AT(size, 0) && AT(pd, 4) && AT(handle, 8) && AT(stag, 12) &&
	     AT(type, 16) && AT(reserved, 20) && AT(priv, 24));
KRDMA_LAYOUT(krdma_listen, 56, AT(size, 0) && AT(context, 4) && AT(handle, 8) &&
	     AT(backlog, 12) && AT(flags, 16) && AT(tos, 20) && AT(cookie, 24) && AT(local, 32));
KRDMA_LAYOUT(krdma_conn, 104, AT(size, 0) && AT(handle, 4) && AT(qp, 8) && AT(flags, 12) &&
	     AT(tos, 16) && AT(ird, 20) && AT(ord, 22) && AT(private_data, 24) &&
	     AT(private_data_len, 32) && AT(reserved, 36) && AT(cookie, 40) && AT(local, 48) &&
	     AT(remote, 72) && AT(timeout_ms, 96) &&
	     AT(reserved2, 100));
KRDMA_LAYOUT(krdma_disconnect, 16, AT(size, 0) && AT(qp, 4) && AT(abrupt, 8) && AT(reserved, 12));
KRDMA_LAYOUT(krdma_net_local, 32, AT(addr, 0) && AT(ifindex, 24) && AT(rnic, 28));
KRDMA_LAYOUT(krdma_net_locals, 40, AT(size, 0) && AT(count, 4) && AT(entries, 8) && AT(dst, 16));
KRDMA_LAYOUT(krdma_net_route, 96, AT(size, 0) && AT(flags, 4) && AT(dst, 8) && AT(src, 32) &&
	     AT(next_hop, 56) && AT(ifindex, 80) && AT(mtu, 84) && AT(rnic, 88) &&
	     AT(reserved, 92));
KRDMA_LAYOUT(krdma_net_neigh, 64, AT(size, 0) && AT(flags, 4) && AT(addr, 8) &&
	     AT(ifindex, 32) && AT(state, 36) && AT(lladdr, 40) && AT(lladdr_len, 48) &&
	     AT(handle, 52) && AT(cookie, 56));
KRDMA_LAYOUT(krdma_port, 40, AT(size, 0) && AT(handle, 4) && AT(addr, 8) && AT(protocol, 32) &&
	     AT(reserved, 36));
KRDMA_LAYOUT(krdma_net_subscribe, 8, AT(size, 0) && AT(mask, 4));
KRDMA_LAYOUT(krdma_mib, 16, AT(size, 0) && AT(count, 4) && AT(entries, 8));
KRDMA_LAYOUT(krdma_error, 24, AT(status, 0) && AT(cause, 4) && AT(unit, 8) && AT(reserved, 12) &&
	     AT(value, 16));
KRDMA_LAYOUT(krdma_call, 40, AT(size, 0) && AT(command, 4) && AT(argument, 8) && AT(error, 16));
KRDMA_LAYOUT(krdma_usage, 40, AT(size, 0) && AT(objects, 4) && AT(max_objects, 8) &&
	     AT(events, 12) && AT(max_events, 16) && AT(reserved, 20) && AT(lost_events, 24) &&
	     AT(pinned_pages, 32));
KRDMA_LAYOUT(krdma_event, 40, AT(size, 0) && AT(type, 4) && AT(handle, 8) && AT(code, 12) &&
	     AT(status, 16) && AT(reserved, 20) && AT(cookie, 24) && AT(time_ns, 32));
KRDMA_LAYOUT(krdma_conn_event, 104, AT(base, 0) && AT(conn, 40) && AT(ird, 44) && AT(ord, 46) &&
	     AT(local, 48) && AT(remote, 72) && AT(private_data_len, 96) && AT(reserved, 100) &&
	     AT(private_data, 104));
KRDMA_LAYOUT(krdma_neigh_event, 88, AT(base, 0) && AT(addr, 40) && AT(ifindex, 64) &&
	     AT(state, 68) && AT(lladdr, 72) && AT(lladdr_len, 80) && AT(reserved, 84));
KRDMA_LAYOUT(krdma_net_event, 152, AT(base, 0) && AT(gone, 40) && AT(ifindex, 44) &&
	     AT(rnic, 48) && AT(mtu, 52) && AT(up, 56) && AT(prefix_len, 60) && AT(addr, 64) &&
	     AT(name, 88));

#undef KRDMA_LAYOUT
#undef AT

#endif /* KRDMA_ABI_LAYOUT_H */
