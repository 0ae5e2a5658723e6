/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Causes of errors, and codes of Terminates, in words. */
#include <krdma/error.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include <net/if.h>

namespace krdma {
namespace {

/* 1024: "1,024" */
std::string grouped(std::uint64_t value)
{
	std::string digits = std::to_string(value);

	for (std::size_t i = digits.size(); i > 3; i -= 3)
		digits.insert(i - 3, 1, ',');
	return digits;
}

/* "1,024 queue pairs", "1 queue pair" */
std::string counted(std::uint64_t value, std::string_view noun)
{
	return grouped(value) + ' ' + std::string{noun} + (value == 1 ? "" : "s");
}

std::string rnic_allows(std::uint64_t value, std::string_view noun, std::string_view where = "")
{
	return "the RNIC allows " + counted(value, noun) + std::string{where};
}

/* a limit that is a parameter of krdma.ko */
std::string limit(std::uint64_t value, std::string_view noun, std::string_view owner,
		  std::string_view parameter)
{
	return std::string{owner} + " may have " + counted(value, noun) + " (parameter " +
	       std::string{parameter} + " of krdma)";
}

/* as ulimit -l shows it */
std::string kibibytes(std::uint64_t bytes)
{
	return grouped(bytes / 1024) + " KiB";
}

std::string rights(std::uint64_t access)
{
	static constexpr std::array<std::string_view, 6> names = {"local write", "remote write",
								  "remote read", "remote atomic",
								  "window bind", "zero based"};
	std::string text;
	std::uint64_t rest = access;

	for (std::size_t i = 0; i < names.size(); i++) {
		if (!(access & std::uint64_t{1} << i))
			continue;
		text += (text.empty() ? "" : ", ") + std::string{names[i]};
		rest &= ~(std::uint64_t{1} << i);
	}
	if (rest) {
		std::array<char, 24> hex{};

		(void)std::snprintf(hex.data(), hex.size(), "0x%llx",
				    static_cast<unsigned long long>(rest));
		text += (text.empty() ? "" : ", ") + std::string{hex.data()};
	}
	return text;
}

std::string_view state(std::uint64_t value)
{
	static constexpr std::array<std::string_view, 7> names = {
		"reset",
		"init (not connected)",
		"RTR",
		"RTS (connected)",
		"SQD (closing or drained)",
		"SQE",
		"error (its connection has ended)"};

	return value < names.size() ? names[value] : "unknown";
}

std::string interface_text(std::uint64_t ifindex)
{
	std::array<char, IF_NAMESIZE> name{};

	if (if_indextoname(static_cast<unsigned int>(ifindex), name.data()))
		return name.data();
	return "network device " + std::to_string(ifindex);
}

/* limits of the RNIC; empty: another cause */
std::string rnic_text(Cause cause, std::uint64_t value)
{
	switch (cause) {
	case KRDMA_CAUSE_MAX_PD:
		return rnic_allows(value, "protection domain");
	case KRDMA_CAUSE_MAX_CQ:
		return rnic_allows(value, "completion queue");
	case KRDMA_CAUSE_MAX_SRQ:
		return rnic_allows(value, "shared receive queue");
	case KRDMA_CAUSE_MAX_QP:
		return rnic_allows(value, "queue pair");
	case KRDMA_CAUSE_MAX_MR:
		return rnic_allows(value, "memory region");
	case KRDMA_CAUSE_MAX_MW:
		return rnic_allows(value, "memory window");
	case KRDMA_CAUSE_MAX_CQE:
		return rnic_allows(value, "completion", " in a queue");
	case KRDMA_CAUSE_MAX_QP_WR:
		return rnic_allows(value, "request", " in a queue");
	case KRDMA_CAUSE_MAX_SEND_SGE:
		return rnic_allows(value, "slice", " in a send request");
	case KRDMA_CAUSE_MAX_RECV_SGE:
		return rnic_allows(value, "slice", " in a receive");
	case KRDMA_CAUSE_MAX_INLINE:
		return rnic_allows(value, "byte", " of inline data");
	case KRDMA_CAUSE_MAX_SRQ_WR:
		return rnic_allows(value, "receive", " in a shared receive queue");
	case KRDMA_CAUSE_MAX_SRQ_SGE:
		return rnic_allows(value, "slice", " in a receive of a shared receive queue");
	case KRDMA_CAUSE_MAX_MR_SIZE:
		return rnic_allows(value, "byte", " in a region");
	case KRDMA_CAUSE_MAX_IRD:
		return rnic_allows(value, "inbound RDMA Read", " (ird)");
	case KRDMA_CAUSE_MAX_ORD:
		return rnic_allows(value, "outbound RDMA Read", " (ord)");
	case KRDMA_CAUSE_NUM_CEH:
		return "the RNIC has " + counted(value, "completion event handler") +
		       ", numbered from 0";
	default:
		return {};
	}
}

/* limits of the file, the user, the process; empty: another cause */
std::string limit_text(Cause cause, std::uint64_t value)
{
	switch (cause) {
	case KRDMA_CAUSE_FILE_OBJECTS:
		return limit(value, "object", "a session", "file_objects");
	case KRDMA_CAUSE_FILE_PORTS:
		return limit(value, "reserved port", "a session", "file_ports");
	case KRDMA_CAUSE_USER_PORTS:
		return limit(value, "reserved port", "a user", "user_net_ports");
	case KRDMA_CAUSE_NET_PORTS:
		return limit(value, "reserved port", "a network namespace", "net_ports");
	case KRDMA_CAUSE_USER_WATCHES:
		return limit(value, "watched neighbour", "a user", "user_neigh_watches");
	case KRDMA_CAUSE_NET_WATCHES:
		return limit(value, "watched neighbour", "a network namespace", "neigh_watches");
	case KRDMA_CAUSE_USER_SUBSCRIPTIONS:
		return limit(value, "subscription", "a user", "user_net_subscriptions");
	case KRDMA_CAUSE_NET_SUBSCRIPTIONS:
		return limit(value, "subscription", "a network namespace", "net_subscriptions");
	case KRDMA_CAUSE_MEMLOCK:
		return "`ulimit -l` (" + kibibytes(value) + ") is too small for the memory to lock";
	case KRDMA_CAUSE_CGROUP_HANDLES:
		return "the process's rdma cgroup allows no more contexts (hca_handle in rdma.max)";
	case KRDMA_CAUSE_CGROUP_OBJECTS:
		return "the process's rdma cgroup allows no more objects (hca_object in rdma.max)";
	default:
		return {};
	}
}

std::string object_text(const krdma_error &error)
{
	switch (static_cast<Cause>(error.cause)) {
	case KRDMA_CAUSE_NO_HANDLE:
		return "no object has the handle " + std::to_string(error.value);
	case KRDMA_CAUSE_OTHER_KIND:
		return "the object with the handle " + std::to_string(error.value) +
		       " is of another kind";
	case KRDMA_CAUSE_OTHER_CONTEXT:
		return "the objects belong to several contexts or RNICs";
	case KRDMA_CAUSE_IN_USE:
		return counted(error.value, "other object") +
		       (error.value == 1 ? " needs" : " need") + " it";
	case KRDMA_CAUSE_WINDOW_BOUND:
		return "a memory window is bound to it";
	case KRDMA_CAUSE_NO_RNIC:
		return error.unit == KRDMA_UNIT_RNIC
			       ? "no RNIC has the index " + std::to_string(error.value)
			       : "there is no such RNIC";
	case KRDMA_CAUSE_NO_RNIC_THERE:
		return "there is no RNIC on " + interface_text(error.value);
	case KRDMA_CAUSE_RNIC_REMOVED:
		return "the RNIC was removed";
	case KRDMA_CAUSE_NO_VERB:
		return "the RNIC cannot do this";
	default:
		return {};
	}
}

std::string memory_text(Cause cause, std::uint64_t value)
{
	switch (cause) {
	case KRDMA_CAUSE_NO_MEMORY:
		return "the kernel or the memory cgroup has no memory left";
	case KRDMA_CAUSE_POINTER:
		return "an address in the call cannot be read or written";
	case KRDMA_CAUSE_ZERO:
		return "a size of 0";
	case KRDMA_CAUSE_ACCESS:
		return "these rights cannot be given: " + rights(value);
	case KRDMA_CAUSE_LOCAL_WRITE:
		return "remote write and atomic rights need the local write right";
	case KRDMA_CAUSE_MEMORY:
		return "the memory is not mapped, or not writable for a region with local write";
	case KRDMA_CAUSE_WRAPS:
		return "the memory or its tagged offsets end beyond 64 bits";
	case KRDMA_CAUSE_OTHER_PROCESS:
		return "another process registered the region";
	case KRDMA_CAUSE_NEEDS_ADMIN:
		return "only with CAP_NET_ADMIN";
	case KRDMA_CAUSE_NEEDS_GROUP:
		return "an adopted device is for the group that the administrator gave it to "
		       "(krdma adopt --users GROUP)";
	default:
		return {};
	}
}

std::string connection_text(Cause cause, std::uint64_t value)
{
	switch (cause) {
	case KRDMA_CAUSE_QP_STATE:
		return "the state of the queue pair is " + std::string{state(value)};
	case KRDMA_CAUSE_QP_CONNECTED:
		return "the queue pair has a connection";
	case KRDMA_CAUSE_QUEUE_FULL:
		return value ? "the queue is full; it has room for " + counted(value, "request")
			     : "the queue is full";
	case KRDMA_CAUSE_PRIVATE_DATA:
		return "private data may have " + counted(value, "byte");
	case KRDMA_CAUSE_FAMILY:
		return "the addresses are not of one family, IPv4 or IPv6";
	case KRDMA_CAUSE_NOT_LOCAL:
		return "this is not an address of the RNIC";
	case KRDMA_CAUSE_ROUTE_ELSEWHERE:
		return "the host's route to the peer leaves by " + interface_text(value) +
		       ", which is not the RNIC's";
	case KRDMA_CAUSE_NO_ROUTE:
		return "the host has no route there";
	case KRDMA_CAUSE_PORT_USED:
		return value ? "port " + std::to_string(value) +
				       " is in use: a socket, a listener or a reservation has it"
			     : "no port is free";
	case KRDMA_CAUSE_PORT_PRIVILEGED:
		return "ports below " + std::to_string(value) + " are privileged";
	case KRDMA_CAUSE_PEER_GONE:
		return "the peer has gone";
	case KRDMA_CAUSE_ANSWERED:
		return "the request was answered already";
	default:
		return {};
	}
}

} /* namespace */

std::string cause_text(const krdma_error &error)
{
	const auto cause = static_cast<Cause>(error.cause);
	std::string text = rnic_text(cause, error.value);

	if (text.empty())
		text = limit_text(cause, error.value);
	if (text.empty())
		text = object_text(error);
	if (text.empty())
		text = memory_text(cause, error.value);
	if (text.empty())
		text = connection_text(cause, error.value);
	return text;
}

Error::Error(int err, const std::string &what, const krdma_error &detail, const std::string &reason)
	: std::system_error{err, std::generic_category(), what}, detail_{detail}
{
	Texts texts{reason.empty() ? cause_text(detail) : reason, std::system_error::what()};

	if (!texts.reason.empty())
		texts.what += " (" + texts.reason + ')';
	texts_ = std::make_shared<const Texts>(std::move(texts));
}

Error::~Error() = default;

const std::string &Error::reason() const noexcept
{
	return texts_->reason;
}

const char *Error::what() const noexcept
{
	return texts_->what.c_str();
}

/* Terminates *************************************************************** */

namespace {

struct Code {
	std::uint32_t number; /* layer << 12 | error type << 8 | code */
	std::string_view text;
};

/* RFC 5040 4.8, RFC 5041 7.2, RFC 5044 8, RFC 7306 7 */
constexpr std::array codes = {
	Code{0x0000, "RDMAP: the peer's RNIC has failed"},
	Code{0x0100, "RDMAP: no such STag"},
	Code{0x0101, "RDMAP: the range is outside the memory"},
	Code{0x0102, "RDMAP: the memory does not give this right"},
	Code{0x0103, "RDMAP: the STag is not for this connection"},
	Code{0x0104, "RDMAP: the tagged offset wraps"},
	Code{0x0109, "RDMAP: the STag cannot be invalidated"},
	Code{0x01ff, "RDMAP: protection, not specified"},
	Code{0x0205, "RDMAP: another version"},
	Code{0x0206, "RDMAP: unexpected operation"},
	Code{0x0207, "RDMAP: the stream has failed"},
	Code{0x0208, "RDMAP: the peer's RNIC has failed"},
	Code{0x0209, "RDMAP: the STag cannot be invalidated"},
	Code{0x02ff, "RDMAP: operation, not specified"},
	Code{0x1000, "DDP: the peer's RNIC has failed"},
	Code{0x1100, "DDP: no such STag"},
	Code{0x1101, "DDP: the range is outside the memory"},
	Code{0x1102, "DDP: the STag is not for this connection"},
	Code{0x1103, "DDP: the tagged offset wraps"},
	Code{0x1104, "DDP: another version"},
	Code{0x1201, "DDP: no such queue"},
	Code{0x1202, "DDP: the peer had no receive for the message"},
	Code{0x1203, "DDP: a message out of order"},
	Code{0x1204, "DDP: an offset outside the message"},
	Code{0x1205, "DDP: the message is longer than the receive"},
	Code{0x1206, "DDP: another version"},
	Code{0x2001, "MPA: the TCP connection was lost"},
	Code{0x2002, "MPA: wrong CRC"},
	Code{0x2003, "MPA: wrong marker or length"},
	Code{0x2004, "MPA: the start-up failed"},
	Code{0x2005, "MPA: the peer's RNIC has failed"},
	Code{0x2006, "MPA: too many RDMA Reads are wanted"},
	Code{0x2007, "MPA: no common first message"},
};

} /* namespace */

std::string terminate_text(std::uint32_t vendor_error)
{
	const auto *const found = std::ranges::find(codes, vendor_error,
						    [](const Code &code) { return code.number; });
	std::array<char, 16> hex{};

	if (!vendor_error)
		return {};
	if (found != codes.end())
		return std::string{found->text};
	(void)std::snprintf(hex.data(), hex.size(), "code 0x%x", vendor_error);
	return hex.data();
}

} /* namespace krdma */
