// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module: an iSCSI transport whose data mover is kDAPL.
 *
 * open-iscsi knows the names of all transports that it works with, by a table in its binaries: it
 * refuses a name that is not there, and then does not look at the transports that follow. So this
 * one has, unless the parameter says otherwise, the name of the kernel's own iSER initiator, whose
 * entry in the table fits: an RDMA transport with endpoints in the kernel. The two modules cannot
 * be loaded at the same time with the same name.
 */
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <krdma/compat.h>

#include "kiser.h"

static char *kiser_name = "iser";
module_param_named(transport, kiser_name, charp, 0444);
MODULE_PARM_DESC(transport, "name of the transport, which open-iscsi must know (default iser)");

char *kiser_ia = "";
module_param_named(ia, kiser_ia, charp, 0644);
MODULE_PARM_DESC(ia, "interface adapter (default: that of the route's network device)");

unsigned int kiser_max_sectors = KISER_MAX_SECTORS;
module_param_named(max_sectors, kiser_max_sectors, uint, 0444);
MODULE_PARM_DESC(max_sectors, "most sectors in a SCSI command, at least 8 (default 1024)");

unsigned int kiser_max_commands = KISER_MAX_COMMANDS;
module_param_named(max_commands, kiser_max_commands, uint, 0444);
MODULE_PARM_DESC(max_commands, "most tasks of a session, at least 32 (default 512)");

struct scsi_transport_template *kiser_template;

struct iscsi_transport kiser_transport = {
	.owner = THIS_MODULE,
	.caps = CAP_RECOVERY_L0 | CAP_MULTI_R2T | CAP_TEXT_NEGO,

	.create_session = kiser_session_create,
	.destroy_session = kiser_session_destroy,
	.session_recovery_timedout = iscsi_session_recovery_timedout,

	.create_conn = kiser_session_add_conn,
	.bind_conn = kiser_conn_bind,
	.start_conn = iscsi_conn_start,
	.unbind_conn = iscsi_conn_unbind,
	.stop_conn = iscsi_conn_stop,
	.destroy_conn = iscsi_conn_teardown,

	.ep_connect = kiser_conn_connect,
	.ep_poll = kiser_conn_poll,
	.ep_disconnect = kiser_conn_disconnect,

	.set_param = kiser_session_set_param,
	.get_conn_param = iscsi_conn_get_param,
	.get_session_param = iscsi_session_get_param,
	.get_ep_param = kiser_conn_ep_param,
	.get_host_param = iscsi_host_get_param,
	.set_host_param = iscsi_host_set_param,
	.attr_is_visible = kiser_session_visible,
	.get_stats = kiser_session_stats,

	.send_pdu = iscsi_conn_send_pdu,
	.alloc_pdu = kiser_send_alloc_pdu,
	.xmit_task = kiser_send_task,
	.cleanup_task = kiser_send_cleanup_task,
};

/*
 * Is there a transport of this name? The transport class looks at sysfs alone, which dumps the
 * stack when a name is there, and offers no look-up. It offers no lock either: of two modules that
 * are loaded at one time with one name, the second may see the dump. It is refused all the same.
 */
static bool __init kiser_name_taken(void)
{
	const char *const path[] = { "class", "iscsi_transport", kiser_name };
	struct kernfs_node *node = compat_kernfs_parent(kernel_kobj->sd), *next;
	unsigned int i;

	kernfs_get(node);
	for (i = 0; node && i < ARRAY_SIZE(path); i++) {
		next = kernfs_find_and_get_ns(node, path[i], NULL);
		kernfs_put(node);
		node = next;
	}
	kernfs_put(node);
	return node;
}

static int __init kiser_register(void)
{
	kiser_transport.name = kiser_name;
	if (!kiser_name_taken()) {
		kiser_template = iscsi_register_transport(&kiser_transport);
		if (kiser_template)
			return 0;
		/* it does not say why: another module may have been faster */
		if (!kiser_name_taken())
			return -ENOMEM;
	}
	pr_err("krdma_iser: another module has the transport \"%s\"%s\n", kiser_name,
	       strcmp(kiser_name, "iser") ? "" : ": unload ib_iser first");
	return -EEXIST;
}

static int __init kiser_init(void)
{
	int ret;

	if (kiser_max_sectors < PAGE_SIZE / SECTOR_SIZE || kiser_max_sectors > INT_MAX ||
	    kiser_max_commands < 32 || !*kiser_name || !kiser_session_set_name(kiser_name))
		return -EINVAL;
	ret = kiser_conn_init();
	if (ret)
		return ret;
	ret = kiser_register();
	if (ret)
		kiser_conn_exit();
	return ret;
}

static void __exit kiser_exit(void)
{
	iscsi_unregister_transport(&kiser_transport);
	kiser_conn_close_all();
	kiser_conn_exit();
}

module_init(kiser_init);
module_exit(kiser_exit);

MODULE_DESCRIPTION("iSER initiator on kDAPL");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KRDMA_VERSION);
