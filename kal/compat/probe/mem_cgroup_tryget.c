// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/memcontrol.h>

bool probe(struct mem_cgroup *memcg);
bool probe(struct mem_cgroup *memcg)
{
	return mem_cgroup_tryget(memcg);
}
