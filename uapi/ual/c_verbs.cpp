/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The C interface: contexts, protection domains, memory, queues, work requests. */
#include <algorithm>
#include <bit>

#include "c_api.hpp"

using namespace krdma::capi;

static_assert(std::is_trivially_copyable_v<krdma::Completion>);

namespace {

krdma::Slices slices_of(const krdma_sge *slices, std::uint32_t count) noexcept
{
	return {reinterpret_cast<const krdma::Slice *>(slices), count};
}

const krdma::Slice &slice_of(const krdma_sge *slice) noexcept
{
	return *reinterpret_cast<const krdma::Slice *>(slice);
}

krdma::Remote remote_of(const ual_remote &remote) noexcept
{
	return {remote.address, remote.stag};
}

krdma::SendOptions send_options(std::uint32_t flags)
{
	if (flags & ~(KRDMA_SEND_SIGNALED | KRDMA_SEND_SOLICITED | KRDMA_SEND_FENCE |
		      KRDMA_SEND_INLINE)) [[unlikely]]
		krdma::detail::throw_errno(EINVAL, "flags");
	return {.signaled = (flags & KRDMA_SEND_SIGNALED) != 0,
		.solicited = (flags & KRDMA_SEND_SOLICITED) != 0,
		.fence = (flags & KRDMA_SEND_FENCE) != 0,
		.inline_data = (flags & KRDMA_SEND_INLINE) != 0};
}

std::span<std::byte> memory_of(void *memory, std::size_t length) noexcept
{
	return {static_cast<std::byte *>(memory), length};
}

} /* namespace */

/* Contexts, protection domains ********************************************* */

int ual_context_create(ual_session *session, uint32_t index, uint32_t flags, ual_context **context)
{
	return guarded([&] {
		if (flags & ~KRDMA_SLOW)
			krdma::detail::throw_errno(EINVAL, "flags");
		for (const krdma::Device &device : session->object.devices()) {
			if (device.index() != index)
				continue;
			*context = std::make_unique<ual_context>(
					   device,
					   krdma::ContextOptions{.slow = (flags & KRDMA_SLOW) != 0})
					   .release();
			return;
		}
		krdma::detail::throw_errno(ENODEV, "RNIC");
	});
}

void ual_context_destroy(ual_context *context)
{
	destroy(context);
}

int ual_context_fast(const ual_context *context)
{
	return context->object.fast();
}

const char *ual_context_why_slow(const ual_context *context)
{
	return context->object.why_slow().c_str();
}

uint32_t ual_context_handle(const ual_context *context)
{
	return context->object.handle();
}

int ual_pd_create(ual_context *context, ual_pd **pd)
{
	return make(pd, context->object);
}

void ual_pd_destroy(ual_pd *pd)
{
	destroy(pd);
}

uint32_t ual_pd_handle(const ual_pd *pd)
{
	return pd->object.handle();
}

uint32_t ual_pd_id(const ual_pd *pd)
{
	return pd->object.id();
}

/* Memory ******************************************************************* */

int ual_mr_create(ual_pd *pd, void *memory, size_t length, uint32_t access, ual_mr **mr)
{
	return make(mr, pd->object, memory_of(memory, length), access);
}

int ual_mr_create_at(ual_pd *pd, void *memory, size_t length, uint64_t iova, uint32_t access,
		     ual_mr **mr)
{
	return make(mr, pd->object, memory_of(memory, length), iova, access);
}

int ual_mr_create_dmabuf(ual_pd *pd, int fd, uint64_t offset, uint64_t length, uint64_t iova,
			 uint32_t access, ual_mr **mr)
{
	return make(mr, pd->object, fd, offset, length, iova, access);
}

void ual_mr_destroy(ual_mr *mr)
{
	destroy(mr);
}

uint32_t ual_mr_stag(const ual_mr *mr)
{
	return mr->object.stag();
}

uint64_t ual_mr_address(const ual_mr *mr)
{
	return mr->object.address();
}

uint64_t ual_mr_length(const ual_mr *mr)
{
	return mr->object.length();
}

uint32_t ual_mr_handle(const ual_mr *mr)
{
	return mr->object.handle();
}

