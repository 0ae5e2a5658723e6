/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of RDMA Reads into several elements: the data in each element, the number of
 * completions, and the requests that are refused when they are posted.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

constexpr std::byte untouched{0xee};
constexpr std::size_t most_sges = 16;

/* data in which each byte is its offset */
std::byte octet_at(std::size_t i)
{
	return static_cast<std::byte>(i * 7 + (i >> 8) * 13 + (i >> 16));
}

void fill(std::span<std::byte> octets)
{
	for (std::size_t i = 0; i < octets.size(); i++)
		octets[i] = octet_at(i);
}

rdma::SideOptions many_sges()
{
	rdma::SideOptions options;

	options.cap.max_send_sge = std::uint32_t{most_sges};
	return options;
}

/** class Sinks - regions with room around each, so that a byte outside of its place is found */
class Sinks {
public:
	static constexpr std::size_t margin = 64;

	Sinks(ibv_pd *pd, std::span<const std::size_t> lengths)
		: lengths_{lengths.begin(), lengths.end()}
	{
		for (std::size_t length : lengths) {
			auto &memory = memories_.emplace_back(std::make_unique<Memory>(
				pd, length + 2 * margin, IBV_ACCESS_LOCAL_WRITE, untouched));
			sges_.push_back(memory->sge(margin, length));
		}
	}

	[[nodiscard]] std::span<const ibv_sge> sges() const
	{
		return sges_;
	}

	/* all data from offset on is in its place, and nothing else changed */
	void check(std::size_t offset) const
	{
		for (std::size_t i = 0; i < lengths_.size(); i++) {
			const auto got = memories_[i]->span();

			for (std::size_t o = 0; o < got.size(); o++) {
				const bool inside = o >= margin && o < margin + lengths_[i];
				const std::byte wanted =
					inside ? octet_at(offset + o - margin) : untouched;

				require(got[o] == wanted, "an octet of a sink");
			}
			offset += lengths_[i];
		}
	}

private:
	std::vector<std::size_t> lengths_;
	std::vector<std::unique_ptr<Memory>> memories_;
	std::vector<ibv_sge> sges_;
};

void reads_into(Pair &pair, Memory &source, std::size_t offset,
		std::span<const std::size_t> lengths)
{
	const Sinks sinks{pair.client().pd(), lengths};

	must(pair.client().post_rdma(IBV_WR_RDMA_READ, sinks.sges(), source.address(offset),
				     source.key(), IBV_SEND_SIGNALED, offset),
	     "post_send");
	const ibv_wc wc = pair.client().sends.wait();
	require_status(wc, IBV_WC_SUCCESS, "Read");
	require_eq(wc.wr_id, std::uint64_t{offset}, "wr_id");
	require_eq(std::size_t{wc.byte_len},
		   std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), "byte_len");
	require(!pair.client().sends.poll(), "a second completion");
	sinks.check(offset);
}

void read_into_several_elements(World &world)
{
	constexpr std::size_t size = 300000;
	Pair pair{world, many_sges()};
	Memory source{pair.server().pd(), size, rdma::all_access};

	require(world.device().max_sge_rd >= int{most_sges}, "max_sge_rd below 16");
	fill(source.span());
	const std::vector<std::vector<std::size_t>> lists{
		{1, 1},
		{1, 4095, 4097},
		{0, 10},
		{10, 0},
		{0, 0, 5, 0, 0, 7, 0},
		{0, 0, 0},
		{65536, 1, 65537},
		{1460, 1461, 1459, 3, 2, 1},
		{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		std::vector<std::size_t>(most_sges, 17011),
	};
	for (std::size_t offset = 0; offset < 4; offset++)
		for (const auto &list : lists)
			reads_into(pair, source, offset * 3, list);
}

/* more Read Requests than the peer takes at a time, and requests behind them */
void read_waits_for_its_turn(World &world)
{
	constexpr std::size_t rounds = 12;
	constexpr std::size_t piece = 2000;
	const std::vector<std::size_t> lengths(most_sges, piece);
	Pair pair{world, many_sges()};
	Memory source{pair.server().pd(), most_sges * piece + rounds, rdma::all_access};
	Memory back{pair.server().pd(), piece, rdma::all_access, untouched};
	std::vector<std::unique_ptr<Sinks>> sinks;

	fill(source.span());
	for (std::size_t i = 0; i < rounds; i++) {
		const unsigned int flags = i + 1 == rounds ? unsigned{IBV_SEND_SIGNALED} : 0;

		sinks.push_back(std::make_unique<Sinks>(pair.client().pd(), lengths));
		must(pair.client().post_rdma(IBV_WR_RDMA_READ, sinks[i]->sges(), source.address(i),
					     source.key(), flags, i),
		     "post_send");
	}
	/* fenced: sends the data of the last Read */
	must(pair.client().post_rdma(IBV_WR_RDMA_WRITE, sinks.back()->sges().last(1),
				     back.address(), back.key(), IBV_SEND_SIGNALED | IBV_SEND_FENCE,
				     rounds),
	     "post_send");
	for (std::size_t id : {rounds - 1, rounds}) {
		const ibv_wc wc = pair.client().sends.wait();

		require_status(wc, IBV_WC_SUCCESS, "request");
		require_eq(std::size_t{wc.wr_id}, id, "wr_id");
	}
	for (std::size_t i = 0; i < rounds; i++)
		sinks[i]->check(i);
	rdma::wait_until([&] { return back.span().back() != untouched; }, "the Write's data");
	for (std::size_t o = 0; o < piece; o++)
		require(back.span()[o] == octet_at(rounds - 1 + (most_sges - 1) * piece + o),
			"an octet read and then written");
}

/* a fenced Read of several elements waits for the requests before it, not for itself */
void read_may_be_fenced(World &world)
{
	const std::vector<std::size_t> lengths(most_sges, 3000);
	Pair pair{world, many_sges()};
	Memory source{pair.server().pd(), most_sges * 3000, rdma::all_access};
	const Sinks first{pair.client().pd(), lengths};
	const Sinks second{pair.client().pd(), lengths};

	fill(source.span());
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, first.sges(), source.address(), source.key(),
				     0),
	     "post_send");
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, second.sges(), source.address(),
				     source.key(), IBV_SEND_SIGNALED | IBV_SEND_FENCE),
	     "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "fenced Read");
	first.check(0);
	second.check(0);
}

