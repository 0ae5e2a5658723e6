/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks that no access is possible after the end of an STag. A peer writes to or reads from
 * the memory without a pause, and the STag ends in one of several ways. From then on the
 * memory must not change, and no new contents of the memory may be read.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_status;
using rdma::Side;

constexpr std::size_t size = 16 << 20;
/* Only one byte of so many is read or set. This is faster than a copy, which moves all bytes. */
constexpr std::size_t step = 512;
/* requests in a row, for longer than a processor of an emulated guest waits for its turn */
constexpr std::size_t requests = 15;
constexpr std::byte before{0x11};
constexpr std::byte after{0x99};
/* each request writes another value than the one before */
constexpr std::byte one_fill{0x22};
constexpr std::byte other_fill{0x33};
constexpr unsigned int both = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

enum class Way { dereg, rereg, invalidate, unbind };

/** class Victim - memory that a peer uses until its STag ends */
class Victim {
public:
	/*
	 * @helper: a connection whose server side uses the same protection domain as the peer's
	 */
	Victim(Pair &helper, Way way)
		: helper_{helper}, way_{way}, memory_{helper.server().pd(), size,
						      rdma::all_access | IBV_ACCESS_MW_BIND, before}
	{
		if (way == Way::unbind) {
			mw_.reset(must(ibv_alloc_mw(helper.server().pd(), IBV_MW_TYPE_1),
				       "ibv_alloc_mw"));
			bind({.mr = memory_.mr(),
			      .addr = memory_.address(),
			      .length = size,
			      .mw_access_flags = both});
		} else if (way == Way::rereg) {
			elsewhere_.resize(size);
		}
	}

	[[nodiscard]] std::uint32_t rkey() const
	{
		return mw_ ? mw_->rkey : memory_.key();
	}
	Memory &memory()
	{
		return memory_;
	}
	/* On return the STag has ended. */
	void end()
	{
		switch (way_) {
		case Way::dereg:
			memory_.deregister();
			break;
		case Way::rereg:
			must(ibv_rereg_mr(memory_.mr(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
					  elsewhere_.data(), size, 0),
			     "ibv_rereg_mr");
			break;
		case Way::invalidate:
			must(helper_.server().post_rdma(IBV_WR_LOCAL_INV, {}, 0, rkey()),
			     "post_send");
			require_status(helper_.server().sends.wait(), IBV_WC_SUCCESS,
				       "local invalidate");
			break;
		case Way::unbind:
			bind({});
			break;
		}
	}

private:
	void bind(const ibv_mw_bind_info &info)
	{
		ibv_mw_bind request{};

		request.send_flags = IBV_SEND_SIGNALED;
		request.bind_info = info;
		must(ibv_bind_mw(helper_.server().qp(), mw_.get(), &request), "ibv_bind_mw");
		require_status(helper_.server().sends.wait(), IBV_WC_SUCCESS, "bind");
	}

	Pair &helper_;
	Way way_;
	std::vector<std::byte> elsewhere_;
	Memory memory_;
	rdma::Owned<ibv_mw, ibv_dealloc_mw> mw_;
};

/** struct Request - an RDMA Write or Read of @size bytes */
struct Request {
	ibv_sge local;
	std::uint64_t address;
	std::uint32_t rkey;
};

/** class Transfer - requests of a pair's client; a thread posts them and waits for them */
class Transfer {
public:
	Transfer(Pair &pair, ibv_wr_opcode opcode, const std::array<Request, 2> &alternate)
		: pair_{pair}, done_{std::async(std::launch::async, run, std::ref(pair.client()),
						opcode, alternate)}
	{}

	/* Wait until a byte that it writes has changed. */
	void await_begin(const std::byte *octet, std::byte old)
	{
		const volatile std::byte *now = octet;

		while (*now == old &&
		       done_.wait_for(std::chrono::seconds{0}) != std::future_status::ready)
			std::this_thread::yield();
	}
	/* Wait until no byte moves any more. Return: was the transfer cut off? */
	bool is_cut()
	{
		if (done_.get())
			return false;
		pair_.client().wait_for_state(IBV_QPS_ERR);
		pair_.server().wait_for_state(IBV_QPS_ERR);
		return true;
	}

private:
	static bool run(Side &peer, ibv_wr_opcode opcode, std::array<Request, 2> alternate)
	{
		for (std::size_t i = 0; i < requests; i++) {
			const Request &r = alternate.at(i % 2);

			must(peer.post_rdma(opcode, {&r.local, 1}, r.address, r.rkey, 0),
			     "post_send");
		}
		/* an empty Read completes when all Writes before it have been placed */
		must(peer.post_rdma(IBV_WR_RDMA_READ, {}, alternate[0].address, alternate[0].rkey),
		     "post_send");
		return peer.sends.wait().status == IBV_WC_SUCCESS;
	}

