/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of memory windows, type 1 and 2B: which accesses a bound window allows the peer, who
 * may bind, use and invalidate it, and the result of a bad bind or invalidation.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <future>
#include <thread>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;
using rdma::Side;

using Mw = rdma::Owned<ibv_mw, ibv_dealloc_mw>;

constexpr std::size_t size = 8192;
constexpr std::size_t first = 1000; /* bytes of the region in front of the window */
constexpr std::size_t length = 5000;
constexpr std::byte region_fill{0x77};
constexpr std::byte peer_fill{0x33};
constexpr int bindable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
constexpr unsigned int both = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

Mw alloc(ibv_pd *pd, ibv_mw_type type)
{
	return Mw{must(ibv_alloc_mw(pd, type), "ibv_alloc_mw")};
}

/** class Region - memory that windows are bound to, with its ibv_mr */
class Region {
public:
	explicit Region(ibv_pd *pd, int access = bindable)
		: octets_(size, region_fill), mr_{must(ibv_reg_mr(pd, octets_.data(), size, access),
						       "ibv_reg_mr")}
	{}

	[[nodiscard]] std::uint64_t address(std::size_t offset = 0) const
	{
		return reinterpret_cast<std::uintptr_t>(octets_.data()) + offset;
	}
	[[nodiscard]] ibv_mr *mr() const
	{
		return mr_.get();
	}
	[[nodiscard]] std::span<std::byte> span()
	{
		return octets_;
	}
	[[nodiscard]] bool untouched() const
	{
		return std::ranges::all_of(octets_, [](std::byte b) { return b == region_fill; });
	}
	/* Return: the result of ibv_dereg_mr(); if it is 0, the region is gone. */
	int deregister()
	{
		const int err = ibv_dereg_mr(mr_.get());

		if (!err)
			(void)mr_.release();
		return err;
	}
	[[nodiscard]] ibv_mw_bind_info part(unsigned int access = both) const
	{
		return {.mr = mr(),
			.addr = address(first),
			.length = length,
			.mw_access_flags = access};
	}

private:
	std::vector<std::byte> octets_;
	rdma::Mr mr_;
};

/* Post a bind of a type 2 window. Return: the result of ibv_post_send(). */
int post_bind(Side &side, ibv_mw *mw, std::uint32_t rkey, const ibv_mw_bind_info &info,
	      unsigned int flags = IBV_SEND_SIGNALED)
{
	ibv_send_wr wr{};
	ibv_send_wr *bad = nullptr;

	wr.wr_id = rkey;
	wr.opcode = IBV_WR_BIND_MW;
	wr.send_flags = flags;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = info;
	return ibv_post_send(side.qp(), &wr, &bad);
}

void finished(Side &side, ibv_wc_opcode opcode, const char *what)
{
	const ibv_wc wc = side.sends.wait();

	require_status(wc, IBV_WC_SUCCESS, what);
	require_eq(int{wc.opcode}, int{opcode}, "opcode of the completion");
}

/* Bind a type 2 window. Return: its rkey. */
std::uint32_t bind2(Side &side, ibv_mw *mw, const ibv_mw_bind_info &info)
{
	const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);

	must(post_bind(side, mw, rkey, info), "bind");
	finished(side, IBV_WC_BIND_MW, "bind");
	return rkey;
}

int bind1(Side &side, ibv_mw *mw, const ibv_mw_bind_info &info)
{
	ibv_mw_bind bind{};

	bind.wr_id = 17;
	bind.send_flags = IBV_SEND_SIGNALED;
	bind.bind_info = info;
	return ibv_bind_mw(side.qp(), mw, &bind);
}

int post_inv(Side &side, ibv_wr_opcode opcode, std::uint32_t stag, unsigned int flags = 0)
{
	ibv_send_wr wr{};
	ibv_send_wr *bad = nullptr;

	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED | flags;
	wr.invalidate_rkey = stag;
	return ibv_post_send(side.qp(), &wr, &bad);
}

void reads(Side &peer, std::uint64_t to, std::uint32_t rkey, std::size_t n, std::byte wanted)
{
	Memory local{peer.pd(), n, IBV_ACCESS_LOCAL_WRITE};
	const std::array all{local.sge()};

	must(peer.post_rdma(IBV_WR_RDMA_READ, all, to, rkey), "post_send");
	require_status(peer.sends.wait(), IBV_WC_SUCCESS, "Read");
	require(local.is_all(wanted), "octets read");
}

