/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What --persist does: see persistence.hpp. */
#include "persistence.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.hpp"

namespace krdma::tools {
namespace {

/** class Actions - what a child does with its descriptors */
class Actions {
public:
	Actions()
	{
		posix_spawn_file_actions_init(&actions_);
	}
	Actions(const Actions &) = delete;
	Actions &operator=(const Actions &) = delete;
	~Actions()
	{
		posix_spawn_file_actions_destroy(&actions_);
	}
	posix_spawn_file_actions_t *get()
	{
		return &actions_;
	}

private:
	posix_spawn_file_actions_t actions_{};
};

/* Return: the child */
pid_t start_systemctl(std::vector<std::string> words, Actions &actions)
{
	std::vector<char *> arguments;
	pid_t child = 0;

	words.insert(words.begin(), "systemctl");
	arguments.reserve(words.size() + 1);
	for (std::string &word : words)
		arguments.push_back(word.data());
	arguments.push_back(nullptr);
	if (const int error = posix_spawnp(&child, "systemctl", actions.get(), nullptr,
					   arguments.data(), environ))
		fail(error, "systemctl, which --persist and --service need");
	return child;
}

bool succeeds(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			fail(errno, "systemctl");
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[noreturn]] void systemctl_failed(const std::vector<std::string> &words)
{
	throw std::runtime_error{
		fmt::format("systemctl {} {} failed", words.front(), words.back())};
}

/* all that comes from a descriptor, which is closed then */
std::string read_all(int fd)
{
	std::array<char, 4096> buffer{};
	std::string text;

	for (;;) {
		const ssize_t size = read(fd, buffer.data(), buffer.size());

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			break;
		text.append(buffer.data(), static_cast<std::size_t>(size));
	}
	close(fd);
	return text;
}

} /* namespace */

bool systemctl_succeeds(std::vector<std::string> words)
{
	Actions actions;

	return succeeds(start_systemctl(std::move(words), actions));
}

void systemctl(const std::vector<std::string> &words)
{
	if (!systemctl_succeeds(words))
		systemctl_failed(words);
}

std::string systemctl_output(const std::vector<std::string> &words)
{
	std::array<int, 2> ends{};
	Actions actions;
	pid_t child = 0;

	if (pipe2(ends.data(), O_CLOEXEC))
		fail(errno, "pipe");
	posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDOUT_FILENO);
	try {
		child = start_systemctl(words, actions);
	} catch (...) {
		close(ends[0]);
		close(ends[1]);
		throw;
	}
	close(ends[1]);
	std::string text = read_all(ends[0]);

	if (!succeeds(child))
		systemctl_failed(words);
	return text;
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

std::optional<std::string> Persistence::settings() const
{
	std::ifstream file{settings_};
	std::string first;

	if (!file)
		return std::nullopt;
	std::getline(file, first);
	return std::string{std::istreambuf_iterator<char>{file}, {}};
}

/* The file is whole, or as it was before. */
void Persistence::write(const std::string &text) const
{
	const std::filesystem::path fresh = settings_.string() + ".new";
	std::error_code error;

	std::filesystem::create_directories(settings_.parent_path(), error);
	if (error)
		fail(error.value(), settings_.parent_path().string());
	errno = 0;
	std::ofstream file{fresh};

	file << "# for " << unit_ << '\n' << text;
	file.close();
	if (!file) {
		const int number = errno ? errno : EIO;

		std::filesystem::remove(fresh, error);
		fail(number, fresh.string());
	}
	std::filesystem::rename(fresh, settings_, error);
	if (error)
		fail(error.value(), settings_.string());
}

void Persistence::remove_settings() const
{
	std::filesystem::path folder = settings_.parent_path();
	std::error_code ignored;

	std::filesystem::remove(settings_, ignored);
	/* folders that are empty then, krdma's own only: /etc/krdma/adopt and /etc/krdma */
	if (folder.filename() != "krdma") {
		std::filesystem::remove(folder, ignored);
		folder = folder.parent_path();
	}
	if (folder.filename() == "krdma")
		std::filesystem::remove(folder, ignored);
}

void Persistence::set(const std::optional<std::string> &settings) const
{
	if (settings)
		write(*settings);
	else
		remove_settings();
}

void Persistence::enable(const std::string &settings, const std::string &action) const
{
	const std::optional<std::string> old = this->settings();
	const bool before = enabled();

	try {
		set(settings.empty() ? std::nullopt : std::optional{settings});
		systemctl({"enable", "--quiet", unit_});
		if (action.empty() || systemctl_succeeds({action, unit_}))
			return;
		throw std::runtime_error{fmt::format("{} does not start{} (journalctl -u '{}')",
						     unit_, before ? "" : " and is not enabled",
						     unit_)};
	} catch (...) {
		if (!before)
			(void)systemctl_succeeds({"disable", "--quiet", unit_});
		try {
			set(old);
		} catch (const std::system_error &) {
			/* the first failure is the one that counts */
		}
		throw;
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
