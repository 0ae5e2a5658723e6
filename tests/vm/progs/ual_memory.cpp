/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of memory: windows of both types, invalidation, changed regions, dma-bufs, refusals.
 */
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ual.hpp"

namespace ual {
namespace {

constexpr std::size_t size = 8192;
constexpr std::size_t first = 1000; /* bytes of the region in front of the window */
constexpr std::uint32_t length = 5000;
constexpr std::byte mark{0x5a};
constexpr std::uint32_t bindable = access::local_write | access::window_bind;
constexpr std::uint32_t both = access::remote_read | access::remote_write;

Slice part_of(const Memory &memory)
{
	return memory.region.slice(first, length);
}

/* bind a window at @b */
void bind(const Pair &pair, const MemoryWindow &window, const Memory &memory,
	  std::uint32_t rights = both)
{
	pair.b.qp.bind(50, window, memory.region, part_of(memory), rights);
	same(pair.b.sent().opcode(), Opcode::bind, "opcode of a bind");
}

Remote remote_of(const MemoryWindow &window, const Memory &memory, std::size_t offset = first)
{
	return {memory.region.address() + offset, window.stag()};
}

/* Windows ****************************************************************** */

void window_reaches(World &world)
{
	for (const std::uint32_t type : {1U, 2U}) {
		const Pair pair{world};
		const Memory memory{pair.b.pd, size, bindable};
		const MemoryWindow window{pair.b.pd, type};
		const std::uint32_t before = window.stag();

		bind(pair, window, memory);
		require(window.stag() != before, "a bind gives another STag");
		reaches(pair, remote_of(window, memory), length, mark);
		require(memory.is_all(std::byte{0}, 0, first) &&
				memory.is_all(mark, first, length) &&
				memory.is_all(std::byte{0}, first + length, size - first - length),
			"octets of the region after a Write through the window");
		pair.refuses_read(remote_of(window, memory, first + length - 7));
	}
}

/* tagged offsets of the region, or from 0 */
void window_from_zero(World &world)
{
	constexpr std::uint64_t here = 0x123456789abcd000;
	const Pair pair{world};
	std::vector<std::byte> memory(size);
	const MemoryRegion region{pair.b.pd, memory, here, bindable};
	const Slice part = region.slice(first, length);
	const MemoryWindow window{pair.b.pd, 1};
	const auto is = [&](std::byte value) {
		return std::all_of(memory.begin() + first, memory.begin() + first + length,
				   [&](std::byte octet) { return octet == value; }) &&
		       memory[first - 1] == std::byte{0} && memory[first + length] == std::byte{0};
	};

	same(part.address, here + first, "tagged offset of the part");
	pair.b.qp.bind(1, window, region, part, both);
	(void)pair.b.sent();
	reaches(pair, {part.address, window.stag()}, length, mark);
	require(is(mark), "octets of the region");
	pair.b.qp.bind(2, window, region, part, both | access::zero_based);
	(void)pair.b.sent();
	reaches(pair, {0, window.stag()}, length, std::byte{0x77});
	require(is(std::byte{0x77}), "octets of the region, from zero");
	pair.refuses_read({part.address, window.stag()});
}

void window_refuses(World &world)
{
	{
		const Pair pair{world};
		const Memory memory{pair.b.pd, size, bindable};
		const MemoryWindow window{pair.b.pd};

		/* the window is not bound yet */
		pair.refuses_read(remote_of(window, memory));
	}
	{
		const Pair pair{world};
		const Memory memory{pair.b.pd, size, bindable};
		const MemoryWindow window{pair.b.pd};

		bind(pair, window, memory, access::remote_read);
		pair.refuses_write(remote_of(window, memory));
		require(memory.is_all(std::byte{0}, 0, size), "a refused Write wrote");
	}
	{
		/* the region itself gives no access */
		const Pair pair{world};
		const Memory memory{pair.b.pd, size, bindable};
		const MemoryWindow window{pair.b.pd};

		bind(pair, window, memory);
		pair.refuses_read(memory.remote(first));
	}
}

/* the peer's message invalidates the window; the next bind gives another STag */
void window_invalidated_by_the_peer(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.b.pd, size, bindable};
	const Memory to{pair.b.pd, 8};
	const MemoryWindow window{pair.b.pd};

