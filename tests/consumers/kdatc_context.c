// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of kDAPL's conformance test: contexts. What kdat.h calls "Atomic" is called from an
 * upcall in softirq context, from a timer and with a spinlock held; what sleeps from upcalls in
 * process context. A debug kernel reports what sleeps in the wrong place.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <krdma/compat.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];

/**
 * struct kdatc_context - what the calls need
 * @software: EVD for software events
 * @lmr: LMR for fast registration, or NULL
 * @rmr: RMR, or NULL
 * @own: a page that the sides have not registered: memory is mapped for DMA once at a time
 * @page: its physical address, for @lmr
 * @over: the calls were made
 * @made: how often
 * @timer: a context
 * @lock: a context
 */
struct kdatc_context {
	DAT_EVD_HANDLE software;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	struct kdatc_mem own;
	DAT_PADDR page;
	struct completion over;
	atomic_t made;
	struct timer_list timer;
	spinlock_t lock;	/* held during calls, protects nothing */
};

static struct kdatc_context kdatc_context;

/* The calls that ask and change nothing */
static void kdatc_context_queries(struct kdatc_context *ctx)
{
	DAT_PROVIDER_ATTR *provider;
	DAT_HANDLE_TYPE type;
	DAT_BOOLEAN idle[2];
	DAT_CONTEXT context;
	DAT_EP_STATE state;
	DAT_VADDR align;
	DAT_VLEN len;
	union {
		DAT_IA_ATTR ia;
		DAT_EP_PARAM ep;
		DAT_EVD_PARAM evd;
		DAT_LMR_PARAM lmr;
		DAT_RMR_PARAM rmr;
		DAT_PZ_PARAM pz;
		DAT_PSP_PARAM psp;
		DAT_CSP_PARAM csp;
	} *u;

	u = kzalloc(sizeof(*u), GFP_ATOMIC);
	provider = kzalloc(sizeof(*provider), GFP_ATOMIC);
	if (KDATC_EXPECT(u && provider)) {
		KDATC_OK(dat_ia_query(kdatc_bed.ia, NULL, DAT_IA_FIELD_ALL, &u->ia,
				      DAT_PROVIDER_FIELD_ALL, provider));
		KDATC_OK(dat_ep_query(client->ep, DAT_EP_FIELD_ALL, &u->ep));
		KDATC_OK(dat_evd_query(client->recv, DAT_EVD_FIELD_ALL, &u->evd));
		KDATC_OK(dat_lmr_query(client->mem.lmr, DAT_LMR_FIELD_ALL, &u->lmr));
		if (ctx->rmr)
			KDATC_OK(dat_rmr_query(ctx->rmr, DAT_RMR_FIELD_ALL, &u->rmr));
		KDATC_OK(dat_pz_query(client->pz, DAT_PZ_FIELD_ALL, &u->pz));
		if (kdatc_bed.psp)
			KDATC_OK(dat_psp_query(kdatc_bed.psp, DAT_PSP_FIELD_ALL, &u->psp));
		if (kdatc_bed.csp)
			KDATC_OK(dat_csp_query(kdatc_bed.csp, DAT_CSP_FIELD_ALL, &u->csp));
	}
	kfree(u);
	kfree(provider);
	KDATC_OK(dat_ia_memtype_hint(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, 1000,
				     DAT_MEM_OPTIMIZE_DONT_CARE, &len, &align));
	KDATC_OK(dat_set_consumer_context(client->ep, kdatc_cookie(5)));
	KDATC_OK(dat_get_consumer_context(client->ep, &context));
	KDATC_OK(dat_get_handle_type(client->ep, &type));
	KDATC_OK(dat_ep_get_status(client->ep, &state, &idle[0], &idle[1]));
}

