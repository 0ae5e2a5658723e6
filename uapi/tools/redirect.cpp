/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Redirection of socket() by cgroup: see redirect.hpp.
 *
 * The link of the program and its map are pinned in the BPF file system, so that they outlive the
 * command. A lock on their folder keeps two commands from doing this at a time.
 */
#include "redirect.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <mntent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "command.hpp"

/* redirect.bpf.o, from redirect_object.S */
extern "C" const char krdma_redirect_object[];
extern "C" const char krdma_redirect_object_end[];

namespace krdma::tools {
namespace {

namespace fs = std::filesystem;

const fs::path bpf_root = "/sys/fs/bpf";
const fs::path folder = bpf_root / "krdma";
const fs::path link_pin = folder / "redirect";
const fs::path map_pin = folder / "cgroups";

class Descriptor {
public:
	explicit Descriptor(int fd) noexcept : fd_{fd}
	{}
	Descriptor(Descriptor &&other) noexcept : fd_{std::exchange(other.fd_, -1)}
	{}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
	Descriptor &operator=(Descriptor &&) = delete;
	~Descriptor()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	[[nodiscard]] int get() const noexcept
	{
		return fd_;
	}

private:
	int fd_;
};

bool is_on(const fs::path &path, long type)
{
	struct statfs info {};

	return statfs(path.c_str(), &info) == 0 && info.f_type == type;
}

/* where the v2 hierarchy is mounted; empty: nowhere */
fs::path cgroup_root()
{
	const std::unique_ptr<FILE, int (*)(FILE *)> mounts{setmntent("/proc/self/mounts", "re"),
							    endmntent};

	while (const mntent *mount = mounts ? getmntent(mounts.get()) : nullptr) {
		if (mount->mnt_type == std::string_view{"cgroup2"})
			return mount->mnt_dir;
	}
	return {};
}

/* the number of a cgroup's folder is its id, in a kernel of 64 bits */
std::optional<std::uint64_t> id_of_folder(const fs::path &path)
{
	struct stat info {};

	if (!is_on(path, CGROUP2_SUPER_MAGIC) || stat(path.c_str(), &info) != 0 ||
	    !S_ISDIR(info.st_mode))
		return std::nullopt;
	return info.st_ino;
}

/* The folder is there, and is locked until the result is destroyed. */
Descriptor lock_folder()
{
	if (!is_on(bpf_root, BPF_FS_MAGIC))
		fail(ENODEV, "no BPF file system at /sys/fs/bpf (mount -t bpf bpf /sys/fs/bpf)");
	if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
		fail(errno, folder);
	Descriptor lock{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	if (lock.get() < 0 || flock(lock.get(), LOCK_EX) != 0)
		fail(errno, folder);
	return lock;
}

/* what libbpf and the verifier said last, for the error's text */
std::string bpf_said;

int keep_text(libbpf_print_level level, const char *format, va_list arguments)
{
	std::array<char, 512> text{};

	if (level == LIBBPF_WARN && bpf_said.empty()) {
		std::vsnprintf(text.data(), text.size(), format, arguments);
		bpf_said = text.data();
		bpf_said.erase(bpf_said.find_last_not_of('\n') + 1);
	}
	return 0;
}

[[noreturn]] void fail_bpf(int error, const std::string &what)
{
	fail(error, bpf_said.empty() ? what : what + ": " + bpf_said);
}

struct CloseObject {
	void operator()(bpf_object *object) const
	{
		bpf_object__close(object);
	}
};

struct DestroyLink {
	void operator()(bpf_link *link) const
	{
		bpf_link__destroy(link);
	}
};

/* Half of what was pinned is of no use. */
void unpin()
{
	unlink(link_pin.c_str());
	unlink(map_pin.c_str());
}

/* With the lock. Return: the map. */
Descriptor load()
{
	bpf_object_open_opts options{};

	options.sz = sizeof(options);
	options.object_name = "krdma_redirect";
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(keep_text);
	const std::unique_ptr<bpf_object, CloseObject> object{bpf_object__open_mem(
		krdma_redirect_object,
		static_cast<std::size_t>(krdma_redirect_object_end - krdma_redirect_object),
		&options)};
	if (!object)
		fail_bpf(errno, "BPF program");
	if (const int error = bpf_object__load(object.get()))
		fail_bpf(-error, "the kernel refuses the BPF program");
	bpf_program *program = bpf_object__find_program_by_name(object.get(), "krdma_redirect");
	const bpf_map *map = bpf_object__find_map_by_name(object.get(), "krdma_cgroups");
	const std::unique_ptr<bpf_link, DestroyLink> link{bpf_program__attach(program)};
	if (!link)
		fail_bpf(errno, "the BPF program cannot be attached");

	const int map_fd = bpf_map__fd(map);
	unpin();
	if (bpf_obj_pin(map_fd, map_pin.c_str()) != 0 ||
	    bpf_link__pin(link.get(), link_pin.c_str()) != 0) {
		const int error = errno;

		unpin();
		fail(error, folder);
	}
	return Descriptor{fcntl(map_fd, F_DUPFD_CLOEXEC, 0)};
}

/* With the lock. Return: the map; negative: no program is attached. */
Descriptor open_map()
{
	if (::access(link_pin.c_str(), F_OK) != 0)
		return Descriptor{-1};
	return Descriptor{bpf_obj_get(map_pin.c_str())};
}

std::vector<RedirectedCgroup> entries(int map)
{
	std::vector<RedirectedCgroup> all;
	std::uint64_t id = 0;
	std::uint32_t value = 0;

	for (int error = bpf_map_get_next_key(map, nullptr, &id); error == 0;
	     error = bpf_map_get_next_key(map, &id, &id)) {
		if (bpf_map_lookup_elem(map, &id, &value) == 0)
			all.push_back({id, cgroup_path(id), value != 0});
	}
	return all;
}

/* what open_by_handle_at() wants of cgroup2: type FILEID_KERNFS and the id */
struct CgroupHandle {
	unsigned int bytes{sizeof(std::uint64_t)};
	int type{0xfe};
	std::uint64_t id{};
};

} /* namespace */

std::uint64_t cgroup_id(const std::string &name)
{
	std::uint64_t id = 0;

	if (const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
	    error == std::errc{} && end == name.data() + name.size())
		return id;
	if (const auto folder_id = id_of_folder(name))
		return *folder_id;
	if (const auto folder_id = id_of_folder(cgroup_root() / fs::path{name}.relative_path()))
		return *folder_id;
	fail(ENOENT, name + ": no such cgroup (v2)");
}

std::string cgroup_path(std::uint64_t id)
{
	const fs::path root = cgroup_root();
	const Descriptor mount{open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	CgroupHandle handle;
	std::error_code error;

	handle.id = id;
	const Descriptor found{open_by_handle_at(
		mount.get(), reinterpret_cast<file_handle *>(&handle), O_PATH | O_CLOEXEC)};
	if (found.get() < 0)
		return "";
	const fs::path path = fs::read_symlink(fmt::format("/proc/self/fd/{}", found.get()), error);
	if (error)
		return "";
	return path == root ? "/" : "/" + path.lexically_relative(root).string();
}

void redirect_attach(std::uint64_t cgroup, bool redirected)
{
	const Descriptor lock = lock_folder();
	const std::uint32_t value = redirected;
	Descriptor known = open_map();
	const Descriptor map = known.get() < 0 ? load() : std::move(known);

	if (map.get() < 0 || bpf_map_update_elem(map.get(), &cgroup, &value, BPF_ANY) != 0)
		fail(errno, "map of cgroups");
}

void redirect_detach(std::uint64_t cgroup)
{
	const Descriptor lock = lock_folder();
	const Descriptor map = open_map();

	if (map.get() < 0 || bpf_map_delete_elem(map.get(), &cgroup) != 0)
		fail(ENOENT,
		     "the cgroup is not attached (krdma offload attach lists those that are)");
	if (entries(map.get()).empty())
		unpin();
}

void redirect_detach_all()
{
	const Descriptor lock = lock_folder();

	unpin();
}

std::vector<RedirectedCgroup> redirect_list()
{
	if (!is_on(folder, BPF_FS_MAGIC))
		return {};
	const Descriptor lock = lock_folder();
	const Descriptor map = open_map();
	return map.get() < 0 ? std::vector<RedirectedCgroup>{} : entries(map.get());
}

} /* namespace krdma::tools */
