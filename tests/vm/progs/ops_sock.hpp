// SPDX-License-Identifier: GPL-2.0 OR MIT
// Stream sockets of the offload protocol switch, for its test programs: descriptors that close
// themselves, and the family, protocol and address that a program got.
#ifndef OPS_SOCK_HPP
#define OPS_SOCK_HPP

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace ops {

class Fd {
public:
	Fd() = default;
	explicit Fd(int fd) : fd_(fd)
	{}
	Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1))
	{}
	Fd &operator=(Fd &&other) noexcept
	{
		std::swap(fd_, other.fd_);
		return *this;
	}
	~Fd()
	{
		close();
	}
	void close()
	{
		if (fd_ >= 0)
			::close(std::exchange(fd_, -1));
	}
	int release()
	{
		return std::exchange(fd_, -1);
	}
	operator int() const
	{
		return fd_;
	}

private:
	int fd_ = -1;
};

struct Address {
	sockaddr_storage storage{};
	socklen_t size = sizeof(sockaddr_storage);

	sockaddr *raw()
	{
		return reinterpret_cast<sockaddr *>(&storage);
	}
	bool v6() const
	{
		return storage.ss_family == AF_INET6;
	}
	std::uint16_t port() const
	{
		return ntohs(v6() ? reinterpret_cast<const sockaddr_in6 *>(&storage)->sin6_port
				  : reinterpret_cast<const sockaddr_in *>(&storage)->sin_port);
	}
	void set_port(std::uint16_t port)
	{
		if (v6())
			reinterpret_cast<sockaddr_in6 *>(&storage)->sin6_port = htons(port);
		else
			reinterpret_cast<sockaddr_in *>(&storage)->sin_port = htons(port);
	}
	std::string text() const
	{
		char ip[INET6_ADDRSTRLEN] = "";

		if (v6())
			inet_ntop(AF_INET6,
				  &reinterpret_cast<const sockaddr_in6 *>(&storage)->sin6_addr, ip,
				  sizeof(ip));
		else
			inet_ntop(AF_INET,
				  &reinterpret_cast<const sockaddr_in *>(&storage)->sin_addr, ip,
				  sizeof(ip));
		return std::string(ip) + "." + std::to_string(port());
	}
};

inline std::optional<Address> parse(const char *text, std::uint16_t port = 0)
{
	Address address;
	auto *in6 = reinterpret_cast<sockaddr_in6 *>(&address.storage);
	auto *in = reinterpret_cast<sockaddr_in *>(&address.storage);

	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		address.size = sizeof(*in6);
	} else if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		address.size = sizeof(*in);
	} else {
		return std::nullopt;
	}
	address.set_port(port);
	return address;
}

inline Address name_of(int fd)
{
	Address address;

	getsockname(fd, address.raw(), &address.size);
	return address;
}

inline int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, level, name, &value, &size) ? -errno : value;
}

inline bool set_option(int fd, int level, int name, int value)
{
	return !setsockopt(fd, level, name, &value, sizeof(value));
}

} // namespace ops

#endif
