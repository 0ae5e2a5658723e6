// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A whole consumer of kDAPL: it sends a message to kdapl_echo.c and waits for the answer. */
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <krdma/kdat.h>

static char *name = "krdma0", *peer = "";
module_param(name, charp, 0444);
module_param(peer, charp, 0444);

#define HELLO_LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/* wait up to 5 s for an event with that number */
static int hello_wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	unsigned int left = 250;

	while (dat_evd_dequeue(evd, event) != DAT_SUCCESS && --left)
		msleep(20);
	return left && event->event_number == number ? 0 : -EIO;
}

static int hello_run(DAT_IA_HANDLE ia, char *memory, DAT_IA_ADDRESS_PTR address)
{
	const DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_TRIPLET out = { .virtual_address = (uintptr_t)memory, .segment_length = 64 };
	DAT_LMR_TRIPLET in = { .virtual_address = (uintptr_t)memory + 64, .segment_length = 64 };
	DAT_EVD_HANDLE conn, done;
	DAT_DTO_COOKIE cookie = {};
	DAT_EVENT event = {};
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_EP_HANDLE ep;
	int i;

	if (dat_pz_create(ia, &pz) ||
	    dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG, &conn) ||
	    dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &done) ||
	    dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, 128, pz, HELLO_LOCAL, DAT_VA_TYPE_VA,
			    DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &out.lmr_context, NULL, NULL, NULL) ||
	    dat_ep_create(ia, pz, done, done, conn, NULL, &ep))
		return -ENOMEM;
	in.lmr_context = out.lmr_context;
	/* the receive first: the answer may come before the next line runs */
	if (dat_ep_post_recv(ep, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG) ||
	    dat_ep_connect(ep, address, 7000, 5 * USEC_PER_SEC, 0, NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG) ||
	    hello_wait(conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event) ||
	    dat_ep_post_send(ep, 1, &out, cookie, DAT_COMPLETION_DEFAULT_FLAG))
		return -EIO;
	for (i = 0; i < 2; i++) /* the Send and the receive, in any order */
		if (hello_wait(done, DAT_DTO_COMPLETION_EVENT, &event) ||
		    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			return -EIO;
	pr_info("kdapl_hello: '%s' came back\n", memory + 64);
	return 0;
}

static int __init hello_init(void)
{
	char *memory __free(kfree) = kzalloc(128, GFP_KERNEL);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct sockaddr_storage address;
	DAT_IA_HANDLE ia;
	int ret;

	if (!memory)
		return -ENOMEM;
	if (inet_pton_with_scope(&init_net, AF_UNSPEC, peer, NULL, &address))
		return -EINVAL;
	if (dat_ia_open(name, 8, &async, &ia))
		return -ENODEV;
	strscpy(memory, "hello", 64);
	ret = hello_run(ia, memory, (DAT_IA_ADDRESS_PTR)&address);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG); /* with all its objects */
	return ret;
}
module_init(hello_init);

static void __exit hello_exit(void)
{
}
module_exit(hello_exit);

MODULE_DESCRIPTION("Example of a consumer of kDAPL: a client");
MODULE_LICENSE("Dual MIT/GPL");
