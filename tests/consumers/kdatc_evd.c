// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of kDAPL's conformance test: event dispatchers and upcalls, with software events. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kdatc.h"

static DAT_RETURN kdatc_evd_post(DAT_EVD_HANDLE evd, unsigned long number)
{
	const DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.event_data.software_event_data.pointer = (void *)number,
	};

	return dat_evd_post_se(evd, &event);
}

static unsigned long kdatc_evd_number(const DAT_EVENT *event)
{
	return (unsigned long)event->event_data.software_event_data.pointer;
}

/**
 * struct kdatc_evd_log - what upcalls saw
 * @evd: EVD
 * @running: upcalls at this moment
 * @most: the most at the same time
 * @calls: upcalls
 * @next: number that the next event in order has
 * @disorder: events that were not the next
 * @nulls: upcalls without an event
 * @more: more_events of the last upcall
 * @pause: milliseconds that an upcall takes
 * @hold: upcalls wait for it; NULL: they do not
 * @answer: of a call from an upcall
 * @seen: counts by event number
 */
struct kdatc_evd_log {
	DAT_EVD_HANDLE evd;
	atomic_t running;
	atomic_t most;
	atomic_t calls;
	unsigned long next;
	atomic_t disorder;
	atomic_t nulls;
	DAT_BOOLEAN more;
	unsigned int pause;
	struct completion *hold;
	DAT_RETURN answer;
	atomic_t *seen;
};

static void kdatc_evd_see(struct kdatc_evd_log *log, const DAT_EVENT *event)
{
	if (event->event_number != DAT_SOFTWARE_EVENT || event->evd_handle != log->evd)
		atomic_inc(&log->disorder);
	else if (log->seen)
		atomic_inc(&log->seen[kdatc_evd_number(event)]);
	else if (kdatc_evd_number(event) != log->next++)
		atomic_inc(&log->disorder);
}

static void kdatc_evd_drain(struct kdatc_evd_log *log)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(log->evd, &event) == DAT_SUCCESS)
		kdatc_evd_see(log, &event);
}

static void kdatc_evd_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kdatc_evd_log *log = data;
	int now = atomic_inc_return(&log->running);
	int most = atomic_read(&log->most);

	while (now > most && !atomic_try_cmpxchg(&log->most, &most, now))
		;
	if (event)
		kdatc_evd_see(log, event);
	else
		atomic_inc(&log->nulls);
	log->more = more;
	if (log->hold)
		wait_for_completion_timeout(log->hold, kdatc.patience);
	if (log->pause)
		msleep(log->pause);
	atomic_dec(&log->running);
	atomic_inc(&log->calls);
}

static bool kdatc_evd_called(struct kdatc_evd_log *log, int calls)
{
	const unsigned long end = jiffies + kdatc.patience;

	while (atomic_read(&log->calls) < calls) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

/* The EVD is in the bed, where the runner frees it. */
static bool kdatc_evd_open(struct kdatc_evd_log *log, DAT_COUNT qlen, DAT_UPCALL_POLICY policy)
{
	log->evd = kdatc_upcall_evd(qlen, DAT_EVD_SOFTWARE_FLAG, policy, kdatc_evd_upcall, log);
	kdatc_bed.client[0].conn = log->evd;
	return log->evd;
}

/* The upcall's log is on the stack: no upcall after this. */
static void kdatc_evd_close(struct kdatc_evd_log *log)
{
	if (log->evd && KDATC_OK(dat_evd_free(log->evd)))
		kdatc_bed.client[0].conn = NULL;
	KDATC_EXPECT(!atomic_read(&log->running));
}

/* Queues ******************************************************************** */

static void kdatc_evd_query(void)
{
	DAT_EVD_PARAM param = {};
	const DAT_UPCALL_OBJECT upcall = { .instance_data = &param,
					   .upcall_func = kdatc_evd_upcall };
	DAT_EVD_HANDLE evd = NULL;

	KDATC_OK(dat_evd_kcreate(kdatc_bed.ia, 20, DAT_UPCALL_MANY, &upcall,
				 DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG, &evd));
	KDATC_OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.evd_qlen >= 20);
	KDATC_EXPECT(param.upcall_policy == DAT_UPCALL_MANY);
	KDATC_EXPECT(param.upcall.instance_data == &param &&
		     param.upcall.upcall_func == kdatc_evd_upcall);
	KDATC_EXPECT(param.evd_flags == (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG));
	KDATC_REFUSED(dat_evd_query(evd, 0x80, &param), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
	KDATC_OK(dat_evd_free(evd));
}

/* Post until the queue is full. Return: number of events. */
static unsigned long kdatc_evd_fill(DAT_EVD_HANDLE evd, unsigned long first)
{
	unsigned long number = first;
	DAT_RETURN ret;

	while ((ret = kdatc_evd_post(evd, number)) == DAT_SUCCESS && number < 100000)
		number++;
	KDATC_EXPECT(ret == KDATC_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE));
	return number - first;
}

