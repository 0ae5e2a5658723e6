/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The list of drivers, for main.c and the unit tests. */
#ifndef HW_DRIVERS_H
#define HW_DRIVERS_H

#include <linux/types.h>

u8 hw_driver_status(unsigned int id);

#endif /* HW_DRIVERS_H */
