// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/kdapltest. Its one request is a run, and the run is the caller's: made and waited for in
 * the caller's system call. That gives it the caller's network namespace, ends it with the
 * caller's signals, and holds the module by the open file for as long as it lasts. Settings in a
 * file system would have none of these.
 *
 * A client has a thread for each set of connections, a server one for each connection.
 */
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kdt.h"

/* Times ***********************************************************************/

void kdt_hist_merge(struct kdt_hist *to, const struct kdt_hist *from)
{
	u32 i;

	if (!from->count)
		return;
	to->min = to->count ? min(to->min, from->min) : from->min;
	to->max = max(to->max, from->max);
	to->count += from->count;
	to->sum += from->sum;
	for (i = 0; i < KDT_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

/* The time that @permille of all are not above; the least one of its bucket. */
static u64 kdt_hist_at(const struct kdt_hist *hist, u32 permille)
{
	u64 wanted = DIV64_U64_ROUND_UP(hist->count * permille, 1000), seen = 0;
	u32 i;

	for (i = 0; i < KDT_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen >= wanted)
			break;
	}
	if (i >= KDT_BUCKETS)
		return hist->max;
	return i < 64 ? i : (32 + (u64)(i & 31)) << ((i >> 5) - 1);
}

void kdt_hist_latency(const struct kdt_hist *hist, struct kdt_latency *latency)
{
	if (!hist->count)
		return;
	*latency = (struct kdt_latency){
		.min = hist->min,
		.average = div64_u64(hist->sum, hist->count),
		.median = kdt_hist_at(hist, 500),
		.p90 = kdt_hist_at(hist, 900),
		.p99 = kdt_hist_at(hist, 990),
		.p999 = kdt_hist_at(hist, 999),
		.max = hist->max,
	};
}

/* What a run hears of its threads **********************************************/

/* Wake all that wait for something else than the end of the run. */
static void kdt_run_stop(struct kdt_run *run)
{
	struct kdt_link *link;

	WRITE_ONCE(run->stop, true);
	wake_up_all(&run->wait);
	mutex_lock(&run->mutex);
	list_for_each_entry(link, &run->links, node)
		wake_up_all(&link->wait);
	mutex_unlock(&run->mutex);
}

void kdt_run_failed(struct kdt_run *run, int error, const char *what, bool stop)
{
	struct kdt_args *args = run->args;

	spin_lock_bh(&run->lock);
	args->failed++;
	/* what ends the run says more than what it does to connections */
	if (!args->what[0] || (stop && !args->error))
		strscpy(args->what, what, sizeof(args->what));
	/* a server continues without the connection */
	if (!args->error && (stop || args->mode != KDT_SERVE))
		args->error = error;
	spin_unlock_bh(&run->lock);
	if (stop || args->mode != KDT_SERVE) {
		WRITE_ONCE(run->stop, true);
		wake_up_all(&run->wait);
	}
}

void kdt_run_count(struct kdt_run *run, u64 operations, u64 bytes, u64 verified)
{
	spin_lock_bh(&run->lock);
	run->args->operations += operations;
	run->args->bytes += bytes;
	run->args->verified += verified;
	spin_unlock_bh(&run->lock);
}

/* Return: the seconds of the run are over. */
bool kdt_run_over(const struct kdt_run *run)
{
	return READ_ONCE(run->stop) ||
	       ktime_get_ns() - run->begin >= (u64)run->args->seconds * NSEC_PER_SEC;
}

/* Threads **********************************************************************/

static int kdt_thread_start(struct kdt_run *run, int (*what)(void *), struct kdt_link *link)
{
	struct kdt_thread *thread = kzalloc(sizeof(*thread), GFP_KERNEL);

	if (!thread)
		return -ENOMEM;
	thread->run = run;
	thread->link = link;
	thread->task = kthread_create(what, thread, "kdapltest");
	if (IS_ERR(thread->task)) {
		int ret = PTR_ERR(thread->task);

		kfree(thread);
		return ret;
	}
	get_task_struct(thread->task);
	mutex_lock(&run->mutex);
	list_add_tail(&thread->node, &run->threads);
	mutex_unlock(&run->mutex);
	wake_up_process(thread->task);
	return 0;
}

static void kdt_thread_finish(struct kdt_thread *thread)
{
	struct kdt_run *run = thread->run;

	/* the run, which has the wait queue, ends with the thread only: see kdt_threads_reap() */
	WRITE_ONCE(thread->finished, true);
	wake_up_all(&run->wait);
}

static struct kdt_thread *kdt_thread_finished(struct kdt_run *run)
{
	struct kdt_thread *thread, *found = NULL;

	mutex_lock(&run->mutex);
	list_for_each_entry(thread, &run->threads, node) {
		if (READ_ONCE(thread->finished)) {
			found = thread;
			list_del(&thread->node);
			break;
		}
	}
	mutex_unlock(&run->mutex);
	return found;
}

/* Free threads that finished. Return: none is left. */
static bool kdt_threads_reap(struct kdt_run *run)
{
	struct kdt_thread *thread;
	bool none;

	while ((thread = kdt_thread_finished(run))) {
		kthread_stop(thread->task);
		put_task_struct(thread->task);
		kfree(thread);
	}
	mutex_lock(&run->mutex);
	none = list_empty(&run->threads);
	mutex_unlock(&run->mutex);
	return none;
}

/* A thread finished that was not reaped, or the run is to stop. */
static bool kdt_run_news(struct kdt_run *run)
{
	struct kdt_thread *thread;
	bool news = READ_ONCE(run->stop);

	mutex_lock(&run->mutex);
	list_for_each_entry(thread, &run->threads, node)
		news |= READ_ONCE(thread->finished);
	mutex_unlock(&run->mutex);
	return news;
}

/* The mutex of the condition may sleep, so the waiting is spelled out. */
static void kdt_run_wait(struct kdt_run *run, long timeout)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(&run->wait, &wait);
	while (!kdt_run_news(run) && !signal_pending(current) && timeout > 0)
		timeout = wait_woken(&wait, TASK_INTERRUPTIBLE, timeout);
	remove_wait_queue(&run->wait, &wait);
}

