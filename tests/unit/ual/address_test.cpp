/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <krdma/address.hpp>

namespace {

using krdma::Address;

TEST(Address, ReadsWhatItWrites)
{
	for (const char *text :
	     {"10.0.0.1", "10.0.0.1:7000", "fd77::1", "[fd77::1]:65535", "::", "0.0.0.0",
	      "255.255.255.255:1", "::ffff:10.0.0.1", "fe80::1%lo", "[fe80::1%lo]:9"})
		EXPECT_EQ(Address::parse(text).to_string(), text);
}

TEST(Address, KnowsFamilyPortAndScope)
{
	const Address v4 = Address::parse("10.1.2.3:7000");
	EXPECT_EQ(v4.family(), AF_INET);
	EXPECT_EQ(v4.port(), 7000);
	EXPECT_EQ(v4.raw().addr[0], 10);
	EXPECT_EQ(v4.raw().addr[3], 3);
	EXPECT_EQ(v4.raw().addr[4], 0);
	EXPECT_EQ(v4.host(), "10.1.2.3");

	const Address v6 = Address::parse("[fe80::1%1]:80");
	EXPECT_EQ(v6.family(), AF_INET6);
	EXPECT_EQ(v6.raw().scope_id, 1U);
	EXPECT_EQ(v6.port(), 80);
	EXPECT_EQ(Address::parse("[fd00::1]").to_string(), "fd00::1");
}

TEST(Address, AnyAndNone)
{
	EXPECT_EQ(Address::parse("*:5"), Address::any(AF_INET, 5));
	EXPECT_EQ(Address::parse("::"), Address::any(AF_INET6));
	EXPECT_TRUE(Address{}.empty());
	EXPECT_EQ(Address{}.to_string(), "");
	EXPECT_EQ(Address::parse("1.2.3.4").with_port(9), Address::parse("1.2.3.4:9"));
}

TEST(Address, RefusesEverythingElse)
{
	for (const char *text :
	     {"", ":", "10.0.0", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0.1:7x",
	      "[10.0.0.1]:7", "[fd00::1", "[fd00::1]7", "fd00::1::2", "host", "10.0.0.1%lo", "[]:1",
	      "fe80::1%", "10.0.0.1 "}) {
		EXPECT_FALSE(Address::try_parse(text)) << text;
		EXPECT_THROW((void)Address::parse(text), std::system_error) << text;
	}
	try {
		(void)Address::parse("fe80::1%no-such-dev0");
		FAIL();
	} catch (const std::system_error &error) {
		EXPECT_EQ(error.code().value(), ENODEV);
	}
}

} /* namespace */
