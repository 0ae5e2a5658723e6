// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The transport on kDAPL, for every RNIC of the kernel access layer; see ot_kdapl.h for its files.
 */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/module.h>

#include "devices.h"
#include "kdapl.h"

struct workqueue_struct *sdp_kdapl_wq;

/* Errors ******************************************************************** */

static const struct {
	u32 type;
	int error;
} sdp_kdapl_errors[] = {
	{ DAT_SUCCESS, 0 },
	/* the RNIC is gone */
	{ DAT_INTERNAL_ERROR, -ENODEV },
	{ DAT_PROVIDER_NOT_FOUND, -ENODEV },
	{ DAT_CONN_QUAL_IN_USE, -EADDRINUSE },
	{ DAT_CONN_QUAL_UNAVAILABLE, -EADDRNOTAVAIL },
	{ DAT_PORT_IN_USE, -EADDRINUSE },
	{ DAT_INSUFFICIENT_RESOURCES, -ENOBUFS },
	{ DAT_QUEUE_FULL, -EAGAIN },
	{ DAT_INVALID_STATE, -ENOTCONN },
	{ DAT_LENGTH_ERROR, -EMSGSIZE },
	{ DAT_MODEL_NOT_SUPPORTED, -EOPNOTSUPP },
	{ DAT_NOT_IMPLEMENTED, -EOPNOTSUPP },
	{ DAT_PRIVILEGES_VIOLATION, -EACCES },
	{ DAT_PROTECTION_VIOLATION, -EACCES },
	{ DAT_INVALID_ADDRESS, -EHOSTUNREACH },
	{ DAT_TIMEOUT_EXPIRED, -ETIMEDOUT },
};

/** sdp_kdapl_errno() - turn DAT's error into a negative errno, -EINVAL for what has no other */
int sdp_kdapl_errno(DAT_RETURN ret)
{
	unsigned int i;

	if (ret == DAT_SUCCESS)
		return 0;
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
	    DAT_GET_SUBTYPE(ret) == DAT_RESOURCE_MEMORY)
		return -ENOMEM;
	for (i = 1; i < ARRAY_SIZE(sdp_kdapl_errors); i++)
		if (DAT_GET_TYPE(ret) == sdp_kdapl_errors[i].type)
			return sdp_kdapl_errors[i].error;
	return -EINVAL;
}

/* The transport ************************************************************* */

static const struct sdp_ot_ops sdp_kdapl_ops = {
	.subscribe = sdp_kdapl_subscribe,
	.unsubscribe = sdp_kdapl_unsubscribe,
	.device_get = sdp_kdapl_device_get,
	.device_put = sdp_kdapl_device_put,
	.route = sdp_kdapl_route,
	.pool_create = sdp_kdapl_pool_create,
	.pool_destroy = sdp_kdapl_pool_destroy,
	.pool_get = sdp_kdapl_pool_get,
	.pool_put = sdp_kdapl_pool_put,
	.key_get = sdp_kdapl_key_get,
	.key_put = sdp_kdapl_key_put,
	.pool_settle = sdp_kdapl_pool_settle,
	.cq_create = sdp_kdapl_cq_create,
	.cq_destroy = sdp_kdapl_cq_destroy,
	.cq_poll = sdp_kdapl_cq_poll,
	.cq_arm = sdp_kdapl_cq_arm,
	.ep_create = sdp_kdapl_ep_create,
	.ep_destroy = sdp_kdapl_ep_destroy,
	.post_recv = sdp_kdapl_post_recv,
	.post_send = sdp_kdapl_post_send,
	.post_read = sdp_kdapl_post_read,
	.post_write = sdp_kdapl_post_write,
	.key_post = sdp_kdapl_key_post,
	.key_drop = sdp_kdapl_key_drop,
	.push = sdp_kdapl_push,
	.listen = sdp_kdapl_listen,
	.listener_destroy = sdp_kdapl_listener_destroy,
	.connect = sdp_kdapl_connect,
	.accept = sdp_kdapl_accept,
	.reject = sdp_kdapl_reject,
	.disconnect = sdp_kdapl_disconnect,
};

struct sdp_ot sdp_kdapl = {
	.name = "kdapl",
	.owner = THIS_MODULE,
	.ops = &sdp_kdapl_ops,
};

/**
 * sdp_ot_kdapl_init() - register the transport, with all RNICs that there are
 *
 * Return: 0 or a negative errno. Context: may sleep.
 */
int sdp_ot_kdapl_init(void)
{
	int ret;

	/* connection upcalls may wait, one for each connection */
	sdp_kdapl_wq = alloc_workqueue("krdma_sdp_ot", WQ_UNBOUND | WQ_MEM_RECLAIM,
				       WQ_UNBOUND_MAX_ACTIVE);
	if (!sdp_kdapl_wq)
		return -ENOMEM;
	ret = sdp_kdapl_devices_init();
	if (ret)
		goto err_wq;
	ret = sdp_ot_register(&sdp_kdapl);
	if (ret)
		goto err_devices;
	return 0;
err_devices:
	sdp_kdapl_devices_exit();
	sdp_kdapl_devices_wait();
err_wq:
	destroy_workqueue(sdp_kdapl_wq);
	return ret;
}

/**
 * sdp_ot_kdapl_exit() - take the transport back
 *
 * Listeners are destroyed. All devices end as if they had been removed. Objects of SDP stay until
 * SDP destroys them. Context: may sleep.
 */
void sdp_ot_kdapl_exit(void)
{
	sdp_ot_unregister(&sdp_kdapl);
	sdp_kdapl_devices_exit();
}

/** sdp_ot_kdapl_free() - the end: waits for the last reference of a device; may sleep */
void sdp_ot_kdapl_free(void)
{
	sdp_kdapl_devices_wait();
	destroy_workqueue(sdp_kdapl_wq);
}
