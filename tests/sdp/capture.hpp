/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * SDP connections from text or from a capture (pcap) of iWARP: MPA start-up frames, and Sends,
 * RDMA Writes and Read Requests of DDP segments, in the order in which they were complete.
 */
#ifndef KRDMA_TEST_SDP_CAPTURE_HPP
#define KRDMA_TEST_SDP_CAPTURE_HPP

#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "judge.hpp"
#include "message.hpp"

namespace sdp {

/** struct Sent - a message */
struct Sent {
	End from = End::active;
	Carrier carrier = Carrier::send;
	Octets octets = {};
};

/** struct Rdma - an RDMA operation; @write: else a Read */
struct Rdma {
	End from = End::active;
	bool write = false;
	std::uint32_t rkey = 0;
	std::uint64_t va = 0;
	std::uint64_t size = 0;
};

using Event = std::variant<Sent, Rdma>;

/** struct Conversation - one connection; @errors: why a part of it was not understood */
struct Conversation {
	std::string name;
	std::vector<Event> events;
	std::vector<std::string> errors;
};

/** struct Unreadable - the file is not what it should be */
struct Unreadable : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/*
 * Text: a line for each event, ">" from the active end, "<" from the passive one. Bytes are in
 *hex, blanks between them are ignored; "#" begins a comment.
 *
 *	> request 00000040 ...
 *	< answer 01000010 ...
 *	> ff000040 00000010 00000001 00000000
 *	< write RKEY VA SIZE
 *	< read RKEY VA SIZE
 */
[[nodiscard]] Conversation read_text(std::istream &in);
[[nodiscard]] std::vector<Conversation> read_pcap(std::istream &in);
[[nodiscard]] bool is_pcap(std::istream &in);

void replay(const Event &event, Judge &judge);

} /* namespace sdp */

#endif /* KRDMA_TEST_SDP_CAPTURE_HPP */
