/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface between the two parts of fuzz_stream. rnic.c and kernel.c are compiled with
 * the headers of the kernel, stream.cpp with those of user space. Both include this file, so
 * it uses only C itself.
 */
#ifndef FUZZ_H
#define FUZZ_H

#ifdef __cplusplus
extern "C" {
#endif

/* regions of the victim, by the order of registration: their STags never change */
enum fz_region {
	FZ_RECV,	/* local write; receives are posted from it */
	FZ_OPEN,	/* all rights */
	FZ_READ_ONLY,	/* remote read */
	FZ_HIGH,	/* remote write, ends with the tagged offset 2^64 - 1 */
	FZ_FOREIGN,	/* all rights, in another protection domain */
	FZ_SINK,	/* local write; RDMA Reads are posted with it */
	FZ_FLEETING,	/* all rights; for invalidation */
	FZ_REGIONS
};

#define FZ_STAG(region)		(((unsigned int)(region) + 2) << 8 | 0x5a)
#define FZ_RECV_SIZE		600	/* size of each receive */
#define FZ_READ_SIZE		700	/* size of each RDMA Read */
#define FZ_MAX_RECVS		64	/* each Read has its own place */
#define FZ_MAX_READS		4

/* the beginning of a stream, and the actions of the harness besides the data */
struct fz_setup {
	unsigned char initiator;
	unsigned char crc;
	unsigned char ird;
	unsigned char ord;
	unsigned char recvs;
	unsigned char reads;
	unsigned char sends;
	unsigned char rtr;
	unsigned int mss;
	unsigned char fail_atomic;	/* allocations in softirq that succeed before one fails */
	unsigned char send_room;	/* n > 0: TCP takes at most 64 n bytes at a time */
	unsigned char unreadable;	/* number of a socket buffer in device memory */
};

/* rnic.c: the victim */
void fz_begin(const struct fz_setup *setup);
void fz_octets(const unsigned char *p, unsigned int n);	/* one socket buffer arrives */
void fz_post_recv(void);
void fz_settle(void);		/* run work items and check the invariants */
void fz_peer_ends(int reset);
void fz_timers(void);
void fz_end(void);
/* A buffer of the victim, by the number of the receive or Read, and its earlier contents. */
const unsigned char *fz_recv_buffer(unsigned int n);
const unsigned char *fz_read_sink(unsigned int n);
unsigned char fz_sink_filler(unsigned int at);

unsigned long long fz_region_start(int region);
unsigned int fz_region_length(int region);

/* stream.cpp */
void fz_sent(const unsigned char *p, unsigned int n);	/* the victim sent bytes */
void fz_received(unsigned int n, int with_data, unsigned int len);	/* a receive is done */
void fz_reads_done(unsigned int n);	/* at the end: number of Reads that succeeded */
void fz_broken(const char *what) __attribute__((noreturn));

#define fz_must(condition)	((condition) ? (void)0 : fz_broken(#condition))

#ifdef __cplusplus
}
#endif

#endif /* FUZZ_H */
