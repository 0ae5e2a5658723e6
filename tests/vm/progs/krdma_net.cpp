// SPDX-License-Identifier: GPL-2.0 OR MIT
// The network stack interface of /dev/krdma from the command line, for cases that compare it with
// iproute2.
//
// locals DST: prints the addresses that reach DST, "ADDRESS IFINDEX RNIC" a line.
// route DST [src A] [oif N]: prints "src A via A|- ifindex N mtu N local 0|1 rnic N".
// neigh ADDR N [ask|watch]: prints "state S lladdr L|-", and then the event or events.
// port ADDR PORT [hold]: prints "port N"; hold reserves the port until the program is killed.
// socket ADDR PORT [reuse] [reuseport] [listen] [hold]: the same with a socket of the host.
// monitor MASK: prints events, one a line, until the program is killed.
// mib: prints "NAME VALUE" a line.
// refusals: tries commands that must be refused.
//
// An address is A, or A%IFINDEX if it is link-local. After an error the program prints
// "errno NAME", and its exit status is 1.
#include <arpa/inet.h>
#include <fcntl.h>
#include <krdma/krdma-abi.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

class Failure : public std::runtime_error {
public:
	explicit Failure(int code) : std::runtime_error(strerrorname_np(code)), code(code)
	{}
	int code;
};

class Device {
public:
	Device() : fd(open(KRDMA_DEVICE, O_RDWR | O_CLOEXEC))
	{
		if (fd < 0)
			throw Failure(errno);
	}
	~Device()
	{
		close(fd);
	}
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	template <class T> void operator()(unsigned int number, T &cmd) const
	{
		cmd.size = sizeof(cmd);
		raw(number, &cmd);
	}
	void raw(unsigned int number, void *cmd) const
	{
		if (ioctl(fd, number, cmd) < 0)
			throw Failure(errno);
	}

	const int fd;
};

unsigned number(const std::string &text)
{
	return static_cast<unsigned>(std::stoul(text, nullptr, 0));
}

krdma_addr address(const std::string &text, unsigned port = 0)
{
	const size_t percent = text.find('%');
	const std::string plain = text.substr(0, percent);
	krdma_addr addr = {};

	if (inet_pton(AF_INET, plain.c_str(), addr.addr) == 1)
		addr.family = AF_INET;
	else if (inet_pton(AF_INET6, plain.c_str(), addr.addr) == 1)
		addr.family = AF_INET6;
	else
		throw std::runtime_error("no address: " + text);
	if (percent != std::string::npos)
		addr.scope_id = number(text.substr(percent + 1));
	addr.port = htons(static_cast<uint16_t>(port));
	return addr;
}

std::string text(const krdma_addr &addr)
{
	std::array<char, INET6_ADDRSTRLEN> buf = {};

	if (!addr.family)
		return "-";
	inet_ntop(addr.family, addr.addr, buf.data(), buf.size());
	return buf.data();
}

std::string hex(const __u8 *octets, unsigned len)
{
	std::string out;

	for (unsigned i = 0; i < len; i++) {
		std::array<char, 4> octet = {};
		snprintf(octet.data(), octet.size(), "%s%02x", i ? ":" : "", octets[i]);
		out += octet.data();
	}
	return out.empty() ? "-" : out;
}

void locals(const Words &args)
{
	const Device device;
	krdma_net_locals cmd = {};
	std::vector<krdma_net_local> entries;

	do {
		entries.resize(cmd.count);
		cmd.dst = address(args.at(1));
		cmd.entries = reinterpret_cast<uintptr_t>(entries.data());
		device(KRDMA_IOC_NET_LOCAL, cmd);
	} while (cmd.count > entries.size());
	for (const krdma_net_local &entry : entries)
		printf("%s %u %u\n", text(entry.addr).c_str(), entry.ifindex, entry.rnic);
}

