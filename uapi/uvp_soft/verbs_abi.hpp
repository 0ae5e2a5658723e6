/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The private ABI between libibverbs and its providers, of rdma-core 34 to 65.
 * rdma-core installs no header for it, and the header in its sources is not C++. So this file
 * declares it again.
 *
 * Only the parts that the krdma provider uses have a type. The ABI's number is that of the
 * installed library (scripts/verbs-abi), and ld.so checks it by the version node of the symbols.
 * Layouts also change under one number. The public headers show which one it is. Every layout is
 * asserted; one that is not known is refused.
 */
#ifndef KRDMA_VERBS_ABI_HPP
#define KRDMA_VERBS_ABI_HPP

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#ifndef KRDMA_VERBS_ABI
#error "KRDMA_VERBS_ABI is the number that scripts/verbs-abi prints"
#endif

/* arguments of functions that later private ABIs have more */
#if KRDMA_VERBS_ABI >= 57
#define VERBS_SINCE_57(...) __VA_ARGS__
#else
#define VERBS_SINCE_57(...)
#endif
#if KRDMA_VERBS_ABI >= 59
#define VERBS_SINCE_59(...) __VA_ARGS__
#else
#define VERBS_SINCE_59(...)
#endif

/* What the installed headers show, where the private ABI has changed with them. */
struct ibv_comp_cntr;
template <typename T> constexpr bool verbs_shows_dmah = requires(T context)
{
	context.alloc_dmah;
};
template <typename T> constexpr bool verbs_shows_export = requires(T context)
{
	context.dm_export_dmabuf_fd;
};
template <typename T> constexpr bool verbs_shows_buf = requires(T context)
{
	context.alloc_buf;
};
template <typename T> constexpr bool verbs_is_defined = requires
{
	sizeof(T);
};

constexpr bool verbs_has_dmah = verbs_shows_dmah<verbs_context>;
constexpr bool verbs_has_export = verbs_shows_export<verbs_context>;
constexpr bool verbs_has_buf = verbs_shows_buf<verbs_context>;
constexpr bool verbs_has_counters = verbs_is_defined<ibv_comp_cntr>;

struct list_node {
	list_node *next;
	list_node *prev;
};

enum verbs_match_kind : std::uint8_t {
	VERBS_MATCH_SENTINEL = 0,
	VERBS_MATCH_MODALIAS = 2,
	VERBS_MATCH_DRIVER_ID = 3,
};

struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		std::uint64_t driver_id;
	} u;
	std::uint16_t vendor;
	std::uint16_t device;
	verbs_match_kind kind;
};

struct verbs_sysfs_dev {
	list_node entry;
	void *provider_data;
	const verbs_match_ent *match;
	unsigned int flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
	char modalias[512];
	std::uint64_t node_guid;
	std::uint32_t driver_id;
	ibv_node_type node_type;
	int ibdev_idx;
	std::uint32_t num_ports;
	std::uint32_t abi_ver;
	std::timespec time_created;
};

struct verbs_device;

