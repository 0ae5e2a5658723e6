/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of special memory regions: registered again, zero-based, of many pages, of huge
 * pages, of a dma-buf. Data is moved through each region and compared. Accesses outside of the
 * region are tried.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

constexpr std::size_t page = 4096;
constexpr std::size_t size = 3 * page;

/** class Area - memory of this process, page by page */
class Area {
public:
	explicit Area(std::size_t length, int flags = 0, int fd = -1,
		      int prot = PROT_READ | PROT_WRITE)
		: length_{length}, address_{mmap(nullptr, length, prot,
						 fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | flags
							: MAP_SHARED,
						 fd, 0)}
	{
		if (address_ == MAP_FAILED)
			rdma::fail_errno("mmap", errno);
	}
	Area(const Area &) = delete;
	Area &operator=(const Area &) = delete;
	~Area()
	{
		munmap(address_, length_);
	}

	[[nodiscard]] std::byte *data() const
	{
		return static_cast<std::byte *>(address_);
	}
	[[nodiscard]] std::span<std::byte> span() const
	{
		return {data(), length_};
	}
	[[nodiscard]] std::uint64_t address() const
	{
		return reinterpret_cast<std::uintptr_t>(address_);
	}

private:
	std::size_t length_;
	void *address_;
};

/** class File - a file descriptor */
class File {
public:
	File(int fd, const char *what) : fd_{fd}
	{
		if (fd < 0)
			rdma::fail_errno(what, errno);
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

std::byte octet_at(std::size_t i, unsigned int salt)
{
	return static_cast<std::byte>(i * 11 + (i >> 8) * 5 + (i >> 16) * 3 + salt);
}

void fill(std::span<std::byte> octets, unsigned int salt)
{
	for (std::size_t i = 0; i < octets.size(); i++)
		octets[i] = octet_at(i, salt);
}

bool filled(std::span<const std::byte> octets, unsigned int salt)
{
	for (std::size_t i = 0; i < octets.size(); i++)
		if (octets[i] != octet_at(i, salt))
			return false;
	return true;
}

/* The peer writes to and reads from the bytes at tagged offset "to" of rkey. */
void reaches(Pair &pair, std::span<std::byte> octets, std::uint64_t to, std::uint32_t rkey)
{
	Memory local{pair.client().pd(), octets.size(), IBV_ACCESS_LOCAL_WRITE};
	const std::array all{local.sge()};

	fill(local.span(), 3);
	must(pair.client().post_rdma(IBV_WR_RDMA_WRITE, all, to, rkey, 0), "post_send");
	/* when the Read behind the Write completes, the Write is placed */
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, {}, to, rkey), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Write and empty Read");
	require(filled(octets, 3), "written octets");
	fill(octets, 4);
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, all, to, rkey), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Read");
	require(filled(local.span(), 4), "octets read");
}

/* The owner sends from and receives to these bytes. */
void serves(Pair &pair, std::span<std::byte> octets, std::uint64_t to, std::uint32_t lkey)
{
	Memory other{pair.client().pd(), octets.size(), IBV_ACCESS_LOCAL_WRITE};
	const std::array theirs{other.sge()};
	const ibv_sge own{to, static_cast<std::uint32_t>(octets.size()), lkey};

	fill(octets, 5);
	must(pair.client().post_recv(theirs), "post_recv");
	must(pair.server().post_send({&own, 1}), "post_send");
	require_status(pair.server().sends.wait(), IBV_WC_SUCCESS, "Send");
	require_status(pair.client().recvs.wait(), IBV_WC_SUCCESS, "receive");
	require(filled(other.span(), 5), "sent octets");
	fill(other.span(), 6);
	must(pair.server().post_recv({&own, 1}), "post_recv");
	must(pair.client().post_send(theirs), "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Send");
	require_status(pair.server().recvs.wait(), IBV_WC_SUCCESS, "receive");
	require(filled(octets, 6), "received octets");
}

