/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * libFuzzer's target for the receive path. An input consists of a setup and the bytes that
 * the peer sends after the MPA start-up. rnic.c is the victim and checks its state. This file
 * checks the data that the victim sends.
 *
 * Almost no random bytes have the right CRC. So the mutator works on the FPDUs of an input
 * and mostly leaves lengths, CRCs and sequence numbers right.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "frames.hpp"
#include "fuzz.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t max);

namespace {

using frames::Octets;

/* bytes of the setup, at the start of an input */
enum Field : std::size_t {
	flags,
	reads_in_out,
	recvs,
	work,
	rtr,
	mss,
	piece,
	fail_atomic,
	send_room,
	ending,
	unreadable,
	setup_size = 12,
};

constexpr std::uint8_t flag_initiator = 1;
constexpr std::uint8_t flag_crc = 2;

enum Op : std::uint8_t { write, read_req, read_resp, send, send_inv, terminate = 7, last_op = 11 };

constexpr std::uint8_t ddp_tagged = 0x80;
constexpr std::uint8_t ddp_last = 0x40;
constexpr std::size_t tagged_header = 14;
constexpr std::size_t untagged_header = 18;

/* offsets of the fields of a ULPDU */
constexpr std::size_t at_stag = 2;
constexpr std::size_t at_to = 6;
constexpr std::size_t at_qn = 6;
constexpr std::size_t at_msn = 10;
constexpr std::size_t at_mo = 14;

/* What the victim sends ***************************************************** */

/** class Watcher - checks the stream from the victim: framing, headers, sequence, Terminate */
class Watcher {
public:
	void begin(bool crc, std::size_t mss)
	{
		*this = Watcher{};
		crc_ = crc;
		/* RFC 5044 4.5: the smallest segment allows a ULPDU of 128 bytes */
		longest_ = std::max<std::size_t>(mss, 128 + 2 + 4 + 4);
	}

	void take(const std::uint8_t *p, std::size_t n)
	{
		pending_.insert(pending_.end(), p, p + n);
		while (pending_.size() >= 2) {
			const std::size_t ulpdu = frames::get(pending_, 0, 2);
			const std::size_t whole = (ulpdu + 2 + 3) / 4 * 4 + 4;

			if (pending_.size() < whole)
				return;
			fz_must(whole <= longest_);
			check(ulpdu, whole);
			pending_.erase(pending_.begin(),
				       pending_.begin() + static_cast<std::ptrdiff_t>(whole));
		}
	}

	/* zero-length Reads as ready-to-receive frames, which come before all others */
	[[nodiscard]] std::size_t empty_reads() const
	{
		return empty_reads_;
	}

private:
	void check(std::size_t ulpdu, std::size_t whole)
	{
		const std::span fpdu{pending_.data(), whole};
		std::uint32_t crc = 0;

		for (std::size_t i = 4; i-- > 0;)
			crc = crc << 8 | fpdu[whole - 4 + i];
		fz_must(!crc_ || crc == frames::crc32c(fpdu.first(whole - 4)));
		check_segment(fpdu.subspan(2, ulpdu));
	}

	void check_segment(std::span<const std::uint8_t> s)
	{
		fz_must(!terminated_);
		fz_must(s.size() >= tagged_header);
		fz_must((s[0] & 3) == 1 && s[1] >> 6 == 1);
		const unsigned int op = s[1] & 15U;
		const bool last = s[0] & ddp_last;

		if (s[0] & ddp_tagged) {
			fz_must(op == write || op == read_resp || op == last_op);
			return;
		}
		fz_must(s.size() >= untagged_header);
		const auto qn = frames::get(s, at_qn, 4);
		fz_must(qn < next_.size());
		Next &next = next_[qn];
		fz_must(frames::get(s, at_msn, 4) == next.msn);
		fz_must(frames::get(s, at_mo, 4) == next.mo);
		next = last ? Next{next.msn + 1, 0}
			    : Next{next.msn, next.mo + s.size() - untagged_header};
		if (op == read_req)
			fz_must(s.size() == untagged_header + 28);
		if (op == read_req && frames::get(s, 30, 4) == 0)
			empty_reads_++;
		if (op == terminate) {
			terminated_ = true;
			check_terminate(s.subspan(untagged_header));
		}
	}

