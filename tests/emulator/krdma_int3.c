// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Protects a guest from a fault of QEMU before 8.1 ("Always lock pages before translation").
 * The kernel changes its code by means of a breakpoint. A CPU that translates the page at that
 * moment may keep the translation with the breakpoint. The guest then dies of an int3 that is
 * not in its memory. A write to the instruction makes the emulator translate it again.
 */
#include <linux/atomic.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include <asm/processor-flags.h>
#include <asm/text-patching.h>

static atomic_t cured;

static int cured_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&cured));
}

static const struct kernel_param_ops cured_ops = {
	.get = cured_get,
};
module_param_cb(cured, &cured_ops, NULL, 0444);
MODULE_PARM_DESC(cured, "breakpoints that were not there and were stepped over");

/* Kernel text is mapped read-only, and this context may not allow another mapping. */
static void int3_touch(u8 *code)
{
	unsigned long cr0, flags;

	local_irq_save(flags);
	asm volatile("mov %%cr0, %0" : "=r" (cr0));
	asm volatile("mov %0, %%cr0" : : "r" (cr0 & ~X86_CR0_WP) : "memory");
	/* another CPU may be changing it at this moment: write the same value */
	asm volatile("lock orb $0, %0" : "+m" (*code));
	asm volatile("mov %0, %%cr0" : : "r" (cr0) : "memory");
	local_irq_restore(flags);
}

NOKPROBE_SYMBOL(int3_touch);

static int int3_notify(struct notifier_block *nb, unsigned long event,
		       void *data)
{
	struct die_args *args = data;
	u8 *code, now;

	if (event != DIE_INT3 || user_mode(args->regs))
		return NOTIFY_DONE;
	code = (u8 *)args->regs->ip - INT3_INSN_SIZE;
	if (get_kernel_nofault(now, code) || now == INT3_INSN_OPCODE)
		return NOTIFY_DONE;
	int3_touch(code);
	atomic_inc(&cured);
	args->regs->ip -= INT3_INSN_SIZE;
	return NOTIFY_STOP;
}

NOKPROBE_SYMBOL(int3_notify);

static struct notifier_block int3_notifier = {
	.notifier_call = int3_notify,
	.priority = INT_MAX,
};

static int __init int3_init(void)
{
	return register_die_notifier(&int3_notifier);
}

static void __exit int3_exit(void)
{
	unregister_die_notifier(&int3_notifier);
}

module_init(int3_init);
module_exit(int3_exit);

MODULE_DESCRIPTION("Steps over breakpoints that an emulator has kept by mistake");
MODULE_LICENSE("Dual MIT/GPL");
