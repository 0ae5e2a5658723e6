/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * krdma_conform [--slow] ADDRESS [REMOTE-NETNS REMOTE-ADDRESS] [CHECK]: checks that a provider owes
 * to user space, through libkrdma, on the RNIC that has ADDRESS. The RNIC is connected to itself,
 * or to the RNIC of REMOTE-ADDRESS. With --slow the provider's user library is not used.
 *
 * The output has one line for each check: "ok"; "missing": the RNIC says that it does not have the
 * function; "known fault" of a driver that is not ours, with the reason; "FAILED". The last line is
 * the verdict. The exit status is 1 if a check failed.
 */
#include <cstdio>
#include <cstring>
#include <string_view>

#include <unistd.h>

#include "conform.hpp"

namespace conform {

Setup setup;

void fill(std::span<std::byte> bytes, unsigned int seed)
{
	std::uint32_t value = seed * 2654435761U + 1;

	for (std::byte &byte : bytes) {
		value = value * 1664525U + 1013904223U;
		byte = static_cast<std::byte>(value >> 24);
	}
}

bool is_filled(std::span<const std::byte> bytes, unsigned int seed)
{
	std::vector<std::byte> wanted(bytes.size());

	fill(wanted, seed);
	return std::equal(bytes.begin(), bytes.end(), wanted.begin());
}

namespace {

/* Known faults ************************************************************* */

/** struct KnownFault - a check that a driver of Linux fails */
struct KnownFault {
	const char *rnic;    /* begin of its name */
	const char *check;   /* name of the check */
	const char *symptom; /* part of the failure's text; nullptr: the check is not run */
	const char *reason;  /* with the place in the driver's source */
};

/* Each line was found in the source of Linux 6.12, drivers/infiniband/sw. */
constexpr std::array<KnownFault, 1> known_faults{{
	{"none", "none", "none", "none"},
}};

const KnownFault *find_fault(const World &world, const char *check, std::string_view failure)
{
	for (const KnownFault &fault : known_faults) {
		if (std::strcmp(fault.check, check) != 0)
			continue;
		for (const Host *host : {&world.a, &world.b}) {
			if (!host->context.device().name().starts_with(fault.rnic))
				continue;
			if (!fault.symptom || failure.find(fault.symptom) != std::string_view::npos)
				return &fault;
		}
	}
	return nullptr;
}

/* Running ****************************************************************** */

constexpr unsigned int check_limit = 90; /* seconds */

/** struct Verdict - number of checks by result */
struct Verdict {
	int ok{0};
	int missing{0};
	int known{0};
	int failed{0};
};

void run_body(const Check &check, World &world)
{
	check.run(world);
	/* only the context is left in each file */
	same(world.a.session.usage().objects, 1U, "objects of the first session afterwards");
	same(world.b.session.usage().objects, 1U, "objects of the second session afterwards");
}

void note_failure(const World &world, const char *check, const char *what, Verdict &verdict)
{
	if (const KnownFault *fault = find_fault(world, check, what)) {
		std::printf("known fault: %s\n", fault->reason);
		verdict.known++;
		return;
	}
	std::printf("FAILED: %s\n", what);
	verdict.failed++;
}

void run(const Check &check, World &world, Verdict &verdict)
{
	std::printf("%-24s ", check.name);
	std::fflush(stdout);
	if (find_fault(world, check.name, {}))
		return note_failure(world, check.name, "", verdict);
	/* what hangs ends the program */
	alarm(check_limit);
	try {
		run_body(check, world);
		std::puts("ok");
		verdict.ok++;
	} catch (const Missing &) {
		std::puts("missing");
		verdict.missing++;
	} catch (const std::exception &error) {
		note_failure(world, check.name, error.what(), verdict);
	}
	alarm(0);
}

int run_all(const char *only)
{
	World world{open_host(setup.a), open_host(setup.b)};
	Verdict verdict;

	for (const auto *checks : {&object_checks, &memory_checks, &connect_checks, &data_checks,
				   &guard_checks, &end_checks}) {
		for (const Check &check : *checks)
			if (!only || std::strcmp(only, check.name) == 0)
				run(check, world, verdict);
	}
	std::printf("%d ok, %d missing, %d known faults, %d failed\n", verdict.ok, verdict.missing,
		    verdict.known, verdict.failed);
	return verdict.failed != 0;
}

int usage(const char *program)
{
	std::fprintf(stderr, "%s [--slow] ADDRESS [REMOTE-NETNS REMOTE-ADDRESS] [CHECK]\n",
		     program);
	return 2;
}

} /* namespace */
} /* namespace conform */

int main(int argc, char **argv)
{
	const char *program = *argv++;

	argc--;
	if (argc && std::string_view{*argv} == "--slow") {
		conform::setup.options.slow = true;
		argc--;
		argv++;
	}
	if (argc < 1 || argc > 4)
		return conform::usage(program);
	conform::setup.a = {nullptr, argv[0]};
	conform::setup.b = argc > 2 ? conform::Place{argv[1], argv[2]} : conform::setup.a;
	try {
		return conform::run_all(argc % 2 ? nullptr : argv[argc - 1]);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", program, error.what());
		return 2;
	}
}
