// SPDX-License-Identifier: GPL-2.0 OR MIT
/* kDAPL's errors (kal/kdapl/base/error.h), and values and layouts of kdat.h. */
#include <linux/array_size.h>
#include <linux/errno.h>

#include "ktest.h"

#include "../../kal/kdapl/base/error.h"

static void names_of_types(struct ktest *test)
{
	static const struct {
		DAT_RETURN_TYPE type;
		const char *name;
	} types[] = {
		{ DAT_SUCCESS, "DAT_SUCCESS" },
		{ DAT_ABORT, "DAT_ABORT" },
		{ DAT_CONN_QUAL_IN_USE, "DAT_CONN_QUAL_IN_USE" },
		{ DAT_INSUFFICIENT_RESOURCES, "DAT_INSUFFICIENT_RESOURCES" },
		{ DAT_INTERNAL_ERROR, "DAT_INTERNAL_ERROR" },
		{ DAT_INVALID_HANDLE, "DAT_INVALID_HANDLE" },
		{ DAT_INVALID_PARAMETER, "DAT_INVALID_PARAMETER" },
		{ DAT_INVALID_STATE, "DAT_INVALID_STATE" },
		{ DAT_LENGTH_ERROR, "DAT_LENGTH_ERROR" },
		{ DAT_MODEL_NOT_SUPPORTED, "DAT_MODEL_NOT_SUPPORTED" },
		{ DAT_PROVIDER_NOT_FOUND, "DAT_PROVIDER_NOT_FOUND" },
		{ DAT_PRIVILEGES_VIOLATION, "DAT_PRIVILEGES_VIOLATION" },
		{ DAT_PROTECTION_VIOLATION, "DAT_PROTECTION_VIOLATION" },
		{ DAT_QUEUE_EMPTY, "DAT_QUEUE_EMPTY" },
		{ DAT_QUEUE_FULL, "DAT_QUEUE_FULL" },
		{ DAT_TIMEOUT_EXPIRED, "DAT_TIMEOUT_EXPIRED" },
		{ DAT_PROVIDER_ALREADY_REGISTERED, "DAT_PROVIDER_ALREADY_REGISTERED" },
		{ DAT_PROVIDER_IN_USE, "DAT_PROVIDER_IN_USE" },
		{ DAT_INVALID_ADDRESS, "DAT_INVALID_ADDRESS" },
		{ DAT_INTERRUPTED_CALL, "DAT_INTERRUPTED_CALL" },
		{ DAT_CONN_QUAL_UNAVAILABLE, "DAT_CONN_QUAL_UNAVAILABLE" },
		{ DAT_RESERVED_LMR, "DAT_RESERVED_LMR" },
		{ DAT_PORT_IN_USE, "DAT_PORT_IN_USE" },
		{ DAT_COMM_NOT_SUPPORTED, "DAT_COMM_NOT_SUPPORTED" },
		{ DAT_EXTENSION_BASE, "DAT_EXTENSION_BASE" },
		{ DAT_NOT_IMPLEMENTED, "DAT_NOT_IMPLEMENTED" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		const char *type = "";
		const char *subtype = "";

		/* the class does not matter */
		KTEST_EQ(test, kdat_error_names(types[i].type, &type, &subtype), DAT_SUCCESS);
		KTEST_STREQ(test, type, types[i].name);
		KTEST_STREQ(test, subtype, "DAT_NO_SUBTYPE");
		KTEST_EQ(test, kdat_error_names(DAT_ERROR(types[i].type, DAT_SUB_INTERRUPTED),
						&type, &subtype), DAT_SUCCESS);
		KTEST_STREQ(test, type, types[i].name);
		KTEST_STREQ(test, subtype, "DAT_SUB_INTERRUPTED");
	}
}

static void names_of_subtypes(struct ktest *test)
{
	static const struct {
		DAT_RETURN_SUBTYPE subtype;
		const char *name;
	} some[] = {
		{ DAT_RESOURCE_MEMORY, "DAT_RESOURCE_MEMORY" },
		{ DAT_RESOURCE_SRQ, "DAT_RESOURCE_SRQ" },
		{ DAT_INVALID_HANDLE_IA, "DAT_INVALID_HANDLE_IA" },
		{ DAT_INVALID_HANDLE_CSP, "DAT_INVALID_HANDLE_CSP" },
		{ DAT_INVALID_HANDLE10, "DAT_INVALID_HANDLE10" },
		{ DAT_INVALID_ARG1, "DAT_INVALID_ARG1" },
		{ DAT_INVALID_STATE_EP_UNCONNECTED, "DAT_INVALID_STATE_EP_UNCONNECTED" },
		{ DAT_INVALID_STATE_SRQ_SHUTDOWN, "DAT_INVALID_STATE_SRQ_SHUTDOWN" },
		{ DAT_PRIVILEGES_READ, "DAT_PRIVILEGES_READ" },
		{ DAT_PROTECTION_RDMA_WRITE, "DAT_PROTECTION_RDMA_WRITE" },
		{ DAT_INVALID_ADDRESS_MALFORMED, "DAT_INVALID_ADDRESS_MALFORMED" },
		{ DAT_THREAD_SAFETY_NOT_FOUND, "DAT_THREAD_SAFETY_NOT_FOUND" },
	};
	const char *type, *subtype;
	unsigned int i;

	for (i = 0; i <= DAT_THREAD_SAFETY_NOT_FOUND; i++) {
		subtype = NULL;
		KTEST_EQ(test, kdat_error_names(DAT_ERROR(DAT_ABORT, i), &type, &subtype),
			 DAT_SUCCESS);
		KTEST_TRUE_MSG(test, subtype && subtype[0] == 'D', "subtype %u", i);
	}
	for (i = 0; i < ARRAY_SIZE(some); i++) {
		kdat_error_names(DAT_ERROR(DAT_ABORT, some[i].subtype), &type, &subtype);
		KTEST_STREQ(test, subtype, some[i].name);
	}
}

static void names_of_nothing(struct ktest *test)
{
	static const DAT_RETURN unknown[] = {
		DAT_ERROR(0x00180000, 0),
		DAT_ERROR(0x0fff0000, 0),
		DAT_ERROR(0x10010000, 0),
		DAT_ERROR(0x3ffe0000, 0),
		DAT_ERROR(DAT_ABORT, DAT_THREAD_SAFETY_NOT_FOUND + 1),
		DAT_ERROR(DAT_ABORT, 0xffff),
	};
	const char *type = "as before", *subtype = "as before";
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		KTEST_EQ(test, kdat_error_names(unknown[i], &type, &subtype),
			 DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	KTEST_STREQ(test, type, "as before");
	KTEST_STREQ(test, subtype, "as before");
	KTEST_EQ(test, kdat_error_names(DAT_SUCCESS, NULL, &subtype),
		 DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	KTEST_EQ(test, kdat_error_names(DAT_SUCCESS, &type, NULL), DAT_SUCCESS);
	KTEST_STREQ(test, type, "DAT_SUCCESS");
}

static void errnos(struct ktest *test)
{
	static const struct {
		int err;
		DAT_RETURN ret;
	} rows[] = {
		{ 0, DAT_SUCCESS },
		{ -ENOMEM, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) },
		{ -ENOSPC, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE) },
		{ -EINVAL, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE) },
		{ -EMSGSIZE, DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE) },
		{ -EBUSY, DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE) },
		{ -EPERM, DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_NO_SUBTYPE) },
		{ -EOPNOTSUPP, DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE) },
		{ -EPROTONOSUPPORT, DAT_ERROR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE) },
		{ -EADDRINUSE, DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE) },
		{ -EAFNOSUPPORT, DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED) },
		{ -ENETUNREACH, DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE) },
		{ -EINTR, DAT_ERROR(DAT_ABORT, DAT_SUB_INTERRUPTED) },
		{ -ENODEV, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE) },
		{ -EIO, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE) },
		{ 1, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KTEST_EQ_MSG(test, kdat_error_of_errno(rows[i].err), rows[i].ret, "errno %d",
			     rows[i].err);
}

