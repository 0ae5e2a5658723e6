// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of data by the slow path of /dev/krdma, with every byte compared. They also check
 * that a slow user is refused what it must not do, and that the rings of the fast path are
 * made and can be mapped.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>

#include <arpa/inet.h>
#include <sys/mman.h>

#include <krdma/soft-abi.h>
#include <rdma/ib_user_verbs.h>

#include "chardev.hpp"

namespace chardev {
namespace {

constexpr std::uint32_t all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				     IBV_ACCESS_MW_BIND;
constexpr std::uint32_t size = 100'000;

/** struct Scene - two ends and a buffer for each */
struct Scene {
	explicit Scene(const char *address)
		: ctx{file, address}, ends{file, ctx, address},
		  from{file, ctx.pd, size, all_access}, to{file, ctx.pd, size, all_access}
	{
		std::iota(reinterpret_cast<unsigned char *>(from.data().data()),
			  reinterpret_cast<unsigned char *>(from.data().data()) + size, 1);
	}

	void require_same(std::uint32_t octets, const char *what)
	{
		rdma::require(std::equal(from.data().begin(), from.data().begin() + octets,
					 to.data().begin()),
			      what);
		std::ranges::fill(to.data(), std::byte{});
	}

	krdma_wc send(krdma_wr wr, std::span<const krdma_sge> sges)
	{
		wr.flags |= KRDMA_SEND_SIGNALED;
		wr.wr_id = 7;
		require_errno(post_send(file, ends.client.handle, wr, sges), 0, "POST_SEND");
		krdma_wc wc = next_wc(file, ctx.cq);

		/* the receive of a Send may complete first */
		if (wc.wr_id != 7) {
			received = wc;
			wc = next_wc(file, ctx.cq);
		} else if (wr.opcode == IB_UVERBS_WR_SEND ||
			   wr.opcode == IB_UVERBS_WR_SEND_WITH_IMM ||
			   wr.opcode == IB_UVERBS_WR_SEND_WITH_INV) {
			received = next_wc(file, ctx.cq);
		}
		rdma::require_eq(wc.wr_id, std::uint64_t{7}, "wr_id");
		rdma::require_eq(wc.qp, ends.client.number, "QP number");
		return wc;
	}

	void receive()
	{
		const std::array sges{to.sge(0, size)};

		require_errno(post_recv(file, KRDMA_IOC_POST_RECV, ends.server.handle, 9, sges), 0,
			      "POST_RECV");
	}

