// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The switch's decision table, compiled again into the test module. */
#include "../../ops/decide.c"
