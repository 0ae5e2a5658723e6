// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The transaction test. A transaction is the list of operations, one after the other, each done by
 * the client or the server. All that moves is compared where it arrives:
 *
 * - Send: by its receiver
 * - RDMA Write: by the target, after a Send behind the Write
 * - RDMA Read: by the reader. A Send says to the target that its memory is free.
 *
 * Both sides end a transaction with a message, once they have posted the receives of the next one.
 * The client's says which one is the last.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "kdt.h"

#define KDT_TRANS_LAST	BIT(0)

/**
 * struct kdt_word - a small message
 * @magic: KDT_MAGIC
 * @flags: KDT_TRANS_LAST
 * @iteration: transaction
 * @op: operation that it reports, or their number: end of the transaction
 * @pad: 0
 */
struct kdt_word {
	__be32 magic;
	__be32 flags;
	__be64 iteration;
	__be32 op;
	__be32 pad;
};

static_assert(sizeof(struct kdt_word) <= KDT_CTL_SLOT);

enum {
	KDT_TRANS_RECV = KDT_COOKIES,	/* 2 * (KDT_OPS + 1) of them */
	KDT_TRANS_REQUEST = KDT_TRANS_RECV + 2 * (KDT_OPS + 1),
	KDT_TRANS_COOKIES,
};

/* slots of struct kdt_link.ctl: receives first */
#define KDT_TRANS_WORD	(2 * (KDT_OPS + 1))

/* Data ************************************************************************/

#define KDT_TRANS_STEP	0x9e3779b97f4a7c15ULL

static u64 kdt_trans_seed(struct kdt_link *link, u32 op, u32 segment)
{
	return link->spec.seed ^ (link->trans.iteration * 0xd6e8feb86659fd93ULL) ^
	       ((u64)op << 56) ^ ((u64)segment << 40);
}

static void kdt_trans_fill(u8 *to, u32 len, u64 word)
{
	for (; len >= 8; len -= 8, to += 8, word += KDT_TRANS_STEP)
		put_unaligned_le64(word, to);
	for (; len; len--, word >>= 8)
		*to++ = word;
}

static bool kdt_trans_same(const u8 *at, u32 len, u64 word)
{
	for (; len >= 8; len -= 8, at += 8, word += KDT_TRANS_STEP)
		if (get_unaligned_le64(at) != word)
			return false;
	for (; len; len--, word >>= 8)
		if (*at++ != (u8)word)
			return false;
	return true;
}

/*
 * Segments of an operation's own side lie in memory from the last one to the first, those of its
 * peer in order.
 */
static u32 kdt_trans_offset(struct kdt_link *link, const struct kdt_op *op, u32 segment)
{
	if (kdt_link_own(link, op))
		segment = op->segments - 1 - segment;
	return segment * op->size;
}

static void kdt_trans_sync(struct kdt_link *link, u32 i, bool back)
{
	const struct kdt_mem *mem = &link->mem[i];
	const struct kdt_seg all = { .addr = mem->addr, .len = mem->size, .key = mem->lkey };

	kdt_link_sync(link, &all, back);
}

static void kdt_trans_write(struct kdt_link *link, u32 i)
{
	const struct kdt_op *op = &link->spec.ops[i];
	u32 segment;

	for (segment = 0; segment < op->segments; segment++) {
		kdt_trans_fill(link->mem[i].va + kdt_trans_offset(link, op, segment), op->size,
			       kdt_trans_seed(link, i, segment));
		cond_resched();
	}
	kdt_trans_sync(link, i, false);
}

static int kdt_trans_compare(struct kdt_link *link, u32 i)
{
	const struct kdt_op *op = &link->spec.ops[i];
	u32 segment;

	kdt_trans_sync(link, i, true);
	for (segment = 0; segment < op->segments; segment++) {
		const u8 *at = link->mem[i].va + kdt_trans_offset(link, op, segment);

		if (!kdt_trans_same(at, op->size, kdt_trans_seed(link, i, segment))) {
			kdt_link_failed(link, -EILSEQ, "data differ");
			return -EILSEQ;
		}
		cond_resched();
	}
	kdt_run_count(link->run, 0, 0, kdt_op_bytes(op));
	return 0;
}

static u32 kdt_trans_segs(struct kdt_link *link, u32 i, struct kdt_seg *segs)
{
	const struct kdt_op *op = &link->spec.ops[i];
	u32 segment;

	for (segment = 0; segment < op->segments; segment++)
		segs[segment] = (struct kdt_seg){
			.addr = link->mem[i].addr + kdt_trans_offset(link, op, segment),
			.len = op->size,
			.key = link->mem[i].lkey,
		};
	return op->segments;
}

/* Requests and receives ********************************************************/

static void kdt_trans_queues(struct kdt_link *link)
{
	link->recvs = 2 * (link->spec.nops + 1) + 1;
	link->requests = 8;
	link->cookies = KDT_TRANS_COOKIES;
}

