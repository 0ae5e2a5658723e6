// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_lost: the next calls of dat_lmr_invalidate() succeed without doing anything, so that their
 * completions never come. Only a broken RNIC does that. As long as there are such calls to come, no
 * command of a SCSI host seems to be in progress: so a reset by ioctl ends them at once, as one of
 * the error handler does.
 *
 * /sys/module/krdma_lost/parameters/calls	how many; counted down
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <scsi/scsi_host.h>
#include <krdma/kdat.h>

static atomic_t lost_calls = ATOMIC_INIT(0);

static int lost_set(const char *value, const struct kernel_param *param)
{
	int calls, ret = kstrtoint(value, 0, &calls);

	if (!ret)
		atomic_set(&lost_calls, calls);
	return ret;
}

static int lost_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&lost_calls));
}

static const struct kernel_param_ops lost_ops = { .set = lost_set, .get = lost_get };

module_param_cb(calls, &lost_ops, NULL, 0644);
MODULE_PARM_DESC(calls, "calls of dat_lmr_invalidate() that do nothing");

/* in place of dat_lmr_invalidate() */
static DAT_RETURN lost_invalidate(DAT_LMR_HANDLE lmr, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
				  DAT_COMPLETION_FLAGS flags)
{
	return DAT_SUCCESS;
}

/* At the function's begin, so that the other one finds the same arguments and return address. */
static int lost_enter(struct kprobe *probe, struct pt_regs *regs)
{
	if (atomic_dec_if_positive(&lost_calls) < 0)
		return 0;
	instruction_pointer_set(regs, (unsigned long)lost_invalidate);
	return 1;
}

/* its existence keeps the probe from an optimisation that ignores the new instruction pointer */
static void lost_entered(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

/* in place of scsi_host_busy() */
static int lost_host_busy(struct Scsi_Host *host)
{
	return 0;
}

static int lost_enter_busy(struct kprobe *probe, struct pt_regs *regs)
{
	if (atomic_read(&lost_calls) <= 0)
		return 0;
	instruction_pointer_set(regs, (unsigned long)lost_host_busy);
	return 1;
}

static struct kprobe lost_busy_probe = {
	.symbol_name = "scsi_host_busy",
	.pre_handler = lost_enter_busy,
	.post_handler = lost_entered,
};

static struct kprobe lost_probe = {
	.symbol_name = "dat_lmr_invalidate",
	.pre_handler = lost_enter,
	.post_handler = lost_entered,
};

static struct kprobe *lost_probes[] = { &lost_probe, &lost_busy_probe };

static int __init lost_init(void)
{
	return register_kprobes(lost_probes, ARRAY_SIZE(lost_probes));
}

static void __exit lost_exit(void)
{
	unregister_kprobes(lost_probes, ARRAY_SIZE(lost_probes));
}

module_init(lost_init);
module_exit(lost_exit);

MODULE_DESCRIPTION("krdma test: invalidations that do not complete");
MODULE_LICENSE("Dual MIT/GPL");
