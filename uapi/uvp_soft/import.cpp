/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Import of objects of another process: an open device, by a file descriptor that the other
 * process has passed, and the protection domains and memory regions of that device, by the
 * handles of the kernel. For the kernel, both processes use one context. It lives until the
 * last process closes the device.
 */
#include <cerrno>

#include <krdma/ib-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

#include "provider.hpp"

namespace krdma {
namespace {

/** class Command - a command of ib_uverbs with N attributes, for which libibverbs has no call */
template <std::size_t N> class Command {
public:
	Command(std::uint16_t object, std::uint16_t method) noexcept
	{
		header().length = sizeof(bytes_);
		header().object_id = object;
		header().method_id = method;
		header().driver_id = KRDMA_DRIVER_ID;
	}

	/*
	 * memory for the kernel's answer; an attribute that the kernel does not know fails the
	 * command
	 */
	template <typename T> void answer(std::uint16_t id, T &value) noexcept
	{
		static_assert(std::is_trivially_copyable_v<T>);
		add(id, sizeof(value), reinterpret_cast<std::uintptr_t>(&value));
	}

	void object(std::uint16_t id, std::uint32_t handle) noexcept
	{
		add(id, 0, handle);
	}

	/* 0 or an errno */
	[[nodiscard]] int run(int fd) noexcept
	{
		return ioctl(fd, RDMA_VERBS_IOCTL, bytes_) ? errno : 0;
	}

private:
	[[nodiscard]] ib_uverbs_ioctl_hdr &header() noexcept
	{
		return *reinterpret_cast<ib_uverbs_ioctl_hdr *>(bytes_);
	}

	void add(std::uint16_t id, std::uint16_t length, std::uint64_t data) noexcept
	{
		ib_uverbs_attr &attr = header().attrs[header().num_attrs++];

		attr.attr_id = id;
		attr.len = length;
		attr.flags = UVERBS_ATTR_F_MANDATORY;
		attr.data = data;
	}

	alignas(8) std::byte bytes_[sizeof(ib_uverbs_ioctl_hdr) + N * sizeof(ib_uverbs_attr)]{};
};

int query_context(Context &context, krdma_soft_ucontext_resp &answer)
{
	Command<3> query{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT};
	std::uint32_t vectors = 0;
	std::uint64_t core_support = 0;

	query.answer(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, vectors);
	query.answer(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, core_support);
	query.answer(KRDMA_IB_ATTR_QUERY_CONTEXT_ANSWER, answer);
	if (int err = query.run(context.base.context.cmd_fd))
		return err;
	context.base.context.num_comp_vectors = static_cast<int>(vectors);
	reinterpret_cast<verbs_device *>(context.base.context.device)->core_support = core_support;
	return 0;
}

int query_pd(const ibv_context &context, std::uint32_t handle)
{
	Command<1> query{UVERBS_OBJECT_PD, KRDMA_IB_METHOD_PD_QUERY};

	query.object(KRDMA_IB_ATTR_PD_QUERY_HANDLE, handle);
	return query.run(context.cmd_fd);
}

} /* namespace */

verbs_context *import_context(ibv_device *device, int cmd_fd)
{
	/* owns cmd_fd from here on, also on failure */
	void *memory = _verbs_init_and_alloc_context(device, cmd_fd, sizeof(Context), nullptr,
						     KRDMA_DRIVER_ID);
	if (!memory)
		return nullptr;

	auto *context = static_cast<Context *>(memory);
	krdma_soft_ucontext_resp answer{};
	const int err = query_context(*context, answer);
	context->no_write = true;
	return begin_context(context, err, answer);
}

ibv_pd *import_pd(ibv_context *context, std::uint32_t handle)
{
	if (int err = query_pd(*context, handle)) {
		errno = err;
		return nullptr;
	}
	auto *pd = make<Pd>();
	if (!pd)
		return nullptr;
	pd->base.context = context;
	pd->base.handle = handle;
	return &pd->base;
}

/*
 * A domain that a parent domain stands for stays until the parent domain is gone. To end it
 * before is the program's error.
 */
void unimport_pd(ibv_pd *base)
{
	Pd &pd = ours<Pd>(base);

	if (!load_acquire(pd.users))
		dispose(&pd);
}

ibv_mr *import_mr(ibv_pd *pd, std::uint32_t handle)
{
	auto *mr = make<verbs_mr>();
	if (!mr)
		return nullptr;
	if (int err = ibv_cmd_query_mr(pd, mr, handle)) {
		dispose(mr);
		errno = err;
		return nullptr;
	}
	return &mr->ibv_mr;
}

void unimport_mr(ibv_mr *mr)
{
	dispose(&ours<verbs_mr>(mr));
}

} /* namespace krdma */