	/* RFC 5040 4.8, RFC 5041 7.2, RFC 5044 8, RFC 6581 8, RFC 7306 8 */
	static void check_terminate(std::span<const std::uint8_t> t)
	{
		struct Code {
			std::uint8_t kind, first, last;
		};
		static constexpr std::array codes{
			Code{0x00, 0, 0},       Code{0x01, 0, 4}, Code{0x01, 9, 9},
			Code{0x01, 0xff, 0xff}, Code{0x02, 5, 9}, Code{0x02, 0xff, 0xff},
			Code{0x10, 0, 0},       Code{0x11, 0, 4}, Code{0x12, 1, 6},
			Code{0x20, 1, 7},
		};

		fz_must(t.size() >= 4);
		fz_must(std::ranges::any_of(codes, [t](const Code &c) {
			return t[0] == c.kind && t[1] >= c.first && t[1] <= c.last;
		}));
		/*
		 * only M, D and R are set; a DDP header only with D, an RDMAP header only with
		 * D and R
		 */
		fz_must(!(t[2] & 0x1f) && !t[3]);
		fz_must(!(t[2] & 0x20) || (t[2] & 0x40));
		const std::size_t extra =
			(t[2] & 0x80 ? 2U : 0U) +
			(t[2] & 0x40 ? (t.size() > 6 && t[6] & ddp_tagged ? tagged_header
									  : untagged_header)
				     : 0U) +
			(t[2] & 0x20 ? 28U : 0U);
		fz_must(t.size() == 4 + extra);
	}

	struct Next {
		std::uint64_t msn = 1;
		std::uint64_t mo = 0;
	};

	Octets pending_;
	std::array<Next, 4> next_;
	bool crc_ = false;
	bool terminated_ = false;
	std::size_t empty_reads_ = 0;
	std::size_t longest_ = 0;
};

Watcher watcher;

/* What the victim may make of it ******************************************** */

/**
 * class Model - the messages of an input, up to the first wrong CRC, MSN or MO
 *
 * The victim takes messages in order and none behind an error. So its completions are the
 * beginning of these lists.
 */
class Model {
public:
	void begin(std::span<const std::uint8_t> stream, bool crc);

	/* The next receive has completed; @with_data: by a Send. */
	void received(unsigned int n, bool with_data, std::size_t len)
	{
		fz_must(done_ < deliveries_.size());
		const Delivery &next = deliveries_[done_++];
		fz_must(with_data == next.is_send);
		if (!with_data)
			return;
		fz_must(len == next.data.size());
		fz_must(std::ranges::equal(std::span{fz_recv_buffer(n), len}, next.data));
	}

	/*
	 * That many Reads succeeded. Each must have all data of its response. The next Read may
	 * have a part of its data. The targets of later Reads must be unchanged.
	 */
	void reads_done(std::size_t n, std::size_t skip) const
	{
		fz_must(!n || n + skip <= responses_.size());
		for (std::size_t i = 0; i < FZ_MAX_READS; i++) {
			const std::uint8_t *const sink = fz_read_sink(static_cast<unsigned int>(i));

			if (i < n) {
				const Octets &data = responses_[i + skip];

				fz_must(data.size() == FZ_READ_SIZE);
				fz_must(std::equal(data.begin(), data.end(), sink));
			}
			for (unsigned int at = 0; i > n && at < FZ_READ_SIZE; at++)
				fz_must(sink[at] == fz_sink_filler(i * FZ_READ_SIZE + at));
		}
	}

private:
	struct Delivery {
		bool is_send = false;
		Octets data;
	};

	void response(std::span<const std::uint8_t> u);
	void on_queue_0(std::span<const std::uint8_t> u);

