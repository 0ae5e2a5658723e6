/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Queue pairs: creation and destruction, attributes, the doorbell and the receive queue.
 * send.cpp has the send queue.
 */
#include <unistd.h>

#include "provider.hpp"

namespace krdma {
namespace {

constexpr std::uint32_t known_comp_mask =
	IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;

int create(Qp &qp, ibv_context *context, ibv_qp_init_attr_ex &attr)
{
	ibv_create_qp_cmd cmd{};
	verbs_response<ib_uverbs_create_qp_resp, krdma_soft_qp_resp> response{};
	const krdma_soft_qp_resp &granted = response.driver;

	int err = ibv_cmd_create_qp_ex(context, &qp.base, &attr, &cmd, sizeof(cmd), &response,
				       response.size);
	if (err)
		return err;

	attr.cap.max_inline_data = granted.max_inline;
	err = attach_rings(qp.sq, qp.rq, context->cmd_fd, granted,
			   SendQueue::stride(attr.cap.max_send_sge, attr.cap.max_inline_data),
			   RecvQueue::stride(attr.cap.max_recv_sge));
	if (err) {
		ibv_cmd_destroy_qp(&qp.base.qp);
		return err;
	}
	qp.sq.max_sge = attr.cap.max_send_sge;
	qp.rq.max_sge = attr.cap.max_recv_sge;
	qp.sq.max_inline = granted.max_inline;
	qp.sq.signal_all = attr.sq_sig_all;

	const bool single_threaded = ours<Pd>(attr.pd).single_threaded();
	qp.sq.lock.set_single_threaded(single_threaded);
	qp.rq.lock.set_single_threaded(single_threaded);
	return 0;
}

} /* namespace */

/* ring by ioctl(), which is slower than write() */
static int ring_slowly(ibv_context *context, std::uint32_t qp_handle) noexcept
{
	ibv_send_wr *bad_wr;
	ibv_qp qp{};

	qp.context = context;
	qp.handle = qp_handle;
	qp.qp_type = IBV_QPT_RC;
	return ibv_cmd_post_send(&qp, nullptr, &bad_wr);
}

int ring_doorbell(ibv_context *context, std::uint32_t qp_handle) noexcept
{
	/*
	 * The kernel takes a write() only from the process that opened the file, with the
	 * credentials of that time. It takes an ioctl() from every process that has the file.
	 */
	bool &no_write = ours<Context>(verbs_get_ctx(context)).no_write;
	if (__atomic_load_n(&no_write, __ATOMIC_RELAXED))
		return ring_slowly(context, qp_handle);

	ib_uverbs_post_send_resp response;
	const Doorbell doorbell = make_doorbell(qp_handle, response);

	const int saved = errno;
	while (write(context->cmd_fd, &doorbell, sizeof(doorbell)) < 0) {
		const int err = errno;

		errno = saved;
		if (err == EACCES) {
			__atomic_store_n(&no_write, true, __ATOMIC_RELAXED);
			return ring_slowly(context, qp_handle);
		}
		if (err != EINTR)
			return err;
	}
	return 0;
}

int Qp::ring_doorbell() noexcept
{
	return krdma::ring_doorbell(base.qp.context, base.qp.handle);
}

void Qp::ring_soon() noexcept
{
	ibv_context *context = base.qp.context;

	ours<Context>(verbs_get_ctx(context))
		.due.put_off(base.qp.handle, [context](std::uint32_t handle) {
			return krdma::ring_doorbell(context, handle);
		});
}

int Qp::notify(Tell tell) noexcept
{
	if (tell == Tell::now)
		return ring_doorbell();
	if (tell == Tell::soon)
		ring_soon();
	return 0;
}

ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr)
{
	const bool send_ops = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		errno = EINVAL;
		return nullptr;
	}
	if (attr->comp_mask & ~known_comp_mask ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags) ||
	    (send_ops && attr->send_ops_flags & ~supported_send_ops)) {
		errno = EOPNOTSUPP;
		return nullptr;
	}

	auto *qp = make<Qp>();
	if (!qp)
		return nullptr;

	/* the call below has no create_flags */
	ibv_qp_init_attr_ex request = *attr;
	request.comp_mask &= ~std::uint32_t{IBV_QP_INIT_ATTR_CREATE_FLAGS};
	if (int err = create(*qp, context, request)) {
		dispose(qp);
		errno = err;
		return nullptr;
	}
	attr->cap = request.cap;
	if (send_ops) {
		qp->base.comp_mask |= VERBS_QP_EX;
		set_send_ops(qp->base.qp_ex, attr->send_ops_flags);
	}
	return &qp->base.qp;
}

ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *attr)
{
	ibv_qp_init_attr_ex request{};

	request.qp_context = attr->qp_context;
	request.send_cq = attr->send_cq;
	request.recv_cq = attr->recv_cq;
	request.srq = attr->srq;
	request.cap = attr->cap;
	request.qp_type = attr->qp_type;
	request.sq_sig_all = attr->sq_sig_all;
	request.comp_mask = IBV_QP_INIT_ATTR_PD;
	request.pd = pd;

	ibv_qp *qp = create_qp_ex(pd->context, &request);
	if (qp)
		attr->cap = request.cap;
	return qp;
}

int modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask)
{
	ibv_modify_qp_cmd cmd{};

	int err = ibv_cmd_modify_qp(qp, attr, attr_mask, &cmd, sizeof(cmd));
	if (!err && attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		purge_cqs(*qp);
	return err;
}

int query_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask, ibv_qp_init_attr *init_attr)
{
	ibv_query_qp_cmd cmd{};

	return ibv_cmd_query_qp(qp, attr, attr_mask, init_attr, &cmd, sizeof(cmd));
}

int destroy_qp(ibv_qp *base)
{
	if (int err = ibv_cmd_destroy_qp(base))
		return err;
	purge_cqs(*base);
	dispose(&ours<Qp>(base));
	return 0;
}

int post_recv(ibv_qp *base, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	Qp &qp = ours<Qp>(base);

	if (base->srq) {
		*bad_wr = wr;
		return EINVAL;
	}
	return post_list(
		qp.rq, wr, bad_wr, [&](const ibv_recv_wr &next) { return push_recv(qp.rq, next); },
		[&](Tell tell) { return qp.notify(tell); });
}

} /* namespace krdma */
