/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The state of RNICs as Prometheus reads it: see prometheus.hpp. */
#include "prometheus.hpp"

#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace krdma::tools {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

/* a label's value, without what would end it */
std::string escaped(const std::string &value)
{
	std::string text;

	for (const char c : value) {
		if (c == '\\' || c == '"')
			text += '\\';
		if (c == '\n')
			text += "\\n";
		else
			text += c;
	}
	return text;
}

/* a name of a metric has letters, digits and underscores */
std::string metric_name(const std::string &counter)
{
	std::string name = "krdma_";

	for (const char c : counter) {
		const bool plain =
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		name += plain ? c : '_';
	}
	return name;
}

/** the metrics in the order in which they came; the samples of one metric stand together */
class Metrics {
public:
	void add(const std::string &name, const char *type, const std::string &help,
		 const Labels &labels, std::uint64_t value)
	{
		const auto [place, added] = places_.emplace(name, texts_.size());

		if (added)
			texts_.push_back(
				fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type));
		std::string list;
		for (const auto &[label, content] : labels)
			list += fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", label,
					    escaped(content));
		texts_[place->second] += fmt::format("{}{{{}}} {}\n", name, list, value);
	}

	[[nodiscard]] std::string text() const
	{
		std::string all;

		for (const std::string &text : texts_)
			all += text;
		return all;
	}

private:
	std::map<std::string, std::size_t> places_;
	std::vector<std::string> texts_;
};

/* the order of krdma_rnic_query.objects, with the limit of each */
void add_objects(Metrics &metrics, const Attributes &attributes)
{
	static constexpr std::array kinds = {"context", "pd", "cq", "srq", "qp", "mr", "mw"};
	const krdma_rnic_query &raw = attributes.raw;
	const std::array<std::uint64_t, kinds.size()> limits = {
		0, raw.max_pd, raw.max_cq, raw.max_srq, raw.max_qp, raw.max_mr, raw.max_mw};

	for (std::size_t i = 0; i < kinds.size(); i++)
		metrics.add("krdma_rnic_objects", "gauge", "Objects in use, by kind.",
			    {{"rnic", attributes.name}, {"kind", kinds[i]}}, raw.objects[i]);
	for (std::size_t i = 1; i < kinds.size(); i++)
		metrics.add("krdma_rnic_objects_limit", "gauge", "Most objects, by kind.",
			    {{"rnic", attributes.name}, {"kind", kinds[i]}}, limits[i]);
}

} /* namespace */

std::string prometheus(const std::vector<RnicSample> &samples)
{
	Metrics metrics;

	for (const auto &[attributes, counters] : samples) {
		const Labels rnic = {{"rnic", attributes.name}};

		metrics.add("krdma_rnic_info", "gauge", "Names of an RNIC; the value is 1.",
			    {{"rnic", attributes.name},
			     {"netdev", attributes.netdev},
			     {"transport", std::string{attributes.transport()}},
			     {"provider", attributes.provider},
			     {"fw_version", attributes.firmware()}},
			    1);
		metrics.add("krdma_rnic_up", "gauge", "Is the port of the RNIC active?", rnic,
			    attributes.up ? 1 : 0);
		metrics.add("krdma_rnic_mtu_bytes", "gauge", "MTU of the network device.", rnic,
			    attributes.raw.mtu);
		add_objects(metrics, attributes);
		for (const Counter &counter : counters) {
			/* what some adapters keep among their counters is a setting */
			const bool gauge = counter.name == "lifespan";

			metrics.add(metric_name(counter.name) + (gauge ? "" : "_total"),
				    gauge ? "gauge" : "counter",
				    fmt::format("Counter {} of the RNIC.", counter.name), rnic,
				    counter.value);
		}
	}
	return metrics.text();
}

} /* namespace krdma::tools */