struct verbs_device_ops {
	const char *name;
	std::uint32_t match_min_abi_version;
	std::uint32_t match_max_abi_version;
	const verbs_match_ent *match_table;
	const verbs_device_ops **static_providers;
	bool (*match_device)(verbs_sysfs_dev *sysfs_dev);
	verbs_context *(*alloc_context)(ibv_device *device, int cmd_fd, void *private_data);
	verbs_context *(*import_context)(ibv_device *device, int cmd_fd);
	verbs_device *(*alloc_device)(verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(verbs_device *device);
};

struct verbs_device {
	ibv_device device;
	const verbs_device_ops *ops;
	int refcount;
	list_node entry;
	verbs_sysfs_dev *sysfs;
	std::uint64_t core_support;
};

struct verbs_mr {
	::ibv_mr ibv_mr;
	int mr_type;
	int access;
};

enum verbs_qp_mask : std::uint32_t {
	VERBS_QP_EX = 1U << 1,
};

struct verbs_qp {
	union {
		ibv_qp qp;
		ibv_qp_ex qp_ex;
	};
	std::uint32_t comp_mask;
	void *xrcd;
};

struct verbs_cq {
	union {
		ibv_cq cq;
		ibv_cq_ex cq_ex;
	};
};

/* a verb for which this provider uses the library's dummy */
using verbs_absent_op = void (*)();

/* The same for a verb that older libraries do not have: there it takes no room. @which tells types
 * apart, because two members of one empty type would have two addresses. */
template <bool there, int which> struct verbs_later_op {
	verbs_absent_op op{};
};
template <int which> struct verbs_later_op<false, which> {};

struct verbs_context_ops {
	verbs_absent_op advise_mr{};
	[[no_unique_address]] verbs_later_op<verbs_has_buf, 0> alloc_buf{};
	verbs_absent_op alloc_dm{};
	[[no_unique_address]] verbs_later_op<verbs_has_dmah, 1> alloc_dmah{};
	ibv_mw *(*alloc_mw)(ibv_pd *, ibv_mw_type);
	verbs_absent_op alloc_null_mr{};
	ibv_pd *(*alloc_parent_domain)(ibv_context *, ibv_parent_domain_init_attr *);
	ibv_pd *(*alloc_pd)(ibv_context *);
	ibv_td *(*alloc_td)(ibv_context *, ibv_td_init_attr *);
	verbs_absent_op async_event{};
	verbs_absent_op attach_counters_point_flow{};
	verbs_absent_op attach_mcast{};
	int (*bind_mw)(ibv_qp *, ibv_mw *, ibv_mw_bind *);
	verbs_absent_op close_xrcd{};
	verbs_absent_op cq_event{};
	verbs_absent_op create_ah{};
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 2> create_comp_cntr{};
	verbs_absent_op create_counters{};
	ibv_cq *(*create_cq)(ibv_context *, int cqe, ibv_comp_channel *, int comp_vector);
	ibv_cq_ex *(*create_cq_ex)(ibv_context *, ibv_cq_init_attr_ex *);
	verbs_absent_op create_flow{};
	verbs_absent_op create_flow_action_esp{};
	ibv_qp *(*create_qp)(ibv_pd *, ibv_qp_init_attr *);
	ibv_qp *(*create_qp_ex)(ibv_context *, ibv_qp_init_attr_ex *);
	verbs_absent_op create_rwq_ind_table{};
	ibv_srq *(*create_srq)(ibv_pd *, ibv_srq_init_attr *);
	verbs_absent_op create_srq_ex{};
	verbs_absent_op create_wq{};
	[[no_unique_address]] verbs_later_op<verbs_has_dmah, 3> dealloc_dmah{};
	int (*dealloc_mw)(ibv_mw *);
	int (*dealloc_pd)(ibv_pd *);
	int (*dealloc_td)(ibv_td *);
	int (*dereg_mr)(verbs_mr *);
	verbs_absent_op destroy_ah{};
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 4> destroy_comp_cntr{};
	verbs_absent_op destroy_counters{};
	int (*destroy_cq)(ibv_cq *);
	verbs_absent_op destroy_flow{};
	verbs_absent_op destroy_flow_action{};
	int (*destroy_qp)(ibv_qp *);
	verbs_absent_op destroy_rwq_ind_table{};
	int (*destroy_srq)(ibv_srq *);
	verbs_absent_op destroy_wq{};
	verbs_absent_op detach_mcast{};
	[[no_unique_address]] verbs_later_op<verbs_has_export, 5> dm_export_dmabuf_fd{};
	[[no_unique_address]] verbs_later_op<verbs_has_buf, 6> free_buf{};
	void (*free_context)(ibv_context *);
	verbs_absent_op free_dm{};
	verbs_absent_op get_srq_num{};
	verbs_absent_op import_dm{};
	ibv_mr *(*import_mr)(ibv_pd *, std::uint32_t handle);
	ibv_pd *(*import_pd)(ibv_context *, std::uint32_t handle);
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 7> inc_comp_cntr{};
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 8> inc_err_comp_cntr{};
	int (*modify_cq)(ibv_cq *, ibv_modify_cq_attr *);
	verbs_absent_op modify_flow_action_esp{};
	int (*modify_qp)(ibv_qp *, ibv_qp_attr *, int attr_mask);
	verbs_absent_op modify_qp_rate_limit{};
	int (*modify_srq)(ibv_srq *, ibv_srq_attr *, int attr_mask);
	verbs_absent_op modify_wq{};
	verbs_absent_op open_qp{};
	verbs_absent_op open_xrcd{};
	int (*poll_cq)(ibv_cq *, int num_entries, ibv_wc *);
	int (*post_recv)(ibv_qp *, ibv_recv_wr *, ibv_recv_wr **bad_wr);
	int (*post_send)(ibv_qp *, ibv_send_wr *, ibv_send_wr **bad_wr);
	verbs_absent_op post_srq_ops{};
	int (*post_srq_recv)(ibv_srq *, ibv_recv_wr *, ibv_recv_wr **bad_wr);
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 9> qp_attach_comp_cntr{};
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 10> query_comp_cntr_caps{};
	int (*query_device_ex)(ibv_context *, const ibv_query_device_ex_input *,
			       ibv_device_attr_ex *, std::size_t attr_size);
	verbs_absent_op query_ece{};
	int (*query_port)(ibv_context *, std::uint8_t port, ibv_port_attr *);
	[[no_unique_address]] verbs_later_op<verbs_has_export, 11> query_port_speed{};
	int (*query_qp)(ibv_qp *, ibv_qp_attr *, int attr_mask, ibv_qp_init_attr *);
	verbs_absent_op query_qp_data_in_order{};
	int (*query_rt_values)(ibv_context *, ibv_values_ex *);
	int (*query_srq)(ibv_srq *, ibv_srq_attr *);
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 12> read_comp_cntr{};
	verbs_absent_op read_counters{};
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 13> read_err_comp_cntr{};
	verbs_absent_op reg_dm_mr{};
	ibv_mr *(*reg_dmabuf_mr)(ibv_pd *, std::uint64_t offset, std::size_t length,
				 std::uint64_t iova, int fd, int access);
	ibv_mr *(*reg_mr)(ibv_pd *, void *addr, std::size_t length, std::uint64_t iova, int access);
	[[no_unique_address]] verbs_later_op<verbs_has_dmah, 14> reg_mr_ex{};
	int (*req_notify_cq)(ibv_cq *, int solicited_only);
	int (*rereg_mr)(verbs_mr *, int flags, ibv_pd *, void *addr, std::size_t length,
			int access);
	int (*resize_cq)(ibv_cq *, int cqe);
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 15> set_comp_cntr{};
	verbs_absent_op set_ece{};
	[[no_unique_address]] verbs_later_op<verbs_has_counters, 16> set_err_comp_cntr{};
	verbs_absent_op unimport_dm{};
	void (*unimport_mr)(ibv_mr *);
	void (*unimport_pd)(ibv_pd *);
};

static_assert(sizeof(verbs_match_ent) == 24);
static_assert(offsetof(verbs_match_ent, u) == 8);
static_assert(offsetof(verbs_match_ent, vendor) == 16);
static_assert(offsetof(verbs_match_ent, kind) == 20);

static_assert(sizeof(verbs_sysfs_dev) == 992);
static_assert(offsetof(verbs_sysfs_dev, match) == 24);
static_assert(offsetof(verbs_sysfs_dev, ibdev_name) == 112);
static_assert(offsetof(verbs_sysfs_dev, ibdev_path) == 176);
static_assert(offsetof(verbs_sysfs_dev, driver_id) == 952);
static_assert(offsetof(verbs_sysfs_dev, node_type) == 956);
static_assert(offsetof(verbs_sysfs_dev, abi_ver) == 968);

static_assert(sizeof(verbs_device_ops) == 72);
static_assert(offsetof(verbs_device_ops, match_min_abi_version) == 8);
static_assert(offsetof(verbs_device_ops, match_max_abi_version) == 12);
static_assert(offsetof(verbs_device_ops, match_table) == 16);
static_assert(offsetof(verbs_device_ops, static_providers) == 24);
static_assert(offsetof(verbs_device_ops, match_device) == 32);
static_assert(offsetof(verbs_device_ops, alloc_context) == 40);
static_assert(offsetof(verbs_device_ops, import_context) == 48);
static_assert(offsetof(verbs_device_ops, alloc_device) == 56);
static_assert(offsetof(verbs_device_ops, uninit_device) == 64);

static_assert(sizeof(verbs_device) == 712);
static_assert(offsetof(verbs_device, ops) == 664);
static_assert(offsetof(verbs_device, refcount) == 672);
static_assert(offsetof(verbs_device, entry) == 680);
static_assert(offsetof(verbs_device, sysfs) == 696);
static_assert(offsetof(verbs_device, core_support) == 704);

static_assert(sizeof(verbs_mr) == 56);
static_assert(offsetof(verbs_mr, mr_type) == 48);
static_assert(offsetof(verbs_mr, access) == 52);

static_assert(offsetof(verbs_qp, comp_mask) == sizeof(ibv_qp_ex));
/* by how much a mutex is larger than on amd64: by 8 on arm64 */
constexpr std::size_t verbs_mutex_more = sizeof(pthread_mutex_t) - 40;
static_assert(sizeof(verbs_cq) == 288 + verbs_mutex_more);

/* The layouts that are known: what may differ, and the releases of rdma-core that have it. */
struct verbs_layout {
	unsigned int abi;
	std::size_t qp, context, ops;

