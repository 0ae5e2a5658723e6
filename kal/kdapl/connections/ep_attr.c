// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Attributes of endpoints: limits, defaults, what is wanted and what is granted. */
#include <linux/moduleparam.h>

#include "ep.h"

/* defaults of attributes, as far as the RNIC has so many */
#define KDAT_EP_IOV	4
#define KDAT_EP_READS	16

static unsigned int kdat_ep_dtos = 256;
module_param_named(kdapl_dtos, kdat_ep_dtos, uint, 0644);
MODULE_PARM_DESC(kdapl_dtos,
		 "requests, and receives, of a kDAPL endpoint whose consumer gives no attributes (default 256)");

#define KDAT_EP_RECV_FLAGS	(DAT_COMPLETION_SOLICITED_WAIT_FLAG |	\
				 DAT_COMPLETION_UNSIGNALLED_FLAG)
#define KDAT_EP_REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG |		\
				 DAT_COMPLETION_SOLICITED_WAIT_FLAG |	\
				 DAT_COMPLETION_UNSIGNALLED_FLAG |	\
				 DAT_COMPLETION_BARRIER_FENCE_FLAG |	\
				 DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

struct kdat_ep_limits kdat_ep_limits(const struct ri_rnic *rnic)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;

	return (struct kdat_ep_limits){
		.dtos = max(limits->max_qp_wr - KDAT_EP_OWN_REQUESTS, 1),
		.recv_iov = clamp(limits->max_recv_sge, 1, KDAT_MAX_IOV),
		.request_iov = clamp(limits->max_send_sge, 1, KDAT_MAX_IOV),
		/* RFC 5040: an RDMA Read has one sink */
		.read_iov = rnic->attr.transport == RI_TRANSPORT_IWARP ? 1 :
			clamp(limits->max_sge_rd, 1, KDAT_MAX_IOV),
		.reads_in = clamp(limits->max_qp_rd_atom, 0, U8_MAX),
		.reads_out = clamp(limits->max_qp_init_rd_atom, 0, U8_MAX),
	};
}

void kdat_ep_default_attr(const struct ri_rnic *rnic, DAT_EP_ATTR *attr)
{
	const struct kdat_ep_limits limits = kdat_ep_limits(rnic);
	const u32 dtos = clamp(READ_ONCE(kdat_ep_dtos), 1u, (u32)limits.dtos);

	*attr = (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = KDAT_MAX_MESSAGE,
		.max_rdma_size = KDAT_MAX_MESSAGE,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = dtos,
		.max_request_dtos = dtos,
		.max_recv_iov = min(KDAT_EP_IOV, limits.recv_iov),
		.max_request_iov = min(KDAT_EP_IOV, limits.request_iov),
		.max_rdma_read_in = min(KDAT_EP_READS, limits.reads_in),
		.max_rdma_read_out = min(KDAT_EP_READS, limits.reads_out),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = limits.read_iov,
		.max_rdma_write_iov = min(KDAT_EP_IOV, limits.request_iov),
	};
}

static bool kdat_ep_in(DAT_COUNT value, DAT_COUNT limit)
{
	return value >= 0 && value <= limit;
}

static bool kdat_ep_attr_fits(const struct kdat_ep_limits *limits, const DAT_EP_ATTR *attr,
			      bool srq)
{
	if (attr->service_type != DAT_SERVICE_TYPE_RC ||
	    attr->max_message_size > KDAT_MAX_MESSAGE || attr->max_rdma_size > KDAT_MAX_MESSAGE ||
	    attr->recv_completion_flags & ~KDAT_EP_RECV_FLAGS ||
	    attr->request_completion_flags & ~KDAT_EP_REQUEST_FLAGS)
		return false;
	/* named attributes: there are none */
	if (attr->ep_transport_specific_count || attr->ep_provider_specific_count)
		return false;
	if (!srq && !(kdat_ep_in(attr->max_recv_dtos, limits->dtos) &&
		      kdat_ep_in(attr->max_recv_iov, limits->recv_iov)))
		return false;
	return kdat_ep_in(attr->max_request_dtos, limits->dtos) &&
	       kdat_ep_in(attr->max_request_iov, limits->request_iov) &&
	       kdat_ep_in(attr->max_rdma_write_iov, limits->request_iov) &&
	       kdat_ep_in(attr->max_rdma_read_iov, limits->read_iov) &&
	       kdat_ep_in(attr->max_rdma_read_in, limits->reads_in) &&
	       kdat_ep_in(attr->max_rdma_read_out, limits->reads_out);
}

