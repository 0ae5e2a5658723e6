// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which IA leads to a target: that of the route, or the one that a parameter of the module names.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "kiser.h"

#define KISER_ROUTE_EVENTS	8	/* that an asynchronous EVD holds */

/* Return: the IA that the module's parameter names, in @name; NULL: none */
static char *kiser_route_parameter(char *name, size_t size)
{
	kernel_param_lock(THIS_MODULE);
	strscpy(name, kiser_ia, size);
	kernel_param_unlock(THIS_MODULE);
	/* "echo" has put a newline behind it */
	name = strim(name);
	return *name ? name : NULL;
}

int kiser_route_open(const struct sockaddr_storage *to, DAT_IA_HANDLE *ia,
		     DAT_EVD_HANDLE *async_evd)
{
	char buffer[DAT_NAME_MAX_LENGTH];
	char *name = kiser_route_parameter(buffer, sizeof(buffer));

	*async_evd = DAT_HANDLE_NULL;
	return kiser_conn_errno(name ? dat_ia_open(name, KISER_ROUTE_EVENTS, async_evd, ia) :
				dat_ia_open_to(to, KISER_ROUTE_EVENTS, async_evd, ia));
}
