/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The krdma command: shows RNICs, services of the network stack and events of /dev/krdma. */
#include <cstdio>
#include <iostream>
#include <system_error>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "command.hpp"

namespace krdma::tools {

namespace {

/* CLI11 says of a wrong subcommand only that there is none. */
bool knows_subcommand(const CLI::App &app, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];

		if (word.starts_with('-'))
			continue;
		for (const CLI::App *command : app.get_subcommands({})) {
			if (command->get_name() == word)
				return true;
		}
		fmt::print(stderr,
			   "krdma: no subcommand '{}'; krdma --help lists the subcommands\n", word);
		return false;
	}
	return true;
}

constexpr int exit_error = 1;
constexpr int exit_usage = 2;

int run(int argc, char **argv)
{
	Environment environment;
	CLI::App app{"RNICs, network stack and events of krdma", "krdma"};

	app.require_subcommand(1);
	app.fallthrough();
	/* subcommands use it, too */
	app.footer("Exit codes: 0: done, 1: something failed, 2: wrong usage. See man krdma.");
	app.add_flag("-j,--json", environment.json, json_help);
	app.set_version_flag("-V,--version", "krdma " KRDMA_VERSION);
	add_device_commands(app, environment);
	add_net_commands(app, environment);
	add_live_commands(app, environment);
	add_ping_command(app, environment);
	add_offload_commands(app, environment);
	if (!knows_subcommand(app, argc, argv))
		return exit_usage;
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &error) {
		const bool wrong = app.exit(error) != 0;

		/* help and the version also go to standard output */
		if (!std::cout.flush())
			throw std::system_error{errno, std::generic_category(), "output"};
		return wrong ? exit_usage : 0;
	}
	environment.style = Style::of_stdout();
	environment.chosen();
	return 0;
}

/* the RNICs that exist, for a user that named another */
std::string rnics_hint()
try {
	const Session session;
	std::string text;

	for (const Device &device : session.devices())
		text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", device.name(),
				    interface_name(device.ifindex()));
	return text.empty() ? " (there is no RNIC; krdma link add makes one)"
			    : " (RNICs: " + text + ")";
} catch (const std::system_error &) {
	return "";
}

std::string locked_memory_hint()
{
	rlimit limit{};

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return "";
	return fmt::format(" (locked memory: ulimit -l is {} KiB)", limit.rlim_cur / 1024);
}

/* why /dev/krdma cannot be opened */
std::string device_file_hint(int error)
{
	if (error == EACCES)
		return " (udev gives it a mode and a group: 60-krdma.rules)";
	if (::access("/sys/module/krdma", F_OK) == 0)
		return " (krdma is loaded: udev or the container's configuration lacks the file)";
	return " (krdma is not loaded: modprobe krdma_soft)";
}

/* the cause that an errno often has here, and what to look at */
std::string hint(const std::system_error &error)
{
	const int number = error.code().value();
	const std::string_view text{error.what()};

	if (text.starts_with(KRDMA_DEVICE) &&
	    (number == ENOENT || number == EACCES || number == ENXIO))
		return device_file_hint(number);
	switch (number) {
	case EPERM:
	case EACCES:
		/* some texts name the right already */
		return geteuid() == 0 || text.find("CAP_") != std::string_view::npos
			       ? ""
			       : " (sudo krdma ...; man krdma says which right a command needs)";
	case ENODEV:
		/* the library looks for RNICs; other devices have a hint of their own */
		return dynamic_cast<const krdma::Error *>(&error) ? rnics_hint() : "";
	case ENOMEM:
		return locked_memory_hint();
	case ENOSPC:
		/* a full disk is no limit of krdma */
		return text.starts_with("output")
			       ? ""
			       : " (a limit of krdma: /sys/module/krdma/parameters, krdma "
				 "resource)";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return " (ip route get shows the way that the host would take)";
	default:
		return "";
	}
}

} /* namespace */
} /* namespace krdma::tools */

int main(int argc, char **argv)
{
	try {
		return krdma::tools::run(argc, argv);
	} catch (const krdma::Error &error) {
		/* an error whose cause is known names it */
		fmt::print(stderr, "krdma: {}{}\n", error.what(),
			   error.reason().empty() ? krdma::tools::hint(error) : "");
	} catch (const krdma::tools::Failure &failure) {
		fmt::print(stderr, "krdma: {}{}\n", failure.what(),
			   failure.hint().empty() ? "" : " (" + failure.hint() + ")");
	} catch (const std::system_error &error) {
		fmt::print(stderr, "krdma: {}{}\n", error.what(), krdma::tools::hint(error));
	} catch (const std::exception &error) {
		fmt::print(stderr, "krdma: {}\n", error.what());
	}
	return krdma::tools::exit_error;
}