	for (int i = 0; i < 3; i++) {
		bind(pair, window, memory);
		reaches(pair, remote_of(window, memory), length, mark);
		pair.b.qp.receive(1, to.region.slice());
		pair.a.qp.send_invalidate(2, {}, window.stag());
		(void)pair.a.sent();
		same(pair.b.received().invalidated().value_or(0), window.stag(),
		     "what was invalidated");
	}
	pair.refuses_read(remote_of(window, memory));
}

void window_invalidated_here(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.b.pd, size, bindable};
	const MemoryWindow window{pair.b.pd};

	bind(pair, window, memory);
	pair.b.qp.invalidate(1, window.stag());
	same(pair.b.sent().opcode(), Opcode::invalidate, "opcode");
	bind(pair, window, memory);
	reaches(pair, remote_of(window, memory), length, mark);
	pair.b.qp.invalidate(2, window.stag());
	(void)pair.b.sent();
	pair.refuses_write(remote_of(window, memory));
}

void binds_refused(World &world)
{
	struct Case {
		const char *what;
		std::uint32_t region;
		std::uint32_t window;
		std::uint32_t beyond;
	};
	constexpr std::array<Case, 3> cases{
		{{"of a region without the right", access::local_write, both, 0},
		 {"for writing to what is read alone", access::window_bind, both, 0},
		 {"beyond the region", bindable, both, size}}};

	for (const Case &one : cases) {
		const Pair pair{world};
		const Memory memory{pair.b.pd, size, one.region};
		const MemoryWindow window{pair.b.pd};
		Slice part = part_of(memory);

		part.length += one.beyond;
		pair.b.qp.bind(1, window, memory.region, part, one.window);
		const Completion done = Side::next(pair.b.sends);
		if (done.status() != Status::bind_error)
			fail(std::string{one.what} + ": " + std::string{done.status_text()});
	}
	{
		/* type 2, bound already */
		const Pair pair{world};
		const Memory memory{pair.b.pd, size, bindable};
		const MemoryWindow window{pair.b.pd};

		bind(pair, window, memory);
		pair.b.qp.bind(1, window, memory.region, part_of(memory), both);
		(void)pair.b.sent(Status::bind_error);
	}
	const ProtectionDomain pd{world.b.context};
	refused(EINVAL, "a window of type 3", [&] { const MemoryWindow window{pd, 3}; });
}

/* the program may drop its last handle of a region before the window */
void window_keeps_its_region(World &world)
{
	const Pair pair{world};
	std::vector<std::byte> octets(size);
	const std::uint64_t pinned = world.b.session.usage().pinned_pages;
	{
		const MemoryWindow window{pair.b.pd};
		{
			const MemoryRegion region{pair.b.pd, octets, bindable};

			pair.b.qp.bind(1, window, region, region.slice(), both);
			(void)pair.b.sent();
		}
		reaches(pair, {reinterpret_cast<std::uintptr_t>(octets.data()), window.stag()},
			size, mark);
		require(world.b.session.usage().pinned_pages > pinned, "pages of the region");
	}
	same(world.b.session.usage().pinned_pages, pinned, "pages pinned afterwards");
}

/* a bind that fails leaves the window bound to its old region, which ends with the window */
void window_keeps_what_it_is_bound_to(World &world)
{
	const Pair pair{world};
	std::vector<std::byte> octets(size);
	const Memory other{pair.b.pd, size, access::local_write};
	const krdma_usage before = world.b.session.usage();
	{
		const MemoryWindow window{pair.b.pd, 1};
		{
			const MemoryRegion region{pair.b.pd, octets, bindable};

			pair.b.qp.bind(1, window, region, region.slice(), both);
			(void)pair.b.sent();
			pair.b.qp.bind(2, window, other.region, part_of(other), both);
			(void)pair.b.sent(Status::bind_error);
		}
		require(world.b.session.usage().pinned_pages > before.pinned_pages,
			"pages of the region");
	}
	const krdma_usage after = world.b.session.usage();
	same(after.objects, before.objects, "objects afterwards");
	same(after.pinned_pages, before.pinned_pages, "pages pinned afterwards");
}

