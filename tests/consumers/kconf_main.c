// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The conformance test's run. Loading the module runs all checks once, on the RNIC of the
 * parameters; see kcheck.h for what the kernel's log says of them.
 *
 * The module leaves nothing: its initialisation fails with -EIO if a check failed, and else there
 * is nothing to unload but the module.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/string.h>

#include "kcheck.h"
#include "kconf.h"

static char *rnic = "";
module_param(rnic, charp, 0444);
MODULE_PARM_DESC(rnic, "name of the RNIC to test");

static char *local = "";
module_param(local, charp, 0444);
MODULE_PARM_DESC(local, "address of the RNIC that connections come from");

static char *remote = "";
module_param(remote, charp, 0444);
MODULE_PARM_DESC(remote, "address of the RNIC that connections go to; may be the same");

static ushort port = 7990;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "port to listen on (default 7990); the next one must be free");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run only the check of this name");

struct kconf kconf;

/* Faults of drivers that this test meets; the lines are those of Linux 6.12. */
static const struct kcheck_known kconf_known[] = {
	{ "siw", "Send before a graceful end", NULL, 0,
	  "the send queue is not drained: siw_qp.c:721" },
	{ "siw", "QP reset", NULL, 0,
	  "no way out of the error state: siw_qp.c:863" },
	{ "siw", "solicited events", NULL, 0,
	  "the flag is set and not looked at: siw_qp.c:1162" },
	{ "siw", "SRQ limit after its event", NULL, 0,
	  "the limit stays in a query: siw_qp_rx.c:392" },
	{ "siw", "Read without the right", NULL, 0,
	  "no right is asked for: siw_qp_tx.c:814" },
	{ "siw", "Read of the DMA region", NULL, 0,
	  "no right is asked for: siw_qp_tx.c:814" },
	{}
};

/* Return: @met */
bool kconf_expect(bool met, const char *file, int line, const char *what)
{
	if (!met && !kconf.failed++)
		snprintf(kconf.where, sizeof(kconf.where), "%s:%d %s", kbasename(file), line, what);
	return met;
}

/* The checks **************************************************************** */

static void kconf_run_some(const struct kconf_check *check, struct kcheck_run *run)
{
	for (; check->name; check++) {
		if (*only && strcmp(only, check->name))
			continue;
		kconf.missing = false;
		kconf.failed = 0;
		kconf_bed_init();
		check->run();
		kconf_bed_close();
		kcheck_verdict(run, check->name, kconf.failed, kconf.where, kconf.missing);
	}
}

static int kconf_run_all(void)
{
	struct kcheck_run run = {
		.test = "kconf",
		.rnic = kconf.rnic->name,
		.known = kconf_known,
	};

	kconf_run_some(kconf_object_checks, &run);
	kconf_run_some(kconf_qp_checks, &run);
	kconf_run_some(kconf_conn_checks, &run);
	kconf_run_some(kconf_message_checks, &run);
	kconf_run_some(kconf_rdma_checks, &run);
	kconf_run_some(kconf_queue_checks, &run);
	return kcheck_end(&run);
}

/* The RNIC ****************************************************************** */

/* completed when the checks are over, for which the end of the RNIC waits */
static DECLARE_COMPLETION(kconf_over);

static int kconf_add(struct ri_rnic *found)
{
	if (strcmp(found->name, rnic))
		return -ENODEV;
	kconf.rnic = found;
	return 0;
}

static void kconf_remove(struct ri_rnic *found)
{
	wait_for_completion(&kconf_over);
}

static struct kal_client kconf_client = {
	.name = "kconf",
	.add = kconf_add,
	.remove = kconf_remove,
};

static int kconf_address(struct sockaddr_storage *to, const char *text, u16 number)
{
	char digits[8];

	snprintf(digits, sizeof(digits), "%u", number);
	return inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, text, digits, to);
}

static int __init kconf_init(void)
{
	int ret;

	ret = kconf_address(&kconf.local, local, 0) ?: kconf_address(&kconf.remote, remote, port);
	if (ret)
		return ret;
	ret = kal_register_client(&kconf_client);
	if (ret)
		return ret;
	ret = kconf.rnic ? kconf_run_all() : -ENODEV;
	complete_all(&kconf_over);
	kal_unregister_client(&kconf_client);
	return ret;
}

static void __exit kconf_exit(void)
{
}

module_init(kconf_init);
module_exit(kconf_exit);

MODULE_DESCRIPTION("conformance of an RNIC provider, as a kernel consumer sees it");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