static void completions(struct ktest *test)
{
	static const struct {
		enum ib_wc_status status;
		DAT_DTOS op;
		DAT_DTO_COMPLETION_STATUS dto;
	} rows[] = {
		{ IB_WC_LOC_LEN_ERR, DAT_DTO_RECEIVE, DAT_DTO_ERR_LOCAL_LENGTH },
		{ IB_WC_LOC_QP_OP_ERR, DAT_DTO_SEND, DAT_DTO_ERR_LOCAL_EP },
		{ IB_WC_LOC_PROT_ERR, DAT_DTO_RDMA_WRITE, DAT_DTO_ERR_LOCAL_PROTECTION },
		{ IB_WC_LOC_ACCESS_ERR, DAT_DTO_RECEIVE, DAT_DTO_ERR_LOCAL_PROTECTION },
		{ IB_WC_BAD_RESP_ERR, DAT_DTO_RDMA_READ, DAT_DTO_ERR_BAD_RESPONSE },
		{ IB_WC_REM_INV_REQ_ERR, DAT_DTO_SEND, DAT_DTO_ERR_REMOTE_RESPONDER },
		{ IB_WC_REM_INV_REQ_ERR, DAT_DTO_RDMA_READ, DAT_DTO_ERR_BAD_RESPONSE },
		{ IB_WC_REM_INV_REQ_ERR, DAT_DTO_RECEIVE, DAT_DTO_ERR_BAD_RESPONSE },
		{ IB_WC_REM_INV_REQ_ERR, (DAT_DTOS)DAT_IB_DTO_CMP_SWAP, DAT_DTO_ERR_BAD_RESPONSE },
		{ IB_WC_REM_ACCESS_ERR, DAT_DTO_RDMA_READ, DAT_DTO_ERR_REMOTE_ACCESS },
		{ IB_WC_REM_OP_ERR, DAT_DTO_SEND, DAT_DTO_ERR_REMOTE_RESPONDER },
		{ IB_WC_RETRY_EXC_ERR, DAT_DTO_SEND, DAT_DTO_ERR_TRANSPORT },
		{ IB_WC_RNR_RETRY_EXC_ERR, DAT_DTO_SEND, DAT_DTO_ERR_RECEIVER_NOT_READY },
		{ IB_WC_FATAL_ERR, DAT_DTO_SEND, DAT_DTO_ERR_TRANSPORT },
		{ IB_WC_GENERAL_ERR, DAT_DTO_RECEIVE, DAT_DTO_ERR_TRANSPORT },
		/* memory management */
		{ IB_WC_MW_BIND_ERR, DAT_DTO_LMR_FMR, DAT_DTO_ERR_LOCAL_MM_ERROR },
		{ IB_WC_LOC_QP_OP_ERR, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_LOCAL_MM_ERROR },
		{ IB_WC_MW_BIND_ERR, DAT_DTO_BIND_MW, DAT_RMR_OPERATION_FAILED },
		{ IB_WC_LOC_PROT_ERR, DAT_DTO_BIND_MW, DAT_RMR_OPERATION_FAILED },
		{ IB_WC_MW_BIND_ERR, DAT_DTO_RDMA_READ, DAT_DTO_ERR_LOCAL_PROTECTION },
		/* not in the table */
		{ (enum ib_wc_status)(IB_WC_GENERAL_ERR + 1), DAT_DTO_SEND,
		  DAT_DTO_ERR_TRANSPORT },
	};
	unsigned int i, op;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KTEST_EQ_MSG(test, kdat_error_dto_status(rows[i].status, rows[i].op), rows[i].dto,
			     "status %u of operation %u", rows[i].status, rows[i].op);
	for (op = 0; op <= DAT_IB_DTO_RECV_MSG_IMMED; op++) {
		KTEST_EQ(test, kdat_error_dto_status(IB_WC_SUCCESS, op), DAT_DTO_SUCCESS);
		KTEST_EQ(test, kdat_error_dto_status(IB_WC_WR_FLUSH_ERR, op), DAT_DTO_ERR_FLUSHED);
		/* no error is a success by omission */
		for (i = 1; i <= IB_WC_GENERAL_ERR; i++)
			KTEST_NE_MSG(test, kdat_error_dto_status(i, op), DAT_DTO_SUCCESS,
				     "status %u of operation %u", i, op);
	}
}

