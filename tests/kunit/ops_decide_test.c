// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The switch's decisions (ops/decide.c), in each situation. */
#include <linux/array_size.h>
#include <linux/errno.h>

#include "ktest.h"

#include "../../ops/ops.h"

struct situation {
	const char *what;
	enum ops_wants wants;
	bool stream;
	bool native;
	int failed;
	bool failed_native;
	enum ops_verdict verdict;
};

static void ops_decide_rows(struct ktest *test, enum ops_call call, const struct situation *row,
			    size_t num)
{
	for (; num--; row++)
		KTEST_EQ_MSG(test, ops_decide(call, row->wants, row->stream, row->native,
					      row->failed, row->failed_native),
			     row->verdict, "%s", row->what);
}

/* 5.1.6 */
static void create(struct ktest *test)
{
	static const struct situation rows[] = {
		{ "datagram", OPS_WANTS_WILDCARD, false, true, 0, false, OPS_NATIVE },
		{ "datagram, no TCP/IP", OPS_WANTS_WILDCARD, false, false, 0, false, OPS_FAIL },
		{ "datagram of a protocol", OPS_WANTS_PROTOCOL, false, true, 0, false, OPS_NATIVE },
		{ "the same, none", OPS_WANTS_PROTOCOL, false, false, 0, false, OPS_FAIL },
		{ "unknown", OPS_WANTS_UNKNOWN, true, true, 0, false, OPS_NATIVE },
		{ "unknown to all", OPS_WANTS_UNKNOWN, true, false, 0, false, OPS_FAIL },
		{ "unknown datagram", OPS_WANTS_UNKNOWN, false, true, 0, false, OPS_NATIVE },
		{ "unknown datagram to all", OPS_WANTS_UNKNOWN, false, false, 0, false, OPS_FAIL },
		{ "wildcard", OPS_WANTS_WILDCARD, true, true, 0, false, OPS_GO_ON },
		{ "wildcard, TCP made", OPS_WANTS_WILDCARD, true, true, 0, true, OPS_GO_ON },
		{ "wildcard, no TCP, all made", OPS_WANTS_WILDCARD, true, false, 0, false,
		  OPS_GO_ON },
		{ "wildcard, TCP refused", OPS_WANTS_WILDCARD, true, false, -EACCES, true,
		  OPS_FAIL },
		{ "wildcard, TCP failed", OPS_WANTS_WILDCARD, true, true, -ENOMEM, true, OPS_FAIL },
		{ "wildcard, one failed", OPS_WANTS_WILDCARD, true, true, -ENODEV, false,
		  OPS_DROP_LEG },
		{ "wildcard, one failed, no TCP", OPS_WANTS_WILDCARD, true, false, -ENODEV, false,
		  OPS_FAIL },
		{ "protocol", OPS_WANTS_PROTOCOL, true, false, 0, false, OPS_GO_ON },
		{ "protocol failed", OPS_WANTS_PROTOCOL, true, false, -ENODEV, false, OPS_FAIL },
		{ "protocol failed, TCP is there", OPS_WANTS_PROTOCOL, true, true, -ENODEV, false,
		  OPS_FAIL },
	};

	ops_decide_rows(test, OPS_CALL_CREATE, rows, ARRAY_SIZE(rows));
}

/* 5.1.7 and 5.1.8, "very similar to how bind is handled" */
static void bind_and_listen(struct ktest *test)
{
	static const struct situation rows[] = {
		{ "all", OPS_WANTS_WILDCARD, true, true, 0, false, OPS_GO_ON },
		{ "TCP did", OPS_WANTS_WILDCARD, true, true, 0, true, OPS_GO_ON },
		{ "all, no TCP", OPS_WANTS_WILDCARD, true, false, 0, false, OPS_GO_ON },
		{ "TCP failed", OPS_WANTS_WILDCARD, true, true, -EADDRINUSE, true, OPS_FAIL },
		{ "another failed", OPS_WANTS_WILDCARD, true, true, -EADDRINUSE, false,
		  OPS_DROP_LEG },
		{ "another failed, no TCP", OPS_WANTS_WILDCARD, true, false, -EADDRINUSE, false,
		  OPS_FAIL },
		{ "the protocol", OPS_WANTS_PROTOCOL, true, false, 0, false, OPS_GO_ON },
		{ "the protocol failed", OPS_WANTS_PROTOCOL, true, false, -EADDRINUSE, false,
		  OPS_FAIL },
		{ "the protocol failed, TCP is there", OPS_WANTS_PROTOCOL, true, true, -EADDRINUSE,
		  false, OPS_FAIL },
	};

	ops_decide_rows(test, OPS_CALL_BIND, rows, ARRAY_SIZE(rows));
	ops_decide_rows(test, OPS_CALL_LISTEN, rows, ARRAY_SIZE(rows));
}

/* 5.1.9, with section 2: the wildcard continues with TCP */
static void connect(struct ktest *test)
{
	static const struct situation rows[] = {
		{ "an offload protocol did", OPS_WANTS_WILDCARD, true, true, 0, false, OPS_GO_ON },
		{ "it did, no TCP", OPS_WANTS_WILDCARD, true, false, 0, false, OPS_GO_ON },
		{ "refused: the next one", OPS_WANTS_WILDCARD, true, true, -ECONNREFUSED, false,
		  OPS_DROP_LEG },
		{ "refused, no TCP", OPS_WANTS_WILDCARD, true, false, -ECONNREFUSED, false,
		  OPS_FAIL },
		{ "TCP's turn", OPS_WANTS_WILDCARD, true, true, 0, true, OPS_NATIVE },
		{ "TCP refused", OPS_WANTS_WILDCARD, true, true, -ECONNREFUSED, true, OPS_FAIL },
		{ "the protocol did", OPS_WANTS_PROTOCOL, true, false, 0, false, OPS_GO_ON },
		{ "the protocol was refused", OPS_WANTS_PROTOCOL, true, false, -ECONNREFUSED, false,
		  OPS_FAIL },
		{ "refused, TCP is there", OPS_WANTS_PROTOCOL, true, true, -ECONNREFUSED, false,
		  OPS_FAIL },
	};

	ops_decide_rows(test, OPS_CALL_CONNECT, rows, ARRAY_SIZE(rows));
}

/* No situation without an answer: a socket that no protocol takes is TCP's or fails. */
static void never_the_switch(struct ktest *test)
{
	static const enum ops_call calls[] = { OPS_CALL_BIND, OPS_CALL_LISTEN, OPS_CALL_CONNECT };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		KTEST_EQ(test, ops_decide(calls[i], OPS_WANTS_UNKNOWN, true, true, 0, false),
			 OPS_NATIVE);
		KTEST_EQ(test, ops_decide(calls[i], OPS_WANTS_UNKNOWN, true, false, 0, false),
			 OPS_FAIL);
		KTEST_EQ(test, ops_decide(calls[i], OPS_WANTS_WILDCARD, false, true, 0, false),
			 OPS_NATIVE);
	}
}

static struct ktest_case cases[] = {
	KTEST_CASE(create),
	KTEST_CASE(bind_and_listen),
	KTEST_CASE(connect),
	KTEST_CASE(never_the_switch),
	{}
};

KTEST_SUITE(ops_decide, cases);
