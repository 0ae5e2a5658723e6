/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What --persist leaves behind, above all when something fails. */
#include <stdexcept>

#include "fake_systemctl.hpp"
#include "persistence.hpp"

namespace {

using krdma::tools::Persistence;
using krdma::tools::systemctl_output;

class PersistenceTest : public FakeSystemctl {
protected:
	[[nodiscard]] Persistence persistence() const
	{
		return {"a.service", folder() / "krdma/adopt/a.conf"};
	}
	void expect_settings(const std::string &text) const
	{
		EXPECT_EQ(read("krdma/adopt/a.conf"), "# for a.service\n" + text);
	}
	void expect_nothing() const
	{
		EXPECT_FALSE(exists("krdma"));
		EXPECT_FALSE(exists("enabled/a.service"));
	}
};

TEST_F(PersistenceTest, EnableAndDisable)
{
	persistence().enable("NAME=x\n", "start");
	expect_settings("NAME=x\n");
	EXPECT_EQ(persistence().settings(), "NAME=x\n");
	EXPECT_TRUE(persistence().enabled());
	EXPECT_NE(read("log").find("start a.service\n"), std::string::npos);
	persistence().disable();
	expect_nothing();
	EXPECT_EQ(persistence().settings(), std::nullopt);
}

TEST_F(PersistenceTest, NoSettingsNoFile)
{
	persistence().enable("NAME=x\n", "");
	persistence().enable("", "");
	EXPECT_FALSE(exists("krdma"));
	EXPECT_TRUE(persistence().enabled());
	EXPECT_EQ(read("log").find("start"), std::string::npos);
}

TEST_F(PersistenceTest, StartFails)
{
	write("broken-start", "");
	EXPECT_THROW(persistence().enable("NAME=x\n", "start"), std::runtime_error);
	expect_nothing();
}

TEST_F(PersistenceTest, EnablingFails)
{
	write("broken-enable", "");
	EXPECT_THROW(persistence().enable("NAME=x\n", "start"), std::runtime_error);
	expect_nothing();
}

/* the settings of before are there again, and the unit stays enabled */
TEST_F(PersistenceTest, StartFailsOfOneThatWasEnabled)
{
	persistence().enable("NAME=old\n", "start");
	write("broken-start", "");
	EXPECT_THROW(persistence().enable("NAME=new\n", "start"), std::runtime_error);
	expect_settings("NAME=old\n");
	EXPECT_TRUE(persistence().enabled());
	EXPECT_THROW(persistence().enable("", "start"), std::runtime_error);
	expect_settings("NAME=old\n");
}

TEST_F(PersistenceTest, SettingsThatCannotBeWritten)
{
	write("krdma", "a file where the folder should be");
	EXPECT_THROW(persistence().enable("NAME=x\n", "start"), std::runtime_error);
	EXPECT_FALSE(persistence().enabled());
	EXPECT_EQ(read("log").find("start"), std::string::npos);
}

TEST_F(PersistenceTest, OtherSettingsStay)
{
	persistence().enable("NAME=x\n", "");
	write("krdma/adopt/b.conf", "another");
	persistence().disable();
	EXPECT_FALSE(exists("krdma/adopt/a.conf"));
	EXPECT_EQ(read("krdma/adopt/b.conf"), "another");
}

TEST_F(PersistenceTest, Output)
{
	write("show-a.service", "Id=a.service\nSlice=system.slice\n");
	EXPECT_EQ(systemctl_output({"show", "--", "a.service"}),
		  "Id=a.service\nSlice=system.slice\n");
	write("broken-show", "");
	EXPECT_THROW((void)systemctl_output({"show", "a.service"}), std::runtime_error);
}

} /* namespace */
