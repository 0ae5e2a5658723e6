// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The DAT registry: IA names and their providers, and the IAs that are open.
 *
 * A name may be removed while IAs are opened and closed. An entry in use stays in memory until its
 * last IA is closed, even if it cannot be found any more. ia_open_func() and ia_close_func() run
 * without the lock, so that providers may add and remove names meanwhile.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "registry.h"

/**
 * struct kdat_registry_entry - an IA name
 * @node: in kdat_registry_entries, or empty: the name was removed
 * @provider: table
 * @info: key
 * @opening: calls of ia_open_func() that run
 * @open: IAs that are open or being closed
 */
struct kdat_registry_entry {
	struct list_head node;
	const DAT_PROVIDER *provider;
	DAT_PROVIDER_INFO info;
	unsigned int opening;
	unsigned int open;
};

/**
 * struct kdat_registry_ia - an open IA
 * @node: in kdat_registry_ias
 * @handle: IA
 * @entry: by which it was opened
 */
struct kdat_registry_ia {
	struct hlist_node node;
	DAT_IA_HANDLE handle;
	struct kdat_registry_entry *entry;
};

/* protects all of the registry */
static kdat_registry_open_net kdat_registry_own_open_net;
static DEFINE_MUTEX(kdat_registry_lock);
static LIST_HEAD(kdat_registry_entries);
static DEFINE_HASHTABLE(kdat_registry_ias, 6);
/* an entry's count of opening has become 0 */
static DECLARE_WAIT_QUEUE_HEAD(kdat_registry_opened);

static bool kdat_registry_has_name(const struct kdat_registry_entry *entry, const char *name)
{
	return !strncmp(entry->info.ia_name, name, DAT_NAME_MAX_LENGTH);
}

static struct kdat_registry_entry *kdat_registry_find(const DAT_PROVIDER_INFO *info)
{
	struct kdat_registry_entry *entry;

	lockdep_assert_held(&kdat_registry_lock);
	list_for_each_entry(entry, &kdat_registry_entries, node) {
		if (kdat_registry_has_name(entry, info->ia_name) &&
		    entry->info.dapl_version_major == info->dapl_version_major &&
		    entry->info.dapl_version_minor == info->dapl_version_minor &&
		    entry->info.is_thread_safe == info->is_thread_safe)
			return entry;
	}
	return NULL;
}

/*
 * Find the entry for a consumer. One that asks for no thread safety gets a provider that is not
 * thread-safe, if there is one, else one that is.
 *
 * Return: the entry; or NULL, and @subtype says what there is none of.
 */
static struct kdat_registry_entry *kdat_registry_choose(const DAT_PROVIDER_INFO *wanted,
							DAT_RETURN_SUBTYPE *subtype)
{
	struct kdat_registry_entry *found = NULL;
	struct kdat_registry_entry *entry;

	lockdep_assert_held(&kdat_registry_lock);
	*subtype = DAT_NAME_NOT_REGISTERED;
	list_for_each_entry(entry, &kdat_registry_entries, node) {
		const DAT_PROVIDER_INFO *info = &entry->info;

		if (!kdat_registry_has_name(entry, wanted->ia_name))
			continue;
		/* the subtypes are in the order of the questions */
		if (info->dapl_version_major != wanted->dapl_version_major) {
			*subtype = max(*subtype, DAT_MAJOR_NOT_FOUND);
			continue;
		}
		if (info->dapl_version_minor != wanted->dapl_version_minor) {
			*subtype = max(*subtype, DAT_MINOR_NOT_FOUND);
			continue;
		}
		if (info->is_thread_safe == wanted->is_thread_safe)
			return entry;
		*subtype = DAT_THREAD_SAFETY_NOT_FOUND;
		if (info->is_thread_safe)
			found = entry;
	}
	return found;
}

/* The name was removed, and the entry has no user: free it. */
static void kdat_registry_put(struct kdat_registry_entry *entry)
{
	lockdep_assert_held(&kdat_registry_lock);
	if (list_empty(&entry->node) && !entry->opening && !entry->open)
		kfree(entry);
}

