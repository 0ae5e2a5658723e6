// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of kDAPL's conformance test: wrong handles and arguments of the functions that create
 * nothing. kdatc_args.c has those that do. Nothing that is refused here changes an object, which
 * the transfer at the end of a check shows.
 */
#include "kdatc.h"

#define KDATC_HANDLE(call, what)							\
	KDATC_REFUSED(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)
/* EVDs, and functions for all handles, have no subtype of their own */
#define KDATC_HANDLE1(call)								\
	KDATC_REFUSED(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define KDATC_ARG(call, n)								\
	KDATC_REFUSED(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

/* bits that no mask has */
#define KDATC_NO_FIELD	0x40000000
/* a flag that no call has */
#define KDATC_NO_FLAG	0x100

/* Handles ******************************************************************* */

/* what @wrong is given to */
struct kdatc_calls {
	DAT_HANDLE wrong;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET far;
	DAT_CONTEXT cookie;
};

static void kdatc_calls_ia(const struct kdatc_calls *c)
{
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	DAT_LMR_CONTEXT context;
	DAT_HANDLE made = NULL;
	DAT_COMM comm = {};
	DAT_CONN_QUAL qual;
	DAT_VADDR align;
	DAT_VLEN len;

	KDATC_HANDLE(dat_ia_query(c->wrong, NULL, 0, NULL, 0, NULL), IA);
	KDATC_HANDLE(dat_ia_memtype_hint(c->wrong, DAT_MEM_TYPE_VIRTUAL, 4096, 0, &len, &align),
		     IA);
	KDATC_HANDLE(dat_ia_reserved_lmr(c->wrong, &made, &context), IA);
	KDATC_HANDLE(dat_pz_create(c->wrong, &made), IA);
	KDATC_HANDLE(dat_evd_kcreate(c->wrong, 8, DAT_UPCALL_DISABLE, &none, DAT_EVD_SOFTWARE_FLAG,
				     &made), IA);
	KDATC_HANDLE(dat_lmr_kcreate(c->wrong, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){},
				     4096, NULL, 0, 0, 0, &made, &context, NULL, &len, &align),
		     IA);
	KDATC_HANDLE(dat_lmr_allocate(c->wrong, NULL, 4, DAT_LMR_SCOPE_PZ, &made), IA);
	KDATC_HANDLE(dat_lmr_sync_rdma_read(c->wrong, &c->iov, 1), IA);
	KDATC_HANDLE(dat_lmr_sync_rdma_write(c->wrong, &c->iov, 1), IA);
	KDATC_HANDLE(dat_ep_create_with_srq(c->wrong, NULL, NULL, NULL, NULL, NULL, NULL, &made),
		     IA);
	KDATC_HANDLE(dat_srq_create(c->wrong, NULL, NULL, &made), IA);
	KDATC_HANDLE(dat_psp_create(c->wrong, 7995, NULL, DAT_PSP_CONSUMER_FLAG, &made), IA);
	KDATC_HANDLE(dat_psp_create_any(c->wrong, &qual, NULL, DAT_PSP_CONSUMER_FLAG, &made), IA);
	KDATC_HANDLE(dat_rsp_create(c->wrong, 7995, NULL, NULL, &made), IA);
	KDATC_HANDLE(dat_csp_create(c->wrong, &comm, NULL, NULL, &made), IA);
	KDATC_HANDLE(dat_ia_close(c->wrong, DAT_CLOSE_GRACEFUL_FLAG), IA);
	KDATC_EXPECT(!made);
}

static void kdatc_calls_evd(const struct kdatc_calls *c)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_PARAM param;

	KDATC_HANDLE1(dat_evd_query(c->wrong, 0, &param));
	KDATC_HANDLE1(dat_evd_modify_upcall(c->wrong, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
					    DAT_UPCALL_INVOC_NEW));
	KDATC_HANDLE1(dat_evd_resize(c->wrong, 16));
	KDATC_HANDLE1(dat_evd_post_se(c->wrong, &event));
	KDATC_HANDLE1(dat_evd_dequeue(c->wrong, &event));
	KDATC_HANDLE1(dat_evd_free(c->wrong));
}

