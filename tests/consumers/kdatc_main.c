// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The run of kDAPL's conformance test. Loading the module runs all checks once, on the RNIC of the
 * parameters; see kcheck.h for what the kernel's log says of them.
 *
 * The module leaves nothing: its initialisation fails with -EIO if a check failed, and else there
 * is nothing to unload but the module.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "kcheck.h"
#include "kdatc.h"

static char *rnic = "";
module_param(rnic, charp, 0444);
MODULE_PARM_DESC(rnic, "name of the RNIC to test");

static char *remote = "";
module_param(remote, charp, 0444);
MODULE_PARM_DESC(remote, "address of the RNIC");

static ushort port = 7990;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "first of eight free ports (default 7990)");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run only the check of this name");

static uint patience = 10;
module_param(patience, uint, 0444);
MODULE_PARM_DESC(patience, "seconds that an event may take (default 10)");

static uint rounds = 1;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "run the checks as often (default 1)");

static uint removal;
module_param(removal, uint, 0444);
MODULE_PARM_DESC(removal, "no checks: make objects, wait until the RNIC goes (1 to 3, default 0: no)");

struct kdatc kdatc;

/* Faults of drivers that this test meets; the lines are those of Linux 6.12.117. */
#define KDATC_SIW_TERMINATE	"the peer's Terminate is told as an orderly end: siw_cm.c:1078"
#define KDATC_SIW_STATUS	"a Write that was sent fails when the peer ends at once: siw_qp_tx.c:892"
#define KDATC_SIW_REJECT	"an MPA Reject without data is told as a reset: siw_cm.c:763"
#define KDATC_SIW_ORDER		"a registration completes before a Read ahead of it: siw_qp_tx.c:1057"

static const struct kcheck_known kdatc_known[] = {
	{ "siw", "solicited wait", "called(&calls, 2)", 0,
	  "the flag is set and not looked at: siw_qp.c:1162" },
	{ "siw", "EP tentative", "EVENT_PEER_REJECTED", 1, KDATC_SIW_REJECT },
	{ "siw", "RSP rejects", "EVENT_PEER_REJECTED", 1, KDATC_SIW_REJECT },
	{ "siw", "write beyond the LMR", "EVENT_BROKEN", 1, KDATC_SIW_TERMINATE },
	{ "siw", "read beyond the LMR", "EVENT_BROKEN", 1, KDATC_SIW_TERMINATE },
	{ "siw", "write before the LMR", "EVENT_BROKEN", 1, KDATC_SIW_TERMINATE },
	{ "siw", "write with a wrong context", "EVENT_BROKEN", 1, KDATC_SIW_TERMINATE },
	{ "siw", "write without the right", "EVENT_BROKEN", 1, KDATC_SIW_TERMINATE },
	{ "siw", "invalidated", "EVENT_BROKEN", 1, KDATC_SIW_TERMINATE },
	{ "siw", "write beyond the LMR", "status == DAT_DTO_SUCCESS", 2, KDATC_SIW_STATUS },
	{ "siw", "write before the LMR", "status == DAT_DTO_SUCCESS", 2, KDATC_SIW_STATUS },
	{ "siw", "write with a wrong context", "status == DAT_DTO_SUCCESS", 2, KDATC_SIW_STATUS },
	{ "siw", "write without the right", "status == DAT_DTO_SUCCESS", 2, KDATC_SIW_STATUS },
	{ "siw", "invalidated", "status == DAT_DTO_SUCCESS", 2, KDATC_SIW_STATUS },
	{ "siw", "read without the right", "DAT_DTO_ERR_REMOTE_ACCESS", 0,
	  "a Read's source is not looked at for the right: siw_qp_tx.c:814" },
	{ "siw", "calls in softirq upcalls", "DAT_DTO_RDMA_READ", 0, KDATC_SIW_ORDER },
	{ "siw", "calls in a timer", "DAT_DTO_RDMA_READ", 0, KDATC_SIW_ORDER },
	{ "siw", "calls with a spinlock held", "DAT_DTO_RDMA_READ", 0, KDATC_SIW_ORDER },
	/* nothing comes after it that siw would see */
	{ "siw", "answer in the upcall", "&early->came", 1,
	  "a message right behind the MPA Reply is not seen: siw_cm.c:1684" },
	{}
};

