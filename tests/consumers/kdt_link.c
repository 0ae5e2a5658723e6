// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A connection of kdapltest, on either side: queues, memory, the exchange of what the test needs,
 * and the end. kdt_main.c makes and frees them, the tests use them.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "kdt.h"

static_assert(sizeof(struct kdt_setup) <= KDT_CTL_SETUP);
static_assert(sizeof(struct kdt_hello) <= 56);	/* what rdma_cm has on InfiniBand */

/* What happens to a connection ************************************************/

bool kdt_link_over(struct kdt_link *link)
{
	return READ_ONCE(link->error) || READ_ONCE(link->closed) || READ_ONCE(link->run->stop);
}

int kdt_link_why(struct kdt_link *link)
{
	if (READ_ONCE(link->error))
		return link->error;
	if (READ_ONCE(link->run->stop))
		return -EINTR;
	return READ_ONCE(link->closed) ? -ECONNRESET : -ETIMEDOUT;
}

void kdt_link_failed(struct kdt_link *link, int error, const char *what)
{
	if (READ_ONCE(link->closing) || READ_ONCE(link->run->stop))
		return;
	if (!cmpxchg(&link->error, 0, error))
		kdt_run_failed(link->run, error, what, false);
	wake_up_all(&link->wait);
}

void kdt_link_established(struct kdt_link *link)
{
	WRITE_ONCE(link->established, true);
	wake_up_all(&link->wait);
}

void kdt_link_closed(struct kdt_link *link)
{
	WRITE_ONCE(link->closed, true);
	wake_up_all(&link->wait);
}

/* A request or receive completed, and was not flushed. */
void kdt_link_done(struct kdt_link *link, u32 cookie, bool failed, u32 bytes, const char *status)
{
	if (unlikely(failed)) {
		if (!READ_ONCE(link->closing) && !READ_ONCE(link->closed))
			kdt_link_failed(link, -EIO, status);
		return;
	}
	if (likely(cookie >= KDT_COOKIES)) {
		link->test->done(link, cookie, bytes);
		return;
	}
	if (cookie == KDT_COOKIE_SETUP_RECV)
		link->setup_bytes = bytes;
	set_bit(cookie, &link->setup);
	wake_up_all(&link->wait);
}

/* Hello ***********************************************************************/

static u32 kdt_link_segments(const struct kdt_spec *spec)
{
	u32 i, most = 1;

	for (i = 0; i < spec->nops; i++)
		most = max_t(u32, most, spec->ops[i].segments);
	return most;
}

void kdt_hello_write(const struct kdt_link *link, struct kdt_hello *hello)
{
	*hello = (struct kdt_hello){
		.magic = cpu_to_be32(KDT_MAGIC),
		.version = cpu_to_be16(KDT_VERSION),
		.mode = cpu_to_be16(link->spec.mode),
		.nops = cpu_to_be16(link->spec.nops),
		.segments = cpu_to_be16(kdt_link_segments(&link->spec)),
		.pipeline = cpu_to_be16(link->spec.pipeline),
	};
}

/* Return: @data is the hello of a client. Memory and operations come with struct kdt_setup. */
bool kdt_hello_read(const void *data, size_t len, struct kdt_spec *spec)
{
	struct kdt_hello hello;

	if (len < sizeof(hello))
		return false;
	memcpy(&hello, data, sizeof(hello));
	if (be32_to_cpu(hello.magic) != KDT_MAGIC || be16_to_cpu(hello.version) != KDT_VERSION)
		return false;
	*spec = (struct kdt_spec){
		.mode = be16_to_cpu(hello.mode),
		.nops = be16_to_cpu(hello.nops),
		.segments = be16_to_cpu(hello.segments),
		.pipeline = be16_to_cpu(hello.pipeline),
	};
	if (!spec->nops || spec->nops > KDT_OPS)
		return false;
	if (!spec->segments || spec->segments > KDT_SEGMENTS)
		return false;
	if (spec->mode == KDT_PERFORMANCE)
		return spec->nops == 1 && spec->pipeline && spec->pipeline <= KDT_PIPELINE;
	return spec->mode == KDT_TRANSACTIONS;
}

/* Memory **********************************************************************/