/* and wait, with an empty Read behind it, until it is placed */
void writes(Side &peer, std::uint64_t to, std::uint32_t rkey, std::size_t n)
{
	Memory local{peer.pd(), n, 0, peer_fill};
	const std::array all{local.sge()};

	must(peer.post_rdma(IBV_WR_RDMA_WRITE, all, to, rkey, 0), "post_send");
	must(peer.post_rdma(IBV_WR_RDMA_READ, {}, to, rkey), "post_send");
	require_status(peer.sends.wait(), IBV_WC_SUCCESS, "Write and empty Read");
}

void ends(Pair &pair)
{
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
}

/* The peer's access is refused. @status: of the peer's Read. */
void refuses(Pair &pair, ibv_wr_opcode opcode, std::uint64_t to, std::uint32_t rkey, std::size_t n)
{
	Memory local{pair.client().pd(), n, IBV_ACCESS_LOCAL_WRITE, peer_fill};
	const std::array all{local.sge()};

	must(pair.client().post_rdma(opcode, all, to, rkey), "post_send");
	ends(pair);
	const ibv_wc wc = pair.client().sends.wait();
	if (opcode == IBV_WR_RDMA_READ)
		require_status(wc, IBV_WC_REM_ACCESS_ERR, "refused Read");
	require(local.is_all(peer_fill), "a refused Read brought data");
}

void check_written(Region &region)
{
	for (std::size_t i = 0; i < size; i++) {
		const bool inside = i >= first && i < first + length;

		require(region.span()[i] == (inside ? peer_fill : region_fill),
			"an octet of the region after a Write through the window");
	}
}

/* The accepting side may not send before the other side. */
void greet(Pair &pair)
{
	must(pair.client().post_rdma(IBV_WR_RDMA_WRITE, {}, 0, 0), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "empty Write");
}

/* What windows there are **************************************************** */

void device_has_windows(World &world)
{
	require(world.device().device_cap_flags & IBV_DEVICE_MEM_WINDOW, "IBV_DEVICE_MEM_WINDOW");
	require(world.device().device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		"IBV_DEVICE_MEM_WINDOW_TYPE_2B");
	require(!(world.device().device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A),
		"type 2A is another thing");
	require(world.device().max_mw > 0, "max_mw");
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	errno = 0;
	require(!ibv_alloc_mw(pd.get(), static_cast<ibv_mw_type>(3)), "a window of type 3");
	require_eq(errno, EINVAL, "errno");
}

void window_holds_its_pd(World &world)
{
	rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Mw mw = alloc(pd.get(), IBV_MW_TYPE_2);

	require_eq(ibv_dealloc_pd(pd.get()), EBUSY, "dealloc of a PD with a window");
	mw.reset();
	must(ibv_dealloc_pd(pd.release()), "ibv_dealloc_pd");
}

/* a window that was never bound names no memory */
void unbound_window(World &world)
{
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		Pair pair{world};
		Region region{pair.server().pd()};
		const Mw mw = alloc(pair.server().pd(), type);

		refuses(pair, IBV_WR_RDMA_READ, region.address(first), mw->rkey, 1);
	}
}

/* Type 2B ******************************************************************* */

void type2_reads_and_writes(World &world)
{
	Pair pair{world};
	Region region{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	const std::uint32_t rkey = bind2(pair.server(), mw.get(), region.part());

	reads(pair.client(), region.address(first), rkey, length, region_fill);
	reads(pair.client(), region.address(first + 17), rkey, length - 17, region_fill);
	writes(pair.client(), region.address(first), rkey, length);
	check_written(region);
}

void bound_by_the_extended_interface(World &world)
{
	rdma::SideOptions options;
	options.send_ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND;
	Pair pair{world, {}, options};
	Region region{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	ibv_qp_ex *qp = must(ibv_qp_to_qp_ex(pair.server().qp()), "ibv_qp_to_qp_ex");
	const ibv_mw_bind_info info = region.part();
	const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);

	ibv_wr_start(qp);
	qp->wr_id = 5;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qp, mw.get(), rkey, &info);
	must(ibv_wr_complete(qp), "ibv_wr_complete");
	finished(pair.server(), IBV_WC_BIND_MW, "bind");
	reads(pair.client(), region.address(first), rkey, length, region_fill);
	writes(pair.client(), region.address(first), rkey, length);
	check_written(region);

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_local_inv(qp, rkey);
	must(ibv_wr_complete(qp), "ibv_wr_complete");
	finished(pair.server(), IBV_WC_LOCAL_INV, "local invalidate");
	refuses(pair, IBV_WR_RDMA_READ, region.address(first), rkey, 1);
}

