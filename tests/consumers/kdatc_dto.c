// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of kDAPL's conformance test: data transfers and their completions. */
#include <linux/delay.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];

/* Messages ****************************************************************** */

static void kdatc_dto_sizes(void)
{
	static const u32 sizes[] = { 1, 7, 64, 1460, 4096, 20000, KDATC_SIZE };
	unsigned int i;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (!kdatc_transfer(client, server, sizes[i], 1 + i) ||
		    !kdatc_transfer(server, client, sizes[i], 31 + i))
			return;
}

/* Messages without bytes: no segments, and segments that name nothing */
static void kdatc_dto_empty(void)
{
	DAT_LMR_TRIPLET nothing[2] = {
		{ .virtual_address = ~0ULL, .segment_length = 0, .lmr_context = 0xdeadbeef },
		{ .virtual_address = 1, .segment_length = 0, .lmr_context = 0 },
	};

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	KDATC_OK(dat_ep_post_recv(server->ep, 0, NULL, kdatc_cookie(1), 0));
	KDATC_OK(dat_ep_post_recv(server->ep, 2, nothing, kdatc_cookie(2), 0));
	KDATC_OK(dat_ep_post_send(client->ep, 0, NULL, kdatc_cookie(3), 0));
	KDATC_OK(dat_ep_post_send(client->ep, 2, nothing, kdatc_cookie(4), 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 3, DAT_DTO_SEND, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 4, DAT_DTO_SEND, 0));
	KDATC_EXPECT(kdatc_done(server->recv, server->ep, 1, DAT_DTO_RECEIVE, 0));
	KDATC_EXPECT(kdatc_done(server->recv, server->ep, 2, DAT_DTO_RECEIVE, 0));
}

static void kdatc_dto_segments(void)
{
	DAT_LMR_TRIPLET from[2], to[2];

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_fill(&client->mem, 21);
	from[0] = kdatc_near(&client->mem, 3000, 1000);
	from[1] = kdatc_near(&client->mem, 100, 77);
	to[0] = kdatc_near(&server->mem, 9000, 500);
	to[1] = kdatc_near(&server->mem, 1, 4000);
	KDATC_OK(dat_ep_post_recv(server->ep, 2, to, kdatc_cookie(1), 0));
	KDATC_OK(dat_ep_post_send(client->ep, 2, from, kdatc_cookie(2), 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 2, DAT_DTO_SEND, 1077));
	KDATC_EXPECT(kdatc_done(server->recv, server->ep, 1, DAT_DTO_RECEIVE, 1077));
	KDATC_EXPECT(kdatc_is(&server->mem, 9000, 500, 21, 3000));
	KDATC_EXPECT(kdatc_is(&server->mem, 1, 500, 21, 3500));
	KDATC_EXPECT(kdatc_is(&server->mem, 501, 77, 21, 100));
	/* no byte more */
	KDATC_EXPECT(!server->mem.va[578] && !server->mem.va[9500]);
}

/* RDMA ********************************************************************** */

static void kdatc_dto_write_read(const struct kdatc_opts *opts)
{
	DAT_RMR_TRIPLET far;

	if (!kdatc_pair_open(0, opts, opts))
		return;
	kdatc_fill(&client->mem, 41);
	far = kdatc_far(&server->mem, 1000, 30000);
	KDATC_OK(kdatc_write(client, 1, 17, 30000, &far, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 1, DAT_DTO_RDMA_WRITE, 30000));
	if (!kdatc_sync(client, server))
		return;
	KDATC_EXPECT(kdatc_is(&server->mem, 1000, 30000, 41, 17));
	KDATC_EXPECT(!server->mem.va[999] && !server->mem.va[31000]);
	kdatc_fill(&client->mem, 0);
	KDATC_OK(kdatc_read(client, 2, 5, 30000, &far, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 2, DAT_DTO_RDMA_READ, 30000));
	KDATC_EXPECT(kdatc_is(&client->mem, 5, 30000, 41, 17));
}

static void kdatc_dto_rdma(void)
{
	kdatc_dto_write_read(NULL);
}

static void kdatc_dto_rdma_zb(void)
{
	static const struct kdatc_opts zb = { .va_type = DAT_VA_TYPE_ZB };

	kdatc_dto_write_read(&zb);
}

