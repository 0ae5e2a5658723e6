// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Connections. open-iscsi connects an endpoint, binds it to a connection of a session, and ends
 * it; after a failure it does the same again. Each has an IA of its own, so that nothing is
 * shared with other connections, and the end of the IA takes everything with it.
 */
#include <linux/blkdev.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "kiser.h"

#define KISER_GRACE_MS	500	/* for a graceful end */
#define KISER_MIN_PAGES	2U	/* of a command of one page, which may begin late */

static LIST_HEAD(kiser_conns);
static DEFINE_MUTEX(kiser_conns_lock);
/* read: from the moment libiscsi does not know a connection until its regions are unmapped */
static DECLARE_RWSEM(kiser_conn_ends);
static struct workqueue_struct *kiser_conn_wq;

/* An error that nothing here expects. */
static void kiser_conn_complain(DAT_RETURN ret)
{
	const char *what = "", *detail = "";

	dat_strerror(ret, &what, &detail);
	pr_warn_ratelimited("krdma_iser: kDAPL answers %s %s\n", what, detail);
}

int kiser_conn_errno(DAT_RETURN ret)
{
	if (!ret)
		return 0;
	/* the completion of the last registration was not seen yet */
	if (ret == DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE))
		return -EBUSY;
	switch (DAT_GET_TYPE(ret)) {
	case DAT_INSUFFICIENT_RESOURCES:
	case DAT_QUEUE_FULL:
		return -EAGAIN;
	case DAT_PROVIDER_NOT_FOUND:
		return -ENODEV;
	case DAT_INVALID_STATE:
		return -ENOTCONN;
	case DAT_INVALID_ADDRESS:
		return -ENETUNREACH;
	default:
		kiser_conn_complain(ret);
		return -EIO;
	}
}

/* Events ******************************************************************** */

static void kiser_conn_failure_work(struct work_struct *work)
{
	struct kiser_conn *kc = container_of(work, struct kiser_conn, failure);
	unsigned int noio = memalloc_noio_save();

	/* the endpoint is freed after this work item has ended */
	if (READ_ONCE(kc->cut))
		dat_ep_disconnect(kc->dat_ep, DAT_CLOSE_ABRUPT_FLAG);
	mutex_lock(&kc->mutex);
	if (kc->iscsi && !kc->closing)
		iscsi_conn_failure(kc->iscsi, ISCSI_ERR_CONN_FAILED);
	mutex_unlock(&kc->mutex);
	memalloc_noio_restore(noio);
}

/* not at once: libiscsi's locks are held where requests are posted */
void kiser_conn_fail(struct kiser_conn *kc)
{
	queue_work(kiser_conn_wq, &kc->failure);
}

void kiser_conn_cut(struct kiser_conn *kc)
{
	WRITE_ONCE(kc->cut, true);
	kiser_conn_fail(kc);
}

static void kiser_conn_set_down(struct kiser_conn *kc, int error)
{
	kc->error = error;
	WRITE_ONCE(kc->state, KISER_DOWN);
	complete_all(&kc->settled);
}

static void kiser_conn_over(struct kiser_conn *kc, int error)
{
	kiser_conn_set_down(kc, error);
	complete_all(&kc->down);
	kiser_conn_fail(kc);
}

static void kiser_conn_established(struct kiser_conn *kc, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct iser_cm_hdr *header = data->private_data;

	kc->remote_invalidation = data->private_data_size >= (DAT_COUNT)sizeof(*header) &&
				  !(header->flags & ISERT_SEND_W_INV_NOT_USED);
	WRITE_ONCE(kc->state, KISER_UP);
	complete_all(&kc->settled);
}

/* process context */
static void kiser_conn_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kiser_conn *kc = instance;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		kiser_conn_established(kc, &event->event_data.connect_event_data);
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		kiser_conn_over(kc, -ECONNREFUSED);
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		kiser_conn_over(kc, -ETIMEDOUT);
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		kiser_conn_over(kc, -EHOSTUNREACH);
		break;
	default:
		kiser_conn_over(kc, -ECONNRESET);
		break;
	}
}

