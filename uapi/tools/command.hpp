/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The parts of the krdma command. Each part adds its subcommands to the command line. */
#ifndef KRDMA_COMMAND_HPP
#define KRDMA_COMMAND_HPP

#include <chrono>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "output.hpp"

namespace krdma::tools {

/** options that all subcommands share */
struct Environment {
	bool json{};
	Style style{false};
	/* runs the chosen subcommand; called after parsing */
	std::function<void()> chosen;
};

/** class Descriptor - closes a file descriptor */
class Descriptor {
public:
	explicit Descriptor(int fd) noexcept : fd_{fd}
	{}
	Descriptor(Descriptor &&other) noexcept : fd_{std::exchange(other.fd_, -1)}
	{}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
	Descriptor &operator=(Descriptor &&) = delete;
	~Descriptor();
	[[nodiscard]] int get() const noexcept
	{
		return fd_;
	}

private:
	int fd_;
};

/** class Interrupt - waits for SIGINT and SIGTERM, which do not end the program any more */
class Interrupt {
public:
	Interrupt();
	Interrupt(const Interrupt &) = delete;
	Interrupt &operator=(const Interrupt &) = delete;
	~Interrupt();

	/*
	 * Wait until @fd is readable, the time is over or a signal came. Return: true for a
	 * signal.
	 */
	[[nodiscard]] bool wait(int fd, std::chrono::milliseconds timeout);

private:
	int fd_;
};

/* of the option that all subcommands have */
inline constexpr const char *json_help = "JSON; live commands write one object a line";

/* Write a text at once. A failure is reported. */
void print(std::string_view text);
void print_line(const Json &json);

/** class Failure - an error with a hint of its own, in place of that of its errno */
class Failure : public std::system_error {
public:
	Failure(int error, const std::string &what, std::string hint)
		: std::system_error{error, std::generic_category(), what}, hint_{std::move(hint)}
	{}
	Failure(const std::system_error &error, std::string hint)
		: std::system_error{error}, hint_{std::move(hint)}
	{}

	/* empty: none */
	[[nodiscard]] const std::string &hint() const
	{
		return hint_;
	}

private:
	std::string hint_;
};

/* Throw std::system_error. */
[[noreturn]] void fail(int error, const std::string &what);

/* Get the index of a network device. Throws if there is none. */
[[nodiscard]] std::uint32_t interface_index(const std::string &name);

/**
 * Add a subcommand. @arguments is the text of its arguments in the usage line. CLI11 has one
 * list of words for them, but the words have several meanings here.
 */
CLI::App *add_command(CLI::App &app, Environment &environment, const std::string &name,
		      const std::string &arguments, const std::string &description);

void add_device_commands(CLI::App &app, Environment &environment);
/* part of the device commands */
void add_adopt_command(CLI::App &app, Environment &environment);
/* part of the device commands */
void add_link_command(CLI::App &app, Environment &environment);
void add_net_commands(CLI::App &app, Environment &environment);
void add_live_commands(CLI::App &app, Environment &environment);
void add_ping_command(CLI::App &app, Environment &environment);
void add_offload_commands(CLI::App &app, Environment &environment);

} /* namespace krdma::tools */

#endif /* KRDMA_COMMAND_HPP */
