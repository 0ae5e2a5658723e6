// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of kDAPL's conformance test: connections, requests and service points. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];

/* Private data ************************************************************** */

static const u8 *kdatc_conn_words(u8 seed)
{
	static u8 words[1024];
	unsigned int i;

	for (i = 0; i < sizeof(words); i++)
		words[i] = i * 3 + seed;
	return words;
}

/* A transport that does not carry the length pads with zeros. */
static bool kdatc_conn_is(const void *data, DAT_COUNT got, u8 seed, DAT_COUNT len)
{
	if (got < len || (len && !data) || memcmp(data, kdatc_conn_words(seed), len))
		return false;
	return !memchr_inv(data + len, 0, got - len);
}

static void kdatc_conn_data(DAT_COUNT there, DAT_COUNT back)
{
	DAT_CR_ARRIVAL_EVENT_DATA arrival;
	const DAT_CONNECTION_EVENT_DATA *conn;
	DAT_CR_PARAM param = {};
	DAT_EVENT event;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) || !kdatc_listen())
		return;
	KDATC_OK(kdatc_connect(client->ep, kdatc_conn_words(7), there));
	if (!kdatc_request(&arrival))
		return;
	KDATC_EXPECT(arrival.truncate_flag == DAT_FALSE);
	KDATC_EXPECT(arrival.conn_qual == kdatc.port);
	KDATC_EXPECT(arrival.local_ia_address_ptr &&
		     arrival.local_ia_address_ptr->sa_family == kdatc.remote.ss_family);
	if (kdatc_bed.psp)
		KDATC_EXPECT(arrival.sp_handle.psp_handle == kdatc_bed.psp);
	else
		KDATC_EXPECT(arrival.sp_handle.csp_handle == kdatc_bed.csp);
	KDATC_OK(dat_cr_query(arrival.cr_handle, DAT_CR_FIELD_ALL, &param));
	KDATC_EXPECT(kdatc_conn_is(param.private_data, param.private_data_size, 7, there));
	KDATC_EXPECT(!param.local_ep_handle && param.remote_port_qual);
	KDATC_EXPECT(param.remote_ia_address_ptr &&
		     param.remote_ia_address_ptr->sa_family == kdatc.remote.ss_family);
	KDATC_OK(dat_cr_accept(arrival.cr_handle, server->ep, back,
			       kdatc_conn_words(9)));
	KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event));
	conn = &event.event_data.connect_event_data;
	KDATC_EXPECT(kdatc_conn_is(conn->private_data, conn->private_data_size, 9, back));
	KDATC_EXPECT(kdatc_hears(server->conn, DAT_CONNECTION_EVENT_ESTABLISHED, NULL));
}

static void kdatc_conn_some_data(void)
{
	kdatc_conn_data(30, 40);
}

static void kdatc_conn_no_data(void)
{
	kdatc_conn_data(0, 0);
}

static void kdatc_conn_most_data(void)
{
	kdatc_conn_data(kdatc.provider.max_private_data_size,
			kdatc.provider.max_private_data_size);
}

static void kdatc_conn_too_much(void)
{
	const DAT_COUNT most = kdatc.provider.max_private_data_size;
	const void *words = kdatc_conn_words(1);
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) || !kdatc_listen())
		return;
	KDATC_OK(kdatc_connect(client->ep, NULL, 0));
	cr = kdatc_cr();
	if (!cr)
		return;
	KDATC_REFUSED(dat_cr_accept(cr, server->ep, most + 1, words), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_cr_accept(cr, server->ep, -1, words), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_cr_accept(cr, server->ep, 4, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG4);
	KDATC_REFUSED(dat_cr_accept(cr, server->pz, 0, NULL), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_EP);
	KDATC_REFUSED(dat_cr_accept(server->pz, server->ep, 0, NULL), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_CR);
	KDATC_REFUSED(dat_cr_reject(cr, most + 1, words), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_cr_query(cr, 0x100, &param), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	/* an endpoint that is connecting */
	KDATC_REFUSED(dat_cr_accept(cr, client->ep, 0, NULL), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_EP_ACTCONNPENDING);
	/* it is still good */
	KDATC_OK(dat_cr_accept(cr, server->ep, 0, NULL));
	kdatc_established(client, server);
	/* and used up now */
	KDATC_REFUSED(dat_cr_reject(cr, 0, NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
}

/* Attempts that fail ******************************************************** */

static void kdatc_conn_reject(void)
{
	const DAT_CONNECTION_EVENT_DATA *conn;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_listen())
		return;
	KDATC_OK(kdatc_connect(client->ep, NULL, 0));
	cr = kdatc_cr();
	if (!cr)
		return;
	KDATC_OK(dat_cr_reject(cr, 25, kdatc_conn_words(3)));
	KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_PEER_REJECTED, &event));
	conn = &event.event_data.connect_event_data;
	KDATC_EXPECT(conn->ep_handle == client->ep);
	KDATC_EXPECT(kdatc_conn_is(conn->private_data, conn->private_data_size, 3, 25));
	KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_DISCONNECTED);
	KDATC_OK(dat_ep_reset(client->ep));
}