static void kdatc_context_events(struct kdatc_context *ctx)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	const char *major, *minor;

	KDATC_OK(dat_evd_post_se(ctx->software, &event));
	KDATC_OK(dat_evd_dequeue(ctx->software, &event));
	KDATC_REFUSED(dat_evd_dequeue(ctx->software, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	KDATC_OK(dat_strerror(KDATC_EMPTY, &major, &minor));
}

/* Requests of the client, in an order that kdatc_context_completions() knows */
static void kdatc_context_posts(struct kdatc_context *ctx)
{
	DAT_LMR_TRIPLET near = kdatc_near(&client->mem, 0, 64);
	DAT_REGION_DESCRIPTION region = { .for_physical = &ctx->page };
	DAT_RMR_TRIPLET far = kdatc_far(&server->mem, 4096, 64);
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;

	KDATC_OK(dat_lmr_sync_rdma_read(kdatc_bed.ia, &near, 1));
	KDATC_OK(dat_lmr_sync_rdma_write(kdatc_bed.ia, &near, 1));
	KDATC_OK(kdatc_recv(client, 1, 0, 64));
	KDATC_OK(kdatc_write(client, 2, 0, 64, &far, 0));
	KDATC_OK(kdatc_read(client, 3, 0, 64, &far, 0));
	if (ctx->lmr) {
		KDATC_OK(dat_lmr_fmr(ctx->lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, KDATC_ALL,
				     DAT_VA_TYPE_ZB, client->ep, kdatc_cookie(4), 0, &lmr_context,
				     &rmr_context));
		KDATC_OK(dat_lmr_invalidate(ctx->lmr, client->ep, kdatc_cookie(5), 0));
	}
	if (ctx->rmr)
		KDATC_OK(dat_rmr_bind(ctx->rmr, client->mem.lmr, &near,
				      DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, client->ep,
				      kdatc_cookie(6), 0, &rmr_context));
}

static void kdatc_context_completions(struct kdatc_context *ctx)
{
	KDATC_EXPECT(kdatc_status(client->request, client->ep, 2, DAT_DTO_RDMA_WRITE, NULL) ==
		     DAT_DTO_SUCCESS);
	KDATC_EXPECT(kdatc_status(client->request, client->ep, 3, DAT_DTO_RDMA_READ, NULL) ==
		     DAT_DTO_SUCCESS);
	if (ctx->lmr) {
		KDATC_EXPECT(kdatc_status(client->request, client->ep, 4, DAT_DTO_LMR_FMR, NULL) ==
			     DAT_DTO_SUCCESS);
		KDATC_EXPECT(kdatc_status(client->request, client->ep, 5, DAT_DTO_LMR_INVALIDATE,
					  NULL) == DAT_DTO_SUCCESS);
	}
	if (ctx->rmr)
		KDATC_EXPECT(kdatc_hears(client->request, DAT_RMR_BIND_COMPLETION_EVENT, NULL));
	/* the receive that was posted */
	KDATC_OK(kdatc_send(server, 9, 0, 64, 0));
	KDATC_EXPECT(kdatc_done(server->request, server->ep, 9, DAT_DTO_SEND, 64));
	KDATC_EXPECT(kdatc_done(client->recv, client->ep, 1, DAT_DTO_RECEIVE, 64));
}

static void kdatc_context_calls(struct kdatc_context *ctx)
{
	kdatc_context_queries(ctx);
	kdatc_context_events(ctx);
	kdatc_context_posts(ctx);
	atomic_inc(&ctx->made);
	complete(&ctx->over);
}

static void kdatc_context_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	KDATC_EXPECT(in_serving_softirq());
	kdatc_context_calls(data);
}

static void kdatc_context_timer(struct timer_list *timer)
{
	struct kdatc_context *ctx = timer_container_of(ctx, timer, timer);

	kdatc_context_calls(ctx);
}

static bool kdatc_context_open(struct kdatc_context *ctx)
{
	const DAT_UPCALL_OBJECT upcall = { .instance_data = ctx,
					   .upcall_func = kdatc_context_upcall };
	const struct kdatc_opts opts = { .recv_upcall = &upcall };

	memset(ctx, 0, sizeof(*ctx));
	init_completion(&ctx->over);
	spin_lock_init(&ctx->lock);
	timer_setup(&ctx->timer, kdatc_context_timer, 0);
	if (!KDATC_EXPECT(kdatc_mem_open(&ctx->own, PAGE_SIZE)) || !kdatc_pair_open(0, NULL, &opts))
		return false;
	ctx->software = kdatc_evd(DAT_EVD_SOFTWARE_FLAG);
	ctx->page = virt_to_phys(ctx->own.va);
	if (kdatc.provider.fmr_supported)
		KDATC_OK(dat_lmr_allocate(kdatc_bed.ia, client->pz, 1, DAT_LMR_SCOPE_PZ,
					  &ctx->lmr));
	if (kdatc.attr.max_rmrs)
		KDATC_OK(dat_rmr_create(client->pz, &ctx->rmr));
	return ctx->software;
}

static void kdatc_context_close(struct kdatc_context *ctx)
{
	timer_delete_sync(&ctx->timer);
	if (ctx->rmr)
		KDATC_OK(dat_rmr_free(ctx->rmr));
	if (ctx->lmr)
		KDATC_OK(dat_lmr_free(ctx->lmr));
	if (ctx->software)
		KDATC_OK(dat_evd_free(ctx->software));
	kdatc_mem_close(&ctx->own);
}