static bool kdat_registry_info_valid(const DAT_PROVIDER_INFO *info)
{
	const size_t len = strnlen(info->ia_name, sizeof(info->ia_name));

	return len && len < sizeof(info->ia_name) &&
	       (info->is_thread_safe == DAT_TRUE || info->is_thread_safe == DAT_FALSE);
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	struct kdat_registry_entry *entry;

	might_sleep();
	if (!provider || !provider->ia_open_func || !provider->ia_close_func)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!provider_info || !kdat_registry_info_valid(provider_info))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	entry->provider = provider;
	entry->info = *provider_info;

	guard(mutex)(&kdat_registry_lock);
	if (kdat_registry_find(provider_info)) {
		kfree(entry);
		return DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	}
	list_add_tail(&entry->node, &kdat_registry_entries);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_registry_add_provider);

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	struct kdat_registry_entry *entry;
	DAT_RETURN_SUBTYPE subtype;

	might_sleep();
	if (!provider)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!provider_info || !kdat_registry_info_valid(provider_info))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);

	guard(mutex)(&kdat_registry_lock);
	entry = kdat_registry_find(provider_info);
	if (!entry) {
		/* that a thread-safe one would serve is no answer here */
		if (kdat_registry_choose(provider_info, &subtype))
			subtype = DAT_THREAD_SAFETY_NOT_FOUND;
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, subtype);
	}
	if (entry->provider != provider)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (entry->opening || entry->open)
		return DAT_ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	list_del_init(&entry->node);
	kdat_registry_put(entry);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_registry_remove_provider);

/*
 * Does an ia_open_func() of these entries run? They are in the caller's list only: none starts any
 * more. Without the lock, because wait_event() asks.
 */
static bool kdat_registry_is_opening(struct list_head *entries)
{
	struct kdat_registry_entry *entry;

	list_for_each_entry(entry, entries, node)
		if (READ_ONCE(entry->opening))
			return true;
	return false;
}

void kdat_registry_withdraw(const DAT_PROVIDER *provider)
{
	struct kdat_registry_entry *entry, *next;
	LIST_HEAD(gone);

	might_sleep();
	scoped_guard(mutex, &kdat_registry_lock)
		list_for_each_entry_safe(entry, next, &kdat_registry_entries, node)
			if (entry->provider == provider)
				list_move_tail(&entry->node, &gone);

	wait_event(kdat_registry_opened, !kdat_registry_is_opening(&gone));

	guard(mutex)(&kdat_registry_lock);
	list_for_each_entry_safe(entry, next, &gone, node) {
		list_del_init(&entry->node);
		kdat_registry_put(entry);
	}
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	struct kdat_registry_entry *entry;
	DAT_COUNT i;

	might_sleep();
	if (max_to_return < 0)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!entries_returned)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (max_to_return && !dat_provider_list)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);

	i = 0;
	guard(mutex)(&kdat_registry_lock);
	list_for_each_entry(entry, &kdat_registry_entries, node) {
		if (max_to_return) {
			if (i == max_to_return)
				break;
			if (!dat_provider_list[i])
				return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
			*dat_provider_list[i] = entry->info;
		}
		i++;
	}
	*entries_returned = i;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_registry_list_providers);

static bool kdat_registry_is_name(const char *name)
{
	struct kdat_registry_entry *entry;

	lockdep_assert_held(&kdat_registry_lock);
	list_for_each_entry(entry, &kdat_registry_entries, node)
		if (kdat_registry_has_name(entry, name))
			return true;
	return false;
}

/* Ask an open IA of @name whether it is related to @other. An IA cannot be closed meanwhile. */
static DAT_HA_RELATIONSHIP kdat_registry_ask(const char *name, const char *other)
{
	struct kdat_registry_ia *ia;
	DAT_BOOLEAN related;
	unsigned int bucket;

	lockdep_assert_held(&kdat_registry_lock);
	hash_for_each(kdat_registry_ias, bucket, ia, node) {
		const DAT_PROVIDER *provider = ia->entry->provider;

		if (!kdat_registry_has_name(ia->entry, name) || !provider->ia_ha_related_func)
			continue;
		if (provider->ia_ha_related_func(ia->handle, other, &related) == DAT_SUCCESS)
			return related == DAT_TRUE ? DAT_HA_TRUE : DAT_HA_FALSE;
	}
	return DAT_HA_UNKNOWN;
}

DAT_RETURN dat_registry_providers_related(const char *ia_name1, const char *ia_name2,
					  DAT_HA_RELATIONSHIP *answer)
{
	DAT_HA_RELATIONSHIP first, second;

	might_sleep();
	if (!ia_name1)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!ia_name2)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!answer)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);

	guard(mutex)(&kdat_registry_lock);
	if (!kdat_registry_is_name(ia_name1) || !kdat_registry_is_name(ia_name2))
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	first = kdat_registry_ask(ia_name1, ia_name2);
	second = kdat_registry_ask(ia_name2, ia_name1);
	if (first == DAT_HA_UNKNOWN)
		*answer = second;
	else if (second == DAT_HA_UNKNOWN || second == first)
		*answer = first;
	else
		*answer = DAT_HA_CONFLICTING;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_registry_providers_related);

