/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Network addresses: parsing, printing and comparing. */
#include <krdma/address.hpp>

#include <charconv>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <net/if.h>

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
		throw std::system_error{err, std::generic_category(),
					"address '" + std::string{text} + "'"};
	return Address{raw};
}

std::optional<Address> Address::try_parse(std::string_view text) noexcept
{
	krdma_addr raw{};

	if (parse_address(text, raw))
		return std::nullopt;
	return Address{raw};
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