static void kdatc_calls_ep(const struct kdatc_calls *c)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&kdatc.remote;
	DAT_LMR_TRIPLET *iov = (DAT_LMR_TRIPLET *)&c->iov;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_COUNT allocated, span;
	DAT_EP_PARAM param = {};
	DAT_EP_STATE state;

	KDATC_HANDLE(dat_ep_query(c->wrong, 0, &param), EP);
	KDATC_HANDLE(dat_ep_modify(c->wrong, 0, &param), EP);
	KDATC_HANDLE(dat_ep_get_status(c->wrong, &state, &recv_idle, &request_idle), EP);
	KDATC_HANDLE(dat_ep_recv_query(c->wrong, &allocated, &span), EP);
	KDATC_HANDLE(dat_ep_set_watermark(c->wrong, 1, 2), EP);
	KDATC_HANDLE(dat_ep_set_source(c->wrong, &kdatc.remote), EP);
	KDATC_HANDLE(dat_ep_set_pushed(c->wrong, DAT_TRUE), EP);
	KDATC_HANDLE(dat_ep_push(c->wrong, DAT_FALSE), EP);
	KDATC_HANDLE(dat_ep_connect(c->wrong, address, 1, 1000, 0, NULL, 0, 0), EP);
	KDATC_HANDLE(dat_ep_common_connect(c->wrong, address, 1000, 0, NULL), EP);
	KDATC_HANDLE(dat_ep_dup_connect(c->wrong, c->wrong, 1000, 0, NULL, 0), EP);
	KDATC_HANDLE(dat_ep_post_send(c->wrong, 1, iov, c->cookie, 0), EP);
	KDATC_HANDLE(dat_ep_post_send_with_invalidate(c->wrong, 1, iov, c->cookie, 0, DAT_TRUE, 1),
		     EP);
	KDATC_HANDLE(dat_ep_post_recv(c->wrong, 1, iov, c->cookie, 0), EP);
	KDATC_HANDLE(dat_ep_post_rdma_read(c->wrong, 1, iov, c->cookie, &c->far, 0), EP);
	KDATC_HANDLE(dat_ep_post_rdma_read_to_rmr(c->wrong, &c->far, c->cookie, &c->far, 0), EP);
	KDATC_HANDLE(dat_ep_post_rdma_write(c->wrong, 1, iov, c->cookie, &c->far, 0), EP);
	KDATC_HANDLE(dat_ep_disconnect(c->wrong, DAT_CLOSE_ABRUPT_FLAG), EP);
	KDATC_HANDLE(dat_ep_reset(c->wrong), EP);
	KDATC_HANDLE(dat_ep_free(c->wrong), EP);
}

static void kdatc_calls_memory(const struct kdatc_calls *c)
{
	const DAT_REGION_DESCRIPTION region = {};
	DAT_LMR_CONTEXT near;
	DAT_LMR_PARAM lmr;
	DAT_PZ_PARAM pz;
	DAT_RMR_PARAM rmr;
	DAT_HANDLE made = NULL;
	DAT_RMR_CONTEXT far;

	KDATC_HANDLE(dat_pz_query(c->wrong, 0, &pz), PZ);
	KDATC_HANDLE(dat_pz_free(c->wrong), PZ);
	KDATC_HANDLE(dat_lmr_query(c->wrong, 0, &lmr), LMR);
	KDATC_HANDLE(dat_lmr_fmr(c->wrong, DAT_MEM_TYPE_PHYSICAL, region, 1, KDATC_ALL, 0,
				 kdatc_bed.client[0].ep, c->cookie, 0, &near, &far), LMR);
	KDATC_HANDLE(dat_lmr_invalidate(c->wrong, kdatc_bed.client[0].ep, c->cookie, 0), LMR);
	KDATC_HANDLE(dat_lmr_free(c->wrong), LMR);
	KDATC_HANDLE(dat_rmr_create(c->wrong, &made), PZ);
	KDATC_HANDLE(dat_rmr_create_for_ep(c->wrong, &made), PZ);
	KDATC_HANDLE(dat_rmr_query(c->wrong, 0, &rmr), RMR);
	KDATC_HANDLE(dat_rmr_bind(c->wrong, kdatc_bed.client[0].mem.lmr, &c->iov,
				  DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA,
				  kdatc_bed.client[0].ep, c->cookie, 0, &far), RMR);
	KDATC_HANDLE(dat_rmr_free(c->wrong), RMR);
	KDATC_EXPECT(!made);
}

