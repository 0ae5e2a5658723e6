/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the files of the kdapltest program share. */
#pragma once

#include <optional>
#include <string>

#include "kdt_uapi.h"

namespace kdapltest {

struct Options {
	kdt_args args{};
	std::string host;
	unsigned int rounds = 1;
	bool json = false;
};

/* Read the command line; a text that ends the program if it is wrong. */
std::optional<Options> parse(int argc, char **argv, std::string &problem);
std::string usage();
void print_table(const Options &options);
void print_json(const Options &options);

/* "SR" and so on */
const char *name_of(unsigned int kind);

} // namespace kdapltest
