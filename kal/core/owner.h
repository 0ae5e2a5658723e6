/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The process that made an object, for the administrator; see owner.c. */
#ifndef KAL_OWNER_H
#define KAL_OWNER_H

#include <linux/sched.h>
#include <linux/uidgid.h>

/**
 * struct kal_owner - the process that made an object
 * @pid: the process, with a reference; NULL: the kernel
 * @uid: its effective user
 * @comm: its command at that time
 *
 * It does not change while the object lives.
 */
struct kal_owner {
	struct pid *pid;
	kuid_t uid;
	char comm[TASK_COMM_LEN];
};

void kal_owner_init(struct kal_owner *owner);
void kal_owner_copy(struct kal_owner *owner, const struct kal_owner *from);
void kal_owner_exit(struct kal_owner *owner);

#endif /* KAL_OWNER_H */