static void kdatc_calls_others(const struct kdatc_calls *c)
{
	DAT_LMR_TRIPLET *iov = (DAT_LMR_TRIPLET *)&c->iov;
	DAT_CR_PARAM cr;
	DAT_CSP_PARAM csp;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_SRQ_PARAM srq;

	KDATC_HANDLE(dat_srq_query(c->wrong, 0, &srq), SRQ);
	KDATC_HANDLE(dat_srq_resize(c->wrong, 8), SRQ);
	KDATC_HANDLE(dat_srq_set_lw(c->wrong, 1), SRQ);
	KDATC_HANDLE(dat_srq_post_recv(c->wrong, 1, iov, c->cookie), SRQ);
	KDATC_HANDLE(dat_srq_free(c->wrong), SRQ);
	KDATC_HANDLE(dat_psp_query(c->wrong, 0, &psp), PSP);
	KDATC_HANDLE(dat_psp_free(c->wrong), PSP);
	KDATC_HANDLE(dat_rsp_query(c->wrong, 0, &rsp), RSP);
	KDATC_HANDLE(dat_rsp_free(c->wrong), RSP);
	KDATC_HANDLE(dat_csp_query(c->wrong, 0, &csp), CSP);
	KDATC_HANDLE(dat_csp_free(c->wrong), CSP);
	KDATC_HANDLE(dat_cr_query(c->wrong, 0, &cr), CR);
	KDATC_HANDLE(dat_cr_accept(c->wrong, kdatc_bed.client[0].ep, 0, NULL), CR);
	KDATC_HANDLE(dat_cr_reject(c->wrong, 0, NULL), CR);
	KDATC_HANDLE(dat_cr_handoff(c->wrong, 7995), CR);
}

static void kdatc_calls_handles(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0], *peer = &kdatc_bed.server[0];
	struct kdatc_calls c = { .cookie = kdatc_cookie(1) };
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	c.iov = kdatc_near(&side->mem, 0, 64);
	c.far = kdatc_far(&peer->mem, 0, 64);
	/* none, and one of another type */
	kdatc_calls_ia(&c);
	kdatc_calls_evd(&c);
	kdatc_calls_ep(&c);
	kdatc_calls_memory(&c);
	kdatc_calls_others(&c);
	KDATC_HANDLE1(dat_set_consumer_context(NULL, c.cookie));
	KDATC_HANDLE1(dat_get_consumer_context(NULL, &context));
	KDATC_HANDLE1(dat_get_handle_type(NULL, &type));
	c.wrong = side->pz;
	kdatc_calls_ia(&c);
	kdatc_calls_evd(&c);
	kdatc_calls_ep(&c);
	kdatc_calls_others(&c);
	c.wrong = side->conn;
	kdatc_calls_memory(&c);
	KDATC_EXPECT(kdatc_silent(side->request) && kdatc_silent(side->recv));
	KDATC_EXPECT(kdatc_transfer(side, peer, 1000, 6));
}

/* Queries ******************************************************************* */

