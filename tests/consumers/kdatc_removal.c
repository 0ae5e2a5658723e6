// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The RNIC is removed while kDAPL's conformance test has objects of all kinds and states. The test
 * case deletes the RNIC when the log says "ready". The kinds:
 *
 * 1. each object is freed after the RNIC has gone, and then the IA is closed gracefully
 * 2. the IA is closed abruptly
 * 3. as 2, with traffic and with a thread that makes and frees objects all the time
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];
static struct kdatc_side *const waiting = &kdatc_bed.client[1];
static struct kdatc_side *const reserved = &kdatc_bed.server[1];

#define KDATC_REMOVAL_WAIT	(120 * HZ)	/* the case deletes the RNIC sooner */

/* what the bed has no place for */
static struct {
	DAT_RSP_HANDLE rsp;
	DAT_PSP_HANDLE provider_psp;
	DAT_CR_HANDLE cr;
	DAT_LMR_HANDLE fast;
	DAT_RMR_HANDLE rmr;
	DAT_EVD_HANDLE software;
	DAT_SRQ_HANDLE srq;
} kdatc_removal_objects;

/**
 * struct kdatc_removal_log - what was heard of the removal
 * @lock: protects the next two
 * @told: @event is the first one that is not of an endpoint
 * @event: of the asynchronous EVD
 * @early: the connection of the client ended before
 */
static struct kdatc_removal_log {
	spinlock_t lock;	/* see above */
	bool told;
	DAT_EVENT event;
	bool early;
} kdatc_removal_log = { .lock = __SPIN_LOCK_UNLOCKED(kdatc_removal_log.lock) };

static bool kdatc_removal_more(void)
{
	const DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	typeof(kdatc_removal_objects) *o = &kdatc_removal_objects;
	DAT_SRQ_ATTR srq = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_EVD_HANDLE evd = kdatc_bed.request;
	unsigned int i;

	KDATC_OK(dat_rsp_create(kdatc_bed.ia, kdatc.port + 1, reserved->ep, evd, &o->rsp));
	KDATC_OK(dat_psp_create(kdatc_bed.ia, kdatc.port + 2, evd, DAT_PSP_PROVIDER_FLAG,
				&o->provider_psp));
	if (kdatc.provider.fmr_supported)
		KDATC_OK(dat_lmr_allocate(kdatc_bed.ia, server->pz, 4, DAT_LMR_SCOPE_PZ,
					  &o->fast));
	if (kdatc.attr.max_rmrs)
		KDATC_OK(dat_rmr_create(server->pz, &o->rmr));
	if (kdatc.provider.srq_supported)
		KDATC_OK(dat_srq_create(kdatc_bed.ia, server->pz, &srq, &o->srq));
	o->software = kdatc_evd(DAT_EVD_SOFTWARE_FLAG);
	KDATC_OK(dat_evd_post_se(o->software, &event));
	for (i = 0; i < 8; i++) {
		KDATC_OK(kdatc_recv(client, i, 0, 64));
		KDATC_OK(kdatc_recv(server, i, 0, 64));
		KDATC_OK(kdatc_recv(reserved, i, 0, 64));
	}
	/* a request that waits for an answer */
	KDATC_OK(kdatc_connect(waiting->ep, NULL, 0));
	o->cr = kdatc_cr();
	return !kdatc.failed;
}

/* Afterwards ***************************************************************** */

