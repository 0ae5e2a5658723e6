// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Events of an open /dev/krdma: records that wait to be read.
 *
 * A record that must not be lost is part of its object and is allocated with the object, so
 * the event itself needs no memory:
 *
 * - completion events: one record for each CQ, however many events there were
 * - asynchronous events: one for each kind of event of an object
 * - events of a connection
 *
 * Only events without such an object (the network's events) are copied into new memory, within
 * a limit. They may be lost. Lost events are counted and reported.
 */
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "chardev.h"

static unsigned int kal_file_events = 1024;
module_param_named(file_events, kal_file_events, uint, 0644);
MODULE_PARM_DESC(file_events,
		 "network events that may wait in an open /dev/krdma; more are lost (1024)");

u32 kal_file_events_limit(void)
{
	return READ_ONCE(kal_file_events);
}

static void chardev_record_queue(struct kal_file *file, struct kal_record *rec)
{
	lockdep_assert_held(&file->event_lock);
	rec->generation = ++file->generation;
	if (!list_empty(&rec->node))
		return;
	rec->event->time_ns = ktime_get_ns();
	list_add_tail(&rec->node, &file->records);
	if (rec->owner)
		list_add_tail(&rec->owner_node, &rec->owner->queued);
	file->num_records++;
}

static void chardev_record_unqueue(struct kal_file *file, struct kal_record *rec)
{
	lockdep_assert_held(&file->event_lock);
	list_del_init(&rec->node);
	list_del_init(&rec->owner_node);
	file->num_records--;
	if (rec->dynamic) {
		file->num_dynamic--;
		kfree(rec);
	}
}

static struct kal_record *chardev_record_first(struct kal_file *file)
{
	return list_first_entry_or_null(&file->records, struct kal_record, node);
}

static void chardev_events_wake(struct kal_file *file)
{
	wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
}

void kal_file_raise(struct kal_file *file, struct kal_record *rec)
{
	scoped_guard(spinlock_irqsave, &file->event_lock)
		chardev_record_queue(file, rec);
	chardev_events_wake(file);
}

static_assert(IB_EVENT_WQ_FATAL < KAL_EVENT_CODES);

void kal_handle_async(struct kal_handle *h, enum ib_event_type code)
{
	struct kal_file *file = h->file;

	scoped_guard(spinlock_irqsave, &file->event_lock)
		if (kal_event_codes_add(&h->async_codes, code, ktime_get_ns()))
			chardev_record_queue(file, &h->async);
	chardev_events_wake(file);
}

static void chardev_event_lost(struct kal_file *file)
{
	file->lost++;
	file->overflow_event.code++;
	chardev_record_queue(file, &file->overflow);
}

/*
 * Allocate a record, charged to the file's memory cgroup. Return: NULL if there is no memory,
 * or if the cgroup has reached its limit. The charge may not exceed the limit.
 */
static struct kal_record *chardev_record_new(struct kal_file *file, const struct krdma_event *event)
{
	struct mem_cgroup *before = set_active_memcg(file->memcg);
	struct kal_record *rec;

	rec = kzalloc(sizeof(*rec) + event->size, KAL_GFP_CHARGE);
	set_active_memcg(before);
	if (!rec)
		return NULL;
	kal_record_init(rec, NULL, (struct krdma_event *)(rec + 1));
	rec->dynamic = true;
	memcpy(rec->event, event, event->size);
	return rec;
}

void kal_file_event(struct kal_file *file, const struct krdma_event *event)
{
	struct kal_record *rec = NULL;

	if (READ_ONCE(file->num_dynamic) < kal_file_events_limit())
		rec = chardev_record_new(file, event);
	scoped_guard(spinlock_irqsave, &file->event_lock) {
		if (rec && file->num_dynamic < kal_file_events_limit()) {
			file->num_dynamic++;
			chardev_record_queue(file, rec);
			rec = NULL;
		} else {
			chardev_event_lost(file);
		}
	}
	kfree(rec);
	chardev_events_wake(file);
}

void kal_file_drop_events(struct kal_file *file, struct kal_handle *owner)
{
	struct kal_record *rec, *next;

	scoped_guard(spinlock_irqsave, &file->event_lock)
		list_for_each_entry_safe(rec, next, &owner->queued, owner_node)
			chardev_record_unqueue(file, rec);
}

/* records dropped at a time, because there may be as many as objects */
#define KAL_RECORDS_AT_ONCE	256

/* Return: true if there are more. */
static bool chardev_file_drop_some(struct kal_file *file)
{
	struct kal_record *rec;
	unsigned int i;

	spin_lock_irq(&file->event_lock);
	for (i = 0; i < KAL_RECORDS_AT_ONCE; i++) {
		rec = chardev_record_first(file);
		if (!rec)
			break;
		chardev_record_unqueue(file, rec);
	}
	spin_unlock_irq(&file->event_lock);
	return rec;
}

/* Called when no object can raise another record. */
void kal_file_drop_all_events(struct kal_file *file)
{
	while (chardev_file_drop_some(file))
		cond_resched();
}

/* Reading ****************************************************************** */

/*
 * Fill in the data of a record. An asynchronous record stands for several events and returns
 * the oldest.
 */
static void chardev_record_fill(struct kal_record *rec)
{
	if (!rec->codes)
		return;
	rec->event->code = rec->codes->code[0];
	rec->event->time_ns = rec->codes->time_ns[0];
}

/* Called after the current state of the record was read. */
static void chardev_record_done(struct kal_file *file, struct kal_record *rec)
{
	if (rec == &file->overflow)
		rec->event->code = 0;
	if (rec->codes) {
		kal_event_codes_remove(rec->codes, 0);
		/* the next event keeps this record's place */
		if (rec->codes->num)
			return;
	}
	if (rec->on_read)
		rec->on_read(rec);
	chardev_record_unqueue(file, rec);
}

/* larger than any record */
#define KAL_RECORD_MAX	1024

/**
 * struct kal_reading - a record that is being copied to user space
 * @rec: record, only for comparison because it may have been freed
 * @generation: generation of the record when it was copied
 * @len: length of @data in bytes
 * @data: the copy
 */
struct kal_reading {
	struct kal_record *rec;
	u64 generation;
	u32 len;
	u8 data[KAL_RECORD_MAX] __aligned(8);
};

static int chardev_record_copy(struct kal_record *rec, struct kal_reading *r, size_t room)
{
	if (!rec)
		return -EAGAIN;
	chardev_record_fill(rec);
	r->len = rec->event->size;
	if (r->len > room || WARN_ON_ONCE(r->len > sizeof(r->data)))
		return -EINVAL;
	r->rec = rec;
	r->generation = rec->generation;
	memcpy(r->data, rec->event, r->len);
	return 0;
}

/* Return: 0; -EAGAIN if there is no record; -EINVAL if the record is longer than @room. */
static int chardev_reading_begin(struct kal_file *file, struct kal_reading *r, size_t room)
{
	int ret;

	spin_lock_irq(&file->event_lock);
	ret = chardev_record_copy(chardev_record_first(file), r, room);
	spin_unlock_irq(&file->event_lock);
	return ret;
}

/*
 * Called after the record was copied to user space. There is only one reader at a time. But
 * the record's object may have been destroyed meanwhile, and another record is first. Or
 * another event has occurred, and the record stays.
 */
static void chardev_reading_end(struct kal_file *file, const struct kal_reading *r)
{
	struct kal_record *rec;

	spin_lock_irq(&file->event_lock);
	rec = chardev_record_first(file);
	if (rec && rec == r->rec) {
		if (rec->generation == r->generation)
			chardev_record_done(file, rec);
		else if (rec == &file->overflow)
			/* do not report the losses again that were just reported */
			rec->event->code -= ((const struct krdma_event *)r->data)->code;
	}
	spin_unlock_irq(&file->event_lock);
}

static ssize_t chardev_events_copy(struct kal_file *file, char __user *buf, size_t len)
{
	struct kal_reading *r __free(kfree) = kmalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	size_t done = 0;
	int ret = 0;

	if (!r)
		return -ENOMEM;
	while (!ret) {
		ret = chardev_reading_begin(file, r, len - done);
		if (!ret && copy_to_user(buf + done, r->data, r->len))
			ret = -EFAULT;
		if (ret)
			break;
		chardev_reading_end(file, r);
		done += r->len;
		if (fatal_signal_pending(current))
			break;
	}
	return done ?: ret;
}

bool kal_events_wait(struct kal_file *file)
{
	return !list_empty_careful(&file->records);
}

ssize_t kal_events_read(struct kal_file *file, char __user *buf, size_t len, bool nonblock)
{
	ssize_t ret;

	for (;;) {
		/* the usual answer to a poller needs neither the lock nor memory */
		ret = -EAGAIN;
		if (kal_events_wait(file)) {
			if (mutex_lock_interruptible(&file->read_lock))
				return -ERESTARTSYS;
			ret = chardev_events_copy(file, buf, len);
			mutex_unlock(&file->read_lock);
		}
		if (ret != -EAGAIN || nonblock)
			return ret;
		if (wait_event_interruptible(file->wait, kal_events_wait(file)))
			return -ERESTARTSYS;
	}
}

void kal_events_init(struct kal_file *file)
{
	spin_lock_init(&file->event_lock);
	INIT_LIST_HEAD(&file->records);
	init_waitqueue_head(&file->wait);
	mutex_init(&file->read_lock);
	kal_record_init(&file->overflow, NULL, &file->overflow_event);
	file->overflow_event.size = sizeof(file->overflow_event);
	file->overflow_event.type = KRDMA_EVENT_OVERFLOW;
}

/* Called when no more events can come. */
void kal_events_exit(struct kal_file *file)
{
	kal_file_drop_all_events(file);
	mutex_destroy(&file->read_lock);
}
