/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Names of systemd's units. What is expected is what systemd-escape prints. */
#include <gtest/gtest.h>

#include "unit_name.hpp"

namespace {

using krdma::tools::unit_escape;

TEST(UnitName, Escape)
{
	EXPECT_EQ(unit_escape("eth0"), "eth0");
	EXPECT_EQ(unit_escape("eth0.100"), "eth0.100");
	EXPECT_EQ(unit_escape("eth0:1_x"), "eth0:1_x");
	EXPECT_EQ(unit_escape("br-lan"), "br\\x2dlan");
	EXPECT_EQ(unit_escape(".x"), "\\x2ex");
	EXPECT_EQ(unit_escape("a@b"), "a\\x40b");
	EXPECT_EQ(unit_escape("n\xc3\xa9"), "n\\xc3\\xa9");
}

} /* namespace */