static void kdatc_evd_full(void)
{
	struct kdatc_evd_log log = {};
	unsigned long num;
	DAT_EVENT event;

	if (!kdatc_evd_open(&log, 10, DAT_UPCALL_DISABLE))
		return;
	num = kdatc_evd_fill(log.evd, 0);
	KDATC_EXPECT(num >= 10);
	/* a place becomes free */
	KDATC_OK(dat_evd_dequeue(log.evd, &event));
	kdatc_evd_see(&log, &event);
	KDATC_OK(kdatc_evd_post(log.evd, num));
	KDATC_TYPE(kdatc_evd_post(log.evd, num), DAT_QUEUE_FULL);
	kdatc_evd_drain(&log);
	KDATC_EXPECT(log.next == num + 1 && !atomic_read(&log.disorder));
	KDATC_REFUSED(dat_evd_dequeue(log.evd, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	/* the consumer knows by the answer */
	KDATC_EXPECT(kdatc_silent(kdatc_bed.async));
	kdatc_evd_close(&log);
}

static void kdatc_evd_resize(void)
{
	struct kdatc_evd_log log = {};
	DAT_EVD_PARAM param = {};
	unsigned long num;

	if (!kdatc_evd_open(&log, 10, DAT_UPCALL_DISABLE))
		return;
	num = kdatc_evd_fill(log.evd, 0);
	KDATC_OK(dat_evd_resize(log.evd, num + 50));
	KDATC_OK(dat_evd_query(log.evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	KDATC_EXPECT(param.evd_qlen >= num + 50);
	num += kdatc_evd_fill(log.evd, num);
	KDATC_EXPECT(num >= 60);
	/* fewer than there are */
	KDATC_TYPE(dat_evd_resize(log.evd, 5), DAT_INVALID_STATE);
	KDATC_REFUSED(dat_evd_resize(log.evd, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_evd_resize(log.evd, -3), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	kdatc_evd_drain(&log);
	KDATC_EXPECT(log.next == num && !atomic_read(&log.disorder));
	KDATC_OK(dat_evd_resize(log.evd, 5));
	kdatc_evd_close(&log);
}

/* Policies ****************************************************************** */

static void kdatc_evd_single(void)
{
	struct kdatc_evd_log log = {};
	unsigned long i;

	if (!kdatc_evd_open(&log, 256, DAT_UPCALL_SINGLE_INSTANCE))
		return;
	for (i = 0; i < 200; i++) {
		log.pause = i % 50 == 0;
		KDATC_OK(kdatc_evd_post(log.evd, i));
	}
	log.pause = 0;
	KDATC_EXPECT(kdatc_evd_called(&log, 200));
	msleep(20);
	KDATC_EXPECT(atomic_read(&log.calls) == 200 && log.next == 200);
	KDATC_EXPECT(!atomic_read(&log.disorder) && atomic_read(&log.most) == 1);
	KDATC_EXPECT(log.more == DAT_FALSE && !atomic_read(&log.nulls));
	kdatc_evd_close(&log);
}

/* more_events is right: there are three events, and the first upcall holds. */
static void kdatc_evd_more(void)
{
	DECLARE_COMPLETION_ONSTACK(hold);
	struct kdatc_evd_log log = { .hold = &hold };
	unsigned long i;

	if (!kdatc_evd_open(&log, 16, DAT_UPCALL_DISABLE))
		return;
	for (i = 0; i < 3; i++)
		KDATC_OK(kdatc_evd_post(log.evd, i));
	KDATC_OK(dat_evd_modify_upcall(log.evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_ANY));
	msleep(20);
	KDATC_EXPECT(atomic_read(&log.running) == 1 && log.more == DAT_TRUE);
	complete_all(&hold);
	KDATC_EXPECT(kdatc_evd_called(&log, 3));
	KDATC_EXPECT(log.more == DAT_FALSE && log.next == 3);
	kdatc_evd_close(&log);
}

/* One upcall that carries no event; the next when the queue was seen empty. */
static void kdatc_evd_norify(void)
{
	struct kdatc_evd_log log = {};
	unsigned long i;

	if (!kdatc_evd_open(&log, 64, DAT_UPCALL_NORIFY))
		return;
	KDATC_OK(kdatc_evd_post(log.evd, 0));
	KDATC_EXPECT(kdatc_evd_called(&log, 1));
	for (i = 1; i < 6; i++)
		KDATC_OK(kdatc_evd_post(log.evd, i));
	msleep(50);
	KDATC_EXPECT(atomic_read(&log.calls) == 1 && atomic_read(&log.nulls) == 1);
	kdatc_evd_drain(&log);
	KDATC_EXPECT(log.next == 6 && !atomic_read(&log.disorder));
	KDATC_OK(kdatc_evd_post(log.evd, 6));
	KDATC_EXPECT(kdatc_evd_called(&log, 2));
	kdatc_evd_drain(&log);
	KDATC_EXPECT(log.next == 7 && atomic_read(&log.nulls) == 2);
	kdatc_evd_close(&log);
}

static void kdatc_evd_many(void)
{
	DECLARE_COMPLETION_ONSTACK(hold);
	atomic_t *seen = kcalloc(64, sizeof(*seen), GFP_KERNEL);
	struct kdatc_evd_log log = { .hold = &hold, .seen = seen };
	unsigned long i;

	if (!KDATC_EXPECT(seen) || !kdatc_evd_open(&log, 64, DAT_UPCALL_MANY)) {
		kfree(seen);
		return;
	}
	for (i = 0; i < 40; i++)
		KDATC_OK(kdatc_evd_post(log.evd, i));
	msleep(50);
	KDATC_EXPECT(atomic_read(&log.running) > 1);
	complete_all(&hold);
	KDATC_EXPECT(kdatc_evd_called(&log, 40));
	msleep(20);
	KDATC_EXPECT(atomic_read(&log.calls) == 40);
	for (i = 0; i < 40; i++)
		KDATC_EXPECT(atomic_read(&seen[i]) == 1);
	kdatc_evd_close(&log);
	kfree(seen);
}

static void kdatc_evd_disabled(struct kdatc_evd_log *log, DAT_UPCALL_FLAG flag)
{
	unsigned long i;

	if (!kdatc_evd_open(log, 16, DAT_UPCALL_SINGLE_INSTANCE))
		return;
	KDATC_OK(dat_evd_modify_upcall(log->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	for (i = 0; i < 3; i++)
		KDATC_OK(kdatc_evd_post(log->evd, i));
	msleep(30);
	KDATC_EXPECT(!atomic_read(&log->calls));
	KDATC_OK(dat_evd_modify_upcall(log->evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				       flag));
}

static void kdatc_evd_enable_any(void)
{
	struct kdatc_evd_log log = {};

	kdatc_evd_disabled(&log, DAT_UPCALL_INVOC_ANY);
	KDATC_EXPECT(kdatc_evd_called(&log, 3));
	KDATC_EXPECT(log.next == 3 && !atomic_read(&log.disorder));
	kdatc_evd_close(&log);
}

/* The old events do not call up; the new one does, and no event is lost. */
static void kdatc_evd_enable_new(void)
{
	struct kdatc_evd_log log = {};

	kdatc_evd_disabled(&log, DAT_UPCALL_INVOC_NEW);
	msleep(30);
	KDATC_EXPECT(!atomic_read(&log.calls));
	KDATC_OK(kdatc_evd_post(log.evd, 3));
	KDATC_EXPECT(kdatc_evd_called(&log, 1));
	msleep(30);
	kdatc_evd_drain(&log);
	KDATC_EXPECT(log.next == 4 && !atomic_read(&log.disorder));
	kdatc_evd_close(&log);
}

/* Another function and other data */
static void kdatc_evd_other_upcall(void)
{
	struct kdatc_evd_log first = {}, second = {};
	const DAT_UPCALL_OBJECT other = { .instance_data = &second,
					  .upcall_func = kdatc_evd_upcall };
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;

	if (!kdatc_evd_open(&first, 16, DAT_UPCALL_SINGLE_INSTANCE))
		return;
	second.evd = first.evd;
	KDATC_OK(kdatc_evd_post(first.evd, 0));
	KDATC_EXPECT(kdatc_evd_called(&first, 1));
	KDATC_OK(dat_evd_modify_upcall(first.evd, DAT_UPCALL_SINGLE_INSTANCE, &other,
				       DAT_UPCALL_INVOC_NEW));
	KDATC_OK(kdatc_evd_post(first.evd, 0));
	KDATC_EXPECT(kdatc_evd_called(&second, 1));
	KDATC_EXPECT(atomic_read(&first.calls) == 1);
	/* no function to call */
	KDATC_REFUSED(dat_evd_modify_upcall(first.evd, DAT_UPCALL_SINGLE_INSTANCE, &none,
					    DAT_UPCALL_INVOC_NEW),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_evd_modify_upcall(first.evd, 55, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_evd_modify_upcall(first.evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, 9),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KDATC_OK(dat_evd_modify_upcall(first.evd, DAT_UPCALL_DISABLE, &none,
				       DAT_UPCALL_INVOC_NEW));
	kdatc_evd_close(&first);
}

static void kdatc_evd_teardown(void)
{
	struct kdatc_evd_log log = { .pause = 100 };
	DAT_EVENT event;

	if (!kdatc_evd_open(&log, 16, DAT_UPCALL_SINGLE_INSTANCE))
		return;
	KDATC_OK(kdatc_evd_post(log.evd, 0));
	while (!atomic_read(&log.running) && !atomic_read(&log.calls))
		cpu_relax();
	KDATC_OK(dat_evd_modify_upcall(log.evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	KDATC_EXPECT(!atomic_read(&log.running) && atomic_read(&log.calls) == 1);
	KDATC_OK(kdatc_evd_post(log.evd, 1));
	msleep(30);
	KDATC_EXPECT(atomic_read(&log.calls) == 1);
	KDATC_OK(dat_evd_dequeue(log.evd, &event));
	kdatc_evd_see(&log, &event);
	KDATC_EXPECT(log.next == 2 && !atomic_read(&log.disorder));
	kdatc_evd_close(&log);
}

static void kdatc_evd_calls_teardown(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kdatc_evd_log *log = data;

	log->answer = dat_evd_modify_upcall(log->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
					    DAT_UPCALL_INVOC_NEW);
	atomic_inc(&log->calls);
}

static void kdatc_evd_calls_free(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kdatc_evd_log *log = data;

	log->answer = dat_evd_free(log->evd);
	atomic_inc(&log->calls);
}

/* What would wait for itself is refused. */
static void kdatc_evd_own_upcall(void)
{
	struct kdatc_evd_log log = {};
	const DAT_UPCALL_OBJECT teardown = { .instance_data = &log,
					     .upcall_func = kdatc_evd_calls_teardown };
	const DAT_UPCALL_OBJECT frees = { .instance_data = &log,
					  .upcall_func = kdatc_evd_calls_free };

	if (!kdatc_evd_open(&log, 16, DAT_UPCALL_DISABLE))
		return;
	KDATC_OK(dat_evd_modify_upcall(log.evd, DAT_UPCALL_SINGLE_INSTANCE, &teardown,
				       DAT_UPCALL_INVOC_NEW));
	KDATC_OK(kdatc_evd_post(log.evd, 0));
	KDATC_EXPECT(kdatc_evd_called(&log, 1));
	KDATC_REFUSED(log.answer, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	KDATC_OK(dat_evd_modify_upcall(log.evd, DAT_UPCALL_MANY, &frees, DAT_UPCALL_INVOC_NEW));
	KDATC_OK(kdatc_evd_post(log.evd, 0));
	KDATC_EXPECT(kdatc_evd_called(&log, 2));
	KDATC_REFUSED(log.answer, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	kdatc_evd_close(&log);
}

/* An upcall that is slow stops no other EVD. */
static void kdatc_evd_slow(void)
{
	DECLARE_COMPLETION_ONSTACK(hold);
	struct kdatc_evd_log slow = { .hold = &hold }, fast = {};

	if (!kdatc_evd_open(&slow, 16, DAT_UPCALL_SINGLE_INSTANCE))
		return;
	fast.evd = kdatc_upcall_evd(16, DAT_EVD_SOFTWARE_FLAG, DAT_UPCALL_SINGLE_INSTANCE,
				    kdatc_evd_upcall, &fast);
	KDATC_OK(kdatc_evd_post(slow.evd, 0));
	KDATC_OK(kdatc_evd_post(fast.evd, 0));
	KDATC_OK(kdatc_evd_post(fast.evd, 1));
	KDATC_EXPECT(kdatc_evd_called(&fast, 2) && !atomic_read(&slow.calls));
	complete_all(&hold);
	KDATC_EXPECT(kdatc_evd_called(&slow, 1));
	KDATC_OK(dat_evd_free(fast.evd));
	kdatc_evd_close(&slow);
}

/* Changes while events arrive *********************************************** */

#define KDATC_POSTERS	3
#define KDATC_POSTS	600

struct kdatc_evd_poster {
	struct kdatc_evd_log *log;
	unsigned long first;
	struct completion over;
};

static int kdatc_evd_poster(void *data)
{
	struct kdatc_evd_poster *poster = data;
	const unsigned long end = jiffies + 3 * kdatc.patience;
	unsigned long i;

	for (i = 0; i < KDATC_POSTS; i++) {
		while (kdatc_evd_post(poster->log->evd, poster->first + i) != DAT_SUCCESS) {
			if (time_after(jiffies, end))
				break;
			usleep_range(50, 100);
		}
	}
	/* the module's text may go after that */
	kthread_complete_and_exit(&poster->over, 0);
}

static void kdatc_evd_changing_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct kdatc_evd_log *log = data;

	if (event)
		kdatc_evd_see(log, event);
	else
		kdatc_evd_drain(log);
}

static const DAT_UPCALL_POLICY kdatc_evd_policies[] = {
	DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_NORIFY, DAT_UPCALL_MANY, DAT_UPCALL_DISABLE,
	DAT_UPCALL_TEARDOWN,
};

static void kdatc_evd_change(struct kdatc_evd_log *log, struct kdatc_evd_poster *posters)
{
	unsigned int i, n;

	for (i = 0; i < KDATC_POSTERS; i++) {
		posters[i].log = log;
		posters[i].first = i * KDATC_POSTS;
		init_completion(&posters[i].over);
		if (IS_ERR(kthread_run(kdatc_evd_poster, &posters[i], "kdatc/%u", i))) {
			KDATC_EXPECT(!"a thread");
			complete(&posters[i].over);
		}
	}
	for (n = 0; n < 300; n++) {
		KDATC_OK(dat_evd_modify_upcall(log->evd, kdatc_evd_policies[n % 5],
					       DAT_UPCALL_SAME, n & 1));
		if (n % 7 == 0)
			KDATC_OK(dat_evd_resize(log->evd, 64 + n));
		if (n % 16 == 0)
			usleep_range(500, 1000);
	}
	KDATC_OK(dat_evd_modify_upcall(log->evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_ANY));
	for (i = 0; i < KDATC_POSTERS; i++)
		wait_for_completion(&posters[i].over);
	msleep(50);
	KDATC_OK(dat_evd_modify_upcall(log->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	kdatc_evd_drain(log);
	for (i = 0; i < KDATC_POSTERS * KDATC_POSTS; i++)
		if (!KDATC_EXPECT(atomic_read(&log->seen[i]) == 1))
			return;
}

/* Each event arrives exactly once, whatever the policies are. */
static void kdatc_evd_changing(void)
{
	struct kdatc_evd_poster *posters = kcalloc(KDATC_POSTERS, sizeof(*posters), GFP_KERNEL);
	atomic_t *seen = kcalloc(KDATC_POSTERS * KDATC_POSTS, sizeof(*seen), GFP_KERNEL);
	struct kdatc_evd_log log = { .seen = seen };
	const DAT_UPCALL_OBJECT upcall = { .instance_data = &log,
					   .upcall_func = kdatc_evd_changing_upcall };

	if (KDATC_EXPECT(posters && seen) && kdatc_evd_open(&log, 64, DAT_UPCALL_DISABLE)) {
		KDATC_OK(dat_evd_modify_upcall(log.evd, DAT_UPCALL_DISABLE, &upcall,
					       DAT_UPCALL_INVOC_NEW));
		kdatc_evd_change(&log, posters);
		KDATC_EXPECT(!atomic_read(&log.disorder));
		kdatc_evd_close(&log);
	}
	kfree(posters);
	kfree(seen);
}

const struct kdatc_check kdatc_evd_checks[] = {
	{ "EVD query", kdatc_evd_query },
	{ "EVD full", kdatc_evd_full },
	{ "EVD resize", kdatc_evd_resize },
	{ "upcalls one by one", kdatc_evd_single },
	{ "more events", kdatc_evd_more },
	{ "upcalls that notify", kdatc_evd_norify },
	{ "many upcalls", kdatc_evd_many },
	{ "enabled for any event", kdatc_evd_enable_any },
	{ "enabled for new events", kdatc_evd_enable_new },
	{ "another upcall", kdatc_evd_other_upcall },
	{ "teardown", kdatc_evd_teardown },
	{ "teardown by the upcall", kdatc_evd_own_upcall },
	{ "slow upcall", kdatc_evd_slow },
	{ "policies change", kdatc_evd_changing },
	{}
};