void bad_read_is_refused_when_posted(World &world)
{
	Pair pair{world, many_sges()};
	Memory memory{pair.client().pd(), 64, rdma::all_access};
	const std::vector<ibv_sge> many(pair.client().cap().max_send_sge + 1, memory.sge(0, 1));
	const std::array one{memory.sge(0, 8)};

	require_eq(pair.client().post_rdma(IBV_WR_RDMA_READ, many, 0, 1), EINVAL,
		   "Read with too many elements");
	require_eq(pair.client().post_rdma(IBV_WR_RDMA_READ, one, 0, 1,
					   IBV_SEND_SIGNALED | IBV_SEND_INLINE),
		   EINVAL, "inline Read");
	require(!pair.client().sends.poll(), "a completion of a refused request");
	require_eq(int{pair.client().state()}, int{IBV_QPS_RTS}, "state");
	reads_into(pair, memory, 0, std::array<std::size_t, 1>{0});
}

/* one bad element is enough: then no Read Request is sent */
void every_sink_is_checked(World &world)
{
	for (std::size_t bad = 0; bad < 3; bad++) {
		Pair pair{world, many_sges()};
		Memory source{pair.server().pd(), 300, rdma::all_access};
		Memory good{pair.client().pd(), 300, IBV_ACCESS_LOCAL_WRITE, untouched};
		Memory unwritable{pair.client().pd(), 300, IBV_ACCESS_REMOTE_READ, untouched};
		std::array sges{good.sge(0, 100), good.sge(100, 100), good.sge(200, 100)};

		sges.at(bad) = unwritable.sge(0, 100);
		must(pair.client().post_rdma(IBV_WR_RDMA_READ, sges, source.address(),
					     source.key()),
		     "post_send");
		require_status(pair.client().sends.wait(), IBV_WC_LOC_PROT_ERR, "Read");
		require(good.is_all(untouched) && unwritable.is_all(untouched),
			"a refused Read brought data");
		pair.client().wait_for_state(IBV_QPS_ERR);
		pair.server().wait_for_state(IBV_QPS_ERR);
	}
}

/* the second of three Read Requests exceeds the source region */
void source_ends_in_the_middle(World &world)
{
	Pair pair{world, many_sges()};
	Memory source{pair.server().pd(), 150, rdma::all_access};
	Memory sink{pair.client().pd(), 300, IBV_ACCESS_LOCAL_WRITE, untouched};
	const std::array sges{sink.sge(0, 100), sink.sge(100, 100), sink.sge(200, 100)};

	fill(source.span());
	must(pair.client().post_rdma(IBV_WR_RDMA_READ, sges, source.address(), source.key()),
	     "post_send");
	require_status(pair.client().sends.wait(), IBV_WC_REM_ACCESS_ERR, "Read");
	pair.client().wait_for_state(IBV_QPS_ERR);
	pair.server().wait_for_state(IBV_QPS_ERR);
	require(std::ranges::all_of(sink.span().subspan(100),
				    [](std::byte b) { return b == untouched; }),
		"octets from behind the source");
}

} /* namespace */

const std::vector<Check> read_sink_checks{
	{"read_into_several_elements", read_into_several_elements},
	{"read_waits_for_its_turn", read_waits_for_its_turn},
	{"read_may_be_fenced", read_may_be_fenced},
	{"bad_read_is_refused_when_posted", bad_read_is_refused_when_posted},
	{"every_sink_is_checked", every_sink_is_checked},
	{"source_ends_in_the_middle", source_ends_in_the_middle},
};

} /* namespace checks */