int ual_mr_slice(const ual_mr *mr, uint64_t offset, uint32_t length, krdma_sge *slice)
{
	return guarded([&] {
		const krdma::Slice part = mr->object.slice(offset, length);

		*slice = {part.address, part.length, part.key};
	});
}

int ual_mr_set_access(ual_mr *mr, uint32_t access)
{
	return guarded([&] { mr->object.change_access(access); });
}

int ual_mr_set_memory(ual_mr *mr, void *memory, size_t length)
{
	return guarded([&] { mr->object.change_memory(memory_of(memory, length)); });
}

int ual_mr_set_memory_at(ual_mr *mr, void *memory, size_t length, uint64_t iova)
{
	return guarded([&] { mr->object.change_memory(memory_of(memory, length), iova); });
}

int ual_mr_set_pd(ual_mr *mr, ual_pd *pd)
{
	return guarded([&] { mr->object.change_domain(pd->object); });
}

int ual_mw_create(ual_pd *pd, uint32_t type, ual_mw **mw)
{
	return make(mw, pd->object, type);
}

void ual_mw_destroy(ual_mw *mw)
{
	destroy(mw);
}

uint32_t ual_mw_stag(const ual_mw *mw)
{
	return mw->object.stag();
}

uint32_t ual_mw_next_stag(const ual_mw *mw)
{
	return mw->object.next_stag();
}

uint32_t ual_mw_handle(const ual_mw *mw)
{
	return mw->object.handle();
}

/* Completion queues ******************************************************** */

int ual_cq_create(ual_context *context, const ual_cq_options *given, ual_cq **cq)
{
	return guarded([&] {
		const ual_cq_options wanted =
			options(given, UAL_CQ_OPTIONS, offsetof(ual_cq_options, times));
		if (wanted.times > 1 || wanted.reserved)
			krdma::detail::throw_errno(EINVAL, "options of a completion queue");
		const krdma::CompletionQueueOptions how{.depth = wanted.depth,
							.event_handler = wanted.event_handler,
							.times = wanted.times != 0};

		*cq = std::make_unique<ual_cq>(context->object, how).release();
	});
}

void ual_cq_destroy(ual_cq *cq)
{
	destroy(cq);
}

int ual_cq_poll(ual_cq *cq, krdma_wc *entries, int room)
{
	if (room < 0)
		return -EINVAL;
	return guarded([&] {
		return cq->object
			.poll({reinterpret_cast<krdma::Completion *>(entries),
			       static_cast<std::size_t>(room)})
			.size();
	});
}

int ual_cq_poll_times(ual_cq *cq, krdma_wc *entries, krdma_wc_time *times, int room)
{
	if (room < 0)
		return -EINVAL;
	return guarded([&] {
		const auto size = static_cast<std::size_t>(room);

		return cq->object
			.poll({reinterpret_cast<krdma::Completion *>(entries), size}, {times, size})
			.size();
	});
}

int ual_cq_arm(ual_cq *cq, int solicited_only)
{
	return guarded([&] { return cq->object.arm(solicited_only != 0); });
}

int ual_cq_wait(ual_cq *cq, krdma_wc *entry, int timeout_ms)
{
	return guarded([&] {
		const std::optional<krdma::Completion> done =
			cq->object.wait(milliseconds(timeout_ms));

		if (done)
			*entry = done->raw();
		return done.has_value();
	});
}

uint32_t ual_cq_depth(const ual_cq *cq)
{
	return cq->object.depth();
}

int ual_cq_resize(ual_cq *cq, uint32_t depth)
{
	return guarded([&] { cq->object.resize(depth); });
}

int ual_cq_moderate(ual_cq *cq, uint16_t count, uint16_t period_us)
{
	return guarded([&] { cq->object.moderate(count, period_us); });
}

uint32_t ual_cq_handle(const ual_cq *cq)
{
	return cq->object.handle();
}

const char *ual_status_text(uint32_t status)
{
	krdma_wc raw{};

	raw.status = status;
	/* The text is a string literal. */
	return std::bit_cast<krdma::Completion>(raw).status_text().data();
}

size_t ual_terminate_text(uint32_t vendor_err, char *text, size_t room)
{
	size_t length = put_text("", text, room);

	(void)guarded([&] { length = put_text(krdma::terminate_text(vendor_err), text, room); });
	return length;
}

