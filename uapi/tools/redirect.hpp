/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Redirection of socket() by cgroup: the BPF program redirect.bpf.c in the kernel. */
#ifndef KRDMA_REDIRECT_HPP
#define KRDMA_REDIRECT_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace krdma::tools {

/** struct RedirectedCgroup - a cgroup that the program knows */
struct RedirectedCgroup {
	std::uint64_t id{};
	std::string path; /* empty: it is gone, or out of sight */
	bool redirected{};
};

/* Find a cgroup by number, by path in the file system, or by path below its root. Throws. */
[[nodiscard]] std::uint64_t cgroup_id(const std::string &name);
/* the path below the root of the hierarchy, or "" */
[[nodiscard]] std::string cgroup_path(std::uint64_t id);

/* Load the program, if that has not been done, and let it know the cgroup. */
void redirect_attach(std::uint64_t cgroup, bool redirected);
/* Forget the cgroup. The program is removed with the last one. */
void redirect_detach(std::uint64_t cgroup);
void redirect_detach_all();
[[nodiscard]] std::vector<RedirectedCgroup> redirect_list();

} /* namespace krdma::tools */

#endif /* KRDMA_REDIRECT_HPP */