/* bind, send the STag to the peer, and let the peer access: in the order of posting */
void bind_is_ordered(World &world)
{
	Pair pair{world};
	Region region{pair.server().pd()};
	Memory word{pair.server().pd(), 8, IBV_ACCESS_LOCAL_WRITE};
	Memory heard{pair.client().pd(), 8, IBV_ACCESS_LOCAL_WRITE};
	const std::array say{word.sge()};
	const std::array hear{heard.sge()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	std::uint32_t rkey = mw->rkey;

	greet(pair);
	for (int i = 0; i < 50; i++) {
		rkey = ibv_inc_rkey(rkey);
		must(pair.client().post_recv(hear), "post_recv");
		must(post_bind(pair.server(), mw.get(), rkey, region.part(), 0), "bind");
		must(pair.server().post_send(say, 0), "post_send");
		require_status(pair.client().recvs.wait(), IBV_WC_SUCCESS, "receive");
		reads(pair.client(), region.address(first), rkey, length, region_fill);
		must(post_inv(pair.server(), IBV_WR_LOCAL_INV, rkey), "local invalidate");
		finished(pair.server(), IBV_WC_LOCAL_INV, "local invalidate");
	}
	refuses(pair, IBV_WR_RDMA_READ, region.address(first), rkey, 1);
}

void zero_based_window(World &world)
{
	Pair pair{world};
	Region region{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	const std::uint32_t rkey =
		bind2(pair.server(), mw.get(), region.part(both | IBV_ACCESS_ZERO_BASED));

	reads(pair.client(), 0, rkey, length, region_fill);
	reads(pair.client(), length - 1, rkey, 1, region_fill);
	writes(pair.client(), 0, rkey, length);
	check_written(region);
	refuses(pair, IBV_WR_RDMA_READ, length, rkey, 1);
}

/** struct Outside - an access that a window refuses */
struct Outside {
	const char *what;
	unsigned int access; /* of the window */
	ibv_wr_opcode opcode;
	std::size_t offset; /* in the region */
	std::size_t n;
	std::uint32_t key_change;
};

void what_a_window_refuses(World &world)
{
	constexpr Outside cases[] = {
		{"before it", both, IBV_WR_RDMA_READ, first - 1, 2, 0},
		{"behind it", both, IBV_WR_RDMA_READ, first + length, 1, 0},
		{"past its end", both, IBV_WR_RDMA_READ, first + 1, length, 0},
		{"write before it", both, IBV_WR_RDMA_WRITE, first - 1, 2, 0},
		{"write past its end", both, IBV_WR_RDMA_WRITE, first + length - 1, 2, 0},
		{"write, read only", IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_WRITE, first, 8, 0},
		{"read, write only", IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ, first, 8, 0},
		{"read, no right", 0, IBV_WR_RDMA_READ, first, 8, 0},
		{"another key", both, IBV_WR_RDMA_READ, first, 8, 1},
	};

	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		for (const Outside &c : cases) {
			Pair pair{world};
			Region region{pair.server().pd()};
			const Mw mw = alloc(pair.server().pd(), type);
			std::uint32_t rkey = 0;

			if (type == IBV_MW_TYPE_1) {
				must(bind1(pair.server(), mw.get(), region.part(c.access)), "bind");
				finished(pair.server(), IBV_WC_BIND_MW, "bind");
				rkey = mw->rkey;
			} else {
				rkey = bind2(pair.server(), mw.get(), region.part(c.access));
			}
			try {
				refuses(pair, c.opcode, region.address(c.offset),
					rkey ^ c.key_change, c.n);
				require(region.untouched(), "a refused access changed memory");
			} catch (const rdma::Failure &failure) {
				rdma::fail(std::string{c.what} + ": " + failure.what());
			}
		}
	}
}

/* only the QP that bound it may use it, even in the same protection domain */
void type2_belongs_to_its_queue_pair(World &world)
{
	Pair pair{world};
	Pair other{world, {}, {.pd = pair.server().pd()}};
	Region region{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	const std::uint32_t rkey = bind2(pair.server(), mw.get(), region.part());

	refuses(other, IBV_WR_RDMA_READ, region.address(first), rkey, 8);
	reads(pair.client(), region.address(first), rkey, length, region_fill);
}

/* another QP must not invalidate it, locally or through its peer */
void type2_is_invalidated_by_its_queue_pair(World &world)
{
	Pair pair{world};
	Region region{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	const std::uint32_t rkey = bind2(pair.server(), mw.get(), region.part());

	{
		Pair other{world, {}, {.pd = pair.server().pd()}};

		must(post_inv(other.server(), IBV_WR_LOCAL_INV, rkey), "local invalidate");
		require(other.server().sends.wait().status != IBV_WC_SUCCESS,
			"another QP's local invalidate");
		ends(other);
	}
	{
		Pair other{world, {}, {.pd = pair.server().pd()}};

		must(other.server().post_recv({}), "post_recv");
		must(post_inv(other.client(), IBV_WR_SEND_WITH_INV, rkey), "Send with Invalidate");
		require_status(other.server().recvs.wait(), IBV_WC_REM_INV_REQ_ERR, "receive");
		ends(other);
	}
	reads(pair.client(), region.address(first), rkey, length, region_fill);
}

void invalidated_by_the_peer(World &world)
{
	Pair pair{world};
	Region region{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	std::uint32_t rkey = mw->rkey;

	for (int i = 0; i < 20; i++) {
		rkey = ibv_inc_rkey(rkey);
		must(post_bind(pair.server(), mw.get(), rkey, region.part()), "bind");
		finished(pair.server(), IBV_WC_BIND_MW, "bind");
		must(pair.server().post_recv({}), "post_recv");
		reads(pair.client(), region.address(first), rkey, length, region_fill);
		const bool solicited = i % 2;
		if (solicited)
			pair.server().recvs.arm(true);
		must(post_inv(pair.client(), IBV_WR_SEND_WITH_INV, rkey,
			      solicited ? IBV_SEND_SOLICITED : 0),
		     "Send with Invalidate");
		require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Send with Invalidate");
		require(!solicited || pair.server().recvs.event(rdma::patience), "no event");
		const ibv_wc wc = pair.server().recvs.wait();
		require_status(wc, IBV_WC_SUCCESS, "receive");
		require(wc.wc_flags & IBV_WC_WITH_INV, "IBV_WC_WITH_INV");
		require_eq(wc.invalidated_rkey, rkey, "invalidated_rkey");
	}
	refuses(pair, IBV_WR_RDMA_READ, region.address(first), rkey, 1);
	require_eq(region.deregister(), 0, "dereg after the last invalidation");
}

/* the window of a destroyed QP gives no access, and holds its region until it is deallocated */
void queue_pair_goes_first(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Region region{pd.get()};
	Mw mw = alloc(pd.get(), IBV_MW_TYPE_2);
	std::uint32_t rkey = 0;

	{
		Pair pair{world, {}, {.pd = pd.get()}};

		rkey = bind2(pair.server(), mw.get(), region.part());
	}
	for (int i = 0; i < 3; i++) {
		Pair pair{world, {}, {.pd = pd.get()}};

		refuses(pair, IBV_WR_RDMA_READ, region.address(first), rkey, 1);
	}
	require_eq(region.deregister(), EBUSY, "dereg with a bound window");
	mw.reset();
	require_eq(region.deregister(), 0, "dereg");
}

/* Type 1 ******************************************************************** */

void type1_reads_and_writes(World &world)
{
	Pair pair{world};
	Pair other{world, {}, {.pd = pair.server().pd()}};
	Region region{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_1);
	const std::uint32_t old_key = mw->rkey;

	must(bind1(pair.server(), mw.get(), region.part()), "ibv_bind_mw");
	finished(pair.server(), IBV_WC_BIND_MW, "bind");
	require(mw->rkey != old_key, "the key is new");
	reads(pair.client(), region.address(first), mw->rkey, length, region_fill);
	/* type 1 belongs to the protection domain */
	writes(other.client(), region.address(first), mw->rkey, length);
	check_written(region);
	refuses(other, IBV_WR_RDMA_READ, region.address(first), old_key, 1);
}

void type1_is_bound_again_and_unbound(World &world)
{
	Pair pair{world};
	Pair late{world, {}, {.pd = pair.server().pd()}};
	Region one{pair.server().pd()};
	Region two{pair.server().pd()};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_1);

	must(bind1(pair.server(), mw.get(), one.part()), "ibv_bind_mw");
	finished(pair.server(), IBV_WC_BIND_MW, "bind");
	const std::uint32_t old_key = mw->rkey;
	require_eq(one.deregister(), EBUSY, "dereg with a bound window");
	must(bind1(pair.server(), mw.get(), two.part()), "ibv_bind_mw");
	finished(pair.server(), IBV_WC_BIND_MW, "bind");
	writes(pair.client(), two.address(first), mw->rkey, length);
	check_written(two);
	require(one.untouched(), "the region of before");
	require_eq(one.deregister(), 0, "dereg of the region of before");
	refuses(late, IBV_WR_RDMA_READ, two.address(first), old_key, 1);

	ibv_mw_bind_info none{};
	require_eq(two.deregister(), EBUSY, "dereg with a bound window");
	must(bind1(pair.server(), mw.get(), none), "ibv_bind_mw of nothing");
	finished(pair.server(), IBV_WC_BIND_MW, "unbind");
	refuses(pair, IBV_WR_RDMA_READ, two.address(first), mw->rkey, 1);
	require_eq(two.deregister(), 0, "dereg after the unbind");
}

void type1_is_not_invalidated(World &world)
{
	for (bool by_peer : {false, true}) {
		Pair pair{world};
		Region region{pair.server().pd()};
		const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_1);

		must(bind1(pair.server(), mw.get(), region.part()), "ibv_bind_mw");
		finished(pair.server(), IBV_WC_BIND_MW, "bind");
		if (by_peer) {
			must(pair.server().post_recv({}), "post_recv");
			must(post_inv(pair.client(), IBV_WR_SEND_WITH_INV, mw->rkey),
			     "Send with Invalidate");
			require_status(pair.server().recvs.wait(), IBV_WC_REM_INV_REQ_ERR,
				       "receive");
		} else {
			must(post_inv(pair.server(), IBV_WR_LOCAL_INV, mw->rkey), "post_send");
			require(pair.server().sends.wait().status != IBV_WC_SUCCESS,
				"local invalidate of a type 1 window");
		}
		ends(pair);
		require_eq(region.deregister(), EBUSY, "dereg: the window is bound still");
	}
}

constexpr std::size_t half = size / 2;

/* Bind the window to half @which of the region, with every second key. Return: the last key. */
std::uint32_t bind_often(Side &side, ibv_mw mw, const Region &region, std::size_t which)
{
	const ibv_mw_bind_info info{.mr = region.mr(),
				    .addr = region.address(which * half),
				    .length = half,
				    .mw_access_flags = IBV_ACCESS_REMOTE_READ};

	if (which)
		mw.rkey = ibv_inc_rkey(mw.rkey);
	for (int i = 0; i < 300; i++) {
		/* ibv_bind_mw() takes the next one, too, and keeps it in this copy of the window */
		mw.rkey = ibv_inc_rkey(mw.rkey);
		must(bind1(side, &mw, info), "ibv_bind_mw");
		finished(side, IBV_WC_BIND_MW, "bind beside that of another QP");
	}
	return mw.rkey;
}

/* Is the peer's Read of a byte allowed? If not, the connection has ended. */
bool may_read(Side &peer, std::uint64_t to, std::uint32_t rkey)
{
	Memory local{peer.pd(), 1, IBV_ACCESS_LOCAL_WRITE};
	const std::array all{local.sge()};

	must(peer.post_rdma(IBV_WR_RDMA_READ, all, to, rkey), "post_send");
	const ibv_wc wc = peer.sends.wait();
	if (wc.status != IBV_WC_SUCCESS)
		require_status(wc, IBV_WC_REM_ACCESS_ERR, "Read");
	return wc.status == IBV_WC_SUCCESS;
}

/* Each bind must succeed. The window must be as one of the last two binds has left it. */
void type1_is_bound_by_two_at_once(World &world)
{
	for (int round = 0; round < 5; round++) {
		Pair one{world};
		ibv_pd *pd = one.server().pd();
		Pair two{world, {}, {.pd = pd}};
		Pair third{world, {}, {.pd = pd}};
		Region region{pd};
		const Mw mw = alloc(pd, IBV_MW_TYPE_1);

		std::ranges::fill(region.span().subspan(half), peer_fill);
		auto other = std::async(std::launch::async, bind_often, std::ref(two.server()), *mw,
					std::cref(region), 1);
		const std::uint32_t first_key = bind_often(one.server(), *mw, region, 0);
		const std::uint32_t second_key = other.get();

		if (may_read(third.client(), region.address(), first_key)) {
			reads(one.client(), region.address(), first_key, half, region_fill);
			refuses(one, IBV_WR_RDMA_READ, region.address(half), first_key, 1);
			refuses(two, IBV_WR_RDMA_READ, region.address(half), second_key, 1);
		} else {
			reads(one.client(), region.address(half), second_key, half, peer_fill);
			refuses(one, IBV_WR_RDMA_READ, region.address(half - 1), second_key, 1);
		}
	}
}

/* Bind until the window is gone. Nothing may stay bound. */
void bind_until_gone(Side &side, ibv_mw mw, const Region &region)
{
	for (;;) {
		must(bind1(side, &mw, region.part()), "ibv_bind_mw");
		const ibv_wc wc = side.sends.wait();
		if (wc.status == IBV_WC_SUCCESS)
			continue;
		require_status(wc, IBV_WC_MW_BIND_ERR, "bind of a window that is gone");
		return;
	}
}

void type1_goes_while_two_bind_it(World &world)
{
	for (int round = 0; round < 5; round++) {
		Pair one{world};
		ibv_pd *pd = one.server().pd();
		Pair two{world, {}, {.pd = pd}};
		Region region{pd};
		Mw mw = alloc(pd, IBV_MW_TYPE_1);
		auto first_end = std::async(std::launch::async, bind_until_gone,
					    std::ref(one.server()), *mw, std::cref(region));
		auto second_end = std::async(std::launch::async, bind_until_gone,
					     std::ref(two.server()), *mw, std::cref(region));

		std::this_thread::sleep_for(std::chrono::milliseconds{20});
		mw.reset();
		first_end.get();
		second_end.get();
		require_eq(region.deregister(), 0, "dereg after the window");
	}
}

/* Bad binds ***************************************************************** */

/** struct BadBind - a bind that must fail */
struct BadBind {
	const char *what;
	int region_access;
	unsigned int access;
	std::size_t offset;
	std::size_t length;
};

void bad_binds(World &world)
{
	constexpr BadBind cases[] = {
		{"region without IBV_ACCESS_MW_BIND", IBV_ACCESS_LOCAL_WRITE, both, 0, 8},
		{"remote write to what is not written to here", IBV_ACCESS_MW_BIND,
		 IBV_ACCESS_REMOTE_WRITE, 0, 8},
		{"past the end", bindable, both, 1, size},
		{"behind the region", bindable, both, size + 1, 8},
		{"a length that wraps", bindable, both, 8, SIZE_MAX - 7},
		{"a right that windows do not have", bindable, IBV_ACCESS_MW_BIND, 0, 8},
	};

	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		for (const BadBind &c : cases) {
			Pair pair{world};
			Region region{pair.server().pd(), c.region_access};
			const Mw mw = alloc(pair.server().pd(), type);
			const ibv_mw_bind_info info{.mr = region.mr(),
						    .addr = region.address(c.offset),
						    .length = c.length,
						    .mw_access_flags = c.access};

			if (type == IBV_MW_TYPE_1)
				must(bind1(pair.server(), mw.get(), info), c.what);
			else
				must(post_bind(pair.server(), mw.get(), ibv_inc_rkey(mw->rkey),
					       info),
				     c.what);
			const ibv_wc wc = pair.server().sends.wait();
			require_status(wc, IBV_WC_MW_BIND_ERR, c.what);
			ends(pair);
			require_eq(region.deregister(), 0, "dereg after a bind in vain");
		}
	}
}

/* a window of a read-only region is read-only */
void window_on_a_read_only_region(World &world)
{
	Pair pair{world};
	Region region{pair.server().pd(), IBV_ACCESS_MW_BIND};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
	const std::uint32_t rkey =
		bind2(pair.server(), mw.get(), region.part(IBV_ACCESS_REMOTE_READ));

	reads(pair.client(), region.address(first), rkey, length, region_fill);
	refuses(pair, IBV_WR_RDMA_WRITE, region.address(first), rkey, 1);
	require(region.untouched(), "a refused Write changed memory");
}

void bad_binds_of_type2(World &world)
{
	/* a bound window must be invalidated first */
	{
		Pair pair{world};
		Region region{pair.server().pd()};
		const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
		const std::uint32_t rkey = bind2(pair.server(), mw.get(), region.part());

		must(post_bind(pair.server(), mw.get(), ibv_inc_rkey(rkey), region.part()), "bind");
		require_status(pair.server().sends.wait(), IBV_WC_MW_BIND_ERR, "second bind");
		ends(pair);
	}
	/* a bind to 0 bytes */
	{
		Pair pair{world};
		Region region{pair.server().pd()};
		const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
		ibv_mw_bind_info info = region.part();

		info.length = 0;
		must(post_bind(pair.server(), mw.get(), ibv_inc_rkey(mw->rkey), info), "bind");
		require_status(pair.server().sends.wait(), IBV_WC_MW_BIND_ERR, "empty bind");
		ends(pair);
	}
	/* region, window or QP of another protection domain */
	const rdma::Pd other{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	for (int which = 0; which < 3; which++) {
		Pair pair{world};
		ibv_pd *own = pair.server().pd();
		Region region{which == 0 || which == 2 ? other.get() : own};
		const Mw mw = alloc(which == 1 || which == 2 ? other.get() : own, IBV_MW_TYPE_2);

		must(post_bind(pair.server(), mw.get(), ibv_inc_rkey(mw->rkey), region.part()),
		     "bind");
		const ibv_wc wc = pair.server().sends.wait();
		require_status(wc, IBV_WC_MW_BIND_ERR, "bind across protection domains");
		ends(pair);
	}
}

/* the verb fails at once, and the QP continues */
void binds_refused_when_posted(World &world)
{
	Pair pair{world};
	Side &server = pair.server();
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Region region{server.pd()};
	Region foreign{pd.get()};
	const Mw one = alloc(server.pd(), IBV_MW_TYPE_1);
	const Mw two = alloc(server.pd(), IBV_MW_TYPE_2);

	require_eq(post_bind(server, nullptr, 0, region.part()), EINVAL, "no window");
	require_eq(post_bind(server, two.get(), ibv_inc_rkey(two->rkey), region.part(),
			     IBV_SEND_SIGNALED | IBV_SEND_INLINE),
		   EINVAL, "inline bind");
	require_eq(post_bind(server, one.get(), ibv_inc_rkey(one->rkey), region.part()), EINVAL,
		   "type 1 by ibv_post_send");
	require_eq(bind1(server, two.get(), region.part()), EINVAL, "type 2 by ibv_bind_mw");
	require_eq(bind1(server, one.get(), foreign.part()), EPERM, "region of another PD");
	require_eq(int{server.state()}, int{IBV_QPS_RTS}, "state");
	const std::uint32_t rkey = bind2(server, two.get(), region.part());
	reads(pair.client(), region.address(first), rkey, length, region_fill);
}

/* Regions and windows ******************************************************* */

void region_with_a_window_stays(World &world)
{
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		Pair pair{world};
		Region region{pair.server().pd(), bindable | IBV_ACCESS_REMOTE_READ};
		Mw mw = alloc(pair.server().pd(), type);
		std::uint32_t rkey = 0;

		if (type == IBV_MW_TYPE_1) {
			must(bind1(pair.server(), mw.get(), region.part()), "ibv_bind_mw");
			finished(pair.server(), IBV_WC_BIND_MW, "bind");
			rkey = mw->rkey;
		} else {
			rkey = bind2(pair.server(), mw.get(), region.part());
		}
		require_eq(region.deregister(), EBUSY, "dereg with a bound window");
		require_eq(ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr,
					0, bindable),
			   int{IBV_REREG_MR_ERR_CMD}, "rereg with a bound window");
		require_eq(errno, EBUSY, "errno");
		reads(pair.client(), region.address(first), rkey, length, region_fill);
		reads(pair.client(), region.address(), region.mr()->rkey, size, region_fill);
		mw.reset();
		require_eq(region.deregister(), 0, "dereg without the window");
		refuses(pair, IBV_WR_RDMA_READ, region.address(first), rkey, 1);
	}
}

