/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Text and captures, see capture.hpp. Captures: RFC 5044, RFC 5041 and RFC 5040 over TCP. */
#include "capture.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iomanip>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace sdp {

namespace {

std::uint64_t number(View octets, std::size_t at, std::size_t size)
{
	std::uint64_t value = 0;

	for (const auto octet : octets.subspan(at, size))
		value = value << 8 | octet;
	return value;
}

/* Text ********************************************************************** */

Octets from_hex(std::string_view text)
{
	std::string digits;
	Octets octets;

	std::ranges::copy_if(text, std::back_inserter(digits),
			     [](unsigned char c) { return std::isspace(c) == 0; });
	if (digits.size() % 2 != 0)
		throw Unreadable("half an octet");
	for (std::size_t i = 0; i < digits.size(); i += 2) {
		std::uint8_t octet = 0;
		const char *const at = digits.data() + i;

		if (std::from_chars(at, at + 2, octet, 16).ptr != at + 2)
			throw Unreadable("not hex: " + digits.substr(i, 2));
		octets.push_back(octet);
	}
	return octets;
}

Event text_event(std::string_view line)
{
	const End from = line.front() == '>' ? End::active : End::passive;
	std::istringstream words{std::string{line.substr(1)}};
	std::string word;
	std::string rest;

	if (line.front() != '>' && line.front() != '<')
		throw Unreadable("a line begins with > or <");
	words >> word;
	if (word == "write" || word == "read") {
		Rdma rdma{.from = from, .write = word == "write"};

		if (!(words >> std::setbase(0) >> rdma.rkey >> rdma.va >> rdma.size))
			throw Unreadable(word + " needs RKEY VA SIZE");
		return rdma;
	}
	std::getline(words, rest);
	if (word == "request")
		return Sent{from, Carrier::request, from_hex(rest)};
	if (word == "answer")
		return Sent{from, Carrier::answer, from_hex(rest)};
	return Sent{from, Carrier::send, from_hex(word + rest)};
}

/* MPA, DDP, RDMAP *********************************************************** */

constexpr std::size_t mpa_header = 20;
constexpr std::size_t tagged_header = 14;
constexpr std::size_t untagged_header = 18;

/* Bytes of one direction of a TCP connection, put in order */
class Stream {
public:
	void begin(std::uint32_t sequence)
	{
		next_ = sequence;
	}
	void segment(std::uint32_t sequence, View octets)
	{
		if (!next_)
			next_ = sequence;
		if (!octets.empty())
			waiting_.try_emplace(sequence, octets.begin(), octets.end());
		while (take_waiting()) {}
	}
	[[nodiscard]] View view() const
	{
		return octets_;
	}
	void consume(std::size_t size)
	{
		octets_.erase(octets_.begin(), octets_.begin() + static_cast<std::ptrdiff_t>(size));
	}

private:
	bool take_waiting()
	{
		for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
			const auto skip = static_cast<std::int32_t>(*next_ - it->first);
			if (skip < 0)
				continue;
			if (static_cast<std::size_t>(skip) < it->second.size()) {
				octets_.insert(octets_.end(), it->second.begin() + skip,
					       it->second.end());
				*next_ += static_cast<std::uint32_t>(it->second.size()) -
					  static_cast<std::uint32_t>(skip);
			}
			waiting_.erase(it);
			return true;
		}
		return false;
	}

	std::optional<std::uint32_t> next_;
	std::map<std::uint32_t, Octets> waiting_;
	Octets octets_;
};

/* One direction behind TCP */
class Direction {
public:
	Direction(End from, Conversation &out) : from_(from), out_(out)
	{}

	Stream stream;

	void parse()
	{
		while (!broken_ && (started_ ? fpdu() : start_up())) {}
	}

private:
	void fail(std::string why)
	{
		out_.errors.push_back((from_ == End::active ? "active end: " : "passive end: ") +
				      std::move(why));
		broken_ = true;
	}

	bool start_up()
	{
		const View octets = stream.view();

		if (octets.size() < mpa_header)
			return false;
		const std::size_t size = number(octets, 18, 2);
		if (octets.size() < mpa_header + size)
			return false;
		const int flags = octets[16];
		const std::size_t enhanced = octets[17] > 1 && (flags & 0x10) != 0 ? 4 : 0;
		if ((flags & 0x80) != 0) {
			fail("markers are not supported");
			return false;
		}
		if (size < enhanced) {
			fail("no enhanced data");
			return false;
		}
		const View data = octets.subspan(mpa_header + enhanced, size - enhanced);
		/* a refusal has no HelloAck */
		if (from_ == End::active || (flags & 0x20) == 0)
			out_.events.emplace_back(Sent{
				from_, from_ == End::active ? Carrier::request : Carrier::answer,
				Octets{data.begin(), data.end()}});
		stream.consume(mpa_header + size);
		started_ = true;
		return true;
	}

