// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_ops: start and end of the offload switch.
 *
 * The module can be unloaded when it has no marked socket and no road. The parameter "shutdown"
 * prepares this: no socket is marked any more, those that are go back to TCP, and the roads
 * unregister, then their transports. At a reboot nothing new begins.
 *
 * The module has no alias for its address families and protocol numbers: socket() needs no right,
 * and would load the module for any user.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/reboot.h>

#include "ops.h"

static bool main_down;
static DEFINE_MUTEX(main_down_mutex);	/* protects main_down */

static void main_set_down(bool down)
{
	guard(mutex)(&main_down_mutex);
	/* again: those whose readers have followed by now */
	if (!main_down && !down)
		return;
	main_down = down;
	WRITE_ONCE(ops_down, down);
	if (down)
		ops_socks_shutdown();
	ops_roads_down(down);
}

static int main_shutdown_set(const char *value, const struct kernel_param *param)
{
	bool down;
	int err = kstrtobool(value, &down);

	if (err)
		return err;
	main_set_down(down);
	return 0;
}

static const struct kernel_param_ops main_shutdown_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = main_shutdown_set,
	.get = param_get_bool,
};

module_param_cb(shutdown, &main_shutdown_ops, &main_down, 0644);
MODULE_PARM_DESC(shutdown, "Send all sockets back to TCP, and ask the roads to leave; 0: as before");

/* Nothing new begins. No socket is waited for: a program would hold up the host's end. */
static int main_reboot(struct notifier_block *notifier, unsigned long event, void *unused)
{
	WRITE_ONCE(ops_down, true);
	ops_roads_refuse(true);
	return NOTIFY_DONE;
}

static struct notifier_block main_reboot_notifier = {
	.notifier_call = main_reboot,
};

static int __init main_init(void)
{
	int err;

	ops_view_init();
	err = ops_pair_init();
	if (err)
		return err;
	err = ops_local_init();
	if (err)
		goto pair;
	err = ops_road_init();
	if (err)
		goto local;
	err = ops_rules_init();
	if (err)
		goto road;
	err = ops_ulp_init();
	if (err)
		goto rules;
	/* from here on there can be marked sockets */
	err = ops_mark_init();
	if (err)
		goto ulp;
	err = ops_explicit_init();
	if (err)
		goto mark;
	register_reboot_notifier(&main_reboot_notifier);
	return 0;

mark:
	ops_mark_stop();
	ops_mark_exit();
ulp:
	ops_ulp_exit();
rules:
	ops_rules_exit();
road:
	ops_road_exit();
local:
	ops_local_exit();
pair:
	ops_pair_exit();
	return err;
}

/* No marked socket is left: each has a reference on the module. */
static void __exit main_exit(void)
{
	unregister_reboot_notifier(&main_reboot_notifier);
	ops_explicit_exit();
	ops_mark_stop();
	ops_ulp_exit();
	/* calls that have loaded a function of ours and not begun it, or are at its end */
	synchronize_rcu();
	synchronize_rcu_tasks();
	ops_mark_exit();
	ops_local_exit();
	ops_rules_exit();
	ops_road_exit();
	ops_pair_exit();
}

module_init(main_init);
module_exit(main_exit);

MODULE_DESCRIPTION("krdma offload switch");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
