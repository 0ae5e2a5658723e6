/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The output of the krdma command: see output.hpp. */
#include "output.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <linux/neighbour.h>
#include <net/if.h>
#include <unistd.h>

namespace krdma::tools {
namespace {

std::string bytes_as(const std::vector<std::byte> &bytes, std::string_view between)
{
	std::string text;

	for (const std::byte byte : bytes) {
		if (!text.empty())
			text += between;
		text += fmt::format("{:02x}", std::to_integer<unsigned int>(byte));
	}
	return text;
}

Json address_or_null(const Address &address)
{
	return address.empty() ? Json() : Json(address.to_string());
}

std::string net_name(std::uint32_t code)
{
	switch (code) {
	case KRDMA_NET_LINK:
		return "link";
	case KRDMA_NET_ADDRESS:
		return "address";
	case KRDMA_NET_ROUTE:
		return "route";
	case KRDMA_NET_RNIC:
		return "rnic";
	default:
		return fmt::format("net-{}", code);
	}
}

void put(Json &json, const ConnectionInfo &info)
{
	json["connection"] = info.handle;
	json["local"] = address_or_null(info.local);
	json["remote"] = address_or_null(info.remote);
	json["ird"] = info.ird;
	json["ord"] = info.ord;
	json["private_data"] = hexadecimal(info.private_data);
}

void put(Json &json, const NetInfo &info, std::uint32_t code)
{
	json["what"] = net_name(code);
	json["gone"] = info.gone;
	if (info.ifindex) {
		json["ifindex"] = info.ifindex;
		if (code != KRDMA_NET_LINK)
			json["dev"] = interface_name(info.ifindex);
	}
	if (code == KRDMA_NET_LINK || code == KRDMA_NET_RNIC)
		json["name"] = info.name;
	if (code == KRDMA_NET_LINK) {
		json["up"] = info.up;
		json["mtu"] = info.mtu;
	}
	if (code == KRDMA_NET_ADDRESS || code == KRDMA_NET_ROUTE) {
		json["address"] = info.address.host();
		json["prefix_len"] = info.prefix_len;
	}
	if (info.rnic)
		json["rnic_index"] = info.rnic;
}

} /* namespace */

Style Style::of_stdout()
{
	const char *never = std::getenv("NO_COLOR");
	const char *terminal = std::getenv("TERM");

	return Style{isatty(STDOUT_FILENO) == 1 && !(never && *never) && terminal && *terminal &&
		     std::string_view{terminal} != "dumb"};
}

std::string Style::paint(const char *code, std::string_view text) const
{
	return colours_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string{text};
}

std::string Style::strong(std::string_view text) const
{
	return paint("1", text);
}

std::string Style::good(std::string_view text) const
{
	return paint("32", text);
}

std::string Style::bad(std::string_view text) const
{
	return paint("31", text);
}

void Table::add(std::vector<std::string> cells)
{
	rows_.push_back(std::move(cells));
}

std::string Table::text(const Style &style) const
{
	std::vector<std::size_t> widths;
	std::string text;

	for (const auto &row : rows_) {
		widths.resize(std::max(widths.size(), row.size()));
		for (std::size_t i = 0; i < row.size(); i++)
			widths[i] = std::max(widths[i], row[i].size());
	}
	for (const auto &row : rows_) {
		std::string line;

		for (std::size_t i = 0; i < row.size(); i++) {
			const bool last = i + 1 == row.size();

			line += last ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
		}
		text += (&row == &rows_.front() ? style.strong(line) : line) + '\n';
	}
	return text;
}

namespace {

/* the names of the bits that are set; a bit without a name as a number */
template <std::size_t N>
Json flag_names(std::uint64_t value,
		const std::array<std::pair<std::uint64_t, const char *>, N> &names)
{
	Json json = Json::array();

	for (const auto &[bit, name] : names) {
		if (value & bit)
			json.push_back(name);
		value &= ~bit;
	}
	if (value)
		json.push_back(fmt::format("{:#x}", value));
	return json;
}

constexpr std::array<std::pair<std::uint64_t, const char *>, 9> cap_names = {{
	{KRDMA_CAP_LLP_OFFLOAD, "llp_offload"},
	{KRDMA_CAP_SRQ, "srq"},
	{KRDMA_CAP_ALLOW_DELETE, "link_delete"},
	{KRDMA_CAP_MARKERS, "markers"},
	{KRDMA_CAP_DMABUF, "dmabuf"},
	{KRDMA_CAP_SG_GAPS, "sg_gaps"},
	{KRDMA_CAP_OWN_PINS, "own_pins"},
	{KRDMA_CAP_FIXED_CQ, "fixed_cq"},
	{KRDMA_CAP_IMMEDIATE, "immediate"},
}};

/* the flags of libibverbs, as <infiniband/verbs.h> numbers them */
constexpr std::array<std::pair<std::uint64_t, const char *>, 20> device_flag_names = {{
	{1U << 0, "resize_max_wr"},
	{1U << 1, "bad_pkey_counter"},
	{1U << 2, "bad_qkey_counter"},
	{1U << 3, "raw_multi"},
	{1U << 4, "auto_path_migration"},
	{1U << 5, "change_phy_port"},
	{1U << 6, "ud_av_port_enforce"},
	{1U << 7, "current_qp_state_modify"},
	{1U << 8, "shutdown_port"},
	{1U << 10, "port_active_event"},
	{1U << 11, "system_image_guid"},
	{1U << 12, "rc_rnr_nak_generation"},
	{1U << 13, "srq_resize"},
	{1U << 17, "memory_window"},
	{1U << 18, "ud_ip_checksum"},
	{1U << 20, "xrc"},
	{1U << 21, "memory_management_extensions"},
	{1U << 23, "memory_window_type_2a"},
	{1U << 24, "memory_window_type_2b"},
	{1U << 29, "managed_flow_steering"},
}};

} /* namespace */

Json to_json(const Attributes &attributes)
{
	const krdma_rnic_query &raw = attributes.raw;

	return {
		{"index", attributes.index},
		{"name", attributes.name},
		{"netdev", attributes.netdev},
		{"ifindex", attributes.ifindex},
		{"up", attributes.up},
		{"mtu", raw.mtu},
		{"mac", attributes.mac()},
		{"transport", attributes.transport()},
		{"provider", attributes.provider},
		{"user_library", attributes.user_library},
		{"user_library_abi", raw.uvp_abi},
		{"vendor_id", raw.vendor_id},
		{"vendor_part_id", raw.vendor_part_id},
		{"hw_version", raw.hw_version},
		{"fw_version", attributes.firmware()},
		{"node_guid", fmt::format("{:016x}", std::uint64_t{raw.node_guid})},
		{"caps", flag_names(raw.caps, cap_names)},
		{"device_flags", flag_names(raw.device_cap_flags, device_flag_names)},
		{"completion_event_handlers", raw.num_ceh},
		{"counters", raw.num_counters},
		{"clock_khz", raw.clock_khz},
		{"timestamp_mask", fmt::format("{:016x}", std::uint64_t{raw.timestamp_mask})},
		{"limits",
		 {{"mr_size", std::uint64_t{raw.max_mr_size}},
		  {"qp", raw.max_qp},
		  {"qp_wr", raw.max_qp_wr},
		  {"send_sge", raw.max_send_sge},
		  {"recv_sge", raw.max_recv_sge},
		  {"sge_rd", raw.max_sge_rd},
		  {"inline", raw.max_inline},
		  {"cq", raw.max_cq},
		  {"cqe", raw.max_cqe},
		  {"mr", raw.max_mr},
		  {"mw", raw.max_mw},
		  {"pd", raw.max_pd},
		  {"srq", raw.max_srq},
		  {"srq_wr", raw.max_srq_wr},
		  {"srq_sge", raw.max_srq_sge},
		  {"ird", raw.max_ird},
		  {"ord", raw.max_ord}}},
		{"objects",
		 {{"contexts", raw.objects[0]},
		  {"pd", raw.objects[1]},
		  {"cq", raw.objects[2]},
		  {"srq", raw.objects[3]},
		  {"qp", raw.objects[4]},
		  {"mr", raw.objects[5]},
		  {"mw", raw.objects[6]}}},
	};
}

namespace {

constexpr std::array port_states{"none",  "down",   "initializing",
				 "armed", "active", "active, deferred"};

} /* namespace */

Json to_json(const krdma_rnic_port &port)
{
	std::string gid;

	for (std::size_t i = 0; i < sizeof(port.gid); i++)
		gid += fmt::format("{}{:02x}", i && i % 2 == 0 ? ":" : "", port.gid[i]);
	return {
		{"state", port.state < port_states.size() ? std::string{port_states[port.state]}
							  : std::to_string(port.state)},
		{"netdev", std::string{port.netdev, strnlen(port.netdev, sizeof(port.netdev))}},
		{"ifindex", port.ifindex},
		{"path_mtu", port.path_mtu},
		{"lid", port.lid},
		{"gid", gid},
	};
}

Json to_json(const std::vector<Counter> &counters)
{
	Json json = Json::object();

	for (const Counter &counter : counters)
		json[counter.name] = counter.value;
	return json;
}

Json to_json(const LocalAddress &address)
{
	return {{"address", address.address.host()},
		{"ifindex", address.ifindex},
		{"dev", interface_name(address.ifindex)},
		{"rnic_index", address.rnic}};
}

Json to_json(const Route &route)
{
	return {{"source", route.source.host()},
		{"next_hop", route.next_hop.host()},
		{"gateway", route.gateway},
		{"local", route.local},
		{"ifindex", route.ifindex},
		{"dev", interface_name(route.ifindex)},
		{"mtu", route.mtu},
		{"rnic_index", route.rnic}};
}

Json to_json(const NeighbourInfo &neighbour)
{
	return {{"address", neighbour.address.host()},
		{"ifindex", neighbour.ifindex},
		{"dev", interface_name(neighbour.ifindex)},
		{"state", neighbour_state(neighbour.state)},
		{"link_address", link_address(neighbour.link_address)}};
}

Json to_json(const Event &event)
{
	Json json = {{"event", event_name(event.type)},
		     {"time_ns", event.time.count()},
		     {"status", event.status}};

	if (event.handle)
		json["handle"] = event.handle;
	if (event.type == KRDMA_EVENT_ASYNC)
		json["what"] = async_name(event.code);
	if (event.type == KRDMA_EVENT_OVERFLOW)
		json["lost"] = event.code;
	if (const ConnectionInfo *info = event.connection())
		put(json, *info);
	if (const NetInfo *info = event.net())
		put(json, *info, event.code);
	if (const NeighbourInfo *info = event.neighbour())
		json.update(to_json(*info));
	return json;
}

std::string link_address(const std::vector<std::byte> &bytes)
{
	return bytes_as(bytes, ":");
}

std::string hexadecimal(const std::vector<std::byte> &bytes)
{
	return bytes_as(bytes, "");
}

std::string neighbour_state(std::uint32_t state)
{
	static constexpr std::array<std::pair<std::uint32_t, const char *>, 8> names = {{
		{NUD_INCOMPLETE, "incomplete"},
		{NUD_REACHABLE, "reachable"},
		{NUD_STALE, "stale"},
		{NUD_DELAY, "delay"},
		{NUD_PROBE, "probe"},
		{NUD_FAILED, "failed"},
		{NUD_NOARP, "noarp"},
		{NUD_PERMANENT, "permanent"},
	}};

	if (!state)
		return "none";
	for (const auto &[bit, name] : names) {
		if (state == bit)
			return name;
	}
	return fmt::format("state-{:#x}", state);
}

std::string interface_name(std::uint32_t ifindex)
{
	std::array<char, IF_NAMESIZE> name;

	if (!ifindex)
		return "";
	return if_indextoname(ifindex, name.data()) ? name.data() : fmt::format("if{}", ifindex);
}

std::string scaled(double value)
{
	static constexpr std::array<const char *, 6> units = {"", "k", "M", "G", "T", "P"};
	std::size_t unit = 0;

	while (std::abs(value) >= 999.5 && unit + 1 < units.size()) {
		value /= 1000;
		unit++;
	}
	if (unit == 0)
		return fmt::format("{:.0f}", value);
	return fmt::format("{:.{}f}{}", value,
			   value < 9.995   ? 2
			   : value < 99.95 ? 1
					   : 0,
			   units[unit]);
}

std::string event_line(const Event &event)
{
	const Json json = to_json(event);
	std::string line = fmt::format("{:.6f} {}", static_cast<double>(event.time.count()) / 1e9,
				       event_name(event.type));

	for (const auto &[key, value] : json.items()) {
		if (key == "event" || key == "time_ns" || (key == "status" && !event.status))
			continue;
		line += fmt::format(" {} {}", key,
				    value.is_string() ? value.get<std::string>() : value.dump());
	}
	return line;
}

Json Statistics::summary() const
{
	if (samples_.empty())
		return Json::object();

	std::vector<double> sorted = samples_;
	std::sort(sorted.begin(), sorted.end());
	double sum = 0;
	double squares = 0;
	for (const double sample : sorted) {
		sum += sample;
		squares += sample * sample;
	}
	const auto n = static_cast<double>(sorted.size());
	const double average = sum / n;
	const double deviation = std::sqrt(std::max(0.0, squares / n - average * average));
	/* the smallest sample such that this part of all samples is not above it */
	const auto percentile = [&](double part) {
		const auto rank = static_cast<std::size_t>(std::ceil(part * n));

		return sorted[std::min(std::max<std::size_t>(rank, 1), sorted.size()) - 1];
	};
	const auto microseconds = [](double value) { return std::round(value) / 1000; };

	return {{"min_us", microseconds(sorted.front())},
		{"avg_us", microseconds(average)},
		{"max_us", microseconds(sorted.back())},
		{"mdev_us", microseconds(deviation)},
		{"p50_us", microseconds(percentile(0.5))},
		{"p90_us", microseconds(percentile(0.9))},
		{"p99_us", microseconds(percentile(0.99))},
		{"p99_9_us", microseconds(percentile(0.999))}};
}

} /* namespace krdma::tools */
