// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/krdma: the file and the table of commands. This file does the work that is common to
 * all commands: checks of sizes, and copies from and to user space. krdma/krdma-abi.h defines
 * the ABI.
 *
 * The module reference of the device node keeps krdma.ko loaded while a file is open.
 */
#include <linux/cleanup.h>
#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>

#include "verbs.h"

#include <krdma/krdma-abi-layout.h>

static LIST_HEAD(kal_files);
static u64 chardev_last_number;
static DEFINE_MUTEX(kal_files_lock);	/* protects the two above */

void kal_files_each(void (*fn)(struct kal_file *file, void *arg), void *arg)
{
	struct kal_file *file;

	mutex_lock(&kal_files_lock);
	list_for_each_entry(file, &kal_files, node) {
		/*
		 * @fn may wait for the file's user, and other files must not wait for that
		 * user.
		 */
		file->visits++;
		mutex_unlock(&kal_files_lock);
		fn(file, arg);
		mutex_lock(&kal_files_lock);
		if (!--file->visits)
			wake_up_var(&file->visits);
	}
	mutex_unlock(&kal_files_lock);
}

/* Remove @file from the list. No visit is in progress on return, and none will begin. */
static void chardev_files_remove(struct kal_file *file)
{
	mutex_lock(&kal_files_lock);
	while (file->visits) {
		mutex_unlock(&kal_files_lock);
		wait_var_event(&file->visits, !READ_ONCE(file->visits));
		mutex_lock(&kal_files_lock);
	}
	list_del(&file->node);
	mutex_unlock(&kal_files_lock);
}

static int chardev_walk_file(struct kal_contexts_walk *walk, struct kal_file *file)
{
	struct kal_context_view view;
	int ret;

	while (kal_file_context(file, &walk->context, &view)) {
		ret = walk->take(&file->owner, &view, walk->arg);
		if (ret)
			return ret;
		walk->context++;
	}
	return 0;
}

int kal_contexts_walk(struct kal_contexts_walk *walk)
{
	struct kal_file *file;
	int ret;

	guard(mutex)(&kal_files_lock);
	list_for_each_entry(file, &kal_files, node) {
		if (file->number < walk->file || !net_eq(file->net, walk->net))
			continue;
		if (file->number != walk->file)
			walk->context = 0;
		walk->file = file->number;
		ret = walk->wanted(&file->owner, walk->arg) ? chardev_walk_file(walk, file) : 0;
		if (ret)
			return ret;
	}
	walk->file = chardev_last_number + 1;
	return 0;
}

/* Common functions of commands ********************************************* */

int kal_addr_to_sockaddr(const struct krdma_addr *from, struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	switch (from->family) {
	case AF_INET:
		if (from->scope_id || memchr_inv(from->addr + 4, 0, sizeof(from->addr) - 4))
			return -EINVAL;
		in->sin_family = AF_INET;
		in->sin_port = from->port;
		memcpy(&in->sin_addr, from->addr, sizeof(in->sin_addr));
		return 0;
	case AF_INET6:
		if (!ipv6_mod_enabled())
			return -EAFNOSUPPORT;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = from->port;
		in6->sin6_scope_id = from->scope_id;
		memcpy(&in6->sin6_addr, from->addr, sizeof(in6->sin6_addr));
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}

void kal_addr_from_sockaddr(const struct sockaddr_storage *from, struct krdma_addr *to)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *in = (const struct sockaddr_in *)from;

	memset(to, 0, sizeof(*to));
	if (from->ss_family == AF_INET) {
		to->family = AF_INET;
		to->port = in->sin_port;
		memcpy(to->addr, &in->sin_addr, sizeof(in->sin_addr));
	} else if (from->ss_family == AF_INET6) {
		to->family = AF_INET6;
		to->port = in6->sin6_port;
		to->scope_id = in6->sin6_scope_id;
		memcpy(to->addr, &in6->sin6_addr, sizeof(in6->sin6_addr));
	}
}

int kal_put_entries(u64 entries, u32 *count, const void *from, u32 num, size_t size)
{
	u32 n = min(*count, num);

	if (n && copy_to_user(u64_to_user_ptr(entries), from, array_size(n, size)))
		return -EFAULT;
	*count = num;
	return 0;
}