/* End all threads. No signal can hurry that. */
static void kdt_threads_end(struct kdt_run *run)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	kdt_run_stop(run);
	add_wait_queue(&run->wait, &wait);
	while (!kdt_threads_reap(run))
		wait_woken(&wait, TASK_UNINTERRUPTIBLE, HZ);
	remove_wait_queue(&run->wait, &wait);
}

/* Clients **********************************************************************/

static struct kdt_link *kdt_client_link(struct kdt_run *run)
{
	struct kdt_link *link = kdt_link_new(run, false);

	if (!link)
		return NULL;
	link->spec.mode = run->args->mode;
	link->spec.nops = run->args->nops;
	link->spec.pipeline = run->args->pipeline;
	memcpy(link->spec.ops, run->args->ops, sizeof(link->spec.ops));
	return link;
}

/* All threads begin together. */
static void kdt_client_begin(struct kdt_run *run)
{
	if (atomic_dec_and_test(&run->unready)) {
		run->begin = ktime_get_ns();
		atomic_dec(&run->unready);
		wake_up_all(&run->wait);
		return;
	}
	wait_event_idle(run->wait, atomic_read(&run->unready) < 0 || READ_ONCE(run->stop));
}

static void kdt_client_end(struct kdt_run *run, const struct kdt_hist *hist)
{
	u64 now = ktime_get_ns();

	spin_lock_bh(&run->lock);
	run->end = max(run->end, now);
	kdt_hist_merge(&run->hist, hist);
	spin_unlock_bh(&run->lock);
}

