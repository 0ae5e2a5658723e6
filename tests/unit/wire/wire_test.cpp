/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the hostile peer takes for right must be right: its builders against
 * frames of the RFCs and against frames of a program of its own.
 */
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "wire.hpp"

namespace {

using namespace wire;

std::string without_blanks(std::string_view text)
{
	std::string out;

	for (const char c : text)
		if (c != ' ')
			out += c;
	return out;
}

void expect_hex(View got, std::string_view wanted)
{
	EXPECT_EQ(hex(got), without_blanks(wanted));
}

TEST(Wire, Crc32c)
{
	/* RFC 7143 A.4 and the usual check value */
	EXPECT_EQ(crc32c(octets("123456789")), 0xe3069283U);
	EXPECT_EQ(crc32c(Octets(32)), 0x8a9136aaU);
	EXPECT_EQ(crc32c(Octets(32, 0xff)), 0x62a8ab43U);
	/* RFC 5044 figure 5: the marker is part of it */
	const Octets figure = join({Octets(4), fpdu(send(1, Octets(24)))});
	EXPECT_EQ(crc32c(View{figure}.first(figure.size() - 4)), 0x83992352U);
}

TEST(Wire, StartUp)
{
	expect_hex(MpaFrame{}.build(), "4d504120494420526571204672616d65 40 01 0000");
	expect_hex(MpaFrame{.flags = mpa::C | mpa::S,
			    .revision = 2,
			    .data = enhanced_data(enhanced::A | 16, enhanced::C | enhanced::D | 16)}
			   .build(),
		   "4d504120494420526571204672616d65 50 02 0004 8010 c010");
	expect_hex(MpaFrame{.key = mpa::reply_key, .flags = mpa::C | mpa::R}.build(),
		   "4d504120494420526570204672616d65 60 01 0000");
}

TEST(Wire, Fpdus)
{
	expect_hex(fpdu(send(1, "a")), "0013 41 43 00000000 00000000 00000001 00000000 61 000000 "
				       "7a82544e");
	expect_hex(spoiled(fpdu(send(1, "abcd"))),
		   "0016 41 43 00000000 00000000 00000001 00000000 61626364 70644d92");
	expect_hex(fpdu(Octets{}), "0000 0000 c74b6748");
	Segment reserved = send(1, "abcd");
	reserved.ddp_reserved = 0x3c;
	expect_hex(fpdu(reserved),
		   "0016 7d 43 00000000 00000000 00000001 00000000 61626364 7c8c687c");
	expect_hex(fpdu(read_response(0, 0, {})), "000e c1 42 00000000 0000000000000000 6975d6ca");
}

TEST(Wire, Terminates)
{
	const Octets bad_write = write(0x11223344, 0x1000, octets("abcd")).build();
	const ReadRequest request{.sink_stag = 0x55,
				  .sink_to = 0x2000,
				  .size = 64,
				  .source_stag = 0xdeadbeef,
				  .source_to = 0x3000};
	const Octets bad_read = read_request(1, request).build();

	expect_hex(fpdu(terminate(0x1100, term::M | term::D, bad_write)),
		   "0026 41 47 00000000 00000002 00000001 00000000 1100 c000 0012 c1 40 11223344 "
		   "0000000000001000 b5f74601");
	expect_hex(fpdu(terminate(0x0100, term::M | term::D | term::R, bad_read)),
		   "0046 41 47 00000000 00000002 00000001 00000000 0100 e000 002e 41 41 00000000 "
		   "00000001 00000001 00000000 00000055 0000000000002000 00000040 deadbeef "
		   "0000000000003000 062d4603");
	expect_hex(fpdu(terminate(0x2002)),
		   "0016 41 47 00000000 00000002 00000001 00000000 2002 0000 7fe42585");
}

TEST(Wire, ParsesWhatItBuilds)
{
	const Segment request = read_request(7, {.sink_stag = 1, .size = 2, .source_to = 3});
	const Octets ulpdu = ulpdu_of(fpdu(request));

	EXPECT_EQ(parse_segment(ulpdu).build(), request.build());
	EXPECT_EQ(parse_read_request(parse_segment(ulpdu)).source_to, 3U);
	EXPECT_THROW((void)parse_segment(View{ulpdu}.first(17)), Failure);
}

} /* namespace */
