/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What --persist does: see persistence.hpp. */
#include "persistence.hpp"

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.hpp"

namespace krdma::tools {

bool systemctl_succeeds(std::vector<std::string> words)
{
	std::vector<char *> arguments;
	pid_t child = 0;
	int status = 0;

	words.insert(words.begin(), "systemctl");
	arguments.reserve(words.size() + 1);
	for (std::string &word : words)
		arguments.push_back(word.data());
	arguments.push_back(nullptr);
	if (const int error =
		    posix_spawnp(&child, "systemctl", nullptr, nullptr, arguments.data(), environ))
		fail(error, "systemctl, which --persist needs");
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			fail(errno, "systemctl");
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void systemctl(const std::vector<std::string> &words)
{
	if (!systemctl_succeeds(words))
		throw std::runtime_error{
			fmt::format("systemctl {} {} failed", words.front(), words.back())};
}

bool systemd_runs()
{
	return std::filesystem::exists("/run/systemd/system");
}

Persistence::Persistence(std::string unit, std::filesystem::path settings)
	: unit_{std::move(unit)}, settings_{std::move(settings)}
{}

bool Persistence::enabled() const
{
	return systemctl_succeeds({"is-enabled", "--quiet", unit_});
}

void Persistence::write_settings(const std::string &settings) const
{
	std::error_code error;

	std::filesystem::create_directories(settings_.parent_path(), error);
	if (error)
		fail(error.value(), settings_.parent_path().string());
	std::ofstream file{settings_};
	file << "# for " << unit_ << '\n' << settings;
	if (!file.flush())
		fail(errno ? errno : EIO, settings_.string());
}

void Persistence::remove_settings() const
{
	std::error_code ignored;

	std::filesystem::remove(settings_, ignored);
	/* folders that are empty then, krdma's own only */
	for (std::filesystem::path folder = settings_.parent_path(); folder != "/etc";
	     folder = folder.parent_path()) {
		if (!std::filesystem::remove(folder, ignored))
			break;
	}
}

void Persistence::enable(const std::string &settings, const std::string &action) const
{
	const bool before = enabled();

	if (settings.empty())
		remove_settings();
	else
		write_settings(settings);
	try {
		systemctl({"enable", "--quiet", unit_});
		if (!action.empty())
			systemctl({action, unit_});
	} catch (const std::runtime_error &) {
		if (!before) {
			(void)systemctl_succeeds({"disable", "--quiet", unit_});
			remove_settings();
		}
		throw std::runtime_error{fmt::format("{} does not start{} (journalctl -u '{}')",
						     unit_, before ? "" : " and is not enabled",
						     unit_)};
	}
}

void Persistence::disable() const
{
	systemctl({"disable", "--quiet", unit_});
	if (systemd_runs())
		systemctl({"stop", unit_});
	remove_settings();
}

} /* namespace krdma::tools */
