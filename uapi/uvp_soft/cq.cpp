/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Completion queues: creation, ibv_poll_cq(), the extended polling calls, and arming. Polling
 * and arming make no system call.
 */
#include "provider.hpp"

#include <sched.h>

namespace krdma {
namespace {

Cq &ours_ex(ibv_cq_ex *cq)
{
	return ours<Cq>(cq);
}

/* the completion that start_poll() or next_poll() has taken */
const krdma_soft_cqe &current(ibv_cq_ex *cq)
{
	const Cq &c = ours_ex(cq);

	return c.queue.ring.peek(c.queue.polled - 1);
}

const krdma_soft_cq_stamp &current_stamp(ibv_cq_ex *cq)
{
	const Cq &c = ours_ex(cq);

	return c.queue.ring.stamp(c.queue.polled - 1);
}

static_assert(IBV_WC_WITH_IMM == KRDMA_WC_WITH_IMM && IBV_WC_WITH_INV == KRDMA_WC_WITH_INV);

void fill_wc(ibv_wc &wc, const krdma_soft_cqe &cqe)
{
	wc.wr_id = cqe.wr_id;
	wc.status = static_cast<ibv_wc_status>(cqe.status);
	wc.opcode = static_cast<ibv_wc_opcode>(cqe.opcode);
	wc.vendor_err = cqe.vendor_err;
	wc.byte_len = cqe.byte_len;
	wc.imm_data = cqe.imm; /* or the invalidated STag */
	wc.qp_num = cqe.qp_num;
	wc.src_qp = 0;
	wc.wc_flags = soft_wc_flags(cqe);
	wc.pkey_index = 0;
	wc.slid = 0;
	wc.sl = 0;
	wc.dlid_path_bits = 0;
}

constexpr std::uint64_t timestamp_flags =
	IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

/* The kernel's part of creation. It gets the attributes in @attr that the kernel knows. */
int create_in_kernel(Cq &cq, ibv_context *context, const ibv_cq_init_attr_ex &attr,
		     krdma_soft_cq_resp &granted)
{
	if (!(attr.wc_flags & timestamp_flags)) {
		ibv_create_cq_cmd cmd{};
		verbs_response<ib_uverbs_create_cq_resp, krdma_soft_cq_resp> response{};
		const int err = ibv_cmd_create_cq(context, static_cast<int>(attr.cqe), attr.channel,
						  static_cast<int>(attr.comp_vector), &cq.base.cq,
						  &cmd, sizeof(cmd), &response, response.size);

		granted = response.driver;
		return err;
	}

	ibv_create_cq_ex_cmd cmd{};
	verbs_response<ib_uverbs_ex_create_cq_resp, krdma_soft_cq_resp> response{};
	const int err = verbs_create_cq_ex(context, &attr, &cq.base, &cmd, sizeof(cmd), &response,
					   response.size, 0);

	granted = response.driver;
	if (err || granted.stamp_offset)
		return err;
	ibv_cmd_destroy_cq(&cq.base.cq);
	return EOPNOTSUPP;
}

int create(Cq &cq, ibv_context *context, const ibv_cq_init_attr_ex &attr)
{
	krdma_soft_cq_resp granted{};
	int err = create_in_kernel(cq, context, attr, granted);

	if (err)
		return err;
	err = cq.queue.attach(context->cmd_fd, granted);
	if (err)
		ibv_cmd_destroy_cq(&cq.base.cq);
	else
		cq.queue.patience.set_limit(ours<Context>(verbs_get_ctx(context)).poll_yield);
	return err;
}

int resize_step(ibv_cq *cq, int cqe, krdma_soft_resize_step step, krdma_soft_cq_resp &granted)
{
	verbs_driver_request<ibv_resize_cq_cmd, krdma_soft_resize_cq_req> request{};
	verbs_response<ib_uverbs_resize_cq_resp, krdma_soft_cq_resp> response{};

	request.driver.step = step;
	int err = ibv_cmd_resize_cq(cq, cqe, &request.core, request.size, &response, response.size);
	if (!err)
		granted = response.driver;
	return err;
}

/* Programs read statuses and ids without a call, so copy them. */
void show(ibv_cq_ex *cq)
{
	const krdma_soft_cqe &cqe = current(cq);

	cq->wr_id = cqe.wr_id;
	cq->status = static_cast<ibv_wc_status>(cqe.status);
}

int start_poll(ibv_cq_ex *cq, ibv_poll_cq_attr *attr)
{
	SoftCq::Idle idle;

	if (attr->comp_mask)
		return EINVAL;
	const int err = ours_ex(cq).queue.begin(idle);
	if (!err)
		show(cq);
	else if (!ring_due(cq->context) && idle.yield)
		sched_yield();
	return err;
}

int next_poll(ibv_cq_ex *cq)
{
	const int err = ours_ex(cq).queue.step();

	if (!err)
		show(cq);
	return err;
}

void end_poll(ibv_cq_ex *cq)
{
	ours_ex(cq).queue.end();
}

Cq *create(ibv_context *context, const ibv_cq_init_attr_ex &attr)
{
	auto *cq = make<Cq>();
	if (!cq)
		return nullptr;
	if (int err = create(*cq, context, attr)) {
		dispose(cq);
		errno = err;
		return nullptr;
	}
	return cq;
}

} /* namespace */

ibv_cq *create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel, int comp_vector)
{
	ibv_cq_init_attr_ex attr{};

	attr.cqe = static_cast<std::uint32_t>(cqe);
	attr.channel = channel;
	attr.comp_vector = static_cast<std::uint32_t>(comp_vector);
	Cq *cq = create(context, attr);
	return cq ? &cq->base.cq : nullptr;
}

ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr)
{
	constexpr std::uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	bool single_threaded = false;

	if (attr->comp_mask & ~known ||
	    attr->wc_flags & ~(std::uint64_t{IBV_WC_STANDARD_FLAGS} | timestamp_flags)) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) {
		if (attr->flags & ~std::uint32_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) {
			errno = EOPNOTSUPP;
			return nullptr;
		}
		single_threaded = attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		if (!attr->parent_domain || !ours<Pd>(attr->parent_domain).stands_for) {
			errno = EINVAL;
			return nullptr;
		}
		single_threaded |= ours<Pd>(attr->parent_domain).single_threaded();
	}
	if (attr->cqe > INT32_MAX) {
		errno = EINVAL;
		return nullptr;
	}

	ibv_cq_init_attr_ex kernels{};
	kernels.cqe = attr->cqe;
	kernels.channel = attr->channel;
	kernels.comp_vector = attr->comp_vector;
	kernels.wc_flags = attr->wc_flags & timestamp_flags;
	Cq *cq = create(context, kernels);
	if (!cq)
		return nullptr;
	cq->queue.set_single_threaded(single_threaded);
	set_cq_readers(cq->base.cq_ex, attr->wc_flags);
	return &cq->base.cq_ex;
}

