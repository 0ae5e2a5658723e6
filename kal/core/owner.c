// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The process that made an object. The object keeps no task, but its struct pid, whose number may
 * be another process's once the process has ended. Readers must look whether it still has a task.
 */
#include <linux/cred.h>
#include <linux/pid.h>

#include "core.h"

/**
 * kal_owner_init() - record the calling process, or the kernel if a kernel thread calls
 * @owner: record; kal_owner_exit() releases it
 *
 * Context: process.
 */
void kal_owner_init(struct kal_owner *owner)
{
	*owner = (struct kal_owner) { .uid = GLOBAL_ROOT_UID };
	if (current->flags & PF_KTHREAD)
		return;
	owner->pid = get_pid(task_tgid(current));
	owner->uid = current_euid();
	get_task_comm(owner->comm, current->group_leader);
}

/* The object was made for the owner of another one, @from. Any context. */
void kal_owner_copy(struct kal_owner *owner, const struct kal_owner *from)
{
	*owner = *from;
	get_pid(owner->pid);
}

/* Any context. */
void kal_owner_exit(struct kal_owner *owner)
{
	put_pid(owner->pid);
	owner->pid = NULL;
}
