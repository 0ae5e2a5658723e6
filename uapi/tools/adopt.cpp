/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The subcommand adopt: which RDMA devices of the kernel are RNICs, by krdma_hw's netlink family.
 */
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <krdma/hw-netlink.h>

#include "command.hpp"

namespace krdma::tools {
namespace {

[[noreturn]] void fail(int error, const char *what)
{
	throw std::system_error{error, std::generic_category(), what};
}

struct Close {
	void operator()(mnl_socket *socket) const
	{
		mnl_socket_close(socket);
	}
};

/* a device of ib_core, as krdma_hw tells */
struct HwDevice {
	std::string name;
	std::uint8_t choice{};
	bool adopted{};
	std::uint32_t error{};
};

/** class HwNetlink - krdma_hw's generic netlink family */
class HwNetlink {
public:
	HwNetlink() : socket_{mnl_socket_open(NETLINK_GENERIC)}
	{
		if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0)
			fail(errno, "netlink");
		nlmsghdr *message = begin(GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY, 1);
		mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, KRDMA_HW_GENL_NAME);
		if (const int error = exchange(message, take_family, &family_))
			fail(error, error == ENOENT ? "krdma_hw is not loaded" : "netlink");
	}

	[[nodiscard]] std::vector<HwDevice> devices()
	{
		std::vector<HwDevice> all;
		nlmsghdr *message =
			begin(family_, NLM_F_DUMP, KRDMA_HW_CMD_GET, KRDMA_HW_GENL_VERSION);

		if (const int error = exchange(message, take_device, &all))
			fail(error, "list of devices");
		return all;
	}

	void choose(const std::string &name, krdma_hw_choice choice)
	{
		nlmsghdr *message =
			begin(family_, NLM_F_ACK, KRDMA_HW_CMD_SET, KRDMA_HW_GENL_VERSION);

		mnl_attr_put_strz(message, KRDMA_HW_ATTR_NAME, name.c_str());
		mnl_attr_put_u8(message, KRDMA_HW_ATTR_CHOICE, choice);
		if (const int error = exchange(message, nullptr, nullptr))
			fail(error, name.c_str());
	}

private:
	nlmsghdr *begin(std::uint16_t type, std::uint16_t flags, std::uint8_t command,
			std::uint8_t version)
	{
		nlmsghdr *message = mnl_nlmsg_put_header(buffer_.data());

		message->nlmsg_type = type;
		message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
		message->nlmsg_seq = ++sequence_;
		auto *generic = static_cast<genlmsghdr *>(
			mnl_nlmsg_put_extra_header(message, sizeof(genlmsghdr)));
		generic->cmd = command;
		generic->version = version;
		return message;
	}

	/* Return: 0 or the kernel's errno. */
	int exchange(const nlmsghdr *message, mnl_cb_t take, void *to)
	{
		const unsigned int own = mnl_socket_get_portid(socket_.get());

		if (mnl_socket_sendto(socket_.get(), message, message->nlmsg_len) < 0)
			return errno;
		for (;;) {
			const ssize_t size =
				mnl_socket_recvfrom(socket_.get(), buffer_.data(), buffer_.size());

			if (size < 0)
				return errno;
			const int more = mnl_cb_run(buffer_.data(), static_cast<std::size_t>(size),
						    sequence_, own, take, to);
			if (more < 0)
				return errno;
			if (more == MNL_CB_STOP)
				return 0;
		}
	}

	/* libmnl's own loop is a macro in C */
	template <typename Each> static void for_each_attribute(const nlmsghdr *message, Each each)
	{
		const auto *tail = static_cast<const char *>(mnl_nlmsg_get_payload_tail(message));
		const auto *attr = static_cast<const nlattr *>(
			mnl_nlmsg_get_payload_offset(message, sizeof(genlmsghdr)));

		while (mnl_attr_ok(attr,
				   static_cast<int>(tail - reinterpret_cast<const char *>(attr)))) {
			each(attr);
			attr = mnl_attr_next(attr);
		}
	}

	static int take_family(const nlmsghdr *message, void *to)
	{
		for_each_attribute(message, [&](const nlattr *attr) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
				*static_cast<std::uint16_t *>(to) = mnl_attr_get_u16(attr);
		});
		return MNL_CB_OK;
	}

	static int take_device(const nlmsghdr *message, void *to)
	{
		HwDevice device;

		for_each_attribute(message, [&](const nlattr *attr) {
			switch (mnl_attr_get_type(attr)) {
			case KRDMA_HW_ATTR_NAME:
				device.name = mnl_attr_get_str(attr);
				break;
			case KRDMA_HW_ATTR_CHOICE:
				device.choice = mnl_attr_get_u8(attr);
				break;
			case KRDMA_HW_ATTR_ADOPTED:
				device.adopted = mnl_attr_get_u8(attr) != 0;
				break;
			case KRDMA_HW_ATTR_ERROR:
				device.error = mnl_attr_get_u32(attr);
				break;
			default:
				break;
			}
		});
		static_cast<std::vector<HwDevice> *>(to)->push_back(std::move(device));
		return MNL_CB_OK;
	}

	std::unique_ptr<mnl_socket, Close> socket_;
	std::vector<char> buffer_ = std::vector<char>(std::size_t{64} << 10);
	std::uint16_t family_{};
	std::uint32_t sequence_{};
};

constexpr std::array choice_names{"parameter", "adopt", "release"};

void list(const Environment &environment)
{
	Json all = Json::array();
	Table table{{"DEVICE", "ADOPTED", "CHOICE", "ERROR"}};

	for (const HwDevice &device : HwNetlink{}.devices()) {
		const std::string choice = device.choice < choice_names.size()
						   ? choice_names[device.choice]
						   : std::to_string(device.choice);
		const std::string error =
			device.error
				? std::generic_category().message(static_cast<int>(device.error))
				: "-";

		all.push_back({{"name", device.name},
			       {"adopted", device.adopted},
			       {"choice", choice},
			       {"errno", device.error}});
		table.add({device.name, device.adopted ? "yes" : "no", choice, error});
	}
	if (environment.json)
		print(Json{{"devices", all}}.dump(4) + '\n');
	else
		print(table.text(environment.style));
}

} /* namespace */

void add_adopt_command(CLI::App &app, Environment &environment)
{
	struct Options {
		std::string name;
		bool release{};
		bool by_parameter{};
	};
	const auto options = std::make_shared<Options>();
	CLI::App *command = add_command(app, environment, "adopt", "[DEVICE]",
					"make an RDMA device of the kernel an RNIC, or list them");

	command->add_option("DEVICE", options->name, "its name, as in ibv_devices");
	CLI::Option *release =
		command->add_flag("-r,--release", options->release, "the device is no RNIC");
	command->add_flag("-d,--default", options->by_parameter,
			  "krdma_hw's parameter \"devices\" decides")
		->excludes(release);
	command->callback([&environment, options] {
		environment.chosen = [&environment, options] {
			if (options->name.empty()) {
				if (options->release || options->by_parameter)
					fail(EINVAL, "no device is named");
				list(environment);
				return;
			}
			HwNetlink{}.choose(options->name, options->release ? KRDMA_HW_RELEASE
							  : options->by_parameter
								  ? KRDMA_HW_BY_PARAMETER
								  : KRDMA_HW_ADOPT);
		};
	});
}

} /* namespace krdma::tools */
