// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers of a connection. They are made in groups as the connection uses them: each group is a
 * pool of the transport. A connection begins with the first group of each kind.
 *
 * Receive buffers: an arriving message that leaves none unused makes a work item add a group,
 * up to what the window holds. They stay as long as the connection, because the peer knows of those
 * that are posted.
 *
 * Pieces: a writer that finds none adds a group. When nothing was sent for some time the work item
 * takes all but the first away again.
 *
 * Each group is charged to the account of krdma_ops, and its memory to the cgroup of the socket's
 * owner. Where a limit is near, a link gets no more groups, and no first ones: TCP goes on then.
 *
 * Descriptors of all buffers are made with the link.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "road.h"

/*
 * Buffers of the first group. With fewer than six receive buffers a message and a credit update
 * leave so few credits that the answer is another update: a connection that exchanges small
 * messages would have one for each.
 */
#define SDP_BUFFERS_RX_FIRST	6
#define SDP_BUFFERS_TX_FIRST	2
#define SDP_BUFFERS_SPARE	4	/* of what is made, there has to be room in its cgroup */
#define SDP_BUFFERS_IDLE		(5 * HZ)
#define SDP_BUFFERS_RETRY	(HZ / 10)

/* Pools ************************************************************************************ */

/* Would a memory cgroup, or one above it, have too little left? A charge beyond it may kill. */
static bool sdp_buffers_full(struct mem_cgroup *memcg, u64 more)
{
#ifdef CONFIG_MEMCG
	for (; memcg; memcg = parent_mem_cgroup(memcg)) {
		const unsigned long most = min(READ_ONCE(memcg->memory.max),
					       READ_ONCE(memcg->memory.high));

		/* the root has no limit */
		if (most < PAGE_COUNTER_MAX &&
		    page_counter_read(&memcg->memory) + SDP_BUFFERS_SPARE * PFN_UP(more) > most)
			return true;
	}
#endif
	return false;
}

static u64 sdp_buffers_bytes(const struct sdp_ot_pool_attr *attr)
{
	return (u64)attr->elements * attr->size;
}

/* Sleeps. @more: the link has some. Return: a pool that is charged, or an ERR_PTR. */
static struct sdp_ot_pool *sdp_buffers_pool(struct sdp_link *link, u32 elements, u32 size,
					    u16 segments, bool more)
{
	const struct sdp_ot_pool_attr attr = {
		.kind = SDP_OT_POOL_MESSAGE,
		.elements = elements,
		.size = size,
		.segments = segments,
		.domain = link,
	};
	struct offload_account *account = link->ssk->account;
	const u64 bytes = sdp_buffers_bytes(&attr);
	struct sdp_ot_pool *pool;

	if (sdp_buffers_full(link->ssk->memcg, bytes) || !offload_charge(account, bytes, more))
		return ERR_PTR(-ENOBUFS);
	pool = link->ops->pool_create(link->device, &attr);
	if (IS_ERR(pool))
		offload_uncharge(account, bytes);
	return pool;
}

/* All elements have been given back. Sleeps. */
static void sdp_buffers_free_pools(struct sdp_link *link, struct sdp_ot_pool **pools, u32 n)
{
	u64 bytes = 0;

	while (n--) {
		bytes += sdp_buffers_bytes(&pools[n]->attr);
		link->ops->pool_destroy(pools[n]);
	}
	offload_uncharge(link->ssk->account, bytes);
}

static void sdp_buffers_stock_init(struct sdp_stock *stock, u32 most, u32 first, u32 size)
{
	stock->most = most;
	stock->size = size;
	stock->step = max(first, DIV_ROUND_UP(most, SDP_STOCK_GROUPS - 1));
}

/* Sleeps. Return: the pool of the next group, or an ERR_PTR. */
static struct sdp_ot_pool *sdp_buffers_next(struct sdp_link *link, const struct sdp_stock *stock)
{
	return sdp_buffers_pool(link, min(stock->step, stock->most - stock->made), stock->size, 1,
				stock->groups);
}

static bool sdp_buffers_complete(const struct sdp_stock *stock)
{
	return stock->made == stock->most || stock->groups == SDP_STOCK_GROUPS;
}

static void sdp_buffers_enter(struct sdp_stock *stock, struct sdp_ot_pool *pool)
{
	stock->pools[stock->groups++] = pool;
	stock->made += pool->attr.elements;
}

/* The group's elements are the link's. */
static void sdp_buffers_add_rx(struct sdp_link *link, struct sdp_ot_pool *pool)
{
	struct sdp_rx *rx = link->rx_all + link->rx_stock.made;
	u32 i;

	for (i = 0; i < pool->attr.elements; i++, rx++) {
		rx->buf = link->ops->pool_get(pool);
		list_add_tail(&rx->node, &link->rx_free);
	}
	sdp_buffers_enter(&link->rx_stock, pool);
}