	File file;
	Context ctx;
	Ends ends;
	Memory from;
	Memory to;
	krdma_wc received{};
};

void require_ok(const krdma_wc &wc, std::uint32_t opcode, const char *what)
{
	rdma::require_eq(wc.status, 0U, what);
	rdma::require_eq(wc.opcode, opcode, what);
}

/* InfiniBand's SQD: requests wait, receiving continues, RTS resumes */
void rests(const char *address)
{
	Scene s{address};
	const std::array sges{s.from.sge(0, 1000)};
	const auto modify = [&](std::uint32_t mask, std::uint32_t state, std::uint32_t notify) {
		krdma_qp_attr cmd{.handle = s.ends.client.handle,
				  .mask = mask,
				  .state = state,
				  .sqd_notify = notify};

		s.file.call(KRDMA_IOC_QP_MODIFY, cmd);
	};
	const auto query = [&] {
		krdma_qp_attr cmd{.handle = s.ends.client.handle};

		s.file.call(KRDMA_IOC_QP_QUERY, cmd);
		return cmd;
	};

	for (const std::uint32_t notify : {1U, 0U}) {
		modify(KRDMA_QP_STATE | KRDMA_QP_SQD_NOTIFY, KRDMA_QP_STATE_SQD, notify);
		if (notify) {
			const Event event = s.file.expect(KRDMA_EVENT_ASYNC);

			rdma::require_eq(event.base().handle, s.ends.client.handle, "whose event");
			rdma::require_eq(event.base().code, std::uint32_t{KRDMA_ASYNC_SQ_DRAINED},
					 "event");
		}
		rdma::wait_until([&] { return !query().draining; }, "it does not drain");
		s.file.expect_nothing();
		rdma::require_eq(query().state, std::uint32_t{KRDMA_QP_STATE_SQD}, "state");
		rdma::require_eq(query().sqd_notify, notify, "sqd_notify");
		/* posted requests wait */
		s.receive();
		require_errno(post_send(s.file, s.ends.client.handle,
					{.wr_id = 7,
					 .opcode = IB_UVERBS_WR_SEND,
					 .flags = KRDMA_SEND_SIGNALED},
					sges),
			      0, "POST_SEND in SQD");
		/* ... and arriving messages are received */
		const std::array to{s.to.sge(50'000, 1000)};

		require_errno(post_recv(s.file, KRDMA_IOC_POST_RECV, s.ends.client.handle, 11, to),
			      0, "POST_RECV in SQD");
		require_errno(post_send(s.file, s.ends.server.handle,
					{.wr_id = 12, .opcode = IB_UVERBS_WR_SEND}, sges),
			      0, "POST_SEND of the peer");
		rdma::require_eq(next_wc(s.file, s.ctx.cq).wr_id, std::uint64_t{11},
				 "a receive in SQD");
		std::array<krdma_wc, 1> none{};
		krdma_cq_poll poll{.handle = s.ctx.cq,
				   .count = 1,
				   .entries = reinterpret_cast<std::uintptr_t>(none.data())};

		s.file.call(KRDMA_IOC_CQ_POLL, poll);
		rdma::require_eq(poll.count, 0U, "nothing was sent");
		modify(KRDMA_QP_STATE, KRDMA_QP_STATE_RTS, 0);
		std::array<std::uint64_t, 2> ids{next_wc(s.file, s.ctx.cq).wr_id,
						 next_wc(s.file, s.ctx.cq).wr_id};

		std::ranges::sort(ids);
		rdma::require(ids == std::array<std::uint64_t, 2>{7, 9}, "sent after RTS");
		rdma::require_eq(query().state, std::uint32_t{KRDMA_QP_STATE_RTS}, "state");
	}
	/* the structure of an older program is enough, and nothing behind it is written */
	std::array<std::uint64_t, 22> old{};
	auto *cmd = reinterpret_cast<krdma_qp_attr *>(old.data());

	cmd->size = 160;
	cmd->handle = s.ends.client.handle;
	old[20] = 0x5a5a;
	require_errno(s.file.raw(KRDMA_IOC_QP_QUERY, cmd), 0, "the structure before SQD");
	rdma::require_eq(cmd->state, std::uint32_t{KRDMA_QP_STATE_RTS}, "its state");
	rdma::require_eq(old[20], std::uint64_t{0x5a5a}, "what is behind it");
}

void send(const char *address)
{
	Scene s{address};
	const std::array sges{s.from.sge(0, 1000), s.from.sge(1000, size - 1000)};

	s.receive();
	require_ok(s.send({.opcode = IB_UVERBS_WR_SEND}, sges), IBV_WC_SEND, "Send");
	require_ok(s.received, IBV_WC_RECV, "receive");
	rdma::require_eq(s.received.byte_len, size, "octets received");
	rdma::require_eq(s.received.qp, s.ends.server.number, "QP number of the receive");
	s.require_same(size, "data of a Send");

	s.receive();
	const std::array inline_sges{krdma_sge{s.from.address(), 50, 0},
				     krdma_sge{s.from.address(50), 14, 0}};

	require_ok(s.send({.opcode = IB_UVERBS_WR_SEND_WITH_IMM,
			   .flags = KRDMA_SEND_INLINE,
			   .imm = htonl(0x1234)},
			  inline_sges),
		   IBV_WC_SEND, "inline Send");
	require_ok(s.received, IBV_WC_RECV, "receive");
	rdma::require_eq(s.received.flags, std::uint32_t{IBV_WC_WITH_IMM}, "flags");
	rdma::require_eq(ntohl(s.received.imm), 0x1234U, "immediate data");
	s.require_same(64, "inline data");
}

void write_and_read(const char *address)
{
	Scene s{address};
	const std::array out{s.from.sge(0, size)};
	const std::array in{s.to.sge(0, size)};

	require_ok(s.send({.opcode = IB_UVERBS_WR_RDMA_WRITE,
			   .remote_addr = s.to.address(),
			   .rkey = s.to.stag()},
			  out),
		   IBV_WC_RDMA_WRITE, "RDMA Write");
	/* when a Read behind it completes, the Write has arrived */
	require_ok(s.send({.opcode = IB_UVERBS_WR_RDMA_READ,
			   .remote_addr = s.from.address(),
			   .rkey = s.from.stag()},
			  in),
		   IBV_WC_RDMA_READ, "RDMA Read");
	s.require_same(size, "data of a Read");

	const std::array word{s.to.sge(0, 8)};
	auto *target = reinterpret_cast<std::uint64_t *>(s.from.data().data());
	const std::uint64_t before = *target;

	require_ok(s.send({.opcode = IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD,
			   .remote_addr = s.from.address(),
			   .rkey = s.from.stag(),
			   .compare_add = 3},
			  word),
		   IBV_WC_FETCH_ADD, "Fetch and Add");
	rdma::require_eq(*target, before + 3, "sum");
	rdma::require_eq(*reinterpret_cast<std::uint64_t *>(s.to.data().data()), before,
			 "what was there");
}

void windows(const char *address)
{
	Scene s{address};
	krdma_mw mw{.pd = s.ctx.pd, .type = 2};

	s.file.call(KRDMA_IOC_MW, mw);
	const std::uint32_t stag = (mw.stag & ~0xffU) | ((mw.stag + 1) & 0xff);
	krdma_wr bind{.opcode = IB_UVERBS_WR_BIND_MW,
		      .rkey = stag,
		      .mw = mw.handle,
		      .bind_addr = s.to.address(),
		      .bind_length = size,
		      .bind_lkey = s.to.stag(),
		      .bind_access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};

	krdma_wr foreign = bind;

	foreign.rkey ^= 0x100;
	require_errno(post_send(s.file, s.ends.client.handle, foreign, {}), EINVAL,
		      "another's STag");
	foreign.mw = s.from.handle();
	require_errno(post_send(s.file, s.ends.client.handle, foreign, {}), EINVAL, "no window");
	/* the window belongs to the QP that binds it: the peer writes through it */
	bind.flags = KRDMA_SEND_SIGNALED;
	require_errno(post_send(s.file, s.ends.server.handle, bind, {}), 0, "bind");
	require_ok(next_wc(s.file, s.ctx.cq), IBV_WC_BIND_MW, "bind");
	refused(s.file, KRDMA_IOC_DESTROY, krdma_destroy{.handle = s.to.handle()}, EBUSY,
		KRDMA_CAUSE_WINDOW_BOUND, KRDMA_UNIT_NONE, 0, "a region with a window");
	const std::array out{s.from.sge(0, size)};

	require_ok(s.send({.opcode = IB_UVERBS_WR_RDMA_WRITE,
			   .remote_addr = s.to.address(),
			   .rkey = stag},
			  out),
		   IBV_WC_RDMA_WRITE, "RDMA Write through the window");
	const std::array in{s.from.sge(0, 1)};

	require_ok(s.send({.opcode = IB_UVERBS_WR_RDMA_READ,
			   .remote_addr = s.to.address(),
			   .rkey = stag},
			  in),
		   IBV_WC_RDMA_READ, "and an RDMA Read");
	s.require_same(size, "data through the window");
	s.receive();
	require_ok(s.send({.opcode = IB_UVERBS_WR_SEND_WITH_INV, .imm = stag}, in), IBV_WC_SEND,
		   "Send with Invalidate");
	rdma::require_eq(s.received.flags, std::uint32_t{IBV_WC_WITH_INV}, "flags");
	rdma::require_eq(s.received.imm, stag, "invalidated");
	s.file.destroy(mw.handle);
	s.file.destroy(s.to.handle());
}

/* events of a completion queue: one event for each arming */
void notify(const char *address)
{
	Scene s{address};
	const std::array out{s.from.sge(0, 8)};
	krdma_cq_notify arm{.handle = s.ctx.cq};

	s.file.call(KRDMA_IOC_CQ_NOTIFY, arm);
	rdma::require_eq(arm.missed, 0U, "an empty queue");
	s.file.expect_nothing();
	for (int i = 0; i < 3; i++)
		s.send({.opcode = IB_UVERBS_WR_RDMA_WRITE,
			.remote_addr = s.to.address(),
			.rkey = s.to.stag()},
		       out);
	const Event event = s.file.expect(KRDMA_EVENT_COMPLETION);

	rdma::require_eq(event.base().handle, s.ctx.cq, "handle");
	rdma::require_eq(event.base().cookie, std::uint64_t{0xcc}, "cookie");
	s.file.expect_nothing();
	krdma_wr wr{.opcode = IB_UVERBS_WR_RDMA_WRITE,
		    .flags = KRDMA_SEND_SIGNALED,
		    .remote_addr = s.to.address(),
		    .rkey = s.to.stag()};

	require_errno(post_send(s.file, s.ends.client.handle, wr, out), 0, "POST_SEND");
	while (!arm.missed)
		s.file.call(KRDMA_IOC_CQ_NOTIFY, arm);
	next_wc(s.file, s.ctx.cq);
}

/* a shared receive queue, and the event of its limit */
void shared(const char *address)
{
	const File file;
	const Context ctx{file, address};
	krdma_srq srq{.pd = ctx.pd, .max_wr = 8, .max_sge = 1, .limit = 2, .cookie = 0x55};

	file.call(KRDMA_IOC_SRQ, srq);
	const Ends ends{file, ctx, address, srq.handle};
	Memory memory{file, ctx.pd, 4096, all_access};

	require_errno(file.try_destroy(srq.handle), EBUSY, "an SRQ in use");
	for (std::uint64_t i = 0; i < 2; i++) {
		const std::array sges{memory.sge(64 * i, 64)};

		require_errno(post_recv(file, KRDMA_IOC_POST_SRQ, srq.handle, i, sges), 0,
			      "POST_SRQ");
	}
	const std::array out{memory.sge(1024, 64)};

	require_errno(post_send(file, ends.client.handle, {.opcode = IB_UVERBS_WR_SEND}, out), 0,
		      "Send");
	const krdma_wc wc = next_wc(file, ctx.cq);

	rdma::require_eq(wc.opcode, std::uint32_t{IBV_WC_RECV}, "receive");
	const Event event = file.expect(KRDMA_EVENT_ASYNC);

	rdma::require_eq(event.base().code, std::uint32_t{IBV_EVENT_SRQ_LIMIT_REACHED}, "event");
	rdma::require_eq(event.base().handle, srq.handle, "handle");
	rdma::require_eq(event.base().cookie, std::uint64_t{0x55}, "cookie");
	krdma_srq_attr attr{.handle = srq.handle};

	file.call(KRDMA_IOC_SRQ_QUERY, attr);
	rdma::require_eq(attr.limit, 0U, "the limit is used up");
	attr = {.handle = srq.handle, .mask = KRDMA_SRQ_MAX_WR, .max_wr = 64};
	file.call(KRDMA_IOC_SRQ_MODIFY, attr);
}

/* a QP and a region of different protection domains; operations that only the kernel may use */
void rights(const char *address)
{
	for (const bool other_pd : {true, false}) {
		Scene s{address};
		krdma_pd pd{.context = s.ctx.context};

		s.file.call(KRDMA_IOC_PD, pd);
		Memory foreign{s.file, other_pd ? pd.handle : s.ctx.pd, 4096, 0};
		/* fast registration, masked atomics, an unknown operation */
		for (const std::uint32_t opcode :
		     {0x20U, 0xf0U, 12U, 13U, 10U, 11U, 99U, 0xffffffffU})
			require_errno(
				post_send(s.file, s.ends.client.handle, {.opcode = opcode}, {}),
				EOPNOTSUPP, "opcode");
		require_errno(post_send(s.file, s.ends.client.handle,
					{.opcode = IB_UVERBS_WR_SEND, .flags = 16}, {}),
			      EINVAL, "flags");
		/* an address of the kernel needs a region, and there is none */
		const std::array sges{krdma_sge{other_pd ? foreign.address() : 0xffff888000000000U,
						8, foreign.stag()}};

		const krdma_wc wc = s.send({.opcode = IB_UVERBS_WR_RDMA_WRITE,
					    .remote_addr = s.to.address(),
					    .rkey = s.to.stag()},
					   sges);

		rdma::require_eq(wc.status, std::uint32_t{IBV_WC_LOC_PROT_ERR}, "refused");
	}
}

void inline_limits(const char *address)
{
	Scene s{address};
	const std::array big{krdma_sge{s.from.address(), 4000, 0}};

	require_errno(post_send(s.file, s.ends.client.handle,
				{.opcode = IB_UVERBS_WR_SEND, .flags = KRDMA_SEND_INLINE}, big),
		      EINVAL, "more inline data than granted");
	const std::array bad{krdma_sge{0xffff888000000000U, 8, 0}};

	require_errno(post_send(s.file, s.ends.client.handle,
				{.opcode = IB_UVERBS_WR_SEND, .flags = KRDMA_SEND_INLINE}, bad),
		      EFAULT, "inline data of the kernel's memory");
	std::vector<krdma_sge> many(65, krdma_sge{});

	require_errno(post_send(s.file, s.ends.client.handle, {.opcode = IB_UVERBS_WR_SEND}, many),
		      EINVAL, "too many elements");
}

/* a queue that overflows raises an event */
void overflow(const char *address)
{
	const File file;
	Context ctx{file, address};
	const std::uint32_t small = make_cq(file, ctx.context, 1, 0x11);

	ctx.cq = small;
	const Ends ends{file, ctx, address};
	Memory memory{file, ctx.pd, 4096, all_access};
	const std::array out{memory.sge(0, 8)};

	for (int i = 0; i < 8; i++)
		post_send(file, ends.client.handle,
			  {.opcode = IB_UVERBS_WR_RDMA_WRITE,
			   .flags = KRDMA_SEND_SIGNALED,
			   .remote_addr = memory.address(64),
			   .rkey = memory.stag()},
			  out);
	for (;;) {
		const auto event = file.next(rdma::patience);

		rdma::require(event.has_value(), "CQ_ERR");
		if (event->base().type == KRDMA_EVENT_ASYNC &&
		    event->base().code == IBV_EVENT_CQ_ERR) {
			rdma::require_eq(event->base().handle, small, "handle");
			return;
		}
	}
}

/* a context for a user library: rings can be mapped, and only as a whole */
/* queues with times, and the older sizes of the structures */
void cq_times(const File &file, const krdma_context &ctx)
{
	krdma_soft_cq_resp resp{};
	krdma_cq cq{
		.context = ctx.handle,
		.depth = 100,
		.priv = {.out = reinterpret_cast<std::uintptr_t>(&resp), .out_len = sizeof(resp)},
		.flags = KRDMA_CQ_TIMES};
	krdma_rnic_query rnic{.index = ctx.index};

	file.call(KRDMA_IOC_CQ, cq);
	rdma::require_eq(std::uint64_t{resp.stamp_offset},
			 KRDMA_SOFT_RING_ENTRIES + 128 * sizeof(krdma_soft_cqe),
			 "times behind the entries");
	rdma::require(resp.ring_size >= resp.stamp_offset + 128 * sizeof(krdma_soft_cq_stamp),
		      "room for them");
	file.destroy(cq.handle);
	file.call(KRDMA_IOC_RNIC_QUERY, rnic);
	rdma::require(rnic.timestamp_mask == UINT64_MAX && rnic.clock_khz == 1'000'000U,
		      "a clock of nanoseconds");

	cq.flags = 2;
	require_errno(file.try_call(KRDMA_IOC_CQ, cq), EINVAL, "a flag that is not known");
	cq.flags = 0;
	cq.reserved2 = 1;
	require_errno(file.try_call(KRDMA_IOC_CQ, cq), EINVAL, "reserved");
	/* bytes behind the size are ignored and not written */
	cq.size = 56;
	require_errno(file.raw(KRDMA_IOC_CQ, &cq), 0, "the structure before times");
	rdma::require_eq(std::uint64_t{resp.stamp_offset}, std::uint64_t{0}, "no times");
	rdma::require_eq(cq.reserved2, 1U, "what is behind it");
	file.destroy(cq.handle);
	rnic.size = 400;
	rnic.clock_khz = 4711;
	require_errno(file.raw(KRDMA_IOC_RNIC_QUERY, &rnic), 0, "the query before times");
	rdma::require_eq(rnic.clock_khz, 4711U, "what is behind it");

	krdma_context slow{.index = ctx.index, .flags = KRDMA_SLOW};

	file.call(KRDMA_IOC_CONTEXT, slow);
	krdma_cq none{.context = slow.handle, .depth = 8, .flags = KRDMA_CQ_TIMES};

	require_errno(file.try_call(KRDMA_IOC_CQ, none), EOPNOTSUPP, "times in a slow context");
	file.destroy(slow.handle);
}

void fast(const char *address)
{
	const File file;
	krdma_soft_ucontext_resp resp{};
	krdma_context ctx{
		.index = find_rnic(file, parse_address(address)),
		.priv = {.out = reinterpret_cast<std::uintptr_t>(&resp), .out_len = sizeof(resp)}};

	file.call(KRDMA_IOC_CONTEXT, ctx);
	rdma::require_eq(resp.abi_version, std::uint32_t{KRDMA_SOFT_ABI_VERSION},
			 "the provider's octets");
	krdma_soft_cq_resp cq_resp{};
	krdma_cq cq{.context = ctx.handle,
		    .depth = 100,
		    .priv = {.out = reinterpret_cast<std::uintptr_t>(&cq_resp),
			     .out_len = sizeof(cq_resp)}};

	file.call(KRDMA_IOC_CQ, cq);
	rdma::require_eq(cq_resp.depth, 128U, "depth");
	rdma::require_eq(cq_resp.stamp_offset, decltype(cq_resp.stamp_offset){}, "no times");
	cq_times(file, ctx);
	const auto map = [&](std::uint64_t octets, int flags, std::uint64_t offset) {
		return ::mmap(nullptr, octets, PROT_READ | PROT_WRITE, flags, file.fd(),
			      static_cast<off_t>(offset));
	};
	void *ring = map(cq_resp.ring_size, MAP_SHARED, cq_resp.ring_offset);

	rdma::require(ring != MAP_FAILED, "mmap of the ring");
	rdma::require(map(cq_resp.ring_size, MAP_PRIVATE, cq_resp.ring_offset) == MAP_FAILED,
		      "private");
	rdma::require(map(cq_resp.ring_size + 4096, MAP_SHARED, cq_resp.ring_offset) == MAP_FAILED,
		      "more");
	rdma::require(map(4096, MAP_SHARED, cq_resp.ring_offset) == MAP_FAILED, "less");
	rdma::require(map(4096, MAP_SHARED, 0) == MAP_FAILED, "offset 0");
	rdma::require(map(cq_resp.ring_size, MAP_SHARED, cq_resp.ring_offset + 4096) == MAP_FAILED,
		      "behind");
	krdma_cq_poll poll{.handle = cq.handle, .count = 1};

	require_errno(file.try_call(KRDMA_IOC_CQ_POLL, poll), EINVAL, "polling by command");
	krdma_pd pd{.context = ctx.handle};

	file.call(KRDMA_IOC_PD, pd);
	krdma_soft_qp_resp qp_resp{};
	krdma_qp qp{.pd = pd.handle,
		    .send_cq = cq.handle,
		    .recv_cq = cq.handle,
		    .max_send_wr = 4,
		    .max_recv_wr = 4,
		    .max_send_sge = 1,
		    .max_recv_sge = 1,
		    .priv = {.out = reinterpret_cast<std::uintptr_t>(&qp_resp),
			     .out_len = sizeof(qp_resp)}};

	file.call(KRDMA_IOC_QP, qp);
	rdma::require_eq(qp_resp.qp_num, qp.number, "QP number");
	krdma_post doorbell{.handle = qp.handle};

	file.call(KRDMA_IOC_POST_SEND, doorbell);
	require_errno(post_send(file, qp.handle, {.opcode = IB_UVERBS_WR_SEND}, {}), EINVAL,
		      "posting by command");
	/* objects of a slow context cannot be combined with it */
	const Context slow{file, address};
	krdma_qp mixed{.pd = slow.pd, .send_cq = cq.handle, .recv_cq = slow.cq};

	require_errno(file.try_call(KRDMA_IOC_QP, mixed), EINVAL, "CQ of another context");
	file.destroy(qp.handle);
	file.destroy(cq.handle);
	const auto *head = static_cast<const krdma_soft_cq_ring *>(ring);

	rdma::require(head->flags & KRDMA_SOFT_RING_DEAD,
		      "a ring that is left says that it is dead");
	::munmap(ring, cq_resp.ring_size);
}

void reregister(const char *address)
{
	Scene s{address};
	std::vector<std::byte> more(8192);
	krdma_mr_reregister cmd{.handle = s.to.handle(),
				.mask = KRDMA_REREG_TRANSLATION,
				.start = reinterpret_cast<std::uintptr_t>(more.data()),
				.length = more.size(),
				.iova = 0x1000};

	s.file.call(KRDMA_IOC_MR_REREGISTER, cmd);
	const std::array out{s.from.sge(0, 8192)};

	require_ok(
		s.send({.opcode = IB_UVERBS_WR_RDMA_WRITE, .remote_addr = 0x1000, .rkey = cmd.stag},
		       out),
		IBV_WC_RDMA_WRITE, "to the other memory");
	const std::array in{krdma_sge{s.from.address(50'000), 8, s.from.stag()}};

	s.send({.opcode = IB_UVERBS_WR_RDMA_READ, .remote_addr = 0x1000, .rkey = cmd.stag}, in);
	rdma::require(std::equal(more.begin(), more.end(), s.from.data().begin()), "data there");
	krdma_pd pd{.context = s.ctx.context};

	s.file.call(KRDMA_IOC_PD, pd);
	cmd = {.handle = s.to.handle(), .mask = KRDMA_REREG_PD, .pd = pd.handle};
	s.file.call(KRDMA_IOC_MR_REREGISTER, cmd);
	require_errno(s.file.try_destroy(pd.handle), EBUSY, "the region is the other PD's");
	/* to be written it must be pinned anew, in the memory of the process that it is of */
	const Memory read_only{s.file, s.ctx.pd, 8192, 0};

	in_child([&] {
		refused(s.file, KRDMA_IOC_MR_REREGISTER,
			krdma_mr_reregister{.handle = read_only.handle(),
					    .mask = KRDMA_REREG_ACCESS,
					    .access = KRDMA_ACCESS_LOCAL_WRITE},
			EPERM, KRDMA_CAUSE_OTHER_PROCESS, KRDMA_UNIT_NONE, 0,
			"another process' region");
	});
	s.file.destroy(s.to.handle());
	s.file.destroy(pd.handle);
}

} /* namespace */

const std::vector<Check> data_checks{
	{"Send", send},
	{"Write and Read", write_and_read},
	{"windows", windows},
	{"queues that rest", rests},
	{"completion events", notify},
	{"shared receive queue", shared},
	{"rights", rights},
	{"inline limits", inline_limits},
	{"CQ overflow", overflow},
	{"fast path", fast},
	{"reregistration", reregister},
};

} /* namespace chardev */