void set_cq_readers(ibv_cq_ex &cq, std::uint64_t wc_flags)
{
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq.read_completion_ts = [](ibv_cq_ex *c) {
			return std::uint64_t{current_stamp(c).monotonic};
		};
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq.read_completion_wallclock_ns = [](ibv_cq_ex *c) {
			return std::uint64_t{current_stamp(c).real};
		};
	cq.start_poll = start_poll;
	cq.next_poll = next_poll;
	cq.end_poll = end_poll;
	cq.read_opcode = [](ibv_cq_ex *c) { return static_cast<ibv_wc_opcode>(current(c).opcode); };
	cq.read_vendor_err = [](ibv_cq_ex *c) { return std::uint32_t{current(c).vendor_err}; };
	cq.read_byte_len = [](ibv_cq_ex *c) { return std::uint32_t{current(c).byte_len}; };
	/* also serves ibv_wc_read_invalidated_rkey() */
	cq.read_imm_data = [](ibv_cq_ex *c) { return __be32{current(c).imm}; };
	cq.read_qp_num = [](ibv_cq_ex *c) { return std::uint32_t{current(c).qp_num}; };
	cq.read_wc_flags = [](ibv_cq_ex *c) { return soft_wc_flags(current(c)); };
	/* only for InfiniBand and datagrams */
	cq.read_src_qp = [](ibv_cq_ex *) { return std::uint32_t{0}; };
	cq.read_slid = [](ibv_cq_ex *) { return std::uint32_t{0}; };
	cq.read_sl = [](ibv_cq_ex *) { return std::uint8_t{0}; };
	cq.read_dlid_path_bits = [](ibv_cq_ex *) { return std::uint8_t{0}; };
}

/*
 * A queue whose device is gone returns an error once it is empty, because no completion will
 * come.
 */
int poll_cq(ibv_cq *base, int num_entries, ibv_wc *wc)
{
	Cq &cq = ours<Cq>(base);
	SoftCq::Idle idle;
	const int n = cq.queue.poll(
		num_entries,
		[wc](std::uint32_t i, const krdma_soft_cqe &cqe) { fill_wc(wc[i], cqe); }, idle);

	if (idle.empty && !ring_due(base->context) && idle.yield)
		sched_yield();
	return n;
}

int req_notify_cq(ibv_cq *base, int solicited_only)
{
	const int err = ours<Cq>(base).queue.arm(solicited_only);

	(void)ring_due(base->context);
	return err;
}

int resize_cq(ibv_cq *base, int cqe)
{
	const auto step = [base, cqe](krdma_soft_resize_step which, krdma_soft_cq_resp &granted) {
		return resize_step(base, cqe, which, granted);
	};

	return ours<Cq>(base).queue.resize(
		base->context->cmd_fd,
		[step](krdma_soft_cq_resp &granted) {
			return step(KRDMA_SOFT_RESIZE_PREPARE, granted);
		},
		[step] {
			krdma_soft_cq_resp nothing{};

			return step(KRDMA_SOFT_RESIZE_SWITCH, nothing);
		});
}

int modify_cq(ibv_cq *cq, ibv_modify_cq_attr *attr)
{
	ibv_modify_cq_cmd cmd{};

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

/* The QP was reset or is gone: its completions in the CQs have no meaning any more. */
void purge_cqs(const ibv_qp &qp) noexcept
{
	for (ibv_cq *base : {qp.send_cq, qp.recv_cq})
		ours<Cq>(base).queue.purge(qp.qp_num);
}

int destroy_cq(ibv_cq *base)
{
	if (int err = ibv_cmd_destroy_cq(base))
		return err;
	dispose(&ours<Cq>(base));
	return 0;
}

} /* namespace krdma */