static int kdt_client_work(struct kdt_run *run, struct kdt_link **links, u32 num)
{
	struct kdt_hist *hist = kvzalloc(sizeof(*hist), GFP_KERNEL);
	int ret;

	if (!hist)
		return -ENOMEM;
	kdt_client_begin(run);
	if (READ_ONCE(run->stop))
		ret = -EINTR;
	else if (run->args->mode == KDT_TRANSACTIONS)
		ret = kdt_trans_run(run, links, num, hist);
	else
		ret = kdt_perf_run(run, links, num, hist);
	kdt_client_end(run, hist);
	kvfree(hist);
	return ret;
}

static int kdt_client(void *arg)
{
	struct kdt_thread *thread = arg;
	struct kdt_run *run = thread->run;
	struct kdt_link **links;
	u32 num = 0;
	int ret = -ENOMEM;

	links = kcalloc(run->args->eps, sizeof(*links), GFP_KERNEL);
	if (links) {
		ret = 0;
		while (num < run->args->eps && !ret) {
			links[num] = kdt_client_link(run);
			if (links[num])
				ret = kdt_link_join(links[num++]);
			else
				ret = -ENOMEM;
		}
		spin_lock_bh(&run->lock);
		run->args->connections += ret ? num - !!num : num;
		spin_unlock_bh(&run->lock);
		ret = ret ?: kdt_client_work(run, links, num);
	}
	if (ret && ret != -EINTR && !READ_ONCE(run->stop))
		kdt_run_failed(run, ret, "a thread failed", true);
	while (num)
		kdt_link_free(links[--num]);
	kfree(links);
	kdt_thread_finish(thread);
	return 0;
}

static int kdt_client_run(struct kdt_run *run)
{
	u32 i;
	int ret = 0;

	atomic_set(&run->unready, run->args->threads);
	for (i = 0; i < run->args->threads && !ret; i++)
		ret = kdt_thread_start(run, kdt_client, NULL);
	while (!ret && !READ_ONCE(run->stop) && !kdt_threads_reap(run)) {
		kdt_run_wait(run, KDT_PATIENCE);
		if (signal_pending(current)) {
			run->args->interrupted = 1;
			break;
		}
	}
	kdt_threads_end(run);
	if (run->begin && run->end > run->begin)
		run->args->ns = run->end - run->begin;
	kdt_hist_latency(&run->hist, &run->args->latency);
	return ret;
}

/* Servers **********************************************************************/

static int kdt_server(void *arg)
{
	struct kdt_thread *thread = arg;
	struct kdt_link *link = thread->link;
	struct kdt_run *run = thread->run;

	if (!kdt_link_join(link)) {
		spin_lock_bh(&run->lock);
		run->args->connections++;
		spin_unlock_bh(&run->lock);
		link->test->serve(link);
	}
	kdt_link_free(link);
	kdt_thread_finish(thread);
	return 0;
}

int kdt_serve(struct kdt_run *run, const struct kdt_spec *spec, void *request,
	      void (*claim)(struct kdt_link *link))
{
	struct kdt_link *link;
	int ret;

	if (run->args->api == KDT_VERBS && spec->mode != KDT_PERFORMANCE)
		return -EOPNOTSUPP;
	link = kdt_link_new(run, true);
	if (!link)
		return -EBUSY;
	link->spec = *spec;
	link->request = request;
	if (claim)
		claim(link);
	ret = kdt_thread_start(run, kdt_server, link);
	if (ret) {
		link->request = NULL;
		kdt_link_free(link);
	}
	return ret;
}

static int kdt_server_run(struct kdt_run *run)
{
	u64 begin = ktime_get_ns(), length = (u64)run->args->seconds * NSEC_PER_SEC;
	u64 now = begin;
	int ret;

	ret = run->calls->listen(run);
	if (ret)
		return ret;
	while (!READ_ONCE(run->stop) && (!length || now - begin < length)) {
		kdt_run_wait(run, length ? nsecs_to_jiffies(length - (now - begin)) + 1 :
					   MAX_SCHEDULE_TIMEOUT - 1);
		kdt_threads_reap(run);
		if (signal_pending(current)) {
			run->args->interrupted = 1;
			break;
		}
		now = ktime_get_ns();
	}
	run->calls->unlisten(run);
	kdt_threads_end(run);
	run->args->ns = ktime_get_ns() - begin;
	return 0;
}