static void kdatc_conn_nobody(void)
{
	DAT_EVENT event = {};

	if (!kdatc_side_open(client, NULL))
		return;
	KDATC_OK(dat_ep_connect(client->ep, (DAT_IA_ADDRESS_PTR)&kdatc.remote, kdatc.port + 5,
				KDATC_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	KDATC_OK(kdatc_next(client->conn, &event));
	KDATC_EXPECT(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
		     event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
	KDATC_EXPECT(event.event_data.connect_event_data.ep_handle == client->ep);
	KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_DISCONNECTED);
	KDATC_OK(dat_ep_reset(client->ep));
}

/* A request without an answer in time */
static void kdatc_conn_timeout(void)
{
	const unsigned long begin = jiffies;
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) || !kdatc_listen())
		return;
	if (kdatc_bed.psp)
		KDATC_OK(dat_ep_connect(client->ep, (DAT_IA_ADDRESS_PTR)&kdatc.remote, kdatc.port,
					300000, 0, NULL, DAT_QOS_BEST_EFFORT,
					DAT_CONNECT_DEFAULT_FLAG));
	else
		KDATC_OK(dat_ep_common_connect(client->ep, (DAT_IA_ADDRESS_PTR)&kdatc.remote,
					       300000, 0, NULL));
	cr = kdatc_cr();
	KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_TIMED_OUT, NULL));
	KDATC_EXPECT(time_after(jiffies, begin + msecs_to_jiffies(250)));
	KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_DISCONNECTED);
	/* too late: an error at once or an event, but no connection */
	if (cr && dat_cr_accept(cr, server->ep, 0, NULL) == DAT_SUCCESS) {
		DAT_EVENT event = {};

		KDATC_OK(kdatc_next(server->conn, &event));
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			KDATC_EXPECT(kdatc_ends(server, NULL));
		else
			KDATC_EXPECT(event.event_number ==
				     DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	} else if (cr) {
		dat_cr_reject(cr, 0, NULL);
	}
}

/* Other ways to connect ***************************************************** */

static void kdatc_conn_dup(void)
{
	struct kdatc_side *second = &kdatc_bed.client[1], *peer = &kdatc_bed.server[1];
	DAT_CR_HANDLE cr;

	if (!kdatc_pair_open(0, NULL, NULL) || !kdatc_side_open(second, NULL) ||
	    !kdatc_side_open(peer, NULL))
		return;
	/* an endpoint that is not connected */
	KDATC_TYPE(dat_ep_dup_connect(second->ep, peer->ep, KDATC_TIMEOUT, 0, NULL,
				      DAT_QOS_BEST_EFFORT), DAT_INVALID_STATE);
	KDATC_OK(dat_ep_dup_connect(second->ep, client->ep, KDATC_TIMEOUT, 0, NULL,
				    DAT_QOS_BEST_EFFORT));
	cr = kdatc_cr();
	if (cr && KDATC_OK(dat_cr_accept(cr, peer->ep, 0, NULL)) && kdatc_established(second, peer))
		kdatc_transfer(second, peer, 3000, 8);
}

