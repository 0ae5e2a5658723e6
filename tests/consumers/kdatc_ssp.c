// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of kDAPL's conformance test: connected sockets become RDMA connections, as in RFC 7145.
 * The test connects two kernel sockets over the RNIC's address.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <net/sock.h>
#include <krdma/compat_net.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];

/* the sockets while they are the test's */
static struct socket *kdatc_ssp_near, *kdatc_ssp_far;

static void kdatc_ssp_release(struct socket **sock)
{
	if (*sock)
		sock_release(*sock);
	*sock = NULL;
}

static int kdatc_ssp_size(void)
{
	return kdatc.remote.ss_family == AF_INET ? sizeof(struct sockaddr_in) :
						   sizeof(struct sockaddr_in6);
}

static int kdatc_ssp_socket(struct socket **sock)
{
	return sock_create_kern(current->nsproxy->net_ns, kdatc.remote.ss_family, SOCK_STREAM,
				IPPROTO_TCP, sock);
}

/* Connect two sockets. The listener's port is any. */
static bool kdatc_ssp_connect(void)
{
	struct sockaddr_storage address = kdatc.remote;
	struct socket *listener = NULL;
	bool done = false;

	/* the place of the port is the same in both families */
	((struct sockaddr_in *)&address)->sin_port = 0;
	if (!KDATC_EXPECT(!kdatc_ssp_socket(&listener)))
		return false;
	if (KDATC_EXPECT(!kernel_bind(listener, (struct sockaddr_unsized *)&address,
				      kdatc_ssp_size())) &&
	    KDATC_EXPECT(!kernel_listen(listener, 1)) &&
	    KDATC_EXPECT(kernel_getsockname(listener, (struct sockaddr *)&address) > 0) &&
	    KDATC_EXPECT(!kdatc_ssp_socket(&kdatc_ssp_near)) &&
	    KDATC_EXPECT(!kernel_connect(kdatc_ssp_near, (struct sockaddr_unsized *)&address,
					 kdatc_ssp_size(), 0)))
		done = KDATC_EXPECT(!kernel_accept(listener, &kdatc_ssp_far, 0));
	sock_release(listener);
	return done;
}

static bool kdatc_ssp_supported(void)
{
	DAT_COUNT i;

	for (i = 0; i < kdatc.provider.num_provider_specific_attr; i++)
		if (!strcmp(kdatc.provider.provider_specific_attr[i].name, DAT_IW_ATTR_SSP))
			return true;
	return false;
}

static void kdatc_ssp_close(void)
{
	kdatc_ssp_release(&kdatc_ssp_near);
	kdatc_ssp_release(&kdatc_ssp_far);
}

/* Sides, sockets, and an SSP. Return: its handle; or NULL: an error, or there are no SSPs. */
static DAT_IW_SSP_HANDLE kdatc_ssp_open(bool with_ep, const void *last, DAT_COUNT len)
{
	DAT_IW_SSP_HANDLE ssp = NULL;
	DAT_RETURN ret;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL) ||
	    !kdatc_ssp_connect())
		return NULL;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	ret = dat_iw_ssp_create(kdatc_bed.ia, kdatc_ssp_far, with_ep ? server->ep : NULL,
				kdatc_bed.request, last, len, &ssp);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		KDATC_MISSING(!kdatc_ssp_supported(), ret);
		KDATC_TYPE(dat_iw_socket_connect(client->ep, kdatc_ssp_near, KDATC_TIMEOUT, 0,
						 NULL), DAT_MODEL_NOT_SUPPORTED);
		return NULL;
	}
	if (!KDATC_OK(ret))
		return NULL;
	/* the provider's from now on */
	kdatc_ssp_far = NULL;
	return ssp;
}

