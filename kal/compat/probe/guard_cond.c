// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/cleanup.h>
#include <linux/mutex.h>

bool probe(struct mutex *lock);
bool probe(struct mutex *lock)
{
	scoped_cond_guard(mutex_try, return false, lock)
		return true;
	return false;
}
