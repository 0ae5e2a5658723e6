/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The output of the krdma command. Values are printed as JSON, or as text that is made from
 * the same JSON values. So both formats have the same contents.
 */
#ifndef KRDMA_OUTPUT_HPP
#define KRDMA_OUTPUT_HPP

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <krdma/krdma.hpp>

namespace krdma::tools {

/* JSON whose keys keep their order */
using Json = nlohmann::ordered_json;

/** colours of the terminal, or none */
class Style {
public:
	explicit Style(bool colours) noexcept : colours_{colours}
	{}
	/* use colours on a terminal, unless NO_COLOR is set */
	[[nodiscard]] static Style of_stdout();

	[[nodiscard]] bool colours() const noexcept
	{
		return colours_;
	}
	[[nodiscard]] std::string strong(std::string_view text) const;
	[[nodiscard]] std::string good(std::string_view text) const;
	[[nodiscard]] std::string bad(std::string_view text) const;

private:
	[[nodiscard]] std::string paint(const char *code, std::string_view text) const;

	bool colours_;
};

/** lines of cells with aligned columns; the last column is not padded */
class Table {
public:
	explicit Table(std::vector<std::string> heads)
	{
		add(std::move(heads));
	}
	void add(std::vector<std::string> cells);
	[[nodiscard]] std::string text(const Style &style) const;

private:
	std::vector<std::vector<std::string>> rows_;
};

[[nodiscard]] Json to_json(const Attributes &attributes);
[[nodiscard]] Json to_json(const krdma_rnic_port &port);
[[nodiscard]] Json to_json(const std::vector<Counter> &counters);
[[nodiscard]] Json to_json(const LocalAddress &address);
[[nodiscard]] Json to_json(const Route &route);
[[nodiscard]] Json to_json(const NeighbourInfo &neighbour);
[[nodiscard]] Json to_json(const Event &event);

/* link addresses as "02:00:...", private data as hexadecimal digits */
[[nodiscard]] std::string link_address(const std::vector<std::byte> &bytes);
[[nodiscard]] std::string hexadecimal(const std::vector<std::byte> &bytes);
/* the name of a NUD_* state: "reachable", "stale" ... */
[[nodiscard]] std::string neighbour_state(std::uint32_t state);
/* the name of a network device: "eth0", or "if7" if the device is gone */
[[nodiscard]] std::string interface_name(std::uint32_t ifindex);
/* "12.3k", "4.56G"; unchanged below 1000 */
[[nodiscard]] std::string scaled(double value);

/** one line of text for an event */
[[nodiscard]] std::string event_line(const Event &event);

/** Round-trip times in nanoseconds, for ping. */
class Statistics {
public:
	void add(double nanoseconds)
	{
		samples_.push_back(nanoseconds);
	}
	[[nodiscard]] std::size_t count() const noexcept
	{
		return samples_.size();
	}
	/* min, avg, max, mdev, p50, p90, p99, p99_9 in microseconds; empty without samples */
	[[nodiscard]] Json summary() const;

private:
	std::vector<double> samples_;
};

} /* namespace krdma::tools */

#endif /* KRDMA_OUTPUT_HPP */
