// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Socket options below SOL_SOCKET. Some do what TCP's do; the others that programs of TCP set mean
 * nothing here, and are kept so that what was set is read back.
 */
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sdp.h"

/**
 * struct sdp_opt_name - an option
 * @level: IPPROTO_*
 * @name: its number
 * @initial: value of a new socket
 * @least: smallest legal value
 * @most: largest one
 */
struct sdp_opt_name {
	int level;
	int name;
	int initial;
	int least;
	int most;
};

static const struct sdp_opt_name sdp_opt_names[] = {
	{ IPPROTO_TCP, TCP_NODELAY, 0, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_CORK, 0, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 7200, 1, MAX_TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL, 75, 1, MAX_TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT, 9, 1, MAX_TCP_KEEPCNT },
	{ IPPROTO_TCP, TCP_SYNCNT, 6, 1, MAX_TCP_SYNCNT },
	{ IPPROTO_TCP, TCP_LINGER2, 60, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT, 0, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP, 0, 0, INT_MAX },
	{ IPPROTO_TCP, TCP_QUICKACK, 1, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 0, INT_MAX },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_MAXSEG, 16384, 0, MAX_TCP_WINDOW },
	{ IPPROTO_IP, IP_TOS, 0, 0, 255 },
	{ IPPROTO_IP, IP_TTL, 64, -1, 255 },
	{ IPPROTO_IP, IP_MTU_DISCOVER, 1, 0, 5 },
	{ IPPROTO_IP, IP_RECVERR, 0, INT_MIN, INT_MAX },
	{ IPPROTO_IP, IP_FREEBIND, 0, INT_MIN, INT_MAX },
	{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0, INT_MIN, INT_MAX },
	{ IPPROTO_IPV6, IPV6_V6ONLY, 0, INT_MIN, INT_MAX },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64, -1, 255 },
	{ IPPROTO_IPV6, IPV6_TCLASS, 0, -1, 255 },
	{ IPPROTO_IPV6, IPV6_RECVERR, 0, INT_MIN, INT_MAX },
	{ SOL_SDP, SDP_ZCOPY_THRESH, -1, -1, INT_MAX },
	{ SOL_SDP, SDP_ZCOPY_WRITE, -1, -1, 1 },
};

static_assert(ARRAY_SIZE(sdp_opt_names) <= SDP_OPTIONS);

static int sdp_opt_find(int level, int name)
{
	int i;

	/* programs of the OFED age ask at TCP's level */
	if (level == IPPROTO_TCP && (name == SDP_ZCOPY_THRESH || name == SDP_ZCOPY_WRITE))
		level = SOL_SDP;
	for (i = 0; i < ARRAY_SIZE(sdp_opt_names); i++)
		if (sdp_opt_names[i].level == level && sdp_opt_names[i].name == name)
			return i;
	return -ENOPROTOOPT;
}

void sdp_opt_init(struct sdp_sock *ssk)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sdp_opt_names); i++)
		ssk->options[i] = sdp_opt_names[i].initial;
}

/**
 * sdp_opt() - value of an option
 * @ssk: socket
 * @level: IPPROTO_*
 * @name: number of the option
 *
 * Return: the value, 0 if there is no such option. Context: any.
 */
int sdp_opt(const struct sdp_sock *ssk, int level, int name)
{
	int i = sdp_opt_find(level, name);

	return i < 0 ? 0 : READ_ONCE(ssk->options[i]);
}

/* an int, or at level IPPROTO_IP a byte */
static int sdp_opt_get_int(int level, sockptr_t value, unsigned int len, int *number)
{
	u8 byte;

	if (len >= sizeof(*number))
		return copy_from_sockptr(number, value, sizeof(*number)) ? -EFAULT : 0;
	if (level != IPPROTO_IP || len < sizeof(byte))
		return -EINVAL;
	if (copy_from_sockptr(&byte, value, sizeof(byte)))
		return -EFAULT;
	*number = byte;
	return 0;
}

/* what waits, goes */
static void sdp_opt_apply(struct sdp_sock *ssk, int level, int name)
{
	if (level != IPPROTO_TCP || (name != TCP_NODELAY && name != TCP_CORK))
		return;
	sdp_lock(ssk);
	if (!sdp_opt(ssk, IPPROTO_TCP, TCP_CORK))
		sdp_send_flush(ssk);
	sdp_unlock(ssk);
}

/* The kernel's core allows SO_ZEROCOPY for protocols of its own alone. */
static int sdp_opt_zerocopy(struct sock *sk, sockptr_t value, unsigned int len)
{
	int number, rc;

	rc = sdp_opt_get_int(SOL_SOCKET, value, len, &number);
	if (rc)
		return rc;
	if (number < 0 || number > 1)
		return -EINVAL;
	lock_sock(sk);
	sock_valbool_flag(sk, SOCK_ZEROCOPY, number);
	release_sock(sk);
	return 0;
}

int sdp_sock_setsockopt(struct socket *sock, int level, int name, sockptr_t value,
			unsigned int len)
{
	struct sdp_sock *ssk = sdp_sk(sock->sk);
	int i = sdp_opt_find(level, name);
	int number, rc;

	if (level == SOL_SOCKET)
		return name == SO_ZEROCOPY ? sdp_opt_zerocopy(sock->sk, value, len) :
					     sock_setsockopt(sock, level, name, value, len);
	if (i < 0)
		return i;
	rc = sdp_opt_get_int(level, value, len, &number);
	if (rc)
		return rc;
	if (number < sdp_opt_names[i].least || number > sdp_opt_names[i].most)
		return -EINVAL;
	/* after bind() it would change what the address means */
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY && ssk->local.port)
		return -EINVAL;
	WRITE_ONCE(ssk->options[i], number);
	sdp_opt_apply(ssk, level, name);
	return 0;
}

/* Enough of it for programs that print it. */
static void sdp_opt_info(struct sock *sk, struct tcp_info *info)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	const struct sdp_link *link;

	memset(info, 0, sizeof(*info));
	info->tcpi_state = sdp_get_state(sk);
	if (info->tcpi_state == TCP_LISTEN) {
		info->tcpi_unacked = READ_ONCE(sk->sk_ack_backlog);
		info->tcpi_sacked = READ_ONCE(sk->sk_max_ack_backlog);
		return;
	}
	sdp_lock(ssk);
	link = ssk->link;
	if (link) {
		info->tcpi_snd_mss = link->conn.credit.send_max;
		info->tcpi_rcv_mss = link->conn.credit.size;
		info->tcpi_snd_cwnd = link->conn.credit.limit - link->conn.credit.sent;
		info->tcpi_notsent_bytes = sdp_send_unsent(link);
		info->tcpi_bytes_acked = link->acked;
		info->tcpi_bytes_received = link->rx_pos + link->queued;
	}
	sdp_unlock(ssk);
}

int sdp_sock_getsockopt(struct socket *sock, int level, int name, char __user *value,
			int __user *len)
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
		sdp_opt_info(sock->sk, &answer.info);
		size = sizeof(answer.info);
	} else if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
		strscpy_pad(answer.congestion, "sdp");
		size = sizeof(answer.congestion);
	} else {
		i = sdp_opt_find(level, name);
		if (i < 0)
			return i;
		answer.number = READ_ONCE(sdp_sk(sock->sk)->options[i]);
	}
	room = min(room, size);
	if (put_user(room, len) || copy_to_user(value, &answer, room))
		return -EFAULT;
	return 0;
}