	bool fpdu()
	{
		const View octets = stream.view();

		if (octets.size() < 2)
			return false;
		const std::size_t size = number(octets, 0, 2);
		const std::size_t whole = (2 + size + 3) / 4 * 4 + 4;
		if (octets.size() < whole)
			return false;
		if (size != 0)
			segment(octets.subspan(2, size));
		stream.consume(whole);
		return true;
	}

	void segment(View ulpdu)
	{
		const bool tagged = (ulpdu[0] & 0x80) != 0;

		if (ulpdu.size() < (tagged ? tagged_header : untagged_header)) {
			fail("a DDP segment without header");
			return;
		}
		const bool last = (ulpdu[0] & 0x40) != 0;
		const int opcode = ulpdu[1] & 0x0f;
		if (tagged && opcode == 0) {
			out_.events.emplace_back(
				Rdma{from_, true, static_cast<std::uint32_t>(number(ulpdu, 2, 4)),
				     number(ulpdu, 6, 8), ulpdu.size() - tagged_header});
		} else if (!tagged && opcode == 1 && ulpdu.size() >= untagged_header + 28) {
			const View request = ulpdu.subspan(untagged_header);
			out_.events.emplace_back(Rdma{
				from_, false, static_cast<std::uint32_t>(number(request, 16, 4)),
				number(request, 20, 8), number(request, 12, 4)});
		} else if (!tagged && opcode >= 3 && opcode <= 6) {
			const View payload = ulpdu.subspan(untagged_header);
			message_.insert(message_.end(), payload.begin(), payload.end());
			if (last)
				out_.events.emplace_back(
					Sent{from_, Carrier::send, std::exchange(message_, {})});
		}
	}

	End from_;
	Conversation &out_;
	bool started_ = false;
	bool broken_ = false;
	Octets message_;
};

/* pcap ********************************************************************** */

using Address = std::array<std::uint8_t, 16>;
using Socket = std::pair<Address, std::uint16_t>;

struct Packet {
	Socket from;
	Socket to;
	std::uint32_t sequence = 0;
	bool syn = false;
	View payload;
};

std::optional<View> ip_of(View frame, std::uint32_t link)
{
	std::size_t at = 0;

	switch (link) {
	case 1: /* Ethernet, perhaps with VLAN tags */
		at = 12;
		while (frame.size() > at + 4 && number(frame, at, 2) == 0x8100)
			at += 4;
		at += 2;
		break;
	case 101: /* raw */
		break;
	case 113: /* Linux cooked */
		at = 16;
		break;
	case 276: /* Linux cooked, version 2 */
		at = 20;
		break;
	default:
		throw Unreadable("link type " + std::to_string(link) + " is not supported");
	}
	if (frame.size() <= at)
		return {};
	return frame.subspan(at);
}

Address address(View octets)
{
	Address result = {};

	std::ranges::copy(octets, result.end() - static_cast<std::ptrdiff_t>(octets.size()));
	return result;
}

std::optional<Packet> packet_of(View ip)
{
	Packet packet;
	View tcp;

	if (ip.size() >= 20 && ip[0] >> 4 == 4 && ip[9] == 6) {
		const std::size_t header = std::size_t{ip[0] & 15U} * 4;
		const std::size_t total = number(ip, 2, 2);

		/* 0: segmentation offload of a huge packet */
		if (header > ip.size() || (total != 0 && (total < header || total > ip.size())))
			return {};
		tcp = ip.subspan(0, total != 0 ? total : ip.size()).subspan(header);
		packet.from.first = address(ip.subspan(12, 4));
		packet.to.first = address(ip.subspan(16, 4));
	} else if (ip.size() >= 40 && ip[0] >> 4 == 6 && ip[6] == 6) {
		const std::size_t total = number(ip, 4, 2);

		tcp = ip.subspan(40);
		if (total != 0 && total <= tcp.size())
			tcp = tcp.first(total);
		packet.from.first = address(ip.subspan(8, 16));
		packet.to.first = address(ip.subspan(24, 16));
	}
	if (tcp.size() < 20)
		return {};
	const std::size_t header = std::size_t{tcp[12]} / 16 * 4;
	if (header > tcp.size())
		return {};
	packet.from.second = static_cast<std::uint16_t>(number(tcp, 0, 2));
	packet.to.second = static_cast<std::uint16_t>(number(tcp, 2, 2));
	packet.sequence = static_cast<std::uint32_t>(number(tcp, 4, 4));
	packet.syn = (tcp[13] & 2) != 0;
	packet.payload = tcp.subspan(header);
	return packet;
}