/* The peer's Read of a byte there is refused, and ends the connection. */
void refuses(Pair &pair, std::uint64_t to, std::uint32_t rkey,
	     ibv_wr_opcode opcode = IBV_WR_RDMA_READ)
{
	Memory local{pair.client().pd(), 1, IBV_ACCESS_LOCAL_WRITE};
	const std::array one{local.sge()};

	must(pair.client().post_rdma(opcode, one, to, rkey), "post_send");
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
	const ibv_wc wc = pair.client().sends.wait();
	if (opcode == IBV_WR_RDMA_READ)
		require_status(wc, IBV_WC_REM_ACCESS_ERR, "refused Read");
}

rdma::Mr reg(ibv_pd *pd, const Area &area, std::size_t length, int access)
{
	return rdma::Mr{must(ibv_reg_mr(pd, area.data(), length, access), "ibv_reg_mr")};
}

/* Registered anew *********************************************************** */

constexpr int no_access_change = 0;

void rereg_translation(World &world)
{
	const Area before{size};
	const Area after{2 * size};
	Pair pair{world};
	Pair late{world, {}, {.pd = pair.server().pd()}};
	const rdma::Mr mr = reg(pair.server().pd(), before, size, rdma::all_access);
	const std::uint32_t old_key = mr->rkey;

	reaches(pair, before.span(), before.address(), mr->rkey);
	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, after.data() + 100,
			  2 * size - 200, no_access_change),
	     "ibv_rereg_mr");
	require(mr->rkey != old_key && mr->rkey == mr->lkey, "the keys are new");
	require(mr->addr == after.data() + 100 && mr->length == 2 * size - 200, "addr and length");
	const auto octets = after.span().subspan(100, 2 * size - 200);
	reaches(pair, octets, after.address() + 100, mr->rkey);
	serves(pair, octets, after.address() + 100, mr->lkey);
	require(after.span()[99] == std::byte{0} && after.span()[2 * size - 100] == std::byte{0},
		"octets beside the region");
	fill(before.span(), 9);
	refuses(pair, after.address() + 99, mr->rkey);
	refuses(late, before.address(), old_key);
	require(filled(before.span(), 9), "memory that the region has left");
}

void rereg_access(World &world)
{
	const Area area{size};
	Pair pair{world};
	Pair late{world, {}, {.pd = pair.server().pd()}};
	const rdma::Mr mr = reg(pair.server().pd(), area, size, IBV_ACCESS_LOCAL_WRITE);
	const std::uint32_t key = mr->rkey;

	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			  rdma::all_access),
	     "ibv_rereg_mr");
	require_eq(mr->rkey, key, "the key");
	reaches(pair, area.span(), area.address(), mr->rkey);
	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
	     "ibv_rereg_mr");
	fill(area.span(), 7);
	refuses(pair, area.address(), mr->rkey, IBV_WR_RDMA_WRITE);
	require(filled(area.span(), 7), "octets after a refused Write");
	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			  IBV_ACCESS_LOCAL_WRITE),
	     "ibv_rereg_mr");
	refuses(late, area.address(), mr->rkey);
}

/*
 * Pages that are pinned for reading are pinned again for writing, as private copies if
 * necessary.
 */
void rereg_access_of_pages_never_written(World &world)
{
	const Area area{size};
	Pair pair{world};
	const rdma::Mr mr = reg(pair.server().pd(), area, size, IBV_ACCESS_REMOTE_READ);

	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			  rdma::all_access),
	     "ibv_rereg_mr");
	reaches(pair, area.span(), area.address(), mr->rkey);
	serves(pair, area.span(), area.address(), mr->lkey);
}

void rereg_pd(World &world)
{
	const Area area{size};
	const rdma::Pd first{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Pair other{world};
	Pair pair{world, {}, {.pd = first.get()}};
	rdma::Mr mr = reg(first.get(), area, size, rdma::all_access);
	const std::uint32_t old_key = mr->rkey;

	reaches(pair, area.span(), area.address(), mr->rkey);
	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_PD, other.server().pd(), nullptr, 0,
			  no_access_change),
	     "ibv_rereg_mr");
	require(mr->pd == other.server().pd(), "pd");
	require(mr->rkey != old_key, "the key is new");
	reaches(other, area.span(), area.address(), mr->rkey);
	serves(other, area.span(), area.address(), mr->lkey);
	refuses(pair, area.address(), mr->rkey);
	/* the region keeps the new domain busy */
	mr.reset();
}

