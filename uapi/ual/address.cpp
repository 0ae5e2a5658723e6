/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Network addresses: parsing, printing and comparing. */
#include <krdma/address.hpp>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <krdma/error.hpp>

namespace krdma {
namespace {

/* 0 or an errno */
int parse_port(std::string_view text, std::uint16_t &port)
{
	const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), port);

	return text.empty() || err != std::errc{} || end != text.data() + text.size() ? EINVAL : 0;
}

int parse_scope(std::string_view text, std::uint32_t &scope)
{
	const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), scope);

	if (text.empty())
		return EINVAL;
	if (err == std::errc{} && end == text.data() + text.size())
		return 0;
	scope = if_nametoindex(std::string{text}.c_str());
	return scope ? 0 : ENODEV;
}

int parse_host(std::string_view text, krdma_addr &to)
{
	if (text == "*") {
		to.family = AF_INET;
		return 0;
	}
	if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
		if (int err = parse_scope(text.substr(percent + 1), to.scope_id))
			return err;
		text = text.substr(0, percent);
	}
	const std::string host{text};
	if (to.scope_id == 0 && inet_pton(AF_INET, host.c_str(), to.addr) == 1)
		to.family = AF_INET;
	else if (inet_pton(AF_INET6, host.c_str(), to.addr) == 1)
		to.family = AF_INET6;
	else
		return EINVAL;
	return 0;
}

int parse_address(std::string_view text, krdma_addr &to)
{
	std::string_view host = text;
	std::string_view port;

	if (text.starts_with('[')) {
		const std::size_t end = text.find(']');

		if (end == std::string_view::npos)
			return EINVAL;
		host = text.substr(1, end - 1);
		text = text.substr(end + 1);
		if (host.find(':') == std::string_view::npos ||
		    (!text.empty() && !text.starts_with(':')))
			return EINVAL;
		port = text.empty() ? "0" : text.substr(1);
	} else if (const std::size_t colon = text.find(':');
		   colon != std::string_view::npos && colon == text.rfind(':')) {
		host = text.substr(0, colon);
		port = text.substr(colon + 1);
	} else {
		port = "0";
	}

	std::uint16_t number = 0;
	if (int err = parse_port(port, number))
		return err;
	to.port = htons(number);
	return parse_host(host, to);
}

} /* namespace */

Address Address::parse(std::string_view text)
{
	krdma_addr raw{};

	if (int err = parse_address(text, raw))
		throw Error{err, "address '" + std::string{text} + "'"};
	return Address{raw};
}

std::optional<Address> Address::try_parse(std::string_view text) noexcept
{
	krdma_addr raw{};

	if (parse_address(text, raw))
		return std::nullopt;
	return Address{raw};
}

namespace {

/* the errno for an error of getaddrinfo() */
int errno_of(int error) noexcept
{
	switch (error) {
	case EAI_SYSTEM:
		return errno;
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_MEMORY:
		return ENOMEM;
	default:
		return ENXIO;
	}
}

/* Is it meant as a number, such as 10.77.0? getaddrinfo() would read that as 10.77.0.0. */
bool is_number(std::string_view host) noexcept
{
	const std::string_view last = host.substr(host.rfind('.') + 1);

	return last.starts_with("0x") ||
	       last.find_first_not_of("0123456789") == std::string_view::npos;
}

krdma_addr look_up(const std::string &host, int family, const std::string &what)
{
	addrinfo hints{};
	addrinfo *found = nullptr;

	hints.ai_family = family;
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = AI_ADDRCONFIG;
	if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found))
		throw Error{errno_of(error), what, {}, gai_strerror(error)};
	const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all{found, freeaddrinfo};
	return Address::from_sockaddr(all->ai_addr, all->ai_addrlen).raw();
}

} /* namespace */

