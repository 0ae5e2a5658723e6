/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * offload_fail: a road that fails on command, for the tests of krdma_ops.
 *
 * - fail_main.c: the module, its parameters, the steps
 * - fail_wrong.c: registrations that the switch must refuse
 */
#ifndef FAIL_H
#define FAIL_H

#include <krdma/offload.h>

/* Registers @good with one field spoilt after the other. Return: 0: all were refused. */
int fail_wrong(const struct offload_road *good);

#endif