static void kdt_trans_done(struct kdt_link *link, u32 cookie, u32 bytes)
{
	struct kdt_trans *trans = &link->trans;

	if (cookie < KDT_TRANS_REQUEST) {
		trans->len[cookie - KDT_TRANS_RECV] = bytes;
		/* with kdt_trans_received(), which looks at the length and the data */
		smp_store_release(&trans->received, trans->received + 1);
	} else {
		/* with kdt_trans_sent(), after which the memory is written again */
		smp_store_release(&trans->sent, trans->sent + 1);
	}
	wake_up_all(&link->wait);
}

/* the slot of the @n-th receive */
static u32 kdt_trans_slot(struct kdt_link *link, u64 n)
{
	return n % (2 * link->trans.per_iteration);
}

/* Post the receives of a transaction; @n is the number of the first. */
static int kdt_trans_recvs(struct kdt_link *link, u64 n)
{
	struct kdt_seg segs[KDT_SEGMENTS];
	u32 i, num, slot;
	int ret = 0;

	for (i = 0; i <= link->spec.nops && !ret; i++) {
		const struct kdt_op *op = &link->spec.ops[i];

		if (i < link->spec.nops && kdt_link_own(link, op))
			continue;
		slot = kdt_trans_slot(link, n++);
		if (i < link->spec.nops && op->kind == KDT_SEND) {
			num = kdt_trans_segs(link, i, segs);
		} else {
			segs[0] = kdt_ctl_seg(link, slot, sizeof(struct kdt_word));
			num = 1;
		}
		ret = link->run->calls->recv(link, segs, num, KDT_TRANS_RECV + slot);
	}
	return ret;
}

/* What the peer will read */
static void kdt_trans_sources(struct kdt_link *link)
{
	u32 i;

	for (i = 0; i < link->spec.nops; i++)
		if (!kdt_link_own(link, &link->spec.ops[i]) && link->spec.ops[i].kind == KDT_READ)
			kdt_trans_write(link, i);
}

static int kdt_trans_ready(struct kdt_link *link)
{
	u32 i;

	link->trans.per_iteration = 1;
	for (i = 0; i < link->spec.nops; i++)
		link->trans.per_iteration += !kdt_link_own(link, &link->spec.ops[i]);
	kdt_trans_sources(link);
	return kdt_trans_recvs(link, 0);
}

static int kdt_trans_received(struct kdt_link *link, u32 len)
{
	struct kdt_trans *trans = &link->trans;
	int ret;

	/* with kdt_trans_done() */
	ret = kdt_link_wait(link, smp_load_acquire(&trans->received) > trans->taken);
	if (ret)
		return ret;
	if (trans->len[kdt_trans_slot(link, trans->taken++)] != len) {
		kdt_link_failed(link, -EPROTO, "a message has another length");
		return -EPROTO;
	}
	return 0;
}

static int kdt_trans_word_send(struct kdt_link *link, u32 op, u32 flags)
{
	struct kdt_word *word = kdt_ctl(link, KDT_TRANS_WORD);
	struct kdt_seg seg = kdt_ctl_seg(link, KDT_TRANS_WORD, sizeof(*word));

	*word = (struct kdt_word){
		.magic = cpu_to_be32(KDT_MAGIC),
		.flags = cpu_to_be32(flags),
		.iteration = cpu_to_be64(link->trans.iteration),
		.op = cpu_to_be32(op),
	};
	kdt_link_sync(link, &seg, false);
	link->trans.posted++;
	return link->run->calls->send(link, &seg, 1, KDT_TRANS_REQUEST);
}

static int kdt_trans_word_recv(struct kdt_link *link, u32 op, u32 *flags)
{
	const u32 slot = kdt_trans_slot(link, link->trans.taken);
	const struct kdt_seg seg = kdt_ctl_seg(link, slot, sizeof(struct kdt_word));
	const struct kdt_word *word = kdt_ctl(link, slot);
	int ret = kdt_trans_received(link, sizeof(*word));

	if (ret)
		return ret;
	kdt_link_sync(link, &seg, true);
	if (be32_to_cpu(word->magic) != KDT_MAGIC || be32_to_cpu(word->op) != op ||
	    be64_to_cpu(word->iteration) != link->trans.iteration) {
		kdt_link_failed(link, -EPROTO, "another message was due");
		return -EPROTO;
	}
	*flags = be32_to_cpu(word->flags);
	return 0;
}

static int kdt_trans_sent(struct kdt_link *link)
{
	struct kdt_trans *trans = &link->trans;

	/* with kdt_trans_done() */
	return kdt_link_wait(link, smp_load_acquire(&trans->sent) == trans->posted);
}

/* Transactions *****************************************************************/