/* the window is bound elsewhere: the old region ends with the next object that is destroyed */
void window_moves_on(World &world)
{
	const Pair pair{world};
	std::vector<std::byte> octets(size);
	const Memory last{pair.b.pd, size, bindable};
	const MemoryWindow window{pair.b.pd, 1};
	const krdma_usage before = world.b.session.usage();

	for (int i = 0; i < 50; i++) {
		const MemoryRegion region{pair.b.pd, octets, bindable};

		pair.b.qp.bind(1, window, region, region.slice(), both);
		(void)pair.b.sent();
	}
	pair.b.qp.bind(2, window, last.region, part_of(last), both);
	(void)pair.b.sent();
	(void)ProtectionDomain{world.b.context};
	const krdma_usage after = world.b.session.usage();
	same(after.objects, before.objects, "objects afterwards");
	same(after.pinned_pages, before.pinned_pages, "pages pinned afterwards");
}

/* Regions ****************************************************************** */

/* the peer's message does not invalidate a region: that ends the connection */
void region_not_invalidated_by_the_peer(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.b.pd, size};
	const Memory to{pair.b.pd, 8};

	reaches(pair, memory.remote(), size, mark);
	pair.b.qp.receive(1, to.region.slice());
	pair.a.qp.send_invalidate(2, {}, memory.region.stag());
	(void)pair.b.received(Status::remote_invalid_request);
}

void region_changed(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.b.pd, size, access::local_write};
	std::vector<std::byte> other(2 * size);

	memory.region.change_access(everything);
	reaches(pair, memory.remote(), size, mark);
	memory.region.change_memory(other);
	same(memory.region.length(), std::uint64_t{2 * size}, "new length");
	same(memory.region.address(), std::uint64_t{reinterpret_cast<std::uintptr_t>(other.data())},
	     "new address");
	reaches(pair, memory.remote(), 2 * size, std::byte{0x77});
	require(other.front() == std::byte{0x77} && other.back() == std::byte{0x77},
		"the new memory");
	require(memory.is_all(mark, 0, size), "the old memory");
	memory.region.change_access(access::local_write);
	pair.refuses_read(memory.remote());
}

/* tagged offsets from 0, also after a change of memory */
void region_from_zero(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.b.pd, size, everything | access::zero_based};
	std::vector<std::byte> other(2 * size);

	same(memory.region.address(), std::uint64_t{0}, "first tagged offset");
	reaches(pair, memory.remote(), size, mark);
	require(memory.is_all(mark, 0, size), "what was written");
	memory.region.change_memory(other);
	same(memory.region.address(), std::uint64_t{0}, "first tagged offset of other memory");
	memory.region.change_access(everything);
	same(memory.region.address(), std::uint64_t{0}, "first tagged offset with other rights");
	reaches(pair, memory.remote(size), size, mark);
	require(other[size - 1] == std::byte{0} && other[size] == mark && other.back() == mark,
		"what was written to other memory");
	pair.refuses_read(memory.remote(2 * size));
}

/* tagged offsets from any value, and one domain after the other */
void region_elsewhere(World &world)
{
	constexpr std::uint64_t here = 0x123456789abcd000 + 5;
	constexpr std::uint64_t there = 0xfffffffff0000000;
	const Pair pair{world};
	const ProtectionDomain apart{world.b.context};
	std::vector<std::byte> memory(size);
	std::vector<std::byte> other(2 * size);
	const MemoryRegion region{apart, memory, here, everything};
	const auto remote = [&](std::uint64_t offset = 0) {
		return Remote{region.address() + offset, region.stag()};
	};

	same(region.address(), here, "first tagged offset");
	{
		const Pair stranger{world};

		stranger.refuses_read(remote());
	}
	region.change_domain(pair.b.pd);
	same(region.address(), here, "first tagged offset in another domain");
	reaches(pair, remote(), size, mark);
	require(std::ranges::all_of(memory, [](std::byte b) { return b == mark; }),
		"what was written");
	region.change_memory(other, there);
	same(region.address(), there, "first tagged offset of other memory");
	reaches(pair, remote(size), size, mark);
	require(other[size - 1] == std::byte{0} && other[size] == mark && other.back() == mark,
		"what was written to other memory");
	refused(EINVAL, "a domain of another context",
		[&] { region.change_domain(ProtectionDomain{world.a.context}); });
	region.change_domain(apart);
	pair.refuses_read(remote());
}

