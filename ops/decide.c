// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The decision table: the result of a program's call when one of the sockets behind it fails, or
 * does not.
 *
 * Where the seed says two things, these rows decide. Section 2 lets a failed connection go on with
 * TCP, 5.1.9 reports the error: a wildcard continues, a protocol that was asked for by number
 * reports. 5.1.6 lets any protocol fall back to TCP when its socket cannot be made; a program that
 * asks for one by number has no TCP socket, and hears of it. A wildcard without TCP's socket is
 * refused: LSM or the cgroup has said no to the connections that it could make.
 *
 * Pure: no kernel interfaces, so that KUnit walks through every row.
 */
#include "ops.h"

#define ANY	2	/* in a row: it does not matter */

/**
 * struct ops_decide_row - a situation, and what it comes to
 * @call: call
 * @wants: what the socket was made for
 * @stream: it is a stream socket
 * @native: there is TCP's socket
 * @failed: a leg failed
 * @failed_native: it is TCP's
 * @verdict: answer
 */
struct ops_decide_row {
	u8 call;
	u8 wants;
	u8 stream;
	u8 native;
	u8 failed;
	u8 failed_native;
	u8 verdict;
};

#define ROW(call, wants, stream, native, failed, failed_native, verdict) \
	{ OPS_CALL_##call, OPS_WANTS_##wants, stream, native, failed, failed_native, OPS_##verdict }

/* The first row that matches is the answer. */
static const struct ops_decide_row ops_decide_table[] = {
	/*  call     wants     stream native failed native failed  verdict */

	/* 5.1.6: only streams are offloaded, and only over protocols that are known */
	ROW(CREATE,  WILDCARD, 0,     1,     ANY,   ANY,	   NATIVE),
	ROW(CREATE,  WILDCARD, 0,     0,     ANY,   ANY,	   FAIL),
	ROW(CREATE,  PROTOCOL, 0,     1,     ANY,   ANY,	   NATIVE),
	ROW(CREATE,  PROTOCOL, 0,     0,     ANY,   ANY,	   FAIL),
	ROW(CREATE,  UNKNOWN,  ANY,   1,     ANY,   ANY,	   NATIVE),
	ROW(CREATE,  UNKNOWN,  ANY,   0,     ANY,   ANY,	   FAIL),
	/* the wildcard: all protocols; one that fails is left out, as long as there is TCP */
	ROW(CREATE,  WILDCARD, 1,     ANY,   1,     1,		   FAIL),
	ROW(CREATE,  WILDCARD, 1,     1,     1,     0,		   DROP_LEG),
	ROW(CREATE,  WILDCARD, 1,     0,     1,     0,		   FAIL),
	ROW(CREATE,  WILDCARD, 1,     ANY,   0,     ANY,	   GO_ON),
	/* one protocol: its own error, whatever there is besides */
	ROW(CREATE,  PROTOCOL, 1,     ANY,   1,     ANY,	   FAIL),
	ROW(CREATE,  PROTOCOL, 1,     ANY,   0,     ANY,	   GO_ON),

	/* 5.1.7: TCP's error ends it, an error of the others leaves them out */
	ROW(BIND,    WILDCARD, 1,     ANY,   1,     1,		   FAIL),
	ROW(BIND,    WILDCARD, 1,     1,     1,     0,		   DROP_LEG),
	ROW(BIND,    WILDCARD, 1,     0,     1,     0,		   FAIL),
	ROW(BIND,    WILDCARD, 1,     ANY,   0,     ANY,	   GO_ON),
	ROW(BIND,    PROTOCOL, 1,     ANY,   1,     ANY,	   FAIL),
	ROW(BIND,    PROTOCOL, 1,     ANY,   0,     ANY,	   GO_ON),

	/* 5.1.8: "very similar to how bind is handled" */
	ROW(LISTEN,  WILDCARD, 1,     ANY,   1,     1,		   FAIL),
	ROW(LISTEN,  WILDCARD, 1,     1,     1,     0,		   DROP_LEG),
	ROW(LISTEN,  WILDCARD, 1,     0,     1,     0,		   FAIL),
	ROW(LISTEN,  WILDCARD, 1,     ANY,   0,     ANY,	   GO_ON),
	ROW(LISTEN,  PROTOCOL, 1,     ANY,   1,     ANY,	   FAIL),
	ROW(LISTEN,  PROTOCOL, 1,     ANY,   0,     ANY,	   GO_ON),

	/* 5.1.9: the next protocol, TCP last; TCP's error is the answer, a connection is the end */
	ROW(CONNECT, WILDCARD, 1,     ANY,   1,     1,		   FAIL),
	ROW(CONNECT, WILDCARD, 1,     1,     1,     0,		   DROP_LEG),
	ROW(CONNECT, WILDCARD, 1,     0,     1,     0,		   FAIL),
	ROW(CONNECT, WILDCARD, 1,     1,     0,     1,		   NATIVE),
	ROW(CONNECT, WILDCARD, 1,     ANY,   0,     ANY,	   GO_ON),
	ROW(CONNECT, PROTOCOL, 1,     ANY,   1,     ANY,	   FAIL),
	ROW(CONNECT, PROTOCOL, 1,     ANY,   0,     ANY,	   GO_ON),
};

static bool ops_decide_is(u8 row, bool value)
{
	return row == ANY || row == value;
}

enum ops_verdict ops_decide(enum ops_call call, enum ops_wants wants, bool stream, bool native,
			    int failed, bool failed_native)
{
	const struct ops_decide_row *row;

	for (row = ops_decide_table; row < ops_decide_table + ARRAY_SIZE(ops_decide_table); row++)
		if (row->call == call && row->wants == wants &&
		    ops_decide_is(row->stream, stream) && ops_decide_is(row->native, native) &&
		    ops_decide_is(row->failed, failed) &&
		    ops_decide_is(row->failed_native, failed_native))
			return row->verdict;
	/* sockets that were never the switch's: nothing to go on with */
	return native ? OPS_NATIVE : OPS_FAIL;
}
