/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A module parameter with bounds. */
#ifndef KRDMA_UINT_PARAM_H
#define KRDMA_UINT_PARAM_H

#include <linux/moduleparam.h>

/**
 * KRDMA_UINT_PARAM() - define a module parameter with bounds
 * @name: the parameter's name
 * @var: unsigned int that holds it
 * @low: least value
 * @high: greatest value
 *
 * Writing a value outside the bounds, or loading the module with it, fails with -EINVAL.
 */
#define KRDMA_UINT_PARAM(name, var, low, high)					\
	static int krdma_set_##name(const char *val, const struct kernel_param *kp) \
	{									\
		return param_set_uint_minmax(val, kp, low, high);		\
	}									\
	static const struct kernel_param_ops krdma_##name##_ops = {		\
		.set = krdma_set_##name,					\
		.get = param_get_uint,						\
	};									\
	module_param_cb(name, &krdma_##name##_ops, &(var), 0644);		\
	__MODULE_PARM_TYPE(name, "uint")

#endif