int ual_cq_callback(ual_cq *cq, ual_completion_fn fn, void *arg)
{
	return guarded([&] {
		cq->events.called = fn != nullptr;
		if (!fn) {
			cq->object.on_completion({});
			return;
		}
		cq->object.on_completion(
			[fn, arg](std::span<const krdma::Completion> some) {
				fn(arg, reinterpret_cast<const krdma_wc *>(some.data()),
				   static_cast<uint32_t>(some.size()), 0);
			},
			[fn, arg](int err) { fn(arg, nullptr, 0, -err); });
	});
}

namespace {

/* Return: 1 if the value exists, else 0. */
int put_value(const std::optional<std::uint32_t> &from, uint32_t *to) noexcept
{
	if (from && to)
		*to = *from;
	return from.has_value();
}

} /* namespace */

int ual_wc_immediate(const krdma_wc *entry, uint32_t *immediate)
{
	return put_value(std::bit_cast<krdma::Completion>(*entry).immediate(), immediate);
}

int ual_wc_invalidated(const krdma_wc *entry, uint32_t *stag)
{
	return put_value(std::bit_cast<krdma::Completion>(*entry).invalidated(), stag);
}

/* Shared receive queues **************************************************** */

int ual_srq_create(ual_pd *pd, const ual_srq_options *given, ual_srq **srq)
{
	return guarded([&] {
		const ual_srq_options wanted = options(given, UAL_SRQ_OPTIONS);
		const krdma::ReceiveQueueOptions how{
			.max_wr = wanted.max_wr, .max_sge = wanted.max_sge, .limit = wanted.limit};

		*srq = std::make_unique<ual_srq>(pd->object, how).release();
	});
}

void ual_srq_destroy(ual_srq *srq)
{
	destroy(srq);
}

int ual_srq_post(ual_srq *srq, uint64_t id, const krdma_sge *slices, uint32_t count)
{
	return guarded([&] { srq->object.post(id, slices_of(slices, count)); });
}

uint32_t ual_post_srq(ual_srq *srq, const krdma_wr *requests, uint32_t count, int *error)
{
	std::error_code code;
	const std::size_t posted = srq->object.post({requests, count}, code);

	*error = -code.value();
	return static_cast<uint32_t>(posted);
}

int ual_srq_resize(ual_srq *srq, uint32_t max_wr)
{
	return guarded([&] { srq->object.resize(max_wr); });
}

int ual_srq_set_limit(ual_srq *srq, uint32_t limit)
{
	return guarded([&] { srq->object.set_limit(limit); });
}

int ual_srq_query(ual_srq *srq, krdma_srq_attr *attr)
{
	return guarded([&] { *attr = srq->object.query(); });
}

uint32_t ual_srq_handle(const ual_srq *srq)
{
	return srq->object.handle();
}

/* Queue pairs ************************************************************** */

int ual_qp_create(ual_pd *pd, ual_cq *send, ual_cq *receive, const ual_qp_options *given,
		  ual_qp **qp)
{
	return guarded([&] {
		const ual_qp_options wanted = options(given, UAL_QP_OPTIONS);

		if (wanted.flags & ~KRDMA_QP_SIGNAL_ALL)
			krdma::detail::throw_errno(EINVAL, "flags");
		const krdma::QueuePairOptions how{
			.max_send_wr = wanted.max_send_wr,
			.max_recv_wr = wanted.max_recv_wr,
			.max_send_sge = wanted.max_send_sge,
			.max_recv_sge = wanted.max_recv_sge,
			.max_inline = wanted.max_inline,
			.signal_all = (wanted.flags & KRDMA_QP_SIGNAL_ALL) != 0,
			.receives = wanted.srq ? &wanted.srq->object : nullptr};
		*qp = std::make_unique<ual_qp>(pd->object, send->object, receive->object, how)
			      .release();
	});
}

void ual_qp_destroy(ual_qp *qp)
{
	destroy(qp);
}

uint32_t ual_qp_number(const ual_qp *qp)
{
	return qp->object.number();
}

uint32_t ual_qp_handle(const ual_qp *qp)
{
	return qp->object.handle();
}

int ual_qp_query(ual_qp *qp, krdma_qp_attr *attr)
{
	return guarded([&] { *attr = qp->object.query(); });
}

int ual_qp_set_state(ual_qp *qp, uint32_t state)
{
	return guarded([&] { qp->object.change_state(static_cast<krdma::QueueState>(state)); });
}

