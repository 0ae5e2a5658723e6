// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The performance test. A client keeps up to a number of operations of one kind pending, and posts
 * the next one from the report of a completion. The server only receives: when it has posted a
 * batch of receives again, it says so with a message, and the client never sends what there is no
 * receive for. At the end the client waits for the server's messages and reads a few bytes. They
 * come after all that it sent or wrote has arrived, and when the server's Sends are complete: a siw
 * device reports a Send that has arrived as failed if the peer ends the connection at once
 * (siw_qp_tx.c:892).
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "kdt.h"

#define KDT_PERF_CREDITS	8	/* receives of the client */

/* slots of struct kdt_link.ctl */
enum {
	KDT_PERF_CREDIT,
	KDT_PERF_SINK,
};

/* cookies of a client: an operation's is the first one and its slot */
static u32 kdt_perf_flush(const struct kdt_link *link)
{
	return KDT_COOKIES + link->spec.pipeline;
}

static u32 kdt_perf_recv_credit(const struct kdt_link *link)
{
	return kdt_perf_flush(link) + 1;
}

/* cookies of a server */
enum {
	KDT_PERF_RECV = KDT_COOKIES,
	KDT_PERF_SEND_CREDIT,
	KDT_PERF_SERVER_COOKIES,
};

static void kdt_perf_queues(struct kdt_link *link)
{
	struct kdt_perf *perf = &link->perf;

	perf->depth = max(2 * link->spec.pipeline, 64u);
	perf->batch = perf->depth / 4;
	perf->credits = perf->depth;
	if (link->server) {
		link->recvs = perf->depth + 1;
		link->requests = 2 * KDT_PERF_CREDITS;
		link->cookies = KDT_PERF_SERVER_COOKIES;
	} else {
		link->recvs = KDT_PERF_CREDITS + 1;
		link->requests = link->spec.pipeline + 2;
		link->cookies = kdt_perf_recv_credit(link) + 1;
	}
}

static int kdt_perf_recv(struct kdt_link *link)
{
	struct kdt_seg seg;

	if (link->server)
		return link->run->calls->recv(link, link->perf.segs, link->perf.nsegs,
					      KDT_PERF_RECV);
	seg = kdt_ctl_seg(link, KDT_PERF_CREDIT, KDT_CTL_SLOT);
	return link->run->calls->recv(link, &seg, 1, kdt_perf_recv_credit(link));
}

static int kdt_perf_ready(struct kdt_link *link)
{
	const struct kdt_op *op = &link->spec.ops[0];
	struct kdt_perf *perf = &link->perf;
	u32 i;
	int ret = 0;

	perf->nsegs = op->segments;
	for (i = 0; i < op->segments; i++)
		perf->segs[i] = (struct kdt_seg){
			.addr = link->mem[0].addr + i * op->size,
			.len = op->size,
			.key = link->mem[0].lkey,
		};
	if (!link->server) {
		perf->hist = kvzalloc(sizeof(*perf->hist), GFP_KERNEL);
		perf->stamp = kvcalloc(link->spec.pipeline, sizeof(*perf->stamp), GFP_KERNEL);
		if (!perf->hist || !perf->stamp)
			return -ENOMEM;
	}
	if (op->kind == KDT_SEND)
		for (i = 0; i < link->recvs - 1 && !ret; i++)
			ret = kdt_perf_recv(link);
	return ret;
}

/* The client's side ************************************************************/

static int kdt_perf_post(struct kdt_link *link, u32 slot)
{
	const struct kdt_calls *calls = link->run->calls;
	struct kdt_perf *perf = &link->perf;
	u32 cookie = KDT_COOKIES + slot;

	perf->stamp[slot] = ktime_get_ns();
	switch (link->spec.ops[0].kind) {
	case KDT_SEND:
		return calls->send(link, perf->segs, perf->nsegs, cookie);
	case KDT_WRITE:
		return calls->write(link, perf->segs, perf->nsegs, cookie, &link->remote[0]);
	default:
		return calls->read(link, perf->segs, perf->nsegs, cookie, &link->remote[0]);
	}
}

/* Post what may be posted. @lock is held. */
static void kdt_perf_pump(struct kdt_link *link)
{
	bool send = link->spec.ops[0].kind == KDT_SEND;
	struct kdt_perf *perf = &link->perf;

	while (perf->posted < perf->total && perf->posted - perf->completed < link->spec.pipeline) {
		u32 slot = perf->slot;
		int ret;

		if (send && !perf->credits)
			return;
		perf->credits -= send;
		if (++perf->slot == link->spec.pipeline)
			perf->slot = 0;
		perf->posted++;
		ret = kdt_perf_post(link, slot);
		if (unlikely(ret)) {
			kdt_link_failed(link, ret, "an operation is not posted");
			perf->total = 0;
			return;
		}
	}
}

static void kdt_perf_client_done(struct kdt_link *link, u32 cookie)
{
	struct kdt_perf *perf = &link->perf;
	bool last = false;
	int ret = 0;

	if (cookie < kdt_perf_flush(link)) {
		u64 now = ktime_get_ns();

		spin_lock_bh(&link->lock);
		kdt_hist_add(perf->hist, now - perf->stamp[cookie - KDT_COOKIES]);
		perf->completed++;
		kdt_perf_pump(link);
		last = perf->completed >= perf->total;
		spin_unlock_bh(&link->lock);
	} else if (cookie == kdt_perf_flush(link)) {
		WRITE_ONCE(perf->flushed, true);
		last = true;
	} else {
		ret = kdt_perf_recv(link);
		spin_lock_bh(&link->lock);
		perf->credits += perf->batch;
		kdt_perf_pump(link);
		last = perf->completed >= perf->total;
		spin_unlock_bh(&link->lock);
	}
	if (unlikely(ret))
		kdt_link_failed(link, ret, "a receive is not posted");
	if (unlikely(last))
		wake_up_all(&link->wait);
}

