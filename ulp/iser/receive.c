// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completions: PDUs of the target, invalidations, and Sends that end a task. Runs in softirq
 * context, one event at a time.
 */
#include "kiser.h"

int kiser_receive_post(struct kiser_conn *kc, struct kiser_receive *receive)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = receive };

	if (kc->syncs)
		dat_lmr_sync_rdma_read(kc->ia, &receive->segment, 1);
	return kiser_conn_errno(dat_ep_post_recv(kc->dat_ep, 1, &receive->segment, cookie,
						 DAT_COMPLETION_DEFAULT_FLAG));
}

/* Does the PDU end the login, and is the session one for SCSI commands? */
static bool kiser_receive_ends_login(const struct kiser_conn *kc, const struct iscsi_hdr *header)
{
	const struct iscsi_login_rsp *login = (const struct iscsi_login_rsp *)header;

	return !kc->full_feature && !kc->iscsi->session->discovery_sess &&
	       (header->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_LOGIN_RSP &&
	       !login->status_class && login->flags & ISCSI_FLAG_LOGIN_TRANSIT &&
	       (login->flags & ISCSI_FLAG_LOGIN_NEXT_STAGE_MASK) ==
	       ISCSI_FLAG_LOGIN_NEXT_STAGE3;
}

/* Post all receives, before a command can be sent. */
static int kiser_receive_start(struct kiser_conn *kc)
{
	u32 i;
	int ret = 0;

	kc->full_feature = true;
	for (i = KISER_LOGIN_BUFFERS; i < kc->num_receives && !ret; i++)
		ret = kiser_receive_post(kc, &kc->receives[i]);
	return ret;
}

/*
 * libiscsi hands a login's or text's answer to iscsid before it ends the request, and refuses
 * iscsid's next one until then. That is sent under frwd_lock, so it waits.
 */
static int kiser_receive_complete(struct iscsi_conn *conn, struct iscsi_hdr *header, char *data,
				  u32 length)
{
	u8 opcode = header->opcode & ISCSI_OPCODE_MASK;
	int ret;

	if (opcode != ISCSI_OP_LOGIN_RSP && opcode != ISCSI_OP_TEXT_RSP)
		return iscsi_complete_pdu(conn, header, data, length);
	spin_lock_bh(&conn->session->frwd_lock);
	ret = iscsi_complete_pdu(conn, header, data, length);
	spin_unlock_bh(&conn->session->frwd_lock);
	return ret;
}

static void kiser_receive_deliver(struct kiser_conn *kc, struct kiser_receive *receive)
{
	struct iscsi_hdr *header = &receive->pdu->iscsi;
	u32 length = ntoh24(header->dlength);
	int ret;

	if (length > receive->data) {
		iscsi_conn_failure(kc->iscsi, ISCSI_ERR_DATALEN);
		return;
	}
	if (kiser_receive_ends_login(kc, header) && kiser_receive_start(kc)) {
		kiser_conn_fail(kc);
		return;
	}
	ret = kiser_receive_complete(kc->iscsi, header, receive->pdu->data, length);
	if (ret && ret != ISCSI_ERR_NO_SCSI_CMD)
		iscsi_conn_failure(kc->iscsi, ret);
	if (kiser_receive_post(kc, receive))
		kiser_conn_fail(kc);
}

/* Return: the region of the SCSI command that the PDU answers, NULL: none */
static struct kiser_region *kiser_receive_region(struct kiser_conn *kc,
						 const struct iscsi_hdr *header)
{
	struct iscsi_task *task;

	if ((header->opcode & ISCSI_OPCODE_MASK) != ISCSI_OP_SCSI_CMD_RSP)
		return NULL;
	task = iscsi_itt_to_ctask(kc->iscsi, header->itt);
	return task ? &kc->regions[task->itt] : NULL;
}

/* The target has invalidated a region. Return: false: that is not the command's. */
static bool kiser_receive_invalidated(struct kiser_region *region, DAT_RMR_CONTEXT context)
{
	return region && region->context == context &&
	       atomic_cmpxchg(&region->state, KISER_REGION_VALID, KISER_REGION_FREE) ==
	       KISER_REGION_VALID;
}

static void kiser_receive_pdu(struct kiser_conn *kc, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct kiser_receive *receive = dto->user_cookie.as_ptr;
	struct kiser_region *region;

	if (dto->transfered_length < sizeof(struct kiser_pdu))
		goto refused;
	if (kc->syncs)
		dat_lmr_sync_rdma_write(kc->ia, &receive->segment, 1);
	receive->data = dto->transfered_length - sizeof(struct kiser_pdu);
	/* its data moves by RDMA, and libiscsi would end the command by its status */
	if ((receive->pdu->iscsi.opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_SCSI_DATA_IN)
		goto refused;
	region = kiser_receive_region(kc, &receive->pdu->iscsi);
	if (dto->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE) {
		if (!kc->remote_invalidation ||
		    !kiser_receive_invalidated(region, dto->rmr_context))
			goto refused;
	} else if (region && kiser_buffer_unmap(kc, region, receive)) {
		return;
	} else if (region && atomic_read(&region->state) == KISER_REGION_INVALIDATING) {
		/* a second response, or one to a command that was not sent */
		goto refused;
	}
	kiser_receive_deliver(kc, receive);
	return;
refused:
	iscsi_conn_failure(kc->iscsi, ISCSI_ERR_PROTO);
}

static void kiser_receive_unmapped(struct kiser_conn *kc, struct kiser_region *region)
{
	struct kiser_receive *receive = region->receive;

	region->receive = NULL;
	atomic_set_release(&region->state, KISER_REGION_FREE);
	atomic_dec(&kc->invalidating);
	if (receive)
		kiser_receive_deliver(kc, receive);
}

void kiser_receive_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct kiser_conn *kc = instance;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		return;
	if (dto->status) {
		/* the end of the connection has its own event */
		if (dto->status != DAT_DTO_ERR_FLUSHED)
			kiser_conn_fail(kc);
		return;
	}
	switch (dto->operation) {
	case DAT_DTO_RECEIVE:
	case DAT_DTO_RECEIVE_WITH_INVALIDATE:
		kiser_receive_pdu(kc, dto);
		break;
	case DAT_DTO_LMR_INVALIDATE:
		kiser_receive_unmapped(kc, dto->user_cookie.as_ptr);
		break;
	case DAT_DTO_SEND:
		if (dto->user_cookie.as_ptr)
			iscsi_put_task(dto->user_cookie.as_ptr);
		break;
	default:
		break;
	}
}