static int kdt_link_mem(struct kdt_link *link, struct kdt_mem *mem, size_t size, u32 rights)
{
	int ret;

	if (atomic64_add_return(size, &link->run->memory) > KDT_MEMORY) {
		atomic64_sub(size, &link->run->memory);
		return -EDQUOT;
	}
	mem->va = alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!mem->va) {
		atomic64_sub(size, &link->run->memory);
		return -ENOMEM;
	}
	mem->size = size;
	ret = link->run->calls->mem_open(link, mem, rights);
	if (!ret)
		return 0;
	free_pages_exact(mem->va, size);
	mem->va = NULL;
	atomic64_sub(size, &link->run->memory);
	return ret;
}

static void kdt_link_mem_free(struct kdt_link *link, struct kdt_mem *mem)
{
	if (!mem->va)
		return;
	link->run->calls->mem_close(link, mem);
	free_pages_exact(mem->va, mem->size);
	mem->va = NULL;
	atomic64_sub(mem->size, &link->run->memory);
}

/* The rights that an operation's memory needs on this side; a measurement ends with a Read. */
static u32 kdt_link_rights(struct kdt_link *link, const struct kdt_op *op)
{
	if (link->spec.mode == KDT_PERFORMANCE)
		return KDT_MEM_SINK | KDT_MEM_READ | KDT_MEM_WRITE;
	if (kdt_link_own(link, op))
		return op->kind == KDT_READ ? KDT_MEM_SINK : 0;
	if (op->kind == KDT_SEND)
		return 0;
	return op->kind == KDT_READ ? KDT_MEM_READ : KDT_MEM_WRITE;
}

static int kdt_link_mems(struct kdt_link *link)
{
	u32 i;
	int ret = 0;

	for (i = 0; i < link->spec.nops && !ret; i++) {
		const struct kdt_op *op = &link->spec.ops[i];

		ret = kdt_link_mem(link, &link->mem[i], max(kdt_op_bytes(op), 8u),
				   kdt_link_rights(link, op));
	}
	return ret;
}

/* Set-up **********************************************************************/

static struct kdt_seg kdt_link_setup_seg(struct kdt_link *link, bool in)
{
	return (struct kdt_seg){
		.addr = link->ctl.addr + (in ? KDT_CTL_SETUP : 0),
		.len = sizeof(struct kdt_setup),
		.key = link->ctl.lkey,
	};
}

/* Give part of a memory to the RNIC, or back from it. */
void kdt_link_sync(struct kdt_link *link, const struct kdt_seg *seg, bool back)
{
	if (link->run->calls->mem_sync)
		link->run->calls->mem_sync(link, seg, back);
}

static int kdt_link_setup_send(struct kdt_link *link)
{
	struct kdt_setup *setup = link->ctl.va;
	struct kdt_seg seg = kdt_link_setup_seg(link, false);
	u32 i;
	int ret;

	*setup = (struct kdt_setup){
		.magic = cpu_to_be32(KDT_MAGIC),
		.nops = cpu_to_be32(link->spec.nops),
		.seed = cpu_to_be64(link->spec.seed),
	};
	for (i = 0; i < link->spec.nops; i++) {
		const struct kdt_op *op = &link->spec.ops[i];

		setup->ops[i] = (struct kdt_wire_op){
			.server = op->server,
			.kind = op->kind,
			.segments = cpu_to_be16(op->segments),
			.size = cpu_to_be32(op->size),
			.addr = cpu_to_be64(link->mem[i].addr),
			.rkey = cpu_to_be32(link->mem[i].rkey),
		};
	}
	kdt_link_sync(link, &seg, false);
	ret = link->run->calls->send(link, &seg, 1, KDT_COOKIE_SETUP_SEND);
	return ret ?: kdt_link_wait(link, test_bit(KDT_COOKIE_SETUP_SEND, &link->setup));
}

