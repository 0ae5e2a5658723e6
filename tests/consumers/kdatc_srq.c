// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of kDAPL's conformance test: shared receive queues, and the InfiniBand extension's
 * immediate data and atomic operations.
 */
#include <linux/delay.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];

/* Shared receive queues ***************************************************** */

#define KDATC_SRQ	16

static bool kdatc_srq_absent(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = KDATC_SRQ, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq = NULL;

	if (kdatc.provider.srq_supported)
		return false;
	if (KDATC_OK(dat_pz_create(kdatc_bed.ia, &client->pz)))
		KDATC_MISSING(!kdatc.attr.max_srqs,
			      dat_srq_create(kdatc_bed.ia, client->pz, &attr, &srq));
	return true;
}

/* Two connections whose servers share a queue; the second server borrows all but its endpoint. */
static bool kdatc_srq_pairs(void)
{
	static const struct kdatc_opts shared = { .srq = KDATC_SRQ };
	static const struct kdatc_opts no_ep = { .no_ep = true };
	struct kdatc_side *second = &kdatc_bed.server[1];
	const DAT_EP_ATTR attr = kdatc_ep_attr(&shared);

	return kdatc_pair_open(0, NULL, &shared) && kdatc_side_open(&kdatc_bed.client[1], NULL) &&
	       kdatc_side_open(second, &no_ep) &&
	       KDATC_OK(dat_ep_create_with_srq(kdatc_bed.ia, server->pz, server->recv,
					       second->request, second->conn, server->srq, &attr,
					       &second->ep)) &&
	       kdatc_sides_connect(&kdatc_bed.client[1], second);
}

/* The second endpoint uses objects of the first server. */
static void kdatc_srq_close(void)
{
	struct kdatc_side *second = &kdatc_bed.server[1];

	if (second->ep && KDATC_OK(dat_ep_free(second->ep)))
		second->ep = NULL;
}

static void kdatc_srq_two(void)
{
	struct kdatc_side *from;
	DAT_SRQ_PARAM param = {};
	unsigned int i, round;

	if (kdatc_srq_absent() || !kdatc_srq_pairs())
		goto out;
	KDATC_REFUSED(dat_srq_free(server->srq), DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	KDATC_REFUSED(dat_ep_post_recv(server->ep, 0, NULL, kdatc_cookie(1), 0), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_EP);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 10; i++)
			KDATC_OK(kdatc_recv(server, i, i * 1000, 1000));
		KDATC_OK(dat_srq_query(server->srq, DAT_SRQ_FIELD_ALL, &param));
		KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.pz_handle == server->pz);
		KDATC_EXPECT(param.srq_state == DAT_SRQ_STATE_OPERATIONAL);
		KDATC_EXPECT(param.max_recv_dtos >= KDATC_SRQ && param.max_recv_iov >= 2);
		KDATC_EXPECT(param.available_dto_count == 10 ||
			     param.available_dto_count == DAT_VALUE_UNKNOWN);
		KDATC_EXPECT(param.outstanding_dto_count == 10 ||
			     param.outstanding_dto_count == DAT_VALUE_UNKNOWN);
		for (i = 0; i < 10; i++) {
			from = &kdatc_bed.client[i % 2];
			kdatc_fill(&from->mem, 1 + i + round);
			KDATC_OK(kdatc_send(from, 50 + i, 0, 700, 0));
			KDATC_EXPECT(kdatc_done(from->request, from->ep, 50 + i, DAT_DTO_SEND,
						700));
			/* buffers go in order, the handle names the message's EP */
			if (!KDATC_EXPECT(kdatc_done(server->recv, kdatc_bed.server[i % 2].ep, i,
						     DAT_DTO_RECEIVE, 700)))
				goto out;
			KDATC_EXPECT(kdatc_is(&server->mem, i * 1000, 700, 1 + i + round, 0));
		}
	}
out:
	kdatc_srq_close();
}

/* One connection ends: the buffers stay for the other one. */
static void kdatc_srq_survives(void)
{
	unsigned int i;

	if (kdatc_srq_absent() || !kdatc_srq_pairs())
		goto out;
	for (i = 0; i < 4; i++)
		KDATC_OK(kdatc_recv(server, i, 0, 100));
	if (!kdatc_disconnect(client, server, DAT_CLOSE_ABRUPT_FLAG))
		goto out;
	KDATC_EXPECT(kdatc_silent(server->recv));
	for (i = 0; i < 4; i++) {
		KDATC_OK(kdatc_send(&kdatc_bed.client[1], i, 0, 100, 0));
		KDATC_EXPECT(kdatc_done(server->recv, kdatc_bed.server[1].ep, i, DAT_DTO_RECEIVE,
					100));
	}
out:
	kdatc_srq_close();
}

