/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kdapltest: what its program asks its module for. There is one request, KDT_RUN of /dev/kdapltest:
 * a run is the work of the task that asks for it. It is in that task's network namespace, a signal
 * ends it, and nothing of it is left when the request returns.
 */
#ifndef KDT_UAPI_H
#define KDT_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KDT_PORT		45248	/* dapltest's */
#define KDT_OPS			16	/* operations of a transaction */
#define KDT_SEGMENTS		8
#define KDT_BYTES		(4u << 20)	/* of an operation */
#define KDT_THREADS		64
#define KDT_EPS			512	/* of a thread */
#define KDT_LINKS		2048	/* connections of a run */
#define KDT_PIPELINE		1024
#define KDT_OBJECTS		(1u << 20)	/* of one kind */
#define KDT_SECONDS		(7 * 24 * 3600u)
#define KDT_NAME		64
#define KDT_TEXT		128

enum kdt_mode {
	KDT_SERVE,
	KDT_TRANSACTIONS,
	KDT_PERFORMANCE,
	KDT_LIMITS,
};

enum kdt_api {
	KDT_KDAPL,
	KDT_VERBS,
};

enum kdt_kind {
	KDT_SEND,
	KDT_WRITE,
	KDT_READ,
};

enum kdt_object {
	KDT_PZ,
	KDT_EVD,
	KDT_DTO_EVD,
	KDT_EP,
	KDT_LMR,
	KDT_RMR,
	KDT_SRQ,
	KDT_PSP,
	KDT_OBJECT_KINDS,
};

/**
 * struct kdt_op - an operation
 * @server: the server does it, else the client
 * @kind: enum kdt_kind
 * @segments: of local memory
 * @size: bytes of each
 */
struct kdt_op {
	__u8 server;
	__u8 kind;
	__u16 segments;
	__u32 size;
};

/**
 * struct kdt_latency - times of operations, nanoseconds
 * @min: least
 * @average: arithmetic mean
 * @median: half of the times are not above it
 * @p90: so are 90 of 100
 * @p99: so are 99 of 100
 * @p999: so are 999 of 1000
 * @max: most
 */
struct kdt_latency {
	__u64 min;
	__u64 average;
	__u64 median;
	__u64 p90;
	__u64 p99;
	__u64 p999;
	__u64 max;
};

/**
 * struct kdt_limit - how many objects of a kind there can be
 * @object: kind
 * @promised: the IA's attribute, 0: there is none
 * @reached: objects made
 * @refused: the next one was refused
 * @clean: the refusal was DAT_INSUFFICIENT_RESOURCES, one was made again after one had been freed,
 *	and all could be freed
 * @text: the refusal, or what was not clean
 */
struct kdt_limit {
	char object[16];
	__u64 promised;
	__u64 reached;
	__u32 refused;
	__u32 clean;
	char text[KDT_TEXT];
};

/**
 * struct kdt_args - a run
 * @size: of this structure
 * @mode: enum kdt_mode
 * @api: enum kdt_api; transactions and limits are kDAPL's
 * @port: the server's
 * @ia: name of the interface adapter, which is that of the RNIC
 * @address: struct sockaddr of the server; of a verbs server as well
 * @threads: of the client
 * @eps: endpoints of each
 * @iterations: of each endpoint, 0: until @seconds are over
 * @seconds: a server ends after these, 0: never; a client after these if there are no @iterations
 * @pipeline: operations of a performance test that may be pending at once
 * @max_objects: of a limits test
 * @nops: operations
 * @kinds: of objects of a limits test, bits by enum kdt_object; 0: all
 * @ops: the first @nops are given
 *
 * @error: result: a negative error number, 0: all went well
 * @interrupted: a signal ended the run
 * @failed: connections that failed
 * @nlimits: limits
 * @connections: connections made
 * @operations: operations done; of a server: that the clients did
 * @bytes: bytes that they carried
 * @verified: bytes that were compared
 * @ns: time that they took
 * @latency: of an operation of @ops
 * @limits: the first @nlimits are given
 * @what: the first failure in words
 */
struct kdt_args {
	__u32 size;
	__u32 mode;
	__u32 api;
	__u32 port;
	char ia[KDT_NAME];
	__u8 address[128];
	__u32 threads;
	__u32 eps;
	__u32 iterations;
	__u32 seconds;
	__u32 pipeline;
	__u32 max_objects;
	__u32 nops;
	__u32 kinds;
	struct kdt_op ops[KDT_OPS];

	__s32 error;
	__u32 interrupted;
	__u32 failed;
	__u32 nlimits;
	__u64 connections;
	__u64 operations;
	__u64 bytes;
	__u64 verified;
	__u64 ns;
	struct kdt_latency latency;
	struct kdt_limit limits[KDT_OBJECT_KINDS];
	char what[KDT_TEXT];
};

#define KDT_RUN	_IOWR('K', 0x64, struct kdt_args)

#endif /* KDT_UAPI_H */