/* The service point of an address, and dat_ep_common_connect() */
static void kdatc_conn_csp(void)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&kdatc.remote;
	DAT_COMM comm = { .domain = kdatc.remote.ss_family, .type = SOCK_STREAM,
			  .protocol = IPPROTO_TCP };
	DAT_CR_ARRIVAL_EVENT_DATA arrival;
	DAT_CSP_PARAM param = {};

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		return;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	if (!KDATC_OK(dat_csp_create(kdatc_bed.ia, &comm, address, kdatc_bed.request,
				     &kdatc_bed.csp)))
		return;
	KDATC_OK(dat_csp_query(kdatc_bed.csp, DAT_CSP_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.evd_handle == kdatc_bed.request);
	KDATC_EXPECT(param.comm && param.comm->domain == comm.domain);
	KDATC_EXPECT(param.address_ptr && param.address_ptr->sa_family == comm.domain);
	KDATC_OK(dat_ep_common_connect(client->ep, address, KDATC_TIMEOUT, 0, NULL));
	if (kdatc_request(&arrival)) {
		KDATC_EXPECT(arrival.sp_handle.csp_handle == kdatc_bed.csp);
		KDATC_OK(dat_cr_accept(arrival.cr_handle, server->ep, 0, NULL));
		kdatc_established(client, server);
	}
}

