// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data between two sockets of the kernel. The sender may wait, so the receiver is a work item that
 * the socket's sk_data_ready() starts, as in servers of the kernel.
 */
#include <linux/bvec.h>
#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/random.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <net/sock.h>

#include "kern.h"

/* bytes of a call */
#define KERN_BLOCK	(128 * 1024u)
#define KERN_PAGES	(KERN_BLOCK / PAGE_SIZE)

/* Receiving ******************************************************************************** */

static void kern_data_ready(struct sock *sk)
{
	struct kern_watch *watch;

	read_lock_bh(&sk->sk_callback_lock);
	watch = sk->sk_user_data;
	if (watch) {
		atomic_inc(&watch->calls);
		complete(&watch->ready);
		queue_work(system_wq, &watch->work);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void kern_receive(struct work_struct *work)
{
	struct kern_watch *watch = container_of(work, struct kern_watch, work);
	int rc = 0;

	while (watch->done < watch->len && !watch->error) {
		struct kvec vec = {
			.iov_base = watch->got + watch->done,
			.iov_len = watch->len - watch->done,
		};
		struct msghdr msg = {};

		rc = kernel_recvmsg(watch->sock, &msg, &vec, 1, vec.iov_len, MSG_DONTWAIT);
		if (rc == -EAGAIN)
			return;
		if (rc <= 0)
			watch->error = rc ?: -ENODATA;
		else
			watch->done += rc;
	}
	/* what is not data, is an accept queue */
	if (watch->len)
		complete(&watch->over);
}

/**
 * kern_watch_begin() - put the callback and sk_user_data into a socket
 * @watch: watch, on the stack; @got and @len are set
 * @sock: socket
 */
void kern_watch_begin(struct kern_watch *watch, struct socket *sock)
{
	struct sock *sk = sock->sk;

	watch->sock = sock;
	atomic_set(&watch->calls, 0);
	init_completion(&watch->ready);
	init_completion(&watch->over);
	INIT_WORK_ONSTACK(&watch->work, kern_receive);
	write_lock_bh(&sk->sk_callback_lock);
	watch->saved = sk->sk_data_ready;
	sk->sk_user_data = watch;
	sk->sk_data_ready = kern_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	/* what has arrived before is not reported */
	queue_work(system_wq, &watch->work);
}

/** kern_watch_end() - take them away */
void kern_watch_end(struct kern_watch *watch)
{
	struct sock *sk = watch->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = watch->saved;
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	cancel_work_sync(&watch->work);
	destroy_work_on_stack(&watch->work);
}

/**
 * kern_watch_forget() - take away what a socket has from its listener
 * @watch: the listener's
 * @sock: socket of accept(); TCP's has the listener's callback
 */
void kern_watch_forget(struct kern_watch *watch, struct socket *sock)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	if (sk->sk_data_ready == kern_data_ready)
		sk->sk_data_ready = watch->saved;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Sending ********************************************************************************** */

static unsigned long kern_user_memory(const u8 *data, u32 len)
{
	unsigned long at = vm_mmap(NULL, 0, PAGE_ALIGN(len), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, 0);

	if (IS_ERR_VALUE(at))
		return at;
	if (!copy_to_user((void __user *)at, data, len))
		return at;
	vm_munmap(at, PAGE_ALIGN(len));
	return -EFAULT;
}

static int kern_send_user(struct socket *sock, const u8 *data, u32 len)
{
	const s64 pinned = atomic64_read(&current->mm->pinned_vm);
	unsigned long at = kern_user_memory(data, len);
	struct msghdr msg = {};
	int rc;

	if (IS_ERR_VALUE(at))
		return at;
	rc = import_ubuf(ITER_SOURCE, (void __user *)at, len, &msg.msg_iter);
	if (!rc)
		rc = sock_sendmsg(sock, &msg);
	/* a socket of the kernel has nothing to do with the process */
	if (atomic64_read(&current->mm->pinned_vm) != pinned)
		rc = -EBUSY;
	vm_munmap(at, PAGE_ALIGN(len));
	return rc;
}

/* @data is of vmalloc() and begins at a page. */
static int kern_send_pages(struct socket *sock, const u8 *data, u32 len, u32 flags)
{
	struct msghdr msg = { .msg_flags = flags };
	struct bio_vec pages[KERN_PAGES];
	u32 i;

	for (i = 0; i < DIV_ROUND_UP(len, PAGE_SIZE); i++)
		bvec_set_page(&pages[i], vmalloc_to_page(data + i * PAGE_SIZE),
			      min(len - i * PAGE_SIZE, PAGE_SIZE), 0);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, pages, i, len);
	return sock_sendmsg(sock, &msg);
}

static int kern_send(struct socket *sock, u8 *data, u32 len, enum kern_memory memory)
{
	struct kvec vec = { .iov_base = data, .iov_len = len };
	struct msghdr msg = {};

	switch (memory) {
	case KERN_BVEC:
		return kern_send_pages(sock, data, len, 0);
	case KERN_SPLICE:
		return kern_send_pages(sock, data, len, MSG_SPLICE_PAGES);
	case KERN_USER:
		return kern_send_user(sock, data, len);
	default:
		return kernel_sendmsg(sock, &msg, &vec, 1, len);
	}
}

/* One wait for the rest, in place of the callback: a receive that may wait. */
static int kern_waitall(struct socket *from, struct socket *to, u8 *sent, u8 *got)
{
	struct kvec vec = { .iov_base = got, .iov_len = PAGE_SIZE };
	struct msghdr msg = {};
	int rc;

	rc = kern_send(from, sent, PAGE_SIZE, KERN_KVEC);
	if (rc != PAGE_SIZE)
		return rc < 0 ? rc : -EMSGSIZE;
	rc = kernel_recvmsg(to, &msg, &vec, 1, PAGE_SIZE, MSG_WAITALL);
	if (rc != PAGE_SIZE)
		return rc < 0 ? rc : -ENODATA;
	return memcmp(sent, got, PAGE_SIZE) ? -EBADMSG : 0;
}

static int kern_send_all(struct socket *sock, u8 *data, u32 bytes, enum kern_memory memory)
{
	u32 done, n;
	int rc;

	for (done = 0; done < bytes; done += n) {
		n = min(bytes - done, KERN_BLOCK);
		rc = kern_send(sock, data + done, n, memory);
		if (rc != n)
			return rc < 0 ? rc : -EMSGSIZE;
	}
	return 0;
}

/**
 * kern_transfer() - move data and compare it
 * @from: socket
 * @to: its peer
 * @bytes: bytes, a page at least
 * @memory: of the sender
 *
 * Return: 0 or a negative errno; -ENOMSG: no callback has run.
 */
int kern_transfer(struct socket *from, struct socket *to, u32 bytes, enum kern_memory memory)
{
	u8 *sent __free(kvfree) = vmalloc(bytes);
	u8 *got __free(kvfree) = vzalloc(bytes);
	struct kern_watch watch = { .got = got, .len = bytes };
	int rc;

	if (!sent || !got)
		return -ENOMEM;
	get_random_bytes(sent, bytes);
	rc = kern_waitall(from, to, sent, got);
	if (rc)
		return rc;
	kern_watch_begin(&watch, to);
	rc = kern_send_all(from, sent, bytes, memory);
	if (!rc && !wait_for_completion_timeout(&watch.over, KERN_PATIENCE))
		rc = -ETIMEDOUT;
	kern_watch_end(&watch);
	rc = rc ?: watch.error;
	if (!rc && !atomic_read(&watch.calls))
		rc = -ENOMSG;
	return rc ?: memcmp(sent, got, bytes) ? -EBADMSG : 0;
}
