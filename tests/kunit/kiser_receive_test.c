// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * iSER: a SCSI command does not complete while the target can reach its memory, whatever PDUs the
 * target sends. Runs only in the kernel.
 */
#include "../../ulp/iser/kiser.h"
#include "ktest.h"

/* what receive.c calls of others */
#define iscsi_itt_to_ctask		pdu_bed_task
#define iscsi_complete_pdu		pdu_bed_complete
#define iscsi_conn_failure		pdu_bed_failure
#define iscsi_put_task			pdu_bed_put_task
#define dat_lmr_sync_rdma_read		pdu_bed_sync
#define dat_lmr_sync_rdma_write		pdu_bed_sync
#define dat_ep_post_recv		pdu_bed_post

static struct iscsi_task *pdu_bed_task(struct iscsi_conn *conn, itt_t itt);
static int pdu_bed_complete(struct iscsi_conn *conn, struct iscsi_hdr *header, char *data,
			    int length);
static void pdu_bed_failure(struct iscsi_conn *conn, enum iscsi_err err);
static void pdu_bed_put_task(struct iscsi_task *task);
static DAT_RETURN pdu_bed_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN num);
static DAT_RETURN pdu_bed_post(DAT_EP_HANDLE ep, DAT_COUNT num, const DAT_LMR_TRIPLET *segments,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

#include "../../ulp/iser/receive.c"

#define CONTEXT	0x4700	/* of the command's region */

/**
 * struct pdu_bed - a connection with one command
 * @kc: connection
 * @iscsi: libiscsi's
 * @session: its session
 * @task: task of the command
 * @region: its region
 * @pdus: buffers
 * @receives: receives
 * @completed: PDUs that libiscsi got
 * @exposed: it got one while the region was valid
 * @failures: connection errors by the target's fault
 */
struct pdu_bed {
	struct kiser_conn kc;
	struct iscsi_conn iscsi;
	struct iscsi_session session;
	struct iscsi_task task;
	struct kiser_region region;
	struct kiser_pdu pdus[2];
	struct kiser_receive receives[2];
	unsigned int completed;
	bool exposed;
	unsigned int failures;
};

static struct pdu_bed *pdu_bed_of(struct iscsi_conn *conn)
{
	return container_of(conn, struct pdu_bed, iscsi);
}

static struct iscsi_task *pdu_bed_task(struct iscsi_conn *conn, itt_t itt)
{
	return &pdu_bed_of(conn)->task;
}

static int pdu_bed_complete(struct iscsi_conn *conn, struct iscsi_hdr *header, char *data,
			    int length)
{
	struct pdu_bed *bed = pdu_bed_of(conn);

	bed->completed++;
	bed->exposed |= atomic_read(&bed->region.state) != KISER_REGION_FREE;
	return 0;
}

static void pdu_bed_failure(struct iscsi_conn *conn, enum iscsi_err err)
{
	pdu_bed_of(conn)->failures += err == ISCSI_ERR_PROTO;
}

static void pdu_bed_put_task(struct iscsi_task *task)
{
}

static DAT_RETURN pdu_bed_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN num)
{
	return DAT_SUCCESS;
}

static DAT_RETURN pdu_bed_post(DAT_EP_HANDLE ep, DAT_COUNT num, const DAT_LMR_TRIPLET *segments,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return DAT_SUCCESS;
}

int kiser_conn_errno(DAT_RETURN ret)
{
	return ret ? -EIO : 0;
}

void kiser_conn_fail(struct kiser_conn *kc)
{
}

/* that of buffer.c without the request */
bool kiser_buffer_unmap(struct kiser_conn *kc, struct kiser_region *region,
			struct kiser_receive *receive)
{
	if (atomic_cmpxchg(&region->state, KISER_REGION_VALID, KISER_REGION_INVALIDATING) !=
	    KISER_REGION_VALID)
		return false;
	region->receive = receive;
	atomic_inc(&kc->invalidating);
	return true;
}

static struct pdu_bed *pdu_bed_open(struct ktest *test, enum kiser_region_state state)
{
	struct pdu_bed *bed = kunit_kzalloc(test, sizeof(*bed), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, bed);
	bed->kc.iscsi = &bed->iscsi;
	bed->kc.regions = &bed->region;
	bed->kc.full_feature = true;
	bed->kc.remote_invalidation = true;
	bed->iscsi.session = &bed->session;
	bed->region.context = CONTEXT;
	atomic_set(&bed->region.state, state);
	for (i = 0; i < ARRAY_SIZE(bed->pdus); i++)
		bed->receives[i].pdu = &bed->pdus[i];
	return bed;
}

/* Receive @i brings a PDU of @opcode. @operation: with an invalidation of @context, or without */
static void pdu_bed_receive(struct pdu_bed *bed, unsigned int i, u8 opcode, DAT_DTOS operation,
			    DAT_RMR_CONTEXT context)
{
	const DAT_EVENT event = {
		.event_number = DAT_DTO_COMPLETION_EVENT,
		.event_data.dto_completion_event_data = {
			.user_cookie.as_ptr = &bed->receives[i],
			.transfered_length = sizeof(struct kiser_pdu),
			.operation = operation,
			.rmr_context = context,
		},
	};

	bed->pdus[i].iscsi.opcode = opcode;
	kiser_receive_upcall(&bed->kc, &event, DAT_FALSE);
}