void pd_of_a_moved_region(World &world)
{
	const Area area{size};
	rdma::Pd first{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	rdma::Pd second{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	rdma::Mr mr = reg(first.get(), area, size, rdma::all_access);

	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_PD, second.get(), nullptr, 0,
			  no_access_change),
	     "ibv_rereg_mr");
	must(ibv_dealloc_pd(first.release()), "dealloc of the PD that the region has left");
	require_eq(ibv_dealloc_pd(second.get()), EBUSY, "dealloc of the region's PD");
	mr.reset();
	must(ibv_dealloc_pd(second.release()), "ibv_dealloc_pd");
}

void rereg_all_at_once(World &world)
{
	const Area before{size};
	const Area after{size};
	const rdma::Pd first{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Pair pair{world};
	const rdma::Mr mr = reg(first.get(), before, size, 0);

	must(ibv_rereg_mr(mr.get(),
			  IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
				  IBV_REREG_MR_CHANGE_ACCESS,
			  pair.server().pd(), after.data(), size, rdma::all_access),
	     "ibv_rereg_mr");
	reaches(pair, after.span(), after.address(), mr->rkey);
	serves(pair, after.span(), after.address(), mr->lkey);
}

/* a refused change leaves the region as it was */
void rereg_fails(World &world)
{
	const Area area{size};
	Pair pair{world};
	const rdma::Mr mr = reg(pair.server().pd(), area, size, rdma::all_access);
	const std::uint32_t key = mr->rkey;
	const Area hole{4 * page, 0, -1, PROT_NONE};
	const auto none = hole.data();

	require_eq(ibv_rereg_mr(mr.get(), 0x40, nullptr, nullptr, 0, 0),
		   int{IBV_REREG_MR_ERR_INPUT}, "unknown flag");
	require_eq(ibv_rereg_mr(mr.get(), 0, nullptr, nullptr, 0, 0), int{IBV_REREG_MR_ERR_CMD},
		   "no flag");
	require_eq(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, none, size, 0),
		   int{IBV_REREG_MR_ERR_CMD}, "memory that is not there");
	require_eq(errno, EFAULT, "errno");
	require_eq(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
				IBV_ACCESS_REMOTE_WRITE),
		   int{IBV_REREG_MR_ERR_CMD}, "remote without local write");
	require_eq(errno, EINVAL, "errno");
	require_eq(ibv_rereg_mr(mr.get(),
				IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
				nullptr, none, size, IBV_ACCESS_REMOTE_READ),
		   int{IBV_REREG_MR_ERR_CMD}, "memory that is not there, and other rights");
	require_eq(mr->rkey, key, "key");
	require_eq(mr->length, size, "length");
	reaches(pair, area.span(), area.address(), mr->rkey);
	serves(pair, area.span(), area.address(), mr->lkey);
}

/* a region that a request has invalidated can be registered again, with another key */
void rereg_after_invalidation(World &world)
{
	const Area area{size};
	Pair pair{world};
	Pair late{world, {}, {.pd = pair.server().pd()}};
	const rdma::Mr mr = reg(pair.server().pd(), area, size, rdma::all_access);
	const std::uint32_t key = mr->rkey;

	must(pair.server().post_rdma(IBV_WR_LOCAL_INV, {}, 0, key), "post_send");
	require_status(pair.server().sends.wait(), IBV_WC_SUCCESS, "local invalidate");
	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			  rdma::all_access),
	     "ibv_rereg_mr");
	require(mr->rkey != key, "the key is new");
	reaches(pair, area.span(), area.address(), mr->rkey);
	refuses(late, area.address(), key);
}

