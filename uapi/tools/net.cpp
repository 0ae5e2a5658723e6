/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The subcommands route, neigh, addr and port: services of the network stack. */
#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"

namespace krdma::tools {
namespace {

using Words = std::vector<std::string>;

std::string joined(std::initializer_list<std::string_view> words)
{
	return fmt::format("{}", fmt::join(words, ", "));
}

/* parse "dev eth0 from 10.0.0.1": each word must be known and may come once */
std::unordered_map<std::string, std::string> pairs(const Words &words, std::size_t first,
						   std::initializer_list<std::string_view> known)
{
	std::unordered_map<std::string, std::string> found;

	for (std::size_t i = first; i < words.size(); i += 2) {
		if (std::find(known.begin(), known.end(), words[i]) == known.end())
			throw CLI::ValidationError(words[i],
						   "unknown word; known are: " + joined(known));
		if (i + 1 == words.size())
			throw CLI::ValidationError(words[i], "its value is missing");
		if (!found.emplace(words[i], words[i + 1]).second)
			throw CLI::ValidationError(words[i], "is given twice");
	}
	return found;
}

Address address_of(const std::string &text)
{
	const std::optional<Address> address = Address::try_parse(text);

	if (!address)
		throw CLI::ValidationError(text, "no IPv4 or IPv6 address");
	return *address;
}

/* "get" may stand before the address, as with ip */
std::size_t skip_get(const Words &words)
{
	return words.size() > 1 && words[0] == "get" ? 1 : 0;
}

/* the name of the RNIC with that index */
std::string rnic_name(const Session &session, std::uint32_t index)
{
	if (!index)
		return "-";
	for (const Device &device : session.devices()) {
		if (device.index() == index)
			return device.name();
	}
	return std::to_string(index);
}

void route(const Environment &environment, const Address &destination, const Address &source,
	   const std::string &oif)
{
	const Session session;
	const Route found =
		session.route(destination, source, oif.empty() ? 0 : interface_index(oif));
	Json json = {{"destination", destination.host()}};

	json.update(to_json(found));
	json["rnic"] = found.rnic ? Json(rnic_name(session, found.rnic)) : Json();
	if (environment.json) {
		print_line(json);
		return;
	}
	print(fmt::format("{} {} {} dev {} src {} mtu {} rnic {}\n",
			  environment.style.strong(destination.host()),
			  found.local     ? "local"
			  : found.gateway ? "via"
					  : "next hop",
			  found.next_hop.host(), interface_name(found.ifindex), found.source.host(),
			  found.mtu, rnic_name(session, found.rnic)));
}

void print_neighbour(const Environment &environment, const NeighbourInfo &info, int status)
{
	if (environment.json) {
		Json json = to_json(info);

		json["status"] = status;
		print_line(json);
		return;
	}
	const std::string link = link_address(info.link_address);
	print(fmt::format("{} dev {} lladdr {} {}\n", environment.style.strong(info.address.host()),
			  interface_name(info.ifindex), link.empty() ? "-" : link,
			  neighbour_state(info.state)));
}

/*
 * Print the known state. With resolve, ask the network and wait. With watch, print all changes.
 */
void neigh(const Environment &environment, const Address &address, const std::string &dev,
	   Neighbour::Follow follow)
{
	Interrupt interrupt;
	const Session session;
	const Neighbour neighbour = session.neighbour(address, interface_index(dev), follow);
	const bool watch = follow == Neighbour::Follow::watch;
	int status = 0;
	bool answered = false;

	if (!neighbour.follows() || watch || neighbour.resolved())
		print_neighbour(environment, neighbour.info(), 0);
	if (!neighbour.follows() || (!watch && neighbour.resolved()))
		return;
	neighbour.events().on_event([&](const Event &event) {
		if (const NeighbourInfo *info = event.neighbour()) {
			answered = true;
			status = event.status;
			if (watch || !event.status)
				print_neighbour(environment, *info, event.status);
		}
	});
	while (watch || !answered) {
		if (interrupt.wait(session.descriptor(), forever))
			return;
		session.dispatch();
	}
	if (status)
		throw std::system_error{status, std::generic_category(), address.host()};
}

void locals(const Environment &environment, const Address &destination)
{
	const Session session;
	Json all = Json::array();
	Table table{{"ADDRESS", "DEV", "RNIC"}};

	for (const LocalAddress &local : session.local_addresses(destination)) {
		all.push_back(to_json(local));
		table.add({local.address.host(), interface_name(local.ifindex),
			   rnic_name(session, local.rnic)});
	}
	if (environment.json)
		print_line({{"destination", destination.host()}, {"addresses", all}});
	else
		print(table.text(environment.style));
}

void port(const Environment &environment, const Address &address)
{
	Interrupt interrupt;
	const Session session;
	const PortReservation reservation = session.reserve_port(address);

	if (environment.json)
		print_line({{"address", reservation.address().host()},
			    {"port", reservation.address().port()}});
	else
		print(fmt::format("{}\n", reservation.address().port()));
	while (!interrupt.wait(-1, forever))
		;
}

std::uint16_t port_number(const std::string &text)
{
	std::size_t end = 0;
	unsigned long number = 65536;

	try {
		number = std::stoul(text, &end);
	} catch (const std::logic_error &) {
		end = 0;
	}
	if (end == 0 || end != text.size() || number > 65535)
		throw CLI::ValidationError(text, "no port number");
	return static_cast<std::uint16_t>(number);
}

} /* namespace */

void add_net_commands(CLI::App &app, Environment &environment)
{
	const auto words = std::make_shared<Words>();
	CLI::App *command = add_command(app, environment, "route", "[get] DST [from SRC] [oif DEV]",
					"way to a destination: [get] DST [from SRC] [oif DEV]");
	command->add_option("DST", *words, "destination, then from SRC, oif DEV")->required();
	command->callback([&environment, words] {
		const std::size_t at = skip_get(*words);
		const Address destination = address_of((*words)[at]);
		auto more = pairs(*words, at + 1, {"from", "oif"});
		const Address source = more.contains("from") ? address_of(more["from"]) : Address{};

		environment.chosen = [&environment, destination, source, oif = more["oif"]] {
			route(environment, destination, source, oif);
		};
	});

	const auto resolve = std::make_shared<bool>(false);
	const auto watch = std::make_shared<bool>(false);
	command = add_command(app, environment, "neigh", "[get] ADDR dev DEV",
			      "link address of a next hop: [get] ADDR dev DEV");
	command->add_option("ADDR", *words, "its address, then dev DEV")->required();
	command->add_flag("-r,--resolve", *resolve, "ask the network and wait for the answer");
	command->add_flag("-w,--watch", *watch, "and tell each change until interrupted");
	command->callback([&environment, words, resolve, watch] {
		const std::size_t at = skip_get(*words);
		const Address address = address_of((*words)[at]);
		auto more = pairs(*words, at + 1, {"dev"});
		const auto follow = *watch     ? Neighbour::Follow::watch
				    : *resolve ? Neighbour::Follow::resolve
					       : Neighbour::Follow::nothing;

		if (!more.contains("dev"))
			throw CLI::RequiredError("dev DEV");
		environment.chosen = [&environment, address, dev = more["dev"], follow] {
			neigh(environment, address, dev, follow);
		};
	});

	const auto destination = std::make_shared<std::string>();
	command = add_command(app, environment, "addr", "DST",
			      "local addresses that reach a destination, best first");
	command->add_option("DST", *destination, "destination")->required();
	command->callback([&environment, destination] {
		environment.chosen = [&environment, address = address_of(*destination)] {
			locals(environment, address);
		};
	});

	command = add_command(app, environment, "port", "[ADDR] PORT",
			      "reserve a TCP port until interrupted: [ADDR] PORT");
	command->add_option("PORT", *words, "address (none: all RNICs' IPv4 ones), port (0: any)")
		->required()
		->expected(1, 2);
	command->callback([&environment, words] {
		const Address address =
			words->size() > 1 ? address_of(words->front()) : Address::any(AF_INET);

		environment.chosen = [&environment,
				      wanted = address.with_port(port_number(words->back()))] {
			port(environment, wanted);
		};
	});
}

} /* namespace krdma::tools */
