// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/workqueue.h>

bool probe(struct work_struct *work);
bool probe(struct work_struct *work)
{
	return queue_work(system_bh_wq, work);
}