static void sdp_buffers_add_tx(struct sdp_link *link, struct sdp_ot_pool *pool)
{
	struct sdp_piece *piece = link->tx_all + link->tx_stock.made;
	u32 i;

	for (i = 0; i < pool->attr.elements; i++, piece++) {
		piece->buf = link->ops->pool_get(pool);
		list_add_tail(&piece->node, &link->tx_free);
	}
	sdp_buffers_enter(&link->tx_stock, pool);
}

/* Begin and end **************************************************************************** */

/**
 * sdp_buffers_allow() - is there room for what a connection begins with?
 * @ssk: socket
 * @s: its sizes
 *
 * TCP goes on without it, so it is refused before memory runs short.
 *
 * Return: 0 or -ENOBUFS. Context: any.
 */
int sdp_buffers_allow(const struct sdp_sock *ssk, const struct sdp_link_sizes *s)
{
	const u32 more = SDP_BUFFERS_RX_FIRST * s->rx_size + SDP_BUFFERS_TX_FIRST * s->tx_size +
			 s->sends * s->hdr_size;

	return sdp_buffers_full(ssk->memcg, more) ? -ENOBUFS : 0;
}

static int sdp_buffers_make_posts(struct sdp_link *link, const struct sdp_link_sizes *s)
{
	u32 i;

	link->hdr_pool = sdp_buffers_pool(link, s->sends, s->hdr_size, s->segments, false);
	if (IS_ERR(link->hdr_pool)) {
		const int rc = PTR_ERR(link->hdr_pool);

		link->hdr_pool = NULL;
		return rc;
	}
	for (i = 0; i < s->sends; i++) {
		link->posts[i].hdr = link->ops->pool_get(link->hdr_pool);
		list_add_tail(&link->posts[i].node, &link->posts_free);
	}
	return 0;
}

static int sdp_buffers_make_first(struct sdp_link *link)
{
	struct sdp_ot_pool *pool;

	pool = sdp_buffers_next(link, &link->rx_stock);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	sdp_buffers_add_rx(link, pool);
	pool = sdp_buffers_next(link, &link->tx_stock);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	sdp_buffers_add_tx(link, pool);
	return 0;
}

/**
 * sdp_buffers_make() - make what a connection begins with
 * @link: new link; sdp_buffers_free() follows also on an error
 * @s: sizes
 *
 * Return: 0 or a negative errno. Context: may sleep.
 */
int sdp_buffers_make(struct sdp_link *link, const struct sdp_link_sizes *s)
{
	int rc;

	sdp_buffers_stock_init(&link->rx_stock, s->rx_num, SDP_BUFFERS_RX_FIRST, s->rx_size);
	sdp_buffers_stock_init(&link->tx_stock, s->tx_num, SDP_BUFFERS_TX_FIRST, s->tx_size);
	link->rx_all = kvcalloc(s->rx_num, sizeof(*link->rx_all), GFP_KERNEL_ACCOUNT);
	link->tx_all = kvcalloc(s->tx_num, sizeof(*link->tx_all), GFP_KERNEL_ACCOUNT);
	link->posts = kvcalloc(s->sends, sizeof(*link->posts), GFP_KERNEL_ACCOUNT);
	if (!link->rx_all || !link->tx_all || !link->posts)
		return -ENOMEM;
	rc = sdp_buffers_make_posts(link, s);
	return rc ?: sdp_buffers_make_first(link);
}

/**
 * sdp_buffers_free() - free all
 * @link: link without an endpoint
 *
 * Context: may sleep.
 */
void sdp_buffers_free(struct sdp_link *link)
{
	u32 i;

	/* what was in a queue or posted is in these, too */
	for (i = 0; i < link->rx_stock.made; i++)
		link->ops->pool_put(link->rx_all[i].buf);
	for (i = 0; i < link->tx_stock.made; i++)
		link->ops->pool_put(link->tx_all[i].buf);
	for (i = 0; link->hdr_pool && i < link->hdr_pool->attr.elements; i++)
		link->ops->pool_put(link->posts[i].hdr);
	sdp_buffers_free_pools(link, link->rx_stock.pools, link->rx_stock.groups);
	sdp_buffers_free_pools(link, link->tx_stock.pools, link->tx_stock.groups);
	if (link->hdr_pool)
		sdp_buffers_free_pools(link, &link->hdr_pool, 1);
	kvfree(link->rx_all);
	kvfree(link->tx_all);
	kvfree(link->posts);
}

/* The work item **************************************************************************** */

/* With sdp_lock(). The work item has a reference on the socket. */
static void sdp_buffers_queue(struct sdp_link *link, unsigned long delay)
{
	bool was_queued;

	if (link->ending)
		return;
	sdp_sock_get(link->ssk);
	if (delay)
		was_queued = !queue_delayed_work(sdp_queue, &link->memory, delay);
	else
		was_queued = mod_delayed_work(sdp_queue, &link->memory, 0);
	if (was_queued)
		sdp_sock_put(link->ssk);
}