/* while the peer reads from the region as fast as possible */
void rereg_under_load(World &world)
{
	constexpr int rounds = 300;
	const std::array<Area, 2> areas{Area{size}, Area{size}};
	Pair pair{world};
	Pair late{world, {}, {.pd = pair.server().pd()}};
	Memory local{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE};
	const std::array all{local.sge()};
	const rdma::Mr mr = reg(pair.server().pd(), areas[0], size, rdma::all_access);

	fill(areas[0].span(), 20);
	fill(areas[1].span(), 20);
	/* same key: only rights that the Reads do not need change */
	for (int i = 0; i < rounds; i++) {
		must(pair.client().post_rdma(IBV_WR_RDMA_READ, all, areas[0].address(), mr->rkey),
		     "post_send");
		must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
				  i % 2 ? rdma::all_access : rdma::all_access | IBV_ACCESS_MW_BIND),
		     "ibv_rereg_mr");
		const ibv_wc wc = pair.client().sends.wait();
		/* an access may coincide with the change */
		if (wc.status != IBV_WC_SUCCESS) {
			require_status(wc, IBV_WC_REM_ACCESS_ERR, "Read");
			break;
		}
		require(filled(local.span(), 20), "octets read");
	}
	for (int i = 0; i < rounds; i++)
		must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
				  areas.at(static_cast<std::size_t>(i % 2)).data(), size, 0),
		     "ibv_rereg_mr");
	reaches(late, areas[1].span(), areas[1].address(), mr->rkey);
}

/* Bases, flags, pages ******************************************************* */

void zero_based(World &world)
{
	const Area area{size};
	Pair pair{world};
	Pair late{world, {}, {.pd = pair.server().pd()}};
	const auto octets = area.span().subspan(100, size - 200);
	const rdma::Mr mr{must(ibv_reg_mr(pair.server().pd(), octets.data(), octets.size(),
					  rdma::all_access | IBV_ACCESS_ZERO_BASED),
			       "ibv_reg_mr")};

	reaches(pair, octets, 0, mr->rkey);
	serves(pair, octets, 0, mr->lkey);
	require(area.span()[99] == std::byte{0} && area.span()[size - 100] == std::byte{0},
		"octets beside the region");
	refuses(pair, octets.size(), mr->rkey);
	refuses(late, area.address() + 100, mr->rkey);
}

void zero_based_by_iova(World &world)
{
	const Area area{size};
	Pair pair{world};
	const rdma::Mr mr{
		must(ibv_reg_mr_iova(pair.server().pd(), area.data(), size, 0, rdma::all_access),
		     "ibv_reg_mr_iova")};

	reaches(pair, area.span(), 0, mr->rkey);
	serves(pair, area.span().subspan(17, 5000), 17, mr->lkey);
	refuses(pair, UINT64_MAX, mr->rkey);
}

/* the region stays zero-based when the memory changes */
void zero_based_registered_anew(World &world)
{
	const Area before{size};
	const Area after{size};
	Pair pair{world};
	const rdma::Mr mr{must(ibv_reg_mr(pair.server().pd(), before.data(), size,
					  rdma::all_access | IBV_ACCESS_ZERO_BASED),
			       "ibv_reg_mr")};

	must(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, after.data() + 8,
			  size - 8, no_access_change),
	     "ibv_rereg_mr");
	reaches(pair, after.span().subspan(8), 0, mr->rkey);
}

/* the start belongs to the translation: a change of rights does not change it */
void base_is_no_right(World &world)
{
	const Area area{size};
	Pair pair{world};
	const rdma::Mr mr = reg(pair.server().pd(), area, size, rdma::all_access);
	const auto change = [&](int flags, int access) {
		return ibv_rereg_mr(mr.get(), flags, nullptr, area.data(), size, access);
	};

	errno = 0;
	require(change(IBV_REREG_MR_CHANGE_ACCESS, rdma::all_access | IBV_ACCESS_ZERO_BASED) != 0 &&
			errno == EINVAL,
		"a base of zero by a change of rights");
	reaches(pair, area.span(), area.address(), mr->rkey);
	must(change(IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION,
		    rdma::all_access | IBV_ACCESS_ZERO_BASED),
	     "both at once");
	reaches(pair, area.span(), 0, mr->rkey);
	must(change(IBV_REREG_MR_CHANGE_ACCESS, rdma::all_access), "other rights");
	reaches(pair, area.span(), 0, mr->rkey);
	must(change(IBV_REREG_MR_CHANGE_TRANSLATION, 0), "other memory");
	reaches(pair, area.span(), 0, mr->rkey);
}

