/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Two decoders that were written apart, sdp/state/wire.c and tests/sdp/message.cpp, must understand
 * every message alike, and must find the same fault in every wrong one.
 */
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "../../sdp/message.hpp"
#include "wire_bridge.h"

namespace {

using namespace sdp;

class Random {
public:
	std::uint64_t bits()
	{
		return engine_();
	}
	std::uint32_t below(std::uint32_t limit)
	{
		return static_cast<std::uint32_t>(bits() % limit);
	}
	template <typename T> T any()
	{
		/* values at the ends of the type are more frequent than by chance */
		switch (below(8)) {
		case 0:
			return T{0};
		case 1:
			return static_cast<T>(~T{0});
		default:
			return static_cast<T>(bits());
		}
	}

private:
	std::mt19937_64 engine_{20020731};
};

constexpr std::array<std::uint8_t, 18> mids = {0, 1,  2,  3,  4,  5,  6,    7,    8,
					       9, 10, 11, 12, 13, 14, 0xfd, 0xfe, 0xff};

void fill_hello(Random &random, bridge_msg &msg)
{
	const bool request = msg.mid == 0;

	msg.flags = 0;
	msg.mseq = 0;
	msg.mseq_ack = 0;
	msg.bufs = static_cast<std::uint16_t>(std::max<std::uint16_t>(msg.bufs, 3));
	msg.compact = random.below(2) != 0;
	msg.version = 0x30 | random.below(16);
	msg.caps = random.below(request && !msg.compact ? 4 : 2);
	msg.max_adverts = 1 + random.below((msg.caps & 2) != 0 ? 0xffff : 0xff);
	msg.size = std::max<std::uint32_t>(random.any<std::uint32_t>(), 256);
	for (auto &octet : msg.name)
		octet = random.any<std::uint8_t>();
	if (!request)
		return;
	msg.ipv = random.below(2) != 0 ? 4 : 6;
	msg.want_size = std::max<std::uint32_t>(random.any<std::uint32_t>(), 256);
	/* often with a zero byte, so that one change makes the port 0 */
	msg.local_port = 1 + random.below(random.below(2) != 0 ? 0xff : 0xffff);
	msg.dst_port = 1 + random.below(random.below(2) != 0 ? 0xff : 0xffff);
	if (msg.compact)
		return;
	for (int i = msg.ipv == 4 ? 12 : 0; i < 16; i++) {
		msg.src[i] = random.any<std::uint8_t>();
		msg.dst[i] = random.any<std::uint8_t>();
	}
}

/* a message without fault */
bridge_msg valid(Random &random)
{
	bridge_msg msg = {};

	msg.mid = mids.at(random.below(mids.size()));
	msg.flags = random.below(4) << 1;
	msg.bufs = random.any<std::uint16_t>();
	msg.mseq = random.any<std::uint32_t>();
	msg.mseq_ack = random.any<std::uint32_t>();
	switch (msg.mid) {
	case 0x00:
	case 0x01:
		fill_hello(random, msg);
		break;
	case 0x05:
	case 0x06:
		msg.value = std::max<std::uint32_t>(random.any<std::uint32_t>(), 1);
		break;
	case 0x0b:
	case 0x0c:
		msg.value = std::max<std::uint32_t>(random.any<std::uint32_t>(), 256);
		break;
	case 0x07:
		msg.send_half = random.below(2);
		msg.mode = random.below(3);
		break;
	case 0x0d:
		msg.va = random.any<std::uint64_t>();
		break;
	case 0xfd:
	case 0xfe:
		msg.payload_len = random.below(2) * random.below(40);
		msg.value = std::max(random.any<std::uint32_t>(), msg.payload_len + 1);
		msg.rkey = random.any<std::uint32_t>();
		msg.va = random.any<std::uint64_t>();
		if (msg.mid == 0xfd)
			msg.non_discards = random.any<std::uint32_t>();
		break;
	case 0xff:
		msg.payload_len = random.below(2) * random.below(40);
		break;
	default:
		break;
	}
	if (msg.payload_len != 0 && msg.mid != 0xfe && random.below(2) != 0)
		msg.flags |= 1;
	return msg;
}

Octets encode(const bridge_msg &msg, Random &random)
{
	Octets octets(256);

	octets.resize(bridge_encode(&msg, octets.data()));
	for (std::uint32_t i = 0; i < msg.payload_len; i++)
		octets.push_back(random.any<std::uint8_t>());
	return octets;
}

int carrier_of(std::uint8_t mid)
{
	return mid == 0 ? 1 : mid == 1 ? 2 : 0;
}

void expect_hello(const Hello &ours, const bridge_msg &theirs)
{
	EXPECT_EQ(ours.compact, theirs.compact != 0);
	EXPECT_EQ(ours.version, theirs.version);
	EXPECT_EQ(ours.ipv, theirs.ipv);
	EXPECT_EQ(ours.caps, theirs.caps);
	EXPECT_EQ(ours.max_adverts, theirs.max_adverts);
	EXPECT_EQ(ours.wanted_size, theirs.want_size);
	EXPECT_EQ(ours.size, theirs.size);
	EXPECT_EQ(ours.local_port, theirs.local_port);
	EXPECT_EQ(ours.dst_port, theirs.dst_port);
	EXPECT_TRUE(std::equal(ours.name.begin(), ours.name.end(), theirs.name));
	EXPECT_TRUE(std::equal(ours.src.begin(), ours.src.end(), theirs.src));
	EXPECT_TRUE(std::equal(ours.dst.begin(), ours.dst.end(), theirs.dst));
}

void expect_same(const Message &ours, const bridge_msg &theirs)
{
	EXPECT_EQ(static_cast<std::uint8_t>(ours.mid), theirs.mid);
	EXPECT_EQ(ours.flags, theirs.flags);
	EXPECT_EQ(ours.bufs, theirs.bufs);
	EXPECT_EQ(ours.len, theirs.hdr_len + theirs.payload_len);
	EXPECT_EQ(ours.mseq, theirs.mseq);
	EXPECT_EQ(ours.mseq_ack, theirs.mseq_ack);
	EXPECT_EQ(ours.payload.size(), theirs.payload_len);
	EXPECT_EQ(ours.value, theirs.value);
	EXPECT_EQ(ours.rkey, theirs.rkey);
	EXPECT_EQ(ours.va, theirs.va);
	EXPECT_EQ(ours.non_discards, theirs.non_discards);
	EXPECT_EQ(ours.send_half, theirs.send_half != 0);
	EXPECT_EQ(static_cast<std::uint8_t>(ours.mode), theirs.mode);
	if (theirs.mid < 2)
		expect_hello(ours.hello, theirs);
}

TEST(SdpDecoders, AgreeOnValidMessages)
{
	std::array<int, 256> seen = {};
	Random random;

	for (int i = 0; i < 50000 && !HasFailure(); i++) {
		const bridge_msg msg = valid(random);
		const Octets octets = encode(msg, random);
		const int carrier = carrier_of(msg.mid);
		bridge_msg theirs = {};

		const Message ours = decode(octets, static_cast<Carrier>(carrier));
		EXPECT_EQ(ours.fault, "") << describe(ours);
		EXPECT_STREQ(bridge_decode(octets.data(), octets.size(), carrier, &theirs), "ok");
		expect_same(ours, theirs);
		expect_same(ours, [&] {
			bridge_msg made = msg;
			made.hdr_len = octets.size() - msg.payload_len;
			return made;
		}());
		seen.at(msg.mid)++;
	}
	for (const auto mid : mids)
		EXPECT_GT(seen.at(mid), 1000) << int{mid};
}

/* bytes changed, cut and added: the same fault, and where there is none the same message */
TEST(SdpDecoders, AgreeOnFaults)
{
	std::vector<std::string> faults;
	Random random;

	for (int i = 0; i < 200000 && !HasFailure(); i++) {
		bridge_msg theirs = {};
		Octets octets = encode(valid(random), random);
		int carrier = carrier_of(octets[0]);

		for (auto changes = random.below(3); changes != 0; changes--)
			octets.at(random.below(octets.size())) = random.any<std::uint8_t>();
		if (random.below(4) == 0) {
			octets.resize(random.below(octets.size() + 8));
			if (octets.size() >= 8 && random.below(4) != 0)
				octets[7] = static_cast<std::uint8_t>(octets.size());
		}
		if (random.below(16) == 0)
			carrier = static_cast<int>(random.below(3));
		const Message ours = decode(octets, static_cast<Carrier>(carrier));
		const std::string_view fault =
			bridge_decode(octets.data(), octets.size(), carrier, &theirs);
		EXPECT_EQ(ours.fault, fault == "ok" ? "" : fault) << describe(ours);
		if (ours.fault.empty())
			expect_same(ours, theirs);
		else if (std::ranges::find(faults, ours.fault) == faults.end())
			faults.emplace_back(ours.fault);
	}
	/* each fault of the document's first table occurred */
	EXPECT_EQ(faults.size(), 14U) << ::testing::PrintToString(faults);
}

} /* namespace */
