/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * ping_pong -l ADDRESS:PORT		server: sends back the messages of one client
 * ping_pong ADDRESS:PORT [COUNT]	client: prints the time of a message
 *
 * In C. The client's private data has the number of messages. The server waits in the library.
 * The client has its own poll() loop with the descriptor of the session.
 *
 * gcc ping_pong.c $(pkg-config --cflags --libs krdma)
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <krdma/ual.h>

#define SIZE	64
#define TIMEOUT	5000 /* ms */

enum { RECEIVED = 1, SENT = 2 };

/* a queue pair and memory; the first half is for sending, the second for receiving */
struct side {
	struct ual_context *context;
	struct ual_pd *pd;
	struct ual_cq *cq;
	struct ual_qp *qp;
	struct ual_mr *mr;
	unsigned int done; /* completed RECEIVED or SENT that were not waited for yet */
	char memory[2 * SIZE];
};

static int must(int answer, const char *what)
{
	if (answer < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-answer));
		exit(1);
	}
	return answer;
}

static void side_open(struct side *side, struct ual_session *session, uint32_t index)
{
	must(ual_context_create(session, index, 0, &side->context), "context");
	must(ual_pd_create(side->context, &side->pd), "protection domain");
	must(ual_cq_create(side->context, NULL, &side->cq), "completion queue");
	must(ual_qp_create(side->pd, side->cq, side->cq, NULL, &side->qp), "queue pair");
	must(ual_mr_create(side->pd, side->memory, sizeof(side->memory),
			   KRDMA_ACCESS_LOCAL_WRITE, &side->mr),
	     "memory region");
}

static void side_close(struct side *side)
{
	ual_mr_destroy(side->mr);
	ual_qp_destroy(side->qp);
	ual_cq_destroy(side->cq);
	ual_pd_destroy(side->pd);
	ual_context_destroy(side->context);
}

/* a half of the memory */
static struct krdma_sge half(struct side *side, int which)
{
	struct krdma_sge slice;

	must(ual_mr_slice(side->mr, which * SIZE, SIZE, &slice), "slice");
	return slice;
}

static void expect_message(struct side *side)
{
	const struct krdma_sge slice = half(side, 1);

	must(ual_receive(side->qp, RECEIVED, &slice, 1), "receive");
}

static void send_message(struct side *side)
{
	const struct krdma_sge slice = half(side, 0);

	must(ual_send(side->qp, SENT, &slice, 1, KRDMA_SEND_SIGNALED), "send");
}

static void check(const struct krdma_wc *wc)
{
	if (wc->status) {
		fprintf(stderr, "a request failed: %s\n", ual_status_text(wc->status));
		exit(1);
	}
}

/* Server ******************************************************************* */

/* The next message may arrive before the last answer completes. */
static void wait_for(struct side *side, unsigned int wanted)
{
	struct krdma_wc wc;

	while (!(side->done & wanted)) {
		if (!must(ual_cq_wait(side->cq, &wc, TIMEOUT), "completion")) {
			fprintf(stderr, "nothing comes\n");
			exit(1);
		}
		check(&wc);
		side->done |= (unsigned int)wc.wr_id;
	}
	side->done &= ~wanted;
}

static void serve(struct ual_session *session, const struct krdma_addr *local)
{
	struct ual_connection *connection;
	struct ual_listener *listener;
	struct ual_request *request;
	struct ual_conn_info info;
	struct side side = { 0 };
	char text[UAL_ADDR_TEXT];
	uint32_t index, count;

	must(ual_find_local(session, local, &index), "RNIC of the address");
	side_open(&side, session, index);
	must(ual_listen(side.context, local, NULL, &listener), "listen");
	printf("listening\n");
	fflush(stdout);

	must(ual_listener_wait(listener, &request, UAL_FOREVER), "request");
	ual_request_info(request, &info);
	/* RoCE and InfiniBand pad it with zeros */
	if (info.private_data_len < sizeof(count)) {
		ual_reject(request, "how many?", 9);
		exit(1);
	}
	memcpy(&count, info.private_data, sizeof(count));
	count = ntohl(count);
	expect_message(&side);
	must(ual_accept(request, side.qp, NULL, &connection), "accept");
	must(ual_established(connection, TIMEOUT), "accept");
	for (uint32_t i = 0; i < count; i++) {
		wait_for(&side, RECEIVED);
		memcpy(side.memory, side.memory + SIZE, SIZE);
		if (i + 1 < count)
			expect_message(&side);
		send_message(&side);
		wait_for(&side, SENT);
	}
	/* the client ends the connection first, so that no message is lost */
	ual_closed(connection, TIMEOUT);
	ual_addr_format(&info.remote, text, sizeof(text));
	printf("%u messages of %s sent back\n", count, text);

	ual_request_destroy(request);
	ual_connection_destroy(connection);
	ual_listener_destroy(listener);
	side_close(&side);
}