static void kdatc_ssp_transfer(bool with_ep)
{
	DAT_IW_SSP_PARAM param = {};
	DAT_CR_PARAM cr_param = {};
	DAT_IW_SSP_HANDLE ssp;
	DAT_HANDLE_TYPE type;
	DAT_CR_HANDLE cr;

	ssp = kdatc_ssp_open(with_ep, NULL, 0);
	if (!ssp)
		goto out;
	KDATC_OK(dat_get_handle_type(ssp, &type));
	KDATC_EXPECT((int)type == DAT_IW_HANDLE_TYPE_SSP);
	KDATC_OK(dat_iw_ssp_query(ssp, DAT_IW_SSP_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.evd_handle == kdatc_bed.request);
	KDATC_EXPECT(param.ep_handle == (with_ep ? server->ep : NULL) && param.socket_id);
	KDATC_EXPECT(param.ssp_state == DAT_IW_SSP_STATE_OPERATIONAL);
	if (with_ep)
		KDATC_EXPECT(kdatc_state(server->ep) == DAT_EP_STATE_RESERVED);
	if (!KDATC_OK(dat_iw_socket_connect(client->ep, kdatc_ssp_near, KDATC_TIMEOUT, 5,
					    "hello")))
		goto out;
	kdatc_ssp_near = NULL;
	cr = kdatc_cr();
	if (!cr)
		goto out;
	KDATC_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	KDATC_EXPECT(cr_param.private_data_size >= 5 && !memcmp(cr_param.private_data, "hello", 5));
	KDATC_EXPECT(cr_param.local_ep_handle == (with_ep ? server->ep : NULL));
	KDATC_OK(dat_cr_accept(cr, with_ep ? NULL : server->ep, 0, NULL));
	if (kdatc_established(client, server)) {
		kdatc_transfer(client, server, 30000, 3);
		kdatc_transfer(server, client, 64, 4);
		kdatc_disconnect(client, server, DAT_CLOSE_GRACEFUL_FLAG);
	}
	/* used up: it may be gone by itself */
	if (dat_get_handle_type(ssp, &type) == DAT_SUCCESS)
		KDATC_OK(dat_iw_ssp_free(ssp));
out:
	kdatc_ssp_close();
}

static void kdatc_ssp_any_ep(void)
{
	kdatc_ssp_transfer(false);
}

static void kdatc_ssp_own_ep(void)
{
	kdatc_ssp_transfer(true);
}

/* A last message in streaming mode arrives first, and then the transition does. */
static void kdatc_ssp_last_message(void)
{
	static const char last[] = "login response: full feature phase";
	struct msghdr msg = {};
	char got[sizeof(last)] = "";
	struct kvec vec = { .iov_base = got, .iov_len = sizeof(got) };
	DAT_IW_SSP_HANDLE ssp;
	DAT_CR_HANDLE cr;
	DAT_HANDLE_TYPE type;

	ssp = kdatc_ssp_open(true, last, sizeof(last));
	if (!ssp)
		goto out;
	KDATC_EXPECT(kernel_recvmsg(kdatc_ssp_near, &msg, &vec, 1, sizeof(got), MSG_WAITALL) ==
		     sizeof(last));
	KDATC_EXPECT(!memcmp(got, last, sizeof(last)));
	if (!KDATC_OK(dat_iw_socket_connect(client->ep, kdatc_ssp_near, KDATC_TIMEOUT, 0, NULL)))
		goto out;
	kdatc_ssp_near = NULL;
	cr = kdatc_cr();
	if (cr && KDATC_OK(dat_cr_accept(cr, NULL, 0, NULL)) && kdatc_established(client, server))
		kdatc_transfer(client, server, 1000, 3);
	if (dat_get_handle_type(ssp, &type) == DAT_SUCCESS)
		KDATC_OK(dat_iw_ssp_free(ssp));
out:
	kdatc_ssp_close();
}

/* Freed before there is a request: the endpoint is free again, the peer's socket ends. */
static void kdatc_ssp_freed(void)
{
	struct msghdr msg = {};
	DAT_IW_SSP_HANDLE ssp;
	struct kvec vec;
	char byte;
	int ret;

	ssp = kdatc_ssp_open(true, NULL, 0);
	if (!ssp)
		goto out;
	KDATC_TYPE(dat_ep_free(server->ep), DAT_INVALID_STATE);
	KDATC_OK(dat_iw_ssp_free(ssp));
	KDATC_EXPECT(kdatc_state(server->ep) == DAT_EP_STATE_UNCONNECTED);
	vec = (struct kvec){ .iov_base = &byte, .iov_len = 1 };
	ret = kernel_recvmsg(kdatc_ssp_near, &msg, &vec, 1, 1, 0);
	KDATC_EXPECT(ret == 0 || ret == -ECONNRESET);
out:
	kdatc_ssp_close();
}

/* The peer says something else than an MPA Request, or ends. */
static void kdatc_ssp_garbage(void)
{
	static const char garbage[] = "GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n";
	struct kvec vec = { .iov_base = (void *)garbage, .iov_len = sizeof(garbage) };
	struct msghdr msg = {};
	DAT_IW_SSP_HANDLE ssp;
	DAT_HANDLE_TYPE type;

	ssp = kdatc_ssp_open(true, NULL, 0);
	if (!ssp)
		goto out;
	KDATC_EXPECT(kernel_sendmsg(kdatc_ssp_near, &msg, &vec, 1, sizeof(garbage)) ==
		     sizeof(garbage));
	msleep(100);
	kdatc_ssp_release(&kdatc_ssp_near);
	KDATC_EXPECT(kdatc_silent(kdatc_bed.request));
	if (dat_get_handle_type(ssp, &type) == DAT_SUCCESS)
		KDATC_OK(dat_iw_ssp_free(ssp));
	KDATC_EXPECT(kdatc_becomes(server->ep, DAT_EP_STATE_UNCONNECTED));
out:
	kdatc_ssp_close();
}

/* The active side's Request gets no answer. */
static void kdatc_ssp_timeout(void)
{
	if (!kdatc_ssp_supported()) {
		kdatc.missing = true;
		return;
	}
	if (!kdatc_side_open(client, NULL) || !kdatc_ssp_connect())
		goto out;
	if (KDATC_OK(dat_iw_socket_connect(client->ep, kdatc_ssp_near, 300000, 0, NULL))) {
		kdatc_ssp_near = NULL;
		KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_TIMED_OUT, NULL));
		KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_DISCONNECTED);
	}
