/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What --persist does: systemd repeats a command at each boot. */
#ifndef KRDMA_PERSISTENCE_HPP
#define KRDMA_PERSISTENCE_HPP

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace krdma::tools {

/* Does systemd run the host? It does not in a tree that is being made. */
[[nodiscard]] bool systemd_runs();

/* Run systemctl, whose own messages the user sees. Return: whether it succeeded. */
[[nodiscard]] bool systemctl_succeeds(std::vector<std::string> words);

/* The same; throws if it fails. */
void systemctl(const std::vector<std::string> &words);

/* The same; returns what it prints. */
[[nodiscard]] std::string systemctl_output(const std::vector<std::string> &words);

/**
 * class Persistence - a unit, and a file with its settings
 *
 * All functions throw what failed. systemctl's own messages go to standard error.
 */
class Persistence {
public:
	Persistence(std::string unit, std::filesystem::path settings);

	[[nodiscard]] bool enabled() const;
	/* The settings without the first line, which names the unit; none: there is no file. */
	[[nodiscard]] std::optional<std::string> settings() const;
	/*
	 * Write the settings (none: no file), enable the unit, and have systemctl do @action with
	 * it: "start", "restart" or nothing. If any of that fails, the settings and whether the
	 * unit is enabled are as they were before.
	 */
	void enable(const std::string &settings, const std::string &action) const;
	/* Disable the unit, stop it, and remove the settings. */
	void disable() const;

private:
	void write(const std::string &text) const;
	void set(const std::optional<std::string> &settings) const;
	void remove_settings() const;

	std::string unit_;
	std::filesystem::path settings_;
};

} /* namespace krdma::tools */

#endif /* KRDMA_PERSISTENCE_HPP */
