/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What --persist does: systemd repeats a command at each boot. */
#ifndef KRDMA_PERSISTENCE_HPP
#define KRDMA_PERSISTENCE_HPP

#include <filesystem>
#include <string>
#include <vector>

namespace krdma::tools {

/* Does systemd run the host? It does not in a tree that is being made. */
[[nodiscard]] bool systemd_runs();

/* Run systemctl, whose own messages the user sees. Return: whether it succeeded. */
[[nodiscard]] bool systemctl_succeeds(std::vector<std::string> words);

/* The same; throws if it fails. */
void systemctl(const std::vector<std::string> &words);

/**
 * class Persistence - a unit, and a file with its settings
 *
 * All functions throw what failed. systemctl's own messages go to standard error.
 */
class Persistence {
public:
	Persistence(std::string unit, std::filesystem::path settings);

	[[nodiscard]] bool enabled() const;
	/*
	 * Write the settings (none: no file), enable the unit, and have systemctl do @action with
	 * it: "start", "restart" or nothing. A unit that does not start is left as it was before.
	 */
	void enable(const std::string &settings, const std::string &action) const;
	/* Disable the unit, stop it, and remove the settings. */
	void disable() const;

private:
	void write_settings(const std::string &settings) const;
	void remove_settings() const;

	std::string unit_;
	std::filesystem::path settings_;
};

} /* namespace krdma::tools */

#endif /* KRDMA_PERSISTENCE_HPP */
