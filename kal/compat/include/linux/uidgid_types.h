/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* before 6.8 */
#include <linux/uidgid.h>