static void kdatc_context_made(struct kdatc_context *ctx)
{
	if (KDATC_EXPECT(wait_for_completion_timeout(&ctx->over, kdatc.patience)))
		kdatc_context_completions(ctx);
}

static void kdatc_context_softirq(void)
{
	struct kdatc_context *ctx = &kdatc_context;
	unsigned int i;

	if (kdatc_context_open(ctx)) {
		for (i = 0; i < 3; i++) {
			KDATC_OK(kdatc_recv(server, 7, 8192, 64));
			KDATC_OK(kdatc_send(client, 8, 0, 64, DAT_COMPLETION_DEFAULT_FLAG));
			KDATC_EXPECT(kdatc_done(client->request, client->ep, 8, DAT_DTO_SEND, 64));
			kdatc_context_made(ctx);
		}
	}
	kdatc_context_close(ctx);
}

static void kdatc_context_by_timer(void)
{
	struct kdatc_context *ctx = &kdatc_context;

	if (kdatc_context_open(ctx)) {
		mod_timer(&ctx->timer, jiffies + 2);
		kdatc_context_made(ctx);
	}
	kdatc_context_close(ctx);
}

static void kdatc_context_locked(void)
{
	struct kdatc_context *ctx = &kdatc_context;
	unsigned long flags;

	if (kdatc_context_open(ctx)) {
		spin_lock(&ctx->lock);
		kdatc_context_calls(ctx);
		spin_unlock(&ctx->lock);
		kdatc_context_made(ctx);
		spin_lock_bh(&ctx->lock);
		kdatc_context_calls(ctx);
		spin_unlock_bh(&ctx->lock);
		kdatc_context_made(ctx);
		spin_lock_irqsave(&ctx->lock, flags);
		kdatc_context_calls(ctx);
		spin_unlock_irqrestore(&ctx->lock, flags);
		kdatc_context_made(ctx);
	}
	kdatc_context_close(ctx);
}

/* Process context *********************************************************** */

