/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The parts of the krdma command. Each part adds its subcommands to the command line. */
#ifndef KRDMA_COMMAND_HPP
#define KRDMA_COMMAND_HPP

#include <chrono>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "output.hpp"

namespace krdma::tools {

/** what all subcommands share */
struct Environment {
	bool json{};
	Style style{false};
	/* what the chosen subcommand does; it is called once all is parsed */
	std::function<void()> chosen;
};

/** SIGINT and SIGTERM as something to wait for; they do not end the program any more */
class Interrupt {
public:
	Interrupt();
	Interrupt(const Interrupt &) = delete;
	Interrupt &operator=(const Interrupt &) = delete;
	~Interrupt();

	/* until @fd is readable, the time is over or one of them came: true for the last */
	[[nodiscard]] bool wait(int fd, std::chrono::milliseconds timeout);

private:
	int fd_;
};

/* writes it at once, and tells if that fails */
void print(std::string_view text);
void print_line(const Json &json);

/* index of a network device; throws if there is none */
[[nodiscard]] std::uint32_t interface_index(const std::string &name);

/**
 * A subcommand. @arguments stand in its usage line as they are typed: what CLI11 calls one
 * list of words has several meanings here.
 */
CLI::App *add_command(CLI::App &app, Environment &environment, const std::string &name,
		      const std::string &arguments, const std::string &description);

void add_device_commands(CLI::App &app, Environment &environment);
void add_net_commands(CLI::App &app, Environment &environment);
void add_live_commands(CLI::App &app, Environment &environment);
void add_ping_command(CLI::App &app, Environment &environment);

} /* namespace krdma::tools */

#endif /* KRDMA_COMMAND_HPP */
