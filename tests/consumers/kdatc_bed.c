// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the checks of kDAPL's conformance test share: connections of the RNIC with itself, memory,
 * events and transfers. A check runs in one thread and dequeues events, except where it is about
 * upcalls.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kdatc.h"

struct kdatc_bed kdatc_bed;

/* Events ******************************************************************** */

/* Take the next event. Return: DAT_SUCCESS, or KDATC_EMPTY if none comes. */
DAT_RETURN kdatc_next(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	const unsigned long end = jiffies + kdatc.patience;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(evd, event)) == KDATC_EMPTY && !time_after(jiffies, end))
		usleep_range(20, 50);
	memset(&kdatc.last, 0, sizeof(kdatc.last));
	if (ret == DAT_SUCCESS)
		kdatc.last.number = event->event_number;
	if (kdatc.last.number == DAT_DTO_COMPLETION_EVENT)
		kdatc.last.status = event->event_data.dto_completion_event_data.status;
	return ret;
}

/* Is the next event @number? */
bool kdatc_hears(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_EVENT own;

	event = event ?: &own;
	if (kdatc_next(evd, event) != DAT_SUCCESS)
		return false;
	return event->event_number == number && event->evd_handle == evd;
}

/* Is the queue empty, and does it stay so for a while? */
bool kdatc_silent(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	msleep(20);
	return dat_evd_dequeue(evd, &event) == KDATC_EMPTY;
}

/*
 * The next event must be the completion of @ep's @cookie. Return: its status, or -1.
 */
int kdatc_status(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, u64 cookie, DAT_DTOS op, DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT own;

	event = event ?: &own;
	if (!kdatc_hears(evd, DAT_DTO_COMPLETION_EVENT, event))
		return -1;
	dto = &event->event_data.dto_completion_event_data;
	if (dto->ep_handle != ep || dto->user_cookie.as_64 != cookie || dto->operation != op)
		return -1;
	return dto->status;
}

/* Is the next event the success of @ep's @cookie, with @len bytes? */
bool kdatc_done(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, u64 cookie, DAT_DTOS op, u32 len)
{
	DAT_EVENT event;

	return kdatc_status(evd, ep, cookie, op, &event) == DAT_DTO_SUCCESS &&
	       event.event_data.dto_completion_event_data.transfered_length == len;
}

/* Memory ******************************************************************** */

bool kdatc_mem_open(struct kdatc_mem *mem, size_t size)
{
	mem->va = kzalloc(size, GFP_KERNEL);
	mem->size = size;
	return mem->va;
}

bool kdatc_mem_register(struct kdatc_mem *mem, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			DAT_VA_TYPE va_type)
{
	const DAT_REGION_DESCRIPTION region = { .for_va = mem->va };
	DAT_VADDR start = 0;
	DAT_VLEN len = 0;

	if (!KDATC_OK(dat_lmr_kcreate(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, region, mem->size, pz,
				      priv, va_type, DAT_MEM_OPTIMIZE_DONT_CARE, &mem->lmr,
				      &mem->lmr_context, &mem->rmr_context, &len, &start)))
		return false;
	mem->base = va_type == DAT_VA_TYPE_ZB ? 0 : (uintptr_t)mem->va;
	return KDATC_EXPECT(len >= mem->size) && KDATC_EXPECT(start <= mem->base);
}

void kdatc_mem_close(struct kdatc_mem *mem)
{
	if (mem->lmr)
		KDATC_OK(dat_lmr_free(mem->lmr));
	kfree(mem->va);
	memset(mem, 0, sizeof(*mem));
}

static u8 kdatc_byte(size_t at, u8 seed)
{
	return seed ? at * 7 + (at >> 8) * 13 + seed : 0;
}

/* Fill with a pattern; seed 0: zeros */
/* Give memory to an IA that reaches it by DMA, or take it back. */
static void kdatc_hand_over(const struct kdatc_mem *mem, size_t from, size_t len, bool back)
{
	DAT_LMR_TRIPLET part = kdatc_near(mem, from, len);

	if (!kdatc.provider.lmr_sync_req || !mem->lmr)
		return;
	if (back)
		dat_lmr_sync_rdma_write(kdatc_bed.ia, &part, 1);
	else
		dat_lmr_sync_rdma_read(kdatc_bed.ia, &part, 1);
}

