// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of kDAPL's conformance test: wrong arguments. Each function that creates an object is
 * called with one wrong argument after another; the answer names the argument, nothing is created,
 * and the right call works afterwards.
 */
#include <linux/in.h>
#include <linux/slab.h>

#include "kdatc.h"

/* what takes the place of a handle */
enum kdatc_args_handle {
	KDATC_RIGHT,
	KDATC_NULL,
	KDATC_OTHER_TYPE,
	KDATC_OTHER_IA,
};

/* another IA with the objects that tests use in the wrong place */
struct kdatc_args_other {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
};

static struct kdatc_args_other kdatc_args_other;

static bool kdatc_args_open(const struct kdatc_opts *opts)
{
	struct kdatc_args_other *other = &kdatc_args_other;
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;

	memset(other, 0, sizeof(*other));
	return kdatc_side_open(&kdatc_bed.client[0], opts) &&
	       KDATC_OK(dat_ia_openv(kdatc.name, 8, &other->async, &other->ia, 2, 0, DAT_TRUE)) &&
	       KDATC_OK(dat_pz_create(other->ia, &other->pz)) &&
	       KDATC_OK(dat_evd_kcreate(other->ia, 16, DAT_UPCALL_DISABLE, &none,
					DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG, &other->evd));
}

static void kdatc_args_close(void)
{
	if (kdatc_args_other.ia)
		KDATC_OK(dat_ia_close(kdatc_args_other.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static DAT_HANDLE kdatc_args_handle(enum kdatc_args_handle which, DAT_HANDLE right,
				    DAT_HANDLE other_ia)
{
	switch (which) {
	case KDATC_NULL:
		return NULL;
	case KDATC_OTHER_TYPE:
		/* no function that is tested here takes an endpoint in its place */
		return kdatc_bed.ia == right ? kdatc_bed.client[0].pz : kdatc_bed.ia;
	case KDATC_OTHER_IA:
		return other_ia;
	default:
		return right;
	}
}

static void kdatc_args_answer(DAT_RETURN ret, DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype,
			      const char *what, unsigned int row)
{
	char text[48];

	snprintf(text, sizeof(text), "%s, row %u", what, row);
	kdatc_answers(ret, KDATC_ERROR(type, subtype), ~0U, __FILE__, 0, text);
}

/* EVDs ********************************************************************** */

static const struct kdatc_args_evd {
	enum kdatc_args_handle ia;
	DAT_COUNT qlen;
	DAT_UPCALL_POLICY policy;
	int flags;
	bool no_out;
	DAT_RETURN_TYPE type;
	DAT_RETURN_SUBTYPE subtype;
} kdatc_args_evds[] = {
	{ KDATC_NULL, 8, DAT_UPCALL_DISABLE, DAT_EVD_SOFTWARE_FLAG, false,
	  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA },
	{ KDATC_OTHER_TYPE, 8, DAT_UPCALL_DISABLE, DAT_EVD_SOFTWARE_FLAG, false,
	  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA },
	{ KDATC_RIGHT, 0, DAT_UPCALL_DISABLE, DAT_EVD_SOFTWARE_FLAG, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2 },
	{ KDATC_RIGHT, -1, DAT_UPCALL_DISABLE, DAT_EVD_SOFTWARE_FLAG, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2 },
	{ KDATC_RIGHT, 8, 77, DAT_EVD_SOFTWARE_FLAG, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3 },
	/* no function to call */
	{ KDATC_RIGHT, 8, DAT_UPCALL_SINGLE_INSTANCE, DAT_EVD_SOFTWARE_FLAG, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4 },
	{ KDATC_RIGHT, 8, DAT_UPCALL_DISABLE, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5 },
	{ KDATC_RIGHT, 8, DAT_UPCALL_DISABLE, 0x8002, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5 },
	{ KDATC_RIGHT, 8, DAT_UPCALL_DISABLE, DAT_EVD_SOFTWARE_FLAG, true,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6 },
};

static void kdatc_args_evd(void)
{
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	const struct kdatc_args_evd *row;
	DAT_EVD_HANDLE evd = NULL;
	unsigned int i;

	if (!kdatc_args_open(NULL))
		goto out;
	for (i = 0; i < ARRAY_SIZE(kdatc_args_evds); i++) {
		row = &kdatc_args_evds[i];
		kdatc_args_answer(dat_evd_kcreate(kdatc_args_handle(row->ia, kdatc_bed.ia, NULL),
						  row->qlen, row->policy, &none, row->flags,
						  row->no_out ? NULL : &evd),
				  row->type, row->subtype, "dat_evd_kcreate", i);
		KDATC_EXPECT(!evd);
	}
	KDATC_TYPE(dat_evd_kcreate(kdatc_bed.ia, kdatc.attr.max_evd_qlen, DAT_UPCALL_DISABLE, &none,
				   DAT_EVD_DTO_FLAG | 0x10000, &evd), DAT_INVALID_PARAMETER);
	/* events that may not be posted, or taken */
	KDATC_TYPE(dat_evd_post_se(NULL, &(DAT_EVENT){}), DAT_INVALID_HANDLE);
	KDATC_REFUSED(dat_evd_post_se(kdatc_bed.client[0].recv,
				      &(DAT_EVENT){ .event_number = DAT_SOFTWARE_EVENT }),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	evd = kdatc_evd(DAT_EVD_SOFTWARE_FLAG);
	KDATC_REFUSED(dat_evd_post_se(evd, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_evd_post_se(evd,
				      &(DAT_EVENT){ .event_number = DAT_DTO_COMPLETION_EVENT }),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_OK(dat_evd_free(evd));
	KDATC_REFUSED(dat_evd_dequeue(kdatc_bed.client[0].recv, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_TYPE(dat_evd_dequeue(NULL, &(DAT_EVENT){}), DAT_INVALID_HANDLE);
	/* in use by the endpoint */
	KDATC_REFUSED(dat_evd_free(kdatc_bed.client[0].recv), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_EVD_IN_USE);
out:
	kdatc_args_close();
}

/* Endpoints ***************************************************************** */

/* the handle that is wrong in a row */
enum kdatc_args_place {
	KDATC_IA,
	KDATC_PZ,
	KDATC_RECV,
	KDATC_REQUEST,
	KDATC_CONN,
	KDATC_PLACES,
};

static const struct kdatc_args_ep {
	enum kdatc_args_place place;
	enum kdatc_args_handle wrong;
	DAT_RETURN_SUBTYPE subtype;
} kdatc_args_eps[] = {
	{ KDATC_IA, KDATC_NULL, DAT_INVALID_HANDLE_IA },
	{ KDATC_IA, KDATC_OTHER_TYPE, DAT_INVALID_HANDLE_IA },
	{ KDATC_PZ, KDATC_OTHER_TYPE, DAT_INVALID_HANDLE_PZ },
	{ KDATC_PZ, KDATC_OTHER_IA, DAT_INVALID_HANDLE_PZ },
	{ KDATC_RECV, KDATC_OTHER_TYPE, DAT_INVALID_HANDLE_EVD_RECV },
	{ KDATC_RECV, KDATC_OTHER_IA, DAT_INVALID_HANDLE_EVD_RECV },
	{ KDATC_REQUEST, KDATC_OTHER_TYPE, DAT_INVALID_HANDLE_EVD_REQUEST },
	{ KDATC_REQUEST, KDATC_OTHER_IA, DAT_INVALID_HANDLE_EVD_REQUEST },
	{ KDATC_CONN, KDATC_OTHER_TYPE, DAT_INVALID_HANDLE_EVD_CONN },
	{ KDATC_CONN, KDATC_OTHER_IA, DAT_INVALID_HANDLE_EVD_CONN },
};

static void kdatc_args_ep_handles(void)
{
	static const struct kdatc_opts no_ep = { .no_ep = true };
	const struct kdatc_args_other *other = &kdatc_args_other;
	struct kdatc_side *side = &kdatc_bed.client[0];
	const struct kdatc_args_ep *row;
	DAT_HANDLE h[KDATC_PLACES];
	DAT_EP_HANDLE ep = NULL;
	DAT_EP_ATTR attr;
	unsigned int i;

	if (!kdatc_args_open(&no_ep))
		goto out;
	attr = kdatc_ep_attr(&no_ep);
	for (i = 0; i < ARRAY_SIZE(kdatc_args_eps); i++) {
		const DAT_HANDLE right[KDATC_PLACES] = {
			kdatc_bed.ia, side->pz, side->recv, side->request, side->conn,
		};

		row = &kdatc_args_eps[i];
		memcpy(h, right, sizeof(h));
		h[row->place] = kdatc_args_handle(row->wrong, right[row->place],
						  row->place == KDATC_PZ ? other->pz : other->evd);
		kdatc_args_answer(dat_ep_create(h[KDATC_IA], h[KDATC_PZ], h[KDATC_RECV],
						h[KDATC_REQUEST], h[KDATC_CONN], &attr, &ep),
				  DAT_INVALID_HANDLE, row->subtype, "dat_ep_create", i);
		KDATC_EXPECT(!ep);
	}
	/* EVDs that are not for these events */
	KDATC_REFUSED(dat_ep_create(kdatc_bed.ia, side->pz, side->conn, side->request, side->conn,
				    &attr, &ep),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	KDATC_REFUSED(dat_ep_create(kdatc_bed.ia, side->pz, side->recv, side->conn, side->conn,
				    &attr, &ep),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	KDATC_REFUSED(dat_ep_create(kdatc_bed.ia, side->pz, side->recv, side->request, side->recv,
				    &attr, &ep),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	KDATC_REFUSED(dat_ep_create(kdatc_bed.ia, side->pz, side->recv, side->request, side->conn,
				    &attr, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	KDATC_EXPECT(kdatc_ep_open(side, &no_ep));
	KDATC_REFUSED(dat_ep_free(side->pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
out:
	kdatc_args_close();
}

static void kdatc_args_ep_attr_wrong(void (*spoil)(DAT_EP_ATTR *attr), unsigned int row)
{
	static const struct kdatc_opts no_ep = { .no_ep = true };
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_EP_ATTR attr = kdatc_ep_attr(&no_ep);
	DAT_EP_HANDLE ep = NULL;

	spoil(&attr);
	kdatc_args_answer(dat_ep_create(kdatc_bed.ia, side->pz, side->recv, side->request,
					side->conn, &attr, &ep),
			  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6, "attributes", row);
	if (ep)
		KDATC_OK(dat_ep_free(ep));
}

#define KDATC_SPOIL(name, spoil)						\
static void kdatc_args_spoil_##name(DAT_EP_ATTR *attr) { spoil; }

KDATC_SPOIL(service, attr->service_type = 9)
KDATC_SPOIL(qos, attr->qos = 0x100)
KDATC_SPOIL(recv_flags, attr->recv_completion_flags = 0x100)
KDATC_SPOIL(request_flags, attr->request_completion_flags = 0x100)
KDATC_SPOIL(recvs, attr->max_recv_dtos = -1)
KDATC_SPOIL(requests, attr->max_request_dtos = -1)
KDATC_SPOIL(many_recvs, attr->max_recv_dtos = kdatc.attr.max_dto_per_ep + 1)
KDATC_SPOIL(many_requests, attr->max_request_dtos = kdatc.attr.max_dto_per_ep + 1)
KDATC_SPOIL(recv_iov, attr->max_recv_iov = -1)
KDATC_SPOIL(request_iov, attr->max_request_iov = kdatc.attr.max_iov_segments_per_dto + 1)
KDATC_SPOIL(reads_in, attr->max_rdma_read_in = kdatc.attr.max_rdma_read_per_ep_in + 1)
KDATC_SPOIL(reads_out, attr->max_rdma_read_out = kdatc.attr.max_rdma_read_per_ep_out + 1)

static void (*const kdatc_args_spoilers[])(DAT_EP_ATTR *) = {
	kdatc_args_spoil_service, kdatc_args_spoil_qos, kdatc_args_spoil_recv_flags,
	kdatc_args_spoil_request_flags, kdatc_args_spoil_recvs, kdatc_args_spoil_requests,
	kdatc_args_spoil_many_recvs, kdatc_args_spoil_many_requests, kdatc_args_spoil_recv_iov,
	kdatc_args_spoil_request_iov, kdatc_args_spoil_reads_in, kdatc_args_spoil_reads_out,
};

static void kdatc_args_ep_attributes(void)
{
	static const struct kdatc_opts no_ep = { .no_ep = true };
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_EP_PARAM param = {};
	DAT_EP_ATTR attr;
	unsigned int i;

	if (!kdatc_side_open(side, &no_ep))
		return;
	for (i = 0; i < ARRAY_SIZE(kdatc_args_spoilers); i++)
		kdatc_args_ep_attr_wrong(kdatc_args_spoilers[i], i);
	/* the provider's defaults */
	KDATC_OK(dat_ep_create(kdatc_bed.ia, side->pz, side->recv, side->request, side->conn, NULL,
			       &side->ep));
	KDATC_OK(dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &param));
	KDATC_EXPECT(param.ep_attr.max_recv_dtos > 0 && param.ep_attr.max_request_dtos > 0);
	KDATC_EXPECT(param.ep_attr.max_recv_iov > 0 && param.ep_attr.max_request_iov > 0);
	KDATC_OK(dat_ep_free(side->ep));
	side->ep = NULL;
	/* at least what was asked for */
	attr = kdatc_ep_attr(&no_ep);
	if (!kdatc_ep_open(side, &no_ep) ||
	    !KDATC_OK(dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &param)))
		return;
	KDATC_EXPECT(param.ep_attr.max_recv_dtos >= attr.max_recv_dtos);
	KDATC_EXPECT(param.ep_attr.max_request_dtos >= attr.max_request_dtos);
	KDATC_EXPECT(param.ep_attr.max_rdma_read_out >= attr.max_rdma_read_out);
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.pz_handle == side->pz);
	KDATC_EXPECT(param.recv_evd_handle == side->recv &&
		     param.request_evd_handle == side->request &&
		     param.connect_evd_handle == side->conn && !param.srq_handle);
	KDATC_EXPECT(param.ep_state == DAT_EP_STATE_UNCONNECTED);
	KDATC_REFUSED(dat_ep_query(side->ep, ~0ULL, &param), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ep_query(side->ep, DAT_EP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
}

static void kdatc_args_connect(void)
{
	struct sockaddr other = { .sa_family = AF_UNIX };
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&kdatc.remote;
	const DAT_COUNT most = kdatc.provider.max_private_data_size;
	u8 *data = kzalloc(most + 1, GFP_KERNEL);

	if (!KDATC_EXPECT(data) || !kdatc_side_open(side, NULL))
		goto out;
	KDATC_REFUSED(dat_ep_connect(side->pz, address, 1, 1000, 0, NULL, 0, 0),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	KDATC_REFUSED(dat_ep_connect(side->ep, NULL, 1, 1000, 0, NULL, 0, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_TYPE(dat_ep_connect(side->ep, &other, 1, 1000, 0, NULL, 0, 0), DAT_INVALID_ADDRESS);
	KDATC_REFUSED(dat_ep_connect(side->ep, address, 65536, 1000, 0, NULL, 0, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_ep_connect(side->ep, address, 1, 1000, -1, NULL, 0, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_ep_connect(side->ep, address, 1, 1000, most + 1, data, 0, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_ep_connect(side->ep, address, 1, 1000, 4, NULL, 0, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	KDATC_REFUSED(dat_ep_connect(side->ep, address, 1, 1000, 0, NULL, 0x100, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	KDATC_REFUSED(dat_ep_connect(side->ep, address, 1, 1000, 0, NULL, 0, 0x100),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	KDATC_TYPE(dat_ep_connect(side->ep, address, 1, 1000, 0, NULL, 0,
				  DAT_CONNECT_MULTIPATH_REQUIRED_FLAG), DAT_MODEL_NOT_SUPPORTED);
	KDATC_REFUSED(dat_ep_common_connect(side->ep, NULL, 1000, 0, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ep_common_connect(side->ep, address, 1000, most + 1, data),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KDATC_REFUSED(dat_ep_dup_connect(side->ep, side->pz, 1000, 0, NULL, 0),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	KDATC_EXPECT(kdatc_state(side->ep) == DAT_EP_STATE_UNCONNECTED);
	KDATC_EXPECT(kdatc_silent(side->conn));
out:
	kfree(data);
}

/* Transfers ***************************************************************** */

static void kdatc_args_post(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0], *peer = &kdatc_bed.server[0];
	const DAT_CONTEXT cookie = kdatc_cookie(1);
	DAT_LMR_TRIPLET iov[3];
	DAT_RMR_TRIPLET far;
	unsigned int i;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	for (i = 0; i < 3; i++)
		iov[i] = kdatc_near(&side->mem, 64 * i, 64);
	far = kdatc_far(&peer->mem, 0, 192);
	KDATC_REFUSED(dat_ep_post_send(NULL, 1, iov, cookie, 0), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_EP);
	KDATC_REFUSED(dat_ep_post_send(side->ep, -1, iov, cookie, 0), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ep_post_send(side->ep, 3, iov, cookie, 0), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ep_post_send(side->ep, 1, NULL, cookie, 0), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_ep_post_send(side->ep, 1, iov, cookie, 0x100), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_ep_set_pushed(NULL, DAT_TRUE), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_EP);
	KDATC_REFUSED(dat_ep_set_pushed(side->ep, DAT_TRUE), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_EP_CONNECTED);
	KDATC_REFUSED(dat_ep_set_traffic(NULL, 0, 0, 0), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_EP);
	KDATC_REFUSED(dat_ep_set_traffic(side->ep, 0, 0, 0), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_EP_CONNECTED);
	KDATC_REFUSED(dat_ep_push(NULL, DAT_TRUE), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	/* nothing waits */
	KDATC_OK(dat_ep_push(side->ep, DAT_TRUE));
	KDATC_OK(dat_ep_push(side->ep, DAT_FALSE));
	KDATC_REFUSED(dat_ep_post_recv(side->ep, 3, iov, cookie, 0), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ep_post_recv(side->ep, 1, NULL, cookie, 0), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_ep_post_recv(side->ep, 1, iov, cookie, 0x100), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_ep_post_rdma_write(side->ep, 3, iov, cookie, &far, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ep_post_rdma_write(side->ep, 1, iov, cookie, NULL, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_ep_post_rdma_write(side->ep, 1, iov, cookie, &far, 0x100),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	KDATC_REFUSED(dat_ep_post_rdma_read(side->ep, 2, iov, cookie, &far, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ep_post_rdma_read(side->ep, 1, iov, cookie, NULL, 0),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	/* more than the remote segment has */
	far.segment_length = 63;
	KDATC_TYPE(dat_ep_post_rdma_write(side->ep, 1, iov, cookie, &far, 0), DAT_LENGTH_ERROR);
	KDATC_EXPECT(kdatc_silent(side->request) && kdatc_silent(side->recv));
	KDATC_EXPECT(kdatc_transfer(side, peer, 1000, 5));
}

/* Memory ******************************************************************** */

static const struct kdatc_args_lmr {
	int mem_type;
	bool no_region;
	DAT_VLEN len;
	enum kdatc_args_handle pz;
	int priv;
	int va_type;
	int opt;
	bool no_out;
	DAT_RETURN_TYPE type;
	DAT_RETURN_SUBTYPE subtype;
} kdatc_args_lmrs[] = {
	{ 0x8000, false, 4096, KDATC_RIGHT, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2 },
	{ DAT_MEM_TYPE_BYPASS, false, 4096, KDATC_RIGHT, KDATC_ALL, 0, 0, false,
	  DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE },
	{ DAT_MEM_TYPE_VIRTUAL, true, 4096, KDATC_RIGHT, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3 },
	{ DAT_MEM_TYPE_PLATFORM, true, 4096, KDATC_RIGHT, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3 },
	{ DAT_MEM_TYPE_PHYSICAL, true, 4096, KDATC_RIGHT, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3 },
	{ DAT_MEM_TYPE_VIRTUAL, false, 0, KDATC_RIGHT, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4 },
	{ DAT_MEM_TYPE_VIRTUAL, false, 4096, KDATC_NULL, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ },
	{ DAT_MEM_TYPE_VIRTUAL, false, 4096, KDATC_OTHER_TYPE, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ },
	{ DAT_MEM_TYPE_VIRTUAL, false, 4096, KDATC_OTHER_IA, KDATC_ALL, 0, 0, false,
	  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ },
	{ DAT_MEM_TYPE_VIRTUAL, false, 4096, KDATC_RIGHT, 0x100, 0, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6 },
	{ DAT_MEM_TYPE_VIRTUAL, false, 4096, KDATC_RIGHT, KDATC_ALL, 5, 0, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG7 },
	{ DAT_MEM_TYPE_VIRTUAL, false, 4096, KDATC_RIGHT, KDATC_ALL, 0, 0x80, false,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG8 },
	{ DAT_MEM_TYPE_VIRTUAL, false, 4096, KDATC_RIGHT, KDATC_ALL, 0, 0, true,
	  DAT_INVALID_PARAMETER, DAT_INVALID_ARG9 },
};

static void kdatc_args_lmr(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0];
	const struct kdatc_args_lmr *row;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr = NULL;
	DAT_LMR_CONTEXT near;
	DAT_RMR_CONTEXT far;
	DAT_VADDR start;
	DAT_VLEN len;
	unsigned int i;

	if (!kdatc_args_open(NULL))
		goto out;
	for (i = 0; i < ARRAY_SIZE(kdatc_args_lmrs); i++) {
		row = &kdatc_args_lmrs[i];
		memset(&region, 0, sizeof(region));
		region.for_va = row->no_region ? NULL : side->mem.va;
		kdatc_args_answer(dat_lmr_kcreate(kdatc_bed.ia, row->mem_type, region, row->len,
						  kdatc_args_handle(row->pz, side->pz,
								    kdatc_args_other.pz),
						  row->priv, row->va_type, row->opt,
						  row->no_out ? NULL : &lmr, &near, &far, &len,
						  &start),
				  row->type, row->subtype, "dat_lmr_kcreate", i);
		KDATC_EXPECT(!lmr);
	}
	/* longer than there is memory */
	KDATC_TYPE(dat_lmr_kcreate(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, region, ~0ULL, side->pz,
				   KDATC_ALL, 0, 0, &lmr, &near, &far, &len, &start),
		   DAT_INVALID_PARAMETER);
	region.for_lmr_handle = side->pz;
	KDATC_REFUSED(dat_lmr_kcreate(kdatc_bed.ia, DAT_MEM_TYPE_LMR, region, 100, side->pz,
				      KDATC_ALL, 0, 0, &lmr, &near, &far, &len, &start),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KDATC_REFUSED(dat_lmr_allocate(kdatc_bed.ia, side->conn, 4, DAT_LMR_SCOPE_PZ, &lmr),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	KDATC_REFUSED(dat_lmr_allocate(kdatc_bed.ia, side->pz, 0, DAT_LMR_SCOPE_PZ, &lmr),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_lmr_allocate(kdatc_bed.ia, side->pz, 4, 9, &lmr),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KDATC_REFUSED(dat_lmr_allocate(kdatc_bed.ia, side->pz, 4, DAT_LMR_SCOPE_PZ, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_lmr_free(side->pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KDATC_REFUSED(dat_pz_create(kdatc_bed.ia, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_pz_create(NULL, &lmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
out:
	kdatc_args_close();
}

static void kdatc_args_rmr_srq(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_RMR_HANDLE rmr = NULL;
	DAT_SRQ_HANDLE srq = NULL;

	if (!kdatc_side_open(side, NULL))
		return;
	if (kdatc.attr.max_rmrs) {
		KDATC_REFUSED(dat_rmr_create(side->ep, &rmr), DAT_INVALID_HANDLE,
			      DAT_INVALID_HANDLE_PZ);
		KDATC_REFUSED(dat_rmr_create(side->pz, NULL), DAT_INVALID_PARAMETER,
			      DAT_INVALID_ARG2);
		KDATC_REFUSED(dat_rmr_create_for_ep(side->pz, NULL), DAT_INVALID_PARAMETER,
			      DAT_INVALID_ARG2);
		KDATC_REFUSED(dat_rmr_free(side->pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	}
	if (!kdatc.attr.max_srqs)
		return;
	KDATC_REFUSED(dat_srq_create(side->ep, side->pz, &attr, &srq), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_IA);
	KDATC_REFUSED(dat_srq_create(kdatc_bed.ia, side->ep, &attr, &srq), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_PZ);
	KDATC_REFUSED(dat_srq_create(kdatc_bed.ia, side->pz, NULL, &srq), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	attr.max_recv_dtos = 0;
	KDATC_REFUSED(dat_srq_create(kdatc_bed.ia, side->pz, &attr, &srq), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	attr.max_recv_dtos = 8;
	attr.low_watermark = 9;
	KDATC_REFUSED(dat_srq_create(kdatc_bed.ia, side->pz, &attr, &srq), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	attr.low_watermark = 0;
	KDATC_REFUSED(dat_srq_create(kdatc_bed.ia, side->pz, &attr, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG4);
	KDATC_EXPECT(!srq && !rmr);
	KDATC_REFUSED(dat_srq_free(side->pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
}

/* Service points ************************************************************ */

static void kdatc_args_psp(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_PSP_HANDLE psp = NULL, second = NULL;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;

	if (!kdatc_args_open(NULL))
		goto out;
	evd = kdatc_evd(DAT_EVD_CR_FLAG);
	kdatc_bed.request = evd;
	KDATC_REFUSED(dat_psp_create(side->pz, 7995, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	KDATC_REFUSED(dat_psp_create(kdatc_bed.ia, 65536, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_psp_create(kdatc_bed.ia, 7995, NULL, DAT_PSP_CONSUMER_FLAG, &psp),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	KDATC_REFUSED(dat_psp_create(kdatc_bed.ia, 7995, side->conn, DAT_PSP_CONSUMER_FLAG, &psp),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	KDATC_REFUSED(dat_psp_create(kdatc_bed.ia, 7995, kdatc_args_other.evd,
				     DAT_PSP_CONSUMER_FLAG, &psp),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	KDATC_REFUSED(dat_psp_create(kdatc_bed.ia, 7995, evd, 4, &psp), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG4);
	KDATC_REFUSED(dat_psp_create(kdatc_bed.ia, 7995, evd, DAT_PSP_CONSUMER_FLAG, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_psp_create_any(kdatc_bed.ia, NULL, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_psp_create_any(kdatc_bed.ia, &qual, evd, 4, &psp),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KDATC_EXPECT(!psp);
	/* a port that is taken */
	KDATC_OK(dat_psp_create(kdatc_bed.ia, kdatc.port, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KDATC_REFUSED(dat_psp_create(kdatc_bed.ia, kdatc.port, evd, DAT_PSP_CONSUMER_FLAG, &second),
		      DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	KDATC_REFUSED(dat_evd_free(evd), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	KDATC_REFUSED(dat_psp_free(side->ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	KDATC_OK(dat_psp_free(psp));
out:
	kdatc_args_close();
}

static void kdatc_args_rsp_csp(void)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&kdatc.remote;
	struct kdatc_side *side = &kdatc_bed.client[0];
	struct sockaddr other = { .sa_family = AF_UNIX };
	DAT_COMM tcp = { .domain = kdatc.remote.ss_family, .type = SOCK_STREAM,
			 .protocol = IPPROTO_TCP };
	DAT_COMM udp = { .domain = kdatc.remote.ss_family, .type = SOCK_DGRAM,
			 .protocol = IPPROTO_UDP };
	DAT_RSP_HANDLE rsp = NULL;
	DAT_CSP_HANDLE csp = NULL;
	DAT_EVD_HANDLE evd;

	if (!kdatc_args_open(NULL))
		goto out;
	evd = kdatc_evd(DAT_EVD_CR_FLAG);
	kdatc_bed.request = evd;
	KDATC_REFUSED(dat_rsp_create(kdatc_bed.ia, 65536, side->ep, evd, &rsp),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_rsp_create(kdatc_bed.ia, kdatc.port, side->pz, evd, &rsp),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	KDATC_REFUSED(dat_rsp_create(kdatc_bed.ia, kdatc.port, side->ep, side->conn, &rsp),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	KDATC_REFUSED(dat_rsp_create(kdatc_bed.ia, kdatc.port, side->ep, evd, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_csp_create(kdatc_bed.ia, NULL, address, evd, &csp),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_TYPE(dat_csp_create(kdatc_bed.ia, &udp, address, evd, &csp), DAT_COMM_NOT_SUPPORTED);
	KDATC_REFUSED(dat_csp_create(kdatc_bed.ia, &tcp, NULL, evd, &csp),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KDATC_TYPE(dat_csp_create(kdatc_bed.ia, &tcp, &other, evd, &csp), DAT_INVALID_ADDRESS);
	KDATC_REFUSED(dat_csp_create(kdatc_bed.ia, &tcp, address, side->conn, &csp),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	KDATC_REFUSED(dat_csp_create(kdatc_bed.ia, &tcp, address, evd, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_rsp_free(side->ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	KDATC_REFUSED(dat_csp_free(side->ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	KDATC_EXPECT(!rsp && !csp && kdatc_state(side->ep) == DAT_EP_STATE_UNCONNECTED);
out:
	kdatc_args_close();
}

const struct kdatc_check kdatc_args_checks[] = {
	{ "arguments of EVDs", kdatc_args_evd },
	{ "arguments of EPs", kdatc_args_ep_handles },
	{ "attributes of EPs", kdatc_args_ep_attributes },
	{ "arguments of connect", kdatc_args_connect },
	{ "arguments of posts", kdatc_args_post },
	{ "arguments of LMRs", kdatc_args_lmr },
	{ "arguments of RMRs and SRQs", kdatc_args_rmr_srq },
	{ "arguments of PSPs", kdatc_args_psp },
	{ "arguments of RSPs and CSPs", kdatc_args_rsp_csp },
	{}
};