int ual_qp_drain(ual_qp *qp, int event)
{
	return guarded([&] { qp->object.drain(event); });
}

int ual_qp_resume(ual_qp *qp)
{
	return guarded([&] { qp->object.resume(); });
}

int ual_qp_set_access(ual_qp *qp, uint32_t access)
{
	return guarded([&] { qp->object.change_access(access); });
}

int ual_disconnect(ual_qp *qp, int abrupt)
{
	return guarded([&] { qp->object.disconnect(abrupt != 0); });
}

/* Work requests ************************************************************ */

int ual_receive(ual_qp *qp, uint64_t id, const krdma_sge *slices, uint32_t count)
{
	return guarded([&] { qp->object.receive(id, slices_of(slices, count)); });
}

int ual_send(ual_qp *qp, uint64_t id, const krdma_sge *slices, uint32_t count, uint32_t flags)
{
	return guarded([&] { qp->object.send(id, slices_of(slices, count), send_options(flags)); });
}

int ual_send_immediate(ual_qp *qp, uint64_t id, const krdma_sge *slices, uint32_t count,
		       uint32_t immediate, uint32_t flags)
{
	return guarded([&] {
		qp->object.send_immediate(id, slices_of(slices, count), immediate,
					  send_options(flags));
	});
}

int ual_send_invalidate(ual_qp *qp, uint64_t id, const krdma_sge *slices, uint32_t count,
			uint32_t stag, uint32_t flags)
{
	return guarded([&] {
		qp->object.send_invalidate(id, slices_of(slices, count), stag, send_options(flags));
	});
}

int ual_write(ual_qp *qp, uint64_t id, const krdma_sge *slices, uint32_t count, ual_remote to,
	      uint32_t flags)
{
	return guarded([&] {
		qp->object.write(id, slices_of(slices, count), remote_of(to), send_options(flags));
	});
}

int ual_write_immediate(ual_qp *qp, uint64_t id, const krdma_sge *slices, uint32_t count,
			ual_remote to, uint32_t immediate, uint32_t flags)
{
	return guarded([&] {
		qp->object.write_immediate(id, slices_of(slices, count), remote_of(to), immediate,
					   send_options(flags));
	});
}

int ual_read(ual_qp *qp, uint64_t id, const krdma_sge *slices, uint32_t count, ual_remote from,
	     uint32_t flags)
{
	return guarded([&] {
		qp->object.read(id, slices_of(slices, count), remote_of(from), send_options(flags));
	});
}

int ual_fetch_add(ual_qp *qp, uint64_t id, const krdma_sge *slice, ual_remote at, uint64_t add,
		  uint32_t flags)
{
	return guarded([&] {
		qp->object.fetch_add(id, slice_of(slice), remote_of(at), add, send_options(flags));
	});
}

int ual_compare_swap(ual_qp *qp, uint64_t id, const krdma_sge *slice, ual_remote at,
		     uint64_t compare, uint64_t swap, uint32_t flags)
{
	return guarded([&] {
		qp->object.compare_swap(id, slice_of(slice), remote_of(at), compare, swap,
					send_options(flags));
	});
}

int ual_invalidate(ual_qp *qp, uint64_t id, uint32_t stag, uint32_t flags)
{
	return guarded([&] { qp->object.invalidate(id, stag, send_options(flags)); });
}

int ual_bind(ual_qp *qp, uint64_t id, ual_mw *mw, ual_mr *mr, const krdma_sge *part,
	     uint32_t access, uint32_t flags)
{
	return guarded([&] {
		qp->object.bind(id, mw->object, mr->object, slice_of(part), access,
				send_options(flags));
	});
}

uint32_t ual_post_send(ual_qp *qp, const krdma_wr *requests, uint32_t count, int *error)
{
	std::error_code code;
	const std::size_t posted = qp->object.post_send({requests, count}, code);

	*error = -code.value();
	return static_cast<uint32_t>(posted);
}

uint32_t ual_post_receive(ual_qp *qp, const krdma_wr *requests, uint32_t count, int *error)
{
	std::error_code code;
	const std::size_t posted = qp->object.post_receive({requests, count}, code);

	*error = -code.value();
	return static_cast<uint32_t>(posted);
}