/*
 * Check the wanted attributes, and turn them into the granted ones, which are not less. @bad: the
 * answer for a wrong attribute.
 */
static DAT_RETURN kdat_ep_grant(const struct ri_rnic *rnic, DAT_EP_ATTR *attr,
				const struct kdat_srq *srq, DAT_RETURN bad)
{
	const struct kdat_ep_limits limits = kdat_ep_limits(rnic);

	if (!kdat_ep_attr_fits(&limits, attr, srq))
		return bad;
	if (!kdat_cm_qos_valid(attr->qos))
		return bad;
	/* no RNIC reports how many buffers an endpoint holds; a cleared structure has 0 */
	if (srq && attr->srq_soft_hw && attr->srq_soft_hw != DAT_HW_DEFAULT)
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	attr->srq_soft_hw = DAT_HW_DEFAULT;
	if (srq) {
		attr->max_recv_dtos = srq->attr.max_recv_dtos;
		attr->max_recv_iov = srq->attr.max_recv_iov;
	}
	attr->max_recv_dtos = max(attr->max_recv_dtos, 1);
	attr->max_request_dtos = max(attr->max_request_dtos, 1);
	attr->max_recv_iov = max(attr->max_recv_iov, 1);
	attr->max_request_iov = max(attr->max_request_iov, 1);
	/* consumers of DAT 1 leave these two 0 */
	attr->max_rdma_read_iov = max(attr->max_rdma_read_iov, 1);
	attr->max_rdma_write_iov = max(attr->max_rdma_write_iov, attr->max_request_iov);
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific = NULL;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_ep_check_evd(const struct kdat_ia *ia, const struct kdat_evd *evd,
				    DAT_EVD_FLAGS flag, DAT_RETURN bad)
{
	if (evd && (evd->obj.ia != ia || !(evd->flags & flag)))
		return bad;
	return DAT_SUCCESS;
}

DAT_RETURN kdat_ep_check(struct kdat_ia *ia, struct kdat_ep_setup *setup, DAT_RETURN bad_attr)
{
	const struct kdat_srq *srq = setup->srq;
	DAT_RETURN ret;

	if (setup->pz && setup->pz->obj.ia != ia)
		return KDAT_BAD_HANDLE(PZ);
	ret = kdat_ep_check_evd(ia, setup->recv_evd, DAT_EVD_DTO_FLAG, KDAT_BAD_HANDLE(EVD_RECV));
	if (ret == DAT_SUCCESS)
		ret = kdat_ep_check_evd(ia, setup->request_evd, DAT_EVD_DTO_FLAG,
					KDAT_BAD_HANDLE(EVD_REQUEST));
	if (ret == DAT_SUCCESS)
		ret = kdat_ep_check_evd(ia, setup->connect_evd, DAT_EVD_CONNECTION_FLAG,
					KDAT_BAD_HANDLE(EVD_CONN));
	if (ret != DAT_SUCCESS)
		return ret;
	/* the provider's attribute srq_ep_pz_difference_supported is false */
	if (srq && (srq->obj.ia != ia || (setup->pz && srq->pz != setup->pz)))
		return KDAT_BAD_HANDLE(SRQ);
	return kdat_ep_grant(ia->kr->rnic, &setup->attr, srq, bad_attr);
}

void kdat_ep_modify_attr(DAT_EP_ATTR *attr, DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *to)
{
	if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE)
		attr->service_type = to->service_type;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)
		attr->max_message_size = to->max_message_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE)
		attr->max_rdma_size = to->max_rdma_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_QOS)
		attr->qos = to->qos;
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)
		attr->recv_completion_flags = to->recv_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
		attr->request_completion_flags = to->request_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)
		attr->max_recv_dtos = to->max_recv_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
		attr->max_request_dtos = to->max_request_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV)
		attr->max_recv_iov = to->max_recv_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV)
		attr->max_request_iov = to->max_request_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN)
		attr->max_rdma_read_in = to->max_rdma_read_in;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT)
		attr->max_rdma_read_out = to->max_rdma_read_out;
	if (mask & DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW)
		attr->srq_soft_hw = to->srq_soft_hw;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV)
		attr->max_rdma_read_iov = to->max_rdma_read_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV)
		attr->max_rdma_write_iov = to->max_rdma_write_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR)
		attr->ep_transport_specific_count = to->ep_transport_specific_count;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR)
		attr->ep_provider_specific_count = to->ep_provider_specific_count;
}
