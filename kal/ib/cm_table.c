// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's table of iw_cm's ids and their endpoints, for look-ups of an id from outside
 * the connection manager (restrack.c). iw_cm may free an id during such a look-up. The id is
 * therefore only a key and is never dereferenced.
 */
#include <linux/hashtable.h>

#include "bridge.h"

static DEFINE_HASHTABLE(kal_ib_cm_table, 8);
static DEFINE_SPINLOCK(kal_ib_cm_table_lock);	/* protects kal_ib_cm_table */

/**
 * kal_ib_cm_show() - enter an id and its endpoint into the table
 * @entry: owner's entry, initially zeroed; may be in the table already
 * @cm_id: id, which must live until kal_ib_cm_hide()
 * @ep: endpoint, whose owner holds its reference until kal_ib_cm_hide()
 *
 * Context: process.
 */
void kal_ib_cm_show(struct kal_ib_cm_entry *entry, const struct iw_cm_id *cm_id,
		    struct kal_ep *ep)
{
	spin_lock(&kal_ib_cm_table_lock);
	if (!hash_hashed(&entry->node)) {
		entry->cm_id = cm_id;
		entry->ep = ep;
		hash_add(kal_ib_cm_table, &entry->node, (unsigned long)cm_id);
	}
	spin_unlock(&kal_ib_cm_table_lock);
}

/* Remove an entry, which may be missing in the table. Context: process. */
void kal_ib_cm_hide(struct kal_ib_cm_entry *entry)
{
	spin_lock(&kal_ib_cm_table_lock);
	hash_del(&entry->node);
	spin_unlock(&kal_ib_cm_table_lock);
}

/*
 * Look up the endpoint of an id, which may already be freed. Return: the endpoint with a
 * reference, or NULL.
 */
struct kal_ep *kal_ib_cm_find(const struct iw_cm_id *cm_id)
{
	struct kal_ib_cm_entry *entry;
	struct kal_ep *ep = NULL;

	spin_lock(&kal_ib_cm_table_lock);
	hash_for_each_possible(kal_ib_cm_table, entry, node, (unsigned long)cm_id) {
		if (entry->cm_id == cm_id) {
			ep = entry->ep;
			kal_ep_get(ep);
			break;
		}
	}
	spin_unlock(&kal_ib_cm_table_lock);
	return ep;
}