/* All calls answer an error, and none waits or crashes. */
static void kdatc_removal_calls(void)
{
	typeof(kdatc_removal_objects) *o = &kdatc_removal_objects;
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_RMR_TRIPLET far = kdatc_far(&server->mem, 0, 64);
	struct kdatc_mem again = client->mem;
	DAT_IA_ATTR *attr = &kdatc.attr;
	DAT_HANDLE_TYPE type;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	DAT_HANDLE handle;

	KDATC_EXPECT(dat_pz_create(kdatc_bed.ia, &handle) != DAT_SUCCESS);
	KDATC_EXPECT(dat_evd_kcreate(kdatc_bed.ia, 8, DAT_UPCALL_DISABLE, &none, DAT_EVD_DTO_FLAG,
				     &evd) != DAT_SUCCESS);
	KDATC_EXPECT(dat_ia_query(kdatc_bed.ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL) !=
		     DAT_SUCCESS);
	KDATC_EXPECT(dat_psp_create_any(kdatc_bed.ia, &qual, kdatc_bed.request,
					DAT_PSP_CONSUMER_FLAG, &handle) != DAT_SUCCESS);
	KDATC_EXPECT(dat_lmr_kcreate(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL,
				     (DAT_REGION_DESCRIPTION){ .for_va = again.va }, 64,
				     client->pz, KDATC_ALL, 0, 0, &handle, NULL, NULL, NULL,
				     NULL) != DAT_SUCCESS);
	KDATC_EXPECT(kdatc_send(client, 1, 0, 64, 0) != DAT_SUCCESS);
	KDATC_EXPECT(kdatc_recv(client, 1, 0, 64) != DAT_SUCCESS);
	KDATC_EXPECT(kdatc_write(client, 1, 0, 64, &far, 0) != DAT_SUCCESS);
	KDATC_EXPECT(kdatc_connect(reserved->ep, NULL, 0) != DAT_SUCCESS);
	KDATC_EXPECT(dat_ep_reset(client->ep) != DAT_SUCCESS);
	if (o->cr)
		KDATC_EXPECT(dat_cr_accept(o->cr, reserved->ep, 0, NULL) != DAT_SUCCESS);
	if (o->rmr)
		KDATC_EXPECT(dat_rmr_create(server->pz, &handle) != DAT_SUCCESS);
	/* handles are good until they are freed */
	KDATC_OK(dat_get_handle_type(client->ep, &type));
	KDATC_EXPECT(type == DAT_HANDLE_TYPE_EP);
	/* events that arrived before are not lost */
	KDATC_OK(dat_evd_dequeue(o->software, &event));
	/* both ends hear of the end */
	KDATC_EXPECT(kdatc_ends(client, NULL) && kdatc_ends(server, NULL));
}

static void kdatc_removal_free(void)
{
	typeof(kdatc_removal_objects) *o = &kdatc_removal_objects;
	DAT_HANDLE_TYPE type;

	if (o->cr && dat_get_handle_type(o->cr, &type) == DAT_SUCCESS)
		KDATC_OK(dat_cr_reject(o->cr, 0, NULL));
	if (o->rsp)
		KDATC_OK(dat_rsp_free(o->rsp));
	if (o->provider_psp)
		KDATC_OK(dat_psp_free(o->provider_psp));
	if (o->rmr)
		KDATC_OK(dat_rmr_free(o->rmr));
	if (o->fast)
		KDATC_OK(dat_lmr_free(o->fast));
	if (o->srq)
		KDATC_OK(dat_srq_free(o->srq));
	if (o->software)
		KDATC_OK(dat_evd_free(o->software));
}

/* A thread that makes and frees ********************************************* */

static int kdatc_removal_busy(void *data)
{
	const struct kdatc_opts opts = {};
	const DAT_EP_ATTR attr = kdatc_ep_attr(&opts);
	DAT_REGION_DESCRIPTION region;
	/* the sides have registered theirs: memory is mapped for DMA once at a time */
	struct kdatc_mem own = {};
	DAT_LMR_HANDLE lmr;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	KDATC_EXPECT(kdatc_mem_open(&own, PAGE_SIZE));
	region.for_va = own.va;
	while (!kthread_should_stop()) {
		pz = NULL;
		ep = NULL;
		lmr = NULL;
		dat_pz_create(kdatc_bed.ia, &pz);
		if (pz) {
			dat_lmr_kcreate(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE_SIZE,
					pz, KDATC_ALL, 0, 0, &lmr, NULL, NULL, NULL, NULL);
			dat_ep_create(kdatc_bed.ia, pz, server->recv, server->request,
				      server->conn, &attr, &ep);
		}
		if (ep)
			dat_ep_free(ep);
		if (lmr)
			dat_lmr_free(lmr);
		if (pz)
			dat_pz_free(pz);
		usleep_range(50, 100);
	}
	kdatc_mem_close(&own);
	return 0;
}

/* Write until it fails. */
static int kdatc_removal_traffic(void *data)
{
	DAT_RMR_TRIPLET far = kdatc_far(&server->mem, 0, 4096);
	DAT_EVENT event;

	while (!kthread_should_stop()) {
		if (kdatc_write(client, 1, 0, 4096, &far, 0) != DAT_SUCCESS)
			usleep_range(20, 40);
		while (dat_evd_dequeue(client->request, &event) == DAT_SUCCESS)
			;
		cond_resched();
	}
	return 0;
}

