// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A server of kDAPL: it sends each message back. One client at a time; others are rejected. */
#include <linux/module.h>
#include <linux/slab.h>

#include <krdma/kdat.h>

static char *name = "krdma1";
module_param(name, charp, 0444);

#define ECHO_SIZE	4096
#define ECHO_LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

static struct {
	DAT_IA_HANDLE ia;
	DAT_EP_HANDLE ep;
	DAT_LMR_TRIPLET buffer;
	void *memory;
} echo;

static void echo_receive(void)
{
	DAT_DTO_COOKIE cookie = {};

	if (dat_ep_post_recv(echo.ep, 1, &echo.buffer, cookie, DAT_COMPLETION_DEFAULT_FLAG))
		pr_warn("kdapl_echo: no receive\n");
}

/* Context: softirq. A message has arrived, or an answer has left. */
static void echo_completion(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	DAT_LMR_TRIPLET answer = echo.buffer;

	if (dto->status != DAT_DTO_SUCCESS)
		return; /* the connection has ended: echo_connection() gets an event, too */
	if (dto->operation == DAT_DTO_SEND) {
		echo_receive();
		return;
	}
	answer.segment_length = dto->transfered_length;
	if (dat_ep_post_send(echo.ep, 1, &answer, dto->user_cookie, DAT_COMPLETION_DEFAULT_FLAG))
		pr_warn("kdapl_echo: no answer\n");
}

/* Context: process. A client asks for a connection, or a connection begins or ends. */
static void echo_connection(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;

	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		if (dat_cr_accept(cr, echo.ep, 0, NULL))
			dat_cr_reject(cr, 0, NULL);
	} else if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (!dat_ep_reset(echo.ep)) /* for the next client */
			echo_receive();
	}
}

static DAT_RETURN echo_open(void)
{
	const DAT_UPCALL_OBJECT completion = { .upcall_func = echo_completion };
	const DAT_UPCALL_OBJECT connection = { .upcall_func = echo_connection };
	const DAT_REGION_DESCRIPTION region = { .for_va = echo.memory };
	DAT_EVD_HANDLE done, conn;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	ret = dat_pz_create(echo.ia, &pz) ?:
	      dat_evd_kcreate(echo.ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &completion,
			      DAT_EVD_DTO_FLAG, &done) ?:
	      dat_evd_kcreate(echo.ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &connection,
			      DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &conn) ?:
	      dat_lmr_kcreate(echo.ia, DAT_MEM_TYPE_VIRTUAL, region, ECHO_SIZE, pz, ECHO_LOCAL,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
			      &echo.buffer.lmr_context, NULL, NULL, NULL) ?:
	      dat_ep_create(echo.ia, pz, done, done, conn, NULL, &echo.ep);
	if (ret)
		return ret;
	echo.buffer.virtual_address = (uintptr_t)echo.memory;
	echo.buffer.segment_length = ECHO_SIZE;
	echo_receive(); /* before a client can connect */
	return dat_psp_create(echo.ia, 7000, conn, DAT_PSP_CONSUMER_FLAG, &psp);
}

static void echo_exit(void)
{
	dat_ia_close(echo.ia, DAT_CLOSE_ABRUPT_FLAG); /* with all its objects; no upcall after it */
	kfree(echo.memory);
}
module_exit(echo_exit);

static int __init echo_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	echo.memory = kzalloc(ECHO_SIZE, GFP_KERNEL);
	if (!echo.memory || dat_ia_open(name, 8, &async, &echo.ia)) {
		kfree(echo.memory);
		return -ENODEV;
	}
	if (!echo_open())
		return 0;
	echo_exit();
	return -EIO;
}
module_init(echo_init);

MODULE_DESCRIPTION("Example of a consumer of kDAPL: a server");
MODULE_LICENSE("Dual MIT/GPL");
