// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/krdma's connections, on the kAL's endpoints. A listener and a connection each own an
 * endpoint. All event records of a connection are allocated with the connection, so none of
 * its events is lost: the request or the reply, ESTABLISHED, CLOSED.
 *
 * An incoming connection is an object from its request on. Its listener counts it against the
 * backlog until the user answers it. Requests beyond the backlog are refused, and the peer
 * sees the refusal. Its unread requests are destroyed with the listener, because
 * no user knows their numbers.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "verbs.h"
#include "../cm/cm.h"

#include <krdma/netstack.h>

/**
 * struct kal_h_listener - listener
 * @h: object
 * @ep: endpoint, owned by the listener
 * @backlog: maximum number of requests that wait for an answer
 * @pending: number of requests that wait, or are about to wait; event_lock
 * @requests: requests that wait; event_lock
 */
struct kal_h_listener {
	struct kal_handle h;
	struct kal_ep *ep;
	u32 backlog;
	u32 pending;
	struct list_head requests;
};

/* A record with the peer's private data. */
struct kal_conn_record {
	struct kal_record rec;
	union {
		struct krdma_conn_event event;
		u8 room[sizeof(struct krdma_conn_event) + KRDMA_PRIVATE_DATA_MAX];
	};
};

/**
 * struct kal_h_conn - connection
 * @h: object
 * @ep: endpoint, owned by the connection
 * @listener: listener of a request that was not answered; event_lock
 * @node: entry in @listener's requests; event_lock
 * @unread: user space has not read the request yet; event_lock
 * @first: record of CONN_REQUEST or CONN_REPLY
 * @established: record of ESTABLISHED
 * @established_event: data of @established
 * @closed: record of CLOSED
 * @closed_event: data of @closed
 */
struct kal_h_conn {
	struct kal_handle h;
	struct kal_ep *ep;
	struct kal_h_listener *listener;
	struct list_head node;
	bool unread;
	struct kal_conn_record first;
	struct kal_record established;
	struct krdma_conn_event established_event;
	struct kal_record closed;
	struct krdma_event closed_event;
};

/* Events of a connection *************************************************** */

static void chardev_conn_fill(struct krdma_conn_event *event, enum krdma_event_type type,
			      const struct kal_h_conn *conn, const struct kal_ep_event *from)
{
	*event = (struct krdma_conn_event) {
		.base = {
			.size = sizeof(*event),
			.type = type,
			.handle = conn->h.id,
			.status = from->status,
			.cookie = conn->h.cookie,
		},
		.conn = conn->h.id,
		.ird = from->ird,
		.ord = from->ord,
	};
	if (from->local)
		kal_addr_from_sockaddr(from->local, &event->local);
	if (from->remote)
		kal_addr_from_sockaddr(from->remote, &event->remote);
}

static void chardev_conn_fill_first(struct kal_h_conn *conn, enum krdma_event_type type,
				    const struct kal_ep_event *from)
{
	struct krdma_conn_event *event = &conn->first.event;
	const u16 len = min_t(u16, from->private_data_len, KRDMA_PRIVATE_DATA_MAX);

	chardev_conn_fill(event, type, conn, from);
	event->private_data_len = len;
	event->base.size += ALIGN(len, 8);
	memset(event->private_data, 0, ALIGN(len, 8));
	if (len)
		memcpy(event->private_data, from->private_data, len);
}

