// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A user of sockets in the kernel: a listener, a connection to it, and data in both directions. The
 * load fails if one step does, or if the connection is of another protocol than wanted.
 */
#include <linux/cleanup.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/inet_common.h>
#include <net/net_namespace.h>
#include <net/sock.h>

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

#define KERN_BYTES	8192u

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

static int kern_transfer(struct socket *from, struct socket *to)
{
	u8 *sent __free(kfree) = kmalloc(KERN_BYTES, GFP_KERNEL);
	u8 *got __free(kfree) = kzalloc(KERN_BYTES, GFP_KERNEL);
	struct kvec vec = { .iov_base = sent, .iov_len = KERN_BYTES };
	struct msghdr msg = {};
	int rc;

	if (!sent || !got)
		return -ENOMEM;
	get_random_bytes(sent, KERN_BYTES);
	rc = kernel_sendmsg(from, &msg, &vec, 1, KERN_BYTES);
	if (rc != KERN_BYTES)
		return rc < 0 ? rc : -EMSGSIZE;
	vec.iov_base = got;
	msg = (struct msghdr){};
	rc = kernel_recvmsg(to, &msg, &vec, 1, KERN_BYTES, MSG_WAITALL);
	if (rc != KERN_BYTES)
		return rc < 0 ? rc : -ENODATA;
	return memcmp(sent, got, KERN_BYTES) ? -EBADMSG : 0;
}

static int kern_protocol_of(struct socket *sock)
{
	return READ_ONCE(sock->sk->sk_protocol);
}

static int kern_run(const char **step)
{
	struct socket *listener __free(kern_sock) = NULL;
	struct socket *client __free(kern_sock) = NULL;
	struct socket *server __free(kern_sock) = NULL;
	struct sockaddr_in address = { .sin_family = AF_INET };
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
	rc = kernel_bind(listener, (struct sockaddr *)&address, sizeof(address)) ?:
	     kernel_listen(listener, 4);
	if (rc)
		return rc;
	rc = kernel_getsockname(listener, (struct sockaddr *)&address);
	if (rc < 0)
		return rc;
	*step = "connect";
	rc = kernel_connect(client, (struct sockaddr *)&address, sizeof(address), 0);
	if (rc)
		return rc;
	*step = "accept";
	rc = kernel_accept(listener, &server, 0);
	if (rc)
		return rc;
	*step = "protocol";
	if (kern_protocol_of(client) != kern_winner || kern_protocol_of(server) != kern_winner) {
		pr_err("offload_kern: protocols %d and %d\n", kern_protocol_of(client),
		       kern_protocol_of(server));
		return -EPROTONOSUPPORT;
	}
	*step = "data to the server";
	rc = kern_transfer(client, server);
	if (rc)
		return rc;
	*step = "data to the client";
	rc = kern_transfer(server, client);
	if (rc)
		return rc;
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
