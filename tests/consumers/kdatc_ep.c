// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of kDAPL's conformance test: the states of endpoints. For each state that lasts there is a
 * row of what each call answers.
 */
#include <linux/delay.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];

/* The answers of an endpoint's calls *************************************** */

#define KDATC_STATE(subtype)	KDATC_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_##subtype)
#define KDATC_UNTRIED		1	/* the call is not made in this state: it would change it */

/**
 * struct kdatc_ep_row - what calls answer in a state
 * @state: state
 * @connect: dat_ep_connect()
 * @disconnect: dat_ep_disconnect()
 * @send: dat_ep_post_send()
 * @recv: dat_ep_post_recv()
 * @modify: dat_ep_modify() of the protection zone
 * @reset: dat_ep_reset()
 * @rsp: dat_rsp_create()
 * @free: dat_ep_free()
 */
struct kdatc_ep_row {
	DAT_EP_STATE state;
	DAT_RETURN connect;
	DAT_RETURN disconnect;
	DAT_RETURN send;
	DAT_RETURN recv;
	DAT_RETURN modify;
	DAT_RETURN reset;
	DAT_RETURN rsp;
	DAT_RETURN free;
};

#define KDATC_CALL(call, wanted) do {							\
	if ((wanted) != KDATC_UNTRIED)							\
		kdatc_answers(call, wanted, ~0U, __FILE__, __LINE__, #call);		\
} while (0)

/* Make the calls of a row; none of them changes the state. */
static void kdatc_ep_row(struct kdatc_side *side, const struct kdatc_ep_row *row)
{
	const DAT_EP_PARAM param = { .pz_handle = side->pz };
	DAT_RSP_HANDLE rsp = NULL;

	if (!KDATC_EXPECT(kdatc_state(side->ep) == row->state))
		return;
	KDATC_CALL(kdatc_connect(side->ep, NULL, 0), row->connect);
	KDATC_CALL(dat_ep_disconnect(side->ep, DAT_CLOSE_ABRUPT_FLAG), row->disconnect);
	KDATC_CALL(kdatc_send(side, 1, 0, 8, DAT_COMPLETION_DEFAULT_FLAG), row->send);
	KDATC_CALL(kdatc_recv(side, 2, 0, 8), row->recv);
	KDATC_CALL(dat_ep_modify(side->ep, DAT_EP_FIELD_PZ_HANDLE, &param), row->modify);
	KDATC_CALL(dat_ep_reset(side->ep), row->reset);
	if (row->rsp != KDATC_UNTRIED && kdatc_bed.request)
		KDATC_CALL(dat_rsp_create(kdatc_bed.ia, kdatc.port + 3, side->ep,
					  kdatc_bed.request, &rsp), row->rsp);
	KDATC_EXPECT(!rsp);
	KDATC_CALL(dat_ep_free(side->ep), row->free);
	KDATC_EXPECT(kdatc_state(side->ep) == row->state);
}

static void kdatc_ep_unconfigured(void)
{
	static const struct kdatc_ep_row row = {
		.state = DAT_EP_STATE_UNCONFIGURED_UNCONNECTED,
		.connect = KDATC_STATE(PZ),
		.disconnect = KDATC_STATE(UNCONFIGURED),
		.send = KDATC_STATE(UNCONFIGURED),
		.recv = KDATC_STATE(UNCONFIGURED),
		.modify = KDATC_UNTRIED,
		.reset = KDATC_UNTRIED,
		.rsp = KDATC_UNTRIED,
		.free = KDATC_UNTRIED,
	};
	static const struct kdatc_opts no_ep = { .no_ep = true };
	const DAT_EP_ATTR attr = kdatc_ep_attr(&no_ep);
	DAT_EP_PARAM param = {};

	if (!kdatc_side_open(client, &no_ep) || !kdatc_side_open(server, NULL))
		return;
	KDATC_OK(dat_ep_create(kdatc_bed.ia, NULL, client->recv, client->request, client->conn,
			       &attr, &client->ep));
	kdatc_ep_row(client, &row);
	KDATC_OK(dat_ep_query(client->ep, DAT_EP_FIELD_ALL, &param));
	KDATC_EXPECT(!param.pz_handle);
	/* it gets what it lacks, and works */
	param.pz_handle = client->pz;
	KDATC_OK(dat_ep_modify(client->ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_UNCONNECTED);
	if (kdatc_sides_connect(client, server))
		kdatc_transfer(client, server, 4000, 3);
}

static void kdatc_ep_unconnected(void)
{
	static const struct kdatc_ep_row row = {
		.state = DAT_EP_STATE_UNCONNECTED,
		.connect = KDATC_UNTRIED,
		.disconnect = KDATC_STATE(UNCONNECTED),
		.send = KDATC_STATE(UNCONNECTED),
		.recv = DAT_SUCCESS,
		.modify = DAT_SUCCESS,
		.reset = DAT_SUCCESS,
		.rsp = KDATC_UNTRIED,
		.free = KDATC_UNTRIED,
	};

	if (!kdatc_side_open(client, NULL) || !kdatc_listen())
		return;
	kdatc_ep_row(client, &row);
}

static void kdatc_ep_reserved(void)
{
	static const struct kdatc_ep_row row = {
		.state = DAT_EP_STATE_RESERVED,
		.connect = KDATC_STATE(RESERVED),
		.disconnect = KDATC_STATE(RESERVED),
		.send = KDATC_STATE(RESERVED),
		.recv = DAT_SUCCESS,
		.modify = DAT_SUCCESS,
		.reset = KDATC_STATE(RESERVED),
		.rsp = KDATC_STATE(RESERVED),
		.free = KDATC_STATE(RESERVED),
	};
	DAT_RSP_HANDLE rsp = NULL;

	if (!kdatc_side_open(client, NULL) || !kdatc_listen())
		return;
	if (!KDATC_OK(dat_rsp_create(kdatc_bed.ia, kdatc.port + 1, client->ep, kdatc_bed.request,
				     &rsp)))
		return;
	kdatc_ep_row(client, &row);
	KDATC_OK(dat_rsp_free(rsp));
	KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_UNCONNECTED);
}

