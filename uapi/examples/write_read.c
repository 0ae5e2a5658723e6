/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * write_read -l ADDRESS:PORT		server: gives one client access to some memory
 * write_read ADDRESS:PORT TEXT	client: writes the text there and reads it back
 *
 * In C. The client uses RDMA Write and RDMA Read. The private data of the server's acceptance
 * has the place of the memory. The server takes no part in the transfers. The client's last
 * message says that all was written.
 *
 * gcc write_read.c $(pkg-config --cflags --libs krdma)
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <krdma/ual.h>

#define SIZE	4096
#define TIMEOUT	5000 /* ms */

/* private data: the place of the server's memory, in network byte order */
struct offer {
	uint64_t address;
	uint32_t stag;
	uint32_t length;
};

struct side {
	struct ual_context *context;
	struct ual_pd *pd;
	struct ual_cq *cq;
	struct ual_qp *qp;
	struct ual_mr *mr;
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

static void side_open(struct side *side, struct ual_session *session, uint32_t index,
		      uint32_t access)
{
	must(ual_context_create(session, index, 0, &side->context), "context");
	must(ual_pd_create(side->context, &side->pd), "protection domain");
	must(ual_cq_create(side->context, NULL, &side->cq), "completion queue");
	must(ual_qp_create(side->pd, side->cq, side->cq, NULL, &side->qp), "queue pair");
	must(ual_mr_create(side->pd, side->memory, sizeof(side->memory), access, &side->mr),
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

/* wait for the next completion, which must be of the request with that id */
static void wait_for(struct side *side, uint64_t id)
{
	struct krdma_wc wc;

	if (!must(ual_cq_wait(side->cq, &wc, TIMEOUT), "completion")) {
		fprintf(stderr, "nothing comes\n");
		exit(1);
	}
	if (wc.status || wc.wr_id != id) {
		fprintf(stderr, "request %llu: %s\n", (unsigned long long)wc.wr_id,
			ual_status_text(wc.status));
		exit(1);
	}
}

static void serve(struct ual_session *session, const struct krdma_addr *local)
{
	struct ual_conn_options options = UAL_CONN_OPTIONS;
	struct ual_connection *connection;
	struct ual_listener *listener;
	struct ual_request *request;
	struct side side = { 0 };
	struct offer offer;
	uint32_t index;

	must(ual_find_local(session, local, &index), "RNIC of the address");
	/* a region that the peer may write to also needs local write */
	side_open(&side, session, index,
		  KRDMA_ACCESS_LOCAL_WRITE | KRDMA_ACCESS_REMOTE_WRITE |
			  KRDMA_ACCESS_REMOTE_READ);
	must(ual_listen(side.context, local, NULL, &listener), "listen");
	printf("listening\n");
	fflush(stdout);

	must(ual_listener_wait(listener, &request, UAL_FOREVER), "request");
	/* a message without data needs no memory */
	must(ual_receive(side.qp, 1, NULL, 0), "receive");
	offer = (struct offer){ htobe64(ual_mr_address(side.mr)), htonl(ual_mr_stag(side.mr)),
				htonl(SIZE) };
	options.private_data = &offer;
	options.private_data_len = sizeof(offer);
	must(ual_accept(request, side.qp, &options, &connection), "accept");
	must(ual_established(connection, TIMEOUT), "accept");
	wait_for(&side, 1);
	printf("the client wrote '%.*s'\n", SIZE, side.memory);
	ual_closed(connection, TIMEOUT);

	ual_request_destroy(request);
	ual_connection_destroy(connection);
	ual_listener_destroy(listener);
	side_close(&side);
}

static void run(struct ual_session *session, const struct krdma_addr *remote, const char *text)
{
	struct ual_connection *connection;
	struct krdma_sge from, to;
	struct ual_conn_info info;
	struct side side = { 0 };
	struct ual_remote there;
	struct offer offer;
	uint32_t length = (uint32_t)strlen(text) + 1;
	uint32_t index;

	must(ual_find_remote(session, remote, &index), "RNIC to the address");
	side_open(&side, session, index, KRDMA_ACCESS_LOCAL_WRITE);
	must(ual_connect(side.qp, remote, NULL, &connection), "connect");
	must(ual_established(connection, TIMEOUT), "connect");
	ual_connection_info(connection, &info);
	if (info.private_data_len < sizeof(offer)) {
		fprintf(stderr, "the server offers nothing\n");
		exit(1);
	}
	memcpy(&offer, info.private_data, sizeof(offer));
	there = (struct ual_remote){ be64toh(offer.address), ntohl(offer.stag) };
	if (length > SIZE || length > ntohl(offer.length)) {
		fprintf(stderr, "the text is too long\n");
		exit(1);
	}

	memcpy(side.memory, text, length);
	must(ual_mr_slice(side.mr, 0, length, &from), "slice");
	must(ual_mr_slice(side.mr, SIZE, length, &to), "slice");
	/* a Read begins after the Writes before it have arrived, so do not wait for the Write */
	must(ual_write(side.qp, 1, &from, 1, there, KRDMA_SEND_SIGNALED), "write");
	must(ual_read(side.qp, 2, &to, 1, there, KRDMA_SEND_SIGNALED), "read");
	wait_for(&side, 1);
	wait_for(&side, 2);
	if (memcmp(side.memory, side.memory + SIZE, length) != 0) {
		fprintf(stderr, "something else was read\n");
		exit(1);
	}
	printf("'%s' written and read back\n", side.memory + SIZE);

	must(ual_send(side.qp, 3, NULL, 0, KRDMA_SEND_SIGNALED), "send");
	wait_for(&side, 3);
	must(ual_disconnect(side.qp, 0), "disconnect");
	ual_closed(connection, TIMEOUT);
	ual_connection_destroy(connection);
	side_close(&side);
}

int main(int argc, char **argv)
{
	struct ual_session *session;
	struct krdma_addr address;
	int listens;

	if (argc != 3) {
		fprintf(stderr, "usage: %s -l ADDRESS:PORT | ADDRESS:PORT TEXT\n", argv[0]);
		return 2;
	}
	listens = strcmp(argv[1], "-l") == 0;
	must(ual_addr_parse(argv[listens ? 2 : 1], &address), "address");
	must(ual_open(&session), KRDMA_DEVICE);
	if (listens)
		serve(session, &address);
	else
		run(session, &address, argv[2]);
	ual_close(session);
	return 0;
}