/* More reads than may be under way at once, and writes between them */
static void kdatc_dto_many(void)
{
	DAT_RMR_TRIPLET far;
	unsigned int i;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_fill(&server->mem, 51);
	for (i = 0; i < 12; i++) {
		far = kdatc_far(&server->mem, i * 4096, 4096);
		KDATC_OK(kdatc_read(client, i, i * 4096, 4096, &far, 0));
	}
	for (i = 0; i < 12; i++)
		KDATC_EXPECT(kdatc_done(client->request, client->ep, i, DAT_DTO_RDMA_READ, 4096));
	KDATC_EXPECT(kdatc_is(&client->mem, 0, 12 * 4096, 51, 0));
}

static void kdatc_dto_read_to_rmr(void)
{
	DAT_RMR_TRIPLET near, far;
	DAT_RETURN ret;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_fill(&server->mem, 61);
	near = kdatc_far(&client->mem, 300, 5000);
	far = kdatc_far(&server->mem, 700, 5000);
	ret = dat_ep_post_rdma_read_to_rmr(client->ep, &near, kdatc_cookie(8), &far, 0);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		KDATC_MISSING(kdatc.provider.rdma_read_lmr_rmr_context_exposure == DAT_FALSE, ret);
		return;
	}
	KDATC_OK(ret);
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 8, DAT_DTO_RDMA_READ, 5000));
	KDATC_EXPECT(kdatc_is(&client->mem, 300, 5000, 61, 700));
}

/* A send that is fenced takes the bytes that the read brings. */
static void kdatc_dto_fence(void)
{
	static const struct kdatc_opts opts = {
		.request_flags = DAT_COMPLETION_BARRIER_FENCE_FLAG,
	};
	DAT_RMR_TRIPLET far;
	unsigned int i;

	if (!kdatc_pair_open(0, &opts, NULL))
		return;
	for (i = 0; i < 10; i++) {
		kdatc_fill(&client->mem, 0);
		kdatc_fill(&server->mem, 71 + i);
		far = kdatc_far(&server->mem, 0, 20000);
		KDATC_OK(kdatc_recv(server, 1, 30000, 20000));
		KDATC_OK(kdatc_read(client, 2, 0, 20000, &far, 0));
		KDATC_OK(kdatc_send(client, 3, 0, 20000, DAT_COMPLETION_BARRIER_FENCE_FLAG));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 2, DAT_DTO_RDMA_READ, 20000));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 3, DAT_DTO_SEND, 20000));
		KDATC_EXPECT(kdatc_done(server->recv, server->ep, 1, DAT_DTO_RECEIVE, 20000));
		if (!KDATC_EXPECT(kdatc_is(&server->mem, 30000, 20000, 71 + i, 0)))
			return;
	}
}

/* A read that is fenced, too, with reads ahead of it and requests behind it */
static void kdatc_dto_fenced_read(void)
{
	DAT_RMR_TRIPLET far;
	unsigned int i;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_fill(&server->mem, 37);
	for (i = 0; i < 3; i++) {
		far = kdatc_far(&server->mem, i * 8000, 8000);
		KDATC_OK(kdatc_read(client, i, i * 8000, 8000, &far,
				    i ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0));
	}
	for (i = 0; i < 3; i++)
		KDATC_EXPECT(kdatc_done(client->request, client->ep, i, DAT_DTO_RDMA_READ, 8000));
	KDATC_EXPECT(kdatc_is(&client->mem, 0, 3 * 8000, 37, 0));
	kdatc_transfer(client, server, 3000, 38);
}

/* Completion flags ********************************************************** */

