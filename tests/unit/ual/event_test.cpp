/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Records as the kernel writes them, and as it never should. */
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <krdma/event.hpp>

namespace {

using namespace krdma;

template <typename Record> std::vector<std::byte> octets(Record record, std::size_t behind = 0)
{
	std::vector<std::byte> all((sizeof(record) + behind + 7) / 8 * 8);

	reinterpret_cast<krdma_event *>(&record)->size = static_cast<std::uint32_t>(all.size());
	std::memcpy(all.data(), &record, sizeof(record));
	return all;
}

/* EBADMSG, and nothing was taken */
void expect_malformed(std::span<const std::byte> all)
{
	std::span<const std::byte> rest = all;

	try {
		(void)parse_event(rest);
		FAIL() << all.size() << " octets";
	} catch (const std::system_error &error) {
		EXPECT_EQ(error.code().value(), EBADMSG);
		EXPECT_EQ(rest.size(), all.size());
	}
}

TEST(ParseEvent, TakesOneAfterTheOther)
{
	krdma_event base{};
	base.type = KRDMA_EVENT_COMPLETION;
	base.handle = 3;
	base.cookie = 0x1122334455667788;
	std::vector<std::byte> all = octets(base);
	base.type = KRDMA_EVENT_CLOSED;
	base.status = -ECONNRESET;
	const std::vector<std::byte> second = octets(base);
	all.insert(all.end(), second.begin(), second.end());

	std::span<const std::byte> rest = all;
	Event event = parse_event(rest);
	EXPECT_EQ(event.type, std::uint32_t{KRDMA_EVENT_COMPLETION});
	EXPECT_EQ(event.handle, 3U);
	EXPECT_EQ(event.cookie, 0x1122334455667788U);
	event = parse_event(rest);
	EXPECT_EQ(event.status, ECONNRESET);
	EXPECT_TRUE(rest.empty());
}

TEST(ParseEvent, ConnectionWithPrivateData)
{
	krdma_conn_event conn{};
	conn.base.type = KRDMA_EVENT_CONN_REQUEST;
	conn.conn = 9;
	conn.private_data_len = 3;
	conn.remote = Address::parse("10.0.0.9:5").raw();
	std::vector<std::byte> all = octets(conn, 3);
	all[offsetof(krdma_conn_event, private_data) + 2] = std::byte{7};

	std::span<const std::byte> rest = all;
	const Event event = parse_event(rest);
	ASSERT_TRUE(event.connection());
	EXPECT_EQ(event.connection()->handle, 9U);
	EXPECT_EQ(event.connection()->remote.to_string(), "10.0.0.9:5");
	ASSERT_EQ(event.connection()->private_data.size(), 3U);
	EXPECT_EQ(event.connection()->private_data[2], std::byte{7});
	EXPECT_FALSE(event.net());
}

TEST(ParseEvent, ALaterKernelsRecords)
{
	krdma_neigh_event neigh{};
	neigh.base.type = KRDMA_EVENT_NEIGH;
	neigh.lladdr_len = 6;
	neigh.lladdr[5] = 1;
	std::vector<std::byte> all = octets(neigh, 16);
	std::span<const std::byte> rest = all;
	EXPECT_EQ(parse_event(rest).neighbour()->link_address.size(), 6U);
	EXPECT_TRUE(rest.empty());

	krdma_event unknown{};
	unknown.type = 4711;
	all = octets(unknown, 64);
	rest = all;
	EXPECT_EQ(event_name(parse_event(rest).type), "event-4711");
	EXPECT_TRUE(rest.empty());
}

TEST(ParseEvent, NameWithoutEnd)
{
	krdma_net_event net{};
	net.base.type = KRDMA_EVENT_NET;
	std::memset(net.name, 'x', sizeof(net.name));
	const std::vector<std::byte> all = octets(net);
	std::span<const std::byte> rest = all;
	EXPECT_EQ(parse_event(rest).net()->name.size(), sizeof(net.name));
}

TEST(ParseEvent, RefusesShortRecords)
{
	krdma_event base{};
	base.type = KRDMA_EVENT_COMPLETION;
	std::vector<std::byte> all = octets(base);

	for (std::size_t length = 0; length < all.size(); length++)
		expect_malformed(std::span{all}.first(length));
	for (const std::uint32_t size : {0U, 1U, 8U, 39U, 44U, 48U, UINT32_MAX}) {
		std::memcpy(all.data(), &size, sizeof(size));
		expect_malformed(all);
	}
	/* complete, but less than its type has */
	for (const std::uint32_t type :
	     {KRDMA_EVENT_CONN_REQUEST, KRDMA_EVENT_CONN_REPLY, KRDMA_EVENT_ESTABLISHED,
	      KRDMA_EVENT_NEIGH, KRDMA_EVENT_NET}) {
		base.type = type;
		expect_malformed(octets(base));
	}
}

TEST(ParseEvent, RefusesLengthsBehindTheirRecord)
{
	krdma_conn_event conn{};
	conn.base.type = KRDMA_EVENT_CONN_REPLY;
	for (const std::uint32_t length : {9U, 513U, UINT32_MAX}) {
		conn.private_data_len = length;
		expect_malformed(octets(conn, length == 513 ? 520 : 8));
	}
	krdma_neigh_event neigh{};
	neigh.base.type = KRDMA_EVENT_NEIGH;
	neigh.lladdr_len = 9;
	expect_malformed(octets(neigh));
}

TEST(ParseEvent, SurvivesAnything)
{
	std::mt19937 random{5};
	unsigned int parsed = 0;

	for (int i = 0; i < 20000; i++) {
		std::vector<std::byte> all(random() % 256);

		for (std::byte &octet : all)
			octet = static_cast<std::byte>(random());
		if (all.size() >= 8) {
			/* sometimes near to the truth */
			const std::uint32_t words[2] = {
				static_cast<std::uint32_t>(all.size() - random() % 16),
				static_cast<std::uint32_t>(random() % 12)};
			std::memcpy(all.data(), words, sizeof(words));
		}
		std::span<const std::byte> rest = all;
		try {
			while (!rest.empty()) {
				(void)parse_event(rest);
				parsed++;
			}
		} catch (const std::system_error &error) {
			EXPECT_EQ(error.code().value(), EBADMSG);
		}
	}
	EXPECT_GT(parsed, 100U);
}

} /* namespace */
