/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Protection domains, thread and parent domains, memory regions and windows. Thread and parent
 * domains exist only in user space. They save locks.
 */
#include "provider.hpp"

namespace krdma {
namespace {

void get(std::uint32_t &users)
{
	__atomic_fetch_add(&users, 1, __ATOMIC_RELAXED);
}

void put(std::uint32_t &users)
{
	__atomic_fetch_sub(&users, 1, __ATOMIC_RELEASE);
}

} /* namespace */

ibv_pd *alloc_pd(ibv_context *context)
{
	auto *pd = make<Pd>();
	if (!pd)
		return nullptr;

	ibv_alloc_pd_cmd cmd{};
	ib_uverbs_alloc_pd_resp response{};
	int err = ibv_cmd_alloc_pd(context, &pd->base, &cmd, sizeof(cmd), &response,
				   sizeof(response));
	if (err) {
		dispose(pd);
		errno = err;
		return nullptr;
	}
	return &pd->base;
}

ibv_pd *alloc_parent_domain(ibv_context *context, ibv_parent_domain_init_attr *attr)
{
	/* comp_mask: a custom allocator is of no use, the kernel allocates the rings */
	if (!attr->pd || ours<Pd>(attr->pd).stands_for ||
	    attr->comp_mask & ~std::uint32_t{IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
					     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT}) {
		errno = EINVAL;
		return nullptr;
	}

	auto *parent = make<Pd>();
	if (!parent)
		return nullptr;
	parent->stands_for = &ours<Pd>(attr->pd);
	get(parent->stands_for->users);
	if (attr->td) {
		parent->td = &ours<Td>(attr->td);
		get(parent->td->users);
	}
	parent->base.context = context;
	parent->base.handle = attr->pd->handle;
	return &parent->base;
}

int dealloc_pd(ibv_pd *base)
{
	Pd &pd = ours<Pd>(base);

	if (pd.stands_for) {
		put(pd.stands_for->users);
		if (pd.td)
			put(pd.td->users);
	} else {
		if (load_acquire(pd.users))
			return EBUSY;
		if (int err = ibv_cmd_dealloc_pd(base))
			return err;
	}
	dispose(&pd);
	return 0;
}

ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *attr)
{
	if (attr->comp_mask) {
		errno = EINVAL;
		return nullptr;
	}
	auto *td = make<Td>();
	if (!td)
		return nullptr;
	td->base.context = context;
	return &td->base;
}

int dealloc_td(ibv_td *base)
{
	Td &td = ours<Td>(base);

	if (load_acquire(td.users))
		return EBUSY;
	dispose(&td);
	return 0;
}

ibv_mr *reg_mr(ibv_pd *pd, void *addr, std::size_t length, std::uint64_t iova, int access)
{
	auto *mr = make<verbs_mr>();
	if (!mr)
		return nullptr;

	ibv_reg_mr_cmd cmd{};
	verbs_response<ib_uverbs_reg_mr_resp, krdma_soft_mr_resp> response{};
	int err = ibv_cmd_reg_mr(pd, addr, length, iova, access, mr, &cmd, sizeof(cmd), &response,
				 response.size);
	if (err) {
		dispose(mr);
		errno = err;
		return nullptr;
	}
	return &mr->ibv_mr;
}

ibv_mr *reg_dmabuf_mr(ibv_pd *pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
		      int fd, int access)
{
	auto *mr = make<verbs_mr>();
	if (!mr)
		return nullptr;
	if (int err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr, nullptr)) {
		dispose(mr);
		errno = err;
		return nullptr;
	}
	return &mr->ibv_mr;
}

/* The library records the new keys, domain and address. */
int rereg_mr(verbs_mr *mr, int flags, ibv_pd *pd, void *addr, std::size_t length, int access)
{
	ibv_rereg_mr_cmd cmd{};
	ib_uverbs_rereg_mr_resp response{};

	return ibv_cmd_rereg_mr(mr, static_cast<std::uint32_t>(flags), addr, length,
				reinterpret_cast<std::uintptr_t>(addr), access, pd, &cmd,
				sizeof(cmd), &response, sizeof(response));
}

int dereg_mr(verbs_mr *mr)
{
	if (int err = ibv_cmd_dereg_mr(mr))
		return err;
	dispose(mr);
	return 0;
}

ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type)
{
	auto *mw = make<ibv_mw>();
	if (!mw)
		return nullptr;

	ibv_alloc_mw_cmd cmd{};
	ib_uverbs_alloc_mw_resp response{};
	int err = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &response, sizeof(response));
	if (err) {
		dispose(mw);
		errno = err;
		return nullptr;
	}
	return mw;
}

int dealloc_mw(ibv_mw *mw)
{
	if (int err = ibv_cmd_dealloc_mw(mw))
		return err;
	dispose(mw);
	return 0;
}

} /* namespace krdma */