void kdatc_fill(struct kdatc_mem *mem, u8 seed)
{
	size_t i;

	for (i = 0; i < mem->size; i++)
		mem->va[i] = kdatc_byte(i, seed);
	kdatc_hand_over(mem, 0, mem->size, false);
}

/* Are the @len bytes from @from those that the pattern has from @at? */
bool kdatc_is(const struct kdatc_mem *mem, size_t from, size_t len, u8 seed, size_t at)
{
	size_t i;

	kdatc_hand_over(mem, from, len, true);
	for (i = 0; i < len; i++)
		if (mem->va[from + i] != kdatc_byte(at + i, seed))
			return false;
	return true;
}

DAT_LMR_TRIPLET kdatc_near(const struct kdatc_mem *mem, size_t at, u32 len)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = mem->base + at,
		.segment_length = len,
		.lmr_context = mem->lmr_context,
	};
}

DAT_RMR_TRIPLET kdatc_far(const struct kdatc_mem *mem, size_t at, u32 len)
{
	return (DAT_RMR_TRIPLET) {
		.virtual_address = mem->base + at,
		.segment_length = len,
		.rmr_context = mem->rmr_context,
	};
}

/* Objects ******************************************************************* */

/* Return: an EVD without upcalls, or NULL. */
DAT_EVD_HANDLE kdatc_evd(DAT_EVD_FLAGS flags)
{
	return kdatc_upcall_evd(KDATC_EVENTS, flags, DAT_UPCALL_DISABLE, NULL, NULL);
}

DAT_EVD_HANDLE kdatc_upcall_evd(DAT_COUNT qlen, DAT_EVD_FLAGS flags, DAT_UPCALL_POLICY policy,
				DAT_UPCALL_FUNC func, void *data)
{
	const DAT_UPCALL_OBJECT upcall = { .instance_data = data, .upcall_func = func };
	DAT_EVD_HANDLE evd = NULL;

	KDATC_OK(dat_evd_kcreate(kdatc_bed.ia, qlen, policy, &upcall, flags, &evd));
	return evd;
}

DAT_EP_ATTR kdatc_ep_attr(const struct kdatc_opts *opts)
{
	return (DAT_EP_ATTR) {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = KDATC_SIZE,
		.max_rdma_size = KDATC_SIZE,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = opts->recv_flags,
		.request_completion_flags = opts->request_flags,
		.max_recv_dtos = KDATC_QUEUE,
		.max_request_dtos = opts->requests ?: KDATC_QUEUE,
		.max_recv_iov = 2,
		.max_request_iov = 2,
		.max_rdma_read_in = min(KDATC_READS, kdatc.attr.max_rdma_read_per_ep_in),
		.max_rdma_read_out = min(KDATC_READS, kdatc.attr.max_rdma_read_per_ep_out),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 2,
	};
}

static bool kdatc_srq_open(struct kdatc_side *side, const struct kdatc_opts *opts)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = opts->srq,
		.max_recv_iov = 2,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	return KDATC_OK(dat_srq_create(kdatc_bed.ia, side->pz, &attr, &side->srq));
}

bool kdatc_ep_open(struct kdatc_side *side, const struct kdatc_opts *opts)
{
	static const struct kdatc_opts usual;
	const DAT_EP_ATTR attr = kdatc_ep_attr(opts ?: &usual);

	if (side->srq)
		return KDATC_OK(dat_ep_create_with_srq(kdatc_bed.ia, side->pz, side->recv,
						       side->request, side->conn, side->srq,
						       &attr, &side->ep));
	return KDATC_OK(dat_ep_create(kdatc_bed.ia, side->pz, side->recv, side->request,
				      side->conn, &attr, &side->ep));
}

/* An EVD of completions, with the upcall of a check or none */
static DAT_EVD_HANDLE kdatc_side_evd(DAT_EVD_FLAGS flags, const DAT_UPCALL_OBJECT *upcall)
{
	if (!upcall)
		return kdatc_evd(flags);
	return kdatc_upcall_evd(KDATC_EVENTS, flags, DAT_UPCALL_SINGLE_INSTANCE,
				upcall->upcall_func, upcall->instance_data);
}