/* Return: @met */
bool kdatc_expect(bool met, const char *file, int line, const char *what)
{
	if (!met && !kdatc.failed++)
		snprintf(kdatc.where, sizeof(kdatc.where), "%s:%d %s (last event: %#x, status %u)",
			 kbasename(file), line, what, kdatc.last.number, kdatc.last.status);
	return met;
}

/* Is @ret the answer that is wanted, in the bits of @mask? */
bool kdatc_answers(DAT_RETURN ret, DAT_RETURN wanted, DAT_RETURN mask, const char *file, int line,
		   const char *what)
{
	const char *major = "?", *minor = "?";

	if ((ret & mask) == wanted)
		return true;
	if (!kdatc.failed++) {
		dat_strerror(ret, &major, &minor);
		snprintf(kdatc.where, sizeof(kdatc.where), "%s:%d %s %s (%#x, not %#x): %s",
			 kbasename(file), line, major, minor, ret, wanted, what);
	}
	return false;
}

/* The checks **************************************************************** */

static void kdatc_run_some(const struct kdatc_check *check, struct kcheck_run *run)
{
	for (; check->name; check++) {
		if (*only && strcmp(only, check->name))
			continue;
		kdatc.missing = false;
		kdatc.failed = 0;
		memset(&kdatc.last, 0, sizeof(kdatc.last));
		if (kdatc_bed_init(check->ib ? kdatc.ib_name : kdatc.name))
			check->run();
		kdatc_bed_close();
		kcheck_verdict(run, check->name, kdatc.failed, kdatc.where, kdatc.missing);
	}
}

static int kdatc_run_all(void)
{
	struct kcheck_run run = {
		.test = "kdatc",
		.rnic = kdatc.name,
		.known = kdatc_known,
	};
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		kdatc_run_some(kdatc_ia_checks, &run);
		kdatc_run_some(kdatc_args_checks, &run);
		kdatc_run_some(kdatc_calls_checks, &run);
		kdatc_run_some(kdatc_evd_checks, &run);
		kdatc_run_some(kdatc_ep_checks, &run);
		kdatc_run_some(kdatc_conn_checks, &run);
		kdatc_run_some(kdatc_dto_checks, &run);
		kdatc_run_some(kdatc_memory_checks, &run);
		kdatc_run_some(kdatc_srq_checks, &run);
		kdatc_run_some(kdatc_ssp_checks, &run);
		kdatc_run_some(kdatc_context_checks, &run);
	}
	return kcheck_end(&run);
}

static int kdatc_run_removal(void)
{
	int ret;

	ret = kdatc_removal(removal);
	if (ret)
		pr_info("kdatc: %s: removal %u: FAILED: %s\n", kdatc.name, removal, kdatc.where);
	else
		pr_info("kdatc: %s: removal %u: ok\n", kdatc.name, removal);
	return ret;
}

static int __init kdatc_init(void)
{
	char digits[8];
	int ret;

	kdatc.port = port;
	kdatc.patience = patience * HZ;
	strscpy(kdatc.name, rnic, sizeof(kdatc.name));
	snprintf(kdatc.ib_name, sizeof(kdatc.ib_name), "%.200s-ib", rnic);
	snprintf(digits, sizeof(digits), "%u", port);
	ret = inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, remote, digits,
				   &kdatc.remote);
	if (ret)
		return ret;
	return removal ? kdatc_run_removal() : kdatc_run_all();
}

static void __exit kdatc_exit(void)
{
}

module_init(kdatc_init);
module_exit(kdatc_exit);

MODULE_DESCRIPTION("conformance of kDAPL, as a consumer sees it");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
