// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * FPDUs as bytes, computed by a program that shares no code with the codecs. CRC is on, and
 * there are no markers. Each FPDU begins a new stream. The codec tests find them by name.
 */
#include <linux/array_size.h>
#include <linux/string.h>

#include "vectors.h"

static const struct vector vectors[] = {
	/* Send, 0 bytes, MSN 1 */
	{ "F1", VECTOR_ACCEPT,
	  "00 12 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "58 7b e8 c4" },
	/* Send, 4 bytes 'abcd', MSN 1 */
	{ "F2", VECTOR_ACCEPT,
	  "00 16 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 71 64 4d 92" },
	/* Send, 1 byte, MSN 1 (PAD 3) */
	{ "F3", VECTOR_ACCEPT,
	  "00 13 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 00 00 00 7a 82 54 4e" },
	/* Send, 2 bytes, MSN 1 (PAD 2) */
	{ "F4", VECTOR_ACCEPT,
	  "00 14 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 00 00 e3 0d cd 6b" },
	/* Send, 3 bytes, MSN 1 (PAD 1) */
	{ "F5", VECTOR_ACCEPT,
	  "00 15 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 00 44 70 65 aa" },
	/* F2 with first CRC byte inverted in bit 0 */
	{ "F6", VECTOR_ACCEPT,
	  "00 16 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 70 64 4d 92" },
	/* ULPDU_Length 0 FPDU */
	{ "F7", 0x2003,
	  "00 00 00 00 c7 4b 67 48" },
	/* ULPDU_Length 13 (shorter than a tagged header), T=1 */
	{ "F8", 0x2003,
	  "00 0d c1 40 11 22 33 44 00 00 00 00 00 00 10 00 d6 11 7b 40" },
	/* ULPDU_Length 17 (shorter than an untagged header), T=0 */
	{ "F9", 0x2003,
	  "00 11 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "80 d8 49 0a" },
	/* Send seg 1 of 2, L=0, MO 0, 'abcd', MSN 1 */
	{ "D1", VECTOR_ACCEPT,
	  "00 16 01 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 b6 e6 74 d0" },
	/* Send seg 2 of 2, L=1, MO 4, 'efgh', MSN 1 */
	{ "D2", VECTOR_ACCEPT,
	  "00 16 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 04\n"
	  "65 66 67 68 24 e1 3d 94" },
	/* Send seg 2 of 2 with MO 8 (gap) */
	{ "D3", VECTOR_ACCEPT,
	  "00 16 41 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 08\n"
	  "65 66 67 68 05 54 1f b1" },
	/* Send, MSN 2 as first message */
	{ "D4", VECTOR_ACCEPT,
	  "00 16 41 43 00 00 00 00 00 00 00 00 00 00 00 02 00 00 00 00\n"
	  "61 62 63 64 58 68 e2 8b" },
	/* Send on QN 4 */
	{ "D5", 0x1201,
	  "00 16 41 43 00 00 00 00 00 00 00 04 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 e5 85 05 51" },
	/* Send, DV=0 */
	{ "D6", 0x1206,
	  "00 16 40 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 c5 8a 58 ce" },
	/* Send, all four DDP reserved bits set */
	{ "D7", VECTOR_ACCEPT,
	  "00 16 7d 43 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 7c 8c 68 7c" },
	/* RDMA Write, STag 0x11223344, TO 0x1000, 'abcd' */
	{ "D8", VECTOR_ACCEPT,
	  "00 12 c1 40 11 22 33 44 00 00 00 00 00 00 10 00 61 62 63 64\n"
	  "08 27 2d 8c" },
	/* RDMA Write, DV=0 */
	{ "D9", 0x1104,
	  "00 12 c0 40 11 22 33 44 00 00 00 00 00 00 10 00 61 62 63 64\n"
	  "23 25 44 83" },
	/* RDMA Write, TO 0xFFFFFFFFFFFFFFFE, 4 bytes (wraps) */
	{ "D10", VECTOR_ACCEPT,
	  "00 12 c1 40 11 22 33 44 ff ff ff ff ff ff ff fe 61 62 63 64\n"
	  "4d 7f 78 d3" },
	/* RDMA Write, 0 bytes, STag 0 TO 0 (RTR) */
	{ "D11", VECTOR_ACCEPT,
	  "00 0e c1 40 00 00 00 00 00 00 00 00 00 00 00 00 a3 05 72 ab" },
	/* RDMA Write, 0 bytes, STag 1 TO 0 (RTR for older hardware) */
	{ "D12", VECTOR_ACCEPT,
	  "00 0e c1 40 00 00 00 01 00 00 00 00 00 00 00 00 eb d3 4c 5f" },
	/* RDMA Read Request, sink 0x55/0x2000, 64 bytes, source 0xDEADBEEF/0x3000, MSN 1 */
	{ "R1", VECTOR_ACCEPT,
	  "00 2e 41 41 00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 00\n"
	  "00 00 00 55 00 00 00 00 00 00 20 00 00 00 00 40 de ad be ef\n"
	  "00 00 00 00 00 00 30 00 ff 3c cb 1a" },
	/* RDMA Read Request, all zero, size 0 (RTR) */
	{ "R2", VECTOR_ACCEPT,
	  "00 2e 41 41 00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 00\n"
	  "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
	  "00 00 00 00 00 00 00 00 f2 c6 dd 3d" },
	/* RDMA Read Response, 0 bytes, STag 0 TO 0 */
	{ "R3", VECTOR_ACCEPT,
	  "00 0e c1 42 00 00 00 00 00 00 00 00 00 00 00 00 69 75 d6 ca" },
	/* Send, RV=2 */
	{ "R4", 0x0205,
	  "00 16 41 83 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 84 44 b1 47" },
	/* opcode 0xC on QN 0 */
	{ "R5", 0x0206,
	  "00 16 41 4c 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 9a fa 29 d9" },
	/* Send with Invalidate 0xDEADBEEF, 'abcd', MSN 1 */
	{ "R6", VECTOR_ACCEPT,
	  "00 16 41 44 de ad be ef 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 af 9a 37 03" },
	/* Send with SE, 'abcd', MSN 1 */
	{ "R7", VECTOR_ACCEPT,
	  "00 16 41 45 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 1f 68 70 bc" },
	/* Send with SE and Invalidate 0xDEADBEEF, 'abcd', MSN 1 */
	{ "R8", VECTOR_ACCEPT,
	  "00 16 41 46 de ad be ef 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 75 61 23 19" },
	/* Send with RDMAP reserved bits set (0x30) */
	{ "R9", VECTOR_ACCEPT,
	  "00 16 41 73 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 f0 71 49 e6" },
	/* RDMA Write opcode with T=0 (untagged header, QN 0) */
	{ "R10", 0x0206,
	  "00 16 41 40 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "61 62 63 64 46 e2 53 85" },
	/* Send opcode with T=1 */
	{ "R11", 0x0206,
	  "00 12 c1 43 11 22 33 44 00 00 00 00 00 00 10 00 61 62 63 64\n"
	  "e9 43 00 6c" },
	/* Terminate: DDP / Tagged / Invalid STag for D8, M=D=1 */
	{ "T1", VECTOR_ACCEPT,
	  "00 26 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "11 00 c0 00 00 12 c1 40 11 22 33 44 00 00 00 00 00 00 10 00\n"
	  "b5 f7 46 01" },
	/* Terminate: RDMAP / Remote Protection / Invalid STag for R1, M=D=R=1 */
	{ "T2", VECTOR_ACCEPT,
	  "00 46 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "01 00 e0 00 00 2e 41 41 00 00 00 00 00 00 00 01 00 00 00 01\n"
	  "00 00 00 00 00 00 00 55 00 00 00 00 00 00 20 00 00 00 00 40\n"
	  "de ad be ef 00 00 00 00 00 00 30 00 06 2d 46 03" },
	/* Terminate: RDMAP / Local Catastrophic, no headers */
	{ "T3", VECTOR_ACCEPT,
	  "00 16 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "00 00 00 00 f9 a2 6f 1d" },
	/* Terminate: LLP / MPA / CRC error, no headers */
	{ "T4", VECTOR_ACCEPT,
	  "00 16 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "20 02 00 00 7f e4 25 85" },
	/* Terminate: LLP / MPA / local catastrophic (RFC 6581) */
	{ "T5", VECTOR_ACCEPT,
	  "00 16 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "20 05 00 00 16 80 d5 f1" },
	/* Terminate: LLP / MPA / insufficient IRD */
	{ "T6", VECTOR_ACCEPT,
	  "00 16 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "20 06 00 00 65 40 fb 1b" },
	/* Terminate: LLP / MPA / no matching RTR */
	{ "T7", VECTOR_ACCEPT,
	  "00 16 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "20 07 00 00 1b d2 ba be" },
	/* Terminate: DDP / Untagged / Invalid QN for D5, M=D=1 */
	{ "T8", VECTOR_ACCEPT,
	  "00 2a 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "12 01 c0 00 00 16 41 43 00 00 00 00 00 00 00 04 00 00 00 01\n"
	  "00 00 00 00 07 b9 a5 95" },
	/* Terminate: RDMAP / Remote Operation / STag cannot be Invalidated for R6, M=D=1 */
	{ "T9", VECTOR_ACCEPT,
	  "00 2a 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "02 09 c0 00 00 16 41 44 de ad be ef 00 00 00 00 00 00 00 01\n"
	  "00 00 00 00 d8 16 c4 b1" },
	/* Terminate: RDMAP / Remote Operation / Catastrophic, stream, for X4, M=D=1 */
	{ "T10", VECTOR_ACCEPT,
	  "00 2a 41 47 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 00\n"
	  "02 07 c0 00 00 46 41 4a 00 00 00 00 00 00 00 01 00 00 00 01\n"
	  "00 00 00 00 86 a8 55 da" },
	/* Immediate Data 01..08, QN 0, MSN 1 */
	{ "X1", VECTOR_ACCEPT,
	  "00 1a 41 48 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "01 02 03 04 05 06 07 08 06 c2 28 05" },
	/* Immediate Data with SE 01..08, QN 0, MSN 1 */
	{ "X2", VECTOR_ACCEPT,
	  "00 1a 41 49 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "01 02 03 04 05 06 07 08 9b 09 1c 2b" },
	/* FetchAdd +1, request id 7, STag 0x1234, TO 0x4000, QN 1, MSN 1 */
	{ "X3", VECTOR_ACCEPT,
	  "00 46 41 4a 00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 00\n"
	  "00 00 00 00 00 00 00 07 00 00 12 34 00 00 00 00 00 00 40 00\n"
	  "00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00\n"
	  "00 00 00 00 ff ff ff ff ff ff ff ff 32 d4 58 ed" },
	/* FetchAdd with TO 0x4001 (misaligned) */
	{ "X4", VECTOR_ACCEPT,
	  "00 46 41 4a 00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 00\n"
	  "00 00 00 00 00 00 00 07 00 00 12 34 00 00 00 00 00 00 40 01\n"
	  "00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00\n"
	  "00 00 00 00 ff ff ff ff ff ff ff ff 1d ff 61 b7" },
	/* CmpSwap, id 8, compare 0x29 swap 0x63, full masks, MSN 2 */
	{ "X5", VECTOR_ACCEPT,
	  "00 46 41 4a 00 00 00 00 00 00 00 01 00 00 00 02 00 00 00 00\n"
	  "00 00 00 02 00 00 00 08 00 00 12 34 00 00 00 00 00 00 40 00\n"
	  "00 00 00 00 00 00 00 63 ff ff ff ff ff ff ff ff 00 00 00 00\n"
	  "00 00 00 29 ff ff ff ff ff ff ff ff d6 55 c7 20" },
	/* Atomic Response to X3, original value 41, QN 3, MSN 1 */
	{ "X6", VECTOR_ACCEPT,
	  "00 1e 41 4b 00 00 00 00 00 00 00 03 00 00 00 01 00 00 00 00\n"
	  "00 00 00 07 00 00 00 00 00 00 00 29 b9 eb af e8" },
	/* Immediate Data with 7 bytes (illegal) */
	{ "X7", 0x0207,
	  "00 19 41 48 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00\n"
	  "00 00 00 00 00 00 00 00 ed d8 ca 2d" },
	/* Atomic Request, AOpCode 1 (reserved) */
	{ "X8", 0x0206,
	  "00 46 41 4a 00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 00\n"
	  "00 00 00 01 00 00 00 09 00 00 12 34 00 00 00 00 00 00 40 00\n"
	  "00 00 00 00 00 00 00 01 ff ff ff ff ff ff ff ff 00 00 00 00\n"
	  "00 00 00 00 ff ff ff ff ff ff ff ff 2c c3 d9 0a" },
};

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/**
 * hex_octets - bytes from a string like "00 1f"
 * @hex: digit pairs with one space or line feed between
 * @out: filled
 * @room: bytes of @out
 *
 * Return: bytes written, which end early at whatever is not such a string.
 */
u32 hex_octets(const char *hex, u8 *out, u32 room)
{
	u32 n = 0;

	while (n < room && nibble(hex[0]) >= 0 && nibble(hex[1]) >= 0) {
		out[n++] = nibble(hex[0]) << 4 | nibble(hex[1]);
		if (hex[2] != ' ' && hex[2] != '\n')
			break;
		hex += 3;
	}
	return n;
}

/**
 * vector_at - the vectors in turn
 * @i: from 0
 *
 * Return: NULL behind the last one.
 */
const struct vector *vector_at(u32 i)
{
	return i < ARRAY_SIZE(vectors) ? &vectors[i] : NULL;
}

/**
 * vector_get - bytes of the vector of that name
 * @test: fails if there is none
 * @id: its name
 * @out: filled
 *
 * Return: bytes of the FPDU, CRC included.
 */
u32 vector_get(struct ktest *test, const char *id, u8 out[VECTOR_MAX])
{
	u32 i;

	memset(out, 0, VECTOR_MAX);
	for (i = 0; i < ARRAY_SIZE(vectors); i++)
		if (!strcmp(vectors[i].id, id))
			return hex_octets(vectors[i].hex, out, VECTOR_MAX);
	KTEST_TRUE_MSG(test, false, "no vector %s", id);
	return 0;
}