	constexpr bool operator==(const verbs_layout &) const = default;
};

constexpr verbs_layout verbs_layouts[] = {
	{34, 368, 648, 76}, /* 34 to 44 */
	{34, 376, 648, 76}, /* 45 to 56 */
	{57, 376, 648, 76}, /* 57, 58 */
	{59, 376, 672, 79}, /* 59 to 61 */
	{59, 376, 680, 81}, /* 62, 63 */
	{64, 376, 696, 83}, /* 64 */
	{65, 376, 696, 93}, /* 65 */
};

constexpr verbs_layout verbs_here{KRDMA_VERBS_ABI, sizeof(verbs_qp) - verbs_mutex_more,
				  sizeof(verbs_context) - verbs_mutex_more,
				  sizeof(verbs_context_ops) / sizeof(void *)};

constexpr bool verbs_layout_known()
{
	for (const verbs_layout &layout : verbs_layouts)
		if (layout == verbs_here)
			return true;
	return false;
}
static_assert(verbs_layout_known(),
	      "The installed libibverbs has a private ABI that krdma's provider does not know. "
	      "It knows those of rdma-core 34 to 65.");

/* the last member */
static_assert(offsetof(verbs_context, context) == sizeof(verbs_context) - 328 - verbs_mutex_more);
/* as many as there are before them */
static_assert(offsetof(verbs_context_ops, create_cq_ex) ==
	      128 + 8 * (verbs_has_buf + verbs_has_dmah + verbs_has_counters));
static_assert(offsetof(verbs_context_ops, unimport_pd) ==
	      sizeof(verbs_context_ops) - sizeof(void *));

/*
 * Requests in the form that the library needs: room for the legacy command header in front of
 * the public request structure. The library fills the header.
 */
template <typename Core> struct verbs_request {
	alignas(8) std::byte bytes[sizeof(ib_uverbs_cmd_hdr) + sizeof(Core)];
};

/* A request of the extended kind, with a longer header. The library fills it, too. */
template <typename Core> struct verbs_ex_request {
	alignas(8) std::byte
		bytes[sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_ex_cmd_hdr) + sizeof(Core)];
};