/* The run ******************************************************************* */

/* Take events from the asynchronous EVD. Return: that of the removal has come. */
static bool kdatc_removal_told(DAT_EVENT *event)
{
	bool told;

	scoped_guard(spinlock_irqsave, &kdatc_removal_log.lock) {
		while (!kdatc_removal_log.told &&
		       dat_evd_dequeue(kdatc_bed.async, &kdatc_removal_log.event) == DAT_SUCCESS)
			/* endpoints that break may be reported before */
			kdatc_removal_log.told = kdatc_removal_log.event.event_number !=
						 DAT_ASYNC_ERROR_EP_BROKEN;
		told = kdatc_removal_log.told;
		*event = kdatc_removal_log.event;
	}
	return told;
}

/* DAT_UPCALL_NORIFY: the connection ends, and the event stays in the queue */
static void kdatc_removal_ended(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_EVENT told;

	kdatc_removal_log.early = !kdatc_removal_told(&told);
}

static bool kdatc_removal_wait(void)
{
	const DAT_UPCALL_OBJECT upcall = { .upcall_func = kdatc_removal_ended };
	const unsigned long end = jiffies + KDATC_REMOVAL_WAIT;
	DAT_EVENT event = {};

	kdatc_removal_log.told = false;
	kdatc_removal_log.early = false;
	KDATC_OK(dat_evd_modify_upcall(client->conn, DAT_UPCALL_NORIFY, &upcall,
				       DAT_UPCALL_INVOC_NEW));
	pr_info("kdatc: %s: ready\n", kdatc.name);
	while (!kdatc_removal_told(&event)) {
		if (!KDATC_EXPECT(!time_after(jiffies, end)))
			return false;
		msleep(20);
	}
	KDATC_EXPECT(event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	KDATC_EXPECT(event.event_data.asynch_error_event_data.dat_handle == kdatc_bed.ia);
	return KDATC_EXPECT(event.event_data.asynch_error_event_data.reason ==
			    DAT_IA_CATASTROPHIC_ERROR);
}

/* The event comes when the RNIC begins to go; wait until it has gone. */
static void kdatc_removal_gone(void)
{
	const unsigned long end = jiffies + KDATC_REMOVAL_WAIT;
	DAT_EVD_HANDLE async = NULL;
	DAT_IA_HANDLE ia = NULL;

	while (dat_ia_query(kdatc_bed.ia, NULL, DAT_IA_FIELD_ALL, &kdatc.attr, 0, NULL) ==
	       DAT_SUCCESS) {
		if (!KDATC_EXPECT(!time_after(jiffies, end)))
			return;
		msleep(20);
	}
	KDATC_REFUSED(dat_ia_openv(kdatc.name, 8, &async, &ia, 2, 0, DAT_TRUE),
		      DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

static void kdatc_removal_stop(struct task_struct *task)
{
	if (!IS_ERR_OR_NULL(task))
		kthread_stop(task);
}

int kdatc_removal(unsigned int kind)
{
	struct task_struct *busy = NULL, *traffic = NULL;

	if (kdatc_bed_init(kdatc.name) && kdatc_pair_open(0, NULL, NULL) &&
	    kdatc_side_open(waiting, NULL) && kdatc_side_open(reserved, NULL) &&
	    kdatc_removal_more()) {
		if (kind == 3) {
			busy = kthread_run(kdatc_removal_busy, NULL, "kdatc/busy");
			traffic = kthread_run(kdatc_removal_traffic, NULL, "kdatc/traffic");
		}
		if (kdatc_removal_wait())
			kdatc_removal_gone();
		KDATC_EXPECT(!kdatc_removal_log.early);
		kdatc_removal_stop(busy);
		kdatc_removal_stop(traffic);
		if (kind == 1) {
			kdatc_removal_calls();
			kdatc_removal_free();
		}
	}
	if (kind != 1 && kdatc_bed.ia &&
	    KDATC_OK(dat_ia_close(kdatc_bed.ia, DAT_CLOSE_ABRUPT_FLAG)))
		kdatc_bed_forget();
	kdatc_bed_close();
	return kdatc.failed ? -EIO : 0;
}
