/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <krdma/address.hpp>
#include <krdma/error.hpp>

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

int errno_of(std::string_view text, int family = 0)
{
	try {
		(void)Address::resolve(text, family);
	} catch (const krdma::Error &error) {
		return error.code().value();
	}
	return 0;
}

TEST(Address, ResolvesNames)
{
	/* numbers need no resolver */
	for (const char *text : {"10.0.0.1:7000", "[fd77::1]:65535", "fe80::1%lo", "0.0.0.0"})
		EXPECT_EQ(Address::resolve(text).to_string(), text);
	EXPECT_EQ(Address::resolve("localhost:7000", AF_INET).to_string(), "127.0.0.1:7000");
	EXPECT_EQ(Address::resolve("localhost", AF_INET).port(), 0);
	for (const char *text :
	     {"", ":7000", "localhost:", "localhost:x", "localhost:70000", "10.77", "10.77.0:5",
	      "1234", "0x7f.0x1", "localhost:1:2", "localhost%lo", "[localhost]:1", "*x"})
		EXPECT_EQ(errno_of(text), EINVAL) << text;
	EXPECT_EQ(errno_of("10.0.0.1", AF_INET6), ENXIO);
	EXPECT_EQ(errno_of("fe80::1%nosuchif"), ENODEV);
	/* .invalid never exists (RFC 2606); a resolver that is not reached cannot know */
	const int err = errno_of("host.invalid");
	EXPECT_TRUE(err == ENXIO || err == EAGAIN) << err;
}

TEST(Address, OfTheSocketApi)
{
	for (const char *text : {"10.1.2.3:7000", "[fe80::1%lo]:9", "fd77::1"}) {
		const sockaddr_storage raw = Address::parse(text).to_sockaddr();

		EXPECT_EQ(Address::from_sockaddr(reinterpret_cast<const sockaddr *>(&raw),
						 sizeof(raw))
				  .to_string(),
			  text);
	}
	EXPECT_EQ(Address{}.to_sockaddr().ss_family, AF_UNSPEC);
	const auto refused = [](int family, socklen_t length) {
		sockaddr_storage raw{};

		raw.ss_family = static_cast<sa_family_t>(family);
		try {
			(void)Address::from_sockaddr(reinterpret_cast<const sockaddr *>(&raw),
						     length);
		} catch (const krdma::Error &error) {
			return error.code().value();
		}
		return 0;
	};
	EXPECT_EQ(refused(AF_UNIX, sizeof(sockaddr_storage)), EAFNOSUPPORT);
	EXPECT_EQ(refused(AF_INET, 8), EINVAL);
	EXPECT_EQ(refused(AF_INET6, 16), EINVAL);
	EXPECT_EQ(refused(AF_INET, 1), EINVAL);
}

} /* namespace */