/*
 * Process context: the RNIC is removed, or a queue has overflowed. The connection may still be
 * there.
 */
static void kiser_conn_async_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	kiser_conn_set_down(instance, -ENODEV);
	kiser_conn_cut(instance);
}

/* Open and close ************************************************************ */

static void kiser_conn_attributes(struct kiser_conn *kc, const DAT_IA_ATTR *ia, DAT_EP_ATTR *ep)
{
	/* a task may post a registration, a Send and an invalidation */
	kc->max_commands = min_t(u32, kiser_max_commands, (ia->max_dto_per_ep - 64) / 3);
	ep->service_type = DAT_SERVICE_TYPE_RC;
	ep->max_message_size = sizeof(struct kiser_pdu) + KISER_IMMEDIATE;
	ep->max_rdma_size = ia->max_rdma_size;
	ep->qos = DAT_QOS_BEST_EFFORT;
	ep->max_recv_dtos = KISER_LOGIN_BUFFERS + kc->max_commands + KISER_UNSOLICITED;
	ep->max_request_dtos = 3 * kc->max_commands + 64;
	ep->max_recv_iov = 1;
	ep->max_request_iov = clamp(ia->max_iov_segments_per_dto, 1, KISER_SEGMENTS);
	/* the target reads, the initiator does not */
	ep->max_rdma_read_in = ia->max_rdma_read_per_ep_in;
	ep->max_rdma_read_out = 1;
	ep->max_rdma_read_iov = 1;
	ep->max_rdma_write_iov = 1;
	ep->srq_soft_hw = DAT_HW_DEFAULT;
}

/* No attribute of an IA says how long the page list of a registration may be: try. */
static int kiser_conn_find_pages(struct kiser_conn *kc)
{
	u32 pages = DIV_ROUND_UP(kiser_max_sectors, PAGE_SECTORS) + 1;
	DAT_LMR_HANDLE lmr;
	DAT_RETURN ret;

	for (;;) {
		ret = dat_lmr_allocate(kc->ia, kc->pz, pages, DAT_LMR_SCOPE_PZ, &lmr);
		if (!ret || pages <= KISER_MIN_PAGES)
			break;
		pages = max(pages / 2, KISER_MIN_PAGES);
	}
	if (ret)
		return kiser_conn_errno(ret);
	dat_lmr_free(lmr);
	kc->max_pages = pages;
	return 0;
}

/* Can data be sent from where it is? */
static void kiser_conn_find_physical(struct kiser_conn *kc, const DAT_EP_ATTR *ep)
{
	DAT_LMR_HANDLE lmr;

	if (!IS_ENABLED(CONFIG_HIGHMEM) && !dat_ia_reserved_lmr(kc->ia, &lmr, &kc->physical))
		kc->max_segments = ep->max_request_iov - 1;
}

static int kiser_conn_create_evds(struct kiser_conn *kc, const DAT_EP_ATTR *ep)
{
	DAT_UPCALL_OBJECT async = { .instance_data = kc, .upcall_func = kiser_conn_async_upcall };
	DAT_UPCALL_OBJECT conn = { .instance_data = kc, .upcall_func = kiser_conn_upcall };
	DAT_UPCALL_OBJECT dto = { .instance_data = kc, .upcall_func = kiser_receive_upcall };
	DAT_RETURN ret;

	ret = dat_evd_modify_upcall(kc->async_evd, DAT_UPCALL_SINGLE_INSTANCE, &async,
				    DAT_UPCALL_INVOC_ANY);
	if (!ret)
		ret = dat_evd_kcreate(kc->ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &conn,
				      DAT_EVD_CONNECTION_FLAG, &kc->conn_evd);
	if (!ret)
		ret = dat_evd_kcreate(kc->ia, ep->max_recv_dtos + ep->max_request_dtos,
				      DAT_UPCALL_SINGLE_INSTANCE, &dto, DAT_EVD_DTO_FLAG,
				      &kc->dto_evd);
	return kiser_conn_errno(ret);
}

