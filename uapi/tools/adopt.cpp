/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The subcommand adopt: which RDMA devices of the kernel are RNICs, by krdma_hw's netlink family.
 */
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include <krdma/hw-netlink.h>

#include "command.hpp"
#include "genetlink.hpp"

namespace krdma::tools {
namespace {

/* a device of ib_core, as krdma_hw reports it */
struct HwDevice {
	std::string name;
	std::uint8_t choice{};
	bool adopted{};
	std::uint32_t error{};
};

/** class HwNetlink - krdma_hw's generic netlink family */
class HwNetlink {
public:
	[[nodiscard]] std::vector<HwDevice> devices()
	{
		std::vector<HwDevice> all;

		netlink_.dump(
			KRDMA_HW_CMD_GET, "list of devices",
			[&](const nlmsghdr *message) { all.push_back(device_of(message)); },
			[&] { all.clear(); });
		return all;
	}

	void choose(const std::string &name, krdma_hw_choice choice)
	{
		nlmsghdr *message = netlink_.begin(KRDMA_HW_CMD_SET);

		mnl_attr_put_strz(message, KRDMA_HW_ATTR_NAME, name.c_str());
		mnl_attr_put_u8(message, KRDMA_HW_ATTR_CHOICE, choice);
		netlink_.exchange(message, name);
	}

private:
	static HwDevice device_of(const nlmsghdr *message)
	{
		HwDevice device;

		Genetlink::for_each_attribute(message, [&](const nlattr *attr) {
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
		return device;
	}

	Genetlink netlink_{KRDMA_HW_GENL_NAME, KRDMA_HW_GENL_VERSION,
			   "krdma_hw is not loaded (modprobe krdma_hw)"};
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
