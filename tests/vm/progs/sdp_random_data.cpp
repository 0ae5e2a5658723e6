// SPDX-License-Identifier: GPL-2.0 OR MIT
// Calls of sdp_random that move data, and options.
#include <algorithm>
#include <chrono>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <thread>

#include "sdp_random.hpp"

namespace side {

using Clock = std::chrono::steady_clock;

namespace {

std::string digest(const unsigned char *data, size_t size)
{
	std::uint64_t hash = 0xcbf29ce484222325;
	char text[32];

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 0x100000001b3;
	std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
	return text;
}

Bytes pattern(size_t size, unsigned seed)
{
	std::minstd_rand random(seed);
	Bytes data(size);

	std::generate(data.begin(), data.end(), [&] { return random() >> 8; });
	return data;
}

std::string flags_text(const std::vector<Flag> &known, int flags)
{
	std::string text;

	for (const Flag &flag : known)
		if (flags & flag.bit)
			text += std::string(text.empty() ? "" : "|") + flag.name;
	return text.empty() ? "0" : text;
}

const std::vector<Flag> send_flags{
	{MSG_OOB, "OOB", 6},
	{MSG_MORE, "MORE", 6},
	{MSG_DONTWAIT, "DONTWAIT", 15},
	{MSG_NOSIGNAL, "NOSIGNAL", 60},
	{MSG_EOR, "EOR", 3},
	{MSG_CONFIRM, "CONFIRM", 2},
	{MSG_DONTROUTE, "DONTROUTE", 2},
	{MSG_TRUNC, "TRUNC", 2},
	{MSG_PEEK, "PEEK", 2},
};

const std::vector<Flag> receive_flags{
	{MSG_OOB, "OOB", 8},           {MSG_PEEK, "PEEK", 15},
	{MSG_WAITALL, "WAITALL", 20},  {MSG_DONTWAIT, "DONTWAIT", 25},
	{MSG_TRUNC, "TRUNC", 8},       {MSG_NOSIGNAL, "NOSIGNAL", 5},
	{MSG_ERRQUEUE, "ERRQUEUE", 2}, {MSG_CMSG_CLOEXEC, "CLOEXEC", 2},
};

// PARTS of a buffer: few large ones or many small ones, some of them empty
std::vector<iovec> cut(unsigned char *data, size_t size, size_t parts, unsigned seed)
{
	std::minstd_rand random(seed);
	std::vector<size_t> ends{size};
	std::vector<iovec> vectors;
	size_t from = 0;

	for (size_t i = 1; i < parts; i++)
		ends.push_back(random() % (size + 1));
	std::sort(ends.begin(), ends.end());
	for (size_t end : ends) {
		vectors.push_back({data + from, end - from});
		from = end;
	}
	return vectors;
}

} // namespace

// Data *************************************************************************************

// Is the next byte that the peer reads an urgent one, or may it be? TCP drops it when another one
// comes; with SDP both stay in the stream.
bool Round::urgent_is_next(const Socket &socket) const
{
	if (!socket.connection || !socket.connection->urgent)
		return false;
	for (int slot = 0; slot < slots; slot++) {
		int mark = 0;

		if (used(slot) && sockets_[slot]->connection == socket.connection &&
		    sockets_[slot]->end != socket.end)
			return ioctl(worlds_[0].fd[slot], SIOCATMARK, &mark) || mark;
	}
	return true;
}

void Round::send_one()
{
	// a socket that was never connected, too
	const int slot = pick_connected(90);

	if (slot < 0)
		return;
	Socket &socket = *sockets_[slot];
	long unread = socket.connection ? socket.connection->unread[socket.end] : 0;
	static constexpr long sizes[] = {0, 1, 2, 100, 1500, 8000, 16368, 33000, 50000};
	long size = any(1 + sizes[any(std::size(sizes))]);
	if (chance(20))
		size = sizes[any(std::size(sizes))];
	size = std::min(size, most_unread - unread);
	if (size < 0)
		return;
	int flags = pick_flags(send_flags);
	// a reset may come in the middle of a long one, and before or after the urgent byte
	if (socket.connection && socket.connection->ending) {
		size = std::min(size, 8000L);
		flags &= ~MSG_OOB;
	}
	if (urgent_is_next(socket))
		flags &= ~MSG_OOB;
	const int form = any(5);
	const size_t parts = chance(80) ? 1 + any(5) : chance(90) ? 1 + any(1024) : 1025;
	const unsigned seed = random_();
	const bool bad = chance(1);
	static const char *const forms[] = {"send()", "sendmsg()", "writev()", "write()",
					    "sendto()"};
	std::string what = std::string(forms[form]) + " " + std::to_string(size) + " " +
			   flags_text(send_flags, form == 2 || form == 3 ? 0 : flags);
	if (form == 1 || form == 2)
		what += " in " + std::to_string(parts);
	if (bad)
		what += " bad";
	Outcome outcome = both(slot, what, [&](World &, int fd) {
		Bytes data = pattern(size, seed);
		unsigned char *at = bad ? reinterpret_cast<unsigned char *>(64) : data.data();
		auto vectors = cut(at, size, parts, seed);
		ops::Address to = setup_.base;
		msghdr message{};
		long rc;

		message.msg_iov = vectors.data();
		message.msg_iovlen = vectors.size();
		switch (form) {
		case 0:
			rc = send(fd, at, size, flags);
			break;
		case 1:
			rc = sendmsg(fd, &message, flags);
			break;
		case 2:
			rc = writev(fd, vectors.data(), vectors.size());
			break;
		case 3:
			rc = write(fd, at, size);
			break;
		default:
			rc = sendto(fd, at, size, flags, to.raw(), to.size);
			break;
		}
		return Outcome{rc, errno, ""};
	});
	if (outcome.value > 0 && socket.connection)
		socket.connection->unread[socket.end] += outcome.value;
	if (socket.connection && flags & MSG_OOB)
		socket.connection->urgent = true;
}

void Round::receive_one()
{
	const int slot = pick_connected(92);

	if (slot < 0)
		return;
	Socket &socket = *sockets_[slot];
	static constexpr long sizes[] = {1, 3, 200, 3000, 20000, 130000};
	const long size = chance(3) ? 0 : 1 + any(sizes[any(std::size(sizes))]);
	int flags = pick_flags(receive_flags);
	const int form = any(4);
	const size_t parts = chance(80) ? 1 + any(5) : 1 + any(1024);
	const unsigned seed = random_();
	// TCP counts the urgent byte as read by a call that fails, in parts
	const bool bad = chance(1) && !(socket.connection && socket.connection->urgent);
	static const char *const forms[] = {"recv()", "recvmsg()", "readv()", "recvfrom()"};
	std::string what = std::string(forms[form]) + " " + std::to_string(size) + " " +
			   flags_text(receive_flags, form == 2 ? 0 : flags);
	if (form == 1 || form == 2)
		what += " in " + std::to_string(parts);
	if (bad)
		what += " bad";
	Outcome outcome = both(slot, what, [&](World &, int fd) {
		Bytes data(size);
		unsigned char *at = bad ? reinterpret_cast<unsigned char *>(64) : data.data();
		auto vectors = cut(at, size, parts, seed);
		std::string more;
		ops::Address from;
		msghdr message{};
		long rc;

		message.msg_iov = vectors.data();
		message.msg_iovlen = vectors.size();
		message.msg_name = &from.storage;
		message.msg_namelen = from.size;
		switch (form) {
		case 0:
			rc = recv(fd, at, size, flags);
			break;
		case 1:
			rc = recvmsg(fd, &message, flags);
			if (rc >= 0)
				more = " msg_flags " + std::to_string(message.msg_flags) +
				       " name " + std::to_string(message.msg_namelen);
			break;
		case 2:
			rc = readv(fd, vectors.data(), vectors.size());
			break;
		default:
			rc = recvfrom(fd, at, size, flags, from.raw(), &from.size);
			if (rc >= 0)
				more = " name " + std::to_string(from.size);
			break;
		}
		const int error = errno;
		// TCP answers a call for no bytes by what it has not looked at yet, too
		if (!size && (rc == 0 || error == EAGAIN))
			return Outcome{0, 0, ""};
		if (!bad)
			more = digest(data.data(), size) + more;
		return Outcome{rc, error, more};
	});
	if (outcome.value > 0 && socket.connection &&
	    (form == 2 || !(flags & (MSG_PEEK | MSG_OOB))))
		socket.connection->unread[1 - socket.end] -= outcome.value;
}

// A thread sends while this one receives: large transfers, as zero copy has them
void Round::transfer()
{
	const int from = pick([&](int i) { return used(i) && sockets_[i]->connection; });

	// what comes before an end is a question of time
	if (from < 0 || sockets_[from]->connection->ending)
		return;
	const Socket &socket = *sockets_[from];
	const int to = pick([&](int i) {
		return used(i) && sockets_[i]->connection == socket.connection &&
		       sockets_[i]->end != socket.end;
	});
	if (to < 0)
		return;
	const long size = 1 + any(chance(50) ? 300000 : 1200000);
	const long once = 1 + any(size), most = 20000 + any(300000);
	const int waitall = chance(50) ? MSG_WAITALL : 0;
	const unsigned seed = random_();
	const std::string what = "transfer() " + std::to_string(size) + " to #" +
				 std::to_string(to) + " by " + std::to_string(once) + " and " +
				 std::to_string(most);
	Bytes data = pattern(size, seed);
	both(from, what, [&](World &world, int fd) {
		const int sink = world.fd[to];
		const auto limit = Clock::now() + std::chrono::seconds(20 * setup_.slow);
		long sent = 0, got = 0;
		int error = 0, unread = 0;
		Bytes all(size);

		// what is there is no part of it, nor is what cannot be sent
		if (ioctl(sink, SIOCINQ, &unread) || unread)
			return Outcome{0, 0, "unread"};
		std::thread sender([&] {
			while (sent < size && Clock::now() < limit) {
				const long rc = send(fd, data.data() + sent,
						     std::min(once, size - sent), MSG_NOSIGNAL);

				if (rc > 0) {
					sent += rc;
				} else if (errno != EAGAIN) {
					error = errno;
					break;
				} else {
					std::this_thread::sleep_for(std::chrono::milliseconds(1));
				}
			}
		});
		std::string end;
		while (got < size && Clock::now() < limit) {
			const long rc =
				recv(sink, all.data() + got, std::min(most, size - got), waitall);

			if (rc > 0) {
				got += rc;
			} else if (!rc || errno != EAGAIN) {
				end = rc ? strerrorname_np(errno) : "end";
				break;
			} else if (error) {
				break;
			} else {
				std::this_thread::sleep_for(std::chrono::milliseconds(1));
			}
		}
		// a receiver that hears no more lets the sender stand still
		if (!end.empty())
			shutdown(fd, SHUT_RDWR);
		sender.join();
		const std::string how = end.empty() ? std::to_string(sent) : end;
		return Outcome{got, 0,
			       how + " " + digest(all.data(), got) + " " +
				       (error ? strerrorname_np(error) : "")};
	});
}

// Options **********************************************************************************

namespace {

struct Option {
	int level, name;
	const char *text;
	bool only_get, only_set;
	std::vector<int> values;
};

const std::vector<Option> options{
	{SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR", false, false, {0, 1, 2}},
	{SOL_SOCKET, SO_KEEPALIVE, "SO_KEEPALIVE", false, false, {0, 1, 5}},
	{SOL_SOCKET, SO_OOBINLINE, "SO_OOBINLINE", false, false, {0, 1, 1}},
	{SOL_SOCKET, SO_RCVLOWAT, "SO_RCVLOWAT", false, false, {0, 1, 2, 100, 3000}},
	{SOL_SOCKET, SO_RCVBUF, "SO_RCVBUF", false, false, {150000, 200000, 300000}},
	{SOL_SOCKET, SO_SNDBUF, "SO_SNDBUF", false, false, {150000, 200000, 300000}},
	{SOL_SOCKET, SO_BROADCAST, "SO_BROADCAST", false, false, {0, 1}},
	{SOL_SOCKET, SO_PRIORITY, "SO_PRIORITY", false, false, {0, 3, 6}},
	{SOL_SOCKET, SO_MARK, "SO_MARK", false, false, {0, 77}},
	{SOL_SOCKET, SO_TYPE, "SO_TYPE", true, false, {}},
	{SOL_SOCKET, SO_ERROR, "SO_ERROR", true, false, {}},
	{SOL_SOCKET, SO_ACCEPTCONN, "SO_ACCEPTCONN", true, false, {}},
	{SOL_SOCKET, SO_SNDLOWAT, "SO_SNDLOWAT", false, false, {1, 5}},
	{SOL_SOCKET, SO_BUSY_POLL, "SO_BUSY_POLL", true, false, {}},
	{SOL_SOCKET, 9999, "9999", false, false, {1}},
	{IPPROTO_TCP, TCP_NODELAY, "TCP_NODELAY", false, false, {0, 1, 2, -1}},
	{IPPROTO_TCP, TCP_CORK, "TCP_CORK", false, false, {0, 0, 1, 2}},
	{IPPROTO_TCP, TCP_KEEPIDLE, "TCP_KEEPIDLE", false, false, {-1, 0, 1, 600, 32767, 32768}},
	{IPPROTO_TCP, TCP_KEEPINTVL, "TCP_KEEPINTVL", false, false, {0, 1, 75, 32768}},
	{IPPROTO_TCP, TCP_KEEPCNT, "TCP_KEEPCNT", false, false, {0, 1, 9, 127, 128}},
	{IPPROTO_TCP, TCP_SYNCNT, "TCP_SYNCNT", false, false, {0, 1, 6, 127, 128}},
	{IPPROTO_TCP, TCP_LINGER2, "TCP_LINGER2", false, false, {-1, 1, 30, 0, 120, 121}},
	{IPPROTO_TCP, TCP_USER_TIMEOUT, "TCP_USER_TIMEOUT", false, false, {-1, 0, 50000}},
	{IPPROTO_TCP, TCP_QUICKACK, "TCP_QUICKACK", false, true, {0, 1}},
	{IPPROTO_TCP, 9999, "9999", false, false, {1}},
	{IPPROTO_IP, IP_TOS, "IP_TOS", false, false, {0, 0x10, 0x13, 255, 256, -1}},
	{IPPROTO_IP, IP_TTL, "IP_TTL", false, false, {-2, -1, 0, 1, 64, 255, 256}},
	{IPPROTO_IP, IP_MTU_DISCOVER, "IP_MTU_DISCOVER", false, false, {-1, 0, 1, 2, 5, 6}},
	{IPPROTO_IP, IP_RECVERR, "IP_RECVERR", false, false, {0, 1, 4}},
	{IPPROTO_IP, IP_FREEBIND, "IP_FREEBIND", false, false, {0, 1, 4}},
	{IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, "IP_BIND_ADDRESS_NO_PORT", false, false, {0, 1, 2}},
};

const std::vector<Option> options6{
	{IPPROTO_IPV6, IPV6_V6ONLY, "IPV6_V6ONLY", false, false, {0, 1, 2}},
	{IPPROTO_IPV6, IPV6_UNICAST_HOPS, "IPV6_UNICAST_HOPS", false, false, {-2, -1, 0, 64, 256}},
	{IPPROTO_IPV6, IPV6_TCLASS, "IPV6_TCLASS", false, false, {-2, -1, 0, 0x10, 0x13, 256}},
	{IPPROTO_IPV6, IPV6_RECVERR, "IPV6_RECVERR", false, false, {0, 1, 4}},
};

} // namespace

void Round::set_option()
{
	const int slot = pick_used();

	if (slot < 0)
		return;
	if (chance(15)) {
		linger value{any(2), any(3) - (any(3) ? 0 : 1)};
		const socklen_t size = chance(90) ? sizeof(value) : any(12);

		both(slot,
		     "SO_LINGER " + std::to_string(value.l_onoff) + " " +
			     std::to_string(value.l_linger) + " of " + std::to_string(size),
		     [&](World &, int fd) {
			     return Outcome{setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, size),
					    errno, ""};
		     });
		return;
	}
	if (chance(8)) {
		// 0 would be for ever
		timeval value{0, 10000 + any(6) * 10000};
		const socklen_t size = chance(80) ? sizeof(value) : any(12);

		if (chance(20))
			value.tv_usec = chance(50) ? -1 : 1000000;
		both(slot,
		     "SO_RCVTIMEO " + std::to_string(value.tv_usec) + " of " + std::to_string(size),
		     [&](World &, int fd) {
			     return Outcome{setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, size),
					    errno, ""};
		     });
		return;
	}
	const auto &list = setup_.base.v6() && chance(30) ? options6 : options;
	const Option &option = list[any(list.size())];
	if (option.only_get)
		return;
	int value = option.values[any(option.values.size())];
	const socklen_t size = chance(90) ? sizeof(value) : any(12);
	const Outcome outcome =
		both(slot,
		     std::string("set ") + option.text + " " + std::to_string(value) + " of " +
			     std::to_string(size),
		     [&](World &, int fd) {
			     int room[3] = {value, 0, 0};

			     return Outcome{setsockopt(fd, option.level, option.name, room, size),
					    errno, ""};
		     });
	if (!outcome.value && option.level == SOL_SOCKET) {
		sockets_[slot]->rcvbuf |= option.name == SO_RCVBUF;
		sockets_[slot]->sndbuf |= option.name == SO_SNDBUF;
	}
}

