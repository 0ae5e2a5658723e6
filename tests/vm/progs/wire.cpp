/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* iWARP at the level of octets: see wire.hpp. */
#include "wire.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

namespace wire {
namespace {

constexpr std::size_t tagged_header = 14;
constexpr std::size_t untagged_header = 18;
constexpr std::size_t read_request_header = 28;

void put(Octets &to, std::uint64_t value, unsigned int octets)
{
	while (octets-- > 0)
		to.push_back(static_cast<std::uint8_t>(value >> (8 * octets)));
}

std::uint64_t get(View from, std::size_t offset, unsigned int octets)
{
	std::uint64_t value = 0;

	for (const std::uint8_t octet : from.subspan(offset, octets))
		value = value << 8 | octet;
	return value;
}

void append(Octets &to, View more)
{
	to.insert(to.end(), more.begin(), more.end());
}

/* in the order behind the pad, least significant byte first (RFC 5044 4.4) */
Octets crc_octets(View covered)
{
	const std::uint32_t crc = crc32c(covered);
	Octets out;

	for (unsigned int i = 0; i < 4; i++)
		out.push_back(static_cast<std::uint8_t>(crc >> (8 * i)));
	return out;
}

[[noreturn]] void fail_errno(const std::string &what)
{
	throw Failure{what + ": " + std::strerror(errno)};
}

} /* namespace */

std::string hex(View octets)
{
	static constexpr char digits[] = "0123456789abcdef";
	std::string text;

	for (const std::uint8_t octet : octets) {
		text += digits[octet >> 4];
		text += digits[octet & 0xf];
	}
	return text;
}

Octets octets(std::string_view text)
{
	return {text.begin(), text.end()};
}

Octets join(std::initializer_list<View> parts)
{
	Octets all;

	for (const View part : parts)
		append(all, part);
	return all;
}

std::uint32_t crc32c(View octets)
{
	constexpr std::uint32_t polynomial = 0x82f63b78;
	std::uint32_t crc = ~0U;

	for (const std::uint8_t octet : octets) {
		crc ^= octet;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
	}
	return ~crc;
}

/* MPA start-up ************************************************************* */

Octets MpaFrame::build() const
{
	Octets frame = octets(key);

	frame.push_back(flags);
	frame.push_back(revision);
	put(frame, length.value_or(data.size()), 2);
	append(frame, data);
	return frame;
}

Octets enhanced_data(std::uint16_t first, std::uint16_t second)
{
	Octets data;

	put(data, first, 2);
	put(data, second, 2);
	return data;
}

/* Full operation *********************************************************** */

Octets Segment::build() const
{
	Octets out;

	out.push_back((tagged ? 0x80 : 0) | (last ? 0x40 : 0) | ddp_reserved | dv);
	out.push_back(rv << 6 | rdmap_reserved | opcode);
	if (tagged) {
		put(out, stag, 4);
		put(out, to, 8);
	} else {
		put(out, rsvd_ulp, 4);
		put(out, qn, 4);
		put(out, msn, 4);
		put(out, mo, 4);
	}
	append(out, payload);
	return out;
}

Octets ReadRequest::build() const
{
	Octets out;

	put(out, sink_stag, 4);
	put(out, sink_to, 8);
	put(out, size, 4);
	put(out, source_stag, 4);
	put(out, source_to, 8);
	return out;
}

Octets AtomicRequest::build() const
{
	Octets out;

	put(out, op, 4);
	put(out, id, 4);
	put(out, stag, 4);
	for (const std::uint64_t word : {to, data, mask, compare, compare_mask})
		put(out, word, 8);
	return out;
}

Segment imm(std::uint32_t msn, std::uint64_t data)
{
	Segment segment{.opcode = op_imm, .msn = msn};

	put(segment.payload, data, 8);
	return segment;
}

Segment atomic_request(std::uint32_t msn, const AtomicRequest &request)
{
	return {.opcode = op_atomic_request, .qn = 1, .msn = msn, .payload = request.build()};
}

Segment atomic_response(std::uint32_t msn, std::uint32_t id, std::uint64_t value)
{
	Segment segment{.opcode = op_atomic_response, .qn = 3, .msn = msn};

	put(segment.payload, id, 4);
	put(segment.payload, value, 8);
	return segment;
}

Segment send(std::uint32_t msn, View payload)
{
	return {.msn = msn, .payload = {payload.begin(), payload.end()}};
}

Segment send(std::uint32_t msn, std::string_view payload)
{
	return {.msn = msn, .payload = octets(payload)};
}

Segment write(std::uint32_t stag, std::uint64_t to, View payload)
{
	return {.tagged = true,
		.opcode = op_write,
		.stag = stag,
		.to = to,
		.payload = {payload.begin(), payload.end()}};
}

Segment read_request(std::uint32_t msn, const ReadRequest &request)
{
	return {.opcode = op_read_request, .qn = 1, .msn = msn, .payload = request.build()};
}

Segment read_response(std::uint32_t stag, std::uint64_t to, View payload)
{
	Segment segment = write(stag, to, payload);

	segment.opcode = op_read_response;
	return segment;
}

Segment terminate(std::uint16_t code, std::uint8_t bits, View offender)
{
	Octets body;

	put(body, code, 2);
	put(body, bits << 8, 2);
	if (bits & (term::M | term::D))
		put(body, bits & term::M ? offender.size() : 0, 2);
	if (bits & term::D) {
		const std::size_t ddp = offender[0] & 0x80 ? tagged_header : untagged_header;

		append(body, offender.first(ddp));
		if (bits & term::R)
			append(body, offender.subspan(ddp, read_request_header));
	}
	return {.opcode = op_terminate, .qn = 2, .payload = body};
}

Octets fpdu(View ulpdu, std::uint8_t pad)
{
	Octets out;

	put(out, ulpdu.size(), 2);
	append(out, ulpdu);
	while (out.size() % 4)
		out.push_back(pad);
	append(out, crc_octets(out));
	return out;
}

Octets fpdu(const Segment &segment)
{
	return fpdu(segment.build());
}

Octets marked(View fpdu, std::size_t position)
{
	Octets out;
	std::size_t begin = 0; /* of ULPDU_Length */

	for (std::size_t i = 0; i < fpdu.size(); i += 4) {
		if ((position + out.size()) % 512 == 0) {
			put(out, out.size() - begin, 4);
			if (i == 0)
				begin = 4;
		}
		append(out, fpdu.subspan(i, 4));
	}
	return sealed(std::move(out));
}

Octets sealed(Octets fpdu)
{
	fpdu.erase(fpdu.end() - 4, fpdu.end());
	append(fpdu, crc_octets(fpdu));
	return fpdu;
}

Octets spoiled(Octets fpdu)
{
	fpdu[fpdu.size() - 4] ^= 1;
	return fpdu;
}

Octets ulpdu_of(View fpdu)
{
	const View ulpdu = fpdu.subspan(2, get(fpdu, 0, 2));

	return {ulpdu.begin(), ulpdu.end()};
}

Segment parse_segment(View ulpdu)
{
	Segment segment;

	if (ulpdu.size() < 2 || ulpdu.size() < (ulpdu[0] & 0x80 ? tagged_header : untagged_header))
		throw Failure{"a segment of " + std::to_string(ulpdu.size()) + " octets"};
	segment.tagged = ulpdu[0] & 0x80;
	segment.last = ulpdu[0] & 0x40;
	segment.ddp_reserved = ulpdu[0] & 0x3c;
	segment.dv = ulpdu[0] & 0x03;
	segment.rv = ulpdu[1] >> 6;
	segment.rdmap_reserved = ulpdu[1] & 0x30;
	segment.opcode = ulpdu[1] & 0x0f;
	if (segment.tagged) {
		segment.stag = get(ulpdu, 2, 4);
		segment.to = get(ulpdu, 6, 8);
		ulpdu = ulpdu.subspan(tagged_header);
	} else {
		segment.rsvd_ulp = get(ulpdu, 2, 4);
		segment.qn = get(ulpdu, 6, 4);
		segment.msn = get(ulpdu, 10, 4);
		segment.mo = get(ulpdu, 14, 4);
		ulpdu = ulpdu.subspan(untagged_header);
	}
	segment.payload = {ulpdu.begin(), ulpdu.end()};
	return segment;
}

ReadRequest parse_read_request(const Segment &segment)
{
	const View body = segment.payload;

	if (segment.tagged || segment.opcode != op_read_request || segment.qn != 1 ||
	    segment.mo != 0 || !segment.last || body.size() != read_request_header)
		throw Failure{"not a Read Request: " + hex(segment.build())};
	return {.sink_stag = static_cast<std::uint32_t>(get(body, 0, 4)),
		.sink_to = get(body, 4, 8),
		.size = static_cast<std::uint32_t>(get(body, 12, 4)),
		.source_stag = static_cast<std::uint32_t>(get(body, 16, 4)),
		.source_to = get(body, 20, 8)};
}

/* TCP ********************************************************************** */

namespace {

/* IPv4 or IPv6 */
struct Address {
	sockaddr_storage storage{};
	socklen_t size = 0;