	std::vector<Delivery> deliveries_;
	Octets message_, response_;
	std::vector<Octets> responses_;
	std::size_t done_ = 0;
};

Model model;

void append_payload(Octets &to, std::span<const std::uint8_t> u, std::size_t header)
{
	const auto payload = u.subspan(header);

	to.insert(to.end(), payload.begin(), payload.end());
}

void Model::response(std::span<const std::uint8_t> u)
{
	append_payload(response_, u, tagged_header);
	if (u[0] & ddp_last) {
		responses_.push_back(response_);
		response_.clear();
	}
}

/* A segment of a Send, or Immediate Data, which may belong to the next Send. */
void Model::on_queue_0(std::span<const std::uint8_t> u)
{
	constexpr std::uint32_t of_send = 0x6b72646d;
	const unsigned int op = u[1] & 15U;
	const bool immediate = op == 8 || op == 9;

	append_payload(message_, u, untagged_header);
	if (!(u[0] & ddp_last))
		return;
	if (!immediate || message_.size() != 8 || frames::get(message_, 4, 4) != of_send)
		deliveries_.push_back({!immediate, message_});
	message_.clear();
}

void Model::begin(std::span<const std::uint8_t> stream, bool crc)
{
	std::array<std::uint32_t, 4> msn{1, 1, 1, 1};
	std::array<std::uint32_t, 4> mo{};
	Octets rest;

	*this = Model{};
	for (const Octets &u : frames::split(stream, rest)) {
		Octets again;

		frames::append(again, u);
		const auto wire = stream.first(again.size());
		stream = stream.subspan(again.size());
		/* the pad may have any value, so only the CRC over the received bytes counts */
		std::uint32_t sum = 0;
		for (std::size_t i = 4; i-- > 0;)
			sum = sum << 8 | wire[wire.size() - 4 + i];
		if (crc && sum != frames::crc32c(wire.first(wire.size() - 4)))
			break;
		if (u.size() >= tagged_header && u[0] & ddp_tagged && (u[1] & 15U) == read_resp)
			response(u);
		if (u.size() < untagged_header || u[0] & ddp_tagged)
			continue;
		const auto qn = frames::get(u, at_qn, 4);
		if (qn >= msn.size() || frames::get(u, at_msn, 4) != msn[qn] ||
		    frames::get(u, at_mo, 4) != mo[qn])
			break;
		if (qn == 0)
			on_queue_0(u);
		if (!(u[0] & ddp_last)) {
			mo[qn] += static_cast<std::uint32_t>(u.size() - untagged_header);
			continue;
		}
		msn[qn]++;
		mo[qn] = 0;
	}
}

/* Making frames ************************************************************* */

using Random = std::minstd_rand;

std::size_t below(Random &random, std::size_t n)
{
	return random() % n;
}

/* a tagged offset inside a region or at its edges */
std::uint64_t some_offset(Random &random, int region, std::size_t size)
{
	const std::uint64_t start = fz_region_start(region);
	const std::uint64_t end = start + fz_region_length(region);

	switch (below(random, 6)) {
	case 0:
		return end - size;
	case 1:
		return end - size + 1;
	case 2:
		return start - 1;
	case 3:
		return start + below(random, 4096);
	default:
		return start + below(random, 64) * 8;
	}
}

Octets tagged(Random &random, Op op, int region)
{
	Octets u(tagged_header + below(random, 5) * below(random, 300));

	u[0] = ddp_tagged | 1 | (below(random, 4) ? ddp_last : 0);
	u[1] = 0x40 | op;
	frames::put(u, at_stag, 4, FZ_STAG(region));
	frames::put(u, at_to, 8, some_offset(random, region, u.size() - tagged_header));
	std::generate(u.begin() + tagged_header, u.end(), std::ref(random));
	return u;
}

Octets untagged(Random &random, std::uint8_t op, std::uint32_t qn, std::size_t payload)
{
	Octets u(untagged_header + payload);

	u[0] = 1 | ddp_last;
	u[1] = static_cast<std::uint8_t>(0x40 | op);
	frames::put(u, at_qn, 4, qn);
	frames::put(u, at_msn, 4, 1);
	std::generate(u.begin() + untagged_header, u.end(), std::ref(random));
	return u;
}

int some_region(Random &random)
{
	return static_cast<int>(below(random, FZ_REGIONS));
}

Octets some_send(Random &random)
{
	const auto op = static_cast<std::uint8_t>(send + below(random, 4));
	Octets u = untagged(random, op, 0, below(random, 4) * below(random, FZ_RECV_SIZE / 2));

	if (below(random, 4) == 0)
		u[0] &= static_cast<std::uint8_t>(~ddp_last);
	if (op == send_inv || op == send_inv + 2)
		frames::put(u, at_stag, 4,
			    FZ_STAG(below(random, 2) ? FZ_FLEETING : some_region(random)));
	return u;
}

Octets some_read_request(Random &random)
{
	Octets u = untagged(random, read_req, 1, 28);
	const int region = below(random, 3) ? FZ_OPEN : some_region(random);
	const std::size_t size = below(random, 3) * below(random, 2500);

	frames::put(u, 18, 4, 0x1234);
	frames::put(u, 30, 4, size);
	frames::put(u, 34, 4, FZ_STAG(region));
	frames::put(u, 38, 8, some_offset(random, region, size));
	return u;
}

/* the answer to the victim's nth RDMA Read */
Octets some_read_response(Random &random)
{
	Octets u = tagged(random, read_resp, FZ_SINK);

	if (below(random, 2))
		u.resize(tagged_header + FZ_READ_SIZE + (below(random, 2) ? below(random, 17) : 8) -
			 8);
	frames::put(u, at_to, 8,
		    fz_region_start(FZ_SINK) + below(random, FZ_MAX_READS) * FZ_READ_SIZE);
	return u;
}

Octets some_terminate(Random &random)
{
	Octets u = untagged(random, terminate, 2, 4 + below(random, 50));

	if (below(random, 2)) {
		u[18] = static_cast<std::uint8_t>(below(random, 3) << 4 | below(random, 4));
		u[19] = static_cast<std::uint8_t>(below(random, 10));
	}
	return u;
}

Octets some_frame(Random &random)
{
	switch (below(random, 10)) {
	case 0:
	case 1:
		return tagged(random, write, below(random, 2) ? FZ_OPEN : some_region(random));
	case 2:
	case 3:
		return some_read_request(random);
	case 4:
		return some_read_response(random);
	case 5:
		return some_terminate(random);
	case 6:
		return untagged(random, static_cast<std::uint8_t>(8 + below(random, 4)),
				static_cast<std::uint32_t>(below(random, 4)), below(random, 60));
	default:
		return some_send(random);
	}
}

/* Set sequence numbers as a peer that counts right. */
void renumber(std::vector<Octets> &list)
{
	std::array<std::uint32_t, 4> msn{1, 1, 1, 1};
	std::array<std::uint32_t, 4> mo{};

	for (Octets &u : list) {
		if (u.size() < untagged_header || u[0] & ddp_tagged)
			continue;
		const auto qn = frames::get(u, at_qn, 4);
		if (qn >= msn.size())
			continue;
		frames::put(u, at_msn, 4, msn[qn]);
		frames::put(u, at_mo, 4, mo[qn]);
		if (u[0] & ddp_last) {
			msn[qn]++;
			mo[qn] = 0;
		} else {
			mo[qn] += static_cast<std::uint32_t>(u.size() - untagged_header);
		}
	}
}

void change_field(Random &random, Octets &u)
{
	static constexpr std::array<std::size_t, 7> places{0, 1, at_stag, at_qn, at_msn, at_mo, 10};
	static constexpr std::array<std::uint64_t, 8> values{
		0, 1, 2, 3, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe,
	};
	const std::size_t at = places[below(random, places.size())];

	if (u.size() < at + 4)
		return;
	if (at < at_stag)
		u[at] ^= static_cast<std::uint8_t>(1U << below(random, 8));
	else if (below(random, 2))
		frames::put(u, at, 4, frames::get(u, at, 4) + below(random, 3) - 1);
	else
		frames::put(u, at, 4, values[below(random, values.size())]);
}

void mutate_octets(Random &random, Octets &u)
{
	const std::size_t room = u.size() + 64;
	Octets work(room);

	std::ranges::copy(u, work.begin());
	work.resize(LLVMFuzzerMutate(work.data(), u.size(), below(random, 2) ? u.size() : room));
	u = std::move(work);
}

void mutate_list(Random &random, std::vector<Octets> &list)
{
	if (list.empty() || below(random, 3) == 0) {
		const auto at = static_cast<std::ptrdiff_t>(below(random, list.size() + 1));

		list.insert(list.begin() + at, some_frame(random));
		return;
	}
	const std::size_t i = below(random, list.size());

	switch (below(random, 6)) {
	case 0:
		list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
		break;
	case 1:
		list.push_back(list[i]);
		break;
	case 2:
		std::swap(list[i], list[below(random, list.size())]);
		break;
	case 3:
		mutate_octets(random, list[i]);
		break;
	default:
		change_field(random, list[i]);
		break;
	}
}

std::size_t emit(const Octets &input, std::uint8_t *data, std::size_t max)
{
	const std::size_t n = std::min(input.size(), max);

	std::copy_n(input.begin(), n, data);
	return n;
}

Octets assemble(std::span<const std::uint8_t> setup, const std::vector<Octets> &list,
		const Octets &rest)
{
	Octets input(setup.begin(), setup.end());

	for (const Octets &u : list)
		frames::append(input, u);
	input.insert(input.end(), rest.begin(), rest.end());
	return input;
}

fz_setup read_setup(const std::uint8_t *p)
{
	static constexpr std::array<unsigned int, 4> sizes{536, 1448, 1460, 8948};
	fz_setup setup{};

	setup.initiator = p[flags] & flag_initiator;
	setup.crc = !!(p[flags] & flag_crc);
	setup.ird = p[reads_in_out] & 7;
	setup.ord = p[reads_in_out] >> 4 & 7;
	setup.recvs = p[recvs] & 15;
	setup.reads = setup.ord ? p[work] & 3 : 0;
	setup.sends = p[work] >> 4 & 3;
	setup.rtr = p[rtr] & 3;
	/* a Read as the first frame needs an IRD entry */
	if (setup.rtr == 3 && !setup.ord)
		setup.rtr = 0;
	setup.mss = sizes[p[mss] % sizes.size()];
	setup.fail_atomic = p[fail_atomic] & 7;
	setup.send_room = p[send_room] & 63;
	setup.unreadable = p[unreadable] & 15;
	return setup;
}

} /* namespace */

