/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The memory that krdma_victim offers: regions with every combination of rights and known
 * contents. The victim's connections use them.
 */
#ifndef KRDMA_TEST_VICTIM_MEMORY_HPP
#define KRDMA_TEST_VICTIM_MEMORY_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rdma.hpp"
#include "victim.hpp"
#include "victim_line.hpp"

namespace victim {

using rdma::must;

/** class Area - a region with its guards and known contents */
class Area {
public:
	Area(ibv_pd *pd, Region kind, int access) : kind_{kind}, right_(region_size + 2 * guard)
	{
		for (std::size_t i = 0; i < right_.size(); i++)
			right_[i] = pattern(kind, i - guard);
		octets_ = right_;
		mr_.reset(must(ibv_reg_mr(pd, data(), region_size, access), "ibv_reg_mr"));
		key_ = mr_->rkey;
	}
	[[nodiscard]] std::uint8_t *data()
	{
		return octets_.data() + guard;
	}
	[[nodiscard]] std::uint64_t address()
	{
		return reinterpret_cast<std::uintptr_t>(data());
	}
	[[nodiscard]] std::uint32_t key() const
	{
		return key_;
	}
	void deregister()
	{
		mr_.reset();
	}
	void restore()
	{
		std::ranges::copy(right_, octets_.begin());
	}
	/* "name:first-last", offsets of the changed bytes in the region, or nothing */
	[[nodiscard]] std::string changes() const
	{
		const auto offset = [](auto distance) {
			return std::to_string(distance - static_cast<std::ptrdiff_t>(guard));
		};

		if (octets_ == right_)
			return {};
		const auto first = std::ranges::mismatch(octets_, right_).in1 - octets_.begin();
		const auto last = std::mismatch(octets_.rbegin(), octets_.rend(), right_.rbegin())
					  .first.base() -
				  octets_.begin() - 1;
		return std::string{region_names[kind_]} + ':' + offset(first) + '-' + offset(last);
	}

private:
	Region kind_;
	std::vector<std::uint8_t> right_, octets_;
	rdma::Mr mr_;
	std::uint32_t key_ = 0;
};

/** class Memory - all regions, in two protection domains */
class Memory {
public:
	explicit Memory(ibv_context *context)
		: pd_{must(ibv_alloc_pd(context), "ibv_alloc_pd")}, other_pd_{must(
									    ibv_alloc_pd(context),
									    "ibv_alloc_pd")}
	{
		constexpr int full =
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		constexpr std::array<int, regions> access{
			IBV_ACCESS_LOCAL_WRITE,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			IBV_ACCESS_REMOTE_READ,
			full,
			full,
			full,
			full,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		};

		areas_.reserve(regions);
		for (std::uint8_t i = 0; i < regions; i++) {
			ibv_pd *pd = i == foreign ? other_pd_.get() : pd_.get();

			areas_.emplace_back(pd, static_cast<Region>(i), access[i]);
		}
		areas_[gone].deregister();
	}
	[[nodiscard]] ibv_pd *pd() const
	{
		return pd_.get();
	}
	[[nodiscard]] Area &operator[](Region kind)
	{
		return areas_[kind];
	}
	[[nodiscard]] std::string changes() const
	{
		std::string all;

		for (const Area &area : areas_) {
			const std::string one = area.changes();

			all += all.empty() || one.empty() ? one : ' ' + one;
		}
		return all;
	}
	void restore()
	{
		for (Area &area : areas_)
			area.restore();
	}
	void describe(Line &line)
	{
		for (std::uint8_t i = 0; i < regions; i++) {
			const std::string name = region_names[i];
			Area &area = areas_[i];

			line.number(name + "_stag", area.key());
			line.number(name + "_to", area.address());
		}
	}

private:
	rdma::Pd pd_, other_pd_;
	std::vector<Area> areas_;
};

} /* namespace victim */

#endif /* KRDMA_TEST_VICTIM_MEMORY_HPP */
