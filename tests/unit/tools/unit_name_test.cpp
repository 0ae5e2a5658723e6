/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Names of systemd's units. What is expected is what systemd-escape prints, and the cgroups that
 * systemd 252 makes.
 */
#include <system_error>

#include "fake_systemctl.hpp"
#include "unit_name.hpp"

namespace {

using krdma::tools::find_unit_cgroup;
using krdma::tools::unit_cgroup;
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

TEST(UnitName, Cgroup)
{
	EXPECT_EQ(unit_cgroup("web.service", "system.slice"), "/system.slice/web.service");
	EXPECT_EQ(unit_cgroup("web@1.service", "system-web.slice"),
		  "/system.slice/system-web.slice/web@1.service");
	EXPECT_EQ(unit_cgroup("web.service", "a-b-c.slice"),
		  "/a.slice/a-b.slice/a-b-c.slice/web.service");
	EXPECT_EQ(unit_cgroup("init.scope", "-.slice"), "/init.scope");
	EXPECT_EQ(unit_cgroup("a-b.slice", "a.slice"), "/a.slice/a-b.slice");
	EXPECT_EQ(unit_cgroup("-.slice", ""), "/");
}

/* systemd keeps names apart from the kernel's files */
TEST(UnitName, CgroupEscaped)
{
	EXPECT_EQ(unit_cgroup("memory.service", "system.slice"), "/system.slice/_memory.service");
	EXPECT_EQ(unit_cgroup("_x.service", "cpu.slice"), "/_cpu.slice/__x.service");
	EXPECT_EQ(unit_cgroup("cgroup.x.service", "system.slice"),
		  "/system.slice/_cgroup.x.service");
	EXPECT_EQ(unit_cgroup("memoryd.service", "system.slice"), "/system.slice/memoryd.service");
}

class UnitCgroup : public FakeSystemctl {};

TEST_F(UnitCgroup, Running)
{
	write("show-web.service", "Id=web.service\nLoadState=loaded\nSlice=system.slice\n"
				  "ControlGroup=/elsewhere/web.service\n");
	EXPECT_EQ(find_unit_cgroup("web.service"), "/elsewhere/web.service");
}

TEST_F(UnitCgroup, Stopped)
{
	write("show-web.service",
	      "Id=web.service\nLoadState=loaded\nSlice=a-b.slice\nControlGroup=\n");
	EXPECT_EQ(find_unit_cgroup("web.service"), "/a.slice/a-b.slice/web.service");
}

TEST_F(UnitCgroup, Alias)
{
	write("show-www.service",
	      "ControlGroup=\nId=web.service\nLoadState=loaded\nSlice=system.slice\n");
	EXPECT_EQ(find_unit_cgroup("www.service"), "/system.slice/web.service");
}

TEST_F(UnitCgroup, Unknown)
{
	write("show-web.service", "Id=web.service\nLoadState=not-found\nSlice=\n");
	EXPECT_THROW((void)find_unit_cgroup("web.service"), std::system_error);
	EXPECT_THROW((void)find_unit_cgroup("other.service"), std::runtime_error);
}

} /* namespace */