extern "C" void fz_sent(const unsigned char *p, unsigned int n)
{
	watcher.take(p, n);
}

extern "C" void fz_received(unsigned int n, int with_data, unsigned int len)
{
	model.received(n, with_data != 0, len);
}

extern "C" void fz_reads_done(unsigned int n)
{
	model.reads_done(n, watcher.empty_reads());
}

extern "C" void fz_broken(const char *what)
{
	std::fprintf(stderr, "does not hold: %s\n", what);
	std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	if (size < setup_size)
		return 0;
	const fz_setup setup = read_setup(data);
	const std::uint8_t *const p = data;

	data += setup_size;
	size -= setup_size;
	model.begin({data, size}, setup.crc);
	watcher.begin(setup.crc, setup.mss);
	fz_begin(&setup);
	/* socket buffers whose sizes go up and down */
	for (std::size_t n = p[piece] ? p[piece] : size; size; n = n * 7 % 1021 + 1) {
		n = std::min(n, size);
		fz_octets(data, static_cast<unsigned int>(n));
		/* the next softirq comes sometimes before the work item, sometimes after it */
		if (n & 1)
			fz_settle();
		if (n % 3 == 0)
			fz_post_recv();
		data += n;
		size -= n;
	}
	fz_settle();
	switch (p[ending] & 3) {
	case 1:
	case 2:
		fz_peer_ends((p[ending] & 3) == 2);
		break;
	case 3:
		fz_timers();
		break;
	default:
		break;
	}
	fz_end();
	return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size,
					       std::size_t max, unsigned int seed)
{
	Random random{seed};

	if (size < setup_size || below(random, 40) == 0) {
		size = LLVMFuzzerMutate(data, size, max);
		return size;
	}
	Octets rest;
	Octets setup(data, data + setup_size);
	auto list = frames::split({data + setup_size, size - setup_size}, rest);

	if (below(random, 8) == 0)
		setup[below(random, setup_size)] = static_cast<std::uint8_t>(random());
	if (below(random, 8))
		rest.clear();
	for (std::size_t n = 1 + below(random, 3); n-- > 0;)
		mutate_list(random, list);
	if (below(random, 4))
		renumber(list);
	return emit(assemble(setup, list, rest), data, max);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t *data1, std::size_t size1,
						 const std::uint8_t *data2, std::size_t size2,
						 std::uint8_t *out, std::size_t max,
						 unsigned int seed)
{
	Random random{seed};
	Octets rest;

	if (size1 < setup_size || size2 < setup_size)
		return 0;
	auto list = frames::split({data1 + setup_size, size1 - setup_size}, rest);
	const auto other = frames::split({data2 + setup_size, size2 - setup_size}, rest);

	list.resize(below(random, list.size() + 1));
	list.insert(list.end(),
		    other.begin() + static_cast<std::ptrdiff_t>(below(random, other.size() + 1)),
		    other.end());
	renumber(list);
	return emit(assemble({data1, setup_size}, list, {}), out, max);
}