static void kdatc_calls_queries(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_EVD_PARAM evd = {};
	DAT_LMR_PARAM lmr = {};
	DAT_PSP_PARAM psp = {};
	DAT_PZ_PARAM pz = {};

	if (!kdatc_listen() || !kdatc_side_open(side, NULL))
		return;
	KDATC_ARG(dat_pz_query(side->pz, KDATC_NO_FIELD, &pz), 2);
	KDATC_ARG(dat_pz_query(side->pz, DAT_PZ_FIELD_ALL, NULL), 3);
	KDATC_OK(dat_pz_query(side->pz, DAT_PZ_FIELD_ALL, &pz));
	KDATC_EXPECT(pz.ia_handle == kdatc_bed.ia);
	KDATC_ARG(dat_evd_query(side->conn, KDATC_NO_FIELD, &evd), 2);
	KDATC_ARG(dat_evd_query(side->conn, DAT_EVD_FIELD_ALL, NULL), 3);
	KDATC_OK(dat_evd_query(side->conn, DAT_EVD_FIELD_ALL, &evd));
	KDATC_EXPECT(evd.ia_handle == kdatc_bed.ia && evd.evd_flags & DAT_EVD_CONNECTION_FLAG);
	KDATC_ARG(dat_lmr_query(side->mem.lmr, KDATC_NO_FIELD, &lmr), 2);
	KDATC_ARG(dat_lmr_query(side->mem.lmr, DAT_LMR_FIELD_ALL, NULL), 3);
	KDATC_OK(dat_lmr_query(side->mem.lmr, DAT_LMR_FIELD_ALL, &lmr));
	KDATC_EXPECT(lmr.ia_handle == kdatc_bed.ia && lmr.pz_handle == side->pz);
	if (kdatc_bed.psp) {
		KDATC_ARG(dat_psp_query(kdatc_bed.psp, KDATC_NO_FIELD, &psp), 2);
		KDATC_ARG(dat_psp_query(kdatc_bed.psp, DAT_PSP_FIELD_ALL, NULL), 3);
		KDATC_OK(dat_psp_query(kdatc_bed.psp, DAT_PSP_FIELD_ALL, &psp));
		KDATC_EXPECT(psp.conn_qual == kdatc.port &&
			     psp.evd_handle == kdatc_bed.request);
	}
}

/* of an RMR and an SRQ, if the RNIC has some */
static void kdatc_calls_rmr_srq(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	const DAT_CONTEXT cookie = kdatc_cookie(1);
	DAT_LMR_TRIPLET iov[2];
	DAT_RMR_PARAM rmr_param;
	DAT_SRQ_PARAM srq_param;
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;

	if (!kdatc_side_open(side, NULL))
		return;
	iov[0] = kdatc_near(&side->mem, 0, 64);
	iov[1] = iov[0];
	if (kdatc.attr.max_rmrs && KDATC_OK(dat_rmr_create(side->pz, &rmr))) {
		KDATC_ARG(dat_rmr_query(rmr, KDATC_NO_FIELD, &rmr_param), 2);
		KDATC_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), 3);
		KDATC_ARG(dat_rmr_bind(rmr, side->mem.lmr, iov, DAT_MEM_PRIV_REMOTE_READ_FLAG, 7,
				       side->ep, cookie, 0, NULL), 5);
		KDATC_ARG(dat_rmr_bind(rmr, side->mem.lmr, iov, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				       DAT_VA_TYPE_VA, side->ep, cookie, KDATC_NO_FLAG, NULL), 8);
		KDATC_REFUSED(dat_rmr_bind(rmr, side->mem.lmr, iov, DAT_MEM_PRIV_REMOTE_READ_FLAG,
					   DAT_VA_TYPE_VA, side->ep, cookie, 0, NULL),
			      DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
		KDATC_OK(dat_rmr_free(rmr));
	}
	if (kdatc.attr.max_srqs && KDATC_OK(dat_srq_create(kdatc_bed.ia, side->pz, &attr, &srq))) {
		KDATC_ARG(dat_srq_query(srq, KDATC_NO_FIELD, &srq_param), 2);
		KDATC_ARG(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), 3);
		KDATC_ARG(dat_srq_post_recv(srq, -1, iov, cookie), 2);
		KDATC_OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &srq_param));
		if (srq_param.max_recv_iov < 2)
			KDATC_ARG(dat_srq_post_recv(srq, 2, iov, cookie), 2);
		KDATC_ARG(dat_srq_post_recv(srq, 1, NULL, cookie), 3);
		KDATC_ARG(dat_srq_resize(srq, 0), 2);
		KDATC_ARG(dat_srq_set_lw(srq, -1), 2);
		KDATC_OK(dat_srq_free(srq));
	}
}

/* Other arguments *********************************************************** */