static bool kdatc_side_evds(struct kdatc_side *side, const struct kdatc_opts *opts)
{
	side->recv = kdatc_side_evd(DAT_EVD_DTO_FLAG, opts->recv_upcall);
	side->request = kdatc_side_evd(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				       opts->request_upcall);
	side->conn = kdatc_evd(DAT_EVD_CONNECTION_FLAG);
	return side->recv && side->request && side->conn;
}

bool kdatc_side_open(struct kdatc_side *side, const struct kdatc_opts *opts)
{
	static const struct kdatc_opts usual;

	opts = opts ?: &usual;
	return KDATC_OK(dat_pz_create(kdatc_bed.ia, &side->pz)) &&
	       kdatc_side_evds(side, opts) &&
	       KDATC_EXPECT(kdatc_mem_open(&side->mem, KDATC_SIZE)) &&
	       kdatc_mem_register(&side->mem, side->pz, opts->priv ?: KDATC_ALL, opts->va_type) &&
	       (!opts->srq || kdatc_srq_open(side, opts)) &&
	       (opts->no_ep || kdatc_ep_open(side, opts));
}

static void kdatc_side_free(struct kdatc_side *side)
{
	if (side->ep)
		KDATC_OK(dat_ep_free(side->ep));
	side->ep = NULL;
	kdatc_mem_close(&side->mem);
}

void kdatc_side_close(struct kdatc_side *side)
{
	kdatc_side_free(side);
	if (side->srq)
		KDATC_OK(dat_srq_free(side->srq));
	if (side->recv)
		KDATC_OK(dat_evd_free(side->recv));
	if (side->request)
		KDATC_OK(dat_evd_free(side->request));
	if (side->conn)
		KDATC_OK(dat_evd_free(side->conn));
	if (side->pz)
		KDATC_OK(dat_pz_free(side->pz));
	memset(side, 0, sizeof(*side));
}

DAT_EP_STATE kdatc_state(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	if (!KDATC_OK(dat_ep_get_status(ep, &state, &recv_idle, &request_idle)))
		return -1;
	return state;
}

/* Wait for a state. */
bool kdatc_becomes(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	const unsigned long end = jiffies + kdatc.patience;

	while (kdatc_state(ep) != state) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(200, 400);
	}
	return true;
}

/* The bed ******************************************************************* */

bool kdatc_bed_init(const char *name)
{
	memset(&kdatc_bed, 0, sizeof(kdatc_bed));
	return KDATC_OK(dat_ia_openv(name, KDATC_EVENTS, &kdatc_bed.async,
				     &kdatc_bed.ia, 2, 0, DAT_TRUE)) &&
	       KDATC_OK(dat_ia_query(kdatc_bed.ia, NULL, DAT_IA_FIELD_ALL, &kdatc.attr,
				     DAT_PROVIDER_FIELD_ALL, &kdatc.provider));
}

static void kdatc_bed_free(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdatc_bed.client); i++) {
		kdatc_side_close(&kdatc_bed.client[i]);
		kdatc_side_close(&kdatc_bed.server[i]);
	}
	if (kdatc_bed.psp)
		KDATC_OK(dat_psp_free(kdatc_bed.psp));
	if (kdatc_bed.csp)
		KDATC_OK(dat_csp_free(kdatc_bed.csp));
	if (kdatc_bed.request)
		KDATC_OK(dat_evd_free(kdatc_bed.request));
}

void kdatc_bed_forget(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdatc_bed.client); i++) {
		kdatc_bed.client[i] = (struct kdatc_side){ .mem = kdatc_bed.client[i].mem };
		kdatc_bed.server[i] = (struct kdatc_side){ .mem = kdatc_bed.server[i].mem };
		kdatc_bed.client[i].mem.lmr = NULL;
		kdatc_bed.server[i].mem.lmr = NULL;
	}
	kdatc_bed.psp = NULL;
	kdatc_bed.csp = NULL;
	kdatc_bed.request = NULL;
	kdatc_bed.ia = NULL;
	kdatc_bed.async = NULL;
}