/* Client ******************************************************************* */

struct client {
	struct side side;
	uint32_t left;  /* number of messages to receive */
	uint32_t count; /* number of received messages */
};

static void next_message(struct client *client)
{
	expect_message(&client->side);
	snprintf(client->side.memory, SIZE, "ping %u", client->count);
	send_message(&client->side);
}

/*
 * An event stands for any number of completions. Arm the queue again, then poll until it is
 * empty.
 */
static void on_completions(void *arg, const struct ual_event *event)
{
	struct client *client = arg;
	struct krdma_wc wc;

	(void)event;
	must(ual_cq_arm(client->side.cq, 0), "arm");
	while (must(ual_cq_poll(client->side.cq, &wc, 1), "poll")) {
		check(&wc);
		if (wc.wr_id != RECEIVED)
			continue;
		if (strcmp(client->side.memory, client->side.memory + SIZE) != 0) {
			fprintf(stderr, "something else came back\n");
			exit(1);
		}
		client->count++;
		if (--client->left)
			next_message(client);
	}
}

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static void run(struct ual_session *session, const struct krdma_addr *remote, uint32_t count)
{
	struct ual_conn_options options = UAL_CONN_OPTIONS;
	const uint32_t private_data = htonl(count);
	struct client client = { .left = count };
	struct ual_connection *connection;
	uint32_t index;
	double start;

	must(ual_find_remote(session, remote, &index), "RNIC to the address");
	side_open(&client.side, session, index);
	options.private_data = &private_data;
	options.private_data_len = sizeof(private_data);
	must(ual_connect(client.side.qp, remote, &options, &connection), "connect");
	must(ual_established(connection, TIMEOUT), "connect");

	start = now_us();
	must(ual_event_callback(ual_cq_events(client.side.cq), on_completions, &client),
	     "callback");
	must(ual_cq_arm(client.side.cq, 0), "arm");
	next_message(&client);
	while (client.left) {
		struct pollfd fd = { .fd = ual_fd(session), .events = POLLIN };

		if (poll(&fd, 1, TIMEOUT) == 0) {
			fprintf(stderr, "nothing comes back\n");
			exit(1);
		}
		must(ual_dispatch(session, 0), "events");
	}
	printf("%u messages, %.1f us each\n", client.count, (now_us() - start) / client.count);

	must(ual_disconnect(client.side.qp, 0), "disconnect");
	ual_closed(connection, TIMEOUT);
	ual_connection_destroy(connection);
	side_close(&client.side);
}

int main(int argc, char **argv)
{
	const int listens = argc == 3 && strcmp(argv[1], "-l") == 0;
	struct ual_session *session;
	struct krdma_addr address;
	uint32_t count = 10;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s -l ADDRESS:PORT | ADDRESS:PORT [COUNT]\n", argv[0]);
		return 2;
	}
	must(ual_addr_parse(argv[listens ? 2 : 1], &address), "address");
	must(ual_open(&session), KRDMA_DEVICE);
	if (listens) {
		serve(session, &address);
	} else {
		if (argc == 3)
			count = (uint32_t)strtoul(argv[2], NULL, 10);
		run(session, &address, count ? count : 1);
	}
	ual_close(session);
	return 0;
}