/* The sleeping calls, in an upcall of an EVD for software events */
static void kdatc_context_sleepers(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	const struct kdatc_opts opts = {};
	const DAT_EP_ATTR attr = kdatc_ep_attr(&opts);
	struct kdatc_context *ctx = data;
	const DAT_REGION_DESCRIPTION region = { .for_va = ctx->own.va };
	DAT_EVD_HANDLE evd = NULL;
	DAT_LMR_HANDLE lmr = NULL;
	DAT_PSP_HANDLE psp = NULL;
	DAT_EP_HANDLE ep = NULL;
	DAT_PZ_HANDLE pz = NULL;
	DAT_CONN_QUAL qual;

	KDATC_EXPECT(in_task() && !irqs_disabled());
	KDATC_OK(dat_pz_create(kdatc_bed.ia, &pz));
	KDATC_OK(dat_lmr_kcreate(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE_SIZE, pz,
				 KDATC_ALL, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, NULL,
				 NULL, NULL, NULL));
	KDATC_OK(dat_evd_kcreate(kdatc_bed.ia, 16, DAT_UPCALL_DISABLE, &none,
				 DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
				 &evd));
	KDATC_OK(dat_evd_resize(evd, 32));
	KDATC_OK(dat_ep_create(kdatc_bed.ia, pz, evd, evd, evd, &attr, &ep));
	KDATC_OK(dat_psp_create_any(kdatc_bed.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KDATC_OK(dat_ep_reset(ep));
	KDATC_OK(dat_psp_free(psp));
	KDATC_OK(dat_ep_free(ep));
	/* its own: no teardown */
	KDATC_OK(dat_evd_modify_upcall(ctx->software, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	KDATC_OK(dat_evd_free(evd));
	KDATC_OK(dat_lmr_free(lmr));
	KDATC_OK(dat_pz_free(pz));
	kdatc_context_queries(ctx);
	complete(&ctx->over);
}

static void kdatc_context_process(void)
{
	const DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct kdatc_context *ctx = &kdatc_context;
	unsigned int i;

	memset(ctx, 0, sizeof(*ctx));
	init_completion(&ctx->over);
	if (!KDATC_EXPECT(kdatc_mem_open(&ctx->own, PAGE_SIZE)))
		return;
	if (!kdatc_side_open(client, NULL))
		goto out;
	ctx->software = kdatc_upcall_evd(16, DAT_EVD_SOFTWARE_FLAG, DAT_UPCALL_SINGLE_INSTANCE,
					 kdatc_context_sleepers, ctx);
	for (i = 0; i < 5; i++) {
		KDATC_OK(dat_evd_post_se(ctx->software, &event));
		KDATC_EXPECT(wait_for_completion_timeout(&ctx->over, kdatc.patience));
	}
	KDATC_OK(dat_evd_free(ctx->software));
out:
	kdatc_mem_close(&ctx->own);
}

/* A server in upcalls ******************************************************* */

#define KDATC_ROUNDS	2000

static struct {
	struct completion connected;
	struct completion over;
	atomic_t left;
	int status;
} kdatc_context_game;

static void kdatc_context_accepts(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	KDATC_OK(dat_cr_accept(event->event_data.cr_arrival_event_data.cr_handle, server->ep, 0,
			       NULL));
}

static void kdatc_context_connected(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		complete(&kdatc_context_game.connected);
}

/* Each message is answered from the upcall, after its receive was posted again. */
static void kdatc_context_returns(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct kdatc_side *side = data;

	if (dto->status != DAT_DTO_SUCCESS)
		return;
	if (atomic_dec_return(&kdatc_context_game.left) <= 0) {
		complete(&kdatc_context_game.over);
		return;
	}
	KDATC_OK(kdatc_recv(side, 1, 0, 64));
	KDATC_OK(kdatc_send(side, 2, 0, 64, DAT_COMPLETION_SUPPRESS_FLAG));
}

static void kdatc_context_ping_pong(void)
{
	const DAT_UPCALL_OBJECT near = { .instance_data = client,
					 .upcall_func = kdatc_context_returns };
	const DAT_UPCALL_OBJECT far = { .instance_data = server,
					.upcall_func = kdatc_context_returns };
	const struct kdatc_opts opts[2] = {
		{ .recv_upcall = &near, .request_flags = DAT_COMPLETION_SUPPRESS_FLAG },
		{ .recv_upcall = &far, .request_flags = DAT_COMPLETION_SUPPRESS_FLAG },
	};
	const DAT_UPCALL_OBJECT accepts = { .upcall_func = kdatc_context_accepts };
	const DAT_UPCALL_OBJECT connected = { .upcall_func = kdatc_context_connected };
	unsigned int i;

	init_completion(&kdatc_context_game.connected);
	init_completion(&kdatc_context_game.over);
	atomic_set(&kdatc_context_game.left, KDATC_ROUNDS);
	if (!kdatc_side_open(client, &opts[0]) || !kdatc_side_open(server, &opts[1]) ||
	    !kdatc_listen())
		return;
	KDATC_OK(dat_evd_modify_upcall(kdatc_bed.request, DAT_UPCALL_SINGLE_INSTANCE, &accepts,
				       DAT_UPCALL_INVOC_ANY));
	KDATC_OK(dat_evd_modify_upcall(client->conn, DAT_UPCALL_SINGLE_INSTANCE, &connected,
				       DAT_UPCALL_INVOC_ANY));
	KDATC_OK(dat_evd_modify_upcall(server->conn, DAT_UPCALL_SINGLE_INSTANCE, &connected,
				       DAT_UPCALL_INVOC_ANY));
	for (i = 0; i < 4; i++) {
		KDATC_OK(kdatc_recv(client, 1, 0, 64));
		KDATC_OK(kdatc_recv(server, 1, 0, 64));
	}
	KDATC_OK(kdatc_connect(client->ep, NULL, 0));
	for (i = 0; i < 2; i++)
		if (!KDATC_EXPECT(wait_for_completion_timeout(&kdatc_context_game.connected,
							      kdatc.patience)))
			return;
	for (i = 0; i < 2; i++)
		KDATC_OK(kdatc_send(client, 2, 0, 64, DAT_COMPLETION_SUPPRESS_FLAG));
	/* both have come to rest: nothing is posted to an endpoint that ends */
	for (i = 0; i < 2; i++)
		KDATC_EXPECT(wait_for_completion_timeout(&kdatc_context_game.over,
							 3 * kdatc.patience));
}

const struct kdatc_check kdatc_context_checks[] = {
	{ "calls in softirq upcalls", kdatc_context_softirq },
	{ "calls in a timer", kdatc_context_by_timer },
	{ "calls with a spinlock held", kdatc_context_locked },
	{ "calls in process upcalls", kdatc_context_process },
	{ "ping-pong in upcalls", kdatc_context_ping_pong },
	{}
};
