/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the krdma command prints. */
#include <linux/neighbour.h>

#include <gtest/gtest.h>

#include "output.hpp"

namespace {

using namespace krdma;
using namespace krdma::tools;

TEST(Output, TablesAreAligned)
{
	Table table{{"NAME", "VALUE"}};

	table.add({"a", "1"});
	table.add({"longer", "22"});
	EXPECT_EQ(table.text(Style{false}), "NAME    VALUE\na       1\nlonger  22\n");
	EXPECT_EQ(table.text(Style{true}).substr(0, 4), "\033[1m");
}

TEST(Output, NumbersForPeople)
{
	EXPECT_EQ(scaled(0), "0");
	EXPECT_EQ(scaled(999), "999");
	EXPECT_EQ(scaled(1000), "1.00k");
	EXPECT_EQ(scaled(12345), "12.3k");
	EXPECT_EQ(scaled(999999), "1.00M");
	EXPECT_EQ(scaled(123456789), "123M");
	EXPECT_EQ(scaled(4.5e9), "4.50G");
	EXPECT_EQ(scaled(1e20), "100000P");
}

TEST(Output, StatesOfNeighbours)
{
	EXPECT_EQ(neighbour_state(0), "none");
	EXPECT_EQ(neighbour_state(NUD_REACHABLE), "reachable");
	EXPECT_EQ(neighbour_state(NUD_REACHABLE | NUD_STALE), "state-0x6");
	EXPECT_EQ(link_address({std::byte{2}, std::byte{0xab}}), "02:ab");
	EXPECT_EQ(link_address({}), "");
	EXPECT_EQ(interface_name(0), "");
	EXPECT_EQ(interface_name(1), "lo");
	EXPECT_EQ(interface_name(999999), "if999999");
}

TEST(Output, AttributesAsJson)
{
	Attributes attributes{};

	attributes.name = "krdma0";
	attributes.up = true;
	attributes.raw.mac_len = 6;
	attributes.raw.mac[0] = 2;
	attributes.raw.fw_version = (std::uint64_t{1} << 32) | (2 << 16) | 3;
	attributes.raw.max_qp = 17;
	attributes.raw.objects[4] = 5;
	attributes.raw.node_guid = 0xab;
	attributes.raw.clock_khz = 125000;
	attributes.raw.timestamp_mask = 0xffffffffffff;
	const Json json = to_json(attributes);
	EXPECT_EQ(json["name"], "krdma0");
	EXPECT_EQ(json["up"], true);
	EXPECT_EQ(json["mac"], "02:00:00:00:00:00");
	EXPECT_EQ(json["fw_version"], "1.2.3");
	EXPECT_EQ(json["transport"], "iWARP");
	EXPECT_EQ(json["limits"]["qp"], 17);
	EXPECT_EQ(json["objects"]["qp"], 5);
	EXPECT_EQ(json["node_guid"], "00000000000000ab");
	EXPECT_EQ(json["clock_khz"], 125000);
	EXPECT_EQ(json["timestamp_mask"], "0000ffffffffffff");
	EXPECT_TRUE(json.is_object());

	attributes.raw.transport = 9;
	attributes.raw.mac_len = 200;
	EXPECT_EQ(to_json(attributes)["transport"], "unknown");
	EXPECT_EQ(attributes.mac().size(), 8 * 3 - 1);
}

TEST(Output, CountersAsJson)
{
	const Json json = to_json(std::vector<Counter>{{"b", 2}, {"a", UINT64_MAX}});

	EXPECT_EQ(json.dump(), "{\"b\":2,\"a\":18446744073709551615}");
	EXPECT_EQ(to_json(std::vector<Counter>{}).dump(), "{}");
}

TEST(Output, EventsAsJsonAndText)
{
	Event event{};
	NetInfo net{};

	event.type = KRDMA_EVENT_NET;
	event.code = KRDMA_NET_LINK;
	event.time = std::chrono::nanoseconds{1500000000};
	net.ifindex = 999999;
	net.mtu = 9000;
	net.up = true;
	net.name = "eth0";
	event.detail = net;
	const Json json = to_json(event);
	EXPECT_EQ(json["event"], "net");
	EXPECT_EQ(json["what"], "link");
	EXPECT_EQ(json["mtu"], 9000);
	EXPECT_EQ(json["name"], "eth0");
	EXPECT_FALSE(json.contains("address"));
	EXPECT_EQ(event_line(event), "1.500000 net what link gone false ifindex 999999 name eth0 "
				     "up true mtu 9000");

	event = {};
	event.type = KRDMA_EVENT_OVERFLOW;
	event.code = 3;
	EXPECT_EQ(to_json(event)["lost"], 3);
	event.type = KRDMA_EVENT_ASYNC;
	event.code = 1;
	EXPECT_EQ(to_json(event)["what"], "qp-fatal");
	event.code = 1000;
	EXPECT_EQ(to_json(event)["what"], "async-1000");
}

TEST(Output, StatisticsOfPing)
{
	Statistics statistics;

	EXPECT_TRUE(statistics.summary().empty());
	for (int i = 100; i >= 1; i--)
		statistics.add(i * 1000.0);
	const Json json = statistics.summary();
	EXPECT_EQ(json["min_us"], 1.0);
	EXPECT_EQ(json["max_us"], 100.0);
	EXPECT_EQ(json["avg_us"], 50.5);
	EXPECT_EQ(json["p50_us"], 50.0);
	EXPECT_EQ(json["p90_us"], 90.0);
	EXPECT_EQ(json["p99_us"], 99.0);
	EXPECT_EQ(json["p99_9_us"], 100.0);
	EXPECT_NEAR(json["mdev_us"].get<double>(), 28.866, 0.001);

	Statistics one;
	one.add(5000);
	EXPECT_EQ(one.summary()["mdev_us"], 0.0);
	EXPECT_EQ(one.summary()["p99_9_us"], 5.0);
}

} /* namespace */
