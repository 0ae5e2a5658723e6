/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What a provider owes: memory that a request or a peer may not use is neither read nor written.
 * A request that names such memory locally is refused with EINVAL, or completes with an error.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "conform.hpp"

namespace conform {
namespace {

constexpr std::byte secret{0x77};
constexpr std::byte blank{0x11};
constexpr std::size_t size = 64;

/* Local memory ************************************************************* */

/** struct Bait - memory that a request must not use, as the request names it */
struct Bait {
	Slice slice;
	std::shared_ptr<const Memory> memory;
	std::vector<std::shared_ptr<const void>> keep; /* what else must live */

	[[nodiscard]] bool untouched() const
	{
		return memory->is_all(secret, 0, size);
	}
};

using MakeBait = Bait (*)(World &world, const Side &side);

/* The request is refused at the post, or fails. Return: whether it was posted. */
bool post_refused(const std::function<void()> &post, Where where)
{
	try {
		post();
	} catch (const std::system_error &error) {
		same(error.code().value(), EINVAL, "errno of a refused request", where);
		return false;
	}
	return true;
}

void must_fail(const CompletionQueue &cq, const char *what, Where where)
{
	if (Side::next(cq, where).ok())
		fail(std::string{what} + " of memory that is not the queue's succeeded", where);
}

void guard_send(World &world, MakeBait make, Where where)
{
	const Pair pair{world};
	const Memory to{pair.b.pd, 2 * size, everything, blank};
	const Bait bait = make(world, pair.a);

	pair.b.qp.receive(1, to.region.slice());
	if (post_refused([&] { pair.a.qp.send(2, bait.slice); }, where))
		must_fail(pair.a.sends, "a Send", where);
	require(to.is_all(blank, 0, size), "a Send brought memory that is not the queue's", where);
}

void guard_write(World &world, MakeBait make, Where where)
{
	const Pair pair{world};
	const Memory to{pair.b.pd, 2 * size, everything, blank};
	const Bait bait = make(world, pair.a);

	if (post_refused([&] { pair.a.qp.write(2, bait.slice, to.remote()); }, where))
		must_fail(pair.a.sends, "a Write", where);
	require(to.is_all(blank, 0, size), "a Write brought memory that is not the queue's", where);
}

void guard_read(World &world, MakeBait make, Where where)
{
	const Pair pair{world};
	const Memory from{pair.b.pd, 2 * size, everything, blank};
	const Bait bait = make(world, pair.a);

	if (post_refused([&] { pair.a.qp.read(2, bait.slice, from.remote()); }, where))
		must_fail(pair.a.sends, "a Read", where);
	require(bait.untouched(), "a Read changed memory that is not the queue's", where);
}

void guard_receive(World &world, MakeBait make, Where where)
{
	const Pair pair{world};
	const Memory from{pair.b.pd, 2 * size, everything, blank};
	const Bait bait = make(world, pair.a);

	if (post_refused([&] { pair.a.qp.receive(2, bait.slice); }, where)) {
		pair.b.qp.send(3, from.region.slice(0, bait.slice.length), {.signaled = false});
		must_fail(pair.a.receives, "a receive", where);
	}
	require(bait.untouched(), "a receive changed memory that is not the queue's", where);
}

void guard_shared_receive(World &world, MakeBait make, Where where)
{
	if (!(attributes(world.a).caps & KRDMA_CAP_SRQ))
		return;
	const ProtectionDomain pd{world.a.context};
	const SharedReceiveQueue srq{pd, {.max_wr = 8}};
	const Pair pair{world, {.qp = {.receives = &srq}, .pd = &pd}, {}};
	const Memory from{pair.b.pd, 2 * size, everything, blank};
	const Bait bait = make(world, pair.a);

	if (post_refused([&] { srq.post(2, bait.slice); }, where)) {
		pair.b.qp.send(3, from.region.slice(0, bait.slice.length), {.signaled = false});
		must_fail(pair.a.receives, "a shared receive", where);
	}
	require(bait.untouched(), "a shared receive changed memory that is not the queue's", where);
}

void guard_all(World &world, MakeBait make, Where where = Where::current())
{
	guard_shared_receive(world, make, where);
	guard_send(world, make, where);
	guard_write(world, make, where);
	guard_read(world, make, where);
	guard_receive(world, make, where);
}

std::shared_ptr<const Memory> secret_of(const ProtectionDomain &pd)
{
	return std::make_shared<const Memory>(pd, size, access::local_write, secret);
}

Bait with_key(const Side &side, std::uint32_t key)
{
	const std::shared_ptr<const Memory> memory = secret_of(side.pd);
	Slice slice = memory->region.slice();

	slice.key = key;
	return {slice, memory, {}};
}

/* In the kernel, key 0 is that of all memory for some RNICs. */
void key_zero(World &world)
{
	guard_all(world, [](World &, const Side &side) { return with_key(side, 0); });
}

/*
 * The local DMA keys of all protection domains of the host, which name all memory. The kernel shows
 * them to the administrator. One of them is that of the queue's own domain.
 */
std::vector<std::uint32_t> kernel_keys()
{
	constexpr const char *name = "local_dma_lkey ";
	const std::unique_ptr<FILE, int (*)(FILE *)> pipe{popen("rdma resource show pd", "r"),
							  pclose};
	std::vector<std::uint32_t> keys;
	std::array<char, 512> line{};

	require(pipe != nullptr, "the rdma command");
	while (std::fgets(line.data(), line.size(), pipe.get())) {
		if (const char *at = std::strstr(line.data(), name))
			keys.push_back(static_cast<std::uint32_t>(
				std::strtoul(at + std::strlen(name), nullptr, 16)));
	}
	require(!keys.empty(), "no protection domain has a local DMA key");
	return keys;
}

void key_of_the_kernel(World &world)
{
	static std::size_t turn;

	for (turn = 0; turn < kernel_keys().size() + 2; turn++)
		guard_all(world, [](World &, const Side &side) {
			const std::vector<std::uint32_t> keys = kernel_keys();

			return with_key(side, keys[turn % keys.size()]);
		});
}

void key_random(World &world)
{
	for (int i = 0; i < 4; i++)
		guard_all(world, [](World &, const Side &side) {
			static std::mt19937 random{4711};

			return with_key(side, static_cast<std::uint32_t>(random()) | 0x80000000);
		});
}

/* the right index with another key */
void key_changed(World &world)
{
	guard_all(world, [](World &, const Side &side) {
		Bait bait = with_key(side, 0);

		bait.slice.key = bait.memory->region.stag() ^ 0x5a;
		return bait;
	});
}

void key_of_domain(World &world)
{
	guard_all(world, [](World &at, const Side &) {
		const ProtectionDomain other{at.a.context};
		const std::shared_ptr<const Memory> memory = secret_of(other);

		return Bait{memory->region.slice(), memory, {}};
	});
}

void key_of_session(World &world)
{
	guard_all(world, [](World &, const Side &) {
		const auto other = std::make_shared<const Host>(open_host(setup.a));
		const ProtectionDomain pd{other->context};
		const std::shared_ptr<const Memory> memory = secret_of(pd);

		return Bait{memory->region.slice(), memory, {other}};
	});
}

void key_of_the_past(World &world)
{
	guard_all(world, [](World &, const Side &side) {
		const std::shared_ptr<const Memory> memory = secret_of(side.pd);
		std::uint32_t key = 0;
		{
			const std::shared_ptr<const Memory> past = secret_of(side.pd);
			key = past->region.stag();
		}
		Slice slice = memory->region.slice();
		slice.key = key;
		return Bait{slice, memory, {}};
	});
}

void beyond_the_region(World &world)
{
	guard_all(world, [](World &, const Side &side) {
		const auto memory =
			std::make_shared<Memory>(side.pd, 2 * size, access::local_write, secret);
		const auto half = std::make_shared<const MemoryRegion>(
			side.pd, std::span<std::byte>{memory->octets.data() + size, size},
			access::local_write);

		/* one byte before the second half, and all of it */
		return Bait{{half->address() - 1, size, half->stag()}, memory, {half}};
	});
	guard_all(world, [](World &, const Side &side) {
		const std::shared_ptr<const Memory> memory = secret_of(side.pd);
		Slice slice = memory->region.slice();

		slice.length++;
		return Bait{slice, memory, {}};
	});
}

/* A local invalidation leaves the memory of another domain alone. */
void invalidate_other_domain(World &world)
{
	const Where where = Where::current();
	const ProtectionDomain domain{world.a.context};
	const Pair other{world, {.pd = &domain}, {}};
	const Memory foreign{domain, size, access::local_write, secret};
	const Memory to{other.b.pd, size};

	for (const std::uint32_t stag : {foreign.region.stag(), kernel_keys().front()}) {
		const Pair one{world};

		if (post_refused([&] { one.a.qp.invalidate(1, stag); }, where))
			must_fail(one.a.sends, "an invalidation", where);
	}
	other.a.qp.write(2, foreign.region.slice(), to.remote());
	(void)other.a.sent();
}

/* Memory without local_write takes no data. */
void not_writable(World &world)
{
	const auto make = [](World &, const Side &side) {
		const auto memory = std::make_shared<const Memory>(side.pd, size, 0U, secret);

		return Bait{memory->region.slice(), memory, {}};
	};

	guard_read(world, make, Where::current());
	guard_receive(world, make, Where::current());
	guard_shared_receive(world, make, Where::current());
}

/* Memory of the peer ******************************************************* */

using Action = std::function<void(const Pair &pair, const Memory &there, Remote &remote)>;

/*
 * The peer refuses a Read and a Write of what @spoil makes of a Remote that is right. @rights: of
 * the peer's memory.
 */
void peer_refuses(World &world, std::uint32_t rights, const Action &spoil,
		  Where where = Where::current())
{
	for (bool write : {false, true}) {
		const Pair pair{world};
		const Memory there{pair.b.pd, size, rights, secret};
		const Memory here{pair.a.pd, size, access::local_write, blank};
		Remote remote = there.remote();

		spoil(pair, there, remote);
		if (write) {
			pair.a.qp.write(1, here.region.slice(), remote);
			/* iWARP: done when it has left */
			(void)Side::next(pair.a.sends, where);
		} else {
			pair.a.qp.read(1, here.region.slice(), remote);
			if (Side::next(pair.a.sends, where).ok())
				fail("a Read that the peer must refuse", where);
		}
		pair.a.wait_for_state(QueueState::error, where);
		require(here.is_all(blank, 0, size), "a refused Read brought data", where);
		require(there.is_all(secret, 0, size), "a refused Write changed memory", where);
	}
}

constexpr std::uint32_t both = access::local_write | access::remote_write | access::remote_read;

void remote_key(World &world)
{
	peer_refuses(world, both,
		     [](const Pair &, const Memory &, Remote &remote) { remote.stag = 0; });
	peer_refuses(world, both, [](const Pair &, const Memory &, Remote &remote) {
		remote.stag = 0xdeadbe00;
	});
	peer_refuses(world, both,
		     [](const Pair &, const Memory &, Remote &remote) { remote.stag ^= 0x5a; });
}

void remote_bounds(World &world)
{
	peer_refuses(world, both,
		     [](const Pair &, const Memory &, Remote &remote) { remote.address++; });
	peer_refuses(world, both,
		     [](const Pair &, const Memory &, Remote &remote) { remote.address--; });
	peer_refuses(world, both, [](const Pair &, const Memory &, Remote &remote) {
		remote.address = ~std::uint64_t{0} - 7;
	});
}

void remote_rights(World &world)
{
	const auto keep = [](const Pair &, const Memory &, Remote &) {};
	const Pair pair{world};
	const Memory readable{pair.b.pd, size, access::remote_read, secret};
	const Memory local{pair.a.pd, size, access::local_write, blank};

	peer_refuses(world, access::local_write, keep);
	/* one right does not stand for the other */
	pair.a.qp.read(1, local.region.slice(), readable.remote());
	(void)pair.a.sent();
	require(local.is_all(secret, 0, size), "bytes that may be read");
	pair.a.qp.write(2, local.region.slice(0, 8), readable.remote());
	pair.a.wait_for_state(QueueState::error);

	const Pair other{world};
	const Memory writable{other.b.pd, size, access::local_write | access::remote_write, secret};
	const Memory sink{other.a.pd, size, access::local_write, blank};
	other.a.qp.write(1, sink.region.slice(), writable.remote(), {.signaled = false});
	other.a.qp.read(2, sink.region.slice(), writable.remote());
	require(!Side::next(other.a.sends).ok(), "a Read without the right");
}

void remote_domain(World &world)
{
	std::unique_ptr<Memory> foreign;

	peer_refuses(world, both, [&](const Pair &, const Memory &, Remote &remote) {
		const ProtectionDomain other{world.b.context};

		foreign = std::make_unique<Memory>(other, size, both, secret);
		remote = foreign->remote();
	});
	require(foreign->is_all(secret, 0, size), "memory of another domain");
}

void remote_session(World &world)
{
	const Host host = open_host(setup.b);
	const ProtectionDomain other{host.context};
	const Memory foreign{other, size, both, secret};

	peer_refuses(world, both, [&](const Pair &, const Memory &, Remote &remote) {
		remote = foreign.remote();
	});
	require(foreign.is_all(secret, 0, size), "memory of another session");
}

void remote_past(World &world)
{
	peer_refuses(world, both, [](const Pair &pair, const Memory &, Remote &remote) {
		const Memory past{pair.b.pd, size, both, secret};

		remote.stag = past.region.stag();
	});
}

/* Rights that are taken from a queue pair */
void queue_pair_rights(World &world)
{
	peer_refuses(world, both, [](const Pair &pair, const Memory &, Remote &) {
		pair.b.qp.change_access(0);
		same(pair.b.qp.query().access, 0U, "rights");
	});
}

} /* namespace */

const std::vector<Check> guard_checks = {
	{"lkey-0", key_zero},
	{"lkey-kernel", key_of_the_kernel},
	{"lkey-random", key_random},
	{"lkey-changed", key_changed},
	{"lkey-other-domain", key_of_domain},
	{"lkey-other-session", key_of_session},
	{"lkey-deregistered", key_of_the_past},
	{"local-bounds", beyond_the_region},
	{"local-write-right", not_writable},
	{"invalidate-other-domain", invalidate_other_domain},
	{"rkey-wrong", remote_key},
	{"remote-bounds", remote_bounds},
	{"remote-rights", remote_rights},
	{"rkey-other-domain", remote_domain},
	{"rkey-other-session", remote_session},
	{"rkey-deregistered", remote_past},
	{"qp-rights", queue_pair_rights},
};

} /* namespace conform */