/* ia_open_func() has returned; @handle is NULL if it failed, and @ia stays the caller's. */
static void kdat_registry_end_open(struct kdat_registry_ia *ia, DAT_IA_HANDLE handle)
{
	struct kdat_registry_entry *entry = ia->entry;

	guard(mutex)(&kdat_registry_lock);
	if (handle) {
		ia->handle = handle;
		hash_add(kdat_registry_ias, &ia->node, (unsigned long)handle);
		entry->open++;
	}
	WRITE_ONCE(entry->opening, entry->opening - 1);
	if (!entry->opening)
		wake_up_all(&kdat_registry_opened);
	kdat_registry_put(entry);
}

/* @net: namespace that the IA belongs to, or NULL: that of the task */
static DAT_RETURN kdat_registry_open(const char *name, struct net *net,
				     DAT_COUNT asynch_evd_min_qlen,
				     DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle,
				     DAT_UINT32 dat_major_version_number,
				     DAT_UINT32 dat_minor_version_number,
				     DAT_BOOLEAN dat_thread_safety)
{
	DAT_PROVIDER_INFO wanted = {
		.dapl_version_major = dat_major_version_number,
		.dapl_version_minor = dat_minor_version_number,
		.is_thread_safe = dat_thread_safety,
	};
	struct kdat_registry_ia *ia;
	DAT_RETURN_SUBTYPE subtype;
	DAT_RETURN ret;

	might_sleep();
	if (!name)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (asynch_evd_min_qlen < 0)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!asynch_evd_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ia_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (dat_thread_safety != DAT_TRUE && dat_thread_safety != DAT_FALSE)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (strscpy(wanted.ia_name, name, sizeof(wanted.ia_name)) < 0)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ia = kzalloc(sizeof(*ia), GFP_KERNEL_ACCOUNT);
	if (!ia)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);

	scoped_guard(mutex, &kdat_registry_lock) {
		ia->entry = kdat_registry_choose(&wanted, &subtype);
		if (ia->entry)
			ia->entry->opening++;
	}
	if (!ia->entry) {
		kfree(ia);
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, subtype);
	}
	*ia_handle = DAT_HANDLE_NULL;
	if (!net)
		ret = ia->entry->provider->ia_open_func(name, asynch_evd_min_qlen,
							asynch_evd_handle, ia_handle);
	else if (ia->entry->provider->extension)
		ret = kdat_registry_own_open_net(name, net, asynch_evd_min_qlen, asynch_evd_handle,
						 ia_handle);
	else
		ret = DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	if (ret == DAT_SUCCESS && !*ia_handle)
		ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	kdat_registry_end_open(ia, ret == DAT_SUCCESS ? *ia_handle : DAT_HANDLE_NULL);
	if (ret != DAT_SUCCESS)
		kfree(ia);
	return ret;
}

void kdat_registry_set_open_net(kdat_registry_open_net open_net)
{
	kdat_registry_own_open_net = open_net;
}

DAT_RETURN dat_ia_openv(const char *name, DAT_COUNT asynch_evd_min_qlen,
			DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major_version_number, DAT_UINT32 dat_minor_version_number,
			DAT_BOOLEAN dat_thread_safety)
{
	return kdat_registry_open(name, NULL, asynch_evd_min_qlen, asynch_evd_handle, ia_handle,
				  dat_major_version_number, dat_minor_version_number,
				  dat_thread_safety);
}
EXPORT_SYMBOL_GPL(dat_ia_openv);

DAT_RETURN dat_ia_open_net(const char *name, struct net *net, DAT_COUNT asynch_evd_min_qlen,
			   DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle)
{
	return kdat_registry_open(name, net, asynch_evd_min_qlen, asynch_evd_handle, ia_handle,
				  DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE);
}
EXPORT_SYMBOL_GPL(dat_ia_open_net);

/* Take an IA from the table, so that only one caller closes it. */
static struct kdat_registry_ia *kdat_registry_take_ia(DAT_IA_HANDLE handle)
{
	struct kdat_registry_ia *ia;

	guard(mutex)(&kdat_registry_lock);
	hash_for_each_possible(kdat_registry_ias, ia, node, (unsigned long)handle) {
		if (ia->handle == handle) {
			hash_del(&ia->node);
			return ia;
		}
	}
	return NULL;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	struct kdat_registry_ia *ia;
	DAT_RETURN ret;

	might_sleep();
	if (close_flags != DAT_CLOSE_ABRUPT_FLAG && close_flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ia = kdat_registry_take_ia(ia_handle);
	if (!ia)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = ia->entry->provider->ia_close_func(ia_handle, close_flags);

	guard(mutex)(&kdat_registry_lock);
	if (ret != DAT_SUCCESS) {
		hash_add(kdat_registry_ias, &ia->node, (unsigned long)ia_handle);
		return ret;
	}
	ia->entry->open--;
	kdat_registry_put(ia->entry);
	kfree(ia);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ia_close);
