/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The state machine and the judge were written apart, from one document. Two machines run with
 * programs that do anything at any time, and the judge watches: it must find nothing, and must
 * count the same bytes.
 */
#include <cstdint>

#include <gtest/gtest.h>

#include "../../sdp/judge.hpp"
#include "pair_bridge.h"

namespace {

using namespace sdp;

End end_of(int end)
{
	return static_cast<End>(end);
}

bridge_observer observer_of(Judge &judge)
{
	return {.message =
			[](void *context, int end, const std::uint8_t *p, std::uint32_t n,
			   int carrier) {
				static_cast<Judge *>(context)->message(
					end_of(end), {p, n}, static_cast<Carrier>(carrier));
			},
		.write =
			[](void *context, int end, std::uint32_t rkey, std::uint64_t va,
			   std::uint64_t len) {
				static_cast<Judge *>(context)->rdma_write(end_of(end), rkey, va,
									  len);
			},
		.read =
			[](void *context, int end, std::uint32_t rkey, std::uint64_t va,
			   std::uint64_t len) {
				static_cast<Judge *>(context)->rdma_read(end_of(end), rkey, va,
									 len);
			},
		.context = &judge};
}

/* Return: bytes by mechanism that both have counted */
Totals watch(std::uint32_t seed, std::uint32_t steps)
{
	bridge_result result = {};
	Totals sum;
	Judge judge;

	const bridge_observer observer = observer_of(judge);
	bridge_run(seed, steps, &observer, &result);
	judge.finish();
	EXPECT_STREQ(result.broken, "") << "seed " << seed;
	EXPECT_TRUE(judge.closed()) << "seed " << seed;
	for (const Finding &finding : judge.findings())
		ADD_FAILURE() << "seed " << seed << ", event " << finding.number << ", "
			      << (finding.end == End::active ? "active" : "passive")
			      << " end: " << finding.rule << ": " << finding.text;
	for (const int end : {0, 1}) {
		const Totals &totals = judge.totals(end_of(end));

		EXPECT_EQ(totals.bcopy, result.bcopy[end]) << "seed " << seed;
		EXPECT_EQ(totals.read, result.read[end]) << "seed " << seed;
		EXPECT_EQ(totals.written, result.written[end]) << "seed " << seed;
		EXPECT_EQ(totals.octets(), result.octets[end]) << "seed " << seed;
		sum.bcopy += totals.bcopy;
		sum.read += totals.read;
		sum.written += totals.written;
		sum.transactions += totals.transactions;
		sum.oob += totals.oob;
	}
	return sum;
}

TEST(SdpMachines, ObeyTheJudge)
{
	Totals sum;

	for (std::uint32_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); seed++) {
		const Totals run = watch(seed * 0x9e3779b1U, seed % 10 == 0 ? 1500 : 150);

		sum.bcopy += run.bcopy;
		sum.read += run.read;
		sum.written += run.written;
		sum.transactions += run.transactions;
		sum.oob += run.oob;
	}
	/* every mechanism was at work */
	EXPECT_GT(sum.bcopy, 100000U);
	EXPECT_GT(sum.read, 100000U);
	EXPECT_GT(sum.written, 10000U);
	EXPECT_GT(sum.transactions, 10U);
	EXPECT_GT(sum.oob, 100U);
}

} /* namespace */
