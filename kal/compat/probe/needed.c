// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/cleanup.h>
#include <linux/mutex.h>
#include <linux/timer.h>

/* what all modules use and kal/compat does not have: stable kernels of 6.1 and later have it */
void probe(struct mutex *lock, struct timer_list *timer);
void probe(struct mutex *lock, struct timer_list *timer)
{
	guard(mutex)(lock);
	timer_delete(timer);
}