static void kdatc_dto_suppress(void)
{
	static const struct kdatc_opts opts = { .request_flags = DAT_COMPLETION_SUPPRESS_FLAG };
	unsigned int i, round;

	if (!kdatc_pair_open(0, &opts, NULL))
		return;
	/* so often that places of the queue must have come back */
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 8; i++) {
			KDATC_OK(kdatc_recv(server, i, 64 * i, 64));
			KDATC_OK(kdatc_send(client, i, 64 * i, 64,
					    i < 7 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
		}
		/* the only event is the last one's */
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 7, DAT_DTO_SEND, 64));
		for (i = 0; i < 8; i++)
			KDATC_EXPECT(kdatc_done(server->recv, server->ep, i, DAT_DTO_RECEIVE, 64));
	}
	KDATC_EXPECT(kdatc_silent(client->request));
	/* a failure is reported all the same */
	if (!kdatc_disconnect(client, server, DAT_CLOSE_ABRUPT_FLAG))
		return;
	KDATC_OK(kdatc_send(client, 99, 0, 64, DAT_COMPLETION_SUPPRESS_FLAG));
	KDATC_EXPECT(kdatc_status(client->request, client->ep, 99, DAT_DTO_SEND, NULL) ==
		     DAT_DTO_ERR_FLUSHED);
}

struct kdatc_dto_calls {
	atomic_t calls;
	u64 cookies[8];
	DAT_DTO_COMPLETION_STATUS status;
};

static void kdatc_dto_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct kdatc_dto_calls *calls = data;
	int n = atomic_read(&calls->calls);

	if (n < ARRAY_SIZE(calls->cookies))
		calls->cookies[n] = dto->user_cookie.as_64;
	calls->status = dto->status;
	atomic_inc(&calls->calls);
}

