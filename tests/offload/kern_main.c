// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A user of sockets in the kernel: a listener, a connection to it, and data in both directions, of
 * all kinds of memory. The load fails if one step does, or if the connection is of another protocol
 * than wanted.
 */
#include <linux/cleanup.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <net/inet_common.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <krdma/compat_net.h>

#include "kern.h"

static int kern_family = PF_INET;
module_param_named(family, kern_family, int, 0444);
MODULE_PARM_DESC(family, "Family that socket() is asked for");

static int kern_protocol;
module_param_named(protocol, kern_protocol, int, 0444);
MODULE_PARM_DESC(protocol, "Protocol number that socket() is asked for");

static int kern_winner = IPPROTO_TCP;
module_param_named(winner, kern_winner, int, 0444);
MODULE_PARM_DESC(winner, "Protocol number of the connection");

static char *kern_address = "127.0.0.1";
module_param_named(address, kern_address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of the listener");

static unsigned int kern_bytes = 8192;
module_param_named(bytes, kern_bytes, uint, 0444);
MODULE_PARM_DESC(bytes, "Bytes of each transfer");

/* Of the task's namespace, as a socket that serves a mount or a target. */
static struct socket *kern_new(void)
{
	struct socket *sock;
	int rc = sock_create_kern(current->nsproxy->net_ns, kern_family, SOCK_STREAM,
				  kern_protocol, &sock);

	return rc ? ERR_PTR(rc) : sock;
}

static void kern_release(struct socket *sock)
{
	if (!IS_ERR_OR_NULL(sock))
		sock_release(sock);
}

DEFINE_FREE(kern_sock, struct socket *, kern_release(_T))

static int kern_protocol_of(struct socket *sock)
{
	return READ_ONCE(sock->sk->sk_protocol);
}

/* The listener's callback says that accept() need not wait. */
static int kern_accept(struct kern_watch *watch, struct socket *listener, struct socket **server)
{
	int rc;

	do {
		rc = kernel_accept(listener, server, O_NONBLOCK);
	} while (rc == -EAGAIN && wait_for_completion_timeout(&watch->ready, KERN_PATIENCE));
	if (!rc)
		kern_watch_forget(watch, *server);
	if (rc || atomic_read(&watch->calls))
		return rc;
	/* the connection may be seen before it is reported */
	return wait_for_completion_timeout(&watch->ready, KERN_PATIENCE) ? 0 : -ENOMSG;
}

static int kern_run(const char **step)
{
	struct socket *listener __free(kern_sock) = NULL;
	struct socket *client __free(kern_sock) = NULL;
	struct socket *server __free(kern_sock) = NULL;
	static const char *const names[] = { "kvec", "bvec", "splice", "user" };
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct kern_watch watch = {};
	enum kern_memory memory;
	int rc;

	*step = "address";
	if (!in4_pton(kern_address, -1, (u8 *)&address.sin_addr, -1, NULL))
		return -EINVAL;
	*step = "socket";
	listener = kern_new();
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	client = kern_new();
	if (IS_ERR(client))
		return PTR_ERR(client);
	*step = "listen";
	rc = kernel_bind(listener, (struct sockaddr_unsized *)&address, sizeof(address)) ?:
	     kernel_listen(listener, 4);
	if (rc)
		return rc;
	rc = kernel_getsockname(listener, (struct sockaddr *)&address);
	if (rc < 0)
		return rc;
	*step = "connect";
	kern_watch_begin(&watch, listener);
	rc = kernel_connect(client, (struct sockaddr_unsized *)&address, sizeof(address), 0);
	if (!rc) {
		*step = "accept";
		rc = kern_accept(&watch, listener, &server);
	}
	kern_watch_end(&watch);
	if (rc)
		return rc;
	*step = "protocol";
	if (kern_protocol_of(client) != kern_winner || kern_protocol_of(server) != kern_winner) {
		pr_err("offload_kern: protocols %d and %d\n", kern_protocol_of(client),
		       kern_protocol_of(server));
		return -EPROTONOSUPPORT;
	}
	for (memory = 0; memory < KERN_MEMORIES; memory++) {
		*step = names[memory];
		rc = kern_transfer(client, server, kern_bytes, memory) ?:
		     kern_transfer(server, client, kern_bytes, memory);
		if (rc)
			return rc;
	}
	*step = "shutdown";
	return kernel_sock_shutdown(client, SHUT_RDWR);
}

static int __init kern_init(void)
{
	const char *step;
	int rc = kern_run(&step);

	if (rc)
		pr_err("offload_kern: %s: %d\n", step, rc);
	return rc;
}

static void __exit kern_exit(void)
{
}

module_init(kern_init);
module_exit(kern_exit);
MODULE_DESCRIPTION("Sockets of the kernel over offload protocols, for tests");
MODULE_LICENSE("Dual MIT/GPL");
