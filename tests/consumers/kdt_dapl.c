// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * kDAPL below the tests. This file and kdt_limits.c know no other RDMA interface than
 * krdma/kdat.h. A run has an IA and a protection zone. Each connection has an endpoint, an event
 * dispatcher for its data transfers and one for its events.
 */
#include <linux/bug.h>
#include <linux/slab.h>

#include <krdma/kdat.h>

#include "kdt.h"
#include "kdt_dapl.h"

static_assert(sizeof(struct kdt_seg) == sizeof(DAT_LMR_TRIPLET));
static_assert(offsetof(struct kdt_seg, addr) == offsetof(DAT_LMR_TRIPLET, virtual_address));
static_assert(offsetof(struct kdt_seg, len) == offsetof(DAT_LMR_TRIPLET, segment_length));
static_assert(offsetof(struct kdt_seg, key) == offsetof(DAT_LMR_TRIPLET, lmr_context));

#define KDT_DAPL_REQUESTS	1024	/* connection requests that may wait */
#define KDT_DAPL_TIMEOUT	(30 * USEC_PER_SEC)

struct kdt_dapl_link {
	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EP_HANDLE ep;
};

/* Errors **********************************************************************/

static const struct {
	u32 type;
	int error;
} kdt_dapl_errors[] = {
	{ DAT_CONN_QUAL_IN_USE, -EADDRINUSE },
	{ DAT_INSUFFICIENT_RESOURCES, -ENOBUFS },
	{ DAT_INVALID_ADDRESS, -EADDRNOTAVAIL },
	{ DAT_MODEL_NOT_SUPPORTED, -EOPNOTSUPP },
	{ DAT_NOT_IMPLEMENTED, -EOPNOTSUPP },
	{ DAT_PROVIDER_NOT_FOUND, -ENODEV },
	{ DAT_QUEUE_FULL, -EAGAIN },
};

const char *kdt_dapl_text(const char *call, u32 ret, char *text, size_t size)
{
	const char *major = "?", *minor = "?";

	if (dat_strerror(ret, &major, &minor) != DAT_SUCCESS)
		snprintf(text, size, "%s: %#x", call, ret);
	else if (DAT_GET_SUBTYPE(ret))
		snprintf(text, size, "%s: %s, %s", call, major, minor);
	else
		snprintf(text, size, "%s: %s", call, major);
	return text;
}

/* Return: @ret as an error number; the first one is the run's. */
static int kdt_dapl_error(struct kdt_run *run, const char *call, DAT_RETURN ret)
{
	char text[KDT_TEXT];
	unsigned int i;
	int error = -EIO;

	if (ret == DAT_SUCCESS)
		return 0;
	for (i = 0; i < ARRAY_SIZE(kdt_dapl_errors); i++)
		if (DAT_GET_TYPE(ret) == kdt_dapl_errors[i].type)
			error = kdt_dapl_errors[i].error;
	if (!READ_ONCE(run->stop))
		kdt_run_failed(run, error, kdt_dapl_text(call, ret, text, sizeof(text)), false);
	return error;
}

/* Nothing uses the object any more, so a refusal is a failure at any time. */
static void kdt_dapl_freed(struct kdt_run *run, const char *call, DAT_RETURN ret)
{
	char text[KDT_TEXT];

	if (ret != DAT_SUCCESS)
		kdt_run_failed(run, -EBUSY, kdt_dapl_text(call, ret, text, sizeof(text)), true);
}

/* The IA **********************************************************************/