void route(const Words &args)
{
	const Device device;
	krdma_net_route cmd = {};

	cmd.dst = address(args.at(1));
	for (size_t i = 2; i + 1 < args.size(); i += 2) {
		if (args[i] == "src")
			cmd.src = address(args[i + 1]);
		else
			cmd.ifindex = number(args[i + 1]);
	}
	device(KRDMA_IOC_NET_ROUTE, cmd);
	printf("src %s via %s ifindex %u mtu %u local %d rnic %u\n", text(cmd.src).c_str(),
	       cmd.flags & KRDMA_ROUTE_GATEWAY ? text(cmd.next_hop).c_str() : "-", cmd.ifindex,
	       cmd.mtu, cmd.flags & KRDMA_ROUTE_LOCAL ? 1 : 0, cmd.rnic);
}

void show(const krdma_event &base)
{
	if (base.type == KRDMA_EVENT_NEIGH) {
		krdma_neigh_event event;
		memcpy(&event, &base, sizeof(event));
		printf("neigh %s ifindex %u state 0x%02x lladdr %s status %d cookie %llu\n",
		       text(event.addr).c_str(), event.ifindex, event.state,
		       hex(event.lladdr, event.lladdr_len).c_str(), event.base.status,
		       event.base.cookie);
	} else if (base.type == KRDMA_EVENT_NET) {
		krdma_net_event event;
		memcpy(&event, &base, sizeof(event));
		printf("net %u gone %u ifindex %u rnic %u mtu %u up %u addr %s/%u name %s\n",
		       event.base.code, event.gone, event.ifindex, event.rnic, event.mtu, event.up,
		       text(event.addr).c_str(), event.prefix_len,
		       event.name[0] ? event.name : "-");
	} else {
		printf("event %u code %u\n", base.type, base.code);
	}
	fflush(stdout);
}

// waits for events; until there was one of the network, if only that is wanted
void events(const Device &device, bool once)
{
	alignas(8) std::array<char, 4096> buf;

	for (;;) {
		pollfd wait = {device.fd, POLLIN, 0};
		poll(&wait, 1, -1);
		const ssize_t len = read(device.fd, buf.data(), buf.size());
		if (len < 0)
			throw Failure(errno);
		for (ssize_t at = 0; at < len;) {
			const auto *event = reinterpret_cast<const krdma_event *>(&buf[at]);
			show(*event);
			at += event->size;
		}
		if (once)
			return;
	}
}

void neigh(const Words &args)
{
	const std::string how = args.size() > 3 ? args[3] : "";
	const Device device;
	krdma_net_neigh cmd = {};

	cmd.addr = address(args.at(1));
	cmd.ifindex = number(args.at(2));
	cmd.cookie = 4711;
	if (how == "ask")
		cmd.flags = KRDMA_NEIGH_ASK;
	else if (how == "watch")
		cmd.flags = KRDMA_NEIGH_WATCH;
	device(KRDMA_IOC_NET_NEIGH, cmd);
	printf("state 0x%02x lladdr %s\n", cmd.state, hex(cmd.lladdr, cmd.lladdr_len).c_str());
	fflush(stdout);
	if (cmd.handle)
		events(device, how == "ask");
}

void port(const Words &args)
{
	const Device device;
	krdma_port cmd = {};

	cmd.addr = address(args.at(1), number(args.at(2)));
	cmd.protocol = IPPROTO_TCP;
	device(KRDMA_IOC_PORT, cmd);
	printf("port %u\n", ntohs(cmd.addr.port));
	fflush(stdout);
	if (args.size() > 3) {
		pause();
		return;
	}
	krdma_destroy destroy = {};
	destroy.handle = cmd.handle;
	device(KRDMA_IOC_DESTROY, destroy);
}