void optional_flags(World &world)
{
	const Area area{size};
	Pair pair{world};
	constexpr unsigned int last_optional = 1U << 29;

	for (unsigned int flags : {unsigned{IBV_ACCESS_RELAXED_ORDERING}, last_optional,
				   IBV_ACCESS_RELAXED_ORDERING | last_optional}) {
		const int access = rdma::all_access | static_cast<int>(flags);
		const rdma::Mr mr{must(ibv_reg_mr(pair.server().pd(), area.data(), size, access),
				       "ibv_reg_mr")};

		reaches(pair, area.span(), area.address(), mr->rkey);
	}
	errno = 0;
	require(!ibv_reg_mr(pair.server().pd(), area.data(), size,
			    rdma::all_access | IBV_ACCESS_ON_DEMAND),
		"on-demand paging is not there");
	require_eq(errno, EOPNOTSUPP, "errno");
}

void many_pages(World &world)
{
	constexpr std::size_t large = 3001 * page;
	const Area area{large};
	Pair pair{world};
	const rdma::Mr mr{
		must(ibv_reg_mr(pair.server().pd(), area.data() + 1, large - 2, rdma::all_access),
		     "ibv_reg_mr")};

	reaches(pair, area.span().subspan(1, large - 2), area.address() + 1, mr->rkey);
	require(area.span()[0] == std::byte{0} && area.span()[large - 1] == std::byte{0},
		"octets beside the region");
}

void huge_pages(World &world)
{
	constexpr std::size_t huge = 2U << 20;

	{
		std::ofstream pool{"/proc/sys/vm/nr_hugepages"};

		pool << "8\n";
		require(static_cast<bool>(pool.flush()), "nr_hugepages");
	}
	{
		const Area area{2 * huge, MAP_HUGETLB};
		Pair pair{world};
		const rdma::Mr mr{must(ibv_reg_mr(pair.server().pd(), area.data() + huge / 2, huge,
						  rdma::all_access | IBV_ACCESS_HUGETLB),
				       "ibv_reg_mr")};

		reaches(pair, area.span().subspan(huge / 2, huge), area.address() + huge / 2,
			mr->rkey);
		require(area.span()[huge / 2 - 1] == std::byte{0} &&
				area.span()[huge + huge / 2] == std::byte{0},
			"octets beside the region");
	}
	std::ofstream{"/proc/sys/vm/nr_hugepages"} << "0\n";
}

/* dma-bufs ****************************************************************** */

int udmabuf_of(std::size_t length)
{
	const File memory{memfd_create("krdma", MFD_ALLOW_SEALING), "memfd_create"};
	const File device{open("/dev/udmabuf", O_RDWR | O_CLOEXEC), "/dev/udmabuf"};
	udmabuf_create create{};

	must(ftruncate(memory.get(), static_cast<off_t>(length)), "ftruncate");
	must(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), "F_SEAL_SHRINK");
	create.memfd = static_cast<std::uint32_t>(memory.get());
	create.flags = UDMABUF_FLAGS_CLOEXEC;
	create.size = length;
	return ioctl(device.get(), UDMABUF_CREATE, &create);
}

int heap_buffer_of(std::size_t length, unsigned int mode)
{
	const File heap{open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), "/dev/dma_heap/system"};
	dma_heap_allocation_data data{};

	data.len = length;
	data.fd_flags = mode | O_CLOEXEC;
	must(ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &data), "DMA_HEAP_IOCTL_ALLOC");
	return static_cast<int>(data.fd);
}

