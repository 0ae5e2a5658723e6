/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * list_rnics [ADDRESS]: list the RNICs of this network namespace, or the RNIC that leads to an
 * address. In C.
 *
 * gcc list_rnics.c $(pkg-config --cflags --libs krdma)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <krdma/ual.h>

/* end the program if the result is a negative errno */
static int must(int answer, const char *what)
{
	if (answer < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-answer));
		exit(1);
	}
	return answer;
}

static void print(struct ual_session *session, uint32_t index)
{
	struct krdma_rnic_query rnic;

	/* the RNIC may have gone since it was listed */
	if (ual_query(session, index, &rnic) == 0)
		printf("%s on %s: %s, %u queue pairs, mtu %u\n", rnic.name, rnic.netdev,
		       rnic.flags & KRDMA_RNIC_UP ? "up" : "down", rnic.max_qp, rnic.mtu);
}

int main(int argc, char **argv)
{
	struct krdma_rnic_entry entries[64];
	struct ual_session *session;
	struct krdma_addr address;
	uint32_t index;
	int count;

	must(ual_open(&session), KRDMA_DEVICE);
	if (argc > 1) {
		must(ual_addr_parse(argv[1], &address), argv[1]);
		must(ual_find_remote(session, &address, &index), argv[1]);
		print(session, index);
	} else {
		count = must(ual_devices(session, entries, 64), "list of RNICs");
		for (int i = 0; i < count && i < 64; i++)
			print(session, entries[i].index);
	}
	ual_close(session);
	return 0;
}