	Pair &pair_;
	std::future<bool> done_;
};

std::vector<std::byte> samples(Memory &memory)
{
	const volatile std::byte *octets = memory.data();
	std::vector<std::byte> seen(size / step);

	for (std::size_t i = 0; i < seen.size(); i++)
		seen[i] = octets[(i + 1) * step - 1];
	return seen;
}

void set_samples(Memory &memory, std::byte value)
{
	volatile std::byte *octets = memory.data();

	for (std::size_t i = step - 1; i < size; i += step)
		octets[i] = value;
}

/* Repeat until @round has cut off a transfer: the memory may end too late for that. */
template <typename Round> void until_cut(Round round)
{
	for (int tries = 5; !round(); tries--)
		require(tries > 1, "no transfer was cut off");
}

template <Way way> void writes_end(World &world)
{
	until_cut([&] {
		Pair pair{world};
		Pair helper{world, {}, {.pd = pair.server().pd()}};
		Memory one{pair.client().pd(), size, 0, one_fill};
		Memory other{pair.client().pd(), size, 0, other_fill};
		Victim victim{helper, way};
		Memory &target = victim.memory();
		const std::uint64_t to = target.address();
		Transfer transfer{pair,
				  IBV_WR_RDMA_WRITE,
				  {Request{one.sge(), to, victim.rkey()},
				   Request{other.sge(), to, victim.rkey()}}};

		transfer.await_begin(target.data(), before);
		victim.end();
		const auto seen = samples(target);
		const bool cut = transfer.is_cut();

		require(seen == samples(target), "written to after the end");
		return cut;
	});
}

template <Way way> void reads_end(World &world)
{
	until_cut([&] {
		Pair pair{world};
		Pair helper{world, {}, {.pd = pair.server().pd()}};
		Memory one{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE};
		Memory other{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE};
		Victim victim{helper, way};
		const std::uint64_t from = victim.memory().address();
		Transfer transfer{pair,
				  IBV_WR_RDMA_READ,
				  {Request{one.sge(), from, victim.rkey()},
				   Request{other.sge(), from, victim.rkey()}}};

		transfer.await_begin(one.data(), std::byte{0});
		victim.end();
		set_samples(victim.memory(), after);
		const bool cut = transfer.is_cut();

		for (Memory *sink : {&one, &other})
			require(!std::ranges::count(samples(*sink), after), "read after the end");
		return cut;
	});
}

/* the sink of Reads, on the side of the requester */
void reads_end_with_their_sink(World &world)
{
	until_cut([&] {
		Pair pair{world};
		const Memory one{pair.server().pd(), size, IBV_ACCESS_REMOTE_READ, one_fill};
		const Memory other{pair.server().pd(), size, IBV_ACCESS_REMOTE_READ, other_fill};
		Memory sink{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, before};
		Transfer transfer{pair,
				  IBV_WR_RDMA_READ,
				  {Request{sink.sge(), one.address(), one.key()},
				   Request{sink.sge(), other.address(), other.key()}}};

		transfer.await_begin(sink.data(), before);
		sink.deregister();
		const auto seen = samples(sink);
		const bool cut = transfer.is_cut();

		require(seen == samples(sink), "written to after the end");
		return cut;
	});
}

} /* namespace */

const std::vector<Check> end_checks{
	{"writes_end_by_dereg", writes_end<Way::dereg>},
	{"writes_end_by_rereg", writes_end<Way::rereg>},
	{"writes_end_by_invalidation", writes_end<Way::invalidate>},
	{"writes_end_by_unbind", writes_end<Way::unbind>},
	{"reads_end_by_dereg", reads_end<Way::dereg>},
	{"reads_end_by_rereg", reads_end<Way::rereg>},
	{"reads_end_by_invalidation", reads_end<Way::invalidate>},
	{"reads_end_by_unbind", reads_end<Way::unbind>},
	{"reads_end_with_their_sink", reads_end_with_their_sink},
};

} /* namespace checks */
