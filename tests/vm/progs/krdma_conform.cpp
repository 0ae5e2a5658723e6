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

void read_refused(const Pair &pair, Remote from, Where where)
{
	const Memory local{pair.a.pd, 8, access::local_write, std::byte{0x11}};

	pair.a.qp.read(7, local.region.slice(), from);
	if (Side::next(pair.a.sends, where).ok())
		fail("a Read that the peer must refuse", where);
	pair.a.wait_for_state(QueueState::error, where);
	require(local.is_all(std::byte{0x11}, 0, 8), "a refused Read brought data", where);
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

/* Each fault was found in the source of Linux 6.12, drivers/infiniband/sw. */
constexpr std::array known_faults{
	KnownFault{"siw", "mr-iova", "request 2: flushed",
		   "siw_verbs.c, siw_reg_user_mr() ignores the tagged offset that was asked for"},
	/* the same, when the refusal comes before the end of the Write */
	KnownFault{"siw", "mr-iova", "request 1: local queue pair operation error",
		   "siw_verbs.c, siw_reg_user_mr() ignores the tagged offset that was asked for"},
	KnownFault{"siw", "conn-request-dropped", "Connection reset by peer",
		   "siw_cm.c, siw_proc_mpareply() reports a refusal as a reset"},
	KnownFault{"siw", "conn-graceful-end", "flushed, wanted 0",
		   "siw_qp.c, siw_qp_nextstate_from_rts() flushes posted Sends at a graceful end"},
	KnownFault{"siw", "flush-behind-error", "order of what is flushed",
		   "siw_qp.c, siw_sq_flush() completes a Read twice that waits in the ORQ"},
	KnownFault{"siw", "flush-behind-error", "Transport endpoint is not connected",
		   "siw_verbs.c, siw_post_send() refuses requests on the way to the error state"},
	KnownFault{"siw", "cq-solicited", "no event of a solicited Send",
		   "siw_qp.c, siw_rqe_complete() takes no Send for solicited"},
	KnownFault{"siw", "remote-rights", "a Read that the peer must refuse",
		   "siw_qp_tx.c, siw_qp_sq_proc_tx() answers Reads without the right to read"},
	KnownFault{"siw", "qp-rights", "a Read that the peer must refuse",
		   "siw_qp.c, siw_qp_modify_nonstate() notes rights that nothing checks"},
	KnownFault{"rxe", "send-invalidate", "remote invalid request",
		   "rxe_mr.c, rxe_invalidate_mr() takes only regions of fast registration"},
	KnownFault{"rxe", "local-invalidate", "request 1: ",
		   "rxe_mr.c, rxe_invalidate_mr() takes only regions of fast registration"},
};

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
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
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