static bool kdt_link_op_read(struct kdt_link *link, u32 i, const struct kdt_wire_op *wire)
{
	struct kdt_op op = {
		.server = wire->server,
		.kind = wire->kind,
		.segments = be16_to_cpu(wire->segments),
		.size = be32_to_cpu(wire->size),
	};

	link->remote[i] = (struct kdt_seg){
		.addr = be64_to_cpu(wire->addr),
		.key = be32_to_cpu(wire->rkey),
	};
	if (!link->server)
		return !memcmp(&op, &link->spec.ops[i], sizeof(op));
	if (op.server > 1 || op.kind > KDT_READ || !op.segments ||
	    op.segments > link->spec.segments || op.size > KDT_BYTES / op.segments)
		return false;
	link->spec.ops[i] = op;
	return true;
}

static int kdt_link_setup_recv(struct kdt_link *link)
{
	const struct kdt_seg seg = kdt_link_setup_seg(link, true);
	const struct kdt_setup *setup = link->ctl.va + KDT_CTL_SETUP;
	u32 i;
	int ret;

	ret = kdt_link_wait(link, test_bit(KDT_COOKIE_SETUP_RECV, &link->setup));
	if (ret)
		return ret;
	kdt_link_sync(link, &seg, true);
	if (link->setup_bytes != sizeof(*setup) || be32_to_cpu(setup->magic) != KDT_MAGIC ||
	    be32_to_cpu(setup->nops) != link->spec.nops)
		return -EPROTO;
	if (link->server)
		link->spec.seed = be64_to_cpu(setup->seed);
	for (i = 0; i < link->spec.nops; i++)
		if (!kdt_link_op_read(link, i, &setup->ops[i]))
			return -EPROTO;
	return 0;
}

static int kdt_link_exchange(struct kdt_link *link)
{
	int ret = 0;

	if (link->server)
		ret = kdt_link_setup_recv(link);
	ret = ret ?: kdt_link_mems(link);
	ret = ret ?: link->test->ready(link);
	ret = ret ?: kdt_link_setup_send(link);
	if (!link->server)
		ret = ret ?: kdt_link_setup_recv(link);
	return ret;
}

/* Connect or accept, and make ready for the test. Failures are the link's, too. */
int kdt_link_join(struct kdt_link *link)
{
	const struct kdt_calls *calls = link->run->calls;
	struct kdt_hello hello;
	struct kdt_seg seg;
	int ret;

	link->test = link->spec.mode == KDT_PERFORMANCE ? &kdt_perf_test : &kdt_trans_test;
	link->spec.segments = max(link->spec.segments, kdt_link_segments(&link->spec));
	link->test->queues(link);
	ret = calls->prepare(link);
	if (!ret)
		ret = kdt_link_mem(link, &link->ctl, KDT_CTL_BYTES, 0);
	if (!ret) {
		seg = kdt_link_setup_seg(link, true);
		ret = calls->recv(link, &seg, 1, KDT_COOKIE_SETUP_RECV);
	}
	if (!ret) {
		kdt_hello_write(link, &hello);
		ret = calls->join(link, &hello);
	}
	ret = ret ?: kdt_link_exchange(link);
	if (ret)
		kdt_link_failed(link, ret, "the connection is not made ready");
	return ret;
}

struct kdt_link *kdt_link_new(struct kdt_run *run, bool server)
{
	struct kdt_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->run = run;
	link->server = server;
	spin_lock_init(&link->lock);
	init_waitqueue_head(&link->wait);
	mutex_lock(&run->mutex);
	if (run->nlinks >= KDT_LINKS || READ_ONCE(run->stop)) {
		mutex_unlock(&run->mutex);
		kfree(link);
		return NULL;
	}
	run->nlinks++;
	list_add_tail(&link->node, &run->links);
	mutex_unlock(&run->mutex);
	get_random_bytes(&link->spec.seed, sizeof(link->spec.seed));
	return link;
}

void kdt_link_free(struct kdt_link *link)
{
	const struct kdt_calls *calls = link->run->calls;
	u32 i;

	WRITE_ONCE(link->closing, true);
	calls->leave(link);
	if (link->test)
		link->test->free(link);
	for (i = 0; i < KDT_OPS; i++)
		kdt_link_mem_free(link, &link->mem[i]);
	kdt_link_mem_free(link, &link->ctl);
	calls->destroy(link);
	mutex_lock(&link->run->mutex);
	list_del(&link->node);
	link->run->nlinks--;
	mutex_unlock(&link->run->mutex);
	kfree(link);
}
