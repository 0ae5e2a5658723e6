/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a provider owes: registration of a user's memory, its charge, and windows. */
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.hpp"

namespace conform {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t large = 16U << 20;

/** class Mapping - anonymous memory with its own protection */
class Mapping {
public:
	explicit Mapping(std::size_t size) : size_{size}
	{
		base_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (base_ == MAP_FAILED)
			throw std::system_error{errno, std::generic_category(), "mmap"};
	}
	Mapping(const Mapping &) = delete;
	Mapping &operator=(const Mapping &) = delete;
	~Mapping()
	{
		munmap(base_, size_);
	}

	[[nodiscard]] std::span<std::byte> bytes() const
	{
		return {static_cast<std::byte *>(base_), size_};
	}
	void protect(int protection) const
	{
		if (mprotect(base_, size_, protection))
			throw std::system_error{errno, std::generic_category(), "mprotect"};
	}

private:
	void *base_;
	std::size_t size_;
};

/* @b's memory is written and read by @a. */
void reaches_all(const Pair &pair, const MemoryRegion &there, std::span<std::byte> bytes,
		 Where where = Where::current())
{
	Memory local{pair.a.pd, bytes.size()};
	const Remote remote{there.address(), there.stag()};

	fill(local.octets, 5);
	pair.a.qp.write(1, local.region.slice(), remote);
	(void)pair.a.sent(Status::success, where);
	std::fill(local.octets.begin(), local.octets.end(), std::byte{0});
	pair.a.qp.read(2, local.region.slice(), remote);
	(void)pair.a.sent(Status::success, where);
	require(is_filled(bytes, 5), "bytes written", where);
	require(is_filled(local.octets, 5), "bytes read back", where);
}

void sizes(World &world)
{
	struct Part {
		std::size_t offset;
		std::size_t length;
	};
	const Mapping mapping{large + 2 * page};
	const Pair pair{world};

	for (const Part &part : {Part{0, 1}, Part{0, page}, Part{page - 1, 2}, Part{1234, 54321},
				 Part{0, large}, Part{333, large + page}}) {
		const std::span<std::byte> bytes =
			mapping.bytes().subspan(part.offset, part.length);
		const MemoryRegion region{pair.b.pd, bytes, everything};

		same(region.length(), std::uint64_t{part.length}, "length");
		reaches_all(pair, region, bytes);
	}
}

void iova(World &world)
{
	const Pair pair{world};
	const Mapping mapping{4 * page};
	const std::span<std::byte> bytes = mapping.bytes();
	const std::uint64_t at =
		0x4000000000 + reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
	const MemoryRegion region{pair.b.pd, bytes, at,
				  access::local_write | access::remote_write | access::remote_read};

	same(region.address(), at, "address");
	reaches_all(pair, region, bytes);
}

/* Drivers of adapters count the pages by one of both addresses: another offset is refused there. */
void iova_offset(World &world)
{
	const Pair pair{world};
	const Mapping mapping{4 * page};
	const std::span<std::byte> bytes = mapping.bytes().subspan(page / 2, 2 * page);
	const auto make = [&] {
		return MemoryRegion{pair.b.pd, bytes, 0x4000000000 + page - 8,
				    access::local_write | access::remote_write |
					    access::remote_read};
	};

	if (attributes(world.b).caps & KRDMA_CAP_LLP_OFFLOAD) {
		refused(EINVAL, "a tagged offset with another place in its page",
			[&] { (void)make(); });
		return;
	}
	const MemoryRegion region = make();
	reaches_all(pair, region, bytes);
}

void zero_based(World &world)
{
	const Pair pair{world};
	const Mapping mapping{4 * page};
	const std::span<std::byte> bytes = mapping.bytes().subspan(100, 2 * page);
	const MemoryRegion region = optional("zero-based addresses", [&] {
		return MemoryRegion{pair.b.pd, bytes,
				    access::local_write | access::remote_write |
					    access::remote_read | access::zero_based};
	});

	same(region.address(), std::uint64_t{0}, "address");
	reaches_all(pair, region, bytes);
}

void read_only(World &world)
{
	const Pair pair{world};
	const Mapping mapping{2 * page};
	const Memory to{pair.b.pd, 2 * page};

	fill(mapping.bytes(), 9);
	mapping.protect(PROT_READ);
	refused(EFAULT, "local_write of memory that is read-only", [&] {
		const MemoryRegion region{pair.a.pd, mapping.bytes(), access::local_write};
	});
	const MemoryRegion region{pair.a.pd, mapping.bytes(), 0};
	pair.b.qp.receive(1, to.region.slice());
	pair.a.qp.send(2, region.slice());
	(void)pair.a.sent();
	(void)pair.b.received();
	require(is_filled(to.octets, 9), "bytes sent");
}

void unmapped(World &world)
{
	const ProtectionDomain pd{world.a.context};
	std::span<std::byte> gone;
	{
		const Mapping mapping{4 * page};
		gone = mapping.bytes();
	}
	refused(EFAULT, "memory that is not mapped", [&] {
		const MemoryRegion region{pd, gone, access::local_write};
	});

	const Mapping mapping{4 * page};
	if (munmap(mapping.bytes().data() + 2 * page, page))
		fail("munmap");
	refused(EFAULT, "memory with a hole", [&] {
		const MemoryRegion region{pd, mapping.bytes(), access::local_write};
	});
}

void arguments(World &world)
{
	const ProtectionDomain pd{world.a.context};
	const Mapping mapping{page};

	refused(EINVAL, "unknown rights", [&] {
		const MemoryRegion region{pd, mapping.bytes(), 1U << 15};
	});
	refused(EINVAL, "remote_write without local_write", [&] {
		const MemoryRegion region{pd, mapping.bytes(), access::remote_write};
	});
}

/* The charge *************************************************************** */

/* memory of this process that is pinned, in KiB */
unsigned long pinned()
{
	std::FILE *file = std::fopen("/proc/self/status", "re");
	std::array<char, 256> line{};
	unsigned long value = 0;

	while (file && std::fgets(line.data(), line.size(), file))
		if (std::sscanf(line.data(), "VmPin: %lu", &value) == 1)
			break;
	if (file)
		(void)std::fclose(file);
	return value;
}

void charged(World &world)
{
	const ProtectionDomain pd{world.a.context};
	const Mapping mapping{large};
	const unsigned long before = pinned();

	for (int i = 0; i < 3; i++) {
		{
			const MemoryRegion region{pd, mapping.bytes(), access::local_write};
			same(pinned(), before + large / 1024, "KiB pinned by a region");
		}
		same(pinned(), before, "KiB pinned afterwards");
	}
	refused(EFAULT, "memory that is not mapped", [&] {
		const MemoryRegion region{
			pd, std::span<std::byte>{mapping.bytes().data(), large + (64U << 20)},
			access::local_write};
	});
	same(pinned(), before, "KiB pinned after a registration that failed");
}

/* In a child without rights. Return: 0, or the number of the step that failed. */
int beyond_the_limit()
{
	const Host host = open_host(setup.a);
	const ProtectionDomain pd{host.context};
	const CompletionQueue cq{host.context};
	const Mapping mapping{1U << 20};
	const rlimit limit{256U << 10, 256U << 10};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(65534) || setuid(65534))
		return 1;
	/* within the limit */
	{
		const MemoryRegion region{pd, mapping.bytes().first(4 * page), access::local_write};
	}
	for (int i = 0; i < 50; i++) {
		try {
			const MemoryRegion region{pd, mapping.bytes(), access::local_write};
			return 2;
		} catch (const std::system_error &error) {
			if (error.code().value() != ENOMEM)
				return 100 + error.code().value();
		}
	}
	/* what was refused is not charged */
	const MemoryRegion region{pd, mapping.bytes().first(32 * page), access::local_write};
	try {
		const MemoryRegion more{pd, mapping.bytes().subspan(64 * page, 40 * page),
					access::local_write};
		return 3;
	} catch (const std::system_error &error) {
		return error.code().value() == ENOMEM ? 0 : 4;
	}
}