static void kdt_dapl_async(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kdt_run *run = data;

	if (event->event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
		kdt_run_failed(run, -ENODEV, "the interface adapter is gone", true);
	else if (event->event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
		kdt_run_failed(run, -EOVERFLOW, "an event dispatcher overflowed", true);
}

static int kdt_dapl_attributes(struct kdt_run *run, struct kdt_dapl *dapl)
{
	DAT_PROVIDER_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_RETURN ret;

	if (!attr)
		return -ENOMEM;
	ret = dat_ia_query(dapl->ia, NULL, DAT_IA_FIELD_ALL, &dapl->attr, DAT_PROVIDER_FIELD_ALL,
			   attr);
	dapl->sink_writes = attr->rdma_write_for_rdma_read_req;
	kfree(attr);
	return kdt_dapl_error(run, "dat_ia_query", ret);
}

static int kdt_dapl_open(struct kdt_run *run)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = run, .upcall_func = kdt_dapl_async };
	struct kdt_dapl *dapl = kzalloc(sizeof(*dapl), GFP_KERNEL);
	DAT_RETURN ret;
	int error;

	if (!dapl)
		return -ENOMEM;
	run->priv = dapl;
	dapl->async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_open(run->args->ia, 16, &dapl->async_evd, &dapl->ia);
	if (ret != DAT_SUCCESS) {
		kfree(dapl);
		return kdt_dapl_error(run, "dat_ia_open", ret);
	}
	ret = dat_evd_modify_upcall(dapl->async_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    DAT_UPCALL_INVOC_ANY);
	error = kdt_dapl_error(run, "dat_evd_modify_upcall", ret);
	error = error ?: kdt_dapl_attributes(run, dapl);
	if (!error) {
		ret = dat_pz_create(dapl->ia, &dapl->pz);
		error = kdt_dapl_error(run, "dat_pz_create", ret);
	}
	if (error)
		run->calls->close(run);
	return error;
}

static void kdt_dapl_close(struct kdt_run *run)
{
	struct kdt_dapl *dapl = run->priv;
	DAT_RETURN ret;

	if (dapl->pz)
		kdt_dapl_freed(run, "dat_pz_free", dat_pz_free(dapl->pz));
	ret = dat_ia_close(dapl->ia, DAT_CLOSE_GRACEFUL_FLAG);
	kdt_dapl_freed(run, "dat_ia_close", ret);
	if (ret != DAT_SUCCESS)
		dat_ia_close(dapl->ia, DAT_CLOSE_ABRUPT_FLAG);
	kfree(dapl);
}

/* Connection requests **********************************************************/

static void kdt_dapl_refuse(void *request)
{
	dat_cr_reject(request, 0, NULL);
}

static void kdt_dapl_requested(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	struct kdt_run *run = data;
	struct kdt_spec spec;
	DAT_CR_PARAM param;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS ||
	    !kdt_hello_read(param.private_data, param.private_data_size, &spec) ||
	    kdt_serve(run, &spec, cr, NULL))
		kdt_dapl_refuse(cr);
}

static int kdt_dapl_listen(struct kdt_run *run)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = run, .upcall_func = kdt_dapl_requested };
	struct kdt_dapl *dapl = run->priv;
	DAT_RETURN ret;
	int error;

	ret = dat_evd_kcreate(dapl->ia, KDT_DAPL_REQUESTS, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_EVD_CR_FLAG, &dapl->cr_evd);
	if (ret != DAT_SUCCESS)
		return kdt_dapl_error(run, "dat_evd_kcreate", ret);
	ret = dat_psp_create(dapl->ia, run->args->port, dapl->cr_evd, DAT_PSP_CONSUMER_FLAG,
			     &dapl->psp);
	error = kdt_dapl_error(run, "dat_psp_create", ret);
	if (error)
		dat_evd_free(dapl->cr_evd);
	return error;
}