void regions_refused(World &world)
{
	const ProtectionDomain pd{world.a.context};
	std::vector<std::byte> octets(size);
	const auto region = [&](std::uint32_t rights) {
		const MemoryRegion made{pd, octets, rights};
	};

	refused(EINVAL, "remote write without local", [&] { region(access::remote_write); });
	refused(EINVAL, "a right that is none", [&] { region(1U << 19); });
	refused(EOPNOTSUPP, "a right that no RNIC here can give", [&] { region(1U << 6); });
	refused(EFAULT, "memory that is not there", [&] {
		const MemoryRegion made{
			pd, {reinterpret_cast<std::byte *>(4096), 4096}, access::local_write};
	});
	refused(EBADF, "no dma-buf",
		[&] { const MemoryRegion made{pd, -1, 0, 4096, 0, access::local_write}; });
	const MemoryRegion good{pd, octets, access::local_write};
	try {
		(void)good.slice(size - 1, 2);
		fail("a slice beyond its region");
	} catch (const std::out_of_range &) {
		/* as it must be */
	}
}

/* dma-bufs ***************************************************************** */

class File {
public:
	explicit File(int fd) : fd_{fd}
	{
		if (fd < 0)
			throw std::system_error{errno, std::generic_category(), "dma-buf"};
	}
	File(const File &) = delete;
	File &operator=(const File &) = delete;
	~File()
	{
		close(fd_);
	}
	[[nodiscard]] int get() const
	{
		return fd_;
	}

private:
	int fd_;
};

constexpr std::size_t page = 4096;
constexpr std::size_t pages = 8;

int dmabuf_of(int memory)
{
	const File device{open("/dev/udmabuf", O_RDWR | O_CLOEXEC)};
	udmabuf_create create{};

	create.memfd = static_cast<std::uint32_t>(memory);
	create.flags = UDMABUF_FLAGS_CLOEXEC;
	create.size = pages * page;
	return ioctl(device.get(), UDMABUF_CREATE, &create);
}

void dmabuf(World &world)
{
	const Pair pair{world};
	const File memory{memfd_create("krdma", MFD_ALLOW_SEALING | MFD_CLOEXEC)};

	require(ftruncate(memory.get(), pages * page) == 0 &&
			fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0,
		"memory of the dma-buf");
	const File buffer{dmabuf_of(memory.get())};
	constexpr std::size_t skip = page + 24;
	constexpr std::size_t part = (pages - 2) * page;
	/* tagged offsets begin where the program says */
	const MemoryRegion region{pair.b.pd, buffer.get(), skip, part, 24, everything};

	same(region.address(), std::uint64_t{24}, "first tagged offset");
	reaches(pair, {24, region.stag()}, part, mark);
	std::vector<std::byte> seen(pages * page);
	require(pread(memory.get(), seen.data(), seen.size(), 0) ==
			static_cast<ssize_t>(seen.size()),
		"pread");
	for (std::size_t i = 0; i < seen.size(); i++)
		require(seen[i] == (i >= skip && i < skip + part ? mark : std::byte{0}),
			"octets of the dma-buf");
	refused(EINVAL, "beyond the dma-buf", [&] {
		const MemoryRegion more{pair.b.pd,    buffer.get(), skip,
					pages * page, 24,           everything};
	});
	pair.refuses_read({23, region.stag()});

	const Pair other{world};
	const MemoryRegion from_zero{other.b.pd, buffer.get(), skip,
				     part,       24,           everything | access::zero_based};
	same(from_zero.address(), std::uint64_t{0}, "first tagged offset from zero");
	reaches(other, {0, from_zero.stag()}, part, std::byte{0x5c});
}

} /* namespace */

const std::vector<Check> memory_checks = {
	{"window_reaches", window_reaches},
	{"window_from_zero", window_from_zero},
	{"window_refuses", window_refuses},
	{"window_invalidated_by_the_peer", window_invalidated_by_the_peer},
	{"window_invalidated_here", window_invalidated_here},
	{"binds_refused", binds_refused},
	{"window_keeps_its_region", window_keeps_its_region},
	{"window_keeps_what_it_is_bound_to", window_keeps_what_it_is_bound_to},
	{"window_moves_on", window_moves_on},
	{"region_not_invalidated_by_the_peer", region_not_invalidated_by_the_peer},
	{"region_changed", region_changed},
	{"region_from_zero", region_from_zero},
	{"region_elsewhere", region_elsewhere},
	{"regions_refused", regions_refused},
	{"dmabuf", dmabuf},
};

} /* namespace ual */