/* Post what this side does in operation @i. */
static int kdt_trans_begin(struct kdt_link *link, u32 i)
{
	const struct kdt_calls *calls = link->run->calls;
	const struct kdt_op *op = &link->spec.ops[i];
	struct kdt_seg segs[KDT_SEGMENTS];
	u32 num;
	int ret;

	link->trans.stamp = ktime_get_ns();
	if (!kdt_link_own(link, op))
		return 0;
	num = kdt_trans_segs(link, i, segs);
	if (op->kind != KDT_READ)
		kdt_trans_write(link, i);
	link->trans.posted++;
	if (op->kind == KDT_READ)
		return calls->read(link, segs, num, KDT_TRANS_REQUEST, &link->remote[i]);
	if (op->kind == KDT_SEND)
		return calls->send(link, segs, num, KDT_TRANS_REQUEST);
	ret = calls->write(link, segs, num, KDT_TRANS_REQUEST, &link->remote[i]);
	return ret ?: kdt_trans_word_send(link, i, 0);
}

/* Wait for the end of operation @i. */
static int kdt_trans_end(struct kdt_link *link, u32 i)
{
	const struct kdt_op *op = &link->spec.ops[i];
	u32 flags;
	int ret;

	if (!kdt_link_own(link, op)) {
		if (op->kind == KDT_SEND)
			ret = kdt_trans_received(link, kdt_op_bytes(op));
		else
			ret = kdt_trans_word_recv(link, i, &flags);
		return ret ?: op->kind == KDT_READ ? 0 : kdt_trans_compare(link, i);
	}
	ret = kdt_trans_sent(link);
	if (ret || op->kind != KDT_READ)
		return ret;
	ret = kdt_trans_compare(link, i);
	ret = ret ?: kdt_trans_word_send(link, i, 0);
	return ret ?: kdt_trans_sent(link);
}

/* The transaction is over: make ready for the next one, and say so. */
static int kdt_trans_close(struct kdt_link *link, bool last)
{
	int ret;

	ret = kdt_trans_recvs(link, (link->trans.iteration + 1) * link->trans.per_iteration);
	if (ret)
		return ret;
	link->trans.iteration++;
	kdt_trans_sources(link);
	link->trans.iteration--;
	return kdt_trans_word_send(link, link->spec.nops, last ? KDT_TRANS_LAST : 0);
}

static int kdt_trans_closed(struct kdt_link *link, u32 *flags)
{
	int ret = kdt_trans_word_recv(link, link->spec.nops, flags);

	ret = ret ?: kdt_trans_sent(link);
	link->trans.iteration++;
	return ret;
}

static void kdt_trans_count(struct kdt_link *link, u32 i, struct kdt_hist *hist)
{
	if (hist)
		kdt_hist_add(hist, ktime_get_ns() - link->trans.stamp);
	kdt_run_count(link->run, 1, kdt_op_bytes(&link->spec.ops[i]), 0);
}

static int kdt_trans_serve(struct kdt_link *link)
{
	u32 i, flags = 0;
	int ret = 0;

	while (!ret && !(flags & KDT_TRANS_LAST)) {
		for (i = 0; i < link->spec.nops && !ret; i++) {
			ret = kdt_trans_begin(link, i) ?: kdt_trans_end(link, i);
			if (!ret)
				kdt_trans_count(link, i, NULL);
		}
		ret = ret ?: kdt_trans_close(link, false);
		ret = ret ?: kdt_trans_closed(link, &flags);
	}
	if (ret)
		kdt_link_failed(link, ret, "a transaction failed");
	else
		wait_event_idle_timeout(link->wait, kdt_link_over(link), KDT_PATIENCE);
	return ret;
}

static int kdt_trans_each(struct kdt_link **links, u32 num, u32 i, struct kdt_hist *hist)
{
	u32 l;
	int ret = 0;

	for (l = 0; l < num && !ret; l++)
		ret = kdt_trans_begin(links[l], i);
	for (l = 0; l < num && !ret; l++) {
		ret = kdt_trans_end(links[l], i);
		if (!ret)
			kdt_trans_count(links[l], i, hist);
	}
	return ret;
}

int kdt_trans_run(struct kdt_run *run, struct kdt_link **links, u32 num, struct kdt_hist *hist)
{
	u32 i, l, flags, iteration;
	bool last = false;
	int ret = 0;

	for (iteration = 1; !last && !ret; iteration++) {
		last = run->args->iterations ? iteration >= run->args->iterations :
					       kdt_run_over(run);
		for (i = 0; i < run->args->nops && !ret; i++)
			ret = kdt_trans_each(links, num, i, hist);
		for (l = 0; l < num && !ret; l++)
			ret = kdt_trans_close(links[l], last);
		for (l = 0; l < num && !ret; l++)
			ret = kdt_trans_closed(links[l], &flags);
	}
	return ret;
}

static void kdt_trans_free(struct kdt_link *link)
{
}

const struct kdt_test kdt_trans_test = {
	.queues = kdt_trans_queues,
	.ready = kdt_trans_ready,
	.done = kdt_trans_done,
	.serve = kdt_trans_serve,
	.free = kdt_trans_free,
};