/**
 * sdp_buffers_want_rx() - there is no unused receive buffer, and one would be of use
 * @link: link
 *
 * Context: with sdp_lock().
 */
void sdp_buffers_want_rx(struct sdp_link *link)
{
	if (link->rx_wanted || sdp_buffers_complete(&link->rx_stock))
		return;
	link->rx_wanted = true;
	sdp_buffers_queue(link, 0);
}

static void sdp_buffers_grow_rx(struct sdp_link *link)
{
	struct sdp_ot_pool *pool = sdp_buffers_next(link, &link->rx_stock);
	const bool made = !IS_ERR(pool);

	sdp_lock(link->ssk);
	if (made) {
		link->rx_wanted = false;
		link->rx_refused = false;
		sdp_buffers_add_rx(link, pool);
		if (link->conn.state != SDP_DEAD)
			sdp_state_run(&link->conn);
	} else {
		link->rx_refused = true;
		/* a message may wait for the buffer */
		sdp_buffers_queue(link, SDP_BUFFERS_RETRY);
	}
	sdp_unlock(link->ssk);
}

/* With tx_mutex: no writer uses a piece. Nothing was sent for some time: keep the first group. */
static void sdp_buffers_shrink_tx(struct sdp_link *link)
{
	struct sdp_stock *stock = &link->tx_stock;
	struct sdp_ot_pool *gone[SDP_STOCK_GROUPS];
	u32 n = 0, i;

	sdp_lock(link->ssk);
	if (stock->groups < 2) {
		sdp_unlock(link->ssk);
		return;
	}
	if (!list_empty(&link->tx) || time_before(jiffies, link->tx_used + SDP_BUFFERS_IDLE)) {
		sdp_buffers_queue(link, SDP_BUFFERS_IDLE);
		sdp_unlock(link->ssk);
		return;
	}
	while (stock->groups > 1) {
		gone[n] = stock->pools[--stock->groups];
		for (i = 0; i < gone[n]->attr.elements; i++) {
			struct sdp_piece *piece = &link->tx_all[--stock->made];

			list_del(&piece->node);
			link->ops->pool_put(piece->buf);
			piece->buf = NULL;
		}
		n++;
	}
	sdp_unlock(link->ssk);
	sdp_buffers_free_pools(link, gone, n);
}

static void sdp_buffers_work(struct work_struct *work)
{
	struct sdp_link *link = container_of(to_delayed_work(work), struct sdp_link, memory);
	struct sdp_sock *ssk = link->ssk;
	struct mem_cgroup *before = set_active_memcg(ssk->memcg);
	bool wanted;

	sdp_lock(ssk);
	wanted = link->rx_wanted;
	sdp_unlock(ssk);
	if (wanted)
		sdp_buffers_grow_rx(link);
	/* a writer that copies is no reason to wait */
	if (mutex_trylock(&ssk->tx_mutex)) {
		sdp_buffers_shrink_tx(link);
		mutex_unlock(&ssk->tx_mutex);
	} else {
		sdp_lock(ssk);
		sdp_buffers_queue(link, SDP_BUFFERS_IDLE);
		sdp_unlock(ssk);
	}
	set_active_memcg(before);
	sdp_sock_put(ssk);
}

/** sdp_buffers_init() - prepare the work item of a new link */
void sdp_buffers_init(struct sdp_link *link)
{
	INIT_DELAYED_WORK(&link->memory, sdp_buffers_work);
}

/** sdp_buffers_stop() - the link ends: no work item runs any more, and none begins; may sleep */
void sdp_buffers_stop(struct sdp_link *link)
{
	if (cancel_delayed_work_sync(&link->memory))
		/* the caller has a reference, too */
		sdp_sock_put(link->ssk);
}

/* Writers ********************************************************************************** */

/** sdp_buffers_may_grow_tx() - could a writer that finds no piece make some? With sdp_lock() */
bool sdp_buffers_may_grow_tx(const struct sdp_link *link)
{
	return !link->tx_refused && !link->ending && !sdp_buffers_complete(&link->tx_stock);
}

/**
 * sdp_buffers_grow_tx() - make more pieces
 * @ssk: socket; its link has sdp_buffers_may_grow_tx()
 *
 * Return: there are more. Else the writer waits for those that there are. Context: with tx_mutex;
 * may sleep.
 */
bool sdp_buffers_grow_tx(struct sdp_sock *ssk)
{
	struct mem_cgroup *before = set_active_memcg(ssk->memcg);
	struct sdp_link *link = ssk->link;
	struct sdp_ot_pool *pool = sdp_buffers_next(link, &link->tx_stock);
	const bool made = !IS_ERR(pool);

	set_active_memcg(before);
	sdp_lock(ssk);
	if (made) {
		sdp_buffers_add_tx(link, pool);
		sdp_buffers_queue(link, SDP_BUFFERS_IDLE);
	} else {
		link->tx_refused = true;
	}
	sdp_unlock(ssk);
	return made;
}