/* A request with bytes of the driver behind it. */
template <typename Request, typename Driver> struct verbs_driver_request {
	static_assert(sizeof(Request) % alignof(Driver) == 0);
	Request core;
	Driver driver;

	static constexpr std::size_t size = sizeof(Request) + sizeof(Driver);
};

/* Responses: the public structure, followed by the bytes of the driver. */
template <typename Core, typename Driver> struct verbs_response {
	static_assert(sizeof(Core) % alignof(Driver) == 0);
	alignas(8) std::byte core[sizeof(Core)];
	Driver driver;

	/* size without the padding at the end of a C++ structure */
	static constexpr std::size_t size = sizeof(Core) + sizeof(Driver);
};

using ibv_get_context_cmd = verbs_request<ib_uverbs_get_context>;
using ibv_query_port_cmd = verbs_request<ib_uverbs_query_port>;
using ibv_alloc_pd_cmd = verbs_request<ib_uverbs_alloc_pd>;
using ibv_reg_mr_cmd = verbs_request<ib_uverbs_reg_mr>;
using ibv_rereg_mr_cmd = verbs_request<ib_uverbs_rereg_mr>;
using ibv_alloc_mw_cmd = verbs_request<ib_uverbs_alloc_mw>;
using ibv_create_cq_cmd = verbs_request<ib_uverbs_create_cq>;
using ibv_resize_cq_cmd = verbs_request<ib_uverbs_resize_cq>;
using ibv_create_srq_cmd = verbs_request<ib_uverbs_create_srq>;
using ibv_modify_srq_cmd = verbs_request<ib_uverbs_modify_srq>;
using ibv_query_srq_cmd = verbs_request<ib_uverbs_query_srq>;
using ibv_create_qp_cmd = verbs_request<ib_uverbs_create_qp>;
using ibv_modify_qp_cmd = verbs_request<ib_uverbs_modify_qp>;
using ibv_query_qp_cmd = verbs_request<ib_uverbs_query_qp>;

