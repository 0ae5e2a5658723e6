/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * sdp_judge [-q] FILE...: prints the SDP connections of a text or of a capture (capture.hpp), and
 * what in them violates docs/sdp-wire.md. -q prints violations only. The exit status is 0 if there
 * is no violation, 1 if there is one, 2 if a file cannot be read or has no connection.
 */
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "capture.hpp"

namespace {

using namespace sdp;

void print_event(const Event &event, const Judge &judge)
{
	if (const auto *const sent = std::get_if<Sent>(&event)) {
		const Side &side = judge.side(sent->from);

		std::cout << (sent->from == End::active ? "> " : "< ")
			  << describe(decode(sent->octets, sent->carrier)) << " | credits "
			  << side.credits() << ", " << name(side.mode_out) << '\n';
		return;
	}
	const auto &rdma = std::get<Rdma>(event);
	std::cout << (rdma.from == End::active ? "> " : "< ") << "RDMA "
		  << (rdma.write ? "Write" : "Read") << " rkey 0x" << std::hex << rdma.rkey
		  << " va 0x" << rdma.va << std::dec << " size " << rdma.size << '\n';
}

void print_totals(std::string_view arrow, const Totals &totals)
{
	std::cout << arrow << ' ' << totals.octets() << " octets: " << totals.bcopy << " Bcopy, "
		  << totals.read << " Read Zcopy, " << totals.written << " Write Zcopy; "
		  << totals.messages << " messages, " << totals.updates << " credit updates, "
		  << totals.transactions << " transactions, " << totals.oob << " out-of-band\n";
}

/* @return: number of violations */
std::size_t judge_conversation(const Conversation &conversation, bool quiet)
{
	Judge judge;
	std::size_t shown = 0;

	std::cout << conversation.name << ":\n";
	const auto show = [&] {
		for (; shown < judge.findings().size(); shown++) {
			const Finding &finding = judge.findings()[shown];

			std::cout << "VIOLATION by the "
				  << (finding.end == End::active ? "active" : "passive")
				  << " end, event " << finding.number << ", rule " << finding.rule
				  << ": " << finding.text << '\n';
		}
	};
	for (const Event &event : conversation.events) {
		replay(event, judge);
		if (!quiet)
			print_event(event, judge);
		show();
	}
	judge.finish();
	show();
	for (const std::string &error : conversation.errors)
		std::cout << "not understood: " << error << '\n';
	print_totals(">", judge.totals(End::active));
	print_totals("<", judge.totals(End::passive));
	std::cout << (judge.closed() ? "both DisConns" : "not closed by both ends") << ", "
		  << judge.findings().size() << " violations\n";
	return judge.findings().size() + conversation.errors.size();
}

std::vector<Conversation> read_file(const std::string &path)
{
	std::ifstream in{path, std::ios::binary};

	if (!in)
		throw Unreadable("cannot open " + path);
	if (is_pcap(in))
		return read_pcap(in);
	return {read_text(in)};
}

} /* namespace */

int main(int argc, char **argv)
{
	std::size_t violations = 0;
	std::size_t seen = 0;
	bool quiet = false;

	try {
		for (const std::string &argument :
		     std::vector<std::string>(argv + 1, argv + argc)) {
			if (argument == "-q") {
				quiet = true;
				continue;
			}
			for (const Conversation &conversation : read_file(argument)) {
				violations += judge_conversation(conversation, quiet);
				seen++;
			}
		}
	} catch (const std::exception &error) {
		std::cerr << "sdp_judge: " << error.what() << '\n';
		return 2;
	}
	if (seen == 0) {
		std::cerr << "usage: sdp_judge [-q] FILE...\n";
		return 2;
	}
	return violations == 0 ? 0 : 1;
}