void kdatc_bed_close(void)
{
	DAT_IA_HANDLE ia;

	kdatc_bed_free();
	ia = kdatc_bed.ia;
	kdatc_bed.ia = NULL;
	if (ia && !KDATC_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG)))
		KDATC_OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* Connections *************************************************************** */

/* An IA has one address; a PSP stands on it. Connections to others use a CSP. */
static bool kdatc_by_psp(void)
{
	const struct sockaddr *own = kdatc.attr.ia_address_ptr;

	return own && own->sa_family == kdatc.remote.ss_family;
}

/* Have a service point on the address of the parameters. */
bool kdatc_listen(void)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&kdatc.remote;
	DAT_COMM comm = {
		.domain = kdatc.remote.ss_family,
		.type = SOCK_STREAM,
		.protocol = IPPROTO_TCP,
	};

	if (kdatc_bed.request)
		return true;
	kdatc_bed.request = kdatc_evd(DAT_EVD_CR_FLAG);
	if (!kdatc_bed.request)
		return false;
	if (kdatc_by_psp())
		return KDATC_OK(dat_psp_create(kdatc_bed.ia, kdatc.port, kdatc_bed.request,
					       DAT_PSP_CONSUMER_FLAG, &kdatc_bed.psp));
	return KDATC_OK(dat_csp_create(kdatc_bed.ia, &comm, address, kdatc_bed.request,
				       &kdatc_bed.csp));
}

/* Start to connect to the bed's service point. */
DAT_RETURN kdatc_connect(DAT_EP_HANDLE ep, const void *data, DAT_COUNT len)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&kdatc.remote;

	if (kdatc_by_psp())
		return dat_ep_connect(ep, address, kdatc.port, KDATC_TIMEOUT, len, data,
				      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	return dat_ep_common_connect(ep, address, KDATC_TIMEOUT, len, data);
}

/* Wait for a request at the bed's service point. */
bool kdatc_request(DAT_CR_ARRIVAL_EVENT_DATA *arrival)
{
	DAT_EVENT event;

	if (!KDATC_EXPECT(kdatc_hears(kdatc_bed.request, DAT_CONNECTION_REQUEST_EVENT, &event)))
		return false;
	*arrival = event.event_data.cr_arrival_event_data;
	return KDATC_EXPECT(arrival->cr_handle);
}

DAT_CR_HANDLE kdatc_cr(void)
{
	DAT_CR_ARRIVAL_EVENT_DATA arrival;

	return kdatc_request(&arrival) ? arrival.cr_handle : NULL;
}

bool kdatc_established(struct kdatc_side *client, struct kdatc_side *server)
{
	DAT_EVENT event;

	return KDATC_EXPECT(kdatc_hears(client->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event)) &&
	       KDATC_EXPECT(event.event_data.connect_event_data.ep_handle == client->ep) &&
	       KDATC_EXPECT(kdatc_hears(server->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event)) &&
	       KDATC_EXPECT(event.event_data.connect_event_data.ep_handle == server->ep);
}

bool kdatc_sides_connect(struct kdatc_side *client, struct kdatc_side *server)
{
	DAT_CR_HANDLE cr;

	if (!kdatc_listen() || !KDATC_OK(kdatc_connect(client->ep, NULL, 0)))
		return false;
	cr = kdatc_cr();
	return cr && KDATC_OK(dat_cr_accept(cr, server->ep, 0, NULL)) &&
	       kdatc_established(client, server);
}

/* Connect client @i with server @i of the bed. */
bool kdatc_pair_open(unsigned int i, const struct kdatc_opts *client,
		     const struct kdatc_opts *server)
{
	return kdatc_side_open(&kdatc_bed.client[i], client) &&
	       kdatc_side_open(&kdatc_bed.server[i], server) &&
	       kdatc_sides_connect(&kdatc_bed.client[i], &kdatc_bed.server[i]);
}

/* Wait for the event that ends a connection: DISCONNECTED or BROKEN. */
bool kdatc_ends(struct kdatc_side *side, DAT_EVENT_NUMBER *number)
{
	DAT_EVENT event = {};

	if (kdatc_next(side->conn, &event) != DAT_SUCCESS)
		return false;
	if (number)
		*number = event.event_number;
	return event.event_data.connect_event_data.ep_handle == side->ep &&
	       (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		event.event_number == DAT_CONNECTION_EVENT_BROKEN);
}