static int chardev_cmd_usage(struct kal_file *file, void *_cmd)
{
	struct krdma_usage *cmd = _cmd;
	const u32 size = cmd->size;

	if (cmd->reserved)
		return -EINVAL;
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = size;
	cmd->objects = atomic_read(&file->objects);
	cmd->max_objects = kal_file_objects_limit();
	cmd->max_events = kal_file_events_limit();
	scoped_guard(spinlock_irq, &file->event_lock) {
		cmd->events = file->num_records;
		cmd->lost_events = file->lost;
	}
	if (current->mm)
		cmd->pinned_pages = atomic64_read(&current->mm->pinned_vm);
	return 0;
}

static int chardev_cmd_destroy(struct kal_file *file, void *_cmd)
{
	const struct krdma_destroy *cmd = _cmd;

	return kal_handle_destroy(file, cmd->handle);
}

/* Commands ***************************************************************** */

static const struct kal_command kal_commands[] = {
	/* RNICs */
	[_IOC_NR(KRDMA_IOC_RNIC_LIST)] =
		KAL_COMMAND(kal_cmd_rnic_list, krdma_rnic_list, entries),
	[_IOC_NR(KRDMA_IOC_RNIC_QUERY)] =
		KAL_COMMAND(kal_cmd_rnic_query, krdma_rnic_query, flags),
	[_IOC_NR(KRDMA_IOC_RNIC_COUNTERS)] =
		KAL_COMMAND(kal_cmd_rnic_counters, krdma_rnic_counters, entries),
	[_IOC_NR(KRDMA_IOC_RNIC_FIND)] =
		KAL_COMMAND(kal_cmd_rnic_find, krdma_rnic_find, local),
	[_IOC_NR(KRDMA_IOC_RNIC_PORT)] = KAL_COMMAND(kal_cmd_rnic_port, krdma_rnic_port, netdev),
	[_IOC_NR(KRDMA_IOC_QP_LIST)] = KAL_COMMAND(kal_cmd_qp_list, krdma_qp_list, entries),
	[_IOC_NR(KRDMA_IOC_USAGE)] = KAL_COMMAND(chardev_cmd_usage, krdma_usage, objects),
	/* objects */
	[_IOC_NR(KRDMA_IOC_DESTROY)] = KAL_COMMAND(chardev_cmd_destroy, krdma_destroy, handle),
	[_IOC_NR(KRDMA_IOC_CONTEXT)] =
		KAL_COMMAND_NEW_PRIVATE(kal_cmd_context, krdma_context, flags),
	[_IOC_NR(KRDMA_IOC_PD)] = KAL_COMMAND_NEW_PRIVATE(kal_cmd_pd, krdma_pd, id),
	[_IOC_NR(KRDMA_IOC_CQ)] = KAL_COMMAND_NEW_PRIVATE(kal_cmd_cq, krdma_cq, depth),
	[_IOC_NR(KRDMA_IOC_CQ_MODIFY)] =
		KAL_COMMAND_PRIVATE(kal_cmd_cq_modify, krdma_cq_modify, depth),
	[_IOC_NR(KRDMA_IOC_CQ_POLL)] = KAL_COMMAND(kal_cmd_cq_poll, krdma_cq_poll, entries),
	[_IOC_NR(KRDMA_IOC_CQ_NOTIFY)] = KAL_COMMAND(kal_cmd_cq_notify, krdma_cq_notify, missed),
	[_IOC_NR(KRDMA_IOC_SRQ)] = KAL_COMMAND_NEW_PRIVATE(kal_cmd_srq, krdma_srq, max_sge),
	[_IOC_NR(KRDMA_IOC_SRQ_MODIFY)] =
		KAL_COMMAND_PRIVATE(kal_cmd_srq_modify, krdma_srq_attr, limit),
	[_IOC_NR(KRDMA_IOC_SRQ_QUERY)] = KAL_COMMAND(kal_cmd_srq_query, krdma_srq_attr, limit),
	[_IOC_NR(KRDMA_IOC_QP)] = KAL_COMMAND_NEW_PRIVATE(kal_cmd_qp, krdma_qp, max_inline),
	[_IOC_NR(KRDMA_IOC_QP_MODIFY)] = KAL_COMMAND(kal_cmd_qp_modify, krdma_qp_attr, access),
	[_IOC_NR(KRDMA_IOC_QP_QUERY)] = KAL_COMMAND(kal_cmd_qp_query, krdma_qp_attr, state),
	[_IOC_NR(KRDMA_IOC_POST_SEND)] = KAL_COMMAND_ALWAYS(kal_cmd_post_send, krdma_post, done),
	[_IOC_NR(KRDMA_IOC_POST_RECV)] = KAL_COMMAND_ALWAYS(kal_cmd_post_recv, krdma_post, done),
	[_IOC_NR(KRDMA_IOC_POST_SRQ)] = KAL_COMMAND_ALWAYS(kal_cmd_post_srq, krdma_post, done),
	[_IOC_NR(KRDMA_IOC_MR)] = KAL_COMMAND_NEW_PRIVATE(kal_cmd_mr, krdma_mr, iova),
	[_IOC_NR(KRDMA_IOC_MR_REREGISTER)] =
		KAL_COMMAND(kal_cmd_mr_reregister, krdma_mr_reregister, iova),
	[_IOC_NR(KRDMA_IOC_MW)] = KAL_COMMAND_NEW(kal_cmd_mw, krdma_mw, type),
	/* connections */
	[_IOC_NR(KRDMA_IOC_LISTEN)] = KAL_COMMAND_NEW(kal_cmd_listen, krdma_listen, local),
	[_IOC_NR(KRDMA_IOC_CONNECT)] = KAL_COMMAND_NEW(kal_cmd_connect, krdma_conn, remote),
	[_IOC_NR(KRDMA_IOC_ACCEPT)] = KAL_COMMAND(kal_cmd_accept, krdma_conn, ord),
	[_IOC_NR(KRDMA_IOC_REJECT)] = KAL_COMMAND(kal_cmd_reject, krdma_conn, handle),
	[_IOC_NR(KRDMA_IOC_DISCONNECT)] = KAL_COMMAND(kal_cmd_disconnect, krdma_disconnect, qp),
	/* network stack */
	[_IOC_NR(KRDMA_IOC_NET_LOCAL)] = KAL_COMMAND(kal_cmd_net_local, krdma_net_locals, dst),
	[_IOC_NR(KRDMA_IOC_NET_ROUTE)] = KAL_COMMAND(kal_cmd_net_route, krdma_net_route, dst),
	[_IOC_NR(KRDMA_IOC_NET_NEIGH)] =
		KAL_COMMAND_NEW(kal_cmd_net_neigh, krdma_net_neigh, ifindex),
	[_IOC_NR(KRDMA_IOC_PORT)] = KAL_COMMAND_NEW(kal_cmd_port, krdma_port, protocol),
	[_IOC_NR(KRDMA_IOC_NET_SUBSCRIBE)] =
		KAL_COMMAND(kal_cmd_net_subscribe, krdma_net_subscribe, mask),
	[_IOC_NR(KRDMA_IOC_MIB)] = KAL_COMMAND(kal_cmd_mib, krdma_mib, entries),
};