static void failed_connects(struct ktest *test)
{
	static const struct {
		int status;
		bool has_private_data;
		DAT_EVENT_NUMBER event;
	} rows[] = {
		{ -ECONNREFUSED, true, DAT_CONNECTION_EVENT_PEER_REJECTED },
		{ -ECONNREFUSED, false, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
		{ -ETIMEDOUT, false, DAT_CONNECTION_EVENT_TIMED_OUT },
		{ -EHOSTUNREACH, false, DAT_CONNECTION_EVENT_UNREACHABLE },
		{ -ENETUNREACH, false, DAT_CONNECTION_EVENT_UNREACHABLE },
		{ -EADDRNOTAVAIL, false, DAT_CONNECTION_EVENT_UNREACHABLE },
		{ -ECONNRESET, false, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
		{ -EPROTO, true, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
		{ -ENOMEM, false, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KTEST_EQ_MSG(test, kdat_error_conn_event(rows[i].status, rows[i].has_private_data),
			     rows[i].event, "status %d", rows[i].status);
}

/* Values that consumers exchange or mask with. */
static void header(struct ktest *test)
{
	static const DAT_IA_ATTR_MASK extra[] = {
		DAT_IA_FIELD_IA_ZB_SUPPORTED,
		DAT_IA_FIELD_IA_RESERVED_LMR_SUPPORTED,
		DAT_IA_FIELD_IA_EXTENSION,
		DAT_IA_FIELD_IA_EXTENSION_VERSION,
		DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR,
		DAT_IA_FIELD_IA_TRANSPORT_ATTR,
		DAT_IA_FIELD_IA_NUM_VENDOR_ATTR,
		DAT_IA_FIELD_IA_VENDOR_ATTR,
	};
	DAT_IA_ATTR_MASK seen = DAT_IA_FIELD_IA_ZB_SUPPORTED - 1;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(extra); i++) {
		KTEST_EQ(test, seen & extra[i], 0ULL);
		seen |= extra[i];
	}
	KTEST_EQ(test, seen, DAT_IA_FIELD_ALL);

	KTEST_EQ(test, sizeof(DAT_LMR_TRIPLET), 16UL);
	KTEST_EQ(test, sizeof(DAT_RMR_TRIPLET), 16UL);
	KTEST_EQ(test, sizeof(DAT_PROVIDER_INFO), 268UL);
	KTEST_EQ(test, DAT_THREAD_SAFETY_NOT_FOUND, 103);
	KTEST_EQ(test, DAT_DTO_EXTENSION_BASE, 8);
	KTEST_EQ(test, DAT_HANDLE_TYPE_EXTENSION_BASE, 11);
	KTEST_EQ(test, DAT_EP_STATE_CONNECTED_MULTI_PATH, 14);
	KTEST_EQ(test, DAT_GET_TYPE(DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE)),
		 (DAT_UINT32)DAT_INVALID_STATE);
}

static struct ktest_case cases[] = {
	KTEST_CASE(names_of_types),
	KTEST_CASE(names_of_subtypes),
	KTEST_CASE(names_of_nothing),
	KTEST_CASE(errnos),
	KTEST_CASE(completions),
	KTEST_CASE(failed_connects),
	KTEST_CASE(header),
	{}
};

KTEST_SUITE(kdat_error, cases);
