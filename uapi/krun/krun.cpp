/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* krun: runs a program with libkrun.so preloaded, so that its TCP sockets are krdma_ops' ones. */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

/* as env and others do */
constexpr int exit_error = 125;
constexpr int exit_not_run = 126;
constexpr int exit_not_found = 127;

/* as krdma/offload.h has them */
constexpr int wildcard = 258;
constexpr int of_switch = 19;
constexpr int sdp = 257;

/* beside the command, where it was built; else where it is installed */
fs::path library()
{
	std::error_code error;
	const fs::path self = fs::read_symlink("/proc/self/exe", error);
	const fs::path beside = self.parent_path() / "libkrun.so";

	return !error && fs::exists(beside) ? beside : fs::path{KRUN_LIBRARY};
}

/* What is preloaded already stays, behind: it gets what libkrun.so asks for. */
void preload(const std::string &path)
{
	const char *others = std::getenv("LD_PRELOAD");
	const std::string all = others && *others ? path + ":" + others : path;

	setenv("LD_PRELOAD", all.c_str(), 1);
}

struct Options {
	int protocol{};
	int family{};
	bool quiet{};
	std::vector<std::string> program;
};

class Help final : public CLI::Formatter {
public:
	[[nodiscard]] std::string make_usage(const CLI::App * /*app*/,
					     std::string /*name*/) const override
	{
		return "Usage: krun [OPTIONS] PROGRAM [ARGUMENTS]\n";
	}
};

/* Everything from the program's name on is the program's. */
int parse(int argc, char **argv, Options &options)
{
	CLI::App app{"Run a program whose TCP sockets may use offload protocols", "krun"};

	app.prefix_command();
	app.formatter(std::make_shared<Help>());
	app.footer("KRUN=off in the environment of a program that krun started: its sockets, and "
		   "those of its children, are TCP's. Programs with the setuid bit and static ones "
		   "are not changed. See man krun.");
	app.add_option("-p,--protocol", options.protocol,
		       "number of one protocol, without TCP (257: SDP); default: all")
		->check(CLI::Range(1, 262));
	app.add_option("-f,--family", options.family,
		       "ask for this address family (19) in place of AF_INET")
		->check(CLI::Range(1, 45));
	app.add_flag("-q,--quiet", options.quiet, "no warning if the sockets will be TCP's");
	app.set_version_flag("-V,--version", "krun " KRDMA_VERSION);
	try {
		app.parse(argc, argv);
		options.program = app.remaining();
		if (!options.program.empty() && options.program.front() == "--")
			options.program.erase(options.program.begin());
		if (options.program.empty())
			throw CLI::RequiredError("PROGRAM");
	} catch (const CLI::ParseError &error) {
		return app.exit(error) != 0 ? exit_error : -1;
	}
	return 0;
}

/* the kernel's answer to what libkrun.so will ask for, or 0 */
int socket_error(int family, int protocol)
{
	const int fd = socket(family, SOCK_STREAM, protocol);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/*
 * socket() does not load krdma_ops: any user could have it loaded. libkrun.so makes sockets of TCP
 * in its place, so the user is warned here.
 */
void warn_without_module(const Options &options)
{
	const int family = options.family ? options.family : options.protocol ? of_switch : AF_INET;
	const int protocol = options.protocol ? options.protocol : options.family ? 0 : wildcard;
	const int error = socket_error(family, protocol);

	if (!error)
		return;
	/* without the switch there is no family of it either */
	const bool no_switch = socket_error(AF_INET, wildcard) != 0;
	fmt::print(stderr,
		   "krun: {} is not there ({}): the program's sockets are TCP's. Next, as root: "
		   "modprobe {}\n",
		   no_switch          ? "krdma_ops"
		   : options.protocol ? fmt::format("protocol {}", options.protocol)
				      : fmt::format("family {}", options.family),
		   std::generic_category().message(error),
		   options.protocol == sdp ? "krdma_sdp"
		   : no_switch             ? "krdma_ops"
					   : "the protocol's module");
}

int run(const Options &options)
{
	std::vector<char *> arguments;

	if (!options.quiet)
		warn_without_module(options);
	preload(library());
	/* a variable that is already there would be the program's */
	unsetenv("KRUN");
	if (options.protocol)
		setenv("KRUN_PROTOCOL", std::to_string(options.protocol).c_str(), 1);
	if (options.family)
		setenv("KRUN_FAMILY", std::to_string(options.family).c_str(), 1);
	for (const std::string &argument : options.program)
		arguments.push_back(const_cast<char *>(argument.c_str()));
	arguments.push_back(nullptr);
	execvp(arguments.front(), arguments.data());
	const int error = errno;
	fmt::print(stderr, "krun: {}: {}\n", options.program.front(),
		   std::generic_category().message(error));
	return error == ENOENT ? exit_not_found : exit_not_run;
}

} /* namespace */

int main(int argc, char **argv)
{
	try {
		Options options;
		const int status = parse(argc, argv, options);

		return status ? (status < 0 ? 0 : status) : run(options);
	} catch (const std::exception &error) {
		fmt::print(stderr, "krun: {}\n", error.what());
	}
	return exit_error;
}