void through_dmabuf(World &world, const File &buffer, std::size_t length)
{
	const Area view{length, 0, buffer.get()};
	Pair pair{world};
	constexpr std::size_t skip = page + 24;
	const std::size_t part = length - 2 * page;
	const rdma::Mr mr{must(ibv_reg_dmabuf_mr(pair.server().pd(), skip, part, 24, buffer.get(),
						 rdma::all_access),
			       "ibv_reg_dmabuf_mr")};

	reaches(pair, view.span().subspan(skip, part), 24, mr->rkey);
	serves(pair, view.span().subspan(skip, part), 24, mr->lkey);
	require(view.span()[skip - 1] == std::byte{0} && view.span()[skip + part] == std::byte{0},
		"octets beside the region");
	refuses(pair, 23, mr->rkey);
}

void dmabuf_of_a_memfd(World &world)
{
	const File buffer{udmabuf_of(600 * page), "UDMABUF_CREATE"};

	through_dmabuf(world, buffer, 600 * page);
}

void dmabuf_of_a_heap(World &world)
{
	const File buffer{heap_buffer_of(64 * page, O_RDWR), "heap buffer"};

	through_dmabuf(world, buffer, 64 * page);
}

/* An atomic operation also works on memory that only the exporter maps. */
void atomics_on_dmabuf(World &world)
{
	constexpr std::size_t length = 4 * page;
	constexpr std::uint64_t summand = 0x100000003, rounds = 20;
	const File buffer{udmabuf_of(length), "UDMABUF_CREATE"};
	const Area view{length, 0, buffer.get()};
	Pair pair{world};
	const rdma::Mr mr{must(ibv_reg_dmabuf_mr(pair.server().pd(), 0, length, 0, buffer.get(),
						 rdma::all_access | IBV_ACCESS_REMOTE_ATOMIC),
			       "ibv_reg_dmabuf_mr")};
	rdma::Memory result{pair.client().pd(), page, rdma::all_access, std::byte{0xee}};
	ibv_sge sge = result.sge(0, sizeof(std::uint64_t));
	const auto word = [](const std::byte *at) {
		std::uint64_t value = 0;

		std::memcpy(&value, at, sizeof(value));
		return value;
	};

	for (std::uint64_t i = 0; i < rounds; i++) {
		ibv_send_wr wr{}, *bad = nullptr;

		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.wr.atomic = {.remote_addr = length - sizeof(std::uint64_t),
				.compare_add = summand,
				.swap = 0,
				.rkey = mr->rkey};
		must(ibv_post_send(pair.client().qp(), &wr, &bad), "post_send");
		rdma::require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "FetchAdd");
		require_eq(word(result.data()), i * summand, "value before");
	}
	require_eq(word(view.span().data() + length - sizeof(std::uint64_t)), rounds * summand,
		   "value in the buffer");
	require_eq(word(view.span().data() + length - 2 * sizeof(std::uint64_t)), std::uint64_t{0},
		   "value beside it");
}

/* the region keeps the buffer, not the descriptor */
void dmabuf_outlives_its_descriptor(World &world)
{
	constexpr std::size_t length = 16 * page;
	Pair pair{world};
	auto buffer = std::make_unique<File>(udmabuf_of(length), "UDMABUF_CREATE");
	const Area view{length, 0, buffer->get()};
	const rdma::Mr mr{must(ibv_reg_dmabuf_mr(pair.server().pd(), 0, length, 0, buffer->get(),
						 rdma::all_access),
			       "ibv_reg_dmabuf_mr")};

	buffer.reset();
	reaches(pair, view.span(), 0, mr->rkey);
}

/*
 * Threads register a new buffer at the same moment. udmabuf makes a table with the first access
 * and takes no lock. If two threads make one, the debug kernel finds a leak.
 */