void host_socket(const Words &args)
{
	const krdma_addr addr = address(args.at(1), number(args.at(2)));
	const int fd = socket(addr.family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	const auto told = [&](const char *word) {
		return std::find(args.begin() + 3, args.end(), word) != args.end();
	};
	sockaddr_storage name = {};
	socklen_t len = sizeof(name);

	// both begin with family and port
	memcpy(&name, &addr, 4);
	if (addr.family == AF_INET)
		memcpy(reinterpret_cast<char *>(&name) + offsetof(sockaddr_in, sin_addr), addr.addr,
		       4);
	else
		memcpy(reinterpret_cast<char *>(&name) + offsetof(sockaddr_in6, sin6_addr),
		       addr.addr, 16);
	if (told("reuse"))
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (told("reuseport"))
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (bind(fd, reinterpret_cast<sockaddr *>(&name), len) < 0)
		throw Failure(errno);
	if (told("listen") && listen(fd, 1) < 0)
		throw Failure(errno);
	getsockname(fd, reinterpret_cast<sockaddr *>(&name), &len);
	printf("port %u\n", ntohs(reinterpret_cast<const sockaddr_in *>(&name)->sin_port));
	fflush(stdout);
	if (told("hold"))
		pause();
	close(fd);
}

void monitor(const Words &args)
{
	const Device device;
	krdma_net_subscribe cmd = {};

	cmd.mask = number(args.at(1));
	device(KRDMA_IOC_NET_SUBSCRIBE, cmd);
	printf("subscribed\n");
	fflush(stdout);
	events(device, false);
}

void mib(const Words &)
{
	const Device device;
	std::vector<krdma_counter> entries;
	krdma_mib cmd = {};

	do {
		entries.resize(cmd.count);
		cmd.entries = reinterpret_cast<uintptr_t>(entries.data());
		device(KRDMA_IOC_MIB, cmd);
	} while (cmd.count > entries.size());
	for (const krdma_counter &entry : entries)
		printf("%s %llu\n", entry.name, entry.value);
}

// a command that must be refused, and how
template <class T, class Fill>
void refused(const char *what, const Device &device, unsigned number, int wanted, Fill fill)
{
	T cmd = {};

	fill(cmd);
	try {
		device(number, cmd);
	} catch (const Failure &failure) {
		if (failure.code == wanted)
			return;
		throw std::runtime_error(std::string(what) + ": " + failure.what());
	}
	throw std::runtime_error(std::string(what) + ": accepted");
}

template <class Fill> void no_route(const Device &device, const char *what, int wanted, Fill fill)
{
	refused<krdma_net_route>(what, device, KRDMA_IOC_NET_ROUTE, wanted, fill);
}

template <class Fill> void no_neigh(const Device &device, const char *what, int wanted, Fill fill)
{
	refused<krdma_net_neigh>(what, device, KRDMA_IOC_NET_NEIGH, wanted, fill);
}

template <class Fill> void no_port(const Device &device, const char *what, int wanted, Fill fill)
{
	refused<krdma_port>(what, device, KRDMA_IOC_PORT, wanted, [&](krdma_port &cmd) {
		cmd.protocol = IPPROTO_TCP;
		fill(cmd);
	});
}

void refusals(const Words &)
{
	const krdma_addr good = address("10.77.0.2"), group = address("224.0.0.1");
	const Device d;

	no_route(d, "no destination", EAFNOSUPPORT, [](auto &) {});
	no_route(d, "family", EAFNOSUPPORT, [](auto &cmd) { cmd.dst.family = AF_UNIX; });
	no_route(d, "octets behind", EINVAL, [&](auto &cmd) {
		cmd.dst = good;
		cmd.dst.addr[9] = 1;
	});
	no_route(d, "group", EINVAL, [&](auto &cmd) { cmd.dst = group; });
	no_route(d, "zero", EINVAL, [](auto &cmd) { cmd.dst = address("0.0.0.0"); });
	no_route(d, "mapped", EAFNOSUPPORT,
		 [](auto &cmd) { cmd.dst = address("::ffff:10.77.0.2"); });
	no_route(d, "two families", EINVAL, [&](auto &cmd) {
		cmd.dst = good;
		cmd.src = address("fd77::1");
	});
	no_route(d, "source", EADDRNOTAVAIL, [&](auto &cmd) {
		cmd.dst = good;
		cmd.src = address("10.77.0.9");
	});
	no_route(d, "IPv6 source", EADDRNOTAVAIL, [](auto &cmd) {
		cmd.dst = address("fd77::2");
		cmd.src = address("fd77::9");
	});
	no_route(d, "interface", ENODEV, [&](auto &cmd) {
		cmd.dst = good;
		cmd.ifindex = 9999;
	});
	no_route(d, "huge interface", EINVAL, [&](auto &cmd) {
		cmd.dst = good;
		cmd.ifindex = 0xffffffff;
	});
	no_route(d, "reserved", EINVAL, [&](auto &cmd) {
		cmd.dst = good;
		cmd.reserved = 1;
	});
	refused<krdma_net_locals>("no link", d, KRDMA_IOC_NET_LOCAL, EINVAL,
				  [](auto &cmd) { cmd.dst = address("fe80::1"); });
	refused<krdma_net_locals>("entries", d, KRDMA_IOC_NET_LOCAL, EFAULT, [&](auto &cmd) {
		cmd.dst = good;
		cmd.count = 9;
		cmd.entries = 8;
	});
	no_neigh(d, "neighbour's flags", EINVAL, [&](auto &cmd) {
		cmd.addr = good;
		cmd.ifindex = 1;
		cmd.flags = 4;
	});
	no_neigh(d, "neighbour's interface", ENODEV, [&](auto &cmd) {
		cmd.addr = good;
		cmd.ifindex = 9999;
		cmd.flags = KRDMA_NEIGH_ASK;
	});
	no_neigh(d, "neighbour's group", EINVAL, [&](auto &cmd) {
		cmd.addr = group;
		cmd.ifindex = 1;
		cmd.flags = KRDMA_NEIGH_ASK;
	});
	no_neigh(d, "neighbour zero", EINVAL, [](auto &cmd) {
		cmd.addr = address("0.0.0.0");
		cmd.ifindex = 1;
	});
	no_port(d, "protocol", EPROTONOSUPPORT, [&](auto &cmd) {
		cmd.addr = good;
		cmd.protocol = IPPROTO_UDP;
	});
	no_port(d, "port's reserved", EINVAL, [&](auto &cmd) {
		cmd.addr = good;
		cmd.reserved = 1;
	});
	no_port(d, "another host's port", EADDRNOTAVAIL, [&](auto &cmd) { cmd.addr = good; });
	no_port(d, "group's port", EADDRNOTAVAIL, [&](auto &cmd) { cmd.addr = group; });
	no_port(d, "broadcast's port", EADDRNOTAVAIL,
		[](auto &cmd) { cmd.addr = address("10.77.0.255"); });
	refused<krdma_net_subscribe>("mask", d, KRDMA_IOC_NET_SUBSCRIBE, EINVAL,
				     [](auto &cmd) { cmd.mask = 0x80000000; });
	refused<krdma_mib>("counters", d, KRDMA_IOC_MIB, EFAULT, [](auto &cmd) {
		cmd.count = 9;
		cmd.entries = 8;
	});
}

int run(const Words &args)
{
	const std::string what = args.empty() ? "" : args[0];

	if (what == "locals")
		locals(args);
	else if (what == "route")
		route(args);
	else if (what == "neigh")
		neigh(args);
	else if (what == "port")
		port(args);
	else if (what == "socket")
		host_socket(args);
	else if (what == "monitor")
		monitor(args);
	else if (what == "mib")
		mib(args);
	else if (what == "refusals")
		refusals(args);
	else
		throw std::runtime_error("what?");
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		return run(Words(argv + 1, argv + argc));
	} catch (const Failure &failure) {
		printf("errno %s\n", failure.what());
	} catch (const std::exception &error) {
		fprintf(stderr, "krdma_net: %s\n", error.what());
	}
	return 1;
}
