/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of objects: attributes of the device, the objects that can be created and their
 * limits, and the errno of each refused creation.
 */
#include <cerrno>
#include <climits>

#include <sys/mman.h>
#include <unistd.h>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::must;
using rdma::require;
using rdma::require_eq;

struct Plain {
	explicit Plain(World &world)
		: pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")},
		  cq{must(ibv_create_cq(world.context(), 16, nullptr, nullptr, 0), "ibv_create_cq")}
	{}

	[[nodiscard]] ibv_qp_init_attr attr(std::uint32_t send_wr, std::uint32_t recv_wr) const
	{
		ibv_qp_init_attr a{};

		a.send_cq = a.recv_cq = cq.get();
		a.qp_type = IBV_QPT_RC;
		a.cap.max_send_wr = send_wr;
		a.cap.max_recv_wr = recv_wr;
		a.cap.max_send_sge = a.cap.max_recv_sge = 1;
		return a;
	}

	rdma::Pd pd;
	rdma::Cq cq;
};

void refuses_qp(const Plain &plain, ibv_qp_init_attr attr, int wanted, const char *what)
{
	errno = 0;
	const rdma::Qp qp{ibv_create_qp(plain.pd.get(), &attr)};

	require(!qp, what);
	require_eq(errno, wanted, what);
}

void device_attributes(World &world)
{
	const ibv_device_attr &attr = world.device();
	ibv_port_attr port{};
	ibv_gid gid{};

	require_eq(int{world.context()->device->transport_type}, int{IBV_TRANSPORT_IWARP},
		   "transport");
	require(attr.node_guid != 0, "node_guid is 0");
	require(attr.sys_image_guid != 0, "sys_image_guid is 0");
	require(attr.vendor_id != 0, "vendor_id is 0");
	require_eq(attr.device_cap_flags,
		   unsigned{IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			    IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_SRQ_RESIZE |
			    IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID},
		   "device_cap_flags");
	require(attr.fw_ver[0] != 0, "fw_ver is empty");
	require(attr.max_mr_size > 4096, "max_mr_size");
	require(attr.max_sge >= 16, "max_sge below 16");
	require(attr.max_qp_rd_atom > 0 && attr.max_qp_rd_atom <= 255, "max_qp_rd_atom");
	require(attr.max_qp_init_rd_atom > 0 && attr.max_qp_init_rd_atom <= 255,
		"max_qp_init_rd_atom");
	require_eq(int{attr.phys_port_cnt}, 1, "ports");
	must(ibv_query_port(world.context(), 1, &port), "ibv_query_port");
	require_eq(int{port.state}, int{IBV_PORT_ACTIVE}, "port state");
	require_eq(int{port.link_layer}, int{IBV_LINK_LAYER_ETHERNET}, "link layer");
	must(ibv_query_gid(world.context(), 1, 0, &gid), "ibv_query_gid");
	require(ibv_query_port(world.context(), 2, &port) != 0, "there is a port 2");
}

void qp_caps_are_rounded_up(World &world)
{
	const Plain plain{world};
	ibv_qp_init_attr attr = plain.attr(3, 5);
	attr.cap.max_send_sge = 3;
	attr.cap.max_recv_sge = 2;
	attr.cap.max_inline_data = 30;
	const rdma::Qp qp{must(ibv_create_qp(plain.pd.get(), &attr), "ibv_create_qp")};
	ibv_qp_attr now{};
	ibv_qp_init_attr init{};

	require(attr.cap.max_send_wr >= 3 && attr.cap.max_recv_wr >= 5, "granted depth");
	require(attr.cap.max_send_sge >= 3 && attr.cap.max_recv_sge >= 2, "granted sges");
	require(attr.cap.max_inline_data >= 30, "granted inline data");
	must(ibv_query_qp(qp.get(), &now, IBV_QP_STATE | IBV_QP_CAP, &init), "ibv_query_qp");
	require_eq(int{now.qp_state}, int{IBV_QPS_INIT}, "state of a new QP");
	require_eq(init.cap.max_send_wr, attr.cap.max_send_wr, "queried max_send_wr");
	require_eq(init.cap.max_recv_wr, attr.cap.max_recv_wr, "queried max_recv_wr");
	require_eq(init.cap.max_send_sge, attr.cap.max_send_sge, "queried max_send_sge");
	require_eq(init.cap.max_recv_sge, attr.cap.max_recv_sge, "queried max_recv_sge");
	require_eq(init.cap.max_inline_data, attr.cap.max_inline_data, "queried max_inline_data");
}

