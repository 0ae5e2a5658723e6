// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Socket options below SOL_SOCKET. Programs of TCP set and read them; most mean nothing here, and
 * are kept so that what was set is read back.
 */
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#include "loop.h"

struct loop_option_name {
	int level;
	int name;
	int initial;
};

static const struct loop_option_name loop_option_names[] = {
	{ IPPROTO_TCP, TCP_NODELAY, 0 },
	{ IPPROTO_TCP, TCP_CORK, 0 },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 7200 },
	{ IPPROTO_TCP, TCP_KEEPINTVL, 75 },
	{ IPPROTO_TCP, TCP_KEEPCNT, 9 },
	{ IPPROTO_TCP, TCP_SYNCNT, 6 },
	{ IPPROTO_TCP, TCP_LINGER2, 60 },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT, 0 },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP, 0 },
	{ IPPROTO_TCP, TCP_QUICKACK, 1 },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, 0 },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0 },
	{ IPPROTO_TCP, TCP_MAXSEG, 32768 },
	{ IPPROTO_IP, IP_TOS, 0 },
	{ IPPROTO_IP, IP_TTL, 64 },
	{ IPPROTO_IP, IP_MTU_DISCOVER, 1 },
	{ IPPROTO_IP, IP_RECVERR, 0 },
	{ IPPROTO_IP, IP_FREEBIND, 0 },
	{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0 },
	{ IPPROTO_IPV6, IPV6_V6ONLY, 0 },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64 },
	{ IPPROTO_IPV6, IPV6_TCLASS, 0 },
	{ IPPROTO_IPV6, IPV6_RECVERR, 0 },
};

static_assert(ARRAY_SIZE(loop_option_names) <= LOOP_OPTIONS);

static int loop_option_find(int level, int name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(loop_option_names); i++)
		if (loop_option_names[i].level == level && loop_option_names[i].name == name)
			return i;
	return -ENOPROTOOPT;
}

void loop_option_init(struct loop_sock *lsk)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(loop_option_names); i++)
		lsk->options[i] = loop_option_names[i].initial;
}

int loop_option(const struct loop_sock *lsk, int level, int name)
{
	int i = loop_option_find(level, name);

	return i < 0 ? 0 : READ_ONCE(lsk->options[i]);
}

/* as TCP does: an int, or at level IPPROTO_IP a byte */
int loop_setsockopt(struct socket *sock, int level, int name, sockptr_t value, unsigned int len)
{
	int i = loop_option_find(level, name);
	int number;
	u8 byte;

	if (i < 0)
		return i;
	if (len >= sizeof(number)) {
		if (copy_from_sockptr(&number, value, sizeof(number)))
			return -EFAULT;
	} else if (level == IPPROTO_IP && len >= sizeof(byte)) {
		if (copy_from_sockptr(&byte, value, sizeof(byte)))
			return -EFAULT;
		number = byte;
	} else {
		return -EINVAL;
	}
	WRITE_ONCE(loop_sk(sock->sk)->options[i], number);
	return 0;
}

/* Enough of it for programs that print it. */
static void loop_option_info(struct sock *sk, struct tcp_info *info)
{
	memset(info, 0, sizeof(*info));
	info->tcpi_state = READ_ONCE(sk->sk_state);
	info->tcpi_snd_mss = 32768;
	info->tcpi_rcv_mss = 32768;
	info->tcpi_pmtu = 65535;
	info->tcpi_rtt = 1;
	info->tcpi_snd_cwnd = 10;
	if (info->tcpi_state == TCP_LISTEN) {
		info->tcpi_unacked = READ_ONCE(sk->sk_ack_backlog);
		info->tcpi_sacked = READ_ONCE(sk->sk_max_ack_backlog);
	}
}

int loop_getsockopt(struct socket *sock, int level, int name, char __user *value, int __user *len)
{
	union {
		int number;
		char congestion[TCP_CA_NAME_MAX];
		struct tcp_info info;
	} answer = { };
	int size = sizeof(answer.number), room, i;

	if (get_user(room, len))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	if (level == IPPROTO_TCP && name == TCP_INFO) {
		loop_option_info(sock->sk, &answer.info);
		size = sizeof(answer.info);
	} else if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
		strscpy_pad(answer.congestion, "loop");
		size = sizeof(answer.congestion);
	} else if (level == IPPROTO_TCP && name == TCP_ULP) {
		size = 0; /* there is none */
	} else {
		i = loop_option_find(level, name);
		if (i < 0)
			return i;
		answer.number = READ_ONCE(loop_sk(sock->sk)->options[i]);
	}
	room = min(room, size);
	if (put_user(room, len) || copy_to_user(value, &answer, room))
		return -EFAULT;
	return 0;
}
