/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The BPF program of "krdma offload attach": socket() of AF_INET or AF_INET6 for a stream of TCP
 * makes the wildcard of krdma_ops, in the cgroups that the map names.
 *
 * fmod_ret is called for all tasks. The deepest cgroup of a task's that is in the map decides. The
 * arguments are integers, so that no layout of the kernel's is needed here.
 */
#include <linux/bpf.h>
#include <linux/in.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_TYPE_MASK 0xf
#define IPPROTO_OFFLOAD 258

/* cgroups deeper than this are as their ancestor is */
#define MAX_LEVEL 32

/* by id of the cgroup: 1: redirect, 0: do not */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} krdma_cgroups SEC(".maps");

static int redirect_wanted(void)
{
	int wanted = 0;
	int level;

	for (level = 0; level < MAX_LEVEL; level++) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);
		__u32 *found;

		if (!id)
			break;
		found = bpf_map_lookup_elem(&krdma_cgroups, &id);
		if (found)
			wanted = *found;
	}
	return wanted;
}

/* @answer: of a program that ran before this one, or 0 */
SEC("fmod_ret/update_socket_protocol")
int BPF_PROG(krdma_redirect, int family, int type, int protocol, int answer)
{
	if (answer)
		return answer;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	if ((type & SOCK_TYPE_MASK) != SOCK_STREAM)
		return 0;
	if (protocol && protocol != IPPROTO_TCP)
		return 0;
	/* 0: the function itself answers */
	return redirect_wanted() ? IPPROTO_OFFLOAD : 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