static int kiser_conn_create_ep(struct kiser_conn *kc)
{
	DAT_PROVIDER_ATTR *provider __free(kfree) = kzalloc(sizeof(*provider), GFP_KERNEL);
	DAT_IA_ATTR *ia __free(kfree) = kzalloc(sizeof(*ia), GFP_KERNEL);
	DAT_EP_ATTR attr = {};
	DAT_EVD_HANDLE evd;
	int ret;

	if (!ia || !provider)
		return -ENOMEM;
	ret = kiser_conn_errno(dat_ia_query(kc->ia, &evd, DAT_IA_FIELD_ALL, ia,
					    DAT_PROVIDER_FIELD_ALL, provider));
	if (ret)
		return ret;
	kc->syncs = provider->lmr_sync_req == DAT_TRUE;
	if (ia->max_dto_per_ep < 64 + 3 * ISCSI_TOTAL_CMDS_MIN)
		return -EOPNOTSUPP;
	kiser_conn_attributes(kc, ia, &attr);
	kiser_conn_find_physical(kc, &attr);
	return kiser_conn_create_evds(kc, &attr) ?:
	       kiser_conn_errno(dat_pz_create(kc->ia, &kc->pz)) ?:
	       kiser_conn_find_pages(kc) ?:
	       kiser_conn_errno(dat_ep_create(kc->ia, kc->pz, kc->dto_evd, kc->dto_evd,
					      kc->conn_evd, &attr, &kc->dat_ep));
}

static u16 kiser_conn_port(const struct sockaddr_storage *address)
{
	return be16_to_cpu(address->ss_family == AF_INET6 ?
			   ((const struct sockaddr_in6 *)address)->sin6_port :
			   ((const struct sockaddr_in *)address)->sin_port);
}

static int kiser_conn_open(struct kiser_conn *kc)
{
	/* addresses are the regions' own, they do not begin at 0 */
	struct iser_cm_hdr header = { .flags = ISER_ZBVA_NOT_SUP };
	int ret;

	ret = kiser_route_open(&kc->remote, &kc->ia, &kc->async_evd) ?: kiser_conn_create_ep(kc);
	if (ret)
		return ret;
	return kiser_conn_errno(dat_ep_connect(kc->dat_ep, (DAT_IA_ADDRESS_PTR)&kc->remote,
					       kiser_conn_port(&kc->remote), DAT_TIMEOUT_INFINITE,
					       sizeof(header), &header, DAT_QOS_BEST_EFFORT,
					       DAT_CONNECT_DEFAULT_FLAG));
}

static void kiser_conn_stop_upcalls(DAT_EVD_HANDLE evd)
{
	if (evd)
		dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				      DAT_UPCALL_INVOC_NEW);
}

static void kiser_conn_set_iscsi(struct iscsi_conn *conn, struct kiser_conn *kc)
{
	spin_lock_bh(&conn->session->frwd_lock);
	spin_lock(&conn->session->back_lock);
	conn->dd_data = kc;
	spin_unlock(&conn->session->back_lock);
	spin_unlock_bh(&conn->session->frwd_lock);
}

/* No upcall runs. libiscsi does not know the connection any more after the return. */
static void kiser_conn_unbind(struct kiser_conn *kc)
{
	struct iscsi_conn *conn;

	mutex_lock(&kc->mutex);
	conn = kc->iscsi;
	kc->iscsi = NULL;
	mutex_unlock(&kc->mutex);
	if (conn)
		kiser_conn_set_iscsi(conn, NULL);
	cancel_work_sync(&kc->failure);
}

/*
 * End the connection and all that belongs to it. After the return the target cannot reach the
 * memory of any command, and there are no upcalls.
 */
