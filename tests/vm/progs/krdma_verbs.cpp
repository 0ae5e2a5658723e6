/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Checks of the results of the verbs. Each check is independent. All run in one process. */
#include "checks.hpp"

int main(int argc, char **argv)
{
	std::vector<checks::Check> all;

	for (const auto *table : {&checks::object_checks, &checks::data_checks, &checks::run_checks,
				  &checks::access_checks, &checks::local_checks,
				  &checks::hostile_checks, &checks::wait_checks})
		all.insert(all.end(), table->begin(), table->end());
	return checks::run_program(argc, argv, all);
}