void locked_limit(World &)
{
	int status = 0;
	const pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (!child) {
		int result = 99;

		try {
			result = beyond_the_limit();
		} catch (const std::exception &error) {
			std::fprintf(stderr, "child: %s\n", error.what());
		}
		_exit(result);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		fail("the child did not exit");
	same(WEXITSTATUS(status), 0, "step of the child, 100 and more: an errno");
}

/* Changes ****************************************************************** */

void reregister(World &world)
{
	const Pair pair{world};
	const Mapping first{4 * page};
	const Mapping second{8 * page};
	const std::uint32_t all = access::local_write | access::remote_write | access::remote_read;
	const MemoryRegion region{pair.b.pd, first.bytes(), access::local_write};

	optional("other rights", [&] { region.change_access(all); });
	reaches_all(pair, region, first.bytes());
	region.change_memory(second.bytes());
	reaches_all(pair, region, second.bytes());
}

void windows(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.b.pd, 2 * page};
	const MemoryWindow window = announced(attributes(world.b).max_mw, "a window",
					      [&] { return MemoryWindow{pair.b.pd}; });

	pair.b.qp.bind(1, window, memory.region, memory.region.slice(page, page),
		       access::remote_write | access::remote_read);
	(void)pair.b.sent();
	reaches(pair, {memory.region.address() + page, window.stag()}, page, std::byte{0x5a});
	require(memory.is_all(std::byte{0}, 0, page), "memory beside the window");
	pair.b.qp.invalidate(2, window.stag());
	(void)pair.b.sent();
	read_refused(pair, {memory.region.address() + page, window.stag()});
}

} /* namespace */

const std::vector<Check> memory_checks = {
	{"mr-sizes", sizes},
	{"mr-iova", iova},
	{"mr-iova-offset", iova_offset},
	{"mr-zero-based", zero_based},
	{"mr-read-only", read_only},
	{"mr-unmapped", unmapped},
	{"mr-arguments", arguments},
	{"mr-charge", charged},
	{"mr-memlock", locked_limit},
	{"mr-reregister", reregister},
	{"mw", windows},
};

} /* namespace conform */