void qp_caps_have_limits(World &world)
{
	const Plain plain{world};
	const ibv_device_attr &device = world.device();
	const auto wr = static_cast<std::uint32_t>(device.max_qp_wr);
	const auto sge = static_cast<std::uint32_t>(device.max_sge);

	for (auto change : std::to_array<void (*)(ibv_qp_cap &, std::uint32_t, std::uint32_t)>({
		     [](ibv_qp_cap &c, std::uint32_t w, std::uint32_t) { c.max_send_wr = w + 1; },
		     [](ibv_qp_cap &c, std::uint32_t w, std::uint32_t) { c.max_recv_wr = w + 1; },
		     [](ibv_qp_cap &c, std::uint32_t, std::uint32_t s) { c.max_send_sge = s + 1; },
		     [](ibv_qp_cap &c, std::uint32_t, std::uint32_t s) { c.max_recv_sge = s + 1; },
		     [](ibv_qp_cap &c, std::uint32_t, std::uint32_t) {
			     c.max_inline_data = UINT_MAX;
		     },
		     [](ibv_qp_cap &c, std::uint32_t, std::uint32_t) {
			     c.max_send_wr = c.max_recv_wr = UINT_MAX;
		     },
	     })) {
		ibv_qp_init_attr attr = plain.attr(1, 1);

		change(attr.cap, wr, sge);
		refuses_qp(plain, attr, EINVAL, "QP above a limit");
	}

	ibv_qp_init_attr most = plain.attr(wr, wr);
	most.cap.max_send_sge = most.cap.max_recv_sge = sge;
	const rdma::Qp qp{must(ibv_create_qp(plain.pd.get(), &most), "largest QP")};
}

void queues_of_depth_zero(World &world)
{
	const Plain plain{world};
	ibv_qp_init_attr attr = plain.attr(0, 0);
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 0;
	const rdma::Qp qp{must(ibv_create_qp(plain.pd.get(), &attr), "ibv_create_qp")};
	ibv_send_wr send{};
	ibv_send_wr *bad_send = nullptr;
	ibv_recv_wr recv{};
	ibv_recv_wr *bad_recv = nullptr;

	send.opcode = IBV_WR_SEND;
	require_eq(ibv_post_send(qp.get(), &send, &bad_send), ENOMEM, "send without queue");
	require_eq(ibv_post_recv(qp.get(), &recv, &bad_recv), ENOMEM, "receive without queue");
}

void unsupported_qp_types(World &world)
{
	const Plain plain{world};

	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET}) {
		ibv_qp_init_attr attr = plain.attr(1, 1);

		attr.qp_type = type;
		refuses_qp(plain, attr, EOPNOTSUPP, "QP type");
	}
}

void cq_limits(World &world)
{
	ibv_context *context = world.context();
	const auto refuses = [&](int cqe, int vector, const char *what) {
		errno = 0;
		const rdma::Cq cq{ibv_create_cq(context, cqe, nullptr, nullptr, vector)};

		require(!cq, what);
		require_eq(errno, EINVAL, what);
	};

	refuses(0, 0, "CQ without entries");
	refuses(-1, 0, "CQ with -1 entries");
	refuses(world.device().max_cqe + 1, 0, "CQ above max_cqe");
	refuses(16, context->num_comp_vectors, "unknown completion vector");
	const rdma::Cq most{
		must(ibv_create_cq(context, world.device().max_cqe, nullptr, nullptr, 0),
		     "CQ of max_cqe")};
	require(most->cqe >= world.device().max_cqe, "granted entries");
	const rdma::Cq odd{must(ibv_create_cq(context, 3, nullptr, nullptr, 0), "CQ of 3")};
	require(odd->cqe >= 3, "granted entries");
}

void modify_rules(World &world)
{
	const Plain plain{world};
	ibv_qp_init_attr init = plain.attr(1, 1);
	const rdma::Qp qp{must(ibv_create_qp(plain.pd.get(), &init), "ibv_create_qp")};
	ibv_qp_attr attr{};

	must(ibv_modify_qp(qp.get(), &attr, 0), "modify of nothing");
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = attr.alt_port_num = 1;
	attr.alt_ah_attr.port_num = 1;
	attr.cap = init.cap;
	attr.path_mig_state = IBV_MIG_MIGRATED;
	/* changes that a queue pair of an RNIC refuses, alone and with a state */
	for (const int mask :
	     {int{IBV_QP_CAP}, int{IBV_QP_ALT_PATH}, int{IBV_QP_PATH_MIG_STATE}, int{IBV_QP_QKEY}})
		for (const int more : {0, int{IBV_QP_STATE}})
			require_eq(ibv_modify_qp(qp.get(), &attr, mask | more), EINVAL,
				   "modify of what cannot change");
	must(ibv_modify_qp(qp.get(), &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "to INIT as InfiniBand does it");
	/* a connection comes from rdma_cm only */
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.port_num = 1;
	attr.path_mtu = IBV_MTU_1024;
	require_eq(ibv_modify_qp(qp.get(), &attr,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER),
		   EINVAL, "to RTR as InfiniBand does it");
	attr.qp_state = IBV_QPS_RTS;
	require_eq(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), EINVAL, "unconnected QP to RTS");
	attr.qp_state = IBV_QPS_ERR;
	must(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), "to ERR");
}