Address Address::resolve(std::string_view text, int family)
{
	const std::string what = "address '" + std::string{text} + "'";
	krdma_addr raw{};
	const int err = parse_address(text, raw);

	if (!err && family && raw.family != family)
		throw Error{ENXIO, what, {}, "an address of the other family"};
	if (!err)
		return Address{raw};
	/* what is no number may be a name; colons are only in front of a port then */
	const std::size_t colon = text.find(':');
	const std::string host{text.substr(0, colon)};
	std::uint16_t port = 0;

	if (err != EINVAL || host.empty() || is_number(host) ||
	    host.find_first_of("[]%*") != std::string::npos ||
	    (colon != std::string_view::npos && parse_port(text.substr(colon + 1), port)))
		throw Error{err, what};
	raw = look_up(host, family, what);
	raw.port = htons(port);
	return Address{raw};
}

Address Address::from_sockaddr(const sockaddr *address, socklen_t length)
{
	krdma_addr raw{};

	if (length < sizeof(address->sa_family))
		throw Error{EINVAL, "socket address"};
	if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
		sockaddr_in in{};

		std::memcpy(&in, address, sizeof(in));
		std::memcpy(raw.addr, &in.sin_addr, sizeof(in.sin_addr));
		raw.port = in.sin_port;
	} else if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
		sockaddr_in6 in6{};

		std::memcpy(&in6, address, sizeof(in6));
		std::memcpy(raw.addr, &in6.sin6_addr, sizeof(in6.sin6_addr));
		raw.port = in6.sin6_port;
		raw.scope_id = in6.sin6_scope_id;
	} else {
		const bool known = address->sa_family == AF_INET || address->sa_family == AF_INET6;

		throw Error{known ? EINVAL : EAFNOSUPPORT, "socket address"};
	}
	raw.family = address->sa_family;
	return Address{raw};
}

sockaddr_storage Address::to_sockaddr() const noexcept
{
	sockaddr_storage to{};

	if (raw_.family == AF_INET) {
		sockaddr_in in{};

		in.sin_family = AF_INET;
		in.sin_port = raw_.port;
		std::memcpy(&in.sin_addr, raw_.addr, sizeof(in.sin_addr));
		std::memcpy(&to, &in, sizeof(in));
	} else if (raw_.family == AF_INET6) {
		sockaddr_in6 in6{};

		in6.sin6_family = AF_INET6;
		in6.sin6_port = raw_.port;
		in6.sin6_scope_id = raw_.scope_id;
		std::memcpy(&in6.sin6_addr, raw_.addr, sizeof(in6.sin6_addr));
		std::memcpy(&to, &in6, sizeof(in6));
	}
	return to;
}

Address Address::any(int family, std::uint16_t port) noexcept
{
	krdma_addr raw{};

	raw.family = static_cast<std::uint16_t>(family);
	raw.port = htons(port);
	return Address{raw};
}

Address Address::with_port(std::uint16_t port) const noexcept
{
	Address other{*this};

	other.raw_.port = htons(port);
	return other;
}

std::uint16_t Address::port() const noexcept
{
	return ntohs(raw_.port);
}

std::string Address::host() const
{
	char buffer[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE];

	if (raw_.family != AF_INET && raw_.family != AF_INET6)
		return {};
	inet_ntop(raw_.family, raw_.addr, buffer, sizeof(buffer));
	std::string host{buffer};
	if (raw_.family == AF_INET6 && raw_.scope_id) {
		char name[IF_NAMESIZE];

		host += '%';
		host += if_indextoname(raw_.scope_id, name) ? name
							    : std::to_string(raw_.scope_id).c_str();
	}
	return host;
}

std::string Address::to_string() const
{
	std::string address = host();

	if (!raw_.port || address.empty())
		return address;
	if (raw_.family == AF_INET6)
		return '[' + address + "]:" + std::to_string(port());
	return address + ':' + std::to_string(port());
}

bool operator==(const Address &a, const Address &b) noexcept
{
	return std::memcmp(&a.raw_, &b.raw_, sizeof(a.raw_)) == 0;
}

} /* namespace krdma */
