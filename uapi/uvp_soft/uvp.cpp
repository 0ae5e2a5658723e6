/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * libkrdma's user library for the software RNIC. It has the queues of queue.hpp and creates
 * them with ri_syscall() and the private bytes of <krdma/soft-abi.h>.
 */
#include <sched.h>

#include <krdma/uvp.h>

#include "queue.hpp"

namespace krdma {
namespace {

struct UserContext {
	const krdma_uvp_host *host;
	DueDoorbells due;
	std::uint32_t poll_yield; /* for class Patience */

	[[nodiscard]] int syscall(unsigned long command, void *argument) noexcept
	{
		return host->ri_syscall(host->host, command, argument);
	}

	[[nodiscard]] int destroy(std::uint32_t handle) noexcept
	{
		krdma_destroy cmd{sizeof(cmd), handle};

		return syscall(KRDMA_IOC_DESTROY, &cmd);
	}

	/* Tells the kernel to look at rings: post commands without a request. */
	[[nodiscard]] int ring(unsigned long command, std::uint32_t handle) noexcept
	{
		krdma_post cmd{};

		cmd.size = sizeof(cmd);
		cmd.handle = handle;
		return syscall(command, &cmd);
	}

	[[nodiscard]] int ring_qp(std::uint32_t handle) noexcept
	{
		return ring(KRDMA_IOC_POST_SEND, handle);
	}

	[[nodiscard]] bool ring_due() noexcept
	{
		return due.settle([this](std::uint32_t handle) { return ring_qp(handle); });
	}

	[[nodiscard]] int notify(std::uint32_t qp, Tell tell) noexcept
	{
		if (tell == Tell::now)
			return ring_qp(qp);
		if (tell == Tell::soon)
			due.put_off(qp, [this](std::uint32_t other) { return ring_qp(other); });
		return 0;
	}
};

struct UserCq {
	UserContext *context;
	std::uint32_t handle;
	SoftCq queue;
};

struct UserSrq {
	UserContext *context;
	std::uint32_t handle;
	RecvQueue queue;
};

struct UserQp {
	UserContext *context;
	std::uint32_t handle;
	std::uint32_t number;
	bool shares_receives;
	UserCq *send_cq;
	UserCq *recv_cq;
	SendQueue sq;
	RecvQueue rq;