void Round::get_option()
{
	const int slot = pick_used();

	if (slot < 0)
		return;
	const auto &list = setup_.base.v6() && chance(30) ? options6 : options;
	Option option = list[any(list.size())];
	if (chance(10))
		option = {SOL_SOCKET,
			  chance(50) ? SO_LINGER : SO_RCVTIMEO,
			  "SO_LINGER or SO_RCVTIMEO",
			  true,
			  false,
			  {}};
	const socklen_t size = chance(85) ? 16 : any(12);
	const Socket &socket = *sockets_[slot];
	// sizes that the program did not set: those on TCP are forced
	if (option.only_set ||
	    (option.level == SOL_SOCKET && ((option.name == SO_RCVBUF && !socket.rcvbuf) ||
					    (option.name == SO_SNDBUF && !socket.sndbuf))))
		return;
	both(slot, std::string("get ") + option.text + " of " + std::to_string(size),
	     [&](World &, int fd) {
		     std::array<unsigned char, 16> room{};
		     socklen_t got = size;
		     const int rc = getsockopt(fd, option.level, option.name, room.data(), &got);
		     const int error = errno;
		     std::string text = std::to_string(got) + ":";

		     for (unsigned char byte : room)
			     text += " " + std::to_string(byte);
		     return Outcome{rc, error, text};
	     });
}

} // namespace side
