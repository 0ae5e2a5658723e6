// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Consumer sides of the kAL (clients). This file decides which RNICs of registry.c each client
 * is shown.
 *
 * Each client has a bit in ri_rnic.flags. The bit is set while the client has the RNIC.
 * registry.c documents the lock order.
 */
#include <linux/cleanup.h>
#include <linux/rwsem.h>

#include "internal.h"

/*
 * Protects the list of clients; held for reading while an RNIC is shown to or removed from
 * clients.
 */
static DECLARE_RWSEM(kal_clients_rwsem);
static LIST_HEAD(kal_clients);

static unsigned int kal_client_bit(const struct kal_client *client)
{
	return RI_RNIC_CLIENT0 + client->index;
}

static int kal_client_add(struct kal_client *client, struct ri_rnic *rnic)
{
	int ret;

	if (test_bit(kal_client_bit(client), &rnic->flags))
		return 0;
	ret = client->add(rnic);
	if (ret)
		return client->mandatory ? ret : 0;
	set_bit(kal_client_bit(client), &rnic->flags);
	/* earlier events were not delivered: make the client check the state */
	if (client->event)
		client->event(rnic, IB_EVENT_GID_CHANGE);
	return 0;
}

static void kal_client_remove(struct kal_client *client, struct ri_rnic *rnic)
{
	if (test_and_clear_bit(kal_client_bit(client), &rnic->flags))
		client->remove(rnic);
}

/* Tell all clients that have @rnic that its removal begins. May sleep. */
void kal_clients_leave(struct ri_rnic *rnic)
{
	struct kal_client *client;

	guard(rwsem_read)(&kal_clients_rwsem);
	list_for_each_entry(client, &kal_clients, node)
		if (client->leave && test_bit(kal_client_bit(client), &rnic->flags))
			client->leave(rnic);
}

/* Remove @rnic from all clients that have it, the last client first. May sleep. */
void kal_clients_remove(struct ri_rnic *rnic)
{
	struct kal_client *client;

	guard(rwsem_read)(&kal_clients_rwsem);
	list_for_each_entry_reverse(client, &kal_clients, node)
		kal_client_remove(client, rnic);
}

/* Show @rnic to all clients. Return: 0, or the error of a mandatory client. May sleep. */
int kal_clients_add(struct ri_rnic *rnic)
{
	struct kal_client *client;
	int ret;

	guard(rwsem_read)(&kal_clients_rwsem);
	list_for_each_entry(client, &kal_clients, node) {
		ret = kal_client_add(client, rnic);
		if (ret)
			return ret;
	}
	return 0;
}

/* Deliver an event of @rnic to all clients that have the RNIC. */
void kal_clients_event(struct ri_rnic *rnic, enum ib_event_type event)
{
	struct kal_client *client;

	guard(rwsem_read)(&kal_clients_rwsem);
	list_for_each_entry(client, &kal_clients, node)
		if (client->event &&
		    test_bit(kal_client_bit(client), &rnic->flags))
			client->event(rnic, event);
}

/**
 * kal_register_client() - register a consumer side, which is shown all RNICs
 * @client: consumer side
 *
 * Calls add() for all existing RNICs. Return: 0 or -ENOSPC. Context: may sleep.
 */
int kal_register_client(struct kal_client *client)
{
	unsigned long used = 0;
	struct kal_client *other;
	struct ri_rnic *rnic = NULL;

	/* no RNIC is shown or removed meanwhile, because both take the lock for reading */
	guard(rwsem_write)(&kal_clients_rwsem);
	list_for_each_entry(other, &kal_clients, node)
		set_bit(other->index, &used);
	client->index = ffz(used);
	if (kal_client_bit(client) >= RI_RNIC_CLIENT_END)
		return -ENOSPC;
	list_add_tail(&client->node, &kal_clients);
	while ((rnic = kal_rnic_next(rnic)))
		if (kal_rnic_live(rnic))
			kal_client_add(client, rnic);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_register_client);

/* Calls remove() for all RNICs that @client has. May sleep. */
void kal_unregister_client(struct kal_client *client)
{
	struct ri_rnic *rnic = NULL;

	guard(rwsem_write)(&kal_clients_rwsem);
	while ((rnic = kal_rnic_next(rnic)))
		kal_client_remove(client, rnic);
	list_del(&client->node);
}
EXPORT_SYMBOL_GPL(kal_unregister_client);

void *kal_client_data(struct ri_rnic *rnic, const struct kal_client *client)
{
	return xa_load(&rnic->client_data, client->index);
}
EXPORT_SYMBOL_GPL(kal_client_data);

int kal_set_client_data(struct ri_rnic *rnic, const struct kal_client *client,
			void *data)
{
	return xa_err(xa_store(&rnic->client_data, client->index, data,
			       GFP_KERNEL));
}
EXPORT_SYMBOL_GPL(kal_set_client_data);