static void kiser_conn_close(struct kiser_conn *kc)
{
	/* libiscsi asked for it, and needs no report of a failure */
	mutex_lock(&kc->mutex);
	kc->closing = true;
	mutex_unlock(&kc->mutex);
	if (kc->dat_ep && READ_ONCE(kc->state) == KISER_UP &&
	    !dat_ep_disconnect(kc->dat_ep, DAT_CLOSE_GRACEFUL_FLAG))
		wait_for_completion_timeout(&kc->down, msecs_to_jiffies(KISER_GRACE_MS));
	if (kc->dat_ep && !completion_done(&kc->down))
		dat_ep_disconnect(kc->dat_ep, DAT_CLOSE_ABRUPT_FLAG);
	kiser_conn_stop_upcalls(kc->async_evd);
	kiser_conn_stop_upcalls(kc->conn_evd);
	kiser_conn_stop_upcalls(kc->dto_evd);
	WRITE_ONCE(kc->state, KISER_DOWN);
	/* kiser_session_settle() waits for the end of this */
	down_read(&kiser_conn_ends);
	kiser_conn_unbind(kc);
	if (kc->dat_ep)
		dat_ep_free(kc->dat_ep);
	kiser_buffer_free(kc);
	up_read(&kiser_conn_ends);
	if (kc->pz)
		dat_pz_free(kc->pz);
	if (kc->dto_evd)
		dat_evd_free(kc->dto_evd);
	if (kc->conn_evd)
		dat_evd_free(kc->conn_evd);
	if (kc->ia)
		dat_ia_close(kc->ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* Wait until no unbound connection has memory of commands mapped. May sleep. */
void kiser_conn_wait_ends(void)
{
	down_write(&kiser_conn_ends);
	up_write(&kiser_conn_ends);
}

/* Endpoints ***************************************************************** */

static int kiser_conn_set_remote(struct kiser_conn *kc, const struct sockaddr *to)
{
	if (to->sa_family != AF_INET && to->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	memcpy(&kc->remote, to, to->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
							   sizeof(struct sockaddr_in6));
	return 0;
}

static void kiser_conn_destroy(struct kiser_conn *kc)
{
	kiser_conn_close(kc);
	iscsi_destroy_endpoint(kc->ep);
}

static int kiser_conn_wait(struct kiser_conn *kc)
{
	int ret = wait_for_completion_interruptible(&kc->settled);

	return ret ?: READ_ONCE(kc->state) == KISER_UP ? 0 : kc->error;
}

static struct iscsi_endpoint *kiser_conn_start(struct sockaddr *to, bool non_blocking)
{
	struct iscsi_endpoint *ep;
	struct kiser_conn *kc;
	int ret;

	ep = iscsi_create_endpoint(sizeof(*kc));
	if (!ep)
		return ERR_PTR(-ENOMEM);
	kc = ep->dd_data;
	kc->ep = ep;
	init_completion(&kc->settled);
	init_completion(&kc->down);
	mutex_init(&kc->mutex);
	INIT_WORK(&kc->failure, kiser_conn_failure_work);
	ret = kiser_conn_set_remote(kc, to) ?: kiser_conn_open(kc);
	if (!ret && !non_blocking)
		ret = kiser_conn_wait(kc);
	if (ret) {
		kiser_conn_destroy(kc);
		return ERR_PTR(ret);
	}
	mutex_lock(&kiser_conns_lock);
	list_add(&kc->node, &kiser_conns);
	mutex_unlock(&kiser_conns_lock);
	return ep;
}

/*
 * @non_blocking: do not wait for the connection.
 *
 * Memory may be written back to the disks of a session that this connects again. So no allocation
 * here and in kiser_conn_bind() and kiser_conn_disconnect() begins I/O, whatever the caller's are.
 */
struct iscsi_endpoint *kiser_conn_connect(struct Scsi_Host *host, struct sockaddr *to,
					  int non_blocking)
{
	unsigned int noio = memalloc_noio_save();
	struct iscsi_endpoint *ep = kiser_conn_start(to, non_blocking);

	memalloc_noio_restore(noio);
	return ep;
}

/* Return: 1: connected; 0: not yet; negative: the attempt failed */
int kiser_conn_poll(struct iscsi_endpoint *ep, int timeout_ms)
{
	struct kiser_conn *kc = ep->dd_data;
	long ret;

	ret = wait_for_completion_interruptible_timeout(&kc->settled,
							msecs_to_jiffies(timeout_ms));
	if (ret <= 0)
		return ret;
	return READ_ONCE(kc->state) == KISER_UP ? 1 : kc->error;
}

void kiser_conn_disconnect(struct iscsi_endpoint *ep)
{
	struct kiser_conn *kc = ep->dd_data;
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&kiser_conns_lock);
	list_del(&kc->node);
	mutex_unlock(&kiser_conns_lock);
	kiser_conn_destroy(kc);
	memalloc_noio_restore(noio);
}

/* endpoints that open-iscsi made and left; the transport is not registered any more */
void kiser_conn_close_all(void)
{
	struct kiser_conn *kc, *next;

	list_for_each_entry_safe(kc, next, &kiser_conns, node)
		kiser_conn_disconnect(kc->ep);
}

int kiser_conn_init(void)
{
	/* the recovery of a disk that memory is written back to begins here */
	kiser_conn_wq = alloc_workqueue("krdma_iser", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return kiser_conn_wq ? 0 : -ENOMEM;
}

void kiser_conn_exit(void)
{
	destroy_workqueue(kiser_conn_wq);
}

int kiser_conn_ep_param(struct iscsi_endpoint *ep, enum iscsi_param param, char *value)
{
	struct kiser_conn *kc = ep->dd_data;

	if (param != ISCSI_PARAM_CONN_PORT && param != ISCSI_PARAM_CONN_ADDRESS)
		return -EOPNOTSUPP;
	return iscsi_conn_get_addr_param(&kc->remote, param, value);
}

/* Sessions ****************************************************************** */

static int kiser_conn_prepare(struct kiser_conn *kc, u32 num_tasks)
{
	int i, ret;

	if (num_tasks > kc->max_commands)
		return -EINVAL;
	ret = kiser_buffer_alloc(kc, num_tasks);
	for (i = 0; i < KISER_LOGIN_BUFFERS && !ret; i++)
		ret = kiser_receive_post(kc, &kc->receives[i]);
	return ret;
}

/* Return: the connection of the endpoint @handle, with a reference to that; NULL: none of ours */
static struct kiser_conn *kiser_conn_get(u64 handle)
{
	struct iscsi_endpoint *ep = iscsi_lookup_endpoint(handle);
	struct kiser_conn *kc, *found = NULL;

	if (!ep)
		return NULL;
	mutex_lock(&kiser_conns_lock);
	list_for_each_entry(kc, &kiser_conns, node)
		if (kc->ep == ep)
			found = kc;
	mutex_unlock(&kiser_conns_lock);
	if (!found)
		iscsi_put_endpoint(ep);
	return found;
}

static int kiser_conn_bind_locked(struct kiser_conn *kc, struct iscsi_cls_session *session,
				  struct iscsi_cls_conn *cls_conn, int leading)
{
	struct iscsi_conn *conn = cls_conn->dd_data;
	int ret;

	if (kc->iscsi || conn->dd_data || READ_ONCE(kc->state) != KISER_UP)
		return -EINVAL;
	/* the first completion may come before kiser_conn_prepare() returns */
	kc->iscsi = conn;
	ret = kiser_conn_prepare(kc, conn->session->cmds_max) ?:
	      iscsi_conn_bind(session, cls_conn, leading);
	if (ret) {
		WRITE_ONCE(kc->state, KISER_DOWN);
		kiser_conn_stop_upcalls(kc->dto_evd);
		kc->iscsi = NULL;
		return ret;
	}
	kiser_conn_set_iscsi(conn, kc);
	/* an end that was reported before it could be noted */
	if (READ_ONCE(kc->state) != KISER_UP)
		kiser_conn_fail(kc);
	return 0;
}

int kiser_conn_bind(struct iscsi_cls_session *session, struct iscsi_cls_conn *cls_conn,
		    u64 handle, int leading)
{
	struct kiser_conn *kc = kiser_conn_get(handle);
	unsigned int noio;
	int ret;

	if (!kc)
		return -EINVAL;
	noio = memalloc_noio_save();
	mutex_lock(&kc->mutex);
	ret = kiser_conn_bind_locked(kc, session, cls_conn, leading);
	mutex_unlock(&kc->mutex);
	memalloc_noio_restore(noio);
	iscsi_put_endpoint(kc->ep);
	return ret;
}