/* The device *******************************************************************/

static bool kdt_args_op_valid(const struct kdt_op *op)
{
	return op->server <= 1 && op->kind <= KDT_READ && op->segments &&
	       op->segments <= KDT_SEGMENTS && op->size && op->size <= KDT_BYTES / op->segments;
}

static bool kdt_args_client_valid(const struct kdt_args *args)
{
	u32 i;

	if (!args->nops || args->nops > KDT_OPS || args->eps > KDT_EPS || !args->eps)
		return false;
	if (!args->threads || args->threads > KDT_THREADS)
		return false;
	if (args->threads * args->eps > KDT_LINKS || (!args->iterations && !args->seconds))
		return false;
	for (i = 0; i < args->nops; i++)
		if (!kdt_args_op_valid(&args->ops[i]))
			return false;
	if (args->mode == KDT_PERFORMANCE)
		return args->nops == 1 && !args->ops[0].server && args->pipeline &&
		       args->pipeline <= KDT_PIPELINE;
	return args->api == KDT_KDAPL;
}

static bool kdt_args_valid(const struct kdt_args *args)
{
	if (args->size != sizeof(*args) || args->api > KDT_VERBS)
		return false;
	if (strnlen(args->ia, KDT_NAME) == KDT_NAME || args->seconds > KDT_SECONDS)
		return false;
	if (args->mode == KDT_LIMITS)
		return args->api == KDT_KDAPL && args->max_objects &&
		       args->max_objects <= KDT_OBJECTS && args->kinds < BIT(KDT_OBJECT_KINDS);
	if (!args->port || args->port > U16_MAX)
		return false;
	return args->mode == KDT_SERVE ||
	       (args->mode <= KDT_PERFORMANCE && kdt_args_client_valid(args));
}

static int kdt_run_do(struct kdt_run *run)
{
	int ret = run->calls->open(run);

	if (ret)
		return ret;
	switch (run->args->mode) {
	case KDT_SERVE:
		ret = kdt_server_run(run);
		break;
	case KDT_LIMITS:
		ret = kdt_limits_run(run);
		break;
	default:
		ret = kdt_client_run(run);
		break;
	}
	run->calls->close(run);
	return ret;
}

static void kdt_run(struct kdt_args *args, struct kdt_run *run)
{
	int ret;

	/* results */
	memset_startat(args, 0, error);
	run->args = args;
	run->calls = args->api == KDT_VERBS ? &kdt_verbs_calls : &kdt_dapl_calls;
	run->net = current->nsproxy->net_ns;
	init_waitqueue_head(&run->wait);
	mutex_init(&run->mutex);
	INIT_LIST_HEAD(&run->links);
	INIT_LIST_HEAD(&run->threads);
	spin_lock_init(&run->lock);
	ret = kdt_run_do(run);
	if (ret && !args->error)
		args->error = ret;
	mutex_destroy(&run->mutex);
}

static long kdt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	struct kdt_args *args;
	struct kdt_run *run;
	long ret = -EINVAL;

	if (cmd != KDT_RUN)
		return -ENOTTY;
	args = memdup_user(user, sizeof(*args));
	if (IS_ERR(args))
		return PTR_ERR(args);
	run = kvzalloc(sizeof(*run), GFP_KERNEL);
	if (!run) {
		ret = -ENOMEM;
	} else if (kdt_args_valid(args)) {
		kdt_run(args, run);
		ret = copy_to_user(user, args, sizeof(*args)) ? -EFAULT : 0;
	}
	kvfree(run);
	kfree(args);
	return ret;
}

static const struct file_operations kdt_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kdt_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice kdt_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kdapltest",
	.mode = 0600,
	.fops = &kdt_fops,
};

module_misc_device(kdt_device);

MODULE_DESCRIPTION("kDAPL tests and measurements");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