using ibv_create_cq_ex_cmd = verbs_ex_request<ib_uverbs_ex_create_cq>;
using ibv_modify_cq_cmd = verbs_ex_request<ib_uverbs_ex_modify_cq>;

static_assert(sizeof(ibv_get_context_cmd) == 16);
static_assert(sizeof(ibv_resize_cq_cmd) == 24);
static_assert(sizeof(ibv_modify_cq_cmd) == 40);
static_assert(sizeof(ibv_modify_srq_cmd) == 24);
static_assert(sizeof(ibv_create_cq_cmd) == 40);
static_assert(sizeof(ibv_create_cq_ex_cmd) == 56);
static_assert(sizeof(ibv_create_qp_cmd) == 64);
static_assert(sizeof(ibv_create_srq_cmd) == 40);
static_assert(sizeof(ibv_reg_mr_cmd) == 48);

extern "C" {

/* Libraries have it whose QPs are larger than those of rdma-core 44, under the same number. */
[[gnu::weak]] const char *ibv_wr_opcode_str(ibv_wr_opcode opcode);
constexpr bool verbs_small_qp = sizeof(verbs_qp) == 368;

#define VERBS_REGISTER_DRIVER(abi) verbs_register_driver_##abi
#define VERBS_REGISTER_DRIVER_OF(abi) VERBS_REGISTER_DRIVER(abi)
#define verbs_register_driver VERBS_REGISTER_DRIVER_OF(KRDMA_VERBS_ABI)
void verbs_register_driver(const verbs_device_ops *ops);
void *_verbs_init_and_alloc_context(ibv_device *device, int cmd_fd, std::size_t alloc_size,
				    verbs_context *context_offset, std::uint32_t driver_id);
void verbs_uninit_context(verbs_context *context);
void verbs_set_ops(verbs_context *context, const verbs_context_ops *ops);

int ibv_cmd_get_context(verbs_context *context, ibv_get_context_cmd *cmd, std::size_t cmd_size,
			VERBS_SINCE_57(void *fds, ) void *resp, std::size_t resp_size);
int ibv_cmd_query_device_any(ibv_context *context, const ibv_query_device_ex_input *input,
			     ibv_device_attr_ex *attr, std::size_t attr_size,
			     ib_uverbs_ex_query_device_resp *resp, std::size_t *resp_size);
int ibv_cmd_query_port(ibv_context *context, std::uint8_t port, ibv_port_attr *attr,
		       ibv_query_port_cmd *cmd, std::size_t cmd_size);

int ibv_cmd_alloc_pd(ibv_context *context, ibv_pd *pd, ibv_alloc_pd_cmd *cmd, std::size_t cmd_size,
		     ib_uverbs_alloc_pd_resp *resp, std::size_t resp_size);
int ibv_cmd_dealloc_pd(ibv_pd *pd);

int ibv_cmd_reg_mr(ibv_pd *pd, void *addr, std::size_t length, std::uint64_t iova, int access,
		   verbs_mr *mr, ibv_reg_mr_cmd *cmd, std::size_t cmd_size, void *resp,
		   std::size_t resp_size);
int ibv_cmd_rereg_mr(verbs_mr *mr, std::uint32_t flags, void *addr, std::size_t length,
		     std::uint64_t iova, int access, ibv_pd *pd, ibv_rereg_mr_cmd *cmd,
		     std::size_t cmd_size, ib_uverbs_rereg_mr_resp *resp, std::size_t resp_size);
/* rdma-core 53 added the last argument; older versions do not use it */
int ibv_cmd_reg_dmabuf_mr(ibv_pd *pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
			  int fd, int access, verbs_mr *mr, void *driver);
int ibv_cmd_dereg_mr(verbs_mr *mr);
int ibv_cmd_query_mr(ibv_pd *pd, verbs_mr *mr, std::uint32_t handle);

int ibv_cmd_alloc_mw(ibv_pd *pd, ibv_mw_type type, ibv_mw *mw, ibv_alloc_mw_cmd *cmd,
		     std::size_t cmd_size, ib_uverbs_alloc_mw_resp *resp, std::size_t resp_size);
int ibv_cmd_dealloc_mw(ibv_mw *mw);

int ibv_cmd_create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel, int comp_vector,
		      ibv_cq *cq, ibv_create_cq_cmd *cmd, std::size_t cmd_size, void *resp,
		      std::size_t resp_size);
