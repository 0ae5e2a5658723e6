/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rules of krdma_ops: words, JSON of the kernel's, and the file of those that stay. */
#include <sstream>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <krdma/offload-netlink.h>

#include "fake_systemctl.hpp"
#include "offload_rule.hpp"

namespace {

using krdma::tools::Json;
using krdma::tools::offload_rule_of;
using krdma::tools::offload_rule_text;
using krdma::tools::OffloadRule;
using krdma::tools::OffloadRules;
using krdma::tools::Words;

OffloadRule rule_of(const std::string &line, bool match_only = false)
{
	std::istringstream text{line};
	Words words;

	for (std::string word; text >> word;)
		words.push_back(word);
	return offload_rule_of(words, match_only);
}

/* what is written of a rule that is read */
std::string again(const std::string &line)
{
	return offload_rule_text(rule_of(line));
}

TEST(OffloadRule, Words)
{
	EXPECT_EQ(again("connect"), "connect use any");
	EXPECT_EQ(again("use tcp"), "use tcp");
	EXPECT_EQ(again("connect 10.0.0.0/8 port 80-90 cgroup web user 7 use sdp"),
		  "connect 10.0.0.0/8 port 80-90 cgroup /web user 7 use sdp");
	EXPECT_EQ(again("listen 10.0.0.1 port 80-80"), "listen 10.0.0.1/32 port 80 use any");
	EXPECT_EQ(again("listen FD00::/8"), "listen fd00::/8 use any");
	EXPECT_EQ(again("connect ::1 use local"), "connect ::1/128 use local");
	EXPECT_EQ(again("uid 0"), "user 0 use any");
	EXPECT_EQ(again("user root"), "user 0 use any");
	EXPECT_EQ(again("service web"), "service web.service use any");
	EXPECT_EQ(again("service web.socket use any"), "service web.socket use any");
}

TEST(OffloadRule, Cgroups)
{
	EXPECT_EQ(again("cgroup 4711"), "cgroup 4711 use any");
	EXPECT_EQ(again("cgroup /"), "cgroup / use any");
	EXPECT_EQ(again("cgroup web//inner/"), "cgroup /web/inner use any");
	EXPECT_THROW((void)again("cgroup ../web"), CLI::ParseError);
	EXPECT_THROW((void)again("cgroup " + std::string(KRDMA_OFFLOAD_PATH_LEN, 'x')),
		     CLI::ParseError);
}

TEST(OffloadRule, Refused)
{
	for (const char *line :
	     {"10.0.0.0/8", "connect 10.0.0.300", "connect 10.0.0.0/", "connect 10.0.0.0/300",
	      "connect port", "connect port 0", "connect port 90-80", "connect port 65536",
	      "connect port 80 port 81", "connect port x", "connect uid 1 user 1",
	      "connect cgroup a service b", "connect service a/b", "connect service -x",
	      "connect user no-such-user", "connect use a-name-that-is-too-long", "sideways",
	      "connect 10.0.0.1 10.0.0.2", "connect listen"})
		EXPECT_THROW((void)again(line), CLI::ParseError) << line;
}

TEST(OffloadRule, MatchOnly)
{
	EXPECT_EQ(rule_of("connect port 80", true).match.port_min, 80);
	EXPECT_THROW((void)rule_of("connect use tcp", true), CLI::ParseError);
}

TEST(OffloadRule, Directions)
{
	const auto both = krdma::tools::offload_rules_of(rule_of("port 80 use sdp"));

	ASSERT_EQ(both.size(), 2);
	EXPECT_EQ(offload_rule_text(both[0]), "connect port 80 use sdp");
	EXPECT_EQ(offload_rule_text(both[1]), "listen port 80 use sdp");
	EXPECT_EQ(krdma::tools::offload_rules_of(rule_of("listen")).size(), 1);
}

TEST(OffloadRule, OfTheKernel)
{
	const auto text = [](const char *json) {
		return offload_rule_text(offload_rule_of(Json::parse(json)));
	};

	EXPECT_EQ(text(R"({"id": 3, "direction": "connect", "use": "sdp", "prefix_len": 8,
			"address": "10.0.0.0", "port_min": 80, "port_max": 90,
			"cgroup_path": "/web", "uid": 7, "hits": 1})"),
		  "connect 10.0.0.0/8 port 80-90 cgroup /web user 7 use sdp");
	EXPECT_EQ(text(R"({"direction": "listen", "use": "any", "cgroup": 12,
			"cgroup_path": "/web"})"),
		  "listen cgroup 12 use any");
	EXPECT_EQ(text(R"({"direction": "listen", "use": "tcp", "cgroup": 1, "cgroup_path": "/"})"),
		  "listen cgroup / use tcp");
}

class OffloadRulesTest : public FakeSystemctl {
protected:
	void SetUp() override
	{
		write("show-web.service", "Id=web.service\nLoadState=loaded\nSlice=system.slice\n");
	}
};

TEST_F(OffloadRulesTest, Add)
{
	OffloadRules rules{"# mine\n"};

	EXPECT_TRUE(rules.empty());
	rules.add(rule_of("service web"));
	rules.add(rule_of("listen service web.service use any"));
	EXPECT_FALSE(rules.empty());
	EXPECT_EQ(rules.text(), "# mine\nconnect service web.service use any\n"
				"listen service web.service use any\n");
}

/* a rule of the kernel's has the path of the cgroup, the file has the unit */
TEST_F(OffloadRulesTest, Remove)
{
	OffloadRules rules{"service web use any # both\nconnect port 22 use tcp\n"};

	rules.remove(rule_of("connect cgroup /system.slice/web.service use any"));
	EXPECT_EQ(rules.text(), "listen service web.service use any\nconnect port 22 use tcp\n");
	rules.remove(rule_of("connect port 22 use any"));
	rules.remove(rule_of("connect port 22 use tcp"));
	rules.remove(rule_of("listen cgroup /system.slice/web.service use any"));
	EXPECT_TRUE(rules.empty());
	EXPECT_EQ(rules.text(), "");
}

TEST_F(OffloadRulesTest, LinesThatAreNoRules)
{
	OffloadRules rules{"\nconnect\nnonsense\nservice gone\n"};
	std::vector<std::string> taken;
	std::vector<int> refused;

	rules.for_each([&](const OffloadRule &rule) { taken.push_back(offload_rule_text(rule)); },
		       [&](int line, const std::string &) { refused.push_back(line); });
	EXPECT_EQ(taken, (std::vector<std::string>{"connect use any",
						   "connect service gone.service use any",
						   "listen service gone.service use any"}));
	EXPECT_EQ(refused, std::vector<int>{3});
	/* what cannot be understood, or belongs to a unit that is gone, stays */
	rules.remove(rule_of("connect"));
	EXPECT_EQ(rules.text(), "\nnonsense\nservice gone\n");
}

} /* namespace */
