/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of the verbs about memory: RDMA Reads into several elements, regions of all kinds,
 * memory windows, refusals, the end of an STag in use.
 */
#include "checks.hpp"

int main(int argc, char **argv)
{
	std::vector<checks::Check> all;

	for (const auto *table :
	     {&checks::read_sink_checks, &checks::region_checks, &checks::window_checks,
	      &checks::refusal_checks, &checks::end_checks})
		all.insert(all.end(), table->begin(), table->end());
	return checks::run_program(argc, argv, all);
}
