// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sessions: each has a SCSI host of its own, whose limits are those of the connection that
 * open-iscsi made first. Parameters are libiscsi's, but for those that iSER rules out.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_host.h>
#include <krdma/compat.h>

#include "kiser.h"

#define KISER_SETTLE_MS	1000	/* for invalidations; then the connection ends */

/*
 * Is memory of a task that was freed still registered or mapped? An invalidation that is flushed
 * leaves it mapped until the end of the connection frees the region. @cut: end the connection.
 */
static bool kiser_session_exposed(struct iscsi_session *session, bool cut)
{
	struct kiser_conn *kc;
	bool ret = false;

	scoped_guard(spinlock_bh, &session->frwd_lock) {
		kc = session->leadconn ? session->leadconn->dd_data : NULL;
		ret = kc && atomic_read(&kc->invalidating);
		if (ret && cut)
			kiser_conn_cut(kc);
	}
	return ret;
}

/*
 * Tasks that task management ended were freed with their regions still valid: wait for their
 * invalidation, before the SCSI layer gives the memory to other users. If that takes too long, the
 * connection is ended. kDAPL always reports that end, libiscsi then unbinds the connection, and its
 * regions are freed.
 */
static void kiser_session_settle(struct scsi_cmnd *sc)
{
	struct iscsi_session *session = starget_to_session(scsi_target(sc->device))->dd_data;
	unsigned long until = jiffies + msecs_to_jiffies(KISER_SETTLE_MS);
	bool late = false;

	while (kiser_session_exposed(session, false)) {
		usleep_range(500, 1500);
		if (late || time_before(jiffies, until))
			continue;
		late = true;
		pr_warn("krdma_iser: an invalidation does not complete, the connection ends\n");
		kiser_session_exposed(session, true);
	}
	kiser_conn_wait_ends();
}

/*
 * A reset by ioctl comes while commands are in progress, which libiscsi ends at once: the target
 * could still reach their memory. The SCSI layer sends no other ones meanwhile. So wait until the
 * target has answered these. If that takes too long, the end of the connection unmaps their memory
 * before libiscsi ends them. Return: SUCCESS or FAILED
 */
static int kiser_session_quiesce(struct scsi_cmnd *sc)
{
	unsigned long until = jiffies + msecs_to_jiffies(KISER_SETTLE_MS);

	/* to the error handler belong all commands that are in progress */
	if (sc->submitter != SUBMITTED_BY_SCSI_RESET_IOCTL)
		return SUCCESS;
	/* scsi_queue_rq() may have begun before the reset */
	synchronize_rcu();
	while (scsi_host_busy(sc->device->host)) {
		if (!time_before(jiffies, until))
			return iscsi_eh_session_reset(sc);
		usleep_range(500, 1500);
	}
	return SUCCESS;
}

/* Task management by libiscsi's @manage. Return: SUCCESS or FAILED */
static int kiser_session_manage(struct scsi_cmnd *sc, int (*manage)(struct scsi_cmnd *sc))
{
	int ret = kiser_session_quiesce(sc);

	if (ret == SUCCESS)
		ret = manage(sc);
	kiser_session_settle(sc);
	return ret;
}

static int kiser_session_abort(struct scsi_cmnd *sc)
{
	return kiser_session_manage(sc, iscsi_eh_abort);
}

static int kiser_session_reset_lun(struct scsi_cmnd *sc)
{
	return kiser_session_manage(sc, iscsi_eh_device_reset);
}

static int kiser_session_reset_target(struct scsi_cmnd *sc)
{
	return kiser_session_manage(sc, iscsi_eh_recover_target);
}

static char kiser_session_proc_name[32];