static bool kdatc_dto_called(struct kdatc_dto_calls *calls, int num)
{
	const unsigned long end = jiffies + kdatc.patience;

	while (atomic_read(&calls->calls) < num) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

static void kdatc_dto_unsignalled(void)
{
	struct kdatc_dto_calls calls = {};
	const DAT_UPCALL_OBJECT upcall = { .instance_data = &calls,
					   .upcall_func = kdatc_dto_upcall };
	const struct kdatc_opts opts = {
		.request_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.request_upcall = &upcall,
	};

	if (kdatc_pair_open(0, &opts, NULL)) {
		KDATC_OK(kdatc_recv(server, 1, 0, 64));
		KDATC_OK(kdatc_recv(server, 2, 0, 64));
		KDATC_OK(kdatc_send(client, 3, 0, 64, DAT_COMPLETION_UNSIGNALLED_FLAG));
		KDATC_EXPECT(kdatc_done(server->recv, server->ep, 1, DAT_DTO_RECEIVE, 64));
		msleep(50);
		KDATC_EXPECT(!atomic_read(&calls.calls));
		/* the next one brings both */
		KDATC_OK(kdatc_send(client, 4, 0, 64, 0));
		KDATC_EXPECT(kdatc_dto_called(&calls, 2));
		KDATC_EXPECT(calls.cookies[0] == 3 && calls.cookies[1] == 4);
	}
	/* the upcall's data is on the stack */
	kdatc_side_close(client);
}

static void kdatc_dto_solicited(void)
{
	struct kdatc_dto_calls calls = {};
	const DAT_UPCALL_OBJECT upcall = { .instance_data = &calls,
					   .upcall_func = kdatc_dto_upcall };
	static const struct kdatc_opts sender = {
		.request_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	const struct kdatc_opts opts = {
		.recv_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		.recv_upcall = &upcall,
	};

	if (kdatc_pair_open(0, &sender, &opts)) {
		KDATC_OK(kdatc_recv(server, 1, 0, 64));
		KDATC_OK(kdatc_recv(server, 2, 0, 64));
		KDATC_OK(kdatc_send(client, 3, 0, 64, 0));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 3, DAT_DTO_SEND, 64));
		msleep(50);
		KDATC_EXPECT(!atomic_read(&calls.calls));
		KDATC_OK(kdatc_send(client, 4, 0, 64, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
		KDATC_EXPECT(kdatc_dto_called(&calls, 2));
		KDATC_EXPECT(calls.cookies[0] == 1 && calls.cookies[1] == 2);
	}
	kdatc_side_close(server);
}

/* Receives in upcalls, without an event lost */
static void kdatc_dto_upcalls(void)
{
	struct kdatc_dto_calls calls = {};
	const DAT_UPCALL_OBJECT upcall = { .instance_data = &calls,
					   .upcall_func = kdatc_dto_upcall };
	const struct kdatc_opts opts = { .recv_upcall = &upcall };
	unsigned int i, n;

	if (kdatc_pair_open(0, NULL, &opts)) {
		for (n = 0; n < 20; n++) {
			for (i = 0; i < 10; i++)
				KDATC_OK(kdatc_recv(server, i, 0, 64));
			for (i = 0; i < 10; i++)
				KDATC_OK(kdatc_send(client, i, 0, 64, 0));
			for (i = 0; i < 10; i++)
				KDATC_EXPECT(kdatc_done(client->request, client->ep, i,
							DAT_DTO_SEND, 64));
			if (!KDATC_EXPECT(kdatc_dto_called(&calls, 10 * (n + 1))))
				break;
		}
		KDATC_EXPECT(atomic_read(&calls.calls) == 200 && calls.status == DAT_DTO_SUCCESS);
	}
	kdatc_side_close(server);
}

/* Errors ******************************************************************** */

/* Receives that wait when the connection ends: operation and cookie are known, in order. */
static void kdatc_dto_flush(void)
{
	unsigned int i;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	for (i = 0; i < 6; i++) {
		KDATC_OK(kdatc_recv(client, 10 + i, 0, 64));
		KDATC_OK(kdatc_recv(server, 20 + i, 0, 64));
	}
	if (!kdatc_disconnect(client, server, DAT_CLOSE_ABRUPT_FLAG))
		return;
	for (i = 0; i < 6; i++) {
		KDATC_EXPECT(kdatc_status(client->recv, client->ep, 10 + i, DAT_DTO_RECEIVE,
					  NULL) == DAT_DTO_ERR_FLUSHED);
		KDATC_EXPECT(kdatc_status(server->recv, server->ep, 20 + i, DAT_DTO_RECEIVE,
					  NULL) == DAT_DTO_ERR_FLUSHED);
	}
	KDATC_EXPECT(kdatc_silent(client->recv) && kdatc_silent(server->recv));
}

/* Receives that were posted before there was a connection */
static void kdatc_dto_early(void)
{
	unsigned int i;

	if (!kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		return;
	for (i = 0; i < 4; i++)
		KDATC_OK(kdatc_recv(server, i, i * 1000, 1000));
	if (!kdatc_sides_connect(client, server))
		return;
	kdatc_fill(&client->mem, 81);
	for (i = 0; i < 4; i++)
		KDATC_OK(kdatc_send(client, i, i * 1000, 1000, 0));
	for (i = 0; i < 4; i++) {
		KDATC_EXPECT(kdatc_done(client->request, client->ep, i, DAT_DTO_SEND, 1000));
		KDATC_EXPECT(kdatc_done(server->recv, server->ep, i, DAT_DTO_RECEIVE, 1000));
	}
	KDATC_EXPECT(kdatc_is(&server->mem, 0, 4000, 81, 0));
}

static void kdatc_dto_too_long(void)
{
	DAT_EVENT event;
	int status;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	KDATC_OK(kdatc_recv(server, 1, 0, 100));
	KDATC_OK(kdatc_send(client, 2, 0, 101, 0));
	status = kdatc_status(server->recv, server->ep, 1, DAT_DTO_RECEIVE, &event);
	/* not every RNIC reports the reason */
	KDATC_EXPECT(status > DAT_DTO_SUCCESS);
	status = kdatc_status(client->request, client->ep, 2, DAT_DTO_SEND, &event);
	KDATC_EXPECT(kdatc_iwarp() ? status >= 0 : status > DAT_DTO_SUCCESS);
	if (kdatc_iwarp())
		KDATC_EXPECT(kdatc_ends(client, NULL) && kdatc_ends(server, NULL));
	KDATC_EXPECT(!server->mem.va[100]);
}

/* As many as were asked for; the next one has no place, and is not lost silently. */
static void kdatc_dto_full(void)
{
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int i, num = 0;
	DAT_EVENT event;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	while (num < 5000 && (ret = kdatc_recv(client, num, 0, 64)) == DAT_SUCCESS)
		num++;
	KDATC_EXPECT(num >= KDATC_QUEUE);
	KDATC_TYPE(ret, DAT_INSUFFICIENT_RESOURCES);
	/* RFC 5044: the passive side waits for the first message */
	if (!kdatc_sync(client, server))
		return;
	for (i = 0; i < num; i++) {
		KDATC_OK(kdatc_send(server, i, 0, 64, 0));
		KDATC_EXPECT(kdatc_done(server->request, server->ep, i, DAT_DTO_SEND, 64));
	}
	for (i = 0; i < num; i++)
		if (!KDATC_EXPECT(kdatc_done(client->recv, client->ep, i, DAT_DTO_RECEIVE, 64)))
			return;
	/* requests: those that fail are the ones that were not taken */
	for (i = 0, num = 0; i < 200; i++) {
		DAT_RMR_TRIPLET far = kdatc_far(&server->mem, 0, 1000);

		ret = kdatc_write(client, num, 0, 1000, &far, 0);
		if (ret == DAT_SUCCESS)
			num++;
		else
			KDATC_TYPE(ret, DAT_INSUFFICIENT_RESOURCES);
	}
	KDATC_EXPECT(num >= KDATC_QUEUE);
	for (i = 0; i < num; i++) {
		KDATC_EXPECT(kdatc_hears(client->request, DAT_DTO_COMPLETION_EVENT, &event));
		if (!KDATC_EXPECT(event.event_data.dto_completion_event_data.user_cookie.as_64 ==
				  i))
			return;
	}
	KDATC_EXPECT(kdatc_silent(client->request));
}

/* One EVD takes everything of both sides. */
static void kdatc_dto_one_evd(void)
{
	static const struct kdatc_opts no_ep = { .no_ep = true };
	DAT_EVD_HANDLE evd;
	DAT_EP_ATTR attr = kdatc_ep_attr(&no_ep);
	DAT_EVENT event;
	unsigned int i;
	int seen[DAT_DTO_RECEIVE + 1] = {};

	if (!kdatc_side_open(client, &no_ep) || !kdatc_side_open(server, NULL))
		return;
	evd = kdatc_evd(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CONNECTION_FLAG);
	if (!KDATC_OK(dat_ep_create(kdatc_bed.ia, client->pz, evd, evd, evd, &attr, &client->ep)))
		return;
	KDATC_OK(dat_evd_free(client->conn));
	client->conn = evd;
	if (kdatc_sides_connect(client, server)) {
		KDATC_OK(kdatc_recv(client, 1, 0, 64));
		KDATC_OK(kdatc_recv(server, 2, 0, 64));
		KDATC_OK(kdatc_send(client, 3, 0, 64, 0));
		KDATC_OK(kdatc_send(server, 4, 0, 64, 0));
		for (i = 0; i < 2; i++)
			if (KDATC_EXPECT(kdatc_hears(evd, DAT_DTO_COMPLETION_EVENT, &event)))
				seen[event.event_data.dto_completion_event_data.operation & 3]++;
		KDATC_EXPECT(seen[DAT_DTO_SEND] == 1 && seen[DAT_DTO_RECEIVE] == 1);
		KDATC_EXPECT(kdatc_done(server->recv, server->ep, 2, DAT_DTO_RECEIVE, 64));
		KDATC_OK(dat_ep_disconnect(client->ep, DAT_CLOSE_ABRUPT_FLAG));
		KDATC_EXPECT(kdatc_ends(client, NULL));
	}
}

const struct kdatc_check kdatc_dto_checks[] = {
	{ "messages of all sizes", kdatc_dto_sizes },
	{ "messages without bytes", kdatc_dto_empty },
	{ "several segments", kdatc_dto_segments },
	{ "write and read", kdatc_dto_rdma },
	{ "write and read, zero-based", kdatc_dto_rdma_zb },
	{ "many reads", kdatc_dto_many },
	{ "read to an RMR context", kdatc_dto_read_to_rmr },
	{ "fence", kdatc_dto_fence },
	{ "fenced read", kdatc_dto_fenced_read },
	{ "suppressed completions", kdatc_dto_suppress },
	{ "unsignalled completions", kdatc_dto_unsignalled },
	{ "solicited wait", kdatc_dto_solicited },
	{ "receives in upcalls", kdatc_dto_upcalls },
	{ "flushed receives", kdatc_dto_flush },
	{ "early receives", kdatc_dto_early },
	{ "message too long", kdatc_dto_too_long },
	{ "queues full", kdatc_dto_full },
	{ "one EVD for all", kdatc_dto_one_evd },
	{}
};