static void kdatc_srq_watermark(void)
{
	static const struct kdatc_opts shared = { .srq = KDATC_SRQ };
	const DAT_ASYNCH_ERROR_EVENT_DATA *error;
	DAT_EVENT event = {};
	unsigned int i;

	if (kdatc_srq_absent() || !kdatc_pair_open(0, NULL, &shared))
		return;
	for (i = 0; i < 8; i++)
		KDATC_OK(kdatc_recv(server, i, 0, 100));
	KDATC_REFUSED(dat_srq_set_lw(server->srq, -1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_srq_set_lw(server->srq, 100000000), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	if (!KDATC_OK(dat_srq_set_lw(server->srq, 4)))
		return;
	KDATC_EXPECT(kdatc_silent(kdatc_bed.async));
	for (i = 0; i < 6; i++) {
		KDATC_OK(kdatc_send(client, i, 0, 100, 0));
		KDATC_EXPECT(kdatc_done(server->recv, server->ep, i, DAT_DTO_RECEIVE, 100));
	}
	error = &event.event_data.asynch_error_event_data;
	KDATC_OK(kdatc_next(kdatc_bed.async, &event));
	KDATC_EXPECT(error->dat_handle == server->srq &&
		     error->reason == DAT_SRQ_LOW_WATERMARK_EVENT);
	/* once */
	KDATC_EXPECT(kdatc_silent(kdatc_bed.async));
}

static void kdatc_srq_resize(void)
{
	static const struct kdatc_opts shared = { .srq = KDATC_SRQ };
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_SRQ_PARAM param = {};
	unsigned int num = 0, i;

	if (kdatc_srq_absent() || !kdatc_pair_open(0, NULL, &shared))
		return;
	while (num < 5000 && (ret = kdatc_recv(server, num, 0, 100)) == DAT_SUCCESS)
		num++;
	KDATC_EXPECT(num >= KDATC_SRQ);
	KDATC_TYPE(ret, DAT_INSUFFICIENT_RESOURCES);
	ret = dat_srq_resize(server->srq, num + 20);
	/* not every RNIC can: it keeps what it has */
	if (ret == DAT_SUCCESS) {
		KDATC_OK(dat_srq_query(server->srq, DAT_SRQ_FIELD_ALL, &param));
		KDATC_EXPECT(param.max_recv_dtos >= num + 20);
		for (i = 0; i < 20; i++)
			KDATC_OK(kdatc_recv(server, num++, 0, 100));
	} else {
		KDATC_EXPECT(DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED ||
			     DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
	}
	KDATC_REFUSED(dat_srq_resize(server->srq, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_srq_resize(server->srq, -1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	for (i = 0; i < num; i++) {
		KDATC_OK(kdatc_send(client, i, 0, 100, 0));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, i, DAT_DTO_SEND, 100));
		if (!KDATC_EXPECT(kdatc_done(server->recv, server->ep, i, DAT_DTO_RECEIVE, 100)))
			return;
	}
}

static void kdatc_srq_ep_watermark(void)
{
	DAT_RETURN ret;

	if (!kdatc_side_open(client, NULL))
		return;
	/* an endpoint without a shared queue has none */
	ret = dat_ep_set_watermark(client->ep, 4, 8);
	KDATC_EXPECT(DAT_GET_TYPE(ret) == DAT_INVALID_STATE ||
		     DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED);
}

/* The InfiniBand extension ************************************************** */

static const char *kdatc_srq_named(const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < kdatc.provider.num_provider_specific_attr; i++)
		if (!strcmp(kdatc.provider.provider_specific_attr[i].name, name))
			return kdatc.provider.provider_specific_attr[i].value;
	return NULL;
}

static bool kdatc_srq_ext_event(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, u64 cookie, int op,
				DAT_IB_EXT_TYPE type, DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!KDATC_EXPECT(kdatc_hears(evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT, &event)))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	memcpy(ext, event.event_extension_data, sizeof(*ext));
	return KDATC_EXPECT(dto->ep_handle == ep && dto->user_cookie.as_64 == cookie) &&
	       KDATC_EXPECT((int)dto->operation == op) &&
	       KDATC_EXPECT(dto->status == DAT_DTO_SUCCESS) &&
	       KDATC_EXPECT(ext->type == type && ext->status == DAT_OP_SUCCESS);
}

static void kdatc_srq_immediate(void)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_LMR_TRIPLET near;
	DAT_RMR_TRIPLET far;
	DAT_RETURN ret;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_fill(&client->mem, 91);
	near = kdatc_near(&client->mem, 0, 6000);
	far = kdatc_far(&server->mem, 10, 6000);
	KDATC_OK(kdatc_recv(server, 1, 30000, 100));
	ret = dat_ib_post_rdma_write_immed(client->ep, 1, &near, kdatc_cookie(2), &far, 0x1234abcd,
					   DAT_COMPLETION_DEFAULT_FLAG);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		KDATC_MISSING(!kdatc_srq_named(DAT_IB_ATTR_IMMED_DATA), ret);
		/* a request that is refused leaves nothing in the queue */
		KDATC_OK(kdatc_send(client, 3, 0, 100, 0));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 3, DAT_DTO_SEND, 100));
		KDATC_EXPECT(kdatc_done(server->recv, server->ep, 1, DAT_DTO_RECEIVE, 100));
		return;
	}
	if (!KDATC_OK(ret))
		return;
	kdatc_srq_ext_event(client->request, client->ep, 2, DAT_IB_DTO_RDMA_WRITE_IMMED,
			    DAT_IB_RDMA_WRITE_IMMED, &ext);
	if (kdatc_srq_ext_event(server->recv, server->ep, 1, DAT_IB_DTO_RECV_IMMED,
				DAT_IB_RDMA_WRITE_IMMED_DATA, &ext))
		KDATC_EXPECT(ext.val.immed.data == 0x1234abcd);
	KDATC_EXPECT(kdatc_is(&server->mem, 10, 6000, 91, 0));
	KDATC_EXPECT(!server->mem.va[30000]);
	KDATC_REFUSED(dat_ib_post_rdma_write_immed(client->pz, 1, &near, kdatc_cookie(2), &far, 1,
						   0), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

static void kdatc_srq_atomics(void)
{
	static const struct kdatc_opts atomic = {
		.priv = (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG |
					     (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC),
	};
	const bool some = kdatc_srq_named(DAT_IB_ATTR_FETCH_AND_ADD);
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_LMR_TRIPLET near;
	DAT_RMR_TRIPLET far;
	u64 *word, *old;
	DAT_RETURN ret;

	if (!kdatc_pair_open(0, NULL, some ? &atomic : NULL))
		return;
	word = (u64 *)server->mem.va;
	old = (u64 *)client->mem.va;
	near = kdatc_near(&client->mem, 0, 8);
	far = kdatc_far(&server->mem, 0, 8);
	word[0] = 41;
	ret = dat_ib_post_fetch_and_add(client->ep, 1, &near, kdatc_cookie(1), &far, 0);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		KDATC_MISSING(!some, ret);
		return;
	}
	if (!KDATC_OK(ret))
		return;
	kdatc_srq_ext_event(client->request, client->ep, 1, DAT_IB_DTO_FETCH_ADD,
			    DAT_IB_FETCH_AND_ADD, &ext);
	KDATC_EXPECT(word[0] == 42 && old[0] == 41);
	KDATC_OK(dat_ib_post_cmp_and_swap(client->ep, 42, 99, &near, kdatc_cookie(2), &far, 0));
	kdatc_srq_ext_event(client->request, client->ep, 2, DAT_IB_DTO_CMP_SWAP,
			    DAT_IB_CMP_AND_SWAP, &ext);
	KDATC_EXPECT(word[0] == 99 && old[0] == 42);
	KDATC_OK(dat_ib_post_cmp_and_swap(client->ep, 42, 7, &near, kdatc_cookie(3), &far, 0));
	kdatc_srq_ext_event(client->request, client->ep, 3, DAT_IB_DTO_CMP_SWAP,
			    DAT_IB_CMP_AND_SWAP, &ext);
	KDATC_EXPECT(word[0] == 99 && old[0] == 99 && !word[1] && !old[1]);
	/* other lengths make no sense */
	near.segment_length = 4;
	KDATC_EXPECT(dat_ib_post_fetch_and_add(client->ep, 1, &near, kdatc_cookie(4), &far, 0) !=
		     DAT_SUCCESS);
}

/* Operations that are not there, and handles that are not theirs */
static void kdatc_srq_other_ops(void)
{
	if (!kdatc_side_open(client, NULL))
		return;
	KDATC_EXPECT(DAT_GET_TYPE(dat_extension_op(client->ep, 77)) != 0);
	KDATC_EXPECT(DAT_GET_TYPE(dat_extension_op(kdatc_bed.ia, 77)) != 0);
	KDATC_TYPE(dat_extension_op(NULL, DAT_IB_FETCH_AND_ADD_OP), DAT_INVALID_HANDLE);
}

const struct kdatc_check kdatc_srq_checks[] = {
	{ "SRQ of two EPs", kdatc_srq_two },
	{ "SRQ survives an EP", kdatc_srq_survives },
	{ "SRQ low watermark", kdatc_srq_watermark },
	{ "SRQ resize", kdatc_srq_resize },
	{ "EP watermark", kdatc_srq_ep_watermark },
	{ "immediate data", kdatc_srq_immediate, true },
	{ "atomic operations", kdatc_srq_atomics, true },
	{ "unknown operations", kdatc_srq_other_ops, true },
	{}
};
