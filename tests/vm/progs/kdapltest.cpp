// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * kdapltest: runs and measures kDAPL in the kernel, as dapltest does uDAPL. The work is
 * kdapltest.ko's; see tests/consumers/kdt_uapi.h. The options are dapltest's where it has them.
 */
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kdapltest.hpp"

namespace {

void heard(int)
{}

/* A signal ends the request, which then answers with what was done. */
void hear(int signal)
{
	struct sigaction action {};

	action.sa_handler = heard;
	sigaction(signal, &action, nullptr);
}

int status_of(const kdapltest::Options &options)
{
	const kdt_args &args = options.args;

	if (args.error)
		return 1;
	return args.interrupted && args.mode != KDT_SERVE ? 130 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	std::string problem;
	auto options = kdapltest::parse(argc, argv, problem);

	if (!options) {
		if (problem.empty()) {
			std::printf("%s", kdapltest::usage().c_str());
			return 0;
		}
		std::fprintf(stderr, "kdapltest: %s. kdapltest -h lists the options\n",
			     problem.c_str());
		return 2;
	}
	int fd = open("/dev/kdapltest", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		std::fprintf(stderr, "kdapltest: /dev/kdapltest: %s. Next: insmod kdapltest.ko\n",
			     std::strerror(errno));
		return 1;
	}
	hear(SIGINT);
	hear(SIGTERM);
	if (ioctl(fd, KDT_RUN, &options->args)) {
		std::fprintf(stderr, "kdapltest: the module refuses: %s\n", std::strerror(errno));
		close(fd);
		return 1;
	}
	close(fd);
	if (options->json)
		kdapltest::print_json(*options);
	else
		kdapltest::print_table(*options);
	return status_of(*options);
}