/* @side ends the connection; both hear of it. */
bool kdatc_disconnect(struct kdatc_side *side, struct kdatc_side *peer, DAT_CLOSE_FLAGS how)
{
	DAT_EVENT_NUMBER number = 0;

	return KDATC_OK(dat_ep_disconnect(side->ep, how)) &&
	       KDATC_EXPECT(kdatc_ends(side, &number)) &&
	       KDATC_EXPECT(number == DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       KDATC_EXPECT(kdatc_ends(peer, NULL)) &&
	       KDATC_EXPECT(kdatc_state(side->ep) == DAT_EP_STATE_DISCONNECTED) &&
	       KDATC_EXPECT(kdatc_state(peer->ep) == DAT_EP_STATE_DISCONNECTED);
}

/* Transfers ***************************************************************** */

DAT_RETURN kdatc_send(struct kdatc_side *side, u64 cookie, size_t at, u32 len, int flags)
{
	DAT_LMR_TRIPLET local = kdatc_near(&side->mem, at, len);

	return dat_ep_post_send(side->ep, 1, &local, kdatc_cookie(cookie), flags);
}

/* To the shared receive queue, if there is one. */
DAT_RETURN kdatc_recv(struct kdatc_side *side, u64 cookie, size_t at, u32 len)
{
	DAT_LMR_TRIPLET local = kdatc_near(&side->mem, at, len);

	if (side->srq)
		return dat_srq_post_recv(side->srq, 1, &local, kdatc_cookie(cookie));
	return dat_ep_post_recv(side->ep, 1, &local, kdatc_cookie(cookie),
				DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN kdatc_write(struct kdatc_side *side, u64 cookie, size_t at, u32 len,
		       const DAT_RMR_TRIPLET *to, int flags)
{
	DAT_LMR_TRIPLET local = kdatc_near(&side->mem, at, len);

	return dat_ep_post_rdma_write(side->ep, 1, &local, kdatc_cookie(cookie), to, flags);
}

DAT_RETURN kdatc_read(struct kdatc_side *side, u64 cookie, size_t at, u32 len,
		      const DAT_RMR_TRIPLET *from, int flags)
{
	DAT_LMR_TRIPLET local = kdatc_near(&side->mem, at, len);

	return dat_ep_post_rdma_read(side->ep, 1, &local, kdatc_cookie(cookie), from, flags);
}

/* What @from posted before has arrived at @to. */
bool kdatc_sync(struct kdatc_side *from, struct kdatc_side *to)
{
	return KDATC_OK(kdatc_recv(to, 0x517c, KDATC_SIZE - 8, 8)) &&
	       KDATC_OK(kdatc_send(from, 0x517d, KDATC_SIZE - 8, 8, DAT_COMPLETION_DEFAULT_FLAG)) &&
	       KDATC_EXPECT(kdatc_done(from->request, from->ep, 0x517d, DAT_DTO_SEND, 8)) &&
	       KDATC_EXPECT(kdatc_done(to->recv, to->ep, 0x517c, DAT_DTO_RECEIVE, 8));
}

/* One message of @len bytes, and its contents */
bool kdatc_transfer(struct kdatc_side *from, struct kdatc_side *to, u32 len, u8 seed)
{
	kdatc_fill(&from->mem, seed);
	kdatc_fill(&to->mem, 0);
	return KDATC_OK(kdatc_recv(to, 0x4ec, 0, len)) &&
	       KDATC_OK(kdatc_send(from, 0x5e4d, 0, len, DAT_COMPLETION_DEFAULT_FLAG)) &&
	       KDATC_EXPECT(kdatc_done(from->request, from->ep, 0x5e4d, DAT_DTO_SEND, len)) &&
	       KDATC_EXPECT(kdatc_done(to->recv, to->ep, 0x4ec, DAT_DTO_RECEIVE, len)) &&
	       KDATC_EXPECT(kdatc_is(&to->mem, 0, len, seed, 0));
}
