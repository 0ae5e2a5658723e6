/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What krdma stat --prometheus prints. */
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "prometheus.hpp"

namespace {

using namespace krdma;
using namespace krdma::tools;

RnicSample sample(const std::string &name)
{
	RnicSample one{};

	one.attributes.name = name;
	one.attributes.netdev = "eth\"0";
	one.attributes.provider = "krdma_soft";
	one.attributes.up = true;
	one.attributes.raw.mtu = 1500;
	one.attributes.raw.max_qp = 65536;
	one.attributes.raw.objects[4] = 3;
	one.counters = {{"tx_bytes", 17}, {"rx.odd-name", 2}, {"lifespan", 10}};
	return one;
}

std::vector<std::string> lines_of(const std::string &text)
{
	std::istringstream stream{text};
	std::vector<std::string> lines;

	for (std::string line; std::getline(stream, line);)
		lines.push_back(line);
	return lines;
}

bool has(const std::string &text, const std::string &line)
{
	return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Prometheus, NamesAndValues)
{
	const std::string text = prometheus({sample("krdma0"), sample("krdma1")});

	EXPECT_TRUE(has(text, "# TYPE krdma_tx_bytes_total counter")) << text;
	EXPECT_TRUE(has(text, "krdma_tx_bytes_total{rnic=\"krdma1\"} 17")) << text;
	EXPECT_TRUE(has(text, "krdma_rx_odd_name_total{rnic=\"krdma0\"} 2")) << text;
	EXPECT_TRUE(has(text, "# TYPE krdma_lifespan gauge")) << text;
	EXPECT_TRUE(has(text, "krdma_rnic_up{rnic=\"krdma0\"} 1")) << text;
	EXPECT_TRUE(has(text, "krdma_rnic_mtu_bytes{rnic=\"krdma0\"} 1500")) << text;
	EXPECT_TRUE(has(text, "krdma_rnic_objects{rnic=\"krdma0\",kind=\"qp\"} 3")) << text;
	EXPECT_TRUE(has(text, "krdma_rnic_objects_limit{rnic=\"krdma0\",kind=\"qp\"} 65536"))
		<< text;
	EXPECT_NE(text.find("netdev=\"eth\\\"0\""), std::string::npos) << text;
}

TEST(Prometheus, EachLineIsOfTheFormat)
{
	const std::regex comment{"# (HELP|TYPE) krdma_[a-z0-9_]+ .+"};
	const std::regex value{
		R"((krdma_[a-z0-9_]+)\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\} \d+)"};

	for (const std::string &line : lines_of(prometheus({sample("krdma0"), sample("krdma1")})))
		EXPECT_TRUE(std::regex_match(line, comment) || std::regex_match(line, value))
			<< line;
}

/* the samples of a metric stand together, after its one HELP and TYPE */
TEST(Prometheus, OneBlockForEachMetric)
{
	std::set<std::string> seen;
	std::string now;

	for (const std::string &line : lines_of(prometheus({sample("krdma0"), sample("krdma1")}))) {
		const std::string name = line[0] == '#' ? line.substr(7, line.find(' ', 7) - 7)
							: line.substr(0, line.find('{'));

		if (name != now) {
			EXPECT_TRUE(seen.insert(name).second) << name;
		}
		now = name;
	}
}

TEST(Prometheus, NoRnic)
{
	EXPECT_EQ(prometheus({}), "");
}

} /* namespace */
