// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Tasks of libiscsi to iSER messages. All of it runs under iscsi_session.frwd_lock, but for the
 * end of a task, which runs under iscsi_session.back_lock.
 */
#include <linux/unaligned.h>
#include <scsi/scsi_cmnd.h>

#include "kiser.h"

int kiser_send_alloc_pdu(struct iscsi_task *task, u8 opcode)
{
	struct kiser_task *kt = task->dd_data;

	/* not in the connection's buffers: libiscsi reads it after the connection's end */
	task->hdr = &kt->header;
	task->hdr_max = sizeof(kt->header);
	return 0;
}

/*
 * Where something is wrong that does not pass by itself, the connection fails. libiscsi tries
 * again after -EAGAIN and -EBUSY.
 */
static int kiser_send_result(struct kiser_conn *kc, int ret)
{
	if (ret && ret != -EAGAIN && ret != -EBUSY)
		kiser_conn_fail(kc);
	return ret;
}

static int kiser_send_post(struct kiser_conn *kc, DAT_LMR_TRIPLET *segments, int num,
			   struct iscsi_task *ends)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = ends };

	/* data that is sent from where it is needs an IA that needs no such call */
	if (kc->syncs)
		dat_lmr_sync_rdma_read(kc->ia, segments, 1);
	return kiser_conn_errno(dat_ep_post_send(kc->dat_ep, num, segments, cookie, ends ?
						 DAT_COMPLETION_DEFAULT_FLAG :
						 DAT_COMPLETION_SUPPRESS_FLAG));
}

/* SCSI commands ************************************************************* */

static bool kiser_send_immediate(const struct iscsi_task *task)
{
	u32 length = scsi_bufflen(task->sc);

	return task->sc->sc_data_direction == DMA_TO_DEVICE && task->imm_count == length &&
	       length <= KISER_IMMEDIATE;
}

/* Put the command's data behind the headers. Return: number of segments */
static int kiser_send_data(struct kiser_conn *kc, struct scsi_cmnd *sc, struct kiser_pdu *pdu,
			   DAT_LMR_TRIPLET *segments)
{
	struct scatterlist *sg;
	int i, num = scsi_sg_count(sc);

	if (num > kc->max_segments) {
		segments[0].segment_length += scsi_sg_copy_to_buffer(sc, pdu->data,
								     KISER_IMMEDIATE);
		return 1;
	}
	scsi_for_each_sg(sc, sg, num, i)
		segments[i + 1] = (DAT_LMR_TRIPLET){
			.virtual_address = sg_phys(sg),
			.segment_length = sg->length,
			.lmr_context = kc->physical,
		};
	return num + 1;
}

/* Describe the command's data in the message's headers. */
static int kiser_send_map(struct kiser_conn *kc, struct iscsi_task *task, struct iser_ctrl *iser)
{
	struct kiser_region *region = &kc->regions[task->itt];
	DAT_VADDR address;
	int ret;

	ret = kiser_buffer_map(kc, region, task->sc, &address);
	if (ret)
		return ret;
	if (task->sc->sc_data_direction == DMA_TO_DEVICE) {
		iser->flags |= ISER_WSV;
		iser->write_stag = cpu_to_be32(region->context);
		iser->write_va = cpu_to_be64(address);
	} else {
		iser->flags |= ISER_RSV;
		iser->read_stag = cpu_to_be32(region->context);
		iser->read_va = cpu_to_be64(address);
	}
	return 0;
}

static int kiser_send_command(struct kiser_conn *kc, struct iscsi_task *task)
{
	struct scsi_cmnd *sc = task->sc;
	DAT_LMR_TRIPLET segments[KISER_SEGMENTS];
	struct kiser_pdu *pdu;
	int ret = 0, num = 1;

	pdu = kiser_buffer_get(&kc->sends, task->itt, segments);
	pdu->iser = (struct iser_ctrl){ .flags = ISCSI_CTRL };
	segments[0].segment_length = sizeof(*pdu);
	if (kiser_send_immediate(task)) {
		num = kiser_send_data(kc, sc, pdu, segments);
	} else if (scsi_bufflen(sc)) {
		/* all of it is for the target to read */
		task->imm_count = 0;
		zero_data(task->hdr->dlength);
		ret = kiser_send_map(kc, task, &pdu->iser);
	}
	if (ret)
		return ret;
	pdu->iscsi = *task->hdr;
	ret = kiser_send_post(kc, segments, num, NULL);
	if (ret)
		kiser_buffer_unmap(kc, &kc->regions[task->itt], NULL);
	return ret;
}

/* All others **************************************************************** */

static int kiser_send_control(struct kiser_conn *kc, struct iscsi_task *task)
{
	DAT_LMR_TRIPLET segment;
	struct kiser_pdu *pdu;

	if (task->data_count > KISER_IMMEDIATE)
		return -EINVAL;
	pdu = kiser_buffer_get(&kc->sends, task->itt, &segment);
	pdu->iser = (struct iser_ctrl){ .flags = ISCSI_CTRL };
	pdu->iscsi = *task->hdr;
	memcpy(pdu->data, task->data, task->data_count);
	segment.segment_length = sizeof(*pdu) + task->data_count;
	/* no answer comes to a reserved tag: then the task ends when it is sent */
	return kiser_send_post(kc, &segment, 1,
			       task->hdr->itt == RESERVED_ITT ? task : NULL);
}

/*
 * There is no init_task() that would refuse a task without a connection: libiscsi fails the command
 * then. A command that is not sent waits for the recovery of the session.
 */
int kiser_send_task(struct iscsi_task *task)
{
	struct kiser_conn *kc = task->conn->dd_data;

	if (!kc || READ_ONCE(kc->state) != KISER_UP)
		return -ENOTCONN;
	return kiser_send_result(kc, task->sc ? kiser_send_command(kc, task) :
				 kiser_send_control(kc, task));
}

void kiser_send_cleanup_task(struct iscsi_task *task)
{
	struct kiser_conn *kc = task->conn->dd_data;

	if (kc && task->sc)
		kiser_buffer_unmap(kc, &kc->regions[task->itt], NULL);
}