/* The registry, and functions of an IA. */
static void kdatc_calls_registry(void)
{
	const char *major, *minor;
	DAT_HA_RELATIONSHIP related;
	DAT_LMR_CONTEXT context;
	DAT_PROVIDER_INFO *none[1] = {};
	DAT_COUNT num;
	DAT_BOOLEAN answer;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR align;
	DAT_VLEN len;

	KDATC_ARG(dat_registry_list_providers(-1, &num, none), 1);
	KDATC_ARG(dat_registry_list_providers(1, NULL, none), 2);
	KDATC_ARG(dat_registry_list_providers(1, &num, NULL), 3);
	/* no place for the first one */
	KDATC_ARG(dat_registry_list_providers(1, &num, none), 3);
	KDATC_ARG(dat_registry_providers_related(NULL, kdatc.name, &related), 1);
	KDATC_ARG(dat_registry_providers_related(kdatc.name, NULL, &related), 2);
	KDATC_ARG(dat_registry_providers_related(kdatc.name, kdatc.name, NULL), 3);
	KDATC_REFUSED(dat_registry_providers_related("no such RNIC", kdatc.name, &related),
		      DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	KDATC_ARG(dat_strerror(KDATC_ERROR(0x2fff0000, 0), &major, &minor), 1);
	KDATC_ARG(dat_strerror(DAT_SUCCESS, NULL, &minor), 2);
	KDATC_ARG(dat_ia_ha_related(kdatc_bed.ia, NULL, &answer), 2);
	KDATC_ARG(dat_ia_ha_related(kdatc_bed.ia, kdatc.name, NULL), 3);
	KDATC_HANDLE(dat_ia_ha_related(NULL, kdatc.name, &answer), IA);
	KDATC_ARG(dat_ia_reserved_lmr(kdatc_bed.ia, NULL, &context), 2);
	KDATC_ARG(dat_ia_reserved_lmr(kdatc_bed.ia, &lmr, NULL), 3);
	KDATC_ARG(dat_ia_memtype_hint(kdatc_bed.ia, 0x8000, 4096, 0, &len, &align), 2);
	KDATC_ARG(dat_ia_memtype_hint(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, 0, 0, &len, &align), 3);
	KDATC_ARG(dat_ia_memtype_hint(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, 4096, 0x80, &len,
				      &align), 4);
	KDATC_ARG(dat_ia_memtype_hint(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, 4096, 0, NULL, &align),
		  5);
	KDATC_ARG(dat_ia_memtype_hint(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, 4096, 0, &len, NULL), 6);
	KDATC_ARG(dat_lmr_sync_rdma_read(kdatc_bed.ia, NULL, 1), 2);
	KDATC_ARG(dat_lmr_sync_rdma_write(kdatc_bed.ia, NULL, 1), 2);
	KDATC_OK(dat_lmr_sync_rdma_read(kdatc_bed.ia, NULL, 0));
}

/* Of an endpoint, in states that refuse nothing else. */
static void kdatc_calls_endpoint(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&kdatc.remote;
	struct sockaddr_storage other = { .ss_family = AF_UNIX };
	DAT_EP_PARAM param = { .ep_attr.max_recv_dtos = -1 };

	if (!kdatc_side_open(side, NULL))
		return;
	KDATC_ARG(dat_ep_modify(side->ep, ~0ULL, &param), 2);
	/* what cannot be changed */
	KDATC_ARG(dat_ep_modify(side->ep, DAT_EP_FIELD_IA_HANDLE, &param), 2);
	KDATC_ARG(dat_ep_modify(side->ep, DAT_EP_FIELD_EP_STATE, &param), 2);
	KDATC_ARG(dat_ep_modify(side->ep, DAT_EP_FIELD_PZ_HANDLE, NULL), 3);
	KDATC_ARG(dat_ep_modify(side->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param), 3);
	param.pz_handle = side->conn;
	KDATC_HANDLE(dat_ep_modify(side->ep, DAT_EP_FIELD_PZ_HANDLE, &param), PZ);
	param.recv_evd_handle = side->conn;
	KDATC_HANDLE(dat_ep_modify(side->ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), EVD_RECV);
	param.request_evd_handle = side->conn;
	KDATC_HANDLE(dat_ep_modify(side->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param),
		     EVD_REQUEST);
	param.connect_evd_handle = side->recv;
	KDATC_HANDLE(dat_ep_modify(side->ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), EVD_CONN);
	KDATC_TYPE(dat_ep_set_watermark(side->ep, 1, 2), DAT_MODEL_NOT_SUPPORTED);
	KDATC_REFUSED(dat_ep_set_source(side->ep, &other), DAT_INVALID_ADDRESS,
		      DAT_INVALID_ADDRESS_MALFORMED);
	KDATC_ARG(dat_ep_disconnect(side->ep, 7), 2);
	KDATC_REFUSED(dat_ep_disconnect(side->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_EP_UNCONNECTED);
	KDATC_ARG(dat_ep_common_connect(side->ep, address, 1000, -1, NULL), 4);
	KDATC_ARG(dat_ep_common_connect(side->ep, address, 1000, 4, NULL), 5);
	KDATC_ARG(dat_ep_dup_connect(side->ep, side->ep, 1000, 0, NULL, KDATC_NO_FLAG), 6);
	KDATC_EXPECT(kdatc_state(side->ep) == DAT_EP_STATE_UNCONNECTED);
}

/* Of the posts that kdatc_args.c leaves out. */
static void kdatc_calls_posts(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0], *peer = &kdatc_bed.server[0];
	const DAT_CONTEXT cookie = kdatc_cookie(1);
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET far;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	iov = kdatc_near(&side->mem, 0, 64);
	far = kdatc_far(&peer->mem, 0, 64);
	KDATC_ARG(dat_ep_post_send_with_invalidate(side->ep, -1, &iov, cookie, 0, DAT_TRUE, 1), 2);
	KDATC_ARG(dat_ep_post_send_with_invalidate(side->ep, 1, NULL, cookie, 0, DAT_TRUE, 1), 3);
	KDATC_ARG(dat_ep_post_send_with_invalidate(side->ep, 1, &iov, cookie, KDATC_NO_FLAG,
						   DAT_TRUE, 1), 5);
	KDATC_ARG(dat_ep_post_recv(side->ep, -1, &iov, cookie, 0), 2);
	KDATC_ARG(dat_ep_post_rdma_write(side->ep, -1, &iov, cookie, &far, 0), 2);
	KDATC_ARG(dat_ep_post_rdma_write(side->ep, 1, NULL, cookie, &far, 0), 3);
	/* what is solicited is a Send */
	KDATC_ARG(dat_ep_post_rdma_write(side->ep, 1, &iov, cookie, &far,
					 DAT_COMPLETION_SOLICITED_WAIT_FLAG), 6);
	KDATC_ARG(dat_ep_post_rdma_read(side->ep, -1, &iov, cookie, &far, 0), 2);
	KDATC_ARG(dat_ep_post_rdma_read(side->ep, 1, NULL, cookie, &far, 0), 3);
	KDATC_ARG(dat_ep_post_rdma_read(side->ep, 1, &iov, cookie, &far, KDATC_NO_FLAG), 6);
	KDATC_ARG(dat_ep_post_rdma_read_to_rmr(side->ep, NULL, cookie, &far, 0), 2);
	KDATC_ARG(dat_ep_post_rdma_read_to_rmr(side->ep, &far, cookie, NULL, 0), 4);
	KDATC_ARG(dat_ep_post_rdma_read_to_rmr(side->ep, &far, cookie, &far, KDATC_NO_FLAG), 5);
	far.segment_length = 63;
	KDATC_TYPE(dat_ep_post_rdma_read(side->ep, 1, &iov, cookie, &far, 0), DAT_LENGTH_ERROR);
	KDATC_REFUSED(dat_ep_set_source(side->ep, &kdatc.remote), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_EP_CONNECTED);
	KDATC_EXPECT(kdatc_silent(side->request) && kdatc_silent(side->recv));
	KDATC_EXPECT(kdatc_transfer(side, peer, 1000, 7));
}

/* Of fast registrations. */
static void kdatc_calls_fast(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0], *peer = &kdatc_bed.server[0];
	const DAT_CONTEXT cookie = kdatc_cookie(1);
	const DAT_REGION_DESCRIPTION none = {};
	DAT_LMR_CONTEXT near;
	DAT_RMR_CONTEXT far;
	DAT_LMR_HANDLE lmr;

	if (!kdatc_pair_open(0, NULL, NULL) ||
	    !KDATC_OK(dat_lmr_allocate(kdatc_bed.ia, side->pz, 4, DAT_LMR_SCOPE_PZ, &lmr)))
		return;
	KDATC_ARG(dat_lmr_fmr(lmr, 0x8000, none, 1, KDATC_ALL, 0, side->ep, cookie, 0, &near,
			      &far), 2);
	KDATC_ARG(dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, none, 1, KDATC_ALL, 0, side->ep, cookie,
			      0, &near, &far), 3);
	KDATC_ARG(dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, none, 1, 0x100, 0, side->ep, cookie, 0,
			      &near, &far), 5);
	KDATC_ARG(dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, none, 1, KDATC_ALL, 7, side->ep, cookie,
			      0, &near, &far), 6);
	KDATC_HANDLE(dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, none, 1, KDATC_ALL, 0, NULL, cookie,
				 0, &near, &far), EP);
	KDATC_ARG(dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, none, 1, KDATC_ALL, 0, side->ep, cookie,
			      KDATC_NO_FLAG, &near, &far), 9);
	KDATC_HANDLE(dat_lmr_invalidate(lmr, NULL, cookie, 0), EP);
	KDATC_ARG(dat_lmr_invalidate(lmr, side->ep, cookie, KDATC_NO_FLAG), 4);
	/* it has no memory */
	KDATC_REFUSED(dat_lmr_invalidate(lmr, side->ep, cookie, 0), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_LMR_FREE);
	/* not one of dat_lmr_allocate() */
	KDATC_HANDLE(dat_lmr_invalidate(side->mem.lmr, side->ep, cookie, 0), LMR);
	KDATC_OK(dat_lmr_free(lmr));
	KDATC_EXPECT(kdatc_silent(side->request));
	KDATC_EXPECT(kdatc_transfer(side, peer, 1000, 8));
}