static const struct scsi_host_template kiser_host = {
	.module = THIS_MODULE,
	.name = "iSER on kDAPL",
	.proc_name = kiser_session_proc_name,
	.queuecommand = iscsi_queuecommand,
	.change_queue_depth = scsi_change_queue_depth,
	.eh_timed_out = iscsi_eh_cmd_timed_out,
	.eh_abort_handler = kiser_session_abort,
	.eh_device_reset_handler = kiser_session_reset_lun,
	.eh_target_reset_handler = kiser_session_reset_target,
	.target_alloc = iscsi_target_alloc,
	.cmd_size = sizeof(struct iscsi_cmd),
	.cmd_per_lun = ISCSI_DEF_CMD_PER_LUN,
	.this_id = -1,
	.track_queue_depth = 1,
	/* only the first page of a region may begin late, only the last one may end early */
	.virt_boundary_mask = PAGE_SIZE - 1,
};

/* open-iscsi finds a host's transport by this name. Return: false: it is too long */
bool kiser_session_set_name(const char *transport)
{
	return snprintf(kiser_session_proc_name, sizeof(kiser_session_proc_name), "iscsi_%s",
			transport) < (int)sizeof(kiser_session_proc_name);
}

static void kiser_session_set_limits(struct Scsi_Host *host, struct kiser_conn *kc, u16 commands,
				     u16 depth)
{
	host->transportt = kiser_template;
	host->can_queue = min_t(u32, commands, kc->max_commands);
	host->cmd_per_lun = depth;
	host->max_sectors = min_t(u64, kiser_max_sectors,
				  (u64)(kc->max_pages - 1) * PAGE_SECTORS);
	host->sg_tablesize = kc->max_pages;
	host->max_lun = 512;
	host->max_id = 0;
	host->max_channel = 0;
	host->max_cmd_len = ISCSI_CDB_SIZE;
}

struct iscsi_cls_session *kiser_session_create(struct iscsi_endpoint *ep, u16 commands,
					       u16 depth, u32 cmdsn)
{
	struct kiser_conn *kc = ep ? ep->dd_data : NULL;
	struct iscsi_cls_session *session;
	struct Scsi_Host *host;

	/* what a session may have is known when the IA is */
	if (!kc || READ_ONCE(kc->state) != KISER_UP)
		return NULL;
	host = iscsi_host_alloc((struct scsi_host_template *)&kiser_host, 0, false);
	if (!host)
		return NULL;
	kiser_session_set_limits(host, kc, commands, depth);
	if (iscsi_host_add(host, NULL))
		goto free_host;
	session = iscsi_session_setup(&kiser_transport, host, host->can_queue, 0,
				      sizeof(struct kiser_task), cmdsn, 0);
	if (session)
		return session;
	iscsi_host_remove(host, false);
free_host:
	iscsi_host_free(host);
	return NULL;
}

void kiser_session_destroy(struct iscsi_cls_session *session)
{
	struct Scsi_Host *host = iscsi_session_to_shost(session);

	iscsi_session_teardown(session);
	iscsi_host_remove(host, false);
	iscsi_host_free(host);
}

struct iscsi_cls_conn *kiser_session_add_conn(struct iscsi_cls_session *session, u32 cid)
{
	struct iscsi_cls_conn *cls_conn = iscsi_conn_setup(session, 0, cid);
	struct iscsi_conn *conn;

	if (!cls_conn)
		return NULL;
	conn = cls_conn->dd_data;
	conn->max_recv_dlength = KISER_RECEIVE_DATA;
	return cls_conn;
}

static int kiser_session_must_be_off(const char *value)
{
	unsigned int on;

	return kstrtouint(value, 10, &on) ? -EINVAL : on ? -EPROTO : 0;
}

int kiser_session_set_param(struct iscsi_cls_conn *cls_conn, enum iscsi_param param, char *value,
			    int length)
{
	struct iscsi_conn *conn = cls_conn->dd_data;
	int ret;

	switch (param) {
	case ISCSI_PARAM_HDRDGST_EN:
	case ISCSI_PARAM_DATADGST_EN:
	case ISCSI_PARAM_IFMARKER_EN:
	case ISCSI_PARAM_OFMARKER_EN:
		return kiser_session_must_be_off(value);
	case ISCSI_PARAM_MAX_RECV_DLENGTH:
		/* the size of the receive buffers does not depend on what the login says */
		return 0;
	case ISCSI_PARAM_INITIAL_R2T_EN:
		ret = iscsi_set_param(cls_conn, param, value, length);
		/*
		 * Unsolicited data is what an initiator may send, and never must. RDMA Reads of
		 * the target move it better than Data-Out PDUs.
		 */
		conn->session->initial_r2t_en = 1;
		return ret;
	default:
		return iscsi_set_param(cls_conn, param, value, length);
	}
}

