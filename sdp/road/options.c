// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Socket options below SOL_SOCKET. Some do what TCP's do; the others that programs of TCP set mean
 * nothing here, and are kept so that what was set is read back.
 */
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "road.h"

/** enum sdp_opt_kind - what is kept of a value */
enum sdp_opt_kind {
	SDP_OPT_NUMBER,
	SDP_OPT_BOOL,
	SDP_OPT_DEFAULT,	/* -1 is the initial value */
	SDP_OPT_LINGER2,	/* TCP's limit; 0 is the initial value */
	SDP_OPT_TOS,		/* the bits of ECN are the stack's */
};

/**
 * struct sdp_opt_name - an option
 * @level: IPPROTO_*
 * @name: its number
 * @initial: value of a new socket
 * @least: smallest legal value
 * @most: largest one
 * @kind: enum sdp_opt_kind
 */
struct sdp_opt_name {
	int level;
	int name;
	int initial;
	int least;
	int most;
	u8 kind;
};

static const struct sdp_opt_name sdp_opt_names[] = {
	{ IPPROTO_TCP, TCP_NODELAY, 0, INT_MIN, INT_MAX, SDP_OPT_BOOL },
	{ IPPROTO_TCP, TCP_CORK, 0, INT_MIN, INT_MAX, SDP_OPT_BOOL },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 7200, 1, MAX_TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL, 75, 1, MAX_TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT, 9, 1, MAX_TCP_KEEPCNT },
	{ IPPROTO_TCP, TCP_SYNCNT, 6, 1, MAX_TCP_SYNCNT },
	{ IPPROTO_TCP, TCP_LINGER2, 60, INT_MIN, INT_MAX, SDP_OPT_LINGER2 },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT, 0, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP, 0, 0, INT_MAX },
	{ IPPROTO_TCP, TCP_QUICKACK, 1, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 0, INT_MAX },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0, INT_MIN, INT_MAX },
	{ IPPROTO_TCP, TCP_MAXSEG, 16384, 0, MAX_TCP_WINDOW },
	{ IPPROTO_IP, IP_TOS, 0, INT_MIN, INT_MAX, SDP_OPT_TOS },
	{ IPPROTO_IP, IP_TTL, 64, -1, 255, SDP_OPT_DEFAULT },
	{ IPPROTO_IP, IP_MTU_DISCOVER, 1, 0, 5 },
	{ IPPROTO_IP, IP_RECVERR, 0, INT_MIN, INT_MAX, SDP_OPT_BOOL },
	{ IPPROTO_IP, IP_FREEBIND, 0, INT_MIN, INT_MAX, SDP_OPT_BOOL },
	{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0, INT_MIN, INT_MAX, SDP_OPT_BOOL },
	{ IPPROTO_IPV6, IPV6_V6ONLY, 0, INT_MIN, INT_MAX, SDP_OPT_BOOL },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64, -1, 255, SDP_OPT_DEFAULT },
	{ IPPROTO_IPV6, IPV6_TCLASS, 0, -1, 255, SDP_OPT_TOS },
	{ IPPROTO_IPV6, IPV6_RECVERR, 0, INT_MIN, INT_MAX, SDP_OPT_BOOL },
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

/**
 * sdp_opt_tos() - type of service of a socket's connection
 * @ssk: socket; its remote end is known
 *
 * Return: IP_TOS, or for IPv6 IPV6_TCLASS. Context: any.
 */
u8 sdp_opt_tos(const struct sdp_sock *ssk)
{
	return ipv6_addr_v4mapped(&ssk->remote.ip) ? sdp_opt(ssk, IPPROTO_IP, IP_TOS) :
						     sdp_opt(ssk, IPPROTO_IPV6, IPV6_TCLASS);
}

/* an int, or at level IPPROTO_IP a byte, or for most options there nothing, which is 0 */
static int sdp_opt_get_int(int level, int name, sockptr_t value, unsigned int len, int *number)
{
	u8 byte;

	if (len >= sizeof(*number))
		return copy_from_sockptr(number, value, sizeof(*number)) ? -EFAULT : 0;
	*number = 0;
	if (level != IPPROTO_IP || (!len && (name == IP_TTL || name == IP_FREEBIND)))
		return -EINVAL;
	if (!len)
		return 0;
	if (copy_from_sockptr(&byte, value, sizeof(byte)))
		return -EFAULT;
	*number = byte;
	return 0;
}

/* Return: what getsockopt() answers from now on */
static int sdp_opt_kept(const struct sdp_opt_name *option, int number)
{
	switch (option->kind) {
	case SDP_OPT_BOOL:
		return !!number;
	case SDP_OPT_DEFAULT:
		return number < 0 ? option->initial : number;
	case SDP_OPT_LINGER2:
		if (!number)
			return option->initial;
		return number < 0 || number > TCP_FIN_TIMEOUT_MAX / HZ ? -1 : number;
	case SDP_OPT_TOS:
		if (option->level == IPPROTO_IPV6 && number < 0)
			return 0;
		return number & 0xff & ~INET_ECN_MASK;
	default:
		return number;
	}
}

/**
 * sdp_opt_bound() - bind() has given the socket an address
 * @ssk: socket
 *
 * A socket of one IPv6 address has nothing to do with IPv4. Context: process.
 */
void sdp_opt_bound(struct sdp_sock *ssk)
{
	const int i = sdp_opt_find(IPPROTO_IPV6, IPV6_V6ONLY);

	if (i >= 0 && !sdp_end_is_any(&ssk->local.ip) && !ipv6_addr_v4mapped(&ssk->local.ip))
		WRITE_ONCE(ssk->options[i], 1);
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

	rc = sdp_opt_get_int(SOL_SOCKET, SO_ZEROCOPY, value, len, &number);
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
	/* TCP reads the value of what it does not know, too */
	if (i < 0 && level != IPPROTO_TCP)
		return i;
	rc = sdp_opt_get_int(level, name, value, len, &number);
	if (rc || i < 0)
		return rc ?: i;
	if (number < sdp_opt_names[i].least || number > sdp_opt_names[i].most)
		return -EINVAL;
	if (level == IPPROTO_IP && name == IP_TTL && !number)
		return -EINVAL;
	/* after bind() it would change what the address means */
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY && sdp_port_bound(ssk))
		return -EINVAL;
	WRITE_ONCE(ssk->options[i], sdp_opt_kept(&sdp_opt_names[i], number));
	if (level == IPPROTO_IP && name == IP_TOS)
		WRITE_ONCE(sock->sk->sk_priority, rt_tos2priority(sdp_opt(ssk, level, name)));
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
	/* IPv4's options are a byte for a caller with room for one */
	if (level == IPPROTO_IP && room && room < size && (answer.number & ~0xff) == 0)
		room = sizeof(u8);
	room = min(room, size);
	if (put_user(room, len) || copy_to_user(value, &answer, room))
		return -EFAULT;
	return 0;
}
