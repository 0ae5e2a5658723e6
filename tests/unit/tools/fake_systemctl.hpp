/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A systemctl that the tests play: a script before all others in PATH. */
#ifndef FAKE_SYSTEMCTL_HPP
#define FAKE_SYSTEMCTL_HPP

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

/**
 * class FakeSystemctl - a folder for a test, and the script
 *
 * Files in folder() are its state: "enabled/UNIT"; "broken-VERB" makes that verb fail; what "show"
 * prints for UNIT is in "show-UNIT". "log" has the calls.
 */
class FakeSystemctl : public testing::Test {
protected:
	FakeSystemctl()
	{
		std::string name =
			(std::filesystem::temp_directory_path() / "krdma-XXXXXX").string();

		folder_ = mkdtemp(name.data());
		std::filesystem::create_directories(folder_ / "enabled");
		std::filesystem::create_directories(folder_ / "bin");
		write("bin/systemctl", R"(#!/bin/sh
cd "${0%/bin/systemctl}" || exit 9
echo "$*" >> log
verb=$1
for unit; do :; done
[ ! -e "broken-$verb" ] || exit 1
case $verb in
is-enabled) [ -e "enabled/$unit" ] ;;
enable) : > "enabled/$unit" ;;
disable) rm -f "enabled/$unit" ;;
show) cat "show-$unit" ;;
esac
)");
		std::filesystem::permissions(folder_ / "bin/systemctl",
					     std::filesystem::perms::owner_all);
		path_ = std::getenv("PATH");
		setenv("PATH", ((folder_ / "bin").string() + ":" + path_).c_str(), 1);
	}
	~FakeSystemctl() override
	{
		std::error_code ignored;

		setenv("PATH", path_.c_str(), 1);
		std::filesystem::remove_all(folder_, ignored);
	}

	[[nodiscard]] const std::filesystem::path &folder() const
	{
		return folder_;
	}
	void write(const std::string &name, const std::string &text) const
	{
		std::ofstream{folder_ / name} << text;
	}
	[[nodiscard]] std::string read(const std::string &name) const
	{
		std::ifstream file{folder_ / name};

		return {std::istreambuf_iterator<char>{file}, {}};
	}
	[[nodiscard]] bool exists(const std::string &name) const
	{
		return std::filesystem::exists(folder_ / name);
	}

private:
	std::filesystem::path folder_;
	std::string path_;
};

#endif /* FAKE_SYSTEMCTL_HPP */
