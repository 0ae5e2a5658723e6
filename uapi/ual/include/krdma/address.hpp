/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Network addresses with a port, IPv4 and IPv6. */
#ifndef KRDMA_ADDRESS_HPP
#define KRDMA_ADDRESS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include <krdma/krdma-abi.h>

namespace krdma {

/** An IPv4 or IPv6 address, with a port; or none. */
class Address {
public:
	/** No address. */
	Address() noexcept = default;

	/** From the kernel's form. */
	explicit Address(const krdma_addr &raw) noexcept : raw_{raw}
	{}

	/**
	 * Reads "10.0.0.1", "10.0.0.1:7000", "fd00::1", "fe80::1%eth0", "[fd00::1]:7000".
	 * "*" and "::" are the addresses of all interfaces, IPv4 and IPv6.
	 * @throws std::system_error EINVAL: not one of these forms; ENODEV: no such interface.
	 */
	[[nodiscard]] static Address parse(std::string_view text);

	/** Like parse(); returns nothing on an error. */
	[[nodiscard]] static std::optional<Address> try_parse(std::string_view text) noexcept;

	/**
	 * Like parse(), and also takes host names: "server", "server:7000". Asks the host's
	 * resolver, which may take seconds, and returns its first address.
	 * @param family AF_INET or AF_INET6: only an address of that family; 0: any
	 * @throws krdma::Error EINVAL: not such a form; ENXIO: no such host, or no such address of
	 *         it; EAGAIN: the resolver does not answer; ENODEV: no such interface.
	 */
	[[nodiscard]] static Address resolve(std::string_view text, int family = 0);

	/**
	 * From the socket API's form.
	 * @throws krdma::Error EINVAL: too short; EAFNOSUPPORT: neither AF_INET nor AF_INET6.
	 */
	[[nodiscard]] static Address from_sockaddr(const sockaddr *address, socklen_t length);
	/** In the socket API's form; family AF_UNSPEC for no address. */
	[[nodiscard]] sockaddr_storage to_sockaddr() const noexcept;

	/** The wildcard address of a family. @param family AF_INET or AF_INET6 */
	[[nodiscard]] static Address any(int family, std::uint16_t port = 0) noexcept;

	/** The same address with another port. */
	[[nodiscard]] Address with_port(std::uint16_t port) const noexcept;

	/** AF_INET, AF_INET6, or 0 for no address. */
	[[nodiscard]] int family() const noexcept
	{
		return raw_.family;
	}

	[[nodiscard]] bool empty() const noexcept
	{
		return raw_.family == 0;
	}

	/** The port in the host's byte order. */
	[[nodiscard]] std::uint16_t port() const noexcept;

	/** The address without its port; "" for no address. */
	[[nodiscard]] std::string host() const;

	/** The address, with its port if that is not 0, in the form that parse() reads. */
	[[nodiscard]] std::string to_string() const;

	[[nodiscard]] const krdma_addr &raw() const noexcept
	{
		return raw_;
	}

	friend bool operator==(const Address &a, const Address &b) noexcept;

private:
	krdma_addr raw_{};
};

} /* namespace krdma */

#endif /* KRDMA_ADDRESS_HPP */