/* Of a connection request. */
static void kdatc_calls_request(void)
{
	struct kdatc_side *client = &kdatc_bed.client[0], *server = &kdatc_bed.server[0];
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	if (!kdatc_listen() || !kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) ||
	    !KDATC_OK(kdatc_connect(client->ep, NULL, 0)))
		return;
	cr = kdatc_cr();
	if (!KDATC_EXPECT(cr))
		return;
	KDATC_ARG(dat_cr_query(cr, KDATC_NO_FIELD, &param), 2);
	KDATC_ARG(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), 3);
	KDATC_ARG(dat_cr_accept(cr, server->ep, -1, NULL), 3);
	KDATC_ARG(dat_cr_accept(cr, server->ep, 4, NULL), 4);
	KDATC_HANDLE(dat_cr_accept(cr, NULL, 0, NULL), EP);
	KDATC_ARG(dat_cr_reject(cr, -1, NULL), 2);
	KDATC_ARG(dat_cr_reject(cr, 4, NULL), 3);
	KDATC_ARG(dat_cr_handoff(cr, 0), 2);
	KDATC_ARG(dat_cr_handoff(cr, 65536), 2);
	KDATC_EXPECT(kdatc_silent(client->conn));
	KDATC_OK(dat_cr_accept(cr, server->ep, 0, NULL));
	KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event));
	KDATC_EXPECT(kdatc_hears(server->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event));
	KDATC_EXPECT(kdatc_transfer(client, server, 1000, 9));
}

const struct kdatc_check kdatc_calls_checks[] = {
	{ "wrong handles", kdatc_calls_handles },
	{ "arguments of queries", kdatc_calls_queries },
	{ "arguments of binds and SRQ calls", kdatc_calls_rmr_srq },
	{ "arguments of the registry and IAs", kdatc_calls_registry },
	{ "arguments of EP calls", kdatc_calls_endpoint },
	{ "arguments of other posts", kdatc_calls_posts },
	{ "arguments of fast registrations", kdatc_calls_fast },
	{ "arguments of connection requests", kdatc_calls_request },
	{}
};