out:
	kdatc_ssp_close();
}

/* Sockets that are no good stay the caller's. */
static void kdatc_ssp_arguments(void)
{
	struct socket *loose = NULL;
	DAT_IW_SSP_HANDLE ssp = NULL;

	if (!kdatc_ssp_supported()) {
		kdatc.missing = true;
		return;
	}
	if (!kdatc_side_open(client, NULL) || !kdatc_ssp_connect() ||
	    !KDATC_EXPECT(!kdatc_ssp_socket(&loose)))
		goto out;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	KDATC_TYPE(dat_iw_ssp_create(kdatc_bed.ia, NULL, NULL, kdatc_bed.request, NULL, 0, &ssp),
		   DAT_INVALID_PARAMETER);
	KDATC_EXPECT(dat_iw_ssp_create(kdatc_bed.ia, loose, NULL, kdatc_bed.request, NULL, 0,
				       &ssp) != DAT_SUCCESS);
	KDATC_TYPE(dat_iw_ssp_create(kdatc_bed.ia, kdatc_ssp_far, client->pz, kdatc_bed.request,
				     NULL, 0, &ssp), DAT_INVALID_HANDLE);
	KDATC_TYPE(dat_iw_ssp_create(kdatc_bed.ia, kdatc_ssp_far, NULL, client->conn, NULL, 0,
				     &ssp), DAT_INVALID_HANDLE);
	KDATC_TYPE(dat_iw_ssp_create(kdatc_bed.ia, kdatc_ssp_far, NULL, kdatc_bed.request, NULL,
				     5, &ssp), DAT_INVALID_PARAMETER);
	KDATC_TYPE(dat_iw_ssp_create(kdatc_bed.ia, kdatc_ssp_far, NULL, kdatc_bed.request, NULL,
				     0, NULL), DAT_INVALID_PARAMETER);
	KDATC_TYPE(dat_iw_socket_connect(client->ep, NULL, 1000, 0, NULL), DAT_INVALID_PARAMETER);
	KDATC_EXPECT(dat_iw_socket_connect(client->ep, loose, 1000, 0, NULL) != DAT_SUCCESS);
	KDATC_TYPE(dat_iw_socket_connect(client->ep, kdatc_ssp_near, 1000, -1, NULL),
		   DAT_INVALID_PARAMETER);
	KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_UNCONNECTED && !ssp);
out:
	kdatc_ssp_release(&loose);
	kdatc_ssp_close();
}

const struct kdatc_check kdatc_ssp_checks[] = {
	{ "SSP", kdatc_ssp_any_ep },
	{ "SSP with an EP", kdatc_ssp_own_ep },
	{ "SSP's last message", kdatc_ssp_last_message },
	{ "SSP freed", kdatc_ssp_freed },
	{ "SSP and garbage", kdatc_ssp_garbage },
	{ "socket connect, timeout", kdatc_ssp_timeout },
	{ "arguments of SSPs", kdatc_ssp_arguments },
	{}
};