void objects_in_use_stay(World &world)
{
	Plain plain{world};
	ibv_qp_init_attr attr = plain.attr(1, 1);
	const rdma::Qp qp{must(ibv_create_qp(plain.pd.get(), &attr), "ibv_create_qp")};

	require_eq(ibv_destroy_cq(plain.cq.get()), EBUSY, "destroy of a CQ in use");
	require_eq(ibv_dealloc_pd(plain.pd.get()), EBUSY, "dealloc of a PD in use");
}

void region_rules(World &world)
{
	const Plain plain{world};
	std::array<std::byte, 64> octets{};
	const auto refuses = [&](void *address, std::size_t length, int access, int wanted,
				 const char *what) {
		errno = 0;
		const rdma::Mr mr{ibv_reg_mr(plain.pd.get(), address, length, access)};

		require(!mr, what);
		require_eq(errno, wanted, what);
	};

	/* memory that cannot be written can only be read */
	const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	void *memory = mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(memory != MAP_FAILED, "mmap");
	must(munmap(static_cast<std::byte *>(memory) + page, page), "munmap");
	refuses(memory, page, IBV_ACCESS_LOCAL_WRITE, EFAULT, "write access to read-only memory");
	refuses(memory, 2 * page, 0, EFAULT, "memory that is not there");
	const rdma::Mr readable{
		must(ibv_reg_mr(plain.pd.get(), memory, page, IBV_ACCESS_REMOTE_READ),
		     "read access to read-only memory")};

	refuses(octets.data(), octets.size(), IBV_ACCESS_REMOTE_WRITE, EINVAL,
		"remote write without local write");
	const rdma::Mr one{
		must(ibv_reg_mr(plain.pd.get(), octets.data(), octets.size(), rdma::all_access),
		     "ibv_reg_mr")};
	const rdma::Mr two{
		must(ibv_reg_mr(plain.pd.get(), octets.data(), octets.size(), rdma::all_access),
		     "the same memory again")};
	require(one->rkey != two->rkey, "two regions have one key");
	munmap(memory, page);
}

void srq_rules(World &world)
{
	const Plain plain{world};
	ibv_srq_init_attr init{};

	init.attr.max_wr = 5;
	init.attr.max_sge = 2;
	const rdma::Srq srq{must(ibv_create_srq(plain.pd.get(), &init), "ibv_create_srq")};
	require(init.attr.max_wr >= 5 && init.attr.max_sge >= 2, "granted SRQ");
	ibv_srq_attr attr{};
	must(ibv_query_srq(srq.get(), &attr), "ibv_query_srq");
	require_eq(attr.max_wr, init.attr.max_wr, "queried max_wr");
	require_eq(attr.max_sge, init.attr.max_sge, "queried max_sge");
	attr.srq_limit = 1;
	must(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
	must(ibv_query_srq(srq.get(), &attr), "ibv_query_srq");
	require_eq(attr.srq_limit, 1U, "queried srq_limit");
	attr.srq_limit = attr.max_wr + 1;
	require_eq(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT), EINVAL, "limit above max_wr");

	ibv_recv_wr wr{};
	ibv_recv_wr *bad = nullptr;
	for (std::uint32_t i = 0; i < init.attr.max_wr; i++)
		must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");
	require_eq(ibv_post_srq_recv(srq.get(), &wr, &bad), ENOMEM, "full SRQ");
	wr.num_sge = static_cast<int>(init.attr.max_sge) + 1;
	require_eq(ibv_post_srq_recv(srq.get(), &wr, &bad), EINVAL, "too many sges");
}

void parent_domains(World &world)
{
	Plain plain{world};
	ibv_td_init_attr td_attr{};
	const rdma::Owned<ibv_td, ibv_dealloc_td> td{
		must(ibv_alloc_td(world.context(), &td_attr), "ibv_alloc_td")};
	ibv_parent_domain_init_attr attr{};

	attr.pd = plain.pd.get();
	attr.td = td.get();
	const rdma::Pd parent{
		must(ibv_alloc_parent_domain(world.context(), &attr), "ibv_alloc_parent_domain")};
	require_eq(ibv_dealloc_pd(plain.pd.get()), EBUSY, "dealloc below a parent domain");
	rdma::Memory memory{parent.get(), 100, rdma::all_access};
	ibv_qp_init_attr init = plain.attr(1, 1);
	const rdma::Qp qp{must(ibv_create_qp(parent.get(), &init), "ibv_create_qp")};
}

} /* namespace */

const std::vector<Check> object_checks{
	{"device_attributes", device_attributes},
	{"qp_caps_are_rounded_up", qp_caps_are_rounded_up},
	{"qp_caps_have_limits", qp_caps_have_limits},
	{"queues_of_depth_zero", queues_of_depth_zero},
	{"unsupported_qp_types", unsupported_qp_types},
	{"cq_limits", cq_limits},
	{"modify_rules", modify_rules},
	{"objects_in_use_stay", objects_in_use_stay},
	{"region_rules", region_rules},
	{"srq_rules", srq_rules},
	{"parent_domains", parent_domains},
};

} /* namespace checks */