int ibv_cmd_create_cq_ex(ibv_context *context, const ibv_cq_init_attr_ex *attr,
			 VERBS_SINCE_59(void *memory, ) verbs_cq *cq, ibv_create_cq_ex_cmd *cmd,
			 std::size_t cmd_size, void *resp, std::size_t resp_size,
			 std::uint32_t cmd_flags);
int ibv_cmd_resize_cq(ibv_cq *cq, int cqe, ibv_resize_cq_cmd *cmd, std::size_t cmd_size, void *resp,
		      std::size_t resp_size);
int ibv_cmd_modify_cq(ibv_cq *cq, ibv_modify_cq_attr *attr, ibv_modify_cq_cmd *cmd,
		      std::size_t cmd_size);
int ibv_cmd_destroy_cq(ibv_cq *cq);

int ibv_cmd_create_srq(ibv_pd *pd, ibv_srq *srq, ibv_srq_init_attr *attr, ibv_create_srq_cmd *cmd,
		       std::size_t cmd_size, void *resp, std::size_t resp_size);
int ibv_cmd_modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask, ibv_modify_srq_cmd *cmd,
		       std::size_t cmd_size);
int ibv_cmd_query_srq(ibv_srq *srq, ibv_srq_attr *attr, ibv_query_srq_cmd *cmd,
		      std::size_t cmd_size);
int ibv_cmd_destroy_srq(ibv_srq *srq);

int ibv_cmd_create_qp_ex(ibv_context *context, verbs_qp *qp, ibv_qp_init_attr_ex *attr,
			 ibv_create_qp_cmd *cmd, std::size_t cmd_size, void *resp,
			 std::size_t resp_size);
int ibv_cmd_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask, ibv_modify_qp_cmd *cmd,
		      std::size_t cmd_size);
int ibv_cmd_query_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask, ibv_qp_init_attr *init_attr,
		     ibv_query_qp_cmd *cmd, std::size_t cmd_size);
int ibv_cmd_destroy_qp(ibv_qp *qp);
int ibv_cmd_post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad_wr);
int ibv_cmd_post_srq_recv(ibv_srq *srq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);

} /* extern "C" */

/* Those two without what later private ABIs have more. */
inline int verbs_get_context(verbs_context *context, ibv_get_context_cmd *cmd, std::size_t cmd_size,
			     void *resp, std::size_t resp_size)
{
	return ibv_cmd_get_context(context, cmd, cmd_size, VERBS_SINCE_57(nullptr, ) resp,
				   resp_size);
}

inline int verbs_create_cq_ex(ibv_context *context, const ibv_cq_init_attr_ex *attr, verbs_cq *cq,
			      ibv_create_cq_ex_cmd *cmd, std::size_t cmd_size, void *resp,
			      std::size_t resp_size, std::uint32_t cmd_flags)
{
	return ibv_cmd_create_cq_ex(context, attr, VERBS_SINCE_59(nullptr, ) cq, cmd, cmd_size,
				    resp, resp_size, cmd_flags);
}

#endif /* KRDMA_VERBS_ABI_HPP */