static const struct kal_command *chardev_command_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != KRDMA_IOC_TYPE || cmd != _IO(KRDMA_IOC_TYPE, nr) ||
	    nr >= ARRAY_SIZE(kal_commands))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(kal_commands));
	return kal_commands[nr].size ? &kal_commands[nr] : NULL;
}

/*
 * Run a command with private bytes. No object is in use while the provider's own bytes are
 * copied.
 */
static int kal_command_private(struct kal_file *file, const struct kal_command *command, void *cmd)
{
	const struct krdma_private *priv = cmd + command->private;
	struct ri_udata udata;
	int ret;

	ret = kal_udata_get(&udata, u64_to_user_ptr(priv->in), priv->in_len, priv->out_len);
	if (!ret)
		ret = command->private_handler(file, cmd, &udata);
	if (ret)
		return ret;
	ret = kal_udata_put(&udata, u64_to_user_ptr(priv->out));
	if (ret && command->handle)
		kal_handle_destroy(file, *(const u32 *)(cmd + command->handle));
	return ret;
}

/*
 * Return the results. If the caller's memory is not accessible any more, the created object is
 * destroyed, because user space does not know its handle.
 */
static int chardev_command_answer(struct kal_file *file, const struct kal_command *command,
				  void __user *arg, const void *cmd, u32 size)
{
	if (!copy_to_user(arg, cmd, min(size, command->size)))
		return 0;
	if (command->handle)
		kal_handle_destroy(file, *(const u32 *)(cmd + command->handle));
	return -EFAULT;
}

/* Run a command whose structure was copied to @cmd. */
static int chardev_command_run(struct kal_file *file, const struct kal_command *command,
			       void __user *arg, void *cmd, u32 size)
{
	int ret, err;

	/* the size may have changed in user space meanwhile; only the answer reads it here */
	*(u32 *)cmd = size;
	ret = command->handler ? command->handler(file, cmd) :
				 kal_command_private(file, command, cmd);
	if (ret && !command->always)
		return ret;
	err = chardev_command_answer(file, command, arg, cmd, size);
	return ret ?: err;
}

/* size of a buffer on the stack that most commands fit into */
#define KAL_COMMAND_STACK	256