static void kdt_dapl_unlisten(struct kdt_run *run)
{
	struct kdt_dapl *dapl = run->priv;
	DAT_EVENT event;

	kdt_dapl_freed(run, "dat_psp_free", dat_psp_free(dapl->psp));
	dat_evd_modify_upcall(dapl->cr_evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	while (dat_evd_dequeue(dapl->cr_evd, &event) == DAT_SUCCESS)
		kdt_dapl_refuse(event.event_data.cr_arrival_event_data.cr_handle);
	kdt_dapl_freed(run, "dat_evd_free", dat_evd_free(dapl->cr_evd));
}

/* Connections ******************************************************************/

static const char *kdt_dapl_status(DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const names[] = {
		[DAT_DTO_SUCCESS] = "DAT_DTO_SUCCESS",
		[DAT_DTO_ERR_FLUSHED] = "DAT_DTO_ERR_FLUSHED",
		[DAT_DTO_ERR_LOCAL_LENGTH] = "DAT_DTO_ERR_LOCAL_LENGTH",
		[DAT_DTO_ERR_LOCAL_EP] = "DAT_DTO_ERR_LOCAL_EP",
		[DAT_DTO_ERR_LOCAL_PROTECTION] = "DAT_DTO_ERR_LOCAL_PROTECTION",
		[DAT_DTO_ERR_BAD_RESPONSE] = "DAT_DTO_ERR_BAD_RESPONSE",
		[DAT_DTO_ERR_REMOTE_ACCESS] = "DAT_DTO_ERR_REMOTE_ACCESS",
		[DAT_DTO_ERR_REMOTE_RESPONDER] = "DAT_DTO_ERR_REMOTE_RESPONDER",
		[DAT_DTO_ERR_TRANSPORT] = "DAT_DTO_ERR_TRANSPORT",
		[DAT_DTO_ERR_RECEIVER_NOT_READY] = "DAT_DTO_ERR_RECEIVER_NOT_READY",
		[DAT_DTO_ERR_PARTIAL_PACKET] = "DAT_DTO_ERR_PARTIAL_PACKET",
		[DAT_RMR_OPERATION_FAILED] = "DAT_RMR_OPERATION_FAILED",
		[DAT_DTO_ERR_LOCAL_MM_ERROR] = "DAT_DTO_ERR_LOCAL_MM_ERROR",
	};

	return (unsigned int)status < ARRAY_SIZE(names) ? names[status] : "DTO status ?";
}

static void kdt_dapl_dto(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	/* the connection's event reports the end that flushes */
	if (unlikely(dto->status == DAT_DTO_ERR_FLUSHED))
		return;
	kdt_link_done(data, dto->user_cookie.as_64, dto->status != DAT_DTO_SUCCESS,
		      dto->transfered_length, kdt_dapl_status(dto->status));
}

static void kdt_dapl_connection(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kdt_link *link = data;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		kdt_link_established(link);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		kdt_link_closed(link);
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		kdt_link_failed(link, -ECONNREFUSED, "connection refused");
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		kdt_link_failed(link, -EHOSTUNREACH, "the server is unreachable");
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		kdt_link_failed(link, -ETIMEDOUT, "the connection attempt timed out");
		break;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		kdt_link_failed(link, -ECONNABORTED, "the acceptance failed");
		break;
	default:
		kdt_link_failed(link, -EPROTO, "an unknown connection event");
		break;
	}
}

static int kdt_dapl_ep(struct kdt_link *link, struct kdt_dapl_link *dl)
{
	struct kdt_dapl *dapl = link->run->priv;
	DAT_COUNT reads = min3(KDT_READS, dapl->attr.max_rdma_read_per_ep_in,
			       dapl->attr.max_rdma_read_per_ep_out);
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = KDT_BYTES,
		.max_rdma_size = KDT_BYTES,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = link->recvs,
		.max_request_dtos = link->requests,
		.max_recv_iov = link->spec.segments,
		.max_request_iov = link->spec.segments,
		.max_rdma_read_in = reads,
		.max_rdma_read_out = reads,
		.max_rdma_read_iov = min_t(DAT_COUNT, link->spec.segments,
					   dapl->attr.max_iov_segments_per_rdma_read),
		.max_rdma_write_iov = link->spec.segments,
	};
	DAT_RETURN ret;

	ret = dat_ep_create(dapl->ia, dapl->pz, dl->dto_evd, dl->dto_evd, dl->conn_evd, &attr,
			    &dl->ep);
	return kdt_dapl_error(link->run, "dat_ep_create", ret);
}