static void kdatc_ep_active(void)
{
	static const struct kdatc_ep_row row = {
		.state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		.connect = KDATC_STATE(ACTCONNPENDING),
		.disconnect = KDATC_UNTRIED,
		.send = KDATC_STATE(ACTCONNPENDING),
		.recv = DAT_SUCCESS,
		.modify = KDATC_STATE(ACTCONNPENDING),
		.reset = KDATC_STATE(ACTCONNPENDING),
		.rsp = KDATC_STATE(ACTCONNPENDING),
		.free = KDATC_UNTRIED,
	};
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_listen())
		return;
	KDATC_OK(kdatc_connect(client->ep, NULL, 0));
	cr = kdatc_cr();
	if (!cr)
		return;
	kdatc_ep_row(client, &row);
	/* the consumer changes its mind */
	KDATC_OK(dat_ep_disconnect(client->ep, DAT_CLOSE_ABRUPT_FLAG));
	KDATC_EXPECT(kdatc_ends(client, NULL));
	KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_DISCONNECTED);
	KDATC_OK(dat_cr_reject(cr, 0, NULL));
}

/* Freed while it connects: nothing is heard of it. */
static void kdatc_ep_free_active(void)
{
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) || !kdatc_listen())
		return;
	KDATC_OK(kdatc_connect(client->ep, NULL, 0));
	cr = kdatc_cr();
	if (KDATC_OK(dat_ep_free(client->ep)))
		client->ep = NULL;
	KDATC_EXPECT(kdatc_silent(client->conn));
	if (cr)
		KDATC_OK(dat_cr_reject(cr, 0, NULL));
}

static void kdatc_ep_connected(void)
{
	static const struct kdatc_ep_row row = {
		.state = DAT_EP_STATE_CONNECTED,
		.connect = KDATC_STATE(CONNECTED),
		.disconnect = KDATC_UNTRIED,
		.send = KDATC_UNTRIED,
		.recv = DAT_SUCCESS,
		.modify = KDATC_STATE(CONNECTED),
		.reset = KDATC_STATE(CONNECTED),
		.rsp = KDATC_STATE(CONNECTED),
		.free = KDATC_UNTRIED,
	};
	DAT_BOOLEAN recv_idle = DAT_TRUE, request_idle = DAT_FALSE;
	DAT_EP_STATE state;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_ep_row(client, &row);
	KDATC_OK(dat_ep_get_status(client->ep, &state, &recv_idle, &request_idle));
	KDATC_EXPECT(recv_idle == DAT_FALSE && request_idle == DAT_TRUE);
	/* its peer hears of it */
	if (KDATC_OK(dat_ep_free(client->ep)))
		client->ep = NULL;
	KDATC_EXPECT(kdatc_ends(server, NULL));
	KDATC_EXPECT(kdatc_silent(client->conn) && kdatc_silent(client->recv));
}

static void kdatc_ep_disconnected(void)
{
	static const struct kdatc_ep_row row = {
		.state = DAT_EP_STATE_DISCONNECTED,
		.connect = KDATC_STATE(DISCONNECTED),
		.disconnect = KDATC_UNTRIED,
		.send = DAT_SUCCESS,
		.recv = DAT_SUCCESS,
		.modify = KDATC_STATE(DISCONNECTED),
		.reset = KDATC_UNTRIED,
		.rsp = KDATC_STATE(DISCONNECTED),
		.free = KDATC_UNTRIED,
	};

	if (!kdatc_pair_open(0, NULL, NULL) ||
	    !kdatc_disconnect(client, server, DAT_CLOSE_ABRUPT_FLAG))
		return;
	kdatc_ep_row(client, &row);
	/* what is posted now is flushed */
	KDATC_EXPECT(kdatc_status(client->request, client->ep, 1, DAT_DTO_SEND, NULL) ==
		     DAT_DTO_ERR_FLUSHED);
	KDATC_EXPECT(kdatc_status(client->recv, client->ep, 2, DAT_DTO_RECEIVE, NULL) ==
		     DAT_DTO_ERR_FLUSHED);
}