	void purge() noexcept
	{
		send_cq->queue.purge(number);
		if (recv_cq != send_cq)
			recv_cq->queue.purge(number);
	}
};

template <typename In> void ask(krdma_private &priv, const In &in) noexcept
{
	priv.in = reinterpret_cast<std::uintptr_t>(&in);
	priv.in_len = sizeof(in);
}

template <typename Out> void expect(krdma_private &priv, Out &out) noexcept
{
	priv.out = reinterpret_cast<std::uintptr_t>(&out);
	priv.out_len = sizeof(out);
}

/* an array of requests, for post_all() */
class Array {
public:
	Array(const krdma_wr *wrs, std::uint32_t count) noexcept : wrs_{wrs}, count_{count}
	{}
	[[nodiscard]] bool more() const noexcept
	{
		return done_ < count_;
	}
	[[nodiscard]] const krdma_wr &item() const noexcept
	{
		return wrs_[done_];
	}
	void next() noexcept
	{
		done_++;
	}
	[[nodiscard]] std::uint32_t done() const noexcept
	{
		return done_;
	}

private:
	const krdma_wr *wrs_;
	std::uint32_t count_;
	std::uint32_t done_{};
};

int context_open(const krdma_uvp_host *host, krdma_context *cmd, void **result)
{
	auto *context = make<UserContext>();
	krdma_soft_ucontext_resp granted{};

	if (!context)
		return ENOMEM;
	context->host = host;
	expect(cmd->priv, granted);
	int err = context->syscall(KRDMA_IOC_CONTEXT, cmd);
	cmd->priv = {};
	if (!err && granted.abi_version != KRDMA_SOFT_ABI_VERSION) {
		(void)context->destroy(cmd->handle);
		err = EPROTO;
	}
	if (err) {
		dispose(context);
		return err;
	}
	context->poll_yield = granted.poll_yield;
	*result = context;
	return 0;
}

void context_close(void *context)
{
	dispose(static_cast<UserContext *>(context));
}

/* Completion queues ******************************************************** */

int cq_create(void *base, krdma_cq *cmd, void **result)
{
	auto *cq = make<UserCq>();
	krdma_soft_cq_resp granted{};

	if (!cq)
		return ENOMEM;
	cq->context = static_cast<UserContext *>(base);
	expect(cmd->priv, granted);
	int err = cq->context->syscall(KRDMA_IOC_CQ, cmd);
	cmd->priv = {};
	if (!err) {
		cq->handle = cmd->handle;
		if (cmd->flags & KRDMA_CQ_TIMES && !granted.stamp_offset)
			err = EOPNOTSUPP;
		else
			err = cq->queue.attach(cq->context->host->fd, granted);
		if (err)
			(void)cq->context->destroy(cq->handle);
	}
	if (err) {
		dispose(cq);
		return err;
	}
	cq->queue.patience.set_limit(cq->context->poll_yield);
	*result = cq;
	return 0;
}

int resize_step(UserCq &cq, krdma_cq_modify &cmd, krdma_soft_resize_step step,
		krdma_soft_cq_resp &granted)
{
	const krdma_soft_resize_cq_req request{static_cast<std::uint32_t>(step), 0};

	ask(cmd.priv, request);
	expect(cmd.priv, granted);
	const int err = cq.context->syscall(KRDMA_IOC_CQ_MODIFY, &cmd);
	cmd.priv = {};
	return err;
}

int cq_modify(void *base, krdma_cq_modify *cmd)
{
	auto &cq = *static_cast<UserCq *>(base);
	const std::uint32_t wanted = cmd->depth;

	if (cmd->mask != KRDMA_CQ_DEPTH)
		return cq.context->syscall(KRDMA_IOC_CQ_MODIFY, cmd);
	return cq.queue.resize(
		cq.context->host->fd,
		[&](krdma_soft_cq_resp &granted) {
			return resize_step(cq, *cmd, KRDMA_SOFT_RESIZE_PREPARE, granted);
		},
		[&] {
			krdma_soft_cq_resp nothing{};

			cmd->depth = wanted;
			return resize_step(cq, *cmd, KRDMA_SOFT_RESIZE_SWITCH, nothing);
		});
}

int cq_destroy(void *base)
{
	auto *cq = static_cast<UserCq *>(base);
	const int err = cq->context->destroy(cq->handle);

	dispose(cq);
	return err;
}

void fill_wc(krdma_wc &wc, const krdma_soft_cqe &cqe)
{
	wc.wr_id = cqe.wr_id;
	wc.status = cqe.status;
	wc.opcode = cqe.opcode;
	wc.vendor_err = cqe.vendor_err;
	wc.byte_len = cqe.byte_len;
	wc.imm = cqe.imm; /* or the invalidated STag */
	wc.qp = cqe.qp_num;
	wc.flags = soft_wc_flags(cqe);
	wc.reserved = 0;
}

template <typename Fill> int poll_with(UserCq &cq, int count, Fill fill)
{
	SoftCq::Idle idle;
	const int n = cq.queue.poll(count, fill, idle);

	if (idle.empty && !cq.context->ring_due() && idle.yield)
		sched_yield();
	return n;
}

int cq_poll(void *base, krdma_wc *entries, int count)
{
	return poll_with(*static_cast<UserCq *>(base), count,
			 [entries](std::uint32_t i, const krdma_soft_cqe &cqe) {
				 fill_wc(entries[i], cqe);
			 });
}

int cq_poll_times(void *base, krdma_wc *entries, krdma_wc_time *times, int count)
{
	auto &cq = *static_cast<UserCq *>(base);

	return poll_with(cq, count, [&](std::uint32_t i, const krdma_soft_cqe &cqe) {
		const krdma_soft_cq_stamp &stamp = cq.queue.ring.stamp(i);

		fill_wc(entries[i], cqe);
		times[i] = {stamp.monotonic, stamp.real};
	});
}

int cq_notify(void *base, int solicited_only, __u32 *missed)
{
	auto &cq = *static_cast<UserCq *>(base);
	const int err = cq.queue.arm(solicited_only);

	(void)cq.context->ring_due();
	*missed = !cq.queue.empty();
	return err;
}

/* Shared receive queues **************************************************** */

int srq_create(void *base, krdma_srq *cmd, void **result)
{
	auto *srq = make<UserSrq>();
	krdma_soft_srq_resp granted{};

	if (!srq)
		return ENOMEM;
	srq->context = static_cast<UserContext *>(base);
	expect(cmd->priv, granted);
	int err = srq->context->syscall(KRDMA_IOC_SRQ, cmd);
	cmd->priv = {};
	if (!err) {
		srq->handle = cmd->handle;
		srq->queue.max_sge = cmd->max_sge;
		err = attach_ring(srq->queue, srq->context->host->fd, granted.ring_offset,
				  {granted.ring_size, granted.depth, granted.stride},
				  RecvQueue::stride(srq->queue.max_sge));
		if (err)
			(void)srq->context->destroy(srq->handle);
	}
	if (err) {
		dispose(srq);
		return err;
	}
	*result = srq;
	return 0;
}

int resize_step(UserSrq &srq, krdma_srq_attr &cmd, krdma_soft_resize_step step,
		krdma_soft_srq_resp *granted)
{
	krdma_soft_modify_srq_req request{};

	request.step = step;
	request.resp = reinterpret_cast<std::uintptr_t>(granted);
	ask(cmd.priv, request);
	const int err = srq.context->syscall(KRDMA_IOC_SRQ_MODIFY, &cmd);
	cmd.priv = {};
	return err;
}

int srq_modify(void *base, krdma_srq_attr *cmd)
{
	auto &srq = *static_cast<UserSrq *>(base);
	const std::uint32_t wanted = cmd->max_wr;

	if (!(cmd->mask & KRDMA_SRQ_MAX_WR))
		return srq.context->syscall(KRDMA_IOC_SRQ_MODIFY, cmd);
	return resize_srq_ring(
		srq.queue, srq.context->host->fd,
		[&](krdma_soft_srq_resp &granted) {
			return resize_step(srq, *cmd, KRDMA_SOFT_RESIZE_PREPARE, &granted);
		},
		[&] {
			cmd->max_wr = wanted;
			return resize_step(srq, *cmd, KRDMA_SOFT_RESIZE_SWITCH, nullptr);
		});
}

int srq_destroy(void *base)
{
	auto *srq = static_cast<UserSrq *>(base);
	const int err = srq->context->destroy(srq->handle);

	dispose(srq);
	return err;
}

/* Posting ****************************************************************** */

/* A doorbell that fails is reported for the first request, as with libibverbs. */
template <typename Queue, typename Push, typename Notify>
int post(Queue &queue, const krdma_wr *wrs, std::uint32_t count, std::uint32_t *done, Push push,
	 Notify notify)
{
	Array requests{wrs, count};
	Tell tell = Tell::nothing;
	int err = post_all(queue.lock, queue.ring, requests, push, tell);

	*done = requests.done();
	if (tell != Tell::nothing) {
		if (int failed = notify(tell); failed && !err) {
			*done = 0;
			err = failed;
		}
	}
	return err;
}

int srq_post(void *base, const krdma_wr *wrs, __u32 count, __u32 *done)
{
	auto &srq = *static_cast<UserSrq *>(base);

	return post(
		srq.queue, wrs, count, done,
		[&](const krdma_wr &wr) {
			return srq.queue.push(wr.wr_id, sges_of(wr), wr.num_sge);
		},
		[&](Tell) { return srq.context->ring(KRDMA_IOC_POST_SRQ, srq.handle); });
}

int post_send(void *base, const krdma_wr *wrs, __u32 count, __u32 *done)
{
	auto &qp = *static_cast<UserQp *>(base);

	return post(
		qp.sq, wrs, count, done, [&](const krdma_wr &wr) { return qp.sq.push(wr); },
		[&](Tell tell) { return qp.context->notify(qp.handle, tell); });
}

int post_recv(void *base, const krdma_wr *wrs, __u32 count, __u32 *done)
{
	auto &qp = *static_cast<UserQp *>(base);

	if (qp.shares_receives) {
		*done = 0;
		return EINVAL;
	}
	return post(
		qp.rq, wrs, count, done,
		[&](const krdma_wr &wr) { return qp.rq.push(wr.wr_id, sges_of(wr), wr.num_sge); },
		[&](Tell tell) { return qp.context->notify(qp.handle, tell); });
}

/* Queue pairs ************************************************************** */

int qp_create(void *base, krdma_qp *cmd, void *send_cq, void *recv_cq, void *srq, void **result)
{
	auto *qp = make<UserQp>();
	krdma_soft_qp_resp granted{};

	if (!qp)
		return ENOMEM;
	qp->context = static_cast<UserContext *>(base);
	qp->send_cq = static_cast<UserCq *>(send_cq);
	qp->recv_cq = static_cast<UserCq *>(recv_cq);
	qp->shares_receives = srq;
	expect(cmd->priv, granted);
	int err = qp->context->syscall(KRDMA_IOC_QP, cmd);
	cmd->priv = {};
	if (!err) {
		cmd->max_inline = granted.max_inline;
		qp->handle = cmd->handle;
		qp->number = cmd->number;
		qp->sq.max_sge = cmd->max_send_sge;
		qp->sq.max_inline = granted.max_inline;
		qp->sq.signal_all = cmd->flags & KRDMA_QP_SIGNAL_ALL;
		qp->rq.max_sge = cmd->max_recv_sge;
		err = attach_rings(qp->sq, qp->rq, qp->context->host->fd, granted,
				   SendQueue::stride(cmd->max_send_sge, granted.max_inline),
				   RecvQueue::stride(cmd->max_recv_sge));
		if (err)
			(void)qp->context->destroy(qp->handle);
	}
	if (err) {
		dispose(qp);
		return err;
	}
	*result = qp;
	return 0;
}

int qp_modify(void *base, krdma_qp_attr *cmd)
{
	auto &qp = *static_cast<UserQp *>(base);
	constexpr std::uint32_t reset = 0; /* IBV_QPS_RESET */
	const bool resets = cmd->mask & KRDMA_QP_STATE && cmd->state == reset;
	const int err = qp.context->syscall(KRDMA_IOC_QP_MODIFY, cmd);

	if (!err && resets)
		qp.purge();
	return err;
}

int qp_destroy(void *base)
{
	auto *qp = static_cast<UserQp *>(base);
	const int err = qp->context->destroy(qp->handle);

	qp->purge();
	dispose(qp);
	return err;
}

constexpr krdma_uvp_ops ops = {
	.size = sizeof(krdma_uvp_ops),
	.version = KRDMA_UVP_VERSION,
	.abi = KRDMA_SOFT_ABI_VERSION,
	.reserved = 0,
	.context_open = context_open,
	.context_close = context_close,
	.cq_create = cq_create,
	.cq_modify = cq_modify,
	.cq_destroy = cq_destroy,
	.cq_poll = cq_poll,
	.cq_notify = cq_notify,
	.srq_create = srq_create,
	.srq_modify = srq_modify,
	.srq_destroy = srq_destroy,
	.srq_post = srq_post,
	.qp_create = qp_create,
	.qp_modify = qp_modify,
	.qp_destroy = qp_destroy,
	.post_send = post_send,
	.post_recv = post_recv,
	.cq_poll_times = cq_poll_times,
	/* the library keeps no data for these objects */
	.pd_create = nullptr,
	.pd_destroy = nullptr,
	.mr_create = nullptr,
	.mr_reregister = nullptr,
	.mr_destroy = nullptr,
	.mw_create = nullptr,
	.mw_destroy = nullptr,
};

} /* namespace */
} /* namespace krdma */

extern "C" [[gnu::visibility("default")]] const krdma_uvp_ops *krdma_uvp_open(__u32 version)
{
	return version == KRDMA_UVP_VERSION ? &krdma::ops : nullptr;
}