/* Run a command. @error: gets the cause of a failure, NULL: no cause is wanted */
static int chardev_command(struct kal_file *file, const struct kal_command *command,
			   void __user *arg, struct krdma_error *error)
{
	u64 stack[KAL_COMMAND_STACK / sizeof(u64)];
	void *buf = stack;
	u32 size;
	int ret;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < command->min)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (command->size > sizeof(stack)) {
		buf = kmalloc(command->size, GFP_KERNEL_ACCOUNT);
		if (!buf)
			return -ENOMEM;
	}
	ret = copy_struct_from_user(buf, command->size, arg, size);
	if (!ret) {
		ret = chardev_command_run(file, command, arg, buf, size);
		if (ret && error)
			kal_cause_find(file, command - kal_commands, buf, ret, error);
	}
	if (buf != stack)
		kfree(buf);
	return ret;
}

/*
 * KRDMA_IOC_CALL. The result is that of the inner command, even if the record of its failure
 * cannot be written.
 */
static int chardev_call(struct kal_file *file, struct krdma_call __user *arg)
{
	const struct kal_command *command;
	struct krdma_error error = {};
	struct krdma_call call;
	u32 size;
	int ret;

	if (get_user(size, &arg->size))
		return -EFAULT;
	if (size < sizeof(call))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&call, sizeof(call), arg, size);
	if (ret)
		return ret;
	command = chardev_command_find(call.command);
	ret = command ? chardev_command(file, command, u64_to_user_ptr(call.argument), &error) :
			-ENOTTY;
	if (!ret)
		return 0;
	error.status = -ret;
	/* the errno is known without the record, too */
	(void)!copy_to_user(&arg->error, &error, sizeof(error));
	return ret;
}

static long chardev_ioctl(struct file *filp, unsigned int cmd, unsigned long _arg)
{
	struct kal_file *file = filp->private_data;
	void __user *arg = (void __user *)_arg;
	const struct kal_command *command;

	if (cmd == KRDMA_IOC_CALL)
		return chardev_call(file, arg);
	command = chardev_command_find(cmd);
	return command ? chardev_command(file, command, arg, NULL) : -ENOTTY;
}

/* The file ***************************************************************** */

static int chardev_open(struct inode *inode, struct file *filp)
{
	struct kal_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return -ENOMEM;
	file->net = get_net(current->nsproxy->net_ns);
	file->user = kal_net_user();
	kal_owner_init(&file->owner);
	file->cred = filp->f_cred;
	file->memcg = get_mem_cgroup_from_mm(current->mm);
	mutex_init(&file->destroy_lock);
	xa_init_flags(&file->handles, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&file->maps, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	kal_events_init(file);
	scoped_guard(mutex, &kal_files_lock) {
		file->number = ++chardev_last_number;
		list_add_tail(&file->node, &kal_files);
	}
	filp->private_data = file;
	return stream_open(inode, filp);
}

static int chardev_release(struct inode *inode, struct file *filp)
{
	struct kal_file *file = filp->private_data;

	/* the file stays in the list until then, so that the removal of an RNIC waits for this */
	kal_handles_exit(file);
	chardev_files_remove(file);
	kal_file_net_exit(file);
	kal_events_exit(file);
	WARN_ON(atomic_read(&file->objects) || !xa_empty(&file->maps));
	xa_destroy(&file->handles);
	xa_destroy(&file->maps);
	mutex_destroy(&file->destroy_lock);
	put_net(file->net);
	kal_owner_exit(&file->owner);
	mem_cgroup_put(file->memcg);
	kfree(file);
	return 0;
}

static ssize_t chardev_read(struct file *filp, char __user *buf, size_t len, loff_t *pos)
{
	return kal_events_read(filp->private_data, buf, len, filp->f_flags & O_NONBLOCK);
}

static __poll_t chardev_poll(struct file *filp, poll_table *table)
{
	struct kal_file *file = filp->private_data;

	poll_wait(filp, &file->wait, table);
	return kal_events_wait(file) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int chardev_mmap(struct file *filp, struct vm_area_struct *vma)
{
	return kal_map_mmap(filp->private_data, vma);
}

static const struct file_operations chardev_fops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.release = chardev_release,
	.read = chardev_read,
	.poll = chardev_poll,
	.mmap = chardev_mmap,
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice kal_chardev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "krdma",
	.fops = &chardev_fops,
	.mode = 0666,
};

int kal_chardev_init(void)
{
	return misc_register(&kal_chardev);
}

void kal_chardev_exit(void)
{
	misc_deregister(&kal_chardev);
}