/* The server's side ************************************************************/

static void kdt_perf_server_done(struct kdt_link *link, u32 cookie, u32 bytes)
{
	struct kdt_perf *perf = &link->perf;
	struct kdt_seg seg;
	int ret;

	if (cookie == KDT_PERF_SEND_CREDIT)
		return;
	if (unlikely(bytes != kdt_op_bytes(&link->spec.ops[0]))) {
		kdt_link_failed(link, -EPROTO, "a message has another length");
		return;
	}
	perf->completed++;
	ret = kdt_perf_recv(link);
	if (!ret && ++perf->since == perf->batch) {
		perf->since = 0;
		seg = kdt_ctl_seg(link, KDT_PERF_CREDIT, KDT_CTL_SLOT);
		ret = link->run->calls->send(link, &seg, 1, KDT_PERF_SEND_CREDIT);
	}
	if (unlikely(ret))
		kdt_link_failed(link, ret, "a receive or a message is not posted");
}

static void kdt_perf_done(struct kdt_link *link, u32 cookie, u32 bytes)
{
	if (link->server)
		kdt_perf_server_done(link, cookie, bytes);
	else
		kdt_perf_client_done(link, cookie);
}

static int kdt_perf_serve(struct kdt_link *link)
{
	wait_event_idle(link->wait, kdt_link_over(link));
	kdt_run_count(link->run, link->perf.completed,
		      link->perf.completed * kdt_op_bytes(&link->spec.ops[0]), 0);
	return link->error;
}

/* The client's thread **********************************************************/

static void kdt_perf_start(struct kdt_link *link, u64 total)
{
	spin_lock_bh(&link->lock);
	link->perf.total = total;
	kdt_perf_pump(link);
	spin_unlock_bh(&link->lock);
}

static bool kdt_perf_through(struct kdt_link *link)
{
	bool through;

	spin_lock_bh(&link->lock);
	through = link->perf.completed >= link->perf.total;
	spin_unlock_bh(&link->lock);
	return through;
}

/* Post no more operations. */
static void kdt_perf_stop(struct kdt_link *link)
{
	spin_lock_bh(&link->lock);
	link->perf.total = min(link->perf.total, link->perf.posted);
	spin_unlock_bh(&link->lock);
}

/* Until the connection ends, nothing continues, or all is done; no more when the time is over. */
static int kdt_perf_await(struct kdt_run *run, struct kdt_link *link)
{
	unsigned long since = jiffies;
	u64 completed = 0;

	for (;;) {
		wait_event_idle_timeout(link->wait, kdt_link_over(link) || kdt_perf_through(link),
					HZ / 20);
		if (kdt_link_over(link))
			return kdt_link_why(link);
		if (kdt_perf_through(link))
			return 0;
		if (!run->args->iterations && kdt_run_over(run))
			kdt_perf_stop(link);
		if (READ_ONCE(link->perf.completed) != completed)
			since = jiffies;
		else if (time_after(jiffies, since + KDT_PATIENCE))
			return -ETIMEDOUT;
		completed = READ_ONCE(link->perf.completed);
	}
}

/* All has been sent: have all of the server's messages arrived? */
static bool kdt_perf_told(struct kdt_link *link)
{
	struct kdt_perf *perf = &link->perf;
	bool told;

	spin_lock_bh(&link->lock);
	told = link->spec.ops[0].kind != KDT_SEND ||
	       perf->credits == perf->depth - perf->posted % perf->batch;
	spin_unlock_bh(&link->lock);
	return told;
}

static int kdt_perf_end(struct kdt_link *link)
{
	struct kdt_seg seg = kdt_ctl_seg(link, KDT_PERF_SINK, 8);
	int ret;

	ret = kdt_link_wait(link, kdt_perf_told(link));
	ret = ret ?: link->run->calls->read(link, &seg, 1, kdt_perf_flush(link), &link->remote[0]);
	return ret ?: kdt_link_wait(link, READ_ONCE(link->perf.flushed));
}

int kdt_perf_run(struct kdt_run *run, struct kdt_link **links, u32 num, struct kdt_hist *hist)
{
	u64 total = run->args->iterations ?: U64_MAX;
	u32 i;
	int ret = 0;

	for (i = 0; i < num; i++)
		kdt_perf_start(links[i], total);
	for (i = 0; i < num && !ret; i++)
		ret = kdt_perf_await(run, links[i]);
	for (i = 0; i < num && !ret; i++)
		ret = kdt_perf_end(links[i]);
	for (i = 0; i < num; i++) {
		struct kdt_perf *perf = &links[i]->perf;

		kdt_hist_merge(hist, perf->hist);
		kdt_run_count(run, perf->completed,
			      perf->completed * kdt_op_bytes(&links[i]->spec.ops[0]), 0);
	}
	return ret;
}

static void kdt_perf_free(struct kdt_link *link)
{
	kvfree(link->perf.hist);
	kvfree(link->perf.stamp);
}

const struct kdt_test kdt_perf_test = {
	.queues = kdt_perf_queues,
	.ready = kdt_perf_ready,
	.done = kdt_perf_done,
	.serve = kdt_perf_serve,
	.free = kdt_perf_free,
};