void kiser_session_stats(struct iscsi_cls_conn *cls_conn, struct iscsi_stats *stats)
{
	const struct iscsi_conn *conn = cls_conn->dd_data;

	stats->txdata_octets = conn->txdata_octets;
	stats->rxdata_octets = conn->rxdata_octets;
	stats->scsicmd_pdus = conn->scsicmd_pdus_cnt;
	stats->dataout_pdus = conn->dataout_pdus_cnt;
	stats->scsirsp_pdus = conn->scsirsp_pdus_cnt;
	stats->datain_pdus = conn->datain_pdus_cnt;
	stats->r2t_pdus = conn->r2t_pdus_cnt;
	stats->tmfcmd_pdus = conn->tmfcmd_pdus_cnt;
	stats->tmfrsp_pdus = conn->tmfrsp_pdus_cnt;
	stats->custom_length = 0;
}

/* the attributes in sysfs that open-iscsi reads */
static const u8 kiser_session_params[] = {
	ISCSI_PARAM_MAX_RECV_DLENGTH,
	ISCSI_PARAM_MAX_XMIT_DLENGTH,
	ISCSI_PARAM_HDRDGST_EN,
	ISCSI_PARAM_DATADGST_EN,
	ISCSI_PARAM_INITIAL_R2T_EN,
	ISCSI_PARAM_MAX_R2T,
	ISCSI_PARAM_IMM_DATA_EN,
	ISCSI_PARAM_FIRST_BURST,
	ISCSI_PARAM_MAX_BURST,
	ISCSI_PARAM_PDU_INORDER_EN,
	ISCSI_PARAM_DATASEQ_INORDER_EN,
	ISCSI_PARAM_ERL,
	ISCSI_PARAM_EXP_STATSN,
	ISCSI_PARAM_TARGET_NAME,
	ISCSI_PARAM_TPGT,
	ISCSI_PARAM_PERSISTENT_ADDRESS,
	ISCSI_PARAM_PERSISTENT_PORT,
	ISCSI_PARAM_CONN_ADDRESS,
	ISCSI_PARAM_CONN_PORT,
	ISCSI_PARAM_USERNAME,
	ISCSI_PARAM_USERNAME_IN,
	ISCSI_PARAM_PASSWORD,
	ISCSI_PARAM_PASSWORD_IN,
	ISCSI_PARAM_FAST_ABORT,
	ISCSI_PARAM_ABORT_TMO,
	ISCSI_PARAM_LU_RESET_TMO,
	ISCSI_PARAM_TGT_RESET_TMO,
	ISCSI_PARAM_PING_TMO,
	ISCSI_PARAM_RECV_TMO,
	ISCSI_PARAM_IFACE_NAME,
	ISCSI_PARAM_INITIATOR_NAME,
	ISCSI_PARAM_DISCOVERY_SESS,
};

umode_t kiser_session_visible(int type, int param)
{
	unsigned int i;

	if (type == ISCSI_HOST_PARAM)
		return param == ISCSI_HOST_PARAM_NETDEV_NAME ||
		       param == ISCSI_HOST_PARAM_HWADDRESS ||
		       param == ISCSI_HOST_PARAM_INITIATOR_NAME ? 0444 : 0;
	if (type != ISCSI_PARAM)
		return 0;
	for (i = 0; i < ARRAY_SIZE(kiser_session_params); i++)
		if (kiser_session_params[i] == param)
			return 0444;
	return 0;
}