void dmabuf_for_many_at_once(World &world)
{
	constexpr std::size_t length = 128 * page;
	constexpr int threads = 4, rounds = 100;
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	std::vector<std::unique_ptr<File>> buffers;
	std::atomic<int> refused = 0;
	std::barrier turn{threads};

	buffers.reserve(rounds);
	for (int i = 0; i < rounds; i++)
		buffers.push_back(std::make_unique<File>(udmabuf_of(length), "UDMABUF_CREATE"));
	{
		std::array<std::jthread, threads> workers;

		for (std::jthread &worker : workers)
			worker = std::jthread{[&] {
				for (const auto &buffer : buffers) {
					turn.arrive_and_wait();
					const rdma::Mr mr{ibv_reg_dmabuf_mr(pd.get(), 0, length, 0,
									    buffer->get(),
									    rdma::all_access)};

					if (!mr)
						refused++;
				}
			}};
	}
	require_eq(refused.load(), 0, "registrations refused");
}

void bad_dmabufs(World &world)
{
	constexpr std::size_t length = 16 * page;
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	const File buffer{udmabuf_of(length), "UDMABUF_CREATE"};
	const File unwritable{heap_buffer_of(length, O_RDONLY), "heap buffer"};
	const File null{open("/dev/null", O_RDWR), "/dev/null"};
	const struct {
		const char *what;
		std::uint64_t offset;
		std::size_t length;
		int fd;
		int access;
		int err;
	} cases[] = {
		{"no descriptor", 0, length, -1, rdma::all_access, EBADF},
		{"another file", 0, length, null.get(), rdma::all_access, EINVAL},
		{"longer than the buffer", 0, length + 1, buffer.get(), rdma::all_access, EINVAL},
		{"behind the buffer", length, 1, buffer.get(), rdma::all_access, EINVAL},
		{"offset that wraps", UINT64_MAX - page + 1, 2 * page, buffer.get(),
		 rdma::all_access, EINVAL},
		{"nothing", 0, 0, buffer.get(), rdma::all_access, EINVAL},
		{"remote without local write", 0, length, buffer.get(), IBV_ACCESS_REMOTE_WRITE,
		 EINVAL},
		{"a buffer that is not to be written to", 0, length, unwritable.get(),
		 rdma::all_access, EACCES},
	};

	for (const auto &c : cases) {
		errno = 0;
		require(!ibv_reg_dmabuf_mr(pd.get(), c.offset, c.length, c.offset, c.fd, c.access),
			c.what);
		require_eq(errno, c.err, c.what);
	}
	const rdma::Mr mr{must(
		ibv_reg_dmabuf_mr(pd.get(), 0, length, 0, unwritable.get(), IBV_ACCESS_REMOTE_READ),
		"ibv_reg_dmabuf_mr to read")};
	/* the library's rule */
	require_eq(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
				IBV_ACCESS_REMOTE_READ),
		   int{IBV_REREG_MR_ERR_INPUT}, "rereg of a dma-buf's region");
}

} /* namespace */

const std::vector<Check> region_checks{
	{"rereg_translation", rereg_translation},
	{"rereg_access", rereg_access},
	{"rereg_access_of_pages_never_written", rereg_access_of_pages_never_written},
	{"rereg_pd", rereg_pd},
	{"pd_of_a_moved_region", pd_of_a_moved_region},
	{"rereg_all_at_once", rereg_all_at_once},
	{"rereg_fails", rereg_fails},
	{"rereg_after_invalidation", rereg_after_invalidation},
	{"rereg_under_load", rereg_under_load},
	{"zero_based", zero_based},
	{"zero_based_by_iova", zero_based_by_iova},
	{"zero_based_registered_anew", zero_based_registered_anew},
	{"base_is_no_right", base_is_no_right},
	{"optional_flags", optional_flags},
	{"many_pages", many_pages},
	{"huge_pages", huge_pages},
	{"dmabuf_of_a_memfd", dmabuf_of_a_memfd},
	{"dmabuf_of_a_heap", dmabuf_of_a_heap},
	{"atomics_on_dmabuf", atomics_on_dmabuf},
	{"dmabuf_outlives_its_descriptor", dmabuf_outlives_its_descriptor},
	{"dmabuf_for_many_at_once", dmabuf_for_many_at_once},
	{"bad_dmabufs", bad_dmabufs},
};

} /* namespace checks */
