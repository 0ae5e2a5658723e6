// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Redirection of unmodified programs by the module itself, where the parameter "redirect" is on:
 * socket() of AF_INET or AF_INET6 for a stream of TCP makes the wildcard.
 *
 * The kernel calls update_socket_protocol() for each socket() of user space, and for nothing else,
 * so that sockets of the kernel, of this module and of other modules stay what they are. The
 * function is there for BPF, which "krdma offload attach" uses. Here a return probe changes its
 * answer, which needs no BTF, no BPF and no MPTCP in the kernel. Not seen: sockets that io_uring
 * makes.
 *
 * A kernel with the patch of ops/patches/ has a hook of its own, and is asked for that.
 *
 * Rules with direction "socket" say for whom (ops_policy_redirects()).
 */
#include <linux/kprobes.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/in.h>
#include <linux/net.h>

#include "ops.h"

static bool redirect_on;
static bool redirect_started;	/* the module is ready */
static bool redirect_active;	/* the probe is there */
static DEFINE_MUTEX(redirect_mutex);	/* protects the above */

#ifdef AF_INET_DIRECT

static struct sock_offload_hook redirect_hook = {
	.redirects = ops_policy_redirects,
};

static int redirect_arm(void)
{
	redirect_hook.family = ops_family;
	return sock_offload_register(&redirect_hook);
}

static void redirect_disarm(void)
{
	sock_offload_unregister(&redirect_hook);
}

#elif defined(CONFIG_KRETPROBES)

/* SOCK_NONBLOCK and SOCK_CLOEXEC are above the type */
static bool redirect_is_tcp(unsigned long family, unsigned long type, unsigned long protocol)
{
	return ((int)family == AF_INET || (int)family == AF_INET6) &&
	       ((int)type & SOCK_TYPE_MASK) == SOCK_STREAM &&
	       ((int)protocol == 0 || (int)protocol == IPPROTO_TCP);
}

/* Return: 0: change the answer; the return of the function is not looked at otherwise */
static int redirect_enter(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return !redirect_is_tcp(regs_get_kernel_argument(regs, 0),
				regs_get_kernel_argument(regs, 1),
				regs_get_kernel_argument(regs, 2)) ||
	       (current->flags & PF_KTHREAD) || !ops_policy_redirects();
}

NOKPROBE_SYMBOL(redirect_enter);

static int redirect_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	regs_set_return_value(regs, IPPROTO_OFFLOAD);
	return 0;
}

NOKPROBE_SYMBOL(redirect_return);

/* a probe that was removed is not fit to be added again without this */
static struct kretprobe redirect_probe;

static int redirect_arm(void)
{
	redirect_probe = (struct kretprobe){
		.kp.symbol_name = "update_socket_protocol",
		.entry_handler = redirect_enter,
		.handler = redirect_return,
		/* calls that are inside at a time; one too many is not redirected */
		.maxactive = 4 * num_possible_cpus() + 32,
	};
	return register_kretprobe(&redirect_probe);
}

static void redirect_disarm(void)
{
	unregister_kretprobe(&redirect_probe);
	if (redirect_probe.nmissed)
		pr_info("krdma_ops: %d sockets were not redirected\n", redirect_probe.nmissed);
}

#else

static int redirect_arm(void)
{
	return -EOPNOTSUPP;
}

static void redirect_disarm(void)
{
}

#endif

/* with the mutex */
static int redirect_switch(bool on)
{
	int error = 0;

	if (on == redirect_active)
		return 0;
	if (on)
		error = redirect_arm();
	else
		redirect_disarm();
	if (!error)
		redirect_active = on;
	return error;
}

/* Arguments of the module come here before ops_redirect_init(). */
static int redirect_set(const char *value, const struct kernel_param *param)
{
	bool on;
	int error = kstrtobool(value, &on);

	if (error)
		return error;
	guard(mutex)(&redirect_mutex);
	if (redirect_started)
		error = redirect_switch(on);
	if (!error)
		redirect_on = on;
	return error;
}

static const struct kernel_param_ops redirect_param = {
	.set = redirect_set,
	.get = param_get_bool,
};
module_param_cb(redirect, &redirect_param, &redirect_on, 0644);
MODULE_PARM_DESC(redirect,
		 "TCP sockets of all programs are offered to the offload protocols; rules for \"socket\" say whose are not");

/**
 * ops_redirect_init() - redirect, if the parameter says so
 *
 * A kernel that cannot is no reason to do without the module. Return: 0. Context: may sleep.
 */
int ops_redirect_init(void)
{
	guard(mutex)(&redirect_mutex);
	redirect_started = true;
	if (redirect_on && redirect_switch(true)) {
		pr_warn("krdma_ops: socket() cannot be redirected on this kernel\n");
		redirect_on = false;
	}
	return 0;
}

/**
 * ops_redirect_exit() - stop it; before the rules go
 */
void ops_redirect_exit(void)
{
	guard(mutex)(&redirect_mutex);
	redirect_started = false;
	redirect_switch(false);
}