/* The initiator's invalidation completes. */
static void pdu_bed_invalidated(struct pdu_bed *bed, DAT_DTO_COMPLETION_STATUS status)
{
	const DAT_EVENT event = {
		.event_number = DAT_DTO_COMPLETION_EVENT,
		.event_data.dto_completion_event_data = {
			.user_cookie.as_ptr = &bed->region,
			.operation = DAT_DTO_LMR_INVALIDATE,
			.status = status,
		},
	};

	kiser_receive_upcall(&bed->kc, &event, DAT_FALSE);
}

static void expect_state(struct ktest *test, struct pdu_bed *bed, enum kiser_region_state state,
			 unsigned int completed, unsigned int failures)
{
	KTEST_EQ(test, atomic_read(&bed->region.state), state);
	KTEST_EQ(test, bed->completed, completed);
	KTEST_EQ(test, bed->failures, failures);
	KTEST_FALSE(test, bed->exposed);
}

static void response_waits_for_the_invalidation(struct ktest *test)
{
	struct pdu_bed *bed = pdu_bed_open(test, KISER_REGION_VALID);

	pdu_bed_receive(bed, 0, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE, 0);
	expect_state(test, bed, KISER_REGION_INVALIDATING, 0, 0);
	/* other PDUs do not wait */
	pdu_bed_receive(bed, 1, ISCSI_OP_NOOP_IN, DAT_DTO_RECEIVE, 0);
	KTEST_EQ(test, bed->completed, 1);
	bed->exposed = false;
	pdu_bed_invalidated(bed, DAT_DTO_SUCCESS);
	expect_state(test, bed, KISER_REGION_FREE, 2, 0);
	KTEST_EQ(test, atomic_read(&bed->kc.invalidating), 0);
}

/* The connection's end frees the region, and then libiscsi ends the command. */
static void flushed_invalidation_completes_nothing(struct ktest *test)
{
	struct pdu_bed *bed = pdu_bed_open(test, KISER_REGION_VALID);

	pdu_bed_receive(bed, 0, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE, 0);
	pdu_bed_invalidated(bed, DAT_DTO_ERR_FLUSHED);
	expect_state(test, bed, KISER_REGION_INVALIDATING, 0, 0);
	KTEST_EQ(test, atomic_read(&bed->kc.invalidating), 1);
}

static void second_response_does_not_overtake(struct ktest *test)
{
	struct pdu_bed *bed = pdu_bed_open(test, KISER_REGION_VALID);

	pdu_bed_receive(bed, 0, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE, 0);
	pdu_bed_receive(bed, 1, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE, 0);
	expect_state(test, bed, KISER_REGION_INVALIDATING, 0, 1);
	pdu_bed_receive(bed, 1, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE_WITH_INVALIDATE, CONTEXT);
	expect_state(test, bed, KISER_REGION_INVALIDATING, 0, 2);
	pdu_bed_invalidated(bed, DAT_DTO_SUCCESS);
	expect_state(test, bed, KISER_REGION_FREE, 1, 2);
}

static void status_with_data_is_refused(struct ktest *test)
{
	struct pdu_bed *bed = pdu_bed_open(test, KISER_REGION_VALID);

	pdu_bed_receive(bed, 0, ISCSI_OP_SCSI_DATA_IN, DAT_DTO_RECEIVE, 0);
	expect_state(test, bed, KISER_REGION_VALID, 0, 1);
	pdu_bed_receive(bed, 1, ISCSI_OP_SCSI_DATA_IN, DAT_DTO_RECEIVE_WITH_INVALIDATE, CONTEXT);
	expect_state(test, bed, KISER_REGION_VALID, 0, 2);
}

static void target_invalidates(struct ktest *test)
{
	struct pdu_bed *bed = pdu_bed_open(test, KISER_REGION_VALID);

	/* not that of the command, and not with another PDU */
	pdu_bed_receive(bed, 0, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE_WITH_INVALIDATE,
			CONTEXT + 1);
	expect_state(test, bed, KISER_REGION_VALID, 0, 1);
	pdu_bed_receive(bed, 0, ISCSI_OP_NOOP_IN, DAT_DTO_RECEIVE_WITH_INVALIDATE, CONTEXT);
	expect_state(test, bed, KISER_REGION_VALID, 0, 2);
	pdu_bed_receive(bed, 1, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE_WITH_INVALIDATE, CONTEXT);
	expect_state(test, bed, KISER_REGION_FREE, 1, 2);
}

static void command_without_a_region(struct ktest *test)
{
	struct pdu_bed *bed = pdu_bed_open(test, KISER_REGION_FREE);

	pdu_bed_receive(bed, 0, ISCSI_OP_SCSI_CMD_RSP, DAT_DTO_RECEIVE, 0);
	expect_state(test, bed, KISER_REGION_FREE, 1, 0);
}

static struct ktest_case kiser_receive_cases[] = {
	KTEST_CASE(response_waits_for_the_invalidation),
	KTEST_CASE(flushed_invalidation_completes_nothing),
	KTEST_CASE(second_response_does_not_overtake),
	KTEST_CASE(status_with_data_is_refused),
	KTEST_CASE(target_invalidates),
	KTEST_CASE(command_without_a_region),
	{}
};

KTEST_SUITE(kiser_receive, kiser_receive_cases);
