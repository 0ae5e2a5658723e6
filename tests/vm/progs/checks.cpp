/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The common part of programs that consist of checks: the World and the Pairs that a check
 * uses, and running a table of checks. The output has one line for each check. The last line
 * is the verdict.
 */
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>

#include <endian.h>
#include <unistd.h>

#include "checks.hpp"

namespace checks {

World::World(const char *address)
	: address_{address}, bound_{rdma::make_listener(address, nullptr)},
	  listener_{rdma::make_listener(address, nullptr)},
	  port_{std::to_string(be16toh(rdma_get_src_port(listener_.get())))}
{
	rdma::must(bound_->verbs ? 0 : ENODEV, "RDMA device of the address");
	rdma::must(ibv_query_device(context(), &device_), "ibv_query_device");
}

Pair::Pair(World &world, const rdma::SideOptions &client_options,
	   const rdma::SideOptions &server_options)
{
	client_ = std::make_unique<rdma::Side>(rdma::make_client(world.address(), world.port()),
					       client_options);
	auto accepted = std::async(std::launch::async, [&] {
		server_ = std::make_unique<rdma::Side>(rdma::next_request(world.listener()),
						       server_options);
		server_->accept();
	});
	client_->connect();
	accepted.get();
}

void still_works(World &world)
{
	constexpr std::size_t size = 10000;
	Pair pair{world};
	rdma::Memory from{pair.client().pd(), size, IBV_ACCESS_LOCAL_WRITE, std::byte{0x5a}};
	rdma::Memory to{pair.server().pd(), size, IBV_ACCESS_LOCAL_WRITE};
	const std::array source{from.sge()};
	const std::array target{to.sge()};

	rdma::must(pair.server().post_recv(target), "post_recv");
	rdma::must(pair.client().post_send(source), "post_send");
	const ibv_wc sent = pair.client().sends.wait();
	rdma::require_status(sent, IBV_WC_SUCCESS, "Send");
	const ibv_wc got = pair.server().recvs.wait();
	rdma::require_status(got, IBV_WC_SUCCESS, "receive");
	rdma::require_eq(std::size_t{got.byte_len}, size, "byte_len");
	rdma::require(to.is_all(std::byte{0x5a}), "received data");
}

namespace {

constexpr unsigned int check_limit = 150; /* seconds; more than rdma::patience */

bool run(const Check &check, World &world)
{
	std::printf("%-40s ", check.name);
	std::fflush(stdout);
	/* a check that hangs ends the program */
	alarm(check_limit);
	try {
		check.run(world);
		std::puts("ok");
		return true;
	} catch (const rdma::Failure &failure) {
		std::printf("FAILED: %s\n", failure.what());
	}
	/* events of a failed check must not go to the next one */
	while (rdma::async_event(world.context(), std::chrono::milliseconds{300}))
		;
	return false;
}

} /* namespace */

int run_program(int argc, char **argv, const std::vector<Check> &all)
{
	const char *wanted = nullptr;
	bool list = false;

	for (int c; (c = getopt(argc, argv, "lt:")) != -1;) {
		if (c == 'l')
			list = true;
		else if (c == 't')
			wanted = optarg;
		else
			argc = 0;
	}
	if (list) {
		for (const Check &check : all)
			std::puts(check.name);
		return 0;
	}
	if (optind + 1 != argc) {
		std::fprintf(stderr,
			     "%s [-t CHECK] ADDRESS	run all checks or one, on the RNIC with\n"
			     "				that address of this host\n"
			     "%s -l			list them\n",
			     argv[0], argv[0]);
		return 2;
	}

	int passed = 0;
	int failed = 0;
	try {
		World world{argv[optind]};

		for (const Check &check : all) {
			if (wanted && std::strcmp(wanted, check.name) != 0)
				continue;
			run(check, world) ? passed++ : failed++;
		}
	} catch (const rdma::Failure &failure) {
		std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
		return 2;
	}
	std::printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}

} /* namespace checks */