/* One TCP connection. Its ends get their roles from the sender of the first SYN or segment. */
struct Connection {
	explicit Connection(Socket first) : opener(std::move(first))
	{}

	Socket opener;
	Conversation conversation;
	Direction active{End::active, conversation};
	Direction passive{End::passive, conversation};
};

std::uint32_t file_word(const std::array<std::uint8_t, 24> &octets, std::size_t at, bool swapped)
{
	std::array<std::uint8_t, 4> word = {octets[at], octets[at + 1], octets[at + 2],
					    octets[at + 3]};

	if (swapped)
		std::ranges::reverse(word);
	return static_cast<std::uint32_t>(number(word, 0, 4));
}

std::optional<bool> little_endian(const std::array<std::uint8_t, 24> &header)
{
	const std::uint32_t big = file_word(header, 0, false);
	const std::uint32_t little = file_word(header, 0, true);

	/* the second one has nanoseconds */
	if (big == 0xa1b2c3d4 || big == 0xa1b23c4d)
		return false;
	if (little == 0xa1b2c3d4 || little == 0xa1b23c4d)
		return true;
	return {};
}

template <std::size_t N> bool get(std::istream &in, std::array<std::uint8_t, 24> &octets)
{
	std::array<char, N> data;

	if (!in.read(data.data(), N))
		return false;
	std::ranges::copy(data, octets.begin());
	return true;
}

} /* namespace */

Conversation read_text(std::istream &in)
{
	Conversation conversation{.name = "text", .events = {}, .errors = {}};
	std::string line;
	int at = 0;

	while (std::getline(in, line)) {
		at++;
		line = line.substr(0, line.find('#'));
		const auto begin = line.find_first_not_of(" \t\r");
		if (begin == std::string::npos)
			continue;
		try {
			conversation.events.push_back(
				text_event(std::string_view{line}.substr(begin)));
		} catch (const Unreadable &error) {
			throw Unreadable("line " + std::to_string(at) + ": " + error.what());
		}
	}
	return conversation;
}

bool is_pcap(std::istream &in)
{
	std::array<std::uint8_t, 24> header = {};
	const bool result = get<4>(in, header) && little_endian(header).has_value();

	in.clear();
	in.seekg(0);
	return result;
}

std::vector<Conversation> read_pcap(std::istream &in)
{
	std::map<std::pair<Socket, Socket>, std::unique_ptr<Connection>> connections;
	std::vector<Connection *> order;
	std::array<std::uint8_t, 24> header = {};

	if (!get<24>(in, header) || !little_endian(header))
		throw Unreadable("not a pcap file");
	const bool swapped = *little_endian(header);
	const std::uint32_t link = file_word(header, 20, swapped) & 0x0fffffff;
	while (get<16>(in, header)) {
		const std::uint32_t size = file_word(header, 8, swapped);
		if (size > 1U << 20)
			throw Unreadable("a packet of " + std::to_string(size) + " octets");
		Octets frame(size);
		if (!in.read(reinterpret_cast<char *>(frame.data()), size))
			break;
		const auto ip = ip_of(frame, link);
		const auto packet = ip ? packet_of(*ip) : std::nullopt;
		if (!packet)
			continue;
		auto &slot = connections[std::minmax(packet->from, packet->to)];
		if (!slot) {
			slot = std::make_unique<Connection>(packet->from);
			slot->conversation.name = "port " + std::to_string(packet->from.second) +
						  " to " + std::to_string(packet->to.second);
			order.push_back(slot.get());
		}
		Direction &direction = packet->from == slot->opener ? slot->active : slot->passive;
		if (packet->syn)
			direction.stream.begin(packet->sequence + 1);
		else
			direction.stream.segment(packet->sequence, packet->payload);
		direction.parse();
	}
	std::vector<Conversation> result;
	for (Connection *connection : order)
		if (!connection->conversation.events.empty())
			result.push_back(std::move(connection->conversation));
	return result;
}

void replay(const Event &event, Judge &judge)
{
	if (const auto *const sent = std::get_if<Sent>(&event))
		judge.message(sent->from, sent->octets, sent->carrier);
	else if (const auto &rdma = std::get<Rdma>(event); rdma.write)
		judge.rdma_write(rdma.from, rdma.rkey, rdma.va, rdma.size);
	else
		judge.rdma_read(rdma.from, rdma.rkey, rdma.va, rdma.size);
}

} /* namespace sdp */
