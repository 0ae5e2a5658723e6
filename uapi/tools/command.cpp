/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the parts of the krdma command share: see command.hpp. */
#include "command.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include <net/if.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace krdma::tools {

Descriptor::~Descriptor()
{
	if (fd_ >= 0)
		close(fd_);
}

Interrupt::Interrupt()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	fd_ = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd_ < 0)
		throw std::system_error{errno, std::generic_category(), "signalfd"};
}

Interrupt::~Interrupt()
{
	close(fd_);
}

bool Interrupt::wait(int fd, std::chrono::milliseconds timeout)
{
	std::array<pollfd, 2> fds{{{fd_, POLLIN, 0}, {fd, POLLIN, 0}}};

	return poll(fds.data(), fds.size(), static_cast<int>(timeout.count())) > 0 &&
	       fds[0].revents;
}

void print(std::string_view text)
{
	if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
	    std::fflush(stdout) != 0)
		throw std::system_error{errno, std::generic_category(), "output"};
}

void print_line(const Json &json)
{
	print(json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
}

void fail(int error, const std::string &what)
{
	throw std::system_error{error, std::generic_category(), what};
}

std::uint32_t interface_index(const std::string &name)
{
	const std::uint32_t index = if_nametoindex(name.c_str());

	if (!index)
		throw Failure{errno, name, "ip link shows the network devices"};
	return index;
}

namespace {

/** Help of a subcommand, with its arguments as the user types them. */
class Help final : public CLI::Formatter {
public:
	explicit Help(std::string arguments) : arguments_{std::move(arguments)}
	{}

	[[nodiscard]] std::string make_usage(const CLI::App * /*app*/,
					     std::string name) const override
	{
		return "Usage: " + name + (arguments_.empty() ? "" : " " + arguments_) +
		       " [OPTIONS]\n";
	}

	/* the text of an option says its type already */
	[[nodiscard]] std::string make_option_opts(const CLI::Option *option) const override
	{
		return option->get_positional() || option->get_expected_min() == 0 ? "" : " N";
	}

private:
	std::string arguments_;
};

} /* namespace */

CLI::App *add_command(CLI::App &app, Environment &environment, const std::string &name,
		      const std::string &arguments, const std::string &description)
{
	CLI::App *command = app.add_subcommand(name, description);

	command->formatter(std::make_shared<Help>(arguments));
	command->add_flag("-j,--json", environment.json, json_help);
	return command;
}

} /* namespace krdma::tools */