/* the peer must not invalidate a region with windows */
void region_with_a_window_is_not_invalidated(World &world)
{
	Pair pair{world};
	Region region{pair.server().pd(), bindable | IBV_ACCESS_REMOTE_READ};
	const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);

	bind2(pair.server(), mw.get(), region.part());
	must(pair.server().post_recv({}), "post_recv");
	must(post_inv(pair.client(), IBV_WR_SEND_WITH_INV, region.mr()->rkey),
	     "Send with Invalidate");
	require_status(pair.server().recvs.wait(), IBV_WC_REM_INV_REQ_ERR, "receive");
	ends(pair);
}

/* a window is for the peer: local requests must not name it */
void window_is_no_local_key(World &world)
{
	for (bool receive : {false, true}) {
		Pair pair{world};
		Region region{pair.server().pd()};
		const Mw mw = alloc(pair.server().pd(), IBV_MW_TYPE_2);
		const std::uint32_t rkey = bind2(pair.server(), mw.get(), region.part());
		const ibv_sge by_window{region.address(first), 8, rkey};
		Memory memory{pair.client().pd(), 8, IBV_ACCESS_LOCAL_WRITE, peer_fill};
		const std::array theirs{memory.sge()};

		greet(pair);
		if (receive) {
			must(pair.server().post_recv({&by_window, 1}), "post_recv");
			must(pair.client().post_send(theirs), "post_send");
			require_status(pair.server().recvs.wait(), IBV_WC_LOC_PROT_ERR, "receive");
		} else {
			must(pair.client().post_recv(theirs), "post_recv");
			must(pair.server().post_send({&by_window, 1}), "post_send");
			require_status(pair.server().sends.wait(), IBV_WC_LOC_PROT_ERR, "Send");
		}
		ends(pair);
		require(region.untouched() && memory.is_all(peer_fill), "octets moved");
	}
}