static int chardev_conn_event(struct kal_ep *ep, void *context, const struct kal_ep_event *from)
{
	struct kal_h_conn *conn = context;

	switch (from->type) {
	case KAL_EP_CONN_REPLY:
		chardev_conn_fill_first(conn, KRDMA_EVENT_CONN_REPLY, from);
		kal_file_raise(conn->h.file, &conn->first.rec);
		return 0;
	case KAL_EP_ESTABLISHED:
		chardev_conn_fill(&conn->established_event, KRDMA_EVENT_ESTABLISHED, conn, from);
		kal_file_raise(conn->h.file, &conn->established);
		return 0;
	case KAL_EP_CLOSED:
		conn->closed_event = (struct krdma_event) {
			.size = sizeof(conn->closed_event),
			.type = KRDMA_EVENT_CLOSED,
			.handle = conn->h.id,
			.status = from->status,
			.cookie = conn->h.cookie,
		};
		kal_file_raise(conn->h.file, &conn->closed);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Stop counting a request against its listener's backlog. */
static void chardev_conn_uncount(struct kal_h_conn *conn)
{
	spin_lock_irq(&conn->h.file->event_lock);
	if (conn->listener) {
		conn->listener->pending--;
		list_del(&conn->node);
	}
	conn->listener = NULL;
	spin_unlock_irq(&conn->h.file->event_lock);
}

/*
 * Stop counting an answered request. If the call itself was wrong, the request still waits for
 * an answer.
 */
static int chardev_conn_answered(struct kal_h_conn *conn, int ret)
{
	if (!kal_ep_undecided(conn->ep))
		chardev_conn_uncount(conn);
	return ret;
}

static int chardev_conn_destroy(struct kal_handle *h)
{
	struct kal_h_conn *conn = container_of(h, struct kal_h_conn, h);

	chardev_conn_uncount(conn);
	kal_ep_destroy(conn->ep);
	return 0;
}

static const struct kal_handle_ops chardev_conn_ops = {
	.type = KAL_H_CONN,
	.size = sizeof(struct kal_h_conn),
	.destroy = chardev_conn_destroy,
};

/* Initialise a new connection @h. It has no endpoint yet. */
static struct kal_h_conn *chardev_conn_made(struct kal_handle *h)
{
	struct kal_h_conn *conn;

	if (IS_ERR(h))
		return ERR_CAST(h);
	conn = container_of(h, struct kal_h_conn, h);
	kal_record_init(&conn->first.rec, h, &conn->first.event.base);
	kal_record_init(&conn->established, h, &conn->established_event.base);
	kal_record_init(&conn->closed, h, &conn->closed_event);
	return conn;
}

static struct kal_h_conn *chardev_conn_get(struct kal_file *file, u32 id)
{
	return KAL_GET(file, id, KAL_H_CONN, kal_h_conn);
}

/* Listeners **************************************************************** */

/* Count one more request. Return: false if the backlog is full. */
static bool chardev_listener_count(struct kal_h_listener *l)
{
	bool ret;

	spin_lock_irq(&l->h.file->event_lock);
	ret = l->pending < l->backlog;
	if (ret)
		l->pending++;
	spin_unlock_irq(&l->h.file->event_lock);
	return ret;
}

static void chardev_request_read(struct kal_record *rec)
{
	struct kal_h_conn *conn = container_of(rec->owner, struct kal_h_conn, h);

	conn->unread = false;
}

/* Handler of a listener's endpoint: a connection request has arrived. */
static int chardev_listener_event(struct kal_ep *ep, void *context, const struct kal_ep_event *from)
{
	struct kal_h_listener *l = context;
	struct kal_h_conn *conn;

	if (from->type != KAL_EP_CONN_REQUEST)
		return -EINVAL;
	if (!chardev_listener_count(l))
		return -ENOBUFS;
	conn = chardev_conn_made(kal_handle_new_nowait(l->h.file, &chardev_conn_ops, l->h.dev,
						       l->h.cookie));
	if (IS_ERR(conn)) {
		scoped_guard(spinlock_irqsave, &l->h.file->event_lock)
			l->pending--;
		return PTR_ERR(conn);
	}
	conn->ep = from->child;
	conn->listener = l;
	conn->unread = true;
	scoped_guard(spinlock_irqsave, &l->h.file->event_lock)
		list_add_tail(&conn->node, &l->requests);
	conn->first.rec.on_read = chardev_request_read;
	chardev_conn_fill_first(conn, KRDMA_EVENT_CONN_REQUEST, from);
	conn->first.event.base.handle = l->h.id;
	kal_ep_set_handler(conn->ep, chardev_conn_event, conn);
	/*
	 * It cannot be destroyed meanwhile, because that needs the endpoint's lock, which is
	 * held.
	 */
	kal_handle_publish(&conn->h);
	kal_file_raise(l->h.file, &conn->first.rec);
	return 0;
}

/*
 * Remove one of @l's requests from the listener. *@unread says whether user space has not read
 * it yet.
 */
static struct kal_h_conn *chardev_listener_leave(struct kal_h_listener *l, bool *unread)
{
	struct kal_h_conn *conn;

	spin_lock_irq(&l->h.file->event_lock);
	conn = list_first_entry_or_null(&l->requests, struct kal_h_conn, node);
	if (conn) {
		list_del(&conn->node);
		conn->listener = NULL;
		*unread = conn->unread;
	}
	spin_unlock_irq(&l->h.file->event_lock);
	return conn;
}

static int chardev_listener_destroy(struct kal_handle *h)
{
	struct kal_h_listener *l = container_of(h, struct kal_h_listener, h);
	struct kal_h_conn *conn;
	bool unread;

	/* no request comes after this */
	kal_ep_destroy(l->ep);
	while ((conn = chardev_listener_leave(l, &unread))) {
		if (unread)
			kal_handle_destroy_locked(&conn->h);
	}
	return 0;
}

static const struct kal_handle_ops chardev_listener_ops = {
	.type = KAL_H_LISTENER,
	.size = sizeof(struct kal_h_listener),
	.destroy = chardev_listener_destroy,
};

static int chardev_listener_start(struct kal_h_listener *l, struct krdma_listen *cmd,
				  struct sockaddr_storage *local)
{
	struct kal_listen_param param = {
		.backlog = l->backlog,
		.v6only = cmd->flags & KRDMA_LISTEN_V6ONLY,
		.tos_set = cmd->flags & KRDMA_CONN_TOS,
		.tos = cmd->tos,
		.net = l->h.file->net,
		.memcg = l->h.file->memcg,
	};
	struct sockaddr_storage bound;
	struct kal_handle *reserved;
	int ret;

	l->ep = kal_ep_create(l->h.dev->rnic, chardev_listener_event, l);
	if (IS_ERR(l->ep))
		return PTR_ERR(l->ep);
	reserved = kal_file_port_get(l->h.file, local, &param.port);
	ret = kal_ep_listen(l->ep, (struct sockaddr *)local, &param, &bound);
	kal_file_port_put(reserved);
	if (ret) {
		kal_ep_destroy(l->ep);
		return ret;
	}
	kal_addr_from_sockaddr(&bound, &cmd->local);
	return 0;
}

static int chardev_listener_make(struct kal_h_context *ctx, struct krdma_listen *cmd,
				 struct sockaddr_storage *local)
{
	struct kal_h_listener *l;
	struct kal_handle *h;
	int ret;

	h = kal_handle_new(ctx->h.file, &chardev_listener_ops, ctx->h.dev, cmd->cookie);
	if (IS_ERR(h))
		return PTR_ERR(h);
	l = container_of(h, struct kal_h_listener, h);
	l->backlog = clamp(cmd->backlog ?: SOMAXCONN, 1U, SOMAXCONN);
	INIT_LIST_HEAD(&l->requests);
	ret = kal_handle_need(h, &ctx->h);
	if (!ret)
		ret = chardev_listener_start(l, cmd, local);
	if (ret) {
		kal_handle_cancel(h);
		return ret;
	}
	cmd->handle = h->id;
	kal_handle_publish(h);
	return 0;
}

int kal_cmd_listen(struct kal_file *file, void *_cmd)
{
	struct krdma_listen *cmd = _cmd;
	struct sockaddr_storage local;
	struct kal_h_context *ctx;
	int ret;

	if (cmd->flags & ~(KRDMA_CONN_TOS | KRDMA_LISTEN_V6ONLY) || cmd->tos > U8_MAX)
		return -EINVAL;
	ret = kal_addr_to_sockaddr(&cmd->local, &local);
	if (ret)
		return ret;
	ctx = kal_get_context(file, cmd->context);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	ret = chardev_listener_make(ctx, cmd, &local);
	kal_handle_put(&ctx->h);
	return ret;
}

/* Connections ************************************************************** */

/* Arguments of CONNECT, ACCEPT and REJECT, copied from user space; only CONNECT has a time. */
struct kal_conn_args {
	struct kal_conn_param param;
	u8 private_data[KRDMA_PRIVATE_DATA_MAX];
};

static struct kal_conn_args *chardev_conn_args_get(const struct krdma_conn *cmd, bool connects)
{
	struct kal_conn_args *args __free(kfree) = NULL;

	if (cmd->reserved || cmd->reserved2 || cmd->flags & ~KRDMA_CONN_TOS || cmd->tos > U8_MAX ||
	    cmd->private_data_len > sizeof(args->private_data) || (cmd->timeout_ms && !connects))
		return ERR_PTR(-EINVAL);
	args = kmalloc(sizeof(*args), GFP_KERNEL_ACCOUNT);
	if (!args)
		return ERR_PTR(-ENOMEM);
	if (cmd->private_data_len &&
	    copy_from_user(args->private_data, u64_to_user_ptr(cmd->private_data),
			   cmd->private_data_len))
		return ERR_PTR(-EFAULT);
	args->param = (struct kal_conn_param) {
		.private_data = args->private_data,
		.private_data_len = cmd->private_data_len,
		.ird = cmd->ird,
		.ord = cmd->ord,
		.tos_set = cmd->flags & KRDMA_CONN_TOS,
		.tos = cmd->tos,
		.timeout_ms = cmd->timeout_ms,
	};
	return no_free_ptr(args);
}

static int chardev_conn_check_depths(const struct ri_rnic *rnic, const struct kal_conn_param *param)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;

	return param->ird > limits->max_qp_rd_atom || param->ord > limits->max_qp_init_rd_atom ?
		       -EINVAL : 0;
}

/*
 * Determine the local address. It is the caller's, or the source address of the host's route
 * if the caller gave none or a wildcard. It must be an address of the RNIC. An RNIC without a
 * network device finds the route itself: the address may stay open (AF_UNSPEC).
 */
static int chardev_conn_source(const struct kal_file *file, struct ri_rnic *rnic,
			       const struct krdma_conn *cmd, const struct sockaddr_storage *remote,
			       struct sockaddr_storage *local)
{
	struct kal_route route;
	__be16 port = 0;
	int ret;

	if (cmd->local.family) {
		ret = kal_addr_to_sockaddr(&cmd->local, local);
		if (ret)
			return ret;
		if (local->ss_family != remote->ss_family)
			return -EINVAL;
		port = kal_addr_port(local);
	}
	if (!cmd->local.family && !rnic->netdev) {
		local->ss_family = AF_UNSPEC;
		return 0;
	}
	if (!cmd->local.family || kal_addr_any(local)) {
		ret = kal_net_route(file->net, remote, NULL,
				    rnic->netdev ? kal_netdev_vrf(rnic->netdev) : 0, &route);
		if (ret)
			return ret;
		*local = route.src;
		kal_addr_set_port(local, port);
	}
	return kal_rnic_owns(rnic, file->net, local) ? 0 : -EADDRNOTAVAIL;
}

/* If *@published is set after an error, the caller must destroy the connection. */
static int chardev_conn_start(struct kal_h_conn *conn, struct kal_h_qp *qp,
			      const struct krdma_conn *cmd, struct kal_conn_param *param,
			      bool *published)
{
	struct sockaddr_storage local, remote;
	struct kal_handle *reserved;
	int ret;

	ret = kal_addr_to_sockaddr(&cmd->remote, &remote);
	if (!ret)
		ret = chardev_conn_source(conn->h.file, qp->h.dev->rnic, cmd, &remote, &local);
	if (ret)
		goto err_cancel;
	conn->ep = kal_ep_create(qp->h.dev->rnic, chardev_conn_event, conn);
	if (IS_ERR(conn->ep)) {
		ret = PTR_ERR(conn->ep);
		goto err_cancel;
	}
	param->net = conn->h.file->net;
	param->exact_port = local.ss_family && kal_addr_port(&local) != 0;
	/*
	 * Publish first, because events may come at once; hold it, so that it is not destroyed
	 * meanwhile.
	 */
	kal_handle_hold(&conn->h);
	kal_handle_publish(&conn->h);
	reserved = local.ss_family ? kal_file_port_get(conn->h.file, &local, &param->port) : NULL;
	ret = kal_ep_connect(conn->ep, qp->qp,
			     local.ss_family ? (struct sockaddr *)&local : NULL,
			     (struct sockaddr *)&remote, param);
	kal_file_port_put(reserved);
	kal_handle_put(&conn->h);
	*published = true;
	return ret;

err_cancel:
	kal_handle_cancel(&conn->h);
	return ret;
}

/*
 * Is the QP in a state that allows no connection before a reset? Otherwise the peer would see a
 * connection, and lose it when it is handed over to the QP.
 */
static bool chardev_conn_qp_failed(struct ri_qp *qp)
{
	struct ri_qp_init_attr init_attr;
	struct ib_qp_attr attr = {};

	return kal_qp_query(qp, &attr, IB_QP_STATE, &init_attr) || attr.qp_state == IB_QPS_ERR;
}

int kal_cmd_connect(struct kal_file *file, void *_cmd)
{
	struct krdma_conn *cmd = _cmd;
	struct kal_conn_args *args __free(kfree) = chardev_conn_args_get(cmd, true);
	struct kal_h_conn *conn;
	bool published = false;
	struct kal_h_qp *qp;
	int ret;

	if (IS_ERR(args))
		return PTR_ERR(args);
	qp = kal_get_qp(file, cmd->qp);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = chardev_conn_check_depths(qp->h.dev->rnic, &args->param);
	if (!ret && chardev_conn_qp_failed(qp->qp))
		ret = -EINVAL;
	if (ret)
		goto out;
	conn = chardev_conn_made(kal_handle_new(file, &chardev_conn_ops, qp->h.dev, cmd->cookie));
	ret = PTR_ERR_OR_ZERO(conn);
	if (ret)
		goto out;
	cmd->handle = conn->h.id;
	ret = chardev_conn_start(conn, qp, cmd, &args->param, &published);
out:
	kal_handle_put(&qp->h);
	/* destroy only after kal_handle_put(), because the destruction waits for all users */
	if (ret && published)
		kal_handle_destroy(file, cmd->handle);
	return ret;
}

static int chardev_conn_accept(struct kal_h_conn *conn, struct kal_h_qp *qp,
			       const struct krdma_conn *cmd, const struct kal_conn_param *param)
{
	int ret;

	ret = chardev_conn_check_depths(qp->h.dev->rnic, param);
	if (ret)
		return ret;
	WRITE_ONCE(conn->h.cookie, cmd->cookie);
	return chardev_conn_answered(conn, kal_ep_accept(conn->ep, qp->qp, param));
}

int kal_cmd_accept(struct kal_file *file, void *_cmd)
{
	const struct krdma_conn *cmd = _cmd;
	struct kal_conn_args *args __free(kfree) = chardev_conn_args_get(cmd, false);
	struct kal_h_conn *conn;
	struct kal_h_qp *qp;
	int ret;

	if (IS_ERR(args))
		return PTR_ERR(args);
	conn = chardev_conn_get(file, cmd->handle);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	qp = kal_get_qp(file, cmd->qp);
	ret = PTR_ERR_OR_ZERO(qp);
	if (!ret) {
		ret = chardev_conn_accept(conn, qp, cmd, &args->param);
		kal_handle_put(&qp->h);
	}
	kal_handle_put(&conn->h);
	return ret;
}

int kal_cmd_reject(struct kal_file *file, void *_cmd)
{
	const struct krdma_conn *cmd = _cmd;
	struct kal_conn_args *args __free(kfree) = chardev_conn_args_get(cmd, false);
	struct kal_h_conn *conn;
	int ret;

	if (IS_ERR(args))
		return PTR_ERR(args);
	conn = chardev_conn_get(file, cmd->handle);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ret = chardev_conn_answered(conn, kal_ep_reject(conn->ep, args->private_data,
							args->param.private_data_len));
	kal_handle_put(&conn->h);
	return ret;
}

/* Has a connection, KAL_H_CONN, its answer, or does it need none? The caller uses it. */
bool kal_conn_answered(struct kal_handle *h)
{
	return !kal_ep_undecided(container_of(h, struct kal_h_conn, h)->ep);
}

int kal_cmd_disconnect(struct kal_file *file, void *_cmd)
{
	const struct krdma_disconnect *cmd = _cmd;
	struct kal_h_qp *qp;

	if (cmd->reserved || cmd->abrupt > 1)
		return -EINVAL;
	qp = kal_get_qp(file, cmd->qp);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	kal_qp_disconnect(qp->qp, cmd->abrupt);
	kal_handle_put(&qp->h);
	return 0;
}
