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

/* The run, or a client's rounds until one fails; the results are those of the last. */
int run(int fd, kdapltest::Options &options)
{
	const kdt_args asked = options.args;
	unsigned int round = 0;
	int answer;

	do {
		options.args = asked;
		answer = ioctl(fd, KDT_RUN, &options.args);
		round++;
	} while (!answer && !options.args.error && !options.args.interrupted &&
		 round < options.rounds);
	if (answer)
		std::fprintf(stderr, "kdapltest: the module refuses: %s\n", std::strerror(errno));
	if (round < options.rounds)
		std::fprintf(stderr, "kdapltest: it ended in round %u of %u\n", round,
			     options.rounds);
	return answer;
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
	int answer = run(fd, *options);
	close(fd);
	if (answer)
		return 1;
	if (options->json)
		kdapltest::print_json(*options);
	else
		kdapltest::print_table(*options);
	return status_of(*options);
}
