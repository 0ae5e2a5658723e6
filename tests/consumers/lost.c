// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_lost: the next calls of dat_lmr_invalidate() succeed without doing anything, so that their
 * completions never come. Only a broken RNIC does that.
 *
 * /sys/module/krdma_lost/parameters/calls	how many; counted down
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
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

static struct kprobe lost_probe = {
	.symbol_name = "dat_lmr_invalidate",
	.pre_handler = lost_enter,
	.post_handler = lost_entered,
};

static int __init lost_init(void)
{
	return register_kprobe(&lost_probe);
}

static void __exit lost_exit(void)
{
	unregister_kprobe(&lost_probe);
}

module_init(lost_init);
module_exit(lost_exit);

MODULE_DESCRIPTION("krdma test: invalidations that do not complete");
MODULE_LICENSE("Dual MIT/GPL");