static int kdt_dapl_prepare(struct kdt_link *link)
{
	DAT_UPCALL_OBJECT dto = { .instance_data = link, .upcall_func = kdt_dapl_dto };
	DAT_UPCALL_OBJECT conn = { .instance_data = link, .upcall_func = kdt_dapl_connection };
	struct kdt_dapl *dapl = link->run->priv;
	struct kdt_dapl_link *dl;
	DAT_RETURN ret;

	dl = kzalloc(sizeof(*dl), GFP_KERNEL);
	if (!dl)
		return -ENOMEM;
	link->priv = dl;
	ret = dat_evd_kcreate(dapl->ia, link->recvs + link->requests, DAT_UPCALL_SINGLE_INSTANCE,
			      &dto, DAT_EVD_DTO_FLAG, &dl->dto_evd);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_kcreate(dapl->ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &conn,
				      DAT_EVD_CONNECTION_FLAG, &dl->conn_evd);
	if (ret != DAT_SUCCESS)
		return kdt_dapl_error(link->run, "dat_evd_kcreate", ret);
	return kdt_dapl_ep(link, dl);
}

static int kdt_dapl_join(struct kdt_link *link, const struct kdt_hello *hello)
{
	struct sockaddr *address = (struct sockaddr *)link->run->args->address;
	struct kdt_dapl_link *dl = link->priv;
	DAT_RETURN ret;
	int error;

	if (link->server) {
		ret = dat_cr_accept(link->request, dl->ep, 0, NULL);
		if (ret == DAT_SUCCESS)
			link->request = NULL;
		error = kdt_dapl_error(link->run, "dat_cr_accept", ret);
	} else {
		ret = dat_ep_connect(dl->ep, address, link->run->args->port, KDT_DAPL_TIMEOUT,
				     sizeof(*hello), hello, DAT_QOS_BEST_EFFORT,
				     DAT_CONNECT_DEFAULT_FLAG);
		error = kdt_dapl_error(link->run, "dat_ep_connect", ret);
	}
	return error ?: kdt_link_wait(link, READ_ONCE(link->established));
}

static void kdt_dapl_leave(struct kdt_link *link)
{
	struct kdt_dapl_link *dl = link->priv;

	if (!dl || !dl->ep)
		return;
	if (link->established && !READ_ONCE(link->closed)) {
		dat_ep_disconnect(dl->ep, READ_ONCE(link->run->stop) || link->error ?
				  DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
		if (!wait_event_idle_timeout(link->wait, READ_ONCE(link->closed), KDT_END))
			kdt_run_failed(link->run, -ETIMEDOUT, "a connection does not end", false);
	}
	kdt_dapl_freed(link->run, "dat_ep_free", dat_ep_free(dl->ep));
	dl->ep = NULL;
}

static void kdt_dapl_destroy(struct kdt_link *link)
{
	struct kdt_dapl_link *dl = link->priv;

	if (link->request)
		kdt_dapl_refuse(link->request);
	if (!dl)
		return;
	if (dl->conn_evd)
		kdt_dapl_freed(link->run, "dat_evd_free", dat_evd_free(dl->conn_evd));
	if (dl->dto_evd)
		kdt_dapl_freed(link->run, "dat_evd_free", dat_evd_free(dl->dto_evd));
	kfree(dl);
}

/* Memory and transfers **********************************************************/

static int kdt_dapl_mem_open(struct kdt_link *link, struct kdt_mem *mem, u32 rights)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_REGION_DESCRIPTION region = { .for_va = mem->va };
	struct kdt_dapl *dapl = link->run->priv;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_VADDR address;
	DAT_VLEN length;
	DAT_RETURN ret;

	if (rights & KDT_MEM_READ)
		priv |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
	if (rights & KDT_MEM_WRITE || (rights & KDT_MEM_SINK && dapl->sink_writes))
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	ret = dat_lmr_kcreate(dapl->ia, DAT_MEM_TYPE_VIRTUAL, region, mem->size, dapl->pz, priv,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &mem->priv, &lkey, &rkey,
			      &length, &address);
	if (ret != DAT_SUCCESS)
		return kdt_dapl_error(link->run, "dat_lmr_kcreate", ret);
	/* @address may be below the memory's */
	mem->addr = (uintptr_t)mem->va;
	mem->lkey = lkey;
	mem->rkey = rkey;
	return 0;
}