	Address(const std::string &text, std::uint16_t port)
	{
		auto *in4 = reinterpret_cast<sockaddr_in *>(&storage);
		auto *in6 = reinterpret_cast<sockaddr_in6 *>(&storage);

		if (inet_pton(AF_INET, text.c_str(), &in4->sin_addr) == 1) {
			in4->sin_family = AF_INET;
			in4->sin_port = htons(port);
			size = sizeof(*in4);
		} else if (inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) == 1) {
			in6->sin6_family = AF_INET6;
			in6->sin6_port = htons(port);
			size = sizeof(*in6);
		} else {
			throw Failure{"no address: " + text};
		}
	}
	[[nodiscard]] const sockaddr *get() const
	{
		return reinterpret_cast<const sockaddr *>(&storage);
	}
};

Socket tcp_socket(const Address &address)
{
	Socket socket{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	if (socket.fd() < 0)
		fail_errno("socket");
	return socket;
}

void set_option(const Socket &socket, int level, int name, int value)
{
	if (setsockopt(socket.fd(), level, name, &value, sizeof(value)))
		fail_errno("setsockopt");
}

bool wait_for(int fd, short events, Milliseconds limit)
{
	pollfd p{.fd = fd, .events = events, .revents = 0};

	return poll(&p, 1, static_cast<int>(limit.count())) == 1;
}

} /* namespace */

Socket::~Socket()
{
	close();
}

Socket::Socket(Socket &&other) noexcept : fd_{std::exchange(other.fd_, -1)}
{}

Socket &Socket::operator=(Socket &&other) noexcept
{
	std::swap(fd_, other.fd_);
	return *this;
}

void Socket::close()
{
	if (fd_ >= 0)
		::close(fd_);
	fd_ = -1;
}

Connection::Connection(Socket socket) : socket_{std::move(socket)}
{
	const auto ms = patience.count();
	const timeval limit{.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	set_option(socket_, IPPROTO_TCP, TCP_NODELAY, 1);
	if (setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		fail_errno("setsockopt");
}

Connection Connection::to(const std::string &address, std::uint16_t port, int receive_buffer)
{
	const Address peer{address, port};
	Socket socket = tcp_socket(peer);

	if (receive_buffer > 0)
		set_option(socket, SOL_SOCKET, SO_RCVBUF, receive_buffer);
	if (connect(socket.fd(), peer.get(), peer.size)) {
		if (errno == ECONNRESET)
			throw Ended{"reset while connecting"};
		fail_errno("connect");
	}
	return Connection{std::move(socket)};
}

Connection Connection::to_at(const std::string &address, std::uint16_t port, std::uint32_t sequence)
{
	const Address peer{address, port};
	Socket socket = tcp_socket(peer);

	/* the SYN takes one sequence number */
	set_option(socket, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_ON);
	set_option(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE);
	set_option(socket, IPPROTO_TCP, TCP_QUEUE_SEQ, static_cast<int>(sequence - 1));
	set_option(socket, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP);
	if (connect(socket.fd(), peer.get(), peer.size))
		fail_errno("connect");
	return Connection{std::move(socket)};
}

std::size_t Connection::segment_size() const
{
	int size = 0;
	socklen_t length = sizeof(size);

	if (getsockopt(socket_.fd(), IPPROTO_TCP, TCP_MAXSEG, &size, &length))
		fail_errno("getsockopt");
	return size;
}

void Connection::send(View octets)
{
	while (!octets.empty()) {
		const ssize_t n = ::send(socket_.fd(), octets.data(), octets.size(), MSG_NOSIGNAL);

		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			throw Ended{"the stream ended while octets were sent"};
		if (n < 0)
			fail_errno("send");
		octets = octets.subspan(n);
	}
}

void Connection::send_changing(View octets, std::size_t offset, std::uint8_t other,
			       Milliseconds time)
{
	const Socket file{memfd_create("octets", MFD_CLOEXEC)};

	if (file.fd() < 0 || ftruncate(file.fd(), static_cast<off_t>(octets.size())))
		fail_errno("memfd_create");
	void *map = mmap(nullptr, octets.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
	if (map == MAP_FAILED)
		fail_errno("mmap");
	auto *page = static_cast<std::uint8_t *>(map);
	std::ranges::copy(octets, page);

	std::atomic<bool> stop{false};
	std::atomic<unsigned int> changed{0};
	std::thread changes{[&] {
		const std::atomic_ref octet{page[offset]};

		for (; !stop; changed++) {
			octet = other;
			octet = octets[offset];
		}
	}};
	while (changed < 1000)
		std::this_thread::yield();
	off_t from = 0;
	const ssize_t n = sendfile(socket_.fd(), file.fd(), &from, octets.size());
	const int err = errno;

	std::this_thread::sleep_for(time);
	stop = true;
	changes.join();
	munmap(map, octets.size());
	errno = err;
	if (n != static_cast<ssize_t>(octets.size()))
		fail_errno("sendfile");
}

void Connection::dribble(View octets, std::size_t piece)
{
	while (!octets.empty()) {
		const std::size_t n = std::min(piece, octets.size());

		send(octets.first(n));
		octets = octets.subspan(n);
		/* keeps TCP from joining the pieces */
		std::this_thread::sleep_for(1ms);
	}
}

bool Connection::readable(Milliseconds limit) const
{
	return wait_for(socket_.fd(), POLLIN, limit);
}

Octets Connection::receive(std::size_t count, Milliseconds limit)
{
	const auto deadline = std::chrono::steady_clock::now() + limit;
	Octets got(count);
	std::size_t have = 0;

	while (have < count) {
		const auto left = std::chrono::duration_cast<Milliseconds>(
			deadline - std::chrono::steady_clock::now());

		if (left <= 0ms || !readable(left))
			throw Failure{"only " + std::to_string(have) + " of " +
				      std::to_string(count) +
				      " octets came in time: " + hex(View{got}.first(have))};
		const ssize_t n = recv(socket_.fd(), got.data() + have, count - have, 0);
		if (n <= 0)
			throw Ended{(n ? "reset" : "end") + std::string{" of the stream after "} +
				    std::to_string(have) + " of " + std::to_string(count) +
				    " octets: " + hex(View{got}.first(have))};
		have += n;
	}
	return got;
}

Octets Connection::receive_fpdu(Milliseconds limit)
{
	Octets frame = receive(2, limit);
	const std::size_t ulpdu = get(frame, 0, 2);
	const std::size_t pad = (4 - (2 + ulpdu) % 4) % 4;

	append(frame, receive(ulpdu + pad + 4, limit));
	const View whole = frame;
	if (!std::ranges::equal(crc_octets(whole.first(whole.size() - 4)), whole.last(4)))
		throw Failure{"wrong CRC: " + hex(whole)};
	for (const std::uint8_t octet : whole.subspan(2 + ulpdu, pad))
		if (octet)
			throw Failure{"pad is not 0: " + hex(whole)};
	return ulpdu_of(whole);
}

MpaFrame Connection::receive_mpa(std::string_view key, Milliseconds limit)
{
	const Octets header = receive(mpa::header, limit);
	const auto length = static_cast<std::uint16_t>(get(header, 18, 2));

	if (!std::equal(key.begin(), key.end(), header.begin()))
		throw Failure{"wrong key: " + hex(header)};
	if (length > 512)
		throw Failure{"PD_Length " + std::to_string(length)};
	return {.key = key,
		.flags = header[16],
		.revision = header[17],
		.length = length,
		.data = receive(length, limit)};
}

End Connection::expect_end(Milliseconds limit)
{
	std::array<std::uint8_t, 256> unwanted{};

	if (!readable(limit))
		throw Failure{"the stream does not end"};
	const ssize_t n = recv(socket_.fd(), unwanted.data(), unwanted.size(), 0);
	if (n > 0)
		throw Failure{"octets in place of the end: " + hex(View{unwanted}.first(n))};
	return n ? End::reset : End::fin;
}

void Connection::expect_silence(Milliseconds time)
{
	std::array<std::uint8_t, 256> unwanted{};

	if (!readable(time))
		return;
	const ssize_t n = recv(socket_.fd(), unwanted.data(), unwanted.size(), 0);
	throw Failure{n > 0 ? "octets in place of silence: " + hex(View{unwanted}.first(n))
			    : "end in place of silence"};
}

void Connection::shut_write()
{
	shutdown(socket_.fd(), SHUT_WR);
}

void Connection::reset()
{
	const linger now{.l_onoff = 1, .l_linger = 0};

	setsockopt(socket_.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	socket_.close();
}

Listener::Listener(const std::string &address, std::uint16_t port)
{
	const Address local{address, port};

	socket_ = tcp_socket(local);
	set_option(socket_, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(socket_.fd(), local.get(), local.size) || listen(socket_.fd(), 64))
		fail_errno("listen");
}

Connection Listener::accept(Milliseconds limit)
{
	if (!wait_for(socket_.fd(), POLLIN, limit))
		throw Failure{"nobody connects"};
	Socket socket{accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC)};
	if (socket.fd() < 0)
		fail_errno("accept");
	return Connection{std::move(socket)};
}

bool Listener::quiet(Milliseconds time) const
{
	return !wait_for(socket_.fd(), POLLIN, time);
}

} /* namespace wire */
