// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * krdma_ops: start and end of the offload protocol switch.
 *
 * The module can be unloaded when it has no socket, handed off or not, and no protocol uses its
 * functions. The parameter "shutdown" prepares this: the switch offers new sockets to no protocol,
 * and the protocols unregister, then their transports. A reboot does the same.
 *
 * The module has no alias for its address families and protocol numbers: socket() needs no right,
 * and would load the module for any user.
 */
#include <linux/module.h>
#include <linux/reboot.h>

#include "ops.h"

int ops_family = AF_INET_OFFLOAD;
module_param_named(family, ops_family, int, 0444);
MODULE_PARM_DESC(family, "Number of AF_INET_OFFLOAD, one that no other module has (default 19)");

static int main_alias = AF_INET_SDP;
module_param_named(alias, main_alias, int, 0444);
MODULE_PARM_DESC(alias, "Another number of the same, for old programs; 0: none (default 27)");

static bool main_down;
static DEFINE_MUTEX(main_down_mutex);	/* protects main_down */

static void main_set_down(bool down)
{
	guard(mutex)(&main_down_mutex);
	if (main_down == down)
		return;
	main_down = down;
	ops_registry_shutdown(down);
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
MODULE_PARM_DESC(shutdown, "Ask all protocols to leave, new sockets are TCP's alone; 0: as before");

static int main_reboot(struct notifier_block *notifier, unsigned long event, void *unused)
{
	main_set_down(true);
	return NOTIFY_DONE;
}

static struct notifier_block main_reboot_notifier = {
	.notifier_call = main_reboot,
};

static struct net_proto_family main_family = {
	.create = ops_family_create,
	.owner = THIS_MODULE,
};

static struct net_proto_family main_family_alias = {
	.create = ops_family_create,
	.owner = THIS_MODULE,
};

static int main_register_families(void)
{
	int err;

	main_family.family = ops_family;
	err = sock_register(&main_family);
	if (err) {
		pr_err("krdma_ops: another module has address family %d: choose a free one (family=)\n",
		       ops_family);
		return err;
	}
	if (main_alias == ops_family)
		main_alias = 0;
	main_family_alias.family = main_alias;
	/* the alias is a convenience: the switch works without it */
	if (main_alias && sock_register(&main_family_alias)) {
		pr_info("krdma_ops: another module has address family %d, so family %d has no alias\n",
			main_alias, ops_family);
		main_alias = 0;
	}
	return 0;
}

static void main_unregister_families(void)
{
	if (main_alias)
		sock_unregister(main_alias);
	sock_unregister(ops_family);
}

static int __init main_init(void)
{
	int err;

	if (ops_family <= 0 || ops_family >= NPROTO || main_alias < 0 || main_alias >= NPROTO)
		return -EINVAL;
	err = ops_registry_init();
	if (err)
		return err;
	err = ops_calls_init();
	if (err)
		return err;
	err = ops_policy_init();
	if (err)
		goto calls;
	/* from here on there can be sockets */
	err = ops_create_init();
	if (err)
		goto policy;
	err = main_register_families();
	if (err)
		goto create;
	err = ops_redirect_init();
	if (err)
		goto families;
	register_reboot_notifier(&main_reboot_notifier);
	return 0;

families:
	main_unregister_families();
create:
	ops_create_exit();
policy:
	ops_policy_exit();
calls:
	ops_calls_exit();
	ops_handoff_exit();
	return err;
}

/* No socket is left: each has a reference on the module. */
static void __exit main_exit(void)
{
	unregister_reboot_notifier(&main_reboot_notifier);
	ops_redirect_exit();
	main_unregister_families();
	ops_create_exit();
	ops_registry_exit();
	ops_policy_exit();
	ops_calls_exit();
	ops_handoff_exit();
}

module_init(main_init);
module_exit(main_exit);

MODULE_DESCRIPTION("krdma offload protocol switch");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