static void kdt_dapl_mem_sync(struct kdt_link *link, const struct kdt_seg *seg, bool back)
{
	struct kdt_dapl *dapl = link->run->priv;
	const DAT_LMR_TRIPLET part = {
		.virtual_address = seg->addr,
		.segment_length = seg->len,
		.lmr_context = seg->key,
	};

	if (back)
		dat_lmr_sync_rdma_write(dapl->ia, &part, 1);
	else
		dat_lmr_sync_rdma_read(dapl->ia, &part, 1);
}

static void kdt_dapl_mem_close(struct kdt_link *link, struct kdt_mem *mem)
{
	kdt_dapl_freed(link->run, "dat_lmr_free", dat_lmr_free(mem->priv));
}

static int kdt_dapl_posted(struct kdt_link *link, const char *call, DAT_RETURN ret)
{
	if (likely(ret == DAT_SUCCESS))
		return 0;
	/* the peer may end a connection at any time */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE || READ_ONCE(link->closed))
		return -ECONNRESET;
	return kdt_dapl_error(link->run, call, ret);
}

static DAT_DTO_COOKIE kdt_dapl_cookie(u32 cookie)
{
	DAT_DTO_COOKIE as_dat = { .as_64 = cookie };

	return as_dat;
}

static int kdt_dapl_recv(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie)
{
	struct kdt_dapl_link *dl = link->priv;
	DAT_RETURN ret;

	ret = dat_ep_post_recv(dl->ep, num, (DAT_LMR_TRIPLET *)segs,
			       kdt_dapl_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
	return kdt_dapl_posted(link, "dat_ep_post_recv", ret);
}

static int kdt_dapl_send(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie)
{
	struct kdt_dapl_link *dl = link->priv;
	DAT_RETURN ret;

	ret = dat_ep_post_send(dl->ep, num, (DAT_LMR_TRIPLET *)segs,
			       kdt_dapl_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
	return kdt_dapl_posted(link, "dat_ep_post_send", ret);
}

static DAT_RMR_TRIPLET kdt_dapl_remote(const struct kdt_seg *segs, u32 num,
				       const struct kdt_seg *remote)
{
	DAT_RMR_TRIPLET triplet = {
		.virtual_address = remote->addr,
		.rmr_context = remote->key,
	};

	while (num)
		triplet.segment_length += segs[--num].len;
	return triplet;
}

static int kdt_dapl_write(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie,
			  const struct kdt_seg *remote)
{
	DAT_RMR_TRIPLET to = kdt_dapl_remote(segs, num, remote);
	struct kdt_dapl_link *dl = link->priv;
	DAT_RETURN ret;

	ret = dat_ep_post_rdma_write(dl->ep, num, (DAT_LMR_TRIPLET *)segs,
				     kdt_dapl_cookie(cookie), &to,
				     DAT_COMPLETION_DEFAULT_FLAG);
	return kdt_dapl_posted(link, "dat_ep_post_rdma_write", ret);
}

static int kdt_dapl_read(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie,
			 const struct kdt_seg *remote)
{
	DAT_RMR_TRIPLET from = kdt_dapl_remote(segs, num, remote);
	struct kdt_dapl_link *dl = link->priv;
	DAT_RETURN ret;

	ret = dat_ep_post_rdma_read(dl->ep, num, (DAT_LMR_TRIPLET *)segs,
				    kdt_dapl_cookie(cookie), &from,
				    DAT_COMPLETION_DEFAULT_FLAG);
	return kdt_dapl_posted(link, "dat_ep_post_rdma_read", ret);
}

const struct kdt_calls kdt_dapl_calls = {
	.open = kdt_dapl_open,
	.close = kdt_dapl_close,
	.listen = kdt_dapl_listen,
	.unlisten = kdt_dapl_unlisten,
	.prepare = kdt_dapl_prepare,
	.join = kdt_dapl_join,
	.leave = kdt_dapl_leave,
	.destroy = kdt_dapl_destroy,
	.mem_open = kdt_dapl_mem_open,
	.mem_close = kdt_dapl_mem_close,
	.mem_sync = kdt_dapl_mem_sync,
	.recv = kdt_dapl_recv,
	.send = kdt_dapl_send,
	.write = kdt_dapl_write,
	.read = kdt_dapl_read,
};
