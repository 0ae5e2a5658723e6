// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The conformance test's run. Loading the module runs all checks once, on the RNIC of the
 * parameters. Each check is one line of the kernel's log:
 *
 *	kconf: RNIC: CHECK: ok
 *	kconf: RNIC: CHECK: missing			the RNIC says so, and keeps to it
 *	kconf: RNIC: CHECK: known fault: REASON		of the driver below the RNIC
 *	kconf: RNIC: CHECK: FAILED: FILE:LINE EXPRESSION
 *
 * The module leaves nothing: its initialisation fails with -EIO if a check failed, and else there
 * is nothing to unload but the module.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/string.h>

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
static const struct kconf_known {
	const char *prefix;	/* of the RNIC's name */
	const char *check;
	const char *reason;
} kconf_known[] = {
	{ "siw", "Send before a graceful end", "the send queue is not drained: siw_qp.c:721" },
	{ "siw", "QP reset", "no way out of the error state: siw_qp.c:863" },
	{ "siw", "solicited events", "the flag is set and not looked at: siw_qp.c:1162" },
	{ "siw", "SRQ limit after its event", "the limit stays in a query: siw_qp_rx.c:392" },
	{ "siw", "Read without the right", "no right is asked for: siw_qp_tx.c:814" },
	{ "siw", "Read of the DMA region", "no right is asked for: siw_qp_tx.c:814" },
	{}
};

static const char *kconf_known_reason(const char *check)
{
	const struct kconf_known *known;

	for (known = kconf_known; known->prefix; known++)
		if (str_has_prefix(kconf.rnic->name, known->prefix) &&
		    !strcmp(check, known->check))
			return known->reason;
	return NULL;
}

/* Return: @met */
bool kconf_expect(bool met, const char *file, int line, const char *what)
{
	if (!met && !kconf.failed++)
		snprintf(kconf.where, sizeof(kconf.where), "%s:%d %s", kbasename(file), line, what);
	return met;
}

/* The checks **************************************************************** */

struct kconf_tally {
	unsigned int ok;
	unsigned int missing;
	unsigned int known;
	unsigned int failed;
};

static void kconf_verdict(const struct kconf_check *check, struct kconf_tally *tally)
{
	const char *name = kconf.rnic->name;
	const char *reason = kconf_known_reason(check->name);

	if (kconf.failed && reason) {
		tally->known++;
		pr_info("kconf: %s: %s: known fault: %s (%s)\n", name, check->name, reason,
			kconf.where);
	} else if (kconf.failed) {
		tally->failed++;
		pr_info("kconf: %s: %s: FAILED: %s\n", name, check->name, kconf.where);
	} else if (kconf.missing) {
		tally->missing++;
		pr_info("kconf: %s: %s: missing\n", name, check->name);
	} else {
		tally->ok++;
		pr_info("kconf: %s: %s: ok\n", name, check->name);
	}
}

static void kconf_run_some(const struct kconf_check *check, struct kconf_tally *tally)
{
	for (; check->name; check++) {
		if (*only && strcmp(only, check->name))
			continue;
		kconf.missing = false;
		kconf.failed = 0;
		kconf_bed_init();
		check->run();
		kconf_bed_close();
		kconf_verdict(check, tally);
	}
}

static int kconf_run_all(void)
{
	struct kconf_tally tally = {};

	kconf_run_some(kconf_object_checks, &tally);
	kconf_run_some(kconf_qp_checks, &tally);
	kconf_run_some(kconf_conn_checks, &tally);
	kconf_run_some(kconf_message_checks, &tally);
	kconf_run_some(kconf_rdma_checks, &tally);
	kconf_run_some(kconf_queue_checks, &tally);
	pr_info("kconf: %s: %u ok, %u missing, %u known faults, %u failed\n", kconf.rnic->name,
		tally.ok, tally.missing, tally.known, tally.failed);
	return tally.failed ? -EIO : 0;
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