/* An endpoint that a PSP provides, unconfigured, while the consumer has not answered */
static void kdatc_ep_tentative(void)
{
	DAT_EP_PARAM param = {};
	DAT_CR_PARAM cr_param = {};
	DAT_PSP_HANDLE psp = NULL;
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL))
		return;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	if (!KDATC_OK(dat_psp_create(kdatc_bed.ia, kdatc.port, kdatc_bed.request,
				     DAT_PSP_PROVIDER_FLAG, &psp)))
		return;
	kdatc_bed.psp = psp;
	KDATC_OK(dat_ep_connect(client->ep, kdatc.attr.ia_address_ptr, kdatc.port, KDATC_TIMEOUT,
				0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = kdatc_cr();
	if (!cr)
		return;
	KDATC_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	if (!KDATC_EXPECT(cr_param.local_ep_handle))
		return;
	KDATC_EXPECT(kdatc_state(cr_param.local_ep_handle) == DAT_EP_STATE_UNCONFIGURED_TENTATIVE);
	KDATC_REFUSED(dat_ep_free(cr_param.local_ep_handle), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_EP_UNCONFTENTATIVE);
	KDATC_REFUSED(dat_ep_connect(cr_param.local_ep_handle, kdatc.attr.ia_address_ptr,
				     kdatc.port, KDATC_TIMEOUT, 0, NULL, 0, 0),
		      DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONFTENTATIVE);
	KDATC_OK(dat_ep_query(cr_param.local_ep_handle, DAT_EP_FIELD_ALL, &param));
	KDATC_EXPECT(!param.pz_handle && !param.recv_evd_handle && !param.request_evd_handle);
	/* rejected: the endpoint is gone with the request */
	KDATC_OK(dat_cr_reject(cr, 0, NULL));
	KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL));
}

/* Reset and connect again *************************************************** */

static void kdatc_ep_reconnect(void)
{
	unsigned int i;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		return;
	for (i = 0; i < 5; i++) {
		if (!kdatc_sides_connect(client, server) ||
		    !kdatc_transfer(client, server, 5000, 1 + i) ||
		    !kdatc_transfer(server, client, 300, 50 + i) ||
		    !kdatc_disconnect(i % 2 ? client : server, i % 2 ? server : client,
				      i % 3 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG))
			return;
		KDATC_OK(dat_ep_reset(client->ep));
		KDATC_OK(dat_ep_reset(server->ep));
		KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_UNCONNECTED);
	}
}

/* Endpoints that were made for one connection each */
static void kdatc_ep_rounds(void)
{
	unsigned int i;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		return;
	for (i = 0; i < 200; i++) {
		if (!kdatc_sides_connect(client, server))
			return;
		if (i % 4 == 0 && !kdatc_transfer(client, server, 64, 1 + i))
			return;
		if (!kdatc_disconnect(client, server,
				      i % 2 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG))
			return;
		if (i % 2) {
			KDATC_OK(dat_ep_reset(client->ep));
			KDATC_OK(dat_ep_reset(server->ep));
			continue;
		}
		KDATC_OK(dat_ep_free(client->ep));
		KDATC_OK(dat_ep_free(server->ep));
		client->ep = NULL;
		server->ep = NULL;
		if (!kdatc_ep_open(client, NULL) || !kdatc_ep_open(server, NULL))
			return;
	}
	KDATC_EXPECT(kdatc_silent(client->conn) && kdatc_silent(server->conn));
	KDATC_EXPECT(kdatc_silent(kdatc_bed.request) && kdatc_silent(kdatc_bed.async));
}

const struct kdatc_check kdatc_ep_checks[] = {
	{ "EP unconfigured", kdatc_ep_unconfigured },
	{ "EP unconnected", kdatc_ep_unconnected },
	{ "EP reserved", kdatc_ep_reserved },
	{ "EP connecting", kdatc_ep_active },
	{ "EP freed while connecting", kdatc_ep_free_active },
	{ "EP connected", kdatc_ep_connected },
	{ "EP disconnected", kdatc_ep_disconnected },
	{ "EP tentative", kdatc_ep_tentative },
	{ "reset and reconnect", kdatc_ep_reconnect },
	{ "200 connections", kdatc_ep_rounds },
	{}
};