static void kdatc_conn_psp(void)
{
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_PARAM param = {};
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		return;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	if (!KDATC_OK(dat_psp_create_any(kdatc_bed.ia, &qual, kdatc_bed.request,
					 DAT_PSP_CONSUMER_FLAG, &kdatc_bed.psp)))
		return;
	KDATC_EXPECT(qual > 0 && qual < 65536);
	KDATC_OK(dat_psp_query(kdatc_bed.psp, DAT_PSP_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.conn_qual == qual &&
		     param.evd_handle == kdatc_bed.request &&
		     param.psp_flags == DAT_PSP_CONSUMER_FLAG);
	KDATC_OK(dat_ep_connect(client->ep, kdatc.attr.ia_address_ptr, qual, KDATC_TIMEOUT, 0,
				NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = kdatc_cr();
	if (cr && KDATC_OK(dat_cr_accept(cr, server->ep, 0, NULL)))
		kdatc_established(client, server);
}

/* The PSP is freed while a request waits: the request is still valid. */
static void kdatc_conn_psp_freed(void)
{
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) || !kdatc_listen())
		return;
	KDATC_OK(kdatc_connect(client->ep, NULL, 0));
	cr = kdatc_cr();
	if (kdatc_bed.psp)
		KDATC_OK(dat_psp_free(kdatc_bed.psp));
	else
		KDATC_OK(dat_csp_free(kdatc_bed.csp));
	kdatc_bed.psp = NULL;
	kdatc_bed.csp = NULL;
	if (cr && KDATC_OK(dat_cr_accept(cr, server->ep, 0, NULL)))
		kdatc_established(client, server);
}

static void kdatc_conn_rsp(void)
{
	DAT_CR_ARRIVAL_EVENT_DATA arrival;
	DAT_RSP_HANDLE rsp = NULL;
	DAT_RSP_PARAM param = {};
	DAT_CR_PARAM cr = {};

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		return;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	if (!KDATC_OK(dat_rsp_create(kdatc_bed.ia, kdatc.port + 1, server->ep, kdatc_bed.request,
				     &rsp)))
		return;
	KDATC_OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.conn_qual == kdatc.port + 1 &&
		     param.evd_handle == kdatc_bed.request && param.ep_handle == server->ep);
	KDATC_EXPECT(kdatc_state(server->ep) == DAT_EP_STATE_RESERVED);
	KDATC_OK(dat_ep_connect(client->ep, kdatc.attr.ia_address_ptr, kdatc.port + 1,
				KDATC_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	if (!kdatc_request(&arrival))
		return;
	KDATC_EXPECT(!arrival.sp_handle.rsp_handle);
	KDATC_EXPECT(kdatc_state(server->ep) == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	KDATC_OK(dat_cr_query(arrival.cr_handle, DAT_CR_FIELD_ALL, &cr));
	KDATC_EXPECT(cr.local_ep_handle == server->ep);
	/* no other endpoint */
	KDATC_TYPE(dat_cr_accept(arrival.cr_handle, client->ep, 0, NULL), DAT_INVALID_HANDLE);
	KDATC_OK(dat_cr_accept(arrival.cr_handle, NULL, 0, NULL));
	if (!kdatc_established(client, server))
		return;
	kdatc_transfer(client, server, 2000, 6);
	/* it is used up */
	KDATC_REFUSED(dat_rsp_free(rsp), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
}

/* An RSP's request is rejected: the endpoint is free again. */
static void kdatc_conn_rsp_reject(void)
{
	DAT_RSP_HANDLE rsp = NULL;
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		return;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	KDATC_OK(dat_rsp_create(kdatc_bed.ia, kdatc.port + 1, server->ep, kdatc_bed.request, &rsp));
	KDATC_OK(dat_ep_connect(client->ep, kdatc.attr.ia_address_ptr, kdatc.port + 1,
				KDATC_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	cr = kdatc_cr();
	if (!cr)
		return;
	KDATC_OK(dat_cr_reject(cr, 0, NULL));
	KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL));
	KDATC_EXPECT(kdatc_state(server->ep) == DAT_EP_STATE_UNCONNECTED);
}

/* An endpoint that the PSP provides is configured and accepts. */
static void kdatc_conn_provided(void)
{
	static const struct kdatc_opts no_ep = { .no_ep = true };
	DAT_EP_PARAM param;
	DAT_CR_PARAM cr_param = {};
	DAT_CR_HANDLE cr;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, &no_ep))
		return;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	if (!KDATC_OK(dat_psp_create(kdatc_bed.ia, kdatc.port, kdatc_bed.request,
				     DAT_PSP_PROVIDER_FLAG, &kdatc_bed.psp)))
		return;
	KDATC_OK(dat_ep_connect(client->ep, kdatc.attr.ia_address_ptr, kdatc.port, KDATC_TIMEOUT,
				0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = kdatc_cr();
	if (!cr)
		return;
	KDATC_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	if (!KDATC_EXPECT(cr_param.local_ep_handle))
		return;
	/* not before it is configured */
	KDATC_TYPE(dat_cr_accept(cr, cr_param.local_ep_handle, 0, NULL), DAT_INVALID_STATE);
	param = (DAT_EP_PARAM) {
		.pz_handle = server->pz,
		.recv_evd_handle = server->recv,
		.request_evd_handle = server->request,
		.connect_evd_handle = server->conn,
	};
	KDATC_OK(dat_ep_modify(cr_param.local_ep_handle, DAT_EP_FIELD_PZ_HANDLE |
			       DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			       DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	KDATC_EXPECT(kdatc_state(cr_param.local_ep_handle) ==
		     DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	if (!KDATC_OK(dat_cr_accept(cr, cr_param.local_ep_handle, 0, NULL)))
		return;
	server->ep = cr_param.local_ep_handle;
	if (kdatc_established(client, server))
		kdatc_transfer(client, server, 2000, 6);
}

static void kdatc_conn_handoff(void)
{
	DAT_EVD_HANDLE evd = NULL;
	DAT_PSP_HANDLE psp = NULL;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) || !kdatc_listen())
		return;
	evd = kdatc_evd(DAT_EVD_CR_FLAG);
	KDATC_OK(dat_psp_create(kdatc_bed.ia, kdatc.port + 2, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KDATC_OK(kdatc_connect(client->ep, kdatc_conn_words(5), 20));
	cr = kdatc_cr();
	if (cr) {
		KDATC_TYPE(dat_cr_handoff(cr, 65536), DAT_INVALID_PARAMETER);
		/* no such host */
		KDATC_TYPE(dat_cr_handoff(cr, kdatc.port + 6), DAT_INVALID_PARAMETER);
		KDATC_OK(dat_cr_handoff(cr, kdatc.port + 2));
		/* it is at the other service point */
		if (KDATC_EXPECT(kdatc_hears(evd, DAT_CONNECTION_REQUEST_EVENT, &event))) {
			KDATC_EXPECT(event.event_data.cr_arrival_event_data.sp_handle.psp_handle ==
				     psp);
			KDATC_OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
					       server->ep, 0, NULL));
			kdatc_established(client, server);
		}
	}
	KDATC_OK(dat_psp_free(psp));
	KDATC_OK(dat_evd_free(evd));
}

/* Ends ********************************************************************** */

/* A graceful end waits for what was posted. */
static void kdatc_conn_graceful(void)
{
	unsigned int i;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_fill(&client->mem, 17);
	for (i = 0; i < 8; i++) {
		KDATC_OK(kdatc_recv(server, i, i * 4096, 4096));
		KDATC_OK(kdatc_send(client, 100 + i, i * 4096, 4096, 0));
	}
	KDATC_OK(dat_ep_disconnect(client->ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (i = 0; i < 8; i++) {
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 100 + i, DAT_DTO_SEND, 4096));
		KDATC_EXPECT(kdatc_done(server->recv, server->ep, i, DAT_DTO_RECEIVE, 4096));
	}
	KDATC_EXPECT(kdatc_is(&server->mem, 0, 8 * 4096, 17, 0));
	KDATC_EXPECT(kdatc_ends(client, NULL) && kdatc_ends(server, NULL));
}

/* Both ends at the same time; each hears once. */
static void kdatc_conn_both_end(void)
{
	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	KDATC_OK(dat_ep_disconnect(client->ep, DAT_CLOSE_GRACEFUL_FLAG));
	/* it may have heard of the other's by now */
	dat_ep_disconnect(server->ep, DAT_CLOSE_ABRUPT_FLAG);
	KDATC_EXPECT(kdatc_ends(client, NULL) && kdatc_ends(server, NULL));
	KDATC_EXPECT(kdatc_silent(client->conn) && kdatc_silent(server->conn));
	KDATC_REFUSED(dat_ep_disconnect(client->ep, 9), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

static void kdatc_conn_ports(void)
{
	DAT_EP_PARAM near = {}, far = {};

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	KDATC_OK(dat_ep_query(client->ep, DAT_EP_FIELD_ALL, &near));
	KDATC_OK(dat_ep_query(server->ep, DAT_EP_FIELD_ALL, &far));
	KDATC_EXPECT(near.ep_state == DAT_EP_STATE_CONNECTED);
	KDATC_EXPECT(near.remote_port_qual == kdatc.port && far.local_port_qual == kdatc.port);
	KDATC_EXPECT(near.local_port_qual && near.local_port_qual == far.remote_port_qual);
	KDATC_EXPECT(near.local_ia_address_ptr && near.remote_ia_address_ptr);
	KDATC_EXPECT(near.remote_ia_address_ptr->sa_family == kdatc.remote.ss_family);
}

/* The server answers in the upcall of its receive ******************************* */

#define KDATC_CONN_ANSWERS	20

/**
 * struct kdatc_conn_early - what the server's upcall saw
 * @told: ESTABLISHED was in its queue
 * @answer: of the post
 * @came: the message did
 */
static struct kdatc_conn_early {
	bool told;
	DAT_RETURN answer;
	struct completion came;
} kdatc_conn_early;

static void kdatc_conn_received(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kdatc_conn_early *early = data;
	DAT_EVENT conn = {};

	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return;
	early->told = dat_evd_dequeue(server->conn, &conn) == DAT_SUCCESS &&
		      conn.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	early->answer = kdatc_send(server, 2, 0, 64, 0);
	complete(&early->came);
}

/* as soon as possible */
static void kdatc_conn_greet(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		KDATC_OK(kdatc_send(client, 1, 0, 64, 0));
}

static bool kdatc_conn_answered(struct kdatc_conn_early *early)
{
	DAT_CR_HANDLE cr;

	reinit_completion(&early->came);
	if (!KDATC_OK(kdatc_recv(server, 3, 0, 64)) || !KDATC_OK(kdatc_recv(client, 4, 0, 64)) ||
	    !KDATC_OK(kdatc_connect(client->ep, NULL, 0)))
		return false;
	cr = kdatc_cr();
	return cr && KDATC_OK(dat_cr_accept(cr, server->ep, 0, NULL)) &&
	       KDATC_EXPECT(wait_for_completion_timeout(&early->came, kdatc.patience)) &&
	       KDATC_EXPECT(early->told) && KDATC_OK(early->answer) &&
	       KDATC_EXPECT(kdatc_done(client->request, client->ep, 1, DAT_DTO_SEND, 64)) &&
	       KDATC_EXPECT(kdatc_done(server->request, server->ep, 2, DAT_DTO_SEND, 64)) &&
	       KDATC_EXPECT(kdatc_done(client->recv, client->ep, 4, DAT_DTO_RECEIVE, 64)) &&
	       KDATC_OK(dat_ep_disconnect(client->ep, DAT_CLOSE_GRACEFUL_FLAG)) &&
	       KDATC_EXPECT(kdatc_ends(server, NULL)) &&
	       KDATC_EXPECT(kdatc_becomes(client->ep, DAT_EP_STATE_DISCONNECTED)) &&
	       KDATC_OK(dat_ep_reset(client->ep)) && KDATC_OK(dat_ep_reset(server->ep));
}

/* The message comes about as soon as the connection does. */
static void kdatc_conn_answer(void)
{
	struct kdatc_conn_early *early = &kdatc_conn_early;
	const DAT_UPCALL_OBJECT upcall = {
		.instance_data = early,
		.upcall_func = kdatc_conn_received,
	};
	const struct kdatc_opts accepts = { .recv_upcall = &upcall };
	const struct kdatc_opts bare = { .no_ep = true };
	unsigned int i;

	init_completion(&early->came);
	if (!kdatc_side_open(client, &bare) || !KDATC_OK(dat_evd_free(client->conn)))
		return;
	client->conn = kdatc_upcall_evd(4, DAT_EVD_CONNECTION_FLAG, DAT_UPCALL_SINGLE_INSTANCE,
					kdatc_conn_greet, NULL);
	if (!client->conn || !kdatc_ep_open(client, NULL) || !kdatc_side_open(server, &accepts) ||
	    !kdatc_listen())
		return;
	for (i = 0; i < KDATC_CONN_ANSWERS; i++)
		if (!kdatc_conn_answered(early))
			return;
}

/* Each time that events are lost, that is reported once, until the consumer has made room. */
static void kdatc_conn_overflow(void)
{
	const DAT_EVENT software = { .event_number = DAT_SOFTWARE_EVENT };
	const struct kdatc_opts bare = { .no_ep = true };
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	unsigned int i;

	if (!kdatc_side_open(client, &bare) || !KDATC_OK(dat_evd_free(client->conn)))
		return;
	client->conn = kdatc_upcall_evd(1, DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG,
					DAT_UPCALL_DISABLE, NULL, NULL);
	if (!client->conn || !kdatc_ep_open(client, NULL) || !kdatc_side_open(server, NULL) ||
	    !kdatc_listen())
		return;
	for (i = 0; i < 3; i++) {
		KDATC_OK(dat_evd_post_se(client->conn, &software));
		KDATC_OK(kdatc_connect(client->ep, NULL, 0));
		cr = kdatc_cr();
		if (!cr || !KDATC_OK(dat_cr_accept(cr, server->ep, 0, NULL)) ||
		    !KDATC_EXPECT(kdatc_hears(server->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
					      NULL)) ||
		    !KDATC_EXPECT(kdatc_hears(kdatc_bed.async, DAT_ASYNC_ERROR_EVD_OVERFLOW,
					      &event)))
			return;
		KDATC_EXPECT(event.event_data.asynch_error_event_data.dat_handle == client->conn);
		/* the same loss goes on */
		KDATC_OK(dat_ep_disconnect(client->ep, DAT_CLOSE_GRACEFUL_FLAG));
		KDATC_EXPECT(kdatc_ends(server, NULL));
		KDATC_EXPECT(kdatc_becomes(client->ep, DAT_EP_STATE_DISCONNECTED));
		KDATC_EXPECT(kdatc_silent(kdatc_bed.async));
		KDATC_EXPECT(kdatc_hears(client->conn, DAT_SOFTWARE_EVENT, NULL));
		KDATC_EXPECT(kdatc_silent(client->conn));
		if (!KDATC_OK(dat_ep_reset(client->ep)) || !KDATC_OK(dat_ep_reset(server->ep)))
			return;
	}
}

const struct kdatc_check kdatc_conn_checks[] = {
	{ "connect and accept", kdatc_conn_some_data },
	{ "no private data", kdatc_conn_no_data },
	{ "most private data", kdatc_conn_most_data },
	{ "arguments of accept", kdatc_conn_too_much },
	{ "addresses and ports", kdatc_conn_ports },
	{ "rejected", kdatc_conn_reject },
	{ "nobody listens", kdatc_conn_nobody },
	{ "timeout", kdatc_conn_timeout },
	{ "connect as another", kdatc_conn_dup },
	{ "CSP", kdatc_conn_csp },
	{ "PSP on any port", kdatc_conn_psp },
	{ "PSP freed with a request", kdatc_conn_psp_freed },
	{ "RSP", kdatc_conn_rsp },
	{ "RSP rejects", kdatc_conn_rsp_reject },
	{ "EP of the provider", kdatc_conn_provided },
	{ "handoff", kdatc_conn_handoff },
	{ "graceful end", kdatc_conn_graceful },
	{ "both end", kdatc_conn_both_end },
	{ "answer in the upcall", kdatc_conn_answer },
	{ "EVD overflows again", kdatc_conn_overflow },
	{}
};
