/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Checks of immediate data and atomic operations (RFC 7306) with the verbs. */
#include "checks.hpp"

int main(int argc, char **argv)
{
	std::vector<checks::Check> all;

	for (const auto *table : {&checks::immediate_checks, &checks::atomic_checks})
		all.insert(all.end(), table->begin(), table->end());
	return checks::run_program(argc, argv, all);
}
