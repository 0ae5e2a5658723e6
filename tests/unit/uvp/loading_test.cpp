/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The provider's file under stock libibverbs, without a kernel: a fake sysfs
 * tree shows one device; the library must find our file, take its PABI, match
 * the device and list it. What the file needs at run time is read from its ELF
 * headers.
 *
 * libibverbs binds stat() and socket() to the ones below, so that no device
 * node has to exist and a host that has RDMA devices does not disturb.
 */
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <krdma/soft-abi.h>

namespace fs = std::filesystem;

extern "C" __attribute__((visibility("default"))) int stat(const char *path, struct stat *st)
{
	if (std::string_view{path}.starts_with("/dev/infiniband/")) {
		*st = {};
		st->st_mode = S_IFCHR | 0666;
		return 0;
	}
	return fstatat(AT_FDCWD, path, st, 0);
}

extern "C" __attribute__((visibility("default"))) int socket(int domain, int type,
							     int protocol) noexcept
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return static_cast<int>(syscall(SYS_socket, domain, type, protocol));
}

namespace {

constexpr const char *provider_path = PROVIDER;

class FakeSysfs {
public:
	FakeSysfs()
	{
		std::string name = (fs::temp_directory_path() / "krdma-sysfs-XXXXXX").string();

		root_ = mkdtemp(name.data());
		put("class/infiniband_verbs/abi_version", "6");
	}

	FakeSysfs(const FakeSysfs &) = delete;
	FakeSysfs &operator=(const FakeSysfs &) = delete;

	~FakeSysfs()
	{
		fs::remove_all(root_);
	}

	void add(const std::string &uverbs, const std::string &ibdev, const std::string &abi)
	{
		put("class/infiniband_verbs/" + uverbs + "/ibdev", ibdev);
		put("class/infiniband_verbs/" + uverbs + "/dev", "231:192");
		put("class/infiniband_verbs/" + uverbs + "/abi_version", abi);
		put("class/infiniband/" + ibdev + "/node_type", "4: RNIC");
		put("class/infiniband/" + ibdev + "/node_guid", "6b72:646d:0000:0001");
	}

	[[nodiscard]] const fs::path &root() const
	{
		return root_;
	}

private:
	void put(const std::string &file, const std::string &text) const
	{
		fs::create_directories((root_ / file).parent_path());
		std::ofstream{root_ / file} << text << '\n';
	}

	fs::path root_;
};

TEST(Loading, StockLibraryMatchesAndListsTheDevice)
{
	FakeSysfs sysfs;

	sysfs.add("uverbs0", "krdma7", std::to_string(KRDMA_SOFT_ABI_VERSION));
	sysfs.add("uverbs1", "other0", std::to_string(KRDMA_SOFT_ABI_VERSION));
	sysfs.add("uverbs2", "krdma8", std::to_string(KRDMA_SOFT_ABI_VERSION + 1));

	std::string_view driver{provider_path};
	const std::string suffix = "-rdmav" + std::to_string(KRDMA_VERBS_ABI) + ".so";
	ASSERT_TRUE(driver.ends_with(suffix));
	driver.remove_suffix(suffix.size());
	setenv("RDMAV_DRIVERS", std::string{driver}.c_str(), 1);
	setenv("SYSFS_PATH", sysfs.root().c_str(), 1);

	int n = 0;
	ibv_device **devices = ibv_get_device_list(&n);
	ASSERT_NE(devices, nullptr) << std::strerror(errno);
	ASSERT_EQ(n, 1) << "one device is ours with an ABI that we know";
	EXPECT_STREQ(ibv_get_device_name(devices[0]), "krdma7");
	EXPECT_STREQ(devices[0]->dev_name, "uverbs0");
	EXPECT_EQ(devices[0]->node_type, IBV_NODE_RNIC);
	EXPECT_EQ(devices[0]->transport_type, IBV_TRANSPORT_IWARP);
	ibv_free_device_list(devices);
}

/* the dynamic section of a 64-bit shared object, as strings */
class Elf {
public:
	explicit Elf(const char *path)
	{
		std::ifstream file{path, std::ios::binary};

		image_.assign(std::istreambuf_iterator<char>{file}, {});
		const auto &header = at<Elf64_Ehdr>(0);
		for (int i = 0; i < header.e_shnum; i++) {
			const auto &section = at<Elf64_Shdr>(header.e_shoff +
							     std::size_t(i) * header.e_shentsize);
			const auto &strings = at<Elf64_Shdr>(
				header.e_shoff + std::size_t{section.sh_link} * header.e_shentsize);

			if (section.sh_type == SHT_DYNAMIC)
				read_dynamic(section, strings);
			else if (section.sh_type == SHT_DYNSYM)
				read_symbols(section, strings);
		}
	}

	std::vector<std::string> needed;
	std::vector<std::string> undefined;
	std::vector<std::string> defined;

private:
	template <typename T> const T &at(std::size_t offset) const
	{
		return *reinterpret_cast<const T *>(&image_.at(offset));
	}

	void read_dynamic(const Elf64_Shdr &section, const Elf64_Shdr &strings)
	{
		for (std::size_t o = 0; o < section.sh_size; o += sizeof(Elf64_Dyn)) {
			const auto &entry = at<Elf64_Dyn>(section.sh_offset + o);

			if (entry.d_tag == DT_NEEDED)
				needed.emplace_back(
					&image_.at(strings.sh_offset + entry.d_un.d_val));
		}
	}

	void read_symbols(const Elf64_Shdr &section, const Elf64_Shdr &strings)
	{
		for (std::size_t o = sizeof(Elf64_Sym); o < section.sh_size;
		     o += sizeof(Elf64_Sym)) {
			const auto &symbol = at<Elf64_Sym>(section.sh_offset + o);
			auto &list = symbol.st_shndx == SHN_UNDEF ? undefined : defined;

			list.emplace_back(&image_.at(strings.sh_offset + symbol.st_name));
		}
	}

	std::string image_;
};

TEST(Loading, NeedsNoCxxLibrary)
{
	const Elf elf{provider_path};

	EXPECT_EQ(elf.needed, (std::vector<std::string>{"libibverbs.so.1", "libc.so.6"}));
	for (const std::string &symbol : elf.undefined) {
		EXPECT_FALSE(symbol.starts_with("_Z")) << symbol;
		EXPECT_FALSE(symbol.starts_with("__cxa_") && symbol != "__cxa_finalize") << symbol;
		EXPECT_FALSE(symbol.starts_with("__gxx_")) << symbol;
	}
}

TEST(Loading, ExportsNothing)
{
	const Elf elf{provider_path};

	EXPECT_FALSE(elf.undefined.empty());
	EXPECT_EQ(elf.defined, std::vector<std::string>{});
}

} /* namespace */
