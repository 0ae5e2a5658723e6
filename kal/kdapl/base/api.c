// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The functions of kdat.h that go straight to the provider of their first handle. The other checks
 * are the provider's: it alone knows its objects.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>

#include <krdma/kdat.h>

#include "error.h"

/*
 * Values that are certainly no handle: NULL, an errno, a number, an address that no object has, an
 * object without a provider. Anything else is read, as DAT wants it.
 */
static const DAT_PROVIDER *kdat_api_provider(DAT_HANDLE handle)
{
	const unsigned long address = (unsigned long)handle;

	/* NULL and numbers wrap around to more than the errnos */
	if (unlikely(address - PAGE_SIZE >= (unsigned long)-MAX_ERRNO - PAGE_SIZE ||
		     !IS_ALIGNED(address, sizeof(void *))))
		return NULL;
	return READ_ONCE(DAT_HANDLE_TO_PROVIDER(handle));
}

/* Call @call of the provider of @handle, or answer DAT_INVALID_HANDLE with @subtype. */
#define KDAT_API_CALL(subtype, call, handle, ...)					\
({											\
	const DAT_PROVIDER *kdat_api_to = kdat_api_provider(handle);			\
	DAT_RETURN kdat_api_ret;							\
											\
	if (!kdat_api_to)								\
		kdat_api_ret = DAT_ERROR(DAT_INVALID_HANDLE, subtype);			\
	else if (!kdat_api_to->call##_func)						\
		kdat_api_ret = DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);		\
	else										\
		kdat_api_ret = kdat_api_to->call##_func(handle, ##__VA_ARGS__);		\
	kdat_api_ret;									\
})

DAT_RETURN dat_strerror(DAT_RETURN dat_function_return, const char **major_message,
			const char **minor_message)
{
	return kdat_error_names(dat_function_return, major_message, minor_message);
}
EXPORT_SYMBOL_GPL(dat_strerror);

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, ia_query, ia_handle, async_evd_handle,
			     ia_attr_mask, ia_attr, provider_attr_mask, provider_attr);
}
EXPORT_SYMBOL_GPL(dat_ia_query);

DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type, DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization, DAT_VLEN *preferred_length,
			       DAT_VADDR *preferred_alignment)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, ia_memtype_hint, ia_handle, mem_type,
			     length, mem_optimization, preferred_length, preferred_alignment);
}
EXPORT_SYMBOL_GPL(dat_ia_memtype_hint);

DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *reserved_lmr_handle,
			       DAT_LMR_CONTEXT *reserved_lmr_context)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, ia_reserved_lmr, ia_handle,
			     reserved_lmr_handle, reserved_lmr_context);
}
EXPORT_SYMBOL_GPL(dat_ia_reserved_lmr);

DAT_RETURN dat_ia_ha_related(DAT_IA_HANDLE ia_handle, const char *provider, DAT_BOOLEAN *answer)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, ia_ha_related, ia_handle, provider,
			     answer);
}
EXPORT_SYMBOL_GPL(dat_ia_ha_related);

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, set_consumer_context, dat_handle, context);
}
EXPORT_SYMBOL_GPL(dat_set_consumer_context);

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, get_consumer_context, dat_handle, context);
}
EXPORT_SYMBOL_GPL(dat_get_consumer_context);

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, get_handle_type, dat_handle, handle_type);
}
EXPORT_SYMBOL_GPL(dat_get_handle_type);

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, pz_create, ia_handle, pz_handle);
}
EXPORT_SYMBOL_GPL(dat_pz_create);

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_PZ, pz_query, pz_handle, pz_param_mask,
			     pz_param);
}
EXPORT_SYMBOL_GPL(dat_pz_query);

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_PZ, pz_free, pz_handle);
}
EXPORT_SYMBOL_GPL(dat_pz_free);

DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy, const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, evd_kcreate, ia_handle, evd_min_qlen,
			     upcall_policy, upcall, evd_flags, evd_handle);
}
EXPORT_SYMBOL_GPL(dat_evd_kcreate);

DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flags)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, evd_modify_upcall, evd_handle, upcall_policy,
			     upcall, flags);
}
EXPORT_SYMBOL_GPL(dat_evd_modify_upcall);

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, evd_query, evd_handle, evd_param_mask,
			     evd_param);
}
EXPORT_SYMBOL_GPL(dat_evd_query);

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, evd_resize, evd_handle, evd_min_qlen);
}
EXPORT_SYMBOL_GPL(dat_evd_resize);

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, evd_post_se, evd_handle, event);
}
EXPORT_SYMBOL_GPL(dat_evd_post_se);

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, evd_dequeue, evd_handle, event);
}
EXPORT_SYMBOL_GPL(dat_evd_dequeue);

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, evd_free, evd_handle);
}
EXPORT_SYMBOL_GPL(dat_evd_free);

DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, lmr_kcreate, ia_handle, mem_type,
			     region_description, length, pz_handle, privileges, va_type,
			     mem_optimization, lmr_handle, lmr_context, rmr_context,
			     registered_length, registered_address);
}
EXPORT_SYMBOL_GPL(dat_lmr_kcreate);

DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_COUNT max_pages,
			    DAT_LMR_SCOPE scope, DAT_LMR_HANDLE *lmr_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, lmr_allocate, ia_handle, pz_handle,
			     max_pages, scope, lmr_handle);
}
EXPORT_SYMBOL_GPL(dat_lmr_allocate);

DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description, DAT_VLEN num_pages,
		       DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
		       DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags, DAT_LMR_CONTEXT *lmr_context,
		       DAT_RMR_CONTEXT *rmr_context)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_LMR, lmr_fmr, lmr_handle, mem_type,
			     region_description, num_pages, mem_privileges, va_type, ep_handle,
			     user_cookie, completion_flags, lmr_context, rmr_context);
}
EXPORT_SYMBOL_GPL(dat_lmr_fmr);

DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_LMR, lmr_invalidate, lmr_handle, ep_handle,
			     user_cookie, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_lmr_invalidate);

DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_LMR, lmr_query, lmr_handle, lmr_param_mask,
			     lmr_param);
}
EXPORT_SYMBOL_GPL(dat_lmr_query);

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_LMR, lmr_free, lmr_handle);
}
EXPORT_SYMBOL_GPL(dat_lmr_free);

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, lmr_sync_rdma_read, ia_handle,
			     local_segments, num_segments);
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_read);

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, lmr_sync_rdma_write, ia_handle,
			     local_segments, num_segments);
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_write);

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_PZ, rmr_create, pz_handle, rmr_handle);
}
EXPORT_SYMBOL_GPL(dat_rmr_create);

DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_PZ, rmr_create_for_ep, pz_handle, rmr_handle);
}
EXPORT_SYMBOL_GPL(dat_rmr_create_for_ep);

DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_RMR, rmr_query, rmr_handle, rmr_param_mask,
			     rmr_param);
}
EXPORT_SYMBOL_GPL(dat_rmr_query);

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
			DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_RMR_CONTEXT *context)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_RMR, rmr_bind, rmr_handle, lmr_handle,
			     lmr_triplet, mem_priv, va_type, ep_handle, user_cookie,
			     completion_flags, context);
}
EXPORT_SYMBOL_GPL(dat_rmr_bind);

DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_RMR, rmr_free, rmr_handle);
}
EXPORT_SYMBOL_GPL(dat_rmr_free);

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, ep_create, ia_handle, pz_handle,
			     recv_evd_handle, request_evd_handle, connect_evd_handle, ep_attributes,
			     ep_handle);
}
EXPORT_SYMBOL_GPL(dat_ep_create);

DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, ep_create_with_srq, ia_handle, pz_handle,
			     recv_evd_handle, request_evd_handle, connect_evd_handle, srq_handle,
			     ep_attributes, ep_handle);
}
EXPORT_SYMBOL_GPL(dat_ep_create_with_srq);

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_query, ep_handle, ep_param_mask,
			     ep_param);
}
EXPORT_SYMBOL_GPL(dat_ep_query);

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_modify, ep_handle, ep_param_mask,
			     ep_param);
}
EXPORT_SYMBOL_GPL(dat_ep_modify);

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const void *private_data,
			  DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_connect, ep_handle, remote_ia_address,
			     remote_conn_qual, timeout, private_data_size, private_data,
			     quality_of_service, connect_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_connect);

DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				 const void *private_data)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_common_connect, ep_handle,
			     remote_ia_address, timeout, private_data_size, private_data);
}
EXPORT_SYMBOL_GPL(dat_ep_common_connect);

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const void *private_data, DAT_QOS quality_of_service)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_dup_connect, ep_handle, ep_dup_handle,
			     timeout, private_data_size, private_data, quality_of_service);
}
EXPORT_SYMBOL_GPL(dat_ep_dup_connect);

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_disconnect, ep_handle, close_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_disconnect);

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_reset, ep_handle);
}
EXPORT_SYMBOL_GPL(dat_ep_reset);

DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_free, ep_handle);
}
EXPORT_SYMBOL_GPL(dat_ep_free);

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_get_status, ep_handle, ep_state,
			     recv_idle, request_idle);
}
EXPORT_SYMBOL_GPL(dat_ep_get_status);

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_recv_query, ep_handle, nbufs_allocated,
			     bufs_alloc_span);
}
EXPORT_SYMBOL_GPL(dat_ep_recv_query);

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_set_watermark, ep_handle,
			     soft_high_watermark, hard_high_watermark);
}
EXPORT_SYMBOL_GPL(dat_ep_set_watermark);

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_post_send, ep_handle, num_segments,
			     local_iov, user_cookie, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_send);

DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_post_send_with_invalidate, ep_handle,
			     num_segments, local_iov, user_cookie, completion_flags,
			     invalidate_flag, rmr_context);
}
EXPORT_SYMBOL_GPL(dat_ep_post_send_with_invalidate);

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_post_recv, ep_handle, num_segments,
			     local_iov, user_cookie, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_recv);

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_post_rdma_read, ep_handle, num_segments,
			     local_iov, user_cookie, remote_iov, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read);

DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_iov,
					DAT_COMPLETION_FLAGS completion_flags)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_post_rdma_read_to_rmr, ep_handle,
			     local_iov, user_cookie, remote_iov, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read_to_rmr);

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_EP, ep_post_rdma_write, ep_handle,
			     num_segments, local_iov, user_cookie, remote_iov, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_write);

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
			  DAT_SRQ_HANDLE *srq_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, srq_create, ia_handle, pz_handle, srq_attr,
			     srq_handle);
}
EXPORT_SYMBOL_GPL(dat_srq_create);

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_SRQ, srq_query, srq_handle, srq_param_mask,
			     srq_param);
}
EXPORT_SYMBOL_GPL(dat_srq_query);

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_SRQ, srq_resize, srq_handle, srq_max_recv_dto);
}
EXPORT_SYMBOL_GPL(dat_srq_resize);

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_SRQ, srq_set_lw, srq_handle, low_watermark);
}
EXPORT_SYMBOL_GPL(dat_srq_set_lw);

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_SRQ, srq_post_recv, srq_handle, num_segments,
			     local_iov, user_cookie);
}
EXPORT_SYMBOL_GPL(dat_srq_post_recv);

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_SRQ, srq_free, srq_handle);
}
EXPORT_SYMBOL_GPL(dat_srq_free);

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, psp_create, ia_handle, conn_qual,
			     evd_handle, psp_flags, psp_handle);
}
EXPORT_SYMBOL_GPL(dat_psp_create);

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, psp_create_any, ia_handle, conn_qual,
			     evd_handle, psp_flags, psp_handle);
}
EXPORT_SYMBOL_GPL(dat_psp_create_any);

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_PSP, psp_query, psp_handle, psp_param_mask,
			     psp_param);
}
EXPORT_SYMBOL_GPL(dat_psp_query);

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_PSP, psp_free, psp_handle);
}
EXPORT_SYMBOL_GPL(dat_psp_free);

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
			  DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, rsp_create, ia_handle, conn_qual,
			     ep_handle, evd_handle, rsp_handle);
}
EXPORT_SYMBOL_GPL(dat_rsp_create);

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_RSP, rsp_query, rsp_handle, rsp_param_mask,
			     rsp_param);
}
EXPORT_SYMBOL_GPL(dat_rsp_query);

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_RSP, rsp_free, rsp_handle);
}
EXPORT_SYMBOL_GPL(dat_rsp_free);

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *communicator,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_IA, csp_create, ia_handle, communicator,
			     address, evd_handle, csp_handle);
}
EXPORT_SYMBOL_GPL(dat_csp_create);

DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_CSP, csp_query, csp_handle, csp_param_mask,
			     csp_param);
}
EXPORT_SYMBOL_GPL(dat_csp_query);

DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_CSP, csp_free, csp_handle);
}
EXPORT_SYMBOL_GPL(dat_csp_free);

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	return KDAT_API_CALL(DAT_INVALID_HANDLE_CR, cr_query, cr_handle, cr_param_mask,
			     cr_param);
}
EXPORT_SYMBOL_GPL(dat_cr_query);

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const void *private_data)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_CR, cr_accept, cr_handle, ep_handle,
			     private_data_size, private_data);
}
EXPORT_SYMBOL_GPL(dat_cr_accept);

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const void *private_data)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_CR, cr_reject, cr_handle, private_data_size,
			     private_data);
}
EXPORT_SYMBOL_GPL(dat_cr_reject);

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	might_sleep();
	return KDAT_API_CALL(DAT_INVALID_HANDLE_CR, cr_handoff, cr_handle, handoff);
}
EXPORT_SYMBOL_GPL(dat_cr_handoff);

/* Operations that open or close something come with a name in place of a handle: no object yet. */
#define KDAT_API_NO_HANDLE	(DAT_OPEN_EXTENSION_BASE | DAT_CLOSE_EXTENSION_BASE)

DAT_RETURN dat_extension_opv(DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list args)
{
	if (operation & KDAT_API_NO_HANDLE)
		return DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	return KDAT_API_CALL(DAT_INVALID_HANDLE1, handle_extendedop, handle, operation, args);
}
EXPORT_SYMBOL_GPL(dat_extension_opv);

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...)
{
	DAT_RETURN ret;
	va_list args;

	va_start(args, operation);
	ret = dat_extension_opv(handle, operation, args);
	va_end(args);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_extension_op);