void several_windows_on_a_region(World &world)
{
	constexpr std::size_t pieces = 8;
	Pair pair{world};
	Region region{pair.server().pd()};
	std::vector<Mw> windows;
	std::vector<std::uint32_t> keys;

	for (std::size_t i = 0; i < pieces; i++) {
		ibv_mw_bind_info info = region.part(both | IBV_ACCESS_ZERO_BASED);

		info.addr = region.address(i * size / pieces);
		info.length = size / pieces;
		windows.push_back(alloc(pair.server().pd(), IBV_MW_TYPE_2));
		keys.push_back(bind2(pair.server(), windows.back().get(), info));
	}
	for (std::size_t i = 1; i < pieces; i += 2)
		writes(pair.client(), 0, keys[i], size / pieces);
	for (std::size_t i = 0; i < size; i++)
		require(region.span()[i] == (i / (size / pieces) % 2 ? peer_fill : region_fill),
			"an octet of the region");
	while (!windows.empty()) {
		require_eq(region.deregister(), EBUSY, "dereg with bound windows");
		windows.pop_back();
	}
	require_eq(region.deregister(), 0, "dereg");
}

} /* namespace */

const std::vector<Check> window_checks{
	{"device_has_windows", device_has_windows},
	{"window_holds_its_pd", window_holds_its_pd},
	{"unbound_window", unbound_window},
	{"type2_reads_and_writes", type2_reads_and_writes},
	{"bound_by_the_extended_interface", bound_by_the_extended_interface},
	{"bind_is_ordered", bind_is_ordered},
	{"zero_based_window", zero_based_window},
	{"what_a_window_refuses", what_a_window_refuses},
	{"type2_belongs_to_its_queue_pair", type2_belongs_to_its_queue_pair},
	{"type2_is_invalidated_by_its_queue_pair", type2_is_invalidated_by_its_queue_pair},
	{"invalidated_by_the_peer", invalidated_by_the_peer},
	{"queue_pair_goes_first", queue_pair_goes_first},
	{"type1_reads_and_writes", type1_reads_and_writes},
	{"type1_is_bound_again_and_unbound", type1_is_bound_again_and_unbound},
	{"type1_is_not_invalidated", type1_is_not_invalidated},
	{"type1_is_bound_by_two_at_once", type1_is_bound_by_two_at_once},
	{"type1_goes_while_two_bind_it", type1_goes_while_two_bind_it},
	{"bad_binds", bad_binds},
	{"window_on_a_read_only_region", window_on_a_read_only_region},
	{"bad_binds_of_type2", bad_binds_of_type2},
	{"binds_refused_when_posted", binds_refused_when_posted},
	{"region_with_a_window_stays", region_with_a_window_stays},
	{"region_with_a_window_is_not_invalidated", region_with_a_window_is_not_invalidated},
	{"window_is_no_local_key", window_is_no_local_key},
	{"several_windows_on_a_region", several_windows_on_a_region},
};

} /* namespace checks */
