/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* before 6.9 */
#include <net/sock.h>
